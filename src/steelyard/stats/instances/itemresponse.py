r"""Difficulty and discrimination of segments that are right or wrong: the logistic 2PL model.

The chance that system i is right on segment s is
:math:`1 / (1 + \exp(-d_s - a_s \theta_i))`. As in
:mod:`steelyard.stats.instances.congeneric`, segments are a sample,
:math:`d_s \sim N(\mu, \kappa^2)` and :math:`a_s \sim N(1, \tau^2)`, and abilities are parameters of
mean 0, the other way round than in tests of many people: a handful of systems tells little of each
segment, and many segments tell much of each system. Five zeros and ones have no finite ease by
themselves if they are all alike; with the other segments as a prior they have. Abilities
have a weak prior, too (a deviation of 5 logits), for a system may be right everywhere.

Segments are integrated out over a grid of ease and discrimination (as Bock and Aitkin did), which
needs no sampling. Segments with the same pattern of answers are one, counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from steelyard.core import bounds
from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.instances.congeneric import FEWEST, SegmentFit

ABILITY = 5.0  #: deviation of the prior of abilities
_EASES, _SLOPES = 41, 15  # points of the grid
_REACH_EASE, _REACH_SLOPE = 4.0, 3.5  # how far it goes, in deviations
_MOST, _CLOSE = 500, 1e-13  # steps; relative change at which they end
_LEAST = 1e-3  # deviation below which segments count as alike


@dataclass(frozen=True, slots=True)
class Answers:
    """Patterns of answers, systems x patterns: whether right, whether known, and how often."""

    right: Floats
    known: Floats
    often: Floats

    @classmethod
    def of(cls, scores: Floats) -> tuple[Answers, NDArray[np.int64]]:
        """Collect patterns, and tell which one each segment has."""
        coded = np.where(np.isnan(scores), 2.0, scores)
        patterns, place, often = np.unique(coded, axis=1, return_inverse=True, return_counts=True)
        known = (patterns != 2).astype(np.float64)
        right = np.where(patterns == 1, 1.0, 0.0)
        return cls(right, known, often.astype(np.float64)), place.ravel().astype(np.int64)


@dataclass(frozen=True, slots=True)
class LogisticState:
    """Parameters: abilities, and mean and deviations of what segments are like."""

    ability: Floats
    mean: float
    ease: float
    slope: float  # 0: all segments discriminate alike

    def grid(self) -> tuple[Floats, Floats, Floats]:
        """Give points of ease and discrimination, and logarithms of their prior weights."""
        z = np.linspace(-_REACH_EASE, _REACH_EASE, _EASES)
        w = np.linspace(-_REACH_SLOPE, _REACH_SLOPE, _SLOPES) if self.slope else np.zeros(1)
        density = (-z * z / 2)[:, None] - (w * w / 2)[None, :]
        ease = np.broadcast_to((self.mean + self.ease * z)[:, None], density.shape)
        slope = np.broadcast_to((1 + self.slope * w)[None, :], density.shape)
        return ease.ravel(), slope.ravel(), (density - logsumexp(density)).ravel()


def fit_answers(scores: Floats, *, discriminate: bool = True) -> SegmentFit:
    """Fit difficulty and discrimination of segments to scores that are 0 or 1.

    Parameters
    ----------
    scores
        Systems x segments of 0 and 1, NaN where missing.
    discriminate
        Whether segments may differ in discrimination; of two systems they can't.

    Raises
    ------
    UsageError
        If a score is neither 0 nor 1, all are the same, or there are fewer than two systems.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chance = 1 / (1 + np.exp(-rng.normal(0, 1, 3000) - np.linspace(-1, 1, 8)[:, None]))
    >>> found = fit_answers((rng.random((8, 3000)) < chance).astype(float), discriminate=False)
    >>> round(found.spread_ease, 2), found.ability.round(1).tolist()
    (1.01, [-1.0, -0.7, -0.4, -0.2, 0.2, 0.4, 0.8, 1.0])
    """
    bounds.flag(discriminate=discriminate)
    if scores.ndim != 2:
        raise ShapeError(f"expected systems x segments, got shape {scores.shape}")
    known = ~np.isnan(scores)
    values = scores[known]
    if not ((values == 0) | (values == 1)).all():
        raise UsageError("answers are 0 or 1")
    used = np.flatnonzero(known.any(axis=0))
    seen = known.any(axis=1)  # systems without any answer take no part
    if seen.sum() < 2:
        raise UsageError("difficulty of segments takes the scores of two systems at least")
    if np.ptp(values) == 0:
        raise UsageError("all scores are the same: no segment is harder than another")
    answers, place = Answers.of(scores[np.ix_(seen, used)])
    two = discriminate and bool(seen.sum() >= FEWEST)
    state, one, done = _climb(answers, _start(answers))
    likelihood = one
    if two:
        state, likelihood, done = _climb(answers, replace(state, slope=0.5))
    ease, slope, _ = state.grid()
    weights, _ = _posterior(answers, state)
    found = np.full((4, scores.shape[1]), np.nan)
    for row, values in ((0, ease), (2, slope)) if two else ((0, ease),):
        mean = weights @ values
        square = weights @ (values * values) - mean * mean
        found[row, used] = mean[place]
        found[row + 1, used] = np.sqrt(np.maximum(square, 0.0))[place]
    ability = np.full(len(scores), np.nan)
    ability[seen] = state.ability
    return SegmentFit(
        ease=found[0],
        ease_sd=found[1],
        discrimination=found[2],
        discrimination_sd=found[3],
        ability=ability,
        noises=np.full(len(scores), np.nan),
        spread_ease=state.ease,
        spread_discrimination=state.slope if two else float("nan"),
        converged=done,
        logistic=True,
        likelihoods=(one, likelihood if two else float("nan")),
    )


def _start(answers: Answers) -> LogisticState:
    """Begin with the logits of the shares that are right, half an answer added to either side."""

    def logit(right: Floats, known: Floats) -> Floats:
        share = ratio(right + 0.5, known + 1)
        return np.log(share / (1 - share))

    own = logit(answers.right @ answers.often, answers.known @ answers.often)
    ease = logit(answers.right.sum(axis=0), answers.known.sum(axis=0))
    mean = float(np.average(ease, weights=answers.often))
    spread = float(np.sqrt(np.average((ease - mean) ** 2, weights=answers.often)))
    return LogisticState(own - own.mean(), mean, max(spread, 0.5), 0.0)


def _logits(state: LogisticState) -> Floats:
    """Give logits of being right: systems x points of the grid."""
    ease, slope, _ = state.grid()
    return np.asarray(ease + state.ability[:, None] * slope)


def _posterior(answers: Answers, state: LogisticState) -> tuple[Floats, float]:
    """Weights of the points for each pattern, and the penalised marginal log-likelihood."""
    logits = _logits(state)
    softplus = np.logaddexp(0.0, logits)
    logs = answers.right.T @ logits - answers.known.T @ softplus + state.grid()[2]
    whole = logsumexp(logs, axis=1)
    penalty = float((state.ability**2).sum()) / (2 * ABILITY**2)
    return np.exp(logs - whole[:, None]), float(answers.often @ whole) - penalty


def penalised_likelihood(answers: Answers, state: LogisticState) -> float:
    """Give the marginal log-likelihood of answers, less the penalty of abilities."""
    return _posterior(answers, state)[1]


def _climb(answers: Answers, start: LogisticState) -> tuple[LogisticState, float, bool]:
    """Climb to the largest penalised likelihood by its gradient; abilities keep their mean of 0."""
    from scipy.optimize import minimize  # which nobody else needs at the start

    n = len(start.ability)
    two = start.slope > 0
    total = float(answers.often.sum())

    def state_of(p: Floats) -> LogisticState:
        ability = p[:n] - p[:n].mean()
        ease, slope = float(np.exp(p[n + 1])), float(np.exp(p[-1])) if two else 0.0
        return LogisticState(ability, float(p[n]), ease, slope)

    def loss(p: Floats) -> tuple[float, Floats]:
        state = state_of(p)
        weights, likelihood = _posterior(answers, state)
        return -likelihood / total, -_gradient(answers, state, weights) / total

    first = np.r_[start.ability, start.mean, np.log(start.ease)]
    first = np.r_[first, np.log(start.slope)] if two else first
    bound: Any = [(None, None)] * (n + 1) + [(np.log(_LEAST), 4.0)] * (len(first) - n - 1)
    how: Any = {"maxiter": _MOST, "ftol": _CLOSE, "gtol": 1e-7}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bound, options=how)
    return state_of(found.x), -float(found.fun) * total, bool(found.success)


def _gradient(answers: Answers, state: LogisticState, weights: Floats) -> Floats:
    """Give how the likelihood grows with abilities, mean, and logarithms of deviations."""
    ease, slope, _ = state.grid()
    at = weights * answers.often[:, None]
    rest = answers.right @ at - (answers.known @ at) * expit(_logits(state))  # systems x points
    of_ability = rest @ slope - state.ability / ABILITY**2
    points = rest.sum(axis=0)
    found = [of_ability - of_ability.mean(), [points.sum()], [points @ (ease - state.mean)]]
    if state.slope:
        found.append([state.ability @ (rest @ (slope - 1))])
    return np.concatenate(found)


def information_curve(fit: SegmentFit, ability: Floats) -> Floats:
    """Give the information of all segments at some abilities: what one over a variance would be.

    Of a logistic fit: the sum over segments of :math:`a_s^2 p (1 - p)`. Segments whose chance is
    far from one half say little.

    Examples
    --------
    >>> none = np.array([np.nan])
    >>> one = SegmentFit(
    ...     ease=np.array([0.0]), ease_sd=none, discrimination=np.array([2.0]),
    ...     discrimination_sd=none, ability=none, noises=none, spread_ease=1.0,
    ...     spread_discrimination=1.0, logistic=True,
    ... )
    >>> information_curve(one, np.array([0.0])).tolist()
    [1.0]
    """
    some = ~np.isnan(fit.ease)
    slope = np.where(np.isnan(fit.discrimination), 1.0, fit.discrimination)[some]
    chance = expit(fit.ease[some] + ability[:, None] * slope)
    return np.asarray((slope * slope * chance * (1 - chance)).sum(axis=1))
