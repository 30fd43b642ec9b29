"""Mallows' model: a centre order, and phi in 0..1 for how far trials stray from it.

P(order) is proportional to phi^d, d the number of pairs ordered otherwise than in the centre. 0 =
always the centre, 1 = any order alike. Good for saying how noisy a tau is, and for simulation; not
for verdicts. Source: Mallows 1957; Fligner & Verducci 1986.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evalstab.statistics.ranks import FloatArray
from evalstab.statistics.value import Value


def expected_distance(phi: float, candidates: int) -> float:
    """E d(order, centre) = M q/(1-q) - sum_j j q^j/(1-q^j): from 0 (phi 0) to M(M-1)/4 (phi 1)."""
    _check(phi)
    sizes = range(1, candidates + 1)
    if phi == 1:
        return candidates * (candidates - 1) / 4
    return sum(_mean_displacement(phi, j) for j in sizes)


def expected_tau(phi: float, candidates: int) -> Value:
    """Expected tau of two trials: 1 (phi 0) to 0 (phi 1).

    sum_g (M - g) (2 p_g - 1)^2 / P, where p_g = h(g+1) - h(g), h(k) = k / (1 - phi^k), is the
    chance that two candidates g places apart in the centre keep their order. At M = 11, phi =
    .1, .3, .5, .7, .9 gives .927, .762, .541, .258, .031. Undefined with fewer than 2 candidates.
    """
    _check(phi)
    m = candidates
    if m < 2:
        return Value.undefined("needs at least 2 candidates")
    if phi == 1:
        return Value.of(0.0)
    total = 0.0
    for gap in range(1, m):
        kept = (gap + 1) / (1 - phi ** (gap + 1)) - gap / (1 - phi**gap)
        total += (m - gap) * (2 * kept - 1) ** 2
    return Value.of(total / (m * (m - 1) / 2))


def fitted_phi(mean_distance: float, candidates: int) -> Value:
    """phi whose `expected_distance` is `mean_distance`, the mean distance of trials to a centre.

    Maximum likelihood for a known centre; optimistic (too small) for a centre fitted to the same
    trials. 0 for distance 0, 1 from M(M-1)/4 upward. Undefined with fewer than 2 candidates. Raises
    ValueError for a negative distance.
    """
    if mean_distance < 0:
        raise ValueError(f"a distance is not negative: {mean_distance}")
    if candidates < 2:
        return Value.undefined("needs at least 2 candidates")
    if mean_distance >= candidates * (candidates - 1) / 4:
        return Value.of(1.0)
    low, high = 0.0, 1.0
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if expected_distance(middle, candidates) < mean_distance:
            low = middle
        else:
            high = middle
    return Value.of((low + high) / 2 if mean_distance > 0 else 0.0)


def sample(rng: np.random.Generator, phi: float, candidates: int, size: int) -> FloatArray:
    """Places (size, M) of `size` independent trials around the centre 1, 2, ..., M.

    By repeated insertion: candidate j enters i places before the end of its predecessors with
    probability proportional to phi^i.
    """
    _check(phi)
    places = np.empty((size, candidates))
    for j in range(candidates):
        weights = phi ** np.arange(j + 1) if phi > 0 else np.eye(1, j + 1)[0]
        steps = rng.choice(j + 1, size=size, p=weights / weights.sum())
        entered = j + 1.0 - steps
        places[:, :j] += places[:, :j] >= entered[:, None]
        places[:, j] = entered
    return places


def centre_distances(places: npt.ArrayLike, centre: npt.ArrayLike) -> FloatArray:
    """Pairs (N,) that each complete trial orders strictly against the strict places `centre`."""
    array, middle = np.asarray(places, dtype=np.float64), np.asarray(centre, dtype=np.float64)
    order = array[:, np.argsort(middle)]
    first, second = np.triu_indices(order.shape[1], 1)
    return np.asarray((order[:, second] < order[:, first]).sum(axis=1), dtype=np.float64)


def _mean_displacement(phi: float, size: int) -> float:
    """Mean of the truncated geometric distribution with weights phi^0 ... phi^(size-1)."""
    weights = [phi**i for i in range(size)]
    return sum(i * weight for i, weight in enumerate(weights)) / sum(weights)


def _check(phi: float) -> None:
    if not 0 <= phi <= 1:
        raise ValueError(f"phi must lie in 0..1, not {phi}")
