r"""Corrected means of systems that have few labels each, and enough together.

Ten labels say too little of how far to listen to the judge, and of how noisy they are; those of all
systems together say it: one weight, and one variance of what people say beyond the judge (as in an
analysis of covariance). Each mean is still corrected by its own labels alone, and is as noisy as
these are if that is more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, undefined
from steelyard.stats.prediction_powered.mean import with_every_verdict
from steelyard.stats.prediction_powered.stratified import share_ends


@dataclass(frozen=True, slots=True)
class Pooled:
    """The weight that all systems share, the variance beyond the judge, and what both rest on."""

    weight: float
    variance: float
    spread: float  # of the judge's numbers on labelled rows within systems: sum of squares
    freedom: float

    @property
    def known(self) -> bool:
        """Whether there are labels enough, and a judge that says more than one thing."""
        return self.freedom >= 1 and self.spread > 0 and self.variance > 0


def pooled_weight(human: Sequence[Floats], judge: Sequence[Floats]) -> Pooled:
    """Find the weight from the labels of all systems, within systems.

    Lambda is the slope of labels on verdicts within systems, over 1 + n / N, between 0 and 1.

    Parameters
    ----------
    human, judge
        Of each system labels, NaN where there is none, and verdicts.

    Examples
    --------
    >>> f = np.array([0.0, 1, 0, 1, 0, 1])
    >>> human = [np.array([0.0, 1, 1, np.nan, np.nan, np.nan]), np.array([2.0, 3] + [np.nan] * 4)]
    >>> found = pooled_weight(human, [f, f])
    >>> round(found.weight, 3), found.freedom
    (0.417, 2.0)
    """
    if len(human) != len(judge):
        raise ShapeError(f"{len(human)} systems with labels but {len(judge)} with verdicts")
    shared = spread = 0.0
    n = more = systems = 0
    parts: list[tuple[Floats, Floats]] = []
    for y, verdicts in zip(human, judge, strict=True):
        labelled, f = ~np.isnan(y), with_every_verdict(verdicts)
        more += int((~labelled).sum())
        if not labelled.any():
            continue
        own, said = y[labelled] - y[labelled].mean(), f[labelled] - f[labelled].mean()
        parts.append((own, said))
        shared += float(own @ said)
        spread += float(said @ said)
        n += len(own)
        systems += 1
    freedom = float(n - systems - 1)
    if not spread > 0 or not more or freedom < 1:
        return Pooled(0.0, math.nan, spread, freedom)
    weight = min(1.0, max(0.0, shared / spread / (1 + n / more)))
    left = sum(float(((own - weight * said) ** 2).sum()) for own, said in parts)
    return Pooled(weight, left / freedom, spread, freedom)


def pooled_mean(
    human: Floats,
    judge: Floats,
    pooled: Pooled,
    *,
    level: float = 0.95,
    population: str = "any",
) -> Estimate:
    """Correct the mean of one system by its own labels, with what all systems share.

    The ends of a share are taken on the scale of log-odds. Labels that are all the same say nothing
    of their own noise: people alone have an exact interval for them.

    Examples
    --------
    >>> human, judge = np.array([1.0, 0, np.nan, np.nan]), np.array([1.0, 0, 1, 1])
    >>> found = pooled_mean(human, judge, Pooled(0.5, 0.1, 8.0, 20.0))
    >>> round(found.value, 3), round(found.se, 4)
    (0.75, 0.2577)
    """
    prediction, labelled = with_every_verdict(judge), ~np.isnan(human)
    y, f, others = human[labelled], prediction[labelled], prediction[~labelled]
    n, more = len(y), len(others)
    if not n:
        return undefined("no label of people")
    value = float((y - pooled.weight * f).mean())
    apart = 0.0
    if more:
        value += pooled.weight * float(others.mean())
        apart = float(others.mean() - f.mean()) ** 2 / pooled.spread
    unsure = more / (n + more) if population == "fixed" else 1.0
    noise = max(pooled.variance, float((y - pooled.weight * f).var(ddof=1)) if n > 1 else 0.0)
    variance = unsure * noise * (1 / n + apart)
    if more > 1 and population != "fixed":
        variance += pooled.weight**2 * float(others.var(ddof=1)) / more
    se = math.sqrt(variance)
    reach = se * float(stdtrit(pooled.freedom, 0.5 + level / 2))
    low, high = share_ends(value, reach, y)
    return Estimate(value, low, high, se, n=n)
