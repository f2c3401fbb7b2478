"""Components of variance: formulas as they are written, hand-worked cases, known truths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import ShapeError
from steelyard.stats.components import (
    crossed_components,
    cube_root_interval,
    jackknife_errors,
    leave_out,
    nested_components,
)


def dense(y, fixed, factors):
    """Henderson's equations with whole matrices: E[y'Ay] = sum of variances times tr(AV)."""
    n = len(y)
    x = (fixed[:, None] == np.unique(fixed)).astype(float)
    p = np.eye(n) - x @ np.linalg.pinv(x)
    tables = [(f[:, None] == np.unique(f)).astype(float) for f in factors] + [np.eye(n)]
    forms = [p @ z @ np.diag(1 / z.sum(axis=0)) @ z.T @ p for z in tables]
    lines = np.array([[np.trace(a @ z @ z.T) for z in tables] for a in forms])
    return np.linalg.solve(lines, [y @ a @ y for a in forms])


def anova(x, documents):
    """The textbook's one-way analysis with n0 = (n - sum of m^2 / n) / (documents - 1)."""
    groups = [x[documents == g] for g in np.unique(documents)]
    n, k = len(x), len(groups)
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (n - k)
    between = sum(len(g) * (g.mean() - x.mean()) ** 2 for g in groups) / (k - 1)
    n0 = (n - sum(len(g) ** 2 for g in groups) / n) / (k - 1)
    return (between - within) / n0, within


@given(st.integers(0, 10_000))
def test_nested_components_are_those_of_the_textbook(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, rng.integers(2, 9))
    sizes[0] += 1
    documents = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=(3, len(documents))) + 100
    found = nested_components(x, documents)
    for row, own in zip(x, found[:, 0], strict=True):
        assert own[1:] == pytest.approx(anova(row, documents), rel=1e-8)
        assert np.isnan(own[0])


@given(st.integers(0, 10_000))
def test_nested_components_are_a_case_of_crossed_ones(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 12)
    sizes[0] += 1
    documents = np.repeat(np.arange(12), sizes)
    domains = np.array([0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 0, 1])[documents]
    x = rng.normal(size=(1, len(documents)))
    zeros = np.zeros(len(documents), dtype=int)
    crossed = crossed_components(x[0], zeros, [domains, documents])
    assert nested_components(x, documents, domains)[0, 0] == pytest.approx(crossed, rel=1e-7)


@given(st.integers(0, 10_000))
def test_crossed_components_are_those_of_whole_matrices(seed):
    rng = np.random.default_rng(seed)
    n = 50
    fixed, documents, raters = (rng.integers(0, k, n) for k in (3, 10, 5))
    y = rng.normal(size=n)
    found = crossed_components(y, fixed, [documents, raters, documents * 3 + fixed])
    assert found == pytest.approx(
        dense(y, fixed, [documents, raters, documents * 3 + fixed]), rel=1e-6, abs=1e-8
    )


def test_missing_values_take_no_part():
    documents = np.array([0, 0, 1, 1, 1, 2])
    x = np.array([[1.0, 3.0, np.nan, 5.0, 7.0, np.nan]])
    whole = nested_components(x[:, [0, 1, 3, 4]], documents[[0, 1, 3, 4]])
    assert nested_components(x, documents) == pytest.approx(whole, nan_ok=True)


def test_a_weight_of_two_is_a_second_document():
    rng = np.random.default_rng(0)
    documents = np.array([0, 0, 1, 1, 1, 2, 2])
    domains = np.array([0, 0, 0, 0, 0, 1, 1])
    x = rng.normal(size=(2, 7))
    again = [*range(7), 2, 3, 4]
    twice = nested_components(x[:, again], np.r_[documents, 3, 3, 3], domains[again])
    weights = np.array([[1.0, 2.0, 1.0]])
    assert nested_components(x, documents, domains, weights) == pytest.approx(twice)
    left = nested_components(x[:, :5], documents[:5])
    assert nested_components(x, documents, None, np.array([[1.0, 1.0, 0.0]])) == pytest.approx(
        left, nan_ok=True
    )


