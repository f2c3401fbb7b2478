r"""Fits of strengths by maximum likelihood, with and without ties; many tables of wins at once.

Bradley and Terry: :math:`P(i > j) = \pi_i / (\pi_i + \pi_j)`. ``w[i, j]`` is how often i beat j
(any positive weight); the graph of who beat whom must be strongly connected
(:mod:`steelyard.stats.strength.connectivity`), else there is no finite maximum. Three ways to the
same maximum: Newton's method on the log-strengths (a handful of steps, with the covariance),
Newman's iteration on the pairs that met (very many systems, few pairs), and the classic
minorisation-maximisation (MM) with the stopping rule of the paired-evaluation paper, which stops
early and is here for its numbers.

What becomes of ties is a choice, and a named one (``TIES``):

* ``half``: half a win for either side; ``drop``: left out;
* ``second``: wins of the later system, as the code of the paired-evaluation paper has it. The order
  of the systems then matters; it is here to reproduce that paper;
* ``davidson``, ``rao-kupper``: outcomes of their own. With :math:`\delta = \theta_i - \theta_j`,
  the difference of log-strengths, Davidson's wins of i, wins of j and ties have odds
  :math:`e^{\delta/2} : e^{-\delta/2} : \nu`; Rao and Kupper's i wins with
  :math:`\sigma(\delta - \eta)`, j with :math:`\sigma(-\delta - \eta)`, and the rest are ties,
  :math:`\eta = \log \theta \ge 0`. Both likelihoods are concave, so Newton's method with a step
  that is halved until the likelihood rises finds the one maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, log_expit

from steelyard.core.errors import DegenerateError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.strength.wins import PairWins

TIES = ("half", "drop", "davidson", "rao-kupper", "second")
TIE_MODELS = ("davidson", "rao-kupper")
_CLOSE = 1e-6  # a Newton step this small leaves an error of half its square
_STEPS = 500
_CHORD_CLOSE = 1e-10  # each step is a fraction of the one before
_CHORD_STEPS = 15
_NEWMAN_CLOSE = 1e-13
_NEWMAN_STEPS = 100_000
_TIES_CLOSE = 1e-8  # a Newton step this small leaves an error of its square
MM_STOP = 1e-9  # squared change at which the paper's iteration stops


def newton(w: Floats, start: Floats | None = None) -> tuple[Floats, int]:
    """Fit many tables of wins at once (resamples x systems x systems) by Newton's method.

    Returns the log-strengths, resamples x systems with mean 0 each, and the number of steps. A step
    that moves some difference of two systems by more than 1.5 is shortened so that the likelihood
    can't fall: the third derivative is bounded by the second times the largest such move.
    """
    return newton_sums(w + np.swapaxes(w, 1, 2), w.sum(axis=2), w.sum(axis=1), start)


def newton_sums(
    met: Floats, won: Floats, lost: Floats, start: Floats | None = None
) -> tuple[Floats, int]:
    """Fit as :func:`newton` does, from how often pairs met and how often each system won and lost.

    The likelihood knows no more of the wins.
    """
    theta = np.log((won + 0.5) / (lost + 0.5))
    if start is not None:
        theta[:] = start
    done = np.empty_like(theta)
    places = np.arange(len(met))  # of the tables that still move
    for count in range(1, _STEPS + 1):
        information, expected = _information(theta, met)
        step = np.linalg.solve(information, (won - expected)[..., None])[..., 0]
        reach = step.max(axis=1) - step.min(axis=1)
        # No line search: of a long step, the share log1p(reach) / reach can't lower the likelihood
        # (see above), whatever the table, so that all tables take their steps together.
        if not (reach <= 1.5).all():
            step *= np.where(reach <= 1.5, 1.0, np.log1p(reach) / np.maximum(reach, 1.0))[:, None]
        theta += step
        # Tables that have converged leave the stack: the slowest alone goes on to the end.
        close = reach < _CLOSE
        if close.any():
            done[places[close]] = theta[close]
            moving = ~close
            places, theta, met, won = places[moving], theta[moving], met[moving], won[moving]
            if not len(places):
                return centred(done), count
    raise DegenerateError(
        f"Newton's method has not converged in {_STEPS} steps: wins too uneven for "
        "double precision; a prior helps"
    )


def chord(w: Floats, start: Floats) -> tuple[Floats, int]:
    """Fit many tables that differ little, as resamples do, by Newton's method with one matrix.

    The information at ``start``, with as many comparisons as the tables have on average, stands in
    for that of every table and step: steps get smaller by a factor instead of by their square, but
    cost a fraction. What has not converged soon is left to :func:`newton`. Returns log-strengths,
    resamples x systems with mean 0 each, and the number of steps.
    """
    from scipy.linalg import cho_factor, cho_solve

    met = w + np.swapaxes(w, 1, 2)
    won = w.sum(axis=2)
    factor = cho_factor(_information(start[None], met.mean(axis=0)[None])[0][0])
    theta = np.tile(start, (len(w), 1))
    moving = np.arange(len(w))
    for count in range(1, _CHORD_STEPS + 1):
        gap = np.empty((len(moving), len(start)))
        for row, k in enumerate(moving):  # table by table: each fits the cache
            pi = np.exp(theta[k])
            share = pi[:, None] + pi[None, :]
            np.divide(met[k], share, out=share)
            gap[row] = won[k] - pi * share.sum(axis=1)
        step = cho_solve(factor, gap.T, check_finite=False).T
        theta[moving] += step
        reach = step.max(axis=1) - step.min(axis=1)
        moving = moving[reach > _CHORD_CLOSE]
        if not len(moving):
            return centred(theta), count
        if not (reach < 1.0).all():
            break
    theta[moving] = newton(w[moving])[0]
    return centred(theta), count


@dataclass(frozen=True, slots=True)
class Chord:
    """Newton's method with one matrix, as :func:`chord`, where all pairs meet equally often."""

    start: Floats
    factor: tuple[Floats, bool]  # of the information if each pair met once

    @classmethod
    def of_equal(cls, start: Floats) -> Chord:
        """Factor the information at ``start``."""
        from scipy.linalg import cho_factor

        once = 1.0 - np.eye(len(start))
        return cls(start, cho_factor(_information(start[None], once[None])[0][0]))

    def fit(self, won: Floats, met: Floats) -> Floats:
        """Give log-strengths, resamples x systems with mean 0, from wins and meetings of a pair."""
        from scipy.linalg import cho_solve

        theta = np.tile(self.start, (len(won), 1))
        moving = np.arange(len(won))
        share = won / met[:, None]
        for _ in range(_CHORD_STEPS):
            gap = np.empty((len(moving), len(self.start)))
            for row, k in enumerate(moving):  # resample by resample: each fits the cache
                pi = np.exp(theta[k])
                each = pi[:, None] + pi[None, :]
                np.divide(1.0, each, out=each)
                gap[row] = share[k] - (pi * each.sum(axis=1) - 0.5)
            step = cho_solve(self.factor, gap.T, check_finite=False).T
            theta[moving] += step
            reach = step.max(axis=1) - step.min(axis=1)
            moving = moving[reach > _CHORD_CLOSE]
            if not len(moving) or not (reach < 1.0).all():
                break
        for k in moving:  # far from the data, or slow
            table = met[k] * (1.0 - np.eye(len(self.start)))
            lost = met[k] * (len(self.start) - 1) - won[k]
            theta[k] = newton_sums(table[None], won[k : k + 1], lost[None])[0][0]
        return centred(theta)


