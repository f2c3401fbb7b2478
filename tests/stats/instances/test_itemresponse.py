"""Answers that are right or wrong: the likelihood written out, an optimiser of it, simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.instances.itemresponse import (
    ABILITY,
    Answers,
    LogisticState,
    fit_answers,
    information_curve,
    penalised_likelihood,
)

NAN = float("nan")


def simulated(rng, n=8, s=400, *, tau=0.5, mean=0.5):
    ability = rng.normal(size=n)
    ability = ability - ability.mean()
    ease, slope = rng.normal(mean, 1.2, s), rng.normal(1, tau, s)
    chance = 1 / (1 + np.exp(-ease - slope * ability[:, None]))
    return (rng.random((n, s)) < chance).astype(float), ease, slope, ability


def naive_likelihood(scores, ability, mean, kappa, tau) -> float:
    """Sum over segments of the log of an integral, as a sum over a grid, cell by cell."""
    zs = [-4 + 0.2 * k for k in range(41)]
    ws = [-3.5 + 0.5 * k for k in range(15)] if tau else [0.0]
    total = sum(math.exp(-z * z / 2 - w * w / 2) for z in zs for w in ws)
    found = -sum(t * t for t in ability) / (2 * ABILITY**2)
    for column in scores.T:
        whole = 0.0
        for z in zs:
            for w in ws:
                product = math.exp(-z * z / 2 - w * w / 2) / total
                for x, t in zip(column, ability, strict=True):
                    if not math.isnan(x):
                        p = 1 / (1 + math.exp(-(mean + kappa * z) - (1 + tau * w) * t))
                        product *= p if x == 1 else 1 - p
                whole += product
        found += math.log(whole)
    return float(found)


@settings(max_examples=5)
@given(st.integers(0, 10_000), st.booleans())
def test_the_likelihood_against_a_naive_one(seed, two):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 2, (3, 6)).astype(float)
    scores[1, 2] = NAN
    ability = rng.normal(size=3)
    tau = 0.4 if two else 0.0
    state = LogisticState(ability, 0.3, 1.1, tau)
    want = naive_likelihood(scores, ability, 0.3, 1.1, tau)
    assert penalised_likelihood(Answers.of(scores)[0], state) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_optimiser_finds_better(seed):
    rng = np.random.default_rng(seed)
    scores, *_ = simulated(rng, 5, 250, tau=0.7)
    scores[rng.random(scores.shape) < 0.05] = NAN
    found = fit_answers(scores)
    answers, _ = Answers.of(scores)

    def minus(p):
        ability = np.r_[p[:4], -p[:4].sum()]
        state = LogisticState(ability, p[4], math.exp(p[5]), math.exp(p[6]))
        return -penalised_likelihood(answers, state)

    best = min(
        (minimize(minus, np.r_[start, 0.3, 0.0, -1.0], method="BFGS")
         for start in (np.zeros(4), found.ability[:4])),
        key=lambda tried: tried.fun,
    )  # fmt: skip
    assert found.likelihoods is not None
    assert found.likelihoods[1] >= -best.fun - 0.02
    assert found.likelihoods[1] >= found.likelihoods[0] - 1e-6
    if found.spread_discrimination > 0.05:
        assert found.ability[:4] == pytest.approx(best.x[:4], abs=0.1)
        assert found.spread_ease == pytest.approx(math.exp(best.x[5]), abs=0.1)


def test_what_was_put_in_is_found():
    rng = np.random.default_rng(0)
    scores, ease, slope, ability = simulated(rng, 12, 3000)
    found = fit_answers(scores)
    assert found.converged
    assert found.logistic
    assert found.ability == pytest.approx(ability, abs=0.15)
    assert found.spread_ease == pytest.approx(1.2, abs=0.1)
    assert found.spread_discrimination == pytest.approx(0.5, abs=0.12)
    for own, sd, true in (
        (found.ease, found.ease_sd, ease),
        (found.discrimination, found.discrimination_sd, slope),
    ):
        assert 0.92 < (np.abs(own - true) <= 1.96 * sd).mean() < 0.98
    known = np.corrcoef(found.ease, ease)[0, 1] ** 2
    assert found.reliability_ease == pytest.approx(known, abs=0.05)


def test_systems_that_are_always_right_and_segments_that_nobody_has():
    rng = np.random.default_rng(0)
    scores, *_ = simulated(rng, 6, 200)
    scores[0] = 1.0
    scores[:, 5] = NAN
    found = fit_answers(scores)
    assert np.isfinite(found.ability).all()
    assert found.ability[0] == max(found.ability)
    assert np.isnan([found.ease[5], found.discrimination[5]]).all()
    assert np.isfinite(np.delete(found.ease, 5)).all()  # also where all are right, or all wrong


def test_two_systems_have_ease_alone():
    rng = np.random.default_rng(0)
    found = fit_answers(simulated(rng, 2, 100)[0])
    assert np.isnan(found.discrimination).all()
    assert found.likelihoods is not None
    assert np.isnan(found.likelihoods[1])
    # Both right, one right, none right: easier and easier the more are right.
    right = simulated(np.random.default_rng(0), 2, 100)[0].sum(axis=0)
    eases = [found.ease[right == k].mean() for k in range(3)]
    assert eases == sorted(eases)


def test_segments_that_are_alike_end_alike():
    rng = np.random.default_rng(3)
    scores, *_ = simulated(rng, 5, 200, tau=0.0)
    found = fit_answers(scores)
    assert found.converged
    assert found.spread_discrimination < 0.6


def test_information_by_hand():
    rng = np.random.default_rng(0)
    found = fit_answers(simulated(rng, 6, 50)[0])
    at = np.array([-1.0, 0.5])
    want = [
        sum(
            a * a * (p := 1 / (1 + math.exp(-d - a * t))) * (1 - p)
            for d, a in zip(found.ease, found.discrimination, strict=True)
        )
        for t in at
    ]
    assert information_curve(found, at) == pytest.approx(want)


def test_what_can_t_be_fitted():
    with pytest.raises(UsageError, match="0 or 1"):
        fit_answers(np.array([[0.0, 0.5], [1.0, 1.0]]))
    with pytest.raises(UsageError, match="all scores are the same"):
        fit_answers(np.ones((3, 4)))
    with pytest.raises(UsageError, match="two systems at least"):
        fit_answers(np.array([[0.0, 1.0]]))
    with pytest.raises(ShapeError):
        fit_answers(np.ones(3))


def test_systems_without_any_answer_take_no_part():
    rng = np.random.default_rng(0)
    scores = (rng.random((4, 40)) < 0.5).astype(float)
    scores[2] = NAN
    for rows in ([0, 2, 1], [0, 2, 1, 3]):
        found = fit_answers(scores[rows])
        seen = [k for k, row in enumerate(rows) if row != 2]
        alone = fit_answers(scores[rows][seen])
        assert math.isnan(found.ability[1])
        assert len(found.ability) == len(found.noises) == len(rows)
        np.testing.assert_allclose(found.ability[seen], alone.ability)
        np.testing.assert_allclose(found.ease, alone.ease)
        np.testing.assert_allclose(found.discrimination, alone.discrimination)
    with pytest.raises(UsageError, match="two systems at least"):
        fit_answers(scores[[0, 2]])
