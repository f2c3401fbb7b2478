r"""How much units of unequal size know: degrees of freedom, and percentile intervals that cover.

The spread of a mean over segments is estimated from G sums by unit, not from all segments. Two
things make an interval from few units too narrow. The sums are measured from a mean that they
helped to make, so that their squares are too small by a factor (:math:`(G - 1) / G` for equal
units), and the estimate itself is uncertain, which a t-distribution makes up for. Where sizes
differ, large units count for more and there are fewer degrees of freedom than G - 1: those of a
t-distribution whose variance estimate has the same mean and variance (Satterthwaite), as Bell and
McCaffrey do for regressions.

With sizes :math:`m_g`, shares :math:`p_g = m_g / n` and sums by unit of what is left of the mean,
each divided by :math:`\sqrt{1 - p_g}`, the covariance B of these sums gives
:math:`tr(B)^2 / \|B\|^2`. Mean and variance of the estimate depend on how much segments of a unit
have in common, which is not known. Both ends are taken: nothing in common, B is
:math:`m_g [g = h] - m_g m_h / n`, and everything,
:math:`m_g m_h ([g = h] - p_g - p_h + \sum p^2)`. A test takes the worse one, a percentile interval
the middle (see :func:`expanded_level`). All depend on the sizes of units alone, never on scores: a
test that is chosen by the data has no level.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.distributions import ndtr, ndtri, stdtr, stdtrit

_WIDEST = math.nextafter(1.0, 0.0)  # all resamples: with very few units there is no wider interval
_ROUNDING = 1e-9  # share of G - 1 by which units of one size may be off it


def unit_sizes(units: Counts) -> Floats:
    """Return the number of segments of each unit, from a code per segment."""
    return np.unique(units, return_counts=True)[1].astype(np.float64)


def unit_freedom(sizes: ArrayLike) -> float:
    """Return the degrees of freedom of the error of a mean, from sizes of units; NaN with one."""
    return float(freedom_of_sizes(np.asarray(sizes, dtype=np.float64)[None, :])[0])


def freedom_of_sizes(sizes: Floats) -> Floats:
    """Return the same for rows of sizes; what has no segments is no unit."""
    return np.minimum(*_freedoms(sizes, np.ones(sizes.shape)))


def freedom_of_counts(sizes: Floats, counts: Floats) -> Floats:
    """Return the same where each unit occurs so often: sizes of units, and resamples x units."""
    return np.minimum(*_freedoms(np.where(counts > 0, sizes, 0.0), counts))


def _freedoms(sizes: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Degrees of freedom of rows of sizes: nothing in common within units, and everything."""
    p = ratio(sizes, (counts * sizes).sum(axis=1, keepdims=True))
    squared = ratio(1.0, 1 - p)  # weights of units
    alike = np.stack([p, p * p], axis=-1) * np.sqrt(squared)[..., None]
    inner = np.zeros((len(p), 2, 2))
    inner[:, 0, 0] = (counts * p * p).sum(axis=1)
    inner[:, 0, 1] = inner[:, 1, 0] = -1
    most = (counts * (sizes > 0)).sum(axis=1) - 1  # which units of one size reach
    apart = satterthwaite(squared * p, alike[..., :1], np.full((len(p), 1, 1), -1.0), counts)
    together = satterthwaite(squared * p * p, alike, inner, counts)
    return _settled(apart, most), _settled(together, most)


def _settled(freedom: Floats, most: Floats) -> Floats:
    """Put degrees of freedom to a whole number where they differ from it by rounding alone."""
    return np.where(np.abs(freedom - most) < _ROUNDING * most, most, freedom)


def satterthwaite(
    diagonal: Floats, factors: Floats, inner: Floats, counts: Floats | None = None
) -> Floats:
    """tr(B)^2 / ||B||^2 of B = diag(d) + U S U', without B: its size is that of units squared.

    Takes rows x units, rows x units x k and rows x k x k; ``counts`` (rows x units) says how often
    each unit is there, None: once.
    """
    often = np.ones(diagonal.shape) if counts is None else counts
    outer = np.swapaxes(factors * often[..., None], 1, 2) @ factors @ inner  # U'U S
    added = ((factors @ inner) * factors).sum(axis=-1)  # the diagonal of U S U'
    trace = (often * (diagonal + added)).sum(axis=1)
    squares = (often * (diagonal * diagonal + 2 * diagonal * added)).sum(axis=1)
    squares += np.trace(outer @ outer, axis1=1, axis2=2)
    return ratio(trace * trace, squares)


def shrinkage(sizes: ArrayLike) -> tuple[float, float]:
    """Return degrees of freedom, and by how much a variance over resamples of units is too small.

    Resamples let the sizes vary, too: the middle of both models is enough. NaN below two units.
    """
    m = np.asarray(sizes, dtype=np.float64)
    if np.count_nonzero(m) < 2:
        return math.nan, math.nan
    apart, alike = (float(rows[0]) for rows in _freedoms(m[None, :], np.ones((1, len(m)))))
    p = m / m.sum()
    square = float((p * p).sum())
    factors = 1 - square, 1 - 2 * float((p**3).sum()) / square + square
    return (apart + alike) / 2, sum(factors) / 2


def expanded_level(level: float, sizes: ArrayLike) -> float:
    r"""Return the level to ask of a percentile interval over units so that it covers ``level``.

    Hesterberg's expanded percentiles: the tails are :math:`\Phi(-t_{\nu, \alpha / 2} / \sqrt{1 - 1
    / G})` instead of :math:`\alpha / 2`, with degrees of freedom and the factor 1 - 1/G by
    :func:`shrinkage`. Measured at 95% with 20 to 200 units it covers 94 to 97%, plain percentiles
    88 to 92% with 20; a skewness of 3 gives 92 to 93%. NaN below two units.
    """
    freedom, factor = shrinkage(sizes)
    if math.isnan(freedom):
        return math.nan
    asked = 1 - 2 * float(ndtr(stdtrit(freedom, (1 - level) / 2) / math.sqrt(factor)))
    return min(asked, _WIDEST)


def widened_p(p: Floats, sizes: ArrayLike, *, two_sided: bool = True) -> Floats:
    """Correct p-values of resampled units for their number, as intervals are widened."""
    freedom, factor = shrinkage(sizes)
    sides = 2 if two_sided else 1
    widened = sides * stdtr(freedom, ndtri(p / sides) * math.sqrt(factor))
    return np.asarray(np.where(p >= 1, 1.0, widened), dtype=np.float64)
