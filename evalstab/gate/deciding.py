"""What each rule of a gate can decide with so many trials, in one sentence."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.gate.answer import percent
from evalstab.gate.keys import counts_attempts
from evalstab.gate.looks import impossible, look_plan, looks_of
from evalstab.gate.policy import Policy, Rule
from evalstab.statistics.curtail import operating_characteristic, rate_rule
from evalstab.statistics.intervals import min_trials_for_rate, unseen_share


def deciding(policy: Policy, candidates: int | None) -> Json:
    """The looks of a gate and what its rules can say; nothing is refused here."""
    blocked = {one.rule.name: one for one in impossible(policy, candidates)}
    rules = []
    for rule in policy.all_rules:
        found = blocked.get(rule.name)
        sentence = _sentence(rule, policy)
        if found is not None:
            need = f"; it would need {found.needed} trials" if found.needed else ""
            sentence = f"cannot pass: {found.why}{need}"
        rules.append(
            {"name": rule.name, "key": rule.key, "possible": found is None, "sentence": sentence}
        )
    share = unseen_share(policy.repeats, 0.05).value
    return {
        "gate": policy.name,
        "repeats": policy.repeats,
        "looks": looks_of(policy, policy.repeats),
        "rules": rules,
        "unseen": f"after {policy.repeats} trials up to {percent(share or 1.0)} of all trials "
        "could behave in a way that none of them did",
    }


def _sentence(rule: Rule, policy: Policy) -> str:
    n = policy.repeats
    if rule.kind == "metric":
        plan = look_plan(rule, policy, n)
        passes = [look.trials for look in plan.looks if look.pass_alpha is not None]
        soft = " provisionally" if passes and passes[0] < plan.min_trials else ""
        fails = ", ".join(str(look.trials) for look in plan.looks)
        return f"can fail after {fails} trials, can pass{soft} after {passes[0]} at the earliest"
    if rule.kind == "count":
        if counts_attempts(rule.key):
            return f"more than {rule.threshold:g} lost attempts make the series invalid"
        return f"decided exactly by {rule.of or n} trials, or once nothing can change it"
    if rule.kind == "rate":
        target = rule.threshold if rule.upward else 1 - rule.threshold
        needed = min_trials_for_rate(target, policy.alpha)
        curve = operating_characteristic(
            lambda hits, seen: None if seen < n else rate_rule(hits, n, n, target, policy.alpha),
            0.99,
            n,
        )
        return (
            f"needs {needed} trials without a miss; a true rate of 99 % passes in "
            f"{percent(curve.passes)} of series"
        )
    return "the number alone, once the other rules have decided: a coin flip near its bound"
