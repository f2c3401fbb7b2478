"""Records of foreign JSON, whose fields are what they should be, or an error that says where.

Files come from anywhere: whoever takes a field out of one says what he expects of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from steelyard.formats import files
from steelyard.formats.cells import brief, label, parse_number
from steelyard.formats.view import FileView

#: The line of a record; where a document must be gone through once more to tell it, a function.
Start = int | Callable[[], int] | None


def line_at(start: Start) -> int | None:
    """Give the line."""
    return start() if callable(start) else start


@dataclass(frozen=True)
class Record:
    """An object of a file, where it starts, and the place in what starts there (``games[0].``)."""

    view: FileView
    start: Start
    values: dict[str, Any]
    place: str = ""

    @classmethod
    def of(cls, view: FileView, start: Start, value: Any, place: str) -> Record:
        """Take a value for an object."""
        if not isinstance(value, dict):
            said = f"'{place.rstrip('./')}' is {brief(value)}, expected an object"
            view.fail(said, line_at(start))
        return cls(view, start, value, place)

    @property
    def line(self) -> int:
        """The line that it stands on; the first where a file has no lines."""
        return line_at(self.start) or 1

    def fail(self, message: str) -> NoReturn:
        """Raise an InputError at the record."""
        self.view.fail(message, line_at(self.start))

    def wrong(self, key: str, expected: str, *value: Any) -> NoReturn:
        """Say that a field, or a value that is given and has that place, is not what it should."""
        if not value and key not in self.values:
            self.fail(f"no '{self.place}{key}', expected {expected}")
        found = value[0] if value else self.get(key)
        self.fail(f"'{self.place}{key}' is {brief(found)}, expected {expected}")

    def get(self, key: str) -> Any:
        """Give a value as it stands, None if there is none."""
        return self.values.get(key)

    def name(self, key: str, default: object = None) -> str:
        """Give a name: text that is not blank, or a whole number as digits."""
        return self._name(key, self.values.get(key, default)) or self.wrong(
            key, "a name or a whole number"
        )

    def optional_name(self, key: str) -> str | None:
        """Give a name; None where it is null, absent or blank."""
        return self._name(key, self.get(key))

    def _name(self, key: str, value: Any) -> str | None:
        found = label(value)
        if found is None and value is not None:
            self.wrong(key, "a name or a whole number")
        return found if found is not None and found.strip() else None

    def names(self) -> Iterator[str]:
        """Yield the keys, which must be names."""
        for key in self.values:
            if not key.strip():
                self.fail(f"'{self.place.rstrip('.')}' has {key!r}, expected a name")
            yield key

    def text(self, key: str) -> str | None:
        """Give a text, None where it is null or absent."""
        found = self.get(key)
        if not isinstance(found, str | None):
            self.wrong(key, "text or null")
        return found

    def text_if_any(self, key: str) -> str | None:
        """Give a text, None for what is none: of fields that may hold anything."""
        found = self.get(key)
        return found if isinstance(found, str) else None

    def words(self, key: str) -> str | None:
        """Give a text that is not blank, None for what is none."""
        found = self.text_if_any(key)
        return found if found and found.strip() else None

    def number(self, key: str, *, words: bool = False) -> float | None:
        """Give a number, None for null and NaN; with ``words`` also one that is written as text."""
        return self._number(key, self.get(key), words=words)

    def numbers(self, key: str) -> list[float | None]:
        """Give a list of such numbers."""
        return [self._number(f"{key}[{n}]", own) for n, own in enumerate(self.list(key))]

    def _number(self, key: str, value: Any, *, words: bool = False) -> float | None:
        number = None if isinstance(value, str) and not words else parse_number(value)
        if number is None or math.isinf(number):
            self.wrong(key, "a finite number or null", value)
        return None if math.isnan(number) else number

    def whole(self, key: str) -> int | None:
        """Give a whole number, None where it is null or absent."""
        found = self.get(key)
        if isinstance(found, bool) or not isinstance(found, int | None):
            self.wrong(key, "a whole number")
        return found

    def flag(self, key: str) -> bool | None:
        """Give true or false, None where it is null or absent."""
        found = self.get(key)
        if not isinstance(found, bool | None):
            self.wrong(key, "true or false")
        return found

    def choice(self, key: str, known: Collection[str]) -> str:
        """Give a text that is one of these."""
        found = self.get(key)
        if not isinstance(found, str) or found not in known:
            self.wrong(key, f"one of {', '.join(known)}")
        return found

    def object(self, key: str) -> Record:
        """Give an object in it."""
        found = self.get(key)
        if not isinstance(found, dict):
            self.wrong(key, "an object")
        return Record(self.view, self.start, found, f"{self.place}{key}.")

    def inner(self, key: str) -> Record:
        """Give an object in it, which is empty where it is null or absent."""
        if self.get(key) is not None:
            return self.object(key)
        return Record(self.view, self.start, {}, f"{self.place}{key}.")

    def if_object(self, key: str) -> Record:
        """Give an object in it, which is empty where there is anything else."""
        found = self.get(key)
        own = found if isinstance(found, dict) else {}
        return Record(self.view, self.start, own, f"{self.place}{key}.")

    def elements(self, key: str) -> list[Any]:
        """Give a list in it, which is empty where it is null or absent."""
        return [] if self.get(key) is None else self.list(key)

    def objects(self, key: str) -> Iterator[Record]:
        """Yield the objects of a list, none where it is null or absent."""
        for n, value in enumerate(self.elements(key)):
            yield Record.of(self.view, self.start, value, f"{self.place}{key}[{n}].")

    def texts(self, key: str) -> list[str]:
        """Give a list of texts."""
        found = self.list(key)
        for n, one in enumerate(found):
            if not isinstance(one, str):
                self.wrong(f"{key}[{n}]", "a text", one)
        return found

    def list(self, key: str) -> list[Any]:
        """Give a list in it."""
        found = self.get(key)
        if not isinstance(found, list):
            self.wrong(key, "a list")
        return found


def records(view: FileView) -> Iterator[Record]:
    """Yield every record of a file; of JSON lines one is held at a time."""
    for line, values in view.records():
        yield Record(view, line, values)


def document(view: FileView) -> Record:
    """Give a file that is one object."""
    if not isinstance(view.document, dict):
        view.fail("expected one JSON object")
    return Record(view, None, view.document)


def within(view: FileView, *keys: str) -> Iterator[Record]:
    """Yield the objects of a list that a document has under keys, each with its line."""
    own = document(view)
    for key in keys[:-1]:
        own = own.object(key)

    @cache
    def lines() -> list[int]:
        return list(files.element_lines(view.text, keys))

    for n, value in enumerate(own.elements(keys[-1])):
        yield Record.of(view, lambda n=n: lines()[n], value, f"{'.'.join(keys)}[{n}].")  # type: ignore[misc]
