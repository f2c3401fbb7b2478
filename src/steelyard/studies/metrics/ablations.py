"""Whether a verdict on metrics would stand with fewer systems, or with fewer segments.

Sections 4.1 and 4.2 of the SPA paper for any data. Systems are dropped at random, and what a
meta-metric says of the metrics on the rest is compared, by Pearson's r, with what it says on all
systems. Samples of segments are drawn with replacement, fewer or more than there are, with all
systems, and show how wide the interval of a metric's value is. Trials and samples are weights, and
all of a size are a few matrix products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.options import check_function, keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import are
from steelyard.formats.load import Source
from steelyard.metaevaluation.tests import replicates
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import pearson, ranks
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.resampling.bootstrap import draw_counts, interval
from steelyard.studies.metrics.metaruns import By, MetaRuns, open_runs
from steelyard.studies.metrics.options import META, SegmentsOptions, SystemsOptions
from steelyard.studies.results import Curve, Line, Progress, Study, mean_line, steps
from steelyard.studies.systems.disagreement import draw_segments

KINDS = {"values": "Values", "ranks": "Ranks"}
_SIZES = 12  # as many sizes of systems at most, if none are named
_SEGMENTS = (25, 50, 100, 200, 400, 800, 1600, 3200)
_BEST = 2  # metrics that are shown if none are named


@keywords(SystemsOptions)
def ablate_systems(
    es: Source,
    human: str | None = None,
    *,
    by: By = META,
    options: SystemsOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Drop systems, and see how well the order of the metrics survives.

    All meta-metrics see the same trials; see :class:`SystemsOptions`, and
    :func:`steelyard.meta_evaluate` for what is weighed.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = ablate_systems(sy.demo_set(), "mqm", sizes=[4, 10], trials=50)
    >>> study.curve("values").x, [line.name for line in study.curve("values").lines]
    ((4, 10), ['spa', 'pa'])
    """
    check_function(optional=True, progress=progress)
    stream = generator(rng)
    runs = open_runs(es, human, by, options)
    n, trials = runs.data.es.n_systems, options.trials
    if n < 3:
        raise UsageError(f"there {are(n, 'system')}: expected three or more, to drop one")
    chosen = _sizes(n) if options.sizes is None else tuple(dict.fromkeys(options.sizes))
    if any(size >= n for size in chosen) or not chosen:
        raise UsageError(f"sizes lie between 2 and {n - 1}: there {are(n, 'system')}")
    able, told = runs.resampled("system")
    if any(len(names) < 2 for names in able):
        raise UsageError(
            "fewer than two metrics can be weighed by each meta-metric: no order to compare"
        )
    streams = zip(chosen, stream.spawn(len(chosen)), strict=True)
    draws = [draw_segments(n, size, trials, own) for size, own in streams]
    found = _correlate(runs, able, draws, progress)
    undefined = {k: int(np.isnan(v["values"]).sum()) for k, v in found.items()}
    told += [
        f"{name}: all metrics are alike in {lost} of {trials * len(chosen)} trials, which have no "
        "correlation"
        for name, lost in undefined.items()
        if lost
    ]
    shared = ~np.isnan(np.stack([own["values"] for own in found.values()])).any(axis=0)
    for own in found.values():
        for kind in KINDS:
            own[kind][~shared] = np.nan  # means of all meta-metrics are over the same trials
    facts = {
        "n_systems": n,
        "n_metrics": {k: len(v) for k, v in zip(found, able, strict=True)},
        "undefined": undefined,
    }
    settings = {"sizes": ",".join(map(str, chosen)), "trials": trials}
    return Study(
        name="systems",
        parts={kind: _kept_table(kind, chosen, found, n) for kind in KINDS},
        curves=tuple(_curve(kind, chosen, found) for kind in KINDS),
        facts=facts,
        warnings=runs.told(told),
        provenance=runs.provenance("systems", settings, rng, options),
    )


def _sizes(n: int) -> tuple[int, ...]:
    """Choose sizes between 2 and n - 1.

    Examples
    --------
    >>> _sizes(6), len(_sizes(100))
    ((2, 3, 4, 5), 12)
    """
    return tuple(np.unique(np.linspace(2, n - 1, min(_SIZES, n - 2)).round()).astype(int).tolist())


def _correlate(
    runs: MetaRuns,
    able: Sequence[Sequence[str]],
    draws: Sequence[Floats],
    progress: Progress | None,
) -> dict[str, dict[str, Floats]]:
    """Pearson's r with all systems, of values and of ranks: sizes x trials for each meta-metric."""
    n, shape = runs.data.es.n_systems, (len(draws), len(draws[0]))
    found: dict[str, dict[str, Floats]] = {
        name: {kind: np.full(shape, np.nan) for kind in KINDS} for name in runs.names
    }
    tick = steps(progress, len(runs.runs) * len(draws))
    for run, names in zip(runs.runs, able, strict=True):
        for k, draw in enumerate(draws):
            # The last row keeps all systems: it is computed as the others are.
            weights = np.concatenate([draw, np.ones((1, n))])
            values = replicates(run, list(names), Resamples("system", systems=weights)).T
            own = found[run.meta.name]
            own["values"][k] = pearson(values[:, :-1], _whole(values))
            placed = ranks(values)
            own["ranks"][k] = pearson(placed[:, :-1], _whole(placed))
            tick()
    return found


def _whole(values: Floats) -> Floats:
    return np.broadcast_to(values[:, -1:], (len(values), values.shape[1] - 1))


def _curve(kind: str, sizes: Sequence[int], found: Mapping[str, Mapping[str, Floats]]) -> Curve:
    lines = tuple(mean_line(name, own[kind]) for name, own in found.items())
    title = f"{KINDS[kind]} of metrics, with fewer systems and with all"
    return Curve(kind, title, "systems", "Pearson's r", tuple(sizes), lines)


