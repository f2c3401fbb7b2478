"""``steelyard human`` as a user runs it."""

from __future__ import annotations

import csv
import json
import math
from typing import Any

import numpy as np
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


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
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


def test_out_of_rankings_is_a_table_of_systems(tmp_path, capsys):
    rankings, metric, out = (tmp_path / name for name in ("r.csv", "m.csv", "s.csv"))
    rankings.write_text(
        "segmentId,judgeId,system1Id,system2Id,system3Id,system1rank,system2rank,system3rank\n"
        "1,j,A,B,C,1,2,3\n2,j,A,B,C,2,1,3\n3,j,A,B,C,1,3,2\n4,j,A,B,C,1,2,3\n"
    )
    metric.write_text("system,chrF\nA,3\nB,2\nC,1\n")
    arguments = [str(rankings), "--protocol", "rr", "--bootstrap", "20"]
    assert run(["human", *arguments, "--out", str(out)]) == 0
    capsys.readouterr()
    options = ["--human", "bt", "--metrics", "chrF", "--level", "sys", "--by", "pa", "--json"]
    assert run(["meta", str(out), str(metric), *options]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["value"] == 1.0


@pytest.mark.thorough
def test_out_with_other_suffixes(tmp_path, capsys, quick):
    for suffix, word in (("md", "| rank |"), ("tex", "\\toprule"), ("html", "<table>")):
        out = tmp_path / f"x.{suffix}"
        assert run(["human", ERRORS, "--protocol", "mqm", "--out", str(out), *quick]) == 0
        assert word in out.read_text()
    out = tmp_path / "x.json"
    assert run(["human", ERRORS, "--protocol", "mqm", "--out", str(out), *quick]) == 0
    assert json.loads(out.read_text())["protocol"] == "mqm"
    assert run(["human", ERRORS, "--protocol", "mqm", "--out", str(tmp_path / "x.doc")]) == 2
    assert "can't write '.doc'" in capsys.readouterr().err


def test_mqm_of_the_demo(capsys, quick):
    result = json_of(capsys, ERRORS, "--protocol", "mqm", *quick)
    profile = {row.pop("system"): row for row in result["profile"]}
    for system in result["systems"]:
        row = profile[system["system"]]
        cost = sum(value for name, value in row.items() if name != "errors")
        assert -cost == pytest.approx(system["score"])
    capped = json_of(capsys, ERRORS, "--protocol", "mqm", "--cap", "5", *quick)
    assert capped["systems"][-1]["score"] > result["systems"][-1]["score"]


def test_own_weights(tmp_path, capsys, quick):
    table = tmp_path / "w.toml"
    table.write_text("[severity]\nmajor = 1\nminor = 1\n")
    arguments = [ERRORS, "--protocol", "mqm", *quick]
    flat = json_of(capsys, *arguments, "--weights", str(table))
    for row in flat["profile"]:
        assert row["errors"] == pytest.approx(-next(
            s["score"] for s in flat["systems"] if s["system"] == row["system"]))  # fmt: skip
    assert flat["weights"]["weights"] == "w.toml"


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


@pytest.mark.parametrize(("rows", "protocol"), [
    ("segmentId,judgeId,system1Id,system1rank,system2Id,system2rank\n1,a,A,1,B,2\n", "rr"),
    ("better,worse,segment\nA,B,1\nB,A,2\nA,B,3\n", "darr"),
    ("rater,system,segment,errors,value\na,A,1,[],90\na,B,1,[],80\na,A,2,[],70\n", "esa"),
])  # fmt: skip
def test_rankings_pairs_and_spans_tell_their_protocol(tmp_path, capsys, rows, protocol):
    path = tmp_path / "judged.csv"
    path.write_text(rows)
    run(["human", str(path)])
    assert f"warning: read as protocol {protocol} (" in capsys.readouterr().err


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


def test_text_output_is_complete_and_plain(capsys, quick):
    assert run(["human", RATINGS, "--protocol", "da", "--details", *quick]) == 0
    captured = capsys.readouterr()
    for word in ("da_z ↑", "Raters", "verdict", "Krippendorff's alpha (interval)", "rule wmt"):
        assert word in captured.out
    assert captured.err.count("warning: ") == 2


@pytest.mark.parametrize(("rule", "correction"), [("wmt", "holm"), ("none", "none")])
def test_rules(capsys, quick, rule, correction):
    result = json_of(
        capsys, RATINGS, "--protocol", "da", "--clusters", rule, "--correction", correction, *quick
    )
    if rule == "none":
        assert result["clusters"] is None
        assert result["systems"][0]["rank_from"] is None
    else:
        assert result["clusters"]["correction"] == correction
        assert result["systems"][0]["rank_from"] == 1


def test_the_same_seed_gives_the_same_bytes(capsys):
    outputs = []
    for _ in range(2):
        assert run(["human", RATINGS, "--protocol", "da", "--seed", "5", "--json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


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


def test_demo_scores_follow_what_was_simulated(capsys, quick):
    es = embedded.demo_set()
    truth = dict(zip(es.systems, es["mqm"].system_means(), strict=True))
    for protocol, path in (("da", RATINGS), ("mqm", ERRORS)):
        found = json_of(capsys, path, "--protocol", protocol, *quick)["systems"]
        pairs = [(truth[s["system"]], s["score"]) for s in found]
        r = np.corrcoef(np.array(pairs).T)[0, 1]
        assert r > 0.7
        assert not any(math.isnan(s["score"]) for s in found)


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


def test_deeply_nested_weights_are_one_line(tmp_path, capsys):
    ratings, weights = tmp_path / "mqm.tsv", tmp_path / "weights.toml"
    ratings.write_text("rater\tsystem\tseg_id\tcategory\tseverity\nr1\tA\t1\tstyle\tminor\n")
    weights.write_text("x = " + "[" * 3000)
    assert run(["human", str(ratings), "--protocol", "mqm", "--weights", str(weights)]) == 2
    assert capsys.readouterr().err == f"error: {weights}: TOML nested too deeply\n"
