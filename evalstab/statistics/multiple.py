"""Tests on counts and on scale, and corrections for asking many questions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalstab.statistics.intervals import wilson
from evalstab.statistics.quantiles import t_two_sided_p
from evalstab.statistics.ranks import FloatArray
from evalstab.statistics.value import Interval, Value


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p, in the given order: "did anything regress?" under any dependence.

    Reject where the adjusted p is at most alpha. Raises ValueError for p outside 0..1.
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    steps = len(p) - np.arange(len(p))
    adjusted = np.minimum(1.0, np.maximum.accumulate(p[order] * steps)) if len(p) else p
    return _in_order(adjusted, order)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg adjusted p (false discovery rate), in the given order; for display.

    Raises ValueError for p outside 0..1.
    """
    p = _checked(p_values)
    order = np.argsort(-p, kind="stable")
    ranks = len(p) - np.arange(len(p))
    adjusted = np.minimum.accumulate(np.minimum(1.0, p[order] * len(p) / ranks))
    return _in_order(adjusted, order)


def fisher_exact_p(successes1: int, n1: int, successes2: int, n2: int) -> Value:
    """Two-sided Fisher p for two rates: sum of the tables no more likely than this one.

    5 of 5 against 2 of 5 gives .17. Undefined where a side has no trials. Raises ValueError for
    impossible counts.
    """
    for successes, n in ((successes1, n1), (successes2, n2)):
        if not 0 <= successes <= n:
            raise ValueError(f"{successes} of {n} is no count of successes")
    if n1 == 0 or n2 == 0:
        return Value.undefined("no trials on one side")
    both = successes1 + successes2
    ways = [
        math.comb(n1, k) * math.comb(n2, both - k)
        for k in range(max(0, both - n2), min(n1, both) + 1)
    ]
    this = math.comb(n1, successes1) * math.comb(n2, successes2)
    return Value.of(sum(way for way in ways if way <= this) / sum(ways))


def rate_difference_interval(
    successes1: int, n1: int, successes2: int, n2: int, alpha: float = 0.05
) -> Interval:
    """Newcombe's interval of rate 2 minus rate 1, from two Wilson intervals: in -1..1.

    Undefined where a side has no trials. Source: Newcombe 1998, method 10.
    """
    one, other = wilson(successes1, n1, alpha), wilson(successes2, n2, alpha)
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Interval.undefined("no trials on one side")
    p1, p2 = successes1 / n1, successes2 / n2
    low = p2 - p1 - math.hypot(p2 - other.low, one.high - p1)
    high = p2 - p1 + math.hypot(other.high - p2, p1 - one.low)
    return Interval.of(max(-1.0, low), min(1.0, high))


def scale_test_p(base: npt.ArrayLike, new: npt.ArrayLike) -> Value:
    """Two-sided Welch p for equal geometric means of the top scores of two sets, NaN left out.

    Undefined with fewer than 2 values in a set, with values <= 0, or without any variance.
    """
    sets = [np.asarray(values, dtype=np.float64).ravel() for values in (base, new)]
    sets = [values[~np.isnan(values)] for values in sets]
    if min(len(values) for values in sets) < 2:
        return Value.undefined("needs at least 2 values on both sides")
    if any((values <= 0).any() for values in sets):
        return Value.undefined("needs positive values")
    logs = [np.log(values) for values in sets]
    w1, w2 = (float(log.var(ddof=1)) / len(log) for log in logs)
    if w1 + w2 <= 1e-24:
        return Value.undefined("the values do not vary within the sets")
    t = float(logs[0].mean() - logs[1].mean()) / math.sqrt(w1 + w2)
    df = (w1 + w2) ** 2 / (w1**2 / (len(logs[0]) - 1) + w2**2 / (len(logs[1]) - 1))
    return Value.of(t_two_sided_p(t, df))


def _checked(p_values: Sequence[float]) -> FloatArray:
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p values must lie in 0..1")
    return p


def _in_order(adjusted: FloatArray, order: npt.NDArray[np.intp]) -> list[float]:
    result = np.empty(len(order))
    result[order] = adjusted
    return [float(p) for p in result]
