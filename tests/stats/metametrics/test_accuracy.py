"""Pairwise accuracy and soft pairwise accuracy against the equations of the paper."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kendalltau
from tests.stats.naive import GOLD, METRIC, NAN, SEEDS, absences, pvalues, with_gaps

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.metametrics.accuracy import (
    Agreement,
    binarised_agreement,
    pairwise_accuracy,
    soft_agreement,
    spa,
)
from steelyard.stats.permutation.pvalues import pairwise_pvalues


def mean_over_pairs(n, term):
    """Average term(i, j) over the pairs i < j for which it is defined."""
    terms = [term(i, j) for i, j in combinations(range(n), 2)]
    terms = [value for value in terms if not math.isnan(value)]
    return sum(terms) / len(terms) if terms else NAN, len(terms)


def equation_1(p_human, p_metric):
    return mean_over_pairs(len(p_human), lambda i, j: 1 - abs(p_human[i, j] - p_metric[i, j]))


def equation_2(human, metric):
    def term(i, j):
        h, m = human[i] - human[j], metric[i] - metric[j]
        if math.isnan(h + m):
            return NAN
        return float(h == m == 0) if h * m == 0 else float(h * m > 0)

    return mean_over_pairs(len(human), term)


def equation_3(p_human, p_metric):
    return equation_1(*(np.where(np.isnan(p), p, p >= 0.5) for p in (p_human, p_metric)))


SCORES = st.tuples(st.integers(1, 4), st.integers(1, 9)).flatmap(
    lambda shape: st.tuples(
        *(hnp.arrays(np.int64, shape, elements=st.integers(0, k)) for k in (8, 6)),
        *(st.one_of(st.just(np.zeros((4, 9), dtype=bool)), absences(4, 9)) for _ in range(2)),
    )
)


@given(SCORES, SEEDS)
def test_spa_is_equation_1_and_its_binary_form_equation_3(data, seed):
    human, metric = (with_gaps(x, absent) for x, absent in zip(data[:2], data[2:], strict=True))
    either = np.isnan(human) | np.isnan(metric)
    masked = [np.where(either, NAN, x) for x in (human, metric)]
    p = [pairwise_pvalues(x).p for x in masked]
    truth = [pvalues(x) for x in masked]
    expected, n_pairs = equation_1(*truth)
    assert spa(human, metric) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert soft_agreement(*p).n_pairs == n_pairs
    binary = binarised_agreement(*p)
    assert (binary.value, binary.n_pairs) == pytest.approx(equation_3(*truth), nan_ok=True)
    order = np.random.default_rng(seed).permutation(len(human))
    again = spa(human[order], metric[order])
    assert again == pytest.approx(expected, abs=1e-9, nan_ok=True)
    itself = spa(masked[0], 3 * masked[0] + 7)
    assert itself == pytest.approx(1.0 if n_pairs else NAN, abs=1e-9, nan_ok=True)
    sums = human.sum(axis=1), metric.sum(axis=1)
    if not either.any() and all(len(set(x)) == len(x) for x in sums):
        assert binary.value == pytest.approx(pairwise_accuracy(*sums).value, nan_ok=True)


def test_spa_on_continuous_scores_and_blocks():
    human, metric = np.random.default_rng(0).integers(-(2**20), 2**20, (2, 4, 40)) / 2**18
    expected, _ = equation_1(*(pvalues(x[:, :9]) for x in (human, metric)))
    assert spa(human[:, :9], metric[:, :9]) == pytest.approx(expected, abs=1e-9)
    sums = [x.reshape(4, 8, 5).sum(axis=-1) for x in (human, metric)]
    blocks = np.repeat(np.arange(8), 5)
    assert spa(human, metric, blocks=blocks) == pytest.approx(spa(*sums), abs=1e-9)


def test_spa_of_the_wmt_toolkit_depends_on_the_order_as_published():
    assert spa(GOLD, METRIC, method="mtme") == pytest.approx(0.928, abs=1e-9)
    assert spa(GOLD[::-1], METRIC[::-1], method="mtme") == pytest.approx(0.982667, abs=5e-7)
    exact = 1 - np.mean(
        np.abs(np.array([0.34375, 0.0859375, 0.14453125]) - [0.265625, 0.046875, 0.099609375])
    )
    assert spa(GOLD, METRIC, tail="ge") == pytest.approx(exact, abs=1e-12)


def test_soft_agreement_by_hand():
    # The examples of the paper: sure of the same, sure of the opposite, undecided against sure.
    def p(value):
        return np.array([[0.5, value], [1 - value, 0.5]])

    assert soft_agreement(p(0.0), p(0.0)) == Agreement(1.0, 1)
    assert soft_agreement(p(0.01), p(0.99)).value == pytest.approx(0.02)
    assert soft_agreement(p(0.5), p(0.0)).value == pytest.approx(0.5)


@pytest.mark.parametrize("method", ["exact", "mtme"])
def test_one_system_or_nothing_in_common_is_undefined(method):
    one = np.array([[1.0, 2.0]])
    assert math.isnan(spa(one, one, method=method))
    assert math.isnan(spa(np.full((3, 2), NAN), np.ones((3, 2)), method=method))


SYSTEM_SCORES = st.integers(0, 8).flatmap(
    lambda n: st.tuples(
        *(
            hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 0.125, 0.5, 2.0, -3.0, NAN]))
            for _ in range(2)
        )
    )
)


@given(SYSTEM_SCORES)
def test_pairwise_accuracy_is_equation_2(data):
    accuracy = pairwise_accuracy(*data)
    assert (accuracy.value, accuracy.n_pairs) == pytest.approx(equation_2(*data), nan_ok=True)


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_without_ties_accuracy_is_kendalls_tau_rescaled(human, metric):
    tau = kendalltau(human, metric).statistic  # equation 5
    accuracy = pairwise_accuracy(*(np.array(x, dtype=float) for x in (human, metric)))
    assert accuracy.value == pytest.approx((tau + 1) / 2, abs=1e-12)


@pytest.mark.parametrize("factor", [1.0, 0.1234567])
def test_systems_with_equal_sums_binarise_alike(factor):
    # Every pair is tied by both, in either order of the systems: agreement is complete.
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 5, 20), rng.integers(0, 9, 20)
    human = np.stack([rng.permutation(first) for _ in range(6)]).astype(float)
    metric = np.stack([rng.permutation(second) for _ in range(6)]) * factor
    p_human, p_metric = pairwise_pvalues(human).p, pairwise_pvalues(metric).p
    assert binarised_agreement(p_human, p_metric) == Agreement(1.0, 15)
    assert binarised_agreement(p_human.T, p_metric.T) == Agreement(1.0, 15)


def test_ties_by_hand():
    human, metric = np.array([1.0, 2, 2, 3]), np.array([5.0, 6, 6, 6])
    # 12 13 14 agree, 23 tied by both, 24 and 34 tied by the metric only.
    assert pairwise_accuracy(human, metric) == Agreement(4 / 6, 6)
    # The golden value of mt-metrics-eval: 4 of 6.
    gold, other = np.array([1.0, 1, 2, 3, NAN]), np.array([1.0, 2, 2, 4, 0])
    assert pairwise_accuracy(gold, other) == Agreement(4 / 6, 6)


def test_errors():
    with pytest.raises(ShapeError, match="two matrices of one shape"):
        spa(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(UsageError, match="unknown method"):
        spa(np.ones((2, 3)), np.ones((2, 3)), method="bootstrap")
