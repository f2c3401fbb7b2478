"""Tie calibration against a loop over pairs and over thresholds, pairs held or not."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steelyard
from steelyard.core.errors import UsageError
from steelyard.stats.kendall import calibration
from steelyard.stats.kendall.calibration import Calibration, calibrate
from steelyard.stats.kendall.counting import KENDALL, TieMatrix, count_columns, count_pairs

NAN = float("nan")
MATRICES = {
    **{name: KENDALL[name] for name in ("acc-eq", "tau-eq")},
    **{name: KENDALL[name] for name in ("kendall-human-ties", "kendall-human-ties-error")},
    # Every kind of pair changes by another amount, up or down.
    "odd": TieMatrix(same=3, opposite=-2, metric_tie=1, human_tie=-1, both_tie=1.5),
    "indifferent": TieMatrix(same=1, opposite=1, metric_tie=1, human_tie=1, both_tie=1),
}
EVERY_MATRIX = pytest.mark.parametrize("worth", MATRICES.values(), ids=MATRICES)


def naive_worths(worth, human, metric, epsilon):
    """List what the pairs of one group are worth."""
    worths = []
    for (h_i, m_i), (h_j, m_j) in combinations(zip(human, metric, strict=True), 2):
        h, m = h_i - h_j, m_i - m_j
        if math.isnan(h) or math.isnan(m):
            continue
        if abs(m) <= epsilon:
            worths.append(worth.both_tie if h == 0 else worth.metric_tie)
        elif h == 0:
            worths.append(worth.human_tie)
        else:
            worths.append(worth.same if (h > 0) == (m > 0) else worth.opposite)
    return worths


def naive_mean(worth, human, metric, epsilon):
    """Average over groups, exactly; groups without a pair take no part."""
    groups = [naive_worths(worth, h, m, epsilon) for h, m in zip(human.T, metric.T, strict=True)]
    means = [sum(map(Fraction, group)) / len(group) for group in groups if group]
    return sum(means) / len(means)


def naive_curve(worth, human, metric):
    """The mean at 0 and at every difference."""
    gaps = {
        abs(a - b)
        for h, m in zip(human.T, metric.T, strict=True)
        for (x, a), (y, b) in combinations(zip(h, m, strict=True), 2)
        if not math.isnan(x + y + a + b)
    }
    return {gap: naive_mean(worth, human, metric, gap) for gap in sorted({0.0, *gaps})}


def without_all_pairs(human, metric, worth=KENDALL["acc-eq"], **constants) -> Calibration:
    """Calibrate as if there were too many pairs, in blocks and portions of any size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "_AT_ONCE", 0)
        for name, value in constants.items():
            patch.setattr(calibration, f"_{name.upper()}", value)
        return calibrate(human, metric, worth)


human_cells = st.sampled_from([0.0, -1.0, -5.0, -5.1, NAN])
metric_cells = st.one_of(
    st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.3, 0.4, 0.7, NAN]), st.floats(-1, 1), st.integers(0, 3)
)


def matrices(max_side):
    return hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=max_side).flatmap(
        lambda shape: st.tuples(
            hnp.arrays(np.float64, shape, elements=human_cells),
            hnp.arrays(np.float64, shape, elements=metric_cells),
        )
    )


def has_pairs(human, metric):
    return (~(np.isnan(human) | np.isnan(metric))).sum(axis=0) > 1


# ---------------------------------------------------------------- with all pairs


@EVERY_MATRIX
@given(data=matrices(5))
@settings(max_examples=40)
def test_calibration_against_every_threshold(worth, data):
    human, metric = data
    assume(has_pairs(human, metric).any())
    curve = naive_curve(worth, human, metric)
    found = calibrate(human, metric, worth)
    assert found.value == pytest.approx(float(max(curve.values())), abs=1e-12)
    assert curve[found.epsilon] == max(curve.values())  # an exact candidate, not one nearby
    assert found.n_groups == has_pairs(human, metric).sum()
    # The whole curve: ascending from 0, every value the one at its epsilon.
    assert found.epsilons[0] == 0
    assert (np.diff(found.epsilons) > 0).all()
    for epsilon, value in zip(found.epsilons, found.values, strict=True):
        assert value == pytest.approx(float(curve[epsilon]), abs=1e-12)
    # What the curve leaves out changes nothing: such a gap has the value of the one before.
    for gap, value in curve.items():
        before = found.values[np.searchsorted(found.epsilons, gap, side="right") - 1]
        assert before == pytest.approx(float(value), abs=1e-12)


