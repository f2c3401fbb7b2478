"""How finely a meta-metric separates metrics.

Sections 4.3 and 4.4 of the SPA paper (Table 1) for any data: how many different values metrics get,
how many pairs of metrics differ significantly, and how many clusters that makes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.table import Column, Table
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.metaevaluation.tests import compare_metrics, ranked
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.studies.options import DistinctOptions
from steelyard.studies.study import MetaRuns, Row, Study, meta_study, steps

_SAME = 1e-9  # values that are closer differ by rounding


@meta_study(DistinctOptions)
def count_distinct(runs: MetaRuns, options: DistinctOptions) -> Study:
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
    data = runs.data
    different = {  # metrics whose scores are not all those of another
        (data.segments if data.es.scores[name].has_segments else data.systems)(name).tobytes()
        for name in data.metrics
    }
    rows: list[Row] = []
    warnings: list[str] = []
    sentences = []
    tick = steps(runs.progress, len(runs.runs))
    streams = runs.stream.spawn(len(runs.runs))
    for run, results, draw in zip(runs.runs, runs.results, streams, strict=True):
        test, texts = compare_metrics(run, results, options, draw)
        warnings += texts
        name = run.meta.name
        counts: Row = (None, None, None)
        if test is not None:
            results = ranked(results, test, options.alpha)  # noqa: PLW2901
            significant, pairs, clusters = significant_counts(test, results, options.alpha)
            counts = significant, pairs, clusters
            text = f"By {name}, {significant} of {pairs} pairs of metrics differ significantly"
            sentences.append(("settled", f"{text}, in {clusters} clusters."))
        rows.append((name, len(same_values(results)), len(different), *counts))
        tick()
    ties = {
        name: [group for group in same_values(results) if len(group) > 1]
        for name, results in zip(runs.names, runs.results, strict=True)
    }
    return runs.study(
        "distinct",
        {"counts": _counts(rows, options)},
        {name: getattr(options, name) for name in ("scheme", "alternative", "alpha", "correction")}
        | {"resamples": options.n_resamples or "auto"},
        options,
        sentences=tuple(sentences),
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
    asked = (options.scheme, options.alternative, options.correction)
    how = ", ".join(name for name in asked if name != "none")
    notes = (
        "distinct: different values; of: metrics whose scores are not those of another",
        f"significant: pairs of metrics with p <= {options.alpha:g} ({how})",
        "clusters: greedy, a metric opens one if it differs from any in the last",
    )
    title = "Distinct values and significant differences of metrics"
    return Table(title, tuple(map(Column, names)), tuple(rows), notes)
