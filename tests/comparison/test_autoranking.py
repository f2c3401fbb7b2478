"""``compare --by autorank``: the published tables of WMT25, and what has no number."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.stats.autorank import autorank

NAN = float("nan")
METRICS = ("CometKiwi-XL", "GEMBA-ESA-CMDA", "GEMBA-ESA-GPT4.1", "MetricX-24-Hybrid-XL",
           "XCOMET-XL")  # fmt: skip


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return {row["system"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("pair", ["en-is_IS", "cs-uk_UA", "ja-zh_CN"])
def test_the_tables_of_wmt25(shared, pair, capsys):
    folder = shared / "wmt25-autorank"
    arguments = ["compare", str(folder / f"{pair}.scores.csv.gz"), "--by", "autorank"]
    more = ["--score", ",".join(METRICS), "--bootstrap", "20", "--json", "--quiet"]
    assert run(arguments + more) == 0
    found = json.loads(capsys.readouterr().out)
    scores = found["aggregations"]["autorank"]["scores"]
    published = rows_of(folder / f"{pair}.published.csv")
    assert set(scores) == set(published)
    for system, row in published.items():
        for name, value in {"AutoRank": scores[system], **_of(found["means"], system)}.items():
            digits = len(row[name].partition(".")[2])
            assert f"{value:.{digits}f}" == row[name], (system, name)
    # The scores of the file have seven digits, what was expected is of all digits.
    expected = rows_of(folder / f"{pair}.expected.csv")
    for system, row in expected.items():
        assert scores[system] == pytest.approx(float(row["AutoRank"]), abs=1e-6)
    means = np.array([[float(row[name]) for row in expected.values()] for name in METRICS])
    ranks = [float(row["AutoRank"]) for row in expected.values()]
    np.testing.assert_allclose(autorank(means).ranks, ranks, atol=1e-7)  # of nine digits
    own = found["aggregations"]["autorank"]
    assert found["unit"]["name"] == "document"
    for system, (low, high) in own["ci"].items():
        assert 1 <= low <= high <= len(published)
        assert own["rank_ci"][system][0] <= own["rank_ci"][system][1]


def _of(means, system):
    return {name: means[name][system] for name in METRICS}


def a_set(scores, documents=None, lower=()):
    """Scores by name: systems x segments."""
    first = next(iter(scores.values()))
    n, s = np.shape(first)
    segments = sy.Segments(tuple(str(i) for i in range(s)), documents=documents)
    tables = {
        name: sy.ScoreTable(np.array(own, dtype=float), higher_is_better=name not in lower)
        for name, own in scores.items()
    }
    return sy.EvalSet(tuple("ABCDEFGH"[:n]), segments, tables)


def ranked(es, scores=("m", "o"), **options):
    return sy.compare_scores(es, list(scores), by="autorank", n_bootstrap=20, **options)


RNG = np.random.default_rng(0)
M, O = RNG.normal(size=(2, 4, 24)) + np.arange(4)[:, None]


def test_what_is_in_a_ranking():
    found = ranked(a_set({"m": M, "o": O}))
    own = found.aggregations["autorank"]
    expected = autorank(np.array([M.mean(axis=1), O.mean(axis=1)])).ranks
    np.testing.assert_allclose(own.scores, expected, atol=1e-12)
    assert found.ranking("autorank") == ["D", "C", "B", "A"]
    assert not own.higher_is_better
    assert own.pairwise[3, 0] == pytest.approx(own.scores[3] - own.scores[0])
    assert (found.unit.name, found.unit.n) == ("segment", 24)
    table = found.table()
    assert [column.key or column.name for column in table.columns][-2:] == ["scaled m", "scaled o"]
    assert found.provenance is not None
    assert "form:wmt25" in found.to_dict()["provenance"]["signature"]


def test_less_is_better_and_the_other_form():
    plain = ranked(a_set({"m": M, "o": O}), autorank="wmt24", intervals=None)
    turned = ranked(a_set({"m": M, "o": -O}, lower=("o",)), autorank="wmt24", intervals=None)
    own, other = (found.aggregations["autorank"] for found in (plain, turned))
    np.testing.assert_allclose(own.scores, other.scores)
    assert own.low is None
    np.testing.assert_allclose(list(turned.facts["means"]["o"].values()), -O.mean(axis=1))
    assert (plain.unit.name, plain.unit.n) == ("segment", 24)


def test_documents_are_drawn_where_ten_are_known():
    ten = ranked(a_set({"m": M, "o": O}, [f"d{i // 2:02}" for i in range(24)]))
    assert (ten.unit.name, ten.unit.n) == ("document", 12)
    few = [f"d{i // 6}" for i in range(24)]
    assert ranked(a_set({"m": M, "o": O}, few)).unit.name == "segment"
    assert ranked(a_set({"m": M, "o": O}, few), unit="document").unit.n == 4
    with pytest.raises(UsageError, match="documents of the segments are not known"):
        ranked(a_set({"m": M, "o": O}), unit="document")


def test_who_has_no_number_and_why():
    lacking = O.copy()
    lacking[1] = NAN
    lacking[2, 5] = NAN
    found = ranked(a_set({"m": M, "o": lacking}))
    own = found.to_dict()["aggregations"]["autorank"]
    assert own["scores"]["B"] is None
    assert own["ranks"]["B"] is None
    assert own["scores"]["A"] == 3  # of three systems
    said = " ".join(found.warnings)
    assert "1 system without 'o', hence without AutoRank: B" in said
    assert "missing scores are left out of the means: o 1" in said
    one = ranked(a_set({"m": M[:1], "o": O[:1]}))
    assert any("fewer than two systems" in text for text in one.warnings)
    assert np.isnan(one.aggregations["autorank"].scores).all()
    two = ranked(a_set({"m": M[:2], "o": O[:2]}))
    assert sorted(two.aggregations["autorank"].scores) == [1, 2]
    same = ranked(a_set({"m": M[[0, 0]], "o": O[[0, 0]]}))
    assert any("all systems have the same m, o: there is no AutoRank" in t for t in same.warnings)
    flat = ranked(a_set({"m": M, "o": np.ones_like(O)}))
    assert any("the same o: counted as 0 for all" in text for text in flat.warnings)


def test_scores_of_systems_only_have_no_intervals(tmp_path, capsys):
    path = tmp_path / "systems.csv"
    path.write_text("system,m,o\nA,1,5\nB,2,9\nC,4,7\n")
    assert run(["compare", str(path), "--by", "autorank", "--autorank", "wmt24", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = found["aggregations"]["autorank"]
    assert own["scores"] == {"A": 3, "B": pytest.approx((1 + 2 * 2 / 3 + 1) / 2), "C": 1.5}
    assert own["ci"] is None


def test_what_autorank_does_not_go_with(tmp_path, capsys):
    es = a_set({"m": M, "o": O})
    with pytest.raises(UsageError, match="stands alone"):
        sy.compare_scores(es, ["m", "o"], by=["autorank", "mean"])
    with pytest.raises(UsageError, match="compare_scores takes them"):
        sy.compare(es, "m", by="autorank")
    path = tmp_path / "scores.csv"
    sy.save(es, path)
    arguments = ["compare", str(path), "--by", "autorank", "--bootstrap", "10"]
    assert run([*arguments, "--tests", "t"]) == 0
    assert "--tests" in capsys.readouterr().err
    assert run([*arguments, "--score", "m"]) == 0  # one score makes a ranking, too
    assert "autorank" in capsys.readouterr().out
