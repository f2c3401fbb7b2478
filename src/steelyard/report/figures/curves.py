"""Charts of studies and of papers: curves with intervals, and published figures against ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from steelyard.core.errors import UsageError, printable
from steelyard.report.figures.style import Chart, alt, labels, plot, typed
from steelyard.reproduction.reproduction import VERDICTS, Reproduction
from steelyard.studies.study import Curve

_COLUMNS = 2  # panels beside each other


def curve_points(curve: Curve) -> list[dict[str, Any]]:
    """List the points of a panel; what is undefined is None.

    Examples
    --------
    >>> import numpy as np
    >>> from steelyard.studies.study import Curve, Line
    >>> one = Line("bt", np.array([0.8]), np.array([0.7]), np.array([np.nan]), (9,))
    >>> curve_points(Curve("a", "all", "systems", "tau", (5,), (one,)))
    [{'x': 5, 'y': 0.8, 'low': 0.7, 'high': None, 'line': 'bt'}]
    """
    return [
        {
            "x": x,
            **{key: _number(getattr(line, key)[k]) for key in ("y", "low", "high")},
            "line": name,
        }
        for name, line in zip(_lines(curve), curve.lines, strict=True)
        for k, x in enumerate(_places(curve))
    ]


def _lines(curve: Curve) -> list[str]:
    return labels(line.name for line in curve.lines)


def _places(curve: Curve) -> list[Any]:
    """Give the places on the x axis; names are made fit to be shown."""
    if _numeric(curve):
        return list(curve.x)
    return list(labels(map(str, curve.x)))


def _numeric(curve: Curve) -> bool:
    return all(isinstance(x, int | float) for x in curve.x)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def draw_curves(curves: Sequence[Curve]) -> Chart:
    """Draw a panel for each curve: values joined by lines where x is a number, and intervals."""
    shown = [curve for curve in curves if curve.x]
    if not shown:
        raise UsageError("there is no curve to draw")
    panels = [_panel(curve) for curve in shown]
    columns = min(_COLUMNS, len(panels))
    y = "shared" if len({curve.y_label for curve in shown}) == 1 else "independent"
    return alt.concat(*panels, columns=columns).resolve_scale(color="shared", y=y)


def _panel(curve: Curve) -> Chart:
    names, numeric = _lines(curve), _numeric(curve)
    x: dict[str, Any] = {"title": curve.x_label, "sort": _places(curve)}
    offset = {} if numeric else {"xOffset": alt.XOffset("line:N", sort=names)}
    base = plot(curve_points(curve), width=280, height=190, title=printable(curve.title)).encode(
        **typed(
            x=alt.X("x:O", axis=alt.Axis(labelAngle=0 if numeric else -40), **x),
            color=alt.Color("line:N", title=None, sort=names),
            **offset,
        )
    )
    y = alt.Y("y:Q", title=curve.y_label, scale=alt.Scale(zero=False))
    bars = base.mark_rule(opacity=0.6).encode(
        **typed(y=alt.Y("low:Q", title=curve.y_label), y2="high:Q")
    )
    points = base.mark_line(point=True) if numeric else base.mark_point(filled=True)
    return alt.layer(bars, points.encode(**typed(y=y)))


def draw_reproduction(found: Reproduction) -> Chart:
    """Draw published figures against ours; those that are equal lie on the diagonal."""
    shown = ("part", "what", "published", "ours", "verdict")
    rows: list[dict[str, Any]] = [
        {name: getattr(row, name) for name in shown}
        for row in found.rows
        if _plain(row.published) and _plain(row.ours)
    ]
    if not rows:
        raise UsageError("no figure has both a published number and ours: nothing to draw")
    least = -1 if any(min(row["published"], row["ours"]) < 0 for row in rows) else 0
    scale = alt.Scale(domain=[least, 1], clamp=True)
    points = (
        plot(rows, width=180, height=180)
        .mark_point(filled=True, opacity=0.7)
        .encode(
            **typed(
                x=alt.X("published:Q", scale=scale),
                y=alt.Y("ours:Q", scale=scale),
                color=alt.Color("verdict:N", title=None, sort=list(VERDICTS)),
                tooltip=["what:N", "published:Q", "ours:Q"],
            )
        )
    )
    ends = [{"published": least, "ours": least}, {"published": 1, "ours": 1}]
    line = plot(ends).mark_line(color="grey", strokeDash=[4, 3])
    diagonal = line.encode(**typed(x="published:Q", y="ours:Q"))
    parts = list(dict.fromkeys(row["part"] for row in rows))
    panels = [
        alt.layer(
            diagonal,
            points.transform_filter(alt.datum.part == part),
            title=part,
        )
        for part in parts
    ]
    return alt.concat(*panels, columns=3, title=found.title)


def _plain(value: object) -> bool:
    """Tell whether a figure is a share or a correlation, which all but counts are."""
    return isinstance(value, int | float) and abs(value) <= 1
