r"""Statistics of resampled systems and segments, by weights instead of copies.

A resample is a count per system (:math:`w_i`), per segment (:math:`u_s`), or both. What a statistic
sums over pairs or cells is then a product of matrices, for all resamples at once. Pairs of a system
with its own copy are no comparison, so they are dropped.

- :class:`WeightedPearson`: r weighs each system by its count; PDP, and r within segments, sum
  products of differences over pairs, which the counts of pairs weigh.
- :class:`WeightedSpearman`: rho is Pearson's r of mid-ranks among the copies: a centred rank is
  half of :math:`\sum_j w_j\, \mathrm{sign}(x_i - x_j)`.
- :class:`WeightedPairs`: Kendall's family, pairwise accuracy included, adds up counts of pairs.
- :class:`WeightedTauC` divides by :math:`n^2 (m - 1) / m`, with m levels in the resample and
  :math:`n^2` twice the pairs that count plus those of a cell with itself and its copies.

Scores stay as they are: an epsilon is not calibrated again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.stats import correlation
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.kendall.counting import PairCounts, count_pairs
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.bootstrap import exact_sums

#: Differences of means below this share of the largest mean are rounding, hence ties.
ROUNDING = 1e-12
_CONSTANT = 1e-12  # share of a sum of squares that is rounding
_NUMBERS = 2_000_000  # in an intermediate array
_CACHED = 100_000  # ... that is used at once

Bools = NDArray[np.bool_]
Sums = tuple[np.ndarray, ...]


def _parts(n: int, width: int, limit: int = _NUMBERS) -> Iterator[slice]:
    """Cut ``n`` rows into slices of about ``limit`` numbers, given the numbers in a row."""
    step = max(1, limit // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


class Cells(NamedTuple):
    """Systems x segments with the cells that both scores have, and how often each unit occurs."""

    human: Floats
    metric: Floats
    known: Bools
    by_system: bool
    segments: Floats | None
    systems: Floats | None

    def mean(self, values: Floats) -> Floats:
        """Mean over the systems in which it is defined, each as often as it occurs."""
        weights = (~np.isnan(values)) * (1.0 if self.systems is None else self.systems)
        return ratio((np.nan_to_num(values) * weights).sum(axis=1), weights.sum(axis=1))


@dataclass(frozen=True, slots=True)
class Weighted(ABC):
    """What is computed in each resample.

    Pooled statistics add up groups before they are evaluated, others are means over groups.
    """

    pooled: bool = False

    has_cells: ClassVar[bool] = True  # whether cells can be weighed beyond segments

    def rows(self, human: Floats, metric: Floats, systems: Floats | None = None) -> Floats:
        """Evaluate system scores in each resample.

        ``human`` and ``metric`` are resamples x systems, a single row serves all resamples;
        ``systems`` says how often each system occurs, resamples x systems, None for once.
        """
        weights = np.ones((1, human.shape[1])) if systems is None else systems
        n = max(len(human), len(metric), len(weights))
        human, metric = self._scaled(human), self._scaled(metric)
        rounding = (ROUNDING * _largest(human), ROUNDING * _largest(metric))
        values = np.full(n, np.nan)
        for part in _parts(n, human.shape[1] ** 2):
            h, m, w = (x if len(x) == 1 else x[part] for x in (human, metric, weights))
            lost = np.isnan(h) | np.isnan(m)
            if lost.any():
                h, m = np.where(lost, np.nan, h), np.where(lost, np.nan, m)
                w = np.where(lost, 0.0, w)
            values[part] = self._rows(h, m, w, rounding, once=systems is None)
        return values

    def items(
        self,
        human: Floats,
        metric: Floats,
        systems: Floats | None = None,
        segments: Floats | None = None,
    ) -> Floats:
        """Evaluate the systems on each segment; mean (or pool) over segments where it is defined.

        ``human`` and ``metric`` are systems x segments; ``systems`` and ``segments`` say how often
        each occurs, resamples x systems and resamples x segments, None for once.
        """
        lost = np.isnan(human) | np.isnan(metric)
        used = (~lost).sum(axis=0) > 1  # no value elsewhere
        h, m = (self._scaled(np.where(lost, np.nan, x)[:, used]) for x in (human, metric))
        segments = None if segments is None else segments[:, used]
        n, n_segments = h.shape
        i, j = pair_index(n)
        rows = _n_resamples(systems, segments)
        top, bottom = np.zeros(rows), np.zeros(rows)
        pooled: list[Floats] = []
        for columns in _parts(n_segments, max(len(i), n * n)):
            a, b = h[:, columns], m[:, columns]
            terms = self._terms(a[i] - a[j], b[i] - b[j])
            for part in _parts(rows, max(len(i), a.shape[1])):
                w = np.ones((1, n)) if systems is None else systems[part]
                u = np.ones((1, 1)) if segments is None else segments[part, columns]
                pairs = (w[:, i] * w[:, j]).astype(terms[0].dtype) if terms else None
                sums = tuple(pairs @ term for term in terms)
                if self.pooled:
                    pooled = pooled or [np.zeros(rows) for _ in sums]
                    for total, term_sums in zip(pooled, sums, strict=True):
                        total[part] += (term_sums * u).sum(axis=1)
                    continue
                values = self._items(a, b, w, sums)
                top[part] += (np.nan_to_num(values) * u).sum(axis=1)
                bottom[part] += (~np.isnan(values) * u).sum(axis=1)
        if self.pooled:
            return self._of_sums(tuple(pooled)) if pooled else np.full(rows, np.nan)
        return ratio(top, bottom)

    def cells(
        self,
        human: Floats,
        metric: Floats,
        *,
        by_system: bool,
        segments: Floats | None = None,
        systems: Floats | None = None,
    ) -> Floats:
        """Evaluate all cells, or those of each system with their mean (or pool) over systems."""
        known = ~(np.isnan(human) | np.isnan(metric))
        used = known.any(axis=0)
        u = None if segments is None else segments[:, used]
        parts = (human[:, used], metric[:, used], known[:, used])
        return self._cells(Cells(*parts, by_system, u, systems))

    def _scaled(self, x: Floats) -> Floats:
        return x

    @abstractmethod
    def _rows(
        self, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float], *, once: bool
    ) -> Floats: ...

    def _cells(self, cells: Cells) -> Floats:
        raise NotImplementedError

    def _terms(self, h: Floats, m: Floats) -> Sums:
        """What is summed over pairs, given their differences; nothing by default."""
        del h, m
        return ()

    def _items(self, a: Floats, b: Floats, w: Floats, sums: Sums) -> Floats:
        """Values of each resample (row) on each segment (column)."""
        del a, b, w
        return self._of_sums(sums)

    def _of_sums(self, sums: Sums) -> Floats:
        raise NotImplementedError


def _n_resamples(*counts: Floats | None) -> int:
    return max(1 if x is None else len(x) for x in counts)


@dataclass(frozen=True, slots=True)
class WeightedPearson(Weighted):
    """Pearson's r; PDP if pooled."""

    def _scaled(self, x: Floats) -> Floats:
        """Divide by the largest value, so that squares neither under- nor overflow."""
        size = _largest(x)
        return x / size if size > 0 else x

    def _rows(
        self, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float], *, once: bool
    ) -> Floats:
        del once
        present = w > 0
        total = np.maximum(w.sum(axis=1), 1)
        centred = []
        for x, size in zip((h, m), rounding, strict=True):
            filled = np.where(present, x, 0.0)
            low = np.where(present, x, np.inf).min(axis=1, initial=np.inf)
            high = np.where(present, x, -np.inf).max(axis=1, initial=-np.inf)
            mean = _sum(w, filled) / total
            centred.append((filled - mean[:, None]) * (high - low > size)[:, None])
        a, b = centred
        return _correlate(_sum(w, a * b), _sum(w, a * a), _sum(w, b * b))

    def _terms(self, h: Floats, m: Floats) -> Sums:
        """Products of differences; missing ones, NaN in both, count 0."""
        h, m = np.nan_to_num(h), np.nan_to_num(m)
        return h * m, h * h, m * m

    def _of_sums(self, sums: Sums) -> Floats:
        return _correlate(*sums)

    def _cells(self, cells: Cells) -> Floats:
        known, u, by_system = cells.known, cells.segments, cells.by_system
        h, m = (_standardised(x, known, by_system=by_system) for x in (cells.human, cells.metric))
        terms = (known.astype(np.float64), h, m, h * m, h * h, m * m)
        sums = [x.sum(axis=1)[None, :] if u is None else exact_sums(u, x) for x in terms]
        weights = np.ones((1, 1)) if cells.systems is None else cells.systems
        if not by_system:
            sums = [(x * weights).sum(axis=1) for x in sums]
        n, sum_h, sum_m, dot, square_h, square_m = sums
        spread = [n * square_h - sum_h * sum_h, n * square_m - sum_m * sum_m]
        for variance, square in zip(spread, (square_h, square_m), strict=True):
            variance[variance <= _CONSTANT * n * square] = 0.0  # constant, but for rounding
        shared = np.where((spread[0] > 0) & (spread[1] > 0), n * dot - sum_h * sum_m, 0.0)
        if not by_system:
            return _correlate(shared, *spread)
        if not self.pooled:
            return cells.mean(_correlate(shared, *spread))
        return _correlate(*((x * weights).sum(axis=1) for x in (shared, *spread)))


