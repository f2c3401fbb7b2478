"""Tie calibration against a loop over pairs and over thresholds, pairs held or not."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.stats.naive import NAN, matrices, pair_kinds

import steelyard
from steelyard.core.errors import UsageError
from steelyard.stats.kendall.calibration import calibrate
from steelyard.stats.kendall.counting import KENDALL, TieMatrix, count_columns, count_pairs

MATRICES = {
    "acc-eq": KENDALL["acc-eq"],
    "tau-eq": KENDALL["tau-eq"],
    # Every kind of pair changes by another amount, up or down.
    "odd": TieMatrix(same=3, opposite=-2, metric_tie=1, human_tie=-1, both_tie=1.5),
    "indifferent": TieMatrix(same=1, opposite=1, metric_tie=1, human_tie=1, both_tie=1),
}
EVERY_MATRIX = pytest.mark.parametrize("worth", MATRICES.values(), ids=MATRICES)


def worths_of(worth, human, metric, epsilon):
    """List what the pairs of one group are worth."""
    of_kind = (worth.same, worth.opposite, worth.human_tie, worth.metric_tie, worth.both_tie)
    return [of_kind[kind] for kind in pair_kinds(human, metric, epsilon)]


def mean_at(worth, human, metric, epsilon):
    """Average over groups, exactly; groups without a pair are excluded."""
    groups = [worths_of(worth, h, m, epsilon) for h, m in zip(human.T, metric.T, strict=True)]
    means = [sum(map(Fraction, group)) / len(group) for group in groups if group]
    return sum(means) / len(means)


def curve_of(worth, human, metric):
    """The mean at 0 and at every difference."""
    gaps = {
        abs(a - b)
        for h, m in zip(human.T, metric.T, strict=True)
        for (x, a), (y, b) in combinations(zip(h, m, strict=True), 2)
        if not math.isnan(x + y + a + b)
    }
    return {gap: mean_at(worth, human, metric, gap) for gap in sorted({0.0, *gaps})}


def has_pairs(human, metric):
    return (~(np.isnan(human) | np.isnan(metric))).sum(axis=0) > 1


CELLS = st.one_of(
    st.sampled_from([0.0, -0.0, -5.0, -5.1, 0.1, 0.2, 0.3, 0.4, 0.7, NAN]),
    st.floats(-1, 1),
    st.integers(0, 3),
)


# ---------------------------------------------------------------- with all pairs


@EVERY_MATRIX
@given(data=matrices(CELLS, least=1, most=5))
def test_calibration_against_every_threshold(worth, data):
    human, metric = data
    assume(has_pairs(human, metric).any())
    curve = curve_of(worth, human, metric)
    best = calibrate(human, metric, worth)
    assert best.value == pytest.approx(float(max(curve.values())), abs=1e-12)
    assert curve[best.epsilon] == max(curve.values())  # an exact candidate, not one nearby
    assert best.n_groups == has_pairs(human, metric).sum()
    # The whole curve: ascending from 0; what it leaves out has the value of the one before.
    assert best.epsilons[0] == 0
    assert (np.diff(best.epsilons) > 0).all()
    assert set(best.epsilons) <= set(curve)
    for gap, value in curve.items():
        before = best.values[np.searchsorted(best.epsilons, gap, side="right") - 1]
        assert before == pytest.approx(float(value), abs=1e-12)


def running_float_sum(worth, human, metric):
    """Means after each pair in order of gap became a tie: adding and taking away group means."""
    alone = [worths_of(worth, h, m, 0.0) for h, m in zip(human.T, metric.T, strict=True)]
    sizes, sums = [len(group) for group in alone], [float(sum(group)) for group in alone]
    total = 0.0
    for size, group_sum in zip(sizes, sums, strict=True):
        total += group_sum / size
    means = [(0.0, total / len(sizes))]
    moves = []
    for g, (h, m) in enumerate(zip(human.T, metric.T, strict=True)):
        for i, j in combinations(range(len(h)), 2):
            if not math.isnan(h[i] + h[j] + m[i] + m[j]):
                (before,) = worths_of(worth, h[[i, j]], m[[i, j]], 0.0)
                (after,) = worths_of(worth, h[[i, j]], m[[i, j]], math.inf)
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
    for seed in (*range(15), 104, 588, 1141):  # the last three: the sum of changes rounds otherwise
        rng = np.random.default_rng(seed)
        human = rng.integers(0, 3, (5, 12)).astype(float)
        metric = rng.integers(0, 10, (5, 12)) / 10 + human * 0.3
        metric[rng.random(metric.shape) < missing] = NAN
        human, metric = human[:, has_pairs(human, metric)], metric[:, has_pairs(human, metric)]
        calibrated = calibrate(human, metric, KENDALL[name])
        curve = curve_of(KENDALL[name], human, metric)
        best = [e for e in calibrated.epsilons.tolist() if curve[e] == max(curve.values())]
        summed = running_float_sum(KENDALL[name], human, metric)
        assert calibrated.epsilon == best[np.argmax([summed[epsilon] for epsilon in best])]
        several += len(best) > 1
    assert several > 1


def test_groups_count_alike_whatever_their_size():
    # Three concordant pairs in the first group, one human tie in the second: tying it at 0.5
    # costs two of three there and gains one of one here.
    human = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, NAN]])
    metric = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 7.0]])
    best = calibrate(human, metric)
    assert best.epsilon == 0.5
    assert best.value == pytest.approx((1 / 3 + 1) / 2, abs=1e-12)


def test_equal_floats_only_are_one_candidate():
    # 0.9 - 0.8, 0.4 - 0.3 and 0.6 - 0.5 are three different floats near 0.1.
    metric = np.array([[0.9, 0.4, 0.6], [0.8, 0.3, 0.5]])
    best = calibrate(np.zeros((2, 3)), metric)
    assert best.epsilons.tolist() == [0.0, *sorted({0.9 - 0.8, 0.4 - 0.3, 0.6 - 0.5})]
    assert (best.epsilon, best.value) == (max(0.9 - 0.8, 0.4 - 0.3, 0.6 - 0.5), 1)


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
    best = calibrate(*scores)
    assert np.isnan([best.value, best.epsilon]).all()
    assert best.n_groups == best.epsilons.size == best.values.size == 0


def test_calibration_needs_every_pair():
    with pytest.raises(UsageError, match="every pair takes part"):
        calibrate(np.ones((2, 2)), np.ones((2, 2)), KENDALL["kendall-soft"])


# ---------------------------------------------------------------- without the curve


SCORES = {
    "continuous": lambda rng, shape: rng.normal(size=shape),
    "whole numbers": lambda rng, shape: rng.integers(0, 30, shape).astype(float),
    "tenths": lambda rng, shape: rng.integers(0, 40, shape) / 10,
    "two clusters": lambda rng, shape: rng.integers(0, 2, shape) + 1e-12 * rng.normal(size=shape),
    "heavy tails": lambda rng, shape: np.exp(20 * rng.normal(size=shape)),
    "large offset": lambda rng, shape: 1e9 + rng.normal(size=shape),
    "subnormal": lambda rng, shape: 5e-324 * rng.integers(0, 50, shape),
}


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_the_curve_makes_no_difference_and_is_the_value_of_the_counts(scores, missing):
    rng = np.random.default_rng(3)
    for shape in ((200, 1), (60, 5), (5, 60)):
        metric = scores(rng, shape)
        human = -np.rint(np.maximum(0, rng.normal(1, 1, shape)))
        metric[rng.random(shape) < missing] = NAN
        for worth in MATRICES.values():
            whole = calibrate(human, metric, worth)
            quick = calibrate(human, metric, worth, curve=False)
            assert quick.epsilon == whole.epsilon
            assert quick.value == pytest.approx(whole.value, abs=1e-12)
            curve = dict(zip(whole.epsilons.tolist(), whole.values.tolist(), strict=True))
            points = dict(zip(quick.epsilons.tolist(), quick.values.tolist(), strict=True))
            assert points == pytest.approx({e: curve[e] for e in points}, abs=1e-12)
            for epsilon in [*whole.epsilons[:: len(whole.epsilons) // 4 + 1], whole.epsilon]:
                at = count_pairs(human, metric, epsilon=epsilon)
                assert curve[epsilon] == pytest.approx(np.nanmean(worth.value(at)), abs=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_more_than_two_million_pairs(missing):
    # 2049 cells have just over 2**21 pairs, which are formed twice instead of held.
    rng = np.random.default_rng(5)
    metric = rng.normal(size=(2049, 2))
    human = np.rint(metric + rng.normal(size=metric.shape))
    metric[rng.random(metric.shape) < missing] = NAN
    quick, whole = calibrate(human, metric, curve=False), calibrate(human, metric)
    assert quick.epsilon == whole.epsilons[np.argmax(whole.values >= whole.value - 1e-12)]
    assert quick.value == pytest.approx(whole.value, abs=1e-12)
    at = count_columns(human, metric, epsilon=quick.epsilon)
    assert KENDALL["acc-eq"].value(at).mean() == pytest.approx(quick.value, abs=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["BERTscore-refA", "GEMBA-MQM-src"])
def test_156_million_real_pairs_in_little_memory(shared, metric):
    folder = shared / "wmt23-metrics"
    parts = ("human.csv.gz", "metrics.seg.csv.gz")
    scores = steelyard.load(*(folder / f"zh-en.{part}" for part in parts), human="mqm")
    scores = scores.drop(systems=["refA", "synthetic_ref"])
    human_cells, metric_cells = (scores[name].values.reshape(-1, 1) for name in ("mqm", metric))
    tracemalloc.start()
    best = calibrate(human_cells, metric_cells, curve=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300e6
    counts = count_columns(human_cells, metric_cells, epsilon=best.epsilon)
    assert KENDALL["acc-eq"].value(counts).mean() == pytest.approx(best.value, abs=1e-12)
