"""Resampling by counts equals resampling by copies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.naive import NAN, SEEDS, copies, quality

from steelyard.stats.arrays import weighted_sums
from steelyard.stats.metametrics.accuracy import soft_agreement
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues
from steelyard.stats.permutation.tails import expansion
from steelyard.stats.resampling import bootstrap


@pytest.mark.parametrize("blocks", [None, np.arange(60) // 7])
@pytest.mark.parametrize("missing", [False, True])
def test_spa_against_copies(blocks, missing):
    """Blocks are drawn and change sign together; each copy of a block is a unit of its own."""
    human, metrics = quality(5, 60, 2)
    if missing:
        metrics[1, 0, :30] = human[:, :5] = NAN
    counts = bootstrap.segment_counts(20, 60, np.random.default_rng(1), blocks)
    units = np.arange(60) if blocks is None else blocks
    first = np.unique(units, return_index=True)[1]
    values = bootstrap.bootstrap_spa(human, metrics, segments=counts, blocks=blocks)
    for b, times in enumerate(counts):
        drawn = [k for k in range(len(first)) for _ in range(int(times[first[k]]))]
        assert len(drawn) == len(first)
        for m, metric in enumerate(metrics):
            lost = np.isnan(human + metric)
            p = []
            for x in (human, metric):
                x = np.where(lost, NAN, x)  # noqa: PLW2901
                gap = x[:, None] - x
                sums = np.stack([np.nansum(gap[..., units == k], axis=-1) for k in drawn], axis=-1)
                p.append(expansion(*((sums**power).sum(axis=2) for power in (1, 2, 4)))[0])
            assert values[b, m] == pytest.approx(soft_agreement(*p).value, abs=1e-5)


@given(st.integers(1, 60), st.integers(1, 6), SEEDS, st.integers(-40, 40))
def test_exact_sums_are_the_same_in_any_order(s, rows, seed, size):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, s)) * 10.0**size
    counts = bootstrap.draw_counts(5, s, rng)
    result = bootstrap.exact_sums(counts, values)
    order = rng.permutation(s)
    np.testing.assert_array_equal(result, bootstrap.exact_sums(counts[:, order], values[:, order]))
    close = 1e-12 * np.abs(values).max() * s
    np.testing.assert_allclose(
        result, [copies(values, c).sum(axis=1) for c in counts], rtol=0, atol=close
    )
    assert not bootstrap.exact_sums(counts, np.zeros((rows, s))).any()


def test_spa_over_systems_against_copies():
    human, metrics = quality(5, 60, 2)
    rng = np.random.default_rng(2)
    weights = bootstrap.pair_weights(bootstrap.draw_counts(50, 5, rng))
    result = bootstrap.bootstrap_spa(human, metrics, pairs=weights)
    i, j = pair_index(5)
    p_human = pairwise_pvalues(human).p[i, j]
    for m, metric in enumerate(metrics):
        terms = 1 - np.abs(pairwise_pvalues(metric).p[i, j] - p_human)
        expected = (weights @ terms) / weights.sum(axis=1)
        np.testing.assert_allclose(result[:, m], expected, atol=2e-3)


@given(st.integers(1, 5), st.integers(1, 8), SEEDS)
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


def test_every_document_is_drawn_equally_often():
    blocks = np.repeat([5, 1, 9, 4], [1, 2, 3, 4])
    counts = bootstrap.segment_counts(20_000, 10, np.random.default_rng(0), blocks)
    np.testing.assert_allclose(counts.mean(axis=0), 1.0, atol=0.03)
    # Binomial(4, 1/4), as for any four units that are drawn four times.
    np.testing.assert_allclose(counts.var(axis=0), 0.75, atol=0.04)


columns = st.integers(1, 12).flatmap(
    lambda n: st.lists(
        st.lists(st.one_of(st.just(NAN), st.integers(-5, 5).map(float)), min_size=n, max_size=n),
        min_size=1,
        max_size=4,
    )
)


@given(columns, st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.999]))
def test_intervals_against_quantiles_of_what_is_known(values, level):
    replicates = np.array(values).T
    low, high = bootstrap.interval(replicates, level)
    for column, a, b in zip(replicates.T, low, high, strict=True):
        known = column[~np.isnan(column)]
        if not known.size or 2 * known.size < len(column):
            assert np.isnan(a)
            assert np.isnan(b)
            continue
        expected = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
        np.testing.assert_allclose([a, b], expected, rtol=1e-12, atol=1e-12)


def test_no_interval_reaches_a_level_of_nan():
    low, high = bootstrap.interval(np.arange(20.0).reshape(10, 2), NAN)
    assert np.isnan([*low, *high]).all()


def covers(groups, blocks, seed):
    """Whether the interval of a mean that is 0 holds it, in a set of documents."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, groups.max() + 1)[groups] + rng.normal(0, 0.5, len(groups))
    counts = bootstrap.segment_counts(200, len(groups), rng, blocks)
    low, high = bootstrap.interval(bootstrap.bootstrap_means(values[None], counts))
    return bool(low[0] <= 0 <= high[0])


