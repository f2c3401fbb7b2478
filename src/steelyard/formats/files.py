"""Bytes on disk or in a stream: plain or gzip, UTF-8 in, whole files out or nothing."""

from __future__ import annotations

import atexit
import gzip
import json
import os
import re
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import IO, Any, NoReturn

from steelyard.core.errors import STDIN, InputError, UsageError

Fail = Callable[[str], NoReturn]  # says what is wrong, and where
_GZIP = b"\x1f\x8b"
LIMIT_VARIABLE = "STEELYARD_UNPACKED_MB"
_LIMIT = 64  # MB of text, which as JSON take up to 28 times as much memory
_PACKED = 100  # times that gzip packs text at best; a bomb is packed a thousand times
_BLOCK = 1 << 20  # bytes that are copied at a time


# Pipes and standard input, which can be read only once: what comes out of one is kept in a file.
# Readers look at an input more than once (its first line, the whole, its hash), so each opens
# ``on_disk`` of its path. The copy goes when the outermost block of ``kept`` ends: a command, or a
# call of a function that loads.

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


@atexit.register
def _forget() -> None:
    _copies.clear()
    while _folders:
        _folders.pop().cleanup()


def on_disk(path: Path) -> Path:
    """Give the file to open for a path: itself, or the copy of the stream that it names."""
    stream = _stream(path)
    if stream is None:
        return path
    with _lock:
        if stream not in _copies:
            _copies[stream] = _copy(path)
        return _copies[stream]


def _stream(path: Path) -> Any:
    """Give what a stream is known by, or None for whatever is a file, a folder or not there."""
    is_stdin = str(path) == STDIN
    try:
        status = os.fstat(sys.stdin.fileno()) if is_stdin else path.stat()
    except (AttributeError, OSError, ValueError):  # there is none, or a stand-in for it
        return STDIN if is_stdin else None
    ordinary = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return None if ordinary and not is_stdin else (status.st_dev, status.st_ino)


def _copy(path: Path) -> Path:
    import tempfile

    is_stdin = str(path) == STDIN
    if is_stdin and sys.stdin is None:
        raise InputError("there is no standard input", path=path)
    try:
        folder = tempfile.TemporaryDirectory(prefix="steelyard-")
    except OSError as error:
        message = f"no room for a copy of the stream in {tempfile.gettempdir()} ({error.strerror})"
        raise InputError(f"{message}; TMPDIR names another folder", path=path) from error
    _folders.append(folder)
    copy = Path(folder.name) / ("stdin" if is_stdin else path.name)
    with readable(path), ExitStack() as stack:
        source = sys.stdin.buffer if is_stdin else stack.enter_context(path.open("rb"))
        block = source.read(_BLOCK)
        if block.startswith(b"PAR1"):  # which readers know by the name
            copy = copy.with_name(f"{copy.name}.parquet")
        target = stack.enter_context(copy.open("wb"))
        target.write(block)
        shutil.copyfileobj(source, target, _BLOCK)
    return copy


# Bytes and texts.


def unpacked_limit() -> int:
    """Give the bytes that a packed file may unpack to: 64 MB unless the environment says more."""
    text = os.environ.get(LIMIT_VARIABLE, str(_LIMIT))
    if not re.fullmatch("[1-9][0-9]{0,6}", text):
        raise UsageError(f"{LIMIT_VARIABLE} is '{text}', expected a number of megabytes")
    return int(text) << 20


def read_bytes(path: Path) -> bytes:
    """Read a file whole, unpacked if it is gzip (told by its first bytes, not by its name)."""
    with readable(path):
        data = on_disk(path).read_bytes()
        return _unpacked(data, path) if data.startswith(_GZIP) else data


