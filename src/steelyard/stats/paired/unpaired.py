r"""Tests of all pairs of samples that are not paired, but share units: documents, raters.

Where people rate different segments of different systems, observations cannot be paired, yet those
of one document still hang together, within a system and across. Both statistics here, a difference
of means and the chance that one system's rating is above another's, are (nearly) sums of what each
observation adds, so all that varies together is added up before it is squared: with :math:`u_d`
what the observations of unit d add, both samples', the variance is :math:`\sum_d u_d^2 f_d`.
The factors :math:`f_d` (G / (G - 1) for G units of equal size) make up for means that are drawn to
large units; together with the degrees of freedom they are those of
:mod:`steelyard.stats.paired.clustered`, for two samples, and depend on sizes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Counts, Floats, group_sums, ratio
from steelyard.stats.paired.clustered import crossed, t_tails
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.unitfreedom import satterthwaite

_NOISE = 1e-13  # of the size of values: what rounding may leave of an error of 0


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample: its known values, and the codes of their units, of one or of three kinds."""

    values: Floats
    codes: tuple[Counts, ...]


def rank_sum_matrix(samples: Sequence[Floats], units: Sequence[Counts]) -> Floats:
    r"""Test every pair of samples by ranks: ``p[i, j]`` is small where i tends to be larger than j.

    One-sided tests of :math:`\theta`, the chance that a value of i is above one of j (ties count
    half), against 1/2. Each value adds how far its place in the other sample is from its mean, and
    these are added up by unit, whichever sample they are of (Obuchowski 1997). Few units leave that
    variance too small: samples that hardly overlap have places that hardly vary. So it is no less
    than what places in both samples together would give, which are as good if nothing differs, and
    p is no less than what exchanging whole units between the samples could find.

    Parameters
    ----------
    samples
        One array per system; NaN is left out.
    units
        Codes of the values' units, one array per system. A code means the same unit in all.

    Returns
    -------
    Floats
        Systems x systems. NaN on the diagonal, and for pairs of which either sample has fewer than
        two units: one unit says nothing of how units differ. 1 where all values of a pair are the
        same.

    Examples
    --------
    >>> samples = [np.array([3.0, 4, 5, 6]), np.array([1.0, 2, 3, 4])]
    >>> rank_sum_matrix(samples, [np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])]).round(4).tolist()
    [[nan, 0.25], [0.9149, nan]]
    """
    known, count = _aligned(samples, [units])
    n = len(known)
    p = np.full((n, n), np.nan)
    order = [np.argsort(each.values, kind="stable") for each in known]
    ordered = [each.values[by] for each, by in zip(known, order, strict=True)]
    codes = [each.codes[0][by] for each, by in zip(known, order, strict=True)]
    sizes = [group_sums(each, None, count[0]) for each in codes]
    # What places in their own sample add, whatever the other one.
    own = [
        group_sums(by, _places(x, x) - 0.5, count[0]) / max(len(x), 1)
        for by, x in zip(codes, ordered, strict=True)
    ]
    for i, j in _pairs(n):
        x, y = ordered[i], ordered[j]
        if not (x.size and y.size):
            continue
        above = _places(y, x)
        theta, n_x, n_y = float(above.mean()), len(x), len(y)
        one = group_sums(codes[i], above - theta, count[0]) / n_x
        two = group_sums(codes[j], _places(x, y) - (1 - theta), count[0]) / n_y
        together = n_y * one + n_x * own[i] - n_x * two - n_y * own[j]
        leads = np.stack([one - two, together / (n_x + n_y)])
        variances, freedom = _variances(leads, sizes[i], sizes[j])
        error = float(np.sqrt(variances.max()))
        if np.isnan(error):
            continue
        found = _tails(theta - 0.5, 0.0 if error <= _NOISE else error, freedom)
        least = _least(sizes[i] > 0, sizes[j] > 0)
        p[i, j], p[j, i] = (max(tail, least) for tail in found)
    return p


