"""Single characters that do not belong: full-width forms, invisible ones, broken bytes."""

from collections.abc import Iterator

import regex

from .characters import (
    CASED,
    COMMON,
    INHERITED,
    garbage_cause,
    is_letter,
    long_name,
    punctuation_scripts,
    script_of,
)
from .expected import Expectation
from .inputs import InputIndex
from .runs import Atom
from .spans import Span, Tier
from .zones import Zones

_CONTEXT = 6
_MAX_NAMES = 8
_PICTOGRAPH = regex.compile(r"\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|\p{RI}")
_SELECTABLE = regex.compile(r"[\p{S}\p{P}\p{N}\p{Emoji}\p{Han}\p{Mongolian}\p{Myanmar}\u200d]")
_IDEOGRAPHIC = regex.compile(r"[\p{Han}\p{Mongolian}]")
_TAG_SEQUENCE = regex.compile(r"\U0001f3f4[\U000e0020-\U000e007e]{1,32}\U000e007f")
_UNSPACED = frozenset({"Thai", "Laoo", "Khmr", "Mymr", "Tibt", "Java", "Bali"})
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069")
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
_HOMES = ("Hani", "Arab", "Deva", "Grek")
_SURE_GARBAGE = frozenset({"replacement", "surrogate", "noncharacter"})


def odd_spans(
    text: str,
    atom: Atom,
    expectation: Expectation,
    inputs: InputIndex | None,
    zones: Zones,
) -> Iterator[Span]:
    """The spans of an atom that is no letter; none where its characters are legitimate."""
    for start, end in _pieces(text, atom, expectation):
        tier: Tier = "probable"
        script, detail = _script_at(text, start), dict[str, object]()
        if atom.kind == "garbage":
            cause = garbage_cause(text[start])
            tier, detail["cause"] = ("sure" if cause in _SURE_GARBAGE else "probable"), cause
        elif atom.kind == "invisible":
            detail["names"] = [
                f"U+{ord(c):04X}" for c in text[start : min(end, start + _MAX_NAMES)]
            ]
        context = text[max(0, start - _CONTEXT) : end + _CONTEXT]
        yield Span(
            kind=atom.kind,
            start=start,
            end=end,
            script=script,
            graphemes=sum(not char.isspace() for char in text[start:end]),
            zone=zones.at(start)[0],
            copied=inputs is not None and inputs.has_verbatim(context),
            tier=tier,
            detail=detail,
        )


def _pieces(text: str, atom: Atom, expectation: Expectation) -> Iterator[tuple[int, int]]:
    if atom.kind == "invisible":
        yield from _illegitimate(text, atom, expectation)
    elif atom.kind == "width" and any(map(is_letter, text[atom.start : atom.end])):
        yield _whole_word(text, atom)
    elif atom.kind == "garbage":
        yield from _by_cause(text, atom)
    else:
        yield atom.start, atom.end


def _whole_word(text: str, atom: Atom) -> tuple[int, int]:
    start, end = atom.start, atom.end
    while start > 0 and text[start - 1].isalnum() and atom.start - start < 64:
        start -= 1
    while end < len(text) and text[end].isalnum() and end - atom.end < 64:
        end += 1
    return start, end


def _by_cause(text: str, atom: Atom) -> Iterator[tuple[int, int]]:
    start = atom.start
    for position in range(atom.start + 1, atom.end + 1):
        if position == atom.end or garbage_cause(text[position]) != garbage_cause(text[start]):
            yield start, position
            start = position


def _illegitimate(text: str, atom: Atom, expectation: Expectation) -> Iterator[tuple[int, int]]:
    start = -1
    for position in range(atom.start, atom.end):
        if not _legitimate(text, position, expectation):
            start = position if start < 0 else start
        elif start >= 0:
            yield start, position
            start = -1
    if start >= 0:
        yield start, atom.end


def _legitimate(text: str, position: int, expectation: Expectation) -> bool:
    """Whether an invisible character does at this place what it was made for."""
    char = text[position]
    before = text[position - 1] if position else ""
    after = text[position + 1] if position + 1 < len(text) else ""
    if char in "\u200c\u200d":
        return _joins(before, after)
    if char == "\u200b":
        return not _UNSPACED.isdisjoint({script_of(c) for c in (before, after) if c})
    if "\U000e0000" <= char <= "\U000e007f":
        return _in_flag(text, position)
    if char in _DIRECTIONS or char in _FILLERS:
        return expectation.right_to_left if char in _DIRECTIONS else expectation.korean
    if char == "\ufeff":
        return position == 0
    return _selects(char, before)


def _selects(char: str, before: str) -> bool:
    """Whether a variation selector follows something that has variants."""
    if "\ufe00" <= char <= "\ufe0f":
        return bool(before) and bool(_SELECTABLE.match(before))
    supplement = "\U000e0100" <= char <= "\U000e01ef"
    return supplement and bool(before) and bool(_IDEOGRAPHIC.match(before))


def _joins(before: str, after: str) -> bool:
    if not before or not after:
        return False
    if _PICTOGRAPH.match(before) and _PICTOGRAPH.match(after):
        return True
    return all(script_of(char) not in {*CASED, COMMON} for char in (before, after))


def _in_flag(text: str, position: int) -> bool:
    start = text.rfind("\U0001f3f4", max(0, position - 34), position)
    match = _TAG_SEQUENCE.match(text, start) if start >= 0 else None
    return match is not None and position < match.end()


def _script_at(text: str, position: int) -> str:
    char = text[position]
    homes = punctuation_scripts(char)
    if script_of(char) != COMMON or not homes:
        code = script_of(char)
        return long_name(COMMON if code == INHERITED else code)
    return long_name(next((code for code in _HOMES if code in homes), min(homes)))
