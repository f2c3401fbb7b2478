"""A number with its interval, or the reason why there is none.

Every estimate of judged data is a value plus the influence of each row on it. The influences,
summed by unit where rows share one, give the standard error and the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.distributions import bdtr, ndtri, stdtr, stdtrit
from steelyard.stats.paired.corrections import wilson_interval

Codes = NDArray[np.integer]
_NAN = float("nan")
_ROUNDING = 1e-12  # a standard error below this is rounding
ONE_UNIT = "no interval: all rows share one unit"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, its interval and standard error, and how many it rests on; ``why`` one is NaN."""

    value: float
    low: float = _NAN
    high: float = _NAN
    se: float = _NAN
    n: int = 0
    why: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return not math.isnan(self.value)

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "value": self.value,
            "ci": [self.low, self.high] if self.bounded else None,
            "se": self.se,
            "n": self.n,
            "why": self.why or None,
        }


def plain_fields(result: Any) -> dict[str, Any]:
    """Return the fields of a result, its estimates as ``--json`` prints them."""
    values = {field.name: getattr(result, field.name) for field in fields(result)}
    return {
        name: value.to_dict() if isinstance(value, Estimate) else value
        for name, value in values.items()
    }


def undefined(why: str, n: int = 0) -> Estimate:
    """Return an estimate without a value, with the reason."""
    return Estimate(_NAN, n=n, why=why)


def critical(level: float, freedom: float = math.inf) -> float:
    """Return how many standard errors an interval reaches: of t, or of the normal distribution."""
    tail = 0.5 + level / 2
    return float(ndtri(tail) if math.isinf(freedom) else stdtrit(freedom, tail))


def symmetric(
    value: float, se: float, n: int, level: float = 0.95, freedom: float = math.inf
) -> Estimate:
    """Return a value with the interval that its standard error gives."""
    reach = critical(level, freedom) * se
    return Estimate(value, value - reach, value + reach, se, n=n)


def unit_error(influence: Floats, unit: Codes | None) -> tuple[float, int]:
    """Return the standard error of a mean of influences, and the number of units."""
    n = len(influence)
    if unit is None:
        return float(np.sqrt(influence @ influence) / n), n
    _, codes = np.unique(unit, return_inverse=True)
    n_units = int(codes.max(initial=-1)) + 1
    if n_units < 2:
        return _NAN, n_units
    sums = group_sums(codes, influence, n_units)
    return float(np.sqrt(sums @ sums * n_units / (n_units - 1)) / n), n_units


