"""How wide the interval of a metric's value would be with fewer segments.

Section 4.2 of the SPA paper for any data: samples of segments are drawn with replacement, fewer or
more than there are, with all systems. Samples are counts per segment, so that all of a size are a
few matrix products.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.formats.load import Source
from steelyard.metaevaluation.intervals import replicates
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.resampling.bootstrap import draw_counts, interval
from steelyard.studies.metaruns import DEFAULT, By, MetaRuns, open_runs
from steelyard.studies.study import Curve, Line, Progress, Study

SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
_BEST = 2  # metrics that are shown if none are named


@dataclass(frozen=True, slots=True)
class _Spread:
    """Mean and interval of a metric's value under a meta-metric, by number of segments."""

    mean: Floats
    low: Floats
    high: Floats


def ablate_segments(  # noqa: PLR0913 - every option has a default
    es: Source,
    human: str | None = None,
    *,
    by: By = DEFAULT,
    metrics: Collection[str] | None = None,
    sizes: Sequence[int] | None = None,
    draws: int = 1000,
    level: str | None = None,
    group_by: str | None = None,
    keep_references: bool = False,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Find 95 % intervals of metrics' values against the number of segments.

    Parameters
    ----------
    es, human, by, level, group_by, keep_references
        See :func:`~steelyard.metaevaluation.run.meta_evaluate`.
    metrics
        Which metrics; by default the two best by the first meta-metric.
    sizes
        Numbers of segments; by default 25, 50, 100, ..., and as many as people scored.
    draws
        Samples of each size, with replacement.
    rng
        Seed of the samples.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = ablate_segments(sy.demo_set(), "mqm", metrics=["learned-refA"], draws=200)
    >>> width = study.table("widths").records()
    >>> width[0]["segments"], width[0]["spa"] > width[-1]["spa"]
    (25, True)
    """
    bounds.wholes(2, optional=True, sizes=sizes)
    bounds.whole(10, draws=draws)
    bounds.function(optional=True, progress=progress)
    stream = generator(rng)
    runs = open_runs(es, human, by, metrics, level=level, group_by=group_by,
                     keep_references=keep_references)  # fmt: skip
    if np.isnan(runs.data.human).all():
        raise UsageError("the human score has system scores only: there are no segments to draw")
    n = len(runs.judged)
    chosen = (*(s for s in SIZES if s < n), n) if sizes is None else tuple(dict.fromkeys(sizes))
    able = runs.resampled("segment")
    shown = _shown(runs, able, named=metrics is not None)
    found = _spreads(runs, able, shown, chosen, draws, stream, progress)
    curves = tuple(
        Curve(name, name, "segments", "value", chosen, _lines(own, draws))
        for name, own in found.items()
    )
    tables = {
        "widths": _width_table(chosen, found, runs.names, draws),
        "values": _value_table(chosen, found, runs.names),
    }
    facts = {"n_systems": runs.data.es.n_systems, "n_segments": n}
    settings = {"sizes": ",".join(map(str, chosen)), "draws": draws}
    return Study("segments", tables, curves, facts, runs.found_warnings(),
                 runs.provenance("segments", settings, rng))  # fmt: skip


def _shown(runs: MetaRuns, able: Sequence[Sequence[str]], *, named: bool) -> list[str]:
    """Choose the metrics that are shown, best first."""
    order = [result.metric for result in runs.results[0]]
    known = {name for names in able for name in names}
    shown = [name for name in order if name in known]
    if not shown:
        raise UsageError("no metric has values that segments can be drawn for")
    return shown if named else shown[:_BEST]


def _spreads(
    runs: MetaRuns,
    able: Sequence[Sequence[str]],
    shown: Sequence[str],
    sizes: Sequence[int],
    draws: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> dict[str, dict[str, _Spread]]:
    """Intervals by metric, meta-metric and size."""
    judged = runs.judged
    parts: dict[str, dict[str, list[tuple[float, float, float]]]] = {
        name: {meta: [] for meta in runs.names} for name in shown
    }
    for done, (size, own) in enumerate(zip(sizes, rng.spawn(len(sizes)), strict=True)):
        counts = np.zeros((draws, runs.data.es.n_segments))
        counts[:, judged] = draw_counts(draws, len(judged), own, size)
        resamples = Resamples("segment", segments=counts)
        for run, names in zip(runs.runs, able, strict=True):
            wanted = [name for name in shown if name in names]
            ends = np.full((3, len(shown)), np.nan)
            if wanted:
                values = replicates(run, wanted, resamples)
                where = [shown.index(name) for name in wanted]
                ends[:, where] = row_means(values.T), *interval(values)
            for name, cell in zip(shown, ends.T.tolist(), strict=True):
                parts[name][run.meta.name].append((cell[0], cell[1], cell[2]))
        if progress is not None:
            progress(done + 1, len(sizes))
    return {
        name: {meta: _Spread(*np.array(cells).T) for meta, cells in own.items()}
        for name, own in parts.items()
    }


def _lines(found: dict[str, _Spread], draws: int) -> tuple[Line, ...]:
    return tuple(
        Line(meta, own.mean, own.low, own.high, (draws,) * len(own.mean))
        for meta, own in found.items()
    )


def _width_table(
    sizes: Sequence[int],
    found: dict[str, dict[str, _Spread]],
    names: Sequence[str],
    draws: int,
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for metric, own in found.items():
        for k, size in enumerate(sizes):
            widths = (float(own[meta].high[k] - own[meta].low[k]) for meta in names)
            rows.append((metric, size, *widths))
    columns = (Column("metric"), Column("segments"), *(Column(m, "lower", digits=3) for m in names))
    return Table("Width of 95 % intervals", columns, tuple(rows),
                 (f"{draws} samples of segments of each size, with replacement",))  # fmt: skip


def _value_table(
    sizes: Sequence[int], found: dict[str, dict[str, _Spread]], names: Sequence[str]
) -> Table:
    columns = [Column("metric"), Column("segments")]
    for meta in names:
        columns += [Column(meta, "higher", digits=3), Column("low", digits=3),
                    Column("high", digits=3)]  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for metric, own in found.items():
        for k, size in enumerate(sizes):
            cells = (float(x[k]) for m in names for x in (own[m].mean, own[m].low, own[m].high))
            rows.append((metric, size, *cells))
    return Table("Values: mean of the samples, and 95 % interval", tuple(columns), tuple(rows))
