r"""Intervals by resampling segments, documents or systems, by counts instead of copies.

A resample is a count per segment or system. Sums over the resampled segments are products of counts
and what was summed, so all resamples of all metrics are a few matrix products. Copies of a segment
carry signs of their own in a permutation test: its null weighs powers of differences by the
counts, :math:`\sum_s w_s x_s^2`, not by their squares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.core.options import check_fraction, check_whole
from steelyard.core.progress import each
from steelyard.stats.arrays import Counts, Floats, ratio, weighted_sums
from steelyard.stats.permutation.pairsums import Singles, differences
from steelyard.stats.permutation.pvalues import block_sums, pair_index
from steelyard.stats.permutation.tails import quick_p

_DRAWN = 1 << 15  # units drawn at a time
_HELD = 1 << 20  # differences that are held at a time
_LARGE = 1 << 26  # counts from which on they are held in a byte each
_PAIRED = 1 << 24  # pairs of systems x resamples at a time


def segment_counts(
    n_resamples: int,
    n_segments: int,
    rng: np.random.Generator,
    blocks: Counts | None = None,
    *,
    compact: bool = False,
) -> Floats:
    """Draw how often each segment occurs in each resample; whole blocks where they are given.

    ``compact`` holds many in a byte each, for :func:`~steelyard.stats.arrays.weighted_sums`.

    Examples
    --------
    >>> import numpy as np
    >>> counts = segment_counts(3, 5, np.random.default_rng(0))
    >>> counts.shape, counts.sum(axis=1).tolist()
    ((3, 5), [5.0, 5.0, 5.0])
    """
    check_whole(n_segments=n_segments)
    if blocks is None:
        return draw_counts(n_resamples, n_segments, rng, compact=compact)
    if blocks.shape != (n_segments,):
        raise ShapeError(f"{n_segments} segments but {blocks.shape} block codes")
    codes = np.unique(blocks, return_inverse=True)[1]
    bytes_each = compact and n_resamples * n_segments > _LARGE
    n_units = int(codes.max(initial=-1)) + 1
    return draw_counts(n_resamples, n_units, rng, compact=bytes_each)[:, codes]


def draw_counts(
    n_resamples: int,
    n: int,
    rng: np.random.Generator,
    size: int | None = None,
    *,
    compact: bool = False,
) -> Floats:
    """Draw ``size`` (None: ``n``) of ``n`` units with replacement; count each in each resample.

    ``compact`` holds many of them in a byte each, where no unit can occur too often for that.
    """
    check_whole(1, n_resamples=n_resamples)
    check_whole(n=n)
    check_whole(optional=True, size=size)
    each = n if size is None else size
    in_bytes = compact and n_resamples * n > _LARGE and each <= n
    counts: Floats = np.empty((n_resamples, n), dtype=np.uint8 if in_bytes else np.float64)
    step = max(1, _DRAWN // max(each, n, 1))
    for start in range(0, n_resamples, step):  # the same draws as all at once, in the cache
        rows = min(step, n_resamples - start)
        drawn = rng.integers(0, max(n, 1), size=(rows, each))
        drawn += np.arange(rows)[:, None] * n
        flat = np.bincount(drawn.ravel(), minlength=rows * n)
        counts[start : start + rows] = flat.reshape(rows, n)
    return counts


def pair_weights(systems: Floats) -> Floats:
    """Give how often each pair i < j of different systems occurs, from counts of systems.

    Examples
    --------
    >>> import numpy as np
    >>> pair_weights(np.array([[2.0, 1.0, 0.0]])).tolist()
    [[2.0, 0.0, 0.0]]
    """
    i, j = pair_index(systems.shape[1])
    return systems[:, i] * systems[:, j]


def bootstrap_spa(
    human: Floats,
    metrics: Floats,
    *,
    segments: Floats | None = None,
    pairs: Floats | None = None,
    blocks: Counts | None = None,
) -> Floats:
    """Soft pairwise accuracy of each metric in each resample: resamples x metrics.

    Parameters
    ----------
    human, metrics
        Systems x segments, and metrics x systems x segments; cells that either lacks take no part.
    segments
        Counts per segment (see :func:`segment_counts`), None to keep each once.
    pairs
        Weights per pair of systems (see :func:`pair_weights`), None for equal ones.
    blocks
        A code per segment: segments with the same code change sign together. They must have been
        drawn together, too.

    p-values are normal with the first Edgeworth term, in float32, from sums that are exact: the
    result does not depend on how a library orders them, hence not on its number of threads. Squares
    and fourth powers are rounded beforehand, which moves p-values by 1e-6 at most.
    """
    n_pairs = math.comb(len(human), 2)
    counts = np.ones((1, human.shape[1])) if segments is None else segments
    if blocks is not None:
        counts = counts[:, np.unique(blocks, return_index=True)[1]]
    else:  # segments that nobody judged take no part
        judged = ~np.isnan(human).all(axis=0)
        if not judged.all():
            counts, human = counts[:, judged], human[:, judged]
            metrics = metrics[:, :, judged]
    draws = _Draws.of(counts, blocks)
    n = max(len(counts), 1 if pairs is None else len(pairs))
    step = n if len(counts) == 1 else max(1, _PAIRED // max(1, n_pairs))
    parts = []
    for start in each(range(0, n, step)):  # many pairs: some resamples at a time
        own = slice(start, start + step)
        weights = pairs if pairs is None or len(pairs) == 1 else pairs[own]
        parts.append(_spa_in(draws.take(own), human, metrics, weights))
    return np.concatenate(parts)


def _spa_in(draws: _Draws, human: Floats, metrics: Floats, pairs: Floats | None) -> Floats:
    """Soft pairwise accuracy in some resamples, as :func:`bootstrap_spa` gives it."""
    i, j = pair_index(len(human))
    weights = np.ones((1, len(i))) if pairs is None else pairs
    whole = differences(human, i, j)
    known: dict[bytes, Singles] = {}
    columns = []
    every = np.ones(whole.shape, dtype=bool)
    gaps = bool(np.isnan(human.sum()))
    step = max(1, _HELD // max(1, whole.size))
    for start in range(0, len(metrics), step):
        parts, keys = [], []
        for metric in metrics[start : start + step]:
            gap = differences(metric, i, j)
            lacks = gaps or np.isnan(metric.sum())
            both = ~(np.isnan(whole) | np.isnan(gap)) if lacks else every
            key = np.packbits(both).tobytes() if lacks else b""
            keys.append((both.any(axis=1), key))
            if keys[-1][1] not in known:
                (known[keys[-1][1]],) = draws.pvalues([draws.part(whole.copy(), human, both)])
            parts.append(draws.part(gap, metric, both))
        for p, (used, key) in zip(draws.pvalues(parts), keys, strict=True):
            p -= known[key]  # noqa: PLW2901 - memory that is used again
            shared = used * weights
            np.abs(p, out=p)
            if pairs is None and used.all():
                agreed = len(p) - np.add.reduce(p, axis=0, dtype=np.float64)
            else:
                agreed = (np.subtract(1, p, dtype=np.float64) * shared.T).sum(axis=0)
            columns.append(ratio(agreed, shared.sum(axis=1)))
    return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True)
class _Part:
    """Differences of pairs that two scores have, and the scores of systems if that is all."""

    gap: Floats  # 0 where either score lacks something
    systems: Floats | None


@dataclass(frozen=True, slots=True)
class _Draws:
    """Resamples of segments, or of blocks of them: how often each occurs, in both precisions."""

    counts: Floats
    single: Singles
    blocks: Counts | None
    often: float  # how often a unit occurs in a resample, at most
    most: float  # units in the largest resample

    @classmethod
    def of(cls, counts: Floats, blocks: Counts | None) -> _Draws:
        """Look at counts once."""
        often, most = counts.max(initial=0.0), counts.sum(axis=1).max(initial=0.0)
        return cls(counts, counts.astype(np.float32), blocks, float(often), float(most))

    def take(self, rows: slice) -> _Draws:
        """Keep some resamples; sums are rounded as those of all are."""
        return replace(self, counts=self.counts[rows], single=self.single[rows])

    def part(self, gap: Floats, scores: Floats, both: NDArray[np.bool_]) -> _Part:
        """Scale the differences that both scores have; ``scores`` are of systems.

        Overwrites the differences: fresh memory takes longer than to compute them.
        """
        complete = bool(both.all())
        x = block_sums(gap if complete else np.where(both, gap, 0.0), self.blocks)
        scale = np.sqrt((x * x).sum() / max(x.size, 1)) or 1.0
        x /= scale
        if not complete:
            return _Part(x, None)
        # Fewer rows: the lead of one system is the difference of two sums.
        return _Part(x, block_sums((scores - scores.mean()) / scale, self.blocks))

    def pvalues(self, parts: Sequence[_Part]) -> Iterator[Singles]:
        """Yield p-values of all pairs in each resample: pairs x resamples, for each part.

        Parts share a product, which reads the counts once.
        """
        rows = [
            on_grid(part.gap if part.systems is None else part.systems, self.most) for part in parts
        ]
        if not rows:
            return
        every = np.concatenate(rows) @ self.counts.T
        powers = np.empty((2, *parts[0].gap.shape))
        single = np.empty((2 * len(powers[0]), powers.shape[-1]), dtype=np.float32)
        start = 0
        for part, own in zip(parts, rows, strict=True):
            lead = every[start : start + len(own)]
            start += len(own)
            if part.systems is not None:
                lead = differences(lead, *pair_index(len(own)))
            np.multiply(part.gap, part.gap, out=powers[0])
            np.multiply(powers[0], powers[0], out=powers[1])
            sums = self._sums(powers.reshape(-1, powers.shape[-1]), single)
            second, fourth = sums.reshape(2, len(part.gap), -1)
            yield quick_p(lead.astype(np.float32), second, fourth)

    def _sums(self, values: Floats, single: Singles) -> Singles:
        """Sum rows of values that are not negative, without rounding, as :func:`exact_sums` does.

        The grid has so few steps that single precision adds them up. Rounding is at random: of the
        sum over n segments it is some 1e-6 sqrt(n) / n. Overwrites the values; ``single`` is memory
        to work in.
        """
        bound = self.often * values.sum(axis=1)
        power = np.frexp(np.where(bound > 0, bound, 1.0))[1] - 24.0
        values *= np.exp2(-power)[:, None]
        np.copyto(single, np.rint(values, out=values), casting="same_kind")
        found: Singles = single @ self.single.T
        found *= np.exp2(power).astype(np.float32)[:, None]
        return found


def exact_sums(counts: Floats, values: Floats, most: float | None = None) -> Floats:
    """Sum the rows of values as often as counts say, without rounding: resamples x rows.

    Values are rounded beforehand, to a grid that is fine enough (51 bits for the largest sum) and
    on which no sum needs rounding. Sums in any order are then the same to the last bit. ``most``
    are the units in the largest resample, where that is known.

    Examples
    --------
    >>> import numpy as np
    >>> exact_sums(np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([[0.5, 1.0], [3.0, -1.0]])).tolist()
    [[2.0, 5.0], [3.0, -3.0]]
    """
    most = float(counts.sum(axis=1).max(initial=0.0)) if most is None else most
    result: Floats = counts @ on_grid(values, most).T
    return result


def on_grid(values: Floats, most: float) -> Floats:
    """Round values to a grid on which no sum of so many of them needs rounding."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest * most:
        return np.zeros(values.shape)
    far = 1.5 * 2.0 ** (np.frexp(largest * most)[1] + 1)  # beside it, numbers have its steps
    rounded: Floats = values + far
    rounded -= far
    return rounded


