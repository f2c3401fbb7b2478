"""Who beats whom, how often: from scores of the same segments, or from a log of battles.

``wins[i, j]`` counts the segments or battles that i won against j, ``ties[i, j]`` (symmetric) those
that nobody won. Segments that only one of the two has count nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, group_sums, ratio, row_means

if TYPE_CHECKING:
    from scipy.sparse import csc_array

Codes = NDArray[np.integer[Any]]
_EXACT = 2**24  # single precision counts exactly up to here
_SLACK = 1 + 1e-9  # a difference that equals the tolerance but for rounding is a tie
_MOST_TABLED = 2_000  # systems up to which the pairs of a log are counted in a table
MOST_WEIGHT = 1e12  # of a battle: larger weights would drown battles that count once


@dataclass(frozen=True, slots=True)
class WinCounts:
    """Wins and ties of all pairs: systems x systems, or resamples x systems x systems."""

    wins: Floats
    ties: Floats

    @property
    def met(self) -> Floats:
        """How often each pair met."""
        return self.wins + np.swapaxes(self.wins, -1, -2) + self.ties

    def within(self, members: Sequence[int]) -> WinCounts:
        """Keep some systems, in the given order."""
        rows, columns = np.ix_(members, members)
        return WinCounts(self.wins[..., rows, columns], self.ties[..., rows, columns])


@dataclass(frozen=True, slots=True)
class PairWins:
    """Wins and ties of the pairs that met, ``i < j``, each once: for many systems and few pairs."""

    i: Counts
    j: Counts
    wins_i: Floats
    wins_j: Floats
    ties: Floats
    n: int

    @property
    def met(self) -> Floats:
        """How often each pair met."""
        return self.wins_i + self.wins_j + self.ties

    @property
    def codes(self) -> Counts:
        """A number for each pair: ``i * n + j``."""
        return self.i * self.n + self.j

    def tables(self) -> WinCounts:
        """Return wins and ties as systems x systems."""
        return pair_tables(self.i, self.j, self.n, self.wins_i, self.wins_j, self.ties)

    def within(self, members: Sequence[int]) -> PairWins:
        """Keep the pairs inside a group of systems, numbered from 0 in their order."""
        number = np.full(self.n, -1)
        number[list(members)] = np.arange(len(members))
        i, j = number[self.i], number[self.j]
        keep = (i >= 0) & (j >= 0)
        columns = (self.wins_i[keep], self.wins_j[keep], self.ties[keep])
        return PairWins(i[keep], j[keep], *columns, len(members))


def pair_tables(
    i: Counts, j: Counts, n: int, first: Floats, second: Floats, tied: Floats
) -> WinCounts:
    """Return tables of what i won, what j won, and ties; pairs are the last axis."""
    wins, ties = np.zeros((2, *first.shape[:-1], n, n))
    wins[..., i, j], wins[..., j, i] = first, second
    ties[..., i, j] = ties[..., j, i] = tied
    return WinCounts(wins, ties)


def pair_wins(wins: Floats, ties: Floats) -> PairWins:
    """List the pairs of a table (systems x systems) that met."""
    i, j = np.nonzero(np.triu(wins + wins.T + ties, 1))
    return PairWins(i, j, wins[i, j], wins[j, i], ties[i, j], len(wins))


def expected_wins(counts: WinCounts, *, ties_as: str = "drop") -> Floats:
    """Return the mean over opponents of the share of battles won, as WMT ranked until 2013.

    Ties are dropped (``drop``, WMT's rule) or half a win for either side (``half``). Opponents that
    a system never met, or only tied with if ties are dropped, are excluded; NaN where none is left.
    """
    return row_means(win_share(counts, ties_as=ties_as))


def win_share(counts: WinCounts, *, ties_as: str = "half") -> Floats:
    """Return the share of the battles of each pair that the row won; NaN if they never met."""
    won = counts.wins + counts.ties / 2 if ties_as == "half" else counts.wins
    return ratio(won, won + np.swapaxes(won, -1, -2))


# ------------------------------------------------------------------------- from scores


def margins(scores: Floats, tolerance: float) -> Floats:
    """Return what a rival must exceed to win: a lead of the tolerance, but for rounding, ties."""
    return scores + tolerance * _SLACK if tolerance else scores


def score_results(a: Floats, b: Floats, tolerance: float) -> Floats:
    """Compare scores: 1 where a is better, 0 for a tie, -1 where b is; NaN where one is missing."""
    gap = a - b
    if tolerance:
        gap[np.abs(gap) <= tolerance * _SLACK] = 0
    return np.sign(gap)


def win_counts(scores: Floats, *, tolerance: float = 0.0) -> WinCounts:
    """Count wins and ties of all pairs of systems, segment by segment.

    ``scores`` are systems x segments, higher is better, NaN where missing; differences of at most
    the tolerance are ties.
    """
    counts = resampled_wins(scores, None, tolerance=tolerance)
    return WinCounts(counts.wins[0], counts.ties[0])


def resampled_wins(scores: Floats, counts: Floats | None, *, tolerance: float = 0.0) -> WinCounts:
    """Count wins and ties in every resample of the segments.

    ``counts`` says how often each segment occurs, resamples x segments in whole numbers; None takes
    every segment once. The tables are resamples x systems x systems: pass some resamples at a time
    where that is too much.
    """
    n, size = scores.shape
    bar, present = margins(scores, tolerance), ~np.isnan(scores)
    total = np.full(1, size) if counts is None else counts.sum(axis=1)
    kind: Any = np.float32 if total.max(initial=0) < _EXACT else np.float64
    weights = None if counts is None else counts.astype(kind)

    def add_up(segments: NDArray[np.bool_]) -> Floats:
        if weights is None:
            return np.asarray(np.count_nonzero(segments, axis=1)[None], dtype=np.float64)
        return np.asarray(weights @ segments.T.astype(kind))

    wins, met = np.empty((2, len(total), n, n))
    met[:] = total[:, None, None]
    for i in range(n):
        wins[:, i] = add_up(scores[i] > bar)  # a comparison with NaN is no win
        if not present.all():
            met[:, i] = add_up(present & present[i])
    ties = met - wins - np.swapaxes(wins, 1, 2)
    ties[:, np.arange(n), np.arange(n)] = 0
    return WinCounts(wins, ties)


# ------------------------------------------------------------------------- from a log of battles


@dataclass(frozen=True, slots=True)
class Battles:
    """Duels as columns: ``left`` met ``right``; ``outcome`` is left's score, 1, 0 or 0.5 (a tie).

    Any other share of 0..1 counts as that part of a win for left, the rest for right. ``weight``
    is 1 where None; ``n`` is the number of systems.
    """

    left: Codes
    right: Codes
    outcome: Floats
    n: int
    weight: Floats | None = None

    def __post_init__(self) -> None:
        if not len(self.outcome):
            return
        if (self.left == self.right).any():
            raise UsageError("a system meets itself: no battle")
        if not (self.outcome.min() >= 0 and self.outcome.max() <= 1):  # NaN fails, too
            raise UsageError("outcomes are left's score in 0..1")
        weight = self.outcome if self.weight is None else self.weight
        if not (weight.min() >= 0 and weight.max() <= MOST_WEIGHT):
            raise UsageError(f"weights of battles are numbers from 0 to {MOST_WEIGHT:g}")

    def __len__(self) -> int:
        return len(self.outcome)

    def take(self, rows: NDArray[np.int64] | slice) -> Battles:
        """Keep these battles, in this order."""
        weight = None if self.weight is None else self.weight[rows]
        return Battles(self.left[rows], self.right[rows], self.outcome[rows], self.n, weight)


def score_battles(scores: Floats, *, tolerance: float = 0.0) -> Battles:
    """Let all pairs of systems (i < j) meet on every segment that both have, segment by segment."""
    i, j = np.triu_indices(len(scores), 1)
    outcome = (score_results(scores[i], scores[j], tolerance) + 1).T / 2
    left, right = (np.broadcast_to(side.astype(np.int32), outcome.shape) for side in (i, j))
    present = ~np.isnan(outcome)
    return Battles(left[present], right[present], outcome[present], len(scores))


def sorted_battles(battles: Battles, units: Counts | None) -> tuple[Battles, Counts]:
    """Sort battles by unit and content, so that the order of rows in a file does not matter.

    Each battle is a unit of its own where ``units`` is None.
    """
    swapped = battles.left > battles.right
    left, right = np.where(swapped, (battles.right, battles.left), (battles.left, battles.right))
    outcome = np.where(swapped, 1 - battles.outcome, battles.outcome)
    turned = Battles(left, right, outcome, battles.n, battles.weight)
    weight = np.ones(len(battles)) if battles.weight is None else battles.weight
    codes = np.zeros(len(battles), dtype=np.int64) if units is None else units.astype(np.int64)
    order = np.lexsort((weight, outcome, right, left, codes))
    return turned.take(order), np.arange(len(battles)) if units is None else codes[order]


def battle_counts(battles: Battles) -> WinCounts:
    """Count wins and ties in a log of battles."""
    n = battles.n
    codes = battles.left.astype(np.int64) * n + battles.right
    won, lost, tied = (
        group_sums(codes, share, n * n).reshape(n, n)
        for share in _shares(battles.outcome, battles.weight)
    )
    return WinCounts(won + lost.T, tied + tied.T)


def battle_pairs(battles: Battles) -> PairWins:
    """Count wins and ties in a log of battles, for the pairs that met only."""
    if battles.n <= _MOST_TABLED:
        counts = battle_counts(battles)
        return pair_wins(counts.wins, counts.ties)
    keys, pair = np.unique(pair_codes(battles), return_inverse=True)
    swapped = battles.left > battles.right
    first = np.where(swapped, 1 - battles.outcome, battles.outcome)
    won, lost, tied = (
        group_sums(pair, share, len(keys)) for share in _shares(first, battles.weight)
    )
    return PairWins(keys // battles.n, keys % battles.n, won, lost, tied, battles.n)


def _shares(outcome: Floats, weight: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return the weight of each battle as a win, a loss and a tie."""
    tie = outcome == 0.5
    scale = 1.0 if weight is None else weight
    won, lost = np.where(tie, 0.0, outcome), np.where(tie, 0.0, 1 - outcome)
    return won * scale, lost * scale, tie * scale


def pair_codes(battles: Battles) -> NDArray[np.int64]:
    """Return the code ``i * n + j`` of the pair of each battle, ``i < j``."""
    low, high = np.minimum(battles.left, battles.right), np.maximum(battles.left, battles.right)
    return low.astype(np.int64) * battles.n + high


def _numbered(codes: NDArray[np.int64], n: int) -> tuple[Counts, NDArray[np.int32]]:
    """Return the pairs that met, sorted, and the number of the pair of each battle."""
    if n > _MOST_TABLED:
        keys, pair = np.unique(codes, return_inverse=True)
        return keys, pair.astype(np.int32)
    met = np.zeros(n * n, dtype=bool)
    met[codes] = True
    number = np.cumsum(met, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(met), number[codes]


@dataclass(frozen=True, slots=True, eq=False)
class UnitCounts:
    """Wins and ties of a log by what its battles share, a prompt or a segment.

    Such units are what a bootstrap must draw: battles about the same prompt are not independent.
    ``i < j`` are the pairs that met; ``cells`` has three rows per pair and a column per unit: what
    i won, then what j won, then the ties.

    Examples
    --------
    >>> log = Battles(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 0.5, 1.0]), n=2)
    >>> units = UnitCounts.of(log, np.array([0, 0, 1]))
    >>> units.resampled(np.array([[1, 1], [2, 0]])).wins.tolist()
    [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 2.0], [0.0, 0.0]]]
    """

    n: int
    n_units: int
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    cells: csc_array

    @classmethod
    def of(cls, battles: Battles, unit: Codes) -> UnitCounts:
        """Count by unit; ``unit`` holds a code from 0 for every battle."""
        from scipy.sparse import csc_array

        n_units = int(unit.max(initial=-1)) + 1
        keys, pair = _numbered(pair_codes(battles), battles.n)
        first = np.where(battles.left > battles.right, 1 - battles.outcome, battles.outcome)
        kind = np.where(first == 0.5, 2, first == 0).astype(np.int32)
        share = np.where(kind == 0, first, 1.0)
        cell = pair + kind * np.int32(len(keys))
        split = np.flatnonzero((kind == 0) & (first < 1))  # parts of a win for either side
        cell = np.concatenate([cell, cell[split] + np.int32(len(keys))])
        share = np.concatenate([share, 1 - first[split]])
        if battles.weight is not None:
            share *= np.concatenate([battles.weight, battles.weight[split]])
        columns = np.concatenate([unit, unit[split]])
        cells = csc_array((share, (cell, columns)), shape=(3 * len(keys), n_units))
        return cls(battles.n, n_units, keys // battles.n, keys % battles.n, cells)

    def pairs(self) -> PairWins:
        """Count wins and ties of the pairs over all units."""
        totals: Floats = np.asarray(self.cells.sum(axis=1), dtype=np.float64)
        first, second, tied = totals.reshape(3, -1)
        return PairWins(self.i, self.j, first, second, tied, self.n)

    def sizes(self) -> Floats:
        """Count the battles of each unit."""
        return np.asarray(self.cells.sum(axis=0), dtype=np.float64).ravel()

    def ahead(self) -> tuple[Floats, Floats]:
        """Count the units in which the first, and in which the second of each pair won more."""
        size = len(self.i)
        lead = (self.cells[:size] - self.cells[size : 2 * size]).tocoo()
        pair = lead.coords[0]
        # Parts of a win can add up to nothing but for rounding.
        return (
            group_sums(pair[lead.data > 1e-9], None, size),
            group_sums(pair[lead.data < -1e-9], None, size),
        )

    def resampled(self, counts: NDArray[Any]) -> WinCounts:
        """Count wins and ties where each unit occurs so often: resamples x units in, tables out."""
        drawn = np.ascontiguousarray(counts.T, dtype=np.float64)
        first, second, tied = (self.cells @ drawn).T.reshape(len(counts), 3, -1).swapaxes(0, 1)
        return pair_tables(self.i, self.j, self.n, first, second, tied)


def resampled_battles(counts: WinCounts, n_resamples: int, rng: np.random.Generator) -> WinCounts:
    """Resample the battles of a log without weights, each by itself, from its counts.

    Every battle occurs a Poisson-distributed number of times, once on average: what drawing with
    replacement comes to, but for the total. Only for battles that have nothing in common; else
    resample what they share (:class:`UnitCounts`).
    """
    cells = np.stack([counts.wins, np.triu(counts.ties)])
    if (cells != np.rint(cells)).any():
        raise UsageError("battles with weights can't be resampled one by one; resample units")
    drawn = np.zeros((n_resamples, *cells.shape))
    full = cells > 0
    drawn[:, full] = rng.poisson(cells[full], (n_resamples, int(full.sum())))
    ties = drawn[:, 1]
    return WinCounts(drawn[:, 0], ties + np.swapaxes(ties, 1, 2))
