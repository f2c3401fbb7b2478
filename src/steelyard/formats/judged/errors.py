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
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import ratings as scored
from steelyard.formats.judged.builder import NOBODY, Rating, noting_unused, ratings
from steelyard.formats.rawtable import RawTable, one_of
from steelyard.formats.reshape import within_documents
from steelyard.formats.view import FileView, Record

MISSING = "missing"  # instead of both ends of an omission
NO_SEVERITY = "none"  # what a blank one is called where weights are set
_SPAN = re.compile(r"<v>(.*?)</v>", re.DOTALL)
Spans = tuple[ErrorSpan, ...]
_TEXTS = ("unit", "document", "domain")  # of a rating


def parse(value: Any, names: tuple[str, str, str], path: Path, line: int) -> Rating:
    """Read the JSON object of one rating: ``errors``, ``value`` or both.

    ``names`` are those of the system, the segment and the rater.
    """
    if not isinstance(value, dict) or not ({"errors", "value"} & value.keys()):
        raise InputError("expected an object with 'errors'", path=path, line=line)
    record = Record(FileView(path), line, value)
    spans = None if value.get("errors") is None else _spans(record)
    wave = record.whole("wave") or 0
    if wave < 0:
        record.wrong("wave", "a whole number from 1")
    number, seconds = (record.number(key, words=True) for key in ("value", "seconds"))
    texts: dict[str, Any] = {k: None if value.get(k) is None else str(value[k]) for k in _TEXTS}
    return Rating(
        *names,
        np.nan if number is None else number,
        spans,
        str(value.get("item", "system")),
        seconds=np.nan if seconds is None else seconds,
        wave=wave,
        **texts,
    )


def _spans(record: Record) -> Spans:
    return tuple(map(_span, record.objects("errors")))


def _span(error: Record) -> ErrorSpan:
    if "severity" not in error.values:
        error.wrong("severity", "text or null")
    return _marked(error, error.text("category"), error.whole("start"), error.whole("end"))


def _marked(error: Record, category: str | None, start: int | None, end: int | None) -> ErrorSpan:
    severity, score = error.text("severity"), error.number("score", words=True)
    in_source = error.get("is_source_error") is True
    return ErrorSpan(category or "", severity or "", start, end, score, in_source)


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
    for key in (*_TEXTS, "wave"):
        column = getattr(ratings, key)
        if column is not None and column[row]:
            value[key] = column[row]
    return value


def read(table: RawTable) -> Ratings:
    """Read all ratings; a table without a rater column has one rater, ``unknown``."""
    _, table = roles.language_pair(table)
    rater = one_of(table, roles.RATER, "rater")
    raters = [NOBODY] * table.n_rows if rater is None else table.labels(rater)
    names = list(zip(*scored.outputs(table), raters, strict=True))
    spans = list(_errors(table))
    facts = scored.facts(table)
    rows: list[tuple[tuple[str, str, str], Spans | None, int]]
    if "errors" not in table and "category" in table:  # the errors of a rating are put together
        last = {who: row for row, who in enumerate(names)}
        marked: dict[tuple[str, str, str], Spans] = {}
        for who, errors in zip(names, spans, strict=True):
            marked[who] = marked.get(who, ()) + (errors or ())
        rows = [(who, errors, last[who]) for who, errors in marked.items()]
        columns = {key: facts[key] for key in ("document", "domain")}
    else:
        rows = [(who, spans[row], row) for row, who in enumerate(names)]
        value = one_of(table, roles.ERROR_VALUE, "value")
        columns = {
            "value": None if value is None else table.numbers(value).tolist(),
            "item": [text or "system" for text in table.texts("type")] if "type" in table else None,
            "unit": table.texts("unit") if "unit" in table else None,
            **facts,
        }
    filled = {key: cells for key, cells in columns.items() if cells is not None}
    values = filled.pop("value", [np.nan] * table.n_rows)
    return ratings(
        [
            Rating(*who, values[row], errors, **{key: cells[row] for key, cells in filled.items()})
            for who, errors, row in rows
        ]
    )


def _errors(table: RawTable) -> Iterator[Spans | None]:
    """Yield the errors of every row; None where nobody was asked for them."""
    if "errors" in table:
        for row, cell in enumerate(table.columns["errors"]):
            line = table.line(row)
            if isinstance(cell, list) and cell and isinstance(cell[0], ErrorSpan):
                yield tuple(cell)
                continue
            if isinstance(cell, str):
                text = cell.strip()
                cell = files.parse_json(text, table.path, line) if text else None  # noqa: PLW2901
            view = FileView(table.path if table.path_of is None else table.path_of(row))
            yield None if cell is None else _spans(Record(view, line, {"errors": cell}))
        return
    if "category" not in table:  # ratings of which none has errors
        yield from [None] * table.n_rows
        return
    targets = table.texts("target") if "target" in table else [None] * table.n_rows
    columns = (table.texts("category"), table.texts("severity"), targets)
    for category, severity, target in zip(*columns, strict=True):
        if is_error(category or "", severity or ""):
            yield (ErrorSpan(category or "", severity or "", *marked_span(target)),)
        else:
            yield ()


