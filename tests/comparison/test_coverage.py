"""Intervals of 95 % cover the truth in 95 % of simulated data sets, for all five rankings."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.comparison.options import RankOptions
from steelyard.comparison.rankings import AGGREGATIONS, Sample, with_intervals
from steelyard.stats.arrays import Floats
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.sequential import EloOptions, TrueSkillOptions, scores_in_orders
from steelyard.stats.strength.wins import win_counts

QUALITY = np.array([-0.35, -0.05, 0.1, 0.3])
SEGMENTS = 80


def draw(size: int, rng: np.random.Generator) -> Floats:
    """Scores on segments that are easy or hard for all, with ties now and then."""
    scores = QUALITY[:, None] + rng.normal(size=size) + rng.normal(size=(len(QUALITY), size))
    return np.asarray(scores.round(2))


def truth(name: str, rng: np.random.Generator) -> Floats:
    """What the ranking comes to in the population."""
    if name in ("mean", "median"):  # both sides of the distribution are alike
        return QUALITY
    pool = draw(100_000, rng)
    if name == "bt":
        counts = win_counts(pool)
        return bradley_terry(counts.wins, counts.ties).strength
    # Every sequence of new segments is a data set in a random order.
    order = rng.integers(0, pool.shape[1], size=(5_000, SEGMENTS))
    if name == "elo":
        return np.asarray(scores_in_orders(EloOptions(), pool, order, rng).scores.mean(axis=0))
    return np.asarray(scores_in_orders(TrueSkillOptions(), pool, order, rng).scores.mean(axis=0))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "trials", "near"),  # fewer trials of what is dear, and more room for chance
    [("mean", 1000, 0.02), ("median", 600, 0.02), ("bt", 400, 0.02), ("elo", 150, 0.03),
     ("trueskill", 80, 0.03)],
)  # fmt: skip
def test_intervals_cover_the_truth(name, trials, near):
    rng = np.random.default_rng(7)
    expected = truth(name, rng)
    options = RankOptions(orders=25)
    hits = []
    for _ in range(trials):
        drawn = draw(SEGMENTS, rng)
        sample = Sample(drawn, tuple("ABCD"), counts=segment_counts(250, SEGMENTS, rng))
        ranked = with_intervals(AGGREGATIONS[name](sample, options, rng), 0.95)
        assert ranked.ci is not None
        hits.append((ranked.ci[0] <= expected) & (expected <= ranked.ci[1]))
    assert np.mean(hits) == pytest.approx(0.95, abs=near), np.mean(hits, axis=0)
