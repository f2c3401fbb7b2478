"""KoBE through ``steelyard score`` and ``steelyard.score``, on the demo's sentences."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.kobe.base.knowledge import default, embedded

DEMO = str(files("steelyard.demo") / "entities.jsonl")
ARGUMENTS = ["score", DEMO, "--where", "lp=de-en", "--metrics", "kobe"]


def test_the_command_gives_scores_signature_words_and_explanations(tmp_path, capsys):
    explained, out = tmp_path / "entities.jsonl", tmp_path / "scores.csv"
    assert run([*ARGUMENTS, "--lp", "de-en", "--kb", str(embedded()), "--json", "--explain",
                str(explained), "--out", str(out)]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert found["systems"]["careful"]["kobe"] == 100
    order = sorted(found["systems"], key=lambda s: -found["systems"][s]["kobe"])
    assert order[:2] == ["careful", "fluent"]
    assert found["systems"]["fluent"]["kobe"] > 80
    assert all(found["systems"][name]["kobe"] < 70 for name in ("hasty", "copycat"))
    assert default().signature in found["signatures"]["kobe"]
    assert any("of 100" in note for note in found["notes"])
    report = found["reports"]["kobe"]
    assert {row["category"] for row in report["categories"]} >= {"city", "number", "month"}
    lines = [json.loads(line) for line in explained.read_text(encoding="utf-8").splitlines()]
    vienna = [e for x in lines if (x["system"], x["segment"]) == ("fluent", "de-en.1")
              for e in x["entities"] if e["source"] and e["source"][2] == "Wien"]  # fmt: skip
    assert [e["kind"] for e in vienna] == ["changed"]
    assert len(sy.load(out)["kobe"].values) == 4


def test_languages_are_needed_and_known(tmp_path, capsys):
    source, out = tmp_path / "src.de", tmp_path / "a.en"
    source.write_text("Wien, 3. März\n", encoding="utf-8")
    out.write_text("Vienna, 3 March\n", encoding="utf-8")
    plain = ["score", "--src", str(source), str(out), "--metrics", "kobe"]
    assert run([*plain, "--src-lang", "de", "--tgt-lang", "en", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == {"a": {"kobe": 100}}
    assert run(plain) == 2
    assert "--src-lang and --tgt-lang" in capsys.readouterr().err
    assert run([*plain, "--src-lang", "de", "--tgt-lang", "xq"]) == 2
    error = capsys.readouterr().err
    assert "xq" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("option", [["--kb", "x"], ["--explain", "x"]])
def test_options_of_kobe_alone(option, capsys):
    assert run([*ARGUMENTS[:-1], "chrf", *option]) == 2
    assert "is for kobe" in capsys.readouterr().err


def test_warnings_name_their_metric_and_missing_texts_are_told(tmp_path, capsys):
    path = tmp_path / "texts.jsonl"
    rows: list[dict[str, Any]] = [
        {"seg": i, "src": "Wien", "refs": {"ref": "Vienna"}, "out": {"A": "Vienna", "B": "Vienna"}}
        for i in range(6)
    ]
    for row in rows[2:]:
        del row["src"]
    rows[5]["refs"]["ref"] = None
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call = ["score", str(path), "--lp", "de-en", "--metrics", "kobe,kobe-ref", "--json"]
    assert run(call) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["systems"]["A"] == {"kobe": 100.0, "kobe-ref": 100.0}
    assert [text.partition(":")[0] for text in result["warnings"]] == [
        "kobe", "kobe", "kobe-ref", "kobe-ref",
    ]  # fmt: skip
    assert "4 segments without a source" in result["warnings"][0]
    assert "1 segment without a reference" in result["warnings"][2]
