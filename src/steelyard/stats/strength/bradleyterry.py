r"""Bradley-Terry strengths from who beat whom, with ties and degenerate tables handled.

System i beats j with probability :math:`\pi_i / (\pi_i + \pi_j)`. Newton's method on the
log-strengths :math:`\theta` finds the maximum of the likelihood in a handful of steps, for many
tables at once; ``mm`` is the minorisation-maximisation of the paired-evaluation paper, which stops
early and is here for its numbers. What becomes of ties is a choice (``TIES``):

* ``half``: half a win for either side; ``drop``: left out;
* ``second``: a win of the later system, as the code of the paired-evaluation paper has it. The
  order of the systems then matters; it is here to reproduce that paper;
* ``davidson``, ``rao-kupper``: outcomes of their own. With :math:`\delta = \theta_i - \theta_j`,
  Davidson's wins of i, wins of j and ties have odds :math:`e^{\delta/2} : e^{-\delta/2} : \nu`; Rao
  and Kupper's i wins with :math:`\sigma(\delta - \eta)`, j with :math:`\sigma(-\delta - \eta)`, and
  the rest are ties, :math:`\eta \ge 0`. Both likelihoods are concave.

Strengths exist only within a strongly connected component of the graph of who beat whom
(``wins.find_components``): outside the main one they are NaN, with ranks where the order is
determined. A prior connects everything: ``prior`` wins and as many losses of every system against
one imaginary opponent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import DegenerateError, UsageError
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.distributions import expit, log_expit
from steelyard.stats.ranks import FITTED, ranks
from steelyard.stats.strength.wins import (
    PairWins,
    WinCounts,
    all_connected,
    find_components,
    margins,
    pair_wins,
)

TIES = ("half", "drop", "davidson", "rao-kupper", "second")
TIE_MODELS = ("davidson", "rao-kupper")
METHODS = ("newton", "mm")
MOST_DENSE = 5_000  # systems up to which tables are made
_CELLS = 200_000  # cells of win tables fitted at a time: they stay in the cache
_CLOSE = 1e-6  # a Newton step this small leaves an error of half its square
_TIES_CLOSE = 1e-8  # a Newton step this small leaves an error of its square
_STEPS = 500
_MM_STOP = 1e-9  # squared change at which the paper stops: log-strengths are off by up to 1e-3


@dataclass(frozen=True, slots=True)
class Strengths:
    """Fitted strengths, and the order where there are none."""

    strength: Floats  # sums to 1 over the main component, NaN for other systems
    log_strength: Floats  # with mean 0
    ranks: Floats  # NaN where the order is not determined
    components: tuple[tuple[int, ...], ...]  # of comparable systems, best first if ordered
    unbeaten: tuple[int, ...]  # won and never lost
    winless: tuple[int, ...]  # lost and never won
    unmet: tuple[int, ...]  # never compared
    tie_parameter: float  # nu of Davidson's model, theta of Rao and Kupper's, else NaN

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
    """Fit the Bradley-Terry model to tables (systems x systems) of wins and ties."""
    table = np.asarray(wins, dtype=np.float64)
    tied = np.zeros_like(table) if ties is None else np.asarray(ties, dtype=np.float64)
    return bradley_terry_pairs(pair_wins(table, tied), ties_as=ties_as, method=method, prior=prior)


def bradley_terry_pairs(
    pairs: PairWins, *, ties_as: str = "half", method: str = "newton", prior: float = 0.0
) -> Strengths:
    """Fit the Bradley-Terry model to the pairs that met (see :func:`bradley_terry`)."""
    if ties_as in TIE_MODELS and method != "newton":
        raise UsageError(f"ties as {ties_as} are fitted by newton, not by {method}")
    real = _effective_pairs(pairs, ties_as)
    padded, n = _with_prior(real, prior), real.n
    groups = find_components(padded)
    strength, log_strength, places = np.full((3, n), np.nan)
    tie_parameter = np.nan
    # A likelihood has a maximum within a component only, so each is fitted by itself. The main one
    # gives the strengths; others are fitted for their ranks, where their place among all is known.
    for c, members in enumerate(groups.members):
        if c != groups.main and np.isnan(groups.above[c]):
            continue
        systems = np.array([k for k in members if k < n])
        theta, parameter = _fit_component(padded.within(members), ties_as, method)
        theta = _centred(theta[: len(systems)])  # the opponent of the prior comes last
        scaled = np.exp(theta - theta.max())
        places[systems] = groups.above[c] + ranks(scaled, close=FITTED)
        if c == groups.main:
            strength[systems], log_strength[systems] = scaled / scaled.sum(), theta
            tie_parameter = parameter
    won, lost, tied = (
        np.bincount(real.i, first, n) + np.bincount(real.j, second, n)
        for first, second in (
            (real.wins_i, real.wins_j), (real.wins_j, real.wins_i), (real.ties, real.ties),
        )
    )  # fmt: skip
    return Strengths(
        strength=strength,
        log_strength=log_strength,
        ranks=places,
        components=tuple(tuple(k for k in members if k < n) for members in groups.members),
        unbeaten=_where((won > 0) & (lost == 0)),
        winless=_where((won == 0) & (lost > 0)),
        unmet=_where(won + lost + tied == 0),
        tie_parameter=tie_parameter,
    )


def _where(chosen: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(chosen).tolist())


def _effective_pairs(pairs: PairWins, ties_as: str) -> PairWins:
    """Apply a treatment of ties; only the models of ties leave any."""
    if ties_as in TIE_MODELS:
        return pairs
    first, second = {"half": (0.5, 0.5), "second": (0.0, 1.0)}.get(ties_as, (0.0, 0.0))
    wins_i, wins_j = pairs.wins_i + first * pairs.ties, pairs.wins_j + second * pairs.ties
    return replace(pairs, wins_i=wins_i, wins_j=wins_j, ties=np.zeros_like(pairs.ties))


def effective_tables(wins: Floats, ties: Floats, ties_as: str) -> tuple[Floats, Floats]:
    """Apply a treatment of ties to tables of systems x systems."""
    if ties_as in TIE_MODELS:
        return wins, ties
    bonus = {"half": ties / 2, "second": np.tril(ties)}.get(ties_as, 0.0)
    return wins + bonus, np.zeros_like(ties)


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


def _fit_component(pairs: PairWins, ties_as: str, method: str) -> tuple[Floats, float]:
    """Fit one component: log-strengths and the tie parameter."""
    parameter = {"davidson": 0.0, "rao-kupper": 1.0}.get(ties_as, np.nan)
    if pairs.n == 1:
        return np.zeros(1), parameter
    if method == "mm":
        return _mm(pairs), parameter
    if pairs.n > MOST_DENSE:
        raise UsageError(
            f"Bradley-Terry is fitted for up to {MOST_DENSE:,} systems, got {pairs.n:,}"
        )
    counts = pairs.tables()
    if not counts.ties.any():
        return newton(*_sums(counts.wins[None]))[0], parameter
    if not counts.wins.any():  # nobody ever won: equal, however often they tie
        return np.zeros(pairs.n), np.inf
    theta, tie = _fit_ties(counts.wins[None], counts.ties[None], ties_as)
    return theta[0], float(tie[0])


def win_probability(strength: ArrayLike) -> Floats:
    """Return the probability that the row beats the column; NaN for systems without a strength."""
    pi = np.asarray(strength, dtype=np.float64)
    return ratio(pi[..., :, None], pi[..., :, None] + pi[..., None, :])


# ------------------------------------------------------------------------- resamples


@dataclass(frozen=True, slots=True)
class BatchStrengths:
    """Strengths of resamples x systems, which sum to 1; NaN where the order of groups is open."""

    strength: Floats
    log_strength: Floats  # with mean 0; NaN in resamples that are not connected
    ranks: Floats
    connected: NDArray[np.bool_]


def bradley_terry_batch(
    counts: WinCounts, *, ties_as: str = "half", prior: float = 0.0, start: Floats | None = None
) -> BatchStrengths:
    """Fit the Bradley-Terry model to every resample (``wins.resampled_wins``).

    Keep ``counts`` to the main component of the data. Where a resample falls apart, strengths are
    the limit of the model: 1 in all for the component above everything else, NaN where there is
    none. ``start`` are log-strengths to start from, those of the data.
    """
    size, n = counts.wins.shape[:2]
    step = max(1, _CELLS // max(1, n * n))
    log_strength = np.full((size, n), np.nan)
    for first in range(0, size, step):
        part = slice(first, first + step)
        tables = effective_tables(counts.wins[part], counts.ties[part], ties_as)
        log_strength[part] = _fit_batch(*tables, ties_as, prior, start)
    strength = _shares(log_strength)
    places = ranks(strength, close=FITTED)
    connected = np.ones(size, dtype=bool)
    # What is not surely connected is fitted one by one, component by component: rare, and slow.
    fits: dict[bytes, tuple[Strengths, Floats]] = {}  # of few segments many resamples are the same
    for b in np.flatnonzero(np.isnan(log_strength).any(axis=1)):
        table = WinCounts(counts.wins[b], counts.ties[b])
        key = table.wins.tobytes() + table.ties.tobytes()
        if key not in fits:
            fit = bradley_terry(table.wins, table.ties, ties_as=ties_as, prior=prior)
            fits[key] = fit, fit.strength if fit.connected else _limit(fit, table, ties_as)
        fit, strength[b] = fits[key]
        connected[b], places[b] = fit.connected, fit.ranks
        if fit.connected:
            log_strength[b] = fit.log_strength
    return BatchStrengths(strength, log_strength, places, connected)


def _shares(log_strength: Floats) -> Floats:
    """Return strengths that sum to 1."""
    scaled = np.exp(log_strength - log_strength.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def _fit_batch(
    wins: Floats, ties: Floats, ties_as: str, prior: float, start: Floats | None
) -> Floats:
    """Return log-strengths of the tables that are surely connected, NaN for the others."""
    n = wins.shape[1]
    result = np.full(wins.shape[:2], np.nan)
    if prior and n:
        edge = ((0, 0), (0, 1), (0, 1))
        wins, ties = np.pad(wins, edge, constant_values=prior), np.pad(ties, edge)
        wins[:, -1, -1] = 0
        start = None if start is None else np.append(start, 0.0)
    sure = all_connected((wins > 0) | (ties > 0))
    if ties_as in TIE_MODELS:  # finite with a tie, and a pair that won against each other
        mutual = (wins > 0) & (np.swapaxes(wins, 1, 2) > 0)
        sure &= mutual.any(axis=(1, 2)) & ties.any(axis=(1, 2))
    if n < 2 or not sure.any():
        return result
    if ties_as in TIE_MODELS:
        theta = _fit_ties(wins[sure], ties[sure], ties_as, start)[0]
    else:
        theta = newton(*_sums(wins[sure]), start)
    result[sure] = _centred(theta[:, :n])
    return result


def _limit(fit: Strengths, counts: WinCounts, ties_as: str) -> Floats:
    """Return strengths as leads grow without bound: those of the component above all others."""
    top = list(fit.components[0])
    if np.isnan(fit.ranks[top]).any():
        return np.full(len(fit.ranks), np.nan)
    best = counts.within(top)
    result = np.zeros(len(fit.ranks))
    result[top] = bradley_terry(best.wins, best.ties, ties_as=ties_as).strength
    return result


def segment_points(scores: Floats, *, ties_as: str = "half", tolerance: float = 0.0) -> Floats:
    """Count the systems that each system beats on each segment: systems x segments.

    Every system needs every segment. Sums of points order systems as Bradley-Terry strengths do.
    """
    bar = margins(scores, tolerance)
    points = np.zeros(scores.shape)
    for i, system in enumerate(scores):
        won, lost = system > bar, scores > bar[i]
        won[i] = lost[i] = True  # no tie with itself
        points[i] = np.count_nonzero(won, axis=0) - 1
        tied = ~(won | lost)
        points[i] += tied.sum(axis=0) / 2 if ties_as == "half" else tied[:i].sum(axis=0)
    return points


# ------------------------------------------------------------------------- fits


def _sums(wins: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how often pairs met, and how often each system won and lost."""
    return wins + np.swapaxes(wins, 1, 2), wins.sum(axis=2), wins.sum(axis=1)


