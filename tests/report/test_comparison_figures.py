"""Figures of compare: they hold the numbers of the result, and no more data than needed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import steelyard as sy
from steelyard.comparison.run import compare
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.report.figures import comparison as cf
from steelyard.report.figures import pair as pf
from steelyard.report.figures import vega
from steelyard.report.figures.vega import label
from steelyard.stats.resampling.bootstrap import rank_shares

pytest.importorskip("vl_convert")
ALL = ["mean", "median", "bt", "elo", "trueskill"]

# Figure 1 of the paper on paired evaluation: the same mean, B wins four of five, A's median is
# higher.
A = np.array([10.0, 11, 12, 13, 4])
B = np.array([11.0, 11.5, 12.5, 14, 1])


@pytest.fixture(scope="module")
def demo():
    es = sy.demo_set()
    found = compare(es, "learned-refA", n_bootstrap=60)
    return found, cf.scores_of(es, found)


def little(names, scores, **options):
    ids = tuple(str(i) for i in range(scores.shape[1]))
    es = EvalSet(tuple(sorted(names)), Segments(ids), {"x": ScoreTable(scores, "metric")})
    return compare(es, "x", **{"n_bootstrap": 20, **options})


def test_forest_holds_every_ranking(look, demo):
    found, _ = demo
    got = look.rows(cf.forest(found), "name", "value", "low")
    assert {row["name"] for row in got} == set(found.systems)
    for by, ranked in found.aggregations.items():
        for i, system in enumerate(found.systems):
            want = [float(f"{x[i]:.6g}") for x in (ranked.scores, ranked.low, ranked.high)]
            hits = [r for r in got if [r["value"], r["low"], r["high"]] == want]
            assert any(r["name"] == system for r in hits), (by, system)


def test_pairwise_cells_and_stars(look, demo):
    found, _ = demo
    cells = look.rows(cf.pairwise(found), "row", "column", "value", "text")
    n = len(found.systems)
    assert len({(c["row"], c["column"]) for c in cells}) == n * (n - 1)
    place = {name: i for i, name in enumerate(found.systems)}
    p = found.tests["sign"].p_adjusted
    for c in cells:
        i, j = place[c["row"]], place[c["column"]]
        assert c["value"] == pytest.approx(found.aggregations["bt"].pairwise[i, j], rel=1e-5)
        assert c["text"].endswith("*") == (p[i, j] < found.alpha)
    gaps = look.rows(cf.pairwise(found, "mean"), "row", "column", "text")
    assert {g["text"][0] for g in gaps} <= {"+", "-"}
    with pytest.raises(UsageError, match="no ranking 'elo'"):
        cf.pairwise(found, "elo")


def test_density_decides_as_the_paper_does(look):
    chart = pf.density(np.stack([A, B]), ("A", "B"))
    assert sum(row["n"] for row in look.rows(chart, "n", "x", "y")) == 5
    area = look.rows(chart, "y2", "x", "y")
    shade = [row for row in area if "x2" not in row]
    assert {row["y2"] for row in shade} == {14.0}  # up to the top: B wins more segments
    points = {(r["x"], r["y"]) for r in look.rows(chart, "x", "y") if {*r} - {"tip"} == {"x", "y"}}
    assert {(10.0, 10.0), (11.0, 11.5)} <= points  # the means meet on the diagonal
    text = " ".join(chart["title"]["subtitle"])
    assert "B is higher on 4 segments, A on 1, 0 ties" in text
    assert "by mean: neither, by median: B, by bt: B" in text
    turned = pf.density(np.stack([B, A]), ("B", "A"))
    down = [row for row in look.rows(turned, "y2", "x", "y") if "x2" not in row]
    assert {row["y2"] for row in down} == {1.0}


def test_no_half_plane_is_shaded_where_both_win_alike(look):
    chart = pf.density(np.array([[1.0, 2, 3], [2, 1, 3]]), ("A", "B"))
    assert not [row for row in look.rows(chart, "y2", "x", "y") if "x2" not in row]


@given(arrays(float, 40, elements=st.sampled_from([0.0, 1.0, -1.0, -2.0, 5.5, 1e-3])))
def test_differences_count_every_segment_once(gap):
    bars = pf.difference_bars(gap, ("win", "tie", "loss"))
    counts = [sum(b["n"] for b in bars if b["kind"] == kind) for kind in ("win", "tie", "loss")]
    assert counts == [(gap > 0).sum(), (gap == 0).sum(), (gap < 0).sum()]
    for bar in bars:
        assert bar["top"] - bar["base"] == bar["n"]
        assert (bar["kind"] == "tie") <= (abs(bar["from"] + bar["to"]) < 1e-9)


def test_differences_leave_out_what_one_of_them_lacks(look):
    a, b = np.array([1.0, 2, np.nan, 4]), np.array([1.0, 3, 3, np.nan])
    bars = look.rows(pf.differences(np.stack([a, b]), ("A", "B")), "kind")
    assert [(r["kind"], r["n"]) for r in bars] == [("B higher", 1), ("tie", 1)]
    with pytest.raises(UsageError, match="share no segment"):
        pf.differences(np.stack([a, b * np.nan]), ("A", "B"))


def test_wins_are_shares_of_all_comparisons(look, demo):
    found, scores = demo
    bars = look.rows(cf.draw("wins", found, scores), "system", "kind", "n", "from")
    for i, system in enumerate(found.systems):
        gap = scores[i] - np.delete(scores, i, axis=0)
        want = {"wins": (gap > 0).sum(), "ties": (gap == 0).sum(), "losses": (gap < 0).sum()}
        assert {b["kind"]: b["n"] for b in bars if b["system"] == system} == want


def shares_by_hand(places):
    n = places.shape[1]
    found = np.full((n, n), np.nan)
    for i in range(n):
        known = [row[i] for row in places if not np.isnan(row[i])]
        for k in range(n):
            if known:
                found[i, k] = sum(place == k + 1 for place in known) / len(known)
    return found


@given(arrays(float, (7, 4), elements=st.sampled_from([1.0, 2.0, 3.0, 4.0, np.nan])))
def test_rank_shares_against_counting(places):
    np.testing.assert_allclose(rank_shares(places), shares_by_hand(places))


def test_ranks_show_the_shares(look, demo):
    found, _ = demo
    cells = look.rows(cf.ranks(found), "row", "column", "value")
    shares = found.aggregations["mean"].rank_shares
    assert shares.sum(axis=1) == pytest.approx(1)
    best = found.ranking("mean")[0]
    want = shares[found.systems.index(best), 0]
    assert any(c["row"] == best and c["column"] == "1"
               and c["value"] == pytest.approx(want, rel=1e-5) for c in cells)  # fmt: skip
    without = compare(sy.demo_set(), "learned-refA", by="mean", intervals=None)
    with pytest.raises(UsageError, match="needs resamples"):
        cf.ranks(without)


def test_disagreement_shows_which_systems_move(look):
    found = little(("A", "B"), np.stack([A, B + 0.1]))  # the mean, too, prefers B by a little
    assert {by: found.ranking(by)[0] for by in found.aggregations} == {
        "mean": "B", "median": "B", "bt": "B"}  # fmt: skip
    assert {row["colour"] for row in look.rows(cf.disagreement(found), "by", "place")} == {
        "#BBBBBB"
    }
    found = little(("A", "B"), np.stack([A, B - 0.1]))
    assert vega.RED in {row["colour"] for row in look.rows(cf.disagreement(found), "by", "place")}
    places = [ranked.ranks for ranked in found.aggregations.values()]
    assert cf.odd_pairs(places, found.systems) == [("A", "B")]
    with pytest.raises(UsageError, match="two rankings"):
        cf.disagreement(little(("A", "B"), np.stack([A, B]), by="bt"))


def test_data_stays_lean():
    rng = np.random.default_rng(0)
    a = rng.normal(size=100_000)
    b = a + rng.normal(size=a.size)
    for chart in (
        pf.density(np.stack([a, b]), ("A", "B")),
        pf.differences(np.stack([a, b]), ("A", "B")),
    ):
        assert len(json.dumps(chart)) < 250_000


@pytest.mark.parametrize("name", cf.FIGURES)
def test_hostile_names_are_data(look, name):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(len(look.hostile), 30))
    found = little(look.hostile, scores)
    chart = cf.draw(name, found, scores)
    look.inert(chart)
    if name in ("forest", "density"):  # drawing is slow, and these two have all ways of naming
        tags, text = look.drawn(chart)
        assert not tags & {"script", "a", "image", "foreignObject"}
        shown = look.hostile if name == "forest" else found.ranking("mean")[:2]
        for word in shown:
            assert label(word) in text


def test_what_can_not_be_drawn_is_said(demo):
    found, scores = demo
    with pytest.raises(UsageError, match="no figure 'forrest'; did you mean 'forest'"):
        cf.draw("forrest", found)
    with pytest.raises(UsageError, match="needs scores of segments"):
        cf.draw("density", found)
    with pytest.raises(UsageError, match="no system 'Dolomit'; did you mean 'Dolomite'"):
        cf.draw("density", found, scores, ("Dolomit", "Amber"))
    with pytest.raises(UsageError, match="needs two systems"):
        cf.draw("density", little(("A",), A[None]), A[None])
    with pytest.raises(UsageError, match="of two systems"):
        pf.draw_pair("forest", scores[:2], ("A", "B"))


def test_many_systems_are_cut_and_said_so(look):
    rng = np.random.default_rng(2)
    names = tuple(f"s{i:03d}" for i in range(70))
    found = little(names, rng.normal(size=(70, 6)), by=["mean"], n_bootstrap=10)
    chart = cf.forest(found)
    assert "the first 60 of 70 systems" in json.dumps(chart["title"])
    assert len(look.rows(chart, "name", "value")) == 60


def test_figures_say_which_they_are(look):
    values = np.random.default_rng(1).normal(size=(3, 40)) + np.arange(3.0)[:, None] / 2
    found = little("ABC", values, by=ALL, tests=["t", "sign"], intervals=None)
    joint, alone = cf.draw("pairwise", found), cf.draw("pairwise-alone", found)
    for chart, said in ((joint, "one fit of all systems"), (alone, "each pair by itself")):
        assert any(said in line for line in chart["title"]["subtitle"])
    bt = found.aggregations["bt"]
    assert bt.alone is not None
    for chart, matrix in ((joint, bt.pairwise), (alone, bt.alone)):
        for cell in look.rows(chart, "row", "column", "value"):
            i, j = (found.systems.index(cell[side]) for side in ("row", "column"))
            assert cell["value"] == pytest.approx(matrix[i, j], rel=1e-5)
    averages = little("ABC", values, by="mean", intervals=None)
    with pytest.raises(UsageError, match="needs a ranking by bt, elo or trueskill"):
        cf.draw("pairwise-alone", averages)
