"""Who stands first: agreement of pairs, changes, entropy.

A trial's *winner set* is every candidate on its best place: one, or several that are tied. A trial
without a ranking has no winner and takes no part; it is counted elsewhere as a failure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from evalstab.statistics.ranks import as_places
from evalstab.statistics.value import Value

WinnerSets = Sequence[frozenset[int]]


def winner_sets(places: npt.ArrayLike) -> list[frozenset[int]]:
    """Columns of the best-placed candidates of each trial; empty for an unranked trial."""
    array = as_places(places)
    best = np.nanmin(np.where(np.isnan(array), np.inf, array), axis=1, initial=np.inf)
    return [
        frozenset(np.flatnonzero(row == first).tolist()) if math.isfinite(first) else frozenset()
        for row, first in zip(array, best, strict=True)
    ]


def pair_agreement(winners: WinnerSets) -> Value:
    """Top-1 agreement: the chance that two trials have the same winner.

    Mean over pairs of ranked trials of |A and B| / |A or B| for their winner sets; without ties
    sum_c n_c (n_c - 1) / (N (N - 1)). Range 0..1, chance 1/M, unbiased. Undefined with fewer than
    two ranked trials. Source: Simpson / Gini as a U-statistic.
    """
    sets = Counter(ranked(winners))
    n = sum(sets.values())
    if n < 2:
        return Value.undefined(f"needs at least 2 ranked trials, there are {n}")
    distinct = list(sets)
    total = sum(count * (count - 1) / 2 for count in sets.values())
    for i, one in enumerate(distinct):
        for other in distinct[i + 1 :]:
            total += sets[one] * sets[other] * len(one & other) / len(one | other)
    return Value.of(total / math.comb(n, 2))


def entropy_bits(winners: WinnerSets) -> Value:
    """Shannon entropy of the winner sets, in bits: 0 = always the same, at most log2(N).

    Biased low by about (K - 1) / (2 N ln 2) for K possible winners, so it grows with N: colour,
    not a criterion. Undefined without ranked trials.
    """
    sets = Counter(ranked(winners))
    n = sum(sets.values())
    if n == 0:
        return Value.undefined("no ranked trial")
    return Value.of(sum(count / n * math.log2(n / count) for count in sets.values()))


def normalised_entropy(winners: WinnerSets, candidates: int) -> Value:
    """`entropy_bits` over the most that N trials of `candidates` could show: 0..1.

    Undefined with fewer than two ranked trials or candidates.
    """
    n = len(ranked(winners))
    bits = entropy_bits(winners)
    most = min(n, candidates)
    if bits.value is None or most < 2:
        return Value.undefined("needs at least 2 ranked trials and 2 candidates")
    return Value.of(bits.value / math.log2(most))


def modal_share(winners: WinnerSets) -> Value:
    """Share of ranked trials with the most frequent winner set: 1/N..1.

    Optimistic, because the winner is chosen after the fact. Undefined without ranked trials.
    """
    sets = ranked(winners)
    if not sets:
        return Value.undefined("no ranked trial")
    return Value.of(max(Counter(sets).values()) / len(sets))


def changes(winners: WinnerSets) -> Value:
    """How often the winner set differs from that of the ranked trial before it: 0..N-1.

    Needs the trials in the order in which they took place; mixes drift with noise. Undefined with
    fewer than two ranked trials.
    """
    sets = ranked(winners)
    if len(sets) < 2:
        return Value.undefined(f"needs at least 2 ranked trials, there are {len(sets)}")
    return Value.of(sum(a != b for a, b in pairwise(sets)))


def flip_rate(winners: WinnerSets) -> Value:
    """`changes` as a share of the N - 1 steps: 0..1; (M - 1)/M at chance. Undefined alike."""
    count = changes(winners)
    if count.value is None:
        return count
    return Value.of(count.value / (len(ranked(winners)) - 1))


def distinct(winners: WinnerSets) -> int:
    """Number of different winner sets among the ranked trials."""
    return len(set(ranked(winners)))


def first_places(winners: WinnerSets) -> dict[int, int]:
    """For each column that ever stood first, alone or tied: in how many trials."""
    return dict(Counter(column for winner_set in winners for column in sorted(winner_set)))


def ranked(winners: WinnerSets) -> list[frozenset[int]]:
    """The winner sets of the trials that have one, in order."""
    return [winner_set for winner_set in winners if winner_set]
