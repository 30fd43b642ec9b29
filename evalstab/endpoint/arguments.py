"""Whether the arguments of a call are whole, and what they say.

Serves B1, B4, B5 (stops before the end), B8 (lost on the way), B13 (several objects glued into
one), B16 (null, empty or encoded twice) and B17 (a brace lost).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from evalstab.endpoint.halves import whole_json

MAX_GLUED = 256

State = Literal["object", "glued", "open", "brace_lost", "broken"]

_SIGNS = re.compile(r'[\\"{}\[\]]')
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE = re.compile(r"[\s,]*")


@dataclass(slots=True)
class Scanner:
    """Follows brackets and strings over the pieces of a text, each piece looked at once."""

    depth: int = 0
    inside: bool = False
    escaped: bool = False
    begun: bool = False
    closed_early: bool = False

    def feed(self, piece: str) -> None:
        """Take the next piece of the text."""
        if not self.begun and piece.strip():
            self.begun = True
        position = 0
        if self.escaped and piece:
            self.escaped, position = False, 1
        while (sign := _SIGNS.search(piece, position)) is not None:
            position = sign.end()
            mark = sign.group()
            if mark == "\\":
                if self.inside:
                    self.escaped = position >= len(piece)
                    position += 1
            elif mark == '"':
                self.inside = not self.inside
            elif not self.inside:
                self.depth += 1 if mark in "{[" else -1
                self.closed_early = self.closed_early or self.depth < 0

    @property
    def whole(self) -> bool:
        """Whether something was begun and nothing is open."""
        return self.begun and not self.inside and self.depth <= 0


@dataclass(frozen=True, slots=True)
class Read:
    """What an argument text turned out to be.

    ``object``: ``values`` and the text of one JSON object. ``glued``: several objects, the last
    perhaps cut. ``open``: it stops before its end. ``brace_lost``: only closing brackets are
    missing. ``broken``: it goes on to its end and is no JSON object.
    """

    state: State
    text: str
    values: dict[str, Any] | None = None
    pieces: tuple[str, ...] = field(default=())


def read_arguments(text: str) -> Read:
    """Judge the assembled arguments of one call; an empty text is the empty object."""
    if not text.strip() or text.strip() == "null":
        return Read("object", "{}", {})
    value = _parse(text)
    inner = text
    if isinstance(value, str):
        inner, value = value, _parse(value)
    if isinstance(value, dict):
        return _object(inner, value)
    pieces = split_glued(inner)
    if len(pieces) > 1:
        return Read("glued", text, pieces=tuple(pieces))
    return Read(_unfinished(text), text)


def is_object(text: str) -> bool:
    """Whether a text is one JSON object as it stands: only then may it be sent to a server."""
    return isinstance(_parse(text), dict)


def _object(text: str, value: dict[str, Any]) -> Read:
    """One whole object; halves of characters in it become U+FFFD, so that it can be stored."""
    if _SURROGATE_ESCAPE.search(text):
        mended = whole_json(value)
        if mended is not value and mended is not None:
            return Read("object", json.dumps(mended, ensure_ascii=False), mended)
    return Read("object", text, value)


def split_glued(text: str) -> Sequence[str]:
    """The JSON objects that stand in a row in this text, an unfinished last one included.

    Empty where anything else stands between them, or where there are more than MAX_GLUED.
    """
    if not text.lstrip().startswith("{"):
        return ()
    pieces: list[str] = []
    decoder = json.JSONDecoder()
    position = 0
    while position < len(text):
        skipped = _SPACE.match(text, position)
        position = skipped.end() if skipped else position
        if position >= len(text):
            break
        if text[position] != "{" or len(pieces) >= MAX_GLUED:
            return ()
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            pieces.append(text[position:])
            break
        if not isinstance(value, dict):
            return ()
        pieces.append(text[position:end])
        position = end
    return pieces


def _unfinished(text: str) -> State:
    """How a text that is no JSON object ends: open, short of brackets only, or broken."""
    scanner = Scanner()
    scanner.feed(text)
    if scanner.closed_early or not text.lstrip().startswith(("{", '"')):
        return "broken"
    if scanner.inside or scanner.escaped:
        return "open"
    if scanner.depth == 0:
        return "broken"
    if scanner.depth == 1 and isinstance(_parse(text + "}"), dict):
        return "brace_lost"
    return "open"


def _parse(text: str) -> Any:
    """The JSON value of a text, ``None`` where it is none (or is null)."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
