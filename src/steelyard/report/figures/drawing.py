"""Charts become pictures, without a browser: files by their suffix, and SVG inside the page.

What stands in the page is drawn once, when the report is made, and holds no code.
The reader's browser needs no plotting library, and the page's policy can forbid code from strings.
What vl-convert draws is read as XML and written again with known elements and attributes only.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.formats import files
from steelyard.report.figures.vega import Chart, need_plots

SUFFIXES = ("png", "svg", "pdf")
_ELEMENTS = frozenset(
    ("svg", "g", "path", "line", "rect", "circle", "text", "tspan", "defs", "clipPath",
     "linearGradient", "stop")
)  # fmt: skip
_NUMBERS = frozenset(
    ("d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "dx", "dy", "transform")
)
_ATTRIBUTES = frozenset(
    ("viewBox", "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-dashoffset",
     "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "fill-opacity",
     "opacity", "text-anchor", "font-size", "font-weight", "font-style", "offset", "stop-color",
     "gradientUnits", "clip-path")
)  # fmt: skip
_DEFAULTS = frozenset(
    {("opacity", "1"), ("transform", "translate(0,0)"), ("font-weight", "normal")}
)
_LONG = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_URL = re.compile(r"url\(#([^)]*)\)")
_ROOM = 12


class Figure(Chart):
    """A figure of a result: its Vega-Lite specification, which can be saved and shown."""

    def save(self, path: str | Path) -> None:
        """Write the figure by its suffix: ``.png``, ``.svg`` or ``.pdf``."""
        write(self, Path(path))

    def _repr_svg_(self) -> str:
        return render(self, "svg").decode()


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as an SVG element, with its title and what stands below the title as text."""

    svg: str
    title: str = ""
    about: str = ""


def draw(chart: Chart, name: str) -> Drawing:
    """Draw a chart; ``name`` makes its inner ids unique on the page.

    Titles become text of the page, where they break into lines, and the label of the picture. What
    a mark stands for is its ``data-tip``, which the page shows on hover and on focus.
    """
    need_plots()
    vl_convert: Any = import_module("vl_convert")
    titles = chart.get("title", {})
    titles = titles if isinstance(titles, dict) else {"text": titles}
    plain = {key: part for key, part in chart.items() if key != "title"}
    plain["config"] = {**chart.get("config", {}), "background": "transparent"}
    title, about = str(titles.get("text", "")), "; ".join(titles.get("subtitle", ()))
    picture = clean(vl_convert.vegalite_to_svg(plain), name)
    label = html.escape(". ".join(part for part in (title, about) if part))
    picture = picture.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
    return Drawing(picture, title, about)


def clean(source: str, name: str) -> str:
    """Write an SVG again with what is known to be harmless, and nothing else.

    Examples
    --------
    >>> clean('<svg xmlns="http://www.w3.org/2000/svg" onload="x()"><script>y()</script>'
    ...       '<path d="M0,0.123456" aria-label="A &lt; B" style="color: red"/></svg>', "c")
    '<svg><path d="M0,0.12" data-tip="A &lt; B"/></svg>'
    """
    root = ET.fromstring(source)  # noqa: S314 - our own library wrote it
    # Vega counts ids on from chart to chart; here they count from 0 in every chart.
    ids = [element.get("id", "") for element in root.iter() if element.get("id")]
    return _write(root, {old: f"{name}-{k}" for k, old in enumerate(ids)})


def _write(element: ET.Element, names: Mapping[str, str]) -> str:
    tag = element.tag.rpartition("}")[2]
    if tag not in _ELEMENTS or element.get("display") == "none":
        return ""
    attributes = _attributes(tag, element, names)
    inside = html.escape(element.text or "") if tag in ("text", "tspan") else ""
    inside += "".join(_write(child, names) for child in element)
    if inside:
        return f"<{tag}{attributes}>{inside}</{tag}>"
    hidden = tag == "path" and not element.get("fill") and not element.get("stroke")
    if tag in ("g", "text") or (hidden and not element.get("aria-label")):
        return ""
    return f"<{tag}{attributes}/>"


def _attributes(tag: str, element: ET.Element, names: Mapping[str, str]) -> str:
    kept: dict[str, str] = {}
    for key, value in element.attrib.items():
        local = key.rpartition("}")[2]
        if (local, value) in _DEFAULTS:
            continue
        if local in _NUMBERS:
            kept[local] = _LONG.sub(lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), value)
        elif local in _ATTRIBUTES or (local in ("width", "height") and tag in ("rect", "svg")):
            kept[local] = _URL.sub(lambda m: f"url(#{names.get(m[1], '')})", value)
        elif local == "id":
            kept["id"] = names[value]
        elif local == "aria-label" and tag not in ("svg", "g"):
            kept["data-tip"] = value
    if tag == "svg":
        _widen(kept)
    return "".join(f' {key}="{html.escape(value)}"' for key, value in kept.items())


def _widen(kept: dict[str, str]) -> None:
    """Leave room at both sides: a reader's font may be wider than the one that was measured."""
    box = kept.get("viewBox", "").split()
    if len(box) == 4:
        width = float(box[2]) + 2 * _ROOM
        kept["viewBox"] = f"{-_ROOM} {box[1]} {width:g} {box[3]}"
        kept["width"] = f"{width:g}"


def render(figure: Chart, kind: str) -> bytes:
    """Draw a chart as ``png``, ``svg`` or ``pdf``."""
    need_plots()
    vl_convert: Any = import_module("vl_convert")
    if kind not in SUFFIXES:
        raise UsageError(f"can't draw '.{kind}'; {hint(kind, SUFFIXES)}")
    if kind == "png":
        return bytes(vl_convert.vegalite_to_png(figure, scale=2))
    if kind == "svg":
        return str(vl_convert.vegalite_to_svg(figure)).encode()
    return bytes(vl_convert.vegalite_to_pdf(figure))


def write(figure: Chart, path: Path) -> None:
    """Write a chart by its suffix: ``.png``, ``.svg`` or ``.pdf``."""
    write_all({"": lambda: figure}, path)


def figure_paths(names: Sequence[str], path: Path) -> dict[str, Path]:
    """Say where figures go: one to the path itself, several beside it with their names.

    Examples
    --------
    >>> [str(p) for p in figure_paths(["forest", "wins"], Path("f.png")).values()]
    ['f-forest.png', 'f-wins.png']
    """
    if len(names) == 1:
        return {names[0]: path}
    return {name: path.with_name(f"{path.stem}-{name}{path.suffix}") for name in names}


def write_all(charts: Mapping[str, Callable[[], Chart]], path: Path) -> list[Path]:
    """Draw all charts, then write them; nothing is written if one of them can't be drawn."""
    kind = files.suffix(path)
    if kind not in SUFFIXES:
        raise UsageError(f"{path}: can't draw '.{kind}'; {hint(kind, SUFFIXES)}")
    places = figure_paths(list(charts), path)
    drawn = {}
    for name, make in charts.items():
        try:
            drawn[name] = render(make(), kind)
        except ValueError as error:
            place = places[name]
            raise InputError(f"the figure can't be drawn ({error})", path=place) from error
    for name, content in drawn.items():
        with files.replacing(places[name]) as temporary:
            temporary.write_bytes(content)
    return list(places.values())
