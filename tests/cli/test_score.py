"""``steelyard score``, and ``compare`` of texts and plain numbers."""

from __future__ import annotations

import json
import shlex
import sys

import numpy as np
import pytest
from sacrebleu import BLEU, CHRF

import steelyard as sy
from steelyard.cli.main import run

SOURCE = ["Der Hund schläft.", "Zwei Katzen spielen im Garten.", "So ist es, sagte er."]
REFERENCE = ["The dog sleeps.", "Two cats are playing in the garden.", "That is so, he said."]
SECOND = ["The dog is asleep.", "Two cats play in the garden.", "So it is, he said."]
OUT = {
    "good": ["The dog sleeps.", "Two cats play in the garden.", "That is so, he said."],
    "poor": ["The dog sleep.", "Two cat plays on a yard.", "Zwei Katzen."],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    for name, lines in {"src": SOURCE, "ref": REFERENCE, "second": SECOND, **OUT}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    references = {"refA": tuple(REFERENCE), "refB": tuple(SECOND)}
    segments = sy.Segments(("1", "2", "3"), sources=tuple(SOURCE), references=references)
    outputs = {name: tuple(lines) for name, lines in OUT.items()}
    sy.save(sy.EvalSet(tuple(OUT), segments, outputs=outputs), tmp_path / "texts.jsonl", to="text")
    return tmp_path


def result(capsys, *arguments):
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def failure(capsys, *arguments):
    assert run(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


ALL = "bleu,chrf,chrf++,ter,eed,character"


def test_texts_and_plain_files_give_the_same(folder, capsys):
    found = result(capsys, "score", "texts.jsonl", "--metrics", ALL, "--refs", "refA")
    plain = result(capsys, "score", "--src", "src.txt", "--ref", "ref.txt", "good.txt", "poor.txt",
                   "--metrics", ALL)  # fmt: skip
    assert found["systems"] == plain["systems"]
    assert set(found["systems"]) == set(OUT)
    assert set(found["signatures"]) == set(ALL.split(","))
    assert found["lower_is_better"] == ["ter", "eed", "character"]
    for system, lines in OUT.items():
        row = found["systems"][system]
        assert row["bleu"] == pytest.approx(BLEU().corpus_score(lines, [REFERENCE]).score)
        assert row["chrf"] == pytest.approx(CHRF().corpus_score(lines, [REFERENCE]).score)
    assert found["signatures"]["bleu"].startswith("nrefs:1|")


def test_several_references_in_the_order_given(folder, capsys):
    refs = [REFERENCE, SECOND]
    for arguments in (
        ("texts.jsonl", "--refs", "refA,refB"),
        ("--ref", "ref.txt", "--ref", "second.txt", "good.txt", "poor.txt"),
    ):
        found = result(capsys, "score", *arguments, "--metrics", "bleu,chrf")
        for system, lines in OUT.items():
            row = found["systems"][system]
            assert row["bleu"] == pytest.approx(BLEU().corpus_score(lines, refs).score)
            assert row["chrf"] == pytest.approx(CHRF().corpus_score(lines, refs).score)
        assert found["signatures"]["bleu"].startswith("nrefs:2|")


def test_segment_scores_that_other_commands_read(folder, capsys):
    arguments = ["score", "texts.jsonl", "--metrics", "chrf,ter", "--refs", "refA", "--out"]
    for name in ("out.csv", "out.parquet", "out.jsonl.gz"):
        assert run([*arguments, name]) == 0
        said = capsys.readouterr().err
        assert ("--lower-is-better ter" in said) == (name != "out.parquet")
        es = sy.load(name)
        assert set(es.scores) == {"chrf", "ter"}
        assert not es.outputs
        assert es["ter"].higher_is_better == (name != "out.parquet")
        expected = sy.score("texts.jsonl", ["chrf"], references=["refA"]).evalset["chrf"]
        np.testing.assert_allclose(es["chrf"].values, expected.values, rtol=1e-12)
        assert result(capsys, "compare", name, "--score", "chrf")["n_segments"] == 3
    assert run([*arguments, "out.md"]) == 0
    assert (folder / "out.md").read_text(encoding="utf-8").count("| good |") == 1


def test_a_command_as_a_metric(folder, capsys):
    (folder / "judge.py").write_text(
        "import json, sys\nfor line in sys.stdin: print(len(json.loads(line)['out']))\n"
    )
    arguments = ["score", "texts.jsonl", "--refs", "refA",
                 "--command", f"judge={shlex.quote(sys.executable)} judge.py",
                 "--lower-is-better", "judge"]  # fmt: skip
    found = result(capsys, *arguments)
    lengths = {system: sum(map(len, lines)) / 3 for system, lines in OUT.items()}
    assert {s: row["judge"] for s, row in found["systems"].items()} == pytest.approx(lengths)
    assert found["lower_is_better"] == ["judge"]
    assert found["notes"] == []


def test_options_of_metrics_and_languages(folder, capsys):
    arguments = ["score", "texts.jsonl", "--refs", "refA", "--metrics", "bleu"]
    found = result(
        capsys, *arguments, "--set", "bleu.lowercase=true", "--set", "bleu.max_ngram_order=2"
    )
    assert "case:lc" in found["signatures"]["bleu"]
    found = result(capsys, *arguments, "--src-lang", "de", "--tgt-lang", "zh")
    assert "tok:zh" in found["signatures"]["bleu"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score"], "no input; for example: steelyard score"),
        (["score", "texts.jsonl"], "texts need a metric"),
        (["score", "texts.jsonl", "--metrics", "bleu"], "several references (refA, refB)"),
        (["score", "texts.jsonl", "--metrics", "blue"], "did you mean 'bleu'"),
        (["score", "texts.jsonl", "--metrics", "bleu,bleu", "--refs", "refA"], "already"),
        (["score", "texts.jsonl", "--metrics", "bleu", "--refs", "refA", "--set", "tokenize=13a"],
         "expected METRIC.OPTION=VALUE"),
        (["score", "texts.jsonl", "--command", "=x"], "not of the form NAME=COMMAND"),
        (["score", "texts.jsonl", "--metrics", "bleu", "--src-lang", "de"], "expected both"),
        (["score", "--ref", "ref.txt", "missing.txt", "--metrics", "bleu"], "missing.txt: no such"),
        (["score", "--ref", "ref.txt", "good.txt", "--metrics", "bleu", "--where", "a=b"],
         "plain files do not have"),
        (["compare", "good.txt", "poor.txt", "--ref", "ref.txt"], "texts need a metric"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_line(folder, capsys, arguments, message):
    assert message in failure(capsys, *arguments)


def test_two_files_of_numbers_make_a_decision_card(folder, capsys):
    (folder / "a.scores").write_text("1\n2\n3\n4\n")
    (folder / "b.scores").write_text("0\n2\n1\n1\n")
    card = result(capsys, "compare", "a.scores", "b.scores")
    assert card["systems"] == ["a", "b"]
    assert card["difference"] == pytest.approx(1.5)
    (folder / "c.scores").write_text("5\n5\n5\n5\n")
    three = result(capsys, "compare", "a.scores", "b.scores", "c.scores")
    assert three["systems"] == ["a", "b", "c"]
    (folder / "c.scores").write_text("5\n5\n5\n")
    assert "c.scores:4: 3 numbers, but a.scores has 4" in failure(
        capsys, "compare", "a.scores", "c.scores"
    )
