"""Statistics of the systems on each segment, in resamples of systems and segments."""

from __future__ import annotations

import numpy as np

from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.metametrics.replicates import (
    Statistic,
    Sums,
    correlate,
    parts,
    scaled,
    tally,
    tau_c,
    verdict_terms,
)
from steelyard.stats.permutation.pvalues import pair_index


def item_replicates(
    statistic: Statistic,
    human: Floats,
    metric: Floats,
    systems: Floats | None = None,
    segments: Floats | None = None,
) -> Floats:
    """Evaluate a statistic of the systems on each segment; mean (or pool) over segments.

    Parameters
    ----------
    statistic
        What is computed, see :func:`~steelyard.stats.metametrics.replicates.statistic_of`.
    human, metric
        Systems x segments; cells that either lacks take no part.
    systems, segments
        How often each occurs, resamples x systems and resamples x segments; None for once. The
        mean is over the resampled segments on which the statistic is defined.

    Examples
    --------
    >>> from steelyard.stats.correlation import kendall_b
    >>> human = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    >>> metric = np.array([[1.0, 1.0], [3.0, 2.0], [2.0, 3.0]])
    >>> counts = np.array([[1.0, 1.0, 1.0], [2.0, 1.0, 0.0]])
    >>> item_replicates(Statistic("pairs", kendall_b), human, metric, counts).round(6)
    array([0.574915, 1.      ])
    """
    lost = np.isnan(human) | np.isnan(metric)
    used = (~lost).sum(axis=0) > 1  # no value elsewhere
    h, m = (np.where(lost, np.nan, x)[:, used] for x in (human, metric))
    segments = None if segments is None else segments[:, used]
    if statistic.kind == "products":
        h, m = scaled(h), scaled(m)
    n, n_segments = h.shape
    i, j = pair_index(n)
    rows = max(1 if x is None else len(x) for x in (systems, segments))
    once = np.ones((1, n))
    top, bottom = np.zeros(rows), np.zeros(rows)
    pooled: list[Floats] = []
    for columns in parts(n_segments, max(len(i), n * n)):
        a, b = h[:, columns], m[:, columns]
        gaps = a[i] - a[j], b[i] - b[j]
        terms: Sums = ()
        if statistic.kind == "products":
            terms = _product_terms(*gaps)
        elif statistic.by_pairs:
            terms = verdict_terms(*gaps, statistic)
        for part in parts(rows, max(len(i), a.shape[1])):
            w = once if systems is None else systems[part]
            u = np.ones((1, 1)) if segments is None else segments[part, columns]
            pairs = (w[:, i] * w[:, j]).astype(terms[0].dtype) if terms else None
            sums = tuple(pairs @ term for term in terms)
            if statistic.pooled:
                pooled = pooled or [np.zeros(rows) for _ in sums]
                for whole, own in zip(pooled, sums, strict=True):
                    whole[part] += (own * u).sum(axis=1)
                continue
            values = _item_values(statistic, a, b, w, sums)
            known = ~np.isnan(values)
            top[part] += (np.where(known, values, 0.0) * u).sum(axis=1)
            bottom[part] += (known * u).sum(axis=1)
    if statistic.pooled:
        return _of_sums(statistic, tuple(pooled)) if pooled else np.full(rows, np.nan)
    return ratio(top, bottom)


def _product_terms(h: Floats, m: Floats) -> Sums:
    """Products of differences that are summed over pairs; missing ones, NaN in both, count 0."""
    known = ~np.isnan(h)
    h, m = np.where(known, h, 0.0), np.where(known, m, 0.0)
    return h * m, h * h, m * m


def _of_sums(statistic: Statistic, sums: Sums) -> Floats:
    if statistic.kind == "products":
        return correlate(*sums)
    assert statistic.value is not None
    return statistic.value(tally(*sums))


def _item_values(statistic: Statistic, a: Floats, b: Floats, w: Floats, sums: Sums) -> Floats:
    """Values of each resample (row) on each segment (column)."""
    if statistic.kind == "ranks":
        return _item_ranks(a, b, w)
    if statistic.kind == "tau-c":
        known = (~np.isnan(a)).astype(np.float64)
        levels = np.minimum(_levels_of_items(a, w), _levels_of_items(b, w))
        return tau_c(tally(*sums), (w * w) @ known, levels)
    return _of_sums(statistic, sums)


def _item_ranks(a: Floats, b: Floats, w: Floats) -> Floats:
    # Whole numbers of at most n^3: exact in single precision where n is small.
    kind = np.float32 if len(a) <= 200 else np.float64
    narrow = w.astype(kind)
    sums = [np.zeros((len(w), a.shape[1]), dtype=kind) for _ in range(3)]
    for i in range(len(a)):
        x, y = (narrow @ _sign(c[i] - c).astype(kind) for c in (a, b))  # 0 where it is missing
        for k, product in enumerate((x * y, x * x, y * y)):
            sums[k] += narrow[:, [i]] * product
    return correlate(*(x.astype(np.float64) for x in sums))


def _sign(gap: Floats) -> Floats:
    return np.where(np.isnan(gap), 0.0, np.sign(gap))


def _levels_of_items(x: Floats, w: Floats) -> Counts:
    """Count distinct values of the systems that are present: resamples x segments."""
    present = (w > 0).astype(np.float32)
    levels = np.zeros((len(w), x.shape[1]), dtype=np.int64)
    for i in range(len(x)):
        same = (x[i] == x[:i]).astype(np.float32)  # never true for missing cells
        levels += (present[:, [i]] > present[:, :i] @ same) & ~np.isnan(x[i])
    return levels
