"""Position: does the order of reading decide, or does sampling?

With ``--shuffle`` trials share their reading order in pairs: two of one pair differ by sampling
alone, two of different pairs by the order too. Without it all trials read in one order, and what
that order does to the judgement counts as agreement.
"""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.measures.base import Fact, Measured, SeriesMeasure, put
from evalstab.measures.series_view import SeriesView
from evalstab.statistics.position import position_effect
from evalstab.statistics.ranks import places_from_rankings

_FIXED = "all trials read in one order: position bias cannot be told from agreement"


def compute(series: SeriesView) -> Measured:
    """Tau within and between reading orders; null where the order was fixed."""
    values: Json = {"shuffled": bool(series.condition("shuffle"))}
    trials = series.judged
    orders = [trial.facts.order for trial in trials]
    if not values["shuffled"] or not any(orders):
        for key in ("orders", "tau_same_order", "tau_other_order", "effect", "ci_low", "ci_high"):
            put(values, key, None, _FIXED)
        return Measured({"position": values})
    rankings = [trial.values["ranking"] for trial in trials]
    found = position_effect(places_from_rankings(rankings, series.task.candidates), orders)
    values["orders"] = found.orders
    put(values, "tau_same_order", found.within.value, found.within.reason or "")
    put(values, "tau_other_order", found.between.value, found.between.reason or "")
    put(values, "effect", found.effect.value, found.effect.reason or "")
    put(values, "ci_low", found.interval.low, found.interval.reason or "")
    put(values, "ci_high", found.interval.high, found.interval.reason or "")
    return Measured({"position": values})


def _fact(key: str, meaning: str, unit: str, limits: str = "-1 to 1") -> Fact:
    return Fact(f"position.{key}", meaning, unit, limits)


MEASURE = SeriesMeasure(
    name="position",
    meaning="Whether the order of reading decides the ranking.",
    facts=(
        _fact("shuffled", "Whether trials read in different orders.", "yes or no", "true, false"),
        _fact("orders", "Reading orders with two ranked trials.", "orders", "0 and more"),
        _fact("tau_same_order", "Mean tau of trials with one order: sampling alone.", "tau"),
        _fact("tau_other_order", "Mean tau of trials with different orders.", "tau"),
        _fact("effect", "Their difference: what the order costs.", "tau", "-2 to 2"),
        _fact("ci_low", "Its 95 % interval, lower limit: jackknife over orders.", "tau", "-2 to 2"),
        _fact("ci_high", "The upper limit.", "tau", "-2 to 2"),
    ),
    compute=compute,
)
