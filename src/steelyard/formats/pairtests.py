"""Tests of pairs of systems that were made elsewhere: a table of names and p-values."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steelyard.core.errors import hint
from steelyard.formats import tables

NAMES = (("a", "b"), ("left", "right"), ("system_a", "system_b"), ("system1", "system2"))
P = ("p", "p_value", "pvalue")


def read_pair_pvalues(path: str | Path) -> dict[tuple[str, str], float]:
    """Read the p-value of each pair: columns ``a`` and ``b`` (or left and right) and ``p``.

    A column whose name ends in ``_p`` is one of p-values, too, if it is the only one.
    """
    sides = {name for pair in NAMES for name in pair}
    table = tables.read(Path(path), is_text=sides.__contains__)
    pair = next((both for both in NAMES if all(name in table for name in both)), None)
    if pair is None:
        table.fail(f"no columns a and b with the names of systems; {hint('a', table.columns)}")
    named = [name for name in table.columns if name in P or name.endswith("_p")]
    if len(named) != 1:
        shown = ", ".join(named) or "none"
        table.fail(f"expected one column of p-values (p, or one that ends in _p), found: {shown}")
    first, second = (table.labels(name) for name in pair)
    p = table.numbers(named[0])
    found: dict[tuple[str, str], float] = {}
    for row, (one, two, value) in enumerate(zip(first, second, p, strict=True)):
        if not (np.isnan(value) or 0 <= value <= 1):
            table.fail(f"{named[0]} is {value:g}, expected a number from 0 to 1", row)
        key = (one, two) if one <= two else (two, one)
        if key in found:
            table.fail(f"'{one}' and '{two}' stand in an earlier row already", row)
        found[key] = float(value)
    return found
