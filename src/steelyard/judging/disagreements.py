"""Where a judge and people differ most: the rows to read first."""

from __future__ import annotations

import numpy as np

from steelyard.core.table import Cell, Column, Table
from steelyard.data.verdicts import Opinion, Verdicts

MOST = 20


def worst_disagreements(verdicts: Verdicts, judge: Opinion, most: int = MOST) -> Table:
    """List the labelled rows on which a judge is furthest from people, the furthest first.

    By numbers where there are any, else rows with other labels, in the order of items. Rows that
    people agree on come before those on which they are split.
    """
    people = verdicts.people()
    far = np.abs(judge.value - people.value)
    if np.isnan(far).all() and judge.label is not None and people.label is not None:
        both = (judge.label >= 0) & (people.label >= 0)
        far = np.where(both, (judge.label != people.label).astype(np.float64), np.nan)
    values = np.stack([rater.value for rater in verdicts.raters])
    known = ~np.isnan(values)
    split = np.where(known.sum(axis=0) > 1, np.nanmax(np.where(known, values, -np.inf), axis=0)
                     - np.nanmin(np.where(known, values, np.inf), axis=0), 0.0)  # fmt: skip
    rows = np.flatnonzero(far > 0)
    order = rows[np.lexsort((rows, split[rows], -far[rows]))][:most]
    systems: list[Column] = []
    if verdicts.left is not None:
        systems = [Column("left"), Column("right")] if verdicts.right is not None else [
            Column("system")
        ]  # fmt: skip
    cells: list[tuple[Cell, ...]] = []
    for row in order:
        who = [] if verdicts.left is None else [verdicts.systems[verdicts.left[row]]]
        who += [] if verdicts.right is None else [verdicts.systems[verdicts.right[row]]]
        said = (_shown(verdicts, one, int(row)) for one in (people, judge))
        cells.append((verdicts.items[verdicts.item[row]], *who, *said))
    columns = (Column("item"), *systems, Column("people"), Column(judge.name, key="judge"))
    return Table(f"Worst disagreements of {judge.name}", columns, tuple(cells))


def _shown(verdicts: Verdicts, opinion: Opinion, row: int) -> Cell:
    if opinion.label is not None and opinion.label[row] >= 0:
        return verdicts.categories[int(opinion.label[row])]
    value = float(opinion.value[row])
    return None if np.isnan(value) else round(value, 3)
