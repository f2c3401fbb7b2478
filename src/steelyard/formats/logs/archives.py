"""Members of a zip archive that a stranger may have made, read into memory one by one.

Nothing is unpacked to disk. An archive is refused whole if members lie over each other, have one
name, lead out of a folder, are encrypted, or hold more than they say.
Method 93 (Zstandard), which Inspect writes, is unpacked here, as Python's zipfile has it from 3.14.
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
from steelyard.core.text import plural
from steelyard.formats import files
from steelyard.formats.streams import on_disk

LIMIT = 1 << 30  # bytes that all members together may hold that are read of an archive
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_LOCAL = struct.Struct("<4s22xHH")  # signature, lengths of the name and of the extra field
_PIECE = 1 << 16  # packed bytes that are looked at together
_FRAMES = 1000  # that a member may have
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and empty


def is_zip(path: Path) -> bool:
    """Tell by its first bytes whether a file is a zip archive."""
    return files.head(path, 4) in _MAGIC


class Archive:
    """An archive that was looked over; its members can be read."""

    def __init__(self, path: Path, stream: IO[bytes], members: dict[str, zipfile.ZipInfo]) -> None:
        self._path = path
        self._stream = stream
        self._members = members
        self._left = LIMIT

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self, folder: str) -> list[str]:
        """Give the JSON members of a folder, in the order of the archive."""
        return [n for n in self._members if n.startswith(folder) and n.endswith(".json")]

    def json(self, name: str) -> Any:
        """Read a member that is one JSON value."""
        try:
            content = self.read(name).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self._fail(f"{name}: not UTF-8 ({error.reason})")
        try:
            return files.parse_json(content, self._path, 1)
        except InputError as error:
            self._fail(f"{name}: {error.message}")

    def read(self, name: str) -> bytes:
        """Read a member, and check that it is as long and has the sum that the archive says."""
        member = self._members[name]
        most = files.unpacked_limit()
        if member.file_size > most:
            self._fail(
                f"{name} unpacks to {member.file_size:,} bytes, beyond the {most:,} that are read "
                f"of a member ({files.LIMIT_VARIABLE}=N allows N MB)"
            )
        if member.file_size > self._left:
            self._fail(
                f"{name} unpacks to {member.file_size:,} bytes, which with those before is beyond "
                f"the {LIMIT:,} that are read of an archive"
            )
        self._left -= member.file_size
        try:
            data = _unpacked(self._packed(member), member)
        except (OSError, EOFError, ValueError, zlib.error, _zstandard().ZstdError) as error:
            self._fail(f"{name}: damaged ({error})")
        if len(data) != member.file_size:
            relation = "more" if len(data) > member.file_size else "less"
            said = plural(member.file_size, "byte")
            self._fail(f"{name} unpacks to {relation} than the {said} that the archive says")
        if zlib.crc32(data) != member.CRC:
            self._fail(f"{name}: damaged (its checksum is wrong)")
        return data

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        self._stream.seek(member.header_offset)
        header = self._stream.read(_LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(_MAGIC[0]):
            raise ValueError("no header where the archive says")
        _, name, extra = _LOCAL.unpack(header)
        self._stream.seek(name + extra, 1)
        data = self._stream.read(member.compress_size)
        if len(data) < member.compress_size:
            raise ValueError("cut off")
        return data

    def _fail(self, message: str) -> NoReturn:
        raise InputError(message, path=self._path)


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open an archive and look it over."""
    try:
        stream = on_disk(path).open("rb")
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror})", path=path) from None
    with stream:
        try:
            directory = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError,
                struct.error, OverflowError) as error:  # fmt: skip
            raise InputError(f"damaged or truncated archive ({error})", path=path) from None
        yield Archive(path, stream, _checked(path, directory))


def _checked(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Refuse an archive that no tool for logs writes; give its members by name."""
    members: dict[str, zipfile.ZipInfo] = {}

    def fail(message: str) -> NoReturn:
        raise InputError(f"refused: {message}", path=path)

    for member in archive.infolist():
        name = member.filename
        if name in members:
            fail(f"the archive has two members named '{name}'")
        parts = re.split(r"[/\\]", name)
        if not parts[0] or ":" in name[:2] or ".." in parts:
            fail(f"the member '{name}' leads out of the archive's folder")
        if member.flag_bits & _ENCRYPTED:
            fail(f"the member '{name}' is encrypted")
        members[name] = member
    ordered = sorted(members.values(), key=lambda own: own.header_offset)
    ends = [*(own.header_offset for own in ordered[1:]), archive.start_dir]
    for member, last in zip(ordered, ends, strict=False):
        size = _LOCAL.size + len(member.orig_filename) + member.compress_size  # at the least
        if member.header_offset + size > last:
            fail(f"the member '{member.filename}' lies over another one")
    return members


def _unpacked(data: bytes, member: zipfile.ZipInfo) -> bytes:
    """Unpack a member, but for no more than one byte beyond what it should hold."""
    most = member.file_size + 1
    if member.compress_type == _STORED:
        return data[:most]
    if member.compress_type == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most)
    if member.compress_type == _ZSTANDARD:
        return _frames(data, most)
    raise ValueError(f"packed by method {member.compress_type}, expected 0, 8 or 93")


def _frames(data: bytes, most: int) -> bytes:
    """Unpack frames of Zstandard, of which a few may stand behind each other.

    Millions of tiny ones would take for ever: what is behind a frame is copied, so the packed bytes
    are gone through piece by piece.
    """
    found = bytearray()
    unpacker, frames = _zstandard().ZstdDecompressor(), 1
    for start in range(0, len(data), _PIECE):
        rest = data[start : start + _PIECE]
        while rest and len(found) < most:
            if unpacker.eof:
                unpacker, frames = _zstandard().ZstdDecompressor(), frames + 1
            if frames > _FRAMES:
                raise ValueError(f"more than {_FRAMES:,} frames")
            found += unpacker.decompress(rest, most - len(found))
            rest = unpacker.unused_data if unpacker.eof else b""
    return bytes(found)


def _zstandard() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
