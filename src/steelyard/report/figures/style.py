"""What all figures share: libraries, colours, labels, the look.

A figure is a plain function from a result (or arrays) to an Altair chart. Names of systems and
metrics are untrusted: they occur as data, as literal domains of scales and in titles, never as
names of fields and never in expressions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
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

Chart = Any  # altair is an optional dependency, so its type can't be named
Row = dict[str, Any]

#: Okabe and Ito's colours, which colour-blind readers can tell apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#F0E442")
BLUE, RED, GREEN, PINK, ORANGE, SKY, GREY, YELLOW = PALETTE
INK, FAINT, PALE = "#222222", "#DDDDDD", "#F0F0F0"
DIVERGING = ("#A6480A", "#E8A66A", "#F7F7F7", "#7FB3D9", "#0A5A94")  # bad, even, good
SEQUENTIAL = ("#F2F7FB", "#9CC5E3", "#3A88BF", "#083D6B")

#: Other names that people have for figures, each with those that may be meant.
OTHER_NAMES = {
    **dict.fromkeys(
        ("bar", "bars", "barplot", "intervals", "errorbars", "ci", "means"),
        ("forest", "ranking", "leaderboard", "agreement"),
    ),
    **dict.fromkeys(
        ("heatmap", "matrix", "pairs", "p-values", "significance"),
        ("pairwise", "pvalues", "comparison", "confusion"),
    ),
    **dict.fromkeys(("scatterplot", "points", "correlation"), ("scatter", "density", "people")),
    **dict.fromkeys(("histogram", "hist", "distribution", "violin", "box"), ("differences",)),
    **dict.fromkeys(("win-rate", "battles"), ("wins",)),
    **dict.fromkeys(("rank", "places"), ("ranks", "ranking")),
    **dict.fromkeys(("raters", "strictness"), ("severity",)),
}

MOST = 60  # systems or metrics that one figure shows; the rest would be a blur
_LONGEST = 36  # characters of a name
#: MB of address space. V8 (vl-convert 1.9) reserves 64 GB when it starts; the rest is for our data.
_V8_ROOM = 72 << 10
_BACKSLASH = "\u2216"  # Vega-Lite puts titles into expressions and leaves a plain one unescaped
_DIGITS = 6  # significant digits in chart data
# Names that every JavaScript object inherits: as a title or key they break Vega, and it draws an
# empty figure. An invisible space makes them names like others.
_INHERITED = frozenset(
    {"constructor", "__proto__", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf",
     "propertyIsEnumerable", "toLocaleString", "__defineGetter__", "__defineSetter__",
     "__lookupGetter__", "__lookupSetter__"}
)  # fmt: skip


def need_plots() -> None:
    """Refuse to draw without the libraries or the address space, before any work is done."""
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


class _Altair:
    """Altair, imported when it is first needed; without it, an error says how to install it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        need_extra("plots", "a figure")
        return getattr(import_module("altair"), name)


alt: Any = _Altair()


def labels(names: Iterable[str], longest: int = _LONGEST) -> list[str]:
    r"""Make names fit to be shown: no control characters, not too long, all different.

    Examples
    --------
    >>> labels(["A", "a b", "x" * 50, "x" * 51])[1:]
    ['a b', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (2)']
    """
    found: dict[str, None] = {}
    for name in names:
        text = printable(str(name)).replace("\\", _BACKSLASH) or "(no name)"
        text += "\u200b" if text in _INHERITED else ""
        text = text if len(text) <= longest else text[: longest - 1] + "…"
        unique, count = text, 1
        while unique in found:
            count += 1
            unique = f"{text} ({count})"
        found[unique] = None
    return list(found)


#: Rows of the charts that are being drawn, by the names under which charts know them.
_HELD: ContextVar[dict[str, Sequence[Any]] | None] = ContextVar("held", default=None)


@contextmanager
def held_rows() -> Iterator[dict[str, Sequence[Any]]]:
    """Keep rows of charts that are made meanwhile beside them, where they can be had by name.

    Altair copies a chart, with all of its rows, whenever it becomes part of another one.
    """
    held: dict[str, Sequence[Any]] = {}
    token = _HELD.set(held)
    try:
        yield held
    finally:
        _HELD.reset(token)


