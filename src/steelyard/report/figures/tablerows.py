"""The figure of a table: its numbers row by row, with intervals where columns give their ends.

What a result has no figure of its own for is drawn as its table says it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.table import Cell, Table
from steelyard.report.figures.panels import Intervals, interval_panel
from steelyard.report.figures.style import Chart, alt, finish, label, labels, limited
from steelyard.stats.arrays import Floats

_PANELS = 4  # columns of numbers that are drawn
_ENDS = ("low", "high")


def draw(table: Table, title: str = "") -> Chart:
    """Draw a panel for each column of numbers, at most four, a row for each row of the table.

    Rows are named by the columns of words before the first number. Columns ``low`` and ``high`` are
    the ends of the interval of the column before them.
    """
    columns = [[row[j] for row in table.rows] for j in range(len(table.columns))]
    drawn = [j for j, column in enumerate(table.columns)
             if column.name not in _ENDS and _numeric(columns[j])]  # fmt: skip
    if not drawn:
        raise UsageError("this table has no numbers to draw")
    words = [own for own in columns[: drawn[0]] if any(isinstance(cell, str) for cell in own)]
    names = labels(", ".join(str(cell) for cell in row if cell is not None)
                   for row in zip(*words, strict=True))  # fmt: skip
    panels = [
        interval_panel(
            Intervals(names, _numbers(columns[j]), _span(table, columns, j)),
            title=label(table.columns[j].heading),
            first=k == 0,
            width=380 if len(drawn) == 1 else 190,
        )
        for k, j in enumerate(drawn[:_PANELS])
    ]
    ends = any(column.name == "low" for column in table.columns)
    told = ["lines: 95% intervals" if ends else "", limited(len(names), "rows")]
    return finish(alt.hconcat(*panels, spacing=28), title or table.title, told)


def _numeric(cells: Sequence[Cell]) -> bool:
    """Tell whether a column holds measurements: counts and ranks are whole numbers."""
    return any(isinstance(cell, float) and not np.isnan(cell) for cell in cells)


def _numbers(cells: Sequence[Cell]) -> Floats:
    return np.array([cell if isinstance(cell, (int, float)) else np.nan for cell in cells], float)


def _span(table: Table, columns: Sequence[Sequence[Cell]], j: int) -> tuple[Floats, Floats] | None:
    names = [column.name for column in table.columns[j + 1 : j + 3]]
    if names != list(_ENDS):
        return None
    return _numbers(columns[j + 1]), _numbers(columns[j + 2])
