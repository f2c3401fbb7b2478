"""The signature of a result tells two different runs apart, whichever option differs."""

from __future__ import annotations

import json

import pytest

import steelyard as sy
from steelyard.cli.main import run


@pytest.fixture(scope="module")
def scores(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("signed") / "scores.parquet"
    es = sy.demo_set()
    few = es.select(
        systems=("Amber", "Basalt", "Dolomite", "Kaolin"), segments=es.segments.ids[:60]
    )
    sy.save(few, path)
    return str(path)


def signature(capsys, *command: str) -> str:
    assert run([*command, "--json", "--quiet"]) == 0
    return str(json.loads(capsys.readouterr().out)["provenance"]["signature"])


META = ["--human", "mqm", "--metrics", "learned-refA,chars-refA"]
FEW = ["--bootstrap", "20"]


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["meta", *META, "--by", "pearson", *FEW],
         [["--level", "seg"], ["--metrics", "chars-refA"], ["--sees", "ref"], ["--common"],
          ["--drop-systems", "Basalt"], ["--domain", "news"],
          ["--keep-references"], ["--bootstrap", "30"]]),
        (["study", "ties", "--human", "da", "--metrics", "chars-refA", *FEW],
         [["--bootstrap", "30"], ["--resamples", "99"], ["--metrics", "learned-refA"],
          ["--alternative", "two-sided"], ["--systems", "Basalt,Amber,Dolomite"]]),
        (["compare", "--score", "learned-refA", "--by", "mean", *FEW],
         [["--tolerance", "0.5"], ["--alpha", "0.01"], ["--drop-systems", "Basalt"]]),
    ],
)  # fmt: skip
def test_an_option_changes_the_signature(command, options, scores, capsys):
    first = signature(capsys, *command, scores)
    assert signature(capsys, *command, scores) == first
    others = [signature(capsys, *command, scores, *more) for more in options]
    assert len({first, *others}) == 1 + len(options)


def test_sets_by_a_column_share_what_they_were_read_with(tmp_path, capsys):
    rows = ["year,system,segment,m"]
    rows += [f"{y},{s},{i},{(i * 7 + ord(s)) % 5}" for y in (8, 9) for s in "AB" for i in range(9)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(rows) + "\n")
    command = ["study", "disagreement", str(path), "--score", "m", "--sizes", "5", "--draws", "2"]
    told = signature(capsys, *command, "--each", "year")
    assert "each:year" in told
    assert "where" not in told
