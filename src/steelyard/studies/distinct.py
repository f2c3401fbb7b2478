"""How finely meta-metrics tell metrics apart.

Sections 4.3 and 4.4 of the SPA paper (Table 1) for any data: how many different values metrics get,
how many pairs of metrics differ significantly, and how many clusters that makes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from steelyard.core import bounds
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.formats.load import Source
from steelyard.metaevaluation.options import Procedure
from steelyard.metaevaluation.results import MetaResult, Significance
from steelyard.metaevaluation.significance import compare_metrics, ranked
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.studies.metaruns import DEFAULT, By, MetaRuns, open_runs
from steelyard.studies.study import Curve, Line, Progress, Study

_SAME = 1e-9  # values that are closer differ by rounding


def count_distinct(  # noqa: PLR0913 - every option has a default
    es: Source,
    human: str | None = None,
    *,
    by: By = DEFAULT,
    metrics: Collection[str] | None = None,
    scheme: str = "inputs",
    alternative: str = "greater",
    n_resamples: int | None = None,
    alpha: float = 0.05,
    correction: str = "none",
    level: str | None = None,
    group_by: str | None = None,
    keep_references: bool = False,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Count distinct values, significant comparisons and clusters under each meta-metric.

    Parameters are those of :func:`~steelyard.metaevaluation.run.meta_evaluate`.

    Examples
    --------
    >>> import steelyard as sy
    >>> chosen = ["learned-refA", "overlap-refA", "random-src"]
    >>> study = count_distinct(sy.demo_set(), "mqm", metrics=chosen, n_resamples=200)
    >>> [(row["with"], row["distinct"], row["of"]) for row in study.table().records()]
    [('spa', 3, 3), ('pa', 3, 3)]
    """
    procedure = Procedure.of(locals())
    bounds.function(optional=True, progress=progress)
    stream = generator(rng)
    runs = open_runs(es, human, by, metrics, level=level, group_by=group_by,
                     keep_references=keep_references)  # fmt: skip
    most = _different(runs)
    rows: list[tuple[Cell, ...]] = []
    ranks: list[list[MetaResult]] = []
    streams = stream.spawn(len(runs.runs))
    for done, (run, found, own) in enumerate(zip(runs.runs, runs.results, streams, strict=True)):
        test, told = compare_metrics(run, found, procedure, own)
        runs.warnings.extend(told)
        placed = found if test is None else ranked(found, test, alpha)
        ranks.append(placed)
        counted = (None,) * 3 if test is None else _significant(test, placed, alpha)
        rows.append((run.meta.name, _values(found), most, *counted))
        if progress is not None:
            progress(done + 1, len(runs.runs))
    names = ("with", "distinct", "of", "significant", "pairs", "clusters")
    notes = (
        "distinct: different values; of: metrics whose scores are not those of another",
        f"significant: pairs of metrics with p <= {alpha:g} ({scheme}, {alternative}"
        + (f", {correction})" if correction != "none" else ")"),
        "clusters: greedy, a metric opens one if it differs from any in the last",
    )
    counts = Table("How finely metrics are told apart", tuple(map(Column, names)), tuple(rows),
                   notes)  # fmt: skip
    facts = {"n_systems": runs.data.es.n_systems, "n_segments": len(runs.judged),
             "ties": {name: _ties(found) for name, found in zip(runs.names, runs.results,
                                                                strict=True)}}  # fmt: skip
    settings = {"scheme": scheme, "alternative": alternative, "alpha": alpha,
                "correction": correction, "resamples": n_resamples or "auto"}  # fmt: skip
    tables = {"counts": counts, "values": _table(runs, ranks)}
    return Study("distinct", tables, (_curve(runs),), facts, runs.found_warnings(),
                 runs.provenance("distinct", settings, rng))  # fmt: skip


def _different(runs: MetaRuns) -> int:
    """Count the metrics whose scores are not all those of another."""
    data = runs.data
    keys = {
        data.segments(name).tobytes() if data.es.scores[name].has_segments
        else data.systems(name).tobytes()
        for name in data.metrics
    }  # fmt: skip
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


def _values(found: Sequence[MetaResult]) -> int:
    return len(_groups(found))


def _ties(found: Sequence[MetaResult]) -> list[list[str]]:
    return [group for group in _groups(found) if len(group) > 1]


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
    nothing = np.full(len(order), np.nan)
    lines = []
    for name, found in zip(runs.names, runs.results, strict=True):
        known = {result.metric: result.value for result in found}
        y = np.array([known[metric] for metric in order])
        lines.append(Line(name, y, nothing, nothing, (1,) * len(order)))
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
