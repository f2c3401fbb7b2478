"""Difficulty and discrimination from scores: against a naive twin, by simulation, and by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares, minimize_scalar

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.instances.congeneric import (
    SegmentFit,
    discrimination_slopes,
    fit_scores,
    pairwise_covariances,
)
from steelyard.stats.instances.ease import additive_fit

NAN = float("nan")


def simulated(rng, n=8, s=400, *, tau=0.5, kappa=1.0, noise=0.5, spread=1.0):
    """Scores, and what made them: ease, discrimination and abilities of mean 0."""
    ability = rng.normal(size=n)
    ability = spread * (ability - ability.mean()) / ability.std()
    ease, slope = rng.normal(0, kappa, s), rng.normal(1, tau, s)
    return ease + slope * ability[:, None] + noise * rng.normal(size=(n, s)), ease, slope, ability


def naive(scores: np.ndarray) -> dict[str, np.ndarray | float]:
    """The model as its formulas read, with scipy's optimisers."""
    n, s = scores.shape
    ability, ease = additive_fit(scores)
    slopes = np.full(s, NAN)
    for k in range(s):
        own = ~np.isnan(scores[:, k])
        if own.sum() > 1:
            slopes[k] = np.polyfit(ability[own], scores[own, k], 1)[0]
    middle = np.nanmean(slopes)
    ability, slopes = ability * middle, slopes / middle
    covariance = np.full((n, n), NAN)
    for i in range(n):
        for j in range(n):
            both = ~np.isnan(scores[i] + scores[j])
            covariance[i, j] = np.cov(scores[i, both], scores[j, both])[0, 1]
    pairs = list(combinations(range(n), 2))

    t = ability

    def left(p):
        model = [p[0] + p[1] * (t[i] + t[j]) + p[2] * t[i] * t[j] for i, j in pairs]
        return [covariance[i, j] - m for (i, j), m in zip(pairs, model, strict=True)]

    kappa2, rho, tau2 = least_squares(left, [1.0, 0.0, 1.0], xtol=1e-15, gtol=1e-15).x
    variance = np.diagonal(covariance)
    noise2 = variance - kappa2 - 2 * rho * ability - tau2 * ability**2
    noise2 = np.maximum(noise2, 0.01 * variance.mean())
    kappa2, tau2 = np.maximum(kappa2, 0.0), np.maximum(tau2, 0.0)
    found: dict[str, np.ndarray] = {"ease": np.full(s, NAN), "slope": np.full(s, NAN)}
    for k in range(s):
        own = ~np.isnan(scores[:, k])
        u = ability[own] - ability[own].mean()
        errors = noise2[own].sum() / own.sum() ** 2, (u**2 * noise2[own]).sum() / (u @ u) ** 2
        for name, value, error, mean, spread in (
            ("ease", ease[k], errors[0], ease.mean(), kappa2),
            ("slope", slopes[k], errors[1], 1.0, tau2),
        ):
            if spread == 0:
                found[name][k] = mean
                continue
            found[name][k] = minimize_scalar(
                lambda a, v=value, e=error, m=mean, w=spread: (a - v) ** 2 / e + (a - m) ** 2 / w
            ).x
    return {**found, "kappa": np.sqrt(kappa2), "tau": np.sqrt(tau2), "noise": np.sqrt(noise2)}


