"""Tests of samples that share units: against the formulas, one observation at a time."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.paired.tests import t_test
from steelyard.stats.paired.unpaired import (
    cluster_means_test,
    rank_sum_test,
    rank_sum_test_by_unit,
    share_few,
    unpaired_means_test,
)

NAN = float("nan")
#: Observations of a system: value, document, rater.
SAMPLE = st.lists(
    st.tuples(st.one_of(st.integers(0, 6).map(float), st.just(NAN)), *[st.integers(-1, 3)] * 2),
    max_size=12,
)


small = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=6)
large = st.lists(st.integers(0, 5).map(float), min_size=21, max_size=25)


@given(small, small)
def test_rank_sum_is_exact_for_small_samples(a, b):
    """All ways to choose which of the values are those of the first sample."""
    p = rank_sum_test([np.array(a), np.array(b)])
    if len({*a, *b}) == 1:
        assert p[0, 1] == p[1, 0] == 1
        return
    ranks = reference.rankdata([*a, *b])
    won = ranks[: len(a)].sum()
    null = np.array([sum(x) for x in itertools.combinations(ranks, len(a))])
    assert p[0, 1] == pytest.approx((null >= won - 1e-9).mean(), abs=1e-12)
    assert p[1, 0] == pytest.approx((null <= won + 1e-9).mean(), abs=1e-12)


def test_exact_rank_sums_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for n, m in ((20, 20), (3, 100), (100, 3), (1, 400)):
        x, y = rng.normal(0.3, 1, n), rng.normal(0, 1, m)
        result = rank_sum_test([x, y])[0, 1]
        expected = reference.mannwhitneyu(x, y, alternative="greater", method="exact").pvalue
        assert result == pytest.approx(expected, abs=1e-12)


@given(large, large)
def test_rank_sum_against_scipy(a, b):
    x, y = np.array(a), np.array(b)
    p = rank_sum_test([x, y])
    if len({*a, *b}) == 1:
        assert p[0, 1] == p[1, 0] == 1
        return
    for one, other, result in ((x, y, p[0, 1]), (y, x, p[1, 0])):
        expected = reference.mannwhitneyu(one, other, alternative="greater", method="asymptotic")
        assert result == pytest.approx(expected.pvalue, abs=1e-12)


def columns(sample):
    rows = np.array(sample, dtype=float).reshape(-1, 3)
    return rows[:, 0], rows[:, 1].astype(np.int64), rows[:, 2].astype(np.int64)


def variance_by_hand(added, first, second):
    """Squared sums by unit, with the factors and degrees of freedom of whole matrices.

    ``added`` is what each observation adds, those of the first sample before those of the second;
    ``first`` and ``second`` are their units.
    """
    if len(set(first)) < 2 or len(set(second)) < 2:
        return NAN, NAN
    units = np.concatenate([first, second])
    names, n, m = np.unique(units), len(first), len(second)
    belongs = (names[:, None] == units).astype(float)
    # What an observation adds, given all of them: its own share, less that of its sample's mean.
    centring = np.eye(n + m)
    centring[:n, :n] -= 1 / n
    centring[n:, n:] -= 1 / m
    weights = np.array([1 / n] * n + [-1 / m] * m)
    leads = belongs @ np.diag(weights) @ centring  # units x observations
    factor = (belongs @ weights**2) / np.diag(leads @ leads.T)
    root = np.diag(np.sqrt(factor))
    sample = np.array([0] * n + [1] * m)
    alike = (units[:, None] == units) & (sample[:, None] == sample)
    freedoms = []
    for model in (np.eye(n + m), alike.astype(float)):
        b = root @ leads @ model @ leads.T @ root
        freedoms.append(np.trace(b) ** 2 / (b * b).sum())
    return float(factor @ (belongs @ added) ** 2), min(freedoms)


def one_sided(lead, variance, freedom):
    if np.isnan(variance):
        return NAN
    if variance <= 1e-20:
        return 1.0 if abs(lead) < 1e-9 else float(lead < 0)
    return reference.t.sf(lead / np.sqrt(variance), freedom)


def rank_sum_by_hand(x, y, first, second):
    """Chance of being above, by every pair of observations."""
    if not (x.size and y.size):
        return NAN
    wins = (x[:, None] > y) + (x[:, None] == y) / 2
    theta = wins.mean()
    added = np.concatenate([wins.mean(axis=1) - theta, wins.mean(axis=0) - theta])
    added /= np.repeat([len(x), len(y)], [len(x), len(y)])
    variance, freedom = variance_by_hand(added, first, second)
    ranks = reference.rankdata([*x, *y]) / (len(x) + len(y))
    a, b = ranks[: len(x)], ranks[len(x) :]
    pooled = np.concatenate([(a - a.mean()) / len(a), -(b - b.mean()) / len(b)])
    p = one_sided(
        theta - 0.5, np.max([variance, variance_by_hand(pooled, first, second)[0]]), freedom
    )
    shared = set(first) & set(second)
    alone = [len(set(units) - shared) for units in (first, second)]
    return np.max([p, 0.5 ** len(shared) / comb(sum(alone), alone[0])])


@given(st.lists(SAMPLE, min_size=3, max_size=3))
def test_rank_sums_are_the_formula(samples):
    values, units, _ = zip(*map(columns, samples), strict=True)
    p = rank_sum_test_by_unit(values, units)
    assert np.isnan(np.diagonal(p)).all()
    for i, j in itertools.permutations(range(3), 2):
        a, b = ~np.isnan(values[i]), ~np.isnan(values[j])
        expected = rank_sum_by_hand(values[i][a], values[j][b], units[i][a], units[j][b])
        assert p[i, j] == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(st.lists(SAMPLE, min_size=3, max_size=3))
def test_means_are_the_formula(samples):
    values, units, _ = zip(*map(columns, samples), strict=True)
    p = unpaired_means_test(values, units)
    for i, j in itertools.permutations(range(3), 2):
        a, b = ~np.isnan(values[i]), ~np.isnan(values[j])
        x, y = values[i][a], values[j][b]
        if not (x.size and y.size):
            assert np.isnan(p[i, j])
            continue
        added = np.concatenate([(x - x.mean()) / len(x), -(y - y.mean()) / len(y)])
        variance, freedom = variance_by_hand(added, units[i][a], units[j][b])
        expected = one_sided(x.mean() - y.mean(), variance, freedom)
        assert p[i, j] == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_the_same_segments_with_equal_units_are_the_paired_test():
    rng = np.random.default_rng(3)
    scores, blocks = rng.normal(size=(3, 60)), np.arange(60) // 6
    result = unpaired_means_test(list(scores), [blocks] * 3)
    np.testing.assert_allclose(result, t_test(scores, blocks, alternative="greater").p, atol=1e-12)


def test_degenerate_samples():
    units = [np.array([0, 0, 1]), np.array([0, 1, 2]), np.zeros(0, dtype=np.int64)]
    same = [np.full(3, 2.0), np.full(3, 2.0), np.zeros(0)]
    for test in (rank_sum_test_by_unit, unpaired_means_test):
        p = test(same, units)
        assert p[0, 1] == p[1, 0] == 1
        assert np.isnan(p[2]).all()
        assert np.isnan(p[:, 2]).all()
        # A system in one unit: how units differ cannot be told.
        one = test([np.arange(3.0), np.arange(3.0)], [np.zeros(3, dtype=np.int64), units[1]])
        assert np.isnan(one).all()
        assert test([], []).shape == (0, 0)


def test_samples_apart_are_no_surer_than_their_units():
    low, high = np.array([1.0, 2, 3, 4]), np.array([5.0, 6, 7, 8])
    shared = np.array([0, 0, 1, 1])
    p = rank_sum_test_by_unit([high, low], [shared, shared])
    assert p[0, 1] >= 1 / 4
    p = rank_sum_test_by_unit([high, low], [shared, shared + 2])
    assert p[0, 1] >= 1 / 6
    # Every value of its own sample is the same, and so are all places.
    wide = np.arange(12)
    p = rank_sum_test_by_unit([np.ones(12), np.zeros(12)], [wide, wide])
    assert p[0, 1] == pytest.approx(2.0**-12)
    assert p[1, 0] == 1
    assert unpaired_means_test([np.ones(12), np.zeros(12)], [wide, wide])[0, 1] == 0
    many = np.arange(5000)  # no overflow
    values = many.astype(np.float64)
    assert rank_sum_test_by_unit([values + 0.5, values], [many, many + 5000])[0, 1] < 0.5


def test_level_of_means_by_document():
    """60 documents, each rated in part."""
    rng = np.random.default_rng(11)
    rejected = []
    for _ in range(200):
        document = [np.repeat(rng.permutation(60)[:40], 4) for _ in range(2)]
        shared = rng.normal(size=(2, 60))
        x = [shared[k][document[k]] + rng.normal(size=160) for k in range(2)]
        p = unpaired_means_test(x, document)
        rejected.append(2 * min(p[0, 1], p[1, 0]) <= 0.05)
    assert 0.02 < np.mean(rejected) < 0.08


def naive_cluster_p(a, b, documents):
    """The formula, document by document; with few documents also all ways to swap systems."""
    known = [~np.isnan(x) for x in (a, b)]
    means, n = [np.nanmean(x) for x in (a, b)], [k.sum() for k in known]
    held = sorted(set(documents[known[0] | known[1]]))
    adds = [
        sum((v - means[0]) / n[0] for v in a[(documents == d) & known[0]])
        - sum((v - means[1]) / n[1] for v in b[(documents == d) & known[1]])
        for d in held
    ]
    error = np.sqrt(sum(u * u for u in adds) * len(held) / (len(held) - 1))
    fewest = min(len(set(documents[k])) for k in known)
    p = reference.t.sf((means[0] - means[1]) / error, fewest - 1)
    if len(held) > 12:
        return p
    leads = []
    for swap in itertools.product([False, True], repeat=len(held)):
        moved = np.isin(documents, [d for d, other in zip(held, swap, strict=True) if other])
        first, second = np.where(moved, b, a), np.where(moved, a, b)
        if not (np.isnan(first).all() or np.isnan(second).all()):
            leads.append(np.nanmean(first) - np.nanmean(second))
    return max(p, np.mean([lead >= leads[0] - 1e-12 for lead in leads]))


@pytest.mark.parametrize("n_documents", [5, 7, 30])
def test_cluster_means_are_the_formula(n_documents):
    rng = np.random.default_rng(n_documents)
    for _ in range(5):
        documents = np.r_[np.arange(n_documents), rng.integers(0, n_documents, 50)]
        scores = rng.normal(size=(3, len(documents))) + rng.normal(size=(3, 1))
        scores[rng.random(scores.shape) < 0.5] = NAN
        result = cluster_means_test(scores, documents)
        for i, j in itertools.permutations(range(3), 2):
            expected = naive_cluster_p(scores[i], scores[j], documents)
            assert result.p[i, j] == pytest.approx(expected, abs=1e-9)
            known = ~np.isnan(scores[[i, j]])
            assert share_few(scores)[i, j] == (2 * known.all(axis=0).sum() < 0.8 * known.sum())
    assert np.isnan(cluster_means_test(np.array([[1.0, NAN], [NAN, 2.0]])).p).all()


def test_level_of_cluster_means_on_systems_that_share_few_documents():
    rng = np.random.default_rng(3)
    rejected = []
    for _ in range(300):
        documents = np.repeat(np.arange(60), 4)
        scores = rng.normal(size=60)[documents] + rng.normal(size=(2, 60))[:, documents]
        scores += rng.normal(size=scores.shape)
        scores[rng.random((2, 60))[:, documents] < np.array([[0.3], [0.7]])] = NAN
        p = cluster_means_test(scores, documents).p
        rejected.append(min(p[0, 1], p[1, 0]) < 0.05)
    assert 0.06 < np.mean(rejected) < 0.13
