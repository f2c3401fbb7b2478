"""Moments of all pairs against their differences; the series against the product of cosines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.stats.permutation import pairsums, tails
from steelyard.stats.permutation.pairsums import stacked_pair_sums
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.permutation.series import series_p


def pair_sums(x, i, j):
    return [part[0] for part in stacked_pair_sums([x], i, j)]


def naive_sums(x, i, j):
    gap = x[i] - x[j]
    return [(gap**power).sum(axis=1) for power in (1, 2, 4, 6)]


shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=7)
matrices = hnp.arrays(np.float64, shapes, elements=st.floats(-10, 10, width=32))


@given(matrices, st.sampled_from([0.0, 1e3]))
def test_sums_against_differences(x, shift):
    x = x + shift
    i, j = pair_index(len(x))
    for found, truth in zip(pair_sums(x, i, j), naive_sums(x, i, j), strict=True):
        np.testing.assert_allclose(found, truth, rtol=1e-5, atol=1e-9 * np.abs(x).max() + 1e-12)


def test_sums_of_systems_that_are_nearly_or_quite_the_same():
    rng = np.random.default_rng(0)
    x = 100 * rng.normal(size=(5, 400))
    x[1] = x[0] + 1e-7 * rng.normal(size=400)
    x[2] = x[3]
    i, j = pair_index(5)
    found, truth = pair_sums(x, i, j), naive_sums(x, i, j)
    for own, true, digits in zip(found[1:], truth[1:], (1e-9, 1e-6, 1e-6), strict=True):
        np.testing.assert_allclose(own, true, rtol=digits)
    assert found[1][(i == 2) & (j == 3)] == 0


def test_sums_in_parts(monkeypatch):
    x = np.random.default_rng(1).normal(size=(6, 101))
    i, j = pair_index(6)
    whole = pair_sums(x, i, j)
    monkeypatch.setattr(pairsums, "_CELLS", 60)
    for part, own in zip(pair_sums(x, i, j), whole, strict=True):
        np.testing.assert_allclose(part, own, rtol=1e-6, atol=1e-12)


@given(
    st.integers(2, 5), st.integers(3, 300), st.floats(0.5, 4), st.floats(0, 0.99),
    st.sampled_from([1e-9, 1.0, 1e9]), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_single_precision_moves_no_p_value(n, segments, weight, alike, scale, seed):
    rng = np.random.default_rng(seed)
    x = (1 - alike) * rng.normal(size=(n, segments)) + alike * rng.normal(size=segments)
    x = scale * np.sign(x) * np.abs(x) ** weight
    i, j = pair_index(n)
    ours = tails.expansion(*pair_sums(x, i, j))[0]
    np.testing.assert_allclose(
        ours, tails.expansion(*naive_sums(x, i, j))[0], rtol=0, atol=pairsums.ROUNDING
    )


def test_several_matrices_at_once():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, 4, 50)) ** 3
    x[1] *= 1e6
    i, j = pair_index(4)
    together = stacked_pair_sums(list(x), i, j)
    for place, matrix in enumerate(x):
        for part, own in zip(together, pair_sums(matrix, i, j), strict=True):
            np.testing.assert_array_equal(part[place], own)


def by_product(gap):
    """Mid-p of differences from the product of all cosines, with nodes to spare."""
    t, deviation = gap.sum(), np.sqrt((gap**2).sum())
    half = np.pi / (abs(t) + 9 * deviation)
    odd = np.arange(1, 401, 2)
    value = np.prod(np.cos(np.outer(odd * half, gap)), axis=1)
    return 0.5 - 2 / np.pi * (value * np.sin(odd * half * t) / odd).sum()


@given(st.integers(40, 600), st.floats(0.5, 3), st.floats(0, 0.3), st.integers(0, 2**32 - 1))
def test_the_bound_of_the_series_holds(n, weight, shift, seed):
    # Powers of normal scores have ever heavier tails; the bound must grow with them.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, n))
    x = np.sign(x) * np.abs(x) ** weight + [[shift], [0]]
    p, bound = series_p(*pair_sums(x, *pair_index(2)))
    assert abs(p[0] - by_product(x[0] - x[1])) <= bound[0]


def test_the_bound_is_useful_from_some_hundred_segments_on():
    rng = np.random.default_rng(5)
    bounds = [
        series_p(*pair_sums(rng.normal(size=(8, n)), *pair_index(8)))[1].max()
        for n in (200, 600, 1300, 5000)
    ]
    assert (np.array(bounds) <= [5e-4, 1e-6, 1e-7, 2e-8]).all()
    assert (np.diff(bounds) < 0).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_the_series_at_its_ends(sign):
    none = np.zeros((2, 5))
    p, bound = series_p(*pair_sums(none, *pair_index(2)))
    assert (p.tolist(), bound.tolist()) == ([0.5], [np.inf])
    far = np.stack([np.full(500, sign) + np.linspace(-0.3, 0.3, 500), np.zeros(500)])
    p, bound = series_p(*pair_sums(far, *pair_index(2)))
    assert p.tolist() == [0.0 if sign > 0 else 1.0]
    assert bound[0] < 1e-7
