r"""Segments and how scores spread over them: how easy each is, and what pairing is worth.

Ease is the one-parameter model on scores: a score is its system's ability plus its segment's ease,
:math:`x_{is} = \theta_i + e_s + \text{noise}`. Where every system has every segment, the ease is
the mean of its scores. Where cells are missing it is not: a segment that only good systems have
would look easy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.stats.arrays import Counts, Floats, beyond_rounding, median, ratio, row_means
from steelyard.stats.correlation import pearson
from steelyard.stats.ranks import levelled

HARD, MIDDLE, EASY = range(3)
STRATA = ("hard", "middle", "easy")


def segment_ease(scores: Floats) -> Floats:
    """Return how easy each segment is, by exact least squares of systems plus segments.

    ``scores`` is systems x segments, higher is better; NaN for a segment that no system has.
    Systems that share no segments, not even by way of others, cannot be compared: each such group
    counts as equally able.
    """
    known = ~np.isnan(scores)
    has_scores = known.any(axis=1)
    if not has_scores.any():
        return np.full(scores.shape[1], np.nan)
    filled = np.where(known, scores, 0.0)
    centred = np.where(known, scores - filled.sum() / known.sum(), 0.0)
    count = known.sum(axis=0)
    if known.all():
        ability = centred.mean(axis=1)
    else:
        weights = known.astype(np.float64)
        share = np.where(count > 0, 1 / np.maximum(count, 1), 0.0)
        # Segments are eliminated: what is left has a row and a column for each system.
        left = np.diag(weights.sum(axis=1)) - (weights * share) @ weights.T
        right = centred.sum(axis=1) - (weights * share) @ centred.sum(axis=0)
        ability = np.linalg.lstsq(left, right, rcond=1e-10)[0]
    ability = ability - ability[has_scores].mean()
    return ratio(filled.sum(axis=0) - ability @ known, count)


def difficulty_strata(ease: Floats) -> Counts:
    """Cut segments into hard (0), middle (1) and easy ones (2), of about equal number.

    Equally easy segments stay together: the borders are those nearest to one and two thirds. Where
    these are the same there is no middle. -1 where the ease is unknown, and everywhere if all
    segments are equally easy.
    """
    strata = np.full(len(ease), -1, dtype=np.int64)
    known = ~np.isnan(ease)
    values, level, counts = np.unique(
        levelled(ease[known]), return_inverse=True, return_counts=True
    )
    if len(values) < 2:
        return strata
    below = np.cumsum(counts)[:-1] / counts.sum()  # share of segments below each border
    first, second = (int(np.argmin(np.abs(below - third))) for third in (1 / 3, 2 / 3))
    strata[known] = np.where(level <= first, HARD, np.where(level <= second, MIDDLE, EASY))
    return strata


@dataclass(frozen=True, slots=True)
class Pairing:
    """What scoring two systems on the same segments is worth, for all pairs i < j.

    ``correlation`` is that of their scores over segments. ``gain`` is the variance of the
    difference of two independent samples over that of the paired one: how many times as many
    segments an unpaired test would need. NaN where scores do not vary.
    """

    correlation: Floats
    gain: Floats

    def medians(self) -> tuple[float, float]:
        """Return the medians over the pairs."""
        return median(self.correlation), median(self.gain)


def pairing_strength(scores: Floats) -> Pairing:
    """Measure how alike two systems' scores are over the segments that both have.

    A constant difference gains without end (inf).
    """
    correlations, gains = [np.empty(0)], [np.empty(0)]
    for i in range(len(scores) - 1):
        others = scores[i + 1 :]
        both = ~np.isnan(scores[i]) & ~np.isnan(others)
        one, other = (np.where(both, x, np.nan) for x in (scores[i], others))
        scale = np.fmax.reduce(np.fmax(np.abs(one), np.abs(other)), axis=1, keepdims=True)
        unpaired = _squares(one, scale) + _squares(other, scale)
        paired = _squares(one - other, scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            gains.append(np.where(unpaired > 0, unpaired / paired, np.nan))
        correlations.append(pearson(one.T, other.T))
    return Pairing(np.concatenate(correlations), np.concatenate(gains))


def _squares(x: Floats, scale: Floats) -> Floats:
    """Return each row's sum of squares about its mean without NaN; what may be rounding is 0."""
    residuals = beyond_rounding(x - row_means(x)[:, None], scale)
    return np.asarray(np.nansum(residuals * residuals, axis=1))
