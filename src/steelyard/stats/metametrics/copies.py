r"""Statistics of resampled systems and segments, by counts instead of copies.

A resample is a count per system (:math:`w_i`), per segment (:math:`u_s`), or both. What a statistic
sums over pairs or cells is then a product of matrices, for all resamples at once. Pairs of a system
(or segment) with its own copy are no comparison, so they are dropped.

- :class:`Products`: Pearson's r weighs each system by its count; PDP, and r within segments, sum
  products of differences over pairs, which the counts of pairs weigh.
- :class:`Ranks`: Spearman's rho is Pearson's r of mid-ranks among the copies: a centred rank is
  half of :math:`\sum_j w_j\, \mathrm{sign}(x_i - x_j)`.
- :class:`Pairs`: Kendall's family, pairwise accuracy included, adds up counts of pairs.
- :class:`TauC` divides by :math:`n^2 (m - 1) / m`, where :math:`m` is the number of levels that are
  present in the resample and :math:`n^2` twice the pairs that take part plus the pairs of a cell
  with itself and its copies: without dropped pairs, the square of the number of copies.

Scores stay as they are: an epsilon is not calibrated again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats import correlation
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.kendall.counting import KINDS, PairCounts
from steelyard.stats.kendall.rowcounts import count_rows
from steelyard.stats.kendall.weighted import Bools, Cells, Sums, TieWidths, firsts, parts, tally
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.bootstrap import exact_sums

#: Differences of means below this share of the largest mean are rounding, hence ties.
ROUNDING = 1e-12
_CONSTANT = 1e-12  # share of a sum of squares that is rounding
_CACHED = 100_000  # numbers in an intermediate array that is used at once

Rounding = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawn:
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
        return ratio(
            (np.where(np.isnan(values), 0.0, values) * weights).sum(axis=1), weights.sum(axis=1)
        )


@dataclass(frozen=True, slots=True)
class Copies(ABC):
    """What is computed in each resample.

    Pooled statistics add up groups before they are evaluated, others are means over groups.
    """

    pooled: bool = False

    by_pairs: ClassVar[bool] = False  # whether pairs of cells must be counted

    def rows(self, human: Floats, metric: Floats, systems: Floats | None = None) -> Floats:
        """Evaluate system scores in each resample.

        Parameters
        ----------
        human, metric
            Scores in each resample, resamples x systems; a single row serves all resamples.
        systems
            How often each system occurs, resamples x systems; None for once.

        Examples
        --------
        >>> human, metric = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]])
        >>> counts = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [3.0, 0.0, 0.0]])
        >>> Products().rows(human, metric, counts).round(6)
        array([0.5, 1. , nan])
        """
        weights = np.ones((1, human.shape[1])) if systems is None else systems
        n = max(len(human), len(metric), len(weights))
        human, metric = self._scaled(human), self._scaled(metric)
        rounding = (ROUNDING * _largest(human), ROUNDING * _largest(metric))
        found = np.full(n, np.nan)
        for part in parts(n, human.shape[1] ** 2):
            h, m, w = (x if len(x) == 1 else x[part] for x in (human, metric, weights))
            lost = np.isnan(h) | np.isnan(m)
            if lost.any():
                h, m = np.where(lost, np.nan, h), np.where(lost, np.nan, m)
                w = np.where(lost, 0.0, w)
            found[part] = self._rows(h, m, w, rounding)
        return found

    def items(
        self,
        human: Floats,
        metric: Floats,
        systems: Floats | None = None,
        segments: Floats | None = None,
    ) -> Floats:
        """Evaluate the systems on each segment; mean (or pool) over segments.

        Parameters
        ----------
        human, metric
            Systems x segments; cells that either lacks take no part.
        systems, segments
            How often each occurs, resamples x systems and resamples x segments; None for once. The
            mean is over the resampled segments on which the statistic is defined.

        Examples
        --------
        >>> human = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
        >>> metric = np.array([[1.0, 1.0], [3.0, 2.0], [2.0, 3.0]])
        >>> counts = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]])
        >>> Pairs(value=correlation.kendall_b).items(human, metric, counts).round(6)
        array([0.574915, 1.      ])
        """
        lost = np.isnan(human) | np.isnan(metric)
        used = (~lost).sum(axis=0) > 1  # no value elsewhere
        h, m = (self._scaled(np.where(lost, np.nan, x)[:, used]) for x in (human, metric))
        segments = None if segments is None else segments[:, used]
        n, n_segments = h.shape
        i, j = pair_index(n)
        rows = max(1 if x is None else len(x) for x in (systems, segments))
        once = np.ones((1, n))
        top, bottom = np.zeros(rows), np.zeros(rows)
        pooled: list[Floats] = []
        for columns in parts(n_segments, max(len(i), n * n)):
            a, b = h[:, columns], m[:, columns]
            terms = self._terms(a[i] - a[j], b[i] - b[j])
            for part in parts(rows, max(len(i), a.shape[1])):
                w = once if systems is None else systems[part]
                u = np.ones((1, 1)) if segments is None else segments[part, columns]
                pairs = (w[:, i] * w[:, j]).astype(terms[0].dtype) if terms else None
                sums = tuple(pairs @ term for term in terms)
                if self.pooled:
                    pooled = pooled or [np.zeros(rows) for _ in sums]
                    for whole, own in zip(pooled, sums, strict=True):
                        whole[part] += (own * u).sum(axis=1)
                    continue
                values = self._items(a, b, w, sums)
                known = ~np.isnan(values)
                top[part] += (np.where(known, values, 0.0) * u).sum(axis=1)
                bottom[part] += (known * u).sum(axis=1)
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
        """Evaluate all cells, or those of each system with their mean over systems.

        Parameters
        ----------
        human, metric
            Systems x segments; cells that either lacks take no part.
        by_system
            Evaluate the cells of each system, then take the mean over systems (or pool them).
        segments, systems
            How often each occurs, resamples x segments and resamples x systems; None for once.
            Pairs of cells of all systems can be counted for one of the two only.

        Examples
        --------
        >>> human, metric = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]])
        >>> counts = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]])
        >>> tau = Pairs(value=correlation.kendall_b)
        >>> tau.cells(human, metric, by_system=False, segments=counts).round(6)
        array([0.333333, 1.      ])
        """
        known = ~(np.isnan(human) | np.isnan(metric))
        used = known.any(axis=0)
        u = None if segments is None else segments[:, used]
        return self._cells(
            Drawn(human[:, used], metric[:, used], known[:, used], by_system, u, systems)
        )

    def _scaled(self, x: Floats) -> Floats:
        return x

    @abstractmethod
    def _rows(self, h: Floats, m: Floats, w: Floats, rounding: Rounding) -> Floats: ...

    @abstractmethod
    def _cells(self, drawn: Drawn) -> Floats: ...

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


@dataclass(frozen=True, slots=True)
class Products(Copies):
    """Pearson's r; PDP if pooled."""

    def _scaled(self, x: Floats) -> Floats:
        """Divide by the largest value, so that squares neither under- nor overflow."""
        size = _largest(x)
        return x / size if size > 0 else x

    def _rows(self, h: Floats, m: Floats, w: Floats, rounding: Rounding) -> Floats:
        present = w > 0
        total = np.maximum(w.sum(axis=1), 1)
        centred = []
        for x, size in zip((h, m), rounding, strict=True):
            if present.all():
                known, spread = x, np.ptp(x, axis=1)
            else:
                known = np.where(present, x, 0.0)
                low = np.where(present, x, np.inf).min(axis=1, initial=np.inf)
                high = np.where(present, x, -np.inf).max(axis=1, initial=-np.inf)
                spread = high - low
            mean = _sum(w, known) / total
            centred.append((known - mean[:, None]) * (spread > size)[:, None])
        a, b = centred
        return _correlate(_sum(w, a * b), _sum(w, a * a), _sum(w, b * b))

    def _terms(self, h: Floats, m: Floats) -> Sums:
        """Products of differences; missing ones, NaN in both, count 0."""
        known = ~np.isnan(h)
        h, m = np.where(known, h, 0.0), np.where(known, m, 0.0)
        return h * m, h * h, m * m

    def _of_sums(self, sums: Sums) -> Floats:
        return _correlate(*sums)

    def _cells(self, drawn: Drawn) -> Floats:
        known, u, by_system = drawn.known, drawn.segments, drawn.by_system
        h, m = (_standardised(x, known, by_system=by_system) for x in (drawn.human, drawn.metric))
        terms = (known.astype(np.float64), h, m, h * m, h * h, m * m)
        sums = [x.sum(axis=1)[None, :] if u is None else exact_sums(u, x) for x in terms]
        weights = np.ones((1, 1)) if drawn.systems is None else drawn.systems
        if not by_system:
            sums = [(x * weights).sum(axis=1) for x in sums]
        n, sum_h, sum_m, dot, square_h, square_m = sums
        spread = [n * square_h - sum_h * sum_h, n * square_m - sum_m * sum_m]
        for own, square in zip(spread, (square_h, square_m), strict=True):
            own[own <= _CONSTANT * n * square] = 0.0  # constant, but for rounding
        shared = np.where((spread[0] > 0) & (spread[1] > 0), n * dot - sum_h * sum_m, 0.0)
        if not by_system:
            return _correlate(shared, *spread)
        if not self.pooled:
            return drawn.mean(_correlate(shared, *spread))
        return _correlate(*((x * weights).sum(axis=1) for x in (shared, *spread)))


