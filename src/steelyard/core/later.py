"""Values that are worked out when somebody asks for them, and kept from then on.

A :class:`Later` is such a value by itself. A field of a frozen dataclass (without slots) that is
made by :func:`deferred` takes its value, or a :func:`later` that gives it: whoever reads the field,
copies the object with ``replace`` or pickles it gets the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

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


def later(work: Callable[[], T]) -> T:
    """Give a field what is worked out once somebody reads it: to all others it is the value."""
    return cast(T, Later(work))


class _Deferred:
    """The attribute: a value, or what gives it."""

    def __init__(self, default: Any = ...) -> None:
        self._default = default
        self._key = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._key = f"_{name}"

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:  # dataclasses ask for a default
            if self._default is ...:
                raise AttributeError(self._key)
            return self._default
        value = instance.__dict__[self._key]
        if isinstance(value, Later):
            value = instance.__dict__[self._key] = value()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._key] = value


def deferred(default: Any = ...) -> Any:
    """Make a field whose value may be worked out later; without a default it must be given.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Found:
    ...     score: float
    ...     tests: dict[str, float] = deferred()
    >>> found = Found(0.5, later(lambda: print("testing") or {"t": 0.04}))
    >>> found.tests["t"], found.tests["t"]
    testing
    (0.04, 0.04)
    """
    return _Deferred(default)
