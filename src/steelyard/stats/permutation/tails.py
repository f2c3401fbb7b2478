r"""Tails of sums with random signs: by all signs, by a series, by a product of cosines, by moments.

:math:`T = \sum_s e_s x_s` with independent fair signs has the characteristic function
:math:`\prod_s \cos(u x_s)`, a real number. :func:`product_tails` enumerates few differences and
inverts the function for others. With many differences its logarithm is a short series in sums of
even powers of x. The few that are large beside the deviation of T are taken one by one.
Differences that cluster around multiples of a step make the function rise again at higher
frequencies, which no series sees: all frequencies are added up then.

:func:`expansion` and :func:`quick_p` are for loops over resamples. ``docs/design/p-values.md``
explains which is used when, and why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.distributions import ndtr
from steelyard.stats.permutation.lattice import LARGEST, SCALES, TAIL, Z, lattice_tails

Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]

#: Error up to which a quicker way replaces a surer one.
SURE = 5e-7
#: Odd multiples of the lowest frequency at which a series is evaluated: the normal transform
#: falls below 1e-11.
ODD = np.arange(1, 37, 2)
_NODES = (600, 4_800, 38_400)  # frequencies of a product: more while its error is too large
_EPSILON = float(np.finfo(np.float64).eps)
_ERFC = np.frompyfunc(math.erfc, 1, 1)  # SciPy's is faster, but takes 0.1 s to load
_ENUMERATE = 32  # differences up to which all signs are enumerated at once
_ENUMERATE_SLOWLY = 42  # ... if a product of cosines is not sure enough
_BITS = 36  # ... or logarithm of the number of sums, where many are of one size
_MANY = 64  # differences from which on a series may do; and a sample of them
_CELLS = 60_000  # differences worked on together: they stay in the cache
_COMMON = 32  # sizes of which some may be all that there are
_LARGE = 0.12  # deviations of T: larger differences are taken one by one
# -log cos y, term by term; what is left out over the next power is largest at _TURN.
_SERIES = (1 / 2, 1 / 12, 1 / 45, 17 / 2520)
_TURN = 1.25
_REST = {
    terms: (
        -math.log(math.cos(_TURN))
        - sum(c * _TURN ** (2 * k) for k, c in enumerate(_SERIES[:terms], 1))
    )
    / _TURN ** (2 * terms + 2)
    for terms in (3, 4)
}
# Denominators of published averages, and of scores that a model gave in half precision.
_NEAR_SCALES = np.array([*SCALES, *(2**k for k in range(4, 11))])
_SCAN = np.arange(0.0, 60.0, 0.2)  # frequencies of a sample, times its root mean square
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


def product_tails(
    gap: Floats, reach: Floats | None = None, *, rises: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return P(T > t), P(T = t) and a bound of the error for each row of differences.

    Only enumeration tells the first two apart: otherwise the first is the mid-p, the second 0.
    ``reach`` is t where it is not the sum of the differences. ``rises`` is what :func:`risen` says
    of each row, if that is clear already.
    """
    t = gap.sum(axis=1) if reach is None else reach
    variance = np.einsum("rs,rs->r", gap, gap)
    above, error = far_tails(t, variance)
    at = np.zeros(len(gap))
    active = np.count_nonzero(gap, axis=1)
    sure = SURE if reach is None else 1e-10  # on either side of t, p-values differ by little
    todo = (error > sure) | (active <= _ENUMERATE)

    def enumerate_all(rows: Counts) -> None:
        for k in rows.tolist():
            above[k], at[k] = enumerate_tails(gap[k][gap[k] != 0], float(t[k]))
        error[rows], todo[rows] = 0.0, False

    enumerate_all(np.flatnonzero(active <= _ENUMERATE))
    rows = np.flatnonzero(todo)
    repeated, different = repeated_sizes(gap, rows)
    stepped = rows[repeated]
    rows = rows[repeated & (different <= _BITS // 2)]
    enumerate_all(np.array([k for k in rows if _bits(gap[k]) <= _BITS], dtype=np.int64))
    rows = stepped[todo[stepped]]
    if reach is None and rows.size:
        above[rows], error[rows] = _near_lattice(gap[rows])
        todo[rows] = error[rows] == 1
    rising = np.ones(len(gap)) if rises is None else rises
    rows = np.flatnonzero(todo & (active >= _MANY))
    if rows.size:
        unclear = rows[rising[rows] > SURE / 5]
        rising[unclear] = _risen(gap[unclear], t[unclear], variance[unclear])
        above[rows], error[rows] = _series(gap, rows, t, variance)
        error[rows] += rising[rows]
        todo[rows] = error[rows] > sure
    # With many different sizes the product of cosines dies down and stays there, so that summing
    # may stop. Few differences, or sizes that cluster, line up again at a higher frequency.
    quiet = (active >= _MANY) & (rising < sure / 5)
    for nodes in _NODES:
        if nodes == _NODES[-1]:
            enumerate_all(np.flatnonzero(todo & (active <= _ENUMERATE_SLOWLY)))
        few_sizes = np.isin(np.arange(len(gap)), stepped)
        for rows, full in ((todo & quiet, False), (todo & ~quiet & ~few_sizes, True)):
            if rows.any():
                above[rows], error[rows] = _characteristic(gap[rows], t[rows], nodes, full=full)
        for k in np.flatnonzero(todo & ~quiet & few_sizes):
            above[k], error[k] = _of_few_sizes(gap[k], float(t[k]), nodes)
        error[todo & quiet] += rising[todo & quiet]
        todo &= error > SURE
        quiet[:] = False
    return above, at, error


def far_tails(t: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the normal p, within Hoeffding's bound, and that bound; 1 where nothing varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.where(variance > 0, np.exp(-t * t / (2 * variance)), 1.0)
        z = np.where(variance > 0, t / np.sqrt(variance), 0.0)
    p = np.asarray(_ERFC(z * math.sqrt(0.5)), dtype=np.float64) / 2
    return np.where(t > 0, np.minimum(p, bound), np.maximum(p, 1 - bound)), bound


def repeated_sizes(gap: Floats, rows: Counts | slice = slice(None)) -> tuple[Bools, Counts]:
    """Tell which rows have sizes that repeat, and how many differ, by a sample of each."""
    sample = gap[:, :: gap.shape[1] // (2 * _MANY) + 1][rows]
    size = np.abs(sample, dtype=np.float32, casting="same_kind")
    size.sort(axis=1)
    nonzero = (size > 0).sum(axis=1)
    again = (np.diff(size, axis=1) <= 1e-6 * size[:, 1:]) & (size[:, 1:] > 0)
    different = nonzero - again.sum(axis=1)
    return (7 * nonzero > 8 * different) | (nonzero < 16), different


# All signs


def enumerate_tails(x: Floats, reach: float | None = None) -> tuple[float, float]:
    """Return P(T > t) and P(T = t) over all signs, by sorting the signed sums of either half.

    Sums that differ by no more than adding up so many numbers can round away count as equal.
    Differences of one size are taken together, by how many of them have which sign.
    """
    values, counts = _sizes(x)
    halves: tuple[list[int], list[int]] = [], []
    load = [0.0, 0.0]
    for k in np.argsort(-counts, kind="stable").tolist():  # about as many sums each
        lighter = int(load[1] < load[0])
        halves[lighter].append(k)
        load[lighter] += math.log2(counts[k] + 1)
    (left, chance), (right, weight) = (_signed_sums(values[half], counts[half]) for half in halves)
    slack = (len(x) + 1) * _EPSILON * np.abs(x).sum()
    least = (x.sum() if reach is None else reach) - left
    beyond = np.append(np.cumsum(weight[::-1])[::-1], 0.0)  # chance of the i-th sum or a larger one
    first = np.searchsorted(right, least - slack, side="left")
    at_least = float(chance @ beyond[first])
    tied = np.flatnonzero(np.append(right, np.inf)[first] <= least + slack)
    first[tied] = np.searchsorted(right, least[tied] + slack, side="right")
    above = float(chance @ beyond[first])
    return above, at_least - above


def _sizes(x: Floats) -> tuple[Floats, Counts]:
    """Return the sizes of differences but for rounding, and how many have each."""
    size = np.sort(np.abs(x))
    starts = np.flatnonzero(np.diff(size, prepend=-1.0) > 4 * _EPSILON * size[-1:].sum())
    return size[starts], np.diff(np.append(starts, len(size)))


def _bits(x: Floats) -> float:
    """Return the logarithm of the number of sums that there are to enumerate."""
    return float(np.log2(_sizes(x[x != 0])[1] + 1.0).sum())


def _signed_sums(values: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """Return all signed sums in order, and their probabilities."""
    sums, chance = np.zeros(1), np.ones(1)
    if (counts == 1).all():
        for value in values:
            sums = np.concatenate([sums - value, sums + value])
            sums.sort(kind="stable")  # two runs that are in order: merged, and not sorted anew
        return sums, np.full(len(sums), 1 / len(sums))
    for value, count in zip(values, counts.tolist(), strict=True):
        plus = np.arange(count + 1)
        ways = np.array([math.comb(count, k) / 2**count for k in range(count + 1)])
        sums = np.add.outer(sums, value * (2 * plus - count)).ravel()
        chance = np.multiply.outer(chance, ways).ravel()
    order = np.argsort(sums, kind="stable")
    return sums[order], chance[order]


# The characteristic function


def _near_lattice(gap: Floats) -> tuple[Floats, Floats]:
    """Return the mid-p of nearly whole multiples of a fraction, and a bound; 1 where there is none.

    Published averages are such, and half precision in print. What they are off may break ties, and
    no more while it adds up to less than half a step: the mid-p is off by half of the ties.
    """
    p, error = np.full(len(gap), 0.5), np.ones(len(gap))
    if np.abs(gap).max() > LARGEST:  # beyond, all are whole
        return p, error
    sample = np.multiply.outer(_NEAR_SCALES, gap[:, :: gap.shape[1] // 24 + 1])
    fits = np.abs(sample - np.rint(sample)).sum(axis=2) < 0.5
    # Far out, ties on a fine lattice are too rare to matter, even if most sizes share a coarser
    # one.
    variance = np.einsum("rs,rs->r", gap, gap)
    density = np.exp(-(gap.sum(axis=1) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    fits &= np.multiply.outer(100 * 2 / _NEAR_SCALES, density) > SURE
    for scale, fit in zip(_NEAR_SCALES.tolist(), fits, strict=True):
        rows = np.flatnonzero(fit & (error == 1))
        if not rows.size:
            continue
        scaled = gap[rows] * scale
        whole = np.rint(scaled)
        off = np.abs(scaled - whole).sum(axis=1)
        little = (off < 0.5) & (off <= 0.01 * np.abs(whole).sum(axis=1))
        rows, whole = rows[little], whole[little]
        tails = lattice_tails(whole) if rows.size else None
        if tails is not None:
            p[rows], error[rows] = tails[0] + tails[1] / 2, tails[1] / 2 + tails[2]
    return p, error


def _series(gap: Floats, rows: Counts, t: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the mid-p of some rows with few large differences taken one by one, and a bound."""
    p, bound = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, _CELLS // max(1, gap.shape[1]))
    for start in range(0, len(rows), step):  # few at a time, which stay in the cache
        part = slice(start, start + step)
        scale = variance[rows[part]]
        square = gap[rows[part]] ** 2
        row, column = np.nonzero(square > (_LARGE**2 * scale)[:, None])
        number = np.arange(len(row)) - np.searchsorted(row, row)
        large = np.zeros((int(number.max(initial=-1)) + 1, len(square)))
        large[number, row] = np.sqrt(square[row, column] / scale[row])
        square[row, column] = 0.0
        fourth = square * square
        sums = [square.sum(axis=1), fourth.sum(axis=1)]
        sums += [np.einsum("rs,rs->r", fourth, power) for power in (square, fourth)]
        sums = [power / scale**k for k, power in enumerate(sums, 1)]
        z = t[rows[part]] / np.sqrt(scale)
        p[part], bound[part] = series_tails(z, sums, np.full(len(z), _LARGE**2), large)
    return p, bound


def series_tails(
    z: Floats, sums: list[Floats], largest: Floats, large: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the mid-p from sums of even powers of differences over those of T's deviation.

    ``largest`` bounds the squares of these differences; ``large`` are others, sizes x rows. At each
    node the series is above the product by a share of at most a multiple of the next sum of powers,
    as long as no difference turns too far, and else of 1: that adds up to the bound.
    """
    w = np.multiply.outer(np.pi / (np.minimum(np.abs(z), Z) + Z), ODD)
    u = w * w
    log = np.zeros_like(u)
    for coefficient, power in zip(_SERIES[len(sums) - 1 :: -1], sums[::-1], strict=True):
        log += (coefficient * power)[:, None]
        log *= u
    value = np.exp(np.negative(log, out=log), out=log)
    last = value[:, -1].copy()
    if large is not None and len(large):
        for k, cosine in enumerate(_cosines(large * w[:, 0], len(ODD))):
            value[:, k] *= np.multiply.reduce(cosine, axis=0)
    square = u * u
    share = square * square if len(sums) == 3 else square * square * u
    share *= (_REST[len(sums)] * largest * sums[-1])[:, None]
    share[u * largest[:, None] > _TURN**2] = 1.0
    np.minimum(share, 1.0, out=share)
    share *= np.abs(value)
    bound = 2 / np.pi * (share @ (1 / ODD)) + last + TAIL
    w *= z[:, None]
    value *= np.sin(w, out=w)
    p = 0.5 - 2 / np.pi * (value @ (1 / ODD))
    return np.clip(p, 0, 1), bound


def _cosines(angle: Floats, nodes: int) -> Iterator[Floats]:
    """Yield the cosines of odd multiples of angles."""
    cosine = np.cos(angle)
    before = cosine
    twice = 4 * cosine * cosine - 2  # cos((k+2)y) = 2 cos(2y) cos(ky) - cos((k-2)y)
    for _ in range(nodes):
        yield cosine
        cosine, before = twice * cosine - before, cosine


def _risen(gap: Floats, t: Floats, variance: Floats) -> Floats:
    """Bound what frequencies beyond a series may add, by a sample of each row."""
    sample = np.abs(gap[:, :: gap.shape[1] // _MANY + 1])
    active = np.count_nonzero(gap, axis=1)
    lowest = np.pi / (np.minimum(np.abs(t), Z * np.sqrt(variance)) + Z * np.sqrt(variance))
    result = risen(sample, active, np.sqrt(variance / active), lowest)
    odd = np.arange(ODD[-1] + 2, 2 * _NODES[0], 2)
    for k in np.flatnonzero(result > SURE / 5):
        sizes, counts = _sizes(gap[k][gap[k] != 0])
        common = np.argsort(-counts * sizes, kind="stable")[:_COMMON]
        if 2 * counts[common].sum() > active[k]:
            angle = np.multiply.outer(odd * lowest[k], sizes[common]).astype(np.float32)
            with np.errstate(divide="ignore"):
                value = np.exp(np.log(np.abs(np.cos(angle))) @ counts[common])
            result[k] = 2 / np.pi * float(value @ (1 / odd))
    return result


def risen(sample: Floats, active: Counts, mean: Floats, lowest: Floats) -> Floats:
    """Estimate generously what frequencies beyond a series may add to p-values.

    ``sample`` are sizes of differences, rows x sizes, of the ``active`` ones of a row with this
    root ``mean`` square; ``lowest`` is the lowest frequency. The cosines of a sample bound the
    product of all; of more than twice as many, half turn as the sample does. A sample that says
    little gives 1.
    """
    usable = (sample > 0) & (sample <= 4 * mean[:, None])
    counts = usable.sum(axis=1)
    power = np.maximum(1.0, active / (2 * np.maximum(counts, 1)))
    scaled = np.where(usable, sample / mean[:, None], 0.0).astype(np.float32)
    first = 2 * (ODD[-1] + 2) * lowest * mean
    result = np.empty(len(sample))
    step = max(1, 10 * _CELLS // max(1, sample.shape[1] * len(_SCAN)))
    for start in range(0, len(sample), step):
        part = slice(start, start + step)
        u = (first[part, None] + _SCAN).astype(np.float32)
        angle = scaled[part, :, None] * u[:, None, :]
        product = np.abs(np.multiply.reduce(np.cos(angle, out=angle), axis=1)) ** power[part, None]
        result[part] = 4 / np.pi * _SCAN[1] * (product / u).sum(axis=1)
    return np.where(2 * counts >= min(_MANY, sample.shape[1]), result, 1.0)


def _characteristic(gap: Floats, t: Floats, nodes: int, *, full: bool) -> tuple[Floats, Floats]:
    """Return the mid-p by inverting the characteristic function, and its error.

    The sum over odd multiples of the frequency pi / (abs(t) + Z sd) is the expectation of a square
    wave, so the only errors are what T does beyond its period (bounded by Hoeffding) and the nodes
    left out. They are added until the product of cosines has died down; where it may rise again
    (``full``), all are, and what is missing is estimated by :func:`_left_out`.
    """
    deviation = np.sqrt((gap * gap).sum(axis=1))
    result = np.where(t > 0, 0.0, 1.0)
    error = np.full(len(gap), TAIL)
    live = np.abs(t) < Z * deviation
    if not live.any():
        return result, error
    x, t, deviation = gap[live], t[live], deviation[live]
    half = np.pi / (np.abs(t) + Z * deviation)
    total, squares = np.zeros(len(x)), np.zeros(len(x))
    calm = 0
    for k, cosine in enumerate(_cosines(x * half[:, None], nodes)):
        value = np.multiply.reduce(cosine, axis=1)
        total += value * np.sin((2 * k + 1) * half * t) / (2 * k + 1)
        if 2 * k >= nodes:
            squares += value * value
        calm = calm + 1 if float(np.abs(value).max()) < 1e-12 else 0
        if calm == 5 and not full:
            break
    result[live] = 0.5 - 2 / np.pi * total
    if calm < 5 or full:
        turning = (np.abs(x) * (half * nodes)[:, None] > np.pi / 2).sum(axis=1)
        error[live] += _left_out(squares, turning, nodes)
    return result, error


def _of_few_sizes(x: Floats, t: float, nodes: int) -> tuple[float, float]:
    """Return what :func:`_characteristic` does for one row, of which many sizes are the same."""
    sizes, counts = _sizes(x[x != 0])
    deviation = math.sqrt(float(counts @ sizes**2))
    if abs(t) >= Z * deviation:
        return (0.0 if t > 0 else 1.0), TAIL
    half = math.pi / (abs(t) + Z * deviation)
    total = squares = 0.0
    for odd in np.array_split(np.arange(1, 2 * nodes, 2), nodes * len(sizes) // _CELLS + 1):
        cosine = np.cos(np.multiply.outer(half * odd, sizes))
        negative = (cosine < 0) @ counts
        with np.errstate(divide="ignore"):
            value = np.exp(np.log(np.abs(cosine, out=cosine), out=cosine) @ counts)
        value[negative % 2 == 1] *= -1
        total += float((value * np.sin(half * t * odd)) @ (1 / odd))
        squares += float((value * value)[odd > nodes].sum())
    turning = counts[sizes * half * nodes > np.pi / 2].sum()
    return 0.5 - 2 / np.pi * total, TAIL + float(_left_out(squares, turning, nodes))


def _left_out(squares: Floats | float, turning: Counts, nodes: int) -> Floats:
    """Estimate generously what nodes that were left out add: 20 times what independent terms would.

    Their size is that of the second half of the nodes, or 2^(-m/2) of m cosines of random angles.
    """
    size = np.maximum(np.sqrt(2 * np.asarray(squares) / nodes), 2.0 ** (-turning / 2))
    return np.asarray(np.minimum(0.5, 20 * 2 / np.pi * size / np.sqrt(4 * nodes)))


# Moments, for loops over resamples


def expansion(
    t: Floats, second: Floats, fourth: Floats | None = None, sixth: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the mid-p from sums of powers of the differences, and the size of the last correction.

    With the squares alone this is the normal approximation; fourth and sixth powers add the terms
    of an Edgeworth expansion (odd cumulants of T vanish; the fourth is -2 sum x^4, the sixth
    16 sum x^6). Where nothing varies the answer is 1/2.
    """
    varies = second > 0
    variance = np.where(varies, second, 1.0)
    z = np.where(varies, t / np.sqrt(variance), 0.0)
    u = z * z
    p = ndtr(-z)
    if fourth is None:
        return p, np.zeros_like(p)
    density = np.exp(-u / 2) / math.sqrt(2 * math.pi)
    k4 = -2 * fourth / variance**2
    last = density * k4 / 24 * z * (u - 3)
    p = p + last
    if sixth is not None:
        k6 = 16 * sixth / variance**3
        last = k6 / 720 * ((u - 10) * u + 15)
        last += k4 * k4 / 1152 * (((u - 21) * u + 105) * u - 105)
        last *= density * z
        p = p + last
    return np.clip(p, 0, 1), np.abs(last)


def quick_p(t: Singles, variance: Singles, fourth: Singles | None = None) -> Singles:
    """Return the mid-p in float32, within about 4e-7 of :func:`expansion`.

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
    """Evaluate an odd rational function, given by its coefficients above and below the line."""
    square = z * z
    parts = []
    for coefficients in fit:
        first, *others = (np.float32(c) for c in coefficients)
        part = square * others[-1]
        for c in others[-2::-1]:
            part += c
            part *= square
        part += first
        parts.append(part)
    above, below = parts
    above /= below
    above *= z
    return above


def random_signs(
    n_resamples: int, n: int, rng: np.random.Generator, dtype: type[Any] = np.float64
) -> NDArray[Any]:
    """Draw n_resamples x n fair signs, one random bit each (the same on every platform)."""
    width = (n + 7) // 8
    bits = np.frombuffer(rng.bytes(n_resamples * width), np.uint8).reshape(n_resamples, width)
    signs = np.unpackbits(bits, axis=1, count=n).astype(dtype)
    signs *= 2
    signs -= 1
    return signs
