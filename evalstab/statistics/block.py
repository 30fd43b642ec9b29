"""The stability block: everything that one table of trials says about agreement.

The one place that computes it, for series and for tables that people bring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evalstab.statistics import scale, winner
from evalstab.statistics.concordance import kendall_w, mean_spearman
from evalstab.statistics.consensus import kemeny
from evalstab.statistics.icc import IccSteps, icc_steps
from evalstab.statistics.intervals import reg_interval, unseen_share
from evalstab.statistics.kendall import PairTaus, pair_taus, with_failures
from evalstab.statistics.ranks import (
    LARGEST_SCORE,
    FloatArray,
    as_places,
    check_distinct,
    ranked_rows,
)
from evalstab.statistics.topweighted import mean_rank_biased_overlap, mean_weighted_tau
from evalstab.statistics.value import Interval, Value

_WHOLE = {"whole": True}


@dataclass(frozen=True, slots=True)
class KendallBlock:
    """Mean tau-b over pairs of ranked trials, its 95 % REG interval and what stands beside it.

    `pairs` are those with a tau; `pairs_tied` and `pairs_few_common` had none. `with_failures`
    counts a pair with an unranked trial as 0; `noise_ceiling` see `noise.noise_ceiling`.
    """

    mean: Value
    ci: Interval
    min: Value
    pairs: int
    pairs_tied: int
    pairs_few_common: int
    with_failures: Value
    noise_ceiling: Value


@dataclass(frozen=True, slots=True)
class WinnerBlock:
    """First places. `sequence` has None for a trial that is unranked or ties its winners.

    `counts`: trials in which a candidate stood first, alone or tied. `distinct`, `changes`,
    `modal_share` and `entropy_bits` go by winner sets, so that tied winners are one winner set.
    """

    sequence: tuple[str | None, ...]
    counts: dict[str, int]
    distinct: Value = field(metadata=_WHOLE)
    changes: Value = field(metadata=_WHOLE)
    pair_agreement: Value
    modal_share: Value
    entropy_bits: Value


@dataclass(frozen=True, slots=True)
class ScaleBlock:
    """Highest score of each trial (None without scores) and how far it moves between trials."""

    top_scores: tuple[float | None, ...]
    ratio: Value
    cv: Value
    log_sd: Value
    sd: Value
    range: Value


@dataclass(frozen=True, slots=True)
class CandidateBlock:
    """Places of one candidate in each trial (None = not ranked), 1 = best; `sd` with N - 1."""

    places: tuple[float | None, ...]
    best: Value
    worst: Value
    range: Value
    sd: Value


@dataclass(frozen=True, slots=True)
class ConsensusBlock:
    """Kemeny-optimal orders (the first of them if there are many) and how many there are."""

    orders: tuple[tuple[str, ...], ...]
    optima: Value = field(metadata=_WHOLE)


@dataclass(frozen=True, slots=True)
class StabilityBlock:
    """All of it. `to_dict` gives the `stability` object of scores.json."""

    trials_ranked: int
    trials_unranked: int
    success_rate: Value
    coverage: Value
    distinct_outputs: Value = field(metadata=_WHOLE)
    unseen_share: Value
    kendall_tau: KendallBlock
    weighted_tau: Value
    kendall_w: Value
    spearman: Value
    rbo: Value
    winner: WinnerBlock
    scale: ScaleBlock
    icc: IccSteps
    candidates: dict[str, CandidateBlock]
    consensus: ConsensusBlock

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, numbers and None; beside each undefined `x` stands `x_reason`."""
        return _plain_fields(self)


def stability_block(
    places: npt.ArrayLike,
    scores: npt.ArrayLike | None,
    candidates: Sequence[str],
    *,
    order_in_time: bool = True,
    distinct_outputs: int | None = None,
    noise_ceiling: Value | None = None,
) -> StabilityBlock:
    """The stability of one table: `places` and `scores` (N, M), ids of the M columns.

    `scores` None or NaN where there are none; scores beyond 1e100 count as missing.
    `order_in_time`: rows stand as the trials took place. `distinct_outputs` and `noise_ceiling` are
    for the caller to know. Ties, gaps and any number of trials give a block; what cannot be
    computed has a reason. Raises ValueError for wrong shapes, no places, or duplicate ids only.
    """
    table = _named_places(places, candidates)
    points = _usable_scores(scores, table.shape)
    n, ranked = len(table), int(ranked_rows(table).sum())
    taus = pair_taus(table)
    unknown = Value.undefined("there are no two outputs to compare")
    return StabilityBlock(
        trials_ranked=ranked,
        trials_unranked=n - ranked,
        success_rate=Value.of(ranked / n) if n else Value.undefined("no trials"),
        coverage=taus.coverage,
        distinct_outputs=unknown if distinct_outputs is None else Value.of(distinct_outputs),
        unseen_share=unseen_share(ranked) if ranked else Value.undefined("no ranked trial"),
        kendall_tau=_kendall(taus, n, noise_ceiling),
        weighted_tau=mean_weighted_tau(table),
        kendall_w=kendall_w(table),
        spearman=mean_spearman(table),
        rbo=mean_rank_biased_overlap(table),
        winner=_winner(table, candidates, order_in_time),
        scale=_scale(points),
        icc=icc_steps(points),
        candidates={id_: _candidate(table[:, j]) for j, id_ in enumerate(candidates)},
        consensus=_consensus(table, candidates),
    )


