r"""Mid-p by a series of the characteristic function's logarithm, with a bound of what is left out.

:math:`\log \cos y = -y^2/2 - y^4/12 - y^6/45 - \ldots`, so the product of the cosines of many small
differences is known by the sums of their even powers. A few differences may be
large beside the deviation of T: these are taken out of the sums, and their cosines one by one. What
the rest of the series can do is added up over the frequencies, pair by pair. It is a bound as long
as the function stays down at higher frequencies, as it does unless differences come in steps
(:mod:`steelyard.stats.permutation.steps`); there, some of them show how far it can rise again
(:func:`risen`).

Far out nothing needs to be known but the variance: Hoeffding's :math:`\exp(-z^2 / 2)` bounds p.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.lattice import TAIL, Z
from steelyard.stats.permutation.pairsums import ROUNDING, Singles, stacked_pair_sums
from steelyard.stats.permutation.steps import scattered, stepped

#: Error up to which a series replaces the product over segments.
SURE = 5e-7
#: Frequencies at most, of a product over segments; reached only with very few of them.
NODES = 600
_FAR = math.sqrt(-2 * math.log(SURE))  # deviations from which on Hoeffding's bound is sure enough
_LARGE = 0.12  # deviations of T: larger differences are taken one by one
_ROWS = 60_000  # differences held at a time: as much as the cache holds
_CACHED = 50_000  # cosines at a time
# Sizes beyond a right angle, at most, that show how far the product of all cosines can rise again:
# more of them where few say too little.
_SIZES = (0, 24, 200)
_BLOCKS = (18, 26, 38, 54, 76, 108, 152, 216, 300, 430, NODES)  # of nodes beyond the series
_FLOOR = np.float32(1e-3)  # of a cosine in single precision, whose angle is good to 1e-4
# Odd multiples of the lowest frequency: enough, up to Z deviations, for the normal transform to
# fall below 1e-11.
_ODD = np.arange(1, 37, 2)
_MORE = np.arange(1, 145, 2)  # ... where a few differences outweigh all others
# -log cos y, term by term. All are positive, so what is left out over its first power is largest,
# for abs(y) <= _TURN, at the end, and not negative up to a right angle.
_SERIES = (1 / 2, 1 / 12, 1 / 45, 17 / 2520)
_TURN = 1.25
_RESTS = {
    n: (
        -math.log(math.cos(_TURN)) - sum(c * _TURN ** (2 * k) for k, c in enumerate(_SERIES[:n], 1))
    )
    / _TURN ** (2 * n + 2)
    for n in (3, 4)
}

Bools = NDArray[np.bool_]


def series_tails(matrices: Sequence[Floats], i: Counts, j: Counts) -> tuple[Floats, Floats, Floats]:
    """Invert all pairs of systems; infinite error where that is not sure enough.

    Takes matrices of one shape and gives P(T > t), P(T = t) and the error, matrices x pairs.
    """
    t, *sums = stacked_pair_sums(matrices, i, j)
    p, bound = far_p(t, sums[0])
    live = np.isinf(bound) & (sums[0] > 0)
    p[live], bound[live] = series_p(t[live], *(part[live] for part in sums))
    clip_far(p, bound, t, sums[0])
    # No bound but Hoeffding's sees a product that rises again.
    near = live & (t * t < _FAR**2 * sums[0])
    if near.any():
        near[stepped(matrices, i, j)] = False
        at = np.nonzero(near)
        near[at] = scattered(matrices, at[0], i[at[1]], j[at[1]])
        bound[live & ~near & (t * t < _FAR**2 * sums[0])] = np.inf
    unsure = near & (bound > SURE) & ~np.isinf(bound)
    for at, gap in pair_rows(matrices, i, j, unsure):
        p[at], bound[at] = split_p(gap, t[at])
    bound[bound > SURE] = np.inf
    return p, np.zeros_like(p), bound


def pair_rows(
    matrices: Sequence[Floats], i: Counts, j: Counts, wanted: Bools
) -> Iterator[tuple[tuple[Counts, Counts], Floats]]:
    """Yield differences of the pairs that are wanted (matrices x pairs), and where they belong."""
    places, pairs = np.nonzero(wanted)
    width = matrices[0].shape[1]
    step = max(1, _ROWS // max(1, width))
    for start in range(0, len(places), step):
        at = places[start : start + step], pairs[start : start + step]
        gap = np.empty((len(at[0]), width))
        for row, k, a, b in zip(
            gap, at[0].tolist(), i[at[1]].tolist(), j[at[1]].tolist(), strict=True
        ):
            np.subtract(matrices[k][a], matrices[k][b], out=row)
        yield at, gap


def far_p(t: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Give p and its error where t is beyond all doubt, 1/2 and infinity elsewhere."""
    beyond = t * t >= Z * Z * variance
    beyond &= variance > 0
    p = np.where(beyond, np.where(t > 0, 0.0, 1.0), 0.5)
    return p, np.where(beyond, TAIL, np.inf)


