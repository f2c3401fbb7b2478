"""Units by key: counts against loops, and the draws against their formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.resampling import keyed as keyedunits
from steelyard.stats.resampling.keyed import _AT_LEAST, KeyedUnits, keyed_counts, units_ahead
from steelyard.stats.strength.wins import Battles, UnitCounts, battle_pairs

BITS = 2**64


def splitmix(state: int) -> int:
    """The published generator, in whole numbers of any size."""
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % BITS
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % BITS
    return state ^ (state >> 31)


def naive_count(key: int, resample: int, seed: int) -> int:
    word, lane = divmod(resample, 4)
    drawn = splitmix((key + (word + 1) * 0x9E3779B97F4A7C15 + seed) % BITS) >> (16 * lane) & 0xFFFF
    chances = [1 - sum(math.exp(-1) / math.factorial(j) for j in range(k)) for k in range(1, 9)]
    return sum(drawn < round(chance * 2**16) for chance in chances)


@given(
    st.lists(st.integers(0, BITS - 1), max_size=4),
    st.integers(0, 20),
    st.integers(0, 9),
    st.integers(0, BITS - 1),
)
def test_counts_are_those_of_the_formula(keys: list[int], first: int, n: int, seed: int) -> None:
    found = keyed_counts(np.array(keys, dtype=np.uint64), first, n, seed)
    expected = [[naive_count(key, first + k, seed) for k in range(n)] for key in keys]
    assert found.shape == (len(keys), n)
    assert found.tolist() == expected


def test_the_law_of_the_counts() -> None:
    """The mean is exactly 1, and the variance 1 but for 16 bits."""
    assert sum(_AT_LEAST) == 2**16
    square = sum((2 * k + 1) * limit for k, limit in enumerate(_AT_LEAST)) / 2**16
    assert square - 1 == pytest.approx(1, abs=1e-4)


def test_counts_are_independent() -> None:
    keys = np.random.default_rng(0).integers(0, BITS, 20_000, dtype=np.uint64)
    counts = keyed_counts(keys, 0, 60, seed=5).astype(np.float64)
    assert counts.mean() == pytest.approx(1, abs=4 / math.sqrt(counts.size))
    observed = np.bincount(counts.astype(int).ravel(), minlength=9)
    chances = np.diff([2**16, *_AT_LEAST, 0]) / -(2**16)
    z = (observed - counts.size * chances) / np.sqrt(counts.size * chances * (1 - chances))
    assert np.abs(z).max() < 4.5
    other = keyed_counts(keys, 0, 60, seed=6).astype(np.float64)
    between = np.asarray(np.corrcoef(np.hstack([counts, other]).T))[np.triu_indices(120, 1)]
    assert np.abs(between).max() * math.sqrt(len(keys)) < 5  # resamples, also of other seeds


@st.composite
def logs(draw: st.DrawFn) -> tuple[Battles, np.ndarray]:
    n = draw(st.integers(2, 6))
    size = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    left = rng.integers(0, n, size).astype(np.int32)
    right = ((left + rng.integers(1, n, size)) % n).astype(np.int32)
    keys = rng.integers(0, BITS, draw(st.integers(1, 12)), dtype=np.uint64)
    return Battles(left, right, rng.choice([0, 0.5, 1], size), n), rng.choice(keys, size)


@given(logs(), st.integers(0, 7))
def test_counted_like_units_in_memory(made: tuple[Battles, np.ndarray], first: int) -> None:
    battles, key = made
    pairs = battle_pairs(battles)
    units = KeyedUnits.of(battles, key, pairs.codes)
    names, codes = np.unique(key, return_inverse=True)
    held = UnitCounts.of(battles, codes)
    assert units.key.tolist() == names.tolist()
    for found in (units.ahead(), units_ahead(battles, key, pairs.codes)):
        for mine, theirs in zip(found, held.ahead(), strict=True):
            assert mine.tolist() == theirs.tolist()
    drawn = keyed_counts(names, first, 5, seed=3).T
    expected = held.resampled(drawn)
    won, lost, tied = units.resampled(first, 5, seed=3).swapaxes(0, 1)
    assert np.array_equal(won, expected.wins[:, pairs.i, pairs.j])
    assert np.array_equal(lost, expected.wins[:, pairs.j, pairs.i])
    assert np.array_equal(tied, expected.ties[:, pairs.i, pairs.j])


@pytest.mark.parametrize("marks", [4, 8, 24])
@pytest.mark.parametrize("n_units", [3, 300, 30_000])
def test_units_are_ahead_whether_battles_repeat_or_not(
    monkeypatch: pytest.MonkeyPatch, n_units: int, marks: int
) -> None:
    monkeypatch.setattr(keyedunits, "_MARKS", marks)
    rng = np.random.default_rng(n_units)
    left = rng.integers(0, 9, 20_000).astype(np.int32)
    right = ((left + rng.integers(1, 9, len(left))) % 9).astype(np.int32)
    battles = Battles(left, right, rng.choice([0, 0.5, 1], len(left)), 9)
    key = rng.choice(rng.integers(0, BITS, n_units, dtype=np.uint64), len(left))
    codes = battle_pairs(battles).codes
    expected = KeyedUnits.of(battles, key, codes).ahead()
    assert np.array_equal(units_ahead(battles, key, codes), expected)


@pytest.mark.parametrize(("units", "cells", "resamples", "exact"),
                         [(1, 1, 1, 2**24), (3, 5, 2, 1), (7, 2, 100, 2**24)])  # fmt: skip
def test_blocks_make_no_difference(
    monkeypatch: pytest.MonkeyPatch, units: int, cells: int, resamples: int, exact: int
) -> None:
    rng = np.random.default_rng(1)
    left = rng.integers(0, 4, 200).astype(np.int32)
    battles = Battles(left, (left + 1) % 4, rng.choice([0, 0.5, 1], 200), 4)
    key = rng.choice(rng.integers(0, BITS, 30, dtype=np.uint64), 200)
    pairs = battle_pairs(battles)
    found = KeyedUnits.of(battles, key, pairs.codes)
    expected = found.resampled(2, 9, seed=1)
    for name, value in (("_UNITS", units), ("_CELLS", cells), ("_RESAMPLES", resamples),
                        ("_EXACT", exact)):  # fmt: skip
        monkeypatch.setattr(keyedunits, name, value)
    assert np.array_equal(found.resampled(2, 9, seed=1), expected)


def test_one_unit_and_none() -> None:
    one = Battles(np.array([1]), np.array([0]), np.array([1.0]), 2)
    units = KeyedUnits.of(one, np.array([9], dtype=np.uint64), np.array([1]))
    assert (units.cell.tolist(), units.ahead()[1].tolist()) == ([1], [1.0])  # code 0 lost
    nobody = np.zeros(0, dtype=np.int32)
    none = Battles(nobody, nobody, np.zeros(0), 2)
    empty = KeyedUnits.of(none, np.zeros(0, dtype=np.uint64), np.array([1]))
    assert empty.n_units == 0
    assert empty.resampled(0, 3, seed=0).tolist() == np.zeros((3, 3, 1)).tolist()
    assert [side.tolist() for side in empty.ahead()] == [[0.0], [0.0]]


def test_counts_beyond_single_precision() -> None:
    """Battles that are alike come once, with their number; 2^24 + 1 of them are not 2^24."""
    many = np.array([2.0**24 + 1, 2.0**24])
    battles = Battles(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.0]), 2, many)
    units = KeyedUnits.of(battles, np.array([5, 5], dtype=np.uint64), np.array([1]))
    assert units.count.tolist() == many.tolist()
    assert [side.tolist() for side in units.ahead()] == [[1.0], [0.0]]
    drawn = keyed_counts(units.key, 0, 8, seed=0)[0]
    expected = np.outer(drawn, [*many, 0])
    assert units.resampled(0, 8, seed=0)[:, :, 0].tolist() == expected.tolist()


@given(logs(), st.integers(0, 3))
def test_weights_are_numbers_of_battles(made: tuple[Battles, np.ndarray], seed: int) -> None:
    battles, key = made
    pairs = battle_pairs(battles)
    often = np.random.default_rng(seed).integers(1, 4, len(battles))
    keys = pairs.codes
    weighted = Battles(battles.left, battles.right, battles.outcome, battles.n, often.astype(float))
    left, right = np.repeat(battles.left, often), np.repeat(battles.right, often)
    again = Battles(left, right, np.repeat(battles.outcome, often), battles.n)
    one = KeyedUnits.of(weighted, key, keys)
    other = KeyedUnits.of(again, np.repeat(key, often), keys)
    for name in ("key", "start", "cell", "count"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
