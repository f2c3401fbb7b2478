"""Wilcoxon's test as SciPy gives it, and p-values of domains put together."""

from __future__ import annotations

import math
import warnings
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm, wilcoxon

from steelyard.stats.paired.domaintests import directed_stouffer, scipy_wilcoxon, stouffer

NAN = float("nan")
SIZES = (1, 2, 5, 8, 14, 20, 49, 50, 51, 80)


Side = Literal["two-sided", "greater", "less"]


def by_scipy(gap: np.ndarray, alternative: Side) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(wilcoxon(gap, alternative=alternative).pvalue)
        except ValueError:  # a single difference of 0
            return NAN


@given(st.sampled_from(SIZES), st.sampled_from(["normal", "few", "zeros"]), st.integers(0, 10**6))
def test_p_values_are_those_of_scipy(n, kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "normal":  # neither ties nor zeros
        gap = rng.normal(0.3, 1, (2, n))
    else:
        gap = rng.integers(-3, 5, (2, n)).astype(float)
        gap[gap == 0] = 0.0 if kind == "zeros" else 1.0
    found = scipy_wilcoxon(gap)
    for row, own in enumerate(gap):
        sides: tuple[tuple[Side, np.ndarray], ...] = (
            ("two-sided", found.two_sided),
            ("greater", found.greater),
            ("less", found.less),
        )
        for alternative, p in sides:
            expected = by_scipy(own, alternative)
            assert p[row] == pytest.approx(expected, abs=1e-12, nan_ok=True), (own, alternative)


@pytest.mark.thorough
def test_thirteen_ties_are_tested_by_all_signs_and_fourteen_are_not():
    gap = np.array([1.0, 1, 2, 2, 3, -3, 0, 4, 5, -1, 2, 2, -4, 1])  # SciPy takes its time
    for n in (13, 14):
        p = scipy_wilcoxon(gap[None, :n]).two_sided[0]
        assert p == pytest.approx(by_scipy(gap[:n], "two-sided"), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 14, 50, 51])
def test_zeros_alone_are_as_scipy_has_them(n):
    found = scipy_wilcoxon(np.zeros((1, n)))
    assert found.two_sided[0] == pytest.approx(by_scipy(np.zeros(n), "two-sided"), nan_ok=True)
    assert math.isnan(found.two_sided[0]) == (n in (1, 14, 50, 51))


def test_missing_differences_are_left_out():
    gap = np.array([[1.0, NAN, -2.0, 3.0, NAN, 5.0], [NAN] * 6])
    found = scipy_wilcoxon(gap)
    assert found.two_sided[0] == by_scipy(np.array([1.0, -2, 3, 5]), "two-sided")
    assert math.isnan(found.two_sided[1])
    assert math.isnan(found.sign[1])


@given(st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=5))
def test_stouffer_is_the_formula(p):
    z = [norm.ppf(1 - one) for one in p]
    assert stouffer(np.array(p)) == pytest.approx(norm.sf(sum(z) / len(z) ** 0.5), abs=1e-10)


def test_stouffer_of_two_sided_p_values_loses_direction_and_the_directed_one_does_not():
    p = np.array([0.01, 0.01])
    assert stouffer(p) == pytest.approx(0.000501, abs=1e-6)
    assert directed_stouffer(p, np.array([1.0, -1.0])) == 0.5
    same = directed_stouffer(p, np.array([1.0, 1.0]))
    assert same == pytest.approx(norm.sf(2 * norm.isf(0.005) / 2**0.5))
    assert same + directed_stouffer(p, np.array([-1.0, -1.0])) == pytest.approx(1)


def test_domains_that_say_nothing():
    # A p-value of 1 says "no difference" for certain, whatever the other domains say.
    assert stouffer(np.array([1e-9, 1.0])) == 1
    assert math.isnan(stouffer(np.array([0.01, NAN])))
    # Neither way: counted with z = 0. Undefined: not counted.
    z = -ndtri(0.005)
    found = directed_stouffer(np.array([0.01, 1.0]), np.array([1.0, 0.0]))
    assert found == pytest.approx(norm.sf(z / 2**0.5))
    assert directed_stouffer(np.array([0.01, NAN]), np.array([1.0, NAN])) == pytest.approx(0.005)
    assert math.isnan(directed_stouffer(np.array([NAN]), np.array([NAN])))


def test_one_domain_is_the_one_sided_test():
    gap = np.random.default_rng(1).normal(0.2, 1, (20, 60))
    found = scipy_wilcoxon(gap)
    p = directed_stouffer(found.two_sided[None], found.sign[None])
    np.testing.assert_allclose(p, found.greater, atol=1e-12)


def test_the_directed_rule_holds_its_level_and_the_other_does_not_know_who_leads():
    rng = np.random.default_rng(2)
    parts = [scipy_wilcoxon(rng.normal(size=(4000, n))) for n in (60, 90, 120)]
    two_sided = np.stack([part.two_sided for part in parts])
    directed = directed_stouffer(two_sided, np.stack([part.sign for part in parts]))
    assert (directed < 0.05).mean() == pytest.approx(0.05, abs=0.012)
    assert (stouffer(two_sided) < 0.05).mean() == pytest.approx(0.05, abs=0.012)
