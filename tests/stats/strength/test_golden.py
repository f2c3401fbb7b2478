"""Small tables of wins that every method must get right, from golden/*.json.

A case has ``wins`` and ``ties``, the ``ranks`` that every method must give, and the ``strengths``
of some treatments of ties, known by hand or from another package.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.stats.arrays import Floats
from steelyard.stats.ranks import ranks
from steelyard.stats.strength.bradleyterry import (
    METHODS,
    TIE_MODELS,
    bradley_terry,
    bradley_terry_batch,
    win_probability,
)
from steelyard.stats.strength.sequential import (
    EloOptions,
    TrueSkillOptions,
    battles_in_orders,
    sequences,
)
from steelyard.stats.strength.wins import Battles, WinCounts, expected_wins

CASES = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "golden").glob("*.json"))
}
ORDERS = 1000


def table(case: dict[str, Any]) -> WinCounts:
    wins = np.array(case["wins"], dtype=np.float64)
    return WinCounts(wins, np.array(case.get("ties", np.zeros_like(wins)), dtype=np.float64))


def log(counts: WinCounts) -> Battles:
    """Write a table as a log, one battle after the other."""
    i, j = np.nonzero(counts.wins)
    a, b = np.nonzero(np.triu(counts.ties))
    won, tied = counts.wins[i, j].astype(int), counts.ties[a, b].astype(int)
    left, right = (
        np.concatenate([np.repeat(x, won), np.repeat(y, tied)]) for x, y in ((i, a), (j, b))
    )
    outcome = np.repeat([1.0, 0.5], [won.sum(), tied.sum()])
    return Battles(left, right, outcome, len(counts.wins))


def fitted(counts: WinCounts, ties_as: str = "half", method: str = "newton") -> Floats:
    return bradley_terry(counts.wins, counts.ties, ties_as=ties_as, method=method).strength


def in_orders(counts: WinCounts, rating: Any) -> Floats:
    battles = log(counts)
    order = sequences(len(battles), ORDERS, np.random.default_rng(0))
    result = battles_in_orders(rating, battles, order)
    return np.asarray((result.scores).mean(axis=0))


def one_of_many(counts: WinCounts) -> Floats:
    batch = bradley_terry_batch(WinCounts(counts.wins[None], counts.ties[None]))
    return np.asarray(batch.strength[0])


#: Every method as a function of a table, and by how much equals may differ.
STRENGTHS: dict[str, tuple[Callable[[WinCounts], Floats], float]] = {
    "newton": (fitted, 1e-9),
    "mm": (partial(fitted, method="mm"), 1e-3),
    "davidson": (partial(fitted, ties_as="davidson"), 1e-9),
    "rao-kupper": (partial(fitted, ties_as="rao-kupper"), 1e-9),
    "batch": (one_of_many, 1e-9),
    "expected-wins": (partial(expected_wins, ties_as="half"), 1e-12),
    "elo": (partial(in_orders, rating=EloOptions(k=4)), 1.0),
    "trueskill": (partial(in_orders, rating=TrueSkillOptions()), 0.25),
}
every_case = pytest.mark.parametrize("name", CASES)
every_method = pytest.mark.parametrize("method", STRENGTHS)


def test_there_are_cases_and_every_method_takes_part():
    assert {*METHODS, *TIE_MODELS} <= set(STRENGTHS)
    assert len(CASES) >= 6
    assert all({"about", "wins", "ranks"} <= set(case) for case in CASES.values())


@every_case
@every_method
def test_order_and_what_it_does_not_depend_on(name, method):
    """Names, and twice as many battles, change nothing; turned battles turn the order round."""
    rate, same = STRENGTHS[method]
    counts = table(CASES[name])
    strength = rate(counts)
    assert ranks(strength, close=0.0, floor=same).tolist() == CASES[name]["ranks"]
    order = np.random.default_rng(len(counts.wins)).permutation(len(counts.wins)).tolist()
    np.testing.assert_allclose(rate(counts.within(order)), strength[order], atol=2 * same)
    if method not in ("elo", "trueskill"):
        doubled = rate(WinCounts(2 * counts.wins, 2 * counts.ties))
        np.testing.assert_allclose(doubled, strength, atol=2 * same)
    turned = rate(WinCounts(counts.wins.T, counts.ties))
    gaps, back = (x[:, None] - x for x in (strength, turned))
    clear = np.abs(gaps) > 2 * same
    np.testing.assert_array_equal(np.sign(gaps)[clear], -np.sign(back)[clear])


KNOWN = [(name, ties_as) for name, case in CASES.items() for ties_as in case.get("strengths", {})]


@pytest.mark.parametrize(("name", "ties_as"), KNOWN)
def test_strengths(name, ties_as):
    case = CASES[name]
    counts = table(case)
    expected = np.array(case["strengths"][ties_as])
    fit = bradley_terry(counts.wins, counts.ties, ties_as=ties_as)
    np.testing.assert_allclose(fit.strength, expected / expected.sum(), atol=1e-9)
    for method in METHODS if ties_as not in TIE_MODELS else ():
        close = 1e-3 if method == "mm" else 1e-9
        np.testing.assert_allclose(fitted(counts, ties_as, method), fit.strength, atol=close)
    if ties_as in case.get("tie_parameter", {}):
        assert fit.tie_parameter == pytest.approx(case["tie_parameter"][ties_as], abs=1e-9)
    chance = win_probability(fit.strength)
    np.testing.assert_allclose(chance + chance.T, 1.0)
