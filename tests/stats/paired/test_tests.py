"""Paired tests against SciPy, by hand, and at their level."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
import scipy.stats as reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import chdtrc

from steelyard.core.errors import UsageError
from steelyard.stats.paired.tests import (
    PairPValues,
    bootstrap_test,
    gap_test,
    mcnemar_test,
    median_test,
    mood_test,
    permutation_test,
    sign_test,
    sign_test_counts,
    signed_rank_tails,
    t_test,
    wilcoxon_test,
)
from steelyard.stats.permutation.pvalues import ALTERNATIVES
from steelyard.stats.resampling.bootstrap import bootstrap_means, segment_counts

NAN = float("nan")
GRID = arrays(np.float64, (3, 12), elements=st.integers(-3, 3).map(float))
SIDES = pytest.mark.parametrize("alternative", ALTERNATIVES)


CELLS = st.one_of(
    st.integers(-3, 3).map(float), st.just(NAN), st.floats(-5, 5).map(lambda x: round(x, 1))
)
SCORES = arrays(np.float64, st.tuples(st.integers(2, 4), st.integers(1, 14)), elements=CELLS)


def pairs(scores):
    """Each pair i < j with the scores that both have."""
    for i, j in itertools.combinations(range(len(scores)), 2):
        both = ~np.isnan(scores[i] - scores[j])
        yield i, j, scores[i][both], scores[j][both]


@SIDES
@given(scores=arrays(np.float64, (3, 9), elements=st.floats(-5, 5).map(lambda x: round(x, 2))))
def test_t_equals_scipy(scores, alternative):
    found = t_test(scores, alternative=alternative).p
    for i in range(3):
        for j in range(3):
            gap = scores[i] - scores[j]
            if i == j:
                assert np.isnan(found[i, j])
            elif np.ptp(gap) < 1e-9:
                assert np.all(np.abs(gap) > 1e-9) or found[i, j] == 1 or np.ptp(gap) > 0
            else:
                expected = reference.ttest_rel(scores[i], scores[j], alternative=alternative).pvalue
                assert found[i, j] == pytest.approx(expected, abs=1e-9)


@SIDES
@given(scores=GRID)
def test_sign_equals_the_binomial_test(scores, alternative):
    found = sign_test(scores, alternative=alternative).p
    for i, j in ((0, 1), (1, 0), (2, 0)):
        gap = scores[i] - scores[j]
        wins, losses = int((gap > 0).sum()), int((gap < 0).sum())
        expected = 1.0
        if wins + losses:
            expected = reference.binomtest(wins, wins + losses, alternative=alternative).pvalue
        assert found[i, j] == pytest.approx(expected, abs=1e-12)


def all_signs(gap, alternative):
    """Signed ranks under every choice of signs of what is not zero."""
    x = gap[gap != 0]
    ranks = reference.rankdata(np.abs(x))
    t = np.sign(x) @ ranks
    null = np.array(list(itertools.product((-1, 1), repeat=len(x)))) @ ranks
    upper, lower = (null >= t - 1e-9).mean(), (null <= t + 1e-9).mean()
    two = min(1.0, 2 * min(upper, lower))
    return {"greater": upper, "less": lower, "two-sided": two}[alternative]


@SIDES
@given(scores=arrays(np.float64, (2, 10), elements=st.integers(-30, 30).map(float)))
def test_wilcoxon_is_exact_with_ties_and_zeros(scores, alternative):
    gap = scores[0] - scores[1]
    found = wilcoxon_test(scores, alternative=alternative).p[0, 1]
    assert found == pytest.approx(all_signs(gap, alternative) if gap.any() else 1.0, abs=1e-12)


def test_wilcoxon_by_hand():
    """Four share rank 2.5, one of them lost: 5 of 128 signs lose 2.5 or less, on either side."""
    gap = np.array([2.0, 2, 2, -2, 5, 6, 4])
    scores = np.stack([gap, np.zeros(7)])
    assert wilcoxon_test(scores).p[0, 1] == 2 * 5 / 128 == 0.078125
    # A zero says nothing: it leaves the other six.
    gap = np.array([0.0, 1, 2, 3, 4, 5, 6])
    assert wilcoxon_test(np.stack([gap, np.zeros(7)])).p[0, 1] == 2 / 2**6


def test_wilcoxon_of_steps_of_a_tenth():
    """0.3 - 0.2 and 0.2 - 0.1 are not the same number, but a tie."""
    rng = np.random.default_rng(3)
    tenths = rng.integers(0, 12, (2, 9)).astype(float)
    expected = all_signs(tenths[0] - tenths[1], "two-sided")
    assert wilcoxon_test(tenths / 10).p[0, 1] == pytest.approx(expected, abs=1e-15)
    assert len(np.unique(np.abs(tenths[0] / 10 - tenths[1] / 10))) > len(
        np.unique(np.abs(tenths[0] - tenths[1]))
    )


@SIDES
@pytest.mark.parametrize("n", [30, 120, 200, 201, 400])
def test_wilcoxon_of_many_equals_scipys_exact_test(n, alternative):
    gap = np.random.default_rng(n).normal(0.1, 1, n)
    p = wilcoxon_test(np.stack([gap, np.zeros(n)]), alternative=alternative).p[0, 1]
    expected = reference.wilcoxon(gap, alternative=alternative, method="exact").pvalue
    assert p == pytest.approx(expected, abs=1e-8)


@SIDES
def test_wilcoxon_of_very_many_is_near_normal(alternative):
    gap = np.random.default_rng(0).normal(0.02, 1, 3000)
    p = wilcoxon_test(np.stack([gap, np.zeros(3000)]), alternative=alternative).p[0, 1]
    expected = reference.wilcoxon(gap, alternative=alternative, method="approx").pvalue
    assert p == pytest.approx(expected, abs=1e-4)


def test_wilcoxon_of_many_with_ties_is_near_normal_and_small_p_values_are_exact():
    gap = np.random.default_rng(1).integers(-9, 12, 200).astype(float)
    found = wilcoxon_test(np.stack([gap, np.zeros(200)])).p[0, 1]
    expected = reference.wilcoxon(gap, method="approx").pvalue
    assert found == pytest.approx(expected, abs=2e-3)
    ones = np.stack([np.ones(100), np.zeros(100)])
    assert wilcoxon_test(ones).p[0, 1] == 2.0**-99


def test_wilcoxon_keeps_its_level():
    """Steps of one, seven segments: with so few signs it rejects 2.3 % of equal systems."""
    gaps = np.random.default_rng(0).integers(-3, 4, (4000, 7)).astype(float)
    upper, lower, _ = signed_rank_tails(gaps)
    p = np.minimum(1, 2 * np.minimum(upper, lower))
    assert 0.0 < (p < 0.05).mean() <= 0.05


@SIDES
@given(
    scores=arrays(np.float64, (4, 9), elements=st.sampled_from([NAN, -2.5, -1.0, 0.0, 1.0, 3.0]))
)
def test_all_pairs_at_once_are_each_pair_alone(scores, alternative):
    for i, j in ((0, 1), (1, 2), (3, 0)):
        known = ~np.isnan(scores[i] - scores[j])
        pair = scores[[i, j]][:, known]
        if alternative == "two-sided":
            alone = mood_test(pair).p[0, 1]
            assert mood_test(scores).p[i, j] == pytest.approx(alone, abs=1e-15, nan_ok=True)
        found = wilcoxon_test(scores, alternative=alternative).p[i, j]
        gap = pair[0] - pair[1]
        if not gap.size:
            assert np.isnan(found)
        elif not gap.any():
            assert found == 1
        else:
            assert found == pytest.approx(all_signs(gap, alternative), abs=1e-12)


def test_no_segments_say_nothing():
    for test in (t_test, sign_test, wilcoxon_test, mood_test, median_test):
        assert np.isnan(test(np.empty((2, 0))).p).all()


@given(scores=GRID)
def test_mood_equals_scipy(scores):
    found = mood_test(scores).p
    both = np.concatenate([scores[0], scores[1]])
    if (both <= np.median(both)).all():
        assert np.isnan(found[0, 1])
        return
    assert found[0, 1] == pytest.approx(
        reference.median_test(scores[0], scores[1]).pvalue, abs=1e-9
    )
    assert found[0, 1] == found[1, 0]


def mood_by_pair(x, y):
    """The table of both systems' scores, sorted together."""
    both = np.sort(np.r_[x, y])
    middle = (both[x.size - 1] + both[x.size]) / 2
    above = (x > middle).sum()
    total = above + (y > middle).sum()
    if not 0 < total < 2 * x.size:
        return NAN
    excess = max(0.0, abs(above - total / 2) - 0.5)
    return float(chdtrc(1, 4 * excess * excess * (1 / total + 1 / (2 * x.size - total))))


