"""Large differences by their cosines, small ones by a series: the bound, and when it must fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.permutation import rising, series, tails
from steelyard.stats.permutation.lattice import Z
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues, stacked_pvalues
from steelyard.stats.permutation.rising import risen
from steelyard.stats.permutation.series import clip_far, far_p, split_p
from steelyard.stats.permutation.steps import scattered

seeds = st.integers(0, 2**32 - 1)


def products(gap, odd):
    """All cosines at odd multiples of the lowest frequency, multiplied; and that frequency."""
    deviation = np.sqrt((gap**2).sum())
    half = np.pi / (min(abs(gap.sum()), Z * deviation) + Z * deviation)
    return np.prod(np.cos(np.outer(odd * half, gap)), axis=1), half


def by_product(gap, nodes=600):
    odd = np.arange(1, 2 * nodes, 2)
    value, half = products(gap, odd)
    return 0.5 - 2 / np.pi * (value * np.sin(odd * half * gap.sum()) / odd).sum()


@given(st.integers(64, 1500), st.floats(0.5, 6), st.floats(0, 0.2), st.integers(0, 3), seeds)
def test_the_bound_of_large_and_small_differences_holds(n, weight, shift, outliers, seed):
    rng = np.random.default_rng(seed)
    gap = rng.normal(size=n)
    gap = np.sign(gap) * np.abs(gap) ** weight
    gap += shift * gap.std()
    gap[:outliers] *= 30
    p, bound = split_p(gap[None], gap[None].sum(axis=1))
    if abs(gap.sum()) < Z * np.sqrt((gap**2).sum()):
        assert abs(p[0] - by_product(gap)) <= bound[0]


def test_heavy_tails_need_no_product(monkeypatch):
    """Operations, not seconds: of Student's t with three degrees no pair is left over."""
    rng = np.random.default_rng(0)
    scores = rng.standard_t(3, size=(3, 8, 1000)) + rng.normal(0, 0.03, (3, 8, 1))
    asked = []
    monkeypatch.setattr(tails, "characteristic", lambda gap, *_, **__: asked.append(len(gap)))
    found = stacked_pvalues(list(scores))
    assert not asked
    for own, x in zip(found, scores, strict=True):
        assert own.error <= series.SURE
        for i, j in zip(*pair_index(8), strict=True):
            assert abs(own.p[i, j] - by_product(x[i] - x[j])) <= own.error


