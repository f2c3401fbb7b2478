"""``steelyard data`` and ``steelyard demo`` as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.cli.main import run

LONG = "system,segment,mqm,chrF\nA,1,-1,50\nA,2,0,60\nB,1,-5,40\nB,2,-1,\n"


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(LONG)
    return path


def test_info_json_is_one_object(scores, capsys):
    assert run(["data", "info", str(scores), "--human", "mqm", "--json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert (result["n_systems"], result["n_segments"]) == (2, 2)
    assert (result["human"], result["metrics"]) == (["mqm"], ["chrF"])
    chrf = next(s for s in result["scores"] if s["name"] == "chrF")
    assert chrf["missing"] == 0.25
    assert (chrf["min"], chrf["max"]) == (40, 60)
    assert result["warnings"] == []
    assert result["read"][0]["format"] == "long table"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wmt22-da/cs-en.judgments.csv.gz", {"format": "direct assessment", "ratings": 25070}),
        ("wmt23-metrics/en-de.mqm_errors.jsonl.gz", {"format": "error list", "ratings": 5980}),
        ("wmt13-ranking/fr-en.train.csv.gz", {"format": "rankings", "rankings": 9996}),
        ("llmfao/crowd-comparisons.csv.gz", {"format": "battle log", "ties": 3471}),
        ("wmt19-metrics/kobe-entities.ru-en.jsonl.gz", {"sentences": 2000, "systems": 9}),
    ],
)
def test_info_of_raw_judgements(shared, capsys, name, expected):
    assert run(["data", "info", str(shared / name), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {key: result[key] for key in expected} == expected
    assert all("columns not used: " in said for said in result["warnings"])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "md", "tex", "html"])
def test_out_by_suffix(scores, tmp_path, capsys, suffix):
    target = tmp_path / f"out.{suffix}"
    assert run(["data", "info", str(scores), "--out", str(target), "--quiet"]) == 0
    assert "chrF" in target.read_text()
    assert capsys.readouterr().err == ""


def test_out_with_an_unknown_suffix_writes_nothing(scores, tmp_path, capsys):
    target = tmp_path / "out.xyz"
    assert run(["data", "info", str(scores), "--out", str(target)]) == 2
    assert "can't write '.xyz'" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "info"], "no input; for example"),
        (["data", "info", "absent.csv"], "absent.csv: no such file"),
        (["nope"], "no command 'nope'"),
        (["dat"], "did you mean 'data'"),
        (["data", "info", "--nope"], "No such option"),
        (["data", "convert", "x"], "expected IN and OUT"),
        (["data", "info", "x.csv", "--where", "a"], "not of the form COL=VALUE"),
        (["data", "info", "x.csv", "--kind", "people:a"], "not of the form human:A,B"),
        (["data", "get", "../etc"], "../etc"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(arguments, message, capsys):
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_bad_cell_names_file_line_and_column(tmp_path, capsys):
    path = tmp_path / "bad.csv"
    path.write_text(LONG.replace("-5", "oops"))
    assert run(["data", "info", str(path)]) == 2
    error = capsys.readouterr().err
    expected = "column 'mqm': 'oops' is not a number (--ignore mqm skips the column)"
    assert error == f"error: {path}:4: {expected}\n"
    assert run(["data", "info", str(path), "--ignore", "mqm"]) == 0


def test_debug_shows_the_traceback(tmp_path, capsys):
    assert run(["data", "info", str(tmp_path / "no.csv"), "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_convert_says_what_it_leaves_out(tmp_path, capsys):
    (tmp_path / "seg.csv").write_text(LONG)
    (tmp_path / "sys.csv").write_text("system,chrF\nA,55\nB,41\n")
    inputs = [str(tmp_path / "seg.csv"), str(tmp_path / "sys.csv")]
    out = str(tmp_path / "out.csv")
    assert run(["data", "convert", *inputs, out, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["warnings"] == [f"{out} has no place for: official system scores"]


def test_convert_does_not_overwrite_unasked(scores, tmp_path, capsys):
    out = tmp_path / "out.parquet"
    out.write_text("precious")
    assert run(["data", "convert", str(scores), str(out)]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    assert out.read_text() == "precious"
    assert run(["data", "convert", str(scores), str(out), "--force"]) == 0


def test_a_failed_convert_leaves_nothing_behind(scores, tmp_path, capsys):
    before = sorted(p.name for p in tmp_path.iterdir())
    assert run(["data", "convert", str(scores), str(tmp_path / "f")]) == 2
    assert "can't tell the format from the name" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_check_exits_2_on_errors_and_0_on_warnings(scores, tmp_path, capsys):
    assert run(["data", "check", str(scores), "--human", "mqm", "--json"]) == 2
    result = json.loads(capsys.readouterr().out)
    assert result["n_errors"] == 1
    assert result["findings"][0]["message"].startswith("'chrF' lacks 1 cell")
    whole = tmp_path / "whole.csv"
    whole.write_text(LONG.replace("B,2,-1,\n", "B,2,-1,45\n"))
    assert run(["data", "check", str(whole), "--human", "mqm"]) == 0


def test_a_closed_pipe_is_no_traceback(scores):
    reader, writer = os.pipe()
    os.close(reader)  # as head does, once it has its lines
    command = [sys.executable, "-m", "steelyard", "data", "info", str(scores)]
    try:
        shown = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert (shown.returncode, shown.stderr) == (1, b"")
