"""Correlations against scipy column by column, explicit differences, and published values."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from steelyard.stats.arrays import ratio
from steelyard.stats.correlation import (
    distinct,
    kendall_b,
    kendall_c,
    pdp,
    pearson,
    ranks,
    spearman,
)
from steelyard.stats.kendall.calibration import calibrate
from steelyard.stats.kendall.counting import KENDALL, TieMatrix, count_columns, count_pairs

NAN = float("nan")
cells = st.one_of(st.sampled_from([0.0, 1.0, 2.0, NAN]), st.integers(-40, 40).map(lambda k: k / 8))
matrices = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7).flatmap(
    lambda shape: st.tuples(*(hnp.arrays(np.float64, shape, elements=cells) for _ in range(2)))
)


def together(human, metric):
    known = ~(np.isnan(human) | np.isnan(metric))
    return human[known], metric[known]


def by_column(human, metric, statistic):
    """Apply scipy to each column, NaN where one has fewer than two cells or nothing varies."""
    values = []
    for h, m in (together(*pair) for pair in zip(human.T, metric.T, strict=True)):
        varies = len(set(h)) > 1 and len(set(m)) > 1
        values.append(statistic(h, m).statistic if varies else NAN)
    return values


def levels(human, metric):
    known = ~(np.isnan(human) | np.isnan(metric))
    return np.minimum(*(distinct(np.where(known, x, NAN)) for x in (human, metric)))


def cells_of(human, metric):
    return (~(np.isnan(human) | np.isnan(metric))).sum(axis=0)


# ---------------------------------------------------------------- against scipy


@given(matrices)
def test_pearson_against_scipy(data):
    human, metric = data
    expected = by_column(human, metric, stats.pearsonr)
    np.testing.assert_allclose(pearson(human, metric), expected, atol=1e-12)


@given(matrices)
def test_spearman_against_scipy(data):
    human, metric = data
    expected = by_column(human, metric, stats.spearmanr)
    np.testing.assert_allclose(spearman(human, metric), expected, atol=1e-12)


@given(matrices)
def test_kendall_against_scipy(data):
    human, metric = data
    counts = count_pairs(human, metric)
    expected = by_column(human, metric, stats.kendalltau)
    np.testing.assert_allclose(kendall_b(counts), expected, atol=1e-12)
    tau_c = kendall_c(counts, cells_of(human, metric), levels(human, metric))
    expected = by_column(human, metric, lambda h, m: stats.kendalltau(h, m, variant="c"))
    np.testing.assert_allclose(tau_c, expected, atol=1e-12)


def test_kendall_of_a_long_vector_against_scipy():
    rng = np.random.default_rng(0)
    human = rng.integers(0, 6, 2000).astype(float)
    metric = np.round(human + rng.normal(0, 3, 2000), 1)
    counts = count_columns(human[:, None], metric[:, None])
    assert kendall_b(counts)[0] == pytest.approx(stats.kendalltau(human, metric).statistic)
    tau_c = kendall_c(counts, np.array([2000]), levels(human[:, None], metric[:, None]))
    assert tau_c[0] == pytest.approx(stats.kendalltau(human, metric, variant="c").statistic)


@given(matrices)
def test_ranks_against_scipy(data):
    for column, found in zip(data[0].T, ranks(data[0]).T, strict=True):
        known = ~np.isnan(column)
        np.testing.assert_array_equal(found[known], stats.rankdata(column[known]))
        assert np.isnan(found[~known]).all()


@given(matrices)
def test_distinct_against_sets(data):
    expected = [len({x for x in column if not math.isnan(x)}) for column in data[0].T]
    assert distinct(data[0]).tolist() == expected


# ---------------------------------------------------------------- by hand


def test_pearson_by_hand():
    human = np.array([[0.0], [1], [2]])
    # Deviations -1 0 1 and -4/3 -1/3 5/3: 3 / sqrt(2 * 42/9).
    assert pearson(human, np.array([[1.0], [2], [4]]))[0] == pytest.approx(3 / math.sqrt(84 / 9))
    assert pearson(human, human).tolist() == [1]
    assert pearson(human, -3 * human + 5).tolist() == [-1]


def test_two_cells_are_plus_or_minus_one_or_undefined():
    human, metric = np.array([[1.0, 1, 1], [2, 2, 2]]), np.array([[0.1, 0.3, 0.2], [0.2, 0.1, 0.2]])
    counts = count_pairs(human, metric)
    for found in (pearson(human, metric), spearman(human, metric), kendall_b(counts)):
        np.testing.assert_allclose(found, [1, -1, NAN], atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e-300, 1e15 + 0.3])
def test_constant_columns_are_undefined(value):
    varied = np.arange(7.0)[:, None]
    constant = np.full((7, 1), value)  # its mean need not be itself: 7 x 0.1 / 7
    for human, metric in ((varied, constant), (constant, varied), (constant, constant)):
        counts = count_pairs(human, metric)
        assert np.isnan(pearson(human, metric)).all()
        assert np.isnan(spearman(human, metric)).all()
        assert np.isnan(kendall_b(counts)).all()
        assert np.isnan(kendall_c(counts, np.array([7]), levels(human, metric))).all()
        assert math.isnan(pdp(human, metric))


def test_missing_cells_leave_both_scores():
    human = np.array([[1.0, NAN, NAN], [2, 1, NAN], [4, 2, NAN], [3, 5, 1]])
    metric = np.array([[1.0, 1, 1], [NAN, 2, 2], [5, NAN, 3], [4, 3, 4]])
    np.testing.assert_allclose(
        pearson(human, metric),
        [pearson(*(np.array([x]).T for x in ([1.0, 4, 3], [1.0, 5, 4])))[0], 1, NAN],
    )
    # A cell that only the other score has must not shift ranks.
    np.testing.assert_allclose(spearman(human, metric), [1, 1, NAN], atol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e-20, 1e20, 1e200])
def test_the_size_of_scores_does_not_matter(size):
    rng = np.random.default_rng(1)
    human, metric = rng.normal(size=(2, 9, 3))
    np.testing.assert_allclose(pearson(human * size, metric / size), pearson(human, metric))
    assert pdp(human * size, metric / size) == pytest.approx(pdp(human, metric))


def test_nothing_at_all():
    for shape in ((0, 2), (1, 2)):
        empty = np.ones(shape)
        assert np.isnan(pearson(empty, empty)).tolist() == [True, True]
        assert np.isnan(spearman(empty, empty)).tolist() == [True, True]
        assert np.isnan(kendall_b(count_pairs(empty, empty))).tolist() == [True, True]
        assert math.isnan(pdp(empty, empty))
    assert pearson(np.empty((3, 0)), np.empty((3, 0))).shape == (0,)
    missing = np.full((3, 2), NAN)
    assert np.isnan(spearman(missing, missing)).all()
    assert math.isnan(pdp(missing, missing))


def test_ratio():
    np.testing.assert_array_equal(ratio([1.0, 0.0, 3.0], [2.0, 0.0, 0.0]), [0.5, NAN, NAN])
    assert ratio(1, 4) == 0.25


# ---------------------------------------------------------------- pairwise differences


def naive_pdp(human, metric):
    """Pearson's r of all differences within groups, in both orders, pooled."""
    h_gaps, m_gaps = [], []
    for h, m in (together(*pair) for pair in zip(human.T, metric.T, strict=True)):
        for i, j in combinations(range(len(h)), 2):
            h_gaps += [h[i] - h[j], h[j] - h[i]]
            m_gaps += [m[i] - m[j], m[j] - m[i]]
    if not (any(h_gaps) and any(m_gaps)):
        return NAN
    return stats.pearsonr(h_gaps, m_gaps).statistic


