"""Parts of a result that are worked out when they are first looked at, and kept from then on.

A field of a frozen dataclass (without slots) that is made by :func:`deferred` takes its value, or a
:func:`later` that gives it. Whoever reads the field, copies the object with ``replace`` or pickles
it gets the value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Later:
    """What gives a value, once it is asked for."""

    work: Callable[[], Any]


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
            value = instance.__dict__[self._key] = value.work()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._key] = value


def deferred(default: Any = ...) -> Any:
    """Make a field whose value may be worked out later; without a default it must be given.

    Examples
    --------
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
