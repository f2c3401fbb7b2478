"""Degrees of freedom of units of unequal size, and intervals that cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.stats.naive import freedoms, working_models

from steelyard.stats.resampling import bootstrap
from steelyard.stats.resampling.bootstrap import bootstrap_medians
from steelyard.stats.resampling.cluster_df import (
    expanded_level,
    freedom_of_counts,
    freedom_of_sizes,
    shrinkage,
    unit_freedom,
    unit_sizes,
    widened_p,
)
from steelyard.stats.strength.bradleyterry import bradley_terry, bradley_terry_batch
from steelyard.stats.strength.wins import WinCounts

SIZES = st.lists(st.integers(1, 15), min_size=2, max_size=12)


@given(SIZES)
def test_freedom_is_that_of_the_worse_model(sizes):
    assert unit_freedom(sizes) == pytest.approx(min(freedoms(sizes)), rel=1e-9)
    assert 1 - 1e-9 <= unit_freedom(sizes) <= len(sizes) - 1


@given(SIZES, st.sampled_from([0.8, 0.95, 0.99]))
def test_levels_are_those_of_a_t_interval(sizes, level):
    """Tails of the normal at which a percentile interval of a mean is as wide as one of t."""
    freedom = np.mean(freedoms(sizes))
    m = np.array(sizes, dtype=float)
    true = (m.sum(), (m**2).sum())
    shrunk = np.mean(
        [np.trace(b) / t for (_, b), t in zip(working_models(sizes), true, strict=True)]
    )
    tail = stats.norm.cdf(stats.t.ppf((1 - level) / 2, freedom) / np.sqrt(shrunk))
    assert expanded_level(level, sizes) == pytest.approx(1 - 2 * tail, abs=1e-9)
    assert level < expanded_level(level, sizes) < 1


def test_equal_few_and_many_units():
    assert unit_freedom([7] * 11) == 10
    assert unit_freedom([7, 0, 7, 7]) == 2  # a unit without segments is none
    assert np.isnan([unit_freedom([5]), unit_freedom([]), expanded_level(0.95, [5.0])]).all()
    many = unit_sizes(np.repeat(np.arange(20_000), 3))
    assert expanded_level(0.95, many) == pytest.approx(0.95, abs=1e-4)
    # Levels can be asked for whatever the units.
    assert expanded_level(0.95, [1, 1, 1000]) < 1
    bootstrap.interval(np.arange(9.0)[:, None], expanded_level(0.999, [1, 1]))


class Population:
    """Units to draw from, with what each of them adds to means, shares of wins and tables."""

    def __init__(self, scores, blocks):
        codes = np.unique(blocks, return_inverse=True)[1]
        order = np.argsort(codes, kind="stable")
        self.scores, codes = scores[:, order], codes[order]
        self.size = np.bincount(codes)
        self.start = np.cumsum(self.size) - self.size
        k = len(scores)
        share = [[np.bincount(codes, (a > b) + (a == b) / 2) for b in self.scores]
                 for a in self.scores]  # fmt: skip
        self.tables = np.moveaxis(np.array(share), 2, 0) * (1 - np.eye(k))
        own = [np.bincount(codes, row) for row in self.scores[:2]]
        self.sums = np.stack([own[0], own[0] - own[1], self.tables[:, 0, 1]], axis=1)

    def covered(self, n_units, sets, rng, *, fitted=0, middles=0):
        """Count in how many sets the interval holds the value of the population, in percent."""
        truth = self.sums.sum(axis=0) / self.size.sum()
        strength = bradley_terry(self.tables.sum(axis=0)).strength
        middle = np.median(self.scores[0])
        hits: dict[str, list[bool]] = {
            name: [] for name in ("mean", "difference", "wins", "median", "strength")
        }
        for k in range(sets):
            if k % 10 == 0:  # the same draws for ten sets, whose units are others
                counts = bootstrap.draw_counts(1000, n_units, rng)
            drawn = rng.integers(0, len(self.size), n_units)
            size = self.size[drawn]
            blocks = np.repeat(np.arange(n_units), size)
            level = expanded_level(0.95, unit_sizes(blocks))
            result = (counts @ self.sums[drawn]) / (counts @ size)[:, None]
            inside = within(result, truth, level)
            for name, hit in zip(("mean", "difference", "wins"), inside, strict=True):
                hits[name].append(hit)
            if k < middles:
                own = np.repeat(self.start[drawn] - np.cumsum(size) + size, size)
                row = self.scores[:1, own + np.arange(len(own))]
                result = bootstrap_medians(row, counts[:, blocks])
                hits["median"] += within(result, middle, level).tolist()
            tables = self.tables[drawn]
            if k < fitted and (fit := bradley_terry(tables.sum(axis=0))).connected:
                made = np.tensordot(counts, tables, 1)
                result = bradley_terry_batch(
                    WinCounts(made, np.zeros_like(made)), start=fit.log_strength
                ).strength
                hits["strength"] += within(result, strength, level).tolist()
        return {name: 100 * float(np.mean(own)) for name, own in hits.items() if own}


def within(replicates, truth, level):
    low, high = bootstrap.interval(replicates, level)
    return (low <= truth) & (truth <= high)


def model(kind, rng, units=20_000, k=5):
    """Documents of 1 to 15 segments, short ones most often, that share an effect per system."""
    size = np.minimum(15, rng.geometric(0.25, units))
    blocks = np.repeat(np.arange(units), size)
    if kind == "normal":
        shared, own = rng.normal(size=(k, units)), rng.normal(size=(k, len(blocks)))
    else:
        shared, own = rng.exponential(size=(k, units)), -rng.exponential(size=(k, len(blocks)))
    return Population(0.15 * np.arange(k)[:, None] + shared[:, blocks] + 1.2 * own, blocks)


def documents(esa, pair, k=5):
    """Real documents of some systems.

    People give whole fives and tens. An interval of a median that ends on one of them holds it, and
    so more than was asked for (99 % here); a little noise leaves the level to be seen.
    """
    scores, blocks = esa(pair)
    rng = np.random.default_rng(0)
    scores = scores[rng.choice(len(scores), k, replace=False)]
    return Population(scores + rng.uniform(-2.5, 2.5, scores.shape), blocks)


def test_intervals_of_few_units_cover():
    """The plain percentile interval covers 90 % here."""
    rng = np.random.default_rng(1)
    result = model("normal", rng, 4000).covered(20, 500, rng)
    assert all(93 <= value <= 98 for value in result.values()), result


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("n_units", [20, 50, 200])
@pytest.mark.parametrize("kind", ["normal", "skewed", "en-ja", "en-hi", "en-cs"])
def test_intervals_by_unit_cover(kind, n_units, request):
    rng = np.random.default_rng(n_units)
    if kind in ("normal", "skewed"):
        population = model(kind, rng)
    else:
        population = documents(request.getfixturevalue("esa"), kind)
    middles = {20: 2000, 50: 1000, 200: 400}[n_units]
    result = population.covered(n_units, 2000, rng, fitted=200, middles=middles)
    few = {"median": middles, "strength": 200}  # what takes long has two standard errors of room
    for name, value in result.items():
        room = 200 * math.sqrt(0.95 * 0.05 / few[name]) if few.get(name, 2000) < 2000 else 0.0
        assert 93 - room <= value <= 97 + room, (name, result)


@given(
    st.lists(st.integers(1, 20), min_size=2, max_size=8),
    st.data(),
)
def test_freedom_of_units_that_occur_so_often(sizes, data):
    """As if every copy were a unit of its own."""
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(sizes), max_size=len(sizes)))
    copies = np.repeat(sizes, counts).astype(float)
    own = np.array(sizes, dtype=float)
    result = freedom_of_counts(own, np.array([counts], dtype=float))[0]
    expected = freedom_of_sizes(copies[None, :])[0] if len(copies) > 1 else math.nan
    assert result == pytest.approx(expected, rel=1e-6, nan_ok=True)


def test_a_widened_p_belongs_to_the_widened_interval():
    """The level at which an interval just holds 0 is 1 - p."""
    sizes = [1, 4, 9, 2, 2, 5, 3, 3, 7, 1, 2, 4]
    for level in (0.5, 0.9, 0.99):
        raw = 1 - expanded_level(level, sizes)
        assert widened_p(np.array([raw]), sizes)[0] == pytest.approx(1 - level)
        one = widened_p(np.array([raw / 2]), sizes, two_sided=False)[0]
        assert one == pytest.approx((1 - level) / 2)
    assert widened_p(np.array([1.0, np.nan]), sizes)[0] == 1.0
    assert np.isnan(widened_p(np.array([np.nan]), sizes)).all()
    assert np.isnan(shrinkage([5])).all()
