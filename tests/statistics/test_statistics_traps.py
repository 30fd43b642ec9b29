"""Mistakes that are easy to make with these statistics, each held by a test."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evalstab.statistics import (
    concordance,
    icc,
    intervals,
    kendall,
    scale,
    topweighted,
    winner,
)
from evalstab.statistics.ranks import (
    as_places,
    as_scores,
    places_from_groups,
    places_from_order_numbers,
    places_from_scores,
)

ELEVEN = np.arange(1.0, 12)


def test_orientation_stands_in_the_name_and_scores_are_no_places() -> None:
    scores = [[30.0, 20, 10], [25.0, 20, 15]]
    assert kendall.mean_tau(places_from_scores(scores)).value == 1.0
    mixed = np.vstack([places_from_scores(scores[:1]), places_from_order_numbers(scores[1:])])
    assert kendall.mean_tau(mixed).value == -1.0
    for statistic in (kendall.mean_tau, topweighted.mean_weighted_tau, concordance.kendall_w):
        with pytest.raises(ValueError, match="no mid-rank places"):
            statistic(scores)


def test_floats_that_should_be_equal_are_tied() -> None:
    assert places_from_scores([0.1 + 0.2, 0.3, 0.1]).tolist() == [1.5, 1.5, 3]
    assert places_from_scores([1e12, 1e12 + 1]).tolist() == [1.5, 1.5]
    assert places_from_scores([1e300, 2.0, 1.0]).tolist() == [1, 2, 3]
    assert places_from_scores([0.0, -0.0, -1e-300]).tolist() == [1.5, 1.5, 3]
    assert places_from_scores([-1e308, 1e308]).tolist() == [2, 1]


def test_places_of_groups() -> None:
    places = places_from_groups([["b"], ["a", "d"]], ["a", "b", "c", "d"])
    np.testing.assert_array_equal(places, [2.5, 1, math.nan, 2.5])
    with pytest.raises(ValueError, match="unknown candidates: x, z"):
        places_from_groups([["z"], ["x", "a"]], ["a"])
    with pytest.raises(ValueError, match="more than once: a"):
        places_from_groups([["a"], ["b", "a"]], ["a", "b"])


@pytest.mark.parametrize("numbers", [[1, 2, 2, 4], [1, 2, 2, 3], [10, 20, 20, 90]])
def test_any_way_to_write_ties_gives_midranks(numbers: list[float]) -> None:
    assert places_from_order_numbers(numbers).tolist() == [1, 2.5, 2.5, 4]


def test_what_is_no_table_is_refused() -> None:
    for wrong in (as_places, as_scores):
        with pytest.raises(ValueError, match="dimensional"):
            wrong([1.0, 2.0])
        with pytest.raises(ValueError, match="NaN for a missing"):
            wrong([[math.inf, 1.0]])
    with pytest.raises(ValueError, match="finite"):
        places_from_scores([math.inf, 1.0])
    for two_only in (kendall.tau_b, topweighted.weighted_tau, concordance.spearman):
        with pytest.raises(ValueError, match="two trials"):
            two_only(np.tile(ELEVEN, (3, 1)))


def test_equal_trials_that_tie_everything_have_no_tau_but_no_distance_either() -> None:
    tied = np.full((2, 4), 2.5)
    assert kendall.tau_b(tied).value is None
    assert kendall.kendall_distance(tied).value == 0
    assert kendall.pair_taus(np.vstack([tied, [[1.0, 2, 3, 4]]])).dropped_tied == 3


def test_references_to_one_list_count_as_so_many_trials() -> None:
    same = [1.0, 2.0, 3.0]
    taus = kendall.pair_taus([same] * 5)
    assert taus.mean().value == 1.0
    assert len(taus.values()) == 10


def test_missing_is_not_last() -> None:
    x = [1.0, 2, 3, 4]
    y = [math.nan, 1, 2, 3]
    last = [4.0, 1, 2, 3]
    assert kendall.tau_b([x, y]).value == 1.0
    assert kendall.tau_b([x, last]).value == pytest.approx(0.0)
    assert topweighted.weighted_tau([x, y]).value == 1.0
    assert concordance.spearman([x, y]).value == pytest.approx(1.0)


def test_pairs_with_few_common_candidates_are_dropped_and_counted() -> None:
    scores = np.array([[6.0, 5, 4, 3, 2, 1], [6, 5, 4, 3, 2, 1], [6, 5, np.nan, np.nan, np.nan, 1]])
    scores[1, 4:] = np.nan
    taus = kendall.pair_taus(places_from_scores(scores))
    assert taus.dropped_few_common == 1
    assert len(taus.values()) == 2
    assert taus.coverage.value == pytest.approx((4 + 3 + 2) / 18)
    two = kendall.pair_taus(np.array([[1.0, 2], [1, 2], [2, 1]]))
    assert two.dropped_few_common == 0
    assert two.mean().value == pytest.approx(-1 / 3)


def test_sparse_pairs_give_a_mean_but_no_interval() -> None:
    tau = np.full((5, 5), np.nan)
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 4)):
        tau[i, j] = tau[j, i] = 0.8
    interval = intervals.reg_interval(tau, 2 / 55)
    assert interval.low is None
    assert interval.reason is not None
    assert "half of the pairs" in interval.reason


def test_one_and_two_trials_have_no_interval() -> None:
    for n in (0, 1, 2):
        places = np.tile(ELEVEN, (n, 1))
        assert intervals.tau_interval(places).low is None
        assert intervals.winner_agreement_interval(winner.winner_sets(places)).low is None
    assert kendall.mean_tau(np.tile(ELEVEN, (2, 1))).value == 1.0


def test_identical_trials_are_not_certain() -> None:
    interval = intervals.tau_interval(np.tile(ELEVEN, (5, 1)))
    assert interval.low == pytest.approx(0.7855756715, abs=1e-9)
    swapped = np.tile(ELEVEN, (5, 1))
    swapped[0, :2] = [2, 1]
    one_swap = intervals.tau_interval(swapped)
    assert kendall.mean_tau(swapped).value == pytest.approx(1 - 2 * (2 / 55) / 5)
    assert one_swap.low == pytest.approx(interval.low, abs=1e-9)
    assert one_swap.high == pytest.approx(0.999, abs=5e-4)


@pytest.mark.parametrize("trials", [3, 4, 5])
def test_equal_pairs_leave_room_above_the_mean(trials: int) -> None:
    places = np.tile(ELEVEN, (trials, 1))
    for row in range(trials):
        places[row, [2 * row, 2 * row + 1]] = places[row, [2 * row + 1, 2 * row]]
    mean = kendall.mean_tau(places).value
    interval = intervals.tau_interval(places)
    assert mean is not None
    assert mean < 1
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < mean < mean + 0.01 < interval.high < 1


def test_three_nearly_equal_pairs_leave_room_above_the_mean() -> None:
    pairs = np.array([[np.nan, 0.73, 0.74], [0.73, np.nan, 0.73], [0.74, 0.73, np.nan]])
    interval = intervals.reg_interval(pairs, 2 / 55)
    assert interval.high is not None
    assert interval.high > 0.8


def test_the_winner_interval_of_the_five_run_table_is_everything() -> None:
    sets = [frozenset({j}) for j in (10, 10, 10, 8, 5)]
    interval = intervals.winner_agreement_interval(sets)
    assert (interval.low, interval.high) == (0, 1)


def test_chance_levels_are_not_zero() -> None:
    turned = np.vstack([ELEVEN, ELEVEN[::-1]])
    assert topweighted.mean_rank_biased_overlap(turned).value == pytest.approx(0.48, abs=5e-4)
    random = np.random.default_rng(0)
    for n in (5, 20):
        tables = [places_from_scores(random.normal(size=(n, 11))) for _ in range(300)]
        w = np.mean([concordance.kendall_w(table).value or 0 for table in tables])
        assert w == pytest.approx(1 / n, abs=0.02)
        u = np.mean([kendall.mean_tau(table).value or 0 for table in tables])
        assert u == pytest.approx(0, abs=0.02)


def test_icc_on_places_is_not_what_it_seems() -> None:
    places = np.array([[1.0, 2, 3, 4, 5, 6], [2, 1, 3, 4, 6, 5], [1, 3, 2, 4, 5, 6]])
    absolute, consistent = icc.icc(places, "A,1").value, icc.icc(places, "C,1").value
    assert absolute is not None
    assert consistent is not None
    assert absolute > consistent
    assert consistent == pytest.approx(concordance.mean_spearman(places).value)


def test_icc_of_constant_or_identical_scores() -> None:
    constant = np.full((4, 6), 0.1)
    assert all(icc.icc(constant, form).value is None for form in ("A,1", "C,1", "1", "A,k", "C,k"))
    identical = np.tile(np.arange(6.0), (4, 1))
    assert icc.icc(identical, "A,1").value == 1.0
    assert icc.icc_interval(identical, "A,1").low is None
    with pytest.raises(ValueError, match="two-way"):
        icc.icc_interval(identical, "1")


def test_the_three_icc_steps_say_what_moves() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(50, 10, size=11)
    offset = icc.icc_steps(base + np.array([[0.0], [20], [-15], [9], [30]]))
    factor = icc.icc_steps((base - 50) * np.array([[1.0], [0.5], [1.5], [0.7], [1.2]]))
    shape = icc.icc_steps(base + rng.normal(0, 10, size=(5, 11)))
    values = [
        [step.value or 0.0 for step in (s.absolute, s.consistency, s.standardised)]
        for s in (offset, factor, shape)
    ]
    assert values[0][0] < 0.6
    assert values[0][1] == pytest.approx(1)
    assert values[1][1] < 0.95
    assert values[1][2] == pytest.approx(1)
    assert values[2][2] < 0.8


def test_negative_and_zero_scores_have_order_but_no_ratio() -> None:
    values = [-5.0, 0, 10]
    assert scale.ratio(values).value is None
    assert scale.value_range(values).value == 15
    assert scale.standard_deviation(values).value == pytest.approx(np.std(values, ddof=1))
    first = scale.trial_scale([-5.0, 0, 0, 10, math.nan])
    assert first == scale.TrialScale(10, -5, 5, 15, 2, 1)
    assert scale.trial_scale([math.nan]) is None
    with pytest.raises(ValueError, match="1e100"):
        scale.ratio([1e200, 1.0])


def test_the_scale_interval_of_the_five_run_table() -> None:
    values = [158.0, 79, 75, 105, 80]
    two_sided, one_sided = scale.log_sd_interval(values), scale.log_sd_interval(values, 0.10)
    assert two_sided.low == pytest.approx(0.187, abs=5e-4)
    assert two_sided.high == pytest.approx(0.895, abs=5e-4)
    assert one_sided.low == pytest.approx(0.202, abs=5e-4)
    assert scale.geometric_cv_interval(values, 0.10).low == pytest.approx(0.204, abs=5e-4)
    assert scale.geometric_cv_interval([1e-90, 1e90]).low is None


def test_importing_the_room_loads_no_scipy_and_tau_never_does() -> None:
    folder = Path(winner.__file__).parent
    modules = [f"evalstab.statistics.{path.stem}" for path in folder.glob("[a-z]*.py")]
    assert len(modules) > 15
    script = (
        f"import sys, {', '.join(modules)}\n"
        "from evalstab.statistics.kendall import mean_tau, pair_taus\n"
        "assert mean_tau([[1.0, 2.0], [2.0, 1.0]]).value == -1\n"
        "assert pair_taus([[1.0, 2.0], [2.0, 1.0]]).mean().value == -1\n"
        "loaded = [name for name in sys.modules if name.split('.')[0] == 'scipy']\n"
        "sys.exit(', '.join(loaded) or 0)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder.parents[1]
    )
    assert done.stderr.strip() == ""
