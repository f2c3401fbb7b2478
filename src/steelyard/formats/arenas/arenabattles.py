"""What is the same in all files of verdicts: battles as a table, and the judges that gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from steelyard.core.text import plural
from steelyard.formats import repeats
from steelyard.formats.judged import battlelogs
from steelyard.formats.rawtable import RawTable, from_rows
from steelyard.formats.record import Record
from steelyard.formats.scoretables import LONG
from steelyard.formats.spreads import spread
from steelyard.formats.view import FileView

JUDGE, OUTCOME = "judge", "outcome"
Said = tuple[str, str]  # a noun, and what is said of all that it counts


class Verdict(NamedTuple):
    """The outcome of a battle, None if it is left out; and what is said of such battles."""

    outcome: float | None
    said: Said | None = None


@dataclass
class Battles:
    """Battles of a file as they are found, with the line of each.

    Their outcomes are verdicts until all files are together and rows are chosen: what was left out
    is counted then.
    """

    view: FileView
    rows: list[dict[str, Any]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, record: Record, verdict: Verdict, **row: Any) -> None:
        """Take a row of a log: left, right, unit, ..."""
        if row["left"] == row["right"]:
            verdict = Verdict(None, ("battle", "of a system with itself"))
        self.rows.append(row | {OUTCOME: verdict})
        self.lines.append(record.line)

    def table(self, given: Mapping[str, str], *notes: str) -> RawTable:
        """Give the battles as a log, with what holds for all of them."""
        if not self.rows:
            self.view.fail("holds no battle")
        return from_rows(
            self.view.path, self.rows, self.lines.__getitem__, given=given, notes=notes
        )


def _counted(table: RawTable) -> RawTable:
    """Leave out what has no outcome, and say how many there were of what."""
    verdicts: Any = table.columns[OUTCOME]
    counts = Counter((v.said, v.outcome is None) for v in verdicts if v.said is not None)
    notes = [
        f"{table.places}: {plural(count, noun)} {what}{': left out' if gone else ''}"
        for ((noun, what), gone), count in counts.items()
    ]
    rows = [row for row, verdict in enumerate(verdicts) if verdict.outcome is not None]
    if not rows:
        table.fail(f"no battle is left ({'; '.join(notes)})")
    kept = table.take(rows)
    outcomes = [verdicts[row].outcome for row in rows]
    columns = {**kept.columns, OUTCOME: outcomes}
    return replace(kept, columns=columns, notes=(*table.notes, *notes))


def judge_of(record: Record) -> str:
    """Give the judge, which some name together with the template of its prompt."""
    found = record.get(JUDGE)
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
BATTLES = replace(
    battlelogs.FORMAT, prepare=lambda table: battlelogs.told_of_battles(_judges_told(table))
)
VOTES = replace(
    battlelogs.FORMAT, prepare=lambda table: battlelogs.told_of_battles(_counted(table))
)
SCORES = replace(
    LONG, prepare=lambda table: repeats.folded(spread(table, JUDGE, "score", repeated=True))
)
