"""JSON documents: lists of records are tables, anything else is named for what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard import load
from steelyard.comparison.logs import compare_battles
from steelyard.core.errors import InputError

ROWS: list[dict[str, Any]] = [
    {"system": s, "segment": i, "m": k / 8 + i} for k, s in enumerate("AB") for i in range(4)
]


def written(path: Path, value: Any, indent: int | None = None) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=indent))
    return path


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.ndjson", "x", "x.txt"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_records_is_a_table(name, indent, tmp_path):
    lines = written(tmp_path / "lines.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    assert load(written(tmp_path / name, ROWS, indent)).identical(load(lines))


@pytest.mark.parametrize("name", ["x.json", "x"])
def test_json_lines_by_any_name(name, tmp_path):
    text = "\n".join(json.dumps(row) for row in ROWS)
    assert load(written(tmp_path / name, text)).identical(load(written(tmp_path / "y.json", ROWS)))


def test_a_list_of_texts(tmp_path):
    rows = [{"seg": 1, "src": "s", "refs": {"refA": "r"}, "out": {"A": "a", "B": "b"}}]
    assert load(written(tmp_path / "x.json", rows, 1)).systems == ("A", "B")
    assert load(written(tmp_path / "y.json", rows[0], 1)).systems == ("A", "B")


@pytest.mark.parametrize("n", [3, 150_000])  # the second is longer than 8 MB
def test_a_list_of_battles_of_any_length(tmp_path, n):
    rows = [{"model_a": "A", "model_b": "B", "winner": "model_a"}] * n
    path = written(tmp_path / "arena.json", rows)
    assert compare_battles(path, by="bt", intervals=None).ranking("bt") == ["A", "B"]


@pytest.mark.parametrize(
    ("value", "line", "words"),
    [
        ({"sys1": [{"src": "a", "COMET": 0.5}]}, None, ["a JSON document with keys sys1;"]),
        (
            {"eval": {}, "samples": []},
            None,
            ["keys eval, samples; expected JSON lines, a list of records, or a log"],
        ),
        ({str(k): [] for k in range(20)}, None, ["keys 0, 1, 2, 3, 4, 5, 6, 7 and 12 more;"]),
        ([1, 2], 2, ["expected a JSON object, found int"]),
        ([[1], [2]], 2, ["expected a JSON object, found list"]),
        ([], None, ["has no rows"]),
        (3, 1, ["expected a JSON object, found int"]),
        ([{"system": "A", "segment": 1, "m": "x"}], 2, ["column 'm': 'x' is not a number"]),
        ('[{"a": 1, "a": 2}]', 1, ["key 'a' occurs twice"]),
        ('[{"a": 1},\n {"a": }]', 2, ["not valid JSON"]),
        ('[{"a": 1}\n\n {"a": 2}]', 3, ["not valid JSON: expected a comma"]),
        ('[{"a": 1},]', 1, ["not valid JSON"]),
        ('[{"a": 1}', 1, ["not valid JSON: a list that does not end"]),
        ('{"a": 1}\n{"a": \n', 2, ["not valid JSON"]),
        ("[" * 100_000, None, ["JSON nested too deeply"]),
        ('{"a":' * 100_000, None, ["JSON nested too deeply"]),
    ],
)
def test_what_is_no_table_is_named(value, line, words, tmp_path):
    with pytest.raises(InputError) as caught:
        load(written(tmp_path / "x.json", value, 1))
    assert caught.value.line == line, caught.value
    assert all(word in str(caught.value) for word in words), caught.value


def test_lines_of_records_are_those_of_the_file(tmp_path):
    text = '\n[{"system": "A", "segment": 1, "m": 1},\n\n\n {"system": "A", "segment": 1, "m": 1}]'
    with pytest.raises(InputError, match=r"x\.json:5: .* stand on line 2 already"):
        load(written(tmp_path / "x.json", text))