def running_float_sum(worth, human, metric):
    """Means after each pair in order of gap became a tie: adding and taking away group means."""
    alone = [naive_worths(worth, h, m, 0.0) for h, m in zip(human.T, metric.T, strict=True)]
    sizes, sums = [len(group) for group in alone], [float(sum(group)) for group in alone]
    total = 0.0
    for size, own in zip(sizes, sums, strict=True):
        total += own / size
    means = [(0.0, total / len(sizes))]
    moves = []
    for g, (h, m) in enumerate(zip(human.T, metric.T, strict=True)):
        for i, j in combinations(range(len(h)), 2):
            if not math.isnan(h[i] + h[j] + m[i] + m[j]):
                (before,) = naive_worths(worth, h[[i, j]], m[[i, j]], 0.0)
                (after,) = naive_worths(worth, h[[i, j]], m[[i, j]], math.inf)
                moves.append((abs(m[i] - m[j]), g, after - before))
    for gap, g, change in sorted(moves, key=lambda move: move[0]):
        total -= sums[g] / sizes[g]
        sums[g] += change
        total += sums[g] / sizes[g]
        means.append((gap, total / len(sizes)))
    return dict(means)  # the last mean of each gap


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("name", ["acc-eq", "tau-eq"])
def test_equally_good_thresholds_as_summed(name, missing):
    several = 0
    for seed in (*range(40), 104, 588, 1141):  # the last three: the sum of changes rounds otherwise
        rng = np.random.default_rng(seed)
        human = rng.integers(0, 3, (5, 12)).astype(float)
        metric = rng.integers(0, 10, (5, 12)) / 10 + human * 0.3
        metric[rng.random(metric.shape) < missing] = NAN
        human, metric = human[:, has_pairs(human, metric)], metric[:, has_pairs(human, metric)]
        found = calibrate(human, metric, KENDALL[name])
        curve = naive_curve(KENDALL[name], human, metric)
        best = [e for e in found.epsilons.tolist() if curve[e] == max(curve.values())]
        summed = running_float_sum(KENDALL[name], human, metric)
        assert found.epsilon == best[np.argmax([summed[epsilon] for epsilon in best])]
        several += len(best) > 1
    assert several > 3


@pytest.mark.parametrize("missing", [0.0, 0.3])
@EVERY_MATRIX
def test_the_curve_is_the_value_of_the_counts(worth, missing):
    rng = np.random.default_rng(1)
    human = -rng.integers(0, 4, (6, 40)).astype(float)
    metric = human / 5 + rng.normal(0, 0.5, (6, 40))
    metric[rng.random(metric.shape) < missing] = NAN
    found = calibrate(human, metric, worth)
    assert len(found.epsilons) > 100 or worth == MATRICES["indifferent"]
    for k in range(0, len(found.epsilons), 7):
        at = count_pairs(human, metric, epsilon=found.epsilons[k])
        assert found.values[k] == pytest.approx(np.nanmean(worth.value(at)), abs=1e-12)
    assert found.value == found.values.max()
    best = count_pairs(human, metric, epsilon=found.epsilon)
    assert found.value == pytest.approx(np.nanmean(worth.value(best)), abs=1e-12)


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


@EVERY_MATRIX
def test_a_constant_metric_has_nothing_to_calibrate(worth):
    human = np.array([[0.0, 1], [0, 2], [1, 3]])
    found = calibrate(human, np.full((3, 2), 0.7), worth)
    assert found.epsilon == 0
    assert found.epsilons.tolist() == [0]
    assert found.value == pytest.approx(float(naive_mean(worth, human, np.zeros((3, 2)), 0.0)))


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


