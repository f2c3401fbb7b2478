"""Power of tests against simulations and scipy."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.stats.power import (
    needed,
    normal_power,
    resampled_p,
    sign_power,
    t_power,
    williams_power,
)

Side = Literal["two-sided", "greater"]


@pytest.mark.parametrize(("effect", "n", "two_sided"), [(0.3, 50, True), (0.8, 8, False)])
def test_t_power_is_how_often_a_t_test_finds_it(effect, n, two_sided):
    x = np.random.default_rng(0).normal(effect, 1, (8000, n))
    side: Side = "two-sided" if two_sided else "greater"
    p = np.asarray(reference.ttest_1samp(x, 0, axis=1, alternative=side).pvalue)
    found = (p <= 0.05).mean()
    assert t_power(effect, n, two_sided=two_sided) == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize(
    ("win", "n", "two_sided"), [(0.7, 40, True), (0.9, 7, False), (0.5, 3, True)]
)
def test_sign_power_by_enumeration(win, n, two_sided):
    side: Side = "two-sided" if two_sided else "greater"
    found = sum(
        reference.binom.pmf(k, n, win)
        for k in range(n + 1)
        if reference.binomtest(k, n, 0.5, alternative=side).pvalue <= 0.05
    )
    assert sign_power(win, n, two_sided=two_sided) == pytest.approx(found, abs=1e-12)


def test_ties_take_units_away():
    assert sign_power(0.8, 100, tie=0.5) == sign_power(0.8, 50)
    assert sign_power(0.8, 1, tie=0.9) == 0


def test_no_effect_is_found_at_the_level():
    assert t_power(0, 30) == pytest.approx(0.05)
    assert normal_power(0.0, np.array([1.0]))[0] == pytest.approx(0.05)
    assert normal_power(0.0, np.array([1.0]), two_sided=False)[0] == pytest.approx(0.05)
    assert sign_power(0.5, 200) <= 0.05


def test_williams_power_is_near_simulated_correlations():
    r = (0.9, 0.7, 0.75)
    matrix = np.array([[1, r[0], r[1]], [r[0], 1, r[2]], [r[1], r[2], 1]])
    rng = np.random.default_rng(1)
    from steelyard.stats.significance import williams

    x = rng.multivariate_normal(np.zeros(3), matrix, (3000, 20))
    z = x - x.mean(axis=1, keepdims=True)
    cov = np.einsum("bni,bnj->bij", z, z)
    spread = np.sqrt(np.einsum("bii->bi", cov))
    found = cov / spread[:, :, None] / spread[:, None, :]
    p = williams(found[:, 0, 1], found[:, 0, 2], found[:, 1, 2], 20, alternative="two-sided")
    assert williams_power(*r, 20) == pytest.approx((p <= 0.05).mean(), abs=0.06)
    assert williams_power(*r, 3) == 0
    assert np.isnan(williams_power(0.99, -0.99, 0.99, 20))


def test_needed_is_the_least():
    n = needed(lambda k: t_power(0.2, k), 0.9)
    assert n is not None
    assert t_power(0.2, n) >= 0.9 > t_power(0.2, n - 1)
    assert needed(lambda _: 0.1, 0.8) is None
    assert needed(lambda _: 1.0, 0.8) == 2
    with pytest.raises(UsageError, match="between 0 and 1"):
        needed(lambda _: 1.0, 1.0)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_resamples_are_copies(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.3, 1, 30).round(2)
    counts = rng.multinomial(40, np.full(30, 1 / 30), size=3)
    for row, t, permutation, sign in zip(
        counts,
        *(resampled_p(test, x, counts) for test in ("t", "permutation", "sign")),
        strict=True,
    ):
        y = np.repeat(x, row)
        assert t == pytest.approx(reference.ttest_1samp(y, 0).pvalue, abs=1e-9)
        wins, losses = int((y > 0).sum()), int((y < 0).sum())
        assert sign == pytest.approx(reference.binomtest(wins, wins + losses).pvalue, abs=1e-9)
        flips = rng.choice([-1.0, 1.0], (4000, len(y))) @ y
        beyond = (np.abs(flips) >= abs(y.sum()) - 1e-9).mean()
        assert permutation == pytest.approx(beyond, abs=0.05)


def test_an_unknown_test_is_refused():
    with pytest.raises(UsageError, match="no power of test 'z'"):
        resampled_p("z", np.ones(3), np.ones((1, 3)))
