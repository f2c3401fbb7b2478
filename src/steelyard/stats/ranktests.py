"""Rank tests of two samples: Mann and Whitney's rank-sum test, Wilcoxon's signed-rank test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from steelyard.errors import UsageError, hint
from steelyard.stats.arrays import Floats
from steelyard.stats.lattice import lattice_tails

ALTERNATIVES = ("greater", "less", "two-sided")


def rank_sum_matrix(samples: Sequence[Floats]) -> Floats:
    """Test every pair of samples: ``p[i, j]`` is small where i tends to be larger than j.

    One-sided Mann-Whitney tests on the ranks of both samples together (they need not be paired),
    from the normal distribution, with the corrections for ties and for continuity.

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
    [[nan, 0.9712], [0.054, nan]]
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
    scale = np.sqrt(spread)
    return float(ndtr(-(lead - 0.5) / scale)), float(ndtr((lead + 0.5) / scale))


def signed_rank(differences: ArrayLike, *, alternative: str = "greater") -> float:
    """Test paired differences against 0 by their signed ranks, exactly and with ties.

    Under the null every difference could as well have the other sign; the distribution of the sum
    of signed ranks (ties share their mean rank) over all signs is computed, not approximated.
    Differences of 0 say nothing and are left out.

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
    if alternative not in ALTERNATIVES:
        raise UsageError(f"unknown alternative '{alternative}'; {hint(alternative, ALTERNATIVES)}")
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
    assert found is not None  # ranks are a small lattice
    above, at, _ = found
    upper = float(above[0] + at[0])
    if alternative == "two-sided":
        upper = 2 * min(upper, 1 - float(above[0]))
    return min(1.0, upper)
