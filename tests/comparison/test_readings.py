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


@given(st.integers(0, 10_000), st.booleans())
def test_readings_are_what_proposition_1_names(seed, better):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, (3, 24)).astype(float)
    rows[0, 3] = NAN
    found = decide(make(rows, better=better), ("A", "B"), n_bootstrap=20).to_dict()["readings"]
    values = [found[name]["value"] for name in found]
    assert values == pytest.approx(naive(rows[0], rows[1]))


def test_one_unit_has_readings_without_intervals():
    rows = np.random.default_rng(0).normal(size=(2, 20))
    card = decide(make(rows, documents=("d",) * 20), ("A", "B"), unit="document", n_bootstrap=20)
    assert all(np.isnan(one.ci).all() for one in card.readings)
    assert not np.isnan([one.value for one in card.readings]).any()


def test_medians_of_right_and_wrong_are_not_shown():
    rows = np.random.default_rng(0).integers(0, 2, (4, 60)).astype(float)
    card = decide(make(rows), ("A", "B"), n_bootstrap=20)
    assert "median" not in card.table().text()
    assert card.to_dict()["readings"]["median_of_differences"]["value"] is not None


@pytest.mark.thorough
@pytest.mark.parametrize("blocks", [None, 4])
def test_intervals_of_medians_cover(blocks):
    rng = np.random.default_rng(1)
    inside, n, sets = np.zeros(2), 120, 100
    names = None if blocks is None else tuple(f"d{i // blocks}" for i in range(n))
    for _ in range(sets):
        easy = rng.normal(size=n)
        shared = 0 if blocks is None else np.repeat(rng.normal(0, 0.5, n // blocks), blocks)
        a = easy + 0.3 + shared + rng.normal(0, 1, n)
        b = easy + rng.normal(0, 1, n)
        card = decide(make([a, b], documents=names), ("A", "B"), n_bootstrap=400, rng=rng)
        ends = np.array([reading.ci for reading in card.readings[1:]])
        inside += (ends[:, 0] <= 0.3) & (ends[:, 1] >= 0.3)
    assert (inside / sets > 0.90).all()
    assert (inside / sets <= 1).all()


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
