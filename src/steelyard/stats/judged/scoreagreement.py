"""A judge's numbers beside people's: correlation, and how far it is off on average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.judged.proportions import noise_by_unit, unseen, with_noise

Codes = NDArray[np.integer]
CONSTANT_JUDGE = "the judge gave the same number to all rows"
CONSTANT_PEOPLE = "people gave the same number to all rows"


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """How far a judge's numbers agree with people's.

    ``rho`` is Pearson's correlation over rows, what correction rests on; ``offset`` is judge minus
    people on average.
    """

    rho: Estimate
    offset: Estimate
    rmse: float

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "rho": self.rho.to_dict(),
            "offset": self.offset.to_dict(),
            "rmse": self.rmse,
        }


def score_agreement(
    human: Floats, judge: Floats, *, unit: Codes | None = None, level: float = 0.95
) -> ScoreAgreement:
    """Compare a judge's numbers with people's, NaN where either is silent.

    Examples
    --------
    >>> found = score_agreement(np.array([1.0, 2, 3, np.nan]), np.array([2.0, 3, 4, 9]))
    >>> round(found.rho.value, 6), found.offset.value, found.rmse
    (1.0, 1.0, 1.0)
    """
    if human.shape != judge.shape or human.ndim != 1:
        raise ShapeError(f"{human.shape} numbers of people but {judge.shape} of the judge")
    both = ~(np.isnan(human) | np.isnan(judge))
    h, j = human[both], judge[both]
    own = None if unit is None else unit[both]
    if not len(h):
        nothing = undefined("no row that both judged")
        return ScoreAgreement(nothing, nothing, float("nan"))
    error = j - h
    mean = float(error.mean())
    return ScoreAgreement(
        rho=correlation(h, j, unit=own, level=level),
        offset=with_noise(mean, error - mean, own, level),
        rmse=float(np.sqrt(error @ error / len(error))),
    )


def correlation(
    x: Floats, y: Floats, *, unit: Codes | None = None, level: float = 0.95
) -> Estimate:
    """Pearson's correlation of two columns without gaps; the interval is Fisher's, by unit.

    Where all rows lie on one line, it reaches as far as rows that were not seen could take it.

    Examples
    --------
    >>> found = correlation(np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 3, 2, 5, 4]))
    >>> round(found.value, 3), found.low < 0.8 < found.high
    (0.8, True)
    """
    n = len(x)
    if n < 3:
        return undefined(f"{n} rows, expected three or more", n)
    for values, why in ((x, CONSTANT_PEOPLE), (y, CONSTANT_JUDGE)):
        if np.ptp(values) <= 1e-12 * float(np.abs(values).max()):
            return undefined(why, n)
    a, b = ((v - v.mean()) / v.std() for v in (x, y))
    r = max(-1.0, min(1.0, float(a @ b / n)))
    room = 1 - r * r
    if room < 1e-12:
        rows = n if unit is None else len(np.unique(unit))
        low, high = sorted((r, r * (1 - unseen(rows, level))))
        return Estimate(r, low, high, 0.0, n=n)
    se, groups = noise_by_unit(a * b - r * (a * a + b * b) / 2, unit)
    if math.isnan(se):
        return Estimate(r, n=n, why="no interval: all rows share one unit")
    tail = 0.5 + level / 2
    reach = float(ndtri(tail) if unit is None else stdtrit(groups - 1, tail)) * se / room
    z = math.atanh(r)
    return Estimate(r, math.tanh(z - reach), math.tanh(z + reach), se, n=n)
