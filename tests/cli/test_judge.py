"""``steelyard judge`` as a user runs it: the card, its gate, and further questions."""

from __future__ import annotations

import csv
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.cli.main import run
from steelyard.demo import embedded


def table(path: Path, columns: dict[str, Any]) -> str:
    """Write a table of columns."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*columns.values(), strict=True))
    return str(path)


def verdicts(n: int = 300, labels: int | None = None, seed: int = 0, right: float = 0.85):
    """Points of three systems: what a judge says, and what a person says of some."""
    rng = np.random.default_rng(seed)
    items = np.repeat(np.arange(-(-n // 3)), 3)[:n]
    truth = np.where(rng.random(n) < 0.6, "pass", "fail")
    said = np.where(rng.random(n) < right, truth, np.where(truth == "pass", "fail", "pass"))
    known = np.ones(n, bool) if labels is None else rng.permutation(n) < labels
    return {
        "item": items, "system": np.array(["A", "B", "C"])[np.arange(n) % 3],
        "expert": np.where(known, truth, ""), "gpt": said, "chars": rng.integers(10, 99, n),
    }  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> str:
    return table(tmp_path / "verdicts.csv", verdicts())


def json_of(capsys, *arguments: str) -> dict[str, Any]:
    assert run(["judge", *arguments, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_card_is_what_files_alone_ask_for(file, capsys):
    found = json_of(capsys, file, "--human", "expert")
    (own,) = found["judges"]
    assert own["judge"] == "gpt"
    assert own["verdict"] in (
        "usable as is", "usable with labels", "not better than a trivial rule", "unusable",
    )  # fmt: skip
    assert own["accuracy"]["ci"][0] < own["accuracy"]["value"] < own["accuracy"]["ci"][1]
    assert found["n_labelled"] == 300
    assert found["provenance"]["signature"].startswith("steelyard ")
    assert run(["judge", "--human", "expert", file]) == 0  # options may come first
    shown = capsys.readouterr()
    assert shown.out.startswith("gpt is ")
    assert "warning: one annotator" in shown.err


def test_what_is_no_question_is_a_file(file, capsys):
    for name in ("corect", "elsewhere.csv"):
        assert run(["judge", name, file, "--human", "expert"]) == 2
        assert f"{name}: no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("require", "code"),
    [
        (["kappa.low>=0.4"], 0),
        (["kappa.low>=0.95"], 3),
        (["accuracy.low>=0.85"], 4),
        (["kappa.low>=0.95", "accuracy.low>=0.85"], 3),
        (["kappa.low>=0.4", "accuracy.high<=0.99"], 0),
    ],
)
def test_the_gate(file, capsys, require, code):
    asked = [word for one in require for word in ("--require", one)]
    assert run(["judge", file, "--human", "expert", *asked]) == code
    shown = capsys.readouterr().out
    assert f"gpt {require[0]}: 0." in shown


@pytest.mark.parametrize(
    ("require", "said"),
    [
        ("kappa>=0.4", "ask for an end of its interval: kappa.low>=0.4"),
        ("kappa.high>=0.4", "the end that proves nothing"),
        ("kapa.low>=0.4", "no 'kapa'"),
        ("kappa.low=0.4", "expected NAME.low>=X"),
        ("n.low>=10", "no interval"),
    ],
)
def test_a_requirement_that_can_not_be(file, capsys, require, said):
    assert run(["judge", file, "--human", "expert", "--require", require]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert len(shown.err.strip().splitlines()) == 1


def test_messages_name_the_column_and_the_file(file, tmp_path, capsys):
    assert run(["judge", file, "--human", "expret"]) == 2
    assert "no column 'expret'" in capsys.readouterr().err
    assert run(["judge", file]) == 2
    assert "which columns are labels of people" in capsys.readouterr().err
    assert run(["judge", str(tmp_path / "none.csv"), "--human", "expert"]) == 2
    assert "none.csv" in capsys.readouterr().err
    assert run(["judge", file, "--human", "expert", "--own", "gpx=A*"]) == 2
    assert "no judge 'gpx'" in capsys.readouterr().err
    assert run(["judge", file, "--human", "expert", "--alt-epsilon", "2"]) == 2
    assert run(["judge", "correct", file, "--human", "expert", "--labels", "by:colour"]) == 2
    assert "colour" in capsys.readouterr().err
    assert run(["judge", "correct", file, "--human", "expert", "--by", "bt"]) == 2
    assert "--by bt needs pairs of systems" in capsys.readouterr().err


def test_bias(file, capsys):
    found = json_of(capsys, "bias", file, "--human", "expert", "--covariates", "chars")
    (own,) = found["judges"]
    assert [effect["name"] for effect in own["effects"]][:2] == ["constant", "length"]
    assert own["position"] is None
    assert run(["judge", "bias", file, "--human", "expert"]) == 0


def test_correct(tmp_path, capsys):
    some = table(tmp_path / "some.csv", verdicts(900, 200))
    found = json_of(capsys, "correct", some, "--human", "expert", "--judge", "gpt")
    own = found["corrected"]
    assert [one["system"] for one in own["systems"]] == ["A", "B", "C"]
    assert own["overall"]["n_labelled"] == found["n_labelled"] == 200
    assert {one["system"]: one["tier"] for one in found["ranking"]} == dict.fromkeys("ABC", 1)
    again = json_of(capsys, "correct", some, "--human", "expert", "--judge", "gpt")
    assert again == found
    assert run(["judge", "correct", some, "--human", "expert", "--judge", "gpt", "--pair", "A,B",
                "--labels", "unknown"]) == 0  # fmt: skip
    shown = capsys.readouterr()
    assert "leads" in shown.out
    assert "warning: how rows were chosen for labelling is not known" in shown.err


def test_labels_in_a_file_of_their_own(tmp_path, capsys):
    columns = verdicts(600)
    own = {name: columns[name][:100] for name in ("item", "system", "expert")}
    some = table(tmp_path / "verdicts.csv", {n: c for n, c in columns.items() if n != "expert"})
    labels = table(tmp_path / "labels.csv", own)
    found = json_of(capsys, "correct", some, labels, "--human", "expert", "--judge", "gpt")
    assert found["n_labelled"] == 100
    assert found["n_items"] == 600


def test_a_plan_is_filled_in_and_corrected_by(tmp_path, capsys):
    columns = verdicts(600, 60)
    some = table(tmp_path / "some.csv", columns)
    out = tmp_path / "to-label.csv"
    asked = ["--human", "expert", "--judge", "gpt"]
    assert run(["judge", "plan", some, *asked, "--budget", "40", "--out", str(out)]) == 0
    assert "Label 40 rows next" in capsys.readouterr().out
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 600
    for row in rows:
        if row["to_label"] == "next":
            assert row["expert"] == ""
            row["expert"] = "pass"
    filled = table(tmp_path / "filled.csv", {name: [r[name] for r in rows] for name in rows[0]})
    found = json_of(capsys, "correct", filled, *asked, "--labels", "probability:probability")
    assert found["n_labelled"] == 100
    assert found["corrected"]["overall"]["ci"] is not None
    assert run(["judge", "plan", some, *asked, "--half-width", "0.05", "--kappa", "0.1"]) == 0
    assert "Kappa within 0.1" in capsys.readouterr().out
    assert run(["judge", "plan", some, *asked, "--half-width", "0"]) == 2
    assert run(["judge", "plan", some, *asked, "--out", str(tmp_path / "x.jsonl")]) == 2
    assert "--budget N" in capsys.readouterr().err


QUESTIONS = {
    "card": (), "bias": (), "correct": ("--judge", "careful-judge"),
    "plan": ("--judge", "careful-judge", "--budget", "40", "--kappa", "0.1"), "drift": (),
}  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_is_short(question, capsys):
    """Three sentences, then one table; quiet leaves stderr empty."""
    path = str(embedded.VERDICTS)
    files = [path, path] if question == "drift" else [path]
    command = ["judge", question, *files, "--human", "ann,bo,cy", *QUESTIONS[question], "--quiet"]
    assert run(command) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    answer, *rest = shown.out.split("\n\n")
    assert 1 <= len(answer.splitlines()) <= 3
    assert len(shown.out.splitlines()) <= 25
    assert sum("---" in block for block in rest) == 1


def test_drift(file, tmp_path, capsys):
    worse = table(tmp_path / "worse.csv", verdicts(right=0.6))
    found = json_of(capsys, "drift", file, worse, "--human", "expert")
    (own,) = found["judges"]
    assert own["lost"] > own["gained"]
    assert own["difference"]["ci"][1] < 0
    assert run(["judge", "drift", file, worse, "--human", "expert"]) == 0
    assert "gpt is worse than before" in capsys.readouterr().out


@pytest.mark.thorough
def test_fifty_labels_and_two_thousand_verdicts_take_less_than_two_seconds(tmp_path):
    some = table(tmp_path / "some.csv", verdicts(2000, 50))
    for words in (["judge"], ["judge", "correct"]):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "steelyard", *words, some, "--human", "expert"],
                       check=True, capture_output=True)  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        assert spent < 2, words