def test_what_can_not_be_told_apart_is_unknown():
    x = np.array([[1.0, 2.0, 4.0]])
    assert np.isnan(nested_components(x, np.array([0, 1, 2]))).all()  # single segments
    one = nested_components(x, np.array([0, 0, 0]))[0, 0]  # one document
    assert np.isnan(one[:2]).all()
    assert one[2] == pytest.approx(7 / 3)
    assert np.isnan(crossed_components(x[0], np.zeros(3, int), [np.array([0, 1, 2])])).all()
    same = np.array([0, 0, 1, 1])
    assert np.isnan(crossed_components(np.arange(4.0), np.zeros(4, int), [same, same])).all()


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="codes of documents"):
        nested_components(np.zeros((1, 3)), np.zeros(2, int))
    with pytest.raises(ShapeError, match="weights of shape"):
        nested_components(np.zeros((1, 2)), np.zeros(2, int), None, np.ones((1, 2)))
    with pytest.raises(ShapeError, match="a code per row"):
        crossed_components(np.zeros(3), np.zeros(3, int), [np.zeros(2, int)])


def test_jackknife_of_a_mean_is_its_standard_error():
    x = np.random.default_rng(1).normal(size=20)
    left = np.array([[np.delete(x, k).mean()] for k in range(20)])
    assert jackknife_errors(left)[0] == pytest.approx(x.std(ddof=1) / np.sqrt(20))
    assert np.isnan(jackknife_errors(left[:1])).all()


def test_intervals_of_what_is_unknown_are_unknown():
    assert np.isnan(cube_root_interval(np.nan, 1.0, 5)).all()
    assert np.isnan(cube_root_interval(1.0, np.nan, 5)).all()
    assert np.isnan(cube_root_interval(1.0, 1.0, 0)).all()
    assert cube_root_interval(-100.0, 1.0, 5) == (0.0, 0.0)
    assert leave_out(0).tolist() == []


def test_estimates_of_ratings_hit_known_components_on_average():
    rng = np.random.default_rng(3)
    systems, truth = 4, np.array([2.0, 1.0, 3.0, 4.0])  # document, session, rater, rest
    found = []
    for _ in range(150):
        sizes = rng.integers(1, 6, 30)
        document = np.tile(np.repeat(np.arange(30), sizes), systems)
        system = np.repeat(np.arange(systems), sizes.sum())
        session = document * systems + system
        rater = rng.integers(0, 9, 30 * systems)[session]  # one rater for a document of a system
        y = 5.0 * system
        for code, variance in zip((document, session, rater), truth, strict=False):
            y = y + rng.normal(size=code.max() + 1)[code] * np.sqrt(variance)
        y = y + rng.normal(size=len(y)) * 2
        found.append(crossed_components(y, system, [document, session, rater]))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - truth) < 3.5 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(20, 0.5), (50, 0.2), (200, 0.3)])
def test_intervals_hold_the_truth(n, share):
    rng = np.random.default_rng(n)
    held = []
    for _ in range(600):
        documents = np.repeat(np.arange(n), rng.integers(1, 9, n))
        x = rng.normal(size=n)[documents] * np.sqrt(share)
        x = (x + rng.normal(size=len(documents)) * np.sqrt(1 - share))[None]
        weights = np.vstack([np.ones(n), 1 - np.eye(n)])
        found = nested_components(x, documents, None, weights)[0, :, 1:]
        errors = jackknife_errors(found[1:])
        ends = [cube_root_interval(found[0, k], errors[k], n - 1) for k in range(2)]
        true = (share, 1 - share)
        held.append([low <= own <= high for (low, high), own in zip(ends, true, strict=True)])
    assert (np.abs(np.mean(held, axis=0) - 0.95) < 0.03).all()
