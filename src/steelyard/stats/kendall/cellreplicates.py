r"""Statistics of all cells together, or of each system's segments, in resamples given by counts.

A cell occurs as often as its segment times its system. Sums over cells, and mid-ranks among them,
weigh cells by that. Pairs of cells are weighed by the units that are resampled: with
:math:`C_{st}` pairs between two segments and :math:`C_{ss}` within one, a resample has
:math:`\sum_{s<t} u_s u_t C_{st} + \sum_s u_s C_{ss}` of them, so that pairs between copies of one
segment are dropped; the same holds where systems are resampled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.kendall.cellpairs import Cells, firsts
from steelyard.stats.kendall.pairs import PairCounts
from steelyard.stats.metametrics.replicates import Statistic, correlate, parts
from steelyard.stats.resampling.bootstrap import exact_sums

KINDS = ("concordant", "discordant", "human_ties", "metric_ties", "both_ties")

_CONSTANT = 1e-12  # share of a sum of squares that is rounding
_CACHED = 100_000  # numbers in an intermediate array that is used at once

Bools = NDArray[np.bool_]
Weigh = Callable[[slice, Counts], Floats]


def cell_replicates(
    statistic: Statistic,
    human: Floats,
    metric: Floats,
    *,
    by_system: bool,
    segments: Floats | None = None,
    systems: Floats | None = None,
) -> Floats:
    """Evaluate a statistic of all cells, or its mean over systems, in each resample.

    Parameters
    ----------
    statistic
        What is computed, see :func:`~steelyard.stats.metametrics.replicates.statistic_of`.
    human, metric
        Systems x segments; cells that either lacks take no part.
    by_system
        Evaluate the cells of each system, then take the mean over systems (or pool them).
    segments, systems
        How often each occurs, resamples x segments and resamples x systems; None for once. Pairs of
        cells of all systems can be counted for one of the two only.

    Examples
    --------
    >>> from steelyard.stats.correlation import kendall_b
    >>> human, metric = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]])
    >>> counts = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]])
    >>> tau = Statistic("pairs", kendall_b)
    >>> cell_replicates(tau, human, metric, by_system=False, segments=counts).round(6)
    array([0.333333, 1.      ])
    """
    known = ~(np.isnan(human) | np.isnan(metric))
    used = known.any(axis=0)
    h, m, known = human[:, used], metric[:, used], known[:, used]
    u = None if segments is None else segments[:, used]
    if statistic.kind == "products":
        return _products(statistic, h, m, known, u, systems, by_system=by_system)
    if statistic.kind == "ranks":
        values = _ranks(h, m, known, u, systems, by_system=by_system)
        return _mean(values, systems) if by_system else values[:, 0]
    cells = Cells.of(h, m, known, statistic)
    if by_system:
        return _pairs_by_system(statistic, cells, u, systems)
    if u is not None and systems is not None:
        raise UsageError("pairs of cells are counted for resampled segments or systems, not both")
    if systems is None:
        return cells.over_segments(statistic, list(range(len(h))), u)
    return cells.over_systems(statistic, systems)


def _mean(values: Floats, systems: Floats | None) -> Floats:
    """Mean over the systems in which it is defined, each as often as it occurs."""
    weights = (~np.isnan(values)) * (1.0 if systems is None else systems)
    return ratio(
        (np.where(np.isnan(values), 0.0, values) * weights).sum(axis=1), weights.sum(axis=1)
    )


def _products(
    statistic: Statistic,
    human: Floats,
    metric: Floats,
    known: Bools,
    segments: Floats | None,
    systems: Floats | None,
    *,
    by_system: bool,
) -> Floats:
    """Pearson's r, or PDP, from sums over cells."""
    h, m = (_standardised(x, known, by_system=by_system) for x in (human, metric))
    terms = (known.astype(np.float64), h, m, h * m, h * h, m * m)
    sums = [x.sum(axis=1)[None, :] if segments is None else exact_sums(segments, x) for x in terms]
    if not by_system:
        weights = np.ones((1, 1)) if systems is None else systems
        sums = [(x * weights).sum(axis=1) for x in sums]
    n, sum_h, sum_m, dot, square_h, square_m = sums
    spread = [n * square_h - sum_h * sum_h, n * square_m - sum_m * sum_m]
    for own, square in zip(spread, (square_h, square_m), strict=True):
        own[own <= _CONSTANT * n * square] = 0.0  # constant, but for rounding
    shared = np.where((spread[0] > 0) & (spread[1] > 0), n * dot - sum_h * sum_m, 0.0)
    if not by_system:
        return correlate(shared, *spread)
    if not statistic.pooled:
        return _mean(correlate(shared, *spread), systems)
    weights = np.ones((1, 1)) if systems is None else systems
    return correlate(*((x * weights).sum(axis=1) for x in (shared, *spread)))


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


