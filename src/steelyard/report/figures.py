"""Figures: an Altair chart for each question, written as PNG, SVG or PDF without a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from steelyard.errors import InputError, MissingDependencyError, UsageError, hint
from steelyard.formats import files

SUFFIXES = ("png", "svg", "pdf")
Chart = Any  # altair is an optional dependency, so its type can't be named


def need_plots() -> None:
    """Refuse to draw without the libraries, before any work is done."""
    if not (find_spec("altair") and find_spec("vl_convert")):
        raise MissingDependencyError(
            "figures need altair and vl-convert: run 'pip install \"steelyard[plots]\"'"
        )


def threshold_curve(curves: Mapping[str, Sequence[tuple[float, float]]]) -> Chart:
    """Draw how many pairs each threshold keeps: a line per set, and their mean if there are more.

    ``curves`` holds (threshold, pairs) for every set.
    """
    need_plots()
    alt: Any = import_module("altair")
    rows = [
        {"set": name, "threshold": float(x), "pairs": float(y)}
        for name, points in curves.items()
        for x, y in points
    ]
    return (
        alt.Chart(alt.Data(values=rows), width=420, height=280)
        .mark_line(point=True)
        .encode(
            x=alt.X("threshold:Q", title="difference of human scores that decides a pair"),
            y=alt.Y("pairs:Q", title="pairs kept", scale=alt.Scale(zero=True)),
            color=alt.Color("set:N", title=None, sort=list(curves)),
            strokeDash=alt.condition("datum.set == 'mean'", alt.value([6, 3]), alt.value([1, 0])),
        )
    )


def write(chart: Chart, path: Path) -> None:
    """Write a chart by its suffix: ``.png``, ``.svg`` or ``.pdf``."""
    need_plots()
    vl_convert: Any = import_module("vl_convert")
    kind = files.suffix(path)
    if kind not in SUFFIXES:
        raise UsageError(f"{path}: can't draw '.{kind}'; {hint(kind, SUFFIXES)}")
    spec = json.loads(chart.to_json())
    try:
        with files.replacing(path) as temporary:
            if kind == "png":
                temporary.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
            elif kind == "svg":
                temporary.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
            else:
                temporary.write_bytes(vl_convert.vegalite_to_pdf(spec))
    except ValueError as error:
        raise InputError(f"the figure can't be drawn ({error})", path=path) from error
