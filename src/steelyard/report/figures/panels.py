"""Panels that several figures are made of: intervals, matrices, and labels that do not collide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.core.text import plural
from steelyard.report.figures import vega
from steelyard.report.figures.vega import Chart, Row, amount, category, chart, mark, number, shown
from steelyard.stats.arrays import Floats

_CHARACTER = 6.2  # pixels that a character of a label takes, at most
_LINE = 13  # pixels that a label is high
_BARE = {"ticks": False, "domain": False}  # an axis of names alone


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

    def rows(self, what: str = "") -> list[Row]:
        """List the data of a panel titled ``what``."""
        made = []
        for i, name in enumerate(self.names[: vega.MOST]):
            group = None if self.groups is None else self.groups[i]
            low, high = (None, None) if self.span is None else (number(end[i]) for end in self.span)
            row: Row = {"name": name, "value": number(self.values[i]), "low": low, "high": high}
            tip = f"{name}, {what}" if what else name
            tip = f"{tip}: {vega.interval(row)}"
            made.append({
                **row,
                "tip": tip if group is None else f"{tip}, {self.called} {group}",
                "group": group,
                "colour": vega.BLUE if group is None else vega.PALETTE[(group - 1) % 7],
            })  # fmt: skip
        return made


def interval_panel(
    drawn: Intervals,
    *,
    title: str = "",
    axis: str = "",
    first: bool = True,
    width: int = 230,
    zero: bool = False,
) -> Chart:
    """Draw a row per name: a point, its interval, and the number of its group at the right.

    ``first`` says whether names are shown, which they are once for panels beside each other;
    ``zero`` draws a line at 0.
    """
    rows = drawn.rows(title)
    height = cell_size(len(rows), most=22, least=13, whole=640) * len(rows)
    x = amount("value", axis or None)
    layers = []
    if zero:
        whole: Chart = {"y": {"value": 0}, "y2": {"value": height}, "color": {"value": vega.INK}}
        dashes = {"strokeDash": [4, 3]}
        layers.append(mark("rule", [{"value": 0}], look=dashes, x=x, **whole))
    with_ends = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if with_ends:
        thick = {"strokeWidth": 2, "opacity": 0.75}
        span: Chart = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
        layers.append(mark("rule", with_ends, look=thick, **span))
    layers.append(mark("point", tip=True, look={"filled": True, "size": 55, "opacity": 1}, x=x))
    grouped = [row for row in rows if row["group"] is not None]
    if grouped:
        small: Chart = {"align": "left", "dx": 5, "fontSize": 10}
        number_at: Chart = {"x": {"value": width}, "text": {"field": "group"}}
        layers.append(mark("text", grouped, look=small, **number_at))
    y = category("name", [row["name"] for row in rows], labels=first, ticks=first, grid=True)
    return chart(rows, *layers, size=(width, height), title=title, y=y, color=vega.as_is("colour"))


def interval_panels(
    columns: Sequence[tuple[str, str, Intervals]], *, width: int | None = None
) -> Chart:
    """Draw panels of the same names beside each other: a title, an axis, and the numbers of each.

    The names stand once.
    """
    width = width or (260 if len(columns) <= 2 else 190)
    panels = [
        interval_panel(drawn, title=title, axis=axis, first=k == 0, width=width)
        for k, (title, axis, drawn) in enumerate(columns)
    ]
    return vega.beside(*panels)


def cell_size(n: int, *, most: float, least: float, whole: float = 620) -> float:
    """Side of a cell of a matrix with ``n`` rows, in pixels."""
    return float(max(least, min(most, whole / max(n, 1))))


def matrix_axes(
    rows: Sequence[str], columns: Sequence[str], *, row_labels: bool = True, **above: int
) -> Chart:
    """Return the axes of a matrix: names of columns above, names of rows at the left if wanted."""
    top = {"orient": "top", "labelAngle": -50, "labelLimit": 150, **_BARE, **above}
    return {
        "x": category("column", columns, **top),
        "y": category("row", rows, labels=row_labels, **_BARE),
    }


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

    def cells(self) -> list[Row]:
        """List the defined cells; texts are white on strong colours."""
        low, high = self.ends
        middle, reach = (low + high) / 2, max((high - low) / 2, 1e-300)
        cells = []
        for i, j in np.argwhere(np.isfinite(self.values)):
            value = float(self.values[i, j])
            text = "" if self.texts is None else self.texts[i][j]
            far = (value - middle) / reach
            strong = abs(far) > 0.7 if self.diverging else far > 0.3
            names = {"row": self.rows[i], "column": self.columns[j]}
            tip = self.tip.format(
                **names, text=text or shown(number(value)), percent=f"{100 * value:.3g}%"
            )
            cells.append({**names, "value": number(value), "text": text, "tip": tip,
                          "strong": bool(strong)})  # fmt: skip
        return cells

    def chart(self) -> Chart:
        """Draw it."""
        cells = self.cells()
        colours = vega.DIVERGING if self.diverging else vega.SEQUENTIAL
        spaced = [float(f"{x:.6g}") for x in np.linspace(*self.ends, len(colours))]
        scale = {"domain": spaced, "range": list(colours), "clamp": True}
        legend = None if self.legend is None else {"title": self.legend, "gradientLength": 110}
        fill = {"field": "value", "type": "quantitative", "scale": scale, "legend": legend}
        boxes = mark("rect", tip=True, look={"stroke": "white", "strokeWidth": 1}, color=fill)
        layers = [boxes]
        if self.numbers and any(cell["text"] for cell in cells):
            look = {"fontSize": min(10.5, self.size / 2.6)}
            text: Chart = {"text": {"field": "text"}, "color": vega.on_strong()}
            layers.append(mark("text", look=look, **text))
        axes = matrix_axes(
            self.rows, self.columns, row_labels=self.row_labels, labelAngle=self.angle
        )
        size = (self.size * len(self.columns), self.size * len(self.rows))
        return chart(cells, *layers, size=size, title=self.title, **axes)


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
    placed = []
    for i in order.tolist():
        size = len(names[i]) * _CHARACTER
        spots = [(7.0, 0.0, "left"), (-7.0, 0.0, "right"), (0.0, -11.0, "center"),
                 (0.0, 12.0, "center"), (7.0, -9.0, "left"), (7.0, 10.0, "left"),
                 (-7.0, -9.0, "right"), (-7.0, 10.0, "right")]  # fmt: skip
        point = taken[i]
        for dx, dy, align in spots:
            left = x[i] + dx - {"left": 0.0, "right": size, "center": size / 2}[align]
            box = (left, y[i] + dy - _LINE / 2, left + size, y[i] + dy + _LINE / 2)
            inside = box[0] >= 0 and box[2] <= width and box[1] >= -4 and box[3] <= height + 4
            if inside and not any(_meet(box, other) for other in taken if other is not point):
                taken.append(box)
                placed.append((names[i], dx, dy, align))
                break
    return placed


def _meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return not (a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1])


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
    spots = {name: tuple(spot) for name, *spot in place_labels(px, py, names, width, height)}
    rows: list[Row] = [
        {"name": name, "x": number(a), "y": number(b),
         "tip": f"{name}: {titles[0]} {shown(number(a))}, {titles[1]} {shown(number(b))}"}
        for name, a, b in zip(names, x, y, strict=True)
    ]  # fmt: skip
    look = {"filled": True, "size": 45, "color": vega.BLUE, "opacity": 0.9}
    layers = [mark("point", tip=True, look=look)]
    for dx, dy, align in sorted(set(spots.values())):
        near = [row for row in rows if spots.get(row["name"]) == (dx, dy, align)]
        text = {"dx": dx, "dy": dy, "align": align, "baseline": "middle", "fontSize": 10,
                "color": vega.INK}  # fmt: skip
        layers.append(mark("text", near, look=text, text={"field": "name"}))
    axes = {"x": amount("x", titles[0], domain=(x0, x1)),
            "y": amount("y", titles[1], domain=(y0, y1))}  # fmt: skip
    return chart(rows, *layers, size=size, title=title, **axes)


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
    legend: str = "segment",
) -> Chart:
    """Draw how many points fall into each cell of a grid; as lean as the grid, however many."""
    counts, xs, ys = np.histogram2d(x, y, bins=[edges[0], edges[1]])
    across, up = ([number(edge) for edge in ends] for ends in (xs, ys))
    spans = [[f"{shown(a)} to {shown(b)}" for a, b in pairwise(ends)] for ends in (across, up)]
    rows = [
        {"x": across[i], "x2": across[i + 1], "y": up[j], "y2": up[j + 1], "n": int(counts[i, j]),
         "tip": f"{plural(int(counts[i, j]), legend)}: {titles[0]} {spans[0][i]}, "
                f"{titles[1]} {spans[1][j]}"}
        for i, j in np.argwhere(counts > 0)
    ]  # fmt: skip
    scale = {"type": "sqrt", "range": ["#E8F1F9", "#083D6B"], "domainMin": 0}
    below = {
        "title": f"{legend}s",
        "gradientLength": 120,
        "orient": "bottom",
        "titleOrient": "left",
    }
    return mark(
        "rect",
        rows,
        tip=True,
        x=amount("x", titles[0], domain=(across[0], across[-1])),
        x2={"field": "x2"},
        y=amount("y", titles[1], domain=(up[0], up[-1])),
        y2={"field": "y2"},
        color={"field": "n", "type": "quantitative", "scale": scale, "legend": below},
    )
