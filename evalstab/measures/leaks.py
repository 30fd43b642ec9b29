"""Leaks of one trial: every span of every channel text, with the place where it began."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from evalstab.findings import Channel, Finding, finding
from evalstab.measures.texts import Piece
from evalstab.measures.view import StepView, TrialView
from evalstab.text.excerpt import excerpt
from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import scan_languages
from evalstab.text.scripts import count_graphemes, scan_scripts
from evalstab.text.spans import Kind, Span
from evalstab.text.special_tokens import special_tokens

HARD: frozenset[Kind] = frozenset({"script", "homoglyph", "language", "garbage"})
"""Kinds that the headline counts; the others are listed apart."""

SOFT: frozenset[Kind] = frozenset({"width", "punct", "invisible"})
"""Kinds that are only ever probable: reported as findings, never in the headline."""

ODD: frozenset[Kind] = SOFT | {"special_token"}
"""Kinds that may only be a part of another fault."""

FOREIGN: frozenset[Kind] = frozenset({"script", "language"})
"""Kinds that can fill a whole text."""

MARKUP = frozenset(
    {
        "tool.leaked_markup",
        "tool.in_reasoning",
        "tool.marker_residue",
        "reasoning.leaked_to_content",
        "reasoning.content_in_reasoning",
        "reasoning.unclosed",
    }
)
"""Findings of the reader of replies that explain control tokens in a text."""

CODES: dict[Kind, str] = {
    "script": "text.foreign_script",
    "homoglyph": "text.mixed_script_word",
    "language": "text.foreign_language",
    "width": "text.foreign_punctuation",
    "punct": "text.foreign_punctuation",
    "invisible": "text.invisible",
    "garbage": "text.replacement_char",
    "special_token": "text.special_token",
}

MOSTLY = 0.5
LEAST_TEXT = 40
"""A text of at least this many graphemes, half of them foreign, is one span."""

LEAST_CHANNEL = 200
"""A channel of at least this many graphemes, half of them foreign, has switched its language."""

_COMPLEX = (
    "[^\u0000-\u02ff\u1e00-\u1eff\u2010-\u2027\u2030-\u205e\u2070-\u20cf\u2100-\u2bff"
    "\u3001-\u3029\u4e00-\u9fff]"
)
_CLUSTERS = re.compile(f"{_COMPLEX}+")
_ASCII = bytes(range(128))
_NOT_SOLID = bytes(code for code in range(256) if code > 127 or chr(code).isspace())


@dataclass(frozen=True, slots=True)
class Leak:
    """One span that is a fault, in its step and text. ``whole``: the text is mostly foreign."""

    span: Span
    piece: Piece
    step: StepView
    whole: bool = False

    @property
    def hard(self) -> bool:
        """Whether headline numbers count it."""
        return self.span.kind in HARD

    @property
    def name(self) -> str:
        """The script, or for a sentence in an allowed script its language, as in Latin-en."""
        language = self.span.detail.get("language")
        if self.span.kind == "language" and isinstance(language, str):
            return f"{self.span.script}-{language}"
        return self.span.script

    @property
    def text(self) -> str:
        """The leaked text itself."""
        return self.piece.text[self.span.start : self.span.end]


@dataclass(slots=True)
class LeakScan:
    """All leaks of a trial in order, and what was seen and not counted.

    ``written`` are graphemes by channel. ``switched`` maps a channel that is mostly foreign to its
    first leak; the foreign text of such a channel is no slip and stands in ``leaks`` no more.
    """

    leaks: list[Leak] = field(default_factory=list)
    switched: dict[Channel, Leak] = field(default_factory=dict)
    written: Counter[Channel] = field(default_factory=Counter)
    copied: int = 0
    zoned: int = 0
    probable: int = 0


def scan_trial(trial: TrialView, *, languages: bool) -> LeakScan:
    """Scan all channel texts in order, with what the model had been given to read by then.

    ``languages`` false leaves the sentence-wise language scan out, which costs most of the time.
    """
    spec = trial.task.spec
    expectation = Expectation(spec.language, spec.allow_scripts)
    inputs = InputIndex(trial.inputs)
    scan = LeakScan()
    for step in trial.steps:
        for piece in step.pieces:
            spans = _spans(piece, expectation, inputs, languages)
            _take(scan, step, piece, _untold(spans, piece, trial, step.number))
        for text in step.given:
            inputs.add(text)
    _set_switched_apart(scan)
    return scan


def _set_switched_apart(scan: LeakScan) -> None:
    foreign: Counter[Channel] = Counter()
    for leak in scan.leaks:
        if leak.span.kind in FOREIGN:
            foreign[leak.piece.channel] += leak.span.graphemes
    for channel, covered in foreign.items():
        if scan.written[channel] < LEAST_CHANNEL or covered < MOSTLY * scan.written[channel]:
            continue
        of_channel = [x for x in scan.leaks if x.piece.channel == channel]
        switched = [leak for leak in of_channel if leak.span.kind in FOREIGN]
        scan.switched[channel] = switched[0]
        apart = set(map(id, switched))
        scan.leaks = [leak for leak in scan.leaks if id(leak) not in apart]


def _spans(
    piece: Piece, expectation: Expectation, inputs: InputIndex, languages: bool
) -> list[Span]:
    """Scripts first; a sentence in another language counts only where no script span says so."""
    channel = "arguments" if piece.raw else "content"
    spans = scan_scripts(piece.text, expectation, inputs, channel)
    spans += special_tokens(piece.text, inputs)
    if languages and not piece.raw:
        spans += scan_languages(piece.text, expectation, inputs)
    return sorted(spans, key=lambda span: (span.start, span.end))


def _untold(spans: list[Span], piece: Piece, trial: TrialView, step: int) -> list[Span]:
    """Spans that no other fault explains.

    Left out are control tokens in markup that the reader of replies has told already, and the odd
    characters that such markup and tokens are made of.
    """
    if not any(span.kind in ODD for span in spans):
        return spans
    told = [
        (found.start or 0, len(piece.text) if found.end is None else found.end)
        for found in trial.recorded
        if found.code in MARKUP and found.step == step and found.channel == piece.channel
    ]
    tokens = [(span.start, span.end) for span in spans if span.kind == "special_token"]
    return [
        span
        for span in spans
        if span.kind not in ODD
        or not _touches(span, told if span.kind == "special_token" else told + tokens)
    ]


def _touches(span: Span, places: Iterable[tuple[int, int]]) -> bool:
    return any(start < span.end and span.start < end for start, end in places)


def _take(scan: LeakScan, step: StepView, piece: Piece, spans: Sequence[Span]) -> None:
    total = graphemes(piece.text)
    scan.written[piece.channel] += total
    faults: list[Span] = []
    for span in spans:
        if span.copied:
            scan.copied += 1
        elif span.zone is not None:
            scan.zoned += 1
        elif span.tier != "sure" and span.kind not in SOFT:
            scan.probable += 1
        else:
            faults.append(span)
    whole = _whole(faults, total)
    if whole is not None:
        faults = [whole, *(span for span in faults if span.kind not in FOREIGN)]
    scan.leaks += [Leak(span, piece, step, whole=span is whole) for span in faults]


def _whole(faults: Sequence[Span], total: int) -> Span | None:
    """One span for a text that is mostly in another language, else None."""
    foreign = [span for span in faults if span.kind in FOREIGN]
    covered = sum(span.graphemes for span in _apart(foreign))
    if total < LEAST_TEXT or covered < MOSTLY * total:
        return None
    main = max(foreign, key=lambda span: span.graphemes)
    return Span(
        kind=main.kind,
        start=foreign[0].start,
        end=max(span.end for span in foreign),
        script=main.script,
        graphemes=covered,
        detail=main.detail,
    )


def _apart(spans: Sequence[Span]) -> Iterator[Span]:
    """Spans in order of their start, those left out that begin inside the one before."""
    end = -1
    for span in spans:
        if span.start >= end:
            yield span
            end = span.end


def leak_finding(leak: Leak, *, switched: bool = False) -> Finding:
    """The finding of one leak, or of a channel that switched its language with it."""
    span, piece = leak.span, leak.piece
    detail: dict[str, object] = {"script": span.script, "graphemes": span.graphemes}
    detail |= {"tier": span.tier} if span.tier != "sure" else {}
    detail |= {"channel_switched": True} if switched else {}
    detail |= {"path": piece.path} if piece.path else {}
    detail |= dict(span.detail)
    return finding(
        CODES[span.kind],
        step=leak.step.number,
        channel=piece.channel,
        context_tokens=leak.step.context_at(piece, span.start),
        start=piece.offset + span.start,
        end=piece.offset + span.end,
        excerpt=excerpt(piece.text, span.start, span.end),
        detail=detail,
    )


def graphemes(text: str) -> int:
    """Grapheme clusters of a text, white space not counted: as ``count_graphemes``, but quick.

    Where no character can join another, every character is a cluster; only the runs in which one
    can are counted one by one.
    """
    data = text.encode("utf-8", "surrogatepass")
    rare = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    total = len(data.translate(None, _NOT_SOLID)) + _solid(rare)
    if _CLUSTERS.search(rare) is None:
        return total
    for match in _CLUSTERS.finditer(text):
        run = text[max(0, match.start() - 1) : match.end() + 1]
        total += count_graphemes(run) - _solid(run)
    return total


def _solid(text: str) -> int:
    return sum(map(len, text.split()))
