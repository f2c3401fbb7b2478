"""Public names of a package, which load their modules when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loaded_from(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """Give the ``__getattr__`` of a package whose names live in these modules.

    Examples
    --------
    >>> find = loaded_from("steelyard.core", {"plural": "steelyard.core.words"})
    >>> find("plural")(2, "name")
    '2 names'
    >>> find("singular")
    Traceback (most recent call last):
    ...
    AttributeError: module 'steelyard.core' has no attribute 'singular'
    """

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
