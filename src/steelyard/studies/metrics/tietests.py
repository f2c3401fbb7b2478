"""Intervals of Kendall variants on pairs that people decided, and tests of metrics by them.

The pairs of a segment share outputs, and segments of a document a text: whole units are resampled,
and between two metrics whole units are swapped, as in a meta-evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.table import Cell, Column, Table
from steelyard.data.segments import Segments
from steelyard.data.units import UnitEffect, Units, many, units_of
from steelyard.human.darr import Pairs
from steelyard.metaevaluation.options import MetricTest
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.metaevaluation.tests import ranked, significance_of
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.kendall.counting import counts_by_group, matrix
from steelyard.stats.metametrics.swap_tests import Swaps, null_ratios
from steelyard.stats.ranks import ranks
from steelyard.stats.resampling import bootstrap
from steelyard.studies.metrics.options import TiesOptions


@dataclass(frozen=True, slots=True)
class TieTests:
    """Values of metrics under each matrix with intervals and clusters, and the tests behind."""

    results: tuple[MetaResult, ...]
    significance: dict[str, Significance]
    unit: UnitEffect
    warnings: tuple[str, ...]


def units_of_pairs(pairs: Pairs, unit: str) -> tuple[Units, Counts]:
    """Find what is independent among the pairs: the units, and the code of each pair's."""
    about = Segments(pairs.segments) if pairs.about is None else pairs.about
    used = np.zeros(len(about), dtype=bool)
    used[pairs.segment] = True
    units = units_of(about, unit, used)
    codes = np.arange(len(about)) if units.codes is None else units.codes
    return units, np.unique(codes[pairs.segment], return_inverse=True)[1].astype(np.int64)


def compare_on_pairs(
    pairs: Pairs,
    matrices: Sequence[str],
    threshold: float,
    options: TiesOptions,
    rng: np.random.Generator,
) -> TieTests:
    """Resample units for intervals of all metrics, and swap units between two metrics to test them.

    One unit alone tells nothing of chance: there are values without intervals then.
    """
    units, codes = units_of_pairs(pairs, options.unit)
    n = int(codes.max(initial=-1)) + 1
    counted = [
        counts_by_group(pairs.gap, gap, codes, n, threshold=threshold)
        for gap in pairs.metric_gap.values()
    ]
    drawn, *streams = rng.spawn(1 + len(matrices))
    resamples = bootstrap.draw_counts(options.n_bootstrap, n, drawn) if n > 1 else None
    asked = {"alternative": options.alternative, "correction": options.correction}
    procedure = MetricTest.of(asked)
    results: list[MetaResult] = []
    tests: dict[str, Significance] = {}
    for name, stream in zip(matrices if counted else (), streams, strict=False):
        parts = [matrix(name).parts(one) for one in counted]
        top, bottom = (np.array([part[k] for part in parts], dtype=np.float64) for k in (0, 1))
        found = _results(name, tuple(pairs.metric_gap), top, bottom, resamples)
        known = [r.metric for r in found if not np.isnan(r.value)]
        if n > 1 and len(known) > 1:
            order = [tuple(pairs.metric_gap).index(metric) for metric in known]
            swaps = Swaps(n=options.n_resamples, rng=stream)
            result = null_ratios(top[order], bottom[order], swaps).compare(options.alternative)
            tests[name] = significance_of(known, result, procedure)
            found = ranked(found, tests[name], options.alpha)
        results += found
    effect = UnitEffect(units.name, units.n, float("nan"))
    return TieTests(tuple(results), tests, effect, units.warnings)


def _results(
    name: str, metrics: Sequence[str], top: Floats, bottom: Floats, resamples: Floats | None
) -> list[MetaResult]:
    """Give values and intervals, best first."""
    values = ratio(top.sum(axis=1), bottom.sum(axis=1))
    low, high = np.full((2, len(values)), np.nan)
    if resamples is not None:
        drawn = bootstrap.bootstrap_groups(ratio(top, bottom), bottom, resamples)
        low, high = bootstrap.interval(drawn)
    places = np.nan_to_num(ranks(values), nan=np.inf)
    order = sorted(range(len(metrics)), key=lambda i: (places[i], metrics[i]))
    found = []
    for i in order:
        one = MetaResult(metrics[i], name, "seg", "none", float(values[i]))
        known = not np.isnan(low[i] + values[i])
        found.append(replace(one, ci=(float(low[i]), float(high[i]))) if known else one)
    return found


def interval_table(found: TieTests, threshold: float | None, options: TiesOptions) -> Table:
    """Show values with intervals, and the metrics that do not differ, a block per matrix."""
    rows: list[tuple[Cell, ...]] = []
    for r in found.results:
        ends: tuple[Cell, Cell] = (None, None) if r.ci is None else r.ci
        rows.append((r.by, r.rank, r.letters, r.metric, r.value, *ends))
    starts = frozenset(i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0])
    names = {"matrix": None, "rank": None, "alike": None, "metric": None, "value": 3, "low": 3,
             "high": 3}  # fmt: skip
    drawn = many(found.unit.name)
    notes = [f"low, high: 95 % interval over {options.n_bootstrap:,} resamples of {drawn}"]
    if found.significance:
        side = "one-sided" if options.alternative == "greater" else "two-sided"
        notes.append(
            f"rank, alike: clusters and letters by {side} tests that swap {drawn} between two "
            f"metrics, p <= {options.alpha:g}"
        )
    at = "" if threshold is None else f" at threshold {threshold:g}"
    columns = tuple(Column(name, digits=digits) for name, digits in names.items())
    return Table(f"Intervals and tests{at}", columns, tuple(rows), tuple(notes), starts)