@dataclass(frozen=True, slots=True)
class Ranks(Copies):
    """Spearman's rho."""

    def _rows(self, h: Floats, m: Floats, w: Floats, rounding: Rounding) -> Floats:
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

    def _cells(self, drawn: Drawn) -> Floats:
        row, column = np.nonzero(drawn.known)
        if not drawn.by_system:
            return _rho(drawn, np.arange(len(row)), row, column)
        groups = [np.flatnonzero(row == i) for i in range(len(drawn.known))]
        return drawn.mean(np.stack([_rho(drawn, own, row, column) for own in groups], axis=1))


def _rho(drawn: Drawn, cells: Counts, row: Counts, column: Counts) -> Floats:
    """Spearman's rho in each resample: ranks are running sums of weights in an order found once."""
    counts = [x for x in (drawn.segments, drawn.systems) if x is not None]
    n = len(counts[0]) if counts else 1
    if not len(cells):
        return np.full(n, np.nan)

    def weigh(part: slice, own: Counts) -> Floats:
        weights = np.ones((1, len(own)))
        if drawn.segments is not None:
            weights = np.take(drawn.segments[part], column[own], axis=1)
        if drawn.systems is not None and not drawn.by_system:
            weights = weights * np.take(drawn.systems[part], row[own], axis=1)
        return weights

    human, metric = drawn.human[drawn.known][cells], drawn.metric[drawn.known][cells]
    order_h, order_m = (np.argsort(x, kind="stable") for x in (human, metric))
    first_h, first_m = (firsts(x[o]) for x, o in ((human, order_h), (metric, order_m)))
    level_h = np.empty(len(cells), dtype=np.int64)
    level_h[order_h] = np.cumsum(first_h) - 1
    level_h, level_m = level_h[order_m], np.cumsum(first_m) - 1
    found = np.empty(n)
    for part in parts(n, len(cells), _CACHED):
        present_h, ranks_h = _centred_ranks(weigh(part, cells[order_h]), first_h)
        weights = weigh(part, cells[order_m])
        present_m, ranks_m = _centred_ranks(weights, first_m)
        of_cells = (np.take(ranks_h, level_h, axis=1), np.take(ranks_m, level_m, axis=1))
        dot = np.einsum("bc,bc,bc->b", weights, *of_cells)
        squares = (
            np.einsum("bl,bl,bl->b", present, ranks, ranks)
            for present, ranks in ((present_h, ranks_h), (present_m, ranks_m))
        )
        found[part] = _correlate(dot, *squares)
    return found


