"""Combinations of metrics beside their parts: rows, their table, and what they say in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import listed

COMBINATION, BEST, PART = "combination", "best part", "part"


@dataclass(frozen=True, slots=True)
class Row:
    """A score under a meta-metric, and how far it is from the best part."""

    name: str
    kind: str
    value: float
    difference: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")  # of as much more than the best part by chance
    p_less: float = float("nan")  # of as much less

    def cells(self) -> tuple[Cell, ...]:
        """Give the cells of the table."""
        numbers = (self.value, self.difference, self.low, self.high, self.p)
        return (self.name, self.kind, *(None if np.isnan(x) else float(x) for x in numbers))


def ordered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Put combinations first, then the best part, then the parts; the best of each first."""
    order = {COMBINATION: 0, BEST: 1, PART: 2}
    key = lambda row: (order[row.kind], -np.nan_to_num(row.value, nan=-9.0), row.name)  # noqa: E731
    return tuple(sorted(rows, key=key))


@dataclass(frozen=True, slots=True)
class Weighed:
    """All scores under one meta-metric; ``best`` counts how often each part was the best one."""

    by: str
    rows: tuple[Row, ...]
    best: Mapping[str, int]
    alpha: float
    drawn: str
    of_systems: bool  # whether systems are compared, and swapped in tests, too
    warnings: tuple[str, ...] = ()

    def table(self) -> Table:
        """Give a row per score."""
        columns = (Column("score"), Column("kind"), Column(self.by, "higher", digits=3),
                   Column("- best part", digits=3, key="difference"), Column("low", digits=3),
                   Column("high", digits=3), Column("p", digits=3))  # fmt: skip
        n = sum(self.best.values())
        chosen = listed([f"{name} in {count} of {n}" for name, count in self.best.items()])
        notes = [
            *self.sentences(),
            f"{BEST}: chosen for each fold by the systems and segments outside of it ({chosen})",
            f"low, high: 95 % interval of the difference over resampled {self.drawn}",
            "p: of as much more than the best part by chance, one-sided"
            + (
                "; of swapping segments and swapping systems, the larger" if self.of_systems else ""
            ),
        ]
        if len(self.best) > 1:
            notes[-1] += "; the largest of those against each part that was chosen"
        rows = tuple(row.cells() for row in self.rows)
        return Table(f"Combinations and parts by {self.by}", columns, rows, tuple(notes))

    def sentences(self) -> list[str]:
        """Say of each combination whether it is better than the best part."""
        return [self._sentence(row) for row in self.rows if row.kind == COMBINATION]

    def _sentence(self, row: Row) -> str:
        size = abs(row.difference)
        if np.isnan(row.difference) or np.isnan(row.p):
            return f"{row.name} can't be compared with the best part by {self.by}"
        if row.p <= self.alpha:
            return f"{row.name} is better than its best part by {size:.3f} ({_p(row.p)})"
        if row.p_less <= self.alpha:
            return f"{row.name} is worse than its best part by {size:.3f} ({_p(row.p_less)})"
        gap = f"{size:.3f} {'more' if row.difference >= 0 else 'less'} ({_p(row.p)})"
        return f"{row.name} is no better than its best part, as far as can be told: {gap}"


def _p(p: float) -> str:
    """Show a p-value.

    Examples
    --------
    >>> _p(0.0001), _p(0.0123)
    ('p < 0.001', 'p = 0.012')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
