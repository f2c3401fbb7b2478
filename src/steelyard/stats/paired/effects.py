"""How large a difference between systems is, in units that do not depend on the score."""

from __future__ import annotations

import numpy as np

from steelyard.core import bounds
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.permutation.pvalues import pair_index


def superiority(scores: Floats, *, tolerance: float = 0.0) -> Floats:
    """Probability that a system scores higher on a segment, ties counting half: ``[i, j]`` of i.

    Examples
    --------
    >>> import numpy as np
    >>> superiority(np.array([[1.0, 2, 3, 4], [0.0, 2, 4, 1]])).tolist()
    [[nan, 0.625], [0.375, nan]]
    """
    bounds.number(0, tolerance=tolerance)
    n = len(scores)
    result = np.full((n, n), np.nan)
    for i, j in zip(*pair_index(n), strict=True):
        gap = scores[i] - scores[j]
        known = int((~np.isnan(gap)).sum())
        wins = (gap > tolerance).sum() + 0.5 * (np.abs(gap) <= tolerance).sum()
        result[i, j] = float(ratio(wins, known))
        result[j, i] = 1 - result[i, j]
    return result


def cliffs_delta(scores: Floats) -> Floats:
    """Cliff's delta: how much more often a score of i is above one of j than below, unpaired.

    Examples
    --------
    >>> import numpy as np
    >>> cliffs_delta(np.array([[1.0, 2, 3], [0.0, 1, 1]])).round(4).tolist()
    [[nan, 0.7778], [-0.7778, nan]]
    """
    n = len(scores)
    result = np.full((n, n), np.nan)
    ordered = [np.sort(row[~np.isnan(row)]) for row in scores]
    for i, j in zip(*pair_index(n), strict=True):
        x, y = ordered[i], ordered[j]
        if not (x.size and y.size):
            continue
        below = np.searchsorted(y, x, side="left").sum()
        above = y.size * x.size - np.searchsorted(y, x, side="right").sum()
        result[i, j] = (below - above) / (x.size * y.size)
        result[j, i] = -result[i, j]
    return result


def standardised_difference(scores: Floats) -> Floats:
    """Mean paired difference over the standard deviation of the differences; NaN if that is 0."""
    n = len(scores)
    result = np.full((n, n), np.nan)
    for i, j in zip(*pair_index(n), strict=True):
        gap = scores[i] - scores[j]
        gap = gap[~np.isnan(gap)]
        if gap.size > 1:
            result[i, j] = float(ratio(gap.mean(), gap.std(ddof=1)))
            result[j, i] = -result[i, j]
    return result