def _centred_ranks(weights: Floats, first: Bools) -> tuple[Floats, Floats]:
    """Copies of each level of ordered cells, and their mid-ranks minus the mean rank."""
    last = np.take(np.cumsum(weights, axis=1), np.flatnonzero(np.r_[first[1:], True]), axis=1)
    present = np.diff(last, axis=1, prepend=0.0)
    return present, last - present / 2 - last[:, -1:] / 2


@dataclass(frozen=True, slots=True)
class Pairs(Copies):
    """A value of counts of pairs, with the widths of ties they are counted by."""

    value: Callable[[PairCounts], Floats] = correlation.kendall_b
    ties: TieWidths = field(default_factory=TieWidths)

    by_pairs: ClassVar[bool] = True

    def _rows(self, h: Floats, m: Floats, w: Floats, rounding: Rounding) -> Floats:
        return self.value(self._counted(h, m, w, rounding))

    def _counted(self, h: Floats, m: Floats, w: Floats, rounding: Rounding) -> PairCounts:
        if len(h) == len(w) == 1 and (w == 1).all():
            return count_rows(h[0], m, self.ties, rounding)
        i, j = pair_index(w.shape[1])
        terms = self.ties.terms(h[:, i] - h[:, j], m[:, i] - m[:, j], rounding)
        pairs = w[:, i] * w[:, j]
        return tally(*(_sum(pairs, term) for term in terms))

    def _terms(self, h: Floats, m: Floats) -> Sums:
        return self.ties.terms(h, m)

    def _of_sums(self, sums: Sums) -> Floats:
        return self.value(tally(*sums))

    def _cells(self, drawn: Drawn) -> Floats:
        cells = Cells.of(drawn.human, drawn.metric, drawn.known, self.ties)
        u, w = drawn.segments, drawn.systems
        every = list(range(len(drawn.known)))
        if not drawn.by_system:
            if u is not None and w is not None:
                what = "pairs of cells are counted for resampled segments or systems, not both"
                raise UsageError(what)
            return self._over_segments(cells, every, u) if w is None else self._over(cells, w)
        if not self.pooled:
            values = [self._over_segments(cells, [i], u) for i in every]
            return drawn.mean(np.stack(values, axis=1))
        found = [cells.count_over_segments([i], u) for i in every]
        weights = np.ones((1, len(every))) if w is None else w
        stacked = (np.stack([getattr(counts, kind) for counts in found], axis=1) for kind in KINDS)
        pooled = ((x * weights).sum(axis=1).astype(np.int64) for x in stacked)
        return self.value(PairCounts(*pooled))

    def _over_segments(self, cells: Cells, systems: list[int], segments: Floats | None) -> Floats:
        """Evaluate the cells of these systems in resamples of segments."""
        return self.value(cells.count_over_segments(systems, segments))

    def _over(self, cells: Cells, systems: Floats) -> Floats:
        """Evaluate all cells in resamples of systems."""
        return self.value(cells.count_over_systems(systems))


