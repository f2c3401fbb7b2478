r"""How far apart are numbers given to the same thing? Sizes of differences that mean nothing.

What is known to be equal (one output rated twice, two identical outputs) has differences that are
noise. A threshold that calls at most a share of them different is what a tie is wide. Sizes lie on
few values, so that a unit is a histogram of them and a resample of units a sum of histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_fraction, check_number, check_whole
from steelyard.stats.arrays import Floats, ratio

_DIGITS = 9  # sizes that rounding alone tells apart are one
_STEP = 10.0**-_DIGITS


@dataclass(frozen=True, slots=True, eq=False)
class SizeCounts:
    """How often each size of a difference occurs: sizes in order, and units x sizes."""

    sizes: Floats
    counts: Floats

    @classmethod
    def of(cls, difference: Floats, unit: NDArray[np.integer], n_units: int) -> SizeCounts:
        """Count differences, which have no sign here, by unit."""
        check_whole(n_units=n_units)
        if difference.shape != unit.shape or difference.ndim != 1:
            raise ShapeError(f"{difference.shape} differences but {unit.shape} units")
        rounded = np.asarray(np.round(np.abs(difference), _DIGITS), dtype=np.float64)
        sizes, code = np.unique(rounded, return_inverse=True)
        flat = np.bincount(unit * len(sizes) + code, minlength=n_units * len(sizes))
        return cls(sizes, flat.reshape(n_units, len(sizes)).astype(np.float64))

    def at_least(self, weights: Floats, threshold: float) -> Floats:
        """Give the share of differences of this size or more (0: of any size), by resample."""
        check_number(0, threshold=threshold)
        far = self.sizes >= max(threshold - _STEP, _STEP / 2)
        sums = weights @ self.counts
        return ratio(sums[:, far].sum(axis=1), sums.sum(axis=1))

    def quantiles(self, weights: Floats, shares: Sequence[float]) -> Floats:
        """Give the smallest size that so many differences do not exceed: resamples x shares."""
        upto = np.cumsum(weights @ self.counts, axis=1)
        whole = upto[:, -1:]
        below = [(upto < share * whole - 1e-9).sum(axis=1) for share in shares]
        places = np.minimum(np.stack(below, axis=1), len(self.sizes) - 1)
        return np.where(whole > 0, self.sizes[places], np.nan)

    def thresholds(self, weights: Floats, share: float) -> Floats:
        """Give the smallest size that at most this share of differences reach, by resample.

        Only sizes that a resample has are tried.
        It is 0 where that holds for any difference at all, and NaN where even the largest is
        reached too often: there are too few differences to tell.

        Examples
        --------
        >>> counts = SizeCounts.of(np.array([0.0, 0, 3, -5, 9]), np.zeros(5, dtype=int), 1)
        >>> [counts.thresholds(np.ones((1, 1)), share).item() for share in (0.2, 0.5, 0.7)]
        [9.0, 5.0, 0.0]
        """
        check_fraction(share=share)
        sums = weights @ self.counts
        most = share * sums.sum(axis=1)[:, None] + _STEP
        above = self.sizes > 0
        reach = np.cumsum(sums[:, above][:, ::-1], axis=1)[:, ::-1]  # of each size or more
        few = reach <= most
        few[:, 1:] &= sums[:, above][:, 1:] > 0
        rare = np.concatenate([few, np.zeros((len(sums), 1), dtype=bool)], axis=1)
        # The smallest difference above 0 is rare already: any difference may decide.
        candidates = np.append(self.sizes[above], np.nan)
        candidates[0] = 0.0 if above.any() else np.nan
        found = candidates[np.where(rare.any(axis=1), np.argmax(rare, axis=1), len(candidates) - 1)]
        found = found if above.any() else np.zeros(len(sums))
        return np.where(sums.sum(axis=1) > 0, found, np.nan)
