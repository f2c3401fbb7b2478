"""Disagreement of rankings against definitions that read like the paper's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.stats.correlation import (
    joint_shares,
    order_disagreement,
    sets_differ,
    top_systems,
)

NAN = float("nan")
FULL = arrays(np.float64, (4, 6), elements=st.integers(0, 5).map(float))
HOLES = arrays(np.float64, (4, 6), elements=st.sampled_from([NAN, 0.0, 1.0, 2.0, 3.0]))


@given(first=FULL, second=FULL)
def test_order_is_rescaled_tau_b(first, second):
    result = order_disagreement(first, second)
    for k in range(4):
        if np.ptp(first[k]) == 0 or np.ptp(second[k]) == 0:
            assert np.isnan(result[k])
        else:
            tau = reference.kendalltau(first[k], second[k]).statistic
            assert result[k] == pytest.approx(1 - (tau + 1) / 2, abs=1e-12)


@given(scores=HOLES, n=st.integers(1, 4))
def test_top_by_counting_who_is_above(scores, n):
    result = top_systems(scores, n)
    for row, own in zip(scores, result, strict=True):
        for i in range(6):
            above = sum(other > row[i] for other in row)
            assert own[i] == (not np.isnan(row[i]) and above < n)


@given(first=HOLES, second=HOLES)
def test_sets(first, second):
    one, two = top_systems(first, 2), top_systems(second, 2)
    for k, result in enumerate(sets_differ(one, two)):
        a, b = (set(np.flatnonzero(top[k])) for top in (one, two))
        expected = NAN if not a or not b else float(a != b)
        assert result == pytest.approx(expected, nan_ok=True)


def test_rounding_makes_no_order():
    near = np.array([[0.3, 0.1 + 0.2, 0.1]])
    assert top_systems(near, 1).tolist() == [[True, True, False]]
    other = np.array([[0.5, 0.4, 0.1]])
    assert order_disagreement(near, other) == pytest.approx((1 - 2 / np.sqrt(6)) / 2)


@given(arrays(np.bool_, (3, 12)))
def test_joint_shares_by_counting(result):
    shares = joint_shares(result)
    for i, j in itertools.product(range(3), repeat=2):
        if i == j:
            assert shares[i, i] == pytest.approx(result[i].mean())
        elif not result[i].any():
            assert np.isnan(shares[i, j])
        else:
            assert shares[i, j] == pytest.approx(result[j][result[i]].mean())
