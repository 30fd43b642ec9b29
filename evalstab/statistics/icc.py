"""Intraclass correlation of scores: are they the same numbers, up to what?

`scores` is (N trials, M candidates); in the usual words the candidates are the targets and the
trials the raters. Never feed places: complete places have equal trial means by construction, so
ICC(A,1) then exceeds ICC(C,1) and both only restate Spearman. Computed on the candidates that every
trial with scores has. Sources: Shrout & Fleiss 1979; McGraw & Wong 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstab.statistics.quantiles import f_quantile
from evalstab.statistics.ranks import FloatArray, as_scores
from evalstab.statistics.value import Interval, Value

Form = Literal["1", "1,k", "A,1", "A,k", "C,1", "C,k"]

_NOISE = 1e-24
"""Sums of squares below this share of the squared size of the scores are rounding, thus 0."""


@dataclass(frozen=True, slots=True)
class IccSteps:
    """Three questions, each forgiving more; their differences say what moves between trials.

    `absolute`: ICC(A,1), the same numbers? `consistency`: ICC(C,1), the same up to an offset of
    each trial? `standardised`: ICC(C,1) after z-scores in each trial, the same up to offset and
    factor? absolute < consistency: the offset moves; consistency < standardised: the factor does;
    standardised < 1: the shape does.
    """

    absolute: Value
    consistency: Value
    standardised: Value


@dataclass(frozen=True, slots=True)
class _Squares:
    """Two-way analysis of variance: mean squares of rows (candidates), columns (trials), error."""

    candidates: int
    trials: int
    row: float
    column: float
    error: float
    within: float


def icc(scores: npt.ArrayLike, form: Form) -> Value:
    """Intraclass correlation of the given form; at most 1, about 0 for unrelated scores.

    "1": one-way; "A,1": absolute agreement of single trials; "C,1": consistency, which forgives an
    offset but not a factor; ",k": of the mean of the N trials. Can be negative. Undefined with
    fewer than 2 trials or complete candidates, and where no trial tells candidates apart.
    """
    squares = _squares(as_scores(scores))
    if isinstance(squares, str):
        return Value.undefined(squares)
    n, k = squares.candidates, squares.trials
    row, error = squares.row, squares.error
    offset = (squares.column - error) / n
    numerator, denominator = {
        "1": (row - squares.within, row + (k - 1) * squares.within),
        "1,k": (row - squares.within, row),
        "A,1": (row - error, row + (k - 1) * error + k * offset),
        "A,k": (row - error, row + offset),
        "C,1": (row - error, row + (k - 1) * error),
        "C,k": (row - error, row),
    }[form]
    if denominator <= 0:
        return Value.undefined("the candidates do not differ between them (division by 0)")
    return Value.of(numerator / denominator)


def icc_interval(
    scores: npt.ArrayLike, form: Form, alpha: float = 0.05, *, irr_degrees: bool = False
) -> Interval:
    """Two-sided F interval of "A,1", "A,k", "C,1" or "C,k"; exact for C if scores are normal.

    For A with Satterthwaite's degrees of freedom (McGraw & Wong 1996, table 7), under which the
    limits of "A,k" are those of "A,1" carried over to the mean of k trials, as in R's psych. R's
    irr puts the coefficient of "A,k" into the formula for "A,1" and gets other limits; set
    `irr_degrees` to compare with it. Undefined as `icc`, and for perfect agreement. Raises
    ValueError for the one-way forms.
    """
    if form in ("1", "1,k"):
        raise ValueError("intervals are offered for the two-way forms")
    point = icc(scores, form)
    squares = _squares(as_scores(scores))
    if isinstance(squares, str) or point.value is None:
        return Interval.undefined(point.reason or "")
    if squares.error == 0 or point.value >= 1:
        return Interval.undefined("no residual variance, so no F distribution to compare with")
    if form.startswith("C"):
        return _consistency_interval(squares, form, alpha)
    times = squares.trials if form == "A,1" or irr_degrees else 1
    return _absolute_interval(squares, times * point.value / (1 - point.value), form, alpha)


def icc_steps(scores: npt.ArrayLike) -> IccSteps:
    """The three steps absolute, consistency, standardised (see `IccSteps`)."""
    array = as_scores(scores)
    return IccSteps(icc(array, "A,1"), icc(array, "C,1"), standardised_icc(array))


def standardised_icc(scores: npt.ArrayLike) -> Value:
    """ICC(C,1) after z-scores within each trial: blind to offset and factor of each trial.

    Equals the mean Pearson correlation of the trials. Undefined as `icc`, and where a trial gives
    all candidates the same score.
    """
    table = _complete(as_scores(scores))
    if min(table.shape) < 2:
        return Value.undefined(_TWO_BY_TWO)
    spread = table.std(axis=1, ddof=1)
    if (spread**2 <= _NOISE * (table**2).max(axis=1)).any():
        return Value.undefined("a trial gives all candidates the same score")
    return icc((table - table.mean(axis=1, keepdims=True)) / spread[:, None], "C,1")


_TWO_BY_TWO = "needs at least 2 trials and 2 candidates that all of them score"


def _complete(scores: FloatArray) -> FloatArray:
    """Trials with scores, on the candidates that all of them score, scaled to size 1."""
    table = scores[~np.isnan(scores).all(axis=1)]
    table = table[:, ~np.isnan(table).any(axis=0)]
    largest = np.abs(table).max(initial=0.0)
    return np.asarray(table / largest) if largest > 0 else table


def _squares(scores: FloatArray) -> _Squares | str:
    """The mean squares, or why there are none."""
    table = _complete(scores)
    k, n = table.shape
    if min(k, n) < 2:
        return _TWO_BY_TWO
    grand = table.mean()
    row = k * float(((table.mean(axis=0) - grand) ** 2).sum())
    column = n * float(((table.mean(axis=1) - grand) ** 2).sum())
    residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + grand
    error = float((residual**2).sum())
    row, column, error = (0.0 if s <= _NOISE * n * k else s for s in (row, column, error))
    if row == 0 and error == 0:
        return "no trial tells the candidates apart: their scores are equal in each (0/0)"
    return _Squares(
        candidates=n,
        trials=k,
        row=row / (n - 1),
        column=column / (k - 1),
        error=error / ((n - 1) * (k - 1)),
        within=(column + error) / (n * (k - 1)),
    )


def _consistency_interval(squares: _Squares, form: Form, alpha: float) -> Interval:
    n, k = squares.candidates, squares.trials
    ratio = squares.row / squares.error
    low = ratio / f_quantile(1 - alpha / 2, n - 1, (n - 1) * (k - 1))
    high = ratio * f_quantile(1 - alpha / 2, (n - 1) * (k - 1), n - 1)
    if form == "C,k":
        return Interval.of(1 - 1 / low, 1 - 1 / high) if low > 0 else _no_rows()
    return Interval.of((low - 1) / (low + k - 1), (high - 1) / (high + k - 1))


def _absolute_interval(squares: _Squares, odds: float, form: Form, alpha: float) -> Interval:
    """`odds` is k rho / (1 - rho) of the single trial, in which the degrees of freedom are put."""
    n, k = squares.candidates, squares.trials
    row, column, error = squares.row, squares.column, squares.error
    a, b = odds / n, 1 + odds * (n - 1) / n
    parts = (a * column) ** 2 / (k - 1) + (b * error) ** 2 / ((n - 1) * (k - 1))
    df = (a * column + b * error) ** 2 / parts if parts > 0 else 0.0
    if df <= 0:
        return _no_rows()
    low_f = f_quantile(1 - alpha / 2, n - 1, df)
    high_f = f_quantile(1 - alpha / 2, df, n - 1)
    if form == "A,1":
        rest = k * column + (k * n - k - n) * error
        low = n * (row - low_f * error) / (low_f * rest + n * row)
        high = n * (high_f * row - error) / (rest + n * high_f * row)
    else:
        low = n * (row - low_f * error) / (low_f * (column - error) + n * row)
        high = n * (high_f * row - error) / (column - error + n * high_f * row)
    return Interval.of(min(low, high), max(low, high))


def _no_rows() -> Interval:
    return Interval.undefined("the candidates do not differ between them")
