r"""Elo and TrueSkill: ratings that every battle updates, in one or in many orders of the battles.

Elo moves both ratings towards the outcome, with the score s of i (1, 0.5, 0) and the weight w:

.. math:: R_i \mathrel{+}= K w (s - E), \quad R_j \mathrel{-}= K w (s - E), \quad
          E = \frac{1}{1 + 10^{(R_j - R_i)/400}}.

TrueSkill takes a skill as a normal distribution. A duel compares two performances, skill plus noise
of deviation ``beta``, and ties if they differ by at most a margin, which makes equals tie with
``draw_probability``. Before a duel ``tau`` widens both skills, after it they are conditioned on the
outcome. With :math:`c^2 = 2\beta^2 + \sigma_i^2 + \sigma_j^2`, i the winner,

.. math:: \mu_i \mathrel{+}= \frac{\sigma_i^2}{c} v, \quad \mu_j \mathrel{-}= \frac{\sigma_j^2}{c}
          v, \quad \sigma^2 \mathrel{\times}= 1 - \frac{\sigma^2}{c^2} w,

where v and w are the shift of the mean and the loss of variance of a standard normal that the
outcome truncates. A win at a lead x over the margin has :math:`v = \varphi(x) / \Phi(x)`,
:math:`w = v (v + x)`. A tie at a lead t within the margin e, :math:`h = e - |t|`,
:math:`l = -e - |t|`, has the densities at both ends and moments

.. math:: a_h = \frac{1}{1 / v(h) - r / v(l)}, \quad a_l = r a_h, \quad r = e^{-2 e |t|}, \quad
          v = a_l - a_h, \quad w = v^2 + h a_h - l a_l.

The last battles count most, so report the mean and spread over random orders. Orders are an axis of
the state (numbers x systems x orders): one array operation updates all of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import UsageError
from steelyard.core.options import check_number, check_share
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.distributions import expit, ndtr, ndtri
from steelyard.stats.strength.wins import Battles, score_results

Bools = NDArray[np.bool_]
Orders = NDArray[np.integer[Any]]
_FEW_ORDERS = 50  # below this a loop over battles is faster than arrays (up to 40 times)
_BATTLES = 300_000  # battles of a log gathered at a time: they stay in the cache
_DRAWN = 64_000  # seats x orders drawn at a time
_SEATS = 32_000  # and played at a time: arrays of 64 KB stay in the cache
_ROOT = math.sqrt(2 * math.pi)
_FAR = -10.0  # leads below this divide the density by the tail as one function
_NARROW = 1e-4  # margins up to this are taken as their limit: an error of 1e-14


class Ratings(NamedTuple):
    """Ratings of orders x systems, NaN without a battle; ``sigma`` are TrueSkill's deviations."""

    scores: Floats
    sigma: Floats | None = None


class SequentialRating(ABC):
    """A rating that is updated battle by battle. Results are 1 (won), 0 (a tie), -1 (lost)."""

    @abstractmethod
    def check(self, battles: Battles | None) -> None:
        """Refuse a log, or scores (None), that the model does not cover."""

    @abstractmethod
    def start(self, n: int, n_orders: int) -> Floats:
        """Return the state before the first battle: numbers x systems x orders."""

    @abstractmethod
    def update(self, pairs: Floats, result: Floats, weight: Floats | None) -> None:
        """Update pairs (numbers x 2 x ...) in place, after one battle each."""

    @abstractmethod
    def play(self, state: list[list[float]], battles: Iterator[tuple[Any, ...]]) -> None:
        """Update the state of one order by (left, right, result, weight), battle after battle."""

    @abstractmethod
    def finish(self, state: Floats, played: Bools) -> Ratings:
        """Return the ratings of a state; ``played`` is systems x orders."""

    @abstractmethod
    def chance(self, lead: Floats, sigma: ArrayLike, other: ArrayLike) -> Floats:
        """Return the chance to win with this lead, given the deviations of both systems."""

    def win_probability(self, ratings: Ratings) -> Floats:
        """Return the probability that the row beats the column, for one row of ratings."""
        scores = np.asarray(ratings.scores, dtype=np.float64)
        sigma = np.zeros_like(scores) if ratings.sigma is None else np.asarray(ratings.sigma)
        return self.chance(scores[:, None] - scores, sigma[:, None], sigma)


