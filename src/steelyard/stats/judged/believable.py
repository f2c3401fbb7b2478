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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_number
from steelyard.stats.arrays import Floats, beyond_rounding, group_sums, ratio
from steelyard.stats.estimate import Estimate, undefined

FEWEST = 5  # systems: a line through fewer leaves nothing to judge it by


@dataclass(frozen=True, slots=True, eq=False)
class SystemMeans:
    """Means of people and of a judge over the items that both judged, one per system.

    ``human_variance``, ``judge_variance`` and ``covariance`` are those of the means; NaN where a
    system has fewer than two units. Systems that nobody labelled have NaN means and take no part.
    """

    human: Floats
    judge: Floats
    human_variance: Floats
    judge_variance: Floats
    covariance: Floats

    def known(self) -> SystemMeans:
        """Keep the systems whose means, and their noise, are known."""
        columns = (self.human, self.judge, self.human_variance, self.judge_variance)
        keep = ~np.isnan(np.stack(columns)).any(axis=0)
        return self.take(np.flatnonzero(keep))

    def take(self, systems: NDArray[np.integer]) -> SystemMeans:
        """Keep some systems."""
        return SystemMeans(
            human=self.human[systems],
            judge=self.judge[systems],
            human_variance=self.human_variance[systems],
            judge_variance=self.judge_variance[systems],
            covariance=self.covariance[systems],
        )

    def error_variance(self, slope: float) -> Floats:
        """Variances of the means of human - slope * judge."""
        found = (
            self.human_variance - 2 * slope * self.covariance + slope * slope * self.judge_variance
        )
        return np.maximum(found, 0.0)


def system_means(
    system: NDArray[np.integer],
    human: Floats,
    judge: Floats,
    n_systems: int,
    unit: NDArray[np.integer] | None = None,
) -> SystemMeans:
    """Give the means of systems over the rows that both judged, with their noise by unit.

    Parameters
    ----------
    system
        A code per row.
    human, judge
        Numbers, NaN where missing.
    n_systems
        How many systems there are.
    unit
        What rows share (a code per row); None: every row is independent.

    Examples
    --------
    >>> found = system_means(np.array([0, 0, 1, 1]), np.array([1.0, 0, 1, 1]),
    ...                      np.array([1.0, 0, np.nan, 1]), 2)
    >>> found.human.tolist(), found.judge_variance.tolist()
    ([0.5, 1.0], [0.25, nan])
    """
    if not system.shape == human.shape == judge.shape:
        raise ShapeError(f"shapes {system.shape}, {human.shape} and {judge.shape} differ")
    both = ~(np.isnan(human) | np.isnan(judge))
    code, h, j = system[both], human[both], judge[both]
    n = group_sums(code, None, n_systems)
    mean_h, mean_j = (ratio(group_sums(code, x, n_systems), n) for x in (h, j))
    off_h, off_j = h - mean_h[code], j - mean_j[code]
    if unit is None:
        owner, units = code, n
    else:
        _, cell = np.unique(np.stack([code, unit[both]]), axis=1, return_inverse=True)
        n_cells = int(cell.max(initial=-1)) + 1
        owner = np.zeros(n_cells, dtype=np.int64)
        owner[cell] = code
        off_h, off_j = (group_sums(cell, x, n_cells) for x in (off_h, off_j))
        units = group_sums(owner, None, n_systems)
    # G / (G - 1): the sums are measured from a mean that they helped to make.
    scale = ratio(units, (units - 1) * n * n)
    moments = [
        scale * group_sums(owner, x * y, n_systems)
        for x, y in ((off_h, off_h), (off_j, off_j), (off_h, off_j))
    ]
    return SystemMeans(mean_h, mean_j, *moments)


