"""AutoRank: the formula, its edges, and resamples that draw all metrics together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.judged.realdata import rows
from tests.stats.naive import NAN

from steelyard.stats.autorank import autorank, bootstrap_autorank


def by_hand(means: np.ndarray, form: str) -> list[float]:
    """One number per system, for metrics x systems without gaps."""
    n = means.shape[1]
    if form == "wmt24":
        return list(np.mean([1 + (n - 1) * (max(x) - x) / (max(x) - min(x)) for x in means], 0))
    z = [(x - np.median(x)) / max(1e-12, max(x) - np.percentile(x, 25)) for x in means]
    overall = np.mean(z, axis=0)
    return list(1 + (n - 1) * (max(overall) - overall) / (max(overall) - min(overall)))


@given(st.integers(1, 5), st.integers(3, 12), st.integers(0, 10**6))
@pytest.mark.parametrize("form", ["wmt25", "wmt24"])
def test_the_formula(form, metrics, systems, seed):
    means = np.random.default_rng(seed).normal(size=(metrics, systems)) * 10
    result = autorank(means, form)
    np.testing.assert_allclose(result.ranks, by_hand(means, form), atol=1e-9)
    assert result.scaled.shape == means.shape
    if form == "wmt25":
        assert (result.ranks.min(), result.ranks.max()) == pytest.approx((1, systems))


def test_a_system_that_lacks_a_metric_takes_no_part():
    means = np.array([[5.0, 4, 3, 100], [1.0, 2, 9, NAN]])
    for form in ("wmt25", "wmt24"):
        result = autorank(means, form)
        assert np.isnan(result.ranks[3])
        assert result.ranks[:3].tolist() == autorank(means[:, :3], form).ranks.tolist()


@pytest.mark.parametrize("form", ["wmt25", "wmt24"])
def test_systems_that_nothing_tells_apart_have_no_number(form):
    assert np.isnan(autorank(np.array([[1.0]]), form).ranks).all()
    assert np.isnan(autorank(np.full((2, 3), 0.1 + 0.2), form).ranks).all()
    rounded = np.array([[90.1, 90.1 + 2e-14, 90.1]])
    assert np.isnan(autorank(rounded, form).ranks).all()


@given(st.integers(0, 10**6), st.booleans())
def test_resamples_are_autoranks_of_resampled_segments(seed, blocked):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(2, 4, 30))
    scores[0, 1, 3] = NAN
    blocks = np.repeat(np.arange(10), 3) if blocked else None
    result = bootstrap_autorank(
        scores, n_resamples=5, rng=np.random.default_rng(seed), blocks=blocks
    )
    n = 10 if blocked else 30
    drawn = np.random.default_rng(seed).integers(0, n, size=(5, n))
    for row, own in zip(result, drawn, strict=True):
        at = (own[:, None] * 3 + np.arange(3)).ravel() if blocked else own
        np.testing.assert_allclose(row, by_hand(np.nanmean(scores[:, :, at], axis=2), "wmt25"))


def test_intervals_cover():
    """Percentile intervals over documents hold what a much larger set says."""
    rng = np.random.default_rng(3)
    truth = np.array([[0.0, -0.3, -0.5, -1.2, -2.0], [0.0, -0.2, -0.6, -1.0, -2.2]])
    target = autorank(truth).ranks
    inside = []
    for _ in range(100):
        shared = rng.normal(0, 0.7, (2, 5, 40))
        scores = truth[:, :, None] + np.repeat(shared, 5, axis=2) + rng.normal(size=(2, 5, 200))
        drawn = bootstrap_autorank(
            scores, n_resamples=200, rng=rng, blocks=np.repeat(np.arange(40), 5)
        )
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        inside.append((low <= target) & (target <= high))
    assert np.mean(inside, axis=0)[1:4] == pytest.approx(0.95, abs=0.06)


@pytest.mark.parametrize("pair", ["en-ja", "en-hi", "en-cs"])
def test_the_table_of_wmt24(shared, pair):
    """The organisers mapped to 1 ... N + 1, one more than the systems that the table has."""
    table = rows(shared / "wmt24-esa" / f"{pair}.autorank.csv")

    def column(name):
        return np.array([float(row[name]) for row in table])

    costs = np.stack([column("metricx"), column("cometkiwi")])  # both: less is better here
    result = autorank(-costs, "wmt24", worst=len(table) + 1)
    np.testing.assert_allclose(result.scaled, [column("rank_metricx"), column("rank_cometkiwi")])
    np.testing.assert_allclose(result.ranks, column("AutoRank"), atol=1e-9)
