"""Curves and claims of a simulation: how well rankings recover the true order of systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import Cell, Column, Table
from steelyard.stats.arrays import Floats
from steelyard.studies.study import Curve, Line, line_of

RANKINGS = ("mean", "median", "bt")
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Runs:
    """All data sets: their settings, and Kendall's tau of each ranking with the true strengths.

    ``setting`` is sets x (types, share of outliers, systems, segments), ``tau`` sets x rankings.
    """

    setting: Floats
    tau: Floats


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of Figure 3: which data sets it shows, against which setting."""

    name: str
    title: str
    x_label: str
    column: int  # of the setting
    keep: Callable[[Floats], Bools]


def _easy(setting: Floats) -> Bools:
    return np.asarray((setting[:, 0] == 1) & (setting[:, 1] == 0))


def _all(setting: Floats) -> Bools:
    return np.ones(len(setting), dtype=bool)


PANELS = (
    Panel("a", "no outliers, one type", "systems", 2, _easy),
    Panel("b", "no outliers, one type", "segments", 3, _easy),
    Panel("c", "one type", "share of outliers", 1, lambda s: s[:, 0] == 1),
    Panel("d", "no outliers", "types", 0, lambda s: s[:, 1] == 0),
    Panel("e", "any number of types", "share of outliers", 1, _all),
    Panel("f", "with outliers", "types", 0, lambda s: s[:, 1] > 0),
    Panel("g", "all simulations", "systems", 2, _all),
    Panel("h", "all simulations", "segments", 3, _all),
)


def draw_curves(runs: Runs, rng: np.random.Generator) -> tuple[Curve, ...]:
    """Give the data of every panel; one that has no data sets has no points."""
    return tuple(_curve(panel, runs, rng) for panel in PANELS)


def _curve(panel: Panel, runs: Runs, rng: np.random.Generator) -> Curve:
    kept = panel.keep(runs.setting)
    own, taus = runs.setting[kept, panel.column], runs.tau[kept]
    x = np.unique(own)
    lines = tuple(
        line_of(name, [taus[own == value, k] for value in x], rng)
        for k, name in enumerate(RANKINGS)
    )
    label = "Kendall's tau with the true strengths"
    ticks = tuple(int(v) if v.is_integer() else v for v in x.tolist())
    return Curve(panel.name, panel.title, panel.x_label, label, ticks, lines)


def overall_lines(runs: Runs, rng: np.random.Generator) -> tuple[Line, ...]:
    """Give the mean of each ranking over all data sets."""
    return tuple(line_of(name, [runs.tau[:, k]], rng) for k, name in enumerate(RANKINGS))


def overall_table(lines: Sequence[Line]) -> Table:
    """Show the means over all data sets."""
    names = ("tau", "low", "high")
    columns = (Column("ranking"), *(Column(name, digits=3) for name in names), Column("data sets"))
    rows = tuple((x.name, *_numbers(x, 0), x.n[0]) for x in lines)
    note = "low, high: 95 % interval over resampled data sets"
    return Table("Kendall's tau with the true strengths", columns, rows, (note,))


def _numbers(line: Line, k: int) -> tuple[float, float, float]:
    return float(line.y[k]), float(line.low[k]), float(line.high[k])


def curve_table(curves: Sequence[Curve]) -> Table:
    """Show all points of all panels."""
    head = (Column("panel"), Column("data sets with"), Column("against"), Column("x", mixed=True))
    numbers = tuple(
        Column(f"{name}{part}", digits=3) for name in RANKINGS for part in ("", " low", " high")
    )
    rows: list[tuple[Cell, ...]] = []
    rules = []
    for curve in curves:
        rules.append(len(rows))
        for k, x in enumerate(curve.x):
            cells = [number for line in curve.lines for number in _numbers(line, k)]
            rows.append((curve.name, curve.title, curve.x_label, x, *cells))
    lines = frozenset(k for k in rules if 0 < k < len(rows))
    return Table("Curves of Figure 3", (*head, *numbers), tuple(rows), (), lines)


def claim_table(curves: Sequence[Curve], overall: Sequence[Line]) -> Table:
    """Say of each claim of section 4 whether it holds, and by which numbers."""
    columns = (Column("claim"), Column("holds"), Column("evidence"))
    note = "falls: the interval at the last point lies below the interval at the first"
    return Table("What the paper claims", columns, tuple(_claims(curves, overall)), (note,))


def _claims(curves: Sequence[Curve], overall: Sequence[Line]) -> Iterator[tuple[str, bool, str]]:
    panels = {curve.name: curve for curve in curves}
    if panels["a"].x:
        alike = _overlap(panels["a"]) and _overlap(panels["b"])
        yield "easy data: all three are alike", alike, "panels a, b: whether intervals overlap"
    for panel, name, falls in (
        ("c", "mean", True), ("c", "median", False), ("c", "bt", False),
        ("d", "mean", False), ("d", "median", True), ("d", "bt", False),
        ("f", "median", True), ("f", "bt", False),
    ):  # fmt: skip
        curve = panels[panel]
        if len(curve.x) < 2:
            continue
        line = curve.lines[RANKINGS.index(name)]
        fallen = bool(line.high[-1] < line.low[0])
        what = f"{curve.title}: {name} {'falls' if falls else 'does not fall'} with {curve.x_label}"
        yield what, fallen == falls, f"{_shown(line, 0)}, then {_shown(line, -1)}"
    mean, median, bt = overall
    ahead = bool(bt.low[0] > max(mean.high[0], median.high[0]))
    yield "overall: bt is best", ahead, ", ".join(f"{x.name} {_shown(x, 0)}" for x in overall)


def _overlap(curve: Curve) -> bool:
    lows, highs = (np.array([getattr(x, part) for x in curve.lines]) for part in ("low", "high"))
    return bool((lows.max(axis=0) <= highs.min(axis=0)).all())


def _shown(line: Line, k: int) -> str:
    return f"{line.y[k]:.3f} ({line.low[k]:.3f} to {line.high[k]:.3f})"
