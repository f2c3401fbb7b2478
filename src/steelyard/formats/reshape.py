"""Rows of tables made one per item: ids within documents and tasks, epochs, scores by name.

An epoch is another answer to the same item: its scores are averaged, so that an item counts once.
Tasks number their items alike, so these are named by the task, which becomes their domain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.text import listed, plural
from steelyard.data.judgements import Floats
from steelyard.formats import columns as roles
from steelyard.formats.cells import Cells
from steelyard.formats.columns import (
    DOCUMENT,
    DOMAIN,
    EPOCH,
    SEGMENT,
    SYSTEM,
    TASK,
    segment_column,
)
from steelyard.formats.rawtable import RawTable, Stated, one_of


class RunRows(NamedTuple):
    """Scores by run, before their means are taken: the system and item of every row, scores."""

    keys: list[tuple[str, str]]
    scores: dict[str, Floats]


_RUNS: ContextVar[list[RunRows] | None] = ContextVar("runs", default=None)


@contextmanager
def keeping_runs() -> Iterator[list[RunRows]]:
    """Collect the single runs of tables that are read inside."""
    rows: list[RunRows] = []
    token = _RUNS.set(rows)
    try:
        yield rows
    finally:
        _RUNS.reset(token)


def folded(table: RawTable) -> RawTable:
    """Name items by their task or document where these count them, and average over epochs."""
    return _without_epochs(within_documents(within_tasks(table)))


def within_documents(table: RawTable) -> RawTable:
    """Call segments ``document:segment`` where documents count their segments anew.

    That is so where a system, a rater or an epoch has an id in several documents. Raters may share
    no segment: among their rows two such ids, or one on several rows, are no slip.
    """
    document, segment = one_of(table, roles.DOCUMENT, "document"), segment_column(table)
    if document is None or segment is None:
        return table
    documents, ids = table.texts(document), table.labels(segment)
    if not all(documents):
        return table
    rows = Counter(zip(ids, documents, strict=True))
    several = {name for name, count in Counter(name for name, _ in rows).items() if count > 1}
    if not several:
        return table
    by = [name for name in (*SYSTEM, *roles.RATER, *roles.EPOCH) if name in table]
    keys = zip(ids, *(map(str, table.columns[name]) for name in by), strict=True)
    seen: dict[tuple[str, ...], str | None] = {}
    anew = any(seen.setdefault(k, d) != d for k, d in zip(keys, documents, strict=True))
    if not anew and not set(roles.RATER).isdisjoint(by):
        anew = len(several) > 1 or min(n for (name, _), n in rows.items() if name in several) > 1
    if not anew:
        return table
    names = [f"{name}:{number}" for name, number in zip(documents, ids, strict=True)]
    in_file = {**table.given, segment: table.given.get(segment, segment)}
    note = "ids are counted within documents: segments are named DOCUMENT:SEGMENT"
    return replace(table, columns={**table.columns, segment: names}, given=in_file).noted(note)


def within_tasks(table: RawTable) -> RawTable:
    """Call items ``TASK/ITEM`` where there are several tasks, which are kept as metadata."""
    task = next((name for name in roles.TASK if name in table), None)
    segment = segment_column(table)
    if task is None:
        return table
    rest = table.without([task])
    tasks = [] if segment is None else table.labels(task)
    if segment is None or len(set(tasks)) == 1:
        return rest
    ids = [f"{name}/{item}" for name, item in zip(tasks, table.labels(segment), strict=True)]
    domain = {} if any(name in table for name in DOMAIN) else {DOMAIN[0]: tasks}
    note = f"items of {plural(len(set(tasks)), 'task')} are named TASK/ITEM"
    columns = {**rest.columns, segment: ids, **domain, roles.TASK[0]: tasks}
    return replace(rest, columns=columns, metadata=rest.metadata | {roles.TASK[0]}).noted(note)


def _without_epochs(table: RawTable) -> RawTable:
    epoch, segment = one_of(table, roles.EPOCH, "epoch"), segment_column(table)
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
            what = f"system '{key[0]}', item '{key[1]}', epoch '{number}'"
            table.repeats(earlier, row, what)
    rest = table.without([epoch])
    if (kept_runs := _RUNS.get()) is not None:
        names = [n for n in rest.columns if not roles.is_text(n) and n not in table.metadata]
        kept_runs.append(RunRows(keys, {name: rest.scores(name) for name in names}))
    if len(first) == table.n_rows:
        several = listed(sorted(set(epochs)))
        note = f"{table.named(epoch)} is not used: every item has one ({several})"
        return rest if len(set(epochs)) == 1 else rest.noted(note)
    index = {key: i for i, key in enumerate(first)}
    group = np.array([index[key] for key in keys])
    means = {
        name: _means(rest.scores(name), group, len(first))
        for name in rest.columns
        if not roles.is_text(name) and name not in table.metadata
    }
    sizes = np.bincount(group)
    span = f"{sizes.max()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
    kept = rest.take(list(first.values()))
    columns: dict[str, Cells] = {**kept.columns, **means}
    return replace(kept, columns=columns).noted(f"scores are means over {span} epochs of an item")


def _means(values: Floats, group: NDArray[np.int64], n: int) -> Floats:
    filled = ~np.isnan(values)
    total = np.bincount(group[filled], values[filled], minlength=n)
    count = np.bincount(group[filled], minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def as_shares(
    table: RawTable, percents: Sequence[str], plain: Sequence[tuple[RawTable, str]]
) -> RawTable:
    """Read columns with % as shares, where others hold the same scores as numbers from 0 to 1."""
    for name in percents:
        values = table.numbers(name)
        numbers = [other.numbers(column) for other, column in plain]
        are_shares = all((np.isnan(n) | ((n >= 0) & (n <= 1))).all() for n in numbers)
        if not are_shares or not np.nanmax(values) > 1:
            other, column = plain[0]
            table.fail(
                f"{table.named(name)} is written with %, and {other.named(column)} of "
                f"{other.place} without: write both alike"
            )
        note = f"{table.named(name)} is read as shares (40% is 0.4), like the other scores"
        table = replace(table, columns={**table.columns, name: values / 100}).noted(note)
    return replace(table, percents=table.percents - {table.given.get(n, n) for n in percents})


def by_score(table: RawTable) -> RawTable:
    """Give scores their own columns where one names the score and one holds all their values."""
    names = [name for name in table.columns if roles.names_scores(table, name)]
    if len(names) != 1 or roles.measured(table) not in ([value] for value in ("score", "value")):
        return table
    (value,) = roles.measured(table)
    spread_out = spread(table, names[0], value)
    scores = [name for name in spread_out.columns if name not in table]
    spread_out = replace(spread_out, facts=dict.fromkeys(scores, Stated()))
    return spread_out.noted(f"scores are named by column '{names[0]}': {listed(scores, 8)}")


def spread(table: RawTable, name: str, value: str, *, repeated: bool = False) -> RawTable:
    """Give every name in a column a column for the scores in another: one row per item.

    Other columns are taken from the first row of a system and segment. Where scores may be
    ``repeated``, the n-th of an item is that of epoch n; else a second one is an error.
    """
    if value not in table:
        table.fail(f"no column '{value}' is left")
    n = table.n_rows
    names = table.labels(name) if name in table else [value] * n
    for row, score in enumerate(names):
        if roles.is_text(score):
            table.fail(f"a score named '{score}' can't be told from the column of that name", row)
    by = [n for n in (*SYSTEM, *SEGMENT, *DOCUMENT, *TASK, *EPOCH) if n in table]
    items = list(zip(*map(table.labels, by), strict=True)) or [()] * n
    first: dict[tuple[tuple[str, ...], int], int] = {}
    counts: Counter[tuple[tuple[str, ...], str]] = Counter()
    cells: dict[str, dict[tuple[tuple[str, ...], int], Any]] = {score: {} for score in names}
    for row, key in enumerate(zip(items, names, strict=True)):
        counts[key] += 1
        if counts[key] > 1 and not repeated:
            of = " and ".join(f"{n} '{label}'" for n, label in zip(by, key[0], strict=True))
            table.fail(f"{key[1]} of {of} is given twice", row)
        item = (key[0], counts[key])
        first.setdefault(item, row)
        cells[key[1]][item] = table.columns[value][row]
    kept = table.take(list(first.values())).without([name, value])
    columns: dict[str, Any] = dict(kept.columns)
    if any(epoch > 1 for _, epoch in first):
        columns[EPOCH[0]] = [epoch for _, epoch in first]
    columns |= {score: [held.get(item) for item in first] for score, held in cells.items()}
    facts = dict.fromkeys(cells, table.facts[value]) if value in table.facts else {}
    return replace(kept, columns=columns, facts=facts | dict(table.facts))
