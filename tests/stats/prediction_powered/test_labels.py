"""How many labels, and which ones next."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import UsageError
from steelyard.stats.prediction_powered.labels import (
    labels_for_half_width,
    labels_for_kappa,
    next_probabilities,
    worth_of_labels,
)


def test_what_labels_are_worth() -> None:
    assert worth_of_labels(0.63, 100, 900) == pytest.approx(
        100 * 1000 / (100 + 900 * (1 - 0.63**2))
    )
    assert worth_of_labels(1.0, 100, 900) == 1000
    for rho, saved in ((0.3, 0.09), (0.5, 0.25), (0.8, 0.64)):
        many = worth_of_labels(rho, 100, 1e9)
        assert 1 - 100 / many == pytest.approx(saved, abs=1e-4)


@given(st.floats(0.1, 2), st.floats(0, 0.95), st.floats(0.02, 0.5))
def test_fewest_labels_for_a_half_width(spread: float, rho: float, half: float) -> None:
    result = labels_for_half_width(spread, rho, half, 500)
    widths = [1.959963984540054 * spread * np.sqrt((1 - rho**2 * (500 - n) / 500) / n)
              for n in range(2, 501)]  # fmt: skip
    enough = [n for n, width in zip(range(2, 501), widths, strict=True) if width <= half]
    assert result == (enough[0] if enough else None)


def test_kappa() -> None:
    assert labels_for_kappa(0.1, 100, 0.1) == pytest.approx(385, abs=1)
    assert labels_for_kappa(0.0, 100, 0.1) == 2


@given(st.integers(0, 5000), st.integers(1, 60))
def test_next_rows_are_within_the_budget(seed: int, budget: int) -> None:
    rng = np.random.default_rng(seed)
    judge = rng.random(100)
    judge[:5] = np.nan
    human = np.where(rng.random(100) < 0.3, (rng.random(100) < judge).astype(float), np.nan)
    free = np.isnan(human) & ~np.isnan(judge)
    if budget > free.sum():
        with pytest.raises(UsageError, match="have no label"):
            next_probabilities(judge, human, budget)
        return
    result = next_probabilities(judge, human, budget)
    assert result.sum() == pytest.approx(budget)
    assert (result[free] > 0).all()
    assert (result <= 1).all()
    assert not result[~free].any()


def test_without_a_pilot_all_rows_are_alike() -> None:
    result = next_probabilities(np.arange(10.0), np.full(10, np.nan), 4)
    np.testing.assert_allclose(result, 0.4)
