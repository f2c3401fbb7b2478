"""Arrays and names that nobody else can change: checked and copied once, then read-only."""

from __future__ import annotations

from collections.abc import Iterable
from mmap import mmap
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats


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
