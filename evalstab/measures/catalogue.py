"""Every measure there is, in the order in which their keys stand in ``scores.json``."""

from __future__ import annotations

from evalstab.measures import (
    accuracy,
    conditions,
    context,
    deliverables,
    divergence,
    health,
    language,
    language_series,
    loops,
    loops_series,
    position,
    ranking,
    reasoning,
    reasoning_series,
    speed,
    speed_series,
    stability,
    tool_calls,
)
from evalstab.measures.base import SeriesMeasure, TrialMeasure

TRIAL_MEASURES: tuple[TrialMeasure, ...] = (
    context.MEASURE,
    deliverables.MEASURE,
    ranking.MEASURE,
    reasoning.MEASURE,
    language.MEASURE,
    loops.MEASURE,
    tool_calls.MEASURE,
    speed.MEASURE,
    accuracy.MEASURE,
)

SERIES_MEASURES: tuple[SeriesMeasure, ...] = (
    conditions.MEASURE,
    health.MEASURE,
    stability.MEASURE,
    position.MEASURE,
    divergence.MEASURE,
    speed_series.MEASURE,
    language_series.MEASURE,
    reasoning_series.MEASURE,
    loops_series.MEASURE,
)
