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
from steelyard.data.judgements import Floats, Ratings, encode
from steelyard.formats import columns as roles
from steelyard.formats import tables
from steelyard.formats.cells import GAPS, fast_numbers, parse_number
from steelyard.formats.columns import INDEX, PACKED, PACKED_SEGMENTS, SYSTEM
from steelyard.formats.format import TableFormat
from steelyard.formats.judged.builder import NOBODY, noting_unused
from steelyard.formats.rawtable import RawTable, one_of
from steelyard.formats.reshape import within_documents
from steelyard.formats.view import FileView

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
_MOST_WORDS = 12  # of a scale; more are no scale
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
        document=texts_of(table, roles.DOCUMENT, "document"),
        domain=texts_of(table, roles.DOMAIN, "domain"),
    )


def texts_of(table: RawTable, names: Sequence[str], what: str) -> tuple[str, ...] | None:
    """Read the document or domain of each row; blank where it is unknown."""
    column = one_of(table, names, what)
    return None if column is None else tuple(text or "" for text in table.texts(column))


def seconds(table: RawTable) -> Floats | None:
    """Read how long each row took: a column of seconds, or the times of its start and end."""
    column = one_of(table, roles.SECONDS, "duration")
    if column is not None:
        return table.numbers(column)
    start, end = one_of(table, roles.START, "start"), one_of(table, roles.END, "end")
    return None if start is None or end is None else table.numbers(end) - table.numbers(start)


def _outputs(table: RawTable) -> Iterator[tuple[str, ...]]:
    segment, rater = roles.segment_column(table), one_of(table, roles.RATER, "rater")
    names = [name for name in (rater, segment, *SYSTEM) if name is not None and name in table]
    return zip(*(map(str, table.columns[name]) for name in names), strict=True)


def refuse_repeats(table: RawTable) -> None:
    """Refuse outputs that a rater rated twice, if these are too many to be a check of raters."""
    if any(name in table for name in (*roles.ITEM, *roles.LANGUAGES)) or not any(
        name in table for name in roles.RATER
    ):
        return
    first: dict[tuple[str, ...], int] = {}
    again: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(_outputs(table)):
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


def _refuse_words(table: RawTable) -> None:
    """Refuse scores that are words, whose order the user must say."""
    column = next((name for name in roles.RATING if name in table), None)
    if column is None or isinstance(table.columns[column], np.ndarray):
        return
    words = {cell for cell in table.columns[column] if isinstance(cell, str) and cell not in GAPS}
    if words and len(words) <= _MOST_WORDS and all(parse_number(word) is None for word in words):
        shown = listed([repr(word) for word in sorted(words)], _MOST_WORDS)
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
    scores: Iterable[tuple[int, float]]
    if _packed(table):
        column: str | None = PACKED
        cells = ((row, cell) for row, text in enumerate(table.texts(PACKED))
                 for cell in (text or "").split())  # fmt: skip
        scores = ((row, n) for row, cell in cells if (n := parse_number(cell)) is not None)
    else:
        column = one_of(table, names, "score")
        item = one_of(table, roles.ITEM, "item type")
        values = np.empty(0) if column is None else table.numbers(column)
        if item is not None and column is not None:  # tests of raters have another scale
            values = np.where([t == "attention" for t in table.texts(item)], np.nan, values)
        scores = enumerate(values.tolist())
    for row, score in scores:
        if column is not None and (score < low or score > high):
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
    systems = table.labels("system") if "system" in table else [NOBODY] * table.n_rows
    system_names, system = encode(systems)
    if PACKED_SEGMENTS in table:
        ids = [(text or "").split() for text in table.texts(PACKED_SEGMENTS)]
        for row, (names, n) in enumerate(zip(ids, lengths, strict=True)):
            if len(names) != n:
                table.fail(f"{len(names)} segments but {n} scores", row)
        segments, segment = encode([name for row in ids for name in row])
        raters: tuple[str, ...] = (NOBODY,)
        rater = np.zeros(len(flat), dtype=np.int32)
    else:
        numbered = any(table.texts(INDEX))
        names = table.labels(INDEX) if numbered else [str(row) for row in range(table.n_rows)]
        segments, by_row = encode(names)
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
    if not isinstance(source, (str, Path, Mapping)):
        expected = "a file, or logins by person, as {'Ann': ['eng01', 'eng07']}"
        raise UsageError(f"raters is {expected}, got a {type(source).__name__}")
    if isinstance(source, Mapping):
        path, rows = "raters", _logins(source, "raters")
    else:
        path, document = str(source), FileView(Path(source)).document
        rows = _logins(document, path) if isinstance(document, dict) else _login_rows(Path(path))
    persons: dict[str, str] = {}
    for login, person, line in rows:
        if persons.setdefault(login, person) != person:
            both = f"'{persons[login]}' and '{person}'"
            message = f"login '{login}' is of {both}, expected one person"
            raise InputError(message, path=path, line=line)
    return persons


def _logins(persons: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, int | None]]:
    for person, logins in persons.items():
        good = isinstance(logins, (list, tuple)) and all(isinstance(name, str) for name in logins)
        if not isinstance(person, str) or not person.strip() or not good:
            message = f"{person!r}: {logins!r:.60}, expected a person and a list of logins"
            raise InputError(message, path=path)
        yield from ((login, person, None) for login in logins)


def _login_rows(path: Path) -> Iterator[tuple[str, str, int | None]]:
    table = tables.read(path, is_text=lambda _: True)
    login = next((name for name in (_LOGIN, *roles.RATER) if name in table), None)
    names = (name for name in (_PERSON, *roles.RATER) if name in table and name != login)
    person = next(names, None)
    if login is None or person is None:
        shown = ", ".join(list(table.columns)[:8])
        raise InputError(f"columns {shown}, expected {_LOGIN} and {_PERSON}", path=path)
    pairs = zip(table.labels(login), table.labels(person), strict=True)
    for row, (name, owner) in enumerate(pairs):
        yield name, owner, table.line(row)
