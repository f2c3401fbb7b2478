"""Elo ratings against the formula, evalica, and real battles."""

from __future__ import annotations

import csv
import gzip

import evalica
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import UsageError
from steelyard.stats.strength.battlelog import Battles, score_battles
from steelyard.stats.strength.elo import (
    EloOptions,
    elo_probability,
    elo_ratings,
)
from steelyard.stats.strength.orders import battles_in_orders, scores_in_orders, sequences

NAN = float("nan")


def random_log(seed, n=5, size=60, outcomes=(0.0, 0.5, 1.0)):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, size)
    right = (left + rng.integers(1, n, size)) % n
    return Battles(left, right, rng.choice(outcomes, size), n)


def naive(battles, k=20.0, initial=1500.0, scale=400.0, base=10.0):
    """The formula, battle by battle."""
    rating = [initial] * battles.n
    for t in range(len(battles)):
        i, j = battles.left[t], battles.right[t]
        q_i, q_j = base ** (rating[i] / scale), base ** (rating[j] / scale)
        weight = 1.0 if battles.weight is None else battles.weight[t]
        expected_i, expected_j = q_i / (q_i + q_j), q_j / (q_i + q_j)
        rating[i] += k * weight * (battles.outcome[t] - expected_i)
        rating[j] += k * weight * (1 - battles.outcome[t] - expected_j)
    return np.where(battles.met, rating, NAN)


@given(st.integers(0, 2**32), st.booleans())
def test_against_the_formula(seed, weighted):
    log = random_log(seed, outcomes=(0.0, 0.25, 0.5, 1.0))
    if weighted:
        weight = np.random.default_rng(seed).random(len(log))
        log = Battles(log.left, log.right, log.outcome, log.n, weight)
    np.testing.assert_allclose(elo_ratings(log), naive(log), rtol=1e-12)
    other = {"k": 30.0, "initial": 1000.0, "scale": 200.0, "base": 2.0}
    np.testing.assert_allclose(elo_ratings(log, EloOptions(**other)), naive(log, **other))


@pytest.mark.parametrize("seed", range(3))
def test_against_evalica(seed):
    log = random_log(seed, n=8, size=2000)
    words = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    scores = evalica.elo(
        [str(k) for k in log.left],
        [str(k) for k in log.right],
        [words[x] for x in log.outcome],
        k=20,
        initial=1500,
    ).scores
    theirs = [scores[str(k)] for k in range(8)]
    np.testing.assert_allclose(elo_ratings(log), theirs, rtol=0, atol=1e-9)