def centred(theta: Floats) -> Floats:
    """Shift rows to mean 0."""
    return np.asarray(theta - theta.sum(axis=-1, keepdims=True) / theta.shape[-1])


def _information(theta: Floats, met: Floats) -> tuple[Floats, Floats]:
    """Fisher information, made regular along the constants, and expected wins."""
    pi = np.exp(theta)
    p = pi[:, :, None] / (pi[:, :, None] + pi[:, None, :])
    expected = met * p
    return laplacian(expected * np.swapaxes(p, 1, 2)), expected.sum(axis=2)


def laplacian(weight: Floats) -> Floats:
    """Turn pair weights into the information matrix, plus its mean weight along the constants."""
    # Strengths are known up to a constant, so the information is singular along it. Adding a
    # multiple of the all-ones matrix makes it regular and moves no solution of mean 0.
    n = weight.shape[-1]
    degree = weight.sum(axis=-1)
    matrix: Floats = (degree.sum(axis=-1) / n**2)[..., None, None] - weight
    diagonal = matrix.reshape(*degree.shape[:-1], n * n)[..., :: n + 1]  # a view
    diagonal += degree
    return matrix


def covariance(information: Floats) -> Floats:
    """Invert what :func:`laplacian` made, leaving out the constants."""
    return np.asarray(np.linalg.inv(information) - 1 / information.sum())


def bt_covariance(theta: Floats, w: Floats) -> Floats:
    """Covariance of the centred log-strengths, as if all comparisons were independent."""
    return covariance(_information(theta[None], (w + w.T)[None])[0][0])


