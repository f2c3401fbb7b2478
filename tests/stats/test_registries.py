"""What every ranking, test and correction must do, whichever are registered.

Names, the order of the input, the unit of the scores and copies of a system or a segment are no
evidence: nothing that is registered may depend on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison.rankings import AGGREGATIONS, AVERAGES, RATINGS, TESTS
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
    made = {"elo": sy.elo(orders=100), "trueskill": sy.trueskill(orders=100)}
    ours = sy.compare(evaluation(values, names), by=made.get(by, by), tests="t", intervals=None)
    own = ours.aggregations[by]
    return {
        name: (float(score), float(rank))
        for name, score, rank in zip(ours.systems, own.scores, own.ranks, strict=True)
    }


def chance(by: str) -> float:
    """By how much scores differ that are means over random orders."""
    return {"elo": 8.0, "trueskill": 0.3}.get(by, 1e-9)


ORDER, MIXED = [2, 0, 3, 1], np.random.default_rng(2).permutation(40)


@every_ranking
def test_what_rankings_do_not_depend_on(by):
    """Orders and copies change nothing, units only themselves, and turned scores turn ranks."""
    plain = ranking(by, SCORES)
    close = chance(by)
    named = [NAMES[k] for k in ORDER]
    swapped = ranking(by, SCORES[[3, 1, 2, 0]])
    same = [
        ranking(by, SCORES[ORDER], named),
        ranking(by, SCORES[:, MIXED]),
        {dict(zip("ABCD", "DBCA", strict=True))[name]: pair for name, pair in swapped.items()},
    ]
    for other in same:
        for name, (score, rank) in plain.items():
            assert other[name][0] == pytest.approx(score, abs=close)
            assert other[name][1] == rank
    scaled, turned = ranking(by, 4 * SCORES + 100), ranking(by, -SCORES)
    repeated = ranking(by, np.repeat(SCORES, 2, axis=1))
    for name, (score, rank) in plain.items():
        assert scaled[name][1] == repeated[name][1] == rank == len(NAMES) + 1 - turned[name][1]
        expected = 4 * score + 100 if by in AVERAGES else score
        assert scaled[name][0] == pytest.approx(expected, abs=close)
        if by not in RATINGS:  # a longer log moves a rating further
            assert repeated[name][0] == pytest.approx(score)
    copied = ranking(by, SCORES[[0, 1, 2, 3, 0]], (*NAMES, "copy"))
    assert copied["copy"][0] == pytest.approx(copied["A"][0], abs=close)
    if close < 1e-6:
        assert copied["copy"][1] == copied["A"][1]


def pvalues(test: str, values: Any, names: Any = NAMES, **options: Any) -> dict[str, float]:
    """p-values of all pairs, by name."""
    n = 1000 if test == "bootstrap" else 10
    ours = sy.compare(evaluation(values, names), by="mean", tests=[test], n_bootstrap=n, **options)
    p = ours.tests[test].p
    return {
        a + b: float(p[i, j])
        for i, a in enumerate(ours.systems)
        for j, b in enumerate(ours.systems)
        if i != j
    }


def scores_of(test: str) -> Any:
    return BINARY if test == "mcnemar" else SCORES


def slack(test: str) -> float:
    return 0.05 if test == "bootstrap" else 1e-9  # other segments are drawn


@every_test
def test_what_tests_do_not_depend_on(test):
    scores = scores_of(test)
    plain = pvalues(test, scores)
    named = [NAMES[k] for k in ORDER]
    assert pvalues(test, scores[ORDER], named) == pytest.approx(plain, abs=slack(test))
    assert pvalues(test, scores[:, MIXED]) == pytest.approx(plain, abs=slack(test))
    if test != "mcnemar":
        assert pvalues(test, 8 * SCORES + 64) == pytest.approx(plain, abs=1e-9)
    copied = pvalues(test, scores[[0, 1, 2, 3, 0]], (*NAMES, "Z"))
    assert copied["AZ"] == copied["ZA"] == pytest.approx(1.0)
    for other in "BCD":
        assert copied["Z" + other] == pytest.approx(copied["A" + other], abs=1e-12)


@every_test
def test_two_sided_tests_treat_both_sides_alike(test):
    ours = pvalues(test, scores_of(test))
    assert all(0 <= p <= 1 for p in ours.values())
    assert ours == {pair[::-1]: p for pair, p in ours.items()}
    if test not in ("mood", "median"):  # what is at the median counts as not above it
        turned = pvalues(test, 1 - BINARY if test == "mcnemar" else -SCORES)
        assert turned == pytest.approx(ours, abs=slack(test))


P = np.array([0.001, 0.2, 0.04, 0.04, 0.9, 0.013])


@every_correction
def test_what_corrections_do_not_depend_on(method):
    """Order, holes and the way round; false claims in all cost more where twice is asked."""
    adjusted = adjust(P, method)
    mixed = np.array([4, 0, 5, 2, 1, 3])
    np.testing.assert_allclose(adjust(P[mixed], method), adjusted[mixed], rtol=1e-15)
    np.testing.assert_array_equal(np.delete(adjust(np.insert(P, 2, np.nan), method), 2), adjusted)
    twice = adjust(np.repeat(P, 2), method)[::2]
    if method in ("none", "benjamini-hochberg"):
        np.testing.assert_allclose(twice, adjusted)
    else:
        assert (twice >= adjusted).all()
        assert twice[0] == pytest.approx(12 * P[0])
    p = np.full((4, 4), np.nan)
    p[np.triu_indices(4, 1)] = P
    p.T[np.triu_indices(4, 1)] = P
    pairs = adjust_pairs(p, method, symmetric=True)
    np.testing.assert_array_equal(pairs[np.triu_indices(4, 1)], adjusted)
    turned = adjust_pairs(p[np.ix_(ORDER, ORDER)], method, symmetric=True)
    np.testing.assert_allclose(turned, pairs[np.ix_(ORDER, ORDER)], rtol=1e-15)
