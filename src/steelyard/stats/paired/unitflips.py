r"""Rank, sign and median tests of all pairs of systems by the signs of whole units.

Segments of one document are judged by one person, and stand or fall together. What may be swapped
between two equally good systems is then a whole *unit*, not a segment. So each test here scores
every segment by the kernel of its usual form (a signed rank, a win or a loss, a side of the
median), adds these up within units, :math:`x_g`, and asks how often :math:`\sum_g e_g x_g` with
fair signs :math:`e_g` is as far out as :math:`\sum_g x_g`. That holds its level whatever ties the
segments of a unit together, however many it has, and it is the usual test where it has one.

================  ================================================================================
:func:`wilcoxon`  signed ranks of the differences (Rosner, Glynn and Lee 2006, here exact)
:func:`sign`      wins less losses
:func:`mcnemar`   the same of scores that are 0 or 1
:func:`mood`      scores above the grand median, of the one system less of the other
================  ================================================================================

All take systems x segments (NaN where missing; a pair is compared on the segments both have) and
a code of the unit of each segment. They give ``p[i, j]`` of i against j (NaN on the diagonal and
for pairs without a common segment, 1 where nothing differs), and the largest numerical error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.options import check_choice, check_number
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.paired.ranktests import ranks_of_sizes
from steelyard.stats.permutation.lattice import Z, lattice_tails
from steelyard.stats.permutation.pvalues import ALTERNATIVES, block_sums, pair_index, sided
from steelyard.stats.permutation.tails import product_tails

_CELLS = 1 << 20  # kernels held at a time
_LATTICE = 2_000_000  # distinct sums x frequencies up to which a chunk of pairs is a lattice
_FEW = 32  # units up to which the signs of fine sums are all enumerated

#: The scores of some pairs on the segments both have (else NaN): whole numbers, and who has a test.
Kernel = Callable[[Floats, Floats], tuple[Floats, NDArray[np.bool_]]]


def wilcoxon(
    scores: Floats, blocks: Counts, *, alternative: str = "two-sided"
) -> tuple[Floats, float]:
    """Wilcoxon's signed-rank test by the signs of units: ranks are of segments, signs of units.

    Zero differences are left out, tied ones share their mean rank. As all signs are counted, or
    the characteristic function of their sum is inverted, it is never a normal approximation.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[3.0, 1, 4, 2, 5], [0.0] * 5])
    >>> p, error = wilcoxon(scores, np.array([0, 0, 1, 1, 2]), alternative="greater")
    >>> float(p[0, 1])  # three units, all in favour: one of eight
    0.125
    """

    def kernel(x: Floats, y: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        gap = x - y
        known = ~np.isnan(gap)
        rank = ranks_of_sizes(np.where(known & (gap != 0), np.abs(gap), np.nan))
        # Doubled: mean ranks are halves.
        signed = np.rint(2 * rank) * np.sign(np.where(known, gap, 0.0))
        return signed, np.asarray(known.any(axis=1))

    return _by_signs(scores, blocks, alternative, kernel)


def sign(
    scores: Floats, blocks: Counts, *, tolerance: float = 0.0, alternative: str = "two-sided"
) -> tuple[Floats, float]:
    """Sign test by units: the wins less the losses of each, under all signs of the units.

    A difference of no more than ``tolerance`` is neither.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[1.0, 1, 1, 1, 0, 1], [0.0] * 6])
    >>> float(sign(scores, np.array([0, 0, 0, 1, 1, 2]))[0][0, 1])
    0.25
    """
    check_number(0, tolerance=tolerance)
    return _by_signs(scores, blocks, alternative, partial(_won, tolerance=tolerance))


def mcnemar(
    scores: Floats, blocks: Counts, *, alternative: str = "two-sided"
) -> tuple[Floats, float]:
    """McNemar's test by units, of scores that are 0 or 1 (or 0 and -1): :func:`sign` of those.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[1.0, 1, 0, 1, 1, 1], [0.0, 0, 1, 0, 1, 0]])
    >>> float(mcnemar(scores, np.array([0, 0, 0, 1, 1, 2]))[0][0, 1])
    0.25
    """
    known = np.abs(scores[~np.isnan(scores)])
    if not ((known == 0) | (known == 1)).all():
        raise UsageError("McNemar's test is of scores that are 0 or 1")
    return sign(scores, blocks, alternative=alternative)


def mood(scores: Floats, blocks: Counts) -> tuple[Floats, float]:
    """Mood's test of medians by units, two-sided; NaN where no score is above the median.

    The grand median of both systems stays what it is whichever units they swap. So the share of
    either above it is tested by how many more the one has there in each unit.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[7.0, 8, 9, 6, 5], [1.0, 2, 3, 4, 0]])
    >>> float(mood(scores, np.array([0, 0, 1, 1, 2]))[0][0, 1])
    0.25
    """
    return _by_signs(scores, blocks, "two-sided", _above)


def _won(x: Floats, y: Floats, tolerance: float) -> tuple[Floats, NDArray[np.bool_]]:
    gap = x - y
    lead = (gap > tolerance).astype(np.float64) - (gap < -tolerance)
    return lead, np.asarray((~np.isnan(gap)).any(axis=1))


def _above(x: Floats, y: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    ordered = np.sort(np.concatenate([x, y], axis=1), axis=1)  # the missing come last
    count = (~np.isnan(x)).sum(axis=1)
    row, high = np.arange(len(x)), np.maximum(count, 1)
    middle = ((ordered[row, high - 1] + ordered[row, high]) / 2)[:, None]
    high_x, high_y = x > middle, y > middle
    # As in the test of single segments: where no score is above, there is no table to look at.
    return high_x.astype(np.float64) - high_y, np.asarray((high_x | high_y).any(axis=1))


def _by_signs(
    scores: Floats, blocks: Counts, alternative: str, kernel: Kernel
) -> tuple[Floats, float]:
    """Fill the matrix, as many pairs at a time as fit."""
    check_choice(ALTERNATIVES, alternative=alternative)
    if scores.ndim != 2:
        raise UsageError(f"expected systems x segments, got shape {scores.shape}")
    n, width = scores.shape
    p = np.full((n, n), np.nan)
    worst = 0.0
    i, j = pair_index(n)
    step = max(1, _CELLS // max(width, 1))
    for start in range(0, len(i) if width else 0, step):
        a, b = i[start : start + step], j[start : start + step]
        x, y = scores[a], scores[b]
        missing = np.isnan(x) | np.isnan(y)
        x[missing] = y[missing] = np.nan
        value, tested = kernel(x, y)
        upper, lower, error = flip_tails(block_sums(value, blocks))
        p[a, b], p[b, a] = np.where(tested, upper, np.nan), np.where(tested, lower, np.nan)
        worst = max(worst, error)
    return sided(p, alternative), (2 if alternative == "two-sided" else 1) * worst


def flip_tails(sums: Floats) -> tuple[Floats, Floats, float]:
    """P(T >= t) and P(T <= t) over all signs, for rows of whole numbers; and the largest error.

    Examples
    --------
    >>> import numpy as np
    >>> upper, lower, _ = flip_tails(np.array([[2.0, 1.0, -1.0]]))
    >>> upper.tolist(), lower.tolist()
    ([0.375], [0.875])
    """
    # Rounding may leave less than the chance of the signs as they are, or even less than nothing.
    least = 2.0 ** -np.count_nonzero(sums, axis=1).astype(np.float64)
    found = lattice_tails([sums]) if _coarse(sums) else None
    if found is not None:
        above, at, error = found
        return np.clip(above + at, least, 1), np.clip(1 - above, least, 1), error
    # Some thousand ranks make a lattice too fine to transform. Few units are enumerated; of many
    # the characteristic function gives the chance of being beyond a point. It can't tell what lies
    # on it: so it is asked half a step short of t, and half a step further, where nothing lies.
    upper, lower, errors = np.empty(len(sums)), np.empty(len(sums)), np.zeros(len(sums))
    few = np.count_nonzero(sums, axis=1) <= _FEW
    for row in np.flatnonzero(few):
        upper[row], lower[row] = _counted(sums[row])
    if not few.all():
        many = sums[~few]
        t, half = many.sum(axis=1), np.gcd.reduce(many.astype(np.int64), axis=1)
        upper[~few], _, short = product_tails(many, t - half)
        beyond, _, far = product_tails(many, t + half)
        lower[~few], errors[~few] = 1 - beyond, np.maximum(short, far)
    return np.clip(upper, least, 1), np.clip(lower, least, 1), float(errors.max(initial=0.0))


def _coarse(sums: Floats) -> bool:
    """Tell whether transforming the lattice of these sums is little work."""
    size = np.abs(sums)
    reach = np.minimum(size.sum(axis=1), Z * np.sqrt((size * size).sum(axis=1)))
    frequencies = (np.abs(sums.sum(axis=1)) + reach).max(initial=0.0) / 4
    return bool(len(np.unique(size)) * frequencies <= _LATTICE)


def _counted(row: Floats) -> tuple[float, float]:
    """P(T >= t) and P(T <= t) of whole numbers, by counting sums of either half's signs."""
    size = np.abs(row[row != 0])
    whole = size.astype(np.int32 if size.sum() < 1 << 30 else np.int64)
    left, right = _signed_sums(whole[::2]), _signed_sums(whole[1::2])
    needed = whole.dtype.type(row.sum()) - left[::-1]
    short = int(np.searchsorted(right, needed, side="left").sum())
    at_most = int(np.searchsorted(right, needed, side="right").sum())
    total = len(left) * len(right)
    return (total - short) / total, at_most / total


def _signed_sums(whole: NDArray[np.integer]) -> NDArray[np.integer]:
    """Give all signed sums, in order."""
    found = np.zeros(1, dtype=whole.dtype)
    for value in whole:
        found = np.concatenate([found - value, found + value])
    found.sort()
    return found