def bootstrap_means(scores: Floats, segments: Floats) -> Floats:
    """Means of each row over its resampled known segments: resamples x rows.

    Examples
    --------
    >>> import numpy as np
    >>> bootstrap_means(np.array([[1.0, 3.0], [5.0, np.nan]]), np.array([[2.0, 0.0], [0.0, 2.0]]))
    array([[ 1.,  5.],
           [ 3., nan]])
    """
    return next(stacked_means([scores], segments))


def stacked_means(matrices: Sequence[Floats], segments: Floats) -> Iterator[Floats]:
    """Yield what :func:`bootstrap_means` gives of each of several matrices.

    They share a product, which reads the counts once, as far as somebody has a score.
    """
    most = float(segments.sum(axis=1).max(initial=0.0))
    size = max([1, *(len(segments) * len(scores) for scores in matrices)])
    held = max(1, _HELD // size)
    used: dict[bytes, tuple[Counts, Floats]] = {}
    totals: dict[tuple[bytes, bytes], Floats] = {}
    for start in range(0, len(matrices), held):
        some = matrices[start : start + held]
        known = [~np.isnan(scores) for scores in some]
        anyone = np.logical_or.reduce([own.any(axis=0) for own in known])
        if anyone.tobytes() not in used:
            some_counts = segments if anyone.all() else segments[:, anyone]
            used[anyone.tobytes()] = np.flatnonzero(anyone), some_counts
        columns, counts = used[anyone.tobytes()]
        rows = [
            on_grid(np.where(own, scores, 0.0)[:, columns], most)
            for own, scores in zip(known, some, strict=True)
        ]
        sums = weighted_sums(counts, np.concatenate(rows).T)
        at = 0
        for own in known:
            alike = own[:1] if (own == own[:1]).all() else own  # mostly, all rows know the same
            key = anyone.tobytes(), alike.tobytes()
            if key not in totals:
                if alike.all():
                    totals[key] = counts.sum(axis=1, dtype=np.float64)[:, None]
                else:
                    totals[key] = weighted_sums(counts, alike[:, columns].T.astype(np.float64))
            yield ratio(sums[:, at : at + len(own)], totals[key])
            at += len(own)


def row_medians(scores: Floats) -> Floats:
    """Median of the known scores of each row; NaN for an empty row.

    Examples
    --------
    >>> row_medians(np.array([[3.0, 1.0, 2.0], [np.nan, 4.0, 6.0], [np.nan] * 3])).tolist()
    [2.0, 5.0, nan]
    """
    known = ~np.isnan(scores).all(axis=1)
    result = np.full(len(scores), np.nan)
    if known.any():
        result[known] = np.nanmedian(scores[known], axis=1)
    return result


def bootstrap_groups(values: Floats, weights: Floats, counts: Floats) -> Floats:
    """Weighted mean over groups that are defined, in each resample of the groups.

    ``values`` and ``weights`` are metrics x groups, ``counts`` resamples x groups.
    """
    known = ~np.isnan(values)
    share = np.where(known, weights, 0.0)
    sums = exact_sums(counts, np.where(known, values, 0.0) * share)
    return ratio(sums, exact_sums(counts, share))


def interval(replicates: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Percentile interval of each column; NaN where fewer than half of the resamples are defined.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = interval(np.arange(101.0)[:, None], level=0.9)
    >>> low.round(9).tolist(), high.round(9).tolist()
    ([5.0], [95.0])
    """
    check_fraction(level=level)
    tail = (1 - level) / 2
    ascending = np.sort(replicates, axis=0)  # NaN last
    known = (~np.isnan(replicates)).sum(axis=0)
    defined = known * 2 >= len(replicates)
    low, high = (_quantile(ascending, known, q) for q in (tail, 1 - tail))
    return np.where(defined, low, np.nan), np.where(defined, high, np.nan)


def _quantile(ascending: Floats, known: NDArray[np.int64], q: float) -> Floats:
    """Quantile of the first ``known`` values of each column, between neighbours in proportion."""
    place = np.maximum(known - 1, 0) * q
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(known - 1, 0))
    share = place - below
    a, b = (np.take_along_axis(ascending, at[None], axis=0)[0] for at in (below, above))
    with np.errstate(invalid="ignore"):
        found = np.where(share < 0.5, a + (b - a) * share, b - (b - a) * (1 - share))
    return np.asarray(found, dtype=np.float64)


def rank_shares(places: Floats) -> Floats:
    """Share of the resamples in which each row takes each place; NaN where it never has one.

    ``places`` are resamples x rows (:mod:`steelyard.stats.ranks`), the result is rows x places.

    Examples
    --------
    >>> import numpy as np
    >>> rank_shares(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    n = places.shape[1]
    known = (~np.isnan(places)).sum(axis=0)
    counts = np.stack([(places == k + 1).sum(axis=0) for k in range(n)], axis=1)
    return ratio(counts, known[:, None])
