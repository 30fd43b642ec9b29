"""Loops: text that repeats itself word for word, or nearly so, or is no language at all.

Hard findings only: a periodic stretch, a stretch that compresses as no honest text does, and
output that is no language. Doubtful stretches are counted as probable. Text that goes on and on
but makes progress is no loop; its length stands under reasoning. Rewording is judged against the
other trials of the series (``loops_series``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstab.findings import Finding, finding
from evalstab.measures.base import Direction, Fact, Measured, TrialMeasure
from evalstab.measures.suspicion import may_repeat
from evalstab.measures.texts import Piece
from evalstab.measures.view import StepView, TrialView
from evalstab.text.excerpt import excerpt
from evalstab.text.repetition import Loop, degenerate, low_entropy, verbatim_loop
from evalstab.text.spans import Span

LEAST_CHARACTERS = 100
"""Texts below this cannot hold a loop of 50 tokens."""


def compute(trial: TrialView) -> Measured:
    """Look for a loop in every text that the model wrote.

    A call that was cut wrote no file and said nothing: it has its own finding and is left out.
    """
    values: dict[str, Any] = {"found": 0, "degenerate": 0, "probable": 0, "tokens_burnt": 0}
    findings: list[Finding] = []
    for step in trial.steps:
        for piece in step.pieces:
            if piece.raw:
                continue
            spans, loop = repetition_in(piece.text)
            values["degenerate"] += len(spans)
            findings += [_degenerate(span, piece, step) for span in spans]
            if loop is None:
                continue
            if loop.tier != "sure":
                values["probable"] += 1
                continue
            values["found"] += 1
            values["tokens_burnt"] += int(str(loop.detail.get("burnt", 0)))
            code = _code(piece)
            if not trial.has_finding(code, step.number):
                findings.append(_loop(code, loop, piece, step))
    return Measured({"loops": values}, findings)


def repetition_in(text: str) -> tuple[list[Span], Loop | None]:
    """Stretches that are no language, and the loop of a text: verbatim before low entropy.

    A loop of what is no language (``!!!!!!``) is the same fault and not told twice.
    """
    if not may_repeat(text):
        return [], None
    spans = [span for span in degenerate(text) if span.tier == "sure"]
    if len(text) < LEAST_CHARACTERS:
        return spans, None
    loop = verbatim_loop(text)
    if loop is None or loop.tier != "sure":
        loop = low_entropy(text) or loop
    if loop is not None and any(s.start < loop.end and loop.start < s.end for s in spans):
        loop = None
    return spans, loop


def _code(piece: Piece) -> str:
    return "reasoning.loop" if piece.channel == "reasoning" else "text.loop"


def _degenerate(span: Span, piece: Piece, step: StepView) -> Finding:
    return finding(
        "text.degenerate",
        **_place(piece, step, span.start, span.end),
        detail=dict(span.detail),
    )


def _loop(code: str, loop: Loop, piece: Piece, step: StepView) -> Finding:
    detail: dict[str, Any] = {"kind": loop.kind, "period": loop.period, "copies": loop.copies}
    detail |= dict(_known(loop))
    return finding(code, **_place(piece, step, loop.start, loop.end), detail=detail)


def _known(loop: Loop) -> Iterator[tuple[str, object]]:
    for key, value in loop.detail.items():
        if value is not None and key != "sample":
            yield key, value


def _place(piece: Piece, step: StepView, start: int, end: int) -> dict[str, Any]:
    return {
        "step": step.number,
        "channel": piece.channel,
        "context_tokens": step.context_at(piece, start),
        "start": piece.offset + start,
        "end": piece.offset + end,
        "excerpt": excerpt(piece.text, start, end),
    }


_COUNT: tuple[str, str, Direction] = ("texts", "0 and more", "lower is better")

MEASURE = TrialMeasure(
    name="loops",
    meaning="Whether the model gets stuck and writes the same thing again and again.",
    facts=(
        Fact("loops.found", "Texts with a verbatim or near-verbatim loop.", *_COUNT),
        Fact("loops.degenerate", "Stretches that are no language.", *_COUNT),
        Fact("loops.probable", "Texts with a doubtful stretch, to be looked at.", *_COUNT),
        Fact(
            "loops.tokens_burnt",
            "Words written after the first copy of each loop.",
            "words",
            "0 and more",
            "lower is better",
        ),
    ),
    compute=compute,
    codes=("reasoning.loop", "text.loop", "text.degenerate"),
)
