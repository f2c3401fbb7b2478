"""How the code of the paired-evaluation paper ranks, sorts and tests, where it matters.

* Ties are wins of the later system for Bradley-Terry and Elo; TrueSkill takes them as draws.
* Elo (K = 20) and TrueSkill go through all segments of a pair, then on to the next pair.
* The best systems are the first of a sort that is not stable: among tied systems, who comes first
  depends on how the sort moves them.
* Means and medians that differ by rounding alone are different, so that last digits decide.
* Its sign test counts ties as losses of whoever it takes for the better system.

None of this is a default anywhere else: the last pairs weigh most, so that order decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import kendall_b
from steelyard.stats.distributions import bdtr
from steelyard.stats.kendall.counting import count_pairs
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import levelled
from steelyard.stats.strength.bradleyterry import bradley_terry_batch
from steelyard.stats.strength.sequential import EloOptions, SequentialRating, TrueSkillOptions
from steelyard.stats.strength.wins import WinCounts, score_results, win_counts

Bools = NDArray[np.bool_]
_SHORT = 16  # stretches of up to this many values are sorted by insertion


def rank_as_published(scores: Floats) -> dict[str, Floats]:
    """Rank systems in the paper's five ways: tables x systems of tables x systems x segments."""
    counts = [win_counts(table) for table in scores]
    tables = WinCounts(np.stack([c.wins for c in counts]), np.stack([c.ties for c in counts]))
    return {
        "mean": scores.mean(axis=2),
        "median": np.median(scores, axis=2),
        "bt": -bradley_terry_batch(tables, ties_as="second").ranks,
        "elo": elo_by_pairs(scores),
        "trueskill": trueskill_by_pairs(scores),
    }


def elo_by_pairs(scores: Floats) -> Floats:
    """Rate systems by Elo, pair after pair, ties being wins of the later system."""
    return _play(EloOptions(), scores, second=True)


def trueskill_by_pairs(scores: Floats) -> Floats:
    """Return TrueSkill's mean skills, pair after pair; ties are ties."""
    return _play(TrueSkillOptions(), scores, second=False)


def _play(rating: SequentialRating, scores: Floats, *, second: bool) -> Floats:
    """Play all pairs: ratings of tables x systems.

    Pairs come as (0, 1), (0, 2), ..., (1, 2), ..., each with all its segments before the next. The
    ratings of i and j at their turn depend on the pairs (i, j - 1) and (i - 1, j) only, so that all
    pairs with the same i + j, which share no system, can be played at once, in many tables.
    """
    x = np.ascontiguousarray(np.moveaxis(scores, 0, 2))  # systems x segments x tables
    n, width, tables = x.shape
    state = rating.start(n, tables)
    played = np.zeros((n, tables), dtype=bool)
    for total in range(1, 2 * n - 2):
        i = np.arange(max(0, total - n + 1), (total + 1) // 2)
        j = total - i
        result = score_results(x[i], x[j], 0.0)
        present = ~np.isnan(result)
        if second:
            result[result == 0] = -1
        weight = None if present.all() else present.astype(np.float64)
        result[~present] = 0
        both = np.stack([i, j])
        numbers = state[:, both]  # numbers x 2 x pairs x tables
        for s in range(width):
            rating.update(numbers, result[:, s], None if weight is None else weight[:, s])
        state[:, both] = numbers
        met = present.any(axis=1)
        played[i] |= met
        played[j] |= met
    return rating.finish(state, played).scores


def order_as_published(first: Floats, second: Floats) -> Floats:
    """Share of the pairs that two rankings order differently, down to the last digit.

    Values that differ by rounding alone are different, as in the authors' code; elsewhere they tie
    (:func:`steelyard.stats.correlation.order_disagreement`).
    """
    return (1 - kendall_b(count_pairs(first.T, second.T))) / 2


def top_as_published(scores: Floats, n: int) -> Bools:
    """Tell which systems an unstable sort puts among the first ``n``: tables x systems."""
    result = np.zeros(scores.shape, dtype=bool)
    for row, is_top in zip(scores, result, strict=True):
        tied = len(np.unique(row)) < len(row)
        order = unstable_order(-row) if tied else np.argsort(-row, kind="stable")
        is_top[order[:n]] = True
    return result


def first_of_tied(scores: Floats, n: int) -> Bools:
    """Tell which systems are among the first ``n`` if tied ones stay in their order."""
    result = np.zeros(scores.shape, dtype=bool)
    order = np.argsort(-levelled(scores), axis=1, kind="stable")
    np.put_along_axis(result, order[:, :n], values=True, axis=1)
    return result


def unstable_order(values: Floats) -> NDArray[np.int64]:
    """Sort places by a quicksort with the median of three, as numpy does without vector units.

    Short stretches are sorted by insertion, so that up to 16 values keep the order of ties.
    """
    v = values.tolist()
    place = list(range(len(v)))
    waiting = [(0, len(v) - 1)]
    while waiting:
        low, high = waiting.pop()
        while high - low >= _SHORT:
            cut = _partition(v, place, low, high)
            # The order in which the two parts are sorted does not matter: they share no place.
            waiting.append((cut + 1, high))
            high = cut - 1
        for k in range(low + 1, high + 1):
            moved, at = place[k], k
            while at > low and v[moved] < v[place[at - 1]]:
                place[at] = place[at - 1]
                at -= 1
            place[at] = moved
    return np.array(place, dtype=np.int64)


def _partition(v: list[float], place: list[int], low: int, high: int) -> int:
    """Put smaller values before, larger ones after the median of the ends and the middle."""

    def swap(a: int, b: int) -> None:
        place[a], place[b] = place[b], place[a]

    middle = low + (high - low) // 2
    for a, b in ((low, middle), (middle, high), (low, middle)):
        if v[place[b]] < v[place[a]]:
            swap(a, b)
    pivot = v[place[middle]]
    swap(middle, high - 1)
    up, down = low, high - 1
    while True:
        up += 1
        while v[place[up]] < pivot:
            up += 1
        down -= 1
        while pivot < v[place[down]]:
            down -= 1
        if up >= down:
            break
        swap(up, down)
    swap(up, high - 1)
    return up


def sign_as_published(scores: Floats) -> Floats:
    """p-values of the paper's sign test: wins of the better system out of all segments, ties too.

    Who is better is decided with ties as wins of the later system. Systems x segments in, a
    vector over the pairs i < j out.
    """
    i, j = pair_index(len(scores))
    n = scores.shape[1]
    first, second = (scores[i] > scores[j]).sum(axis=1), (scores[j] > scores[i]).sum(axis=1)
    won = np.where(2 * first >= n, first, second)
    return np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(won, n - won), n, 0.5)))
