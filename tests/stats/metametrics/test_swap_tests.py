"""Swapping metrics: every kernel against swapping by hand, and the level of the tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.naive import NAN, SEEDS, all_signs, quality

from steelyard.core.errors import UsageError
from steelyard.stats.metametrics.accuracy import pairwise_accuracy, soft_agreement
from steelyard.stats.metametrics.swap_tests import (
    ALTERNATIVES,
    SCHEMES,
    Null,
    Swaps,
    compare_items,
    compare_verdicts,
    null_items,
    null_pearson,
    null_ratios,
    null_recomputed,
    null_spa,
    null_system_scores,
    standardise,
)
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues
from steelyard.stats.permutation.tails import expansion

BLOCKS = np.array([0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9])
EVERY_SCHEME = pytest.mark.parametrize("scheme", SCHEMES)
OFF = ~np.eye(3, dtype=bool)


def swaps(n=30, seed=3, **options):
    return Swaps(n=n, rng=np.random.default_rng(seed), **options)


def check_draws(null, metrics, value, asked, *, close=1e-8):
    """Values, and differences in every draw, are those of scores that are really swapped."""
    z = standardise(metrics)
    assert null.values == pytest.approx([value(m) for m in metrics], abs=close, nan_ok=True)
    n, s = z.shape[1:]
    codes = np.arange(s) if asked.blocks is None else asked.blocks
    again = swaps(asked.n, scheme=asked.scheme)
    rows = iter(null.differences)
    for batch in again.signs(n, codes.max() + 1):
        for signs in batch.transpose(1, 0, 2):
            keep = np.broadcast_to(signs[:, codes] > 0, (n, s))
            by_hand = [
                value(np.where(keep, z[a], z[b])) - value(np.where(keep, z[b], z[a]))
                for a, b in zip(*pair_index(len(z)), strict=True)
            ]
            assert next(rows) == pytest.approx(by_hand, abs=close, nan_ok=True)
    assert next(rows, None) is None


# ---------------------------------------------------------------- soft pairwise accuracy


def normal_p(scores, *, fourth):
    gap = scores[:, None] - scores
    powers = (1, 2, 4) if fourth else (1, 2)
    return expansion(*((gap**power).sum(axis=2) for power in powers))[0]


@EVERY_SCHEME
@pytest.mark.parametrize("s", [40, 520])
def test_spa_against_swapping_by_hand(scheme, s):
    """Inside the draws p-values are normal, with an Edgeworth term for few swapped inputs."""
    human, metrics = quality(s=s)
    p_human = pairwise_pvalues(human).p

    def value(scores):
        return soft_agreement(
            p_human, normal_p(scores, fourth=scheme == "inputs" and s < 500)
        ).value

    asked = swaps(scheme=scheme)
    null = null_spa(p_human, metrics, asked)
    z = standardise(metrics)
    assert null.values == pytest.approx(
        [soft_agreement(p_human, pairwise_pvalues(m).p).value for m in metrics], abs=2e-3
    )
    null = Null(np.array([value(m) for m in z]), null.differences, scheme)
    check_draws(null, z, value, asked, close=2e-3 if scheme == "inputs" else 1e-5)


@EVERY_SCHEME
def test_spa_of_blocks_against_swapping_by_hand(scheme):
    """The segments of a block are swapped together, and change sign together in the p-values."""
    human, metrics = quality(s=20)
    p_human = pairwise_pvalues(human, blocks=BLOCKS).p

    def value(scores):
        sums = np.stack([scores[:, k == BLOCKS].sum(axis=1) for k in range(10)], axis=1)
        return soft_agreement(p_human, pairwise_pvalues(sums).p).value

    asked = swaps(12, scheme=scheme, blocks=BLOCKS)
    close = 0.02 if scheme == "inputs" else 0.05  # without an Edgeworth term
    check_draws(null_spa(p_human, metrics, asked), metrics, value, asked, close=close)


def test_spa_of_missing_cells_twins_and_constants():
    human, metrics = quality()
    metrics[:, 2, :10] = NAN
    p_human = pairwise_pvalues(np.where(np.isnan(metrics[0]), NAN, human)).p
    null = null_spa(p_human, metrics, swaps())
    expected = [soft_agreement(p_human, pairwise_pvalues(m).p).value for m in metrics]
    np.testing.assert_allclose(null.values, expected, atol=2e-3)
    flat = np.stack([metrics[0], metrics[0], np.ones_like(metrics[0])])
    for scheme in SCHEMES:
        null = null_spa(p_human, flat, swaps(scheme=scheme))
        assert null.compare().p[0, 1] == null.compare().p[1, 0] == 1
        i, j = pair_index(6)
        chance = 1 - np.abs(p_human[i, j] - 0.5).mean()
        assert null.values[2] == pytest.approx(chance, abs=1e-6)
        assert 0 < null.compare().p[0, 2] <= 1


# ---------------------------------------------------------------- functions of sums


@EVERY_SCHEME
@pytest.mark.parametrize("blocks", [None, BLOCKS])
@pytest.mark.parametrize("lost", [0, 8, 20])
def test_system_scores_against_swapping_by_hand(scheme, blocks, lost):
    """A metric without a system has no mean there; what is missing is swapped with the rest."""
    human, metrics = quality(s=20)
    goal = human.mean(axis=1)
    metrics[1, 2, :lost] = NAN

    def accuracy(means):
        known = ~np.isnan(means)
        return pairwise_accuracy(goal[known], means[known]).value

    def each(means):
        flat = means.reshape(-1, means.shape[-1])
        return np.array([accuracy(row) for row in flat]).reshape(means.shape[:-1])

    def value(scores):
        known = ~np.isnan(scores)
        n = known.sum(axis=1)
        return accuracy(np.where(n > 0, np.nansum(scores, axis=1) / np.maximum(n, 1), NAN))

    asked = swaps(scheme=scheme, blocks=blocks)
    check_draws(null_system_scores(each, metrics, asked), metrics, value, asked)


def pearson_by_hand(human, metric, group_by):
    both = human, metric
    rows = [[x.ravel() for x in both]] if group_by == "none" else zip(*both, strict=True)
    values = []
    for h, m in rows:
        known = ~(np.isnan(h) | np.isnan(m))
        if known.sum() > 1 and np.ptp(h[known]) > 0 and np.ptp(m[known]) > 0:
            values.append(np.corrcoef(h[known], m[known])[0, 1])
    return np.mean(values) if values else NAN


@EVERY_SCHEME
@pytest.mark.parametrize("group_by", ["none", "system"])
@pytest.mark.parametrize(("missing", "blocks"), [(0.0, None), (0.2, None), (0.1, BLOCKS)])
def test_pearson_against_swapping_by_hand(scheme, group_by, missing, blocks):
    human, metrics = quality(5, 20, missing=missing)
    metrics = np.where(np.isnan(human), NAN, metrics)
    asked = swaps(9, scheme=scheme, blocks=blocks)

    def value(scores):
        return pearson_by_hand(human, scores, group_by)

    check_draws(null_pearson(human, metrics, group_by, asked), metrics, value, asked)
    slow = null_recomputed(value, metrics, swaps(9, scheme=scheme, blocks=blocks))
    check_draws(slow, metrics, value, asked)


def test_pearson_of_a_constant_metric_has_no_p_value():
    human, metrics = quality(5, 30)
    metrics[1] = 7.0
    p = null_pearson(human, metrics, "none", swaps()).compare().p
    assert np.isnan([*p[1], *p[:, 1]]).all()
    assert 0 < p[0, 2] <= 1


# ---------------------------------------------------------------- means over segments


@given(st.integers(2, 9), SEEDS, st.booleans())
def test_items_against_all_swaps(s, seed, blocked):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(2, 20 if blocked else s)), 1)
    blocks = BLOCKS if blocked else None
    exact = compare_items(values, np.ones(values.shape), blocks=blocks)
    gap = values[0] - values[1]
    sums = np.bincount(BLOCKS, gap) if blocked else gap
    null = all_signs(len(sums)) @ sums
    assert exact.p[0, 1] == pytest.approx(np.mean(null >= gap.sum() - 1e-9), abs=1e-9)
    assert exact.values == pytest.approx(values.mean(axis=1))


@given(st.integers(1, 10), SEEDS)
def test_verdicts_against_all_swaps(n, seed):
    right = np.random.default_rng(seed).random((2, n)) < 0.6
    p = compare_verdicts(right)
    gap = right[0].astype(int) - right[1]
    assert p[0, 1] == pytest.approx(np.mean(all_signs(n) @ gap >= gap.sum()))
    both = compare_verdicts(right, alternative="two-sided")
    assert both[0, 1] == pytest.approx(min(1, 2 * min(p[0, 1], p[1, 0])))


@pytest.mark.parametrize("blocks", [None, np.arange(40) // 3])
def test_drawn_items_and_ratios_agree_with_the_exact_test(blocks):
    values = np.random.default_rng(0).choice([0.0, 0.25, 0.5, 1.0], size=(3, 40))
    ones = np.ones((3, 40))
    exact = compare_items(values, ones, blocks=blocks)
    for null in (null_items(values, ones, swaps(4000, blocks=blocks)),
                 null_ratios(values, ones, swaps(4000, blocks=blocks))):  # fmt: skip
        assert null.values == pytest.approx(exact.values)
        assert np.abs(null.compare().p - exact.p)[OFF].max() < 0.04  # five standard errors
    gaps = np.array([[1.0, NAN, 0.0, 1.0], [0.0, 1.0, NAN, 0.0], [NAN] * 4])
    null = null_items(gaps, ones[:, :4], swaps())
    np.testing.assert_allclose(null.values, [2 / 3, 1 / 3, NAN])


# ---------------------------------------------------------------- p-values


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_p_counts_draws_beyond_and_undefined_ones(alternative):
    draws = np.array([[0.2], [-0.2], [0.05], [NAN]])
    p = Null(np.array([0.6, 0.5]), draws, "inputs").compare(alternative).p
    beyond = {"greater": (2, 3), "two-sided": (3, 3)}[alternative]
    assert [p[0, 1], p[1, 0]] == [(1 + n) / 5 for n in beyond]
    assert np.isnan(np.diag(p)).all()
    with pytest.raises(UsageError, match="unknown scheme 'rows'"):
        next(swaps(scheme="rows").signs(2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("trials", [200, pytest.param(1000, marks=pytest.mark.thorough)])
def test_level_of_the_tests_on_equal_metrics(trials):
    """Two metrics of equal quality: at alpha 5% the one-sided test rejects 5%."""
    rejected = 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        shared = rng.normal(0, 0.25, 6)[:, None] + rng.normal(size=(6, 80))
        human = shared + rng.normal(0, 1, shared.shape)
        metrics = shared + rng.normal(0, 1, (2, *shared.shape))
        null = null_spa(pairwise_pvalues(human).p, metrics, Swaps(n=99, rng=rng))
        rejected += null.compare().p[0, 1] <= 0.05
    assert abs(rejected / trials - 0.05) < 2.5 * np.sqrt(0.05 * 0.95 / trials)
