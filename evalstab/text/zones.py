"""Where a text is not prose: code, URLs, file paths, formulas.

Everything here is linear in the text; whole-text work is done once and only when asked for.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

import regex

Interval = tuple[int, int, str]

_FENCE = regex.compile(r"(?m)^[ \t>]{0,12}(`{3,}|~{3,})([^\n]*)$")
_TICKS = regex.compile(r"`+")
_URL = regex.compile(r"(?:\b(?:https?|ftp|file|mailto)://?|\bmailto:|\bwww\.)[^\s<>\"'`|]++")
_EXTENSIONS = (
    "md|txt|json|jsonl|csv|tsv|py|pyi|ipynb|js|mjs|ts|tsx|jsx|html?|css|xml|ya?ml|toml|ini|cfg"
    "|conf|log|sh|bash|sql|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|zip|gz|tar|zst|parquet"
    "|rs|go|java|kt|rb|php|c|h|cc|cpp|hpp|cs|r|tex|bib|lock|env|db|sqlite"
)
_PATH = regex.compile(
    r"(?<![^\s\"'`(\[{=:,|])(?:"
    r"(?:~|\.{1,2})?/[^\s\"'`|<>()]*+"
    r"|[A-Za-z]:\\[^\s\"'`|<>]*+"
    rf"|[^\s\"'`|<>()]{{1,200}}?\.(?:{_EXTENSIONS})(?![\p{{L}}\p{{N}}_])"
    r")"
)
_MATH = regex.compile(
    r"(?<![\\$])\$(?=[^\s$])[^$\n]{0,400}?(?<=[^\s\\])\$(?!\d)|\\\([^\n]{0,400}?\\\)"
)
_COMMENT = regex.compile(
    r"\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'"
    r"|(?<![^\s;{}()])\#[^\n]*+|(?<!:)//[^\n]*+|(?<!\S)--\s[^\n]*+|/\*|<!--|(?<!\S)%\s[^\n]*+"
)
_CLOSERS = {"/*": "*/", "<!--": "-->", '"""': '"""', "'''": "'''"}


class Zones:
    """Looks up in which zone a place of the text lies."""

    def __init__(self, text: str) -> None:
        """Remember the text; nothing is computed before the first question."""
        self._text = text
        self._line: tuple[int, int] = (-1, -1)
        self._line_zones: list[Interval] = []
        self._comments: dict[int, list[tuple[int, int]]] = {}

    def at(self, position: int) -> tuple[str | None, bool]:
        """Zone of a code point offset and whether it lies in a code comment.

        A comment counts as prose: its zone is None.
        """
        block = _containing(self.blocks, position)
        if block is not None:
            if block[2] != "code":
                return block[2], False
            commented = self._in_comment(block, position)
            return (None if commented else "code"), commented
        found = _containing(self._zones_of_line(position), position)
        return (found[2] if found else None), False

    @cached_property
    def blocks(self) -> list[Interval]:
        """Zones over several lines: fenced code, display formulas."""
        return sorted([*_fences(self._text), *_display_math(self._text)])

    def _zones_of_line(self, position: int) -> list[Interval]:
        if not self._line[0] <= position < self._line[1]:
            start = self._text.rfind("\n", 0, position) + 1
            end = self._text.find("\n", position)
            end = len(self._text) if end < 0 else end
            self._line = (start, max(end, position + 1))
            self._line_zones = inline_zones(self._text[start:end], start)
        return self._line_zones

    def _in_comment(self, block: Interval, position: int) -> bool:
        start, end, _ = block
        if start not in self._comments:
            self._comments[start] = list(_comments(self._text[start:end], start))
        spans = self._comments[start]
        index = bisect_right(spans, (position, len(self._text))) - 1
        return index >= 0 and position < spans[index][1]


def inline_zones(line: str, offset: int = 0) -> list[Interval]:
    """Zones inside one line: inline code, URLs, formulas, paths; disjoint and sorted."""
    found: list[Interval] = list(_code_spans(line)) if "`" in line else []
    for pattern, zone in ((_URL, "url"), (_MATH, "math"), (_PATH, "path")):
        if zone == "math" and "$" not in line and "\\(" not in line:
            continue
        taken = sorted(found)
        for match in pattern.finditer(line):
            if _containing(taken, match.start()) is None:
                found.append((match.start(), match.end(), zone))
    return [(start + offset, end + offset, zone) for start, end, zone in sorted(found)]


def _containing(intervals: list[Interval], position: int) -> Interval | None:
    index = bisect_right(intervals, position, key=lambda interval: interval[0]) - 1
    if index >= 0 and position < intervals[index][1]:
        return intervals[index]
    return None


def _fences(text: str) -> Iterator[Interval]:
    if "`" not in text and "~" not in text:
        return
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(text):
        mark, rest = match.group(1), match.group(2)
        if opened is None:
            if "`" not in rest:
                opened = (match.start(), mark)
        elif mark[0] == opened[1][0] and len(mark) >= len(opened[1]) and not rest.strip():
            yield opened[0], match.end(), "code"
            opened = None
    if opened is not None:
        yield opened[0], len(text), "code"


def _display_math(text: str) -> Iterator[Interval]:
    for opener, closer in (("$$", "$$"), ("\\[", "\\]")):
        position = text.find(opener) if opener[0] in text else -1
        while position >= 0:
            end = text.find(closer, position + 2)
            if end < 0:
                break
            if end - position <= 4000:
                yield position, end + 2, "math"
            position = text.find(opener, end + 2)


def _code_spans(line: str) -> Iterator[Interval]:
    opened: tuple[int, int] | None = None
    for match in _TICKS.finditer(line):
        size = match.end() - match.start()
        if opened is None:
            opened = (match.start(), size)
        elif size == opened[1]:
            yield opened[0], match.end(), "code"
            opened = None


def _comments(code: str, offset: int) -> Iterator[tuple[int, int]]:
    position = 0
    while match := _COMMENT.search(code, position):
        token, position = match.group(), match.end()
        if closer := _CLOSERS.get(token):
            end = code.find(closer, position)
            position = len(code) if end < 0 else end + len(closer)
        elif token[0] in "\"'":
            continue
        yield match.start() + offset, position + offset
