"""Less common statistics against brute force, identities and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from evalstab.statistics import (
    concordance,
    consensus,
    intervals,
    kendall,
    mallows,
    movement,
    plackett_luce,
    toplists,
    topweighted,
)

ELEVEN = np.arange(1.0, 12)


def test_krippendorffs_identities() -> None:
    places = np.array([[1.0, 2, 3, 4, 5, 6], [2, 1, 3, 4, 6, 5], [1, 3, 2, 4, 5, 6]])
    alphas = [concordance.krippendorff_alpha(places, level) for level in ("ordinal", "interval")]
    rho = concordance.mean_spearman(places).value
    assert rho is not None
    for alpha in alphas:
        assert alpha.value == pytest.approx(1 - (1 - rho) * 17 / 18)
    assert concordance.krippendorff_alpha([[-1.0, 2.0], [3.0, 4.0]], "ratio").value is None
    assert (
        concordance.krippendorff_alpha([[1.0, math.nan], [math.nan, 4.0]], "nominal").value is None
    )


def test_fagin_distances_are_the_means_and_minima_of_all_completions() -> None:
    first, second = "abcd", "acef"
    items = "abcdef"
    distances = []
    for rest1 in itertools.permutations("ef"):
        for rest2 in itertools.permutations("bd"):
            x, y = first + "".join(rest1), second + "".join(rest2)
            distances.append(
                sum(
                    (x.index(a) < x.index(b)) != (y.index(a) < y.index(b))
                    for a, b in itertools.combinations(items, 2)
                )
            )
    assert toplists.top_k_kendall(first, second, 0.5).value == np.mean(distances)
    assert toplists.top_k_kendall(first, second, 0.0).value == min(distances)


def test_ties_at_place_k_are_shared_not_broken_by_id() -> None:
    places = [[1.0, 2.5, 2.5], [1.0, 3.0, 2.0]]
    assert toplists.overlap_at(places, 2).value == pytest.approx(0.75)
    assert toplists.overlap_at(np.array([[1.0, 2, 3], [3, 2, 1]]), 1).value == 0
    assert toplists.overlap_at([[1.0, 2.0, math.nan], [3.0, 2.0, 1.0]], 3).value is None


def test_empty_and_duplicate_lists() -> None:
    assert toplists.rbo_truncated([], ["a"]).value is None
    assert toplists.rbo_extrapolated([], ["a"]).value is None
    assert toplists.average_overlap([], ["a"]).value is None
    with pytest.raises(ValueError, match="more than once: a"):
        toplists.jaccard(["a", "a"], ["b"])
    with pytest.raises(ValueError, match="more than once: a"):
        toplists.rbo_extrapolated(["b"], ["a", "a"])
    assert toplists.jaccard([], []).value is None


def test_rbo_of_full_rankings_is_the_list_form() -> None:
    rng = np.random.default_rng(2)
    orders = [rng.permutation(9).tolist() for _ in range(3)]
    places = np.array([np.argsort(order) + 1.0 for order in orders])
    matrix = topweighted.rank_biased_overlaps(places)
    for i, j in itertools.combinations(range(3), 2):
        one, other = ([f"p{c}" for c in orders[k]] for k in (i, j))
        assert matrix[i, j] == pytest.approx(toplists.rbo_extrapolated(one, other).value)


def test_kemeny_without_exactness_says_so() -> None:
    rng = np.random.default_rng(1)
    places = np.array([rng.permutation(40) + 1.0 for _ in range(5)])
    found = consensus.kemeny(places)
    assert found is not None
    assert (found.exact, found.optima, len(found.orders)) == (False, None, 1)
    borda = np.argsort(-consensus.borda_points(places))
    before = consensus.preferences(places)
    cost = sum(before[b, a] for a, b in itertools.combinations(borda, 2))
    assert found.distance <= cost
    two_opposite = np.vstack([ELEVEN, ELEVEN[::-1]])
    undecided = consensus.kemeny(two_opposite)
    assert undecided is not None
    assert undecided.optima == math.factorial(11)
    with pytest.raises(ValueError, match="whole number"):
        consensus.kemeny(places, [0.5] * 5)


def test_leaving_one_trial_out() -> None:
    stable = np.tile(ELEVEN, (5, 1))
    assert consensus.leave_one_out_share(stable).value == 1.0
    split = np.array([[1.0, 2, 3], [1, 2, 3], [2, 1, 3]])
    assert consensus.leave_one_out_share(split).value == pytest.approx(1 / 3)
    assert consensus.leave_one_out_share(split[:2]).value is None


def test_mallows_samples_follow_the_closed_forms() -> None:
    rng = np.random.default_rng(3)
    for phi in (0.0, 0.3, 0.8, 1.0):
        places = mallows.sample(rng, phi, 7, 4000)
        assert (np.sort(places, axis=1) == np.arange(1.0, 8)).all()
        distance = mallows.centre_distances(places, np.arange(7)).mean()
        assert distance == pytest.approx(mallows.expected_distance(phi, 7), abs=0.2)
        tau = kendall.mean_tau(places).value
        assert tau == pytest.approx(mallows.expected_tau(phi, 7).value, abs=0.02)
        fitted = mallows.fitted_phi(mallows.expected_distance(phi, 7), 7).value
        assert fitted == pytest.approx(phi, abs=1e-9)
    assert mallows.expected_tau(0.5, 1).value is None
    with pytest.raises(ValueError, match="phi"):
        mallows.sample(rng, 1.5, 3, 1)


def test_a_drift_needs_eight_trials() -> None:
    assert movement.trend(np.arange(1.0, 8)).value is None
    assert movement.trend(np.arange(1.0, 9)).value == 1.0
    assert movement.trend(np.full(9, 2.0)).value is None
    assert movement.top_share([1.0, 4, math.nan, 2], 3).value == pytest.approx(2 / 3)
    assert movement.top_share([math.nan], 3).value is None
    assert movement.mean_difference([3.0]).value is None
    assert movement.mean_step([math.nan, 3.0]).value is None


def test_plackett_luce_needs_loose_complete_rankings() -> None:
    assert plackett_luce.log_worths(np.tile(ELEVEN, (3, 1))) is None
    with pytest.raises(ValueError, match="complete rankings"):
        plackett_luce.log_worths(np.array([[1.5, 1.5], [1, 2]]))


def test_rates_at_the_edges() -> None:
    assert intervals.pass_hat_k(8, 10, 3).value == pytest.approx(56 / 120)
    cubed = intervals.pass_hat_k_interval(8, 10, 3)
    rate = intervals.clopper_pearson(8, 10)
    assert cubed.low == pytest.approx((rate.low or 0) ** 3)
    for rule in (intervals.clopper_pearson, intervals.wilson, intervals.jeffreys):
        assert rule(0, 0).low is None
        with pytest.raises(ValueError, match="no count"):
            rule(6, 5)
    shares = [round(100 * (intervals.unseen_share(n).value or 0)) for n in (3, 5, 8, 13, 20)]
    assert shares == [63, 45, 31, 21, 14]
    assert intervals.unseen_share(0).value is None
