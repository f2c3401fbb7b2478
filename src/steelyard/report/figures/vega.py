"""Vega-Lite charts as plain dictionaries: marks, scales, the look that all figures share.

A figure is a function from a result (or arrays) to a dictionary. Names of systems and metrics are
untrusted: they occur as data, as domains of scales and in titles, never as names of fields and
never in expressions. A mark speaks (``tip``) where its rows say in the field ``tip`` what it stands
for: on hover, on focus, and to a screen reader.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from steelyard.core.errors import (
    OutOfMemoryError,
    UsageError,
    address_space,
    hint,
    need_extra,
    printable,
)
from steelyard.stats.arrays import Floats

Chart = dict[str, Any]
Row = dict[str, Any]

#: Okabe and Ito's colours, which colour-blind readers can tell apart; tiers take them in turn.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#F0E442")
BLUE, RED, GREEN, PINK, ORANGE, SKY, GREY, YELLOW = PALETTE
INK, FAINT = "#222222", "#DDDDDD"
DIVERGING = ("#A6480A", "#E8A66A", "#F7F7F7", "#7FB3D9", "#0A5A94")  # bad, even, good
SEQUENTIAL = ("#F2F7FB", "#9CC5E3", "#3A88BF", "#083D6B")

MOST = 60  # systems or metrics that one figure shows; the rest would be a blur
_LONGEST = 36  # characters of a name
#: MB of address space. V8 (vl-convert 1.9) reserves 64 GB when it starts; the rest is for our data.
_V8_ROOM = 72 << 10
_BACKSLASH = "\u2216"  # Vega-Lite puts titles into expressions and leaves a plain one unescaped
# Names that every JavaScript object inherits: as a title or key they break Vega, and it draws an
# empty figure. An invisible space makes them names like others.
_INHERITED = frozenset(
    {"constructor", "__proto__", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf",
     "propertyIsEnumerable", "toLocaleString", "__defineGetter__", "__defineSetter__",
     "__lookupGetter__", "__lookupSetter__"}
)  # fmt: skip
CONFIG: Chart = {
    "axis": {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal",
             "labelFontSize": 11, "titleFontSize": 12, "gridColor": "#E8E8E8",
             "domainColor": "#999999", "tickColor": "#999999", "labelLimit": 340},
    "axisX": {"labelFlush": False},
    "view": {"stroke": None},
    "title": {"fontSize": 14, "fontWeight": 600, "subtitleFontSize": 11.5, "color": INK,
              "subtitleColor": "#555555", "subtitlePadding": 5},
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal",
               "labelLimit": 260, "labelColor": INK, "titleColor": INK},
    "header": {"labelFontSize": 12},
    "range": {"category": list(PALETTE)},
    "font": "Helvetica, Arial, sans-serif",
}  # fmt: skip


def need_plots() -> None:
    """Refuse to draw without the library or the address space, before any work is done."""
    need_extra("plots", "a figure")
    _need_address_space()


@cache  # what V8 has reserved for the first figure serves the others
def _need_address_space() -> None:
    """Refuse to start V8, which aborts the process, where it can't reserve what it wants."""
    space = address_space()
    if space is not None and space.left < _V8_ROOM:
        raise OutOfMemoryError(
            f"a figure needs {_V8_ROOM >> 10} GB of address space, and 'ulimit -v' allows "
            f"{space.limit / 1024:.3g} GB in all"
        )


# -- text and numbers


def labels(names: Iterable[str], longest: int = _LONGEST) -> list[str]:
    r"""Make names fit to be shown: no control characters, not too long, all different.

    Examples
    --------
    >>> labels(["A", "a b", "x" * 50, "x" * 51])[1:]
    ['a b', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (2)']
    """
    unique: dict[str, None] = {}
    for name in names:
        text = printable(str(name)).replace("\\", _BACKSLASH) or "(no name)"
        text += "\u200b" if text in _INHERITED else ""
        text = text if len(text) <= longest else text[: longest - 1] + "…"
        candidate, count = text, 1
        while candidate in unique:
            count += 1
            candidate = f"{text} ({count})"
        unique[candidate] = None
    return list(unique)


def label(name: str) -> str:
    """Make one name fit to be shown."""
    return labels([name])[0]


def number(value: Any) -> float | None:
    """Shorten a number to six digits for chart data; what is undefined is None.

    Examples
    --------
    >>> number(0.123456789), number(float("nan"))
    (0.123457, None)
    """
    x = float(value)
    return float(f"{x:.6g}") if math.isfinite(x) else None


