r"""Bradley-Terry strengths by people, from few labelled battles and many judged ones.

The loss :math:`\lambda / N \sum_U l(f) + 1 / n \sum_L [l(y) - \lambda l(f)]`, with
:math:`l(o) = \log(1 + e^\eta) - o \eta` and :math:`\eta = s_l - s_r + x' b`, is convex for lambda
between 0 and 1; ties are half a win. Its least point is the strengths of people, whatever the judge
gets wrong. With a lambda of 0 it is the plain fit, in which x may hold the style of answers
(length, format). Strengths with and without style stand beside each other; neither is the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.distributions import expit
from steelyard.stats.estimate import Codes, Estimate, symmetric

_STEPS, _TOLERANCE = 100, 1e-10
_FAR = 30.0  # gaps of log-strengths, and effects, beyond it have no finite maximum behind them
_START, _RIDGE = 0.5, 1e-3  # where lambda is tuned from


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """Log-strengths that sum to zero, effects of covariates, and the covariance of both."""

    log_strength: Floats
    covariance: Floats
    effects: Mapping[str, Estimate] = field(default_factory=dict)
    weight: float = 0.0  # of the judge, lambda
    n_labelled: int = 0
    n_judged: int = 0
    n_units: int = 0  # with labels

    @property
    def errors(self) -> Floats:
        """Standard errors of the log-strengths."""
        variances = np.diagonal(self.covariance)[: len(self.log_strength)]
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


def styled_strengths(
    left: Codes,
    right: Codes,
    points: Floats,
    n_systems: int,
    covariates: Mapping[str, Floats] | None = None,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Strengths:
    """Fit strengths, and effects of covariates (differences of left and right), together.

    ``points`` are those of the left system: 1, 0.5, 0, or a probability. Rows with a NaN are
    excluded; all systems must be joined by pairs.
    """
    names = list(covariates or {})
    style = np.stack(list(covariates.values()), axis=1) if covariates else np.zeros((len(left), 0))
    keep = ~(np.isnan(points) | np.isnan(style).any(axis=1)) & (left != right)
    if not keep.any():
        raise UsageError("no pair of two systems has an outcome and all covariates")
    for name, column in zip(names, style[keep].T, strict=True):
        if not column.any():
            raise UsageError(f"covariate '{name}' is zero in all pairs: nothing differs in it")
    design = _PairDesign(left[keep], right[keep], n_systems, style[keep])
    fit = _Fit(design, points[keep], points[keep])
    theta = fit.solve(0.0, np.zeros(design.width))
    covariance, n_units = fit.covariance(theta, 0.0, None if unit is None else unit[keep])
    centre = _centring(design.width, n_systems)
    covariance = centre @ covariance @ centre
    n = int(keep.sum())
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return Strengths(
        log_strength=(centre @ theta)[:n_systems],
        covariance=covariance,
        effects={
            name: symmetric(float(theta[i]), float(errors[i]), n, level)
            for i, name in enumerate(names, n_systems)
        },
        n_labelled=n,
        n_units=n_units,
    )


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
    centre = _centring(n_systems, n_systems)
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
            bend = _pinned(self.design.weighted(share * p * (1 - p)), self.n_systems)
            bend += ridge * np.eye(len(theta))
            try:
                step = np.linalg.solve(bend, slope + ridge * theta)
            except np.linalg.LinAlgError:
                break
            largest = float(np.abs(step).max())
            theta = theta - step * min(1.0, 2 / largest if largest else 1.0)
            if not max(np.ptp(theta[: self.n_systems]), np.abs(theta).max()) <= _FAR:
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
            return np.asarray(np.linalg.inv(_pinned(bend, self.n_systems)))
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
    """The design X of a log, never made: +1 for the left system, -1 for the right, covariates."""

    def __init__(
        self, left: Codes, right: Codes, n_systems: int, covariates: Floats | None = None
    ) -> None:
        self.left, self.right, self.n_systems = left, right, n_systems
        self.covariates = np.zeros((len(left), 0)) if covariates is None else covariates

    @property
    def width(self) -> int:
        """How many parameters there are."""
        return self.n_systems + int(self.covariates.shape[1])

    def times(self, theta: Floats) -> Floats:
        """Return X theta: how far each row's left side is ahead."""
        ahead = theta[self.left] - theta[self.right]
        return np.asarray(ahead + self.covariates @ theta[self.n_systems :])

    def transposed(self, values: Floats) -> Floats:
        """Return X' values: what each parameter is pulled by."""
        return np.concatenate([self._by_system(values), self.covariates.T @ values])

    def _by_system(self, values: Floats) -> Floats:
        k = self.n_systems
        return group_sums(self.left, values, k) - group_sums(self.right, values, k)

    def weighted(self, weight: Floats) -> Floats:
        """Return X' diag(weight) X."""
        k = self.n_systems
        result = np.zeros((self.width, self.width))
        met = group_sums(self.left * k + self.right, weight, k * k).reshape(k, k)
        met = met + met.T
        result[:k, :k] = np.diag(met.sum(axis=1)) - met
        for column, covariate in enumerate((weight[:, None] * self.covariates).T, k):
            result[:k, column] = result[column, :k] = self._by_system(covariate)
        result[k:, k:] = self.covariates.T @ (weight[:, None] * self.covariates)
        return result

    def by_unit(self, values: Floats, codes: Codes, n_units: int) -> Floats:
        """Return the sums of X' values of each unit: units x parameters."""
        result = np.zeros((n_units, self.width))
        np.add.at(result, (codes, self.left), values)
        np.subtract.at(result, (codes, self.right), values)
        for column, covariate in enumerate(self.covariates.T, self.n_systems):
            result[:, column] = group_sums(codes, covariate * values, n_units)
        return result


def _pinned(matrix: Floats, n_systems: int) -> Floats:
    """Add what pins the sum of the systems to zero, of the size that the matrix has itself."""
    result = matrix.copy()
    size = float(np.trace(matrix[:n_systems, :n_systems])) / n_systems or 1.0
    result[:n_systems, :n_systems] += size / n_systems
    return result


def _centring(width: int, n_systems: int) -> Floats:
    """Return the matrix that takes the mean of the systems off."""
    centre = np.eye(width)
    centre[:n_systems, :n_systems] -= 1 / n_systems
    return centre
