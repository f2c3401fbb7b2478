r"""Statistics of resampled systems and segments, by counts instead of copies.

A resample is a count per system (:math:`w_i`), per segment (:math:`u_s`), or both. A pair of
systems occurs :math:`w_i w_j` times; a system and its own copy are no comparison, so such pairs are
dropped. What a statistic sums over pairs is then a product of matrices, for all resamples at once.

- Pearson's r weighs each system by its count; PDP, and r within segments, sum products of
  differences over pairs, which the counts of pairs weigh.
- Spearman's rho is Pearson's r of mid-ranks among the copies: a centred rank is half of
  :math:`\sum_j w_j\, \mathrm{sign}(x_i - x_j)`.
- Kendall's family, pairwise accuracy included, adds up counts of pairs.
- Kendall's tau-c divides by :math:`n^2 (m - 1) / m`, where :math:`m` is the number of levels that
  are present in the resample and :math:`n^2` twice the pairs that take part plus the pairs of a
  cell with itself and its copies: without dropped pairs, the square of the number of copies.

Scores stay as they are: an epsilon is not calibrated again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.stats import correlation
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.kendall.matrices import TieMatrix
from steelyard.stats.kendall.pairs import PairCounts
from steelyard.stats.metametrics.base import MetaMetric, Options
from steelyard.stats.permutation.pvalues import pair_index

#: Differences of means below this share of the largest mean are rounding, hence ties.
ROUNDING = 1e-12
_CELLS = 2_000_000  # numbers in an intermediate array

Sums = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class Statistic:
    """What is computed in each resample.

    ``kind`` is ``products`` (Pearson; PDP if ``pooled``), ``ranks`` (Spearman), ``pairs``
    (``value`` of the counts of pairs) or ``tau-c``. Pooled statistics add up groups before they are
    evaluated, others are means over groups. ``epsilon`` and ``threshold`` are those of
    :func:`~steelyard.stats.kendall.pairs.count_pairs`.
    """

    kind: str
    value: Callable[[PairCounts], Floats] | None = None
    epsilon: float = 0.0
    threshold: float = 0.0
    pooled: bool = False

    @property
    def by_pairs(self) -> bool:
        """Whether it is a function of counts of pairs."""
        return self.kind in ("pairs", "tau-c")


def statistic_of(
    meta: MetaMetric, options: Options, epsilon: float | None = None
) -> Statistic | None:
    """Give what a meta-metric computes; None if it is known by its functions only.

    ``epsilon`` is the calibrated one; statistics that have it know no human threshold.

    Examples
    --------
    >>> from steelyard.stats.metametrics.base import METAMETRICS
    >>> statistic_of(METAMETRICS["pdp"], Options()).pooled
    True
    """
    if meta.matrix is not None:
        pooled = meta.family == "kendall-like"
        threshold = options.threshold if epsilon is None else 0.0
        return Statistic("pairs", meta.matrix.value, epsilon or 0.0, threshold, pooled)
    if meta.family == "pa":
        human_tie, both_tie = (0, 1) if options.pa_ties == "strict" else (None, None)
        accuracy = TieMatrix(opposite=0, metric_tie=0, human_tie=human_tie, both_tie=both_tie)
        return Statistic("pairs", accuracy.value)
    if meta.family == "kendall-b":
        return Statistic("pairs", correlation.kendall_b)
    kinds = {"pearson": "products", "pdp": "products", "spearman": "ranks", "kendall-c": "tau-c"}
    kind = kinds.get(meta.family)
    return None if kind is None else Statistic(kind, pooled=meta.family == "pdp")


def parts(n: int, width: int, limit: int = _CELLS) -> Iterator[slice]:
    """Cut ``n`` rows into slices of about ``limit`` numbers, given the numbers in a row.

    Examples
    --------
    >>> [(part.start, part.stop) for part in parts(5, 4, limit=8)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, limit // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def tally(
    total: np.ndarray,
    clear_human: np.ndarray,
    clear_metric: np.ndarray,
    clear_both: np.ndarray,
    net: np.ndarray,
) -> PairCounts:
    """Give counts of pairs from sums: all, not tied by one side or by both, agreement minus rest.

    Examples
    --------
    >>> one = lambda n: np.array([n])
    >>> counts = tally(one(10), one(8), one(9), one(7), one(3))
    >>> counts.concordant.item(), counts.discordant.item(), counts.both_ties.item()
    (5, 2, 0)
    """
    sums = (
        (clear_both + net) / 2,
        (clear_both - net) / 2,
        clear_metric - clear_both,
        clear_human - clear_both,
        total - clear_human - clear_metric + clear_both,
    )
    return PairCounts(*(x.astype(np.int64) for x in sums))


def tau_c(counts: PairCounts, own: Floats, levels: np.ndarray) -> Floats:
    """Kendall's tau-c in resamples; ``own`` are the pairs of a cell with itself and its copies."""
    return correlation.kendall_c(counts, np.sqrt(2 * counts.total + own), levels)


def correlate(dot: Floats, human: Floats, metric: Floats) -> Floats:
    """Give r from sums of products and squares; NaN where a sum of squares is 0."""
    return np.clip(ratio(dot, np.sqrt(human) * np.sqrt(metric)), -1, 1)


