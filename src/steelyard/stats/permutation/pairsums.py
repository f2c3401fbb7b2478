"""Sums of powers of the differences of all pairs of systems, by a few matrix products."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats

Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]

_CELLS = 500_000  # scores whose powers are held at a time
_ROWS = 60_000  # differences held at a time: as much as the cache holds
#: Fourth and sixth powers are added up in float32; no p-value moves by more than this.
ROUNDING = 1e-8
_SINGLE = 5e-7  # relative error of such sums
_ROOMS = (0.06 * 8, 0.055 * 32)  # of a p-value per error of the fourth over V^2, sixth over V^3


def stacked_pair_sums(
    matrices: Sequence[Floats], i: Counts, j: Counts
) -> tuple[Floats, Floats, Floats, Floats]:
    """Sum differences of pairs of systems, their squares, fourth and sixth powers.

    Takes matrices of one shape and gives matrices x pairs.

    Powers of differences are sums of products of powers: a few matrix products give them for all
    pairs. Where two systems are so much alike that these would cancel, or where so much hangs on
    the higher powers that single precision will not do, differences are formed.
    """
    n, count = len(matrices[0]), len(matrices)
    totals, products = np.zeros((count, n)), np.zeros((count, n, n))
    higher = np.zeros((count, 5, n, n))
    step = max(1, min(matrices[0].shape[1], _CELLS // max(1, n)))
    room = _Room(n, step)
    for x, total, product, own in zip(matrices, totals, products, higher, strict=True):
        for start in range(0, x.shape[1], step):
            room.add_powers(x[:, start : start + step], total, product, own)
    fourths, cubes = higher[:, 2], higher[:, 4]
    both = np.empty((count, 3, n, n))
    both[:, 0] = products
    both[:, 1] = 4 * higher[:, 0] - 3 * fourths
    both[:, 2] = 6 * higher[:, 1] - 15 * higher[:, 3] + 10 * cubes
    both += both.swapaxes(2, 3).copy()
    own = np.stack([x.diagonal(axis1=1, axis2=2) for x in (products, fourths, cubes)], axis=1)
    alone = own.take(i, axis=2)
    alone += own.take(j, axis=2)
    sums = alone - both.reshape(count, 3, n * n).take(i * n + j, axis=2)
    t = totals[:, i] - totals[:, j]
    variance = sums[:, 0]
    square = variance * variance
    close = variance < 1e-3 * alone[:, 0]
    close |= alone[:, 1] * (_SINGLE * _ROOMS[0]) > ROUNDING / 2 * square
    close |= alone[:, 2] * (_SINGLE * _ROOMS[1]) > ROUNDING / 2 * square * variance
    units = max(1, matrices[0].shape[1])  # powers of means bound means of powers from below
    np.maximum(sums[:, 1], square / units, out=sums[:, 1])
    np.maximum(sums[:, 2], square * variance / units**2, out=sums[:, 2])
    for at, gap in pair_rows(matrices, i, j, close):
        t[at] = gap.sum(axis=1)
        power = np.multiply(gap, gap, out=gap)
        sums[at[0], 0, at[1]] = power.sum(axis=1)
        fourth = power * power
        sums[at[0], 1, at[1]] = fourth.sum(axis=1)
        sums[at[0], 2, at[1]] = np.einsum("ps,ps->p", fourth, power)
    return t, sums[:, 0], sums[:, 1], sums[:, 2]


def pair_rows(
    matrices: Sequence[Floats], i: Counts, j: Counts, wanted: Bools, cells: int = _ROWS
) -> Iterator[tuple[tuple[Counts, Counts], Floats]]:
    """Yield differences of the pairs that are wanted (matrices x pairs), and where they belong."""
    places, pairs = np.nonzero(wanted)
    width = matrices[0].shape[1]
    step = max(1, cells // max(1, width))
    for start in range(0, len(places), step):
        at = places[start : start + step], pairs[start : start + step]
        gap = np.empty((len(at[0]), width))
        for row, k, a, b in zip(
            gap, at[0].tolist(), i[at[1]].tolist(), j[at[1]].tolist(), strict=True
        ):
            np.subtract(matrices[k][a], matrices[k][b], out=row)
        yield at, gap


def differences(x: Floats, i: Counts, j: Counts) -> Floats:
    """Give the differences of pairs of rows; a row at a time, which copies none of them.

    Examples
    --------
    >>> import numpy as np
    >>> i, j = np.array([0, 1]), np.array([1, 0])
    >>> differences(np.array([[5.0, 1.0], [2.0, 2.0]]), i, j).tolist()
    [[3.0, -1.0], [-3.0, 1.0]]
    """
    found = np.empty((len(i), x.shape[1]))
    for row, a, b in zip(found, i.tolist(), j.tolist(), strict=True):
        np.subtract(x[a], x[b], out=row)
    return found


def gram(x: Floats) -> tuple[Floats, Floats]:
    """Sums of products of all pairs of rows, and of each row.

    Of a matrix with itself BLAS takes twice as long as of others, if it is small: a row of ones
    makes it another, and adds up the rows.

    Examples
    --------
    >>> import numpy as np
    >>> [part.tolist() for part in gram(np.array([[1.0, 2.0], [0.0, 1.0]]))]
    [[[5.0, 2.0], [2.0, 1.0]], [3.0, 1.0]]
    """
    rows = np.ones((len(x) + 1, x.shape[1]))
    rows[:-1] = x
    found = rows @ rows[:-1].T
    return found[:-1], found[-1]


class _Room:
    """Memory to work in, for so many systems and segments: fresh pages cost more than powers."""

    def __init__(self, systems: int, segments: int) -> None:
        self.centred = np.ones((systems + 1, segments))
        self.powers = np.empty((5 * systems, segments), dtype=np.float32)
        self.products = np.empty((5 * systems + 1, systems), dtype=np.float32)

    def add_powers(self, x: Floats, totals: Floats, products: Floats, higher: Floats) -> None:
        """Add up scores, their products for pairs of systems, and products of their powers.

        With a and b the centred scores of two systems, the second, fourth and sixth power of a - b
        are those of a and of b less, summed both ways round, ab, 4 a^3 b - 3 a^2 b^2 and
        6 a^5 b - 15 a^4 b^2 + 10 a^3 b^3. ``higher`` are sums of a^3 b, a^5 b, a^2 b^2, a^4 b^2 and
        a^3 b^3.

        Few systems make small matrices, which BLAS multiplies at once if they are so small, and
        differ: of a matrix with itself it takes twice as long. So two powers are multiplied by one,
        and there is a row more than is needed.
        """
        n, width = x.shape
        rows, powers = self.centred[:, :width], self.powers[:, :width]
        np.subtract(x, np.add.reduce(x, axis=0) / n, out=rows[:n])
        product = rows @ rows[:n].T
        products += product[:n]
        totals += product[n]  # that row is all ones
        size = math.sqrt(float(product[:n].trace()) / x.size) or 1.0
        three, five, two, four, one = (powers[k * n : (k + 1) * n] for k in range(5))
        np.multiply(rows[:n], 1 / size, out=one, casting="same_kind")
        np.multiply(one, one, out=two)
        np.multiply(two, one, out=three)
        np.multiply(two, two, out=four)
        np.multiply(two, three, out=five)
        np.dot(powers[: 2 * n], one.T, out=self.products[: 2 * n])
        np.dot(powers[2 * n : 4 * n], two.T, out=self.products[2 * n : 4 * n])
        np.dot(powers[: n + 1], three.T, out=self.products[4 * n :])
        scale = np.array([size**4, size**6, size**4, size**6, size**6])
        higher += scale[:, None, None] * self.products[: 5 * n].reshape(5, n, n)
