r"""Tails of sums with random signs: by all signs, by a product of cosines, by a series, by moments.

:math:`T = \sum_s e_s x_s` with independent fair signs has the characteristic function
:math:`\prod_s \cos(u x_s)`, a real number. Inverting it takes some twenty frequencies u unless
there are few differences x, whose sums can be enumerated. With many, the logarithm of the product
is a short series in the sums of even powers of x, and so is its inverse (Edgeworth's expansion).
Those sums come for all pairs of systems from a few matrix products, without differences.

From the surest to the quickest: :func:`product_tails`, :func:`series_tails`, :func:`expansion`,
:func:`quick_p`. ``docs/design/p-values.md`` tells which is taken when, and why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.lattice import SCALES, TAIL, Z, lattice_tails

Singles = NDArray[np.float32]

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

_CELLS = 500_000  # scores whose powers are held at a time
#: Fourth and sixth powers are added up in float32; no p-value moves by more than this.
ROUNDING = 1e-8
_SINGLE = 5e-7  # relative error of such sums
_ROOMS = (0.06 * 8, 0.055 * 32)  # of a p-value per error of the fourth over V^2, sixth over V^3

_SCALES = np.array(SCALES, dtype=np.float64)
_EPSILON = float(np.finfo(np.float64).eps)
_NODES = 600  # frequencies at most: reached only with very few segments
_MORE_NODES = (8 * _NODES, 64 * _NODES)  # if those leave too much, as outliers may
_ENUMERATE = 32  # segments with a difference up to which all signs are enumerated
_ENUMERATE_BITS = 36  # ... if many are of one size: logarithm of the number of sums
_SURE = 5e-7  # error up to which a series of moments replaces the product over segments
_OFF = 0.01  # of all differences: what they may be off a lattice by
_LARGE = 2.0**40  # differences from which on a lattice is not looked for
_SAMPLE = 24  # differences, at most, that are looked at to tell a lattice
# Odd multiples of the lowest frequency: enough, up to Z deviations, for the normal transform to
# fall below 1e-11.
_ODD = np.arange(1, 37, 2)
# log cos y = -y^2/2 - y^4/12 - y^6/45 - r with 0 <= r <= _REST y^8 for abs(y) <= _TURN: all further
# terms are negative, so r / y^8 is largest there.
_TURN = 1.25
_REST = -math.log(math.cos(_TURN)) - _TURN**2 / 2 - _TURN**4 / 12 - _TURN**6 / 45
_REST /= _TURN**8
# Sums over all nodes: of w^8 exp(-w^2 / 2) (48 / pi as an integral), and of the weights of two
# functions that are below exp(-w^2 / 2).
_MOMENT = 48 / math.pi * 1.01
_OUTER = 4 / math.pi * float((1 / _ODD).sum())


def product_tails(gap: Floats, reach: Floats | None = None) -> tuple[Floats, Floats, Floats]:
    """Tails of any differences: enumeration where few are not zero, else the transform.

    Gives P(T > t), P(T = t) and the error, for a row of differences each; the transform can't tell
    the first two apart and gives the mid-p for the first. ``reach`` is t where it is not their sum.
    Where some differences outweigh all others, more frequencies are added until the error is small.
    """
    t = gap.sum(axis=-1) if reach is None else reach
    active = np.count_nonzero(gap, axis=-1)
    above, at, error = np.empty(len(gap)), np.zeros(len(gap)), np.zeros(len(gap))
    repeated = _repeated(gap, active)
    few = active <= _ENUMERATE
    for row in np.flatnonzero(repeated & ~few):
        few[row] = _bits(gap[row]) <= _ENUMERATE_BITS
    for row in np.flatnonzero(few):
        above[row], at[row] = _enumerated(gap[row][gap[row] != 0].tobytes(), float(t[row]))
    rest = ~few
    near = np.flatnonzero(rest & _nearly_whole(gap[:, :: gap.shape[1] // _SAMPLE + 1]))
    if reach is None and near.size:
        found = _near_lattice(gap[near])
        if found is not None:
            above[near], at[near], error[near] = found
            rest[near] = False
    # With many different sizes the product of cosines dies down and stays there, so that summing
    # may stop; few differences, or sizes that repeat, line up again at a higher frequency.
    slow = rest & ((active < 64) | repeated)
    for rows, full in ((rest & ~slow, False), (slow, True)):
        if rows.any():
            above[rows], error[rows] = characteristic(gap[rows], t[rows], full=full)
    for nodes in _MORE_NODES:
        again = np.flatnonzero(rest & (error > _SURE))
        if not again.size:
            break
        above[again], error[again] = characteristic(gap[again], t[again], nodes=nodes)
    return above, at, error


def _nearly_whole(sample: Floats) -> NDArray[np.bool_]:
    """Tell which rows may be nearly whole multiples of a fraction, by a sample of each."""
    scaled = np.multiply.outer(_SCALES, sample)
    off = np.abs(scaled - np.rint(scaled)).sum(axis=-1)
    near = _off_little(off, np.abs(scaled).sum(axis=-1))
    near &= np.abs(sample).max(axis=-1, initial=0.0) < _LARGE  # beyond, all are whole
    return np.asarray(near.any(axis=0))


def _off_little(off: Floats, size: Floats) -> NDArray[np.bool_]:
    """Tell whether what differences are off is rounding: of small ones it would be all of them."""
    little: NDArray[np.bool_] = (off < 0.5) & (off <= _OFF * size)
    return little


def _near_lattice(gap: Floats) -> tuple[Floats, Floats, Floats | float] | None:
    """Tails of differences that are nearly whole multiples of a fraction: published averages.

    What they are off may break ties, and nothing else as long as it adds up to less than half of
    the two steps between sums: so the mid-p is off by half of the ties, at most.
    """
    off = np.array([np.abs(gap * k - np.rint(gap * k)).sum(axis=-1) for k in SCALES])
    little = _off_little(off, np.multiply.outer(_SCALES, np.abs(gap).sum(axis=-1))).all(axis=1)
    exact = off.max(axis=1) <= gap.shape[1] * _EPSILON * np.abs(gap).max() * _SCALES
    exact &= little
    fits = np.flatnonzero(exact if exact.any() else little)
    found = lattice_tails([np.rint(gap * SCALES[fits[0]])]) if fits.size else None
    if found is None or exact.any():
        return found
    return found[0] + found[1] / 2, np.zeros(len(gap)), found[1] / 2 + found[2]


def series_tails(matrices: Sequence[Floats], i: Counts, j: Counts) -> tuple[Floats, Floats, Floats]:
    """Invert all pairs from their moments alone; infinite error where that is not sure enough.

    Takes matrices of one shape and gives P(T > t), P(T = t) and the error, matrices x pairs.
    """
    p, bound = series_p(*stacked_pair_sums(matrices, i, j))
    # The bound does not see a product that rises again, which only differences in steps make: a
    # sample tells those, and whoever is in doubt goes to the product itself.
    for x, own in zip(matrices, bound, strict=True):
        own[own > _SURE] = np.inf
        if not np.isinf(own).all():
            if _nearly_whole(x.reshape(1, -1)[:, :: x.size // _SAMPLE + 1])[0]:
                own[:] = np.inf
            own[~_scattered(x, i, j)] = np.inf
    return p, np.zeros_like(p), bound


def series_p(t: Floats, second: Floats, fourth: Floats, sixth: Floats) -> tuple[Floats, Floats]:
    r"""Mid-p by inverting a characteristic function that is known by its logarithm's series.

    The nodes are those of :func:`characteristic`, w is their frequency times the deviation of T.
    What the series leaves out is at most a known multiple of :math:`w^8` as long as no difference
    turns too far (the sixth root of the sixth powers bounds the largest); further out, neither
    function exceeds :math:`\exp(-w^2 / 2)`. The sum of both over all nodes is returned next to p.
    It holds unless the function rises again, as it would on a lattice; it is infinite where
    nothing varies.
    """
    known = second > 0
    variance = np.where(known, second, 1.0)
    z = t / np.sqrt(variance)
    near = np.minimum(np.abs(z), Z)
    w = np.multiply.outer(np.pi / (near + Z), _ODD)
    u = w * w
    square = variance * variance
    k4, k6 = fourth / (12 * square), sixth / (45 * square * variance)
    log = u * k6[..., None]
    log += k4[..., None]
    log *= u
    log += 0.5
    log *= -u
    value = np.exp(log, out=log)
    w *= z[..., None]
    value *= np.sin(w, out=w)
    p = 0.5 - 2 / np.pi * (value @ (1 / _ODD))
    reach = np.where(known, np.cbrt(45 * k6), 1.0)  # bounds the largest square
    bound = _MOMENT * _REST * 45 * k6 * reach + _OUTER * np.exp(-(_TURN**2) / 2 / reach)
    bound += TAIL + ROUNDING
    p = np.where(near < Z, p, np.where(z > 0, 0.0, 1.0))
    return np.minimum(np.maximum(p, 0), 1), np.where(known, bound, np.inf)


def _scattered(x: Floats, i: Counts, j: Counts) -> NDArray[np.bool_]:
    """Tell which pairs' differences are no lattice, nor nearly one.

    One difference per segment, each of another pair, tells whether these scores come in steps at
    all; a sample of each pair's own, whether its differences do.
    """
    segments = np.arange(x.shape[1])
    turn = segments % len(i)
    sizes = (np.abs(x[i[turn], segments] - x[j[turn], segments])[None], _sampled_sizes(x, i, j))
    (repeated,), (active,) = _repeats(sizes[0])
    if 2 * repeated > active:
        return np.zeros(len(i), dtype=bool)
    repeats, active = _repeats(sizes[1])
    scattered: NDArray[np.bool_] = (repeats == 0) & (2 * active > sizes[1].shape[1])
    return scattered


def _sampled_sizes(x: Floats, i: Counts, j: Counts) -> Floats:
    sample = x[:, :: x.shape[1] // _SAMPLE + 1]
    return np.abs(sample[i] - sample[j])


def _repeats(size: Floats) -> tuple[Counts, Counts]:
    """Count in each row the sizes that occurred before, and those that are not 0."""
    size.sort(axis=-1)
    slack = 1e-12 * size[:, -1:]
    active = size > slack
    again = (size[:, 1:] - size[:, :-1] <= slack) & active[:, 1:]
    return again.sum(axis=-1), active.sum(axis=-1)


def _repeated(gap: Floats, active: Counts) -> NDArray[np.bool_]:
    """Tell where most sizes occur again, so that the product of cosines may rise again."""
    repeats, _ = _repeats(np.abs(gap))
    repeated: NDArray[np.bool_] = 2 * repeats > active
    return repeated


def enumerate_tails(x: Floats, reach: float | None = None) -> tuple[float, float]:
    """P(T > t) and P(T = t) over all sign vectors, by sorting the signed sums of either half.

    ``reach`` is t where it is not the sum of x. Sums that differ by no more than adding up so many
    numbers can round away count as equal. Differences of one size are taken together, by how many
    of them have which sign.

    Examples
    --------
    >>> import numpy as np
    >>> enumerate_tails(np.array([1.0, 1.0]))
    (0.0, 0.25)
    """
    values, counts = _sizes(x)
    (left, chance), (right, weight) = (_sums(values[own], counts[own]) for own in _halves(counts))
    slack = (len(x) + 1) * _EPSILON * np.abs(x).sum()
    least = (x.sum() if reach is None else reach) - left
    beyond = np.append(np.cumsum(weight[::-1])[::-1], 0.0)  # chance of the i-th sum or a larger one
    first = np.searchsorted(right, least - slack, side="left")
    at_least = chance @ beyond[first]
    tied = np.flatnonzero(np.append(right, np.inf)[first] <= least + slack)
    first[tied] = np.searchsorted(right, least[tied] + slack, side="right")
    above = chance @ beyond[first]
    return float(above), float(at_least - above)


@lru_cache(maxsize=4096)
def _enumerated(differences: bytes, reach: float) -> tuple[float, float]:
    """Remember what was enumerated: a pair comes again where other systems are left out."""
    return enumerate_tails(np.frombuffer(differences), reach)


def _sizes(x: Floats) -> tuple[Floats, Counts]:
    """Give the sizes of differences but for rounding, and how many have each."""
    size = np.sort(np.abs(x))
    opens = np.flatnonzero(np.diff(size, prepend=-1.0) > 4 * _EPSILON * size[-1:].sum())
    return size[opens], np.diff(np.append(opens, len(size)))


def _bits(gap: Floats) -> float:
    """Logarithm of the number of sums that there are to enumerate."""
    return float(np.log2(_sizes(gap[gap != 0])[1] + 1.0).sum())


def _halves(counts: Counts) -> tuple[list[int], list[int]]:
    """Deal sizes out to two halves with about as many sums each."""
    halves: tuple[list[int], list[int]] = [], []
    load = [0.0, 0.0]
    for k in np.argsort(-counts, kind="stable").tolist():
        lighter = int(load[1] < load[0])
        halves[lighter].append(k)
        load[lighter] += math.log2(counts[k] + 1)
    return halves


def _sums(values: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """All signed sums in order, and their probabilities."""
    if (counts == 1).all():  # all are equally likely
        found = np.zeros(1)
        for value in values:
            found = np.concatenate([found - value, found + value])
            found.sort(kind="stable")  # two runs that are in order: merged, and not sorted anew
        return found, np.full(len(found), 1.0 / len(found))
    found, chance = np.zeros(1), np.ones(1)
    for value, count in zip(values, counts.tolist(), strict=True):
        won = np.arange(count + 1)
        found = np.add.outer(found, value * (2 * won - count)).ravel()
        chance = np.multiply.outer(chance, _coins(count)).ravel()
    order = np.argsort(found, kind="stable")
    return found[order], chance[order]


def _coins(n: int) -> Floats:
    """Chance of 0, 1, ..., n heads of n coins."""
    if n <= 60:
        return np.array([math.comb(n, k) for k in range(n + 1)]) / 2.0**n
    heads = np.arange(1, n + 1)
    ways = np.append(0.0, np.cumsum(np.log((n + 1 - heads) / heads)))
    return np.asarray(np.exp(ways - n * math.log(2)))


def characteristic(
    gap: Floats, t: Floats | None = None, *, full: bool = True, nodes: int = _NODES
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
