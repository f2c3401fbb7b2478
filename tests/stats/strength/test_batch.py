"""Strengths of many resamples at once against one fit after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.stats.ranks import ranks
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength.bradleyterry import (
    TIES,
    bradley_terry,
    bradley_terry_batch,
    segment_points,
)
from steelyard.stats.strength.wins import WinCounts, resampled_wins, win_counts


@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(1, 8),
    st.sampled_from(TIES),
    st.sampled_from([0.0, 0.2]),
)
def test_against_single_fits(seed, n, n_segments, ties_as, prior):
    """Few segments, so that many resamples fall apart."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (n, n_segments)).astype(float)
    counts = resampled_wins(scores, segment_counts(6, n_segments, rng))
    batch = bradley_terry_batch(counts, ties_as=ties_as, prior=prior)
    for b in range(6):
        fit = bradley_terry(counts.wins[b], counts.ties[b], ties_as=ties_as, prior=prior)
        assert batch.connected[b] == fit.connected
        np.testing.assert_array_equal(batch.ranks[b], fit.ranks)
        if fit.connected:
            np.testing.assert_allclose(batch.strength[b], fit.strength, atol=1e-9)
            np.testing.assert_allclose(batch.log_strength[b], fit.log_strength, atol=1e-8)
            continue
        assert np.isnan(batch.log_strength[b]).all()
        top = list(fit.components[0])
        if np.isnan(fit.ranks[top]).any():
            assert np.isnan(batch.strength[b]).all()
        else:
            assert batch.strength[b].sum() == pytest.approx(1)
            assert batch.strength[b, top].sum() == pytest.approx(1)


def test_the_limit_is_where_a_vanishing_prior_leads():
    wins = np.array([[0.0, 2, 3, 4], [1, 0, 2, 2], [0, 0, 0, 3], [0, 0, 1, 0]])[None]
    counts = WinCounts(wins, np.zeros_like(wins))
    fit = bradley_terry_batch(counts)
    assert not fit.connected[0]
    assert fit.ranks[0].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(fit.strength[0], [2 / 3, 1 / 3, 0, 0])
    nearly = bradley_terry_batch(counts, prior=1e-7)
    np.testing.assert_allclose(fit.strength, nearly.strength, atol=1e-3)


def test_starts_change_nothing():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5, 40)) + np.arange(5)[:, None] / 5
    counts = resampled_wins(scores, segment_counts(20, 40, rng))
    whole = bradley_terry_batch(counts)
    data = win_counts(scores)
    start = bradley_terry(data.wins, data.ties).log_strength
    warm = bradley_terry_batch(counts, start=start)
    np.testing.assert_allclose(warm.strength, whole.strength, atol=1e-10)
    prior = bradley_terry_batch(counts, prior=0.1, start=start)
    np.testing.assert_allclose(
        prior.strength, bradley_terry_batch(counts, prior=0.1).strength, atol=1e-10
    )


def test_models_of_ties_in_resamples_with_few_of_them():
    """Rows without a tie, or without two that beat each other, take the long way."""
    wins = np.zeros((3, 2, 2))
    ties = np.zeros((3, 2, 2))
    wins[0] = [[0, 4], [2, 0]]  # no tie
    wins[1] = [[0, 4], [0, 0]]  # nobody beat each other
    ties[1] = ties[2] = [[0, 2], [2, 0]]
    batch = bradley_terry_batch(WinCounts(wins, ties), ties_as="davidson")
    assert batch.connected.tolist() == [True, False, True]
    np.testing.assert_allclose(batch.strength, [[2 / 3, 1 / 3], [1.0, 0.0], [0.5, 0.5]])
    assert batch.ranks.tolist() == [[1, 2], [1, 2], [1, 1]]


def test_empty_batches():
    empty = bradley_terry_batch(WinCounts(np.zeros((0, 3, 3)), np.zeros((0, 3, 3))))
    assert empty.strength.shape == (0, 3)
    assert empty.ranks.shape == (0, 3)
    one = bradley_terry_batch(WinCounts(np.zeros((2, 1, 1)), np.zeros((2, 1, 1))))
    assert one.strength.tolist() == [[1], [1]]


# ---------------------------------------------------------------- points

SCORES = st.tuples(st.integers(1, 6), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 6).map(float))
)


@pytest.mark.parametrize("ties_as", ["half", "second"])
@given(scores=SCORES, tolerance=st.sampled_from([0.0, 1.0]))
def test_points_rank_as_bradley_terry(scores, tolerance, ties_as):
    points = segment_points(scores, ties_as=ties_as, tolerance=tolerance).sum(axis=1)
    counts = win_counts(scores, tolerance=tolerance)
    fit = bradley_terry(counts.wins, counts.ties, ties_as=ties_as)
    assert ranks(points).tolist() == fit.ranks.tolist()
    if ties_as == "half":
        assert points == pytest.approx(counts.wins.sum(axis=1) + counts.ties.sum(axis=1) / 2)
    weak = bradley_terry(counts.wins, counts.ties, ties_as=ties_as, prior=0.7)
    assert ranks(points).tolist() == weak.ranks.tolist()


@pytest.mark.parametrize("ties_as", ["half", "second"])
@given(scores=SCORES, tolerance=st.sampled_from([0.0, 1.0]))
def test_points_are_counted_one_by_one(scores, tolerance, ties_as):
    result = segment_points(scores, ties_as=ties_as, tolerance=tolerance)
    for i, own in enumerate(scores):
        for s, value in enumerate(own):
            expected = 0.0
            for j, rival in enumerate(scores[:, s]):
                if value - rival > tolerance:
                    expected += 1
                elif i != j and abs(value - rival) <= tolerance:
                    expected += 0.5 if ties_as == "half" else float(j < i)
            assert result[i, s] == expected