def _kept_table(
    kind: str, sizes: Sequence[int], found: Mapping[str, Mapping[str, Floats]], n: int
) -> Table:
    first, *others = found
    means = [mean_line(name, own[kind]) for name, own in found.items()]
    gaps = [mean_line(f"{first} - {n}", found[first][kind] - found[n][kind]) for n in others]
    columns = [Column("systems"), *(Column(line.name, "higher", digits=3) for line in means)]
    columns += [Column(end, digits=3) for line in gaps for end in (line.name, "low", "high")]
    columns.append(Column("trials"))
    rows: list[tuple[Cell, ...]] = []
    for k, size in enumerate(sizes):
        differences = (number for line in gaps for number in line.at(k))
        rows.append((size, *(float(line.y[k]) for line in means), *differences, means[0].n[k]))
    notes = [f"mean of Pearson's r with all {n} systems over the trials in which it is defined"]
    if others:
        notes.append("low, high: 95 % interval of the mean difference on the same trials")
    title = f"{KINDS[kind]} of metrics when systems are dropped"
    return Table(title, tuple(columns), tuple(rows), tuple(notes))


@keywords(SegmentsOptions)
def ablate_segments(
    es: Source,
    human: str | None = None,
    *,
    by: By = META,
    options: SegmentsOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Find 95 % intervals of metrics' values against the number of segments.

    See :class:`SegmentsOptions`, and :func:`steelyard.meta_evaluate` for what is weighed; if no
    metrics are named, the two best by the first meta-metric are shown.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = ablate_segments(sy.demo_set(), "mqm", metrics=["learned-refA"], draws=200)
    >>> width = study.table("widths").records()
    >>> width[0]["segments"], width[0]["spa"] > width[-1]["spa"]
    (25, True)
    """
    check_function(optional=True, progress=progress)
    stream, draws = generator(rng), options.draws
    runs = open_runs(es, human, by, options)
    if np.isnan(runs.data.human).all():
        raise UsageError("the human score has system scores only: there are no segments to draw")
    n = len(runs.data.judged)
    usual = (*(s for s in _SEGMENTS if s < n), n)
    chosen = usual if options.sizes is None else tuple(dict.fromkeys(options.sizes))
    able, told = runs.resampled("segment")
    shown = _shown(runs, able, named=options.metrics is not None)
    tick = steps(progress, len(chosen))
    parts = []
    for size, own in zip(chosen, stream.spawn(len(chosen)), strict=True):
        counts = np.zeros((draws, runs.data.es.n_segments))
        counts[:, runs.data.judged] = draw_counts(draws, n, own, size)
        parts.append(_ends(runs, able, shown, Resamples("segment", segments=counts)))
        tick()
    ends = np.stack(parts, axis=-1)  # meta-metrics x (mean, low, high) x metrics x sizes
    found = {
        name: tuple(
            Line(meta, y=mean, low=low, high=high, n=(draws,) * len(chosen))
            for meta, (mean, low, high) in zip(runs.names, ends[:, :, k], strict=True)
        )
        for k, name in enumerate(shown)
    }
    settings = {"sizes": ",".join(map(str, chosen)), "draws": draws}
    return Study(
        name="segments",
        parts={
            "widths": _width_table(chosen, found, runs.names, draws),
            "values": _value_table(chosen, found, runs.names),
        },
        curves=tuple(Curve(n, n, "segments", "value", chosen, own) for n, own in found.items()),
        facts={"n_systems": runs.data.es.n_systems, "n_segments": n},
        warnings=runs.told(told),
        provenance=runs.provenance("segments", settings, rng, options),
    )


def _shown(runs: MetaRuns, able: Sequence[Sequence[str]], *, named: bool) -> list[str]:
    """Choose the metrics that are shown, best first."""
    order = [result.metric for result in runs.results[0]]
    known = {name for names in able for name in names}
    shown = [name for name in order if name in known]
    if not shown:
        raise UsageError("no metric has values that segments can be drawn for")
    return shown if named else shown[:_BEST]


def _ends(
    runs: MetaRuns, able: Sequence[Sequence[str]], shown: Sequence[str], resamples: Resamples
) -> Floats:
    """Means and intervals over samples: meta-metrics x (mean, low, high) x metrics."""
    found = np.full((len(runs.runs), 3, len(shown)), np.nan)
    for own, run, names in zip(found, runs.runs, able, strict=True):
        wanted = [name for name in shown if name in names]
        if wanted:
            values = replicates(run, wanted, resamples)
            own[:, [shown.index(name) for name in wanted]] = row_means(values.T), *interval(values)
    return found


def _width_table(
    sizes: Sequence[int], found: Mapping[str, Sequence[Line]], names: Sequence[str], draws: int
) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (metric, size, *(float(line.high[k] - line.low[k]) for line in own))
        for metric, own in found.items()
        for k, size in enumerate(sizes)
    )
    columns = (Column("metric"), Column("segments"), *(Column(m, "lower", digits=3) for m in names))
    note = f"{draws} samples of segments of each size, with replacement"
    return Table("Width of 95 % intervals", columns, rows, (note,))


def _value_table(
    sizes: Sequence[int], found: Mapping[str, Sequence[Line]], names: Sequence[str]
) -> Table:
    columns = [Column("metric"), Column("segments")]
    for meta in names:
        columns.append(Column(meta, "higher", digits=3))
        columns += [Column("low", digits=3), Column("high", digits=3)]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (metric, size, *(number for line in own for number in line.at(k)))
        for metric, own in found.items()
        for k, size in enumerate(sizes)
    )
    return Table("Values: mean of the samples, and 95 % interval", tuple(columns), rows)
