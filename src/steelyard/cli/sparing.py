"""Modules that others import and hardly anybody uses: they are loaded once something is used.

``import scipy.special`` looks at every name of NumPy, and loads its Fortran compiler's front end
and its helpers for tests on the way: a third of the time that it takes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

#: None of which has any effect by being loaded.
NAMES = frozenset(
    {"numpy.f2py", "numpy.testing", "numpy.ma", "numpy.polynomial", "numpy.ctypeslib"}
)


class Sparing:
    """Finds modules as Python does, and puts off running some of them."""

    def __init__(self, names: frozenset[str] = NAMES) -> None:
        self.names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find one of the names; of others, nothing is known here."""
        if name not in self.names:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def spare() -> None:
    """Put off what is hardly used, in a process that is ours alone: that of a command."""
    if not any(isinstance(finder, Sparing) for finder in sys.meta_path):
        sys.meta_path.insert(0, Sparing())
