r"""Strengths of systems from who beat whom: Bradley-Terry, with ties and degenerate tables handled.

The model gives every system a strength such that i beats j with probability
:math:`\pi_i / (\pi_i + \pi_j)`; :mod:`steelyard.stats.strength.fits` fits it and says what becomes
of ties. Strengths exist within a strongly connected component of the graph of who beat whom only
(:mod:`steelyard.stats.strength.connectivity`): outside the main one they are NaN, with ranks where
the order is known. A prior connects everything: ``prior`` wins and as many losses of every system
against one imaginary opponent.

For intervals, all resamples are fitted together. A resample can fall apart although the data do
not: a system may win, or lose, everything that was drawn. Its strengths are then the limit of the
model: 1 in all for the component above everything else, 0 for the rest; where no component is above
everything else there is no limit, and the strengths are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.options import check_choice, check_flag, check_number
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.ranks import FITTED, ranks
from steelyard.stats.strength import fits
from steelyard.stats.strength.connectivity import Components, all_connected, find_components
from steelyard.stats.strength.fits import TIE_MODELS, TIES
from steelyard.stats.strength.wins import PairWins, WinCounts, pair_wins

METHODS = ("newton", "newman", "mm")
MOST_DENSE = 5_000  # systems up to which tables and covariances are made
_CELLS = 2_000_000  # cells of win tables fitted at a time
_MANY = 100  # systems from which solving is what a step costs


@dataclass(frozen=True, slots=True)
class Strengths:
    """Fitted strengths, and what is known where there are none.

    Attributes
    ----------
    strength
        Sums to 1 over the main component; NaN for other systems.
    log_strength
        Logarithms of the strengths, shifted to mean 0.
    covariance
        Of ``log_strength``, as if all comparisons were independent: too narrow where many of them
        share a segment (resample segments instead). None for more than 5,000 systems.
    ranks
        1 is best, equal strengths share the better rank; NaN where the order is not determined.
    components
        Groups of systems that can be compared, best first where there is an order.
    unbeaten, winless, unmet
        Systems that won and never lost; lost and never won; and were never compared.
    tie_parameter
        nu of Davidson's model, theta of Rao and Kupper's; NaN for other treatments of ties.
    log_likelihood
        Of the main component, without the prior.
    iterations
        Steps of the fit.
    """

    strength: Floats
    log_strength: Floats
    covariance: Floats | None
    ranks: Floats
    components: tuple[tuple[int, ...], ...]
    unbeaten: tuple[int, ...]
    winless: tuple[int, ...]
    unmet: tuple[int, ...]
    tie_parameter: float
    log_likelihood: float
    iterations: int

    @property
    def connected(self) -> bool:
        """Whether all systems can be compared."""
        return len(self.components) == 1

    @property
    def main(self) -> tuple[int, ...]:
        """The systems that have a strength."""
        return _where(~np.isnan(self.strength))


def bradley_terry(
    wins: ArrayLike,
    ties: ArrayLike | None = None,
    *,
    ties_as: str = "half",
    method: str = "newton",
    prior: float = 0.0,
    covariance: bool = True,
) -> Strengths:
    """Fit the Bradley-Terry model to a table of wins and ties.

    Parameters
    ----------
    wins
        Systems x systems: how often the row beat the column.
    ties
        Symmetric, how often neither did; None for never.
    ties_as
        ``half``, ``drop``, ``davidson``, ``rao-kupper`` or ``second``, see
        :mod:`~steelyard.stats.strength.fits`.
    method
        ``newton``; ``newman`` for very many systems; ``mm`` stops as the paper's code does.
        Models of ties have Newton's method only.
    prior
        Wins, and as many losses, that every system gets against one imaginary opponent.
    covariance
        Whether it is wanted: it takes as long as a few steps of the fit.

    Examples
    --------
    >>> fit = bradley_terry([[0, 2, 3], [1, 0, 2], [0, 1, 0]])
    >>> fit.strength.round(3).tolist(), fit.ranks.tolist()
    ([0.704, 0.224, 0.071], [1.0, 2.0, 3.0])
    >>> bradley_terry([[0, 3, 3], [0, 0, 2], [0, 1, 0]]).strength.round(3).tolist()
    [nan, 0.667, 0.333]
    """
    table = _table(wins, "wins")
    tied = np.zeros_like(table) if ties is None else _table(ties, "ties")
    if tied.shape != table.shape:
        raise ShapeError(f"wins of {len(table)} systems but ties of {len(tied)}")
    if not np.array_equal(tied, tied.T):
        raise ShapeError("ties must be symmetric: i with j is j with i")
    return bradley_terry_pairs(
        pair_wins(table, tied), ties_as=ties_as, method=method, prior=prior, covariance=covariance
    )


def _table(values: ArrayLike, name: str) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ShapeError(f"expected {name} as systems x systems, got shape {table.shape}")
    if not (table >= 0).all() or not np.isfinite(table).all():
        raise UsageError(f"{name} are counts or weights of at least 0")
    if np.diagonal(table).any():
        raise UsageError(f"{name} of a system against itself")
    return table


def bradley_terry_pairs(
    pairs: PairWins,
    *,
    ties_as: str = "half",
    method: str = "newton",
    prior: float = 0.0,
    covariance: bool = True,
) -> Strengths:
    """Fit the Bradley-Terry model to the pairs that met (see :func:`bradley_terry`).

    Examples
    --------
    >>> from steelyard.stats.strength.battlelog import Battles, battle_pairs
    >>> log = Battles(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([1.0, 1.0, 0.5]), n=2)
    >>> bradley_terry_pairs(battle_pairs(log)).strength.tolist()
    [0.5, 0.5]
    """
    check_options(ties_as, method, prior)
    check_flag(covariance=covariance)
    real = fits.effective_wins(pairs, ties_as)
    padded = _with_prior(real, prior)
    groups = find_components(padded)
    theta, places = np.full((2, padded.n), np.nan)
    main: tuple[Counts, _Fit] | None = None
    # A likelihood has a maximum within a component only, so each is fitted by itself. The main one
    # gives the strengths; others are fitted for their ranks, where their place among all is known.
    for c, members in enumerate(groups.members):
        if c != groups.main and np.isnan(groups.above[c]):
            continue
        own = np.array([k for k in members if k < real.n])
        fit = _fit(padded.within(members), ties_as, method, len(own), covariance=covariance)
        places[own] = groups.above[c] + ranks(np.exp(fit.theta - fit.theta.max()), close=FITTED)
        if c == groups.main:
            theta[own], main = fit.theta, (own, fit)
    found = _assemble(real, theta[: real.n], places[: real.n], groups, main, ties_as)
    return found if covariance else replace(found, covariance=None)


def check_options(ties_as: str, method: str, prior: float) -> None:
    """Refuse options that do not exist or do not go together."""
    check_choice(TIES, ties=ties_as)
    check_choice(METHODS, method=method)
    if ties_as in TIE_MODELS and method != "newton":
        raise UsageError(f"ties as {ties_as} are fitted by newton, not by {method}")
    check_number(0, prior=prior)


def _with_prior(pairs: PairWins, prior: float) -> PairWins:
    """Let every system win and lose against an imaginary one, which comes last."""
    n = pairs.n
    if not prior or not n:
        return pairs
    same = np.full(n, float(prior))
    return PairWins(
        np.append(pairs.i, np.arange(n)),
        np.append(pairs.j, np.full(n, n)),
        np.append(pairs.wins_i, same),
        np.append(pairs.wins_j, same),
        np.append(pairs.ties, np.zeros(n)),
        n + 1,
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    theta: Floats
    covariance: Floats | None
    tie_parameter: float
    iterations: int


def _fit(pairs: PairWins, ties_as: str, method: str, own: int, *, covariance: bool) -> _Fit:
    """Fit one component; only its first ``own`` systems are real."""
    bare = {"davidson": 0.0, "rao-kupper": 1.0}.get(ties_as, np.nan)
    n = pairs.n
    if n == 1:
        return _Fit(np.zeros(1), np.zeros((1, 1)), bare, 0)
    counts = pairs.tables() if n <= MOST_DENSE else None
    spread: Floats | None = None
    if pairs.ties.any():
        if counts is None:
            raise UsageError(f"ties as {ties_as} are fitted for up to {MOST_DENSE:,} systems")
        if not counts.wins.any():  # nobody ever won: equal, whatever the taste for ties
            return _Fit(np.zeros(own), np.full((own, own), np.nan), np.inf, 0)
        found = fits.fit_ties(counts.wins[None], counts.ties[None], ties_as, covariance=covariance)
        theta, spread = found.theta[0], found.covariance
        bare, steps = float(found.tie_parameter[0]), found.iterations
    elif method == "newton" and counts is not None:
        fitted, steps = fits.newton(counts.wins[None])
        theta = fitted[0]
    else:
        iterate = fits.mm if method == "mm" else fits.newman
        theta, steps = iterate(pairs.i, pairs.j, pairs.wins_i, pairs.wins_j, n)
    if covariance and spread is None and counts is not None:
        spread = fits.bt_covariance(theta, counts.wins)
    if own < n:
        theta = fits.centred(theta[:own])
        spread = None if spread is None else _recentred(spread[:own, :own])
    return _Fit(theta, spread, bare, steps)


def _recentred(spread: Floats) -> Floats:
    """Covariance after a shift of the mean to 0."""
    rows = spread.mean(axis=0)
    return np.asarray(spread - rows - rows[:, None] + spread.mean())


def _assemble(
    real: PairWins,
    theta: Floats,
    places: Floats,
    groups: Components,
    main: tuple[Counts, _Fit] | None,
    ties_as: str,
) -> Strengths:
    """Put the result together: what the main component says, and who stands outside."""
    n = real.n
    won = np.bincount(real.i, real.wins_i, n) + np.bincount(real.j, real.wins_j, n)
    lost = np.bincount(real.i, real.wins_j, n) + np.bincount(real.j, real.wins_i, n)
    tied = np.bincount(real.i, real.ties, n) + np.bincount(real.j, real.ties, n)
    strength = np.full(n, np.nan)
    spread: Floats | None = np.full((n, n), np.nan) if n <= MOST_DENSE else None
    parameter = value = np.nan
    steps = 0
    if main is not None:
        own, fit = main
        scaled = np.exp(fit.theta - fit.theta.max())
        strength[own] = scaled / scaled.sum()
        if spread is not None and fit.covariance is not None:
            spread[np.ix_(own, own)] = fit.covariance
        parameter, steps = fit.tie_parameter, fit.iterations
        value = fits.log_likelihood(real.within(own.tolist()), fit.theta, ties_as, parameter)
    return Strengths(
        strength=strength,
        log_strength=theta,
        covariance=spread,
        ranks=places,
        components=tuple(tuple(k for k in members if k < n) for members in groups.members),
        unbeaten=_where((won > 0) & (lost == 0)),
        winless=_where((won == 0) & (lost > 0)),
        unmet=_where(won + lost + tied == 0),
        tie_parameter=parameter,
        log_likelihood=value,
        iterations=steps,
    )


def _where(chosen: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(chosen).tolist())


def win_probability(strength: ArrayLike) -> Floats:
    """Probability that the row beats the column, from strengths; 0.5 on the diagonal.

    NaN for systems without a strength.

    Examples
    --------
    >>> win_probability([0.75, 0.25, np.nan]).tolist()
    [[0.5, 0.75, nan], [0.25, 0.5, nan], [nan, nan, nan]]
    """
    pi = np.asarray(strength, dtype=np.float64)
    return ratio(pi[..., :, None], pi[..., :, None] + pi[..., None, :])


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
        See :func:`bradley_terry`.
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
    # With many systems a step costs a solution of n^3 for each table. Resamples lie near the data,
    # so that one factorisation, at the data's strengths, serves them all (fits.chord).
    near = start is not None and n >= _MANY and ties_as not in TIE_MODELS
    step = max(1, (4 if near else 1) * _CELLS // max(1, n * n))
    log_strength = np.full((size, n), np.nan)
    for first in range(0, size, step):
        part = slice(first, first + step)
        tables = fits.effective_tables(counts.wins[part], counts.ties[part], ties_as)
        log_strength[part] = _fit_batch(*tables, ties_as, prior, start, near=near)
    scaled = np.exp(log_strength - log_strength.max(axis=1, keepdims=True, initial=-np.inf))
    strength = scaled / scaled.sum(axis=1, keepdims=True)
    places = ranks(strength, close=FITTED)
    connected = np.ones(size, dtype=bool)
    # What is not surely connected is fitted one by one, component by component: rare, and slow.
    for b in np.flatnonzero(np.isnan(log_strength).any(axis=1)):
        own = WinCounts(counts.wins[b], counts.ties[b])
        fit = bradley_terry(own.wins, own.ties, ties_as=ties_as, prior=prior)
        connected[b], places[b] = fit.connected, fit.ranks
        strength[b] = fit.strength if fit.connected else _limit(fit, own, ties_as)
        if fit.connected:
            log_strength[b] = fit.log_strength
    return BatchStrengths(strength, log_strength, places, connected)


def _fit_batch(
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
        theta = fits.fit_ties(wins[fast], ties[fast], ties_as, start).theta
    elif near and start is not None:
        theta = fits.chord(wins[fast], start)[0]
    else:
        theta = fits.newton(wins[fast], start)[0]
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
