"""A table as it stands in a file: named columns of cells, each row with its line.

What the columns mean is settled by the formats, what a cell is by :mod:`steelyard.formats.cells`,
how files become tables by :mod:`steelyard.formats.tables`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError, hint, shown_path
from steelyard.core.table import missing
from steelyard.core.text import plural
from steelyard.data.evalset import Kind
from steelyard.data.judgements import Floats
from steelyard.formats.cells import Cells, brief, fast_numbers, label, parse_number, skipping

FRAME = Path("<frame>")  # what stands for the path of a frame


class Stated(NamedTuple):
    """What a file says of a score: whose it is, and which direction is better (None: not said)."""

    kind: Kind = "metric"
    higher_is_better: bool | None = None


@dataclass(frozen=True)
class RawTable:
    """Columns of cells: float64 arrays, or sequences of whatever the file holds (text, None)."""

    path: Path
    columns: Mapping[str, Cells]
    n_rows: int
    line_of: Callable[[int], int] = field(repr=False, default=lambda row: row + 1)
    rows: NDArray[np.int64] | None = None  # rows of the file that a selection kept
    blank_is_missing: bool = True  # delimited files can't tell an empty text from none
    given: Mapping[str, str] = field(default_factory=dict)  # what the file calls a renamed column
    facts: Mapping[str, Stated] = field(default_factory=dict)  # what it says of scores
    notes: tuple[str, ...] = ()  # what was left out or assumed so far
    path_of: Callable[[int], Path] | None = field(repr=False, default=None)  # rows of several files
    needed: Mapping[str, str] = field(default_factory=dict)  # roles, and what to say without one
    metadata: frozenset[str] = frozenset()  # columns that describe items and are never scores
    percents: frozenset[str] = frozenset()  # columns whose numbers have a % behind them in the file

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    @property
    def place(self) -> str:
        """The file, as messages name it."""
        return shown_path(self.path)

    @property
    def places(self) -> str:
        """The file, or the first of several, as messages name them."""
        return self.place if self.path_of is None else f"{self.place} and others"

    def noted(self, *notes: str) -> RawTable:
        """Add what is to be said of the file."""
        return replace(self, notes=(*self.notes, *(f"{self.place}: {note}" for note in notes)))

    def line(self, row: int) -> int:
        """Give the line of the file on which a row starts."""
        return self.line_of(int(row if self.rows is None else self.rows[row]))

    def fail(self, message: str, row: int | None = None) -> NoReturn:
        """Raise an InputError at a row."""
        path, line = (self.path, None) if row is None else (self._file(row), self.line(row))
        raise InputError(message, path=path, line=line)

    def _file(self, row: int) -> Path:
        in_file = int(row if self.rows is None else self.rows[row])
        return self.path if self.path_of is None else self.path_of(in_file)

    def files(self) -> list[Path]:
        """Give the files that the rows come from; none for a frame."""
        if self.path_of is not None:
            return list(dict.fromkeys(map(self._file, range(self.n_rows))))
        return [] if self.path == FRAME else [self.path]

    def blank(self, column: str) -> bool:
        """Tell whether a column holds nothing at all."""
        return all(cell is None for cell in self.columns[column])

    def place_of(self, row: int) -> str:
        """Say where a row stands, to somebody who looks at one of another file."""
        return f"on line {self.line(row)} of {shown_path(self._file(row))}"

    def repeats(self, row: int, again: int, what: str, hint: str = "") -> NoReturn:
        """Refuse a row that holds what another holds, and say what to do about it."""
        if self._file(row) != self._file(again):
            here = self.place_of(row)
            hint = 'columns={"system": "file"} keeps files apart'
        else:
            here = f"of line {self.line(row)}"
            hint = hint or "a column 'run' would mark repeats, where={COL: VALUE} selects rows"
        self.fail(f"repeats {what} {here}; {hint}", again)

    def named(self, column: str) -> str:
        """Give the column as messages call it: by the name that it has in the file."""
        name = self.given.get(column, column)
        return name if re.fullmatch("columns? [0-9, ]+", name) else f"column '{name}'"

    def cells(self, column: str) -> Sequence[Any]:
        """Give the cells of a column as Python values."""
        values = self.columns[column]
        return values.tolist() if isinstance(values, np.ndarray) else values

    def labels(self, column: str) -> list[str]:
        """Read a column of names: text as it stands, whole numbers as digits; none is blank."""
        cells = self.cells(column)
        plain = set(map(type, cells)) == {str}
        names = list(cells) if plain else [label(cell) for cell in cells]
        blank = {name for name in set(names) if name is None or not name.strip()}
        if blank:
            row = next(row for row, name in enumerate(names) if name in blank)
            empty = missing(cells[row]) or names[row] == ""
            state = "is empty" if empty else f"holds {brief(cells[row])}"
            self.fail(f"{self.named(column)} {state}, expected a name", row)
        return names  # type: ignore[return-value]

    def texts(self, column: str) -> list[str | None]:
        """Read a column of texts; an absent value is None, an empty text stays empty."""
        cells = self.cells(column)
        texts = [cell if type(cell) is str or cell is None else label(cell) for cell in cells]
        for row, (text, cell) in enumerate(zip(texts, cells, strict=True)):
            if text is None and not missing(cell):
                self.fail(f"{self.named(column)}: expected text, found {brief(cell)}", row)
        return [text or None for text in texts] if self.blank_is_missing else texts

    def scores(self, column: str) -> Floats:
        """Read a column that must be scores, since its name says nothing else."""
        return self.numbers(column)

    def numbers(self, column: str, hint: str = "", *, optional: bool = True) -> Floats:
        """Read a column of numbers exactly; NaN where a cell is missing.

        A column that is ``optional`` can be left out by whoever gave the file.
        A word, an infinity or a boolean is an error with its line, as is a whole number that JSON,
        Parquet or a frame holds exactly and a double can't.
        """
        cells = self.columns[column]
        fast = cells if isinstance(cells, np.ndarray) else fast_numbers(cells)
        skip = f" ({skipping(column)} skips the column)" if optional else ""
        values = self._careful_numbers(column, hint, skip) if fast is None else fast
        for row in np.flatnonzero(np.isinf(values))[:1]:
            self.fail(f"{self.named(column)}: infinite score, expected a finite number", row)
        return values

    def _careful_numbers(self, column: str, hint: str, skip: str) -> Floats:
        values = np.empty(self.n_rows)
        for row, cell in enumerate(self.columns[column]):
            number = parse_number(cell)
            if number is None:
                whole = isinstance(cell, int) and not isinstance(cell, bool)
                what = "is beyond 2^53, so not exact" if whole else "is not a number"
                what += hint if row == 0 else ""  # further down it is a slip among numbers
                if isinstance(cell, str) and cell.endswith("%"):
                    what = "is written with %, and other cells without: write all alike"
                self.fail(f"{self.named(column)}: {brief(cell)} {what}{skip}", row)
            values[row] = number
        return values

    def has_percents(self, column: str) -> bool:
        """Tell whether the numbers of a column are written with % in the file."""
        return self.given.get(column, column) in self.percents

    def where(self, column: str, value: str) -> RawTable:
        """Keep the rows whose cell is ``value``; the column, now the same in all, is dropped."""
        cells = [label(cell) for cell in self.columns[column]]
        keep: list[int] = [row for row, cell in enumerate(cells) if cell == value]
        if not keep:
            choices = {cell for cell in cells if cell}
            self.fail(f"no row has {column}={value}; {hint(value, choices)}")
        return self.take(keep).without([column])

    def take(self, rows: Sequence[int]) -> RawTable:
        """Keep these rows."""
        kept: list[int] = list(rows)
        columns = {
            name: cells[kept] if isinstance(cells, np.ndarray) else [cells[row] for row in kept]
            for name, cells in self.columns.items()
        }
        in_file = np.array(kept, dtype=np.int64) if self.rows is None else self.rows[kept]
        return replace(self, columns=columns, n_rows=len(kept), rows=in_file)

    def without(self, columns: Collection[str]) -> RawTable:
        """Leave out columns."""
        kept = {name: cells for name, cells in self.columns.items() if name not in columns}
        return replace(self, columns=kept)


def stacked(parts: Sequence[RawTable]) -> RawTable:
    """Put tables of several files under each other; a column that one lacks is empty there."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    columns = {
        name: [c for part in parts for c in part.columns.get(name, [None] * part.n_rows)]
        for name in names
    }
    origin = [(part, row) for part in parts for row in range(part.n_rows)]
    return RawTable(
        parts[0].path,
        columns,
        len(origin),
        lambda row: origin[row][0].line(origin[row][1]),
        blank_is_missing=parts[0].blank_is_missing,
        given=parts[0].given,
        facts=_agreed(parts),
        notes=_gathered(parts),
        path_of=lambda row: origin[row][0].path,
        needed={role: text for part in parts for role, text in part.needed.items()},
        metadata=frozenset(name for part in parts for name in part.metadata),
        percents=frozenset(name for part in parts for name in part.percents),
    )


