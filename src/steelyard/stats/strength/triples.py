"""Pairs of systems whose order a third one changes: where Bradley-Terry is not transitive.

Which of two systems is better may depend on who else takes part (appendix F of the paper on paired
evaluation, and Arrow's theorem): a third system gives more points to the loser than to the winner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steelyard.core.errors import ShapeError, UsageError
from steelyard.stats.arrays import Floats


class Overturned(NamedTuple):
    """Of ``triples`` of a pair and a third system, how many change the order of the pair.

    ``reversed`` puts the loser first, ``levelled`` makes both equal; triples whose pair is equal
    alone are not counted among any.
    """

    triples: int
    reversed: int
    levelled: int

    @property
    def changed(self) -> int:
        """How many are not in their order any more."""
        return self.reversed + self.levelled


def overturned_pairs(points: Floats) -> Overturned:
    """Count the pairs whose order a third system changes.

    ``points[i, j]`` are the wins of i against j, ties split between them; all pairs met equally
    often. Then Bradley-Terry orders any three systems by their points among the three, so that no
    fit is needed (see :func:`steelyard.stats.strength.points.segment_points`).

    Examples
    --------
    >>> wins = np.array([[0.0, 2, 1], [1, 0, 2], [2, 1, 0]])  # a cycle: with a third, all are equal
    >>> overturned_pairs(wins)
    Overturned(triples=3, reversed=0, levelled=3)
    """
    if points.ndim != 2 or len(points) != points.shape[1]:
        raise ShapeError(f"expected points of systems x systems, got shape {points.shape}")
    n = len(points)
    met = (points + points.T)[~np.eye(n, dtype=bool)]
    if met.size and not (met == met[0]).all():  # as it is where one is NaN
        raise UsageError("points: expected pairs that all met equally often")
    ahead = points > points.T
    counts = [0, 0, 0]
    for third in range(n):
        won = points[:, third]
        lead = points - points.T + won[:, None] - won[None, :]
        rest = np.arange(n) != third
        pairs = ahead & rest[:, None] & rest[None, :]
        found = (pairs, pairs & (lead < 0), pairs & (lead == 0))
        counts = [count + int(own.sum()) for count, own in zip(counts, found, strict=True)]
    return Overturned(*counts)