def newton(met: Floats, won: Floats, lost: Floats, start: Floats | None = None) -> Floats:
    """Fit many tables of wins at once by Newton's method: log-strengths with mean 0.

    The likelihood depends only on how often pairs met (resamples x systems x systems) and how often
    each system won and lost. The graph of who beat whom must be strongly connected.
    """
    theta = np.log((won + 0.5) / (lost + 0.5))
    if start is not None:
        theta[:] = start
    result = np.empty_like(theta)
    moving = np.arange(len(met))
    for _ in range(_STEPS):
        if not len(moving):
            return _centred(result)
        matrix, expected = information(theta, met)
        step = np.linalg.solve(matrix, (won - expected)[..., None])[..., 0]
        # No line search. The third derivative is bounded by the second times the largest move of a
        # difference, so that log1p(reach) / reach of a long step can't lower the likelihood.
        reach = step.max(axis=1) - step.min(axis=1)
        if not (reach <= 1.5).all():
            step *= np.where(reach <= 1.5, 1.0, np.log1p(reach) / np.maximum(reach, 1.0))[:, None]
        theta += step
        # Tables that have converged leave the stack: the slowest alone goes on to the end.
        close = reach < _CLOSE
        if close.any():
            result[moving[close]] = theta[close]
            moving, theta, met, won = moving[~close], theta[~close], met[~close], won[~close]
    raise DegenerateError(
        f"Newton's method has not converged in {_STEPS} steps: wins too uneven for "
        "double precision; a prior helps"
    )


