"""Intervals drawn with letters: a column of bars on one scale beside the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.core.table import Cell, Table, decimals, shown_number

_CELLS, _MOST = 14, 20  # of a bar; more where the ends of the scale need them
_LINE, _DOT = "─", "●"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar for each row; ``value`` and ``ends`` are the columns that it draws.

    The heading has the ends of the scale.
    """

    value: int
    ends: tuple[int, int]
    name: str
    head: str
    cells: tuple[str, ...]


def bars_of(table: Table) -> tuple[Bar, ...]:
    """Draw the intervals of a table: columns low and high, side by side, after their value.

    None where fewer than two rows have an interval, or where rows are not on one scale.

    Examples
    --------
    >>> from steelyard.core.table import Column
    >>> columns = (Column("system"), Column("mean", "higher"), Column("low"), Column("high"))
    >>> table = Table("", columns, (("A", 0.51, 0.5, 0.53), ("B", 0.44, 0.42, 0.47)))
    >>> bars_of(table)[0].cells
    ('         ──●──', '──●────')
    """
    return tuple(_bars(table))


def _bars(table: Table) -> Iterator[Bar]:
    names = [column.name for column in table.columns]
    for j in range(2, len(names)):
        if names[j - 1 : j + 1] != ["low", "high"]:
            continue
        value = _value_of(table, j - 1)
        if value is not None:
            found = _bar(table, value, j - 1)
            if found is not None:
                yield found


def _value_of(table: Table, low: int) -> int | None:
    """Find what an interval is of: what its key names ("mean low"), else the column before it."""
    own = (table.columns[low].key or "").removesuffix(" low")
    named = [j for j in range(low) if (table.columns[j].key or table.columns[j].name) == own]
    found = named[-1] if named else low - 1
    return found if found and table.right(found) else None


def _bar(table: Table, value: int, low: int) -> Bar | None:
    if table.columns[value].mixed or table.columns[low].mixed:
        return None
    rows = [(_number(row[value]), _number(row[low]), _number(row[low + 1])) for row in table.rows]
    known = [(a, b) for _, a, b in rows if not math.isnan(a) and not math.isnan(b)]
    if len(known) < 2:
        return None
    start, stop = min(a for a, _ in known), max(b for _, b in known)
    if not start < stop:
        return None
    digits = table.columns[value].digits
    if digits is None:
        digits = decimals([row[value] for row in table.rows])
    ends = shown_number(start, digits), shown_number(stop, digits)
    cells = max(_CELLS, sum(map(len, ends)) + 2)
    if cells > _MOST:
        return None
    column = table.columns[value]
    return Bar(
        value,
        (low, low + 1),
        column.name,
        ends[0] + " " * (cells - sum(map(len, ends))) + ends[1],
        tuple(_drawn(row, (start, stop), cells) for row in rows),
    )


def _number(cell: Cell) -> float:
    if isinstance(cell, (int, float)) and not isinstance(cell, bool) and math.isfinite(cell):
        return float(cell)
    return math.nan


def _drawn(row: tuple[float, float, float], scale: tuple[float, float], cells: int) -> str:
    """Draw a value and its interval."""
    start, stop = scale

    def place(x: float) -> int:
        return round(min(max((x - start) / (stop - start), 0.0), 1.0) * (cells - 1))

    value, low, high = row
    drawn = [" "] * cells
    if not math.isnan(low) and not math.isnan(high):
        for k in range(place(low), place(high) + 1):
            drawn[k] = _LINE
    if not math.isnan(value):
        drawn[place(value)] = _DOT
    return "".join(drawn).rstrip()
