"""What corrected means share: influences, their covariance, tests of all pairs at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.prediction_powered.mean import (
    all_together,
    corrected_mean,
    joint_covariance,
    stratified_mean,
    weighted_mean,
)


def rows(seed: int, n: int = 200, labels: int = 60):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    judge = truth + rng.normal(size=n) + 1
    judge[rng.random(n) < 0.05] = np.nan
    return np.where(rng.permutation(n) < labels, truth, np.nan), judge, rng


@given(st.integers(0, 500))
def test_influences_have_the_noise_of_the_estimate(seed):
    human, judge, _ = rows(seed)
    result = corrected_mean(human, judge, small=False)
    own = result.influence
    assert np.sqrt(own @ own) == pytest.approx(result.estimate.se)
    assert own.sum() == pytest.approx(0, abs=1e-12)
    assert own[np.isnan(judge) & ~np.isnan(human)].all()  # a label counts without a verdict


@given(st.integers(0, 500))
def test_influences_of_probabilities_have_the_noise_of_the_estimate(seed):
    human, judge, rng = rows(seed)
    probability = rng.uniform(0.2, 1, len(human))
    result = weighted_mean(human, judge, probability)
    own = result.influence
    n = len(judge)
    assert np.sqrt(own @ own * n / (n - 1)) == pytest.approx(result.estimate.se)


def test_strata_count_rows_that_share_a_unit_as_such():
    human, judge, rng = rows(7)
    stratum, unit = (judge > 1).astype(int), rng.integers(0, 30, len(judge))
    human += rng.normal(size=30)[unit]
    alone = stratified_mean(human, judge, stratum)
    result = stratified_mean(human, judge, stratum, unit=unit)
    sums = np.array([alone.influence[unit == u].sum() for u in np.unique(unit)])
    assert result.estimate.value == alone.estimate.value
    assert result.estimate.se == pytest.approx(np.sqrt(sums @ sums * 30 / 29))
    assert result.estimate.se > alone.estimate.se
    assert not stratified_mean(human, judge, stratum, unit=0 * unit).estimate.bounded


@given(st.integers(0, 200), st.integers(2, 5))
def test_covariance_is_that_of_sums_by_unit(seed, k):
    rng = np.random.default_rng(seed)
    influences = [rng.normal(size=rng.integers(5, 20)) for _ in range(k)]
    units = [rng.integers(0, 8, len(own)) for own in influences]
    errors = rng.uniform(0.5, 2, k)
    result = joint_covariance(influences, units, errors)
    for i in range(k):
        for j in range(k):
            shared = sum(
                x * y
                for x, u in zip(influences[i], units[i], strict=True)
                for y, v in zip(influences[j], units[j], strict=True)
                if u == v
            )
            sizes = [
                sum(float(own[unit == u].sum()) ** 2 for u in np.unique(unit))
                for own, unit in ((influences[i], units[i]), (influences[j], units[j]))
            ]
            expected = shared / np.sqrt(sizes[0] * sizes[1]) * errors[i] * errors[j]
            assert result[i, j] == pytest.approx(expected, abs=1e-12)


def together(values, errors, freedom=1000.0, **more):
    values = np.asarray(values, dtype=float)
    k = len(values)
    covariance = np.diag(np.asarray(errors, dtype=float) ** 2)
    spread = np.diagonal(covariance)
    apart = np.sqrt(spread[:, None] + spread)
    return all_together(
        covariance, values[:, None] - values, apart, np.full((k, k), freedom), values,
        np.random.default_rng(0), **more,
    )  # fmt: skip


def test_many_pairs_are_as_sure_as_tukey_says():
    k = 5
    values = np.linspace(0, 0.4, k)
    result = together(values, [0.1] * k, freedom=20.0, draws=60_000)
    for i in range(k):
        for j in range(i + 1, k):
            q = abs(values[i] - values[j]) / 0.1
            expected = stats.studentized_range.sf(q, k, 20)
            assert result.p_adjusted[i, j] == pytest.approx(expected, abs=0.012)


def test_places_follow_from_what_is_sure():
    result = together([1.0, 0.5, 0.49, 0.0], [0.05] * 4)
    assert result.best.tolist() == [1, 2, 2, 4]
    assert result.worst.tolist() == [1, 3, 3, 4]
    nothing = together([1.0, 0.9, 0.95], [10.0] * 3)
    assert nothing.best.tolist() == [1, 1, 1]
    assert nothing.worst.tolist() == [3, 3, 3]


def test_a_system_without_an_error_takes_no_part():
    result = together([1.0, 0.0, 0.5], [0.05, 0.05, np.nan])
    assert result.p_adjusted[0, 1] < 0.01
    assert np.isnan(result.p_adjusted[0, 2])
    assert result.worst.tolist()[:2] == [1, 2]
    one = together([1.0, np.nan], [0.05, np.nan])
    assert np.isnan(one.p_adjusted).all()
