"""Few labels of each system: one weight, and one noise, of all of them together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.core.errors import ShapeError
from steelyard.stats.prediction_powered.mean import people_alone
from steelyard.stats.prediction_powered.pooled import Pooled, pooled_mean, pooled_weight

N = 300


def systems(rng: np.random.Generator, shares, labels: int, right: float = 0.85):
    """Passes and fails of systems; labels at random over all rows."""
    known = rng.permutation(len(shares) * N).reshape(len(shares), N) < labels
    human, judge = [], []
    for share, own in zip(shares, known, strict=True):
        truth = (rng.random(N) < share).astype(float)
        judge.append(np.where(rng.random(N) < right, truth, 1 - truth))
        human.append(np.where(own, truth, np.nan))
    return human, judge


@given(st.integers(0, 200))
def test_the_weight_is_the_slope_of_an_analysis_of_covariance(seed):
    rng = np.random.default_rng(seed)
    human, judge = systems(rng, [0.4, 0.5, 0.6], 60)
    found = pooled_weight(human, judge)
    rows = [(s, y, f) for s in range(3) for y, f in zip(human[s], judge[s], strict=True)
            if not np.isnan(y)]  # fmt: skip
    design = np.array([[f, *(float(s == k) for k in range(3))] for s, _, f in rows])
    y = np.array([y for _, y, _ in rows])
    slope = np.linalg.lstsq(design, y, rcond=None)[0][0]
    assert found.weight == pytest.approx(min(1, max(0, slope / (1 + 60 / 840))))
    residuals = y - found.weight * design[:, 0]
    for k in range(3):
        residuals[design[:, 1 + k] == 1] -= residuals[design[:, 1 + k] == 1].mean()
    assert found.variance == pytest.approx((residuals**2).sum() / (60 - 4))
    assert found.freedom == 56


def test_a_mean_by_hand():
    # Labels 1, 3 with verdicts 0, 2, the rest 2, 2: residuals 1 and 2 beyond half the verdict.
    human, judge = np.array([1.0, 3, np.nan, np.nan]), np.array([0.0, 2, 2, 2])
    found = pooled_mean(human, judge, Pooled(0.5, 2.0, 4.0, 10.0))
    assert found.value == 1.5 + 0.5 * 2
    assert found.se == pytest.approx(np.sqrt(2 * (1 / 2 + 1 / 4)))
    reach = stats.t.ppf(0.975, 10) * found.se
    assert (found.low, found.high) == pytest.approx((2.5 - reach, 2.5 + reach))
    fixed = pooled_mean(human, judge, Pooled(0.5, 2.0, 4.0, 10.0), population="fixed")
    assert fixed.se == pytest.approx(found.se * np.sqrt(0.5))


def test_what_can_not_be_pooled_is_not_known():
    y, f = np.array([1.0, 0, np.nan]), np.ones(3)
    assert not pooled_weight([y], [f]).known  # a judge that says one thing
    assert not pooled_weight([y[:2]], [np.array([0.0, 1])]).known  # no row without a label
    nothing = np.full(3, np.nan)
    assert not pooled_mean(nothing, f, Pooled(0.5, 1.0, 1.0, 5.0)).known
    with pytest.raises(ShapeError):
        pooled_weight([y], [])


@pytest.mark.parametrize(
    "shares", [(0.5, 0.58, 0.66, 0.74), (0.5, 0.7, 0.9, 0.95)], ids=["alike", "unlike"]
)
def test_intervals_cover_and_are_narrower_than_those_of_people(shares):
    rng = np.random.default_rng(1)
    inside: list[list[bool]] = [[] for _ in shares]
    widths, alone = [], []
    for _ in range(250):
        human, judge = systems(rng, shares, 48)
        shared = pooled_weight(human, judge)
        for place, share in enumerate(shares):
            labels = human[place][~np.isnan(human[place])]
            people = people_alone(labels)
            found = people if np.ptp(labels) == 0 else pooled_mean(
                human[place], judge[place], shared
            )  # fmt: skip
            inside[place].append(found.low <= share <= found.high)
            widths.append(found.high - found.low)
            alone.append(people.high - people.low)
    assert min(np.mean(own) for own in inside) >= 0.93
    assert np.mean(widths) < np.mean(alone)
