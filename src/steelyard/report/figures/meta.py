"""Figures of a meta-evaluation: metrics with intervals, tests between metrics, p-values, ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.metaevaluation.benchmark.run import BenchmarkResult
from steelyard.metaevaluation.data import Data, prepare
from steelyard.metaevaluation.results import MetaEvaluation, MetaResult, Significance
from steelyard.metaevaluation.run import pair_preferences
from steelyard.report.figures import vega
from steelyard.report.figures.panels import (
    Intervals,
    Matrix,
    boundaries,
    cell_size,
    cloud,
    heat,
    interval_panels,
    matrix_axes,
)
from steelyard.report.figures.vega import (
    Chart,
    Row,
    finish,
    label,
    labels,
    limited,
    mark,
    number,
)
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson
from steelyard.stats.metametrics.accuracy import binarised_agreement, soft_agreement
from steelyard.studies.distinct import same_values

Standings = Mapping[str, tuple[float, int | None]]  # value and cluster of each metric
_TIED = (vega.PINK, vega.ORANGE)  # in turn, so that neighbouring ties can be told apart


@dataclass(frozen=True, slots=True)
class MetaInput:
    """What the figures of a meta-evaluation are drawn from.

    ``es`` is needed by ``pvalues`` and ``scatter``; ``metrics`` are those that
    figures of single metrics show (by default the best), ``alpha`` the level of the tests.
    """

    result: MetaEvaluation
    es: EvalSet | None = None
    metrics: tuple[str, ...] = ()
    alpha: float = 0.05

    @property
    def best(self) -> tuple[str, ...]:
        """The metrics to show, best first by the first meta-metric."""
        first = _results(self.result, _names(self.result)[0])
        every = tuple(r.metric for r in first if not np.isnan(r.value))
        for name in self.metrics:
            if name not in every:
                raise UsageError(f"no metric '{name}' with a value; {hint(name, every)}")
        return tuple(name for name in every if name in self.metrics) if self.metrics else every

    @property
    def metric(self) -> str:
        """The best metric."""
        if not self.best:
            raise UsageError("no metric has a value: nothing to draw")
        return self.best[0]

    def set_of(self, name: str) -> EvalSet:
        """The scores of the compared systems."""
        if self.es is None:
            raise UsageError(f"figure '{name}' needs scores of segments")
        return self.es.select(systems=self.result.systems)

    def data(self, name: str) -> Data:
        """Oriented scores of the compared systems by people and the best metric."""
        metric = [self.metric]
        return prepare(self.set_of(name), self.result.human, metric, keep_references=True)[0]


def draw(name: str, inputs: MetaInput) -> Chart:
    """Draw one of :data:`FIGURES`."""
    return vega.drawn(FIGURES, name, inputs)


def draw_protocol(name: str, result: BenchmarkResult, alpha: float = 0.05) -> Chart:
    """Draw one of :data:`PROTOCOL_FIGURES` of a leaderboard over several sets."""
    return vega.drawn(PROTOCOL_FIGURES, name, result, alpha)


def _leaderboard(result: BenchmarkResult, _: float) -> Chart:
    """Draw the average and the average rank of every metric over the tasks of a protocol."""
    names = labels(row.metric for row in result.standings)
    ranks = [row.rank for row in result.standings]
    average, place = (
        Intervals(names, np.array(values, float), groups=ranks, called="rank")
        for values in (
            [row.average for row in result.standings],
            [row.average_rank for row in result.standings],
        )
    )
    panels = interval_panels([
        ("average", "mean over tasks, each scaled to 0..1", average),
        ("average rank", "1 is best", place),
    ])  # fmt: skip
    tested = "numbers and colours: clusters" if any(rank is not None for rank in ranks) else ""
    absent = ", ".join(label(name) for name in result.absent)
    partial = f"partial: without {absent}" if absent else ""
    return finish(panels, label(result.title), [tested, partial, limited(len(names), "metrics")])


def _compared_averages(result: BenchmarkResult, alpha: float) -> Chart:
    if result.significance is None:
        raise _no_tests("comparison")
    standings = {row.metric: (row.average, row.rank) for row in result.standings}
    return comparison(result.significance, standings, by="average", alpha=alpha)


def _names(result: MetaEvaluation) -> list[str]:
    return list(dict.fromkeys(r.by for r in result.results))


def _results(result: MetaEvaluation, by: str) -> list[MetaResult]:
    return [r for r in result.results if r.by == by]


def _size(result: MetaEvaluation) -> str:
    size = f"{result.n_systems} systems, {result.n_segments:,} segments"
    return f"human score {label(result.human)}: {size}"


def _forest(inputs: MetaInput) -> Chart:
    """Draw metrics with intervals under the first three meta-metrics, ordered by the first."""
    result = inputs.result
    by_first = _names(result)[:3]
    order = [r.metric for r in _results(result, by_first[0])]
    names = labels(order)
    columns = []
    for by in by_first:
        of_metric = {r.metric: r for r in _results(result, by)}
        rows = [of_metric.get(metric) for metric in order]
        values = np.array([np.nan if r is None else r.value for r in rows])
        ends = [(r.ci if r else None) or (np.nan, np.nan) for r in rows]
        low, high = np.array(ends).T.reshape(2, -1)
        groups = [None if r is None else r.rank for r in rows]
        some = next(iter(of_metric.values()))
        axis = "systems" if some.level == "sys" else f"segments, grouped by {some.group_by}"
        columns.append((by, axis, Intervals(names, values, (low, high), groups, "rank")))
    what = ""
    if any(r.ci is not None for r in result.results):
        what = f"lines: 95% intervals of expected values, over resampled {result.resampled_units}"
    tested = any(r.rank is not None for r in result.results)
    what += "; numbers and colours: clusters" if tested else ""
    lines = [_size(result), what, limited(len(order), "metrics")]
    return finish(interval_panels(columns), "Metrics, best first", lines)


# -- one metric against people


def _pvalues(inputs: MetaInput) -> Chart:
    result, metric = inputs.result, inputs.metric
    es = inputs.set_of("pvalues")
    run = {} if result.provenance is None else result.provenance.options
    how = {"method": run.get("method", "exact"), "unit": run.get("unit", "segment")}
    systems, p_human, p_metric = pair_preferences(
        es, result.human, metric, systems=result.systems, **how
    )
    means = inputs.data("pvalues").human_systems
    order = sorted(range(len(systems)), key=lambda i: (-means[i], systems[i]))
    index = np.ix_(order, order)
    names = [systems[i] for i in order]
    return pvalues(names, p_human[index], p_metric[index], metric=metric, human=result.human)


def pvalues(
    systems: Sequence[str],
    p_human: Floats,
    p_metric: Floats,
    *,
    metric: str = "metric",
    human: str = "human",
) -> Chart:
    """Draw what (soft) pairwise accuracy is the mean of: preferences of people and of a metric.

    ``systems`` stand from best to worst; ``p[i, j]`` is small where i beats j. The first row holds
    preferences rounded to 0 or 1 (pairwise accuracy), the second as they are (soft pairwise
    accuracy); the last panel of each row shows 1 where the two agree.
    """
    names = labels(systems)[: vega.MOST]
    n = len(names)
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    rows = []
    for soft in (False, True):
        agree = (soft_agreement if soft else binarised_agreement)(p_human, p_metric).value
        of_human, of_metric = (_preference(p[:n, :n], soft=soft) for p in (p_human, p_metric))
        kind = "SPA" if soft else "PA"
        columns = (
            (of_human, f"people ({label(human)})", None),
            (of_metric, label(metric), "row is better"),
            (1 - np.abs(of_human - of_metric), f"agreement: {kind} {agree:.3f}", "agreement"),
        )
        panels = [
            Matrix(
                rows=names[:-1],
                columns=names[1:],
                values=np.where(upper, values, np.nan)[:-1, 1:],
                size=cell_size(n, most=22, least=9, whole=240),
                diverging=True,
                title=title,
                row_labels=k == 0,
                numbers=False,
                legend=legend,
            ).chart()
            for k, (values, title, legend) in enumerate(columns)
        ]
        rows.append(vega.beside(*panels, spacing=16, **vega.independent("color")))
    return finish(
        {"vconcat": rows, "spacing": 26, **vega.independent("color")},
        f"Pairs of systems: {label(metric)} against people",
        [
            "row and column are systems, best first by the human score",
            "above: rounded to better or worse; below: one minus the p-value of the row's lead",
        ],
    )


def _preference(p: Floats, *, soft: bool) -> Floats:
    if soft:
        return np.asarray(1 - p)
    return np.where(np.isnan(p), np.nan, (p < 0.5).astype(np.float64))


def _scatter(inputs: MetaInput) -> Chart:
    panels = scatter_panels(inputs)
    title = f"{label(inputs.metric)} against people"
    return finish(vega.beside(*panels, spacing=34, **vega.independent("color")), title)


def scatter_panels(inputs: MetaInput) -> list[Chart]:
    """Draw the best metric against people: systems as named points, segments as a density.

    Scores are shown as they are, also where lower is better.
    """
    data, metric, human = inputs.data("scatter"), inputs.metric, inputs.result.human
    signs = data.sign(human), data.sign(metric)
    lower = ["" if sign > 0 else ", lower is better" for sign in signs]
    titles = (f"people ({label(human)}{lower[0]})", f"{label(metric)}{lower[1]}")
    x, y = signs[0] * data.human_systems, signs[1] * data.systems(metric)
    text = f"systems{_correlation(x, y)}"
    panels = [cloud(x, y, labels(data.es.systems), titles=titles, title=text)]
    a, b = (signs[0] * data.human).ravel(), (signs[1] * data.segments(metric)).ravel()
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if a.size:
        edges = vega.bins(a, 40), vega.bins(b, 40)
        drawn = heat(a, b, edges, titles=titles, legend="translation")
        text = f"{a.size:,} translations{_correlation(a, b)}"
        panels.append(vega.titled({**drawn, "width": 330, "height": 300}, text))
    return panels


def _correlation(x: Floats, y: Floats) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    r = float(pearson(x[known][:, None], y[known][:, None])[0]) if known.sum() > 1 else np.nan
    return "" if np.isnan(r) else f": r = {r:.3f}"


# -- tests between metrics


def _no_tests(name: str) -> UsageError:
    return UsageError(f"figure '{name}' shows tests of metrics: add significance=True")


def _first_comparison(inputs: MetaInput) -> Chart:
    """Draw the tests by the first meta-metric that has any."""
    for by, test in inputs.result.significance.items():
        return comparison(test, _standings(inputs.result, by), by=by, alpha=inputs.alpha)
    raise _no_tests("comparison")


def comparison(
    test: Significance, standings: Standings, *, by: str = "", alpha: float = 0.05
) -> Chart:
    """Draw which metrics are significantly better than which, with a line between clusters.

    A cell compares the metric of its row with the one, not above it, of its column. ``standings``
    hold the value and the cluster of each metric.
    """
    panel = _Panel.of(test, standings, alpha)
    return finish(
        panel.chart(most=26, whole=620),
        f"Metrics against metrics by {by}" if by else "Metrics against metrics",
        [
            f"{panel.size} {_how(test)}; {panel.clusters} clusters, a line between them",
            limited(len(test.metrics), "metrics"),
        ],
    )


def _side_by_side(inputs: MetaInput) -> Chart:
    """Draw the tests by the first two meta-metrics beside each other, equal values marked.

    This is Figure 4 of the SPA paper for any data. Each panel has its own order, best first.
    Metrics with the same value have a coloured field on the diagonal, in another colour than the
    next such group.
    """
    result = inputs.result
    tested = list(result.significance.items())[:2]
    if not tested:
        raise _no_tests("side-by-side")
    if len(tested) < 2:
        raise UsageError(
            'figure \'side-by-side\' needs tests by two meta-metrics (by=["pa", "spa"])'
        )
    panels = []
    for by, test in tested:
        panel = _Panel.of(test, _standings(result, by), inputs.alpha)
        values = same_values([r for r in _results(result, by) if r.metric in test.metrics])
        clusters = plural(panel.clusters, "cluster")
        text = f"{by}: {plural(len(values), 'distinct value')}, {panel.size}, {clusters}"
        ties = [group for group in values if len(group) > 1]
        panels.append(vega.titled(panel.chart(most=20, whole=460, ties=ties), text))
    metrics = tested[0][1].metrics
    sizes = [(result.n_systems, "system"), (result.n_segments, "segment"), (len(metrics), "metric")]
    return finish(
        vega.beside(*panels, spacing=30),
        f"Metrics against metrics by {tested[0][0]} and by {tested[1][0]}",
        [
            f"{', '.join(plural(n, noun) for n, noun in sizes)} {_how(tested[0][1])}",
            "a line between clusters; on the diagonal: = metrics with the same value",
            limited(len(metrics), "metrics"),
        ],
    )


def _standings(result: MetaEvaluation, by: str) -> Standings:
    return {r.metric: (r.value, r.rank) for r in _results(result, by)}


def _how(test: Significance) -> str:
    corrected = "" if test.correction == "none" else f", {test.correction}"
    return f"({test.scheme}, {test.alternative}{corrected})"


@dataclass(frozen=True, slots=True)
class _Panel:
    """The tests by one meta-metric: metrics best first, what each pair says, clusters."""

    rows: list[str]  # names with values
    columns: list[str]
    cells: list[Row]
    levels: list[str]
    groups: list[int | None]  # clusters
    alpha: float
    places: dict[str, int]  # of the metrics by name

    @classmethod
    def of(cls, test: Significance, standings: Standings, alpha: float) -> _Panel:
        """Settle what is drawn of a test."""
        p = test.p if test.p_adjusted is None else test.p_adjusted
        kept = list(test.metrics[: vega.MOST])
        columns = labels(kept)
        values = [f"{standings[name][0]:.3f}" for name in kept]
        rows = [f"{name}  {value}" for name, value in zip(columns, values, strict=True)]
        levels = [f"p < {alpha / 5:g}", f"p < {alpha:g}", "not significant"]
        cells: list[Row] = []
        for i, j in combinations(range(len(kept)), 2):
            if not np.isnan(p[i, j]):
                level = levels[0 if p[i, j] < alpha / 5 else 1 if p[i, j] < alpha else 2]
                names = {"row": rows[i], "column": columns[j]}
                tip = f"{rows[i]} against {columns[j]}: p = {p[i, j]:.3g}"
                cells.append({**names, "p": number(p[i, j]), "level": level, "tip": tip})
        groups = [standings[name][1] for name in kept]
        places = {name: place for place, name in enumerate(kept)}
        return cls(rows, columns, cells, levels, groups, alpha, places)

    @property
    def size(self) -> str:
        """How many pairs differ, in words."""
        differ = sum(cell["level"] != self.levels[-1] for cell in self.cells)
        return f"{differ:,} of {len(self.cells):,} pairs differ at {self.alpha:g}"

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return len({group for group in self.groups if group is not None})

    def chart(self, *, most: int, whole: int, ties: Sequence[Sequence[str]] = ()) -> Chart:
        """Draw the matrix: pairs above the diagonal, a stair of clusters, groups of ties."""
        width = cell_size(len(self.rows), most=most, least=14, whole=whole) * len(self.rows)
        fill = vega.colour("level", self.levels, ("#083D6B", vega.SKY, "#E4E4E4"),
                           "row better than column")  # fmt: skip
        boxes = mark("rect", tip=True, look={"stroke": "white", "strokeWidth": 0.7}, color=fill)
        axes = matrix_axes(self.rows, self.columns, labelAngle=-70, labelLimit=220)
        layers = [{**boxes, "encoding": {**boxes["encoding"], **axes}}]
        layers += [*self._tied(ties), *self._stair()]
        return vega.chart(self.cells, *layers, size=(width, width))

    def _stair(self) -> list[Chart]:
        """Draw where each cluster ends and the next one begins, in rows and in columns."""
        opens = boundaries(self.groups)
        if not opens:
            return []
        ends = {"top": self.rows[0], "right": self.columns[-1]}
        at = [{"row": self.rows[k], "column": self.columns[k], **ends} for k in opens]
        look = {"color": vega.RED, "strokeWidth": 1.8}

        def edge(field: str, position: int = 0) -> Chart:
            return {"field": field, "type": "nominal", "bandPosition": position}

        def end(field: str, position: int = 0) -> Chart:
            return {"field": field, "bandPosition": position}

        return [
            mark("rule", at, look=look, x=edge("column"), x2=end("right", 1), y=edge("row")),
            mark("rule", at, look=look, x=edge("column"), y=edge("top"), y2=end("row")),
        ]

    def _tied(self, ties: Sequence[Sequence[str]]) -> list[Chart]:
        """Mark metrics with the same value on the diagonal, group by group in turn."""
        layers = []
        axes: Chart = {axis: {"field": field, "type": "nominal"}
                for axis, field in (("x", "column"), ("y", "row"))}  # fmt: skip
        for turn, fill in enumerate(_TIED):
            groups = ties[turn :: len(_TIED)]
            places = [self.places[name] for group in groups for name in group
                      if name in self.places]  # fmt: skip
            at = [{"row": self.rows[k], "column": self.columns[k]} for k in places]
            if at:
                layers.append(mark("rect", at, look={"color": fill}, **axes))
                layers.append(mark("text", at, look={"text": "=", "color": vega.INK}, **axes))
        return layers


#: The figures of ``meta``; the first is drawn where none is named.
FIGURES = {
    "forest": _forest, "pvalues": _pvalues, "comparison": _first_comparison,
    "side-by-side": _side_by_side, "scatter": _scatter,
}  # fmt: skip
PROTOCOL_FIGURES = {"leaderboard": _leaderboard, "comparison": _compared_averages}
