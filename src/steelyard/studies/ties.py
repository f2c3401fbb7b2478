"""Whether metrics would rank alike with other ties.

The experiment that the better-metric-evaluation paper asks for, on any data: people tie a pair of
outputs if their scores differ by less than a threshold, a metric if they differ by less than
another; each matrix of Kendall's family says what ties are worth. Pairs of a segment share outputs,
and segments of a document a text: intervals resample, and tests swap, whole units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import check_named
from steelyard.core.display import Statement
from steelyard.core.errors import UsageError
from steelyard.core.options import check_function, keywords
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.data.selection import chosen_metrics
from steelyard.data.units import UnitEffect, many, units_of
from steelyard.formats.load import Source, as_evalset
from steelyard.human.darr import (
    Pairs,
    identical_table,
    pairs_of_scores,
)
from steelyard.metaevaluation.data import the_human
from steelyard.metaevaluation.options import MetricTest
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.metaevaluation.tests import ranked, significance_of
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.kendall.counting import KENDALL, counts_by_group, matrix, threshold_counts
from steelyard.stats.metametrics.swap_tests import Swaps, null_ratios
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks
from steelyard.stats.resampling import bootstrap
from steelyard.studies.options import TiesOptions
from steelyard.studies.study import Curve, Progress, Row, Study, plain_line, steps

PERCENT = (0.0, 1.0, 5.0, 10.0, 25.0, 50.0)  # thresholds for scores from 0 to 100
_WIDE = 50.0  # a span of human scores from which they count as percent


@dataclass(frozen=True, slots=True)
class _Grid:
    """All settings, and the values of metrics: matrices x metric thresholds x thresholds x ..."""

    matrices: tuple[str, ...]
    epsilons: tuple[float, ...]  # metric thresholds
    thresholds: tuple[float, ...]
    threshold: float  # that others are compared with
    metrics: tuple[str, ...] = ()
    values: Floats = field(default_factory=lambda: np.zeros((0, 0, 0, 0)))

    @property
    def at(self) -> int:
        """The index of the threshold that others are compared with."""
        return self.thresholds.index(self.threshold)


@dataclass(frozen=True, slots=True)
class _Tests:
    """Values at the usual threshold with intervals and clusters, and the tests behind them."""

    results: tuple[MetaResult, ...]
    significance: dict[str, Significance]
    unit: UnitEffect
    warnings: tuple[str, ...]


@keywords(TiesOptions)
def vary_ties(
    data: Source | Pairs,
    human: str | None = None,
    *,
    options: TiesOptions,
    inputs: tuple[InputFile, ...] = (),
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Rank metrics under all matrices, human thresholds and metric thresholds.

    ``data`` is a set with a human score of segments, or pairs of outputs that people decided. Names
    of matrices are those of :data:`steelyard.stats.kendall.counting.KENDALL`, and others are
    compared with the first. At ``threshold``, values have intervals, and metrics are tested against
    each other. See :class:`TiesOptions`.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = vary_ties(sy.demo_set(), "da", metrics=["learned-refA", "judge-1to5-src"])
    >>> [row["threshold"] for row in study.table("pairs").records()]
    [0.0, 1.0, 5.0, 10.0, 25.0, 50.0]
    """
    check_function(optional=True, progress=progress)
    warnings: list[str] = []
    if isinstance(data, Pairs):
        pairs = data
    else:
        es = as_evalset(data, human, options.unit)
        human = the_human(es, human)
        pairs = pairs_of_scores(es, human, _metrics(es, human, options.metrics), es.name or "all")
        warnings += es.notes
        inputs = inputs or es.inputs
    grid = _grid(pairs, options)
    if not len(pairs):
        raise UsageError("no two systems were scored on the same segment")
    identical = identical_table(pairs, grid.threshold)
    if options.identical_ties:
        if pairs.identical is None:
            raise UsageError("identical outputs need texts: give a file with outputs of systems")
        pairs = replace(pairs, gap=np.where(pairs.identical, 0.0, pairs.gap))
    if not pairs.gap.any():
        raise UsageError(f"people tie all of {plural(len(pairs), 'pair')}: there is no order")
    if len(pairs.metric_gap) < 2:
        few = "fewer than two metrics: there is no order that could change"
        warnings.append(few if pairs.metric_gap else "no metric: pairs are counted, not ranked")
    tests = _tests(pairs, grid, options, generator(rng))
    warnings += tests.warnings if pairs.metric_gap else ()
    grid = _valued(pairs, grid, progress)
    settings: dict[str, Any] = {
        "matrices": ",".join(grid.matrices),
        "identical_ties": options.identical_ties,
        "thresholds": ",".join(f"{t:g}" for t in grid.thresholds),
        "metric_thresholds": ",".join(f"{e:g}" for e in grid.epsilons),
        "unit": tests.unit.name,
    }
    settings |= {} if human is None else {"human": human}
    flips = _flips(grid)
    at = "" if pairs.decided else f" at threshold {grid.threshold:g}"
    return Study(
        "ties",
        {
            "pairs": _pairs(pairs, grid.thresholds),
            "flips": flips,
            "intervals": _intervals(tests, f"Intervals and tests{at}", options),
            **({} if identical is None else {"identical": identical}),
        },
        sentences=tuple(_sentences([row["best"] for row in flips.records()])),
        curves=_curves(pairs, grid),
        facts={
            "thresholds": list(grid.thresholds),
            "metric_thresholds": list(grid.epsilons),
            "values": {
                name: {metric: grid.values[k, :, :, i] for i, metric in enumerate(grid.metrics)}
                for k, name in enumerate(grid.matrices)
            },
            "results": [result.to_dict() for result in tests.results],
            "significance": {name: test.to_dict() for name, test in tests.significance.items()},
            "unit": tests.unit.to_dict(),
        },
        warnings=tuple(warnings),
        provenance=Provenance.of("study ties", settings, inputs, rng, options),
    )


