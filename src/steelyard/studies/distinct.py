"""How finely meta-metrics tell metrics apart.

Sections 4.3 and 4.4 of the SPA paper (Table 1) for any data: how many different values metrics get,
how many pairs of metrics differ significantly, and how many clusters that makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.options import keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.formats.load import Source
from steelyard.metaevaluation.options import Procedure
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.metaevaluation.significance import compare_metrics, ranked
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.studies.metaruns import By, MetaRuns, open_runs
from steelyard.studies.options import META, DistinctOptions
from steelyard.studies.results import Curve, Progress, Study, plain_line, steps

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
    procedure = Procedure(**shown, n_resamples=options.n_resamples)
    bounds.function(optional=True, progress=progress)
    stream = generator(rng)
    runs = open_runs(es, human, by, options)
    most = _different(runs)
    rows: list[tuple[Cell, ...]] = []
    ranks: list[list[MetaResult]] = []
    told: list[str] = []
    tick = steps(progress, len(runs.runs))
    for run, found, own in zip(runs.runs, runs.results, stream.spawn(len(runs.runs)), strict=True):
        test, warned = compare_metrics(run, found, procedure, own)
        told += warned
        placed = found if test is None else ranked(found, test, options.alpha)
        ranks.append(placed)
        counted = (None,) * 3 if test is None else _significant(test, placed, options.alpha)
        rows.append((run.meta.name, len(_groups(found)), most, *counted))
        tick()
    ties = {
        name: [group for group in _groups(found) if len(group) > 1]
        for name, found in zip(runs.names, runs.results, strict=True)
    }
    return Study(
        name="distinct",
        tables={"counts": _counts(rows, options), "values": _table(runs, ranks)},
        curves=(_curve(runs),),
        facts={"n_systems": runs.data.es.n_systems, "n_segments": len(runs.judged), "ties": ties},
        warnings=runs.told(told),
        provenance=runs.provenance(
            "distinct", shown | {"resamples": options.n_resamples or "auto"}, rng
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


def _different(runs: MetaRuns) -> int:
    """Count the metrics whose scores are not all those of another."""
    data = runs.data
    keys = {
        (data.segments if data.es.scores[name].has_segments else data.systems)(name).tobytes()
        for name in data.metrics
    }
    return len(keys)


def _groups(found: Sequence[MetaResult]) -> list[list[str]]:
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


def _significant(
    test: Significance, placed: Sequence[MetaResult], alpha: float
) -> tuple[int, int, int]:
    """Significant pairs in the order of the values, all pairs, clusters."""
    p = test.p if test.p_adjusted is None else test.p_adjusted
    a, b = pair_index(len(test.metrics))
    found = p[a, b]
    clusters = max((r.rank for r in placed if r.rank is not None), default=0)
    return int((found <= alpha).sum()), len(a), clusters


def _curve(runs: MetaRuns) -> Curve:
    """Draw the value of each metric: those that tie stand at one height."""
    order = [result.metric for result in runs.results[0]]
    lines = []
    for name, found in zip(runs.names, runs.results, strict=True):
        known = {result.metric: result.value for result in found}
        y = np.array([known[metric] for metric in order])
        lines.append(plain_line(name, y))
    return Curve("values", "values of metrics", "metric", "value", tuple(order), tuple(lines))


def _table(runs: MetaRuns, ranks: Sequence[Sequence[MetaResult]]) -> Table:
    columns = [Column("metric")]
    for name in runs.names:
        columns += [Column("cluster"), Column(name, "higher", digits=4)]
    known = [{r.metric: r for r in found} for found in ranks]
    rows: list[tuple[Cell, ...]] = []
    for result in runs.results[0]:
        cells = [c for own in known for c in (own[result.metric].rank, own[result.metric].value)]
        rows.append((result.metric, *cells))
    return Table("Values and clusters", tuple(columns), tuple(rows))
