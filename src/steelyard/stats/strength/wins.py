"""Who beats whom, how often: from scores of the same segments, or from a log of battles.

``wins[i, j]`` counts the units on which i beat j, ``ties[i, j]`` (symmetric) those on which neither
did. Units that only one of the two has say nothing about them and count nowhere. All paired
strengths (:mod:`steelyard.stats.strength.bradleyterry`) are made from these counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_choice, check_number
from steelyard.stats.arrays import Counts, Floats, ratio, row_means

Bools = NDArray[np.bool_]
_WORDS = 2040  # segments in 255 words of eight one-byte counters, which can't overflow
_BYTES = 2**18  # comparisons at a time
_ROWS = 256  # systems at a time: comparisons stay in the cache
_CELLS = 4_000_000  # cells of pair outcomes held at a time
_EXACT = 2**24  # float32 counts exactly up to here
_SLACK = 1 + 1e-9  # a difference that equals the tolerance but for rounding is a tie


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


def win_counts(scores: ArrayLike, *, tolerance: float = 0.0) -> WinCounts:
    """Count wins and ties of all pairs of systems, segment by segment.

    Parameters
    ----------
    scores
        Systems x segments, higher is better, NaN where missing.
    tolerance
        Differences of at most this are ties.

    Examples
    --------
    >>> counts = win_counts([[1.0, 5.0, 2.0], [2.0, 5.0, 1.0], [3.0, 4.0, np.nan]])
    >>> counts.wins.tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    >>> counts.ties.tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    x = checked_scores(scores, tolerance)
    n = len(x)
    wins = np.zeros((n, n))
    met = np.zeros((n, n))
    step = _WORDS * max(1, _BYTES // (_WORDS * min(max(n, 1), _ROWS)))
    for start in range(0, x.shape[1], step):
        block = np.ascontiguousarray(x[:, start : start + step])
        absent = np.isnan(block)
        if absent.any():
            known = (~absent).astype(np.float32)
            met += known @ known.T
        else:
            met += block.shape[1]
        _add_wins(wins, block, margins(block, tolerance))
    ties = met - wins - wins.T
    np.fill_diagonal(ties, 0)
    return WinCounts(wins, ties)


def _add_wins(wins: Floats, block: Floats, bar: Floats) -> None:
    """Add the segments of one block: comparisons as bytes, summed eight at a time."""
    n, width = block.shape
    runs = -(-width // _WORDS)
    outcome = np.zeros((min(n, _ROWS), runs * _WORDS), dtype=bool)
    with np.errstate(invalid="ignore"):  # a comparison with NaN is no win
        for first in range(0, n, _ROWS):
            rivals = bar[first : first + _ROWS]
            m = len(rivals)
            words = outcome[:m].view(np.uint64).reshape(m, runs, -1)
            for i in range(n):
                np.greater(block[i], rivals, out=outcome[:m, :width])
                lanes = words.sum(axis=2).view(np.uint8)
                wins[i, first : first + m] += lanes.sum(axis=1)


def resampled_wins(scores: ArrayLike, counts: ArrayLike, *, tolerance: float = 0.0) -> WinCounts:
    """Count wins and ties in every resample of the segments, by matrix products.

    Parameters
    ----------
    scores
        Systems x segments, higher is better, NaN where missing.
    counts
        Resamples x segments: how often each segment occurs
        (:func:`steelyard.stats.resampling.bootstrap.segment_counts`), or any other weights.
    tolerance
        Differences of at most this are ties.

    Returns
    -------
    WinCounts
        Resamples x systems x systems; pass some resamples at a time where that is too much.

    Examples
    --------
    >>> counts = resampled_wins([[1.0, 5.0], [2.0, 4.0]], [[1, 1], [2, 0]])
    >>> counts.wins.tolist()
    [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]]]
    """
    x = checked_scores(scores, tolerance)
    weights = np.asarray(counts, dtype=np.float64)
    if weights.ndim != 2 or weights.shape[1] != x.shape[1]:
        raise ShapeError(f"{x.shape[1]} segments but counts of shape {weights.shape}")
    total = weights.sum(axis=1)
    small = bool((weights == np.rint(weights)).all()) and total.max(initial=0) < _EXACT
    kind: type[np.floating[Any]] = np.float32 if small else np.float64
    weights = weights.astype(kind)
    n = len(x)
    wins = np.zeros((len(weights), n, n))
    ties = np.zeros_like(wins)
    present = ~np.isnan(x)
    missing = not present.all()
    for i, j, won, lost in _outcomes(x, tolerance, kind):
        wins[:, i, j] = weights @ won.T
        decided = (won + lost) > 0
        # What is left is exact for counts; other weights would leave crumbs of rounding.
        if small and decided.all():
            wins[:, j, i] = total[:, None] - wins[:, i, j]
            continue
        wins[:, j, i] = weights @ lost.T
        if small and not missing:
            tied = total[:, None] - wins[:, i, j] - wins[:, j, i]
        else:
            tied = weights @ (present[i] & present[j] & ~decided).astype(kind).T
        ties[:, i, j] = ties[:, j, i] = tied
    return WinCounts(wins, ties)


def _outcomes(
    x: Floats, tolerance: float, kind: type[np.floating[Any]]
) -> Iterator[tuple[Counts, Counts, NDArray[np.floating[Any]], NDArray[np.floating[Any]]]]:
    """Yield chunks of pairs: i, j, and on which segments i won and j won, as 0 and 1."""
    rows, columns = np.triu_indices(len(x), 1)
    step = max(1, _CELLS // max(1, x.shape[1]))
    bar = margins(x, tolerance)
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        won, lost = np.empty((2, len(i), x.shape[1]), dtype=kind)
        edges = [0, *(np.flatnonzero(np.diff(i)) + 1).tolist(), len(i)]
        with np.errstate(invalid="ignore"):  # a comparison with NaN is no win
            for a, b in pairwise(edges):  # runs of one i: j is a range
                one, others = i[a], slice(j[a], j[b - 1] + 1)
                np.greater(x[one], bar[others], out=won[a:b])
                np.greater(x[others], bar[one], out=lost[a:b])
        yield i, j, won, lost


def checked_scores(scores: ArrayLike, tolerance: float) -> Floats:
    """Take scores as systems x segments, and a tolerance, or say what is wrong."""
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2:
        raise ShapeError(f"expected scores as systems x segments, got shape {x.shape}")
    check_number(0, tolerance=tolerance)
    return x


def margins(scores: Floats, tolerance: float) -> Floats:
    """Give what a rival must exceed to win: a lead of the tolerance, but for rounding, is a tie."""
    return scores + tolerance * _SLACK if tolerance else scores


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
        """Give wins and ties as systems x systems."""
        return pair_tables(self.i, self.j, self.n, self.wins_i, self.wins_j, self.ties)

    def within(self, members: Sequence[int]) -> PairWins:
        """Keep the pairs inside a group of systems, numbered from 0 in their order."""
        if tuple(members) == tuple(range(self.n)):
            return self
        place = np.full(self.n, -1)
        place[list(members)] = np.arange(len(members))
        i, j = place[self.i], place[self.j]
        keep = (i >= 0) & (j >= 0)
        columns = (self.wins_i[keep], self.wins_j[keep], self.ties[keep])
        return PairWins(i[keep], j[keep], *columns, len(members))


def pair_tables(
    i: Counts, j: Counts, n: int, first: Floats, second: Floats, tied: Floats
) -> WinCounts:
    """Make tables of what i won, what j won, and ties; there may be axes before that of pairs."""
    wins, ties = np.zeros((2, *first.shape[:-1], n, n))
    wins[..., i, j], wins[..., j, i] = first, second
    ties[..., i, j] = ties[..., j, i] = tied
    return WinCounts(wins, ties)


def pair_wins(wins: Floats, ties: Floats) -> PairWins:
    """List the pairs of a table (systems x systems) that met.

    Examples
    --------
    >>> pairs = pair_wins(np.array([[0.0, 3.0], [1.0, 0.0]]), np.zeros((2, 2)))
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.wins_i.tolist(), pairs.wins_j.tolist()
    ([0], [1], [3.0], [1.0])
    """
    i, j = np.nonzero(np.triu(wins + wins.T + ties, 1))
    return PairWins(i, j, wins[i, j], wins[j, i], ties[i, j], len(wins))


def expected_wins(counts: WinCounts, *, ties_as: str = "drop") -> Floats:
    """Mean over opponents of the share of battles won, as WMT ranked systems until 2013.

    Ties are left out (``drop``, WMT's rule) or half a win for either side (``half``). Opponents
    never met, or with ties left out never but tied with, take no part; NaN where none is left.

    Examples
    --------
    >>> counts = win_counts([[3.0, 5.0, 4.0, 1.0], [2.0, 5.0, 1.0, 2.0], [1.0, 1.0, 1.0, 3.0]])
    >>> expected_wins(counts).round(3).tolist()
    [0.708, 0.5, 0.292]
    """
    return row_means(win_share(counts, ties_as=ties_as))


def win_share(counts: WinCounts, *, ties_as: str = "half") -> Floats:
    """Share of the battles of each pair that the row won; NaN where they never met.

    ``half`` counts a tie as half a win, ``drop`` leaves ties out. The diagonal is NaN.

    Examples
    --------
    >>> win_share(win_counts([[1.0, 5.0, 4.0], [2.0, 5.0, 1.0]])).round(3).tolist()
    [[nan, 0.5], [0.5, nan]]
    """
    check_choice(("half", "drop"), ties_as=ties_as)
    half = counts.ties / 2 if ties_as == "half" else np.zeros_like(counts.ties)
    won = counts.wins + half
    return ratio(won, won + np.swapaxes(won, -1, -2))
