"""Permutation p-values of all pairs of systems by a few matrix products, without differences.

The characteristic function of a sum with random signs is a series in sums of powers of the
differences. With a and b the centred scores of two systems, the second, fourth and sixth power of
a - b are those of a and of b less, summed both ways round, ab, 4 a^3 b - 3 a^2 b^2 and
6 a^5 b - 15 a^4 b^2 + 10 a^3 b^3: products of matrices give them for all pairs.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.lattice import Z
from steelyard.stats.permutation.tails import (
    SURE,
    far_tails,
    product_tails,
    repeated_sizes,
    risen,
    series_tails,
)

_CELLS = 500_000  # scores whose powers are held at a time
_ROWS = 400_000  # differences held at a time
#: Higher powers are added up in single precision; no p-value moves by more than this.
_ROUNDING = 1e-8
_SINGLE = 5e-7  # relative error of such sums
_MOVES = (0.06 * 8, 0.055 * 32)  # of a p-value per error of the fourth over V^2, sixth over V^3
_SAMPLE = 128  # differences that tell whether they come in steps


def all_pair_tails(x: Floats, i: Counts, j: Counts) -> tuple[Floats, Floats, Floats]:
    """Return P(T > t), P(T = t) and the error for pairs of rows of scores without gaps.

    Pairs far apart and pairs that a series is sure of need no differences; others do.
    """
    t, sums, rounded = _pair_sums(x, i, j)
    above, error = far_tails(t, sums[0])
    at = np.zeros(len(i))
    rises = _rises(x, i, j)
    doubt = (error > SURE) | rounded[0]
    rows = np.flatnonzero(doubt & ~rounded[1] & (sums[0] > 0))
    if rises < SURE / 5 and rows.size:
        variance = sums[0, rows]
        powers = [power[rows] / variance**k for k, power in enumerate(sums, 1)]
        p, bound = series_tails(t[rows] / np.sqrt(variance), powers, np.cbrt(powers[-1]))
        bound += _ROUNDING + rises
        sure = bound <= SURE
        rows = rows[sure]
        above[rows], error[rows], doubt[rows] = p[sure], bound[sure], False
    rows = np.flatnonzero(doubt)
    step = max(1, _ROWS // max(1, x.shape[1]))
    for part in (rows[start : start + step] for start in range(0, len(rows), step)):
        gap = x[i[part]] - x[j[part]]
        above[part], at[part], error[part] = product_tails(gap, rises=rises if rises < SURE / 5 else None)
    return above, at, error


def _pair_sums(x: Floats, i: Counts, j: Counts) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Return sums of differences, and of their second, fourth and sixth powers: powers x pairs.

    And which pairs are so much alike that the second would cancel, and of which pairs single
    precision will not do for the higher ones.
    """
    n, width = x.shape
    totals, products, higher = np.zeros(n), np.zeros((n, n)), np.zeros((5, n, n))
    step = max(1, _CELLS // max(1, n))
    for start in range(0, width, step):
        part = x[:, start : start + step]
        centred = part - part.mean(axis=0)
        product = centred @ centred.T
        totals += centred.sum(axis=1)
        products += product
        size = math.sqrt(float(product.trace()) / part.size) or 1.0
        a = (centred / size).astype(np.float32)
        a2 = a * a
        a3 = a2 * a
        pairs = ((a3, a, 4), (a3 * a2, a, 6), (a2, a2, 4), (a2 * a2, a2, 6), (a3, a3, 6))
        for sums, (left, right, power) in zip(higher, pairs, strict=True):
            sums += size**power * (left @ right.T)
    both = np.stack([
        products, 4 * higher[0] - 3 * higher[2], 6 * higher[1] - 15 * higher[3] + 10 * higher[4]
    ])  # fmt: skip
    both += both.swapaxes(1, 2).copy()
    single = np.stack([products.diagonal(), higher[2].diagonal(), higher[4].diagonal()])
    alone = single[:, i] + single[:, j]
    sums = alone - both[:, i, j]
    variance = sums[0]
    alike = variance < 1e-3 * alone[0]
    coarse = alike.copy()
    for power, moves in zip((1, 2), _MOVES, strict=True):
        coarse |= alone[power] * _SINGLE * moves > _ROUNDING / 2 * variance ** (power + 1)
        # Powers of means bound means of powers from below.
        np.maximum(sums[power], variance ** (power + 1) / max(1, width) ** power, out=sums[power])
    return totals[i] - totals[j], sums, (alike, coarse)


def _rises(x: Floats, i: Counts, j: Counts) -> float:
    """Bound what higher frequencies add, by one difference per segment of some pair; 1 for steps."""
    if not len(i):
        return 0.0
    segments = np.arange(x.shape[1])[:: x.shape[1] // _SAMPLE + 1]
    pair = np.arange(len(segments)) % len(i)
    sample = (x[i[pair], segments] - x[j[pair], segments])[None]
    if not sample.any() or repeated_sizes(sample)[0][0]:
        return 1.0
    mean = np.sqrt((sample * sample).mean(axis=1))
    lowest = np.pi / (2 * Z * mean * math.sqrt(x.shape[1]))
    return float(risen(np.abs(sample), np.array([x.shape[1]]), mean, lowest)[0])
