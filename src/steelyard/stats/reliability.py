r"""How far a mean over some raters is to be relied on: variance of outputs against that of raters.

A rating is the worth of an output plus what this rater made of it,

.. math:: y_{or} = \mu + a_o + e_{or},

each rater of an output drawn anew. The reliability of one rating is the intraclass correlation
:math:`\rho = \sigma_a^2 / (\sigma_a^2 + \sigma_e^2)`: what two raters of one output share. A mean
over k of them has :math:`\rho_k = k\rho / (1 + (k - 1)\rho)` (Spearman and Brown), and nothing can
correlate with it by more than :math:`\sqrt{\rho_k}`.

Components come from the analysis of variance, which is made of sums over outputs: a resample of
whole segments or documents is a weighted sum of theirs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core import bounds
from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats, group_sums, ratio

_ROUNDING = 1e-9  # of the number of ratings: what is less is 0


def one_way_sums(
    value: Floats,
    output: NDArray[np.integer],
    group: NDArray[np.integer] | None = None,
    n_groups: int = 1,
) -> Floats:
    """Add up what the analysis of variance needs, for each group of outputs: groups x 6.

    The columns are ratings, outputs, squared numbers of ratings, the sum of ratings, that of
    squared means of outputs times their ratings, and that of squares within outputs.

    Parameters
    ----------
    value
        A number per rating.
    output
        The code of the output that it is of.
    group
        The code of the unit that its output belongs to; None puts all into one.
    n_groups
        How many units there are.

    Examples
    --------
    >>> one_way_sums(np.array([1.0, 3, 5, 7]), np.array([0, 0, 1, 1])).tolist()
    [[4.0, 2.0, 8.0, 0.0, 16.0, 4.0]]
    """
    bounds.whole(1, n_groups=n_groups)
    own = np.zeros(len(value), dtype=np.int64) if group is None else np.asarray(group)
    if not value.shape == output.shape == own.shape or value.ndim != 1:
        raise ShapeError(f"{value.shape} values but {output.shape} outputs, {own.shape} groups")
    if not len(value):
        return np.zeros((n_groups, 6))
    first, code = np.unique(output, return_index=True, return_inverse=True)[1:]
    # Components do not depend on where 0 is, and digits are lost if the mean is large.
    x = value - value.mean()
    n = group_sums(code, None, len(first))
    total = group_sums(code, x, len(first))
    mean = total / n
    within = group_sums(code, (x - mean[code]) ** 2, len(first))
    columns = (n, np.ones(len(first)), n**2, total, n * mean**2, within)
    place = own[first]
    return np.stack([group_sums(place, column, n_groups) for column in columns], axis=1)


def one_way_components(sums: Floats) -> tuple[Floats, Floats]:
    """Give the variances between and within outputs, for rows of such sums.

    The first can be below 0; either is NaN where there is nothing to tell it from.

    Examples
    --------
    >>> between, within = one_way_components(np.array([4.0, 2.0, 8.0, 0.0, 16.0, 4.0]))
    >>> float(between), float(within)
    (7.0, 2.0)
    """
    n, outputs, squares, total, means, inside = np.moveaxis(np.asarray(sums), -1, 0)
    within = _over(inside, n - outputs, n)
    between = means - ratio(total**2, n)
    return _over(between - (outputs - 1) * within, n - ratio(squares, n), n), within


def _over(top: Floats, bottom: Floats, size: Floats) -> Floats:
    return ratio(top, np.where(bottom > _ROUNDING * size, bottom, 0.0))


def intraclass(between: ArrayLike, within: ArrayLike) -> Floats:
    """Give the reliability of one rating; 0 where outputs do not differ more than their ratings.

    Examples
    --------
    >>> float(intraclass(7.0, 2.0).round(4)), float(intraclass(-1.0, 2.0))
    (0.7778, 0.0)
    """
    own = np.asarray(between, dtype=np.float64)
    above = np.where(np.isnan(own), np.nan, np.maximum(own, 0.0))
    return ratio(above, above + np.asarray(within, dtype=np.float64))


def spearman_brown(rho: ArrayLike, raters: ArrayLike) -> Floats:
    """Give the reliability of a mean over so many raters, from that of one.

    Examples
    --------
    >>> spearman_brown(0.25, [1, 3, 15]).round(3).tolist()
    [0.25, 0.5, 0.833]
    """
    one, k = np.asarray(rho, dtype=np.float64), np.asarray(raters, dtype=np.float64)
    return ratio(k * one, 1 + (k - 1) * one)


def raters_needed(rho: ArrayLike, target: float) -> Floats:
    """Give the number of raters whose mean is as reliable as wanted; infinite if one tells nothing.

    Examples
    --------
    >>> raters_needed([0.25, 0.0, np.nan], 0.8).round(6).tolist()
    [12.0, inf, nan]
    """
    bounds.fraction(target=target)
    one = np.asarray(rho, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(target * (1 - one) / (one * (1 - target)))