def shown(value: float | None) -> str:
    """Write a number for a tip: four digits are enough beside a chart.

    Examples
    --------
    >>> shown(0.123456), shown(1234567), shown(-2.5), shown(None)
    ('0.1235', '1,234,567', '-2.5', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def interval(row: Mapping[str, Any]) -> str:
    """Write a value with its interval, where it has one.

    Examples
    --------
    >>> interval({"value": 0.5, "low": 0.4, "high": 0.6}), interval({"value": 2.0})
    ('0.5 (95% CI 0.4 to 0.6)', '2')
    """
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return shown(row.get("value"))
    return f"{shown(row.get('value'))} (95% CI {shown(low)} to {shown(high)})"


def limited(total: int, what: str) -> str:
    """Say that only the first are shown, where that is so; to be joined to a subtitle."""
    return f"the first {MOST} of {total} {what}" if total > MOST else ""


def chosen(names: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """Check names of figures; each is drawn once.

    Examples
    --------
    >>> chosen(["wins", "wins"], ["forest", "wins"])
    ('wins',)
    """
    every = tuple(known)
    for name in names:
        if name not in every:
            raise UsageError(f"no figure '{name}'; {hint(name, every)}")
    return tuple(dict.fromkeys(names))


def drawn(figures: Mapping[str, Callable[..., Chart]], name: str, *inputs: Any) -> Chart:
    """Draw the figure of this name."""
    chosen([name], figures)
    return figures[name](*inputs)


def bins(values: Floats, most: int = 48, least: int = 8) -> Floats:
    """Edges of bins that follow the spread of values; at least one bin, also for a constant.

    Examples
    --------
    >>> len(bins(np.linspace(0, 1, 1000)))
    10
    >>> bins(np.array([2.0, 2.0])).tolist()
    [1.5, 2.5]
    """
    known = values[np.isfinite(values)]
    if not known.size or np.ptp(known) == 0:
        middle = float(known[0]) if known.size else 0.0
        return np.array([middle - 0.5, middle + 0.5])
    quartiles = float(np.subtract(*np.percentile(known, [75, 25])))
    width = 2 * quartiles * known.size ** (-1 / 3)
    count = most if width <= 0 else int(np.clip(np.ptp(known) / width, least, most))
    return np.linspace(known.min(), known.max(), count + 1)


# -- channels


def amount(
    field: str, title: str | None = None, *, domain: Sequence[Any] | None = None, **more: Any
) -> Chart:
    """Return the channel of a number; the scale has ``domain``, or follows the data."""
    scale: Chart = {"zero": False}
    if domain is not None:
        scale |= {"domain": list(domain), "nice": False}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        **more,
        "scale": {**scale, **more.get("scale", {})},
    }


def category(field: str, names: Sequence[str] | None = None, **axis: Any) -> Chart:
    """Return the channel of names, in their order, with an axis that shows them all."""
    scale = {} if names is None else {"scale": {"domain": list(names)}}
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "axis": {"labelOverlap": False, **axis},
        **scale,
    }


def colour(
    field: str, names: Sequence[str], colours: Sequence[str], title: str | None = None
) -> Chart:
    """Return the channel of a colour per name, with a legend."""
    scale = {"domain": list(names), "range": list(colours)[: len(names)]}
    return {"field": field, "type": "nominal", "title": title, "scale": scale}


def as_is(field: str) -> Chart:
    """Return a channel whose rows hold colours or shapes themselves."""
    return {"field": field, "type": "nominal", "scale": None, "legend": None}


def on_strong() -> Chart:
    """Return the colour of a text: white where its row says that it stands on a strong colour."""
    return {"condition": {"test": "datum.strong", "value": "white"}, "value": INK}


# -- marks and charts


def mark(
    kind: str,
    rows: Sequence[Row] | None = None,
    /,
    *,
    tip: bool = False,
    look: Mapping[str, Any] | None = None,
    **channels: Any,
) -> Chart:
    """Return one layer: marks of a kind for rows (else those of the chart), by their channels."""
    data = {} if rows is None else {"data": {"values": list(rows)}}
    spoken = {"description": {"field": "tip", "type": "nominal"}} if tip else {}
    return {
        **data,
        "mark": {"type": kind, "aria": tip, **(look or {})},
        "encoding": {**channels, **spoken},
    }


def chart(
    rows: Sequence[Row],
    *layers: Chart,
    size: tuple[float, float] | None = None,
    title: str = "",
    **encoding: Any,
) -> Chart:
    """Return a panel of layers over common rows and channels."""
    made: Chart = {"data": {"values": list(rows)}, "layer": list(layers)}
    if encoding:
        made["encoding"] = encoding
    if size is not None:
        made["width"], made["height"] = size
    return titled(made, title)


def titled(panel: Chart, text: str) -> Chart:
    """Give one panel of a figure its title, if there is one."""
    title = {"text": text, "fontSize": 12, "fontWeight": 600, "anchor": "middle"}
    return {**panel, "title": title} if text else panel


def beside(*panels: Chart, spacing: int = 28, **more: Any) -> Chart:
    """Put panels next to each other."""
    return {"hconcat": list(panels), "spacing": spacing, **more}


def grid(panels: Sequence[Chart], columns: int = 2, spacing: int = 26, **more: Any) -> Chart:
    """Put panels into rows of so many columns."""
    return {"concat": list(panels), "columns": columns, "spacing": spacing, **more}


def independent(*channels: str) -> Chart:
    """Return the key by which panels have scales of their own."""
    return {"resolve": {"scale": dict.fromkeys(channels, "independent")}}


def finish(figure: Chart, title: str = "", subtitle: Sequence[str] = ()) -> Chart:
    """Return a whole chart: with its title and the look that all figures share."""
    finished = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", **figure}
    if title:
        lines = [text for text in subtitle if text]
        below = {"subtitle": lines} if lines else {}
        finished["title"] = {"text": title, "anchor": "start", "offset": 12, **below}
    return {**finished, "config": CONFIG}