@dataclass(frozen=True, slots=True)
class Gap:
    """The smallest believable gap of a judge, what it rests on, and how it does.

    Parameters
    ----------
    gap
        In units of the judge's score; its interval is from leaving out systems one by one.
    slope
        Human points per point of the judge, with a t interval.
    tau
        What people and judge differ by beyond noise, in human points.
    n_systems, n_pairs, n_above
        Systems with labels, their pairs, and the pairs further apart than the gap.
    right_above, right_below
        Shares of the pairs above and below that the judge orders as people do.
    left_out
        The same share above the gap of all other systems: each pair once from either end.
    """

    gap: Estimate
    slope: Estimate
    tau: float
    n_systems: int
    n_pairs: int = 0
    n_above: int = 0
    right_above: float = float("nan")
    right_below: float = float("nan")
    left_out: float = float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
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

    Parameters
    ----------
    means
        Of people and of the judge, by system.
    level
        With which probability the order shall be right; also that of the intervals.
    error_variance
        The noise of the means of what people and judge differ in; by default that of human -
        slope * judge.

    Returns
    -------
    Gap
        Undefined, with the reason, for fewer than five systems, and where the slope may be zero.

    Examples
    --------
    >>> noise = np.full(6, 0.01)
    >>> means = SystemMeans(np.arange(6.0), 2 * np.arange(6.0), noise, 4 * noise, 0 * noise)
    >>> found = believable_gap(means)
    >>> round(found.slope.value, 6), found.tau, round(found.gap.value, 4), found.right_above
    (0.5, 0.0, 0.4652, 1.0)
    """
    check_number(0.5, 1, strict=True, level=level)
    if error_variance is None:
        own, error = means.known(), None
    else:
        keep = ~(np.isnan(means.human) | np.isnan(means.judge) | np.isnan(error_variance))
        own, error = means.take(np.flatnonzero(keep)), error_variance[keep]
    k = len(own.human)
    if k < FEWEST:
        return _none(k, f"{k} systems with labels of people, expected {FEWEST} or more")
    if np.ptp(own.judge) == 0 or np.ptp(own.human) == 0:
        who = "the judge" if np.ptp(own.judge) == 0 else "people"
        return _none(k, f"{who} put all systems at the same mean")
    slope, residuals = _line(own, level)
    if not slope.low > 0:
        why = (
            f"systems that the judge prefers may not be those that people prefer (slope "
            f"{slope.value:.3g} [{slope.low:.3g}, {slope.high:.3g}])"
        )
        return replace(_none(k, why), slope=slope)
    tau, gap = _gap(own, slope.value, residuals, level, error)
    gaps = np.array([_without(own, error, one, level) for one in range(k)])
    one, other = np.triu_indices(k, 1)
    by_judge, by_people = (
        np.sign(beyond_rounding(x[one] - x[other], np.abs(x).max())) for x in (own.judge, own.human)
    )
    distance = np.abs(own.judge[one] - own.judge[other])
    right = by_judge * by_people > 0  # systems that are equal to either are not ordered
    above = distance > gap
    # From either end: is the pair beyond the gap that the other systems give?
    beyond = np.concatenate([distance > gaps[one], distance > gaps[other]])
    return Gap(
        gap=_with_interval(gap, gaps, level),
        slope=slope,
        tau=tau,
        n_systems=k,
        n_pairs=len(one),
        n_above=int(above.sum()),
        right_above=_share(right, above),
        right_below=_share(right, ~above),
        left_out=_share(np.concatenate([right, right]), beyond),
    )


def _none(k: int, why: str) -> Gap:
    return Gap(gap=undefined(why, k), slope=undefined(why, k), tau=float("nan"), n_systems=k)


def _share(right: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> float:
    return float(ratio(float((right & chosen).sum()), float(chosen.sum())))


def _line(means: SystemMeans, level: float) -> tuple[Estimate, Floats]:
    """Fit human = a + b judge by least squares; give b and what is left."""
    x, y = means.judge - means.judge.mean(), means.human - means.human.mean()
    k, spread = len(x), float(x @ x)
    b = float(x @ y) / spread
    residuals = y - b * x
    se = float(np.sqrt(residuals @ residuals / (k - 2) / spread))
    reach = float(stdtrit(k - 2, 0.5 + level / 2)) * se
    return Estimate(b, b - reach, b + reach, se, n=k), residuals


def _gap(
    means: SystemMeans, slope: float, residuals: Floats, level: float, error: Floats | None
) -> tuple[float, float]:
    """Give tau, and the gap."""
    k = len(residuals)
    v = means.error_variance(slope) if error is None else error
    # Weights of means without noise would be infinite: what is far below other noise is alike.
    v = np.maximum(v, max(1e-12 * float(v.max()), np.finfo(float).tiny))
    least = float(v.min())
    w = least / v
    off = residuals - float(w @ residuals) / float(w.sum())
    excess = float(w @ (off * off)) - (k - 1) * least
    # k / (k - 2): the line was fitted to the same systems.
    tau2 = max(0.0, excess / (float(w.sum()) - float(w @ w) / float(w.sum()))) * k / (k - 2)
    own_noise = slope * slope * float(np.median(means.judge_variance))
    return float(np.sqrt(tau2)), float(ndtri(level)) * float(np.sqrt(2 * (tau2 + own_noise))) / abs(
        slope
    )


def _without(means: SystemMeans, error: Floats | None, one: int, level: float) -> float:
    """Give the gap that all other systems have; infinite where their slope is not above zero."""
    others = np.delete(np.arange(len(means.human)), one)
    own = means.take(others)
    if np.ptp(own.judge) == 0:
        return float("inf")
    slope, residuals = _line(own, level)
    if not slope.value > 0:
        return float("inf")
    return _gap(own, slope.value, residuals, level, None if error is None else error[others])[1]


def _with_interval(gap: float, left_out: Floats, level: float) -> Estimate:
    """Give the jackknife interval of a gap, on the scale of logarithms: it can't be negative."""
    k = len(left_out)
    if gap <= 0 or not (np.isfinite(left_out) & (left_out > 0)).all():
        why = "no interval: without one of the systems there would be no gap, or none to measure"
        return Estimate(gap, n=k, why=why)
    logs = np.log(left_out)
    off = logs - logs.mean()
    se = float(np.sqrt((k - 1) / k * (off @ off)))
    reach = float(np.exp(stdtrit(k - 1, 0.5 + level / 2) * se))
    return Estimate(gap, gap / reach, gap * reach, gap * se, n=k)
