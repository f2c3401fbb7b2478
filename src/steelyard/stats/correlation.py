"""Correlation of a metric with the human score: Pearson, Spearman, Kendall, PDP, over groups.

Functions take (items x groups) matrices and return one value per group, NaN where it is undefined
(fewer than two cells, or nothing varies). Undefined groups never count as zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.kendall.counting import PairCounts, count_pairs
from steelyard.stats.ranks import levelled

Bools = NDArray[np.bool_]


def _shared(human: Floats, metric: Floats) -> tuple[Floats, Floats, Counts]:
    """Blank the cells that either lacks; return both and the number of cells per group."""
    present = ~(np.isnan(human) | np.isnan(metric))
    return np.where(present, human, np.nan), np.where(present, metric, np.nan), present.sum(axis=0)


def _centred(x: Floats, counts: Counts) -> Floats:
    """Subtract each group's mean; missing cells become 0, and so do constant groups, exactly."""
    present = ~np.isnan(x)
    mean = np.where(present, x, 0.0).sum(axis=0) / np.maximum(counts, 1)
    low = np.where(present, x, np.inf).min(axis=0, initial=np.inf)
    high = np.where(present, x, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(present & (low < high), x - mean, 0.0)


def _cosine(h: Floats, m: Floats) -> Floats:
    # Scaling by the largest value first keeps squares from under- or overflowing.
    h, m = (x / np.maximum(np.abs(x).max(axis=0, initial=0), 1e-300) for x in (h, m))
    size = np.sqrt((h * h).sum(axis=0) * (m * m).sum(axis=0))
    return np.clip(ratio((h * m).sum(axis=0), size), -1, 1)


def pearson(human: Floats, metric: Floats) -> Floats:
    """Return Pearson's r within each column."""
    h, m, counts = _shared(human, metric)
    return _cosine(_centred(h, counts), _centred(m, counts))


def cell_pearson(x: Floats, y: Floats) -> tuple[float, int]:
    """Return Pearson's r of the cells that both have, and their number."""
    both = ~(np.isnan(x) | np.isnan(y))
    return float(pearson(x[both][:, None], y[both][:, None])[0]), int(both.sum())


def ranks(x: Floats) -> Floats:
    """Rank each column from 1, ties by their mean rank; missing cells stay missing."""
    n, groups = x.shape
    if not x.size:
        return x.copy()
    order = np.argsort(x, axis=0, kind="stable")  # NaN last
    ordered = np.take_along_axis(x, order, axis=0)
    first = np.ones((n, groups), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    runs = (np.cumsum(first.ravel(order="F")) - 1).reshape((n, groups), order="F")
    position = np.broadcast_to(np.arange(1, n + 1, dtype=np.float64)[:, None], (n, groups))
    mean = np.bincount(runs.ravel(), position.ravel()) / np.bincount(runs.ravel())
    ranked = np.empty_like(x)
    np.put_along_axis(ranked, order, mean[runs], axis=0)
    return np.where(np.isnan(x), np.nan, ranked)


def spearman(human: Floats, metric: Floats) -> Floats:
    """Return Spearman's rho within each column: Pearson's r of the ranks."""
    h, m, _ = _shared(human, metric)
    return pearson(ranks(h), ranks(m))


def pdp(human: Floats, metric: Floats) -> float:
    """Return Pearson's r of all pairwise differences within groups, pooled over groups.

    Sums over pairs are n times sums over cells of centred scores. NaN if no group varies.
    """
    h, m, counts = _shared(human, metric)
    columns = ((_centred(x, counts) * np.sqrt(counts)).reshape(-1, 1) for x in (h, m))
    return float(_cosine(*columns)[0])


def kendall_b(counts: PairCounts) -> Floats:
    """Return Kendall's tau-b of each group."""
    clear = (counts.concordant + counts.discordant).astype(np.float64)
    clear_h, clear_m = clear + counts.metric_ties, clear + counts.human_ties
    score = counts.concordant - counts.discordant
    return np.clip(ratio(score, np.sqrt(clear_h) * np.sqrt(clear_m)), -1, 1)


def kendall_c(counts: PairCounts, n: Counts | Floats, levels: Counts) -> Floats:
    """Return Kendall's tau-c: ``n`` items per group, ``levels`` values of the coarser score."""
    score = 2.0 * (counts.concordant - counts.discordant)
    return ratio(score, n.astype(np.float64) ** 2 * (levels - 1) / np.maximum(levels, 1))


def distinct(x: Floats) -> Counts:
    """Count the distinct values of each column; missing cells do not count."""
    ordered = np.sort(x, axis=0)
    is_new = ~np.isnan(ordered)
    is_new[1:] &= ordered[1:] != ordered[:-1]
    return np.asarray(is_new.sum(axis=0))


def order_disagreement(first: Floats, second: Floats) -> Floats:
    """Return the share of system pairs that two rankings order differently, (1 - tau-b) / 2."""
    return (1 - kendall_b(count_pairs(levelled(first).T, levelled(second).T))) / 2


def top_systems(scores: Floats, n: int) -> Bools:
    """Return which systems are among the best ``n``, with all who tie with the last of them."""
    values = levelled(scores)
    with np.errstate(invalid="ignore"):
        above = (values[:, None, :] > values[:, :, None]).sum(axis=2)
    return np.asarray((above < n) & ~np.isnan(values))


def sets_differ(first: Bools, second: Bools) -> Floats:
    """Return 1 where sets of systems differ, 0 where not; NaN where one of them is empty."""
    defined = first.any(axis=1) & second.any(axis=1)
    return np.where(defined, (first != second).any(axis=1), np.nan)


def joint_shares(significant: Bools) -> Floats:
    """Return the share of the pairs that test i finds different which test j does, too.

    ``significant`` is tests x pairs; the diagonal is the share of all pairs. NaN where i finds
    none.
    """
    hits = significant.astype(np.float64)
    both = hits @ hits.T
    alone = np.diagonal(both).copy()
    shares = ratio(both, alone[:, None])
    np.fill_diagonal(shares, ratio(alone, significant.shape[1]))
    return shares


def pearson_influence(x: Floats, y: Floats) -> tuple[float, Floats]:
    """Return Pearson's r of complete columns and the influence of each row; NaN if constant."""
    if min(np.ptp(v) - 1e-12 * np.abs(v).max() for v in (x, y)) <= 0:
        return float("nan"), np.full(len(x), np.nan)
    a, b = ((v - v.mean()) / v.std() for v in (x, y))
    r = max(-1.0, min(1.0, float(a @ b) / len(x)))
    return r, a * b - r * (a * a + b * b) / 2
