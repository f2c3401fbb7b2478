"""Matrices of a meta-evaluation: preferences of people and metrics, and metrics against metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.metaevaluation.results import Significance
from steelyard.report.figures.figures import (
    MOST,
    RED,
    SKY,
    Chart,
    Row,
    altair,
    finish,
    inline,
    label,
    labels,
    limited,
    number,
)
from steelyard.report.figures.panels import boundaries, cell_size, cells, matrix
from steelyard.stats.arrays import Floats
from steelyard.stats.metametrics.accuracy import binarised_agreement, soft_agreement


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
    alt = altair()
    names = labels(systems)[:MOST]
    n = len(names)
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    size = cell_size(n, most=22, least=9, whole=240)
    columns = names[1:]
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
            last = k == 2
            panels.append(
                matrix(names[:-1], columns, cells(names[:-1], columns, shown), size=size,
                       diverging=True, title=title, row_labels=k == 0, numbers=False,
                       legend=("agreement" if last else "row is better") if k else None)
                .resolve_scale(color="independent")
            )  # fmt: skip
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


def comparison(
    test: Significance,
    values: Mapping[str, float],
    clusters: Mapping[str, int | None],
    *,
    by: str = "",
    alpha: float = 0.05,
) -> Chart:
    """Draw which metrics are significantly better than which, with a line between clusters.

    A cell compares the metric of its row with the one, not above it, of its column.
    """
    alt = altair()
    p = test.p if test.p_adjusted is None else test.p_adjusted
    kept = list(test.metrics[:MOST])
    columns = labels(kept)
    rows = [f"{name}  {values[own]:.3f}" for name, own in zip(columns, kept, strict=True)]
    levels = [f"p < {alpha / 5:g}", f"p < {alpha:g}", "not significant"]
    data: list[Row] = []
    counts = [0, 0, 0]
    for i in range(len(kept)):
        for j in range(i + 1, len(kept)):
            if np.isnan(p[i, j]):
                continue
            k = 0 if p[i, j] < alpha / 5 else 1 if p[i, j] < alpha else 2
            counts[k] += 1
            data.append({"row": rows[i], "column": columns[j], "p": number(p[i, j]),
                         "level": levels[k]})  # fmt: skip
    side = cell_size(len(kept), most=26, least=14, whole=620)
    look = {"ticks": False, "domain": False, "labelOverlap": False}
    x = alt.X("column:N", scale=alt.Scale(domain=columns), title=None,
              axis=alt.Axis(orient="top", labelAngle=-70, labelLimit=220, **look))  # fmt: skip
    y = alt.Y("row:N", scale=alt.Scale(domain=rows), title=None, axis=alt.Axis(**look))
    colour = alt.Scale(domain=levels, range=["#083D6B", SKY, "#E4E4E4"])
    boxes = (
        alt.Chart(inline(data), width=side * len(kept), height=side * len(kept))
        .mark_rect(stroke="white", strokeWidth=0.7)
        .encode(
            x=x,
            y=y,
            color=alt.Color("level:N", scale=colour, title="row better than column"),
            tooltip=["row:N", "column:N", "p:Q"],
        )
    )
    groups = [clusters[name] for name in kept]
    layers = [boxes]
    opens = boundaries(groups)
    if opens:  # a stair: each cluster ends where the next one begins, in rows and in columns
        at = [{"row": rows[k], "column": columns[k], "top": rows[0], "right": columns[-1]}
              for k in opens]  # fmt: skip
        rule = alt.Chart(inline(at)).mark_rule(color=RED, strokeWidth=1.8)
        x0, y0 = alt.X("column:N", bandPosition=0), alt.Y("row:N", bandPosition=0)
        layers += [
            rule.encode(x=x0, x2=alt.X2("right:N", bandPosition=1), y=y0),
            rule.encode(x=x0, y=alt.Y("top:N", bandPosition=0), y2=alt.Y2("row:N", bandPosition=0)),
        ]
    corrected = "" if test.correction == "none" else f", {test.correction}"
    found = len({group for group in groups if group is not None})
    size = f"{counts[0] + counts[1]:,} of {sum(counts):,} pairs differ at {alpha:g}"
    how = f"({test.scheme}, {test.alternative}{corrected})"
    return finish(
        alt.layer(*layers),
        f"Metrics against metrics by {by}" if by else "Metrics against metrics",
        [f"{size} {how}; {found} clusters, a line between them",
         limited(len(test.metrics), "metrics")],
    )  # fmt: skip
