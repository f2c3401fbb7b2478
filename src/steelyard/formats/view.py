"""A file as it looks before anybody reads it, and the records of foreign JSON that are in it.

Formats of other tools are recognised by a :class:`FileView`, and read from it: a file is opened and
parsed once, however many formats look at it. Files come from anywhere, so whoever takes a field out
of a :class:`Record` says what it should be, and anything else is an error that says where.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from steelyard.core.errors import STDIN, InputError, shown_path
from steelyard.formats import archives, files, tables
from steelyard.formats.cells import brief, label, parse_number

_HEAD = 1 << 16  # bytes that show what a file is
#: The line of a record; where a document must be gone through once more to tell it, a function.
Start = int | Callable[[], int] | None


@dataclass(frozen=True)
class FileView:
    """One file, read as far as somebody asks."""

    path: Path
    form: str = ""  # what it is read as, where other tools have the same keys

    def known_as(self, form: str) -> FileView:
        """Name the format in all errors; what was read is not read again."""
        view = FileView(self.path, form)
        vars(view).update({k: v for k, v in vars(self).items() if k not in ("path", "form")})
        return view

    @property
    def name(self) -> str:
        """The name of the file, without folders and without ``.gz``."""
        return self.path.name.removesuffix(".gz")

    @property
    def stem(self) -> str:
        """The name without its last suffix."""
        return files.stem(self.path)

    @property
    def folder(self) -> str:
        """The name of the folder that the file lies in; of the file, where there is none."""
        folder = "" if str(self.path) == STDIN else self.path.resolve().parent.name
        return folder or self.name

    def beside(self, name: str) -> dict[str, Any]:
        """Read an object from another file of the folder; empty if there is none to be read."""
        path = self.path.parent / name
        if str(self.path) == STDIN or not path.is_file():
            return {}
        try:
            document = FileView(path).document
        except InputError:
            return {}
        return document if isinstance(document, dict) else {}

    def note(self, text: str) -> str:
        """Word a note on this file."""
        return f"{shown_path(self.path)}: {text}"

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise an InputError at a line."""
        read_as = f" (read as {self.form})" if self.form else ""
        raise InputError(message + read_as, path=self.path, line=line)

    @cached_property
    def kind(self) -> str:
        """The suffix that tells how to read it."""
        return files.kind(self.path)

    @cached_property
    def look(self) -> str:
        """What the file is, at one look: ``parquet``, ``excel``, ``zip``, ``json`` or ``text``."""
        if self.kind in ("parquet", "pq"):
            return "parquet"
        if tables.is_excel(self.kind, self._start[:4096]):
            return "excel"
        if self.kind == "eval" or archives.is_zip(self.path):
            return "zip"
        return "json" if self.begins_json else "text"

    @cached_property
    def _start(self) -> bytes:
        return files.head(self.path, _HEAD)

    @cached_property
    def head(self) -> str:
        """The beginning of the file; empty if it is not text, or can't be read."""
        data = self._start
        encoding = files.encoding_of(data)
        if encoding == "utf-8-sig" and (b"\0" in data or data.startswith((b"PAR1", b"PK\x03\x04"))):
            return ""
        return data.decode(encoding, errors="replace")

    @cached_property
    def data(self) -> bytes:
        """The bytes, unpacked."""
        return files.read_bytes(self.path)

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return files.decode(self.data, self.path)

    @property
    def lines(self) -> list[str]:
        """The lines of the whole text."""
        return files.lines(self.text)

    @cached_property
    def first_lines(self) -> list[str]:
        """The lines of the beginning, but for one that is cut off."""
        lines = files.lines(self.head)
        return lines[:-1] if len(self.head.encode()) >= _HEAD and len(lines) > 1 else lines

    def csv(self) -> list[tables.Record]:
        """Read the lines and cells of all records, between which commas stand."""
        try:
            return list(tables.csv_records(self.text, ","))
        except tables.BrokenQuotesError as error:
            self.fail(error.args[0], error.args[1])

    def tsv(self, header: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield (line, cells by name) of what follows the header; tabs part cells, never quoted."""
        for line, text in enumerate(self.lines[1:], 2):
            cells = text.split("\t")
            if text and len(cells) != len(header):
                self.fail(f"{len(cells)} cells, expected {len(header)} as in the header", line)
            if text:
                yield line, dict(zip(header, cells, strict=True))

    @cached_property
    def begins_json(self) -> str:
        """The first character of a text that looks like JSON: ``{``, ``[`` or nothing."""
        match = re.match(r"\s*([\[{])\s*([\[{\]}\"]|[0-9-])?", self.head)
        return "" if match is None or self.kind in ("csv", "tsv", "tab", "eval") else match[1]

    @cached_property
    def _is_lines(self) -> bool:
        """Whether the first line is an object of its own, so that the whole need not be read."""
        if self.begins_json != "{":
            return False
        first = files.first_line(self.path)
        if len(first) > _HEAD and self.kind in ("jsonl", "ndjson"):
            return True  # however long
        try:
            return isinstance(files.parse_json(first, self.path, 1), dict)
        except InputError:
            return False

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON object, or a list (:class:`files.JsonList`); None if neither.

        JSON lines are no document, unless there is but one.
        """
        if not self.begins_json or (self._is_lines and len(self._first_records(2)) > 1):
            return None
        return files.json_document(self.text, self.path)

    @cached_property
    def record(self) -> dict[str, Any] | None:
        """The first object: of JSON lines, of a list, or the document itself; None if no JSON."""
        value = files.first_element(self.head) if self.begins_json == "[" else None
        if value is None and self.begins_json:
            value = next(iter(self._first_records(1)), None)
        return value if isinstance(value, dict) else None

    @cached_property
    def names(self) -> list[str]:
        """The keys of the first object, or the cells of the first line of another text."""
        if self.begins_json:
            return list(self.record or ())
        first = self.first_lines[0] if self.first_lines else ""
        delimiter = tables.delimiter_of(first, self.kind)
        return [name.strip('" ') for name in first.split(delimiter)]

    def _first_records(self, count: int) -> list[dict[str, Any]]:
        """Return the first few records, as far as they can be read."""
        records: list[dict[str, Any]] = []
        with suppress(InputError):
            records += (record for _, record in islice(self.records(), count))
        return records

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (line, object) of every record: of JSON lines, of a list, or of the document.

        JSON lines are read as they are asked for, and not held.
        """
        document = None if self._is_lines else self.document
        if isinstance(document, files.JsonList):
            for line, value in document:
                yield line, files.need_object(value, self.path, line)
        elif document is not None:
            yield 1, files.need_object(document, self.path, 1)
        else:
            yield from files.json_lines(self.path)

    @property
    def is_log(self) -> bool:
        """Whether it is one JSON object that holds more than the cells of a record."""
        lines = self.kind in ("jsonl", "ndjson")  # of which there may be one
        if lines or self.begins_json != "{" or not isinstance(self.document, dict):
            return False
        return not tables.is_json_table(self.document)

    def has(self, *keys: str) -> bool:
        """Tell whether the first object has all of these keys."""
        return not keys or (self.record is not None and self.record.keys() >= set(keys))


def line_at(start: Start) -> int | None:
    """Give the line."""
    return start() if callable(start) else start


@dataclass(frozen=True)
class Record:
    """An object of a file, where it starts, and its path in what starts there (``games[0].``)."""

    view: FileView
    start: Start
    values: dict[str, Any]
    place: str = ""

    @classmethod
    def of(cls, view: FileView, start: Start, value: Any, place: str) -> Record:
        """Take a value for an object."""
        if not isinstance(value, dict):
            message = f"'{place.rstrip('./')}' is {brief(value)}, expected an object"
            view.fail(message, line_at(start))
        return cls(view, start, value, place)

    @property
    def line(self) -> int:
        """The line that it stands on; the first where a file has no lines."""
        return line_at(self.start) or 1

    def fail(self, message: str) -> NoReturn:
        """Raise an InputError at the record."""
        self.view.fail(message, line_at(self.start))

    def wrong(self, key: str, expected: str, *value: Any) -> NoReturn:
        """Say that a field, or a value in it, is not what it should be."""
        if not value and key not in self.values:
            self.fail(f"no '{self.place}{key}', expected {expected}")
        held = value[0] if value else self.get(key)
        self.fail(f"'{self.place}{key}' is {brief(held)}, expected {expected}")

    def get(self, key: str) -> Any:
        """Give a value as it stands, None if there is none."""
        return self.values.get(key)

    def _of_type(self, key: str, kind: Any, expected: str) -> Any:
        """Give a value of a type; a boolean is no whole number."""
        value = self.get(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind == int | None):
            self.wrong(key, expected)
        return value

    def name(self, key: str, default: object = None) -> str:
        """Give a name: text that is not blank, or a whole number as digits."""
        return self.optional_name(key, default) or self.wrong(key, "a name or a whole number")

    def optional_name(self, key: str, default: object = None) -> str | None:
        """Give a name; None where it is null, absent or blank."""
        value = self.values.get(key, default)
        name = label(value)
        if name is None and value is not None:
            self.wrong(key, "a name or a whole number")
        return name if name and name.strip() else None

    def names(self) -> Iterator[str]:
        """Yield the keys, which must be names."""
        for key in self.values:
            if not key.strip():
                self.fail(f"'{self.place.rstrip('.')}' has {key!r}, expected a name")
            yield key

    def text(self, key: str) -> str | None:
        """Give a text, None where it is null or absent."""
        text: str | None = self._of_type(key, str | None, "text or null")
        return text

    def text_if_any(self, key: str) -> str | None:
        """Give a text, None for what is none: of fields that may hold anything."""
        value = self.get(key)
        return value if isinstance(value, str) else None

    def words(self, key: str) -> str | None:
        """Give a text that is not blank, None for what is none."""
        text = self.text_if_any(key)
        return text if text and text.strip() else None

    def number(self, key: str, *, words: bool = False) -> float | None:
        """Give a number, None for null and NaN; with ``words`` also one that is written as text."""
        return self._number(key, self.get(key), words=words)

    def numbers(self, key: str) -> list[float | None]:
        """Give a list of such numbers."""
        return [self._number(f"{key}[{n}]", value) for n, value in enumerate(self.list(key))]

    def _number(self, key: str, value: Any, *, words: bool = False) -> float | None:
        number = None if isinstance(value, str) and not words else parse_number(value)
        if number is None or math.isinf(number):
            self.wrong(key, "a finite number or null", value)
        return None if math.isnan(number) else number

    def whole(self, key: str) -> int | None:
        """Give a whole number, None where it is null or absent."""
        number: int | None = self._of_type(key, int | None, "a whole number")
        return number

    def flag(self, key: str) -> bool | None:
        """Give true or false, None where it is null or absent."""
        flag: bool | None = self._of_type(key, bool | None, "true or false")
        return flag

    def choice(self, key: str, choices: Collection[str]) -> str:
        """Give a text that is one of these."""
        value = self.get(key)
        if not isinstance(value, str) or value not in choices:
            self.wrong(key, f"one of {', '.join(choices)}")
        return value

    def object(self, key: str) -> Record:
        """Give an object in it."""
        value = self._of_type(key, dict, "an object")
        return Record(self.view, self.start, value, f"{self.place}{key}.")

    def inner(self, key: str) -> Record:
        """Give an object in it, which is empty where it is null or absent."""
        return self.if_object(key) if self.get(key) is None else self.object(key)

    def if_object(self, key: str) -> Record:
        """Give an object in it, which is empty where there is anything else."""
        value = self.get(key)
        values = value if isinstance(value, dict) else {}
        return Record(self.view, self.start, values, f"{self.place}{key}.")

    def elements(self, key: str) -> list[Any]:
        """Give a list in it, which is empty where it is null or absent."""
        return [] if self.get(key) is None else self.list(key)

    def objects(self, key: str) -> Iterator[Record]:
        """Yield the objects of a list, none where it is null or absent."""
        for n, value in enumerate(self.elements(key)):
            yield Record.of(self.view, self.start, value, f"{self.place}{key}[{n}].")

    def texts(self, key: str) -> list[str]:
        """Give a list of texts."""
        values = self.list(key)
        for n, value in enumerate(values):
            if not isinstance(value, str):
                self.wrong(f"{key}[{n}]", "a text", value)
        return values

    def list(self, key: str) -> list[Any]:
        """Give a list in it."""
        values: list[Any] = self._of_type(key, list, "a list")
        return values


def records(view: FileView) -> Iterator[Record]:
    """Yield every record of a file; of JSON lines one is held at a time."""
    for line, values in view.records():
        yield Record(view, line, values)


def document(view: FileView) -> Record:
    """Give a file that is one object."""
    if not isinstance(view.document, dict):
        view.fail("expected one JSON object")
    return Record(view, None, view.document)


def within(view: FileView, *keys: str) -> Iterator[Record]:
    """Yield the objects of a list that a document has under keys, each with its line."""
    outer = document(view)
    for key in keys[:-1]:
        outer = outer.object(key)

    lines = cache(lambda: files.element_lines(view.text, keys))

    for n, value in enumerate(outer.elements(keys[-1])):
        yield Record.of(view, lambda n=n: lines()[n], value, f"{'.'.join(keys)}[{n}].")  # type: ignore[misc]
