"""What sways a judge: the regression against a naive one, its refusals, and real judges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.judged import realdata

from steelyard.core.errors import UsageError
from steelyard.stats.judged.errorregression import regress_errors
from steelyard.stats.judged.stylestrength import styled_strengths


def naive(y, x, unit):
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
    found = regress_errors(y, {"length": x[:, 0], "lists": x[:, 1]}, unit=unit if grouped else None)
    keep = ~np.isnan(y)
    b, se = naive(y[keep], x[keep], unit[keep])
    np.testing.assert_allclose([own.estimate.value for own in found], b, atol=1e-10)
    np.testing.assert_allclose([own.estimate.se for own in found], se, rtol=1e-8)
    assert all(own.p <= own.p_adjusted <= 1 for own in found)


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
    found = 0
    for _ in range(500):
        prompt = np.repeat(np.arange(40), 4)
        length = rng.normal(size=40)[prompt] + rng.normal(size=160)
        errors = rng.normal(size=40)[prompt] + rng.normal(size=160) * np.exp(length / 3)
        found += regress_errors(errors, {"length": length}, unit=prompt)[1].p < 0.05
    assert abs(found / 500 - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 500)


def test_arena(shared: Path) -> None:
    log = realdata.arena(shared)
    human = log.points("human")
    strength = styled_strengths(log.left, log.right, human, 20).log_strength
    gap = strength[log.left] - strength[log.right]
    for judge, family, wanted in (
        ("gpt-4-0125-preview", "gpt-4", (0.0343, 0.0026, 0.0478, 0.0028, -0.0488, 0.0075)),
        ("claude-3-opus", "claude", (-0.0759, None, -0.0493, None, 0.0268, 0.0075)),
        ("gpt-3.5-turbo", "gpt-3.5", (0.3609, None, -0.1535, None, -0.0080, None)),
    ):
        kin = np.array([system.startswith(family) for system in log.systems], dtype=float)
        own = kin[log.left] - kin[log.right]
        errors = log.points(judge) - human
        found = regress_errors(errors, {"exaggeration": gap, "own": own}, kind="HC0")
        ours = [x for one in found for x in (one.estimate.value, one.estimate.se)]
        for value, target in zip(ours, wanted, strict=True):
            assert target is None or value == pytest.approx(target, abs=6e-5)


def test_pandalm(shared: Path) -> None:
    log = realdata.pandalm(shared)
    human = realdata.majority(log)
    left, right = log.numbers("chars_left"), log.numbers("chars_right")
    length = (left - right) / (left + right)
    length = (length - length.mean()) / length.std()
    for judge, slope, se in (("pandalm-7b", -0.0250, 0.0141), ("gpt-3.5-turbo", -0.0488, 0.0136)):
        own = np.nan_to_num(log.points(judge), nan=0.5)  # unparsed as ties, as the figures are
        found = regress_errors(own - human, {"length": length})[1].estimate
        assert (found.value, found.se) == pytest.approx((slope, se), abs=6e-5)


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
