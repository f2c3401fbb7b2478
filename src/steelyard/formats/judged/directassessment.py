"""Direct assessment: a row per judgement of one output by one rater, with quality-control items.

Two layouts: a row each (rater, system, segment, raw score, and ``type`` for controls and repeats),
or packed rows whose ``scores`` (and ``segments``) are lists separated by blanks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from steelyard.data.judgements import Floats, Ratings, encode
from steelyard.formats import columns as roles
from steelyard.formats import tables
from steelyard.formats.cells import fast_numbers, parse_number
from steelyard.formats.columns import INDEX, PACKED, PACKED_SEGMENTS, SYSTEM
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import unusedcolumns
from steelyard.formats.rawtable import RawTable, one_of

ITEMS = {
    **dict.fromkeys(("system", "tgt"), "system"),
    **dict.fromkeys(("repeat", "chk"), "repeat"),
    "ref": "ref",
    **dict.fromkeys(("bad_ref", "bad-ref", "bad"), "bad-ref"),
    "attention": "attention",
}


def counts(kind: str | None) -> bool:
    """Tell whether an item of this type is judged for its score, and not to control a rater."""
    return ITEMS.get((kind or "system").casefold(), "system") in ("system", "repeat")


def _packed(table: RawTable) -> bool:
    has = table.columns.keys()
    return PACKED in has and (has >= {*SYSTEM, PACKED_SEGMENTS} or INDEX in has)


def read(table: RawTable) -> Ratings:
    """Read all judgements; an unknown rater is called ``unknown``."""
    _, table = roles.language_pair(table)
    if _packed(table):
        return _read_packed(table)
    segment = roles.segment_column(table)
    rater = one_of(table, roles.RATER, "rater")
    value = one_of(table, roles.RATING, "score")
    assert segment is not None and rater is not None and value is not None  # noqa: PT018
    item, unit = one_of(table, roles.ITEM, "item type"), one_of(table, roles.BATCH, "unit")
    return Ratings.from_labels(
        table.labels(SYSTEM[0]),
        table.labels(segment),
        table.labels(rater),
        table.numbers(value),
        item=None if item is None else _items(table, item),
        unit=None if unit is None else tuple(table.labels(unit)),
        seconds=seconds(table),
        document=documents(table),
        domain=domains(table),
    )


def documents(table: RawTable) -> tuple[str, ...] | None:
    """Read the document of each row; blank where it is not known."""
    column = one_of(table, roles.DOCUMENT, "document")
    return None if column is None else tuple(text or "" for text in table.texts(column))


def domains(table: RawTable) -> tuple[str, ...] | None:
    """Read the domain of each row; blank where it is not known."""
    column = one_of(table, roles.DOMAIN, "domain")
    return None if column is None else tuple(text or "" for text in table.texts(column))


def seconds(table: RawTable) -> Floats | None:
    """Read how long each row took: a column of seconds, or the times of its start and end."""
    column = one_of(table, roles.SECONDS, "duration")
    if column is not None:
        return table.numbers(column)
    start, end = one_of(table, roles.START, "start"), one_of(table, roles.END, "end")
    return None if start is None or end is None else table.numbers(end) - table.numbers(start)


def check_scale(
    table: RawTable, low: float = 0, high: float = 100, names: Sequence[str] = roles.RATING
) -> None:
    """Refuse a score beyond the scale, with its line; ``names`` are those of its column."""

    def refuse(column: str, value: float, row: int) -> NoReturn:
        message = f"column '{column}': {value:g}, expected a score from {low:g} to {high:g}"
        table.fail(f"{message} (scale=... names another range)", row)

    if _packed(table):
        for row, text in enumerate(table.texts(PACKED)):
            for cell in (text or "").split():
                number = parse_number(cell)
                if number is not None and not low <= number <= high:
                    refuse(PACKED, number, row)
        return
    column = one_of(table, names, "score")
    if column is not None:
        values = table.numbers(column)
        item = one_of(table, roles.ITEM, "item type")
        if item is not None:  # tests of raters have a scale of their own
            test = [text == "attention" for text in table.texts(item)]
            values = np.where(test, np.nan, values)
        for row in np.flatnonzero((values < low) | (values > high))[:1]:
            refuse(column, values[row], int(row))


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
    numbers = fast_numbers(flat)
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
    write_columns(ratings, path, "segment", {"raw": ratings.value})


def write_columns(ratings: Ratings, path: Path, segment: str, judged: Mapping[str, Any]) -> None:
    """Write who rated what, the judgements themselves, and what else is known of each."""
    others = {
        "type": ratings.item,
        "unit": ratings.unit,
        "seconds": ratings.seconds,
        "doc": ratings.document,
        "domain": ratings.domain,
    }
    columns = {
        "rater": [ratings.raters[code] for code in ratings.rater],
        "system": [ratings.systems[code] for code in ratings.system],
        segment: [ratings.segments[code] for code in ratings.segment],
        **judged,
        **{name: column for name, column in others.items() if column is not None},
    }
    tables.write(path, columns)


FORMAT = TableFormat(
    name="direct assessment",
    gives=Ratings,
    known_by="rater, system, segment and a score; or lists of scores",
    example="rater,system,segment,raw\nr1,A,1,85\nr1,B,1,60\n",
    example_name="ratings.csv",
    marks=(
        "rater rating segment system -errors -category",
        "scores system segments",
        "scores index",
    ),
    prepare=unusedcolumns.told(unusedcolumns.of_ratings),
    read=read,
    write=write,
    to="ratings",
    suits=lambda _value, _path: True,
)
