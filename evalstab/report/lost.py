"""Trials that something else than the model ended: what it was, and whose it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evalstab.chat import Json
from evalstab.findings import CODES
from evalstab.report import labels, numbers
from evalstab.report.facts import block, number

OVERFLOW = "context.overflow"


def side_of_loss(trial: Json) -> str | None:
    """Who ended a failed trial, where that was not the model: endpoint, rig or harness."""
    if trial.get("outcome") != "failed":
        return None
    cause = str(trial.get("cause"))
    found = _finding(trial, cause)
    known = CODES.get(cause)
    side = found.get("side") or (known.side if known else "model")
    return None if side == "model" else str(side)


def lost_trials(trials: Sequence[Json]) -> list[Json]:
    """The failed trials that something else than the model ended."""
    return [trial for trial in trials if side_of_loss(trial) is not None]


def told_loss(trial: Json) -> str:
    """The cause in words, with both sizes where the context was too small."""
    cause = str(trial.get("cause"))
    detail = block(_finding(trial, cause), "detail")
    prompt, limit = number(detail, "prompt"), number(detail, "limit")
    if cause == OVERFLOW and prompt is not None and limit is not None:
        return (
            f"{cause}: the prompt comes to {numbers.count(prompt)} tokens, the server holds "
            f"{numbers.count(limit)}"
        )
    return f"{labels.name(cause)}: {labels.sentence(trial.get('reason') or '')}"[:240]


def told_losses(lost: Sequence[Json]) -> str:
    """The causes of several such trials, the most frequent first, each with its side once."""
    by_cause = Counter((str(t.get("cause")), side_of_loss(t)) for t in lost)
    parts = []
    for (cause, side), times in by_cause.most_common(3):
        first = next(t for t in lost if str(t.get("cause")) == cause)
        parts.append(f"{times} by the {side} ({told_loss(first)})")
    return ", ".join(parts)


def _finding(trial: Json, code: str) -> Json:
    findings = trial.get("findings") or ()
    return next((f for f in findings if isinstance(f, dict) and f.get("code") == code), {})
