"""How sure: the interval of mean agreement, intervals of rates, what N trials cannot have seen.

The sample is the trials. The N(N-1)/2 pair values are dependent, so nothing here treats them as
that many observations, and nothing bootstraps: with five trials a bootstrap interval covers
76-90 % instead of 95 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstab.statistics.kendall import pair_taus, pair_values
from evalstab.statistics.quantiles import beta_quantile, normal_quantile, t_quantile
from evalstab.statistics.ranks import FloatArray
from evalstab.statistics.value import Interval, Value
from evalstab.statistics.winner import WinnerSets, pair_agreement, ranked

_ROUNDING = 1e-12
"""Means this close to 1 are 1: sums of floats, not disagreement."""


@dataclass(frozen=True, slots=True)
class PairSpread:
    """What the REG interval is made of, for a mean over pairs of trials.

    `mean` is U; `trials` the number N of trials with a defined pair; `floor` the loss D0 of U if
    one trial had one adjacent swap, which is also the jackknife error of that sample;
    `standard_error` the larger of jackknife and pair error, unguarded.
    """

    mean: float
    trials: int
    floor: float
    standard_error: float

    @property
    def guarded_mean(self) -> float:
        """U, at most 1 - D0 (and at least -1 + D0): atanh needs room."""
        return max(min(self.mean, 1 - self.floor), -1 + self.floor)

    @property
    def atanh_error(self) -> float:
        """Guarded standard error on the atanh scale."""
        return max(self.standard_error, self.floor) / (1 - self.guarded_mean**2)


def pair_spread(pairs: FloatArray, step: float) -> PairSpread | None:
    """Mean and standard errors of a symmetric (k, k) matrix of pair statistics in -1..1.

    NaN on the diagonal and where a pair is undefined. `step` is the loss of one pair by the
    smallest change of one trial (for tau: 2/P, one swap of neighbours). None with fewer than 3
    trials that have a defined pair, since the jackknife leaves one out, and where fewer than half
    of their pairs are defined: the few that remain understate the error (coverage 89 % at N = 5).
    """
    usable = ~np.isnan(pairs).all(axis=1) if len(pairs) else np.zeros(0, dtype=bool)
    n = int(usable.sum())
    values = pair_values(pairs)
    if n < 3 or 2 * len(values) < math.comb(n, 2):
        return None
    mean = float(values.mean())
    typical = np.nanmean(pairs[usable], axis=1)
    jackknife = math.sqrt((n - 1) / n * float(((typical - mean) ** 2).sum())) * 2 / (n - 2)
    as_pairs = float(values.std(ddof=1)) / math.sqrt(len(values))
    return PairSpread(
        mean=1.0 if mean > 1 - _ROUNDING else mean,
        trials=n,
        floor=2 * step / n,
        standard_error=max(jackknife, as_pairs),
    )


def jackknife_error(pairs: FloatArray) -> Value:
    """Leave-one-trial-out standard error of the mean over pairs. Undefined with fewer than 3.

    se^2 = (N-1)/N * 4/(N-2)^2 * sum (h_i - U)^2, h_i = mean of the pairs of trial i. Biased
    upward (Efron & Stein 1981). Source: Arvesen 1969.
    """
    usable = ~np.isnan(pairs).all(axis=1) if len(pairs) else np.zeros(0, dtype=bool)
    n = int(usable.sum())
    if n < 3:
        return Value.undefined(_three(n))
    typical = np.nanmean(pairs[usable], axis=1)
    squares = float(((typical - pair_values(pairs).mean()) ** 2).sum())
    return Value.of(math.sqrt((n - 1) / n * squares) * 2 / (n - 2))


def reg_interval(pairs: FloatArray, step: float, alpha: float = 0.05) -> Interval:
    """REG: two-sided 1 - alpha interval of a mean over pairs, jackknife-t on the atanh scale.

    Input as in `pair_spread`. With N trials, t the 1 - alpha/2 quantile with N - 1 degrees of
    freedom, D0 = 2 step / N, U' = min(U, 1 - D0) and se the larger of jackknife and pair error:
    low = tanh(atanh U' - t max(se, D0) / (1 - U'^2)),
    high = tanh(atanh U + t se / (1 - U^2)), or 1 where U = 1. Upwards D0 guards se
    too where all pairs agree equally (se is 0 and says nothing; high would be U itself), and with
    3 trials, whose three pairs are often nearly equal by accident.
    Measured coverage 95-98.5 % (benchmarks/coverage.py). A one-sided limit at level a is the same
    side of the interval with alpha = 2a. Undefined with fewer than 3 trials.
    """
    spread = pair_spread(pairs, step)
    if spread is None:
        return Interval.undefined(_three(int((~np.isnan(pairs)).any(axis=1).sum())))
    t = t_quantile(1 - alpha / 2, spread.trials - 1)
    centre = spread.guarded_mean
    low = math.tanh(math.atanh(centre) - t * spread.atanh_error)
    if spread.mean == 1:
        return Interval.of(low, 1.0)
    upper = max(spread.mean, -1 + spread.floor)
    error = spread.standard_error
    if spread.trials == 3 or error < _ROUNDING:
        error = max(error, spread.floor)
    high = math.tanh(math.atanh(upper) + t * error / (1 - upper**2))
    return Interval.of(min(low, high), high)


def tau_interval(places: npt.ArrayLike, alpha: float = 0.05) -> Interval:
    """REG interval of `mean_tau`: the headline interval. Undefined with fewer than 3 trials."""
    taus = pair_taus(places)
    return reg_interval(taus.tau, taus.step(), alpha)


def cap_interval(pairs: FloatArray, step: float, alpha: float = 0.05) -> Interval:
    """CAP, the strict version of REG: low = min(REG low, U * alpha^(2/(N-1))).

    If the main behaviour has share q, N alike trials have probability q^(N-1) at most, so
    q >= alpha^(1/(N-1)), and the truth is at least q^2 U if other trials agree no worse than
    chance. Never overstates by more than 0.8 % in simulation, but is .83 wide at N = 5: for a
    one-off certification. Undefined as `reg_interval`.
    """
    interval = reg_interval(pairs, step, alpha)
    spread = pair_spread(pairs, step)
    if spread is None or interval.low is None or interval.high is None:
        return interval
    capped = spread.mean * alpha ** (2 / (spread.trials - 1))
    return Interval.of(min(interval.low, capped), interval.high)


def winner_agreement_interval(winners: WinnerSets, alpha: float = 0.05) -> Interval:
    """Two-sided interval of the top-1 pair agreement, within 0..1.

    Jackknife-t over trials. Where no trial differs from another in its agreement (all the same
    winner, or no two alike) the jackknife error is 0 and says nothing; then the Clopper-Pearson
    interval of "agrees with the first trial", N - 1 draws, stands in. Undefined with fewer than 3
    ranked trials.
    """
    sets = ranked(winners)
    n = len(sets)
    mean = pair_agreement(sets).value
    if n < 3 or mean is None:
        return Interval.undefined(_three(n))
    overlap = np.array([[len(a & b) / len(a | b) for b in sets] for a in sets])
    np.fill_diagonal(overlap, np.nan)
    error = jackknife_error(overlap).value or 0.0
    if error < _ROUNDING:
        agreeing = round(mean * (n - 1))
        guard = clopper_pearson(agreeing, n - 1, alpha)
        return Interval.of(min(guard.low or 0.0, mean), max(guard.high or 0.0, mean))
    half = t_quantile(1 - alpha / 2, n - 1) * error
    return Interval.of(max(0.0, mean - half), min(1.0, mean + half))


def clopper_pearson(successes: int, n: int, alpha: float = 0.05) -> Interval:
    """Two-sided exact interval of a rate: covers at least 1 - alpha, always.

    A one-sided limit at level a is the same side with alpha = 2a. Undefined without trials.
    Raises ValueError for impossible counts.
    """
    if not _possible(successes, n):
        return Interval.undefined("no trials")
    low, high = 0.0, 1.0
    if successes > 0:
        low = beta_quantile(alpha / 2, successes, n - successes + 1)
    if successes < n:
        high = beta_quantile(1 - alpha / 2, successes + 1, n - successes)
    return Interval.of(low, high)


def wilson(successes: int, n: int, alpha: float = 0.05) -> Interval:
    """Wilson's score interval of a rate, for display: shorter, covers 1 - alpha on average only.

    Undefined without trials. Raises ValueError for impossible counts.
    """
    if not _possible(successes, n):
        return Interval.undefined("no trials")
    z2 = normal_quantile(1 - alpha / 2) ** 2
    centre = (successes + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (successes * (n - successes) / n + z2 / 4)) / (n + z2)
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval.of(low, high)


def jeffreys(successes: int, n: int, alpha: float = 0.05) -> Interval:
    """Equal-tailed interval of the posterior Beta(k + 1/2, n - k + 1/2), 0 and 1 kept at the ends.

    Undefined without trials. Raises ValueError for impossible counts.
    """
    if not _possible(successes, n):
        return Interval.undefined("no trials")
    a, b = successes + 0.5, n - successes + 0.5
    low = 0.0 if successes == 0 else beta_quantile(alpha / 2, a, b)
    high = 1.0 if successes == n else beta_quantile(1 - alpha / 2, a, b)
    return Interval.of(low, high)


def pass_hat_k(successes: int, n: int, k: int) -> Value:
    """pass^k: unbiased chance that k trials all succeed, C(c, k) / C(n, k). Range 0..1.

    Undefined for k > n. Source: Yao et al. 2024 (tau-bench). Raises ValueError for impossible
    counts or k < 1.
    """
    _possible(successes, n)
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if k > n:
        return Value.undefined(f"needs at least k = {k} trials, there are {n}")
    return Value.of(math.comb(successes, k) / math.comb(n, k))


def pass_hat_k_interval(successes: int, n: int, k: int, alpha: float = 0.05) -> Interval:
    """Clopper-Pearson limits of the rate, to the k-th power. Undefined as `pass_hat_k`."""
    estimate = pass_hat_k(successes, n, k)
    rate = clopper_pearson(successes, n, alpha) if n else None
    if estimate.value is None or rate is None or rate.low is None or rate.high is None:
        return Interval.undefined(estimate.reason or "no trials")
    return Interval.of(rate.low**k, rate.high**k)


def pass_at_k(successes: int, n: int, k: int) -> Value:
    """pass@k: unbiased chance that at least one of k trials succeeds, 1 - C(n-c, k) / C(n, k).

    Source: Chen et al. 2021. Undefined for k > n; errors as `pass_hat_k`.
    """
    failures = pass_hat_k(n - successes, n, k)
    return failures if failures.value is None else Value.of(1 - failures.value)


def unseen_share(n: int, alpha: float = 0.05) -> Value:
    """Largest share of trials that could behave otherwise and still not be among n: 0..1.

    1 - alpha^(1/n), the one-sided upper limit of a rate never seen: 45 % for 5 trials, 14 % for
    20. Undefined without trials.
    """
    if n < 1:
        return Value.undefined("no trials")
    return Value.of(-math.expm1(math.log(alpha) / n))


def min_trials_for_tau(threshold: float, alpha: float = 0.05) -> int:
    """Trials below which even perfect agreement must not pass `threshold` on tau.

    1 + ceil(2 ln alpha / ln threshold), where `cap_interval` of identical trials reaches it:
    10, 13, 18, 28 for .5, .6, .7, .8. At least 3. Raises ValueError for a threshold >= 1, which
    no number of trials can show.
    """
    if threshold >= 1:
        raise ValueError(f"no number of trials shows an agreement of {threshold}")
    if threshold <= 0:
        return 3
    return max(3, 1 + math.ceil(2 * math.log(alpha) / math.log(threshold) - 1e-9))


def min_trials_for_rate(rate: float, alpha: float = 0.05) -> int:
    """Trials needed to show a success rate of at least `rate` if none of them fails.

    ceil(ln alpha / ln rate): 5, 14, 29, 59 for .5, .8, .9, .95. Raises ValueError for rate >= 1.
    """
    if rate >= 1:
        raise ValueError(f"no number of trials shows a rate of {rate}")
    if rate <= 0:
        return 1
    return math.ceil(math.log(alpha) / math.log(rate) - 1e-9)


def _possible(successes: int, n: int) -> bool:
    """Whether there are trials at all; raises ValueError for counts that cannot be."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no count of successes")
    return n > 0


def _three(there: int) -> str:
    if there >= 3:
        return "fewer than half of the pairs of trials can be compared"
    return f"an interval needs at least 3 comparable trials, there are {there}"
