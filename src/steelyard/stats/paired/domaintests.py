r"""Wilcoxon's signed-rank test as ``scipy.stats.wilcoxon`` gives it, per domain and combined.

Published rankings were made with SciPy's defaults, which choose between three ways to a p-value by
the number of differences, ties and zeros. Whoever wants the published number needs the same choice;
:func:`steelyard.stats.paired.pairedtests.wilcoxon_test` makes a better one.

Stouffer's method puts the p-values of domains together: :math:`z_d = \Phi^{-1}(1 - p_d)` and
:math:`p = 1 - \Phi(\sum_d z_d / \sqrt{D})`. Of two-sided p-values it forgets the direction: a lead
in one domain and an equal loss in another add up. :func:`directed_stouffer` keeps the sign.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.paired.ranktests import signed_rank_tails

_EXACT = 50  # differences up to which untied ones are counted exactly
_ALL_SIGNS = 13  # differences up to which all signs are tried, ties and zeros or not


class Wilcoxon(NamedTuple):
    """p-values of rows of differences: either way, above 0, below 0."""

    two_sided: Floats
    greater: Floats
    less: Floats

    @property
    def sign(self) -> Floats:
        """Which way the ranks lean: 1 above 0, -1 below, 0 where neither, NaN where undefined."""
        return np.sign(self.less - self.greater)


def scipy_wilcoxon(gap: Floats) -> Wilcoxon:
    """Test rows of paired differences against 0, as ``scipy.stats.wilcoxon`` does by default.

    Differences of 0 are dropped. More than 50 differences (zeros counted) get the normal
    approximation, with the correction for ties and none for continuity; fewer are tested exactly
    if none is tied or 0, and by all signs if there are at most 13; the rest again by the normal
    approximation.

    Parameters
    ----------
    gap
        Rows of differences; NaN is left out (SciPy gives NaN for the whole row).

    Returns
    -------
    Wilcoxon
        NaN for a row without differences, and where SciPy has no answer: only zeros, if there are
        more than 13 of them or a single one. (Two to 13 zeros have p = 1.)

    Examples
    --------
    >>> found = scipy_wilcoxon(np.array([[3.0, 1.0, 4.0, 1.5, 5.0], [1.0, -1.0, 0.0, 0.0, 0.0]]))
    >>> found.two_sided.tolist(), found.greater.tolist()
    ([0.0625, 1.0], [0.03125, 0.75])
    """
    known = ~np.isnan(gap)
    n = known.sum(axis=1)
    zero = (known & (gap == 0)).any(axis=1)
    exactly = (n <= _ALL_SIGNS) | ((n <= _EXACT) & ~zero & ~_tied(gap))
    upper, lower = np.empty(len(gap)), np.empty(len(gap))
    for exact in (True, False):
        rows = np.flatnonzero(exactly == exact)
        upper[rows], lower[rows] = signed_rank_tails(gap[rows], exact=exact)
    nothing = ~(known & (gap != 0)).any(axis=1) & ((n < 2) | (n > _ALL_SIGNS))
    upper[nothing] = lower[nothing] = np.nan
    return Wilcoxon(np.minimum(1.0, 2 * np.minimum(upper, lower)), upper, lower)


def _tied(gap: Floats) -> np.ndarray:
    """Tell the rows in which two differences have the same size."""
    size = np.sort(np.abs(gap), axis=1)  # NaN last, and never equal
    return np.asarray((size[:, 1:] == size[:, :-1]).any(axis=1))


def stouffer(p: Floats) -> Floats:
    """Combine p-values by Stouffer's method along the first axis; NaN if any of them is.

    Examples
    --------
    >>> round(float(stouffer(np.array([0.01, 0.01]))), 6)
    0.000501
    """
    z = -ndtri(np.asarray(p, dtype=np.float64))
    with np.errstate(invalid="ignore"):  # p of 0 and of 1: nothing to be said
        return np.asarray(ndtr(-z.sum(axis=0) / np.sqrt(max(len(z), 1))))


def directed_stouffer(two_sided: Floats, sign: Floats) -> Floats:
    """Combine two-sided p-values with their signs: the p-value that the whole lies above 0.

    A domain that leans neither way counts as one that says nothing (z = 0); one that is undefined
    (NaN sign) takes no part.

    Examples
    --------
    >>> p = np.array([0.01, 0.01])
    >>> float(directed_stouffer(p, np.array([1.0, -1.0])))  # the two domains contradict each other
    0.5
    >>> round(float(directed_stouffer(p, np.array([1.0, 1.0]))), 6)
    0.000135
    """
    lean = np.asarray(sign, dtype=np.float64)
    half = np.where(lean == 0, 0.5, np.asarray(two_sided, dtype=np.float64) / 2)
    z = np.where(np.isnan(lean), 0.0, lean * -ndtri(np.where(np.isnan(half), 0.5, half)))
    taken = (~np.isnan(lean)).sum(axis=0)
    return np.asarray(ndtr(-ratio(z.sum(axis=0), np.sqrt(taken))))
