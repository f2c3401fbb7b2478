"""How large differences between systems are, for all pairs at once, in whatever unit.

Each gives systems x systems, row against column; NaN on the diagonal and where it is undefined.
"""

from __future__ import annotations

import numpy as np

from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.paired.tests import mean_error, pair_differences
from steelyard.stats.strength.wins import WinCounts


def superiority(counts: WinCounts) -> Floats:
    """Return the share of segments that a system wins, ties counting half: ``[i, j]`` of i."""
    share = np.triu(ratio(counts.wins + 0.5 * counts.ties, counts.met), 1)
    result = share + np.tril(1 - share.T, -1)  # the two of a pair add up to 1
    np.fill_diagonal(result, np.nan)
    return np.asarray(result)


def cliffs_delta(scores: Floats) -> Floats:
    """Return how much more often a score of i is above one of j than below, unpaired.

    All scores are sorted once; how many of a system's scores are below each value then serves all
    that it is compared with.
    """
    n = len(scores)
    result = np.full((n, n), np.nan)
    known = ~np.isnan(scores)
    values, codes = np.unique(scores[known], return_inverse=True)
    value = np.full(scores.shape, len(values))  # where missing, one that nothing counts
    value[known] = codes.ravel()
    size = known.sum(axis=1)
    for j in range(1, n):
        at = np.bincount(value[j], minlength=len(values) + 1)
        lead: Counts = 2 * np.cumsum(at) - at - size[j]  # scores of j below, less those above
        lead[-1] = 0
        result[:j, j] = ratio(lead[value[:j]].sum(axis=1), size[:j] * size[j])
        result[j, :j] = -result[:j, j]
    return result


def standardised_difference(scores: Floats) -> Floats:
    """Return the mean paired difference over the differences' standard deviation; NaN if that is 0.

    Systems x segments; a pair is compared on the segments both have.
    """
    result = np.full((len(scores), len(scores)), np.nan)
    for i, j, gap in pair_differences(scores):
        mean, error, _, n = mean_error(gap)
        size = ratio(mean, error * np.sqrt(n))
        result[i, j], result[j, i] = size, -size
    return result
