"""Exports of Appraise, the tool of the WMT campaigns: direct assessment, ESA and MQM.

CSV without a header: login, system, item, type (TGT BAD CHK REF), both languages, score; then, as
the campaign has them, document and whether the row rates all of it, marked spans as JSON, start and
end, and two or three columns of the batch. What counts is decided when all files of a campaign are
there: who judged an output again in a later wave has changed the first judgement.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from steelyard.core.text import plural
from steelyard.data.judgements import Ratings
from steelyard.formats import files
from steelyard.formats.cells import parse_number
from steelyard.formats.format import ForeignFormat
from steelyard.formats.judged import directassessment, errorlists, offsets
from steelyard.formats.judged.batchorder import Shown, are_places, misplaced, numbered
from steelyard.formats.rawtable import RawTable
from steelyard.formats.record import Record
from steelyard.formats.view import FileView

_TYPES = {"TGT": "system", "CHK": "repeat", "REF": "ref", "BAD": "bad-ref"}
_ITEM = re.compile(r"[0-9]{1,18}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_]\w+)*")
_FIXED = 7  # columns that every export has
_UNIX = 1e8  # a time in seconds is above, the number of a batch below

#: Why rows take no part, in the order in which they are looked for.
_REASONS = {
    "tutorial": "of tutorials",
    "whole": "that rate whole documents",
    "dup": "of documents shown again (#dup)",
    "incomplete": "of incomplete documents (#incomplete)",
    "again": "that the same login judged again later",
    "lost": "of control items whose segment is not known",
}


class _Layout(NamedTuple):
    """Where the columns stand that only some exports have."""

    document: int | None
    spans: int | None
    start: int | None
    batch: int | None


def _layout(cells: Sequence[str]) -> _Layout | None:
    """Tell the layout by a row; None for what is no row of Appraise."""
    if len(cells) < _FIXED or cells[3].strip().upper() not in _TYPES:
        return None
    if not all(_LANGUAGE.fullmatch(cell) for cell in cells[4:6]):
        return None
    rest, document, spans = _FIXED, None, None
    if len(cells) > _FIXED + 1 and cells[_FIXED + 1] in ("True", "False"):
        document, rest = _FIXED, _FIXED + 2
        if len(cells) > rest and cells[rest].lstrip().startswith("["):
            spans, rest = rest, rest + 1
    left = len(cells) - rest
    timed = left >= 2 and (parse_number(cells[rest]) or 0) >= _UNIX
    start, batch = (rest if timed else None), rest + 2 * timed
    if len(cells) - batch not in (0, 2, 3):
        return None
    return _Layout(document, spans, start, batch if len(cells) > batch else None)


def _seen(view: FileView) -> _Layout | None:
    first = view.first_lines[:1]
    if not first or view.kind in ("json", "jsonl") or "," not in first[0]:
        return None
    try:
        return _layout(next(csv.reader(first, strict=True), []))
    except csv.Error:
        return None


def unfold(view: FileView) -> RawTable:
    """Read all rows, of whatever kind."""
    layout = _seen(view)
    records = view.csv()
    if layout is None:
        view.fail("no export of Appraise: expected login, system, item, TGT, two languages, score")
    width = len(records[0][1])
    for line, own in records:
        _check(view, line, own, width)
        if layout.batch is not None and own[layout.batch].startswith("["):
            view.fail("spans, which the first row has not: expected them in all rows or none", line)
    lines = [line for line, _ in records]
    cells = list(zip(*(own for _, own in records), strict=True))
    columns: dict[str, Any] = {
        "rater": cells[0],
        "system": cells[1],
        "segment": [str(int(item)) for item in cells[2]],
        "type": [_TYPES[own.strip().upper()] for own in cells[3]],
        "lp": [f"{source}-{target}" for source, target in zip(cells[4], cells[5], strict=True)],
        "score": cells[6],
    }
    if layout.document is not None:
        columns |= {"doc": cells[layout.document], "whole": cells[layout.document + 1]}
    if layout.spans is not None:
        marked = zip(lines, cells[layout.spans], strict=True)
        columns["errors"] = [_errors(view, line, text) for line, text in marked]
    if layout.start is not None:
        columns |= {"start_time": cells[layout.start], "end_time": cells[layout.start + 1]}
    if layout.batch is not None:
        columns["unit"] = cells[layout.batch]
    names = ("rater", "system", "segment", "type", "lp", "lp", "score")
    given = {name: f"column {k}" for k, name in enumerate(names, 1)} | {"lp": "columns 5, 6"}
    others = {"doc": layout.document, "errors": layout.spans, "unit": layout.batch}
    given |= {name: f"column {k + 1}" for name, k in others.items() if k is not None}
    return RawTable(view.path, columns, len(lines), lines.__getitem__, given=given)


def _check(view: FileView, line: int, cells: Sequence[str], width: int) -> None:
    """Refuse a row that is not like the first one."""
    if len(cells) != width:
        view.fail(f"{len(cells)} cells, expected {width} as in the first row", line)
    if not _ITEM.fullmatch(cells[2].strip()):
        view.fail(
            f"item {cells[2][:40]!r}, expected a whole number (the line of the segment)", line
        )
    if cells[3].strip().upper() not in _TYPES:
        view.fail(f"type {cells[3][:40]!r}, expected one of {', '.join(_TYPES)}", line)


def _errors(view: FileView, line: int, text: str) -> list[dict[str, Any]]:
    """Read the marked spans: the last character belongs to a span, and an omission has no place."""
    if text == "[]":
        return []
    found = files.parse_json(text, view.path, line)
    if not isinstance(found, list):
        view.fail(f"spans {text[:40]!r}, expected a list of objects", line)
    return [_error(one) for one in Record(view, line, {"spans": found}).objects("spans")]


def _error(span: Record) -> dict[str, Any]:
    found = offsets.included(span)
    missing = [span.get(key) in (None, offsets.MISSING) for key in ("start_i", "end_i")]
    if any(missing) and not all(missing):
        span.fail("span with one of start_i and end_i, expected both or neither")
    category = found.category or ("omission" if found.start is None else None)
    return {
        "start": found.start,
        "end": found.end,
        "category": category,
        "severity": found.severity or None,
    }


def settle(table: RawTable) -> RawTable:
    """Keep the rows that count, and name segments and documents."""
    table.numbers("score")  # which refuses a word, also where the row will not count
    shown = _shown(table)
    whole = table.columns.get("whole", [None] * table.n_rows)
    left: dict[int, str] = {}
    for row, own in enumerate(shown):
        reason = _reason(own, complete=whole[row] == "True")
        if reason is not None:
            left[row] = reason
    kept = [row for row in range(table.n_rows) if row not in left]
    slip = misplaced(shown, kept)
    if slip is not None:
        row, other = slip
        mine, theirs = (shown[one].document[:40] for one in slip)
        where = f"but '{theirs}' {table.place_of(other)}"
        table.fail(f"item {shown[row].item} is of document '{mine}', {where}", row)
    places = are_places(shown[row] for row in kept)
    left |= dict.fromkeys(_superseded(table, shown, kept, by_name=places), "again")
    segments = list(table.columns["segment"])
    if places:
        numbers = numbered(shown, [row for row in kept if row not in left])
        left |= {row: "lost" for row, number in numbers.items() if number is None}
        for row, number in numbers.items():
            segments[row] = f"{shown[row].document}:{number}"
    kept = [row for row in kept if row not in left]
    if not kept:
        table.fail(f"no row counts: {_counted(left)}")
    columns = {**table.columns, "segment": segments}
    columns |= {"doc": [own.document for own in shown]} if "doc" in table else {}
    result = replace(table, columns=columns).take(kept).without(["whole"])
    notes = _notes(table, left, result, places=places)
    result, said = _judged(result, [shown[row].named for row in kept])
    notes += [f"{_place_of(table)}: {one}" for one in said]
    return replace(result, notes=(*table.notes, *notes))


def _shown(table: RawTable) -> list[Shown]:
    names = [text or "" for text in table.texts("doc")] if "doc" in table else [""] * table.n_rows
    systems = table.labels("system")
    pairs = list(zip(names, systems, strict=True))
    stems = {pair: _stem(*pair) for pair in set(pairs)}
    items = (int(item) for item in table.columns["segment"])
    return list(
        map(
            Shown,
            table.columns["lp"],
            table.labels("rater"),
            systems,
            [stems[pair] for pair in pairs],
            names,
            table.columns["type"],
            items,
        )
    )


def _superseded(
    table: RawTable, shown: Sequence[Shown], rows: Sequence[int], *, by_name: bool
) -> list[int]:
    """Find the rows that the same login judged again later: the latest end counts."""
    ends: Any = table.numbers("end_time") if "end_time" in table else range(table.n_rows)
    latest: dict[Shown, int] = {}
    found = []
    for row in rows:
        own = shown[row]
        key = own if by_name else own._replace(document="", named="")
        before = latest.setdefault(key, row)
        if before != row:
            later = not ends[row] < ends[before]
            found.append(before if later else row)
            latest[key] = row if later else before
    return found


def _stem(document: str, system: str) -> str:
    """Take the endings off the name of a document that say what was done with it."""
    name, mark, ending = document.rpartition("#")
    own = ending == system or system.endswith(f".{ending}")
    if mark and (own or re.fullmatch(r"(bad|dup|duplicate)\d*|incomplete", ending)):
        return _stem(name, system)
    return document


def _reason(own: Shown, *, complete: bool) -> str | None:
    """Tell why a row takes no part; None if it does."""
    if "tutorial" in own.named or "tutorial" in own.system:
        return "tutorial"
    endings = own.named.removeprefix(own.document).split("#")[1:]
    found = ["whole"] if complete else []
    found += ["dup"] if any(re.fullmatch(r"dup(licate)?\d*", own) for own in endings) else []
    found += ["incomplete"] if "incomplete" in endings else []
    return found[0] if found else None


def _judged(table: RawTable, documents: Sequence[str]) -> tuple[RawTable, list[str]]:
    """Leave out scores that nobody asked for, and measure the time that spans took."""
    if "errors" not in table:
        return table, []
    said = []
    scores = table.numbers("score")
    if not scores.any() and any(table.columns["errors"]):
        table = table.without(["score"])
        said.append("every score is 0: taken as not asked for (MQM)")
    if "start_time" not in table:
        return table, said
    # The clock of an output runs while spans are marked, not while people read.
    start, end = table.numbers("start_time"), table.numbers("end_time")
    of: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row, document in enumerate(documents):
        of[table.columns["rater"][row], table.columns["system"][row], document].append(row)
    seconds = end - start
    for rows in of.values():
        seconds[rows] = (end[rows].max() - start[rows].min()) / len(rows)
    said.append("seconds are the time spent on a document, per segment")
    rest = table.without(["start_time", "end_time"])
    return replace(rest, columns={**rest.columns, "seconds": seconds}), said


def _counted(left: Mapping[int, str]) -> str:
    counts = Counter(left.values())
    return ", ".join(f"{counts[key]:,} {text}" for key, text in _REASONS.items() if counts[key])


def _place_of(table: RawTable) -> str:
    """Name the first file, and count the others."""
    if table.path_of is None:
        return table.place
    others = len(set(map(table.path_of, range(table.n_rows)))) - 1
    return table.place + (f" and {plural(others, 'other file')}" if others else "")


def _notes(
    table: RawTable, left: Mapping[int, str], result: RawTable, *, places: bool
) -> list[str]:
    where = _place_of(table)
    notes = []
    if left:
        rows = plural(table.n_rows, "row")
        notes.append(f"{where}: {len(left):,} of {rows} left out: {_counted(left)}")
    kinds = Counter(result.columns["type"])
    controls = {"bad-ref": "damaged output", "ref": "reference"}
    shown = [plural(kinds[kind], noun) for kind, noun in controls.items() if kinds[kind]]
    if shown:
        notes.append(f"{where}: {' and '.join(shown)} (BAD, REF) shown as controls: no scores")
    if places:
        notes.append(
            f"{where}: the item is the place in a batch, not the line: segments are named "
            "DOCUMENT:1, DOCUMENT:2, ... in the order of items"
        )
    return notes


FORMAT = ForeignFormat(
    name="Appraise",
    gives=Ratings,
    known_by="no header; column 4 is TGT, BAD, CHK or REF, column 10 a list of spans",
    example='engces01,sysA,7,TGT,eng,ces,81,doc-1,False,"[{""start_i"": 3, ""end_i"": 8, '
    '""severity"": ""minor""}]",1700000000.5,1700000030.75\n',
    example_name="en-cs.esa.csv",
    recognise=lambda view: (found := _seen(view)) is not None and found.spans is not None,
    files=("*.csv", "*.csv.gz"),
    unfold=unfold,
    becomes=errorlists.FORMAT,
    settle=settle,
)

SCORES = ForeignFormat(
    name="Appraise direct assessment",
    gives=Ratings,
    known_by="no header; column 4 is TGT, BAD, CHK or REF, no spans",
    example="engces01,sysA,7,TGT,eng,ces,81,doc-1,False,1700000000.5,1700000030.75\n",
    example_name="en-cs.da.csv",
    recognise=lambda view: (found := _seen(view)) is not None and found.spans is None,
    files=("*.csv", "*.csv.gz"),
    unfold=unfold,
    becomes=directassessment.FORMAT,
    settle=settle,
)
