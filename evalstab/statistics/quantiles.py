"""Quantiles and tail probabilities, the only door to scipy.

scipy.special is loaded on the first call: it costs a tenth of a second, which programs that only
look something up should not pay; scipy.stats costs several times that and is not needed.
"""

from __future__ import annotations


def t_quantile(probability: float, df: float) -> float:
    """Student t quantile with `df` degrees of freedom."""
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(df, probability))


def t_two_sided_p(t: float, df: float) -> float:
    """P(|T| >= |t|) for Student's t with `df` degrees of freedom."""
    from scipy.special import stdtr  # noqa: PLC0415

    return float(2 * stdtr(df, -abs(t)))


def normal_quantile(probability: float) -> float:
    """Standard normal quantile."""
    from scipy.special import ndtri  # noqa: PLC0415

    return float(ndtri(probability))


def chi2_quantile(probability: float, df: float) -> float:
    """Chi-squared quantile with `df` degrees of freedom."""
    from scipy.special import chdtri  # noqa: PLC0415

    return float(chdtri(df, 1 - probability))


def chi2_upper_tail(x: float, df: float) -> float:
    """P(X >= x) for chi-squared with `df` degrees of freedom."""
    from scipy.special import chdtrc  # noqa: PLC0415

    return float(chdtrc(df, x))


def f_quantile(probability: float, df1: float, df2: float) -> float:
    """F quantile with `df1` and `df2` degrees of freedom."""
    from scipy.special import fdtri  # noqa: PLC0415

    return float(fdtri(df1, df2, probability))


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Quantile of Beta(a, b)."""
    from scipy.special import betaincinv  # noqa: PLC0415

    return float(betaincinv(a, b, probability))


def log_beta(a: float, b: float) -> float:
    """Logarithm of the beta function."""
    from scipy.special import betaln  # noqa: PLC0415

    return float(betaln(a, b))
