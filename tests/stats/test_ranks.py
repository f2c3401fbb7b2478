"""One rule of a tie: ranks, and the intervals of ranks, everywhere they are given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.stats.naive import NAN

import steelyard as sy
from steelyard.stats.ranks import FITTED, ranks, rounding, whole
from steelyard.stats.strength.bradleyterry import bradley_terry

INF = float("inf")
# Few distinct values, some a rounding apart.
values = st.one_of(
    st.sampled_from([NAN, INF, -INF, 0.0, 0.1 + 0.2, 0.3, 1e-300, -5.0, -5.0 - 1e-15, 7.0]),
    st.floats(-10, 10),
)
rows = hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=2, max_side=7), elements=values)


def near(a, b, close=1e-12):
    larger = max(abs(a), abs(b))
    return a == b or (math.isfinite(larger) and abs(a - b) <= close * larger)


def naive(row):
    """Go down from the best: whatever is not near the last one opens a new place."""
    known = sorted((x for x in row if not math.isnan(x)), reverse=True)
    places: list[int] = []
    for k, x in enumerate(known):
        places.append(places[-1] if k and near(x, known[k - 1]) else k + 1)
    return [NAN if math.isnan(x) else places[known.index(x)] for x in row]


@given(rows)
def test_against_joining_what_is_close(x):
    result = ranks(x)
    expected = [naive(row) for row in np.atleast_2d(x)]
    np.testing.assert_array_equal(
        np.atleast_2d(result), np.reshape(expected, np.atleast_2d(x).shape)
    )


def test_edges():
    assert ranks(np.empty((0,))).tolist() == []
    assert ranks(np.empty((3, 0))).shape == (3, 0)
    assert ranks([5.0]).tolist() == [1.0]
    assert np.isnan(ranks([NAN, NAN])).all()
    assert whole(ranks([INF, 3.0, -INF, INF, NAN])) == [1, 3, 4, 1, None]
    assert ranks([0.0, -0.0]).tolist() == [1.0, 1.0]
    assert ranks([1e-10, 2e-10, 1.0]).tolist() == [3.0, 2.0, 1.0]  # small is not equal


def test_borders_of_a_tie():
    assert ranks([1.0, 1 - 0.9e-12]).tolist() == [1, 1]
    assert ranks([1.0, 1 - 1.1e-12]).tolist() == [1, 2]
    assert ranks([1.0, 1 - 1e-10], close=FITTED).tolist() == [1, 1]
    assert ranks([2.0, 1.0], floor=1.0).tolist() == [1, 1]
    # Twelve digits, rounded, would fall on two sides of a border.
    border = 1.0000000000005
    assert ranks([np.nextafter(border, 2), np.nextafter(border, 0)]).tolist() == [1, 1]


def test_sums_that_cancel():
    terms = np.array([[0.1, 0.2, -0.3], [-0.3, 0.2, 0.1]])
    means = terms.mean(axis=1)
    assert means[0] != means[1]
    assert ranks(means).tolist() != [1, 1]
    assert ranks(means, floor=rounding(terms)).tolist() == [1, 1]
    assert rounding(np.array([NAN])) == 0


def almost_equal(n=200, seed=0):
    """Two systems that are equal but for rounding, and one that is worse."""
    x = np.random.default_rng(seed).normal(size=n)
    rows = np.stack([x + 0.1 + 0.2, x + 0.3, x - 1 + np.random.default_rng(1).normal(0, 3, n)])
    assert (rows[0] != rows[1]).any()
    return rows


def as_set(rows, name="m", **kinds):
    ids = tuple(str(i) for i in range(rows.shape[1]))
    return sy.EvalSet(("A", "B", "C"), sy.Segments(ids), {name: sy.ScoreTable(rows, **kinds)})


@pytest.mark.parametrize("by", ["mean", "median", "bt"])
def test_a_comparison_ranks_and_resamples_alike(by):
    # Bradley-Terry takes every difference for a win: there, the two differ by the tolerance.
    result = sy.compare(as_set(almost_equal()), by=by, tolerance=1e-9, n_bootstrap=200)
    own = result.to_dict()["aggregations"][by]
    assert (own["ranks"]["A"], own["ranks"]["B"]) == (1, 1)
    assert own["rank_ci"]["A"] == own["rank_ci"]["B"] == [1, 1]
    shares = result.aggregations[by].rank_shares
    assert shares[0].tolist() == shares[1].tolist()


def test_weak_strengths_are_not_equal():
    """Far below the best, strengths are tiny and still far apart."""
    wins = np.zeros((4, 4))
    for i in range(3):
        wins[i, i + 1], wins[i + 1, i] = 1e6, 1.0
    fit = bradley_terry(wins)
    assert fit.strength[3] < 1e-17
    assert fit.ranks.tolist() == [1, 2, 3, 4]
    assert ranks(fit.strength, close=FITTED).tolist() == [1, 2, 3, 4]
