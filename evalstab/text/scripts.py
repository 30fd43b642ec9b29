"""Finds what does not belong into a text by its characters: scripts, widths, broken bytes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import regex

from .characters import classify, is_mark, long_name, script_of
from .escapes import decode_entities, decode_json
from .expected import Expectation
from .han import guess_han_language
from .inputs import InputIndex
from .oddities import odd_spans
from .policy import is_emoticon, mitigation
from .runs import Atom, Run, bridge, split_by_source
from .spans import Span
from .suspects import suspects
from .words import MixedWord, boundaries, judge_words
from .zones import Zones

_GRAPHEME = regex.compile(r"\X")
_GREEK_SYMBOL = 2


def scan_scripts(
    text: str,
    expectation: Expectation,
    inputs: InputIndex | None = None,
    channel: str = "content",
) -> list[Span]:
    """Spans of foreign scripts and odd characters, in order of their place.

    Kinds: script, homoglyph, width, punct, invisible, garbage. In the channel "arguments" JSON
    escapes are resolved first, elsewhere numeric HTML entities; offsets are always those of
    `text`. Linear in the text; honest text costs two passes of a character class.
    """
    decoded = decode_json(text) if channel == "arguments" else decode_entities(text)
    if decoded is None:
        return _scan(text, expectation, inputs)
    return [
        replace(span, start=decoded.original(span.start), end=decoded.original(span.end))
        for span in _scan(decoded.text, expectation, inputs)
    ]


def count_graphemes(text: str) -> int:
    """Extended grapheme clusters of a text, white space not counted."""
    return sum(1 for match in _GRAPHEME.finditer(text) if not match.group().isspace())


@dataclass(frozen=True, slots=True)
class _Scan:
    text: str
    allowed: frozenset[str]
    inputs: InputIndex | None
    zones: Zones


def _scan(text: str, expectation: Expectation, inputs: InputIndex | None) -> list[Span]:
    allowed = expectation.scripts
    suspicious = suspects(text, expectation)
    meetings = boundaries(text, allowed)
    if not suspicious and not meetings:
        return []
    scan = _Scan(text, allowed, inputs, Zones(text))
    atoms = list(_atoms(text, suspicious, allowed))
    words, letters = judge_words(text, [a for a in atoms if a.kind == "script"], meetings, allowed)
    runs, alone = bridge(text, letters, [a for a in atoms if a.kind != "script"])
    spans = [_homoglyph(scan, word) for word in words]
    for run in runs:
        if not _is_symbol(text, run) and not is_emoticon(text, run.start, run.end):
            spans += (_foreign(scan, part) for part in split_by_source(text, run, inputs))
    for atom in alone:
        spans += odd_spans(text, atom, expectation, inputs, scan.zones)
    return sorted(spans, key=lambda span: (span.start, span.end))


def _atoms(text: str, runs: Iterable[tuple[int, int]], allowed: frozenset[str]) -> Iterator[Atom]:
    """Cut suspicious runs where class or script changes; marks stay with their letter."""
    done = 0
    for start, end in runs:
        position = max(start, done)
        while position < end:
            kind, script = classify(text[position], allowed), script_of(text[position])
            first, position = position, position + 1
            while position < end and _same(text[position], kind, script, allowed):
                position += 1
            while kind == "script" and position < len(text) and is_mark(text[position]):
                position += 1
            if kind != "fine":
                yield Atom(kind, script, first, position)
        done = max(done, position)


def _same(char: str, kind: str, script: str, allowed: frozenset[str]) -> bool:
    if kind == "script":
        return is_mark(char) or script_of(char) == script
    return classify(char, allowed) == kind


def _is_symbol(text: str, run: Run) -> bool:
    """Greek letters that stand alone or in pairs are symbols: units, variables, IPA."""
    return run.group == "Grek" and all(
        sum(not is_mark(char) for char in text[atom.start : atom.end]) <= _GREEK_SYMBOL
        for atom in run.atoms
    )


def _homoglyph(scan: _Scan, word: MixedWord) -> Span:
    piece = scan.text[word.start : word.end]
    names = {long_name(code): number for code, number in word.letters.items()}
    return Span(
        kind="homoglyph",
        start=word.start,
        end=word.end,
        script=long_name(word.intruder),
        graphemes=count_graphemes(piece),
        copied=scan.inputs is not None and scan.inputs.has_verbatim(piece),
        detail={"scripts": names},
    )


def _foreign(scan: _Scan, run: Run) -> Span:
    text = scan.text
    piece = text[run.start : run.end]
    letters: Counter[str] = Counter()
    for atom in run.atoms:
        letters[atom.script] += sum(not is_mark(char) for char in text[atom.start : atom.end])
    detail: dict[str, object] = {"scripts": {long_name(c): n for c, n in letters.items()}}
    if "Hani" in letters and not letters.keys().isdisjoint({"Hira", "Kana"}):
        detail["group"] = "Jpan"
    elif letters.keys() == {"Hani"}:
        han = "".join(text[atom.start : atom.end] for atom in run.atoms)
        if (language := guess_han_language(han)) is not None:
            detail["language_guess"] = language
    zone, comment = scan.zones.at(run.atoms[0].start)
    if comment:
        detail["comment"] = True
    excuse = mitigation(text, run.start, run.end, run.group)
    if excuse is not None:
        detail[excuse] = True
    return Span(
        kind="script",
        start=run.start,
        end=run.end,
        script=long_name(letters.most_common(1)[0][0]),
        graphemes=count_graphemes(piece),
        zone=zone,
        copied=run.copied,
        tier="probable" if excuse else "sure",
        detail=detail,
    )
