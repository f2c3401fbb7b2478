"""Counts of pairs, and what they are worth, against loops over all pairs."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kendalltau

from steelyard.core.errors import UsageError
from steelyard.stats.correlation import kendall_b
from steelyard.stats.kendall.counting import (
    KENDALL,
    PairCounts,
    TieMatrix,
    count_columns,
    count_pairs,
    grouped,
    matrix,
    threshold_counts,
)

NAN = float("nan")
FIELDS = ("concordant", "discordant", "human_ties", "metric_ties", "both_ties")
# Eighths: their differences are exact, so that pairs on a threshold are decided without rounding.
eighths = st.integers(-8, 8).map(lambda k: k / 8)
cells = st.one_of(st.sampled_from([0.0, 0.125, 0.25, 1.0, NAN]), eighths)
matrices = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6).flatmap(
    lambda shape: st.tuples(*(hnp.arrays(np.float64, shape, elements=cells) for _ in range(2)))
)


def naive(human, metric, epsilon=0.0, threshold=0.0):
    """Count one group, pair by pair."""
    counts = dict.fromkeys(FIELDS, 0)
    for (h_i, m_i), (h_j, m_j) in combinations(zip(human, metric, strict=True), 2):
        h, m = h_i - h_j, m_i - m_j
        if math.isnan(h) or math.isnan(m):
            continue
        human_tie, metric_tie = h == 0 or abs(h) < threshold, abs(m) <= epsilon
        if human_tie and metric_tie:
            counts["both_ties"] += 1
        elif human_tie:
            counts["human_ties"] += 1
        elif metric_tie:
            counts["metric_ties"] += 1
        elif (h > 0) == (m > 0):
            counts["concordant"] += 1
        else:
            counts["discordant"] += 1
    return counts


def as_dicts(counts):
    columns = [getattr(counts, name).tolist() for name in FIELDS]
    return [dict(zip(FIELDS, row, strict=True)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("n", [23, 24, 130])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_counts_of_many_rows(n, epsilon):
    # 23 rows have 253 pairs: the most that a byte can count.
    rng = np.random.default_rng(n)
    human, metric = rng.integers(0, 9, (n, 3)) / 8, rng.normal(size=(n, 3))
    human[:, 0] = metric[:, 0] = np.arange(n)
    counts = as_dicts(count_pairs(human, metric, epsilon=epsilon))
    assert counts[0]["concordant"] == n * (n - 1) // 2
    truth = [naive(h, m, epsilon) for h, m in zip(human.T, metric.T, strict=True)]
    assert counts == truth


@given(
    matrices,
    st.sampled_from([0.0, 0.125, 0.25, 0.3, 2.0]),
    st.sampled_from([0.0, 0.125, 0.25, 0.3, 2.0]),
)
def test_counts_against_the_loop(data, epsilon, threshold):
    human, metric = data
    counts = count_pairs(human, metric, epsilon=epsilon, threshold=threshold)
    expected = [naive(h, m, epsilon, threshold) for h, m in zip(human.T, metric.T, strict=True)]
    assert as_dicts(counts) == expected
    assert counts.total.tolist() == [sum(group.values()) for group in expected]


def test_epsilon_is_inclusive_and_threshold_is_not():
    human, metric = np.array([[0.0], [25.0]]), np.array([[0.0], [0.5]])
    at_both = count_pairs(human, metric, epsilon=0.5, threshold=25)
    assert as_dicts(at_both) == [dict.fromkeys(FIELDS, 0) | {"metric_ties": 1}]
    beyond = count_pairs(human, metric, epsilon=0.49, threshold=25.01)
    assert as_dicts(beyond) == [dict.fromkeys(FIELDS, 0) | {"human_ties": 1}]
    both = count_pairs(human, metric, epsilon=0.5, threshold=25.01)
    assert as_dicts(both) == [dict.fromkeys(FIELDS, 0) | {"both_ties": 1}]
    clear = count_pairs(human, metric, epsilon=0.49, threshold=25)
    assert as_dicts(clear) == [dict.fromkeys(FIELDS, 0) | {"concordant": 1}]


def test_edge_cases_by_hand():
    one = count_pairs(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]]))
    assert one.total.tolist() == [0, 0]
    missing = count_pairs(np.array([[NAN, 1.0], [1, NAN]]), np.array([[1.0, NAN], [2, 2]]))
    assert missing.total.tolist() == [0, 0]
    constant = count_pairs(np.array([[1.0], [2], [3]]), np.ones((3, 1)))
    assert as_dicts(constant) == [dict.fromkeys(FIELDS, 0) | {"metric_ties": 3}]
    same = np.array([[1.0, 5], [2, 4], [3, 3]])
    assert as_dicts(count_pairs(same, same)) == [dict.fromkeys(FIELDS, 0) | {"concordant": 3}] * 2
    assert count_pairs(same, -same).discordant.tolist() == [3, 3]
    assert count_pairs(np.empty((0, 2)), np.empty((0, 2))).total.tolist() == [0, 0]


def test_float_noise_is_a_difference():
    # The official numbers compare floats exactly.
    human = np.array([[-1.3], [-1.3000000000000003]])
    assert count_pairs(human, human).concordant.tolist() == [1]


thresholds = st.one_of(st.sampled_from([0.0, 0.125, 0.3, 2.0]), st.floats(0, 2))


@pytest.mark.parametrize("sizes", [(101, 1), (1000, 3), (1023, 50), (1025, 2000), (2200, 10**6)])
def test_one_long_vector_with_many_ties(sizes):
    # Tenths: differences that print alike are different floats, and each counts as what it is.
    rng = np.random.default_rng(0)
    n, levels = sizes
    human = rng.integers(0, levels, (n, 1)) / 10
    metric = np.rint(human * 5 + rng.normal(size=(n, 1))) / 10
    for epsilon, threshold in ((0, 0), (0.1, 0), (0.3, 0.3), (0.7, 0.2), (0, 0.1), (99, 99)):
        ties = {"epsilon": epsilon, "threshold": threshold}
        assert as_dicts(count_columns(human, metric, **ties)) == as_dicts(
            count_pairs(human, metric, **ties)
        )


@given(st.integers(101, 140), st.integers(1, 9), thresholds, thresholds, st.integers(0, 999))
@settings(max_examples=40)
def test_long_vectors_against_the_loop(n, levels, epsilon, threshold, seed):
    rng = np.random.default_rng(seed)
    human, metric = rng.integers(0, levels, n) / 8, rng.integers(0, 4 * levels, n) / 8
    counts = count_columns(human[:, None], metric[:, None], epsilon=epsilon, threshold=threshold)
    assert as_dicts(counts) == [naive(human, metric, epsilon, threshold)]


@pytest.mark.parametrize("step", [0.1, 1 / 3, 1e-9])
def test_ties_are_differences_as_floats(step):
    # Differences themselves as thresholds: searching for value + epsilon would miss some.
    rng = np.random.default_rng(2)
    human, metric = rng.integers(0, 300, (2, 150, 1)) * step
    ordered = np.sort(metric[:, 0])
    for epsilon in (ordered[100:] - ordered[:50])[::7].tolist():
        ties = {"epsilon": epsilon, "threshold": epsilon}
        assert as_dicts(count_columns(human, metric, **ties)) == as_dicts(
            count_pairs(human, metric, **ties)
        )


def test_tau_b_of_long_vectors_is_scipys():
    rng = np.random.default_rng(3)
    human = -rng.poisson(2, 5000).astype(float)
    metric = np.round(human + rng.normal(size=5000), 1)
    found = kendall_b(count_columns(human[:, None], metric[:, None]))[0]
    assert found == pytest.approx(kendalltau(human, metric).statistic, abs=1e-12)


def test_counts_do_not_overflow():
    n = 300_000  # 4.5e10 pairs: more than 32 bits hold
    up = np.arange(n, dtype=float)[:, None]
    counts = count_columns(up, -up)
    assert counts.discordant.tolist() == [n * (n - 1) // 2]
    assert counts.total.tolist() == [n * (n - 1) // 2]


def test_one_column_serves_all():
    rng = np.random.default_rng(4)
    human, metric = rng.integers(0, 4, (7, 1)) / 8, rng.integers(0, 9, (7, 5)) / 8
    metric[2, 3] = NAN
    every = count_pairs(np.repeat(human, 5, axis=1), metric, epsilon=0.125)
    assert as_dicts(count_pairs(human, metric, epsilon=0.125)) == as_dicts(every)


@pytest.mark.parametrize("group_by", ["none", "item", "system"])
@pytest.mark.parametrize("options", [{}, {"epsilon": 0.25, "threshold": 0.5}])
def test_long_groups_are_counted_as_short_ones(group_by, options):
    rng = np.random.default_rng(1)
    human, metric = (rng.integers(0, 9, (4, 150)) / 8 for _ in range(2))
    human[rng.random(human.shape) < 0.2] = NAN
    metric[:, rng.random(150) < 0.2] = NAN
    found = count_columns(*(grouped(x, group_by) for x in (human, metric)), **options)
    if group_by == "none":
        human, metric = human.reshape(1, -1), metric.reshape(1, -1)
    elif group_by == "item":
        human, metric = human.T, metric.T
    expected = [naive(h, m, **options) for h, m in zip(human, metric, strict=True)]
    assert as_dicts(found) == expected


GAPS = st.one_of(st.integers(-6, 6).map(float), st.just(NAN))


def naive_pairs(human, metric, threshold, epsilon):
    """Concordant, discordant, tied by people, by the metric, by both."""
    counts = [0] * 5
    for h, m in zip(human, metric, strict=True):
        if np.isnan(h) or np.isnan(m):
            continue
        people = h == 0 or abs(h) < threshold
        machine = abs(m) <= epsilon
        if people or machine:
            counts[4 if people and machine else 2 if people else 3] += 1
        else:
            counts[0 if (h > 0) == (m > 0) else 1] += 1
    return counts


@given(
    st.lists(st.tuples(GAPS, GAPS), max_size=30),
    st.lists(st.integers(0, 7).map(float), min_size=1, max_size=4),
    st.integers(0, 2),
)
def test_all_thresholds_are_one_after_the_other(pairs, thresholds, epsilon):
    human = np.array([h for h, _ in pairs], dtype=float)
    metric = np.array([m for _, m in pairs], dtype=float)
    found = threshold_counts(human, metric, thresholds, epsilon=epsilon)
    rows = np.stack([found.concordant, found.discordant, found.human_ties, found.metric_ties,
                     found.both_ties], axis=1)  # fmt: skip
    assert rows.tolist() == [naive_pairs(human, metric, t, epsilon) for t in thresholds]


def test_a_difference_that_rounding_made_smaller_is_kept():
    gap = np.array([25.3 - 0.3])  # 25.000000000000004 or just below 25, by the order
    found = threshold_counts(np.array([0.1 + 0.2 - 0.3 + 25 - 1e-12]), gap, [25])
    assert found.concordant.tolist() == [1]


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


def sign(x):
    return int(x > 0) - int(x < 0)


def naive_worths(table, human, metric, epsilon=0.0):
    """List what the pairs of one group are worth."""
    worths = []
    for (h_i, m_i), (h_j, m_j) in combinations(zip(human, metric, strict=True), 2):
        h, m = h_i - h_j, m_i - m_j
        if not (math.isnan(h) or math.isnan(m)):
            worth = table[1 + sign(h)][1 if abs(m) <= epsilon else 1 + sign(m)]
            worths += [] if worth is None else [worth]
    return worths


def counted(concordant=0, discordant=0, human_ties=0, metric_ties=0, both_ties=0):
    numbers = (concordant, discordant, human_ties, metric_ties, both_ties)
    return PairCounts(*(np.array([number]) for number in numbers))


human_cells = st.sampled_from([0.0, -1.0, -5.0, -5.1, NAN])
metric_cells = st.one_of(
    st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.7, NAN]), st.floats(-1, 1, allow_subnormal=False)
)
shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5)
judged = shapes.flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.float64, shape, elements=human_cells),
        hnp.arrays(np.float64, shape, elements=metric_cells),
    )
)


def test_every_variant_has_a_table():
    assert set(KENDALL) == set(TABLES)


@pytest.mark.parametrize("name", KENDALL)
@given(data=judged, epsilon=st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=30)
def test_every_variant_against_the_loop(name, data, epsilon):
    human, metric = data
    found = matrix(name).value(count_pairs(human, metric, epsilon=epsilon))
    for value, h, m in zip(found, human.T, metric.T, strict=True):
        worths = naive_worths(TABLES[name], h, m, epsilon)
        expected = sum(worths) / len(worths) if worths else NAN
        np.testing.assert_allclose(value, expected, atol=1e-12)


def test_the_examples_of_the_paper():
    none, soft = KENDALL["kendall-no-tie-penalty"], KENDALL["kendall-soft"]
    assert none.value(counted(concordant=1, metric_ties=99)).tolist() == [1.0]
    assert none.value(counted(concordant=70, discordant=30)).tolist() == [0.4]
    assert soft.value(counted(concordant=80, metric_ties=20)).tolist() == [0.8]
    assert soft.value(counted(concordant=20, metric_ties=80)).tolist() == [0.2]


def test_formulas_in_counts():
    # C = 5, D = 2, tied by people 3, by the metric 4, by both 6: P = 20.
    all_kinds = counted(5, 2, 3, 4, 6)
    expected = {
        "kendall-no-tie-penalty": 3 / 7,
        "kendall-soft": 3 / 11,
        "kendall-hard": -1 / 11,
        "kendall-human-ties": 9 / 20,
        "kendall-human-ties-error": -3 / 20,
        "kendall-10": -1 / 11,
        "kendall-13": 3 / 7,
        "kendall-14": 3 / 11,
        "tau-eq": (5 + 6 - 2 - 3 - 4) / 20,
        "acc-eq": 11 / 20,
    }
    found = {name: worth.value(all_kinds)[0] for name, worth in KENDALL.items()}
    assert found == pytest.approx(expected, abs=1e-12)


def test_without_pairs_the_value_is_undefined():
    assert np.isnan(KENDALL["acc-eq"].value(counted())).all()
    # Only pairs that people tie: most variants leave them out.
    tied = counted(human_ties=3, both_ties=2)
    assert np.isnan(KENDALL["kendall-hard"].value(tied)).all()
    assert KENDALL["acc-eq"].value(tied).tolist() == [0.4]
    nobody = TieMatrix(same=None, opposite=None)
    assert np.isnan(nobody.value(counted(concordant=3))).all()


def test_unknown_variant():
    with pytest.raises(UsageError, match=r"no Kendall variant 'acc_eq'; did you mean 'acc-eq'\?"):
        matrix("acc_eq")
