"""Plackett-Luce worths: an option for loose rankings, not part of the stability block.

Stable trials have no maximum likelihood worths: a candidate that always beats another set of
candidates would be infinitely worth more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evalstab.statistics.consensus import preferences
from evalstab.statistics.ranks import FloatArray, as_places, ranked_rows

_ROUNDS = 20_000


def log_worths(places: npt.ArrayLike) -> FloatArray | None:
    """Log worths (M,), mean 0, by maximum likelihood; None where they do not exist.

    They exist if no group of candidates is ahead of all others in every trial. A ranking is read as
    choosing the best, then the best of the rest, and so on. Raises ValueError for ties or missing
    candidates in a ranked trial. Source: Hunter 2004 (MM algorithm).
    """
    array = as_places(places)
    array = array[ranked_rows(array)]
    m = array.shape[1]
    if (np.sort(array, axis=1) != np.arange(1.0, m + 1)).any():
        raise ValueError("Plackett-Luce needs complete rankings without ties")
    reach = preferences(array) > 0
    for k in range(m):
        reach |= np.outer(reach[:, k], reach[k])
    if m < 2 or not (reach | np.eye(m, dtype=bool)).all():
        return None
    orders = np.argsort(array, axis=1)
    wins = (array < m).sum(axis=0).astype(np.float64)
    worth = np.ones(m)
    for _ in range(_ROUNDS):
        new = wins / _exposure(orders, worth)
        new /= np.exp(np.log(new).mean())
        moved = float(np.abs(np.log(new / worth)).max())
        worth = new
        if moved < 1e-13:
            break
    return np.asarray(np.log(worth))


def _exposure(orders: npt.NDArray[np.intp], worth: FloatArray) -> FloatArray:
    """For each candidate, the sum of 1 / (worth still in play) over the choices it took part in."""
    ordered = worth[orders]
    in_play = np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
    chosen = np.cumsum(1 / in_play[:, :-1], axis=1)
    taken = np.hstack([chosen, chosen[:, -1:]])
    exposure = np.zeros(len(worth))
    np.add.at(exposure, orders.ravel(), taken.ravel())
    return exposure
