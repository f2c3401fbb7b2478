"""Logs of battles as columns, and the wins and ties in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats
from steelyard.stats.wins import PairWins, WinCounts

Codes = NDArray[np.integer[Any]]


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
        if not (weight.min() >= 0 and np.isfinite(weight).all()):
            raise UsageError("weights of battles are at least 0")

    def __len__(self) -> int:
        return len(self.outcome)


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
    codes = battles.left.astype(np.int64) * n + battles.right
    share, rest, tied = (_sums(codes, column, n * n).reshape(n, n) for column in _shares(battles))
    return WinCounts(share + rest.T, tied + tied.T)


def battle_pairs(battles: Battles) -> PairWins:
    """Count wins and ties in a log of battles, for the pairs that met only.

    Examples
    --------
    >>> log = Battles(np.array([0, 8]), np.array([8, 0]), np.array([1.0, 0.5]), n=100_000)
    >>> pairs = battle_pairs(log)
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.wins_i.tolist(), pairs.ties.tolist()
    ([0], [8], [1.0], [1.0])
    """
    low = np.minimum(battles.left, battles.right).astype(np.int64)
    high = np.maximum(battles.left, battles.right).astype(np.int64)
    keys, place = np.unique(low * battles.n + high, return_inverse=True)
    share, rest, tied = _shares(battles)
    swapped = battles.left > battles.right
    return PairWins(
        keys // battles.n,
        keys % battles.n,
        _sums(place, np.where(swapped, rest, share), len(keys)),
        _sums(place, np.where(swapped, share, rest), len(keys)),
        _sums(place, tied, len(keys)),
        battles.n,
    )


def _sums(codes: Codes, values: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(codes, weights=values, minlength=size), dtype=np.float64)


def _shares(battles: Battles) -> tuple[Floats, Floats, Floats]:
    """Weights of each battle as a win of left, a win of right, and a tie."""
    tie = battles.outcome == 0.5
    weight = 1.0 if battles.weight is None else battles.weight
    share = np.where(tie, 0.0, battles.outcome) * weight
    rest = np.where(tie, 0.0, 1 - battles.outcome) * weight
    return share, rest, tie * weight
