"""Power of tests against simulations and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.stats.paired.power import (
    needed,
    normal_power,
    permutation_needed,
    resampled_p,
    sign_power,
    t_power,
)
from steelyard.stats.paired.tests import permutation_test


@pytest.mark.parametrize(("effect", "n"), [(0.3, 50), (0.8, 8)])
def test_t_power_is_how_often_a_t_test_finds_it(effect, n):
    x = np.random.default_rng(0).normal(effect, 1, (4000, n))
    p = np.asarray(reference.ttest_1samp(x, 0, axis=1).pvalue)
    assert t_power(effect, n) == pytest.approx((p <= 0.05).mean(), abs=0.03)


def test_needed_is_the_least():
    n = needed(lambda k: t_power(0.2, k), 0.9)
    assert t_power(0.2, n) >= 0.9 > t_power(0.2, n - 1)
    assert needed(lambda _: 0.1, 0.8) is None
    assert normal_power(0.0, np.array([1.0]))[0] == pytest.approx(0.05)
    assert needed(lambda _: 1.0, 0.8) == 2


@pytest.mark.parametrize(("win", "target"), [(0.75, 0.8), (0.6, 0.8), (0.9, 0.5)])
def test_needed_for_the_sign_test_is_enough_from_there_on(win, target):
    n = needed(lambda k: sign_power(win, k), target, ragged=True)
    assert sign_power(win, n - 1) < target
    assert all(sign_power(win, k) >= target for k in range(n, 2 * n))
    # Bisection alone may stop at a tooth before that.
    first = needed(lambda k: sign_power(win, k), target)
    assert first <= n


@given(st.integers(1, 300), st.floats(1e-6, 0.999), st.sampled_from([0.5, 0.7, 0.9]))
def test_sign_power_by_enumeration(n, alpha, win):
    allowed = np.flatnonzero(reference.binom.cdf(np.arange(n + 1), n, 0.5) <= alpha / 2)
    expected = 0.0
    if allowed.size:
        expected = sum(reference.binom.cdf(allowed[-1], n, p) for p in (win, 1 - win))
    assert sign_power(win, n, alpha) == pytest.approx(min(expected, 1))


@pytest.mark.parametrize("kind", ["normal", "heavy", "binary"])
def test_units_needed_by_the_sign_flip_test_are_enough(kind):
    rng = np.random.default_rng(3)
    x = {
        "normal": rng.normal(0.7, 1, 60),
        "heavy": rng.standard_t(2, 60) + 0.9,
        "binary": rng.choice([1.0, 0.0, -1.0], 60, p=[0.5, 0.3, 0.2]),
    }[kind]
    n = permutation_needed(x, 0.05, 0.8, np.random.default_rng(0))

    def power(size):
        drawn = np.random.default_rng(1).choice(x, (150, size))
        p = [permutation_test(np.stack([row, np.zeros(size)])).p[0, 1] for row in drawn]
        return np.mean(np.array(p) < 0.05)

    assert 0.68 <= power(n) <= 0.93
    assert power(n // 2) < 0.75


def test_units_needed_at_the_edges():
    rng = np.random.default_rng(0)
    assert permutation_needed(np.zeros(5), 0.05, 0.8, rng) is None
    assert permutation_needed(np.ones(5), 0.0, 0.8, rng) is None
    assert permutation_needed(np.full(5, 0.1), 0.05, 0.8, rng) == 6
    assert permutation_needed(np.array([3.0]), 0.05, 0.8, rng) == 6
    assert permutation_needed(np.array([1.0, -1 + 1e-9]), 0.05, 0.8, rng) is None
    many = np.random.default_rng(1).normal(0.1, 1, 400)
    effect = many.mean() / many.std(ddof=1)
    expected = needed(lambda n: t_power(effect, n), 0.8)
    assert permutation_needed(many, 0.05, 0.8, rng) == expected


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_resamples_are_copies(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(0.3, 1, 30).round(2)
    counts = rng.multinomial(40, np.full(30, 1 / 30), size=3)
    for row, t, permutation, sign in zip(
        counts,
        *(
            resampled_p(test, x, np.ones(30), np.sign(x), counts)
            for test in ("t", "permutation", "sign")
        ),
        strict=True,
    ):
        y = np.repeat(x, row)
        assert t == pytest.approx(reference.ttest_1samp(y, 0).pvalue, abs=1e-9)
        wins, losses = int((y > 0).sum()), int((y < 0).sum())
        assert sign == pytest.approx(reference.binomtest(wins, wins + losses).pvalue, abs=1e-9)
        flips = rng.choice([-1.0, 1.0], (2000, len(y))) @ y
        beyond = (np.abs(flips) >= abs(y.sum()) - 1e-9).mean()
        assert permutation == pytest.approx(beyond, abs=0.06)