@dataclass(frozen=True, slots=True)
class WeightedSpearman(Weighted):
    """Spearman's rho."""

    def _rows(
        self, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float], *, once: bool
    ) -> Floats:
        del once
        ranks = []
        for x, size in zip((h, m), rounding, strict=True):
            gap = x[:, :, None] - x[:, None, :]
            above = (gap > size).astype(np.float64) - (gap < -size)
            ranks.append(np.matmul(above, w[:, :, None])[:, :, 0])
        a, b = ranks
        return _correlate(_sum(w, a * b), _sum(w, a * a), _sum(w, b * b))

    def _items(self, a: Floats, b: Floats, w: Floats, sums: Sums) -> Floats:
        del sums
        # Whole numbers of at most n^3: exact in single precision where n is small.
        kind = np.float32 if len(a) <= 200 else np.float64
        narrow = w.astype(kind)
        totals = [np.zeros((len(w), a.shape[1]), dtype=kind) for _ in range(3)]
        for i in range(len(a)):
            # Signs of differences are 0 where a cell is missing.
            x, y = (narrow @ np.nan_to_num(np.sign(c[i] - c)).astype(kind) for c in (a, b))
            for k, product in enumerate((x * y, x * x, y * y)):
                totals[k] += narrow[:, [i]] * product
        return _correlate(*(x.astype(np.float64) for x in totals))

    def _cells(self, cells: Cells) -> Floats:
        row, column = np.nonzero(cells.known)
        if not cells.by_system:
            return _rho(cells, np.arange(len(row)), row, column)
        groups = [np.flatnonzero(row == i) for i in range(len(cells.known))]
        return cells.mean(np.stack([_rho(cells, group, row, column) for group in groups], axis=1))


