"""What an honest but slightly noisy judge would get: the ceiling beside mean tau."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evalstab.statistics.kendall import mean_tau
from evalstab.statistics.ranks import FloatArray, as_scores, places_from_scores
from evalstab.statistics.value import Value

_JUDGES = 1000


def noise_ceiling(
    totals: npt.ArrayLike, weights: npt.ArrayLike, *, error: float = 1.0, seed: int = 0
) -> Value:
    """Expected tau between two judges who know the truth and err by +-`error` points a criterion.

    `totals` (M,) are the true totals of the candidates (NaN = left out), `weights` (C,) what one
    point in each criterion adds to a total, ones if points are simply summed. Each judge's points
    are off by +error or -error, with equal chance, in every criterion of every candidate. Mean tau
    of 1,000 simulated judges, Monte-Carlo error below .01; the same `seed` gives the same number.
    Range about 0..1: near 1 where candidates lie far apart, low where they are close, so that a
    model's tau can be read against what this very task allows. Undefined with fewer than 2
    candidates or without criteria. Raises ValueError for a negative error.
    """
    if error < 0:
        raise ValueError(f"an error is not negative: {error}")
    truth = as_scores(np.atleast_2d(np.asarray(totals, dtype=np.float64)))[0]
    truth = truth[~np.isnan(truth)]
    effects = np.asarray(weights, dtype=np.float64).ravel()
    if len(truth) < 2:
        return Value.undefined(f"needs at least 2 candidates with totals, there are {len(truth)}")
    if not len(effects):
        return Value.undefined("the totals have no criteria behind them")
    rng = np.random.default_rng(seed)
    judged = np.tile(truth, (_JUDGES, 1))
    for effect in effects:
        signs = rng.integers(0, 2, size=judged.shape) * 2 - 1
        judged += error * effect * signs
    return mean_tau(places_from_scores(judged))


def latent_totals(scores: npt.ArrayLike) -> FloatArray:
    """Mean score of each candidate (M,) over the trials that score it, NaN if none does.

    Stands in for the truth where there is none. It is the better a guess the more trials there are;
    with few, noise spreads it out, and the ceiling comes out too high.
    """
    array = as_scores(scores)
    counts = (~np.isnan(array)).sum(axis=0)
    means = np.full(len(counts), np.nan)
    np.divide(np.nansum(array, axis=0), counts, out=means, where=counts > 0)
    return means
