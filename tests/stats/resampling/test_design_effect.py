"""The design effect against its formula, on real data, and whether its interval covers."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.naive import NAN

from steelyard.stats.resampling.cluster_df import unit_freedom
from steelyard.stats.resampling.design_effect import MOST_PAIRS, design_effect, spaced


def by_formula(d, blocks):
    """Variance of a mean by unit over that of independent segments."""
    known = ~np.isnan(d)
    d, blocks = d[known], blocks[known]
    n, units = len(d), set(blocks.tolist())
    if len(units) < 2 or np.ptp(d) == 0:
        return NAN
    mean = d.mean()
    sums = [sum(x - mean for x, g in zip(d, blocks, strict=True) if g == unit) for unit in units]
    c = len(units) / (len(units) - 1)
    return c * sum(u * u for u in sums) / n**2 / (d.var(ddof=1) / n)


def median_by_formula(x, blocks):
    ours = [by_formula(a - b, blocks) for a, b in combinations(x, 2)]
    ours = [value for value in ours if not math.isnan(value)]
    return float(np.median(ours)) if ours else NAN


@st.composite
def scored(draw):
    n, size = draw(st.integers(2, 4)), draw(st.integers(1, 14))
    value = st.one_of(st.integers(0, 4).map(float), st.just(NAN))
    x = draw(st.lists(st.lists(value, min_size=size, max_size=size), min_size=n, max_size=n))
    blocks = draw(st.lists(st.integers(3, 6), min_size=size, max_size=size))
    return np.array(x), np.array(blocks)


@given(scored())
def test_value_is_that_of_the_formula(data):
    x, blocks = data
    ours = design_effect(x, blocks)
    assert ours.value == pytest.approx(median_by_formula(x, blocks), nan_ok=True, abs=1e-9)
    if not math.isnan(ours.low):
        assert ours.low <= ours.value <= ours.high


def test_interval_is_a_jackknife_of_the_logarithm():
    rng = np.random.default_rng(0)
    blocks = np.repeat(np.arange(30), rng.integers(1, 9, 30))
    x = rng.normal(size=(4, len(blocks))) + rng.normal(size=(4, 30))[:, blocks]
    x[0, 3] = NAN
    without = [
        math.log(median_by_formula(x[:, blocks != g], blocks[blocks != g])) for g in range(30)
    ]
    deviation = math.sqrt(29 / 30 * sum((v - np.mean(without)) ** 2 for v in without))
    from scipy.stats import t

    freedom = unit_freedom(np.bincount(blocks) ** 2)
    reach = t.ppf(0.95, freedom) * deviation
    ours = design_effect(x, blocks, level=0.9)
    assert ours.low == pytest.approx(ours.value * math.exp(-reach))
    assert ours.high == pytest.approx(ours.value * math.exp(reach))


@pytest.mark.parametrize("blocks", [None, np.arange(40)[::-1] * 3])
def test_single_segments_have_exactly_one(blocks):
    ours = design_effect(np.random.default_rng(0).normal(size=(3, 40)), blocks)
    assert (ours.value, ours.low, ours.high, ours.n_units) == (1.0, 1.0, 1.0, 40)


def test_copies_of_a_segment_are_worth_one():
    """Every unit holds one value four times: 4, but for the small samples n and G."""
    x = np.repeat(np.random.default_rng(0).normal(size=(2, 50)), 4, axis=1)
    ours = design_effect(x, np.repeat(np.arange(50), 4))
    assert ours.value == pytest.approx(4 * (199 / 200) / (49 / 50))
    assert ours.effective == pytest.approx(200 / ours.value)


@pytest.mark.parametrize(
    ("x", "blocks"),
    [
        (np.ones((3, 8)), np.arange(8) // 2),  # no spread
        (np.eye(2, 8), np.zeros(8, dtype=int)),  # one unit
        (np.array([[1.0, 2, NAN, NAN], [NAN, NAN, 1, 2]]), np.arange(4) // 2),  # nothing shared
        (np.zeros((0, 8)), np.arange(8) // 2),
        (np.zeros((2, 0)), np.arange(0)),
        (np.zeros((2, 0)), None),
        (1e9 + np.full((2, 8), 0.1) * [[1], [3]], np.arange(8) // 2),  # but for rounding
    ],
)
def test_undefined_stays_undefined(x, blocks):
    ours = design_effect(x, blocks)
    assert np.isnan([ours.value, ours.low, ours.high, ours.effective]).all()
    assert ours.n_pairs == 0


def test_units_that_cancel_out_have_no_interval():
    result = design_effect(np.array([[1.0, -1, 2, -2], [0, 0, 0, 0]]), np.array([0, 0, 1, 1]))
    assert (result.value, math.isnan(result.low)) == (0, True)


def test_very_many_pairs_are_thinned_out():
    x, blocks = np.random.default_rng(0).normal(size=(302, 6)), np.arange(6) // 2
    pairs = spaced(np.arange(302 * 301 // 2), MOST_PAIRS)
    result = design_effect(x, blocks)
    assert result.n_pairs == len(pairs) == MOST_PAIRS
    gaps = np.array([a - b for a, b in combinations(x, 2)])[pairs]
    means = gaps.reshape(len(pairs), 3, 2).mean(axis=2)  # of units of two
    ratios = 2 * means.var(axis=1, ddof=1) / gaps.var(axis=1, ddof=1)
    assert result.value == pytest.approx(np.median(ratios))


@pytest.mark.parametrize(("pair", "value"), [("en-ja", 2.77), ("en-hi", 2.89), ("en-cs", 2.58)])
def test_scores_of_people(esa, pair, value):
    """Segments of a document count for little more than a third of what they seem."""
    ours = design_effect(*esa(pair))
    assert ours.value == pytest.approx(value, abs=0.006)
    assert 1.9 < ours.low < ours.value < ours.high < 3.6


def coverage(kind, n_units, share, sets, rng):
    """How often the interval holds the design effect of a two-level model at these sizes."""
    covered = 0
    for _ in range(sets):
        if kind == "short":
            size = np.minimum(15, rng.geometric(0.25, n_units))
        else:  # as in WMT24: two thirds are single segments, the others have about ten
            size = np.where(rng.random(n_units) < 0.65, 1, rng.integers(6, 11, n_units))
        true = 1 + share * ((size**2).mean() / size.mean() - 1)
        blocks = np.repeat(np.arange(n_units), size)
        x = math.sqrt(share) * rng.normal(size=n_units)[blocks]
        x += math.sqrt(1 - share) * rng.normal(size=len(blocks))
        ours = design_effect(x[None], blocks)
        covered += ours.low <= true <= ours.high
    return covered / sets


@pytest.mark.parametrize(
    ("kind", "n_units", "share", "sets"),
    [
        ("short", 170, 0.3, 200),
        *(
            pytest.param(kind, n, share, 1500, marks=pytest.mark.thorough)
            for kind in ("short", "as in WMT24")
            for share in (0.05, 0.3, 0.6)
            for n in (50, 170)
        ),
    ],
)
def test_interval_covers(kind, n_units, share, sets):
    covered = coverage(kind, n_units, share, sets, np.random.default_rng(n_units))
    assert 0.93 - (sets < 1500) * 0.03 <= covered <= 0.98 + (sets < 1500) * 0.015
