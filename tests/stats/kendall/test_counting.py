"""Counts of pairs, and what they are worth, against loops over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from tests.stats.naive import KINDS, NAN, count_kinds, matrices, pair_kind, pair_kinds

from steelyard.core.errors import UsageError
from steelyard.stats.correlation import kendall_b
from steelyard.stats.kendall.counting import (
    KENDALL,
    PairCounts,
    TieMatrix,
    count_columns,
    count_pairs,
    counts_by_group,
    grouped,
    matrix,
    threshold_counts,
)

# Eighths: their differences are exact, so that pairs on a threshold are decided without rounding.
CELLS = st.one_of(
    st.sampled_from([0.0, 0.125, 0.25, 1.0, NAN]), st.integers(-8, 8).map(lambda k: k / 8)
)
WIDTHS = st.sampled_from([0.0, 0.125, 0.25, 0.3, 2.0])


def rows(counts):
    """The five counts of each group."""
    return np.stack([getattr(counts, name) for name in KINDS], axis=-1).tolist()


def by_loops(human, metric, epsilon=0.0, threshold=0.0):
    columns = zip(human.T, metric.T, strict=True)
    return [count_kinds(pair_kinds(h, m, epsilon, threshold)) for h, m in columns]


@given(matrices(CELLS, most=6), WIDTHS, WIDTHS)
def test_counts_against_the_loop(data, epsilon, threshold):
    human, metric = data
    counts = count_pairs(human, metric, epsilon=epsilon, threshold=threshold)
    assert rows(counts) == by_loops(human, metric, epsilon, threshold)
    assert counts.total.tolist() == [sum(group) for group in rows(counts)]


@pytest.mark.parametrize("n", [23, 24, 130])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_counts_of_many_rows(n, epsilon):
    # 23 rows have 253 pairs: the most that a byte can count.
    rng = np.random.default_rng(n)
    human, metric = rng.integers(0, 9, (n, 3)) / 8, rng.normal(size=(n, 3))
    human[:, 0] = metric[:, 0] = np.arange(n)
    expected = by_loops(human, metric, epsilon)
    assert expected[0][0] == n * (n - 1) // 2
    assert rows(count_pairs(human, metric, epsilon=epsilon)) == expected
    one = np.repeat(human[:, 1:2], 3, axis=1)  # one column serves all
    assert rows(count_pairs(human[:, 1:2], metric)) == rows(count_pairs(one, metric))


def test_borders_of_ties_by_hand():
    """Epsilon is inclusive, the human threshold is not; any other difference of floats counts."""
    human, metric = np.array([[0.0], [25.0]]), np.array([[0.0], [0.5]])
    kinds = {(0.5, 25): 3, (0.49, 25.01): 2, (0.5, 25.01): 4, (0.49, 25): 0}
    for (epsilon, threshold), kind in kinds.items():
        counts = count_pairs(human, metric, epsilon=epsilon, threshold=threshold)
        assert rows(counts) == [[int(k == kind) for k in range(5)]]
    near = np.array([[-1.3], [-1.3000000000000003]])
    assert rows(count_pairs(near, near)) == [[1, 0, 0, 0, 0]]


# ---------------------------------------------------------------- long groups


@pytest.mark.parametrize("sizes", [(101, 1), (1000, 3), (1023, 50), (1025, 1000), (1500, 10**6)])
def test_one_long_vector_with_many_ties(sizes):
    # Tenths: differences that print alike are different floats, and each counts as what it is.
    rng = np.random.default_rng(0)
    n, levels = sizes
    human = rng.integers(0, levels, (n, 1)) / 10
    metric = np.rint(human * 5 + rng.normal(size=(n, 1))) / 10
    for epsilon, threshold in ((0, 0), (0.1, 0), (0.3, 0.3), (0, 0.1), (99, 99)):
        ties = {"epsilon": epsilon, "threshold": threshold}
        assert rows(count_columns(human, metric, **ties)) == rows(
            count_pairs(human, metric, **ties)
        )


@given(st.integers(101, 120), st.integers(1, 9), WIDTHS, WIDTHS, st.integers(0, 999))
def test_long_vectors_against_the_loop(n, levels, epsilon, threshold, seed):
    rng = np.random.default_rng(seed)
    human, metric = rng.integers(0, levels, (n, 1)) / 8, rng.integers(0, 4 * levels, (n, 1)) / 8
    counts = count_columns(human, metric, epsilon=epsilon, threshold=threshold)
    assert rows(counts) == by_loops(human, metric, epsilon, threshold)


@pytest.mark.parametrize("step", [0.1, 1 / 3, 1e-9])
def test_ties_are_differences_as_floats(step):
    # Differences themselves as thresholds: searching for value + epsilon would miss some.
    rng = np.random.default_rng(2)
    human, metric = rng.integers(0, 300, (2, 150, 1)) * step
    ordered = np.sort(metric[:, 0])
    for epsilon in (ordered[100:] - ordered[:50])[::7].tolist():
        ties = {"epsilon": epsilon, "threshold": epsilon}
        assert rows(count_columns(human, metric, **ties)) == rows(
            count_pairs(human, metric, **ties)
        )


def test_very_long_vectors():
    rng = np.random.default_rng(3)
    human = -rng.poisson(2, 5000).astype(float)
    metric = np.round(human + rng.normal(size=5000), 1)
    tau = kendall_b(count_columns(human[:, None], metric[:, None]))[0]
    assert tau == pytest.approx(kendalltau(human, metric).statistic, abs=1e-12)
    n = 300_000  # 4.5e10 pairs: more than 32 bits hold
    up = np.arange(n, dtype=float)[:, None]
    assert rows(count_columns(up, -up)) == [[0, n * (n - 1) // 2, 0, 0, 0]]


@pytest.mark.parametrize("group_by", ["none", "item", "system"])
@pytest.mark.parametrize("options", [{}, {"epsilon": 0.25, "threshold": 0.5}])
def test_groups_of_a_matrix(group_by, options):
    rng = np.random.default_rng(1)
    human, metric = (rng.integers(0, 9, (4, 150)) / 8 for _ in range(2))
    human[rng.random(human.shape) < 0.2] = NAN
    metric[:, rng.random(150) < 0.2] = NAN
    counts = count_columns(*(grouped(x, group_by) for x in (human, metric)), **options)
    turned = {"none": (1, -1), "item": (4, 150), "system": (4, 150)}[group_by]
    both = [
        x.reshape(turned) if group_by == "item" else x.reshape(turned).T for x in (human, metric)
    ]
    assert rows(counts) == by_loops(*both, **options)


# ---------------------------------------------------------------- pairs given by differences


GAPS = st.one_of(st.integers(-6, 6).map(float), st.just(NAN))


@given(
    st.lists(st.tuples(GAPS, GAPS, st.integers(0, 2)), max_size=30),
    st.lists(st.integers(0, 7).map(float), min_size=1, max_size=4),
    st.integers(0, 2),
)
def test_thresholds_and_groups_of_differences(pairs, thresholds, epsilon):
    human, metric, group = np.array(pairs, dtype=float).reshape(-1, 3).T

    def expected(rows_of, threshold, width):
        kinds = [pair_kind(h, m, width, threshold) for h, m, _ in rows_of]
        return count_kinds([kind for kind in kinds if kind is not None])

    counts = threshold_counts(human, metric, thresholds, epsilon=epsilon)
    assert rows(counts) == [expected(pairs, t, epsilon) for t in thresholds]
    counts = counts_by_group(human, metric, group.astype(int), 3, thresholds[0])
    by_group = [[pair for pair in pairs if pair[2] == g] for g in range(3)]
    assert rows(counts) == [expected(some, thresholds[0], 0.0) for some in by_group]


def test_a_difference_that_rounding_made_smaller_is_kept():
    gap = np.array([25.3 - 0.3])  # 25.000000000000004 or just below 25, by the order
    counts = threshold_counts(np.array([0.1 + 0.2 - 0.3 + 25 - 1e-12]), gap, [25])
    assert counts.concordant.tolist() == [1]


# ---------------------------------------------------------------- what pairs are worth

X = None  # leave the pair out
# human <, =, > by metric <, =, >; as the tables of the papers print them.
NO_PENALTY = ((1, X, -1), (X, X, X), (-1, X, 1))
SOFT = ((1, 0, -1), (X, X, X), (-1, 0, 1))
HARD = ((1, -1, -1), (X, X, X), (-1, -1, 1))
TABLES = {
    "kendall-no-tie-penalty": NO_PENALTY,  # table 4a
    "kendall-soft": SOFT,  # table 4b
    "kendall-hard": HARD,  # table 4c
    "kendall-human-ties": ((1, 0, -1), (0, 1, 0), (-1, 0, 1)),  # table 5
    "kendall-human-ties-error": ((1, 0, -1), (0, -1, 0), (-1, 0, 1)),
    "kendall-10": HARD,
    "kendall-13": NO_PENALTY,
    "kendall-14": SOFT,
    "tau-eq": ((1, -1, -1), (-1, 1, -1), (-1, -1, 1)),
    "acc-eq": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}
#: The cell of such a table for each kind of pair.
PLACES = ((2, 2), (2, 0), (1, 2), (2, 1), (1, 1))


@pytest.mark.parametrize("name", KENDALL)
def test_every_variant_is_its_table(name):
    table = TABLES[name]
    assert table == tuple(row[::-1] for row in table[::-1])  # sides do not matter
    rng = np.random.default_rng(0)
    for counts in (*rng.integers(0, 4, (40, 5)), *np.eye(5, dtype=int), np.zeros(5, dtype=int)):
        cells = [table[row][column] for row, column in PLACES]
        worths = [w for w, n in zip(cells, counts, strict=True) for _ in range(n) if w is not None]
        value = matrix(name).value(PairCounts(*(np.array([n]) for n in counts)))[0]
        assert value == pytest.approx(np.mean(worths) if worths else NAN, nan_ok=True)


def test_all_pairs_left_out_have_no_value():
    nobody = TieMatrix(same=None, opposite=None)
    assert np.isnan(nobody.value(PairCounts(*np.full((5, 1), 3)))).all()
    with pytest.raises(UsageError, match=r"no Kendall variant 'acc_eq'; did you mean 'acc-eq'\?"):
        matrix("acc_eq")