@dataclass(frozen=True, slots=True)
class EloOptions(SequentialRating):
    """Constants: ``k`` moves ratings per battle, ``scale`` is the lead with odds ``base`` to 1."""

    k: float = 20.0
    initial: float = 1500.0
    scale: float = 400.0
    base: float = 10.0

    def __post_init__(self) -> None:
        check_number(0, strict=True, k=self.k, scale=self.scale)
        check_number(1, strict=True, base=self.base)
        check_number(initial=self.initial)

    @property
    def slope(self) -> float:
        """Log odds of a win per point of lead."""
        return math.log(self.base) / self.scale

    def check(self, battles: Battles | None) -> None:
        """Accept any log, and scores."""

    def start(self, n: int, n_orders: int) -> Floats:
        """Return points above the initial rating."""
        return np.zeros((1, n, n_orders))

    def update(self, pairs: Floats, result: Floats, weight: Floats | None) -> None:
        """Update pairs: s - E is half of the result minus a tanh of the lead."""
        first, second = pairs[0]
        move = first - second
        move *= self.slope / 2
        np.subtract(result, np.tanh(move, out=move), out=move)
        move *= self.k / 2 if weight is None else self.k / 2 * weight
        first += move
        second -= move

    def play(self, state: list[list[float]], battles: Iterator[tuple[Any, ...]]) -> None:
        """Update one order, battle after battle."""
        points = state[0]
        slope, half, tanh = self.slope / 2, self.k / 2, math.tanh
        for i, j, result, weight in battles:
            move = half * weight * (result - tanh(slope * (points[i] - points[j])))
            points[i] += move
            points[j] -= move

    def finish(self, state: Floats, played: Bools) -> Ratings:
        """Return ratings."""
        return Ratings(np.where(played, self.initial + state[0], np.nan).T)

    def chance(self, lead: Floats, sigma: ArrayLike = 0.0, other: ArrayLike = 0.0) -> Floats:  # noqa: ARG002
        """Return the expected score with a lead of so many points."""
        return np.asarray(expit(self.slope * lead))


