"""Hybrid systems: drawn by definition, scored cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.hybrids import Hybrids, draw_hybrids
from steelyard.stats.permutation.corpus import CorpusStatistics


def quotient(sums):
    return sums[..., 0] / sums[..., 1]


@given(st.integers(0, 10**6), st.integers(3, 7), st.integers(2, 3))
def test_a_hybrid_takes_each_segment_from_one_of_its_systems(seed, n, parts):
    mixed = draw_hybrids(20, n, 15, parts, np.random.default_rng(seed))
    assert len(mixed) == 20
    for taken, members in zip(mixed.taken, mixed.members, strict=True):
        assert len(set(members.tolist())) == parts
        assert set(taken.tolist()) <= set(members.tolist())


def test_systems_and_parts_are_drawn_evenly():
    mixed = draw_hybrids(4000, 5, 40, 2, np.random.default_rng(0))
    shares = np.bincount(mixed.taken.ravel(), minlength=5) / mixed.taken.size
    assert shares == pytest.approx(np.full(5, 0.2), abs=0.01)
    first = (mixed.taken == mixed.members[:, :1]).mean()
    assert first == pytest.approx(0.5, abs=0.01)


@given(st.integers(0, 10**6))
def test_means_are_those_of_the_outputs_that_were_taken(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(4, 9))
    scores[rng.random((4, 9)) < 0.2] = np.nan
    mixed = draw_hybrids(6, 4, 9, 2, rng)
    counts = rng.integers(0, 3, size=(5, 9)).astype(float)
    means, drawn = mixed.means(scores), mixed.means(scores, counts)
    for h in range(6):
        own = [scores[mixed.taken[h, k], k] for k in range(9)]
        known = [x for x in own if not np.isnan(x)]
        expected = sum(known) / len(known) if known else np.nan
        assert means[0, h] == pytest.approx(expected, nan_ok=True)
        for b in range(5):
            pairs = [(c, x) for c, x in zip(counts[b], own, strict=True) if not np.isnan(x)]
            total = sum(c for c, _ in pairs)
            expected = sum(c * x for c, x in pairs) / total if total else np.nan
            assert drawn[b, h] == pytest.approx(expected, nan_ok=True)


@given(st.integers(0, 10**6))
def test_corpus_scores_are_made_of_the_sums_of_what_was_taken(seed):
    rng = np.random.default_rng(seed)
    stats = CorpusStatistics(rng.integers(1, 9, size=(4, 9, 2)).astype(float), quotient)
    mixed = draw_hybrids(6, 4, 9, 3, rng)
    counts = rng.integers(1, 3, size=(2, 9)).astype(float)
    whole, drawn = mixed.corpus(stats), mixed.corpus(stats, counts)
    for h in range(6):
        own = np.array([stats.values[mixed.taken[h, k], k] for k in range(9)])
        top, bottom = own.sum(axis=0)
        assert whole[0, h] == pytest.approx(top / bottom)
        for b in range(2):
            top, bottom = counts[b] @ own
            assert drawn[b, h] == pytest.approx(top / bottom)


def test_a_hybrid_counts_as_often_as_its_systems_together():
    mixed = Hybrids(np.zeros((3, 1), dtype=np.int64), np.array([[0, 1], [0, 2], [1, 2]]))
    found = mixed.weights(np.array([[1.0, 1, 1], [3.0, 0, 1]]))
    assert found.tolist() == [[1, 1, 1], [0, 3, 0]]


def test_what_does_not_fit_is_refused():
    mixed = draw_hybrids(2, 3, 4, 2, np.random.default_rng(0))
    with pytest.raises(ShapeError, match="of hybrids of 4 segments"):
        mixed.scores(np.ones((3, 5)))
    with pytest.raises(UsageError, match="parts is a whole number between 2 and 3"):
        draw_hybrids(2, 3, 4, 5, np.random.default_rng(0))
