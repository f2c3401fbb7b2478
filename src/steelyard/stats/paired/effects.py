"""How large paired differences between systems are, for all pairs at once, in whatever unit.

Each takes systems x segments (NaN where missing; a pair is compared on the segments both have) and
gives systems x systems, row against column, with NaN on the diagonal and where it is undefined.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.options import check_number
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.paired.pairedtests import pair_differences
from steelyard.stats.strength.wins import WinCounts, win_counts


def superiority(scores: Floats, *, tolerance: float = 0.0) -> Floats:
    """Probability that a system scores higher on a segment, ties counting half: ``[i, j]`` of i.

    Examples
    --------
    >>> import numpy as np
    >>> superiority(np.array([[1.0, 2, 3, 4], [0.0, 2, 4, 1]])).tolist()
    [[nan, 0.625], [0.375, nan]]
    """
    check_number(0, tolerance=tolerance)
    if not tolerance:  # who is above whom is counted faster than differences are made
        return superiority_counts(win_counts(scores))
    wins, ties = np.zeros((2, len(scores), len(scores)))
    for i, j, gap in pair_differences(scores):
        wins[i, j] = (gap > tolerance).sum(axis=1)
        wins[j, i] = (gap < -tolerance).sum(axis=1)
        ties[i, j] = ties[j, i] = (np.abs(gap) <= tolerance).sum(axis=1)
    return superiority_counts(WinCounts(wins, ties))


def superiority_counts(counts: WinCounts) -> Floats:
    """Give the same from counts of wins and ties: the two of a pair add up to 1.

    Examples
    --------
    >>> superiority_counts(WinCounts(np.array([[0.0, 2], [1, 0]]), np.array([[0.0, 1], [1, 0]])))
    array([[  nan, 0.625],
           [0.375,   nan]])
    """
    share = np.triu(ratio(counts.wins + 0.5 * counts.ties, counts.met), 1)
    result = share + np.tril(1 - share.T, -1)
    np.fill_diagonal(result, np.nan)
    return np.asarray(result)


def cliffs_delta(scores: Floats) -> Floats:
    """Cliff's delta: how much more often a score of i is above one of j than below, unpaired.

    All scores are sorted once; how many of a system's scores are below each value then serves all
    that it is compared with.

    Examples
    --------
    >>> import numpy as np
    >>> cliffs_delta(np.array([[1.0, 2, 3], [0.0, 1, 1]])).round(4).tolist()
    [[nan, 0.7778], [-0.7778, nan]]
    """
    n = len(scores)
    result = np.full((n, n), np.nan)
    known = ~np.isnan(scores)
    values, codes = np.unique(scores[known], return_inverse=True)
    value = np.full(scores.shape, len(values))  # where missing, one that nothing counts
    value[known] = codes.ravel()
    size = known.sum(axis=1)
    for j in range(1, n):
        own = np.bincount(value[j], minlength=len(values) + 1)
        upto = np.cumsum(own)
        lead: Counts = 2 * upto - own - size[j]  # scores of j below the value, less those above it
        lead[-1] = 0
        ahead = lead[value[:j]].sum(axis=1)
        result[:j, j] = ratio(ahead, size[:j] * size[j])
        result[j, :j] = -result[:j, j]
    return result


def standardised_difference(scores: Floats) -> Floats:
    """Mean paired difference over the standard deviation of the differences; NaN if that is 0."""
    n = len(scores)
    result = np.full((n, n), np.nan)
    for i, j, gap in pair_differences(scores):
        if scores.shape[1] < 2:
            break
        missing = np.isnan(gap)
        if missing.any():
            found = _known_ratio(gap, ~missing)
        else:
            found = ratio(gap.mean(axis=1), gap.std(axis=1, ddof=1))
        result[i, j], result[j, i] = found, -found
    return result


def _known_ratio(gap: Floats, known: np.ndarray) -> Floats:
    """Give mean over deviation of the known differences of each row; NaN for fewer than two."""
    n = known.sum(axis=1)
    mean = ratio(np.where(known, gap, 0.0).sum(axis=1), n)
    rest = np.where(known, gap - mean[:, None], 0.0)
    return ratio(mean, np.sqrt(ratio((rest * rest).sum(axis=1), n - 1)))
