"""Distribution functions of everyday tests, without loading SciPy for a handful of numbers.

Names and arguments are those of ``scipy.special``, whose import takes longer than most commands
need for all of their work. Up to ``FEW`` numbers are computed here, to about 13 digits; more
numbers, and rare arguments, go to SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Floats

FEW = 200
_MOST_FREEDOM = 1e6  # degrees of freedom up to which the continued fraction is short
_MOST_TRIALS = 10_000
_PRECISION = 3e-16


def _each(name: str, function: Callable[..., float | None], *arguments: ArrayLike) -> Floats:
    """Apply a function to broadcast arguments; SciPy's where they are many, or it returns None."""
    arrays = np.broadcast_arrays(*arguments)
    if arrays[0].size <= FEW:
        rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
        values = [math.nan if any(map(math.isnan, row)) else function(*row) for row in rows]
        if None not in values:
            result: Any = np.array(values, dtype=np.float64).reshape(arrays[0].shape)
            return result[()]  # type: ignore[no-any-return]
    from scipy import special

    return getattr(special, name)(*arguments)  # type: ignore[no-any-return]


def expit(x: ArrayLike) -> Floats:
    """Return the logistic function."""
    array = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(array))
    return np.asarray(np.where(array < 0, small, 1.0) / (1 + small))[()]


def log_expit(x: ArrayLike) -> Floats:
    """Return the logarithm of the logistic function."""
    return np.asarray(-np.logaddexp(0.0, -np.asarray(x, dtype=np.float64)))[()]


def ndtr(x: ArrayLike) -> Floats:
    """Return the normal distribution function."""
    return _each("ndtr", lambda z: 0.5 * math.erfc(-z * math.sqrt(0.5)), x)


def ndtri(p: ArrayLike) -> Floats:
    """Return the normal quantile."""
    return _each("ndtri", lambda q: NormalDist().inv_cdf(q) if 0 < q < 1 else None, p)


def chdtrc(freedom: ArrayLike, x: ArrayLike) -> Floats:
    """Return the upper tail of chi-square."""
    return _each(
        "chdtrc", lambda df, y: math.erfc(math.sqrt(y / 2)) if df == 1 and y >= 0 else None,
        freedom, x,
    )  # fmt: skip


def bdtr(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """Return the chance of at most k successes in n trials."""
    return _each("bdtr", _binomial, k, n, p)


def _binomial(k: float, n: float, p: float) -> float | None:
    """Return the binomial distribution function of a fair coin, from exact integers."""
    if p != 0.5 or not 0 <= k <= n <= _MOST_TRIALS:
        return None
    term = total = 1
    for i in range(int(k)):
        term = term * (int(n) - i) // (i + 1)
        total += term
    return float(total / 2 ** int(n))


def stdtr(freedom: ArrayLike, t: ArrayLike) -> Floats:
    """Return the distribution function of Student's t."""
    return _each("stdtr", _student, freedom, t)


def _student(freedom: float, t: float) -> float | None:
    if not 0 < freedom <= _MOST_FREEDOM or math.isinf(t):
        return None
    tail = _student_tail(freedom, abs(t)) if t else 0.5
    return 1 - tail if t > 0 else tail


def _student_tail(freedom: float, t: float) -> float:
    """Return the chance of more than t > 0: half the incomplete beta function of (df / 2, 1/2)."""
    a = freedom / 2
    x, rest = freedom / (freedom + t * t), t * t / (freedom + t * t)
    front = math.exp(-a * math.log1p(t * t / freedom)) * math.sqrt(rest) * _gamma_ratio(a)
    front /= 2 * math.sqrt(math.pi)
    if x < (a + 1) / (a + 2.5):
        return front * _beta_fraction(a, 0.5, x) / a
    return 0.5 - front * _beta_fraction(0.5, a, rest) * 2


def _gamma_ratio(a: float) -> float:
    """Return gamma(a + 1/2) / gamma(a), by its asymptotic series where both are large."""
    if a < 30:
        return math.gamma(a + 0.5) / math.gamma(a)
    series = (-1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304)
    return math.sqrt(a) * (1 + math.fsum(c / a**k for k, c in enumerate(series, 1)))


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (Lentz's method)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value, m, ratio = d, 0, 0.0
    while abs(ratio - 1) > _PRECISION:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + even * d), 1 + even / c
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + odd * d), 1 + odd / c
        ratio = d * c
        value *= ratio
    return value


def nctdtr(freedom: float, shift: float, t: float) -> float:
    """Return the distribution function of the noncentral t, by the trapezoid rule.

    Given the spread that t is divided by, it is normal; the logarithm u of the spread has a density
    of exp(freedom (u - exp(2u) / 2)).
    """
    deviation = 1 / math.sqrt(2 * freedom)
    u = np.arange(-max(40 / freedom, 12 * deviation), 12 * deviation, min(0.4 * deviation, 0.03))
    weights = np.exp(freedom * (u - np.expm1(2 * u) / 2))
    below = [0.5 * math.erfc((shift - t * spread) * math.sqrt(0.5)) for spread in np.exp(u)]
    return float(weights @ below / weights.sum())


def stdtrit(freedom: ArrayLike, p: ArrayLike) -> Floats:
    """Return the quantile of Student's t."""
    return _each("stdtrit", _student_quantile, freedom, p)


def _student_quantile(freedom: float, p: float) -> float | None:
    """Solve for the quantile by Newton's method on the logarithm of the tail, in a bracket."""
    if not 0 < freedom <= _MOST_FREEDOM or not 0 < p < 1:
        return None
    tail = min(p, 1 - p)
    if abs(p - 0.5) < 0.01:  # where the logarithm is flat
        return 0.0 if p == 0.5 else None
    z = NormalDist().inv_cdf(1 - tail)
    x, low, high = z * (1 + (z * z + 1) / (4 * freedom)), 0.0, math.inf
    scale = _gamma_ratio(freedom / 2) / math.sqrt(math.pi * freedom)
    for _ in range(200):
        reached = _student_tail(freedom, x)
        low, high = (x, high) if reached > tail else (low, x)
        density = scale * math.exp(-(freedom + 1) / 2 * math.log1p(x * x / freedom))
        step = math.log(reached / tail) * reached / density
        x, before = x + step, x
        if abs(step) <= 1e-9 * before:  # the error is about the square of the last step
            break
        if not low < x < high:
            x = 2 * before if math.isinf(high) else (low + high) / 2
    return x if p > 0.5 else -x