def newman(i: Counts, j: Counts, w_ij: Floats, w_ji: Floats, n: int) -> tuple[Floats, int]:
    r"""Fit by Newman's iteration on the pairs that met: log-strengths with mean 0, and steps.

    .. math:: \pi_i \leftarrow \frac{\sum_j w_{ij} \pi_j / (\pi_i + \pi_j)}
              {\sum_j w_{ji} / (\pi_i + \pi_j)}

    for all i at once, taking the geometric mean with the old value: the plain iteration would go
    back and forth for ever where the pairs that met form a graph without odd cycles.
    """
    theta = np.zeros(n)
    for count in range(1, _NEWMAN_STEPS + 1):
        pi = np.exp(theta)
        share = 1 / (pi[i] + pi[j])
        top = np.bincount(i, w_ij * share * pi[j], n) + np.bincount(j, w_ji * share * pi[i], n)
        bottom = np.bincount(i, w_ji * share, n) + np.bincount(j, w_ij * share, n)
        step = (np.log(top / bottom) - theta) / 2
        step -= step.mean()
        theta += step
        if np.abs(step).max() < _NEWMAN_CLOSE:
            return theta, count
    raise DegenerateError(
        f"Newman's iteration has not converged in {_NEWMAN_STEPS:,} steps; Newton's method or a "
        "prior helps"
    )


def mm(i: Counts, j: Counts, w_ij: Floats, w_ji: Floats, n: int) -> tuple[Floats, int]:
    """Fit by minorisation-maximisation, equations 3 and 4 of the paper, as its code does.

    Starts at 0.5 for every system and stops when the squares of the changes sum to less than 1e-9;
    log-strengths are then off by 1e-4 to 1e-3.
    """
    strength = np.full(n, 0.5)
    won = np.bincount(i, w_ij, n) + np.bincount(j, w_ji, n)
    met = w_ij + w_ji
    count, change = 0, np.inf
    while change >= MM_STOP:
        share = met / (strength[i] + strength[j])
        new = won / (np.bincount(i, share, n) + np.bincount(j, share, n))
        new /= new.sum()
        change = float(((new - strength) ** 2).sum())
        strength = new
        count += 1
    theta = np.log(strength)
    return centred(theta), count


def effective_wins(pairs: PairWins, ties_as: str) -> PairWins:
    """Apply a treatment of ties; the models of ties are the only ones that leave any."""
    if ties_as in TIE_MODELS:
        return pairs
    first, second = {"half": (0.5, 0.5), "second": (0.0, 1.0)}.get(ties_as, (0.0, 0.0))
    wins_i, wins_j = pairs.wins_i + first * pairs.ties, pairs.wins_j + second * pairs.ties
    return replace(pairs, wins_i=wins_i, wins_j=wins_j, ties=np.zeros_like(pairs.ties))


def effective_tables(wins: Floats, ties: Floats, ties_as: str) -> tuple[Floats, Floats]:
    """Apply a treatment of ties to tables of systems x systems, as :func:`effective_wins` does."""
    if ties_as in TIE_MODELS:
        return wins, ties
    bonus = {"half": ties / 2, "second": np.tril(ties)}.get(ties_as, 0.0)
    return wins + bonus, np.zeros_like(ties)


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


def fit_ties(
    wins: Floats, ties: Floats, model: str, start: Floats | None = None, *, covariance: bool = True
) -> TieFit:
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
        factor, value[active] = _halved(
            chosen, (theta[active], tie[active], value[active]), step, tie_step, (w, t)
        )
        theta[active] += factor[:, None] * step
        tie[active] += factor * tie_step
        size = np.maximum(np.abs(step).max(axis=1, initial=0), np.abs(tie_step))
        active = active[~((size < _TIES_CLOSE) | (factor == 0))]
        if not len(active):
            theta -= theta.mean(axis=1, keepdims=True)
            spread = None
            if covariance and len(wins) == 1:
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
) -> tuple[Floats, Floats]:
    """Find how much of a step to take: 1, 1/2, 1/4 ... until the likelihood does not fall.

    Gives that, and the likelihood after it.
    """
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
            return np.asarray(factor), new
        factor = np.where(worse, factor / 2, factor)
    return np.where(worse, 0.0, factor), np.where(worse, value, new)


def _covariance(slopes: _Slopes) -> Floats:
    """Covariance of theta when the tie parameter is estimated, too."""
    alone = covariance(laplacian(slopes.weight)[0])
    pull = alone @ slopes.cross[0]
    return np.asarray(alone + np.outer(pull, pull) / (slopes.curve[0] - slopes.cross[0] @ pull))
