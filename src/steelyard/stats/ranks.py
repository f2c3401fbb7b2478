"""Ranks from the best, and the one rule for what is a tie.

Neighbours in order tie if they differ by no more than the digits that their computation is good
for: ``close`` times the larger of the two, or ``floor`` where sums cancel. Ties chain, so ranks do
not depend on the order of the input, and two values that are equal but for rounding never fall on
two sides of a border, as they would if each were rounded to some digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import SAME, Floats

FITTED = 1e-9  #: ``close`` of a fitted strength, where an iteration stops
SINGLE = 1e-6  #: ``close`` of a value from single precision, as in resamples
_CANCELLED = 1e-15  # of the largest term of a mean whose terms cancel


def ranks(values: ArrayLike, *, close: float = SAME, floor: float = 0.0) -> Floats:
    """Rank along the last axis from the highest value: 1 is best, ties share the better rank.

    NaN has no rank (NaN) and takes none away from the others.
    """
    x = np.asarray(values, dtype=np.float64)
    order = np.argsort(-x, axis=-1, kind="stable")  # NaN last
    ordered = np.take_along_axis(x, order, axis=-1)
    above, below = ordered[..., :-1], ordered[..., 1:]
    is_new = np.ones(x.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        width = np.maximum(close * np.maximum(np.abs(above), np.abs(below)), floor)
        width = np.where(np.isfinite(width), width, 0.0)
        is_new[..., 1:] = (above != below) & ~(above - below <= width)
    first = np.where(is_new, np.arange(1.0, x.shape[-1] + 1), 0.0)
    result = np.empty_like(x)
    np.put_along_axis(result, order, np.maximum.accumulate(first, axis=-1), axis=-1)
    return np.where(np.isnan(x), np.nan, result)


def levelled(values: ArrayLike, *, close: float = SAME, floor: float = 0.0) -> Floats:
    """Return values that tie by :func:`ranks` as the same number, the largest of them."""
    x = np.asarray(values, dtype=np.float64)
    index = np.nan_to_num(ranks(x, close=close, floor=floor), nan=1.0).astype(np.int64) - 1
    best_first = -np.sort(-x, axis=-1)
    return np.where(np.isnan(x), x, np.take_along_axis(best_first, index, axis=-1))


def whole(values: Floats) -> list[int | None]:
    """Return ranks as whole numbers, None where there is none."""
    return [None if np.isnan(rank) else int(rank) for rank in values]


def rounding(terms: Floats) -> float:
    """Return the largest difference of two means of such terms that may be rounding alone."""
    return _CANCELLED * float(np.fmax.reduce(np.abs(terms), axis=None, initial=0.0))
