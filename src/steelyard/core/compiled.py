"""Loops in which every step needs the one before: compiled where numba is there, else as they are.

A kernel is a plain function of numbers and of sequences of numbers, which it reads and changes by
index or by ``zip``: arithmetic, :mod:`math`, functions that are :func:`inner`, nothing else.
Without numba (extra ``fast``) it runs on lists as Python does it; with numba the same lines run on
arrays, thirty times as fast. Both give the same bits: nothing is reordered, and functions are those
of the C library. So it is a matter of time alone which of them runs, and only much work is worth
the import of numba. ``STEELYARD_COMPILED=0`` in the environment leaves numba aside.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

#: Seconds of plain Python from which it is worth it to import numba, and load what it compiled.
_WORTH = 0.25
_OFF = "STEELYARD_COMPILED"
_INNER = "is_inner_of_kernels"
Called = TypeVar("Called", bound=Callable[..., Any])


class Kernel:
    """A function that is compiled when it is worth it; call :meth:`run`."""

    def __init__(self, plain: Callable[..., None], changed: int) -> None:
        self.plain, self.changed = plain, changed
        self._fast: Any = None
        self.__doc__ = plain.__doc__

    def run(self, *given: Any, seconds: float) -> None:
        """Change the first arrays in place; ``seconds`` is what plain Python would take, about."""
        fast = self.fast() if worth(seconds) else None
        if fast is not None:
            fast(*given)
            return
        lists = [own.tolist() if isinstance(own, np.ndarray) else own for own in given]
        self.plain(*lists)
        for own, values in zip(given[: self.changed], lists, strict=False):
            own[...] = values

    def fast(self) -> Callable[..., Any] | None:
        """Give what is compiled, and kept on disk where that can be written; None without numba."""
        numba = _numba()
        if numba is None:
            return None
        if self._fast is None:
            self._fast = _Compiled(self.plain, numba)
        return self._fast.call  # type: ignore[no-any-return]


class _Compiled:
    """What numba makes of a function, and of those that it calls."""

    def __init__(self, plain: Callable[..., Any], numba: Any) -> None:
        assert isinstance(plain, FunctionType)
        self.function, self.numba = _with_compiled(plain, numba), numba
        try:
            self.made = numba.njit(cache=True, nogil=True)(self.function)
        except RuntimeError:  # there is no folder that numba could write to
            self.made = numba.njit(nogil=True)(self.function)

    def call(self, *given: Any) -> Any:
        try:
            return self.made(*given)
        except OSError:  # the folder is full, or was taken away: nothing has been computed yet
            self.made = self.numba.njit(nogil=True)(self.function)
            return self.made(*given)


def kernel(*, changed: int = 0) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function that changes the first so many of its sequences.

    Examples
    --------
    >>> @kernel(changed=1)
    ... def add_up(sums, values):
    ...     for k in range(1, len(values)):
    ...         sums[k] = sums[k - 1] + values[k]
    >>> sums = np.zeros(3)
    >>> add_up.run(sums, np.array([0.0, 2.0, 3.0]), seconds=1e-6)
    >>> sums.tolist()
    [0.0, 2.0, 5.0]
    """
    return lambda plain: Kernel(plain, changed)


def inner(plain: Called) -> Called:
    """Mark a function that kernels call: it is compiled with them, and else what it was."""
    plain.__dict__[_INNER] = True
    return plain


def _with_compiled(plain: Callable[..., Any], numba: Any) -> FunctionType:
    """Copy a function, so that it calls others as numba compiles them."""
    assert isinstance(plain, FunctionType)
    known = {name: plain.__globals__[name] for name in plain.__code__.co_names
             if name in plain.__globals__}  # fmt: skip
    for name, other in known.items():
        if getattr(other, _INNER, False):
            known[name] = numba.njit(nogil=True)(_with_compiled(other, numba))
    found = FunctionType(plain.__code__, known | {"__name__": plain.__module__})
    found.__module__, found.__qualname__ = plain.__module__, plain.__qualname__
    return found


def available() -> bool:
    """Tell whether kernels can be compiled: numba is installed, and nobody said no."""
    return os.environ.get(_OFF) != "0" and find_spec("numba") is not None


def worth(seconds: float) -> bool:
    """Tell whether work that plain Python does in so many seconds is compiled."""
    return seconds >= _WORTH and available() and _numba() is not None


@cache
def _numba() -> Any:
    """Import numba; None where it does not suit what else is installed."""
    try:
        import numba
    except (ImportError, SystemError):  # which it raises for versions that it does not know
        return None
    return numba
