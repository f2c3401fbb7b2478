"""Counts of wins and ties against a loop over all pairs and segments."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.stats.naive import NAN

from steelyard.core.errors import UsageError
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength.wins import (
    Battles,
    PairWins,
    UnitCounts,
    WinCounts,
    battle_counts,
    battle_pairs,
    expected_wins,
    pair_wins,
    resampled_battles,
    resampled_wins,
    score_battles,
    sorted_battles,
    win_counts,
)

# Eighths: their differences are exact, so that pairs on the tolerance are decided without rounding.
cells = st.one_of(st.just(NAN), st.integers(-8, 8).map(lambda k: k / 8))
matrices = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=cells)
)
tolerances = st.sampled_from([0.0, 0.125, 0.3, 2.0])


def naive(scores, tolerance=0.0, weights=None):
    """Count segment by segment."""
    n, size = scores.shape
    weights = np.ones(size) if weights is None else weights
    wins, ties = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for s in range(size):
                gap = scores[i, s] - scores[j, s]
                if i == j or math.isnan(gap):
                    continue
                wins[i, j] += weights[s] * (gap > tolerance)
                ties[i, j] += weights[s] * (abs(gap) <= tolerance)
    return wins, ties


@given(matrices, tolerances)
def test_counts_against_the_loop(scores, tolerance):
    counts = win_counts(scores, tolerance=tolerance)
    wins, ties = naive(scores, tolerance)
    np.testing.assert_array_equal(counts.wins, wins)
    np.testing.assert_array_equal(counts.ties, ties)
    np.testing.assert_array_equal(counts.met, wins + wins.T + ties)


@given(matrices, tolerances, st.integers(0, 2**32))
def test_resamples_against_the_loop(scores, tolerance, seed):
    rng = np.random.default_rng(seed)
    drawn = segment_counts(3, scores.shape[1], rng).astype(float)
    for weights in (drawn, drawn * 2**24):  # beyond what single precision counts
        counts = resampled_wins(scores, weights, tolerance=tolerance)
        for b, times in enumerate(weights):
            wins, ties = naive(scores, tolerance, times)
            np.testing.assert_array_equal(counts.wins[b], wins)
            np.testing.assert_array_equal(counts.ties[b], ties)


def test_a_difference_of_the_tolerance_is_a_tie_whatever_the_rounding():
    # 0.4 - 0.3 and 100.4 - 100.3 are more than 0.1 in binary, 0.3 - 0.2 is less.
    scores = np.array([[0.4, 0.3, 100.4, 0.41], [0.3, 0.2, 100.3, 0.3]])
    counts = win_counts(scores, tolerance=0.1)
    assert counts.wins.tolist() == [[0, 1], [0, 0]]
    assert counts.ties[0, 1] == 3


@given(matrices)
def test_pairs_and_tables_are_two_views_of_one_thing(scores):
    counts = win_counts(scores)
    pairs = pair_wins(counts.wins, counts.ties)
    assert (pairs.i < pairs.j).all()
    assert (pairs.met > 0).all()
    np.testing.assert_array_equal(pairs.tables().wins, counts.wins)
    np.testing.assert_array_equal(pairs.tables().ties, counts.ties)
    chosen = list(range(len(scores)))[::-2]
    np.testing.assert_array_equal(pairs.within(chosen).tables().wins, counts.within(chosen).wins)
    np.testing.assert_array_equal(pairs.within(chosen).tables().ties, counts.within(chosen).ties)
    assert isinstance(pairs, PairWins)


def naive_expected_wins(wins, ties, half):
    n = len(wins)
    result = []
    for i in range(n):
        shares = []
        for j in range(n):
            mine, theirs = wins[i, j] + half * ties[i, j], wins[j, i] + half * ties[i, j]
            if mine + theirs:
                shares.append(mine / (mine + theirs))
        result.append(sum(shares) / len(shares) if shares else NAN)
    return np.array(result)


@given(matrices)
def test_expected_wins_against_the_loop(scores):
    counts = win_counts(scores)
    for ties_as, half in (("drop", 0.0), ("half", 0.5)):
        np.testing.assert_allclose(
            expected_wins(counts, ties_as=ties_as),
            naive_expected_wins(counts.wins, counts.ties, half),
        )


# ---------------------------------------------------------------- logs


@st.composite
def logs(draw, *, weighted=True, shares=True):
    """A log of a few systems, with ties, shares and weights."""
    n = draw(st.integers(2, 6))
    size = draw(st.integers(0, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    left = rng.integers(0, n, size)
    right = (left + rng.integers(1, n, size)) % n
    outcome = rng.choice([0.0, 0.5, 1.0, 0.75] if shares else [0.0, 0.5, 1.0], size)
    weight = rng.integers(0, 4, size) / 2 if weighted and draw(st.booleans()) else None
    return Battles(left, right, outcome, n, weight)


def naive_log(battles, times=None):
    """Wins and ties, battle by battle."""
    wins, ties = np.zeros((battles.n, battles.n)), np.zeros((battles.n, battles.n))
    for k in range(len(battles)):
        i, j, score = battles.left[k], battles.right[k], battles.outcome[k]
        weight = 1.0 if battles.weight is None else battles.weight[k]
        weight *= 1.0 if times is None else times[k]
        if score == 0.5:
            ties[i, j] += weight
            ties[j, i] += weight
        else:
            wins[i, j] += weight * score
            wins[j, i] += weight * (1 - score)
    return wins, ties


def same(counts, expected):
    np.testing.assert_allclose(counts.wins, expected[0], atol=1e-12)
    np.testing.assert_allclose(counts.ties, expected[1], atol=1e-12)


@given(logs())
def test_counts_of_a_log_against_the_loop(battles):
    expected = naive_log(battles)
    same(battle_counts(battles), expected)
    same(battle_pairs(battles).tables(), expected)
    many = Battles(battles.left, battles.right, battles.outcome, 3000, battles.weight)
    few = battle_pairs(many)  # by sorting, where a table of all pairs would be too large
    for name in ("wins_i", "wins_j", "ties"):
        whole = getattr(battle_pairs(battles), name)
        met = battle_pairs(battles).met > 0
        np.testing.assert_allclose(getattr(few, name)[few.met > 0], whole[met], atol=1e-12)


@given(logs(), st.integers(0, 2**32))
def test_units_against_the_loop(battles, seed):
    rng = np.random.default_rng(seed)
    unit = rng.integers(0, 5, len(battles))
    tables = UnitCounts.of(battles, unit)
    counts = rng.integers(0, 3, (4, tables.n_units)).astype(float)
    drawn = tables.resampled(counts)
    for b, times in enumerate(counts):
        same(WinCounts(drawn.wins[b], drawn.ties[b]), naive_log(battles, times[unit]))


@given(logs(), st.integers(0, 2**32))
def test_units_add_up_and_are_won(battles, seed):
    """Totals over the units, and in how many of them each of a pair came out ahead."""
    unit = np.random.default_rng(seed).integers(0, 4, len(battles))
    tables = UnitCounts.of(battles, unit)
    same(tables.pairs().tables(), naive_log(battles))
    first, second = tables.ahead()
    each = [naive_log(battles, (unit == u).astype(float))[0] for u in range(tables.n_units)]
    for k, (i, j) in enumerate(zip(tables.i, tables.j, strict=True)):
        leads = [wins[i, j] - wins[j, i] for wins in each]
        assert first[k] == sum(lead > 1e-9 for lead in leads)
        assert second[k] == sum(lead < -1e-9 for lead in leads)


@given(logs(), st.integers(0, 2**32))
def test_sorted_battles_do_not_depend_on_rows_or_sides(battles, seed):
    rng = np.random.default_rng(seed)
    unit, order = rng.integers(0, 4, len(battles)), rng.permutation(len(battles))
    turned = Battles(
        battles.right, battles.left, 1 - battles.outcome, battles.n, battles.weight
    ).take(order)
    (one, units), (two, others) = sorted_battles(battles, unit), sorted_battles(turned, unit[order])
    assert units.tolist() == others.tolist() == sorted(unit.tolist())
    for name in ("left", "right", "outcome", "weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    same(battle_counts(one), naive_log(battles))


@given(st.integers(1, 4).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2**32))))
def test_scores_as_battles_count_the_same(case):
    n, seed = case
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (n, 6)).astype(float)
    scores[rng.random(scores.shape) < 0.2] = NAN
    for tolerance in (0.0, 1.0):
        expected = win_counts(scores, tolerance=tolerance)
        log = score_battles(scores, tolerance=tolerance)
        same(battle_counts(log), (expected.wins, expected.ties))


def test_drawn_battles_have_the_right_mean_and_spread():
    counts = WinCounts(
        np.array([[0.0, 60, 5], [30, 0, 0], [5, 0, 0]]),
        np.array([[0.0, 10, 0], [10, 0, 40], [0, 40, 0]]),
    )
    drawn = resampled_battles(counts, 4000, np.random.default_rng(0))
    assert (drawn.ties == np.swapaxes(drawn.ties, 1, 2)).all()
    error = np.sqrt(60)
    np.testing.assert_allclose(drawn.wins.mean(axis=0), counts.wins, atol=4 * error / np.sqrt(4000))
    np.testing.assert_allclose(drawn.ties.mean(axis=0), counts.ties, atol=4 * error / np.sqrt(4000))
    assert drawn.wins[:, 0, 1].std() == pytest.approx(error, rel=0.05)
    assert (drawn.wins[:, 1, 2] == 0).all()


def test_weighted_battles_are_not_resampled_one_by_one():
    halves = np.array([[0.0, 0.5], [1, 0]])
    with pytest.raises(UsageError, match="resample units"):
        resampled_battles(WinCounts(halves, np.zeros((2, 2))), 3, np.random.default_rng(0))
    none = resampled_battles(WinCounts(*np.zeros((2, 2, 2))), 3, np.random.default_rng(0))
    assert not none.met.any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"left": np.array([1, 1])}, "meets itself"),
        ({"outcome": np.array([1.0, 1.5])}, "0..1"),
        ({"outcome": np.array([1.0, NAN])}, "0..1"),
        ({"weight": np.array([1.0, -1.0])}, "from 0 to"),
        ({"weight": np.array([1.0, NAN])}, "from 0 to"),
        ({"weight": np.array([1.0, np.inf])}, "from 0 to"),
    ],
)
def test_bad_columns_are_refused(changes, message):
    good = Battles(np.array([0, 1]), np.array([1, 0]), np.array([1.0, 0.5]), 2)
    with pytest.raises(UsageError, match=message):
        replace(good, **changes)
