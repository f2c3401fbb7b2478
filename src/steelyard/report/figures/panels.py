"""Panels that several figures are made of: intervals, matrices, and labels that do not collide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.report.figures.figures import (
    BLUE,
    DIVERGING,
    FAINT,
    GREY,
    INK,
    MOST,
    RED,
    SEQUENTIAL,
    Chart,
    Row,
    altair,
    inline,
    number,
    panel_title,
)
from steelyard.stats.arrays import Floats

_CHARACTER = 6.2  # pixels that a character of a label takes, at most
_LINE = 13  # pixels that a label is high
_SHOWN_NUMBERS = 24  # rows up to which cells of a matrix hold numbers


def interval_panel(
    names: Sequence[str],
    values: Floats,
    low: Floats | None = None,
    high: Floats | None = None,
    groups: Sequence[int | None] | None = None,
    *,
    title: str = "",
    axis: str = "",
    first: bool = True,
    width: int = 230,
) -> Chart:
    """Draw a row per name, from best to worst: a point, its interval, and its group.

    Groups (tiers, clusters) alternate in colour and are numbered at the right; ``first`` says
    whether names are shown, which they are once for panels beside each other.
    """
    alt = altair()
    n = min(len(names), MOST)
    rows: list[Row] = []
    for i in range(n):
        row: Row = {"name": names[i], "value": number(values[i])}
        row |= {"low": None, "high": None} if low is None or high is None else {
            "low": number(low[i]), "high": number(high[i])}  # fmt: skip
        group = None if groups is None else groups[i]
        row |= {"group": group, "odd": "no" if group is None or group % 2 else "yes"}
        row["label"] = "" if group is None else str(group)
        rows.append(row)
    height = max(13.0, min(22.0, 640 / max(n, 1))) * n
    y = alt.Y(
        "name:N",
        scale=alt.Scale(domain=list(names[:n])),
        title=None,
        axis=alt.Axis(labels=first, ticks=first, grid=True, labelOverlap=False),
    )
    color = alt.Color(
        "odd:N", scale=alt.Scale(domain=["no", "yes"], range=[BLUE, RED]), legend=None
    )
    shape = alt.Shape(
        "odd:N", scale=alt.Scale(domain=["no", "yes"], range=["circle", "diamond"]), legend=None
    )
    x = alt.X("value:Q", title=axis or None, scale=alt.Scale(zero=False))
    base = alt.Chart(inline(rows), width=width, height=height).encode(y=y, color=color)
    layers = []
    if low is not None:
        layers.append(
            base.mark_rule(strokeWidth=2, opacity=0.75).encode(
                x=alt.X("low:Q", title=axis or None, scale=alt.Scale(zero=False)), x2="high:Q"
            )
        )
    tooltip = ["name:N", "value:Q", "low:Q", "high:Q", "group:Q"]
    layers.append(
        base.mark_point(filled=True, size=55, opacity=1).encode(x=x, shape=shape, tooltip=tooltip)
    )
    if groups is not None and any(group is not None for group in groups):
        layers.append(
            base.mark_text(align="left", dx=5, fontSize=10).encode(
                x=alt.value(width), text="label:N"
            )
        )
    chart = alt.layer(*layers)
    return chart.properties(title=panel_title(title)) if title else chart


def cell_size(n: int, most: float = 40, least: float = 14, whole: float = 620) -> float:
    """Side of a cell of a matrix with ``n`` rows, in pixels."""
    return float(max(least, min(most, whole / max(n, 1))))


def cells(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Floats,
    *,
    texts: Sequence[Sequence[str]] | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
) -> list[Row]:
    """List the defined cells of a matrix, and whether their colour is dark."""
    low, high = ends
    middle, reach = (low + high) / 2, max((high - low) / 2, 1e-300)
    found = []
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            value = number(values[i, j])
            if value is None:
                continue
            text = "" if texts is None else texts[i][j]
            away = (value - middle) / reach
            found.append({"row": row, "column": column, "value": value, "text": text,
                          "far": number(away)})  # fmt: skip
    return found


def matrix(  # noqa: PLR0913 - every option has a default
    rows: Sequence[str],
    columns: Sequence[str],
    data: list[Row],
    *,
    ends: tuple[float, float] = (0.0, 1.0),
    diverging: bool = False,
    size: float | None = None,
    title: str = "",
    legend: str | None = None,
    row_labels: bool = True,
    column_labels: bool = True,
    column_title: str | None = None,
    numbers: bool | None = None,
    angle: int = -50,
) -> Chart:
    """Draw a matrix of coloured cells, with their texts where these can be read."""
    alt = altair()
    side = size or cell_size(max(len(rows), len(columns)))
    colours = DIVERGING if diverging else SEQUENTIAL
    scale = alt.Scale(domain=_spaced(ends, len(colours)), range=list(colours), clamp=True)
    x = alt.X(
        "column:N",
        scale=alt.Scale(domain=list(columns)),
        title=column_title,
        axis=alt.Axis(
            orient="top", labelAngle=angle, labels=column_labels, ticks=False, domain=False,
            labelOverlap=False, labelLimit=150,
        ),
    )  # fmt: skip
    y = alt.Y(
        "row:N",
        scale=alt.Scale(domain=list(rows)),
        title=None,
        axis=alt.Axis(labels=row_labels, ticks=False, domain=False, labelOverlap=False),
    )
    shown = None if legend is None else alt.Legend(title=legend, gradientLength=110)
    base = alt.Chart(inline(data), width=side * len(columns), height=side * len(rows)).encode(
        x=x, y=y
    )
    boxes = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=alt.Color("value:Q", scale=scale, legend=shown),
        tooltip=["row:N", "column:N", "value:Q", "text:N"],
    )
    if numbers is None:
        numbers = max(len(rows), len(columns)) <= _SHOWN_NUMBERS
    layers = [boxes]
    if numbers and any(row["text"] for row in data):
        dark = "abs(datum.far) > 0.7" if diverging else "datum.far > 0.3"
        layers.append(
            base.mark_text(fontSize=min(10.5, side / 2.6)).encode(
                text="text:N", color=alt.condition(dark, alt.value("white"), alt.value(INK))
            )
        )
    chart = alt.layer(*layers)
    return chart.properties(title=panel_title(title)) if title else chart


def _spaced(ends: tuple[float, float], n: int) -> list[float]:
    return [float(f"{x:.6g}") for x in np.linspace(*ends, n)]


def boundaries(groups: Sequence[int | None]) -> list[int]:
    """Give the places that open a new group, the first one excepted.

    Examples
    --------
    >>> boundaries([1, 1, 2])
    [2]
    """
    return [i for i in range(1, len(groups)) if groups[i] != groups[i - 1]]


def reference_line(alt: Any, ends: Sequence[tuple[float, float]], *, dash: bool = True) -> Chart:
    """Draw a grey line through points."""
    data = [{"x": number(x), "y": number(y)} for x, y in ends]
    style = {"strokeDash": [4, 3]} if dash else {}
    return (
        alt.Chart(inline(data))
        .mark_line(color=GREY, strokeWidth=1, **style)
        .encode(x="x:Q", y="y:Q")
    )


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
    diagonal: bool = False,
) -> Chart:
    """Draw named points; names stand beside them where there is room."""
    alt = altair()
    width, height = size
    known = np.isfinite(x) & np.isfinite(y)
    x, y, names = x[known], y[known], [n for n, k in zip(names, known, strict=True) if k]
    reach = [_reach(x), _reach(y)]
    if diagonal:
        reach = [(min(a for a, _ in reach), max(b for _, b in reach))] * 2
    (x0, x1), (y0, y1) = reach
    px, py = (x - x0) / (x1 - x0) * width, (y1 - y) / (y1 - y0) * height
    spots = {name: (dx, dy, align) for name, dx, dy, align in
             place_labels(px, py, names, width, height)}  # fmt: skip
    rows: list[Row] = [{"name": name, "x": number(a), "y": number(b)}
            for name, a, b in zip(names, x, y, strict=True)]  # fmt: skip
    horizontal = alt.X("x:Q", title=titles[0], scale=alt.Scale(domain=[x0, x1], nice=False))
    vertical = alt.Y("y:Q", title=titles[1], scale=alt.Scale(domain=[y0, y1], nice=False))
    points = (
        alt.Chart(inline(rows), width=width, height=height)
        .mark_point(filled=True, size=45, color=BLUE, opacity=0.9)
        .encode(x=horizontal, y=vertical, tooltip=["name:N", "x:Q", "y:Q"])
    )
    layers = [points]
    if diagonal:
        layers.insert(0, reference_line(alt, [(x0, y0), (x1, y1)]))
    for spot in sorted(set(spots.values())):
        dx, dy, align = spot
        own = [row for row in rows if spots.get(row["name"]) == spot]
        layers.append(
            alt.Chart(inline(own))
            .mark_text(dx=dx, dy=dy, align=align, baseline="middle", fontSize=10, color=INK)
            .encode(x=horizontal, y=vertical, text="name:N")
        )
    chart = alt.layer(*layers)
    return chart.properties(title=panel_title(title)) if title else chart


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
    legend: str | None = "segments",
) -> Chart:
    """Draw how many points fall into each cell of a grid; as lean as the grid, however many."""
    alt = altair()
    counts, xs, ys = np.histogram2d(x, y, bins=[edges[0], edges[1]])
    rows = [
        {"x": number(xs[i]), "x2": number(xs[i + 1]), "y": number(ys[j]), "y2": number(ys[j + 1]),
         "n": int(counts[i, j])}
        for i, j in np.argwhere(counts > 0)
    ]  # fmt: skip
    flat = {"nice": False, "zero": False}
    horizontal = alt.Scale(domain=[number(xs[0]), number(xs[-1])], **flat)
    vertical = alt.Scale(domain=[number(ys[0]), number(ys[-1])], **flat)
    scale = alt.Scale(type="sqrt", range=["#E8F1F9", "#083D6B"], domainMin=0)
    return (
        alt.Chart(inline(rows), width=size[0], height=size[1])
        .mark_rect()
        .encode(
            x=alt.X("x:Q", title=titles[0], scale=horizontal),
            x2="x2:Q",
            y=alt.Y("y:Q", title=titles[1], scale=vertical),
            y2="y2:Q",
            color=alt.Color(
                "n:Q",
                scale=scale,
                legend=None
                if legend is None
                else alt.Legend(
                    title=legend, gradientLength=120, orient="bottom", titleOrient="left"
                ),
            ),
            tooltip=["n:Q"],
        )
    )


def histogram(
    values: Floats, edges: Floats, *, upright: bool, length: int, depth: int = 46
) -> Chart:
    """Draw a marginal histogram without axes: above a plot, or upright at its side."""
    alt = altair()
    counts, _ = np.histogram(values, bins=edges)
    rows = [
        {"from": number(a), "to": number(b), "n": int(n)}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    scale = alt.Scale(domain=[number(edges[0]), number(edges[-1])], nice=False, zero=False)
    along = {"axis": None, "scale": scale}
    across = {"axis": None, "title": None}
    base = alt.Chart(inline(rows)).mark_rect(color=FAINT, stroke="white", strokeWidth=0.5)
    if upright:
        return base.properties(width=depth, height=length).encode(
            y=alt.Y("from:Q", **along), y2="to:Q", x=alt.X("n:Q", **across),
            x2=alt.datum(0),
        )  # fmt: skip
    return base.properties(width=length, height=depth).encode(
        x=alt.X("from:Q", **along), x2="to:Q", y=alt.Y("n:Q", **across), y2=alt.datum(0)
    )
