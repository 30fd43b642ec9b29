"""Deliverables: whether everything that the task asks for was written, and in its form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evalstab.findings import EXCERPT_LIMIT, Finding, Side, finding
from evalstab.measures.base import Fact, Measured, TrialMeasure
from evalstab.measures.view import TrialView
from evalstab.text.excerpt import visible

_ANNOUNCEMENT = re.compile(
    r"(?i)\b(?:ich werde|werde ich|nun (?:werde|schreibe|erstelle|lese)|jetzt (?:werde|schreibe|"
    r"erstelle|lese)|als nächstes|lass mich|let me|i will|i'll|i am going to|i'm going to|next, i|"
    r"now i)\b"
)
_TAIL = 400
"""Characters at the end of a turn in which an announcement is looked for."""


def compute(trial: TrialView) -> Measured:
    """Count deliverables and name those that are missing or broken."""
    report = trial.delivered
    values: dict[str, Any] = {
        "expected": report.expected,
        "complete": report.complete,
        "missing": list(report.missing),
        "invalid": list(report.invalid),
        "invalid_because": dict(report.invalid),
    }
    findings = list(_findings(trial)) if trial.ended is not None else []
    return Measured({"deliverables": values}, findings)


def _findings(trial: TrialView) -> Iterator[Finding]:
    last = trial.steps[-1] if trial.steps else None
    step = last.number if last else None
    for path in trial.delivered.missing:
        yield finding(
            "trial.deliverable_missing",
            side=_prevented_by(trial) or "model",
            step=step,
            channel="file",
            detail={"path": path},
        )
    for path, reason in trial.delivered.invalid.items():
        yield finding(
            "trial.deliverable_invalid",
            step=_written_in(trial, path),
            channel="file",
            excerpt=visible(reason),
            detail={"path": path, "reason": reason},
        )
    text = last.reply.content if last and last.reply else None
    if trial.delivered.missing and text and _announced(trial, text):
        start = max(0, len(text) - _TAIL)
        yield finding(
            "trial.announced_only",
            step=step,
            channel="content",
            start=start,
            end=len(text),
            excerpt=visible(text[-EXCERPT_LIMIT:]),
        )


def _prevented_by(trial: TrialView) -> Side | None:
    """Who ended the trial before the model could write, None where it was the model itself."""
    if trial.ended is None or trial.ended.ending not in ("endpoint", "context"):
        return None
    attempts = trial.steps[-1].event.attempts if trial.steps else ()
    sides = [found.side for found in attempts[-1].findings] if attempts else []
    return sides[0] if sides and "model" not in sides else None


def _announced(trial: TrialView, text: str) -> bool:
    """Whether a last turn without a call ends with the announcement of an action."""
    ending = trial.ended.ending if trial.ended else None
    if ending != "no_call" or trial.has_finding("trial.announced_only"):
        return False
    tail = text[-_TAIL:]
    return bool(_ANNOUNCEMENT.search(tail)) or tail.rstrip().endswith(":")


def _written_in(trial: TrialView, path: str) -> int | None:
    """The step that wrote a file last, None where the record does not say."""
    for step in reversed(trial.steps):
        if any(result.wrote and result.path == path for result in step.event.results):
            return step.number
    return None


MEASURE = TrialMeasure(
    name="deliverables",
    meaning="Formal success: is everything there that was asked for, in the form asked for?",
    facts=(
        Fact("deliverables.expected", "Files that the task asks for.", "files", "1 and more"),
        Fact(
            "deliverables.complete",
            "Those of them that were written and have their form.",
            "files",
            "0 to expected",
            "higher is better",
        ),
        Fact("deliverables.missing", "Paths that were not written.", "list", ""),
        Fact("deliverables.invalid", "Paths whose contents break their form.", "list", ""),
        Fact("deliverables.invalid_because", "For each of them why.", "texts", ""),
    ),
    compute=compute,
    codes=("trial.deliverable_missing", "trial.deliverable_invalid", "trial.announced_only"),
)
