"""What every ranking, test and correction must do, whichever are registered.

Names, the order of the input, the unit of the scores and copies of a system or a segment are no
evidence: nothing that is registered may depend on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison.rankings import AGGREGATIONS
from steelyard.comparison.tests import TESTS
from steelyard.data.evalset import ScoreTable
from steelyard.data.segments import Segments
from steelyard.stats.paired.corrections import CORRECTIONS, adjust, adjust_pairs

NAMES = ("A", "B", "C", "D")
RANDOM = np.random.default_rng(11)
EASY = RANDOM.normal(size=40)
GAPS = np.array([0.9, 0.0, 0.45, -0.5])
SCORES = np.round(EASY + GAPS[:, None] + RANDOM.normal(size=(4, 40)), 1)
BINARY = (SCORES > 0).astype(float)

every_ranking = pytest.mark.parametrize("by", AGGREGATIONS)
every_test = pytest.mark.parametrize("test", TESTS)
every_correction = pytest.mark.parametrize("method", CORRECTIONS)


def evaluation(values: Any, names: Any = NAMES) -> sy.EvalSet:
    values = np.asarray(values)
    ids = tuple(f"s{i}" for i in range(values.shape[1]))
    return sy.EvalSet(tuple(names), Segments(ids), {"m": ScoreTable(values)})


def ranking(by: str, values: Any, names: Any = NAMES) -> dict[str, tuple[float, float]]:
    """Score and rank of each system."""
    made = {"elo": sy.elo(orders=200), "trueskill": sy.trueskill(orders=200)}
    found = sy.compare(evaluation(values, names), by=made.get(by, by), tests="t", intervals=None)
    own = found.aggregations[by]
    return {
        name: (float(score), float(rank))
        for name, score, rank in zip(found.systems, own.scores, own.ranks, strict=True)
    }


def chance(by: str) -> float:
    """By how much scores differ that are means over random orders."""
    return {"elo": 8.0, "trueskill": 0.3}.get(by, 1e-9)


def assert_same(by: str, one: Any, two: Any) -> None:
    assert set(one) == set(two)
    for name, (score, rank) in one.items():
        assert two[name][0] == pytest.approx(score, abs=chance(by)), name
        assert two[name][1] == rank, name


@every_ranking
def test_rankings_do_not_depend_on_the_order_of_systems(by):
    turned = [2, 0, 3, 1]
    names = [NAMES[k] for k in turned]
    assert_same(by, ranking(by, SCORES), ranking(by, SCORES[turned], names))


@every_ranking
def test_rankings_do_not_depend_on_the_order_of_segments(by):
    mixed = np.random.default_rng(2).permutation(SCORES.shape[1])
    assert_same(by, ranking(by, SCORES), ranking(by, SCORES[:, mixed]))


@every_ranking
def test_rankings_do_not_depend_on_the_unit(by):
    one, other = ranking(by, SCORES), ranking(by, 4 * SCORES + 100)
    assert {name: rank for name, (_, rank) in one.items()} == {
        name: rank for name, (_, rank) in other.items()
    }
    for name, (score, _) in one.items():
        expected = 4 * score + 100 if AGGREGATIONS[by].average else score
        assert other[name][0] == pytest.approx(expected, abs=chance(by))


@every_ranking
def test_rankings_turn_round_where_all_scores_do(by):
    one, other = ranking(by, SCORES), ranking(by, -SCORES)
    for name, (_, rank) in one.items():
        assert other[name][1] == len(NAMES) + 1 - rank


@every_ranking
def test_two_systems_that_swap_their_scores_swap_their_places(by):
    swapped = SCORES[[3, 1, 2, 0]]
    one, other = ranking(by, SCORES), ranking(by, swapped)
    names = {"A": "D", "D": "A", "B": "B", "C": "C"}
    assert_same(by, one, {names[name]: own for name, own in other.items()})


@every_ranking
def test_a_copy_of_a_system_is_as_good(by):
    found = ranking(by, SCORES[[0, 1, 2, 3, 0]], (*NAMES, "copy"))
    assert found["copy"][0] == pytest.approx(found["A"][0], abs=chance(by))
    if chance(by) < 1e-6:
        assert found["copy"][1] == found["A"][1]


@every_ranking
def test_every_segment_twice_says_the_same(by):
    one, other = ranking(by, SCORES), ranking(by, np.repeat(SCORES, 2, axis=1))
    for name, (score, rank) in one.items():
        assert other[name][1] == rank
        if not AGGREGATIONS[by].in_order:  # a longer log moves a rating further
            assert other[name][0] == pytest.approx(score)


def pvalues(test: str, values: Any, names: Any = NAMES, **options: Any) -> dict[str, float]:
    """p-values of all pairs, by name."""
    n = 1000 if test == "bootstrap" else 10
    found = sy.compare(evaluation(values, names), by="mean", tests=[test], n_bootstrap=n, **options)
    p = found.tests[test].p
    return {
        a + b: float(p[i, j])
        for i, a in enumerate(found.systems)
        for j, b in enumerate(found.systems)
        if i != j
    }


def scores_of(test: str) -> Any:
    return BINARY if TESTS[test].binary else SCORES


def slack(test: str) -> float:
    return 0.05 if test == "bootstrap" else 1e-9  # other segments are drawn


@every_test
def test_tests_do_not_depend_on_the_order_of_systems(test):
    turned = [2, 0, 3, 1]
    one = pvalues(test, scores_of(test))
    other = pvalues(test, scores_of(test)[turned], [NAMES[k] for k in turned])
    assert other == pytest.approx(one, abs=slack(test))


@every_test
def test_tests_do_not_depend_on_the_order_of_segments(test):
    mixed = np.random.default_rng(2).permutation(SCORES.shape[1])
    one, other = (pvalues(test, x) for x in (scores_of(test), scores_of(test)[:, mixed]))
    assert other == pytest.approx(one, abs=slack(test))


@every_test
def test_tests_do_not_depend_on_the_unit(test):
    if TESTS[test].binary:
        pytest.skip("of scores that are 0 or 1 there is no other unit")
    assert pvalues(test, 8 * SCORES + 64) == pytest.approx(pvalues(test, SCORES), abs=1e-9)


@every_test
def test_two_sided_tests_treat_both_sides_alike(test):
    found = pvalues(test, scores_of(test))
    assert all(0 <= p <= 1 for p in found.values())
    assert found == {pair[::-1]: p for pair, p in found.items()}
    if test not in ("mood", "median"):  # what is at the median counts as not above it
        turned = pvalues(test, 1 - BINARY if TESTS[test].binary else -SCORES)
        assert turned == pytest.approx(found, abs=slack(test))


@every_test
def test_a_system_does_not_differ_from_its_copy(test):
    found = pvalues(test, scores_of(test)[[0, 1, 2, 3, 0]], (*NAMES, "Z"))
    assert found["AZ"] == found["ZA"] == pytest.approx(1.0)
    for other in "BCD":
        assert found["Z" + other] == pytest.approx(found["A" + other], abs=1e-12)


P = np.array([0.001, 0.2, 0.04, 0.04, 0.9, 0.013])


@every_correction
def test_corrections_do_not_depend_on_the_order_of_tests(method):
    mixed = np.array([4, 0, 5, 2, 1, 3])
    np.testing.assert_allclose(adjust(P[mixed], method), adjust(P, method)[mixed], rtol=1e-15)


@every_correction
def test_corrections_keep_the_order_and_never_lower_a_p_value(method):
    found = adjust(P, method)
    assert (found >= P).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(P)]) >= 0).all()
    assert found[2] == found[3]


@every_correction
def test_what_is_no_test_does_not_count(method):
    holes = np.insert(P, 2, np.nan)
    np.testing.assert_array_equal(np.delete(adjust(holes, method), 2), adjust(P, method))
    assert adjust([0.03], method).tolist() == [0.03]
    assert adjust([], method).size == 0


@every_correction
def test_every_question_asked_twice(method):
    """False claims in all are bounded, so that twice the questions cost; their share is not."""
    once, twice = adjust(P, method), adjust(np.repeat(P, 2), method)[::2]
    if method in ("none", "benjamini-hochberg"):
        np.testing.assert_allclose(twice, once)
    else:
        assert (twice >= once).all()
        assert twice[0] == pytest.approx({"bonferroni": 12, "holm": 12}[method] * P[0])


@every_correction
def test_pairs_are_one_test_each_whichever_way_round(method):
    p = np.full((4, 4), np.nan)
    p[np.triu_indices(4, 1)] = P
    p.T[np.triu_indices(4, 1)] = P
    found = adjust_pairs(p, method, symmetric=True)
    np.testing.assert_array_equal(found[np.triu_indices(4, 1)], adjust(P, method))
    turned = np.array([2, 0, 3, 1])
    again = adjust_pairs(p[np.ix_(turned, turned)], method, symmetric=True)
    np.testing.assert_allclose(again, found[np.ix_(turned, turned)], rtol=1e-15)
