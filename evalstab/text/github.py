"""Workflow commands of GitHub's runner: ours written properly, those in other texts made harmless.

The runner reads every line that a step prints, on stdout and stderr. A line that begins with
``::name`` is a command to it, and so is ``##[name]`` anywhere in a line. It compares as people
read: characters that are not seen do not hide either from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from evalstab.text.excerpt import visible

Level = Literal["error", "warning", "notice"]
LEVELS: Mapping[str, Level] = {
    "fail": "error",
    "invalid": "error",
    "undecided": "warning",
    "pass": "notice",
}
"""What a verdict is to those who read a job."""

LONGEST = 4_000
TITLE = 200

_UNSEEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
_BLANK = " \t\x0b\x0c\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_COMMAND = re.compile(rf"((?:^|[\r\n])[{_BLANK}{_UNSEEN}]*)(?=:)")
_OLD_COMMAND = re.compile(rf"(#[{_UNSEEN}]*)(?=\[)")
_OLD_BRACKET = re.compile(rf"(#[{_UNSEEN}]*)\[")


def annotation(level: Level, title: str, message: str) -> str:
    """The line that makes an annotation; both texts are cut, and stay text whatever they hold.

    Line breaks in the message stay line breaks in what is shown.
    """
    name = _escaped(visible(" ".join(title.split()))[:TITLE], {":": "%3A", ",": "%2C"})
    lines = [visible(line) for line in message[:LONGEST].splitlines()]
    return f"::{level} title={name}::{_escaped(chr(10).join(lines), {})}"


def harmless(text: str) -> str:
    """A text in which the runner reads no command: a backslash stands before what would be one."""
    return _OLD_COMMAND.sub(r"\1\\", _COMMAND.sub(r"\1\\", text))


def harmless_json(document: str) -> str:
    """The same for a JSON document over several lines, which keeps its meaning."""
    return _OLD_BRACKET.sub(r"\1\\u005b", document)


def _escaped(text: str, more: Mapping[str, str]) -> str:
    for char, code in {"%": "%25", "\r": "%0D", "\n": "%0A", **more}.items():
        text = text.replace(char, code)
    return text
