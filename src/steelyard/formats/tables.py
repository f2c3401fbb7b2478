"""Tables as they stand in a file: named columns of cells, each row with its line.

CSV, TSV, Excel, JSON and Parquet become the same :class:`RawTable`. What the columns mean is
settled by the formats above, what a cell is by :mod:`steelyard.formats.cells`. Large plain CSV goes
through DuckDB, everything it might read differently (quotes, bare CR, odd numbers, titles) through
the Python parser, which also says on which line an error is.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import delimited, dumps, guarded, missing
from steelyard.core.text import listed, plural
from steelyard.formats import cells, duck, files
from steelyard.formats.cells import SQL_GAPS, Cells, parse_number
from steelyard.formats.columns import are_measures, has_role, names_systems
from steelyard.formats.files import element_lines
from steelyard.formats.rawtable import RawTable

PLAIN = 'plain texts, a line for each segment, are for "steelyard score"'
EXCEL = ("xlsx", "xlsm", "xlsb", "xls", "ods")
_FAST_FROM = 200_000  # bytes; below this, importing DuckDB costs more than it saves
_MAGIC = {
    b"PAR1": "is a Parquet file: name it .parquet",
    b"ARROW1": "is a Feather (Arrow) file: save it as .parquet or .csv",
    b"\xfd7zXZ": "is an xz archive: unpack it",
    b"BZh": "is a bzip2 archive: unpack it",
    b"7z\xbc\xaf": "is a 7z archive: unpack it",
    b"PK\x03\x04": "is a zip archive: unpack it",
}
_LONGEST = 8_000_000  # bytes of a line: every thread of DuckDB has buffers of that size
_DELIMITERS = (",", "\t", ";", "|")
_LOOK = 30  # lines that show what separates cells
#: Keys of ours that hold lists or objects.
NESTED = frozenset(("out", "refs", "errors", "entities", "annotated_sentence", "mentions"))
_DEEPEST = 6  # objects in objects whose values become columns
#: Per cent, commas in numbers, a long minus, and blanks that no line breaks at.
_LOCAL = re.compile("[0-9] ?%|[0-9],[0-9]|[0-9][\u00a0\u202f\u2009]|\u2212[0-9.]")
_BEFORE, _BEHIND = r'(?:^|(?<=[;\t|"]))[ +-]?', r'(?=[;\t|"\r]|$)'
_GROUPS = re.compile(rf"{_BEFORE}[1-9][0-9]{{0,2}}\.[0-9]{{3}}{_BEHIND}", re.MULTILINE)
_DECIMALS = re.compile(
    rf"{_BEFORE}(0?\.[0-9]+|[0-9]+\.([0-9]{{1,2}}|[0-9]{{4,}})){_BEHIND}", re.MULTILINE
)
_INDEX = "Unnamed: 0"  # what pandas calls the numbers of rows that it wrote without a name
Record = tuple[int, Sequence[Any]]  # the line of a row, and its cells


def read(path: Path, *, is_text: Callable[[str], bool] = lambda _: False) -> RawTable:
    """Read a table; columns that ``is_text`` names stay text even if they look like numbers."""
    kind = files.kind(path)
    if kind in ("parquet", "pq"):
        from steelyard.formats.parquet import read_columns

        columns, n_rows = read_columns(path, is_text=is_text)
        if not n_rows:
            raise InputError("has no rows", path=path)
        check_header(path, list(columns))
        return RawTable(path, _flat(columns, path), n_rows, blank_is_missing=False)
    data = files.read_bytes(path)
    if is_excel(kind, data[:4096]):
        return _read_excel(path, data)
    for magic, what in _MAGIC.items():
        if data.startswith(magic):
            raise InputError(what, path=path)
    text, encoding = files.decode_table(data, path)
    if not text.strip():
        raise InputError("empty file", path=path)
    if files.is_json(text, kind):
        return _read_json(files.decode(data, path), path)
    delimiter = delimiter_of(text, kind)
    table = None
    large = len(data) >= (_FAST_FROM if "duckdb" not in sys.modules else _FAST_FROM // 10)
    if large and encoding is None and files.encoding_of(data) == "utf-8-sig":
        table = _read_with_duckdb(path, data, text, delimiter, is_text)
    table = table or _read_delimited(path, text, delimiter, is_text)
    return table if encoding is None else table.noted(encoding)


# Which cells a line has.


def delimiter_of(text: str, kind: str) -> str:
    """Tell what separates cells: the mark that splits most lines into equally many."""
    if kind in ("tsv", "tab"):
        return "\t"
    lines = [line for line in text[:100_000].split("\n") if line.strip()][:_LOOK]
    header = lines[0] if lines else ""
    in_header = [mark for mark in _DELIMITERS[:3] if mark in header]
    if len(in_header) == 1 and len({line.count(in_header[0]) for line in lines}) == 1:
        return in_header[0]
    shares = {mark: _agreement(lines, mark) for mark in _DELIMITERS}
    best = max(shares, key=lambda mark: shares[mark])
    return best if shares[best] else next(iter(in_header), ",")


def _agreement(lines: Sequence[str], delimiter: str) -> float:
    """Give the share of lines with the commonest number of cells, if that is two or more."""
    try:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
    except csv.Error:
        return 0.0
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
    return count / sum(widths.values()) if width > 1 and count > 1 else 0.0


def are_padded(names: Sequence[str]) -> bool:
    """Tell whether every name but the first begins with a blank, or all but the last end so."""
    before = all(name[:1] == " " for name in names[1:])
    behind = all(name[-1:] == " " for name in names[:-1])
    return len(names) > 1 and (before or behind)


class BrokenQuotesError(Exception):
    """What is wrong with the quotes of a record, and the line it starts on."""


def csv_records(text: str, delimiter: str, *, quoted: bool = True) -> Iterator[Record]:
    r"""Yield (line, cells) of each record; only ``\n`` and ``\r\n`` end one, a bare CR does not.

    Blanks beside separators that the header has, too, belong to no cell.
    """
    header = text.lstrip("\r\n").partition("\n")[0].removesuffix("\r")
    padded = are_padded(header.split(delimiter))
    stand_in = ""
    if re.search("\r(?!\n)", text):
        stand_in = next(c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
        text = re.sub("\r(?!\n)", stand_in, text)
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    limit = csv.field_size_limit(sys.maxsize)
    start = 1
    try:
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=delimiter,
            quoting=quoting,
            strict=True,
            skipinitialspace=padded,
        )
        for row in reader:
            cells = [cell.strip(" ") for cell in row] if padded else row
            if row:
                yield start, [c.replace(stand_in, "\r") for c in cells] if stand_in else cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise BrokenQuotesError(f"not valid CSV: {error}", start) from None
    finally:
        csv.field_size_limit(limit)


def _read_delimited(
    path: Path, text: str, delimiter: str, is_text: Callable[[str], bool]
) -> RawTable:
    try:
        records = list(csv_records(text, delimiter))
        ragged = len({len(row) for _, row in records}) > 1
    except BrokenQuotesError as error:
        if delimiter != "\t":
            raise InputError(error.args[0], path=path, line=error.args[1]) from None
        ragged = True
    if delimiter == "\t" and ragged:
        # Tab-separated texts often hold quotes that are just characters.
        records = list(csv_records(text, delimiter, quoted=False))
    local = _LOCAL.search(text) or (delimiter != "," and _may_be_grouped(text))
    return _with_numbers(_laid_out(path, records), is_text, local=bool(local))


def _may_be_grouped(text: str) -> bool:
    """Tell whether points may group digits: some stand before three, none before more or less."""
    return bool(_GROUPS.search(text)) and not _DECIMALS.search(text)


def _with_numbers(table: RawTable, is_text: Callable[[str], bool], *, local: bool) -> RawTable:
    """Convert columns that hold numbers alone, once; digits behind a zero are a name.

    Percentages, decimal commas and grouped digits are read where there are ``local`` numbers.
    """
    columns: dict[str, Cells] = dict(table.columns)
    for name, column in table.columns.items():
        if is_text(name) or any(cell[:1] == "0" and cell[1:2].isdigit() for cell in column):
            continue
        numbers = cells.numbers_of(column)
        if numbers is not None and not np.isnan(numbers).all():
            columns[name] = numbers
    read = [name for name in columns if local and not is_text(name)]
    mark = cells.decimal_mark(table.columns[name] for name in read)
    for name in read:
        try:
            numbers = cells.as_written(table.columns[name], mark)
        except cells.Ambiguous as error:
            cell = str(error)
            plain, point = cell.replace(",", "").replace(".", ""), cell.replace(",", ".")
            better = "without the comma, or with a decimal point"
            if "." in cell:
                better = "without the point, or all numbers with a decimal point"
            table.fail(f"column '{name}': '{cell}' may be {plain} or {point}; write it {better}")
        columns[name] = columns[name] if numbers is None else numbers
    percents = {
        name for name, column in table.columns.items()
        if columns[name] is not column and any("%" in cell for cell in column)
    }  # fmt: skip
    return replace(table, columns=columns, percents=frozenset(percents))


# Where the table is: below titles, beside empty columns.


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _is_number(cell: Any) -> bool:
    return not _is_blank(cell) and parse_number(cell) is not None


def _n_filled(row: Sequence[Any]) -> int:
    return sum(not _is_blank(cell) for cell in row)


def _is_filled(row: Sequence[Any]) -> bool:
    try:
        return bool("".join(row).strip())
    except TypeError:  # cells of a spreadsheet
        return _n_filled(row) > 0


def _laid_out(path: Path, records: Sequence[Record]) -> RawTable:
    """Find the header, and leave out empty rows, empty columns and the numbers of rows."""
    filled = [record for record in records if _is_filled(record[1])]
    if not filled:
        raise InputError("has no names of columns", path=path, line=1)
    first = _header(filled)
    line, header = filled[first]
    if records[0] is not filled[0] and any(_is_number(cell) for cell in header):
        raise InputError("column 1 of the header has no name: give it one", path=path, line=1)
    body = filled[first + 1 :]
    if body and _has_levels(header, body[0][1]):
        return _of_levels(path, filled[first:])
    width = len(header)
    rows = [
        row[:width] if len(row) > width and not _is_filled(row[width:]) else row for _, row in body
    ]
    for (at, _), row in zip(body, rows, strict=True):
        if len(row) != width:
            message = f"{len(row)} cells, expected {width} as in the header"
            raise InputError(message + (f"; {PLAIN}" if width == 1 else ""), path=path, line=at)
    if not rows:
        raise InputError("has a header but no rows", path=path)
    columns = list(zip(*rows, strict=True))
    kept = [k for k, name in enumerate(header) if not _is_blank(name) or _n_filled(columns[k])]
    names = ["" if _is_blank(header[k]) else cells.label(header[k]) or "" for k in kept]
    if names and (not names[0] or names[0] == _INDEX):
        numbers = [cells.label(cell) or "" for cell in columns[kept[0]]]
        if all(parse_number(cell) == row for row, cell in enumerate(columns[kept[0]])):
            names, kept = names[1:], kept[1:]
        elif all(re.fullmatch("[0-9]+", number) for number in numbers):
            names[0] = _INDEX
    check_header(path, names, line)
    if not names:
        raise InputError("has no names of columns", path=path, line=line)
    lines = [at for at, _ in body]
    chosen = {name: columns[k] for name, k in zip(names, kept, strict=True)}
    table = RawTable(path, chosen, len(rows), lines.__getitem__)
    return table.noted(f"{plural(first, 'line')} above the header skipped") if first else table


def _header(filled: Sequence[Record]) -> int:
    """Give the place of the header: titles and comments above it have a cell, or a # in front."""
    widths = Counter(len(row) for _, row in filled[: 2 * _LOOK])
    usual = max(widths, key=lambda width: (widths[width], width))
    most = max(_n_filled(row) for _, row in filled[: 2 * _LOOK])
    for k, (_, row) in enumerate(filled):
        comment = str(row[0]).lstrip().startswith("#") and len(row) != usual
        if (_n_filled(row) == 1 < most) or comment:
            continue
        return 0 if k and any(_is_number(cell) for cell in row) else k
    return 0


