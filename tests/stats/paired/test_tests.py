"""Paired tests: one law of all tests by signs, formulas of the others, and error rates."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.stats.judged.realdata import rows
from tests.stats.naive import NAN, freedoms, known, sided, system_pairs

from steelyard.core.errors import UsageError
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.tests import PairPValues, flip_tails, mean_error, t_test
from steelyard.stats.paired.unpaired import rank_sum_test_by_unit, unpaired_means_test
from steelyard.stats.permutation.pvalues import ALTERNATIVES
from steelyard.stats.resampling.bootstrap import bootstrap_means, segment_counts
from steelyard.stats.strength.wins import win_counts

SIDES = pytest.mark.parametrize("alternative", ALTERNATIVES)
CELLS = st.one_of(
    st.integers(-3, 3).map(float), st.just(NAN), st.floats(-5, 5).map(lambda x: round(x, 1))
)
BLOCKS = arrays(np.int64, 14, elements=st.integers(-2, 5))  # up to eight units


@st.composite
def scored(draw):
    """Scores with gaps, the units to test by (None: segments), and the same as codes."""
    if draw(st.booleans()):
        return draw(arrays(np.float64, (3, 7), elements=CELLS)), None, np.arange(7)
    blocks = draw(BLOCKS)
    return draw(arrays(np.float64, (3, 14), elements=CELLS)), blocks, blocks


# ---------------------------------------------------------------- by the signs of units


def total(x, y):
    return float((x - y).sum())


def signed_ranks(x, y):
    gap = np.round(x - y, 9)
    gap = gap[gap != 0]
    return float(np.sign(gap) @ reference.rankdata(np.abs(gap))) if gap.size else 0.0


def lead(x, y):
    gap = np.round(x - y, 9)
    return float((gap > 1).sum() - (gap < -1).sum())


def above_median(x, y):
    median = np.median([*x, *y])
    high = (x > median).sum(), (y > median).sum()
    return float(high[0]) - float(high[1]) if sum(high) else NAN


SIGNED: dict[str, tuple[Callable[..., PairPValues], Callable[[Any, Any], float]]] = {
    "permutation": (paired.permutation_test, total),
    "wilcoxon": (paired.wilcoxon_test, signed_ranks),
    "sign": (partial(paired.sign_test, tolerance=1 + 1e-9), lead),
    "median": (paired.median_test, above_median),
}


def under_all_signs(x, y, blocks, kernel, alternative):
    """Swap whole units in all ways, and score each segment again every time."""
    x, y, blocks = known(x, y, np.where(np.isnan(x - y), NAN, blocks))
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
    return sided(upper, lower, alternative)


@SIDES
@pytest.mark.parametrize("name", SIGNED)
@given(scored())
def test_all_signs_of_units_are_counted(name, alternative, case):
    scores, units, codes = case
    test, kernel = SIGNED[name]
    p, error = test(scores, units, alternative=alternative)
    assert 0 <= error < 1e-9
    assert np.isnan(np.diagonal(p)).all()
    for i, j in ((0, 1), (2, 0), (1, 2)):
        expected = under_all_signs(scores[i], scores[j], codes, kernel, alternative)
        assert p[i, j] == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(scored())
def test_mcnemar_is_the_sign_test_of_right_and_wrong(case):
    scores, units, _ = case
    right = np.where(np.isnan(scores), NAN, scores > 0)
    one, other = (test(right, units).p for test in (paired.mcnemar_test, paired.sign_test))
    np.testing.assert_array_equal(one, other)
    with pytest.raises(UsageError, match="scores that are 0 or 1"):
        paired.mcnemar_test(np.full((2, 3), 0.5))


@pytest.mark.parametrize("name", ["t", *SIGNED])
def test_a_unit_per_segment_is_the_ordinary_test_and_names_of_units_are_none(name):
    rng = np.random.default_rng(2)
    scores = np.where(rng.random((12, 900)) < 0.2, NAN, rng.integers(-9, 9, (12, 900)))
    test = t_test if name == "t" else SIGNED[name][0]
    np.testing.assert_allclose(
        test(scores[:3, :40], rng.permutation(40)).p, test(scores[:3, :40]).p, atol=1e-9
    )
    units, order = rng.integers(0, 12, 900), rng.permutation(900)
    p = test(scores, units).p
    np.testing.assert_allclose(test(scores[:, order], -7 * units[order]).p, p, atol=1e-9)
    for i, j in ((0, 1), (3, 7), (10, 11)):  # many pairs are each pair alone
        assert p[i, j] == pytest.approx(test(scores[[i, j]], units).p[0, 1], abs=1e-9)


@SIDES
@pytest.mark.parametrize("n", [30, 200, 201, 400])
def test_wilcoxon_of_many_equals_scipys_exact_test(n, alternative):
    gap = np.random.default_rng(n).normal(0.1, 1, n)
    p = paired.wilcoxon_test(np.stack([gap, np.zeros(n)]), alternative=alternative).p[0, 1]
    expected = reference.wilcoxon(gap, alternative=alternative, method="exact").pvalue
    assert p == pytest.approx(expected, abs=1e-8)


def test_wilcoxon_of_very_many_ties_and_units():
    gap = np.random.default_rng(0).normal(0.02, 1, 3000)
    ties = np.random.default_rng(1).integers(-9, 12, 200).astype(float)
    for x, close in ((gap, 1e-4), (ties, 2e-3)):
        p = paired.wilcoxon_test(np.stack([x, 0 * x])).p[0, 1]
        assert p == pytest.approx(reference.wilcoxon(x, method="approx").pvalue, abs=close)
    assert paired.wilcoxon_test(np.stack([np.ones(100), np.zeros(100)])).p[0, 1] == 2.0**-99
    # Steps of a tenth are ties, whatever their floats: 0.3 - 0.2 is not 0.2 - 0.1.
    tenths = np.random.default_rng(3).integers(0, 12, (2, 9)).astype(float)
    one, other = (paired.wilcoxon_test(x).p[0, 1] for x in (tenths, tenths / 10))
    assert one == pytest.approx(other, abs=1e-15)
    rng = np.random.default_rng(3)
    blocks = np.repeat(np.arange(150), rng.integers(1, 12, 150))
    gap = rng.normal(0.12, 1, len(blocks)) + rng.normal(size=150)[blocks]
    sums = np.bincount(blocks, np.sign(gap) * reference.rankdata(np.abs(gap)))
    drawn = np.abs(rng.choice([-1, 1], (20_000, 150)) @ sums) >= abs(sums.sum())
    p = paired.wilcoxon_test(np.stack([gap, 0 * gap]), blocks).p[0, 1]
    assert p == pytest.approx(drawn.mean(), abs=0.015)


@given(arrays(np.float64, (1, 13), elements=st.integers(-40, 40).map(float)))
def test_fine_sums_are_counted(sums):
    """What is too fine to transform as a lattice has the tails of all signs."""
    fine = sums * 1e6 + np.arange(13)
    null = np.array(list(itertools.product((-1, 1), repeat=13))) @ fine[0]
    upper, lower, _ = flip_tails(fine)
    assert upper[0] == pytest.approx((null >= fine.sum() - 1e-6).mean(), abs=1e-11)
    assert lower[0] == pytest.approx((null <= fine.sum() + 1e-6).mean(), abs=1e-11)


@pytest.mark.parametrize("factor", [1, 6])
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


@pytest.mark.parametrize("size", [40, 90, 400])
def test_tails_far_out_are_chances(size):
    """What is all but impossible has the chance of its signs, not less than nothing."""
    rng = np.random.default_rng(0)
    sums = np.concatenate([rng.integers(1, 6, (20, size)), -rng.integers(1, 6, (20, size))])
    upper, lower, _ = flip_tails(sums.astype(float))
    assert (np.minimum(upper, lower) >= 2.0**-size).all()
    assert (upper <= 1).all()
    assert (upper[:20] < 1e-9).all()
    assert (lower[:20] > 1 - 1e-9).all()


# ---------------------------------------------------------------- Mood's test


@given(arrays(np.float64, st.tuples(st.integers(2, 4), st.integers(1, 14)), elements=CELLS))
def test_mood_is_chi_squared_of_the_table(scores):
    p = paired.mood_test(scores).p
    for i, j, x, y in system_pairs(scores):
        high = [(side > np.median([*x, *y])).sum() for side in (x, y)] if x.size else [0, 0]
        expected = NAN
        if 0 < sum(high) < 2 * x.size:
            table = np.array([high, [x.size - n for n in high]])
            expected = reference.chi2_contingency(table, correction=True).pvalue
        assert [p[i, j], p[j, i]] == pytest.approx([expected] * 2, abs=1e-12, nan_ok=True)


def test_mood_and_median_are_two_tests():
    """By hand: 4 of 6 and 2 of 6 above the median; or leads 1 1 1 0 0 -1 of either."""
    scores = np.array([[7.0, 8, 9, 10, 1, 2], [3.0, 4, 5, 11, 0, 12]])
    expected = reference.chi2_contingency([[4, 2], [2, 4]], correction=True).pvalue
    assert paired.mood_test(scores).p[0, 1] == pytest.approx(expected)
    assert paired.median_test(scores).p[0, 1] == 2 * 5 / 16


# ---------------------------------------------------------------- means


def error_by_hand(d, blocks):
    """Mean, error, degrees of freedom and units of known differences."""
    n, names = len(d), np.unique(blocks)
    if not n:
        return NAN, NAN, NAN, 0
    mean = d.mean()
    if len(names) < 2:
        return mean, NAN, NAN, len(names)
    parts = [d[blocks == name] for name in names]
    squares = sum((part - mean).sum() ** 2 / (1 - len(part) / n) for part in parts)
    return mean, np.sqrt(squares) / n, min(freedoms(map(len, parts))), len(names)


def t_by_hand(parts, alternative):
    mean, error, freedom, units = parts
    if np.isnan(error):
        return NAN
    if error > 1e-12:
        upper, lower = (reference.t.sf(s * mean / error, freedom) for s in (1, -1))
    elif abs(mean) < 1e-12:
        upper = lower = 1.0
    else:  # the signs decide on a constant difference
        upper, lower = (2.0**-units if s * mean > 0 else 1.0 for s in (1, -1))
    return sided(upper, lower, alternative)


@SIDES
@given(scored())
def test_t_is_the_formula(alternative, case):
    scores, units, codes = case
    errors = mean_error(scores, units)
    for k, row in enumerate(scores):
        expected = error_by_hand(*known(row, np.where(np.isnan(row), NAN, codes)))
        assert [float(x[k]) for x in errors] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    p = t_test(scores, units, alternative=alternative).p
    assert np.isnan(np.diagonal(p)).all()
    with pytest.raises(UsageError, match="unknown alternative 'more'"):
        t_test(scores, alternative="more")
    for i, j in itertools.permutations(range(3), 2):
        gap = np.round(scores[i] - scores[j], 9)
        parts = error_by_hand(*known(gap, np.where(np.isnan(gap), NAN, codes)))
        assert p[i, j] == pytest.approx(t_by_hand(parts, alternative), abs=1e-8, nan_ok=True)


def test_differences_that_cancel_in_every_unit_are_no_difference():
    gap = np.tile([0.1, 0.2, -0.3], 5)  # each sums to 5.6e-17
    assert t_test(np.stack([gap, np.zeros(15)]), np.arange(15) // 3).p[0, 1] == 1


def test_units_that_pairs_share():
    rng = np.random.default_rng(0)
    one = rng.integers(-5, 5, 40)
    present = rng.random((4, 40)) < 0.2
    for units in (one, None):
        result = paired.shared_units(present, units)
        for i, j in itertools.product(range(4), repeat=2):
            codes = np.arange(40) if units is None else units
            assert result[i, j] == len(set(codes[present[i] & present[j]].tolist()))


# ---------------------------------------------------------------- by resamples


@SIDES
def test_bootstrap_counts_by_hand(alternative):
    rng = np.random.default_rng(2)
    observed = np.array([1.0, 0.4, 0.9, NAN, 0.2])
    drawn = rng.normal(np.nan_to_num(observed), 0.4, (50, 5))
    drawn[:7, 2] = drawn[:, 4] = NAN
    p = paired.bootstrap_test(observed, drawn, alternative=alternative)
    for i, j in itertools.combinations(range(3), 2):
        gap = observed[i] - observed[j]
        null = drawn[:, i] - drawn[:, j] - gap
        null = null[~np.isnan(null)]
        beyond = {"two-sided": np.abs(null) >= gap, "greater": null >= gap, "less": null <= gap}
        if gap > 0:
            assert p[i, j] == (beyond[alternative].sum() + 1) / (len(null) + 1)
    assert np.isnan(p[[3, 4]]).all()
    assert paired.bootstrap_test(np.zeros(2), np.zeros((9, 2)))[0, 1] == 1


@SIDES
@pytest.mark.parametrize("freedom", [np.inf, 7.0])
def test_gaps_against_the_formula(alternative, freedom):
    rng = np.random.default_rng(0)
    scores = np.array([1.0, 0.4, NAN, 0.0])
    replicates = scores + rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    replicates[3, 1] = -np.inf  # a resample that falls apart takes no part
    p = paired.gap_test(scores, replicates, alternative=alternative, freedom=freedom)
    usable = np.delete(replicates, 3, axis=0)
    law = reference.norm if np.isinf(freedom) else reference.t(freedom)
    for i, j in ((0, 1), (1, 3), (3, 0)):
        t = (scores[i] - scores[j]) / (usable[:, i] - usable[:, j]).std(ddof=1)
        assert p[i, j] == pytest.approx(sided(law.sf(t), law.cdf(t), alternative), abs=1e-12)
    assert np.isnan(p[2]).all()
    assert np.isnan(np.diagonal(p)).all()


def test_gaps_that_can_not_be_tested():
    assert np.isnan(paired.gap_test(np.array([1.0, NAN]), np.ones((5, 2)))).all()
    broken = np.full((6, 2), NAN)
    broken[:2] = 1.0
    assert np.isnan(paired.gap_test(np.array([1.0, 2.0]), broken)).all()
    same = paired.gap_test(np.array([1.0, 1.0, 2.0]), np.ones((4, 1)) * [1.0, 1.0, 2.0])
    assert (same[0, 1], same[0, 2]) == (1.0, 0.0)


# ---------------------------------------------------------------- sizes of differences


@given(
    arrays(np.float64, st.tuples(st.integers(2, 4), st.integers(1, 14)), elements=CELLS),
    st.sampled_from([0.0, 0.5]),
)
def test_sizes_of_differences(scores, tolerance):
    scores = np.round(8 * scores) / 8  # differences are exact
    share = paired.superiority(win_counts(scores, tolerance=tolerance))
    for i, j, x, y in system_pairs(scores):
        gap = x - y
        if not gap.size:
            assert np.isnan([share[i, j], share[j, i]]).all()
            continue
        won = (gap > tolerance).sum() + 0.5 * (np.abs(gap) <= tolerance).sum()
        assert (share[i, j], share[j, i]) == (won / gap.size, 1 - won / gap.size)


# ---------------------------------------------------------------- error rates


def resampled(test):
    """A test of means that are resampled, as a test of scores."""

    def p(scores):
        counts = segment_counts(300, scores.shape[1], np.random.default_rng(7))
        return PairPValues(test(scores.mean(axis=1), bootstrap_means(scores, counts)))

    return p


RATED: dict[str, Callable[..., PairPValues]] = {
    "t": t_test,
    **{name: test for name, (test, _) in SIGNED.items() if name != "sign"},
    "sign": paired.sign_test,
    "mood": paired.mood_test,
    "bootstrap": resampled(paired.bootstrap_test),
    "gap": resampled(paired.gap_test),
}


@pytest.mark.parametrize("name", RATED)
def test_level_under_the_null(name):
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(1000, 60)).round(1)
    rejected = [RATED[name](scores[k : k + 2]).p[0, 1] <= 0.05 for k in range(0, 1000, 2)]
    # Exact tests of discrete statistics stay below their level; none may go above it, but for what
    # five hundred simulations leave open (two deviations).
    assert 0.01 < np.mean(rejected) < 0.05 + 0.02


def twice(p):
    return min(1.0, 2 * min(p[0, 1], p[1, 0]))


def by_document(x, blocks, rng):
    """Two-sided p-values of two systems."""
    two = [blocks, blocks]
    half = rng.random(x.shape) < 0.5  # rated on segments of their own, of the same documents
    some, codes = ([row[keep] for row, keep in zip(y, half, strict=True)] for y in (x, two))
    return {
        "t": t_test(x, blocks).p[0, 1],
        **{name: test(x, blocks).p[0, 1] for name, (test, _) in SIGNED.items()},
        "rank sum": twice(rank_sum_test_by_unit(list(x), two)),
        "rank sum of others": twice(rank_sum_test_by_unit(some, codes)),
        "means of others": twice(unpaired_means_test(some, codes)),
        "segments": t_test(x).p[0, 1],
    }


@pytest.mark.slow
@pytest.mark.parametrize("sets", [100, pytest.param(300, marks=pytest.mark.thorough)])
def test_level_of_all_tests_by_document(esa, sets):
    """Two real systems that swap their documents at random are equal in law."""
    scores, blocks = esa("en-ja")
    scores = scores[~np.isnan(scores).any(axis=1)]
    rng = np.random.default_rng(18)
    rejected = defaultdict(list)
    for pair in ((0, 1), (2, 3), (4, 5)):
        real = scores[list(pair)]
        for _ in range(sets):
            swap = rng.integers(0, 2, blocks.max() + 1)[blocks] == 1
            for name, p in by_document(np.where(swap, real[::-1], real), blocks, rng).items():
                rejected[name].append(p <= 0.05)
    assert np.mean(rejected.pop("segments")) > 0.15  # what is wrong without units
    for name, hits in rejected.items():  # three deviations
        assert abs(np.mean(hits) - 0.05) < 3 * np.sqrt(0.05 * 0.95 / len(hits)), name


@pytest.mark.parametrize("n_units", [6, 20])
def test_level_with_few_unequal_units(n_units):
    rng = np.random.default_rng(7)
    rejected: list[Any] = []
    for _ in range(100):
        sizes = np.maximum(1, rng.lognormal(1.5, 1, n_units)).astype(int)
        blocks = np.repeat(np.arange(n_units), sizes)
        gap = rng.normal(size=(40, n_units))[:, blocks] + rng.normal(size=(40, len(blocks)))
        mean, error, freedom, _ = mean_error(gap, blocks)
        rejected.append(2 * reference.t.sf(np.abs(mean / error), freedom) <= 0.05)
    # Sizes that differ by orders of magnitude: the fewer degrees of freedom are on the safe side.
    assert 0.01 < np.mean(rejected) < 0.06


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.thorough), 12])
def test_wilcoxon_of_the_to_ship_study(shared, every):
    folder = shared / "toship21"
    people = {
        row["system"]: (row["segments"].split(), list(map(float, row["scores"].split())))
        for row in rows(folder / "human-segments.csv.gz")
    }
    worst, n = 0.0, 0
    for row in rows(folder / "expected-pairs.csv.gz")[::every]:
        a, b = common_scores(people[row["a"]], people[row["b"]])
        assert len(a) == int(row["n_segments"])
        p = paired.wilcoxon_test(np.array([a, b])).p[0, 1]
        if np.count_nonzero(np.subtract(a, b)) >= 100:  # the published p-values are normal
            worst, n = max(worst, abs(p - float(row["wilcoxon_p"]))), n + 1
    assert n > 3000 // every
    assert worst < 3e-3


def common_scores(one, two):
    """Scores of both systems in order, of the segments that occur equally often in both."""
    counts = Counter(one[0]), Counter(two[0])
    kept = {s for s in counts[0] if counts[0][s] == counts[1][s]}
    columns = []
    for segments, scores in (one, two):
        by_segment = defaultdict(list)
        for segment, score in zip(segments, scores, strict=True):
            if segment in kept:
                by_segment[segment].append(score)
        columns.append([x for s in sorted(by_segment) for x in by_segment[s]])
    return columns
