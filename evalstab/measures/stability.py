"""Stability: the agreement of rankings, winners and score scales over the judged trials.

Rows are the trials that ran to an end of the model's own; one without a usable ranking is an
unranked row, never left out. Aborted and invalid trials say nothing about the model.
"""

from __future__ import annotations

import numpy as np

from evalstab.chat import Json
from evalstab.measures.base import Direction, Fact, Measured, SeriesMeasure, put
from evalstab.measures.series_view import ScoredTrial, SeriesView
from evalstab.statistics.block import stability_block
from evalstab.statistics.noise import latent_totals, noise_ceiling
from evalstab.statistics.ranks import LARGEST_SCORE, FloatArray, places_from_rankings
from evalstab.statistics.value import Value
from evalstab.task.unasked import NO_TASK


def compute(series: SeriesView) -> Measured:
    """The stability block over all judged trials, in order of their index."""
    candidates = series.task.candidates
    trials = series.judged
    outputs = [trial.facts.output for trial in series.answered]
    totals = _totals(trials, candidates)
    block = stability_block(
        places_from_rankings([trial.values["ranking"] for trial in trials], candidates),
        totals,
        candidates,
        order_in_time=series.condition("concurrency") in (None, 1),
        distinct_outputs=len(set(outputs)) if len(outputs) > 1 else None,
        noise_ceiling=_ceiling(series, totals),
    )
    values: Json = {"trials": [trial.index for trial in trials]} | block.to_dict()
    if not candidates:
        put(values, "success_rate", None, NO_TASK)
    return Measured({"stability": values})


def _totals(trials: list[ScoredTrial], candidates: tuple[str, ...]) -> FloatArray:
    totals = np.full((len(trials), len(candidates)), np.nan)
    for row, trial in zip(totals, trials, strict=True):
        stated = trial.values["totals"] or {}
        row[:] = [stated.get(candidate, np.nan) for candidate in candidates]
    return totals


def _ceiling(series: SeriesView, totals: FloatArray) -> Value:
    """The ceiling from the true totals, else from the mean totals of the trials."""
    criteria = series.task.spec.criteria
    truth = series.task.truth
    if truth is not None and truth.totals:
        known = np.array([truth.totals.get(c, np.nan) for c in series.task.candidates])
    else:
        known = latent_totals(np.where(np.abs(totals) > LARGEST_SCORE, np.nan, totals))
    return noise_ceiling(known, np.ones(len(criteria)))


_AGREEMENT: tuple[str, str, Direction] = ("correlation", "-1 to 1", "higher is better")
_SPREAD: tuple[str, str, Direction] = ("share", "0 and more", "lower is better")


def _fact(
    key: str,
    meaning: str,
    unit: str,
    limits: str = "",
    direction: Direction = "neither",
    *,
    source: str = "",
) -> Fact:
    return Fact(f"stability.{key}", meaning, unit, limits, direction, source)


_PAIRWISE = (
    _fact(
        "kendall_tau.mean",
        "Mean Kendall tau-b over all pairs of ranked trials; (1 + tau) / 2 is the chance that two "
        "trials order a random pair of candidates alike. 0 for unrelated orders.",
        *_AGREEMENT,
        source="Kendall 1945; as a U-statistic Hoeffding 1948",
    ),
    _fact(
        "kendall_tau.ci_low",
        "Its 95 % interval, lower limit: jackknife over trials on the atanh scale; needs 3 trials.",
        *_AGREEMENT,
        source="Arvesen 1969",
    ),
    _fact(
        "kendall_tau.ci_high",
        "The upper limit; with 3 trials, or where all pairs agree equally, as wide as if one trial "
        "had two neighbours swapped.",
        *_AGREEMENT,
    ),
    _fact("kendall_tau.min", "The least agreeing pair of trials.", *_AGREEMENT),
    _fact("kendall_tau.pairs", "Pairs of trials that have a tau.", "pairs", "0 and more"),
    _fact(
        "kendall_tau.with_failures",
        "The mean with every pair that has an unranked trial counted as 0.",
        *_AGREEMENT,
    ),
    _fact(
        "kendall_tau.noise_ceiling",
        "Mean tau of two judges who know the truth (else the mean totals of these trials) and err "
        "by one point either way on every criterion.",
        *_AGREEMENT,
    ),
    _fact(
        "weighted_tau",
        "As tau, but a swap near the top weighs more.",
        *_AGREEMENT,
        source="Vigna 2015",
    ),
    _fact(
        "kendall_w",
        "Concordance of all trials; its value at chance is 1 / N, so never compare it across "
        "different N.",
        "share",
        "0 to 1",
        "higher is better",
        source="Kendall & Babington Smith 1939",
    ),
    _fact("spearman", "Mean rank correlation over pairs of trials.", *_AGREEMENT),
    _fact(
        "rbo",
        "Rank-biased overlap, top-weighted; two reversed orders still share about half.",
        "share",
        "0 to 1",
        "higher is better",
        source="Webber, Moffat & Zobel 2010",
    ),
)

