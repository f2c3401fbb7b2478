"""Many orders of the same battles at once, for ratings that depend on the order.

A rating that is updated battle by battle can follow many random orders at the same time: one vector
operation updates all of them. Battles of different systems do not touch each other either, so on
each segment all pairs are played in rounds of a tournament, in which every system plays once.

Ratings are numbers of systems, ``state``: numbers x systems x orders (a mean and a variance, say).
An ``Update`` changes, in place, those of many pairs after one battle each. It gets the numbers x 2
x pairs, the results (1: the first won, 0: a tie, -1: the second won), weights of the battles or
None, and whether any result is a tie.

Orders can also be played one after the other, by a loop over battles
(:mod:`steelyard.core.compiled`): that is faster for few of them, and for any number where it is
compiled. Both ways take the same steps, and give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core import compiled
from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.strength.battlelog import Battles, Codes, score_results
from steelyard.stats.strength.wins import checked_scores

Bools = NDArray[np.bool_]
Update = Callable[[Floats, Floats, Floats | None, bool], None]
Rated_co = TypeVar("Rated_co", covariant=True)
_FASTER = 4  # times that many orders together are faster than plain Python, at least
_ROWS = 2**19  # battles of one order prepared at a time
_CODE = 15  # bits of the code of a system: two, and a result, are 32
_LOOK = 2**14  # battles that are looked at for who plays, until everybody does
_CELLS = 300_000  # results of a log prepared at a time: they stay in the cache
_SEATS = 8_000_000  # numbers of seats drawn at a time
_TOGETHER = 64_000  # and so do ratings that are played at a time


def sequences(
    n_items: int,
    n_orders: int,
    rng: np.random.Generator,
    *,
    blocks: ArrayLike | None = None,
    resample: bool = False,
) -> NDArray[np.integer[Any]]:
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
    else:  # numbers half as long are shuffled alike, in half the time
        small = np.int32 if n < 2**31 else np.int64
        drawn = rng.permuted(np.tile(np.arange(n, dtype=small), (n_orders, 1)), axis=1)
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


class Rows(NamedTuple):
    """Battles of one order: codes of both, results as of an ``Update``, and weights or None."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    result: Floats
    weight: Floats | None


class OrderRating(Protocol[Rated_co]):
    """A way to rate that follows battles: the options of Elo and of TrueSkill are such.

    ``check`` refuses a log, or scores (None), that it can't take; ``start`` gives the state of so
    many systems and orders, ``update`` its :data:`Update`, ``finish`` what the ratings are in the
    end, given who played: systems x orders. ``play`` changes the state of one order, numbers x
    systems, by some battles one after the other; it is told which order it is, and the seconds that
    plain Python would take for all orders together. ``seconds`` is what it takes for a battle, and
    ``alone`` the number of orders of a log up to which it is no slower than all of them together.
    """

    @property
    def seconds(self) -> float: ...  # noqa: D102
    @property
    def alone(self) -> int: ...  # noqa: D102

    def check(self, battles: Battles | None) -> None: ...  # noqa: D102
    def start(self, n: int, n_orders: int) -> Floats: ...  # noqa: D102
    def update(self) -> Update: ...  # noqa: D102
    def play(self, state: Floats, rows: Rows, order: int, seconds: float) -> None: ...  # noqa: D102
    def finish(self, state: Floats, played: Bools) -> Rated_co: ...  # noqa: D102