def from_influence(
    value: float,
    influence: Floats,
    unit: Codes | None,
    level: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Return a value with the interval of its influences: normal, or t where there are units.

    ``limits`` are those of the value. Rows that show no noise at all would make an interval of no
    width; it reaches as far as :func:`unseen_share` rows could take the value instead.
    """
    n, (least, most) = len(influence), limits
    if math.isnan(value):
        return undefined("undefined", n)
    se, n_units = unit_error(influence, unit)
    if math.isnan(se):
        return Estimate(value, n=n, why=ONE_UNIT)
    if se < _ROUNDING and math.isfinite(least) and math.isfinite(most):
        share = unseen_share(n_units, level)
        return Estimate(
            value, value - share * (value - least), value + share * (most - value), 0.0, n=n
        )
    reach = se * critical(level, math.inf if unit is None else n_units - 1)
    return Estimate(value, max(least, value - reach), min(most, value + reach), se, n=n)


def mean_estimate(
    values: Floats,
    unit: Codes | None,
    level: float = 0.95,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Return the mean of one or more values with its interval."""
    mean = float(values.mean())
    return from_influence(mean, values - mean, unit, level, limits)


def share_estimate(values: Floats, unit: Codes | None, level: float = 0.95) -> Estimate:
    """Return the mean of values between 0 and 1.

    Of zeros and ones the interval is Wilson's, of as many independent rows as have the same noise.
    """
    n = len(values)
    if not n:
        return undefined("nothing to count")
    if not np.isin(values, (0.0, 1.0)).all():
        return mean_estimate(values, unit, level, (0.0, 1.0))
    if unit is None:
        return wilson(float(values.sum()), n, level)
    share = float(values.mean())
    se, n_units = unit_error(values - share, unit)
    if n_units < 2:
        return Estimate(share, n=n, why=ONE_UNIT)
    effective = min(float(n), share * (1 - share) / se**2) if se > 0 else float(n_units)
    interval = wilson(share * effective, effective, level)
    return Estimate(share, interval.low, interval.high, se, n=n)


def wilson(successes: float, n: float, level: float = 0.95) -> Estimate:
    """Return a share with Wilson's interval."""
    if n <= 0:
        return undefined("nothing to count")
    low, high = wilson_interval(successes, n, level)
    share = successes / n
    return Estimate(share, float(low), float(high), math.sqrt(share * (1 - share) / n), n=round(n))


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Estimate:
    """Return a share with its exact interval, for few or one-sided counts."""
    if n <= 0:
        return undefined("nothing to count")
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    share = successes / n
    return Estimate(share, low, high, math.sqrt(share * (1 - share) / n), n=n)


def passes(correct: Floats, runs: Floats, k: int, *, every: bool) -> Floats:
    """Return the chance of each item that k of its runs have one success, or only successes.

    pass@k is 1 - C(n - c, k) / C(n, k) of c successes in n runs, pass^k (``every``) is
    C(c, k) / C(n, k); NaN for items with fewer than k runs.
    """
    drawn = correct if every else runs - correct
    steps = np.arange(k)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.prod(np.maximum(drawn - steps, 0) / (runs - steps), axis=0)
    return np.where(runs >= k, chance if every else 1 - chance, np.nan)


def rate_estimate(values: Floats, level: float = 0.95) -> Estimate:
    """Return the mean of rates of items, with Wilson's interval of as many items as noisy.

    Two more items of a Bernoulli's noise keep few items that differ from hiding it; t for few.
    """
    n, total = len(values), float(values.sum())
    if n < 2:
        return Estimate(total, n=n, why="one item") if n else undefined("nothing to count")
    mean, guess = total / n, (total + 0.5) / (n + 1)
    noise = float(((values - mean) ** 2).sum()) + 2 * guess * (1 - guess)
    se = math.sqrt(noise / (n + 1) / n)
    effective = mean * (1 - mean) / se**2 if 0 < mean < 1 else float(n)
    effective *= (critical(level) / critical(level, n - 1)) ** 2
    low, high = wilson_interval(mean * effective, effective, level)
    return Estimate(mean, float(low), float(high), se, n=n)


def unseen_share(n: float, level: float = 0.95) -> float:
    """Return the share of rows that may be unlike all n that were seen: Wilson's, of none in n."""
    return float(wilson_interval(0, n, level)[1])


def exact_sign_p(first: int, second: int) -> float:
    """Two-sided exact p of so many for either side, if both were as likely; 1 without any."""
    n = first + second
    return min(1.0, 2 * float(bdtr(min(first, second), n, 0.5))) if n else 1.0


def side_p(side: Floats, unit: Codes | None) -> float:
    """Two-sided p of a mean of sides (1, -1, 0 for neither) of 0; by unit where rows share one."""
    if unit is None or len(np.unique(unit)) == len(unit):
        return exact_sign_p(int((side > 0).sum()), int((side < 0).sum()))
    mean = float(side.mean())
    se, n_units = unit_error(side - mean, unit)
    if np.isnan(se):
        return float("nan")
    if se < _ROUNDING:  # every unit says the same: one sign each
        return exact_sign_p(n_units, 0) if mean else 1.0
    return 2 * float(stdtr(n_units - 1, -abs(mean) / se))
