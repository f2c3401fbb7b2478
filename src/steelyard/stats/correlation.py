"""Correlation of a metric with the human score: Pearson, Spearman, Kendall, PDP, over groups.

Functions take (items x groups) matrices and give one value per group, NaN where it is undefined
(fewer than two cells, or nothing varies). Undefined groups are never counted as zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.kendall.counting import PairCounts, count_pairs

Bools = NDArray[np.bool_]
_DIGITS = 12


def _together(human: Floats, metric: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Blank the cells that either lacks; give both and the number of cells per group."""
    known = ~(np.isnan(human) | np.isnan(metric))
    counts: NDArray[np.int64] = known.sum(axis=0)
    return np.where(known, human, np.nan), np.where(known, metric, np.nan), counts


def _centred(x: Floats, counts: NDArray[np.int64]) -> Floats:
    """Subtract each group's mean; missing cells become 0. Constant groups become exactly 0."""
    known = ~np.isnan(x)
    filled = np.where(known, x, 0.0)
    mean = filled.sum(axis=0) / np.maximum(counts, 1)
    low = np.where(known, x, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, x, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(known & (low < high), x - mean, 0.0)


def pearson(human: Floats, metric: Floats) -> Floats:
    """Pearson's r within each column.

    Examples
    --------
    >>> import numpy as np
    >>> pearson(np.array([[0.0, 1], [1, 1], [2, 1]]), np.array([[1.0, 1], [2, 2], [4, 3]])).round(4)
    array([0.982,   nan])
    """
    h, m, counts = _together(human, metric)
    h, m = _centred(h, counts), _centred(m, counts)
    return _cosine(h, m)


def cell_pearson(x: Floats, y: Floats) -> tuple[float, int]:
    """Correlate the cells that both have: Pearson's r, NaN where nothing varies, and their number.

    What :func:`pearson` gives of a single column but for the last digits, which reports have had.

    Examples
    --------
    >>> import numpy as np
    >>> r, n = cell_pearson(np.array([1.0, 2.0, np.nan]), np.array([2.0, 4.0, 9.0]))
    >>> round(r, 12), n
    (1.0, 2)
    """
    both = ~(np.isnan(x) | np.isnan(y))
    a, b = x[both], y[both]
    if a.size < 2 or a.max() == a.min() or b.max() == b.min():
        return float("nan"), a.size
    return float(np.clip(_unit(a) @ _unit(b), -1, 1)), a.size


def pearson_influence(x: Floats, y: Floats) -> tuple[float, Floats]:
    """Return Pearson's r of two columns without gaps, and the influence of each row on it.

    Both are NaN where a column does not vary.
    """
    if min(np.ptp(v) - 1e-12 * np.abs(v).max() for v in (x, y)) <= 0:
        return float("nan"), np.full(len(x), np.nan)
    a, b = ((v - v.mean()) / v.std() for v in (x, y))
    r = max(-1.0, min(1.0, float(a @ b) / len(x)))
    return r, a * b - r * (a * a + b * b) / 2


def _unit(x: Floats) -> Floats:
    """Centre and scale to length one; first by the largest value, so that no square underflows."""
    x = x - x.mean()
    x = x / np.abs(x).max()
    return x / np.sqrt(x @ x)


def _cosine(h: Floats, m: Floats) -> Floats:
    # Scaling by the largest value first keeps squares from under- or overflowing.
    h, m = (x / np.maximum(np.abs(x).max(axis=0, initial=0), 1e-300) for x in (h, m))
    size = np.sqrt((h * h).sum(axis=0) * (m * m).sum(axis=0))
    dot = (h * m).sum(axis=0)
    return np.clip(ratio(dot, size), -1, 1)


def ranks(x: Floats) -> Floats:
    """Rank each column from 1, ties by their mean rank; missing cells stay missing.

    Examples
    --------
    >>> import numpy as np
    >>> ranks(np.array([[3.0], [1.0], [3.0], [np.nan]])).ravel().tolist()
    [2.5, 1.0, 2.5, nan]
    """
    n, groups = x.shape
    if not x.size:
        return x.copy()
    order = np.argsort(x, axis=0, kind="stable")  # NaN last
    ordered = np.take_along_axis(x, order, axis=0)
    first = np.ones((n, groups), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    runs = (np.cumsum(first.ravel(order="F")) - 1).reshape((n, groups), order="F")
    place = np.broadcast_to(np.arange(1, n + 1, dtype=np.float64)[:, None], (n, groups))
    mean = np.bincount(runs.ravel(), place.ravel()) / np.bincount(runs.ravel())
    ranked = np.empty_like(x)
    np.put_along_axis(ranked, order, mean[runs], axis=0)
    return np.where(np.isnan(x), np.nan, ranked)


def spearman(human: Floats, metric: Floats) -> Floats:
    """Spearman's rho within each column: Pearson's r of the ranks."""
    h, m, _ = _together(human, metric)
    return pearson(ranks(h), ranks(m))


def kendall_b(counts: PairCounts) -> Floats:
    """Kendall's tau-b of each group."""
    clear = (counts.concordant + counts.discordant).astype(np.float64)
    clear_h, clear_m = clear + counts.metric_ties, clear + counts.human_ties
    score = counts.concordant - counts.discordant
    found = ratio(score, np.sqrt(clear_h) * np.sqrt(clear_m))
    return np.minimum(np.maximum(found, -1), 1)


def kendall_c(
    counts: PairCounts, n: NDArray[np.int64] | Floats, levels: NDArray[np.int64]
) -> Floats:
    """Kendall's tau-c: ``n`` items per group, ``levels`` distinct values of the coarser score."""
    score = 2.0 * (counts.concordant - counts.discordant)
    room = n.astype(np.float64) ** 2 * (levels - 1) / np.maximum(levels, 1)
    return ratio(score, room)


def distinct(x: Floats) -> NDArray[np.int64]:
    """Count the distinct values of each column; missing cells do not count."""
    ordered = np.sort(x, axis=0)
    known = ~np.isnan(ordered)
    new = known.copy()
    new[1:] &= ordered[1:] != ordered[:-1]
    result: NDArray[np.int64] = new.sum(axis=0)
    return result


def pdp(human: Floats, metric: Floats) -> float:
    """Pearson's r of all pairwise differences within groups, pooled over groups.

    The sums over pairs are n times the sums over cells of the centred scores, so pairs are never
    formed. NaN if no group varies.
    """
    h, m, counts = _together(human, metric)
    h, m = _centred(h, counts), _centred(m, counts)
    weight = np.sqrt(counts)
    return float(_cosine((h * weight).reshape(-1, 1), (m * weight).reshape(-1, 1))[0])


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
