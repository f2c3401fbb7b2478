"""Values that are known to be valid, made without looking again.

Whoever makes a :class:`~steelyard.data.evalset.EvalSet` by hand has everything checked. A reader's
columns are checked once, when all of them are joined, and a part of a valid set is valid: such sets
are made here. Nothing that a user gives may get into one unchecked.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

from numpy.typing import NDArray

_A = TypeVar("_A", bound=NDArray[Any])
_T = TypeVar("_T")


def made(cls: type[_T], /, **values: Any) -> _T:
    """Make a frozen dataclass without its checks; what is not given has its default."""
    new = object.__new__(cls)
    for own in fields(cls):  # type: ignore[arg-type]
        if own.name in values:
            value = values[own.name]
        else:
            value = own.default if own.default_factory is MISSING else own.default_factory()
        object.__setattr__(new, own.name, value)
    return new


def changed(valid: _T, /, **values: Any) -> _T:
    """Copy a valid object with other values of some fields, which must fit it."""
    kept = {own.name: getattr(valid, own.name) for own in fields(valid)}  # type: ignore[arg-type]
    return made(type(valid), **(kept | values))


def sealed(array: _A) -> _A:
    """Make an array read-only that nobody else holds: as good as a copy, and none."""
    array.flags.writeable = False
    return array