@dataclass(frozen=True, slots=True)
class TrueSkillOptions(SequentialRating):
    """Constants of the model; the defaults are those of TrueSkill's authors."""

    mu: float = 25.0
    sigma: float = 25.0 / 3
    beta: float = 25.0 / 6
    tau: float = 25.0 / 300
    draw_probability: float = 0.1

    def __post_init__(self) -> None:
        check_number(mu=self.mu)
        check_number(0, strict=True, sigma=self.sigma, beta=self.beta)
        check_number(0, tau=self.tau)
        check_share(draw_probability=self.draw_probability)

    @property
    def margin(self) -> float:
        """Difference of performances up to which a duel is a tie."""
        return _equal_margin(self.draw_probability) * self.beta

    def check(self, battles: Battles | None) -> None:
        """Refuse weights, shares of a win, and ties where the draw probability is 0."""
        if battles is None:
            if not self.draw_probability:
                raise UsageError(
                    "TrueSkill on scores needs a draw probability above 0: scores can tie"
                )
            return
        tied = battles.outcome == 0.5
        if not (tied | (battles.outcome == 0) | (battles.outcome == 1)).all():
            raise UsageError(
                "TrueSkill knows wins, losses and ties (1, 0 and 0.5), no other outcome"
            )
        if battles.weight is not None and (battles.weight != 1).any():
            raise UsageError("TrueSkill has no weights: repeat the battles instead")
        if tied.any() and not self.draw_probability:
            raise UsageError("there are ties, which a draw probability of 0 rules out")

    def start(self, n: int, n_orders: int) -> Floats:
        """Return means and variances."""
        first = np.array([self.mu, self.sigma**2])
        return np.tile(first[:, None, None], (1, n, n_orders))

    def update(self, pairs: Floats, result: Floats, weight: Floats | None) -> None:
        """Update pairs; a weight is 1, or 0 for a pair that does not meet."""
        mu, variance = pairs
        variance += self.tau**2 if weight is None else self.tau**2 * weight
        precision = variance[0] + variance[1]
        precision += 2 * self.beta**2
        np.divide(1, precision, out=precision)
        scale = np.sqrt(precision)
        lead = mu[0] - mu[1]
        x = result * lead
        x -= self.margin
        x *= scale
        ties = np.flatnonzero(result == 0)
        if len(ties):
            t, e = lead.take(ties) * scale.take(ties), self.margin * scale.take(ties)
            x.reshape(-1)[ties] = e - np.abs(t)
        v = _hazard(x)
        w = v + x
        w *= v
        np.minimum(w, 1, out=w)
        if len(ties):
            v_tied, w_tied = _tied(v.take(ties), t, e)
            w.reshape(-1)[ties] = w_tied
        v *= result  # as the first of the pair sees it
        if len(ties):
            v.reshape(-1)[ties] = v_tied
        if weight is not None:
            v *= weight
            w *= weight
        v *= scale
        w *= precision
        move = scale  # not needed any more
        for side, change in enumerate((np.add, np.subtract)):
            change(mu[side], np.multiply(variance[side], v, out=move), out=mu[side])
            np.multiply(variance[side], w, out=move)
            variance[side] *= np.subtract(1, move, out=move)

    def play(self, state: list[list[float]], battles: Iterator[tuple[Any, ...]]) -> None:
        """Update one order, duel after duel."""
        mu, variance = state
        noise, drift, margin, sqrt = 2 * self.beta**2, self.tau**2, self.margin, math.sqrt
        for i, j, result, _ in battles:
            wide_i, wide_j = variance[i] + drift, variance[j] + drift
            scale = 1 / sqrt(wide_i + wide_j + noise)
            lead, edge = (mu[i] - mu[j]) * scale, margin * scale
            if result:
                x = result * lead - edge
                v = _hazard_of(x)
                w = min(v * (v + x), 1.0) * scale * scale
                v *= result * scale
            else:
                v, w = _tied_one(lead, edge)
                v, w = v * scale, w * scale * scale
            mu[i] += wide_i * v
            mu[j] -= wide_j * v
            variance[i] = wide_i * (1 - wide_i * w)
            variance[j] = wide_j * (1 - wide_j * w)

    def finish(self, state: Floats, played: Bools) -> Ratings:
        """Return means and deviations."""
        mu, variance = np.where(played, state, np.nan)
        return Ratings(mu.T, np.sqrt(variance).T)

    def chance(self, lead: Floats, sigma: ArrayLike, other: ArrayLike) -> Floats:
        """Return the chance of the better performance, ties aside."""
        variance = np.square(sigma) + np.square(other)
        return np.asarray(ndtr(lead / np.sqrt(2 * self.beta**2 + variance)))


@cache
def _equal_margin(draw_probability: float) -> float:
    """Return the margin within which equals of beta 1 tie so often."""
    return float(ndtri((draw_probability + 1) / 2)) * math.sqrt(2)


def _hazard(x: Floats) -> Floats:
    """Return v of a win, the normal density over the normal tail."""
    from scipy import special

    v = x * x
    v *= -0.5
    np.exp(v, out=v)
    tail = special.ndtr(x)
    tail *= _ROOT
    v /= tail
    if x.min(initial=0.0) < _FAR:  # where digits get lost, and both are 0 beyond -38
        far = x < _FAR
        v[far] = math.sqrt(2 / math.pi) / special.erfcx(x[far] * -math.sqrt(0.5))
    return v


def _tied(at_high: Floats, t: Floats, e: Floats) -> tuple[Floats, Floats]:
    """Return v and w of ties, from v at the upper end of the margin."""
    size = np.abs(t)
    low, high = -e - size, e - size
    at_low, ratio = _hazard(low), np.exp(-2 * e * size)
    at_high = at_low * at_high / (at_low - at_high * ratio)
    at_low = at_high * ratio
    v = at_low - at_high
    w = v * v + high * at_high - low * at_low
    if e.min() <= _NARROW:
        narrow, limit = e <= _NARROW, 1 - e * e / 3
        v, w = np.where(narrow, -size * limit, v), np.where(narrow, limit, w)
    return np.copysign(v, -t), w


def _hazard_of(x: float) -> float:
    """Return v of one win: :func:`_hazard` of a number, 20 times as fast."""
    if x < _FAR:
        from scipy.special import erfcx

        return math.sqrt(2 / math.pi) / float(erfcx(-x * math.sqrt(0.5)))
    return 2 * math.exp(-0.5 * x * x) / (_ROOT * math.erfc(-x * math.sqrt(0.5)))


