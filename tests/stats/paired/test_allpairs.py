"""What is computed of all pairs of systems at once is, to the bit, what each pair gives alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import chdtrc

from steelyard.stats.paired import pairedtests
from steelyard.stats.paired.effects import cliffs_delta, standardised_difference, superiority
from steelyard.stats.paired.pairedtests import bootstrap_test, mood_test, sign_test
from steelyard.stats.permutation.pvalues import ALTERNATIVES

NAN = float("nan")
CELLS = st.one_of(st.integers(-3, 3).map(float), st.just(NAN), st.floats(-5, 5))
SCORES = arrays(np.float64, st.tuples(st.integers(2, 4), st.integers(1, 14)), elements=CELLS)
WHOLE = arrays(np.float64, (3, 12), elements=st.integers(-3, 3).map(float))


def pairs(scores):
    """Each pair i < j with the scores that both have."""
    for i, j in itertools.combinations(range(len(scores)), 2):
        both = ~np.isnan(scores[i] - scores[j])
        yield i, j, scores[i][both], scores[j][both]


@given(scores=SCORES, tolerance=st.sampled_from([0.0, 0.5, 1.0]))
def test_superiority(scores, tolerance):
    found = superiority(scores, tolerance=tolerance)
    for i, j, x, y in pairs(scores):
        if not x.size:
            assert np.isnan([found[i, j], found[j, i]]).all()
            continue
        gap = x - y
        share = ((gap > tolerance).sum() + 0.5 * (np.abs(gap) <= tolerance).sum()) / gap.size
        assert (found[i, j], found[j, i]) == (share, 1 - share)


@given(scores=SCORES)
def test_cliffs_delta(scores):
    found = cliffs_delta(scores)
    for i, j in itertools.combinations(range(len(scores)), 2):
        x, y = (row[~np.isnan(row)] for row in scores[[i, j]])
        if not x.size * y.size:
            assert np.isnan(found[i, j])
            continue
        cross = np.sign(x[:, None] - y[None, :])
        assert found[i, j] == cross.sum() / cross.size == -found[j, i]


@given(scores=SCORES)
def test_standardised_difference(scores):
    found = standardised_difference(scores)
    complete = not np.isnan(scores).any()
    for i, j, x, y in pairs(scores):
        gap = x - y
        if gap.size < 2 or not gap.std(ddof=1):
            assert np.isnan(found[i, j]) or not complete
            continue
        # Of scores that are complete, to the bit; else sums of what is known add zeros between.
        close = 0 if complete else 1e-9
        expected = gap.mean() / gap.std(ddof=1)
        assert found[i, j] == pytest.approx(expected, rel=close, abs=close)
        assert found[j, i] == -found[i, j]


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


@given(scores=st.one_of(SCORES, WHOLE))
def test_mood_by_one_sort(scores):
    found = mood_test(scores)
    for i, j, x, y in pairs(scores):
        expected = mood_by_pair(x, y) if x.size else NAN
        np.testing.assert_array_equal([found[i, j], found[j, i]], [expected] * 2)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@given(scores=st.one_of(SCORES, WHOLE))
def test_sign_from_counts(alternative, scores):
    found = sign_test(scores, alternative=alternative)
    # A tolerance that no difference falls under goes the other way, by differences.
    np.testing.assert_array_equal(
        found, sign_test(scores, tolerance=1e-300, alternative=alternative)
    )


@pytest.mark.parametrize("alternative", ALTERNATIVES)
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


def test_chunks_do_not_show(monkeypatch):
    scores = np.round(np.random.default_rng(0).normal(size=(6, 40)), 1)
    scores[3, 5:9] = NAN
    tests = (pairedtests.t_test, mood_test, pairedtests.wilcoxon_test, standardised_difference)
    whole = [test(scores) for test in tests]
    monkeypatch.setattr(pairedtests, "_CELLS", 1)
    for test, expected in zip(tests, whole, strict=True):
        np.testing.assert_array_equal(test(scores), expected)


def test_no_loop_over_pairs(monkeypatch):
    """Differences of pairs are taken in chunks: sixteen times the pairs, hardly more steps."""
    monkeypatch.setattr(pairedtests, "_CELLS", 1 << 16)
    rng = np.random.default_rng(0)
    steps = [len(list(pairedtests.pair_differences(rng.normal(size=(n, 20))))) for n in (20, 80)]
    assert steps == [1, 1]
