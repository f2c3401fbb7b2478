"""Tie calibration: the threshold below which differences of a metric are best taken for ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.kendall.matrices import KENDALL, TieMatrix
from steelyard.stats.kendall.sweep import best_epsilon

Kinds = NDArray[np.uint8]

_AT_ONCE = 2**21  # pairs that are held in memory together
_ROUNDING = 1e-12  # beyond that of a mean over groups of different sizes


@dataclass(frozen=True, slots=True)
class Calibration:
    """The best threshold: value and epsilon, and the curve (epsilons with their values)."""

    value: float
    epsilon: float
    epsilons: Floats
    values: Floats
    n_groups: int


def calibrate(human: Floats, metric: Floats, worth: TieMatrix = KENDALL["acc-eq"]) -> Calibration:
    """Find the one epsilon that maximises the mean over groups, exactly.

    1. Every pair of rows within a column is a pair; missing cells take no part.
    2. As epsilon grows past a pair's metric difference, that pair becomes a tie, which changes its
       worth by a known amount, divided by the pairs of its group.
    3. Sorting the differences and adding up the changes gives the mean at every epsilon. Candidates
       are 0 and every difference, compared exactly.
    4. Where several epsilons are best (to twelve digits, if groups differ in size), the reported
       one is that on which a running float sum over the pairs lands, as in the WMT toolkit, so
       that published thresholds come out the same.

    More than two million pairs (all cells in one group, say) are not held in memory, see
    ``best_epsilon``, and two things change: of several best epsilons the smallest is reported, and
    the curve is given at 0, at the best and at some thousand other epsilons instead of at every
    difference. Value and epsilon are exact all the same.

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[0.0], [0.0], [1.0]])
    >>> metric = np.array([[0.1], [0.2], [0.9]])
    >>> best = calibrate(human, metric)
    >>> round(best.value, 12), round(best.epsilon, 12)
    (1.0, 0.1)
    """
    if None in (worth.same, worth.opposite, worth.metric_tie, worth.human_tie, worth.both_tie):
        raise UsageError("calibration needs a matrix in which every pair takes part")
    known = ~(np.isnan(human) | np.isnan(metric))
    n = known.sum(axis=0)
    pairs = n * (n - 1) // 2
    used = pairs > 0
    if not used.any():
        return Calibration(float("nan"), float("nan"), np.zeros(0), np.zeros(0), 0)
    human = np.where(known, human, np.nan)[:, used]
    metric = np.where(known, metric, np.nan)[:, used]
    pairs = pairs[used]
    same, opposite, metric_tie, human_tie, both_tie = (
        float(w or 0)
        for w in (worth.same, worth.opposite, worth.metric_tie, worth.human_tie, worth.both_tie)
    )
    clear = np.array([opposite, human_tie, same])
    tied = np.array([metric_tie, both_tie, metric_tie])
    if pairs.sum() > _AT_ONCE:
        best = best_epsilon(human, metric, clear, tied)
        return Calibration(best.value, best.epsilon, best.epsilons, best.values, len(pairs))
    return _all_pairs(human, metric, pairs, clear, tied)


def _all_pairs(
    human: Floats, metric: Floats, pairs: Counts, clear: Floats, tied: Floats
) -> Calibration:
    """Calibrate on all pairs at once; ``clear`` and ``tied`` as in ``best_epsilon``."""
    gaps, kinds = _differences(human, metric)
    now, change = np.r_[clear, tied], np.r_[tied - clear, np.zeros(4)]
    start = np.zeros(len(pairs))
    for kind in np.flatnonzero(now):
        start += now[kind] * np.count_nonzero(kinds == kind, axis=0)
    if (pairs == pairs[0]).all():
        epsilons, sums = _running_sums(gaps, kinds, change, np.ones(len(pairs)))
        values = (start.sum() + sums) / (len(pairs) * pairs[0])
        best = np.flatnonzero(values == values.max())
    else:
        epsilons, sums = _running_sums(gaps, kinds, change, 1.0 / pairs)
        values = ((start / pairs).sum() + sums) / len(pairs)
        best = np.flatnonzero(values >= values.max() - _ROUNDING)
    chosen = int(best[0])
    if len(best) > 1:
        chosen = int(best[_as_summed(epsilons[best], gaps, start, kinds, change, pairs)])
    value, epsilon = float(values.max()), float(epsilons[chosen])
    return Calibration(value, epsilon, epsilons, values, len(pairs))


def _differences(human: Floats, metric: Floats) -> tuple[Floats, Kinds]:
    """Per pair of rows and group: the metric difference, NaN where missing, and the kind of pair.

    Kinds: 0 people order it the other way, 1 they tie it, 2 they order it the same way; 3, 4, 5 the
    same for ties of the metric; 6 missing.
    """
    n, n_groups = human.shape
    gaps = np.empty((n * (n - 1) // 2, n_groups))
    kinds = np.empty(gaps.shape, dtype=np.uint8)
    at = 0
    for i in range(n - 1):  # row by row: what is needed on the way stays in the cache
        h, m = human[i] - human[i + 1 :], metric[i] - metric[i + 1 :]
        rows = slice(at, at + len(h))
        np.abs(m, out=gaps[rows])
        kind = 2 * ((h > 0) == (m > 0)).view(np.uint8)
        np.copyto(kind, 1, where=h == 0)
        kind += 3 * (m == 0).view(np.uint8)
        np.copyto(kind, 6, where=np.isnan(m))
        kinds[rows] = kind
        at += len(h)
    return gaps, kinds


def _running_sums(
    gaps: Floats, kinds: Kinds, change: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Sum the weighted changes of all pairs up to each distinct gap; 0 comes first."""
    moving = np.zeros(gaps.shape, dtype=bool)
    rising = np.zeros(gaps.shape, dtype=bool)
    for kind in np.flatnonzero(change):
        moving |= kinds == kind
        if change[kind] > 0:
            rising |= kinds == kind
    if len(np.unique(np.abs(change[change != 0]))) == len(np.unique(weight)) == 1:
        # Positive doubles sort like integers and leave their sign bit free: it carries the sign
        # of the change, and one sort of integers replaces an argsort and two gathers.
        step = weight[0] * np.abs(change).max()
        keys = gaps.view(np.uint64) << np.uint64(1)
        keys |= rising
        keys = np.append(np.uint64(0), keys[moving])
        keys.sort()
        up = np.cumsum(keys & np.uint64(1))
        keys >>= np.uint64(1)
        last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True))
        return keys.view(np.float64)[last], step * (2.0 * up[last] - last)
    own = gaps[moving]
    steps = change[kinds[moving]] * np.broadcast_to(weight, gaps.shape)[moving]
    order = _stable_argsort(own)
    ordered = np.append(0.0, own[order])
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return ordered[last], np.append(0.0, np.cumsum(steps[order]))[last]