def _rho(cells: Cells, chosen: Counts, row: Counts, column: Counts) -> Floats:
    """Spearman's rho of some cells in each resample."""
    n = _n_resamples(cells.segments, cells.systems)
    if not len(chosen):
        return np.full(n, np.nan)
    scores = (cells.human[cells.known], cells.metric[cells.known])
    levels = [np.unique(x[chosen], return_inverse=True)[1] for x in scores]
    orders = [np.argsort(level, kind="stable") for level in levels]
    values = np.empty(n)
    for part in _parts(n, len(chosen), _CACHED):
        w = np.ones((1, len(chosen)))
        if cells.segments is not None:
            w = np.take(cells.segments[part], column[chosen], axis=1)
        if cells.systems is not None and not cells.by_system:
            w = w * np.take(cells.systems[part], row[chosen], axis=1)
        h, m = (_centred_ranks(w, *side) for side in zip(levels, orders, strict=True))
        sums = (np.einsum("bc,bc,bc->b", w, *pair) for pair in ((h, m), (h, h), (m, m)))
        values[part] = _correlate(*sums)
    return values


def _centred_ranks(weights: Floats, level: Counts, order: Counts) -> Floats:
    """Mid-ranks of cells among all copies, minus the mean rank: resamples x cells."""
    ends = np.cumsum(np.bincount(level))
    last = np.take(np.cumsum(np.take(weights, order, axis=1), axis=1), ends - 1, axis=1)
    first = np.hstack([np.zeros((len(last), 1)), last[:, :-1]])
    return np.take((first + last - last[:, -1:]) / 2, level, axis=1)


@dataclass(frozen=True, slots=True)
class WeightedPairs(Weighted):
    """A value of counts of pairs.

    Metric differences of at most ``epsilon`` are ties, and human ones below ``threshold``.
    """

    value: Callable[[PairCounts], Floats] = correlation.kendall_b
    epsilon: float = 0.0
    threshold: float = 0.0

    has_cells: ClassVar[bool] = False

    def _rows(
        self, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float], *, once: bool
    ) -> Floats:
        return self.value(self._counted(h, m, w, rounding, once=once))

    def _counted(
        self, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float], *, once: bool
    ) -> PairCounts:
        # Differences of at most `rounding` are ties, that is below the next float.
        threshold = max(self.threshold, float(np.nextafter(rounding[0], np.inf)))
        epsilon = max(self.epsilon, rounding[1])
        if once:
            return count_pairs(h.T, m.T, epsilon=epsilon, threshold=threshold)
        i, j = pair_index(w.shape[1])
        terms = _pair_terms(h[:, i] - h[:, j], m[:, i] - m[:, j], epsilon, threshold)
        pairs = w[:, i] * w[:, j]
        return _tally(*(_sum(pairs, term) for term in terms))

    def _terms(self, h: Floats, m: Floats) -> Sums:
        return _pair_terms(h, m, self.epsilon, self.threshold)

    def _of_sums(self, sums: Sums) -> Floats:
        return self.value(_tally(*sums))


