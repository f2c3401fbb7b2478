"""A file as it looks before anybody reads it: its name, its first lines, what its JSON is.

Formats of other tools are recognised by such a view, and read from it, so that a file is opened and
parsed once however many formats look at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from steelyard.core.errors import InputError
from steelyard.formats import files, tables

_HEAD = 1 << 16  # bytes that show what a file is


@dataclass(frozen=True)
class FileView:
    """One file, read as far as somebody asks."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the file, without folders and without ``.gz``."""
        return self.path.name.removesuffix(".gz")

    @cached_property
    def kind(self) -> str:
        """The suffix that tells how to read it."""
        return files.kind(self.path)

    @cached_property
    def head(self) -> str:
        """The beginning of the file; empty if it is not text, or can't be read."""
        data = files.head(self.path, _HEAD)
        if b"\0" in data or data.startswith((b"PAR1", b"PK\x03\x04")):
            return ""
        return data.decode("utf-8-sig", errors="replace")

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

    @property
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
    def document(self) -> Any:
        """The whole file as one JSON object, or a list (:class:`files.JsonList`); None if neither.

        JSON lines are no document, unless there is but one.
        """
        if not self._begins_json:
            return None
        first = self.first_lines[0] if self.first_lines else ""
        if self._begins_json == "{" and len(self.first_lines) > 1 and first.rstrip().endswith("}"):
            try:  # JSON lines, most likely: do not read the whole
                files.parse_json(first, self.path, 1)
            except InputError:
                pass
            else:
                return None
        return files.json_document(self.text, self.path)

    @cached_property
    def record(self) -> dict[str, Any] | None:
        """The first object: of JSON lines, of a list, or the document itself; None if no JSON."""
        if not self._begins_json:
            return None
        if self._begins_json == "[":
            return self._first_of_list()
        first = next((line for line in self.first_lines if line.strip()), "")
        if len(self.first_lines) == 1 and first.startswith("{"):  # it may be longer than the head
            first = files.first_line(self.path)
        try:
            value = files.parse_json(first, self.path, 1)
        except InputError:
            value = self.document
            if value is None:
                value = next((own for _, own in self._safe_records()), None)
        return value if isinstance(value, dict) else None

    @property
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
        """Yield (line, object) of every record: of JSON lines, of a list, or of the document."""
        document = self.document
        if isinstance(document, files.JsonList):
            for line, value in document:
                yield line, files.need_object(value, self.path, line)
        elif document is not None:
            yield 1, files.need_object(document, self.path, 1)
        else:
            for line, content in enumerate(self.lines, 1):
                if content.strip():
                    value = files.parse_json(content, self.path, line)
                    yield line, files.need_object(value, self.path, line)

    @property
    def is_log(self) -> bool:
        """Tell whether it is one JSON object that holds more than the cells of a record."""
        lines = self.kind in ("jsonl", "ndjson")  # of which there may be one
        if lines or self._begins_json != "{" or not isinstance(self.document, dict):
            return False
        nested = any(isinstance(value, (dict, list)) for value in self.document.values())
        return nested and tables.NESTED.isdisjoint(self.document)

    def has(self, *keys: str) -> bool:
        """Tell whether the first object has all of these keys."""
        return self.record is not None and all(key in self.record for key in keys)

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise an InputError at a line."""
        raise InputError(message, path=self.path, line=line)
