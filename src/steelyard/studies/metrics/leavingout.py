"""Which systems carry the agreement of metrics with people: each is left out in turn.

A value that stands or falls with one system says little of the others. Systems whose human score is
far from all others (:mod:`steelyard.stats.outlying`) are marked, and left out together as well.
Every value is that of a meta-evaluation of the other systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import are, listed
from steelyard.formats.load import Source
from steelyard.metaevaluation.cube import Run
from steelyard.metaevaluation.leftout import without
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.outliers import Outliers, find_outliers
from steelyard.metaevaluation.run import judged_units
from steelyard.stats.arrays import Floats
from steelyard.stats.outlying import outlying
from steelyard.stats.ranks import ranks, whole
from steelyard.studies.metrics.metaruns import By, MetaRuns, open_runs
from steelyard.studies.metrics.options import OUTLIER_META, OutlierOptions
from steelyard.studies.results import Curve, Progress, Study, plain_line, steps

_LINES = 8  # metrics that a figure shows


@keywords(OutlierOptions)
def leave_each_out(
    es: Source,
    human: str | None = None,
    *,
    by: By = OUTLIER_META,
    options: OutlierOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Leave each system out in turn, and all outliers together; see what becomes of the values.

    See :class:`OutlierOptions`, and :func:`steelyard.meta_evaluate` for what is weighed.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = leave_each_out(sy.demo_set(), "mqm", by="pearson", metrics=["chars-refA"])
    >>> row = study.table("metrics").records()[0]
    >>> row["metric"], row["low"] < row["all"] < row["high"]
    ('chars-refA', True)
    """
    bounds.function(optional=True, progress=progress)
    runs = open_runs(es, human, by, options)
    data = runs.data
    n = data.es.n_systems
    if n < 3:
        raise UsageError(
            f"there {are(n, 'system')}: with one of them left out, no two are left to compare"
        )
    generator(rng)  # nothing is drawn; a bad seed is refused as everywhere
    told: list[str] = []
    far = find_outliers(
        runs.human, data.es.systems, data.human_systems, cutoff=options.cutoff, handling="both"
    )
    if far.undefined is not None:
        told.append(f"which systems are outliers is undefined by {runs.human}: {far.undefined}")
    parts = [[name] for name in data.es.systems] + [list(far.systems)]
    tick = steps(progress, len(parts))
    rest: list[list[dict[str, float]]] = []
    for left_out in parts:
        rest.append(_values(runs, left_out, options) if left_out else runs.values)
        tick()
    found = [
        _Values.of(by, every, [own[k] for own in rest])
        for k, (by, every) in enumerate(zip(runs.names, runs.values, strict=True))
    ]
    told += [text for own in found for text in own.undefined(data.es.systems)]
    return Study(
        name="outliers",
        parts={
            "metrics": _metric_table(runs, found, far),
            "systems": _system_table(runs, found, far),
        },
        curves=tuple(_curve(runs, own, far) for own in found if own.names),
        facts={"n_systems": n, "outliers": far.to_dict()},
        warnings=runs.told(told),
        provenance=runs.provenance("outliers", {"cutoff": options.cutoff}, rng, options),
    )


def _values(
    runs: MetaRuns, left_out: Sequence[str], options: OutlierOptions
) -> list[dict[str, float]]:
    """Weigh metrics on the other systems: the values of all metrics under each meta-metric."""
    rest = without(runs.data, left_out)
    units = judged_units(rest, runs.units.name).codes
    asked = MetaOptions(level=options.level, group_by=options.group_by)
    found = [Run.of(rest, run.meta, asked, units).results() for run in runs.runs]
    return [{result.metric: result.value for result in own} for own in found]


