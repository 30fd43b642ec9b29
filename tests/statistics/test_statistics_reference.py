"""Every entry of fixtures/statistics.json, computed by independent implementations, holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalstab.statistics import (
    compare,
    concordance,
    consensus,
    curtail,
    evalues,
    icc,
    intervals,
    kendall,
    mallows,
    movement,
    multiple,
    plackett_luce,
    scale,
    toplists,
    topweighted,
    winner,
)
from evalstab.statistics.ranks import (
    FloatArray,
    places_from_groups,
    places_from_order_numbers,
    places_from_rankings,
    places_from_scores,
)
from evalstab.statistics.value import Interval, Value

FIXTURE = Path(__file__).parents[2] / "fixtures" / "statistics.json"
ENTRIES: list[dict[str, Any]] = json.loads(FIXTURE.read_text(encoding="utf-8"))

Input = dict[str, Any]


def table(rows: list[list[float | None]]) -> FloatArray:
    return np.array([[np.nan if x is None else x for x in row] for row in rows], dtype=np.float64)


def placed(given: Input) -> FloatArray:
    """`runs` as places; one entry abbreviates them in words."""
    if given["runs"] == "15 identical rankings of 11":
        return np.tile(np.arange(1.0, 12), (15, 1))
    return places_from_order_numbers(table(given["runs"]))


def pair_of_scores(given: Input) -> FloatArray:
    return places_from_scores(table([given["x"], given["y"]]))


def pair_of_places(given: Input) -> FloatArray:
    return places_from_order_numbers(table([given["x"], given["y"]]))


def raw_scores(given: Input) -> FloatArray:
    """Scores (trials, candidates), from either orientation that the file states."""
    if "candidates_by_runs" in given:
        return table(given["candidates_by_runs"]).T
    return table(given["runs"])


def two_sets(given: Input) -> tuple[FloatArray, FloatArray]:
    return table(given["set1"]), table(given["set2"])


def profile(given: Input) -> tuple[FloatArray, list[int], list[str]]:
    orders = [order for _, order in given["profile"]]
    names = list(orders[0])
    rankings = [[[name] for name in order] for order in orders]
    return places_from_rankings(rankings, names), [n for n, _ in given["profile"]], names


def kemeny_of(given: Input) -> tuple[consensus.Consensus, list[str]]:
    places, weights, names = profile(given)
    found = consensus.kemeny(places, weights)
    assert found is not None
    return found, names


def kemeny_order(given: Input) -> list[str]:
    found, names = kemeny_of(given)
    assert len(found.orders) == 1
    return [names[j] for j in found.orders[0]]


def winners(given: Input) -> list[frozenset[int]]:
    return [frozenset({j}) for j, count in enumerate(given["winner_counts"]) for _ in range(count)]


def worths(given: Input) -> list[float] | None:
    orders = np.array(given["orders"])
    found = plackett_luce.log_worths(np.argsort(orders, axis=1) + 1.0)
    return None if found is None else found.tolist()


def jackknife(given: Input) -> Value:
    return intervals.jackknife_error(kendall.pair_taus(placed(given)).tau)


def log_e(given: Input) -> float:
    a, b = given["prior"]
    return evalues.log_e_value(given["successes"], given["failures"], given["p0"], (a, b))


def fisher(given: Input) -> Value:
    (success1, success2), (failure1, failure2) = given["table"]
    return multiple.fisher_exact_p(success1, success1 + failure1, success2, success2 + failure2)


def welch(given: Input) -> list[float | None]:
    test = compare.stability_test(*two_sets(given))
    return [test.t, test.df, test.p]


def weighted_with_lowest(given: Input) -> Value:
    """The reference takes a missing score as the lowest; evalstab compares common candidates."""
    y = [-1e9 if value is None else value for value in given["y"]]
    if None in given["y"]:
        ours = topweighted.weighted_tau(pair_of_scores(given)).value
        filled = topweighted.weighted_tau(pair_of_scores({**given, "y": y})).value
        assert ours is not None
        assert filled is not None
        assert abs(ours - filled) > 0.05
    return topweighted.weighted_tau(pair_of_scores({**given, "y": y}))


def weighted_of_negated_ranks(given: Input) -> Value:
    """Read with the wrong orientation the same data give .987: the wrong end is weighted."""
    wrong = topweighted.weighted_tau(pair_of_places(given)).value
    assert wrong == pytest.approx(0.987356500340, abs=1e-11)
    return topweighted.weighted_tau(pair_of_scores(given))


def bounds(given: Input) -> Interval:
    return curtail.final_mean_tau_bounds(placed(given), given["N_final"], future_ties=False)


def icc_of(form: icc.Form) -> Callable[[Input], Value]:
    return lambda given: icc.icc(raw_scores(given), form)


def alpha_of(level: concordance.Level) -> Callable[[Input], Value]:
    return lambda given: concordance.krippendorff_alpha(table(given["runs"]), level)


def of_values(statistic: Callable[[list[float]], Value | Interval]) -> Callable[[Input], Any]:
    return lambda given: statistic(given["values"])


STATISTICS: dict[str, Callable[[Input], Any]] = {
    "ICC(1)": icc_of("1"),
    "ICC(1,k)": icc_of("1,k"),
    "ICC(A,1)": icc_of("A,1"),
    "ICC(A,1) 95% CI": lambda i: icc.icc_interval(raw_scores(i), "A,1"),
    "ICC(A,k)": icc_of("A,k"),
    "ICC(A,k) 95% CI": lambda i: icc.icc_interval(raw_scores(i), "A,k", irr_degrees=True),
    "ICC(C,1)": icc_of("C,1"),
    "ICC(C,1) 95% CI": lambda i: icc.icc_interval(raw_scores(i), "C,1"),
    "ICC(C,k)": icc_of("C,k"),
    "average_overlap": lambda i: toplists.average_overlap(i["S"], i["T"]),
    "bernoulli_confidence_sequence": lambda i: evalues.rate_confidence_sequence(
        i["k"], i["n"], i["alpha"], i["t_opt"]
    ),
    "bh_adjusted": lambda i: multiple.benjamini_hochberg(i["p"]),
    "borda_points": lambda i: consensus.borda_points(*profile(i)[:2]).tolist(),
    "chance_place_sd": lambda i: movement.chance_place_sd(i["M"]),
    "chi2_pvalue_of_W": lambda i: concordance.friedman_p(placed(i)),
    "clopper_pearson95": lambda i: intervals.clopper_pearson(i["k"], i["n"]),
    "clopper_pearson_lower95_onesided": lambda i: (
        intervals.clopper_pearson(i["k"], i["n"], 0.10).low
    ),
    "cv": of_values(scale.coefficient_of_variation),
    "energy_statistic": lambda i: compare.energy_statistic(*two_sets(i)),
    "fagin_K": lambda i: toplists.top_k_kendall(i["list1"], i["list2"], i["p"]),
    "final_mean_tau_bounds": bounds,
    "fisher_exact_two_sided_p": fisher,
    "friedman_chi2": lambda i: concordance.friedman_chi2(placed(i)),
    "geometric_mean_ci95": of_values(scale.geometric_mean_interval),
    "holm_adjusted": lambda i: multiple.holm(i["p"]),
    "jaccard_topk": lambda i: toplists.jaccard(i["a"], i["b"]),
    "jackknife_se_of_mean_tau": jackknife,
    "jeffreys95": lambda i: intervals.jeffreys(i["k"], i["n"]),
    "kemeny_distance": lambda i: kemeny_of(i)[0].distance,
    "kemeny_number_of_optima": lambda i: kemeny_of(i)[0].optima,
    "kemeny_order": kemeny_order,
    "kemeny_score": lambda i: kemeny_of(i)[0].agreements,
    "kendall_W": lambda i: concordance.kendall_w(placed(i)),
    "kendall_W_uncorrected": lambda i: concordance.kendall_w(placed(i), tie_correction=False),
    "kendall_distance": lambda i: kendall.kendall_distance(pair_of_places(i)),
    "kendall_tau_b": lambda i: kendall.tau_b(pair_of_scores(i)),
    "krippendorff_alpha_interval": alpha_of("interval"),
    "krippendorff_alpha_nominal": alpha_of("nominal"),
    "krippendorff_alpha_ordinal": alpha_of("ordinal"),
    "krippendorff_alpha_ratio": alpha_of("ratio"),
    "unseen_share": lambda i: intervals.unseen_share(i["n"]),
    "log_betting_capital": lambda i: evalues.log_betting_capital(i["x"], i["m"]),
    "log_e_value": log_e,
    "mallows_expected_distance_to_centre": lambda i: mallows.expected_distance(i["phi"], i["M"]),
    "mallows_expected_pairwise_tau": lambda i: mallows.expected_tau(i["phi"], i["M"]),
    "mallows_phi_mle": lambda i: mallows.fitted_phi(
        float(mallows.centre_distances(placed(i), np.arange(6)).mean()), 6
    ),
    "max_cv_unbiased": of_values(scale.unbiased_coefficient_of_variation),
    "max_geometric_cv": of_values(scale.geometric_cv),
    "max_log_ratio": of_values(scale.log_ratio),
    "max_log_sd": of_values(scale.log_sd),
    "max_mad": of_values(scale.median_absolute_deviation),
    "max_mean": of_values(scale.mean),
    "max_median": of_values(scale.median),
    "max_sd": of_values(scale.standard_deviation),
    "max_spread_ratio": of_values(scale.ratio),
    "mean_pairwise_spearman": lambda i: concordance.mean_spearman(placed(i)),
    "mean_pairwise_tau_b": lambda i: kendall.mean_tau(placed(i)),
    "min_runs_for_pass": lambda i: intervals.min_trials_for_tau(i["tau0"], i["alpha"]),
    "pass_at_k": lambda i: intervals.pass_at_k(i["successes"], i["n"], i["k"]),
    "pass_hat_k": lambda i: intervals.pass_hat_k(i["successes"], i["n"], i["k"]),
    "permanova_R2": lambda i: compare.consensus_test(*two_sets(i)).r2,
    "permanova_pseudo_F": lambda i: compare.consensus_test(*two_sets(i)).f,
    "place_mad_pairs": lambda i: movement.mean_difference(i["places"]),
    "place_mean": lambda i: scale.mean(i["places"]),
    "place_mean_abs_step": lambda i: movement.mean_step(i["places"]),
    "place_range": lambda i: scale.value_range(i["places"]),
    "place_sd": lambda i: scale.standard_deviation(i["places"]),
    "plackett_luce_log_worth": worths,
    "rbo_ext": lambda i: toplists.rbo_extrapolated(i["S"], i["T"], i["p"]),
    "rbo_top_weight": lambda i: topweighted.rank_biased_top_weight(i["p"], i["d"]),
    "rbo_truncated": lambda i: toplists.rbo_truncated(i["S"], i["T"], i["p"]),
    "recommended_ci95_mean_tau": lambda i: intervals.tau_interval(placed(i)),
    "smallest_permutation_p": lambda i: compare.smallest_permutation_p(i["n1"], i["n2"]),
    "spearman_rho": lambda i: concordance.spearman(pair_of_scores(i)),
    "sprt_llr": lambda i: evalues.sprt_log_ratio(i["successes"], i["failures"], i["p0"], i["p1"]),
    "sprt_log_bounds": lambda i: list(evalues.sprt_bounds(i["alpha"], i["beta"])),
    "tau_AP": lambda i: toplists.tau_ap(pair_of_scores(i)),
    "tau_AP_a": lambda i: toplists.tau_ap(pair_of_scores(i), "a"),
    "tau_AP_b": lambda i: toplists.tau_ap(pair_of_scores(i), "b"),
    "tau_AP_symmetric": lambda i: toplists.symmetric_tau_ap(pair_of_scores(i)),
    "tau_b_common_candidates": lambda i: kendall.tau_b(pair_of_places(i)),
    "top1_pair_agreement": lambda i: winner.pair_agreement(winners(i)),
    "weighted_tau_hyperbolic": weighted_with_lowest,
    "weighted_tau_misused": weighted_of_negated_ranks,
    "weighted_tau_hyperbolic_multiplicative": lambda i: topweighted.weighted_tau(
        pair_of_scores(i), multiplicative=True
    ),
    "weighted_tau_rank_by_x": lambda i: topweighted.weighted_tau(
        pair_of_scores(i), positions="first"
    ),
    "welch_jackknife_t": welch,
    "wilson95": lambda i: intervals.wilson(i["k"], i["n"]),
    "normalised_entropy": lambda i: winner.normalised_entropy(winners(i), i["M"]),
    "winner_entropy_bits": lambda i: winner.entropy_bits(winners(i)),
    "zero_failures_upper95_onesided": lambda i: (
        intervals.clopper_pearson(i["k"], i["n"], 0.10).high
    ),
}


def plain(result: Any) -> Any:
    """The numbers of a Value or an Interval; None where undefined, after checking the reason."""
    if isinstance(result, Value):
        assert (result.reason is None) == (result.value is not None)
        return result.value
    if isinstance(result, Interval):
        assert (result.reason is None) == (result.low is not None)
        return None if result.low is None else [result.low, result.high]
    return result


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if e["statistic"] != "any"], ids=lambda entry: str(entry["id"])
)
def test_reference_value(entry: dict[str, Any]) -> None:
    result = plain(STATISTICS[entry["statistic"]](entry["input"]))
    if entry.get("expected_kind") == "undefined":
        assert result is None
    elif isinstance(entry["expected"], list) and isinstance(entry["expected"][0], str):
        assert result == entry["expected"]
    else:
        assert result == pytest.approx(entry["expected"], abs=max(entry["tolerance"], 1e-14), rel=0)


def test_duplicate_ids_are_refused_by_name() -> None:
    (entry,) = [e for e in ENTRIES if e["statistic"] == "any"]
    ids = entry["input"]["ranking"]
    with pytest.raises(ValueError, match="named more than once: p1"):
        places_from_groups([[name] for name in ids], ["p1", "p2", "p3"])


def test_no_entry_is_left_out() -> None:
    assert {e["statistic"] for e in ENTRIES} == {*STATISTICS, "any"}
    assert len(ENTRIES) > 130
