r"""Strengths with ties as outcomes of their own: the models of Davidson and of Rao and Kupper.

With :math:`\delta = \theta_i - \theta_j`, the difference of log-strengths,

* Davidson: wins of i, wins of j and ties have odds :math:`e^{\delta/2} : e^{-\delta/2} : \nu`;
* Rao and Kupper: i wins with :math:`\sigma(\delta - \eta)`, j with :math:`\sigma(-\delta - \eta)`,
  and the rest are ties, :math:`\eta = \log \theta \ge 0`.

Both likelihoods are concave, so Newton's method with a step that is halved until the likelihood
rises finds the one maximum. All functions take many tables at once: resamples x systems x systems.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from steelyard.core.errors import DegenerateError
from steelyard.stats.arrays import Floats
from steelyard.stats.strength.btfit import covariance, laplacian
from steelyard.stats.strength.wins import PairWins

_CLOSE = 1e-8  # a Newton step this small leaves an error of its square
_STEPS = 500


@dataclass(frozen=True, slots=True)
class _Slopes:
    """Derivatives, summed over pairs: of theta, of the tie parameter, and second ones negated."""

    theta: Floats  # resamples x systems
    tie: Floats  # resamples
    weight: Floats  # resamples x systems x systems: pair terms of the information on theta
    cross: Floats  # resamples x systems
    curve: Floats  # resamples


@dataclass(frozen=True, slots=True)
class _Model:
    """A model by its likelihood and derivatives, given theta, the tie parameter, wins and ties."""

    value: Callable[[Floats, Floats, Floats, Floats], Floats]
    slopes: Callable[[Floats, Floats, Floats, Floats], _Slopes]
    start: float
    positive: bool


@dataclass(frozen=True, slots=True)
class TieFit:
    """Log-strengths with mean 0 and tie parameters (nu of Davidson, theta of Rao and Kupper)."""

    theta: Floats
    tie_parameter: Floats
    log_likelihood: Floats
    covariance: Floats | None
    iterations: int


def _gaps(theta: Floats) -> Floats:
    return theta[:, :, None] - theta[:, None, :]


def _davidson_value(theta: Floats, tie: Floats, wins: Floats, ties: Floats) -> Floats:
    half = _gaps(theta) / 2
    phi = tie[:, None, None]
    whole = np.logaddexp(np.logaddexp(half, -half), phi)
    # Every pair stands twice in the sum over ties.
    return np.asarray((wins * (half - whole) + ties / 2 * (phi - whole)).sum(axis=(1, 2)))


def _davidson_slopes(theta: Floats, tie: Floats, wins: Floats, ties: Floats) -> _Slopes:
    half = _gaps(theta) / 2
    phi = np.broadcast_to(tie[:, None, None], half.shape)
    peak = np.maximum(np.abs(half), phi)
    odds = np.exp(half - peak)
    against = np.swapaxes(odds, 1, 2)
    tied = np.exp(phi - peak)
    whole = odds + against + tied
    p, q, t = odds / whole, against / whole, tied / whole
    met = wins + np.swapaxes(wins, 1, 2) + ties
    lead = p - q
    gradient = (wins - np.swapaxes(wins, 1, 2) - met * lead) / 2
    spread = (p + q - lead * lead) / 4
    return _Slopes(
        gradient.sum(axis=2),
        (ties - met * t).sum(axis=(1, 2)) / 2,
        met * spread,
        (-met * t * lead / 2).sum(axis=2),
        (met * t * (1 - t)).sum(axis=(1, 2)) / 2,
    )


def _rao_kupper_value(theta: Floats, tie: Floats, wins: Floats, ties: Floats) -> Floats:
    lead = _gaps(theta) - tie[:, None, None]
    # A tie is worth a win of either side and a factor exp(2 eta) - 1.
    value = ((wins + ties) * log_expit(lead)).sum(axis=(1, 2))
    return np.asarray(value + ties.sum(axis=(1, 2)) / 2 * np.log(np.expm1(2 * tie)))


def _rao_kupper_slopes(theta: Floats, tie: Floats, wins: Floats, ties: Floats) -> _Slopes:
    lead = _gaps(theta) - tie[:, None, None]
    p, q = expit(lead), expit(-lead)
    either = wins + ties
    first = either * q
    second = first * p
    back = np.swapaxes(second, 1, 2)
    n_ties = ties.sum(axis=(1, 2)) / 2
    gone = -np.expm1(-2 * tie)
    return _Slopes(
        (first - np.swapaxes(first, 1, 2)).sum(axis=2),
        2 * n_ties / gone - first.sum(axis=(1, 2)),
        second + back,
        -(second - back).sum(axis=2),
        second.sum(axis=(1, 2)) + 4 * n_ties * np.exp(-2 * tie) / gone**2,
    )


_MODELS = {
    "davidson": _Model(_davidson_value, _davidson_slopes, 0.0, positive=False),
    "rao-kupper": _Model(_rao_kupper_value, _rao_kupper_slopes, 0.5, positive=True),
}


def fit_ties(wins: Floats, ties: Floats, model: str, start: Floats | None = None) -> TieFit:
    """Fit tables in which the maximum exists: connected, with ties, and with enough wins.

    The covariance is given for a single table only.
    """
    chosen = _MODELS[model]
    scale = wins + ties / 2
    theta = np.log((scale.sum(axis=2) + 0.5) / (scale.sum(axis=1) + 0.5))
    theta = theta if start is None else np.broadcast_to(start, theta.shape)
    theta = theta - theta.mean(axis=1, keepdims=True)
    tie = np.full(len(wins), chosen.start)
    value = chosen.value(theta, tie, wins, ties)
    active = np.arange(len(wins))
    for count in range(1, _STEPS + 1):
        w, t = wins[active], ties[active]
        step, tie_step = _newton_step(chosen.slopes(theta[active], tie[active], w, t))
        factor = _halved(
            chosen, (theta[active], tie[active], value[active]), step, tie_step, (w, t)
        )
        theta[active] += factor[:, None] * step
        tie[active] += factor * tie_step
        value[active] = chosen.value(theta[active], tie[active], w, t)
        size = np.maximum(np.abs(step).max(axis=1, initial=0), np.abs(tie_step))
        active = active[~((size < _CLOSE) | (factor == 0))]
        if not len(active):
            theta -= theta.mean(axis=1, keepdims=True)
            spread = None
            if len(wins) == 1:
                spread = _covariance(chosen.slopes(theta, tie, wins, ties))
            return TieFit(theta, np.exp(tie), value, spread, count)
    raise DegenerateError(f"the model of ties has not converged in {_STEPS} steps")


def log_likelihood(pairs: PairWins, theta: Floats, ties_as: str, parameter: float) -> float:
    """Log-likelihood of wins and ties; ties take part in the models of ties only."""
    gap = theta[pairs.i] - theta[pairs.j]
    ahead, behind, tied = pairs.wins_i, pairs.wins_j, pairs.ties
    if not tied.any():
        return float((ahead * log_expit(gap) + behind * log_expit(-gap)).sum())
    if np.isinf(parameter):
        return 0.0
    if ties_as == "davidson":
        nu = np.log(parameter)
        whole = np.logaddexp(np.logaddexp(gap / 2, -gap / 2), nu)
        return float((ahead * gap / 2 - behind * gap / 2 + tied * nu - pairs.met * whole).sum())
    eta = np.log(parameter)
    odds = (ahead + tied) * log_expit(gap - eta) + (behind + tied) * log_expit(-gap - eta)
    return float((odds + tied * np.log(np.expm1(2 * eta))).sum())


def _newton_step(slopes: _Slopes) -> tuple[Floats, Floats]:
    """Solve for both kinds of parameters, the tie parameter by elimination."""
    matrix = laplacian(slopes.weight)
    right = np.stack([slopes.theta, slopes.cross], axis=2)
    solved = np.linalg.solve(matrix, right)
    by_theta, by_cross = solved[..., 0], solved[..., 1]
    rest = slopes.curve - (slopes.cross * by_cross).sum(axis=1)
    tie_step = (slopes.tie - (slopes.cross * by_theta).sum(axis=1)) / rest
    return by_theta - by_cross * tie_step[:, None], tie_step


def _halved(
    model: _Model,
    place: tuple[Floats, Floats, Floats],
    step: Floats,
    tie_step: Floats,
    data: tuple[Floats, Floats],
) -> Floats:
    """Find how much of a step to take: 1, 1/2, 1/4 ... until the likelihood does not fall."""
    theta, tie, value = place
    slack = 1e-13 * np.abs(value)
    longest = np.maximum(np.abs(step).max(axis=1, initial=0), np.abs(tie_step))
    factor = np.minimum(1.0, 2.0 / np.maximum(longest, 1e-300))
    if model.positive:  # stay on the side of eta > 0
        down = tie_step < 0
        factor[down] = np.minimum(factor[down], 0.9 * tie[down] / -tie_step[down])
    for _ in range(60):
        new = model.value(theta + factor[:, None] * step, tie + factor * tie_step, *data)
        worse = ~(new >= value - slack)
        if not worse.any():
            return np.asarray(factor)
        factor = np.where(worse, factor / 2, factor)
    return np.asarray(np.where(worse, 0.0, factor))


def _covariance(slopes: _Slopes) -> Floats:
    """Covariance of theta when the tie parameter is estimated, too."""
    alone = covariance(laplacian(slopes.weight)[0])
    pull = alone @ slopes.cross[0]
    return np.asarray(alone + np.outer(pull, pull) / (slopes.curve[0] - slopes.cross[0] @ pull))
