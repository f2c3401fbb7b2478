"""Files of other tools: a reader is a generator of rows, the engine makes the table.

A reader takes a :class:`Log` and yields ``log.row(record, scores, system=..., segment=...)`` for
everything that was scored; :func:`foreign` makes a format of it. A score is a number: a column
without any (lists, words) is left out with a note, and anything else among numbers is an error with
its line. Metadata describe items: scalars become texts, columns with anything else are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, NamedTuple

from steelyard.core.text import listed
from steelyard.formats import columns as roles
from steelyard.formats.cells import brief, label, parse_number
from steelyard.formats.format import ForeignFormat, TableFormat
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.view import FileView, Record, Start, line_at, records

#: Words that stand for a score in any log: Python's and JSON's, where a tool wrote them as text.
TRUTH = {"True": 1.0, "true": 1.0, "False": 0.0, "false": 0.0}
BETTER_HIGH, BETTER_LOW = Stated(higher_is_better=True), Stated(higher_is_better=False)
_NONE: Mapping[str, Any] = {}  # shared, since a log has a row for everything
_LONGEST = 200  # characters of a metadata text
_MOST_METADATA = 100  # columns, since every item of a file could have other keys


class Row(NamedTuple):
    """Where a row starts, its cells by our columns, its scores and metadata by their names."""

    start: Start
    cells: Mapping[str, Any]
    scores: Mapping[str, Any]
    metadata: Mapping[str, Any]


class Log:
    """A file that is being read: its rows so far, its notes, and what it says of scores."""

    def __init__(self, view: FileView, grades: Mapping[str, float] = TRUTH) -> None:
        self.view, self.grades = view, grades
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.facts: dict[str, Stated] = {}
        self.names: dict[str, str] = {}  # what this file calls our columns

    def records(self) -> Iterator[Record]:
        """Yield the records of the file, one at a time."""
        return records(self.view)

    def row(
        self,
        at: Record | Start,
        scores: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        /,
        **cells: Any,
    ) -> Row:
        """Make a row that starts where a record does, or on a line."""
        start = at.start if isinstance(at, Record) else at
        return Row(start, cells, scores or _NONE, metadata or _NONE)

    def note(self, text: str, count: int | None = None) -> None:
        """Note something about the file; with a count, about that many of its rows, if any."""
        if count is None:
            self.notes.append(self.view.note(text))
        elif count:
            self.notes.append(self.view.note(f"{count:,} of {len(self.rows):,} {text}"))

    def system(self, name: str | None, instead: str, why: str) -> str:
        """Return the system that a log names, else the name of its ``file`` or ``folder``."""
        if name is not None:
            return name
        name = self.view.stem if instead == "file" else self.view.folder
        self.note(f"system '{name}' is the name of the {instead}: {why}")
        return name

    def table(self, names: Mapping[str, str], empty: str) -> RawTable:
        """Make the table of all rows; columns without any value are left out."""
        if not self.rows:
            self.view.fail(empty)
        cells = _columns([row.cells for row in self.rows])
        metadata = self._metadata()
        scores = self._scores()
        taken = cells.keys() | metadata.keys()
        renamed = {
            name: f"{name} (score)"
            for name in scores
            if name in taken or roles.is_text(name) or not name.strip()
        }
        return RawTable(
            self.view.path,
            cells | metadata | {renamed.get(name, name): scores[name] for name in scores},
            len(self.rows),
            lambda row: line_at(self.rows[row].start) or row + 1,
            blank_is_missing=False,
            given=names,
            facts={renamed.get(name, name): fact for name, fact in self.facts.items()},
            notes=tuple(self.notes),
            metadata=frozenset(metadata),
        )

    def _metadata(self) -> dict[str, list[str | None]]:
        """Return the metadata columns that hold nothing but scalars and short texts."""
        columns = _columns([row.metadata for row in self.rows], _MOST_METADATA)
        return {
            name: [_metadata_text(value) for value in values]
            for name, values in columns.items()
            if all(_is_metadata(value) for value in values)
        }

    def _scores(self) -> dict[str, list[float | None]]:
        scores: dict[str, list[float | None]] = {}
        wordy, gaps = [], []
        for name in _names([row.scores for row in self.rows]):
            values = [row.scores.get(name) for row in self.rows]
            odd = [row for row, value in enumerate(values) if not self._is_number(value)]
            if odd and len(odd) == sum(value is not None for value in values):
                wordy.append(f"'{name}' (holds {brief(values[odd[0]])})")
                continue
            if odd:
                message = f"score '{name}' is {brief(values[odd[0]])}, expected a number"
                self.view.fail(message, line_at(self.rows[odd[0]].start))
            numbers = scores[name] = [self._number(value) for value in values]
            pairs = zip(values, numbers, strict=True)
            n_nan = sum(value is not None and number is None for value, number in pairs)
            gaps += [f"{n_nan:,} of '{name}'"] if n_nan else []
        if wordy:
            self.note(f"left out, since they hold no numbers: {listed(wordy, 6)}")
        if gaps:
            self.note(f"values that are NaN are missing: {listed(gaps, 6)}")
        return scores

    def _is_number(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self.grades or parse_number(value) is not None
        return value is None or isinstance(value, (bool, int, float))

    def _number(self, value: Any) -> float | None:
        if isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            value = self.grades[value] if value in self.grades else parse_number(value)
        return None if isinstance(value, float) and math.isnan(value) else value


def _names(rows: Iterable[Mapping[str, Any]]) -> dict[str, None]:
    return dict.fromkeys(chain.from_iterable(rows))


def _columns(rows: list[Mapping[str, Any]], most: int | None = None) -> dict[str, list[Any]]:
    """Return the columns of rows in which anything stands, at most so many."""
    columns = {name: [row.get(name) for row in rows] for name in islice(_names(rows), most)}
    return {
        name: values
        for name, values in columns.items()
        if any(value is not None for value in values)
    }


def _is_metadata(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return value is None or isinstance(value, (bool, int, float))


def _metadata_text(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else label(value) or None


def foreign(
    name: str,
    becomes: TableFormat,
    *,
    names: Mapping[str, str] | None = None,
    grades: Mapping[str, float] = TRUTH,
    empty: str = "holds no samples",
    **about: Any,
) -> Callable[[Callable[[Log], Iterable[Row]]], ForeignFormat]:
    """Make a format of a reader.

    ``becomes`` is the table that the rows make, ``names`` what the file calls our columns,
    ``grades`` the words that are scores, ``empty`` the error for a file without rows, and ``about``
    the other fields of :class:`~steelyard.formats.format.ForeignFormat`.
    """

    def made(read: Callable[[Log], Iterable[Row]]) -> ForeignFormat:
        def unfold(view: FileView) -> RawTable:
            log = Log(view, grades)
            for row in read(log):
                log.rows.append(row)  # one by one: readers note how many there are
            return log.table({**(names or {}), **log.names}, empty)

        return ForeignFormat(
            name=name, gives=becomes.gives, becomes=becomes, unfold=unfold, **about
        )

    return made
