"""Rules about how many trials have something: count, rate, and the plain value."""

from __future__ import annotations

from evalstab.gate.answer import Judged, percent, said
from evalstab.gate.evidence import Evidence, lost
from evalstab.gate.keys import RATES, counts_attempts, find_number, reason_for
from evalstab.gate.looks import rate_needs
from evalstab.gate.policy import Policy, Rule
from evalstab.statistics.curtail import rate_rule
from evalstab.statistics.intervals import clopper_pearson


def judge_count(rule: Rule, evidence: Evidence) -> Judged:
    """At most (or at least) so many of the planned trials, decided once no trial can change it.

    A rule about these trials; the rate's interval stands beside it and nothing is claimed about it.
    """
    if counts_attempts(rule.key):
        return _judge_lost(rule, evidence)
    found, seen = evidence.count(rule.key), evidence.number
    planned = max(rule.of or evidence.planned, seen)
    rest, bound = planned - seen, int(rule.threshold)
    low, high = _clopper_pearson(found, seen, 0.05)
    base = Judged(rule, "undecided", "", found, low, high, trials=seen)
    words = "at least" if rule.upward else "at most"
    told = f"{found} of {seen} trials{_share(base)}; {words} {bound} of {planned} are asked for"
    sure, possible = found, found + rest
    reached = sure >= bound if rule.upward else possible <= bound
    missed = possible < bound if rule.upward else sure > bound
    if reached or missed:
        return said(base, told, status="pass" if reached else "fail")
    if evidence.ended:
        return said(base, f"{told}; {rest} planned trials are missing and could change the answer")
    missing = bound - found if rule.upward else possible - bound
    return said(base, f"{told}; {rest} to come could change the answer", more=max(1, missing))


def judge_rate(rule: Rule, policy: Policy, evidence: Evidence) -> Judged:
    """A rate, by Clopper-Pearson after the planned trials, earlier where nothing can change it."""
    n = evidence.number
    found = evidence.count(rule.key)
    if RATES.get(rule.key) == "winner_modal":
        n = evidence.ranked
    low, high = _clopper_pearson(found, n, 2 * policy.alpha)
    base = Judged(rule, "undecided", "", found / n if n else None, low, high, trials=n)
    if not n:
        return said(base, "there is no trial to judge by")
    hits = found if rule.upward else n - found
    target = rule.threshold if rule.upward else 1 - rule.threshold
    planned = max(n, evidence.planned) if not evidence.ended else n
    status = rate_rule(hits, n, planned, target, policy.alpha)
    told = f"{found} of {n} trials, {_limits(base)}"
    asked = f"{'at least' if rule.upward else 'at most'} {rule.threshold:g}"
    if status == "undecided":
        needs = rate_needs(hits, n, target, policy.alpha)
        wait = f"about {needs} more without a miss would show it" if needs else "too near to tell"
        return said(base, f"{told}: {asked} is neither shown nor excluded; {wait}", more=needs)
    return said(base, f"{told}: {asked} is {_word(status)}", status=status)


def judge_value(rule: Rule, policy: Policy, evidence: Evidence, *, settled: bool) -> Judged:
    """A number against a bound, once every other rule has decided or no trial is to come."""
    value = _value(rule.key, evidence)
    base = Judged(rule, "undecided", "", value, trials=evidence.number)
    if value is None:
        return said(base, _why_none(rule.key, evidence))
    keeps = value >= rule.threshold if rule.upward else value <= rule.threshold
    words = "at least" if rule.upward else "at most"
    told = f"{value:.4g}, {words} {rule.threshold:g} is asked for"
    if not settled:
        more = max(1, evidence.planned - evidence.number)
        waiting = said(base, f"{told}; it is judged when all other rules have decided")
        return Judged(
            rule, "undecided", waiting.reason, value, more=more, waits=True, trials=evidence.number
        )
    about_order = rule.key.startswith("stability.") and rule.key not in RATES
    if keeps and about_order and evidence.identical and not policy.accept_identical:
        return said(base, f"{told}; all trials are identical: determinism, not stability")
    word = "the number alone, no interval"
    return said(base, f"{told} ({word})", status="pass" if keeps else "fail")


def _judge_lost(rule: Rule, evidence: Evidence) -> Judged:
    """Lost attempts: too many make the series invalid, which is no fault of the model."""
    found = lost(evidence.scores, rule.key)
    base = Judged(rule, "undecided", "", found, trials=evidence.number)
    bound = int(rule.threshold)
    what = "to a dying or restarted server" if rule.key == "crashes" else "to other than the model"
    told = f"{found} attempts lost {what}"
    if rule.upward:
        return said(base, told, status="pass" if found >= bound else "undecided")
    if found > bound:
        return said(
            base,
            f"{told}, at most {bound} are allowed: the trials that survived prove nothing about "
            "this deployment",
            status="invalid",
        )
    return said(base, f"{told}, at most {bound} are allowed", status="pass")


def _value(key: str, evidence: Evidence) -> float | None:
    if not key.startswith("trials."):
        return find_number(evidence.scores, key)
    numbers = evidence.numbers(key.removeprefix("trials."))
    return sum(numbers) / len(numbers) if numbers else None


def _why_none(key: str, evidence: Evidence) -> str:
    if not key.startswith("trials."):
        return reason_for(evidence.scores, key)
    reasons = {reason_for(trial, key.removeprefix("trials.")) for trial in evidence.trials}
    return sorted(reasons)[0] if reasons else "there is no judged trial"


def _clopper_pearson(found: int, trials: int, alpha: float) -> tuple[float | None, float | None]:
    limits = clopper_pearson(found, trials, alpha)
    return limits.low, limits.high


def _share(judged: Judged) -> str:
    if judged.low is None or judged.high is None:
        return ""
    return f" (95 % interval of the rate {percent(judged.low)} to {percent(judged.high)})"


def _limits(judged: Judged) -> str:
    if judged.low is None or judged.high is None:
        return "no limits"
    return f"one-sided limits {judged.low:.3g} and {judged.high:.3g}"


def _word(status: str) -> str:
    return "shown" if status == "pass" else "excluded"
