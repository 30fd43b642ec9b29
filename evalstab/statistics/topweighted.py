"""Agreement that counts the top of the ranking more, for full rankings of the same candidates.

For lists of different length or content see `toplists`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstab.statistics.crosstab import columns
from evalstab.statistics.kendall import mean_of_pairs
from evalstab.statistics.ranks import FloatArray, as_places
from evalstab.statistics.value import Value

Positions = Literal["both", "first"]


def weighted_tau(
    places: npt.ArrayLike, *, positions: Positions = "both", multiplicative: bool = False
) -> Value:
    """Weighted tau with hyperbolic weights of two trials, `places` (2, M).

    A swap of the candidates on positions r and s (from 0) weighs 1/(r+1) + 1/(s+1), or the product
    if `multiplicative`. Positions are those of the first trial, its ties broken by the second;
    "both" averages the two directions. Range -1..1, chance about 0. At 11 candidates a swap at the
    top costs .099, one at the bottom .013. Compared on the common candidates: a missing candidate
    is not a last place. Undefined with fewer than 2 common candidates or where a trial ties all of
    them. Source: Vigna 2015, "A weighted correlation index for rankings with ties".
    """
    array = as_places(places)
    if len(array) != 2:
        raise ValueError(f"weighted_tau compares two trials, not {len(array)}")
    array = array[:, (~np.isnan(array)).all(axis=0)]
    if array.shape[1] < 2:
        return Value.undefined("needs at least 2 common candidates")
    taus = [_directed(array[0], array[1], multiplicative)]
    if positions == "both":
        taus.append(_directed(array[1], array[0], multiplicative))
    if np.isnan(taus).any():
        return Value.undefined("a trial ties all common candidates (0/0)")
    return Value.of(sum(taus) / len(taus))


def weighted_taus(places: npt.ArrayLike) -> FloatArray:
    """`weighted_tau` (additive, both directions) of all trials at once: (N, N).

    NaN on the diagonal and where undefined. The weight of a pair is a sum over its two candidates,
    so the whole is a sum over candidates of matrix products: O(N^2 M^2), ties and missing
    candidates included.
    """
    array = as_places(places)
    n = len(array)
    agreement, first, second = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for column in columns(array):
        weight = column.both / (column.above + column.tied_above + column.tied_before + 1)
        agreement += weight * column.agreement
        first += weight * column.untied
        second += weight * column.untied.T
    product = first * second
    tau = np.full((n, n), np.nan)
    np.divide(agreement, np.sqrt(product), out=tau, where=product > 0)
    tau += tau.T.copy()
    tau /= 2
    np.clip(tau, -1.0, 1.0, out=tau)
    np.fill_diagonal(tau, np.nan)
    return tau


def mean_weighted_tau(places: npt.ArrayLike) -> Value:
    """Mean of `weighted_taus` over the defined pairs: range -1..1, chance about 0."""
    return mean_of_pairs(weighted_taus(places), _NO_PAIR)


def rank_biased_overlaps(places: npt.ArrayLike, persistence: float = 0.9) -> FloatArray:
    """RBO_EXT of all ranked trials: (N, N), NaN on the diagonal and for unranked trials.

    (1 - p) sum_{d<=k} p^(d-1) A_d + p^k A_k; A_d is the overlap at depth d, k the length of the
    shorter ranking. A tie group that depth d cuts enters with a fractional share, and the overlap
    is divided by the lengths of the two share vectors, so that equal rankings reach 1 also with
    ties (RBO^b of Corsi & Urbano 2024; without ties this is Webber, Moffat & Zobel 2010, eq. 32).
    Range 0..1, but two reversed rankings of the same 11 candidates still get .48 at p = .9.
    Raises ValueError for a persistence not strictly between 0 and 1.
    """
    _check_persistence(persistence)
    array = as_places(places)
    n, m = array.shape
    lengths = (~np.isnan(array)).sum(axis=1)
    depth_of_pair = np.minimum.outer(lengths, lengths)
    total = np.zeros((n, n))
    for depth in range(1, m + 1):
        share = _shares(array, depth)
        size = np.sqrt((share**2).sum(axis=1))
        size[size == 0] = 1
        agreement = share @ share.T / np.outer(size, size)
        total += np.where(depth <= depth_of_pair, persistence ** (depth - 1), 0) * (
            (1 - persistence) * agreement
        )
        total += np.where(depth == depth_of_pair, persistence**depth, 0) * agreement
    overlaps = np.clip(total, 0.0, 1.0)
    overlaps[depth_of_pair == 0] = np.nan
    np.fill_diagonal(overlaps, np.nan)
    return overlaps


def mean_rank_biased_overlap(places: npt.ArrayLike, persistence: float = 0.9) -> Value:
    """Mean of `rank_biased_overlaps` over pairs of ranked trials: 0..1; not 0 at chance."""
    return mean_of_pairs(rank_biased_overlaps(places, persistence), _TOO_FEW)


def rank_biased_top_weight(persistence: float, depth: int) -> float:
    """Share of the weight of RBO that lies on the first `depth` places: .86 for p = .9, depth 10.

    Source: Webber et al. 2010, eq. 21.
    """
    _check_persistence(persistence)
    p, d = persistence, depth
    inner = -np.log1p(-p) - sum(p**i / i for i in range(1, d))
    return float(1 - p ** (d - 1) + (1 - p) / p * d * inner)


_TOO_FEW = "needs at least 2 ranked trials"
_NO_PAIR = f"{_TOO_FEW} that do not tie all their common candidates"


def _directed(first: FloatArray, second: FloatArray, multiplicative: bool) -> float:
    """Weighted tau with positions by `first`, ties by `second`; NaN where 0/0."""
    order = np.lexsort((second, first))
    weight = np.empty(len(order))
    weight[order] = 1 / np.arange(1.0, len(order) + 1)
    a, b = np.triu_indices(len(order), 1)
    pair = weight[a] * weight[b] if multiplicative else weight[a] + weight[b]
    x, y = np.sign(first[a] - first[b]), np.sign(second[a] - second[b])
    norm = float((pair * np.abs(x)).sum()) * float((pair * np.abs(y)).sum())
    return float((pair * x * y).sum() / np.sqrt(norm)) if norm > 0 else float("nan")


def _shares(places: FloatArray, depth: int) -> FloatArray:
    """How much of each candidate (N, M) belongs to the first `depth`: 1, 0, or a share of a tie."""
    n, m = places.shape
    doubled = np.where(np.isnan(places), 0, np.round(places * 2)).astype(int)
    rows = np.repeat(np.arange(n), m)
    flat = rows * (2 * m + 1) + doubled.ravel()
    sizes = np.bincount(flat, minlength=n * (2 * m + 1))[flat].reshape(n, m)
    above = places - (sizes + 1) / 2
    share = np.clip((depth - above) / sizes, 0, 1)
    share[np.isnan(places)] = 0
    return np.asarray(share)


def _check_persistence(persistence: float) -> None:
    if not 0 < persistence < 1:
        raise ValueError(f"persistence must lie strictly between 0 and 1, not {persistence}")
