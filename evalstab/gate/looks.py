"""When a gate looks at a series, and whether it can pass at all within its planned trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalstab.errors import ConfigError
from evalstab.gate.evidence import best_case
from evalstab.gate.keys import PAIR_AGREEMENT, PAIR_METRICS, counts_attempts
from evalstab.gate.policy import Policy, Rule
from evalstab.statistics.curtail import rate_rule
from evalstab.statistics.intervals import (
    clopper_pearson,
    min_trials_for_rate,
    min_trials_for_tau,
    winner_agreement_interval,
)
from evalstab.statistics.pairwise import pair_interval
from evalstab.statistics.sequential import Look, LookPlan, planned_looks

MOST_TRIALS = 400
"""Beyond so many trials nobody waits for a pass, and none is looked for."""

OTHER_MEANS_AS = 0.5
"""Spreads and means of trials have no agreement from which to derive how many trials a pass needs:
they need as many as an agreement of .5, that is 10."""


@dataclass(frozen=True, slots=True)
class Impossible:
    """A rule that no series of the planned length can pass, and how many trials it would need."""

    rule: Rule
    needed: int | None
    why: str


def look_plan(rule: Rule, policy: Policy, planned: int) -> LookPlan:
    """The planned looks of an interval rule in a series of ``planned`` trials."""
    threshold = OTHER_MEANS_AS
    if rule.key in PAIR_METRICS or rule.key == PAIR_AGREEMENT:
        threshold = rule.threshold
    enough = min_trials_for_tau(threshold, policy.alpha)
    early = policy.provisional if policy.provisional is not None else planned < enough
    return planned_looks(planned, threshold, policy.alpha, provisional=early)


def looks_of(policy: Policy, planned: int) -> list[int]:
    """The numbers of judged trials after which this gate looks, the last one included.

    Interval rules say when. A gate of counts and rates alone looks after every trial: these are
    decided exactly, when no trial to come can change the answer, which costs no error.
    """
    looks = {planned}
    for rule in policy.rules:
        if rule.kind == "metric":
            looks |= {look.trials for look in look_plan(rule, policy, planned).looks}
    kinds = {rule.kind for rule in policy.rules}
    if "metric" not in kinds and kinds & {"count", "rate"}:
        looks |= {*range(min(policy.min_valid, planned), planned)}
    return sorted(looks)


def next_look(policy: Policy, planned: int, trials: int) -> int | None:
    """The first planned look after so many judged trials, None where the plan is used up."""
    return next((look for look in looks_of(policy, planned) if look > trials), None)


def pass_from(policy: Policy, planned: int) -> int | None:
    """The number of judged trials from which on this gate can pass, None where it never can.

    That of a series without any fault; one with faults may need more.
    """
    needed = [_pass_from(rule, policy, planned) for rule in policy.all_rules]
    known = [number for number in needed if number is not None]
    return max(known, default=policy.min_valid) if len(known) == len(needed) else None


def _pass_from(rule: Rule, policy: Policy, planned: int) -> int | None:
    if rule.kind == "metric":
        looks = look_plan(rule, policy, planned).looks
        return next((look.trials for look in looks if look.pass_alpha is not None), None)
    if rule.kind == "rate":
        target = rule.threshold if rule.upward else 1 - rule.threshold
        counts = range(1, planned + 1)
        passes = (n for n in counts if rate_rule(n, n, planned, target, policy.alpha) == "pass")
        return next(passes, None)
    if rule.kind == "count" and not counts_attempts(rule.key):
        bound = int(rule.threshold)
        return bound if rule.upward else max(0, (rule.of or planned) - bound)
    return 0


def require_possible(policy: Policy, candidates: int | None) -> None:
    """ConfigError for a gate that cannot pass within its planned trials, with the number needed.

    ``candidates`` is their number in the task: with few of them even perfect agreement says little.
    """
    found = impossible(policy, candidates)
    if not found:
        return
    told = [f"rule {i.rule.name!r}: {i.why}" for i in found]
    numbers = [i.needed for i in found]
    if None in numbers:
        mend = f"No number of trials up to {MOST_TRIALS} would do: take {_easier(found)}."
    else:
        most = max(number for number in numbers if number is not None)
        mend = f"It would need {most} trials: a series with --repeats {most}, or {_easier(found)}."
    raise ConfigError(
        f"gate {policy.name!r} cannot pass within its {policy.repeats} planned trials. "
        f"{'; '.join(told)}. {mend}"
    )


def _easier(found: Sequence[Impossible]) -> str:
    """Which threshold would be easier to keep: a lower one for at least, a higher for at most."""
    words = {"lower" if one.rule.upward else "higher" for one in found}
    return f"a {' or '.join(sorted(words, reverse=True))} threshold"


def impossible(policy: Policy, candidates: int | None) -> list[Impossible]:
    """The rules that cannot pass however good the series is."""
    found = (_impossible(rule, policy, candidates) for rule in policy.all_rules)
    return [one for one in found if one is not None]


def _impossible(rule: Rule, policy: Policy, candidates: int | None) -> Impossible | None:
    n = policy.repeats
    if rule.kind == "rate":
        target = rule.threshold if rule.upward else 1 - rule.threshold
        needed = min_trials_for_rate(target, policy.alpha)
        if needed <= n:
            return None
        words = "at least" if rule.upward else "at most"
        return Impossible(
            rule, needed, f"a rate of {words} {rule.threshold:g} needs {needed} trials without miss"
        )
    if rule.kind == "count" and rule.upward and rule.threshold > (rule.of or n):
        return Impossible(rule, None, f"{rule.threshold:g} of {rule.of or n} trials cannot be")
    if rule.kind == "count" and rule.of is not None and rule.of > n:
        return Impossible(rule, rule.of, f"it is about {rule.of} trials")
    if rule.kind == "metric" and not _can_pass(rule, policy, n, candidates):
        needed_trials = _needed(rule, policy, candidates)
        return Impossible(rule, needed_trials, _why(rule, policy, candidates))
    return None


def _can_pass(rule: Rule, policy: Policy, planned: int, candidates: int | None) -> bool:
    plan = look_plan(rule, policy, planned)
    return any(_passes(rule, look, candidates) for look in plan.looks)


def _passes(rule: Rule, look: Look, candidates: int | None) -> bool:
    """Whether a series that agrees perfectly passes at this look."""
    if look.pass_alpha is None:
        return False
    if rule.key == PAIR_AGREEMENT:
        limits = winner_agreement_interval([frozenset({0})] * look.trials, 2 * look.pass_alpha)
        return limits.low is not None and limits.low >= rule.threshold
    if rule.key not in PAIR_METRICS or candidates is None:
        return True
    places = best_case(look.trials, candidates)
    limits = pair_interval(PAIR_METRICS[rule.key], places, 2 * look.pass_alpha)
    return limits.low is not None and limits.low >= rule.threshold


def _needed(rule: Rule, policy: Policy, candidates: int | None) -> int | None:
    """The least number of planned trials with which the rule can pass."""
    high = policy.repeats
    while high < MOST_TRIALS and not _can_pass(rule, policy, high, candidates):
        high = min(MOST_TRIALS, high * 2)
    if not _can_pass(rule, policy, high, candidates):
        return None
    low = max(policy.repeats, high // 2)
    return next(n for n in range(low, high + 1) if _can_pass(rule, policy, n, candidates))


def _why(rule: Rule, policy: Policy, candidates: int | None) -> str:
    if rule.key in PAIR_METRICS and candidates is not None:
        return (
            f"even {policy.repeats} trials that all give the same order of {candidates} candidates "
            f"do not show {rule.key} of at least {rule.threshold:g}"
        )
    return f"{policy.repeats} trials do not show {rule.key} of at least {rule.threshold:g}"


def rate_needs(successes: int, trials: int, target: float, alpha: float) -> int | None:
    """More trials without a miss until a rate of ``target`` is shown, None beyond 1,000."""
    for more in range(1001):
        low = clopper_pearson(successes + more, trials + more, 2 * alpha).low
        if low is not None and low >= target:
            return more
    return None


def mean_needs(trials: int, mean: float, limit: float, threshold: float) -> int | None:
    """About how many more trials bring a limit to the threshold if the mean stays where it is.

    The distance of a limit from the mean shrinks with the square root of the number of trials. None
    where the mean lies on the threshold, or beyond 1,000.
    """
    gap, reach = abs(mean - threshold), abs(mean - limit)
    if not gap or not np.isfinite(reach):
        return None
    total = math.ceil(trials * (reach / gap) ** 2)
    more = max(1, total - trials)
    return more if more <= 1000 else None
