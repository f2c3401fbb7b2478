"""What a difference is worth: fits against naive twins, bands against a known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from scipy.special import ndtr, xlogy

from steelyard.stats.curves import (
    Cells,
    Smooth,
    agreements,
    calibration,
    fit_smooth,
    monotone,
    resampled_pairs,
)
from steelyard.stats.resampling.bootstrap import interval
from steelyard.stats.resampling.cluster_df import expanded_level

NAN = float("nan")
some = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, NAN])


@given(st.lists(st.tuples(some, some), max_size=8))
def test_agreements(pairs):
    def naive(m, h):
        if math.isnan(m) or math.isnan(h):
            return NAN
        return 0.5 if m == 0 or h == 0 else float((m > 0) == (h > 0))

    metric, human = [m for m, _ in pairs], [h for _, h in pairs]
    np.testing.assert_array_equal(agreements(metric, human), [naive(*pair) for pair in pairs])


def pool(trials, hits):
    """Pool adjacent violators: the last block swallows those before it that are not lower."""
    blocks = []
    for n, h in zip(trials, hits, strict=True):
        blocks.append([n, h, 1])
        while len(blocks) > 1 and (
            blocks[-1][0] == 0
            or blocks[-2][0] == 0
            or blocks[-2][1] / blocks[-2][0] >= blocks[-1][1] / blocks[-1][0]
        ):
            n2, h2, k2 = blocks.pop()
            blocks[-1] = [blocks[-1][0] + n2, blocks[-1][1] + h2, blocks[-1][2] + k2]
    return [h / n if n else NAN for n, h, k in blocks for _ in range(k)]


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0, 1)), min_size=1, max_size=12))
def test_monotone_against_pooling(cells):
    trials = np.array([float(n) for n, _ in cells])
    hits = np.array([n * share for n, share in cells])
    np.testing.assert_allclose(monotone(trials, hits), pool(trials, hits), atol=1e-12)


SIZES = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5, 9.0])


@given(hnp.arrays(np.float64, st.integers(1, 40), elements=SIZES), st.integers(1, 8))
def test_cells_part_no_size_and_stand_at_their_mean(sizes, most):
    cells = Cells.of(sizes, most)
    assert len(cells.x) <= max(most, 1) or len(np.unique(sizes)) <= most
    assert (np.diff(cells.x) > 0).all()
    for level in np.unique(sizes):
        assert len(np.unique(cells.code[sizes == level])) == 1
    for k, x in enumerate(cells.x):
        assert x == pytest.approx(sizes[cells.code == k].mean())
    weights, values = np.random.default_rng(0).random((3, len(sizes))), sizes**2
    n, h = cells.sums(weights, values)
    for k in range(len(cells.x)):
        own = cells.code == k
        np.testing.assert_allclose(n[:, k], weights[:, own].sum(axis=1))
        np.testing.assert_allclose(h[:, k], (weights * values)[:, own].sum(axis=1))


def likelihood(curve, x, n, h):
    """Log-likelihood of hits, and of half a hit of one more pair at the median difference."""
    order = np.argsort(x)
    known = (x[order] > 0) & (n[order] > 0)
    middle = x[order][known][np.searchsorted(np.cumsum(n[order][known]), n[known].sum() / 2)]
    x, n, h = np.r_[x, middle], np.r_[n, 1.0], np.r_[h, 0.5]
    p = curve.at(x)[0]
    return float((xlogy(h, p) + xlogy(n - h, 1 - p)).sum()), middle


def smooth(a, s, c=0.0, fade=0.0):
    return Smooth(*np.array([[a], [s], [c], [fade]], dtype=float))


@pytest.mark.parametrize("intercept", [False, True])
@settings(max_examples=8)
@given(seed=st.integers(0, 300))
def test_the_fit_is_the_best_of_all_scales(seed, intercept):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.gamma(1.0, 2.0, 12)) + 1e-3
    n = rng.integers(1, 9, 12).astype(float)
    h = rng.binomial(n.astype(int), ndtr(rng.random() * np.log1p(x))).astype(float)
    curve = fit_smooth(x, n[None], h[None], intercept=intercept)
    result, middle = likelihood(curve, x, n, h)

    def lost(t, s, fade):
        return -likelihood(smooth(t[0], s, t[1] if intercept else 0.0, fade), x, n, h)[0]

    shapes = [(2.0**k, 0.0) for k in range(-6, 7, 2)]
    shapes += [] if intercept else [(1.0, 1 / 8), (4.0, 1 / 24), (64.0, 1 / 64)]
    best = max(
        -minimize(lost, [0.5, 0.0], (middle * s, fade / middle), method="Nelder-Mead",
                  options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000}).fun
        for s, fade in shapes
    )  # fmt: skip
    assert result >= best - 2e-3  # the likelihood is flat towards a step
    assert (curve.c == 0).all() if not intercept else (curve.fade == 0).all()


def test_the_likelihood_chooses_whether_the_curve_falls_again():
    """Shares as they are expected: no noise, and so the shape that made them."""
    x, n = np.linspace(0.1, 8, 60), np.full((1, 60), 500.0)
    falling = 0.5 + (ndtr(2 * x) - 0.5) / (1 + x / 30)
    bent = ndtr(0.9 * np.log1p(x / 0.5))
    for truth, falls in ((falling, True), (bent, False)):
        curve = fit_smooth(x, n, n * truth)
        assert (curve.fade[0] > 0) == falls
        np.testing.assert_allclose(curve.at(x)[0], truth, atol=0.01)


def test_many_rows_are_fitted_as_one_is():
    rng = np.random.default_rng(0)
    x = np.linspace(0.1, 5, 30)
    n = rng.integers(2, 20, (150, 30)).astype(float)
    h = rng.binomial(n.astype(int), ndtr(0.8 * np.log1p(x / 0.7))).astype(float)
    at = [0.2, 1.0, 3.0]
    each = np.concatenate([fit_smooth(x, n[k : k + 1], h[k : k + 1]).at(at) for k in range(150)])
    together = fit_smooth(x, n, h).at(at)
    # Scales are multiples of a common median, and few: a row may take the neighbour of its own.
    assert np.abs(together - each).mean() < 0.005
    assert np.abs(together - each).max() < 0.05


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_people_who_always_agree_and_never(share):
    x, n = np.array([1.0, 2.0, 3.0]), np.full((1, 3), 40.0)
    curve = fit_smooth(x, n, share * n)
    p = curve.at([0.0, 1.0, 3.0])[0]
    assert np.isfinite(p).all()
    assert p[0] == 0.5
    assert p[2] == pytest.approx(share, abs=0.1)
    if share < 1:
        assert np.isinf(curve.inverse([0.9], 3.0)).all()


@given(st.floats(0.05, 5), st.floats(0.01, 100),
       st.sampled_from([(0.0, 0.0), (-1.0, 0.0), (0.5, 0.0), (0.0, 0.01)]))  # fmt: skip
def test_the_inverse_leads_back(a, s, level):
    curve = smooth(a, s, *level)
    for p in (0.6, 0.8, 0.95):
        x = curve.inverse([p], 100.0)[0, 0]
        if 0 < x < np.inf:
            assert curve.at([x])[0, 0] == pytest.approx(p, abs=1e-3)
        elif x == 0:
            assert curve.at([0.0])[0, 0] >= p
        else:
            assert curve.at(np.linspace(0, 100, 50)).max() < p


def test_resampled_systems_weigh_pairs_by_both():
    sets = np.array([0, 0, 0, 1])
    first, second = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 4])
    drawn = resampled_pairs(sets, first, second, by="systems", draws=400,
                            rng=np.random.default_rng(0))  # fmt: skip
    # Three systems drawn from three: the number of pairs is c1 c2 + c1 c3 + c2 c3, 3 at most.
    assert set(drawn[:, :3].sum(axis=1)) == {0.0, 2.0, 3.0}
    assert set(drawn[:, 3]) == {0.0, 1.0}
    # E(c1 c2) = n (n - 1) / n^2.
    np.testing.assert_allclose(drawn.mean(axis=0), [2 / 3] * 3 + [1 / 2], atol=0.09)
    by_set = resampled_pairs(sets, first, second, by="sets", draws=50, rng=np.random.default_rng(0))
    assert (by_set[:, 0] == by_set[:, 1]).all()
    assert set(by_set[:, 0] + by_set[:, 3]) == {2.0}


def test_calibration_of_right_and_wrong_chances():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    y = (rng.random(4000) < p).astype(float)
    right, wrong = calibration(p, y, rng), calibration(p / 2, y, rng)
    assert right.error < 2 * right.by_chance < 0.06
    assert wrong.error == pytest.approx(0.25, abs=0.03)
    assert right.n.sum() == 4000
    order = np.argsort(p, kind="stable")
    bins = np.array_split(order, 10)
    naive = sum(len(b) * abs(p[b].mean() - y[b].mean()) for b in bins) / 4000
    assert right.error == pytest.approx(naive, abs=1e-9)


# ---------------------------------------------------------------- coverage of the band


def simulated(rng, sizes):
    """Systems whose quality people and a metric see with normal errors, in sets of some sizes."""
    parts, systems = [], 0
    for k, n in enumerate(sizes):
        quality = rng.normal(size=n)
        metric, human = quality + rng.normal(0, 0.7, n), quality + rng.normal(0, 0.5, n)
        i, j = np.triu_indices(n, 1)
        parts.append((np.full(len(i), k), i + systems, j + systems, metric[i] - metric[j],
                      human[i] - human[j]))  # fmt: skip
        systems += n
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def truth(x):
    """The chance that people agree with a difference x: both differences are normal."""
    metric, human, both = 2 * 1.49, 2 * 1.25, 2.0
    return ndtr(both / metric * x / np.sqrt(human - both**2 / metric))


def covered(sizes, by, trials, draws=200):
    """Share of sets whose 95 % band holds the truth at four differences."""
    rng, x = np.random.default_rng(1), np.array([0.3, 1.0, 2.0, 3.0])
    result = np.zeros(4)
    for _ in range(trials):
        sets, first, second, metric, human = simulated(rng, sizes)
        cells, y = Cells.of(np.abs(metric)), agreements(metric, human)
        drawn = resampled_pairs(sets, first, second, by=by, draws=draws, rng=rng)
        units = np.bincount(sets) if by == "sets" else np.ones(sum(sizes))
        low, high = interval(fit_smooth(cells.x, *cells.sums(drawn, y)).at(x),
                             expanded_level(0.95, units))  # fmt: skip
        result += (low <= truth(x)) & (truth(x) <= high)
    return result / trials


@pytest.mark.parametrize(
    ("sizes", "by", "least", "trials"),
    [
        ([12], "systems", 0.75, 25),
        ([4] * 30, "sets", 0.75, 25),
        pytest.param([8], "systems", 0.9, 500, marks=pytest.mark.thorough),
        pytest.param([24], "systems", 0.87, 500, marks=pytest.mark.thorough),
        pytest.param([8] * 5, "systems", 0.92, 500, marks=pytest.mark.thorough),
        pytest.param([3] * 100, "sets", 0.82, 500, marks=pytest.mark.thorough),
    ],
)
def test_the_band_covers(sizes, by, least, trials):
    assert (covered(sizes, by, trials, draws=100 if trials < 500 else 200) >= least).all()
