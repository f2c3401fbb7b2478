"""Bradley-Terry strengths of many resamples at once, for intervals of strengths, gaps and ranks.

All tables are fitted together by Newton's method. A resample can fall apart although the data do
not: a system may win, or lose, everything that was drawn. Its strengths are then the limit of the
model: 1 in all for the component above everything else, 0 for the rest; where no component is above
everything else there is no limit, and the strengths are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats
from steelyard.stats.ranks import FITTED, ranks
from steelyard.stats.strength.bradleyterry import Strengths, bradley_terry, check_options
from steelyard.stats.strength.btfit import chord, newton
from steelyard.stats.strength.connectivity import all_connected
from steelyard.stats.strength.tiemodels import fit_ties
from steelyard.stats.strength.tiepolicy import TIE_MODELS, effective_tables
from steelyard.stats.strength.wins import WinCounts

_CELLS = 2_000_000  # cells of win tables fitted at a time
_MANY = 100  # systems from which solving is what a step costs


@dataclass(frozen=True, slots=True)
class BatchStrengths:
    """Strengths of resamples x systems.

    Attributes
    ----------
    strength
        Sums to 1 in each resample; NaN where a resample leaves the order of groups open.
    log_strength
        With mean 0; NaN in resamples that are not connected.
    ranks
        1 is best, equal strengths share the better rank; NaN where not determined.
    connected
        Whether all systems could be compared, for each resample.
    """

    strength: Floats
    log_strength: Floats
    ranks: Floats
    connected: NDArray[np.bool_]


def bradley_terry_batch(
    counts: WinCounts,
    *,
    ties_as: str = "half",
    prior: float = 0.0,
    start: Floats | None = None,
) -> BatchStrengths:
    """Fit the Bradley-Terry model to every resample (``wins.resampled_wins``).

    Parameters
    ----------
    counts
        Resamples x systems x systems. Keep to the main component of the data (``counts.within``):
        strengths of what is not connected there are not comparable.
    ties_as, prior
        See :func:`steelyard.stats.strength.bradleyterry.bradley_terry`.
    start
        Log-strengths to start from, those of the data; saves a step or two.

    Examples
    --------
    >>> wins = np.array([[[0.0, 3.0], [1.0, 0.0]], [[0.0, 4.0], [0.0, 0.0]]])
    >>> fit = bradley_terry_batch(WinCounts(wins, np.zeros_like(wins)))
    >>> fit.strength.round(9).tolist(), fit.connected.tolist()
    ([[0.75, 0.25], [1.0, 0.0]], [True, False])
    """
    check_options(ties_as, "newton", prior)
    if counts.wins.ndim != 3 or counts.wins.shape != counts.ties.shape:
        raise ShapeError(f"expected resamples x systems x systems, got {counts.wins.shape}")
    size, n = counts.wins.shape[:2]
    if start is not None and (start.shape != (n,) or np.isnan(start).any()):
        raise ShapeError(f"a start needs a log-strength for each of {n} systems")
    near = start is not None and n >= _MANY and ties_as not in TIE_MODELS
    step = max(1, (4 if near else 1) * _CELLS // max(1, n * n))
    log_strength = np.full((size, n), np.nan)
    for first in range(0, size, step):
        part = slice(first, first + step)
        tables = effective_tables(counts.wins[part], counts.ties[part], ties_as)
        log_strength[part] = _fit(*tables, ties_as, prior, start, near=near)
    scaled = np.exp(log_strength - log_strength.max(axis=1, keepdims=True, initial=-np.inf))
    strength = scaled / scaled.sum(axis=1, keepdims=True)
    places = ranks(strength, close=FITTED)
    connected = np.ones(size, dtype=bool)
    for b in np.flatnonzero(np.isnan(log_strength).any(axis=1)):
        own = WinCounts(counts.wins[b], counts.ties[b])
        fit = bradley_terry(own.wins, own.ties, ties_as=ties_as, prior=prior)
        connected[b], places[b] = fit.connected, fit.ranks
        strength[b] = fit.strength if fit.connected else _limit(fit, own, ties_as)
        if fit.connected:
            log_strength[b] = fit.log_strength
    return BatchStrengths(strength, log_strength, places, connected)


def _fit(
    wins: Floats, ties: Floats, ties_as: str, prior: float, start: Floats | None, *, near: bool
) -> Floats:
    """Log-strengths of the tables that are surely connected, NaN for the others."""
    n = wins.shape[1]
    result = np.full(wins.shape[:2], np.nan)
    model = ties_as in TIE_MODELS
    if prior and n:
        edge = ((0, 0), (0, 1), (0, 1))
        wins, ties = np.pad(wins, edge, constant_values=prior), np.pad(ties, edge)
        wins[:, -1, -1] = 0
        start = None if start is None else np.append(start, 0.0)
    sure = all_connected((wins > 0) | (ties > 0))
    if model:  # with a tie, and a pair that won against each other, there is a finite fit
        mutual = (wins > 0) & (np.swapaxes(wins, 1, 2) > 0)
        sure &= mutual.any(axis=(1, 2)) & ties.any(axis=(1, 2))
    if n < 2 or not sure.any():
        return result
    fast = np.flatnonzero(sure)
    if model:
        theta = fit_ties(wins[fast], ties[fast], ties_as, start).theta
    elif near and start is not None:
        theta = chord(wins[fast], start)[0]
    else:
        theta = newton(wins[fast], start)[0]
    result[fast] = theta[:, :n] - theta[:, :n].mean(axis=1, keepdims=True)
    return result


def _limit(fit: Strengths, counts: WinCounts, ties_as: str) -> Floats:
    """Strengths as leads grow without bound: those of the component above all others."""
    top = list(fit.components[0])
    if np.isnan(fit.ranks[top]).any():
        return np.full(len(fit.ranks), np.nan)
    best = counts.within(top)
    result = np.zeros(len(fit.ranks))
    result[top] = bradley_terry(best.wins, best.ties, ties_as=ties_as).strength
    return result
