"""Corpus scores against copies of segments: what every resample and every swap says in full."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.stats.naive import NAN, absences, with_gaps

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats
from steelyard.stats.permutation.corpus import (
    CorpusStatistics,
    bootstrap_scores,
    corpus_pvalues,
    pseudo_values,
)
from steelyard.stats.permutation.pvalues import pairwise_pvalues as segment_pvalues
from steelyard.stats.resampling.bootstrap import segment_counts


@dataclass(frozen=True)
class Quotient:
    """A score like TER, or like KoBE: the first sum by the second."""

    def __call__(self, sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], NAN)


@dataclass(frozen=True)
class Bent:
    """A score with a kink and a curve, like BLEU's: a root, and a penalty below a size."""

    def __call__(self, sums: Floats) -> Floats:
        a, b = sums[..., 0], sums[..., 1]
        return 100 * np.sqrt(a / (a + b + 1)) * np.minimum(1, np.exp(1 - (b + 1) / (a + 1)))


@dataclass(frozen=True)
class Jumpy:
    """A score that no slope describes."""

    def __call__(self, sums: Floats) -> Floats:
        return np.floor(sums[..., 0] / 7) % 3 + sums[..., 1] / 1000


FORMULAS = (Quotient(), Bent(), Jumpy())

# ---------------------------------------------------------------- naive references


def naive_scores(values, combine):
    return np.array([
        combine(np.sum([x for x in system if not np.isnan(x[0])], axis=0))
        if not np.isnan(system[:, 0]).all() else NAN
        for system in values
    ])  # fmt: skip


def naive_pvalues(values, combine, tail="mid", *, blocks=None, higher=True):
    """Swap whole blocks in every way, score again, and count; exact up to rounding of scores."""
    n, s, _ = values.shape
    codes = np.arange(s) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    p = np.full((n, n), 0.5 if tail == "mid" else 1.0)
    for i, j in product(range(n), repeat=2):
        both = ~np.isnan(values[i, :, 0]) & ~np.isnan(values[j, :, 0])
        if i == j:
            continue
        nulls = []
        for swap in product((False, True), repeat=codes.max(initial=-1) + 1):
            turned = np.array(swap)[codes] if s else np.zeros(0, dtype=bool)
            one = np.where(turned[:, None], values[j], values[i])[both].sum(axis=0)
            other = np.where(turned[:, None], values[i], values[j])[both].sum(axis=0)
            difference = combine(one) - combine(other)
            nulls.append(difference if higher else -difference)
        null = np.array(nulls)
        above, at = np.mean(null > null[0] + 1e-9), np.mean(np.abs(null - null[0]) <= 1e-9)
        share = above + at * (0.5 if tail == "mid" else 1)
        p[i, j] = NAN if not both.any() or np.isnan(null).any() else share
    return p


def systems(n, s, rng, gap=3):
    """Counts of n systems that are more or less alike."""
    common = rng.integers(2, 20, (1, s, 2))
    return (common + rng.integers(0, gap, (n, s, 2)) + np.arange(n)[:, None, None] % 2).astype(
        float
    )


shapes = st.tuples(st.integers(1, 3), st.integers(1, 6))
counts = shapes.flatmap(lambda shape: hnp.arrays(np.int64, (*shape, 2), elements=st.integers(0, 5)))
ABSENT = absences(3, 6, 1)


# ---------------------------------------------------------------- scores


@given(counts, ABSENT, st.sampled_from(FORMULAS))
def test_corpus_scores_add_up_what_is_known(whole, absent, formula):
    values = with_gaps(whole, absent)
    ours = CorpusStatistics(values, formula).corpus_scores()
    np.testing.assert_allclose(ours, naive_scores(values, formula), rtol=1e-12)


@given(counts, ABSENT, st.integers(0, 99))
def test_bootstrap_scores_are_scores_of_copied_segments(whole, absent, seed):
    values = with_gaps(whole, absent)
    stats = CorpusStatistics(values, Quotient())
    drawn = segment_counts(4, values.shape[1], np.random.default_rng(seed))
    copied = [
        naive_scores(values[:, np.repeat(np.arange(len(row)), row.astype(int))], Quotient())
        for row in drawn
    ]
    np.testing.assert_allclose(bootstrap_scores(stats, drawn), copied, rtol=1e-12)


def test_selecting_and_masking_keep_to_the_cells():
    values = systems(3, 4, np.random.default_rng(0))
    stats = CorpusStatistics(values, Quotient(), higher_is_better=False, signature="q")
    part = stats.select([2, 0], [1, 3])
    np.testing.assert_array_equal(part.values, values[[2, 0]][:, [1, 3]])
    assert (part.higher_is_better, part.signature) == (False, "q")
    assert stats.select().identical(stats)
    mask = np.ones((3, 4), dtype=bool)
    assert stats.masked(mask) is stats
    mask[1, 2] = False
    np.testing.assert_array_equal(stats.masked(mask).known, mask)
    assert not stats.masked(mask).identical(stats)
    assert stats.masked(mask).identical(pickle.loads(pickle.dumps(stats.masked(mask))))
    assert not stats.identical(CorpusStatistics(values, Bent(), False, "q"))


