"""What may be told of a gate: the shipped ones and their rules are no secrets, all others are."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.gate.policy import load_policy, shipped
from evalstab.report import numbers
from evalstab.report.facts import number

PRIVATE = "(private)"
_BOUNDS = {"min": "at least", "max": "at most", "at_least": "at least", "at_most": "at most"}


def shared_gate(verdict: Json) -> str | None:
    """The name of a shipped gate, ``(private)`` for any other, None where none was asked."""
    asked = verdict.get("gate")
    if not asked:
        return None
    return asked if asked in shipped() else PRIVATE


def shared_rules(verdict: Json) -> list[Json]:
    """Name, key and reason of each rule, in order; a rule that is not shipped has its number.

    A name goes out only with the very key that a shipped gate gives it. Reasons are written anew
    from the rule's numbers: none of the stored text goes out.
    """
    known = {
        (rule.name, rule.key) for gate in shipped() for rule in load_policy(gate, {}).all_rules
    }
    told: list[Json] = []
    for place, rule in enumerate(verdict.get("rules") or (), 1):
        named = str(rule.get("name")), str(rule.get("key"))
        name, key = named if named in known else (f"rule {place}", "")
        told.append({"name": name, "key": key, "reason": _reason(rule)})
    return told


def _reason(rule: Json) -> str:
    value, threshold, trials = (number(rule, key) for key in ("value", "threshold", "trials"))
    bound = _BOUNDS.get(str(rule.get("bound")))
    if value is None or threshold is None or bound is None:
        return ""
    after = "" if trials is None else f" after {numbers.plural(int(trials), 'trial')}"
    return f"{numbers.plain(value)}{after}, {bound} {numbers.plain(threshold)} is asked for"
