"""Battles of one prompt agree: tests of a log with prompts keep their level, others do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.comparison.logs import compare_battles
from steelyard.data.judgements import BattleLog
from steelyard.stats.prediction_powered.strengths import plain_strengths


def drawn(rng, *, spread=1.5, gap=0.0, prompts=150):
    """Four systems, the second and the third equal but for the gap; prompts move all of them."""
    unit = np.repeat(np.arange(prompts), rng.integers(1, 13, prompts))
    size = len(unit)
    strength = np.array([0.4, gap / 2, -gap / 2, -0.4]) + spread * rng.normal(size=(prompts, 4))
    left = rng.integers(0, 4, size)
    right = (left + rng.integers(1, 4, size)) % 4
    chance = 1 / (1 + np.exp(strength[unit, right] - strength[unit, left]))
    outcome = (rng.random(size) < chance).astype(float)
    outcome[rng.random(size) < 0.15] = 0.5
    return left.astype(np.int32), right.astype(np.int32), outcome, unit.astype(np.int32)


def found(rng, *, by_unit=True, n_bootstrap=300, **kind):
    """p-values of the pair in question, by test."""
    left, right, outcome, unit = drawn(rng, **kind)
    names = tuple(f"prompt {k}" for k in range(unit.max() + 1))
    own = {"units": names, "unit": unit} if by_unit else {}
    log = BattleLog(tuple("ABCD"), left, right, outcome, **own)
    result = compare_battles(
        log,
        unit="segment" if by_unit else "battle",
        n_bootstrap=n_bootstrap,
        correction="none",
        rng=int(rng.integers(2**31)),
    )
    p = {name: test.p[1, 2] for name, test in result.tests.items()}
    units = unit if by_unit else np.arange(len(unit))
    fit = plain_strengths(left, right, outcome, 4, unit=units)
    gap = np.array([0, 1, -1, 0])
    z = abs(gap @ fit.log_strength) / np.sqrt(gap @ fit.covariance @ gap)
    return p | {"sandwich": math.erfc(z / math.sqrt(2))}


def rates(sets, seed, **kind):
    rng = np.random.default_rng(seed)
    rows = [found(rng, **kind) for _ in range(sets)]
    return {name: float(np.mean([row[name] < 0.05 for row in rows])) for name in rows[0]}


def test_spread_of_resampled_prompts_is_that_of_the_sandwich():
    rng = np.random.default_rng(0)
    p = found(rng, n_bootstrap=2000)
    assert p["bt-gap"] == pytest.approx(p["sandwich"], abs=0.03)


@pytest.mark.thorough
@pytest.mark.slow
def test_equal_systems_are_seldom_called_different():
    by_prompt = rates(600, 12)
    assert all(0.03 <= rate <= 0.07 for rate in by_prompt.values()), by_prompt
    by_battle = rates(300, 2, by_unit=False)
    assert by_battle["bt-gap"] > 0.12, by_battle


@pytest.mark.thorough
@pytest.mark.slow
def test_what_prompts_share_costs_power():
    """The same chance of winning (0.594) from as many battles, with and without prompt effects."""
    shared, alone = rates(300, 3, gap=0.6), rates(300, 3, gap=0.38, spread=0.0)
    assert 0.5 < shared["bt-gap"] < 0.66
    assert 0.82 < alone["bt-gap"] < 0.94
