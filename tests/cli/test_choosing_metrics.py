"""Filters of metrics, and listings of folders, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.cli.main import run

ROWS = """system,segment,mqm,good-refA,bad-refA,est-src,odd
A,1,-1,3,1,3,1
A,2,0,4,2,4,1
A,3,-2,2,4,3,2
B,1,-3,1,3,1,4
B,2,-1,2,2,2,3
B,3,-5,0,1,1,2
"""
TEXTS = [
    {"seg": str(i), "doc": "d", "domain": "news", "src": f"eins {i}", "refs": {"refA": f"one {i}"},
     "out": {"A": f"one {i}", "B": "two\ttoo"}}
    for i in (1, 2, 3)
]  # fmt: skip


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in TEXTS))
    return path


def metrics_of(capsys) -> list[str]:
    found = json.loads(capsys.readouterr().out)
    return sorted({row["metric"] for row in found["results"]})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--metrics", ""], "no metric to evaluate: --metrics is empty"),
        (
            ["--metrics", "mqm"],
            "no metric to evaluate: --metrics names 'mqm' alone, which is the human score",
        ),
        (["--sees", ""], "--sees is empty: expected what metrics see; they see: not known (1), "),
        (["--corpus", "foo"], "unknown metric 'foo'; known: bleu, "),
    ],
)
def test_what_leaves_nothing_is_refused_with_the_reason(scores, capsys, options, told):
    assert run(["meta", str(scores), "--human", "mqm", "--by", "pa", *options]) == 2
    assert f"error: {told}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--metrics", "*-refA,odd"], ["bad-refA", "good-refA", "odd"]),
        (["--sees", "ref", "--drop-metrics", "b*"], ["good-refA"]),
    ],
)
def test_meta(scores, capsys, options, kept):
    arguments = ["meta", str(scores), "--human", "mqm", "--by", "pa", "--json", *options]
    assert run(arguments) == 0
    assert metrics_of(capsys) == kept


def test_what_is_unknown_is_said(scores, capsys):
    assert run(["data", "info", str(scores), "--human", "mqm", "--sees", "src"]) == 0
    assert "left out, since it is not known what they see: 'odd'" in capsys.readouterr().err


def test_data_commands_keep_human_scores(scores, capsys):
    out = scores.with_name("part.csv")
    assert run(["data", "convert", str(scores), str(out), "--human", "mqm", "--metrics", "g*"]) == 0
    assert out.read_text().splitlines()[0] == "system,segment,good-refA,mqm"
    assert run(["data", "check", str(scores), "--human", "mqm", "--metrics", "g*"]) == 0


@pytest.mark.parametrize("named", ["BLEU-refA,chrF-refA", "odd", "good*"])
def test_corpus_metrics_that_were_computed_are_shown(scores, texts, capsys, named):
    arguments = [str(scores), str(texts), "--human", "mqm", "--metrics", named]
    assert run(["meta", *arguments, "--corpus", "bleu,chrf", "--by", "pa", "--json"]) == 0
    assert {"bleu-refA", "chrf-refA"} <= set(metrics_of(capsys))
