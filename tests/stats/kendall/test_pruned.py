"""The best epsilon from the gaps that could be best, against the whole curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.stats.kendall import pruned
from steelyard.stats.kendall.calibration import calibrate
from steelyard.stats.kendall.counting import KENDALL
from steelyard.stats.kendall.pruned import best_points

STEPS = np.array([0, 1, -1])


def naive_sums(gaps, kinds):
    """The sum of steps at 0 and at every gap that has one."""
    moving = [(g, STEPS[k]) for g, k in zip(gaps.tolist(), kinds.tolist(), strict=True) if k]
    at = {0.0, *(g for g, _ in moving)}
    return {e: sum(step for g, step in moving if g <= e) for e in sorted(at)}


@given(
    gaps=hnp.arrays(
        np.float64,
        st.integers(0, 60),
        elements=st.one_of(st.floats(1e-3, 9), st.sampled_from([0.1, 0.3, 2.0, 1e-300, 1e6])),
    ),
    seed=st.integers(0, 99),
    intervals=st.sampled_from([1, 3, 4096]),
)
def test_all_best_gaps_are_among_the_points(gaps, seed, intervals):
    kinds = np.random.default_rng(seed).integers(0, 3, len(gaps)).astype(np.uint8)
    gaps[(kinds == 0) & (np.arange(len(gaps)) % 2 == 0)] = np.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruned, "INTERVALS", intervals)
        epsilons, sums = best_points(gaps, kinds, STEPS)
    truth = naive_sums(gaps, kinds)
    assert all(truth[e] == s for e, s in zip(epsilons.tolist(), sums.tolist(), strict=True))
    assert epsilons.tolist() == sorted(set(epsilons.tolist()))
    best = max(truth.values())
    assert {e for e, s in truth.items() if s == best} <= set(epsilons.tolist())


@pytest.mark.parametrize("name", ["acc-eq", "tau-eq"])
@pytest.mark.parametrize("levels", [3, 40, None])
def test_the_curve_makes_no_difference(name, levels):
    rng = np.random.default_rng(levels)
    for size in range(2, 9):
        human = -rng.integers(0, 4, (size, 30)).astype(float)
        metric = human + rng.normal(size=human.shape)
        if levels is not None:
            metric = np.rint(metric * levels)
        if size > 4:  # one system is missing on every segment: groups are alike, with gaps
            human[rng.integers(0, size, 30), np.arange(30)] = np.nan
        whole = calibrate(human, metric, KENDALL[name])
        alone = calibrate(human, metric, KENDALL[name], curve=False)
        assert (alone.value, alone.epsilon) == (whole.value, whole.epsilon)
        curve = dict(zip(whole.epsilons.tolist(), whole.values.tolist(), strict=True))
        points = dict(zip(alone.epsilons.tolist(), alone.values.tolist(), strict=True))
        assert points.items() <= curve.items()


def test_nearly_all_gaps_are_left_alone():
    rng = np.random.default_rng(0)
    human = -rng.integers(0, 4, (12, 400)).astype(float)
    metric = human + rng.normal(size=human.shape)
    assert len(calibrate(human, metric, curve=False).epsilons) < 2000
    assert len(calibrate(human, metric).epsilons) > 15_000