@given(matrices)
def test_pdp_against_explicit_differences(data):
    human, metric = data
    np.testing.assert_allclose(pdp(human, metric), naive_pdp(human, metric), atol=1e-12)


def test_pdp_by_hand():
    # Unequal groups: differences 1 (human) and 2, and 0 1 1 against 1 3 2; r = 7 / sqrt(3 * 18).
    human, metric = np.array([[0.0, 0], [1, 0], [NAN, 1]]), np.array([[0.0, 0], [2, 1], [9, 3]])
    assert pdp(human, metric) == pytest.approx(7 / math.sqrt(3 * 18))
    one_group = human[:, 1:], metric[:, 1:]
    assert pdp(*one_group) == pytest.approx(pearson(*one_group)[0])
    shift = np.array([100.0, -7.0])  # what is common to a group cancels
    assert pdp(human + shift, metric) == pytest.approx(pdp(human, metric))


# ---------------------------------------------------------------- published values

# mt-metrics-eval on three systems and five segments, by kind of grouping.
GOLD = np.array([[0.0, -1, NAN, -5, 0], [0.0, -5, -1, -5, -1], [-1.0, 0, -1, NAN, 0]])
METRIC = np.array(
    [[0.9, 0.5, 0.4, 0.1, 0.8], [0.8, 0.2, 0.4, 0.15, 0.6], [0.7, 0.6, 0.3, 0.2, 0.8]]
)
GROUPED = {
    "none": (GOLD.reshape(-1, 1), METRIC.reshape(-1, 1)),
    "sys": (GOLD.T, METRIC.T),
    "item": (GOLD, METRIC),
}
GOLDEN = {
    "none": {
        "pearson": 0.868125,
        "spearman": 0.899866,
        "tau-b": 0.815091,
        "tau-c": 0.923077,
        "like 0": 0.358974,
        "like 1": 0.927273,
        "tau-eq": 0.435897,
        "acc-eq": 0.717949,
        "acc-eq at 0.1": 0.807692,
        "calibrated acc-eq": 0.820513,
        "calibrated tau-eq": 0.641026,
        "pdp": 0.868125,
    },
    "sys": {
        "pearson": 0.801886,
        "spearman": 0.781527,
        "tau-b": 0.738515,
        "tau-c": 0.799167,
        "like 0": 0.454545,
        "like 1": 0.882353,
        "tau-eq": 0.422222,
        "acc-eq": 0.711111,
        "acc-eq at 0.1": 0.8,
        "calibrated acc-eq": 0.8,
        "calibrated tau-eq": 0.6,
        "pdp": 0.870639,
    },
    "item": {
        "pearson": 0.954884,
        "spearman": 0.955342,
        "tau-b": 0.938832,
        "tau-c": 0.925926,
        "like 0": 0.272727,
        "like 1": 1.0,
        "tau-eq": 0.066667,
        "acc-eq": 0.533333,
        "acc-eq at 0.1": 0.733333,
        "calibrated acc-eq": 0.933333,
        "calibrated tau-eq": 0.866667,
        "pdp": 0.918267,
    },
}


