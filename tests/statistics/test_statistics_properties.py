"""Properties that hold for any table: relabelling, reversal, ties, gaps, identical trials."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstab.statistics import concordance, consensus, icc, intervals, kendall, scale, topweighted
from evalstab.statistics import winner as winner_of
from evalstab.statistics.block import stability_block
from evalstab.statistics.ranks import (
    FloatArray,
    as_places,
    places_from_order_numbers,
    places_from_scores,
)
from evalstab.statistics.value import Value


@st.composite
def score_tables(
    draw: st.DrawFn, *, gaps: bool = True, least_trials: int = 0, least_candidates: int = 1
) -> FloatArray:
    """Scores with many ties, zeros and negative values, and with missing candidates and trials."""
    n = draw(st.integers(least_trials, 6))
    m = draw(st.integers(least_candidates, 7))
    cell: st.SearchStrategy[float] = st.integers(-3, 6).map(float)
    if gaps:
        cell = st.one_of(cell, cell, cell, st.just(math.nan))
    rows = draw(st.lists(st.lists(cell, min_size=m, max_size=m), min_size=n, max_size=n))
    return np.array(rows, dtype=np.float64).reshape(n, m)


def names(table: FloatArray) -> list[str]:
    return [f"p{j}" for j in range(table.shape[1])]


def pairwise_mean_by_scipy(scores: FloatArray) -> float | None:
    """The definition, pair by pair, with another implementation of tau-b."""
    taus = []
    m = scores.shape[1]
    for x, y in itertools.combinations(scores, 2):
        common = ~np.isnan(x) & ~np.isnan(y)
        if common.sum() < min(m, max(3, m / 2)) or common.sum() < 2:
            continue
        if len(np.unique(x[common])) > 1 and len(np.unique(y[common])) > 1:
            taus.append(stats.kendalltau(x[common], y[common]).statistic)
    return float(np.mean(taus)) if taus else None


def same(one: Value, other: Value) -> bool:
    if one.value is None or other.value is None:
        return one.value is other.value
    return math.isclose(one.value, other.value, rel_tol=1e-9, abs_tol=1e-9)


@settings(deadline=None)
@given(score_tables())
def test_mean_tau_is_the_pairwise_definition(scores: FloatArray) -> None:
    places = places_from_scores(scores)
    expected = pairwise_mean_by_scipy(scores)
    for value in (kendall.mean_tau(places).value, kendall.pair_taus(places).mean().value):
        if expected is None:
            assert value is None
        else:
            assert value == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(score_tables(least_trials=2, least_candidates=2), st.integers(0, 2**32))
def test_nothing_depends_on_the_names_of_candidates(scores: FloatArray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.permutation(scores.shape[1])
    one, other = places_from_scores(scores), places_from_scores(scores[:, columns])
    for statistic in (
        kendall.mean_tau,
        topweighted.mean_weighted_tau,
        topweighted.mean_rank_biased_overlap,
        concordance.kendall_w,
        concordance.mean_spearman,
    ):
        assert same(statistic(one), statistic(other))
    assert same(icc.icc(scores, "A,1"), icc.icc(scores[:, columns], "A,1"))
    a, b = consensus.kemeny(one), consensus.kemeny(other)
    assert (a is None) == (b is None)
    if a is not None and b is not None:
        assert (a.distance, a.optima) == (b.distance, b.optima)
        renamed = {tuple(int(columns[j]) for j in order) for order in b.orders}
        assert renamed == set(a.orders) or (a.optima or 0) > consensus.MOST_ORDERS


@settings(deadline=None)
@given(score_tables(least_trials=2, least_candidates=2), st.integers(0, 2**32))
def test_the_order_of_trials_matters_to_nothing_but_changes(scores: FloatArray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(scores))
    one = stability_block(places_from_scores(scores), scores, names(scores), order_in_time=False)
    shuffled = scores[rows]
    two = stability_block(places_from_scores(shuffled), shuffled, names(scores))
    assert same(one.kendall_tau.mean, two.kendall_tau.mean)
    assert same(one.weighted_tau, two.weighted_tau)
    assert same(one.winner.pair_agreement, two.winner.pair_agreement)
    assert one.winner.counts == two.winner.counts
    assert one.consensus.optima == two.consensus.optima
    assert one.winner.changes.value is None


@settings(deadline=None)
@given(score_tables(gaps=False, least_trials=2, least_candidates=2))
def test_reversing_every_trial_keeps_agreement_reversing_one_turns_its_sign(
    scores: FloatArray,
) -> None:
    places, reversed_ = places_from_scores(scores), places_from_scores(-scores)
    assert same(kendall.mean_tau(places), kendall.mean_tau(reversed_))
    assert same(concordance.kendall_w(places), concordance.kendall_w(reversed_))
    tau = kendall.tau_b(places[:2]).value
    against = kendall.tau_b(np.vstack([places[0], reversed_[1]])).value
    assert (tau is None) == (against is None)
    if tau is not None and against is not None:
        assert against == pytest.approx(-tau, abs=1e-12)


@settings(deadline=None)
@given(score_tables(gaps=False, least_candidates=2, least_trials=1), st.integers(2, 6))
def test_identical_trials_agree_perfectly(scores: FloatArray, n: int) -> None:
    assume(len(np.unique(scores[0])) > 1)
    repeated = np.tile(scores[0], (n, 1))
    block = stability_block(places_from_scores(repeated), repeated, names(repeated))
    for value in (
        block.kendall_tau.mean,
        block.kendall_tau.min,
        block.weighted_tau,
        block.kendall_w,
        block.spearman,
        block.rbo,
        block.winner.pair_agreement,
        block.winner.modal_share,
        block.icc.absolute,
        block.icc.standardised,
    ):
        assert value.value == pytest.approx(1.0, abs=1e-9)
    assert block.kendall_tau.mean.value == 1.0
    assert block.winner.entropy_bits.value == 0
    assert block.winner.changes.value == 0
    assert all(c.range.value == 0 for c in block.candidates.values())
    if n >= 3:
        assert block.kendall_tau.ci.high == 1.0
        assert block.kendall_tau.ci.low is not None
        assert block.kendall_tau.ci.low < 1.0


@settings(deadline=None)
@given(score_tables())
def test_the_block_never_raises_and_explains_every_gap(scores: FloatArray) -> None:
    block = stability_block(places_from_scores(scores), scores, names(scores)).to_dict()
    text = json.dumps(block, allow_nan=False)
    assert unexplained(json.loads(text)) == []


def unexplained(plain: dict[str, object]) -> list[str]:
    """Fields, at any depth, that are None without a reason beside them."""
    found: list[str] = []
    for key, value in plain.items():
        if isinstance(value, dict):
            found += unexplained(value)
        elif value is None and not plain.get(f"{key}_reason"):
            found.append(key)
    return found


@settings(deadline=None)
@given(score_tables(least_trials=3, least_candidates=2))
def test_intervals_contain_the_point_and_stay_in_range(scores: FloatArray) -> None:
    taus = kendall.pair_taus(places_from_scores(scores))
    for interval in (
        intervals.reg_interval(taus.tau, taus.step()),
        intervals.cap_interval(taus.tau, taus.step()),
    ):
        mean = taus.mean().value
        if interval.low is not None and interval.high is not None:
            assert mean is not None
            assert -1 <= interval.low <= mean + 1e-12
            assert mean - 1e-12 <= interval.high <= 1
    sets = winner_of.winner_sets(places_from_scores(scores))
    top = intervals.winner_agreement_interval(sets)
    agreement = winner_of.pair_agreement(sets).value
    if top.low is not None and top.high is not None:
        assert agreement is not None
        assert 0 <= top.low <= agreement + 1e-12
        assert agreement - 1e-12 <= top.high <= 1


@settings(deadline=None)
@given(score_tables(least_trials=2, least_candidates=2))
def test_weighted_tau_is_scipys_on_the_common_candidates(scores: FloatArray) -> None:
    places = places_from_scores(scores)
    matrix = topweighted.weighted_taus(places)
    for i, j in itertools.combinations(range(len(scores)), 2):
        common = ~np.isnan(scores[[i, j]]).any(axis=0)
        x, y = scores[i, common], scores[j, common]
        if common.sum() < 2 or len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
            assert np.isnan(matrix[i, j])
            continue
        expected = stats.weightedtau(x, y).statistic
        assert matrix[i, j] == pytest.approx(expected, abs=1e-12)
        pair = topweighted.weighted_tau(
            places_from_scores(np.where(common, scores[[i, j]], np.nan))
        )
        assert pair.value == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(score_tables(least_trials=2, least_candidates=2))
def test_spearman_is_scipys_on_the_common_candidates(scores: FloatArray) -> None:
    rhos = concordance.spearman_rhos(places_from_scores(scores))
    for i, j in itertools.combinations(range(len(scores)), 2):
        common = ~np.isnan(scores[[i, j]]).any(axis=0)
        x, y = scores[i, common], scores[j, common]
        if common.sum() < 2 or len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
            assert np.isnan(rhos[i, j])
        else:
            assert rhos[i, j] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


@settings(deadline=None)
@given(score_tables(gaps=False, least_trials=2, least_candidates=2), st.floats(-50, 50))
def test_offsets_leave_consistency_and_order_alone(scores: FloatArray, offset: float) -> None:
    moved = scores.copy()
    moved[0] += offset
    before, after = icc.icc(scores, "C,1"), icc.icc(moved, "C,1")
    if before.value is not None and after.value is not None:
        assert after.value == pytest.approx(before.value, abs=1e-6)
    assert same(
        kendall.mean_tau(places_from_scores(scores)),
        kendall.mean_tau(places_from_scores(np.round(moved, 6))),
    )


@settings(deadline=None)
@given(score_tables(gaps=False, least_trials=2, least_candidates=2), st.floats(0.01, 100))
def test_factors_leave_the_standardised_step_alone(scores: FloatArray, factor: float) -> None:
    scaled = scores.copy()
    scaled[0] = scaled[0] * factor + 3
    before, after = icc.icc_steps(scores).standardised, icc.icc_steps(scaled).standardised
    assert (before.value is None) == (after.value is None)
    if before.value is not None:
        assert after.value == pytest.approx(before.value, abs=1e-7)


@settings(deadline=None)
@given(score_tables(least_trials=1))
def test_places_are_midranks_and_idempotent(scores: FloatArray) -> None:
    places = places_from_scores(scores)
    assert as_places(places) is not None
    again = places_from_order_numbers(places)
    np.testing.assert_array_equal(again, places)
    for row, given_scores in zip(places, scores, strict=True):
        there = ~np.isnan(given_scores)
        np.testing.assert_allclose(row[there], stats.rankdata(-given_scores[there]))
        assert np.isnan(row[~there]).all()


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=0, max_size=8))
def test_scale_is_undefined_exactly_where_a_value_is_not_positive(values: list[float]) -> None:
    usable = len(values) >= 2 and min(values) > 1e-99
    for statistic in (scale.ratio, scale.log_sd, scale.coefficient_of_variation):
        assert (statistic(values).value is not None) == usable


@settings(deadline=None)
@given(score_tables(gaps=False, least_trials=1, least_candidates=1))
def test_kemeny_is_the_brute_force_optimum(scores: FloatArray) -> None:
    scores = scores[:, :5]
    places = places_from_scores(scores)
    before = consensus.preferences(places)
    costs = [
        sum(before[b, a] for a, b in itertools.combinations(order, 2))
        for order in itertools.permutations(range(places.shape[1]))
    ]
    found = consensus.kemeny(places)
    assert found is not None
    assert found.distance == min(costs)
    assert found.optima == costs.count(min(costs))
    assert len(set(found.orders)) == min(found.optima, consensus.MOST_ORDERS)
