"""Rank tests: against scipy, and signed ranks against all signs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.core.errors import UsageError
from steelyard.stats.paired.ranktests import rank_sum_matrix, signed_rank

small = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=6)
large = st.lists(st.integers(0, 5).map(float), min_size=21, max_size=25)


@given(small, small)
def test_rank_sum_is_exact_for_small_samples(a, b):
    """All ways to choose which of the values are those of the first sample."""
    p = rank_sum_matrix([np.array(a), np.array(b)])
    if len({*a, *b}) == 1:
        assert p[0, 1] == p[1, 0] == 1
        return
    ranks = stats.rankdata([*a, *b])
    won = ranks[: len(a)].sum()
    null = np.array([sum(x) for x in itertools.combinations(ranks, len(a))])
    assert p[0, 1] == pytest.approx((null >= won - 1e-9).mean(), abs=1e-12)
    assert p[1, 0] == pytest.approx((null <= won + 1e-9).mean(), abs=1e-12)


def test_exact_rank_sums_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for n, m in ((20, 20), (3, 100), (100, 3), (1, 400)):
        x, y = rng.normal(0.3, 1, n), rng.normal(0, 1, m)
        found = rank_sum_matrix([x, y])[0, 1]
        expected = stats.mannwhitneyu(x, y, alternative="greater", method="exact").pvalue
        assert found == pytest.approx(expected, abs=1e-12)


@given(large, large)
def test_rank_sum_against_scipy(a, b):
    x, y = np.array(a), np.array(b)
    p = rank_sum_matrix([x, y])
    if len({*a, *b}) == 1:
        assert p[0, 1] == p[1, 0] == 1
        return
    for one, other, found in ((x, y, p[0, 1]), (y, x, p[1, 0])):
        expected = stats.mannwhitneyu(one, other, alternative="greater", method="asymptotic")
        assert found == pytest.approx(expected.pvalue, abs=1e-12)


def test_rank_sum_skips_nan_and_the_diagonal():
    p = rank_sum_matrix([np.array([1.0, np.nan, 5]), np.array([2.0]), np.array([np.nan])])
    assert np.isnan(np.diagonal(p)).all()
    assert np.isnan(p[2]).all()
    assert np.isnan(p[:, 2]).all()
    assert p[0, 1] == rank_sum_matrix([np.array([1.0, 5]), np.array([2.0])])[0, 1]


def naive_signed_rank(differences, alternative):
    """All sign vectors of the mean ranks of what is not zero."""
    x = [d for d in differences if d]
    ranks = stats.rankdata(np.abs(x))
    t = float(np.sign(x) @ ranks)
    null = [float(np.array(s) @ ranks) for s in itertools.product((1, -1), repeat=len(x))]
    upper = np.mean([v >= t - 1e-9 for v in null])
    lower = np.mean([v <= t + 1e-9 for v in null])
    return {"greater": upper, "less": lower, "two-sided": min(1, 2 * min(upper, lower))}[
        alternative
    ]


@given(
    st.lists(st.integers(-3, 4).map(float), min_size=1, max_size=9),
    st.sampled_from(["greater", "less", "two-sided"]),
)
def test_signed_rank_is_exact_with_ties(differences, alternative):
    found = signed_rank(differences, alternative=alternative)
    if not any(differences):
        assert found == 1
    else:
        expected = naive_signed_rank(differences, alternative)
        assert found == pytest.approx(expected, abs=1e-12)


def test_signed_rank_without_ties_is_scipy_exact():
    x = np.array([1.5, -0.4, 2.2, 0.9, -3.1, 4.0, 5.5])
    for alternative in ("greater", "less", "two-sided"):
        expected = stats.wilcoxon(x, alternative=alternative, method="exact").pvalue
        assert signed_rank(x, alternative=alternative) == pytest.approx(expected, abs=1e-12)


def test_signed_ranks_of_very_many():
    """More untied ranks than can be counted: normal, not an error."""
    x = np.random.default_rng(0).normal(0.02, 1, 3000)
    for alternative in ("greater", "less", "two-sided"):
        expected = stats.wilcoxon(x, alternative=alternative, correction=False).pvalue
        assert signed_rank(x, alternative=alternative) == pytest.approx(expected, abs=1e-6)


def test_signed_rank_of_nothing():
    assert np.isnan(signed_rank([]))
    assert np.isnan(signed_rank([np.nan]))
    assert signed_rank([0.0, 0.0]) == 1
    with pytest.raises(UsageError, match="did you mean 'greater'"):
        signed_rank([1.0], alternative="greatest")
