"""Design effects by unit against loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.resampling.cluster_df import unit_freedom
from steelyard.stats.resampling.design_effect import FEWEST_FREE, DesignEffect
from steelyard.stats.strength.clustered_errors import strength_effect
from steelyard.stats.strength.wins import Battles, UnitCounts

# ---------------------------------------------------------------- design effects of logs

#: Left, right, what left won (1, 0, or 0.5 for a tie), unit.
Log = list[tuple[int, int, float, int]]


def counted(log: Log, n: int) -> UnitCounts:
    left, right, won, unit = (np.array(column) for column in zip(*log, strict=True))
    return UnitCounts.of(Battles(left, right, won.astype(np.float64), n), unit)


def main_of(log: Log, n: int) -> list[int]:
    """The largest group in which everyone beat everyone, if through others; a tie is both ways."""
    beats = {(a, b) for a, b, won, _ in log if won > 0} | {
        (b, a) for a, b, won, _ in log if won < 1
    }
    reach = beats | {(a, a) for a in range(n)}
    for k, a, b in itertools.product(range(n), repeat=3):
        if (a, k) in reach and (k, b) in reach:
            reach.add((a, b))
    groups = {tuple(b for b in range(n) if (a, b) in reach and (b, a) in reach) for a in range(n)}
    largest = [g for g in groups if len(g) == max(map(len, groups))]
    first = [g for g in largest if all((g[0], other[0]) in reach for other in largest)]
    return list(first[0]) if first else []


def chance(theta, a, b):
    return 1 / (1 + math.exp(theta[b] - theta[a]))


def information_of(theta, log: Log):
    """What the battles know: minus the second derivative of the log-likelihood."""
    result = np.zeros((len(theta), len(theta)))
    for a, b, _, _ in log:
        p = chance(theta, a, b)
        for row, column, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            result[row, column] += sign * p * (1 - p)
    return result


def score(theta, battle):
    """How a battle pulls at the strengths: what left won beyond what was expected."""
    a, b, won, _ = battle
    result = np.zeros(len(theta))
    result[a] += won - chance(theta, a, b)
    result[b] -= won - chance(theta, a, b)
    return result


def fitted(log: Log, n: int):
    """Newton's method, in steps that are short enough."""
    theta = np.zeros(n)
    for _ in range(200):
        step = np.linalg.pinv(information_of(theta, log)) @ sum(score(theta, own) for own in log)
        theta = theta + step / max(1.0, np.abs(step).max())
    return theta


def inside(log: Log, n: int) -> Log:
    """Battles between systems of the main component, which are numbered anew, as units are."""
    place = {system: k for k, system in enumerate(main_of(log, n))}
    inner = [(place[a], place[b], won, u) for a, b, won, u in log if a in place and b in place]
    units = sorted({u for *_, u in inner})
    return [(a, b, won, units.index(u)) for a, b, won, u in inner]


def effects_by_loops(log: Log, n: int) -> tuple[list[float], list[list[float]]]:
    """Design effects of all pairs, and what they are in proportion to without each unit."""
    place = main_of(log, n)
    inner = inside(log, n)
    n_units = len({u for *_, u in inner})
    if len(place) < 2 or n_units < 2:
        return [], []
    theta = fitted(inner, len(place))
    inverse = np.linalg.pinv(information_of(theta, inner))
    factor = (len(inner) - 1) / len(inner) * n_units / (n_units - 1)
    values, without = [], []
    for a, b in itertools.combinations(range(len(place)), 2):
        by_unit, by_battle = [0.0] * n_units, [0.0] * n_units
        for own in inner:
            move = inverse @ score(theta, own)
            by_unit[own[3]] += move[a] - move[b]
            by_battle[own[3]] += (move[a] - move[b]) ** 2
        if sum(by_battle) > 1e-20:
            values.append(factor * sum(x**2 for x in by_unit) / sum(by_battle))
        rest = [
            (sum(x**2 for h, x in enumerate(by_unit) if h != g),
             sum(x for h, x in enumerate(by_battle) if h != g))
            for g in range(n_units)
        ]  # fmt: skip
        without.append([top / below if below > 1e-20 else math.nan for top, below in rest])
    return values, without


def interval(value, without, sizes, level):
    """Jackknife of the logarithm of the median, with a t-distribution."""
    logs = [math.log(np.nanmedian(own)) for own in zip(*without, strict=True)]
    g = len(logs)
    error = math.sqrt((g - 1) / g * sum((x - sum(logs) / g) ** 2 for x in logs))
    reach = stats.t.ppf((1 + level) / 2, unit_freedom(np.array(sizes, dtype=float) ** 2)) * error
    return value * math.exp(-reach), value * math.exp(reach)


@st.composite
def logs(draw):
    """Small logs: ties, units of 1 to 5 battles, systems that never lost or never met another."""
    n = draw(st.integers(2, 5))
    pair = st.permutations(range(n)).map(lambda order: tuple(order[:2]))
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=6))
    log: Log = []
    for unit, size in enumerate(sizes):
        for _ in range(size):
            left, right = draw(pair)
            log.append((left, right, draw(st.sampled_from([0.0, 0.5, 1.0, 1.0])), unit))
    return log, n, sizes