def _ranks(
    human: Floats,
    metric: Floats,
    known: Bools,
    segments: Floats | None,
    systems: Floats | None,
    *,
    by_system: bool,
) -> Floats:
    """Spearman's rho of each group of cells: resamples x groups."""
    counts = [x for x in (segments, systems) if x is not None]
    rows = len(counts[0]) if counts else 1
    row, column = np.nonzero(known)

    def weigh(part: slice, cells: Counts) -> Floats:
        weights = np.ones((1, len(cells)))
        if segments is not None:
            weights = np.take(segments[part], column[cells], axis=1)
        if systems is not None and not by_system:
            weights = weights * np.take(systems[part], row[cells], axis=1)
        return weights

    h, m = human[known], metric[known]
    every = (
        [np.flatnonzero(row == i) for i in range(len(known))]
        if by_system
        else [np.arange(len(row))]
    )
    return np.stack([_rho(h[cells], m[cells], cells, weigh, rows) for cells in every], axis=1)


def _rho(human: Floats, metric: Floats, cells: Counts, weigh: Weigh, rows: int) -> Floats:
    """Spearman's rho in each resample: ranks are running sums of weights in an order found once."""
    if not len(cells):
        return np.full(rows, np.nan)
    order_h, order_m = (np.argsort(x, kind="stable") for x in (human, metric))
    first_h, first_m = (firsts(x[o]) for x, o in ((human, order_h), (metric, order_m)))
    level_h = np.empty(len(cells), dtype=np.int64)
    level_h[order_h] = np.cumsum(first_h) - 1
    level_h, level_m = level_h[order_m], np.cumsum(first_m) - 1
    found = np.empty(rows)
    for part in parts(rows, len(cells), _CACHED):
        present_h, ranks_h = _centred_ranks(weigh(part, cells[order_h]), first_h)
        weights = weigh(part, cells[order_m])
        present_m, ranks_m = _centred_ranks(weights, first_m)
        of_cells = (np.take(ranks_h, level_h, axis=1), np.take(ranks_m, level_m, axis=1))
        dot = np.einsum("bc,bc,bc->b", weights, *of_cells)
        squares = (
            np.einsum("bl,bl,bl->b", present, ranks, ranks)
            for present, ranks in ((present_h, ranks_h), (present_m, ranks_m))
        )
        found[part] = correlate(dot, *squares)
    return found


def _centred_ranks(weights: Floats, first: Bools) -> tuple[Floats, Floats]:
    """Copies of each level of ordered cells, and their mid-ranks minus the mean rank."""
    last = np.take(np.cumsum(weights, axis=1), np.flatnonzero(np.r_[first[1:], True]), axis=1)
    present = np.diff(last, axis=1, prepend=0.0)
    return present, last - present / 2 - last[:, -1:] / 2


def _pairs_by_system(
    statistic: Statistic, cells: Cells, segments: Floats | None, systems: Floats | None
) -> Floats:
    """Evaluate each system's pairs of segments; mean over systems, or pool their counts."""
    every = range(len(cells.known))
    if not statistic.pooled:
        values = [cells.over_segments(statistic, [i], segments) for i in every]
        return _mean(np.stack(values, axis=1), systems)
    found = [cells.count_over_segments([i], segments) for i in every]
    weights = np.ones((1, len(every))) if systems is None else systems
    stacked = (np.stack([getattr(counts, kind) for counts in found], axis=1) for kind in KINDS)
    pooled = ((x * weights).sum(axis=1).astype(np.int64) for x in stacked)
    assert statistic.value is not None
    return statistic.value(PairCounts(*pooled))
