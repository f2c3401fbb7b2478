"""Sums of powers of the differences of all pairs of systems, by a few matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats

Singles = NDArray[np.float32]

_CELLS = 500_000  # scores whose powers are held at a time
#: Fourth and sixth powers are added up in float32; no p-value moves by more than this.
ROUNDING = 1e-8
_SINGLE = 5e-7  # relative error of such sums
_ROOMS = (0.06 * 8, 0.055 * 32)  # of a p-value per error of the fourth over V^2, sixth over V^3


def stacked_pair_sums(
    matrices: Sequence[Floats], i: Counts, j: Counts
) -> tuple[Floats, Floats, Floats, Floats]:
    """Sum powers of differences as :func:`pair_sums` does, for several matrices of one shape.

    Powers of differences are sums of products of powers: a few matrix products give them for all
    pairs. Where two systems are so much alike that these would cancel, or where so much hangs on
    the higher powers that single precision will not do, differences are formed.
    """
    n, count = len(matrices[0]), len(matrices)
    totals, own, both = np.zeros((count, n)), np.zeros((count, 3, n)), np.zeros((count, 3, n, n))
    step = max(1, min(matrices[0].shape[1], _CELLS // max(1, n)))
    room = np.empty((n, step)), np.empty((5, n, step), dtype=np.float32)
    for x, total, power, product in zip(matrices, totals, own, both, strict=True):
        for start in range(0, x.shape[1], step):
            _add_powers(x[:, start : start + step], total, power, product, room)
    diagonal = np.arange(n)
    own[:, 0] = both[:, 0, diagonal, diagonal]
    alone = own[:, :, i] + own[:, :, j]
    sums = both[:, :, i, j] + both[:, :, j, i]
    np.subtract(alone, sums, out=sums)
    t = totals[:, i] - totals[:, j]
    variance = sums[:, 0]
    square = variance * variance
    close = variance < 1e-3 * alone[:, 0]
    close |= alone[:, 1] * (_SINGLE * _ROOMS[0]) > ROUNDING / 2 * square
    close |= alone[:, 2] * (_SINGLE * _ROOMS[1]) > ROUNDING / 2 * square * variance
    units = max(1, matrices[0].shape[1])  # powers of means bound means of powers from below
    np.maximum(sums[:, 1], square / units, out=sums[:, 1])
    np.maximum(sums[:, 2], square * variance / units**2, out=sums[:, 2])
    for matrix in map(int, np.flatnonzero(close.any(axis=1))):
        alike = np.flatnonzero(close[matrix])
        gap = matrices[matrix][i[alike]] - matrices[matrix][j[alike]]
        t[matrix, alike] = gap.sum(axis=1)
        power = np.multiply(gap, gap, out=gap)
        sums[matrix, 0, alike] = power.sum(axis=1)
        fourth = power * power
        sums[matrix, 1, alike] = fourth.sum(axis=1)
        sums[matrix, 2, alike] = np.einsum("ps,ps->p", fourth, power)
    return t, sums[:, 0], sums[:, 1], sums[:, 2]


def _add_powers(
    x: Floats, totals: Floats, own: Floats, both: Floats, room: tuple[Floats, Singles]
) -> None:
    """Add up the powers of each system, and what each pair takes from the powers of both.

    With a and b the centred scores of two systems, the second, fourth and sixth power of a - b are
    those of a and of b less, summed both ways round, ab, 4 a^3 b - 3 a^2 b^2 and
    6 a^5 b - 15 a^4 b^2 + 10 a^3 b^3. ``room`` is memory to work in: fresh pages cost more than
    the powers.
    """
    n, width = x.shape
    centred, powers = room[0][:, :width], room[1][:, :, :width]
    np.subtract(x, x.mean(axis=0), out=centred)
    totals += centred.sum(axis=1)
    product = centred @ centred.T
    both[0] += product
    size = math.sqrt(float(product.trace()) / x.size) or 1.0
    three, five, two, four, one = powers
    np.multiply(centred, 1 / size, out=one, casting="same_kind")
    np.multiply(one, one, out=two)
    np.multiply(two, one, out=three)
    np.multiply(two, two, out=four)
    np.multiply(two, three, out=five)
    odd = (powers[:2].reshape(2 * n, -1) @ one.T).reshape(2, n, n).astype(np.float64)
    even = (powers[2:4].reshape(2 * n, -1) @ two.T).reshape(2, n, n).astype(np.float64)
    cubes = (three @ three.T).astype(np.float64)
    both[1] += size**4 * (4 * odd[0] - 3 * even[0])
    both[2] += size**6 * (6 * odd[1] - 15 * even[1] + 10 * cubes)
    own[1] += size**4 * even[0].diagonal()
    own[2] += size**6 * cubes.diagonal()
