"""Tie calibration: the threshold below which differences of a metric are best taken for ties.

Where all pairs fit in memory, one sort of their metric differences (gaps) and running sums give the
mean at every epsilon. Long groups are swept without holding their pairs:

1. With the cells of a group in order of the metric, the pairs whose gaps lie between two bounds
   are, for each cell, a run of cells after it: one row to subtract.
2. As epsilon grows past its gap, a pair becomes a tie, and the mean changes by what that gains or
   loses. Between two epsilons the mean is at most that at the lower one plus all gains between.
3. One pass over the pairs counts them in thousands of narrow intervals of epsilon. Those that could
   hold the best are listed pair by pair, in portions that fit in memory; an interval that is too
   full for that (a metric with few distinct scores) is split again.

Whole pairs are counted, and gaps compared as the floats they are, so that nothing is approximate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.kendall.counting import KENDALL, TieMatrix, reach
from steelyard.stats.kendall.pruned import best_points

# Kinds of pairs: people order them the other way (0), tie them (1), or order them the same way
# (2); 3, 4, 5 the same where the metric ties them, and 6 for missing ones.
Kinds = NDArray[np.uint8]

_AT_ONCE = 2**21  # pairs that are held in memory together
_BLOCK = 2**17  # gaps formed at a time: they stay in the cache
_PORTION = 2**22  # gaps listed at a time
_FULL = 2**18  # an interval with more gaps is split before it is listed: it may hold one gap only
_BITS = 15  # a pass counts in about 2**15 intervals at most
_ROUNDING = 1e-12  # of a mean; what is as close as this is compared as fractions


@dataclass(frozen=True, slots=True)
class Calibration:
    """The best threshold: value and epsilon, and the curve (epsilons with their values)."""

    value: float
    epsilon: float
    epsilons: Floats
    values: Floats
    n_groups: int


def calibrate(
    human: Floats,
    metric: Floats,
    worth: TieMatrix = KENDALL["acc-eq"],
    *,
    curve: bool = True,
) -> Calibration:
    """Find the one epsilon that maximises the mean over groups, exactly.

    1. Every pair of rows within a column is a pair; missing cells take no part.
    2. As epsilon grows past a pair's metric difference, that pair becomes a tie, which changes its
       worth by a known amount, divided by the pairs of its group.
    3. Sorting the differences and adding up the changes gives the mean at every epsilon. Candidates
       are 0 and every difference, compared exactly.
    4. Where several epsilons are best (to twelve digits, if groups differ in size), the reported
       one is that on which a running float sum over the pairs lands, as in the WMT toolkit, so
       that published thresholds come out the same.

    More than two million pairs (all cells in one group, say) are not held in memory, see
    ``best_epsilon``, and two things change: of several best epsilons the smallest is reported, and
    the curve is given at 0, at the best and at some thousand other epsilons instead of at every
    difference. Value and epsilon are exact all the same.

    Without ``curve`` it may have epsilons that could be best alone, which is faster.

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
    pairs = n * (n - 1) // 2
    used = pairs > 0
    if not used.any():
        return Calibration(float("nan"), float("nan"), np.zeros(0), np.zeros(0), 0)
    human = np.where(known, human, np.nan)[:, used]
    metric = np.where(known, metric, np.nan)[:, used]
    pairs = pairs[used]
    same, opposite, metric_tie, human_tie, both_tie = (float(w or 0) for w in worth.worths)
    clear = np.array([opposite, human_tie, same])
    tied = np.array([metric_tie, both_tie, metric_tie])
    if pairs.sum() > _AT_ONCE:
        return best_epsilon(human, metric, clear, tied)
    return _all_pairs(human, metric, pairs, clear, tied, curve=curve)


