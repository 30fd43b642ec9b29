"""What the tools of known agents do to files, told from the calls alone.

Importers see calls, not a disk. A call that names a file and its new content is followed; what a
shell command does is followed only where it writes a here-document, the one form in which agents
write files with a shell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import msgspec

from evalstab.chat import ToolCall

MAX_FILES = 1000
MAX_FILE = 4 << 20

_PATHS = ("path", "filePath", "file_path", "filename")
_WRITES: Mapping[str, str] = {
    "write_file": "content",
    "write": "content",
    "Write": "content",
    "create_file": "content",
}
_EDITS: Mapping[str, tuple[str, str]] = {
    "edit_file": ("old", "new"),
    "edit": ("oldString", "newString"),
    "Edit": ("old_string", "new_string"),
}
_READS = frozenset({"read_file", "read", "Read", "view"})
SHELLS = frozenset({"bash", "shell", "Bash", "exec_command", "local_shell", "shell_command"})
_HERE = re.compile(
    r"\bcat\s{1,4}(?:>\s{0,4}(?P<a>[^\s;|&<>]{1,200})\s{1,4}<<-?\s{0,4}['\"]?(?P<am>\w{1,40})['\"]?"
    r"|<<-?\s{0,4}['\"]?(?P<bm>\w{1,40})['\"]?\s{0,4}>\s{0,4}(?P<b>[^\s;|&<>]{1,200}))[^\n]{0,200}\n"
)
_ADDED = re.compile(r"^\*\*\* Add File: (.{1,200})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Effect:
    """The file a call is about, relative to the session's folder, and whether it was changed."""

    path: str | None = None
    wrote: bool = False


@dataclass(slots=True)
class Files:
    """Files as the calls so far left them; what is not known is not there."""

    _texts: dict[str, str] = field(default_factory=dict)

    def take(self, call: ToolCall, directory: str) -> Effect:
        """Follow a call that succeeded."""
        arguments = _arguments(call)
        path = next((arguments[k] for k in _PATHS if isinstance(arguments.get(k), str)), None)
        if path is not None:
            path = relative(path, directory)
        if call.name in SHELLS or call.name == "apply_patch":
            return self._shell(shell_command(call), directory)
        if path is None or call.name in _READS:
            return Effect(path)
        before = self._texts.get(path)
        if call.name in _WRITES:
            self._write(path, arguments.get(_WRITES[call.name]))
        elif call.name in _EDITS:
            self._edit(path, *(arguments.get(key) for key in _EDITS[call.name]))
        else:
            return Effect(path)
        return Effect(path, before is None or self._texts.get(path) != before)

    def contents(self) -> dict[str, bytes]:
        """Bytes by path."""
        return {path: text.encode("utf-8", "replace") for path, text in self._texts.items()}

    def _shell(self, command: str, directory: str) -> Effect:
        effect = Effect()
        for path, text in written_by(command):
            place = relative(path, directory)
            self._write(place, text)
            effect = Effect(place, True)
        return effect

    def _write(self, path: str, text: object) -> None:
        if isinstance(text, str) and len(text) <= MAX_FILE and len(self._texts) < MAX_FILES:
            self._texts[path] = text
        else:
            self._texts.pop(path, None)

    def _edit(self, path: str, old: object, new: object) -> None:
        before = self._texts.get(path)
        if before is None or not isinstance(old, str) or not isinstance(new, str):
            self._texts.pop(path, None)
        elif old in before:
            self._write(path, before.replace(old, new, 1))


def shell_command(call: ToolCall) -> str:
    """The command of a shell call as one text; empty where it is none."""
    arguments = _arguments(call)
    for key in ("command", "cmd", "input", "patch"):
        value = arguments.get(key)
        if isinstance(value, list):
            value = value[-1] if value else None
        if isinstance(value, str):
            return value
    return ""


def written_by(command: str) -> list[tuple[str, str]]:
    """Files that a shell command writes as here-documents (or adds by a patch), with contents."""
    found: list[tuple[str, str]] = []
    at = 0
    while (here := _HERE.search(command, at)) and len(found) < MAX_FILES:
        mark = here["am"] or here["bm"]
        end = command.find(f"\n{mark}", here.end() - 1)
        if end < 0:
            break
        found.append(((here["a"] or here["b"]).strip("'\""), command[here.end() : end + 1]))
        at = end + 1
    for added in _ADDED.finditer(command):
        lines = []
        for line in command[added.end() + 1 :].split("\n"):
            if not line.startswith("+"):
                break
            lines.append(line[1:])
        found.append((added[1].strip(), "\n".join(lines) + "\n"))
        if len(found) >= MAX_FILES:
            break
    return found


def relative(path: str, directory: str) -> str:
    """A path as seen from the session's folder; left as it is where it lies elsewhere."""
    place = PurePosixPath(path)
    if directory and place.is_absolute():
        try:
            return str(place.relative_to(directory))
        except ValueError:
            return str(place)
    return str(place)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(call.arguments or "{}")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}
