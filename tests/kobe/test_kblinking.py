"""``steelyard kb link`` and ``kb stats``: what they print, and bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import ShapeError
from steelyard.formats.entities import EntityAnnotations, EntityMention, Sentence
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.mention import Mention, entity_statistics


def test_link(small_kb: KnowledgeBase, capsys: pytest.CaptureFixture[str]):
    base = ["--kb", str(small_kb.path)]
    assert run(["kb", "link", "Am 3. März in Wien", "--lang", "de", *base, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(m["text"], m["id"]) for m in result["mentions"]] == [
        ("3.", "num:3"),
        ("März", "month:3"),
        ("Wien", "gn:2761369"),
    ]
    assert result["mentions"][2]["label"] == "Wien"
    assert run(["kb", "link", "nichts", "--lang", "de", *base]) == 0
    assert capsys.readouterr().out == "No entity found.\n"


def test_unknown_language(small_kb: KnowledgeBase, capsys: pytest.CaptureFixture[str]):
    assert run(["kb", "link", "Wien", "--lang", "xx", "--kb", str(small_kb.path)]) == 2
    assert capsys.readouterr().err.startswith("error: unknown language code 'xx'")


def test_stats_of_texts(
    small_kb: KnowledgeBase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "x.jsonl"
    rows = [
        {"seg": 1, "src": "Wien und Prag", "refs": {"refA": "Vienna"}, "out": {"A": "x"}},
        {"seg": 2, "src": "nichts", "refs": {"refA": "Rome, 5 May"}, "out": {"A": "x"}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    base = ["--kb", str(small_kb.path)]
    call = ["kb", "stats", str(path), "--src-lang", "de", "--tgt-lang", "en", *base]
    assert run([*call, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["sets"]
    assert found["sentences"] == 2
    assert found["sentences_with_entities"] == 1
    assert (found["source_entities"], found["reference_entities"]) == (2, 4)
    assert found["common_distinct"] == 1
    assert found["histogram"] == [[0, 1], [2, 1]]
    assert run(call) == 0
    assert "distinct entities in both" in capsys.readouterr().out
    assert run(["kb", "stats", str(path), *base]) == 2
    assert "--src-lang is missing" in capsys.readouterr().err
    assert run([*call, "--ref", "refB"]) == 2
    assert "no reference named 'refB'" in capsys.readouterr().err


def test_stats_of_the_authors_annotations(shared: Path, capsys: pytest.CaptureFixture[str]):
    path = shared / "wmt19-metrics" / "kobe-entities.ru-en.jsonl.gz"
    assert run(["kb", "stats", str(path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["sets"]
    assert (found["sentences"], found["reference_entities"]) == (2000, 11416)
    assert found["reference_distinct"] == 3583
    assert found["source_entities"] is found["sentences_with_entities"] is None  # not released
    assert found["histogram_of"] == "reference"
    assert sum(n for _, n in found["histogram"]) == 2000
    assert sum(k * n for k, n in found["histogram"]) == 11416


def test_stats_of_annotations_are_drawn(tmp_path: Path, capsys):
    vienna = EntityMention("Q1741", 0, 4)
    sentences = tuple(Sentence("Wien", (vienna,) * i) for i in range(2))
    made = EntityAnnotations({"src": sentences, "ref": sentences, "A": sentences})
    sy.save(made, tmp_path / "links.jsonl")
    sy.save(EntityAnnotations({"A": sentences}), tmp_path / "outputs.jsonl")
    out = tmp_path / "entities.svg"
    assert run(["kb", "stats", str(tmp_path / "links.jsonl"), "--json", "--out", str(out)]) == 0
    (counts,) = json.loads(capsys.readouterr().out)["sets"]
    assert (counts["name"], counts["source_entities"], counts["common_distinct"]) == ("links", 1, 1)
    assert "entities in a sentence" in out.read_text(encoding="utf-8")
    assert run(["kb", "stats", str(tmp_path / "outputs.jsonl")]) == 2
    assert "links of outputs alone (A)" in capsys.readouterr().err


def test_statistics_of_a_reference_alone():
    a = Mention(0, 1, "a", "a")
    found = entity_statistics("x", None, [(a, a), ()])
    assert found.counts == (2, None, None, 2, None, 1, None)
    assert (found.title, found.coverage) == ("x (reference)", 0.5)
    with pytest.raises(ShapeError, match="neither"):
        entity_statistics("x", None)


def test_statistics_by_hand():
    a, b = Mention(0, 1, "a", "a"), Mention(1, 2, "b", "b")
    found = entity_statistics("x", [(a, b, a), (), (a,)], [(a,), (b,), ()])
    assert found.counts == (3, 2, 4, 2, 2, 2, 2)
    assert found.histogram == ((0, 1), (1, 1), (3, 1))
    assert found.coverage == pytest.approx(2 / 3)
    with pytest.raises(ShapeError, match="1 sources and 2 references"):
        entity_statistics("x", [()], [(), ()])
