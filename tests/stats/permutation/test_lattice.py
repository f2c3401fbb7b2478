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
