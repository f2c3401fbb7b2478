r"""Pairs in resamples: counted once, and weighed by how often their units were drawn.

A pair of systems occurs :math:`w_i w_j` times; a system and its own copy are no comparison, so such
pairs are dropped. Pairs of cells are weighed by the units that are resampled: with :math:`C_{st}`
pairs between two segments and :math:`C_{ss}` within one, a resample has
:math:`\sum_{s<t} u_s u_t C_{st} + \sum_s u_s C_{ss}` of them, so that pairs between copies of one
segment are dropped; the same holds where systems are resampled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.kendall.counting import PairCounts

#: Pairs between more segments, or more pairs of cells, take longer than anybody waits.
MAX_SEGMENTS = 3000
MAX_PAIRS = 2e9

_NUMBERS = 2_000_000  # in an intermediate array
_ROWS = 64  # segments in a block of pairs: it should stay in the cache

Bools = NDArray[np.bool_]
Terms = tuple[NDArray[np.int8], ...]
Sums = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class TieWidths:
    """Differences that tie: of at most ``epsilon`` for a metric, below ``threshold`` for people."""

    epsilon: float = 0.0
    threshold: float = 0.0

    def terms(self, h: Floats, m: Floats, rounding: tuple[float, float] = (0.0, 0.0)) -> Sums:
        """What :func:`tally` takes, of each pair; missing ones, NaN in both, count 0.

        Differences of at most ``rounding`` are ties as well.
        """
        clear_h = self.clear_human(h, rounding[0])
        clear_m = np.abs(m) > max(self.epsilon, rounding[1])
        both = clear_h & clear_m
        agree = both & ((h > 0) == (m > 0))
        net = 2 * agree.astype(np.float32) - both
        return (*(x.astype(np.float32) for x in (~np.isnan(h), clear_h, clear_m, both)), net)

    def clear_human(self, gap: Floats, rounding: float) -> Bools:
        """Tell which differences of people's scores are no ties."""
        size = np.abs(gap)
        strict = self.threshold > rounding
        clear: Bools = size >= self.threshold if strict else size > rounding
        return clear


def parts(n: int, width: int, limit: int | None = None) -> Iterator[slice]:
    """Cut ``n`` rows into slices of about ``limit`` numbers, given the numbers in a row.

    Examples
    --------
    >>> [(part.start, part.stop) for part in parts(5, 4, limit=8)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, (_NUMBERS if limit is None else limit) // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def tally(total: Floats, clear_human: Floats, clear_metric: Floats, clear_both: Floats,
          net: Floats) -> PairCounts:  # fmt: skip
    """Give counts of pairs from sums: all, not tied by one side or by both, agreement minus rest.

    Examples
    --------
    >>> one = lambda n: np.array([n])
    >>> counts = tally(one(10), one(8), one(9), one(7), one(3))
    >>> counts.concordant.item(), counts.discordant.item(), counts.both_ties.item()
    (5, 2, 0)
    """
    sums = (
        (clear_both + net) / 2,
        (clear_both - net) / 2,
        clear_metric - clear_both,
        clear_human - clear_both,
        total - clear_human - clear_metric + clear_both,
    )
    return PairCounts(*(x.astype(np.int64) for x in sums))


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs of differences from places in the order of values, which compare fast.

    A cell is clearly above another if the other's place comes before its ``low``, and clearly below
    if it comes after its ``high``; both are its own place where nothing but equal values tie.
    """

    code: np.ndarray
    low: np.ndarray
    high: np.ndarray
    known: NDArray[np.int8]
    complete: bool

    @classmethod
    def of(cls, x: Floats, known: Bools, width: float, *, strict: bool) -> Signs:
        """Tie differences of at most ``width`` (below it, if ``strict``), and equal values."""
        levels, places = np.unique(x[known], return_inverse=True)
        kind = np.int16 if len(levels) < 2**15 else np.int32
        reach = _lowest_tied(levels, width, strict=strict)
        top = np.searchsorted(reach, np.arange(len(levels)), side="right") - 1
        code, low = np.zeros(x.shape, dtype=kind), np.zeros(x.shape, dtype=kind)
        high = np.full(x.shape, len(levels), dtype=kind)
        code[known], low[known], high[known] = places, reach[places], top[places]
        return cls(code, low, high, known.astype(np.int8), bool(known.all()))

    def ties(self, rows: list[int]) -> bool:
        """Whether any two known cells of these rows tie."""
        known = self.known[rows] > 0
        code = np.sort(self.code[rows][known])
        low, high = self.low[rows][known], self.high[rows][known]
        return bool((code[1:] == code[:-1]).any() or (low < high).any())

    def block(self, i: int, rows: slice, j: int, columns: slice) -> NDArray[np.int8]:
        """Signs of cells of row i minus cells of row j; 0 if tied or missing."""
        code = self.code[j, columns]
        above = code < self.low[i, rows, None]
        below = code > self.high[i, rows, None]
        sign = above.view(np.int8) - below.view(np.int8)
        return sign if self.complete else sign * self.known[j, columns]


