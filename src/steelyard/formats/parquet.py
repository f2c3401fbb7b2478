"""Parquet: columns in and out, with a text of our own in the footer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, OutOfMemoryError
from steelyard.core.table import dumps
from steelyard.data.judgements import Floats
from steelyard.formats import duck, files
from steelyard.formats.files import on_disk

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = (*_WHOLE, *(f"U{kind}" for kind in _WHOLE), "FLOAT", "DOUBLE")
_EXACT = 2**53
_PLAIN = ", hive_partitioning=false)"
_NAMES = "steelyard.columns"


def read_columns(
    path: Path, *, is_text: Callable[[str], bool] = lambda _: False
) -> tuple[dict[str, Sequence[Any] | Floats], int]:
    """Read all columns: numbers as float64 (unless ``is_text``), the rest as they are."""
    with opened(path) as (connection, source):
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        names = column_names(connection, source, [name for name, *_ in described], path)
        columns: dict[str, Sequence[Any] | Floats] = {name: [] for name in names}  # in their order
        numbers, others = {}, {}
        for name, (shown_as, kind, *_) in zip(names, described, strict=True):
            column = duck.quote(shown_as)
            if not is_number(kind):
                others[name] = column
            elif is_text(name):
                others[name] = f"CAST({column} AS VARCHAR)"
            else:
                numbers[name] = column, kind
        if others:
            rows = connection.execute(
                f"SELECT {', '.join(others.values())} FROM {source}"
            ).fetchall()
            columns |= zip(others, map(list, zip(*rows, strict=True)), strict=bool(rows))
        if numbers:
            columns |= _numbers(connection, source, numbers, path)
    return columns, len(next(iter(columns.values()), []))


def is_number(kind: str) -> bool:
    """Tell whether a type of DuckDB's is one of numbers."""
    return kind in _NUMBERS or (kind.startswith("DECIMAL") and not kind.endswith("]"))


def _described(source: str, function: str) -> str:
    return source.replace("read_parquet", function, 1).replace(_PLAIN, ")")


def column_names(connection: Any, source: str, shown: list[str], path: Path) -> list[str]:
    """Give the names as the file has them: DuckDB renames those that differ in case only."""
    ours = _footer(connection, source).get(_NAMES)
    if ours is not None:
        names = files.parse_json(ours, path, 1)
        good = isinstance(names, list) and all(isinstance(n, str) and n for n in names)
        if not good or not len(set(names)) == len(names) == len(shown):
            raise InputError("damaged Parquet file: its footer misnames the columns", path=path)
        return [str(name) for name in names]
    schema = _described(source, "parquet_schema")
    rows = connection.execute(f"SELECT name, num_children FROM {schema}").fetchall()
    stored, inside = [], 0
    for name, children in rows[1:]:  # the first is the root; what is nested stands after its owner
        if not inside:
            stored.append(name)
        inside += (children or 0) - bool(inside)
    return stored if len(stored) == len(shown) else shown


def _numbers(
    connection: Any, source: str, columns: Mapping[str, tuple[str, str]], path: Path
) -> dict[str, Floats]:
    """Read columns of numbers, given as SQL and type by name, in one query."""
    whole = [column for column, kind in columns.values() if kind.removeprefix("U") in _WHOLE]
    if whole:
        beyond = ", ".join(
            f"count(*) FILTER (CAST({column} AS HUGEINT) NOT BETWEEN -{_EXACT} AND {_EXACT})"
            for column in whole
        )
        counts = connection.execute(f"SELECT {beyond} FROM {source}").fetchone()
        for column, count in zip(whole, counts, strict=True):
            if count:
                message = f"column {column}: integers beyond 2^53 are not exact scores"
                raise InputError(message, path=path)
    casts = ", ".join(
        f"CAST({column} AS DOUBLE) AS x{k}" for k, (column, _) in enumerate(columns.values())
    )
    cells = connection.execute(f"SELECT {casts} FROM {source}").fetchnumpy()
    return {name: np.ma.filled(cells[f"x{k}"], np.nan) for k, name in enumerate(columns)}


def read_footer(path: Path, key: str) -> str | None:
    """Read a text that :func:`write_columns` put into the footer; None if there is none."""
    with opened(path) as (connection, source):
        return _footer(connection, source).get(key)


def _footer(connection: Any, source: str) -> dict[str, str]:
    sql = _described(source, "parquet_kv_metadata")
    rows = connection.execute(f"SELECT key, value FROM {sql}").fetchall()
    texts = [(bytes(k).decode("utf-8", "replace"), bytes(v)) for k, v in rows]
    return {key: value.decode("utf-8", "replace") for key, value in texts}


def write_columns(path: Path, columns: Mapping[str, Any], footer: Mapping[str, str]) -> None:
    """Write columns (float64 arrays, or sequences of text and None); NaN becomes NULL."""
    import duckdb

    names = list(columns)
    if not names:
        raise InputError("a Parquet file needs a column, and the table has none", path=path)
    _check_texts(path, columns)
    shown, seen = [], set()
    for name in names:
        while name.casefold() in seen:
            name += "~"  # noqa: PLW2901 - a stand-in; the footer holds the real name
        seen.add(name.casefold())
        shown.append(name)
    if shown != names:
        footer = {**footer, _NAMES: dumps(names, indent=None)}
    # Row groups, and so the bytes, must not depend on threads.
    with duck.connect(threads=1) as connection, files.replacing(path) as temporary:
        arrays, chosen = {}, []
        for i, column in enumerate(columns.values()):
            number = _is_number(column)
            arrays[f"c{i}"] = column if number else np.array(list(column), dtype=object)
            cells = f"nullif(c{i}, 'NaN'::DOUBLE)" if number else f"c{i}"
            chosen.append(f"{cells} AS {duck.quote(shown[i])}")
        connection.register("arrays", arrays)
        pairs = ", ".join(f"{duck.quote(k)}: {duck.literal(v)}" for k, v in footer.items())
        # DuckDB 1.2 refuses metadata without entries.
        metadata = f", KV_METADATA {{{pairs}}}" if pairs else ""
        options = f"FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false{metadata}"
        target = duck.literal(str(temporary))
        try:
            connection.execute(
                f"COPY (SELECT {', '.join(chosen)} FROM arrays) TO {target} ({options})"
            )
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemoryError.at(path) from error
        except duckdb.Error as error:
            raise InputError(f"can't be written ({duck.said(error)})", path=path) from error


def _check_texts(path: Path, columns: Mapping[str, Any]) -> None:
    """Refuse what UTF-8 can't write, before DuckDB trips over it."""
    for name, column in columns.items():
        texts = () if _is_number(column) else (c for c in column if isinstance(c, str))
        for text in (name, *texts):
            if not text.isascii():
                files.encode(text, path)


def _is_number(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind == "f"


@contextmanager
def opened(path: Path, connection: Any = None) -> Iterator[tuple[Any, str]]:
    """Give a connection and the SQL for the file; whatever DuckDB says of it becomes one line."""
    import duckdb

    if not on_disk(path).is_file():
        raise InputError("no such file", path=path)
    with duck.plain_path(path) as name, ExitStack() as stack:
        connection = connection or stack.enter_context(duck.shared())
        try:
            yield connection, f"read_parquet({duck.literal(name)}{_PLAIN}"
        except (duckdb.Error, UnicodeDecodeError) as error:
            raise duck.failure(error, path, "Parquet file") from error
