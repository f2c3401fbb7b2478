"""What the marks of a chart say: names and values in words, for hover, focus and screen readers.

A mark speaks if its chart has a tooltip. A row says what its mark stands for in the field ``tip``;
without one, the fields of the tooltip are listed. All other marks (lines to the eye, numbers on
bars) are silent. Tips are data: nothing in them is ever run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.report.figures.style import Row

_PARTS = ("layer", "hconcat", "vconcat", "concat")


def speak(spec: dict[str, Any], rows: dict[str, Sequence[Any]]) -> None:
    """Give every mark of a Vega-Lite chart its words; ``rows`` are its data sets by name."""
    told: dict[tuple[str, tuple[str, ...]], str] = {}

    def walk(part: dict[str, Any], data: Any) -> None:
        data = part.get("data", data)
        for inner in (own for key in _PARTS for own in part.get(key, ())):
            walk(inner, data)
        if "mark" not in part:
            return
        mark = part["mark"] if isinstance(part["mark"], dict) else {"type": part["mark"]}
        fields = _fields(part.get("encoding", {}).pop("tooltip", ()))
        name = data.get("name") if isinstance(data, dict) else None
        part["mark"] = {**mark, "aria": False}
        if not fields or name not in rows:
            return
        key = (name, fields)
        if key not in told:
            told[key] = f"{name}-told-{len(told)}"
            rows[told[key]] = [{**row, "tip": words(row, fields)} for row in rows[name]]
        part["mark"] = mark
        part["data"] = {"name": told[key]}
        part["encoding"]["description"] = {"field": "tip", "type": "nominal"}

    walk(spec, None)


def _fields(tooltip: Any) -> tuple[str, ...]:
    listed = [tooltip] if isinstance(tooltip, dict) else tooltip
    return tuple(own["field"] for own in listed if "field" in own)


def words(row: Row, fields: Sequence[str]) -> str:
    """Say what a row stands for: its ``tip``, or else names first and then numbers by field.

    Examples
    --------
    >>> words({"name": "A", "value": 0.25, "low": None}, ["name", "value", "low"])
    'A: value 0.25'
    """
    if row.get("tip"):
        return str(row["tip"])
    known = {name: row.get(name) for name in fields if row.get(name) not in (None, "")}
    names = [str(own) for own in known.values() if isinstance(own, str)]
    values = [f"{name} {shown(own)}" for name, own in known.items() if not isinstance(own, str)]
    return ": ".join(part for part in (", ".join(names), ", ".join(values)) if part)


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
    ('0.5 (95% interval 0.4 to 0.6)', '2')
    """
    low, high = row.get("low"), row.get("high")
    if low is None or high is None:
        return shown(row.get("value"))
    return f"{shown(row.get('value'))} (95% interval {shown(low)} to {shown(high)})"
