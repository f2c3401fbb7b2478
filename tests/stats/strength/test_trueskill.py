"""TrueSkill against the package of that name, and against moments of truncated normals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trueskill
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import erfcx
from scipy.stats import norm

from steelyard.core.errors import UsageError
from steelyard.stats.strength import truncation
from steelyard.stats.strength.battlelog import Battles, score_battles
from steelyard.stats.strength.orders import battles_in_orders, scores_in_orders, sequences
from steelyard.stats.strength.trueskill import (
    TrueSkillOptions,
    trueskill_probability,
    trueskill_ratings,
)

NAN = float("nan")


def random_log(seed, n=5, size=60):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, size)
    right = (left + rng.integers(1, n, size)) % n
    return Battles(left, right, rng.choice([0.0, 0.5, 1.0], size), n)


def by_package(battles, backend="scipy", **options):
    """Rate with the package, one game after the other."""
    env = trueskill.TrueSkill(backend=backend, **options)
    ratings = [env.create_rating() for _ in range(battles.n)]
    log = zip(battles.left, battles.right, battles.outcome, strict=True)
    for i, j, outcome in log:
        first, second = (i, j) if outcome else (j, i)
        ratings[first], ratings[second] = trueskill.rate_1vs1(
            ratings[first], ratings[second], drawn=outcome == 0.5, env=env
        )
    return np.array([r.mu for r in ratings]), np.array([r.sigma for r in ratings])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"draw_probability": 0.6},
        {"mu": 0.0, "sigma": 1.0, "beta": 2.0, "tau": 0.0},
        {"sigma": 3.0, "beta": 0.5, "tau": 0.5, "draw_probability": 0.02},
    ],
)
def test_against_the_package(options):
    for seed in range(2):
        log = random_log(seed, n=6, size=120)
        skills = trueskill_ratings(log, TrueSkillOptions(**options))
        mu, sigma = by_package(log, **options)
        np.testing.assert_allclose(skills.mu, mu, rtol=0, atol=1e-9)
        np.testing.assert_allclose(skills.sigma, sigma, rtol=0, atol=1e-9)


def test_the_package_without_scipy_approximates_the_same():
    """Its own error function is good to seven digits."""
    log = random_log(0, size=120)
    skills = trueskill_ratings(log)
    mu, sigma = by_package(log, backend=None)
    np.testing.assert_allclose(skills.mu, mu, rtol=0, atol=1e-5)
    np.testing.assert_allclose(skills.sigma, sigma, rtol=0, atol=1e-5)


def truncated(low, high, t):
    """Mean of a unit normal around t cut off at low and high, less t; and its loss of variance."""
    whole = quad(lambda x: norm.pdf(x - t), low, high, epsabs=1e-14)[0]
    mean = quad(lambda x: x * norm.pdf(x - t) / whole, low, high, epsabs=1e-14)[0]
    square = quad(lambda x: (x - mean) ** 2 * norm.pdf(x - t) / whole, low, high, epsabs=1e-14)[0]
    return mean - t, 1 - square


def won(x):
    v = truncation.shift(x, truncation.table().tolist())
    return v, min(v * (v + x), 1.0)


def tied(t, e):
    return truncation.tied(t, e, truncation.table().tolist())


@settings(max_examples=40)
@given(st.floats(-4, 4), st.floats(0.05, 2))
def test_moments_of_truncated_normals(t, margin):
    assert won(t - margin) == pytest.approx(truncated(margin, t + 12, t), abs=1e-7)
    assert tied(t, margin) == pytest.approx(truncated(-margin, margin, t), abs=1e-7)


@given(st.floats(-60, 60), st.floats(1e-6, 5))
def test_one_and_many_agree_to_the_far_ends(t, margin):
    one, many = won(t), truncation.won_all(np.array([t, -1.0]))
    assert (many[0][0], many[1][0]) == one
    assert 0 <= one[1] <= 1
    one, many = tied(t, margin), truncation.tied_all(np.array([t, -t]), np.array([margin, margin]))
    assert (many[0][0], many[1][0]) == one
    if t:
        assert (-many[0][1], many[1][1]) == one
    if t < -25:  # a hopeless win moves the mean to the margin, whatever was believed
        assert won(t)[0] == pytest.approx(-t, rel=2e-3)


@given(st.floats(-60, 12))
def test_the_table_is_right_to_the_last_digits(x):
    v, w = won(x)
    exact = math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))
    assert v == pytest.approx(exact, rel=1e-15, abs=1e-15)
    assert w == pytest.approx(exact * (exact + x), abs=1e-11)
    assert math.isnan(won(NAN)[0])
    assert np.isnan(truncation.won_all(np.array([NAN, x]))[0]).tolist() == [True, False]


@given(st.floats(-8, 8), st.floats(1e-9, 1e-3))
def test_a_narrow_tie_is_nearly_an_equation(t, margin):
    v, w = tied(t, margin)
    assert v == pytest.approx(-t, abs=max(1e-11, 3 * margin**2))
    assert w == pytest.approx(1, abs=max(1e-10, margin**2))


@given(st.integers(0, 2**32), st.booleans())
def test_many_orders_of_a_log_are_many_logs(seed, resample):
    log = random_log(seed, size=40)
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 9, len(log)) if resample else None
    order = sequences(len(log), 4, rng, blocks=blocks, resample=resample)
    skills = battles_in_orders(TrueSkillOptions(), log, order)
    for o, row in enumerate(order):
        k = row[row >= 0]
        own = trueskill_ratings(Battles(log.left[k], log.right[k], log.outcome[k], log.n))
        np.testing.assert_array_equal(skills.mu[o], own.mu)
        np.testing.assert_array_equal(skills.sigma[o], own.sigma)


def test_orders_of_scores_by_hand():
    """With two systems an order of segments is an order of battles."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 3, (2, 30)).astype(float)
    scores[0, 3] = NAN
    order = sequences(30, 5, rng)
    skills = scores_in_orders(TrueSkillOptions(), scores, order, rng)
    for o, row in enumerate(order):
        own = trueskill_ratings(score_battles(scores[:, row]))
        np.testing.assert_allclose(skills.mu[o], own.mu, rtol=1e-10)
        np.testing.assert_allclose(skills.sigma[o], own.sigma, rtol=1e-10)