def check_header(path: Path, names: Sequence[str], line: int = 1) -> list[str]:
    """Refuse columns without a name, and names that occur twice."""
    for number, name in enumerate(names, 1):
        if not name.strip():
            message = f"column {number} of the header has no name: give it one"
            raise InputError(message, path=path, line=line)
        if names.count(name) > 1:
            raise InputError(f"column '{name}' occurs twice in the header", path=path, line=line)
    return list(names)


def _has_levels(header: Sequence[Any], below: Sequence[Any]) -> bool:
    """Tell whether a header has two lines, as pandas writes a pivot of several scores."""
    names = [str(name) for name in header[1:]]
    second = [str(name) for name in below[1:]]
    pairs = set(zip(names, second, strict=False))
    return (
        len(header) == len(below) > 2
        and len(set(names)) < len(names) == len(pairs)
        and all(name.strip() for name in names + second)
        and not any(parse_number(name) is not None for name in second)
    )


def _of_levels(path: Path, records: Sequence[Record]) -> RawTable:
    """Read a pivot: one line of the header names scores, the other systems."""
    (line, first), (_, second), *body = records
    label = "segment"
    if body and _n_filled(body[0][1]) == 1 and not _is_blank(body[0][1][0]):
        label = str(body.pop(0)[1][0])
    levels = [[str(name) for name in row[1:]] for row in (first, second)]
    titled = [names_systems(str(row[0] or "")) for row in (first, second)]
    measured = [are_measures(list(dict.fromkeys(level))) for level in levels]
    if not any(titled) and sum(measured) != 1:
        message = "has two lines of names: put the systems into a column 'system'"
        raise InputError(message, path=path, line=line)
    if any(len(row) != len(first) for _, row in body) or not body:
        raise InputError("has two lines of names, and rows of other lengths", path=path)
    upper = titled[0] if any(titled) else measured[1]
    of_system, of_score = levels if upper else levels[::-1]
    at = {pair: k for k, pair in enumerate(zip(of_system, of_score, strict=True), 1)}
    rows = [(name, *record) for name in dict.fromkeys(of_system) for record in body]
    columns: dict[str, Any] = {
        "system": [name for name, _, _ in rows],
        label: [row[0] for _, _, row in rows],
    }
    for score in dict.fromkeys(of_score):
        columns[score] = [
            row[at[name, score]] if (name, score) in at else "" for name, _, row in rows
        ]
    check_header(path, list(columns))
    return RawTable(path, columns, len(rows), lambda row: rows[row][1])


