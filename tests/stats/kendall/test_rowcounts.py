"""Counts of many rows at once against one row at a time."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.kendall.counting import count_columns
from steelyard.stats.kendall.rowcounts import count_rows
from steelyard.stats.kendall.weighted import TieWidths, tally
from steelyard.stats.permutation.pvalues import pair_index


@given(
    st.integers(2, 30), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.5]),
    st.integers(0, 1000),
)  # fmt: skip
def test_rows_against_one_at_a_time(n, epsilon, threshold, seed):
    rng = np.random.default_rng(seed)
    human, rows = np.round(rng.normal(size=n), 1), np.round(rng.normal(size=(4, n)), 1)
    found = asdict(count_rows(human, rows, TieWidths(epsilon=epsilon, threshold=threshold)))
    for k, row in enumerate(rows):
        expected = count_columns(human[:, None], row[:, None], epsilon=epsilon, threshold=threshold)
        assert {kind: int(x[k]) for kind, x in found.items()} == {
            kind: int(x[0]) for kind, x in asdict(expected).items()
        }


@given(st.integers(2, 12), st.integers(0, 1000))
def test_rounding_ties_as_in_sums_of_terms(n, seed):
    rng = np.random.default_rng(seed)
    human, rows = np.round(rng.normal(size=n), 1), np.round(rng.normal(size=(5, n)), 1)
    ties, rounding = TieWidths(), (0.11, 0.21)
    i, j = pair_index(n)
    terms = ties.terms((human[i] - human[j])[None], rows[:, i] - rows[:, j], rounding)
    expected = tally(*(np.broadcast_to(term, (5, len(i))).sum(axis=1) for term in terms))
    found = count_rows(human, rows, ties, rounding)
    for kind, values in asdict(expected).items():
        np.testing.assert_array_equal(asdict(found)[kind], values)
