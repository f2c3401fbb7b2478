"""Elo and TrueSkill against formulas, other packages, and moments of truncated normals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trueskill
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from tests.stats.naive import NAN

from steelyard.core.errors import UsageError
from steelyard.stats.strength.sequential import (
    EloOptions,
    Ratings,
    TrueSkillOptions,
    battles_in_orders,
    battles_in_time,
    scores_in_orders,
    sequences,
)
from steelyard.stats.strength.wins import Battles, score_battles

RULES = [
    EloOptions(),
    EloOptions(k=5000.0),  # where chances go to nothing
    TrueSkillOptions(),
    TrueSkillOptions(beta=0.01, tau=0.0, draw_probability=0.9),  # far leads
    TrueSkillOptions(draw_probability=1e-6),  # a narrow margin
]


def random_log(seed, n=5, size=60, outcomes=(0.0, 0.5, 1.0)):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, size)
    right = (left + rng.integers(1, n, size)) % n
    return Battles(left, right, rng.choice(outcomes, size), n)


def naive_elo(battles, k=20.0, initial=1500.0, scale=400.0, base=10.0):
    """The formula, battle by battle."""
    rating, played = [initial] * battles.n, set()
    for t in range(len(battles)):
        i, j = battles.left[t], battles.right[t]
        q_i, q_j = base ** (rating[i] / scale), base ** (rating[j] / scale)
        weight = 1.0 if battles.weight is None else battles.weight[t]
        rating[i] += k * weight * (battles.outcome[t] - q_i / (q_i + q_j))
        rating[j] += k * weight * (1 - battles.outcome[t] - q_j / (q_i + q_j))
        played |= {i, j}
    return np.array([x if i in played else NAN for i, x in enumerate(rating)])


@given(st.integers(0, 2**32), st.booleans())
def test_elo_against_the_formula(seed, weighted):
    log = random_log(seed, outcomes=(0.0, 0.25, 0.5, 1.0))
    if weighted:
        weight = np.random.default_rng(seed).random(len(log))
        log = Battles(log.left, log.right, log.outcome, log.n, weight)
    np.testing.assert_allclose(battles_in_time(EloOptions(), log).scores, naive_elo(log))
    other = {"k": 30.0, "initial": 1000.0, "scale": 200.0, "base": 2.0}
    rated = battles_in_time(EloOptions(**other), log).scores
    np.testing.assert_allclose(rated, naive_elo(log, **other))


def by_package(battles, backend="scipy", **options):
    """Rate with the package trueskill, one game after the other."""
    env = trueskill.TrueSkill(backend=backend, **options)
    ratings = [env.create_rating() for _ in range(battles.n)]
    for i, j, outcome in zip(battles.left, battles.right, battles.outcome, strict=True):
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
def test_trueskill_against_the_package(options):
    for seed in range(2):
        log = random_log(seed, n=6, size=120)
        skills = battles_in_time(TrueSkillOptions(**options), log)
        mu, sigma = by_package(log, **options)
        np.testing.assert_allclose(skills.scores, mu, rtol=0, atol=1e-9)
        np.testing.assert_allclose(np.array(skills.sigma), sigma, rtol=0, atol=1e-9)


def truncated(low, high, t):
    """Mean of a unit normal around t cut off at low and high, less t; and its loss of variance."""
    whole = quad(lambda x: norm.pdf(x - t), low, high, epsabs=1e-14)[0]
    mean = quad(lambda x: x * norm.pdf(x - t) / whole, low, high, epsabs=1e-14)[0]
    square = quad(lambda x: (x - mean) ** 2 * norm.pdf(x - t) / whole, low, high, epsabs=1e-14)[0]
    return mean - t, 1 - square


@given(st.floats(-4, 4), st.sampled_from([0.02, 0.1, 0.5]), st.sampled_from([1.0, 0.5]))
def test_a_duel_conditions_on_a_truncated_normal(t, draw, outcome):
    """Skills of unit variance and noise of variance 1: the performances differ by a N(t c, c^2)."""
    rules = TrueSkillOptions(mu=0.0, sigma=1.0, beta=1.0, tau=0.0, draw_probability=draw)
    pairs = np.array([[[t], [-t]], [[1.0], [1.0]]])  # a lead of 2 t, that is t in units of c = 2
    rules.update(pairs, np.array([2 * outcome - 1]), None)
    margin = rules.margin / 2
    ends = (margin, t + 12) if outcome == 1 else (-margin, margin)
    v, w = truncated(ends[0], ends[1], t)
    assert pairs[0, :, 0] == pytest.approx([t + v / 2, -t - v / 2], abs=1e-7)
    assert pairs[1, :, 0] == pytest.approx(1 - w / 4, abs=1e-7)


@given(st.integers(0, 2**32), st.sampled_from(RULES), st.booleans(), st.booleans())
def test_many_orders_are_one_after_the_other(seed, rules, resample, weighted):
    """Loops over battles, and arrays over 60 orders, give the same."""
    log = random_log(seed, size=40)
    rng = np.random.default_rng(seed)
    if weighted and isinstance(rules, EloOptions):
        log = Battles(log.left, log.right, rng.random(len(log)), log.n, rng.random(len(log)))
    blocks = rng.integers(0, 9, len(log)) if resample else None
    order = sequences(len(log), 3, rng, blocks=blocks, resample=resample)
    many = battles_in_orders(rules, log, np.tile(order, (20, 1)))
    for o, row in enumerate(np.tile(order, (20, 1))):
        one = battles_in_time(rules, log.take(row[row >= 0]))
        np.testing.assert_allclose(many.scores[o], one.scores, rtol=1e-9, atol=1e-9)
        if one.sigma is not None and many.sigma is not None:
            np.testing.assert_allclose(many.sigma[o], one.sigma, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("rules", RULES[:3])
@pytest.mark.parametrize("tolerance", [0.0, 1.0])
def test_orders_of_scores_by_hand(rules, tolerance):
    """With two systems an order of segments is an order of battles."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, (2, 30)).astype(float)
    scores[0, 3] = NAN
    order = sequences(30, 5, rng)
    rated = scores_in_orders(rules, scores, order, rng, tolerance=tolerance)
    for o, row in enumerate(order):
        log = score_battles(scores[:, row], tolerance=tolerance)
        np.testing.assert_allclose(rated.scores[o], battles_in_time(rules, log).scores, rtol=1e-10)


