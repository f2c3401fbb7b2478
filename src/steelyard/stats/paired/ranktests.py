"""Rank tests of two samples: Mann and Whitney's rank-sum test, Wilcoxon's signed-rank test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from steelyard.core.options import check_choice
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.correlation import ranks
from steelyard.stats.permutation.lattice import lattice_tails

ALTERNATIVES = ("greater", "less", "two-sided")
EXACT_SIGNED = 200  # differences that are not zero up to which all signs are counted
EXACT_PRODUCT = 400  # product of two samples' sizes up to which all ways to split them are counted
_SAME = 1e-12  # of the largest difference of a row: what is closer is tied but for rounding


def rank_sum_matrix(samples: Sequence[Floats]) -> Floats:
    """Test every pair of samples: ``p[i, j]`` is small where i tends to be larger than j.

    One-sided Mann-Whitney tests on the ranks of both samples together (they need not be paired).
    Samples whose sizes have a product of up to 400 (20 and 20, say) are tested exactly, over all
    ways to split the ranks as they are, ties included; larger ones by the normal distribution, with
    the corrections for ties and for continuity.

    Parameters
    ----------
    samples
        One array per system; NaN is left out.

    Returns
    -------
    Floats
        Systems x systems. A pair with an empty sample, and the diagonal, are NaN; where all values
        of a pair are the same, p is 1.

    Examples
    --------
    >>> p = rank_sum_matrix([np.array([1.0, 2, 3, 4]), np.array([3.0, 4, 5, 6])])
    >>> p.round(4).tolist()
    [[nan, 0.9857], [0.0714, nan]]
    """
    ordered = [np.sort(x[~np.isnan(x)]) for x in samples]
    n = len(ordered)
    p = np.full((n, n), np.nan)
    for i in range(n):
        for j in range(i + 1, n):
            p[i, j], p[j, i] = _rank_sum(ordered[i], ordered[j])
    return p


def _rank_sum(x: Floats, y: Floats) -> tuple[float, float]:
    """Both one-sided p-values of two sorted samples."""
    n, m = len(x), len(y)
    if not n or not m:
        return float("nan"), float("nan")
    below = np.searchsorted(y, x, side="left").sum() + np.searchsorted(y, x, side="right").sum()
    lead = below / 2 - n * m / 2  # how far U is from what equal samples would give
    both = np.concatenate([x, y])
    both.sort(kind="stable")  # two sorted runs: merged, not sorted
    ends = np.flatnonzero(np.r_[both[1:] != both[:-1], True])
    runs = np.diff(np.r_[-1, ends]).astype(np.float64)
    total = n + m
    spread = n * m / 12 * (total + 1 - (runs**3 - runs).sum() / (total * max(total - 1, 1)))
    if spread <= 0:
        return 1.0, 1.0
    if n * m <= EXACT_PRODUCT:
        doubled = np.repeat(2 * ends - runs + 3, runs.astype(np.int64)).astype(np.int64)
        return _split_tails(doubled, n, n * (n + 1) + round(below))
    scale = np.sqrt(spread)
    return float(ndtr(-(lead - 0.5) / scale)), float(ndtr((lead + 0.5) / scale))


def _split_tails(doubled: Counts, n: int, won: int) -> tuple[float, float]:
    """P(sum >= won) and P(sum <= won) of n of these (doubled) ranks, whichever they are.

    ``ways[k, w]`` counts the choices of k ranks with the sum w; all are equally likely.
    """
    fewer = min(n, len(doubled) - n)
    reach = won if fewer == n else int(doubled.sum()) - won
    ways = np.zeros((fewer + 1, int(np.sort(doubled)[len(doubled) - fewer :].sum()) + 1))
    ways[0, 0] = 1
    for rank in doubled.tolist():
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    share = ways[fewer] / ways[fewer].sum()
    at_least, at_most = float(share[reach:].sum()), float(share[: reach + 1].sum())
    at_least, at_most = min(at_least, 1.0), min(at_most, 1.0)
    return (at_least, at_most) if fewer == n else (at_most, at_least)


def signed_rank_tails(gap: Floats, *, exact: bool = True) -> tuple[Floats, Floats]:
    """P(T >= t) and P(T <= t) of the sums t of signed ranks, for rows of differences.

    See :func:`steelyard.stats.paired.pairedtests.wilcoxon_test`.
    """
    known = ~np.isnan(gap)
    rank = ranks_of_sizes(np.where(known & (gap != 0), np.abs(gap), np.nan))
    n = (rank > 0).sum(axis=1)
    signed = (np.sign(np.where(known, gap, 0.0)) * rank).sum(axis=1)
    # The squared ranks sum to less where some are tied: that is the correction for ties.
    squares = (rank * rank).sum(axis=1)
    untied = squares == n * (n + 1) * (2 * n + 1) / 6
    z = signed / np.sqrt(np.maximum(squares, 1.0))
    upper, lower = ndtr(-z), ndtr(z)
    upper[n == 0] = lower[n == 0] = 1.0
    few = (n > 0) & (n <= (EXACT_SIGNED if exact else 0))
    won = (signed + n * (n + 1) / 2).astype(np.int64)  # twice the sum: mean ranks are halves
    for count in np.unique(n[few & untied]):  # without ties, all have the same ranks
        rows = np.flatnonzero(few & untied & (n == count))
        at_most = np.cumsum(_ways(np.arange(1, count + 1), count * (count + 1) // 2))
        lower[rows] = at_most[won[rows] // 2]
        upper[rows] = at_most[len(at_most) - 1 - won[rows] // 2]
    for row in np.flatnonzero(few & ~untied):
        doubled = (2 * rank[row][rank[row] > 0]).astype(np.int64)
        lost = int(doubled.sum()) - int(won[row])
        at_most = np.cumsum(_ways(doubled, min(lost, int(won[row]))))
        tails = float(at_most[-1]), 1 - (float(at_most[-2]) if len(at_most) > 1 else 0.0)
        upper[row], lower[row] = tails if lost <= won[row] else tails[::-1]
    empty = ~known.any(axis=1)
    upper[empty] = lower[empty] = np.nan
    return upper, lower


def ranks_of_sizes(size: Floats) -> Floats:
    """Rank the sizes of each row, 0 where there is none; what differs by rounding only is tied."""
    order = np.argsort(size, axis=1, kind="stable")
    ordered = np.take_along_axis(size, order, axis=1)
    slack = _SAME * np.fmax.reduce(size, axis=1, initial=0.0)
    opens = np.ones(size.shape, dtype=bool)
    opens[:, 1:] = ~(np.diff(ordered, axis=1) <= slack[:, None])
    first = np.maximum.accumulate(np.where(opens, ordered, -np.inf), axis=1)
    settled = np.empty_like(size)
    np.put_along_axis(settled, order, first, axis=1)
    return np.nan_to_num(ranks(settled.T).T)


def _ways(steps: Counts, most: int) -> Floats:
    """P(sum of the steps won is w), for w from 0 to ``most``, if each is won by a coin."""
    ways = np.zeros(most + 1)
    ways[0] = 1
    reach = 0
    for step in np.sort(steps).tolist():
        reach = min(reach + step, most)
        if step <= most:
            ways[step : reach + 1] += ways[: reach + 1 - step].copy()
    return ways / 2.0 ** len(steps)


def signed_rank(differences: ArrayLike, *, alternative: str = "greater") -> float:
    """Test paired differences against 0 by their signed ranks, exactly and with ties.

    Under the null every difference could as well have the other sign; the distribution of the sum
    of signed ranks (ties share their mean rank) over all signs is computed, not approximated,
    unless there are many hundreds of untied ones. Differences of 0 say nothing and are left out.

    Parameters
    ----------
    differences
        One per pair; NaN is left out.
    alternative
        ``greater`` (differences are above 0), ``less`` or ``two-sided``.

    Returns
    -------
    float
        The p-value: 1 if no difference is left, NaN if there was no pair at all.

    Examples
    --------
    >>> round(signed_rank([3.0, 1, 4, 1, 5]), 12)  # all five above 0: one of 32 sign vectors
    0.03125
    """
    check_choice(ALTERNATIVES, alternative=alternative)
    x = np.asarray(differences, dtype=np.float64)
    x = x[~np.isnan(x)]
    if not x.size:
        return float("nan")
    x = x[x != 0]
    if not x.size:
        return 1.0
    size = np.abs(x)
    first, last = (np.searchsorted(np.sort(size), size, side=side) for side in ("left", "right"))
    ranks = np.sign(x) * (first + last + 1)  # doubled, so that shared ranks are whole
    gap = -ranks if alternative == "less" else ranks
    found = lattice_tails([gap[None, :]])
    if found is None:  # some thousand untied ranks are too fine a lattice, and normal
        upper, lower = (float(tail[0]) for tail in signed_rank_tails(gap[None, :].astype(float)))
    else:
        upper, lower = float(found[0][0] + found[1][0]), 1 - float(found[0][0])
    return min(1.0, 2 * min(upper, lower) if alternative == "two-sided" else upper)