# JSON: records in lines, in a list or under a key; columns, or rows by name.


def _read_json(text: str, path: Path) -> RawTable:
    document = files.json_document(text, path)
    if isinstance(document, dict) and files.kind(path) not in ("jsonl", "ndjson"):
        return _of_document(document, text, path)
    if not isinstance(document, files.JsonList):  # lines, of which there may be one
        lines = enumerate(files.lines(text), 1)
        document = [(n, files.parse_json(line, path, n)) for n, line in lines if line.strip()]
    starts = [line for line, _ in document]
    return _of_records([value for _, value in document], path, starts.__getitem__)


def is_json_table(document: Mapping[str, Any]) -> bool:
    """Tell whether a JSON document is laid out like a table."""
    return _content(document) is not None


def refuse_json(document: Mapping[str, Any], path: Path) -> NoReturn:
    """Refuse a JSON document that is laid out like no table."""
    keys = listed(list(document), 8)
    raise InputError(
        f"a JSON document with keys {keys}; expected records (in lines, in a list or under one "
        "key), a list of scores for each system, or a log",
        path=path,
    )


def _content(document: Mapping[str, Any]) -> list[Any] | Mapping[str, Any] | None:
    """Give the records, or the lists or objects by name, that a document holds, if it does."""
    values = list(document.values())
    names, rows = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(rows, list) and rows:  # pandas: orient="split"
        whole = all(isinstance(row, list) and len(row) == len(names) for row in rows)
        named = whole and all(isinstance(name, str) for name in names)
        by_name = {name: [row[k] for row in rows] for k, name in enumerate(names)} if named else {}
        return by_name if by_name and len(by_name) == len(names) else None
    if not NESTED.isdisjoint(document) or not any(isinstance(v, (dict, list)) for v in values):
        return [document]
    records: dict[str, list[Any]]
    records = {name: value for name, value in document.items() if _are_objects(value)}
    if len(records) == len(values) > 1:
        named = any(names_systems(key) for rows in records.values() for row in rows for key in row)
        by_system = ({"system": name, **row} for name, rows in records.items() for row in rows)
        return None if named else list(by_system)
    if len(records) == 1:
        return next(iter(records.values()))
    of_lists = all(isinstance(value, list) and value for value in values)
    of_objects = all(isinstance(value, dict) and value for value in values)
    if not of_lists and not of_objects:
        return None
    scalars = (cell for value in values for cell in (value if of_lists else value.values()))
    return None if any(isinstance(cell, (dict, list)) for cell in scalars) else document


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _of_document(document: dict[str, Any], text: str, path: Path) -> RawTable:
    content = _content(document)
    if isinstance(content, list):
        key = next((name for name, value in document.items() if value is content), None)
        lines = cache(lambda: [1] * len(content) if key is None else element_lines(text, [key]))
        return _of_records(content, path, lambda row: lines()[row])
    if content is None:
        return _of_records([document], path)
    of_columns = isinstance(next(iter(content.values())), list)
    return (of_lists if of_columns else of_objects)(dict(content), path)


