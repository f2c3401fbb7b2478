"""``steelyard kb link``, and counts of entities."""

from __future__ import annotations

import json

import pytest

from steelyard.cli.main import run
from steelyard.core.errors import ShapeError
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
