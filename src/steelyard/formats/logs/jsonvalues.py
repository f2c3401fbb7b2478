"""Values of a log that anybody may have written: each is looked at before it is used."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.core.errors import STDIN, InputError
from steelyard.core.table import dumps
from steelyard.formats import files
from steelyard.formats.view import FileView

Fail = Callable[[str], Any]  # raises an InputError at the place that is looked at

_BLANK = re.compile(r"\s*")


def brief(value: object) -> str:
    """Show a value of a log in a message."""
    try:
        shown = repr(value)
    except RecursionError:
        shown = f"a {type(value).__name__} of many levels"
    return shown if len(shown) <= 60 else shown[:57] + "..."


def an_object(value: object, what: str, fail: Fail) -> dict[str, Any]:
    """Take a value for an object, or fail."""
    if not isinstance(value, dict):
        fail(f"{what} is {brief(value)}, expected an object")
    return value  # type: ignore[return-value]


def a_list(value: object, what: str, fail: Fail) -> list[Any]:
    """Take a value for a list, or fail."""
    if not isinstance(value, list):
        fail(f"{what} is {brief(value)}, expected a list")
    return value  # type: ignore[return-value]


def optional_object(value: object, what: str, fail: Fail) -> dict[str, Any]:
    """Take a value for an object that may be absent: empty then."""
    return {} if value is None else an_object(value, what, fail)


def a_name(value: object, what: str, fail: Fail) -> str:
    """Take a value for a name: text that is not blank, or a whole number."""
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        fail(f"{what} is {brief(value)}, expected a name or a whole number")
    return str(value)


def text(value: object) -> str | None:
    """Give a value that is text, None for all others."""
    return value if isinstance(value, str) else None


def words(value: object) -> str | None:
    """Give a value that is text and not blank, None for all others."""
    return value if isinstance(value, str) and value.strip() else None


def written(value: Any, what: str, fail: Fail) -> str:
    """Write a value as JSON again, or fail."""
    try:
        return dumps(value, indent=None)
    except RecursionError:
        fail(f"{what} is nested too deeply")
        raise


def beside(view: FileView, name: str) -> dict[str, Any] | None:
    """Read an object from another file of the same folder; None if there is none to be read."""
    path = view.path.parent / name
    if str(view.path) == STDIN or not path.is_file():
        return None
    try:
        document = FileView(path).document
    except InputError:
        return None
    return document if isinstance(document, dict) else None


def folder_name(view: FileView) -> str:
    """Give the name of the folder that a file lies in; of the file, where there is none."""
    if str(view.path) == STDIN:
        return view.name
    return Path(view.path).resolve().parent.name or view.name


def json_lines(view: FileView) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of JSON lines, however many there are, without holding them."""
    try:
        with files.opened(view.path) as stream:
            for line, content in files.decode_lines(stream, view.path):
                if content.strip():
                    value = files.parse_json(content, view.path, line)
                    yield line, files.need_object(value, view.path, line)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        view.fail(f"damaged or truncated gzip file ({error})")
    except OSError as error:
        view.fail(f"can't be read ({error.strerror or error})")


def lines_within(view: FileView, *keys: str) -> Callable[[int], int]:
    """Tell the line on which the n-th element begins of a list that a document holds under keys.

    The document is gone through once more, so this is for what is wrong only.
    """

    @cache
    def starts() -> list[int]:
        return list(_starts(view.text, keys))

    return lambda place: starts()[place]


def _starts(text: str, keys: tuple[str, ...]) -> Iterator[int]:
    decoder = json.JSONDecoder()
    at = _skip(text, 0)
    for key in keys:
        at = _member(text, at, key, decoder)
    line, seen = 1, 0
    at = _skip(text, at + 1)
    while text[at] != "]":
        line, seen = line + text.count("\n", seen, at), at
        yield line
        at = _skip(text, decoder.raw_decode(text, at)[1])
        at = _skip(text, at + 1) if text[at] == "," else at


def _member(text: str, at: int, wanted: str, decoder: json.JSONDecoder) -> int:
    """Give the place of the value that an object has for a key."""
    while True:
        key, at = decoder.raw_decode(text, _skip(text, at + 1))
        at = _skip(text, _skip(text, at) + 1)  # the colon
        if key == wanted:
            return at
        at = _skip(text, decoder.raw_decode(text, at)[1])  # then a comma


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()