@given(scores=st.one_of(SCORES, GRID))
def test_mood_is_the_table_of_both(scores):
    p = mood_test(scores).p
    for i, j, x, y in pairs(scores):
        expected = mood_by_pair(x, y) if x.size else NAN
        np.testing.assert_allclose([p[i, j], p[j, i]], [expected] * 2, rtol=1e-12)


@SIDES
@given(scores=SCORES)
def test_ties_to_a_tolerance_are_left_out(alternative, scores):
    p = sign_test(scores, tolerance=1.0, alternative=alternative).p
    for i, j, x, y in pairs(scores):
        if x.size:
            lead = (x - y > 1).astype(float) - (y - x > 1)
            alone = sign_test(np.stack([lead, 0 * lead]), alternative=alternative).p[0, 1]
            assert p[i, j] == pytest.approx(alone, abs=1e-12)


@SIDES
def test_bootstrap_test_pair_by_pair(alternative):
    rng = np.random.default_rng(2)
    observed = np.array([1.0, 0.4, 0.9, NAN, 0.2])
    drawn = rng.normal(np.nan_to_num(observed), 0.4, (50, 5))
    drawn[:7, 2] = drawn[:, 4] = NAN
    found = bootstrap_test(observed, drawn, alternative=alternative)
    for i, j in itertools.combinations(range(5), 2):
        alone = bootstrap_test(observed[[i, j]], drawn[:, [i, j]], alternative=alternative)
        np.testing.assert_array_equal(found[np.ix_([i, j], [i, j])], alone)
    assert np.isnan(found[[3, 4]]).all()
    assert np.isfinite(found[0, 1:3]).all()


