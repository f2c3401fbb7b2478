"""Tie calibration: the threshold below which differences of a metric are best taken for ties.

As epsilon grows past the metric difference (gap) of a pair, the pair becomes a tie, and the mean
over groups changes by what that gains or loses. One sort of the gaps and running sums give the mean
at every epsilon.

Most gaps need not be sorted to find the best. Counts of gains and losses in a few thousand narrow
intervals of epsilon bound the mean: within an interval it is at most that at its left end plus all
gains. Intervals that can't reach the best mean are skipped, which are nearly all. Equal gaps fall
into one interval, so nothing is approximate. Pairs beyond two million are formed twice instead of
being held in memory: once to count them, and once to pick the gaps that are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.kendall.counting import KENDALL, PairCounts, TieMatrix, count_columns

# Kinds of pairs: people order them the other way (0), tie them (1), or order them the same way (2)
# as the metric; the metric ties them already and people order them (3); anything else (4): both tie
# them, or a score is missing.
Kinds = NDArray[np.uint8]
Block = tuple[Floats, Kinds]  # gaps and kinds, pairs x groups
Coded = tuple[Floats, NDArray[np.intp]]  # gaps and their intervals, a row of these for each kind
Moves = tuple[Floats, Floats, NDArray[np.intp]]  # gaps, what they gain, and their intervals

_HELD = 2**21  # pairs that are held in memory together
_KINDS = 5
_WIDTH, _WIDER = 2**12 + 1, 2**16 + 1  # intervals of epsilon, for more pairs than are held
_TOGETHER = 2**18  # pairs that are coded together, of those that are not held
_ROUNDING = 1e-12  # of a mean
_TINY = 1e-290  # a largest gap below which all are in one interval


@dataclass(frozen=True, slots=True)
class Calibration:
    """The best threshold: value and epsilon, and the curve (epsilons with their values)."""

    value: float
    epsilon: float
    epsilons: Floats
    values: Floats
    groups: Floats  # values within groups at that epsilon, NaN for a group without pairs

    @property
    def n_groups(self) -> int:
        """How many groups have a pair."""
        return int(np.count_nonzero(~np.isnan(self.groups)))


def calibrate(
    human: Floats, metric: Floats, worth: TieMatrix = KENDALL["acc-eq"], *, curve: bool = True
) -> Calibration:
    """Find the one epsilon that maximises the mean over groups (columns).

    Candidates are 0 and every difference of the metric. Among equally good ones the reported one is
    that on which the running float sum of the WMT toolkit lands; beyond two million pairs the
    smallest. Without ``curve`` only epsilons that could be best are listed, which is faster.
    """
    if None in worth.worths:
        raise UsageError("calibration needs a matrix in which every pair takes part")
    known = ~(np.isnan(human) | np.isnan(metric))
    n = known.sum(axis=0)
    used = n > 1
    groups = np.full(len(n), np.nan)
    if not used.any():
        return Calibration(float("nan"), float("nan"), np.zeros(0), np.zeros(0), groups)
    n_pairs = (n * (n - 1) // 2)[used]
    human = np.where(known, human, np.nan)[:, used]
    metric = np.where(known, metric, np.nan)[:, used]
    same, opposite, metric_tie, human_tie, both_tie = (float(w or 0) for w in worth.worths)
    gain = np.array([metric_tie - opposite, both_tie - human_tie, metric_tie - same, 0.0, 0.0])
    held = _all_pairs(human, metric) if n_pairs.sum() <= _HELD else None
    counts = count_columns(human, metric) if held is None else _count_kinds(held[1], n_pairs)
    start = worth.parts(counts)[0]
    # Groups of one size weigh whole numbers, whose sums are exact.
    alike = bool((n_pairs == n_pairs[0]).all())
    size, weights = (float(n_pairs[0]), None) if alike else (1.0, 1.0 / n_pairs)
    spread = np.fmax.reduce(metric, axis=0) - np.fmin.reduce(metric, axis=0)
    top = float(spread.max())
    width = _WIDER if held is None else _WIDTH
    scale = (width - 1) / top if top > _TINY else 0.0
    passes: list[Iterable[Coded]]
    if held is None:
        passes = [_coded(_batches(human, metric), scale, width) for _ in range(2)]
    else:
        passes = [list(_coded([held], scale, width))] * 2
    epsilons, sums = _running_sums(passes, gain, weights, width, every=curve)
    total = start.sum() if weights is None else (start * weights).sum()
    values = (total + sums) / (size * len(n_pairs))
    best = np.flatnonzero(values >= values.max() - _ROUNDING)
    chosen = int(best[0])
    if len(best) > 1 and held is not None:
        chosen = int(best[_as_summed(epsilons[best], held, start, gain, n_pairs)])
    value, epsilon = float(values.max()), float(epsilons[chosen])
    if held is None:
        groups[used] = worth.value(count_columns(human, metric, epsilon=epsilon))
    else:
        groups[used] = ratio(start + _gained(held, gain, epsilon), n_pairs)
    return Calibration(value, epsilon, epsilons, values, groups)


def _row_blocks(human: Floats, metric: Floats) -> Iterator[Block]:
    """Yield the pairs of each row with all later ones."""
    for i in range(len(human) - 1):
        h, m = human[i] - human[i + 1 :], metric[i] - metric[i + 1 :]
        tied = h == 0
        kinds = ((h > 0) == (m > 0)).view(np.uint8)
        kinds &= ~tied
        kinds <<= 1
        kinds |= tied
        gaps = np.abs(m, out=m)
        clear = gaps > 0
        if not clear.all():
            kinds[~clear] = 4
            kinds[(gaps == 0) & ~tied] = 3
        yield gaps, kinds


def _batches(human: Floats, metric: Floats) -> Iterator[Block]:
    """Yield the pairs of several rows together: a few long arrays are faster than many short."""
    rows: list[Block] = []
    held = 0
    for gaps, kinds in _row_blocks(human, metric):
        rows.append((gaps, kinds))
        held += gaps.size
        if held >= _TOGETHER:
            yield np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])
            rows, held = [], 0
    if rows:
        yield np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])


def _all_pairs(human: Floats, metric: Floats) -> Block:
    """Return the pairs of all rows together."""
    n, width = human.shape
    gaps = np.empty((n * (n - 1) // 2, width))
    kinds = np.empty(gaps.shape, dtype=np.uint8)
    end = 0
    for row_gaps, row_kinds in _row_blocks(human, metric):
        start, end = end, end + len(row_gaps)
        gaps[start:end], kinds[start:end] = row_gaps, row_kinds
    return gaps, kinds


def _count_kinds(kinds: Kinds, n_pairs: Counts) -> PairCounts:
    """Count the pairs of each group before any becomes a tie."""
    opposite, human_tie, same, metric_tie = (_added_up(kinds == kind) for kind in range(4))
    both_tie = n_pairs - opposite - human_tie - same - metric_tie
    return PairCounts(same, opposite, human_tie, metric_tie, both_tie)


def _added_up(flags: NDArray[np.bool_]) -> Counts:
    """Count the pairs of each group; bytes are added up many at a time."""
    dtype = np.min_scalar_type(len(flags))
    return np.asarray(np.add.reduce(flags.view(np.uint8), axis=0, dtype=dtype), dtype=np.int64)


def _gained(block: Block, gain: Floats, epsilon: float) -> Floats:
    """Sum what each group gains as all pairs up to epsilon become ties."""
    gaps, kinds = block
    tied = gaps <= epsilon
    total = np.zeros(gaps.shape[1])
    for kind in np.flatnonzero(gain).tolist():
        total += gain[kind] * _added_up((kinds == kind) & tied)
    return total


def _coded(blocks: Iterable[Block], scale: float, width: int) -> Iterator[Coded]:
    """Yield gaps with their intervals; larger gaps never have lower ones."""
    for gaps, kinds in blocks:
        scaled = gaps * scale
        if np.isnan(scaled.sum()):
            scaled[np.isnan(scaled)] = 0.0
        codes = scaled.astype(np.intp)
        codes += (width * np.arange(_KINDS))[kinds]
        yield gaps, codes


def _running_sums(
    passes: list[Iterable[Coded]], gain: Floats, weights: Floats | None, width: int, *, every: bool
) -> tuple[Floats, Floats]:
    """Sum the gains of all pairs up to each epsilon: 0, and the gaps that could be best."""
    counts = np.zeros(_KINDS * width)
    for gaps, codes in () if every else passes[0]:
        each = None if weights is None else np.broadcast_to(weights, gaps.shape).ravel()
        counts += np.bincount(codes.ravel(), each, _KINDS * width)
    by_kind = counts.reshape(_KINDS, width)
    rise, change = np.maximum(gain, 0) @ by_kind, gain @ by_kind
    after = np.cumsum(change)
    before = after - change
    least = max(0.0, float(after.max())) - _ROUNDING * max(1.0, float(rise.sum()))
    live = (before + rise >= least) & (rise > 0) | every
    # What the intervals that were skipped have changed before each of the others.
    skipped = np.cumsum(np.where(live, 0.0, change))
    wanted = ((gain != 0)[:, None] & live).ravel()
    pending: list[Moves] = []
    n_pending = 0
    for gaps, codes in passes[1]:
        chosen = np.flatnonzero(wanted[codes])
        kinds, intervals = np.divmod(codes.ravel()[chosen], width)
        moves = gain[kinds]
        if weights is not None:
            moves *= weights[chosen % gaps.shape[1]]
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
