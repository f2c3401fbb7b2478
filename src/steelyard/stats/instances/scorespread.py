"""How scores spread: outliers, systems on a segment, segments, places, and what pairing is worth.

What makes mean, median and Bradley-Terry disagree can be seen in the scores: outliers sway the
mean, segments that differ much sway whatever ignores that systems were scored on the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Floats, ratio, row_means
from steelyard.stats.permutation.pvalues import pair_index

_FENCE = 1.5  # quartile ranges beyond the quartiles


@dataclass(frozen=True, slots=True)
class Outliers:
    """How many of the known values lie below and above the fences of a box plot."""

    low: int
    high: int
    n: int

    @property
    def share(self) -> float:
        """Share of the values that lie beyond either fence; NaN without values."""
        return (self.low + self.high) / self.n if self.n else float("nan")


def box_outliers(values: Floats) -> Outliers:
    """Count values more than 1.5 quartile ranges beyond the quartiles (Tukey's fences).

    Quartiles between two values are interpolated. Where half of the values are the same, the range
    is 0 and every other value is an outlier.

    Examples
    --------
    >>> box_outliers(np.array([1.0, 2.0, 3.0, 4.0, 100.0, np.nan]))
    Outliers(low=0, high=1, n=5)
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return Outliers(0, 0, 0)
    first, third = np.percentile(known, [25, 75])
    reach = _FENCE * (third - first)
    low, high = (known < first - reach).sum(), (known > third + reach).sum()
    return Outliers(int(low), int(high), int(known.size))


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """How the scores of systems x segments spread; deviations are of samples (n - 1).

    ``within`` are deviations of the systems on each segment, ``ranks`` those of each system's place
    (ties share the mean of theirs) over segments, ``between`` that of the mean scores of segments.
    """

    outliers: Outliers
    by_system: tuple[Outliers, ...]
    within: Floats
    ranks: Floats
    between: float


def score_spread(scores: Floats) -> ScoreSpread:
    """Measure how scores spread.

    Examples
    --------
    >>> found = score_spread(np.array([[1.0, 3.0, 6.0], [2.0, 2.0, 8.0]]))
    >>> found.ranks.round(3).tolist(), found.within.round(3).tolist(), round(found.between, 3)
    ([0.577, 0.577], [0.707, 0.707, 1.414], 2.93)
    """
    if scores.ndim != 2:
        raise ShapeError(f"expected systems x segments, got shape {scores.shape}")
    means = row_means(scores.T)
    return ScoreSpread(
        outliers=box_outliers(scores.ravel()),
        by_system=tuple(box_outliers(row) for row in scores),
        within=_deviations(scores.T),
        ranks=_deviations(segment_ranks(scores)),
        between=float(_deviations(means[None, :])[0]),
    )


def segment_ranks(scores: Floats) -> Floats:
    """Rank the systems on each segment from the worst, ties sharing the mean of their places.

    Examples
    --------
    >>> segment_ranks(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, np.nan]])).tolist()
    [[1.0, 1.5], [3.0, 1.5], [2.0, nan]]
    """
    places = np.zeros(scores.shape)
    for row in scores:
        places += (scores > row) + 0.5 * (scores == row)
    return np.where(np.isnan(scores), np.nan, places + 0.5)


def win_shares(scores: Floats) -> Floats:
    """Give the share of the other systems that each system beats on a segment, ties as half.

    NaN where a system has no score, or no other has one.

    Examples
    --------
    >>> win_shares(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, np.nan]])).tolist()
    [[0.0, 0.5], [1.0, 0.5], [0.5, nan]]
    """
    others = (~np.isnan(scores)).sum(axis=0) - 1
    return ratio(segment_ranks(scores) - 1, others)


def _deviations(x: Floats) -> Floats:
    """Give the deviation of the known cells of each row; NaN for fewer than two."""
    n = (~np.isnan(x)).sum(axis=1)
    off = x - row_means(x)[:, None]
    return np.sqrt(ratio(np.nansum(off * off, axis=1), np.where(n > 1, n - 1, 0)))


@dataclass(frozen=True, slots=True)
class Pairing:
    """What it is worth that two systems were scored on the same segments, for all pairs i < j.

    ``correlation`` is that of their scores over segments. ``gain`` is the variance of the
    difference of two independent samples over that of the paired one: how many times as many
    segments a test would need that ignored the pairing. NaN where scores do not vary.
    """

    correlation: Floats
    gain: Floats

    def middle(self) -> tuple[float, float]:
        """Give the medians over the pairs."""
        found = [own[~np.isnan(own)] for own in (self.correlation, self.gain)]
        one, two = (float(np.median(own)) if own.size else float("nan") for own in found)
        return one, two


def pairing_strength(scores: Floats) -> Pairing:
    r"""Measure how alike two systems' scores are over the segments that both have.

    The variance of a paired difference is :math:`v_a + v_b - 2 r \sqrt{v_a v_b}`, and that of
    samples that are not paired :math:`v_a + v_b`. Differences that are constant gain without end.

    Examples
    --------
    >>> found = pairing_strength(np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]]))
    >>> found.correlation.round(3).tolist(), found.gain.round(3).tolist()
    ([0.8], [5.0])
    """
    i, j = pair_index(len(scores))
    known = (~np.isnan(scores)).astype(np.float64)
    own = row_means(scores)
    x = np.where(known > 0, scores - own[:, None], 0.0)
    n = (known @ known.T)[i, j]
    sums, squares = x @ known.T, (x * x) @ known.T
    first, second = sums[i, j], sums[j, i]
    v_i = squares[i, j] - ratio(first * first, n)
    v_j = squares[j, i] - ratio(second * second, n)
    both = (x @ x.T)[i, j] - ratio(first * second, n)
    least = 1e-12 * np.maximum(squares[i, j], squares[j, i])  # what rounding may leave of 0
    v_i, v_j = (np.where(v > least, v, 0.0) for v in (v_i, v_j))
    apart = v_i + v_j - 2 * both
    apart = np.where(apart > 1e-12 * (v_i + v_j), apart, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where((n > 1) & (v_i + v_j > 0), (v_i + v_j) / apart, np.nan)
    correlation = np.clip(ratio(both, np.sqrt(v_i * v_j)), -1.0, 1.0)
    return Pairing(correlation, gain)
