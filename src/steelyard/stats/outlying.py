"""Which scores lie far from all others: the robust rule of Mathur et al. (2020).

Agreement over systems is swayed by systems that are far better or far worse than the rest: two
clouds far apart correlate, whatever happens within them. Mean and standard deviation are no way to
find such systems, since these move both; the median and the median absolute deviation (MAD) hardly
do. A system is outlying if its human score is further from the median than ``cutoff`` times 1.483
MAD, which is the standard deviation of scores that are normal. Nothing is removed and looked at
again: one pass.

Mathur, Baldwin and Cohn (2020), Tangled up in BLEU: Reevaluating the Evaluation of Automatic
Machine Translation Evaluation Metrics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_number
from steelyard.core.text import are
from steelyard.stats.arrays import Floats, real_array

CUTOFF = 2.5
NORMAL = 1.483  #: MADs in a standard deviation of normal scores
LEAST = 5  #: scores below which a median says little of what is usual


@dataclass(frozen=True, slots=True)
class Outlying:
    """How far each score lies from the median, in robust standard deviations.

    ``undefined`` says why there is no answer; ``deviations`` are then NaN, and nothing is outlying.
    """

    deviations: Floats
    cutoff: float
    median: float
    scale: float  # 1.483 MAD
    undefined: str | None = None

    @property
    def flags(self) -> NDArray[np.bool_]:
        """True where a score is outlying; never where it is missing."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(self.deviations) > self.cutoff)


def _median(x: Floats) -> float:
    """Give the median of some numbers, none missing; np.median takes longer than all the rest."""
    ordered, half = np.sort(x), len(x) // 2
    return float(ordered[half] if len(x) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def outlying(scores: ArrayLike, cutoff: float = CUTOFF) -> Outlying:
    """Find the scores that lie far from all others; missing ones (NaN) take no part.

    Undefined with fewer than five scores, and where more than half of them are the same.

    Examples
    --------
    >>> found = outlying([70.0, 72.0, 71.0, 69.0, 73.0, 20.0])
    >>> found.flags.tolist(), found.deviations.round(1).tolist()
    ([False, False, False, False, False, True], [-0.2, 0.7, 0.2, -0.7, 1.1, -22.7])
    >>> outlying([1.0, 1.0, 1.0, 1.0, 9.0]).undefined
    'more than half of the scores are the same'
    """
    check_number(0, strict=True, cutoff=cutoff)
    x = real_array("scores", scores)
    if x.ndim != 1:
        raise ShapeError(f"scores are one per system, got an array of shape {x.shape}")
    known = x[~np.isnan(x)]
    nothing = np.full(len(x), np.nan)
    if len(known) < LEAST:
        why = f"there {are(len(known), 'score')}, and it takes {LEAST}"
        return Outlying(nothing, cutoff, np.nan, np.nan, why)
    median = _median(known)
    scale = NORMAL * _median(np.abs(known - median))
    # Of scores that are all the same but for rounding, none is far from the others.
    if scale <= 1e-12 * float(np.abs(known).max()):
        why = "more than half of the scores are the same"
        return Outlying(nothing, cutoff, median, 0.0, why)
    return Outlying((x - median) / scale, cutoff, median, scale)
