"""Strengths beside style: a naive likelihood, plain Bradley-Terry, PandaLM and AlpacaEval."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.stats.judged import realdata

from steelyard.core.errors import UsageError
from steelyard.stats.judged.stylestrength import length_controlled, styled_strengths


@given(st.integers(0, 300))
def test_it_maximises_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = 120, 4
    left = rng.integers(0, k, n)
    right = (left + rng.integers(1, k, n)) % k
    x = rng.normal(size=n)
    points = rng.choice([0.0, 0.5, 1.0], n)

    def loss(theta):
        eta = theta[left] - theta[right] + theta[k] * x
        return (np.logaddexp(0, eta) - points * eta).sum() + theta[:k].sum() ** 2

    found = styled_strengths(left, right, points, k, {"length": x})
    best = minimize(loss, np.zeros(k + 1), tol=1e-12).x
    np.testing.assert_allclose(found.log_strength, best[:k], atol=1e-4)
    assert found.effects["length"].value == pytest.approx(best[k], abs=1e-4)


def test_refusals() -> None:
    left, right = np.array([0, 0, 1]), np.array([1, 1, 0])
    with pytest.raises(UsageError, match="no finite strengths"):
        styled_strengths(left, right, np.array([1.0, 1, 0]), 2)
    with pytest.raises(UsageError, match="'length' is zero"):
        styled_strengths(left, right, np.array([1.0, 0, 0]), 2, {"length": np.zeros(3)})
    with pytest.raises(UsageError, match="no pair of two systems"):
        styled_strengths(left, right, np.full(3, np.nan), 2)


def test_arena_is_plain_bradley_terry(shared: Path) -> None:
    log = realdata.arena(shared)
    with (shared / "judges/arena-judges/expected-bt.csv").open() as file:
        wanted = {row["system"]: row for row in csv.DictReader(file)}
    for column in ("human", "gpt-4-0125-preview", "claude-3-opus", "gpt-3.5-turbo"):
        found = styled_strengths(log.left, log.right, log.points(column), 20)
        theirs = [float(wanted[system][column]) for system in log.systems]
        np.testing.assert_allclose(found.log_strength, theirs, atol=1e-6)
        if column == "human":
            errors = [float(wanted[system]["human_se"]) for system in log.systems]
            np.testing.assert_allclose(found.errors, errors, rtol=1e-6)


def test_pandalm(shared: Path) -> None:
    log = realdata.pandalm(shared)
    people = realdata.majority(log)
    prompt = log.numbers("prompt").astype(int)
    plain = styled_strengths(log.left, log.right, people, 5)
    np.testing.assert_allclose(
        plain.log_strength, [-0.0182, -0.5368, 0.7243, -0.2430, 0.0736], atol=5e-5
    )
    assert (plain.errors.min(), plain.errors.max()) == pytest.approx((0.076, 0.082), abs=0.0005)
    clustered = styled_strengths(log.left, log.right, people, 5, unit=prompt).errors
    assert (clustered.min(), clustered.max()) == pytest.approx((0.107, 0.123), abs=0.0006)
    left, right = log.numbers("chars_left"), log.numbers("chars_right")
    length = (left - right) / (left + right)
    length = (length - length.mean()) / length.std()
    for points, b, se in (
        (people, 0.912, 0.078),
        (log.points("pandalm-7b"), 0.713, 0.077),
        (np.nan_to_num(log.points("gpt-3.5-turbo"), nan=0.5), 0.613, 0.072),
    ):
        found = styled_strengths(log.left, log.right, points, 5, {"length": length})
        own = found.effects["length"]
        assert (own.value, own.se) == pytest.approx((b, se), abs=0.0006)


def test_win_rates_of_alpacaeval(shared: Path) -> None:
    folder = shared / "judges/alpacaeval2"
    own = defaultdict(list)
    for row in realdata.rows(folder / "preferences.csv.gz"):
        gap = float(row["chars"]) - float(row["chars_baseline"])
        own[row["model"]].append((float(row["preference"]) - 1, gap))
    with (folder / "expected.csv").open() as file:
        official = list(csv.DictReader(file))
    assert len(official) == 57
    for row in official:
        preference, gap = np.array(own[row["model"]]).T
        found = length_controlled(preference, gap)
        assert 100 * found.plain.value == pytest.approx(float(row["win_rate"]), abs=1e-9)
        assert 100 * found.plain.se == pytest.approx(float(row["standard_error"]), abs=1e-9)
    near = {
        "FuseChat-Gemma-2-9B-Instruct": 70.09,
        "FuseChat-Llama-3.1-8B-Instruct": 65.07,
        "FuseChat-Qwen-2.5-7B-Instruct": 63.45,
        "FuseChat-Llama-3.2-3B-Instruct": 53.95,
    }
    for model, value in near.items():
        found = length_controlled(*np.array(own[model]).T)
        assert 100 * found.controlled.value == pytest.approx(value, abs=0.006)
        assert not found.extrapolated


def test_what_has_no_length_control_is_undefined() -> None:
    same = length_controlled(np.array([1.0, 0, 1]), np.zeros(3))
    assert not same.controlled.known
    all_won = length_controlled(np.ones(6), np.arange(6.0))
    assert not all_won.controlled.known
    assert all_won.plain.value == 1