def _lowest_tied(levels: Floats, width: float, *, strict: bool) -> Counts:
    """Place of the lowest level that ties with each, by the very subtraction that pairs do."""

    def tied(gap: Floats) -> Bools:
        return (gap < width) | (gap == 0) if strict else gap <= width

    place = np.arange(len(levels))
    if not width > 0:
        return place
    low = np.minimum(np.searchsorted(levels, levels - width), place)
    while True:  # rounding puts an edge off by a place or two
        more = (low > 0) & tied(levels - levels[np.maximum(low - 1, 0)])
        less = ~tied(levels - levels[low])
        if not (more | less).any():
            return low
        low = low - more + less


@dataclass(frozen=True, slots=True)
class Cells:
    """Two scores of systems x segments, whose pairs of cells are counted in resamples."""

    human: Signs
    metric: Signs
    known: Bools

    @classmethod
    def of(cls, human: Floats, metric: Floats, known: Bools, ties: TieWidths) -> Cells:
        """Take the scores with their ties."""
        return cls(
            Signs.of(human, known, ties.threshold, strict=True),
            Signs.of(metric, known, ties.epsilon, strict=False),
            known,
        )

    def _kinds(self, rows: list[int]) -> list[int]:
        """Which of :meth:`_terms` differ from all pairs: those of untied scores need no work."""
        human, metric = self.human.ties(rows), self.metric.ties(rows)
        return [kind for kind, use in enumerate((human, metric, human and metric, True)) if use]

    def _terms(self, i: int, rows: slice, j: int, columns: slice) -> Terms:
        """Pairs of cells: not tied by people, by the metric, by both, and agreement minus rest."""
        h, m = self.human.block(i, rows, j, columns), self.metric.block(i, rows, j, columns)
        clear_h, clear_m = h != 0, m != 0
        both = clear_h & clear_m
        return clear_h.view(np.int8), clear_m.view(np.int8), both.view(np.int8), h * m

    def count_over_segments(self, systems: list[int], segments: Floats | None) -> PairCounts:
        """Count pairs of cells of these systems in resamples of segments (None: each once)."""
        n_segments = self.known.shape[1]
        u = np.ones((1, n_segments)) if segments is None else segments
        kinds = self._kinds(systems)
        # Halves of whole numbers below 2^24 are exact in single precision.
        exact = n_segments * len(systems) ** 2 < 2**23
        narrow = u.astype(np.float32 if exact else np.float64)
        sums = {kind: np.zeros(len(u)) for kind in kinds}
        for rows in parts(n_segments, 1, _ROWS):
            columns = slice(rows.start, n_segments)
            blocks = self._between(systems, rows, columns, kinds).astype(narrow.dtype)
            size = blocks.shape[1]
            blocks[:, :, :size] /= 2  # here are both orders of two segments, or of two cells of one
            place = np.arange(size)
            within = blocks[:, place, place].astype(np.float64)
            blocks[:, place, place] = 0
            for kind, block, own in zip(kinds, blocks, within, strict=True):
                between = (narrow[:, columns] @ block.T).astype(np.float64)
                sums[kind] += (between * u[:, rows]).sum(axis=1) + u[:, rows] @ own
        return _complete(u, self.known[systems].sum(axis=0), sums)

    def _between(
        self, systems: list[int], rows: slice, columns: slice, kinds: list[int]
    ) -> np.ndarray:
        """Sum the terms of pairs of cells over systems: kinds x rows x columns."""
        shape = (len(kinds), rows.stop - rows.start, columns.stop - columns.start)
        whole = np.zeros(shape, dtype=np.int32)
        narrow = np.int8 if len(systems) < 2**7 else np.int32
        for i in systems:
            part = np.zeros(shape, dtype=narrow)
            for j in systems:
                terms = self._terms(i, rows, j, columns)
                for place, kind in enumerate(kinds):
                    part[place] += terms[kind]
            whole += part
        return whole

    def count_over_systems(self, systems: Floats) -> PairCounts:
        """Count pairs of all cells in resamples of systems."""
        n, n_segments = self.known.shape
        kinds = self._kinds(list(range(n)))
        between = np.zeros((len(kinds), n, n))
        for i in range(n):
            for j in range(i, n):
                for rows in parts(n_segments, 1, _ROWS):
                    terms = self._terms(i, rows, j, slice(0, n_segments))
                    between[:, i, j] += [_sum(terms[kind]) for kind in kinds]
        place = np.arange(n)
        within = between[:, place, place] / 2  # both orders of two segments
        between[:, place, place] = 0
        sums = {
            kind: ((systems @ pairs.T) * systems).sum(axis=1) + systems @ own
            for kind, pairs, own in zip(kinds, between, within, strict=True)
        }
        return _complete(systems, self.known.sum(axis=1), sums)

    def levels(self, drawn: Floats, systems: list[int] | None = None) -> Counts:
        """Count the distinct values of the coarser score in resamples of segments or of systems.

        With ``systems``, segments are drawn and these systems looked at; else systems are drawn.
        """
        known = self.known if systems is None else self.known[systems].T
        codes = [
            signs.code if systems is None else signs.code[systems].T
            for signs in (self.human, self.metric)
        ]
        unit = np.nonzero(known)[0]
        present = (drawn > 0).astype(np.float32)
        return np.minimum(*(_levels(code[known], unit, present) for code in codes))