@given(logs(), st.sampled_from([0.5, 0.95]))
def test_it_is_that_of_loops(made, level):
    log, n, _ = made
    values, without = effects_by_loops(log, n)
    inner = inside(log, n)
    sizes = np.bincount([u for *_, u in inner], minlength=1)
    assume(all(v > 1e-9 for v in values))  # units whose battles cancel out: below
    result = strength_effect(counted(log, n), level=level)
    assert result.n_pairs == len(values)
    if not values:
        assert math.isnan(result.value)
        return
    assert (result.n_units, result.n_segments) == (len(sizes), len(inner))
    assert result.value == pytest.approx(np.median(values), rel=1e-6)
    unknown = any(np.isnan(own).all() for own in zip(*without, strict=True))
    if unknown or min(np.nanmedian(own) for own in zip(*without, strict=True)) < 1e-9:
        return
    if unit_freedom(sizes**2) < FEWEST_FREE:
        assert math.isnan(result.low)
        return
    expected = interval(result.value, without, sizes, level)
    assert (result.low, result.high) == pytest.approx(expected, rel=1e-5)
    assert result.low <= result.value <= result.high


def random_log(rng, n, sizes):
    """Systems of different strength; battles of a unit have nothing in common."""
    log: Log = []
    for unit, size in enumerate(sizes):
        for _ in range(size):
            a, b = rng.choice(n, 2, replace=False).tolist()
            won = (
                0.5 if rng.random() < 0.2 else float(rng.random() < chance(np.arange(n) / 4, a, b))
            )
            log.append((a, b, won, unit))
    return log


@pytest.mark.parametrize("k", [1, 3])
def test_copies_of_battles_know_nothing_more(k):
    """G battles that stand there k times: k, but for the factor of few units."""
    log = random_log(np.random.default_rng(1), 4, [1] * 80)
    result = strength_effect(counted([own for own in log for _ in range(k)], 4))
    assert result.value == pytest.approx((80 * k - 1) / 79)
    assert result.value == pytest.approx(k, rel=0.02)
    assert (result.low, result.high) == pytest.approx((result.value, result.value))
    assert result.effective == pytest.approx(80, rel=0.02)


def undefined(result: DesignEffect) -> bool:
    return all(map(math.isnan, (result.value, result.low, result.high))) and result.n_pairs == 0


def test_where_there_is_none():
    none: tuple[Log, ...] = (
        [(0, 1, 1, 0), (0, 1, 0, 0)],  # one unit
        [(0, 1, 1, 0), (0, 1, 1, 1)],  # one system never lost
        [(0, 1, 1, 0), (1, 0, 1, 1), (2, 3, 1, 0), (3, 2, 1, 1)],  # two groups that never met
        [(0, 1, 0.5, 0), (1, 2, 0.5, 1), (2, 0, 0.5, 2)],  # all is as expected
    )
    for log in none:
        assert undefined(strength_effect(counted(log, 4))), log
    nothing = np.array([], dtype=np.int64)
    empty = UnitCounts.of(Battles(nothing, nothing, nothing.astype(float), n=3), nothing)
    assert undefined(strength_effect(empty))


def test_a_unit_that_alone_knows_something_warns_of_nothing():
    inner: Log = [(0, 1, 1, 0), (0, 1, 0, 0), (0, 1, 1, 0), (1, 2, 1, 0), (2, 1, 1, 0)]
    result = strength_effect(counted([*inner, (1, 2, 0.5, 0), (3, 0, 1, 1)], 4))
    assert not result.value > 1e-9
    assert math.isnan(result.low) or result.low == result.high


def alike(rng, n, n_units, size, common):
    """Prompts of one pair of equal systems each, whose battles toss the prompt's coin at times.

    Two battles of a prompt have a correlation of the square of the share that does, and the design
    effect is 1 + (size - 1) times that.
    """
    left = rng.integers(0, n, n_units)
    right = (left + rng.integers(1, n, n_units)) % n
    theirs = rng.random((n_units, size)) < common
    won = np.where(theirs, rng.random((n_units, 1)) < 0.5, rng.random((n_units, size)) < 0.5)
    unit = np.repeat(np.arange(n_units), size)
    log = Battles(left[unit], right[unit], won.ravel().astype(float), n)
    return UnitCounts.of(log, unit)


@pytest.mark.parametrize("common", [0.0, 0.8])
def test_an_effect_that_is_known(common):
    result = strength_effect(alike(np.random.default_rng(8), 5, 3000, 5, common))
    assert result.value == pytest.approx(1 + 4 * common**2, rel=0.07)
    assert result.low <= result.value <= result.high
    assert result.high / result.low < 1.2


def test_the_interval_covers():
    rng = np.random.default_rng(9)
    sets = [strength_effect(alike(rng, 4, 60, 5, 0.7)) for _ in range(150)]
    truth = 1 + 4 * 0.7**2
    share = np.mean([own.low <= truth <= own.high for own in sets])
    assert 0.91 <= share <= 0.99, share
    assert np.median([own.value for own in sets]) == pytest.approx(truth, rel=0.05)
