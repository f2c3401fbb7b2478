"""How far apart are numbers for the same thing? Sizes of differences that mean nothing.

What is known to be equal (one output rated twice, two identical outputs) has differences that are
noise. A tie is as wide as the threshold that calls at most a given share of them different. Sizes
lie on few values: a unit is a histogram of them, and a resample of units a sum of histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats, ratio

_DIGITS = 9  # the grid of the histogram: ratings have fewer decimals
_STEP = 10.0**-_DIGITS


@dataclass(frozen=True, slots=True, eq=False)
class SizeCounts:
    """How often each size of a difference occurs: sizes in order, and units x sizes."""

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

    def quantiles(self, weights: Floats, shares: Sequence[float]) -> Floats:
        """Return the smallest size that so many differences do not exceed: resamples x shares."""
        total = np.cumsum(weights @ self.counts, axis=1)
        below = [(total < share * total[:, -1:] - 1e-9).sum(axis=1) for share in shares]
        index = np.minimum(np.stack(below, axis=1), len(self.sizes) - 1)
        return np.where(total[:, -1:] > 0, self.sizes[index], np.nan)

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
