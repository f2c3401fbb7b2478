"""Intervals of leads, both ways from one sort, are those of each pair alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.core.errors import UsageError
from steelyard.stats.resampling import bootstrap
from steelyard.stats.resampling.gapintervals import gap_intervals

CELLS = st.one_of(st.integers(-2, 2).map(float), st.floats(-5, 5))
DRAWN = arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 5)), elements=CELLS)


@given(replicates=DRAWN, level=st.sampled_from([0.5, 0.9, 0.95, 0.987]))
def test_as_each_pair_alone(replicates, level):
    low, high = gap_intervals(replicates, level)
    for i in range(replicates.shape[1]):
        ends = bootstrap.interval(replicates[:, i : i + 1] - replicates, level)
        for found, expected in zip((low[i], high[i]), ends, strict=True):
            np.testing.assert_array_equal(found, expected)
            assert not np.signbit(found[found == 0]).any()


def test_each_pair_is_sorted_once(monkeypatch):
    sizes = []
    whole = np.sort

    def spied(values, axis):
        sizes.append(values.size)
        return whole(values, axis=axis)

    monkeypatch.setattr(np, "sort", spied)
    gap_intervals(np.random.default_rng(0).normal(size=(50, 9)))
    assert sum(sizes) == 50 * 9 * 8 / 2


def test_bad_level():
    with pytest.raises(UsageError, match="level"):
        gap_intervals(np.zeros((2, 2)), 1.0)
