"""Points order systems as Bradley-Terry strengths do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.core.errors import UsageError
from steelyard.stats.ranks import ranks
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import segment_points, win_counts

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
