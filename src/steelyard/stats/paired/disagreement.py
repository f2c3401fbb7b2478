"""How much two rankings of the same systems disagree: on pairs, on the best, on the top.

Rankings come as scores, rankings x systems, higher is better and NaN where a system has no place.
Scores that agree to twelve digits are equal: rounding must not decide who is best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.correlation import kendall_b
from steelyard.stats.kendall.pairs import count_pairs

Bools = NDArray[np.bool_]
_DIGITS = 12


def order_disagreement(first: Floats, second: Floats) -> Floats:
    r"""Share of the pairs of systems that two rankings order differently, for each ranking.

    :math:`(1 - \tau_b) / 2` with Kendall's tau-b, so that ties count for neither side; NaN where
    one of the rankings has nothing but ties.

    Examples
    --------
    >>> one, two = np.array([[3.0, 2.0, 1.0]]), np.array([[3.0, 1.0, 2.0]])
    >>> order_disagreement(one, two).round(4).tolist()
    [0.3333]
    >>> order_disagreement(one, np.ones((1, 3))).tolist()
    [nan]
    """
    if first.shape != second.shape or first.ndim != 2:
        raise ShapeError(
            f"expected two arrays of rankings x systems, got {first.shape} and {second.shape}"
        )
    return (1 - kendall_b(count_pairs(settled(first).T, settled(second).T))) / 2


def top_systems(scores: Floats, n: int) -> Bools:
    """Tell which systems are among the best ``n``; whoever ties with the last of them is, too.

    Examples
    --------
    >>> top_systems(np.array([[0.3, 0.9, 0.3, 0.1]]), 2).tolist()
    [[True, True, True, False]]
    """
    if n < 1:
        raise UsageError(f"the top has at least one system, got {n}")
    values = settled(scores)
    with np.errstate(invalid="ignore"):
        above = (values[:, None, :] > values[:, :, None]).sum(axis=2)
    return np.asarray((above < n) & ~np.isnan(values))


def sets_differ(first: Bools, second: Bools) -> Floats:
    """Tell, by 1 or 0, whether sets of systems differ; NaN where one of them is empty.

    Examples
    --------
    >>> one, two = np.array([[1, 1, 0], [1, 0, 0]]) > 0, np.array([[1, 1, 0], [0, 1, 0]]) > 0
    >>> sets_differ(one, two).tolist()
    [0.0, 1.0]
    """
    some = first.any(axis=1) & second.any(axis=1)
    return np.where(some, (first != second).any(axis=1), np.nan)


def settled(scores: Floats) -> Floats:
    """Round to twelve significant digits.

    Examples
    --------
    >>> settled(np.array([0.1 + 0.2, 0.0])).tolist()
    [0.3, 0.0]
    """
    size = np.abs(scores)
    known = np.isfinite(scores) & (size > 0)
    place = np.floor(np.log10(np.where(known, size, 1.0)))
    # Two steps, because one power of ten may be beyond what a double holds.
    shift = _DIGITS - 1 - place
    half = np.trunc(shift / 2)
    one, two = 10.0**half, 10.0 ** (shift - half)
    return np.where(known, np.rint(scores * one * two) / one / two, scores)


def joint_shares(significant: Bools) -> Floats:
    """Share of the pairs that test i finds different which test j does, too: tests x tests.

    The diagonal holds the share of all pairs that a test finds different. NaN where test i finds
    none. ``significant`` is tests x pairs.

    Examples
    --------
    >>> found = np.array([[1, 1, 0, 0], [1, 0, 0, 0]]) > 0
    >>> joint_shares(found).tolist()
    [[0.5, 0.5], [1.0, 0.25]]
    """
    found = significant.astype(np.float64)
    both = found @ found.T
    own = np.diagonal(both).copy()
    shares = ratio(both, own[:, None])
    np.fill_diagonal(shares, ratio(own, np.full(len(own), significant.shape[1])))
    return shares
