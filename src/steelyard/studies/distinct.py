"""How finely a meta-metric separates metrics.

Sections 4.3 and 4.4 of the SPA paper (Table 1) for any data: how many different values metrics get,
how many pairs of metrics differ significantly, and how many clusters that makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.core.options import check_function, keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.formats.load import Source
from steelyard.metaevaluation.options import MetricTest
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.metaevaluation.tests import compare_metrics, ranked
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.studies.options import META, DistinctOptions
from steelyard.studies.study import (
    By,
    Curve,
    MetaRuns,
    Progress,
    Row,
    Study,
    open_runs,
    plain_line,
    steps,
)

_SAME = 1e-9  # values that are closer differ by rounding


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

    Options are those of :class:`DistinctOptions` and of :func:`steelyard.meta_evaluate`.

    Examples
    --------
    >>> import steelyard as sy
    >>> chosen = ["learned-refA", "overlap-refA", "random-src"]
    >>> study = count_distinct(sy.demo_set(), "mqm", metrics=chosen, n_resamples=200)
    >>> [(row["with"], row["distinct"], row["of"]) for row in study.table().records()]
    [('spa', 3, 3), ('pa', 3, 3)]
    """
    names = ("scheme", "alternative", "alpha", "correction")
    settings: dict[str, Any] = {name: getattr(options, name) for name in names}
    procedure = MetricTest(**settings, n_resamples=options.n_resamples)
    check_function(optional=True, progress=progress)
    stream = generator(rng)
    runs = open_runs(es, human, by, options)
    data = runs.data
    different = {  # metrics whose scores are not all those of another
        (data.segments if data.es.scores[name].has_segments else data.systems)(name).tobytes()
        for name in data.metrics
    }
    rows: list[Row] = []
    clustered: list[list[MetaResult]] = []
    warnings: list[str] = []
    sentences = []
    tick = steps(progress, len(runs.runs))
    streams = stream.spawn(len(runs.runs))
    for run, results, draw in zip(runs.runs, runs.results, streams, strict=True):
        test, texts = compare_metrics(run, results, procedure, draw)
        warnings += texts
        name = run.meta.name
        counts: Row = (None, None, None)
        if test is not None:
            results = ranked(results, test, options.alpha)  # noqa: PLW2901
            significant, pairs, clusters = significant_counts(test, results, options.alpha)
            counts = significant, pairs, clusters
            text = f"By {name}, {significant} of {pairs} pairs of metrics differ significantly"
            sentences.append(("settled", f"{text}, in {clusters} clusters."))
        clustered.append(results)
        rows.append((name, len(same_values(results)), len(different), *counts))
        tick()
    ties = {
        name: [group for group in same_values(results) if len(group) > 1]
        for name, results in zip(runs.names, runs.results, strict=True)
    }
    return runs.study(
        "distinct",
        {"counts": _counts(rows, options), "values": _values(runs, clustered)},
        settings | {"resamples": options.n_resamples or "auto"},
        rng,
        options,
        sentences=tuple(sentences),
        curves=(_curve(runs),),
        facts={"n_systems": data.es.n_systems, "n_segments": len(data.judged), "ties": ties},
        warnings=warnings,
    )


def same_values(results: Sequence[MetaResult]) -> list[list[str]]:
    """Put metrics with the same value together; they come best first."""
    groups: list[list[str]] = []
    last = np.nan
    for result in results:
        if np.isnan(result.value):
            continue
        if groups and abs(result.value - last) <= _SAME:
            groups[-1].append(result.metric)
        else:
            groups.append([result.metric])
        last = result.value
    return groups


def significant_counts(
    test: Significance, results: Sequence[MetaResult], alpha: float
) -> tuple[int, int, int]:
    """Return the significant pairs in the order of the values, all pairs, and clusters."""
    p = (test.p if test.p_adjusted is None else test.p_adjusted)[pair_index(len(test.metrics))]
    clusters = max((r.rank for r in results if r.rank is not None), default=0)
    return int((p <= alpha).sum()), len(p), clusters


def _counts(rows: Sequence[Row], options: DistinctOptions) -> Table:
    names = ("with", "distinct", "of", "significant", "pairs", "clusters")
    how = [options.scheme, options.alternative]
    how += [options.correction] if options.correction != "none" else []
    notes = (
        "distinct: different values; of: metrics whose scores are not those of another",
        f"significant: pairs of metrics with p <= {options.alpha:g} ({', '.join(how)})",
        "clusters: greedy, a metric opens one if it differs from any in the last",
    )
    title = "Distinct values and significant differences of metrics"
    return Table(title, tuple(map(Column, names)), tuple(rows), notes)


def _values(runs: MetaRuns, clustered: Sequence[Sequence[MetaResult]]) -> Table:
    columns = [Column("metric")]
    for name in runs.names:
        columns += [Column("cluster"), Column(name, "higher", digits=4)]
    by_metric = [{r.metric: r for r in results} for results in clustered]
    rows = tuple(
        (first.metric, *(cell for results in by_metric
                         for cell in (results[first.metric].rank, results[first.metric].value)))
        for first in runs.results[0]
    )  # fmt: skip
    return Table("Values and clusters", tuple(columns), rows)


def _curve(runs: MetaRuns) -> Curve:
    """Draw the value of each metric: those that tie stand at one height."""
    order = tuple(result.metric for result in runs.results[0])
    lines = tuple(
        plain_line(name, np.array([values[metric] for metric in order]))
        for name, values in zip(runs.names, runs.values, strict=True)
    )
    return Curve("values", "values of metrics", "metric", "value", order, lines)