def _as_summed(
    epsilons: Floats, gaps: Floats, start: Floats, kinds: Kinds, change: Floats, pairs: Counts
) -> int:
    """Choose among equally good epsilons as a running float sum over pairs in order of gap does."""
    flat = gaps.T.ravel()  # group by group, then pair by pair
    order = np.flatnonzero(flat <= epsilons[-1])
    order = order[_stable_argsort(flat[order])]
    group = order // len(gaps)
    each = change[kinds.T.ravel()[order]]
    # The sum of each group before and after each of its pairs becomes a tie.
    by_group = np.argsort(group.astype(np.min_scalar_type(len(pairs))), kind="stable")
    running = np.cumsum(each[by_group])
    begins = np.searchsorted(group[by_group], np.arange(len(pairs)))
    offset = start - np.r_[0.0, running][begins]
    after = np.empty_like(each)
    after[by_group] = running + offset[group[by_group]]
    size = pairs[group].astype(np.float64)
    moves = np.empty(1 + 2 * len(order))
    moves[0] = np.add.accumulate(start / pairs)[-1]
    moves[1::2], moves[2::2] = -((after - each) / size), after / size
    totals = np.add.accumulate(moves)[0::2] / len(pairs)
    last = np.searchsorted(flat[order], epsilons, side="right")
    return int(np.argmax(totals[last]))


def _stable_argsort(values: Floats) -> Counts:
    """Argsort with equal values in their order, by two sorts that need not keep it."""
    order = np.argsort(values)
    ordered = values[order]
    run = np.r_[0, np.cumsum(ordered[1:] != ordered[:-1])] * len(values)
    return np.asarray(np.sort(run + order) - run)
