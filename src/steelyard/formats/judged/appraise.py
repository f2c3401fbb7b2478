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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from steelyard.core.text import plural
from steelyard.data.judgements import ErrorSpan
from steelyard.formats import files
from steelyard.formats.cells import parse_number
from steelyard.formats.foreign import Log, Row, foreign
from steelyard.formats.judged import errors, ratings
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView, Record

_TYPES = {"TGT": "system", "CHK": "repeat", "REF": "ref", "BAD": "bad-ref"}
_ITEM = re.compile(r"[0-9]{1,18}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_]\w+)*")
_FIXED = 7  # columns that every export has
_UNIX = 1e8  # a time in seconds is above, the number of a batch below

#: Why rows do not count, in the order in which they are looked for.
_REASONS = {
    "tutorial": "of tutorials",
    "whole": "that rate whole documents",
    "dup": "of documents shown again (#dup)",
    "incomplete": "of incomplete documents (#incomplete)",
    "again": "that the same login judged again later",
    "lost": "of control items whose segment is not known",
}


class _Layout(NamedTuple):
    document: int | None
    spans: int | None
    start: int | None
    batch: int | None


def _layout(view: FileView) -> _Layout | None:
    """Tell the layout by the first row; None for what is no row of Appraise."""
    first = view.first_lines[:1]
    if not first or view.kind in ("json", "jsonl") or "," not in first[0]:
        return None
    try:
        cells = next(csv.reader(first, strict=True), [])
    except csv.Error:
        return None
    if len(cells) < _FIXED or cells[3].strip().upper() not in _TYPES:
        return None
    if not all(_LANGUAGE.fullmatch(cell) for cell in cells[4:6]):
        return None
    rest = _FIXED
    names = len(cells) > rest + 1 and cells[rest + 1] in ("True", "False")
    rest += 2 * names
    marks = names and len(cells) > rest and cells[rest].lstrip().startswith("[")
    rest += marks
    timed = len(cells) - rest >= 2 and (parse_number(cells[rest]) or 0) >= _UNIX
    batch = rest + 2 * timed
    if len(cells) - batch not in (0, 2, 3):
        return None
    return _Layout(
        document=_FIXED if names else None,
        spans=_FIXED + 2 if marks else None,
        start=rest if timed else None,
        batch=batch if len(cells) > batch else None,
    )


def _rows(log: Log) -> Iterator[Row]:
    view = log.view
    layout, records = _layout(view), view.csv()
    if layout is None:
        view.fail("no export of Appraise: expected login, system, item, TGT, two languages, score")
    document, spans, start, batch = layout
    others = {"doc": document, "errors": spans, "unit": batch}
    log.names |= {name: f"column {k + 1}" for name, k in others.items() if k is not None}
    width = len(records[0][1])
    for line, cells in records:
        kind = cells[3].strip().upper() if len(cells) == width else ""
        if len(cells) != width:
            view.fail(f"{len(cells)} cells, expected {width} as in the first row", line)
        if not _ITEM.fullmatch(cells[2].strip()):
            expected = "a whole number (the line of the segment)"
            view.fail(f"item {cells[2][:40]!r}, expected {expected}", line)
        if kind not in _TYPES:
            view.fail(f"type {cells[3][:40]!r}, expected one of {', '.join(_TYPES)}", line)
        if batch is not None and cells[batch].startswith("["):
            view.fail("spans, which the first row has not: expected them in all rows or none", line)
        row: dict[str, Any] = {"rater": cells[0], "system": cells[1]}
        row |= {"segment": str(int(cells[2])), "type": _TYPES[kind]}
        row |= {"lp": f"{cells[4]}-{cells[5]}", "score": cells[6]}
        if document is not None:
            row |= {"doc": cells[document], "whole": cells[document + 1]}
        if spans is not None:
            row["errors"] = _errors(view, line, cells[spans])
        if start is not None:
            row |= {"start_time": cells[start], "end_time": cells[start + 1]}
        if batch is not None:
            row["unit"] = cells[batch]
        yield Row(line, row, {}, {})


def _errors(view: FileView, line: int, text: str) -> list[ErrorSpan]:
    """Read the marked spans: the last character belongs to a span, and an omission has no ends."""
    if text == "[]":
        return []
    spans = files.parse_json(text, view.path, line)
    if not isinstance(spans, list):
        view.fail(f"spans {text[:40]!r}, expected a list of objects", line)
    marked = []
    for span in Record(view, line, {"spans": spans}).objects("spans"):
        error = errors.included(span)
        missing = [span.get(key) in (None, errors.MISSING) for key in ("start_i", "end_i")]
        if any(missing) and not all(missing):
            span.fail("span with one of start_i and end_i, expected both or neither")
        if not error.category and error.start is None:
            error = replace(error, category="omission")
        marked.append(replace(error, score=None, in_source=False))
    return marked


