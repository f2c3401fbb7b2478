r"""Bradley-Terry strengths by people, from few labelled battles and many judged ones.

The loss :math:`\lambda / N \sum_U l(f) + 1 / n \sum_L [l(y) - \lambda l(f)]`, with
:math:`l(o) = \log(1 + e^\eta) - o \eta` and :math:`\eta = s_l - s_r`, is convex for lambda between
0 and 1; ties are half a win. Its least point is the strengths of people, whatever the judge gets
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats
from steelyard.stats.strength.clustered_errors import PairDesign, centring, pinned

_STEPS, _TOLERANCE = 100, 1e-10
_FAR = 30.0  # log-strengths beyond it have no finite maximum behind them
_START, _RIDGE = 0.5, 1e-3  # where lambda is tuned from
Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class PoweredStrengths:
    """Log-strengths that sum to zero, their covariance, and the weight of the judge."""

    log_strength: Floats
    covariance: Floats
    weight: float
    n_labelled: int
    n_judged: int
    n_units: int

    @property
    def errors(self) -> Floats:
        """Standard errors of the log-strengths."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)))


def powered_strengths(
    left: Codes,
    right: Codes,
    human: Floats,
    judge: Floats,
    n_systems: int,
    *,
    unit: Codes | None = None,
    weight: float | None = None,
) -> PoweredStrengths:
    """Fit strengths.

    Parameters
    ----------
    left, right
        Codes of systems.
    human, judge
        Points of the left one (1, 0.5, 0); NaN where there is none. A battle without a verdict of
        the judge counts as a tie of the judge: labels correct any prediction, and keep their rows.
    n_systems
        How many systems there are.
    unit
        What battles share; None: battles are independent.
    weight
        Lambda between 0 (people alone) and 1; None: the one with the least noise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> left, right = np.zeros(400, int), np.ones(400, int)
    >>> truth = (rng.random(400) < 0.7).astype(float)
    >>> judge = np.where(rng.random(400) < 0.8, truth, 1 - truth)
    >>> human = np.where(np.arange(400) < 80, truth, np.nan)
    >>> found = powered_strengths(left, right, human, judge, 2)
    >>> people = powered_strengths(left, right, human, judge, 2, weight=0)
    >>> 0.3 < found.weight < 1, bool(found.errors[0] < people.errors[0])
    (True, True)
    """
    if not left.shape == right.shape == human.shape == judge.shape:
        raise ShapeError("left, right, labels and verdicts have different shapes")
    usable = left != right
    n_judged = int((usable & ~np.isnan(judge)).sum())
    judge = np.where(np.isnan(judge), 0.5, judge)
    labelled, rest = usable & ~np.isnan(human), usable & np.isnan(human)
    if not labelled.any():
        raise UsageError("no battle has a label of people")
    fit = _Fit(
        PairDesign(left[labelled], right[labelled], n_systems),
        PairDesign(left[rest], right[rest], n_systems),
        human[labelled], judge[labelled], judge[rest],
    )  # fmt: skip
    if not rest.any():
        weight = 0.0
    if weight is None:
        start = fit.solve(_START, np.zeros(n_systems), _RIDGE)
        weight = fit.best_weight(start)
    else:
        start = np.zeros(n_systems)
    theta = fit.solve(weight, start)
    units = None if unit is None else (unit[labelled], unit[rest])
    covariance, n_units = fit.covariance(theta, weight, units)
    centre = centring(n_systems, n_systems)
    return PoweredStrengths(
        log_strength=centre @ theta,
        covariance=centre @ covariance @ centre,
        weight=float(weight),
        n_labelled=int(labelled.sum()),
        n_judged=n_judged,
        n_units=n_units,
    )


