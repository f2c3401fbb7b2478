r"""The order of Bradley-Terry strengths without a fit, where every system has every segment.

If all pairs meet equally often, the strengths solve
:math:`W_i = \sum_{j \neq i} m \, \pi_i / (\pi_i + \pi_j)` with one m, whose right side grows with
:math:`\pi_i` whatever the others are: systems are ordered by their wins :math:`W_i`. So they are
where no finite strengths exist, since a group that never lost to the rest has more wins than it.
And wins are sums over segments, of the number of systems that a system beats there: rankings of any
number of samples of segments are one matrix product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Floats
from steelyard.stats.strength.wins import checked_scores, margins

TIES = ("half", "second")


def segment_points(scores: ArrayLike, *, ties_as: str = "half", tolerance: float = 0.0) -> Floats:
    """Count the systems that each system beats on each segment: systems x segments.

    Parameters
    ----------
    scores
        Systems x segments, higher is better, none missing.
    ties_as
        ``half`` a win for either side, or a win of the ``second`` of two systems.
    tolerance
        Differences of at most this are ties.

    Examples
    --------
    >>> segment_points([[1.0, 5.0], [2.0, 5.0], [3.0, 4.0]]).tolist()
    [[0.0, 1.5], [1.0, 1.5], [2.0, 0.0]]
    """
    x = checked_scores(scores, tolerance)
    bounds.choice(TIES, ties_as=ties_as)
    if np.isnan(x).any():
        raise UsageError("points need a score of every system on every segment")
    bar = margins(x, tolerance)
    points = np.zeros(x.shape)
    for i, own in enumerate(x):
        won, lost = own > bar, x > bar[i]
        won[i] = lost[i] = True  # no tie with itself
        points[i] = won.sum(axis=0) - 1
        tied = ~won & ~lost
        points[i] += tied.sum(axis=0) / 2 if ties_as == "half" else tied[:i].sum(axis=0)
    return points
