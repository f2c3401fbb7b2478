"""Battle logs as columns against loops over their rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.strength import battlelog as module
from steelyard.stats.strength.battlelog import (
    Battles,
    UnitCounts,
    battle_counts,
    battle_pairs,
    resampled_battles,
    score_battles,
)
from steelyard.stats.strength.wins import WinCounts, win_counts

NAN = float("nan")


@st.composite
def logs(draw, *, weighted=True, shares=True):
    """A log of a few systems, with ties, shares and weights."""
    n = draw(st.integers(2, 6))
    size = draw(st.integers(0, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    left = rng.integers(0, n, size)
    right = (left + rng.integers(1, n, size)) % n
    outcome = rng.choice([0.0, 0.5, 1.0, 0.75] if shares else [0.0, 0.5, 1.0], size)
    weight = rng.integers(0, 4, size) / 2 if weighted and draw(st.booleans()) else None
    return Battles(left, right, outcome, n, weight)


def naive(battles, times=None):
    """Wins and ties, battle by battle."""
    wins, ties = np.zeros((battles.n, battles.n)), np.zeros((battles.n, battles.n))
    for k in range(len(battles)):
        i, j, score = battles.left[k], battles.right[k], battles.outcome[k]
        weight = 1.0 if battles.weight is None else battles.weight[k]
        weight *= 1.0 if times is None else times[k]
        if score == 0.5:
            ties[i, j] += weight
            ties[j, i] += weight
        else:
            wins[i, j] += weight * score
            wins[j, i] += weight * (1 - score)
    return wins, ties


def same(counts, expected):
    np.testing.assert_allclose(counts.wins, expected[0], atol=1e-12)
    np.testing.assert_allclose(counts.ties, expected[1], atol=1e-12)


@given(logs())
def test_counts_against_the_loop(battles):
    expected = naive(battles)
    same(battle_counts(battles), expected)
    same(battle_pairs(battles).tables(), expected)
    played = set(battles.left.tolist()) | set(battles.right.tolist())
    assert np.flatnonzero(battles.met).tolist() == sorted(played)


@given(logs(), st.sampled_from([3, 2**20]))
def test_rows_come_one_by_one(battles, chunk):
    weight = np.ones(len(battles)) if battles.weight is None else battles.weight
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", chunk)
        rows = list(battles.rows())
        same(battle_counts(battles), naive(battles))
    assert [row[0] for row in rows] == battles.left.tolist()
    assert [row[1] for row in rows] == battles.right.tolist()
    assert [row[2] for row in rows] == battles.outcome.tolist()
    assert [row[3] for row in rows] == weight.tolist()


@given(logs(), st.integers(0, 2**32))
def test_units_against_the_loop(battles, seed):
    rng = np.random.default_rng(seed)
    unit = rng.integers(0, 5, len(battles))
    tables = UnitCounts.of(battles, unit)
    counts = rng.integers(0, 3, (4, tables.n_units))
    drawn = tables.resampled(counts)
    for b, times in enumerate(counts):
        same(WinCounts(drawn.wins[b], drawn.ties[b]), naive(battles, times[unit]))


@given(logs(), st.integers(0, 2**32))
def test_units_add_up_and_are_won(battles, seed):
    """Totals over the units, and in how many of them each of a pair came out ahead."""
    unit = np.random.default_rng(seed).integers(0, 4, len(battles))
    tables = UnitCounts.of(battles, unit)
    same(tables.pairs().tables(), naive(battles))
    first, second = tables.ahead()
    each = [naive(battles, (unit == u).astype(float))[0] for u in range(tables.n_units)]
    for k, (i, j) in enumerate(zip(tables.i, tables.j, strict=True)):
        leads = [wins[i, j] - wins[j, i] for wins in each]
        assert first[k] == sum(lead > 1e-9 for lead in leads)
        assert second[k] == sum(lead < -1e-9 for lead in leads)


@given(logs(weighted=False, shares=False), st.integers(0, 2**32))
def test_units_in_single_precision_count_exactly(battles, seed):
    rng = np.random.default_rng(seed)
    unit = rng.integers(0, 3, len(battles))
    tables = UnitCounts.of(battles, unit)
    assert tables.cells.dtype == np.float32
    for counts in (rng.integers(0, 17, (3, tables.n_units)), rng.random((3, tables.n_units))):
        drawn = tables.resampled(counts)
        for b, times in enumerate(counts):
            same(WinCounts(drawn.wins[b], drawn.ties[b]), naive(battles, times[unit]))


@given(logs())
def test_pairs_of_very_many_systems(battles):
    """Pairs are numbered by sorting where a table of all of them would be too large."""
    expected = battle_pairs(battles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_DENSE", 0)
        found = battle_pairs(battles)
    for name in ("i", "j", "wins_i", "wins_j", "ties"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_units_must_fit():
    battles = Battles(np.array([0]), np.array([1]), np.array([1.0]), 2)
    with pytest.raises(ShapeError, match="1 battles"):
        UnitCounts.of(battles, np.array([0, 1]))
    with pytest.raises(ShapeError, match="1 units"):
        UnitCounts.of(battles, np.array([0])).resampled([[1, 1]])


@given(st.integers(1, 4).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2**32))))
def test_scores_as_battles_count_the_same(case):
    n, seed = case
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (n, 6)).astype(float)
    scores[rng.random(scores.shape) < 0.2] = NAN
    for tolerance in (0.0, 1.0):
        expected = win_counts(scores, tolerance=tolerance)
        for by in ("segment", "pair"):
            log = score_battles(scores, by=by, tolerance=tolerance)
            same(battle_counts(log), (expected.wins, expected.ties))


def test_orders_of_battles_by_hand():
    scores = np.array([[1.0, 4.0], [2.0, 3.0], [2.0, NAN]])
    by_segment = score_battles(scores)
    assert by_segment.left.tolist() == [0, 0, 1, 0]
    assert by_segment.right.tolist() == [1, 2, 2, 1]
    assert by_segment.outcome.tolist() == [0.0, 0.0, 0.5, 1.0]
    by_pair = score_battles(scores, by="pair")
    assert by_pair.left.tolist() == [0, 0, 0, 1]
    assert by_pair.outcome.tolist() == [0.0, 1.0, 0.0, 0.5]
    with pytest.raises(UsageError, match="unknown order of battles"):
        score_battles(scores, by="system")


def test_drawn_battles_have_the_right_mean_and_spread():
    counts = WinCounts(
        np.array([[0.0, 60, 5], [30, 0, 0], [5, 0, 0]]),
        np.array([[0.0, 10, 0], [10, 0, 40], [0, 40, 0]]),
    )
    drawn = resampled_battles(counts, 4000, np.random.default_rng(0))
    assert (drawn.ties == np.swapaxes(drawn.ties, 1, 2)).all()
    error = np.sqrt(60)
    np.testing.assert_allclose(drawn.wins.mean(axis=0), counts.wins, atol=4 * error / np.sqrt(4000))
    np.testing.assert_allclose(drawn.ties.mean(axis=0), counts.ties, atol=4 * error / np.sqrt(4000))
    assert drawn.wins[:, 0, 1].std() == pytest.approx(error, rel=0.05)
    assert (drawn.wins[:, 1, 2] == 0).all()


def test_weighted_battles_are_not_resampled_one_by_one():
    halves = np.array([[0.0, 0.5], [1, 0]])
    with pytest.raises(UsageError, match="resample units"):
        resampled_battles(WinCounts(halves, np.zeros((2, 2))), 3, np.random.default_rng(0))
    none = resampled_battles(WinCounts(*np.zeros((2, 2, 2))), 3, np.random.default_rng(0))
    assert not none.met.any()


def columns(**changes):
    good = {
        "left": np.array([0, 1]),
        "right": np.array([1, 0]),
        "outcome": np.array([1.0, 0.5]),
        "n": 2,
        "weight": np.array([1.0, 2.0]),
    }
    return good | changes


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"left": np.array([0])}, ShapeError, "one length"),
        ({"outcome": np.array([[1.0, 0.5]])}, ShapeError, "one length"),
        ({"weight": np.array([1.0])}, ShapeError, "one length"),
        ({"n": 1}, ShapeError, "system 1 of 1"),
        ({"left": np.array([-1, 1])}, ShapeError, "system -1 of 2"),
        ({"left": np.array([1, 1])}, UsageError, "meets itself"),
        ({"outcome": np.array([1.0, 1.5])}, UsageError, "0..1"),
        ({"outcome": np.array([1.0, NAN])}, UsageError, "0..1"),
        ({"weight": np.array([1.0, -1.0])}, UsageError, "from 0 to"),
        ({"weight": np.array([1.0, NAN])}, UsageError, "from 0 to"),
        ({"weight": np.array([1.0, np.inf])}, UsageError, "from 0 to"),
    ],
)
def test_bad_columns_are_refused(changes, error, message):
    Battles(**columns())
    with pytest.raises(error, match=message):
        Battles(**columns(**changes))
