"""Members of a zip archive that a stranger may have made, read into memory one by one.

Nothing is unpacked to disk. An archive is refused whole if members lie over each other, have one
name, lead out of a folder, are encrypted, or hold more than they say. Method 93 (Zstandard), which
Inspect writes, is unpacked here: Python's zipfile reads it from 3.14 on, and without a limit.
"""

from __future__ import annotations

import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from steelyard.core.errors import InputError
from steelyard.formats import files
from steelyard.formats.files import on_disk

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_FULL_MEMBERS = 16  # of the largest size that may be read of an archive, 1 GB in all
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_LOCAL = struct.Struct("<4s22xHH")  # signature, lengths of the name and of the extra field
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and empty
_MOST_FRAMES = 100  # of Zstandard in a member; the packed rest is copied after each


def is_zip(path: Path) -> bool:
    """Tell by its first bytes whether a file is a zip archive."""
    return files.head(path, 4) in _MAGIC


class Archive:
    """An archive whose directory was checked; its members can be read."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream = path, stream
        self._most = files.unpacked_limit()
        self._left = _FULL_MEMBERS * self._most
        self._members = self._checked()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self, folder: str) -> list[str]:
        """Return the JSON members of a folder, in the order of the archive."""
        return [n for n in self._members if n.startswith(folder) and n.endswith(".json")]

    def json(self, name: str) -> Any:
        """Read a member that is one JSON value."""
        content = self.read(name)
        try:
            return files.parse_json(content.decode("utf-8-sig"), self._path, 1)
        except UnicodeDecodeError as error:
            self._fail(f"{name}: not UTF-8 ({error.reason})")
        except InputError as error:
            self._fail(f"{name}: {error.message}")

    def read(self, name: str) -> bytes:
        """Read a member, and check that it has the length and the checksum of the directory."""
        member = self._members[name]
        size = max(member.file_size, member.compress_size)
        for most, what in ((self._most, "of a member"), (self._left, "left of the archive")):
            if size > most:
                limit = f"the {most:,} {what} ({files.LIMIT_VARIABLE}=N allows N MB of a member)"
                self._fail(f"{name} unpacks to {size:,} bytes, beyond {limit}")
        self._left -= size
        try:
            data = _unpacked(self._packed(member), member)
        except (OSError, EOFError, ValueError, zlib.error, zstd.ZstdError) as error:
            self._fail(f"{name}: damaged ({error})")
        if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
            self._fail(f"{name}: damaged (not the length or checksum that the archive says)")
        return data

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        self._stream.seek(member.header_offset)
        header = self._stream.read(_LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(_MAGIC[0]):
            raise ValueError("no header where the archive says")
        _, name_size, extra_size = _LOCAL.unpack(header)
        self._stream.seek(name_size + extra_size, 1)
        return self._stream.read(member.compress_size)

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        """Return the members by name; refuse an archive that no tool for logs writes."""
        try:
            directory = zipfile.ZipFile(self._stream)
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError,
                struct.error, OverflowError) as error:  # fmt: skip
            self._fail(f"damaged or truncated archive ({error})")
        members: dict[str, zipfile.ZipInfo] = {}
        for member in directory.infolist():
            name, parts = member.filename, re.split(r"[/\\]", member.filename)
            if name in members:
                self._fail(f"refused: the archive has two members named '{name}'")
            if not parts[0] or ":" in name[:2] or ".." in parts:
                self._fail(f"refused: the member '{name}' leads out of the archive's folder")
            if member.flag_bits & _ENCRYPTED:
                self._fail(f"refused: the member '{name}' is encrypted")
            members[name] = member
        ordered = sorted(members.values(), key=lambda member: member.header_offset)
        ends = [*(member.header_offset for member in ordered[1:]), directory.start_dir]
        for member, end in zip(ordered, ends, strict=False):
            size = _LOCAL.size + len(member.orig_filename) + member.compress_size  # at the least
            if member.header_offset + size > end:
                self._fail(f"refused: the member '{member.filename}' lies over another one")
        return members

    def _fail(self, message: str) -> NoReturn:
        raise InputError(message, path=self._path)


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open an archive and check its directory."""
    with on_disk(path).open("rb") as stream:
        yield Archive(path, stream)


def _unpacked(data: bytes, member: zipfile.ZipInfo) -> bytes:
    """Unpack a member, but no more than one byte beyond what it should hold."""
    most = member.file_size + 1
    if member.compress_type == zipfile.ZIP_STORED:
        return data[:most]
    if member.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most)
    if member.compress_type != 93:
        raise ValueError(f"packed by method {member.compress_type}, expected 0, 8 or 93")
    content = b""
    for _ in range(_MOST_FRAMES):
        frame = zstd.ZstdDecompressor()
        content += frame.decompress(data, most - len(content))
        data = frame.unused_data
        if not data or len(content) >= most:
            return content
    raise ValueError(f"more than {_MOST_FRAMES} frames")
