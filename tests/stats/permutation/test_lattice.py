"""Whole numbers of a lattice: narrow ones, and their divisions."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.stats.permutation import lattice, pvalues


@pytest.mark.parametrize("top", [30, 16_383, 16_384, 40_000])
def test_few_bytes_hold_the_same_numbers(top):
    rng = np.random.default_rng(top)
    scores = rng.integers(-top, top + 1, (4, 25)).astype(float)
    scores[0, 0], scores[1, 0] = top, -top  # as far apart as can be
    narrow = lattice.in_few_bytes(scores, 2.0 * top)
    assert narrow.dtype == (np.int16 if top < 16_384 else np.float64)
    np.testing.assert_array_equal(narrow[0] - narrow[1], scores[0] - scores[1])
    found = pvalues.pairwise_pvalues(scores)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pvalues, "in_few_bytes", lambda whole, _: whole)
        wide = pvalues.pairwise_pvalues(scores)
    assert found.how == wide.how
    np.testing.assert_array_equal(found.p, wide.p)


def test_numbers_are_divided_as_python_does():
    numbers = np.arange(-50, 50).reshape(4, 25)
    whole, rest = lattice._divided(numbers.copy(), 7)
    np.testing.assert_array_equal(whole, numbers // 7)
    np.testing.assert_array_equal(rest, numbers % 7)


def test_a_step_that_few_scores_show_is_found():
    """A sample sees quarters; three scores of 4,000 are between them."""
    scores = np.random.default_rng(0).integers(0, 40, (4, 1000)) / 4 * 0.7
    scores[1, [7, 77, 777]] += 0.7 / 28
    whole = lattice.as_lattice(scores)
    assert whole is not None
    steps = (scores - scores.min()) / (0.7 / 28)
    np.testing.assert_array_equal(whole - whole.min(), np.rint(steps))
    scores[2, 5] += 1e-3 * np.pi
    assert lattice.as_lattice(scores) is None


def test_counts_are_those_of_each_row_however_they_come():
    gaps = np.array([[3, -3, 0, 1], [0, 0, 0, 2], [5, 1, -1, 0]])
    expected = [[1, 0, 2, 0], [0, 1, 0, 0], [2, 0, 0, 1]]  # of 1, 2, 3 and 5
    for most, sums in ((None, None), (5.0, None), (9.0, gaps.sum(axis=1)), (1e9, None)):
        parts = (gaps[:2].astype(float), gaps[2:].astype(float))
        values, counts, t = lattice._step_counts(parts, most, sums)
        assert values.tolist() == [1, 2, 3, 5]
        assert counts.tolist() == expected
        assert t.tolist() == gaps.sum(axis=1).tolist()
