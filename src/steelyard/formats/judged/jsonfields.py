"""Objects of JSON that others wrote: every value is looked at before it is believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from steelyard.formats.cells import label, parse_number
from steelyard.formats.view import FileView


@dataclass(frozen=True)
class Fields:
    """An object, the line that it stands on, and where in the line's object it is."""

    view: FileView
    line: int
    values: dict[str, Any]
    within: str = ""

    def fail(self, key: str, expected: str) -> NoReturn:
        """Refuse the value of a key."""
        found = repr(self.values.get(key))
        found = found if len(found) <= 60 else found[:57] + "..."
        self.view.fail(f"'{self.within}{key}': found {found}, expected {expected}", self.line)

    def get(self, key: str) -> Any:
        """Give a value as it stands; None if there is none."""
        return self.values.get(key)

    def text(self, key: str) -> str | None:
        """Give a text; None where it is null or absent."""
        value = self.values.get(key)
        if not isinstance(value, str | None):
            self.fail(key, "text or null")
        return value

    def name(self, key: str) -> str | None:
        """Give a name: text or a whole number; None where it is null, absent or blank."""
        value = self.values.get(key)
        found = label(value)
        if found is None and value is not None:
            self.fail(key, "a name")
        return found if found is not None and found.strip() else None

    def need_name(self, key: str) -> str:
        """Give a name that must be there."""
        return self.name(key) or self.fail(key, "a name")

    def number(self, key: str) -> float:
        """Give a finite number; NaN where it is null or absent."""
        number = parse_number(self.values.get(key))
        if number is None or np.isinf(number):
            self.fail(key, "a finite number or null")
        return number

    def inner(self, key: str) -> Fields | None:
        """Give an object; None where it is null or absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fail(key, "an object")
        return Fields(self.view, self.line, value, f"{self.within}{key}.")

    def elements(self, key: str) -> list[Any] | None:
        """Give a list of whatever; None where it is null or absent."""
        value = self.values.get(key)
        if not isinstance(value, list | None):
            self.fail(key, "a list")
        return value

    def objects(self, key: str) -> Iterator[Fields]:
        """Yield the objects of a list, none where it is null or absent."""
        for place, value in enumerate(self.elements(key) or ()):
            if not isinstance(value, dict):
                self.fail(key, "a list of objects")
            yield Fields(self.view, self.line, value, f"{self.within}{key}[{place}].")

    def names(self) -> Iterator[str]:
        """Yield the keys, which must be names."""
        for key in self.values:
            if not key.strip():
                self.view.fail(f"'{self.within}': a key has no name", self.line)
            yield key


def records(view: FileView) -> Iterator[Fields]:
    """Yield the objects of a file, each with its line."""
    for line, value in view.records():
        yield Fields(view, line, value)