@SIDES
@given(scores=arrays(np.float64, (2, 8), elements=st.integers(-3, 3).map(float)))
def test_permutation_by_enumeration(scores, alternative):
    gap = scores[0] - scores[1]
    signs = np.array(np.meshgrid(*[[-1, 1]] * 8)).reshape(8, -1)
    null = gap @ signs
    share = {
        "greater": (null >= gap.sum()).mean(),
        "less": (null <= gap.sum()).mean(),
        "two-sided": (np.abs(null) >= abs(gap.sum())).mean(),
    }
    found = permutation_test(scores, alternative=alternative).p
    assert found[0, 1] == pytest.approx(share[alternative], abs=1e-9)


@SIDES
@given(scores=GRID)
def test_sign_from_counts_is_the_sign_test(scores, alternative):
    gap = scores[:, None, :] - scores
    wins = (gap > 0).sum(axis=2).astype(float)
    met = np.ones((3, 3), dtype=bool)
    found = sign_test_counts(wins, met, alternative=alternative)
    np.testing.assert_array_equal(found, sign_test(scores, alternative=alternative).p)
    met[0, 1] = met[1, 0] = False
    assert np.isnan(sign_test_counts(wins, met, alternative=alternative)[0, 1])


@SIDES
@pytest.mark.parametrize("freedom", [np.inf, 7.0])
def test_gaps_against_the_formula(alternative, freedom):
    rng = np.random.default_rng(0)
    scores = np.array([1.0, 0.4, NAN, 0.0])
    replicates = scores + rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    replicates[3, 1] = -np.inf  # a resample that falls apart takes no part
    found = gap_test(scores, replicates, alternative=alternative, freedom=freedom)
    usable = np.delete(replicates, 3, axis=0)
    law = reference.norm if np.isinf(freedom) else reference.t(freedom)
    for i, j in ((0, 1), (1, 3), (3, 0)):
        t = (scores[i] - scores[j]) / (usable[:, i] - usable[:, j]).std(ddof=1)
        tails = {"greater": law.sf(t), "less": law.cdf(t), "two-sided": 2 * law.sf(abs(t))}
        assert found[i, j] == pytest.approx(tails[alternative], abs=1e-12)
    assert np.isnan(found[2]).all()
    assert np.isnan(np.diagonal(found)).all()


def test_gaps_that_can_not_be_tested():
    assert np.isnan(gap_test(np.array([1.0, NAN]), np.ones((5, 2)))).all()
    broken = np.full((6, 2), NAN)
    broken[:2] = 1.0
    assert np.isnan(gap_test(np.array([1.0, 2.0]), broken)).all()
    same = gap_test(np.array([1.0, 1.0, 2.0]), np.ones((4, 1)) * [1.0, 1.0, 2.0])
    assert (same[0, 1], same[0, 2]) == (1.0, 0.0)


def test_what_identical_systems_give():
    same = np.tile(np.arange(6.0), (2, 1))
    for test in (t_test, sign_test, wilcoxon_test, permutation_test, mood_test):
        assert test(same).p[0, 1] == 1
    assert bootstrap_test(np.zeros(2), np.zeros((9, 2)))[0, 1] == 1


def test_wins_losses_and_ties():
    gap = np.repeat([1.0, -1.0, 0.0], [30, 28, 42])
    p = sign_test(np.stack([gap, np.zeros(100)])).p
    assert p[0, 1] == p[1, 0] == pytest.approx(0.8957, abs=1e-4)


