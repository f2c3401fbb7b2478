"""Reliability of means over raters, against the formulas of the analysis of variance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import ShapeError
from steelyard.stats.components import nested_components
from steelyard.stats.reliability import (
    intraclass,
    one_way_components,
    one_way_sums,
    raters_needed,
    spearman_brown,
)


def naive(value, output):
    """The analysis of variance, as textbooks have it."""
    groups = [value[output == code] for code in np.unique(output)]
    n, k = len(value), len(groups)
    within = sum(((own - own.mean()) ** 2).sum() for own in groups) / (n - k)
    between = sum(len(own) * (own.mean() - value.mean()) ** 2 for own in groups) / (k - 1)
    size = (n - sum(len(own) ** 2 for own in groups) / n) / (k - 1)
    return (between - within) / size, within


@given(st.integers(0, 10_000), st.floats(-1e3, 1e3))
def test_components_are_those_of_the_textbook(seed, middle):
    rng = np.random.default_rng(seed)
    output = rng.integers(0, 6, 25)
    value = rng.normal(middle, 2.0, 25) + rng.normal(size=6)[output]
    found = [float(x) for x in one_way_components(one_way_sums(value, output)[0])]
    assert found == pytest.approx(naive(value, output), abs=1e-8)
    nested = nested_components(value[None], output)[0, 0]
    assert found == pytest.approx(nested[1:], abs=1e-8)


@given(st.integers(0, 10_000))
def test_a_resample_is_what_copied_outputs_give(seed):
    rng = np.random.default_rng(seed)
    output = np.repeat(np.arange(8), rng.integers(1, 4, 8))
    value = rng.normal(size=len(output)) + rng.normal(size=8)[output]
    group = (np.arange(8) // 2)[output]
    sums = one_way_sums(value, output, group, 4)
    counts = np.array([2.0, 0.0, 1.0, 1.0])
    found = [float(x) for x in one_way_components(counts @ sums)]
    copies = [(value[group == g], output[group == g]) for g in (0, 0, 2, 3)]
    drawn = np.concatenate([v for v, _ in copies])
    names = np.concatenate([o + 100 * k for k, (_, o) in enumerate(copies)])
    if len(names) > len(np.unique(names)):
        assert found == pytest.approx(naive(drawn, names), abs=1e-8)


def test_edges():
    alone = one_way_sums(np.array([1.0, 2.0]), np.array([0, 1]))[0]
    assert np.isnan(one_way_components(alone)).all()  # nobody was rated twice
    single = one_way_sums(np.array([1.0, 2.0]), np.array([0, 0]))[0]
    between, within = one_way_components(single)
    assert np.isnan(between)
    assert within == pytest.approx(0.5)
    same = one_way_sums(np.array([3.0, 3.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))[0]
    assert np.isnan(intraclass(*one_way_components(same)))  # nothing varies
    assert one_way_sums(np.array([]), np.array([], dtype=int)).tolist() == [[0.0] * 6]
    assert np.isnan(intraclass(np.nan, 1.0))
    assert spearman_brown(0.0, 10) == 0
    assert spearman_brown(1.0, 3) == 1
    assert raters_needed(1.0, 0.9) == 0
    with pytest.raises(ShapeError):
        one_way_sums(np.ones(2), np.array([0]))


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_needed_raters_give_what_is_asked(rho, target):
    assert spearman_brown(rho, raters_needed(rho, target)) == pytest.approx(target)


def test_spearman_brown_against_simulated_means():
    """The correlation of two means over k raters each is the reliability of one of them."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=20_000)
    for k in (1, 4, 15):
        one, other = (truth + rng.normal(0, 2, (k, len(truth))).mean(axis=0) for _ in range(2))
        assert np.corrcoef(one, other)[0, 1] == pytest.approx(spearman_brown(0.2, k), abs=0.02)
        assert np.corrcoef(truth, one)[0, 1] ** 2 == pytest.approx(spearman_brown(0.2, k), abs=0.02)
