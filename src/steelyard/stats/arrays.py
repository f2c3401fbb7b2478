"""Array types, and the few operations that every statistic needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.bounds import fail

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def real_array(name: str, values: ArrayLike) -> Floats:
    """Give numbers as float64, NaN where missing; refuse texts, complex and infinite numbers.

    Examples
    --------
    >>> real_array("human", [[1, 2], [3, float("nan")]]).tolist()
    [[1.0, 2.0], [3.0, nan]]
    >>> real_array("human", [1j])
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: human is an array of finite numbers (NaN where missing), got
    [1j]
    """
    wanted = "an array of finite numbers (NaN where missing)"
    try:
        found = np.asarray(values)
        known = found.dtype.kind in "biufO"  # texts and complex numbers are none
        result: Floats = found.astype(np.float64, copy=False) if known else np.full(1, np.inf)
    except (TypeError, ValueError):
        raise fail(name, wanted, values) from None
    if np.isinf(result).any():
        raise fail(name, wanted, np.inf if known else values)
    return result


def row_means(x: Floats) -> Floats:
    """Give the mean of the known cells of each row (last axis), NaN where none is known.

    Examples
    --------
    >>> row_means(np.array([[1.0, 3.0], [5.0, np.nan], [np.nan, np.nan]])).tolist()
    [2.0, 5.0, nan]
    """
    return ratio(np.nansum(x, axis=-1), (~np.isnan(x)).sum(axis=-1))


def ratio(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """Divide, with NaN where there is nothing to divide by.

    Examples
    --------
    >>> ratio([1.0, 2.0], [2.0, 0.0]).tolist()
    [0.5, nan]
    """
    a, b = np.broadcast_arrays(
        np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    )
    result: Floats = np.full(a.shape, np.nan)
    np.divide(a, b, out=result, where=b > 0)
    return result


def group_sums(group: NDArray[np.integer], values: ArrayLike | None, n: int) -> Floats:
    """Add up values (None: ones) by group: a sum for each of the ``n`` groups, 0 for an empty one.

    Examples
    --------
    >>> group_sums(np.array([0, 2, 0]), [1.0, 2.0, 3.0], 3).tolist()
    [4.0, 0.0, 2.0]
    """
    weights = None if values is None else np.asarray(values, dtype=np.float64)
    return np.asarray(np.bincount(group, weights=weights, minlength=n), dtype=np.float64)


def pairs_within(group: NDArray[np.integer]) -> tuple[Counts, Counts]:
    """List all pairs of members of the same group, each once, as two columns of places.

    Examples
    --------
    >>> [place.tolist() for place in pairs_within(np.array([7, 5, 7, 7]))]
    [[0, 0, 2], [2, 3, 3]]
    """
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    opens = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    size = np.diff(np.r_[opens, len(ordered)])
    # Every member meets those that follow it in its group.
    after = np.repeat(opens + size, size) - np.arange(len(ordered)) - 1
    left = np.repeat(np.arange(len(ordered)), after)
    step = np.arange(after.sum()) - np.repeat(np.cumsum(after) - after, after)
    return order[left], order[left + 1 + step]


def same_digits(official: Floats, means: Floats) -> bool:
    """Tell whether two vectors agree to about six digits, in which official scores are often given.

    Examples
    --------
    >>> same_digits(np.array([31.4159, np.nan]), np.array([31.415927, np.nan]))
    True
    """
    size = np.abs(means[~np.isnan(means)]).max(initial=0.0)
    return bool(np.allclose(official, means, rtol=0.0, atol=1e-6 * size, equal_nan=True))
