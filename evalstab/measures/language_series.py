"""Leaks over all judged trials: how often, how much, where first, and where they spread to.

Trials without a leak are censored at their largest context in ``first_leak``: nothing is known
about what would have come later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalstab.chat import Json
from evalstab.measures.base import (
    Direction,
    Fact,
    Measured,
    SeriesMeasure,
    put,
    put_all,
)
from evalstab.measures.language import CHANNELS
from evalstab.measures.series_view import SeriesView
from evalstab.statistics.intervals import wilson

NO_TRIALS = "no trial ran to an end"


def compute(series: SeriesView) -> Measured:
    """Rates and pooled shares over the judged trials."""
    blocks = [trial.values["language"] for trial in series.judged]
    hits = [block["spans"] > 0 for block in blocks]
    values: dict[str, Any] = {"trials_with_leak": sum(hits)}
    values["leak_rate"] = _rate(hits)
    values["leak_rate_by_channel"] = {
        channel: _rate([block["channels"][channel] > 0 for block in blocks]) for channel in CHANNELS
    }
    written = sum(block["graphemes_written"] for block in blocks)
    for key, name, scale in (
        ("per_thousand", "graphemes", 1_000),
        ("spans_per_100k", "spans", 100_000),
    ):
        amount = sum(block[name] for block in blocks)
        put(values, key, scale * amount / written if written else None, "no text was written")
    values["first_leak"] = [_first(trial.values) for trial in series.judged]
    thought = [block for block in blocks if block["channels"]["reasoning"]]
    carried = sum(block["carried_over"] for block in thought)
    share = carried / len(thought) if thought else None
    put(values, "carry_over", share, "no reasoning leaked")
    values["trials_switched"] = {
        channel: sum(channel in block["switched"] for block in blocks) for channel in CHANNELS
    }
    values["returned"] = sum(block["returned"] for block in blocks)
    return Measured({"language": values})


def _rate(hits: Sequence[bool]) -> Json:
    """Share of trials with a two-sided 95 % Wilson interval."""
    values: Json = {}
    if not hits:
        put_all(values, ("value", "ci_low", "ci_high"), NO_TRIALS)
        return values
    interval = wilson(sum(hits), len(hits))
    values["value"] = sum(hits) / len(hits)
    put(values, "ci_low", interval.low, interval.reason or "")
    put(values, "ci_high", interval.high, interval.reason or "")
    return values


def _first(trial: Json) -> Json:
    """Context of a trial's first leak, or where it was censored."""
    first = trial["language"]["first_leak"]
    entry: Json = {"trial": trial["index"], "leaked": first is not None}
    context = first["context_tokens"] if first else trial.get("largest_context_tokens")
    put(entry, "context_tokens", context, "nobody counted the tokens of this step")
    return entry


_RATE: tuple[str, str, Direction] = ("share of trials", "0 to 1", "lower is better")

MEASURE = SeriesMeasure(
    name="language of the series",
    meaning="In how many trials foreign text appears, how much, and from which context on.",
    facts=(
        Fact("language.trials_with_leak", "Judged trials with a hard span.", "trials", "0 to N"),
        Fact("language.leak_rate", "Their share, with a 95 % Wilson interval.", *_RATE),
        Fact("language.leak_rate_by_channel", "The same for each channel.", *_RATE),
        Fact(
            "language.per_thousand",
            "Leaked graphemes for each 1,000 written, all judged trials pooled.",
            "graphemes / 1,000",
            "0 to 1000",
            "lower is better",
        ),
        Fact(
            "language.spans_per_100k",
            "Hard spans for each 100,000 graphemes written, pooled.",
            "spans / 100,000",
            "0 and more",
            "lower is better",
        ),
        Fact(
            "language.first_leak",
            "Active context of each trial's first leak; without one, its largest context "
            "(censored).",
            "list",
            "trial, leaked, context_tokens",
        ),
        Fact(
            "language.carry_over",
            "Of the trials whose reasoning leaked, the share whose content or files leaked later.",
            "share",
            "0 to 1",
            "lower is better",
        ),
        Fact(
            "language.trials_switched",
            "Trials in which a whole channel is in another language; no leak.",
            "trials",
            "0 to N",
        ),
        Fact(
            "language.returned",
            "Spans that had leaked in an earlier step of the same trial.",
            "spans",
            "0 and more",
            "lower is better",
        ),
    ),
    compute=compute,
)
