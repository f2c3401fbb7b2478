"""Charts of studies and of papers: curves with intervals, and published figures against ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.core.errors import UsageError, printable
from steelyard.report.figures import vega
from steelyard.report.figures.vega import Chart, Row, amount, finish, labels, mark, number, shown
from steelyard.reproduction.reproduction import VERDICTS, Reproduction
from steelyard.studies.study import Curve


def curve_points(curve: Curve) -> list[Row]:
    """List the points of a panel; what is undefined is None.

    Examples
    --------
    >>> import numpy as np
    >>> from steelyard.studies.study import Curve, Line
    >>> line = Line("bt", np.array([0.8]), np.array([0.7]), np.array([np.nan]), (9,))
    >>> curve_points(Curve("a", "all", "systems", "tau", (5,), (line,)))
    [{'x': 5, 'y': 0.8, 'low': 0.7, 'high': None, 'line': 'bt', 'tip': 'bt: tau 0.8 at 5'}]
    """
    points: list[Row] = []
    for name, line in zip(_lines(curve), curve.lines, strict=True):
        for k, x in enumerate(_places(curve)):
            row: Row = {key: number(getattr(line, key)[k]) for key in ("y", "low", "high")}
            tip = f"{name}: {curve.y_label} {shown(row['y'])} at {x}"
            points.append({"x": x, **row, "line": name, "tip": tip})
    return points


def _lines(curve: Curve) -> list[str]:
    return labels(line.name for line in curve.lines)


def _numeric(curve: Curve) -> bool:
    return all(isinstance(x, int | float) for x in curve.x)


def _places(curve: Curve) -> list[Any]:
    return list(curve.x) if _numeric(curve) else list(labels(map(str, curve.x)))


def draw_curves(curves: Sequence[Curve]) -> Chart:
    """Draw a panel for each curve: values joined by lines where x is a number, and intervals."""
    drawn = [curve for curve in curves if curve.x]
    if not drawn:
        raise UsageError("there is no curve to draw")
    y = "shared" if len({curve.y_label for curve in drawn}) == 1 else "independent"
    panels = [_panel(curve) for curve in drawn]
    resolve = {"scale": {"color": "shared", "y": y}}
    return finish(vega.grid(panels, columns=min(2, len(panels)), resolve=resolve))


def _panel(curve: Curve) -> Chart:
    names, numeric = _lines(curve), _numeric(curve)
    rows = curve_points(curve)
    x = {"field": "x", "type": "ordinal", "title": curve.x_label, "sort": _places(curve),
         "axis": {"labelAngle": 0 if numeric else -40}}  # fmt: skip
    line = {"field": "line", "type": "nominal", "title": None, "sort": names}
    channels: Chart = {"x": x, "color": line}
    if not numeric:
        channels["xOffset"] = {"field": "line", "type": "nominal", "sort": names}
    y = amount("y", curve.y_label)
    layers = []
    with_ends = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if with_ends:
        ends: Chart = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers.append(mark("rule", with_ends, look={"opacity": 0.6}, **ends))
    if numeric:
        layers.append(mark("line", y=y))
    layers.append(mark("point", tip=True, look={"filled": True, "opacity": 1}, y=y))
    return {**vega.chart(rows, *layers, size=(280, 190), **channels),
            "title": printable(curve.title)}  # fmt: skip


def draw_reproduction(result: Reproduction) -> Chart:
    """Draw published figures against ours; those that are equal lie on the diagonal."""
    rows: list[Row] = [
        {"part": row.part, "published": row.published, "ours": row.ours, "verdict": row.verdict,
         "tip": f"{row.what}: published {row.published}, ours {row.ours:.4g}"}
        for row in result.rows
        if _plain(row.published) and _plain(row.ours)
    ]  # fmt: skip
    if not rows:
        raise UsageError("no figure has both a published number and ours: nothing to draw")
    least = -1 if any(min(row["published"], row["ours"]) < 0 for row in rows) else 0
    axes = {name: amount(name, name, domain=(least, 1)) for name in ("published", "ours")}
    x, y = axes["published"], axes["ours"]
    ends = [{"published": end, "ours": end} for end in (least, 1)]
    dashes = {"color": "grey", "strokeDash": [4, 3]}
    verdicts = [verdict for verdict in VERDICTS if any(row["verdict"] == verdict for row in rows)]
    fill = vega.colour("verdict", verdicts, vega.PALETTE)
    panels = []
    for part in dict.fromkeys(row["part"] for row in rows):
        of_part = [row for row in rows if row["part"] == part]
        look = {"filled": True, "opacity": 0.7, "clip": True}
        layers = [mark("line", ends, look=dashes),
                  mark("point", tip=True, look=look, color=fill)]  # fmt: skip
        panels.append(vega.chart(of_part, *layers, size=(180, 180), title=part, x=x, y=y))
    return finish(vega.grid(panels, columns=3), result.title)


def _plain(value: object) -> bool:
    """Tell whether a figure is a share or a correlation, which all but counts are."""
    return isinstance(value, int | float) and abs(value) <= 1
