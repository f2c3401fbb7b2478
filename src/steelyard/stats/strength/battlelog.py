"""Logs of battles as columns, and the wins and ties in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import ShapeError, UsageError, hint
from steelyard.stats.arrays import Counts, Floats, group_sums
from steelyard.stats.strength.wins import (
    PairWins,
    WinCounts,
    checked_scores,
    margins,
    pair_tables,
    pair_wins,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = NDArray[np.integer[Any]]
_ROWS = 2**20  # battles counted at a time
_MOST_COUNTED = 500  # systems up to which all pairs are counted in a table
_MOST_DENSE = 4_000  # systems up to which pairs are numbered in a table
_EXACT = 2**24  # single precision counts exactly up to here
_OFTEN = 16  # a unit is hardly ever drawn more often
MOST_WEIGHT = 1e12  # of a battle: beside larger weights, fits lose the battles that count once


@dataclass(frozen=True, slots=True)
class Battles:
    """Duels as columns: ``left`` met ``right``; ``outcome`` is left's score, 1, 0 or 0.5 (a tie).

    Any other share of 0..1 counts as that part of a win for left, the rest for right. ``weight``
    is 1 where None; ``n`` is the number of systems.

    Examples
    --------
    >>> len(Battles(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 0.5, 1.0]), n=2))
    3
    """

    left: Codes
    right: Codes
    outcome: Floats
    n: int
    weight: Floats | None = None

    def __post_init__(self) -> None:
        size = np.shape(self.outcome)
        weight = self.outcome if self.weight is None else self.weight
        if not len(size) == 1 or {self.left.shape, self.right.shape, weight.shape} != {size}:
            raise ShapeError("left, right, outcome and weight of a log must have one length")
        if not size[0]:
            return
        codes = (self.left.min(), self.right.min(), self.left.max(), self.right.max())
        if min(codes) < 0 or max(codes) >= self.n:
            raise ShapeError(f"system {max(codes) if min(codes) >= 0 else min(codes)} of {self.n}")
        if (self.left == self.right).any():
            raise UsageError("a system meets itself: no battle")
        if not (self.outcome.min() >= 0 and self.outcome.max() <= 1):  # NaN fails, too
            raise UsageError("outcomes are left's score in 0..1")
        if not (weight.min() >= 0 and weight.max() <= MOST_WEIGHT):  # NaN fails, too
            raise UsageError(f"weights of battles are numbers from 0 to {MOST_WEIGHT:g}")

    def take(self, rows: NDArray[np.int64] | slice) -> Battles:
        """Keep these battles, in this order."""
        weight = None if self.weight is None else self.weight[rows]
        return Battles(self.left[rows], self.right[rows], self.outcome[rows], self.n, weight)

    def __len__(self) -> int:
        return len(self.outcome)

    def rows(self) -> Iterator[tuple[int, int, float, float]]:
        """Go through the log: left, right, outcome and weight of each battle."""
        for start in range(0, len(self), _ROWS):
            part = slice(start, start + _ROWS)
            columns = (self.left[part].tolist(), self.right[part].tolist())
            weight = repeat(1.0) if self.weight is None else self.weight[part].tolist()
            yield from zip(*columns, self.outcome[part].tolist(), weight, strict=False)

    @property
    def met(self) -> NDArray[np.bool_]:
        """Which systems have a battle."""
        result = np.zeros(self.n, dtype=bool)
        result[self.left] = result[self.right] = True
        return result


def sorted_battles(battles: Battles, units: Counts | None) -> tuple[Battles, Counts]:
    """Sort battles by unit and content, so that the order of rows in a file does not matter.

    Each battle is a unit of its own where ``units`` is None.
    """
    swapped = battles.left > battles.right
    left, right = np.where(swapped, (battles.right, battles.left), (battles.left, battles.right))
    outcome = np.where(swapped, 1 - battles.outcome, battles.outcome)
    weight = np.ones(len(battles)) if battles.weight is None else battles.weight
    codes = np.zeros(len(battles), dtype=np.int64) if units is None else units.astype(np.int64)
    order = np.lexsort((weight, outcome, right, left, codes))
    weights = None if battles.weight is None else weight[order]
    in_order = Battles(left[order], right[order], outcome[order], battles.n, weights)
    return in_order, np.arange(len(battles)) if units is None else codes[order]


def battle_counts(battles: Battles) -> WinCounts:
    """Count wins and ties in a log of battles.

    Examples
    --------
    >>> log = Battles(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 0.5, 1.0]), n=2)
    >>> counts = battle_counts(log)
    >>> counts.wins.tolist(), counts.ties.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    """
    n = battles.n
    wins, ties = np.zeros((2, n, n))
    step = max(_ROWS, n * n)
    for start in range(0, len(battles), step):
        part = slice(start, start + step)
        codes = battles.left[part].astype(np.int64) * n
        codes += battles.right[part]
        outcome = 2 * battles.outcome[part]
        weight = None if battles.weight is None else battles.weight[part]
        kinds = outcome.astype(np.int64)
        if (kinds == outcome).all():  # lost, tied, won: one pass for all three
            kinds *= n * n
            kinds += codes
            lost, tied, won = group_sums(kinds, weight, 3 * n * n).reshape(3, n, n)
        else:
            shares = _shares(battles.outcome[part], weight)
            won, lost, tied = (group_sums(codes, share, n * n).reshape(n, n) for share in shares)
        wins += won + lost.T
        ties += tied + tied.T
    return WinCounts(wins, ties)


def battle_pairs(battles: Battles) -> PairWins:
    """Count wins and ties in a log of battles, for the pairs that met only.

    Examples
    --------
    >>> log = Battles(np.array([0, 8]), np.array([8, 0]), np.array([1.0, 0.5]), n=100_000)
    >>> pairs = battle_pairs(log)
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.wins_i.tolist(), pairs.ties.tolist()
    ([0], [8], [1.0], [1.0])
    """
    if battles.weight is None and battles.n <= _MOST_COUNTED and _whole(battles.outcome):
        counts = battle_counts(battles)  # ones: no sums to depend on their order
        return pair_wins(counts.wins, counts.ties)
    keys, place = _pair_places(battles)
    share, rest, tied = _shares(battles.outcome, battles.weight)
    swapped = battles.left > battles.right
    return PairWins(
        keys // battles.n,
        keys % battles.n,
        group_sums(place, np.where(swapped, rest, share), len(keys)),
        group_sums(place, np.where(swapped, share, rest), len(keys)),
        group_sums(place, tied, len(keys)),
        battles.n,
    )


def _whole(outcome: Floats) -> bool:
    """Tell whether every battle was won, lost or tied."""
    doubled = 2 * outcome
    return bool((doubled == np.rint(doubled)).all())


def _shares(outcome: Floats, weight: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Weights of each battle as a win of left, a win of right, and a tie."""
    tie = outcome == 0.5
    share = np.where(tie, 0.0, outcome)
    rest = np.where(tie, 0.0, 1 - outcome)
    scale = 1.0 if weight is None else weight
    return share * scale, rest * scale, tie * scale


