"""MQM and ESA error lists: who marked which errors in which output.

Either an object with ``errors`` per rating (JSON lines), or a row per error with ``category`` and
``severity``, where the span may be marked as ``<v>...</v>`` in ``target``. Folders and native files
hold ratings as the same objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from steelyard.core.errors import InputError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.cells import parse_number
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import directassessment as da
from steelyard.formats.judged import unusedcolumns
from steelyard.formats.rawtable import RawTable, one_of

_SPAN = re.compile(r"<v>(.*?)</v>", re.DOTALL)
NO_SEVERITY = "none"  # what a blank one is called where weights are given


class Rating(NamedTuple):
    """One row of :class:`Ratings`, with names instead of codes."""

    system: str
    segment: str
    rater: str
    value: float
    errors: tuple[ErrorSpan, ...] | None
    item: str = "system"
    unit: str | None = None
    seconds: float = float("nan")
    document: str | None = None
    wave: int = 0
    domain: str | None = None


def ratings(rows: Sequence[Rating]) -> Ratings:
    """Put rows together; columns that nobody filled stay None."""
    errors = tuple(row.errors for row in rows)
    items = tuple(row.item for row in rows)
    units = tuple(row.unit or "" for row in rows)
    documents = tuple(row.document or "" for row in rows)
    waves = tuple(row.wave for row in rows)
    domains = tuple(row.domain or "" for row in rows)
    seconds = np.array([row.seconds for row in rows], dtype=np.float64)
    return Ratings.from_labels(
        [row.system for row in rows],
        [row.segment for row in rows],
        [row.rater for row in rows],
        np.array([row.value for row in rows], dtype=np.float64),
        errors=None if all(e is None for e in errors) else errors,
        item=None if all(i == "system" for i in items) else items,
        unit=units if any(units) else None,
        seconds=None if np.isnan(seconds).all() else seconds,
        document=documents if any(documents) else None,
        wave=waves if any(waves) else None,
        domain=domains if any(domains) else None,
    )


def parse(value: Any, names: tuple[str, str, str], path: Path, line: int) -> Rating:
    """Read the JSON object of one rating: ``errors``, ``value`` or both.

    ``names`` are those of the system, the segment and the rater.
    """

    def fail(message: str) -> NoReturn:
        raise InputError(message, path=path, line=line)

    if not isinstance(value, dict) or not ({"errors", "value"} & value.keys()):
        fail("expected an object with 'errors'")
    listed = value.get("errors")
    if not (listed is None or isinstance(listed, list)):
        fail("'errors' should be a list")
    number = parse_number(value.get("value"))
    if number is None or np.isinf(number):
        fail(f"'value' should be a finite number, found {value.get('value')!r}")
    found = None if listed is None else tuple(_parse_error(e, path, line) for e in listed)
    item, unit = value.get("item", "system"), value.get("unit")
    seconds = parse_number(value.get("seconds"))
    if seconds is None or np.isinf(seconds):
        fail(f"'seconds' should be a finite number, found {value.get('seconds')!r}")
    wave = value.get("wave", 0)
    if isinstance(wave, bool) or not isinstance(wave, int) or wave < 0:
        fail(f"'wave' should be a whole number from 1, found {wave!r}")
    names_of = (unit, value.get("document"), value.get("domain"))
    unit, document, domain = (None if name is None else str(name) for name in names_of)
    return Rating(*names, number, found, str(item), unit, seconds, document, wave, domain)


def _parse_error(value: Any, path: Path, line: int) -> ErrorSpan:
    def fail(key: str, expected: str) -> NoReturn:
        found = repr(value.get(key) if isinstance(value, dict) else value)
        found = found if len(found) <= 60 else found[:57] + "..."
        raise InputError(f"error's '{key}': {found}, expected {expected}", path=path, line=line)

    if not isinstance(value, dict):
        fail("object", "an object")
    for key in ("category", "severity"):
        if key not in value or not isinstance(value[key], str | None):
            fail(key, "text or null")
    for key in ("start", "end"):
        place = value.get(key)
        if place is not None and (isinstance(place, bool) or not isinstance(place, int)):
            fail(key, "a whole number")
    score = parse_number(value.get("score"))
    if score is None or np.isinf(score):
        fail("score", "a finite number")
    return ErrorSpan(
        value["category"] or "",
        value["severity"] or "",
        value.get("start"),
        value.get("end"),
        None if np.isnan(score) else score,
        bool(value.get("is_source_error", False)),
    )


def to_dict(ratings: Ratings, row: int) -> dict[str, Any]:
    """Give the JSON object of one row, the inverse of :func:`parse`."""
    value: dict[str, Any] = {}
    if ratings.errors is not None and ratings.errors[row] is not None:
        value["errors"] = [error.to_dict() for error in ratings.errors[row] or ()]
    if not np.isnan(ratings.value[row]) or not value:
        value["value"] = float(ratings.value[row])
    if ratings.item is not None and ratings.item[row] != "system":
        value["item"] = ratings.item[row]
    if ratings.unit is not None and ratings.unit[row]:
        value["unit"] = ratings.unit[row]
    if ratings.seconds is not None and not np.isnan(ratings.seconds[row]):
        value["seconds"] = float(ratings.seconds[row])
    if ratings.document is not None and ratings.document[row]:
        value["document"] = ratings.document[row]
    if ratings.wave is not None and ratings.wave[row]:
        value["wave"] = ratings.wave[row]
    if ratings.domain is not None and ratings.domain[row]:
        value["domain"] = ratings.domain[row]
    return value


def read(table: RawTable) -> Ratings:
    """Read all ratings; a table without a rater column has one rater, ``unknown``."""
    _, table = roles.language_pair(table)
    segment = roles.segment_column(table)
    assert segment is not None
    rater = one_of(table, roles.RATER, "rater")
    systems, segments = table.labels(roles.SYSTEM[0]), table.labels(segment)
    raters = ["unknown"] * table.n_rows if rater is None else table.labels(rater)
    names = list(zip(systems, segments, raters, strict=True))
    if "errors" not in table:
        return _row_per_error(table, names)
    items = table.texts("type") if "type" in table else [None] * table.n_rows
    units = table.texts("unit") if "unit" in table else [None] * table.n_rows
    documents = da.documents(table) or [None] * table.n_rows
    domains = da.domains(table) or [None] * table.n_rows
    column = one_of(table, roles.ERROR_VALUE, "value")
    values = np.full(table.n_rows, np.nan) if column is None else table.numbers(column)
    took = da.seconds(table)
    rows = []
    for row, name in enumerate(names):
        value = {
            "errors": _listed(table, row),
            "value": float(values[row]),
            "item": items[row] or "system",
            "document": documents[row],
            "domain": domains[row],
        }
        if units[row]:
            value["unit"] = units[row]
        if took is not None:
            value["seconds"] = float(took[row])
        rows.append(parse(value, name, table.path, table.line(row)))
    return ratings(rows)


def _listed(table: RawTable, row: int) -> Any:
    """Give the errors of a row, unpacked where they are JSON text."""
    cell = table.columns["errors"][row]
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    return files.parse_json(text, table.path, table.line(row)) if text else None


def check_severities(table: RawTable, known: Collection[str]) -> None:
    """Refuse severities that have no weight, counted, with the line of the first."""
    counts: Counter[str] = Counter()
    first = None
    for row, given in _severities(table):
        if severity(given) not in known:
            counts[given] += 1
            first = row if first is None else first
    if first is not None:
        table.fail(no_weight(counts, known), first)


def severity(given: str) -> str:
    """Give the name by which a severity has its weight."""
    return given.casefold().strip() or NO_SEVERITY


def no_weight(counts: Mapping[str, int], known: Collection[str]) -> str:
    """Say which severities have no weight, and how to give them one.

    Examples
    --------
    >>> print(no_weight({"undecided": 2, "": 1}, ["major"]))
    severities 'undecided' (2 errors), 'none' (1 error) have no weight; known: major
    (severity={"undecided": 0} sets one, or weights=FILE.toml)
    """
    names = {given.strip() or NO_SEVERITY: n for given, n in counts.items()}
    shown = ", ".join(f"'{name}' ({plural(n, 'error')})" for name, n in names.items())
    what = f"severity {shown} has" if len(names) == 1 else f"severities {shown} have"
    one = next(iter(names))
    return f"{what} no weight; {hint(one, known)} ({weighing(one)})"


def weighing(name: str) -> str:
    """Say how to give a severity a weight."""
    return f'severity={{"{name}": 0}} sets one, or weights=FILE.toml'


def _severities(table: RawTable) -> Iterator[tuple[int, str]]:
    """Go through the severities of the errors that count, each with its row."""
    kinds = table.texts("type") if "type" in table else [None] * table.n_rows
    rows = [row for row, kind in enumerate(kinds) if da.counts(kind)]
    if "errors" not in table:
        categories, severities = _blank(table, "category"), _blank(table, "severity")
        for row in rows:
            if not _no_error(categories[row], severities[row]):
                yield row, severities[row]
        return
    for row in rows:
        listed = _listed(table, row)
        for error in listed if isinstance(listed, list) else ():
            given = error.get("severity", "") if isinstance(error, dict) else ""
            if isinstance(given, str | None) and isinstance(error, dict):
                yield row, given or ""


def _blank(table: RawTable, column: str) -> list[str]:
    return [text or "" for text in table.texts(column)]


def _no_error(category: str, severity: str) -> bool:
    """Tell whether a row says that a rater found nothing wrong, or says nothing at all."""
    return "no-error" in (category.casefold(), severity.casefold()) or not (category or severity)


def _row_per_error(table: RawTable, names: list[tuple[str, str, str]]) -> Ratings:
    categories, severities = _blank(table, "category"), _blank(table, "severity")
    targets = table.texts("target") if "target" in table else [None] * table.n_rows
    blank = [None] * table.n_rows
    segments = zip(da.documents(table) or blank, da.domains(table) or blank, strict=True)
    found: dict[tuple[str, str, str], list[ErrorSpan]] = {}
    segment_of = {}  # document and domain
    for name, category, severity, target, segment in zip(
        names, categories, severities, targets, segments, strict=True
    ):
        errors = found.setdefault(name, [])
        segment_of[name] = segment
        if not _no_error(category, severity):
            errors.append(ErrorSpan(category, severity, *marked_span(target)))
    return ratings(
        [
            Rating(*name, float("nan"), tuple(errors), document=document, domain=domain)
            for (name, errors), (document, domain) in zip(
                found.items(), segment_of.values(), strict=True
            )
        ]
    )


def marked_span(target: str | None) -> tuple[int, int] | tuple[None, None]:
    """Find the marked span, counted in the text without the marks."""
    mark = _SPAN.search(target or "")
    return (mark.start(), mark.start() + len(mark[1])) if mark else (None, None)


def write(ratings: Ratings, path: Path) -> None:
    """Write a row per rating, its errors as a list (as JSON text, where cells are flat)."""
    errors = ratings.errors or (None,) * len(ratings)
    judged: dict[str, Any] = {
        "errors": [None if e is None else [error.to_dict() for error in e] for e in errors]
    }
    if not np.isnan(ratings.value).all():
        judged["value"] = ratings.value
    da.write_columns(ratings, path, "seg", judged)


FORMAT = TableFormat(
    name="error list",
    gives=Ratings,
    known_by="errors, or category and severity, beside system and segment",
    example="rater,system,segment,category,severity\nr1,A,1,Accuracy/Omission,Major\n",
    example_name="mqm.csv",
    marks=("errors system segment", "category severity system segment"),
    prepare=unusedcolumns.told(unusedcolumns.of_ratings),
    read=read,
    write=write,
    to="errors",
    suits=lambda value, _path: value.errors is not None,
)
