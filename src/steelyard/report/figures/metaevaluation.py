"""Figures of a meta-evaluation: metrics with intervals, p-values, tests, ties, scatter plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.data.evalset import EvalSet
from steelyard.metaevaluation.benchmark.run import BenchmarkResult
from steelyard.metaevaluation.data import Data, prepare
from steelyard.metaevaluation.results import MetaEvaluation, MetaResult
from steelyard.metaevaluation.run import pair_preferences
from steelyard.report.figures import metricpairs, style
from steelyard.report.figures.panels import (
    Intervals,
    Matrix,
    cell_size,
    cloud,
    heat,
    interval_panel,
)
from steelyard.report.figures.style import (
    Chart,
    alt,
    finish,
    label,
    labels,
    limited,
    number,
    plot,
    typed,
)
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson
from steelyard.stats.kendall.calibration import Calibration, calibrate
from steelyard.stats.kendall.counting import KENDALL
from steelyard.stats.metametrics.accuracy import binarised_agreement, soft_agreement

#: Names of the figures of ``meta``; the first is drawn where none is named.
FIGURES = (
    "forest", "pvalues", "comparison", "side-by-side", "calibration", "scatter", "metametrics",
)  # fmt: skip
PROTOCOL_FIGURES = ("leaderboard", "comparison")  # of several sets together
_PANELS = 4  # metrics whose tie calibration is drawn
_POINTS = 240  # of a calibration curve


@dataclass(frozen=True, slots=True)
class MetaInput:
    """What the figures of a meta-evaluation are drawn from.

    ``es`` is needed by ``pvalues``, ``calibration`` and ``scatter``; ``metrics`` are those that
    figures of single metrics show (by default the best), ``alpha`` the level of the tests.
    """

    found: MetaEvaluation
    es: EvalSet | None = None
    metrics: tuple[str, ...] = ()
    alpha: float = 0.05

    @property
    def best(self) -> tuple[str, ...]:
        """The metrics to show, best first by the first meta-metric."""
        own = _results(self.found, _names(self.found)[0])
        every = tuple(r.metric for r in own if not np.isnan(r.value))
        for name in self.metrics:
            if name not in every:
                raise UsageError(f"no metric '{name}' with a value; {hint(name, every)}")
        return tuple(name for name in every if name in self.metrics) if self.metrics else every

    def set_of(self, name: str) -> EvalSet:
        """The scores, with the systems that took part."""
        if self.es is None:
            raise UsageError(f"figure '{name}' needs scores of segments")
        return self.es.select(systems=self.found.systems)

    def data(self, name: str) -> Data:
        """Oriented scores of what took part."""
        return prepare(self.set_of(name), self.found.human, self.best, keep_references=True)[0]


def draw(name: str, given: MetaInput) -> Chart:
    """Draw one of :data:`FIGURES`."""
    style.chosen([name], FIGURES)
    of_results = {"forest": forest, "metametrics": metametrics}
    if name in of_results:
        return of_results[name](given.found)
    of_tests = {"comparison": metricpairs.first, "side-by-side": metricpairs.side_by_side}
    if name in of_tests:
        return of_tests[name](given.found, alpha=given.alpha)
    if not given.best:
        raise UsageError(f"figure '{name}': no metric has a value")
    return {"pvalues": _pvalues, "calibration": _calibration, "scatter": _scatter}[name](given)


def draw_protocol(name: str, found: BenchmarkResult, alpha: float = 0.05) -> Chart:
    """Draw one of :data:`PROTOCOL_FIGURES` of a leaderboard over several sets."""
    if name not in PROTOCOL_FIGURES:
        raise UsageError(f"no figure '{name}' of a protocol; {hint(name, PROTOCOL_FIGURES)}")
    if name == "leaderboard":
        return leaderboard(found)
    if found.significance is None:
        raise metricpairs.no_tests(name)
    standings = {one.metric: (one.average, one.rank) for one in found.standings}
    return metricpairs.comparison(found.significance, standings, by="average", alpha=alpha)


def leaderboard(found: BenchmarkResult) -> Chart:
    """Draw the average and the average rank of every metric over the tasks of a protocol."""
    names = labels(one.metric for one in found.standings)
    ranks = [one.rank for one in found.standings]
    average, place = (
        Intervals(
            names,
            np.array([getattr(one, of) for one in found.standings]),
            groups=ranks,
            called="rank",
        )
        for of in ("average", "average_rank")
    )
    panels = [
        interval_panel(average, title="average", axis="mean over tasks, each scaled to 0..1"),
        interval_panel(place, title="average rank", axis="1 is best", first=False),
    ]
    tested = "numbers and colours: clusters" if any(rank is not None for rank in ranks) else ""
    absent = ", ".join(label(name) for name in found.absent)
    partial = f"partial: without {absent}" if absent else ""
    more = limited(len(names), "metrics")
    return finish(alt.hconcat(*panels, spacing=28), label(found.title), [tested, partial, more])


def _names(found: MetaEvaluation) -> list[str]:
    return list(dict.fromkeys(result.by for result in found.results))


def _results(found: MetaEvaluation, by: str) -> list[MetaResult]:
    return [result for result in found.results if result.by == by]


def _size(found: MetaEvaluation) -> str:
    size = f"{found.n_systems} systems, {found.n_segments:,} segments"
    return f"human score {label(found.human)}: {size}"


def forest(found: MetaEvaluation) -> Chart:
    """Draw metrics with intervals under the first three meta-metrics, ordered by the first."""
    names = _names(found)[:3]
    order = [r.metric for r in _results(found, names[0])]
    shown = labels(order)
    panels = []
    for k, by in enumerate(names):
        own = {r.metric: r for r in _results(found, by)}
        values = np.array([own[m].value if m in own else np.nan for m in order])
        ends = [own[m].ci or (np.nan, np.nan) if m in own else (np.nan, np.nan) for m in order]
        low, high = np.array(ends).T.reshape(2, -1)
        span = (low, high) if np.isfinite(low).any() else None
        drawn = Intervals(
            shown, values, span, [own[m].rank if m in own else None for m in order], "rank"
        )
        some = next(iter(own.values()))
        axis = "systems" if some.level == "sys" else f"segments, grouped by {some.group_by}"
        width = 260 if len(names) < 3 else 200
        panels.append(interval_panel(drawn, title=by, axis=axis, first=k == 0, width=width))
    what = ""
    if any(r.ci is not None for r in found.results):
        what = f"lines: 95% intervals of expected values, over resampled {found.resampled_units}"
    tested = any(r.rank is not None for r in found.results)
    what += "; numbers and colours: clusters" if tested else ""
    return finish(
        alt.hconcat(*panels, spacing=28),
        "Metrics, best first",
        [_size(found), what, limited(len(order), "metrics")],
    )


def _pvalues(given: MetaInput) -> Chart:
    found, metric = given.found, given.best[0]
    es = given.set_of("pvalues")
    run = {} if found.provenance is None else found.provenance.options
    how = {"method": run.get("method", "exact"), "unit": run.get("unit", "segment")}
    systems, human, own = pair_preferences(es, found.human, metric, systems=found.systems, **how)
    means = given.data("pvalues").human_systems
    order = sorted(range(len(systems)), key=lambda i: (-means[i], systems[i]))
    index = np.ix_(order, order)
    return pvalues(
        [systems[i] for i in order], human[index], own[index], metric=metric, human=found.human
    )


def _calibration(given: MetaInput) -> Chart:
    data = given.data("calibration")
    by = next((n for n in _names(given.found) if n in ("acc-eq", "tau-eq")), "acc-eq")
    worth = KENDALL[by]
    found: dict[str, Calibration] = {}
    for name in given.best:
        if len(found) == _PANELS:
            break
        scores = data.segments(name)
        if not np.isnan(scores).all():
            found[name] = calibrate(data.human, scores, worth)
    return calibration(found, by=by)


def calibration(found: Mapping[str, Calibration], *, by: str = "acc-eq") -> Chart:
    """Draw how the value of each metric changes with the threshold below which it sees ties."""
    if not found:
        raise UsageError("figure 'calibration': no metric has segment scores")
    panels = []
    for name, own in found.items():
        place = _thinned(own)
        rows = [{"epsilon": number(own.epsilons[k]), "value": number(own.values[k])} for k in place]
        text = f"{own.value:.3f} at {own.epsilon:.3g}"
        tip = f"{label(name)}: {by} {own.value:.3f} if differences up to {own.epsilon:.3g} are ties"
        at = {"epsilon": number(own.epsilon), "value": number(own.value)}
        best = [{**at, "text": text, "tip": tip}]
        x = alt.X("epsilon:Q", title="differences up to this are ties")
        low, high = float(own.values[place].min()), own.value
        room = 0.12 * (high - low) or 0.05  # for the label above the best
        ends = [number(low - room / 3), number(high + room)]
        y = alt.Y("value:Q", title=by, scale=alt.Scale(domain=ends, nice=False, zero=False))
        line = plot(rows, width=270, height=170).mark_line(
            color=style.BLUE, interpolate="step-after"
        )
        base = plot(best)
        right = own.epsilon < own.epsilons[place[-1]] / 2
        aside = {"align": "left", "dx": 8} if right else {"align": "right", "dx": -8}
        panel = alt.layer(
            line.encode(**typed(x=x, y=y)),
            base.mark_rule(color=style.RED, strokeDash=[4, 3]).encode(**typed(x=x)),
            base.mark_point(filled=True, size=60, color=style.RED, opacity=1).encode(
                **typed(x=x, y=y, tooltip=["tip:N"])
            ),
            base.mark_text(dy=-10, color=style.INK, **aside).encode(
                **typed(x=x, y=y, text="text:N")
            ),
        )
        panels.append(style.titled(panel, label(name)))
    return finish(
        alt.concat(*panels, columns=2, spacing=26),
        "Tie calibration",
        [f"{by} at every threshold; the point is the best one"],
    )


def _thinned(own: Calibration) -> list[int]:
    """Places of the points to draw: evenly along epsilon, with the best and the ends.

    Beyond the 99th percentile of differences nearly all are ties, which is not worth the room.
    """
    size = len(own.epsilons)
    if not size:
        return []
    last = max(int(0.99 * (size - 1)), int(np.searchsorted(own.epsilons, own.epsilon)))
    grid = np.linspace(own.epsilons[0], own.epsilons[last], _POINTS)
    places = np.searchsorted(own.epsilons, grid, side="right") - 1
    best = np.searchsorted(own.epsilons, own.epsilon, side="right") - 1
    return sorted({0, last, int(best), *places.tolist()})


def _scatter(given: MetaInput) -> Chart:
    data, metric = given.data("scatter"), given.best[0]
    human = given.found.human
    people, own = data.sign(human), data.sign(metric)  # shown in their own numbers
    return scatter(
        data.es.systems,
        (people * data.human_systems, own * data.systems(metric)),
        (people * data.human, own * data.segments(metric)),
        metric=metric if own > 0 else f"{metric} (lower is better)",
        human=human if people > 0 else f"{human}, lower is better",
    )


def scatter(
    systems: Sequence[str],
    of_systems: tuple[Floats, Floats],
    of_segments: tuple[Floats, Floats],
    *,
    metric: str = "metric",
    human: str = "human",
) -> Chart:
    """Draw a metric against people: systems as named points, segments as a density.

    Scores are those of people, then of the metric; of segments systems x segments, NaN where
    missing.
    """
    titles = (f"people ({label(human)})", label(metric))
    text = f"systems{_correlation(*of_systems)}"
    panels = [cloud(*of_systems, labels(systems), titles=titles, title=text)]
    x, y = (own.ravel() for own in of_segments)
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if x.size:
        edges = style.bins(x, 40), style.bins(y, 40)
        panel = heat(x, y, edges, titles=titles, legend="translations")
        panels.append(style.titled(panel, f"{x.size:,} translations{_correlation(x, y)}"))
    return finish(
        alt.hconcat(*panels, spacing=34).resolve_scale(color="independent"),
        f"{label(metric)} against people",
    )


def _correlation(x: Floats, y: Floats) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    r = float(pearson(x[known][:, None], y[known][:, None])[0]) if known.sum() > 1 else np.nan
    return "" if np.isnan(r) else f": r = {r:.3f}"


def metametrics(found: MetaEvaluation) -> Chart:
    """Draw meta-metric against meta-metric, a point per metric."""
    names = _names(found)
    if len(names) < 2:
        raise UsageError('figure \'metametrics\' needs two meta-metrics (by=["a", "b"])')
    values = {by: found.values(by) for by in names}
    metrics = [m for m in values[names[0]] if all(m in own for own in values.values())]
    shown = labels(metrics)
    columns = {by: np.array([own[m] for m in metrics]) for by, own in values.items()}
    panels = []
    for a, b in combinations(names[:3], 2):
        both = columns[a], columns[b]
        text = _correlation(*both).removeprefix(": ")
        panels.append(cloud(*both, shown, titles=(a, b), title=text, size=(400, 340)))
    return finish(
        alt.concat(*panels, columns=2, spacing=26),
        "Meta-metric against meta-metric",
        [_size(found), f"{len(metrics)} metrics; names are shown where there is room"],
    )


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
    names = labels(systems)[: style.MOST]
    n = len(names)
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    size = cell_size(n, most=22, least=9, whole=240)
    rows = []
    for soft in (False, True):
        kept = [_preference(p[:n, :n], soft=soft) for p in (p_human, p_metric)]
        agree = (soft_agreement if soft else binarised_agreement)(p_human, p_metric).value
        kept.append(1 - np.abs(kept[0] - kept[1]))
        kind = "SPA" if soft else "PA"
        titles = [f"people ({label(human)})", label(metric), f"agreement: {kind} {agree:.3f}"]
        panels = []
        for k, (values, title) in enumerate(zip(kept, titles, strict=True)):
            shown = np.where(upper, values, np.nan)[:-1, 1:]
            drawn = Matrix(
                rows=names[:-1],
                columns=names[1:],
                values=shown,
                size=size,
                diverging=True,
                title=title,
                row_labels=k == 0,
                numbers=False,
                legend=(None, "row is better", "agreement")[k],
            )
            panels.append(drawn.chart().resolve_scale(color="independent"))
        rows.append(alt.hconcat(*panels, spacing=16).resolve_scale(color="independent"))
    return finish(
        alt.vconcat(*rows, spacing=26),
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
