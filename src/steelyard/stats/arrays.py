"""Array types, the few operations that every statistic needs, and arrays that nobody can change."""

from __future__ import annotations

from collections.abc import Iterable
from mmap import mmap
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.options import bad_value

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
#: Scores beyond it, or all below its inverse, have moments that leave the range of numbers.
LARGEST = 1e30
_ROUNDING = 1e-12  # of the size of numbers that differ: what is less is nothing but rounding

_TILE = 64, 1 << 13  # of counts in bytes that are made floats at a time: they stay in the cache


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
        raise bad_value(name, wanted, values) from None
    with np.errstate(over="ignore", invalid="ignore"):
        doubtful = not np.isfinite(np.add.reduce(result, axis=None))
    if doubtful and np.isinf(result).any():
        raise bad_value(name, wanted, np.inf if known else values)
    return result


def row_means(x: Floats) -> Floats:
    """Give the mean of the known cells of each row (last axis), NaN where none is known.

    Examples
    --------
    >>> row_means(np.array([[1.0, 3.0], [5.0, np.nan], [np.nan, np.nan]])).tolist()
    [2.0, 5.0, nan]
    """
    total = x.sum(axis=-1)
    if x.shape[-1] and not np.isnan(total).any():
        means: Floats = total / x.shape[-1]
        return means
    return ratio(np.nansum(x, axis=-1), (~np.isnan(x)).sum(axis=-1))


def row_errors(x: Floats) -> Floats:
    """Standard errors of the means of rows, NaN aside; NaN where fewer than two are left.

    Examples
    --------
    >>> row_errors(np.array([[1.0, 3.0, np.nan], [5.0, np.nan, np.nan]])).tolist()
    [1.0, nan]
    """
    n = (~np.isnan(x)).sum(axis=1)
    off = x - row_means(x)[:, None]
    return np.sqrt(ratio(np.nansum(off * off, axis=1), np.where(n > 1, n * (n - 1), 0)))


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


def beyond_rounding(differences: Floats, scale: Floats | float) -> Floats:
    """Give differences of numbers of about a size; what is rounding alone is none.

    Examples
    --------
    >>> beyond_rounding(np.array([0.1 + 0.2 - 0.3, 0.1]), 0.3).tolist()
    [0.0, 0.1]
    """
    return np.where(np.abs(differences) <= _ROUNDING * scale, 0.0, differences)


def same_digits(official: Floats, means: Floats) -> bool:
    """Tell whether two vectors agree to about six digits, in which official scores are often given.

    Examples
    --------
    >>> same_digits(np.array([31.4159, np.nan]), np.array([31.415927, np.nan]))
    True
    """
    size = np.abs(means[~np.isnan(means)]).max(initial=0.0)
    return bool(np.allclose(official, means, rtol=0.0, atol=1e-6 * size, equal_nan=True))


def missing_share(values: Floats) -> float:
    """Share of cells without a score; NaN for a matrix without cells.

    Examples
    --------
    >>> missing_share(np.array([[1.0, np.nan], [2.0, 3.0]]))
    0.25
    """
    return float(np.isnan(values).mean()) if values.size else float("nan")


def tie_share(values: Floats) -> float:
    """Share of pairs of systems that have the same score on the same segment.

    ``values`` is systems x segments; pairs with a missing score do not count. NaN without pairs.

    Examples
    --------
    >>> tie_share(np.array([[1.0, 5.0], [1.0, 4.0], [2.0, np.nan]]))
    0.25
    """
    tied = pairs = 0
    for i in range(len(values) - 1):
        gap = values[i + 1 :] - values[i]
        tied += int(np.count_nonzero(gap == 0))
        pairs += int(np.count_nonzero(~np.isnan(gap)))
    return tied / pairs if pairs else float("nan")


def range_of(values: Floats) -> tuple[float, float]:
    """Smallest and largest score; NaN where there is none."""
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if known.size else (float("nan"),) * 2


def is_frozen(array: NDArray[Any]) -> bool:
    """Tell whether nobody holds the numbers of an array in a form that can be written to.

    Examples
    --------
    >>> numbers = np.zeros(3)
    >>> view = numbers.view()
    >>> view.flags.writeable = False
    >>> is_frozen(view)  # numbers[0] = 1 would show in it
    False
    """
    below: Any = array
    while isinstance(below, np.ndarray):
        if below.flags.writeable:
            return False
        below = below.base
    return below is None or isinstance(below, (bytes, mmap))


