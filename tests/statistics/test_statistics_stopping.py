"""Planned looks, yes/no rules and their exact operating characteristics."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest

from evalstab.statistics import curtail, evalues, intervals, kendall, scale
from evalstab.statistics.ranks import places_from_scores
from evalstab.statistics.sequential import (
    Decision,
    Look,
    Status,
    current_look,
    decide,
    planned_looks,
)
from evalstab.statistics.value import Interval

IDENTICAL = np.tile(np.arange(1.0, 12), (20, 1))


def decide_tau(places: np.ndarray, look: Look | None, threshold: float) -> Decision:
    assert look is not None
    taus = kendall.pair_taus(places[: look.trials])
    return decide(partial(intervals.reg_interval, taus.tau, taus.step()), look, threshold)


def test_the_default_plan_fails_early_and_passes_late() -> None:
    plan = planned_looks(20, 0.6)
    assert plan.min_trials == 13
    assert [look.trials for look in plan.looks] == [5, 8, 13, 20]
    assert [look.fail_alpha for look in plan.looks] == [0.0125] * 4
    assert [look.pass_alpha for look in plan.looks] == [None, None, 0.025, 0.025]
    assert not any(look.provisional for look in plan.looks)


@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.3, 0.5, 0.6, 0.7, 0.8, 0.95])
@pytest.mark.parametrize("trials", [1, 3, 5, 8, 10, 13, 20, 40])
@pytest.mark.parametrize("provisional", [False, True])
def test_no_plan_spends_more_than_its_error(
    threshold: float, trials: int, provisional: bool
) -> None:
    plan = planned_looks(trials, threshold, provisional=provisional)
    at = [look.trials for look in plan.looks]
    assert at == sorted(set(at))
    assert at[-1] == trials
    assert sum(look.fail_alpha or 0 for look in plan.looks) == pytest.approx(0.05)
    assert sum(look.pass_alpha or 0 for look in plan.looks) <= 0.05 + 1e-12
    assert plan.can_pass() == (provisional or trials >= plan.min_trials)
    for look in plan.looks:
        if look.pass_alpha is not None:
            assert look.provisional == (look.trials < plan.min_trials)


def test_a_plan_too_short_to_pass_says_so_and_what_it_needs() -> None:
    plan = planned_looks(5, 0.8)
    assert not plan.can_pass()
    assert plan.min_trials == 28
    with pytest.raises(ValueError, match="no number of trials"):
        planned_looks(20, 1.0)


def test_between_looks_there_is_none_unless_the_series_has_ended() -> None:
    plan = planned_looks(20, 0.6)
    assert current_look(plan, 6) is None
    assert current_look(plan, 8) == plan.looks[1]
    assert current_look(plan, 6, ended=True) == Look(6, 0.0125, None)
    assert current_look(plan, 9, ended=True) == Look(9, 0.0125, None)
    assert current_look(plan, 15, ended=True) == Look(15, 0.0125, 0.025)
    assert current_look(plan, 22, ended=True) == Look(22, 0.0125, 0.025)
    assert current_look(plan, 0, ended=True) is None
    five = planned_looks(5, 0.6, provisional=True)
    assert current_look(five, 4, ended=True) == Look(4, 0.05, 0.05, provisional=True)
    assert current_look(five, 13, ended=True) == Look(13, 0.05, 0.05, provisional=False)
    assert plan.next_look(8) == plan.looks[2]
    assert plan.next_look(20) is None


def test_a_perfect_series_passes_at_the_first_pass_look_and_not_before() -> None:
    plan = planned_looks(20, 0.6)
    statuses = [decide_tau(IDENTICAL, look, 0.6).status for look in plan.looks]
    assert statuses == ["undecided", "undecided", "pass", "pass"]
    early = decide_tau(IDENTICAL, planned_looks(5, 0.6, provisional=True).looks[0], 0.6)
    assert (early.status, early.provisional) == ("pass", True)


def test_a_random_series_fails_at_the_first_look() -> None:
    places = places_from_scores(np.random.default_rng(3).normal(size=(20, 11)))
    decision = decide_tau(places, planned_looks(20, 0.6).looks[0], 0.6)
    assert decision.status == "fail"
    assert decision.low is None
    assert decision.high is not None
    assert decision.high < 0.6
    assert "0.6" in decision.reason


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.1, 0.19, "pass"), (0.1, 0.3, "undecided"), (0.21, 0.3, "fail")],
)
def test_a_limit_from_above_is_the_mirror_image(low: float, high: float, expected: str) -> None:
    look = Look(5, 0.05, 0.05)
    decision = decide(lambda _: Interval.of(low, high), look, 0.2, at_most=True)
    assert decision.status == expected
    assert (decision.low, decision.high) == (low, high)
    assert decide(lambda _: Interval.of(-high, -low), look, -0.2).status == expected


def test_the_scale_of_the_five_run_table_fails_twenty_percent() -> None:
    look = Look(5, 0.05, 0.05)
    values = [158.0, 79, 75, 105, 80]
    scale_rule = decide(partial(scale.geometric_cv_interval, values), look, 0.20, at_most=True)
    assert scale_rule.status == "fail"
    undecided = decide(partial(scale.geometric_cv_interval, values), look, 0.25, at_most=True)
    assert undecided.status == "undecided"


def test_too_few_trials_are_undecided_with_a_reason() -> None:
    decision = decide_tau(IDENTICAL, planned_looks(2, 0.6, provisional=True).looks[0], 0.6)
    assert decision == Decision("undecided", False, None, None, decision.reason)
    assert "at least 3" in decision.reason


def count_at_least_16(successes: int, seen: int) -> Status | None:
    status = curtail.count_rule(seen - successes, seen, planned=20, at_most=4)
    return None if status == "undecided" else status


def clopper_pearson_at_the_end(successes: int, seen: int) -> Status | None:
    return curtail.rate_rule(successes, 20, 20, 0.8) if seen == 20 else None


def clopper_pearson_curtailed(successes: int, seen: int) -> Status | None:
    stopped = curtail.rate_rule_stopped(successes, seen, 20, 0.8)
    return curtail.rate_rule(successes, seen, 20, 0.8) if stopped else None


def clopper_pearson_at_three_looks(successes: int, seen: int) -> Status | None:
    if seen not in (5, 10, 20):
        return None
    status = curtail.rate_rule(successes, seen, seen, 0.8, 0.05 / 3)
    return None if status == "undecided" else status


def wald(successes: int, seen: int) -> Status | None:
    low, high = evalues.sprt_bounds(0.05, 0.05)
    ratio = evalues.sprt_log_ratio(successes, seen - successes, 0.6, 0.95)
    if ratio <= low:
        return "fail"
    return "pass" if ratio >= high else None


def naive_jeffreys(successes: int, seen: int) -> Status | None:
    if seen < 3:
        return None
    interval = intervals.jeffreys(successes, seen, 0.10)
    if interval.low is not None and interval.low >= 0.8:
        return "pass"
    return "fail" if interval.high is not None and interval.high < 0.8 else None


def naive_clopper_pearson(successes: int, seen: int) -> Status | None:
    if seen < 3:
        return None
    status = curtail.rate_rule(successes, seen, seen, 0.8)
    return None if status == "undecided" else status


CHARACTERISTICS = [
    # rule, true rate, pass %, fail %, expected trials (target rate .8, at most 20 trials)
    (clopper_pearson_at_the_end, 0.98, 66.8, None, 20),
    (clopper_pearson_at_the_end, 0.80, 1.2, 3.2, 20),
    (clopper_pearson_at_the_end, 0.40, None, 97.9, 20),
    (clopper_pearson_curtailed, 0.98, 66.8, None, 18.3),
    (clopper_pearson_curtailed, 0.95, 35.8, None, 16.8),
    (clopper_pearson_curtailed, 0.80, 1.2, 3.2, 16.3),
    (clopper_pearson_curtailed, 0.40, None, 97.9, 13.3),
    (count_at_least_16, 0.98, 100, None, 16.3),
    (count_at_least_16, 0.95, 99.7, None, 16.8),
    (count_at_least_16, 0.80, 63.0, 37.0, 17.5),
    (count_at_least_16, 0.60, None, 94.9, 12.3),
    (count_at_least_16, 0.40, None, 100, 8.3),
    (clopper_pearson_at_three_looks, 0.80, 1.2, 1.8, 19.9),
    (clopper_pearson_at_three_looks, 0.40, None, 94.9, 11.8),
    (wald, 0.98, 99.5, None, 7.7),
    (wald, 0.80, 38.6, 47.4, 10.6),
    (wald, 0.40, None, 99.8, 3.6),
    (naive_jeffreys, 0.80, 17.5, 21.3, 15.6),  # looking after every trial overspends
    (naive_jeffreys, 0.40, None, 99.4, 4.7),
    (naive_clopper_pearson, 0.80, 4.4, 9.1, 18.8),
    (naive_clopper_pearson, 0.40, None, 98.7, 6.6),
]


@pytest.mark.parametrize(("rule", "rate", "passes", "fails", "trials"), CHARACTERISTICS)
def test_operating_characteristics_match_the_table(
    rule: curtail.Rule, rate: float, passes: float | None, fails: float | None, trials: float
) -> None:
    found = curtail.operating_characteristic(rule, rate, 20)
    assert found.passes + found.fails + found.undecided == pytest.approx(1)
    assert found.expected_trials == pytest.approx(trials, abs=0.051)
    if passes is not None:
        assert 100 * found.passes == pytest.approx(passes, abs=0.051)
    if fails is not None:
        assert 100 * found.fails == pytest.approx(fails, abs=0.051)


def test_curtailment_never_changes_a_verdict() -> None:
    for planned, at_most in ((5, 0), (5, 1), (8, 3)):
        for violations in itertools.product((0, 1), repeat=planned):
            final = curtail.count_rule(sum(violations), planned, planned, at_most)
            assert final != "undecided"
            for seen in range(planned + 1):
                early = curtail.count_rule(sum(violations[:seen]), seen, planned, at_most)
                assert early in (final, "undecided")


def test_zero_tolerance_fails_at_the_first_violation() -> None:
    assert curtail.count_rule(1, 1, 5, 0) == "fail"
    assert curtail.count_rule(0, 4, 5, 0) == "undecided"
    assert curtail.count_rule(0, 5, 5, 0) == "pass"
    with pytest.raises(ValueError, match="cannot be"):
        curtail.count_rule(3, 2, 5, 0)


def test_a_rate_needs_its_trials() -> None:
    needed = [intervals.min_trials_for_rate(rate) for rate in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)]
    assert needed == [5, 6, 9, 14, 29, 59]
    for rate, n in zip((0.5, 0.6, 0.7, 0.8, 0.9, 0.95), needed, strict=True):
        assert curtail.rate_rule(n, n, n, rate) == "pass"
        assert curtail.rate_rule(n - 1, n - 1, n - 1, rate) == "undecided"
    assert [intervals.min_trials_for_tau(t) for t in (0.5, 0.6, 0.7, 0.8)] == [10, 13, 18, 28]


def test_final_bounds_hold_for_every_strict_completion() -> None:
    orders = [np.array(order) for order in itertools.permutations((1.0, 2.0, 3.0))]
    seen = np.array([[1.0, 2, 3], [1, 3, 2]])
    bounds = curtail.final_mean_tau_bounds(seen, 4, future_ties=False)
    finals = [
        kendall.mean_tau(np.vstack([seen, a, b])).value or 0.0
        for a, b in itertools.product(orders, repeat=2)
    ]
    assert bounds.high == pytest.approx(max(finals))
    assert bounds.low is not None
    assert bounds.low <= min(finals) + 1e-12


def test_a_coming_tie_breaks_the_sharp_bound_but_not_the_safe_one() -> None:
    seen = np.array([[1.0, 2, 3], [1, 3, 2]] * 3)
    tied = kendall.mean_tau(np.vstack([seen, [[1.0, 2.5, 2.5]]])).value
    sharp = curtail.final_mean_tau_bounds(seen, 7, future_ties=False)
    safe = curtail.final_mean_tau_bounds(seen, 7)
    assert tied is not None
    assert sharp.high is not None
    assert safe.high is not None
    assert sharp.high < tied <= safe.high


def test_final_bounds_of_degenerate_series() -> None:
    assert curtail.final_mean_tau_bounds(np.zeros((0, 3)), 1).low is None
    assert curtail.final_mean_tau_bounds(np.zeros((0, 3)), 5).high == 1.0
    done = curtail.final_mean_tau_bounds(IDENTICAL[:4], 4)
    assert (done.low, done.high) == (1.0, 1.0)
    with pytest.raises(ValueError, match="more than"):
        curtail.final_mean_tau_bounds(IDENTICAL, 4)


def test_the_confidence_sequence_is_no_shorter_than_one_limit_at_one_look() -> None:
    for successes in (0, 10, 20):
        always = evalues.rate_confidence_sequence(successes, 20)
        once = intervals.clopper_pearson(successes, 20, 0.10)
        assert always.low is not None
        assert always.high is not None
        assert once.low is not None
        assert once.high is not None
        assert always.low <= once.low + 1e-9
        assert always.high >= once.high - 1e-9


def test_betting_on_a_truth_below_the_mean_loses() -> None:
    assert (evalues.log_betting_capital([0.4] * 8, 0.6).value or 0) < 0
    assert evalues.log_betting_capital([], 0.6).value is None
    limit = math.log(20)
    assert (evalues.log_betting_capital([1.0] * 30, 0.8).value or 0) > limit
