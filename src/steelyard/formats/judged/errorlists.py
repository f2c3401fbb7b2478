"""MQM and ESA error lists: who marked which errors in which output.

Either an object with ``errors`` per rating (JSON lines), or a row per error with ``category`` and
``severity``, where the span may be marked as ``<v>...</v>`` in ``target``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import hint
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats import files, layout, tables
from steelyard.formats.judged import directassessment as da
from steelyard.formats.judged import spans
from steelyard.formats.tables import RawTable, one_of

RATER = ("rater", "worker", "annotator")
VALUE = ("value", "score", "esa")
#: Columns that mean something in an error list; others are not read.
KNOWN = frozenset((*RATER, *VALUE, *da.SECONDS, "type", "unit", "category", "severity", "target",
                   "errors"))  # fmt: skip
_SPAN = re.compile(r"<v>(.*?)</v>", re.DOTALL)


def is_text(name: str) -> bool:
    """Tell whether a column of an error list holds names, even where they look like numbers."""
    return name in (*RATER, "type", "unit", "category", "severity", "target", "errors")


def recognise(table: RawTable) -> bool:
    """Tell whether a table holds errors of system outputs."""
    listed = "errors" in table or {"category", "severity"} <= table.columns.keys()
    return listed and layout.SYSTEM[0] in table and any(n in table for n in layout.SEGMENT)


def read(table: RawTable) -> Ratings:
    """Read all ratings; a table without a rater column has one rater, ``unknown``."""
    _, table = layout.language_pair(table)
    segment = layout.segment_column(table)
    assert segment is not None
    rater = one_of(table, RATER, "rater")
    systems, segments = table.labels(layout.SYSTEM[0]), table.labels(segment)
    raters = ["unknown"] * table.n_rows if rater is None else table.labels(rater)
    names = list(zip(systems, segments, raters, strict=True))
    if "errors" not in table:
        return _row_per_error(table, names)
    items = table.texts("type") if "type" in table else [None] * table.n_rows
    units = table.texts("unit") if "unit" in table else [None] * table.n_rows
    column = one_of(table, VALUE, "value")
    values = np.full(table.n_rows, np.nan) if column is None else table.numbers(column)
    took = da.seconds(table)
    rows = []
    for row, name in enumerate(names):
        value = {
            "errors": _listed(table, row),
            "value": float(values[row]),
            "item": items[row] or "system",
        }
        if units[row]:
            value["unit"] = units[row]
        if took is not None:
            value["seconds"] = float(took[row])
        rows.append(spans.parse(value, *name, table.path, table.line(row)))
    return spans.ratings(rows)


def _listed(table: RawTable, row: int) -> Any:
    """Give the errors of a row, unpacked where they are JSON text."""
    cell = table.columns["errors"][row]
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    return files.parse_json(text, table.path, table.line(row)) if text else None


def check_severities(table: RawTable, known: Collection[str]) -> None:
    """Refuse a severity that has no weight, with its line."""
    if "errors" not in table:
        pairs = zip(table.labels("category"), table.labels("severity"), strict=True)
        for row, (category, severity) in enumerate(pairs):
            if not _no_error(category, severity) and severity.casefold() not in known:
                _unknown_severity(table, severity, known, row)
        return
    for row in range(table.n_rows):
        listed = _listed(table, row)
        for error in listed if isinstance(listed, list) else ():
            given = error.get("severity") if isinstance(error, dict) else None
            if isinstance(given, str) and given.casefold() not in known:
                _unknown_severity(table, given, known, row)


def _no_error(category: str, severity: str) -> bool:
    """Tell whether a row says that a rater found nothing wrong."""
    return "no-error" in (category.casefold(), severity.casefold())


def _unknown_severity(table: RawTable, found: str, known: Collection[str], row: int) -> NoReturn:
    listed = hint(found, known)
    table.fail(f"severity '{found}' has no weight; {listed} (--weights FILE.toml adds more)", row)


def _row_per_error(table: RawTable, names: list[tuple[str, str, str]]) -> Ratings:
    categories, severities = table.labels("category"), table.labels("severity")
    targets = table.texts("target") if "target" in table else [None] * table.n_rows
    found: dict[tuple[str, str, str], list[ErrorSpan]] = {}
    for name, category, severity, target in zip(
        names, categories, severities, targets, strict=True
    ):
        errors = found.setdefault(name, [])
        if not _no_error(category, severity):
            errors.append(ErrorSpan(category, severity, *_place(target)))
    return spans.ratings(
        [spans.Rating(*name, float("nan"), tuple(errors)) for name, errors in found.items()]
    )


def _place(target: str | None) -> tuple[int, int] | tuple[None, None]:
    """Find the marked span, counted in the text without the marks."""
    mark = _SPAN.search(target or "")
    return (mark.start(), mark.start() + len(mark[1])) if mark else (None, None)


def write(ratings: Ratings, path: Path) -> None:
    """Write a row per rating, its errors as a list (as JSON text, where cells are flat)."""
    errors = ratings.errors or (None,) * len(ratings)
    columns: dict[str, Any] = {
        "rater": [ratings.raters[code] for code in ratings.rater],
        "system": [ratings.systems[code] for code in ratings.system],
        "seg": [ratings.segments[code] for code in ratings.segment],
        "errors": [None if e is None else [error.to_dict() for error in e] for e in errors],
    }
    if not np.isnan(ratings.value).all():
        columns["value"] = ratings.value
    if ratings.item is not None:
        columns["type"] = list(ratings.item)
    if ratings.unit is not None:
        columns["unit"] = list(ratings.unit)
    if ratings.seconds is not None:
        columns["seconds"] = ratings.seconds
    tables.write(path, columns)
