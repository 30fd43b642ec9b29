"""How sure a number is, said the same way everywhere: an interval, or why there is none."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.facts import number
from evalstab.statistics.intervals import clopper_pearson
from evalstab.statistics.value import Interval

TOO_FEW = "too few trials for an interval"


def rate_sure(successes: int, trials: int) -> str:
    """The 95 % Clopper-Pearson interval of a rate, in words."""
    limits = percent_limits(clopper_pearson(successes, trials) if trials else None)
    return limits if limits == TOO_FEW else f"95 % interval of the rate {limits}"


def percent_limits(found: Interval | None) -> str:
    """An interval of a share as percentages, or that there are too few trials."""
    if found is None or found.low is None or found.high is None:
        return TOO_FEW
    return numbers.percent_interval(found.low, found.high)


def tau_sure(tau: Json) -> str:
    """The interval of the mean tau, in words."""
    found = limits(tau)
    return f"95 % interval {numbers.interval(*found)}" if found else why_none(tau)


def limits(parent: Json, prefix: str = "") -> tuple[float, float] | None:
    """``<prefix>ci_low`` and ``<prefix>ci_high``, None unless both are known."""
    low, high = number(parent, f"{prefix}ci_low"), number(parent, f"{prefix}ci_high")
    return None if low is None or high is None else (low, high)


def why_none(parent: Json) -> str:
    """Why there is no interval, in the words of who measured it."""
    stated = parent.get("ci_low_reason")
    return f"no interval: {labels.sentence(stated)}" if stated else TOO_FEW
