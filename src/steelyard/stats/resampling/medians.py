"""Medians of resamples, from one sort of the data.

The middle of a resample is found by counting: the segments of a row, once sorted, are added up in
the order of their scores until half of the resample is reached. Resamples reach it within a few
places of each other, so that a matrix product counts what lies below all of these places, for all
resamples at once, and only a narrow window is added up place by place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats, weighted_sums

_SLACK = 8  # places beyond what the counts at the middle make likely
_SPREAD = 3.0  # and deviations of the counts between it and where half is reached


def bootstrap_medians(scores: Floats, segments: Floats) -> Floats:
    """Medians of each row over its resampled known segments: resamples x rows.

    ``segments`` says how often each segment occurs, resamples x segments, in whole numbers.

    Examples
    --------
    >>> counts = np.array([[2.0, 0.0, 2.0], [1.0, 1.0, 1.0]])
    >>> bootstrap_medians(np.array([[1.0, 5.0, 3.0]]), counts).tolist()
    [[2.0], [3.0]]
    """
    result = np.full((len(segments), len(scores)), np.nan)
    known = ~np.isnan(scores)
    if not (known.any() and len(segments)):
        return result
    order = np.argsort(scores, axis=1, kind="stable")  # NaN last
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(scores.shape[1])[None, :], axis=1)
    n = known.sum(axis=1)
    total = weighted_sums(segments, known.T.astype(np.float64))
    # The positions of the two middle values (one and the same for an odd number), from 1.
    low, high = np.floor((total + 1) / 2), np.ceil((total + 1) / 2)
    half = n // 2
    below = _below(segments, place, half)
    # What a resample lacks at the middle of the data is about as many places away.
    first = _window(half, (low - below).min(axis=0), -1, n)
    last = _window(half, (high - below).max(axis=0), 1, n)
    below = _below(segments, place, first)
    for r in np.flatnonzero(n):
        values = scores[r, order[r, : n[r]]]
        window = order[r, first[r] : last[r]]
        rest = order[r, last[r] : n[r]]
        ends = np.stack([low[:, r], high[:, r]]).astype(np.int32)
        base = below[:, r].astype(np.int32)
        reached = _reached(_places(segments, window), base, ends) + first[r]
        # Rare: half is reached outside the window.
        short = reached[1] == last[r]
        for lost, where, start in (
            (base >= ends[0], order[r, : n[r]], 0),
            (short & (base < ends[0]), np.r_[window, rest], first[r]),
        ):
            some = np.flatnonzero(lost)
            if some.size:
                own = base[some] if start else np.zeros(some.size, dtype=np.int32)
                counts = _places(segments[some], where)
                reached[:, some] = _reached(counts, own, ends[:, some])
                reached[:, some] += start
        middle = values[np.minimum(reached, n[r] - 1)]
        result[:, r] = np.where(total[:, r] > 0, (middle[0] + middle[1]) / 2, np.nan)
    return result


def _below(segments: Floats, place: Counts, ends: Counts) -> Floats:
    """Count what each resample has below a place in the order of each row; exact in floats."""
    return weighted_sums(segments, (place < ends[:, None]).T.astype(np.float64))


def _places(segments: Floats, where: Counts) -> NDArray[np.int32]:
    """Give the counts of some segments, places x resamples."""
    return np.ascontiguousarray(segments[:, where].T, dtype=np.int32)


def _window(half: Counts, away: Floats, side: int, n: Counts) -> Counts:
    """Give an end of the window of each row, some way beyond the farthest middle."""
    beyond = np.ceil(_SPREAD * np.sqrt(np.abs(away))) + _SLACK
    return np.asarray(np.clip(half + away + side * beyond, 0, n), dtype=np.int64)


def _reached(counts: NDArray[np.int32], base: NDArray[np.int32], ends: NDArray[np.int32]) -> Counts:
    """Find how many places stay below each end: ends x resamples; counts are places x resamples."""
    upto = np.cumsum(counts, axis=0, dtype=np.int32)
    upto += base
    return np.stack([(upto < end).sum(axis=0) for end in ends])
