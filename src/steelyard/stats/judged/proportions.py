"""Shares with intervals, and means of influence by unit, on which all coefficients rest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtrit

from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.estimate import Estimate, undefined

Codes = NDArray[np.integer]
TINY = 1e-12  # an error that is rounding


def wilson(successes: float, n: float, level: float = 0.95) -> Estimate:
    """Give a share with Wilson's interval.

    Examples
    --------
    >>> found = wilson(8, 10)
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.8, 0.4902, 0.9433)
    """
    if n <= 0:
        return undefined("nothing to count")
    z = float(ndtri(0.5 + level / 2))
    p, room = successes / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / room
    reach = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / room
    low, high = max(0.0, centre - reach), min(1.0, centre + reach)
    return Estimate(p, low, high, math.sqrt(p * (1 - p) / n), n=round(n))


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Estimate:
    """Give a share with its exact interval, for few or one-sided counts.

    Examples
    --------
    >>> found = clopper_pearson(10, 10)
    >>> found.value, round(found.low, 4), found.high
    (1.0, 0.6915, 1.0)
    """
    if n <= 0:
        return undefined("nothing to count")
    tail = (1 - level) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    p = successes / n
    return Estimate(p, low, high, math.sqrt(p * (1 - p) / n), n=n)


def share_by_unit(right: Floats, unit: Codes | None, level: float = 0.95) -> Estimate:
    """Give the share of ones with Wilson's interval, of as many rows as units make worth.

    Where rows share a unit, the interval is that of fewer independent rows: those with which a
    share would have the same noise (never more than there are).

    Examples
    --------
    >>> share_by_unit(np.array([1.0, 1, 0, 1]), None) == wilson(3, 4)
    True
    >>> twice = np.tile([1.0, 1, 0, 1, 0, 1], 2)
    >>> both = share_by_unit(twice, np.tile(np.arange(6), 2))
    >>> both.n, round(both.low, 3), round(wilson(4, 6).low, 3)
    (12, 0.275, 0.3)
    """
    n = len(right)
    if not n:
        return undefined("nothing to count")
    p = float(right.mean())
    if unit is None:
        return wilson(float(right.sum()), n, level)
    se, groups = noise_by_unit(right - p, unit)
    if groups < 2:
        return Estimate(p, n=n, why="no interval: all rows share one unit")
    worth = min(float(n), p * (1 - p) / se**2) if se > 0 else float(groups)
    found = wilson(p * worth, worth, level)
    return Estimate(p, found.low, found.high, se, n=n)


def noise_by_unit(influence: Floats, unit: Codes | None) -> tuple[float, int]:
    """Give the error of a mean of influences, and how many units there are.

    Examples
    --------
    >>> noise_by_unit(np.array([0.5, 0.5, -0.5, -0.5]), np.array([0, 0, 1, 1]))
    (0.5, 2)
    """
    n = len(influence)
    if unit is None:
        return float(np.sqrt(influence @ influence) / n), n
    _, codes = np.unique(unit, return_inverse=True)
    groups = int(codes.max(initial=-1)) + 1
    if groups < 2:
        return float("nan"), groups
    sums = group_sums(codes, influence, groups)
    return float(np.sqrt(sums @ sums * groups / (groups - 1)) / n), groups


def unseen(n: float, level: float = 0.95) -> float:
    """Give the share of rows that may be unlike all n that were seen: Wilson's, of none in n.

    Where rows show no noise at all (two that agree, five pairs without a flip), this is how far
    a value may be from what they say; an interval of no width would be a claim.

    Examples
    --------
    >>> round(unseen(5), 3), round(unseen(500), 3)
    (0.434, 0.008)
    """
    z = float(ndtri(0.5 + level / 2))
    return z * z / (n + z * z)


def without_noise(value: float, n: float, level: float, least: float, most: float) -> Estimate:
    """Give the interval of a value between ``least`` and ``most`` on which all rows agree."""
    share = unseen(n, level)
    low, high = value - share * (value - least), value + share * (most - value)
    return Estimate(value, low, high, 0.0, n=round(n))


def with_noise(
    value: float,
    influence: Floats,
    unit: Codes | None,
    level: float = 0.95,
    *,
    least: float = -math.inf,
    most: float = math.inf,
) -> Estimate:
    """Give a value with the interval that its influences have: normal, or t where there are units.

    Without any noise, a value that has bounds has the interval of :func:`unseen` rows.

    Examples
    --------
    >>> found = with_noise(0.5, np.array([0.5, -0.5, 0.5, -0.5]), None)
    >>> found.se, round(found.high, 3)
    (0.25, 0.99)
    """
    n = len(influence)
    if math.isnan(value):
        return undefined("undefined", n)
    se, groups = noise_by_unit(influence, unit)
    if math.isnan(se):
        return Estimate(value, n=n, why="no interval: all rows share one unit")
    if se < TINY and math.isfinite(least) and math.isfinite(most):
        found = without_noise(value, groups, level, least, most)
        return Estimate(value, found.low, found.high, se, n=n)
    tail = 0.5 + level / 2
    reach = se * float(ndtri(tail) if unit is None else stdtrit(groups - 1, tail))
    return Estimate(value, max(least, value - reach), min(most, value + reach), se, n=n)
