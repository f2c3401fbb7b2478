"""The smallest believable gap: the formula, its edges, and real judges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.judged import realdata

from steelyard.stats.judged.gap import SystemMeans, believable_gap, system_means


def naive_means(system, human, judge, n, unit):
    """The means, and their variances by unit, as one would write them down."""
    ours = np.full((5, n), np.nan)
    for s in range(n):
        own = [r for r in range(len(system)) if system[r] == s and np.isfinite(human[r] + judge[r])]
        if not own:
            continue
        h, j = np.array([human[r] for r in own]), np.array([judge[r] for r in own])
        ours[0, s], ours[1, s] = h.mean(), j.mean()
        groups = sorted({unit[r] for r in own})
        if len(groups) < 2:
            continue
        sums = np.array([
            [sum(x[k] - x.mean() for k, r in enumerate(own) if unit[r] == g) for x in (h, j)]
            for g in groups
        ])  # fmt: skip
        scale = len(groups) / (len(groups) - 1) / len(own) ** 2
        ours[2, s] = scale * sum(a * a for a, _ in sums)
        ours[3, s] = scale * sum(b * b for _, b in sums)
        ours[4, s] = scale * sum(a * b for a, b in sums)
    return ours


def naive_gap(human, judge, v, u):
    """Steps 1 to 3 of the definition."""
    k = len(human)
    b, a = np.polyfit(judge, human, 1)
    r = human - a - b * judge
    w = 1 / v
    mean = (w * r).sum() / w.sum()
    q = (w * (r - mean) ** 2).sum()
    tau2 = max(0, (q - (k - 1)) / (w.sum() - (w**2).sum() / w.sum())) * k / (k - 2)
    return (
        b,
        np.sqrt(tau2),
        1.6448536269514722 * np.sqrt(2 * (tau2 + b * b * np.median(u))) / abs(b),
    )


@given(st.integers(0, 10_000), st.booleans())
def test_means_and_their_noise_by_unit(seed: int, grouped: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    system, unit = rng.integers(0, 4, n), rng.integers(0, 6, n)
    human, judge = rng.normal(size=n).round(1), rng.normal(size=n).round(1)
    human[rng.random(n) < 0.3] = np.nan
    ours = system_means(system, human, judge, 4, unit if grouped else None)
    wanted = naive_means(system, human, judge, 4, unit if grouped else np.arange(n))
    own = (
        ours.human,
        ours.judge,
        ours.human_variance,
        ours.judge_variance,
        ours.covariance,
    )
    np.testing.assert_allclose(np.stack(own), wanted, atol=1e-12)


@given(st.integers(0, 10_000), st.integers(5, 12))
def test_the_gap_is_as_defined(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    judge = np.arange(k) + rng.normal(size=k) / 3
    human = 0.5 * judge + rng.normal(size=k) / 4
    v = rng.uniform(0.001, 0.05, k)
    u = rng.uniform(0.001, 0.05, k)
    means = SystemMeans(human, judge, v, u, np.zeros(k))
    ours = believable_gap(means, error_variance=v)
    if not ours.gap.known:
        assert ours.slope.low <= 0
        return
    b, tau, gap = naive_gap(human, judge, v, u)
    np.testing.assert_allclose([ours.slope.value, ours.tau, ours.gap.value], [b, tau, gap])
    pairs = [(i, j) for i in range(k) for j in range(i)]
    above = [(i, j) for i, j in pairs if abs(judge[i] - judge[j]) > gap]
    right = [(i, j) for i, j in above if (judge[i] - judge[j]) * (human[i] - human[j]) > 0]
    assert (ours.n_pairs, ours.n_above) == (len(pairs), len(above))
    if above:
        assert ours.right_above == len(right) / len(above)


def test_the_units_of_either_score_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    system = np.repeat(np.arange(7), 30)
    judge = rng.normal(size=210) + system
    human = judge + rng.normal(size=210) + rng.normal(size=7)[system]
    plain = believable_gap(system_means(system, human, judge, 7))
    other = believable_gap(system_means(system, 1e6 * human - 5, 1e-9 * judge, 7))
    assert other.gap.value == pytest.approx(1e-9 * plain.gap.value)
    assert (other.n_above, other.right_above, other.left_out) == (
        plain.n_above, plain.right_above, plain.left_out,
    )  # fmt: skip


def test_without_what_it_needs_there_is_none_and_a_reason() -> None:
    flat = np.full(6, 0.01)

    def reason(human, judge) -> str:
        k = len(human)
        ours = believable_gap(
            SystemMeans(np.array(human), np.array(judge), flat[:k], flat[:k], 0 * flat[:k])
        )
        assert not ours.gap.known
        return ours.gap.why

    assert "4 systems" in reason([1.0, 2, 3, 4], [1.0, 2, 3, 4])
    assert "the judge put all systems at the same mean" in reason(np.arange(6.0), np.ones(6))
    assert "people put all systems" in reason(np.ones(6), np.arange(6.0))
    assert "slope -1" in reason(-np.arange(6.0), np.arange(6.0))
    noisy = reason([1.0, -1, 1, -1, 1, -1], np.arange(6.0))
    assert "may not be those that people prefer" in noisy
    # Systems that nobody labelled are not counted.
    human = np.array([1.0, 2, 3, 4, np.nan, np.nan])
    ours = believable_gap(SystemMeans(human, np.arange(6.0), flat, flat, 0 * flat))
    assert ours.n_systems == 4


ARENA = {
    "gpt-4-0125-preview": (0.83, 0.0182, 0.0536, 156, 1.000, 0.794, 1.000),
    "claude-3-opus": (1.23, 0.0257, 0.0521, 141, 0.993, 0.776, 0.993),
    "gpt-3.5-turbo": (2.65, 0.0667, 0.0628, 77, 0.987, 0.814, 0.987),
}


def _check(system, human, judge, wanted, n_pairs) -> None:
    means = system_means(system, human, judge, system.max() + 1)
    noise = system_means(system, judge - human, judge, system.max() + 1).human_variance
    ours = believable_gap(means, error_variance=noise)
    slope, tau, gap, above, right_above, right_below, left_out = wanted
    assert ours.slope.value == pytest.approx(slope, abs=0.0051)
    assert (ours.tau, ours.gap.value) == pytest.approx((tau, gap), abs=1.1e-4)
    assert (ours.n_above, ours.n_pairs) == (above, n_pairs)
    own = (ours.right_above, ours.right_below, ours.left_out)
    assert own == pytest.approx((right_above, right_below, left_out), abs=0.00051)
    # With the noise of human - slope * judge the same pairs, but for a few, are above it.
    assert believable_gap(means).gap.value == pytest.approx(gap, rel=0.1)


def test_arena(shared: Path) -> None:
    log = realdata.arena(shared)
    system = np.concatenate([log.left, log.right])
    human = log.points("human")
    for judge, wanted in ARENA.items():
        own = log.points(judge)
        people, verdicts = (np.concatenate([x, 1 - x]) for x in (human, own))
        _check(system, people, verdicts, wanted, 190)