@dataclass(frozen=True, slots=True, eq=False)
class UnitCounts:
    """Wins and ties of a log by what its battles share, a prompt or a segment.

    Such units are what a bootstrap must draw: battles about the same prompt are not independent.

    Attributes
    ----------
    n, n_units
        How many systems and units there are.
    i, j
        The pairs that met, ``i < j``.
    cells
        Three rows per pair, a column per unit: what i won, then what j won, then the ties.

    Examples
    --------
    >>> log = Battles(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 0.5, 1.0]), n=2)
    >>> counts = UnitCounts.of(log, np.array([0, 0, 1])).resampled([[1, 1], [2, 0]])
    >>> counts.wins.tolist()
    [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 2.0], [0.0, 0.0]]]
    """

    n: int
    n_units: int
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    cells: csr_array

    @classmethod
    def of(cls, battles: Battles, unit: Codes) -> UnitCounts:
        """Count by unit; ``unit`` holds a code from 0 for every battle."""
        from scipy.sparse import csr_array

        if unit.shape != battles.left.shape:
            raise ShapeError(f"{len(battles)} battles but {unit.shape} unit codes")
        n_units = int(unit.max(initial=-1)) + 1
        keys, place = _pair_places(battles)
        # What the first of a pair, the one with the lower code, won in each battle.
        own = np.where(battles.left > battles.right, 1 - battles.outcome, battles.outcome)
        kind = np.where(own == 0.5, 2, own == 0).astype(place.dtype)
        value = np.where(kind == 0, own, 1.0)
        shared = np.flatnonzero((kind == 0) & (own < 1))  # the second won the rest
        rest = 1 - own[shared]
        if battles.weight is not None:
            value *= battles.weight
            rest *= battles.weight[shared]
        if len(shared):
            value = np.append(value, rest)
            unit, place = np.append(unit, unit[shared]), np.append(place, place[shared])
            kind = np.append(kind, np.ones(len(shared), dtype=kind.dtype))
        cell = kind * len(keys) + place
        whole = battles.weight is None and not len(shared)
        if whole and np.bincount(cell).max(initial=0) <= _EXACT // _OFTEN:
            value = value.astype(np.float32)  # as exact, in half the memory
        cells = csr_array((value, (cell, unit)), shape=(3 * len(keys), n_units))
        cells.eliminate_zeros()
        return cls(battles.n, n_units, keys // battles.n, keys % battles.n, cells)

    def pairs(self) -> PairWins:
        """Count wins and ties of the pairs over all units."""
        totals = self.cells.sum(axis=1, dtype=np.float64).reshape(3, -1)
        return PairWins(self.i, self.j, totals[0], totals[1], totals[2], self.n)

    def sizes(self) -> Floats:
        """Count the battles of each unit."""
        return np.asarray(self.cells.sum(axis=0, dtype=np.float64)).ravel()

    def ahead(self) -> tuple[Floats, Floats]:
        """Count the units in which the first, and in which the second of each pair won more."""
        size = len(self.i)
        lead = (self.cells[:size] - self.cells[size : 2 * size]).tocoo()
        sure = np.abs(lead.data) > 1e-9  # parts of a win can add up to nothing but for rounding
        up = sure & (lead.data > 0)
        first, second = (
            np.bincount(lead.coords[0][chosen], minlength=size) for chosen in (up, sure & ~up)
        )
        return first.astype(np.float64), second.astype(np.float64)

    def resampled(self, counts: ArrayLike) -> WinCounts:
        """Count wins and ties where each unit occurs so often: resamples x units in, tables out."""
        drawn = np.asarray(counts)
        if drawn.ndim != 2 or drawn.shape[1] != self.n_units:
            raise ShapeError(f"{self.n_units} units but counts of shape {drawn.shape}")
        small = drawn.max(initial=0) <= _OFTEN and (drawn == np.rint(drawn)).all()
        kind = self.cells.dtype if small else np.float64
        sums = self.cells @ np.ascontiguousarray(drawn.T, dtype=kind)
        first, second, tied = sums.T.reshape(len(drawn), 3, -1).swapaxes(0, 1)
        return pair_tables(self.i, self.j, self.n, first, second, tied)


def _pair_places(battles: Battles) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Number the pairs that met by their codes: the sorted codes, and the place of each battle."""
    n = battles.n
    codes = pair_codes(battles)
    if n > _MOST_DENSE:
        keys, place = np.unique(codes, return_inverse=True)
        return keys, place.astype(np.int32)
    met = np.zeros(n * n, dtype=bool)  # no sorting
    met[codes] = True
    keys = np.flatnonzero(met)
    return keys, pair_places(codes, keys, n)


def pair_codes(battles: Battles) -> NDArray[np.int64]:
    """Give the code ``i * n + j`` of the pair of each battle, ``i < j``."""
    codes = np.minimum(battles.left, battles.right).astype(np.int64)
    codes *= battles.n
    codes += np.maximum(battles.left, battles.right)
    return codes


def pair_places(codes: NDArray[np.int64], keys: NDArray[np.int64], n: int) -> NDArray[np.int32]:
    """Find codes of pairs among the sorted codes of ``n`` systems, all of which are there."""
    if n > _MOST_DENSE:
        return np.searchsorted(keys, codes).astype(np.int32)
    places = np.zeros(n * n, dtype=np.int32)
    places[keys] = np.arange(len(keys))
    return places[codes]


def resampled_battles(counts: WinCounts, n_resamples: int, rng: np.random.Generator) -> WinCounts:
    """Resample the battles of a log without weights, each by itself, from its counts.

    Every battle occurs a Poisson-distributed number of times, once on average: what drawing with
    replacement comes to, but for the total. Only for battles that have nothing in common; else
    resample what they share (:class:`UnitCounts`).

    Examples
    --------
    >>> counts = WinCounts(np.array([[0.0, 6.0], [3.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> drawn = resampled_battles(counts, 1000, np.random.default_rng(0))
    >>> drawn.wins.mean(axis=0).round().tolist()
    [[0.0, 6.0], [3.0, 0.0]]
    """
    cells = np.stack([counts.wins, np.triu(counts.ties)])
    if (cells != np.rint(cells)).any():
        raise UsageError("battles with weights can't be resampled one by one; resample units")
    drawn = np.zeros((n_resamples, *cells.shape))
    full = cells > 0
    drawn[:, full] = rng.poisson(cells[full], (n_resamples, int(full.sum())))
    ties = drawn[:, 1]
    return WinCounts(drawn[:, 0], ties + np.swapaxes(ties, 1, 2))


def score_battles(scores: ArrayLike, *, by: str = "segment", tolerance: float = 0.0) -> Battles:
    """Let all pairs of systems (i < j) meet on every segment that both have.

    Parameters
    ----------
    scores
        Systems x segments, higher is better, NaN where missing.
    by
        ``segment``: all pairs of a segment, then the next segment; ``pair``: all segments of a
        pair, then the next pair, as in the code of the paired-evaluation paper.
    tolerance
        Differences of at most this are ties.

    Examples
    --------
    >>> log = score_battles([[1.0, 5.0], [2.0, 5.0], [3.0, np.nan]])
    >>> log.left.tolist(), log.right.tolist(), log.outcome.tolist()
    ([0, 0, 1, 0], [1, 2, 2, 1], [0.0, 0.0, 0.0, 0.5])
    """
    if by not in ("segment", "pair"):
        raise UsageError(f"unknown order of battles '{by}'; {hint(by, ['segment', 'pair'])}")
    x = checked_scores(scores, tolerance)
    rows, columns = np.triu_indices(len(x), 1)
    i, j = rows.astype(np.int32), columns.astype(np.int32)
    outcome = np.empty((len(i), x.shape[1]))
    for pair, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        outcome[pair] = (score_results(x[a], x[b], tolerance) + 1) / 2
    left, right = (np.broadcast_to(side[:, None], outcome.shape) for side in (i, j))
    if by == "segment":
        left, right, outcome = left.T, right.T, outcome.T
    known = ~np.isnan(outcome)
    return Battles(left[known], right[known], outcome[known], len(x))


def score_results(a: Floats, b: Floats, tolerance: float) -> Floats:
    """Compare scores: 1 where a is better, 0 for a tie, -1 where b is; NaN where one is missing."""
    with np.errstate(invalid="ignore"):
        ahead, behind = a > margins(b, tolerance), b > margins(a, tolerance)
    result = ahead.astype(np.float64)
    result -= behind
    result[np.isnan(a) | np.isnan(b)] = np.nan
    return result
