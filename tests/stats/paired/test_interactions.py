"""Whether differences depend on the kind of segments: against loops, Welch and chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.paired.clustered import mean_error
from steelyard.stats.paired.interactions import contrast, interactions


def example(seed: int = 0) -> tuple[Floats, Counts, Counts]:
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(8), [1, 3, 2, 4, 2, 1, 3, 2])
    kinds = (units % 3 == 0).astype(np.int64) + (units % 3 == 1) * 2
    return rng.normal(size=(3, len(units))), kinds, units


def naive(scores: Floats, kinds: Counts) -> tuple[list[list[float]], list[list[float]]]:
    """Leads over the mean of all, in a kind and elsewhere, one number at a time; Welch's errors."""
    gains, statistics = [], []
    for i in range(len(scores)):
        lead = [scores[i, s] - scores[:, s].mean() for s in range(scores.shape[1])]
        own, ts = [], []
        for kind in range(int(kinds.max()) + 1):
            inside = [x for x, k in zip(lead, kinds, strict=True) if k == kind]
            outside = [x for x, k in zip(lead, kinds, strict=True) if k != kind]
            own.append(float(np.mean(inside) - np.mean(outside)))
            ts.append(float(ttest_ind(inside, outside, equal_var=False).statistic))
        gains.append(own)
        statistics.append(ts)
    return gains, statistics


def test_gains_are_what_loops_give():
    scores, kinds, _ = example()
    found = interactions(scores, kinds, np.arange(18))
    gains, statistics = naive(scores, kinds)
    assert found.gain == pytest.approx(np.array(gains))
    centred = scores - scores.mean(axis=0)
    for kind in range(3):
        own = contrast(centred, kinds == kind, kinds != kind, np.arange(18))
        assert own.difference / own.error == pytest.approx(np.array(statistics)[:, kind])
    assert found.p.shape == (3, 3)


def test_neither_easy_kinds_nor_better_systems_are_an_interaction():
    scores, kinds, units = example(1)
    moved = scores + 5.0 * kinds + np.array([[0.0], [2.0], [7.0]])
    plain, other = (interactions(x, kinds, units) for x in (scores, moved))
    assert other.gain == pytest.approx(plain.gain)
    assert other.p == pytest.approx(plain.p)


@pytest.mark.parametrize(
    ("cuts", "spread"), [((26,), (1.0, 1.0)), ((26,), (1.0, 4.0)), ((5, 20), (4.0, 1.0, 2.0))]
)
def test_chance_is_called_an_interaction_no_more_often_than_stated(cuts, spread):
    """Documents with noise of their own; kinds differ in number and size of units, and spread."""
    rng = np.random.default_rng(7)
    units = np.repeat(np.arange(40), rng.integers(1, 8, 40))
    kinds = np.searchsorted(cuts, units, side="right")
    scale = np.array(spread)[kinds]
    n, alarms = 400, 0
    for _ in range(n):
        shared = rng.normal(size=(4, 40))[:, units] + rng.normal(size=(4, len(units)))
        alarms += bool((interactions(shared * scale, kinds, units).p <= 0.05).any())
    assert alarms / n < 0.05 + 2.4 * np.sqrt(0.05 * 0.95 / n)  # what chance adds, one in a hundred


def test_a_real_interaction_is_found_where_it_is():
    rng = np.random.default_rng(0)
    kinds = np.arange(120) // 40
    scores = rng.normal(size=(3, 120))
    scores[0, kinds == 2] += 3
    found = interactions(scores, kinds, np.arange(120) // 2)
    assert found.p[0, 2] < 0.001
    assert found.gain[0, 2] == pytest.approx(2, abs=0.5)  # the mean of all moves, too


def test_two_kinds_are_one_test():
    scores, kinds, units = example(2)
    found = interactions(scores, np.minimum(kinds, 1), units)
    assert found.p[:, 0].tolist() == found.p[:, 1].tolist()
    assert found.gain[:, 0] == pytest.approx(-found.gain[:, 1])


def test_units_may_reach_over_kinds():
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(20), 2)
    scores = 9 * rng.normal(size=(2, 20))[:, units] + rng.normal(size=(2, 40))
    scores[0, ::2] += 4
    kinds = np.tile([0, 1], 20)
    assert interactions(scores, kinds, units).p[0, 0] < 0.001
    assert interactions(scores, kinds, np.arange(40)).p[0, 0] > 0.05  # what is shared was noise


def test_what_can_not_be_tested():
    scores, kinds, units = example()
    assert np.isnan(interactions(scores, np.zeros(18, dtype=np.int64), units).p).all()
    lone = (units == 0).astype(np.int64)
    assert np.isnan(interactions(scores, lone, units).p).all()
    same = interactions(np.ones((3, 18)), kinds, units)
    assert same.p.min() == 1
    with pytest.raises(UsageError, match="without gaps"):
        interactions(np.full((3, 18), np.nan), kinds, units)


def test_a_contrast_of_single_segments_is_welchs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 30))
    long = np.arange(30) < 12
    found = contrast(x, long, ~long, np.arange(30))
    welch = ttest_ind(x[0, long], x[0, ~long], equal_var=False)
    assert found.difference[0] / found.error[0] == pytest.approx(welch.statistic)
    assert found.freedom[0] == 11  # the fewer of both, which is careful


def test_a_contrast_of_units_apart_adds_two_errors():
    scores, _, units = example()
    long = units < 4
    found = contrast(scores, long, ~long, units)
    parts = [mean_error(scores[:, own], units[own]) for own in (long, ~long)]
    assert found.error == pytest.approx(np.hypot(parts[0].error, parts[1].error))
    assert found.difference == pytest.approx(parts[0].mean - parts[1].mean)


def test_what_a_unit_shares_cancels_in_a_contrast():
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(30), 2)
    long = np.tile([True, False], 30)
    x = 10 * rng.normal(size=30)[units][None] + rng.normal(size=(1, 60))
    found = contrast(x, long, ~long, units)
    alone = contrast(x, long, ~long, np.arange(60))
    assert found.error[0] < alone.error[0] / 3
    gaps = mean_error((x[:, long] - x[:, ~long]), np.arange(30))
    assert found.error[0] == pytest.approx(gaps.error[0])


def test_gaps_and_empty_kinds_of_a_contrast():
    x = np.array([[1.0, np.nan, 3.0, 4.0], [np.nan] * 4])
    long = np.array([True, True, False, False])
    found = contrast(x, long, ~long, np.arange(4))
    assert found.difference[0] == -2.5
    assert np.isnan(found.freedom).all()  # one value on one side, none on either
    assert np.isnan(found.difference[1])
