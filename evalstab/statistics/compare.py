"""Two sets of trials: has the stability changed, and has the consensus moved?

Two questions, never one test for both. A permutation test on mean tau mixes them: if only the
consensus moved, it calls the stability changed in up to 90 % of cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstab.statistics.intervals import pair_spread, reg_interval
from evalstab.statistics.kendall import pair_taus
from evalstab.statistics.quantiles import t_two_sided_p
from evalstab.statistics.ranks import FloatArray, as_places
from evalstab.statistics.value import Interval, Value

EXACT_RELABELLINGS = 10_000
"""Up to this many ways to label the trials are all tried; beyond, `DRAWS` random ones."""

DRAWS = 9_999


@dataclass(frozen=True, slots=True)
class TTest:
    """A Welch test: t, its degrees of freedom and two-sided p, or None with the reason."""

    t: float | None
    df: float | None
    p: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Permanova:
    """Pseudo-F, share of the distances explained by the sets (0..1), p, and the least possible p.

    `exact` = all labellings were tried. Numbers are None with a `reason`.
    """

    f: float | None
    r2: float | None
    p: float | None
    smallest_p: float | None
    exact: bool
    reason: str | None = None


NonInferiority = Literal["not_worse", "worse", "undecided"]


def stability_test(base: npt.ArrayLike, new: npt.ArrayLike) -> TTest:
    """Has mean tau changed between two sets of places? Welch's t on the atanh scale.

    t = (atanh U1' - atanh U2') / sqrt(w1 + w2) with the guarded means and errors of
    `intervals.PairSpread`, Welch's df with N - 1 each; positive = `base` agrees more with itself.
    Type-I error 1-6 % in simulation from 3 against 3, blind to where the consensus lies; against
    behaviours too rare to be seen it can err far more. Undefined with fewer than 3 comparable
    trials in a set.
    """
    spreads = []
    for places in (base, new):
        taus = pair_taus(places)
        spread = pair_spread(taus.tau, taus.step())
        if spread is None:
            return TTest(None, None, None, "needs at least 3 comparable trials on both sides")
        spreads.append(spread)
    one, other = spreads
    w1, w2 = one.atanh_error**2, other.atanh_error**2
    t = (math.atanh(one.guarded_mean) - math.atanh(other.guarded_mean)) / math.sqrt(w1 + w2)
    df = (w1 + w2) ** 2 / (w1**2 / (one.trials - 1) + w2**2 / (other.trials - 1))
    return TTest(t, df, t_two_sided_p(t, df))


def stability_difference(
    base: npt.ArrayLike, new: npt.ArrayLike, alpha: float = 0.05
) -> tuple[Value, Interval]:
    """U_new - U_base and its two-sided 1 - alpha interval, in -2..2; 0 = equally stable.

    The interval joins the two REG intervals by square-and-add (Newcombe 1998; Zou & Donner 2008),
    so it respects the bounds of tau. Undefined where one of the means, or intervals, is.
    """
    taus = [pair_taus(places) for places in (base, new)]
    means = [t.mean() for t in taus]
    ends = [reg_interval(t.tau, t.step(), alpha) for t in taus]
    for mean in means:
        if mean.value is None:
            return mean, Interval.undefined(mean.reason or "")
    u1, u2 = (mean.value or 0.0 for mean in means)
    for end in ends:
        if end.low is None:
            return Value.of(u2 - u1), Interval.undefined(end.reason or "")
    l1, h1, l2, h2 = (x or 0.0 for end in ends for x in (end.low, end.high))
    low = u2 - u1 - math.hypot(u2 - l2, h1 - u1)
    high = u2 - u1 + math.hypot(h2 - u2, u1 - l1)
    return Value.of(u2 - u1), Interval.of(low, high)


def noise_ratio(base: npt.ArrayLike, new: npt.ArrayLike) -> Value:
    """(1 - U_new) / (1 - U_base): 2 = trials of `new` lie twice as far apart. 1 = no change.

    Undefined where a mean is, or where the trials of `base` are identical.
    """
    one, other = pair_taus(base).mean(), pair_taus(new).mean()
    if one.value is None or other.value is None:
        return one if one.value is None else other
    if one.value > 1 - 1e-12:
        return Value.undefined("the trials of the base are identical")
    return Value.of((1 - other.value) / (1 - one.value))


def non_inferiority(
    base: npt.ArrayLike, new: npt.ArrayLike, delta: float = 0.10, alpha: float = 0.05
) -> NonInferiority:
    """Is `new` at most `delta` less stable than `base`? One-sided at alpha each way.

    "not_worse" if the lower limit of U_new - U_base is at least -delta, "worse" if the upper one is
    below -delta, else "undecided": a difference that was not found is no proof of its absence.
    Raises ValueError for a delta that is not positive.
    """
    if delta <= 0:
        raise ValueError(f"delta must be positive, not {delta}")
    _, interval = stability_difference(base, new, 2 * alpha)
    if interval.low is not None and interval.low >= -delta:
        return "not_worse"
    return "worse" if interval.high is not None and interval.high < -delta else "undecided"


def consensus_test(base: npt.ArrayLike, new: npt.ArrayLike, seed: int = 0) -> Permanova:
    """Has the consensus moved? PERMANOVA on (1 - tau) / 2 between the trials of both sets.

    All labellings are tried where there are at most `EXACT_RELABELLINGS`, else `DRAWS` random ones
    with `seed`. Reacts to a change of stability as well: read it beside `stability_test`. Undefined
    with fewer than 2 ranked trials in a set, or where two trials have no tau. Raises ValueError for
    different numbers of candidates. Source: Anderson 2001.
    """
    distance, n1 = joint_distances(base, new)
    n = len(distance)
    if min(n1, n - n1) < 2:
        return Permanova(
            None, None, None, None, False, "needs at least 2 ranked trials in each set"
        )
    if np.isnan(distance).any():
        reason = "two trials have no tau: too few common candidates, or all of them tied"
        return Permanova(None, None, None, None, False, reason)
    squared = distance**2
    smallest = smallest_permutation_p(n1, n - n1)
    total = float(squared.sum()) / (2 * n)
    if total <= 0:
        reason = "all trials of both sets are identical"
        return Permanova(None, None, None, smallest, False, reason)
    exact = math.comb(n, n1) <= EXACT_RELABELLINGS
    labels = _all_labels(n, n1) if exact else _drawn_labels(n, n1, seed)
    within = _within(squared, labels)
    as_extreme = int((within <= within[0] + 1e-9 * total).sum())
    between = total - float(within[0])
    if within[0] <= 1e-12 * total:
        reason = "pseudo-F is infinite: trials differ between the sets only"
        return Permanova(None, 1.0, as_extreme / len(labels), smallest, exact, reason)
    f = between / (float(within[0]) / (n - 2))
    return Permanova(f, between / total, as_extreme / len(labels), smallest, exact)


def energy_statistic(base: npt.ArrayLike, new: npt.ArrayLike) -> Value:
    """n1 n2 / (n1 + n2) (2 E d12 - E d11 - E d22), d = sqrt((1 - tau) / 2): 0 = no difference.

    An omnibus for "anything changed". Undefined as `consensus_test`. Source: Szekely & Rizzo.
    """
    distance, n1 = joint_distances(base, new)
    n2 = len(distance) - n1
    if min(n1, n2) < 1 or np.isnan(distance).any():
        return Value.undefined("needs trials in both sets, all of them comparable")
    d = np.sqrt(distance)
    difference = 2 * d[:n1, n1:].mean() - d[:n1, :n1].mean() - d[n1:, n1:].mean()
    return Value.of(n1 * n2 / (n1 + n2) * difference)


def joint_distances(base: npt.ArrayLike, new: npt.ArrayLike) -> tuple[FloatArray, int]:
    """(1 - tau) / 2 between the ranked trials of both sets, base first, and how many are base's.

    Trials without a tau to any other (all candidates tied) are left out; a pair without a tau is
    NaN. The diagonal is exactly 0, so that no rounding grows under a square root.
    """
    one, other = as_places(base), as_places(new)
    if one.shape[1] != other.shape[1]:
        raise ValueError("both sets must rank the same candidates, in the same columns")
    taus = pair_taus(np.vstack([one, other]))
    usable = ~np.isnan(taus.tau).all(axis=1) if taus.trials else np.zeros(0, dtype=bool)
    distance = np.clip((1 - taus.tau[np.ix_(usable, usable)]) / 2, 0, 1)
    np.fill_diagonal(distance, 0.0)
    return distance, int((np.array(taus.trials, dtype=int)[usable] < len(one)).sum())


def smallest_permutation_p(n1: int, n2: int) -> float:
    """The least p a permutation test of two sets can give: 2 / C(n1 + n2, n1), or 1 / if n1 != n2.

    3 against 3 gives .10 and can never reject at 5 %: "too few trials", not "no change".
    """
    symmetric = 2 if n1 == n2 else 1
    return symmetric / math.comb(n1 + n2, n1)


def _all_labels(n: int, n1: int) -> npt.NDArray[np.bool_]:
    """Every choice of n1 of n trials, the given one first."""
    chosen = np.array(list(combinations(range(n), n1)))
    labels = np.zeros((len(chosen), n), dtype=bool)
    labels[np.arange(len(chosen))[:, None], chosen] = True
    return labels


def _drawn_labels(n: int, n1: int, seed: int) -> npt.NDArray[np.bool_]:
    """The given labelling and DRAWS random ones."""
    given = np.arange(n) < n1
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.tile(given, (DRAWS, 1)), axis=1)
    return np.vstack([given, drawn])


def _within(squared: FloatArray, labels: npt.NDArray[np.bool_]) -> FloatArray:
    """Sum of squares within the two sets for each labelling; small = the sets lie apart."""
    result = np.zeros(len(labels))
    for side in (labels, ~labels):
        chosen = side.astype(np.float64)
        result += ((chosen @ squared) * chosen).sum(axis=1) / (2 * chosen.sum(axis=1))
    return result