@given(st.integers(0, 10_000), st.integers(4, 7), st.floats(0, 0.2))
def test_against_a_naive_twin(seed, n, share):
    rng = np.random.default_rng(seed)
    scores = 5 + simulated(rng, n, 40)[0]
    gone = rng.random(scores.shape) < share
    gone[:4] = False  # enough is left of every segment
    scores[gone] = NAN
    found = fit_scores(scores)
    want = naive(scores)
    assert found.spread_ease == pytest.approx(want["kappa"], rel=1e-4, abs=1e-5)
    assert found.spread_discrimination == pytest.approx(want["tau"], rel=1e-4, abs=1e-5)
    assert found.noises == pytest.approx(want["noise"], rel=1e-4)
    assert found.ease == pytest.approx(want["ease"], rel=1e-4, abs=1e-5)
    assert found.discrimination == pytest.approx(want["slope"], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("n", [5, 12, 40])
def test_what_was_put_in_is_found(n):
    rng = np.random.default_rng(n)
    scores, ease, slope, ability = simulated(rng, n, 3000)
    found = fit_scores(scores)
    assert found.spread_discrimination == pytest.approx(0.5, abs=0.04)
    assert found.spread_ease == pytest.approx(1.0, abs=0.05)
    assert found.noise == pytest.approx(0.5, abs=0.03)
    assert found.ability == pytest.approx(ability, abs=0.08)
    for own, sd, true in (
        (found.ease, found.ease_sd, ease),
        (found.discrimination, found.discrimination_sd, slope),
    ):
        inside = np.abs(own - true) <= 1.96 * sd
        assert 0.92 < inside.mean() < 0.975
        # A posterior mean errs less than the segment by itself would.
    raw = discrimination_slopes(scores, found.ability)
    assert ((found.discrimination - slope) ** 2).mean() < ((raw - slope) ** 2).mean()
    reliable = np.corrcoef(found.discrimination, slope)[0, 1] ** 2
    assert found.reliability_discrimination == pytest.approx(reliable, abs=0.05)


def test_noise_of_bad_systems_is_no_discrimination():
    """One system is bad and erratic; all segments discriminate alike."""
    rng = np.random.default_rng(0)
    spreads = []
    for _ in range(20):
        ability = np.linspace(-1.0, 1.0, 8)
        noise = np.linspace(1.5, 0.3, 8)
        errors = noise[:, None] * rng.normal(size=(8, 800))
        found = fit_scores(rng.normal(size=800) + ability[:, None] + errors)
        spreads.append(found.spread_discrimination)
        assert found.noises == pytest.approx(noise, abs=0.2)
    assert np.mean(spreads) < 0.2  # the deviation of a slope by noise alone is 0.5 here


def test_two_systems_have_ease_and_no_discrimination():
    rng = np.random.default_rng(0)
    found = fit_scores(simulated(rng, 2, 50)[0])
    assert np.isnan(found.discrimination).all()
    assert np.isnan(found.spread_discrimination)
    assert np.isnan(found.reliability_discrimination)
    assert not np.isnan(found.ease).any()
    assert 0 < found.reliability_ease < 1


def test_systems_that_do_not_differ_leave_nothing_to_discriminate():
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(100):
        scores = rng.normal(size=200) + rng.normal(size=(6, 200))
        found = fit_scores(scores)
        seen += found.separated
        assert np.isnan(found.discrimination).all() == (not found.separated)
    assert seen <= 12  # about 5 of 100
    same = np.tile(rng.normal(size=30), (4, 1))  # nobody differs anywhere
    found = fit_scores(same)
    assert not found.separated
    assert found.ease == pytest.approx(same[0], abs=0.02)


def test_missing_cells_and_segments_that_nobody_has():
    rng = np.random.default_rng(0)
    scores, ease, *_ = simulated(rng, 6, 300)
    scores[:, 7] = NAN
    scores[1:, 8] = NAN
    scores[rng.random(scores.shape) < 0.2] = NAN
    found = fit_scores(scores)
    assert np.isnan([found.ease[7], found.discrimination[7], found.discrimination[8]]).all()
    some = ~np.isnan(found.ease)
    assert np.corrcoef(found.ease[some], ease[some])[0, 1] > 0.9
    alone = np.full((1, 300), NAN)
    more = fit_scores(np.concatenate([scores, alone]))  # a system without scores changes nothing
    assert np.isnan(more.ability[-1])
    assert more.discrimination == pytest.approx(found.discrimination, nan_ok=True)


def test_order_scale_and_place_do_not_matter():
    rng = np.random.default_rng(0)
    scores, *_ = simulated(rng, 5, 60)
    scores[0, 3] = NAN
    found = fit_scores(scores)
    order, systems = rng.permutation(60), rng.permutation(5)
    moved = fit_scores(100 + 7 * scores[systems][:, order])
    assert moved.discrimination == pytest.approx(found.discrimination[order])
    assert moved.ease == pytest.approx(100 + 7 * found.ease[order])
    assert moved.ability == pytest.approx(7 * found.ability[systems])
    assert moved.ease_sd == pytest.approx(7 * found.ease_sd[order])


def test_constant_segments_discriminate_less_than_others():
    rng = np.random.default_rng(0)
    scores, *_ = simulated(rng, 8, 200)
    scores[:, :5] = 2.0
    found = fit_scores(scores)
    assert (found.discrimination[:5] < 0.5).all()
    assert (found.discrimination[:5] > 0).all()  # drawn towards 1


def test_one_parameter_alone():
    rng = np.random.default_rng(0)
    scores, *_ = simulated(rng, 8, 200, tau=0.0)
    found = fit_scores(scores, discriminate=False)
    assert np.isnan(found.discrimination).all()
    assert found.ease == pytest.approx(fit_scores(scores).ease, abs=0.02)


def test_covariances_against_numpy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 30)) + 1e6
    assert pairwise_covariances(x) == pytest.approx(np.cov(x), rel=1e-6, abs=1e-9)
    assert np.isnan(pairwise_covariances(np.array([[1.0, NAN], [NAN, 2.0]]))).all()


def test_what_can_t_be_fitted():
    with pytest.raises(UsageError, match="two systems at least"):
        fit_scores(np.ones((1, 5)))
    with pytest.raises(UsageError, match="two systems at least"):
        fit_scores(np.array([[1.0, 2.0], [NAN, NAN]]))
    with pytest.raises(UsageError, match="all scores are the same"):
        fit_scores(np.ones((3, 5)))
    with pytest.raises(ShapeError):
        fit_scores(np.ones(4))
    with pytest.raises(ShapeError):
        discrimination_slopes(np.ones((3, 5)), np.ones(2))


def test_reliability_without_spread_is_none():
    zero = np.zeros(2)
    fit = SegmentFit(
        ease=zero,
        ease_sd=zero,
        discrimination=zero + 1,
        discrimination_sd=zero,
        ability=zero,
        noises=zero,
        spread_ease=0.0,
        spread_discrimination=0.0,
    )
    assert (fit.reliability_ease, fit.reliability_discrimination) == (0.0, 0.0)
