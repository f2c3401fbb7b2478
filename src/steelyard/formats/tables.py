"""Tables as they stand in a file: named columns of cells, each row with its line.

CSV, TSV, JSON lines and Parquet become the same :class:`RawTable`. What the columns mean is settled
by the formats above, what a cell is by :mod:`steelyard.formats.cells`. Large plain CSV goes through
DuckDB, everything it might read differently (quotes, bare CR, odd numbers) through the Python
parser, which also says on which line an error is.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import delimited, dumps, guarded, missing
from steelyard.formats import duck, files
from steelyard.formats.cells import SQL_GAPS, Cells, parse_number
from steelyard.formats.rawtable import RawTable

#: Keys of ours that hold lists or objects.
NESTED = {"out", "refs", "errors", "entities", "annotated_sentence"}
PLAIN = 'plain texts, a line for each segment, are for "steelyard score"'
_FAST_FROM = 200_000  # bytes; below this, importing DuckDB costs more than it saves


def read(
    path: Path, *, is_text: Callable[[str], bool] = lambda _: False, index: bool = False
) -> RawTable:
    """Read a table; columns that ``is_text`` names stay text even if they look like numbers.

    With ``index``, a first column without a name is left out: pandas wrote the numbers of rows.
    """
    kind = files.kind(path)
    if kind in ("parquet", "pq"):
        from steelyard.formats.parquet import read_columns

        columns, n_rows = read_columns(path, is_text=is_text)
        if not n_rows:
            raise InputError("has no rows", path=path)
        check_header(path, list(columns))
        return RawTable(path, columns, n_rows, blank_is_missing=False)
    data = files.read_bytes(path)
    if data.startswith(b"PAR1"):
        raise InputError("is a Parquet file: name it .parquet", path=path)
    decoded = files.decode(data, path)
    if not decoded.strip():
        raise InputError("empty file", path=path)
    if files.is_json(decoded, kind):
        return _read_json(decoded, path)
    delimiter = delimiter_of(decoded, kind)
    large = len(data) >= _FAST_FROM and not index
    if large and _plain(decoded) and not is_padded(decoded, delimiter):
        fast = _read_with_duckdb(path, decoded, delimiter, is_text)
        if fast is not None:
            return fast
    return _read_delimited(path, decoded, delimiter, index=index)


def delimiter_of(text: str, kind: str) -> str:
    """Tell what separates cells, by the kind of the file or by its header."""
    header = text[: text.find("\n")] if "\n" in text else text
    if kind in ("tsv", "tab"):
        return "\t"
    return next((d for d in (",", "\t", ";") if d in header), ",")


def _plain(text: str) -> bool:
    """Tell whether every dialect of CSV reads the text alike."""
    return (
        '"' not in text
        and ("\r" not in text or text.count("\r") == text.count("\r\n") == text.count("\n"))
        and "\0" not in text
        and not re.search(r"_(?<=[0-9]_)[0-9]", text)  # 1_000 is a number to some
        and "+-" not in text  # so is +-1
        and not text.startswith(("\n", "\r\n"))
        and not ("\n\n" in text or "\n\r\n" in text)  # and an empty line is a row
    )


def check_header(path: Path, names: Sequence[str], *, index: bool = False) -> list[str]:
    """Refuse columns without a name (but an ``index`` at the start), and names that occur twice."""
    for place, name in enumerate(names, 1):
        if not name.strip() and not (index and place == 1):
            message = f"column {place} of the header has no name (pandas: to_csv(index=False))"
            raise InputError(message, path=path, line=1)
        if names.count(name) > 1:
            raise InputError(f"column '{name}' occurs twice in the header", path=path, line=1)
    return list(names)


def is_padded(text: str, delimiter: str) -> bool:
    """Tell from the header whether blanks stand beside all separators, and belong to no cell."""
    header = text.lstrip("\r\n").partition("\n")[0].removesuffix("\r")
    return are_padded(header.split(delimiter))


def are_padded(names: Sequence[str]) -> bool:
    """Tell whether every name but the first begins with a blank, or all but the last end so."""
    before = all(name[:1] == " " for name in names[1:])
    behind = all(name[-1:] == " " for name in names[:-1])
    return len(names) > 1 and (before or behind)


class BrokenQuotesError(Exception):
    """What is wrong with the quotes of a record, and the line it starts on."""


def csv_records(
    source: Iterable[str], delimiter: str, *, quoted: bool, padded: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of each record of a delimited file, given its lines.

    With ``padded``, blanks beside separators are left out.
    """
    limit = csv.field_size_limit(sys.maxsize)
    try:
        quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        reader = csv.reader(
            source, delimiter=delimiter, quoting=quoting, strict=True, skipinitialspace=padded
        )
        start = 1
        for cells in reader:
            if cells:
                yield start, [cell.strip(" ") for cell in cells] if padded else cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise BrokenQuotesError(f"not valid CSV: {error}", start) from None
    finally:
        csv.field_size_limit(limit)


