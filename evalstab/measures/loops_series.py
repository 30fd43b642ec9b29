"""Rewording and runaway reasoning, judged against the other trials of the series.

No absolute number tells a reworded loop from a long honest analysis. Each longer reasoning block
is compared with those of the other trials; with fewer than eight of them, or when all may loop,
fixed limits decide. Two of three measures must agree. It is a hint for a reader: never the only
reason to fail a trial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from evalstab.findings import Finding, finding
from evalstab.measures.base import Fact, Measured, SeriesMeasure
from evalstab.measures.facts import LOOP, ReasoningProfile
from evalstab.measures.series_view import ScoredTrial, SeriesView
from evalstab.text.repetition import (
    RewordingJudgement,
    RewordingProfile,
    judge_rewording,
    runaway,
)

MOST_REFERENCES = 60
"""Blocks that a block is compared with at most, the nearest in length."""


def compute(series: SeriesView) -> Measured:
    """Judge every longer reasoning block of every trial."""
    found = Measured()
    judged = 0
    runaways: list[dict[str, Any]] = []
    profiles = [(t.index, b.profile) for t in series.trials for b in _without_loops(t)]
    for trial in series.trials:
        others = [other for other in profiles if other[0] != trial.index]
        usual = median(profile.tokens for _, profile in others) if others else None
        for block in _without_loops(trial):
            judgement = judge_rewording(block.profile, _nearest(block.profile, others))
            judged += judgement.reworded is not None
            if judgement.reworded:
                found.trial_findings.append((trial.index, _finding(block, judgement)))
            elif (ran := runaway(block.profile, usual)) is not None:
                place = {"trial": trial.index, "step": block.step}
                runaways.append(place | {"words": ran.tokens, "new_share": ran.new_share})
    found.values["loops"] = {
        "blocks_judged": judged,
        "reworded": len(found.trial_findings),
        "runaways": runaways,
    }
    return found


def _nearest(
    profile: RewordingProfile, others: Sequence[tuple[int, RewordingProfile]]
) -> list[RewordingProfile]:
    ordered = sorted(
        (other for _, other in others), key=lambda other: abs(other.tokens - profile.tokens)
    )
    return ordered[:MOST_REFERENCES]


def _without_loops(trial: ScoredTrial) -> Iterator[ReasoningProfile]:
    """Profiles of blocks that have no hard loop: such a loop has been told already."""
    looping = {f["step"] for f in trial.values["findings"] if f["code"] == LOOP}
    return (block for block in trial.facts.rewording if block.step not in looping)


def _finding(block: ReasoningProfile, judgement: RewordingJudgement) -> Finding:
    profile = block.profile
    measured = {name: getattr(profile, name) for name in judgement.over}
    limits = {name: limit for name, limit in judgement.limits.items() if name in judgement.over}
    return finding(
        "reasoning.reworded_loop",
        step=block.step,
        channel="reasoning",
        context_tokens=block.context_tokens,
        start=0,
        end=block.characters,
        detail={
            "basis": judgement.basis,
            "measured": measured,
            "limits": limits,
            "words": profile.tokens,
        },
    )


MEASURE = SeriesMeasure(
    name="loops of the series",
    meaning="Whether a model goes over the same analysis again in other words, or runs away.",
    facts=(
        Fact("loops.blocks_judged", "Reasoning blocks of 1,500 words and more.", "blocks", ""),
        Fact(
            "loops.reworded",
            "Those that repeat themselves far more than the blocks of the other trials.",
            "blocks",
            "0 and more",
            "lower is better",
        ),
        Fact(
            "loops.runaways",
            "Blocks far longer than usual that still say new things: no loop.",
            "list",
            "trial, step, words, new_share",
            "lower is better",
        ),
    ),
    compute=compute,
    codes=("reasoning.reworded_loop",),
)