def _pair_terms(h: Floats, m: Floats, epsilon: float, threshold: float) -> Sums:
    """What :func:`_tally` takes, of each pair; missing ones, NaN in both, count 0."""
    clear_h, clear_m = (np.abs(h) >= threshold) & (h != 0), np.abs(m) > epsilon
    both = clear_h & clear_m
    net = 2 * (both & ((h > 0) == (m > 0))).astype(np.float32) - both
    return (*(x.astype(np.float32) for x in (~np.isnan(h), clear_h, clear_m, both)), net)


def _tally(
    total: Floats, clear_human: Floats, clear_metric: Floats, clear: Floats, net: Floats
) -> PairCounts:
    """Count pairs from sums: all, not tied by one side or by both, agreement minus rest."""
    sums = (
        (clear + net) / 2,
        (clear - net) / 2,
        clear_metric - clear,
        clear_human - clear,
        total - clear_human - clear_metric + clear,
    )
    return PairCounts(*(x.astype(np.int64) for x in sums))


@dataclass(frozen=True, slots=True)
class WeightedTauC(WeightedPairs):
    """Kendall's tau-c: levels are those that are present in a resample."""

    def _rows(
        self, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float], *, once: bool
    ) -> Floats:
        present = (w > 0).astype(np.float64)
        levels = []
        for x, size in zip((h, m), rounding, strict=True):
            same = np.abs(x[:, :, None] - x[:, None, :]) <= size
            share = ratio(present, (same @ present[:, :, None])[:, :, 0])
            levels.append(np.rint(np.where(present > 0, share, 0.0).sum(axis=1)).astype(np.int64))
        counts = self._counted(h, m, w, rounding, once=once)
        return _tau_c(counts, (w * w).sum(axis=1), np.minimum(*levels))

    def _items(self, a: Floats, b: Floats, w: Floats, sums: Sums) -> Floats:
        known = (~np.isnan(a)).astype(np.float64)
        levels = np.minimum(_item_levels(a, w), _item_levels(b, w))
        return _tau_c(_tally(*sums), (w * w) @ known, levels)


def _tau_c(counts: PairCounts, self_pairs: Floats, levels: Counts) -> Floats:
    """Kendall's tau-c; ``self_pairs`` are those of a cell with itself and its copies."""
    return correlation.kendall_c(counts, np.sqrt(2 * counts.total + self_pairs), levels)


def _item_levels(x: Floats, w: Floats) -> Counts:
    """Count distinct values of the systems that are present: resamples x segments."""
    present = (w > 0).astype(np.float32)
    levels = np.zeros((len(w), x.shape[1]), dtype=np.int64)
    for i in range(len(x)):
        same = (x[i] == x[:i]).astype(np.float32)  # never true for missing cells
        levels += (present[:, [i]] > present[:, :i] @ same) & ~np.isnan(x[i])
    return levels


def _correlate(dot: Floats, human: Floats, metric: Floats) -> Floats:
    """Return r from sums of products and squares; NaN where a sum of squares is 0."""
    return np.clip(ratio(dot, np.sqrt(human) * np.sqrt(metric)), -1, 1)


def _largest(x: Floats) -> float:
    """Return the largest absolute value, 0 if there is none."""
    return float(np.fmax.reduce(np.abs(x), axis=None, initial=0.0))


def _sum(weights: Floats, terms: np.ndarray) -> Floats:
    """Weighted sum over the last axis, for each resample; either may be a single row."""
    sums: Floats
    if len(weights) == 1:
        sums = terms @ weights[0]
    else:
        sums = np.einsum("bi,bi->b", *np.broadcast_arrays(weights, terms))
    return sums


def _standardised(x: Floats, known: Bools, *, by_system: bool) -> Floats:
    """Shift by the median, which outliers do not move, and scale; missing cells become 0."""
    blank = np.where(known, x, np.nan)
    groups = blank if by_system else blank.reshape(1, -1)
    has = ~np.isnan(groups).all(axis=1)
    centre = np.zeros((len(groups), 1))
    centre[has, 0] = np.nanmedian(groups[has], axis=1)
    shifted = np.where(known, x - centre, 0.0)
    largest = np.abs(shifted).max(initial=0.0)
    return shifted / largest if largest > 0 else shifted
