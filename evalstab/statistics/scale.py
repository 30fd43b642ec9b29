"""How far the score scale moves between trials. Order statistics cannot see it.

`values` is one number per trial, usually its highest total (NaN = the trial has none; such trials
are left out). Ratio, logarithm and coefficient of variation need positive values: with a value at
or below 0 they are undefined, and range and standard deviation speak instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstab.statistics.quantiles import chi2_quantile, t_quantile
from evalstab.statistics.ranks import LARGEST_SCORE, FloatArray
from evalstab.statistics.value import Interval, Value


@dataclass(frozen=True, slots=True)
class TrialScale:
    """The score scale of one trial; counts are of candidates."""

    maximum: float
    minimum: float
    total: float
    spread: float
    zeros: int
    negatives: int


def trial_scale(scores: npt.ArrayLike) -> TrialScale | None:
    """Scale of one trial from its scores (M,), or None where it has no score at all."""
    row = _present(scores)
    if not len(row):
        return None
    return TrialScale(
        maximum=float(row.max()),
        minimum=float(row.min()),
        total=float(row.sum()),
        spread=float(row.max() - row.min()),
        zeros=int((row == 0).sum()),
        negatives=int((row < 0).sum()),
    )


def top_scores(scores: npt.ArrayLike) -> FloatArray:
    """Highest score of each trial (N,) from scores (N, M); NaN for a trial without scores."""
    array = np.asarray(scores, dtype=np.float64)
    tops = np.max(np.where(np.isnan(array), -np.inf, array), axis=1, initial=-np.inf)
    return np.where(np.isneginf(tops), np.nan, tops)


def mean(values: npt.ArrayLike) -> Value:
    """Arithmetic mean. Undefined without values."""
    present = _present(values)
    return Value.of(present.mean()) if len(present) else Value.undefined("no values")


def standard_deviation(values: npt.ArrayLike) -> Value:
    """Sample standard deviation (divisor N - 1). Undefined with fewer than 2 values."""
    present = _present(values)
    if len(present) < 2:
        return _too_few(2, len(present))
    return Value.of(present.std(ddof=1))


def value_range(values: npt.ArrayLike) -> Value:
    """Largest minus smallest value, in points. Undefined with fewer than 2 values."""
    present = _present(values)
    if len(present) < 2:
        return _too_few(2, len(present))
    return Value.of(present.max() - present.min())


def median(values: npt.ArrayLike) -> Value:
    """Median. Undefined without values."""
    present = _present(values)
    return Value.of(np.median(present)) if len(present) else Value.undefined("no values")


def median_absolute_deviation(values: npt.ArrayLike) -> Value:
    """Median distance from the median, unscaled. Undefined without values."""
    present = _present(values)
    if not len(present):
        return Value.undefined("no values")
    return Value.of(np.median(np.abs(present - np.median(present))))


def ratio(values: npt.ArrayLike) -> Value:
    """Largest over smallest value: 1 = the scale never moves. Undefined with a value <= 0."""
    present = _present(values)
    reason = _not_positive(present, 2)
    return Value.undefined(reason) if reason else Value.of(present.max() / present.min())


def log_ratio(values: npt.ArrayLike) -> Value:
    """Natural logarithm of `ratio`: 0 = the scale never moves. Undefined alike."""
    quotient = ratio(values)
    return quotient if quotient.value is None else Value.of(math.log(quotient.value))


def coefficient_of_variation(values: npt.ArrayLike) -> Value:
    """Sample standard deviation over the mean: 0 = the scale never moves.

    Undefined with fewer than 2 values or with a value <= 0, where the mean is no yardstick.
    """
    present = _present(values)
    reason = _not_positive(present, 2)
    return Value.undefined(reason) if reason else Value.of(present.std(ddof=1) / present.mean())


def unbiased_coefficient_of_variation(values: npt.ArrayLike) -> Value:
    """`coefficient_of_variation` times 1 + 1/(4N), for small N (Sokal & Rohlf). Undefined alike."""
    cv = coefficient_of_variation(values)
    if cv.value is None:
        return cv
    return Value.of(cv.value * (1 + 1 / (4 * len(_present(values)))))


def log_sd(values: npt.ArrayLike) -> Value:
    """Sample standard deviation of ln(value): 0 = the scale never moves. Undefined as `ratio`."""
    present = _present(values)
    reason = _not_positive(present, 2)
    return Value.undefined(reason) if reason else Value.of(_logs(present).std(ddof=1))


def log_sd_interval(values: npt.ArrayLike, alpha: float = 0.05) -> Interval:
    """Two-sided 1 - alpha interval of the SD of ln(value), from chi-squared: exact if log-normal.

    Undefined as `log_sd`.
    """
    spread = log_sd(values)
    if spread.value is None:
        return Interval.undefined(spread.reason or "")
    return _sd_interval(spread.value, len(_present(values)), alpha)


def standard_deviation_interval(values: npt.ArrayLike, alpha: float = 0.05) -> Interval:
    """Two-sided 1 - alpha interval of the standard deviation, from chi-squared: exact if normal."""
    spread = standard_deviation(values)
    if spread.value is None:
        return Interval.undefined(spread.reason or "")
    return _sd_interval(spread.value, len(_present(values)), alpha)


def geometric_cv(values: npt.ArrayLike) -> Value:
    """sqrt(exp(s^2) - 1) with s = `log_sd`: the CV of a log-normal scale. Undefined as `log_sd`."""
    spread = log_sd(values)
    return spread if spread.value is None else _cv_of_log_sd(spread.value)


def geometric_cv_interval(values: npt.ArrayLike, alpha: float = 0.05) -> Interval:
    """`log_sd_interval` on the scale of `geometric_cv`; undefined also where that overflows."""
    interval = log_sd_interval(values, alpha)
    if interval.low is None or interval.high is None:
        return interval
    low, high = _cv_of_log_sd(interval.low), _cv_of_log_sd(interval.high)
    if low.value is None or high.value is None:
        return Interval.undefined("the scale spreads over too many orders of magnitude")
    return Interval.of(low.value, high.value)


def geometric_mean_interval(values: npt.ArrayLike, alpha: float = 0.05) -> Interval:
    """Two-sided t interval of the mean of ln(value), mapped back. Undefined as `log_sd`."""
    spread = log_sd(values)
    if spread.value is None:
        return Interval.undefined(spread.reason or "")
    logs = _logs(_present(values))
    half = t_quantile(1 - alpha / 2, len(logs) - 1) * spread.value / math.sqrt(len(logs))
    centre = float(logs.mean())
    if centre + half > 700:
        return Interval.undefined("the scale spreads over too many orders of magnitude")
    return Interval.of(math.exp(centre - half), math.exp(centre + half))


def _present(values: npt.ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64).ravel()
    present = array[~np.isnan(array)]
    if (np.abs(present) > LARGEST_SCORE).any():
        raise ValueError("values must be smaller than 1e100; write NaN for a missing one")
    return present


def _logs(present: FloatArray) -> FloatArray:
    return np.asarray(np.log(present))


def _too_few(needed: int, there: int) -> Value:
    return Value.undefined(f"needs at least {needed} values, there are {there}")


def _not_positive(present: FloatArray, needed: int) -> str | None:
    if len(present) < needed:
        return f"needs at least {needed} values, there are {len(present)}"
    if (present < 1 / LARGEST_SCORE).any():
        return "needs positive values; use range and standard deviation"
    return None


def _sd_interval(sd: float, n: int, alpha: float) -> Interval:
    df = n - 1
    return Interval.of(
        sd * math.sqrt(df / chi2_quantile(1 - alpha / 2, df)),
        sd * math.sqrt(df / chi2_quantile(alpha / 2, df)),
    )


def _cv_of_log_sd(spread: float) -> Value:
    if spread**2 > 700:
        return Value.undefined("the scale spreads over too many orders of magnitude")
    return Value.of(math.sqrt(math.expm1(spread**2)))
