"""An interval that may be looked at after every label (asymptotic confidence sequences).

Who looks again and again, and stops when an ordinary interval excludes something, is wrong far more
often than it says. These are wider, and hold at all times together (Waudby-Smith et al., 2024); the
spread is that of the values so far, so look at the first twenty at your own risk.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.core.options import check_number, check_whole
from steelyard.stats.arrays import Floats


def anytime_interval(
    values: Floats, *, level: float = 0.95, tightest: int = 100
) -> tuple[Floats, Floats]:
    """Give the ends after each value, valid for all of them at once.

    Parameters
    ----------
    values
        In the order in which they came: labels, or what labels say beyond a judge.
    level
        With which probability no interval misses the mean.
    tightest
        After how many values the interval shall be tightest.

    Examples
    --------
    >>> low, high = anytime_interval(np.tile([0.0, 1.0], 100))
    >>> bool(low[-1] < 0.5 < high[-1]), bool(high[-1] - low[-1] < high[50] - low[50])
    (True, True)
    """
    check_number(0, 1, strict=True, level=level)
    check_whole(1, tightest=tightest)
    alpha = 1 - level
    t = np.arange(1.0, len(values) + 1)
    mean = np.cumsum(values) / t
    squares = np.maximum(np.cumsum(values * values) / t - mean * mean, 0.0)
    spread = np.sqrt(squares * t / np.maximum(t - 1, 1))
    reach = spread / np.sqrt(t) * _errors_wide(t, alpha, tightest)
    return mean - reach, mean + reach


def anytime_reach(n: int, *, level: float = 0.95, tightest: int = 100) -> float:
    """Give how many standard errors the interval reaches after n values, whatever they are.

    Examples
    --------
    >>> round(anytime_reach(100), 3), round(anytime_reach(10_000), 3)
    (3.035, 3.562)
    """
    check_number(0, 1, strict=True, level=level)
    check_whole(1, n=n, tightest=tightest)
    return float(_errors_wide(np.array([float(n)]), 1 - level, tightest)[0])


def _errors_wide(t: Floats, alpha: float, tightest: int) -> Floats:
    rate = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / tightest
    grown = t * rate + 1
    found: Floats = np.sqrt(2 * grown / (t * rate) * np.log(np.sqrt(grown) / alpha))
    return found
