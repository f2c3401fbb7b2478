"""Ranks from the best: the one rule of what is a tie, for ranks and for their intervals.

Values that stand next to each other in order tie if they differ by no more than the last digits
that their computation is good for: ``close`` times the larger of the two, or ``floor`` where sums
cancel. What ties with the same value ties with each other, so that ranks do not depend on the order
of the input, and two values that are equal but for rounding never fall on two sides of a border, as
they would if each were rounded to some digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from steelyard.stats.arrays import Floats

SAME = 1e-12  #: of a value in double precision: further digits may be rounding
FITTED = 1e-9  #: of a fitted strength, where an iteration stops
SINGLE = 1e-6  #: of a value from single precision, as in resamples
_ROUNDING = 1e-15  # of the largest term of a mean, where the terms cancel


def ranks(values: ArrayLike, *, close: float = SAME, floor: float = 0.0) -> Floats:
    """Rank along the last axis from the highest value: 1 is best, ties share the better rank.

    NaN has no rank (NaN) and takes none away from the others.

    Parameters
    ----------
    values
        Of any number of axes: those before the last, such as resamples, are ranked on their own.
    close, floor
        Neighbours that differ by at most ``close`` times the larger size, or by at most ``floor``,
        tie.

    Examples
    --------
    >>> ranks([0.5, 0.9, 0.5, np.nan]).tolist()
    [2.0, 1.0, 2.0, nan]
    >>> ranks([[0.1 + 0.2, 0.3, 0.2], [1.0, 2.0, 3.0]]).tolist()
    [[1.0, 1.0, 3.0], [3.0, 2.0, 1.0]]
    """
    x = np.asarray(values, dtype=np.float64)
    order = np.argsort(-x, axis=-1, kind="stable")  # NaN last
    ordered = np.take_along_axis(x, order, axis=-1)
    above, below = ordered[..., :-1], ordered[..., 1:]
    opens = np.ones(x.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        reach = np.maximum(close * np.maximum(np.abs(above), np.abs(below)), floor)
        reach = np.where(np.isfinite(reach), reach, 0.0)
        opens[..., 1:] = (above != below) & ~(above - below <= reach)
    places = np.where(opens, np.arange(1.0, x.shape[-1] + 1), 0.0)
    result = np.empty_like(x)
    np.put_along_axis(result, order, np.maximum.accumulate(places, axis=-1), axis=-1)
    return np.where(np.isnan(x), np.nan, result)


def levelled(values: ArrayLike, *, close: float = SAME, floor: float = 0.0) -> Floats:
    """Give values that tie by :func:`ranks` the same number: the largest of them.

    Examples
    --------
    >>> levelled([0.3, 0.1 + 0.2, 0.2, np.nan]).tolist()
    [0.30000000000000004, 0.30000000000000004, 0.2, nan]
    """
    x = np.asarray(values, dtype=np.float64)
    places = np.nan_to_num(ranks(x, close=close, floor=floor), nan=1.0).astype(np.int64) - 1
    best_first = -np.sort(-x, axis=-1)
    return np.where(np.isnan(x), x, np.take_along_axis(best_first, places, axis=-1))


def whole(places: Floats) -> list[int | None]:
    """Give ranks as whole numbers, None where there is none.

    Examples
    --------
    >>> whole(ranks([3.0, np.nan, 5.0]))
    [2, None, 1]
    """
    return [None if np.isnan(place) else int(place) for place in places]


def rounding(terms: Floats) -> float:
    """Give the difference of two means of such terms that may be rounding alone.

    Examples
    --------
    >>> sums = np.array([[0.1, 0.2, -0.3], [-0.3, 0.2, 0.1]]).sum(axis=1)
    >>> ranks(sums, floor=rounding(np.array([0.3]))).tolist(), bool(sums[0] == sums[1])
    ([1.0, 1.0], False)
    """
    return _ROUNDING * float(np.fmax.reduce(np.abs(terms), axis=None, initial=0.0))
