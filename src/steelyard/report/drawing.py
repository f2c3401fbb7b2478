"""Charts inside the page: SVG that is drawn once, when the report is made, and holds no code.

The reader's browser needs no plotting library, and the page's policy can forbid code from strings.
What vl-convert draws is read as XML and written again with known elements and attributes only.
"""

from __future__ import annotations

import html
import json
from importlib import import_module
from typing import Any
from xml.etree import ElementTree as ET

from steelyard.report.figures import Chart, need_plots

_ELEMENTS = frozenset(
    "svg g path line rect circle text tspan defs clipPath linearGradient stop title".split()
)
_ATTRIBUTES = frozenset(
    "viewBox d x y x1 x2 y1 y2 cx cy r rx ry dx dy transform fill stroke stroke-width "
    "stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit "
    "stroke-opacity fill-opacity opacity text-anchor font-size font-weight font-style offset "
    "stop-color gradientUnits".split()
)
_SIZES = frozenset({"width", "height"})


def svg(chart: Chart, name: str) -> str:
    """Draw a chart as an SVG element; ``name`` makes its inner ids unique on the page.

    What a mark stands for is its ``data-tip``, which the page shows on hover and focus.
    """
    need_plots()
    vl_convert: Any = import_module("vl_convert")
    spec = chart if isinstance(chart, dict) else json.loads(chart.to_json())
    spec["config"] = {**spec.get("config", {}), "background": "transparent"}
    return clean(vl_convert.vegalite_to_svg(spec), name)


def clean(source: str, name: str) -> str:
    """Write an SVG again with what is known to be harmless, and nothing else.

    Examples
    --------
    >>> clean('<svg xmlns="http://www.w3.org/2000/svg" onload="x()"><script>y()</script>'
    ...       '<path d="M0,0" aria-label="A &lt; B" style="color: red"/></svg>', "c")
    '<svg><path d="M0,0" data-tip="A &lt; B"></path></svg>'
    """
    return _write(ET.fromstring(source), name)  # noqa: S314 - our own library wrote it


def _write(element: ET.Element, name: str) -> str:
    tag = element.tag.rpartition("}")[2]
    if tag not in _ELEMENTS or element.get("display") == "none":
        return ""
    attributes = _attributes(tag, element, name)
    inside = html.escape(element.text or "") if tag in ("text", "tspan", "title") else ""
    inside += "".join(_write(child, name) for child in element)
    if tag == "g" and not inside:
        return ""
    return f"<{tag}{attributes}>{inside}</{tag}>"


def _attributes(tag: str, element: ET.Element, name: str) -> str:
    kept: dict[str, str] = {}
    for key, value in element.attrib.items():
        local = key.rpartition("}")[2]
        if local in _ATTRIBUTES or (local in _SIZES and tag in ("rect", "svg")):
            kept[local] = value.replace("url(#", f"url(#{name}-")
        elif local == "id":
            kept["id"] = f"{name}-{value}"
        elif local == "clip-path" and value.startswith("url(#"):
            kept["clip-path"] = value.replace("url(#", f"url(#{name}-")
        elif local == "aria-label" and tag not in ("svg", "g"):
            kept["data-tip"] = value
    if kept.get("fill") == "transparent" and "data-tip" not in kept and "stroke" not in kept:
        kept.pop("fill")
        kept["fill"] = "none"
    return "".join(f' {key}="{html.escape(value)}"' for key, value in kept.items())
