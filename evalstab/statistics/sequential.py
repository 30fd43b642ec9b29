"""When to look at mean agreement, and what one look decides.

Looking after every trial and stopping at the first "significant" look turns an error of 5 % into
21 %. So looks are planned before the first trial and share the error between them (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from evalstab.statistics.intervals import min_trials_for_tau
from evalstab.statistics.value import Interval

Status = Literal["pass", "fail", "undecided"]

FIRST_FAIL_LOOKS = (5, 8)
"""Where a clearly unstable series may fail before it is long enough to pass."""


@dataclass(frozen=True, slots=True)
class Look:
    """One planned look: after `trials` usable trials, with the one-sided errors it may spend.

    None = this look cannot fail (or pass). `provisional` = a pass here comes before the number of
    trials that a pass without reservation needs.
    """

    trials: int
    fail_alpha: float | None
    pass_alpha: float | None
    provisional: bool = False


@dataclass(frozen=True, slots=True)
class LookPlan:
    """All looks of one rule, in order; `min_trials` is what an unreserved pass needs (n_min)."""

    threshold: float
    min_trials: int
    looks: tuple[Look, ...]

    def can_pass(self) -> bool:
        """Whether some planned look can pass, be it provisionally."""
        return any(look.pass_alpha is not None for look in self.looks)

    def next_look(self, trials: int) -> Look | None:
        """The first look after `trials` trials, or None when the plan is used up."""
        return next((look for look in self.looks if look.trials > trials), None)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a look decided, with the one-sided limits it compared with the threshold.

    `low` and `high` are None where the side was not looked at or the interval is undefined.
    """

    status: Status
    provisional: bool
    low: float | None
    high: float | None
    reason: str


def planned_looks(
    max_trials: int, threshold: float, alpha: float = 0.05, *, provisional: bool = False
) -> LookPlan:
    """The looks at mean tau of a series of at most `max_trials`: fail early, pass late.

    Fail looks at 5, 8, n_min and the last trial share alpha; pass looks at n_min and the last
    trial share alpha, where n_min = `min_trials_for_tau`. There is no pass look below n_min, so
    none at all if max_trials < n_min, unless `provisional`: then every fail look is also a pass
    look (sharing alpha alike), and a pass before n_min carries the flag. For threshold .6 and 20
    trials: fail at 5, 8, 13, 20 (alpha/4), pass at 13, 20 (alpha/2). A series shorter than 5 is
    looked at once. Raises ValueError for max_trials < 1 or a threshold >= 1.
    """
    if max_trials < 1:
        raise ValueError(f"a series has at least one trial, not {max_trials}")
    enough = min_trials_for_tau(threshold, alpha)
    fail_at = sorted({n for n in (*FIRST_FAIL_LOOKS, enough) if n < max_trials} | {max_trials})
    pass_at = fail_at if provisional else [n for n in fail_at if n in (enough, max_trials)]
    pass_at = [n for n in pass_at if provisional or n >= enough]
    looks = tuple(
        Look(
            trials=n,
            fail_alpha=alpha / len(fail_at),
            pass_alpha=alpha / len(pass_at) if n in pass_at else None,
            provisional=n in pass_at and n < enough,
        )
        for n in fail_at
    )
    return LookPlan(threshold, enough, looks)


def current_look(plan: LookPlan, trials: int, *, ended: bool = False) -> Look | None:
    """The look that is due after `trials` usable trials, or None between looks.

    `ended`: no trial will follow (interrupted, trials lost, or more trials than planned), so the
    look that would have come next, or the last one, is taken now with its share of the error. Such
    a look may pass only where a pass look was planned and `trials` reach `min_trials`, or
    provisionally in a provisional plan.
    """
    for look in plan.looks:
        if look.trials == trials:
            return look
    if not ended or trials < 1:
        return None
    stand_in = plan.next_look(trials) or plan.looks[-1]
    early = trials < plan.min_trials
    reserved = any(look.provisional for look in plan.looks)
    may_pass = stand_in.pass_alpha is not None and (reserved or not early)
    return Look(
        trials=trials,
        fail_alpha=stand_in.fail_alpha,
        pass_alpha=stand_in.pass_alpha if may_pass else None,
        provisional=may_pass and early,
    )


def decide(
    interval_at: Callable[[float], Interval], look: Look, threshold: float, *, at_most: bool = False
) -> Decision:
    """One look at a statistic that has an interval: must it be at least the threshold?

    `interval_at(alpha)` gives its two-sided 1 - alpha interval, of which one side is used at half
    that error. Fails if the upper limit is below the threshold, passes if the lower limit reaches
    it; the other way round with `at_most`. Undecided otherwise, with a reason, as between looks and
    where the interval is undefined: missing data never fail.
    """
    limits: dict[str, float | None] = {"fail": None, "pass": None}
    for verdict, alpha in (("fail", look.fail_alpha), ("pass", look.pass_alpha)):
        if alpha is None:
            continue
        interval = interval_at(2 * alpha)
        if interval.reason is not None:
            return Decision("undecided", False, None, None, interval.reason)
        upper = (verdict == "fail") != at_most
        limits[verdict] = interval.high if upper else interval.low
    against, for_it = limits["fail"], limits["pass"]
    low, high = (against, for_it) if at_most else (for_it, against)
    sign = -1 if at_most else 1
    if against is not None and sign * against < sign * threshold:
        reason = (
            f"even the {'lower' if at_most else 'upper'} limit {against:.3f} misses {threshold:g}"
        )
        return Decision("fail", False, low, high, reason)
    if for_it is not None and sign * for_it >= sign * threshold:
        reason = f"the {'upper' if at_most else 'lower'} limit {for_it:.3f} keeps {threshold:g}"
        return Decision("pass", look.provisional, low, high, reason)
    if for_it is None:
        reason = f"after {look.trials} trials this rule can only fail, and it does not"
    else:
        reason = f"the limits lie on both sides of {threshold:g}"
    return Decision("undecided", False, low, high, reason)
