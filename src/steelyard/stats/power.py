"""Power of tests: the chance that a difference of a given size is found with n units."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import bdtr, nctdtr, ndtr, ndtri, stdtr, stdtrit

from steelyard.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.expansions import quick_p
from steelyard.stats.significance import williams

MOST = 10_000_000  # more units than anybody has


def t_power(effect: float, n: int, alpha: float = 0.05, *, two_sided: bool = True) -> float:
    """Power of the paired t test for a mean difference of ``effect`` standard deviations.

    Examples
    --------
    >>> round(t_power(0.5, 34), 3)
    0.808
    """
    if n < 2:
        return 0.0
    freedom, shift = n - 1, effect * np.sqrt(n)
    edge = stdtrit(freedom, 1 - (alpha / 2 if two_sided else alpha))
    found = 1 - nctdtr(freedom, shift, edge)
    if two_sided:
        found += nctdtr(freedom, shift, -edge)
    return float(found)


def sign_power(
    win: float, n: int, alpha: float = 0.05, *, tie: float = 0.0, two_sided: bool = True
) -> float:
    """Power of the sign test if one side wins a unit that does not tie with probability ``win``.

    Ties are left out: power is that of the expected number of other units, rounded.

    Examples
    --------
    >>> round(sign_power(0.75, 30), 3)
    0.803
    """
    n = round(n * (1 - tie))
    if n < 1:
        return 0.0
    # The least number of wins that is significant: P(X >= c) = P(X <= n - c) for a fair coin.
    losses = np.arange(n + 1)
    allowed = np.flatnonzero(bdtr(losses, n, 0.5) <= (alpha / 2 if two_sided else alpha))
    if not allowed.size:
        return 0.0
    most = int(allowed[-1])
    found = bdtr(most, n, 1 - win)
    if two_sided:
        found += bdtr(most, n, win)
    return float(min(found, 1.0))


def normal_power(
    difference: float, error: Floats, alpha: float = 0.05, *, two_sided: bool = True
) -> Floats:
    """Power where a difference has a normal standard error.

    Examples
    --------
    >>> normal_power(2.8, np.array([1.0])).round(3).tolist()
    [0.8]
    """
    edge = float(-ndtri(alpha / 2 if two_sided else alpha))
    z = ratio(np.full_like(error, difference), error)
    found = ndtr(z - edge)
    return np.asarray(found + ndtr(-z - edge) if two_sided else found)


def williams_power(
    r12: float, r13: float, r23: float, n: int, alpha: float = 0.05, *, two_sided: bool = True
) -> float:
    """Power of Williams' test of two correlations with ``n`` systems, approximately.

    The statistic is taken as Student's t around the value that the correlations themselves give.

    Examples
    --------
    >>> williams_power(0.9, 0.8, 0.85, 10) < williams_power(0.9, 0.8, 0.85, 30)
    True
    """
    if n <= 3:
        return 0.0
    p = float(williams(r12, r13, r23, n))
    if np.isnan(p):
        return float("nan")
    shift = float(-stdtrit(n - 3, p))
    edge = float(stdtrit(n - 3, 1 - (alpha / 2 if two_sided else alpha)))
    found = stdtr(n - 3, shift - edge)
    return float(found + stdtr(n - 3, -shift - edge) if two_sided else found)


def needed(power: Callable[[int], float], target: float, least: int = 2) -> int | None:
    """Find the fewest units with this power by bisection, None if even ten million are too few.

    Examples
    --------
    >>> needed(lambda n: t_power(0.5, n), 0.8)
    34
    """
    if not 0 < target < 1:
        raise UsageError(f"a power lies between 0 and 1, got {target:g}")
    high = least
    while power(high) < target:
        if high >= MOST:
            return None
        high = min(high * 2, MOST)
    low = least - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= target else (middle, high)
    return high


def resampled_p(test: str, x: Floats, counts: Counts | Floats) -> Floats:
    """Two-sided p-values of a test of mean (or median) 0 in each resample of the units.

    Parameters
    ----------
    test
        ``t``, ``permutation`` (signs change at random; an expansion) or ``sign``.
    x
        Differences, one per unit, none missing.
    counts
        How often each unit occurs, resamples x units.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, -1.0])
    >>> resampled_p("sign", x, np.array([[1, 1, 1, 1], [3, 3, 3, 0]])).round(4).tolist()
    [0.625, 0.0039]
    """
    w = np.asarray(counts, dtype=np.float64)
    if test == "sign":
        wins, losses = w @ (x > 0), w @ (x < 0)
        tail = bdtr(np.minimum(wins, losses), (wins + losses).astype(int), 0.5)
        return np.asarray(np.minimum(2 * tail, 1.0))
    scale = np.sqrt((x * x).mean()) or 1.0
    y = x / scale
    total, squares = w @ y, w @ (y * y)
    if test == "t":
        n = w.sum(axis=1)
        variance = np.maximum(ratio(squares - total * total / n, n - 1), 0.0)
        return np.asarray(2 * stdtr(n - 1, -np.abs(ratio(total, np.sqrt(variance * n)))))
    if test == "permutation":
        single = (a.astype(np.float32)[:, None] for a in (total, squares, w @ y**4))
        p = quick_p(*single)[:, 0].astype(np.float64)
        return np.asarray(np.minimum(2 * np.minimum(p, 1 - p), 1.0))
    raise UsageError(f"no power of test '{test}'; expected t, permutation or sign")