def plot(rows: Sequence[Any], **about: Any) -> Chart:
    """Begin a chart of rows; Altair would check an object of its own row by row."""
    held = _HELD.get()
    if held is None:
        return alt.Chart({"values": rows}, **about)
    name = f"rows-{len(held)}"
    held[name] = rows
    return alt.Chart({"name": name}, **about)


def typed(**channels: Any) -> dict[str, Any]:
    """Give channels of a chart as objects of their classes: ``x2="end:Q"`` as ``alt.X2("end:Q")``.

    For a string or a dictionary, Altair compares all classes it has, which takes longer than the
    rest of the chart.
    """
    found = {name: _of_class(name[0].upper() + name[1:], own) for name, own in channels.items()}
    if _HELD.get() is not None:
        for own in found.values():
            _share(own)
    return found


def _share(channel: Any) -> None:
    """Let copies of a chart have this very channel, where nobody will change it.

    Altair copies a chart with all that is in it for every layer, row, title and look.
    """
    for own in channel if isinstance(channel, list) else [channel]:
        if hasattr(own, "_kwds"):  # else a plain value, which is no work to copy
            object.__setattr__(own, "__deepcopy__", lambda same: same)


def _of_class(name: str, given: Any) -> Any:
    if isinstance(given, list):
        return [_of_class(name, own) for own in given]
    if isinstance(given, str):
        return getattr(alt, name)(given)
    if isinstance(given, dict):
        return getattr(alt, f"{name}Value" if "value" in given else f"{name}Datum")(**given)
    return given


def label(name: str) -> str:
    """Make one name fit to be shown."""
    return labels([name])[0]


def number(value: Any) -> float | None:
    """Shorten a number for chart data; what is undefined is None.

    Examples
    --------
    >>> number(0.123456789), number(float("nan"))
    (0.123457, None)
    """
    x = float(value)
    return float(f"{x:.{_DIGITS}g}") if math.isfinite(x) else None


def limited(total: int, what: str) -> str:
    """Say that only the first are shown, where that is so; to be joined to a subtitle."""
    return f"the first {MOST} of {total} {what}" if total > MOST else ""


def finish(figure: Chart, title: str = "", subtitle: Sequence[str] = ()) -> Chart:
    """Give a chart its title and the look that all figures share; it is changed in place."""
    if title:
        lines = [text for text in subtitle if text]
        more: dict[str, Any] = {"subtitle": lines} if lines else {}
        figure.title = {"text": title, "anchor": "start", "offset": 12, **more}
    # Altair's own methods for both put the whole chart together anew, with copies of all parts.
    figure.config = alt.Config(
        axis={"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal",
              "labelFontSize": 11, "titleFontSize": 12, "gridColor": "#E8E8E8",
              "domainColor": "#999999", "tickColor": "#999999", "labelLimit": 340},
        axisX={"labelFlush": False},
        view={"stroke": None},
        title={"fontSize": 14, "fontWeight": 600, "subtitleFontSize": 11.5, "color": INK,
               "subtitleColor": "#555555", "subtitlePadding": 5},
        legend={"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal",
                "labelLimit": 260, "labelColor": INK, "titleColor": INK},
        header={"labelFontSize": 12},
        range={"category": list(PALETTE)},
        font="Helvetica, Arial, sans-serif",
    )  # fmt: skip
    return figure


def titled(panel: Chart, text: str) -> Chart:
    """Give one panel of a figure its title, if there is one; it is changed in place."""
    if text:
        panel.title = {"text": text, "fontSize": 12, "fontWeight": 600, "anchor": "middle"}
    return panel


def bins(values: Any, most: int = 48, least: int = 8) -> Any:
    """Edges of bins that follow the spread of values; at least one bin, also for a constant.

    Examples
    --------
    >>> import numpy as np
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


def chosen(names: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """Check names of figures; each is drawn once.

    Examples
    --------
    >>> chosen(["wins", "wins"], ["forest", "wins"])
    ('wins',)
    """
    every = tuple(known)
    also = {
        word: one for one in reversed(every) for word, means in OTHER_NAMES.items() if one in means
    }
    for name in names:
        if name not in every:
            raise UsageError(f"no figure '{name}'; {hint(name, every, also)}")
    return tuple(dict.fromkeys(names))
