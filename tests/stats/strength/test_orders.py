"""Random orders, tournaments, and ratings that follow many orders at once."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.strength import orders as module
from steelyard.stats.strength.battlelog import Battles
from steelyard.stats.strength.elo import EloOptions
from steelyard.stats.strength.orders import (
    _tournament,
    battles_in_orders,
    round_robin,
    scores_in_orders,
    sequences,
)
from steelyard.stats.strength.trueskill import TrueSkillOptions

NAN = float("nan")


@given(st.integers(0, 9))
def test_everybody_meets_everybody_once_and_plays_once_per_round(n):
    first, second = round_robin(n)
    assert first.shape == second.shape
    met = Counter(frozenset(pair) for pair in zip(first.ravel(), second.ravel(), strict=True))
    assert met == Counter(frozenset(pair) for pair in combinations(range(n), 2))
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        assert len({*a, *b}) == 2 * len(a)
        assert len(a) == n // 2


@given(st.integers(1, 5).map(lambda k: 2 * k))
def test_turning_the_table_leads_through_all_rounds(n):
    table, turn = _tournament(n)
    seats = np.arange(n)
    for row in table:
        assert seats.tolist() == row.tolist()
        seats = seats[turn]
    assert seats.tolist() == list(range(n))


@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_sequences(n_items, n_orders, seed, blocked, resample):
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 4, n_items) if blocked else None
    order = sequences(n_items, n_orders, rng, blocks=blocks, resample=resample)
    for row in order:
        row = row[row >= 0]  # noqa: PLW2901
        if not resample:
            assert sorted(row) == list(range(n_items))
        elif not blocked:
            assert len(row) == n_items
        if blocks is not None and len(row):
            # Cut where a block ends: every piece is a whole block in its order.
            whole = {code: np.flatnonzero(blocks == code).tolist() for code in set(blocks)}
            at = 0
            drawn = 0
            while at < len(row):
                own = whole[blocks[row[at]]]
                assert row[at : at + len(own)].tolist() == own
                at += len(own)
                drawn += 1
            assert drawn == len(whole)


def test_orders_differ_and_depend_on_the_seed_only():
    one = sequences(20, 5, np.random.default_rng(3))
    assert (one == sequences(20, 5, np.random.default_rng(3))).all()
    assert len({tuple(row) for row in one.tolist()}) == 5
    with pytest.raises(UsageError, match="at least one order"):
        sequences(3, 0, np.random.default_rng(0))
    with pytest.raises(ShapeError, match="3 items"):
        sequences(3, 1, np.random.default_rng(0), blocks=[0, 1])


class Recorder:
    """A rating that writes down who met whom, and gives who played.

    Its state tells systems and orders apart: 10 * order + system.
    """

    seconds = 0.0
    alone = 0

    def __init__(self) -> None:
        self.log: list[Any] = []

    def check(self, battles):
        self.given = battles

    def start(self, n, n_orders):
        return (np.arange(n)[:, None] + 10.0 * np.arange(n_orders))[None]

    def update(self):
        def update(own, result, weight, tied):
            if ((result == 0) & (True if weight is None else weight > 0)).any():
                assert tied
            first, second = own[0, 0].ravel(), own[0, 1].ravel()
            weights = np.ones(result.size) if weight is None else weight.ravel()
            self.log.append(list(zip(first, second, result.ravel(), weights, strict=True)))

        return update

    def play(self, state, rows, order, seconds):
        raise AssertionError("played alone")

    def finish(self, state, played) -> Any:
        assert (state == self.start(*state.shape[1:])).all()
        return played


@given(st.integers(1, 6), st.integers(0, 2**32), st.sampled_from([5, 300_000]))
def test_scores_are_played_in_full(n, seed, cells):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (n, 4)).astype(float)
    scores[rng.random(scores.shape) < 0.25] = NAN
    order = sequences(4, 3, rng, resample=True)
    order[1, 3] = -1
    recorder = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS", cells)
        played = scores_in_orders(recorder, scores, order, rng)
    found: Counter[Any] = Counter()
    for step in recorder.log:
        step = [entry for entry in step if entry[3]]  # noqa: PLW2901
        players = [x for a, b, _, _ in step for x in (a, b)]
        assert len(players) == len(set(players))  # nobody plays twice at a time
        for a, b, result, _ in step:
            low, high = sorted([(a, result), (b, -result)])
            found[low[0], high[0], low[1]] += 1
    expected: Counter[Any] = Counter()
    meets = np.zeros((n, 3), dtype=bool)
    for o, row in enumerate(order):
        for s in row[row >= 0]:
            for i, j in combinations(range(n), 2):
                gap = scores[i, s] - scores[j, s]
                if not np.isnan(gap):
                    expected[10.0 * o + i, 10.0 * o + j, np.sign(gap)] += 1
                    meets[[i, j], o] = True
    assert found == expected
    assert (played == meets).all()


def test_segments_come_in_the_given_order():
    scores = np.array([[1.0, 0.0, 5.0], [0.0, 1.0, 5.0]])
    order = np.array([[2, 0, 1], [1, 1, 0]])
    recorder = Recorder()
    scores_in_orders(recorder, scores, order, np.random.default_rng(0))
    seen = [
        {round(min(a, b)) // 10: (result if a < b else -result) for a, b, result, _ in step}
        for step in recorder.log
    ]
    assert seen == [{0: 0, 1: -1}, {0: 1, 1: -1}, {0: -1, 1: 1}]


@given(st.integers(0, 2**32), st.sampled_from([2, 300_000]), st.booleans())
def test_battles_are_played_in_the_given_order(seed, cells, weighted):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, 8)
    battles = Battles(
        left,
        (left + rng.integers(1, 4, 8)) % 4,
        rng.choice([0.0, 0.5, 1.0], 8),
        4,
        rng.random(8) + 0.5 if weighted else None,
    )
    order = sequences(8, 3, rng, blocks=rng.integers(0, 3, 8), resample=True)
    recorder = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS", cells)
        played = battles_in_orders(recorder, battles, order)
    meets = np.zeros((4, 3), dtype=bool)
    assert len(recorder.log) == order.shape[1]
    for t, step in enumerate(recorder.log):
        for o, (a, b, result, weight) in enumerate(step):
            k = order[o, t]
            if k < 0:
                assert weight == 0
                continue
            assert (a, b) == (10 * o + battles.left[k], 10 * o + battles.right[k])
            assert result == 2 * battles.outcome[k] - 1
            assert weight == (1 if battles.weight is None else battles.weight[k])
            meets[[battles.left[k], battles.right[k]], o] = True
    assert (played == meets).all()


@pytest.mark.parametrize("gap", [0.2, 3.0])
@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_single_precision_is_good_for_intervals(gap, tolerance):
    """Near enough to be lost in the spread over orders, even where one system always wins."""
    rng = np.random.default_rng(0)
    scores = (rng.normal(size=(5, 80)) + gap * np.arange(5)[:, None]).round(1)
    scores[3, 5:9] = NAN
    order = sequences(80, 30, rng, resample=True)

    def both(rating):
        return [
            scores_in_orders(
                rating,
                scores,
                order,
                np.random.default_rng(1),
                tolerance=tolerance,
                single=single,
            )
            for single in (False, True)
        ]

    one, two = both(EloOptions())
    np.testing.assert_allclose(one, two, atol=1e-3)
    one, two = both(TrueSkillOptions())
    np.testing.assert_allclose(one.mu, two.mu, atol=1e-3)
    np.testing.assert_allclose(one.sigma, two.sigma, atol=1e-3)


def test_orders_are_played_alike_together_and_apart(monkeypatch):
    scores = np.random.default_rng(0).normal(size=(2, 9))  # two systems: seats do not matter
    order = sequences(9, 7, np.random.default_rng(1))
    together = scores_in_orders(EloOptions(), scores, order, np.random.default_rng(2))
    monkeypatch.setattr(module, "_TOGETHER", 4)
    apart = scores_in_orders(EloOptions(), scores, order, np.random.default_rng(2))
    np.testing.assert_allclose(together, apart, rtol=1e-12)
