"""Other pairings of the same scores: the paper's Table 2, brute force, and by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from steelyard.comparison.pair import decide
from steelyard.core.errors import ShapeError, UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.stats.paired.arrangements import ARRANGEMENTS, arrange, rearranged, win_range

# Table 2 of the paper on paired evaluation: strengths of two systems on five types of segments.
S = np.array([23.0, 50, 40, 70, 60])
B = np.array([28.0, 45, 30, 65, 50])
few = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6)


def test_table_2_and_all_its_pairings():
    """Any permutation of the types of S leaves both distributions as they are (appendix A.1)."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(2, 5, 40))
    b = (B[:, None] + noise[1]).ravel()
    shares = {}
    for order in permutations(range(5)):
        s = (S[:, None] + noise[0])[list(order)].ravel()
        way = rearranged(s, b, rng)[0]
        assert way.difference_of_means == pytest.approx(S.mean() - B.mean(), abs=0.3)
        assert sorted(s) == pytest.approx(sorted((S[:, None] + noise[0]).ravel()))
        types = S[list(order)]
        share = ((types > B) + 0.5 * (types == B)).mean()  # equal strengths win half of the time
        assert way.superiority == pytest.approx(share, abs=0.06)
        shares[order] = share
    assert shares[0, 1, 2, 3, 4] == 0.8  # as printed: S wins on four of five types
    # Means and medians prefer S however types are paired; wins do not.
    assert (min(shares.values()), max(shares.values())) == (0.3, 0.8)
    assert S.mean() > B.mean()
    assert np.median(S) > np.median(B)
    found = {way.name: way.superiority for way in rearranged(S, B, rng)}
    assert (found["as it is"], found["sorted"], found["reversed"]) == (0.8, 0.8, 0.6)


@given(few)
def test_the_range_of_wins_against_all_pairings(rows):
    a, b = (np.array(own, dtype=float) for own in zip(*rows, strict=True))
    wins = [sum(x > y for x, y in zip(order, b, strict=True)) for order in permutations(a)]
    assert win_range(a, b) == (min(wins), max(wins))


@given(st.integers(0, 10_000), st.booleans())
def test_what_does_and_does_not_change(seed, tied):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 25)) + rng.normal(size=25)
    if tied:
        a, b = np.round(a), np.round(b)
    found = {way.name: way for way in rearranged(a, b, rng)}
    for way in found.values():
        assert way.difference_of_means == pytest.approx(a.mean() - b.mean())
        assert way.difference_of_medians == pytest.approx(np.median(a) - np.median(b))
    own = found["as it is"]
    assert own.median_of_differences == pytest.approx(np.median(a - b))
    assert own.superiority == pytest.approx(((a > b) + 0.5 * (a == b)).mean())
    if np.any(a != b):
        assert own.p_t == pytest.approx(scipy_stats.ttest_rel(a, b).pvalue)
    wins, losses = int((a > b).sum()), int((a < b).sum())
    if wins + losses:
        sign = scipy_stats.binomtest(wins, wins + losses).pvalue
        assert own.p_sign == pytest.approx(sign)
    every = np.subtract.outer(a, b)
    chance = found["independent"]
    assert chance.superiority == pytest.approx(((every > 0) + 0.5 * (every == 0)).mean())
    assert found["reversed"].correlation <= own.correlation + 1e-9
    assert own.correlation <= found["sorted"].correlation + 1e-9
    least, most = win_range(a, b)
    for name in ("as it is", "sorted", "reversed"):
        x, y = arrange(a, b, name, rng)
        assert least <= (x > y).sum() <= most


def test_independent_samples_are_what_an_unpaired_test_sees():
    rng = np.random.default_rng(0)
    easy = 3 * rng.normal(size=400)
    a, b = easy + 0.2 + rng.normal(size=400), easy + rng.normal(size=400)
    found = {way.name: way for way in rearranged(a, b, rng)}
    welch = scipy_stats.ttest_ind(a, b).pvalue
    assert found["independent"].p_t == pytest.approx(welch, abs=0.03)
    assert found["as it is"].p_t < 0.01 < found["independent"].p_t


def test_edges():
    rng = np.random.default_rng(0)
    one = rearranged(np.array([1.0]), np.array([1.0]), rng)
    assert [way.name for way in one] == list(ARRANGEMENTS)
    assert all(way.superiority == 0.5 for way in one)
    assert all(way.p_sign == 1.0 for way in one)
    same = rearranged(np.ones(4), np.ones(4), rng)
    assert all(np.isnan(way.correlation) for way in same if way.name != "independent")
    assert win_range(np.ones(4), np.ones(4)) == (0, 0)
    with pytest.raises(UsageError, match="known: as it is, independent, sorted, reversed"):
        arrange(np.ones(2), np.ones(2), "other", rng)
    with pytest.raises(ShapeError):
        arrange(np.ones(2), np.ones(3), "sorted", rng)
    with pytest.raises(ShapeError):
        win_range(np.ones(2), np.ones(3))


@pytest.mark.parametrize("better", [True, False])
def test_the_card_holds_them(better):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 40))
    ids = tuple(str(i) for i in range(40))
    table = ScoreTable(values, higher_is_better=better)
    es = EvalSet(("A", "B"), Segments(ids), {"m": table})
    card = decide(es, ("A", "B"), n_bootstrap=20).to_dict()
    ways = {way["name"]: way for way in card["pairings"]["ways"]}
    own = ways["as it is"]
    assert own["superiority"] == card["superiority"]
    assert own["difference_of_means"] == pytest.approx(card["difference"])
    assert own["median_of_differences"] == (
        pytest.approx(card["readings"]["median_of_differences"]["value"])
    )
    least, most = card["pairings"]["possible_wins"]
    assert least <= card["wins"] <= most
    assert decide(es, ("A", "B"), n_bootstrap=20).to_dict()["pairings"] == card["pairings"]
