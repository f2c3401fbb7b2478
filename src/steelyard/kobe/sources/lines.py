"""Reading large inputs line by line: plain, gzip or bzip2, or standard input."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from steelyard.errors import InputError

STDIN = "-"
_HEAD = 1000  # lines by which inputs are told apart
_GZIP, _BZIP2, _ZSTD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"


class OtherInputError(InputError):
    """An input is not the one that an interrupted build has begun to read."""


class Lines:
    """The lines of an input, counted; `start` of them are passed over.

    With `skip_broken` a line that can't be read is counted instead of ending the work.
    """

    def __init__(self, path: str | Path, *, skip_broken: bool = False) -> None:
        self.path = "<stdin>" if str(path) == STDIN else str(path)
        self.file = None if str(path) == STDIN else Path(path)
        self.skip_broken = skip_broken
        self.broken: list[int] = []
        self.n_broken = 0
        self._head: int | None = None
        if self.file is not None and not self.file.is_file():
            what = "is a folder, expected a file" if self.file.is_dir() else "no such file"
            raise InputError(what, path=path)

    def fingerprint(self) -> str:
        """Tell this input from others by size and first bytes; of a stream nothing is known."""
        if self.file is None:
            return self.path
        with self.file.open("rb") as file:
            start = hashlib.sha256(file.read(1 << 16)).hexdigest()[:16]
        return f"{self.path} {self.file.stat().st_size} {start}"

    def state(self) -> dict[str, Any]:
        """Give what a later attempt must know."""
        return {"n_broken": self.n_broken, "broken": self.broken, "head": self._head}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what an earlier attempt has seen."""
        self.n_broken, self.broken, self._head = state["n_broken"], state["broken"], state["head"]

    def _check_head(self, checksum: int) -> None:
        """Compare the first lines with those of the earlier attempt: a pipe has no other name."""
        if self._head not in {None, checksum}:
            what = (
                "is not what the interrupted build was reading, which is now forgotten: run again"
            )
            raise OtherInputError(what, path=self.path, line=_HEAD)
        self._head = checksum

    def fail(self, number: int, message: str) -> None:
        """Refuse a line, or count it if that is wanted."""
        if not self.skip_broken:
            raise InputError(f"{message} (--skip-broken goes on)", path=self.path, line=number)
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
        number = checksum = 0
        with self._open() as stream:
            try:
                for number, line in enumerate(stream, 1):
                    if number <= _HEAD:
                        checksum = zlib.crc32(line, checksum)
                        if number == _HEAD:
                            self._check_head(checksum)
                    if number > start:
                        yield number, line
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                what = f"damaged or truncated after this line ({error})"
                raise InputError(what, path=self.path, line=number) from error
            except OSError as error:
                what = f"can't be read ({error.strerror or error})"
                raise InputError(what, path=self.path, line=number) from error

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        if self.file is None:
            yield sys.stdin.buffer
            return
        with self.file.open("rb") as raw:
            magic = raw.read(4)
            raw.seek(0)
            if magic == _ZSTD:
                what = (
                    "is packed by zstd: pipe it, as in 'zstd -dc FILE | steelyard kb build ... -'"
                )
                raise InputError(what, path=self.path)
            if magic.startswith(_GZIP):
                with gzip.GzipFile(fileobj=raw) as packed:
                    yield packed  # type: ignore[misc]
            elif magic.startswith(_BZIP2):
                with bz2.BZ2File(raw) as packed2:
                    yield packed2  # type: ignore[misc]
            else:
                yield raw


class LineSource:
    """A source that is read line by line, and says where it stands."""

    name: str

    def __init__(self, path: str | Path, *, skip_broken: bool = False) -> None:
        self.lines = Lines(path, skip_broken=skip_broken)
        self.position = 0
        self.version = Path(self.lines.path).name

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        return f"{self.name} {self.lines.fingerprint()}"

    def warnings(self) -> list[str]:
        """Say which lines were left out."""
        return self.lines.warnings()


class NamedColumns:
    """A table with a header line: tab- or comma-separated, without quotes.

    Rows that follow each other and have the same value in the column `by` come together.
    """

    def __init__(self, lines: Lines, columns: dict[str, bool], by: str) -> None:
        self.lines, self.columns, self.by = lines, columns, by

    def groups(self, start: int = 0) -> Iterator[tuple[int, str, list[tuple[int, dict[str, str]]]]]:
        """Give (last line, id, rows) of each group; a row knows its line."""
        last = start
        for key, group in groupby(self._rows(start), key=lambda row: row[1][self.by]):
            rows = list(group)
            last = rows[-1][0]
            yield last, key, rows

    def _rows(self, start: int) -> Iterator[tuple[int, dict[str, str]]]:
        header: list[str] = []
        for number, line in self.lines.read():
            try:
                fields = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                self.lines.fail(number, f"byte 0x{line[error.start]:02x} is not UTF-8")
                continue
            cells = fields.split("\t")
            if not header:
                header = self._header(cells, number)
            elif number > start and fields:
                if len(cells) != len(header):
                    what = f"{len(cells)} fields, expected {len(header)}"
                    self.lines.fail(number, what)
                else:
                    yield number, dict(zip(header, cells, strict=True))

    def _header(self, cells: list[str], number: int) -> list[str]:
        path = self.lines.path
        for name, needed in self.columns.items():
            if needed and name not in cells:
                found = ", ".join(cells[:12])
                what = f"column '{name}' is missing; found: {found}"
                raise InputError(what, path=path, line=number)
        return cells
