"""Which stretches of a Markdown text are quoted: code fences and inline code.

A marker in a quotation is a mention, neither a leak nor the end of thinking (A11, B6).
Linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_TICKS = re.compile(r"`+|\n[ \t]*\n")


@dataclass(slots=True)
class Quotes:
    """Quoted stretches of one text, in order and without overlap.

    ``open_from`` is where a fence begins that is never closed; up to the end all of it counts as
    quoted, except where a caller asks for closed quotations only.
    """

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    open_from: int | None = None

    def covers(self, position: int, closed_only: bool = False) -> bool:
        """Whether the character at this position stands inside a quotation."""
        if self.open_from is not None and position >= self.open_from:
            return not closed_only
        index = bisect_right(self.starts, position) - 1
        return index >= 0 and position < self.ends[index]


def find_quotes(text: str) -> Quotes:
    """All code fences and inline code spans of a text."""
    quotes = Quotes()
    if "`" not in text and "~~~" not in text:
        return quotes
    position = 0
    opened: tuple[str, int] | None = None
    for match in _FENCE.finditer(text):
        mark, rest = match.group(1), match.group(2)
        if opened is None:
            if mark[0] == "`" and "`" in rest:
                continue
            _inline(text, position, match.start(), quotes)
            opened = (mark, match.start())
        elif mark[0] == opened[0][0] and len(mark) >= len(opened[0]) and not rest.strip():
            quotes.starts.append(opened[1])
            quotes.ends.append(match.end())
            position, opened = match.end(), None
    if opened is not None:
        quotes.open_from = opened[1]
    else:
        _inline(text, position, len(text), quotes)
    return quotes


def _inline(text: str, start: int, end: int, quotes: Quotes) -> None:
    """Add the inline code spans between two positions: equal runs of ticks in one paragraph."""
    runs: list[tuple[int, int]] = []
    for match in _TICKS.finditer(text, start, end):
        if match.group()[0] == "`":
            runs.append((match.start(), match.end()))
        else:
            _pair(runs, quotes)
            runs = []
    _pair(runs, quotes)


def _pair(runs: list[tuple[int, int]], quotes: Quotes) -> None:
    """Match each run of ticks with the next run of the same length, as Markdown does."""
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[index][1] - runs[index][0], []).append(index)
    index = 0
    while index < len(runs):
        length = runs[index][1] - runs[index][0]
        candidates = later[length]
        while candidates and candidates[-1] <= index:
            candidates.pop()
        if not candidates:
            index += 1
            continue
        partner = candidates[-1]
        quotes.starts.append(runs[index][0])
        quotes.ends.append(runs[partner][1])
        index = partner + 1
