r"""Strengths of systems from who beat whom: Bradley-Terry, with ties and degenerate tables handled.

The Bradley-Terry model gives every system a strength such that i beats j with probability
:math:`\pi_i / (\pi_i + \pi_j)`. What becomes of ties is a choice, see
:mod:`steelyard.stats.strength.tiepolicy`.

Strengths exist within a strongly connected component of the graph of who beat whom only
(:mod:`steelyard.stats.strength.connectivity`): outside the main one they are NaN, with ranks where
the order is known. A prior connects everything: ``prior`` wins and as many losses of every system
against one imaginary opponent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core import bounds
from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.ranks import FITTED, ranks
from steelyard.stats.strength.btfit import bt_covariance, centred, mm, newman, newton
from steelyard.stats.strength.connectivity import Components, find_components
from steelyard.stats.strength.tiemodels import fit_ties, log_likelihood
from steelyard.stats.strength.tiepolicy import TIE_MODELS, TIES, effective_wins
from steelyard.stats.strength.wins import PairWins, pair_wins

METHODS = ("newton", "newman", "mm")
MOST_DENSE = 5_000  # systems up to which tables and covariances are made


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
        :mod:`steelyard.stats.strength.tiepolicy`.
    method
        ``newton``; ``newman`` for very many systems; ``mm`` stops as the paper's code does.
        Models of ties have Newton's method only.
    prior
        Wins, and as many losses, that every system gets against one imaginary opponent.

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
    return bradley_terry_pairs(pair_wins(table, tied), ties_as=ties_as, method=method, prior=prior)


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
    pairs: PairWins, *, ties_as: str = "half", method: str = "newton", prior: float = 0.0
) -> Strengths:
    """Fit the Bradley-Terry model to the pairs that met (see :func:`bradley_terry`).

    Examples
    --------
    >>> from steelyard.stats.strength.battles import Battles, battle_pairs
    >>> log = Battles(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([1.0, 1.0, 0.5]), n=2)
    >>> bradley_terry_pairs(battle_pairs(log)).strength.tolist()
    [0.5, 0.5]
    """
    check_options(ties_as, method, prior)
    real = effective_wins(pairs, ties_as)
    padded = _with_prior(real, prior)
    groups = find_components(padded)
    theta, places = np.full((2, padded.n), np.nan)
    main: tuple[Counts, _Fit] | None = None
    for c, members in enumerate(groups.members):
        if c != groups.main and np.isnan(groups.above[c]):
            continue
        own = np.array([k for k in members if k < real.n])
        fit = _fit(padded.within(members), ties_as, method, len(own))
        places[own] = groups.above[c] + ranks(np.exp(fit.theta - fit.theta.max()), close=FITTED)
        if c == groups.main:
            theta[own], main = fit.theta, (own, fit)
    return _assemble(real, theta[: real.n], places[: real.n], groups, main, ties_as)


def check_options(ties_as: str, method: str, prior: float) -> None:
    """Refuse options that do not exist or do not go together."""
    bounds.choice(TIES, ties=ties_as)
    bounds.choice(METHODS, method=method)
    if ties_as in TIE_MODELS and method != "newton":
        raise UsageError(f"ties as {ties_as} are fitted by newton, not by {method}")
    bounds.number(0, prior=prior)


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


def _fit(pairs: PairWins, ties_as: str, method: str, own: int) -> _Fit:
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
        found = fit_ties(counts.wins[None], counts.ties[None], ties_as)
        theta, spread = found.theta[0], found.covariance
        bare, steps = float(found.tie_parameter[0]), found.iterations
    elif method == "newton" and counts is not None:
        fitted, steps = newton(counts.wins[None])
        theta = fitted[0]
    else:
        iterate = mm if method == "mm" else newman
        theta, steps = iterate(pairs.i, pairs.j, pairs.wins_i, pairs.wins_j, n)
    if spread is None and counts is not None:
        spread = bt_covariance(theta, counts.wins)
    if own < n:
        theta = centred(theta[:own])
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
        value = log_likelihood(real.within(own.tolist()), fit.theta, ties_as, parameter)
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