def _all_pairs(
    human: Floats, metric: Floats, pairs: Counts, clear: Floats, tied: Floats, *, curve: bool
) -> Calibration:
    """Calibrate on all pairs at once; ``clear`` and ``tied`` as in ``best_epsilon``."""
    gaps, kinds = _differences(human, metric)
    now, change = np.r_[clear, tied], np.r_[tied - clear, np.zeros(4)]
    start = np.zeros(len(pairs))
    for kind in np.flatnonzero(now).tolist():
        start += now[kind] * _count(kinds, kind)
    if (pairs == pairs[0]).all():
        size = np.abs(change).max()
        if not curve and (np.abs(change[change != 0]) == size).all():
            epsilons, steps = best_points(gaps, kinds, np.sign(change).astype(np.int64))
            sums = size * steps
        else:
            epsilons, sums = _running_sums(gaps, kinds, change, np.ones(len(pairs)))
        values = (start.sum() + sums) / (len(pairs) * pairs[0])
        best = np.flatnonzero(values == values.max())
    else:
        epsilons, sums = _running_sums(gaps, kinds, change, 1.0 / pairs)
        values = ((start / pairs).sum() + sums) / len(pairs)
        best = np.flatnonzero(values >= values.max() - _ROUNDING)
    chosen = int(best[0])
    # The value is settled; of equally good epsilons, report the one that others have published.
    if len(best) > 1:
        chosen = int(best[_as_summed(epsilons[best], gaps, start, kinds, change, pairs)])
    value, epsilon = float(values.max()), float(epsilons[chosen])
    return Calibration(value, epsilon, epsilons, values, len(pairs))


def _count(kinds: Kinds, kind: int) -> Counts:
    """Count the pairs of a kind in each group; numbers that fit into bytes many at a time."""
    dtype = np.uint8 if len(kinds) <= np.iinfo(np.uint8).max else np.int64
    found: Counts = np.add.reduce(kinds == kind, axis=0, dtype=dtype).astype(np.int64)
    return found


