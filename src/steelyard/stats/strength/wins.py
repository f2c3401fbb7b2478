"""Who beats whom, how often: from scores of the same segments, or from a log of battles.

``wins[i, j]`` counts the segments or battles that i won against j, ``ties[i, j]`` (symmetric) those
that nobody won. Segments that only one of the two has count nowhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, group_sums, ratio, row_means, weighted_sums

if TYPE_CHECKING:
    from scipy.sparse import csc_array

Codes = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
_EXACT = 2**24  # single precision counts exactly up to here
_SLACK = 1 + 1e-9  # a difference that equals the tolerance but for rounding is a tie
_TOGETHER = 8  # systems whose wins are counted in one pass over many counts
_MOST_TABLED = 2_000  # systems up to which the pairs of a log are counted in a table
_FEW = 150  # systems up to which components come from a table of who reaches whom
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

    Opponents that a system never met, or only tied with if ties are dropped, are excluded.
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
    """Count wins and ties of all pairs of systems, segment by segment; NaN is missing.

    Differences of at most the tolerance are ties.
    """
    counts = resampled_wins(scores, None, tolerance=tolerance)
    return WinCounts(counts.wins[0], counts.ties[0])


def resampled_wins(scores: Floats, counts: Floats | None, *, tolerance: float = 0.0) -> WinCounts:
    """Count wins and ties in every resample: resamples x systems x systems.

    ``counts`` says how often each segment occurs, resamples x segments; None takes each once.
    """
    n, size = scores.shape
    bar, present = margins(scores, tolerance), ~np.isnan(scores)
    total = np.full(1, size) if counts is None else counts.sum(axis=1, dtype=np.int64)
    in_bytes = counts is not None and counts.dtype == np.uint8
    kind: Any = np.float32 if total.max(initial=0) < _EXACT else np.float64
    weights = None if counts is None or in_bytes else counts.astype(kind)

    def add_up(segments: NDArray[np.bool_]) -> Floats:
        flat = segments.reshape(len(segments) * n, size)
        if counts is not None and in_bytes:
            sums = weighted_sums(counts, flat.T.view(np.uint8))
        elif weights is None:
            sums = np.asarray(np.count_nonzero(flat, axis=1), dtype=np.float64)
        else:
            sums = weights @ flat.T.astype(kind)
        return np.asarray(sums).reshape(len(total), len(segments), n)

    wins, met = np.empty((2, len(total), n, n))
    met[:] = total[:, None, None]
    step = _TOGETHER if in_bytes else 1  # a pass over many counts costs more than a sum
    for i in range(0, n, step):
        rows = slice(i, i + step)
        wins[:, rows] = add_up(scores[rows, None] > bar)  # a comparison with NaN is no win
        if not present.all():
            met[:, rows] = add_up(present[rows, None] & present)
    ties = met - wins - np.swapaxes(wins, 1, 2)
    ties[:, np.arange(n), np.arange(n)] = 0
    return WinCounts(wins, ties)


# ------------------------------------------------------------------------- from a log of battles


@dataclass(frozen=True, slots=True)
class Battles:
    """Duels as columns: ``left`` met ``right``."""

    left: Codes
    right: Codes
    outcome: Floats  # left's score: 1, 0, 0.5 (a tie), or any other share of a win
    n: int  # systems
    weight: Floats | None = None  # None: all count once

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

    Every battle occurs a Poisson-distributed number of times, once on average. Only for battles
    that have nothing in common; else resample what they share (:class:`UnitCounts`).
    """
    cells = np.stack([counts.wins, np.triu(counts.ties)])
    if (cells != np.rint(cells)).any():
        raise UsageError("battles with weights can't be resampled one by one; resample units")
    drawn = np.zeros((n_resamples, *cells.shape))
    full = cells > 0
    drawn[:, full] = rng.poisson(cells[full], (n_resamples, int(full.sum())))
    ties = drawn[:, 1]
    return WinCounts(drawn[:, 0], ties + np.swapaxes(ties, 1, 2))


# ------------------------------------------------------------------------- what can be compared
#
# Strengths of two systems have a finite ratio only if each has beaten the other, be it through
# others: within a strongly connected component of who beat whom. Between components there is an
# order at best.


@dataclass(frozen=True, slots=True)
class Components:
    """Groups of comparable systems, best first where one is above the other."""

    members: tuple[tuple[int, ...], ...]
    above: Floats  # systems in components above each; NaN if some are neither above nor below
    main: int | None  # the largest, or among equals the one above the others


def find_components(pairs: PairWins) -> Components:
    """Find what can be compared; ties, where there are any left to explain, connect both ways.

    Ties do not connect a group that has no finite fit (:func:`_ties_can_be_fitted`).
    """
    connects = pairs.ties > 0
    groups = _linked(pairs, connects)
    if not connects.any():
        return groups
    for members in groups.members:
        if len(members) > 1 and not _ties_can_be_fitted(pairs.within(members)):
            connects &= ~np.isin(pairs.i, members)
    return _linked(pairs, connects)


def _linked(pairs: PairWins, connects: Bools) -> Components:
    n = pairs.n
    first, second = (pairs.wins_i > 0) | connects, (pairs.wins_j > 0) | connects
    if n and len(first) == n * (n - 1) // 2 and first.all() and second.all():
        return Components((tuple(range(n)),), np.zeros(1), 0)
    winner = np.concatenate([pairs.i[first], pairs.j[second]])
    loser = np.concatenate([pairs.j[first], pairs.i[second]])
    return _strong_components(winner, loser, n)


