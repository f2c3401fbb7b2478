"""Metrics on groups of segments, such as domains: which agrees most with people where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.rng import Rng, streams
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.units import AUTO, DOCUMENT, DOMAIN, PROMPT, SEGMENT
from steelyard.metaevaluation.cube import Run, prepare
from steelyard.metaevaluation.intervals import replicates
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.metaevaluation.run import judged_units
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.distributions import ndtr
from steelyard.stats.metametrics import registry
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.ranks import ranks, whole
from steelyard.stats.resampling.bootstrap import interval, segment_counts

BY = "spa"
DRAWS = 200  # resamples of each group


@dataclass(frozen=True, slots=True, eq=False)
class Agreements:
    """How metrics agree with people in groups of segments: metrics x groups, best metric first.

    ``p`` tests, in each group, the lead of a metric over the one that is best on all segments; it
    is corrected for all metrics and groups (Bonferroni), since the largest lead is looked for.
    """

    by: str
    human: str
    metrics: tuple[str, ...]
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    unit: str
    every: Floats  # on all segments
    value: Floats
    low: Floats
    high: Floats
    p: Floats
    alpha: float = 0.05

    @property
    def ranks(self) -> Floats:
        """Places of metrics in each group, from 1."""
        return np.stack([ranks(column) for column in self.value.T], axis=1)

    def leaders(self) -> dict[str, tuple[str, ...]]:
        """Give the best metrics of each group."""
        return {
            name: tuple(m for m, r in zip(self.metrics, column, strict=True) if r == 1)
            for name, column in zip(self.names, self.ranks.T, strict=True)
        }

    def sentences(self, group: str) -> list[str]:
        """Say which metric is best where, and whether that is more than noise."""
        best, leaders = self.metrics[0], self.leaders()
        held = [name for name, own in leaders.items() if best in own]
        held_in = f"in {len(held) or 'none'} of {plural(len(self.names), group)}"
        told = [
            f"{best} agrees most with {self.human} by {self.by} on all segments, and {held_in}."
        ]
        for g, name in enumerate(self.names):
            if not leaders[name] or best in leaders[name]:
                continue
            own = leaders[name][0]
            i = self.metrics.index(own)
            gain = f"{self.value[i, g]:.3f} against {self.value[0, g]:.3f}"
            p = self.p[i, g]
            if np.isnan(p):
                verdict = "whether that is more than noise can't be said"
            elif p < self.alpha:
                verdict = "more than noise"
            else:
                verdict = "no more than noise explains"
            told.append(f"In {name} it is {all_of(leaders[name])} ({gain}): {verdict}.")
        return told

    def table(self, group: str) -> Table:
        """Give a row per metric and group; ``group`` is what a group is called."""
        columns = (Column("metric"), Column(group), Column("segments"), Column("rank"),
                   Column(self.by, "higher", digits=3), Column("low", digits=3),
                   Column("high", digits=3))  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for g, name in enumerate(self.names):
            own = whole(self.ranks[:, g])
            for i in sorted(range(len(own)), key=lambda k: (own[k] is None, own[k] or 0, k)):
                cells = (x[i, g] for x in (self.value, self.low, self.high))
                shown = (None if np.isnan(x) else float(x) for x in cells)
                rows.append((self.metrics[i], name, self.sizes[g], own[i], *shown))
        note = f"low, high: 95 % interval over {plural(DRAWS, 'resample')} of {self.unit}s"
        cuts = frozenset(range(len(self.metrics), len(rows), len(self.metrics)))
        return Table("", columns, tuple(rows), (note,), cuts)


def weigh_groups(
    es: EvalSet,
    meta: MetaEvaluation,
    groups: Mapping[str, Counts],
    *,
    most: int | None = None,
    alpha: float = 0.05,
    rng: Rng = 0,
) -> Agreements | None:
    """Weigh metrics in each group of segments, with the systems of a meta-evaluation.

    ``groups`` are places of segments; ``most`` is how many metrics are weighed, the best ones. None
    where there was no soft pairwise accuracy, or a group has no value. p-values inside the measure
    are series (Edgeworth): quick, and off by some 0.001 on a hundred segments.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set()
    >>> meta = sy.meta_evaluate(es, "mqm", metrics=["learned-refA", "random-src"], n_bootstrap=10)
    >>> halves = {"early": np.arange(225), "late": np.arange(225, 450)}
    >>> weigh_groups(es, meta, halves).value.round(2).tolist()
    [[0.85, 0.83], [0.57, 0.48]]
    """
    every = {r.metric: r.value for r in meta.results if r.by == BY and not np.isnan(r.value)}
    names = sorted(every, key=lambda name: (-every[name], name))[:most]
    if not names or not es[meta.human].has_segments:
        return None
    (measure,) = registry.chosen(BY)
    asked = meta.unit.name if meta.unit.name in (DOCUMENT, PROMPT, DOMAIN) else SEGMENT
    whole_set = es.select(systems=meta.systems, scores=[meta.human, *names])
    columns, lows, highs, tests, sizes, unit = [], [], [], [], [], ""
    for own, stream in zip(groups.values(), streams(rng, len(groups)), strict=True):
        part = whole_set.select(segments=[es.segments.ids[i] for i in own])
        try:
            data, _ = prepare(part, meta.human, names, keep_references=True)
        except UsageError:
            return None
        units = judged_units(data, AUTO)  # of what is drawn
        # Of p-values inside the measure: those of the meta-evaluation, or values would differ.
        signs = judged_units(data, asked).codes
        run = Run.of(data, measure, MetaOptions(), signs)
        found = {result.metric: result.value for result in run.results()}
        value = np.array([found[name] for name in names])
        counts = segment_counts(DRAWS, data.es.n_segments, stream, units.codes)
        known = [name for name in names if not np.isnan(found[name])]
        if names[0] not in known:
            return None
        drawn = np.full((DRAWS, len(names)), np.nan)
        place = [names.index(name) for name in known]
        resamples = Resamples("unit", counts, None, units.name, units.n)
        drawn[:, place] = replicates(run, known, resamples)
        low, high = interval(drawn)
        gap, error = value - value[0], np.std(drawn - drawn[:, :1], axis=0, ddof=1)
        tests.append(np.minimum(1.0, 2 * ndtr(-np.abs(ratio(gap, error)))))
        columns.append(value)
        lows.append(low)
        highs.append(high)
        sizes.append(len(data.judged))
        unit = units.name
    p = np.stack(tests, axis=1) * max(1, (len(names) - 1) * len(groups))
    return Agreements(
        by=BY,
        human=meta.human,
        metrics=tuple(names),
        names=tuple(groups),
        sizes=tuple(sizes),
        unit=unit,
        every=np.array([every[name] for name in names]),
        value=np.stack(columns, axis=1),
        low=np.stack(lows, axis=1),
        high=np.stack(highs, axis=1),
        p=np.minimum(p, 1.0),
        alpha=alpha,
    )
