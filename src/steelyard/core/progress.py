"""Progress of long work: whoever waits listens, the work reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Progress = Callable[[float, float | None], None]  #: takes what is done, and what there is


class _Listening:
    """A listener and the loops under way; a loop inside work that counts itself is silent."""

    def __init__(self, listener: Progress) -> None:
        self.listener = listener
        self.steps: list[tuple[int, int]] = []  # of the loops that are under way, outermost first
        self.counted = False

    def report(self, done: float, total: float | None) -> None:
        if self.steps and total:
            for step, steps in reversed(self.steps):
                done, total = step + done / total, steps
        if total is not None or not self.steps:
            self.listener(done, total)

    def loop(self, items: list[T]) -> Iterator[T]:
        self.report(0, len(items))
        for k, item in enumerate(items):
            self.steps.append((k, len(items)))
            try:
                yield item
            finally:
                self.steps.pop()
            self.report(k + 1, len(items))


_LISTENING: ContextVar[_Listening | None] = ContextVar("listening", default=None)


@contextmanager
def listening(listener: Progress | None) -> Iterator[None]:
    """Have the work inside report to ``listener``."""
    token = _LISTENING.set(None if listener is None else _Listening(listener))
    try:
        yield
    finally:
        _LISTENING.reset(token)


def report_progress(done: int, total: int | None) -> None:
    """Report how much is done to whoever listens."""
    current = _LISTENING.get()
    if current is not None:
        current.counted = total is not None and done < total
        current.report(done, total)


def each(items: Iterable[T]) -> Iterator[T]:
    """Yield items, and report which one it is; loops inside loops are parts of a step."""
    current, listed = _LISTENING.get(), list(items)
    return iter(listed) if current is None or current.counted else current.loop(listed)
