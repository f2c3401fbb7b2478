"""Counting pairs: concordant, discordant, and tied in the human score, the metric, or both.

All of Kendall's family is a function of these five counts. A :class:`TieMatrix` says what each
combination of human and metric order is worth: 1 agrees, -1 disagrees, 0 counts in the denominator
only, None excludes the pair. The value is their sum over their number.

Short groups (the systems on a segment) form their pairs, for all groups at once. Long ones (all
cells, the segments of a system) are sorted by one score: discordant pairs are then the inversions
of the other, which a radix sort counts. Ties of some width are counted by ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import check_number, check_text
from steelyard.stats.arrays import Counts, Floats, ratio

Worth = float | None
Bools = NDArray[np.bool_]
GROUPS = ("none", "item", "system")
KINDS = ("concordant", "discordant", "human_ties", "metric_ties", "both_ties")
_ROUNDING = 1e-9  # scores are means of whole numbers: rounding may have shrunk a difference
_CACHED = 1 << 17  # pairs that are compared together
_MOST_ROWS = 100  # longer groups never form their pairs


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Numbers of pairs per group, by what the human score and the metric say of their order."""

    concordant: Counts
    discordant: Counts
    human_ties: Counts  # tied by the human score only
    metric_ties: Counts  # tied by the metric only
    both_ties: Counts

    @property
    def total(self) -> Counts:
        """All pairs."""
        tied = self.human_ties + self.metric_ties + self.both_ties
        return self.concordant + self.discordant + tied


def grouped(x: Floats, group_by: str | None) -> Floats:
    """Arrange a systems x segments matrix so that columns are groups."""
    if group_by in (None, "none"):
        return x.reshape(-1, 1)
    return x if group_by == "item" else x.T


def count_columns(
    human: Floats, metric: Floats, *, epsilon: float = 0.0, threshold: float = 0.0
) -> PairCounts:
    """Count the pairs of rows within each column as :func:`count_pairs`, however long they are."""
    if len(human) <= _MOST_ROWS:
        return count_pairs(human, metric, epsilon=epsilon, threshold=threshold)
    known = ~(np.isnan(human) | np.isnan(metric))
    columns = zip(human.T, metric.T, known.T, strict=True)
    if epsilon or threshold:
        counts = [_count_wide_ties(h[k], m[k], epsilon, threshold) for h, m, k in columns]
    else:
        counts = [_count_by_sorting(h[k], m[k]) for h, m, k in columns]
    return PairCounts(*np.array(counts, dtype=np.int64).reshape(-1, len(KINDS)).T)


