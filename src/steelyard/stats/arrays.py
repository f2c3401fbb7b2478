"""Array types, the few operations that every statistic needs, and arrays that nobody can change."""

from __future__ import annotations

from mmap import mmap
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.options import bad_value

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
#: Numbers that differ by less than this times their size are equal: the rest may be rounding.
SAME = 1e-12
_TILE = 64, 1 << 10  # of counts in bytes that become floats at a time: they stay in the cache


def real_array(name: str, values: ArrayLike) -> Floats:
    """Return numbers as float64, NaN where missing; refuse texts, complex and infinite numbers."""
    expected = "an array of finite numbers (NaN where missing)"
    try:
        array = np.asarray(values)
        is_real = array.dtype.kind in "biufO"  # texts and complex numbers are none
        numbers: Floats = array.astype(np.float64, copy=False) if is_real else np.full(1, np.inf)
    except (TypeError, ValueError):
        raise bad_value(name, expected, values) from None
    if np.isinf(numbers).any():
        raise bad_value(name, expected, np.inf if is_real else values)
    return numbers


def row_means(x: Floats) -> Floats:
    """Return the mean of each row (last axis) without NaN, NaN where nothing is left."""
    total = x.sum(axis=-1)
    if x.shape[-1] and not np.isnan(total).any():
        return np.asarray(total / x.shape[-1])
    return ratio(np.nansum(x, axis=-1), (~np.isnan(x)).sum(axis=-1))


def row_errors(x: Floats) -> Floats:
    """Return the standard error of each row's mean without NaN, NaN for fewer than two numbers."""
    n = (~np.isnan(x)).sum(axis=1)
    residuals = x - row_means(x)[:, None]
    squares = np.nansum(residuals * residuals, axis=1)
    return np.sqrt(ratio(squares, np.where(n > 1, n * (n - 1), 0)))


def ratio(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """Divide, with NaN where there is nothing to divide by."""
    a, b = np.broadcast_arrays(
        np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    )
    result: Floats = np.full(a.shape, np.nan)
    np.divide(a, b, out=result, where=b > 0)
    return result


def median(x: Floats) -> float:
    """Return the median without NaN, NaN where nothing is left."""
    ordered = np.sort(x, axis=None)  # NaN last; np.median takes four times as long
    n = len(ordered) - int(np.isnan(ordered).sum())
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2) if n else float("nan")


def quantile(x: Floats, q: float) -> Floats:
    """Return a quantile of the last axis without NaN, between neighbours in proportion.

    The axis stays, with length 1.
    """
    ordered = np.sort(x, axis=-1)  # NaN last
    last = np.maximum((~np.isnan(x)).sum(axis=-1, keepdims=True) - 1, 0)
    position = last * q
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, last)
    a, b = (np.take_along_axis(ordered, index, axis=-1) for index in (below, above))
    return np.asarray(a + (b - a) * (position - below))


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted distinct values, without np.unique, which loads np.ma."""
    ordered = np.sort(values, axis=None)
    is_new = np.concatenate([ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]])
    return np.asarray(ordered[is_new])


def group_sums(group: NDArray[np.integer], values: ArrayLike | None, n: int) -> Floats:
    """Sum values (None: ones) by group, for each of ``n`` groups; 0 for an empty one."""
    weights = None if values is None else np.asarray(values, dtype=np.float64)
    return np.asarray(np.bincount(group, weights=weights, minlength=n), dtype=np.float64)


def pairs_within(group: NDArray[np.integer]) -> tuple[Counts, Counts]:
    """List all pairs of members of the same group, each once, as two columns of positions."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    size = np.diff(np.r_[starts, len(ordered)])
    # Every member meets those that follow it in its group.
    after = np.repeat(starts + size, size) - np.arange(len(ordered)) - 1
    left = np.repeat(np.arange(len(ordered)), after)
    step = np.arange(after.sum()) - np.repeat(np.cumsum(after) - after, after)
    return order[left], order[left + 1 + step]


def beyond_rounding(differences: Floats, scale: Floats | float) -> Floats:
    """Return differences of numbers of about a size, 0 where they may be rounding alone."""
    return np.where(np.abs(differences) <= SAME * scale, 0.0, differences)


def same_digits(official: Floats, means: Floats) -> bool:
    """Return whether two vectors agree to six digits, as many as official scores often have."""
    size = np.abs(means[~np.isnan(means)]).max(initial=0.0)
    return bool(np.allclose(official, means, rtol=0.0, atol=1e-6 * size, equal_nan=True))


def _is_frozen(array: NDArray[Any]) -> bool:
    """Return whether nobody holds the array's memory in a form that can be written to."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    return base is None or isinstance(base, (bytes, mmap))


def owned(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself if nobody can change it, else a read-only copy."""
    if _is_frozen(array):
        return array
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only that nobody else holds."""
    array.flags.writeable = False
    return array


def own_floats(values: ArrayLike, what: str, ndim: int, *, finite: bool = True) -> Floats:
    """Return a read-only array of numbers with so many axes; ``what`` names them in errors."""
    array: Any = values
    # Looking at np.ma would load it, and a plain array is never masked.
    if type(array) is not np.ndarray and np.ma.isMaskedArray(array):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    try:
        array = np.asarray(array)
    except ValueError:
        raise ShapeError(f"{what}: rows of different lengths") from None
    need_axes(array, what, ndim)
    if array.dtype.kind == "O":
        odd = [x for x in array.ravel() if not (x is None or isinstance(x, Real))]
        if odd:
            raise UsageError(f"{what}: expected numbers, found {odd[0]!r}"[:200])
    elif array.dtype.kind not in "biuf":
        raise UsageError(f"{what}: expected real numbers, found {array.dtype}")
    numbers = owned(array.astype(np.float64, copy=False))
    if finite and np.isinf(numbers).any():
        raise ShapeError(f"{what}: infinite scores; a missing score is NaN")
    return numbers


def need_axes(array: NDArray[Any], what: str, ndim: int) -> None:
    """Refuse an array with another number of axes."""
    if array.ndim != ndim:
        expected = {1: "one row of numbers", 2: "a matrix"}.get(ndim, f"{ndim} axes")
        raise ShapeError(f"{what}: expected {expected}, got shape {array.shape}")


def weighted_sums(counts: Floats, columns: Floats) -> Floats:
    """Sum columns (segments x columns) as often as counts say: resamples x columns.

    This is ``counts @ columns``, in tiles where counts are bytes.
    """
    if counts.dtype == np.float64:
        return np.asarray(counts @ columns)
    result = np.zeros((len(counts), columns.shape[1]))
    tall, wide = _TILE
    for left in range(0, counts.shape[1], wide):
        part = np.ascontiguousarray(columns[left : left + wide], dtype=np.float64)
        for top in range(0, len(counts), tall):
            tile = counts[top : top + tall, left : left + wide].astype(np.float64)
            result[top : top + tall] += tile @ part
    return result