_WINNERS = (
    _fact("winner.sequence", "First place of each trial; null where unranked or tied.", "list"),
    _fact("winner.counts", "Trials in which a candidate stood first.", "trials"),
    _fact("winner.distinct", "Different winners.", "winners", "1 to N", "lower is better"),
    _fact("winner.changes", "Changes from trial to trial.", "changes", "0 to N - 1"),
    _fact(
        "winner.pair_agreement",
        "The chance that two trials have the same winner.",
        "share",
        "0 to 1",
        "higher is better",
        source="Simpson 1949, unbiased",
    ),
    _fact("winner.modal_share", "Share of the most frequent winner.", "share", "1/N to 1"),
    _fact("winner.entropy_bits", "Spread of the winners.", "bits", "0 to log2 N"),
)

_SCALES = (
    _fact("scale.top_scores", "Highest total of each trial.", "list"),
    _fact("scale.ratio", "Largest over smallest top score.", "ratio", "1 and more"),
    _fact("scale.cv", "Sample standard deviation over mean of the top scores.", *_SPREAD),
    _fact("scale.log_sd", "Standard deviation of the logarithms of the top scores.", *_SPREAD),
    _fact(
        "icc.absolute",
        "ICC(A,1): do trials give the same numbers?",
        *_AGREEMENT,
        source="McGraw & Wong 1996",
    ),
    _fact(
        "icc.consistency",
        "ICC(C,1): the same numbers up to a shift of each trial?",
        *_AGREEMENT,
        source="McGraw & Wong 1996",
    ),
    _fact("icc.standardised", "ICC(C,1) after each trial's totals are z-scored.", *_AGREEMENT),
    _fact("candidates", "Each candidate's places, best, worst, range, sd.", "places", "1 to M"),
    _fact("consensus.orders", "Orders with the least total Kendall distance to all.", "list"),
    _fact("consensus.optima", "How many such orders there are.", "orders", "1 and more"),
)

MEASURE = SeriesMeasure(
    name="stability",
    meaning="Whether the same task comes out the same: orders, winners, score scales.",
    facts=(
        _fact("trials", "The judged trials, in the order of the lists below.", "list"),
        _fact("trials_ranked", "Judged trials with a ranking.", "trials", "0 to N"),
        _fact("trials_unranked", "Judged trials without one.", "trials", "0 to N"),
        _fact(
            "success_rate",
            "Share of the judged trials that delivered a ranking.",
            "share",
            "0 to 1",
            "higher is better",
        ),
        _fact(
            "coverage",
            "Mean share of candidates that a pair of ranked trials has in common.",
            "share",
            "0 to 1",
            "higher is better",
        ),
        _fact(
            "distinct_outputs",
            "Different conversations, word for word; 1 is determinism, not stability.",
            "trials",
            "1 to N",
        ),
        _fact(
            "unseen_share",
            "Share of trials that could behave in another way and would still not have been seen "
            "in N trials, 95 %: 1 - 0.05^(1/N).",
            "share",
            "0 to 1",
            "lower is better",
        ),
        *_PAIRWISE,
        *_WINNERS,
        *_SCALES,
    ),
    compute=compute,
)