def of_lists(columns: dict[str, list[Any]], path: Path) -> RawTable:
    """Read a list for each system, or for each column."""
    if not any(map(len, columns.values())):
        raise InputError("has no rows", path=path)
    first, length = next((name, len(value)) for name, value in columns.items())
    for name, value in columns.items():
        if len(value) != length:
            message = f"'{name}' has {len(value)} values, but '{first}' has {length}"
            raise InputError(message, path=path)
    _check_keys(columns, path, 1)
    return RawTable(path, columns, length, lambda _: 1, blank_is_missing=False)


def of_objects(document: dict[str, dict[str, Any]], path: Path) -> RawTable:
    """Read scores by system and id, or by id and system: by what the keys are."""
    outer = list(document)
    inner = list(dict.fromkeys(key for row in document.values() for key in row))
    by_rows = are_measures(inner) or any(has_role(key) for key in inner)
    by_columns = any(has_role(key) for key in outer)
    if by_rows == by_columns:
        if len(outer) == len(inner) == 1:
            refuse_json(document, path)
        if len(outer) == len(inner):
            raise InputError(
                "could be scores by system and id, or by id and system; expected records with "
                "keys system, segment and score",
                path=path,
            )
        by_columns = len(outer) < len(inner)
    index, name = inner, "segment"
    if not by_columns:
        index, name = outer, "system" if are_measures(inner) else "segment"
        document = {key: {k: row.get(key) for k, row in document.items()} for key in inner}
    columns: dict[str, Any] = {key: [row.get(k) for k in index] for key, row in document.items()}
    if index != [str(k) for k in range(len(index))] and name not in columns:
        columns = {name: index, **columns}
    _check_keys(columns, path, 1)
    return RawTable(path, columns, len(index), lambda _: 1, blank_is_missing=False)