def pooled_value(worth, counts):
    top, pairs = (part.sum() for part in worth.parts(counts))
    return top / pairs


@pytest.mark.parametrize("grouping", GOLDEN)
def test_golden_table(grouping):
    human, metric = GROUPED[grouping]
    counts = count_pairs(human, metric)
    at_least_1 = count_pairs(human, metric, threshold=1)
    near = count_pairs(human, metric, epsilon=0.1)
    all_ties_wrong = TieMatrix(metric_tie=-1, human_tie=-1, both_tie=-1)
    found = {
        "pearson": np.nanmean(pearson(human, metric)),
        "spearman": np.nanmean(spearman(human, metric)),
        "tau-b": np.nanmean(kendall_b(counts)),
        "tau-c": np.nanmean(kendall_c(counts, cells_of(human, metric), levels(human, metric))),
        "like 0": pooled_value(all_ties_wrong, counts),
        "like 1": pooled_value(KENDALL["kendall-hard"], at_least_1),
        "tau-eq": np.nanmean(KENDALL["tau-eq"].value(counts)),
        "acc-eq": np.nanmean(KENDALL["acc-eq"].value(counts)),
        "acc-eq at 0.1": np.nanmean(KENDALL["acc-eq"].value(near)),
        "calibrated acc-eq": calibrate(human, metric).value,
        "calibrated tau-eq": calibrate(human, metric, KENDALL["tau-eq"]).value,
        "pdp": pdp(human, metric),
    }
    assert found == pytest.approx(GOLDEN[grouping], abs=5e-7)
    assert calibrate(human, metric).epsilon == pytest.approx(0.1)


def test_golden_groups_are_skipped_where_undefined():
    counts = count_pairs(*GROUPED["item"])
    assert np.isfinite(pearson(*GROUPED["item"])).sum() == 3
    assert np.isfinite(kendall_b(counts)).sum() == 3
    assert np.isfinite(KENDALL["tau-eq"].value(counts)).sum() == 5