@dataclass(frozen=True, slots=True)
class _Values:
    """Values under one meta-metric: without each system, with all, and without all outliers."""

    by: str
    names: tuple[str, ...]
    one_out: Floats  # systems x metrics
    every: Floats
    rest: Floats

    @classmethod
    def of(
        cls, by: str, every: Mapping[str, float], rest: Sequence[Mapping[str, float]]
    ) -> _Values:
        """Put values into rows; the last of the rest is without all outliers. Best metric first."""
        names = tuple(every)
        values = np.array([[own[name] for name in names] for own in (every, *rest)])
        return cls(by, names, values[1:-1], values[0], values[-1])

    @property
    def changes(self) -> Floats:
        """By how much the absence of a system moves each value: systems x metrics."""
        return self.one_out - self.every

    def undefined(self, systems: tuple[str, ...]) -> list[str]:
        """Say without which systems metrics have no value."""
        lost = np.isnan(self.one_out) & ~np.isnan(self.every)
        names = [f"'{systems[i]}'" for i in np.flatnonzero(lost.any(axis=1))]
        if not names:
            return []
        return [f"{self.by}: without {listed(names)}, some metrics have no value"]

    def cells(self, k: int, systems: tuple[str, ...], *, outliers: bool) -> tuple[Cell, ...]:
        """Give what the table says of one metric."""
        own = self.one_out[:, k]
        places = ranks(self.one_out)[:, k]
        here = whole(ranks(self.every))[k]
        rest: tuple[Cell, ...] = (float(self.rest[k]),) if outliers else ()
        if np.isnan(self.changes[:, k]).all():
            return (float(self.every[k]), *rest, None, None, None, None, here, None, None)
        most = int(np.nanargmax(np.abs(self.changes[:, k])))
        moved: tuple[Cell, Cell] = (systems[most], float(own[most]))
        if self.changes[most, k] == 0:
            moved = (None, None)  # whoever is left out
        low, high = float(np.nanmin(own)), float(np.nanmax(own))
        ends = (int(np.nanmin(places)), int(np.nanmax(places)))
        return (
            float(self.every[k]),
            *rest,
            low,
            high,
            *moved,
            here,
            *ends,
        )


def _metric_table(runs: MetaRuns, found: list[_Values], far: Outliers) -> Table:
    outliers = bool(far.systems)
    heads = ("all", *(("no outliers",) if outliers else ()), "low", "high")
    columns = [Column("with"), Column("metric"), *(Column(name, digits=3) for name in heads)]
    columns += [Column("most without"), Column("value", digits=3)]
    columns += [Column("rank"), Column("from"), Column("to")]
    systems = runs.data.es.systems
    rows: list[tuple[Cell, ...]] = [
        (own.by, own.names[k], *own.cells(k, systems, outliers=outliers))
        for own in found
        for k in range(len(own.names))
    ]
    notes = [
        "low, high: of the values with one system left out",
        "most without: the system whose absence moves the value most, and the value without it",
        "rank with all systems; from, to: places with one system left out",
    ]
    notes += [f"no outliers: {far.sentence()}"] if outliers else []
    opens = [len(own.names) for own in found]
    rules = frozenset(int(at) for at in np.cumsum(opens)[:-1])
    title = "Agreement with people when a system is left out"
    return Table(title, tuple(columns), tuple(rows), tuple(notes), rules)


def _system_table(runs: MetaRuns, found: list[_Values], far: Outliers) -> Table:
    data = runs.data
    deviations = outlying(data.human_systems, far.cutoff).deviations
    sign = data.sign(runs.human)
    columns = [
        Column("system"),
        Column(runs.human),
        Column("deviation", digits=1),
        Column("outlier"),
    ]
    for own in found:
        columns += [Column(f"{own.by} of", key=f"{own.by} of"), Column("moves", digits=3)]
    rows: list[tuple[Cell, ...]] = []
    for i in _order(data.human_systems):
        name = data.es.systems[i]
        row: list[Cell] = [name, float(sign * data.human_systems[i]), float(deviations[i])]
        row.append(name in far.deviations if far.undefined is None else None)
        for own in found:
            moved = own.changes[i]
            if not np.nan_to_num(moved).any():
                row += [None, None]
                continue
            k = int(np.nanargmax(np.abs(moved)))
            row += [own.names[k], float(moved[k])]
        rows.append(tuple(row))
    unit = f"from the median of {runs.human}, in units of 1.483 MAD"
    notes = (
        f"deviation: {unit}; outlier: beyond {far.cutoff:g}",
        "of, moves: the metric whose value moves most without the system, and by how much",
    )
    return Table("Systems, best first", tuple(columns), tuple(rows), notes)


def _order(scores: Floats) -> list[int]:
    return [int(i) for i in np.argsort(-scores, kind="stable")]


def _curve(runs: MetaRuns, own: _Values, far: Outliers) -> Curve:
    """Draw the values of the best metrics with all, without outliers, and without each system."""
    order, some = _order(runs.data.human_systems), bool(far.systems)
    whole_sets = ("(none)", *(("(outliers)",) if some else ()))
    x = (*whole_sets, *(runs.data.es.systems[i] for i in order))
    lines = tuple(
        plain_line(name, np.r_[own.every[k], own.rest[k : k + some], own.one_out[order, k]])
        for k, name in enumerate(own.names[:_LINES])
    )
    title = f"{own.by} without each system, best first"
    return Curve(own.by, title, "left out", own.by, x, lines)
