"""Figures of meta: what they show is what was found, readable at 43 metrics."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.metaevaluation.benchmark.run import BenchmarkResult, Standing
from steelyard.metaevaluation.results import Significance
from steelyard.metaevaluation.run import meta_evaluate, pair_preferences
from steelyard.report.figures import meta as mf
from steelyard.report.figures.panels import boundaries, place_labels
from steelyard.report.figures.vega import label
from steelyard.stats.metametrics.accuracy import binarised_agreement, soft_agreement

pytest.importorskip("vl_convert")
METRICS = ["learned-refA", "random-src", "chars-refA", "judge-1to5-src"]


@pytest.fixture(scope="module")
def given_demo():
    es = sy.demo_set()
    found = meta_evaluate(
        es, "mqm", metrics=METRICS, n_bootstrap=50, significance=sy.metric_test(n_resamples=200)
    )
    return mf.MetaInput(found, es)


def test_forest_holds_values_intervals_and_clusters(look, given_demo):
    chart = mf.draw("forest", given_demo)
    got = look.rows(chart, "name", "value", "low", "group")
    for r in given_demo.result.results:
        want = {"name": r.metric, "value": float(f"{r.value:.6g}"), "group": r.rank}
        assert any(want.items() <= row.items() for row in got)


def test_preferences_are_those_of_the_values(given_demo):
    found, es = given_demo.result, given_demo.es
    for metric in METRICS:
        systems, human, own = pair_preferences(es, "mqm", metric)
        assert systems == found.systems
        value = soft_agreement(human, own).value
        assert value == pytest.approx(found.values("spa")[metric], abs=1e-12)


def test_the_last_panel_averages_to_the_meta_metrics(look, given_demo):
    found = given_demo.result
    metric = given_demo.best[0]
    _, human, own = pair_preferences(given_demo.es, "mqm", metric)
    chart = mf.draw("pvalues", given_demo)
    panels = [panel["data"]["values"] for row in chart["vconcat"] for panel in row["hconcat"]]
    means = {round(float(np.mean([row["value"] for row in rows])), 4) for rows in panels}
    assert round(soft_agreement(human, own).value, 4) in means
    assert round(binarised_agreement(human, own).value, 4) in means
    n = len(found.systems)
    assert all(len(rows) == n * (n - 1) // 2 for rows in panels)
    text = json.dumps(chart)
    assert f"SPA {found.values('spa')[metric]:.3f}" in text


def test_people_agree_with_themselves(look):
    p = np.array([[0.5, 0.1, 0.0], [0.9, 0.5, 0.3], [1.0, 0.7, 0.5]])
    cells = look.rows(mf.pvalues(["A", "B", "C"], p, p), "row", "column", "value")
    shown = {(c["row"], c["column"], c["value"]) for c in cells}
    assert ("A", "B", 0.9) in shown  # A is better: one minus its p
    assert {v for _, _, v in shown} == {0.9, 0.7, 1.0}


def test_comparison_at_43_metrics(look):
    names = tuple(f"some-long-metric-name-{i}-refA" for i in range(43))
    p = np.full((43, 43), 0.5)
    p[:10, 10:] = 0.001
    p[10:20, 20:] = 0.03
    test = Significance(names, p, "inputs", 100, "greater")
    standings = {
        name: (0.9 - i / 100, 1 if i < 10 else 2 if i < 20 else 3) for i, name in enumerate(names)
    }
    chart = mf.comparison(test, standings, by="spa")
    cells = look.rows(chart, "row", "column", "level")
    assert len(cells) == 43 * 42 // 2
    levels = [sum(c["level"] == level for c in cells) for level in ("p < 0.01", "p < 0.05")]
    assert levels == [10 * 33, 10 * 23]
    spec = chart
    assert spec["width"] / 43 >= 14  # a label needs that much
    assert "560 of 903 pairs differ at 0.05" in json.dumps(spec["title"])
    assert "3 clusters" in json.dumps(spec["title"])
    lines = look.rows(chart, "top", "right")
    assert [line["column"] for line in lines] == [names[10], names[20]]


def test_comparison_follows_the_corrected_p(look):
    raw, corrected = np.full((2, 2), 0.01), np.full((2, 2), 0.2)
    test = Significance(("a", "b"), raw, "inputs", 9, "greater", corrected, "holm")
    cells = look.rows(mf.comparison(test, {"a": (0.9, 1), "b": (0.8, 1)}), "level")
    assert [c["level"] for c in cells] == ["not significant"]


def test_side_by_side_marks_equal_values_and_counts_them(look):
    es = sy.demo_set()
    metrics = [*METRICS, "learned-twin-refA", "lengthy-src"]  # two tie under pa, none under spa
    found = meta_evaluate(
        es,
        "mqm",
        by=["pa", "spa"],
        metrics=metrics,
        intervals=None,
        significance=sy.metric_test(n_resamples=99),
    )
    values = found.values("pa")
    ties = {m for m in values if sum(abs(values[m] - v) < 1e-9 for v in values.values()) > 1}
    assert len(ties) == 3
    chart = mf.draw("side-by-side", mf.MetaInput(found))
    look.inert(chart)
    spec = chart
    left, right = spec["hconcat"]
    assert left["title"]["text"].startswith("pa: 4 distinct values, ")
    assert right["title"]["text"].startswith("spa: 6 distinct values, ")
    for panel, marked in ((left, ties), (right, set())):
        rows = [r for layer in panel["layer"] if layer["mark"]["type"] == "text"
                for r in layer["data"]["values"]]  # fmt: skip
        assert {r["column"] for r in rows} == marked
    for by, panel in (("pa", left), ("spa", right)):
        p = found.significance[by].p[np.triu_indices(6, 1)]
        assert f"{int((p < 0.05).sum())} of 15 pairs differ at 0.05" in panel["title"]["text"]


def test_scatter_is_as_lean_as_its_grid(look, given_demo):
    chart = mf.draw("scatter", given_demo)
    grid = look.rows(chart, "n")
    es, metric = given_demo.es, given_demo.best[0]
    both = np.isfinite(es["mqm"].values) & np.isfinite(es[metric].values)
    assert sum(cell["n"] for cell in chart["hconcat"][1]["data"]["values"]) == both.sum()
    assert len(grid) <= 1600
    assert {row["name"] for row in look.rows(chart, "name")} == set(given_demo.result.systems)


pixels = st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), min_size=1, max_size=30)


@given(pixels)
def test_labels_do_not_collide(points):
    x, y = np.array(points).T
    names = [f"metric-{i}" for i in range(len(x))]
    placed = place_labels(x, y, names, 300, 200)
    boxes = []
    for name, dx, dy, align in placed:
        i = names.index(name)
        size = 6.2 * len(name)
        left = x[i] + dx - {"left": 0, "right": size, "center": size / 2}[align]
        boxes.append((left, y[i] + dy - 6.5, left + size, y[i] + dy + 6.5))
        assert left >= 0
        assert left + size <= 300
    for k, one in enumerate(boxes):
        for other in boxes[:k]:
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] or other[3] <= one[1]


@given(st.lists(st.integers(1, 3), max_size=12))
def test_boundaries_cut_into_equal_groups(groups):
    cuts = [0, *boundaries(sorted(groups)), len(groups)]
    runs = [set(sorted(groups)[a:b]) for a, b in pairwise(cuts)]
    assert sum(len(run) for run in runs) == len(set(groups))


@pytest.fixture(scope="module")
def hostile(look):
    rng = np.random.default_rng(1)
    names = look.hostile
    base = rng.normal(size=(len(names), 25))
    tables = {m: ScoreTable(base + rng.normal(size=base.shape), "metric") for m in names}
    people = ScoreTable(base, "human")
    segments = Segments(tuple(map(str, range(25))))
    es = EvalSet(tuple(sorted(names)), segments, {"<b>people</b>": people, **tables})
    found = meta_evaluate(
        es,
        "<b>people</b>",
        by=["spa", "pa"],
        intervals=None,
        significance=sy.metric_test(n_resamples=20),
    )
    return es, found


@pytest.mark.parametrize("name", mf.FIGURES)
def test_hostile_names_are_data(look, hostile, name):
    es, found = hostile
    names = look.hostile
    chart = mf.draw(name, mf.MetaInput(found, es, ("constructor",) if name == "scatter" else ()))
    look.inert(chart)
    if name in ("comparison", "scatter"):  # drawing is slow
        tags, text = look.drawn(chart)
        assert not tags & {"script", "a", "image", "foreignObject"}
        assert "<b>people</b>" in text or name == "comparison"
        assert label("constructor") in text
        assert name == "scatter" or all(label(word) in text for word in names)


def test_what_can_not_be_drawn_is_said(given_demo):
    found = given_demo.result
    with pytest.raises(UsageError, match="no figure 'scater'; did you mean 'scatter'"):
        mf.draw("scater", given_demo)
    with pytest.raises(UsageError, match="needs scores of segments"):
        mf.draw("scatter", mf.MetaInput(found))
    with pytest.raises(UsageError, match="no metric 'learned'"):
        mf.draw("scatter", mf.MetaInput(found, given_demo.es, ("learned",)))
    plain = meta_evaluate(given_demo.es, "mqm", by="pa", metrics=METRICS, intervals=None)
    for name in ("comparison", "side-by-side"):
        with pytest.raises(UsageError, match=f"'{name}' shows tests of metrics: add signif"):
            mf.draw(name, mf.MetaInput(plain))
    one = replace(found, significance={"spa": found.significance["spa"]})
    with pytest.raises(UsageError, match="needs tests by two meta-metrics"):
        mf.draw("side-by-side", mf.MetaInput(one))


def test_a_leaderboard_over_several_sets(look):
    standings = (Standing("good", 0.9, 1.2, 1), Standing("<b>", 0.5, 1.8, 2))
    p = np.array([[0.5, 0.001], [0.999, 0.5]])
    test = Significance(("good", "<b>"), p, "inputs", 9, "greater")
    found = BenchmarkResult("own", "Own", "average", (), ("zh-en",), (), standings, test)
    chart = mf.draw_protocol("leaderboard", found)
    look.inert(chart)
    assert {(r["name"], r["value"]) for r in look.rows(chart, "name", "value")} == {
        ("good", 0.9), ("<b>", 0.5), ("good", 1.2), ("<b>", 1.8)}  # fmt: skip
    assert "without zh-en" in json.dumps(chart)
    cells = look.rows(mf.draw_protocol("comparison", found), "row", "level")
    assert [(c["row"], c["column"], c["level"]) for c in cells] == [
        ("good  0.900", "<b>", "p < 0.01")]  # fmt: skip
    with pytest.raises(UsageError, match="no figure 'scatter'"):
        mf.draw_protocol("scatter", found)
    with pytest.raises(UsageError, match="add significance=True"):
        mf.draw_protocol("comparison", replace(found, significance=None))


def test_scatter_shows_scores_as_they_are(look):
    es, name = sy.demo_set(), "edit-rate-refA"
    found = meta_evaluate(es, "mqm", by="pearson", metrics=[name], intervals=None)
    chart = mf.draw("scatter", mf.MetaInput(found, es))
    shown = [row["y"] for row in look.rows(chart, "name", "x", "y")]
    assert min(shown) > 0
    assert "edit-rate-refA, lower is better" in json.dumps(chart)
