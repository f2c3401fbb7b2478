"""Tests by the signs of units: against all signs, the tests of segments, and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.tests import flip_tails
from steelyard.stats.permutation.pvalues import ALTERNATIVES

NAN = float("nan")
CELL = st.one_of(st.integers(-3, 3).map(float), st.just(NAN))
SCORES = arrays(np.float64, (3, 14), elements=CELL)
WHOLE = arrays(np.float64, (3, 14), elements=st.integers(-3, 3).map(float))
BLOCKS = arrays(np.int64, 14, elements=st.integers(-2, 5))  # up to eight units
SIDES = pytest.mark.parametrize("alternative", ALTERNATIVES)


def under_all_signs(x, y, blocks, kernel, alternative):
    """Swap whole units in all ways, and score each segment again every time."""
    both = ~np.isnan(x - y)
    x, y, blocks = x[both], y[both], blocks[both]
    if not x.size:
        return NAN
    names = np.unique(blocks)
    null = []
    for swaps in itertools.product((False, True), repeat=len(names)):
        swapped = np.isin(blocks, names[np.array(swaps)])
        null.append(kernel(np.where(swapped, y, x), np.where(swapped, x, y)))
    if np.isnan(null[0]):
        return NAN
    upper, lower = (np.mean([side * (v - null[0]) >= -1e-9 for v in null]) for side in (1, -1))
    return {"greater": upper, "less": lower, "two-sided": min(1.0, 2 * min(upper, lower))}[
        alternative
    ]


def signed_ranks(x, y):
    gap = (x - y)[x != y]
    return float(np.sign(gap) @ reference.rankdata(np.abs(gap))) if gap.size else 0.0


def lead(x, y):
    return float((x > y + 1).sum() - (y > x + 1).sum())


def above_median(x, y):
    median = np.median([*x, *y])
    high = (x > median).sum(), (y > median).sum()
    return float(high[0]) - float(high[1]) if sum(high) else NAN


def check(found, scores, blocks, kernel, alternative="two-sided"):
    p, error = found
    assert 0 <= error < 1e-11
    assert np.isnan(np.diagonal(p)).all()
    for i, j in itertools.permutations(range(len(scores)), 2):
        expected = under_all_signs(scores[i], scores[j], blocks, kernel, alternative)
        assert p[i, j] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@SIDES
@given(SCORES, BLOCKS)
def test_wilcoxon_counts_all_signs_of_units(alternative, scores, blocks):
    found = paired.wilcoxon_test(scores, blocks, alternative=alternative)
    check(found, scores, blocks, signed_ranks, alternative)


@SIDES
@given(SCORES, BLOCKS)
def test_sign_counts_all_signs_of_units(alternative, scores, blocks):
    found = paired.sign_test(scores, blocks, tolerance=1, alternative=alternative)
    check(found, scores, blocks, lead, alternative)


@given(SCORES, BLOCKS)
def test_median_counts_all_swaps_of_units(scores, blocks):
    check(paired.median_test(scores, blocks), scores, blocks, above_median)


@given(SCORES, BLOCKS)
def test_mcnemar_is_the_sign_test(scores, blocks):
    right = np.where(np.isnan(scores), NAN, scores > 0)
    for one, other in zip(
        paired.mcnemar_test(right, blocks), paired.sign_test(right, blocks), strict=True
    ):
        np.testing.assert_array_equal(one, other)


TESTS = [paired.t_test, paired.permutation_test, paired.wilcoxon_test, paired.sign_test,
         paired.median_test]  # fmt: skip


@SIDES
@pytest.mark.parametrize("test", TESTS)
@given(scores=arrays(np.float64, (3, 40), elements=CELL))
def test_a_unit_per_segment_is_the_ordinary_test(test, alternative, scores):
    units = np.random.default_rng(0).permutation(40)
    p = test(scores, units, alternative=alternative).p
    expected = test(scores, alternative=alternative).p
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-9)


def test_mood_and_median_are_two_tests():
    """By hand: 4 of 6 and 2 of 6 above the median; or three swaps that all favour the first."""
    scores = np.array([[7.0, 8, 9, 10, 1, 2], [3.0, 4, 5, 11, 0, 12]])
    above = np.array([[4, 2], [2, 4]])
    expected = reference.chi2_contingency(above, correction=True).pvalue
    assert paired.mood_test(scores).p[0, 1] == pytest.approx(expected)
    # Above 6: 1 1 1 1 0 0 and 0 0 0 1 0 1: leads 1 1 1 0 0 -1.
    assert paired.median_test(scores).p[0, 1] == 2 * 5 / 16


ALL = pytest.mark.parametrize(
    "test",
    [paired.wilcoxon_test, paired.sign_test, paired.median_test],
    ids=lambda test: test.__name__,
)


@ALL
def test_one_unit_says_nothing(test):
    scores = np.array([[5.0, 6, 7], [1.0, 2, 3]])
    assert test(scores, np.zeros(3, dtype=np.int64))[0][0, 1] == 1


@ALL
def test_two_units_say_little(test):
    scores = np.array([[5.0, 6, 7, 8], [1.0, 2, 3, 4]])
    assert test(scores, np.array([0, 0, 0, 1]))[0][0, 1] == 0.5


@ALL
def test_units_without_a_common_segment_do_not_count(test):
    scores = np.array([[5.0, 6, 7, 8, NAN, 9], [1.0, 2, 3, NAN, 4, NAN]])
    found = test(scores, np.array([0, 1, 2, 3, 3, 4]))[0]
    np.testing.assert_array_equal(found, test(scores[:, :3], np.arange(3))[0])
    assert found[0, 1] == 0.25


@ALL
def test_nothing_in_common_has_no_p(test):
    blocks = np.array([0, 0, 1])
    scores = np.array([[5.0, 6, NAN], [NAN, NAN, 3], [1.0, 2, 3]])
    p, error = test(scores, blocks)
    assert np.isnan(p[0, 1])
    assert np.isfinite(p[0, 2])
    assert np.isfinite(error)
    assert np.isnan(test(np.zeros((2, 0)), np.zeros(0, dtype=np.int64))[0]).all()


def test_equal_systems_have_p_1():
    scores = np.tile(np.random.default_rng(0).normal(size=50), (2, 1))
    for test in (paired.wilcoxon_test, paired.sign_test, paired.median_test):
        for blocks in (np.arange(50) // 7, np.zeros(50, dtype=np.int64)):
            assert test(scores, blocks)[0][0, 1] == 1
    for alternative in ALTERNATIVES:
        assert paired.wilcoxon_test(scores, np.arange(50), alternative=alternative)[0][1, 0] == 1


def test_constant_scores_have_no_table_of_medians():
    scores, blocks = np.ones((2, 6)), np.arange(6) // 2
    assert np.isnan(paired.median_test(scores, blocks)[0]).all()
    assert np.isnan(paired.mood_test(scores).p).all()


def test_ranks_are_of_segments_signs_of_units():
    # Ranks 1 to 5; units hold 1 + 2, 3 - 4 and 5: sums 3, -1, 5, of which 7 is the observed.
    scores = np.array([[1.0, 2, 3, -4, 5], [0.0] * 5])
    p, _ = paired.wilcoxon_test(scores, np.array([0, 0, 1, 1, 2]), alternative="greater")
    assert p[0, 1] == 2 / 8
    assert p[1, 0] == 7 / 8


def test_order_and_names_of_units_do_not_matter():
    rng = np.random.default_rng(2)
    scores, blocks = rng.normal(size=(3, 60)), rng.integers(0, 12, 60)
    order = rng.permutation(60)
    for test in (paired.wilcoxon_test, paired.sign_test, paired.median_test):
        found = test(scores[:, order], -7 * blocks[order])[0]
        np.testing.assert_allclose(found, test(scores, blocks)[0], atol=1e-14)


def test_many_pairs_are_each_pair_alone():
    rng = np.random.default_rng(2)
    scores, units = rng.normal(size=(30, 900)), rng.integers(0, 12, 900)
    p = paired.wilcoxon_test(scores, units).p
    for i, j in ((0, 1), (3, 17), (28, 29)):
        alone = paired.wilcoxon_test(scores[[i, j]], units).p[0, 1]
        assert p[i, j] == pytest.approx(alone, abs=1e-11)


@given(arrays(np.float64, (1, 13), elements=st.integers(-40, 40).map(float)))
def test_fine_sums_are_counted(sums):
    """What is too fine to transform as a lattice has the tails of all signs."""
    fine = sums * 1e6 + np.arange(13)
    signs = np.array(list(itertools.product((-1, 1), repeat=13)))
    null = signs @ fine[0]
    upper, lower, _ = flip_tails(fine)
    assert upper[0] == pytest.approx((null >= fine.sum() - 1e-6).mean(), abs=1e-11)
    assert lower[0] == pytest.approx((null <= fine.sum() + 1e-6).mean(), abs=1e-11)


@pytest.mark.parametrize("factor", [1, 2, 6])
def test_many_fine_sums_know_what_lies_on_them(factor):
    """By the characteristic function; the same steps a million times as large are as likely."""
    sums = factor * np.random.default_rng(8).integers(-90, 90, (6, 80)).astype(float)
    expected = flip_tails(sums)
    fine = np.concatenate([sums, np.random.default_rng(9).integers(0, 10**6, (1, 80)) * 1.0])
    upper, lower, error = flip_tails(fine)  # one fine row makes a lattice of all too fine
    assert error < 1e-9
    # What it cannot tell is of the order of the step over the deviation, squared: here 1e-6.
    np.testing.assert_allclose(upper[:6], expected[0], rtol=0, atol=3e-6)
    np.testing.assert_allclose(lower[:6], expected[1], rtol=0, atol=3e-6)
    assert (upper[:6] + lower[:6] > 1 + 1e-4).all()  # both hold P(T = t)


def test_ranks_of_many_segments_against_draws():
    rng = np.random.default_rng(3)
    blocks = np.repeat(np.arange(150), rng.integers(1, 12, 150))
    gap = rng.normal(0.12, 1, len(blocks)) + rng.normal(size=150)[blocks]
    found = paired.wilcoxon_test(np.stack([gap, np.zeros_like(gap)]), blocks)[0][0, 1]
    ranks = np.sign(gap) * reference.rankdata(np.abs(gap))
    sums = np.bincount(blocks, ranks)
    null = rng.choice([-1, 1], (40_000, 150)) @ sums
    assert found == pytest.approx((np.abs(null) >= abs(sums.sum())).mean(), abs=0.01)


def test_tails_far_out_are_chances():
    """What is all but impossible has the chance of its signs, not less than nothing."""
    rng = np.random.default_rng(0)
    for size in (40, 90, 400):
        sums = np.concatenate([rng.integers(1, 6, (20, size)), -rng.integers(1, 6, (20, size))])
        upper, lower, _ = flip_tails(sums.astype(float))
        assert (upper >= 2.0**-size).all()
        assert (lower >= 2.0**-size).all()
        assert (upper <= 1).all()
        assert (lower <= 1).all()
        assert (upper[:20] < 1e-9).all()
        assert (lower[:20] > 1 - 1e-9).all()