@pytest.mark.parametrize(
    "build",
    [
        lambda: CorpusStatistics(np.zeros((2, 3)), Quotient()),
        lambda: CorpusStatistics(np.zeros((2, 3, 0)), Quotient()),
        lambda: CorpusStatistics(np.array([[[NAN, 1.0]]]), Quotient()),
        lambda: CorpusStatistics(np.array([[[np.inf, 1.0]]]), Quotient()),
        lambda: corpus_pvalues(
            CorpusStatistics(np.ones((2, 2, 2)), Quotient()), blocks=np.zeros(3, np.int64)
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused(build):
    with pytest.raises(ShapeError):
        build()


# ---------------------------------------------------------------- pseudo-values


@given(counts, ABSENT)
def test_pseudo_values_have_the_corpus_score_as_their_mean(whole, absent):
    values = with_gaps(whole, absent)
    stats = CorpusStatistics(values, Bent())
    ours = pseudo_values(stats)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(values[:, :, 0]))
    for row, score in zip(ours, naive_scores(values, Bent()), strict=True):
        if not np.isnan(score):
            assert np.nanmean(row) == pytest.approx(score, abs=1e-9)


def test_pseudo_values_are_slopes_in_the_weight_of_a_segment():
    values = systems(2, 9, np.random.default_rng(1))
    values[1, 4] = NAN
    ours = pseudo_values(CorpusStatistics(values, Bent()))
    for i, s in product(range(2), range(9)):
        known = ~np.isnan(values[i, :, 0])
        if not known[s]:
            continue
        h, n = 1e-5, known.sum()
        score = []
        for step in (h, -h):
            weight = np.where(known, 1 - step / n, 0.0)  # the weights keep their sum
            weight[s] += step
            score.append(Bent()(weight[known] @ values[i][known]))
        middle = Bent()(values[i][known].sum(axis=0))
        slope = (score[0] - score[1]) / (2 * h)
        assert ours[i, s] == pytest.approx(middle + n * slope, abs=1e-6)


# ---------------------------------------------------------------- swaps


@given(
    counts,
    ABSENT,
    st.sampled_from(FORMULAS),
    st.sampled_from(["mid", "ge"]),
    st.booleans(),
    st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_every_swap_is_counted(whole, absent, formula, tail, higher, codes):
    values = with_gaps(whole, absent)
    stats = CorpusStatistics(values, formula, higher)
    result = corpus_pvalues(stats, tail=tail)
    expected = naive_pvalues(values, formula, tail, higher=higher)
    np.testing.assert_allclose(result.p, expected, atol=1e-12)
    assert (result.how, result.error) == ("enumeration", 0)
    blocks = np.array(codes[: values.shape[1]], dtype=np.int64)
    ours = corpus_pvalues(stats, tail=tail, blocks=blocks)
    expected = naive_pvalues(values, formula, tail, blocks=blocks, higher=higher)
    np.testing.assert_allclose(ours.p, expected, atol=1e-12)


def test_ten_thousand_swaps_are_good_to_half_a_percent():
    stats = CorpusStatistics(systems(4, 400, np.random.default_rng(3), gap=8), Bent())
    draws = [corpus_pvalues(stats, rng=seed) for seed in (1, 2)]
    assert max(result.error for result in draws) <= 0.005
    more = corpus_pvalues(stats, n_resamples=100_000, rng=3)
    assert more.error < 0.0015
    for result in draws:
        assert np.abs(result.p - more.p).max() < 4 * (result.error + more.error)


def test_a_plain_mean_has_the_p_values_of_segments():
    rng = np.random.default_rng(4)
    for scores in (rng.integers(-6, 7, (4, 300)).astype(float), rng.normal(size=(4, 300))):
        values = np.stack([scores, np.ones_like(scores)], axis=-1)
        result = corpus_pvalues(CorpusStatistics(values, Quotient()))
        assert np.abs(result.p - segment_pvalues(scores).p).max() < 4 * result.error


@pytest.mark.parametrize("fraction", [1, 3])
def test_a_p_value_depends_on_its_two_systems_alone(fraction):
    values = systems(5, 60, np.random.default_rng(5)) / fraction
    values[0, 3] = values[3, 7] = NAN
    stats = CorpusStatistics(values, Bent())
    whole = corpus_pvalues(stats, n_resamples=2000, rng=9).p
    order = [3, 0, 4, 1, 2]
    turned = corpus_pvalues(stats.select(order), n_resamples=2000, rng=9).p
    np.testing.assert_array_equal(turned, whole[np.ix_(order, order)])
    pair = corpus_pvalues(stats.select([4, 1]), n_resamples=2000, rng=9).p
    np.testing.assert_array_equal(pair, whole[np.ix_([4, 1], [4, 1])])
    np.testing.assert_array_equal(whole + whole.T, np.ones((5, 5)))


def test_what_can_not_be_compared_is_not_a_number():
    one = CorpusStatistics(np.ones((1, 3, 2)), Quotient())
    assert corpus_pvalues(one).p.tolist() == [[0.5]]
    none = CorpusStatistics(np.ones((2, 0, 2)), Quotient())
    np.testing.assert_array_equal(corpus_pvalues(none).p, [[0.5, NAN], [NAN, 0.5]])
    rng = np.random.default_rng(11)
    apart = systems(2, 40, rng)
    apart[0, :20], apart[1, 20:] = NAN, NAN
    np.testing.assert_array_equal(
        corpus_pvalues(CorpusStatistics(apart, Bent())).p, [[0.5, NAN], [NAN, 0.5]]
    )
    undefined = systems(3, 40, rng)
    undefined[0, :, 1] = 0  # a score without a denominator, though swaps would give it one
    p = corpus_pvalues(CorpusStatistics(undefined, Quotient())).p
    assert np.isnan(p[0, 1:]).all()
    assert np.isnan(p[1:, 0]).all()
    assert not np.isnan(p[1:, 1:]).any()
