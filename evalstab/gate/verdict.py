"""The verdict: a policy against scores.json.

Pass needs every rule; one rule that fails is a fail; lost attempts or missing trials make a series
invalid or undecided, never failed: what did not arrive is no fault of the model. Errors never pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalstab.chat import Json
from evalstab.gate.answer import Judged, Status, percent
from evalstab.gate.counts import judge_count, judge_rate, judge_value
from evalstab.gate.evidence import Evidence, evidence_of, lost_attempts, unseen
from evalstab.gate.looks import looks_of, next_look, pass_from
from evalstab.gate.metric import judge_metric
from evalstab.gate.policy import Policy
from evalstab.measures.base import put


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What scores.json does not say of a series but its verdict needs.

    ``untestable``: why these trials say nothing of the model (it never called a tool, say).
    ``chosen_after``: judged trials that were there when the gate was chosen; 0 is as it should be.
    """

    untestable: str | None = None
    chosen_after: int = 0


def judge(policy: Policy, scores: Json, circumstances: Circumstances | None = None) -> Json:
    """The ``verdict`` object of scores.json.

    Pure: the same policy and scores give the same verdict, whether the series was stopped at a look
    or went on. ``next`` is left empty here.
    """
    about = circumstances or Circumstances()
    evidence = evidence_of(scores, policy.repeats)
    judged = _rules(policy, evidence)
    status, reason = _status(policy, evidence, judged, about)
    verdict: Json = {
        "status": status,
        "provisional": status == "pass" and any(j.provisional for j in judged),
        "gate": policy.name,
        "reason": reason,
        "trials": evidence.number,
        "planned": evidence.planned,
        "looks": looks_of(policy, evidence.planned),
        "rules": [one.entry() for one in judged],
    }
    more, why = _more(policy, evidence, judged, status)
    put(verdict, "more_repeats_needed", more, why)
    put(verdict, "unseen_share", unseen(evidence), "no trial is ranked")
    verdict["notes"] = list(_notes(policy, evidence, status, about))
    verdict["next"] = []
    return verdict


def decided(verdict: Json) -> bool:
    """Whether a running series may stop: no trial to come is asked for."""
    return verdict["status"] in ("pass", "fail")


def _rules(policy: Policy, evidence: Evidence) -> list[Judged]:
    """All rules in order; those that wait are judged once the others have decided."""
    found: dict[str, Judged] = {}
    for rule in policy.all_rules:
        if rule.kind == "metric":
            found[rule.name] = judge_metric(rule, policy, evidence)
        elif rule.kind == "count":
            found[rule.name] = judge_count(rule, evidence)
        elif rule.kind == "rate":
            found[rule.name] = judge_rate(rule, policy, evidence)
    open_ = any(one.status == "undecided" for one in found.values())
    settled = evidence.number >= evidence.planned or evidence.ended or (bool(found) and not open_)
    if evidence.number < min(policy.min_valid, evidence.planned):
        settled = False
    if not _others(policy):
        settled = evidence.ended
    settled = settled or any(one.status == "fail" for one in found.values())
    for rule in policy.all_rules:
        if rule.kind == "value":
            found[rule.name] = judge_value(rule, policy, evidence, settled=settled)
    return [found[rule.name] for rule in policy.all_rules]


def _others(policy: Policy) -> bool:
    """Whether a rule of the policy itself decides on trials, so that points can wait for it."""
    return any(rule.kind != "value" for rule in policy.rules)


def _status(
    policy: Policy, evidence: Evidence, judged: Sequence[Judged], about: Circumstances
) -> tuple[Status, str]:
    """The status of the whole, and the sentence behind it."""
    by: dict[str, list[str]] = {}
    for one in judged:
        by.setdefault(one.status, []).append(one.rule.name)
    needed = min(policy.min_valid, evidence.planned)
    if about.untestable is not None:
        return "invalid", about.untestable
    if not evidence.number or (evidence.number < needed and evidence.ended):
        return "invalid", _too_few(evidence, needed)
    if "fail" in by:
        return "fail", f"not kept: {', '.join(by['fail'])}"
    if "invalid" in by:
        return "invalid", f"too many attempts were lost: {', '.join(by['invalid'])}"
    if "undecided" in by or evidence.number < needed:
        return "undecided", f"open: {', '.join(by.get('undecided', ['too few trials']))}"
    return "pass", f"all {len(judged)} rules kept after {evidence.number} trials"


def _too_few(evidence: Evidence, needed: int) -> str:
    if evidence.number:
        return f"{evidence.number} valid trials, {needed} are needed for a verdict"
    if lost_attempts(evidence.scores):
        return "no valid trial: the endpoint or the rig spoilt all of them"
    return "no valid trial: none has ended yet"


def _more(
    policy: Policy, evidence: Evidence, judged: Sequence[Judged], status: Status
) -> tuple[int | None, str]:
    if status in ("pass", "fail"):
        return 0, ""
    if not evidence.number:
        return None, "there is no trial to judge by"
    open_ = [one for one in judged if one.status == "undecided"]
    known = [one.more for one in open_ if one.more and not one.waits]
    if not open_ or not known:
        following = next_look(policy, evidence.planned, evidence.number)
        if following is not None and not evidence.ended:
            return following - evidence.number, ""
        return None, "more trials alone would not decide it"
    return max(known), ""


def _notes(
    policy: Policy, evidence: Evidence, status: Status, about: Circumstances
) -> Sequence[str]:
    """What stands beside a verdict so that nobody takes it for more than it is."""
    notes: list[str] = []
    share = unseen(evidence)
    if status == "pass" and share is not None:
        notes.append(
            f"Not seen: up to {percent(share)} of all trials could behave in a way that none of "
            f"these {evidence.ranked} ranked trials did."
        )
    if about.chosen_after:
        notes.append(
            f"This gate was chosen after {about.chosen_after} trials had been seen: its error "
            "rates hold only for gates that are chosen before."
        )
    following = next_look(policy, evidence.planned, evidence.number)
    if status == "undecided" and not evidence.ended and following is not None:
        notes.append(_coming(policy, evidence, following))
    return notes


def _coming(policy: Policy, evidence: Evidence, following: int) -> str:
    """When the gate looks again, as trials to add and as their total, and whether it can pass."""
    first = pass_from(policy, evidence.planned)
    later = f"; it can only fail then, a pass is possible from {first} on"
    return (
        f"The next planned look comes after {following - evidence.number} more trials "
        f"({following} in all{later if first is not None and first > following else ''})."
    )
