"""Swaps for statistics of segments: each against swapping by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import UsageError
from steelyard.stats.metametrics import swaps
from steelyard.stats.metametrics.swapped import null_items, null_pearson, null_recomputed
from steelyard.stats.metametrics.swaps import compare_items, standardise
from steelyard.stats.permutation.pvalues import pair_index

NAN = float("nan")


def data(n=5, s=30, m=3, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.3, n)[:, None] + rng.normal(size=(n, s))
    human = np.round(quality + rng.normal(0, 0.5, (n, s)), 1)
    metrics = np.stack([quality + rng.normal(0, 1 + k, (n, s)) for k in range(m)])
    metrics[rng.random(metrics.shape) < missing] = NAN
    human[rng.random(human.shape) < missing] = NAN
    return human, metrics


def draws_by_hand(scheme, shape, k, seed):
    """The sign of every cell in every draw."""
    n, s = shape
    for columns, rows, cells in swaps.draw(scheme, n, s, k, np.random.default_rng(seed)):
        for t in range(len(next(x for x in (columns, rows, cells) if x is not None))):
            sign = np.ones(shape)
            sign = sign if columns is None else sign * columns[t]
            sign = sign if rows is None else sign * rows[t][:, None]
            yield sign if cells is None else sign * cells[t]


def pearson_by_hand(human, metric, group_by):
    rows = [(human.ravel(), metric.ravel())] if group_by == "none" else list(zip(human, metric, strict=True))  # fmt: skip # noqa: E501
    values = []
    for h, m in rows:
        known = ~(np.isnan(h) | np.isnan(m))
        if known.sum() > 1 and np.ptp(h[known]) > 0 and np.ptp(m[known]) > 0:
            values.append(np.corrcoef(h[known], m[known])[0, 1])
    return np.mean(values) if values else NAN


@pytest.mark.parametrize("scheme", swaps.SCHEMES)
@pytest.mark.parametrize("group_by", ["none", "system"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_pearson_against_swapping_by_hand(scheme, group_by, missing):
    human, metrics = data(missing=missing)
    k = 12
    null = null_pearson(human, metrics, group_by=group_by, scheme=scheme, n_resamples=k,
                        rng=np.random.default_rng(4))  # fmt: skip
    expected = [pearson_by_hand(human, m, group_by) for m in metrics]
    np.testing.assert_allclose(null.values, expected, atol=1e-9)
    z = standardise(np.where(np.isnan(human), NAN, metrics))
    for row, sign in zip(null.differences, draws_by_hand(scheme, human.shape, k, 4), strict=True):
        for q, (a, b) in enumerate(zip(*pair_index(3), strict=True)):
            one, two = np.where(sign > 0, z[a], z[b]), np.where(sign > 0, z[b], z[a])
            by_hand = pearson_by_hand(human, one, group_by) - pearson_by_hand(human, two, group_by)
            assert row[q] == pytest.approx(by_hand, abs=1e-8)


@pytest.mark.parametrize("scheme", swaps.SCHEMES)
def test_blocks_are_swapped_whole(scheme):
    human, metrics = data(missing=0.1)
    blocks = np.arange(30) // 4
    asked = {"scheme": scheme, "n_resamples": 9, "blocks": blocks}
    null = null_pearson(human, metrics, group_by="none", **asked, rng=np.random.default_rng(4))
    known = np.where(np.isnan(human), NAN, metrics)
    slow = null_recomputed(lambda x: pearson_by_hand(human, x, "none"), known, **asked,
                           rng=np.random.default_rng(4))  # fmt: skip
    np.testing.assert_allclose(slow.differences, null.differences, atol=1e-8)
    z = standardise(known)
    for row, sign in zip(null.differences, draws_by_hand(scheme, (5, 8), 9, 4), strict=True):
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
    drawn = null_items(values, ones, blocks=blocks, n_resamples=4000, rng=rng).compare()
    off = ~np.eye(3, dtype=bool)
    assert np.abs(drawn.p - exact.p)[off].max() < 0.04  # five standard errors


def test_pearson_of_a_constant_metric_has_no_p_value():
    human, metrics = data()
    metrics[1] = 7.0
    null = null_pearson(human, metrics, group_by="none", scheme="inputs", n_resamples=50,
                        rng=np.random.default_rng(0))  # fmt: skip
    assert np.isnan(null.values[1])
    p = null.compare().p
    assert np.isnan(p[1]).all()
    assert np.isnan(p[:, 1]).all()
    assert 0 < p[0, 2] <= 1


def test_pearson_knows_two_groupings():
    human, metrics = data()
    with pytest.raises(UsageError, match="none and system"):
        null_pearson(human, metrics, group_by="item", scheme="inputs", n_resamples=1,
                     rng=np.random.default_rng(0))  # fmt: skip


@given(st.integers(0, 1000))
def test_items_agree_with_the_exact_test(seed):
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.25, 0.5, 1.0], size=(3, 40))
    weights = np.ones((3, 40))
    exact = compare_items(values, weights)
    drawn = null_items(values, weights, n_resamples=4000, rng=rng).compare()
    np.testing.assert_allclose(drawn.values, exact.values, atol=1e-12)
    off = ~np.eye(3, dtype=bool)
    assert np.abs(drawn.p - exact.p)[off].max() < 0.04  # five standard errors


def test_items_that_are_undefined_take_no_part():
    values = np.array([[1.0, NAN, 0.0, 1.0], [0.0, 1.0, NAN, 0.0], [NAN] * 4])
    null = null_items(values, np.ones((3, 4)), n_resamples=10, rng=np.random.default_rng(0))
    np.testing.assert_allclose(null.values, [2 / 3, 1 / 3, NAN])


@pytest.mark.parametrize("scheme", swaps.SCHEMES)
def test_recomputing_equals_the_kernel_of_pearson(scheme):
    human, metrics = data()
    asked = {"scheme": scheme, "n_resamples": 9}
    ticks = []
    slow = null_recomputed(lambda x: pearson_by_hand(human, x, "none"), metrics, **asked,
                           rng=np.random.default_rng(1), tick=lambda: ticks.append(1))  # fmt: skip
    quick = null_pearson(human, metrics, group_by="none", **asked, rng=np.random.default_rng(1))
    np.testing.assert_allclose(slow.differences, quick.differences, atol=1e-8)
    assert len(ticks) == 9


def test_two_sided_p_counts_both_directions():
    null = swaps.Null(np.array([0.6, 0.5]), np.array([[0.2], [-0.2], [0.05], [0.0]]), "inputs")
    assert null.compare().p[0, 1] == (1 + 1) / 5
    assert null.compare().p[1, 0] == (3 + 1) / 5
    two = null.compare("two-sided").p
    assert two[0, 1] == two[1, 0] == (2 + 1) / 5
