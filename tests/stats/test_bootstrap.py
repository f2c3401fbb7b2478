"""Resampling by counts equals resampling by copies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import ShapeError
from steelyard.stats import bootstrap
from steelyard.stats.accuracy import soft_agreement
from steelyard.stats.permutation import pair_index, pairwise_pvalues

NAN = float("nan")


def data(n=5, s=60, m=2, seed=0):
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.3, n)[:, None] + rng.normal(size=(n, s))
    return np.round(quality, 1), np.stack(
        [quality + rng.normal(0, k + 1, (n, s)) for k in range(m)]
    )


def copies(x, counts):
    return np.repeat(x, counts.astype(int), axis=-1)


@pytest.mark.parametrize("blocks", [None, np.arange(60) // 7])
def test_spa_over_segments_against_copies(blocks):
    human, metrics = data()
    counts = bootstrap.segment_counts(20, 60, np.random.default_rng(1), blocks)
    found = bootstrap.bootstrap_spa(human, metrics, segments=counts)
    for b, own in enumerate(counts):
        p_human = pairwise_pvalues(copies(human, own), method="analytic").p
        for m, metric in enumerate(metrics):
            p_metric = pairwise_pvalues(copies(metric, own), method="analytic").p
            # Fourth moments here, sixth in the analytic method: close, not equal.
            assert found[b, m] == pytest.approx(soft_agreement(p_human, p_metric).value, abs=2e-3)


def test_spa_over_blocks_against_copies_of_blocks():
    """Blocks are drawn and change sign together; each copy of a block is a unit of its own."""
    human, metrics = data(s=80)
    blocks = np.arange(80) // 8
    counts = bootstrap.segment_counts(20, 80, np.random.default_rng(1), blocks)
    found = bootstrap.bootstrap_spa(human, metrics, segments=counts, blocks=blocks)
    for b, own in enumerate(counts):
        drawn = [k for k in range(10) for _ in range(int(own[8 * k]))]
        assert len(drawn) == 10
        summed = [np.stack([x[:, blocks == k].sum(axis=1) for k in drawn], axis=1)
                  for x in (human, *metrics)]  # fmt: skip
        p_human, *p_metrics = (pairwise_pvalues(x, method="analytic").p for x in summed)
        for m, p_metric in enumerate(p_metrics):
            assert found[b, m] == pytest.approx(soft_agreement(p_human, p_metric).value, abs=0.01)


def test_spa_over_systems_against_copies():
    human, metrics = data()
    rng = np.random.default_rng(2)
    weights = bootstrap.pair_weights(bootstrap.draw_counts(50, 5, rng))
    found = bootstrap.bootstrap_spa(human, metrics, pairs=weights)
    i, j = pair_index(5)
    p_human = pairwise_pvalues(human, method="analytic").p[i, j]
    for m, metric in enumerate(metrics):
        terms = 1 - np.abs(pairwise_pvalues(metric, method="analytic").p[i, j] - p_human)
        expected = (weights @ terms) / weights.sum(axis=1)
        np.testing.assert_allclose(found[:, m], expected, atol=2e-3)


def test_pair_weights_count_pairs_of_different_systems():
    systems = bootstrap.draw_counts(30, 4, np.random.default_rng(0))
    for weights, counts in zip(bootstrap.pair_weights(systems), systems, strict=True):
        total = weights.sum()
        assert total == 6 - (counts * (counts - 1) / 2).sum()
        assert total <= 6  # 4 draws have 6 pairs; those of a system with itself do not count
        assert (weights >= 0).all()


def test_missing_cells_take_no_part():
    human, metrics = data()
    metrics[1, 0, :30] = NAN
    human[:, :5] = NAN
    counts = bootstrap.segment_counts(10, 60, np.random.default_rng(1))
    found = bootstrap.bootstrap_spa(human, metrics, segments=counts)
    known = np.where(np.isnan(metrics[1]), NAN, human)
    p = [
        pairwise_pvalues(copies(x, counts[3]), method="analytic").p
        for x in (known, np.where(np.isnan(known), NAN, metrics[1]))
    ]
    assert found[3, 1] == pytest.approx(soft_agreement(*p).value, abs=5e-3)


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 8), st.integers(0, 10**6))
def test_means_and_groups_against_copies(n, s, seed):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((n, s)) < 0.2, NAN, rng.normal(size=(n, s)))
    weights = rng.integers(1, 4, (n, s)).astype(float)
    counts = bootstrap.segment_counts(5, s, rng)
    means = bootstrap.bootstrap_means(scores, counts)
    groups = bootstrap.bootstrap_groups(scores, weights, counts)
    for b, own in enumerate(counts):
        for i, row in enumerate(scores):
            values, shares = copies(row, own), copies(weights[i], own)
            known = ~np.isnan(values)
            if not known.any():
                assert np.isnan(means[b, i])
                assert np.isnan(groups[b, i])
            else:
                assert means[b, i] == pytest.approx(values[known].mean())
                assert groups[b, i] == pytest.approx(
                    np.average(values[known], weights=shares[known])
                )


def test_blocks_are_drawn_whole():
    blocks = np.array([0, 0, 1, 1, 1, 2])
    for own in bootstrap.segment_counts(20, 6, np.random.default_rng(0), blocks):
        assert own[0] == own[1]
        assert own[2] == own[3] == own[4]
    with pytest.raises(ShapeError):
        bootstrap.segment_counts(2, 5, np.random.default_rng(0), blocks)


def test_ranks_against_counting():
    values = np.array([[0.3, 0.9, 0.3, NAN]])
    assert bootstrap.ranks(values)[0, :3].tolist() == [2, 1, 2]
    assert np.isnan(bootstrap.ranks(values)[0, 3])


def test_interval_of_columns_that_are_mostly_undefined():
    values = np.array([[1.0, NAN], [2.0, NAN], [3.0, 5.0]])
    low, high = bootstrap.interval(values)
    assert 1 <= low[0] < high[0] <= 3
    assert np.isnan(low[1])
    assert np.isnan(high[1])


@pytest.mark.slow
def test_intervals_cover_the_value_of_the_population():
    """Pearson's r of means over segments: a 95 % interval covers near 95 % of the time."""
    covered, trials = 0, 300
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        values = rng.normal(0.4, 1.0, (1, 200))  # one metric's values on 200 segments
        counts = bootstrap.segment_counts(400, 200, rng)
        low, high = bootstrap.interval(
            bootstrap.bootstrap_groups(values, np.ones((1, 200)), counts)
        )
        covered += low[0] <= 0.4 <= high[0]
    assert 0.92 <= covered / trials <= 0.98
