"""Agreement of all trials at once: Kendall's W, Spearman, Friedman, Krippendorff's alpha."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstab.statistics.crosstab import columns
from evalstab.statistics.kendall import mean_of_pairs
from evalstab.statistics.quantiles import chi2_upper_tail
from evalstab.statistics.ranks import (
    FloatArray,
    as_places,
    as_scores,
    places_from_order_numbers,
    ranked_rows,
)
from evalstab.statistics.value import Value

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def kendall_w(places: npt.ArrayLike, *, tie_correction: bool = True) -> Value:
    """Kendall's coefficient of concordance W of the ranked trials: 0..1; 1/N at chance, not 0.

    12 S / (N^2 (M^3 - M) - N sum_i T_i), S the squared deviations of the rank sums and
    T_i = sum (t^3 - t) over the tie groups of trial i; without the T_i if not `tie_correction`.
    Depends on N (W = (1 + (N - 1) mean rho) / N): never compare W of different N. Computed on the
    candidates that every ranked trial has. Undefined with fewer than 2 trials or such candidates,
    and where all trials tie all of them. Source: Kendall & Babington Smith 1939.
    """
    array = _complete(places)
    n, m = array.shape
    if n < 2 or m < 2:
        return Value.undefined(_TWO_BY_TWO)
    sums = array.sum(axis=0)
    deviation = float(((sums - sums.mean()) ** 2).sum())
    ties = float(_tie_terms(array).sum()) if tie_correction else 0.0
    denominator = n**2 * (m**3 - m) - n * ties
    if denominator <= 0:
        return Value.undefined("every trial ties all candidates (0/0)")
    return Value.of(min(1.0, 12 * deviation / denominator))


def friedman_chi2(places: npt.ArrayLike) -> Value:
    """N (M - 1) W: the statistic against "no agreement whatsoever". Undefined as `kendall_w`.

    Rejecting that says nothing about agreement being good enough.
    """
    w = kendall_w(places)
    n, m = _complete(places).shape
    return w if w.value is None else Value.of(n * (m - 1) * w.value)


def friedman_p(places: npt.ArrayLike) -> Value:
    """Upper chi-squared tail of `friedman_chi2` with M - 1 degrees of freedom: 0..1."""
    chi2 = friedman_chi2(places)
    if chi2.value is None:
        return chi2
    return Value.of(chi2_upper_tail(chi2.value, _complete(places).shape[1] - 1))


def spearman(places: npt.ArrayLike) -> Value:
    """Spearman's rho of two trials, `places` (2, M): Pearson on their mid-ranks. -1..1, chance 0.

    On the common candidates, ranked again. Undefined with fewer than 2 of them or where a trial
    ties all of them.
    """
    array = as_places(places)
    if len(array) != 2:
        raise ValueError(f"spearman compares two trials, not {len(array)}")
    return mean_spearman(array)


def mean_spearman(places: npt.ArrayLike) -> Value:
    """Mean of Spearman's rho over the pairs of trials in which it is defined: chance 0.

    Range -1/(N-1)..1 for complete rankings. Equals (N W - 1) / (N - 1) only if all trials have the
    same pattern of ties. Undefined where no pair has a rho.
    """
    reason = "needs at least 2 ranked trials that do not tie all their common candidates"
    return mean_of_pairs(spearman_rhos(places), reason)


def spearman_rhos(places: npt.ArrayLike) -> FloatArray:
    """Spearman's rho of all trials: (N, N), NaN on the diagonal and where undefined."""
    array = as_places(places)
    n = len(array)
    there = (~np.isnan(array)).astype(np.float64)
    middle = (there @ there.T + 1) / 2
    product, squares = np.zeros((n, n)), np.zeros((n, n))
    for column in columns(array):
        deviation = column.both * (column.above + (column.tied + 2) / 2 - middle)
        product += deviation * deviation.T
        squares += deviation**2
    norm = np.sqrt(squares * squares.T)
    rho = np.full((n, n), np.nan)
    np.divide(product, norm, out=rho, where=norm > 0)
    np.clip(rho, -1.0, 1.0, out=rho)
    np.fill_diagonal(rho, np.nan)
    return rho


def krippendorff_alpha(values: npt.ArrayLike, level: Level) -> Value:
    """Krippendorff's alpha = 1 - D_o / D_e of any values (N trials, M candidates), NaN = missing.

    1 = perfect, 0 = chance, negative = systematic disagreement. For partial data, and for readers
    who know it; on complete untied places it repeats mean rho. Candidates valued by fewer than two
    trials take no part. Squared differences by level of measurement: nominal 0/1, interval
    (a - b)^2, ordinal the same on the ranks among all values, ratio ((a - b) / (a + b))^2.
    Undefined without two values of one candidate, if all values are equal (0/0), and for level
    "ratio" with negative values. Source: Krippendorff 2011, "Computing Krippendorff's
    alpha-reliability".
    """
    array = as_scores(values)
    array = array[:, (~np.isnan(array)).sum(axis=0) >= 2]
    if not array.size:
        return Value.undefined("no candidate is valued by two trials")
    present = array[~np.isnan(array)]
    if level == "ratio" and (present < 0).any():
        return Value.undefined("ratio differences need values that are not negative")
    if (present == present[0]).all():
        return Value.undefined("all values are equal (0/0)")
    if level == "ordinal":
        array = places_from_order_numbers(array.reshape(1, -1)).reshape(array.shape)
        present = array[~np.isnan(array)]
    observed = 0.0
    for column in array.T:
        unit = column[~np.isnan(column)]
        observed += _squared_differences(unit, level) / (len(unit) - 1)
    expected = _squared_differences(present, level) / (len(present) - 1)
    return Value.of(1 - observed / expected)


_TWO_BY_TWO = "needs at least 2 ranked trials and 2 candidates that all of them rank"


def _complete(places: npt.ArrayLike) -> FloatArray:
    """Ranked trials on the candidates that all of them rank, ranked again."""
    array = as_places(places)
    array = array[ranked_rows(array)]
    missing = np.isnan(array).any(axis=0)
    return places_from_order_numbers(array[:, ~missing]) if missing.any() else array


def _tie_terms(places: FloatArray) -> FloatArray:
    """sum (t^3 - t) over the tie groups of each row, from the squares that mid-ranks lose."""
    m = places.shape[1]
    untied = m * (m + 1) * (2 * m + 1) / 6
    return np.asarray(12 * (untied - (places**2).sum(axis=1)))


def _squared_differences(values: FloatArray, level: Level) -> float:
    """Sum of squared differences over all ordered pairs; ordinal values come as pooled ranks."""
    n = len(values)
    if level == "nominal":
        return float(n**2 - (np.unique_counts(values).counts ** 2).sum())
    if level == "ratio":
        return sum(_ratio_row(value, values) for value in values)
    centred = values - values.mean()
    return float(2 * n * (centred**2).sum() - 2 * centred.sum() ** 2)


def _ratio_row(value: float, values: FloatArray) -> float:
    sums = values + value
    parts = np.divide(values - value, sums, out=np.zeros_like(sums), where=sums > 0)
    return float((parts**2).sum())