def _unpacked(data: bytes, path: Path) -> bytes:
    """Unpack gzip, but for no bomb: much text that is packed better than text can be."""
    most = max(unpacked_limit(), _PACKED * len(data))
    parts, size, rest = [], 0, data
    while rest:
        unpacker = zlib.decompressobj(wbits=31)
        parts.append(unpacker.decompress(rest, most + 1 - size))
        size += len(parts[-1])
        if size > most:
            raise InputError(
                f"unpacks to more than {most >> 20:,} MB, {_PACKED} times its size: not read "
                f"({LIMIT_VARIABLE}=N allows N MB)",
                path=path,
            )
        if not unpacker.eof:
            raise EOFError("it ends too early")
        rest = unpacker.unused_data.lstrip(b"\0")  # more parts, or zeros that fill up a block
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Say why a file can't be read."""
    try:
        yield
    except MemoryError:
        raise InputError("too large for the memory that there is, unpacked", path=path) from None
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", path=path) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"damaged or truncated gzip file ({error})", path=path) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"can't be read ({reason})", path=path) from error


def read_text(path: Path) -> str:
    """Read a file as UTF-8, without the byte order mark that some editors put first."""
    return decode(read_bytes(path), path)


def is_packed(path: Path) -> bool:
    """Tell by its first bytes whether a file is gzip."""
    with on_disk(path).open("rb") as raw:
        return raw.read(2) == _GZIP


def opened(path: Path) -> IO[bytes]:
    """Open a file to be read from its beginning, unpacked if it is gzip."""
    file = on_disk(path)
    return gzip.open(file) if is_packed(file) else file.open("rb")  # type: ignore[return-value]


def copy(source: Path, target: Path) -> None:
    """Copy a file, whole or not at all; an error names the target."""
    with replacing(target) as temporary:
        temporary.write_bytes(source.read_bytes())


def sha256(path: Path) -> str:
    """Hash a file, or what came out of a stream."""
    from steelyard.core import provenance

    return provenance.sha256([on_disk(path)])


def first_line(path: Path) -> str:
    """Read the first line only, however large the file is; undecodable bytes are replaced."""
    line = _beginning(path, lambda stream: stream.readline(1 << 20))
    return line.decode("utf-8-sig", errors="replace").rstrip("\r\n")


def head(path: Path, size: int) -> bytes:
    """Read the first bytes, unpacked; nothing where the file is damaged."""
    return _beginning(path, lambda stream: stream.read(size))


def _beginning(path: Path, read: Callable[[IO[bytes]], bytes]) -> bytes:
    try:
        with opened(path) as stream:
            return read(stream)
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except (OSError, ValueError, EOFError, zlib.error):
        return b""  # whoever reads the whole file says what is wrong with it


_MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32",
          b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}  # fmt: skip


def encoding_of(data: bytes) -> str:
    """Tell the encoding of a text by the mark that it begins with."""
    return next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8-sig")


