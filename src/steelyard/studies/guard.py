"""Whether metrics beat scores that know nothing of quality.

Random numbers, names of systems, lengths and segments alone (see
:mod:`steelyard.metaevaluation.floor`) are weighed like metrics. The best of them is the floor of a
meta-metric: a value below says nothing, and a meta-metric with a high floor rewards something other
than quality.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core import bounds
from steelyard.core.options import keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import listed
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.cube import the_human
from steelyard.metaevaluation.floor import DRAWN, PREFIX, is_sentinel, sentinel_tables
from steelyard.stats.arrays import Floats
from steelyard.studies.metaruns import By, open_runs
from steelyard.studies.options import SENTINEL_META, SentinelOptions
from steelyard.studies.results import Curve, Line, Progress, Study, steps

_LISTED = 5  # metrics that a warning names


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
    bounds.function(optional=True, progress=progress)
    es = as_evalset(es, human)
    human = the_human(es, human)
    tables = sentinel_tables(es, human, generator(rng), draws=options.draws)
    metrics = options.metrics
    own = [n for n in es.metrics if n != human] if metrics is None else list(metrics)
    with_all = replace(es, scores={**es.scores, **tables})
    options = replace(options, metrics=[*own, *tables])
    runs = open_runs(with_all, human, by, options, method="analytic")
    steps(progress, 1)()
    values = [{r.metric: r.value for r in found} for found in runs.results]
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
        tables={
            "floor": _floor_table(floors, runs.names, options.draws),
            "metrics": _metric_table(order, values, best, runs.names),
        },
        curves=(_curve(order, values, floors, runs.names),),
        facts={
            "n_systems": runs.data.es.n_systems,
            "n_segments": len(runs.judged),
            "floor": {meta: best[k][1] for k, meta in enumerate(runs.names)},
        },
        warnings=tuple(w for w in runs.told(told) if PREFIX not in w),
        provenance=runs.provenance("sentinels", {"draws": options.draws}, rng),
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
    result = []
    for k in range(n):
        known = [(floor.high[k], floor.name) for floor in floors if not np.isnan(floor.high[k])]
        height, name = max(known) if known else (float("nan"), "")
        result.append((name, height))
    return result


def _floor_table(floors: Sequence[_Floor], names: Sequence[str], draws: int) -> Table:
    columns = [Column("sentinel")]
    for name in names:
        columns += [Column(name, digits=3), Column("high", digits=3)]
    rows: list[tuple[Cell, ...]] = []
    for floor in floors:
        cells = [x for pair in zip(floor.mean, floor.high, strict=True) for x in pair]
        rows.append((floor.name, *cells))
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


def _curve(
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