def battles_in_orders(
    rating: OrderRating[Rated_co], battles: Battles, order: NDArray[np.integer[Any]]
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
    seconds = order.size * rating.seconds
    if len(order) <= rating.alone or compiled.worth(seconds / _FASTER):
        played = _play_apart(rating, state, battles, order)
    else:
        played = _play_battles(rating.update(), state, battles, order)
    return rating.finish(state, played)


def battles_in_time(rating: OrderRating[Rated_co], battles: Battles) -> Rated_co:
    """Rate systems in the order of a log, as :func:`battles_in_orders` does: one row of ratings."""
    rating.check(battles)
    state = rating.start(battles.n, 1)
    log = _Log.of(battles)
    own = np.ascontiguousarray(state[:, :, 0])
    for start in range(0, len(battles), _ROWS):
        rows = log.rows(slice(start, start + _ROWS))
        rating.play(own, rows, 0, len(battles) * rating.seconds)
    state[:, :, 0] = own
    return rating.finish(state, battles.met[:, None])


def scores_in_orders(
    rating: OrderRating[Rated_co],
    scores: ArrayLike,
    order: NDArray[np.integer[Any]],
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
    seconds = rating.seconds * order.size * n * (n - 1) / 2
    apart = not single and compiled.worth(seconds / _FASTER)
    for start in range(0, len(order), step):
        part = slice(start, start + step)
        some = np.ascontiguousarray(state[:, :, part])
        if apart:
            played_by = partial(rating.play, seconds=seconds)
            _play_scores_apart(played_by, some, columns, order[part], rng, tolerance, start)
        else:
            _play_scores(update, some, columns, order[part], rng, tolerance)
        state[:, :, part] = some
    known = ~np.isnan(columns[:, :n].T)
    meets = known & (known.sum(axis=0) >= 2)
    played = np.zeros((n, len(order)), dtype=bool)
    for system, segments in enumerate(meets):
        played[system] = segments[order].any(axis=1)
    return rating.finish(state, played)


class _Log(NamedTuple):
    """A log whose rows are gathered from anywhere, as many as fit into a number each.

    ``packed`` holds both codes and the result, where there are no other results than three.
    """

    left: Codes
    right: Codes
    result: Floats
    weight: Floats | None
    packed: NDArray[np.uint32] | None

    @classmethod
    def of(cls, battles: Battles) -> _Log:
        result = 2 * battles.outcome - 1
        whole = result.astype(np.int8)
        packed = None
        if battles.n < 2**_CODE and (whole == result).all():
            packed = battles.left.astype(np.uint32) << np.uint32(_CODE)
            packed |= battles.right.astype(np.uint32)
            packed <<= np.uint32(2)
            packed |= (whole + 1).astype(np.uint32)
        return cls(battles.left, battles.right, result, battles.weight, packed)

    def rows(self, part: NDArray[np.integer[Any]] | slice) -> Rows:
        """Give some battles as loops take them."""
        if not isinstance(part, slice):
            part = part.astype(np.intp, copy=False)
        weight = None if self.weight is None else self.weight[part]
        if self.packed is None or isinstance(part, slice):
            left, right = (
                side[part].astype(np.int32, copy=False) for side in (self.left, self.right)
            )
            return Rows(left, right, self.result[part], weight)
        code = self.packed.take(part)
        result = (code & np.uint32(3)).astype(np.float64)
        result -= 1
        code >>= np.uint32(2)
        right = (code & np.uint32(2**_CODE - 1)).view(np.int32)
        code >>= np.uint32(_CODE)
        return Rows(code.view(np.int32), right, result, weight)


def _play_apart(
    rating: OrderRating[Any], state: Floats, battles: Battles, order: NDArray[np.integer[Any]]
) -> Bools:
    """Play a log, one order after the other; the same as :func:`_play_battles`."""
    played = np.zeros((battles.n, len(order)), dtype=bool)
    log, all_met = _Log.of(battles), battles.met
    for o, row in enumerate(order):
        own, met = np.ascontiguousarray(state[:, :, o]), np.zeros(battles.n, dtype=bool)
        for start in range(0, len(row), _ROWS):
            part = row[start : start + _ROWS]
            rows = log.rows(part[part >= 0] if part.min() < 0 else part)
            for at in range(0, len(rows.left), _LOOK):
                if (met == all_met).all():
                    break
                some = slice(at, at + _LOOK)
                met[rows.left[some]] = met[rows.right[some]] = True
            rating.play(own, rows, o, order.size * rating.seconds)
        state[:, :, o], played[:, o] = own, met
    return played


def _play_battles(
    update: Update, state: Floats, battles: Battles, order: NDArray[np.integer[Any]]
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
    order: NDArray[np.integer[Any]],
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
    for segment in np.ascontiguousarray(order.T, dtype=np.int64):
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


def _play_scores_apart(
    play: Callable[[Floats, Rows, int], None],
    state: Floats,
    columns: Floats,
    order: NDArray[np.integer[Any]],
    rng: np.random.Generator,
    tolerance: float,
    number: int,
) -> None:
    """Play some orders, one after the other; the first has this number.

    Seats are those of :func:`_play_scores`, and so is what is found.
    """
    n, size = state.shape[1:]
    table = _tournament(columns.shape[1])[0]
    half = table.shape[1] // 2
    pairs = [side.ravel() for side in (table[:, :half], table[:, half:])]
    both = (pairs[0] < n) & (pairs[1] < n)  # nobody sits on the last seat of an odd number
    first, second = (side[both] for side in pairs)
    row = np.arange(n)[:, None].repeat(size, axis=1)
    drawn = np.empty((n, size), dtype=np.int64)
    small = np.uint16 if n <= 2**16 else np.int32
    chunk = max(1, min(order.shape[1], _SEATS // max(1, n * size), _ROWS // max(1, len(first))))
    seats = np.empty((size, chunk, n), dtype=small)
    own = [np.ascontiguousarray(state[:, :, o]) for o in range(size)]
    for start in range(0, order.shape[1], chunk):
        segments = order[:, start : start + chunk]
        for at in range(segments.shape[1]):
            rng.permuted(row, axis=0, out=drawn)
            seats[:, at] = drawn.T
        for o in range(size):
            seat = seats[o, : segments.shape[1]]
            seen = np.take_along_axis(columns[segments[o], :n], seat.astype(np.int64), axis=1)
            if tolerance:
                result = score_results(seen[:, first], seen[:, second], tolerance)
            else:
                result = seen[:, first]
                result -= seen[:, second]
                np.clip(result, -1, 1, out=result)
            left, right = seat[:, first], seat[:, second]
            known = ~np.isnan(result)
            if not known.all():
                left, right, result = left[known], right[known], result[known]
            rows = (left.ravel().astype(np.int32), right.ravel().astype(np.int32), result.ravel())
            play(own[o], Rows(*rows, None), number + o)
    for o, found in enumerate(own):
        state[:, :, o] = found


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
