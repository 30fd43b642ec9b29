"""Agreement of two lists, best first, that need not hold the same items.

Items are ids; a list names each at most once (ValueError otherwise). For full rankings of the same
candidates, mean tau and weighted tau say more; `tau_ap` is here because it, too, is a two-list
measure with a direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstab.statistics.ranks import FloatArray, as_places, check_distinct
from evalstab.statistics.value import Value


def rbo_truncated(first: Sequence[str], second: Sequence[str], persistence: float = 0.9) -> Value:
    """(1 - p) sum_{d<=k} p^(d-1) A_d to the depth k of the longer list, without extrapolation.

    Range 0..1 - p^k: even equal lists stay below 1. Source: Webber, Moffat & Zobel 2010, eq. 7.
    Undefined for an empty list.
    """
    overlap = _overlaps(first, second)
    if not first or not second:
        return Value.undefined("a list is empty")
    depth = np.arange(1, len(overlap) + 1)
    weights = (1 - persistence) * persistence ** (depth - 1)
    return Value.of((weights * overlap / depth).sum())


def rbo_extrapolated(
    first: Sequence[str], second: Sequence[str], persistence: float = 0.9
) -> Value:
    """RBO_EXT: as if both lists went on agreeing as they do at their ends. Range 0..1.

    Lists of different length are allowed. Reversed full lists do not get 0 (11 items, p = .9:
    .48). Source: Webber, Moffat & Zobel 2010, eq. 32. Undefined for an empty list.
    """
    overlap = _overlaps(first, second)
    if not first or not second:
        return Value.undefined("a list is empty")
    short, long = sorted((len(first), len(second)))
    depth = np.arange(1, long + 1)
    at_short = overlap[short - 1]
    beyond = np.clip(depth - short, 0, None)
    agreement = overlap / depth + at_short * beyond / (short * depth)
    total = (1 - persistence) / persistence * (agreement * persistence**depth).sum()
    tail = (overlap[-1] - at_short) / long + at_short / short
    return Value.of(total + tail * persistence**long)


def average_overlap(first: Sequence[str], second: Sequence[str], depth: int | None = None) -> Value:
    """Mean over d = 1..depth of the share of common items among the first d. Range 0..1.

    `depth` defaults to the shorter list. Undefined for an empty list. Raises ValueError for a depth
    beyond the lists.
    """
    overlap = _overlaps(first, second)
    k = min(len(first), len(second)) if depth is None else depth
    if k > min(len(first), len(second)):
        raise ValueError(f"depth {k} is beyond the lists")
    if k < 1:
        return Value.undefined("a list is empty")
    return Value.of((overlap[:k] / np.arange(1, k + 1)).mean())


def jaccard(first: Sequence[str], second: Sequence[str]) -> Value:
    """Common items over all items: 0..1, order ignored. Undefined for two empty lists."""
    check_distinct(first)
    check_distinct(second)
    either = set(first) | set(second)
    if not either:
        return Value.undefined("both lists are empty")
    return Value.of(len(set(first) & set(second)) / len(either))


def overlap_at(places: npt.ArrayLike, k: int) -> Value:
    """Share of the first k candidates that two trials, `places` (2, M), have in common.

    Range 0..1, chance k/M. A tie group that place k cuts enters with the expected overlap of all
    ways to break it, never broken by id. Undefined if a trial has fewer than k candidates.
    """
    array = as_places(places)
    if len(array) != 2:
        raise ValueError(f"overlap_at compares two trials, not {len(array)}")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if ((~np.isnan(array)).sum(axis=1) < k).any():
        return Value.undefined(f"a trial ranks fewer than {k} candidates")
    shares = [_share_of_top(row, k) for row in array]
    return Value.of(float(shares[0] @ shares[1]) / k)


def top_k_kendall(first: Sequence[str], second: Sequence[str], penalty: float = 0.5) -> Value:
    """K^(p) of two top-k lists: pairs of items that the lists order differently; 0 = equal.

    A pair in both lists counts 1 if opposite; with one item missing from a list, 1 if that list
    has the item that stands behind in the other; with each item in one list only, 1; both in one
    list only, `penalty`: 1/2 is the mean over all completions, 0 the minimum. Source: Fagin, Kumar
    & Sivakumar 2003. Undefined for two empty lists.
    """
    check_distinct(first)
    check_distinct(second)
    at1 = {item: i for i, item in enumerate(first)}
    at2 = {item: i for i, item in enumerate(second)}
    items = [*first, *(item for item in second if item not in at1)]
    if not items:
        return Value.undefined("both lists are empty")
    x = np.array([at1.get(item, np.inf) for item in items])
    y = np.array([at2.get(item, np.inf) for item in items])
    a, b = np.triu_indices(len(items), 1)
    only_one = (np.isinf(x[a]) & np.isinf(x[b])) | (np.isinf(y[a]) & np.isinf(y[b]))
    opposite = (x[a] < x[b]) != (y[a] < y[b])
    return Value.of(np.where(only_one, penalty, opposite).sum())


TauApTies = Literal["a", "b"]


def tau_ap(places: npt.ArrayLike, ties: TauApTies = "a") -> Value:
    """AP correlation of an estimate with a reference: `places` (2, M), reference first.

    For each candidate of the estimate below the top, the share of those above it that the
    reference also puts above it, as a mean scaled to -1..1; chance 0. Not symmetric: see
    `symmetric_tau_ap`. Ties, form "a": mean over all ways to break the estimate's ties, for a
    reference without ties. Form "b", for agreement of two tied trials: mean over the candidates
    below the first tie group and the groups above each; a pair tied in the other trial is not
    correct; averaged over both directions. Sources:
    Yilmaz, Aslam & Robertson 2008; Urbano & Marrero 2017. Undefined with fewer than 2 common
    candidates, or in form "b" where a trial ties all of them. Raises ValueError for a tied
    reference in form "a".
    """
    array = as_places(places)
    if len(array) != 2:
        raise ValueError(f"tau_ap compares two trials, not {len(array)}")
    reference, estimate = array[:, (~np.isnan(array)).all(axis=0)]
    if len(reference) < 2:
        return Value.undefined("needs at least 2 common candidates")
    if ties == "a":
        if len(np.unique(reference)) < len(reference):
            raise ValueError('the reference has ties; use ties="b"')
        return Value.of(_tau_ap_a(reference, estimate))
    if len(np.unique(reference)) < 2 or len(np.unique(estimate)) < 2:
        return Value.undefined("a trial ties all common candidates (0/0)")
    return Value.of((_tau_ap_b(reference, estimate) + _tau_ap_b(estimate, reference)) / 2)


def symmetric_tau_ap(places: npt.ArrayLike) -> Value:
    """Mean of `tau_ap` (form "a") in both directions. Range -1..1; undefined and errors alike."""
    array = as_places(places)
    one, other = tau_ap(array), tau_ap(array[::-1])
    if one.value is None or other.value is None:
        return one
    return Value.of((one.value + other.value) / 2)


def _tau_ap_a(reference: FloatArray, estimate: FloatArray) -> float:
    """Mean of tau_AP over all orders within the estimate's tie groups, in closed form."""
    total = 0.0
    for place in np.unique(estimate):
        group = np.flatnonzero(estimate == place)
        above = np.flatnonzero(estimate < place)
        correct = (reference[above][:, None] < reference[group][None, :]).sum() / len(group)
        for offset in range(len(group)):
            position = len(above) + offset
            if position:
                total += (correct + offset / 2) / position
    return float(2 * total / (len(estimate) - 1) - 1)


def _tau_ap_b(reference: FloatArray, estimate: FloatArray) -> float:
    """One direction of tau_AP,b."""
    total = 0.0
    for i, place in enumerate(estimate):
        above = np.flatnonzero(estimate < place)
        if len(above):
            total += int((reference[above] < reference[i]).sum()) / len(above)
    return 2 * total / int((estimate > estimate.min()).sum()) - 1


def _overlaps(first: Sequence[str], second: Sequence[str]) -> FloatArray:
    """Number of common items among the first d of each list, d = 1..length of the longer one."""
    check_distinct(first)
    check_distinct(second)
    depth = max(len(first), len(second))
    at = {item: i for i, item in enumerate(second)}
    complete_at = [max(i, at[item]) for i, item in enumerate(first) if item in at]
    return np.cumsum(np.bincount(complete_at, minlength=depth)[:depth]).astype(np.float64)


def _share_of_top(row: FloatArray, k: int) -> FloatArray:
    """1 for candidates surely among the first k, a fraction for a tie group that place k cuts."""
    share = np.zeros(len(row))
    for place in np.unique(row[~np.isnan(row)]):
        group = row == place
        above = int((row < place).sum())
        share[group] = min(max((k - above) / int(group.sum()), 0.0), 1.0)
    return share