class _Fit:
    """The loss on labelled battles and on the others, and its derivatives."""

    def __init__(
        self, labelled: PairDesign, rest: PairDesign, human: Floats, judge: Floats, others: Floats
    ) -> None:
        self._labelled, self._rest = labelled, rest
        self._y, self._f, self._others = human, judge, others
        self._n, self._more, self._k = len(human), len(others), labelled.n_systems

    def solve(self, weight: float, start: Floats, ridge: float = 0.0) -> Floats:
        """Find the least point by Newton's method."""
        theta, k = start, self._k
        for _ in range(_STEPS):
            p, q = expit(self._labelled.times(theta)), expit(self._rest.times(theta))
            pull = self._labelled.transposed((p - self._y) - weight * (p - self._f)) / self._n
            bend = self._labelled.weighted((1 - weight) * p * (1 - p)) / self._n
            if self._more:
                pull = pull + weight / self._more * self._rest.transposed(q - self._others)
                bend = bend + weight / self._more * self._rest.weighted(q * (1 - q))
            bend = pinned(bend, k) + ridge * np.eye(k)
            try:
                step = np.linalg.solve(bend, pull + ridge * theta)
            except np.linalg.LinAlgError:
                raise self._too_few() from None
            largest = float(np.abs(step).max())
            theta = theta - step * min(1.0, 2 / largest if largest else 1.0)
            if largest < _TOLERANCE:
                return theta
            if not np.abs(theta).max() <= _FAR:
                break
        raise self._too_few()

    def _too_few(self) -> UsageError:
        return UsageError(
            f"{self._n} labelled battles of {self._k} systems: too few for finite strengths (some "
            "system won, or lost, all of its labelled battles, or is in none)"
        )

    def _inverse(self, theta: Floats) -> Floats:
        p, q = expit(self._labelled.times(theta)), expit(self._rest.times(theta))
        bend = self._labelled.weighted(p * (1 - p)) + self._rest.weighted(q * (1 - q))
        try:
            inverse = np.linalg.inv(pinned(bend / (self._n + self._more), self._k))
        except np.linalg.LinAlgError:
            raise self._too_few() from None
        return np.asarray(inverse, dtype=np.float64)

    def best_weight(self, theta: Floats) -> float:
        """Give the lambda with the least trace of the covariance, between 0 and 1."""
        inverse = self._inverse(theta)
        p, q = expit(self._labelled.times(theta)), expit(self._rest.times(theta))
        of_people, of_judge, of_rest = p - self._y, p - self._f, q - self._others
        n, more = self._n, self._more
        shared = self._labelled.weighted(of_people * of_judge) / n - _outer(
            self._labelled.transposed(of_people) / n, self._labelled.transposed(of_judge) / n
        )
        total = n + more
        mean = (self._labelled.transposed(of_judge) + self._rest.transposed(of_rest)) / total
        spread = self._labelled.weighted(of_judge**2) + self._rest.weighted(of_rest**2)
        spread = (spread - total * np.outer(mean, mean)) / (total - 1)
        top = 2 * float(np.trace(inverse @ shared @ inverse))
        bottom = 2 * (1 + n / more) * float(np.trace(inverse @ spread @ inverse))
        return min(1.0, max(0.0, top / bottom)) if bottom > 0 else 0.0

    def covariance(
        self, theta: Floats, weight: float, units: tuple[Codes, Codes] | None
    ) -> tuple[Floats, int]:
        """Give the sandwich, by unit, and how many units have labels."""
        inverse = self._inverse(theta)
        p, q = expit(self._labelled.times(theta)), expit(self._rest.times(theta))
        own, others = (p - self._y) - weight * (p - self._f), weight * (q - self._others)
        n, more = self._n, self._more
        if units is None:
            meat = _spread(self._labelled, own) / n**2
            meat = meat + (_spread(self._rest, others) / more**2 if more else 0.0)
            return inverse @ meat @ inverse, n
        _, codes = np.unique(np.concatenate(units), return_inverse=True)
        groups = int(codes.max()) + 1
        pulls = self._labelled.by_unit(own, codes[:n], groups) / n
        pulls -= np.outer(np.bincount(codes[:n], minlength=groups), pulls.sum(axis=0)) / n
        if more:
            rest = self._rest.by_unit(others, codes[n:], groups) / more
            rest -= np.outer(np.bincount(codes[n:], minlength=groups), rest.sum(axis=0)) / more
            pulls += rest
        return inverse @ (pulls.T @ pulls) @ inverse, len(np.unique(codes[:n]))


def _outer(one: Floats, other: Floats) -> Floats:
    """Half of both outer products: what a trace sees is symmetric."""
    return (np.outer(one, other) + np.outer(other, one)) / 2


def _spread(design: PairDesign, values: Floats) -> Floats:
    """Sum of outer products of the rows, each minus their mean."""
    total = design.transposed(values)
    return design.weighted(values * values) - np.outer(total, total) / len(values)
