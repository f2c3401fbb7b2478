"""Items that were answered several times, and items of several tasks, as logs of runs have them.

An epoch is another answer to the same item: its scores are averaged, so that an item counts once.
Two tasks number their items alike: these are told apart by the task, which is their domain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.text import listed, plural
from steelyard.data.judgements import Floats
from steelyard.formats import columns as roles
from steelyard.formats.cells import Cells
from steelyard.formats.columns import DOMAIN, SEGMENT, SYSTEM
from steelyard.formats.rawtable import RawTable, one_of


def folded(table: RawTable) -> RawTable:
    """Name items by their task or document where these count them, and average over epochs."""
    table = within_tasks(table)
    segment = one_of(table, SEGMENT, "segment")
    if segment is not None and any(name in table for name in roles.DOCUMENT):
        by = [SYSTEM[0], *(name for name in roles.EPOCH if name in table)]
        if _repeat([*by, segment], table) and not _repeat([*by, segment, *roles.DOCUMENT], table):
            table = within_documents(table)
    return _without_epochs(table)


def _repeat(names: Sequence[str], table: RawTable) -> bool:
    """Tell whether two rows have the same cells in these columns."""
    columns = [list(map(str, table.columns[name])) for name in names if name in table]
    return len(set(zip(*columns, strict=True))) < table.n_rows


def within_documents(table: RawTable) -> RawTable:
    """Call segments ``document:segment`` if one id stands in several documents."""
    document, segment = one_of(table, roles.DOCUMENT, "document"), one_of(table, SEGMENT, "segment")
    if document is None or segment is None:
        return table
    documents, ids = table.texts(document), table.labels(segment)
    counts = Counter(name for name, _ in set(zip(ids, documents, strict=True)))
    if 2 * sum(count > 1 for count in counts.values()) < len(counts) or not all(documents):
        return table  # a few may be slips
    named = [f"{document}:{name}" for document, name in zip(documents, ids, strict=True)]
    given = {**table.given, segment: f"{table.given.get(segment, segment)}"}
    columns = {**table.columns, segment: named}
    note = "ids are counted within documents: segments are named DOCUMENT:SEGMENT"
    return replace(table, columns=columns, given=given).noted(note)


def within_tasks(table: RawTable) -> RawTable:
    """Call items ``TASK/ITEM`` where there are several tasks, which become their domain."""
    task = one_of(table, roles.TASK, "task")
    segment = one_of(table, SEGMENT, "segment")
    if task is None or segment is None:
        return table if task is None else table.without([task])
    tasks = table.labels(task)
    rest = table.without([task])
    if len(set(tasks)) == 1:
        return rest
    ids = [f"{name}/{item}" for name, item in zip(tasks, table.labels(segment), strict=True)]
    domain = {} if any(name in table for name in DOMAIN) else {DOMAIN[0]: tasks}
    note = f"items of {plural(len(set(tasks)), 'task')} are named TASK/ITEM"
    return replace(rest, columns={**rest.columns, segment: ids, **domain}).noted(note)


def _without_epochs(table: RawTable) -> RawTable:
    epoch = one_of(table, roles.EPOCH, "epoch")
    segment = one_of(table, SEGMENT, "segment")
    if epoch is None or segment is None:
        return table
    keys = list(zip(table.labels(SYSTEM[0]), table.labels(segment), strict=True))
    epochs = table.labels(epoch)
    if any(re.fullmatch(r"-?[0-9]*\.[0-9]+", number) for number in epochs):
        return table.noted(f"{table.named(epoch)} holds decimals, and is taken for a score")
    first: dict[tuple[str, str], int] = {}
    seen: dict[tuple[str, str, str], int] = {}
    for row, (key, number) in enumerate(zip(keys, epochs, strict=True)):
        first.setdefault(key, row)
        earlier = seen.setdefault((*key, number), row)
        if earlier != row:
            table.fail(
                f"system '{key[0]}', item '{key[1]}' and epoch '{number}' "
                f"{table.already(earlier, row)}",
                row,
            )
    rest = table.without([epoch])
    if len(first) == table.n_rows:
        several = listed(sorted(set(epochs)))
        note = f"{table.named(epoch)} is not used: every item has one ({several})"
        return rest if len(set(epochs)) == 1 else rest.noted(note)
    index = {key: i for i, key in enumerate(first)}
    group = np.array([index[key] for key in keys])
    rows = list(first.values())
    columns: dict[str, Cells] = {}
    for name, cells in rest.columns.items():
        if roles.is_text(name) or name in table.metadata:
            columns[name] = [cells[row] for row in rows]
        else:
            columns[name] = _means(rest.scores(name), group, len(rows))
    sizes = np.bincount(group)
    span = f"{sizes.max()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
    kept = np.array(rows) if table.rows is None else table.rows[rows]
    folded_rows = replace(rest, columns=columns, n_rows=len(rows), rows=kept)
    return folded_rows.noted(f"scores are means over {span} epochs of an item")


def _means(values: Floats, group: NDArray[np.int64], n: int) -> Floats:
    """Average the known values of each group; NaN where there is none."""
    filled = ~np.isnan(values)
    total = np.bincount(group[filled], values[filled], minlength=n)
    count = np.bincount(group[filled], minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
