"""What a study found: tables for people, curves for figures, and how they came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from steelyard.core.display import Record, Result, Summary, named, one_line
from steelyard.core.errors import UsageError, hint
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Table
from steelyard.core.text import all_of, plural
from steelyard.stats.arrays import Floats, ratio, row_means
from steelyard.stats.resampling.bootstrap import bootstrap_means, interval, segment_counts
from steelyard.studies.words import SAID

# Called with how much is done and how much there is.
Progress = Callable[[int, int], None]
N_BOOTSTRAP = 1000  # of the intervals of means
_NORMAL = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Line(Record):
    """One line of a figure: values with 95 % intervals, and how many numbers each is a mean of."""

    name: str
    y: Floats
    low: Floats
    high: Floats
    n: tuple[int, ...]

    def at(self, k: int) -> tuple[float, float, float]:
        """Give a value with its interval."""
        return float(self.y[k]), float(self.low[k]), float(self.high[k])


@dataclass(frozen=True, slots=True)
class Curve(Record):
    """The data behind one panel of a figure."""

    name: str
    title: str
    x_label: str
    y_label: str
    x: tuple[Cell, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Study(Result):
    """Tables by name (``parts``), curves, and what else a machine may want (``facts``)."""

    name: str
    parts: Mapping[str, Table]
    curves: tuple[Curve, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def words(self) -> Summary:
        """Say what the study found; one that has nothing to say names its tables."""
        told = Summary.of(SAID[self.name](self) if self.name in SAID else ())
        if told.sentences():
            return told
        names = [name for name, table in self.parts.items() if table.rows]
        tables = f"{plural(len(names), 'table')}: {all_of(names)}"
        return Summary(settled=(f"The study '{self.name}' gives {tables}.",))

    def __repr__(self) -> str:
        tables = f"tables {named(list(self.parts), 5)}"
        curves = named([curve.name for curve in self.curves], 5)
        return one_line(self, f"{self.name}: {tables}{f'; curves {curves}' if curves else ''}")

    def tables(self) -> list[Table]:
        """Give all tables that have rows."""
        return [table for table in self.parts.values() if table.rows]

    def table(self, name: str | None = None) -> Table:
        """Give one table, by default the first."""
        return self.parts[name if name is not None else next(iter(self.parts))]

    def curve(self, name: str) -> Curve:
        """Give one curve by its name."""
        for curve in self.curves:
            if curve.name == name:
                return curve
        known = [curve.name for curve in self.curves]
        raise UsageError(f"no curve '{name}' in this study; {hint(name, known)}")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "study": self.name,
            **self.facts,
            "tables": {name: table.records() for name, table in self.parts.items()},
            "curves": [curve.to_dict() for curve in self.curves],
            **origin(self.provenance),
            "warnings": list(self.warnings),
        }


def steps(progress: Progress | None, total: int) -> Callable[[], None]:
    """Give a function to call after each of some steps, which tells how far the work has come."""
    done = count(1)

    def tick() -> None:
        if progress is not None:
            progress(next(done), total)

    return tick


def mean_interval(values: Floats, rng: np.random.Generator) -> tuple[float, float, float]:
    """Mean of the known values with a 95 % bootstrap interval; NaN where there is none.

    Examples
    --------
    >>> mean, low, high = mean_interval(np.arange(101.0), np.random.default_rng(0))
    >>> mean, 42 < low < 46, 54 < high < 58
    (50.0, True, True)
    """
    known = values[~np.isnan(values)]
    if known.size < 2:
        return float(known.mean()) if known.size else np.nan, np.nan, np.nan
    counts = segment_counts(N_BOOTSTRAP, known.size, rng)
    low, high = interval(bootstrap_means(known[None], counts))
    return float(known.mean()), float(low[0]), float(high[0])


def plain_line(name: str, y: Floats, n: int = 1) -> Line:
    """Make a line without intervals."""
    nothing = np.full(len(y), np.nan)
    return Line(name, y, nothing, nothing, (n,) * len(y))


def line_of(name: str, parts: Sequence[Floats], rng: np.random.Generator) -> Line:
    """Make a line: the mean of each part, with its interval."""
    found = np.array([mean_interval(part, rng) for part in parts]).reshape(-1, 3)
    sizes = tuple(int((~np.isnan(part)).sum()) for part in parts)
    return Line(name, found[:, 0], found[:, 1], found[:, 2], sizes)


def mean_line(name: str, values: Floats) -> Line:
    """Make a line of the means of each row, with normal 95 % intervals of the means.

    Examples
    --------
    >>> line = mean_line("a", np.array([[1.0, 2.0, 3.0, np.nan], [1.0, 1.0, 1.0, 1.0]]))
    >>> line.y.tolist(), line.n, line.low.round(3).tolist()
    ([2.0, 1.0], (3, 4), [0.868, 1.0])
    """
    known = ~np.isnan(values)
    n = known.sum(axis=1)
    mean = row_means(values)
    squares = np.where(known, values - mean[:, None], 0.0) ** 2
    half = _NORMAL * np.sqrt(ratio(squares.sum(axis=1), n * (n - 1)))
    return Line(name, mean, mean - half, mean + half, tuple(n.tolist()))
