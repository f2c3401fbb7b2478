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
    Bools,
    Singles,
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
_SAMPLE = 48  # differences that tell whether they come in steps


def all_pair_tails(
    matrices: list[Floats], i: Counts, j: Counts
) -> tuple[Floats, Floats, Floats]:
    """Return P(T > t), P(T = t) and the error for pairs of rows of scores without gaps.

    Takes matrices of one shape and gives matrices x pairs. Pairs far apart and pairs that a series
    is sure of need no differences; others do.
    """
    t, sums, alike, coarse = (
        np.stack(part) for part in zip(*(_pair_sums(x, i, j) for x in matrices), strict=True)
    )
    above, error = far_tails(t, sums[:, 0])
    at = np.zeros(above.shape)
    rises = np.repeat(_rises(matrices, i, j)[:, None], len(i), axis=1)
    doubt = (error > SURE) | alike
    near = doubt & ~coarse & (sums[:, 0] > 0) & (rises < SURE / 5)
    if near.any():
        variance = sums[:, 0][near]
        powers = [sums[:, k][near] / variance ** (k + 1) for k in range(3)]
        p, bound = series_tails(t[near] / np.sqrt(variance), powers, np.cbrt(powers[-1]))
        bound += _ROUNDING + rises[near]
        above[near] = np.where(bound <= SURE, p, above[near])
        error[near], doubt[near] = bound, bound > SURE
    matrix, pair = np.nonzero(doubt)
    step = max(1, _ROWS // max(1, matrices[0].shape[1]))
    for start in range(0, len(matrix), step):
        part = matrix[start : start + step], pair[start : start + step]
        gap = np.stack([matrices[k][i[c]] - matrices[k][j[c]] for k, c in zip(*part, strict=True)])
        above[part], at[part], error[part] = product_tails(gap, rises=rises[part])
    return above, at, error


def _pair_sums(x: Floats, i: Counts, j: Counts) -> tuple[Floats, Floats, Bools, Bools]:
    """Return sums of differences, and of their second, fourth and sixth powers: powers x pairs.

    And which pairs are so much alike that the second would cancel, and of which pairs single
    precision will not do for the higher ones.
    """
    n, width = x.shape
    totals, products, higher = np.zeros(n), np.zeros((n, n)), np.zeros((5, n, n))
    step = max(1, _CELLS // max(1, n))
    for start in range(0, width, step):
        part = x[:, start : start + step]
        centred = np.ones((n + 1, part.shape[1]))  # the last row adds up the others
        np.subtract(part, part.sum(axis=0) / n, out=centred[:n])
        product = centred @ centred[:n].T
        totals += product[n]
        products += product[:n]
        size = math.sqrt(float(product[:n].trace()) / part.size) or 1.0
        a = np.multiply(centred[:n], 1 / size, dtype=np.float32, casting="same_kind")
        a2 = a * a
        a3 = a2 * a
        # Of a matrix with itself BLAS takes twice as long as of others: hence pairs, and a copy.
        higher[:2] += _products([a3, a3 * a2], a) * [[[size**4]], [[size**6]]]
        higher[2:4] += _products([a2, a2 * a2], a2) * [[[size**4]], [[size**6]]]
        higher[4] += size**6 * (a3.copy() @ a3.T).astype(np.float64)
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
    return totals[i] - totals[j], sums, alike, coarse


def _products(powers: list[Singles], power: Singles) -> Singles:
    """Multiply each of several matrices by another's transpose, at once."""
    product = np.concatenate(powers) @ power.T
    return product.reshape(len(powers), *product.shape[1:] * 2)


def _rises(matrices: list[Floats], i: Counts, j: Counts) -> Floats:
    """Bound what higher frequencies add for each matrix, by one difference per segment of a pair.

    1 where differences repeat.
    """
    n, width = matrices[0].shape
    if not len(i) or not width:
        return np.ones(len(matrices))
    segments = np.arange(width)[:: width // _SAMPLE + 1]
    pair = np.arange(len(segments)) % len(i)
    sample = np.stack([x[i[pair], segments] - x[j[pair], segments] for x in matrices])
    mean = np.sqrt((sample * sample).mean(axis=1))
    repeated = repeated_sizes(sample)[0] | (mean == 0)
    mean[mean == 0] = 1.0
    lowest = np.pi / (2 * Z * mean * math.sqrt(width))
    return np.where(repeated, 1.0, risen(np.abs(sample), np.full(len(mean), width), mean, lowest))
