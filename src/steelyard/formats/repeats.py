"""Items that were answered several times, and items of several tasks, as logs of runs have them.

An epoch is another answer to the same item: its scores are averaged, so that an item counts once.
Two tasks number their items alike: these are told apart by the task, which is their domain.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.text import listed, plural
from steelyard.data.judgements import Floats
from steelyard.formats import roles
from steelyard.formats.cells import Cells
from steelyard.formats.rawtable import RawTable, one_of
from steelyard.formats.roles import DOMAIN, SEGMENT, SYSTEM


def folded(table: RawTable) -> RawTable:
    """Name items by their task where there are several, and average over epochs."""
    return _without_epochs(_without_tasks(table))


def _without_tasks(table: RawTable) -> RawTable:
    task = one_of(table, roles.TASK, "task")
    segment = one_of(table, SEGMENT, "segment")
    if task is None or segment is None:
        return table
    tasks = table.labels(task)
    rest = table.without([task])
    if len(set(tasks)) == 1:
        return rest
    ids = [f"{own}/{item}" for own, item in zip(tasks, table.labels(segment), strict=True)]
    domain = {} if any(name in table for name in DOMAIN) else {DOMAIN[0]: tasks}
    note = f"{table.place}: items of {plural(len(set(tasks)), 'task')} are named TASK/ITEM"
    return replace(
        rest,
        columns={**rest.columns, segment: ids, **domain},
        notes=(*table.notes, note),
    )


def _without_epochs(table: RawTable) -> RawTable:
    epoch = one_of(table, roles.EPOCH, "epoch")
    segment = one_of(table, SEGMENT, "segment")
    if epoch is None or segment is None:
        return table
    keys = list(zip(table.labels(SYSTEM[0]), table.labels(segment), strict=True))
    epochs = table.labels(epoch)
    if any(re.fullmatch(r"-?[0-9]*\.[0-9]+", own) for own in epochs):
        note = f"{table.place}: {table.named(epoch)} holds decimals, and is taken for a score"
        return replace(table, notes=(*table.notes, note))
    first: dict[tuple[str, str], int] = {}
    seen: dict[tuple[str, str, str], int] = {}
    for row, (key, own) in enumerate(zip(keys, epochs, strict=True)):
        first.setdefault(key, row)
        earlier = seen.setdefault((*key, own), row)
        if earlier != row:
            table.fail(
                f"system '{key[0]}', item '{key[1]}' and epoch '{own}' "
                f"{table.already(earlier, row)}",
                row,
            )
    rest = table.without([epoch])
    if len(first) == table.n_rows:
        several = listed(sorted(set(epochs)))
        note = f"{table.place}: {table.named(epoch)} is not used: every item has one ({several})"
        return rest if len(set(epochs)) == 1 else replace(rest, notes=(*table.notes, note))
    place = {key: i for i, key in enumerate(first)}
    group = np.array([place[key] for key in keys])
    rows = list(first.values())
    columns: dict[str, Cells] = {}
    for name, cells in rest.columns.items():
        if roles.is_text(name) or name in table.metadata:
            columns[name] = [cells[row] for row in rows]
        else:
            columns[name] = _means(rest.scores(name), group, len(rows))
    sizes = np.bincount(group)
    span = f"{sizes.max()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
    note = f"{table.place}: scores are means over {span} epochs of an item"
    kept = np.array(rows) if table.rows is None else table.rows[rows]
    notes = (*table.notes, note)
    return replace(rest, columns=columns, n_rows=len(rows), rows=kept, notes=notes)


def _means(values: Floats, group: NDArray[np.int64], n: int) -> Floats:
    """Average the known values of each group; NaN where there is none."""
    known = ~np.isnan(values)
    total = np.bincount(group[known], values[known], minlength=n)
    count = np.bincount(group[known], minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
