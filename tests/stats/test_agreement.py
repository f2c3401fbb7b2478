"""Agreement of raters: published examples, naive references, independent packages, edge cases."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import UsageError
from steelyard.stats.agreement import (
    LEVELS,
    Orderings,
    krippendorff_alpha,
    ranking_agreement,
)
from steelyard.stats.arrays import Counts, Floats

nan = float("nan")


def matrix_columns(ratings: Floats) -> tuple[Counts, Floats]:
    """Turn raters x units into the columns ``unit`` and ``value``."""
    unit, rater = np.nonzero(~np.isnan(ratings.T))
    return unit, ratings[rater, unit]


#: Krippendorff's worked example: 4 observers, 12 units (Computing Krippendorff's
#: Alpha-Reliability, 2011, section E), with the values he prints.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
)


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_the_published_example(level, alpha):
    result = krippendorff_alpha(*matrix_columns(PUBLISHED), level)
    assert round(result.value, 3) == alpha
    assert (result.n_units, result.n_values) == (11, 40)


def naive_alpha(matrix, level):
    """1 - observed / expected, from all pairs of values, as the definition reads."""
    units = [[v for v in column if not np.isnan(v)] for column in np.asarray(matrix).T]
    units = [unit for unit in units if len(unit) > 1]
    values = [v for unit in units for v in unit]
    counts = Counter(values)

    def distance(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(n for v, n in counts.items() if low <= v <= high)
        return (between - (counts[low] + counts[high]) / 2) ** 2

    observed = sum(
        distance(a, b) / (len(unit) - 1)
        for unit in units
        for a, b in itertools.permutations(unit, 2)
    ) / len(values)
    expected = sum(distance(a, b) for a, b in itertools.permutations(values, 2))
    expected /= len(values) * (len(values) - 1)
    return 1 - observed / expected if expected else nan


tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(
            st.one_of(st.just(nan), st.integers(0, 4).map(float)), min_size=raters, max_size=raters
        ),
        min_size=2,
        max_size=8,
    )
)


@given(tables, st.sampled_from(LEVELS))
def test_alpha_against_the_definition(columns, level):
    matrix = np.array(columns).T
    result = krippendorff_alpha(*matrix_columns(matrix), level).value
    judged = [c for c in columns if np.count_nonzero(~np.isnan(c)) > 1]
    if not judged or len({v for c in judged for v in c if not np.isnan(v)}) < 2:
        assert np.isnan(result)
    else:
        assert result == pytest.approx(naive_alpha(matrix, level), abs=1e-12)


def test_alpha_has_an_interval_around_it_and_repeats_itself():
    unit, value = matrix_columns(PUBLISHED)
    for level in LEVELS:
        result = [
            krippendorff_alpha(unit, value, level, n_resamples=500, rng=np.random.default_rng(1))
            for _ in range(2)
        ]
        assert result[0] == result[1]
        assert result[0].low < result[0].value < result[0].high


def test_the_interval_covers_what_it_should():
    rng = np.random.default_rng(5)
    truth = 0.5  # variance 1 between units, 1 within
    hits = 0
    for _ in range(60):
        value = (rng.normal(size=(60, 1)) + rng.normal(size=(60, 2))).ravel()
        unit = np.repeat(np.arange(60), 2)
        result = krippendorff_alpha(unit, value, n_resamples=300, rng=rng)
        hits += result.low <= truth <= result.high
    assert 50 <= hits <= 60


def test_alpha_of_nothing_and_of_constants():
    empty = krippendorff_alpha(np.array([0, 1]), np.array([1.0, 2.0]), n_resamples=10)
    assert np.isnan(empty.value)
    assert (empty.n_units, empty.to_dict()["ci"]) == (0, None)
    same = np.full(4, 0.1)
    for level in LEVELS:
        assert np.isnan(krippendorff_alpha(np.array([0, 0, 1, 1]), same, level).value)
    with pytest.raises(UsageError, match="ordinal"):
        krippendorff_alpha(np.array([0]), np.array([1.0]), "ordnal")


def naive_ranking(rows, *, within):
    """Compare every two comparisons of the same unit, one by one."""
    alike = pairs = 0
    judged = set()
    for (i, (r, u, o)), (j, (s, v, q)) in itertools.combinations(enumerate(rows), 2):
        if u == v and (r == s) == within:
            pairs += 1
            alike += o == q
            judged |= {i, j}
    units = {rows[i][1] for i in judged}
    every = [o for _, u, o in rows if u in units]
    if not pairs:
        return nan, nan
    tie = sum(o == 0 for o in every) / len(every)
    chance = tie**2 + (1 - tie) ** 2 / 2
    share = alike / pairs
    return share, (share - chance) / (1 - chance) if chance < 1 else nan


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 4), st.sampled_from([-1.0, 0.0, 1.0])),
        max_size=25,
    ),
    st.booleans(),
)
def test_ranking_agreement_against_all_pairs(rows, within):
    rater, unit = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
    outcome = np.array([row[2] for row in rows], dtype=float)
    result = ranking_agreement(Orderings(rater, unit, outcome), within=within)
    share, kappa = naive_ranking(rows, within=within)
    assert result.share.value == pytest.approx(share, nan_ok=True)
    assert result.kappa.value == pytest.approx(kappa, nan_ok=True, abs=1e-9)


def test_ranking_agreement_ignores_missing_and_resamples_blocks():
    rater = np.array([0, 1, 0, 1, 0, 1])
    unit = np.array([0, 0, 1, 1, 2, 2])
    outcome = np.array([1.0, 1, 1, -1, 1, nan])
    result = ranking_agreement(
        Orderings(rater, unit, outcome, block=np.array([0, 0, 1, 1, 1, 1])),
        n_resamples=50,
        rng=np.random.default_rng(0),
    )
    assert result.share.value == 0.5
    assert (result.share.n_units, result.share.n_values) == (2, 2)
    assert (result.share.low, result.share.high) == (0, 1)
