"""Which offered tool a name means.

Serves B11 (a name repeated or in pieces), B22 (special tokens, a channel name, ``functions.`` and
a counter stuck to it) and B23 (a name that was never offered).
"""

from __future__ import annotations

import re
from collections.abc import Collection

GLUED_SUFFIXES = ("json", "commentary", "assistant", "final", "analysis")

_NOT_WORD_END = re.compile(r"(?:^|.*(?:[^A-Za-z0-9_]|__))\Z", re.DOTALL)
_NOT_WORD_START = re.compile(r"(?:\Z|[^A-Za-z0-9_])")


def offered_name(raw: str, offered: Collection[str]) -> str | None:
    """The offered tool that a name stands for, ``None`` where it stands for none.

    Equal names, names with foreign signs before or behind them, and names with a word of the
    harmony format glued to their end count as the tool.
    """
    if raw in offered:
        return raw
    for name in sorted(offered, key=len, reverse=True):
        at = raw.find(name)
        if at < 0 or not name:
            continue
        before, after = raw[:at], raw[at + len(name) :]
        if _NOT_WORD_END.match(before) and (
            _NOT_WORD_START.match(after) or after in GLUED_SUFFIXES
        ):
            return name
    return None


def merge_name(current: str, piece: str, offered: Collection[str], started: bool) -> str:
    """The name of a call after another delta brought a piece of it.

    A full name again is no addition, a name that grows replaces the shorter one, and pieces are
    put together where that leads to an offered tool, or as long as no arguments have ``started``.
    """
    if not current or not piece or piece == current:
        return current or piece
    if piece.startswith(current) and piece in offered:
        return piece
    joined = current + piece
    if any(name.startswith(joined) for name in offered):
        return joined
    if current in offered or started:
        return current
    return joined
