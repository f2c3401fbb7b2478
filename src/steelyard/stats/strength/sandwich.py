r"""Bradley-Terry strengths with errors by unit: a sandwich instead of resamples.

The covariance of a fit that takes all comparisons as independent is the inverse of the information
H. Comparisons of one document, of one prompt, or of three systems on one segment are not. Their
scores (gradients of the log-likelihood) :math:`s_g`, summed by unit, are independent, and say how
much the fit moves:

.. math:: H^+ \Big( \frac{G}{G - 1} \sum_g (s_g - \bar s)(s_g - \bar s)^T \Big) H^+

(Huber, White, Liang and Zeger). The mean :math:`\bar s` is 0 but for a prior. A resample of units
moves a fit by as much, at the cost of a fit for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, stdtr

from steelyard.core.errors import UsageError
from steelyard.core.options import check_choice
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.pvalues import ALTERNATIVES, block_sums, sided
from steelyard.stats.ranks import FITTED
from steelyard.stats.resampling.cluster_df import unit_freedom, unit_sizes
from steelyard.stats.strength import fits
from steelyard.stats.strength.battlelog import UnitCounts
from steelyard.stats.strength.bradleyterry import (
    MOST_DENSE,
    Strengths,
    bradley_terry,
    bradley_terry_pairs,
    check_options,
)
from steelyard.stats.strength.wins import WinCounts, checked_scores, margins, win_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TIES = ("half", "drop", "second")  # what leaves wins and losses alone; others have a parameter more
_CELLS = 4_000_000  # comparisons held at a time


@dataclass(frozen=True, slots=True)
class UnitStrengths:
    """Strengths, and how sure they are by unit.

    Attributes
    ----------
    fit
        The fit to all comparisons.
    covariance
        Of ``fit.log_strength``, by unit; NaN outside the main component and for a single unit.
    n_units
        The units that have a comparison within the main component, if only a tie.
    freedom
        Degrees of freedom of the covariance; NaN for a single unit.
    """

    fit: Strengths
    covariance: Floats
    n_units: int
    freedom: float

    @property
    def errors(self) -> Floats:
        """Standard errors of the differences of log-strengths: systems x systems."""
        own = np.diagonal(self.covariance)
        variance = own[:, None] + own - 2 * self.covariance
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def bt_by_block(
    scores: ArrayLike,
    blocks: Counts | None = None,
    *,
    ties_as: str = "half",
    prior: float = 0.0,
    tolerance: float = 0.0,
) -> UnitStrengths:
    """Fit strengths to scores of the same segments, with errors by unit.

    Parameters
    ----------
    scores
        Systems x segments, higher is better, NaN where missing.
    blocks
        A code per segment; None where every segment is a unit of its own. All pairs of systems
        that a segment compares belong to it either way.
    ties_as, prior, tolerance
        As in :func:`~steelyard.stats.strength.bradleyterry.bradley_terry`; ``half``, ``drop`` or
        ``second``.

    Examples
    --------
    >>> x = np.array([[3.0, 2, 4, 1, 5, 2], [2.0, 3, 3, 2, 1, 1], [1.0, 4, 2, 1, 2, 3]])
    >>> found = bt_by_block(x, np.array([0, 0, 1, 1, 2, 2]))
    >>> found.n_units, found.errors[0].round(3).tolist()
    (3, [0.0, 0.764, 0.449])
    """
    _check(ties_as, prior)
    x = checked_scores(scores, tolerance)
    counts = win_counts(x, tolerance=tolerance)
    fit = bradley_terry(counts.wins, counts.ties, ties_as=ties_as, prior=prior)
    main = np.array(fit.main, dtype=np.int64)
    inner = x[main]
    compared = (~np.isnan(inner)).sum(axis=0) > 1
    inner = inner[:, compared]
    own = None if blocks is None else blocks[compared]
    pulls = block_sums(_segment_pulls(inner, fit.log_strength[main], ties_as, tolerance), own)
    sizes = np.ones(inner.shape[1]) if own is None else unit_sizes(own)
    return _assemble(fit, counts.within(fit.main), pulls, sizes, ties_as, prior)


def bt_by_unit(units: UnitCounts, *, ties_as: str = "half", prior: float = 0.0) -> UnitStrengths:
    """Fit strengths to a log that was counted by unit, with errors by unit.

    Parameters
    ----------
    units
        Wins and ties of the pairs that met in each unit.
    ties_as, prior
        As in :func:`bt_by_block`.

    Examples
    --------
    >>> from steelyard.stats.strength.battlelog import Battles
    >>> log = Battles(np.array([0, 0, 1, 0]), np.array([1, 1, 0, 1]), np.array([1.0, 1, 1, 1]), n=2)
    >>> found = bt_by_unit(UnitCounts.of(log, np.array([0, 0, 1, 2])))
    >>> found.fit.strength.round(9).tolist(), found.n_units
    ([0.75, 0.25], 3)
    """
    _check(ties_as, prior)
    pairs = units.pairs()
    fit = bradley_terry_pairs(pairs, ties_as=ties_as, prior=prior)
    main = np.array(fit.main, dtype=np.int64)
    inside = np.isin(units.i, main) & np.isin(units.j, main)
    sizes = np.asarray(units.cells.T @ np.tile(inside, 3).astype(np.float64))
    met = sizes > 0
    weights = pull_weights(fit, units.i, units.j, ties_as)
    pulls = (weights @ units.cells.astype(np.float64)).toarray()[main][:, met]
    return _assemble(fit, pairs.within(fit.main).tables(), pulls, sizes[met], ties_as, prior)


def bt_gap_test(found: UnitStrengths, *, alternative: str = "two-sided") -> Floats:
    """Test whether two systems are equally strong, for all pairs: t = gap / error by unit.

    Parameters
    ----------
    found
        Strengths with errors by unit.
    alternative
        ``two-sided``, ``greater`` (the row is stronger) or ``less``.

    Returns
    -------
    Floats
        Systems x systems; NaN for systems without a strength, and for a single unit. 1 (or 1/2 on
        one side) for equal strengths.

    Examples
    --------
    >>> x = np.array([[3.0, 2, 4, 1, 5, 2], [2.0, 3, 3, 2, 1, 1], [1.0, 4, 2, 1, 2, 3]])
    >>> round(float(bt_gap_test(bt_by_block(x, np.array([0, 0, 1, 1, 2, 2])))[0, 1]), 3)
    0.535
    """
    check_choice(ALTERNATIVES, alternative=alternative)
    theta, error = found.fit.log_strength, found.errors
    gap = theta[:, None] - theta
    gap = np.where(np.abs(gap) <= FITTED, 0.0, gap)  # what the fit leaves open
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((gap == 0) & ~np.isnan(error), 0.0, gap / error)
    p = np.asarray(stdtr(found.freedom, -t), dtype=np.float64)
    return sided(p, alternative)


def pull_weights(fit: Strengths, i: Counts, j: Counts, ties_as: str) -> csr_array:
    """Give what a win of i, a win of j and a tie of each pair add to the scores of the systems.

    The scores of a unit are these weights, systems x (three kinds of pairs), times its counts
    (``UnitCounts.cells``); 0 for pairs that are not both in the main component.
    """
    from scipy.sparse import coo_array

    gap = fit.log_strength[i] - fit.log_strength[j]
    inside = ~np.isnan(gap) & ~np.isnan(fit.strength[i]) & ~np.isnan(fit.strength[j])
    p = expit(np.where(inside, gap, 0.0))
    tie = {"half": 0.5 - p, "second": -p}.get(ties_as, np.zeros_like(p))
    value = np.concatenate([1 - p, -p, tie]) * np.tile(inside, 3)
    column = np.arange(3 * len(i))
    return coo_array(
        (np.r_[value, -value], (np.r_[np.tile(i, 3), np.tile(j, 3)], np.r_[column, column])),
        shape=(len(fit.strength), 3 * len(i)),
    ).tocsr()


def _check(ties_as: str, prior: float) -> None:
    check_options(ties_as, "newton", prior)
    if ties_as not in TIES:
        raise UsageError(f"errors by unit are for ties as {', '.join(TIES)}, not as {ties_as}")


def _segment_pulls(x: Floats, theta: Floats, ties_as: str, tolerance: float) -> Floats:
    """Scores of each segment: what each system won of it beyond what was expected."""
    n, size = x.shape
    pulls = np.zeros((n, size))
    p = expit(theta[:, None] - theta)
    bar, known = margins(x, tolerance), ~np.isnan(x)
    step = max(1, _CELLS // max(n, 1))
    with np.errstate(invalid="ignore"):  # a comparison with NaN is no win
        for start in range(0, size, step):
            part = slice(start, start + step)
            for i in range(n):
                won, lost = x[i, part] > bar[:, part], x[:, part] > bar[i, part]
                tied = known[:, part] & known[i, part] & ~won & ~lost
                tied[i] = False
                credit = np.full(n, 0.5) if ties_as == "half" else (np.arange(n) < i) * 1.0
                expected = p[i]
                pulls[i, part] = (1 - expected) @ won - expected @ lost
                if ties_as != "drop":
                    pulls[i, part] += (credit - expected) @ tied
    return pulls


def _assemble(
    fit: Strengths, counts: WinCounts, pulls: Floats, sizes: Floats, ties_as: str, prior: float
) -> UnitStrengths:
    """Put bread and meat together; ``counts`` and ``pulls`` are of the main component."""
    n, main = len(fit.strength), np.array(fit.main, dtype=np.int64)
    n_units = len(sizes)
    covariance = np.full((n, n), np.nan)
    if len(main) > 1 and n_units > 1:
        bread = information_inverse(fit.log_strength[main], counts, ties_as, prior)
        moved = bread @ (pulls - pulls.mean(axis=1, keepdims=True))
        moved -= moved.mean(axis=0)  # strengths are differences: their mean stays 0
        covariance[np.ix_(main, main)] = moved @ moved.T * (n_units / (n_units - 1))
    freedom = unit_freedom(sizes) if len(main) > 1 else math.nan
    return UnitStrengths(fit, covariance, n_units, freedom)


def information_inverse(theta: Floats, counts: WinCounts, ties_as: str, prior: float) -> Floats:
    """Invert the information of strengths, the constants left out; the prior counts as known."""
    wins = fits.effective_tables(counts.wins, counts.ties, ties_as)[0]
    n = len(theta)
    if n > MOST_DENSE:
        raise UsageError(f"errors by unit are for up to {MOST_DENSE:,} systems")
    if prior:
        wins = np.pad(wins, ((0, 1), (0, 1)), constant_values=prior)
        wins[-1, -1] = 0
        theta = np.append(theta, _imaginary(theta))
    return fits.bt_covariance(theta, wins)[:n, :n]


def _imaginary(theta: Floats) -> float:
    """Log-strength of the opponent of the prior: it wins half of its comparisons."""
    own = 0.0
    low, high = float(theta.min()), float(theta.max())
    for _ in range(200):
        own = (low + high) / 2
        if expit(own - theta).mean() > 0.5:
            high = own
        else:
            low = own
    return own
