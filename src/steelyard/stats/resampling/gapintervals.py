"""Intervals of the differences of all pairs of systems, from resamples of their scores.

The lead of i over j is that of j over i with the other sign, and so are its order statistics: each
pair is sorted once, and both of its intervals are read off, to the bit what each alone would give.
"""

from __future__ import annotations

import numpy as np

from steelyard.core import bounds
from steelyard.stats.arrays import Floats


def gap_intervals(replicates: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Percentile intervals of the lead of row over column: systems x systems.

    ``replicates`` are resamples x systems, none missing.

    Examples
    --------
    >>> drawn = np.stack([np.arange(101.0), np.zeros(101)], axis=1)
    >>> low, high = gap_intervals(drawn, level=0.9)
    >>> low.round(9).tolist(), high.round(9).tolist()
    ([[0.0, 5.0], [-95.0, 0.0]], [[0.0, 95.0], [-5.0, 0.0]])
    """
    bounds.fraction(level=level)
    rows = np.ascontiguousarray(replicates.T)
    n, size = rows.shape
    low, high = np.zeros((2, n, n))
    tail = (1 - level) / 2
    for i in range(n - 1):
        ascending = np.sort(rows[i] - rows[i + 1 :], axis=1)
        descending = ascending[:, ::-1]
        for ends, q in ((low, tail), (high, 1 - tail)):
            ends[i, i + 1 :] = _quantile(ascending, 1.0, q, size)
            ends[i + 1 :, i] = _quantile(descending, -1.0, q, size)
    return low, high


def _quantile(ordered: Floats, sign: float, q: float, size: int) -> Floats:
    """Quantile of each row, between neighbours in proportion, after a change of sign."""
    place = (size - 1) * q
    below = int(np.floor(place))
    above = min(below + 1, size - 1)
    share = place - below
    a, b = (sign * ordered[:, at] + 0.0 for at in (below, above))  # no -0.0
    found = a + (b - a) * share if share < 0.5 else b - (b - a) * (1 - share)
    return np.asarray(found)
