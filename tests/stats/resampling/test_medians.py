"""Medians of resamples are those of copies of the segments, wherever half of a resample lies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.resampling import medians
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.resampling.medians import bootstrap_medians

NAN = float("nan")


def naive(scores, counts):
    """Copy the segments, and take the median of what is known."""
    found = np.full((len(counts), len(scores)), NAN)
    for b, own in enumerate(counts.astype(int)):
        for r, row in enumerate(scores):
            copies = np.repeat(row, own)
            known = copies[~np.isnan(copies)]
            if known.size:
                found[b, r] = np.median(known)
    return found


@given(
    st.integers(1, 60), st.integers(1, 4), st.integers(0, 3), st.integers(0, 10**6), st.booleans()
)
def test_medians_are_those_of_copies(size, rows, seed, levels, missing):
    rng = np.random.default_rng([seed, levels])
    scores = rng.integers(0, 1 + levels % 50, (rows, size)) / 4.0
    if missing:
        scores[rng.random(scores.shape) < 0.4] = NAN
    counts = segment_counts(12, size, rng, rng.integers(0, 9, size) if levels % 2 else None)
    counts[0] = 0  # an empty resample
    np.testing.assert_array_equal(bootstrap_medians(scores, counts), naive(scores, counts))


@pytest.mark.parametrize("slack", [8, 0])
def test_half_outside_the_window_is_found_too(slack, monkeypatch):
    """The window is a guess: counts whose middle is far from the data's are added up in full."""
    monkeypatch.setattr(medians, "_SLACK", slack)
    monkeypatch.setattr(medians, "_SPREAD", 0.0)
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(3, 400))
    order = np.argsort(scores[0])
    counts = segment_counts(60, 400, rng)
    counts[0], counts[1] = 0, 0
    counts[0, order[:5]] = 80  # all of it at the lowest scores
    counts[1, order[-5:]] = 80
    counts[2:30, order[150:250]] = 0  # nothing where the middle should be
    np.testing.assert_array_equal(bootstrap_medians(scores, counts), naive(scores, counts))


def test_only_a_window_is_added_up(monkeypatch):
    """The work beside the sort and the products is that of a few deviations of a count."""
    added = []
    whole = medians._reached

    def spied(counts, base, ends):
        added.append(len(counts))
        return whole(counts, base, ends)

    monkeypatch.setattr(medians, "_reached", spied)
    rng = np.random.default_rng(0)
    for size in (1_000, 16_000):
        bootstrap_medians(rng.normal(size=(1, size)), segment_counts(100, size, rng))
    assert len(added) == 2, "no resample fell outside the window"
    assert added[1] < 16 * added[0] / 2, "16 times the segments, about 4 times the window"


def test_draws_do_not_depend_on_how_many_are_held(monkeypatch):
    from steelyard.stats.resampling import bootstrap

    whole = segment_counts(50, 37, np.random.default_rng(5))
    monkeypatch.setattr(bootstrap, "_DRAWN", 1)
    np.testing.assert_array_equal(segment_counts(50, 37, np.random.default_rng(5)), whole)
    drawn = np.random.default_rng(5).integers(0, 37, (50, 37))
    np.testing.assert_array_equal(whole, [np.bincount(row, minlength=37) for row in drawn])
