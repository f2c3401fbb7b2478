"""Estimates that hold for other systems: halves, and shorter tests of systems held out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.instances.congeneric import fit_scores
from steelyard.stats.instances.scorespread import win_shares
from steelyard.stats.instances.shortertest import ShorterTest, SplitHalf, shorter_test, split_half

NAN = float("nan")


def simulated(rng, n=10, s=300, *, tau=0.5, noise=1.0, spread=1.0):
    ability = np.linspace(-spread, spread, n)
    slope = rng.normal(1, tau, s)
    return rng.normal(size=s) + slope * ability[:, None] + noise * rng.normal(size=(n, s)), slope


def naive_order(scores):
    ability = scores.mean(axis=1) - scores.mean()
    slopes = [np.polyfit(ability, column, 1)[0] for column in scores.T]
    return sorted(range(scores.shape[1]), key=lambda k: -slopes[k])


@given(st.integers(0, 10_000), st.booleans())
def test_shorter_tests_against_a_naive_twin(seed, wins):
    rng = np.random.default_rng(seed)
    scores, _ = simulated(rng, 5, 12)
    found = shorter_test(scores, [1, 4, 12], pairs=100, draws=3, rng=rng, wins=wins)
    assert found is not None
    row = 0
    for i in range(5):
        for j in range(i + 1, 5):
            rest = np.delete(scores, [i, j], axis=0)
            order = naive_order(win_shares(rest) if wins else rest)
            gap = scores[i] - scores[j]
            for column, size in enumerate(found.sizes):
                same = np.sign(gap[order[:size]].sum()) == np.sign(gap.sum())
                if wins:  # equal slopes are common, and their order a matter of rounding
                    continue
                assert found.most[row, column] == same
            row += 1
    assert (found.most[:, -1] == 1).all()
    assert (found.random[:, -1] == 1).all()
    assert ((found.random >= 0) & (found.random <= 1)).all()


def test_reliability_of_halves_is_that_of_the_model():
    rng = np.random.default_rng(0)
    scores, slope = simulated(rng, 16, 1500)
    halves = split_half(scores, splits=40, rng=rng)
    found = fit_scores(scores)
    whole = SplitHalf.full(float(halves.discrimination.mean()))
    assert whole == pytest.approx(found.reliability_discrimination, abs=0.06)
    assert whole == pytest.approx(np.corrcoef(found.discrimination, slope)[0, 1] ** 2, abs=0.06)
    ease = SplitHalf.full(float(halves.ease.mean()))
    assert ease == pytest.approx(found.reliability_ease, abs=0.06)


def test_choosing_helps_where_there_is_something_to_choose():
    rng = np.random.default_rng(1)
    most, chance, least = [], [], []
    for _ in range(6):
        scores, _ = simulated(rng, 12, 300, tau=0.8, noise=1.0, spread=0.3)
        found = shorter_test(scores, [15], pairs=66, draws=20, rng=rng)
        assert found is not None
        most.append(found.most.mean())
        chance.append(found.random.mean())
        least.append(found.least.mean())
    assert np.mean(most) > np.mean(chance) + 0.05 > np.mean(least) + 0.1


def test_choosing_does_not_seem_to_help_where_segments_are_alike():
    """It is not circular: segments chosen for their noise say nothing of other systems."""
    rng = np.random.default_rng(2)
    most, chance = [], []
    for _ in range(12):
        scores, _ = simulated(rng, 10, 200, tau=0.0, noise=2.0, spread=0.4)
        found = shorter_test(scores, [10, 20], pairs=45, draws=20, rng=rng)
        assert found is not None
        most.append(found.most.mean())
        chance.append(found.random.mean())
    assert abs(np.mean(most) - np.mean(chance)) < 0.05


def test_few_systems():
    rng = np.random.default_rng(0)
    scores, _ = simulated(rng, 3, 20)
    assert shorter_test(scores, [5], pairs=10, draws=2, rng=rng) is None
    halves = split_half(scores, splits=3, rng=rng)
    assert np.isnan(halves.ease).all()
    assert np.isnan(halves.discrimination).all()


def test_pairs_are_drawn_where_there_are_many():
    rng = np.random.default_rng(0)
    scores, _ = simulated(rng, 12, 30)
    found = shorter_test(scores, [5, 30], pairs=7, draws=2, rng=rng)
    assert found is not None
    assert found.most.shape == (7, 2)


def test_ties_and_missing_cells():
    rng = np.random.default_rng(0)
    scores, _ = simulated(rng, 6, 40)
    scores[rng.random(scores.shape) < 0.2] = NAN
    found = shorter_test(scores, [10, 40], pairs=20, draws=2, rng=rng)
    assert found is not None
    assert not np.isnan(found.most).any()
    flat = np.ones((4, 10))
    tied = shorter_test(flat, [3], pairs=20, draws=2, rng=rng)
    assert tied is not None
    assert (tied.most == 0.5).all()


def test_spearman_and_brown_and_what_is_needed():
    assert SplitHalf.full(0.0) == 0.0
    assert np.isnan(SplitHalf.full(-1.0))
    agreement = np.array([0.5, 0.9, 0.99])
    assert ShorterTest.needed(agreement, 0.4) == 0
    assert ShorterTest.needed(agreement, 0.9) == 1
    assert ShorterTest.needed(agreement, 0.999) is None
