"""One rule of a tie: ranks, and the intervals of ranks, everywhere they are given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steelyard as sy
from steelyard.comparison.logs import compare_battles
from steelyard.data.judgements import Rankings, Ratings
from steelyard.metaevaluation.benchmark.run import column_ranks, run_benchmark
from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs, SetSpec, Task
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.stats.ranks import FITTED, ranks, rounding, whole
from steelyard.stats.strength.bradleyterry import bradley_terry, bradley_terry_batch
from steelyard.stats.strength.wins import WinCounts

NAN, INF = float("nan"), float("inf")
# Few distinct values, some a rounding apart.
values = st.one_of(
    st.sampled_from([NAN, INF, -INF, 0.0, 0.1 + 0.2, 0.3, 1e-300, -5.0, -5.0 - 1e-15, 7.0]),
    st.floats(-10, 10),
)
rows = hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=2, max_side=7), elements=values)


def near(a, b, close=1e-12):
    larger = max(abs(a), abs(b))
    return a == b or (math.isfinite(larger) and abs(a - b) <= close * larger)


def naive(row):
    """Go down from the best: whatever is not near the last one opens a new place."""
    known = sorted((x for x in row if not math.isnan(x)), reverse=True)
    places: list[int] = []
    for k, x in enumerate(known):
        places.append(places[-1] if k and near(x, known[k - 1]) else k + 1)
    return [NAN if math.isnan(x) else places[known.index(x)] for x in row]


@given(rows)
def test_against_joining_what_is_close(x):
    found = ranks(x)
    expected = [naive(row) for row in np.atleast_2d(x)]
    np.testing.assert_array_equal(
        np.atleast_2d(found), np.reshape(expected, np.atleast_2d(x).shape)
    )


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(x, random):
    order = list(range(x.shape[-1]))
    random.shuffle(order)
    np.testing.assert_array_equal(ranks(x[..., order]), ranks(x)[..., order])


def test_edges():
    assert ranks(np.empty((0,))).tolist() == []
    assert ranks(np.empty((3, 0))).shape == (3, 0)
    assert ranks([5.0]).tolist() == [1.0]
    assert np.isnan(ranks([NAN, NAN])).all()
    assert whole(ranks([INF, 3.0, -INF, INF, NAN])) == [1, 3, 4, 1, None]
    assert ranks([0.0, -0.0]).tolist() == [1.0, 1.0]
    assert ranks([1e-10, 2e-10, 1.0]).tolist() == [3.0, 2.0, 1.0]  # small is not equal


def test_borders_of_a_tie():
    assert ranks([1.0, 1 - 0.9e-12]).tolist() == [1, 1]
    assert ranks([1.0, 1 - 1.1e-12]).tolist() == [1, 2]
    assert ranks([1.0, 1 - 1e-10], close=FITTED).tolist() == [1, 1]
    assert ranks([2.0, 1.0], floor=1.0).tolist() == [1, 1]
    # Twelve digits, rounded, would fall on two sides of a border.
    border = 1.0000000000005
    assert ranks([np.nextafter(border, 2), np.nextafter(border, 0)]).tolist() == [1, 1]


def test_sums_that_cancel():
    terms = np.array([[0.1, 0.2, -0.3], [-0.3, 0.2, 0.1]])
    means = terms.mean(axis=1)
    assert means[0] != means[1]
    assert ranks(means).tolist() != [1, 1]
    assert ranks(means, floor=rounding(terms)).tolist() == [1, 1]
    assert rounding(np.array([NAN])) == 0


def almost_equal(n=200, seed=0):
    """Two systems that are equal but for rounding, and one that is worse."""
    x = np.random.default_rng(seed).normal(size=n)
    rows = np.stack([x + 0.1 + 0.2, x + 0.3, x - 1 + np.random.default_rng(1).normal(0, 3, n)])
    assert (rows[0] != rows[1]).any()
    return rows


def as_set(rows, name="m", **kinds):
    ids = tuple(str(i) for i in range(rows.shape[1]))
    return sy.EvalSet(("A", "B", "C"), sy.Segments(ids), {name: sy.ScoreTable(rows, **kinds)})


@pytest.mark.parametrize("by", ["mean", "median", "bt"])
def test_a_comparison_ranks_and_resamples_alike(by):
    # Bradley-Terry takes every difference for a win: there, the two differ by the tolerance.
    found = sy.compare(as_set(almost_equal()), by=by, tolerance=1e-9, n_bootstrap=200)
    own = found.to_dict()["aggregations"][by]
    assert (own["ranks"]["A"], own["ranks"]["B"]) == (1, 1)
    assert own["rank_ci"]["A"] == own["rank_ci"]["B"] == [1, 1]
    shares = found.aggregations[by].rank_shares
    assert shares is not None
    assert shares[0].tolist() == shares[1].tolist()


def test_a_comparison_of_scores_that_cancel():
    terms = np.array([[0.1, 0.2, -0.3] * 20, [-0.3, 0.2, 0.1] * 20, [-1.0, 0.0, 0.0] * 20])
    found = sy.compare(as_set(terms), by="mean", n_bootstrap=50)
    assert found.to_dict()["aggregations"]["mean"]["ranks"] == {"A": 1, "B": 1, "C": 3}


def test_strengths_and_their_resamples():
    # Everybody wins two of three: equal strengths, by two ways to fit them.
    wins = np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]], dtype=float)
    for method in ("newton", "mm"):
        assert bradley_terry(wins, method=method).ranks.tolist() == [1, 1, 1]
    uneven = np.array([[0, 7, 3, 9], [3, 0, 7, 9], [7, 3, 0, 9], [1, 1, 1, 0]], dtype=float)
    one = bradley_terry(uneven).ranks
    many = bradley_terry_batch(WinCounts(np.stack([uneven, 3 * uneven]), np.zeros((2, 4, 4)))).ranks
    assert one.tolist() == many[0].tolist() == many[1].tolist() == [1, 1, 1, 4]


def test_weak_strengths_are_not_equal():
    """Far below the best, strengths are tiny and still far apart."""
    wins = np.zeros((4, 4))
    for i in range(3):
        wins[i, i + 1], wins[i + 1, i] = 1e6, 1.0
    fit = bradley_terry(wins)
    assert fit.strength[3] < 1e-17
    assert fit.ranks.tolist() == [1, 2, 3, 4]
    assert ranks(fit.strength, close=FITTED).tolist() == [1, 2, 3, 4]


def test_a_log_of_battles():
    pairs = [(0, 1), (1, 0), (0, 2), (1, 2), (2, 0), (2, 1)] * 10
    left, right = (np.array(side, dtype=np.int32) for side in zip(*pairs, strict=True))
    log = sy.BattleLog(("A", "B", "C"), left, right, np.ones(len(pairs)))
    found = compare_battles(log, by=["mean", "bt"], n_bootstrap=20)
    for own in found.aggregations.values():
        assert own.ranks.tolist() == [1, 1, 1]


def human_and_metrics():
    rng = np.random.default_rng(2)
    quality = rng.normal(0, 0.5, 8)[:, None] + rng.normal(size=(8, 60))
    near = quality + rng.normal(0, 0.7, quality.shape)
    tables = {
        "mqm": sy.ScoreTable(np.round(quality, 1), kind="human"),
        "b": sy.ScoreTable(near + 0.1 + 0.2),
        "a": sy.ScoreTable(near + 0.3),
        "poor": sy.ScoreTable(rng.normal(size=quality.shape)),
    }
    systems = tuple(f"s{i}" for i in range(8))
    return sy.EvalSet(systems, sy.Segments(tuple(str(i) for i in range(60))), tables)


@pytest.mark.parametrize("by", ["spa", "pa", "pearson", "acc-eq", "kendall-b"])
def test_metrics_that_are_equal_share_places(by):
    found = meta_evaluate(human_and_metrics(), "mqm", by=by, intervals="segment", n_bootstrap=100)
    place = {r.metric: r.rank_ci for r in found.results}
    assert place["a"] == place["b"]
    # Rounding does not put b before a.
    assert [r.metric for r in found.results][:2] == ["a", "b"]


def test_columns_and_averages_of_a_benchmark():
    values = {"b": 0.1 + 0.2, "a": 0.3, "c": 0.2, "none": NAN}
    assert column_ranks(values, (), None, None) == {"a": 1, "b": 1, "c": 3}
    task = Benchmark("toy", "Toy", human="mqm", sets=(SetSpec("xx-yy", "refA"),),
                     tasks=(Task("pearson"), Task("pearson", level="seg")))  # fmt: skip
    found = run_benchmark(task, Inputs(sets={"xx-yy": human_and_metrics()}))
    assert [s.metric for s in found.standings] == ["a", "b", "poor"]
    assert [s.average_rank for s in found.standings] == [1.0, 1.0, 3.0]


def test_human_scores_that_are_equal_but_for_rounding():
    # Sums of the same numbers in another order.
    scores = {"B": [0.1, 0.2, 0.3], "A": [0.3, 0.2, 0.1], "C": [0.0, 0.1, 0.2]}
    assert sum(scores["B"]) != sum(scores["A"])
    rows = [("r", s, str(k), x) for s, own in scores.items() for k, x in enumerate(own)]
    raters, systems, segments, marks = zip(*rows, strict=True)
    ratings = Ratings.from_labels(systems, segments, raters, np.array(marks))
    found = sy.human_scores(ratings, protocol=sy.da(standardised=False), n_bootstrap=0)
    assert [(s.system, s.rank) for s in found.systems] == [("A", 1), ("B", 1), ("C", 3)]


def test_a_system_without_a_strength_has_no_rank():
    """C lost everything: it used to share the first place."""
    code = np.array([[0, 1], [1, 0], [0, 1], [0, 2]], dtype=np.int32)
    rank = np.tile([1.0, 2.0], (4, 1))
    zeros = np.zeros(4, dtype=np.int32)
    log = Rankings(("A", "B", "C"), ("1",), ("r",), zeros, zeros, code, rank)
    found = sy.human_scores(log, protocol=sy.rr(by="bt"), n_bootstrap=25)
    place = {s.system: s.rank for s in found.systems}
    assert place == {"A": 1, "B": 2, "C": None}
    assert found.text()
