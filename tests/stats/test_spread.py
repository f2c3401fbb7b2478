"""Ease of segments, worth of pairing, sizes of differences between equals: against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.spread import (
    SizeCounts,
)


def naive_threshold(sizes, share):
    """Try every size, and any difference at all."""
    n = len(sizes)
    if sum(x > 0 for x in sizes) <= share * n:
        return 0.0
    for t in sorted({x for x in sizes if x > 0}):
        if sum(x >= t for x in sizes) <= share * n + 1e-9:
            return t
    return float("nan")


@given(st.lists(st.integers(-8, 8), min_size=1, max_size=60), st.sampled_from([0.05, 0.2, 0.5]))
def test_thresholds_against_loops(values, share):
    gap = np.array(values, dtype=float)
    counts = SizeCounts.of(gap, np.zeros(len(gap), dtype=int), 1)
    one = np.ones((1, 1))
    sizes = np.abs(gap)
    result = counts.thresholds(one, share)[0]
    assert result == pytest.approx(naive_threshold(sizes.tolist(), share), nan_ok=True)
    for t in (0.0, 1.0, 4.0):
        expected = ((sizes >= t) & (sizes > 0)).mean()
        assert counts.at_least(one, t)[0] == pytest.approx(expected)
    if not np.isnan(result):
        assert counts.at_least(one, float(result))[0] <= share + 1e-9


@given(st.integers(0, 10_000), st.integers(4, 40), st.sampled_from([0.1, 0.2, 0.3, 0.5]))
def test_a_resample_is_what_copied_units_give(seed, n_units, share):
    rng = np.random.default_rng(seed)
    gap, unit = rng.integers(-4, 9, 40).astype(float), rng.integers(0, n_units, 40)
    drawn = rng.multinomial(n_units, np.full(n_units, 1 / n_units))
    result = SizeCounts.of(gap, unit, n_units).thresholds(drawn[None].astype(float), share).item()
    expected = naive_threshold(np.repeat(np.abs(gap), drawn[unit]).tolist(), share)
    assert result == pytest.approx(expected, nan_ok=True)


def test_edges():
    nothing = SizeCounts.of(np.array([]), np.array([], dtype=int), 1)
    assert np.isnan(nothing.thresholds(np.ones((1, 1)), 0.05)).all()
    assert np.isnan(nothing.at_least(np.ones((1, 1)), 5)).all()
    same = SizeCounts.of(np.zeros(9), np.zeros(9, dtype=int), 1)
    assert same.thresholds(np.ones((1, 1)), 0.05).tolist() == [0.0]
    rounded = SizeCounts.of(np.array([0.1 + 0.2, 0.3]), np.zeros(2, dtype=int), 1)
    assert len(rounded.sizes) == 1
