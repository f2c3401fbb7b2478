"""A share from a judge whose sensitivity and specificity were measured elsewhere (Rogan, Gladen).

Only for labels that were chosen by what *people* said (so many good, so many bad), or that come
from another set: with labels drawn at random it is noisier than those labels alone.
"""

from __future__ import annotations

import math

from scipy.special import ndtri

from steelyard.core.errors import UsageError
from steelyard.stats.estimate import Estimate, undefined


def rogan_gladen(
    share: float,
    n: int,
    specificity: float,
    n_negative: int,
    sensitivity: float,
    n_positive: int,
    *,
    level: float = 0.95,
) -> Estimate:
    """Correct a share of passes; the interval is that of Lee et al. (2025).

    Parameters
    ----------
    share, n
        How often the judge passes, over how many rows.
    specificity, n_negative
        How often it fails what people fail, over how many.
    sensitivity, n_positive
        How often it passes what people pass, over how many.

    Examples
    --------
    >>> found = rogan_gladen(0.4, 1000, 0.7, 200, 0.9, 200)
    >>> round(found.value, 4), round(found.low, 8), round(found.high, 8)
    (0.1667, 0.05635072, 0.26273303)
    """
    for name, value in (("share", share), ("specificity", specificity),
                        ("sensitivity", sensitivity)):  # fmt: skip
        if not 0 <= value <= 1:
            raise UsageError(f"{name} is a share between 0 and 1, got {value}")
    if min(n, n_negative, n_positive) < 1:
        return undefined("people passed nothing, or failed nothing, or the judge saw nothing")
    informed = specificity + sensitivity - 1
    if informed <= 0:
        return undefined("the judge passes what people fail as often as what they pass")
    value = (share + specificity - 1) / informed
    se = _error(share, specificity, sensitivity, n, n_negative, n_positive, value) / informed
    low, high = _lee(share, specificity, sensitivity, n, n_negative, n_positive, level)
    return Estimate(value, low, high, se, n=n_negative + n_positive)


def _error(p: float, q0: float, q1: float, n: float, m0: float, m1: float, theta: float) -> float:
    return math.sqrt(
        p * (1 - p) / n + (1 - theta) ** 2 * q0 * (1 - q0) / m0 + theta**2 * q1 * (1 - q1) / m1
    )


def _lee(
    p: float, q0: float, q1: float, n: float, m0: float, m1: float, level: float
) -> tuple[float, float]:
    z = float(ndtri(0.5 + level / 2))
    p, q0, q1 = (
        (n * p + z * z / 2) / (n + z * z),
        (m0 * q0 + 1) / (m0 + 2),
        (m1 * q1 + 1) / (m1 + 2),
    )
    n, m0, m1 = n + z * z, m0 + 2, m1 + 2
    informed = q0 + q1 - 1
    if informed <= 0:
        return 0.0, 1.0
    theta = (p + q0 - 1) / informed
    shift = 2 * z * z * (theta * q1 * (1 - q1) / m1 - (1 - theta) * q0 * (1 - q0) / m0)
    reach = z * _error(p, q0, q1, n, m0, m1, theta) / informed
    low, high = theta + shift - reach, theta + shift + reach
    return min(1.0, max(0.0, low)), min(1.0, max(0.0, high))
