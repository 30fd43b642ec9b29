"""What one rule answers, and how it stands in the verdict of scores.json."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from evalstab.chat import Json
from evalstab.gate.policy import Rule
from evalstab.measures.base import put

Status = Literal["pass", "fail", "undecided", "invalid"]


@dataclass(frozen=True, slots=True)
class Judged:
    """A rule with its answer.

    ``low`` and ``high`` are the limits that were held against the threshold: of the value itself,
    or, for counts, of the rate behind it. ``more`` is about how many more trials could decide an
    undecided rule, None where that cannot be said. ``waits`` marks a rule that is only looked at
    once all others have decided. ``trials`` is the number of judged trials it was looked at.
    """

    rule: Rule
    status: Status
    reason: str
    value: float | None
    low: float | None = None
    high: float | None = None
    provisional: bool = False
    more: int | None = None
    waits: bool = False
    trials: int = 0

    def entry(self) -> Json:
        """The rule as it stands in ``verdict.rules``."""
        rule = self.rule
        found: Json = {"name": rule.name, "kind": rule.kind, "key": rule.key}
        put(found, "value", self.value, self.reason)
        none = "no limits belong to this kind of rule"
        if rule.kind == "metric":
            none = self.reason
        put(found, "ci_low", self.low, none)
        put(found, "ci_high", self.high, none)
        found["ci_of"] = "rate" if rule.kind == "count" else "value"
        found["threshold"] = rule.threshold
        found["bound"] = next(
            b for b in ("min", "max", "at_most", "at_least") if getattr(rule, b) is not None
        )
        found["status"] = self.status
        found["provisional"] = self.provisional
        found["trials"] = self.trials
        found["reason"] = self.reason
        return found


def said(
    judged: Judged,
    reason: str,
    *,
    status: Status = "undecided",
    provisional: bool = False,
    more: int | None = None,
) -> Judged:
    """The same rule with its answer."""
    return replace(judged, reason=reason, status=status, provisional=provisional, more=more)


def percent(share: float) -> str:
    """A share for a sentence: ``45 %``; ends that are not exact do not read as 0 or 100."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 < share < 1:
        return "over 99 %"
    return f"{round(share * 100)} %"
