"""Whether segments that tell systems apart do so for other systems, too.

A segment that told some systems apart may have done so by chance, and would be picked for it. So
everything here is asked of systems that had no part in the answer: how well estimates from one half
of the systems agree with those of the other half, and whether two systems rank on segments that the
others found discriminating as they do on all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.core import bounds
from steelyard.stats.arrays import Counts, Floats, beyond_rounding
from steelyard.stats.correlation import settled
from steelyard.stats.instances.congeneric import discrimination_slopes
from steelyard.stats.instances.ease import additive_fit
from steelyard.stats.instances.scorespread import win_shares
from steelyard.stats.permutation.pvalues import pair_index

FEWEST = 4  #: systems that can be split, or of which two can be held out


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """Correlations, over segments, of estimates from two halves of the systems; one per split.

    ``full`` corrects a correlation for twice the systems (Spearman and Brown).
    """

    ease: Floats
    discrimination: Floats

    @staticmethod
    def full(correlation: float) -> float:
        """Give what the correlation would be between two sets of as many systems as there are.

        Examples
        --------
        >>> SplitHalf.full(0.5)
        0.6666666666666666
        """
        return 2 * correlation / (1 + correlation) if correlation > -1 else float("nan")


def split_half(
    scores: Floats, *, splits: int, rng: np.random.Generator, wins: bool = False
) -> SplitHalf:
    """Split the systems at random, and correlate what both halves say of segments.

    Ease is that of :func:`steelyard.stats.instances.ease.additive_fit`, discrimination the slope
    on each half's own abilities, of scores or of ``wins`` within the half. NaN with fewer than four
    systems, and where a half says the same of all segments.
    """
    bounds.whole(1, splits=splits)
    bounds.flag(wins=wins)
    found = np.full((2, splits), np.nan)
    n = len(scores)
    if n < FEWEST:
        return SplitHalf(found[0], found[1])
    for k in range(splits):
        order = rng.permutation(n)
        eases, slopes = [], []
        for half in (np.sort(order[: n // 2]), np.sort(order[n // 2 :])):
            eases.append(additive_fit(scores[half])[1])
            slopes.append(_slopes(scores[half], wins=wins))
        found[:, k] = _correlation(*eases), _correlation(*slopes)
    return SplitHalf(found[0], found[1])


def _correlation(x: Floats, y: Floats) -> float:
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if len(x) < 2:
        return float("nan")
    if np.ptp(settled(x)) == 0 or np.ptp(settled(y)) == 0:  # the same but for rounding
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    # Plain sums: threads that share a short product cost more than they save.
    size = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum()) / size if size > 0 else float("nan")


@dataclass(frozen=True, slots=True)
class ShorterTest:
    """Share of held-out pairs that rank on some of the segments as on all.

    Rows are pairs of systems, columns numbers of segments (``sizes``): by the segments that the
    other systems found most discriminating, by those they found least so, and by random ones.
    """

    sizes: tuple[int, ...]
    most: Floats
    least: Floats
    random: Floats

    @staticmethod
    def needed(agreement: Floats, target: float) -> int | None:
        """Give the place of the first size from which on agreement is at least ``target``.

        Examples
        --------
        >>> ShorterTest.needed(np.array([0.7, 0.96, 0.94, 0.97, 1.0]), 0.95)
        3
        """
        below = np.flatnonzero(~(agreement >= target))
        place = int(below[-1]) + 1 if below.size else 0
        return place if place < len(agreement) else None


def shorter_test(
    scores: Floats,
    sizes: Sequence[int],
    *,
    pairs: int,
    draws: int,
    rng: np.random.Generator,
    wins: bool = False,
) -> ShorterTest | None:
    """Hold out two systems at a time, and rank them on the segments that the others would choose.

    1. Take two systems out; the others say how discriminating each segment is.
    2. Compare the two by their sum of scores over the most discriminating segments.
    3. It counts as agreement if they rank as on all segments, a tie on either side as half.

    Random segments of the same number are what a choice has to beat.

    Parameters
    ----------
    scores
        Systems x segments, higher is better; segments that either of two systems lacks take no
        part in comparing them.
    sizes
        Numbers of segments.
    pairs
        How many pairs are held out at most, drawn at random if there are more.
    draws
        Random choices of each size.
    rng
        Draws pairs, and random segments.
    wins
        Whether the others find segments discriminating by who beats whom among them, instead of by
        scores.

    Returns
    -------
    ShorterTest or None
        None with fewer than four systems.
    """
    bounds.wholes(1, sizes=tuple(sizes))
    bounds.whole(1, pairs=pairs, draws=draws)
    bounds.flag(wins=wins)
    n, s = scores.shape
    if n < FEWEST:
        return None
    first, second = pair_index(n)
    if len(first) > pairs:
        kept = np.sort(rng.choice(len(first), pairs, replace=False))
        first, second = first[kept], second[kept]
    drawn = np.argsort(rng.random((draws, s)), axis=1)
    gaps = np.nan_to_num(scores[first] - scores[second])
    size = np.abs(gaps).sum(axis=1)  # a lead that is rounding of it is a tie
    whole = np.sign(beyond_rounding(gaps.sum(axis=1), size))
    most, least, by_chance = (np.empty((len(first), len(sizes))) for _ in range(3))
    for row, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        order = _discriminating(np.delete(scores, [i, j], axis=0), wins=wins)
        gap = gaps[row]
        upto = [
            beyond_rounding(np.r_[0.0, np.cumsum(gap[by])], size[row])
            for by in (order, order[::-1])
        ]
        among = beyond_rounding(np.cumsum(gap[drawn], axis=1), size[row])
        for column, asked in enumerate(sizes):
            k = min(asked, s)
            most[row, column] = _agrees(upto[0][k], whole[row])
            least[row, column] = _agrees(upto[1][k], whole[row])
            by_chance[row, column] = _agrees(among[:, k - 1], whole[row]).mean()
    return ShorterTest(tuple(int(k) for k in sizes), most, least, by_chance)


def _slopes(scores: Floats, *, wins: bool) -> Floats:
    """Give how much segments discriminate among some systems, by scores or by wins among them."""
    own = win_shares(scores) if wins else scores
    return discrimination_slopes(own, np.nan_to_num(additive_fit(own)[0]))


def _discriminating(scores: Floats, *, wins: bool) -> Counts:
    """Order segments by how much they discriminate, the most first; unknown ones last."""
    slope = _slopes(scores, wins=wins)
    return np.argsort(-np.where(np.isnan(slope), -np.inf, slope), kind="stable").astype(np.int64)


def _agrees(lead: Floats | float, whole: float) -> Floats:
    """1 where a lead has the sign that it has on all segments, half where either is a tie."""
    return np.asarray((np.sign(lead) * whole + 1) / 2, dtype=np.float64)
