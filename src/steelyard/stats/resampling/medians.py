"""Medians of resamples, from one sort of the scores."""

from __future__ import annotations

import numpy as np

from steelyard.stats.arrays import Floats


def row_medians(scores: Floats) -> Floats:
    """Median of the known scores of each row; NaN for an empty row.

    Examples
    --------
    >>> row_medians(np.array([[3.0, 1.0, 2.0], [np.nan, 4.0, 6.0], [np.nan] * 3])).tolist()
    [2.0, 5.0, nan]
    """
    known = ~np.isnan(scores).all(axis=1)
    result = np.full(len(scores), np.nan)
    if known.any():
        result[known] = np.nanmedian(scores[known], axis=1)
    return result


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
    for column, row in enumerate(scores):
        known = np.flatnonzero(~np.isnan(row))
        if not known.size:
            continue
        order = known[np.argsort(row[known], kind="stable")]
        upto = np.cumsum(segments[:, order], axis=1)
        total = upto[:, -1]
        # The positions of the two middle values (one and the same for an odd number), from 1.
        low, high = np.floor((total + 1) / 2), np.ceil((total + 1) / 2)
        first = (upto < low[:, None]).sum(axis=1)
        second = (upto < high[:, None]).sum(axis=1)
        some = total > 0
        values = row[order]
        last = len(values) - 1
        middle = (values[np.minimum(first, last)] + values[np.minimum(second, last)]) / 2
        result[:, column] = np.where(some, middle, np.nan)
    return result
