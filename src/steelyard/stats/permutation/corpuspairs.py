r"""Paired tests of corpus scores: swap the outputs of two systems, and score both again.

Swapping systems a and b on some segments, by signs :math:`k_s = \pm 1`, gives them the sums of
statistics :math:`m + d` and :math:`m - d` with :math:`m = \frac12 \sum_s (a_s + b_s)` and
:math:`d = \frac12 \sum_s k_s (a_s - b_s)`: one matrix product serves all swaps of all systems.

The difference of scores :math:`D = f(m + d) - f(m - d)` is odd in d, so it differs from
:math:`L = 2 \nabla f(m) d` in the third order only. L is a sum with fair signs, whose tail
:mod:`steelyard.stats.permutation.pvalues` knows without sampling. What is sampled is only how much
more often D reaches its observed value than L does, which takes most of the noise out of p-values
(a control variate). Where it would not, because the score jumps or bends, plain counts are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import ShapeError
from steelyard.core.rng import Rng, generator
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.metametrics.accuracy import soft_agreement
from steelyard.stats.paired.pairedtests import sided
from steelyard.stats.permutation.corpus import Combine, CorpusStatistics, Mask, gradient
from steelyard.stats.permutation.expansions import expansion
from steelyard.stats.permutation.lattice import as_lattice, lattice_tails
from steelyard.stats.permutation.pvalues import (
    TAILS,
    PairwisePValues,
    block_sums,
    pair_index,
    random_signs,
)
from steelyard.stats.permutation.pvalues import pairwise_pvalues as segment_pvalues
from steelyard.stats.permutation.transform import product_tails

_CHUNK = 2_000_000  # signs held at a time
_SLACK = 1e-9  # differences this close, relatively, are equal: sums may be rounded


def pairwise_pvalues(
    stats: CorpusStatistics,
    *,
    n_resamples: int = 10_000,
    rng: Rng = 0,
    blocks: Counts | None = None,
    tail: str = "mid",
) -> PairwisePValues:
    """Test every pair of systems by swapping their outputs, on the segments that both have.

    Parameters
    ----------
    stats
        The statistics of all systems.
    n_resamples, rng
        How many swaps to draw: half of them, and their mirror images. Pairs that differ on so few
        segments that there are no more swaps than these are enumerated.
    blocks
        A code per segment: segments with the same code are swapped together.
    tail
        ``mid`` (ties count half) or ``ge``.

    Returns
    -------
    PairwisePValues
        As :func:`steelyard.stats.permutation.pvalues.pairwise_pvalues` gives; ``error`` is the
        largest standard error. ``p[i, j]`` depends on systems i and j alone; it is NaN where they
        share no segment or a score is undefined, be it after a swap.

    Examples
    --------
    >>> import numpy as np
    >>> words = np.array([[[3, 9], [2, 9], [5, 9]], [[1, 9], [2, 9], [2, 9]]])
    >>> result = pairwise_pvalues(CorpusStatistics(words, lambda x: x[..., 0] / x[..., 1]))
    >>> result.p.tolist(), result.how
    ([[0.5, 0.125], [0.875, 0.5]], 'enumeration')
    """
    bounds.choice(TAILS, tail=tail)
    bounds.whole(2, n_resamples=n_resamples)
    size = len(stats.values)
    p = np.full((size, size), 0.5 if tail == "mid" else 1.0)
    n = np.zeros((size, size), dtype=np.int64)
    seed = generator(rng).integers(2**63)
    worst, how = 0.0, "enumeration"
    for common, pairs in _groups(stats.known):
        members, local = np.unique(pairs, return_inverse=True)
        local = local.reshape(-1, 2)
        sums = _unit_sums(stats.values[members], common, blocks)
        units = int((block_sums(common.astype(np.float64), blocks) > 0).sum())
        tests = [_Pair.of(stats, sums[i], sums[j], n_resamples) for i, j in local]
        tallies = np.array([test.start() for test in tests])
        if any(test.sampled for test in tests):
            how = "control-variate"
            for shifts in _shifts(sums, n_resamples, np.random.default_rng(seed)):
                for k, (test, (i, j)) in enumerate(zip(tests, local, strict=True)):
                    if test.sampled:
                        tallies[k] += test.tally(test.turn * (shifts[i] - shifts[j]))
        for test, tally, (i, j) in zip(tests, tallies, pairs, strict=True):
            leading, tied, error = test.pvalue(tally)
            rest = 0.0 if tail == "mid" else tied / 2
            best, other = (i, j) if test.turn > 0 else (j, i)
            p[best, other] = leading + rest if units else np.nan
            p[other, best] = 1 - leading + rest if units else np.nan
            n[i, j] = n[j, i] = units
            worst = max(worst, error)
    return PairwisePValues(p, worst, how, n)


def permutation_test(
    stats: CorpusStatistics,
    *,
    blocks: Counts | None = None,
    alternative: str = "two-sided",
    n_resamples: int = 10_000,
    rng: Rng = 0,
) -> Floats:
    """Paired permutation test of corpus scores; identical systems give p = 1, the diagonal NaN.

    ``alternative`` is ``two-sided``, ``greater`` (i is better than j) or ``less``; the others are
    those of :func:`pairwise_pvalues`.

    Examples
    --------
    >>> import numpy as np
    >>> words = np.array([[[3, 9], [2, 9], [5, 9]], [[1, 9], [2, 9], [2, 9]]])
    >>> permutation_test(CorpusStatistics(words, lambda x: x[..., 0] / x[..., 1])).tolist()
    [[nan, 0.5], [0.5, nan]]
    """
    p = pairwise_pvalues(stats, n_resamples=n_resamples, rng=rng, blocks=blocks, tail="ge").p
    return sided(p, alternative)


def corpus_spa(human: Floats, stats: CorpusStatistics, **options: Any) -> float:
    """Soft pairwise accuracy of a corpus score, on the cells that it and the people have.

    ``human`` is systems x segments, higher is better; ``options`` go to :func:`pairwise_pvalues`
    (``blocks`` to both tests).

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[0.0, -1, -5, 0], [-1.0, -5, -5, -10]])
    >>> words = np.array([[[3, 9], [4, 9], [2, 9], [5, 9]], [[2, 9], [3, 9], [1, 9], [4, 9]]])
    >>> round(corpus_spa(human, CorpusStatistics(words, lambda x: x[..., 0] / x[..., 1])), 4)
    0.9688
    """
    if human.shape != stats.values.shape[:2]:
        raise ShapeError(f"human scores {human.shape} for statistics {stats.values.shape}")
    known = stats.known & ~np.isnan(human)
    gold = segment_pvalues(np.where(known, human, np.nan), blocks=options.get("blocks"))
    return soft_agreement(gold.p, pairwise_pvalues(stats.masked(known), **options).p).value


def _groups(known: Mask) -> Iterator[tuple[Mask, list[tuple[int, int]]]]:
    """Yield pairs of systems by the segments that both have: nearly always one group."""
    found: dict[bytes, list[tuple[int, int]]] = {}
    for i, j in zip(*pair_index(len(known)), strict=True):
        found.setdefault((known[i] & known[j]).tobytes(), []).append((int(i), int(j)))
    for key, pairs in found.items():
        yield np.frombuffer(key, dtype=np.bool_), pairs


def _unit_sums(values: Floats, common: Mask, blocks: Counts | None) -> Floats:
    """Statistics of what is swapped together: systems x K x units."""
    masked = np.where(common[:, None], values, 0.0).transpose(0, 2, 1)
    return np.ascontiguousarray(block_sums(masked, blocks))


def _shifts(sums: Floats, n_resamples: int, stream: np.random.Generator) -> Iterator[Floats]:
    """Yield half the signed sums of every system, systems x draws x K, for chunks of draws."""
    size, k, units = sums.shape
    flat = sums.reshape(size * k, units)
    left = (n_resamples + 1) // 2
    # Bytes are drawn in words of four: only whole words leave the stream where it would be.
    step = max(4, _CHUNK // max(1, units) // 4 * 4)
    while left > 0:
        signs = random_signs(min(step, left), units, stream)
        # Each statistic stays in one stretch of memory, which makes combining them faster.
        yield (flat @ signs.T).reshape(size, k, -1).transpose(0, 2, 1) / 2
        left -= step


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two systems, turned so that the first leads, and the linear twin of their score.

    A tally adds up, over draws that each stand for themselves and their mirror image, 1, a, b, a^2,
    ab, b^2 and c: how much of the draw lies beyond the lead (a tie counts half) by the score and by
    its twin; and how much of it is tied with the lead by the score.
    """

    combine: Combine
    orientation: float
    turn: float
    middle: Floats
    swaps: Floats | None  # what each of all swaps moves, where these are few
    lead: float
    slack: float
    slopes: Floats
    linear: Floats  # what the units that differ add to the twin
    reach: float  # the lead of the twin

    @classmethod
    def of(cls, stats: CorpusStatistics, one: Floats, other: Floats, n_resamples: int) -> _Pair:
        """Compare two systems by their statistics, K x units each."""
        orientation = 1.0 if stats.higher_is_better else -1.0
        scores = stats.combine(np.stack([one.sum(axis=1), other.sum(axis=1)]))
        lead = orientation * float(scores[0] - scores[1])
        turn = -1.0 if lead < 0 else 1.0
        gap = turn * (one - other)[:, (one != other).any(axis=0)]
        middle = (one + other).sum(axis=1) / 2
        # Slopes over the distance that swaps go, so that the twin looks across kinks as they do.
        slopes = gradient(stats.combine, middle, np.sqrt((gap * gap).sum(axis=1)) / 2)
        if not np.isfinite(slopes).all():
            slopes = np.zeros_like(slopes)  # a twin that says nothing leaves plain counts
        slopes *= orientation
        linear = slopes @ gap
        total = float(linear.sum())
        same = abs(total - abs(lead)) <= 1e-8 * float(np.abs(linear).sum())
        return cls(
            combine=stats.combine,
            orientation=orientation,
            turn=turn,
            middle=middle,
            swaps=_every_swap(gap) if 2 ** gap.shape[1] <= n_resamples else None,
            lead=abs(lead),
            slack=_SLACK * float(np.abs(scores).sum()),
            slopes=slopes,
            linear=linear,
            reach=total if same else abs(lead),
        )

    @property
    def sampled(self) -> bool:
        """Whether swaps are drawn, not enumerated."""
        return self.swaps is None

    @property
    def _level(self) -> bool:
        return self.lead <= self.slack

    def tally(self, shift: Floats) -> Floats:
        """Count draws, given by what each moves from the second system to the first."""
        null = self.combine(self.middle + shift) - self.combine(self.middle - shift)
        a, c = _beyond(self.orientation * null, self.lead, self.slack)
        a[np.isnan(null)] = np.nan
        slack = _SLACK * float(np.abs(self.linear).sum())
        b, _ = _beyond(2 * (shift @ self.slopes), self.reach, slack)
        return np.array([len(a), a.sum(), b.sum(), a @ a, a @ b, b @ b, c.sum()])

    def start(self) -> Floats:
        """Count all swaps where these are few, else what was observed: it is one of the draws."""
        if self.swaps is not None:
            return self.tally(self.swaps)
        if math.isnan(self.lead):
            return np.full(7, np.nan)
        return np.array([1, 1 / 4, 1 / 4, 1 / 16, 1 / 16, 1 / 16, 1 if self._level else 1 / 2])

    def pvalue(self, tally: Floats) -> tuple[float, float, float]:
        """Give the mid-p of the leading system, the chance of a tie, and a standard error."""
        n, a, b, aa, ab, bb, c = tally.tolist()
        if math.isnan(a):
            return math.nan, math.nan, 0.0
        if self._level:
            return 0.5, c / n, 0.0
        if not self.sampled:
            return a / n, c / n, 0.0
        # A quarter more: that score and twin never disagreed does not prove that they never do.
        plain = math.sqrt(aa - a * a / n + 0.25) / n
        rate = a / b
        twin = math.sqrt(max(0.0, aa - 2 * rate * ab + rate * rate * bb) + 0.25) / n
        known, error = _twin_tail(self.linear, self.reach)
        if twin + error < plain:
            return min(0.5, rate * known), c / n, twin + error
        return a / n, c / n, plain


