"""Marked errors (MQM, ESA): who marked which errors in which output, and where spans are.

A table has ``errors`` per rating (JSON lines), or a row per error with ``category`` and
``severity``, where the span may be marked as ``<v>...</v>`` in ``target``. Folders and native files
hold ratings as the same objects. Other tools include the end of a span, or count UTF-16 units.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import InputError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.cells import brief, parse_number
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import ratings as scored
from steelyard.formats.judged import unusedcolumns
from steelyard.formats.judged.builder import NOBODY, Rating, ratings
from steelyard.formats.rawtable import RawTable, one_of
from steelyard.formats.reshape import within_documents
from steelyard.formats.view import Record

MISSING = "missing"  # instead of both ends of an omission
NO_SEVERITY = "none"  # what a blank one is called where weights are given
_SPAN = re.compile(r"<v>(.*?)</v>", re.DOTALL)


def parse(value: Any, names: tuple[str, str, str], path: Path, line: int) -> Rating:
    """Read the JSON object of one rating: ``errors``, ``value`` or both.

    ``names`` are those of the system, the segment and the rater.
    """

    def fail(message: str) -> NoReturn:
        raise InputError(message, path=path, line=line)

    def finite(key: str) -> float:
        number = parse_number(value.get(key))
        if number is None or np.isinf(number):
            fail(f"'{key}' should be a finite number, found {value.get(key)!r}")
        return number

    def text(key: str) -> str | None:
        return None if value.get(key) is None else str(value[key])

    if not isinstance(value, dict) or not ({"errors", "value"} & value.keys()):
        fail("expected an object with 'errors'")
    number, spans, seconds = (
        finite("value"),
        _spans(value.get("errors"), path, line),
        finite("seconds"),
    )
    wave = value.get("wave", 0)
    if isinstance(wave, bool) or not isinstance(wave, int) or wave < 0:
        fail(f"'wave' should be a whole number from 1, found {wave!r}")
    item = str(value.get("item", "system"))
    unit, document, domain = text("unit"), text("document"), text("domain")
    return Rating(*names, number, spans, item, unit, seconds, document, wave, domain)


def _spans(marked: Any, path: Path, line: int) -> tuple[ErrorSpan, ...] | None:
    """Read a list of errors; None where nobody was asked for them."""
    if not isinstance(marked, list | None):
        raise InputError("'errors' should be a list", path=path, line=line)
    return None if marked is None else tuple(_parse_error(error, path, line) for error in marked)


def _parse_error(value: Any, path: Path, line: int) -> ErrorSpan:
    def fail(key: str, expected: str) -> NoReturn:
        shown = brief(value.get(key) if isinstance(value, dict) else value)
        raise InputError(f"error's '{key}': {shown}, expected {expected}", path=path, line=line)

    if not isinstance(value, dict):
        fail("object", "an object")
    if "severity" not in value:
        fail("severity", "text or null")
    for key in ("category", "severity"):
        if not isinstance(value.get(key), str | None):
            fail(key, "text or null")
    for key in ("start", "end"):
        position = value.get(key)
        if position is not None and (isinstance(position, bool) or not isinstance(position, int)):
            fail(key, "a whole number")
    score = parse_number(value.get("score"))
    if score is None or np.isinf(score):
        fail("score", "a finite number")
    return ErrorSpan(
        value.get("category") or "",
        value["severity"] or "",
        value.get("start"),
        value.get("end"),
        None if np.isnan(score) else score,
        bool(value.get("is_source_error", False)),
    )


def to_dict(ratings: Ratings, row: int) -> dict[str, Any]:
    """Return the JSON object of one row, the inverse of :func:`parse`."""
    value: dict[str, Any] = {}
    if ratings.errors is not None and ratings.errors[row] is not None:
        value["errors"] = [error.to_dict() for error in ratings.errors[row] or ()]
    if not np.isnan(ratings.value[row]) or not value:
        value["value"] = float(ratings.value[row])
    if ratings.item is not None and ratings.item[row] != "system":
        value["item"] = ratings.item[row]
    if ratings.seconds is not None and not np.isnan(ratings.seconds[row]):
        value["seconds"] = float(ratings.seconds[row])
    for key in ("unit", "document", "wave", "domain"):
        column = getattr(ratings, key)
        if column is not None and column[row]:
            value[key] = column[row]
    return value


def read(table: RawTable) -> Ratings:
    """Read all ratings; a table without a rater column has one rater, ``unknown``."""
    _, table = roles.language_pair(table)
    segment = roles.segment_column(table)
    assert segment is not None
    rater = one_of(table, roles.RATER, "rater")
    systems, segments = table.labels(roles.SYSTEM[0]), table.labels(segment)
    raters = [NOBODY] * table.n_rows if rater is None else table.labels(rater)
    names = list(zip(systems, segments, raters, strict=True))
    blank: list[str | None] = [None] * table.n_rows
    documents = scored.texts_of(table, roles.DOCUMENT, "document") or blank
    domains = scored.texts_of(table, roles.DOMAIN, "domain") or blank
    if "errors" not in table:
        return _row_per_error(table, names, list(zip(documents, domains, strict=True)))
    items = table.texts("type") if "type" in table else blank
    units = table.texts("unit") if "unit" in table else blank
    column = one_of(table, roles.ERROR_VALUE, "value")
    values = np.full(table.n_rows, np.nan) if column is None else table.numbers(column)
    took = scored.seconds(table)
    seconds = np.full(table.n_rows, np.nan) if took is None else took
    rows = [
        Rating(
            *name,
            float(values[row]),
            _spans(_listed(table, row), table.path, table.line(row)),
            items[row] or "system",
            units[row],
            float(seconds[row]),
            documents[row],
            domain=domains[row],
        )
        for row, name in enumerate(names)
    ]
    return ratings(rows)


def _listed(table: RawTable, row: int) -> Any:
    """Return the errors of a row, parsed where they are JSON text."""
    cell = table.columns["errors"][row]
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    return files.parse_json(text, table.path, table.line(row)) if text else None


def _row_per_error(
    table: RawTable,
    names: list[tuple[str, str, str]],
    about: list[tuple[str | None, str | None]],
) -> Ratings:
    """Gather the errors of each rating; ``about`` are documents and domains."""
    targets = table.texts("target") if "target" in table else [None] * table.n_rows
    errors: dict[tuple[str, str, str], list[ErrorSpan]] = {}
    about_rating = dict(zip(names, about, strict=True))
    cells = zip(_texts(table, "category"), _texts(table, "severity"), targets, strict=True)
    for name, (category, severity, target) in zip(names, cells, strict=True):
        marked = errors.setdefault(name, [])
        if not _no_error(category, severity):
            marked.append(ErrorSpan(category, severity, *marked_span(target)))
    return ratings(
        [
            Rating(
                *name,
                float("nan"),
                tuple(marked),
                document=about_rating[name][0],
                domain=about_rating[name][1],
            )
            for name, marked in errors.items()
        ]
    )


def _texts(table: RawTable, column: str) -> list[str]:
    return [text or "" for text in table.texts(column)]


def _no_error(category: str, severity: str) -> bool:
    """Tell whether a row says that a rater found nothing wrong, or says nothing at all."""
    return "no-error" in (category.casefold(), severity.casefold()) or not (category or severity)


def marked_span(target: str | None) -> tuple[int, int] | tuple[None, None]:
    """Find the marked span, counted in the text without the marks."""
    mark = _SPAN.search(target or "")
    return (mark.start(), mark.start() + len(mark[1])) if mark else (None, None)


# Severities.


def check_severities(table: RawTable, weighed: Collection[str]) -> None:
    """Refuse severities that have no weight, counted, with the line of the first."""
    counts: Counter[str] = Counter()
    first = None
    for row, name in _severities(table):
        if severity(name) not in weighed:
            counts[name] += 1
            first = row if first is None else first
    if first is not None:
        table.fail(no_weight(counts, weighed), first)


def severity(name: str) -> str:
    """Return the name by which a severity has its weight."""
    return name.casefold().strip() or NO_SEVERITY


def no_weight(counts: Mapping[str, int], weighed: Collection[str]) -> str:
    """Say which severities have no weight, and how to set one.

    Examples
    --------
    >>> print(no_weight({"undecided": 2, "": 1}, ["major"]))
    severities 'undecided' (2 errors), 'none' (1 error) have no weight; known: major
    (severity={"undecided": 0} sets one, or weights=FILE.toml)
    """
    names = {name.strip() or NO_SEVERITY: n for name, n in counts.items()}
    shown = ", ".join(f"'{name}' ({plural(n, 'error')})" for name, n in names.items())
    what = f"severity {shown} has" if len(names) == 1 else f"severities {shown} have"
    first = next(iter(names))
    way = f'severity={{"{first}": 0}} sets one, or weights=FILE.toml'
    return f"{what} no weight; {hint(first, weighed)} ({way})"


def _severities(table: RawTable) -> Iterator[tuple[int, str]]:
    """Yield the severities of the errors that count, each with its row."""
    kinds = table.texts("type") if "type" in table else [None] * table.n_rows
    rows = [row for row, kind in enumerate(kinds) if scored.counts(kind)]
    if "errors" not in table:
        categories, severities = _texts(table, "category"), _texts(table, "severity")
        for row in rows:
            if not _no_error(categories[row], severities[row]):
                yield row, severities[row]
        return
    for row in rows:
        marked = _listed(table, row)
        for error in marked if isinstance(marked, list) else ():
            name = error.get("severity", "") if isinstance(error, dict) else None
            if isinstance(error, dict) and isinstance(name, str | None):
                yield row, name or ""


# Spans of other tools.


def included(error: Record, text: str | None = None) -> ErrorSpan:
    """Read an error with ``start_i`` and ``end_i``, which is the last character of the span.

    With a ``text``, both count its UTF-16 units.
    """
    start, end = _position(error, "start_i"), _position(error, "end_i")
    if start is None or end is None:
        start = end = None
    elif text is not None:
        start, end = in_characters(text, start, end + 1)
    else:
        end += 1
    return ErrorSpan(
        _category(error, "error_type" if "error_type" in error.values else "category"),
        error.text("severity") or "",
        start,
        end,
        error.number("score", words=True),
        error.get("is_source_error") is True,
    )


def _position(error: Record, key: str) -> int | None:
    value = error.get(key)
    if value is None or value == MISSING:
        return None
    # An empty span at the very beginning ends before it.
    least = -1 if key == "end_i" else 0
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        error.wrong(key, f"a whole number or '{MISSING}'")
    return value


def _category(error: Record, key: str) -> str:
    """Return the kind of an error: a text, or parts of one from the general to the special."""
    value = error.get(key)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "/".join(value)
    if not isinstance(value, str | None):
        error.wrong(key, "text, a list of texts or null")
    return value or ""


def in_characters(text: str, *units: int) -> tuple[int, ...]:
    """Turn positions in UTF-16 units into positions in characters.

    Examples
    --------
    >>> in_characters("a😀b", 0, 1, 3, 4, 9)
    (0, 1, 2, 3, 8)
    """
    if all(character <= "\uffff" for character in text):
        return units
    ends = list(accumulate(2 if character > "\uffff" else 1 for character in text))
    position = {end: number for number, end in enumerate(ends, 1)} | {0: 0}
    # Half a character can't be marked: a position inside one is that of its beginning.
    return tuple(
        unit - ends[-1] + len(text)
        if unit > ends[-1]
        else position.get(unit, position.get(unit - 1, 0))
        for unit in units
    )


def to_included(error: ErrorSpan) -> dict[str, object]:
    """Return an error with the last character of its span, the inverse of :func:`included`."""
    placed = error.start is not None and error.end is not None
    value: dict[str, object] = {
        "start_i": error.start if placed else MISSING,
        "end_i": (error.end or 0) - 1 if placed else MISSING,
        "severity": error.severity or None,
        "error_type": error.category or None,
    }
    if error.score is not None:
        value["score"] = error.score
    if error.in_source:
        value["is_source_error"] = True
    return value


def prepare(table: RawTable) -> RawTable:
    """Name segments by their documents where needed; say which columns are not used."""
    table = within_documents(table)
    if "errors" in table:
        scored.refuse_repeats(table)
    return unusedcolumns.told(unusedcolumns.of_ratings)(table)


def write(ratings: Ratings, path: Path) -> None:
    """Write a row per rating, its errors as a list (as JSON text, where cells are flat)."""
    errors = ratings.errors or (None,) * len(ratings)
    judged: dict[str, Any] = {
        "errors": [None if e is None else [error.to_dict() for error in e] for e in errors]
    }
    if not np.isnan(ratings.value).all():
        judged["value"] = ratings.value
    scored.write_columns(ratings, path, "seg", judged)


FORMAT = TableFormat(
    name="error list",
    gives=Ratings,
    known_by="errors, or category and severity, beside system and segment",
    example="rater,system,segment,category,severity\nr1,A,1,Accuracy/Omission,Major\n",
    example_name="mqm.csv",
    marks=("errors system segment", "category severity system segment"),
    prepare=prepare,
    read=read,
    write=write,
    to="errors",
    suits=lambda value, _path: value.errors is not None,
)
