"""Tables too large to hold: any kind of file as rows that DuckDB reads, out of core.

Parquet is read where it is; of delimited files and JSON lines the columns that are wanted become a
Parquet file of their own first, in a temporary folder. What is wrong with a row is said by the
readers of small tables: one row of a :class:`Scan` is a table, too.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from steelyard.core.errors import InputError
from steelyard.formats import duck, files, parquet, tables
from steelyard.formats.cells import sql_gap, sql_number
from steelyard.formats.duck import literal, quote
from steelyard.formats.rawtable import RawTable

_HEAD = 1 << 20  # bytes from which names and separators are told
_MEMORY = "1GB"  # what DuckDB may hold before it goes to disk


class Column(NamedTuple):
    """A column as SQL and its type."""

    sql: str
    kind: str

    @property
    def is_number(self) -> bool:
        """Whether the file holds numbers."""
        return parquet.is_number(self.kind)

    def text(self) -> str:
        """SQL of the cell as a name, as :meth:`RawTable.labels` reads it; NULL if it is none."""
        shown = f"CAST({self.sql} AS VARCHAR)"
        if self.kind == "VARCHAR" or self.kind.startswith("ENUM"):
            return self.sql
        if self.kind == "JSON":
            number = f"CAST({self.sql} AS DOUBLE)"
            whole = f"CAST(CAST({number} AS HUGEINT) AS VARCHAR)"
            return (
                f"CASE json_type({self.sql}) WHEN 'VARCHAR' THEN {self.sql}->>'$' "
                f"WHEN 'UBIGINT' THEN {shown} WHEN 'BIGINT' THEN {shown} WHEN 'DOUBLE' THEN "
                f"CASE WHEN regexp_full_match({shown}, '-?[0-9]+') THEN {shown} "
                f"WHEN {number} = trunc({number}) AND abs({number}) < 1e30 THEN {whole} "
                f"ELSE CAST({number} AS VARCHAR) END END"
            )
        named = self.is_number or self.kind in ("DATE", "UUID") or self.kind.startswith("TIMESTAMP")
        return shown if named else "CAST(NULL AS VARCHAR)"

    def number(self) -> str:
        """SQL of the cell as a number; NULL where it is missing or none."""
        if self.is_number:
            return f"CAST({self.sql} AS DOUBLE)"
        if self.kind.startswith("TIMESTAMP") or self.kind == "DATE":
            return f"CAST(epoch({self.sql}) AS DOUBLE)"
        return sql_number(self.text())

    def missing(self) -> str:
        """SQL that tells whether there is nothing in the cell."""
        empty = f"{self.sql} IS NULL"
        if self.is_number:
            return f"{empty} OR isnan(CAST({self.sql} AS DOUBLE))"
        words = self.kind in ("VARCHAR", "JSON")
        return f"{empty} OR {sql_gap(self.text())}" if words else empty


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows of a file: SQL that reads them (numbered by ``file_row_number``), and its columns.

    ``names`` are those of all columns, also where only some can be read; ``blank`` is what an empty
    cell is to readers of small tables.
    """

    path: Path
    connection: Any
    source: str
    columns: Mapping[str, Column]
    line_of: Callable[[int], int]
    names: tuple[str, ...]
    blank: str | None = None

    def header(self) -> RawTable:
        """Give a table that has the columns but no rows."""
        return RawTable(self.path, dict.fromkeys(self.names, ()), 0)

    def row(self, row: int, columns: list[str]) -> RawTable:
        """Give a table of one row, which knows its line."""
        chosen = [self.columns[name] for name in columns]
        shown = ", ".join(
            f"CAST({c.sql} AS VARCHAR)" if c.is_number or c.kind == "JSON" else c.sql
            for c in chosen
        )
        sql = f"SELECT {shown} FROM {self.source} WHERE file_row_number = {row}"
        found = self.connection.execute(sql).fetchone()
        cells = {
            name: [self._cell(column, cell)]
            for name, column, cell in zip(columns, chosen, found, strict=True)
        }
        line = self.line_of(row)
        return RawTable(self.path, cells, 1, lambda _: line)

    def _cell(self, column: Column, cell: Any) -> Any:
        if cell is None:
            return self.blank
        return json.loads(cell) if column.kind == "JSON" else cell


def is_parquet(path: Path) -> bool:
    """Tell by its name whether a file is Parquet."""
    return files.kind(path) in ("parquet", "pq")


def is_list(path: Path) -> bool:
    """Tell whether a file is one JSON list, which is read whole."""
    with files.opened(path) as stream:
        return stream.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