def _every_swap(gap: Floats) -> Floats:
    """Make what all swaps of units move from one system to the other: swaps x K."""
    units = gap.shape[1]
    signs = (np.arange(2**units)[:, None] >> np.arange(units)) % 2 * 2.0 - 1
    return signs @ gap.T / 2


def _twin_tail(linear: Floats, reach: float) -> tuple[float, float]:
    """Give the mid-p of a sum with fair signs at ``reach``, and an error bound."""
    found = None
    if reach == float(linear.sum()):
        unit = np.abs(linear[linear != 0]).min(initial=np.inf)
        whole = as_lattice(np.append(linear, 0.0) / unit)
        found = None if whole is None else lattice_tails([(whole[:-1] - whole[-1])[None]])
    above, at, bound = found or product_tails(linear[None], np.array([reach]))
    p, error = max(0.0, float(above[0] + at[0] / 2)), float(np.max(bound))
    if error > 1e-6:  # a bound for the worst; what moments say by themselves is often a better one
        powers = (linear**2).sum(), (linear**4).sum(), (linear**6).sum()
        other, last = expansion(*(np.array([x]) for x in (reach, *powers)))
        error = min(error, abs(p - float(other[0])) + float(last[0]))
    return p, error


def _beyond(null: Floats, lead: float, slack: float) -> tuple[Floats, Floats]:
    """How much of each draw and its mirror image lies beyond a lead, and is tied with it."""
    tied = ((np.abs(null - lead) <= slack) + (np.abs(null + lead) <= slack) * 1.0) / 2
    beyond = ((null > lead + slack) + (null < -lead - slack) * 1.0) / 2
    return beyond + tied / 2, tied