def decode(data: bytes, path: Path) -> str:
    """Decode UTF-8, or UTF-16 and UTF-32 that begin with their mark; else say on which line."""
    encoding = encoding_of(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _undecodable(error, encoding.removesuffix("-sig").upper(), path, line) from None


def _undecodable(error: UnicodeDecodeError, encoding: str, path: Path, line: int) -> InputError:
    byte = error.object[error.start]
    return InputError(f"byte 0x{byte:02x} is not {encoding}", path=path, line=line)


def decode_table(data: bytes, path: Path) -> tuple[str, str | None]:
    """Decode a table; one that can't be UTF-8 is Windows-1252 if nothing speaks against it.

    Returns the text and what is to be said of the encoding.
    """
    try:
        return decode(data, path), None
    except InputError:
        rest = data.decode("utf-8", errors="ignore")  # where other bytes are UTF-8, this is damage
        if encoding_of(data) == "utf-8-sig" and b"\0" not in data and rest.isascii():
            with suppress(UnicodeDecodeError):
                text = data.decode("cp1252")
                return text, "read as Windows-1252 (Latin-1), since it is not UTF-8"
        raise


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of JSON lines without holding the file."""
    with readable(path):
        stream = opened(path)
    with stream:
        for line in count(1):
            with readable(path):
                data = stream.readline()
            if not data:
                return
            try:
                text = data.decode("utf-8-sig" if line == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise _undecodable(error, "UTF-8", path, line) from None
            if text.strip():
                yield line, need_object(parse_json(text, path, line), path, line)


def lines(text: str) -> list[str]:
    r"""Split into lines at ``\n`` or ``\r\n`` only: a bare CR inside a segment is part of it."""
    parts = text.split("\n")
    if parts[-1] == "":
        parts.pop()
    return [part.removesuffix("\r") for part in parts]


def parse_json(text: str, path: Path, line: int) -> Any:
    """Parse one JSON value strictly: no repeated key, no nesting that overflows the stack."""
    try:
        return json.loads(text, object_pairs_hook=_no_repeats)
    except RecursionError:
        raise InputError("JSON nested too deeply", path=path, line=line) from None
    except ValueError as error:  # json.JSONDecodeError and our own
        raise InputError(f"not valid JSON: {error}", path=path, line=line) from None


def need_object(value: Any, path: Path, line: int) -> dict[str, Any]:
    """Refuse a value of JSON that is no object."""
    if isinstance(value, dict):
        return value
    raise InputError(f"expected a JSON object, found {type(value).__name__}", path=path, line=line)


def is_json(text: str, kind: str) -> bool:
    """Tell by the suffix, or else by how it begins, whether a text is JSON of any sort."""
    if kind in ("json", "jsonl", "ndjson"):
        return True
    return kind not in ("csv", "tsv", "tab") and bool(re.match(r"\s*(\[\s*)?\{", text))


class JsonList(list[tuple[int, Any]]):
    """The elements of a JSON list, each with the line that it begins on."""


def json_document(text: str, path: Path) -> Any:
    """Parse a text that is one JSON object or list (as :class:`JsonList`); None for JSON lines."""
    decoder = json.JSONDecoder(object_pairs_hook=_no_repeats)
    start = _blank(text, 0)
    try:
        if text[start : start + 1] == "[":
            return _elements(text, start, decoder, path)
        value, end = decoder.raw_decode(text, start)
    except RecursionError:
        raise InputError("JSON nested too deeply", path=path) from None
    except ValueError:  # whoever reads it line by line says what is wrong
        return None
    return value if _blank(text, end) == len(text) else None


def first_element(text: str) -> Any:
    """Parse the first element of a list whose beginning is given; None if it is not all there."""
    try:
        return json.JSONDecoder().raw_decode(text, _blank(text, _blank(text, 0) + 1))[0]
    except (ValueError, RecursionError):
        return None


def _elements(text: str, at: int, decoder: json.JSONDecoder, path: Path) -> JsonList | None:
    """Parse a list that begins at a position, one element after the other."""
    elements = JsonList()
    line, seen = 1, 0
    at = _blank(text, at + 1)
    more = text[at : at + 1] != "]"
    while more:
        line, seen = line + text.count("\n", seen, at), at
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError as error:
            line = getattr(error, "lineno", line)
            raise InputError(f"not valid JSON: {error}", path=path, line=line) from None
        elements.append((line, value))
        at = _blank(text, at)
        more = text[at : at + 1] == ","
        if not more and text[at : at + 1] != "]":
            line += text.count("\n", seen, at)
            what = "a list that does not end" if at == len(text) else "expected a comma"
            raise InputError(f"not valid JSON: {what}", path=path, line=line)
        at = _blank(text, at + 1) if more else at
    return elements if _blank(text, at + 1) == len(text) else None


def element_lines(text: str, keys: Sequence[str]) -> list[int]:
    """Return the line of each element of a list that a valid document holds under keys."""
    decoder = json.JSONDecoder()
    at = _blank(text, 0)
    for wanted in keys:
        key = None
        while key != wanted:  # skip the members before it
            at = at if key is None else _blank(text, decoder.raw_decode(text, at)[1])
            key, at = decoder.raw_decode(text, _blank(text, at + 1))
            at = _blank(text, _blank(text, at) + 1)  # behind the colon
    end = decoder.raw_decode(text, at)[1]
    elements = _elements(text[:end], at, decoder, Path())
    return [line for line, _ in elements or ()]


_BLANKS = re.compile(r"\s*")


def _blank(text: str, at: int) -> int:
    """Give the place of the next character that is no blank."""
    match = _BLANKS.match(text, at)
    assert match is not None
    return match.end()


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key '{twice}' occurs twice in one object")
    return result


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file that takes the place of ``path`` if all goes well, or else vanishes."""
    temporary = path.parent / f".{path.name[:50]}.{token_hex(8)}"
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        _cannot_write(path, error)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> NoReturn:
    raise InputError(f"can't be written ({error.strerror or error})", path=path) from error


def write_text(path: Path, text: str) -> None:
    """Write UTF-8, packed if the name ends in ``.gz`` (no time stamp: same text, same bytes)."""
    # A text that begins like a byte order mark needs a real one before it, or it would lose it.
    data = encode("\ufeff" + text if text.startswith("\ufeff") else text, path)
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def encode(text: str, path: Path) -> bytes:
    """Encode as UTF-8, or say what UTF-8 can't write."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise InputError(f"text holds {bad!r}, which UTF-8 can't write", path=path) from None


def whole(text: str, what: str, fail: Fail) -> str:
    """Refuse half a character, which JSON can hold and UTF-8 can't write."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        fail(f"{what} holds {text[error.start]!r}, half a character that UTF-8 can't write")
    return text


def is_folder(path: Path) -> bool:
    """Tell whether a path is a folder; a name that no file can have is an error."""
    try:
        return str(path) != STDIN and path.is_dir()
    except (OSError, ValueError) as error:
        raise InputError(f"can't be a file ({error})", path=path) from None


def make_folder(path: Path) -> None:
    """Make a folder and those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _cannot_write(path, error)


def kind(path: Path) -> str:
    """Give the suffix that tells how to read a file (or what came out of a stream)."""
    return suffix(on_disk(path))


def suffix(path: Path) -> str:
    """Give the suffix in lower case without the dot, and without a trailing ``.gz``."""
    name = path.name.lower().removesuffix(".gz")
    return name.rpartition(".")[2] if "." in name else ""


def by_stem(names: Iterable[str]) -> dict[str, str]:
    """Name files by their stems, or as they are called if two have the same."""
    stems = {name: stem(Path(name)).strip() or name for name in names}
    return stems if len(set(stems.values())) == len(stems) else {name: name for name in stems}


def stem(path: Path) -> str:
    """Give the name without its last suffix (and without ``.gz``)."""
    if str(path) == STDIN:
        return "stdin"
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def is_nameless(path: Path) -> bool:
    """Tell whether a path is what a shell opened, ``<(zcat a.gz)``: its name is a number."""
    return re.fullmatch(r"/(dev|proc/[^/]+)/fd/[0-9]+", str(path)) is not None


def names_of(paths: Sequence[Path], what: str) -> list[str]:
    """Name systems or references (``what``) by the stems of their files, which all differ.

    Where the stems are the same the folders name them; what has no name goes by its place.
    """
    pairs = list(enumerate(paths, 1))
    stems = [f"{what}-{number}" if is_nameless(path) else stem(path) for number, path in pairs]
    for name, path in zip(stems, paths, strict=True):
        if not name.strip():
            raise InputError(f"its stem names a {what}, and is blank; rename the file", path=path)
    folders = [path.resolve().parent.name for path in paths]
    for names in (stems, folders):
        if len(set(names)) == len(names) and all(names):
            return names
    again = next(k for k, name in enumerate(stems) if name in stems[:k])
    other = paths[stems.index(stems[again])]
    twice = "the same file" if other == paths[again] else str(other)
    message = f"{what} '{stems[again]}' is named by its file's stem, and so is {twice}"
    raise InputError(message, path=paths[again])
