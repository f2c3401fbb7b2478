"""Records of foreign JSON, whose fields are what they should be, or an error that names the line.

Files come from anywhere: whoever takes a field out of one says what he expects of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from steelyard.formats.cells import label, parse_number
from steelyard.formats.view import FileView

_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True)
class Record:
    """An object of a file, the line that it begins on, and the place in it (``games[0].``)."""

    view: FileView
    line: int | None
    values: dict[str, Any]
    place: str = ""

    def fail(self, message: str) -> NoReturn:
        """Raise an InputError at the record."""
        self.view.fail(message, self.line)

    def wrong(self, key: str, expected: str) -> NoReturn:
        """Say that a field is not what it should be."""
        if key not in self.values:
            self.fail(f"no '{self.place}{key}', expected {expected}")
        shown = repr(self.values[key])
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
        self.fail(f"'{self.place}{key}' is {shown}, expected {expected}")

    def name(self, key: str) -> str:
        """Give a name: text that is not blank, or a whole number as digits."""
        found = label(self.values.get(key))
        if found is None or not found.strip():
            self.wrong(key, "a name")
        return found

    def text(self, key: str) -> str | None:
        """Give a text, None where there is none."""
        found = self.values.get(key)
        if found is not None and not isinstance(found, str):
            self.wrong(key, "a text")
        return found

    def number(self, key: str, *, words: bool = False) -> float | None:
        """Give a number, None for null and NaN; with ``words`` also one that is written as text."""
        found = self.values.get(key)
        if isinstance(found, str) and not words:
            self.wrong(key, "a number")
        number = parse_number(found)
        if number is None or math.isinf(number):
            self.wrong(key, "a number")
        return None if math.isnan(number) else number

    def choice(self, key: str, known: Collection[str]) -> str:
        """Give a text that is one of these."""
        found = self.values.get(key)
        if not isinstance(found, str) or found not in known:
            self.wrong(key, f"one of {', '.join(known)}")
        return found

    def object(self, key: str) -> Record:
        """Give an object in it."""
        found = self.values.get(key)
        if not isinstance(found, dict):
            self.wrong(key, "an object")
        return Record(self.view, self.line, found, f"{self.place}{key}.")

    def list(self, key: str) -> list[Any]:
        """Give a list in it."""
        found = self.values.get(key)
        if not isinstance(found, list):
            self.wrong(key, "a list")
        return found


def records(view: FileView) -> Iterator[Record]:
    """Yield every record of a file."""
    for line, values in view.records():
        yield Record(view, line, values)
