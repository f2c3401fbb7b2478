"""``steelyard human`` as a user runs it."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from steelyard.cli.main import run
from steelyard.demo import embedded

RATINGS = str(embedded.RATINGS)
ERRORS = str(embedded.ERRORS)
SCORES = str(embedded.SCORES)


def json_of(capsys, *arguments: str) -> dict[str, Any]:
    assert run(["human", *arguments, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.fixture(scope="module")
def quick() -> list[str]:
    return ["--bootstrap", "20"]


def test_the_contract_of_json(capsys, quick):
    result = json_of(capsys, RATINGS, "--protocol", "da", *quick)
    assert result["protocol"] == "da"
    assert list(result["systems"][0])[:10] == [
        "system", "score", "raw", "rank", "rank_from", "rank_to", "range_from", "range_to", "wins",
        "n_segments"]  # fmt: skip
    assert [s["score"] for s in result["systems"]] == sorted(
        (s["score"] for s in result["systems"]), reverse=True
    )
    assert len(result["raters"]) == 12
    assert result["clusters"]["rule"] == "wmt"
    assert any("rater-04" in warning for warning in result["warnings"])
    assert result["provenance"]["signature"].startswith("steelyard ")


def test_the_demo_raters_that_should_be_caught_are(capsys, quick):
    result = json_of(capsys, RATINGS, "--protocol", "da", "--quality-control", *quick)
    assert result["removed_raters"] == ["rater-04", "rater-08", "rater-11"]
    reasons = {r["rater"]: r["reason"] for r in result["raters"]}
    assert "gives 100 to everything" in reasons["rater-04"]
    assert "bad references are not rated lower" in reasons["rater-08"]
    assert "s per rating" in reasons["rater-11"]


@pytest.mark.parametrize("suffix", ["parquet", "csv.gz"])
def test_out_is_what_meta_reads(tmp_path, capsys, quick, suffix):
    out = tmp_path / f"human.{suffix}"
    arguments = [RATINGS, "--protocol", "da", "--out", str(out), *quick]
    human = json_of(capsys, *arguments)
    options = ["--human", "da_z", "--kind", "human:mqm,da", "--by", "pearson", "--json"]
    command = ["meta", str(out), str(embedded.SCORES), *options, "--intervals", "none"]
    assert run(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["human"], result["n_systems"]) == ("da_z", 12)
    assert result["n_segments"] == 150
    assert not {"da_raw", "da_z"} & {row["metric"] for row in result["results"]}
    # The system scores that meta uses are those of the ranking.
    from steelyard import load

    means = load(out, human="da_z")["da_z"].system_means()
    systems = load(out, human="da_z").systems
    scores = {s["system"]: s["score"] for s in human["systems"]}
    assert dict(zip(systems, means, strict=True)) == pytest.approx(scores, abs=1e-12)


@pytest.mark.parametrize(("path", "protocol", "why"), [
    (RATINGS, "da", "scores of raters"), (ERRORS, "mqm", "marked errors"),
])  # fmt: skip
def test_without_a_protocol_the_ratings_tell_it(capsys, quick, path, protocol, why):
    assert run(["human", path, "--json", *quick]) == 0
    told = json.loads(capsys.readouterr().out)
    said = f"read as protocol {protocol} ({why}); --protocol NAME changes it"
    assert told["warnings"].pop(0) == said
    given = json_of(capsys, path, "--protocol", protocol, *quick)
    assert told == given


def test_darr_pairs_and_figure(tmp_path, capsys, quick):
    pytest.importorskip("vl_convert")
    figure, pairs = tmp_path / "ranking.svg", tmp_path / "pairs.csv"
    arguments = [RATINGS, "--protocol", "darr", *quick]
    result = json_of(capsys, *arguments, "--out", str(figure), "--pairs", str(pairs))
    assert figure.read_text().startswith("<svg")
    with pairs.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == result["pairs"][0]["kept"]
    assert {row["outcome"] for row in rows} == {"left"}


def test_usage_errors(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("rater,system,segment,raw\nr,A,1,101\n")
    for arguments, word in (
        ([str(path), "--protocol", "da"], "x.csv:2: column 'raw': 101"),
        ([str(path), "--protocol", "dda"], "dda"),
        ([str(path)], "x.csv:2: column 'raw': 101"),
        ([SCORES], "--protocol NAME is missing, and the inputs do not show it: one of da, mqm"),
        (["--protocol", "da"], "no input"),
        ([str(path), "--protocol", "da", "--scale", "5"], "--scale"),
        ([RATINGS, "--protocol", "da", "--pairs", str(tmp_path / "p.csv")], "--pairs"),
    ):
        assert run(["human", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.splitlines()[-1].startswith("error: ")
        assert word in error
    assert not (tmp_path / "p.csv").exists()


# The demo's raters


def test_a_table_of_weights_need_not_say_what_no_error_costs(tmp_path, capsys):
    ratings, weights = tmp_path / "mqm.tsv", tmp_path / "weights.toml"
    ratings.write_text(
        "rater\tsystem\tseg_id\tcategory\tseverity\n"
        "r1\tA\t1\tno-error\tno-error\nr1\tB\t1\tstyle\tminor\nr1\tC\t1\tNo-error\t-\n"
    )
    weights.write_text("[severity]\nminor = 2\n")
    command = ["human", str(ratings), "--protocol", "mqm", "--weights", str(weights), "--json"]
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)["systems"]
    assert {row["system"]: row["score"] for row in found} == {"A": 0, "B": -2, "C": 0}
