"""Reasoning length over trials, steps and context depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evalstab.chat import Json
from evalstab.measures.base import Fact, Measured, SeriesMeasure, put
from evalstab.measures.reasoning import growth
from evalstab.measures.series_view import SeriesView

PERCENTS = (0, 25, 50, 75, 100)
BAND = 20_000
"""Width of a context band, in tokens."""


def compute(series: SeriesView) -> Measured:
    """Quantiles over trials and over steps, by context band, and pooled growth."""
    blocks = [trial.values["reasoning"] for trial in series.judged]
    steps = [step for block in blocks for step in block.get("per_step", ())]
    points = [(step["context_tokens"], step["tokens"]) for step in steps]
    values: dict[str, Any] = {
        "tokens": _quantiles([b["tokens"] for b in blocks if b["tokens"] is not None]),
        "largest_block_tokens": _quantiles(
            [b["largest_block_tokens"] for b in blocks if b["largest_block_tokens"] is not None]
        ),
        "tokens_per_step": _quantiles([tokens for _, tokens in points]),
        "by_context": _bands(points),
        "growth": growth(points),
    }
    return Measured({"reasoning": values})


def _quantiles(numbers: Sequence[float]) -> Json:
    """Minimum, quartiles and maximum; linear interpolation."""
    values: Json = {"n": len(numbers)}
    for percent in PERCENTS:
        quantile = float(np.percentile(numbers, percent)) if numbers else None
        put(values, f"p{percent}", quantile, "nothing was measured")
    return values


def _bands(points: Sequence[tuple[int, int]]) -> list[Json]:
    bands: dict[int, list[float]] = {}
    for context, tokens in points:
        bands.setdefault(context // BAND, []).append(tokens)
    return [
        {"from": band * BAND, "to": (band + 1) * BAND, **_quantiles(bands[band])}
        for band in sorted(bands)
    ]


_LENGTH = ("tokens", "0 and more")
_SLOPE = "reasoning tokens for each 10,000 tokens of context"

MEASURE = SeriesMeasure(
    name="reasoning of the series",
    meaning="How far the effort of thinking varies between trials, and with the context.",
    facts=(
        Fact("reasoning.tokens", "Reasoning tokens a trial: quantiles over trials.", *_LENGTH),
        Fact("reasoning.largest_block_tokens", "Largest blocks: quantiles over trials.", *_LENGTH),
        Fact("reasoning.tokens_per_step", "Reasoning tokens a step: quantiles.", *_LENGTH),
        Fact(
            "reasoning.by_context",
            "The same in bands of 20,000 tokens of active context.",
            "list",
            "from, to, n, p0 to p100",
        ),
        Fact("reasoning.growth.per_10k", "Slope of tokens a step over context.", _SLOPE, "any"),
        Fact("reasoning.growth.ci_low", "Lower limit of its 95 % interval.", _SLOPE, "any"),
        Fact("reasoning.growth.ci_high", "Upper limit of its 95 % interval.", _SLOPE, "any"),
    ),
    compute=compute,
)
