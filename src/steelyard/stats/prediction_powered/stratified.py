r"""Labels chosen by a column, such as fifty passes and fifty fails of the judge.

Within a stratum labels are random; over strata :math:`\theta = \sum_k a_k \theta_k` with the shares
a of all rows, each part corrected with a weight of its own. Taken for a random sample instead, such
labels give intervals that miss the truth half of the time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.text import listed
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate
from steelyard.stats.prediction_powered.mean import (
    FEWEST,
    Corrected,
    mean_verdict,
    people_alone,
    tuned_weight,
    with_every_verdict,
)

Codes = NDArray[np.integer]


def stratified_mean(
    human: Floats,
    judge: Floats,
    stratum: Codes,
    *,
    names: tuple[str, ...] | None = None,
    level: float = 0.95,
) -> Corrected:
    """Correct a judge's mean by labels that are random within strata.

    Parameters
    ----------
    human, judge
        As in :func:`~steelyard.stats.prediction_powered.mean.corrected_mean`.
    stratum
        A code per row.
    names
        What strata are called, for messages.

    Examples
    --------
    >>> verdict = np.repeat([0.0, 1.0], [900, 100])
    >>> human = np.full(1000, np.nan)
    >>> human[:50], human[900:950] = 0.0, 1.0
    >>> human[:5], human[900:905] = 1.0, 0.0
    >>> round(stratified_mean(human, verdict, verdict.astype(int)).estimate.value, 6)
    0.18
    """
    if not human.shape == judge.shape == stratum.shape:
        raise ShapeError(f"shapes {human.shape}, {judge.shape} and {stratum.shape} differ")
    y, f = human, with_every_verdict(judge)
    alone, judged = mean_verdict(judge), int((~np.isnan(judge)).sum())
    codes, code = np.unique(stratum, return_inverse=True)
    total = len(y)
    called = [str(c) if names is None else names[c] for c in codes]
    counts = np.bincount(code[~np.isnan(y)], minlength=len(codes))
    if (counts < 2).any():
        few = [f"'{called[k]}' ({counts[k]})" for k in np.flatnonzero(counts < 2)]
        raise UsageError(
            f"labels by stratum: expected two or more in each, but {listed(few)}: no label there "
            "tells how wrong the judge is"
        )
    value = 0.0
    parts: list[tuple[float, float, float]] = []  # share, mean, variance
    freedoms: list[float] = []
    weights: list[float] = []
    for k in range(len(codes)):
        own = code == k
        share = float(own.mean())
        mean, variance, lam, freedom = stratum_mean(y[own], f[own])
        parts.append((share, mean, variance))
        freedoms.append(freedom)
        weights.append(lam)
        value += share * mean
    noise = [share * share * variance for share, _, variance in parts]
    # The shares themselves are those of a sample.
    between = sum(share * (mean - value) ** 2 for share, mean, _ in parts) / total
    variance = sum(noise) + between
    labelled = y[~np.isnan(y)]
    people = people_alone(labelled, None, level)
    n = len(labelled)
    se = math.sqrt(variance)
    if not variance > 0:
        estimate = Estimate(value, n=n, why="no interval: labels of every stratum are the same")
        return Corrected(estimate, people, alone, 0.0, math.nan, n, judged)
    below = sum(own**2 / df for own, df in zip(noise, freedoms, strict=True))
    freedom = variance**2 / below if below > 0 else math.inf
    low, high = share_ends(value, se * float(stdtrit(freedom, 0.5 + level / 2)), labelled)
    note = "labels are random within strata; the mean of people alone does not weigh them"
    lam = float(np.dot(weights, [share for share, _, _ in parts]))
    estimate = Estimate(value, low, high, se, n=n)
    return Corrected(estimate, people, alone, lam, math.nan, n, judged, note)


def share_ends(value: float, reach: float, labels: Floats) -> tuple[float, float]:
    """Give the ends of an interval: of a share inside 0 and 1, on the scale of log-odds.

    Strata of a rare verdict give shares near an end, where an even interval misses too often.
    """
    if not ((labels >= 0) & (labels <= 1)).all() or not 0 < value < 1:
        return value - reach, value + reach
    centre, scaled = math.log(value / (1 - value)), reach / (value * (1 - value))
    return float(expit(centre - scaled)), float(expit(centre + scaled))


def stratum_mean(human: Floats, judge: Floats) -> tuple[float, float, float, float]:
    """Give the corrected mean of a stratum, its variance, the weight, and degrees of freedom."""
    labelled = ~np.isnan(human)
    y, f, others = human[labelled], judge[labelled], judge[~labelled]
    n, more = len(y), len(others)
    usable = n >= FEWEST and more > 1 and np.ptp(f) > 0 and np.ptp(y) > 0
    lam = tuned_weight(y, f, others) if usable else 0.0
    residuals = y - lam * f
    mean = float(residuals.mean()) + (lam * float(others.mean()) if lam else 0.0)
    lost = 2 if lam else 1  # degrees of freedom: the mean, and the line
    variance = float(((residuals - residuals.mean()) ** 2).sum()) / (n - lost) / n
    if lam:
        variance += lam * lam * float(others.var(ddof=1)) / more
    if variance == 0 and np.isin(y, (0.0, 1.0)).all():
        # All alike: as noisy as if one more of either kind had been seen (Agresti and Coull).
        p = (float(y.sum()) + 1) / (n + 2)
        variance = p * (1 - p) / (n + 2)
    return mean, variance, lam, float(n - lost)