@pytest.mark.parametrize("rules", [EloOptions(), TrueSkillOptions()])
def test_orders_of_scores_average_to_the_same_as_orders_of_battles(rules):
    """Tournaments within segments are random enough: means and spreads of differences agree."""
    rng, n = np.random.default_rng(2), 3
    scores = np.round(rng.normal(size=(n, 25)) + np.arange(n)[:, None] / 2, 1)
    by_round = scores_in_orders(rules, scores, sequences(25, 2000, rng), rng).scores
    segments = rng.permuted(np.tile(np.arange(25), (2000, 1)), axis=1)[:, :, None]
    pairs = n * (n - 1) // 2
    inside = rng.permuted(np.tile(np.arange(pairs), (2000, 25, 1)), axis=2)
    order = (segments * pairs + inside).reshape(2000, -1)
    by_battle = battles_in_orders(rules, score_battles(scores), order).scores
    error = by_battle.std(axis=0).max() / np.sqrt(1000)
    np.testing.assert_allclose(by_round.mean(axis=0), by_battle.mean(axis=0), atol=4 * error)
    one, other = (np.diff(rated, axis=1).std(axis=0) for rated in (by_round, by_battle))
    np.testing.assert_allclose(one, other, rtol=0.15)


@given(st.integers(1, 6), st.integers(0, 2**32), st.booleans())
def test_all_pairs_of_a_segment_meet_once(n, seed, complete):
    """In steps of next to nothing an Elo rating counts half a point for a win or a defeat."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (n, 4)).astype(float)
    order = sequences(4, 3, rng, resample=True)
    if not complete:
        scores[rng.random(scores.shape) < 0.25] = NAN
        order[1, 3] = -1
    rated = scores_in_orders(EloOptions(k=1e-3, initial=0.0), scores, order, rng).scores
    for row, ratings in zip(order, rated, strict=True):
        drawn = scores[:, row[row >= 0]]
        for i, rating in enumerate(ratings):
            gaps = np.delete(drawn[i] - drawn, i, axis=0)
            met = gaps[~np.isnan(gaps)]
            expected = np.sign(met).sum() / 2 if met.size else NAN
            assert 1000 * rating == pytest.approx(expected, abs=1e-3, nan_ok=True)


@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_sequences(n_items, n_orders, seed, blocked, resample):
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 4, n_items) if blocked else None
    order = sequences(n_items, n_orders, rng, blocks=blocks, resample=resample)
    for row in order:
        row = row[row >= 0]  # noqa: PLW2901
        if not resample:
            assert sorted(row) == list(range(n_items))
        elif not blocked:
            assert len(row) == n_items
        if blocks is not None and len(row):
            # Cut where a block ends: every piece is a whole block in its order.
            whole = {code: np.flatnonzero(blocks == code).tolist() for code in set(blocks)}
            at = drawn = 0
            while at < len(row):
                block = whole[blocks[row[at]]]
                assert row[at : at + len(block)].tolist() == block
                at += len(block)
                drawn += 1
            assert drawn == len(whole)


@pytest.mark.parametrize("rules", [EloOptions(), TrueSkillOptions()])
def test_systems_without_battles_have_no_rating(rules):
    log = Battles(np.array([0]), np.array([2]), np.array([1.0]), 3)
    first, second, third = battles_in_time(rules, log).scores
    assert first > third
    assert math.isnan(second)
    for copies in (1, 60):
        many = battles_in_orders(rules, log, np.array([[0], [-1]] * copies)).scores
        np.testing.assert_allclose(many[0], [first, NAN, third])
        assert np.isnan(many[1]).all()
    scores = np.array([[1.0, 2.0], [NAN, NAN], [0.0, NAN]])
    order = np.array([[0, 1], [1, 1]])
    rated = scores_in_orders(rules, scores, order, np.random.default_rng(0)).scores
    np.testing.assert_allclose(rated[0], [first, NAN, third])
    assert np.isnan(rated[1]).all()  # nobody else has the only segment of that order
    nobody = np.empty(0, dtype=np.int64)
    assert np.isnan(battles_in_time(rules, Battles(nobody, nobody, np.empty(0), 2)).scores).all()


def test_an_impossible_gap_does_not_overflow():
    rules = EloOptions(k=1e6, scale=1e-3)
    twice = Battles(np.array([1, 0]), np.array([0, 1]), np.array([1.0, 1.0]), 2)
    once = battles_in_time(rules, twice.take(slice(1)))
    assert once.scores.tolist() == [1500 - 5e5, 1500 + 5e5]
    assert battles_in_time(rules, twice).scores.tolist() == [1500 + 5e5, 1500 - 5e5]


def test_probabilities():
    p = EloOptions().win_probability(Ratings(np.array([1500.0, 1700.0, NAN])))
    assert p[1, 0] == pytest.approx(1 / (1 + 10 ** (-200 / 400)))
    skills = Ratings(np.array([25.0, 30.0, NAN]), np.array([2.0, 3.0, 1.0]))
    q = TrueSkillOptions().win_probability(skills)
    assert q[1, 0] == pytest.approx(norm.cdf(5 / math.sqrt(2 * (25 / 6) ** 2 + 4 + 9)))
    for chances in (p, q):
        assert chances[0, 1] == pytest.approx(1 - chances[1, 0])
        assert chances[0, 0] == 0.5
        assert np.isnan(chances[2]).all()


def test_what_trueskill_does_not_cover_is_refused():
    one, two, rules = np.array([0]), np.array([1]), TrueSkillOptions()
    with pytest.raises(UsageError, match="no other outcome"):
        battles_in_time(rules, Battles(one, two, np.array([0.7]), 2))
    with pytest.raises(UsageError, match="no weights"):
        battles_in_time(rules, Battles(one, two, np.array([1.0]), 2, np.array([2.0])))
    without = TrueSkillOptions(draw_probability=0)
    with pytest.raises(UsageError, match="draw probability of 0"):
        battles_in_time(without, Battles(one, two, np.array([0.5]), 2))
    won = Battles(one, two, np.array([1.0]), 2)
    mu, _ = by_package(won, draw_probability=0)
    np.testing.assert_allclose(battles_in_time(without, won).scores, mu)
    with pytest.raises(UsageError, match="above 0"):
        scores_in_orders(without, np.eye(2), np.array([[0]]), np.random.default_rng(0))