def _check_keys(row: Mapping[str, Any], path: Path, line: int) -> None:
    if any(not name.strip() for name in row):
        raise InputError("a key of the object has no name", path=path, line=line)


def _of_records(
    objects: Sequence[Any], path: Path, line_of: Callable[[int], int] = lambda _: 1
) -> RawTable:
    if not objects:
        raise InputError("has no rows", path=path)
    for row, value in enumerate(objects):
        if not isinstance(value, dict):
            files.need_object(value, path, line_of(row))
        if any(not name.strip() for name in value):
            _check_keys(value, path, line_of(row))
    columns = _flat(_columns(objects), path)
    if not columns:
        raise InputError("no object has any key", path=path)
    answers = [name for name, column in columns.items() if _are_answers(name, column)]
    if len(answers) != 1:
        return RawTable(path, columns, len(objects), line_of, blank_is_missing=False)
    # Every answer of an item gets a row, beside what the item says.
    (name,) = answers
    pairs = [(row, answer) for row, cell in enumerate(columns[name]) for answer in cell or ()]
    inside = _flat(_columns([answer for _, answer in pairs]), path)
    rows = [row for row, _ in pairs]
    outside = {key: [cells[row] for row in rows] for key, cells in columns.items() if key != name}
    columns = outside | {f"{name}.{k}" if k in outside else k: v for k, v in inside.items()}
    return RawTable(
        path, columns, len(rows), lambda row: line_of(rows[row]), blank_is_missing=False
    )


def _columns(objects: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for value in objects for name in value)
    return {name: [value.get(name) for value in objects] for name in names}


def _flat(columns: Mapping[str, Any], path: Path, depth: int = 0) -> dict[str, Any]:
    """Make columns of the values of objects, where a column holds objects alone."""
    made: dict[str, Any] = {}
    for name, column in columns.items():
        held = [] if isinstance(column, np.ndarray) else [c for c in column if c is not None]
        nested = held and name not in NESTED and all(isinstance(cell, dict) for cell in held)
        if not nested or depth == _DEEPEST or not any(held):
            parts = {name: column}
        else:
            inside = _columns([cell or {} for cell in column])
            parts = _flat({f"{name}.{key}": c for key, c in inside.items()}, path, depth + 1)
        for key in parts:
            if key in made:
                raise InputError(f"column '{key}' occurs twice", path=path)
        made |= parts
    return made


