"""Descriptive statistics against formulas written out, and hand-worked cases."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.data.evalset import ScoreTable
from steelyard.data.overview import score_facts
from steelyard.stats.arrays import median, quantile
from steelyard.stats.correlation import cell_pearson

NAN = float("nan")
matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.one_of(st.sampled_from([0.0, 1.0, 2.0, NAN]), st.floats(-5, 5)),
)


def facts(values):
    return score_facts("m", ScoreTable(values), None)


@given(matrices, st.floats(0, 1))
def test_quantile_and_median_against_numpy(values, q):
    for row, result in zip(values, quantile(values, q)[:, 0], strict=True):
        known = row[~np.isnan(row)]
        assert result == pytest.approx(np.quantile(known, q) if known.size else NAN, nan_ok=True)
    known = values[~np.isnan(values)]
    assert median(values) == pytest.approx(np.median(known) if known.size else NAN, nan_ok=True)


def naive_ties(values):
    tied = pairs = 0
    for column in values.T:
        for a, b in combinations(column, 2):
            if not (math.isnan(a) or math.isnan(b)):
                pairs += 1
                tied += a == b
    return tied / pairs if pairs else NAN


@given(matrices)
def test_shares_of_ties_and_of_missing_cells_against_counting(values):
    np.testing.assert_equal(facts(values).ties, naive_ties(values))
    assert facts(values).missing == np.isnan(values).mean()


@given(matrices, st.floats(0.1, 10), st.floats(-5, 5))
def test_pearson_against_numpy(values, scale, shift):
    other = np.roll(values, 1, axis=1)
    r, n = cell_pearson(values.ravel(), other.ravel())
    both = ~np.isnan(values.ravel()) & ~np.isnan(other.ravel())
    x, y = values.ravel()[both], other.ravel()[both]
    assert n == both.sum()
    if n < 2 or len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(r)
    elif np.ptp(x) > 1e-3 and np.ptp(y) > 1e-3:
        assert r == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
        moved, _ = cell_pearson(values.ravel() * scale + shift, other.ravel())
        assert moved == pytest.approx(r, abs=1e-6)
