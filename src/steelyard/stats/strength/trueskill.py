r"""TrueSkill for duels, in closed form.

A skill is a normal distribution; a duel compares two performances, skill plus noise of deviation
``beta``, and is a tie if they differ by no more than a margin that makes equally skilled players
tie with ``draw_probability``. After each duel both skills are conditioned on its outcome and
approximated by normals again; before it, ``tau`` widens them. With
:math:`c^2 = 2\beta^2 + \sigma_i^2 + \sigma_j^2` and :math:`t = (\mu_i - \mu_j) / c`, i the winner,

.. math:: \mu_i \mathrel{+}= \frac{\sigma_i^2}{c} v, \quad \mu_j \mathrel{-}= \frac{\sigma_j^2}{c}
          v, \quad \sigma^2 \mathrel{\times}= 1 - \frac{\sigma^2}{c^2} w,

where v and w are the mean and the loss of variance of a truncated normal. The result depends on
the order of the duels: report it over many orders
(:func:`~steelyard.stats.strength.orders.battles_in_orders`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from steelyard.core.compiled import kernel
from steelyard.core.errors import UsageError
from steelyard.core.options import check_number, check_share
from steelyard.stats.arrays import Floats
from steelyard.stats.strength import truncation
from steelyard.stats.strength.battlelog import Battles
from steelyard.stats.strength.orders import Rows, Update, battles_in_time
from steelyard.stats.strength.truncation import shift, tied, tied_all, won_all

_ROOT = math.sqrt(2 * math.pi)
_LOG_ROOT = math.log(_ROOT)
_NARROW = 1e-3  # margins below this, too
_SECONDS = 1e-6  # that plain Python takes for a duel
_ALONE = 100  # orders up to which that is no slower than all orders together
_GRID = 512  # places of a table per unit
_FAR = -20.0  # beyond this, densities and tails are divided as logarithms


@dataclass(frozen=True, slots=True)
class TrueSkillOptions:
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
        return float(ndtri((self.draw_probability + 1) / 2)) * math.sqrt(2) * self.beta

    @property
    def seconds(self) -> float:
        """Seconds that plain Python takes for a battle."""
        return _SECONDS

    @property
    def alone(self) -> int:
        """Orders up to which each is played by itself."""
        return _ALONE

    def check(self, battles: Battles | None) -> None:
        """Refuse a log that the model does not know, or scores (None) that could tie against it."""
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
        """Give what :mod:`~steelyard.stats.strength.orders` updates: means and variances."""
        start = np.array([self.mu, self.sigma**2])
        return np.tile(start[:, None, None], (1, n, n_orders))

    def update(self) -> Update:
        """Make the update of one battle of many pairs."""
        return _updating(2 * self.beta**2, self.tau**2, self.margin)

    def play(self, state: Floats, rows: Rows, order: int, seconds: float) -> None:  # noqa: ARG002
        """Play battles in the order of the log."""
        given = (rows.left, rows.right, rows.result, truncation.table())
        constants = (2 * self.beta**2, self.tau**2, float(self.margin))
        _play.run(state[0], state[1], *given, *constants, seconds=seconds)

    def finish(self, state: Floats, played: NDArray[np.bool_]) -> Skills:
        """Give skills, orders x systems; NaN for systems that an order does not have."""
        found = state.astype(np.float64)
        found[:, ~played] = np.nan
        return Skills(mu=found[0].T, sigma=np.sqrt(found[1]).T, options=self)


@kernel(changed=2)
def _play(  # noqa: PLR0917 - a loop of plain numbers
    mu: Floats, variance: Floats, left: Floats, right: Floats, result: Floats, terms: Floats,
    noise: float, dynamic: float, margin: float,
) -> None:  # fmt: skip
    for i, j, own in zip(left, right, result):  # noqa: B905 - which is not compiled
        wide_i, wide_j = variance[i] + dynamic, variance[j] + dynamic
        scale = 1 / math.sqrt(wide_i + wide_j + noise)
        lead = (mu[i] - mu[j]) * scale
        edge = margin * scale
        if own == 0:
            v, w = tied(lead, edge, terms)
        else:
            x = own * lead - edge
            v = shift(x, terms)
            w = v * (v + x)
            w = w if w < 1 else 1.0
            v *= own  # seen from the first
        v *= scale
        w = w * scale * scale
        mu[i] += wide_i * v
        mu[j] -= wide_j * v
        variance[i] = wide_i * (1 - wide_i * w)
        variance[j] = wide_j * (1 - wide_j * w)


def _updating(noise: float | Floats, dynamic: float | Floats, margin: float | Floats) -> Update:
    """Make the update by variances and a margin, one of each for all orders or one for each.

    In double precision, the steps are those of the loop, and so are the bits.
    """

    def update(own: Floats, result: Floats, weight: Floats | None, tied: bool) -> None:  # noqa: FBT001
        mu, wide = own
        wide += dynamic if weight is None else dynamic * weight
        scale = wide[0] + wide[1]
        scale += noise
        np.sqrt(scale, out=scale)
        np.divide(1, scale, out=scale)
        lead = mu[0] - mu[1]
        lead *= scale
        edge = margin * scale
        x = result * lead
        x -= edge
        single = x.dtype == np.float32
        v, w = _won_single(x) if single else won_all(x)
        v *= result  # seen from the first
        if tied:
            at = np.flatnonzero(result == 0)
            ends = lead.take(at), edge.take(at)
            found = _tied_single(*ends) if single else tied_all(*ends)
            v.reshape(-1)[at], w.reshape(-1)[at] = found
        if weight is not None:  # battles that take no part
            v *= weight
            w *= weight
        v *= scale
        w *= scale
        w *= scale
        move = wide * v
        mu[0] += move[0]
        mu[1] -= move[1]
        np.multiply(wide, w, out=move)
        np.subtract(1, move, out=move)
        wide *= move

    return update


@dataclass(frozen=True, slots=True, eq=False)
class TrueSkillGrid:
    """TrueSkill with constants of its own in each order, all of which are played together.

    ``rules`` has an object for every order; skills start alike in all.
    """

    rules: tuple[TrueSkillOptions, ...]

    @property
    def seconds(self) -> float:
        """Seconds that plain Python takes for a battle."""
        return _SECONDS

    @property
    def alone(self) -> int:
        """Orders up to which each is played by itself."""
        return _ALONE

    def check(self, battles: Battles | None) -> None:
        """Refuse what any of the models does not know."""
        for rules in set(self.rules):
            rules.check(battles)

    def start(self, n: int, n_orders: int) -> Floats:
        """Give what is updated, as :meth:`TrueSkillOptions.start` does."""
        return self.rules[0].start(n, n_orders)

    def update(self) -> Update:
        """Make the update of one battle of many pairs."""
        each = [(2 * own.beta**2, own.tau**2, own.margin) for own in self.rules]
        return _updating(*np.array(each).T)

    def play(self, state: Floats, rows: Rows, order: int, seconds: float) -> None:
        """Play battles as the rules of an order say."""
        self.rules[order].play(state, rows, order, seconds)

    def finish(self, state: Floats, played: NDArray[np.bool_]) -> Skills:
        """Give skills, orders x systems; NaN for systems that an order does not have."""
        return self.rules[0].finish(state, played)


@dataclass(frozen=True, slots=True)
class Skills:
    """Means and deviations of skills; NaN for systems without a duel."""

    mu: Floats
    sigma: Floats
    options: TrueSkillOptions


def trueskill_ratings(battles: Battles, options: TrueSkillOptions | None = None) -> Skills:
    """Rate systems by TrueSkill, duel after duel in the order of the log.

    Outcomes are 1, 0.5 (a tie) or 0; weights have no meaning here.

    Examples
    --------
    >>> log = Battles(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.5]), n=2)
    >>> skills = trueskill_ratings(log)
    >>> skills.mu.round(3).tolist(), skills.sigma.round(3).tolist()
    ([26.114, 23.886], [5.678, 5.678])
    """
    found = battles_in_time(options or TrueSkillOptions(), battles)
    return Skills(mu=found.mu[0], sigma=found.sigma[0], options=found.options)


def _won_single(x: Floats) -> tuple[Floats, Floats]:
    """Give v and w of many wins in single precision."""
    if x.min(initial=0) > _FAR:
        v = _shift_single(x)
    else:
        v = np.exp(x * x * -0.5 - _LOG_ROOT - log_ndtr(x))
    w = v + x
    w *= v
    return v, np.minimum(w, 1, out=w)


@cache
def _won_table() -> tuple[Floats, Floats]:
    """Give v of a win on a grid, and by how much it changes from each place to the next."""
    x = np.arange(_FAR * _GRID, 10 * _GRID + 2) / _GRID
    v = np.exp(x * x * -0.5 - _LOG_ROOT - log_ndtr(x))
    return v[:-1].astype(np.float32), np.diff(v).astype(np.float32)


def _shift_single(x: Floats) -> Floats:
    """Give v of wins to six digits by a table, at a fifth of the cost of the formula."""
    value, change = _won_table()
    at = (x - np.float32(_FAR)) * np.float32(_GRID)
    place = at.astype(np.intp)  # beyond the end, nothing changes any more
    at -= np.trunc(at)
    v = change.take(place, mode="clip")
    v *= at
    v += value.take(place, mode="clip")
    return v


def _tied_single(t: Floats, e: Floats) -> tuple[Floats, Floats]:
    """Give v and w of many ties in single precision."""
    size = np.abs(t)
    low, high = -e - size, e - size
    if low.min() > _FAR and e.min() > _NARROW:
        at_low, at_high = np.exp(low * low * -0.5), np.exp(high * high * -0.5)
        whole = _ROOT * (ndtr(high) - ndtr(low))
        at_low /= whole
        at_high /= whole
    else:
        top = log_ndtr(high)
        log_whole = top + np.log(-np.expm1(log_ndtr(low) - top)) + _LOG_ROOT
        at_low, at_high = (
            np.exp(low * low * -0.5 - log_whole),
            np.exp(high * high * -0.5 - log_whole),
        )
    v = at_low - at_high
    return np.where(t >= 0, v, -v), v * v + high * at_high - low * at_low


def trueskill_probability(
    mu: ArrayLike, sigma: ArrayLike, options: TrueSkillOptions | None = None
) -> Floats:
    """Probability that the row's performance is better than the column's, ties aside.

    Examples
    --------
    >>> trueskill_probability([25.0, 30.0], [1.0, 1.0]).round(3).tolist()
    [[0.5, 0.205], [0.795, 0.5]]
    """
    m, s = np.asarray(mu, dtype=np.float64), np.asarray(sigma, dtype=np.float64)
    lead = m[..., :, None] - m[..., None, :]
    return trueskill_chance(lead, s[..., :, None], s[..., None, :], options)


def trueskill_outcomes(
    lead: Floats, sigma: ArrayLike, other: ArrayLike, options: TrueSkillOptions | None = None
) -> tuple[Floats, Floats, Floats]:
    """Chances of a win, a loss and a tie with a lead in skill, given how sure both skills are.

    Examples
    --------
    >>> [float(p.round(3)) for p in trueskill_outcomes(np.array(5.0), 1.0, 1.0)]
    [0.759, 0.172, 0.069]
    """
    chosen = options or TrueSkillOptions()
    one, two = (np.asarray(x, dtype=np.float64) for x in (sigma, other))
    scale = np.sqrt(2 * chosen.beta**2 + one**2 + two**2)
    t, e = lead / scale, chosen.margin / scale
    size = np.abs(t)  # differences of upper tails keep their digits
    return ndtr(t - e), ndtr(-t - e), np.asarray(ndtr(e - size) - ndtr(-e - size))


def trueskill_chance(
    lead: Floats, sigma: ArrayLike, other: ArrayLike, options: TrueSkillOptions | None = None
) -> Floats:
    """Chance of the better performance with a lead in skill, given how sure both skills are."""
    beta = (options or TrueSkillOptions()).beta
    one, two = (np.asarray(x, dtype=np.float64) for x in (sigma, other))
    return np.asarray(ndtr(lead / np.sqrt(2 * beta**2 + one**2 + two**2)))
