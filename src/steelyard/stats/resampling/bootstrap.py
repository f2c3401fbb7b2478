r"""Resampling by counts: how often each segment, document or system was drawn, never copies of it.

Sums over the resampled segments are products of counts and what was summed, so all resamples of all
metrics are a few matrix products. Copies of a segment carry signs of their own in a permutation
test: its null weighs powers of differences by the counts, :math:`\sum_s w_s x_s^2`, not by their
squares. Values are rounded to a grid before they are summed (:func:`on_grid`), so that sums, and
what is decided by them, do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.progress import each
from steelyard.stats.arrays import Counts, Floats, quantile, ratio, weighted_sums
from steelyard.stats.permutation.pvalues import block_sums, pair_index
from steelyard.stats.permutation.tails import quick_p

Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]

_DRAWN = 1 << 15  # units drawn at a time
_HELD = 1 << 20  # differences that are held at a time
_LARGE = 1 << 26  # counts from which on they are held in a byte each
_MANY, _NEAR = 256, 8.0  # segments whose medians are looked for so many roots from the middle
_ROWS = 16  # rows whose medians are looked for together
_PAIRED = 1 << 24  # pairs of systems x resamples at a time
_GROUPS = 1 << 15  # groups in which very many units are drawn


def segment_counts(
    n_resamples: int,
    n_segments: int,
    rng: np.random.Generator,
    blocks: Counts | None = None,
    *,
    compact: bool = False,
) -> Floats:
    """Draw how often each segment occurs in each resample; whole units where codes are passed.

    ``compact`` holds many in a byte each, for :func:`~steelyard.stats.arrays.weighted_sums`.
    """
    if blocks is None:
        return draw_counts(n_resamples, n_segments, rng, compact=compact)
    codes = np.unique(blocks, return_inverse=True)[1]
    in_bytes = compact and n_resamples * n_segments > _LARGE
    n_units = int(codes.max(initial=-1)) + 1
    return draw_counts(n_resamples, n_units, rng, compact=in_bytes)[:, codes]


def draw_counts(
    n_resamples: int,
    n: int,
    rng: np.random.Generator,
    size: int | None = None,
    *,
    compact: bool = False,
) -> Floats:
    """Draw ``size`` (None: ``n``) of ``n`` units with replacement; count each in each resample.

    ``compact`` holds many of them in a byte each, drawn in groups (:func:`_grouped_counts`).
    """
    if compact and size is None and n_resamples * n > _LARGE and n >= 2 * _GROUPS:
        return _grouped_counts(n_resamples, n, rng)
    draws = n if size is None else size
    in_bytes = compact and n_resamples * n > _LARGE and draws <= n
    counts: Floats = np.empty((n_resamples, n), dtype=np.uint8 if in_bytes else np.float64)
    step = max(1, _DRAWN // max(draws, n, 1))
    for start in range(0, n_resamples, step):  # the same draws as all at once, in the cache
        rows = min(step, n_resamples - start)
        drawn = rng.integers(0, max(n, 1), size=(rows, draws))
        drawn += np.arange(rows)[:, None] * n
        flat = np.bincount(drawn.ravel(), minlength=rows * n)
        counts[start : start + rows] = flat.reshape(rows, n)
    return counts


def _grouped_counts(n_resamples: int, n: int, rng: np.random.Generator) -> Floats:
    """Draw random groups of equal size with replacement: as good as single units where many are.

    The variance of a mean over G groups is estimated with a relative error of sqrt(2 / G), far
    below that of a thousand resamples.
    """
    groups = rng.permutation(n) % _GROUPS
    counts = draw_counts(n_resamples, _GROUPS, rng).astype(np.uint8)
    return np.asarray(counts.take(groups, axis=1))


def _drawn_of(counts: Floats, rows: Bools) -> Floats:
    """Count the drawn segments that each row has: resamples x rows, or x 1 if all have all."""
    if rows.all():
        return np.asarray(counts.sum(axis=1, dtype=np.int64)[:, None], dtype=np.float64)
    return weighted_sums(counts, rows.T.astype(np.float64))


def pair_weights(systems: Floats) -> Floats:
    """Return how often each pair i < j of different systems occurs, from counts of systems."""
    i, j = pair_index(systems.shape[1])
    return systems[:, i] * systems[:, j]


def exact_sums(counts: Floats, values: Floats) -> Floats:
    """Sum the rows of values as often as counts say: resamples x rows, the same in any order."""
    most = float(counts.sum(axis=1).max(initial=0.0))
    result: Floats = counts @ on_grid(values, most).T
    return result


def on_grid(values: Floats, most: float) -> Floats:
    """Round values to a grid (51 bits for the largest sum) on which no sum needs rounding.

    ``most`` are the values in the largest sum.
    """
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest * most:
        return np.zeros(values.shape)
    far = 1.5 * 2.0 ** (np.frexp(largest * most)[1] + 1)  # beside it, numbers have its steps
    rounded: Floats = values + far
    rounded -= far
    return rounded


def bootstrap_means(scores: Floats, segments: Floats) -> Floats:
    """Return means of each row over its resampled known segments: resamples x rows."""
    return next(stacked_means([scores], segments))


def stacked_means(matrices: Sequence[Floats], segments: Floats) -> Iterator[Floats]:
    """Yield what :func:`bootstrap_means` gives of each of several matrices.

    Some at a time share a product, which reads the counts once.
    """
    most = float(segments.sum(axis=1).max(initial=0.0))
    size = max([1, *(len(segments) * len(scores) for scores in matrices)])
    step = max(1, _HELD // size)
    totals: dict[bytes, Floats] = {}  # by which segments are known
    for start in range(0, len(matrices), step):
        chunk = matrices[start : start + step]
        known = [~np.isnan(scores) for scores in chunk]
        used = np.logical_or.reduce([mask.any(axis=0) for mask in known])
        counts = segments if used.all() else segments[:, used]
        rows = [
            on_grid(np.where(mask, scores, 0.0)[:, used], most)
            for mask, scores in zip(known, chunk, strict=True)
        ]
        sums = weighted_sums(counts, np.concatenate(rows).T)
        ends = np.cumsum([len(mask) for mask in known])
        for mask, part in zip(known, np.split(sums, ends[:-1], axis=1), strict=True):
            alike = mask[:1] if (mask == mask[:1]).all() else mask  # mostly, all rows know the same
            key = alike.tobytes()
            if key not in totals:
                totals[key] = _drawn_of(counts, alike[:, used])
            yield ratio(part, totals[key])


def bootstrap_groups(values: Floats, weights: Floats, counts: Floats) -> Floats:
    """Return the weighted mean over groups that are defined, in each resample of the groups.

    ``values`` and ``weights`` are metrics x groups, ``counts`` resamples x groups.
    """
    known = ~np.isnan(values)
    share = np.where(known, weights, 0.0)
    sums = exact_sums(counts, np.where(known, values, 0.0) * share)
    return ratio(sums, exact_sums(counts, share))


def row_medians(scores: Floats) -> Floats:
    """Return the median of the known scores of each row; NaN for an empty row."""
    n_columns = scores.shape[1]
    if not n_columns:
        return np.full(len(scores), np.nan)
    missing = np.isnan(scores)
    if not missing.any():  # np.median would load np.ma
        middle = (n_columns - 1) // 2, n_columns // 2
        return np.asarray(np.partition(scores, middle, axis=1)[:, middle].sum(axis=1) / 2)
    ordered, n = np.sort(scores, axis=1), n_columns - missing.sum(axis=1)  # NaN last
    below, above = np.maximum(n - 1, 0) // 2, np.minimum(n // 2, n_columns - 1)
    rows = np.arange(len(n))
    return np.asarray((ordered[rows, below] + ordered[rows, above]) / 2)


def bootstrap_medians(scores: Floats, segments: Floats) -> Floats:
    """Return medians of each row over its resampled known segments: resamples x rows.

    Counts are added up in the order of scores until half is reached: of many only near the middle.
    """
    result = np.full((len(segments), len(scores)), np.nan)
    order = np.argsort(scores, axis=1, kind="stable")  # NaN last
    n = (~np.isnan(scores)).sum(axis=1)
    near = np.where(n < _MANY, n, _NEAR * np.sqrt(n)).astype(np.int64)
    first, last = np.maximum(n // 2 - near, 0), np.minimum(n // 2 + near, n)
    for top in range(0, len(scores), _ROWS):
        rows = range(top, min(top + _ROWS, len(scores)))
        sides = np.zeros((scores.shape[1], len(rows), 2))
        for k, r in enumerate(rows):
            sides[order[r, : first[r]], k, 0] = sides[order[r, : n[r]], k, 1] = 1
        sums = weighted_sums(segments, sides.reshape(len(sides), -1)).astype(np.int32)
        for k, r in enumerate(rows):
            below, total = sums[:, 2 * k, None], sums[:, 2 * k + 1, None]
            places = order[r, first[r] : last[r]]
            medians = _medians(scores[r], places, segments, below, total) if n[r] else None
            if n[r] and medians is None:  # large units: some are far from the middle
                medians = _medians(scores[r], order[r, : n[r]], segments, 0 * below, total)
            result[:, r] = np.nan if medians is None else medians
    return result


def _medians(
    scores: Floats,
    places: Counts,
    segments: Floats,
    below: NDArray[np.int32],
    total: NDArray[np.int32],
) -> Floats | None:
    """Return resampled medians from counts near the middle; None where that of one is elsewhere."""
    parts = []
    step = max(1, _HELD // len(places))
    for start in range(0, len(segments), step):
        rows = slice(start, start + step)
        counts = segments[rows].take(places, axis=1)
        reached = np.cumsum(counts, axis=1, dtype=np.int32)
        reached += below[rows]
        # The two middle values, one and the same for an odd number.
        ends = (total[rows] + 1) // 2, total[rows] // 2 + 1
        drawn = total[rows, 0] > 0
        inside = (below[rows] < ends[0]) & (reached[:, -1:] >= ends[1])
        if not inside[drawn].all():
            return None
        low, high = (scores[places[(reached >= end).argmax(axis=1)]] for end in ends)
        parts.append(np.where(drawn, (low + high) / 2, np.nan))
    return np.concatenate(parts)


def interval(replicates: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the percentile interval of each column; NaN if fewer than half of it are defined.

    A level of NaN, which no interval reaches (of a single unit, say), has none either.
    """
    undefined = (~np.isnan(replicates)).sum(axis=0) * 2 < len(replicates)
    if math.isnan(level):
        undefined[:] = True
        level = 1.0
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low, high = (quantile(replicates.T, q)[:, 0] for q in (tail, 1 - tail))
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def rank_shares(places: Floats) -> Floats:
    """Return the share of resamples in which each row takes each place; NaN if it never has one.

    ``places`` are resamples x rows (:mod:`steelyard.stats.ranks`), the result is rows x places.
    """
    known = (~np.isnan(places)).sum(axis=0)
    counts = np.stack([(places == k + 1).sum(axis=0) for k in range(places.shape[1])], axis=1)
    return ratio(counts, known[:, None])


