"""A file as it looks before anybody reads it: its name, its first lines, what its JSON is.

Formats of other tools are recognised by such a view, and read from it, so that a file is opened and
parsed once however many formats look at it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from steelyard.core.errors import STDIN, InputError, shown_path
from steelyard.formats import files, tables

_HEAD = 1 << 16  # bytes that show what a file is


@dataclass(frozen=True)
class FileView:
    """One file, read as far as somebody asks."""

    path: Path
    form: str = ""  # what it is read as, where other tools have the same keys

    def known_as(self, form: str) -> FileView:
        """Name the format in all that is said to be wrong; what was read is not read again."""
        found = FileView(self.path, form)
        cached = {name: own for name, own in vars(self).items() if name not in ("path", "form")}
        vars(found).update(cached)
        return found

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
        return (
            self.name if str(self.path) == STDIN else self.path.resolve().parent.name or self.name
        )

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

    def note(self, said: str) -> str:
        """Say something of this file."""
        return f"{shown_path(self.path)}: {said}"

    @cached_property
    def kind(self) -> str:
        """The suffix that tells how to read it."""
        return files.kind(self.path)

    @cached_property
    def head(self) -> str:
        """The beginning of the file; empty if it is not text, or can't be read."""
        data = files.head(self.path, _HEAD)
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

    def csv(self) -> list[tuple[int, list[str]]]:
        """Read the lines and cells of all records, between which commas stand."""
        source = io.StringIO(self.text, newline="")
        try:
            return list(tables.csv_records(source, ",", quoted=True))
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
    def first_lines(self) -> list[str]:
        """The lines of the beginning, but for one that is cut off."""
        found = files.lines(self.head)
        return found[:-1] if len(self.head.encode()) >= _HEAD and len(found) > 1 else found

    @cached_property
    def _begins_json(self) -> str:
        """The first character of a text that looks like JSON: ``{``, ``[`` or nothing."""
        found = re.match(r"\s*([\[{])\s*([\[{\]}\"]|[0-9-])?", self.head)
        return "" if found is None or self.kind in ("csv", "tsv", "tab", "eval") else found[1]

    @cached_property
    def _is_lines(self) -> bool:
        """Whether the first line is an object of its own, so that the whole need not be read."""
        if self._begins_json != "{":
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
        if not self._begins_json:
            return None
        if self._is_lines and next(islice(self._safe_records(), 1, None), None):
            return None
        return files.json_document(self.text, self.path)

    @cached_property
    def record(self) -> dict[str, Any] | None:
        """The first object: of JSON lines, of a list, or the document itself; None if no JSON."""
        if not self._begins_json:
            return None
        if self._begins_json == "[":
            return self._first_of_list()
        value = None if self._is_lines else self.document
        if value is None:
            value = next((own for _, own in self._safe_records()), None)
        return value if isinstance(value, dict) else None

    @cached_property
    def names(self) -> list[str]:
        """The keys of the first object, or the cells of the first line of another text."""
        if self._begins_json:
            return list(self.record or ())
        first = self.first_lines[0] if self.first_lines else ""
        delimiter = tables.delimiter_of(first, self.kind)
        return [name.strip('" ') for name in first.split(delimiter)]

    def _first_of_list(self) -> dict[str, Any] | None:
        value = files.first_element(self.head)
        if value is None:
            try:
                document = self.document
            except InputError:
                return None
            value = document[0][1] if document else None
        return value if isinstance(value, dict) else None

    def _safe_records(self) -> Iterator[tuple[int, Any]]:
        try:
            yield from self.records()
        except InputError:
            return

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
        """Tell whether it is one JSON object that holds more than the cells of a record."""
        lines = self.kind in ("jsonl", "ndjson")  # of which there may be one
        if lines or self._begins_json != "{" or not isinstance(self.document, dict):
            return False
        from steelyard.formats import jsontables

        return not jsontables.is_table(self.document)

    def has(self, *keys: str) -> bool:
        """Tell whether the first object has all of these keys."""
        return self.record is not None and all(key in self.record for key in keys)

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise an InputError at a line."""
        said = f"{message} (read as {self.form})" if self.form else message
        raise InputError(said, path=self.path, line=line)
