"""Values that are computed when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """A value that is found when it is asked for first, and kept.

    What is pickled or copied is the value, not how it would be found.

    Examples
    --------
    >>> later = Later(lambda: print("found") or 7)
    >>> later(), later()
    found
    (7, 7)
    """

    __slots__ = ("_found", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._found: tuple[T, ...] = ()

    def __call__(self) -> T:
        """Give the value."""
        if self._make is not None:
            self._found = (self._make(),)
            self._make = None  # and what it holds
        return self._found[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return known, (self(),)


def known(value: T) -> Later[T]:
    """Give a value that is there already the same form."""
    later: Later[T] = Later(lambda: value)
    later()
    return later
