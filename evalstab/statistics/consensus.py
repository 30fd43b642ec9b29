"""The order that all trials together support, and how unique it is.

The Kemeny order has the least sum of Kendall distances to the trials (the maximum likelihood centre
under Mallows' model). It need not be unique: three trials A B C, B C A, C A B have three optima,
and a tool that shows one of them invents a winner. So the number of optima is part of the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
import numpy.typing as npt

from evalstab.statistics.ranks import FloatArray, as_places
from evalstab.statistics.value import Value

IntArray = npt.NDArray[np.int64]

EXACT_UP_TO = 15
"""Largest component of the majority graph that is solved exactly (2^15 subsets, 30 ms)."""

MOST_ORDERS = 24
"""How many optimal orders are listed at most."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """Kemeny consensus. `orders` are columns, best first: all optima, or the first `MOST_ORDERS`.

    `optima` is the number of optimal orders, None where the search was not exact; `distance` the
    weighted number of pairs that trials order otherwise; `agreements` of those they order alike.
    Candidates that no trial ranks do not occur.
    """

    orders: tuple[tuple[int, ...], ...]
    optima: int | None
    distance: float
    agreements: float
    exact: bool


def kemeny(places: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Consensus | None:
    """Kemeny consensus of the trials, or None where no trial ranks anything.

    `weights` (N,) are integer numbers of equal trials, default 1. A trial counts for a pair of
    candidates only if it ranks both and does not tie them. Exact where every strongly connected
    component of the majority graph has at most `EXACT_UP_TO` candidates: components keep their
    order in every optimum, and each is solved by dynamic programming over subsets. A larger
    component is ordered by Borda points and improved by moving single candidates; the answer is
    then marked not exact. Raises ValueError for negative or fractional weights.
    """
    array = as_places(places)
    columns = np.flatnonzero((~np.isnan(array)).any(axis=0))
    if not len(columns):
        return None
    before = preferences(array, weights)[np.ix_(columns, columns)]
    parts = [_solve(before, part) for part in _components(before)]
    exact = all(count is not None for _, count in parts)
    joined = product(*(orders for orders, _ in parts))
    listed = [
        tuple(int(columns[c]) for part in parts_of_order for c in part)
        for parts_of_order in islice(joined, MOST_ORDERS)
    ]
    position = np.argsort([int(np.flatnonzero(columns == c)[0]) for c in listed[0]])
    ahead = position[:, None] < position[None, :]
    return Consensus(
        orders=tuple(listed),
        optima=math.prod(count or 0 for _, count in parts) if exact else None,
        distance=float(before.T[ahead].sum()),
        agreements=float(before[ahead].sum()),
        exact=exact,
    )


def preferences(places: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> IntArray:
    """(M, M): how many trials put the row's candidate before the column's."""
    array = as_places(places)
    counts = np.ones(len(array)) if weights is None else np.asarray(weights, dtype=np.float64)
    if counts.shape != (len(array),) or (counts < 0).any() or (counts % 1 != 0).any():
        raise ValueError("weights must be one whole number, not negative, for each trial")
    m = array.shape[1]
    before = np.zeros((m, m), dtype=np.int64)
    for a in range(m):
        before[a] = np.rint(counts @ (array[:, [a]] < array)).astype(np.int64)
    return before


def borda_points(places: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> FloatArray:
    """Borda points (M,): for each candidate, how many others stand behind it, over all trials.

    A tie counts half. Missing candidates neither give nor get points. On complete rankings the
    order is that of the mean place.
    """
    array = as_places(places)
    before = preferences(array, weights)
    counts = np.ones(len(array)) if weights is None else np.asarray(weights, dtype=np.float64)
    there = (~np.isnan(array)).astype(np.float64)
    both = (there * counts[:, None]).T @ there
    np.fill_diagonal(both, 0)
    return np.asarray((before + (both - before.T)).sum(axis=1) / 2)


def leave_one_out_share(places: npt.ArrayLike) -> Value:
    """Share of the N consensuses without one trial that keep the consensus winner(s): 0..1.

    Undefined with fewer than 3 ranked trials, or where a consensus is not exact or has more optima
    than are listed.
    """
    array = as_places(places)
    array = array[~np.isnan(array).all(axis=1)]
    if len(array) < 3:
        return Value.undefined(f"needs at least 3 ranked trials, there are {len(array)}")
    found = [_winners(array), *(_winners(np.delete(array, i, 0)) for i in range(len(array)))]
    if None in found:
        return Value.undefined("a consensus has too many optimal orders to list")
    return Value.of(sum(winners == found[0] for winners in found[1:]) / len(array))


def _winners(places: FloatArray) -> frozenset[int] | None:
    consensus = kemeny(places)
    if consensus is None or consensus.optima != len(consensus.orders):
        return None
    return frozenset(order[0] for order in consensus.orders)


def _components(before: IntArray) -> list[list[int]]:
    """Strongly connected components of "at least as many trials put a before b", best first.

    The graph has an edge in at least one direction for every pair, so its components form a chain,
    and a candidate's number of reachable candidates tells where it stands in it.
    """
    reach = before >= before.T
    for k in range(len(before)):
        reach |= np.outer(reach[:, k], reach[k])
    reachable = reach.sum(axis=1)
    chain = sorted(set(reachable.tolist()), reverse=True)
    return [np.flatnonzero(reachable == count).tolist() for count in chain]


def _solve(before: IntArray, part: list[int]) -> tuple[list[tuple[int, ...]], int | None]:
    """Optimal orders of one component (at most MOST_ORDERS) and their number, None if not exact."""
    if len(part) == 1:
        return [(part[0],)], 1
    inner = before[np.ix_(part, part)]
    if len(part) > EXACT_UP_TO:
        order = _improve(inner, np.argsort(-(inner - inner.T).sum(axis=1), kind="stable").tolist())
        return [tuple(part[c] for c in order)], None
    cost, count = _subsets(inner)
    orders = _read_orders(inner, cost)
    return [tuple(part[c] for c in order) for order in orders], int(count[-1])


def _subsets(before: IntArray) -> tuple[IntArray, IntArray]:
    """Least cost and number of optimal orders of every subset of candidates, as bit masks."""
    m = len(before)
    masks = np.arange(1 << m)
    bits = masks[:, None] >> np.arange(m) & 1
    against = bits @ before.T  # [mask, v]: how often v stands before members of the mask
    size = bits.sum(axis=1)
    cost = np.full(1 << m, np.iinfo(np.int64).max // 2)
    count = np.zeros(1 << m, dtype=np.int64)
    cost[0], count[0] = 0, 1
    for layer in range(1, m + 1):
        whole = masks[size == layer]
        last = np.stack([whole & ~(1 << v) for v in range(m)])
        total = cost[last] + against[last, np.arange(m)[:, None]]
        total[bits[whole].T == 0] = np.iinfo(np.int64).max
        cost[whole] = total.min(axis=0)
        count[whole] = np.where(total == cost[whole], count[last], 0).sum(axis=0)
    return cost, count


def _read_orders(before: IntArray, cost: IntArray) -> list[tuple[int, ...]]:
    """Up to MOST_ORDERS optimal orders, by walking the table back from the full set."""
    m = len(before)
    found: list[tuple[int, ...]] = []
    open_ends: list[tuple[int, tuple[int, ...]]] = [((1 << m) - 1, ())]
    while open_ends and len(found) < MOST_ORDERS:
        mask, behind = open_ends.pop()
        if mask == 0:
            found.append(behind)
            continue
        members = [v for v in range(m) if mask >> v & 1]
        for v in members:
            rest = mask & ~(1 << v)
            against = sum(int(before[v, u]) for u in members if u != v)
            if cost[rest] + against == cost[mask]:
                open_ends.append((rest, (v, *behind)))
    return found


def _improve(before: IntArray, order: list[int]) -> list[int]:
    """Move single candidates to their best position until no move lowers the distance."""
    margin = before - before.T
    moved = True
    while moved:
        moved = False
        for candidate in list(order):
            at = order.index(candidate)
            others = order[:at] + order[at + 1 :]
            gains = np.concatenate(([0], np.cumsum(margin[others, candidate])))
            best = int(gains.argmax())
            if gains[best] > gains[at]:
                order = [*others[:best], candidate, *others[best:]]
                moved = True
    return order
