"""Interval rules: a mean over pairs or trials, or a spread, looked at as planned."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evalstab.gate.answer import Judged, percent, said
from evalstab.gate.evidence import Evidence
from evalstab.gate.keys import PAIR_AGREEMENT, PAIR_METRICS, find_number, reason_for
from evalstab.gate.looks import look_plan, mean_needs
from evalstab.gate.policy import Policy, Rule
from evalstab.statistics.intervals import winner_agreement_interval
from evalstab.statistics.kendall import with_failures
from evalstab.statistics.pairwise import pair_interval, pair_mean
from evalstab.statistics.quantiles import t_quantile
from evalstab.statistics.scale import (
    coefficient_of_variation,
    geometric_cv,
    geometric_cv_interval,
    log_sd,
    log_sd_interval,
    standard_deviation,
    standard_deviation_interval,
)
from evalstab.statistics.sequential import Look, LookPlan, current_look
from evalstab.statistics.value import Interval, Value
from evalstab.statistics.winner import pair_agreement

LEAST_COVERAGE = 0.8
FAILED_TAU = {"chance": 0.0, "worst": -1.0}

Measure = Callable[[Evidence, float], tuple[Value, Interval]]
"""(evidence, one-sided alpha) -> the value and the limits at that level."""


@dataclass(frozen=True, slots=True)
class _At:
    """An interval rule at one look."""

    look: Look
    value: Value
    low: float | None
    high: float | None
    reason: str | None


def judge_metric(rule: Rule, policy: Policy, evidence: Evidence) -> Judged:
    """The rule at the first planned look that decides it, else at the last look there was.

    All looks so far are taken again, each on the trials of its time, so that the answer does not
    depend on whether the series went on after it.
    """
    plan = look_plan(rule, policy, evidence.planned)
    due = [look for look in plan.looks if look.trials <= evidence.number]
    if evidence.ended and evidence.number not in {look.trials for look in plan.looks}:
        stand_in = current_look(plan, evidence.number, ended=True)
        due += [stand_in] if stand_in else []
    answer: Judged | None = None
    for look in due:
        answer = _at_look(rule, policy, evidence.first(look.trials), look, plan)
        if answer.status != "undecided":
            return answer
    return answer or _before(rule, policy, evidence, plan)


def measure_of(key: str) -> Measure:
    """How the value and limits of a key are computed."""
    if key in PAIR_METRICS:
        statistic = PAIR_METRICS[key]
        return lambda e, a: (
            pair_mean(statistic, e.places),
            pair_interval(statistic, e.places, 2 * a),
        )
    if key == PAIR_AGREEMENT:
        return lambda e, a: (
            pair_agreement(e.winners),
            winner_agreement_interval(e.winners, 2 * a),
        )
    if key.startswith("trials."):
        return lambda e, a: _mean_of(e, key.removeprefix("trials."), a)
    return lambda e, a: _spread_of(e, key, a)


def _before(rule: Rule, policy: Policy, evidence: Evidence, plan: LookPlan) -> Judged:
    """Before the first look: the value is shown, nothing is decided."""
    value, _ = measure_of(rule.key)(evidence, policy.alpha)
    first = plan.looks[0].trials
    more = first - evidence.number
    reason = f"the first look of this rule comes after {first} trials, there are {evidence.number}"
    return Judged(rule, "undecided", reason, value.value, more=more, trials=evidence.number)


def _at_look(rule: Rule, policy: Policy, evidence: Evidence, look: Look, plan: LookPlan) -> Judged:
    at = _limits(rule, policy, evidence, look)
    n = evidence.number
    base = Judged(rule, "undecided", "", at.value.value, at.low, at.high, trials=n)
    if at.value.value is None or at.reason is not None:
        reason = at.value.reason or at.reason or "it could not be computed"
        return said(base, f"{_known(evidence, rule)}{reason}", more=_until(plan, n))
    failing, passing = (at.high, at.low) if rule.upward else (at.low, at.high)
    if look.fail_alpha is not None and _worse(failing, rule):
        word = "upper" if rule.upward else "lower"
        return said(
            base,
            f"after {n} trials even the {word} limit {failing:.3g} misses {rule.threshold:g} "
            f"(one-sided, error {look.fail_alpha:.3g})",
            status="fail",
        )
    if look.pass_alpha is None or _worse(passing, rule):
        return said(base, _open(rule, look, at, plan), more=_more(rule, evidence, at, look, plan))
    if (objection := _objection(rule, policy, evidence)) is not None:
        return said(base, objection, more=_until(plan, n))
    soft = look.provisional or (rule.key in PAIR_METRICS and evidence.ranked < plan.min_trials)
    word = "lower" if rule.upward else "upper"
    return said(
        base,
        f"after {n} trials the {word} limit {passing:.3g} keeps {rule.threshold:g} "
        f"(one-sided, error {look.pass_alpha:.3g})"
        + (f"; provisional: an unreserved pass needs {plan.min_trials} trials" if soft else ""),
        status="pass",
        provisional=soft,
    )


def _limits(rule: Rule, policy: Policy, evidence: Evidence, look: Look) -> _At:
    """Both limits, each at the error that its side may spend at this look."""
    measure = measure_of(rule.key)
    fail_alpha = look.fail_alpha or policy.alpha
    pass_alpha = look.pass_alpha or fail_alpha
    value, failing = measure(evidence, fail_alpha)
    _, passing = measure(evidence, pass_alpha)
    low = passing.low if rule.upward else failing.low
    high = failing.high if rule.upward else passing.high
    return _At(look, value, low, high, failing.reason or passing.reason)


def _worse(limit: float | None, rule: Rule) -> bool:
    if limit is None:
        return True
    return limit < rule.threshold if rule.upward else limit > rule.threshold


def _objection(rule: Rule, policy: Policy, evidence: Evidence) -> str | None:
    """Why limits that keep the threshold are no pass all the same."""
    about_order = rule.key in PAIR_METRICS
    if rule.key.startswith("stability.") and evidence.identical and not policy.accept_identical:
        return (
            "all trials gave the same output, word for word: one observation repeated is "
            "determinism, not stability (accept_identical = true takes it as agreement)"
        )
    coverage = evidence.taus.coverage.value
    if about_order and coverage is not None and coverage < LEAST_COVERAGE:
        return (
            f"two trials have only {percent(coverage)} of the candidates in common, 80 % are needed"
        )
    failed = evidence.number - evidence.ranked
    if about_order and failed and policy.failed_as != "excluded":
        mean = pair_mean(PAIR_METRICS[rule.key], evidence.places)
        counted = with_failures(
            mean, evidence.ranked, evidence.number, FAILED_TAU[policy.failed_as]
        )
        if counted.value is None or counted.value < rule.threshold:
            return (
                f"{failed} of {evidence.number} trials delivered no ranking; with their pairs "
                f"counted as {policy.failed_as} the mean is {counted.value or 0:.3g}"
            )
    return None


def _open(rule: Rule, look: Look, at: _At, plan: LookPlan) -> str:
    if look.pass_alpha is None:
        need = plan.min_trials
        kept = "keeps" if not _worse(at.value.value, rule) else "misses"
        return (
            f"{at.value.value:.3g} {kept} {rule.threshold:g}, but after {look.trials} trials this "
            f"rule can only fail: a pass needs {need}, so rare behaviour gets a chance to show"
        )
    return (
        f"after {look.trials} trials the limits {at.low or 0:.3g} and {at.high or 0:.3g} lie on "
        f"both sides of {rule.threshold:g}"
    )


def _until(plan: LookPlan, trials: int) -> int | None:
    following = plan.next_look(trials)
    return following.trials - trials if following else None


def _more(rule: Rule, evidence: Evidence, at: _At, look: Look, plan: LookPlan) -> int | None:
    """About how many more trials could decide the rule."""
    n, mean = evidence.number, at.value.value
    if mean is None:
        return _until(plan, n)
    good = not _worse(mean, rule)
    if good and look.pass_alpha is None:
        return max(1, plan.min_trials - n)
    limit = at.low if good == rule.upward else at.high
    needed = mean_needs(n, mean, limit, rule.threshold) if limit is not None else None
    following = plan.next_look(n + (needed or 1) - 1)
    if needed is not None and following is not None:
        return following.trials - n
    return needed


def _known(evidence: Evidence, rule: Rule) -> str:
    if rule.key in PAIR_METRICS and evidence.ranked < evidence.number:
        return f"{evidence.ranked} of {evidence.number} trials delivered a ranking: "
    return ""


def _mean_of(evidence: Evidence, key: str, alpha: float) -> tuple[Value, Interval]:
    """Mean of a trial's number, with t limits."""
    numbers = np.array(evidence.numbers(key))
    n = len(numbers)
    if not n:
        reasons = {reason_for(trial, key) for trial in evidence.trials}
        reason = sorted(reasons)[0] if reasons else "there is no judged trial"
        return Value.undefined(reason), Interval.undefined(reason)
    mean = float(numbers.mean())
    if n < 3:
        return Value.of(mean), Interval.undefined(f"limits need 3 trials with it, there are {n}")
    half = t_quantile(1 - alpha, n - 1) * float(numbers.std(ddof=1)) / math.sqrt(n)
    return Value.of(mean), Interval.of(mean - half, mean + half)


