r"""TrueSkill for duels, in closed form.

A skill is a normal distribution; a duel compares two performances, skill plus noise of deviation
``beta``, and is a tie if they differ by no more than a margin that makes equally skilled players
tie with ``draw_probability``. After each duel both skills are conditioned on its outcome and
approximated by normals again; before it, ``tau`` widens them. With
:math:`c^2 = 2\beta^2 + \sigma_i^2 + \sigma_j^2` and :math:`t = (\mu_i - \mu_j) / c`, i the winner,

.. math:: \mu_i \mathrel{+}= \frac{\sigma_i^2}{c} v, \quad \mu_j \mathrel{-}= \frac{\sigma_j^2}{c}
          v, \quad \sigma^2 \mathrel{\times}= 1 - \frac{\sigma^2}{c^2} w,

where v and w are the mean and the loss of variance of a truncated normal. The result depends on
the order of the duels: report it over many orders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from steelyard.errors import UsageError
from steelyard.stats.arrays import Floats
from steelyard.stats.battles import Battles

_ROOT = math.sqrt(2 * math.pi)
_LOG_ROOT = math.log(_ROOT)


@dataclass(frozen=True, slots=True)
class TrueSkillOptions:
    """Constants of the model; the defaults are those of TrueSkill's authors."""

    mu: float = 25.0
    sigma: float = 25.0 / 3
    beta: float = 25.0 / 6
    tau: float = 25.0 / 300
    draw_probability: float = 0.1

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and self.beta > 0 and self.tau >= 0):
            raise UsageError("TrueSkill needs sigma > 0, beta > 0 and tau >= 0")
        if not 0 <= self.draw_probability < 1:
            raise UsageError(
                f"a draw probability is at least 0 and below 1, got {self.draw_probability:g}"
            )

    @property
    def margin(self) -> float:
        """Difference of performances up to which a duel is a tie."""
        return float(ndtri((self.draw_probability + 1) / 2)) * math.sqrt(2) * self.beta


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
    chosen = _checked(battles, options)
    n = battles.n
    noise, dynamic = 2 * chosen.beta**2, chosen.tau**2
    margin = chosen.margin
    mu = [chosen.mu] * n
    variance = [chosen.sigma**2] * n
    log = zip(battles.left.tolist(), battles.right.tolist(), battles.outcome.tolist(), strict=True)
    for left, right, outcome in log:
        i, j = (left, right) if outcome else (right, left)
        wide_i, wide_j = variance[i] + dynamic, variance[j] + dynamic
        square = noise + wide_i + wide_j
        c = math.sqrt(square)
        t, e = (mu[i] - mu[j]) / c, margin / c
        v, w = _tied(t, e) if outcome == 0.5 else _won(t - e)
        mu[i] += wide_i / c * v
        mu[j] -= wide_j / c * v
        variance[i] = wide_i * (1 - wide_i / square * w)
        variance[j] = wide_j * (1 - wide_j / square * w)
    return _skills(np.array(mu), np.array(variance), battles, chosen)


def _checked(battles: Battles, options: TrueSkillOptions | None) -> TrueSkillOptions:
    chosen = options or TrueSkillOptions()
    tied = battles.outcome == 0.5
    if not (tied | (battles.outcome == 0) | (battles.outcome == 1)).all():
        raise UsageError("TrueSkill knows wins, losses and ties (1, 0 and 0.5), no other outcome")
    if battles.weight is not None and (battles.weight != 1).any():
        raise UsageError("TrueSkill has no weights: repeat the battles instead")
    if tied.any() and not chosen.draw_probability:
        raise UsageError("there are ties, which a draw probability of 0 rules out")
    return chosen


def _skills(mu: Floats, variance: Floats, battles: Battles, options: TrueSkillOptions) -> Skills:
    met = np.zeros(battles.n, dtype=bool)
    met[battles.left] = met[battles.right] = True
    sigma = np.sqrt(variance)
    return Skills(np.where(met, mu, np.nan), np.where(met, sigma, np.nan), options)


def _won(x: float) -> tuple[float, float]:
    """Give v and w of a win whose standardised lead over the margin is x."""
    if x > -20:
        v = math.exp(-x * x / 2) / (_ROOT * 0.5 * math.erfc(-x / math.sqrt(2)))
    else:  # the quotient of two tiny numbers
        v = math.exp(-x * x / 2 - _LOG_ROOT - float(log_ndtr(x)))
    return v, v * (v + x)


def _tied(t: float, e: float) -> tuple[float, float]:
    """Give v and w of a tie at a standardised lead t within the margin e."""
    size = abs(t)
    low, high = -e - size, e - size
    top = float(log_ndtr(high))
    whole = top + math.log(-math.expm1(float(log_ndtr(low)) - top))
    at_low = math.exp(-low * low / 2 - _LOG_ROOT - whole)
    at_high = math.exp(-high * high / 2 - _LOG_ROOT - whole)
    v = at_low - at_high
    w = v * v + high * at_high - low * at_low
    return (v if t >= 0 else -v), w


def trueskill_probability(
    mu: ArrayLike, sigma: ArrayLike, options: TrueSkillOptions | None = None
) -> Floats:
    """Probability that the row's performance is better than the column's, ties aside.

    Examples
    --------
    >>> trueskill_probability([25.0, 30.0], [1.0, 1.0]).round(3).tolist()
    [[0.5, 0.205], [0.795, 0.5]]
    """
    beta = (options or TrueSkillOptions()).beta
    m = np.asarray(mu, dtype=np.float64)
    variance = np.asarray(sigma, dtype=np.float64) ** 2
    spread = np.sqrt(2 * beta**2 + variance[..., :, None] + variance[..., None, :])
    return np.asarray(ndtr((m[..., :, None] - m[..., None, :]) / spread))
