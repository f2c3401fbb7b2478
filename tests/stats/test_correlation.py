"""Correlations against scipy column by column, explicit differences, and published values."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.stats.naive import GOLD_5, METRIC_5, NAN, known, matrices

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
from steelyard.stats.kendall.counting import KENDALL, TieMatrix, count_pairs

CELLS = st.one_of(st.sampled_from([0.0, 1.0, 2.0, NAN]), st.integers(-40, 40).map(lambda k: k / 8))
MATRICES = matrices(CELLS)


def by_column(human, metric, statistic):
    """Apply scipy to each column, NaN where one has fewer than two cells or nothing varies."""
    values = []
    for h, m in (known(*pair) for pair in zip(human.T, metric.T, strict=True)):
        varies = len(set(h)) > 1 and len(set(m)) > 1
        values.append(statistic(h, m).statistic if varies else NAN)
    return values


def levels(human, metric):
    known = ~(np.isnan(human) | np.isnan(metric))
    return np.minimum(*(distinct(np.where(known, x, NAN)) for x in (human, metric)))


def cells_of(human, metric):
    return (~(np.isnan(human) | np.isnan(metric))).sum(axis=0)


# ---------------------------------------------------------------- against scipy


@given(MATRICES)
def test_pearson_spearman_and_ranks_against_scipy(data):
    human, metric = data
    for statistic, twin in ((pearson, stats.pearsonr), (spearman, stats.spearmanr)):
        np.testing.assert_allclose(statistic(*data), by_column(human, metric, twin), atol=1e-12)
    for column, ranked in zip(human.T, ranks(human).T, strict=True):
        present = ~np.isnan(column)
        np.testing.assert_array_equal(ranked[present], stats.rankdata(column[present]))
        assert np.isnan(ranked[~present]).all()
    assert distinct(human).tolist() == [len({x for x in c if not math.isnan(x)}) for c in human.T]


@given(MATRICES)
def test_kendall_against_scipy(data):
    human, metric = data
    counts = count_pairs(human, metric)
    expected = by_column(human, metric, stats.kendalltau)
    np.testing.assert_allclose(kendall_b(counts), expected, atol=1e-12)
    tau_c = kendall_c(counts, cells_of(human, metric), levels(human, metric))
    expected = by_column(human, metric, lambda h, m: stats.kendalltau(h, m, variant="c"))
    np.testing.assert_allclose(tau_c, expected, atol=1e-12)


# ---------------------------------------------------------------- by hand


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


# ---------------------------------------------------------------- pairwise differences


def naive_pdp(human, metric):
    """Pearson's r of all differences within groups, in both orders, pooled."""
    h_gaps, m_gaps = [], []
    for h, m in (known(*pair) for pair in zip(human.T, metric.T, strict=True)):
        for i, j in combinations(range(len(h)), 2):
            h_gaps += [h[i] - h[j], h[j] - h[i]]
            m_gaps += [m[i] - m[j], m[j] - m[i]]
    if not (any(h_gaps) and any(m_gaps)):
        return NAN
    return stats.pearsonr(h_gaps, m_gaps).statistic


@given(MATRICES)
def test_pdp_against_explicit_differences(data):
    human, metric = data
    np.testing.assert_allclose(pdp(human, metric), naive_pdp(human, metric), atol=1e-12)


# ---------------------------------------------------------------- published values

# mt-metrics-eval on three systems and five segments, by kind of grouping.
GROUPED = {
    "none": (GOLD_5.reshape(-1, 1), METRIC_5.reshape(-1, 1)),
    "sys": (GOLD_5.T, METRIC_5.T),
    "item": (GOLD_5, METRIC_5),
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
    result = {
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
    assert result == pytest.approx(GOLDEN[grouping], abs=5e-7)
    for name in ("acc-eq", "tau-eq"):
        assert calibrate(human, metric, KENDALL[name]).epsilon == pytest.approx(0.1)
