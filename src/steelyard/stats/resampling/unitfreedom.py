r"""How much units of unequal size know: degrees of freedom, and percentile intervals that cover.

The spread of a mean over segments is estimated from G sums by unit, not from all segments. Two
things make an interval from few units too narrow. The sums are measured from a mean that they
helped to make, so that their squares are too small by a factor (:math:`(G - 1) / G` for equal
units), and the estimate itself is uncertain, which a t-distribution makes up for. Where sizes
differ, large units count for more and there are fewer degrees of freedom than G - 1: those of a
t-distribution whose variance estimate has the same mean and variance (Satterthwaite), as Bell and
McCaffrey do for regressions.

Mean and variance of the estimate depend on how much segments of a unit have in common, which is
not known. Both ends are taken, nothing in common and everything: of a test the worse one, of a
percentile interval the middle (see :func:`expanded_level`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from steelyard.core.errors import UsageError
from steelyard.core.options import check_fraction
from steelyard.stats.arrays import Counts, Floats, ratio

_WIDEST = math.nextafter(1.0, 0.0)  # all resamples: with very few units there is no wider interval


def unit_sizes(blocks: Counts) -> Floats:
    """Give the number of segments of each unit.

    Examples
    --------
    >>> unit_sizes(np.array([7, 3, 7, 7])).tolist()
    [1.0, 3.0]
    """
    return np.unique(blocks, return_counts=True)[1].astype(np.float64)


def _sizes(sizes: ArrayLike) -> Floats:
    m = np.asarray(sizes, dtype=np.float64)
    if m.ndim != 1 or not (m >= 0).all() or not np.isfinite(m).all():
        raise UsageError("sizes of units are a list of numbers of at least 0")
    return m[m > 0]


def unit_freedom(sizes: ArrayLike) -> float:
    r"""Degrees of freedom of a variance that is estimated from sums by unit, by Satterthwaite.

    With sizes :math:`m_g`, shares :math:`p_g = m_g / n` and sums by unit of what is left of the
    mean, each divided by :math:`\sqrt{1 - p_g}`, the covariance B of these sums gives
    :math:`tr(B)^2 / \|B\|^2`. B is that of segments that have nothing in common,
    :math:`m_g [g = h] - m_g m_h / n`, or that of units whose segments are all alike,
    :math:`m_g m_h ([g = h] - p_g - p_h + \sum p^2)`; the smaller result counts. Units of one size
    have G - 1 in both.

    Parameters
    ----------
    sizes
        Segments of each unit; those without any do not count.

    Returns
    -------
    float
        NaN for fewer than two units.

    Examples
    --------
    >>> unit_freedom([4, 4, 4, 4, 4]), round(unit_freedom([12, 3, 2, 2, 1]), 2)
    (4.0, 1.33)
    """
    m = _sizes(sizes)
    return min(_freedoms(m)) if len(m) > 1 else math.nan


def _freedoms(m: Floats) -> tuple[float, float]:
    """Degrees of freedom where segments of a unit have nothing in common, and everything."""
    most = float(len(m) - 1)
    if (m == m[0]).all():
        return most, most
    apart, alike = (float(own[0]) for own in _both_freedoms(m[None, :]))
    return min(apart, most), min(alike, most)


def freedom_of_sizes(sizes: Floats) -> Floats:
    """Degrees of freedom of the error of a mean, for rows of sizes of units; NaN with one unit.

    Examples
    --------
    >>> sizes = np.array([[1.0, 1, 1, 1], [5.0, 1, 1, 0], [5.0, 0, 0, 0]])
    >>> freedom_of_sizes(sizes).round(3).tolist()
    [3.0, 1.185, nan]
    """
    apart, alike = _both_freedoms(sizes)
    return np.minimum(apart, alike)


def _both_freedoms(sizes: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
    """Degrees of freedom of rows of sizes, under either model of what segments have in common.

    ``counts`` says how often each unit is there; None: once.
    """
    often: Floats | float = 1.0 if counts is None else counts
    p = ratio(sizes, (often * sizes).sum(axis=1, keepdims=True))
    squared = ratio(1.0, 1 - p)  # weights of units
    alike = np.stack([p, p * p], axis=-1) * np.sqrt(squared)[..., None]
    concentration = (often * p * p).sum(axis=1)
    inner = np.zeros((len(p), 2, 2))
    inner[:, 0, 0], inner[:, 0, 1], inner[:, 1, 0] = concentration, -1, -1
    return (
        satterthwaite(squared * p, alike[..., :1], np.full((len(p), 1, 1), -1.0), counts),
        satterthwaite(squared * p * p, alike, inner, counts),
    )


def freedom_of_counts(sizes: Floats, counts: Floats) -> Floats:
    """Degrees of freedom as :func:`freedom_of_sizes`, where each unit occurs so often.

    Takes sizes of units, and resamples x units.

    Examples
    --------
    >>> sizes, counts = np.array([5.0, 1.0, 2.0]), np.array([[1.0, 2, 0], [0.0, 2, 2]])
    >>> freedom_of_counts(sizes, counts).round(3).tolist()
    [1.185, 2.133]
    """
    apart, alike = _both_freedoms(np.where(counts > 0, sizes, 0.0), counts)
    return np.minimum(apart, alike)


def satterthwaite(
    diagonal: Floats, factors: Floats, inner: Floats, counts: Floats | None = None
) -> Floats:
    """tr(B)^2 / ||B||^2 of B = diag(d) + U S U', without B: its size is that of units squared.

    Takes rows x units, rows x units x k and rows x k x k; ``counts`` (rows x units) says how often
    each unit is there, None: once.

    Examples
    --------
    >>> d, u, s = np.ones((1, 3)), np.ones((1, 3, 1)), np.full((1, 1, 1), -1 / 3)
    >>> satterthwaite(d, u, s).round(12).tolist()  # a centring matrix, of rank two
    [2.0]
    """
    often: Floats | float = 1.0 if counts is None else counts
    copies = factors if counts is None else factors * counts[..., None]
    outer = np.swapaxes(copies, 1, 2) @ factors @ inner  # U'U S
    own = ((factors @ inner) * factors).sum(axis=-1)  # the diagonal of U S U'
    trace = (often * diagonal).sum(axis=1) + (often * own).sum(axis=1)
    squares = (often * (diagonal * diagonal + 2 * diagonal * own)).sum(axis=1)
    squares += np.trace(outer @ outer, axis1=1, axis2=2)
    return ratio(trace * trace, squares)


def _shrinkages(m: Floats) -> tuple[float, float]:
    """By how much squared sums by unit are too small: 1 - 1/G for units of one size."""
    p = m / m.sum()
    square = float((p * p).sum())
    return 1 - square, 1 - 2 * float((p**3).sum()) / square + square


def unit_level(level: float, blocks: Counts) -> float:
    r"""Give the level to ask of a percentile interval over units so that it covers ``level``.

    Hesterberg's expanded percentiles: the tails are
    :math:`\Phi(-t_{\nu, \alpha / 2} / \sqrt{1 - 1 / G})` instead of :math:`\alpha / 2`, for a mean
    this is the t-interval. For units of unequal size, degrees of freedom and the factor 1 - 1/G
    are those of :func:`unit_freedom`, in the middle between both ends. It corrects for the number
    of units, not for a statistic that is biased, nor for much skew.

    Measured at 95 % with 20, 50 and 200 units of 1 to 15 segments, means, differences, medians,
    shares of wins and strengths of real documents and of two-level models were covered in 94 to
    97 % of sets, by plain percentiles in 88 to 92 % with 20 units. Two exceptions: a mean of units
    with a skewness of about 3 in 92 to 93 %, and a median of scores with few values in up to
    99 %, for an interval that ends on a value holds it.

    Parameters
    ----------
    level
        What the interval shall cover.
    blocks
        A code per segment; another for each where every segment is a unit of its own.

    Returns
    -------
    float
        NaN for fewer than two units: no interval covers.

    Examples
    --------
    >>> round(unit_level(0.95, np.repeat(np.arange(20), 4)), 4)
    0.9682
    """
    check_fraction(level=level)
    return expanded_level(level, unit_sizes(blocks))


def shrinkage(sizes: ArrayLike) -> tuple[float, float]:
    """Give degrees of freedom, and by how much a variance over resamples of units is too small.

    Resamples let the sizes vary, too, which widens them: the middle of both models is enough. NaN
    for fewer than two units.

    Examples
    --------
    >>> freedom, factor = shrinkage([4] * 20)
    >>> freedom, round(factor, 9)
    (19.0, 0.95)
    """
    m = _sizes(sizes)
    if len(m) < 2:
        return math.nan, math.nan
    return sum(_freedoms(m)) / 2, sum(_shrinkages(m)) / 2


def widened_p(p: Floats, sizes: ArrayLike, *, two_sided: bool = True) -> Floats:
    """Correct p-values of resampled units for their number: as intervals are widened, so are these.

    Examples
    --------
    >>> widened_p(np.array([0.05, 1.0]), [4] * 20).round(4).tolist()
    [0.0713, 1.0]
    """
    freedom, factor = shrinkage(sizes)
    sides = 2 if two_sided else 1
    found = sides * stdtr(freedom, ndtri(p / sides) * math.sqrt(factor))
    return np.asarray(np.where(p >= 1, 1.0, found), dtype=np.float64)


def expanded_level(level: float, sizes: ArrayLike) -> float:
    """Give the level to ask of a percentile interval, as :func:`unit_level`, from sizes of units.

    Examples
    --------
    >>> round(expanded_level(0.95, [4] * 20), 4), round(expanded_level(0.95, [4] * 1000), 4)
    (0.9682, 0.9504)
    """
    check_fraction(level=level)
    freedom, factor = shrinkage(sizes)
    if math.isnan(freedom):
        return math.nan
    asked = 1 - 2 * float(ndtr(stdtrit(freedom, (1 - level) / 2) / math.sqrt(factor)))
    return min(asked, _WIDEST)
