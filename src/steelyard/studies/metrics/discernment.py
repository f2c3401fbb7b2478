"""What a meta-metric can tell apart: metrics from metrics, and metrics from mere noise.

Sections 4.3 and 4.4 of the SPA paper (Table 1) for any data: how many different values metrics get,
how many pairs of metrics differ significantly, and how many clusters that makes.

Sentinels, which know nothing of quality, are weighed like metrics: the best is the floor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.options import check_function, keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.data import (
    DRAWN,
    PREFIX,
    is_sentinel,
    sentinel_tables,
    the_human,
    the_metrics,
)
from steelyard.metaevaluation.options import MetricTest
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.metaevaluation.tests import compare_metrics, ranked
from steelyard.stats.arrays import Floats
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.studies.metrics.metaruns import By, MetaRuns, open_runs
from steelyard.studies.metrics.options import META, SENTINEL_META, DistinctOptions, SentinelOptions
from steelyard.studies.results import Curve, Line, Progress, Study, plain_line, steps

_SAME = 1e-9  # values that are closer differ by rounding
_LISTED = 5  # metrics that a warning names


@keywords(DistinctOptions)
def count_distinct(
    es: Source,
    human: str | None = None,
    *,
    by: By = META,
    options: DistinctOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Count distinct values, significant comparisons and clusters under each meta-metric.

    Options are those of :func:`steelyard.meta_evaluate`.

    Examples
    --------
    >>> import steelyard as sy
    >>> chosen = ["learned-refA", "overlap-refA", "random-src"]
    >>> study = count_distinct(sy.demo_set(), "mqm", metrics=chosen, n_resamples=200)
    >>> [(row["with"], row["distinct"], row["of"]) for row in study.table().records()]
    [('spa', 3, 3), ('pa', 3, 3)]
    """
    names = ("scheme", "alternative", "alpha", "correction")
    shown: dict[str, Any] = {name: getattr(options, name) for name in names}
    procedure = MetricTest(**shown, n_resamples=options.n_resamples)
    check_function(optional=True, progress=progress)
    stream = generator(rng)
    runs = open_runs(es, human, by, options)
    data = runs.data
    keys = {  # of metrics whose scores are not all those of another
        (data.segments if data.es.scores[name].has_segments else data.systems)(name).tobytes()
        for name in data.metrics
    }
    rows: list[tuple[Cell, ...]] = []
    ranks: list[list[MetaResult]] = []
    told: list[str] = []
    tick = steps(progress, len(runs.runs))
    for run, found, own in zip(runs.runs, runs.results, stream.spawn(len(runs.runs)), strict=True):
        test, warned = compare_metrics(run, found, procedure, own)
        told += warned
        placed = found if test is None else ranked(found, test, options.alpha)
        ranks.append(placed)
        counted = (None,) * 3 if test is None else significant_counts(test, placed, options.alpha)
        rows.append((run.meta.name, len(same_values(found)), len(keys), *counted))
        tick()
    ties = {
        name: [group for group in same_values(found) if len(group) > 1]
        for name, found in zip(runs.names, runs.results, strict=True)
    }
    return Study(
        name="distinct",
        parts={"counts": _counts(rows, options), "values": _cluster_table(runs, ranks)},
        curves=(_curve(runs),),
        facts={"n_systems": data.es.n_systems, "n_segments": len(data.judged), "ties": ties},
        warnings=runs.told(told),
        provenance=runs.provenance(
            "distinct", shown | {"resamples": options.n_resamples or "auto"}, rng, options
        ),
    )


def _counts(rows: Sequence[tuple[Cell, ...]], options: DistinctOptions) -> Table:
    names = ("with", "distinct", "of", "significant", "pairs", "clusters")
    how = [options.scheme, options.alternative]
    how += [options.correction] if options.correction != "none" else []
    notes = (
        "distinct: different values; of: metrics whose scores are not those of another",
        f"significant: pairs of metrics with p <= {options.alpha:g} ({', '.join(how)})",
        "clusters: greedy, a metric opens one if it differs from any in the last",
    )
    columns = tuple(map(Column, names))
    return Table("How finely metrics are told apart", columns, tuple(rows), notes)


