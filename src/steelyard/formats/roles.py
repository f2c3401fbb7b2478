"""Columns that nobody named as we do: which of them is the system or the segment, which no score.

A table of scores calls its columns as :mod:`steelyard.formats.layout` says, and every other column
is a score or a system. Before that is believed, a column that reads like a number of the row is
taken as the segment, with a word about it, or refused.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.formats import layout
from steelyard.formats.tables import RawTable, fast_numbers, parse_number, shell

#: Other names of the system, if the cells are words: a system of a wide table may be called so too.
SYSTEM_ALSO = ("model", "model_name", "model_id", "system_name", "system_id", "sys", "name")
_OF_OTHERS = frozenset(
    ("model", "system", "sys", "rater", "annotator", "worker", "judge", "user", "session", "run",
     "batch", "hit", "task", "dataset")
)  # fmt: skip
_COUNTS_FROM = 5  # rows; fewer numbers than that can be 1, 2, 3 by chance
_FAR = 100.0  # largest scores of two systems that are so many times apart are not of one kind


def stays_text(name: str) -> bool:
    """Tell whether the cells of a column stay as they are written, even where all are digits."""
    return layout.is_text(name) or name in SYSTEM_ALSO or layout.says_id(name)


@dataclass(frozen=True)
class Named:
    """What the user named: scores, and systems to keep (None: all). These are never doubted."""

    scores: frozenset[str] = frozenset()
    systems: frozenset[str] | None = None


def settled(table: RawTable, named: Named) -> tuple[RawTable, list[str]]:
    """Call the columns of a table of scores by our names, and say what was guessed."""
    notes: list[str] = []
    if layout.SYSTEM[0] not in table:
        spelt = {name.casefold(): name for name in table.columns}
        known = (spelt[name] for name in (*layout.SYSTEM, *SYSTEM_ALSO) if name in spelt)
        found = [name for name in known if _is_words(table, name)]
        if found:
            table = _renamed(table, found[0], layout.SYSTEM[0], notes)
    table, said = numbered(table, named.scores if layout.SYSTEM[0] in table else named.systems)
    return table, notes + said


def numbered(table: RawTable, kept: Collection[str] | None = None) -> tuple[RawTable, list[str]]:
    """Call the column that names the segments ``segment``, and say so if that was a guess."""
    notes: list[str] = []
    if not any(name in table for name in layout.SEGMENT):
        segment = _segment(table, kept or ())
        if segment is not None:
            table = _renamed(table, segment, layout.SEGMENT[0], notes)
    return table, notes


def _is_words(table: RawTable, name: str) -> bool:
    cells = table.columns[name]
    return not isinstance(cells, np.ndarray) and not any(
        parse_number(cell) is not None for cell in cells[:100]
    )


def _segment(table: RawTable, kept: Collection[str]) -> str | None:
    """Find the column that names the segments by something like ``example_id``."""
    found = [
        name
        for name in table.columns
        if layout.says_id(name) and name not in kept and not _OF_OTHERS & set(layout.words(name))
    ]
    first = next(iter(table.columns))
    if len(found) > 1 and first not in found:
        raise UsageError(
            f"{table.place}: columns {' and '.join(found)} could both be the segment; "
            f"name the other one with --ignore"
        )
    return None if not found else first if first in found else found[0]


def _renamed(table: RawTable, name: str, role: str, notes: list[str]) -> RawTable:
    notes.append(f"{table.place}: column '{name}' is taken as the {role}")
    columns = {role if key == name else key: cells for key, cells in table.columns.items()}
    return replace(table, columns=columns, given={**table.given, role: name})


def _refuse_running_ids(table: RawTable) -> None:
    """Refuse a segment that was guessed if no two systems share any: it numbers the rows."""
    name = table.given.get(layout.SEGMENT[0])
    if name is None:
        return
    n_systems, n_segments = (
        len(set(map(str, table.columns[role]))) for role in (layout.SYSTEM[0], layout.SEGMENT[0])
    )
    if n_systems > 1 and n_segments == table.n_rows:
        table.fail(
            f"column '{name}' is another on every row, so no two systems have a segment in "
            f"common; expected a column 'segment' (--ignore {shell(name)} skips this one)"
        )


def checked(table: RawTable, named: Named) -> tuple[RawTable, list[str]]:
    """Refuse columns that are no scores; give those that are left, and what seems odd of them."""
    if layout.SYSTEM[0] in table:
        _refuse_running_ids(table)
        _refuse_ids(table, named.scores, "--kind metric:{name} takes it for a score")
        return table, [
            f"{table.place}: column '{name}' counts the rows, and is taken for a score (--ignore "
            f"{shell(name)} skips it)"
            for name in _scores(table)
            if name not in named.scores and _counts(table, name)
        ]
    if named.systems is not None:
        others = [n for n in _scores(table) if layout.says_id(n) and n not in named.systems]
        return table.without(others), []
    _refuse_ids(table, (), "--systems {name},... takes it for a system")
    return table, _odd_systems(table)


def _scores(table: RawTable) -> list[str]:
    return [name for name in table.columns if not layout.is_text(name)]


def _refuse_ids(table: RawTable, kept: Collection[str], otherwise: str) -> None:
    for name in _scores(table):
        if layout.says_id(name) and name not in kept:
            segment = table.given.get(layout.SEGMENT[0])
            beside = f"; '{segment}' is taken as the segment" if segment else ""
            how = f"--ignore {shell(name)} skips it, {otherwise.format(name=shell(name))}"
            table.fail(f"column '{name}' reads like an id, not like scores{beside} ({how})")


def _odd_systems(table: RawTable) -> list[str]:
    """Doubt a wide table: a column that counts its rows, a single row, scores of several kinds."""
    names = _scores(table)
    numbered = any(name in table for name in layout.SEGMENT)
    if table.n_rows == 1 and not numbered and names:
        table.fail(
            f"one row of cells under {', '.join(repr(n) for n in names[:3])}, which could be "
            "anything: expected a column 'segment' and one per system, or 'system' and one per "
            "score"
        )
    notes = []
    for name in names:
        if not _counts(table, name, least=_COUNTS_FROM if numbered else 3):
            continue
        if not numbered and table.n_rows >= _COUNTS_FROM:
            table.fail(
                f"column '{name}' counts the rows: call it segment if it does, or --ignore "
                f"{shell(name)}; --systems {shell(name)},... takes it for a system"
            )
        notes.append(f"{table.place}: column '{name}' counts the rows, and is taken for a system")
    return notes + _apart(table, names)


def _counts(table: RawTable, name: str, least: int = _COUNTS_FROM) -> bool:
    """Tell whether a column counts: whole numbers in a row, some of which may be missing.

    Many numbers from 0 or 1 on count in any order, few only from there and in order.
    """
    values = _numbers(table.columns[name])
    if values is None or (known := ~np.isnan(values)).sum() < least:
        return False
    start = values[known] - np.flatnonzero(known)  # where the first row would be
    if (start == start[0]).all() and start[0] == np.floor(start[0]):
        return table.n_rows >= _COUNTS_FROM or start[0] in (0, 1)
    ordered = np.sort(values)
    in_any_order = table.n_rows >= _COUNTS_FROM and ordered[0] in (0, 1)
    return in_any_order and bool((np.diff(ordered) == 1).all())


def _apart(table: RawTable, names: list[str]) -> list[str]:
    """Say that columns are of different kinds: latency beside accuracy, say."""
    largest = {}
    for name in names:
        values = _numbers(table.columns[name])
        known = np.array([]) if values is None else np.abs(values[~np.isnan(values)])
        if known.size and known.max() > 0:
            largest[name] = float(known.max())
    if not largest:
        return []
    low, high = min(largest, key=largest.__getitem__), max(largest, key=largest.__getitem__)
    if largest[high] < _FAR * largest[low]:
        return []
    ranges = f"'{high}' goes up to {largest[high]:g} and '{low}' up to {largest[low]:g}"
    return [f"{table.place}: {ranges}: are all columns systems, and scores of one kind?"]


def _numbers(cells: Any) -> Any:
    """Read a column of numbers; None if it is none, which whoever reads the table says."""
    if isinstance(cells, np.ndarray):
        return cells
    fast = fast_numbers(cells)
    if fast is not None:
        return fast
    found = [parse_number(cell) for cell in cells]
    return None if None in found else np.array(found, dtype=np.float64)