# ---------------------------------------------------------------- without holding all pairs


SIZES = st.fixed_dictionaries(
    {},
    optional={
        "block": st.integers(1, 9),
        "portion": st.integers(1, 9),
        "full": st.integers(0, 5),
        "bits": st.integers(1, 4),
    },
)


@EVERY_MATRIX
@given(data=matrices(7), sizes=SIZES)
@settings(max_examples=60)
def test_many_pairs_against_every_threshold(worth, data, sizes):
    human, metric = data
    assume(has_pairs(human, metric).any())
    curve = naive_curve(worth, human, metric)
    found = without_all_pairs(human, metric, worth, **sizes)
    best = max(curve.values())
    # The smallest of the best thresholds, by exact fractions.
    assert found.epsilon == min(gap for gap, value in curve.items() if value == best)
    assert found.value == pytest.approx(float(best), abs=1e-12)
    assert found.n_groups == has_pairs(human, metric).sum()
    # The curve has fewer points, and each is right.
    assert found.epsilons[0] == 0
    assert (np.diff(found.epsilons) > 0).all()
    assert found.epsilon in found.epsilons
    assert found.epsilons[-1] <= max(curve)
    for epsilon, value in zip(found.epsilons, found.values, strict=True):
        expected = naive_mean(worth, human, metric, epsilon)
        assert value == pytest.approx(float(expected), abs=1e-12)


SCORES = {
    "continuous": lambda rng, shape: rng.normal(size=shape),
    "whole numbers": lambda rng, shape: rng.integers(0, 30, shape).astype(float),
    "tenths": lambda rng, shape: rng.integers(0, 40, shape) / 10,
    "float32": lambda rng, shape: rng.random(shape, dtype=np.float32).astype(float),
    "two clusters": lambda rng, shape: rng.integers(0, 2, shape) + 1e-12 * rng.normal(size=shape),
    "heavy tails": lambda rng, shape: np.exp(20 * rng.normal(size=shape)),
    "large offset": lambda rng, shape: 1e9 + rng.normal(size=shape),
    "subnormal": lambda rng, shape: 5e-324 * rng.integers(0, 50, shape),
}


@pytest.mark.parametrize("sizes", [{}, {"portion": 2000, "full": 300, "block": 1000, "bits": 6}])
@pytest.mark.parametrize("informed", [True, False])
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_many_pairs_against_all_pairs(scores, informed, sizes):
    rng = np.random.default_rng(3)
    for shape in ((400, 1), (120, 5)):
        metric = scores(rng, shape)
        quality = np.argsort(np.argsort(metric, axis=0), axis=0) / len(metric) * informed
        human = -np.rint(np.maximum(0, rng.normal(1, 1, shape) - 3 * quality))
        for name in ("acc-eq", "tau-eq"):
            # Groups of one size: sums are whole numbers, and values compare exactly.
            expected = calibrate(human, metric, KENDALL[name])
            found = without_all_pairs(human, metric, KENDALL[name], **sizes)
            assert found.value == expected.value
            assert found.epsilon == expected.epsilons[np.argmax(expected.values)]


@pytest.mark.parametrize("sizes", [{}, {"portion": 900, "full": 90, "block": 100, "bits": 5}])
def test_many_pairs_of_groups_of_many_sizes(sizes):
    rng = np.random.default_rng(4)
    metric = rng.normal(size=(80, 30))
    human = np.rint(metric + rng.normal(size=metric.shape))
    metric[rng.random(metric.shape) < rng.random(30)] = NAN
    for worth in MATRICES.values():
        expected = calibrate(human, metric, worth)
        found = without_all_pairs(human, metric, worth, **sizes)
        assert found.value == pytest.approx(expected.value, abs=1e-12)
        assert found.epsilon == expected.epsilon
        assert found.n_groups == expected.n_groups