# Which rows count, once all files of a campaign are there.


class _Shown(NamedTuple):
    """What was shown to whom; ``document`` is its plain name, ``named`` the one in the file."""

    lp: str
    login: str
    system: str
    document: str
    named: str
    kind: str
    item: int


def _settle(table: RawTable) -> RawTable:
    table.numbers("score")  # which refuses a word, also where the row will not count
    shown = _shown(table)
    whole = table.columns.get("whole", [None] * table.n_rows)
    reasons = {row: _reason(item, complete=whole[row] == "True") for row, item in enumerate(shown)}
    kept = [row for row, reason in reasons.items() if reason is None]
    in_batches = _are_batch_numbers(shown[row] for row in kept)
    reasons |= dict.fromkeys(_superseded(table, shown, kept, by_name=in_batches), "again")
    segments = list(table.columns["segment"])
    if in_batches:
        kept = [row for row, reason in reasons.items() if reason is None]
        for row, number in _numbered(shown, kept).items():
            reasons[row] = "lost" if number is None else None
            segments[row] = f"{shown[row].document}:{number}"
    kept = [row for row, reason in reasons.items() if reason is None]
    counts = Counter(reason for reason in reasons.values() if reason is not None)
    excluded = ", ".join(f"{counts[k]:,} {text}" for k, text in _REASONS.items() if counts[k])
    if not kept:
        table.fail(f"no row counts: {excluded}")
    columns = {**table.columns, "segment": segments}
    columns |= {"doc": [item.document for item in shown]} if "doc" in table else {}
    result = replace(table, columns=columns).take(kept).without(["whole"])
    lost = f"{counts.total():,} of {plural(table.n_rows, 'row')} left out: {excluded}"
    notes = [*([lost] if excluded else []), *_notes(result, in_batches=in_batches)]
    result, more = _judged(result, [shown[row].named for row in kept])
    place = table.place
    if table.path_of is not None:
        others = len(set(map(table.path_of, range(table.n_rows)))) - 1
        place += f" and {plural(others, 'other file')}" if others else ""
    return replace(result, notes=(*table.notes, *(f"{place}: {note}" for note in (*notes, *more))))


def _shown(table: RawTable) -> list[_Shown]:
    names = [text or "" for text in table.texts("doc")] if "doc" in table else [""] * table.n_rows
    systems = table.labels("system")
    stems = {pair: _stem(*pair) for pair in set(zip(names, systems, strict=True))}
    columns = (table.columns["lp"], table.labels("rater"), systems, names, table.columns["type"],
               table.columns["segment"])  # fmt: skip
    return [
        _Shown(lp, login, system, stems[name, system], name, kind, int(item))
        for lp, login, system, name, kind, item in zip(*columns, strict=True)
    ]


def _stem(document: str, system: str) -> str:
    """Take the endings off the name of a document that say what was done with it."""
    name, mark, ending = document.rpartition("#")
    of_system = ending == system or system.endswith(f".{ending}")
    if mark and (of_system or re.fullmatch(r"(bad|dup|duplicate)\d*|incomplete", ending)):
        return _stem(name, system)
    return document


def _reason(item: _Shown, *, complete: bool) -> str | None:
    """Say why a row does not count; None if it does."""
    if "tutorial" in item.named or "tutorial" in item.system:
        return "tutorial"
    if complete:
        return "whole"
    endings = item.named.removeprefix(item.document).split("#")[1:]
    if any(re.fullmatch(r"dup(licate)?\d*", ending) for ending in endings):
        return "dup"
    return "incomplete" if "incomplete" in endings else None


def _are_batch_numbers(rows: Iterable[_Shown]) -> bool:
    """Tell whether items number the outputs of a batch instead of the lines of the source.

    A line belongs to one document; one that has another somewhere is a slip. And where documents
    have systems in their names, a document has the same lines in all systems.
    """
    documents: dict[tuple[str, int], str] = {}
    systems: dict[tuple[str, str], dict[str, set[int]]] = {}
    name_systems, several = True, set()
    for row in rows:
        if documents.setdefault((row.lp, row.item), row.document) != row.document:
            several.add((row.lp, row.item))
        name_systems &= row.named.startswith(f"{row.document}#") and row.document != ""
        by_system = systems.setdefault((row.lp, row.document), {})
        by_system.setdefault(row.system, set()).add(row.item)
    shared = [list(items.values()) for items in systems.values() if len(items) > 1]
    anew = name_systems and bool(shared) and all(not set.intersection(*items) for items in shared)
    return anew or len(several) > 1 or (name_systems and len(several) == 1)


