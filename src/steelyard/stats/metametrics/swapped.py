r"""Swaps of metrics for statistics of segments: exactly, by sums, or by computing them anew.

A mean over segments only changes signs when inputs are swapped (:func:`null_items`). A correlation
is a function of six sums over cells, each linear in the signs (:func:`null_pearson`). Everything
else is computed again in each draw (:func:`null_recomputed`), which is slow but always possible.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.metametrics.swaps import Null, Part, draw, pairs_in, standardise
from steelyard.stats.permutation.pvalues import block_sums, pair_index
from steelyard.stats.permutation.tails import Singles


def null_items(
    values: Floats,
    weights: Floats,
    *,
    n_resamples: int,
    rng: np.random.Generator,
    blocks: Counts | None = None,
) -> Null:
    """Draw differences of weighted means over segments, swapping inputs.

    ``values`` and ``weights`` are metrics x segments, NaN where undefined. The exact p-values are
    those of :func:`steelyard.stats.metametrics.swaps.compare_items`; draws can be averaged with
    other ones. ``blocks`` is as in :func:`steelyard.stats.metametrics.swaps.null_spa`.
    """
    known = ~np.isnan(values)
    share = np.where(known, weights, 0.0)
    total = share.sum(axis=1, keepdims=True)
    part = np.where(known, values * share, 0.0) / np.where(total > 0, total, 1)
    means = np.where(total[:, 0] > 0, part.sum(axis=1), np.nan)
    part = block_sums(part, blocks)
    a, b = pair_index(len(values))
    batches = []
    for columns, _, _ in draw("inputs", 0, part.shape[1], n_resamples, rng):
        assert columns is not None
        swapped = columns @ part.T
        batches.append(swapped[:, a] - swapped[:, b])
    return Null(means, np.concatenate(batches), "inputs")


def null_pearson(
    human: Floats,
    metrics: Floats,
    *,
    group_by: str,
    scheme: str,
    n_resamples: int,
    rng: np.random.Generator,
    part: Part | None = None,
    blocks: Counts | None = None,
) -> Null:
    """Draw differences of Pearson's correlation of cells, over all of them or within each system.

    ``human`` is systems x segments, ``metrics`` metrics x systems x segments; cells that the human
    score or the metric lacks take no part, before and after swapping. ``part`` and ``blocks`` are
    as in :func:`steelyard.stats.metametrics.swaps.null_spa`.
    """
    if group_by not in ("none", "system"):
        raise UsageError(f"sums of cells know the groups none and system, not '{group_by}'")
    z = standardise(np.where(np.isnan(human), np.nan, metrics))
    known = ~np.isnan(z)
    h = np.where(np.isnan(human), 0.0, (human - np.nanmean(human)) / (np.nanstd(human) or 1.0))
    z = np.where(known, z, 0.0)
    terms = np.stack([known.astype(float), z, z * z, known * h, known * h * h, z * h])
    terms = block_sums(terms, blocks)

    def value(sums: Floats) -> Floats:
        """Mean correlation from sums (6 x ... x systems)."""
        if group_by == "none":
            sums = sums.sum(axis=-1, keepdims=True)
        n, m, mm, h, hh, mh = sums
        n = np.where(n > 0, n, np.nan)
        spread = (mm - m * m / n) * (hh - h * h / n)
        r = ratio(mh - m * h / n, np.sqrt(np.where(spread > 1e-18 * n * n, spread, np.nan)))
        defined = ~np.isnan(r)
        return ratio(np.where(defined, r, 0.0).sum(axis=-1), defined.sum(axis=-1))

    whole = terms.sum(axis=-1)
    a, b = pairs_in(len(metrics), part)
    batches = []
    n_systems, n_segments = terms.shape[-2:]
    for columns, rows, cells in draw(scheme, n_systems, n_segments, n_resamples, rng):
        swapped = _signed_sums(terms, columns, rows, cells)
        null = []
        for i, j in zip(a, b, strict=True):
            middle = (whole[:, None, i] + whole[:, None, j]) / 2
            shift = (swapped[:, :, i] - swapped[:, :, j]) / 2
            null.append(value(middle + shift) - value(middle - shift))
        batches.append(np.stack(null, axis=1))
    return Null(value(whole), np.concatenate(batches), scheme)


def _signed_sums(
    terms: Floats, columns: Singles | None, rows: Singles | None, cells: Singles | None
) -> Floats:
    """Sum terms over segments with signs: terms x draws x metrics x systems."""
    if cells is not None:
        sums = np.einsum("kis,tmis->tkmi", cells.astype(float), terms, optimize=True)
    elif columns is not None:
        sums = np.moveaxis(terms @ columns.T.astype(float), -1, 1)
    else:
        assert rows is not None
        sums = np.repeat(terms.sum(axis=-1)[:, None], len(rows), axis=1)
    result: Floats = sums if rows is None else sums * rows[None, :, None, :]
    return result


def null_recomputed(
    statistic: Callable[[Floats], float],
    metrics: Floats,
    *,
    scheme: str,
    n_resamples: int,
    rng: np.random.Generator,
    tick: Callable[[], None] = lambda: None,
    blocks: Counts | None = None,
) -> Null:
    """Draw differences of any statistic of a metric's scores, computing it anew in each draw.

    ``statistic`` takes systems x segments; ``tick`` is called after each draw. ``blocks`` is as in
    :func:`steelyard.stats.metametrics.swaps.null_spa`.
    """
    z = standardise(metrics)
    values = np.array([statistic(own) for own in z])
    pairs = list(zip(*pair_index(len(z)), strict=True))
    null = np.empty((n_resamples, len(pairs)))
    done = 0
    _, n_systems, n_segments = z.shape
    codes = np.arange(n_segments) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    n_units = int(codes.max(initial=-1)) + 1
    for columns, rows, cells in draw(scheme, n_systems, n_units, n_resamples, rng):
        size = next(len(signs) for signs in (columns, rows, cells) if signs is not None)
        for k in range(size):
            keep = np.ones((n_systems, n_segments))
            keep = keep if columns is None else keep * columns[k][codes]
            keep = keep if rows is None else keep * rows[k][:, None]
            keep = keep if cells is None else keep * cells[k][:, codes]
            for q, (a, b) in enumerate(pairs):
                one = np.where(keep > 0, z[a], z[b])
                other = np.where(keep > 0, z[b], z[a])
                null[done + k, q] = statistic(one) - statistic(other)
            tick()
        done += size
    return Null(values, null, scheme)
