"""Strengths as ratings: another unit, the same verdicts."""

from __future__ import annotations

import json

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison.logs import on_elo_scale
from steelyard.comparison.results import Ranked
from steelyard.core.table import dumps
from steelyard.data.judgements import BattleLog


@pytest.fixture(scope="module")
def log() -> BattleLog:
    """Battles of five systems of known strengths, each pair in both places."""
    rng = np.random.default_rng(5)
    strength = np.array([8.0, 4.0, 2.0, 1.0, 1.0])
    left, right = (codes.astype(np.int32) for codes in rng.integers(0, 5, (2, 900)))
    left, right = left[left != right], right[left != right]
    won = rng.random(len(left)) < strength[left] / (strength[left] + strength[right])
    return BattleLog(tuple("ABCDE"), left, right, won.astype(float))


def test_ratings_are_the_strengths_in_another_unit(log):
    plain = sy.compare_battles(log, n_bootstrap=50)
    rated = sy.compare_battles(log, n_bootstrap=50, by=[sy.bt(scale="elo"), "mean"])
    own, bt = rated.aggregations["bt"], plain.aggregations["bt"]
    assert own.scores.mean() == pytest.approx(1000)
    strengths = 10 ** (own.scores / 400)
    np.testing.assert_allclose(strengths / strengths.sum(), bt.scores)
    gap = own.scores[:, None] - own.scores
    np.testing.assert_allclose(1 / (1 + 10 ** (-gap / 400)), bt.pairwise, atol=1e-12)
    for end in ("low", "high"):
        ratio = getattr(bt, end) / bt.scores
        moved = getattr(own, end) - own.scores
        np.testing.assert_allclose(moved, 400 * np.log10(ratio))
    off = ~np.eye(5, dtype=bool)
    assert own.gap_ci is not None
    assert (own.gap_ci[0][off] <= gap[off]).all()
    assert (gap[off] <= own.gap_ci[1][off]).all()


def test_verdicts_do_not_depend_on_the_unit(log):
    plain = json.loads(dumps(sy.compare_battles(log, n_bootstrap=50).to_dict()))
    rated = json.loads(
        dumps(sy.compare_battles(log, n_bootstrap=50, by=[sy.bt(scale="elo"), "mean"]).to_dict())
    )
    assert plain["tests"] == rated["tests"]
    assert plain["clusters"] == rated["clusters"]
    for kept in ("ranks", "rank_ci", "pairwise", "pairwise_ci"):
        assert plain["aggregations"]["bt"][kept] == rated["aggregations"]["bt"][kept]
    assert plain["aggregations"]["mean"] == rated["aggregations"]["mean"]
    assert "scale:elo" in rated["provenance"]["signature"]
    assert "scale" not in plain["provenance"]["signature"]


def test_no_strength_has_no_rating():
    found = on_elo_scale(Ranked(np.array([0.5, 0.5, np.nan, 0.0]), np.ones(4), np.zeros((0, 0))))
    np.testing.assert_array_equal(found.scores, [1000, 1000, np.nan, np.nan])
    none = on_elo_scale(Ranked(np.full(2, np.nan), np.ones(2), np.zeros((0, 0))))
    assert np.isnan(none.scores).all()