def _centred(theta: Floats) -> Floats:
    return np.asarray(theta - theta.mean(axis=-1, keepdims=True))


def information(theta: Floats, met: Floats) -> tuple[Floats, Floats]:
    """Return the Fisher information, made regular along the constants, and expected wins."""
    pi = np.exp(theta)
    p = pi[:, :, None] / (pi[:, :, None] + pi[:, None, :])
    expected = met * p
    return _laplacian(expected * np.swapaxes(p, 1, 2)), expected.sum(axis=2)


def _laplacian(weight: Floats) -> Floats:
    """Turn pair weights into the information matrix, plus its mean weight along the constants."""
    # Strengths are known up to a constant, so the information is singular along it. Adding a
    # multiple of the all-ones matrix makes it regular and moves no solution of mean 0.
    n = weight.shape[-1]
    degree = weight.sum(axis=-1)
    matrix: Floats = (degree.sum(axis=-1) / n**2)[..., None, None] - weight
    diagonal = matrix.reshape(*degree.shape[:-1], n * n)[..., :: n + 1]  # a view
    diagonal += degree
    return matrix


def _mm(pairs: PairWins) -> Floats:
    """Fit by minorisation-maximisation, equations 3 and 4 of the paper, as its code does."""
    i, j, n = pairs.i, pairs.j, pairs.n
    strength, change = np.full(n, 0.5), np.inf
    won = np.bincount(i, pairs.wins_i, n) + np.bincount(j, pairs.wins_j, n)
    while change >= _MM_STOP:
        share = pairs.met / (strength[i] + strength[j])
        new = won / (np.bincount(i, share, n) + np.bincount(j, share, n))
        new /= new.sum()
        change = float(((new - strength) ** 2).sum())
        strength = new
    return _centred(np.log(strength))


