"""Settings in TOML: benchmarks, weights, tie matrices; errors name the file and the key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, hint
from steelyard.formats import files


@dataclass(frozen=True, slots=True)
class Section:
    """One table of a TOML file: its keys, and where it stands, for messages."""

    keys: Mapping[str, Any]
    path: Path
    where: str = ""

    def only(self, known: Collection[str]) -> None:
        """Refuse a key that nobody knows, showing the nearest one."""
        for key in self.keys:
            if key not in known:
                raise self.error(f"unknown key '{key}'; {hint(key, known)}")

    def error(self, message: str) -> InputError:
        """Make an error that names the file and the table."""
        return InputError(f"{self.where}: {message}" if self.where else message, path=self.path)

    def text(self, key: str, default: str | None = None) -> str | None:
        """Give a text."""
        found = self.keys.get(key, default)
        if found is not None and not isinstance(found, str):
            raise self.error(f"'{key}' is {found!r}, expected a text")
        return found

    def number(self, key: str, default: float | None = None) -> float | None:
        """Give a number."""
        found = self.keys.get(key, default)
        if found is None:
            return None
        number = isinstance(found, (int, float)) and not isinstance(found, bool)
        if not number or not abs(found) < math.inf:
            raise self.error(f"'{key}' is {found!r}, expected a number")
        try:
            return float(found)
        except OverflowError:
            raise self.error(f"'{key}' is too large a number") from None

    def flag(self, key: str) -> bool:
        """Give true or false; false where the key is absent."""
        found = self.keys.get(key, False)
        if not isinstance(found, bool):
            raise self.error(f"'{key}' is {found!r}, expected true or false")
        return found

    def names(self, key: str) -> tuple[str, ...]:
        """Give a list of texts, empty where the key is absent."""
        found = self.keys.get(key, [])
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise self.error(f"'{key}' is {found!r}, expected a list of texts")
        return tuple(found)

    def sections(self, key: str) -> list[Section]:
        """Give an array of tables, written ``[[key]]``."""
        found = self.keys.get(key, [])
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self.error(f"expected tables [[{key}]]")
        return [Section(one, self.path, f"[[{key}]] {n}") for n, one in enumerate(found, 1)]


def read(path: Path) -> Section:
    """Read a TOML file."""
    text = files.read_text(path)
    try:
        return Section(tomllib.loads(text), path)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", path=path) from None
    except RecursionError:
        raise InputError("TOML nested too deeply", path=path) from None
