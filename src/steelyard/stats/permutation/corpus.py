r"""Corpus scores: a score of a whole test set that is no mean of segment scores, and its tests.

BLEU adds up n-gram counts over all segments and makes one score of the totals. Whatever works like
that is a :class:`CorpusStatistics`: K additive numbers per system and segment, and a function f of
their sums. Resampling, swapping and selecting then act on sums, never on texts.

A paired test swaps the outputs of systems a and b on some segments and scores both again. Signs
:math:`k_s = \pm 1` give them the sums :math:`m + d` and :math:`m - d` with
:math:`m = \frac12 \sum_s (a_s + b_s)` and :math:`d = \frac12 \sum_s k_s (a_s - b_s)`: one matrix
product serves all swaps of all systems. The difference :math:`f(m + d) - f(m - d)` is odd in d, so
every draw stands for its mirror image, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.rng import Rng, generator
from steelyard.stats.arrays import Counts, Floats, own_floats, weighted_sums
from steelyard.stats.permutation.pvalues import PairwisePValues, block_sums, pair_index, sided
from steelyard.stats.permutation.tails import random_signs

_STEP = 1e-5  # of central differences, relative to the totals: errors of 1e-10 from either side
_CHUNK = 2_000_000  # signs held at a time
_SLACK = 1e-9  # differences this close, relatively, are equal: sums may be rounded

Mask = NDArray[np.bool_]
Combine = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class CorpusStatistics:
    """Additive statistics of every output, and the score that their sums make.

    ``values`` are systems x segments x K; a missing output has NaN in all K places. ``combine``
    makes scores of sums, (..., K) to (...): pure, vectorised, smooth between counts, NaN where
    undefined, and a frozen dataclass with ``__call__`` if it is to be pickled. ``higher_is_better``
    is which systems a test calls better; ``signature`` says in a line what the numbers are.

    >>> counts = np.array([[[1, 10], [3, 10]], [[0, 5], [np.nan, np.nan]]])  # errors and words
    >>> CorpusStatistics(counts, lambda sums: sums[..., 0] / sums[..., 1]).corpus_scores().tolist()
    [0.2, 0.0]
    """

    values: Floats
    combine: Combine
    higher_is_better: bool = True
    signature: str = ""

    def __post_init__(self) -> None:
        if np.ndim(self.values) != 3 or not np.shape(self.values)[2]:
            got = np.shape(self.values)
            raise ShapeError(f"expected systems x segments x statistics, got shape {got}")
        values = own_floats(self.values, "statistics", 3, finite=False)
        absent = np.isnan(values)
        if (absent.any(axis=-1) != absent.all(axis=-1)).any() or np.isinf(values).any():
            raise ShapeError("statistics must be finite, or all NaN where an output is missing")
        object.__setattr__(self, "values", values)

    @property
    def known(self) -> Mask:
        """Where there is an output: systems x segments."""
        there: Mask = ~np.isnan(self.values[:, :, 0])
        return there

    def corpus_scores(self) -> Floats:
        """Score every system on the segments it has; NaN where it has none."""
        scores: Floats = bootstrap_scores(self, np.ones((1, self.values.shape[1])))[0]
        return scores

    def select(
        self,
        systems: Sequence[int] | Counts | None = None,
        segments: Sequence[int] | Counts | None = None,
    ) -> CorpusStatistics:
        """Keep these rows and columns, in this order; None keeps all."""
        values = self.values
        if systems is not None:
            values = values[np.asarray(systems, dtype=np.int64)]
        if segments is not None:
            values = values[:, np.asarray(segments, dtype=np.int64)]
        return replace(self, values=values)

    def masked(self, known: Mask) -> CorpusStatistics:
        """Keep only these cells (systems x segments, True to keep); the others become missing."""
        if known.all():
            return self
        return replace(self, values=np.where(known[:, :, None], self.values, np.nan))

    def identical(self, other: CorpusStatistics) -> bool:
        """Tell whether the other one holds the same numbers and combines them alike."""
        return (
            np.array_equal(self.values, other.values, equal_nan=True)
            and bool(self.combine == other.combine)
            and self.higher_is_better == other.higher_is_better
            and self.signature == other.signature
        )


def bootstrap_scores(stats: CorpusStatistics, counts: Floats) -> Floats:
    """Corpus scores of every resample: resamples x systems, NaN where a system has no segment.

    ``counts`` say how often each segment occurs in each resample.
    """
    n, s, k = stats.values.shape
    known = stats.known
    flat = np.where(known[:, :, None], stats.values, 0.0).transpose(1, 0, 2).reshape(s, n * k)
    sums = weighted_sums(counts, flat).reshape(len(counts), n, k)
    some = weighted_sums(counts, known.T.astype(np.float64)) > 0
    return np.where(some, stats.combine(sums), np.nan)


def pseudo_values(stats: CorpusStatistics) -> Floats:
    r"""Segment scores that stand for the corpus score: systems x segments, NaN where undefined.

    The infinitesimal jackknife: :math:`f(\sum x) + S \, \nabla f(\sum x) (x_s - \bar x)`. Their
    mean is the corpus score; to first order, their mean over a resample is the corpus score of the
    resample. The first order is far off where a score hangs on few counts (few matching 4-grams).
    """
    known = stats.known
    x = np.where(known[:, :, None], stats.values, 0.0)
    sums, size = x.sum(axis=1), np.abs(x).sum(axis=1)
    n = known.sum(axis=1)[:, None]
    slopes = np.zeros(sums.shape)
    for k in range(sums.shape[1]):
        step = np.zeros(sums.shape)
        step[:, k] = _STEP * size[:, k]
        rise = stats.combine(sums + step) - stats.combine(sums - step)
        # A statistic that is 0 on every segment can't change: it has no slope.
        np.divide(rise, 2 * step[:, k], out=slopes[:, k], where=step[:, k] > 0)
    centred = n[:, :, None] * x - sums[:, None, :]
    result = stats.combine(sums)[:, None] + np.einsum("nsk,nk->ns", centred, slopes)
    return np.where(known, result, np.nan)


def corpus_pvalues(
    stats: CorpusStatistics,
    *,
    n_resamples: int = 10_000,
    rng: Rng = 0,
    blocks: Counts | None = None,
    tail: str = "mid",
) -> PairwisePValues:
    """Test every pair of systems by swapping their outputs, on the segments that both have.

    Of ``n_resamples`` swaps half are drawn, and mirrored; pairs that differ on so few segments that
    there are no more swaps are enumerated. Segments with the same code in ``blocks`` are swapped
    together; ``tail`` is ``mid`` (ties count half) or ``ge``. ``error`` is the largest standard
    error. NaN where systems share no segment or a score is undefined, be it after a swap.
    """
    size = len(stats.values)
    p = np.full((size, size), 0.5 if tail == "mid" else 1.0)
    n = np.zeros((size, size), dtype=np.int64)
    seed = generator(rng).integers(2**63)
    worst, how = 0.0, "enumeration"
    for common, pairs in _groups(stats.known):
        members, local = np.unique(pairs, return_inverse=True)
        local = local.reshape(-1, 2)
        present = block_sums(common.astype(np.float64), blocks) > 0
        sums = _unit_sums(stats.values[members], common, blocks)[:, :, present]
        units = int(present.sum())
        tests = [_Pair.of(stats, sums[i], sums[j], n_resamples) for i, j in local]
        tallies = np.array([test.start() for test in tests])
        if any(test.swaps is None for test in tests):
            how = "sampled"
            for shifts in _shifts(sums, n_resamples, np.random.default_rng(seed)):
                for k, (test, (i, j)) in enumerate(zip(tests, local, strict=True)):
                    if test.swaps is None:
                        tallies[k] += test.tally(test.turn * (shifts[i] - shifts[j]))
        for test, tally, (i, j) in zip(tests, tallies, pairs, strict=True):
            leading, tied, error = test.pvalue(tally)
            rest = 0.0 if tail == "mid" else tied / 2
            best, other = (i, j) if test.turn > 0 else (j, i)
            p[best, other] = leading + rest if units else np.nan
            p[other, best] = 1 - leading + rest if units else np.nan
            n[i, j] = n[j, i] = units
            worst = max(worst, error)
    return PairwisePValues(p=p, error=worst, how=how, n=n)


def corpus_test(
    stats: CorpusStatistics,
    *,
    blocks: Counts | None = None,
    alternative: str = "two-sided",
    rng: Rng = 0,
) -> Floats:
    """Paired permutation test of corpus scores; identical systems give p = 1, the diagonal NaN.

    ``alternative`` is ``two-sided``, ``greater`` (i is better than j) or ``less``.
    """
    p = corpus_pvalues(stats, rng=rng, blocks=blocks, tail="ge").p
    return sided(p, alternative)


def _groups(known: Mask) -> Iterator[tuple[Mask, list[tuple[int, int]]]]:
    """Yield pairs of systems by the segments that both have: nearly always one group."""
    groups: dict[bytes, list[tuple[int, int]]] = {}
    for i, j in zip(*pair_index(len(known)), strict=True):
        groups.setdefault((known[i] & known[j]).tobytes(), []).append((int(i), int(j)))
    for key, pairs in groups.items():
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
    """Two systems, turned so that the first leads.

    A tally adds up, over draws that each stand for themselves and their mirror image: 1, how much
    of the draw lies beyond the lead (a tie counts half), its square, and how much is tied.
    """

    combine: Combine
    orientation: float
    turn: float
    middle: Floats
    swaps: Floats | None  # what each of all swaps moves, where these are few
    lead: float
    slack: float

    @classmethod
    def of(cls, stats: CorpusStatistics, first: Floats, second: Floats, n_resamples: int) -> _Pair:
        """Compare two systems by their statistics, K x units each."""
        orientation = 1.0 if stats.higher_is_better else -1.0
        scores = stats.combine(np.stack([first.sum(axis=1), second.sum(axis=1)]))
        lead = orientation * float(scores[0] - scores[1])
        turn = -1.0 if lead < 0 else 1.0
        gap = turn * (first - second)[:, (first != second).any(axis=0)]
        return cls(
            combine=stats.combine,
            orientation=orientation,
            turn=turn,
            middle=(first + second).sum(axis=1) / 2,
            swaps=_every_swap(gap) if 2 ** gap.shape[1] <= n_resamples else None,
            lead=abs(lead),
            slack=_SLACK * float(np.abs(scores).sum()),
        )

    def tally(self, shift: Floats) -> Floats:
        """Count draws, given by what each moves from the second system to the first."""
        null = self.combine(self.middle + shift) - self.combine(self.middle - shift)
        null = self.orientation * null
        lead, slack = self.lead, self.slack
        tied = ((np.abs(null - lead) <= slack) + (np.abs(null + lead) <= slack) * 1.0) / 2
        beyond = ((null > lead + slack) + (null < -lead - slack) * 1.0) / 2 + tied / 2
        beyond[np.isnan(null)] = np.nan
        return np.array([len(null), beyond.sum(), beyond @ beyond, tied.sum()])

    def start(self) -> Floats:
        """Count all swaps where these are few, else what was observed: it is one of the draws."""
        if self.swaps is not None:
            return self.tally(self.swaps)
        if math.isnan(self.lead):
            return np.full(4, np.nan)
        return np.array([1, 1 / 4, 1 / 16, 1 if self.lead <= self.slack else 1 / 2])

    def pvalue(self, tally: Floats) -> tuple[float, float, float]:
        """Return the mid-p of the leading system, the chance of a tie, and a standard error."""
        n, beyond, squares, tied = tally.tolist()
        if math.isnan(beyond):
            return math.nan, math.nan, 0.0
        if self.lead <= self.slack:
            return 0.5, tied / n, 0.0
        if self.swaps is not None:
            return beyond / n, tied / n, 0.0
        # A quarter more: that no draw went beyond the lead does not prove that none does.
        error = math.sqrt(squares - beyond * beyond / n + 0.25) / n
        return beyond / n, tied / n, error


def _every_swap(gap: Floats) -> Floats:
    """Return what all swaps of units move from one system to the other: swaps x K."""
    units = gap.shape[1]
    signs = (np.arange(2**units)[:, None] >> np.arange(units)) % 2 * 2.0 - 1
    return signs @ gap.T / 2
