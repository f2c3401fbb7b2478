"""Names that load their module, and fields that are computed, when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar, cast

T = TypeVar("T")


def loaded_from(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names live in these modules."""

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


class Lazy:
    """Work that stands for its result; what is pickled or copied is the result."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self.work(),)


def _same(value: T) -> T:
    return value


def lazy(work: Callable[[], T]) -> T:
    """Return what a lazy field takes instead of its value."""
    return cast(T, Lazy(work))


class _LazyField:
    """A field of a dataclass without slots: takes a value, or :func:`lazy` work done when read."""

    def __init__(self, default: Any = ...) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = f"_{name}"

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:  # dataclasses ask for the default
            if self.default is ...:
                raise AttributeError(self.key)
            return self.default
        value = vars(instance)[self.key]
        if isinstance(value, Lazy):
            value = vars(instance)[self.key] = value.work()
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.key] = value


lazy_field: Any = _LazyField  # what a type checker takes for a value of any type