@given(st.integers(300, 1200), st.sampled_from([2.0, 3.0, 5.0]), st.integers(0, 4), seeds)
def test_the_bound_holds_where_large_differences_are_taken_out_of_sums(n, heavy, outliers, seed):
    """Sums of all differences, less the large ones, stand in for sums of the small ones."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_t(heavy, size=(4, n)) + rng.normal(0, 2 / np.sqrt(n), (4, 1))
    scores[0, :outliers] *= 20
    i, j = pair_index(4)
    p, bound, doubted = series.series_tails([scores], i, j)
    for k in np.flatnonzero(~doubted[0]):
        assert bound[0, k] <= series.SURE
        assert abs(p[0, k] - by_product(scores[i[k]] - scores[j[k]])) <= bound[0, k]


def test_systems_that_are_alike_on_most_segments_are_looked_at_once_more():
    rng = np.random.default_rng(5)
    one = rng.normal(size=2000)
    other = np.where(rng.random(2000) < 0.6, one, rng.normal(size=2000))
    steps = np.where(other == one, one, one + np.round(other - one))
    for x, sure in ((other, True), (steps, False)):
        scores = np.stack([one, x])
        found = scattered([scores], np.zeros(1, int), np.zeros(1, int), np.ones(1, int))
        assert found.tolist() == [sure]
    own = pairwise_pvalues(np.stack([one, other]))
    assert 0 < own.error <= series.SURE
    assert abs(own.p[0, 1] - by_product(one - other)) <= own.error


def test_outliers_that_outweigh_all_others_are_sure_or_left_to_others():
    rng = np.random.default_rng(1)
    gaps = rng.normal(size=(6, 400))
    gaps[:, 0] = [0, 10, 30, 60, 200, 1e4]
    p, bound = split_p(gaps, gaps.sum(axis=1))
    truth = [by_product(gap, 5000) for gap in gaps[:5]]
    assert (np.abs(p[:5] - truth) <= bound[:5]).all()
    assert (bound[:4] <= series.SURE).all()
    assert bound[5] > series.SURE  # of T, half a step of 1e4 and little else is seen


# ------------------------------------------------------------------------- differences in steps


@given(
    st.integers(70, 900), st.sampled_from([0.1, 0.25, 1.0]), st.floats(0, 0.3), st.integers(2, 30),
    seeds,
)  # fmt: skip
def test_no_product_rises_above_what_is_said(n, step, odd, levels, seed):
    # Whole steps, and a share of numbers between them, as means over raters are.
    rng = np.random.default_rng(seed)
    gap = step * rng.integers(-levels, levels + 1, n).astype(float)
    between = rng.random(n) < odd
    gap[between] += rng.choice([1 / 7, 1 / 3, 0.05], between.sum())
    sizes = np.sort(np.abs(gap))[None]
    if not sizes.any():
        return
    nodes = np.arange(2 * 18 + 1, 2 * series.NODES, 2)
    value, _ = products(gap, nodes)
    truth = 2 / np.pi * (np.abs(value) / nodes).sum()
    assert truth <= 1.001 * risen(sizes, np.array([gap.sum()]))[0] + 1e-12


def test_steps_that_show_are_not_taken_for_a_series():
    """Of 900 whole differences and three others T is nearly on a lattice, which a series misses."""
    rng = np.random.default_rng(4)
    gap = rng.integers(-3, 4, 900).astype(float)
    gap[:3] += np.sqrt([0.031, 0.017, 0.023])
    found = pairwise_pvalues(np.stack([gap, np.zeros(900)]))
    blind = split_p(gap[None], gap[None].sum(axis=1))[0][0]
    assert found.error == 0.0  # so few sizes are enumerated
    assert risen(np.sort(np.abs(gap))[None], np.array([gap.sum()]))[0] > 1e-4
    assert abs(blind - found.p[0, 1]) > 1e-5


# --------------------------------------------------------------------------------------- far out


@pytest.mark.parametrize("sign", [1, -1])
def test_far_out_hoeffding_bounds_both_p_and_its_error(sign):
    variance = np.full(5, 4.0)
    t = sign * 2 * np.array([0.0, 3.0, 5.5, 7.4, 7.6])
    p, bound = far_p(t, variance)
    assert bound.tolist()[:4] == [np.inf] * 4
    assert p[4] == (0 if sign > 0 else 1)
    p = np.full(5, 0.5)
    clip_far(p, bound, t, variance)
    most = np.exp(-(t**2) / 8)
    assert (np.minimum(p, 1 - p)[1:] <= most[1:]).all()
    assert bound[:2].tolist() == [np.inf] * 2
    np.testing.assert_allclose(bound[2:4], most[2:4])


def test_pairs_far_apart_need_no_differences(monkeypatch):
    rng = np.random.default_rng(2)
    scores = rng.standard_t(3, size=(5, 800)) + np.arange(5)[:, None]
    asked = []
    monkeypatch.setattr(series, "split_p", lambda gap, _: asked.append(len(gap)))
    found = pairwise_pvalues(scores)
    assert not asked
    assert found.error <= series.SURE


def test_several_scores_are_what_each_is():
    rng = np.random.default_rng(3)
    shape = 6, 500
    scores = [rng.standard_t(3, shape), rng.normal(size=shape), rng.normal(size=shape).round(2)]
    scores.append(rng.integers(0, 50, shape) / 49.0 + 1e-9)
    for own, x in zip(stacked_pvalues(scores), scores, strict=True):
        alone = pairwise_pvalues(x)
        np.testing.assert_allclose(own.p, alone.p, rtol=0, atol=1e-12)
        assert own.how == alone.how


def test_counts_up_to_limits():
    rng = np.random.default_rng(0)
    ordered = np.sort(rng.integers(0, 9, (5, 20)).astype(float), axis=1)
    limits = [rng.integers(-1, 11, 5).astype(float) for _ in range(3)]
    expected = [(ordered <= own[:, None]).sum(axis=1).tolist() for own in limits]
    assert rising._up_to(ordered, limits).tolist() == expected
    assert rising._up_to(np.zeros((0, 4)), [np.zeros(0)] * 2).shape == (2, 0)