def _differences(human: Floats, metric: Floats) -> tuple[Floats, Kinds]:
    """Per pair of rows and group: the metric difference, NaN where missing, and its kind."""
    n, n_groups = human.shape
    gaps = np.empty((n * (n - 1) // 2, n_groups))
    kinds = np.empty(gaps.shape, dtype=np.uint8)
    at = 0
    for i in range(n - 1):  # row by row: what is needed on the way stays in the cache
        h, m = human[i] - human[i + 1 :], metric[i] - metric[i + 1 :]
        rows = slice(at, at + len(h))
        np.abs(m, out=gaps[rows])
        kind = 2 * ((h > 0) == (m > 0)).view(np.uint8)
        np.copyto(kind, 1, where=h == 0)
        kind += 3 * (m == 0).view(np.uint8)
        np.copyto(kind, 6, where=np.isnan(m))
        kinds[rows] = kind
        at += len(h)
    return gaps, kinds


def _running_sums(
    gaps: Floats, kinds: Kinds, change: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Sum the weighted changes of all pairs up to each distinct gap; 0 comes first."""
    moving = np.zeros(gaps.shape, dtype=bool)
    rising = np.zeros(gaps.shape, dtype=bool)
    for kind in np.flatnonzero(change):
        moving |= kinds == kind
        if change[kind] > 0:
            rising |= kinds == kind
    if len(np.unique(np.abs(change[change != 0]))) == len(np.unique(weight)) == 1:
        # Positive doubles sort like integers and leave their sign bit free: it carries the sign
        # of the change, and one sort of integers replaces an argsort and two gathers.
        step = weight[0] * np.abs(change).max()
        keys = gaps.view(np.uint64) << np.uint64(1)
        keys |= rising
        keys = np.append(np.uint64(0), keys[moving])
        keys.sort()
        up = np.cumsum(keys & np.uint64(1))
        keys >>= np.uint64(1)
        last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True))
        return keys.view(np.float64)[last], step * (2.0 * up[last] - last)
    own = gaps[moving]
    steps = change[kinds[moving]] * np.broadcast_to(weight, gaps.shape)[moving]
    order = _stable_argsort(own)
    ordered = np.append(0.0, own[order])
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return ordered[last], np.append(0.0, np.cumsum(steps[order]))[last]


def _as_summed(
    epsilons: Floats, gaps: Floats, start: Floats, kinds: Kinds, change: Floats, pairs: Counts
) -> int:
    """Choose among equally good epsilons as a running float sum over pairs in order of gap does."""
    flat = gaps.T.ravel()  # group by group, then pair by pair
    order = np.flatnonzero(flat <= epsilons[-1])
    order = order[_stable_argsort(flat[order])]
    group = order // len(gaps)
    each = change[kinds.T.ravel()[order]]
    # The sum of each group before and after each of its pairs becomes a tie.
    by_group = np.argsort(group.astype(np.min_scalar_type(len(pairs))), kind="stable")
    running = np.cumsum(each[by_group])
    begins = np.searchsorted(group[by_group], np.arange(len(pairs)))
    offset = start - np.r_[0.0, running][begins]
    after = np.empty_like(each)
    after[by_group] = running + offset[group[by_group]]
    size = pairs[group].astype(np.float64)
    moves = np.empty(1 + 2 * len(order))
    moves[0] = np.add.accumulate(start / pairs)[-1]
    moves[1::2], moves[2::2] = -((after - each) / size), after / size
    totals = np.add.accumulate(moves)[0::2] / len(pairs)
    last = np.searchsorted(flat[order], epsilons, side="right")
    return int(np.argmax(totals[last]))


def _stable_argsort(values: Floats) -> Counts:
    """Argsort with equal values in their order, by two sorts that need not keep it."""
    order = np.argsort(values)
    ordered = values[order]
    run = np.r_[0, np.cumsum(ordered[1:] != ordered[:-1])] * len(values)
    return np.asarray(np.sort(run + order) - run)


def best_epsilon(human: Floats, metric: Floats, clear: Floats, tied: Floats) -> Calibration:
    """Find the smallest epsilon with the best mean over groups, exactly, in O(cells) memory.

    Parameters
    ----------
    human, metric
        Members x groups, NaN where missing; every group has at least one pair.
    clear, tied
        What pairs of the three kinds are worth as the metric orders them, and as its ties.

    Examples
    --------
    >>> human, metric = np.array([[0.0], [0.0], [1.0]]), np.array([[0.125], [0.25], [0.875]])
    >>> best = best_epsilon(human, metric, np.array([0.0, 0, 1]), np.array([0.0, 1, 0]))
    >>> best.epsilon, best.value
    (0.125, 1.0)
    """
    cells = SortedCells.arranged(human, metric)
    whole = cells.histogram(0.0, np.inf)
    above = whole.counts.sum(axis=2)
    both_ties = cells.human_ties() - above[1]
    metric_ties = cells.n_pairs * cells.n_groups - above.sum(axis=0) - both_ties
    start = clear @ above + tied[1] * both_ties + tied[0] * metric_ties
    search = _Search(cells, start, tied - clear)
    nothing = np.zeros((*above.shape, 1), dtype=np.int64)
    search.consider(np.zeros(1), nothing)
    search.descend(0.0, nothing, whole)
    changed = (tied != clear) @ whole.counts.sum(axis=1) > 0
    up_to = np.concatenate([nothing, np.cumsum(whole.counts, axis=2)[:, :, changed]], axis=2)
    epsilons, first = np.unique(
        np.r_[search.epsilon, 0.0, whole.rights[changed]], return_index=True
    )
    values = np.r_[search.value, search.mean(search.totals(up_to))][first]
    return Calibration(search.value, search.epsilon, epsilons, values, int(cells.n_groups.sum()))


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of gaps in adjacent intervals of epsilon, each given by its right end."""

    rights: Floats
    counts: Counts  # kinds x sizes of groups x intervals
    single: bool  # no interval holds two different gaps: its right end is the one it holds


@dataclass(frozen=True, slots=True)
class SortedCells:
    """The cells of all groups, group after group; groups of one size stand together."""

    metric: Floats  # ascending within a group
    level: NDArray[np.int32]  # rank of the human score
    end: Counts  # where the group of each cell ends
    bounds: Counts  # where the groups of each size begin, and the end
    n_groups: Counts  # of each size
    n_pairs: Counts  # of one group of each size

    @classmethod
    def arranged(cls, human: Floats, metric: Floats) -> SortedCells:
        """Arrange members x groups."""
        known = ~(np.isnan(human) | np.isnan(metric))
        n = known.sum(axis=0)
        columns = np.argsort(n, kind="stable")
        group, member = np.nonzero(known[:, columns].T)
        h, m = human[member, columns[group]], metric[member, columns[group]]
        order = np.lexsort((m, group))
        sizes, n_groups = np.unique(n, return_counts=True)
        return cls(
            metric=m[order],
            level=np.unique(h, return_inverse=True)[1].astype(np.int32)[order],
            end=np.cumsum(n[columns])[group],
            bounds=np.r_[0, np.cumsum(sizes * n_groups)],
            n_groups=n_groups,
            n_pairs=sizes * (sizes - 1) // 2,
        )

    def human_ties(self) -> Counts:
        """Count the pairs that people tie, by size of group."""
        n_levels = int(self.level.max()) + 1
        keys, cells = np.unique(self.end * n_levels + self.level, return_counts=True)
        size = np.searchsorted(self.bounds, keys // n_levels) - 1
        pairs = np.zeros_like(self.n_pairs)
        np.add.at(pairs, size, cells * (cells - 1) // 2)
        return pairs

    def runs(self, left: float, right: float) -> tuple[Counts, Counts]:
        """Begin and end of the cells that are more than left above each, and at most right."""
        return reach(self.metric, left, self.end), reach(self.metric, right, self.end)

    def gaps(self, begin: Counts, end: Counts) -> Iterator[tuple[int, Floats, NDArray[np.int32]]]:
        """Yield size of group, gaps and kinds of the pairs in these runs, block by block.

        A block is overwritten by the next.
        """
        gaps, order = np.empty(_BLOCK), np.empty(_BLOCK, dtype=np.int32)
        for size, (first, last) in enumerate(zip(self.bounds, self.bounds[1:], strict=False)):
            filled = 0
            rows = first + np.flatnonzero(begin[first:last] < end[first:last])
            where = (x.tolist() for x in (rows, begin[rows], end[rows]))
            for row, a, b in zip(*where, strict=True):
                at = a
                while at < b:
                    n = min(b - at, _BLOCK - filled)
                    run, into = slice(at, at + n), slice(filled, filled + n)
                    np.subtract(self.metric[run], self.metric[row], out=gaps[into])
                    np.subtract(self.level[run], self.level[row], out=order[into])
                    at, filled = at + n, filled + n
                    if filled == _BLOCK:
                        yield size, gaps, np.sign(order) + 1
                        filled = 0
            if filled:
                yield size, gaps[:filled], np.sign(order[:filled]) + 1

    def histogram(self, left: float, right: float, known: Counts | None = None) -> Histogram:
        """Count the gaps above left and up to right in narrow intervals.

        Where there is only one gap, the known counts of all are not counted again.
        """
        begin, end = self.runs(left, right)
        rows = np.flatnonzero(begin < end)
        n_sizes = len(self.n_pairs)
        if not len(rows):
            return Histogram(np.zeros(0), np.zeros((3, n_sizes, 0), dtype=np.int64), single=True)
        smallest = (self.metric[begin[rows]] - self.metric[rows]).min()
        largest = (self.metric[end[rows] - 1] - self.metric[rows]).max()
        if known is not None and smallest == largest:
            return Histogram(np.array([largest]), known, single=True)
        # Positive floats are in the order of their bits, the first of which number the intervals.
        low, high = int(smallest.view(np.int64)), int(largest.view(np.int64))
        bits = min(_BITS, max(8, _BITS + 3 - n_sizes.bit_length()))
        shift = max(0, (high - low).bit_length() - bits)
        first = low >> shift
        n = (high >> shift) - first + 1
        counts = np.zeros((3, n_sizes, n), dtype=np.int64)
        for size, gaps, kinds in self.gaps(begin, end):
            code = gaps.view(np.int64) >> shift
            code -= first
            code += np.multiply(kinds, n, dtype=np.int64)
            counts[:, size] += np.bincount(code, minlength=3 * n).reshape(3, n)
        rights = ((np.arange(first + 1, first + n + 1) << shift) - 1).view(np.float64)
        rights[-1] = largest
        return Histogram(rights, counts, single=shift == 0)

    def listed(self, left: float, right: float, kinds: Counts) -> dict[tuple[int, int], Floats]:
        """List the gaps above left and up to right, ascending, by kind and size of group."""
        parts: dict[tuple[int, int], list[Floats]] = {}
        for size, gaps, found in self.gaps(*self.runs(left, right)):
            for kind in kinds.tolist():
                parts.setdefault((kind, size), []).append(gaps[found == kind])
        return {key: np.sort(np.concatenate(blocks)) for key, blocks in parts.items()}


class _Search:
    """The best so far; epsilons are looked at in ascending order, so that the first best stays."""

    def __init__(self, cells: SortedCells, start: Floats, gain: Floats) -> None:
        self.cells = cells
        self.start = start[:, None]  # sums of worths at 0, by size of group
        self.gain = gain
        self.scale = (cells.n_pairs * cells.n_groups.sum())[:, None]
        self.rounding = _ROUNDING * float(
            np.abs(self.start / self.scale).sum() + np.abs(gain).sum()
        )
        self.reached = -np.inf
        self.best: Fraction | None = None
        self.epsilon = self.value = float("nan")

    def totals(self, counts: Counts) -> Floats:
        """Sums of worths by size once so many pairs (kinds x sizes x epsilons) became ties."""
        totals: Floats = self.start + np.tensordot(self.gain, counts, axes=1)
        return totals

    def mean(self, totals: Floats) -> Floats:
        """Means over groups."""
        means: Floats = (totals / self.scale).sum(axis=0)
        return means

    def consider(self, epsilons: Floats, counts: Counts) -> None:
        """Look at ascending epsilons; means that rounding could confuse compare as fractions."""
        if not len(epsilons):
            return
        totals = self.totals(counts)
        values = self.mean(totals)
        self.reached = max(self.reached, float(values.max()))
        near = np.flatnonzero(values >= self.reached - self.rounding)
        # Equal sums have equal means: the first is enough.
        first = np.unique(totals[:, near], axis=1, return_index=True)[1]
        for i in near[np.sort(first)].tolist():
            sums = zip(totals[:, i].tolist(), self.scale[:, 0].tolist(), strict=True)
            exact = sum((Fraction(top) / bottom for top, bottom in sums), start=Fraction())
            if self.best is None or exact > self.best:
                self.best, self.epsilon, self.value = exact, float(epsilons[i]), float(values[i])

    def descend(self, left: float, before: Counts, found: Histogram) -> None:
        """Look into the intervals above left that could hold the best."""
        up_to = np.concatenate([before, before + np.cumsum(found.counts, axis=2)], axis=2)
        if found.single:
            self.consider(found.rights, up_to[:, :, 1:])
            return
        # The ends of intervals are epsilons, too: their means are a floor that prunes the rest
        # before a single pair is listed. An interval can't do better than all of its gains and
        # none of its losses.
        values = self.mean(self.totals(up_to))
        self.reached = max(self.reached, float(values.max()))
        rise = np.tensordot(np.maximum(self.gain, 0), found.counts, axes=1)
        at_most = np.where(rise.any(axis=0), values[:-1] + self.mean(rise), -np.inf)
        live = np.flatnonzero(at_most >= self.reached - self.rounding)
        ends = np.r_[left, found.rights].tolist()
        for first, last, full in _portions(live, found.counts.sum(axis=(0, 1))):
            so_far = up_to[:, :, first : first + 1]
            if at_most[first:last].max() < self.reached - self.rounding:
                continue  # overtaken by one of the portions before
            if full:
                inner = self.cells.histogram(
                    ends[first], ends[last], known=found.counts[:, :, first:last]
                )
                self.descend(ends[first], so_far, inner)
            else:
                self.go_through(ends[first], ends[last], so_far)

    def go_through(self, left: float, right: float, before: Counts) -> None:
        """Look at every epsilon above left and up to right at which the mean may rise."""
        gaps = self.cells.listed(left, right, np.flatnonzero(self.gain))
        rising = [own for (kind, _), own in gaps.items() if self.gain[kind] > 0]
        epsilons = np.unique(np.concatenate(rising))
        for part in np.array_split(epsilons, 1 + len(epsilons) // _BLOCK):
            counts = np.repeat(before, len(part), axis=2)
            for (kind, size), own in gaps.items():
                counts[kind, size] += np.searchsorted(own, part, side="right")
            self.consider(part, counts)


def _portions(live: Counts, n_gaps: Counts) -> list[tuple[int, int, bool]]:
    """Put live intervals together, with what lies between; those that are full stay alone."""
    runs: list[tuple[int, int, bool]] = []
    up_to = np.r_[0, np.cumsum(n_gaps)]
    # Every pass looks at all cells, whatever it lists: few passes with many gaps, then.
    for k in live.tolist():
        full = bool(n_gaps[k] > _FULL)
        first, _, closed = runs[-1] if runs else (k, k, True)
        if full or closed or up_to[k + 1] - up_to[first] > _PORTION:
            runs.append((k, k + 1, full))
        else:
            runs[-1] = (first, k + 1, False)
    return runs
