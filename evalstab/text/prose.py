"""Sentences of a text, without everything in them that belongs to no language."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import regex

from .zones import Interval, Zones

_LEAD = regex.compile(
    r"[ \t>]*+(?:(?:[-*+•–—]|\d{1,3}[.)]|[a-zA-Z][.)]|\#{1,6}|\[[ xX]\])[ \t]++)*+"
)
_ITEM = regex.compile(r"[ \t>]*+(?:[-*+•–—]|\d{1,3}[.)]|\#{1,6})[ \t]|[ \t]*+\|")
_END = regex.compile(
    r"(?<![.!?…])[.!?…]++[)\]\"'“”»«’*_]{0,8}+\s++(?=[^\p{Ll}])"
    r"|[。！？；]++|[:;]\s++|\s[–—]\s|[|\t]"
)
_QUOTED = regex.compile(r"[\"„“«»]([^\"„“”«»\n]{25,600}+)[\"“”»«]|\(([^()\n]{25,600}+)\)")
_ABBREVIATION = regex.compile(
    r"(?<![\p{L}\p{N}])(?:\p{L}|\d{1,3}|bzw|ca|vgl|etc|usw|evtl|ggf|inkl|max|min|Nr|Abs|Art|Dr"
    r"|Prof|Mr|Mrs|Ms|St|Sr|Jr|No|vs|Fig|approx|ex|env|pp|cf|np|itp|tj|tzn|Sra|Ud|Uds|pág)\.$"
)
_INLINE_CODE = regex.compile(r"`{1,3}[^`\n]{1,400}+`{1,3}")
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{M}]++"
)
_TOKEN = regex.compile(r"\S++")
_NO_WORD = regex.compile(r"[\\/_@=<>{}\[\]$^~%&|\p{N}]|\(\)")
_CORE = regex.compile(r"[^\p{L}]*+(\p{L}(?:[\p{L}\p{M}’'\-]*[\p{L}\p{M}])?)[^\p{L}\p{M}]*+")
_IDENTIFIER = regex.compile(r"\p{Ll}\p{Lu}|^\p{Lu}{2}")
_OPTION = regex.compile(r"--?[A-Za-z]")
_MAX_SENTENCE = 1200
_MAX_TOKEN = 120
_MAX_KNOWN = 32
_WRAPPED = 50
_FINAL = ".!?:;…。！？；"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece `start` to `end` of the original text, its words and their places there."""

    start: int
    end: int
    words: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def prose(self) -> str:
        """The words with single spaces between them."""
        return " ".join(self.words)

    @property
    def letters(self) -> int:
        """Number of code points in the words."""
        return sum(map(len, self.words))


def sentences(text: str) -> Iterator[Sentence]:
    """Sentences, list items, table cells and longer quotations of a text, in order.

    Fenced and inline code, formulas, URLs, mail addresses, paths, identifiers, options, JSON
    keys, tags and everything with a digit give no words. Lines are joined only where they were
    wrapped: a long line, no final mark, and the next one goes on in lower case.
    """
    for start, end in _blocks(text, Zones(text).blocks):
        for first, last in _pieces(text, start, end):
            sentence = _sentence(text, first, last)
            if sentence is not None:
                yield sentence


def _blocks(text: str, excluded: list[Interval]) -> Iterator[tuple[int, int]]:
    """Stretches of text that one sentence may run through."""
    start, end = -1, -1
    position = skip = 0
    while position < len(text):
        stop = text.find("\n", position)
        stop = len(text) if stop < 0 else stop
        while skip < len(excluded) and excluded[skip][1] <= position:
            skip += 1
        coded = skip < len(excluded) and excluded[skip][0] <= position
        blank = coded or not text[position:stop].strip()
        if start >= 0 and (blank or not _continues(text, (start, end), (position, stop))):
            yield start, end
            start = -1
        if not blank:
            if start < 0:
                lead = _LEAD.match(text, position, stop)
                start = lead.end() if lead else position
            end = stop
        position = stop + 1
    if start >= 0:
        yield start, end


def _continues(text: str, block: tuple[int, int], line: tuple[int, int]) -> bool:
    last = text[block[0] : block[1]].rsplit("\n", 1)[-1].rstrip()
    first = text[line[0] : line[1]].lstrip()
    if len(last) < _WRAPPED or last[-1] in _FINAL or _ITEM.match(text, *line):
        return False
    return first[:1].islower() and block[1] - block[0] < 8 * _MAX_SENTENCE


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a block at sentence ends and around longer quotations and brackets."""
    cuts = {start, end}
    for match in _END.finditer(text, start, end):
        before = text[max(start, match.start() - 12) : match.start() + 1]
        if not _ABBREVIATION.search(before):
            cuts.add(match.end())
    for match in _QUOTED.finditer(text, start, end):
        group = 1 if match.group(1) is not None else 2
        if match.group(group).count(" ") >= 3:
            cuts.update((match.start(), match.start(group), match.end(group), match.end()))
    places = sorted(cuts)
    for first, last in pairwise(places):
        for part in range(first, last, _MAX_SENTENCE):
            yield part, min(part + _MAX_SENTENCE, last)


def _sentence(text: str, start: int, end: int) -> Sentence | None:
    piece = text[start:end]
    if "`" in piece:
        piece = _INLINE_CODE.sub(lambda match: " " * len(match.group()), piece)
    words: list[str] = []
    places: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(piece):
        token = match.group()
        known = len(token) <= _MAX_KNOWN
        for first, last in _known_words(token) if known else _words(token):
            words.append(token[first:last])
            places.append((start + match.start() + first, start + match.start() + last))
    if not words:
        return None
    while text[start].isspace() or text[start] == "|":
        start += 1
    while text[end - 1].isspace() or text[end - 1] == "|":
        end -= 1
    return Sentence(start, end, tuple(words), tuple(places))


@lru_cache(maxsize=8192)
def _known_words(token: str) -> tuple[tuple[int, int], ...]:
    return tuple(_words(token))


def _words(token: str) -> Iterator[tuple[int, int]]:
    """Places of the words in a token: one, or the runs of a script without word spaces."""
    if not token.isascii() and _UNSPACED.search(token):
        yield from (match.span() for match in _UNSPACED.finditer(token))
        return
    if _NO_WORD.search(token) or _OPTION.match(token) or len(token) > _MAX_TOKEN:
        return
    if token[-1] == ":" and token[0] in "\"'":
        return
    core = _CORE.fullmatch(token)
    if core is not None and not _IDENTIFIER.search(core.group(1)):
        yield core.span(1)
