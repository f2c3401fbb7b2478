"""Kendall's family: what a tie is worth, as a matrix; and the threshold below which metrics tie.

Each variant says what every combination of human and metric order counts: 1 agrees, -1 disagrees, 0
counts in the denominator only, None leaves the pair out. The value is their sum over their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.errors import UsageError, hint
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.pairs import PairCounts

Worth = float | None


@dataclass(frozen=True, slots=True)
class TieMatrix:
    """What pairs are worth: both orders clear (same or opposite), or tied by one side or both."""

    same: Worth = 1
    opposite: Worth = -1
    metric_tie: Worth = None
    human_tie: Worth = None
    both_tie: Worth = None

    def value(self, counts: PairCounts) -> Floats:
        """Evaluate every group; NaN where no pair takes part.

        Examples
        --------
        >>> import numpy as np
        >>> one = lambda n: np.array([n])
        >>> counts = PairCounts(one(80), one(0), one(0), one(20), one(0))
        >>> KENDALL["kendall-soft"].value(counts).tolist()
        [0.8]
        """
        parts = (
            (self.same, counts.concordant),
            (self.opposite, counts.discordant),
            (self.metric_tie, counts.metric_ties),
            (self.human_tie, counts.human_ties),
            (self.both_tie, counts.both_ties),
        )
        top = sum((w * n for w, n in parts if w is not None), start=np.zeros(()))
        pairs = sum((n for w, n in parts if w is not None), start=np.zeros((), dtype=np.int64))
        return ratio(top, pairs)


#: The variants that the WMT tasks used or that were proposed for them, by the names of the options.
KENDALL: Mapping[str, TieMatrix] = {
    "kendall-no-tie-penalty": TieMatrix(),
    "kendall-soft": TieMatrix(metric_tie=0),
    "kendall-hard": TieMatrix(metric_tie=-1),
    "kendall-human-ties": TieMatrix(metric_tie=0, human_tie=0, both_tie=1),
    "kendall-human-ties-error": TieMatrix(metric_tie=0, human_tie=0, both_tie=-1),
    "kendall-10": TieMatrix(metric_tie=-1),
    "kendall-13": TieMatrix(),
    "kendall-14": TieMatrix(metric_tie=0),
    "tau-eq": TieMatrix(metric_tie=-1, human_tie=-1, both_tie=1),
    "acc-eq": TieMatrix(opposite=0, metric_tie=0, human_tie=0, both_tie=1),
}


def matrix(name: str) -> TieMatrix:
    """Give a variant by name."""
    if name not in KENDALL:
        raise UsageError(f"no Kendall variant '{name}'; {hint(name, KENDALL)}")
    return KENDALL[name]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The best threshold: value and epsilon, and the whole curve (each epsilon with its value)."""

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
    4. Where several epsilons are best, the reported one is that on which a running float sum over
       the pairs lands, as in the WMT toolkit, so that published thresholds come out the same.

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
    gaps, now, tied = _worths(human, metric, worth)
    weight = 1.0 / pairs
    equal = bool((pairs == pairs[0]).all())
    start = float((np.nansum(now, axis=0) * (1.0 if equal else weight)).sum())
    change = tied - now
    moving = (gaps > 0) & (change != 0)
    steps = change[moving] if equal else (change * weight)[moving]
    epsilons, sums = _running_sums(gaps[moving], steps, whole=equal)
    values = (start + sums) / (len(pairs) * (pairs[0] if equal else 1))
    best = np.flatnonzero(values == values.max())
    chosen = int(best[0])
    if len(best) > 1:
        chosen = _as_summed(best, epsilons, gaps, now, tied, pairs)
    return Calibration(float(values[chosen]), float(epsilons[chosen]), epsilons, values, len(pairs))


def _worths(human: Floats, metric: Floats, worth: TieMatrix) -> tuple[Floats, Floats, Floats]:
    """Per pair of rows and group: metric difference, worth as it stands, worth as a metric tie."""
    i, j = np.triu_indices(len(human), 1)
    h, m = human[i] - human[j], metric[i] - metric[j]
    same, opposite, metric_tie, human_tie, both_tie = (
        float(w or 0)
        for w in (worth.same, worth.opposite, worth.metric_tie, worth.human_tie, worth.both_tie)
    )
    gaps = np.abs(m)
    tied = np.where(h == 0, both_tie, metric_tie)
    now = np.where((h > 0) == (m > 0), same, opposite)
    np.copyto(now, human_tie, where=h == 0)
    np.copyto(now, tied, where=m == 0)
    absent = np.isnan(m)
    now[absent] = tied[absent] = 0.0
    return gaps, now, tied


def _running_sums(gaps: Floats, steps: Floats, *, whole: bool) -> tuple[Floats, Floats]:
    """Sum the steps of all pairs up to each distinct gap; 0 comes first."""
    if whole and steps.size and np.unique(np.abs(steps)).size == 1:
        # Positive doubles sort like integers and leave their sign bit free: it carries the sign
        # of the step, and one sort of integers replaces an argsort and two gathers.
        unit = float(np.abs(steps[0]))
        key = (gaps.view(np.uint64) << np.uint64(1)) | (steps > 0).astype(np.uint64)
        key.sort()
        up = (key & np.uint64(1)).astype(np.int64)
        key >>= np.uint64(1)
        ordered, running = key.view(np.float64), np.cumsum(2 * up - 1) * unit
    else:
        order = np.argsort(gaps, kind="stable")
        ordered, running = gaps[order], np.cumsum(steps[order])
    last = np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], ordered.size > 0])
    return np.r_[0.0, ordered[last]], np.r_[0.0, running[last]]


def _as_summed(
    best: np.ndarray,
    epsilons: Floats,
    gaps: Floats,
    now: Floats,
    tied: Floats,
    pairs: np.ndarray,
) -> int:
    """Choose among equally good epsilons as a running float sum over pairs in order of gap does."""
    n_groups = gaps.shape[1]
    flat = np.argsort(gaps.T.ravel(), kind="stable")  # group by group, then pair by pair
    flat = flat[: int((~np.isnan(gaps)).sum())]
    group = flat // len(gaps)
    change = (tied - now).T.ravel()[flat]
    # The sum of each group before and after each of its pairs becomes a tie.
    by_group = np.argsort(group, kind="stable")
    running = np.cumsum(change[by_group])
    begins = np.searchsorted(group[by_group], np.arange(n_groups))
    offset = np.r_[0.0, running][begins][group[by_group]]
    level = now.sum(axis=0)
    after = np.empty_like(change)
    after[by_group] = running - offset + level[group[by_group]]
    size = pairs[group].astype(np.float64)
    moves = np.empty(2 * len(flat))
    moves[0::2], moves[1::2] = -((after - change) / size), after / size
    begin = np.add.accumulate(level / pairs)[-1]
    totals = np.add.accumulate(np.r_[begin, moves])[0::2] / n_groups
    ordered = gaps.T.ravel()[flat]
    last = np.searchsorted(ordered, epsilons[best], side="right")
    return int(best[np.argmax(totals[last])])
