r"""t-tests of means of paired differences whose segments come in units, of one kind or of two.

Differences within a unit (a document, a prompt) may be correlated in any way; units are
independent. With n segments of which the share :math:`p_g` lies in unit g, and :math:`u_g` the sum
of its differences less their mean, the variance of the mean is estimated by
:math:`\sum_g u_g^2 / (1 - p_g) / n^2` (CR2, Bell and McCaffrey 2002): the divisor makes up for the
mean being drawn to large units. It is :math:`s^2 / n` where all units are single segments.

Few or unequal units leave it fewer degrees of freedom than their number says. It is a quadratic
form with some matrix B under a model of the segments, so by Satterthwaite's rule it has
:math:`\mathrm{tr}(B)^2 / \|B\|^2` of them. Two models span what may be: independent segments, and
segments that are alike in each unit. The smaller number counts. It depends on the sizes of units
alone, never on scores: a test that is chosen by the data has no level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from steelyard.core.errors import UsageError
from steelyard.core.options import check_choice
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.permutation.pvalues import ALTERNATIVES, block_sums, pair_index, sided
from steelyard.stats.resampling.unitfreedom import freedom_of_sizes

_CELLS = 1 << 20  # differences held at a time
_NOISE = 1e-13  # of the mean size of differences: what rounding may leave of an error of 0


class MeanError(NamedTuple):
    """Means, their standard errors, degrees of freedom, and units, of rows of differences."""

    mean: Floats
    error: Floats
    freedom: Floats
    n_units: Counts


def t_test(scores: Floats, blocks: Counts, *, alternative: str = "two-sided") -> Floats:
    """Paired t-test of all pairs of systems that respects units.

    Parameters
    ----------
    scores
        Systems x segments, NaN where missing; a pair is compared on the segments both have.
    blocks
        A code per segment: those with the same code are one unit.
    alternative
        ``two-sided``, ``greater`` or ``less``.

    Returns
    -------
    Floats
        ``p[i, j]`` of i against j. NaN on the diagonal and for pairs with fewer than two units; a
        constant difference is tested by the signs of units, equal scores give 1.

    Examples
    --------
    >>> scores = np.array([[1.0, 2, 3, 4], [1.0, 1, 1, 3]])
    >>> t_test(scores, np.array([0, 1, 2, 3])).round(6).tolist()
    [[nan, 0.091721], [0.091721, nan]]
    >>> t_test(scores, np.array([0, 0, 1, 1])).round(6).tolist()
    [[nan, 0.295167], [0.295167, nan]]
    """
    return _assemble(scores, alternative, lambda gap: mean_error(gap, blocks))


def mean_error(gap: Floats, blocks: Counts) -> MeanError:
    """Give means of rows of differences, their standard errors, degrees of freedom, and units.

    Parameters
    ----------
    gap
        Rows x segments, NaN where missing.
    blocks
        A code per segment: those with the same code are one unit.

    Returns
    -------
    MeanError
        One number of each per row; the error and the degrees of freedom are NaN with fewer than two
        units that have a difference.

    Examples
    --------
    >>> mean, error, freedom, units = mean_error(np.array([[0.0, 1, 2, 1]]), np.array([0, 0, 1, 1]))
    >>> mean.tolist(), error.tolist(), freedom.round(12).tolist(), units.tolist()
    ([1.0], [0.5], [1.0], [2])
    """
    known = ~np.isnan(gap)
    n = known.sum(axis=1).astype(np.float64)
    filled = np.where(known, gap, 0.0)
    mean = ratio(filled.sum(axis=1), n)
    sizes = block_sums(known.astype(np.float64), blocks)
    share = ratio(sizes, n[:, None])
    sums = block_sums(np.where(known, gap - mean[:, None], 0.0), blocks)
    variance = np.sum(ratio(sums * sums, 1 - share), axis=1) / np.maximum(n, 1) ** 2
    error = np.sqrt(variance)
    # Rounding alone must not make a constant difference vary, nor differences that cancel differ.
    noise = _NOISE * ratio(np.abs(filled).sum(axis=1), n)
    still = error <= noise
    error[still] = 0.0
    mean[still & (np.abs(mean) <= noise)] = 0.0
    if len(sizes) and (sizes == sizes[0]).all():  # nothing is missing: all rows have one answer
        freedom = np.repeat(freedom_of_sizes(sizes[:1]), len(sizes))
    else:
        freedom = freedom_of_sizes(sizes)
    return MeanError(mean, error, freedom, (sizes > 0).sum(axis=1))


def two_way_mean_error(gap: Floats, blocks: Counts, others: Counts) -> MeanError:
    """Give the same as :func:`mean_error` does, by units of two kinds that cross.

    What is shared by a unit of either kind counts once: the variance by the one kind, and by the
    other, less that by what lies in the same unit of both (Cameron, Gelbach and Miller 2011). The
    degrees of freedom are the fewer, and so are the units.

    Examples
    --------
    >>> gap, documents, raters = np.array([[0.0, 1, 2, 2]]), [0, 0, 1, 1], [0, 1, 0, 1]
    >>> mean, error, *_ = two_way_mean_error(gap, np.array(documents), np.array(raters))
    >>> mean.tolist(), error.round(6).tolist()
    ([1.25], [0.75])
    """
    mean, one, freedom, units = mean_error(gap, blocks)
    _, two, others_freedom, others_units = mean_error(gap, others)
    _, both, _, _ = mean_error(gap, crossed(blocks, others))
    # The difference of estimates may fall below either, and even below 0. Neither kind of unit
    # alone leaves less doubt than both do: the worst of the two is what we can state then. Where
    # one kind is nested in the other this is the test by the larger units, unless their smaller
    # ones say that the mean is less sure.
    worse = np.maximum(one, two)
    error = np.sqrt(np.maximum(one * one + two * two - both * both, worse * worse))
    fewer = np.minimum(freedom, others_freedom), np.minimum(units, others_units)
    return MeanError(mean, error, *fewer)


def shared_units(known: NDArray[np.bool_], blocks: Counts) -> Counts:
    """Count the units in which two systems have a segment in common, for all pairs of them.

    ``known`` is systems x segments.

    Examples
    --------
    >>> known = np.array([[True, True, True, True], [True, False, False, True]])
    >>> shared_units(known, np.array([0, 0, 1, 2])).tolist()
    [[3, 2], [2, 2]]
    """
    found = np.zeros((len(known), len(known)), dtype=np.int64)
    order = np.argsort(blocks, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(blocks[order]) != 0])[: len(order)]
    for part in np.split(order, starts[1:]):
        own = known[:, part].astype(np.float32)
        found += own @ own.T > 0
    return found


def crossed(blocks: Counts, others: Counts) -> Counts:
    """Give a code for every combination of two codes.

    Examples
    --------
    >>> crossed(np.array([7, 7, 9]), np.array([1, 2, 1])).tolist()
    [0, 1, 2]
    """
    if blocks.shape != others.shape:
        raise UsageError(f"codes of two kinds of units, but {blocks.shape} and {others.shape}")
    codes = [np.unique(each, return_inverse=True)[1] for each in (blocks, others)]
    both = codes[0].astype(np.int64) * (int(codes[1].max(initial=0)) + 1) + codes[1]
    return np.asarray(np.unique(both, return_inverse=True)[1], dtype=np.int64)


def t_tails(
    lead: Floats, error: Floats, freedom: Floats, units: Counts | None = None
) -> tuple[Floats, Floats]:
    """P(T >= t) and P(T <= t) of leads with errors; both are 1 where neither is above 0.

    A lead without any spread has no t. Where its number of ``units`` is given, the signs of these
    decide: one of 2**units arrangements is as far out.

    Examples
    --------
    >>> upper, lower = t_tails(np.array([1.0, 0.0, 2.0]), np.array([1.0, 0.0, 0.0]), np.ones(3))
    >>> upper.round(12).tolist(), lower.round(12).tolist()
    ([0.25, 1.0, 0.0], [0.75, 1.0, 1.0])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((lead == 0) & (error > 0), 0.0, lead / error)
    same = (lead == 0) & (error == 0)  # nothing differs: no evidence on either side
    upper, lower = (np.where(same, 1.0, stdtr(freedom, x)) for x in (-t, t))
    if units is not None:
        still = (error == 0) & (lead != 0)
        least = 2.0 ** -units.astype(np.float64)
        upper = np.where(still, np.where(lead > 0, least, 1.0), upper)
        lower = np.where(still, np.where(lead < 0, least, 1.0), lower)
    return upper, lower


def _assemble(scores: Floats, alternative: str, errors: Callable[[Floats], MeanError]) -> Floats:
    """Fill the matrix, as many pairs at a time as fit."""
    check_choice(ALTERNATIVES, alternative=alternative)
    if scores.ndim != 2:
        raise UsageError(f"expected systems x segments, got shape {scores.shape}")
    n, width = scores.shape
    p = np.full((n, n), np.nan)
    i, j = pair_index(n)
    step = max(1, _CELLS // max(width, 1))
    for start in range(0, len(i) if width else 0, step):
        a, b = i[start : start + step], j[start : start + step]
        p[a, b], p[b, a] = t_tails(*errors(scores[a] - scores[b]))
    return sided(p, alternative)
