"""Scores that are 0 or 1: proportions, McNemar's exact test, a table of four; and ties of ranks."""

from __future__ import annotations

import json
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.card import decide
from steelyard.comparison.results import PROPORTION
from steelyard.comparison.run import compare
from steelyard.core.errors import UsageError
from steelyard.report.figures import pair
from steelyard.report.options import ReportOptions
from steelyard.report.page import make_report
from steelyard.stats.paired.corrections import wilson_interval
from steelyard.stats.paired.tests import mcnemar_test

BITS = arrays(np.float64, (2, 12), elements=st.integers(0, 1).map(float))


def make(values, **more):
    values = np.asarray(values, dtype=float)
    ids = tuple(str(i) for i in range(values.shape[1]))
    systems = tuple(f"s{i:03d}" for i in range(len(values)))
    return sy.EvalSet(systems, sy.Segments(ids), {"right": sy.ScoreTable(values, **more)})


def answers(n=3, s=200, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((n, s)) < np.linspace(0.9, 0.7, n)[:, None]).astype(float)


@given(BITS)
def test_mcnemar_by_its_formula(values):
    b = int(((values[0] == 1) & (values[1] == 0)).sum())
    c = int(((values[0] == 0) & (values[1] == 1)).sum())
    at_most = sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
    assert mcnemar_test(values).p[0, 1] == pytest.approx(min(1.0, 2 * at_most))


def test_mcnemar_refuses_other_scores():
    with pytest.raises(UsageError, match="0 or 1"):
        mcnemar_test(np.array([[0.5, 1.0], [0.0, 1.0]]))
    with pytest.raises(UsageError, match="which 'right' is not"):
        compare(make([[0.5, 1.0], [0.0, 1.0]]), tests="mcnemar")


def test_proportions_by_default():
    values = answers()
    found = compare(make(values), n_bootstrap=50)
    assert list(found.aggregations) == ["mean", "bt"]
    assert list(found.tests) == ["mcnemar", "t", "sign"]
    assert found.tiers["mean"].test == "mcnemar"
    own = found.aggregations["mean"]
    low, high = wilson_interval(values.sum(axis=1), 200)
    np.testing.assert_array_equal(own.low, low)
    np.testing.assert_array_equal(own.high, high)
    assert own.of == "proportion"
    assert "proportion ↑" in found.table().text()
    by_document = compare(make(values), by="median", n_bootstrap=20)  # asked for, it is there
    assert list(by_document.aggregations) == ["median"]


def test_errors_are_proportions_too():
    """0 and 1 of which less is better: the same verdicts, the shares of errors."""
    values = answers()
    right = compare(make(values), n_bootstrap=50)
    wrong = compare(make(1 - values, higher_is_better=False), n_bootstrap=50)
    assert wrong.ranking("mean") == right.ranking("mean")
    one, two = right.aggregations["mean"], wrong.aggregations["mean"]
    np.testing.assert_allclose(two.scores, 1 - one.scores)
    assert one.high is not None
    assert two.low is not None
    np.testing.assert_allclose(two.low, 1 - one.high)
    np.testing.assert_array_equal(wrong.tests["mcnemar"].p, right.tests["mcnemar"].p)


@given(BITS)
def test_the_p_value_of_the_card_is_that_of_mcnemar(values):
    values[:, 0] = 0, 1  # both occur
    card = decide(make(values), ("s000", "s001"), n_bootstrap=20)
    exact = pytest.approx(mcnemar_test(values).p[0, 1])
    assert card.p == exact  # swaps of 0 and 1 are McNemar's test
    assert card.p_sign == exact


def test_the_figure_of_two_systems_counts_four_cases():
    values = answers(2)
    chart = pair.draw_pair("density", values, ("A", "B"), "right")
    cells = chart["data"]["values"]
    assert {(c["row"], c["column"]): c["value"] for c in cells} == {
        ("A: 1", "B: 1"): float((values.sum(axis=0) == 2).sum()),
        ("A: 1", "B: 0"): float((values[0] > values[1]).sum()),
        ("A: 0", "B: 1"): float((values[0] < values[1]).sum()),
        ("A: 0", "B: 0"): float((values.sum(axis=0) == 0).sum()),
    }
    assert (
        "segments by right" in make_report(make(values), options=ReportOptions(n_bootstrap=20)).html
    )


