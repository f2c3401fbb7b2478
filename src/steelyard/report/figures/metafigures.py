"""Figures of a meta-evaluation: metrics with intervals, p-values, tests, ties, scatter plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.data.evalset import EvalSet
from steelyard.metaevaluation.benchmark.results import BenchmarkResult
from steelyard.metaevaluation.data import Data
from steelyard.metaevaluation.results import MetaEvaluation, MetaResult
from steelyard.metaevaluation.run import pair_preferences, prepare
from steelyard.report.figures.figures import (
    BLUE,
    INK,
    RED,
    Chart,
    altair,
    bins,
    finish,
    inline,
    label,
    labels,
    limited,
    number,
    panel_title,
)
from steelyard.report.figures.metamatrices import comparison, pvalues
from steelyard.report.figures.panels import cloud, heat, interval_panel
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson
from steelyard.stats.kendall.calibration import Calibration, calibrate
from steelyard.stats.kendall.matrices import KENDALL

#: Names of the figures of ``meta``; the first is drawn where none is named.
FIGURES = ("forest", "pvalues", "comparison", "calibration", "scatter", "metametrics")
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
    if name not in FIGURES:
        raise UsageError(f"no figure '{name}'; {hint(name, FIGURES)}")
    if name == "forest":
        return forest(given.found)
    if name == "comparison":
        return _comparison(given)
    if name == "metametrics":
        return metametrics(given.found)
    if not given.best:
        raise UsageError(f"figure '{name}': no metric has a value")
    if name == "pvalues":
        return _pvalues(given)
    if name == "calibration":
        return _calibration(given)
    return _scatter(given)


def draw_protocol(name: str, found: BenchmarkResult, alpha: float = 0.05) -> Chart:
    """Draw one of :data:`PROTOCOL_FIGURES` of a leaderboard over several sets."""
    if name == "leaderboard":
        return leaderboard(found)
    if name != "comparison":
        raise UsageError(f"no figure '{name}' of a protocol; {hint(name, PROTOCOL_FIGURES)}")
    if found.significance is None:
        raise UsageError("figure 'comparison' shows tests of metrics: add --significance")
    own = {one.metric: one for one in found.standings}
    tested = found.significance.metrics
    return comparison(
        found.significance,
        {m: own[m].average for m in tested},
        {m: own[m].rank for m in tested},
        by="average",
        alpha=alpha,
    )


def leaderboard(found: BenchmarkResult) -> Chart:
    """Draw the average and the average rank of every metric over the tasks of a protocol."""
    alt = altair()
    names = labels(one.metric for one in found.standings)
    ranks = [one.rank for one in found.standings]
    panels = [
        interval_panel(names, np.array([one.average for one in found.standings]), groups=ranks,
                       title="average", axis="mean over tasks, each scaled to 0..1"),
        interval_panel(names, np.array([one.average_rank for one in found.standings]),
                       groups=ranks, title="average rank", axis="1 is best", first=False),
    ]  # fmt: skip
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


def forest(found: MetaEvaluation, most: int = 3) -> Chart:
    """Draw every metric with its interval under each meta-metric, ordered by the first one."""
    alt = altair()
    names = _names(found)[:most]
    order = [r.metric for r in _results(found, names[0])]
    shown = labels(order)
    panels = []
    for k, by in enumerate(names):
        own = {r.metric: r for r in _results(found, by)}
        values = np.array([own[m].value if m in own else np.nan for m in order])
        ends = [own[m].ci or (np.nan, np.nan) if m in own else (np.nan, np.nan) for m in order]
        low: Floats | None
        high: Floats | None
        low, high = np.array(ends).T.reshape(2, -1)
        ranks = [own[m].rank if m in own else None for m in order]
        drawn = bool(np.isfinite(low).any())
        if not drawn:
            low = high = None
        axis = _axis(next(iter(own.values())))
        look: dict[str, Any] = {"first": k == 0, "width": 260 if len(names) < 3 else 200}
        panels.append(interval_panel(shown, values, low, high, ranks, title=by, axis=axis, **look))
    what = ""
    if any(r.ci is not None for r in found.results):
        what = f"lines: 95 % intervals over resampled {found.resampled_units}"
    tested = any(r.rank is not None for r in found.results)
    what += "; numbers and colours: clusters" if tested else ""
    return finish(
        alt.hconcat(*panels, spacing=28),
        "Metrics, best first",
        [_size(found), what, limited(len(order), "metrics")],
    )


def _axis(result: MetaResult) -> str:
    return "systems" if result.level == "sys" else f"segments, grouped by {result.group_by}"


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


def _comparison(given: MetaInput) -> Chart:
    found = given.found
    if not found.significance:
        raise UsageError("figure 'comparison' shows tests of metrics: add --significance")
    by, test = next(iter(found.significance.items()))
    own = {r.metric: r for r in _results(found, by)}
    return comparison(
        test,
        {m: own[m].value for m in test.metrics},
        {m: own[m].rank for m in test.metrics},
        by=by,
        alpha=given.alpha,
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
    alt = altair()
    if not found:
        raise UsageError("figure 'calibration': no metric has segment scores")
    panels = []
    for name, own in found.items():
        place = _thinned(own)
        rows = [{"epsilon": number(own.epsilons[k]), "value": number(own.values[k])} for k in place]
        best = [{"epsilon": number(own.epsilon), "value": number(own.value),
                 "text": f"{own.value:.3f} at {own.epsilon:.3g}"}]  # fmt: skip
        x = alt.X("epsilon:Q", title="differences up to this are ties")
        low, high = float(own.values[place].min()), own.value
        room = 0.12 * (high - low) or 0.05  # for the label above the best
        ends = [number(low - room / 3), number(high + room)]
        y = alt.Y("value:Q", title=by, scale=alt.Scale(domain=ends, nice=False, zero=False))
        line = alt.Chart(inline(rows), width=270, height=170).mark_line(
            color=BLUE, interpolate="step-after"
        )
        base = alt.Chart(inline(best))
        right = own.epsilon < own.epsilons[place[-1]] / 2
        panels.append(
            alt.layer(
                line.encode(x=x, y=y),
                base.mark_rule(color=RED, strokeDash=[4, 3]).encode(x=x),
                base.mark_point(filled=True, size=60, color=RED, opacity=1).encode(x=x, y=y),
                base.mark_text(
                    align="left" if right else "right", dx=8 if right else -8, dy=-10, color=INK
                ).encode(x=x, y=y, text="text:N"),
            ).properties(title=panel_title(label(name)))
        )
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
        people * data.human_systems,
        own * data.systems(metric),
        people * data.human,
        own * data.segments(metric),
        metric=metric if own > 0 else f"{metric} (lower is better)",
        human=human if people > 0 else f"{human}, lower is better",
    )


def scatter(
    systems: Sequence[str],
    human_systems: Floats,
    metric_systems: Floats,
    human_segments: Floats | None = None,
    metric_segments: Floats | None = None,
    *,
    metric: str = "metric",
    human: str = "human",
) -> Chart:
    """Draw a metric against people: systems as named points, segments as a density.

    Segments are systems x segments, NaN where missing.
    """
    alt = altair()
    titles = (f"people ({label(human)})", label(metric))
    text = f"systems{_correlation(human_systems, metric_systems)}"
    panels = [cloud(human_systems, metric_systems, labels(systems), titles=titles, title=text)]
    if human_segments is not None and metric_segments is not None:
        x, y = human_segments.ravel(), metric_segments.ravel()
        both = np.isfinite(x) & np.isfinite(y)
        x, y = x[both], y[both]
        if x.size:
            text = f"{x.size:,} translations{_correlation(x, y)}"
            panel = heat(x, y, (bins(x, 40), bins(y, 40)), titles=titles, legend="translations")
            panels.append(panel.properties(title=panel_title(text)))
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
    alt = altair()
    names = _names(found)
    if len(names) < 2:
        raise UsageError("figure 'metametrics' needs two meta-metrics (--with a,b)")
    values = {by: found.values(by) for by in names}
    metrics = [m for m in values[names[0]] if all(m in own for own in values.values())]
    shown = labels(metrics)
    columns = {by: np.array([own[m] for m in metrics]) for by, own in values.items()}
    pairs = [(a, b) for i, a in enumerate(names[:3]) for b in names[i + 1 : 3]]
    panels = []
    for a, b in pairs:
        text = _correlation(columns[a], columns[b]).removeprefix(": ")
        panels.append(cloud(columns[a], columns[b], shown, titles=(a, b), title=text,
                            size=(400, 340)))  # fmt: skip
    return finish(
        alt.concat(*panels, columns=2, spacing=26),
        "Meta-metric against meta-metric",
        [_size(found), f"{len(metrics)} metrics; names are shown where there is room"],
    )
