"""Kendall's tau-b between trials: pairs, their mean, and what the interval needs.

tau-b of two rankings is (C - D) / sqrt((C + D + T_x)(C + D + T_y)): C and D are the candidate
pairs in the same and in opposite order, T_x and T_y those tied only in one of the two (Kendall
1945). It lies in -1..1 and is 0 on average for unrelated orders; (1 + tau) / 2 is the chance that
both order a random pair alike. It is undefined where one ranking ties all candidates.

Written as sign vectors over the candidate pairs, tau-b is the cosine of the two vectors. This is
what everything here rests on, and why ties need no special case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstab.statistics.ranks import FloatArray, as_places, ranked_rows
from evalstab.statistics.value import Value

_BLOCK_CELLS = 1 << 22
"""Signs held at once: bounds memory, and keeps float32 sums of +-1 exact (below 2**24)."""


@dataclass(frozen=True, slots=True, eq=False)
class PairTaus:
    """All tau-b between the ranked trials of one table.

    `tau` is (k, k), symmetric, NaN on the diagonal and where undefined; `trials` gives the row of
    the table for each of the k ranked trials. `dropped_tied` counts pairs without a tau because a
    ranking ties all common candidates, `dropped_few_common` those with too few common candidates.
    `coverage` is the mean share of common candidates over all pairs of ranked trials.
    """

    tau: FloatArray
    trials: tuple[int, ...]
    candidates: int
    coverage: Value
    dropped_tied: int
    dropped_few_common: int

    def values(self) -> FloatArray:
        """The defined taus, each pair once."""
        return pair_values(self.tau)

    def mean(self) -> Value:
        """Mean over the defined pairs (see `mean_tau`)."""
        return mean_of_pairs(self.tau, self.no_pairs_reason())

    def no_pairs_reason(self) -> str:
        """Why there is no single defined pair; only to be asked where that is so."""
        if len(self.trials) < 2:
            return f"needs at least 2 ranked trials, there are {len(self.trials)}"
        if self.dropped_few_common:
            return "no two trials rank enough common candidates"
        return "every pair has a trial in which all candidates are tied"

    def step(self) -> float:
        """Loss of tau by one swap of neighbours in one of the two rankings, 2 / P."""
        return 4 / max(self.candidates * (self.candidates - 1), 2)


def tau_b(places: npt.ArrayLike) -> Value:
    """tau-b of two trials, `places` (2, M), on the candidates that both rank.

    Range -1..1, chance 0. Undefined with fewer than two common candidates and where one trial ties
    all of them, even if both do: 0/0 is neither agreement nor disagreement.
    """
    array = as_places(places)
    if len(array) != 2:
        raise ValueError(f"tau_b compares two trials, not {len(array)}")
    common = int((~np.isnan(array)).all(axis=0).sum())
    if common < 2:
        return Value.undefined(f"needs at least 2 common candidates, there are {common}")
    tau = _tau_matrix(array)[0][0, 1]
    if np.isnan(tau):
        return Value.undefined("a trial ties all common candidates (0/0)")
    return Value.of(tau)


def mean_tau(places: npt.ArrayLike) -> Value:
    """U, the mean tau-b over all pairs of ranked trials; the headline of agreement.

    Unbiased for the expected tau of two future trials at any N >= 2. Range -1/(N-1)..1 for
    complete rankings, chance 0. Computed by the margin identity
    U = (|sum_i u_i|^2 - N) / (N (N - 1)) with unit sign vectors u_i, in O(N M^2), equal to the
    pairwise definition also with ties. Where candidates are missing it is the mean of `pair_taus`.
    Trials that tie all candidates have no tau with any other and are left out. Undefined with
    fewer than two usable trials. Source: Hoeffding 1948 (U-statistics).
    """
    array = as_places(places)
    array = array[ranked_rows(array)]
    if len(array) < 2 or np.isnan(array).any():
        return pair_taus(array).mean()
    untied = np.zeros(len(array))
    for signs in _sign_blocks(array):
        untied += np.abs(signs).sum(axis=1)
    usable = untied > 0
    n = int(usable.sum())
    if n < 2:
        return pair_taus(array).mean()
    largest = untied.max()
    weights = np.sqrt(largest / untied[usable])
    squared = 0.0
    for signs in _sign_blocks(array[usable]):
        margins = weights @ signs
        squared += float(margins @ margins)
    return Value.of(min(1.0, (squared / largest - n) / (n * (n - 1))))


def pair_taus(places: npt.ArrayLike) -> PairTaus:
    """tau-b of every pair of ranked trials, on their common candidates.

    A missing candidate is not a last place: each pair is compared on the candidates that both
    rank. Pairs in which candidates are missing need max(3, M/2) common ones, else they are dropped
    and counted. O(N^2 M^2) as one matrix product; N = 1,000 with M = 100 takes a fraction of a
    second.
    """
    array = as_places(places)
    rows = np.flatnonzero(ranked_rows(array))
    array = array[rows]
    tau, common = _tau_matrix(array)
    m = array.shape[1]
    upper = np.triu_indices(len(array), 1)
    few = common < min(m, max(3, m / 2))
    tied = np.isnan(tau) & ~few
    tau[few] = np.nan
    coverage = Value.undefined("needs at least 2 ranked trials")
    if len(rows) >= 2:
        coverage = Value.of(common[upper].mean() / m)
    return PairTaus(
        tau=tau,
        trials=tuple(int(row) for row in rows),
        candidates=m,
        coverage=coverage,
        dropped_tied=int(tied[upper].sum()),
        dropped_few_common=int(few[upper].sum()),
    )


def pair_values(pairs: FloatArray) -> FloatArray:
    """Defined entries above the diagonal of a symmetric (k, k) matrix of pair statistics."""
    above = pairs[np.triu_indices(len(pairs), 1)]
    return np.asarray(above[~np.isnan(above)])


def mean_of_pairs(pairs: FloatArray, reason: str) -> Value:
    """Mean of the defined pairs of a (k, k) matrix, or undefined for `reason`."""
    values = pair_values(pairs)
    return Value.of(values.mean()) if len(values) else Value.undefined(reason)


def with_failures(mean: Value, ranked: int, trials: int, failed_as: float = 0.0) -> Value:
    """U over all attempted trials, if each pair with an unranked trial had tau `failed_as`.

    0 counts a missing ranking as chance agreement, -1 as the worst case, 1 as the best; the last
    two are the bounds of Manski. Undefined with fewer than two trials, or where ranked pairs exist
    but their mean is undefined.
    """
    if trials < 2:
        return Value.undefined(f"needs at least 2 trials, there are {trials}")
    among = math.comb(ranked, 2)
    failed = math.comb(trials, 2) - among
    if among == 0:
        return Value.of(failed_as)
    if mean.value is None:
        return mean
    return Value.of((among * mean.value + failed * failed_as) / (among + failed))


def kendall_distance(places: npt.ArrayLike) -> Value:
    """K^(1/2) of two trials (2, M): pairs in opposite order plus half the pairs tied in one only.

    Range 0..P, P = M(M-1)/2 common pairs; without ties K/P = (1 - tau)/2. Defined with ties: two
    trials that tie everything have distance 0. Source: Fagin et al. 2006, "Comparing partial
    rankings".
    """
    array = as_places(places)
    if len(array) != 2:
        raise ValueError(f"kendall_distance compares two trials, not {len(array)}")
    array = array[:, (~np.isnan(array)).all(axis=0)]
    if array.shape[1] < 2:
        return Value.undefined("needs at least 2 common candidates")
    distance = sum(float(np.abs(signs[0] - signs[1]).sum()) for signs in _sign_blocks(array))
    return Value.of(distance / 2)


def _sign_blocks(places: FloatArray) -> Iterator[npt.NDArray[np.float32]]:
    """Order of each candidate pair in each trial (+1, 0, -1; NaN = not both there), in blocks."""
    first, second = np.triu_indices(places.shape[1], 1)
    width = max(1, _BLOCK_CELLS // max(1, len(places)))
    small = places.astype(np.float32)
    for start in range(0, len(first), width):
        block = slice(start, start + width)
        yield np.sign(small[:, second[block]] - small[:, first[block]])


def _tau_matrix(places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """tau-b (k, k), NaN on the diagonal and where 0/0, and the numbers of common candidates."""
    k = len(places)
    agreement = np.zeros((k, k))
    untied = np.zeros((k, k))
    complete = not np.isnan(places).any()
    for signs in _sign_blocks(places):
        if complete:
            untied += np.abs(signs).sum(axis=1, dtype=np.float64)[:, None]
        else:
            both_there = ~np.isnan(signs)
            signs[~both_there] = 0
            untied += np.abs(signs) @ both_there.T.astype(np.float32)
        agreement += signs @ signs.T
    product = untied * untied.T
    tau = np.full((k, k), np.nan)
    np.divide(agreement, np.sqrt(product), out=tau, where=product > 0)
    np.clip(tau, -1.0, 1.0, out=tau)
    np.fill_diagonal(tau, np.nan)
    there = (~np.isnan(places)).astype(np.float64)
    return tau, there @ there.T