def _spread_of(evidence: Evidence, key: str, alpha: float) -> tuple[Value, Interval]:
    """A spread with its chi-squared limits; the CV's are those of the geometric CV.

    Where nothing varied, the limits are those of one trial that is one point (or place) off:
    numbers that models round say no more.
    """
    if key.startswith("stability.candidates."):
        who = key.removeprefix("stability.candidates.").removesuffix(".sd")
        if who not in evidence.candidates:
            reason = f"no candidate is called {who}"
            return Value.undefined(reason), Interval.undefined(reason)
        column = evidence.places[:, evidence.candidates.index(who)]
        return standard_deviation(column), standard_deviation_interval(_moved(column), 2 * alpha)
    tops = np.array([_top(trial) for trial in evidence.trials])
    moved = _moved(tops)
    if key.endswith(".sd"):
        return standard_deviation(tops), standard_deviation_interval(moved, 2 * alpha)
    if key.endswith(".log_sd"):
        return log_sd(tops), log_sd_interval(moved, 2 * alpha)
    value = coefficient_of_variation(tops)
    if value.value is None:
        value = geometric_cv(tops)
    return value, geometric_cv_interval(moved, 2 * alpha)


def _top(trial: dict[str, object]) -> float:
    value = find_number(trial, "top_score")
    return math.nan if value is None else value


def _moved(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[float]:
    present = [float(v) for v in values if not math.isnan(v)]
    if len(present) > 1 and max(present) == min(present):
        present[0] += 1
    return present