@contextmanager
def session(threads: int | None = None) -> Iterator[Any]:
    """Open a database that holds so much in memory, and the rest in a folder of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="steelyard-") as spilled,
        duck.connect(threads) as connection,
    ):
        connection.execute(f"SET memory_limit = {literal(_MEMORY)}")
        connection.execute(f"SET temp_directory = {literal(spilled)}")
        try:
            yield connection
        except RuntimeError as error:  # which is what DuckDB makes of Ctrl-C at times
            if "interrupted" in str(error):
                raise KeyboardInterrupt from error
            raise


def n_rows(path: Path, connection: Any) -> int | None:
    """Give the number of rows that the footer of a Parquet file names; None for other files."""
    if not is_parquet(path):
        return None
    with parquet.opened(path, connection) as (_, source):
        return parquet.n_rows(connection, source)


@contextmanager
def opened(path: Path, wanted: Callable[[str], bool], connection: Any) -> Iterator[Scan]:
    """Open a table for SQL; of text only the columns that are ``wanted`` are there."""
    if is_parquet(path):
        with parquet.opened(path, connection) as (_, source):
            yield _scan(path, connection, source, None, lambda row: row + 1)
        return
    text = _head(path)
    kind = files.kind(path)
    lines = files.is_json(text, kind)
    if lines and text.lstrip()[0] == "[":
        raise InputError(
            "is one list, which can't be read in parts; expected JSON lines", path=path
        )
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        copy = Path(folder) / "table.parquet"
        form = _JsonLines(path, text) if lines else _Delimited(path, text, kind)
        names = [name for name in form.names if wanted(name)]
        form.copy(names, copy, connection)
        with parquet.opened(copy, connection) as (_, source):
            scan = _scan(path, connection, source, names, form.line_of)
            yield replace(scan, names=tuple(form.names), blank=None if lines else "")


def _scan(
    path: Path, connection: Any, source: str, names: list[str] | None, line_of: Callable[[int], int]
) -> Scan:
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    shown = [name for name, *_ in described]
    known = parquet.column_names(connection, source, shown, path) if names is None else names
    rows, shown = parquet.numbered(source, shown)
    columns = {
        name: Column(quote(as_shown), kind)
        for name, as_shown, (_, kind, *_) in zip(known, shown, described, strict=True)
    }
    return Scan(path, connection, rows, columns, line_of, tuple(known))


def _head(path: Path) -> str:
    """Decode the first lines of a file."""
    try:
        with files.opened(path) as stream:
            data = stream.read(_HEAD)
            data += stream.readline() if data[-1:] not in (b"", b"\n") else b""
    except (OSError, EOFError):
        data = files.read_bytes(path)  # which says what is wrong
    text = files.decode(data, path)
    if not text.strip():
        raise InputError("empty file", path=path)
    return text


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Go through the lines of a file, with their numbers, without holding it."""
    with files.opened(path) as stream:
        yield from files.decode_lines(stream, path)


class _Text:
    """A file that is no Parquet: the names of its columns, and how they become one."""

    names: list[str]

    def __init__(self, path: Path) -> None:
        self.path = path

    def _copy(self, selected: str, source: str, target: Path, connection: Any) -> None:
        options = "FORMAT parquet, COMPRESSION snappy"
        goal = literal(str(target))
        connection.execute(f"COPY (SELECT {selected} FROM {source}) TO {goal} ({options})")

    def _fail(self, error: Exception) -> NoReturn:
        raise duck.failure(error, self.path, "table") from error


class _Delimited(_Text):
    def __init__(self, path: Path, text: str, kind: str) -> None:
        super().__init__(path)
        self.delimiter = tables.delimiter_of(text, kind)
        self.quoted, self.padded = True, tables.is_padded(text, self.delimiter)
        first = next(
            tables.csv_records(
                text.splitlines(keepends=True), self.delimiter, quoted=True, padded=self.padded
            )
        )
        self.names = tables.check_header(path, first[1])

    def copy(self, names: list[str], target: Path, connection: Any) -> None:
        """Write some columns as Parquet, or say on which line the file is broken."""
        import duckdb

        cell = "trim(c{k}, ' ') AS c{k}" if self.padded else "c{k}"
        places = [self.names.index(name) for name in names] or [0]
        chosen = ", ".join(cell.format(k=k) for k in places)
        types = ["VARCHAR"] * len(self.names)
        with duck.plain_path(self.path) as name:
            for quoted in (True, False) if self.delimiter == "\t" else (True,):
                self.quoted = quoted
                source = duck.csv_source(
                    name, self.path, types, self.delimiter, quote='"' if quoted else ""
                )
                try:
                    self._copy(chosen, source, target, connection)
                except duckdb.Error as error:
                    failure = error
                else:
                    return
        self._explain()
        self._fail(failure)

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        return tables.csv_records(
            (text for _, text in _lines(self.path)),
            self.delimiter,
            quoted=self.quoted,
            padded=self.padded,
        )

    def _explain(self) -> None:
        """Find the record that has too many or too few cells."""
        try:
            for line, cells in self._records():
                if len(cells) != len(self.names):
                    message = f"{len(cells)} cells, expected {len(self.names)} as in the header"
                    raise InputError(message, path=self.path, line=line)
        except tables.BrokenQuotesError as error:
            raise InputError(error.args[0], path=self.path, line=error.args[1]) from None

    def line_of(self, row: int) -> int:
        """Give the line on which a row starts."""
        return next(line for at, (line, _) in enumerate(self._records(), -1) if at == row)


class _JsonLines(_Text):
    def __init__(self, path: Path, text: str) -> None:
        super().__init__(path)
        found: dict[str, None] = {}
        for line, content in enumerate(files.lines(text), 1):
            if content.strip():
                found |= dict.fromkeys(self._object(content, line))
        self.names = list(found)

    def _object(self, content: str, line: int) -> dict[str, Any]:
        return files.need_object(files.parse_json(content, self.path, line), self.path, line)

    def copy(self, names: list[str], target: Path, connection: Any) -> None:
        """Write some columns as Parquet, or say on which line the file is broken."""
        import duckdb

        chosen = ", ".join(f"{quote(name)} AS c{k}" for k, name in enumerate(names))
        with duck.plain_path(self.path) as name:
            source = duck.json_source(name, self.path, names)
            try:
                self._copy(chosen, source, target, connection)
            except duckdb.Error as error:
                for line, content in _lines(self.path):
                    if content.strip():
                        self._object(content, line)
                self._fail(error)

    def line_of(self, row: int) -> int:
        """Give the line on which a row stands."""
        filled = (line for line, content in _lines(self.path) if content.strip())
        return next(line for at, line in enumerate(filled) if at == row)
