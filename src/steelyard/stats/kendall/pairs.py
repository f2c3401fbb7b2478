"""Counting pairs: concordant, discordant, and tied in the human score, the metric, or both.

All of Kendall's family is a function of these five counts. Within groups (segments, say) pairs
are counted for all groups at once; one long vector is counted by ranks, without forming pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core import bounds
from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Counts, Floats


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Numbers of pairs per group, by what the human score and the metric say of their order."""

    concordant: Counts
    discordant: Counts
    human_ties: Counts  # tied by the human score only
    metric_ties: Counts  # tied by the metric only
    both_ties: Counts

    @property
    def total(self) -> Counts:
        """All pairs."""
        tied = self.human_ties + self.metric_ties + self.both_ties
        return self.concordant + self.discordant + tied

    def pooled(self) -> PairCounts:
        """Add up the groups."""
        return PairCounts(
            *(
                np.atleast_1d(getattr(self, name).sum())
                for name in ("concordant", "discordant", "human_ties", "metric_ties", "both_ties")
            )
        )


def count_pairs(
    human: Floats, metric: Floats, *, epsilon: float = 0.0, threshold: float = 0.0
) -> PairCounts:
    """Count the pairs of rows within each column; cells missing in either score take no part.

    Parameters
    ----------
    human, metric
        Items x groups (systems x segments, to count within segments).
    epsilon
        Metric differences of at most this are ties.
    threshold
        Human differences below this are ties.

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, np.nan]])
    >>> metric = np.array([[0.1, 0.5], [0.3, 0.5], [0.2, 0.9]])
    >>> counts = count_pairs(human, metric)
    >>> counts.concordant.tolist(), counts.discordant.tolist(), counts.both_ties.tolist()
    ([2, 0], [1, 0], [0, 1])
    """
    bounds.number(0, epsilon=epsilon, threshold=threshold)
    if human.shape != metric.shape or human.ndim != 2:
        raise ShapeError(f"expected two matrices of one shape, got {human.shape}, {metric.shape}")
    known = ~(np.isnan(human) | np.isnan(metric))
    if not known.all():
        human, metric = np.where(known, human, np.nan), np.where(known, metric, np.nan)
    n = known.sum(axis=0)
    # Numbers of pairs that fit into bytes are added up many at a time.
    dtype = np.uint8 if len(human) <= 23 else np.int64
    sums = np.zeros((4, human.shape[1]), dtype=dtype)
    for i in range(len(human) - 1):
        h_up, h_down = _above(human, i, threshold, at_least=True)
        m_up, m_down = _above(metric, i, epsilon, at_least=False)
        same = h_up & m_up
        same |= h_down & m_down
        h_up |= h_down
        m_up |= m_down
        for row, part in enumerate((same, h_up & m_up, h_up, m_up)):
            sums[row] += np.add.reduce(part, axis=0, dtype=dtype)
    concordant, clear, clear_h, clear_m = sums.astype(np.int64)
    ties_h, ties_m = clear_m - clear, clear_h - clear
    both = n * (n - 1) // 2 - clear - ties_h - ties_m
    return PairCounts(concordant, clear - concordant, ties_h, ties_m, both)


