"""How the place of one candidate moves over the trials.

`places` is one column (N,): 1 = best, NaN = not ranked in that trial.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from evalstab.statistics.concordance import spearman
from evalstab.statistics.ranks import FloatArray, places_from_order_numbers
from evalstab.statistics.value import Value

TREND_NEEDS = 8
"""With fewer trials only a perfect trend is rarer than 5 %, so none is reported."""


def chance_place_sd(candidates: int) -> float:
    """Standard deviation of a place drawn at random from 1..M, sqrt((M^2 - 1) / 12): a yardstick.

    3.16 for 11 candidates.
    """
    return math.sqrt((candidates**2 - 1) / 12)


def mean_difference(places: npt.ArrayLike) -> Value:
    """Mean absolute difference of the place over all pairs of trials that rank the candidate.

    0 = never moves. Undefined with fewer than 2 such trials.
    """
    present = np.sort(_present(places))
    n = len(present)
    if n < 2:
        return Value.undefined(f"needs at least 2 trials with a place, there are {n}")
    weights = 2 * np.arange(1, n + 1) - n - 1
    return Value.of(float(weights @ present) / math.comb(n, 2))


def mean_step(places: npt.ArrayLike) -> Value:
    """Mean absolute change of the place from one ranked trial to the next, in time order.

    Undefined with fewer than 2 such trials.
    """
    present = _present(places)
    if len(present) < 2:
        return Value.undefined(f"needs at least 2 trials with a place, there are {len(present)}")
    return Value.of(np.abs(np.diff(present)).mean())


def top_share(places: npt.ArrayLike, k: int) -> Value:
    """Share of the trials that rank the candidate in which it stands among the first k: 0..1.

    Chance k/M. Undefined where no trial ranks it.
    """
    present = _present(places)
    if not len(present):
        return Value.undefined("no trial ranks this candidate")
    return Value.of((present <= k).mean())


def trend(places: npt.ArrayLike) -> Value:
    """Spearman's rho of the place with the number of the trial: -1..1, 0 = no drift.

    Positive = the candidate sinks. Undefined with fewer than `TREND_NEEDS` trials with a place, and
    where the place never moves.
    """
    column = np.asarray(places, dtype=np.float64)
    number = np.flatnonzero(~np.isnan(column)).astype(np.float64)
    if len(number) < TREND_NEEDS:
        return Value.undefined(
            f"a drift needs at least {TREND_NEEDS} trials with a place, there are {len(number)}"
        )
    rho = spearman(places_from_order_numbers(np.vstack([_present(column), number])))
    return rho if rho.value is not None else Value.undefined("the place never moves")


def _present(places: npt.ArrayLike) -> FloatArray:
    column = np.asarray(places, dtype=np.float64)
    return np.asarray(column[~np.isnan(column)])
