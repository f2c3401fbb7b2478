"""Many orders of the same battles at once, for ratings that depend on the order.

A rating that is updated battle by battle can follow many random orders at the same time: one vector
operation updates all of them. Battles of different systems do not touch each other either, so on
each segment all pairs are played in rounds of a tournament, in which every system plays once.

Ratings are numbers of systems, ``state``: numbers x systems x orders (a mean and a variance, say).
An ``Update`` changes, in place, those of many pairs after one battle each. It gets the numbers x 2
x pairs, the results (1: the first won, 0: a tie, -1: the second won), weights of the battles or
None, and whether any result is a tie.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.errors import ShapeError, UsageError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.battles import Battles, score_results

Bools = NDArray[np.bool_]
Update = Callable[[Floats, Floats, Floats | None, bool], None]
_CELLS = 300_000  # results prepared at a time: they stay in the cache


def sequences(
    n_items: int,
    n_orders: int,
    rng: np.random.Generator,
    *,
    blocks: ArrayLike | None = None,
    resample: bool = False,
) -> NDArray[np.int64]:
    """Draw random orders of items: orders x items.

    Parameters
    ----------
    n_items
        Segments or battles.
    n_orders
        How many orders to draw.
    rng
        Where the randomness comes from.
    blocks
        Code of the block (a document, the prompt of a battle) that each item belongs to; blocks
        move as a whole, their items in the given order. None for items that move alone.
    resample
        Draw items or blocks with replacement: resamples in random order, for intervals. Rows of
        different lengths end in -1.

    Examples
    --------
    >>> import numpy as np
    >>> sequences(4, 2, np.random.default_rng(1), blocks=[0, 0, 1, 1]).tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    if n_orders < 1:
        raise UsageError(f"at least one order is needed, got {n_orders}")
    codes = np.arange(n_items) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    if codes.shape != (n_items,):
        raise ShapeError(f"{n_items} items but {codes.shape} block codes")
    n = int(codes.max(initial=-1)) + 1
    if resample:
        drawn = rng.integers(0, max(n, 1), size=(n_orders, n))
    else:
        drawn = rng.permuted(np.tile(np.arange(n), (n_orders, 1)), axis=1)
    if blocks is None:
        return drawn
    members = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=n)
    starts = np.cumsum(sizes) - sizes
    lengths = sizes[drawn]
    width = int(lengths.sum(axis=1).max(initial=0))
    result = np.full((n_orders, width), -1)
    for row, chosen, length in zip(result, drawn, lengths, strict=True):
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        row[: len(within)] = members[np.repeat(starts[chosen], length) + within]
    return result


def play_battles(
    update: Update, state: Floats, battles: Battles, order: NDArray[np.int64]
) -> Bools:
    """Play a log in many orders (see :func:`sequences`), one battle of each at a time.

    Changes ``state`` and tells who played: systems x orders.
    """
    size, length = order.shape
    flat = state.reshape(len(state), -1)
    base = np.arange(size)
    chunk = max(1, _CELLS // size)
    played = np.zeros((battles.n, size), dtype=bool)
    for start in range(0, length, chunk):
        now = np.ascontiguousarray(order[:, start : start + chunk].T)
        present = now >= 0
        places = np.stack([battles.left[now], battles.right[now]], axis=1) * size + base
        result = 2 * battles.outcome[now] - 1
        played.reshape(-1)[places[np.broadcast_to(present[:, None], places.shape)]] = True
        weight = None if battles.weight is None else battles.weight[now]
        if not present.all():
            weight = np.where(present, 1.0 if weight is None else weight, 0.0)
        ties = (result == 0).any(axis=1).tolist()
        for t, tied in enumerate(ties):
            own = flat.take(places[t], axis=1)
            update(own, result[t], None if weight is None else weight[t], tied)
            flat[:, places[t]] = own
    return played


def play_scores(
    update: Update,
    state: Floats,
    scores: Floats,
    order: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    tolerance: float = 0.0,
) -> Bools:
    """Play all pairs of systems on each segment, segments in many orders (see :func:`sequences`).

    In each order and segment, systems are seated at random in a round-robin tournament. Pairs that
    miss a score do not play. Changes ``state`` and tells who played: systems x orders.
    """
    n = len(scores)
    size, length = order.shape
    table, turn = _tournament(n + n % 2)
    half = table.shape[1] // 2
    flat = state.reshape(len(state), -1)
    own = np.repeat(state[:, :1], table.shape[1], axis=1)  # an odd number plays an empty seat
    columns = np.vstack([scores.T, np.full(n, np.nan)])  # nobody has a score where an order ended
    chunk = max(1, _CELLS // max(1, size * table.size))
    known = ~np.isnan(columns.T)
    meets = known & (known.sum(axis=0) >= 2)
    played = np.zeros((n, size), dtype=bool)
    for start in range(0, length, chunk):
        now = order[:, start : start + chunk].T
        seats = np.tile(np.arange(n)[:, None], (len(now), 1, size))
        seats = rng.permuted(seats, axis=1)
        seen = np.full((len(now), table.shape[1], size), np.nan)
        seen[:, :n] = columns[now[:, None], seats]
        places = seats * size + np.arange(size)
        result = score_results(seen[:, table[:, :half]], seen[:, table[:, half:]], tolerance)
        present = ~np.isnan(result)
        weight = None if present.all() else present.astype(np.float64)
        result[~present] = 0
        ties = ((result == 0) & present).any(axis=(2, 3)).tolist()
        for t, rounds in enumerate(ties):
            own[:, :n] = flat.take(places[t], axis=1)
            for r, tied in enumerate(rounds):
                pairs = own.reshape(len(own), 2, half, size)
                update(pairs, result[t, r], None if weight is None else weight[t, r], tied)
                own = own.take(turn, axis=1)
            flat[:, places[t]] = own[:, :n]
        played |= meets[:, now].any(axis=1)
    return played


def _tournament(m: int) -> tuple[Counts, Counts]:
    """Seat an even number of players: rounds x seats (those of one half meet those of the other).

    Round 0 has everybody on the own seat; ``turn`` leads from any round to the next, and after the
    last one everybody is back.
    """
    if m < 2:
        return np.empty((0, m), dtype=np.int64), np.arange(m)
    seats = np.concatenate(round_robin(m), axis=1)
    table = np.argsort(seats[0])[seats]
    return table, table[1 % len(table)]


def round_robin(n: int) -> tuple[Counts, Counts]:
    """Pair n players in rounds so that all pairs meet once: rounds x tables, twice.

    The circle method: one player stays, the others move on by one seat each round; with an odd
    number the one who meets the empty seat rests.

    Examples
    --------
    >>> first, second = round_robin(4)
    >>> [list(zip(a, b)) for a, b in zip(first.tolist(), second.tolist())]
    [[(3, 0), (1, 2)], [(3, 1), (2, 0)], [(3, 2), (0, 1)]]
    """
    if n < 2:
        return np.empty((0, 0), dtype=np.int64), np.empty((0, 0), dtype=np.int64)
    m = n + n % 2
    rounds = np.arange(m - 1)[:, None]
    k = np.arange(1, m // 2)
    first = np.concatenate([np.full_like(rounds, m - 1), (rounds + k) % (m - 1)], axis=1)
    second = np.concatenate([rounds, (rounds - k) % (m - 1)], axis=1)
    skip = n % 2
    return first[:, skip:], second[:, skip:]