def _agreed(parts: Sequence[RawTable]) -> dict[str, Stated]:
    """Give what parts say of scores; a direction only where they do not contradict each other."""
    facts: dict[str, Stated] = {}
    for name in dict.fromkeys(name for part in parts for name in part.facts):
        stated = [part.facts[name] for part in parts if name in part.facts]
        ways = {fact.higher_is_better for fact in stated} - {None}
        facts[name] = stated[-1]._replace(higher_is_better=ways.pop() if len(ways) == 1 else None)
    return facts


def _gathered(parts: Sequence[RawTable]) -> tuple[str, ...]:
    """Give the notes on all parts; what holds of several files is noted once."""
    files: dict[str, list[str]] = {}
    for part in parts:
        for note in part.notes:
            file = f"{part.place}: " if note.startswith(f"{part.place}: ") else ""
            files.setdefault(note.removeprefix(file), []).append(file)
    notes = []
    for note, names in files.items():
        others = len(set(names)) - 1
        more = f"{names[0].removesuffix(': ')} and {plural(others, 'more file')}: "
        notes.append((more if others else names[0]) + note)
    return tuple(notes)


def one_of(table: RawTable, names: Sequence[str], what: str) -> str | None:
    """Give the one column that goes by any of these names; two of them are an error."""
    columns = [name for name in names if name in table]
    if len(columns) > 1:
        raise UsageError(
            f"{table.place}: columns {' and '.join(columns)} could both be the {what}; "
            f"{skipping(columns[1])} or {skipping(columns[0])} decides"
        )
    return columns[0] if columns else None
