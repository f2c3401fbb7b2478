"""Strengths from few labels and many verdicts: the loss, real data, and what is too little."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.stats.judged import realdata

from steelyard.core.errors import UsageError
from steelyard.stats.prediction_powered.strengths import plain_strengths, powered_strengths


def battles(seed: int, n: int = 300, k: int = 4, labels: int = 120):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, k, n)
    right = (left + rng.integers(1, k, n)) % k
    people = rng.choice([0.0, 0.5, 1.0], n)
    judge = np.where(rng.random(n) < 0.6, people, rng.choice([0.0, 0.5, 1.0], n))
    return left, right, np.where(np.arange(n) < labels, people, np.nan), judge


@given(st.integers(0, 200), st.sampled_from([0.0, 0.4, 0.8]))
def test_it_is_the_least_point_of_the_loss(seed: int, lam: float) -> None:
    left, right, human, judge = battles(seed)
    labelled = ~np.isnan(human)

    def loss(theta):
        eta = theta[left] - theta[right]

        def own(outcome):
            return np.logaddexp(0, eta) - outcome * eta

        people = own(np.nan_to_num(human))[labelled].mean()
        people -= lam * own(judge)[labelled].mean()
        return people + lam * own(judge)[~labelled].mean() + theta.sum() ** 2

    result = powered_strengths(left, right, human, judge, 4, weight=lam)
    np.testing.assert_allclose(
        result.log_strength, minimize(loss, np.zeros(4), tol=1e-12).x, atol=1e-4
    )


def test_too_few_labels_are_an_error_with_the_reason() -> None:
    left, right = np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0])
    with pytest.raises(UsageError, match="too few for finite strengths"):
        powered_strengths(left, right, np.array([1.0, 0, np.nan, np.nan]), np.array([1.0, 0, 1, 0]),
                          2)  # fmt: skip
    with pytest.raises(UsageError, match="no pair of two systems"):
        plain_strengths(left, right, np.full(4, np.nan), 2)
    with pytest.raises(UsageError, match="no battle has a label"):
        powered_strengths(left, right, np.full(4, np.nan), np.ones(4), 2)


def test_powered_strengths_of_pandalm(shared: Path) -> None:
    log = realdata.pandalm(shared)
    human = np.where(np.arange(999) % 5 == 0, realdata.majority(log), np.nan)
    result = powered_strengths(log.left, log.right, human, log.points("pandalm-7b"), 5)
    wanted = [0.10187775, -0.83741387, 0.71074109, -0.27417075, 0.29896577]
    np.testing.assert_allclose(result.log_strength, wanted, atol=6e-9)
    errors = [0.159215, 0.174443, 0.168225, 0.168415, 0.164687]
    np.testing.assert_allclose(result.errors, errors, atol=6e-7)
    assert result.weight == pytest.approx(0.26286, abs=6e-6)
    assert (result.n_labelled, result.n_judged) == (200, 999)


def test_powered_strengths_of_the_arena(shared: Path) -> None:
    log = realdata.arena(shared)
    people = log.points("human")
    human = np.where(np.arange(len(people)) % 25 == 0, people, np.nan)
    result = powered_strengths(log.left, log.right, human, log.points("gpt-4-0125-preview"), 20)
    with (shared / "judges/arena-judges/expected-ppbt-gpt4-every25.csv").open() as file:
        wanted = {row["system"]: row for row in csv.DictReader(file)}
    theirs = [float(wanted[system]["pp_bt"]) for system in log.systems]
    errors = [float(wanted[system]["se"]) for system in log.systems]
    np.testing.assert_allclose(result.log_strength, theirs, atol=1e-9)
    np.testing.assert_allclose(result.errors, errors, rtol=1e-9)
    assert result.weight == pytest.approx(0.3744, abs=5e-5)


def test_arena_is_plain_bradley_terry(shared: Path) -> None:
    log = realdata.arena(shared)
    with (shared / "judges/arena-judges/expected-bt.csv").open() as file:
        wanted = {row["system"]: row for row in csv.DictReader(file)}
    for column in ("human", "gpt-4-0125-preview", "claude-3-opus", "gpt-3.5-turbo"):
        result = plain_strengths(log.left, log.right, log.points(column), 20)
        theirs = [float(wanted[system][column]) for system in log.systems]
        np.testing.assert_allclose(result.log_strength, theirs, atol=1e-6)
        if column == "human":
            errors = [float(wanted[system]["human_se"]) for system in log.systems]
            np.testing.assert_allclose(result.errors, errors, rtol=1e-6)


def test_strengths_of_pandalm(shared: Path) -> None:
    log = realdata.pandalm(shared)
    people = realdata.majority(log)
    prompt = log.numbers("prompt").astype(int)
    plain = plain_strengths(log.left, log.right, people, 5)
    np.testing.assert_allclose(
        plain.log_strength, [-0.0182, -0.5368, 0.7243, -0.2430, 0.0736], atol=5e-5
    )
    assert (plain.errors.min(), plain.errors.max()) == pytest.approx((0.076, 0.082), abs=0.0005)
    clustered = plain_strengths(log.left, log.right, people, 5, unit=prompt).errors
    assert (clustered.min(), clustered.max()) == pytest.approx((0.107, 0.123), abs=0.0006)
