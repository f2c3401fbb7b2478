"""What a cell of a table is: a number, a name, or a gap. The one definition, in Python and in SQL.

A **gap** is an absent value or one of :data:`GAPS`. A **number** is what :data:`NUMBER` matches, in
plain digits of ASCII: no ``1_000``, no ``inf``, no ``0x10``. A **name** is text as it stands, or a
whole number as digits. Small tables go through :func:`parse_number`, columns of text through
:func:`fast_numbers`, and what DuckDB reads through the SQL below, which is made of the same
constants; a test compares the three.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from steelyard.data.judgements import Floats
from steelyard.formats.duck import literal

Cells = Sequence[Any] | NDArray[np.float64]

GAPS = frozenset(("", "nan", "NaN", "None", "NA"))
NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
_NAN = float("nan")
_TRUTHS = {**dict.fromkeys(("True", "true", "TRUE"), 1.0),
           **dict.fromkeys(("False", "false", "FALSE"), 0.0)}  # fmt: skip


def parse_number(cell: object) -> float | None:
    """Convert one cell; NaN for a gap, None if it is not a number."""
    if cell is None or (isinstance(cell, str) and cell in GAPS):
        return _NAN
    if isinstance(cell, str):
        return float(cell) if NUMBER.fullmatch(cell) else None
    if isinstance(cell, bool):
        return None
    if isinstance(cell, (int, float, np.integer, np.floating, Decimal)):
        try:
            number = float(cell)
        except OverflowError:
            return None
        exact = not isinstance(cell, (int, np.integer)) or int(number) == int(cell)
        return number if exact else None
    return None


def fast_numbers(cells: Sequence[Any]) -> Floats | None:
    """Convert text cells at C speed; None if any needs the careful look of :func:`parse_number`."""
    try:
        together = "".join(cells)
        if not together.isascii() or "_" in together:
            return None
        values = np.array([_NAN if c in GAPS else float(c) for c in cells], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    # What float() takes beyond NUMBER shows in the result: words for infinity and for NaN.
    gaps = sum(c in GAPS for c in cells) if np.isnan(values).any() else 0
    odd = np.isinf(values).any() or np.count_nonzero(np.isnan(values)) != gaps
    return None if odd else values


def numbers_of(cells: Cells) -> Floats | None:
    """Convert a column; None if a cell is no number, which whoever reads the table says."""
    if isinstance(cells, np.ndarray):
        return cells
    fast = fast_numbers(cells)
    if fast is not None:
        return fast
    found = [parse_number(cell) for cell in cells]
    return None if None in found else np.array(found, dtype=np.float64)


def truths(cells: Cells) -> Floats | None:
    """Convert a column of true, false and gaps; None if it holds anything else, or gaps alone."""
    if isinstance(cells, np.ndarray) or not len(cells) or _truth(cells[0]) is None:
        return None
    found = [_truth(cell) for cell in cells]
    if any(value is None for value in found):
        return None
    values = np.array(found, dtype=np.float64)
    return None if np.isnan(values).all() else values


def _truth(cell: object) -> float | None:
    if isinstance(cell, (bool, np.bool_)):
        return float(cell)
    if isinstance(cell, str) and cell in _TRUTHS:
        return _TRUTHS[cell]
    return _NAN if cell is None or (isinstance(cell, str) and cell in GAPS) else None


def label(cell: object) -> str | None:
    """Give a cell as a name; None if it can't be one."""
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, (date, UUID)):
        return str(cell)  # 2024-05-01, 2024-05-01 10:00:00: as SQL and pandas write them
    if isinstance(cell, (int, np.integer)):
        return str(int(cell))
    if isinstance(cell, (float, np.floating)):
        if not np.isfinite(cell):
            return None
        return str(int(cell)) if float(cell).is_integer() else repr(float(cell))
    return cell if isinstance(cell, str) else None


def brief(value: object) -> str:
    """Show a cell, or whatever a file holds, in a message."""
    try:
        shown = repr(value)
    except RecursionError:
        shown = f"a {type(value).__name__} of many levels"
    return shown if len(shown) <= 60 else shown[:57] + "..."


def skipping(column: str) -> str:
    """Name the argument that leaves a column out."""
    return f'ignore=["{column}"]'


#: SQL of the list of gaps, for ``IN (...)`` and for what ``read_csv`` takes as NULL.
SQL_GAPS = ", ".join(literal(word) for word in sorted(GAPS))
#: What ``str.strip`` takes off: a name of these alone is none.
_BLANK = literal(f"[{''.join(c for c in map(chr, range(0x3001)) if c.isspace())}]*")


def sql_number(text: str) -> str:
    """SQL of a text as a number; NULL where it is a gap or none."""
    matches = f"regexp_full_match({text}, {literal(NUMBER.pattern)})"
    return f"CASE WHEN {matches} THEN TRY_CAST({text} AS DOUBLE) END"


def sql_gap(text: str) -> str:
    """SQL that tells whether a text is a word for a gap."""
    return f"coalesce({text} IN ({SQL_GAPS}), false)"


def sql_blank(name: str) -> str:
    """SQL that tells whether a name is absent or blank, and so none."""
    return f"coalesce(regexp_full_match({name}, {_BLANK}), true)"
