"""DuckDB, kept on a short leash: local files only, nothing installed or loaded at run time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, OutOfMemoryError, SteelyardError
from steelyard.data.judgements import Floats
from steelyard.formats import files
from steelyard.formats.streams import on_disk

#: MB of address space that DuckDB reserves before it has read anything. With less, it may well end
#: in a segmentation fault or wait for ever.
_ROOM = 768
#: MB for each thread that reads: ten million battles took 1,200 with one, 2,000 with two. With more
#: threads than there is room for, it is a matter of luck whether a query ends.
_ROOM_OF_THREAD = 1024


def connect(threads: int | None = None) -> Any:
    """Open an in-memory database that may not fetch extensions, and prints nothing.

    It uses so many ``threads``, or as many as there are cores.
    """
    import duckdb

    left = _room()
    leash: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    connection = duckdb.connect(config=leash)
    # Where Python looks interactive to DuckDB, its progress would get into our output.
    connection.execute("SET enable_progress_bar = false")
    if left is not None:
        [(usual,)] = connection.execute("SELECT current_setting('threads')").fetchall()
        most = max(1, left // _ROOM_OF_THREAD)
        if most < (threads or usual):
            threads = most
    if threads is not None:
        connection.execute(f"SET threads = {threads}")
    return connection


@cache
def _room() -> int | None:
    """Give the MB of address space that are left at first; None if there is no limit.

    What DuckDB reserves when it is opened for the first time it uses again later.
    """
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        left = (limit - pages * resource.getpagesize()) >> 20
    except (ImportError, OSError):  # not Linux
        return None
    if left < _ROOM:
        raise OutOfMemoryError.at(
            f"the address space is limited to {limit >> 20:,} MB (ulimit -v), of which "
            f"{max(left, 0):,} are left; DuckDB, which reads and writes tables, needs {_ROOM}"
        )
    return left


@contextmanager
def plain_path(path: Path) -> Iterator[str]:
    """Give a path that DuckDB takes literally: wildcards in a name must not match other files."""
    absolute = on_disk(path).absolute()
    if not set("*?[]{}") & set(str(absolute)):
        yield str(absolute)
        return
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        ending = "".join(c for c in "".join(absolute.suffixes[-2:]) if c.isalnum() or c == ".")
        link = Path(folder) / f"input{ending}"
        link.symlink_to(absolute)
        yield exactly(link)


def exactly(path: Path) -> str:
    """Give a pattern that matches this path alone; for paths of our own, without backslashes."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def failure(error: Exception, path: Path, what: str) -> SteelyardError:
    """Say in one line what DuckDB said: of a file that is no ``what``, or of this machine."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        return OutOfMemoryError.at(path)
    if "Could not write" in str(error):
        return SteelyardError(f"{path}: {said(error)}")
    return InputError(f"not a readable {what} ({said(error)})", path=path)


def said(error: Exception) -> str:
    """Give what an error of DuckDB, or of the machine, says in a line: without its JSON."""
    text = str(error)
    for reason in ("No space left on device", "File too large", "Disk quota exceeded"):
        if reason in text:
            return reason
    return text.partition("\n")[0].partition('{"exception')[0].strip()


def compression(path: Path) -> str:
    """Give the word for how a file is packed, which its name need not tell."""
    return "gzip" if files.is_packed(path) else "none"


def quote(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def read_plain_csv(
    path: Path,
    header: Sequence[str],
    numeric: Sequence[bool],
    delimiter: str,
    missing: Sequence[str],
) -> dict[str, list[str] | Floats] | None:
    """Read a delimited file without quotes; None if a cell is not what its column should hold."""
    import duckdb

    try:
        _room()
    except OutOfMemoryError:
        return None  # the parser needs less
    types = [("DOUBLE" if number else "VARCHAR") for number in numeric]
    # Columns get neutral names: whatever the header holds never reaches the SQL text.
    struct = ", ".join(f"'c{i}': '{kind}'" for i, kind in enumerate(types))
    nulls = ", ".join(literal(word) for word in missing)
    with plain_path(path) as name, connect() as connection:
        sql = (  # every name below is ours or quoted
            f"SELECT * FROM read_csv({literal(name)}, auto_detect=false, header=true, "
            f"delim={literal(delimiter)}, quote='', escape='', strict_mode=true, "
            f"columns={{{struct}}}, nullstr=[{nulls}], max_line_size=100000000, "
            f"hive_partitioning=false, compression={literal(compression(path))})"
        )
        try:
            found = connection.execute(sql).fetchnumpy()
        except duckdb.Error:
            return None
    columns: dict[str, list[str] | Floats] = {}
    for i, (name, number) in enumerate(zip(header, numeric, strict=True)):
        cells = found[f"c{i}"]
        empty = np.ma.getmaskarray(cells)
        values = np.ma.getdata(cells)
        if number:
            values = np.where(empty, np.nan, values)
            if np.isinf(values).any() or np.count_nonzero(np.isnan(values)) != empty.sum():
                return None  # inf, or a spelling of nan that is not on the list
            columns[name] = values
        elif empty.any():
            return None  # the parser keeps an empty text apart from the word None
        else:
            columns[name] = values.tolist()
    return columns
