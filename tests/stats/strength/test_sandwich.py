"""Sandwich errors by unit against loops, against resamples, and under a null."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.core.errors import UsageError
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.resampling.cluster_df import unit_freedom
from steelyard.stats.strength.battlelog import Battles, UnitCounts, score_battles
from steelyard.stats.strength.bradleyterry import bradley_terry_batch
from steelyard.stats.strength.sandwich import bt_by_block, bt_by_unit, bt_gap_test
from steelyard.stats.strength.wins import resampled_wins

NAN = float("nan")


def outcome(a, b, ties_as):
    """What a won of a segment, and how much the segment counts."""
    if math.isnan(a) or math.isnan(b) or (a == b and ties_as == "drop"):
        return 0.0, 0.0
    return (0.5 if a == b else float(a > b)), 1.0


def likelihood(theta, x, ties_as, prior=0.0):
    """Log-likelihood of some segments, pair by pair; the imaginary opponent comes last."""
    total = 0.0
    n = len(x)
    for i in range(n):
        for j in range(i + 1, n):
            for a, b in zip(x[i], x[j], strict=True):
                won, met = outcome(a, b, ties_as)
                total += won * math.log(1 / (1 + math.exp(theta[j] - theta[i])))
                total += (met - won) * math.log(1 / (1 + math.exp(theta[i] - theta[j])))
    for i in range(n) if prior else ():
        total += prior * math.log(1 / (1 + math.exp(theta[n] - theta[i])))
        total += prior * math.log(1 / (1 + math.exp(theta[i] - theta[n])))
    return total


def gradient(f, at, h=1e-5):
    steps = np.eye(len(at)) * h
    return np.array([(f(at + step) - f(at - step)) / (2 * h) for step in steps])


def by_loops(theta, x, blocks, ties_as, prior):
    """Sandwich with numerical derivatives: systems x systems."""
    n = len(x)
    if prior:  # the opponent of the prior is in the middle of all
        from scipy.optimize import brentq

        own = brentq(lambda t: (1 / (1 + np.exp(theta - t)) - 0.5).sum(), -50, 50)
        theta = np.append(theta, own)
    hessian = np.array(
        [
            gradient(
                lambda t, k=k: gradient(lambda s: likelihood(s, x, ties_as, prior), t)[k], theta
            )
            for k in range(len(theta))
        ]
    )
    pulls = []
    for unit in sorted(set(blocks.tolist())):
        own = x[:, blocks == unit]
        compared = ((~np.isnan(own)).sum(axis=0) > 1).any()
        if compared:
            pulls.append(gradient(lambda t, own=own: likelihood(t, own, ties_as), theta))
    pulls = np.array(pulls) - np.mean(pulls, axis=0)
    size = len(pulls)
    meat = sum(np.outer(s, s) for s in pulls) * size / (size - 1)
    bread = np.linalg.pinv(-hessian, rcond=1e-6)
    centre = np.eye(n) - 1 / n
    return centre @ (bread @ meat @ bread)[:n, :n] @ centre


def sample(seed, n=3, units=7):
    rng = np.random.default_rng(seed)
    blocks = np.repeat(np.arange(units), rng.integers(1, 4, units))
    x = rng.integers(0, 4, (n, len(blocks))) + rng.integers(0, 2, (n, units))[:, blocks]
    return x.astype(float), blocks


@pytest.mark.parametrize(
    ("ties_as", "prior", "holes"),
    [("half", 0, 0), ("drop", 0, 0), ("half", 0.7, 0), ("half", 0, 3), ("drop", 0.5, 2)],
)
def test_covariance_is_that_of_loops(ties_as, prior, holes):
    x, blocks = sample(5)
    x[0, :holes] = NAN
    found = bt_by_block(x, blocks, ties_as=ties_as, prior=prior)
    assert found.fit.connected
    expected = by_loops(found.fit.log_strength, x, blocks, ties_as, prior)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-3, atol=1e-6)


@given(st.integers(0, 10_000), st.sampled_from(["half", "drop", "second"]), st.booleans())
def test_scores_and_battles_say_the_same(seed, ties_as, full):
    x, blocks = sample(seed, n=4, units=9)
    if not full:
        x[np.random.default_rng(seed).random(x.shape) < 0.2] = NAN
    log = score_battles(x, by="pair")
    both = [~np.isnan(x[i] - x[j]) for i in range(4) for j in range(i + 1, 4)]
    unit = np.concatenate([blocks[own] for own in both])
    one = bt_by_block(x, blocks, ties_as=ties_as)
    two = bt_by_unit(UnitCounts.of(log, unit), ties_as=ties_as)
    np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-6, atol=1e-9)
    p = bt_gap_test(one)
    known = ~np.isnan(one.fit.strength)
    outside = ~(known[:, None] & known) | np.eye(4, dtype=bool)
    if known.sum() > 1:
        assert (np.isnan(p) == outside).all()
    assert ((p[~outside] >= 0) & (p[~outside] <= 1)).all()


def test_segments_as_units_are_those_of_no_blocks():
    x, _ = sample(1, units=20)
    one, two = bt_by_block(x), bt_by_block(x, np.arange(x.shape[1]))
    assert np.array_equal(one.covariance, two.covariance)
    assert one.freedom == two.freedom == x.shape[1] - 1


def test_two_systems_by_hand():
    """Log-odds of a share: the error of the share over p (1 - p)."""
    x = np.array([[1.0, 1, 1, 0, 1, 0, 1, 1, 0], np.full(9, 0.5)])
    blocks = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    share = 6 / 9
    u = np.array([3, 1, 2]) - 3 * share
    error = math.sqrt((u**2).sum() * 3 / 2) / 9 / (share * (1 - share))
    found = bt_by_block(x, blocks)
    assert found.errors[0, 1] == pytest.approx(error)
    t = math.log(2) / error
    assert bt_gap_test(found)[0, 1] == pytest.approx(2 * stats.t.sf(t, 2))
    assert bt_gap_test(found, alternative="greater")[0, 1] == pytest.approx(stats.t.sf(t, 2))
    assert bt_gap_test(found, alternative="less")[1, 0] == pytest.approx(stats.t.sf(t, 2))


def test_one_unit_has_no_error():
    x = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 1.0]])
    found = bt_by_block(x, np.zeros(3, dtype=int))
    assert not np.isnan(found.fit.strength).any()
    assert np.isnan(found.covariance).all()
    assert math.isnan(found.freedom)
    assert np.isnan(bt_gap_test(found)).all()


def test_all_ties_are_equal():
    found = bt_by_block(np.ones((3, 6)), np.arange(6) // 2)
    p = bt_gap_test(found)
    assert p[np.triu_indices(3, 1)].tolist() == [1, 1, 1]
    assert bt_gap_test(found, alternative="greater")[0, 1] == 0.5
    assert np.isnan(bt_gap_test(bt_by_block(np.ones((3, 6)), ties_as="drop"))).all()


def test_an_unbeaten_system_has_no_strength_but_a_prior_gives_it_one():
    x, blocks = sample(5)
    x = np.vstack([x, np.full(x.shape[1], 9.0)])
    found = bt_by_block(x, blocks)
    p = bt_gap_test(found)
    assert np.isnan(p[3]).all()
    assert not np.isnan(p[0, 1])
    inner = bt_by_block(x[:3], blocks)
    np.testing.assert_allclose(found.covariance[:3, :3], inner.covariance, rtol=1e-9)
    assert not np.isnan(bt_gap_test(bt_by_block(x, blocks, prior=0.5))[3, :3]).any()


def test_units_without_a_comparison_do_not_count():
    x = np.array([[1.0, 2, 3, 1, NAN, NAN], [2.0, 1, 1, 3, 1, 1]])
    found = bt_by_block(x, np.array([0, 0, 1, 2, 3, 3]))
    assert found.n_units == 3
    assert found.freedom == unit_freedom([2, 1, 1])
    log = Battles(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([1.0, 1.0, 0.0]), n=2)
    assert bt_by_unit(UnitCounts.of(log, np.array([0, 4, 4]))).n_units == 2


def test_models_of_ties_are_refused():
    with pytest.raises(UsageError, match="errors by unit are for ties as half, drop, second"):
        bt_by_block(np.ones((2, 3)), ties_as="davidson")


@pytest.mark.parametrize("pair", ["en-ja", "en-cs"])
def test_errors_are_those_of_resampled_documents(esa, pair):
    scores, blocks = esa(pair)
    scores = scores[:6]
    found = bt_by_block(scores, blocks).errors
    counts = segment_counts(1000, len(blocks), np.random.default_rng(0), blocks)
    drawn = bradley_terry_batch(resampled_wins(scores, counts)).log_strength
    i, j = np.triu_indices(6, 1)
    ratio = found[i, j] / (drawn[:, i] - drawn[:, j]).std(axis=0)
    assert abs(np.median(ratio) - 1) < 0.03
    assert (abs(ratio - 1) < 0.12).all()
    alone = bt_by_block(scores, None).errors[i, j]
    assert np.median(found[i, j] / alone) > 1.7  # what documents share


def swapped(scores, blocks, sets, rng):
    """Share of sets with p < 0.05 where two of three systems are swapped by document at random."""
    codes = np.unique(blocks, return_inverse=True)[1]
    found = 0
    for _ in range(sets):
        flip = (rng.random(codes.max() + 1) < 0.5)[codes]
        x = scores.copy()
        x[:2, flip] = x[1::-1, flip]
        found += bt_gap_test(bt_by_block(x, blocks))[0, 1] < 0.05
    return found / sets


def test_equal_systems_are_seldom_called_different(esa):
    scores, blocks = esa("en-hi")
    assert 0.02 <= swapped(scores[:3], blocks, 200, np.random.default_rng(1)) <= 0.08


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("pair", ["en-ja", "en-hi", "en-cs"])
def test_error_rate_on_documents(esa, pair):
    scores, blocks = esa(pair)
    rng = np.random.default_rng(7)
    found = [swapped(scores[own], blocks, 300, rng) for own in ([0, 1, 2], [3, 5, 4], [6, 8, 7])]
    assert 0.03 <= np.mean(found) <= 0.07, found
