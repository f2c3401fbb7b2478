"""Counts of pairs, and what they are worth, against loops over all pairs."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.kendall.counting import (
    KENDALL,
    PairCounts,
    TieMatrix,
    count_below,
    count_columns,
    count_pairs,
    count_pairs_flat,
    grouped,
    matrix,
    reach,
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


@pytest.mark.parametrize("cached", [1, 20, 40, 10_000])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_counts_are_the_same_in_parts(cached, n, monkeypatch):
    monkeypatch.setattr("steelyard.stats.kendall.counting._CACHED", cached)
    rng = np.random.default_rng(n)
    human, metric = rng.integers(0, 4, (2, n, 5)) / 8
    human[rng.random(human.shape) < 0.1] = np.nan
    counts = count_pairs(human, metric, epsilon=0.125, threshold=0.25)
    truth = [naive(h, m, 0.125, 0.25) for h, m in zip(human.T, metric.T, strict=True)]
    assert as_dicts(counts) == truth


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
    pooled = {name: sum(group[name] for group in expected) for name in FIELDS}
    assert as_dicts(counts.pooled()) == [pooled]


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


complete = st.integers(0, 20).flatmap(
    lambda n: st.tuples(
        *(
            hnp.arrays(np.float64, n, elements=st.one_of(eighths, st.floats(-1e6, 1e6)))
            for _ in range(2)
        )
    )
)


thresholds = st.one_of(st.sampled_from([0.0, 0.125, 0.3, 2.0]), st.floats(0, 2))


@given(complete, thresholds, thresholds)
def test_one_long_vector_is_one_column(data, epsilon, threshold):
    human, metric = data
    flat = count_pairs_flat(human, metric, epsilon=epsilon, threshold=threshold)
    column = count_pairs(human[:, None], metric[:, None], epsilon=epsilon, threshold=threshold)
    assert as_dicts(flat) == as_dicts(column)
    assert as_dicts(flat) == [naive(human, metric, epsilon, threshold)]


@pytest.mark.parametrize("sizes", [(1000, 3), (1023, 50), (1025, 2000)])
def test_one_long_vector_with_many_ties(sizes):
    # Tenths: differences that print alike are different floats, and each counts as what it is.
    rng = np.random.default_rng(0)
    n, levels = sizes
    human = rng.integers(0, levels, n) / 10
    metric = np.rint(human * 5 + rng.normal(size=n)) / 10
    for epsilon, threshold in ((0, 0), (0.1, 0), (0.3, 0.3), (0.7, 0.2), (0, 0.1), (99, 99)):
        flat = count_pairs_flat(human, metric, epsilon=epsilon, threshold=threshold)
        column = count_pairs(human[:, None], metric[:, None], epsilon=epsilon, threshold=threshold)
        assert as_dicts(flat) == as_dicts(column)


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


def test_counts_do_not_overflow():
    n = 300_000  # 4.5e10 pairs: more than 32 bits hold
    up = np.arange(n, dtype=float)
    counts = count_pairs_flat(up, -up)
    assert counts.discordant.tolist() == [n * (n - 1) // 2]
    assert counts.total.tolist() == [n * (n - 1) // 2]


def test_reach_is_the_first_difference_beyond_epsilon():
    rng = np.random.default_rng(2)
    for values in (rng.integers(0, 300, 200) / 10, 1e9 + rng.random(200), rng.random(200)):
        ordered = np.sort(values)
        # Differences themselves as thresholds: searching for value + epsilon would miss some.
        for epsilon in (0.0, np.inf, *(ordered[100:] - ordered[:100])):
            beyond = ordered - ordered[:, None] > epsilon
            expected = np.where(beyond.any(axis=1), beyond.argmax(axis=1), 200)
            assert reach(ordered, epsilon).tolist() == expected.tolist()
    ends = np.repeat([50, 120, 200], [50, 70, 80])
    grouped = np.concatenate([np.sort(part) for part in np.split(rng.random(200), [50, 120])])
    parts = [reach(part, 0.2) for part in np.split(grouped, [50, 120])]
    expected = np.concatenate([parts[0], parts[1] + 50, parts[2] + 120])
    assert reach(grouped, 0.2, ends).tolist() == expected.tolist()


@given(
    st.lists(st.integers(0, 20), max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 25)), max_size=9),
)
def test_ranks_against_the_loop(codes, queries):
    queries = [(min(end, len(codes)), bound) for end, bound in queries]
    ends, bounds = np.array(queries, dtype=np.int64).reshape(-1, 2).T
    expected = [sum(code < bound for code in codes[:end]) for end, bound in queries]
    assert count_below(np.array(codes, dtype=np.int64), ends, bounds).tolist() == expected


def test_pooled_counts_stay_a_vector():
    counts = PairCounts(*(np.array([k, 10 * k]) for k in range(1, 6)))
    assert counts.pooled().total.tolist() == [165]


def test_errors():
    with pytest.raises(ShapeError, match="two matrices of one shape"):
        count_pairs(np.ones((2, 3)), np.ones((3, 2)))
    with pytest.raises(ShapeError, match="two matrices of one shape"):
        count_pairs(np.ones(2), np.ones(2))


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


def test_shapes_of_differences_must_agree():
    with pytest.raises(ShapeError):
        threshold_counts(np.zeros(2), np.zeros(3), [1])


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
