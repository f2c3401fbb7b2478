"""What it is worth that systems were scored on the same segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.stats.arrays import Floats, ratio, row_means
from steelyard.stats.permutation.pvalues import pair_index


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
