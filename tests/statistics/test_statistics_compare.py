"""Comparing two sets: stability and consensus are two questions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evalstab.statistics import compare, multiple
from evalstab.statistics.mallows import sample
from evalstab.statistics.ranks import places_from_scores

IDENTICAL = np.tile(np.arange(1.0, 8), (5, 1))


def mallows(seed: int, phi: float, size: int, candidates: int = 11) -> np.ndarray:
    return sample(np.random.default_rng(seed), phi, candidates, size)


def test_a_moved_consensus_is_no_change_of_stability() -> None:
    rejected = 0
    for seed in range(200):
        base, new = mallows(seed, 0.3, 5), mallows(seed + 1000, 0.3, 5)[:, ::-1]
        test = compare.stability_test(base, new)
        assert test.p is not None
        rejected += test.p < 0.05
        if seed < 10:
            moved = compare.consensus_test(base, new)
            assert moved.p == pytest.approx(2 / math.comb(10, 5))
    assert rejected <= 20


def test_a_changed_stability_is_found() -> None:
    found = [
        compare.stability_test(mallows(seed, 0.15, 10), mallows(seed + 1000, 0.6, 10)).p or 1.0
        for seed in range(40)
    ]
    assert sum(p < 0.05 for p in found) >= 36


def test_the_same_model_is_rarely_called_different() -> None:
    found = [
        compare.consensus_test(mallows(seed, 0.3, 4), mallows(seed + 1000, 0.3, 4)).p or 0.0
        for seed in range(100)
    ]
    assert sum(p <= 0.05 for p in found) <= 14


def test_non_inferiority_needs_proof() -> None:
    assert compare.non_inferiority(mallows(1, 0.6, 5), mallows(2, 0.6, 5)) == "undecided"
    base, alike = mallows(1, 0.05, 20), mallows(2, 0.05, 20)
    assert compare.non_inferiority(base, alike) == "not_worse"
    assert compare.non_inferiority(base, mallows(3, 0.8, 10)) == "worse"
    assert compare.non_inferiority(base[:2], alike) == "undecided"
    with pytest.raises(ValueError, match="delta"):
        compare.non_inferiority(base, alike, delta=0)


def test_the_difference_points_from_base_to_new() -> None:
    difference, interval = compare.stability_difference(mallows(1, 0.1, 8), mallows(2, 0.6, 8))
    assert difference.value is not None
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < difference.value < interval.high
    assert difference.value < -0.2
    assert (compare.noise_ratio(mallows(1, 0.1, 8), mallows(2, 0.6, 8)).value or 0) > 2


def test_identical_sets() -> None:
    test = compare.stability_test(IDENTICAL, IDENTICAL)
    assert test.p == pytest.approx(1.0)
    assert compare.consensus_test(IDENTICAL, IDENTICAL).reason is not None
    assert compare.noise_ratio(IDENTICAL, IDENTICAL).value is None
    turned = compare.consensus_test(IDENTICAL, IDENTICAL[:, ::-1])
    assert (turned.f, turned.r2) == (None, 1.0)
    assert turned.p == pytest.approx(2 / math.comb(10, 5))


def test_a_trial_that_ties_everything_takes_no_part() -> None:
    tied = np.vstack([mallows(1, 0.3, 4), np.full((1, 11), 6.0)])
    with_tie = compare.consensus_test(tied, mallows(2, 0.3, 4))
    without = compare.consensus_test(tied[:4], mallows(2, 0.3, 4))
    assert with_tie == without


def test_too_few_trials_to_compare() -> None:
    assert compare.stability_test(IDENTICAL[:2], IDENTICAL).reason is not None
    assert compare.consensus_test(IDENTICAL[:1], IDENTICAL).reason is not None
    assert compare.energy_statistic(IDENTICAL[:0], IDENTICAL).value is None
    with pytest.raises(ValueError, match="same candidates"):
        compare.consensus_test(IDENTICAL, mallows(1, 0.3, 3))


def test_the_smallest_p_tells_when_no_test_can_reject() -> None:
    found = [compare.smallest_permutation_p(n, n) for n in (3, 4, 5)]
    assert found == pytest.approx([0.1, 2 / 70, 2 / 252])
    small = compare.consensus_test(IDENTICAL[:3], IDENTICAL[:3, ::-1])
    assert small.p == pytest.approx(0.1)
    assert small.smallest_p == pytest.approx(0.1)


def test_large_sets_draw_labels_with_a_seed() -> None:
    base, new = mallows(1, 0.5, 10), mallows(2, 0.5, 10)
    one, two = compare.consensus_test(base, new, seed=1), compare.consensus_test(base, new, seed=1)
    assert one == two
    assert not one.exact
    assert one.p is not None
    other = compare.consensus_test(base, new, seed=2)
    assert other.p == pytest.approx(one.p, abs=0.03)


@pytest.mark.parametrize("counts", [(5, 5, 2, 5), (0, 4, 3, 9), (1, 8, 6, 7), (3, 3, 3, 3)])
def test_fisher_is_scipys(counts: tuple[int, int, int, int]) -> None:
    k1, n1, k2, n2 = counts
    expected = stats.fisher_exact(np.array([[k1, k2], [n1 - k1, n2 - k2]])).pvalue
    assert multiple.fisher_exact_p(*counts).value == pytest.approx(expected, abs=1e-12)


def test_rates_are_compared_with_an_interval() -> None:
    interval = multiple.rate_difference_interval(5, 5, 2, 5)
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < -0.6 < interval.high
    assert multiple.rate_difference_interval(0, 0, 2, 5).low is None
    assert multiple.fisher_exact_p(0, 0, 2, 5).value is None
    with pytest.raises(ValueError, match="no count"):
        multiple.fisher_exact_p(6, 5, 0, 5)


def test_scale_is_compared_on_logarithms() -> None:
    base, new = [158.0, 79, 75, 105, 80, math.nan], [60.0, 52, 71, 66]
    expected = stats.ttest_ind(np.log(base[:5]), np.log(new), equal_var=False).pvalue
    assert multiple.scale_test_p(base, new).value == pytest.approx(expected, abs=1e-9)
    assert multiple.scale_test_p(base, [0.0, 5, 6]).value is None
    assert multiple.scale_test_p(base, [5.0]).value is None
    assert multiple.scale_test_p([5.0, 5], [5.0, 5]).value is None


def test_corrections_keep_order_and_bounds() -> None:
    p = np.random.default_rng(1).random(20).tolist()
    for adjusted in (multiple.holm(p), multiple.benjamini_hochberg(p)):
        assert all(a >= raw for a, raw in zip(adjusted, p, strict=True))
        assert max(adjusted) <= 1
        ranks = np.argsort(p)
        assert (np.diff(np.array(adjusted)[ranks]) >= -1e-12).all()
    with pytest.raises(ValueError, match=r"0\.\.1"):
        multiple.holm([0.5, math.nan])


def test_comparison_survives_ties_and_gaps() -> None:
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 6, size=(12, 9)).astype(float)
    scores[rng.random(scores.shape) < 0.1] = np.nan
    places = places_from_scores(scores)
    assert compare.stability_test(places[:6], places[6:]).p is not None
    assert compare.consensus_test(places[:6], places[6:]).p is not None
