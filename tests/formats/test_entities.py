"""Entity annotations: JSON lines, and the files and folders of the KoBE release."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import save
from steelyard.formats.entities import EntityAnnotations, EntityMention, Sentence
from steelyard.formats import entities
from steelyard.formats.reading import read_any

pytestmark = pytest.mark.usefixtures("one_database")
Refusal = Callable[..., str]
Fresh = Callable[[], Path]


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path) -> EntityAnnotations:
    form, found, _ = read_any(path)
    assert form == "entity annotations"
    assert isinstance(found, EntityAnnotations)
    return found


def row(system: str, line: int, *mentions: Any) -> dict[str, Any]:
    return {"system": system, "line": line, "sentence": f"{system}{line}", "entities": mentions}


def test_json_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.jsonl",
        row("ref", 10, [0, 2, "/m/1"], [0, 2, "/m/1"]),
        row("ref", 9),
        row("A", 9, {"begin": 0, "end": 2, "id": "Q1", "text": "Bär"}),
        row("A", 10, {"begin": 1, "end": 3, "id": "Q2"}),
    )
    found = read(path)
    assert found.n_segments == 2
    assert found.systems == {
        "A": (
            Sentence("A9", (EntityMention("Q1", 0, 2, "Bär"),)),
            Sentence("A10", (EntityMention("Q2", 1, 3),)),
        ),
        "ref": (
            Sentence("ref9", ()),
            Sentence("ref10", (EntityMention("/m/1", 0, 2), EntityMention("/m/1", 0, 2))),
        ),
    }


@pytest.mark.parametrize("key", ["segment", "seg", "sid", "item"])
def test_synonyms_of_line(tmp_path: Path, key: str) -> None:
    found = read(written(tmp_path / "x.jsonl", {key: 1, "sentence": "s", "entities": []}))
    assert found.systems == {"unknown": (Sentence("s", ()),)}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (row("A", 1), ["'1'", "'A'", "twice"]),
        (row("A", 2, [1, 2]), ["[begin, end, id]"]),
        (row("A", 2, [1, 2, 3]), ["[begin, end, id]"]),
        (row("A", 2, [1.5, 2, "x"]), ["[begin, end, id]"]),
        (row("A", 2, [True, 2, "x"]), ["[begin, end, id]"]),
        (row("A", 2, ["1", 2, "x"]), ["[begin, end, id]"]),
        (row("A", 2, "x"), ["[begin, end, id]"]),
        (row("A", 2, {"begin": 1, "end": 2}), ["[begin, end, id]"]),
        (row("A", 2, {"begin": 1, "end": 2, "id": "x", "text": 5}), ["text"]),
        ({**row("A", 2), "entities": None}, ["[begin, end, id]"]),
        ({**row("A", 2), "entities": {"a": 1}}, ["[begin, end, id]"]),
        ({**row("A", 2), "entities": "[1"}, ["JSON"]),
        ({**row("A", 2), "sentence": ["x"]}, ["'sentence'"]),
        (row("A", 2, [2, 1, "x"]), ["[2, 1] is no part of the 2 characters of the sentence"]),
        (row("A", 2, [-1, 1, "x"]), ["[-1, 1]"]),
        (row("A", 2, [0, 3, "x"]), ["[0, 3]"]),
        (row("A", 2, {"begin": 10**80, "end": 10**90, "id": ""}), ["[1000", "..., 1000"]),
        ({**row("A", 2), "sentence": "\ud800x"}, ["'sentence' holds '\\ud800', half a character"]),
        (row("A", 2, [0, 1, "\ud800"]), ["'entities' holds '\\ud800'"]),
        ({**row("A", 2), "system": "A\udcff"}, ["a name holds '\\udcff'"]),
        ({**row("A", 2), "line": None}, ["'line'"]),
    ],
)
def test_bad_lines(tmp_path: Path, refusal: Refusal, bad: Any, words: list[str]) -> None:
    path = written(tmp_path / "x.jsonl", row("A", 1), bad)
    message = refusal(read_any, path)
    assert message.startswith(f"{path}:2: ")
    for word in words:
        assert word in message


def test_mentions_without_an_id_are_left_out(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.jsonl",
        row("A", 1, [0, 1, ""], [0, 2, "Q1"], {"begin": 0, "end": 1, "id": None}),
        row("B", 1, [0, 1, " "]),
    )
    found = read(path)
    assert [s.mentions for s in found.systems["A"]] == [(EntityMention("Q1", 0, 2),)]
    assert found.notes == (f"{path}: 3 mentions without an id left out",)
    assert found.evalset().notes == found.notes


def test_spans_may_count_bytes(tmp_path: Path) -> None:
    """As the release does: the beginning in bytes, the length in characters."""
    sentence = {**row("A", 1, [5, 8, "Q1"]), "sentence": "ää Bär"}
    assert read(written(tmp_path / "x.jsonl", sentence)).systems["A"][0].mentions[0].begin == 5


def test_systems_must_have_the_same_lines(tmp_path: Path, refusal: Refusal) -> None:
    path = written(tmp_path / "x.jsonl", row("A", 1), row("A", 2), row("B", 2))
    message = refusal(read_any, path)
    assert "'B'" in message
    assert "'1'" in message


# The release.


def released(*texts: str) -> dict[str, Any]:
    mention = {"begin": 0, "end": 1, "id": "/m/1", "text": "x"}
    return {"annotated_sentence": [{"sentence": t, "entities": [mention]} for t in texts]}


@pytest.mark.parametrize(
    ("name", "system"),
    [
        ("newstest2019.Facebook_FAIR.6724.ru-en", "Facebook_FAIR.6724"),
        ("newstest2019.A.ru-en.json", "A"),
        ("newstest2019-ruen-src.ru.json", "src"),
        ("newstest2019-ruen-ref.en", "ref"),
        ("mysystem.json", "mysystem"),
        ("mysystem", "mysystem"),
    ],
)
def test_released_file(tmp_path: Path, name: str, system: str) -> None:
    found = read(written(tmp_path / name, released("a", "b")))
    assert list(found.systems) == [system]
    assert [s.text for s in found.systems[system]] == ["a", "b"]
    assert found.systems[system][0].mentions == (EntityMention("/m/1", 0, 1, "x"),)


def test_packed_release_has_the_same_name(tmp_path: Path) -> None:
    path = tmp_path / "newstest2019.A.ru-en.json.gz"
    path.write_bytes(gzip.compress(json.dumps(released("a")).encode()))
    assert list(read(path).systems) == ["A"]


def test_released_folder(tmp_path: Path) -> None:
    written(tmp_path / "newstest2019.A.ru-en", released("a", "b"))
    written(tmp_path / "newstest2019.B.1.ru-en", released("c", "d"))
    written(tmp_path / "newstest2019-ruen-ref.en", released("e", "f"))
    (tmp_path / ".hidden").write_text("x")
    found = entities.read_folder(tmp_path)
    assert {name: [s.text for s in own] for name, own in found.systems.items()} == {
        "A": ["a", "b"],
        "B.1": ["c", "d"],
        "ref": ["e", "f"],
    }


def test_bad_folders(tmp_path: Path, refusal: Refusal) -> None:
    refusal(entities.read_folder, tmp_path)
    written(tmp_path / "newstest2019.A.ru-en", released("a", "b"))
    written(tmp_path / "newstest2019.B.ru-en", released("c"))
    message = refusal(entities.read_folder, tmp_path)
    assert "number of sentences" in message


def test_two_files_of_one_system(tmp_path: Path, refusal: Refusal) -> None:
    written(tmp_path / "newstest2019.A.ru-en", released("a", "b"))
    written(tmp_path / "newstest2020.A.ru-en", released("c", "d"))
    message = refusal(entities.read_folder, tmp_path)
    assert "'A'" in message


@pytest.mark.parametrize(
    "value",
    [
        {"annotated_sentence": 5},
        {"annotated_sentence": [5]},
        {"annotated_sentence": [{"entities": []}]},
        {"annotated_sentence": [{"sentence": 5, "entities": []}]},
        {"annotated_sentence": [{"sentence": "s", "entities": [5]}]},
    ],
)
def test_bad_release(tmp_path: Path, refusal: Refusal, value: Any) -> None:
    path = written(tmp_path / "x.json", value)
    assert refusal(read_any, path).startswith(str(path))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def annotated(draw: st.DrawFn) -> Sentence:
    text = draw(texts)
    place = st.integers(0, len(text.encode()))
    spans = [sorted((draw(place), draw(place))) for _ in range(draw(st.integers(0, 3)))]
    found = [
        EntityMention(draw(texts.filter(str.strip)), begin, end, draw(st.none() | texts))
        for begin, end in spans
    ]
    return Sentence(text, tuple(found))


sentences = annotated()


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "csv", "tsv", "parquet"])
@settings(max_examples=30)
@given(data=st.data())
def test_annotations_come_back(fresh: Fresh, suffix: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    names = data.draw(st.lists(texts.filter(str.strip), min_size=1, max_size=3, unique=True))
    made = EntityAnnotations(
        {
            name: tuple(data.draw(st.lists(sentences, min_size=n, max_size=n)))
            for name in sorted(names)
        }
    )
    path = fresh() / f"x.{suffix}"
    save(made, path)
    assert read(path) == made
