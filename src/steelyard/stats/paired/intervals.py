r"""Intervals of mean differences that invert a test: what the test does not reject lies inside.

With few units, percentiles of resamples are too narrow, and they may say something else than the
test beside them. The t interval inverts the t-test. That of sign flips (:func:`flip_interval`)
rests on subsets of units: flipping the signs of a set A of differences that are shifted by
:math:`\delta` brings their sum no lower than it was just where the mean over A is at most
:math:`\delta`, so that the ends are order statistics of the means of all subsets (Hartigan 1969).
Proportions have the score interval of Tango (1998), whose test is McNemar's without the exactness.

:func:`agreeing` has the last word: 0 lies outside an interval just where the test rejects.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.distributions import ndtri, stdtrit
from steelyard.stats.paired.tests import mean_error
from steelyard.stats.permutation.pvalues import block_sums

FEW_UNITS = 50  # below these, intervals of differences invert the test
DECISIVE = 6  # units that it takes to reach 5 % by the signs of all: 2 / 2**6
_ALL = 14  # units of which all subsets are looked at; of more, some are drawn
_DRAWS = 1 << 14
_HELD = 1 << 22  # subset means held at a time
_HALVINGS = 60

Ends = tuple[Floats, Floats]


def t_interval(gap: Floats, units: Counts | None, level: float = 0.95) -> Ends:
    """Return an interval of the mean of each row (NaN where missing), with errors by unit.

    Without any spread it is the value itself, from six units on; with fewer there is none.
    """
    mean, error, freedom, n_units = mean_error(gap, units)
    defined = (n_units > 1) & ((error > 0) | (n_units >= DECISIVE))
    half = stdtrit(np.where(n_units > 1, freedom, 1.0), (1 + level) / 2)
    half *= np.where(defined, error, np.nan)
    return mean - half, mean + half


def flip_interval(gap: Floats, units: Counts | None, level: float = 0.95) -> Ends:
    """Return an interval of the mean of each row that inverts the sign-flip test of whole units.

    Fewer than six units can't exclude any difference at 95%. They get the t interval, which
    :func:`agreeing` then makes to hold 0.
    """
    low, high = t_interval(gap, units, level)
    known = ~np.isnan(gap)
    sums = block_sums(np.where(known, gap, 0.0), units)
    sizes = block_sums(known.astype(np.float64), units)
    n_units = (sizes > 0).sum(axis=1)
    for count in np.unique(n_units[2.0 ** (1.0 - n_units) < 1 - level]).tolist():
        subsets = _subsets(count)
        # The empty set is the observation itself, which counts. Of draws, as many as of all.
        rank = int(np.ceil((1 - level) / 2 * (len(subsets) + 1))) - 1
        rank = min(max(rank, 1), len(subsets))
        rows = np.flatnonzero(n_units == count)
        for part in np.array_split(rows, max(1, len(rows) * len(subsets) // _HELD)):
            used = sizes[part] > 0
            total, size = (x[part][used].reshape(len(part), count) for x in (sums, sizes))
            means = np.sort((subsets @ total.T) / (subsets @ size.T), axis=0)
            low[part], high[part] = means[rank - 1], means[-rank]
    return low, high


def _subsets(n: int) -> Floats:
    """Return all subsets of n units but the empty one, or some that are drawn; always the same."""
    if n <= _ALL:
        return ((np.arange(1, 1 << n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
    drawn = np.random.default_rng(n).integers(0, 2, size=(_DRAWS, n)).astype(np.float64)
    return drawn[drawn.any(axis=1)]


def proportions_interval(wins: Floats, losses: Floats, n: Floats, level: float = 0.95) -> Ends:
    r"""Return the score interval of the difference of two paired proportions, by Tango (1998).

    ``wins`` are segments that only the first has right, ``losses`` those that only the second has.
    The ends solve :math:`(b - c - n \delta)^2 = z^2 n (2 q + \delta (1 - \delta))`, in which q is
    the share of losses that is likeliest where the difference is :math:`\delta`.
    """
    z = float(ndtri((1 + level) / 2))
    gap = ratio(wins - losses, n)

    def slack(delta: Floats) -> Floats:
        """By how much z exceeds the observed statistic: positive inside the interval."""
        half = -wins - losses + (2 * n - wins + losses) * delta
        share = np.sqrt(np.maximum(half**2 + 8 * n * losses * delta * (1 - delta), 0)) - half
        share /= 4 * n
        spread = n * (2 * share + delta * (1 - delta))
        return z * np.sqrt(np.maximum(spread, 0)) - np.abs(wins - losses - n * delta)

    ends = []
    for far in (-1.0, 1.0):
        inside, outside = gap.copy(), np.full(gap.shape, far)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            held = slack(middle) >= 0
            inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def agreeing(value: Floats, ends: Ends, p: Floats, level: float = 0.95) -> Ends:
    r"""Move an end that contradicts the test, so that 0 is outside just where it rejects.

    Where p is below 1 - level, the end next to 0 becomes the test-based one of Miettinen,
    :math:`value (1 - z / z_p)`, which is on the same side as the value; else it becomes 0.
    """
    low, high = ends
    alpha = 1 - level
    rejects: NDArray[np.bool_] = p < alpha
    keeps: NDArray[np.bool_] = p >= alpha
    with np.errstate(invalid="ignore", divide="ignore"):
        near = value * (1 - ndtri(1 - alpha / 2) / -ndtri(np.where(rejects, p, 0.01) / 2))
    wrong = rejects & (low <= 0) & (high >= 0)
    low = np.where(wrong & (value > 0), near, np.where(keeps & (low > 0), 0.0, low))
    high = np.where(wrong & (value < 0), near, np.where(keeps & (high < 0), 0.0, high))
    return low, high


def few_units_p(p: Floats, n_units: Counts | Floats, *, two_sided: bool) -> Floats:
    """Return p-values of which those of fewer than six units are at least 1/16.

    Nor are they below what the signs of so many units could reach: the shape of so few differences
    is an assumption that nothing can check.
    """
    sides = 2.0 if two_sided else 1.0
    least = np.maximum(sides * 2.0 ** -np.asarray(n_units, np.float64), 1 / 16)
    return np.where((n_units < DECISIVE) & ~np.isnan(p), np.maximum(p, np.minimum(least, 1)), p)
