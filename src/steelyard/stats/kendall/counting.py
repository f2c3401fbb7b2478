"""Counting pairs: concordant, discordant, and tied in the human score, the metric, or both.

All of Kendall's family is a function of these five counts; a :class:`TieMatrix` says what each
combination of human and metric order is worth: 1 agrees, -1 disagrees, 0 counts in the denominator
only, None leaves the pair out. The value is their sum over their number.

Within groups (segments, say) pairs are counted for all groups at once; one long vector is counted
by ranks, without forming pairs; and pairs whose differences are known are counted under many human
thresholds at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError, UsageError, hint
from steelyard.core.options import check_number, check_numbers, check_text, check_whole
from steelyard.stats.arrays import Counts, Floats, ratio

Worth = float | None
Bools = NDArray[np.bool_]
GROUPS = ("none", "item", "system")
KINDS = ("concordant", "discordant", "human_ties", "metric_ties", "both_ties")
#: Scores are means of whole numbers: what rounding took from a difference is given back.
ROUNDING = 1e-9
_MOST_ROWS = 100  # longer groups never form their pairs
_CACHED = 64_000  # pairs that are worked on together


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

    def pooled(self) -> PairCounts:
        """Add up the groups."""
        return PairCounts(*(np.atleast_1d(getattr(self, kind).sum()) for kind in KINDS))


def grouped(x: Floats, group_by: str | None) -> Floats:
    """Arrange a systems x segments matrix so that columns are groups."""
    if group_by in (None, "none"):
        return x.reshape(-1, 1)
    return x if group_by == "item" else x.T


def count_columns(
    human: Floats, metric: Floats, *, epsilon: float = 0.0, threshold: float = 0.0
) -> PairCounts:
    """Count the pairs of rows within each column, however long the columns are."""
    if len(human) <= _MOST_ROWS:
        return count_pairs(human, metric, epsilon=epsilon, threshold=threshold)
    known = ~(np.isnan(human) | np.isnan(metric))
    counts = [
        count_pairs_flat(a[k], b[k], epsilon=epsilon, threshold=threshold)
        for a, b, k in zip(human.T, metric.T, known.T, strict=True)
    ]
    return PairCounts(*(np.concatenate([getattr(c, kind) for c in counts]) for kind in KINDS))


def count_pairs(
    human: Floats, metric: Floats, *, epsilon: float = 0.0, threshold: float = 0.0
) -> PairCounts:
    """Count the pairs of rows within each column; cells missing in either score take no part.

    Parameters
    ----------
    human, metric
        Items x groups (systems x segments, to count within segments).
    epsilon
        Metric differences of at most this are ties.
    threshold
        Human differences below this are ties.

    Examples
    --------
    >>> import numpy as np
    >>> human = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, np.nan]])
    >>> metric = np.array([[0.1, 0.5], [0.3, 0.5], [0.2, 0.9]])
    >>> counts = count_pairs(human, metric)
    >>> counts.concordant.tolist(), counts.discordant.tolist(), counts.both_ties.tolist()
    ([2, 0], [1, 0], [0, 1])
    """
    check_number(0, epsilon=epsilon, threshold=threshold)
    if human.shape != metric.shape or human.ndim != 2:
        raise ShapeError(f"expected two matrices of one shape, got {human.shape}, {metric.shape}")
    known = ~(np.isnan(human) | np.isnan(metric))
    if not known.all():
        human, metric = np.where(known, human, np.nan), np.where(known, metric, np.nan)
    n = known.sum(axis=0)
    concordant, clear, clear_h, clear_m = _add_up(human, metric, epsilon, threshold)
    ties_h, ties_m = clear_m - clear, clear_h - clear
    both = n * (n - 1) // 2 - clear - ties_h - ties_m
    return PairCounts(concordant, clear - concordant, ties_h, ties_m, both)


def _add_up(human: Floats, metric: Floats, epsilon: float, threshold: float) -> Counts:
    """Count in each column the pairs of rows that both order alike, both, people, and the metric.

    Rows are compared with all later ones at once, and what is found is worked on as soon as there
    is much of it: memory that stays in the cache, and few operations.
    """
    n, width = human.shape
    # Numbers of pairs that fit into bytes are added up many at a time.
    dtype = np.uint8 if n <= 23 else np.int64
    sums = np.zeros((4, width), dtype=dtype)
    space = [np.empty((max(n - 1, _CACHED // max(1, width)), width), np.bool_) for _ in range(4)]
    filled = 0
    for i in range(n - 1):
        end = filled + n - 1 - i
        h_up, h_down, m_up, m_down = (own[filled:end] for own in space)
        _compare(human, i, threshold, h_up, h_down, at_least=True)
        _compare(metric, i, epsilon, m_up, m_down, at_least=False)
        filled = end
        if i + 2 < n and filled + n - 2 - i <= len(space[0]):
            continue
        h_up, h_down, m_up, m_down = (own[:filled] for own in space)
        same = h_up & m_up
        h_up |= h_down
        h_down &= m_down
        same |= h_down
        m_up |= m_down
        both = np.bitwise_and(h_up, m_up, out=h_down)
        for row, part in enumerate((same, both, h_up, m_up)):
            sums[row] += np.add.reduce(part, axis=0, dtype=dtype)
        filled = 0
    return sums.astype(np.int64)


def _compare(x: Floats, i: int, margin: float, up: Bools, down: Bools, *, at_least: bool) -> None:
    """Tell which later rows lie below row i and which above, by more than a margin or so much."""
    own, others = x[i], x[i + 1 :]
    if not margin:
        np.greater(own, others, out=up)
        np.less(own, others, out=down)
        return
    gap = own - others
    more, less = (np.greater_equal, np.less_equal) if at_least else (np.greater, np.less)
    more(gap, margin, out=up)
    less(gap, -margin, out=down)


def count_pairs_flat(
    human: Floats, metric: Floats, *, epsilon: float = 0.0, threshold: float = 0.0
) -> PairCounts:
    """Count all pairs of one long vector as ``count_pairs`` does; no missing values.

    In order of the metric, the metric ties of a cell are the cells up to some place, and in order
    of the human score, those clearly above or below it are the levels from some other on. Counting
    is then counting ranks: O(n log n) time, O(n) memory.

    Examples
    --------
    >>> import numpy as np
    >>> human, metric = np.array([0.0, 1, 1]), np.array([5.0, 4, 6])
    >>> counts = count_pairs_flat(human, metric)
    >>> counts.concordant.item(), counts.discordant.item(), counts.human_ties.item()
    (1, 1, 1)
    >>> count_pairs_flat(human, metric, epsilon=1.0).metric_ties.item()
    2
    """
    check_number(0, epsilon=epsilon, threshold=threshold)
    n = len(human)
    order = np.argsort(metric, kind="stable")
    levels, own = np.unique(human[order], return_inverse=True)
    clear = reach(metric[order], epsilon)
    # A difference below the threshold is one of at most the float before it.
    above = reach(levels, max(0.0, float(np.nextafter(threshold, -np.inf))))
    below = np.searchsorted(above, np.arange(len(levels)), side="right")
    cells = np.r_[0, np.cumsum(np.bincount(own, minlength=len(levels)))]  # of lower levels
    human_clear = int((n - cells[above[own]]).sum())
    metric_tied = int((clear - np.arange(1, n + 1)).sum())
    higher, lower = above[own], below[own]
    before = count_below(own, np.r_[clear, clear], np.r_[higher, lower])
    concordant = int((n - clear - cells[higher] + before[:n]).sum())
    discordant = int((cells[lower] - before[n:]).sum())
    metric_ties = human_clear - concordant - discordant
    both_ties = metric_tied - metric_ties
    human_ties = n * (n - 1) // 2 - human_clear - both_ties
    values = (concordant, discordant, human_ties, metric_ties, both_ties)
    return PairCounts(*(np.array([value], dtype=np.int64) for value in values))


def reach(ordered: Floats, epsilon: float, end: Counts | None = None) -> Counts:
    """Find for each value of an ascending vector the first later place more than epsilon above it.

    Differences are compared as the floats they are: they never fall along the vector, so that they
    can be bisected, whereas a search for value + epsilon would round elsewhere. With ``end``, each
    value looks no further than there.

    Examples
    --------
    >>> import numpy as np
    >>> reach(np.array([0.0, 0.1, 0.1, 0.4]), 0.1).tolist()
    [3, 3, 3, 4]
    """
    n = len(ordered)
    low = np.arange(1, n + 1)
    high = np.full(n, n) if end is None else end.copy()
    while (searching := low < high).any():
        middle = np.minimum((low + high) // 2, n - 1)
        within = ordered[middle] - ordered <= epsilon
        low = np.where(searching & within, middle + 1, low)
        high = np.where(searching & ~within, middle, high)
    return low


def count_below(codes: Counts, ends: Counts, bounds: Counts) -> Counts:
    """Count for each query how many of the first ``end`` codes are below its bound.

    Digit by digit, the highest first: of the codes that agree with the bound so far, those with a
    0 where it has a 1 are below it. The others are followed to where they stand after the codes
    are parted by that digit (a wavelet matrix).

    Examples
    --------
    >>> import numpy as np
    >>> count_below(np.array([2, 0, 1, 1]), np.array([2, 3, 4]), np.array([1, 2, 2])).tolist()
    [1, 2, 3]
    """
    counts, first, last = np.zeros_like(ends), np.zeros_like(ends), ends
    top = max(int(codes.max(initial=0)), int(bounds.max(initial=0)))
    for digit in reversed(range(top.bit_length())):
        one = (codes >> digit & 1).astype(bool)
        zeros = np.r_[0, np.cumsum(~one)]  # among the first 0, 1, 2, ... codes
        before, within = zeros[first], zeros[last]
        up = (bounds >> digit & 1).astype(bool)
        counts = counts + np.where(up, within - before, 0)
        first = np.where(up, first - before + zeros[-1], before)
        last = np.where(up, last - within + zeros[-1], within)
        codes = np.r_[codes[~one], codes[one]]
    return counts


def threshold_counts(
    human: Floats, metric: Floats, thresholds: Sequence[float], *, epsilon: float = 0.0
) -> PairCounts:
    """Count pairs by what people and the metric say of their order, for each threshold.

    In order of the human difference, the pairs that a threshold keeps are those from some place on,
    so one sort and running sums serve all thresholds.

    Parameters
    ----------
    human, metric
        Difference of each pair; pairs that lack either take no part.
    thresholds
        Human differences below one are ties; a difference of 0 is one for any threshold.
    epsilon
        Metric differences of at most this are ties.

    Examples
    --------
    >>> counts = threshold_counts(np.array([30.0, -10, 50]), np.array([1.0, 2, 0]), [0, 25])
    >>> counts.concordant.tolist(), counts.discordant.tolist(), counts.human_ties.tolist()
    ([1, 1], [1, 0], [0, 1])
    """
    check_numbers(0, empty=True, thresholds=thresholds)
    check_number(0, epsilon=epsilon)
    if human.shape != metric.shape or human.ndim != 1:
        raise ShapeError(f"expected two vectors of one length, got {human.shape}, {metric.shape}")
    known = ~(np.isnan(human) | np.isnan(metric))
    h, m = human[known], metric[known]
    order = np.argsort(np.abs(h), kind="stable")
    h, m = h[order], m[order]
    size = np.abs(h)
    least = np.searchsorted(size, 0.0, side="right")
    first = np.maximum(np.searchsorted(size, np.array(thresholds, dtype=float) - ROUNDING), least)
    clear = np.abs(m) > epsilon
    agree = clear & ((h > 0) == (m > 0))
    kept = len(h) - first
    decided, concordant = _from(clear, first), _from(agree, first)
    tied = len(h) - int(clear.sum())
    metric_ties = kept - decided
    human_ties = int(clear.sum()) - decided
    return PairCounts(concordant, decided - concordant, human_ties, metric_ties, tied - metric_ties)


def counts_by_group(
    human: Floats,
    metric: Floats,
    group: NDArray[np.integer],
    n_groups: int,
    *,
    threshold: float = 0.0,
    epsilon: float = 0.0,
) -> PairCounts:
    """Count the pairs of each group (segment, document) at one threshold.

    ``human`` and ``metric`` are differences of pairs, as in :func:`threshold_counts`, and ``group``
    a code for each pair.

    Examples
    --------
    >>> gaps = np.array([30.0, -10, 50]), np.array([1.0, 2, 0])
    >>> counts = counts_by_group(*gaps, np.array([0, 0, 1]), 2)
    >>> counts.concordant.tolist(), counts.discordant.tolist(), counts.metric_ties.tolist()
    ([1, 0], [1, 0], [0, 1])
    """
    check_number(0, threshold=threshold, epsilon=epsilon)
    check_whole(n_groups=n_groups)
    known = ~(np.isnan(human) | np.isnan(metric))
    h, m, code = human[known], metric[known], group[known]
    people = (np.abs(h) >= threshold - ROUNDING) & (h != 0)
    clear = np.abs(m) > epsilon
    agree = (h > 0) == (m > 0)
    kinds = (people & clear & agree, people & clear & ~agree, ~people & clear, people & ~clear,
             ~people & ~clear)  # fmt: skip
    return PairCounts(*(np.bincount(code[own], minlength=n_groups) for own in kinds))


def _from(true: np.ndarray, first: Counts) -> Counts:
    """Count what is true from each place on."""
    before = np.r_[0, np.cumsum(true)]
    counts: Counts = before[-1] - before[first]
    return counts


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

    def parts(self, counts: PairCounts) -> tuple[Floats, Floats]:
        """Give what the pairs of every group are worth together, and how many take part."""
        kinds = ("concordant", "discordant", "metric_ties", "human_ties", "both_ties")
        parts = [(w, getattr(counts, kind)) for w, kind in zip(self.worths, kinds, strict=True)]
        top: Floats = sum((w * n for w, n in parts if w is not None), start=np.zeros(()))
        pairs: Floats = sum((n for w, n in parts if w is not None), start=np.zeros(()))
        return top, pairs

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
    """Give a variant by name."""
    check_text(name=name)
    if name not in KENDALL:
        raise UsageError(f"no Kendall variant '{name}'; {hint(name, KENDALL)}")
    return KENDALL[name]
