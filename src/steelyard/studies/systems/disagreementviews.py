"""Tables and curves of how much rankings disagree: overall, by group, by size, by test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import joint_shares
from steelyard.studies.results import Curve, line_of
from steelyard.studies.systems.options import DisagreementOptions

_WIDE = 3  # pairs of rankings up to which a table shows all measures of each
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of setups: setups x pairs of rankings x (pairs, best, top).

    ``by`` are the rankings, ``top`` is the size of the top; ``on_samples`` says that these are
    means over samples of segments, NaN for setups without any.
    """

    by: tuple[str, ...]
    values: Floats
    top: int
    on_samples: bool = False

    def titled(self, title: str) -> str:
        """Add to a title what was measured."""
        return f"{title}, on samples" if self.on_samples else title

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of rankings."""
        return list(combinations(self.by, 2))


def _rows(labels: Sequence[Sequence[str]]) -> dict[tuple[str, ...], list[int]]:
    """Give the places of setups that share their labels, in the order of the first of each."""
    places: dict[tuple[str, ...], list[int]] = {}
    for k, label in enumerate(zip(*labels, strict=True)):
        places.setdefault(label, []).append(k)
    return places


def overall_table(found: Measured, rng: np.random.Generator) -> Table:
    """Show a row per pair of rankings, over all setups."""
    top = found.top
    columns = [Column("rankings")]
    for name in _headings(top):
        columns += _with_interval(name)
    rows: list[tuple[Cell, ...]] = []
    for p, pair in enumerate(found.pairs):
        lines = [line_of("", [own], rng) for own in found.values[:, p].T]
        rows.append((", ".join(pair), *(number for line in lines for number in line.at(0))))
    size = f"mean over {plural(len(found.values), 'setup')} (a score of a set)"
    notes = (
        f"{size}; low, high: 95 % interval over resampled setups",
        f"pairs: pairs of systems in different order; best, top {top}: setups where they differ",
    )
    return Table("Disagreement of rankings, as shares", tuple(columns), tuple(rows), notes)


def _with_interval(name: str) -> list[Column]:
    return [Column(f"{name}{part}", digits=3) for part in ("", " low", " high")]


def _headings(top: int) -> tuple[str, str, str]:
    return "pairs", "best", f"top {top}"


def group_table(keys: Sequence[str], labels: Sequence[Sequence[str]], found: Measured) -> Table:
    """Show a row per group; all measures of each pair of rankings, if there are few."""
    measures = _headings(found.top)[: None if len(found.pairs) <= _WIDE else 1]
    columns = [*map(Column, keys), Column("setups")]
    for pair in found.pairs:
        columns += [
            Column(f"{'/'.join(pair)} {name}" if k else "/".join(pair), digits=3)
            for k, name in enumerate(measures)
        ]
    rows: list[tuple[Cell, ...]] = []
    for label, places in _rows(labels).items():
        values = found.values[places]
        known = int((~np.isnan(values).all(axis=(1, 2))).sum())
        cells = row_means(values[:, :, : len(measures)].reshape(len(values), -1).T)
        rows.append((*label, known, *cells.tolist()))
    notes = ("mean over the samples of each size, then over the sizes",) if found.on_samples else ()
    return Table(found.titled(f"By {' and '.join(keys)}"), tuple(columns), tuple(rows), notes)


def group_curve(
    name: str, key: str, labels: Sequence[str], found: Measured, rng: np.random.Generator
) -> Curve:
    """Draw the share of pairs of systems against scores or sets."""
    groups = {label: found.values[rows] for (label,), rows in _rows([labels]).items()}
    lines = tuple(
        line_of(", ".join(pair), [values[:, p, 0] for values in groups.values()], rng)
        for p, pair in enumerate(found.pairs)
    )
    title = found.titled(f"by {key}")
    return Curve(name, title, key, "share of pairs of systems", tuple(groups), lines)


def size_curve(
    by_size: Mapping[int, Floats], names: Sequence[str], rng: np.random.Generator
) -> Curve:
    """Disagreement against the number of segments, a mean over setups of means over samples."""
    lines = tuple(
        line_of(", ".join(pair), [rows[:, p] for rows in by_size.values()], rng)
        for p, pair in enumerate(combinations(names, 2))
    )
    label = "share of pairs of systems"
    return Curve("sizes", "by number of segments", "segments", label, tuple(by_size), lines)


def size_table(curve: Curve, draws: int) -> Table:
    """Show the points of that curve."""
    columns = [Column("segments"), Column("setups")]
    for line in curve.lines:
        columns += _with_interval(line.name)
    rows: list[tuple[Cell, ...]] = []
    for k, size in enumerate(curve.x):
        cells = [number for line in curve.lines for number in line.at(k)]
        rows.append((size, max(line.n[k] for line in curve.lines), *cells))
    note = f"pairs in different order; {plural(draws, 'sample')} of each size without replacement"
    return Table("By number of segments", tuple(columns), tuple(rows), (note,))


def test_table(significant: Bools, options: DisagreementOptions) -> Table:
    """Show which share of the pairs that one test finds different another finds, too."""
    shares = joint_shares(significant)
    columns = (Column("test"), *(Column(name, digits=3) for name in options.tests))
    rows = tuple((name, *row.tolist()) for name, row in zip(options.tests, shares, strict=True))
    size = f"of {significant.shape[1]:,} pairs of systems, at level {options.alpha:g}, uncorrected"
    notes = (
        f"{size}; diagonal: the share that a test finds different",
        "elsewhere: of the pairs that the row's test finds, the share that the column's finds, too",
    )
    return Table("Tests", columns, rows, notes)