def _are_answers(name: str, column: Sequence[Any]) -> bool:
    """Tell whether a column holds lists of answers, each with the system that gave it."""
    held = [cell for cell in column if cell is not None]
    if name in NESTED or not held or not all(_are_objects(cell) for cell in held):
        return False
    return all(any(names_systems(key) for key in answer) for cell in held for answer in cell)


# Excel.


def is_excel(kind: str, head: bytes) -> bool:
    """Tell whether a file is a spreadsheet, by its suffix or by what it begins with."""
    zipped = head.startswith(b"PK\x03\x04") and (b"[Content_Types].xml" in head or b"xl/" in head)
    return kind in EXCEL or head.startswith(b"\xd0\xcf\x11\xe0") or zipped


def _read_excel(path: Path, data: bytes) -> RawTable:
    """Read the first sheet that holds a table."""
    try:
        import python_calamine
    except ImportError:
        message = "is a spreadsheet: pip install 'steelyard[excel]' to read it, or save it as CSV"
        raise InputError(message, path=path) from None
    _refuse_bomb(data, path)
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of the reader is no Exception
        reason = str(error).partition("\n")[0][:80]
        raise InputError(f"not a readable spreadsheet ({reason})", path=path) from None
    for name, rows in sheets.items():
        records = [(line, row) for line, row in enumerate(rows, 1) if _n_filled(row)]
        if len(records) > 1 and max(_n_filled(row) for _, row in records) > 1:
            table = _laid_out(path, records)
            others = listed([repr(other) for other in sheets if other != name])
            note = f"only sheet '{name}' of {len(sheets)} is read; not read: {others}"
            return table.noted(note) if len(sheets) > 1 else table
    raise InputError("no sheet holds a table", path=path)


def _refuse_bomb(data: bytes, path: Path) -> None:
    """Refuse a spreadsheet that unpacks to far more than it is, or is damaged."""
    if not data.startswith(b"PK"):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > max(files.unpacked_limit(), 100 * len(data)):
                limit = f"{files.LIMIT_VARIABLE}=N allows N MB"
                message = f"unpacks to {unpacked >> 20:,} MB: not read ({limit})"
                raise InputError(message, path=path)
            damaged = archive.testzip()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"not a readable spreadsheet ({error})", path=path) from None
    if damaged is not None:
        raise InputError(f"not a readable spreadsheet ({damaged} is damaged)", path=path)


# Large plain files.


def _is_plain(text: str) -> bool:
    """Tell whether every dialect of CSV, and every parser of numbers, reads the text alike."""
    ends = text.count("\r") if "\r" in text else 0
    return (
        '"' not in text
        and "\0" not in text
        and (not ends or ends == text.count("\r\n") == text.count("\n"))
        and not text.startswith(("\n", "\r\n"))
        and not re.search("\n\n", text)  # an empty line is a row; searched at half the cost of "in"
        and not (ends and "\n\r\n" in text)
        # 1_000 is a number to some, and so is +-1
        and not (text.find("_", text.find("\n")) > 0 and re.search(r"_(?<=[0-9]_)[0-9]", text))
        and not ("+" in text and "+-" in text)
    )


def _read_with_duckdb(
    path: Path, data: bytes, text: str, delimiter: str, is_text: Callable[[str], bool]
) -> RawTable | None:
    """Read a plain delimited file at full speed; None where that might differ from the parser."""
    first = [line.removesuffix("\r") for line in text[:1_000_000].split("\n", 2)[:2]]
    header, row = first[0].split(delimiter), first[-1].split(delimiter)
    good = 1 < len(header) == len(row) == len(set(header)) and all(map(str.strip, header))
    if len(first) < 2 or not good or are_padded(header) or header[0] == _INDEX:
        return None
    if delimiter != "," and _may_be_grouped(text):
        return None
    local = (cell for cell in row if parse_number(cell) is None)
    if any(cells.as_written([cell], ".") is not None for cell in local):
        return None
    if not duck.has_room() or not _is_plain(text):  # the parser needs less
        return None
    numeric = [
        not is_text(name) and parse_number(cell) is not None
        for name, cell in zip(header, row, strict=True)
    ]
    with ExitStack() as stack:
        plain = path
        if files.is_packed(path):  # which several threads can't read at once
            copy = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".csv"))
            copy.write(data)
            copy.flush()
            plain = Path(copy.name)
        columns = _plain_columns(plain, header, numeric, delimiter)
    if not columns or not len(columns[header[0]]):
        return None

    def line_of(row: int) -> int:
        return [i for i, line in enumerate(text.split("\n"), 1) if line.strip("\r")][row + 1]

    return RawTable(path, columns, len(columns[header[0]]), line_of)


