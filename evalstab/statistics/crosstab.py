"""Places of each trial among the candidates that it shares with each other trial.

Statistics that need more than the order of pairs (weighted tau, Spearman) must re-rank a trial for
every partner it is compared with, and break or share its ties. Done for all pairs of trials at
once, candidate by candidate, with matrix products over the other candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evalstab.statistics.ranks import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One candidate a in all ordered pairs (i, j) of trials; every array is (N, N).

    `both`: 1 where i and j rank a, else 0. `above`, `tied`: how many of the candidates common to i
    and j stand above a in i, or are tied with it in i (without a itself). `tied_above`: of those
    tied in i, how many stand above a in j. `tied_before`: tied with a in both, and in an earlier
    column. `agreement`: sum over the common candidates b of the sign products of the pair (a, b);
    `untied`: of those pairs, how many i does not tie. Entries where `both` is 0 mean nothing.
    """

    both: FloatArray
    above: FloatArray
    tied: FloatArray
    tied_above: FloatArray
    tied_before: FloatArray
    agreement: FloatArray
    untied: FloatArray


def columns(places: FloatArray) -> Iterator[Column]:
    """One `Column` per candidate, in O(N^2 M) each."""
    n, m = places.shape
    there = (~np.isnan(places)).astype(np.float64)
    for a in range(m):
        difference = places - places[:, [a]]
        above = (difference < 0).astype(np.float64)
        below = (difference > 0).astype(np.float64)
        tied = (difference == 0).astype(np.float64)
        tied[:, a] = 0
        before = tied[:, :a]
        signs = below - above
        shared_above = above @ there.T
        yield Column(
            both=np.outer(there[:, a], there[:, a]),
            above=shared_above,
            tied=tied @ there.T,
            tied_above=tied @ above.T,
            tied_before=before @ before.T if a else np.zeros((n, n)),
            agreement=signs @ signs.T,
            untied=shared_above + below @ there.T,
        )
