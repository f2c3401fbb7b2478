r"""Tails of sums with random signs: by all signs, by a product of cosines, or by its series.

:math:`T = \sum_s e_s x_s` with independent fair signs has the characteristic function
:math:`\prod_s \cos(u x_s)`, a real number. Inverting it takes some twenty frequencies u unless
there are few differences x, whose sums can be enumerated. With many, the logarithm of the product
is a short series in the sums of even powers of x, which all pairs of systems have at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.expansions import ROUNDING, stacked_pair_sums
from steelyard.stats.lattice import TAIL, Z

_NODES = 600  # frequencies at most: reached only with very few segments
_ENUMERATE = 32  # segments with a difference up to which all signs are enumerated
_SURE = 5e-7  # error up to which a series of moments replaces the product over segments
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


def product_tails(gap: Floats, reach: Floats | None = None) -> tuple[Floats, Floats, float]:
    """Tails of any differences: enumeration where few are not zero, else the transform.

    Gives P(T > t), P(T = t) and an error bound, for a row of differences each; the transform can't
    tell the two apart and gives the mid-p for the first. ``reach`` is t where it is not their sum.
    """
    t = gap.sum(axis=-1) if reach is None else reach
    active = np.count_nonzero(gap, axis=-1)
    above, at = np.empty(len(gap)), np.zeros(len(gap))
    error = 0.0
    few = active <= _ENUMERATE
    for row in np.flatnonzero(few):
        above[row], at[row] = enumerate_tails(gap[row][gap[row] != 0], float(t[row]))
    slow = ~few & _irregular(gap, active)
    for rows, full in ((~few & ~slow, False), (slow, True)):
        if rows.any():
            above[rows], worst = characteristic(gap[rows], t[rows], full=full)
            error = max(error, worst)
    return above, at, error


def series_tails(matrices: Sequence[Floats], i: Counts, j: Counts) -> tuple[Floats, Floats, Floats]:
    """Invert all pairs from their moments alone; infinite error where that is not sure enough.

    Takes matrices of one shape and gives P(T > t), P(T = t) and the error, matrices x pairs.
    """
    p, bound = series_p(*stacked_pair_sums(matrices, i, j))
    for x, own in zip(matrices, bound, strict=True):
        own[own > _SURE] = np.inf
        if not np.isinf(own).all():
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


def _irregular(gap: Floats, active: Counts) -> NDArray[np.bool_]:
    """Tell where the product of cosines may rise again: few differences, or repeated ones."""
    repeated, _ = _repeats(np.abs(gap))
    irregular: NDArray[np.bool_] = (active < 64) | (2 * repeated > active)
    return irregular


def enumerate_tails(x: Floats, reach: float | None = None) -> tuple[float, float]:
    """P(T > t) and P(T = t) over all sign vectors, by sorting the signed sums of either half.

    ``reach`` is t where it is not the sum of x. Sums that differ by rounding count as equal.

    Examples
    --------
    >>> import numpy as np
    >>> enumerate_tails(np.array([1.0, 1.0]))
    (0.0, 0.25)
    """

    def sums(half: Floats) -> Floats:
        found = np.zeros(1)
        for step in half:
            found = np.concatenate([found - step, found + step])
        return np.sort(found)

    middle = len(x) // 2
    left, right = sums(x[:middle]), sums(x[middle:])
    slack = 1e-12 * np.abs(x).sum()
    least = (x.sum() if reach is None else reach) - left
    within = len(right) - np.searchsorted(right, least - slack, side="left")
    beyond = len(right) - np.searchsorted(right, least + slack, side="right")
    total = len(left) * len(right)
    return float(beyond.sum() / total), float((within.sum() - beyond.sum()) / total)


def characteristic(
    gap: Floats, t: Floats | None = None, *, full: bool = True
) -> tuple[Floats, float]:
    """Mid-p by inverting the characteristic function at half-integer frequencies.

    With step h = 2 pi / (abs(t) + Z sd), the sum over odd nodes is the expectation of a square
    wave, so the only errors are what T does beyond its period (bounded by Hoeffding) and the nodes
    left out, which are added until the product of cosines has died down. Where it may rise again
    (``full``) all nodes are added; ten times the largest product in their second half stands for
    what is missing.
    """
    t = gap.sum(axis=-1) if t is None else t
    deviation = np.sqrt((gap * gap).sum(axis=-1))
    result = np.where(t > 0, 0.0, 1.0)
    live = np.abs(t) < Z * deviation
    if not live.any():
        return result, TAIL
    x, t, deviation = gap[live], t[live], deviation[live]
    half = np.pi / (np.abs(t) + Z * deviation)
    cosine = np.cos(x * half[:, None])
    twice = 4 * cosine * cosine - 2  # cos((k+2)y) = 2 cos(2y) cos(ky) - cos((k-2)y)
    before = cosine.copy()
    total = np.zeros(len(x))
    calm = 0
    left = 0.0
    for k in range(_NODES):
        value = np.multiply.reduce(cosine, axis=-1)
        total += value * np.sin((2 * k + 1) * half * t) / (2 * k + 1)
        now = float(np.abs(value).max())
        left = now if k <= _NODES // 2 else max(left, now)
        calm = calm + 1 if now < 1e-12 else 0
        if calm == 5 and not full:
            break
        cosine, before = twice * cosine - before, cosine
    result[live] = 0.5 - 2 / np.pi * total
    return result, TAIL + min(0.5, left * (10 if full else 1))
