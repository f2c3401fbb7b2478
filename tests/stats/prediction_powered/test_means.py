"""Corrected means: the formulas, ppi-python's digits, coverage on real verdicts, and edges."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.judged import realdata

from steelyard.core.errors import UsageError
from steelyard.stats.prediction_powered.mean import (
    corrected_mean,
    people_alone,
    stratified_mean,
    weighted_mean,
)


def drawn(seed: int, n: int = 40, more: int = 160):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n + more)
    judge = 0.7 * truth + rng.normal(size=n + more) + 1
    return np.where(np.arange(n + more) < n, truth, np.nan), judge, truth


def naive(human, judge):
    """PPI++ as its authors write it, with their choice of variances."""
    labelled = ~np.isnan(human)
    y, f, u = human[labelled], judge[labelled], judge[~labelled]
    n, more = len(y), len(u)
    covariance = np.mean((y - y.mean()) * (f - f.mean()))
    lam = covariance / ((1 + n / more) * np.var(np.concatenate([f, u]), ddof=1))
    lam = min(1, max(0, lam))
    value = lam * u.mean() + (y - lam * f).mean()
    return lam, value, math.sqrt(lam**2 * u.var() / more + (y - lam * f).var() / n)


@given(st.integers(0, 10_000))
def test_it_is_ppi(seed: int) -> None:
    human, judge, _ = drawn(seed)
    result = corrected_mean(human, judge, small=False)
    lam, value, se = naive(human, judge)
    np.testing.assert_allclose(
        [result.weight, result.estimate.value, result.estimate.se], [lam, value, se], rtol=1e-10
    )
    reach = 1.959963984540054 * se
    assert (result.estimate.low, result.estimate.high) == pytest.approx(
        (value - reach, value + reach)
    )


@given(st.integers(0, 10_000))
def test_the_small_interval_is_that_of_a_fitted_line(seed: int) -> None:
    human, judge, _ = drawn(seed, 20)
    result = corrected_mean(human, judge)
    lam, value, _ = naive(human, judge)
    y, f, u = human[:20], judge[:20], judge[20:]
    residual = y - lam * f
    s2 = ((residual - residual.mean()) ** 2).sum() / 18
    far = (u.mean() - f.mean()) ** 2 / ((f - f.mean()) ** 2).sum()
    variance = s2 * (1 / 20 + far) + lam**2 * u.var(ddof=1) / len(u)
    assert (result.estimate.value, result.estimate.se) == pytest.approx(
        (value, math.sqrt(variance))
    )


def test_rows_that_share_a_unit() -> None:
    """Every row twice: the error of twice as many units, as if there were half the rows."""
    human, judge, _ = drawn(1)
    once = corrected_mean(human, judge, small=False)
    unit = np.tile(np.arange(200), 2)
    twice = corrected_mean(np.tile(human, 2), np.tile(judge, 2), unit=unit, small=False,
                           weight=once.weight)  # fmt: skip
    assert twice.estimate.value == pytest.approx(once.estimate.value)
    assert twice.estimate.se == pytest.approx(once.estimate.se * math.sqrt(200 / 199))


def test_edges_say_why() -> None:
    human, judge, _ = drawn(0, 30, 30)
    nothing = corrected_mean(np.full(60, np.nan), judge)
    assert not nothing.estimate.known
    constant = corrected_mean(human, np.ones(60))
    assert constant.weight == 0
    assert "the same of all labelled rows" in constant.note
    assert constant.estimate == constant.people
    few = corrected_mean(np.where(np.arange(60) < 10, human, np.nan), judge)
    assert "fewer than 15" in few.note
    assert few.weight == 0
    whole = corrected_mean(judge, judge)
    assert "every row has a label" in whole.note
    same = corrected_mean(np.where(np.arange(60) < 30, 1.0, np.nan), judge)
    assert "all labels are the same" in same.note
    assert same.estimate.low == pytest.approx(0.025 ** (1 / 30))  # exact
    gaps = corrected_mean(human, np.where(np.arange(60) == 0, np.nan, judge))
    assert (gaps.n_labelled, gaps.n_judged) == (30, 59)
    assert gaps.people.value == np.nanmean(human)  # all labels count


def test_a_population_that_is_known_whole_is_less_unsure() -> None:
    human, judge, _ = drawn(3, 100, 100)
    anybody, fixed = (corrected_mean(human, judge, population=p) for p in ("any", "fixed"))
    assert fixed.estimate.value == anybody.estimate.value
    assert fixed.estimate.se < anybody.estimate.se


def test_people_alone() -> None:
    assert people_alone(np.array([0.3])).why == "no interval: 1 labels, fewer than 15"
    assert people_alone(np.array([3.0])).why == "no interval: one label"
    assert people_alone(np.array([3.0, 3.0])).why == "no interval: all labels are the same"
    values = np.random.default_rng(0).normal(size=30)
    result = people_alone(values)
    assert result.se == pytest.approx(values.std(ddof=1) / math.sqrt(30))
    one = people_alone(values, np.zeros(30, int))
    assert not one.bounded


def test_pandalm(shared: Path) -> None:
    log = realdata.pandalm(shared)
    people, judge = realdata.majority(log), log.points("pandalm-7b")
    human = np.where(np.arange(999) % 10 == 0, people, np.nan)
    result = corrected_mean(human, judge, small=False)
    ours = (result.weight, result.estimate.value, result.estimate.se, result.estimate.low,
            result.estimate.high)  # fmt: skip
    wanted = (0.3889347777, 0.4530197606, 0.0425332932, 0.3696560378, 0.5363834833)
    assert ours == pytest.approx(wanted, abs=6e-11)
    plain = corrected_mean(human, judge, small=False, weight=1.0).estimate
    assert (plain.value, plain.se) == pytest.approx((0.4577641824, 0.0528043242), abs=6e-11)
    assert people.mean() == pytest.approx(0.474975, abs=5e-7)


def coverage(truth, judge, n, draws, seed, **options):
    """Draw labels at random from a real set: how often does the interval hold its mean?"""
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(draws):
        rows = rng.choice(len(truth), n, replace=False)
        human = np.full(len(truth), np.nan)
        human[rows] = truth[rows]
        result = corrected_mean(human, judge, **options).estimate
        hits += result.low <= truth.mean() <= result.high
    return hits / draws


@pytest.mark.thorough
@pytest.mark.parametrize("n", [30, 60, 200])
@pytest.mark.parametrize("judge", ["pandalm-7b", "gpt-3.5-turbo"])
def test_coverage_on_pandalm(shared: Path, judge: str, n: int) -> None:
    """The set is all there is, so it is the population: 93 to 97 of 100, within sampling."""
    log = realdata.pandalm(shared)
    truth, said = realdata.majority(log), log.points(judge)
    keep = ~np.isnan(said)
    result = coverage(truth[keep], said[keep], n, 2000, n, population="fixed")
    assert 0.93 < result < 0.97


@pytest.mark.parametrize("n", [30, 60, 200])
def test_coverage_of_new_rows(n: int) -> None:
    rng = np.random.default_rng(n)
    draws, hits = 1000, 0
    for _ in range(draws):
        truth = (rng.random(n + 500) < 0.4).astype(float)
        judge = np.where(rng.random(n + 500) < 0.75, truth, 1 - truth)
        human = np.where(np.arange(n + 500) < n, truth, np.nan)
        result = corrected_mean(human, judge).estimate
        hits += result.low <= 0.4 <= result.high
    assert 0.93 < hits / draws < 0.97


def naive_by_verdict(human, verdict):
    """Labels chosen by a verdict of 0 or 1: the efficient estimator, and its variance."""
    w = np.array([np.mean(verdict == k) for k in (0, 1)])
    labels = [human[(verdict == k) & ~np.isnan(human)] for k in (0, 1)]
    mean = np.array([own.mean() for own in labels])
    variance = sum(w[k] ** 2 * labels[k].var(ddof=1) / len(labels[k]) for k in (0, 1))
    variance += (mean[1] - mean[0]) ** 2 * w[0] * w[1] / len(verdict)
    return w @ mean, math.sqrt(variance)


@given(st.integers(0, 10_000))
def test_labels_by_verdict(seed: int) -> None:
    rng = np.random.default_rng(seed)
    verdict = (rng.random(300) < 0.3).astype(float)
    truth = np.where(rng.random(300) < 0.7, verdict, 1 - verdict)
    human = np.full(300, np.nan)
    for k in (0.0, 1.0):
        rows = np.flatnonzero(verdict == k)[:25]
        human[rows] = truth[rows]
        human[rows[0]], human[rows[1]] = 0, 1  # both are seen in either
    result = stratified_mean(human, verdict, verdict.astype(int)).estimate
    assert (result.value, result.se) == pytest.approx(naive_by_verdict(human, verdict))


@pytest.mark.thorough
def test_coverage_of_labels_by_verdict(shared: Path) -> None:
    """Fifty of each verdict: taken for random they miss; declared, they do not."""
    log = realdata.pandalm(shared)
    truth = (realdata.majority(log) != 0.5).astype(float)
    verdict = (log.points("pandalm-7b") != 0.5).astype(float)
    rng = np.random.default_rng(0)
    hits = np.zeros(2)
    for _ in range(1500):
        human = np.full(999, np.nan)
        for k in (0.0, 1.0):
            rows = rng.choice(np.flatnonzero(verdict == k), 50, replace=False)
            human[rows] = truth[rows]
        both = (stratified_mean(human, verdict, verdict.astype(int)).estimate,
                corrected_mean(human, verdict).estimate)  # fmt: skip
        hits += [own.low <= truth.mean() <= own.high for own in both]
    assert 0.93 < hits[0] / 1500 < 0.97
    assert hits[1] / 1500 < 0.7


def test_a_stratum_without_labels_is_named() -> None:
    human = np.array([1.0, 0, 1, np.nan, np.nan])
    with pytest.raises(UsageError, match=r"'fail' \(0\)"):
        stratified_mean(human, np.array([1.0, 1, 1, 0, 0]), np.array([1, 1, 1, 0, 0]),
                        names=("fail", "pass"))  # fmt: skip


def test_known_probabilities() -> None:
    nan = np.nan
    result = weighted_mean(
        np.array([0.0, 1, nan, nan]), np.array([0.1, 0.9, 0.5, 0.5]), np.full(4, 0.8)
    )
    ours = (result.weight, result.estimate.value, result.estimate.se)
    assert ours == pytest.approx((1.255708, 0.547945, 0.209046), abs=6e-7)
    assert (result.estimate.low, result.estimate.high) == pytest.approx((0.138, 0.958), abs=0.0006)
    with pytest.raises(UsageError, match="above 0, up to 1"):
        weighted_mean(np.array([1.0, nan]), np.array([1.0, 0]), np.array([0.5, 0.0]))
    with pytest.raises(UsageError, match="above 0, up to 1"):
        weighted_mean(np.array([1.0, nan]), np.array([1.0, 0]), np.array([0.5, nan]))


def test_coverage_with_known_probabilities() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(600):
        judge = rng.random(600)
        truth = (rng.random(600) < 0.2 + 0.6 * judge).astype(float)
        pi = np.clip(0.5 - np.abs(judge - 0.5), 0.1, 1)
        human = np.where(rng.random(600) < pi, truth, np.nan)
        result = weighted_mean(human, judge, pi).estimate
        hits += result.low <= 0.5 <= result.high
    assert 0.925 < hits / 600 < 0.975