def _numbered(shown: Sequence[_Shown], rows: Sequence[int]) -> dict[int, int | None]:
    """Return the segment of each row, as its number in the document from 1 on.

    All outputs of a document were shown in the order of its segments, so its n-th item is its n-th
    segment. A document that does not fit into a batch goes on in that of the next login. None for
    control items of a part of a document: nobody knows of which part.
    """
    real: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    controls: defaultdict[_Shown, list[int]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: shown[row].item):
        item = shown[row]
        if item.kind == "system":
            logins = real.setdefault((item.lp, item.system, item.document), {})
            logins.setdefault(item.login, []).append(row)
        else:
            controls[item._replace(item=0)].append(row)
    longest: Counter[tuple[str, str]] = Counter()  # what one login saw of a document at most
    for (lp, _, document), logins in real.items():
        longest[lp, document] = max(*map(len, logins.values()), longest[lp, document])
    numbers: dict[int, int | None] = {}
    for (lp, _, document), logins in real.items():
        before = 0
        for _, seen in sorted(logins.items()):
            if before + len(seen) > longest[lp, document]:
                before = 0  # another judgement of the same segments, not their continuation
            numbers |= {row: before + k for k, row in enumerate(seen, 1)}
            before += len(seen)
    for control, seen in controls.items():
        same = real.get((control.lp, control.system, control.document), {}).get(control.login, [])
        whole = len(same) == len(seen)
        numbers |= {row: numbers[same[k]] if whole else None for k, row in enumerate(seen)}
    return numbers


def _superseded(
    table: RawTable, shown: Sequence[_Shown], rows: Sequence[int], *, by_name: bool
) -> list[int]:
    ends: Any = table.numbers("end_time") if "end_time" in table else range(table.n_rows)
    latest: dict[_Shown, int] = {}
    superseded = []
    for row in rows:
        key = shown[row] if by_name else shown[row]._replace(document="", named="")
        before = latest.setdefault(key, row)
        if before != row:
            later = not ends[row] < ends[before]
            superseded.append(before if later else row)
            latest[key] = row if later else before
    return superseded


def _judged(table: RawTable, documents: Sequence[str]) -> tuple[RawTable, list[str]]:
    """Leave out scores that nobody asked for, and measure the time that spans took."""
    if "errors" not in table:
        return table, []
    notes = []
    if not table.numbers("score").any() and any(table.columns["errors"]):
        table = table.without(["score"])
        notes.append("every score is 0: taken as not asked for (MQM)")
    if "start_time" not in table:
        return table, notes
    # The clock of an output runs while spans are marked, not while people read.
    start, end = table.numbers("start_time"), table.numbers("end_time")
    together: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row, document in enumerate(documents):
        together[table.columns["rater"][row], table.columns["system"][row], document].append(row)
    seconds = end - start
    for rows in together.values():
        seconds[rows] = (end[rows].max() - start[rows].min()) / len(rows)
    notes.append("seconds are the time spent on a document, per segment")
    rest = table.without(["start_time", "end_time"])
    return replace(rest, columns={**rest.columns, "seconds": seconds}), notes


def _notes(table: RawTable, *, in_batches: bool) -> list[str]:
    kinds = Counter(table.columns["type"])
    controls = {"bad-ref": "damaged output", "ref": "reference"}
    counts = [plural(kinds[kind], noun) for kind, noun in controls.items() if kinds[kind]]
    notes = [f"{' and '.join(counts)} (BAD, REF) shown as controls: no scores"] if counts else []
    if in_batches:
        notes.append(
            "the item is the place in a batch, not the line: segments are named DOCUMENT:1, "
            "DOCUMENT:2, ... in the order of items"
        )
    return notes


_ABOUT: Mapping[str, Any] = {
    "names": {"rater": "column 1", "system": "column 2", "segment": "column 3",
              "type": "column 4", "lp": "columns 5, 6", "score": "column 7"},
    "empty": "holds no rating",
    "looks": ("text",),
    "files": ("*.csv", "*.csv.gz"),
    "settle": _settle,
}  # fmt: skip
_SPANS = foreign(
    "Appraise",
    errors.FORMAT,
    known_by="no header; column 4 is TGT, BAD, CHK or REF, column 10 a list of spans",
    example='engces01,sysA,7,TGT,eng,ces,81,doc-1,False,"[{""start_i"": 3, ""end_i"": 8, '
    '""severity"": ""minor""}]",1700000000.5,1700000030.75\n',
    example_name="en-cs.esa.csv",
    recognise=lambda view: (layout := _layout(view)) is not None and layout.spans is not None,
    **_ABOUT,
)(_rows)
_SCORES = foreign(
    "Appraise direct assessment",
    ratings.FORMAT,
    known_by="no header; column 4 is TGT, BAD, CHK or REF, no spans",
    example="engces01,sysA,7,TGT,eng,ces,81,doc-1,False,1700000000.5,1700000030.75\n",
    example_name="en-cs.da.csv",
    recognise=lambda view: (layout := _layout(view)) is not None and layout.spans is None,
    **_ABOUT,
)(_rows)
FORMATS = (_SPANS, _SCORES)
