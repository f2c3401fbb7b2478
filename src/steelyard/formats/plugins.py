"""Formats of installed packages, found by the entry point group ``steelyard.formats``."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import entry_points

from steelyard.formats.format import Format

GROUP = "steelyard.formats"


@cache
def installed() -> tuple[Format, ...]:
    """Load the formats of other packages once; a package that is broken is left out."""
    formats = []
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001 - other people's code may raise anything
            problem = f"{type(error).__name__}: {error}"
        else:
            if isinstance(loaded, Format):
                formats.append(loaded)
                continue
            problem = f"expected a Format, found a {type(loaded).__name__}"
        package = "" if point.dist is None else f" of package {point.dist.name}"
        warnings.warn(f"format '{point.name}'{package} is left out ({problem})", stacklevel=2)
    return tuple(formats)
