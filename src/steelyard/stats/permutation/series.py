r"""Mid-p by a series of the characteristic function's logarithm, with a bound of what is left out.

:math:`\log \cos y = -y^2/2 - y^4/12 - y^6/45 - \ldots`, so the product of the cosines of many small
differences is known by the sums of their even powers. A few differences may be
large beside the deviation of T: these are taken out of the sums, and their cosines one by one. What
the rest of the series can do is added up over the frequencies, pair by pair. It is a bound as long
as the function stays down at higher frequencies, as it does unless differences come in steps
(:mod:`steelyard.stats.permutation.steps`); there, some of them show how far it can rise again
(:mod:`steelyard.stats.permutation.rising`).

Far out nothing needs to be known but the variance: Hoeffding's :math:`\exp(-z^2 / 2)` bounds p.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.lattice import TAIL, Z
from steelyard.stats.permutation.pairsums import ROUNDING, pair_rows, stacked_pair_sums
from steelyard.stats.permutation.steps import scattered, stepped

#: Error up to which a series replaces the product over segments.
SURE = 5e-7
#: Frequencies at most, of a product over segments; reached only with very few of them.
NODES = 600
_FAR = math.sqrt(-2 * math.log(SURE))  # deviations from which on Hoeffding's bound is sure enough
_LARGE = 0.12  # deviations of T: larger differences are taken one by one
_REST = 0.3  # of the variance that large differences leave, at least, for sums of all to be of use
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


def series_tails(matrices: Sequence[Floats], i: Counts, j: Counts) -> tuple[Floats, Floats, Bools]:
    """Invert all pairs of systems: mid-p, a bound of its error, and which of them are in doubt.

    Takes matrices of one shape and gives matrices x pairs. In doubt is what is not sure enough, and
    what comes in steps: no bound but Hoeffding's sees a product that rises again.
    """
    t, *sums = stacked_pair_sums(matrices, i, j)
    p, bound = far_p(t, sums[0])
    live = np.isinf(bound) & (sums[0] > 0)
    near = live & (t * t < _FAR**2 * sums[0])
    heavy = near.copy()
    heavy[near] = _left_out(sums[0][near], sums[2][near]) > SURE
    live &= ~heavy
    p[live], bound[live] = series_p(t[live], *(part[live] for part in sums))
    heavy |= near & live & (bound > SURE)
    if heavy.any():
        large = _large_ones(matrices, i, j, heavy, _LARGE * np.sqrt(sums[0]))
        p[heavy], bound[heavy] = _beside(large, t[heavy], *(part[heavy] for part in sums))
    clip_far(p, bound, t, sums[0])
    trusted = near.copy()
    if near.any():
        trusted[stepped(matrices, i, j)] = False
        at = np.nonzero(trusted)
        trusted[at] = scattered(matrices, at[0], i[at[1]], j[at[1]])
    for at, gap in pair_rows(matrices, i, j, near & (bound > SURE)):
        p[at], bound[at] = split_p(gap, t[at])
    return p, bound, (bound > SURE) | (near & ~trusted)


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
        value *= _cosines(large, lowest(np.sqrt(variance), t), len(odd))
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


def lowest(deviation: Floats, t: Floats) -> Floats:
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


def _left_out(second: Floats, sixth: Floats) -> Floats:
    """Say about how much a series up to sixth powers may leave out, to choose the way to go."""
    share = sixth / second**3
    found: Floats = 48 / np.pi * _RESTS[3] * share * np.cbrt(share)
    return found


def _large_ones(
    matrices: Sequence[Floats], i: Counts, j: Counts, wanted: Bools, limits: Floats
) -> tuple[Counts, Floats]:
    """Find differences beyond a limit for each pair: the number of the pair, and the size."""
    numbers, sizes, start = [], [], 0
    for at, gap in pair_rows(matrices, i, j, wanted):
        size = np.abs(gap, out=gap)
        found = np.flatnonzero(size > limits[at][:, None])
        numbers.append(start + found // gap.shape[1])
        sizes.append(size.ravel()[found])
        start += len(gap)
    return np.concatenate(numbers), np.concatenate(sizes)


def _beside(ones: tuple[Counts, Floats], t: Floats, *sums: Floats) -> tuple[Floats, Floats]:
    """Mid-p and bound where large differences are known one by one, and sums hold all of them.

    Sums are less exact beside what is left of them: the more of the variance is in large ones, the
    less is claimed.
    """
    number, size = ones
    counts = np.bincount(number, minlength=len(t))
    large = np.zeros((int(counts.max(initial=0)), len(t)))
    large[numbered(counts), number] = size
    square = size * size
    rest, power = [], np.ones(len(size))
    for own in sums:
        power = power * square
        rest.append(own - np.bincount(number, power, minlength=len(t)))
    share = np.maximum(rest[0] / sums[0], 0)
    known = share > _REST
    second = np.where(known, rest[0], 1.0)
    fourth = np.maximum(rest[1], 0)
    sixth = np.maximum(rest[2], fourth * fourth / second)
    p, bound = series_p(t, second, fourth, sixth, large=large, most=_LARGE * np.sqrt(sums[0]))
    bound += ROUNDING * (1 / np.maximum(share, _REST) ** 3 - 1)
    return p, np.where(known, bound, np.inf)


def split_p(gap: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Mid-p of rows of differences, and a bound: few large ones by their cosines, others by sums.

    Where the large ones outweigh all others, these have a deviation of their own to be small
    beside, and take more frequencies to die down.
    """
    square = np.einsum("rs,rs->r", gap, gap)
    most = _LARGE * np.sqrt(square)
    small = np.einsum("rs,rs->r", gap, np.where(np.abs(gap) > most[:, None], 0.0, gap))
    p, bound = np.full(len(gap), 0.5), np.full(len(gap), np.inf)
    first = np.flatnonzero(small > _REST * square)
    p[first], bound[first] = _split(gap[first], t[first], most[first], _ODD)
    again = np.flatnonzero((bound > SURE) & (small < square) & (small > 0))
    if again.size:
        most = _LARGE * np.sqrt(small[again])
        p[again], bound[again] = _split(gap[again], t[again], most, _MORE)
    return p, bound


def _split(gap: Floats, t: Floats, most: Floats, odd: Counts) -> tuple[Floats, Floats]:
    """Mid-p and bound, with differences that exceed ``most`` taken one by one."""
    size = np.abs(gap)
    row, column = np.nonzero(size > most[:, None])
    counts = np.bincount(row, minlength=len(gap))
    large = np.zeros((int(counts.max(initial=0)), len(gap)))
    large[numbered(counts), row] = size[row, column]
    size[row, column] = 0.0
    square = np.multiply(size, size, out=size)
    second = square.sum(axis=1)
    return series_p(t, second, *_powers(square), large=large, most=most, odd=odd)


def _powers(square: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of second, third and fourth powers of rows of squares."""
    second = np.einsum("rs,rs->r", square, square)
    fourth = square * square
    third = np.einsum("rs,rs->r", fourth, square)
    return second, third, np.einsum("rs,rs->r", fourth, fourth)


def numbered(counts: Counts) -> Counts:
    """Number the members of each row, of so many each."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
