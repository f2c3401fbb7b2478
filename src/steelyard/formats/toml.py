"""Settings in TOML: benchmarks, weights, tie matrices; errors name the file and the key."""

from __future__ import annotations

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

    def only(self, keys: Collection[str]) -> None:
        """Refuse a key that nobody knows, showing the nearest one."""
        for key in self.keys:
            if key not in keys:
                raise self.error(f"unknown key '{key}'; {hint(key, keys)}")

    def error(self, message: str) -> InputError:
        """Make an error that names the file and the table."""
        return InputError(f"{self.where}: {message}" if self.where else message, path=self.path)

    def text(self, key: str) -> str | None:
        """Give a text, None where the key is absent."""
        value = self.keys.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error(f"'{key}' is {value!r}, expected a text")
        return value

    def sections(self, key: str) -> list[Section]:
        """Give an array of tables, written ``[[key]]``."""
        value = self.keys.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(f"expected tables [[{key}]]")
        return [Section(item, self.path, f"[[{key}]] {n}") for n, item in enumerate(value, 1)]


def read(path: Path) -> Section:
    """Read a TOML file."""
    text = files.read_text(path)
    try:
        return Section(tomllib.loads(text), path)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", path=path) from None
    except RecursionError:
        raise InputError("TOML nested too deeply", path=path) from None