def same_values(found: Sequence[MetaResult]) -> list[list[str]]:
    """Put metrics with the same value together; they come best first."""
    groups: list[list[str]] = []
    last = np.nan
    for result in found:
        if np.isnan(result.value):
            continue
        if groups and abs(result.value - last) <= _SAME:
            groups[-1].append(result.metric)
        else:
            groups.append([result.metric])
        last = result.value
    return groups


def significant_counts(
    test: Significance, placed: Sequence[MetaResult], alpha: float
) -> tuple[int, int, int]:
    """Significant pairs in the order of the values, all pairs, clusters."""
    p = (test.p if test.p_adjusted is None else test.p_adjusted)[pair_index(len(test.metrics))]
    clusters = max((r.rank for r in placed if r.rank is not None), default=0)
    return int((p <= alpha).sum()), len(p), clusters


def _curve(runs: MetaRuns) -> Curve:
    """Draw the value of each metric: those that tie stand at one height."""
    order = [result.metric for result in runs.results[0]]
    lines = tuple(
        plain_line(name, np.array([values[metric] for metric in order]))
        for name, values in zip(runs.names, runs.values, strict=True)
    )
    return Curve("values", "values of metrics", "metric", "value", tuple(order), lines)


def _cluster_table(runs: MetaRuns, ranks: Sequence[Sequence[MetaResult]]) -> Table:
    columns = [Column("metric")]
    for name in runs.names:
        columns += [Column("cluster"), Column(name, "higher", digits=4)]
    known = [{r.metric: r for r in found} for found in ranks]
    rows = tuple(
        (name, *(cell for own in known for cell in (own[name].rank, own[name].value)))
        for name in (result.metric for result in runs.results[0])
    )
    return Table("Values and clusters", tuple(columns), rows)


@dataclass(frozen=True, slots=True)
class _Floor:
    """Values of one sentinel under each meta-metric: mean, and 97.5 % quantile, over draws."""

    name: str
    mean: tuple[float, ...]
    high: tuple[float, ...]