def _tied_one(t: float, e: float) -> tuple[float, float]:
    """Return v and w of one tie: :func:`_tied` of numbers."""
    size = abs(t)
    if e <= _NARROW:
        v, w = -size * (1 - e * e / 3), 1 - e * e / 3
    else:
        low, high, ratio = -e - size, e - size, math.exp(-2 * e * size)
        at_low, at_high = _hazard_of(low), _hazard_of(high)
        at_high = at_low * at_high / (at_low - at_high * ratio)
        at_low = at_high * ratio
        v = at_low - at_high
        w = v * v + high * at_high - low * at_low
    return (v if t >= 0 else -v), w


def sequences(
    n_items: int,
    n_orders: int,
    rng: np.random.Generator,
    *,
    blocks: ArrayLike | None = None,
    resample: bool = False,
) -> Orders:
    """Draw random orders of segments or battles: orders x items.

    Items with the same code in ``blocks`` (a document, a prompt) move as a whole, in their order.
    With ``resample`` items or blocks are drawn with replacement, for intervals; rows of different
    lengths end in -1.
    """
    codes = np.arange(n_items) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    n = int(codes.max(initial=-1)) + 1
    if resample:
        drawn = rng.integers(0, max(n, 1), size=(n_orders, n))
    else:  # 32 bits are shuffled alike, in half the time
        drawn = rng.permuted(np.tile(np.arange(n, dtype=np.int32), (n_orders, 1)), axis=1)
    if blocks is None:
        return drawn
    members = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=n)
    starts = np.cumsum(sizes) - sizes
    lengths = sizes[drawn]
    result = np.full((n_orders, int(lengths.sum(axis=1).max(initial=0))), -1)
    for row, chosen, length in zip(result, drawn, lengths, strict=True):
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        row[: len(within)] = members[np.repeat(starts[chosen], length) + within]
    return result


def battles_in_time(rating: SequentialRating, battles: Battles) -> Ratings:
    """Rate systems in the order of a log."""
    rated = battles_in_orders(rating, battles, np.arange(len(battles))[None])
    return Ratings(rated.scores[0], None if rated.sigma is None else rated.sigma[0])


