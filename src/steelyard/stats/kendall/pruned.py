"""The best epsilon without the whole curve: only gaps that could be best are sorted.

Where every pair changes the sum by as much, up or down, counts of both in a few thousand narrow
intervals of epsilon bound it: within an interval it is at most that at its left end plus all that
go up, and less than that at the left end where none does. Intervals that can't reach the best sum
at any of their ends are left alone, which are nearly all. Counts are whole numbers,
and equal gaps fall into one interval: nothing is approximate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats

INTERVALS = 4096
_TINY = 1e-290  # a largest gap below which all are in one interval
Kinds = NDArray[np.uint8]


def best_points(gaps: Floats, kinds: Kinds, steps: Counts) -> tuple[Floats, Counts]:
    """Give 0, and in order every gap at which the sum of steps may be highest, with these sums.

    The sum at an epsilon is that of all gaps up to it. ``steps`` says for each kind of gap whether
    it is 1, -1 or 0; a gap whose kind has 0 may be NaN.

    Examples
    --------
    >>> gaps, kinds = np.array([0.5, 0.25, 0.125, 0.75]), np.array([1, 1, 0, 0], dtype=np.uint8)
    >>> [found.tolist() for found in best_points(gaps, kinds, np.array([-1, 1]))]
    [[0.0, 0.5], [0, 1]]
    """
    width = INTERVALS + 1
    # Intervals of gaps that go up, down and neither way, one after the other: one count serves all.
    place = _intervals(gaps, kinds, steps)
    place += (width * (steps % 3))[kinds]
    counts = np.bincount(place.ravel(), minlength=3 * width).reshape(3, width)
    rise, fall = counts[1], counts[2]
    change = rise - fall
    after = np.cumsum(change)
    before = after - change
    live = (before + rise >= max(0, int(after.max()))) & (rise > 0)
    some = np.flatnonzero(np.concatenate([np.zeros(width, dtype=bool), live, live])[place])
    own, where = gaps.ravel()[some], place.ravel()[some]
    order = np.argsort(own, kind="stable")
    own, where = own[order], where[order]
    # What the intervals that were left alone have changed before each.
    left = before - np.cumsum(np.where(live, change, 0)) + np.where(live, change, 0)
    sums = np.cumsum(np.where(where < 2 * width, 1, -1)) + left[where % width]
    last = np.flatnonzero(np.append(own[1:] != own[:-1], True)[: len(own)])
    return np.append(0.0, own[last]), np.append(0, sums[last])


def _intervals(gaps: Floats, kinds: Kinds, steps: Counts) -> NDArray[np.intp]:
    """Give the interval of each gap; larger gaps never have lower ones."""
    top = float(np.fmax.reduce(gaps, axis=None, initial=0.0))
    scaled = gaps * (INTERVALS / top if top > _TINY else 0.0)
    if np.isnan(scaled.sum()):
        scaled[(steps == 0)[kinds]] = 0.0
    return scaled.astype(np.intp)