def _plain_columns(
    path: Path, header: Sequence[str], numeric: Sequence[bool], delimiter: str
) -> dict[str, Cells] | None:
    """Read a file without quotes; None if a cell is not what its column should hold.

    DuckDB takes the gaps and the numbers of :mod:`steelyard.formats.cells` for what they are, and
    more than that for numbers: infinities and other words for NaN show in the result, what else
    there is was refused with the text. Columns get neutral names: whatever the header holds never
    reaches the SQL text.
    """
    import duckdb

    kinds = {f"c{i}": "DOUBLE" if number else "VARCHAR" for i, number in enumerate(numeric)}
    types = ", ".join(f"'{name}': '{kind}'" for name, kind in kinds.items())
    texts = ", ".join(f"'{name}'" for name, kind in kinds.items() if kind == "VARCHAR")
    with duck.plain_path(path) as name, duck.shared() as connection:
        sql = (
            f"SELECT * FROM read_csv({duck.literal(name)}, auto_detect=false, header=true, "
            f"delim={duck.literal(delimiter)}, quote='', escape='', strict_mode=true, "
            f"columns={{{types}}}, nullstr=[{SQL_GAPS}], force_not_null=[{texts}], "
            f"max_line_size={_LONGEST}, hive_partitioning=false)"
        )
        try:
            cells_read = connection.execute(sql).fetchnumpy()
        except duckdb.Error:
            return None
    columns: dict[str, Cells] = {}
    gaps = []
    for name, short, number in zip(header, kinds, numeric, strict=True):
        empty = np.ma.getmaskarray(cells_read[short])
        values = np.ma.getdata(cells_read[short])
        if number:
            values = columns[name] = np.where(empty, np.nan, values)
            gaps.append(empty)
            if np.count_nonzero(np.isfinite(values)) + np.count_nonzero(empty) != len(values):
                return None
        else:
            texts = columns[name] = values.tolist()
            if empty.any() or "" in texts:  # DuckDB may have lost a name like NA
                return None
    empty_row = all(numeric) and np.logical_and.reduce(gaps).any()
    return None if empty_row else columns


# Writing.


def write(path: Path, columns: Mapping[str, Any], names: Collection[str] = ()) -> None:
    """Write columns as CSV, TSV, JSON lines (plain or .gz) or Parquet, by the name's suffix.

    Numbers are written so that reading them back gives the same bits; NaN and None are left empty.
    The columns in ``names``, and those that are named by somebody, are read by
    :func:`steelyard.formats.columns.plain_names`.
    """
    kind = files.suffix(path)
    if kind not in ("jsonl", "ndjson"):
        columns = {name: _as_texts(column) for name, column in columns.items()}
    if kind in ("parquet", "pq"):
        from steelyard.formats.parquet import write_columns

        write_columns(path, columns, {})
        return
    if kind not in ("csv", "tsv", "jsonl", "ndjson"):
        raise UsageError(
            f"{path}: can't tell the format from the name; "
            f"expected .csv, .tsv, .jsonl (also .gz) or .parquet"
        )
    values = [c.tolist() if isinstance(c, np.ndarray) else list(c) for c in columns.values()]
    rows = list(zip(*values, strict=True))
    if kind in ("csv", "tsv"):
        if names:
            marks = [name in names for name in columns]
            columns = {guarded(name): column for name, column in columns.items()}
            rows = [
                tuple(guarded(c) if mark else c for c, mark in zip(row, marks, strict=True))
                for row in rows
            ]
        files.write_text(path, delimited(list(columns), rows, "," if kind == "csv" else "\t"))
    else:
        objects = (
            {n: None if missing(c) else c for n, c in zip(columns, row, strict=True)}
            for row in rows
        )
        files.write_text(path, "".join(dumps(value, indent=None) + "\n" for value in objects))


def _as_texts(column: Any) -> Any:
    """Write lists and objects as JSON text, where a cell can hold nothing else."""
    if isinstance(column, np.ndarray):
        return column
    return [dumps(c, indent=None) if isinstance(c, (list, dict)) else c for c in column]
