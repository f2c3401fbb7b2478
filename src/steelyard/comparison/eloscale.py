"""Strengths of Bradley-Terry on the scale that players of chess and readers of arenas know.

A rating is 1000 + 400 log10(s / c) where c is the geometric mean of all strengths: another unit for
the same fit, so that ranks, chances, tests and tiers stay as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.comparison.ranked import Ranked
from steelyard.stats.arrays import Floats

CENTRE, TENFOLD = 1000.0, 400.0
NOTE = (
    "bt on the scale of Elo: 1000 is the average of the systems, 400 more is ten times the strength"
)


def on_elo_scale(found: Ranked) -> Ranked:
    """Give a ranking by strengths in ratings.

    Quantiles stay where they are under a change of unit, so ends of intervals are those of the
    strengths. A strength of 0, as in resamples without a win, has no rating.

    Examples
    --------
    >>> strengths = np.array([10.0, 1.0, 0.1]) / 11.1
    >>> own = Ranked(strengths, np.array([1.0, 2.0, 3.0]), np.zeros((0, 0)), low=strengths / 10)
    >>> found = on_elo_scale(own)
    >>> found.scores.round(6).tolist(), found.low.round(6).tolist()
    ([1400.0, 1000.0, 600.0], [1000.0, 600.0, 200.0])
    """
    known = found.scores[found.scores > 0]
    centre = np.log10(known).mean() if known.size else np.nan

    def rated(strength: Floats | None) -> Floats | None:
        return None if strength is None else CENTRE + TENFOLD * (_log10(strength) - centre)

    def gap(chance: Floats | None) -> Floats | None:
        """Give the difference of two ratings, of which a chance to win is another form."""
        return None if chance is None else TENFOLD * (_log10(chance) - _log10(1 - chance))

    scores = rated(found.scores)
    assert scores is not None
    return replace(
        found,
        scores=scores,
        low=rated(found.low),
        high=rated(found.high),
        gap_low=gap(found.pairwise_low),
        gap_high=gap(found.pairwise_high),
        spread=None,
    )


def _log10(values: Floats) -> Floats:
    """Give logarithms, none of what is not above 0."""
    positive = values > 0
    return np.where(positive, np.log10(np.where(positive, values, 1.0)), np.nan)
