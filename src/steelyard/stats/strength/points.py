r"""How many rivals a system beats on a segment, and Bradley-Terry strengths from sums of that.

Where every system has every segment, all pairs meet equally often, m times. The likelihood then
knows the table of wins by its row sums :math:`W_i` alone: strengths solve
:math:`W_i = \sum_{j \neq i} m \, \pi_i / (\pi_i + \pi_j)`. So the row sums of any number of
resamples are one matrix product of counts and points, and no table of wins is made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.errors import UsageError
from steelyard.core.options import check_choice
from steelyard.stats.arrays import Floats, weighted_sums
from steelyard.stats.strength import fits
from steelyard.stats.strength.bradleyterry import bradley_terry_batch
from steelyard.stats.strength.wins import checked_scores, margins, resampled_wins

POINTS = ("half", "second")  # treatments of ties under which every pair meets equally often
_CELLS = 1_000_000  # cells of systems x systems fitted at a time
_MANY = 100  # systems from which one factorisation serves all resamples


def segment_points(scores: ArrayLike, *, ties_as: str = "half", tolerance: float = 0.0) -> Floats:
    r"""Count the systems that each system beats on each segment: systems x segments.

    Where every system has every segment, their sums order systems as Bradley-Terry strengths do,
    without a fit: if all pairs meet equally often, the strengths solve
    :math:`W_i = \sum_{j \neq i} m \, \pi_i / (\pi_i + \pi_j)` with one m, whose right side grows
    with :math:`\pi_i` whatever the others are, so that systems are ordered by their wins
    :math:`W_i`. So they are where no finite strengths exist, since a group that never lost to the
    rest has more wins than it. Rankings of any number of samples of segments are then one matrix
    product.

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
    check_choice(POINTS, ties_as=ties_as)
    if np.isnan(x).any():
        raise UsageError("points need a score of every system on every segment")
    if not tolerance:
        return _sorted_points(x, ties_as)
    bar = margins(x, tolerance)
    points = np.zeros(x.shape)
    for i, own in enumerate(x):
        won, lost = own > bar, x > bar[i]
        won[i] = lost[i] = True  # no tie with itself
        points[i] = won.sum(axis=0) - 1
        tied = ~won & ~lost
        points[i] += tied.sum(axis=0) / 2 if ties_as == "half" else tied[:i].sum(axis=0)
    return points


def _sorted_points(x: Floats, ties_as: str) -> Floats:
    """Count by sorting the systems of each segment; those that tie stay in their order."""
    by_segment = np.ascontiguousarray(x.T)
    order = np.argsort(by_segment, axis=1, kind="stable")
    place = np.broadcast_to(np.arange(len(x), dtype=np.float64), by_segment.shape)
    if ties_as == "half" and len(x):  # whoever ties shares the mean of their places
        ordered = np.take_along_axis(by_segment, order, axis=1)
        same = ordered[:, 1:] == ordered[:, :-1]
        first, last = place.copy(), place.copy()
        first[:, 1:][same] = 0.0
        last[:, :-1][same] = np.inf
        first = np.maximum.accumulate(first, axis=1)
        last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
        place = (first + last) / 2
    points = np.empty_like(by_segment)
    np.put_along_axis(points, order, place, axis=1)
    return np.ascontiguousarray(points.T)


def resampled_strengths(
    scores: Floats,
    counts: Floats,
    start: Floats,
    *,
    ties_as: str = "half",
    tolerance: float = 0.0,
) -> Floats:
    """Bradley-Terry strengths of every resample of segments that all systems have.

    Those of ``bradley_terry_batch`` of the resampled tables: to the bit below 100 systems, and
    within 1e-10 of the log-strengths from there on, where one factorisation serves all resamples.

    Parameters
    ----------
    scores
        Systems x segments, none missing.
    counts
        Resamples x segments, in whole numbers.
    start
        Log-strengths of the data.
    ties_as, tolerance
        See :func:`segment_points`.

    Examples
    --------
    >>> scores = np.array([[3.0, 1.0, 2.0, 2.0], [2.0, 2.0, 1.0, 2.0]])
    >>> counts = np.array([[1.0, 1, 1, 1], [0, 2, 2, 0]])
    >>> resampled_strengths(scores, counts, np.zeros(2)).round(9).tolist()
    [[0.625, 0.375], [0.5, 0.5]]
    """
    n = len(scores)
    points = segment_points(scores, ties_as=ties_as, tolerance=tolerance)
    won = weighted_sums(counts, points.T)
    met = counts.sum(axis=1, dtype=np.float64)
    theta = np.full(won.shape, np.nan)
    sure = np.flatnonzero(connected_points(won, met) & (n > 1))
    step = max(1, _CELLS // max(1, n * n))
    near = fits.Chord.of_equal(start) if n >= _MANY else None
    for first in range(0, len(sure), step):
        some = sure[first : first + step]
        if near is not None:
            theta[some] = near.fit(won[some], met[some])
            continue
        table = np.where(np.eye(n, dtype=bool), 0.0, met[some, None, None])
        lost = met[some, None] * (n - 1) - won[some]
        theta[some] = fits.newton_sums(table, won[some], lost)[0]
        theta[some] -= theta[some].mean(axis=1, keepdims=True)
    scaled = np.exp(theta - theta.max(axis=1, keepdims=True, initial=-np.inf))
    strength = scaled / scaled.sum(axis=1, keepdims=True)
    rest = np.flatnonzero(np.isnan(theta).any(axis=1))  # rare: some order of groups is open
    for first in range(0, len(rest), step):
        some = rest[first : first + step]
        part = counts[some].astype(np.float64)
        tables = resampled_wins(scores, part, tolerance=tolerance)
        strength[some] = bradley_terry_batch(tables, ties_as=ties_as).strength
    return np.asarray(strength)


def connected_points(won: Floats, met: Floats) -> NDArray[np.bool_]:
    """Tell of each resample whether all systems can be compared, from the sums of their wins.

    All pairs met equally often. Some systems never won against the others if and only if they are
    the lowest k, and have won no more than what they met among themselves: sums are exact.

    Examples
    --------
    >>> connected_points(np.array([[3.0, 1.0], [4.0, 0.0]]), np.array([4.0, 4.0])).tolist()
    [True, False]
    """
    n = won.shape[1]
    lowest = np.cumsum(np.sort(won, axis=1), axis=1)[:, : n - 1]
    k = np.arange(1, n)
    return np.asarray((lowest > met[:, None] * (k * (k - 1) / 2)).all(axis=1)) & (met > 0)