def clip_far(p: Floats, bound: Floats, t: Floats, variance: Floats) -> None:
    """Bound p, and its error, by Hoeffding's inequality; overwrites both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.exp(-t * t / (2 * variance))
    most = np.where(variance > 0, most, 1.0)
    np.copyto(p, np.minimum(p, most), where=t > 0)
    np.copyto(p, np.maximum(p, 1 - most), where=t < 0)
    np.copyto(bound, most, where=(most < bound) & (most < SURE))


def series_p(
    t: Floats,
    second: Floats,
    *higher: Floats,
    large: Floats | None = None,
    most: Floats | None = None,
    odd: Counts = _ODD,
) -> tuple[Floats, Floats]:
    r"""Mid-p of rows of differences that are known by sums of their powers; and a bound.

    ``higher`` are sums of fourth and sixth powers, and of eighth ones if known. ``large`` are the
    sizes of differences that the sums do not hold, sizes x rows, 0 where a row has fewer; no other
    exceeds ``most`` (else the sixth root of the sixth powers).

    The nodes are those of :func:`steelyard.stats.permutation.tails.characteristic`. At each, the
    series is above the product by a share of at most a multiple of the next sum, as long as no
    difference turns too far, and else of 1. The bound is infinite where nothing varies.
    """
    known = second > 0
    small = np.where(known, second, 1.0)
    variance = small if large is None else small + (large * large).sum(axis=0)
    z = t / np.sqrt(variance)
    w = np.multiply.outer(np.pi / (np.minimum(np.abs(z), Z) + Z), odd)
    square = w * w
    sums = [own / variance**k for k, own in enumerate((small, *higher), 1)]
    largest = np.cbrt(sums[2]) if most is None else most * most / variance
    log = np.zeros_like(w)
    for coefficient, own in zip(_SERIES[len(sums) - 1 :: -1], sums[::-1], strict=True):
        log += (coefficient * own)[:, None]
        log *= -square if own is sums[0] else square
    value = np.exp(log, out=log)
    last = value[:, -1].copy()
    if large is not None and len(large):
        value *= _cosines(large, _lowest(np.sqrt(variance), t), len(odd))
    share = square ** (len(sums) + 1)
    share *= (_RESTS[len(sums)] * sums[-1] * largest)[:, None]
    share[square * largest[:, None] > _TURN**2] = 1.0
    np.minimum(share, 1.0, out=share)
    share *= np.abs(value)
    bound = 2 / np.pi * (share @ (1 / odd)) + last + TAIL + ROUNDING
    w *= z[:, None]
    value *= np.sin(w, out=w)
    p = 0.5 - 2 / np.pi * (value @ (1 / odd))
    p = np.where(np.abs(z) < Z, p, np.where(z > 0, 0.0, 1.0))
    return np.minimum(np.maximum(p, 0), 1), np.where(known, bound, np.inf)


def _lowest(deviation: Floats, t: Floats) -> Floats:
    """Give the lowest frequency, of which all others are odd multiples."""
    found: Floats = np.pi / (np.minimum(np.abs(t), Z * deviation) + Z * deviation)
    return found


def _cosines(large: Floats, half: Floats, nodes: int) -> Floats:
    """Product of the cosines of large differences at every node: rows x nodes."""
    cosine = np.cos(large * half)
    twice = 4 * cosine * cosine - 2  # cos((k+2)y) = 2 cos(2y) cos(ky) - cos((k-2)y)
    before = cosine.copy()
    found = np.empty((len(half), nodes))
    for k in range(nodes):
        found[:, k] = np.multiply.reduce(cosine, axis=0)
        cosine, before = twice * cosine - before, cosine
    return found


def split_p(gap: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Mid-p of rows of differences, and a bound: few large ones by their cosines, others by sums.

    Where the large ones outweigh all others, these have a deviation of their own to be small
    beside, and take more frequencies to die down.
    """
    square = np.einsum("rs,rs->r", gap, gap)
    p, bound, small = _split(gap, t, _LARGE * np.sqrt(square), _ODD)
    again = np.flatnonzero((bound > SURE) & (small < square) & (small > 0))
    if again.size:
        most = _LARGE * np.sqrt(small[again])
        p[again], bound[again], _ = _split(gap[again], t[again], most, _MORE)
    return p, bound


