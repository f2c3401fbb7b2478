r"""Tails of sums with random signs: by all signs, by a product of cosines, by a series, by moments.

:math:`T = \sum_s e_s x_s` with independent fair signs has the characteristic function
:math:`\prod_s \cos(u x_s)`, a real number. Inverting it takes some twenty frequencies u unless
there are few differences x, whose sums can be enumerated. With many, the logarithm of the product
is a short series in the sums of even powers of x, and so is its inverse (Edgeworth's expansion).
Those sums come for all pairs of systems from a few matrix products, without differences.

From the surest to the quickest: :func:`product_tails`, :func:`stacked_tails`, :func:`expansion`,
:func:`quick_p`. ``docs/design/p-values.md`` tells which is taken when, and why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.core.progress import each
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation import steps
from steelyard.stats.permutation.enumeration import enumerate_rows, enumerated, sums_bits
from steelyard.stats.permutation.lattice import SCALES, TAIL, Z, lattice_tails
from steelyard.stats.permutation.pairsums import Singles as Singles  # noqa: PLC0414 - known by it
from steelyard.stats.permutation.pairsums import pair_rows
from steelyard.stats.permutation.rising import risen
from steelyard.stats.permutation.series import (
    NODES,
    SURE,
    clip_far,
    series_tails,
    split_p,
)

Bools = NDArray[np.bool_]

# Odd rational fits on [-5.5, 5.5]: the normal tail within 3e-7 and the first Edgeworth term within
# 2e-8, in float32; several times faster than the exact functions inside the loop over draws.
LIMIT = np.float32(5.5)
NORMAL_FIT = (
    (-0.39894301, -0.065855503, -0.0065065823, -0.00046781148, -5.9025324e-06, 1.6799154e-08),
    (1.0, 0.33174425, 0.046605393, 0.0036138589, 0.00015550162),
)
EDGE_FIT = (
    (-0.049867671, 0.024531459, -0.0031537656, 0.00018989402, -6.1015689e-06, 1.0208636e-07,
     -7.0366946e-10),
    (1.0, 0.34137917, 0.056133192, 0.0057948632, 0.00045164613, 1.8020823e-05, 1.3969759e-06),
)  # fmt: skip

_EPSILON = float(np.finfo(np.float64).eps)
_MORE_NODES = (8 * NODES, 64 * NODES)  # if those leave too much, as outliers may
_ENUMERATE = 32  # segments with a difference up to which all signs are enumerated
NARROW = 24  # segments up to which many pairs are enumerated together
_ENUMERATE_BITS = 36  # ... if many are of one size: logarithm of the number of sums
_MANY = 64  # differences from which on they are not few
_FEW = 24  # ... that rule out most scales of what is nearly whole
_TOGETHER = 20_000  # pairs between two reports of progress
_HELD = 400_000  # differences of pairs in doubt, at a time

Series = tuple[Floats, Floats]


def stacked_tails(
    matrices: Sequence[Floats], i: Counts, j: Counts
) -> tuple[Floats, Floats, Floats]:
    """Tails of all pairs of systems, by a series; of those in doubt, by what fits each.

    Takes matrices of one shape and gives P(T > t), P(T = t) and the error, matrices x pairs.
    """
    above, error, doubt = series_tails(matrices, i, j)
    at = np.zeros_like(above)
    open_pairs = np.flatnonzero(doubt)
    for part in each(np.array_split(open_pairs, len(open_pairs) // _TOGETHER + 1)):
        wanted = np.zeros(doubt.shape, dtype=np.bool_)
        wanted.flat[part] = True
        for own, gap in pair_rows(matrices, i, j, wanted, _HELD):
            if gap.shape[1] <= NARROW:
                above[own], at[own] = enumerate_rows(gap, gap.sum(axis=1))
                error[own] = 0.0
            else:
                series = above[own], error[own]
                above[own], at[own], error[own] = product_tails(gap, series=series)
    return above, at, error


def product_tails(
    gap: Floats, reach: Floats | None = None, *, series: Series | bool = False
) -> tuple[Floats, Floats, Floats]:
    """Tails of any differences: enumeration where few are not zero, else the transform.

    Gives P(T > t), P(T = t) and the error, for a row of differences each; the transform can't tell
    the first two apart and gives the mid-p for the first. ``reach`` is t where it is not their sum.
    Where some differences outweigh all others, more frequencies are added until the error is small.
    With ``series``, whatever is sure enough by :func:`~steelyard.stats.permutation.series.split_p`
    is taken as it is: quicker, and good to 5e-7 instead of some 1e-9. It may be known already: what
    a series gives, with a bound that does not see a product that rises again.
    """
    t = gap.sum(axis=-1) if reach is None else reach
    active = np.count_nonzero(gap, axis=-1)
    above, at, error = np.empty(len(gap)), np.zeros(len(gap)), np.full(len(gap), np.inf)
    few = active <= _ENUMERATE
    sizes = steps.in_order(gap)
    again, known = steps.repeats(sizes)
    repeated = 2 * again > known
    # Every different size is a bit at least.
    for row in np.flatnonzero(repeated & ~few & (known - again <= _ENUMERATE_BITS)):
        few[row] = sums_bits(gap[row]) <= _ENUMERATE_BITS
    for row in np.flatnonzero(few):
        above[row], at[row] = enumerated(gap[row][gap[row] != 0].tobytes(), float(t[row]))
        error[row] = 0.0
    near = np.flatnonzero(~few & steps.nearly_whole(steps.sampled(gap, _MANY)))
    if reach is None and near.size:
        found = _near_lattice(gap[near])
        if found is not None:
            above[near], at[near], error[near] = found
    rest = np.isinf(error)
    many = np.flatnonzero(rest & (active >= _MANY) & (series is not False))
    if many.size:
        p, bound = (
            split_p(gap[many], t[many])
            if isinstance(series, bool)
            else (series[0][many], series[1][many])
        )
        often = repeated[many] & (bound <= SURE)
        bound[often] += risen(sizes[many[often]], t[many[often]])
        clip_far(p, bound, t[many], np.einsum("rs,rs->r", gap, gap)[many])
        above[many], error[many] = p, bound
    # With many different sizes the product of cosines dies down and stays there, so that summing
    # may stop; few differences, or sizes that repeat, line up again at a higher frequency.
    open_ = rest & (error > SURE)
    slow = open_ & ((active < _MANY) | repeated)
    for rows, full in ((open_ & ~slow, False), (slow, True)):
        if rows.any():
            above[rows], error[rows] = characteristic(gap[rows], t[rows], full=full)
    for nodes in _MORE_NODES:
        again = np.flatnonzero(rest & (error > SURE))
        if not again.size:
            break
        above[again], error[again] = characteristic(gap[again], t[again], nodes=nodes)
    return above, at, error


def _near_lattice(gap: Floats) -> tuple[Floats, Floats, Floats | float] | None:
    """Tails of differences that are nearly whole multiples of a fraction: published averages.

    What they are off may break ties, and nothing else as long as it adds up to less than half of
    the two steps between sums: so the mid-p is off by half of the ties, at most.
    """
    some = steps.sampled(gap, _FEW)
    scales = [k for k in SCALES if np.abs(some * k - np.rint(some * k)).sum(axis=-1).max() < 0.5]
    if not scales:
        return None
    off = np.array([np.abs(gap * k - np.rint(gap * k)).sum(axis=-1) for k in scales])
    times = np.array(scales, dtype=np.float64)
    little = steps.off_little(off, np.multiply.outer(times, np.abs(gap).sum(axis=-1))).all(axis=1)
    exact = off.max(axis=1) <= gap.shape[1] * _EPSILON * np.abs(gap).max() * times
    exact &= little
    fits = np.flatnonzero(exact if exact.any() else little)
    found = lattice_tails([np.rint(gap * scales[fits[0]])]) if fits.size else None
    if found is None or exact.any():
        return found
    return found[0] + found[1] / 2, np.zeros(len(gap)), found[1] / 2 + found[2]


def characteristic(
    gap: Floats, t: Floats | None = None, *, full: bool = True, nodes: int = NODES
) -> tuple[Floats, Floats]:
    r"""Mid-p by inverting the characteristic function at half-integer frequencies; and its error.

    With step h = 2 pi / (abs(t) + Z sd), the sum over odd nodes is the expectation of a square
    wave, so the only errors are what T does beyond its period (bounded by Hoeffding) and the nodes
    left out, which are added until the product of cosines has died down. Where it may rise again
    (``full``), or never dies down, all nodes are added; what is missing is then a sum of terms that
    go up and down. It is taken to be ten times what independent ones of their size would give: that
    of the products in the second half of the nodes, or :math:`2^{-n/2}`, what n cosines of angles
    at random give.
    """
    t = gap.sum(axis=-1) if t is None else t
    deviation = np.sqrt((gap * gap).sum(axis=-1))
    result = np.where(t > 0, 0.0, 1.0)
    error = np.full(len(gap), TAIL)
    live = np.abs(t) < Z * deviation
    if not live.any():
        return result, error
    x, t, deviation = gap[live], t[live], deviation[live]
    half = np.pi / (np.abs(t) + Z * deviation)
    cosine = np.cos(x * half[:, None])
    twice = 4 * cosine * cosine - 2  # cos((k+2)y) = 2 cos(2y) cos(ky) - cos((k-2)y)
    before = cosine.copy()
    total, squares = np.zeros(len(x)), np.zeros(len(x))
    calm = 0
    for k in range(nodes):
        value = np.multiply.reduce(cosine, axis=-1)
        total += value * np.sin((2 * k + 1) * half * t) / (2 * k + 1)
        if 2 * k >= nodes:
            squares += value * value
        calm = calm + 1 if float(np.abs(value).max()) < 1e-12 else 0
        if calm == 5 and not full:
            break
        cosine, before = twice * cosine - before, cosine
    result[live] = 0.5 - 2 / np.pi * total
    if calm < 5 or full:
        size = np.sqrt(2 * squares / nodes)
        size = np.maximum(size, 2.0 ** (-np.count_nonzero(x, axis=-1) / 2))
        error[live] += np.minimum(0.5, 10 * 2 / np.pi * size / np.sqrt(4 * nodes))
    return result, error


def expansion(
    t: Floats, second: Floats, fourth: Floats | None = None, sixth: Floats | None = None
) -> tuple[Floats, Floats]:
    """Mid-p from sums of powers of the differences, and the size of the last correction.

    With the squares alone this is the normal approximation; fourth and sixth powers add the terms
    of an Edgeworth expansion (odd cumulants of T vanish; the fourth is -2 sum x^4, the sixth
    16 sum x^6). Where nothing varies the answer is 1/2.
    """
    from scipy.special import ndtr

    known = second > 0
    variance = np.where(known, second, 1.0)
    z = np.where(known, t / np.sqrt(variance), 0.0)
    u = z * z
    density = np.exp(-u / 2) / math.sqrt(2 * math.pi)
    p = ndtr(-z)
    if fourth is None:
        return p, np.zeros_like(p)
    square = variance * variance
    k4 = -2 * fourth / square
    last = density * k4 / 24 * z * (u - 3)
    p = p + last
    if sixth is not None:
        k6 = 16 * sixth / (square * variance)
        last = k6 / 720 * ((u - 10) * u + 15)
        last += k4 * k4 / 1152 * (((u - 21) * u + 105) * u - 105)
        last *= density * z
        p = p + last
    return np.minimum(np.maximum(p, 0), 1), np.abs(last)


def quick_p(t: Singles, variance: Singles, fourth: Singles | None = None) -> Singles:
    """Mid-p in float32 for loops over resamples, within about 4e-7 of :func:`expansion`.

    ``fourth`` adds the first Edgeworth term. Overwrites ``t`` and ``variance``; where nothing
    varies the answer is 1/2.
    """
    np.maximum(variance, np.float32(1e-12), out=variance)
    np.divide(t, np.sqrt(variance), out=t)
    np.clip(t, -LIMIT, LIMIT, out=t)
    p = _rational(t, NORMAL_FIT)
    if fourth is not None:
        correction = _rational(t, EDGE_FIT)
        variance *= variance
        correction *= fourth
        correction /= variance
        correction *= np.float32(2)
        p -= correction
    p += np.float32(0.5)
    return p


def _rational(z: Singles, fit: tuple[tuple[float, ...], tuple[float, ...]]) -> Singles:
    top, bottom = ([np.float32(c) for c in part] for part in fit)
    square = z * z
    above = square * top[-1]
    below = square * bottom[-1]
    for c in top[-2:0:-1]:
        above += c
        above *= square
    for c in bottom[-2:0:-1]:
        below += c
        below *= square
    above += top[0]
    below += bottom[0]
    above /= below
    above *= z
    return above