def _sum(terms: NDArray[np.int8]) -> int:
    """Sum ones and minus ones; counting is the fast way."""
    return 2 * int(np.count_nonzero(terms > 0)) - int(np.count_nonzero(terms))


def _complete(counts: Floats, cells: Counts, sums: dict[int, Floats]) -> PairCounts:
    """Count pairs from units, their numbers of cells, and sums of the terms that differ."""
    sizes = cells.astype(np.float64)
    between = ((counts @ sizes) ** 2 - (counts * counts) @ (sizes * sizes)) / 2
    total = between + counts @ (sizes * (sizes - 1) / 2)
    clear_h, clear_m = sums.get(0, total), sums.get(1, total)
    both = sums.get(2, clear_h if 0 in sums else clear_m)
    return tally(total, clear_h, clear_m, both, sums[3])


def firsts(ordered: np.ndarray) -> Bools:
    """Mark the first of each run of equal values.

    Examples
    --------
    >>> firsts(np.array([1.0, 1.0, 2.0])).tolist()
    [True, False, True]
    """
    found = np.ones(len(ordered), dtype=bool)
    found[1:] = ordered[1:] != ordered[:-1]
    return found


def _levels(code: np.ndarray, units: Counts, present: np.ndarray) -> Counts:
    """Count the distinct values of cells whose unit is present, in each resample."""
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(firsts(code[order]))
    found = np.zeros(len(present), dtype=np.int64)
    for part in parts(len(present) if len(code) else 0, len(code)):
        drawn = np.take(present[part], units[order], axis=1)
        found[part] = (np.maximum.reduceat(drawn, starts, axis=1) > 0).sum(axis=1)
    return found
