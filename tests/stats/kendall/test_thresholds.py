"""Counts of pairs under many thresholds against one threshold after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import ShapeError
from steelyard.stats.kendall.thresholds import threshold_counts

NAN = float("nan")
GAPS = st.one_of(st.integers(-6, 6).map(float), st.just(NAN))


def naive(human, metric, threshold, epsilon):
    """Concordant, discordant, tied by people, by the metric, by both."""
    counts = [0] * 5
    for h, m in zip(human, metric, strict=True):
        if np.isnan(h) or np.isnan(m):
            continue
        people = h == 0 or abs(h) < threshold
        machine = abs(m) <= epsilon
        if people or machine:
            counts[4 if people and machine else 2 if people else 3] += 1
        else:
            counts[0 if (h > 0) == (m > 0) else 1] += 1
    return counts


@given(
    st.lists(st.tuples(GAPS, GAPS), max_size=30),
    st.lists(st.integers(0, 7).map(float), min_size=1, max_size=4),
    st.integers(0, 2),
)
def test_all_thresholds_are_one_after_the_other(pairs, thresholds, epsilon):
    human = np.array([h for h, _ in pairs], dtype=float)
    metric = np.array([m for _, m in pairs], dtype=float)
    found = threshold_counts(human, metric, thresholds, epsilon=epsilon)
    rows = np.stack([found.concordant, found.discordant, found.human_ties, found.metric_ties,
                     found.both_ties], axis=1)  # fmt: skip
    assert rows.tolist() == [naive(human, metric, t, epsilon) for t in thresholds]


def test_a_difference_that_rounding_made_smaller_is_kept():
    gap = np.array([25.3 - 0.3])  # 25.000000000000004 or just below 25, by the order
    found = threshold_counts(np.array([0.1 + 0.2 - 0.3 + 25 - 1e-12]), gap, [25])
    assert found.concordant.tolist() == [1]


def test_shapes_must_agree():
    with pytest.raises(ShapeError):
        threshold_counts(np.zeros(2), np.zeros(3), [1])
