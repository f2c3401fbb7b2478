r"""How easy segments are, from the systems that were scored on them, and groups of like ones.

The model is the one with a single parameter for each segment (1PL) on scores: a score is what its
system is good for plus how easy its segment is, :math:`x_{is} = \theta_i + e_s + \text{noise}`.
Where every system has every segment, the ease is the mean of its scores. Where cells are missing it
is not: a segment that only good systems have would look easy.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.correlation import settled

HARD, MIDDLE, EASY = range(3)
STRATA = ("hard", "middle", "easy")


def segment_ease(scores: Floats) -> Floats:
    """Give how easy each segment is: its mean score, but for how good those are that have it.

    See :func:`additive_fit`; NaN for a segment that no system has.

    Examples
    --------
    >>> segment_ease(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, np.nan]])).tolist()
    [2.0, 3.0, 4.0]
    """
    return additive_fit(scores)[1]


def additive_fit(scores: Floats) -> tuple[Floats, Floats]:
    """Give abilities of systems, relative to their mean, and how easy segments are.

    Least squares of a score as the sum of a system and a segment, solved exactly. ``scores`` is
    systems x segments, higher is better; NaN for a system or a segment without any. Systems that
    share no segments, not even by way of others, can't be compared: each such group is taken to be
    as able as any other.

    Examples
    --------
    >>> ability, ease = additive_fit(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> ability.tolist(), ease.tolist()
    ([-1.0, 1.0], [2.0, 3.0])
    """
    if scores.ndim != 2:
        raise ShapeError(f"expected systems x segments, got shape {scores.shape}")
    known = ~np.isnan(scores)
    some = known.any(axis=1)
    if not some.any():
        return np.full(len(scores), np.nan), np.full(scores.shape[1], np.nan)
    filled = np.where(known, scores, 0.0)
    middle = float(filled.sum() / known.sum())
    centred = np.where(known, scores - middle, 0.0)
    count = known.sum(axis=0)
    if known.all():
        ability = centred.mean(axis=1)
    else:
        share = np.where(count > 0, 1 / np.maximum(count, 1), 0.0)
        weights = known.astype(np.float64)
        # Segments are eliminated: what is left has a row and a column for each system.
        left = np.diag(weights.sum(axis=1)) - (weights * share) @ weights.T
        right = centred.sum(axis=1) - (weights * share) @ centred.sum(axis=0)
        ability = np.linalg.lstsq(left, right, rcond=1e-10)[0]
    ability = ability - ability[some].mean()
    sums = filled.sum(axis=0) - ability @ known
    return np.where(some, ability, np.nan), ratio(sums, count)


def difficulty_strata(ease: Floats) -> Counts:
    """Cut segments into hard (0), middle (1) and easy ones (2), of about equal number.

    Segments that are equally easy stay together: of the borders between values, those are taken
    that come nearest to one and to two thirds. Where these are the same there is no middle. -1
    where the ease is unknown, and everywhere if all segments are equally easy.

    Examples
    --------
    >>> difficulty_strata(np.array([0.1, 0.9, 0.5, 0.2, 0.6, 0.8, np.nan])).tolist()
    [0, 2, 1, 0, 1, 2, -1]
    >>> difficulty_strata(np.array([1.0, 1.0, 0.0, 1.0])).tolist()
    [2, 2, 0, 2]
    """
    found = np.full(len(ease), -1, dtype=np.int64)
    known = ~np.isnan(ease)
    ease = settled(ease)  # equal but for rounding is equal
    values, counts = np.unique(ease[known], return_counts=True)
    if len(values) < 2:
        return found
    below = np.cumsum(counts)[:-1] / counts.sum()  # share of segments below each border
    first, second = (int(np.argmin(np.abs(below - third))) for third in (1 / 3, 2 / 3))
    place = np.searchsorted(values, ease[known])
    found[known] = np.where(place <= first, HARD, np.where(place <= second, MIDDLE, EASY))
    return found