def _metrics(es: EvalSet, human: str, metrics: Collection[str] | None) -> list[str]:
    if metrics is None:
        return [name for name in es.metrics if name != human and es[name].has_segments]
    chosen = chosen_metrics(es, metrics, human=human)
    for name in chosen:
        if not es[name].has_segments:
            raise UsageError(f"'{name}' has no segment scores")
    return chosen


def _grid(pairs: Pairs, options: TiesOptions) -> _Grid:
    check_named("Kendall variant", options.matrices, tuple(KENDALL))
    if not options.matrices:
        raise UsageError("expected at least one matrix")
    threshold = options.threshold
    thresholds: tuple[float, ...] = (0.0,)
    if pairs.decided:
        if options.thresholds is not None or threshold is not None:
            raise UsageError("a list of pairs holds no scores: thresholds can't be varied")
    elif options.thresholds is None:
        thresholds = _default_thresholds(pairs.gap)
    else:
        thresholds = tuple(sorted({float(t) for t in options.thresholds}))
    if threshold is None:
        threshold = 25.0 if 25.0 in thresholds else thresholds[0]
    return _Grid(
        matrices=tuple(dict.fromkeys(options.matrices)),
        epsilons=tuple(sorted({float(e) for e in options.metric_thresholds})),
        thresholds=tuple(sorted({*thresholds, float(threshold)})),
        threshold=float(threshold),
    )


def _default_thresholds(gap: Floats) -> tuple[float, ...]:
    """Return customary thresholds of percent, or quartiles of the differences of small scales."""
    size = np.abs(gap[gap != 0])
    if not size.size or size.max() >= _WIDE:
        return PERCENT
    quartiles = np.quantile(size, [0.25, 0.5, 0.75])
    return tuple(sorted({0.0, *(float(f"{q:.2g}") for q in quartiles)}))


def _valued(pairs: Pairs, grid: _Grid, progress: Progress | None) -> _Grid:
    """Add the values of all metrics in all settings."""
    shape = len(grid.matrices), len(grid.epsilons), len(grid.thresholds), len(pairs.metric_gap)
    values = np.full(shape, np.nan)
    tick = steps(progress, len(pairs.metric_gap))
    for i, gap in enumerate(pairs.metric_gap.values()):
        present = gap[~np.isnan(gap)]
        spread = float(present.std()) if present.size else 0.0
        for e, epsilon in enumerate(grid.epsilons):
            counts = threshold_counts(pairs.gap, gap, grid.thresholds, epsilon=epsilon * spread)
            for k, name in enumerate(grid.matrices):
                values[k, e, :, i] = matrix(name).value(counts)
        tick()
    return replace(grid, metrics=tuple(pairs.metric_gap), values=values)


