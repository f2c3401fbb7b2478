r"""Corrected means of several systems at once: what they share, and which places they can hold.

Systems were judged on the same items, so that their estimates are not independent, be their labels
on the same items or not. What each row adds to each estimate, summed by unit, gives the covariance
of all of them; draws from it say how far the largest of all differences strays by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.distributions import stdtr
from steelyard.stats.estimate import Codes
from steelyard.stats.ranks import ranks


def joint_covariance(
    influences: Sequence[Floats], units: Sequence[Codes], errors: Floats
) -> Floats:
    """Return the covariance of estimates from what each row adds to each, summed by unit.

    ``influences`` and ``units`` have an array per estimate, a number for each of its rows. The
    diagonal is scaled to the standard ``errors``; an unknown one makes a row and a column of NaN.
    """
    _, code = np.unique(np.concatenate(list(units)), return_inverse=True)
    n_units = int(code.max(initial=-1)) + 1
    parts = np.split(code, np.cumsum([len(rows) for rows in units])[:-1])
    sums = np.stack([group_sums(c, x, n_units) for c, x in zip(parts, influences, strict=True)])
    products = sums @ sums.T
    size = np.sqrt(np.diagonal(products))
    scale = np.outer(size, size)
    correlation = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation * np.outer(errors, errors))


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """What holds for all pairs of systems at once.

    ``p`` is of each pair alone, ``p_adjusted`` of the largest of all differences; ``best`` and
    ``worst`` are places that a system can hold, all of them together; ``shares[i, j]`` is the share
    of draws in which i takes place j + 1.
    """

    p: Floats
    p_adjusted: Floats
    best: Floats
    worst: Floats
    shares: Floats


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
    """Test all differences (row minus column) at once, and return the places systems can hold.

    ``errors`` and their degrees of ``freedom`` are those of each pair itself, which may be smaller
    than what the covariance of the estimates says. Systems with NaN are excluded.
    """
    k = len(values)
    present = ~np.isnan(np.diagonal(covariance)) & ~np.isnan(values)
    n = int(present.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0, np.abs(differences) / errors, np.nan)
    p = 2 * np.asarray(stdtr(freedom, -t), dtype=np.float64)
    np.fill_diagonal(p, np.nan)
    shares = np.full((k, k), np.nan)
    if n < 2:
        nothing = np.full((k, k), np.nan)
        return Together(p, nothing, np.ones(k), np.full(k, float(max(n, 1))), shares)
    among = np.ix_(present, present)
    drawn = _draw(covariance[among], float(np.nanmin(freedom[among])), rng, draws)
    largest = _largest_differences(drawn, covariance[among])
    below = np.searchsorted(np.sort(largest), t, side="left")
    adjusted = np.where(np.isnan(t), np.nan, (draws - below + 1) / (draws + 1))
    adjusted = np.maximum(adjusted, p)  # rounding of draws must not make a pair surer than alone
    np.fill_diagonal(adjusted, np.nan)
    sure = adjusted <= 1 - level
    best = 1.0 + (sure & (differences < 0)).sum(axis=1)
    worst = n - (sure & (differences > 0)).sum(axis=1).astype(np.float64)
    places = ranks(values[present] + drawn)
    shares[among] = np.stack([(places == place + 1).mean(axis=0) for place in range(n)], axis=1)
    return Together(p, adjusted, best, worst, shares)


def _draw(covariance: Floats, freedom: float, rng: np.random.Generator, draws: int) -> Floats:
    """Draw how far estimates stray: multivariate t with the fewest degrees of freedom of all."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = rng.standard_normal((draws, len(values))) @ root.T
    if np.isfinite(freedom):
        freedom = max(freedom, 1.0)
        drawn = drawn / np.sqrt(rng.chisquare(freedom, draws) / freedom)[:, None]
    return np.asarray(drawn, dtype=np.float64)


def _largest_differences(drawn: Floats, covariance: Floats) -> Floats:
    """Return the largest difference of each draw, in standard errors."""
    spread = np.diagonal(covariance)
    largest = np.zeros(len(drawn))
    for i in range(len(spread)):
        error = np.sqrt(np.maximum(spread[i] + spread[i + 1 :] - 2 * covariance[i, i + 1 :], 0.0))
        varies = error > 1e-12 * np.sqrt(spread.max())
        if varies.any():
            apart = np.abs(drawn[:, i, None] - drawn[:, i + 1 :][:, varies]) / error[varies]
            largest = np.maximum(largest, apart.max(axis=1))
    return largest
