"""How wide intervals of metrics' values are, by the number of segments.

Section 4.2 of the SPA paper for any data: samples of segments are drawn with replacement, with all
systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.table import Column, Table
from steelyard.metaevaluation.tests import replicates
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.resampling.bootstrap import draw_counts, interval
from steelyard.studies.options import SegmentsOptions
from steelyard.studies.study import Curve, Line, MetaRuns, Row, Study, meta_study, steps

_SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
_BEST = 2  # metrics that are shown if none are named


@meta_study(SegmentsOptions)
def ablate_segments(runs: MetaRuns, options: SegmentsOptions) -> Study:
    """Return 95% intervals of metrics' values by the number of segments.

    Options are those of :class:`SegmentsOptions` and of :func:`steelyard.meta_evaluate`. If no
    metrics are named, the two best by the first meta-metric are shown.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = ablate_segments(sy.demo_set(), "mqm", metrics=["learned-refA"], draws=200)
    >>> [row["segments"] for row in study.table().records()]
    [25, 50, 100, 200, 400, 450]
    """
    draws = options.draws
    if np.isnan(runs.data.human).all():
        raise UsageError("the human score has system scores only: there are no segments to draw")
    n = len(runs.data.judged)
    usual = (*(size for size in _SIZES if size < n), n)
    sizes = usual if options.sizes is None else tuple(dict.fromkeys(options.sizes))
    able, warnings = runs.resampled("segment")
    metrics = [r.metric for r in runs.results[0] if any(r.metric in names for names in able)]
    if not metrics:
        raise UsageError("no metric has values that segments can be drawn for")
    metrics = metrics[:_BEST] if options.metrics is None else metrics
    tick = steps(runs.progress, len(sizes))
    parts = []
    for size, draw in zip(sizes, runs.stream.spawn(len(sizes)), strict=True):
        counts = np.zeros((draws, runs.data.es.n_segments))
        counts[:, runs.data.judged] = draw_counts(draws, n, draw, size)
        parts.append(_ends(runs, able, metrics, Resamples("segment", segments=counts)))
        tick()
    ends = np.stack(parts, axis=-1)  # meta-metrics x (mean, low, high) x metrics x sizes
    lines = {
        metric: tuple(
            Line(meta, mean, low, high, (draws,) * len(sizes))
            for meta, (mean, low, high) in zip(runs.names, ends[:, :, k], strict=True)
        )
        for k, metric in enumerate(metrics)
    }
    width = lines[metrics[0]][0].high - lines[metrics[0]][0].low
    shown = [f"{width[k]:.2f} wide with {sizes[k]}" for k in np.flatnonzero(~np.isnan(width))]
    text = f"The 95% interval of {metrics[0]} by {runs.names[0]} is"
    return runs.study(
        "segments",
        {"values": _values(sizes, lines, runs.names)},
        {"sizes": ",".join(map(str, sizes)), "draws": draws},
        options,
        sentences=(("settled", f"{text} {shown[0]} and {shown[-1]} segments."),) if shown else (),
        curves=tuple(Curve(m, m, "segments", "value", sizes, lines[m]) for m in metrics),
        facts={"n_systems": runs.data.es.n_systems, "n_segments": n},
        warnings=warnings,
    )  # fmt: skip


def _ends(
    runs: MetaRuns, able: Sequence[Sequence[str]], metrics: Sequence[str], resamples: Resamples
) -> Floats:
    """Return means and intervals over samples: meta-metrics x (mean, low, high) x metrics."""
    ends = np.full((len(runs.runs), 3, len(metrics)), np.nan)
    for row, run, names in zip(ends, runs.runs, able, strict=True):
        wanted = [name for name in metrics if name in names]
        if wanted:
            values = replicates(run, wanted, resamples)
            columns = [metrics.index(name) for name in wanted]
            row[:, columns] = row_means(values.T), *interval(values)
    return ends


def _values(
    sizes: Sequence[int], lines: Mapping[str, Sequence[Line]], metas: Sequence[str]
) -> Table:
    columns = [Column("metric"), Column("segments")]
    for meta in metas:
        columns += [Column(meta, "higher", digits=3), Column("low", digits=3)]
        columns.append(Column("high", digits=3))
    rows: tuple[Row, ...] = tuple(
        (metric, size, *(cell for line in by_meta for cell in line.at(k)))
        for metric, by_meta in lines.items()
        for k, size in enumerate(sizes)
    )
    return Table("Values: mean of the samples, and 95% interval", tuple(columns), rows)