def test_missing_segments_are_dropped_pair_by_pair():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 30))
    scores[0, :10] = NAN
    whole = scores[:, 10:]
    for test in (t_test, sign_test, wilcoxon_test, permutation_test, mood_test):
        p = test(scores).p
        assert p[0, 1] == pytest.approx(test(whole).p[0, 1], abs=1e-9)
        assert p[1, 2] == pytest.approx(test(scores[1:]).p[0, 1], abs=1e-9)
        nothing = np.array([[1.0, NAN], [NAN, 1.0]])
        assert np.isnan(test(nothing).p[0, 1])


def test_constant_differences_and_one_segment():
    three = np.array([[2.0, 3.0, 4.0], [1.0, 2.0, 3.0]])
    assert t_test(three).p[0, 1] == 0.25  # of eight signs, two are as far out
    assert t_test(three, alternative="greater").p[0, 1] == 0.125
    assert np.isnan(t_test(np.array([[2.0], [1.0]])).p[0, 1])
    assert sign_test(np.array([[2.0], [1.0]])).p[0, 1] == 1


@SIDES
def test_bootstrap_counts_by_hand(alternative):
    observed = np.array([1.0, 0.4])
    replicates = np.random.default_rng(1).normal(observed, 0.4, (50, 2))
    null = replicates[:, 0] - replicates[:, 1] - 0.6
    beyond = {"two-sided": np.abs(null) >= 0.6, "greater": null >= 0.6, "less": null <= 0.6}
    found = bootstrap_test(observed, replicates, alternative=alternative)
    assert found[0, 1] == (beyond[alternative].sum() + 1) / 51


def test_bad_arguments():
    with pytest.raises(UsageError, match="unknown alternative 'more'"):
        t_test(np.zeros((2, 2)), alternative="more")
    with pytest.raises(UsageError, match="scores that are 0 or 1"):
        mcnemar_test(np.full((2, 3), 0.5))


def resampled(test):
    """A test of means that are resampled, as a test of scores."""

    def p(scores):
        counts = segment_counts(500, scores.shape[1], np.random.default_rng(7))
        return PairPValues(test(scores.mean(axis=1), bootstrap_means(scores, counts)))

    return p


@pytest.mark.slow
@pytest.mark.parametrize(
    "test",
    [
        t_test,
        sign_test,
        wilcoxon_test,
        permutation_test,
        mood_test,
        median_test,
        resampled(bootstrap_test),
        resampled(gap_test),
    ],
    ids=["t", "sign", "wilcoxon", "permutation", "mood", "median", "bootstrap", "gap"],
)
def test_level_under_the_null(test):
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(2 * 1000, 60)).round(1)
    rejected = [test(scores[k : k + 2]).p[0, 1] <= 0.05 for k in range(0, 2000, 2)]
    # Exact tests of discrete statistics stay below their level; none may go above it, but for what
    # a thousand simulations leave open (two deviations).
    assert np.mean(rejected) < 0.05 + 0.014
    assert np.mean(rejected) > 0.02


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.thorough), 6])
def test_wilcoxon_of_the_to_ship_study(shared, every):
    folder = shared / "toship21"
    people: dict[str, tuple[list[str], list[float]]] = {}
    with gzip.open(folder / "human-segments.csv.gz", "rt") as stream:
        csv.field_size_limit(10**8)
        for row in csv.DictReader(stream):
            people[row["system"]] = (
                row["segments"].split(),
                [float(x) for x in row["scores"].split()],
            )
    worst, n = 0.0, 0
    with gzip.open(folder / "expected-pairs.csv.gz", "rt") as stream:
        for row in itertools.islice(csv.DictReader(stream), 0, None, every):
            a, b = _paired(people[row["a"]], people[row["b"]])
            assert len(a) == int(row["n_segments"])
            p = wilcoxon_test(np.array([a, b])).p[0, 1]
            if np.count_nonzero(np.subtract(a, b)) >= 100:  # the published p-values are normal
                worst, n = max(worst, abs(p - float(row["wilcoxon_p"]))), n + 1
    assert n > 3000 // every
    assert worst < 3e-3


def _paired(one, two):
    """Scores of both systems in order, of the segments that occur equally often in both."""
    counts = Counter(one[0]), Counter(two[0])
    kept = {s for s in counts[0] if counts[0][s] == counts[1][s]}
    columns = []
    for segments, scores in (one, two):
        own = defaultdict(list)
        for segment, score in zip(segments, scores, strict=True):
            if segment in kept:
                own[segment].append(score)
        columns.append([x for s in sorted(own) for x in own[s]])
    return columns
