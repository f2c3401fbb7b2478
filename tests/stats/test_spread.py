"""Ease of segments, worth of pairing, sizes of differences between equals: against loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.spread import (
    SizeCounts,
    difficulty_strata,
    pairing_strength,
    segment_ease,
)

NAN = float("nan")


def naive_ease(scores: np.ndarray) -> np.ndarray:
    """Least squares of every cell as system + segment, abilities of mean 0 over systems seen."""
    n, s = scores.shape
    rows, values = [], []
    for i, k in np.argwhere(~np.isnan(scores)):
        row = np.zeros(n + s)
        row[i] = row[n + k] = 1
        rows.append(row)
        values.append(scores[i, k])
    seen = (~np.isnan(scores)).any(axis=1)
    rows.append(np.r_[seen.astype(float), np.zeros(s)])
    values.append(0.0)
    found = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0][n:]
    return np.where(np.isnan(scores).all(axis=0), NAN, found)


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 9), st.floats(0, 0.5))
def test_ease_is_that_of_least_squares(seed, n, s, share):
    rng = np.random.default_rng(seed)
    scores = rng.normal(10, 3, (n, s)) + 2 * rng.normal(size=s)
    scores[0] += 0.5
    gone = rng.random((n, s)) < share
    gone[0] = gone[:, 0] = False  # all hang together
    scores[gone] = NAN
    assert segment_ease(scores) == pytest.approx(naive_ease(scores), rel=1e-9, abs=1e-9)


def test_ease_by_hand():
    assert segment_ease(np.array([[1.0, 3.0], [3.0, 7.0]])).tolist() == [2.0, 5.0]
    # The last segment has only the better one: it is as easy as the second, not easier.
    lost = segment_ease(np.array([[1.0, 2.0, NAN], [5.0, 6.0, 6.0]]))
    assert lost.tolist() == pytest.approx([3.0, 4.0, 4.0])
    assert np.isnan(segment_ease(np.array([[1.0, NAN], [2.0, NAN]]))).tolist() == [False, True]
    assert np.isnan(segment_ease(np.full((2, 3), NAN))).all()
    assert segment_ease(np.array([[4.0, 5.0]])).tolist() == [4.0, 5.0]  # one system
    # Two groups that share nothing are taken to be equally able.
    apart = np.array([[1.0, 2.0, NAN, NAN], [NAN, NAN, 9.0, 8.0]])
    assert segment_ease(apart).tolist() == [1.0, 2.0, 9.0, 8.0]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_strata_keep_what_is_equally_easy_together(values):
    ease = np.array(values, dtype=float)
    codes = difficulty_strata(ease)
    if len(set(values)) < 2:
        assert (codes == -1).all()
        return
    assert {0, 2} <= set(codes.tolist()) <= {0, 1, 2}
    for value in set(values):
        assert len(set(codes[ease == value].tolist())) == 1
    order = np.argsort(ease, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()  # harder segments are never in an easier stratum
    # No other border comes nearer to one and two thirds.
    counts = np.unique(ease, return_counts=True)[1]
    below = np.cumsum(counts)[:-1] / len(ease)
    for third, share in ((1 / 3, (codes == 0).mean()), (2 / 3, (codes <= 1).mean())):
        assert abs(share - third) <= np.abs(below - third).min() + 1e-12


def test_strata_by_hand():
    assert np.bincount(difficulty_strata(np.arange(9.0))).tolist() == [3, 3, 3]
    assert difficulty_strata(np.array([NAN, 1.0, 1.0])).tolist() == [-1, -1, -1]
    assert difficulty_strata(np.array([])).tolist() == []


def test_segments_that_are_equally_easy_but_for_rounding_stay_together():
    scores = np.array([[0.1, 0.3, 0.7, 0.9], [0.2, 0.2, 0.7, 0.9], [0.3, 0.1, 0.8, 0.9]])
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        found = difficulty_strata(segment_ease(scores[order]))
        assert found[0] == found[1]


@given(st.integers(0, 10_000))
def test_what_pairing_is_worth(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(4, 15)) + 2 * rng.normal(size=15) + 100
    scores[rng.random(scores.shape) < 0.1] = NAN
    scores[:, :3] = rng.normal(100, 2, (4, 3))
    correlation, gain = pairing_strength(scores)
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        both = ~np.isnan(scores[i] + scores[j])
        a, b = scores[i, both], scores[j, both]
        assert correlation[k] == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-9)
        wanted = (a.var(ddof=1) + b.var(ddof=1)) / (a - b).var(ddof=1)
        assert gain[k] == pytest.approx(wanted, rel=1e-6)


def test_pairing_by_hand():
    same = np.array([1.0, 2, 3])
    correlation, gain = pairing_strength(np.stack([same, same + 5]))
    assert correlation.tolist() == pytest.approx([1.0])
    assert np.isinf(gain).all()  # a constant difference: any pair of segments shows it
    correlation, gain = pairing_strength(np.stack([same, np.full(3, 2.0)]))
    assert np.isnan(correlation).all()
    assert gain.tolist() == pytest.approx([1.0])
    assert np.isnan(pairing_strength(np.ones((2, 3)))).all()
    assert np.isnan(pairing_strength(np.array([[1.0, NAN], [NAN, 2.0]]))[1]).all()
    _, gain = pairing_strength(np.stack([same, -same]))
    assert gain.tolist() == pytest.approx([0.5])  # pairing can also cost


def naive_threshold(sizes, share):
    """Try every size, and any difference at all."""
    n = len(sizes)
    if sum(x > 0 for x in sizes) <= share * n:
        return 0.0
    for t in sorted({x for x in sizes if x > 0}):
        if sum(x >= t for x in sizes) <= share * n + 1e-9:
            return t
    return float("nan")


@given(st.lists(st.integers(-8, 8), min_size=1, max_size=60), st.sampled_from([0.05, 0.2, 0.5]))
def test_thresholds_and_quantiles_against_loops(values, share):
    gap = np.array(values, dtype=float)
    counts = SizeCounts.of(gap, np.zeros(len(gap), dtype=int), 1)
    one = np.ones((1, 1))
    sizes = np.abs(gap)
    found = counts.thresholds(one, share)[0]
    assert found == pytest.approx(naive_threshold(sizes.tolist(), share), nan_ok=True)
    for q in (0.5, 0.9):
        smallest = min(x for x in sizes if (sizes <= x).mean() >= q - 1e-9)
        assert counts.quantiles(one, [q])[0, 0] == smallest
    for t in (0.0, 1.0, 4.0):
        expected = ((sizes >= t) & (sizes > 0)).mean()
        assert counts.at_least(one, t)[0] == pytest.approx(expected)
    if not np.isnan(found):
        assert counts.at_least(one, float(found))[0] <= share + 1e-9


@given(st.integers(0, 10_000))
def test_a_resample_is_what_copied_units_give(seed):
    rng = np.random.default_rng(seed)
    gap, unit = rng.integers(0, 9, 40).astype(float), rng.integers(0, 4, 40)
    counts = SizeCounts.of(gap, unit, 4)
    weights = np.array([[2.0, 0.0, 1.0, 1.0]])
    copied = np.concatenate([np.repeat(gap[unit == k], int(w)) for k, w in enumerate(weights[0])])
    again = SizeCounts.of(copied, np.zeros(len(copied), dtype=int), 1)
    one = np.ones((1, 1))
    assert counts.thresholds(weights, 0.1) == pytest.approx(again.thresholds(one, 0.1), nan_ok=True)
    assert counts.quantiles(weights, [0.5, 0.9]) == pytest.approx(again.quantiles(one, [0.5, 0.9]))


def test_edges():
    nothing = SizeCounts.of(np.array([]), np.array([], dtype=int), 1)
    assert np.isnan(nothing.thresholds(np.ones((1, 1)), 0.05)).all()
    assert np.isnan(nothing.at_least(np.ones((1, 1)), 5)).all()
    same = SizeCounts.of(np.zeros(9), np.zeros(9, dtype=int), 1)
    assert same.thresholds(np.ones((1, 1)), 0.05).tolist() == [0.0]
    rounded = SizeCounts.of(np.array([0.1 + 0.2, 0.3]), np.zeros(2, dtype=int), 1)
    assert len(rounded.sizes) == 1


@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.2, 0.3, 0.5]))
def test_thresholds_of_a_resample_are_sizes_that_it_has(seed, share):
    rng = np.random.default_rng(seed)
    gap = rng.integers(-4, 5, 8).astype(float)
    drawn = rng.multinomial(8, np.full(8, 1 / 8))
    counts = SizeCounts.of(gap, np.arange(8), 8)
    found = counts.thresholds(drawn[None].astype(float), share).item()
    expected = naive_threshold(np.repeat(np.abs(gap), drawn), share)
    assert found == pytest.approx(expected, nan_ok=True)
