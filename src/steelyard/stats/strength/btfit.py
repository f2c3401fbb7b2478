r"""Fits of the Bradley-Terry model: :math:`P(i > j) = \pi_i / (\pi_i + \pi_j)`.

``w[i, j]`` is how often i beat j (any positive weight); the graph of who beat whom must be strongly
connected (:mod:`steelyard.stats.strength.connectivity`), else there is no finite maximum. Three
ways to the same maximum: Newton's method on the log-strengths (a handful of steps, with the
covariance), Newman's iteration on the pairs that met (very many systems, few pairs), and the
classic minorisation-maximisation (MM) with the stopping rule of the paired-evaluation paper, which
stops early and is here for its numbers.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.errors import DegenerateError
from steelyard.stats.arrays import Counts, Floats

_CLOSE = 1e-6  # a Newton step this small leaves an error of half its square
_NEWTON_STEPS = 500
_CHORD_CLOSE = 1e-10  # each step is a fraction of the one before
_CHORD_STEPS = 15
_NEWMAN_CLOSE = 1e-13
_NEWMAN_STEPS = 100_000
MM_STOP = 1e-9  # squared change at which the paper's iteration stops


def newton(w: Floats, start: Floats | None = None) -> tuple[Floats, int]:
    """Fit many tables of wins at once (resamples x systems x systems) by Newton's method.

    Returns the log-strengths, resamples x systems with mean 0 each, and the number of steps. A step
    that moves some difference of two systems by more than 1.5 is shortened so that the likelihood
    can't fall: the third derivative is bounded by the second times the largest such move.
    """
    met = w + np.swapaxes(w, 1, 2)
    won, lost = w.sum(axis=2), w.sum(axis=1)
    theta = np.log((won + 0.5) / (lost + 0.5))
    if start is not None:
        theta[:] = start
    done = np.empty_like(theta)
    places = np.arange(len(w))  # of the tables that still move
    for count in range(1, _NEWTON_STEPS + 1):
        information, expected = _information(theta, met)
        step = np.linalg.solve(information, (won - expected)[..., None])[..., 0]
        reach = step.max(axis=1) - step.min(axis=1)
        if not (reach <= 1.5).all():
            step *= np.where(reach <= 1.5, 1.0, np.log1p(reach) / np.maximum(reach, 1.0))[:, None]
        theta += step
        close = reach < _CLOSE
        if close.any():
            done[places[close]] = theta[close]
            moving = ~close
            places, theta, met, won = places[moving], theta[moving], met[moving], won[moving]
            if not len(places):
                return centred(done), count
    raise DegenerateError(
        f"Newton's method has not converged in {_NEWTON_STEPS} steps: wins too uneven for "
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
