"""Which path texts name a place inside a folder: those of task.toml and those of a model."""

from __future__ import annotations

import re
import unicodedata

NAME_BYTES = 120
PATH_CHARACTERS = 300
RESERVED_NAME = ".evalstab-writing"

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_SEPARATORS = frozenset("/\\.:")


class Refused(Exception):
    """A path or file operation that is refused; the text says why and what to do instead.

    ``escape`` is true where the path pointed outside the folder (``trial.path_escape``).
    """

    def __init__(self, message: str, *, escape: bool = False) -> None:
        super().__init__(message)
        self.escape = escape


def inside(path: str, depth: int) -> tuple[str, ...]:
    """The names that lead from the folder to ``path``; at most ``depth`` of them.

    ``./`` and doubled slashes are harmless and dropped, names are normalised to NFC. Raises
    Refused for everything that leaves the workspace or could be read differently elsewhere.
    """
    if len(path) > PATH_CHARACTERS:
        raise Refused(f"the path is longer than {PATH_CHARACTERS} characters. Use a shorter one")
    if _points_outside(path):
        raise Refused(
            "the path points outside the folder. Use a path relative to it, without a leading "
            "slash and without '..'",
            escape=True,
        )
    names = tuple(
        unicodedata.normalize("NFC", name) for name in path.split("/") if name not in {"", "."}
    )
    if not names:
        raise Refused("the path is empty. Name a file, for example report.md")
    if len(names) > depth:
        raise Refused(f"the path has more than {depth} levels. Use fewer folders")
    for name in names:
        _check_name(name)
    return names


def _points_outside(path: str) -> bool:
    slashed = unicodedata.normalize("NFKC", path).replace("\\", "/").strip()
    first = re.sub(r"^(?:\.?/)+", "", slashed) if slashed.startswith("./") else slashed
    if first.startswith(("/", "~")) or re.match(r"[A-Za-z]:", first):
        return True
    level = 0
    for name in slashed.split("/"):
        if name.strip() == "..":
            level -= 1
        elif name not in {"", "."}:
            level += 1
        if level < 0:
            return True
    return False


def _check_name(name: str) -> None:
    if name == "..":
        raise Refused("'..' is not allowed in a path. Write the path from the top folder down")
    if "\\" in name:
        raise Refused("a backslash is not allowed in a path. Separate folders with '/'")
    if any(unicodedata.category(character) in _INVISIBLE for character in name):
        raise Refused("the path holds an invisible or control character. Use plain characters")
    if any(_disguised(character) for character in name):
        raise Refused("the path holds a look-alike of '.', '/' or ':'. Use plain characters")
    if not name.strip() or name == RESERVED_NAME:
        raise Refused("this file name is not allowed. Use letters and digits")
    if len(name.encode()) > NAME_BYTES:
        raise Refused(f"a name in the path is longer than {NAME_BYTES} bytes. Use a shorter one")


def _disguised(character: str) -> bool:
    plain = unicodedata.normalize("NFKC", character)
    return plain != character and bool(_SEPARATORS.intersection(plain))
