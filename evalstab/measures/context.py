"""Active context: how long the conversation was when the judgement was given."""

from __future__ import annotations

from evalstab.findings import finding
from evalstab.measures.base import Fact, Measured, TrialMeasure, put
from evalstab.measures.view import TrialView

MISSED = 0.15
"""Deviation from the requested context, either way, from which on a trial has missed it."""


def compute(trial: TrialView) -> Measured:
    """Active context of the step that delivered the ranking, else the largest of the trial."""
    found = Measured()
    step = trial.delivery_step or max(trial.steps, key=lambda s: s.context.count, default=None)
    if step is None:
        reason = "the record holds no step"
        put(found.values, "active_context_tokens", None, reason)
        put(found.values, "tokens_source", None, reason)
        put(found.values, "context_deviation", None, reason)
        return found
    count = step.context.count
    found.values["active_context_tokens"] = count
    found.values["tokens_source"] = step.context.source
    largest = max(s.context.count for s in trial.steps)
    found.values["largest_context_tokens"] = largest
    if trial.target:
        deviation = count / trial.target - 1
        found.values["context_deviation"] = deviation
        if trial.ended and abs(deviation) > MISSED:
            found.findings.append(
                finding(
                    "context.target_missed",
                    step=step.number,
                    context_tokens=count,
                    detail={"target": trial.target, "active": count, "largest": largest},
                )
            )
    else:
        put(found.values, "context_deviation", None, "no context was asked for")
    return found


MEASURE = TrialMeasure(
    name="context",
    meaning="How many tokens the model had before it when it gave its final ranking.",
    facts=(
        Fact(
            "active_context_tokens",
            "Prompt (cached tokens included) plus answer of the step that delivered the final "
            "ranking; of the largest step where none was delivered.",
            "tokens",
            "0 and more",
        ),
        Fact(
            "tokens_source",
            "Who counted: the server, its tokenizer endpoint, or an estimate from lengths.",
            "word",
            "server, tokenizer, estimate",
        ),
        Fact(
            "context_deviation",
            "Active context over the one asked for, less 1; beyond 0.15 either way it was missed.",
            "share",
            "-1 and more",
        ),
        Fact(
            "largest_context_tokens",
            "Active context of the largest step.",
            "tokens",
            "0 and more",
        ),
    ),
    compute=compute,
    codes=("context.target_missed",),
)
