"""Output that is no language: one symbol again and again, walls of numbers, NaN."""

from collections.abc import Iterator

import regex

from .characters import long_name, script_of
from .spans import Span, Tier

_RULES = "-=_*~#|+. \t·.…─━═│┃█▓▒░•\u2500-\u257f"
_SYMBOL_RUN = regex.compile(rf"([^\s{_RULES}])\1{{39,}}+")
_RULE_RUN = regex.compile(rf"([{_RULES}])\1{{999,}}+")
_SPACED_RUN = regex.compile(r"([^\s\p{L}\p{N}|\-=_*~#+.])(?:\s{1,3}\1){29,}+")
_NAN = regex.compile(
    r"(?i)(?<![\p{L}])(?:nan|-?inf(?:inity)?|null)(?:[\s,;]{1,4}(?:nan|-?inf(?:inity)?|null)){11,}+"
)
_NUMBERS = regex.compile(r"\p{Nd}[\p{Nd}.,:;/ \t-]*+")
_NUMBER_LINES = regex.compile(r"(?:^[\p{Nd}][\p{Nd}.,:;/ \t-]*+\n){2,}+", regex.MULTILINE)
_MIN_WALL = 600
_MIN_WALL_LINES = 4000
_MIN_WHOLE = 6
_SHORTEST = 40


def degenerate(text: str) -> list[Span]:
    """Stretches of a text that are no language, in order; kind "degenerate".

    Causes: "symbol" (one character 40 times or more, characters that draw rules 1,000 times,
    one symbol between spaces 30 times, or a whole text of at least six times one symbol),
    "nan" (twelve NaN, inf or null in a row), "numbers" (600 characters of digits on one line;
    4,000 over several lines are probable, as a file may hold such data).
    `!!!!!!` is the sign of NaN logits: `detail.symbol` says which character it was.
    """
    whole = _whole(text)
    if whole is not None:
        return [whole]
    if len(text) < _SHORTEST:
        return []
    found = [*_symbols(text), *_nan(text), *_number_walls(text)]
    spans: list[Span] = []
    for span in sorted(found, key=lambda item: (item.start, -item.end)):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return spans


def _whole(text: str) -> Span | None:
    body = text.strip()
    symbols = set(body) - set(" \n\t")
    if len(symbols) != 1 or body[0].isalnum() or body[0] in "-=_*~#.…|+":
        return None
    count = sum(not char.isspace() for char in body)
    start = text.index(body[0])
    return _span(text, start, start + len(body), "symbol") if count >= _MIN_WHOLE else None


def _symbols(text: str) -> Iterator[Span]:
    for pattern in (_SYMBOL_RUN, _RULE_RUN, _SPACED_RUN):
        for match in pattern.finditer(text):
            yield _span(text, match.start(), match.end(), "symbol")


def _nan(text: str) -> Iterator[Span]:
    for match in _NAN.finditer(text):
        yield _span(text, match.start(), match.end(), "nan")


def _number_walls(text: str) -> Iterator[Span]:
    for match in _NUMBERS.finditer(text):
        if match.end() - match.start() >= _MIN_WALL:
            yield _span(text, match.start(), match.end(), "numbers")
    for match in _NUMBER_LINES.finditer(text):
        if match.end() - match.start() >= _MIN_WALL_LINES:
            yield _span(text, match.start(), match.end(), "numbers", "probable")


def _span(text: str, start: int, end: int, cause: str, tier: Tier = "sure") -> Span:
    return Span(
        kind="degenerate",
        start=start,
        end=end,
        script=long_name(script_of(text[start])),
        graphemes=end - start,
        tier=tier,
        detail={"cause": cause, "symbol": text[start], "count": end - start},
    )