def test_intervals_cover_a_mean_of_documents():
    """40 documents of 5 segments that vary together: segments drawn alone say too much."""
    groups, trials = np.repeat(np.arange(40), 5), range(150)
    assert 0.89 <= np.mean([covers(groups, groups, seed) for seed in trials]) <= 0.98
    assert np.mean([covers(groups, None, seed) for seed in trials]) < 0.75


def copied_medians(scores, counts):
    """Copy the segments, and take the median of what is known."""
    result = np.full((len(counts), len(scores)), NAN)
    for b, own in enumerate(counts.astype(int)):
        for r, row in enumerate(scores):
            known = copies(row, own)
            known = known[~np.isnan(known)]
            if known.size:
                result[b, r] = np.median(known)
    return result


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 3), SEEDS, st.booleans())
def test_medians_are_those_of_copies(size, rows, seed, levels, missing):
    rng = np.random.default_rng([seed, levels])
    scores = rng.integers(0, 1 + levels % 50, (rows, size)) / 4.0
    if missing:
        scores[rng.random(scores.shape) < 0.4] = NAN
    counts = bootstrap.segment_counts(
        12, size, rng, rng.integers(0, 9, size) if levels % 2 else None
    )
    counts[0] = 0  # an empty resample
    np.testing.assert_array_equal(
        bootstrap.bootstrap_medians(scores, counts), copied_medians(scores, counts)
    )


def test_half_far_from_the_middle_of_the_data_is_found_too():
    """Counts whose middle is far from the data's are added up in full."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(3, 400))
    order = np.argsort(scores[0])
    for extreme in (0, 60):  # with many resamples like it, and alone among others
        counts = bootstrap.segment_counts(60, 400, rng)
        counts[0], counts[1] = 0, 0
        counts[0, order[:5]] = 80  # all of it at the lowest scores
        counts[1, order[-5:]] = 80
        counts[2:extreme, order[150:250]] = 0  # nothing where the middle should be
        medians = bootstrap.bootstrap_medians(scores, counts)
        np.testing.assert_array_equal(medians, copied_medians(scores, counts))


def test_very_many_units_are_drawn_in_groups_with_the_same_spread():
    """Means, also of skewed scores with gaps, and medians spread as those of single units do."""
    n, draws = 70_000, 960
    counts = bootstrap.draw_counts(draws, n, np.random.default_rng(3), compact=True)
    assert counts.dtype == np.uint8
    rng = np.random.default_rng(4)
    scores = np.stack([rng.normal(size=n), rng.lognormal(0, 2, n), np.sort(rng.normal(size=n))])
    scores[1, rng.random(n) < 0.3] = np.nan
    known = (~np.isnan(scores)).sum(axis=1)
    expected = np.nanstd(scores, axis=1) / np.sqrt(known)
    means = bootstrap.bootstrap_means(scores, counts)
    np.testing.assert_allclose(means.std(axis=0) / expected, 1, atol=0.1)
    np.testing.assert_allclose(
        (means.mean(axis=0) - np.nanmean(scores, axis=1)) / expected, 0, atol=0.2
    )
    medians = bootstrap.bootstrap_medians(scores[:1], counts)
    assert medians.std() == pytest.approx(np.sqrt(np.pi / 2 / n), rel=0.12)
    column = scores[:1].T
    np.testing.assert_allclose(
        weighted_sums(counts[:3], column), counts[:3].astype(float) @ column, rtol=1e-9
    )
