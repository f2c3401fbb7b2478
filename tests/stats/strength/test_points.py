"""Points order systems as Bradley-Terry strengths do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.core.errors import UsageError
from steelyard.stats.ranks import ranks
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength import points as points_module
from steelyard.stats.strength.bradleyterry import bradley_terry, bradley_terry_batch
from steelyard.stats.strength.connectivity import all_connected
from steelyard.stats.strength.points import (
    connected_points,
    resampled_strengths,
    segment_points,
)
from steelyard.stats.strength.wins import resampled_wins, win_counts

SCORES = st.tuples(st.integers(1, 6), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 6).map(float))
)


@pytest.mark.parametrize("ties_as", ["half", "second"])
@settings(max_examples=40)
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


def test_bad_arguments():
    with pytest.raises(UsageError, match="unknown treatment of ties 'drop'"):
        segment_points(np.zeros((2, 2)), ties_as="drop")
    with pytest.raises(UsageError, match="every system on every segment"):
        segment_points([[1.0, np.nan], [1.0, 2.0]])


@pytest.mark.parametrize("ties_as", ["half", "second"])
@given(scores=SCORES, tolerance=st.sampled_from([0.0, 1.0]))
def test_points_are_counted_one_by_one(scores, tolerance, ties_as):
    found = segment_points(scores, ties_as=ties_as, tolerance=tolerance)
    for i, own in enumerate(scores):
        for s, value in enumerate(own):
            expected = 0.0
            for j, rival in enumerate(scores[:, s]):
                if value - rival > tolerance:
                    expected += 1
                elif i != j and abs(value - rival) <= tolerance:
                    expected += 0.5 if ties_as == "half" else float(j < i)
            assert found[i, s] == expected


def drawn(scores, size=30):
    return segment_counts(size, scores.shape[1], np.random.default_rng(2))


@pytest.mark.parametrize("ties_as", ["half", "second"])
@settings(max_examples=40)
@given(scores=SCORES, tolerance=st.sampled_from([0.0, 1.0]))
def test_strengths_of_resamples_are_those_of_their_tables(scores, tolerance, ties_as):
    """To the bit, also where a resample does not connect all systems."""
    counts = drawn(scores)
    tables = resampled_wins(scores, counts, tolerance=tolerance)
    expected = bradley_terry_batch(tables, ties_as=ties_as).strength
    start = np.zeros(len(scores))
    found = resampled_strengths(scores, counts, start, ties_as=ties_as, tolerance=tolerance)
    np.testing.assert_array_equal(found, expected)
    won = tables.wins + (tables.ties / 2 if ties_as == "half" else np.tril(tables.ties))
    connects = all_connected(won > 0)
    sums = connected_points(won.sum(axis=2), counts.sum(axis=1))
    assert sums.tolist() == connects.tolist()


@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_one_factorisation_serves_many_systems(spread, monkeypatch):
    """Near the data it converges; far from it, Newton's method takes over."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 150)) + spread * rng.normal(size=(20, 1))
    counts = drawn(scores)
    tables = win_counts(scores)
    start = bradley_terry(tables.wins, tables.ties).log_strength
    expected = resampled_strengths(scores, counts, start)
    monkeypatch.setattr(points_module, "_MANY", 2)
    found = resampled_strengths(scores, counts, start)
    assert np.isfinite(found).all()
    assert (found != expected).any(), "the other way was taken"
    np.testing.assert_allclose(np.log(found), np.log(expected), atol=1e-9)
