r"""Labels chosen with known probabilities, as a plan of what to label next gives them.

With :math:`\xi_i` the indicator of a label and :math:`\pi_i` its probability, the estimate is the
mean of :math:`\lambda f_i + \xi_i (y_i - \lambda f_i) / \pi_i` over all rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.proportions import noise_by_unit
from steelyard.stats.prediction_powered.mean import (
    Corrected,
    mean_verdict,
    with_every_verdict,
)

Codes = NDArray[np.integer]


def weighted_mean(
    human: Floats,
    judge: Floats,
    probability: Floats,
    *,
    unit: Codes | None = None,
    level: float = 0.95,
) -> Corrected:
    """Correct a judge's mean by labels with known probabilities.

    Examples
    --------
    >>> nan = np.nan
    >>> found = weighted_mean(np.array([0.0, 1, nan, nan]), np.array([0.1, 0.9, 0.5, 0.5]),
    ...                       np.full(4, 0.8))
    >>> round(found.weight, 6), round(found.estimate.value, 6), round(found.estimate.se, 6)
    (1.255708, 0.547945, 0.209046)
    """
    if not human.shape == judge.shape == probability.shape:
        raise ShapeError(f"shapes {human.shape}, {judge.shape} and {probability.shape} differ")
    y, f, pi = human, with_every_verdict(judge), probability
    alone, judged = mean_verdict(judge), int((~np.isnan(judge)).sum())
    if np.isnan(pi).any() or not ((pi > 0) & (pi <= 1)).all():
        raise UsageError("probabilities of labels: expected a number above 0, up to 1, in each row")
    labelled = ~np.isnan(y)
    n, total = int(labelled.sum()), len(y)
    if n < 2:
        nothing = undefined(f"{n} labels, expected two or more", n)
        return Corrected(nothing, nothing, alone, 0.0, math.nan, n, judged)
    scaled = np.where(labelled, np.nan_to_num(y) / pi, 0.0)
    noise = f * (labelled / pi - 1)
    spread = float(noise.var(ddof=1))
    off = noise - noise.mean()
    shared = float((off * (scaled - scaled.mean())).sum() / (total - 1))
    lam = shared / spread if spread > 0 else 0.0
    own = lam * f + np.where(labelled, (np.nan_to_num(y) - lam * f) / pi, 0.0)
    value = float(own.mean())
    people = _horvitz_thompson(scaled, n, unit=unit, level=level)
    if unit is None:
        se = math.sqrt(float(own.var(ddof=1)) / total)
        reach = float(ndtri(0.5 + level / 2)) * se
    else:
        se, groups = noise_by_unit(own - value, unit)
        reach = float(stdtrit(groups - 1, 0.5 + level / 2)) * se if groups > 1 else math.nan
    estimate = Estimate(value, value - reach, value + reach, se, n=n)
    return Corrected(estimate, people, alone, lam, math.nan, n, judged)


def _horvitz_thompson(scaled: Floats, n: int, *, unit: Codes | None, level: float) -> Estimate:
    """Give the mean of labels over their probabilities: people alone."""
    value = float(scaled.mean())
    se, _ = noise_by_unit(scaled - value, unit)
    reach = float(ndtri(0.5 + level / 2)) * se
    return Estimate(value, value - reach, value + reach, se, n=n)
