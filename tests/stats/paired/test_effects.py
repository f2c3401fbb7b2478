"""Effects of all pairs of systems at once are what each pair gives alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.stats.paired.tests import cliffs_delta, standardised_difference, superiority
from steelyard.stats.strength.wins import win_counts

NAN = float("nan")
CELLS = st.one_of(st.integers(-3, 3).map(float), st.just(NAN), st.floats(-5, 5))
SCORES = arrays(np.float64, st.tuples(st.integers(2, 4), st.integers(1, 14)), elements=CELLS)


def pairs(scores):
    """Each pair i < j with the scores that both have."""
    for i, j in itertools.combinations(range(len(scores)), 2):
        both = ~np.isnan(scores[i] - scores[j])
        yield i, j, scores[i][both], scores[j][both]


@given(scores=SCORES, tolerance=st.sampled_from([0.0, 0.5, 1.0]))
def test_superiority(scores, tolerance):
    found = superiority(win_counts(scores, tolerance=tolerance))
    for i, j, x, y in pairs(scores):
        if not x.size:
            assert np.isnan([found[i, j], found[j, i]]).all()
            continue
        gap = x - y
        share = ((gap > tolerance).sum() + 0.5 * (np.abs(gap) <= tolerance).sum()) / gap.size
        assert (found[i, j], found[j, i]) == (share, 1 - share)


@given(scores=SCORES)
def test_cliffs_delta(scores):
    found = cliffs_delta(scores)
    for i, j in itertools.combinations(range(len(scores)), 2):
        x, y = (row[~np.isnan(row)] for row in scores[[i, j]])
        if not x.size * y.size:
            assert np.isnan(found[i, j])
            continue
        cross = np.sign(x[:, None] - y[None, :])
        assert found[i, j] == cross.sum() / cross.size == -found[j, i]


@given(scores=SCORES)
def test_standardised_difference(scores):
    found = standardised_difference(scores)
    for i, j, x, y in pairs(scores):
        gap = x - y
        if gap.size < 2 or gap.std() <= 1e-9 * np.abs(gap).max():
            continue
        assert found[i, j] == pytest.approx(gap.mean() / gap.std(ddof=1), rel=1e-9, abs=1e-9)
        assert found[j, i] == -found[i, j]


def test_a_constant_difference_has_no_size():
    scores = np.random.default_rng(0).normal(size=30)
    assert np.isnan(standardised_difference(np.stack([scores, scores + 0.1]))).all()
