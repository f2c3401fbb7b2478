"""Pairs counted under many human thresholds at once.

In order of the human difference, the pairs that a threshold keeps are those from some place on, so
one sort and running sums serve all thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.kendall.pairs import PairCounts

#: Scores are means of whole numbers: what rounding took from a difference is given back.
ROUNDING = 1e-9


def threshold_counts(
    human: Floats, metric: Floats, thresholds: Sequence[float], *, epsilon: float = 0.0
) -> PairCounts:
    """Count pairs by what people and the metric say of their order, for each threshold.

    Parameters
    ----------
    human, metric
        Difference of each pair; pairs that lack either take no part.
    thresholds
        Human differences below one are ties; a difference of 0 is one for any threshold.
    epsilon
        Metric differences of at most this are ties.

    Examples
    --------
    >>> counts = threshold_counts(np.array([30.0, -10, 50]), np.array([1.0, 2, 0]), [0, 25])
    >>> counts.concordant.tolist(), counts.discordant.tolist(), counts.human_ties.tolist()
    ([1, 1], [1, 0], [0, 1])
    """
    bounds.numbers(0, empty=True, thresholds=thresholds)
    bounds.number(0, epsilon=epsilon)
    if human.shape != metric.shape or human.ndim != 1:
        raise ShapeError(f"expected two vectors of one length, got {human.shape}, {metric.shape}")
    known = ~(np.isnan(human) | np.isnan(metric))
    h, m = human[known], metric[known]
    order = np.argsort(np.abs(h), kind="stable")
    h, m = h[order], m[order]
    size = np.abs(h)
    least = np.searchsorted(size, 0.0, side="right")
    first = np.maximum(np.searchsorted(size, np.array(thresholds, dtype=float) - ROUNDING), least)
    clear = np.abs(m) > epsilon
    agree = clear & ((h > 0) == (m > 0))
    kept = len(h) - first
    decided, concordant = _from(clear, first), _from(agree, first)
    tied = len(h) - int(clear.sum())
    metric_ties = kept - decided
    human_ties = int(clear.sum()) - decided
    return PairCounts(concordant, decided - concordant, human_ties, metric_ties, tied - metric_ties)


def _from(true: np.ndarray, first: Counts) -> Counts:
    """Count what is true from each place on."""
    before = np.r_[0, np.cumsum(true)]
    counts: Counts = before[-1] - before[first]
    return counts