def count_pairs(
    human: Floats, metric: Floats, *, epsilon: float = 0.0, threshold: float = 0.0
) -> PairCounts:
    """Count the pairs of rows within each column; cells missing in either score are excluded.

    ``human`` and ``metric`` are items x groups; either may be one column that serves all of the
    other. Metric differences of at most ``epsilon``, and human ones below ``threshold``, are ties.
    """
    known = ~(np.isnan(human) | np.isnan(metric))
    if not known.all():
        human, metric = np.where(known, human, np.nan), np.where(known, metric, np.nan)
    n = known.sum(axis=0)
    n_pairs, width = len(human) * (len(human) - 1) // 2, known.shape[1]
    step = max(1, _CACHED // max(1, n_pairs))
    sums = np.zeros((4, width), dtype=np.int64)
    dtype = np.min_scalar_type(n_pairs)  # bytes are added up many at a time
    shared_h, shared_m = (x.shape[1] == 1 for x in (human, metric))
    for start in range(0, width, step):
        part = slice(start, start + step)
        if not (shared_h and start):
            human_up, human_down = _compare(human[:, part], threshold, at_least=True)
            human_clear = human_up | human_down
        if not (shared_m and start):
            metric_up, metric_down = _compare(metric[:, part], epsilon, at_least=False)
            metric_clear = metric_up | metric_down
        agree = human_up & metric_up
        agree |= human_down & metric_down
        for row, kind in enumerate((agree, human_clear & metric_clear, human_clear, metric_clear)):
            sums[row, part] = np.add.reduce(kind.view(np.uint8), axis=0, dtype=dtype)
    concordant, clear, clear_human, clear_metric = sums
    human_ties, metric_ties = clear_metric - clear, clear_human - clear
    both = n * (n - 1) // 2 - clear - human_ties - metric_ties
    return PairCounts(concordant, clear - concordant, human_ties, metric_ties, both)


def _compare(x: Floats, margin: float, *, at_least: bool) -> tuple[Bools, Bools]:
    """Mark the pairs of rows whose first lies above, or below, the second by a margin."""
    n, x = len(x), np.ascontiguousarray(x)
    up, down = np.empty((2, n * (n - 1) // 2, x.shape[1]), dtype=np.bool_)
    above, below = (np.greater_equal, np.less_equal) if at_least else (np.greater, np.less)
    end = 0
    for i in range(n - 1):
        start, end = end, end + n - 1 - i
        if margin:
            gap = x[i] - x[i + 1 :]
            above(gap, margin, out=up[start:end])
            below(gap, -margin, out=down[start:end])
        else:
            np.greater(x[i], x[i + 1 :], out=up[start:end])
            np.less(x[i], x[i + 1 :], out=down[start:end])
    return up, down


class _Levels(NamedTuple):
    """The order of a vector, the level of each value (equal values share one), and run starts."""

    order: Counts
    codes: NDArray[np.unsignedinteger]
    starts: Bools

    @classmethod
    def of(cls, values: Floats, kind: Literal["quicksort", "stable"]) -> _Levels:
        order = np.argsort(values, kind=kind)
        starts = _run_starts(values[order])
        codes = np.empty(len(values), dtype=np.min_scalar_type(len(values)))  # 16 bits sort fast
        codes[order] = np.cumsum(starts) - 1
        return cls(order, codes, starts)


@lru_cache(maxsize=1)  # all metrics share the human score
def _human_levels(human: bytes) -> _Levels:
    return _Levels.of(np.frombuffer(human), "stable")  # quicksort is slow with many ties


def _count_by_sorting(human: Floats, metric: Floats) -> tuple[int, ...]:
    """Count all pairs of two complete vectors, in the order of :data:`KINDS`."""
    by_human, by_metric = _human_levels(human.tobytes()), _Levels.of(metric, "quicksort")
    # Both orders have the same inversions: those of fewer levels are counted faster.
    coarse, fine = sorted((by_human, by_metric), key=lambda by: int(np.count_nonzero(by.starts)))
    order = fine.order
    if not fine.starts.all():  # codes ascend within ties of the other score: no inversions there
        order = coarse.order[np.argsort(fine.codes[coarse.order], kind="stable")]
    codes = coarse.codes[order]
    discordant = _inversions(codes, coarse.codes[coarse.order])
    both_ties = _tied_pairs(fine.starts | _run_starts(codes))
    human_tied, metric_tied = (_tied_pairs(by.starts) for by in (by_human, by_metric))
    clear = len(human) * (len(human) - 1) // 2 - human_tied - metric_tied + both_ties
    return (
        clear - discordant,
        discordant,
        human_tied - both_ties,
        metric_tied - both_ties,
        both_ties,
    )


def _run_starts(ordered: NDArray[Any]) -> Bools:
    """Mark the first of each run of equal values."""
    starts = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    return starts


def _tied_pairs(starts: Bools) -> int:
    """Count the pairs within runs."""
    sizes = np.diff(np.flatnonzero(np.append(starts, True)))
    return int((sizes * (sizes - 1) // 2).sum())


def _inversions(codes: NDArray[Any], ordered: NDArray[Any]) -> int:
    """Count the pairs of codes whose first is the larger one, given the codes in order."""
    # A stable radix sort: a code with the digit 0 moves down by each 1 of its group before it.
    count = 0
    for digit in reversed(range(int(ordered.max(initial=0)).bit_length())):
        bit = codes.dtype.type(1 << digit)
        ones, slots = (codes & bit).astype(bool), (ordered & bit).astype(bool)
        zeros, zero_slots = np.flatnonzero(~ones), np.flatnonzero(~slots)
        count += int(zeros.sum()) - int(zero_slots.sum())
        parted = np.empty_like(codes)
        parted[zero_slots] = codes.take(zeros)
        parted[np.flatnonzero(slots)] = codes.take(np.flatnonzero(ones))
        codes = parted
    return count


def _count_wide_ties(
    human: Floats, metric: Floats, epsilon: float, threshold: float
) -> tuple[int, ...]:
    """Count all pairs of two complete vectors as :func:`_count_by_sorting`, with wide ties."""
    n = len(human)
    order = np.argsort(metric, kind="stable")
    levels, level = np.unique(human[order], return_inverse=True)
    clear = _first_beyond(metric[order], epsilon)
    # A difference below the threshold is one of at most the float before it.
    above = _first_beyond(levels, max(0.0, float(np.nextafter(threshold, -np.inf))))
    below = np.searchsorted(above, np.arange(len(levels)), side="right")
    cells = np.r_[0, np.cumsum(np.bincount(level, minlength=len(levels)))]  # of lower levels
    human_clear = int((n - cells[above[level]]).sum())
    metric_tied = int((clear - np.arange(1, n + 1)).sum())
    higher, lower = above[level], below[level]
    before = _count_below(level, np.r_[clear, clear], np.r_[higher, lower])
    concordant = int((n - clear - cells[higher] + before[:n]).sum())
    discordant = int((cells[lower] - before[n:]).sum())
    metric_ties = human_clear - concordant - discordant
    both_ties = metric_tied - metric_ties
    human_ties = n * (n - 1) // 2 - human_clear - both_ties
    return concordant, discordant, human_ties, metric_ties, both_ties


def _first_beyond(ordered: Floats, epsilon: float) -> Counts:
    """Find for each value of an ascending vector the first later one more than epsilon above it."""
    # Differences are bisected: a search for value + epsilon would round elsewhere.
    n = len(ordered)
    low, high = np.arange(1, n + 1), np.full(n, n)
    while (searching := low < high).any():
        middle = np.minimum((low + high) // 2, n - 1)
        within = ordered[middle] - ordered <= epsilon
        low = np.where(searching & within, middle + 1, low)
        high = np.where(searching & ~within, middle, high)
    return low


def _count_below(codes: Counts, ends: Counts, limits: Counts) -> Counts:
    """Count for each query how many of the first ``end`` codes are below its limit."""
    # A wavelet matrix: codes are parted digit by digit, the highest first.
    counts, first, last = np.zeros_like(ends), np.zeros_like(ends), ends
    top = max(int(codes.max(initial=0)), int(limits.max(initial=0)))
    for digit in reversed(range(top.bit_length())):
        ones = (codes >> digit & 1).astype(bool)
        zeros = np.r_[0, np.cumsum(~ones)]  # among the first 0, 1, 2, ... codes
        before, within = zeros[first], zeros[last]
        up = (limits >> digit & 1).astype(bool)
        counts = counts + np.where(up, within - before, 0)
        first = np.where(up, first - before + zeros[-1], before)
        last = np.where(up, last - within + zeros[-1], within)
        codes = np.r_[codes[~ones], codes[ones]]
    return counts


def threshold_counts(
    human: Floats, metric: Floats, thresholds: Sequence[float], *, epsilon: float = 0.0
) -> PairCounts:
    """Count pairs, given by their differences, for each human threshold.

    Sorted by the human difference, a threshold keeps the pairs from some position on. A human
    difference of 0 is a tie for any threshold.
    """
    known = ~(np.isnan(human) | np.isnan(metric))
    h, m = human[known], metric[known]
    order = np.argsort(np.abs(h), kind="stable")
    h, m = h[order], m[order]
    size = np.abs(h)
    least = np.searchsorted(size, 0.0, side="right")
    first = np.maximum(np.searchsorted(size, np.array(thresholds, dtype=float) - _ROUNDING), least)
    clear = np.abs(m) > epsilon
    n_clear = int(clear.sum())
    decided, concordant = (
        int(flags.sum()) - np.r_[0, np.cumsum(flags)][first]
        for flags in (clear, clear & ((h > 0) == (m > 0)))
    )
    metric_ties = len(h) - first - decided
    both_ties = len(h) - n_clear - metric_ties
    return PairCounts(concordant, decided - concordant, n_clear - decided, metric_ties, both_ties)


def counts_by_group(
    human: Floats, metric: Floats, group: NDArray[np.integer], n_groups: int, threshold: float = 0.0
) -> PairCounts:
    """Count pairs, given by their differences, in each group at one human threshold."""
    known = ~(np.isnan(human) | np.isnan(metric))
    h, m, code = human[known], metric[known], group[known]
    decided = (np.abs(h) >= threshold - _ROUNDING) & (h != 0)
    clear = m != 0
    agree = (h > 0) == (m > 0)
    kinds = (decided & clear & agree, decided & clear & ~agree, ~decided & clear, decided & ~clear,
             ~decided & ~clear)  # fmt: skip
    return PairCounts(*(np.bincount(code[flags], minlength=n_groups) for flags in kinds))


@dataclass(frozen=True, slots=True)
class TieMatrix:
    """What pairs are worth: both orders clear (same or opposite), or tied by one side or both."""

    same: Worth = 1
    opposite: Worth = -1
    metric_tie: Worth = None
    human_tie: Worth = None
    both_tie: Worth = None

    def __post_init__(self) -> None:
        check_number(optional=True, **asdict(self))

    @property
    def worths(self) -> tuple[Worth, ...]:
        """All of them, in the order of the fields."""
        return (self.same, self.opposite, self.metric_tie, self.human_tie, self.both_tie)

    @property
    def lowest(self) -> float:
        """The least that a pair can be worth."""
        return min((worth for worth in self.worths if worth is not None), default=0.0)

    def parts(self, counts: PairCounts) -> tuple[Floats, Floats]:
        """Sum what the pairs of every group are worth, and count those that are not excluded."""
        kinds = ("concordant", "discordant", "metric_ties", "human_ties", "both_ties")
        parts = [(w, getattr(counts, kind)) for w, kind in zip(self.worths, kinds, strict=True)]
        top: Floats = sum((w * n for w, n in parts if w is not None), start=np.zeros(()))
        pairs: Floats = sum((n for w, n in parts if w is not None), start=np.zeros(()))
        return top, pairs

    def value(self, counts: PairCounts) -> Floats:
        """Evaluate every group; NaN where all pairs are excluded."""
        return ratio(*self.parts(counts))


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
    """Return a variant by name."""
    check_text(name=name)
    if name not in KENDALL:
        raise UsageError(f"no Kendall variant '{name}'; {hint(name, KENDALL)}")
    return KENDALL[name]
