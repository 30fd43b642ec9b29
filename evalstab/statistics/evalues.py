"""Sequential likelihood ratios and betting: options and references, not the default rules.

They may be looked at after every trial. The price: the sequential probability ratio test needs a
good and a bad rate, and the confidence sequence needs hundreds of trials to be short.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from evalstab.statistics.quantiles import log_beta
from evalstab.statistics.value import Interval, Value


def sprt_bounds(alpha: float, beta: float) -> tuple[float, float]:
    """Wald's limits (low, high) for the log likelihood ratio of a good against a bad rate.

    At or below low = ln(beta / (1 - alpha)) the bad rate is accepted, at or above
    high = ln((1 - beta) / alpha) the good one. Source: Wald 1945. Raises ValueError for errors
    that are not in 0..1 with a sum below 1.
    """
    if not (alpha > 0 and beta > 0 and alpha + beta < 1):
        raise ValueError("both errors must be positive and their sum below 1")
    return math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)


def sprt_log_ratio(successes: int, failures: int, bad: float, good: float) -> float:
    """ln of the likelihood of the good rate over that of the bad one. Rates strictly in 0..1."""
    _strict(bad)
    _strict(good)
    return successes * math.log(good / bad) + failures * math.log((1 - good) / (1 - bad))


def log_e_value(
    successes: int, failures: int, rate: float, prior: tuple[float, float] = (1.0, 1.0)
) -> float:
    """Log evidence against `rate` of a beta mixture; reject when it reaches ln(1/alpha), any time.

    ln B(a + s, b + f) - ln B(a, b) - s ln p - f ln(1 - p). Source: Robbins 1970.
    """
    _strict(rate)
    a, b = prior
    gain = log_beta(a + successes, b + failures) - log_beta(a, b)
    return gain - successes * math.log(rate) - failures * math.log1p(-rate)


def rate_confidence_sequence(
    successes: int, n: int, alpha: float = 0.05, optimal_at: int = 10
) -> Interval:
    """Interval of a rate that holds at all times at once: two-sided beta-binomial mixture.

    The mixture for rate p has prior Beta(r / (1 - p), r / p), tuned to be shortest after about
    `optimal_at` trials. Source: Howard et al. 2021. Undefined without trials.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no count of successes")
    if n == 0:
        return Interval.undefined("no trials")
    limit = math.log(1 / alpha)
    two = 2 * math.log(1 / alpha)

    def excess(p: float) -> float:
        variance = p * (1 - p)
        r = max(optimal_at * variance / (two + math.log1p(two)) - variance, 1e-3 * variance)
        return log_e_value(successes, n - successes, p, (r / (1 - p), r / p)) - limit

    centre = min(max(successes / n, 1e-9), 1 - 1e-9)
    low = 0.0 if successes == 0 else _crossing(excess, 1e-12, centre)
    high = 1.0 if successes == n else _crossing(excess, 1 - 1e-12, centre)
    return Interval.of(low, high)


def log_betting_capital(x: npt.ArrayLike, mean: float, bets: int = 40) -> Value:
    """Log capital of bets that the mean of x (values in 0..1) lies above `mean`, any time.

    Mean over the fractions i / (bets + 1) of prod(1 + fraction / mean * (x - mean)); evidence at
    ln(1/alpha). Source: Waudby-Smith & Ramdas. Undefined for no values. Raises ValueError for
    values outside 0..1 or a mean not strictly inside.
    """
    values = np.asarray(x, dtype=np.float64)
    _strict(mean)
    if ((values < 0) | (values > 1) | np.isnan(values)).any():
        raise ValueError("bets need values between 0 and 1")
    if not len(values):
        return Value.undefined("no values")
    fractions = np.arange(1, bets + 1) / (bets + 1)
    logs = np.log1p(fractions[:, None] / mean * (values[None, :] - mean)).sum(axis=1)
    top = logs.max()
    return Value.of(top + math.log(float(np.exp(logs - top).mean())))


def _strict(rate: float) -> None:
    if not 0 < rate < 1:
        raise ValueError(f"a rate must lie strictly between 0 and 1, not {rate}")


def _crossing(excess: Callable[[float], float], outside: float, inside: float) -> float:
    """Where the evidence against a rate crosses the limit, by bisection between the two points."""
    for _ in range(200):
        middle = (outside + inside) / 2
        if excess(middle) > 0:
            outside = middle
        else:
            inside = middle
    return (outside + inside) / 2