def bootstrap_spa(
    human: Floats,
    metrics: Floats,
    *,
    segments: Floats | None = None,
    pairs: Floats | None = None,
    blocks: Counts | None = None,
) -> Floats:
    """Return soft pairwise accuracy of each metric in each resample: resamples x metrics.

    ``human`` is systems x segments, ``metrics`` metrics x systems x segments; cells that either
    lacks are left out. ``segments`` are counts per segment, ``pairs`` weights per pair of systems;
    None for equal ones. Segments with the same code in ``blocks`` change sign together, and were
    drawn so. p-values are normal with the first Edgeworth term, in float32, rounded by 1e-6 at
    most.
    """
    n_pairs = math.comb(len(human), 2)
    counts = np.ones((1, human.shape[1])) if segments is None else segments
    if blocks is not None:
        counts = counts[:, np.unique(blocks, return_index=True)[1]]
    else:  # segments that nobody judged are left out
        judged = ~np.isnan(human).all(axis=0)
        if not judged.all():
            counts, human = counts[:, judged], human[:, judged]
            metrics = metrics[:, :, judged]
    draws = _Draws.of(counts, blocks)
    n = max(len(counts), 1 if pairs is None else len(pairs))
    step = n if len(counts) == 1 else max(1, _PAIRED // max(1, n_pairs))
    parts = []
    for start in each(range(0, n, step)):  # many pairs: some resamples at a time
        rows = slice(start, start + step)
        weights = pairs if pairs is None or len(pairs) == 1 else pairs[rows]
        parts.append(_spa_in(draws.take(rows), human, metrics, weights))
    return np.concatenate(parts)


def _spa_in(draws: _Draws, human: Floats, metrics: Floats, pairs: Floats | None) -> Floats:
    """Soft pairwise accuracy in some resamples, as :func:`bootstrap_spa` gives it."""
    i, j = pair_index(len(human))
    weights = np.ones((1, len(i))) if pairs is None else pairs
    human_gap = human[i] - human[j]
    of_human: dict[bytes, Singles] = {}  # p-values, by which cells are known
    columns = []
    every = np.ones(human_gap.shape, dtype=bool)
    step = max(1, _HELD // max(1, human_gap.size))
    for start in range(0, len(metrics), step):
        parts, masks = [], []
        for metric in metrics[start : start + step]:
            gap = metric[i] - metric[j]
            complete = not np.isnan(human.sum() + metric.sum())
            both = every if complete else ~(np.isnan(human_gap) | np.isnan(gap))
            key = b"" if complete else np.packbits(both).tobytes()
            masks.append((both.any(axis=1), key))
            if key not in of_human:
                (of_human[key],) = draws.pvalues([draws.part(human_gap.copy(), human, both)])
            parts.append(draws.part(gap, metric, both))
        for p, (used, key) in zip(draws.pvalues(parts), masks, strict=True):
            agreement = np.abs(np.subtract(p, of_human[key], out=p), out=p)
            shared = used * weights
            if pairs is None and used.all():
                agreed = len(p) - np.add.reduce(agreement, axis=0, dtype=np.float64)
            else:
                agreed = (np.subtract(1, agreement, dtype=np.float64) * shared.T).sum(axis=0)
            columns.append(ratio(agreed, shared.sum(axis=1)))
    return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True)
class _Part:
    """Differences of pairs by unit (0 where missing), and the scores of systems if that is all."""

    gap: Floats
    systems: Floats | None


@dataclass(frozen=True, slots=True)
class _Draws:
    """Resamples of units: how often each occurs, in both precisions."""

    counts: Floats
    single: Singles
    blocks: Counts | None
    often: float  # how often a unit occurs in a resample, at most
    most: float  # units in the largest resample

    @classmethod
    def of(cls, counts: Floats, blocks: Counts | None) -> _Draws:
        often, most = counts.max(initial=0.0), counts.sum(axis=1).max(initial=0.0)
        return cls(counts, counts.astype(np.float32), blocks, float(often), float(most))

    def take(self, rows: slice) -> _Draws:
        """Keep some resamples; sums are rounded as those of all are."""
        return replace(self, counts=self.counts[rows], single=self.single[rows])

    def part(self, gap: Floats, scores: Floats, both: Bools) -> _Part:
        """Scale the differences that both scores have, in place; ``scores`` are of systems."""
        complete = bool(both.all())
        x = block_sums(gap if complete else np.where(both, gap, 0.0), self.blocks)
        scale = np.sqrt(np.einsum("rs,rs->", x, x) / max(x.size, 1)) or 1.0
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
        sums = np.concatenate(rows) @ self.counts.T
        ends = np.cumsum([len(part) for part in rows])
        for part, lead in zip(parts, np.split(sums, ends[:-1]), strict=True):
            if part.systems is not None:
                i, j = pair_index(len(lead))
                lead = lead[i] - lead[j]  # noqa: PLW2901
            square = part.gap * part.gap
            fourth, second = self._single_sums(square * square), self._single_sums(square)
            yield quick_p(lead.astype(np.float32), second, fourth)

    def _single_sums(self, values: Floats) -> Singles:
        """Sum rows of values >= 0 (overwritten) in float32, on a grid that needs no rounding."""
        bound = self.often * values.sum(axis=1)
        power = np.frexp(np.where(bound > 0, bound, 1.0))[1] - 24.0
        values *= np.exp2(-power)[:, None]
        single = np.rint(values, out=values).astype(np.float32)
        sums: Singles = single @ self.single.T
        sums *= np.exp2(power).astype(np.float32)[:, None]
        return sums