def is_error(category: str, severity: str) -> bool:
    """Tell whether a row is about an error: some say that there is none, some say nothing."""
    said = {re.sub("[ _]", "-", word.strip().casefold()) for word in (category, severity)}
    return said.isdisjoint(("no-error", "no-errors")) and not said <= {"", "none"}


def unlisted(rated: Ratings, meaning: str | None) -> list[Ratings]:
    """Return the ratings of outputs that a list of errors does not name, if they are error-free.

    Where no row says that an output has no errors, the user is asked: they may be unrated, too. A
    rater judged all outputs of a segment of which they marked any.
    """
    judged: dict[int, dict[tuple[int, int], int]] = {}  # rows by system, then rater and segment
    keys = zip(rated.system.tolist(), rated.rater.tolist(), rated.segment.tolist(), strict=True)
    for row, (system, *who) in enumerate(keys):
        judged.setdefault(system, {})[who[0], who[1]] = row
    first = {of: row for rows in judged.values() for of, row in rows.items()}
    missing = [(system, of) for system, rows in sorted(judged.items())
               for of in sorted(first.keys() - rows.keys())]  # fmt: skip
    names_clean = any(errors == () for errors in rated.errors or ())
    if not missing or meaning == "unrated" or (meaning is None and names_clean):
        return []
    if meaning is None:
        system, (_, segment) = missing[0]
        raise UsageError(
            f"no row of category and severity says that an output has no error, and "
            f"{plural(len(missing), 'output')} have no row that others of their segment have, such "
            f"as segment '{rated.segments[segment]}' of system '{rated.systems[system]}': "
            'unlisted="error-free" if they have no errors, unlisted="unrated" if nobody judged them'
        )
    known = {what: column for what in ("document", "domain") if (column := getattr(rated, what))}
    return [ratings(
        [Rating(rated.systems[system], rated.segments[of[1]], rated.raters[of[0]], np.nan, (),
                **{what: column[first[of]] for what, column in known.items()})
         for system, of in missing]
    )]  # fmt: skip


def marked_span(target: str | None) -> tuple[int, int] | tuple[None, None]:
    """Find the marked span, counted in the text without the marks."""
    mark = _SPAN.search(target or "")
    return (mark.start(), mark.start() + len(mark[1])) if mark else (None, None)


# Severities.


def check_severities(table: RawTable, weighed: Collection[str]) -> None:
    """Refuse severities that have no weight, counted, with the line of the first."""
    kinds = table.texts("type") if "type" in table else [None] * table.n_rows
    unweighed = [
        (row, error.severity)
        for row, (kind, errors) in enumerate(zip(kinds, _errors(table), strict=True))
        if scored.counts(kind)
        for error in errors or ()
        if severity(error.severity) not in weighed
    ]
    if unweighed:
        table.fail(no_weight(Counter(name for _, name in unweighed), weighed), unweighed[0][0])


def severity(name: str) -> str:
    """Return the name by which a severity has its weight."""
    return name.casefold().strip() or NO_SEVERITY


def no_weight(counts: Mapping[str, int], weighed: Collection[str]) -> str:
    """Say which severities have no weight, and how to set one.

    Examples
    --------
    >>> print(no_weight({"undecided": 2, "": 1}, ["major"]))
    severities 'undecided' (2 errors), 'none' (1 error) have no weight; known: major
    (weights=FILE.toml sets one)
    """
    names = {name.strip() or NO_SEVERITY: n for name, n in counts.items()}
    shown = ", ".join(f"'{name}' ({plural(n, 'error')})" for name, n in names.items())
    what = f"severity {shown} has" if len(names) == 1 else f"severities {shown} have"
    first = next(iter(names))
    return f"{what} no weight; {hint(first, weighed)} (weights=FILE.toml sets one)"


# Spans of other tools.


def included(error: Record, text: str | None = None) -> ErrorSpan:
    """Read an error with ``start_i`` and ``end_i``, which is the last character of the span.

    With a ``text``, both count its UTF-16 units.
    """
    start, last = _position(error, "start_i"), _position(error, "end_i")
    end = None if last is None else last + 1
    if start is None or end is None:
        start = end = None
    elif text is not None:
        start, end = in_characters(text, start, end)
    key = "error_type" if "error_type" in error.values else "category"
    category = error.get(key)
    if isinstance(category, list) and all(isinstance(part, str) for part in category):
        category = "/".join(category)  # from the general to the special
    if not isinstance(category, str | None):
        error.wrong(key, "text, a list of texts or null")
    return _marked(error, category, start, end)


def _position(error: Record, key: str) -> int | None:
    value = error.get(key)
    if value is None or value == MISSING:
        return None
    # An empty span at the very beginning ends before it.
    if type(value) is not int or value < (-1 if key == "end_i" else 0):
        error.wrong(key, f"a whole number or '{MISSING}'")
    return value


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


def prepare(table: RawTable) -> RawTable:
    """Name segments by their documents where needed; note which columns are not used."""
    table = within_documents(table)
    if "errors" in table:
        scored.refuse_repeats(table)
    return noting_unused(table, scored.USED)


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
