"""Direct assessment: a row per judgement of one output by one rater, with quality-control items.

Two layouts: a row each (rater, system, segment, raw score, and ``type`` for controls and repeats),
or packed rows whose ``scores`` (and ``segments``) are lists separated by blanks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from steelyard.data.judgements import Floats, Ratings, encode
from steelyard.formats import layout, tables
from steelyard.formats.tables import RawTable, one_of, parse_number

RATER = ("rater", "worker", "annotator")
VALUE = ("raw", "score", "value", "rating")
ITEM = ("type", "item_type")
UNIT = ("hit", "unit")
SECONDS = ("seconds", "duration")
START, END = ("start_time", "start"), ("end_time", "end")
#: Columns that mean something in a table of judgements; others are not read.
KNOWN = frozenset((*RATER, *VALUE, *ITEM, *UNIT, *SECONDS, *START, *END, "scores", "segments",
                   "index"))  # fmt: skip
ITEMS = {"system": "system", "tgt": "system", "repeat": "repeat", "chk": "repeat", "ref": "ref",
         "bad_ref": "bad-ref", "bad-ref": "bad-ref", "bad": "bad-ref"}  # fmt: skip
_INDEX = (*layout.SEGMENT, "index")


def is_text(name: str) -> bool:
    """Tell whether a column of judgements holds names, even where they look like numbers."""
    return name in (*RATER, *ITEM, *UNIT, *_INDEX, "scores", "segments")


def recognise(table: RawTable) -> bool:
    """Tell whether a table holds single judgements, in either layout."""
    has = table.columns.keys()
    row_each = bool(has & set(RATER) and has & set(VALUE) and has & set(layout.SEGMENT))
    return (row_each and "system" in has and not has & {"errors", "category"}) or _packed(table)


def _packed(table: RawTable) -> bool:
    has = table.columns.keys()
    return "scores" in has and (has >= {"system", "segments"} or "index" in has)


def read(table: RawTable) -> Ratings:
    """Read all judgements; an unknown rater is called ``unknown``."""
    _, table = layout.language_pair(table)
    if _packed(table):
        return _read_packed(table)
    segment = layout.segment_column(table)
    rater = one_of(table, RATER, "rater")
    value = one_of(table, VALUE, "score")
    assert segment is not None and rater is not None and value is not None  # noqa: PT018
    item, unit = one_of(table, ITEM, "item type"), one_of(table, UNIT, "unit")
    return Ratings.from_labels(
        table.labels(layout.SYSTEM[0]),
        table.labels(segment),
        table.labels(rater),
        table.numbers(value),
        item=None if item is None else _items(table, item),
        unit=None if unit is None else tuple(table.labels(unit)),
        seconds=seconds(table),
    )


def seconds(table: RawTable) -> Floats | None:
    """Read how long each row took: a column of seconds, or the times of its start and end."""
    column = one_of(table, SECONDS, "duration")
    if column is not None:
        return table.numbers(column)
    start, end = one_of(table, START, "start"), one_of(table, END, "end")
    return None if start is None or end is None else table.numbers(end) - table.numbers(start)


def check_scale(
    table: RawTable, low: float = 0, high: float = 100, names: Sequence[str] = VALUE
) -> None:
    """Refuse a score beyond the scale, with its line; ``names`` are those of its column."""
    if _packed(table):
        for row, text in enumerate(table.texts("scores")):
            for cell in (text or "").split():
                number = parse_number(cell)
                if number is not None and not low <= number <= high:
                    _off_scale(table, "scores", number, low, high, row)
        return
    column = one_of(table, names, "score")
    if column is not None:
        values = table.numbers(column)
        for row in np.flatnonzero((values < low) | (values > high))[:1]:
            _off_scale(table, column, values[row], low, high, int(row))


def _off_scale(
    table: RawTable, column: str, value: float, low: float, high: float, row: int
) -> NoReturn:
    message = f"column '{column}': {value:g}, expected a score from {low:g} to {high:g}"
    table.fail(f"{message} (--scale names another range)", row)


def _items(table: RawTable, column: str) -> tuple[str, ...]:
    names = table.labels(column)
    for row, name in enumerate(names):
        if name.casefold() not in ITEMS:
            known = ", ".join(sorted(ITEMS))
            table.fail(f"column '{column}': unknown type '{name}', expected one of {known}", row)
    return tuple(ITEMS[name.casefold()] for name in names)


def _read_packed(table: RawTable) -> Ratings:
    """Unpack lists: the n-th score belongs to the n-th segment, or else to the n-th rater."""
    scores = [(text or "").split() for text in table.texts("scores")]
    lengths = np.array([len(row) for row in scores])
    flat = [cell for row in scores for cell in row]
    numbers = tables.fast_numbers(flat)
    if numbers is None or np.isnan(numbers).any():
        for row, cells in enumerate(scores):
            for cell in cells:
                number = parse_number(cell)
                if number is None or not np.isfinite(number):
                    table.fail(f"column 'scores': '{cell}' is not a finite number", row)
    assert numbers is not None
    rows = np.repeat(np.arange(table.n_rows), lengths)
    systems = table.labels("system") if "system" in table else ["unknown"] * table.n_rows
    system_names, system = encode(systems)
    if "segments" in table:
        ids = [(text or "").split() for text in table.texts("segments")]
        for row, (listed, n) in enumerate(zip(ids, lengths, strict=True)):
            if len(listed) != n:
                table.fail(f"{len(listed)} segments but {n} scores", row)
        segments, segment = encode([name for row in ids for name in row])
        raters: tuple[str, ...] = ("unknown",)
        rater = np.zeros(len(flat), dtype=np.int32)
    else:
        index = table.texts("index")
        unnumbered = [str(row) for row in range(table.n_rows)]
        segments, by_row = encode(table.labels("index") if any(index) else unnumbered)
        segment = by_row[rows]
        raters, rater = encode([str(k + 1) for row in scores for k in range(len(row))])
    return Ratings(system_names, segments, raters, system[rows], segment, rater, numbers)


def write(ratings: Ratings, path: Path) -> None:
    """Write a row each: rater, system, segment, type, raw (and unit where known)."""
    columns: dict[str, object] = {
        "rater": [ratings.raters[code] for code in ratings.rater],
        "system": [ratings.systems[code] for code in ratings.system],
        "segment": [ratings.segments[code] for code in ratings.segment],
        "raw": ratings.value,
    }
    if ratings.item is not None:
        columns["type"] = list(ratings.item)
    if ratings.unit is not None:
        columns["unit"] = list(ratings.unit)
    if ratings.seconds is not None:
        columns["seconds"] = ratings.seconds
    tables.write(path, columns)
