"""Counting pairs: concordant, discordant, and tied in the human score, the metric, or both.

All of Kendall's family is a function of these five counts. Within groups (segments, say) pairs
are counted for all groups at once; one long vector is counted by merging, without forming pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ShapeError
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


def count_pairs_flat(human: Floats, metric: Floats) -> PairCounts:
    """Count all pairs of one long vector in O(n log^2 n) time and O(n) memory; no missing values.

    Examples
    --------
    >>> import numpy as np
    >>> counts = count_pairs_flat(np.array([0.0, 1, 1]), np.array([5.0, 4, 6]))
    >>> counts.concordant.item(), counts.discordant.item(), counts.human_ties.item()
    (1, 1, 1)
    """
    order = np.lexsort((metric, human))
    h = np.unique(human, return_inverse=True)[1][order]
    m = np.unique(metric, return_inverse=True)[1][order]
    n = len(h)
    total = n * (n - 1) // 2
    tied_h = _tied(h)
    tied_m = _tied(np.sort(m))
    tied_both = _tied(h * (int(m.max(initial=0)) + 1) + m)
    discordant = inversions(m)
    concordant = total - tied_h - tied_m + tied_both - discordant
    values = (concordant, discordant, tied_h - tied_both, tied_m - tied_both, tied_both)
    return PairCounts(*(np.array([value], dtype=np.int64) for value in values))


def _tied(ordered: Counts) -> int:
    """Count the pairs of equal values in an ordered vector."""
    if not len(ordered):
        return 0
    edges = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1], True])
    runs = np.diff(edges).astype(np.int64)
    return int((runs * (runs - 1) // 2).sum())


def inversions(codes: Counts) -> int:
    """Count pairs in the wrong order, by merging ever longer sorted blocks, all blocks at once.

    Examples
    --------
    >>> import numpy as np
    >>> inversions(np.array([2, 0, 1, 1]))
    3
    """
    n = len(codes)
    if n < 2:
        return 0
    top = int(codes.max()) + 1
    values = codes.astype(np.int64)
    count, width = 0, 1
    while width < n:
        # Each pair of blocks gets its own range of values: one sort and one search serve them all.
        pair = np.arange(n) // (2 * width)
        keyed = values + pair * top
        left = (np.arange(n) // width) % 2 == 0
        heads, tails = keyed[left], keyed[~left]
        # Blocks are sorted and pairs ascend, so both halves are sorted as a whole.
        larger = np.searchsorted(heads, (pair[~left] + 1) * top) - np.searchsorted(
            heads, tails, side="right"
        )
        count += int(larger.sum())
        keyed.sort()
        values = keyed - pair * top
        width *= 2
    return count
