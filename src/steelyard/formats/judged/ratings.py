"""Ratings with a score: a row per judgement of one output by one rater, with control items.

Two layouts: a row each (rater, system, segment, raw score, and ``type`` for controls and repeats),
or packed rows whose ``scores`` (and ``segments``) are lists separated by blanks. Also which logins
are one person, since campaigns hand out a login per batch and people take several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.text import listed
from steelyard.data.judgements import Ratings
from steelyard.formats import columns as roles
from steelyard.formats import tables
from steelyard.formats.cells import GAPS, Cells, fast_numbers, parse_number
from steelyard.formats.columns import INDEX, PACKED, PACKED_SEGMENTS, SYSTEM
from steelyard.formats.format import TableFormat
from steelyard.formats.judged.builder import NOBODY, noting_unused
from steelyard.formats.rawtable import RawTable, one_of
from steelyard.formats.reshape import within_documents

ITEMS = {
    **dict.fromkeys(("system", "tgt"), "system"),
    **dict.fromkeys(("repeat", "chk"), "repeat"),
    "ref": "ref",
    **dict.fromkeys(("bad_ref", "bad-ref", "bad"), "bad-ref"),
    "attention": "attention",
}
USED = {
    *roles.LANGUAGES,
    *roles.RATING_COLUMNS,
    *roles.SYSTEM,
    *roles.SEGMENT,
    *roles.DOCUMENT,
    *roles.DOMAIN,
}
_FEW_REPEATS = 0.2  # the share of outputs that a rater may have rated twice without a word of why
MOST_WORDS = 12  # of a scale; more are no scale
_LOGIN, _PERSON = "login", "person"


def counts(kind: str | None) -> bool:
    """Tell whether an item of this type counts for a score, and is no control of a rater."""
    return ITEMS.get((kind or "system").casefold(), "system") in ("system", "repeat")


def _packed(table: RawTable) -> bool:
    names = table.columns.keys()
    return PACKED in names and (names >= {*SYSTEM, PACKED_SEGMENTS} or INDEX in names)


def read(table: RawTable) -> Ratings:
    """Read all ratings."""
    _, table = roles.language_pair(table)
    if _packed(table):
        return _read_packed(table)
    rater = one_of(table, roles.RATER, "rater")
    value = one_of(table, roles.RATING, "score")
    item, unit = one_of(table, roles.ITEM, "item type"), one_of(table, roles.BATCH, "unit")
    assert rater is not None and value is not None  # noqa: PT018
    return Ratings.from_labels(
        *outputs(table),
        table.labels(rater),
        table.numbers(value),
        item=None if item is None else _items(table, item),
        unit=None if unit is None else tuple(table.labels(unit)),
        **facts(table),
    )


def outputs(table: RawTable) -> tuple[list[str], list[str]]:
    """Read the system and the segment of each row."""
    segment = roles.segment_column(table)
    assert segment is not None
    return table.labels(roles.SYSTEM[0]), table.labels(segment)


def facts(table: RawTable) -> dict[str, Any]:
    """Read what else is known of each row: how long it took, its document and domain."""
    texts: dict[str, Any] = {}
    for what, names in (("document", roles.DOCUMENT), ("domain", roles.DOMAIN)):
        column = one_of(table, names, what)
        cells = () if column is None else table.texts(column)
        texts[what] = tuple(cell or "" for cell in cells) if column is not None else None
    seconds = one_of(table, roles.SECONDS, "duration")
    start, end = one_of(table, roles.START, "start"), one_of(table, roles.END, "end")
    took = None if seconds is None else table.numbers(seconds)
    if took is None and start is not None and end is not None:
        took = table.numbers(end) - table.numbers(start)
    return {"seconds": took, **texts}


def refuse_repeats(table: RawTable) -> None:
    """Refuse outputs that a rater rated twice, if these are too many to be a check of raters."""
    rater, segment = one_of(table, roles.RATER, "rater"), roles.segment_column(table)
    if rater is None or any(name in table for name in (*roles.ITEM, *roles.LANGUAGES)):
        return
    names = [name for name in (rater, segment, *SYSTEM) if name is not None and name in table]
    rated = zip(*(map(str, table.columns[name]) for name in names), strict=True)
    first: dict[tuple[str, ...], int] = {}
    again: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(rated):
        if first.setdefault(key, row) != row:
            again.setdefault(key, row)
    if len(again) <= max(_FEW_REPEATS * len(first), 1):
        return
    key, row = next(iter(again.items()))
    system = f" of system '{key[2]}'" if len(key) > 2 else ""
    table.fail(
        f"rater '{key[0]}' judged segment '{key[1]}'{system} on line {table.line(first[key])} "
        f'already ({len(again):,} repeats): columns={{"doc": "NAME"}} names the column of '
        "documents, a column type marks repeats",
        row,
    )


def scale_words(cells: Cells) -> set[str]:
    """Return the words of a column that holds only texts; none of one that holds anything else."""
    if isinstance(cells, np.ndarray) or not all(isinstance(cell, str | None) for cell in cells):
        return set()
    return {cell for cell in cells if cell is not None and cell not in GAPS}


def _refuse_words(table: RawTable) -> None:
    """Refuse scores that are words, whose order the user must say."""
    column = next((name for name in roles.RATING if name in table), None)
    words = set() if column is None else scale_words(table.columns[column])
    no_numbers = all(parse_number(word) is None for word in words)
    if column and 0 < len(words) <= MOST_WORDS and no_numbers:
        shown = listed([repr(word) for word in sorted(words)], MOST_WORDS)
        table.fail(f"{table.named(column)} holds {shown}: scale=WORST,...,BEST gives their order")


def prepare(table: RawTable) -> RawTable:
    """Name segments by their documents where needed; note which columns are not used."""
    if not _packed(table):
        _refuse_words(table)
        table = within_documents(table)
        refuse_repeats(table)
    return noting_unused(table, USED)


def check_scale(
    table: RawTable, low: float = 0, high: float = 100, names: Sequence[str] = roles.RATING
) -> None:
    """Refuse a score beyond the scale, with its line; ``names`` are those of its column."""
    if _packed(table):
        column, lists = PACKED, [(text or "").split() for text in table.texts(PACKED)]
        cells = [(row, parse_number(cell)) for row, of_row in enumerate(lists) for cell in of_row]
    else:
        column = one_of(table, names, "score") or ""
        item = one_of(table, roles.ITEM, "item type")
        kinds = [None] * table.n_rows if item is None else table.texts(item)
        numbers = table.numbers(column).tolist() if column else []
        # Tests of raters have another scale.
        cells = [(row, x) for row, x in enumerate(numbers) if kinds[row] != "attention"]
    for row, score in cells:
        if score is not None and (score < low or score > high):
            message = f"{table.named(column)}: {score:g}, expected a score from {low:g} to {high:g}"
            table.fail(f"{message} (scale=... names another range)", row)


def _items(table: RawTable, column: str) -> tuple[str, ...]:
    names = table.labels(column)
    for row, name in enumerate(names):
        if name.casefold() not in ITEMS:
            expected = ", ".join(sorted(ITEMS))
            table.fail(f"column '{column}': unknown type '{name}', expected one of {expected}", row)
    return tuple(ITEMS[name.casefold()] for name in names)


def _read_packed(table: RawTable) -> Ratings:
    """Unpack lists: the n-th score belongs to the n-th segment, or else to the n-th rater."""
    scores = [(text or "").split() for text in table.texts(PACKED)]
    rows = [row for row, cells in enumerate(scores) for _ in cells]
    flat = [cell for cells in scores for cell in cells]
    numbers = fast_numbers(flat)
    if numbers is None or not np.isfinite(numbers).all():
        for row, cell in zip(rows, flat, strict=True):
            number = parse_number(cell)
            if number is None or not np.isfinite(number):
                table.fail(f"column 'scores': '{cell}' is not a finite number", row)
    assert numbers is not None
    systems = table.labels("system") if "system" in table else [NOBODY] * table.n_rows
    raters = [NOBODY] * len(flat)
    if PACKED_SEGMENTS in table:
        ids = [(text or "").split() for text in table.texts(PACKED_SEGMENTS)]
        for row, (names, cells) in enumerate(zip(ids, scores, strict=True)):
            if len(names) != len(cells):
                table.fail(f"{len(names)} segments but {len(cells)} scores", row)
        segments = [name for names in ids for name in names]
    else:
        numbered = any(table.texts(INDEX))
        by_row = table.labels(INDEX) if numbered else [str(row) for row in range(table.n_rows)]
        segments = [by_row[row] for row in rows]
        raters = [str(k) for cells in scores for k in range(1, len(cells) + 1)]
    return Ratings.from_labels([systems[row] for row in rows], segments, raters, numbers)


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
        ".scores system .segments",
        ".scores .index",
    ),
    prepare=prepare,
    read=read,
    write=write,
    to="ratings",
    suits=lambda _value, _path: True,
)


# Which logins are one person.


def read_persons(source: Path | str | Mapping[str, Any]) -> dict[str, str]:
    """Return the person of each login: of a table with both, or of ``{person: [logins]}``.

    Examples
    --------
    >>> read_persons({"Ann": ["eng01", "eng07"], "Bo": ["eng02"]})
    {'eng01': 'Ann', 'eng07': 'Ann', 'eng02': 'Bo'}
    """
    rows: Iterable[tuple[str, str, int | None]]
    if isinstance(source, Mapping):
        path, rows = "raters", _logins(source)
    elif isinstance(source, (str, Path)):
        path, rows = str(source), _login_rows(Path(source))
    else:
        expected = "a file, or logins by person, as {'Ann': ['eng01', 'eng07']}"
        raise UsageError(f"raters is {expected}, got a {type(source).__name__}")
    persons: dict[str, str] = {}
    for login, person, line in rows:
        if persons.setdefault(login, person) != person:
            both = f"'{persons[login]}' and '{person}'"
            message = f"login '{login}' is of {both}, expected one person"
            raise InputError(message, path=path, line=line)
    return persons


def _logins(persons: Mapping[str, Any]) -> Iterator[tuple[str, str, None]]:
    for person, logins in persons.items():
        good = isinstance(logins, (list, tuple)) and all(isinstance(name, str) for name in logins)
        if not isinstance(person, str) or not person.strip() or not good:
            message = f"{person!r}: {logins!r:.60}, expected a person and a list of logins"
            raise InputError(message, path="raters")
        yield from ((login, person, None) for login in logins)


def _login_rows(path: Path) -> Iterator[tuple[str, str, int]]:
    table = tables.read(path, is_text=lambda _: True)
    login = next((name for name in (_LOGIN, *roles.RATER) if name in table), None)
    names = (name for name in (_PERSON, *roles.RATER) if name in table and name != login)
    person = next(names, None)
    if login is None or person is None:
        shown = ", ".join(list(table.columns)[:8])
        table.fail(f"columns {shown}, expected {_LOGIN} and {_PERSON}")
    pairs = zip(table.labels(login), table.labels(person), strict=True)
    for row, (name, owner) in enumerate(pairs):
        yield name, owner, table.line(row)
