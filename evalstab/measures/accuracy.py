"""Accuracy: how near the ranking comes to the known truth, where the task has one.

Stability does not need a truth: a model can be stable and wrong. This stands beside it.
"""

from __future__ import annotations

from typing import Any

from evalstab.measures.base import Fact, Measured, TrialMeasure, put
from evalstab.measures.depth import found_by_depth
from evalstab.measures.view import TrialView
from evalstab.statistics.kendall import tau_b
from evalstab.statistics.ranks import places_from_rankings


def compute(trial: TrialView) -> Measured:
    """Compare order, totals and winner with the task's truth."""
    found = Measured()
    truth, ranking = trial.task.truth, trial.ranking
    if truth is None or ranking is None:
        undelivered = trial.open_reason or "no ranking was delivered"
        reason = undelivered if truth else "the task has no known truth"
        put(found.values, "accuracy", None, reason)
        return found
    values: dict[str, Any] = {}
    found.values["accuracy"] = values
    places = places_from_rankings([truth.order, ranking.groups], trial.task.candidates)
    tau = tau_b(places)
    put(values, "kendall_tau_truth", tau.value, tau.reason or "")
    errors = [
        abs(total - truth.totals[candidate])
        for candidate, total in ranking.totals.items()
        if candidate in truth.totals
    ]
    error = sum(errors) / len(errors) if errors else None
    put(values, "mean_abs_error", error, "no totals to compare")
    values["winner_right"] = set(ranking.groups[0]) == set(truth.order[0])
    why = "only generated tasks with stated points know where their facts stand"
    put(values, "by_depth", found_by_depth(trial), why)
    return found


MEASURE = TrialMeasure(
    name="accuracy",
    meaning="Whether the ranking is right, where the task knows the truth.",
    facts=(
        Fact(
            "accuracy.kendall_tau_truth",
            "Kendall tau-b between the ranking and the true order.",
            "correlation",
            "-1 to 1",
            "higher is better",
            "Kendall 1945",
        ),
        Fact(
            "accuracy.mean_abs_error",
            "Mean distance of the totals from the true ones.",
            "points",
            "0 and more",
            "lower is better",
        ),
        Fact(
            "accuracy.winner_right",
            "Whether the first place is the true one.",
            "yes or no",
            "true, false",
            "higher is better",
        ),
        Fact(
            "accuracy.by_depth",
            "Bands of depth in the input: facts that count, and those whose points were given.",
            "list",
            "",
        ),
    ),
    compute=compute,
)
