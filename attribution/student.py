"""Student's t distribution, the only one that attribution needs. Not a statistics library."""

from functools import lru_cache
from math import exp, inf, isinf, lgamma, log, log1p
from statistics import NormalDist

_STEPS = 400
_TINY = 1e-300


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Lentz's evaluation of the continued fraction of the incomplete beta function (DLMF 8.17.22)."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    result = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + term / c
            c = c if abs(c) > _TINY else _TINY
            result *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return result


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b) for 0 <= x <= 1 and a, b > 0 (DLMF 8.17)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(a, b, x) / a
    return 1.0 - front * _continued_fraction(b, a, 1.0 - x) / b


def two_sided_p(t: float, df: float) -> float:
    """Return P(|T| >= |t|) for `df` degrees of freedom; infinite `df` is the normal distribution."""
    if isinf(t):
        return 0.0
    if isinf(df):
        return 2.0 * NormalDist().cdf(-abs(t))
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


@lru_cache(maxsize=4096)
def t_quantile(level: float, df: float) -> float:
    """Return the t with P(|T| <= t) = `level`, to 1e-12, for 0 < level < 1 and df > 0 (may be infinite)."""
    tail = 1.0 - level
    if isinf(df):
        return NormalDist().inv_cdf(1.0 - tail / 2)
    low, high = 0.0, 1.0
    while two_sided_p(high, df) > tail and high < inf:
        low, high = high, high * 2
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if two_sided_p(middle, df) > tail else (low, middle)
    return (low + high) / 2
