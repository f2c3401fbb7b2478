"""Scores on a lattice: multiples of some step, whose permutation null can be had exactly."""

from __future__ import annotations

import math

import numpy as np

from steelyard.stats.arrays import Counts, Floats

#: Tails beyond this many standard deviations are dropped; Hoeffding bounds them by exp(-Z^2 / 2).
Z = 7.5
TAIL = 2 * math.exp(-Z * Z / 2)
_CELLS = 30_000_000  # distinct steps x frequencies up to which a lattice is transformed
SCALES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 40, 50, 60, 100)


def lattice_scale(scores: Floats, tolerance: float = 1e-4) -> int | None:
    """Find the smallest factor that makes all scores whole numbers, None if none does.

    Published averages are rounded, so a whole number is recognised within ``tolerance`` of the
    factor; float noise such as -1.3000000000000003 does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> lattice_scale(np.array([-1.0, -0.1])), lattice_scale(np.array([0.333333, -2.0]))
    (10, 3)
    >>> lattice_scale(np.array([0.12345, 3.0])) is None
    True
    """
    known = np.unique(scores[~np.isnan(scores)])
    if not known.size or np.abs(known).max() > 2**40:
        return None
    different = np.diff(known) > 1e-9 * np.abs(known).max()
    for scale in SCALES:
        scaled = known * scale
        whole = np.rint(scaled)
        kept = np.diff(whole)[different].all()  # values that differ stay different
        if kept and np.abs(scaled - whole).max() < tolerance * scale:
            return scale
    return None


def as_lattice(scores: Floats) -> Floats | None:
    """Turn scores into whole numbers with the same ratios of differences, None if there are none.

    Fractions of :data:`SCALES` come first; then any step that all differences share (averages over
    seven raters, three decimals, standardised levels) is found by Euclid's algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> as_lattice(np.array([0.5, 2.0])).tolist(), as_lattice(np.array([1 / 7, 3 / 7])).tolist()
    ([1.0, 4.0], [0.0, 1.0])
    """
    scale = lattice_scale(scores)
    if scale is not None:
        return np.rint(scores * scale)
    known = np.unique(scores[~np.isnan(scores)])
    if known.size < 2:
        return None
    span = float(known[-1] - known[0])
    rest = np.diff(known)
    noise = 1e-10 * span + 4e-16 * float(np.abs(known).max())
    rest = rest[rest > noise]
    step = span
    while rest.size:
        step = float(rest.min())
        if step < 1e-5 * span:
            return None
        rest = np.abs(rest - step * np.rint(rest / step))
        rest = rest[rest > noise]
    step = span / round(span / step)
    whole = (scores - known[0]) / step
    fits = np.abs(whole - np.rint(whole)) < 1e-3
    return np.rint(whole) if fits[~np.isnan(whole)].all() else None


def lattice_tails(gap: Floats) -> tuple[Floats, Floats, float] | None:
    r"""P(T > t) and P(T = t) for whole-number differences, by an inverse Fourier transform.

    With :math:`B = (T + A) / 2` and :math:`A = \sum |x_s|`, B is a sum of independent terms that
    are 0 or :math:`|x_s|`, and its transform at frequency k / L is a phase times
    :math:`\prod_s \cos(\pi k |x_s| / L)`. Equal steps share their cosine: the logarithms for all
    pairs are a matrix product of (how often each step occurs) and (its log cosine at each
    frequency). L covers Z standard deviations on either side; Hoeffding bounds what lies beyond.
    None if the lattice is so fine that the product would not fit.
    """
    steps = np.abs(gap).astype(np.int64)
    divisor = np.gcd.reduce(steps, axis=-1)
    steps //= np.maximum(divisor, 1)[:, None]
    total = steps.sum(axis=-1)
    deviation = 0.5 * np.sqrt((steps.astype(np.float64) ** 2).sum(axis=-1))
    values, codes = np.unique(steps, return_inverse=True)
    width = int(min(2 * math.ceil(Z * deviation.max(initial=0)) + 4, total.max(initial=0) + 1))
    if len(values) * (width // 2 + 1) > _CELLS:
        return None
    counts = np.zeros((len(gap), len(values)))
    rows = np.repeat(np.arange(len(gap)), steps.shape[1])
    np.add.at(counts, (rows, codes.ravel()), 1)
    frequency = np.arange(width // 2 + 1)
    magnitude = _cosine_products(counts, values, width)
    # The window starts at 0, or so that the middle of the distribution stands in its middle.
    shift = np.maximum(0, (total - width + 1) // 2)
    phase = np.pi / width * ((total - 2 * shift)[:, None] * frequency[None, :] % (2 * width))
    pmf = np.fft.irfft(magnitude * np.exp(-1j * phase), n=width, axis=-1)
    pmf = np.maximum(pmf, 0)
    place = (gap.sum(axis=-1).astype(np.int64) // np.maximum(divisor, 1) + total) // 2 - shift
    upper = np.zeros((len(gap), width + 1))
    upper[:, :-1] = np.cumsum(pmf[:, ::-1], axis=-1)[:, ::-1]
    inside = (place >= 0) & (place < width)
    row = np.arange(len(gap))
    at = np.where(inside, pmf[row, np.clip(place, 0, width - 1)], 0)
    above = np.where(place < 0, 1.0, upper[row, np.clip(place + 1, 0, width)])
    above = np.where(gap.sum(axis=-1) == 0, 0.5 - at / 2, above)  # symmetry, without rounding
    zero = divisor == 0
    return np.where(zero, 0.0, above), np.where(zero, 1.0, at), TAIL + 1e-12


def _cosine_products(counts: Floats, values: Counts, width: int) -> Floats:
    """Multiply cos(pi k a / width) over all steps a, for every pair and every frequency k.

    All angles are multiples of pi / width, so cosines come from one table; a few frequencies at a
    time keep everything in the processor's cache.
    """
    cosine = np.cos(np.arange(2 * width) * (np.pi / width))
    log = np.log(np.maximum(np.abs(cosine), 1e-300))
    negative = (cosine < 0).astype(np.float64)
    products = np.empty((len(counts), width // 2 + 1))
    step = max(1, 500_000 // len(values))
    for start in range(0, products.shape[1], step):
        frequency = np.arange(start, min(start + step, products.shape[1]))
        turn = values[:, None] * frequency[None, :] % (2 * width)
        size = np.exp(np.maximum(counts @ log[turn], -700))
        odd = np.rint(counts @ negative[turn]) % 2
        products[:, frequency] = size * (1 - 2 * odd)
    return products
