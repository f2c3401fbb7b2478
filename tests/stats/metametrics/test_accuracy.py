"""Pairwise accuracy and soft pairwise accuracy against the equations of the paper."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kendalltau

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.metametrics.accuracy import (
    Agreement,
    binarised_agreement,
    pairwise_accuracy,
    soft_agreement,
    spa,
)
from steelyard.stats.permutation.pvalues import pairwise_pvalues

NAN = float("nan")

# ---------------------------------------------------------------- naive references


@cache
def all_signs(n):
    return np.array(list(product((-1, 1), repeat=n))).reshape(2**n, n)


def brute_p(a, b):
    """Mid-p of one pair of systems over all sign vectors, NaN without a common segment."""
    x = (a - b)[~np.isnan(a - b)]
    null = all_signs(len(x)) @ x
    return np.mean(null > x.sum()) + np.mean(null == x.sum()) / 2 if len(x) else NAN


def mean_over_pairs(human, metric, term):
    """Average term(h_i, h_j, m_i, m_j) over the pairs i < j for which it is defined."""
    terms = []
    for i, j in combinations(range(len(human)), 2):
        value = term(human[i], human[j], metric[i], metric[j])
        if not math.isnan(value):
            terms.append(value)
    return sum(terms) / len(terms) if terms else NAN, len(terms)


def equation_1(h_i, h_j, m_i, m_j):
    return 1 - abs(brute_p(h_i, h_j) - brute_p(m_i, m_j))


def equation_2(h_i, h_j, m_i, m_j):
    if any(map(math.isnan, (h_i, h_j, m_i, m_j))):
        return NAN
    if h_i == h_j or m_i == m_j:
        return float(h_i == h_j and m_i == m_j)
    return float((h_i > h_j) == (m_i > m_j))


def equation_3(h_i, h_j, m_i, m_j):
    p_human, p_metric = brute_p(h_i, h_j), brute_p(m_i, m_j)
    if math.isnan(p_human) or math.isnan(p_metric):
        return NAN
    return 1 - abs(int(p_human >= 0.5) - int(p_metric >= 0.5))


shapes = st.tuples(st.integers(1, 5), st.integers(1, 9))
score_pairs = shapes.flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.int64, shape, elements=st.integers(-4, 4)).map(lambda x: x.astype(float)),
        hnp.arrays(np.int64, shape, elements=st.integers(0, 6)).map(lambda x: x.astype(float)),
        hnp.arrays(bool, shape, elements=st.integers(0, 4).map(lambda k: k == 0)),
        hnp.arrays(bool, shape, elements=st.integers(0, 4).map(lambda k: k == 0)),
    )
)
system_scores = st.integers(0, 8).flatmap(
    lambda n: st.tuples(
        *(
            hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 0.1, 0.5, 2.0, -3.0, NAN]))
            for _ in range(2)
        )
    )
)


# ---------------------------------------------------------------- soft


@given(score_pairs, st.booleans())
@settings(max_examples=60)
def test_spa_is_equation_1(data, gaps):
    human, metric, no_human, no_metric = data
    if gaps:
        human, metric = np.where(no_human, NAN, human), np.where(no_metric, NAN, metric)
    either = np.isnan(human) | np.isnan(metric)
    masked = np.where(either, NAN, human), np.where(either, NAN, metric)
    expected, n_pairs = mean_over_pairs(*masked, equation_1)
    np.testing.assert_allclose(spa(human, metric), expected, atol=1e-9)
    p = [pairwise_pvalues(x).p for x in masked]
    assert soft_agreement(*p).n_pairs == n_pairs


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_spa_is_equation_1_on_continuous_scores(seed):
    rng = np.random.default_rng(seed)
    human, metric = rng.integers(-(2**20), 2**20, (2, 4, 9)) / 2**18
    expected, _ = mean_over_pairs(human, metric, equation_1)
    assert spa(human, metric) == pytest.approx(expected, abs=1e-9)


@given(score_pairs)
@settings(max_examples=50)
def test_spa_of_the_human_scores_themselves_is_1(data):
    human, _, absent, _ = data
    human = np.where(absent, NAN, human)
    value = spa(human, human)
    if np.isnan(pairwise_pvalues(human).p[np.triu_indices(len(human), 1)]).all():
        assert math.isnan(value)  # no pair with a common segment
    else:
        assert value == 1
        assert spa(human, human * 3 + 7) == pytest.approx(1, abs=1e-12)


@given(score_pairs, st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_spa_does_not_depend_on_the_order_of_systems(data, random):
    human, metric, _, _ = data
    order = list(range(len(human)))
    random.shuffle(order)
    np.testing.assert_allclose(
        spa(human[order], metric[order]), spa(human, metric), atol=1e-9, equal_nan=True
    )


GOLD = np.array(
    [
        [0.0, -1, -2, -5, 0, 0, -1, 0, -5, -1],
        [0.0, -5, -1, -5, -1, 0, 0, -1, -5, -1],
        [-1.0, 0, -1, -6, 0, -5, -1, -5, -5, -10],
    ]
)
METRIC = np.array(
    [
        [0.9, 0.5, 0.4, 0.1, 0.8, 0.9, 0.6, 0.7, 0.2, 0.5],
        [0.8, 0.2, 0.4, 0.15, 0.6, 0.9, 0.8, 0.6, 0.2, 0.6],
        [0.7, 0.6, 0.3, 0.2, 0.8, 0.3, 0.6, 0.2, 0.1, 0.0],
    ]
)


def test_spa_of_the_wmt_toolkit_depends_on_the_order_as_published():
    assert spa(GOLD, METRIC, method="mtme") == pytest.approx(0.928, abs=1e-9)
    assert spa(GOLD[::-1], METRIC[::-1], method="mtme") == pytest.approx(0.982667, abs=5e-7)
    exact = 1 - np.mean(
        np.abs(np.array([0.34375, 0.0859375, 0.14453125]) - [0.265625, 0.046875, 0.099609375])
    )
    assert spa(GOLD, METRIC, tail="ge") == pytest.approx(exact, abs=1e-12)
    assert spa(GOLD, METRIC) == pytest.approx(spa(GOLD[::-1], METRIC[::-1]), abs=1e-12)


def test_spa_passes_options_on():
    rng = np.random.default_rng(0)
    human, metric = rng.normal(size=(2, 4, 40))
    blocks = np.repeat(np.arange(8), 5)
    sums = [x.reshape(4, 8, 5).sum(axis=-1) for x in (human, metric)]
    assert spa(human, metric, blocks=blocks) == pytest.approx(spa(*sums), abs=1e-9)
    near = spa(human, metric, method="mtme")
    assert near == pytest.approx(spa(human, metric), abs=0.03)
    assert near != spa(human, metric)


def test_soft_agreement_by_hand():
    # The examples of the paper: sure of the same, sure of the opposite, undecided against sure.
    def p(value):
        return np.array([[0.5, value], [1 - value, 0.5]])

    assert soft_agreement(p(0.0), p(0.0)) == Agreement(1.0, 1)
    assert soft_agreement(p(0.01), p(0.99)).value == pytest.approx(0.02)
    assert soft_agreement(p(0.5), p(0.0)).value == pytest.approx(0.5)
    assert soft_agreement(p(0.5), p(0.5)) == Agreement(1.0, 1)


def test_pairs_without_a_p_value_take_no_part():
    # The third system shares no segment with the others.
    human = np.array([[3.0, 2, 5, NAN], [1.0, 2, 2, NAN], [NAN, NAN, NAN, 1.0]])
    p = pairwise_pvalues(human).p
    assert soft_agreement(p, p) == Agreement(1.0, 1)
    assert spa(human, human) == 1
    # And a cell that either lacks is lacking in both: only two segments remain.
    metric = np.array([[1.0, NAN, 3, 1], [2.0, 1, 1, NAN], [1.0, 1, 1, 1]])
    left = np.array([True, False, True, False])
    assert spa(human, metric) == pytest.approx(spa(human[:2, left], metric[:2, left]), abs=1e-12)


@pytest.mark.parametrize("method", ["exact", "mtme"])
def test_one_system_or_nothing_in_common_is_undefined(method):
    one = np.array([[1.0, 2.0]])
    assert math.isnan(spa(one, one, method=method))
    assert math.isnan(spa(np.full((3, 2), NAN), np.ones((3, 2)), method=method))
    p = np.array([[0.5]])
    result = soft_agreement(p, p)
    assert math.isnan(result.value)
    assert result.n_pairs == 0


def test_a_constant_metric_is_undecided_everywhere():
    human = np.array([[3.0, 2, 5], [1.0, 2, 2]])
    assert spa(human, np.zeros((2, 3))) == pytest.approx(1 - (0.5 - 0.125), abs=1e-12)


# ---------------------------------------------------------------- hard


@given(system_scores)
def test_pairwise_accuracy_is_equation_2(data):
    human, metric = data
    expected, n_pairs = mean_over_pairs(human, metric, equation_2)
    found = pairwise_accuracy(human, metric)
    np.testing.assert_allclose(found.value, expected, atol=1e-12)
    assert found.n_pairs == n_pairs


@given(system_scores)
def test_dropping_pairs_that_people_tie(data):
    def term(h_i, h_j, m_i, m_j):
        return NAN if h_i == h_j else equation_2(h_i, h_j, m_i, m_j)

    human, metric = data
    expected, n_pairs = mean_over_pairs(human, metric, term)
    found = pairwise_accuracy(human, metric, ties="drop-human")
    np.testing.assert_allclose(found.value, expected, atol=1e-12)
    assert found.n_pairs == n_pairs


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_without_ties_accuracy_is_kendalls_tau_rescaled(human, metric):
    h, m = np.array(human, dtype=float), np.array(metric, dtype=float)
    tau = kendalltau(h, m).statistic
    assert pairwise_accuracy(h, m).value == pytest.approx((tau + 1) / 2, abs=1e-12)  # equation 5


@given(score_pairs)
@settings(max_examples=60)
def test_binarised_p_values_are_equation_3(data):
    human, metric, _, _ = data
    expected, n_pairs = mean_over_pairs(human, metric, equation_3)
    found = binarised_agreement(pairwise_pvalues(human).p, pairwise_pvalues(metric).p)
    np.testing.assert_allclose(found.value, expected, atol=1e-12)
    assert found.n_pairs == n_pairs


@given(score_pairs)
@settings(max_examples=50)
def test_equation_3_is_equation_2_where_nothing_ties(data):
    human, metric, _, _ = data
    sums = human.sum(axis=1), metric.sum(axis=1)
    assume(all(len(set(x)) == len(x) for x in sums))
    found = binarised_agreement(pairwise_pvalues(human).p, pairwise_pvalues(metric).p)
    np.testing.assert_equal(found.value, pairwise_accuracy(*sums).value)


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
    human = np.array([1.0, 2, 2, 3])
    metric = np.array([5.0, 6, 6, 6])
    # 12 13 14 agree, 23 tied by both, 24 and 34 tied by the metric only.
    assert pairwise_accuracy(human, metric) == Agreement(4 / 6, 6)
    assert pairwise_accuracy(human, metric, ties="drop-human") == Agreement(3 / 5, 5)
    assert pairwise_accuracy(metric, human) == Agreement(4 / 6, 6)
    assert pairwise_accuracy(metric, human, ties="drop-human") == Agreement(1.0, 3)
    # The golden value of mt-metrics-eval: 4 of 6.
    gold, other = np.array([1.0, 1, 2, 3, NAN]), np.array([1.0, 2, 2, 4, 0])
    assert pairwise_accuracy(gold, other) == Agreement(4 / 6, 6)


def test_identical_and_reversed_metrics():
    human = np.array([0.3, -2.0, 7.5, 1.0])
    assert pairwise_accuracy(human, human) == Agreement(1.0, 6)
    assert pairwise_accuracy(human, -human) == Agreement(0.0, 6)
    assert pairwise_accuracy(human, np.zeros(4)) == Agreement(0.0, 6)
    assert pairwise_accuracy(np.zeros(4), np.zeros(4)) == Agreement(1.0, 6)


def test_systems_without_a_score_take_no_part():
    human, metric = np.array([1.0, 2, NAN, 4]), np.array([1.0, 2, 3, NAN])
    assert pairwise_accuracy(human, metric) == Agreement(1.0, 1)
    nothing = pairwise_accuracy(np.array([1.0, NAN]), np.array([NAN, 1.0]))
    assert math.isnan(nothing.value)
    assert nothing.n_pairs == 0
    for lonely in (np.array([1.0]), np.empty(0)):
        assert math.isnan(pairwise_accuracy(lonely, lonely).value)
    tied = pairwise_accuracy(np.ones(3), np.arange(3.0), ties="drop-human")
    assert math.isnan(tied.value)
    assert tied.n_pairs == 0


def test_errors():
    with pytest.raises(UsageError, match=r"'drop-humans'; did you mean 'drop-human'\?"):
        pairwise_accuracy(np.ones(2), np.ones(2), ties="drop-humans")
    with pytest.raises(ShapeError, match="two matrices of one shape"):
        spa(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(UsageError, match="unknown method"):
        spa(np.ones((2, 3)), np.ones((2, 3)), method="bootstrap")
