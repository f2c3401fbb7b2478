"""Parquet: columns in and out, with a text of our own in the footer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import InputError
from steelyard.formats import duck, files
from steelyard.judgements import Floats

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
_EXACT = 2**53


def read_columns(
    path: Path, *, text: Collection[str] = ()
) -> tuple[dict[str, Sequence[Any] | Floats], int]:
    """Read all columns: numbers as float64, those in ``text`` as text, the rest as they are."""
    columns: dict[str, Sequence[Any] | Floats] = {}
    with _opened(path) as (connection, source):
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        for name, kind, *_ in described:
            column = duck.quote(name)
            number = kind.startswith((*_NUMBERS, "U")) and not kind.endswith("]")
            if number and name not in text:
                columns[name] = _numbers(connection, source, column, kind, path)
            else:
                shown = f"CAST({column} AS VARCHAR)" if number else column
                found = connection.execute(f"SELECT {shown} FROM {source}").fetchall()
                columns[name] = [row[0] for row in found]
    return columns, len(next(iter(columns.values()), []))


def _numbers(connection: Any, source: str, column: str, kind: str, path: Path) -> Floats:
    if kind not in ("FLOAT", "DOUBLE"):
        large = f"SELECT count(*) FROM {source} WHERE abs({column}) > {_EXACT}"
        if connection.execute(large).fetchone()[0]:
            message = f"column {column}: integers beyond 2^53 are not exact scores"
            raise InputError(message, path=path)
    sql = f"SELECT CAST({column} AS DOUBLE) AS x FROM {source}"
    cells = connection.execute(sql).fetchnumpy()["x"]
    return np.where(np.ma.getmaskarray(cells), np.nan, np.ma.getdata(cells)).astype(np.float64)


def read_footer(path: Path, key: str) -> str | None:
    """Read a text that :func:`write_columns` put into the footer; None if there is none."""
    with _opened(path) as (connection, source):
        sql = source.replace("read_parquet", "parquet_kv_metadata", 1)
        rows = connection.execute(f"SELECT key, value FROM {sql}").fetchall()
    found = {bytes(name): bytes(value) for name, value in rows}
    text = found.get(key.encode())
    return None if text is None else text.decode("utf-8")


def write_columns(path: Path, columns: Mapping[str, Any], footer: Mapping[str, str]) -> None:
    """Write columns (float64 arrays, or sequences of text and None); NaN becomes NULL."""
    names = list(columns)
    with duck.connect() as connection, files.replacing(path) as temporary:
        connection.execute("SET threads = 1")  # row groups, and so the bytes, must not depend on it
        arrays = {f"c{i}": _writable(columns[name]) for i, name in enumerate(names)}
        chosen = ", ".join(
            (f"nullif(c{i}, 'NaN'::DOUBLE)" if _is_number(columns[name]) else f"c{i}")
            + f" AS {duck.quote(name)}"
            for i, name in enumerate(names)
        )
        connection.register("arrays", arrays)
        pairs = ", ".join(f"{k}: {duck.literal(v)}" for k, v in footer.items())
        options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{pairs}}}"
        target = duck.literal(str(temporary))
        connection.execute(f"COPY (SELECT {chosen} FROM arrays) TO {target} ({options})")


def _is_number(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind == "f"


def _writable(column: Any) -> Any:
    return column if _is_number(column) else np.array(list(column), dtype=object)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, str]]:
    """Give a connection and the SQL for the file; whatever DuckDB says of it becomes one line."""
    import duckdb

    if not path.is_file():
        raise InputError("no such file", path=path)
    with duck.plain_path(path) as name, duck.connect() as connection:
        try:
            yield connection, f"read_parquet({duck.literal(name)})"
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"not a readable Parquet file ({reason})", path=path) from error
