"""Settings in TOML: benchmarks, weights, tie matrices; errors name the file and the key."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.core.errors import InputError, hint
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.stats.metametrics.base import MetaMetric

_WORTHS = ("same", "opposite", "metric_tie", "human_tie", "both_tie")


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


def read_tie_matrices(path: Path) -> dict[str, MetaMetric]:
    """Read Kendall variants of one's own: a table each, which says what each kind of pair is worth.

    ::

        [my-kendall]
        same = 1
        opposite = -1
        metric_tie = 0       # a key that is absent leaves such pairs out
        both_tie = 1
        calibrated = false   # true: find the metric difference below which pairs tie
        threshold = 0        # human differences below this are ties
    """
    from steelyard.stats.kendall.counting import TieMatrix
    from steelyard.stats.metametrics.correlations import from_matrix
    from steelyard.stats.metametrics.registry import METAMETRICS

    top = read(path)
    found = {}
    for name, keys in top.keys.items():
        if not isinstance(keys, dict):
            raise top.error(f"'{name}' is {keys!r}, expected a table [{name}]")
        if name in METAMETRICS:
            raise top.error(f"[{name}]: the name is taken by a meta-metric of Steelyard")
        section = Section(keys, path, f"[{name}]")
        section.only((*_WORTHS, "calibrated", "threshold"))
        worth = TieMatrix(**{key: section.number(key) for key in _WORTHS})
        if all(getattr(worth, key) is None for key in _WORTHS):
            raise section.error(f"no pair is worth anything: expected {', '.join(_WORTHS)}")
        calibrated = section.flag("calibrated")
        if calibrated and None in (getattr(worth, key) for key in _WORTHS):
            raise section.error("'calibrated' needs all of " + ", ".join(_WORTHS))
        threshold = section.number("threshold", 0.0)
        if threshold is None or threshold < 0:
            raise section.error(f"'threshold' is {threshold:g}, expected a number of at least 0")
        found[name] = from_matrix(name, worth, calibrated=calibrated, threshold=threshold)
    if not found:
        raise top.error("no variant: expected a table such as [my-kendall]")
    return found
