r"""Corrected means of several systems at once: what they share, and which places they can hold.

Systems were judged on the same items, so that their estimates are not independent, be their labels
on the same items or not. What each row adds to each estimate, summed by unit, gives the covariance
of all of them; draws from it say how far the largest of all differences strays by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_number, check_whole
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.prediction_powered.mean import with_every_verdict
from steelyard.stats.prediction_powered.stratified import stratum_mean
from steelyard.stats.ranks import ranks

Codes = NDArray[np.integer]


def random_influence(human: Floats, judge: Floats, weight: float) -> Floats:
    """Give what each row adds to a mean that labels at random correct.

    Examples
    --------
    >>> nan = np.nan
    >>> found = random_influence(np.array([1.0, 0, nan, nan]), np.array([1.0, 0, 1, 0]), 0.5)
    >>> found.tolist()
    [0.125, -0.125, 0.125, -0.125]
    """
    found = np.zeros(len(human))
    f = with_every_verdict(judge)
    labelled, rest = ~np.isnan(human), np.isnan(human)
    if labelled.any():
        residuals = human[labelled] - weight * f[labelled]
        found[labelled] = (residuals - residuals.mean()) / len(residuals)
    if rest.any():
        found[rest] = weight * (f[rest] - f[rest].mean()) / rest.sum()
    return found


def stratified_influence(human: Floats, judge: Floats, stratum: Codes) -> Floats:
    """Give what each row adds to a mean that labels within strata correct.

    Examples
    --------
    >>> human = np.array([1.0, 0, np.nan, 1, 1, np.nan])
    >>> found = stratified_influence(human, np.array([0.0, 0, 0, 1, 1, 1]), np.repeat([0, 1], 3))
    >>> found.round(3).tolist()
    [0.083, -0.167, -0.042, 0.042, 0.042, 0.042]
    """
    total = len(human)
    found = np.zeros(total)
    f = with_every_verdict(judge)
    means: list[tuple[NDArray[np.intp], float]] = []
    for code in np.unique(stratum):
        rows = np.flatnonzero(stratum == code)
        mean, _, weight, _ = stratum_mean(human[rows], f[rows])
        found[rows] = len(rows) / total * random_influence(human[rows], f[rows], weight)
        means.append((rows, mean))
    whole = sum(len(rows) * mean for rows, mean in means) / total if total else 0.0
    for rows, mean in means:  # the shares of strata are those of a sample
        found[rows] += (mean - whole) / total
    return found


def weighted_influence(human: Floats, judge: Floats, probability: Floats, weight: float) -> Floats:
    """Give what each row adds to a mean that labels with known probabilities correct.

    Examples
    --------
    >>> found = weighted_influence(np.array([1.0, np.nan]), np.array([1.0, 0]), np.full(2, 0.5), 0)
    >>> found.tolist()
    [0.5, -0.5]
    """
    f, labelled = with_every_verdict(judge), ~np.isnan(human)
    own = np.where(labelled, (np.nan_to_num(human) - weight * f) / probability, 0.0) + weight * f
    return np.asarray((own - own.mean()) / max(len(own), 1))


def joint_covariance(
    influences: Sequence[Floats], units: Sequence[Codes], errors: Floats
) -> Floats:
    """Give the covariance of estimates from what each row adds to each, summed by unit.

    Parameters
    ----------
    influences
        Of each estimate, a number per row of its own.
    units
        Of each estimate, the unit of each of these rows: what estimates share.
    errors
        Standard errors of the estimates, to which the diagonal is scaled; NaN where unknown, which
        makes a row and a column of NaN.

    Examples
    --------
    >>> both = np.array([0.1, -0.1])
    >>> joint_covariance([both, both], [np.arange(2)] * 2, np.array([0.2, 0.4])).round(3).tolist()
    [[0.04, 0.08], [0.08, 0.16]]
    """
    if not len(influences) == len(units) == len(errors):
        raise ShapeError("influences, units and errors: expected as many of each")
    _, code = np.unique(np.concatenate(list(units)), return_inverse=True)
    n = int(code.max(initial=-1)) + 1
    parts = np.split(code, np.cumsum([len(own) for own in units])[:-1])
    sums = np.stack([group_sums(c, own, n) for c, own in zip(parts, influences, strict=True)])
    own = sums @ sums.T
    size = np.sqrt(np.diagonal(own))
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.where(np.outer(size, size) > 0, own / np.outer(size, size), 0.0)
    np.fill_diagonal(shared, 1.0)
    return shared * np.outer(errors, errors)


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """What holds for all pairs of systems at once.

    ``p`` is of each pair alone, ``p_adjusted`` of the largest of all differences; ``best`` and
    ``worst`` are places that a system can hold, at the level asked for, all of them together;
    ``shares[i, j]`` is the share of draws in which i takes place j + 1.
    """

    p: Floats
    p_adjusted: Floats
    best: Floats
    worst: Floats
    shares: Floats
    critical: float


def all_together(
    covariance: Floats,
    differences: Floats,
    errors: Floats,
    freedom: Floats,
    values: Floats,
    rng: np.random.Generator,
    *,
    draws: int = 2000,
    level: float = 0.95,
) -> Together:
    """Test all differences at once, and say which places systems can hold.

    Parameters
    ----------
    covariance
        Of the estimates; systems with NaN take no part.
    differences, errors
        Row minus column, and their standard errors: those of the pair itself, which may be smaller
        than what the covariance says.
    freedom
        Degrees of freedom of each of these errors.
    values
        The estimates, by which draws are placed.
    rng, draws
        Random numbers, and how many times all estimates are drawn.
    level
        Of the places.

    Examples
    --------
    >>> values = np.array([1.0, 0.0, 0.01])
    >>> apart = values[:, None] - values
    >>> found = all_together(0.01 * np.eye(3), apart, np.full((3, 3), 0.1414),
    ...                      np.full((3, 3), 500.0), values, np.random.default_rng(0))
    >>> found.best.tolist(), found.worst.tolist(), bool(found.p_adjusted[0, 1] < 0.001)
    ([1.0, 2.0, 2.0], [1.0, 3.0, 3.0], True)
    """
    check_whole(1, draws=draws)
    check_number(0, 1, strict=True, level=level)
    k = len(values)
    known = ~np.isnan(np.diagonal(covariance)) & ~np.isnan(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0, np.abs(differences) / errors, np.nan)
    p = 2 * np.asarray(stdtr(freedom, -t), dtype=np.float64)
    np.fill_diagonal(p, np.nan)
    best, worst = np.ones(k), np.full(k, float(max(known.sum(), 1)))
    shares = np.full((k, k), np.nan)
    adjusted = np.full((k, k), np.nan)
    if known.sum() < 2:
        return Together(p, adjusted, best, worst, shares, float("nan"))
    own = np.ix_(known, known)
    drawn = _drawn(covariance[own], float(np.nanmin(freedom[own])), rng, draws)
    largest = _largest(drawn, covariance[own])
    above = np.searchsorted(np.sort(largest), t, side="left")
    adjusted = np.where(np.isnan(t), np.nan, (draws - above + 1) / (draws + 1))
    adjusted = np.maximum(adjusted, p)  # rounding of draws must not make a pair surer than alone
    np.fill_diagonal(adjusted, np.nan)
    beaten = (adjusted <= 1 - level) & (differences < 0)
    beats = (adjusted <= 1 - level) & (differences > 0)
    best, worst = 1.0 + beaten.sum(axis=1), known.sum() - beats.sum(axis=1).astype(np.float64)
    places = ranks(values[known] + drawn)
    counts = np.stack([(places == place + 1).mean(axis=0) for place in range(int(known.sum()))], 1)
    shares[own] = counts
    return Together(p, adjusted, best, worst, shares, float(np.quantile(largest, level)))


def _drawn(covariance: Floats, freedom: float, rng: np.random.Generator, draws: int) -> Floats:
    """Draw how far estimates stray: multivariate t with the fewest degrees of freedom of all."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = rng.standard_normal((draws, len(values))) @ root.T
    if np.isfinite(freedom):
        drawn = (
            drawn / np.sqrt(rng.chisquare(max(freedom, 1.0), draws) / max(freedom, 1.0))[:, None]
        )
    return np.asarray(drawn, dtype=np.float64)


def _largest(drawn: Floats, covariance: Floats) -> Floats:
    """Give the largest difference of each draw, in standard errors."""
    spread = np.diagonal(covariance)
    found = np.zeros(len(drawn))
    for i in range(len(spread)):
        error = np.sqrt(np.maximum(spread[i] + spread[i + 1 :] - 2 * covariance[i, i + 1 :], 0.0))
        some = error > 1e-12 * np.sqrt(spread.max())
        if some.any():
            apart = np.abs(drawn[:, i, None] - drawn[:, i + 1 :][:, some]) / error[some]
            found = np.maximum(found, apart.max(axis=1))
    return found