def _above(
    x: Floats, i: int, margin: float, *, at_least: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which later rows lie below row i and which above, by more than a margin or so much."""
    if not margin:
        return x[i] > x[i + 1 :], x[i] < x[i + 1 :]
    gap = x[i] - x[i + 1 :]
    return (gap >= margin, gap <= -margin) if at_least else (gap > margin, gap < -margin)


def count_pairs_flat(
    human: Floats, metric: Floats, *, epsilon: float = 0.0, threshold: float = 0.0
) -> PairCounts:
    """Count all pairs of one long vector as ``count_pairs`` does; no missing values.

    In order of the metric, the metric ties of a cell are the cells up to some place, and in order
    of the human score, those clearly above or below it are the levels from some other on. Counting
    is then counting ranks: O(n log n) time, O(n) memory.

    Examples
    --------
    >>> import numpy as np
    >>> human, metric = np.array([0.0, 1, 1]), np.array([5.0, 4, 6])
    >>> counts = count_pairs_flat(human, metric)
    >>> counts.concordant.item(), counts.discordant.item(), counts.human_ties.item()
    (1, 1, 1)
    >>> count_pairs_flat(human, metric, epsilon=1.0).metric_ties.item()
    2
    """
    bounds.number(0, epsilon=epsilon, threshold=threshold)
    n = len(human)
    order = np.argsort(metric, kind="stable")
    levels, own = np.unique(human[order], return_inverse=True)
    clear = reach(metric[order], epsilon)
    # A difference below the threshold is one of at most the float before it.
    above = reach(levels, max(0.0, float(np.nextafter(threshold, -np.inf))))
    below = np.searchsorted(above, np.arange(len(levels)), side="right")
    cells = np.r_[0, np.cumsum(np.bincount(own, minlength=len(levels)))]  # of lower levels
    human_clear = int((n - cells[above[own]]).sum())
    metric_tied = int((clear - np.arange(1, n + 1)).sum())
    higher, lower = above[own], below[own]
    before = count_below(own, np.r_[clear, clear], np.r_[higher, lower])
    concordant = int((n - clear - cells[higher] + before[:n]).sum())
    discordant = int((cells[lower] - before[n:]).sum())
    metric_ties = human_clear - concordant - discordant
    both_ties = metric_tied - metric_ties
    human_ties = n * (n - 1) // 2 - human_clear - both_ties
    values = (concordant, discordant, human_ties, metric_ties, both_ties)
    return PairCounts(*(np.array([value], dtype=np.int64) for value in values))


def reach(ordered: Floats, epsilon: float, end: Counts | None = None) -> Counts:
    """Find for each value of an ascending vector the first later place more than epsilon above it.

    Differences are compared as the floats they are: they never fall along the vector, so that they
    can be bisected, whereas a search for value + epsilon would round elsewhere. With ``end``, each
    value looks no further than there.

    Examples
    --------
    >>> import numpy as np
    >>> reach(np.array([0.0, 0.1, 0.1, 0.4]), 0.1).tolist()
    [3, 3, 3, 4]
    """
    n = len(ordered)
    low = np.arange(1, n + 1)
    high = np.full(n, n) if end is None else end.copy()
    while (searching := low < high).any():
        middle = np.minimum((low + high) // 2, n - 1)
        within = ordered[middle] - ordered <= epsilon
        low = np.where(searching & within, middle + 1, low)
        high = np.where(searching & ~within, middle, high)
    return low


def count_below(codes: Counts, ends: Counts, bounds: Counts) -> Counts:
    """Count for each query how many of the first ``end`` codes are below its bound.

    Digit by digit, the highest first: of the codes that agree with the bound so far, those with a
    0 where it has a 1 are below it. The others are followed to where they stand after the codes
    are parted by that digit (a wavelet matrix).

    Examples
    --------
    >>> import numpy as np
    >>> count_below(np.array([2, 0, 1, 1]), np.array([2, 3, 4]), np.array([1, 2, 2])).tolist()
    [1, 2, 3]
    """
    counts, first, last = np.zeros_like(ends), np.zeros_like(ends), ends
    top = max(int(codes.max(initial=0)), int(bounds.max(initial=0)))
    for digit in reversed(range(top.bit_length())):
        one = (codes >> digit & 1).astype(bool)
        zeros = np.r_[0, np.cumsum(~one)]  # among the first 0, 1, 2, ... codes
        before, within = zeros[first], zeros[last]
        up = (bounds >> digit & 1).astype(bool)
        counts = counts + np.where(up, within - before, 0)
        first = np.where(up, first - before + zeros[-1], before)
        last = np.where(up, last - within + zeros[-1], within)
        codes = np.r_[codes[~one], codes[one]]
    return counts
