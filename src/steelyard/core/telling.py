"""How far a long piece of work has come: whoever waits asks to be told, the work tells.

The work need not know whether anybody listens, nor hand a function down through all that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Progress = Callable[[int, int | None], None]
_LISTENER: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def told(listener: Progress | None) -> Iterator[None]:
    """Have the work inside tell ``listener`` how much is done and how much there is.

    Examples
    --------
    >>> heard = []
    >>> with told(lambda done, whole: heard.append((done, whole))):
    ...     squares = [k * k for k in each([1, 2, 3])]
    >>> heard
    [(0, 3), (1, 3), (2, 3), (3, 3)]
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(done: int, whole: int | None) -> None:
    """Say how much is done, to whoever listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(done, whole)


def each(items: Iterable[T]) -> Iterator[T]:
    """Go through items, and tell which one it is."""
    listed = list(items)
    tell(0, len(listed))
    for k, item in enumerate(listed):
        yield item
        tell(k + 1, len(listed))