def _named_places(places: npt.ArrayLike, candidates: Sequence[str]) -> FloatArray:
    table = as_places(places)
    check_distinct(candidates)
    if table.shape[1] != len(candidates):
        raise ValueError(f"{len(candidates)} ids for {table.shape[1]} columns")
    return table


def _usable_scores(scores: npt.ArrayLike | None, shape: tuple[int, ...]) -> FloatArray:
    if scores is None:
        return np.full(shape, np.nan)
    array = np.array(scores, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"scores have shape {array.shape}, places {shape}")
    array[np.abs(array) > LARGEST_SCORE] = np.nan
    return array


def _kendall(taus: PairTaus, trials: int, noise_ceiling: Value | None) -> KendallBlock:
    values = taus.values()
    mean = taus.mean()
    least = Value.of(values.min()) if len(values) else Value.undefined(taus.no_pairs_reason())
    unknown = Value.undefined("needs the criteria behind the totals")
    return KendallBlock(
        mean=mean,
        ci=reg_interval(taus.tau, taus.step()),
        min=least,
        pairs=len(values),
        pairs_tied=taus.dropped_tied,
        pairs_few_common=taus.dropped_few_common,
        with_failures=with_failures(mean, len(taus.trials), trials),
        noise_ceiling=unknown if noise_ceiling is None else noise_ceiling,
    )


def _winner(places: FloatArray, candidates: Sequence[str], order_in_time: bool) -> WinnerBlock:
    sets = winner.winner_sets(places)
    distinct = winner.distinct(sets)
    none_ranked = Value.undefined("no ranked trial")
    out_of_order = Value.undefined("the order of the trials in time is not known")
    return WinnerBlock(
        sequence=tuple(candidates[min(s)] if len(s) == 1 else None for s in sets),
        counts={candidates[j]: count for j, count in winner.first_places(sets).items()},
        distinct=Value.of(distinct) if distinct else none_ranked,
        changes=winner.changes(sets) if order_in_time else out_of_order,
        pair_agreement=winner.pair_agreement(sets),
        modal_share=winner.modal_share(sets),
        entropy_bits=winner.entropy_bits(sets),
    )


def _scale(points: FloatArray) -> ScaleBlock:
    tops = scale.top_scores(points)
    return ScaleBlock(
        top_scores=_with_gaps(tops),
        ratio=scale.ratio(tops),
        cv=scale.coefficient_of_variation(tops),
        log_sd=scale.log_sd(tops),
        sd=scale.standard_deviation(tops),
        range=scale.value_range(tops),
    )


def _candidate(places: FloatArray) -> CandidateBlock:
    present = places[~np.isnan(places)]
    never = Value.undefined("no trial ranks this candidate")
    return CandidateBlock(
        places=_with_gaps(places),
        best=Value.of(present.min()) if len(present) else never,
        worst=Value.of(present.max()) if len(present) else never,
        range=Value.of(present.max() - present.min()) if len(present) else never,
        sd=scale.standard_deviation(places),
    )


def _consensus(places: FloatArray, candidates: Sequence[str]) -> ConsensusBlock:
    found = kemeny(places)
    if found is None:
        return ConsensusBlock((), Value.undefined("no ranked trial"))
    approximate = Value.undefined("approximate: too many candidates in one cycle of majorities")
    return ConsensusBlock(
        orders=tuple(tuple(candidates[j] for j in order) for order in found.orders),
        optima=approximate if found.optima is None else Value.of(found.optima),
    )


def _with_gaps(values: FloatArray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in values)


def _plain_fields(block: Any) -> dict[str, Any]:
    """A block as plain data; undefined values become None with a reason beside them."""
    plain: dict[str, Any] = {}
    for item in fields(block):
        value = getattr(block, item.name)
        if isinstance(value, Value):
            whole = item.metadata.get("whole") and value.value is not None
            plain[item.name] = round(value.value or 0) if whole else value.value
            if value.reason is not None:
                plain[f"{item.name}_reason"] = value.reason
        elif isinstance(value, Interval):
            for end, limit in (("low", value.low), ("high", value.high)):
                plain[f"{item.name}_{end}"] = limit
                if value.reason is not None:
                    plain[f"{item.name}_{end}_reason"] = value.reason
        else:
            plain[item.name] = _plain(value)
    return plain


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return _plain_fields(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return value
