"""Reading large inputs line by line: plain, gzip or bzip2, or standard input."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from steelyard.core.errors import STDIN, InputError, shown_path

_BLOCK = 1 << 18  # bytes that are read at a time
_GZIP, _BZIP2, _ZSTD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"


class OtherInputError(InputError):
    """An input is not the one that an interrupted build has begun to read."""


class _Hashed(io.RawIOBase):
    """A stream that knows how many bytes have been read of it, and their hash.

    If it does not start with what was `expected` (so many bytes, with that hash), it calls
    `changed`: a pipe can't be looked at before it is read.
    """

    def __init__(self, stream: Any, expected: tuple[int, str], changed: Callable[[], None]) -> None:
        self._stream, self._expected, self._changed = stream, expected, changed
        self._digest = hashlib.blake2b(digest_size=16)
        self._n = 0

    def seen(self) -> tuple[int, str]:
        """Give the number of bytes and their hash."""
        return self._n, self._digest.hexdigest()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; hash them on the way."""
        data = self._stream.read1(len(buffer))
        n, digest = self._expected
        if self._n < n <= self._n + len(data):
            start = self._digest.copy()
            start.update(data[: n - self._n])
            if start.hexdigest() != digest:
                self._changed()
        elif not data and self._n < n:
            self._changed()
        self._digest.update(data)
        self._n += len(data)
        buffer[: len(data)] = data
        return len(data)


class Lines:
    """The lines of an input, counted; `start` of them are passed over.

    With `skip_broken` a line that can't be read is counted instead of ending the work. What was
    read is known by its hash, so that a later attempt can tell whether it is still the same.
    """

    def __init__(self, path: str | Path, *, skip_broken: bool = False) -> None:
        self.path = shown_path(path)
        self.file = None if str(path) == STDIN else Path(path)
        self.skip_broken = skip_broken
        self.broken: list[int] = []
        self.n_broken = 0
        self._seen: tuple[int, str] = (0, "")  # by an earlier attempt
        self._stream: _Hashed | None = None
        if self.file is not None and not self.file.is_file():
            what = "is a folder, expected a file" if self.file.is_dir() else "no such file"
            raise InputError(what, path=path)

    def state(self) -> dict[str, Any]:
        """Give what a later attempt must know."""
        seen = self._seen if self._stream is None else self._stream.seen()
        return {"n_broken": self.n_broken, "broken": self.broken, "seen": seen}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what an earlier attempt has seen."""
        self.n_broken, self.broken = state["n_broken"], state["broken"]
        n, digest = state["seen"]
        self._seen = (int(n), str(digest))

    def forget(self) -> None:
        """Forget what an earlier attempt has seen."""
        self.n_broken, self.broken, self._seen = 0, [], (0, "")

    def is_still(self, *, whole: bool) -> bool:
        """Tell whether the input is what was read of it: all of it (`whole`), or its beginning.

        A stream of which only the beginning was read is looked at when it is read again.
        """
        n, digest = self._seen
        if not n or (self.file is None and not whole):
            return True
        with self._raw() as raw:
            found = hashlib.blake2b(digest_size=16)
            while n and (data := raw.read(min(n, _BLOCK))):
                found.update(data)
                n -= len(data)
            same = n == 0 and found.hexdigest() == digest and not (whole and raw.read(1))
        if not same and self.file is None:
            self._changed()  # what is read of a stream is gone
        return same

    def _changed(self) -> None:
        what = "is not what the interrupted build was reading, which is now forgotten: run again"
        raise OtherInputError(what, path=self.path)

    def fail(self, number: int, message: str) -> None:
        """Refuse a line, or count it if that is wanted."""
        if not self.skip_broken:
            raise InputError(f"{message} (skip_broken=True goes on)", path=self.path, line=number)
        self.n_broken += 1
        if len(self.broken) < 5:
            self.broken.append(number)

    def warnings(self) -> list[str]:
        """Say which lines were left out."""
        if not self.n_broken:
            return []
        shown = ", ".join(map(str, self.broken)) + (" ..." if self.n_broken > 5 else "")
        return [f"{self.path}: {self.n_broken} broken lines were left out: {shown}"]

    def read(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Give (number, line) after the first `start` lines."""
        number = 0
        with self._open() as stream:
            try:
                for number, line in enumerate(stream, 1):
                    if number > start:
                        yield number, line
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                what = f"damaged or truncated after this line ({error})"
                raise InputError(what, path=self.path, line=number) from error
            except OSError as error:
                what = f"can't be read ({error.strerror or error})"
                raise InputError(what, path=self.path, line=number) from error

    @contextmanager
    def _raw(self) -> Iterator[BinaryIO]:
        if self.file is None:
            yield sys.stdin.buffer
        else:
            with self.file.open("rb") as file:
                yield file

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with self._raw() as file:
            self._stream = _Hashed(file, self._seen, self._changed)
            raw: Any = io.BufferedReader(self._stream, _BLOCK)
            magic = raw.peek(4)[:4] if self.file is not None else b""
            if magic == _ZSTD:
                what = (
                    "is packed by zstd: pipe it, as in 'zstd -dc FILE | steelyard kb build ... -'"
                )
                raise InputError(what, path=self.path)
            if magic.startswith(_GZIP):
                raw = gzip.GzipFile(fileobj=raw)
            elif magic.startswith(_BZIP2):
                raw = bz2.BZ2File(raw)
            with raw:
                yield raw


class LineSource:
    """A source that is read line by line, and says where it stands."""

    name: str

    def __init__(self, path: str | Path, *, skip_broken: bool = False) -> None:
        self.lines = Lines(path, skip_broken=skip_broken)
        self.position = 0
        self.version = Path(self.lines.path).name

    def fingerprint(self) -> str:
        """Name the input; whether it still holds what was read of it, `Lines.is_still` tells."""
        return f"{self.name} {self.lines.path}"

    def warnings(self) -> list[str]:
        """Say which lines were left out."""
        return self.lines.warnings()


class ColumnSource(LineSource):
    """A table of names, one in a line, tab-separated and without quotes, with a header line."""

    #: Other names of columns, for ours.
    also: ClassVar[dict[str, str]] = {}

    def groups(
        self, needed: Sequence[str], by: str
    ) -> Iterator[tuple[int, str, list[tuple[int, dict[str, str]]]]]:
        """Give (last line, id, rows) of rows in a row with the same value in the column `by`.

        A row knows its line.
        """
        for key, group in groupby(self._rows(needed), key=lambda row: row[1][by]):
            rows = list(group)
            yield rows[-1][0], key, rows

    def _rows(self, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
        header: list[str] = []
        start = self.position
        for number, line in self.lines.read():
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                self.lines.fail(number, f"byte 0x{line[error.start]:02x} is not UTF-8")
                continue
            cells = text.split("\t")
            if not header:
                header = [
                    cell if (ours := self.also.get(cell, cell)) in cells else ours for cell in cells
                ]
                for name in needed:
                    if name not in header:
                        what = f"column '{name}' is missing; found: {', '.join(header[:12])}"
                        raise InputError(what, path=self.lines.path, line=number)
            elif number > start and text:
                if len(cells) != len(header):
                    self.lines.fail(number, f"{len(cells)} fields, expected {len(header)}")
                else:
                    yield number, dict(zip(header, cells, strict=True))
