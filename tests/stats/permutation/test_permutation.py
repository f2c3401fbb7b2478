"""Permutation tests against the enumeration of all signs, convolution, and published p-values."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.stats.naive import GOLD, METRIC, NAN, absences, pvalues, sign_tails, with_gaps

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.permutation.lattice import lattice_tails
from steelyard.stats.permutation.pvalues import (
    METHODS,
    pairwise_pvalues,
    stacked_pvalues,
)
from steelyard.stats.permutation.tails import (
    SURE,
    enumerate_tails,
    expansion,
    quick_p,
    random_signs,
)

TAILS = ("mid", "ge")


def convolved_tails(x):
    """P(T > t) and P(T = t) for whole numbers: two-point distributions, convolved."""
    pmf = np.ones(1)  # of T, from -sum(abs(x)) to sum(abs(x))
    for step in np.abs(x).astype(int):
        pmf = np.convolve(pmf, [0.5] + [0] * (2 * step - 1) + [0.5] if step else [1.0])
    place = int(x.sum() + np.abs(x).sum())
    return pmf[place + 1 :].sum(), pmf[place]


shapes = st.tuples(st.integers(2, 4), st.integers(1, 11))
whole_scores = shapes.flatmap(lambda s: hnp.arrays(np.int64, s, elements=st.integers(-6, 6)))
ABSENT = st.one_of(st.just(np.zeros((4, 11), dtype=bool)), absences(4, 11))


def dyadic(rng, shape):
    """Continuous scores whose sums are exact: multiples of 2 to the -20, far from any lattice."""
    return rng.integers(-(2**22), 2**22, shape) / 2**20


# ---------------------------------------------------------------- exact


@given(
    whole_scores,
    ABSENT,
    st.sampled_from([1, 2, 3, 10, 30, 100]),
    st.sampled_from(TAILS),
)
def test_exact_against_all_signs_on_lattices(whole, absent, scale, tail):
    truth = with_gaps(whole, absent)
    assume(not np.isnan(truth).all())
    published = np.round(truth / scale, 6)
    for scores, step in (
        (truth / scale, None),
        ((truth / scale).astype(np.float32), None),
        (published, 1 / scale),
    ):
        ours = pairwise_pvalues(scores, tail=tail, step=step)
        np.testing.assert_allclose(ours.p, pvalues(truth, tail), atol=1e-9)
        assert ours.how == "lattice"
    common = (~np.isnan(truth)).astype(int) @ (~np.isnan(truth)).astype(int).T
    np.testing.assert_array_equal(ours.n, common - np.diag(np.diag(common)))


@given(
    st.integers(0, 2**32), st.tuples(st.integers(2, 4), st.integers(2, 11)), st.sampled_from(TAILS)
)
def test_exact_against_all_signs_on_continuous_scores(seed, shape, tail):
    rng = np.random.default_rng(seed)
    scores = dyadic(rng, shape)
    scores[rng.random(shape) < rng.choice([0, 0.2])] = NAN
    assume(not np.isnan(scores).all())
    np.testing.assert_allclose(
        pairwise_pvalues(scores, tail=tail).p, pvalues(scores, tail), atol=1e-9
    )


def test_ties_are_ties_in_spite_of_float_noise():
    # 0.1 + 0.2 is not 0.3, and -1.3 was also published as -1.3000000000000003.
    scores = np.array([[0.1, 0.2, -1.3], [0.0, 0.0, -1.0000000000000002]])
    assert pairwise_pvalues(scores).p[0, 1] == pytest.approx(0.5, abs=1e-12)
    assert enumerate_tails(np.array([0.1, 0.2, -0.3])) == (3 / 8, 2 / 8)


def test_published_thirds_are_thirds_if_they_are_declared():
    # Differences of 7/3, 7/3 and -14/3: the observed sum of 0 is reached by two of eight signs.
    scores = np.array([[0.0, 0.0, -4.666667], [-2.333333, -2.333333, 0.0]])
    third = 1 / 3
    assert pairwise_pvalues(scores, step=third).p[0, 1] == pytest.approx(0.5, abs=1e-12)
    ge = pairwise_pvalues(scores, tail="ge", step=third)
    assert ge.p[0, 1] == pytest.approx(5 / 8, abs=1e-12)
    # As they stand, 2.333333 + 2.333333 is less than 4.666667.
    assert pairwise_pvalues(scores).p[0, 1] == pytest.approx(0.5625, abs=1e-12)
    with pytest.raises(UsageError, match=r"no multiples of 0\.5: one is 0.166667 off"):
        pairwise_pvalues(scores, step=0.5)
    for step in (0.0, -1.0, NAN, float("inf")):
        with pytest.raises(UsageError, match="step is a number above 0"):
            pairwise_pvalues(scores, step=step)


@pytest.mark.parametrize("off", [1e-4, 1e-6, 1e-9, 1e-12, 1e-13])
def test_a_score_beside_the_lattice_counts_as_it_stands(off):
    """1 + off and 2 outweigh 3, by however little: four of eight sums are larger or the same."""
    scores = np.array([[1 + off, 2, -3], np.zeros(3)])
    assert pairwise_pvalues(scores).p[0, 1] == pytest.approx(0.4375, abs=1e-12)
    assert pairwise_pvalues(scores, tail="ge").p[0, 1] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("n", [1, 5, 12, 20, 30])
def test_few_signs_are_counted(n):
    """All won: one of 2^n sign vectors, to the last bit."""
    scores = np.stack([np.arange(1.0, n + 1), np.zeros(n)])
    assert pairwise_pvalues(scores, tail="ge").p[0, 1] == 2.0**-n
    assert pairwise_pvalues(scores).p[0, 1] == 2.0 ** -(n + 1)
    assert pairwise_pvalues(scores[::-1], tail="ge").p[0, 1] == 1.0


def test_golden_p_values_by_enumeration():
    np.testing.assert_allclose(
        pairwise_pvalues(GOLD, tail="ge").p[UPPER], [0.34375, 0.0859375, 0.14453125], atol=1e-12
    )
    np.testing.assert_allclose(
        pairwise_pvalues(METRIC, tail="ge").p[UPPER], [0.265625, 0.046875, 0.099609375], atol=1e-12
    )


@pytest.mark.parametrize("top", [1, 3, 100])
@pytest.mark.parametrize("n", [27, 200])
def test_lattice_against_convolution(n, top):
    rng = np.random.default_rng(n + top)
    gaps = rng.integers(-top, top + 1, (6, n)).astype(float)
    gaps[1] *= 3  # a common divisor
    gaps[2, 5:] = 0  # few differences
    gaps[3] = np.abs(gaps[3])  # the largest sum there is, far beyond the window
    gaps[4] = -gaps[3]
    gaps[5] += rng.integers(0, 2, n)
    ours = lattice_tails(gaps)
    above, at, error = ours
    truth = np.array([convolved_tails(gap) for gap in gaps])
    assert error < 1e-11
    np.testing.assert_allclose(above, truth[:, 0], atol=1e-11)
    np.testing.assert_allclose(at, truth[:, 1], atol=1e-11)


def test_steps_of_a_pair_beyond_doubt_do_not_overflow():
    gaps = np.ones((2, 100))
    gaps[0] *= 2.0**40  # far beyond Z deviations
    gaps[1, ::2] = -1
    ours = lattice_tails(gaps)
    truth = convolved_tails(gaps[1])
    np.testing.assert_allclose(ours[0], [0, truth[0]], atol=1e-11)
    np.testing.assert_allclose(ours[1], [0, truth[1]], atol=1e-11)


@given(st.lists(st.integers(-9, 9), max_size=11))
def test_enumeration_against_all_signs(tenths):
    x = np.array(tenths, dtype=np.int64)
    assert enumerate_tails(x / 10) == sign_tails(x)


@given(st.lists(st.sampled_from([0.333333, 0.5, -0.666667, 1.5, -2.0, 1e-9]), max_size=11))
def test_enumeration_takes_equal_sizes_together(x):
    """As millionths of a millionth, which are whole numbers, and exact."""
    whole = np.rint(np.array(x) * 1e12).astype(np.int64)
    assert enumerate_tails(np.array(x)) == sign_tails(whole)


HARD = {
    "cauchy": lambda rng, n: 20 * (rng.standard_cauchy(n) + 0.3),
    "t1.5": lambda rng, n: 20 * (rng.standard_t(1.5, n) + 0.2),
    "powers": lambda rng, n: 20 * rng.normal(size=n) ** 5,
    "two scales": lambda rng, n: rng.normal(size=n) * rng.choice([1, 1000], n),
    "near 1": lambda rng, n: rng.choice([-100, 100], n) + rng.normal(size=n),
    "around 1": lambda rng, n: rng.choice([-100, 100], n) + 15 * rng.normal(size=n),
    "all but one whole": lambda rng, n: np.append(100 * rng.integers(-1, 2, n - 1), 141),
    "tens": lambda rng, n: 10 * rng.integers(-3, 4, n),
}


@pytest.mark.parametrize("n", [12, 28, 36, 39, 64, 250, 600])
@pytest.mark.parametrize("kind", HARD)
def test_the_error_is_a_bound_for_hard_differences(kind, n):
    """Heavy tails, sizes that cluster, lattices in part: what a product of cosines is bad at.

    The truth is that of whole numbers; a billionth off them, these are no lattice, and ties break.
    """
    rng = np.random.default_rng([n, len(kind)])
    whole = np.rint(HARD[kind](rng, n))
    x = whole + 1e-9 * rng.normal(size=n)
    tails = lattice_tails(whole[None]) if n > 28 else None
    if tails is not None:
        above, at = (float(part[0]) for part in tails[:2])
        tied = at / 2
    elif n < 40:  # so few, or on so fine a lattice, that signs tell
        (above, at), tied = enumerate_tails(x), 0.0
    else:
        return
    ours = pairwise_pvalues(np.stack([x, np.zeros(n)]))
    assert abs(ours.p[0, 1] - above - at / 2) <= ours.error + tied + 1e-11
    if n < 40 and not tied:
        assert ours.error <= 2 * SURE


def test_half_precision_in_print_is_nearly_a_lattice():
    """Scores of a model in eighths that were printed with seven digits: ties may be broken."""
    rng = np.random.default_rng(0)
    eighths = rng.integers(-9, 9, (2, 300)) * 341
    printed = np.round(eighths / 1024, 7)
    ours = pairwise_pvalues(printed)
    above, at = convolved_tails((eighths[0] - eighths[1]) // 341)
    assert ours.p[0, 1] == pytest.approx(above + at / 2, abs=1e-9)
    assert ours.error == pytest.approx(at / 2, abs=1e-9)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("factor", [np.pi / 7, 1e-3, 1 / 7, 1e-7])
@pytest.mark.parametrize("top", [1, 5, 100])
def test_exact_is_exact_on_lattices_of_any_step(top, factor, tail):
    # Averages over seven raters, three decimals, z-scores of a few levels: all are lattices.
    rng = np.random.default_rng(top)
    whole = rng.integers(0, top + 1, (3, 60)).astype(float)
    ours = pairwise_pvalues(whole * factor, tail=tail)
    truth = pvalues(whole, tail, convolved_tails)
    assert np.abs(ours.p - truth).max() <= ours.error + 1e-12
    np.testing.assert_allclose(ours.p, truth, atol=1e-9)


# ---------------------------------------------------------------- many segments: series


def by_product(scores):
    """Mid-p from the product of all cosines, with nodes to spare."""
    p = np.full((len(scores), len(scores)), 0.5)
    for i, j in combinations(range(len(scores)), 2):
        gap = scores[i] - scores[j]
        t, deviation = gap.sum(), np.sqrt((gap**2).sum())
        half = np.pi / (abs(t) + 9 * deviation)
        odd = np.arange(1, 401, 2)
        value = np.prod(np.cos(np.outer(odd * half, gap)), axis=1)
        p[i, j] = 0.5 - 2 / np.pi * (value * np.sin(odd * half * t) / odd).sum()
        p[j, i] = 1 - p[i, j]
    return p


KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "shares": lambda rng, shape: rng.beta(2, 0.7, size=shape),
    "skewed": lambda rng, shape: rng.gamma(1.5, size=shape),
    "far from 0": lambda rng, shape: 1e4 + rng.normal(size=shape),
    "heavy": lambda rng, shape: rng.standard_t(4, size=shape),
}


@pytest.mark.parametrize("n", [300, 1500])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_on_many_segments_is_within_its_error(kind, n):
    rng = np.random.default_rng(n)
    scores = KINDS[kind](rng, (5, n)) + rng.normal(0, 0.05, (5, 1)) + rng.normal(size=n)
    ours = pairwise_pvalues(scores)
    assert ours.how == "characteristic"
    assert ours.error <= 5e-7
    assert np.abs(ours.p - by_product(scores)).max() <= ours.error


def test_a_series_serves_the_pairs_that_it_is_sure_of():
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1, (4, 1000))
    scores[1] = scores[0]
    scores[1, :40] += rng.normal(0, 1, 40)  # 40 differences only: not enough of them
    scores[3] = scores[2]  # none at all
    ours = pairwise_pvalues(scores)
    truth = by_product(scores[:3])
    off = ~np.eye(3, dtype=bool)
    assert np.abs(ours.p[:3, :3] - truth)[off].max() <= ours.error
    assert ours.p[2, 3] == 0.5
    assert ours.n[0, 1] == 1000


def test_segments_that_nobody_has_change_nothing():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(4, 900))
    holes = np.insert(scores, [0, 5, 5, 900], NAN, axis=1)
    with_holes, without = pairwise_pvalues(holes), pairwise_pvalues(scores)
    np.testing.assert_allclose(with_holes.p, without.p, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(with_holes.n, without.n)


# ---------------------------------------------------------------- properties


@pytest.mark.parametrize("offset", [0.0, 0.5, 100.0])
def test_small_differences_are_not_rounded_away(offset):
    # Better on every one of 8 segments, by a hundred-thousandth: p = 2^-8 / 2.
    scores = offset + np.array([[3e-5] * 8, [2e-5] * 8, [0.0] * 8])
    scores += np.array([0, 0, 0, 0, 0, 0, 0, 1.0])
    p = pairwise_pvalues(scores).p
    np.testing.assert_allclose(p[UPPER], 2**-9, atol=1e-9)


@pytest.mark.parametrize("scores", [[1.0, 2, 3], [0.123456, 0.5, 7.654321], [0.0, 0, 0]])
def test_equal_systems_and_one_alone(scores):
    same = np.array([scores, scores, scores[::-1]])
    np.testing.assert_allclose(pairwise_pvalues(same).p, 0.5, atol=1e-12)
    np.testing.assert_array_equal(pairwise_pvalues(same[:2], tail="ge").p, 1)
    assert pairwise_pvalues(same, method="mtme").p[0, 1] == 1
    for method in METHODS:
        assert pairwise_pvalues(same[:1], method=method).p.tolist() in ([[0.5]], [[1.0]])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "scores",
    [
        np.array([[1.0, NAN], [NAN, 2.0]]),
        np.full((2, 3), NAN),
        np.array([[1.0, 2.0], [NAN, NAN]]),
        np.empty((2, 0)),
    ],
)
def test_pairs_without_a_common_segment_are_undefined(method, scores):
    result = pairwise_pvalues(scores, method=method)
    assert np.isnan(result.p[0, 1])
    assert np.isnan(result.p[1, 0])
    assert result.n[0, 1] == 0


# ---------------------------------------------------------------- blocks


@given(
    whole_scores,
    ABSENT,
    hnp.arrays(np.int64, 11, elements=st.integers(-2, 3)),
    st.sampled_from(TAILS),
)
def test_blocks_equal_sums_per_block(whole, absent, codes, tail):
    scores = with_gaps(whole, absent) / 10
    blocks = codes[: scores.shape[1]]
    ours = pairwise_pvalues(scores, blocks=blocks, tail=tail)
    for i, j in combinations(range(len(scores)), 2):
        gap = scores[i] - scores[j]
        units = [code for code in sorted(set(blocks)) if not np.isnan(gap[blocks == code]).all()]
        assert ours.n[i, j] == ours.n[j, i] == len(units)
        sums = np.array([np.nansum(gap[blocks == code]) for code in sorted(set(blocks))])
        alone = pairwise_pvalues(np.stack([sums, np.zeros(len(sums))]), tail=tail)
        expected = alone.p[0, 1] if units else NAN
        np.testing.assert_allclose(ours.p[i, j], expected, atol=1e-9)


# ---------------------------------------------------------------- approximations


def test_expansions_are_their_formulas():
    x = np.array([0.3, -0.1, -0.2, 0.8, -0.4])
    powers = [(x**k).sum() for k in (2, 4, 6)]
    variance, k4, k6 = powers[0], -2 * powers[1], 16 * powers[2]
    z = x.sum() / variance**0.5
    k4, k6 = k4 / variance**2, k6 / variance**3
    he = np.polynomial.hermite_e.HermiteE.basis
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    grid = np.linspace(z, 12, 200_001)
    gauss = np.trapezoid(np.exp(-grid * grid / 2) / np.sqrt(2 * np.pi), grid)
    first = gauss + density * k4 / 24 * he(3)(z)
    second = first + density * (k6 / 720 * he(5)(z) + k4**2 / 1152 * he(7)(z))
    sums = [np.array([part]) for part in (x.sum(), *powers)]
    for count, truth in ((2, gauss), (3, first), (4, second)):
        assert expansion(*sums[:count])[0][0] == pytest.approx(truth, abs=1e-8)
    for count, truth in ((2, gauss), (3, first)):
        single = [part.astype(np.float32) for part in sums[:count]]
        assert quick_p(*single)[0] == pytest.approx(truth, abs=1e-6)


def test_several_scores_are_what_each_is():
    rng = np.random.default_rng(3)
    shape = 6, 500
    scores = [rng.standard_t(3, shape), rng.normal(size=shape), rng.normal(size=shape).round(2)]
    scores.append(rng.integers(0, 50, shape) / 49.0 + 1e-9)
    scores.append(1e20 * rng.normal(size=shape))
    scores.append(np.where(rng.random(shape) < 0.1, NAN, scores[0]))
    for together, x in zip(stacked_pvalues(scores), scores, strict=True):
        alone = pairwise_pvalues(x)
        np.testing.assert_allclose(together.p, alone.p, rtol=0, atol=1e-12)
        assert together.how == alone.how


@pytest.mark.parametrize("scale", [1e-24, 1e-3, 1e20])
@pytest.mark.parametrize("kind", ["whole", "sparse", *KINDS])
def test_the_unit_of_scores_does_not_matter(kind, scale):
    rng = np.random.default_rng(7)
    shape = 4, 300
    scores = {
        "whole": rng.integers(0, 9, shape) / 10.0,
        "sparse": np.where(rng.random(shape) < 0.1, rng.normal(size=shape), 0.0),
    }.get(kind)
    scores = KINDS[kind](rng, shape) if scores is None else scores
    plain, scaled = pairwise_pvalues(scores), pairwise_pvalues(scores * scale)
    assert plain.how == scaled.how
    np.testing.assert_allclose(scaled.p, plain.p, rtol=0, atol=1e-9)


def test_systems_that_are_nearly_the_same_differ_by_what_they_differ():
    rng = np.random.default_rng(0)
    scores = 100 * rng.normal(size=(4, 400))
    scores[1] = scores[0] + 1e-7 * rng.normal(size=400)
    gap = scores[0] - scores[1]
    alone = pairwise_pvalues(np.stack([gap, np.zeros(400)]))
    assert abs(pairwise_pvalues(scores).p[0, 1] - alone.p[0, 1]) <= 2 * SURE


# ---------------------------------------------------------------- sampling


def test_random_signs_are_fair_and_independent():
    signs = random_signs(20_000, 13, np.random.default_rng(0))
    assert signs.shape == (20_000, 13)
    single = random_signs(20_000, 13, np.random.default_rng(0), np.float32)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(signs, single)
    assert set(np.unique(signs)) == {-1, 1}
    second_moments = signs.T @ signs / 20_000
    assert np.abs(signs.mean(axis=0)).max() < 0.03
    assert np.abs(second_moments - np.eye(13)).max() < 0.03


# ---------------------------------------------------------------- the WMT toolkit

UPPER = np.triu_indices(3, 1)


def test_mtme_gives_the_golden_p_values():
    gold, metric = pairwise_pvalues(GOLD, method="mtme"), pairwise_pvalues(METRIC, method="mtme")
    np.testing.assert_allclose(gold.p[UPPER], [0.359, 0.070, 0.131], atol=1e-12)
    np.testing.assert_allclose(metric.p[UPPER], [0.223, 0.035, 0.086], atol=1e-12)
    assert gold.how == "mtme"
    assert (gold.n == 10).all()


@given(whole_scores, ABSENT)
def test_mtme_against_its_formula(whole, absent):
    scores = with_gaps(whole, absent)
    complete = scores[:, ~np.isnan(scores).any(axis=0)]
    assume(complete.shape[1] > 0)
    uniform = np.random.default_rng(4).random((1000, complete.shape[1]), dtype=np.float32)
    p = pairwise_pvalues(scores, method="mtme").p
    for i, j in combinations(range(len(scores)), 2):
        x = complete[i] - complete[j]
        hits = sum(((2 * row.round() - 1) * x).sum() >= x.sum() for row in uniform)
        assert p[i, j] == hits / 1000
        assert p[j, i] == 1 - hits / 1000


# ---------------------------------------------------------------- errors


def test_errors_name_what_is_known():
    scores = np.zeros((2, 3))
    with pytest.raises(UsageError, match=r"unknown method 'exakt'; did you mean 'exact'\?"):
        pairwise_pvalues(scores, method="exakt")
    with pytest.raises(UsageError, match=r"unknown tail 'middle'; did you mean 'mid'\?"):
        pairwise_pvalues(scores, tail="middle")
    with pytest.raises(ShapeError, match=r"systems x segments, got shape \(3,\)"):
        pairwise_pvalues(np.zeros(3))
    with pytest.raises(ShapeError, match=r"3 segments but \(2,\) block codes"):
        pairwise_pvalues(scores, blocks=np.array([0, 1]))
