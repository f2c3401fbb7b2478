"""Scores of which less is better: people see their own numbers, and are asked where unclear."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.card import decide
from steelyard.comparison.rankings import AVERAGES
from steelyard.comparison.run import compare
from steelyard.data.overview import sounds_lower
from steelyard.report.figures import comparison, pair
from steelyard.report.options import ReportOptions
from steelyard.report.page import make_report

NAN = float("nan")
BY = ["mean", "median", "bt"]
NUMBERS = st.one_of(st.integers(-4, 4).map(float), st.just(NAN))


def make(values, *, name="m", higher_is_better=True, **more):
    ids = tuple(str(i) for i in range(values.shape[1]))
    domains = tuple("ab"[i % 2] for i in range(values.shape[1]))
    table = sy.ScoreTable(values, higher_is_better=higher_is_better, **more)
    systems = tuple("ABCDEFGH"[: len(values)])
    return sy.EvalSet(systems, sy.Segments(ids, None, domains), {name: table})


def same(one, other):
    np.testing.assert_array_equal(one, other)


@settings(max_examples=12)
@given(arrays(np.float64, (4, 9), elements=NUMBERS), st.integers(0, 99))
def test_negating_a_score_and_its_direction_negates_numbers_alone(values, seed):
    values[:, 0] = [1.0, 2.0, 3.0, 5.0]  # nobody is without a score
    more = compare(make(values), by=BY, n_bootstrap=30, rng=seed)
    less = compare(make(-values, higher_is_better=False), by=BY, n_bootstrap=30, rng=seed)
    for by in BY:
        one, two = more.aggregations[by], less.aggregations[by]
        sign = -1.0 if by in AVERAGES else 1.0
        same(two.ranks, one.ranks)
        same(two.rank_ci, one.rank_ci)
        same(two.scores, sign * one.scores)
        for name in ("ci", "gap_ci"):
            ends = getattr(one, name)
            same(getattr(two, name), sign * (ends[::-1] if sign < 0 else ends))
        if by in AVERAGES:
            same(two.pairwise, -one.pairwise)
            assert (one.higher_is_better, two.higher_is_better) == (True, False)
        else:
            same(two.pairwise, one.pairwise)
    for name, test in more.tests.items():
        same(less.tests[name].p, test.p)
    assert less.tiers == more.tiers
    assert less.ranking("mean") == more.ranking("mean")


@settings(max_examples=12)
@given(arrays(np.float64, (2, 8), elements=st.integers(-4, 4).map(float)))
def test_cards_negate_numbers_alone(values):
    one = decide(make(values), ("A", "B"), n_bootstrap=30)
    two = decide(make(-values, higher_is_better=False), ("A", "B"), n_bootstrap=30)
    assert (two.p, two.p_sign, two.wins, two.losses) == (one.p, one.p_sign, one.wins, one.losses)
    assert two.needed == one.needed
    assert two.means == (-one.means[0], -one.means[1])
    assert two.difference == -one.difference
    assert two.ci == (-one.ci[1], -one.ci[0])
    losses, others = ([r.scores[0] for r in card.regressions] for card in (one, two))
    assert others == [-score for score in losses]


@pytest.fixture
def slow():
    rng = np.random.default_rng(0)
    values = np.array([[400.0], [500.0], [700.0]]) + rng.normal(0, 40, (3, 60))
    return make(values, name="latency_ms", higher_is_better=False)


def test_people_see_their_own_numbers(slow):
    found = compare(slow)
    assert found.ranking("mean") == ["A", "B", "C"]
    own = found.aggregations["mean"]
    np.testing.assert_allclose(own.scores, slow["latency_ms"].values.mean(axis=1))
    assert own.low is not None
    assert own.high is not None
    assert ((own.low < own.scores) & (own.scores < own.high)).all()
    assert own.pairwise[0, 1] == pytest.approx(own.scores[0] - own.scores[1])
    text = found.table().text()
    assert "mean ↓" in text
    assert "median ↓" in text
    assert "bt ↑" in text
    result = found.to_dict()
    assert result["higher_is_better"] is False
    assert result["aggregations"]["mean"]["higher_is_better"] is False
    assert result["aggregations"]["bt"]["higher_is_better"] is True
    card = decide(slow, ("A", "B"), n_bootstrap=100)
    assert (card.decision.leader, card.decision.significant) == ("A", True)
    assert card.decision.difference == pytest.approx(-card.difference)
    assert "lower is better" in card.table().text()
    assert card.to_dict()["higher_is_better"] is False


def test_figures_and_page_show_them_too(slow):
    found = compare(slow, n_bootstrap=50)
    shown = [row["value"] for row in _rows(comparison.forest(found)) if (row["value"] or 0) > 1]
    assert len(shown) == 6  # means and medians; strengths are below 1
    assert min(shown) > 300
    scores = comparison.scores_of(slow, found)
    assert (scores > 0).all()
    chart = pair.draw_pair("density", scores[:2], ("A", "B"), higher_is_better=False)
    told = json.dumps(chart["title"])
    assert "lower is better" in told
    assert "preferred by mean: A" in told
    bars = _rows(comparison.draw("wins", found, scores))
    assert {r["system"]: r["n"] for r in bars if r["kind"] == "wins"}["A"] > 100
    html = make_report(slow, options=ReportOptions(n_bootstrap=50)).html
    assert "mean ↓" in html
    assert "latency_ms (lower is better)" in html


def _rows(chart):
    return [row for panel in chart.get("hconcat", [chart]) for row in panel["data"]["values"]]


@pytest.mark.parametrize("name", ["latency_ms", "TER-refA", "word_errors", "valLoss", "PPL", "cost",
                                  "wer", "response time", "CER2"])  # fmt: skip
def test_names_that_are_asked_about(name):
    assert sounds_lower(name)


@pytest.mark.parametrize("name", ["COMET", "accuracy", "closeness", "character", "BLEURT",
                                  "sentiment", "metric", "kiwi-xxl"])  # fmt: skip
def test_names_that_are_not(name):
    assert not sounds_lower(name)


def test_a_direction_that_nobody_gave_is_asked_about(tmp_path, capsys):
    path = tmp_path / "s.csv"
    rows = "".join(f"{s},{i},{i % 3 + k},{i % 2}\n" for k, s in enumerate("AB") for i in range(8))
    path.write_text("system,segment,latency_ms,quality\n" + rows)
    asked = "'latency_ms' sounds as if lower were better; taken as higher is better"

    def warnings(*more, score="latency_ms"):
        assert run(["compare", str(path), "--score", score, "--json", *more]) == 0
        return json.loads(capsys.readouterr().out)["warnings"]

    assert any(asked in w and "--higher-is-better latency_ms" in w for w in warnings())
    assert any(asked in w for w in warnings("--pair", "A,B"))
    assert any(asked in w for w in warnings(score="latency_ms,quality"))
    assert not any(asked in w for w in warnings(score="quality"))
    assert not any(asked in w for w in warnings("--lower-is-better", "latency_ms"))
    assert not any(asked in w for w in warnings("--higher-is-better", "latency_ms"))
    assert run(["compare", str(path), "--score", "latency_ms", "--lower-is-better", "latency_ms",
                "--higher-is-better", "latency_ms"]) == 2  # fmt: skip
    assert "both lower and higher" in capsys.readouterr().err


def test_what_was_turned_round_or_saved_is_not_asked_about(tmp_path):
    values = np.random.default_rng(0).normal(size=(2, 9))
    negated = compare(make(-np.abs(values), name="loss"), n_bootstrap=20)
    assert not [w for w in negated.warnings if "sounds as if" in w]
    for known in (True, False):
        sy.save(make(values, name="loss", direction_given=known), tmp_path / "s.parquet")
        again = compare(sy.load(tmp_path / "s.parquet"), n_bootstrap=20)
        assert any("sounds as if" in w for w in again.warnings) is not known


def test_every_command_asks_about_a_name(tmp_path, capsys):
    rng = np.random.default_rng(3)
    human, loss = rng.normal(size=(2, 3, 8))
    lines = [
        f"{s},{k},{human[i, k]},{loss[i, k] ** 2 - human[i].mean()}"
        for i, s in enumerate("ABC")
        for k in range(8)
    ]
    path = tmp_path / "x.csv"
    path.write_text("system,segment,mqm,val_loss\n" + "\n".join(lines) + "\n", encoding="utf-8")
    asking = "'val_loss' sounds as if lower were better"
    for command in (["compare"], ["meta", "--human", "mqm"], ["data", "info", "--human", "mqm"],
                    ["data", "check", "--human", "mqm"],
                    ["report", "--human", "mqm", "--out", str(tmp_path / "r.html")]):  # fmt: skip
        run([*command, str(path)])
        shown = capsys.readouterr()
        assert asking in shown.out + shown.err, command
    run(["meta", "--human", "mqm", str(path), "--lower-is-better", "val_loss"])
    assert asking not in capsys.readouterr().err


def test_a_human_score_that_ties_all_systems_is_named():
    values = np.tile(np.arange(6.0), (3, 1))
    es = make(values, name="mqm", kind="human").with_scores("m", values + np.eye(3, 6))
    warnings = sy.meta_evaluate(es, "mqm", by="pa", intervals=None).warnings
    assert "'mqm' ties all systems: agreement with it says nothing about them" in warnings