def _ties_can_be_fitted(pairs: PairWins) -> bool:
    """Return whether a model of ties has a finite maximum within a connected group.

    It has none if systems have levels such that every win spans at least one and every tie at most
    one: difference constraints, which fail if and only if some cycle has more wins than ties.
    """
    ahead, behind, tied = pairs.wins_i > 0, pairs.wins_j > 0, pairs.ties > 0
    if not tied.any() or not (ahead | behind).any() or (ahead & behind).any():
        return True
    source = np.concatenate([pairs.i[ahead], pairs.j[behind], pairs.i[tied], pairs.j[tied]])
    target = np.concatenate([pairs.j[ahead], pairs.i[behind], pairs.j[tied], pairs.i[tied]])
    n_wins = int(ahead.sum() + behind.sum())
    span = np.where(np.arange(len(source)) < n_wins, -1, 1)
    level = np.zeros(pairs.n, dtype=np.int64)
    while level.min() > -pairs.n:  # no simple path is longer
        before = level.copy()
        np.minimum.at(level, target, before[source] + span)
        if (level == before).all():
            return False
    return True


def _component_of(winner: Counts, loser: Counts, n: int) -> Counts:
    """Return the number of the strongly connected component of each system."""
    if 0 < n <= _FEW:  # SciPy's graphs take longer to load
        reached = np.eye(n, dtype=bool)
        reached[winner, loser] = True
        while (reached != (further := reached @ reached)).any():
            reached = further
        return np.unique((reached & reached.T).argmax(axis=1), return_inverse=True)[1]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(winner), dtype=np.int8), (winner, loser)), shape=(n, n))
    return np.asarray(connected_components(graph.tocsr(), directed=True, connection="strong")[1])


def _strong_components(winner: Counts, loser: Counts, n: int) -> Components:
    labels = _component_of(winner, loser, n)
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if n else []
    higher, lower = labels[winner], labels[loser]
    across = higher != lower
    edges = np.unique(np.stack([higher[across], lower[across]], axis=1), axis=0)
    below: list[list[int]] = [[] for _ in groups]
    over: list[list[int]] = [[] for _ in groups]
    for a, b in edges.tolist():
        below[a].append(b)
        over[b].append(a)
    sizes = [len(group) for group in groups]
    first = [int(group[0]) for group in groups]
    ranking, reached = _peel(below, over, sizes, first)
    _, led = _peel(over, below, sizes, first)
    # All that can be compared with a component is below it or above it.
    above = [
        float(led[c]) if reached[c] + led[c] + sizes[c] == n else np.nan for c in range(len(groups))
    ]
    return Components(
        tuple(tuple(groups[c].tolist()) for c in ranking),
        np.array([above[c] for c in ranking]),
        _main([sizes[c] for c in ranking], ranking, below),
    )


def _peel(
    below: list[list[int]], over: list[list[int]], sizes: list[int], first: list[int]
) -> tuple[list[int], list[float]]:
    """Take components off the top one by one: their order, and how many systems each is above.

    Only while a component is alone at the top is all that is left below it; else NaN.
    """
    waiting = [len(higher) for higher in over]
    top = [(first[c], c) for c, count in enumerate(waiting) if not count]
    heapq.heapify(top)
    left = sum(sizes)
    order: list[int] = []
    under = [np.nan] * len(sizes)
    while top:
        alone = len(top) == 1
        _, c = heapq.heappop(top)
        order.append(c)
        left -= sizes[c]
        if alone:
            under[c] = float(left)
        for lower in below[c]:
            waiting[lower] -= 1
            if not waiting[lower]:
                heapq.heappush(top, (first[lower], lower))
    return order, under


def _main(sizes: list[int], ranking: list[int], below: list[list[int]]) -> int | None:
    """Choose the component whose strengths are reported, as a position in the ranking."""
    largest = [position for position, size in enumerate(sizes) if size == max(sizes)]
    if len(largest) < 2:
        return largest[0] if largest else None
    rivals = {ranking[position] for position in largest[1:]}
    seen = {ranking[largest[0]]}
    stack = list(seen)
    while stack:
        new = [c for c in below[stack.pop()] if c not in seen]
        seen.update(new)
        stack.extend(new)
    return largest[0] if rivals <= seen else None


def all_connected(beats: Bools) -> Bools:
    """Return whether each of many graphs (graphs x systems x systems) is strongly connected."""
    size, n = beats.shape[:2]
    if n < 2:
        return np.ones(size, dtype=bool)
    off = ~np.eye(n, dtype=bool)
    result: Bools = np.asarray((beats | ~off).all(axis=(1, 2)))
    rest = np.flatnonzero(~result)
    graph = beats[rest]
    result[rest] = _spreads(graph) & _spreads(np.swapaxes(graph, 1, 2))
    return result


def _spreads(graph: Bools) -> Bools:
    """Return whether the first system reaches all the others."""
    reached = np.zeros(graph.shape[:2], dtype=bool)
    reached[:, :1] = True
    while True:
        wider = reached | (graph & reached[:, :, None]).any(axis=1)
        if (wider == reached).all():
            return np.asarray(reached.all(axis=1))
        reached = wider
