"""Outliers among scores: the robust rule of Mathur, Baldwin and Cohn (2020), Tangled up in BLEU.

Systems far better or worse than the rest sway agreement over systems: two clouds far apart
correlate, whatever happens within them. A system is an outlier if its human score is further from
the median than ``cutoff`` times 1.483 MAD (median absolute deviations), the standard deviation of
normal scores. One pass: nothing is removed and looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.text import are
from steelyard.stats.arrays import Floats, beyond_rounding, median

CUTOFF = 2.5
NORMAL = 1.483  #: MADs in a standard deviation of normal scores
LEAST = 5  #: scores below which a median says little of what is usual


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


def robust_deviations(values: ArrayLike, cutoff: float = CUTOFF) -> RobustDeviations:
    """Find the scores that lie far from all others; NaN is left out.

    Undefined with fewer than five scores, and where more than half of them are the same.
    """
    scores = np.asarray(values, dtype=np.float64)
    n = int((~np.isnan(scores)).sum())
    undefined = np.full(len(scores), np.nan)
    if n < LEAST:
        reason = f"there {are(n, 'score')}, and it takes {LEAST}"
        return RobustDeviations(undefined, cutoff, np.nan, np.nan, reason)
    middle = median(scores)
    scale = NORMAL * median(np.abs(scores - middle))
    if not beyond_rounding(np.array(scale), float(np.nanmax(np.abs(scores)))):
        reason = "more than half of the scores are the same"
        return RobustDeviations(undefined, cutoff, middle, 0.0, reason)
    return RobustDeviations((scores - middle) / scale, cutoff, middle, scale)