def verdict_terms(
    h: Floats, m: Floats, statistic: Statistic, rounding: tuple[float, float] = (0.0, 0.0)
) -> Sums:
    """What :func:`tally` takes, before it is summed over pairs; missing ones, NaN in both, count 0.

    Differences of at most ``rounding`` are ties as well.
    """
    size_h, size_m = np.abs(h), np.abs(m)
    strict = statistic.threshold > rounding[0]
    clear_h = size_h >= statistic.threshold if strict else size_h > rounding[0]
    clear_m = size_m > max(statistic.epsilon, rounding[1])
    both = clear_h & clear_m
    agree = both & ((h > 0) == (m > 0))
    net = 2 * agree.astype(np.float32) - both
    return (*(x.astype(np.float32) for x in (~np.isnan(h), clear_h, clear_m, both)), net)


def scaled(x: Floats) -> Floats:
    """Divide by the largest value, so that squares neither under- nor overflow."""
    size = largest(x)
    return x / size if size > 0 else x


def largest(x: Floats) -> float:
    """Give the largest absolute value, 0 if there is none."""
    return float(np.abs(x[~np.isnan(x)]).max(initial=0.0))


def system_replicates(
    statistic: Statistic, human: Floats, metric: Floats, systems: Floats | None = None
) -> Floats:
    """Evaluate a statistic of system scores in each resample.

    Parameters
    ----------
    statistic
        What is computed, see :func:`statistic_of`.
    human, metric
        Scores in each resample, resamples x systems; a single row serves all resamples.
    systems
        How often each system occurs, resamples x systems; None for once.

    Examples
    --------
    >>> human, metric = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]])
    >>> counts = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [3.0, 0.0, 0.0]])
    >>> system_replicates(Statistic("products"), human, metric, counts).round(6)
    array([0.5, 1. , nan])
    """
    weights = np.ones((1, human.shape[1])) if systems is None else systems
    rows = max(len(human), len(metric), len(weights))
    if statistic.kind == "products":
        human, metric = scaled(human), scaled(metric)
    rounding = (ROUNDING * largest(human), ROUNDING * largest(metric))
    evaluate = {"products": _system_products, "ranks": _system_ranks}.get(
        statistic.kind, _system_pairs
    )
    found = np.full(rows, np.nan)
    for part in parts(rows, human.shape[1] ** 2):
        h, m, w = (x if len(x) == 1 else x[part] for x in (human, metric, weights))
        lost = np.isnan(h) | np.isnan(m)
        if lost.any():
            h, m, w = np.where(lost, np.nan, h), np.where(lost, np.nan, m), np.where(lost, 0.0, w)
        found[part] = evaluate(statistic, h, m, w, rounding)
    return found


def _sum(weights: Floats, terms: np.ndarray) -> Floats:
    """Weighted sum over the last axis, for each resample; either may be a single row."""
    if len(weights) == 1:
        found: Floats = terms @ weights[0]
    else:
        found = np.einsum("bi,bi->b", *np.broadcast_arrays(weights, terms))
    return found


def _system_products(
    _: Statistic, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float]
) -> Floats:
    present = w > 0
    total = np.maximum(w.sum(axis=1), 1)
    centred = []
    for x, size in zip((h, m), rounding, strict=True):
        if present.all():
            known, spread = x, np.ptp(x, axis=1)
        else:
            known = np.where(present, x, 0.0)
            low = np.where(present, x, np.inf).min(axis=1, initial=np.inf)
            high = np.where(present, x, -np.inf).max(axis=1, initial=-np.inf)
            spread = high - low
        mean = _sum(w, known) / total
        centred.append((known - mean[:, None]) * (spread > size)[:, None])
    a, b = centred
    return correlate(_sum(w, a * b), _sum(w, a * a), _sum(w, b * b))


def _system_ranks(
    _: Statistic, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float]
) -> Floats:
    ranks = []
    for x, size in zip((h, m), rounding, strict=True):
        gap = x[:, :, None] - x[:, None, :]
        above = (gap > size).astype(np.float64) - (gap < -size)
        ranks.append(np.matmul(above, w[:, :, None])[:, :, 0])
    a, b = ranks
    return correlate(_sum(w, a * b), _sum(w, a * a), _sum(w, b * b))


def _system_pairs(
    statistic: Statistic, h: Floats, m: Floats, w: Floats, rounding: tuple[float, float]
) -> Floats:
    i, j = pair_index(w.shape[1])
    terms = verdict_terms(h[:, i] - h[:, j], m[:, i] - m[:, j], statistic, rounding)
    pairs = w[:, i] * w[:, j]
    counts = tally(*(_sum(pairs, term) for term in terms))
    if statistic.kind == "tau-c":
        present = (w > 0).astype(np.float64)
        levels = (
            _levels_of_rows(x, size, present) for x, size in zip((h, m), rounding, strict=True)
        )
        return tau_c(counts, (w * w).sum(axis=1), np.minimum(*levels))
    assert statistic.value is not None
    return statistic.value(counts)


def _levels_of_rows(x: Floats, size: float, present: Floats) -> Counts:
    """Count the distinct values of the systems that are present in each row."""
    same = np.abs(x[:, :, None] - x[:, None, :]) <= size
    share = ratio(present, (same @ present[:, :, None])[:, :, 0])
    found: Counts = np.rint(np.where(present > 0, share, 0.0).sum(axis=1)).astype(np.int64)
    return found
