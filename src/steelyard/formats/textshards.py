"""Texts of any size, read in shards: parts of files that workers read by themselves.

JSON lines and plain text files are split every so many lines; a Parquet file or a gzip one, which
can't be entered in the middle, is one shard. Rows stream: no shard is held whole.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.formats import duck, files
from steelyard.formats.plaintext import named, need_one_length
from steelyard.formats.streams import is_stream

_BLOCK = 1 << 22  # bytes read at a time to find the ends of lines
_FETCHED = 2000  # rows of Parquet
_SOURCE, _OUTPUT = ("src", "source"), ("output", "hyp")


@dataclass(frozen=True, slots=True)
class TextRow:
    """One segment: its source, references by name, and outputs by system; None where missing."""

    source: str | None
    references: dict[str, str | None] = field(default_factory=dict)
    outputs: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextShard:
    """Part of some files: where it starts in each (byte and line), and how many lines it has.

    ``roles`` say what the lines of plain files are: ``src``, ``ref:NAME`` or ``out:NAME``; files
    with rows of their own have none.
    """

    form: str
    paths: tuple[Path, ...]
    starts: tuple[int, ...] = (0,)
    line: int = 1
    size: int | None = None
    roles: tuple[str, ...] = ()
    allow_empty: bool = False


def find_shards(
    inputs: Sequence[Path],
    size: int,
    *,
    source: Path | None = None,
    references: Sequence[Path] = (),
    allow_empty: bool = False,
) -> list[TextShard]:
    """Split files into shards of so many lines.

    Parameters
    ----------
    inputs
        JSON lines or Parquet; or, if ``source`` or ``references`` are given, a plain file of each
        system's outputs.
    size
        Lines of a shard; where files can't be split, a file is a shard.
    allow_empty
        Whether a line of a plain file may be empty.
    """
    if size < 1:
        raise UsageError(f"shards of {size} lines, expected at least 1")
    for path in (*inputs, *references, *([] if source is None else [source])):
        if is_stream(path):
            raise InputError("is a stream, which can't be split into shards", path=path)
    if source is not None or references:
        return _plain_shards(inputs, size, source, references, allow_empty=allow_empty)
    shards: list[TextShard] = []
    for path in inputs:
        kind = files.suffix(path)
        if kind in ("parquet", "pq"):
            shards.append(TextShard("parquet", (path,)))
        elif kind not in ("jsonl", "ndjson"):
            raise InputError("can't be split into shards: expected JSON lines or Parquet, or plain "
                             "files with source=...", path=path)  # fmt: skip
        else:
            shards += [
                TextShard("jsonl", (path,), (start,), 1 + k * size, size)
                for k, start in enumerate(_line_starts(path, size)[0])
            ]
    return shards


def _plain_shards(
    inputs: Sequence[Path],
    size: int,
    source: Path | None,
    references: Sequence[Path],
    *,
    allow_empty: bool,
) -> list[TextShard]:
    roles = {} if source is None else {source: "src"}
    for what, role, paths in (("reference", "ref", references), ("system", "out", inputs)):
        names = zip(paths, named(paths, what), strict=True)
        roles |= {path: f"{role}:{name}" for path, name in names}
    if len(roles) < len(references) + len(inputs) + (source is not None):
        raise UsageError("one file is given twice, among source, references and outputs")
    found = [_line_starts(path, size) for path in roles]
    need_one_length(list(roles), [n for _, n in found], "line")
    meanings, texts = tuple(roles.values()), tuple(roles)
    if any(_is_packed(path) for path in texts):  # all of them are one shard
        return [
            TextShard("text", texts, (0,) * len(texts), roles=meanings, allow_empty=allow_empty)
        ]
    return [
        TextShard("text", texts, starts, 1 + k * size, size, meanings, allow_empty)
        for k, starts in enumerate(zip(*(own for own, _ in found), strict=True))
    ]


def _line_starts(path: Path, every: int) -> tuple[list[int], int]:
    """Find the byte at which every so many lines start, and count the lines.

    A packed file can't be entered in the middle.
    """
    if _is_packed(path):
        with files.readable(path), gzip.open(path) as packed:
            return [0], sum(1 for _ in packed)
    starts, lines, at, last = [0], 0, 0, b"\n"
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            n = block.count(b"\n")
            next_start = len(starts) * every
            if lines + n >= next_start:
                ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == 10)
                while lines + n >= next_start:
                    starts.append(at + int(ends[next_start - lines - 1]) + 1)
                    next_start += every
            lines, at, last = lines + n, at + len(block), block[-1:]
    lines += last != b"\n"
    if len(starts) > 1 and starts[-1] == at:
        starts.pop()
    return starts, lines


def _is_packed(path: Path) -> bool:
    try:
        return files.is_packed(path)
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except OSError as error:
        raise InputError(f"can't be read ({error.strerror or error})", path=path) from None


def read_rows(shard: TextShard) -> Iterator[TextRow]:
    """Go through the segments of a shard."""
    if shard.form == "parquet":
        return _parquet_rows(shard.paths[0])
    if shard.form == "jsonl":
        return _json_rows(shard)
    return _plain_rows(shard)


def _lines(path: Path, start: int, line: int, size: int | None) -> Iterator[tuple[int, str]]:
    packed = _is_packed(path)
    with gzip.open(path) if packed else path.open("rb") as stream:
        stream.seek(start)
        rows = islice(stream, None if packed else size)
        for number, text in files.decode_lines(rows, path, line):
            yield number, text.removesuffix("\n").removesuffix("\r")


def _plain_rows(shard: TextShard) -> Iterator[TextRow]:
    streams = [
        _lines(path, start, shard.line, shard.size)
        for path, start in zip(shard.paths, shard.starts, strict=True)
    ]
    for lines in zip(*streams, strict=True):
        row = TextRow(None)
        for path, role, (number, text) in zip(shard.paths, shard.roles, lines, strict=True):
            if not (shard.allow_empty or text.strip()):
                message = "empty line (allow_empty=True takes it for an empty text)"
                raise InputError(message, path=path, line=number)
            kind, _, name = role.partition(":")
            if kind == "src":
                row = TextRow(text, row.references, row.outputs)
            else:
                (row.references if kind == "ref" else row.outputs)[name] = text
        yield row


def _json_rows(shard: TextShard) -> Iterator[TextRow]:
    path = shard.paths[0]
    for number, text in _lines(path, shard.starts[0], shard.line, shard.size):
        if text.strip():
            cells = files.need_object(files.parse_json(text, path, number), path, number)
            yield _row(cells, path, number)


def _parquet_rows(path: Path) -> Iterator[TextRow]:
    import duckdb

    _is_packed(path)  # which says what is wrong with the file
    with duck.plain_path(path) as name, duck.connect(threads=1) as connection:
        source = f"read_parquet({duck.literal(name)})"
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            known = (*_SOURCE, *_OUTPUT, "system", "refs", "out")
            names = [column for column, *_ in described if column in known]
            if not names:
                raise InputError("no column named src, source or out", path=path)
            chosen = ", ".join(duck.quote(column) for column in names)
            found = connection.execute(f"SELECT {chosen} FROM {source}")
            number = 0
            while rows := found.fetchmany(_FETCHED):
                for cells in rows:
                    number += 1
                    yield _row(dict(zip(names, cells, strict=True)), path, number)
        except duckdb.Error as error:
            raise duck.failure(error, path, "Parquet file") from None


def _row(cells: dict[str, Any], path: Path, number: int) -> TextRow:
    """Read a row: outputs as an object by system, or one output with the name of its system."""

    def fail(message: str) -> NoReturn:
        raise InputError(message, path=path, line=number)

    def text(name: str) -> str | None:
        value = cells.get(name)
        if not (value is None or isinstance(value, str)):
            fail(f"'{name}' should be a text, found {type(value).__name__}")
        return value

    def texts(name: str) -> dict[str, str | None]:
        value = cells.get(name) or {}
        if not isinstance(value, dict) or not all(
            key and (own is None or isinstance(own, str)) for key, own in value.items()
        ):
            fail(f"'{name}': expected an object of texts by name")
        return value

    source = next((text(name) for name in _SOURCE if cells.get(name) is not None), None)
    outputs = texts("out")
    single = next((text(name) for name in _OUTPUT if cells.get(name) is not None), None)
    if single is not None:
        outputs = {text("system") or "system": single}
    if not outputs:
        fail("no output: expected 'out' with texts by system, or 'system' and 'output'")
    return TextRow(source, texts("refs"), outputs)
