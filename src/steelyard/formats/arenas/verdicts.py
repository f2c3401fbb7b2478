"""What is the same in all files of verdicts: battles as a table, and the judges that gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.words import plural
from steelyard.formats import repeats
from steelyard.formats.judged import battlelogs
from steelyard.formats.recordfields import Record
from steelyard.formats.scoretables import LONG
from steelyard.formats.spreads import spread
from steelyard.formats.tables import RawTable
from steelyard.formats.view import FileView

Said = tuple[str, str]  # a noun, and what is said of those that are counted

JUDGE = "judge"
_LEFT_OUT, _TOLD = " left out", " told"  # columns that are gone before a log is read


@dataclass
class Battles:
    """Battles of a file as they are found, with the line of each.

    What is left out, or was taken for something, is counted when all files are together and rows
    are chosen: such a row has a word about it, a noun and what is said of those.
    """

    view: FileView
    rows: list[dict[str, Any]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(
        self, record: Record, *, left_out: Said | None = None, told: Said | None = None, **row: Any
    ) -> None:
        """Take a row of a log: left, right, outcome, unit, ..."""
        if row["left"] == row["right"]:
            left_out = ("battle", "of a system with itself")
        self.rows.append(row | {_LEFT_OUT: left_out, _TOLD: told if left_out is None else None})
        self.lines.append(record.line or 1)

    def table(self, given: Mapping[str, str], *notes: str) -> RawTable:
        """Give the battles as a log, with what holds for all of them."""
        if not self.rows:
            self.view.fail("holds no battle")
        names = dict.fromkeys(name for row in self.rows for name in row)
        columns = {name: [row.get(name) for row in self.rows] for name in names}
        return RawTable(
            self.view.path,
            columns,
            len(self.rows),
            self.lines.__getitem__,
            blank_is_missing=False,
            given=given,
            notes=notes,
        )


def _counted(table: RawTable) -> RawTable:
    """Leave out what has no verdict, and say how many there were of what."""
    left_out, told = (table.columns[name] for name in (_LEFT_OUT, _TOLD))
    place = table.place if table.path_of is None else f"{table.place} and others"
    counts = Counter(said for said in (*left_out, *told) if said is not None)
    whats = {said: ": left out" if said in left_out else "" for said in counts}
    notes = [
        f"{place}: {plural(count, noun)} {what}{whats[noun, what]}"
        for (noun, what), count in counts.items()
    ]
    rows = [row for row, said in enumerate(left_out) if said is None]
    if not rows:
        table.fail(f"no battle is left ({'; '.join(notes)})")
    columns = {
        name: [cells[row] for row in rows]
        for name, cells in table.columns.items()
        if name not in (_LEFT_OUT, _TOLD)
    }
    kept = np.array(rows) if table.rows is None else table.rows[rows]
    notes = [*table.notes, *notes]
    return replace(table, columns=columns, n_rows=len(rows), rows=kept, notes=tuple(notes))


def judge_of(record: Record) -> str:
    """Give the judge, which some name together with the template of its prompt."""
    found = record.values.get(JUDGE)
    if isinstance(found, list) and found and isinstance(found[0], str) and found[0].strip():
        return found[0]
    return record.name(JUDGE)


def _judges_told(table: RawTable) -> RawTable:
    """Say so where verdicts of several judges are taken together."""
    table = _counted(table)
    judges = sorted(set(table.labels(JUDGE))) if JUDGE in table else []
    if len(judges) < 2:
        return table
    note = (
        f"{table.place}: verdicts of {plural(len(judges), 'judge')} are taken together "
        f'(where={{"{JUDGE}": "{judges[0]}"}} chooses one)'
    )
    return replace(table, notes=(*table.notes, note))


#: Battles of judges, votes of people, and scores that every judge has a column of.
BATTLES = replace(battlelogs.FORMAT, prepare=_judges_told)
VOTES = replace(battlelogs.FORMAT, prepare=_counted)
SCORES = replace(
    LONG, prepare=lambda table: repeats.folded(spread(table, JUDGE, "score", repeated=True))
)