def test_many_pairs_by_hand():
    single = without_all_pairs(np.array([[1.0], [1.0]]), np.array([[0.25], [1.0]]))
    assert (single.value, single.epsilon) == (1, 0.75)
    assert single.epsilons.tolist() == [0, 0.75]
    assert single.values.tolist() == [0, 1]
    human = np.array([[0.0, 1], [0, 2], [1, 3]])
    constant = without_all_pairs(human, np.full((3, 2), 0.7))
    assert constant.epsilon == 0
    assert constant.value == pytest.approx(1 / 6)
    assert constant.epsilons.tolist() == [0]
    tied = without_all_pairs(np.ones((4, 1)), np.array([[1.0], [2], [4], [8]]))
    assert (tied.value, tied.epsilon) == (1, 7)
    perfect = without_all_pairs(human[:, 1:], human[:, 1:])
    assert (perfect.value, perfect.epsilon) == (1, 0)
    nothing = without_all_pairs(np.full((3, 2), NAN), np.ones((3, 2)))
    assert math.isnan(nothing.value)


def test_two_million_pairs_are_held_and_more_are_not():
    # 2049 cells have just over 2**21 pairs. Of the equally good thresholds, the running float sum
    # takes one, the search the smallest: the two differ in nothing else.
    rng = np.random.default_rng(5)
    metric = rng.normal(size=(2049, 1))
    human = np.rint(metric + rng.normal(size=metric.shape))
    held, searched = calibrate(human[:-1], metric[:-1]), calibrate(human, metric)
    assert len(held.epsilons) > 1_000_000 > len(searched.epsilons)
    expected = calibration._all_pairs(
        human,
        metric,
        np.array([2049 * 1024]),
        np.array([0.0, 0, 1]),
        np.array([0.0, 1, 0]),
        curve=True,
    )
    assert searched.value == expected.value
    assert searched.epsilon == expected.epsilons[np.argmax(expected.values)]


# ---------------------------------------------------------------- real data


@pytest.fixture(scope="module")
def zh_en(shared):
    """WMT23 zh-en without its references."""
    folder = shared / "wmt23-metrics"
    parts = ("human.csv.gz", "metrics.seg.csv.gz")
    scores = steelyard.load(*(folder / f"zh-en.{part}" for part in parts), human="mqm")
    scores = scores.drop(systems=["refA", "synthetic_ref"])
    metrics = {
        name: scores[name].values for name in scores.scores if name.endswith(("refA", "src"))
    }
    assert len(metrics) == 43
    return scores["mqm"].values, metrics


@pytest.mark.parametrize("name", ["acc-eq", "tau-eq"])
@pytest.mark.thorough
def test_a_sample_of_real_cells(zh_en, name):
    human, metrics = zh_en
    cells = np.flatnonzero(~np.isnan(human.ravel()))
    cells = np.random.default_rng(6).choice(cells, 1000, replace=False)
    for metric in metrics.values():
        h, m = human.ravel()[cells, None], metric.ravel()[cells, None]
        expected = calibrate(h, m, KENDALL[name])
        found = without_all_pairs(h, m, KENDALL[name], portion=20_000, full=2_000)
        assert found.value == expected.value
        assert found.epsilon == expected.epsilons[np.argmax(expected.values)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "group_by"),
    [
        ("BERTscore-refA", "none"),
        ("GEMBA-MQM-src", "none"),
        ("MetricX-23-QE-c-src", "system"),
        pytest.param("BERTscore-refA", "system", marks=pytest.mark.thorough),
        pytest.param("GEMBA-MQM-src", "system", marks=pytest.mark.thorough),
        pytest.param("MetricX-23-QE-c-src", "none", marks=pytest.mark.thorough),
    ],
)
def test_156_million_real_pairs_in_little_memory(zh_en, metric, group_by):
    human, metrics = zh_en
    groups = [(x.reshape(-1, 1) if group_by == "none" else x.T) for x in (human, metrics[metric])]
    tracemalloc.start()
    found = calibrate(*groups)
    counts = count_columns(*groups, epsilon=found.epsilon)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    assert KENDALL["acc-eq"].value(counts).mean() == pytest.approx(found.value, abs=1e-15)
    assert found.value == found.values.max()
