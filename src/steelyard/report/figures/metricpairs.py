"""Figures of tests between metrics: who is significantly better than whom, by one or two measures.

The second is Figure 4 of the SPA paper for any data: the same metrics under two meta-metrics, with
those marked that a meta-metric gives one value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.text import plural
from steelyard.metaevaluation.results import MetaEvaluation, Significance
from steelyard.report.figures import style
from steelyard.report.figures.panels import boundaries, cell_size, name_axes
from steelyard.report.figures.style import Chart, alt, finish, labels, limited, number, plot, typed
from steelyard.studies.distinct import same_values

Standings = Mapping[str, tuple[float, int | None]]  # value and cluster of each metric
_TIED = (style.PINK, style.ORANGE)  # in turn, so that neighbouring ties can be told apart


def no_tests(name: str) -> UsageError:
    """Say what a figure of tests needs."""
    return UsageError(f"figure '{name}' shows tests of metrics: add significance=True")


def first(found: MetaEvaluation, *, alpha: float = 0.05) -> Chart:
    """Draw the tests by the first meta-metric that has any."""
    for by, test in found.significance.items():
        return comparison(test, _standings(found, by), by=by, alpha=alpha)
    raise no_tests("comparison")


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


def side_by_side(found: MetaEvaluation, *, alpha: float = 0.05, title: str = "") -> Chart:
    """Draw the tests by the first two meta-metrics beside each other, equal values marked.

    Each panel has its own order, best first. Metrics with the same value have a coloured field on
    the diagonal, in another colour than the next such group.
    """
    tested = list(found.significance.items())[:2]
    if not tested:
        raise no_tests("side-by-side")
    if len(tested) < 2:
        raise UsageError(
            'figure \'side-by-side\' needs tests by two meta-metrics (by=["pa", "spa"])'
        )
    panels = []
    for by, test in tested:
        panel = _Panel.of(test, _standings(found, by), alpha)
        values = same_values([r for r in found.results if r.by == by and r.metric in test.metrics])
        told = (
            f"{by}: {plural(len(values), 'distinct value')}, {panel.size}, "
            f"{plural(panel.clusters, 'cluster')}"
        )
        ties = [group for group in values if len(group) > 1]
        panels.append(style.titled(panel.chart(most=20, whole=460, ties=ties), told))
    metrics = tested[0][1].metrics
    sizes = [(found.n_systems, "system"), (found.n_segments, "segment"), (len(metrics), "metric")]
    return finish(
        alt.hconcat(*panels, spacing=30),
        title or f"Metrics against metrics by {tested[0][0]} and by {tested[1][0]}",
        [
            f"{', '.join(plural(n, noun) for n, noun in sizes)} {_how(tested[0][1])}",
            "a line between clusters; on the diagonal: = metrics with the same value",
            limited(len(metrics), "metrics"),
        ],
    )


def _standings(found: MetaEvaluation, by: str) -> Standings:
    return {r.metric: (r.value, r.rank) for r in found.results if r.by == by}


def _how(test: Significance) -> str:
    corrected = "" if test.correction == "none" else f", {test.correction}"
    return f"({test.scheme}, {test.alternative}{corrected})"


@dataclass(frozen=True, slots=True)
class _Panel:
    """The tests by one meta-metric: metrics best first, what each pair says, clusters, ties."""

    rows: list[str]  # names with values
    columns: list[str]
    cells: list[style.Row]
    levels: list[str]
    counts: tuple[int, int]  # significant pairs, and all that were tested
    groups: list[int | None]  # clusters
    alpha: float
    places: dict[str, int]  # of the metrics by name

    @classmethod
    def of(cls, test: Significance, standings: Standings, alpha: float) -> _Panel:
        """Settle what is drawn of a test."""
        p = test.p if test.p_adjusted is None else test.p_adjusted
        kept = list(test.metrics[: style.MOST])
        values = [standings[name][0] for name in kept]
        columns = labels(kept)
        rows = [f"{name}  {value:.3f}" for name, value in zip(columns, values, strict=True)]
        levels = [f"p < {alpha / 5:g}", f"p < {alpha:g}", "not significant"]
        cells: list[style.Row] = []
        found = 0
        for i, j in combinations(range(len(kept)), 2):
            if np.isnan(p[i, j]):
                continue
            k = 0 if p[i, j] < alpha / 5 else 1 if p[i, j] < alpha else 2
            found += k < 2
            pair = {"row": rows[i], "column": columns[j]}
            cells.append({**pair, "p": number(p[i, j]), "level": levels[k]})
        return cls(
            rows=rows,
            columns=columns,
            cells=cells,
            levels=levels,
            counts=(found, len(cells)),
            groups=[standings[name][1] for name in kept],
            alpha=alpha,
            places={name: place for place, name in enumerate(kept)},
        )

    @property
    def size(self) -> str:
        """How many pairs differ, in words."""
        return f"{self.counts[0]:,} of {self.counts[1]:,} pairs differ at {self.alpha:g}"

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return len({group for group in self.groups if group is not None})

    def chart(self, *, most: int, whole: int, ties: Sequence[Sequence[str]] = ()) -> Chart:
        """Draw the matrix: pairs above the diagonal, a stair of clusters, groups of ties."""
        side = cell_size(len(self.rows), most=most, least=14, whole=whole)
        x, y = name_axes(self.rows, self.columns, labelAngle=-70, labelLimit=220)
        colour = alt.Scale(domain=self.levels, range=["#083D6B", style.SKY, "#E4E4E4"])
        width = side * len(self.rows)
        boxes = (
            plot(self.cells, width=width, height=width)
            .mark_rect(stroke="white", strokeWidth=0.7)
            .encode(
                **typed(
                    x=x,
                    y=y,
                    color=alt.Color("level:N", scale=colour, title="row better than column"),
                    tooltip=["row:N", "column:N", "p:Q"],
                )
            )
        )
        layers = [boxes, *self._tied(ties), *self._stair()]
        return alt.layer(*layers)

    def _stair(self) -> list[Chart]:
        """Draw where each cluster ends and the next one begins, in rows and in columns."""
        opens = boundaries(self.groups)
        if not opens:
            return []
        ends = {"top": self.rows[0], "right": self.columns[-1]}
        at = [{"row": self.rows[k], "column": self.columns[k], **ends} for k in opens]
        rule = plot(at).mark_rule(color=style.RED, strokeWidth=1.8)
        x0, y0 = alt.X("column:N", bandPosition=0), alt.Y("row:N", bandPosition=0)
        top, left = alt.Y("top:N", bandPosition=0), alt.Y2("row:N", bandPosition=0)
        return [
            rule.encode(**typed(x=x0, x2=alt.X2("right:N", bandPosition=1), y=y0)),
            rule.encode(**typed(x=x0, y=top, y2=left)),
        ]

    def _tied(self, ties: Sequence[Sequence[str]]) -> list[Chart]:
        """Mark metrics with the same value on the diagonal, group by group in turn."""
        layers = []
        for turn, colour in enumerate(_TIED):
            groups = ties[turn :: len(_TIED)]
            places = [self.places[name] for own in groups for name in own if name in self.places]
            at = [{"row": self.rows[k], "column": self.columns[k]} for k in places]
            if at:
                base = plot(at).encode(**typed(x="column:N", y="row:N"))
                layers += [base.mark_rect(color=colour), base.mark_text(text="=", color=style.INK)]
        return layers
