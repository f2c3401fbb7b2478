"""Combinations of metrics: weights by their definition, folds that share nothing, edge cases."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.stats import rankdata

from steelyard.core.errors import DegenerateError, ShapeError
from steelyard.stats.combining import (
    Folds,
    balanced_folds,
    combined,
    learn_weights,
    nonnegative,
    rank_scores,
    z_scores,
)


def sample(seed: int, m=3, n=6, s=15, missing=0.1):
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(n, 1)) + rng.normal(size=(n, s))
    metrics = quality + rng.normal(size=(m, n, s)) * rng.uniform(0.5, 3, size=(m, 1, 1))
    human = quality + rng.normal(size=(n, s))
    human[rng.random((n, s)) < missing] = np.nan
    metrics[0][rng.random((n, s)) < missing / 2] = np.nan
    folds = Folds(balanced_folds(n, 2, rng), balanced_folds(s, 3, rng))
    return metrics, human, folds


def naive_weights(metrics, human, rows, columns, *, differences):
    """Write every equation down, and solve them by least squares without negative weights."""
    cells = [
        (i, k)
        for i in np.flatnonzero(rows)
        for k in np.flatnonzero(columns)
        if not (np.isnan(human[i, k]) or np.isnan(metrics[:, i, k]).any())
    ]
    x = np.array([metrics[:, i, k] for i, k in cells])
    y = np.array([human[i, k] for i, k in cells])
    if differences:
        pairs = [
            (a, b) for a, b in combinations(range(len(cells)), 2) if cells[a][1] == cells[b][1]
        ]
        x = np.array([x[a] - x[b] for a, b in pairs])
        y = np.array([y[a] - y[b] for a, b in pairs])
    else:
        x, y = x - x.mean(axis=0), y - y.mean()
    weights = nnls(x, y)[0]
    if weights.sum() <= 1e-12:
        return np.full(len(metrics), 1 / len(metrics)), True
    return weights / weights.sum(), False


@pytest.mark.parametrize("differences", [False, True])
@given(seed=st.integers(0, 10**6), missing=st.sampled_from([0.0, 0.2]))
def test_weights_of_each_fold_are_those_of_all_equations_outside_it(differences, seed, missing):
    metrics, human, folds = sample(seed, missing=missing)
    found = learn_weights(metrics, human, folds, differences=differences)
    empty = 0
    for i, j in np.ndindex(*folds.shape):
        rows, columns = folds.systems != i, folds.segments != j
        expected, none = naive_weights(metrics, human, rows, columns, differences=differences)
        assert found.folds[i, j] == pytest.approx(expected, abs=1e-7)
        empty += none
    assert found.empty == empty
    whole, _ = naive_weights(metrics, human, [True] * 6, [True] * 15, differences=differences)
    assert found.every == pytest.approx(whole, abs=1e-7)
    assert found.folds.sum(axis=-1) == pytest.approx(np.ones(folds.shape))
    assert (found.folds >= 0).all()


@pytest.mark.parametrize("differences", [False, True])
def test_a_fold_learns_nothing_from_its_own_systems_and_segments(differences):
    metrics, human, folds = sample(3)
    before = learn_weights(metrics, human, folds, differences=differences)
    other = human.copy()
    mine = (folds.systems == 1)[:, None] | (folds.segments == 2)[None, :]
    other[mine] = 100 * np.random.default_rng(0).normal(size=int(mine.sum()))
    after = learn_weights(metrics, other, folds, differences=differences)
    assert np.allclose(after.folds[1, 2], before.folds[1, 2], atol=1e-6)
    assert not np.allclose(after.folds[0, 0], before.folds[0, 0], atol=1e-6)


def test_differences_do_not_see_what_all_systems_share():
    metrics, human, folds = sample(5, missing=0.0)
    shift = np.random.default_rng(1).normal(size=human.shape[1]) * 50
    found = [learn_weights(metrics, h, folds, differences=True).every
             for h in (human, human + shift)]  # fmt: skip
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_where_nothing_goes_with_people_all_weigh_alike():
    metrics, human, folds = sample(2, missing=0.0)
    found = learn_weights(np.stack([-human, -human - 1e-3 * metrics[0]]), human, folds)
    assert found.empty == 6
    assert (found.every == 0.5).all()


def test_constant_people_and_identical_metrics():
    metrics, human, folds = sample(2, missing=0.0)
    assert learn_weights(metrics, np.ones_like(human), folds).empty == 6
    twice = learn_weights(np.stack([metrics[1], metrics[1]]), human, folds)
    once = combined(np.stack([metrics[1], metrics[1]]), twice.folds, folds)
    assert once == pytest.approx(metrics[1])


def test_shapes_are_checked():
    metrics, human, folds = sample(0)
    with pytest.raises(ShapeError, match="do not fit"):
        learn_weights(metrics, human[:, :-1], folds)


@given(st.integers(0, 10**6))
def test_least_squares_from_products_is_that_of_the_equations(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    x[:, 3] = x[:, 0] * rng.choice([1, 0])  # a column that is another, or nothing
    found = nonnegative(x.T @ x, x.T @ y)
    expected = nnls(x, y)[0]
    assert x @ found == pytest.approx(x @ expected, abs=1e-7)  # weights of equals are free
    assert (found >= 0).all()


def test_nothing_to_learn_from():
    assert nonnegative(np.zeros((2, 2)), np.zeros(2)).tolist() == [0.0, 0.0]


@given(st.integers(1, 60), st.integers(2, 7), st.integers(0, 100))
def test_folds_are_even_and_depend_on_the_seed_alone(n, k, seed):
    folds = balanced_folds(n, k, np.random.default_rng(seed))
    sizes = np.bincount(folds, minlength=k)
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(folds, balanced_folds(n, k, np.random.default_rng(seed)))


@given(st.integers(0, 10**6))
def test_scales_are_those_of_the_textbook(seed):
    metrics, _, _ = sample(seed, missing=0.3)
    metrics = np.round(metrics)  # with ties
    for own, z, ranked in zip(metrics, z_scores(metrics), rank_scores(metrics), strict=True):
        known = ~np.isnan(own)
        x = own[known]
        assert z[known] == pytest.approx((x - x.mean()) / x.std())
        assert ranked[known] == pytest.approx((rankdata(x) - 1) / (len(x) - 1))
        assert np.isnan(z[~known]).all()
        assert np.isnan(ranked[~known]).all()


def test_a_constant_metric_has_no_scale():
    with pytest.raises(DegenerateError, match="metric 1 is constant"):
        z_scores(np.stack([np.arange(6.0).reshape(2, 3), np.ones((2, 3))]))


def test_what_no_metric_tells_apart_ties_whatever_the_folds():
    metrics, human, folds = sample(8, missing=0.0)
    metrics[:, 0] = metrics[:, 1]
    metrics[:, 2, :5] = metrics[:, 3, :5]
    apart = Folds(np.arange(6) % 2, folds.segments)
    weights = learn_weights(metrics, human, apart).folds
    found = combined(metrics, weights, apart)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[2, :5], found[3, :5])
    assert (found[2, 5:] != found[3, 5:]).all()
    plain = np.einsum("m,ms->s", weights[0, 0], metrics[:, 4])
    mine = apart.segments == 0
    assert found[4, mine] == pytest.approx(plain[mine])


def test_cells_are_weighed_by_their_own_folds():
    metrics, human, folds = sample(7)
    weights = learn_weights(metrics, human, folds).folds
    found = combined(metrics, weights, folds)
    for i, k in np.ndindex(*human.shape):
        own = weights[folds.systems[i], folds.segments[k]]
        expected = sum(w * x for w, x in zip(own, metrics[:, i, k], strict=True))
        assert found[i, k] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize("hot", range(6))
def test_folds_whose_people_say_one_thing_are_empty_whatever_comes_first(hot, differences):
    x = z_scores(np.random.default_rng(0).normal(size=(3, 6, 12)))
    folds = Folds(np.arange(6) % 2, np.arange(12) % 3)
    human = np.full((6, 12), 0.1)
    human[hot, 0] = -5.3
    found = learn_weights(x, human, folds, differences=differences)
    away = np.ones((2, 3), dtype=bool)  # folds that do not learn from the one that stands out
    away[1 - hot % 2, 1:] = False
    assert found.folds[away] == pytest.approx(1 / 3)
    assert found.empty >= away.sum()
    order = np.array([3, 1, 5, 0, 2, 4])
    moved = Folds(folds.systems[order], folds.segments)
    again = learn_weights(x[:, order], human[order], moved, differences=differences)
    assert again.empty == found.empty
    assert again.folds == pytest.approx(found.folds)


def test_a_constant_whose_deviation_is_rounding_has_no_scale():
    with pytest.raises(DegenerateError, match="metric 1 is constant"):
        z_scores(np.array([[[1.0, 2.0, 3.0]], [[0.1, 0.1, 0.1]]]))
