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
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.strength.battlelog import Battles, score_results
from steelyard.stats.strength.wins import checked_scores

Bools = NDArray[np.bool_]
Update = Callable[[Floats, Floats, Floats | None, bool], None]
Rated_co = TypeVar("Rated_co", covariant=True)
_CELLS = 300_000  # results of a log prepared at a time: they stay in the cache
_TOGETHER = 64_000  # and so do ratings that are played at a time


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


class OrderRating(Protocol[Rated_co]):
    """A way to rate that follows battles: the options of Elo and of TrueSkill are such.

    ``check`` refuses a log, or scores (None), that it can't take; ``start`` gives the state of so
    many systems and orders, ``update`` its :data:`Update`, ``finish`` what the ratings are in the
    end, given who played: systems x orders.
    """

    def check(self, battles: Battles | None) -> None: ...  # noqa: D102
    def start(self, n: int, n_orders: int) -> Floats: ...  # noqa: D102
    def update(self) -> Update: ...  # noqa: D102
    def finish(self, state: Floats, played: Bools) -> Rated_co: ...  # noqa: D102


def battles_in_orders(
    rating: OrderRating[Rated_co], battles: Battles, order: NDArray[np.int64]
) -> Rated_co:
    """Rate systems in many orders of a log (see :func:`sequences`), one battle of each at a time.

    Examples
    --------
    >>> from steelyard.stats.strength.elo import EloOptions
    >>> log = Battles(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.0]), n=2)
    >>> battles_in_orders(EloOptions(), log, np.array([[0, 1], [1, 0]])).round(3).tolist()
    [[1499.425, 1500.575], [1500.575, 1499.425]]
    """
    rating.check(battles)
    state = rating.start(battles.n, len(order))
    played = _play_battles(rating.update(), state, battles, order)
    return rating.finish(state, played)


def scores_in_orders(
    rating: OrderRating[Rated_co],
    scores: ArrayLike,
    order: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    tolerance: float = 0.0,
    single: bool = False,
) -> Rated_co:
    """Rate systems by scores (systems x segments) in many orders of the segments.

    All pairs meet on every segment: in each order and segment, systems are seated at random in a
    round-robin tournament. Pairs that miss a score do not play. In ``single`` precision this is
    thrice as fast, and right to a thousandth of a point.

    Examples
    --------
    >>> from steelyard.stats.strength.elo import EloOptions
    >>> rng = np.random.default_rng(0)
    >>> scores, order = [[2.0, 3.0], [1.0, 1.0]], np.array([[1, 0]])
    >>> scores_in_orders(EloOptions(), scores, order, rng).round(2).tolist()
    [[1519.42, 1480.58]]
    """
    rating.check(None)
    x = checked_scores(scores, tolerance)
    state: Floats = rating.start(len(x), len(order)).astype(np.float32 if single else np.float64)
    update = rating.update()
    n = len(x)
    seated = n + n % 2  # an odd number plays an empty seat
    # One more segment and seat, where nobody has a score: an order may have ended.
    columns = np.full((x.shape[1] + 1, seated), np.nan)
    columns[:-1, :n] = x.T
    if not tolerance:  # only the order of scores matters, and small numbers are faster
        columns = _places(columns).astype(state.dtype)
    step = max(1, _TOGETHER // max(1, seated))
    for start in range(0, len(order), step):
        part = slice(start, start + step)
        some = np.ascontiguousarray(state[:, :, part])
        _play_scores(update, some, columns, order[part], rng, tolerance)
        state[:, :, part] = some
    known = ~np.isnan(columns[:, :n].T)
    meets = known & (known.sum(axis=0) >= 2)
    played = np.zeros((n, len(order)), dtype=bool)
    for system, segments in enumerate(meets):
        played[system] = segments[order].any(axis=1)
    return rating.finish(state, played)


def _play_battles(
    update: Update, state: Floats, battles: Battles, order: NDArray[np.int64]
) -> Bools:
    """Play a log; changes ``state`` and tells who played: systems x orders."""
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


def _places(columns: Floats) -> Floats:
    """Number the different scores of each row from the lowest; NaN stays NaN."""
    order = np.argsort(columns, axis=1)
    ascending = np.take_along_axis(columns, order, axis=1)
    place = np.zeros(columns.shape)
    place[:, 1:] = np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1)
    result = np.empty(columns.shape)
    np.put_along_axis(result, order, place, axis=1)
    return np.where(np.isnan(columns), np.nan, result)


def _play_scores(
    update: Update,
    state: Floats,
    columns: Floats,
    order: NDArray[np.int64],
    rng: np.random.Generator,
    tolerance: float,
) -> None:
    """Play some orders, few enough to stay in the cache, segment by segment."""
    n, size = state.shape[1:]
    table, turn = _tournament(columns.shape[1])
    half = table.shape[1] // 2
    flat = state.reshape(len(state), -1)
    own = np.repeat(state[:, :1], table.shape[1], axis=1)
    turned = np.empty_like(own)
    everybody = bool(n == table.shape[1] and not np.isnan(columns[:-1]).any() and order.min() >= 0)
    seats, row = np.empty((n, size), dtype=np.int64), np.arange(n)[:, None].repeat(size, axis=1)
    seen = np.full((table.shape[1], size), np.nan, dtype=columns.dtype)
    first, second = np.empty((2, len(table), half, size), dtype=columns.dtype)
    weight = None
    for segment in np.ascontiguousarray(order.T):
        rng.permuted(row, axis=0, out=seats)
        columns.take(segment * columns.shape[1] + seats, out=seen[:n], mode="wrap")
        seen.take(table[:, :half], axis=0, out=first, mode="clip")
        seen.take(table[:, half:], axis=0, out=second, mode="clip")
        if tolerance:
            result = score_results(first, second, tolerance).astype(state.dtype)
        else:  # places differ by whole numbers
            result = np.clip(np.subtract(first, second, out=first), -1, 1, out=first)
        tied = (result == 0).reshape(len(result), -1).any(axis=1).tolist()
        if not everybody:
            present = ~np.isnan(result)
            weight = present.astype(state.dtype)
            result[~present] = 0
        places = seats * size + np.arange(size)
        flat.take(places, axis=1, out=own[:, :n], mode="clip")
        for r, some in enumerate(tied):
            pairs = own.reshape(len(own), 2, half, size)
            update(pairs, result[r], None if weight is None else weight[r], some)
            own.take(turn, axis=1, out=turned, mode="clip")
            own, turned = turned, own
        flat[:, places] = own[:, :n]


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
