"""Tie calibration: the threshold below which differences of a metric are best taken for ties.

As epsilon grows past the metric difference (gap) of a pair, the pair becomes a tie, and the mean
over groups changes by what that gains or loses. One sort of the gaps and running sums give the mean
at every epsilon.

Most gaps need not be sorted to find the best. Counts of gains and losses in a few thousand narrow
intervals of epsilon bound the mean: within an interval it is at most that at its left end plus all
gains. Intervals that can't reach the best mean at any of their ends are skipped, which are nearly
all. Equal gaps fall into one interval, so nothing is approximate. Pairs beyond two million are not
held in memory but formed twice, once to count them and once to pick the gaps that are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.kendall.counting import KENDALL, PairCounts, TieMatrix, count_columns

# Kinds of pairs: people order them the other way (0), tie them (1), or order them the same way (2)
# as the metric; the metric ties them already and people order them (3); anything else (4): both tie
# them, or a score is missing.
Kinds = NDArray[np.uint8]
Block = tuple[Floats, Kinds]  # gaps and kinds, pairs x groups
Moves = tuple[Floats, Floats, NDArray[np.intp]]  # gaps, what they gain, and their intervals

_HELD = 2**21  # pairs that are held in memory together
_KINDS = 5
_WIDTH = 4097  # intervals of epsilon
_ROUNDING = 1e-12  # of a mean
_TINY = 1e-290  # a largest gap below which all are in one interval


@dataclass(frozen=True, slots=True)
class Calibration:
    """The best threshold: value and epsilon, and the curve (epsilons with their values)."""

    value: float
    epsilon: float
    epsilons: Floats
    values: Floats
    n_groups: int


def calibrate(
    human: Floats, metric: Floats, worth: TieMatrix = KENDALL["acc-eq"], *, curve: bool = True
) -> Calibration:
    """Find the one epsilon that maximises the mean over groups (columns).

    Candidates are 0 and every difference of the metric. Where several epsilons are best, to twelve
    digits, the reported one is that on which a running float sum over the pairs lands, as in the
    WMT toolkit, so that published thresholds come out the same; beyond two million pairs it is the
    smallest. Without ``curve`` only epsilons that could be best are listed, which is faster.

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[0.0], [0.0], [1.0]])
    >>> metric = np.array([[0.1], [0.2], [0.9]])
    >>> best = calibrate(human, metric)
    >>> round(best.value, 12), round(best.epsilon, 12)
    (1.0, 0.1)
    """
    if None in worth.worths:
        raise UsageError("calibration needs a matrix in which every pair takes part")
    known = ~(np.isnan(human) | np.isnan(metric))
    n = known.sum(axis=0)
    used = n > 1
    if not used.any():
        return Calibration(float("nan"), float("nan"), np.zeros(0), np.zeros(0), 0)
    n_pairs = (n * (n - 1) // 2)[used]
    human = np.where(known, human, np.nan)[:, used]
    metric = np.where(known, metric, np.nan)[:, used]
    same, opposite, metric_tie, human_tie, both_tie = (float(w or 0) for w in worth.worths)
    gain = np.array([metric_tie - opposite, both_tie - human_tie, metric_tie - same, 0.0, 0.0])
    held: list[Block] | None = None
    if n_pairs.sum() <= _HELD:
        gaps, kinds = (np.concatenate(x) for x in zip(*_row_blocks(human, metric), strict=True))
        held = [(gaps, kinds)]
        counts = _count_kinds(kinds, n_pairs)
    else:
        counts = count_columns(human, metric)
    start = worth.parts(counts)[0]
    # Groups of one size weigh whole numbers, whose sums are exact.
    alike = bool((n_pairs == n_pairs[0]).all())
    size = float(n_pairs[0]) if alike else 1.0
    weights = None if alike else 1.0 / n_pairs
    search = _Search(human, metric, held, gain, weights)
    epsilons, sums = search.running_sums(every=curve)
    total = start.sum() if weights is None else (start * weights).sum()
    values = (total + sums) / (size * len(n_pairs))
    best = np.flatnonzero(values >= values.max() - _ROUNDING)
    chosen = int(best[0])
    if len(best) > 1 and held is not None:
        chosen = int(best[_as_summed(epsilons[best], held[0], start, gain, n_pairs)])
    value, epsilon = float(values.max()), float(epsilons[chosen])
    return Calibration(value, epsilon, epsilons, values, len(n_pairs))


def _row_blocks(human: Floats, metric: Floats) -> Iterator[Block]:
    """Yield the pairs of each row with all later ones."""
    for i in range(len(human) - 1):
        h, m = human[i] - human[i + 1 :], metric[i] - metric[i + 1 :]
        kinds = 2 * ((h > 0) == (m > 0)).view(np.uint8)
        gaps = np.abs(m, out=m)
        np.copyto(kinds, 1, where=h == 0)
        np.copyto(kinds, 4, where=~(gaps > 0))
        kinds -= (gaps == 0) & (h != 0)
        yield gaps, kinds


def _count_kinds(kinds: Kinds, n_pairs: Counts) -> PairCounts:
    """Count the pairs of each group before any becomes a tie."""
    dtype = np.min_scalar_type(len(kinds))  # bytes are added up many at a time
    opposite, human_tie, same, metric_tie = (
        np.add.reduce(kinds == kind, axis=0, dtype=dtype).astype(np.int64) for kind in range(4)
    )
    both_tie = n_pairs - opposite - human_tie - same - metric_tie
    return PairCounts(same, opposite, human_tie, metric_tie, both_tie)


@dataclass(frozen=True, slots=True)
class _Search:
    """Pairs with what they gain as they become ties, weighted by group (None: all alike)."""

    human: Floats
    metric: Floats
    held: list[Block] | None
    gain: Floats  # of each kind
    weights: Floats | None

    def _coded(self, scale: float) -> Iterator[tuple[Floats, NDArray[np.intp]]]:
        """Yield gaps with their intervals, one row of intervals for each kind after the other."""
        blocks = _row_blocks(self.human, self.metric) if self.held is None else self.held
        for gaps, kinds in blocks:
            scaled = gaps * scale  # larger gaps never have lower intervals
            if np.isnan(scaled.sum()):
                scaled[np.isnan(scaled)] = 0.0
            codes = scaled.astype(np.intp)
            codes += (_WIDTH * np.arange(_KINDS))[kinds]
            yield gaps, codes

    def running_sums(self, *, every: bool) -> tuple[Floats, Floats]:
        """Sum the gains of all pairs up to each epsilon: 0, and the gaps that could be best.

        With ``every``, each gap is an epsilon.
        """
        spread = np.nanmax(self.metric, axis=0) - np.nanmin(self.metric, axis=0)
        top = float(spread.max())
        scale = (_WIDTH - 1) / top if top > _TINY else 0.0
        held = None if self.held is None else list(self._coded(scale))
        counts = np.zeros(_KINDS * _WIDTH)
        for gaps, codes in () if every else held or self._coded(scale):
            weights = self.weights
            if weights is not None:
                weights = np.broadcast_to(weights, gaps.shape).ravel()
            counts += np.bincount(codes.ravel(), weights, _KINDS * _WIDTH)
        by_kind = counts.reshape(_KINDS, _WIDTH)
        rise, change = np.maximum(self.gain, 0) @ by_kind, self.gain @ by_kind
        after = np.cumsum(change)
        before = after - change
        least = max(0.0, float(after.max())) - _ROUNDING * max(1.0, float(rise.sum()))
        live = (before + rise >= least) & (rise > 0) | every
        # What the intervals that were skipped have changed before each of the others.
        skipped = np.cumsum(np.where(live, 0.0, change))
        wanted = ((self.gain != 0)[:, None] & live).ravel()
        pending: list[Moves] = []
        n_pending = 0
        for gaps, codes in held or self._coded(scale):
            chosen = np.flatnonzero(wanted[codes])
            kinds, intervals = np.divmod(codes.ravel()[chosen], _WIDTH)
            moves = self.gain[kinds]
            if self.weights is not None:
                moves *= self.weights[chosen % gaps.shape[1]]
            pending.append((gaps.ravel()[chosen], moves, intervals))
            n_pending += len(chosen)
            if n_pending > _HELD:  # few scores repeat few gaps
                pending, n_pending = [_merged(pending)], 0
        gaps, moves, intervals = _merged(pending)
        sums = np.cumsum(moves) + skipped[intervals]
        return np.append(0.0, gaps), np.append(0.0, sums)


def _merged(parts: list[Moves]) -> Moves:
    """Sort gaps, and add up the gains of equal ones."""
    gaps, moves, codes = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(gaps, kind="stable")
    gaps, moves, codes = gaps[order], moves[order], codes[order]
    first = np.flatnonzero(np.append(True, gaps[1:] != gaps[:-1])[: len(gaps)])
    sums = np.add.reduceat(moves, first) if len(first) else moves
    return gaps[first], sums, codes[first]


def _as_summed(epsilons: Floats, block: Block, start: Floats, gain: Floats, n_pairs: Counts) -> int:
    """Choose among equally good epsilons as a running float sum over pairs in order of gap does."""
    gaps, kinds = block
    flat = gaps.T.ravel()  # group by group, then pair by pair
    order = np.flatnonzero(flat <= epsilons[-1])
    order = order[np.argsort(flat[order], kind="stable")]
    group = order // len(gaps)
    moves = gain[kinds.T.ravel()[order]]
    # The sum of each group before and after each of its pairs becomes a tie.
    by_group = np.argsort(group.astype(np.min_scalar_type(len(n_pairs))), kind="stable")
    running = np.cumsum(moves[by_group])
    begins = np.searchsorted(group[by_group], np.arange(len(n_pairs)))
    offset = start - np.r_[0.0, running][begins]
    after = np.empty_like(moves)
    after[by_group] = running + offset[group[by_group]]
    size = n_pairs[group].astype(np.float64)
    steps = np.empty(1 + 2 * len(order))
    steps[0] = np.add.accumulate(start / n_pairs)[-1]
    steps[1::2], steps[2::2] = -((after - moves) / size), after / size
    totals = np.add.accumulate(steps)[0::2] / len(n_pairs)
    last = np.searchsorted(flat[order], epsilons, side="right")
    return int(np.argmax(totals[last]))
