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

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from steelyard.core import bounds
from steelyard.stats.arrays import Floats
from steelyard.stats.strength.battlelog import Battles
from steelyard.stats.strength.orders import Update


@dataclass(frozen=True, slots=True)
class EloOptions:
    """Constants: ``k`` moves ratings per battle, ``scale`` is the lead with odds ``base`` to 1."""

    k: float = 20.0
    initial: float = 1500.0
    scale: float = 400.0
    base: float = 10.0

    def __post_init__(self) -> None:
        bounds.number(0, strict=True, k=self.k, scale=self.scale)
        bounds.number(1, strict=True, base=self.base)
        bounds.number(initial=self.initial)

    @property
    def slope(self) -> float:
        """Log odds of a win per point of lead."""
        return math.log(self.base) / self.scale

    def check(self, battles: Battles | None) -> None:
        """Take any log, and scores."""

    def start(self, n: int, n_orders: int) -> Floats:
        """Give what :mod:`~steelyard.stats.strength.orders` updates: half the log odds of a win.

        An expected result is then a tanh, and a battle costs one function of numbers.
        """
        return np.zeros((1, n, n_orders))

    def update(self) -> Update:
        """Make the update of one battle of many pairs."""
        return _updating(self.k * self.slope / 4)

    def finish(self, state: Floats, played: NDArray[np.bool_]) -> Floats:
        """Give ratings, orders x systems; NaN for systems that an order does not have."""
        rating = self.initial + state[0].astype(np.float64) * (2 / self.slope)
        return np.where(played, rating, np.nan).T


def _updating(k: float | Floats) -> Update:
    """Make the update by a K in half log odds, one for all orders or one for each."""

    def update(own: Floats, result: Floats, weight: Floats | None, _tied: bool) -> None:  # noqa: FBT001
        first, second = own[0, 0], own[0, 1]
        move = result - np.tanh(first - second)
        move *= k if weight is None else k * weight
        first += move
        second -= move

    return update


@dataclass(frozen=True, slots=True, eq=False)
class EloGrid:
    """Elo with a K of its own in each order, all of which are played together.

    ``rules`` has an object for every order; they differ in K alone.
    """

    rules: tuple[EloOptions, ...]

    def check(self, battles: Battles | None) -> None:
        """Take any log, and scores."""

    def start(self, n: int, n_orders: int) -> Floats:
        """Give what is updated, as :meth:`EloOptions.start` does."""
        return self.rules[0].start(n, n_orders)

    def update(self) -> Update:
        """Make the update of one battle of many pairs."""
        ks = np.array([rules.k for rules in self.rules])
        return _updating(ks * self.rules[0].slope / 4)

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
    chosen = options or EloOptions()
    slope, k = chosen.slope, chosen.k
    rating = [0.0] * battles.n
    exp = math.exp
    for i, j, outcome, weight in battles.rows():
        gap = slope * (rating[j] - rating[i])
        expected = 1 / (1 + exp(gap)) if gap < 700 else 0.0
        move = k * weight * (outcome - expected)
        rating[i] += move
        rating[j] -= move
    return np.where(battles.met, chosen.initial + np.array(rating), np.nan)


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
