"""The best tie threshold of long groups, found without holding their pairs.

1. With the cells of a group in order of the metric, the pairs whose metric differences (gaps) lie
   between two bounds are, for each cell, a run of cells after it: one row to subtract.
2. As epsilon grows past its gap, a pair becomes a tie, and the mean changes by what that gains or
   loses. Between two epsilons the mean is at most that at the lower one plus all gains between.
3. One pass over the pairs counts them in thousands of narrow intervals of epsilon. Those that could
   hold the best are listed pair by pair, in portions that fit in memory; an interval that is too
   full for that (a metric with few distinct scores) is split again.

Whole pairs are counted, and gaps compared as the floats they are, so that nothing is approximate.
Pairs are of three kinds: people order them the other way, tie them, or order them the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.kendall.pairs import reach

Kinds = NDArray[np.int32]

_BLOCK = 2**17  # gaps formed at a time: they stay in the cache
_PORTION = 2**22  # gaps listed at a time
_FULL = 2**18  # an interval with more gaps is split before it is listed: it may hold one gap only
_BITS = 15  # a pass counts in about 2**15 intervals at most
_ROUNDING = 1e-12  # of a mean; what is as close as this is compared as fractions


@dataclass(frozen=True, slots=True)
class Best:
    """The smallest of the best epsilons, its mean, and the mean at 0 and many other epsilons."""

    epsilon: float
    value: float
    epsilons: Floats
    values: Floats


def best_epsilon(human: Floats, metric: Floats, clear: Floats, tied: Floats) -> Best:
    """Find the epsilon with the best mean over groups, exactly, in O(cells) memory.

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
    return Best(search.epsilon, search.value, epsilons, values)


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

    def gaps(self, begin: Counts, end: Counts) -> Iterator[tuple[int, Floats, Kinds]]:
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
    for k in live.tolist():
        full = bool(n_gaps[k] > _FULL)
        first, _, closed = runs[-1] if runs else (k, k, True)
        if full or closed or up_to[k + 1] - up_to[first] > _PORTION:
            runs.append((k, k + 1, full))
        else:
            runs[-1] = (first, k + 1, False)
    return runs
