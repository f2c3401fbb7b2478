"""The rows of a log, as they are met, until they are a table.

A score is a number. A column that holds none at all (lists, words) is left out and noted; among
numbers, anything else is an error with its line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.core.text import listed
from steelyard.formats import cells
from steelyard.formats import columns as roles
from steelyard.formats.cells import brief
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.record import Start, line_at
from steelyard.formats.view import FileView

#: Words that stand for a score in any log: Python's and JSON's, where a tool wrote them as text.
TRUTH = {"True": 1.0, "true": 1.0, "False": 0.0, "false": 0.0}


class Rows:
    """Rows of one log: texts and names by our columns, scores by their names.

    ``grades`` are words that are scores.
    """

    def __init__(self, view: FileView, grades: Mapping[str, float] = TRUTH) -> None:
        self._view = view
        self._grades = grades
        self._starts: list[Start] = []
        self._texts: list[Mapping[str, Any]] = []
        self._scores: list[Mapping[str, Any]] = []
        self.notes: list[str] = []

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: Start, scores: Mapping[str, Any], **texts: Any) -> None:
        """Add a row; a score is whatever the log has there."""
        self._starts.append(start)
        self._scores.append(scores)
        self._texts.append(texts)

    def note(self, what: str) -> None:
        """Say something of this file."""
        self.notes.append(self._view.note(what))

    def count(self, n: int, what: str) -> None:
        """Say how many rows something holds of, if any."""
        if n:
            self.note(f"{n:,} of {len(self):,} {what}")

    def table(self, given: Mapping[str, str], facts: Mapping[str, Stated]) -> RawTable:
        """Make the table."""
        if not self._starts:
            self._view.fail("holds no samples")
        names = dict.fromkeys(name for row in self._texts for name in row)
        columns: dict[str, Any] = {}
        for name in names:
            column = [row.get(name) for row in self._texts]
            if any(cell is not None for cell in column):
                columns[name] = column
        own = self._numbers()
        free = {name: f"{name} (score)" if _is_taken(name, columns) else name for name in own}
        return RawTable(
            self._view.path,
            {**columns, **{free[name]: column for name, column in own.items()}},
            len(self._starts),
            lambda row: line_at(self._starts[row]) or row + 1,
            blank_is_missing=False,
            given=given,
            facts={free[name]: fact for name, fact in facts.items() if name in free},
            notes=tuple(self.notes),
        )

    def _numbers(self) -> dict[str, Sequence[Any]]:
        """Give the columns of scores, and note those that are none, and what is missing in them."""
        found: dict[str, Sequence[Any]] = {}
        left: list[str] = []
        gaps: list[str] = []
        for name in dict.fromkeys(name for row in self._scores for name in row):
            raw = [row.get(name) for row in self._scores]
            odd = [row for row, value in enumerate(raw) if not self._is_number(value)]
            if odd and len(odd) == sum(value is not None for value in raw):
                left.append(f"'{name}' (holds {brief(raw[odd[0]])})")
                continue
            if odd:
                message = f"score '{name}' is {brief(raw[odd[0]])}, expected a number"
                self._view.fail(message, line_at(self._starts[odd[0]]))
            found[name] = [self._number(value) for value in raw]
            nan = sum(v is not None and n is None for v, n in zip(raw, found[name], strict=True))
            gaps += [f"{nan:,} of '{name}'"] if nan else []
        if left:
            self.note(f"left out, since they hold no numbers: {listed(left, 6)}")
        if gaps:
            self.note(f"values that are NaN are missing: {listed(gaps, 6)}")
        return found

    def _is_number(self, value: object) -> bool:
        if value is None or isinstance(value, (bool, int, float)):
            return True
        if not isinstance(value, str):
            return False
        return value in self._grades or cells.parse_number(value) is not None

    def _number(self, value: Any) -> float | None:
        if isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            value = self._grades[value] if value in self._grades else cells.parse_number(value)
        return None if isinstance(value, float) and math.isnan(value) else value


def _is_taken(name: str, columns: Mapping[str, Any]) -> bool:
    """Tell whether a table would take a score of that name for something else."""
    return name in columns or roles.is_text(name) or not name.strip()
