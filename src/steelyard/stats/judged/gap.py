r"""The smallest believable gap: how far apart two systems must be in a judge's score.

However many items are judged, a judge may prefer a system for what people do not care about. Over k
systems with human means H and means J of the judge, :math:`H = a + b J + r`. What is left of r
beyond the noise of a finite number of items has the variance :math:`\tau^2` (by DerSimonian and
Laird), which no further item takes away. Two systems whose scores differ by

.. math:: \text{gap} = z_{.95} \sqrt 2 \sqrt{\tau^2 + b^2 u} / |b|

(u: the noise of the judge's own means) are ordered as people would order them in about 95 of 100
cases. A constant bias and exaggeration cancel. It promises this for systems like those it was
measured on, and for no others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats, beyond_rounding, group_sums, ratio
from steelyard.stats.distributions import ndtri
from steelyard.stats.estimate import Codes, Estimate, critical, symmetric, undefined

FEWEST = 5  # systems: a line through fewer leaves nothing to judge it by


@dataclass(frozen=True, slots=True, eq=False)
class SystemMeans:
    """Means of people and of a judge over the items that both judged, one per system.

    The variances and the covariance are those of the means; NaN where a system has fewer than two
    units. Systems without labels have NaN means and are excluded.
    """

    human: Floats
    judge: Floats
    human_variance: Floats
    judge_variance: Floats
    covariance: Floats

    def take(self, systems: NDArray[Any]) -> SystemMeans:
        """Keep some systems (indices or a mask)."""
        return SystemMeans(*(getattr(self, field.name)[systems] for field in fields(self)))

    def error_variance(self, slope: float) -> Floats:
        """Variances of the means of human - slope * judge."""
        return np.maximum(
            self.human_variance - 2 * slope * self.covariance + slope**2 * self.judge_variance, 0.0
        )


def system_means(
    system: Codes, human: Floats, judge: Floats, n_systems: int, unit: Codes | None = None
) -> SystemMeans:
    """Return the means of systems over the rows that both judged, with their noise by unit."""
    both = ~(np.isnan(human) | np.isnan(judge))
    code, h, j = system[both], human[both], judge[both]
    n = group_sums(code, None, n_systems)
    mean_h, mean_j = (ratio(group_sums(code, x, n_systems), n) for x in (h, j))
    first = cell = np.arange(len(code))
    if unit is not None:  # cells are the units of a system
        pair = code.astype(np.int64) * (int(unit.max(initial=0)) + 1) + unit[both]
        _, first, cell = np.unique(pair, return_index=True, return_inverse=True)
    owner = code[first]
    off_h, off_j = (group_sums(cell, x, len(first)) for x in (h - mean_h[code], j - mean_j[code]))
    n_units = group_sums(owner, None, n_systems)
    # G / (G - 1): the sums are measured from a mean that they helped to make.
    scale = ratio(n_units, (n_units - 1) * n * n)
    moments = [
        scale * group_sums(owner, x * y, n_systems)
        for x, y in ((off_h, off_h), (off_j, off_j), (off_h, off_j))
    ]
    return SystemMeans(mean_h, mean_j, *moments)


@dataclass(frozen=True, slots=True)
class Gap:
    """The smallest believable gap of a judge, what it rests on, and how it does."""

    gap: Estimate  # in points of the judge; the interval leaves out systems one by one
    slope: Estimate  # human points per point of the judge
    tau: float  # what people and judge differ by beyond noise, in human points
    n_systems: int
    n_pairs: int = 0
    n_above: int = 0
    right_above: float = float("nan")  # share of the pairs above it that the judge orders right
    right_below: float = float("nan")
    left_out: float = float("nan")  # share above the gap of all other systems, from either end

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            **self.gap.to_dict(),
            "slope": self.slope.to_dict(),
            "tau": self.tau,
            "n_systems": self.n_systems,
            "pairs": self.n_pairs,
            "pairs_above": self.n_above,
            "right_above": self.right_above,
            "right_below": self.right_below,
            "leave_one_out": self.left_out,
        }


def believable_gap(
    means: SystemMeans, *, level: float = 0.95, error_variance: Floats | None = None
) -> Gap:
    """Measure the smallest believable gap.

    ``error_variance`` is the noise of the means of what people and judge differ in; by default that
    of human - slope * judge. Undefined, with the reason, for fewer than five systems, and where the
    slope may be zero.
    """
    error = error_variance
    noise = means.human_variance + means.judge_variance if error is None else error
    keep = ~np.isnan(means.human + means.judge + noise)
    means, error = means.take(keep), None if error is None else error[keep]
    k = len(means.human)
    if k < FEWEST:
        return _no_gap(k, f"{k} systems with labels of people, expected {FEWEST} or more")
    for scores, who in ((means.judge, "the judge"), (means.human, "people")):
        if np.ptp(scores) == 0:
            return _no_gap(k, f"{who} put all systems at the same mean")
    slope, residuals = _line(means, level)
    if not slope.low > 0:
        why = (
            f"systems that the judge prefers may not be those that people prefer (slope "
            f"{slope.value:.3g} [{slope.low:.3g}, {slope.high:.3g}])"
        )
        return replace(_no_gap(k, why), slope=slope)
    tau, gap = _gap(means, slope.value, residuals, level, error)
    gaps = np.array([_gap_without(means, error, system, level) for system in range(k)])
    i, j = np.triu_indices(k, 1)
    by_judge, by_people = (
        np.sign(beyond_rounding(x[i] - x[j], np.abs(x).max())) for x in (means.judge, means.human)
    )
    distance = np.abs(means.judge[i] - means.judge[j])
    right = by_judge * by_people > 0  # systems that are equal to either are not ordered
    above = distance > gap
    # From either end: is the pair beyond the gap that the other systems give?
    beyond = np.concatenate([distance > gaps[i], distance > gaps[j]])
    return Gap(
        gap=_jackknifed(gap, gaps, level),
        slope=slope,
        tau=tau,
        n_systems=k,
        n_pairs=len(i),
        n_above=int(above.sum()),
        right_above=_share(right, above),
        right_below=_share(right, ~above),
        left_out=_share(np.concatenate([right, right]), beyond),
    )


def _no_gap(k: int, why: str) -> Gap:
    return Gap(gap=undefined(why, k), slope=undefined(why, k), tau=float("nan"), n_systems=k)


def _share(right: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> float:
    return float(ratio(float((right & chosen).sum()), float(chosen.sum())))


def _line(means: SystemMeans, level: float) -> tuple[Estimate, Floats]:
    """Fit human = a + b judge by least squares; return b and the residuals."""
    x, y = means.judge - means.judge.mean(), means.human - means.human.mean()
    k, spread = len(x), float(x @ x)
    slope = float(x @ y) / spread
    residuals = y - slope * x
    se = float(np.sqrt(residuals @ residuals / (k - 2) / spread))
    return symmetric(slope, se, k, level, k - 2), residuals


def _gap(
    means: SystemMeans, slope: float, residuals: Floats, level: float, error: Floats | None
) -> tuple[float, float]:
    """Return tau, and the gap."""
    k = len(residuals)
    noise = means.error_variance(slope) if error is None else error
    # Weights of means without noise would be infinite: what is far below other noise is alike.
    noise = np.maximum(noise, max(1e-12 * float(noise.max()), np.finfo(float).tiny))
    least = float(noise.min())
    weight = least / noise
    total = float(weight.sum())
    off = residuals - float(weight @ residuals) / total
    excess = float(weight @ (off * off)) - (k - 1) * least
    # k / (k - 2): the line was fitted to the same systems.
    tau2 = max(0.0, excess / (total - float(weight @ weight) / total)) * k / (k - 2)
    judge_noise = slope * slope * float(np.median(means.judge_variance))
    gap = float(ndtri(level)) * float(np.sqrt(2 * (tau2 + judge_noise))) / abs(slope)
    return float(np.sqrt(tau2)), gap


def _gap_without(means: SystemMeans, error: Floats | None, system: int, level: float) -> float:
    """Return the gap of all other systems; infinite where their slope is not above zero."""
    others = np.arange(len(means.human)) != system
    means = means.take(others)
    if np.ptp(means.judge) == 0:
        return float("inf")
    slope, residuals = _line(means, level)
    if not slope.value > 0:
        return float("inf")
    return _gap(means, slope.value, residuals, level, None if error is None else error[others])[1]


def _jackknifed(gap: float, left_out: Floats, level: float) -> Estimate:
    """Return the jackknife interval of a gap, on the scale of logarithms: it can't be negative."""
    k = len(left_out)
    if gap <= 0 or not (np.isfinite(left_out) & (left_out > 0)).all():
        why = "no interval: without one of the systems there would be no gap, or none to measure"
        return Estimate(gap, n=k, why=why)
    logs = np.log(left_out)
    off = logs - logs.mean()
    se = float(np.sqrt((k - 1) / k * (off @ off)))
    reach = float(np.exp(critical(level, k - 1) * se))
    return Estimate(gap, gap / reach, gap * reach, gap * se, n=k)
