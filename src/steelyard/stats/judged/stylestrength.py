r"""Bradley-Terry strengths beside the pull of style: length, format, whatever a pair differs in.

:math:`\text{logit} P(\text{left wins}) = s_l - s_r + x' b`, with ties as half a win. Strengths with
and without x stand beside each other; neither is the truth: people may like length for a reason.
The length-controlled win rate against one baseline is the same model for two systems, read at equal
length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.strength.clustered_errors import PairDesign, centring, pinned

_STEPS, _TOLERANCE = 100, 1e-10
_FAR = 30.0  # log-strengths beyond it have no finite maximum behind them
Codes = NDArray[np.integer]


@dataclass(frozen=True, slots=True, eq=False)
class StyledStrengths:
    """Log-strengths that sum to zero, their covariance, and the effects of covariates.

    ``covariance`` is that of strengths and effects together (sandwich, by unit where one is given).
    """

    log_strength: Floats
    effects: Mapping[str, Estimate]
    covariance: Floats

    @property
    def errors(self) -> Floats:
        """Standard errors of the log-strengths."""
        k = len(self.log_strength)
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance)[:k], 0.0)))

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints of the effects."""
        return {name: own.to_dict() for name, own in self.effects.items()}


def styled_strengths(
    left: Codes,
    right: Codes,
    points: Floats,
    n_systems: int,
    covariates: Mapping[str, Floats] | None = None,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> StyledStrengths:
    """Fit strengths and effects together.

    Parameters
    ----------
    left, right
        Codes of systems.
    points
        What the left one got: 1, 0.5 or 0 (or a probability); NaN takes no part.
    n_systems
        How many systems there are; all must be joined by pairs.
    covariates
        Differences of left and right by name; rows with NaN take no part.
    unit, level
        What pairs share, and the level of intervals.

    Examples
    --------
    >>> left, right = np.array([0, 0, 1, 0, 1]), np.array([1, 1, 0, 1, 0])
    >>> found = styled_strengths(left, right, np.array([1.0, 1, 0, 0, 0.5]), 2)
    >>> found.log_strength.round(6).tolist()
    [0.423649, -0.423649]
    """
    given = dict(covariates or {})
    if not left.shape == right.shape == points.shape:
        raise ShapeError(f"shapes {left.shape}, {right.shape} and {points.shape} differ")
    extra = np.stack(list(given.values()), axis=1) if given else np.zeros((len(left), 0))
    keep = ~(np.isnan(points) | np.isnan(extra).any(axis=1)) & (left != right)
    i, j, y, x = left[keep], right[keep], points[keep], extra[keep]
    if not len(y):
        raise UsageError("no pair of two systems has an outcome and all covariates")
    for name, column in zip(given, x.T, strict=True):
        if not column.any():
            raise UsageError(f"covariate '{name}' is zero in all pairs: nothing differs in it")
    design = PairDesign(i, j, n_systems, x)
    theta = np.zeros(design.width)
    for _ in range(_STEPS):
        p = expit(design.times(theta))
        information = pinned(design.weighted(p * (1 - p)), n_systems)
        step = np.linalg.solve(information, design.transposed(y - p))
        largest = float(np.abs(step).max())
        theta = theta + step * min(1.0, 2 / largest if largest else 1.0)
        if largest < _TOLERANCE:
            break
        if np.abs(theta).max() > _FAR:
            raise UsageError("no finite strengths: some system won, or lost, all of its pairs")
    else:
        raise UsageError("strengths with these covariates did not settle")
    p = expit(design.times(theta))
    inverse = np.linalg.inv(pinned(design.weighted(p * (1 - p)), n_systems))
    if unit is None:
        meat = design.weighted((y - p) ** 2)
    else:
        _, codes = np.unique(unit[keep], return_inverse=True)
        pulls = design.by_unit(y - p, codes, int(codes.max()) + 1)
        meat = pulls.T @ pulls
    centre = centring(design.width, n_systems)
    covariance = centre @ inverse @ meat @ inverse @ centre
    reach = float(ndtri(0.5 + level / 2))
    effects = {}
    for place, name in enumerate(given, n_systems):
        b, se = float(theta[place]), float(np.sqrt(covariance[place, place]))
        effects[name] = Estimate(b, b - reach * se, b + reach * se, se, n=len(y))
    return StyledStrengths((centre @ theta)[:n_systems], effects, covariance)


@dataclass(frozen=True, slots=True)
class ControlledWinRate:
    """A win rate at equal length, the plain one, and whether the first is extrapolated.

    ``mean_difference`` is that of lengths, in standard deviations: beyond one of them, few pairs
    are near equal length, and the rate at equal length is a guess of the model.
    """

    controlled: Estimate
    plain: Estimate
    mean_difference: float

    @property
    def extrapolated(self) -> bool:
        """Whether lengths differ by more than a standard deviation on average."""
        return abs(self.mean_difference) > 1


def length_controlled(
    preference: Floats, length_difference: Floats, *, level: float = 0.95
) -> ControlledWinRate:
    """Give the win rate of a model against a baseline, at equal length.

    A logistic fit of the preference on tanh(difference / standard deviation) and a constant, read
    at difference 0; the error is by the delta method.

    Parameters
    ----------
    preference
        Points of the model between 0 and 1, NaN where missing.
    length_difference
        Length of the model's answer minus that of the baseline's.

    Examples
    --------
    >>> long = np.array([10.0, 20, -10, -20, 5, -5])
    >>> found = length_controlled(np.array([1.0, 0, 0, 1, 0.5, 0.5]), long)
    >>> round(found.controlled.value, 3), found.plain.value
    (0.5, 0.5)
    """
    keep = ~(np.isnan(preference) | np.isnan(length_difference))
    y, d = preference[keep], length_difference[keep]
    n = len(y)
    if n < 2:
        nothing = undefined(f"{n} pairs with lengths, expected two or more", n)
        return ControlledWinRate(nothing, nothing, float("nan"))
    reach = float(ndtri(0.5 + level / 2))
    plain = float(y.mean())
    own = float(y.std(ddof=1) / np.sqrt(n))
    raw = Estimate(plain, plain - reach * own, plain + reach * own, own, n=n)
    if np.ptp(d) == 0:
        why = "lengths differ by the same in all pairs: nothing to control for"
        return ControlledWinRate(undefined(why, n), raw, float("nan"))
    spread = float(d.std(ddof=1))
    x = np.stack([np.tanh(d / spread), np.ones(n)], axis=1)
    b = np.zeros(2)
    for _ in range(_STEPS):
        p = expit(x @ b)
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (y - p))
        b = b + step * min(1.0, 2 / float(np.abs(step).max() or 1.0))
        if np.abs(b).max() > _FAR:
            why = "the model wins, or loses, everything: no finite fit"
            return ControlledWinRate(undefined(why, n), raw, float(d.mean()) / spread)
        if np.abs(step).max() < _TOLERANCE:
            break
    p = expit(x @ b)
    inverse = np.linalg.inv((x * (p * (1 - p))[:, None]).T @ x)
    pulls = x * (y - p)[:, None]
    covariance = inverse @ (pulls.T @ pulls) @ inverse
    even = float(expit(b[1]))
    se = even * (1 - even) * float(np.sqrt(covariance[1, 1]))
    controlled = Estimate(even, even - reach * se, even + reach * se, se, n=n)
    return ControlledWinRate(controlled, raw, float(d.mean()) / spread)
