"""Steps in a series of nights: where a number went to another level, and how sure that is.

The statistic is the CUSUM of ranks: for every split after night k the mean mid-rank before it is
compared with that after it, scaled by sqrt(k (n - k)); the largest absolute value decides. Its p
value is the share of seeded permutations that reach it (Pettitt 1979 with weights; Hawkins 1977 for
the maximum over all splits). Ranks make one wild night harmless; permutation needs no distribution.
A step that is found splits the series, and both halves are looked at again (binary segmentation).

Nights must be exchangeable where nothing changes: a weekly rhythm, or a load that grows by the
hour, can pass for a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalstab.statistics.ranks import FloatArray

ALPHA = 0.01
LEAST = 3
"""Nights on either side of a step."""

NEAR = 2
"""Nights that the place of a step is looked for around the largest split."""

SHUFFLES = 4_999
SEED = 20_260_101
LONGEST = 1_000
"""Nights looked at: the latest."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step: ``at`` is the position of the first night at the new level; medians on both sides."""

    at: int
    before: float
    after: float
    p: float


def steps(values: Sequence[float], alpha: float = ALPHA) -> tuple[Step, ...]:
    """All steps of a series of finite numbers in order of time, earliest first.

    Needs six values at least, and 13 or so (such as 10 nights and then 3) for a p below 0.01.
    """
    numbers = np.asarray(values, dtype=np.float64)
    first = max(0, len(numbers) - LONGEST)
    found = _split(numbers[first:], first, alpha)
    places = [first, *(at for at, _ in found), len(numbers)]
    return tuple(
        Step(
            at=at,
            before=float(np.median(numbers[places[i] : at])),
            after=float(np.median(numbers[at : places[i + 2]])),
            p=p,
        )
        for i, (at, p) in enumerate(found)
    )


def steps_together(
    series: Sequence[Sequence[float]], alpha: float = ALPHA
) -> list[tuple[Step, ...]]:
    """The steps of several numbers of the same nights, one tuple for each number.

    The chance that nights without any change show a step in any of the numbers is ``alpha``: Holm's
    correction (1979) over the numbers that vary at all, by the p of the largest split of each.
    """
    best = {
        place: found[1]
        for place, values in enumerate(series)
        if (found := _best(np.asarray(values, dtype=np.float64)[-LONGEST:], alpha)) is not None
    }
    answers: list[tuple[Step, ...]] = [() for _ in series]
    for rank, place in enumerate(sorted(best, key=lambda one: best[one])):
        level = alpha / (len(best) - rank)
        if best[place] > level:
            break
        answers[place] = steps(series[place], level)
    return answers


def _best(values: FloatArray, alpha: float) -> tuple[int, float] | None:
    """Where the largest split lies, and its p; None for too few nights, or where nothing varies."""
    if len(values) < 2 * LEAST or float(np.ptp(values)) == 0:
        return None
    ranks = _mid_ranks(values)
    size, at = _largest(ranks[np.newaxis, :])
    return _placed(values, int(at[0])), _p_value(ranks, float(size[0]), alpha)


def _placed(values: FloatArray, at: int) -> int:
    """The split near this one that leaves the least around both medians: ranks blur the place."""

    def cost(place: int) -> float:
        parts = (values[:place], values[place:])
        return sum(float(np.abs(part - np.median(part)).sum()) for part in parts)

    near = range(max(LEAST, at - NEAR), min(len(values) - LEAST, at + NEAR) + 1)
    return min(near, key=lambda place: (cost(place), abs(place - at)))


def _split(values: FloatArray, offset: int, alpha: float) -> list[tuple[int, float]]:
    found = _best(values, alpha)
    if found is None or found[1] > alpha:
        return []
    place, p = found
    left = _split(values[:place], offset, alpha)
    right = _split(values[place:], offset + place, alpha)
    return [*left, (offset + place, p), *right]


def _mid_ranks(values: FloatArray) -> FloatArray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: FloatArray = (ends - (counts - 1) / 2)[inverse]
    centred: FloatArray = ranks - ranks.mean()
    return centred


def _largest(rows: FloatArray) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """For each row the largest scaled CUSUM and the split where it stands."""
    number = rows.shape[1]
    k = np.arange(LEAST, number - LEAST + 1)
    sums = np.cumsum(rows, axis=1)[:, LEAST - 1 : number - LEAST]
    scaled = np.abs(sums) / np.sqrt(k * (number - k) / number)
    best = scaled.argmax(axis=1)
    found: FloatArray = scaled[np.arange(len(rows)), best]
    return found, k[best].astype(np.int64)


def _p_value(ranks: FloatArray, observed: float, alpha: float) -> float:
    """Share of permutations that reach the observed size; given up early where it is clear."""
    dice = np.random.default_rng(SEED)
    reached = done = 0
    while done < SHUFFLES:
        many = min(500, SHUFFLES - done)
        rows = dice.permuted(np.tile(ranks, (many, 1)), axis=1)
        reached += int((_largest(rows)[0] >= observed - 1e-9).sum())
        done += many
        if reached > 10 * alpha * SHUFFLES:
            break
    return (reached + 1) / (done + 1)