# ------------------------------------------------------------------------- models of ties


class _Slopes(NamedTuple):
    """Derivatives, summed over pairs: of theta, of the tie parameter, and second ones negated."""

    theta: Floats  # resamples x systems
    tie: Floats  # resamples
    weight: Floats  # resamples x systems x systems: pair terms of the information on theta
    cross: Floats  # resamples x systems
    curve: Floats  # resamples


class _TieModel(NamedTuple):
    """A model by its likelihood and slopes, functions of theta, tie parameter, wins and ties."""

    value: Callable[[Floats, Floats, Floats, Floats], Floats]
    slopes: Callable[[Floats, Floats, Floats, Floats], _Slopes]
    start: float
    positive: bool


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
    # A tie contributes a win of either side and a factor exp(2 eta) - 1.
    value = ((wins + ties) * log_expit(lead)).sum(axis=(1, 2))
    return np.asarray(value + ties.sum(axis=(1, 2)) / 2 * np.log(np.expm1(2 * tie)))


def _rao_kupper_slopes(theta: Floats, tie: Floats, wins: Floats, ties: Floats) -> _Slopes:
    lead = _gaps(theta) - tie[:, None, None]
    p, q = expit(lead), expit(-lead)
    first = (wins + ties) * q
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
    "davidson": _TieModel(_davidson_value, _davidson_slopes, 0.0, positive=False),
    "rao-kupper": _TieModel(_rao_kupper_value, _rao_kupper_slopes, 0.5, positive=True),
}