def _tests(pairs: Pairs, grid: _Grid, options: TiesOptions, rng: np.random.Generator) -> _Tests:
    """Resample units for intervals of all metrics, and swap units between metrics to test them.

    With a single unit there are values without intervals.
    """
    segments = Segments(pairs.segments) if pairs.about is None else pairs.about
    used = np.zeros(len(segments), dtype=bool)
    used[pairs.segment] = True
    units = units_of(segments, options.unit, used)
    of_segment = np.arange(len(segments)) if units.codes is None else units.codes
    codes = np.unique(of_segment[pairs.segment], return_inverse=True)[1].astype(np.int64)
    n = int(codes.max(initial=-1)) + 1
    counts = [
        counts_by_group(pairs.gap, gap, codes, n, threshold=grid.threshold)
        for gap in pairs.metric_gap.values()
    ]
    drawn, *streams = rng.spawn(1 + len(grid.matrices))
    resamples = bootstrap.draw_counts(options.n_bootstrap, n, drawn) if n > 1 else None
    procedure = MetricTest(alternative=options.alternative, correction=options.correction)
    metrics = list(pairs.metric_gap)
    results: list[MetaResult] = []
    tests: dict[str, Significance] = {}
    for name, stream in zip(grid.matrices if counts else (), streams, strict=False):
        parts = [matrix(name).parts(count) for count in counts]
        top, bottom = (np.array([part[k] for part in parts], dtype=np.float64) for k in (0, 1))
        by_value = _results(name, metrics, top, bottom, resamples)
        defined = [r.metric for r in by_value if not np.isnan(r.value)]
        if n > 1 and len(defined) > 1:
            order = [metrics.index(metric) for metric in defined]
            swaps = Swaps(n=options.n_resamples, rng=stream)
            test = null_ratios(top[order], bottom[order], swaps).compare(options.alternative)
            tests[name] = significance_of(defined, test, procedure)
            by_value = ranked(by_value, tests[name], options.alpha)
        results += by_value
    effect = UnitEffect(units.name, units.n, float("nan"))
    return _Tests(tuple(results), tests, effect, units.warnings)


def _results(
    name: str, metrics: Sequence[str], top: Floats, bottom: Floats, resamples: Floats | None
) -> list[MetaResult]:
    values = ratio(top.sum(axis=1), bottom.sum(axis=1))
    low, high = np.full((2, len(values)), np.nan)
    if resamples is not None:
        drawn = bootstrap.bootstrap_groups(ratio(top, bottom), bottom, resamples)
        low, high = bootstrap.interval(drawn)
    order = np.nan_to_num(ranks(values), nan=np.inf)
    results = []
    for i in sorted(range(len(metrics)), key=lambda i: (order[i], metrics[i])):
        ci = None if np.isnan(low[i] + values[i]) else (float(low[i]), float(high[i]))
        results.append(MetaResult(metrics[i], name, "seg", "none", float(values[i]), ci=ci))
    return results


def _sentences(best: Sequence[Cell]) -> Iterator[Statement]:
    counts = Counter(name for name in best if name is not None).most_common()
    total = sum(n for _, n in counts)
    if len(counts) == 1:
        every = plural(total, "treatment")
        yield "settled", f"{counts[0][0]} is the best metric under all {every} of ties."
    elif counts:
        shown = all_of([f"{name} under {n}" for name, n in counts])
        text = f"The best metric depends on the treatment of ties ({total} were tried)"
        yield "undecided", f"{text}: {shown}."


