r"""Tests of all pairs of samples that are not paired, but may share units: documents, raters.

Observations of one document hang together, within a system and across. Differences of means, and
the chance that one rating is above another, are (nearly) sums of what each observation adds: with
:math:`u_d` what the observations of unit d add, both samples', the variance is
:math:`\sum_d u_d^2 f_d`. Factors and degrees of freedom are those of
:mod:`steelyard.stats.resampling.cluster_df`, for two samples, and depend on sizes alone.

Tests take one array per system (NaN is left out), with codes of units that mean the same in all,
and return one-sided p-values: ``p[i, j]`` is small where i is above j. The diagonal is NaN. Where
all values of a pair are the same, p is 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats, group_sums, ratio
from steelyard.stats.distributions import ndtr
from steelyard.stats.paired.tests import t_tails
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.cluster_df import satterthwaite

_EXACT_PRODUCT = 400  # product of two samples' sizes up to which all ways to split are counted
_SHARED = 0.8  # of the outputs of a pair, below which common segments say too little
_SWAPPED = 12  # documents of a pair up to which all ways to swap systems are counted
_NOISE = 1e-13  # of the size of values: what rounding may leave of an error of 0

Bools = NDArray[np.bool_]


def rank_sum_test(samples: Sequence[Floats]) -> Floats:
    """Mann-Whitney test of every pair of samples of independent values; NaN with an empty sample.

    Samples whose sizes have a product of up to 400 are tested exactly, ties included; larger ones
    by the normal distribution, with the corrections for ties and for continuity.
    """
    ordered = [np.sort(x[~np.isnan(x)]) for x in samples]
    p = np.full((len(ordered), len(ordered)), np.nan)
    for i, j in _pairs(len(ordered)):
        if ordered[i].size and ordered[j].size:
            p[i, j], p[j, i] = _rank_sum(ordered[i], ordered[j])
    return p


def _rank_sum(x: Floats, y: Floats) -> tuple[float, float]:
    """Both one-sided p-values of two sorted samples."""
    n, m = len(x), len(y)
    below = np.searchsorted(y, x, side="left").sum() + np.searchsorted(y, x, side="right").sum()
    lead = below / 2 - n * m / 2  # how far U is from what equal samples would give
    both = np.sort(np.concatenate([x, y]), kind="stable")  # two sorted runs: merged, not sorted
    ends = np.flatnonzero(np.r_[both[1:] != both[:-1], True])
    runs = np.diff(np.r_[-1, ends]).astype(np.float64)
    total = n + m
    spread = n * m / 12 * (total + 1 - (runs**3 - runs).sum() / (total * max(total - 1, 1)))
    if spread <= 0:
        return 1.0, 1.0
    if n * m <= _EXACT_PRODUCT:
        doubled = np.repeat(2 * ends - runs + 3, runs.astype(np.int64)).astype(np.int64)
        return _split_tails(doubled, n, n * (n + 1) + round(below))
    scale = np.sqrt(spread)
    return float(ndtr(-(lead - 0.5) / scale)), float(ndtr((lead + 0.5) / scale))


def _split_tails(doubled: Counts, n: int, won: int) -> tuple[float, float]:
    """P(sum >= won) and P(sum <= won) of n of these (doubled) ranks, all choices alike."""
    fewer = min(n, len(doubled) - n)
    reach = won if fewer == n else int(doubled.sum()) - won
    ways = np.zeros((fewer + 1, int(np.sort(doubled)[len(doubled) - fewer :].sum()) + 1))
    ways[0, 0] = 1
    for rank in doubled.tolist():
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    share = ways[fewer] / ways[fewer].sum()
    at_least = min(float(share[reach:].sum()), 1.0)
    at_most = min(float(share[: reach + 1].sum()), 1.0)
    return (at_least, at_most) if fewer == n else (at_most, at_least)


def rank_sum_test_by_unit(samples: Sequence[Floats], units: Sequence[Counts]) -> Floats:
    r"""Test :math:`\theta`, the chance that a value of i is above one of j, against 1/2, by unit.

    Each value adds how far its place in the other sample is from its mean, added up by unit,
    whichever sample they are of (Obuchowski 1997). Few units leave that variance too small: so it
    is no less than what places in both samples together would give, and p is no less than what
    exchanging whole units could find. NaN where either sample has fewer than two units.
    """
    known, n_units = _aligned(samples, units)
    p = np.full((len(known), len(known)), np.nan)
    order = [np.argsort(sample.values, kind="stable") for sample in known]
    ordered = [sample.values[by] for sample, by in zip(known, order, strict=True)]
    codes = [sample.codes[by] for sample, by in zip(known, order, strict=True)]
    sizes = [group_sums(code, None, n_units) for code in codes]
    # What places in their own sample add, whatever the other one.
    alone = [
        group_sums(code, _places(x, x) - 0.5, n_units) / max(len(x), 1)
        for code, x in zip(codes, ordered, strict=True)
    ]
    for i, j in _pairs(len(known)):
        x, y = ordered[i], ordered[j]
        if not (x.size and y.size):
            continue
        above = _places(y, x)
        theta, n_x, n_y = float(above.mean()), len(x), len(y)
        first = group_sums(codes[i], above - theta, n_units) / n_x
        second = group_sums(codes[j], _places(x, y) - (1 - theta), n_units) / n_y
        together = n_y * first + n_x * alone[i] - n_x * second - n_y * alone[j]
        leads = np.stack([first - second, together / (n_x + n_y)])
        variances, freedom = _variances(leads, sizes[i], sizes[j])
        error = float(np.sqrt(variances.max()))
        if np.isnan(error):
            continue
        tails = _tails(theta - 0.5, 0.0 if error <= _NOISE else error, freedom)
        least = _least(sizes[i] > 0, sizes[j] > 0)
        p[i, j], p[j, i] = (max(tail, least) for tail in tails)
    return p


def unpaired_means_test(values: Sequence[Floats], units: Sequence[Counts]) -> Floats:
    """t-test of the means of every pair of samples, with errors by unit.

    NaN where either sample has fewer than two units. Samples that are constant and differ give 0
    and 1.
    """
    known, n_units = _aligned(values, units)
    p = np.full((len(known), len(known)), np.nan)
    mean = [sample.values.mean() if sample.values.size else np.nan for sample in known]
    noise = [_NOISE * np.abs(sample.values).max(initial=0.0) for sample in known]
    sizes, leads = [], []
    for sample, centre in zip(known, mean, strict=True):
        rest = (sample.values - centre) / max(len(sample.values), 1)
        sizes.append(group_sums(sample.codes, None, n_units))
        leads.append(group_sums(sample.codes, rest, n_units))
    for i, j in _pairs(len(known)):
        variances, freedom = _variances((leads[i] - leads[j])[None], sizes[i], sizes[j])
        slack = max(noise[i], noise[j])
        gap, error = float(mean[i] - mean[j]), float(np.sqrt(variances[0]))
        if error <= slack:
            error, gap = 0.0, gap if abs(gap) > slack else 0.0
        p[i, j], p[j, i] = _tails(gap, error, freedom)
    return p


class ClusterMeans(NamedTuple):
    """Every pair of systems by the means of all their outputs: one-sided p, error, freedom."""

    p: Floats
    error: Floats
    freedom: Floats


def share_few(scores: Floats) -> Bools:
    """Tell of which pairs fewer than 80% of the outputs are on segments of both."""
    known = (~np.isnan(scores)).astype(np.float64)
    n = known.sum(axis=1)
    return np.asarray(ratio(2 * known @ known.T, n[:, None] + n) < _SHARED)


def cluster_means_test(scores: Floats, units: Counts | None = None) -> ClusterMeans:
    """Test the means of all outputs of every pair; for systems that share few segments.

    ``scores`` are systems x segments (NaN: missing), ``units`` codes of the documents of segments.
    A document adds ``u = sum((a - mean(a)) / n_a) - sum((b - mean(b)) / n_b)``, the variance is
    ``sum(u**2) * D / (D - 1)``, and the smaller number of documents less 1 gives the degrees of
    freedom. With up to 12 documents, p is no less than that of swapping systems in documents.

    >>> scores = np.array([[80.0, 90, 70, np.nan, 85], [60.0, np.nan, 65, 50, 70]])
    >>> float(cluster_means_test(scores).freedom[0, 1])
    3.0
    """
    known = ~np.isnan(scores)
    codes = (
        np.arange(scores.shape[1]) if units is None else np.unique(units, return_inverse=True)[1]
    )
    size = int(codes.max(initial=-1)) + 1
    counts = np.stack([group_sums(codes, row, size) for row in known])
    sums = np.stack([group_sums(codes, row, size) for row in np.where(known, scores, 0.0)])
    n = counts.sum(axis=1)
    mean = ratio(sums.sum(axis=1), n)
    leads = ratio(sums - np.nan_to_num(mean)[:, None] * counts, n[:, None])
    held = (counts > 0).astype(np.float64)
    each = held.sum(axis=1)
    together = each[:, None] + each - held @ held.T
    inner = np.nan_to_num(leads) @ np.nan_to_num(leads).T
    squares = np.diag(inner)[:, None] + np.diag(inner) - 2 * inner
    error = np.sqrt(np.maximum(squares, 0) * ratio(together, together - 1))
    fewest = np.minimum(each[:, None], each)
    freedom = np.where(fewest > 1, fewest - 1, np.nan)
    error = np.where(error <= _NOISE * np.nanmax(np.abs(scores), initial=0.0), 0.0, error)
    error[np.isnan(freedom)] = np.nan
    p = t_tails(mean[:, None] - mean, error, freedom)[0]
    np.fill_diagonal(p, np.nan)
    for i, j in _pairs(len(scores)):
        if together[i, j] <= _SWAPPED and not np.isnan(p[i, j]):
            above, below = _swapped_tails(sums[[i, j]], counts[[i, j]])
            p[i, j], p[j, i] = max(p[i, j], above), max(p[j, i], below)
    return ClusterMeans(p, error, freedom)


def _swapped_tails(sums: Floats, counts: Floats) -> list[float]:
    """P-values of the difference of two means among all ways to swap systems in documents."""
    held = counts.sum(axis=0) > 0
    swap = np.array(list(itertools.product([0, 1], repeat=int(held.sum()))))
    first, second = (
        ratio(*((1 - swap) @ x[k, held] + swap @ x[1 - k, held] for x in (sums, counts)))
        for k in (0, 1)
    )
    lead = (first - second)[~np.isnan(first - second)]  # all documents may go to one system
    return [float((side * lead >= side * lead[0] - 1e-12).mean()) for side in (1, -1)]


class _Sample(NamedTuple):
    """The known values of a sample, and the codes of their units."""

    values: Floats
    codes: Counts


def _aligned(values: Sequence[Floats], units: Sequence[Counts]) -> tuple[list[_Sample], int]:
    """Drop what is missing, and count codes from 0; returns how many there are, too."""
    ends = np.cumsum([0, *(len(sample) for sample in values)])
    stacked = np.concatenate([*units, np.zeros(0, np.int64)])
    codes = np.unique(stacked, return_inverse=True)[1].astype(np.int64)
    samples = []
    for sample, start, end in zip(values, ends, ends[1:], strict=False):
        known = ~np.isnan(sample)
        samples.append(_Sample(sample[known], codes[start:end][known]))
    return samples, int(codes.max(initial=-1)) + 1


def _pairs(n: int) -> Iterator[tuple[int, int]]:
    i, j = pair_index(n)
    return zip(i.tolist(), j.tolist(), strict=True)


def _places(ordered: Floats, values: Floats) -> Floats:
    """Share of a sorted sample that is below each value, what equals it by half."""
    below = np.searchsorted(ordered, values, side="left")
    return (below + np.searchsorted(ordered, values, side="right")) / (2 * len(ordered))


def _variances(leads: Floats, x: Floats, y: Floats) -> tuple[Floats, float]:
    """Return the variances of differences from what each unit adds, and degrees of freedom.

    ``x`` and ``y`` count the observations of either sample; NaN below two units in either.
    """
    if np.count_nonzero(x) < 2 or np.count_nonzero(y) < 2:
        return np.full(len(leads), np.nan), float("nan")
    held = (x > 0) | (y > 0)
    n, m = x.sum(), y.sum()
    a, b = x[held] / n, y[held] / m
    expected = a / n + b / m  # of independent observations, were their means known
    kept = expected - a * a / n - b * b / m  # ... of which centring leaves so much
    factor = ratio(expected, kept)
    return leads[:, held] ** 2 @ factor, _freedom(a, b, factor, np.array([1 / n, 1 / m]))


def _freedom(a: Floats, b: Floats, factor: Floats, each: Floats) -> float:
    """Return the smaller degrees of freedom of two models, from shares of samples in units."""
    root = np.sqrt(factor)
    shares = np.stack([a, b], axis=1) * root[:, None]
    diagonal = factor * (a * each[0] + b * each[1])
    free = satterthwaite(diagonal[None], shares[None], -np.diag(each)[None])
    # Alike in a unit and system: each sample has its own deviations of units from their mean.
    factors = np.stack([a, a * a, b, b * b], axis=1) * root[:, None]
    inner = np.zeros((4, 4))
    inner[0, 0], inner[2, 2] = (a * a).sum(), (b * b).sum()
    inner[0, 1] = inner[1, 0] = inner[2, 3] = inner[3, 2] = -1
    alike = satterthwaite((factor * (a * a + b * b))[None], factors[None], inner[None])
    return float(min(free[0], alike[0]))


def _least(x: Bools, y: Bools) -> float:
    """Smallest p of exchanging the units that both samples have, and those of one alone."""
    both, first, second = (np.count_nonzero(kind) for kind in (x & y, x & ~y, y & ~x))
    ways = lgamma(first + second + 1) - lgamma(first + 1) - lgamma(second + 1)
    return exp(-both * log(2) - ways)


def _tails(*parts: float) -> tuple[float, float]:
    upper, lower = t_tails(*(np.array([part]) for part in parts))
    return float(upper[0]), float(lower[0])
