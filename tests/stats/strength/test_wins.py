"""Counts of wins and ties against a loop over all pairs and segments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength import wins as module
from steelyard.stats.strength.wins import (
    PairWins,
    WinCounts,
    expected_wins,
    pair_wins,
    resampled_wins,
    win_counts,
    win_share,
)

NAN = float("nan")
# Eighths: their differences are exact, so that pairs on the tolerance are decided without rounding.
cells = st.one_of(st.just(NAN), st.integers(-8, 8).map(lambda k: k / 8))
matrices = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=cells)
)
tolerances = st.sampled_from([0.0, 0.125, 0.3, 2.0])


def test_met_of_resamples_is_that_of_each():
    wins = np.array([[[0.0, 3.0, 1.0], [2.0, 0.0, 0.0], [4.0, 5.0, 0.0]], np.zeros((3, 3))])
    ties = np.array([np.zeros((3, 3)), [[0.0, 1.0, 0.0], [1.0, 0.0, 7.0], [0.0, 7.0, 0.0]]])
    met = WinCounts(wins, ties).met
    assert met.tolist() == [
        [[0.0, 5.0, 5.0], [5.0, 0.0, 5.0], [5.0, 5.0, 0.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 7.0], [0.0, 7.0, 0.0]],
    ]


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
    for weights in (
        segment_counts(3, scores.shape[1], rng),
        rng.random((3, scores.shape[1])),  # no counts: float64 instead of float32
    ):
        counts = resampled_wins(scores, weights, tolerance=tolerance)
        for b, own in enumerate(weights):
            wins, ties = naive(scores, tolerance, own)
            np.testing.assert_allclose(counts.wins[b], wins, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(counts.ties[b], ties, rtol=1e-12, atol=1e-12)


def test_weights_leave_no_crumbs():
    """A system that always won has no losses and no ties, whatever the weights."""
    rng = np.random.default_rng(0)
    scores = np.array([np.ones(1000), np.zeros(1000)])
    counts = resampled_wins(scores, rng.random((20, 1000)))
    assert (counts.wins[:, 1, 0] == 0).all()
    assert (counts.ties == 0).all()
    scores[1, 0] = NAN
    counts = resampled_wins(scores, rng.random((20, 1000)))
    assert (counts.wins[:, 1, 0] == 0).all()
    assert (counts.ties == 0).all()


@pytest.mark.parametrize("shape", [(3, 5000), (300, 9), (260, 2100)])
def test_large_matrices_are_counted_in_blocks(shape, monkeypatch):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 5, shape).astype(float)
    scores[rng.random(shape) < 0.1] = NAN
    some = rng.choice(shape[0], 3, replace=False).tolist()
    counts = win_counts(scores)
    wins, ties = naive(scores[some])
    np.testing.assert_array_equal(counts.within(some).wins, wins)
    np.testing.assert_array_equal(counts.within(some).ties, ties)
    monkeypatch.setattr(module, "_CELLS", 10_000)
    once = resampled_wins(scores[:20], np.ones((1, shape[1])))
    np.testing.assert_array_equal(once.wins[0], counts.wins[:20, :20])
    np.testing.assert_array_equal(once.ties[0], counts.ties[:20, :20])


def test_a_difference_of_the_tolerance_is_a_tie_whatever_the_rounding():
    # 0.4 - 0.3 and 100.4 - 100.3 are more than 0.1 in binary, 0.3 - 0.2 is less.
    scores = np.array([[0.4, 0.3, 100.4, 0.41], [0.3, 0.2, 100.3, 0.3]])
    counts = win_counts(scores, tolerance=0.1)
    assert counts.wins.tolist() == [[0, 1], [0, 0]]
    assert counts.ties[0, 1] == 3


def test_what_is_no_matrix_or_no_tolerance_is_refused():
    with pytest.raises(ShapeError, match="systems x segments"):
        win_counts([1.0, 2.0])
    with pytest.raises(UsageError, match="tolerance"):
        win_counts([[1.0]], tolerance=-1)
    with pytest.raises(UsageError, match="tolerance"):
        win_counts([[1.0]], tolerance=NAN)
    with pytest.raises(ShapeError, match="3 segments"):
        resampled_wins(np.zeros((2, 3)), np.ones((1, 2)))


def test_infinite_scores_are_compared():
    counts = win_counts([[np.inf, -np.inf, np.inf], [0.0, 0.0, np.inf]])
    assert counts.wins.tolist() == [[0, 1], [1, 0]]
    assert counts.ties[0, 1] == 1


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


def test_expected_wins_by_hand():
    # A beat B 3 of 4 (one tie more), never met C; B and C only tied.
    wins = np.array([[0.0, 3, 0], [1, 0, 0], [0, 0, 0]])
    ties = np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    counts = WinCounts(wins, ties)
    np.testing.assert_allclose(expected_wins(counts), [3 / 4, 1 / 4, NAN])
    np.testing.assert_allclose(
        expected_wins(counts, ties_as="half"), [3.5 / 5, (1.5 / 5 + 0.5) / 2, 0.5]
    )
    share = win_share(counts)
    assert np.isnan(np.diagonal(share)).all()
    assert math.isnan(share[0, 2])
    with pytest.raises(UsageError, match="did you mean 'half'"):
        win_share(counts, ties_as="halve")
