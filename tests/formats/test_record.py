"""Fields of foreign records: what they promise, how a wrong one is named; lines are not held."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.core.errors import InputError
from steelyard.formats.view import Record, document, records, within
from steelyard.formats.view import FileView

GOOD: dict[str, Any] = {
    "name": 7,
    "text": "a",
    "number": 0.5,
    "written": "0.5",
    "whole": 3,
    "flag": False,
    "none": None,
    "object": {"x": 1},
    "objects": [{"x": 1}, {"x": None}],
    "numbers": [1, None, 2.5],
    "texts": ["a", "b"],
}


def one(tmp_path: Path, **values: Any) -> Record:
    path = tmp_path / "x.jsonl"
    path.write_text(f"{json.dumps({})}\n{json.dumps(GOOD | values)}\n")
    return list(records(FileView(path)))[1]


def test_fields_are_what_they_promise(tmp_path: Path) -> None:
    record = one(tmp_path)
    assert record.line == 2
    assert record.name("name") == "7"
    assert record.name("gone", "other") == "other"
    assert record.optional_name("gone") is record.optional_name("none") is None
    assert (record.text("text"), record.text("gone"), record.text_if_any("name")) == ("a",) + (
        None,
    ) * 2
    assert record.number("number") == record.number("written", words=True) == 0.5
    assert record.number("none") is None
    assert record.numbers("numbers") == [1, None, 2.5]
    assert (record.whole("whole"), record.flag("flag"), record.flag("gone")) == (3, False, None)
    assert record.object("object").place == "object."
    assert record.inner("gone").values == record.if_object("text").values == {}
    assert [own.number("x") for own in record.objects("objects")] == [1, None]
    assert [own.place for own in record.objects("objects")] == ["objects[0].", "objects[1]."]
    assert record.texts("texts") == ["a", "b"]
    assert record.elements("gone") == []


@pytest.mark.parametrize(
    ("take", "message"),
    [
        (lambda r: r.name("gone"), "no 'gone', expected a name or a whole number"),
        (lambda r: r.name("none"), "'none' is None, expected a name or a whole number"),
        (lambda r: r.name("object"), "'object' is {'x': 1}, expected a name or a whole number"),
        (lambda r: r.text("name"), "'name' is 7, expected text or null"),
        (lambda r: r.number("written"), "'written' is '0.5', expected a finite number or null"),
        (lambda r: r.number("huge"), "'huge' is inf, expected a finite number or null"),
        (lambda r: r.numbers("texts"), "'texts[0]' is 'a', expected a finite number or null"),
        (lambda r: r.whole("number"), "'number' is 0.5, expected a whole number"),
        (lambda r: r.whole("flag"), "'flag' is False, expected a whole number"),
        (lambda r: r.flag("whole"), "'whole' is 3, expected true or false"),
        (lambda r: r.choice("text", ("b", "c")), "'text' is 'a', expected one of b, c"),
        (lambda r: r.object("gone"), "no 'gone', expected an object"),
        (lambda r: r.object("object").list("x"), "'object.x' is 1, expected a list"),
        (lambda r: list(r.objects("texts")), "'texts[0]' is 'a', expected an object"),
        (lambda r: r.texts("numbers"), "'numbers[0]' is 1, expected a text"),
        (lambda r: [own.name("x") for own in r.objects("objects")],
         "'objects[1].x' is None, expected a name or a whole number"),
        (lambda r: list(r.object("blank").names()), "'blank' has ' ', expected a name"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    take: Callable[[Record], Any], message: str, tmp_path: Path
) -> None:
    record = one(tmp_path, huge=float("inf"), blank={" ": 1})
    with pytest.raises(InputError) as error:
        take(record)
    assert str(error.value) == f"{record.view.path}:2: {message}"


def test_elements_of_a_document_know_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"a": [1], "b": {"c": [{"x": 1}, {"x": 2}, 3]}}, indent=1))
    found = within(FileView(path), "b", "c")
    assert [next(found).line, next(found).line] == [7, 10]
    with pytest.raises(InputError, match=r"x.json:13: 'b.c\[2\]' is 3, expected an object"):
        next(found)
    path.write_text("[1]")
    with pytest.raises(InputError, match="expected one JSON object"):
        document(FileView(path))


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
@pytest.mark.parametrize("first", [10, 100_000, 2_000_000])
def test_lines_are_not_held(name: str, first: int, tmp_path: Path) -> None:
    """However long the file is, and its first line: one line is in memory, and its object."""
    path = tmp_path / name
    rest = json.dumps({"x": "b" * 100_000}) + "\n"
    with gzip.open(path, "wt") if name.endswith("gz") else path.open("w") as stream:
        stream.write(json.dumps({"x": "a" * first}) + "\n")
        for _ in range(300):
            stream.write(rest)
    tracemalloc.start()
    view = FileView(path)
    assert view.has("x")
    assert view.document is None
    lines = [record.line for record in records(view)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines == list(range(1, 302))
    assert peak < 16_000_000  # of thirty million characters


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n\n{"a": 2\n', ":3: not valid JSON"),
        (b'{"a": 1}\n[2]\n', ":2: expected a JSON object, found list"),
        (b'{"a": 1}\n{"a": "\xff"}\n', ":2: byte 0xff is not UTF-8"),
        (gzip.compress(b'{"a": 1}\n' * 100_000)[:-400], ": damaged or truncated gzip file"),
    ],
)
def test_lines_that_are_damaged(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        list(records(FileView(path)))
    assert str(error.value).startswith(f"{path}{message}")


def test_records_of_every_shape(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text, lines in [
        ('{"a": 1}', [1]),
        ('\ufeff{"a": 1}\r\n\r\n{"a": 2}', [1, 3]),
        ('{\n"a": 1\n}', [1]),
        ('[{"a": 1},\n{"a": 2}]', [1, 2]),
        ('\n{"a": 1}\n{"a": 2}', [2, 3]),
    ]:
        path.write_text(text, encoding="utf-8")
        assert [record.line for record in records(FileView(path))] == lines
