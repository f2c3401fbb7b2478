"""Panels that several figures are made of: intervals, matrices, and labels that do not collide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.report.figures import style
from steelyard.report.figures.speaking import interval, shown
from steelyard.report.figures.style import Chart, alt, number, plot, titled, typed
from steelyard.stats.arrays import Floats

_CHARACTER = 6.2  # pixels that a character of a label takes, at most
_LINE = 13  # pixels that a label is high
_MARGIN = 46  # pixels that a marginal histogram is high
_BARE = {"ticks": False, "domain": False, "labelOverlap": False}  # an axis of names alone


def name_axes(
    rows: Sequence[str], columns: Sequence[str], *, labels: bool = True, **above: int
) -> tuple[Chart, Chart]:
    """Give the axes of a matrix: names of columns above, names of rows at the left if wanted."""
    top = alt.Axis(orient="top", **{"labelAngle": -50, "labelLimit": 150, **_BARE, **above})
    left = alt.Axis(labels=labels, **_BARE)
    x = alt.X("column:N", scale=alt.Scale(domain=list(columns)), title=None, axis=top)
    y = alt.Y("row:N", scale=alt.Scale(domain=list(rows)), title=None, axis=left)
    return x, y


@dataclass(frozen=True, slots=True)
class Intervals:
    """A row per name, from best to worst: a value, its interval, and its group.

    ``called`` is what a group is called where a mark speaks.
    """

    names: Sequence[str]
    values: Floats
    span: tuple[Floats, Floats] | None = None
    groups: Sequence[int | None] | None = None
    called: str = "tier"

    def row(self, i: int, what: str = "") -> style.Row:
        """Give the data of one row of a panel titled ``what``; groups alternate in looks."""
        low, high = (None, None) if self.span is None else (number(end[i]) for end in self.span)
        group = None if self.groups is None else self.groups[i]
        name, value = self.names[i], number(self.values[i])
        told = f"{name}, {what}: " if what else f"{name}: "
        told += interval({"value": value, "low": low, "high": high})
        return {
            "name": name,
            "value": value,
            "low": low,
            "high": high,
            "tip": told if group is None else f"{told}, {self.called} {group}",
            "group": group,
            "odd": "no" if group is None or group % 2 else "yes",
            "label": "" if group is None else str(group),
        }


def interval_panel(
    drawn: Intervals, *, title: str = "", axis: str = "", first: bool = True, width: int = 230
) -> Chart:
    """Draw a row per name: a point, its interval, and the number of its group at the right.

    ``first`` says whether names are shown, which they are once for panels beside each other.
    """
    n = min(len(drawn.names), style.MOST)
    y = alt.Y(
        "name:N",
        scale=alt.Scale(domain=list(drawn.names[:n])),
        title=None,
        axis=alt.Axis(labels=first, ticks=first, grid=True, labelOverlap=False),
    )

    def of_groups(channel: Chart, *looks: str) -> Chart:
        scale = alt.Scale(domain=["no", "yes"], range=list(looks))
        return channel("odd:N", scale=scale, legend=None)

    def across(field: str) -> Chart:
        return alt.X(field, title=axis or None, scale=alt.Scale(zero=False))

    height = cell_size(n, most=22, least=13, whole=640) * n
    base = plot([drawn.row(i, title) for i in range(n)], width=width, height=height).encode(
        **typed(y=y, color=of_groups(alt.Color, style.BLUE, style.RED))
    )
    layers = []
    if drawn.span is not None:
        rule = base.mark_rule(strokeWidth=2, opacity=0.75)
        layers.append(rule.encode(**typed(x=across("low:Q"), x2="high:Q")))
    layers.append(
        base.mark_point(filled=True, size=55, opacity=1).encode(
            **typed(
                x=across("value:Q"),
                shape=of_groups(alt.Shape, "circle", "diamond"),
                tooltip=["name:N", "value:Q", "low:Q", "high:Q", "group:Q"],
            )
        )
    )
    if drawn.groups is not None and any(group is not None for group in drawn.groups):
        numbers = base.mark_text(align="left", dx=5, fontSize=10)
        layers.append(numbers.encode(**typed(x=alt.value(width), text="label:N")))
    return titled(alt.layer(*layers), title)


def cell_size(n: int, *, most: float, least: float, whole: float = 620) -> float:
    """Side of a cell of a matrix with ``n`` rows, in pixels."""
    return float(max(least, min(most, whole / max(n, 1))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix of coloured cells, with texts where these can be read; NaN is no cell.

    ``size`` is the side of a cell, ``numbers`` says whether texts are shown, and ``ends`` are the
    values of the outermost colours, which go two ways if ``diverging``. ``tip`` is what a cell
    says, of its ``row``, ``column``, ``text`` and ``percent``.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Floats
    size: float
    numbers: bool
    texts: Sequence[Sequence[str]] | None = None
    ends: tuple[float, float] = (0.0, 1.0)
    diverging: bool = False
    title: str = ""
    legend: str | None = None
    row_labels: bool = True
    angle: int = -50
    tip: str = "{row}, {column}: {text}"

    def cells(self) -> list[style.Row]:
        """List the defined cells, and how far their colour is from the middle."""
        low, high = self.ends
        middle, reach = (low + high) / 2, max((high - low) / 2, 1e-300)
        found = []
        for i, row in enumerate(self.rows):
            for j, column in enumerate(self.columns):
                value = number(self.values[i, j])
                if value is not None:
                    text = "" if self.texts is None else self.texts[i][j]
                    far = number((value - middle) / reach)
                    named = {"row": row, "column": column}
                    tip = self.tip.format(
                        **named, text=text or shown(value), percent=f"{100 * value:.3g}%"
                    )
                    cell = {**named, "value": value, "text": text, "far": far, "tip": tip}
                    found.append(cell)
        return found

    def chart(self) -> Chart:
        """Draw it."""
        rows, columns, data, side = self.rows, self.columns, self.cells(), self.size
        colours = style.DIVERGING if self.diverging else style.SEQUENTIAL
        spaced = [float(f"{x:.6g}") for x in np.linspace(*self.ends, len(colours))]
        scale = alt.Scale(domain=spaced, range=list(colours), clamp=True)
        x, y = name_axes(rows, columns, labels=self.row_labels, labelAngle=self.angle)
        legend = None if self.legend is None else alt.Legend(title=self.legend, gradientLength=110)
        base = plot(data, width=side * len(columns), height=side * len(rows)).encode(
            **typed(x=x, y=y)
        )
        layers = [
            base.mark_rect(stroke="white", strokeWidth=1).encode(
                **typed(
                    color=alt.Color("value:Q", scale=scale, legend=legend),
                    tooltip=["row:N", "column:N", "value:Q", "text:N"],
                )
            )
        ]
        if self.numbers and any(row["text"] for row in data):
            dark = "abs(datum.far) > 0.7" if self.diverging else "datum.far > 0.3"
            colour = alt.condition(dark, alt.value("white"), alt.value(style.INK))
            text = base.mark_text(fontSize=min(10.5, side / 2.6))
            layers.append(text.encode(**typed(text="text:N", color=colour)))
        return titled(alt.layer(*layers), self.title)


def boundaries(groups: Sequence[int | None]) -> list[int]:
    """Give the places that open a new group, the first one excepted.

    Examples
    --------
    >>> boundaries([1, 1, 2])
    [2]
    """
    return [i for i in range(1, len(groups)) if groups[i] != groups[i - 1]]


def place_labels(
    x: Floats, y: Floats, names: Sequence[str], width: float, height: float
) -> list[tuple[str, float, float, str]]:
    """Find room for labels beside points: (name, dx, dy, align), left out where there is none.

    ``x`` and ``y`` are pixels. Points at the edges of the crowd are served first, since these are
    what people look for.
    """
    middle = np.array([np.mean(x), np.mean(y)]) if len(x) else np.zeros(2)
    order = np.argsort(-np.hypot(x - middle[0], y - middle[1]), kind="stable")
    taken = [(px - 4, py - 4, px + 4, py + 4) for px, py in zip(x, y, strict=True)]
    found = []
    for i in order.tolist():
        size = len(names[i]) * _CHARACTER
        spots = [(7.0, 0.0, "left"), (-7.0, 0.0, "right"), (0.0, -11.0, "center"),
                 (0.0, 12.0, "center"), (7.0, -9.0, "left"), (7.0, 10.0, "left"),
                 (-7.0, -9.0, "right"), (-7.0, 10.0, "right")]  # fmt: skip
        for dx, dy, align in spots:
            left = x[i] + dx - {"left": 0.0, "right": size, "center": size / 2}[align]
            box = (left, y[i] + dy - _LINE / 2, left + size, y[i] + dy + _LINE / 2)
            inside = box[0] >= 0 and box[2] <= width and box[1] >= -4 and box[3] <= height + 4
            own = taken[i]
            if inside and not any(_meet(box, other) for other in taken if other is not own):
                taken.append(box)
                found.append((names[i], dx, dy, align))
                break
    return found


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return not (
        one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    )


def cloud(
    x: Floats,
    y: Floats,
    names: Sequence[str],
    *,
    titles: tuple[str, str],
    title: str = "",
    size: tuple[int, int] = (330, 300),
) -> Chart:
    """Draw named points; names stand beside them where there is room."""
    width, height = size
    known = np.isfinite(x) & np.isfinite(y)
    x, y, names = x[known], y[known], [n for n, k in zip(names, known, strict=True) if k]
    (x0, x1), (y0, y1) = _reach(x), _reach(y)
    px, py = (x - x0) / (x1 - x0) * width, (y1 - y) / (y1 - y0) * height
    spots = {name: where for name, *where in place_labels(px, py, names, width, height)}
    rows: list[style.Row] = [
        {"name": name, "x": number(a), "y": number(b),
         "tip": f"{name}: {titles[0]} {shown(number(a))}, {titles[1]} {shown(number(b))}"}
        for name, a, b in zip(names, x, y, strict=True)
    ]  # fmt: skip
    horizontal = alt.X("x:Q", title=titles[0], scale=alt.Scale(domain=[x0, x1], nice=False))
    vertical = alt.Y("y:Q", title=titles[1], scale=alt.Scale(domain=[y0, y1], nice=False))
    layers = [
        plot(rows, width=width, height=height)
        .mark_point(filled=True, size=45, color=style.BLUE, opacity=0.9)
        .encode(**typed(x=horizontal, y=vertical, tooltip=["name:N", "x:Q", "y:Q"]))
    ]
    for dx, dy, align in sorted({tuple(spot) for spot in spots.values()}):
        own = [row for row in rows if spots.get(row["name"]) == [dx, dy, align]]
        layers.append(
            plot(own)
            .mark_text(dx=dx, dy=dy, align=align, baseline="middle", fontSize=10, color=style.INK)
            .encode(**typed(x=horizontal, y=vertical, text="name:N"))
        )
    return titled(alt.layer(*layers), title)


def _reach(values: Floats) -> tuple[float, float]:
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.5
    return float(f"{low - margin:.6g}"), float(f"{high + margin:.6g}")


def heat(
    x: Floats,
    y: Floats,
    edges: tuple[Floats, Floats],
    *,
    titles: tuple[str, str],
    size: tuple[int, int] = (330, 300),
    legend: str = "segments",
) -> Chart:
    """Draw how many points fall into each cell of a grid; as lean as the grid, however many."""
    counts, xs, ys = np.histogram2d(x, y, bins=[edges[0], edges[1]])
    across, up = ([number(edge) for edge in own] for own in (xs, ys))
    spans = [[f"{shown(a)} to {shown(b)}" for a, b in pairwise(own)] for own in (across, up)]
    rows = [
        {"x": across[i], "x2": across[i + 1], "y": up[j], "y2": up[j + 1], "n": int(counts[i, j]),
         "tip": f"{int(counts[i, j]):,} {legend}: {titles[0]} {spans[0][i]}, "
                f"{titles[1]} {spans[1][j]}"}
        for i, j in np.argwhere(counts > 0)
    ]  # fmt: skip
    below = {"gradientLength": 120, "orient": "bottom", "titleOrient": "left"}
    scale = alt.Scale(type="sqrt", range=["#E8F1F9", "#083D6B"], domainMin=0)
    return (
        plot(rows, width=size[0], height=size[1])
        .mark_rect()
        .encode(
            **typed(
                x=alt.X("x:Q", title=titles[0], scale=_whole(across)),
                x2="x2:Q",
                y=alt.Y("y:Q", title=titles[1], scale=_whole(up)),
                y2="y2:Q",
                color=alt.Color("n:Q", scale=scale, legend=alt.Legend(title=legend, **below)),
                tooltip=["n:Q"],
            )
        )
    )


def _whole(edges: Sequence[float | None]) -> Chart:
    """Give a scale from the first edge to the last one, and no further."""
    return alt.Scale(domain=[edges[0], edges[-1]], nice=False, zero=False)


def histogram(values: Floats, edges: Floats, *, upright: bool, length: int) -> Chart:
    """Draw a marginal histogram without axes: above a plot, or upright at its side."""
    counts, _ = np.histogram(values, bins=edges)
    ends = [number(edge) for edge in edges]
    rows = [
        {"from": a, "to": b, "n": int(n)}
        for a, b, n in zip(ends[:-1], ends[1:], counts, strict=True)
    ]
    along = {"axis": None, "scale": _whole(ends)}
    across = {"axis": None, "title": None}
    base = plot(rows).mark_rect(color=style.FAINT, stroke="white", strokeWidth=0.5)
    if upright:
        return base.properties(width=_MARGIN, height=length).encode(
            **typed(
                y=alt.Y("from:Q", **along), y2="to:Q", x=alt.X("n:Q", **across), x2=alt.datum(0)
            )
        )
    return base.properties(width=length, height=_MARGIN).encode(
        **typed(x=alt.X("from:Q", **along), x2="to:Q", y=alt.Y("n:Q", **across), y2=alt.datum(0))
    )
