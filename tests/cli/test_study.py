"""The command ``study``: what it prints, and what it refuses."""

from __future__ import annotations

import json

import pytest

from steelyard.cli.main import run
from steelyard.demo import embedded

SCORES = str(embedded.SCORES)
QUICK = ["--types", "1,2", "--outliers", "0,0.1", "--systems", "3", "--segments", "10",
         "--repeats", "3"]  # fmt: skip


def output(capsys, *arguments: str) -> tuple[int, str, str]:
    code = run(list(arguments))
    found = capsys.readouterr()
    return code, found.out, found.err


def test_simulation_json(capsys, tmp_path):
    path = tmp_path / "curves.csv"
    code, out, err = output(
        capsys, "study", "simulation", *QUICK, "--json", "--quiet", "--out", str(path)
    )
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["study"] == "simulation"
    assert result["n_sets"] == 12
    assert [curve["name"] for curve in result["curves"]] == list("abcdefgh")
    line = result["curves"][0]["lines"][0]
    assert set(line) == {"name", "y", "low", "high", "n"}
    assert result["warnings"] == []
    assert path.read_text(encoding="utf-8").startswith("panel,data sets with,against,x,mean,")


def test_each_value_of_a_column_is_a_set(capsys):
    code, out, _ = output(
        capsys, "study", "disagreement", SCORES, "--each", "domain", "--score", "learned-refA",
        "--sizes", "10", "--json",
    )  # fmt: skip
    assert code == 0
    result = json.loads(out)
    assert result["n_setups"] == 4
    names = [row["set"] for row in result["tables"]["sets"]]
    assert sorted(names) == ["manuals", "news", "social", "speech"]
    assert [curve["name"] for curve in result["curves"]] == ["sizes", "scores", "sets"]
    assert [row["set"] for row in result["tables"]["setups"]] == names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["study", "simulation", "--types", "one"], "'one' is not a list of whole numbers"),
        (["study", "simulation", "--outliers", "2"], "shares of outliers"),
        (["study", "disagreement"], "no input"),
        (["study", "disagreement", SCORES, "--score", "learnd"], "did you mean"),
        (["study", "disagreement", SCORES, "--by", "mean"], "at least two rankings"),
        (["study", "disagreement", SCORES, "--each", "dmoain"], "did you mean 'domain'"),
        (["study", "system"], "no command 'system'"),
        (["study", "systems"], "no input"),
        (["study", "segments", SCORES, "--human", "mqm", "--draws", "5"], "draws"),
        (["study", "distinct", SCORES], "name the human score"),
    ],
)
def test_bad_usage_is_one_line_and_writes_nothing(capsys, arguments, message, tmp_path):
    code, out, err = output(capsys, *arguments, "--out", str(tmp_path / "x.csv"))
    assert list(tmp_path.iterdir()) == []
    assert code == 2
    assert out == ""
    assert message in err
    assert err.splitlines()[-1].startswith("error: ")


def test_a_figure_of_unknown_curves_is_refused(capsys, tmp_path):
    arguments = ["study", "simulation", *QUICK, "--plot", "z", "--out", str(tmp_path / "x.svg")]
    code, _, err = output(capsys, *arguments)
    assert code == 2
    assert "no curve 'z' in this study" in err
    assert list(tmp_path.iterdir()) == []
