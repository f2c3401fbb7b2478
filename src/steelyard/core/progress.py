"""How far a long piece of work has come: whoever waits asks to be told, the work tells.

The work need not know whether anybody listens, nor hand a function down through all that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Progress = Callable[[float, float | None], None]


class _Heard:
    """A listener, and what it is in the middle of.

    Work inside work is part of a step: loops inside loops move it on by less than one, and loops
    inside work that counts its own steps are not told.
    """

    def __init__(self, listener: Progress) -> None:
        self.listener = listener
        self.steps: list[tuple[int, int]] = []  # of the loops that are under way, outermost first
        self.counted = False

    def tell(self, done: float, whole: float | None) -> None:
        if self.steps and whole:
            for step, of in reversed(self.steps):
                done, whole = step + done / whole, of
        if whole is not None or not self.steps:
            self.listener(done, whole)

    def loop(self, items: list[T]) -> Iterator[T]:
        self.tell(0, len(items))
        for k, item in enumerate(items):
            self.steps.append((k, len(items)))
            try:
                yield item
            finally:
                self.steps.pop()
            self.tell(k + 1, len(items))


_HEARD: ContextVar[_Heard | None] = ContextVar("heard", default=None)


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
    token = _HEARD.set(None if listener is None else _Heard(listener))
    try:
        yield
    finally:
        _HEARD.reset(token)


def tell(done: int, whole: int | None) -> None:
    """Say how much is done, to whoever listens."""
    heard = _HEARD.get()
    if heard is not None:
        heard.counted = whole is not None and done < whole
        heard.tell(done, whole)


def each(items: Iterable[T]) -> Iterator[T]:
    """Go through items, and tell which one it is; loops inside loops are parts of a step.

    Examples
    --------
    >>> heard = []
    >>> with told(lambda done, whole: heard.append(done)):
    ...     pairs = [(a, b) for a in each("ab") for b in each("xy")]
    >>> heard
    [0, 0.0, 0.5, 1.0, 1, 1.0, 1.5, 2.0, 2]
    """
    heard, listed = _HEARD.get(), list(items)
    return iter(listed) if heard is None or heard.counted else heard.loop(listed)