def owned(array: NDArray[Any]) -> NDArray[Any]:
    """Give the array itself if nobody can change it, else a read-only copy."""
    if is_frozen(array):
        return array
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def own_floats(values: ArrayLike, what: str, ndim: int, *, finite: bool = True) -> Floats:
    """Give numbers as an array of our own with so many axes; ``what`` names them in errors.

    Examples
    --------
    >>> own_floats([[1, None]], "values", 2).tolist()
    [[1.0, nan]]
    """
    found: Any = values
    if np.ma.isMaskedArray(found):
        found = np.ma.filled(found.astype(np.float64), np.nan)
    try:
        found = np.asarray(found)
    except ValueError:
        raise ShapeError(f"{what}: rows of different lengths") from None
    if found.ndim != ndim:
        raise ShapeError(f"{what}: expected {_axes(ndim)}, got shape {found.shape}")
    if found.dtype.kind == "O":
        odd = [x for x in found.ravel() if not (x is None or isinstance(x, Real))]
        if odd:
            raise UsageError(f"{what}: expected numbers, found {odd[0]!r}"[:200])
    elif found.dtype.kind not in "biuf":
        raise UsageError(f"{what}: expected real numbers, found {found.dtype}")
    numbers = owned(found.astype(np.float64, copy=False))
    if finite and np.isinf(numbers).any():
        raise ShapeError(f"{what}: infinite scores; a missing score is NaN")
    return numbers


def check_size(what: str, numbers: Floats) -> None:
    """Refuse numbers that are so large, or all so small, that their moments are none.

    Examples
    --------
    >>> check_size("scores of 'chrF'", np.array([np.nan, 3e40]))
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: scores of 'chrF': 3e+40 is beyond 1e+30 in size; divide them
    """
    most, least = (float(f.reduce(numbers, axis=None, initial=0.0)) for f in (np.fmax, np.fmin))
    size = max(most, -least)
    if size > LARGEST:
        raise UsageError(f"{what}: {size:.4g} is beyond {LARGEST:g} in size; divide them")
    if 0 < size < 1 / LARGEST:
        few = f"none is larger than {size:.4g} in size, below {1 / LARGEST:g}"
        raise UsageError(f"{what}: {few}; multiply them, or take logarithms")


def own_codes(
    values: ArrayLike, what: str, n: int, *, ndim: int = 1, least: int = 0
) -> NDArray[np.int32]:
    """Give codes of ``n`` names as an array of our own; ``least`` is the smallest code."""
    found = np.asarray(values)
    if found.ndim != ndim:
        raise ShapeError(f"{what}: expected {_axes(ndim)}, got shape {found.shape}")
    if found.dtype.kind not in "iu":
        if found.size:
            raise UsageError(f"{what}: expected codes, which are whole numbers; got {found.dtype}")
        found = found.astype(np.int32)
    if found.size and not (least <= found.min() and found.max() < n):
        raise ShapeError(f"{what}: codes {found.min()} to {found.max()}, but there are {n} names")
    return owned(found.astype(np.int32, copy=False))


def _axes(ndim: int) -> str:
    return {1: "one row of numbers", 2: "a matrix"}.get(ndim, f"{ndim} axes")


def own_texts(
    values: Iterable[Any],
    what: str,
    *,
    optional: bool = False,
    distinct: bool = False,
    named: bool = False,
) -> tuple[Any, ...]:
    """Give texts as a tuple; with ``optional`` some may be None, ``distinct`` ones never repeat.

    With ``named`` they are names, of which none is empty or blank.

    Examples
    --------
    >>> own_texts(["a", "b"], "systems")
    ('a', 'b')
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise UsageError(f"{what}: expected a list of texts, got {values!r}"[:200])
    texts = tuple(values)
    for kind in set(map(type, texts)):
        if not (issubclass(kind, str) or (optional and kind is type(None))):
            odd = next(text for text in texts if type(text) is kind)
            raise UsageError(f"{what}: expected texts, found {odd!r}"[:200])
    for blank in [text for text in texts if not text.strip()][:1] if named else ():
        found = f"holds {blank!r}" if blank else "is empty"
        raise UsageError(f"{what}: one {found}, expected names")
    if distinct and len(set(texts)) != len(texts):
        raise ShapeError(f"{what} repeat")
    return texts


def weighted_sums(counts: Floats, columns: Floats) -> Floats:
    """Sum columns (segments x columns) as often as counts say: resamples x columns.

    It is ``counts @ columns``, in parts where counts are bytes.

    Examples
    --------
    >>> weighted_sums(np.array([[2, 0, 1]], dtype=np.uint8), np.array([[1.0], [5.0], [0.5]]))
    array([[2.5]])
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