def _records(
    text: str, delimiter: str, *, quoted: bool, padded: bool
) -> Iterator[tuple[int, list[str]]]:
    r"""Yield (line, cells) of each record; only ``\n`` and ``\r\n`` end one, a bare CR does not."""
    stand_in = None
    if re.search("\r(?!\n)", text):
        stand_in = next(c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
        text = re.sub("\r(?!\n)", stand_in, text)
    source = io.StringIO(text, newline="")
    for line, cells in csv_records(source, delimiter, quoted=quoted, padded=padded):
        yield line, [c.replace(stand_in, "\r") for c in cells] if stand_in else cells


def _read_delimited(path: Path, text: str, delimiter: str, *, index: bool = False) -> RawTable:
    padded = is_padded(text, delimiter)
    try:
        records = list(_records(text, delimiter, quoted=True, padded=padded))
        ragged = len({len(cells) for _, cells in records}) > 1
    except BrokenQuotesError as error:
        if delimiter != "\t":
            raise InputError(error.args[0], path=path, line=error.args[1]) from None
        ragged = True
    if delimiter == "\t" and ragged:
        # Tab-separated texts often hold quotes that are just characters.
        records = list(_records(text, delimiter, quoted=False, padded=padded))
    header = check_header(path, records[0][1], index=index)
    for line, cells in records[1:]:
        if len(cells) != len(header):
            message = f"{len(cells)} cells, expected {len(header)} as in the header"
            message += f"; {PLAIN}" if len(header) == 1 else ""
            raise InputError(message, path=path, line=line)
    if len(records) == 1:
        raise InputError("has a header but no rows", path=path)
    columns = dict(zip(header, zip(*(cells for _, cells in records[1:]), strict=True), strict=True))
    starts = [line for line, _ in records[1:]]
    table = RawTable(path, columns, len(starts), starts.__getitem__)
    return table if header[0].strip() else table.without(header[:1])


def _read_with_duckdb(
    path: Path, text: str, delimiter: str, is_text: Callable[[str], bool]
) -> RawTable | None:
    """Read a plain delimited file at full speed; None where that might differ from the parser."""
    first = text[:1_000_000].split("\n", 2)
    if len(first) < 2 or not first[1].strip():
        return None
    header = check_header(path, first[0].removesuffix("\r").split(delimiter))
    cells = first[1].removesuffix("\r").split(delimiter)
    if len(cells) != len(header) or len(header) < 2:
        return None
    numeric = [
        not is_text(name) and parse_number(cell) is not None
        for name, cell in zip(header, cells, strict=True)
    ]
    columns = _plain_columns(path, header, numeric, delimiter)
    if columns is None:
        return None
    n_rows = len(next(iter(columns.values())))

    def line_of(row: int) -> int:
        filled = [i for i, line in enumerate(text.split("\n"), 1) if line.strip("\r")]
        return filled[row + 1]

    return RawTable(path, columns, n_rows, line_of) if n_rows else None


def _plain_columns(
    path: Path, header: Sequence[str], numeric: Sequence[bool], delimiter: str
) -> dict[str, Cells] | None:
    """Read a file without quotes; None if a cell is not what its column should hold.

    DuckDB takes the gaps and the numbers of :mod:`steelyard.formats.cells` for what they are, and
    more than that for numbers: infinities and other words for NaN show in the result, what else
    there is was refused with the text.
    """
    import duckdb

    if not duck.has_room():
        return None  # the parser needs less
    types = ["DOUBLE" if number else "VARCHAR" for number in numeric]
    with duck.plain_path(path) as name, duck.connect() as connection:
        source = duck.csv_source(name, path, types, delimiter, gaps=SQL_GAPS)
        try:
            found = connection.execute(f"SELECT * FROM {source}").fetchnumpy()
        except duckdb.Error:
            return None
    columns: dict[str, Cells] = {}
    for i, (name, number) in enumerate(zip(header, numeric, strict=True)):
        cells = found[f"c{i}"]
        empty = np.ma.getmaskarray(cells)
        values = np.ma.getdata(cells)
        if number:
            values = np.where(empty, np.nan, values)
            if np.isinf(values).any() or np.count_nonzero(np.isnan(values)) != empty.sum():
                return None
            columns[name] = values
        elif empty.any():
            return None  # the parser keeps an empty text apart from the word None
        else:
            columns[name] = values.tolist()
    return columns


def _json_records(text: str, path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line, value) of each record: of a document that is a list, or of JSON lines."""
    whole = files.json_document(text, path)
    if isinstance(whole, files.JsonList):
        yield from whole
    elif isinstance(whole, dict):
        yield 1, whole
    else:
        for line, content in enumerate(files.lines(text), 1):
            if content.strip():
                yield line, files.parse_json(content, path, line)


def _read_json(text: str, path: Path) -> RawTable:
    objects: list[dict[str, Any]] = []
    starts: list[int] = []
    for line, value in _json_records(text, path):
        objects.append(files.need_object(value, path, line))
        starts.append(line)
    if not objects:
        raise InputError("has no rows", path=path)
    names = dict.fromkeys(name for value in objects for name in value)
    for line, value in zip(starts, objects, strict=True):
        if any(not name.strip() for name in value):
            raise InputError("a key of the object has no name", path=path, line=line)
    columns = {name: [value.get(name) for value in objects] for name in names}
    if not columns:
        raise InputError("no object has any key", path=path)
    return RawTable(path, columns, len(objects), starts.__getitem__, blank_is_missing=False)


def _flat(column: Any) -> Any:
    """Write lists and objects as JSON text, where a cell can hold nothing else."""
    if isinstance(column, np.ndarray):
        return column
    return [dumps(c, indent=None) if isinstance(c, (list, dict)) else c for c in column]


def write(path: Path, columns: Mapping[str, Any], names: Collection[str] = ()) -> None:
    """Write columns as CSV, TSV, JSON lines (plain or .gz) or Parquet, by the name's suffix.

    Numbers are written so that reading them back gives the same bits; NaN and None are left empty.
    The columns in ``names``, and those that are named by somebody, are read by
    :func:`steelyard.formats.guessing.plain_names`.
    """
    kind = files.suffix(path)
    if kind not in ("jsonl", "ndjson"):
        columns = {name: _flat(column) for name, column in columns.items()}
    if kind in ("parquet", "pq"):
        from steelyard.formats.parquet import write_columns

        write_columns(path, columns, {})
        return
    if kind not in ("csv", "tsv", "jsonl", "ndjson"):
        raise UsageError(
            f"{path}: can't tell the format from the name; "
            f"expected .csv, .tsv, .jsonl (also .gz) or .parquet"
        )
    cells = [c.tolist() if isinstance(c, np.ndarray) else list(c) for c in columns.values()]
    rows = list(zip(*cells, strict=True))
    if kind in ("csv", "tsv"):
        if names:
            marks = [name in names for name in columns]
            columns = {guarded(name): column for name, column in columns.items()}
            rows = [
                tuple(guarded(c) if own else c for c, own in zip(row, marks, strict=True))
                for row in rows
            ]
        files.write_text(path, delimited(list(columns), rows, "," if kind == "csv" else "\t"))
    else:
        objects = (
            {n: None if missing(c) else c for n, c in zip(columns, row, strict=True)}
            for row in rows
        )
        files.write_text(path, "".join(dumps(value, indent=None) + "\n" for value in objects))
