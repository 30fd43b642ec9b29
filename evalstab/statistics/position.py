"""Position effect against sampling noise, from trials that share their reading order in pairs.

Two trials of one order differ by sampling alone; two trials of different orders differ by sampling
and by what the order of reading does to the judgement. The difference of the two mean taus is the
effect of position. A fixed order of all trials cannot show it: shared bias counts as agreement.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstab.statistics.kendall import pair_taus
from evalstab.statistics.quantiles import t_quantile
from evalstab.statistics.ranks import FloatArray
from evalstab.statistics.value import Interval, Value

LEAST_ORDERS = 3
"""Orders with two ranked trials that an interval needs."""


@dataclass(frozen=True, slots=True)
class PositionEffect:
    """Mean tau within orders (sampling noise only) and between them, and their difference.

    ``effect`` = within - between, in -2..2; 0: the order of reading does not matter. ``interval``
    is two-sided, by a jackknife over orders. ``orders`` counts those with two ranked trials.
    """

    within: Value
    between: Value
    effect: Value
    interval: Interval
    orders: int


def position_effect(
    places: npt.ArrayLike, orders: Sequence[Hashable], alpha: float = 0.05
) -> PositionEffect:
    """Tell the two apart; ``orders`` names the reading order of each row of ``places``.

    Undefined where no order has two ranked trials, or all trials share one order.
    """
    taus = pair_taus(places)
    names = [orders[row] for row in taus.trials]
    tau = taus.tau
    same = np.array([[one == other for other in names] for one in names], dtype=bool)
    same = same.reshape(len(names), len(names))
    within, between = _mean(tau, same), _mean(tau, ~same)
    pairs = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if within is None or between is None:
        reason = (
            "no two ranked trials share a reading order"
            if within is None
            else "all trials share one reading order"
        )
        nothing = Value.undefined(reason)
        return PositionEffect(
            nothing if within is None else Value.of(within),
            nothing if between is None else Value.of(between),
            nothing,
            Interval.undefined(reason),
            len(pairs),
        )
    effect = within - between
    interval = _jackknife(tau, same, names, effect, alpha)
    return PositionEffect(
        Value.of(within), Value.of(between), Value.of(effect), interval, len(pairs)
    )


def _mean(tau: FloatArray, mask: npt.NDArray[np.bool_]) -> float | None:
    values = tau[np.triu(mask, 1) & ~np.isnan(tau)]
    return float(values.mean()) if len(values) else None


def _jackknife(
    tau: FloatArray,
    same: npt.NDArray[np.bool_],
    names: Sequence[Hashable],
    effect: float,
    alpha: float,
) -> Interval:
    """Leave out one order at a time, with all of its trials."""
    different = list(dict.fromkeys(names))
    paired = sum(names.count(name) > 1 for name in different)
    if paired < LEAST_ORDERS:
        return Interval.undefined(
            f"needs {LEAST_ORDERS} reading orders with two ranked trials each, there are {paired}"
        )
    left: list[float] = []
    for name in different:
        keep = np.array([other != name for other in names])
        block = np.ix_(keep, keep)
        within, between = _mean(tau[block], same[block]), _mean(tau[block], ~same[block])
        if within is not None and between is not None:
            left.append(within - between)
    n = len(left)
    if n < LEAST_ORDERS:
        return Interval.undefined("too few orders have a tau to leave one out")
    deviation = np.array(left) - np.mean(left)
    error = float(np.sqrt((n - 1) / n * (deviation**2).sum()))
    if error <= 0:
        return Interval.undefined("every order gives the same difference: no spread to judge by")
    reach = t_quantile(1 - alpha / 2, n - 1) * error
    return Interval.of(max(effect - reach, -2.0), min(effect + reach, 2.0))