def _split(gap: Floats, t: Floats, most: Floats, odd: Counts) -> tuple[Floats, Floats, Floats]:
    """Mid-p and bound, and the squares of the differences that do not exceed ``most``."""
    size = np.abs(gap)
    row, column = np.nonzero(size > most[:, None])
    counts = np.bincount(row, minlength=len(gap))
    large = np.zeros((int(counts.max(initial=0)), len(gap)))
    large[_within(counts), row] = size[row, column]
    size[row, column] = 0.0
    square = np.multiply(size, size, out=size)
    second = square.sum(axis=1)
    p, bound = series_p(t, second, *_powers(square), large=large, most=most, odd=odd)
    return p, bound, second


def _powers(square: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of second, third and fourth powers of rows of squares."""
    second = np.einsum("rs,rs->r", square, square)
    fourth = square * square
    third = np.einsum("rs,rs->r", fourth, square)
    return second, third, np.einsum("rs,rs->r", fourth, fourth)


def _within(counts: Counts) -> Counts:
    """Number the members of each row, of so many each."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def risen(sizes: Floats, t: Floats) -> Floats:
    r"""Bound what the nodes that a series leaves out may add, for rows of sizes in order.

    No cosine exceeds :math:`\exp(-y^2/2)` up to a right angle; beyond it, it is 1 at most. Where
    that says too little, some cosines of different sizes are computed; then all of them, as often
    as they occur. That is added up over the nodes up to :data:`NODES`. What lies beyond is taken to
    be ten times what independent terms of the size of
    the second half would give.
    """
    half = _lowest(np.sqrt(np.einsum("rs,rs->r", sizes, sizes)), t)
    found = np.empty(len(sizes))
    rows = np.arange(len(sizes))
    for most in _SIZES:
        found[rows] = _sum_risen(sizes[rows], half[rows], most)
        rows = np.flatnonzero(found > SURE / 5)
        if not rows.size:
            break
    return found


def _sum_risen(sizes: Floats, half: Floats, most: int) -> Floats:
    """Add up the nodes, with so many sizes beyond a right angle at most."""
    squares = np.cumsum(sizes * sizes, axis=1)
    if most:
        values, times, counts = _distinct(sizes)
        angles = (values * half[:, None]).astype(np.float32)
    total, late = np.zeros(len(sizes)), np.zeros(len(sizes))
    rows = np.arange(len(sizes))
    # Larger sizes are beyond a right angle at the end of each block.
    turned = [np.pi / 2 / ((2 * stop - 1) * half) for stop in _BLOCKS[1:]]
    sizes_below = _up_to(sizes, turned)
    values_below = _up_to(values, turned) if most else sizes_below
    for block, (start, stop) in enumerate(pairwise(_BLOCKS)):
        odd = np.arange(2 * start + 1, 2 * stop, 2)
        below = sizes_below[block]
        small = np.where(below > 0, squares[rows, below - 1], 0.0)
        product = np.exp(np.multiply.outer(odd * odd, -0.5 * small * half * half))
        if most:
            chosen = _spread(values_below[block], counts, most)
            powers = times if most == _SIZES[-1] else None
            product *= _bounded(angles, powers, chosen, odd.astype(np.float32))
        total += (1 / odd) @ product
        if 2 * start >= NODES:
            late += np.einsum("kr,kr->r", product, product)
    size = np.sqrt(2 * late / NODES)
    return 2 / np.pi * (total + 10 * size / math.sqrt(4 * NODES))


def _up_to(ordered: Floats, limits: Sequence[Floats]) -> Counts:
    """Count in each row of numbers in order those up to each of its limits: limits x rows."""
    every = np.stack(limits, axis=1)
    found = [
        np.searchsorted(own, up_to, "right") for own, up_to in zip(ordered, every, strict=True)
    ]
    return np.array(found, dtype=np.int64).reshape(every.shape).T


def _distinct(sizes: Floats) -> tuple[Floats, Singles, Counts]:
    """Give the different sizes of each row but 0 in order, how often each occurs, and their number.

    Rows that have fewer than others are filled up with sizes that never occur.
    """
    slack = 1e-12 * sizes[:, -1:]
    active = sizes > slack
    active[:, 1:] &= np.diff(sizes, axis=1) > slack
    counts = active.sum(axis=1)
    row, column = np.nonzero(active)
    shape = len(sizes), int(counts.max(initial=1))
    values, times = np.full(shape, np.inf), np.zeros(shape, dtype=np.float32)
    at = row, _within(counts)
    values[at] = sizes[row, column]
    last = np.append(row[1:] != row[:-1], True)[: len(row)]
    times[at] = np.where(last, sizes.shape[1], np.append(column[1:], 0)) - column
    return values, times, counts


def _spread(first: Counts, last: Counts, most: int) -> Counts:
    """Choose some places of each row between two, -1 where there are fewer: places x rows."""
    room = last - first
    step = np.maximum(1.0, room / most)
    place = np.arange(most)[:, None] * step
    return np.where(place < room, first + place.astype(np.int64), -1)


def _bounded(angles: Singles, powers: Singles | None, chosen: Counts, odd: Singles) -> Singles:
    """Product over chosen sizes of how large cosines of multiples of angles may be: nodes x rows.

    Each counts once, or as often as ``powers`` say.
    """
    rows = np.arange(len(angles))
    own = np.where(chosen < 0, np.float32(0), angles[rows, chosen])
    times = None if powers is None else np.where(chosen < 0, np.float32(0), powers[rows, chosen])
    found = np.empty((len(odd), len(angles)), dtype=np.float32)
    step = max(1, _CACHED // max(1, own.size))
    space = np.empty((step, *own.shape), dtype=np.float32)
    for start in range(0, len(odd), step):
        some = odd[start : start + step, None, None]
        cosine = np.multiply(some, own, out=space[: len(some)])
        np.cos(cosine, out=cosine)
        np.abs(cosine, out=cosine)
        np.maximum(cosine, _FLOOR, out=cosine)
        if times is None:
            np.multiply.reduce(cosine, axis=1, out=found[start : start + step])
        else:
            np.log(cosine, out=cosine)
            cosine *= times
            found[start : start + step] = np.exp(cosine.sum(axis=1))
    return found
