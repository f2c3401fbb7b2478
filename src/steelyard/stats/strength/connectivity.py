"""Which systems can be compared at all: strongly connected components of who beat whom.

Strengths of two systems have a finite ratio only if each has beaten the other, directly or through
others. Where a group has never lost to the rest, its lead is unbounded; where two groups never met,
the data do not order them. Components are the largest groups within which everything can be
compared; between them there is an order at best.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.strength.wins import PairWins

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Components:
    """Groups of comparable systems, best first where one is above the other.

    ``above`` is, per component, the number of systems in components above it; NaN where some
    component is neither above nor below it. ``main`` is the largest component; among equally large
    ones the one above the others, None if none is.
    """

    members: tuple[tuple[int, ...], ...]
    above: Floats
    main: int | None


def find_components(pairs: PairWins) -> Components:
    """Find what can be compared; ties, where there are any left to explain, connect both ways.

    A group in which no cycle has more wins than ties has no finite fit either (a lead and a
    tendency to tie can grow together without end), so that its ties do not connect.
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

    It has one unless levels can be given to the systems so that every win spans at least one level
    and every tie at most one: a system of difference constraints, which fails if and only if some
    cycle has more wins than ties. Where nobody won, or nothing tied, nothing is traded off.
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


def _strong_components(winner: Counts, loser: Counts, n: int) -> Components:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(winner), dtype=np.int8), (winner, loser)), shape=(n, n))
    _, labels = connected_components(graph.tocsr(), directed=True, connection="strong")
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

    While a component is the only one at the top, everything that is left is below it; for others
    the number is NaN.
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
