"""Places: the one representation of rankings that this room computes with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

SCORE_TOLERANCE = 1e-9
"""Two neighbouring scores closer than this share of the larger one are a tie."""

LARGEST_SCORE = 1e100
"""Scores beyond this size are refused: their squares would overflow, and nobody awards them."""


def places_from_scores(scores: npt.ArrayLike) -> FloatArray:
    """Mid-rank places of each trial from its scores.

    `scores` is (N, M), or (M,) for one trial; higher = better, NaN = missing; zero and negative
    scores are ordinary. Scores that differ by no more than 1e-9 of the larger one are tied, so
    that 0.1 + 0.2 and 0.3 are equal. Returns the same shape: 1 = best, tied candidates share the
    mean of their places, missing stays NaN. Raises ValueError on infinite scores.
    """
    array = np.asarray(scores, dtype=np.float64)
    if np.isinf(array).any():
        raise ValueError("scores must be finite; write NaN for a missing candidate")
    return _midranks(-array, SCORE_TOLERANCE)


def places_from_order_numbers(numbers: npt.ArrayLike) -> FloatArray:
    """Mid-rank places from any place numbers in which lower = better.

    For tables in which ties are written as 1, 2, 2, 4 or 1, 2, 2, 3, or in which places count
    candidates that are not in the table. Shapes and NaN as in `places_from_scores`.
    """
    array = np.asarray(numbers, dtype=np.float64)
    if np.isinf(array).any():
        raise ValueError("places must be finite; write NaN for a missing candidate")
    return _midranks(array, 0.0)


def places_from_groups(groups: Sequence[Sequence[str]], candidates: Sequence[str]) -> FloatArray:
    """Mid-rank places (M,) of one ranking given as tie groups, best group first.

    Column j belongs to `candidates[j]`; candidates that stand in no group are NaN. Raises
    ValueError, with the ids, for a candidate named twice or one that is not in `candidates`.
    """
    check_distinct(candidates)
    named = [candidate for group in groups for candidate in group]
    check_distinct(named)
    column = {candidate: j for j, candidate in enumerate(candidates)}
    unknown = sorted(set(named) - column.keys())
    if unknown:
        raise ValueError(f"the ranking names unknown candidates: {', '.join(unknown)}")
    places = np.full(len(candidates), np.nan)
    above = 0
    for group in groups:
        for candidate in group:
            places[column[candidate]] = above + (len(group) + 1) / 2
        above += len(group)
    return places


def places_from_rankings(
    rankings: Sequence[Sequence[Sequence[str]] | None], candidates: Sequence[str]
) -> FloatArray:
    """Places (N, M) of several rankings; None (no ranking) becomes a row of NaN."""
    places = np.full((len(rankings), len(candidates)), np.nan)
    for row, ranking in zip(places, rankings, strict=True):
        if ranking is not None:
            row[:] = places_from_groups(ranking, candidates)
    return places


def check_distinct(ids: Sequence[str]) -> None:
    """Raise ValueError, naming them, if ids occur more than once."""
    repeated = sorted(name for name, count in Counter(ids).items() if count > 1)
    if repeated:
        raise ValueError(f"named more than once: {', '.join(repeated)}")


def as_places(places: npt.ArrayLike) -> FloatArray:
    """The array itself as float64 (N, M), after checking that it holds mid-rank places.

    Raises ValueError for another shape, and for rows that are not their own mid-ranks: this is
    what catches scores that were handed over as places.
    """
    array = np.asarray(places, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"places must be (trials, candidates), not {array.ndim}-dimensional")
    if np.isinf(array).any():
        raise ValueError("places must be finite; write NaN for a missing candidate")
    wrong = (np.abs(_midranks(array, 0.0) - array) > 1e-6).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"row {int(np.flatnonzero(wrong)[0])} holds no mid-rank places (1 = best); "
            "make them with places_from_scores, places_from_groups or places_from_order_numbers"
        )
    return array


def as_scores(scores: npt.ArrayLike) -> FloatArray:
    """The array as float64 (N, M). Raises ValueError for another shape or beyond LARGEST_SCORE."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"scores must be (trials, candidates), not {array.ndim}-dimensional")
    if (np.abs(array) > LARGEST_SCORE).any():
        raise ValueError("scores must be smaller than 1e100; write NaN for a missing candidate")
    return array


def ranked_rows(places: FloatArray) -> npt.NDArray[np.bool_]:
    """Which trials (N,) have a ranking, that is at least one place."""
    return np.asarray(~np.isnan(places).all(axis=1))


def _midranks(values: FloatArray, tolerance: float) -> FloatArray:
    """Mean positions of an ascending sort; neighbours within the relative tolerance are tied."""
    table = np.atleast_2d(values)
    if table.size == 0:
        return values.copy()
    order = np.argsort(table, axis=1, kind="stable")
    ordered = np.take_along_axis(table, order, axis=1)
    with np.errstate(over="ignore"):
        gap = ordered[:, 1:] - ordered[:, :-1]
    size = np.maximum(np.abs(ordered[:, 1:]), np.abs(ordered[:, :-1]))
    opens = np.ones(table.shape, dtype=bool)
    opens[:, 1:] = ~(gap <= tolerance * size)
    group = np.cumsum(opens.ravel()) - 1
    position = np.tile(np.arange(1.0, table.shape[1] + 1), table.shape[0])
    mean = np.bincount(group, weights=position) / np.bincount(group)
    ranks = np.empty_like(table)
    np.put_along_axis(ranks, order, mean[group].reshape(table.shape), axis=1)
    ranks[np.isnan(table)] = np.nan
    return ranks.reshape(values.shape)
