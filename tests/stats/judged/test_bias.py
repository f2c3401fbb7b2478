"""What sways a judge: the place of an answer, covariates, length; figures of papers and notes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.judged import realdata

from steelyard.core.errors import UsageError
from steelyard.stats.estimate import exact_sign_p
from steelyard.stats.judged.bias import (
    one_order_position,
    regress_errors,
    sides_are_fixed,
    swapped_position,
)
from steelyard.stats.prediction_powered.strengths import plain_strengths

RIGHT, TIE, LEFT = 0, 1, 2


def test_only_flips_are_tested() -> None:
    first = np.array([LEFT] * 6 + [RIGHT] * 1 + [LEFT] * 3 + [TIE, LEFT, -1])
    second = np.array([RIGHT] * 6 + [LEFT] * 1 + [LEFT] * 3 + [TIE, TIE, LEFT])
    result = swapped_position(first, second)
    assert (result.first, result.second, result.half) == (6, 1, 1)
    assert result.bias.n == 12  # one pair has no verdict in one order
    assert result.bias.value == pytest.approx(5 / 12)
    assert result.consistent.value == pytest.approx(4 / 12)
    assert result.p == pytest.approx(2 * (1 + 7) / 2**7)


def test_people_are_taken_off() -> None:
    judge, people = np.array([2, 2, 2, 0, 1, 2]), np.array([2, 0, -1, 0, 1, -1])
    result = one_order_position(judge, people)
    assert result.bias.value == pytest.approx(3 / 6)
    assert result.people.value == pytest.approx(-1 / 4)
    assert result.beyond_people.value == pytest.approx(2 / 4)
    assert result.beyond_people.n == 4


def test_fixed_sides_are_told_from_random_ones() -> None:
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        left = rng.integers(0, 6, 300)
        right = (left + rng.integers(1, 6, 300)) % 6
        wrong += sides_are_fixed(left, right)
    assert not wrong
    for met in (551, 60, 20):  # two systems: the tail of one square is heavy
        left = rng.integers(0, 2, (3000, met))
        assert sum(sides_are_fixed(row, 1 - row) for row in left) <= 1
    candidate = np.zeros(60, int)
    others = rng.integers(1, 4, 60)
    assert sides_are_fixed(candidate, others)
    result = one_order_position(np.full(60, LEFT), left=candidate, right=others)
    assert result.design == "fixed"
    assert not result.bias.known


@pytest.mark.parametrize(("n", "reach"), [(5, 0.434), (500, 0.0076)])
def test_no_flip_is_no_proof(n, reach):
    """Five pairs without a flip do not show that there is no bias; five hundred nearly do."""
    result = swapped_position(np.tile([0, 2], n)[:n], np.tile([0, 2], n)[:n])
    assert (result.bias.value, result.bias.se, result.consistent.value) == (0, 0, 1)
    assert (result.bias.low, result.bias.high) == pytest.approx((-reach, reach), abs=1e-3)
    assert result.consistent.low == pytest.approx(1 - reach, abs=1e-3)
    assert result.consistent.high == 1


@pytest.mark.parametrize("both_orders", [False, True])
def test_p_goes_by_unit(both_orders: bool) -> None:
    """A preference that varies by prompt around none is told to be one in about 5% of sets."""
    rng = np.random.default_rng(7)
    prompt = np.repeat(np.arange(30), 15)
    by_unit = by_row = 0
    for _ in range(200):
        prefers = np.clip(0.5 + 0.15 * rng.normal(size=30), 0, 1)[prompt]
        first = np.where(rng.random(450) < prefers, LEFT, RIGHT)
        if both_orders:  # all verdicts flip with the order
            result, naive = (swapped_position(first, 2 - first, unit=u).p for u in (prompt, None))
        else:
            result, naive = (one_order_position(first, unit=u).p for u in (prompt, None))
        by_unit += result < 0.05
        by_row += naive < 0.05
    assert 0.01 < by_unit / 200 < 0.08
    assert by_row / 200 > 0.13


def test_p_and_interval_of_units_agree() -> None:
    rng = np.random.default_rng(8)
    prompt = np.repeat(np.arange(12), 4)
    for _ in range(50):
        result = one_order_position(rng.integers(0, 3, 48), unit=prompt)
        assert (result.p < 0.05) == (not result.bias.low <= 0 <= result.bias.high)
    alone = one_order_position(np.array([2, 2, 0, 2]), unit=np.arange(4))
    assert alone.p == exact_sign_p(3, 1)  # units of one row each


def naive_regression(y, x, unit):
    """Least squares; the error is what leaving out unit by unit does to it (no factor)."""
    x = np.column_stack([np.ones(len(y)), x])
    inverse = np.linalg.inv(x.T @ x)
    b = inverse @ x.T @ y
    meat = np.zeros((x.shape[1],) * 2)
    for g in sorted(set(unit.tolist())):
        own = unit == g
        left_out, *_ = np.linalg.lstsq(x[~own], y[~own], rcond=None)
        meat += np.outer(b - left_out, b - left_out)
    return b, np.sqrt(np.diag(meat))


@given(st.integers(0, 5000), st.booleans())
def test_coefficients_and_errors(seed: int, grouped: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 24
    x = rng.normal(size=(n, 2))
    y = rng.normal(size=n)
    y[3] = np.nan
    unit = np.arange(n) // 3 if grouped else np.arange(n)
    result = regress_errors(
        y, {"length": x[:, 0], "lists": x[:, 1]}, unit=unit if grouped else None
    )
    keep = ~np.isnan(y)
    b, se = naive_regression(y[keep], x[keep], unit[keep])
    np.testing.assert_allclose([own.estimate.value for own in result], b, atol=1e-10)
    np.testing.assert_allclose([own.estimate.se for own in result], se, rtol=1e-8)
    assert all(own.p <= own.p_adjusted <= 1 for own in result)


def test_columns_that_say_nothing_are_named() -> None:
    rng = np.random.default_rng(0)
    e, x = rng.normal(size=20), rng.normal(size=20)
    with pytest.raises(UsageError, match="'same' is the same in all"):
        regress_errors(e, {"same": np.ones(20)})
    with pytest.raises(UsageError, match="'twice' follows from 'once'"):
        regress_errors(e, {"once": x, "twice": 2 * x + 1})
    with pytest.raises(UsageError, match="2 labelled rows"):
        regress_errors(np.where(np.arange(20) < 2, e, np.nan), {"x": x})
    with pytest.raises(UsageError, match="2 units"):
        regress_errors(e, {"x": x}, unit=np.arange(20) % 2)


def test_a_judge_without_bias_keeps_the_level() -> None:
    """Errors that share a prompt and spread with length: 5 of 100 rejected, within three s.e."""
    rng = np.random.default_rng(1)
    result = 0
    for _ in range(300):
        prompt = np.repeat(np.arange(40), 4)
        length = rng.normal(size=40)[prompt] + rng.normal(size=160)
        errors = rng.normal(size=40)[prompt] + rng.normal(size=160) * np.exp(length / 3)
        result += regress_errors(errors, {"length": length}, unit=prompt)[1].p < 0.05
    assert abs(result / 300 - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 300)


def test_regression_in_the_arena(shared: Path) -> None:
    log = realdata.arena(shared)
    human = log.points("human")
    strength = plain_strengths(log.left, log.right, human, 20).log_strength
    gap = strength[log.left] - strength[log.right]
    for judge, family, wanted in (
        ("gpt-4-0125-preview", "gpt-4", (0.0343, 0.0026, 0.0478, 0.0028, -0.0488, 0.0075)),
        ("claude-3-opus", "claude", (-0.0759, None, -0.0493, None, 0.0268, 0.0075)),
        ("gpt-3.5-turbo", "gpt-3.5", (0.3609, None, -0.1535, None, -0.0080, None)),
    ):
        kin = np.array([system.startswith(family) for system in log.systems], dtype=float)
        own = kin[log.left] - kin[log.right]
        errors = log.points(judge) - human
        result = regress_errors(errors, {"exaggeration": gap, "own": own})
        ours = [x for one in result for x in (one.estimate.value, one.estimate.se)]
        for value, target in zip(ours, wanted, strict=True):
            assert target is None or value == pytest.approx(target, abs=7e-5)


def test_regression_on_pandalm(shared: Path) -> None:
    log = realdata.pandalm(shared)
    human = realdata.majority(log)
    left, right = log.numbers("chars_left"), log.numbers("chars_right")
    length = (left - right) / (left + right)
    length = (length - length.mean()) / length.std()
    for judge, slope, se in (("pandalm-7b", -0.0250, 0.0141), ("gpt-3.5-turbo", -0.0488, 0.0136)):
        own = np.nan_to_num(log.points(judge), nan=0.5)  # unparsed as ties, as the figures are
        result = regress_errors(own - human, {"length": length})[1].estimate
        assert (result.value, result.se) == pytest.approx((slope, se), abs=6e-5)


def test_what_a_single_row_decides_has_no_interval():
    """A dummy of one row: its own coefficient has no error, those of others keep theirs."""
    rng = np.random.default_rng(0)
    x, errors = rng.normal(size=(2, 30))
    lone = np.zeros(30)
    lone[7] = 1
    constant, length, dummy = regress_errors(errors, {"length": x, "lone": lone})
    assert not dummy.estimate.bounded
    assert dummy.estimate.why == "no interval: a single unit decides it"
    assert dummy.p == 1
    without = np.delete(np.arange(30), 7)
    expected = regress_errors(errors[without], {"length": x[without]})
    for one, other in zip((constant, length), expected, strict=True):
        assert one.estimate.value == pytest.approx(other.estimate.value)
        assert one.estimate.se == pytest.approx(other.estimate.se)
