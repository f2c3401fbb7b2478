r"""Bradley-Terry strengths by people, from few labelled battles and many judged ones.

The loss :math:`\lambda / N \sum_U l(f) + 1 / n \sum_L [l(y) - \lambda l(f)]`, with
:math:`l(o) = \log(1 + e^\eta) - o \eta` and :math:`\eta = s_l - s_r`, is convex for lambda between
0 and 1; ties are half a win. Its least point is the strengths of people, whatever the judge gets
wrong. With a lambda of 0 it is the plain fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.distributions import expit
from steelyard.stats.estimate import Codes

_STEPS, _TOLERANCE = 100, 1e-10
_FAR = 30.0  # gaps of log-strengths beyond it have no finite maximum behind them
_START, _RIDGE = 0.5, 1e-3  # where lambda is tuned from


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """Log-strengths that sum to zero, and their covariance."""

    log_strength: Floats
    covariance: Floats
    weight: float = 0.0  # of the judge, lambda
    n_labelled: int = 0
    n_judged: int = 0
    n_units: int = 0  # with labels

    @property
    def errors(self) -> Floats:
        """Standard errors of the log-strengths."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0)))


def plain_strengths(
    left: Codes, right: Codes, points: Floats, n_systems: int, *, unit: Codes | None = None
) -> Strengths:
    """Fit strengths to the points of the left system: 1, 0.5, 0, or a probability.

    Rows with a NaN are excluded; all systems must be joined by pairs.
    """
    keep = ~np.isnan(points) & (left != right)
    if not keep.any():
        raise UsageError("no pair of two systems has an outcome")
    fit = _Fit(_PairDesign(left[keep], right[keep], n_systems), points[keep], points[keep])
    theta = fit.solve(0.0, np.zeros(n_systems))
    covariance, n_units = fit.covariance(theta, 0.0, None if unit is None else unit[keep])
    centre = _centring(n_systems)
    return Strengths(centre @ theta, centre @ covariance @ centre,
                     n_labelled=int(keep.sum()), n_units=n_units)  # fmt: skip


def powered_strengths(
    left: Codes,
    right: Codes,
    human: Floats,
    judge: Floats,
    n_systems: int,
    *,
    unit: Codes | None = None,
    weight: float | None = None,
) -> Strengths:
    """Fit strengths from points of the left system by people and by a judge, NaN where missing.

    A battle without a verdict of the judge counts as a tie of the judge: labels correct any
    prediction, and keep their rows. ``weight`` is lambda, between 0 (people alone) and 1; by
    default the one with the least noise.
    """
    usable = left != right
    n_judged = int((usable & ~np.isnan(judge)).sum())
    judge = np.where(np.isnan(judge), 0.5, judge)
    n_labelled = int((usable & ~np.isnan(human)).sum())
    if not n_labelled:
        raise UsageError("no battle has a label of people")
    rows = np.flatnonzero(usable)
    rows = rows[np.argsort(np.isnan(human[rows]), kind="stable")]  # those with a label first
    design = _PairDesign(left[rows], right[rows], n_systems)
    fit = _Fit(design, human[rows[:n_labelled]], judge[rows])
    start = np.zeros(n_systems)
    if n_labelled == len(rows):
        weight = 0.0
    if weight is None:
        start = fit.solve(_START, start, _RIDGE)
        weight = fit.best_weight(start)
    theta = fit.solve(weight, start)
    covariance, n_units = fit.covariance(theta, weight, None if unit is None else unit[rows])
    centre = _centring(n_systems)
    return Strengths(
        log_strength=centre @ theta,
        covariance=centre @ covariance @ centre,
        weight=float(weight),
        n_labelled=n_labelled,
        n_judged=n_judged,
        n_units=n_units,
    )


