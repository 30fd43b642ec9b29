"""Yes/no rules that stop when the trials to come can no longer change the verdict.

Exact curtailment: the early verdict is always the one that the full series would have given, so no
error is spent on looking after every trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstab.statistics.intervals import clopper_pearson
from evalstab.statistics.kendall import pair_taus
from evalstab.statistics.ranks import FloatArray, as_places
from evalstab.statistics.sequential import Status
from evalstab.statistics.value import Interval

Rule = Callable[[int, int], Status | None]
"""(successes, trials seen) -> the answer that ends the series, or None to go on."""


def count_rule(violations: int, seen: int, planned: int, at_most: int) -> Status:
    """At most `at_most` of `planned` trials may violate; decided as soon as no trial can change it.

    A rule about these trials, not a claim about the rate behind them. Raises ValueError for
    impossible counts.
    """
    if not 0 <= violations <= seen or seen > planned:
        raise ValueError(f"{violations} violations in {seen} of {planned} trials cannot be")
    if violations > at_most:
        return "fail"
    return "pass" if violations + planned - seen <= at_most else "undecided"


def rate_rule(
    successes: int, seen: int, planned: int, min_rate: float, alpha: float = 0.05
) -> Status:
    """Is the success rate at least `min_rate`? One-sided Clopper-Pearson after `planned` trials.

    Passes if the lower limit reaches min_rate, fails if the upper limit is below it, and says so
    earlier only where the trials to come cannot change that. Undecided at the end is an answer.
    """
    if not 0 <= successes <= seen <= planned:
        raise ValueError(f"{successes} successes in {seen} of {planned} trials cannot be")
    worst = clopper_pearson(successes, planned, 2 * alpha).low
    best = clopper_pearson(successes + planned - seen, planned, 2 * alpha).high
    if worst is not None and worst >= min_rate:
        return "pass"
    return "fail" if best is not None and best < min_rate else "undecided"


def rate_rule_stopped(
    successes: int, seen: int, planned: int, min_rate: float, alpha: float = 0.05
) -> bool:
    """Whether the final answer of `rate_rule`, undecided included, is already certain."""
    worst = rate_rule(successes, planned, planned, min_rate, alpha)
    best = rate_rule(successes + planned - seen, planned, planned, min_rate, alpha)
    return worst == best


@dataclass(frozen=True, slots=True)
class Characteristic:
    """What a yes/no rule does at one true rate: chances of its answers, expected trials."""

    passes: float
    fails: float
    undecided: float
    expected_trials: float


def operating_characteristic(rule: Rule, rate: float, max_trials: int) -> Characteristic:
    """Exact characteristics of a rule at a true success rate, by dynamic program.

    `rule(successes, seen)` is asked after each trial; any answer but None ends the series, and a
    series without an answer after `max_trials` is undecided. Trials are taken as independent.
    """
    alive = {0: 1.0}
    ended: dict[Status, float] = {"pass": 0.0, "fail": 0.0, "undecided": 0.0}
    expected = 0.0
    for seen in range(1, max_trials + 1):
        expected += sum(alive.values())
        reached: dict[int, float] = {}
        for successes, chance in alive.items():
            reached[successes + 1] = reached.get(successes + 1, 0.0) + chance * rate
            reached[successes] = reached.get(successes, 0.0) + chance * (1 - rate)
        alive = {}
        for successes, chance in reached.items():
            status = rule(successes, seen)
            if status is None:
                alive[successes] = chance
            else:
                ended[status] += chance
    ended["undecided"] += sum(alive.values())
    return Characteristic(ended["pass"], ended["fail"], ended["undecided"], expected)


def final_mean_tau_bounds(
    places: npt.ArrayLike, planned: int, *, future_ties: bool = True
) -> Interval:
    """Where mean tau must lie once `planned` trials are done, whatever the rest show.

    For "cannot reach the threshold any more"; nearly useless for a pass. If nothing is known of
    the trials to come, each unseen pair may be anything in -1..1. With `future_ties=False`, and
    complete untied rankings so far, the net margin A_e of each candidate pair after n trials, m to
    come, gives the sharp bounds high = (mean_e (|A_e| + m)^2 - N) / (N (N - 1)) and low the same
    with (|A_e| - m)^2, or the parity of |A_e| + m where that crosses 0. They do not hold if a
    coming trial may tie candidates: a tie where the trials disagree can agree better with all of
    them than any strict order. Undefined with fewer than 2 planned trials or candidates. Raises
    ValueError for more trials than planned.
    """
    array = as_places(places)
    seen, m = array.shape
    rest = planned - seen
    if rest < 0:
        raise ValueError(f"{seen} trials are more than the {planned} planned")
    if planned < 2 or m < 2:
        return Interval.undefined("needs at least 2 planned trials and 2 candidates")
    first, second = np.triu_indices(m, 1)
    signs = np.sign(array[:, second] - array[:, first])
    if future_ties or np.isnan(signs).any() or (signs == 0).any():
        return _bounds_by_unseen_pairs(array, rest)
    margins = np.abs(signs.sum(axis=0))
    nearest = np.where(margins > rest, (margins - rest) ** 2, (margins + rest) % 2)
    pairs = planned * (planned - 1)
    low = (float(nearest.mean()) - planned) / pairs
    return Interval.of(low, (float(((margins + rest) ** 2).mean()) - planned) / pairs)


def _bounds_by_unseen_pairs(places: FloatArray, rest: int) -> Interval:
    """Each pair with a trial to come is -1 or 1; pairs without a tau drop out, as in the mean."""
    values = pair_taus(places).values()
    unseen = math.comb(len(places) + rest, 2) - math.comb(len(places), 2)
    pairs = len(values) + unseen
    if pairs == 0:
        return Interval.undefined("no two trials can be compared")
    total = float(values.sum())
    return Interval.of(max(-1.0, (total - unseen) / pairs), min(1.0, (total + unseen) / pairs))
