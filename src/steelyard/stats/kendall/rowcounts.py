"""Pairs of systems in many rows of scores against one row of people's: the draws of a test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.kendall.counting import PairCounts
from steelyard.stats.kendall.weighted import TieWidths
from steelyard.stats.permutation.pvalues import pair_index

_BYTE = 255  # ones that add up in a byte


def count_rows(
    human: Floats, rows: Floats, ties: TieWidths, rounding: tuple[float, float] = (0.0, 0.0)
) -> PairCounts:
    """Count pairs of systems by how people (a vector) and each row of scores order them.

    No score may be missing. Differences of at most ``rounding`` (of people, of the rows) are ties
    as well. Rows lie side by side, so that a comparison is one instruction for many of them, and
    what it gives is added up in bytes.

    Examples
    --------
    >>> human, rows = np.array([1.0, 2.0, 2.0]), np.array([[1.0, 3.0, 2.0], [2.0, 1.0, 2.0]])
    >>> counts = count_rows(human, rows, TieWidths())
    >>> counts.concordant.tolist(), counts.discordant.tolist(), counts.human_ties.tolist()
    ([2, 0], [0, 1], [1, 1])
    """
    n, width = len(human), max(ties.epsilon, rounding[1])
    i, j = pair_index(n)
    gap = human[i] - human[j]
    clear = ties.clear_human(gap, rounding[0])
    columns = np.ascontiguousarray(rows.T)
    above, below = np.empty((2, len(i), len(rows)), dtype=np.bool_)
    start = 0
    for k in range(n - 1):  # the pairs (k, k + 1), (k, k + 2), ...
        lead = columns[k] - columns[k + 1 :]
        some = slice(start, start + len(lead))
        np.greater(lead, width, out=above[some])
        np.less(lead, -width, out=below[some])
        start += len(lead)
    up, down = clear & (gap > 0), clear & (gap < 0)
    agree = _ones(above[up]) + _ones(below[down])
    against = _ones(above[down]) + _ones(below[up])
    tied_by_people = _ones(above[~clear]) + _ones(below[~clear])
    n_clear = int(clear.sum())
    tied_by_rows = n_clear - agree - against
    return PairCounts(
        agree, against, tied_by_people, tied_by_rows, len(i) - n_clear - tied_by_people
    )


def _ones(flags: NDArray[np.bool_]) -> Counts:
    """Count what is true in each column."""
    total = np.zeros(flags.shape[1], dtype=np.int64)
    values = flags.view(np.uint8)
    for start in range(0, len(values), _BYTE):
        total += np.add.reduce(values[start : start + _BYTE], axis=0, dtype=np.uint8)
    return total