def _fit_ties(
    wins: Floats, ties: Floats, ties_as: str, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Fit tables with ties by Newton with halved steps: log-strengths and tie parameters."""
    model = _MODELS[ties_as]
    scale = wins + ties / 2
    theta = np.log((scale.sum(axis=2) + 0.5) / (scale.sum(axis=1) + 0.5))
    theta = _centred(theta if start is None else np.broadcast_to(start, theta.shape))
    tie = np.full(len(wins), model.start)
    value = model.value(theta, tie, wins, ties)
    moving = np.arange(len(wins))
    for _ in range(_STEPS):
        w, t = wins[moving], ties[moving]
        step, tie_step = _newton_step(model.slopes(theta[moving], tie[moving], w, t))
        factor, value[moving] = _halved(
            model, theta[moving], tie[moving], value[moving], step, tie_step, w, t
        )
        theta[moving] += factor[:, None] * step
        tie[moving] += factor * tie_step
        size = np.maximum(np.abs(step).max(axis=1, initial=0), np.abs(tie_step))
        moving = moving[~((size < _TIES_CLOSE) | (factor == 0))]
        if not len(moving):
            return _centred(theta), np.exp(tie)
    raise DegenerateError(f"the model of ties has not converged in {_STEPS} steps")


def _newton_step(slopes: _Slopes) -> tuple[Floats, Floats]:
    """Solve for both kinds of parameters, the tie parameter by elimination."""
    right = np.stack([slopes.theta, slopes.cross], axis=2)
    solved = np.linalg.solve(_laplacian(slopes.weight), right)
    by_theta, by_cross = solved[..., 0], solved[..., 1]
    rest = slopes.curve - (slopes.cross * by_cross).sum(axis=1)
    tie_step = (slopes.tie - (slopes.cross * by_theta).sum(axis=1)) / rest
    return by_theta - by_cross * tie_step[:, None], tie_step


def _halved(
    model: _TieModel,
    theta: Floats,
    tie: Floats,
    value: Floats,
    step: Floats,
    tie_step: Floats,
    wins: Floats,
    ties: Floats,
) -> tuple[Floats, Floats]:
    """Return how much of a step to take so that the likelihood does not fall, and its value."""
    longest = np.maximum(np.abs(step).max(axis=1, initial=0), np.abs(tie_step))
    factor = np.minimum(1.0, 2.0 / np.maximum(longest, 1e-300))
    if model.positive:  # stay on the side of eta > 0
        down = tie_step < 0
        factor[down] = np.minimum(factor[down], 0.9 * tie[down] / -tie_step[down])
    for _ in range(60):
        new = model.value(theta + factor[:, None] * step, tie + factor * tie_step, wins, ties)
        worse = ~(new >= value - 1e-13 * np.abs(value))
        if not worse.any():
            break
        factor = np.where(worse, factor / 2, factor)
    return np.where(worse, 0.0, factor), np.where(worse, value, new)