def test_all_tests_by_the_command(tmp_path, capsys):
    for values, there in ((answers(2, 30), True), (answers(2, 30) + 0.5, False)):
        path = tmp_path / "wide.csv"
        lines = [f"{i},{a},{b}" for i, (a, b) in enumerate(values.T)]
        path.write_text("segment,A,B\n" + "\n".join(lines) + "\n")
        assert (
            run(
                [
                    "compare",
                    str(path),
                    "--by",
                    "mean",
                    "--tests",
                    "all",
                    "--bootstrap",
                    "20",
                    "--json",
                ]
            )
            == 0
        )
        assert ("mcnemar" in json.loads(capsys.readouterr().out)["tests"]) is there


def test_a_tie_for_the_first_place_is_no_disagreement():
    found = compare(make(answers()), by=["mean", "median", "bt"], n_bootstrap=20)
    assert len(set(found.aggregations["median"].scores)) == 1
    assert not [w for w in found.warnings if "disagree" in w]
    apart = compare(make([[0.0, 0, 9], [1.0, 1, 1]]), by=["mean", "median"], intervals=None)
    assert any("disagree on the best system" in w for w in apart.warnings)


@given(st.integers(0, 10**6), st.sampled_from(["mean", "median", "bt"]))
def test_systems_of_one_rank_share_a_tier(seed, by):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3, (7, 1))
    values = np.where(rng.random((7, 90)) < 0.5, level, rng.integers(0, 5, (7, 90))).astype(float)
    found = compare(make(values), by=by, correction="none", alpha=0.2, intervals=None)
    ranks, tiers = found.aggregations[by].ranks, [t or 0 for t in found.tiers[by].clusters]
    for i in range(7):
        for j in range(7):
            if ranks[i] == ranks[j]:
                assert tiers[i] == tiers[j]
            elif ranks[i] < ranks[j]:
                assert tiers[i] <= tiers[j]


def test_medians_that_tie_by_hand():
    """Mood's test tells systems of one median apart; the median does not, nor do its tiers."""
    top = np.repeat([5.0, 1.0], [60, 40])
    wide = np.repeat([0.0, 1.0, 5.0], [10, 50, 40])
    flat = np.repeat([0.0, 1.0], [49, 51])
    found = compare(make([top, wide, flat]), by="median", intervals=None)
    assert found.aggregations["median"].scores.tolist() == [5, 1, 1]
    assert found.tests["mood"].p_adjusted[1, 2] < 0.05
    assert found.tiers["median"].clusters == (1, 2, 2)


def test_zh_en_tiers_by_median(shared):
    es = sy.load(shared / "wmt23-metrics" / "zh-en.human.csv.gz", human="mqm")
    found = compare(es, "mqm", by="median", intervals=None)
    tier_of: dict[float, set[int | None]] = {}
    for rank, tier in zip(found.aggregations["median"].ranks, found.tiers["median"].clusters,
                          strict=True):  # fmt: skip
        tier_of.setdefault(float(rank), set()).add(tier)
    assert any(list(found.aggregations["median"].ranks).count(rank) > 2 for rank in tier_of)
    assert all(len(tiers) == 1 for tiers in tier_of.values())


def test_what_is_right_or_wrong_is_a_matter_of_the_whole_score():
    """Neither two systems that are always right, nor two that happen to have 0 and 1 only."""
    values = np.array([[1.0] * 8, [1.0] * 8, [0.0, 1.0] * 4])
    segments = sy.Segments(tuple(map(str, range(8))))
    es = sy.EvalSet(("A", "B", "C"), segments, {"m": sy.ScoreTable(values)})
    whole = sy.compare(es, "m", by="mean").aggregations["mean"]
    pair = sy.compare(es.select(systems=["A", "B"]), "m", by="mean").aggregations["mean"]
    assert pair.low is not None
    assert whole.low is not None
    assert pair.low[0] == whole.low[0] < 1
    assert decide(es, ("A", "B"), "m").of == PROPORTION
    stars = es.with_scores("m", values + np.array([[0], [0], [3]]))
    assert decide(stars, ("A", "B"), "m").of is None
