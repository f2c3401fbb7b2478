"""DuckDB, kept on a short leash: local files only, nothing installed or loaded at run time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, OutOfMemoryError, SteelyardError, address_space
from steelyard.formats.files import on_disk

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
    # Where Python looks interactive to DuckDB, its progress would get into our output. In a
    # notebook that can't draw it, it is off already, and the setting is refused.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    if left is not None:
        [(usual,)] = connection.execute("SELECT current_setting('threads')").fetchall()
        threads = min(threads or usual, max(1, left // _ROOM_OF_THREAD))
    if threads is not None:
        connection.execute(f"SET threads = {threads}")
    return connection


def shared() -> Any:
    """Give a cursor of the one database that small tables are read with: opening one takes long."""
    return _database().cursor()


_database = cache(connect)


@cache
def _room() -> int | None:
    """Give the MB of address space that are left at first; None if there is no limit.

    What DuckDB reserves when it is opened for the first time it uses again later.
    """
    space = address_space()
    if space is None:
        return None
    if space.left < _ROOM:
        raise OutOfMemoryError.at(
            f"the address space is limited to {space.limit:,} MB (ulimit -v), of which "
            f"{space.left:,} are left; DuckDB, which reads and writes tables, needs {_ROOM}"
        )
    return space.left


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


def quote(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def has_room() -> bool:
    """Tell whether there is address space enough to open a database at all."""
    try:
        _room()
    except OutOfMemoryError:
        return False
    return True