@keywords(SentinelOptions)
def guard(
    es: Source,
    human: str | None = None,
    *,
    by: By = SENTINEL_META,
    options: SentinelOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Weigh sentinels beside the metrics, and name the metrics that do not beat them.

    See :class:`SentinelOptions`, and :func:`steelyard.meta_evaluate` for what is weighed; the floor
    of random sentinels is what one of 40 draws exceeds.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = guard(sy.demo_set(), "mqm", by="spa", draws=5)
    >>> [row["sentinel"] for row in study.table("floor").records()]
    ['random', 'name', 'segment']
    """
    check_function(optional=True, progress=progress)
    es = as_evalset(es, human)
    human = the_human(es, human)
    tables = sentinel_tables(es, human, generator(rng), draws=options.draws)
    metrics = options.metrics
    own = list(the_metrics(es, human, metrics))
    with_all = replace(es, scores={**es.scores, **tables})
    options = replace(options, metrics=[*own, *tables])
    runs = open_runs(with_all, human, by, options)
    steps(progress, 1)()
    values = runs.values
    floors = _floors(tables, values)
    best = _best(floors, len(values))
    found = [name for name in own if not is_sentinel(name)]
    told = []
    for known, meta, (name, height) in zip(values, runs.names, best, strict=True):
        below = sorted(n for n in found if known.get(n, np.nan) <= height)
        if below:
            shown = listed([f"'{n}'" for n in below], _LISTED)
            told.append(f"{meta}: the sentinel '{name}' ({height:.3f}) is not beaten by {shown}")
    order = [r.metric for r in runs.results[0] if r.metric in found]
    return Study(
        name="sentinels",
        parts={
            "floor": _floor_table(floors, runs.names, options.draws),
            "metrics": _metric_table(order, values, best, runs.names),
        },
        curves=(_floor_curve(order, values, floors, runs.names),),
        facts={
            "n_systems": runs.data.es.n_systems,
            "n_segments": len(runs.data.judged),
            "floor": {meta: best[k][1] for k, meta in enumerate(runs.names)},
        },
        warnings=tuple(w for w in runs.told(told) if PREFIX not in w),
        provenance=runs.provenance("sentinels", {"draws": options.draws}, rng, options),
    )


def _floors(tables: Collection[str], values: Sequence[dict[str, float]]) -> list[_Floor]:
    """Sum up the draws of each sentinel; NaN where a meta-metric is undefined."""
    groups: dict[str, list[str]] = {}
    for name in tables:
        short = name.removeprefix(PREFIX)
        kind = short.split("-")[0]
        groups.setdefault(kind if kind in DRAWN else short, []).append(name)
    floors = []
    for kind, members in groups.items():
        means, highs = [], []
        for own in values:
            x = np.array([own[name] for name in members])
            known = x[~np.isnan(x)]
            means.append(float(known.mean()) if known.size else float("nan"))
            highs.append(float(np.quantile(known, 0.975)) if known.size else float("nan"))
        floors.append(_Floor(kind, tuple(means), tuple(highs)))
    return floors


def _best(floors: Sequence[_Floor], n: int) -> list[tuple[str, float]]:
    """Give the best sentinel under each meta-metric, and how high it stands."""
    known = [
        [(floor.high[k], floor.name) for floor in floors if not np.isnan(floor.high[k])]
        for k in range(n)
    ]
    return [max(own, default=(float("nan"), ""))[::-1] for own in known]


def _floor_table(floors: Sequence[_Floor], names: Sequence[str], draws: int) -> Table:
    columns = [Column("sentinel")]
    for name in names:
        columns += [Column(name, digits=3), Column("high", digits=3)]
    rows: list[tuple[Cell, ...]] = [
        (floor.name, *(x for pair in zip(floor.mean, floor.high, strict=True) for x in pair))
        for floor in floors
    ]
    notes = (f"random, name: mean and 97.5 % quantile of {draws} draws; missing: undefined",)
    return Table("Scores that know nothing of quality", tuple(columns), tuple(rows), notes)


def _metric_table(
    order: Sequence[str],
    values: Sequence[dict[str, float]],
    best: Sequence[tuple[str, float]],
    names: Sequence[str],
) -> Table:
    columns = [Column("metric")]
    for name in names:
        columns += [Column(name, "higher", digits=3), Column("above")]
    rows: list[tuple[Cell, ...]] = []
    for metric in order:
        row: list[Cell] = [metric]
        for own, (_, height) in zip(values, best, strict=True):
            value = own[metric]
            row += [value, None if np.isnan(value) or np.isnan(height) else bool(value > height)]
        rows.append(tuple(row))
    notes = ("above: better than every sentinel",)
    return Table("Metrics against the floor", tuple(columns), tuple(rows), notes)


def _floor_curve(
    order: Sequence[str],
    values: Sequence[dict[str, float]],
    floors: Sequence[_Floor],
    names: Sequence[str],
) -> Curve:
    """Draw metrics, and sentinels with the range up to their quantile."""
    x = (*order, *(floor.name for floor in floors))
    lines = []
    for k, name in enumerate(names):
        y = [values[k][metric] for metric in order] + [floor.mean[k] for floor in floors]
        high: Floats = np.array([np.nan] * len(order) + [floor.high[k] for floor in floors])
        low = np.where(np.isnan(high), np.nan, np.array(y))
        lines.append(Line(name, np.array(y), low, high, (1,) * len(y)))
    return Curve("values", "metrics and sentinels", "metric", "value", tuple(x), tuple(lines))