def _pairs(pairs: Pairs, thresholds: Sequence[float]) -> Table:
    columns = [Column("threshold", mixed=True), Column("pairs"), Column("share", digits=3)]
    columns += [Column("identical")] if pairs.identical is not None else []
    columns += [Column(f"ties:{name}") for name in pairs.metric_gap]
    rows: list[Row] = []
    for threshold in thresholds:
        kept = pairs.at_least(threshold)
        row: list[Cell] = [float(threshold), int(kept.sum()), float(kept.mean())]
        if pairs.identical is not None:
            row.append(int((kept & pairs.identical).sum()))
        row += [int((gap[kept] == 0).sum()) for gap in pairs.metric_gap.values()]
        rows.append(tuple(row))
    notes = ["pairs: decided by people" if pairs.decided else
             "pairs: human scores differ by the threshold or more (0: at all)"]  # fmt: skip
    notes += ["identical: of these, pairs of the same text"] if pairs.identical is not None else []
    notes += ["ties:METRIC: of these, pairs that the metric ties"] if pairs.metric_gap else []
    return Table("Pairs that thresholds keep", tuple(columns), tuple(rows), tuple(notes))


def count_flips(values: Floats, base: Floats) -> Any:
    """Count pairs of metrics in opposite order, along the last axis; ties are no flips."""
    a, b = pair_index(values.shape[-1])
    return ((values[..., a] - values[..., b]) * (base[..., a] - base[..., b]) < 0).sum(axis=-1)


def _flips(grid: _Grid) -> Table:
    several = len(grid.epsilons) > 1
    flips = count_flips(grid.values, grid.values[0, 0, grid.at])
    columns = [Column("matrix"), Column("threshold", mixed=True)]
    columns += [Column("metric threshold", mixed=True)] if several else []
    columns += [Column("best"), Column("value", digits=3), Column("flips")]
    rows: list[Row] = []
    for setting in np.ndindex(flips.shape) if grid.metrics else ():
        (k, e, t), values = setting, grid.values[setting]
        cells: list[Cell] = [grid.matrices[k], grid.thresholds[t]]
        cells += [grid.epsilons[e]] if several else []
        best = None if np.isnan(values).all() else int(np.nanargmax(values))
        cells += [None, None] if best is None else [grid.metrics[best], float(values[best])]
        rows.append((*cells, int(flips[setting])))
    n = len(grid.metrics)
    note = (
        f"flips: of {n * (n - 1) // 2} pairs of metrics, those in another order than under "
        f"{grid.matrices[0]} at threshold {grid.threshold:g}"
    )
    return Table("Where the order of metrics flips", tuple(columns), tuple(rows), (note,))


def _intervals(tests: _Tests, title: str, options: TiesOptions) -> Table:
    rows: list[Row] = [
        (r.by, r.rank, r.letters, r.metric, r.value, *((None, None) if r.ci is None else r.ci))
        for r in tests.results
    ]
    starts = frozenset(i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0])
    digits: Mapping[str, int | None] = {
        "matrix": None, "rank": None, "alike": None, "metric": None, "value": 3, "low": 3, "high": 3
    }  # fmt: skip
    drawn = many(tests.unit.name)
    notes = [f"low, high: 95% interval over {options.n_bootstrap:,} resamples of {drawn}"]
    if tests.significance:
        side = "one-sided" if options.alternative == "greater" else "two-sided"
        notes.append(
            f"rank, alike: clusters and letters by {side} tests that swap {drawn} between two "
            f"metrics, p <= {options.alpha:g}"
        )
    columns = tuple(Column(name, digits=places) for name, places in digits.items())
    return Table(title, columns, tuple(rows), tuple(notes), starts)


def _curves(pairs: Pairs, grid: _Grid) -> tuple[Curve, ...]:
    x = grid.thresholds
    kept = np.array([pairs.at_least(t).sum() for t in x], dtype=np.float64)
    line = plain_line(pairs.name, kept, len(pairs))
    curves = [Curve("pairs", "pairs kept", "threshold", "pairs", x, (line,))]
    for k, name in enumerate(grid.matrices):
        lines = tuple(
            plain_line(metric, grid.values[k, 0, :, i], len(pairs))
            for i, metric in enumerate(grid.metrics)
        )
        curves.append(Curve(name, name, "threshold", "value", x, lines))
    return tuple(curves)