@pytest.mark.parametrize("n", [3, 4])
def test_orders_of_scores_average_to_the_same_as_orders_of_battles(n):
    """Tournaments within segments are random enough."""
    rng = np.random.default_rng(2)
    scores = np.round(rng.normal(size=(n, 25)) + np.arange(n)[:, None] / 2, 1)
    by_round = scores_in_orders(TrueSkillOptions(), scores, sequences(25, 2000, rng), rng)
    log = score_battles(scores)
    segments = rng.permuted(np.tile(np.arange(25), (2000, 1)), axis=1)[:, :, None]
    pairs = n * (n - 1) // 2
    inside = rng.permuted(np.tile(np.arange(pairs), (2000, 25, 1)), axis=2)
    by_battle = battles_in_orders(
        TrueSkillOptions(), log, (segments * pairs + inside).reshape(2000, -1)
    )
    # Means, and spreads of differences: the common level, which means nothing, varies less.
    error = by_battle.mu.std(axis=0).max() / np.sqrt(1000)
    np.testing.assert_allclose(by_round.mu.mean(axis=0), by_battle.mu.mean(axis=0), atol=4 * error)
    one, other = (np.diff(skills.mu, axis=1).std(axis=0) for skills in (by_round, by_battle))
    np.testing.assert_allclose(one, other, rtol=0.1)
    np.testing.assert_allclose(by_round.sigma.mean(axis=0), by_battle.sigma.mean(axis=0), rtol=0.01)


def test_systems_without_duels_have_no_skill():
    log = Battles(np.array([0]), np.array([2]), np.array([1.0]), 3)
    skills = trueskill_ratings(log)
    assert np.isnan([skills.mu[1], skills.sigma[1]]).all()
    assert skills.mu[0] > 25 > skills.mu[2]
    many = battles_in_orders(TrueSkillOptions(), log, np.array([[0], [-1]]))
    np.testing.assert_allclose(many.mu[0], skills.mu)
    assert np.isnan(many.mu[1]).all()


def test_equal_systems_that_tie_stay_equal_and_become_certain():
    log = Battles(np.zeros(20, dtype=int), np.ones(20, dtype=int), np.full(20, 0.5), 2)
    skills = trueskill_ratings(log)
    assert skills.mu.tolist() == [25, 25]
    assert (skills.sigma < 25 / 3).all()


def test_probabilities():
    p = trueskill_probability([25.0, 30.0, NAN], [2.0, 3.0, 1.0])
    beta = 25 / 6
    assert p[1, 0] == pytest.approx(norm.cdf(5 / math.sqrt(2 * beta**2 + 4 + 9)))
    assert p[0, 1] == pytest.approx(1 - p[1, 0])
    assert p[0, 0] == 0.5
    assert np.isnan(p[2]).all()


def test_what_trueskill_does_not_know_is_refused():
    share = Battles(np.array([0]), np.array([1]), np.array([0.7]), 2)
    with pytest.raises(UsageError, match="no other outcome"):
        trueskill_ratings(share)
    weighted = Battles(np.array([0]), np.array([1]), np.array([1.0]), 2, np.array([2.0]))
    with pytest.raises(UsageError, match="no weights"):
        battles_in_orders(TrueSkillOptions(), weighted, np.array([[0]]))
    tied = Battles(np.array([0]), np.array([1]), np.array([0.5]), 2)
    without = TrueSkillOptions(draw_probability=0)
    with pytest.raises(UsageError, match="draw probability of 0"):
        trueskill_ratings(tied, without)
    won = Battles(np.array([0]), np.array([1]), np.array([1.0]), 2)
    mu, _ = by_package(won, draw_probability=0)
    np.testing.assert_allclose(trueskill_ratings(won, without).mu, mu)
    with pytest.raises(UsageError, match="above 0"):
        scores_in_orders(without, [[1.0], [2.0]], np.array([[0]]), np.random.default_rng(0))


@pytest.mark.parametrize(
    "options",
    [{"sigma": 0}, {"beta": -1}, {"tau": -1}, {"draw_probability": 1}, {"draw_probability": NAN}],
)
def test_bad_constants_are_refused(options):
    with pytest.raises(UsageError):
        TrueSkillOptions(**options)
