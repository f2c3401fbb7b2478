"""Pipes and standard input, which can be read only once: what comes out of one is kept in a file.

Readers look at an input more than once (its first line, the whole, its hash), so each of them opens
:func:`on_disk` of the path it was given. A stream is copied to a temporary file the first time
anybody asks, whatever its size, and the copy goes when the outermost block of :func:`kept` ends: a
command, or a call of a function that loads.
"""

from __future__ import annotations

import atexit
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, Any, NoReturn

from steelyard.core.errors import STDIN, InputError

_BLOCK = 1 << 20
_copies: dict[Any, Path] = {}  # by what stat says of the stream
_folders: list[Any] = []  # the temporary folders that hold them
_open_blocks = 0
_lock = Lock()


@contextmanager
def kept() -> Iterator[None]:
    """Keep what was read of streams to the end of the outermost of these blocks."""
    global _open_blocks  # noqa: PLW0603 - one standard input, one count of its readers
    with _lock:
        _open_blocks += 1
    try:
        yield
    finally:
        with _lock:
            _open_blocks -= 1
            if not _open_blocks:
                _forget()


def on_disk(path: Path) -> Path:
    """Give the file to open for a path: itself, or the copy of the stream that it names."""
    known = _stream(path)
    if known is None:
        return path
    with _lock:
        if known not in _copies:
            _copies[known] = _copy(path)
        return _copies[known]


def _stream(path: Path) -> Any:
    """Give what a stream is known by, or None for whatever is a file, a folder or not there."""
    if str(path) == STDIN:
        try:
            found = os.fstat(sys.stdin.fileno())
        except (AttributeError, OSError, ValueError):  # there is none, or a stand-in for it
            return STDIN
        return (found.st_dev, found.st_ino)
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        return None
    return (found.st_dev, found.st_ino)


def _copy(path: Path) -> Path:
    import tempfile

    try:
        folder = tempfile.TemporaryDirectory(prefix="steelyard-")
    except OSError as error:
        _no_room(path, error)
    _folders.append(folder)
    copy = Path(folder.name) / ("stdin" if str(path) == STDIN else path.name)
    with _opened(path) as source:
        head = _read(source, path)
        if head.startswith(b"PAR1"):  # which readers know by the name
            copy = copy.with_name(f"{copy.name}.parquet")
        try:
            with copy.open("wb") as target:
                while head:
                    target.write(head)
                    head = _read(source, path)
        except OSError as error:
            _no_room(path, error)
    return copy


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if str(path) == STDIN:
        if sys.stdin is None:
            raise InputError("there is no standard input", path=path)
        yield sys.stdin.buffer
        return
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror or error})", path=path) from error
    with stream:
        yield stream


def _read(source: IO[bytes], path: Path) -> bytes:
    try:
        return source.read(_BLOCK)
    except (OSError, ValueError) as error:  # ValueError: it is closed
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"can't be read ({reason})", path=path) from error


def _no_room(path: Path, error: OSError) -> NoReturn:
    import tempfile

    place = tempfile.gettempdir()
    room = f"no room for a copy of the stream in {place} ({error.strerror or error})"
    raise InputError(f"{room}; TMPDIR names another folder", path=path) from error


@atexit.register
def _forget() -> None:
    _copies.clear()
    while _folders:
        _folders.pop().cleanup()
