r"""How far units move Bradley-Terry strengths: a sandwich instead of resamples.

The inverse of the information H is the covariance of a fit whose comparisons are independent. Those
of one document, of one prompt, or of three systems on one segment are not. Their scores (gradients
of the log-likelihood) :math:`s_g`, summed by unit, are independent, and say how much the fit moves:

.. math:: H^+ \Big( \frac{G}{G - 1} \sum_g (s_g - \bar s)(s_g - \bar s)^T \Big) H^+

(Huber, White, Liang and Zeger). The mean :math:`\bar s` is 0 but for a prior. A resample of units
moves a fit by as much, at the cost of a fit for each.

The variance of a gap of two strengths from sums by unit, over that from single battles, is its
design effect; the median over all pairs of systems is that of a log. The same scores say which few
battles decide who is ahead (Huang et al. 2026, arXiv 2508.11847).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.distributions import expit
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import FITTED
from steelyard.stats.resampling.bootstrap import row_medians
from steelyard.stats.resampling.design_effect import DesignEffect, jackknife_reach, spaced
from steelyard.stats.strength.bradleyterry import (
    MOST_DENSE,
    Strengths,
    bradley_terry,
    bradley_terry_pairs,
    effective_tables,
    information,
    newton,
)
from steelyard.stats.strength.wins import UnitCounts, WinCounts, all_connected

Codes = NDArray[np.integer]
_CELLS = 4_000_000  # moves of pairs by unit held at a time
_ROUNDING = 1e-12  # a ratio below this is nothing but rounding
_FEW = 64  # battles that are removed one by one where more leave the order open


def _information_inverse(theta: Floats, counts: WinCounts) -> Floats:
    """Invert the information of strengths, the constants left out."""
    wins = effective_tables(counts.wins, counts.ties, "half")[0]
    matrix = information(theta[None], (wins + wins.T)[None])[0][0]
    return np.asarray(np.linalg.inv(matrix) - 1 / matrix.sum())


# ------------------------------------------------------------------------- design effect of a log


def strength_effect(units: UnitCounts, *, level: float = 0.95) -> DesignEffect:
    """Return the design effect of gaps between Bradley-Terry strengths, ties as half a win.

    The interval is a jackknife over units of the logarithm. NaN where fewer than two systems are
    connected, for fewer than two units, and for thousands of systems.
    """
    size = float(units.cells.sum())
    undefined = DesignEffect(math.nan, math.nan, math.nan, units.n_units, round(size), 0)
    if units.n > MOST_DENSE or units.n_units < 2:
        return undefined
    pairs = units.pairs()
    fit = bradley_terry_pairs(pairs)
    main = np.array(fit.main, dtype=np.int64)
    if len(main) < 2:
        return undefined
    inside = np.tile(np.isin(units.i, main) & np.isin(units.j, main), 3)
    sizes: Floats = np.asarray(units.cells.T @ inside.astype(np.float64))
    cells, sizes = units.cells[:, sizes > 0], sizes[sizes > 0]
    g, size = len(sizes), float(sizes.sum())
    if g < 2 or size <= 1:
        return undefined
    moves = _gap_moves(units, fit, pairs.tables().within(fit.main))
    whole: Floats = np.asarray(moves @ cells) ** 2
    alone: Floats = np.asarray((moves * moves) @ cells)
    total = alone.sum(axis=1)
    moved = total > _ROUNDING * total.max(initial=0.0)  # gaps that no battle moves have no variance
    whole, alone = whole[moved], alone[moved]
    scale = (size - 1) / size * g / (g - 1)
    value = scale * ratio(whole.sum(axis=1), alone.sum(axis=1))
    value = value[value > _ROUNDING]
    if not value.size:
        return undefined
    rest = [sums.sum(axis=1, keepdims=True) - sums for sums in (whole, alone)]
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.log(row_medians(np.where(rest[1] > 0, rest[0] / rest[1], np.nan).T))
    middle, reach = float(np.median(value)), jackknife_reach(without, sizes, level)
    ends = middle * math.exp(-reach), middle * math.exp(reach)
    return DesignEffect(middle, *ends, g, round(size), len(value))


def _gap_moves(units: UnitCounts, fit: Strengths, counts: WinCounts) -> Floats:
    """Return how each cell of ``units`` moves the gap of each pair of systems: gaps x cells."""
    main = np.array(fit.main, dtype=np.int64)
    gap = fit.log_strength[units.i] - fit.log_strength[units.j]
    inside = ~np.isnan(gap)
    p = expit(np.where(inside, gap, 0.0))
    pull = np.concatenate([1 - p, -p, 0.5 - p]) * np.tile(inside, 3)
    inverse = np.zeros((len(main), units.n))
    inverse[:, main] = _information_inverse(fit.log_strength[main], counts)
    moves = np.tile(inverse[:, units.i] - inverse[:, units.j], 3) * pull
    i, j = pair_index(len(main))
    most = max(1, _CELLS // max(units.n_units, moves.shape[1]))
    return np.asarray(moves[spaced(i, most)] - moves[spaced(j, most)])


# ------------------------------------------------------------------------------- fewest to remove


def fewest_items(ahead: Floats) -> int:
    """Return the fewest items without which the sum of leads, which is positive, is gone.

    >>> fewest_items(np.array([1.0, 1.0, -1.0, 0.0, 1.0]))
    2
    """
    total = float(ahead.sum())
    return 1 + int(np.searchsorted(np.cumsum(-np.sort(-ahead)), total * (1 - 1e-12)))


def fewest_battles(counts: WinCounts, theta: Floats, first: int, second: int) -> int | None:
    """Return the fewest battles without which a system has no lead in log-strength.

    Battles go by their pull on the gap, (c_l - c_r)(y - p) with c = H^-1[first] - H^-1[second]. The
    best ones to remove have the largest pull in the fit without them, so that the fit and the order
    take turns until no fewer will do. Every answer is that of a refit; None: no number will do.
    Ties are half a win.
    """
    votes = _Votes(counts, theta, first, second)
    best: int | None = None
    fits: list[tuple[Floats | None, Floats]] = [(theta, votes.table)]
    while fits:
        fit, table = fits.pop()
        if fit is None:
            continue
        order = votes.order(fit, table)
        fewer = votes.fewest(order, best)
        if fewer is not None:
            best = fewer
            fits = [votes.without(order, n)[1:] for n in (best - 1, best)]
    return best


class _Votes:
    """Battles by what happened: the left and the right system, points of the left, how many."""

    def __init__(self, counts: WinCounts, theta: Floats, first: int, second: int) -> None:
        a, b = np.triu_indices(len(theta), 1)
        self.theta, self.first, self.second = theta, first, second
        self.table = counts.wins + counts.ties / 2
        count = np.concatenate([counts.wins[a, b], counts.wins[b, a], counts.ties[a, b]])
        kinds = np.flatnonzero(count)
        self.left, self.right = np.tile(a, 3)[kinds], np.tile(b, 3)[kinds]
        self.points, self.count = np.repeat([1.0, 0.0, 0.5], len(a))[kinds], count[kinds]

    def order(self, theta: Floats, table: Floats) -> Counts:
        """Return the kinds of battles that pull the two systems apart, the strongest first."""
        matrix = information(theta[None], (table + table.T)[None])[0][0]
        apart = np.zeros(len(theta))
        apart[self.first], apart[self.second] = 1, -1
        c = np.linalg.solve(matrix, apart)
        chance = expit(theta[self.left] - theta[self.right])
        pull = (c[self.left] - c[self.right]) * (self.points - chance)
        order = np.argsort(-pull, kind="stable")
        return np.asarray(order[pull[order] > _ROUNDING])

    def without(self, order: Counts, n: int) -> tuple[float, Floats | None, Floats]:
        """Return the gap without the first n battles, the fit and the table of wins.

        No fit where strengths end: then a gap is infinite, and positive unless the order is clear.
        """
        before = np.cumsum(self.count[order]) - self.count[order]
        gone = np.clip(n - before, 0, self.count[order])
        table = self.table.copy()
        left, right, points = self.left[order], self.right[order], self.points[order]
        np.subtract.at(table, (left, right), gone * points)
        np.subtract.at(table, (right, left), gone * (1 - points))
        if all_connected((table > _ROUNDING)[None]).all():
            wins = table[None]
            met = wins + np.swapaxes(wins, 1, 2)
            theta = newton(met, wins.sum(axis=2), wins.sum(axis=1), self.theta[None])[0]
            return float(theta[self.first] - theta[self.second]), theta, table
        places = bradley_terry(np.where(table > _ROUNDING, table, 0.0)).ranks
        behind = places[self.first] >= places[self.second]
        return (-math.inf if behind else math.inf), None, table

    def fewest(self, order: Counts, best: int | None) -> int | None:
        """Return how many battles of this order end the lead; None if not fewer than the best."""
        low, gap_low = 0, float(self.theta[self.first] - self.theta[self.second])
        total = int(self.count[order].sum())
        doubling = (2**k for k in range(total.bit_length()))
        tries = [*doubling, total, *range(3, min(total, _FEW))] if best is None else [best - 1]
        for high in tries:
            gap_high = self.without(order, high)[0] if high else math.inf
            if gap_high <= FITTED:
                break
            if high > low and math.isfinite(gap_high):
                low, gap_low = high, gap_high
        else:
            return None
        while high - low > 1:
            # Gaps are close to a line in the number of battles.
            step = gap_low / (gap_low - gap_high) if math.isfinite(gap_high) else 0.5
            middle = min(max(low + math.ceil((high - low) * step), low + 1), high - 1)
            gap = self.without(order, middle)[0]
            if gap > FITTED:
                low, gap_low = middle, gap if math.isfinite(gap) else gap_low
            else:
                high, gap_high = middle, gap
        return high
