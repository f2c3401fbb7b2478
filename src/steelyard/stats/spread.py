"""How scores spread: over systems (outliers), and between equals.

*Outliers*, by the robust rule of Mathur, Baldwin and Cohn (2020), Tangled up in BLEU: a system far
from the rest sways agreement over systems. It is an outlier if its human score is further from the
median than ``cutoff`` times 1.483 MAD (median absolute deviations), the standard deviation of
normal scores.

*Equals*, such as one output rated twice, have differences that are noise. A tie is as wide as the
threshold that calls at most a given share of them different.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.text import are
from steelyard.stats.arrays import Floats, beyond_rounding, median, ratio

LEAST = 5  #: scores below which a median says little of what is usual
_NORMAL = 1.483  # MADs in a standard deviation of normal scores
_DIGITS = 9  # the grid of sizes: ratings have fewer decimals
_STEP = 10.0**-_DIGITS


@dataclass(frozen=True, slots=True)
class RobustDeviations:
    """How far each score lies from the median, in robust standard deviations.

    ``undefined`` says why there is no answer; ``deviations`` are then NaN, and nothing is flagged.
    """

    deviations: Floats
    cutoff: float
    median: float
    scale: float  # 1.483 MAD
    undefined: str | None = None

    @property
    def flags(self) -> NDArray[np.bool_]:
        """Which scores are outliers; missing ones never are."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(self.deviations) > self.cutoff)


def robust_deviations(values: ArrayLike, cutoff: float = 2.5) -> RobustDeviations:
    """Measure how far scores lie from their median; NaN is left out.

    Undefined with fewer than five scores, and where more than half of them are the same.
    """
    scores = np.asarray(values, dtype=np.float64)
    n = int((~np.isnan(scores)).sum())
    undefined = np.full(len(scores), np.nan)
    if n < LEAST:
        reason = f"there {are(n, 'score')}, and it takes {LEAST}"
        return RobustDeviations(undefined, cutoff, np.nan, np.nan, reason)
    middle = median(scores)
    scale = _NORMAL * median(np.abs(scores - middle))
    if not beyond_rounding(np.array(scale), float(np.nanmax(np.abs(scores)))):
        reason = "more than half of the scores are the same"
        return RobustDeviations(undefined, cutoff, middle, 0.0, reason)
    return RobustDeviations((scores - middle) / scale, cutoff, middle, scale)


@dataclass(frozen=True, slots=True, eq=False)
class SizeCounts:
    """How often each size of a difference occurs: sizes in order, and units x sizes.

    A resample of units is a sum of their histograms: ``weights`` below are resamples x units.
    """

    sizes: Floats
    counts: Floats

    @classmethod
    def of(cls, difference: Floats, unit: NDArray[np.integer], n_units: int) -> SizeCounts:
        """Count absolute differences by unit."""
        rounded = np.asarray(np.round(np.abs(difference), _DIGITS), dtype=np.float64)
        sizes, code = np.unique(rounded, return_inverse=True)
        flat = np.bincount(unit * len(sizes) + code, minlength=n_units * len(sizes))
        return cls(sizes, flat.reshape(n_units, len(sizes)).astype(np.float64))

    def at_least(self, weights: Floats, threshold: float) -> Floats:
        """Return the share of differences of this size or more (0: of any size), by resample."""
        far = self.sizes >= max(threshold - _STEP, _STEP / 2)
        sums = weights @ self.counts
        return ratio(sums[:, far].sum(axis=1), sums.sum(axis=1))

    def thresholds(self, weights: Floats, share: float) -> Floats:
        """Return the smallest size that at most this share of differences reach, by resample.

        Only sizes that a resample has are tried. It is 0 where that holds for any difference at
        all, and NaN where even the largest is reached too often: there are too few differences.
        """
        sums = weights @ self.counts
        total = sums.sum(axis=1)
        positive = self.sizes > 0
        if not positive.any():
            return np.where(total > 0, 0.0, np.nan)
        reached = np.cumsum(sums[:, positive][:, ::-1], axis=1)[:, ::-1]  # by each size or more
        rare = reached <= share * total[:, None] + _STEP
        rare[:, 1:] &= sums[:, positive][:, 1:] > 0
        # Where the smallest positive size is rare already, any difference may decide.
        candidates = np.where(np.arange(positive.sum()) == 0, 0.0, self.sizes[positive])
        smallest = candidates[np.argmax(rare, axis=1)]
        return np.where((total > 0) & rare.any(axis=1), smallest, np.nan)
