"""``steelyard kb link``, and counts of entities."""

from __future__ import annotations

import json

import pytest

from steelyard.cli.main import run
from steelyard.kobe.base.knowledge import KnowledgeBase


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