def unpaired_means_test(
    values: Sequence[Floats], units: Sequence[Counts], others: Sequence[Counts] | None = None
) -> Floats:
    """Test the means of every pair of samples: ``p[i, j]`` is small where i has the larger one.

    One-sided t-tests with errors by units, or by units of two kinds that cross, as documents and
    raters: see :func:`steelyard.stats.paired.clustered.two_way_mean_error`.

    Parameters
    ----------
    values
        One array per system; NaN is left out.
    units, others
        Codes of the values' units, one array per system. A code means the same unit in all.

    Returns
    -------
    Floats
        Systems x systems. NaN on the diagonal, and for pairs of which either sample has fewer than
        two units (of either kind). Samples that are constant give 0 and 1, or 1 twice where they
        are the same.

    Examples
    --------
    >>> values = [np.array([3.0, 4, 5, 6]), np.array([1.0, 2, 3, 4])]
    >>> documents = [np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])]
    >>> unpaired_means_test(values, documents).round(4).tolist()
    [[nan, 0.075], [0.925, nan]]
    """
    known, count = _aligned(values, [units] if others is None else [units, others])
    n = len(known)
    p = np.full((n, n), np.nan)
    mean = [each.values.mean() if each.values.size else np.nan for each in known]
    noise = [_NOISE * np.abs(each.values).max(initial=0.0) for each in known]
    sizes, leads = [], []
    for each, centre in zip(known, mean, strict=True):
        rest, size = (each.values - centre) / max(len(each.values), 1), len(count)
        sizes.append([group_sums(each.codes[k], None, count[k]) for k in range(size)])
        leads.append([group_sums(each.codes[k], rest, count[k]) for k in range(size)])
    for i, j in _pairs(n):
        found = [
            _variances((a - b)[None], *both)
            for a, b, *both in zip(leads[i], leads[j], sizes[i], sizes[j], strict=True)
        ]
        variance, freedom = float(found[0][0][0]), found[0][1]
        if others is not None:  # the sum less what lies in both, but never less than either
            one, two, both_ways = (float(each[0]) for each, _ in found)
            variance = float(np.max([one + two - both_ways, one, two]))
            freedom = min(freedom, found[1][1])
        slack = max(noise[i], noise[j])
        gap, error = float(mean[i] - mean[j]), float(np.sqrt(variance))
        if error <= slack:
            error, gap = 0.0, gap if abs(gap) > slack else 0.0
        p[i, j], p[j, i] = _tails(gap, error, freedom)
    return p


def _aligned(
    values: Sequence[Floats], kinds: Sequence[Sequence[Counts]]
) -> tuple[list[_Sample], list[int]]:
    """Drop what is missing, count codes from 0, and add those of both kinds together."""
    n = [len(each) for each in values]
    ends = np.cumsum([0, *n])
    for units in kinds:
        if [len(each) for each in units] != n:
            raise ShapeError(f"samples of {n} values, units of {[len(each) for each in units]}")
    whole = [np.concatenate([*units, np.zeros(0, np.int64)]) for units in kinds]
    if len(whole) == 2:
        whole.append(crossed(whole[0], whole[1]))
    codes = [np.unique(each, return_inverse=True)[1].astype(np.int64) for each in whole]
    samples = []
    for k, each in enumerate(values):
        here = ~np.isnan(each)
        samples.append(_Sample(each[here], tuple(c[ends[k] : ends[k + 1]][here] for c in codes)))
    return samples, [int(each.max(initial=-1)) + 1 for each in codes]


def _pairs(n: int) -> Iterator[tuple[int, int]]:
    i, j = pair_index(n)
    return zip(i.tolist(), j.tolist(), strict=True)


def _places(ordered: Floats, values: Floats) -> Floats:
    """Share of a sorted sample that is below each value, what equals it by half."""
    below = np.searchsorted(ordered, values, side="left")
    return (below + np.searchsorted(ordered, values, side="right")) / (2 * len(ordered))


def _variances(leads: Floats, x: Floats, y: Floats) -> tuple[Floats, float]:
    """Give the variances of differences, and their degrees of freedom.

    ``leads`` are rows of what each unit adds, ``x`` and ``y`` how many observations of either
    sample it has; NaN where either sample lies in fewer than two units.
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


def _least(x: NDArray[np.bool_], y: NDArray[np.bool_]) -> float:
    """Smallest p of exchanging units, given which of them the samples have.

    A unit that both have could have had them the other way round; those of one sample alone could
    have been any of all that are of one alone.
    """
    both, first, second = (np.count_nonzero(each) for each in (x & y, x & ~y, y & ~x))
    ways = lgamma(first + second + 1) - lgamma(first + 1) - lgamma(second + 1)
    return exp(-both * log(2) - ways)


def _freedom(a: Floats, b: Floats, factor: Floats, each: Floats) -> float:
    """Give the smaller degrees of freedom of two models, as for one sample.

    ``a`` and ``b`` are the shares of two samples in the units, ``each`` that of an observation.
    """
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


def _tails(lead: float, error: float, freedom: float) -> tuple[float, float]:
    upper, lower = t_tails(np.array([lead]), np.array([error]), np.array([freedom]))
    return float(upper[0]), float(lower[0])