def test_llmfao(shared):
    folder = shared / "llmfao"
    with (folder / "expected-scores.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["algorithm"] == "elo"]
    expected = {row["item"]: float(row["score"]) for row in rows}
    code = {name: k for k, name in enumerate(expected)}
    with gzip.open(folder / "crowd-comparisons.csv.gz", "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    outcome = {"left": 1.0, "right": 0.0, "tie": 0.5}
    log = Battles(
        np.array([code[row["left"]] for row in rows]),
        np.array([code[row["right"]] for row in rows]),
        np.array([outcome[row["winner"]] for row in rows]),
        len(code),
    )
    ratings = elo_ratings(log, EloOptions(k=4, initial=1000))
    np.testing.assert_allclose(ratings, list(expected.values()), rtol=0, atol=1e-9)


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_many_orders_of_a_log_are_many_logs(seed, weighted, resample):
    log = random_log(seed)
    rng = np.random.default_rng(seed)
    if weighted:
        log = Battles(log.left, log.right, log.outcome, log.n, rng.random(len(log)))
    order = sequences(
        len(log),
        4,
        rng,
        blocks=rng.integers(0, 9, len(log)) if resample else None,
        resample=resample,
    )
    ratings = battles_in_orders(EloOptions(), log, order)
    for row, rating in zip(order, ratings, strict=True):
        k = row[row >= 0]
        weight = None if log.weight is None else log.weight[k]
        own = Battles(log.left[k], log.right[k], log.outcome[k], log.n, weight)
        np.testing.assert_allclose(rating, naive(own), rtol=1e-10)


def test_orders_of_scores_by_hand():
    """With two systems an order of segments is an order of battles."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 3, (2, 30)).astype(float)
    scores[0, 3] = NAN
    order = sequences(30, 5, rng)
    ratings = scores_in_orders(EloOptions(), scores, order, rng)
    for row, rating in zip(order, ratings, strict=True):
        np.testing.assert_allclose(rating, naive(score_battles(scores[:, row])), rtol=1e-10)
    tied = scores_in_orders(EloOptions(), scores, order, rng, tolerance=5)
    np.testing.assert_allclose(tied, 1500)


@pytest.mark.parametrize("n", [3, 4])
def test_orders_of_scores_average_to_the_same_as_orders_of_battles(n):
    """Tournaments within segments are random enough: means and spreads agree."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(n, 40)) + np.arange(n)[:, None] / 2
    by_round = scores_in_orders(EloOptions(), scores, sequences(40, 4000, rng), rng)
    assert by_round.shape == (4000, n)
    np.testing.assert_allclose(by_round.sum(axis=1), 1500 * n)
    log = score_battles(scores)
    unit = np.repeat(np.arange(40), n * (n - 1) // 2)
    by_battle = battles_in_orders(EloOptions(), log, sequences(len(log), 4000, rng, blocks=unit))
    spread = by_battle.std(axis=0)
    np.testing.assert_allclose(
        by_round.mean(axis=0), by_battle.mean(axis=0), atol=5 * spread.max() / np.sqrt(4000) + 3
    )
    np.testing.assert_allclose(by_round.std(axis=0), spread, rtol=0.15)


def test_systems_without_battles_have_no_rating():
    log = Battles(np.array([0]), np.array([2]), np.array([1.0]), 3)
    assert elo_ratings(log).tolist() == pytest.approx([1510, NAN, 1490], nan_ok=True)
    assert battles_in_orders(EloOptions(), log, np.array([[0], [-1]])).tolist() == [
        pytest.approx([1510, NAN, 1490], nan_ok=True),
        pytest.approx([NAN, NAN, NAN], nan_ok=True),
    ]
    scores = np.array([[1.0, 2.0], [NAN, NAN], [0.0, NAN]])
    found = scores_in_orders(
        EloOptions(), scores, np.array([[0, 1], [1, 1]]), np.random.default_rng(0)
    )
    assert found[0].tolist() == pytest.approx([1510, NAN, 1490], nan_ok=True)
    assert np.isnan(found[1]).all()  # nobody else has the only segment of that order
    nobody = np.empty(0, dtype=np.int64)
    empty = Battles(nobody, nobody, np.empty(0), 2)
    assert np.isnan(elo_ratings(empty)).all()


def test_an_impossible_gap_does_not_overflow():
    log = Battles(np.array([1]), np.array([0]), np.array([1.0]), 2)
    options = EloOptions(k=1e6, scale=1e-3)
    assert elo_ratings(log, options).tolist() == [1500 - 5e5, 1500 + 5e5]
    twice = Battles(np.array([1, 0]), np.array([0, 1]), np.array([1.0, 1.0]), 2)
    assert elo_ratings(twice, options).tolist() == [1500 + 5e5, 1500 - 5e5]


def test_probabilities():
    p = elo_probability([1500.0, 1700.0, NAN])
    assert p[1, 0] == pytest.approx(1 / (1 + 10 ** (-200 / 400)))
    assert p[0, 1] == pytest.approx(1 - p[1, 0])
    assert p[0, 0] == 0.5
    assert np.isnan(p[2]).all()


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"scale": -1}, {"base": 1}, {"initial": NAN}, {"k": NAN}]
)
def test_bad_constants_are_refused(options):
    with pytest.raises(UsageError, match="number"):
        EloOptions(**options)