@dataclass(frozen=True, slots=True)
class TauC(Pairs):
    """Kendall's tau-c: levels are those that are present in a resample."""

    def _rows(self, h: Floats, m: Floats, w: Floats, rounding: Rounding) -> Floats:
        present = (w > 0).astype(np.float64)
        levels = (_levels_of_rows(x, r, present) for x, r in zip((h, m), rounding, strict=True))
        counts = self._counted(h, m, w, rounding)
        return _tau_c(counts, (w * w).sum(axis=1), np.minimum(*levels))

    def _items(self, a: Floats, b: Floats, w: Floats, sums: Sums) -> Floats:
        known = (~np.isnan(a)).astype(np.float64)
        levels = np.minimum(_levels_of_items(a, w), _levels_of_items(b, w))
        return _tau_c(tally(*sums), (w * w) @ known, levels)

    def _over_segments(self, cells: Cells, systems: list[int], segments: Floats | None) -> Floats:
        known = cells.known[systems]
        u = np.ones((1, known.shape[1])) if segments is None else segments
        counts = cells.count_over_segments(systems, segments)
        return _tau_c(counts, (u * u) @ known.T.sum(axis=1), cells.levels(u, systems))

    def _over(self, cells: Cells, systems: Floats) -> Floats:
        counts = cells.count_over_systems(systems)
        return _tau_c(counts, (systems * systems) @ cells.known.sum(axis=1), cells.levels(systems))


def _tau_c(counts: PairCounts, own: Floats, levels: Counts) -> Floats:
    """Kendall's tau-c in resamples; ``own`` are the pairs of a cell with itself and its copies."""
    return correlation.kendall_c(counts, np.sqrt(2 * counts.total + own), levels)


def _levels_of_rows(x: Floats, size: float, present: Floats) -> Counts:
    """Count the distinct values of the systems that are present in each row."""
    same = np.abs(x[:, :, None] - x[:, None, :]) <= size
    share = ratio(present, (same @ present[:, :, None])[:, :, 0])
    found: Counts = np.rint(np.where(present > 0, share, 0.0).sum(axis=1)).astype(np.int64)
    return found


def _levels_of_items(x: Floats, w: Floats) -> Counts:
    """Count distinct values of the systems that are present: resamples x segments."""
    present = (w > 0).astype(np.float32)
    levels = np.zeros((len(w), x.shape[1]), dtype=np.int64)
    for i in range(len(x)):
        same = (x[i] == x[:i]).astype(np.float32)  # never true for missing cells
        levels += (present[:, [i]] > present[:, :i] @ same) & ~np.isnan(x[i])
    return levels


def _correlate(dot: Floats, human: Floats, metric: Floats) -> Floats:
    """Give r from sums of products and squares; NaN where a sum of squares is 0."""
    return np.clip(ratio(dot, np.sqrt(human) * np.sqrt(metric)), -1, 1)


def _largest(x: Floats) -> float:
    """Give the largest absolute value, 0 if there is none."""
    return float(np.abs(x[~np.isnan(x)]).max(initial=0.0))


def _sum(weights: Floats, terms: np.ndarray) -> Floats:
    """Weighted sum over the last axis, for each resample; either may be a single row."""
    if len(weights) == 1:
        found: Floats = terms @ weights[0]
    else:
        found = np.einsum("bi,bi->b", *np.broadcast_arrays(weights, terms))
    return found


def _standardised(x: Floats, known: Bools, *, by_system: bool) -> Floats:
    """Shift by the median, which outliers don't move, and scale; missing cells become 0.

    Sums of squares then lose no digits, whichever cells a resample has.
    """
    blank = np.where(known, x, np.nan)
    groups = blank if by_system else blank.reshape(1, -1)
    has = ~np.isnan(groups).all(axis=1)
    centre = np.zeros((len(groups), 1))
    centre[has, 0] = np.nanmedian(groups[has], axis=1)
    shifted = np.where(known, x - centre, 0.0)
    largest = np.abs(shifted).max(initial=0.0)
    return shifted / largest if largest > 0 else shifted
