"""Loops give the same bits compiled and as Python runs them, whatever numba can write to."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core import compiled
from steelyard.core.compiled import inner, kernel
from steelyard.stats.strength import elo, trueskill, truncation
from steelyard.stats.strength.battlelog import Battles
from steelyard.stats.strength.orders import battles_in_orders, scores_in_orders, sequences

pytest.importorskip("numba")


@inner
def halved(x):
    return math.sqrt(x) * SCALE


SCALE = 0.5


@kernel(changed=1)
def walk(sums, values):
    for k in range(1, len(values)):
        sums[k] = sums[k - 1] + halved(values[k])


def walked(seconds):
    sums = np.zeros(5)
    walk.run(sums, np.arange(5.0) / 3, seconds=seconds)
    return sums.tolist()


def test_much_work_is_compiled_and_gives_the_same(monkeypatch):
    assert walked(0.0) == walked(100.0) != [0.0] * 5
    assert compiled.available()
    assert compiled.worth(1.0)
    assert not compiled.worth(0.01)  # which is over before numba is imported
    monkeypatch.setenv("STEELYARD_COMPILED", "0")
    assert not compiled.available()
    assert not compiled.worth(1.0)
    assert walked(100.0) == walked(0.0)


@pytest.fixture
def fresh(monkeypatch):
    """Compile anew."""
    monkeypatch.setattr(walk, "_fast", None)
    compiled._numba.cache_clear()
    yield
    compiled._numba.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_nothing_can_be_written(monkeypatch):
    """Where numba finds no folder for what it compiles, it compiles for this process alone."""
    from numba.core import caching

    monkeypatch.setattr(caching.FunctionCache._impl_class, "_locator_classes", [])
    assert walked(100.0) == walked(0.0)


@pytest.mark.usefixtures("fresh")
def test_the_disk_is_full(monkeypatch):
    from numba.core import caching

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.FunctionCache, "save_overload", full)
    monkeypatch.setattr(caching.FunctionCache, "load_overload", lambda *_args: None)
    assert walked(100.0) == walked(0.0)


@pytest.mark.usefixtures("fresh")
def test_a_numba_that_does_not_suit_is_left_aside(monkeypatch):
    real = builtins.__import__

    def refused(name, *args):
        if name == "numba":
            raise ImportError("Numba needs NumPy 2.5 or less")
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", refused)
    assert not compiled.worth(100.0)
    assert walked(100.0) == walked(0.0)


def random_log(rng, *, whole):
    n, size = int(rng.integers(2, 7)), int(rng.integers(1, 60))
    left = rng.integers(0, n, size).astype(np.int32)
    right = ((left + rng.integers(1, n, size)) % n).astype(np.int32)
    outcome = rng.choice([0.0, 0.5, 1.0], size) if whole else rng.random(size)
    return Battles(left, right, outcome, n, None if whole else 2 * rng.random(size))


def three_ways(play):
    """Play compiled, in a plain loop, and all orders together."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for worth, alone in ((0.0, 0), (math.inf, 10**6), (math.inf, 0)):
            patch.setattr(compiled, "_WORTH", worth)
            for rating in (elo, trueskill):
                patch.setattr(rating, "_ALONE", alone)
            found.append(play())
    return found


RULES = [
    elo.EloOptions(),
    elo.EloOptions(k=5000.0),  # where chances go to nothing
    trueskill.TrueSkillOptions(),
    trueskill.TrueSkillOptions(beta=0.01, tau=0.0, draw_probability=0.9),  # far beyond the table
    trueskill.TrueSkillOptions(draw_probability=1e-6),  # a narrow margin
]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(RULES), st.booleans(), st.booleans())
def test_logs_are_played_alike_to_the_bit(seed, rules, resample, whole):
    rng = np.random.default_rng(seed)
    log = random_log(rng, whole=whole or isinstance(rules, trueskill.TrueSkillOptions))
    blocks = rng.integers(0, 5, len(log)) if resample else None
    order = sequences(len(log), 3, rng, blocks=blocks, resample=resample)
    same(*three_ways(lambda: battles_in_orders(rules, log, order)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(RULES), st.sampled_from([0.0, 0.5]))
def test_scores_are_played_alike_to_the_bit(seed, rules, tolerance):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (int(rng.integers(1, 6)), 12)).astype(float)
    scores[rng.random(scores.shape) < 0.1] = np.nan
    order = sequences(12, 4, rng, resample=True)
    order[1, 9:] = -1

    def play():
        stream = np.random.default_rng(seed)
        return scores_in_orders(rules, scores, order, stream, tolerance=tolerance)

    same(*three_ways(play))


def same(first, *others):
    for other in others:
        if isinstance(first, trueskill.Skills):
            np.testing.assert_array_equal(first.mu, other.mu)
            np.testing.assert_array_equal(first.sigma, other.sigma)
        else:
            np.testing.assert_array_equal(first, other)


def test_the_largest_exponent():
    assert math.isfinite(math.exp(truncation.LARGEST))
    with pytest.raises(OverflowError):
        math.exp(math.nextafter(truncation.LARGEST, math.inf))


def test_time_grows_with_the_battles_alone(monkeypatch):
    """Four times the battles, and four times the orders, take four times as long, not more."""
    import time

    monkeypatch.setattr(compiled, "_WORTH", 0.0)

    def seconds(size, orders):
        rng = np.random.default_rng(0)
        left = rng.integers(0, 50, size)
        log = Battles(left, (left + 1) % 50, rng.choice([0.0, 1.0], size), 50)
        order = sequences(size, orders, rng)
        spent = []
        for _ in range(3):
            start = time.process_time()
            battles_in_orders(elo.EloOptions(), log, order)
            spent.append(time.process_time() - start)
        return min(spent)

    base = seconds(200_000, 2)
    assert seconds(800_000, 2) < 12 * base
    assert seconds(200_000, 8) < 12 * base
