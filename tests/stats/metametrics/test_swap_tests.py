"""Swapping metrics: every kernel against swapping by hand, and the level of every test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.errors import UsageError
from steelyard.stats.metametrics import swap_tests
from steelyard.stats.metametrics.accuracy import pairwise_accuracy, soft_agreement
from steelyard.stats.metametrics.swap_tests import (
    Swaps,
    compare_items,
    compare_verdicts,
    standardise,
)
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues
from steelyard.stats.permutation.tails import expansion

NAN = float("nan")


def null_spa(p_human, metrics, **asked):
    return swap_tests.null_spa(p_human, metrics, Swaps(**asked))


def null_system_scores(statistic, metrics, **asked):
    return swap_tests.null_system_scores(statistic, metrics, Swaps(**asked))


def null_pearson(human, metrics, *, group_by="none", **asked):
    return swap_tests.null_pearson(human, metrics, group_by, Swaps(**asked))


def null_items(values, weights, **asked):
    return swap_tests.null_items(values, weights, Swaps(**asked))


def null_recomputed(statistic, metrics, **asked):
    return swap_tests.null_recomputed(statistic, metrics, Swaps(**asked))


def compare_spa(*args, alternative="greater", **options):
    return null_spa(*args, **options).compare(alternative)


def compare_system_scores(*args, alternative="greater", **options):
    return null_system_scores(*args, **options).compare(alternative)


def data(n=6, s=40, m=3, seed=0):
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.3, n)[:, None] + rng.normal(size=(n, s))
    human = np.round(quality + rng.normal(0, 0.5, (n, s)), 1)
    metrics = np.stack([quality + rng.normal(0, 1 + k, (n, s)) for k in range(m)])
    return human, metrics


def signs_by_hand(scheme, n, s, k, rng):
    """The sign of every cell in every draw, drawn as the scheme says."""
    for batch in Swaps(scheme=scheme, n=k, rng=rng).signs(n, s):
        for signs in batch.transpose(1, 0, 2):
            yield np.broadcast_to(signs, (n, s))


def spa_by_hand(p_human, scores):
    return soft_agreement(p_human, pairwise_pvalues(scores).p).value


def normal_spa_by_hand(p_human, scores):
    gap = scores[:, None] - scores
    return soft_agreement(p_human, expansion(gap.sum(axis=2), (gap**2).sum(axis=2))[0]).value


@pytest.mark.parametrize("scheme", swap_tests.SCHEMES)
@pytest.mark.parametrize("alternative", swap_tests.ALTERNATIVES)
@pytest.mark.parametrize("s", [40, 520])
def test_spa_against_swapping_by_hand(scheme, alternative, s):
    human, metrics = data(s=s)
    p_human = pairwise_pvalues(human).p
    k = 30
    found = compare_spa(
        p_human, metrics, scheme=scheme, n=k, rng=np.random.default_rng(3),
        alternative=alternative,
    )  # fmt: skip
    z = standardise(metrics)
    n, _ = human.shape
    counts = np.ones((3, 3))
    # Inside the draws the kernel uses normal p-values (and an Edgeworth term on few segments).
    value = {m: found.values[m] for m in range(3)}
    for sign in signs_by_hand(scheme, n, s, k, np.random.default_rng(3)):
        for a, b in product(range(3), repeat=2):
            if a == b:
                continue
            one, two = np.where(sign > 0, z[a], z[b]), np.where(sign > 0, z[b], z[a])
            null = normal_spa_by_hand(p_human, one) - normal_spa_by_hand(p_human, two)
            observed = value[a] - value[b]
            if alternative == "two-sided":
                counts[a, b] += abs(null) >= abs(observed) - 1e-5
            else:
                counts[a, b] += null >= observed - 1e-5
    expected = counts / (k + 1)
    off = ~np.eye(3, dtype=bool)
    # A draw that lies at the observed difference may fall on either side of it.
    assert np.abs(found.p - expected)[off].max() <= (1.01 if s == 520 else 3.01) / (k + 1)
    assert np.isnan(np.diag(found.p)).all()


BLOCKS = np.array([0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9])


def whole_blocks(sign):
    return sign[:, BLOCKS]


@pytest.mark.parametrize("scheme", swap_tests.SCHEMES)
def test_spa_of_blocks_against_swapping_by_hand(scheme):
    """The segments of a block are swapped together, and change sign together in the p-values."""
    human, metrics = data(s=20)
    p_human = pairwise_pvalues(human, blocks=BLOCKS).p
    null = null_spa(p_human, metrics, scheme=scheme, n=20, blocks=BLOCKS,
                    rng=np.random.default_rng(3))  # fmt: skip

    def by_hand(scores):
        sums = np.stack([scores[:, k == BLOCKS].sum(axis=1) for k in range(10)], axis=1)
        return soft_agreement(p_human, pairwise_pvalues(sums).p).value

    close = 0.02 if scheme == "inputs" else 0.05  # without an Edgeworth term
    np.testing.assert_allclose(null.values, [by_hand(m) for m in metrics], atol=close)
    z = standardise(metrics)
    draws = signs_by_hand(scheme, 6, 10, 20, np.random.default_rng(3))
    for row, sign in zip(null.differences, draws, strict=True):
        for q, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
            keep = whole_blocks(sign) > 0
            one, two = np.where(keep, z[a], z[b]), np.where(keep, z[b], z[a])
            assert row[q] == pytest.approx(by_hand(one) - by_hand(two), abs=close)


@pytest.mark.parametrize("scheme", swap_tests.SCHEMES)
@pytest.mark.parametrize("blocks", [None, BLOCKS])
@pytest.mark.parametrize("lost", [0, 8, 20])
def test_system_scores_with_missing_ones_and_blocks_against_swapping_by_hand(scheme, blocks, lost):
    """A metric without a system has no mean there; what is missing is swapped with the rest."""
    human, metrics = data(s=20)
    goal = human.mean(axis=1)
    metrics[1, 2, :lost] = NAN

    def accuracy(means):
        known = ~np.isnan(means)
        return pairwise_accuracy(goal[known], means[known]).value

    def each(means):
        flat = means.reshape(-1, means.shape[-1])
        return np.array([accuracy(row) for row in flat]).reshape(means.shape[:-1])

    def mean(scores):
        known = ~np.isnan(scores)
        sizes = known.sum(axis=1)
        return np.where(
            sizes > 0, np.where(known, scores, 0).sum(axis=1) / np.maximum(sizes, 1), NAN
        )

    null = null_system_scores(each, metrics, scheme=scheme, n=30, blocks=blocks,
                              rng=np.random.default_rng(5))  # fmt: skip
    assert null.values == pytest.approx([accuracy(mean(m)) for m in metrics])
    z = standardise(metrics)
    size = 20 if blocks is None else 10
    draws = signs_by_hand(scheme, 6, size, 30, np.random.default_rng(5))
    for row, sign in zip(null.differences, draws, strict=True):
        keep = (sign if blocks is None else whole_blocks(sign)) > 0
        for q, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
            one, two = np.where(keep, z[a], z[b]), np.where(keep, z[b], z[a])
            assert row[q] == pytest.approx(accuracy(mean(one)) - accuracy(mean(two)))


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_items_of_blocks_against_all_swaps(seed):
    values = np.round(np.random.default_rng(seed).normal(size=(2, 20)), 1)
    found = compare_items(values, np.ones((2, 20)), blocks=BLOCKS)
    gap = np.bincount(BLOCKS, values[0] - values[1])
    nulls = np.array(list(product((-1, 1), repeat=10))) @ gap
    assert found.p[0, 1] == pytest.approx(np.mean(nulls >= gap.sum() - 1e-9), abs=1e-9)


def test_undefined_draws_count_against_a_metric():
    null = swap_tests.Null(np.array([0.9, 0.1]), np.array([[NAN], [0.1], [NAN], [-0.2]]), "inputs")
    p = null.compare().p
    assert p[0, 1] == 3 / 5
    assert p[1, 0] == 5 / 5
    assert null.compare("two-sided").p[0, 1] == 3 / 5


def test_values_are_spa():
    human, metrics = data(s=600)
    p_human = pairwise_pvalues(human).p
    found = compare_spa(p_human, metrics, n=1, rng=np.random.default_rng(0))
    expected = [spa_by_hand(p_human, m) for m in metrics]
    np.testing.assert_allclose(found.values, expected, atol=2e-4)


def test_missing_cells_take_no_part():
    human, metrics = data()
    metrics = metrics.copy()
    metrics[:, 2, :10] = NAN
    known = np.where(np.isnan(metrics[0]), NAN, human)
    p_human = pairwise_pvalues(known).p
    found = compare_spa(p_human, metrics, n=50, rng=np.random.default_rng(0))
    expected = [spa_by_hand(p_human, m) for m in metrics]
    np.testing.assert_allclose(found.values, expected, atol=2e-3)
    assert ((found.p > 0) & (found.p <= 1))[~np.eye(3, dtype=bool)].all()


@pytest.mark.parametrize("scheme", swap_tests.SCHEMES)
def test_system_scores_against_swapping_by_hand(scheme):
    human, metrics = data()
    goal = human.mean(axis=1)

    def pa(means):
        flat = means.reshape(-1, means.shape[-1])
        values = np.array([pairwise_accuracy(goal, row).value for row in flat])
        return values.reshape(means.shape[:-1])

    k = 40
    found = compare_system_scores(pa, metrics, scheme=scheme, n=k, rng=np.random.default_rng(5))
    z = standardise(metrics)
    counts = np.ones((3, 3))
    n, s = human.shape
    for sign in signs_by_hand(scheme, n, s, k, np.random.default_rng(5)):
        for a, b in product(range(3), repeat=2):
            one, two = np.where(sign > 0, z[a], z[b]), np.where(sign > 0, z[b], z[a])
            null = pa(one.mean(axis=1)) - pa(two.mean(axis=1))
            counts[a, b] += null >= found.values[a] - found.values[b] - 1e-6
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(found.p[off], (counts / (k + 1))[off], atol=1e-9)


@settings(max_examples=30)
@given(st.integers(2, 9), st.integers(0, 10**6))
def test_items_against_all_swaps(s, seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(2, s)), 1)
    found = compare_items(values, np.ones((2, s)))
    gap = values[0] - values[1]
    nulls = [np.dot(signs, gap) for signs in product((-1, 1), repeat=s)]
    expected = np.mean([null >= gap.sum() - 1e-9 for null in nulls])
    assert found.p[0, 1] == pytest.approx(expected, abs=1e-9)
    assert found.values == pytest.approx(values.mean(axis=1))


@settings(max_examples=30)
@given(st.integers(1, 10), st.integers(0, 10**6))
def test_verdicts_against_all_swaps(n, seed):
    right = np.random.default_rng(seed).random((2, n)) < 0.6
    p = compare_verdicts(right)
    gap = right[0].astype(int) - right[1]
    nulls = [np.dot(signs, gap) for signs in product((-1, 1), repeat=n)]
    assert p[0, 1] == pytest.approx(np.mean([null >= gap.sum() for null in nulls]))
    both = compare_verdicts(right, alternative="two-sided")
    assert both[0, 1] == pytest.approx(min(1, 2 * min(p[0, 1], p[1, 0])))


def test_identical_metrics_are_never_different():
    human, metrics = data()
    twins = np.stack([metrics[0], metrics[0]])
    p_human = pairwise_pvalues(human).p
    for scheme in swap_tests.SCHEMES:
        found = compare_spa(p_human, twins, scheme=scheme, n=20, rng=np.random.default_rng(0))
        assert found.p[0, 1] == found.p[1, 0] == 1
        assert found.values[0] == found.values[1]


def test_a_constant_metric_has_its_answer():
    human, metrics = data()
    stack = np.stack([metrics[0], np.ones_like(metrics[0])])
    p_human = pairwise_pvalues(human).p
    found = compare_spa(p_human, stack, n=200, rng=np.random.default_rng(0))
    i, j = np.triu_indices(len(human), 1)
    assert found.values[1] == pytest.approx(1 - np.abs(p_human[i, j] - 0.5).mean(), abs=1e-6)
    assert 0 < found.p[0, 1] <= 1


def test_bad_arguments():
    human, metrics = data()
    p = pairwise_pvalues(human).p
    rng = np.random.default_rng(0)
    with pytest.raises(UsageError, match="unknown scheme 'rows'"):
        compare_spa(p, metrics, scheme="rows", rng=rng)


@pytest.mark.slow
def test_level_of_the_tests_on_equal_metrics():
    """Two metrics of equal quality: at alpha 5 % the one-sided test rejects 3 % to 7 %."""
    rejected, trials = 0, 600
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        quality = rng.normal(0, 0.25, 6)[:, None] + rng.normal(size=(6, 80))
        human = quality + rng.normal(0, 1, quality.shape)
        metrics = quality + rng.normal(0, 1, (2, *quality.shape))
        p_human = pairwise_pvalues(human).p
        found = compare_spa(p_human, metrics, n=99, rng=rng)
        rejected += found.p[0, 1] <= 0.05
    assert 0.03 <= rejected / trials <= 0.07


def more_data(n=5, s=30, m=3, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.3, n)[:, None] + rng.normal(size=(n, s))
    human = np.round(quality + rng.normal(0, 0.5, (n, s)), 1)
    metrics = np.stack([quality + rng.normal(0, 1 + k, (n, s)) for k in range(m)])
    metrics[rng.random(metrics.shape) < missing] = NAN
    human[rng.random(human.shape) < missing] = NAN
    return human, metrics


def pearson_by_hand(human, metric, group_by):
    rows = [(human.ravel(), metric.ravel())] if group_by == "none" else list(zip(human, metric, strict=True))  # fmt: skip # noqa: E501
    values = []
    for h, m in rows:
        known = ~(np.isnan(h) | np.isnan(m))
        if known.sum() > 1 and np.ptp(h[known]) > 0 and np.ptp(m[known]) > 0:
            values.append(np.corrcoef(h[known], m[known])[0, 1])
    return np.mean(values) if values else NAN


@pytest.mark.parametrize("scheme", swap_tests.SCHEMES)
@pytest.mark.parametrize("group_by", ["none", "system"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_pearson_against_swapping_by_hand(scheme, group_by, missing):
    human, metrics = more_data(missing=missing)
    k = 12
    null = null_pearson(human, metrics, group_by=group_by, scheme=scheme, n=k,
                        rng=np.random.default_rng(4))  # fmt: skip
    expected = [pearson_by_hand(human, m, group_by) for m in metrics]
    np.testing.assert_allclose(null.values, expected, atol=1e-9)
    z = standardise(np.where(np.isnan(human), NAN, metrics))
    for row, sign in zip(
        null.differences,
        signs_by_hand(scheme, len(human), human.shape[1], k, np.random.default_rng(4)),
        strict=True,
    ):
        for q, (a, b) in enumerate(zip(*pair_index(3), strict=True)):
            one, two = np.where(sign > 0, z[a], z[b]), np.where(sign > 0, z[b], z[a])
            by_hand = pearson_by_hand(human, one, group_by) - pearson_by_hand(human, two, group_by)
            assert row[q] == pytest.approx(by_hand, abs=1e-8)


@pytest.mark.parametrize("scheme", swap_tests.SCHEMES)
def test_blocks_are_swapped_whole(scheme):
    human, metrics = more_data(missing=0.1)
    blocks = np.arange(30) // 4
    asked = {"scheme": scheme, "n": 9, "blocks": blocks}
    null = null_pearson(human, metrics, group_by="none", **asked, rng=np.random.default_rng(4))
    known = np.where(np.isnan(human), NAN, metrics)
    slow = null_recomputed(lambda x: pearson_by_hand(human, x, "none"), known, **asked,
                           rng=np.random.default_rng(4))  # fmt: skip
    np.testing.assert_allclose(slow.differences, null.differences, atol=1e-8)
    z = standardise(known)
    for row, sign in zip(
        null.differences, signs_by_hand(scheme, *(5, 8), 9, np.random.default_rng(4)), strict=True
    ):
        keep = sign[:, blocks] > 0
        for q, (a, b) in enumerate(zip(*pair_index(3), strict=True)):
            one, two = np.where(keep, z[a], z[b]), np.where(keep, z[b], z[a])
            by_hand = pearson_by_hand(human, one, "none") - pearson_by_hand(human, two, "none")
            assert row[q] == pytest.approx(by_hand, abs=1e-8)


def test_items_of_blocks_agree_with_the_exact_test():
    rng = np.random.default_rng(0)
    values = rng.choice([0.0, 0.25, 0.5, 1.0], size=(3, 40))
    blocks = np.arange(40) // 3
    ones = np.ones((3, 40))
    exact = compare_items(values, ones, blocks=blocks)
    drawn = null_items(values, ones, blocks=blocks, n=4000, rng=rng).compare()
    off = ~np.eye(3, dtype=bool)
    assert np.abs(drawn.p - exact.p)[off].max() < 0.04  # five standard errors


def test_pearson_of_a_constant_metric_has_no_p_value():
    human, metrics = more_data()
    metrics[1] = 7.0
    null = null_pearson(human, metrics, group_by="none", scheme="inputs", n=50,
                        rng=np.random.default_rng(0))  # fmt: skip
    assert np.isnan(null.values[1])
    p = null.compare().p
    assert np.isnan(p[1]).all()
    assert np.isnan(p[:, 1]).all()
    assert 0 < p[0, 2] <= 1


@given(st.integers(0, 1000))
def test_items_agree_with_the_exact_test(seed):
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.25, 0.5, 1.0], size=(3, 40))
    weights = np.ones((3, 40))
    exact = compare_items(values, weights)
    drawn = null_items(values, weights, n=4000, rng=rng).compare()
    np.testing.assert_allclose(drawn.values, exact.values, atol=1e-12)
    off = ~np.eye(3, dtype=bool)
    assert np.abs(drawn.p - exact.p)[off].max() < 0.04  # five standard errors


def test_items_that_are_undefined_take_no_part():
    values = np.array([[1.0, NAN, 0.0, 1.0], [0.0, 1.0, NAN, 0.0], [NAN] * 4])
    null = null_items(values, np.ones((3, 4)), n=10, rng=np.random.default_rng(0))
    np.testing.assert_allclose(null.values, [2 / 3, 1 / 3, NAN])


@pytest.mark.parametrize("scheme", swap_tests.SCHEMES)
def test_recomputing_equals_the_kernel_of_pearson(scheme):
    human, metrics = more_data()
    asked = {"scheme": scheme, "n": 9}
    slow = null_recomputed(
        lambda x: pearson_by_hand(human, x, "none"), metrics, **asked, rng=np.random.default_rng(1)
    )
    quick = null_pearson(human, metrics, group_by="none", **asked, rng=np.random.default_rng(1))
    np.testing.assert_allclose(slow.differences, quick.differences, atol=1e-8)


def test_two_sided_p_counts_both_directions():
    null = swap_tests.Null(np.array([0.6, 0.5]), np.array([[0.2], [-0.2], [0.05], [0.0]]), "inputs")
    assert null.compare().p[0, 1] == (1 + 1) / 5
    assert null.compare().p[1, 0] == (3 + 1) / 5
    two = null.compare("two-sided").p
    assert two[0, 1] == two[1, 0] == (2 + 1) / 5
