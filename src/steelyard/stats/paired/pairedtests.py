"""Tests of paired differences between systems, for all pairs of systems at once.

Each takes systems x segments (NaN where missing; a pair is compared on the segments both have) and
gives systems x systems p-values: ``p[i, j]`` of system i against system j, NaN on the diagonal and
wherever a test is undefined. Which test fits which way of ranking systems:

===============  =================================================================================
``t``            means; the differences should be roughly normal, or many
``permutation``  means, by the signs of the differences, without assumptions on their shape
``bootstrap``    means, by resampling segments or documents
``mood``         medians of the scores, as if they were not paired
``sign``         Bradley-Terry: who wins more segments
``mcnemar``      proportions: scores that are 0 or 1
``wilcoxon``     in between: wins weighted by the rank of their size
``gap``          any, from resamples of its scores
===============  =================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, chdtrc, ndtr, stdtr

from steelyard.core.errors import UsageError
from steelyard.core.options import check_choice, check_flag, check_number
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.paired.ranktests import signed_rank_tails
from steelyard.stats.permutation.pvalues import ALTERNATIVES, pair_index, pairwise_pvalues, sided
from steelyard.stats.strength.wins import win_counts

_CELLS = 1 << 17  # differences held at a time: they stay in the cache
_NOTED = 1e-6  # numerical error of a p-value that is worth a word


def _checked(scores: Floats, alternative: str) -> None:
    check_choice(ALTERNATIVES, alternative=alternative)
    if scores.ndim != 2:
        raise UsageError(f"expected systems x segments, got shape {scores.shape}")


def pair_differences(scores: Floats) -> Iterator[tuple[Counts, Counts, Floats]]:
    """Yield pairs of systems (i < j) with their differences, as many at a time as fit."""
    i, j = pair_index(len(scores))
    step = max(1, _CELLS // max(scores.shape[1], 1))
    for start in range(0, len(i), step):
        a, b = i[start : start + step], j[start : start + step]
        yield a, b, scores[a] - scores[b]


def _assemble(
    scores: Floats, alternative: str, tails: Callable[[Floats], tuple[Floats, Floats]]
) -> Floats:
    """Fill the matrix from upper and lower tails of the pairs i < j."""
    _checked(scores, alternative)
    n = len(scores)
    p = np.full((n, n), np.nan)
    for i, j, gap in pair_differences(scores):
        _fill(p, i, j, *tails(gap), alternative)
    return p


def _fill(p: Floats, i: Counts, j: Counts, upper: Floats, lower: Floats, alternative: str) -> None:
    """Write p-values of pairs, given their tails, into both halves of a matrix."""
    if alternative == "two-sided":
        p[i, j] = p[j, i] = np.minimum(1.0, 2 * np.minimum(upper, lower))
    else:
        p[i, j], p[j, i] = (upper, lower) if alternative == "greater" else (lower, upper)


def t_test(scores: Floats, *, alternative: str = "two-sided") -> Floats:
    """Paired t-test; equal scores give p = 1.

    A constant difference has no t: the exact test of its signs decides, 2 / 2**n of n segments.

    Examples
    --------
    >>> import numpy as np
    >>> t_test(np.array([[1.0, 2, 3, 4], [1.0, 1, 1, 3]])).round(6).tolist()
    [[nan, 0.091721], [0.091721, nan]]
    """

    def tails(gap: Floats) -> tuple[Floats, Floats]:
        known = ~np.isnan(gap)
        n = known.sum(axis=1).astype(np.float64)
        mean = ratio(np.where(known, gap, 0.0).sum(axis=1), n)
        rest = np.where(known, gap - mean[:, None], 0.0)
        error = np.sqrt(ratio((rest * rest).sum(axis=1), n * (n - 1)))
        # Rounding alone must not make a constant difference vary.
        error = np.where(error <= 1e-14 * np.abs(mean), 0.0, error)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(mean == 0, 0.0, mean / error)
        t = np.where(n > 1, t, np.nan)
        freedom = np.where(n > 1, n - 1, 1.0)
        upper, lower = stdtr(freedom, -t), stdtr(freedom, t)
        still = (error == 0) & (n > 1)
        least = 2.0**-n
        # Nothing differs: no evidence on either side.
        upper = np.where(still, np.where(mean > 0, least, 1.0), upper)
        return upper, np.where(still, np.where(mean < 0, least, 1.0), lower)

    return _assemble(scores, alternative, tails)


def sign_test(scores: Floats, *, tolerance: float = 0.0, alternative: str = "two-sided") -> Floats:
    """Exact sign test: wins against losses, ties left out; p = 1 if there are only ties.

    Examples
    --------
    >>> import numpy as np
    >>> first = np.repeat([1.0, -1.0, 0.0], [30, 28, 42])
    >>> round(float(sign_test(np.stack([first, np.zeros(100)]))[0, 1]), 4)
    0.8957
    """
    check_number(0, tolerance=tolerance)
    if not tolerance:  # who is above whom is counted faster than differences are made
        _checked(scores, alternative)
        counts = win_counts(scores)
        return sign_test_counts(counts.wins, counts.met > 0, alternative=alternative)

    def tails(gap: Floats) -> tuple[Floats, Floats]:
        compared = np.asarray((~np.isnan(gap)).any(axis=1))
        return _sign_tails((gap > tolerance).sum(axis=1), (gap < -tolerance).sum(axis=1), compared)

    return _assemble(scores, alternative, tails)


def mcnemar_test(scores: Floats, *, alternative: str = "two-sided") -> Floats:
    """McNemar's exact test of scores that are 0 or 1 (or 0 and -1).

    Of the segments that only one of two systems has right, each is as likely to have had either.

    Examples
    --------
    >>> import numpy as np
    >>> first = np.repeat([1.0, 1.0, 0.0, 0.0], [20, 9, 2, 5])
    >>> second = np.repeat([1.0, 0.0, 1.0, 0.0], [20, 9, 2, 5])
    >>> round(float(mcnemar_test(np.stack([first, second]))[0, 1]), 4)
    0.0654
    """
    known = np.abs(scores[~np.isnan(scores)])
    if not ((known == 0) | (known == 1)).all():
        raise UsageError("McNemar's test is of scores that are 0 or 1")
    return sign_test(scores, alternative=alternative)


def _sign_tails(
    wins: NDArray[Any], losses: NDArray[Any], compared: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    n = wins + losses
    at_most = np.where(n > 0, bdtr(losses, n, 0.5), 1.0)  # P(losses or fewer)
    at_least = np.where(n > 0, bdtr(wins, n, 0.5), 1.0)
    return np.where(compared, at_most, np.nan), np.where(compared, at_least, np.nan)


def sign_test_counts(
    wins: Floats, compared: NDArray[np.bool_], *, alternative: str = "two-sided"
) -> Floats:
    """Exact sign test from counts: ``wins[i, j]`` battles or units in which i came out ahead of j.

    NaN for pairs that were not ``compared``; p = 1 if they only tied.

    Examples
    --------
    >>> import numpy as np
    >>> wins = np.array([[0.0, 30.0], [28.0, 0.0]])
    >>> round(float(sign_test_counts(wins, np.ones((2, 2), dtype=bool))[0, 1]), 4)
    0.8957
    """
    _checked(wins, alternative)
    p = np.full(wins.shape, np.nan)
    i, j = pair_index(len(wins))
    upper, lower = _sign_tails(
        wins[i, j].astype(np.int64), wins[j, i].astype(np.int64), compared[i, j]
    )
    _fill(p, i, j, upper, lower, alternative)
    return p


def gap_test(
    scores: Floats,
    replicates: Floats,
    *,
    alternative: str = "two-sided",
    freedom: float = np.inf,
    shrunk: float = 1.0,
) -> Floats:
    """Test differences of scores by their spread over resamples: t = gap / deviation of the gap.

    For scores that come out of all pairs together, as strengths do: a pair need not have met. Only
    resamples that give every system with a score one, too, take part; NaN where fewer than half do.

    Parameters
    ----------
    scores, replicates
        Systems, and resamples x systems; on a scale on which gaps are roughly normal.
    alternative
        ``two-sided``, ``greater`` or ``less``.
    freedom
        Degrees of freedom: one less than the units that were resampled, or fewer.
    shrunk
        By how much the variance over resamples is too small.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = np.array([1.0, 0.0]) + np.random.default_rng(0).normal(size=(1000, 2)) / 2
    >>> round(float(gap_test(np.array([1.0, 0.0]), drawn)[0, 1]), 2)
    0.16
    """
    n = len(scores)
    _checked(np.empty((n, 0)), alternative)
    p = np.full((n, n), np.nan)
    known = np.flatnonzero(np.isfinite(scores))
    own = replicates[:, known]
    usable = np.isfinite(own).all(axis=1)
    if len(known) < 2 or usable.sum() < max(2, len(own) / 2):
        return p
    drawn = own[usable] - own[usable].mean(axis=0)
    spread = drawn.T @ drawn / (len(drawn) - 1)
    i, j = pair_index(len(known))
    variance = np.diagonal(spread)[i] + np.diagonal(spread)[j] - 2 * spread[i, j]
    gap = scores[known[i]] - scores[known[j]]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(gap == 0, 0.0, gap / np.sqrt(np.maximum(variance / shrunk, 0.0)))
    above, below = (
        np.asarray(ndtr(x) if np.isinf(freedom) else stdtr(freedom, x), dtype=np.float64)
        for x in (-t, t)
    )
    _fill(p, known[i], known[j], above, below, alternative)
    return p


def wilcoxon_test(scores: Floats, *, alternative: str = "two-sided", exact: bool = True) -> Floats:
    """Wilcoxon's signed-rank test: zero differences are left out, tied ones share their mean rank.

    Exact for up to 200 differences that are not zero, ties or not: over all signs of the ranks as
    they are. With more it is normal, with the correction for ties and without one for continuity,
    as is common in the field (and what ``exact=False`` gives for any number). p = 1 if nothing
    differs.

    Examples
    --------
    >>> import numpy as np
    >>> p = wilcoxon_test(np.array([[3.0, 1, 4, 2, 5], [0.0] * 5]), alternative="greater")
    >>> round(float(p[0, 1]), 12)
    0.03125
    """
    check_flag(exact=exact)
    return _assemble(scores, alternative, partial(signed_rank_tails, exact=exact))


def mood_test(scores: Floats) -> Floats:
    """Mood's test of medians, two-sided and blind to the pairing; NaN where it is undefined.

    Scores above and not above the grand median of both systems make a 2 x 2 table; its chi-squared
    statistic has the correction for continuity. If no score is above (or all are), the test has no
    table to look at.
    """
    n = len(scores)
    p = np.full((n, n), np.nan)
    if not scores.shape[1]:
        return p
    i, j = pair_index(n)
    known = ~np.isnan(scores)
    masks = np.unique(np.packbits(known, axis=1), axis=0, return_inverse=True)[1].ravel()
    size = known.sum(axis=1)
    alike = (masks[i] == masks[j]) & (size[i] > 0)
    a, b = i[alike], j[alike]
    p[a, b] = p[b, a] = _mood_p(size[a], *_above_sorted(np.sort(scores, axis=1), a, b, size[a]))
    i, j = i[~alike], j[~alike]
    step = max(1, _CELLS // scores.shape[1])
    for start in range(0, len(i), step):  # pairs of which one lacks what the other has
        a, b = i[start : start + step], j[start : start + step]
        both = known[a] & known[b]
        p[a, b] = p[b, a] = _mood_p(both.sum(axis=1), *_above_common(scores, a, b, both))
    return p


def _mood_p(count: Counts, above: Counts, below: Counts) -> Floats:
    """Test how many scores of each of two systems, of ``count``, are above their grand median."""
    total = above + below
    excess = np.maximum(0.0, np.abs(above - total / 2) - 0.5)
    statistic = 4 * excess * excess * (ratio(1, total) + ratio(1, 2 * count - total))
    return np.asarray(chdtrc(1, statistic), dtype=np.float64)


def _above_common(
    scores: Floats, i: Counts, j: Counts, both: NDArray[np.bool_]
) -> tuple[Counts, Counts]:
    """Count scores above the grand median on the segments that both systems of a pair have."""
    x, y = (np.where(both, scores[k], np.nan) for k in (i, j))
    ordered = np.sort(np.concatenate([x, y], axis=1), axis=1)  # the missing come last
    row, high = np.arange(len(i)), np.maximum(both.sum(axis=1), 1)
    middle = (ordered[row, high - 1] + ordered[row, high]) / 2
    one, two = ((own > middle[:, None]).sum(axis=1) for own in (x, y))
    return one, two


def _above_sorted(ordered: Floats, i: Counts, j: Counts, count: Counts) -> tuple[Counts, Counts]:
    """Count the same for systems that have the same segments, by halving: one sort serves all."""
    last = ordered.shape[1] - 1

    def at(rows: Counts, place: Counts) -> Floats:
        return np.asarray(ordered[rows, np.clip(place, 0, last)])

    # Of the lower half of both systems' scores, the first has so many:
    least, most = np.zeros_like(count), count.copy()
    while (least < most).any():
        half = (least + most) // 2
        more = (least < most) & (at(i, half) < at(j, count - half - 1))
        least, most = np.where(more, half + 1, least), np.where(more, most, half)
    rest = count - least
    low = np.maximum(
        np.where(least > 0, at(i, least - 1), -np.inf), np.where(rest > 0, at(j, rest - 1), -np.inf)
    )
    high = np.minimum(
        np.where(least < count, at(i, least), np.inf), np.where(rest < count, at(j, rest), np.inf)
    )
    middle = (low + high) / 2

    def above(rows: Counts) -> Counts:
        least, most = np.zeros_like(count), count.copy()
        while (least < most).any():
            half = (least + most) // 2
            under = (least < most) & (at(rows, half) <= middle)
            least, most = np.where(under, half + 1, least), np.where(under, most, half)
        return np.asarray(count - least)

    return above(i), above(j)


def permutation_test(
    scores: Floats, *, blocks: Counts | None = None, alternative: str = "two-sided"
) -> Floats:
    """Paired permutation test of means, computed without draws; identical systems give p = 1."""
    return permutation_p(scores, blocks=blocks, alternative=alternative)[0]


def permutation_p(
    scores: Floats, *, blocks: Counts | None = None, alternative: str = "two-sided"
) -> tuple[Floats, float]:
    """Test as :func:`permutation_test` does, and give the largest numerical error of a p-value."""
    _checked(scores, alternative)
    found = pairwise_pvalues(scores, blocks=blocks, tail="ge")
    twice = 2 if alternative == "two-sided" else 1
    return sided(found.p, alternative), twice * found.error


def error_note(error: float) -> list[str]:
    """Say how good p-values of the permutation test are, where it is not to six digits."""
    if error <= _NOTED:
        return []
    why = "scores are nearly on a lattice, or a few differences outweigh all others"
    return [f"permutation: p-values are good to {error:.1g} ({why})"]


def bootstrap_test(
    observed: Floats, replicates: Floats, *, alternative: str = "two-sided"
) -> Floats:
    """Test differences of any aggregate by its bootstrap replicates, shifted to the null.

    ``observed`` holds an aggregate per system, ``replicates`` the same per resample (resamples x
    systems). p is the share of resamples whose difference strays from the observed one by at least
    the observed one, the observed set counting as one.

    Examples
    --------
    >>> import numpy as np
    >>> replicates = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    >>> bootstrap_test(np.array([1.0, 0.0]), replicates)[0, 1].tolist()
    0.75
    """
    check_choice(ALTERNATIVES, alternative=alternative)
    n = len(observed)
    p = np.full((n, n), np.nan)
    slack = 1e-12 * float(np.fmax.reduce(np.abs(observed), initial=0.0))
    for i in range(n - 1):
        gap = observed[i] - observed[i + 1 :]
        null = replicates[:, i : i + 1] - replicates[:, i + 1 :]
        drawn = (~np.isnan(null)).sum(axis=0)
        null -= gap
        tested = (drawn > 0) & ~np.isnan(gap)

        def share(
            beyond: NDArray[np.bool_],
            k: Counts = drawn,
            tested: NDArray[np.bool_] = tested,
        ) -> Floats:
            return np.where(tested, (beyond.sum(axis=0) + 1) / (k + 1), np.nan)

        if alternative == "two-sided":
            p[i, i + 1 :] = p[i + 1 :, i] = share(np.abs(null) >= np.abs(gap) - slack)
        else:
            high, low = share(null >= gap - slack), share(null <= gap + slack)
            p[i, i + 1 :], p[i + 1 :, i] = (high, low) if alternative == "greater" else (low, high)
    return p
