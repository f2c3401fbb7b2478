"""Kendall's family and tie calibration against loops over pairs and over thresholds."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steelyard.errors import UsageError
from steelyard.stats.pairs import PairCounts, count_pairs
from steelyard.stats.ties import KENDALL, TieMatrix, calibrate, matrix

NAN = float("nan")
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
CALIBRATED = ("acc-eq", "tau-eq", "kendall-human-ties", "kendall-human-ties-error")


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


def naive_mean(table, human, metric, epsilon=0.0):
    """Average over groups, exactly; groups without a pair take no part."""
    groups = [naive_worths(table, h, m, epsilon) for h, m in zip(human.T, metric.T, strict=True)]
    values = [Fraction(sum(group), len(group)) for group in groups if group]
    return sum(values) / len(values)


def counts(concordant=0, discordant=0, human_ties=0, metric_ties=0, both_ties=0):
    numbers = (concordant, discordant, human_ties, metric_ties, both_ties)
    return PairCounts(*(np.array([number]) for number in numbers))


human_cells = st.sampled_from([0.0, -1.0, -5.0, -5.1, NAN])
metric_cells = st.one_of(
    st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.7, NAN]), st.floats(-1, 1, allow_subnormal=False)
)
shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5)
matrices = shapes.flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.float64, shape, elements=human_cells),
        hnp.arrays(np.float64, shape, elements=metric_cells),
    )
)


# ---------------------------------------------------------------- matrices


def test_every_variant_has_a_table():
    assert set(KENDALL) == set(TABLES)


@pytest.mark.parametrize("name", KENDALL)
@given(data=matrices, epsilon=st.sampled_from([0.0, 0.1, 0.5]))
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
    assert none.value(counts(concordant=1, metric_ties=99)).tolist() == [1.0]
    assert none.value(counts(concordant=70, discordant=30)).tolist() == [0.4]
    assert soft.value(counts(concordant=80, metric_ties=20)).tolist() == [0.8]
    assert soft.value(counts(concordant=20, metric_ties=80)).tolist() == [0.2]


def test_formulas_in_counts():
    # C = 5, D = 2, tied by people 3, by the metric 4, by both 6: P = 20.
    all_kinds = counts(5, 2, 3, 4, 6)
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
    assert np.isnan(KENDALL["acc-eq"].value(counts())).all()
    # Only pairs that people tie: most variants leave them out.
    tied = counts(human_ties=3, both_ties=2)
    assert np.isnan(KENDALL["kendall-hard"].value(tied)).all()
    assert KENDALL["acc-eq"].value(tied).tolist() == [0.4]
    nobody = TieMatrix(same=None, opposite=None)
    assert np.isnan(nobody.value(counts(concordant=3))).all()


def test_unknown_variant():
    with pytest.raises(UsageError, match=r"no Kendall variant 'acc_eq'; did you mean 'acc-eq'\?"):
        matrix("acc_eq")


# ---------------------------------------------------------------- calibration


@pytest.mark.parametrize("name", CALIBRATED)
@given(data=matrices)
@settings(max_examples=40)
def test_calibration_against_every_threshold(name, data):
    human, metric = data
    known = ~(np.isnan(human) | np.isnan(metric))
    assume((known.sum(axis=0) > 1).any())
    gaps = {
        abs(a - b)
        for h, m in zip(human.T, metric.T, strict=True)
        for (x, a), (y, b) in combinations(zip(h, m, strict=True), 2)
        if not math.isnan(x + y + a + b)
    }
    curve = {gap: naive_mean(TABLES[name], human, metric, gap) for gap in {0.0, *gaps}}
    found = calibrate(human, metric, KENDALL[name])
    assert found.value == pytest.approx(float(max(curve.values())), abs=1e-12)
    assert curve[found.epsilon] == max(curve.values())  # an exact candidate, not one nearby
    assert found.n_groups == (known.sum(axis=0) > 1).sum()
    # The whole curve: ascending from 0, every value the one at its epsilon.
    assert found.epsilons[0] == 0
    assert (np.diff(found.epsilons) > 0).all()
    for epsilon, value in zip(found.epsilons, found.values, strict=True):
        assert value == pytest.approx(float(curve[epsilon]), abs=1e-12)
    # What the curve leaves out changes nothing: such a gap has the value of the one before.
    for gap, value in curve.items():
        before = found.values[np.searchsorted(found.epsilons, gap, side="right") - 1]
        assert before == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("name", CALIBRATED)
def test_the_curve_is_the_value_of_the_counts(name, missing):
    rng = np.random.default_rng(1)
    human = -rng.integers(0, 4, (6, 40)).astype(float)
    metric = human / 5 + rng.normal(0, 0.5, (6, 40))
    metric[rng.random(metric.shape) < missing] = NAN
    found = calibrate(human, metric, KENDALL[name])
    assert len(found.epsilons) > 100
    for k in range(0, len(found.epsilons), 7):
        at = count_pairs(human, metric, epsilon=found.epsilons[k])
        assert found.values[k] == pytest.approx(np.nanmean(KENDALL[name].value(at)), abs=1e-12)
    assert found.value == found.values.max()
    best = count_pairs(human, metric, epsilon=found.epsilon)
    assert found.value == pytest.approx(np.nanmean(KENDALL[name].value(best)), abs=1e-12)


def test_calibration_by_hand():
    # Ties of the metric win one pair (a, b), then lose two at 0.7.
    human, metric = np.array([[0.0], [0.0], [1.0]]), np.array([[0.125], [0.25], [0.875]])
    found = calibrate(human, metric)
    assert (found.value, found.epsilon, found.n_groups) == (1.0, 0.125, 1)
    assert found.epsilons.tolist() == [0, 0.125, 0.625, 0.75]
    np.testing.assert_allclose(found.values, [2 / 3, 1, 2 / 3, 1 / 3])


def test_groups_count_alike_whatever_their_size():
    # Three concordant pairs in the first group, one human tie in the second: tying it at 0.5
    # costs two of three there and gains one of one here.
    human = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, NAN]])
    metric = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 7.0]])
    found = calibrate(human, metric)
    assert found.epsilon == 0.5
    assert found.value == pytest.approx((1 / 3 + 1) / 2, abs=1e-12)


def test_equal_floats_only_are_one_candidate():
    # 0.9 - 0.8, 0.4 - 0.3 and 0.6 - 0.5 are three different floats near 0.1.
    human = np.zeros((2, 3))
    metric = np.array([[0.9, 0.4, 0.6], [0.8, 0.3, 0.5]])
    found = calibrate(human, metric)
    assert found.epsilons.tolist() == [0.0, *sorted({0.9 - 0.8, 0.4 - 0.3, 0.6 - 0.5})]
    assert found.epsilon == max(0.9 - 0.8, 0.4 - 0.3, 0.6 - 0.5)
    assert found.value == 1


@pytest.mark.parametrize("name", CALIBRATED)
def test_a_constant_metric_has_nothing_to_calibrate(name):
    human = np.array([[0.0, 1], [0, 2], [1, 3]])
    found = calibrate(human, np.full((3, 2), 0.7), KENDALL[name])
    assert found.epsilon == 0
    assert found.epsilons.tolist() == [0]
    assert found.value == pytest.approx(float(naive_mean(TABLES[name], human, np.zeros((3, 2)))))


def test_a_perfect_metric_needs_no_threshold():
    human = np.array([[0.0, 3], [1, 2], [2, 1]])
    found = calibrate(human, human)
    assert (found.value, found.epsilon) == (1, 0)


@pytest.mark.parametrize(
    "scores",
    [
        (np.full((3, 2), NAN), np.ones((3, 2))),
        (np.ones((1, 4)), np.ones((1, 4))),  # one system: no pair
        (np.array([[1.0, NAN], [NAN, 1.0]]), np.ones((2, 2))),
        (np.empty((3, 0)), np.empty((3, 0))),
    ],
)
def test_without_pairs_there_is_no_threshold(scores):
    found = calibrate(*scores)
    assert math.isnan(found.value)
    assert math.isnan(found.epsilon)
    assert found.n_groups == 0
    assert found.epsilons.size == found.values.size == 0


def test_groups_without_pairs_take_no_part():
    human = np.array([[0.0, 0.0, NAN], [0.0, NAN, NAN], [1.0, NAN, NAN]])
    metric = np.array([[0.125, 1.0, 1.0], [0.25, 1.0, 1.0], [0.875, 1.0, 1.0]])
    found = calibrate(human, metric)
    alone = calibrate(human[:, :1], metric[:, :1])
    assert (found.value, found.epsilon, found.n_groups) == (alone.value, alone.epsilon, 1)


# The toy of the notes on mt-metrics-eval; test_correlation.py has the whole table.
GOLD = np.array([[0.0, -1, NAN, -5, 0], [0.0, -5, -1, -5, -1], [-1.0, 0, -1, NAN, 0]])
METRIC = np.array(
    [[0.9, 0.5, 0.4, 0.1, 0.8], [0.8, 0.2, 0.4, 0.15, 0.6], [0.7, 0.6, 0.3, 0.2, 0.8]]
)


@pytest.mark.parametrize(
    ("human", "metric", "accuracy", "tau"),
    [
        (GOLD.reshape(-1, 1), METRIC.reshape(-1, 1), 0.820513, 0.641026),
        (GOLD.T, METRIC.T, 0.8, 0.6),
        (GOLD, METRIC, 0.933333, 0.866667),
    ],
)
def test_golden_calibrations(human, metric, accuracy, tau):
    best = calibrate(human, metric)
    assert best.value == pytest.approx(accuracy, abs=5e-7)
    assert best.epsilon == pytest.approx(0.1, abs=1e-12)
    best = calibrate(human, metric, KENDALL["tau-eq"])
    assert best.value == pytest.approx(tau, abs=5e-7)


def test_calibration_needs_every_pair():
    with pytest.raises(UsageError, match="every pair takes part"):
        calibrate(np.ones((2, 2)), np.ones((2, 2)), KENDALL["kendall-soft"])
