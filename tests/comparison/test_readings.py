"""The card's three readings of a difference (Proposition 1), and its decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.comparison.card import decide
from steelyard.comparison.run import compare
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments

NAN = float("nan")


def make(rows: Any, *, better: bool = True, **segments: Any) -> EvalSet:
    values = np.array(rows, dtype=float)
    ids = tuple(str(i) for i in range(values.shape[1]))
    table = ScoreTable(values, higher_is_better=better)
    return EvalSet(tuple("ABCDEFGHIJ"[: len(values)]), Segments(ids, **segments), {"m": table})


def naive(a: np.ndarray, b: np.ndarray) -> list[float]:
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    return [a.mean() - b.mean(), float(np.median(a) - np.median(b)), float(np.median(a - b))]


@given(st.integers(0, 10_000), st.integers(4, 60), st.sampled_from([0.0, 0.4, 1.0]))
def test_interval_and_p_never_contradict_each_other(seed, n, lead):
    """In the card and in the comparison, of few segments and of many."""
    rows = np.random.default_rng(seed).normal(size=(2, n)).round(1)
    rows[0] += lead
    es = make(rows)
    card = decide(es, ("A", "B"), n_bootstrap=100)
    result = compare(es, by="mean", n_bootstrap=100)
    for decision in (card.decision, result.decision("A", "B")):
        if not np.isnan([decision.p, decision.low]).any():
            assert (decision.low > 0) == (decision.p < 0.05)
        assert decision.difference == pytest.approx(abs(rows[0].mean() - rows[1].mean()))
    assert not (n < 6 and card.decision.significant)


def test_the_card_corrects_for_all_pairs_of_the_set():
    rows = np.random.default_rng(0).normal(np.linspace(0, 1, 5)[:, None], 1, (5, 60))
    card = decide(make(rows), ("A", "B"), n_bootstrap=50)
    result = compare(make(rows), by="mean", tests="permutation", n_bootstrap=50)
    pair = result.decision("A", "B")
    assert (card.decision.n_pairs, pair.n_pairs) == (10, 10)
    assert card.decision.p_adjusted == pytest.approx(pair.p_adjusted)
    assert card.p == pytest.approx(pair.p)
    assert decide(make(rows[:2]), ("A", "B"), n_bootstrap=50).decision.n_pairs == 1
