"""What a chart holds, for tests: its data, its expressions, and what it looks like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from steelyard.report.figures import drawing

HOSTILE = ("<script>alert(1)</script>", "constructor", "__proto__", "datum.x['y']", "a\"b'c\\",
           "{{7*7}}", "עברית", "=1+1", "line\nbreak", "x" * 80, "x" * 81, "$a_b&c%#~^",
           "\u202eevil", "javascript:alert(1)")  # fmt: skip


def _parts(chart: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary of a chart's specification, from the outside in."""

    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            yield value
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    yield from walk(chart)


def rows(chart: Any, *keys: str) -> list[dict[str, Any]]:
    """All rows of data that have these keys, each once."""
    held = (part["data"]["values"] for part in _parts(chart) if "data" in part)
    distinct: list[dict[str, Any]] = []
    for row in (row for rows in held for row in rows):
        if set(keys) <= set(row) and row not in distinct:
            distinct.append(row)
    return distinct


def expressions(chart: Any) -> set[str]:
    """Every expression that Vega would run."""
    return {part[key] for part in _parts(chart) for key in ("test", "expr", "signal", "labelExpr")
            if isinstance(part.get(key), str)}  # fmt: skip


def fields(chart: Any) -> set[str]:
    """The names of the fields that are encoded."""
    return {part["field"] for part in _parts(chart) if isinstance(part.get("field"), str)}


def drawn(chart: Any) -> tuple[set[str], str]:
    """Draw a chart; give the kinds of elements and all text."""
    tree = ET.fromstring(drawing.render(chart, "svg"))
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    return tags, "\n".join(element.text or "" for element in tree.iter())


class Look:
    """The functions above, for tests."""

    hostile = HOSTILE
    rows = staticmethod(rows)
    expressions = staticmethod(expressions)
    fields = staticmethod(fields)
    drawn = staticmethod(drawn)

    def inert(self, chart: Any) -> None:
        """Check that names are nowhere but in data, domains and titles."""
        bad = [e for e in expressions(chart) if "alert" in e or "script" in e or "__" in e]
        assert not bad
        assert not [name for name in fields(chart) if not name.isalnum()]


@pytest.fixture(scope="session")
def look() -> Look:
    """Look into charts."""
    return Look()