def battles_in_orders(rating: SequentialRating, battles: Battles, order: Orders) -> Ratings:
    """Rate systems in many orders of a log (:func:`sequences`)."""
    rating.check(battles)
    state = rating.start(battles.n, len(order))
    played = np.zeros((battles.n, len(order)), dtype=bool)
    result = 2 * battles.outcome - 1
    weight = np.ones(len(battles)) if battles.weight is None else battles.weight
    if len(order) < _FEW_ORDERS:
        for o, row in enumerate(order):
            numbers = state[:, :, o].tolist()
            for start in range(0, len(row), _BATTLES):
                part = row[start : start + _BATTLES]
                part = part[part >= 0]
                columns = (battles.left[part], battles.right[part], result[part], weight[part])
                played[columns[0], o] = played[columns[1], o] = True
                rating.play(numbers, zip(*(column.tolist() for column in columns), strict=True))
            state[:, :, o] = numbers
        return rating.finish(state, played)
    flat, base = state.reshape(len(state), -1), np.arange(len(order))
    step = max(1, _BATTLES // len(order))
    for start in range(0, order.shape[1], step):
        part = np.ascontiguousarray(order[:, start : start + step].T)
        present = part >= 0
        cells = np.stack([battles.left[part], battles.right[part]], axis=1) * len(order) + base
        played.reshape(-1)[cells[np.broadcast_to(present[:, None], cells.shape)]] = True
        weights = np.where(present, weight[part], 0.0)
        weighted = bool((weights != 1).any())
        for row, results, often in zip(cells, result[part], weights, strict=True):
            pairs = flat.take(row, axis=1)
            rating.update(pairs, results, often if weighted else None)
            flat[:, row] = pairs
    return rating.finish(state, played)


def scores_in_orders(
    rating: SequentialRating,
    scores: Floats,
    order: Orders,
    rng: np.random.Generator,
    *,
    tolerance: float = 0.0,
) -> Ratings:
    """Rate systems by scores (systems x segments) in many orders of the segments.

    All pairs meet on every segment: in each order and segment, systems are seated at random in a
    round-robin tournament. Pairs that miss a score do not play.
    """
    rating.check(None)
    n = len(scores)
    state = rating.start(n, len(order))
    seats = n + n % 2  # an odd number plays an empty seat
    # One more segment, where nobody has a score, for orders that have ended (-1).
    columns = np.full((scores.shape[1] + 1, seats), np.nan)
    columns[:-1, :n] = scores.T
    step = max(1, _DRAWN // max(1, seats))
    for start in range(0, len(order), step):
        part = slice(start, start + step)
        orders = np.ascontiguousarray(state[:, :, part])
        _play_tournaments(rating, orders, columns, order[part], rng, tolerance)
        state[:, :, part] = orders
    present = ~np.isnan(columns[:, :n].T)
    meets = present & (present.sum(axis=0) >= 2)
    played = np.stack([segments[order].any(axis=1) for segments in meets])
    return rating.finish(state, played)


def _play_tournaments(
    rating: SequentialRating,
    state: Floats,
    columns: Floats,
    order: Orders,
    rng: np.random.Generator,
    tolerance: float,
) -> None:
    """Update ``state`` by all pairs, segment by segment; ``columns`` are segments x seats."""
    n, size = state.shape[1:]
    m = columns.shape[1]
    table = _tournament(m)
    byes: list[int] | None = (np.nonzero(table >= n)[1] % max(m // 2, 1)).tolist()
    if np.isnan(columns[:-1, :n]).any() or order.min() < 0:
        byes = None
    systems, seats = np.arange(n)[:, None].repeat(size, axis=1), np.empty((n, size), dtype=np.int64)
    flat, base = state.reshape(len(state), -1), np.arange(size)
    parts = np.array_split(base, -(-m * size // _SEATS))
    buffers = {len(part): np.empty((2, len(state) + 1, m, len(part))) for part in parts}
    for segment in np.ascontiguousarray(order.T, dtype=np.int64):
        rng.permuted(systems, axis=0, out=seats)
        scores = columns.take(segment * m + seats, mode="wrap")
        cells = seats * size + base
        for part in parts:
            seated, turned = buffers[len(part)]
            rows = cells[:, part[0] : part[-1] + 1]
            # Scores turn with the ratings of their systems; an empty seat has none.
            seated[:-1, n:], seated[-1, n:] = 0, np.nan
            seated[:-1, :n] = flat.take(rows, axis=1)
            seated[-1, :n] = scores[:, part[0] : part[-1] + 1]
            played = _play_rounds(rating, seated, turned, table, tolerance, byes)
            flat[:, rows] = played[:-1, :n]


def _play_rounds(
    rating: SequentialRating,
    seated: Floats,
    turned: Floats,
    table: Counts,
    tolerance: float,
    byes: list[int] | None,
) -> Floats:
    """Play all rounds of a segment, after which everybody is back on the first seat."""
    numbers, half = len(seated) - 1, table.shape[1] // 2
    for r in range(len(table)):
        pairs = seated.reshape(numbers + 1, 2, half, -1)
        ratings, result = pairs[:numbers], score_results(pairs[-1, 0], pairs[-1, 1], tolerance)
        if byes is None:
            present = ~np.isnan(result)
            result[~present] = 0
            rating.update(ratings, result, present.astype(np.float64))
        elif byes:
            resting = ratings[:, :, byes[r]].copy()
            rating.update(ratings, result, None)
            ratings[:, :, byes[r]] = resting
        else:
            rating.update(ratings, result, None)
        seated.take(table[1 % len(table)], axis=1, out=turned, mode="clip")
        seated, turned = turned, seated
    return seated


def _tournament(m: int) -> Counts:
    """Seat an even number of players in rounds in which all pairs meet once: rounds x seats.

    The circle method; the first half of a row meets the second. Row 1 leads from a round to the
    next.
    """
    if m < 2:
        return np.empty((0, m), dtype=np.int64)
    rounds, k = np.arange(m - 1)[:, None], np.arange(1, m // 2)
    first = np.concatenate([np.full_like(rounds, m - 1), (rounds + k) % (m - 1)], axis=1)
    second = np.concatenate([rounds, (rounds - k) % (m - 1)], axis=1)
    seats = np.concatenate([first, second], axis=1)
    table: Counts = np.argsort(seats[0])[seats]
    return table
