r"""Elo ratings: every battle moves both ratings towards its outcome.

.. math:: R_i \mathrel{+}= K w (s - E), \quad R_j \mathrel{-}= K w (s - E), \quad
          E = \frac{1}{1 + 10^{(R_j - R_i)/400}}

with the score s of i (1, 0.5, 0) and the weight w of the battle. The last battles count most, so
that the result depends on their order: give the mean and the spread over random orders
(:func:`~steelyard.stats.strength.orders.battles_in_orders`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from steelyard.core.compiled import kernel
from steelyard.core.options import check_number
from steelyard.stats.arrays import Floats
from steelyard.stats.strength.battlelog import Battles
from steelyard.stats.strength.orders import Rows, Update, battles_in_time
from steelyard.stats.strength.truncation import LARGEST

_SECONDS = 3e-7  # that plain Python takes for a battle
_ALONE = 32  # orders up to which that is no slower than all orders together


@dataclass(frozen=True, slots=True)
class EloOptions:
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

    @property
    def seconds(self) -> float:
        """Seconds that plain Python takes for a battle."""
        return _SECONDS

    @property
    def alone(self) -> int:
        """Orders up to which each is played by itself."""
        return _ALONE

    def check(self, battles: Battles | None) -> None:
        """Take any log, and scores."""

    def start(self, n: int, n_orders: int) -> Floats:
        """Give what :mod:`~steelyard.stats.strength.orders` updates: points above the first.

        In single precision it is half the log odds of a win, whose expectation is a tanh.
        """
        return np.zeros((1, n, n_orders))

    def update(self) -> Update:
        """Make the update of one battle of many pairs."""
        return _updating(self.slope, self.k)

    def play(self, state: Floats, rows: Rows, order: int, seconds: float) -> None:  # noqa: ARG002
        """Play battles in the order of the log."""
        weight = _ones(len(rows.result)) if rows.weight is None else rows.weight
        given = (rows.left, rows.right, rows.result, weight, self.slope, float(self.k))
        _play.run(state[0], *given, seconds=seconds)

    def finish(self, state: Floats, played: NDArray[np.bool_]) -> Floats:
        """Give ratings, orders x systems; NaN for systems that an order does not have."""
        points = state[0].astype(np.float64)
        if state.dtype == np.float32:
            points *= 2 / self.slope
        return np.where(played, self.initial + points, np.nan).T


@lru_cache(maxsize=1)
def _ones(size: int) -> Floats:
    """Give weights of battles that have none: parts of a log are of one size, but for the last."""
    return np.ones(size)


@kernel(changed=1)
def _play(
    points: Floats, left: Floats, right: Floats, result: Floats, weight: Floats, slope: float,
    k: float,
) -> None:  # fmt: skip
    for i, j, own, often in zip(left, right, result, weight):  # noqa: B905 - which is not compiled
        gap = slope * (points[j] - points[i])
        expected = 1 / (1 + math.exp(gap)) if gap < LARGEST else 0.0
        move = k * often * ((own + 1) * 0.5 - expected)
        points[i] += move
        points[j] -= move


def _updating(slope: float, k: float | Floats) -> Update:
    """Make the update by a K, one for all orders or one for each.

    In double precision, the steps are those of the loop, and so are the bits; in single precision
    tanh is four times as fast.
    """
    half_odds = k * slope / 4

    def update(own: Floats, result: Floats, weight: Floats | None, _tied: bool) -> None:  # noqa: FBT001
        first, second = own[0, 0], own[0, 1]
        move = first - second
        if move.dtype == np.float32:
            np.subtract(result, np.tanh(move, out=move), out=move)
            step = half_odds
        else:
            move *= slope
            outcome = result + 1
            outcome *= 0.5
            np.subtract(outcome, expit(move, out=move), out=move)
            step = k
        move *= step if weight is None else step * weight
        first += move
        second -= move

    return update


@dataclass(frozen=True, slots=True, eq=False)
class EloGrid:
    """Elo with a K of its own in each order, all of which are played together.

    ``rules`` has an object for every order; they differ in K alone.
    """

    rules: tuple[EloOptions, ...]

    @property
    def seconds(self) -> float:
        """Seconds that plain Python takes for a battle."""
        return _SECONDS

    @property
    def alone(self) -> int:
        """Orders up to which each is played by itself."""
        return _ALONE

    def check(self, battles: Battles | None) -> None:
        """Take any log, and scores."""

    def start(self, n: int, n_orders: int) -> Floats:
        """Give what is updated, as :meth:`EloOptions.start` does."""
        return self.rules[0].start(n, n_orders)

    def update(self) -> Update:
        """Make the update of one battle of many pairs."""
        return _updating(self.rules[0].slope, np.array([rules.k for rules in self.rules]))

    def play(self, state: Floats, rows: Rows, order: int, seconds: float) -> None:
        """Play battles as the rules of an order say."""
        self.rules[order].play(state, rows, order, seconds)

    def finish(self, state: Floats, played: NDArray[np.bool_]) -> Floats:
        """Give ratings, orders x systems; NaN for systems that an order does not have."""
        return self.rules[0].finish(state, played)


def elo_ratings(battles: Battles, options: EloOptions | None = None) -> Floats:
    """Rate systems battle after battle, in the order of the log; NaN for systems without any.

    Examples
    --------
    >>> log = Battles(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.5]), n=3)
    >>> elo_ratings(log).round(3).tolist()
    [1509.425, 1490.575, nan]
    """
    found: Floats = battles_in_time(options or EloOptions(), battles)
    return np.asarray(found[0])


def elo_probability(rating: ArrayLike, options: EloOptions | None = None) -> Floats:
    """Expected score of the row against the column.

    Examples
    --------
    >>> elo_probability([1500.0, 1900.0]).round(3).tolist()
    [[0.5, 0.091], [0.909, 0.5]]
    """
    r = np.asarray(rating, dtype=np.float64)
    return elo_chance(r[..., :, None] - r[..., None, :], options)


def elo_chance(lead: Floats, options: EloOptions | None = None) -> Floats:
    """Expected score with a lead of so many points."""
    return np.asarray(expit((options or EloOptions()).slope * lead))