class _Fit:
    """The loss on battles of which the first have labels, and its derivatives."""

    def __init__(self, design: _PairDesign, human: Floats, judge: Floats) -> None:
        self.design, self.human, self.judge = design, human, judge
        self.n, self.n_systems = len(human), design.n_systems
        self.labelled = np.arange(len(judge)) < self.n
        #: How many rows the loss of each row is a mean over.
        self.rows = np.where(self.labelled, self.n, len(judge) - self.n)

    def residuals(self, chance: Floats, weight: float) -> Floats:
        """Return the slope of each row's loss in its log-odds."""
        result = weight * (chance - self.judge)
        result[: self.n] = chance[: self.n] - self.human - result[: self.n]
        return np.asarray(result)

    def solve(self, weight: float, theta: Floats, ridge: float = 0.0) -> Floats:
        """Find the least point by Newton's method, from ``theta`` on."""
        share = np.where(self.labelled, 1 - weight, weight) / self.rows
        for _ in range(_STEPS):
            p = expit(self.design.times(theta))
            slope = self.design.transposed(self.residuals(p, weight) / self.rows)
            bend = _pinned(self.design.weighted(share * p * (1 - p)))
            bend += ridge * np.eye(len(theta))
            try:
                step = np.linalg.solve(bend, slope + ridge * theta)
            except np.linalg.LinAlgError:
                break
            largest = float(np.abs(step).max())
            theta = theta - step * min(1.0, 2 / largest if largest else 1.0)
            if not max(np.ptp(theta), np.abs(theta).max()) <= _FAR:
                break
            if largest < _TOLERANCE:
                return theta
        raise self._too_few()

    def _too_few(self) -> UsageError:
        return UsageError(
            f"{self.n} battles of {self.n_systems} systems are too few for finite strengths (some "
            "system won, or lost, all of its battles, or is in none)"
        )

    def _inverse(self, chance: Floats) -> Floats:
        bend = self.design.weighted(chance * (1 - chance)) / len(chance)
        try:
            return np.asarray(np.linalg.inv(_pinned(bend)))
        except np.linalg.LinAlgError:
            raise self._too_few() from None

    def best_weight(self, theta: Floats) -> float:
        """Return the lambda with the least trace of the covariance, between 0 and 1."""
        p = expit(self.design.times(theta))
        inverse = self._inverse(p)
        of_people, of_judge = self.residuals(p, 0.0), p - self.judge
        total, more = len(p), len(p) - self.n
        # A trace sees the symmetric part alone, so that one of both outer products will do.
        shared = self.design.weighted(of_people * of_judge) / self.n
        shared -= np.outer(
            self.design.transposed(of_people), self.design.transposed(of_judge * self.labelled)
        ) / self.n**2  # fmt: skip
        mean = self.design.transposed(of_judge) / total
        spread = self.design.weighted(of_judge**2) - total * np.outer(mean, mean)
        top = float(np.trace(inverse @ shared @ inverse))
        bottom = (1 + self.n / more) * float(np.trace(inverse @ spread @ inverse)) / (total - 1)
        return min(1.0, max(0.0, top / bottom)) if bottom > 0 else 0.0

    def covariance(self, theta: Floats, weight: float, unit: Codes | None) -> tuple[Floats, int]:
        """Return the sandwich, by unit, and how many units have labels."""
        p = expit(self.design.times(theta))
        inverse = self._inverse(p)
        residuals = self.residuals(p, weight) / self.rows
        # Labelled rows and the others are two samples, each measured from its mean.
        samples = [part for part in (self.labelled, ~self.labelled) if part.any()]
        meat = np.zeros_like(inverse)
        if unit is None:
            for part in samples:
                values = residuals * part
                total = self.design.transposed(values)
                meat += self.design.weighted(values * values) - np.outer(total, total) / part.sum()
            return inverse @ meat @ inverse, self.n
        _, codes = np.unique(unit, return_inverse=True)
        n_units = int(codes.max()) + 1
        pulls = np.zeros((n_units, len(theta)))
        for part in samples:
            sums = self.design.by_unit(residuals * part, codes, n_units)
            rows = np.bincount(codes[part], minlength=n_units)
            pulls += sums - np.outer(rows, sums.sum(axis=0)) / part.sum()
        return inverse @ (pulls.T @ pulls) @ inverse, len(np.unique(codes[: self.n]))


class _PairDesign:
    """The design X of a log, never made: +1 for the left system, -1 for the right."""

    def __init__(self, left: Codes, right: Codes, n_systems: int) -> None:
        self.left, self.right, self.n_systems = left, right, n_systems

    def times(self, theta: Floats) -> Floats:
        """Return X theta: how far each row's left side is ahead."""
        return np.asarray(theta[self.left] - theta[self.right])

    def transposed(self, values: Floats) -> Floats:
        """Return X' values: what each system is pulled by."""
        k = self.n_systems
        return group_sums(self.left, values, k) - group_sums(self.right, values, k)

    def weighted(self, weight: Floats) -> Floats:
        """Return X' diag(weight) X."""
        k = self.n_systems
        met = group_sums(self.left * k + self.right, weight, k * k).reshape(k, k)
        met = met + met.T
        return np.asarray(np.diag(met.sum(axis=1)) - met)

    def by_unit(self, values: Floats, codes: Codes, n_units: int) -> Floats:
        """Return the sums of X' values of each unit: units x systems."""
        result = np.zeros((n_units, self.n_systems))
        np.add.at(result, (codes, self.left), values)
        np.subtract.at(result, (codes, self.right), values)
        return result


def _pinned(matrix: Floats) -> Floats:
    """Add what pins the sum of the systems to zero, of the size that the matrix has itself."""
    k = len(matrix)
    size = float(np.trace(matrix)) / k or 1.0
    return np.asarray(matrix + size / k)


def _centring(n_systems: int) -> Floats:
    """Return the matrix that takes the mean of the systems off."""
    return np.asarray(np.eye(n_systems) - 1 / n_systems)
