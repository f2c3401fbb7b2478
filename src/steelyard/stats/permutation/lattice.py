"""Scores on a lattice: multiples of some step, whose permutation null can be had exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats

#: Tails beyond this many standard deviations are dropped; Hoeffding bounds them by exp(-Z^2 / 2).
Z = 7.5
TAIL = 2 * math.exp(-Z * Z / 2)
_COUNTED = 30  # differences that are not zero up to which p-values are counts of signs
#: Distinct steps x frequencies up to which a lattice is transformed.
CELLS = 30_000_000
_TABLE = 500_000  # rows x steps up to which they are counted without sorting
_SMALL = 16_000  # numbers at a time: fewer than what makes the allocator ask for fresh pages
_COMMON = 16  # steps that decide whether a frequency matters
_FIRST = 4  # ... of which these are looked at first
_SHORT = 2**31  # numbers that four bytes can't hold
_SILENT = -34.0  # logarithm of a product that does not
SCALES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 40, 50, 60, 100)
_SCALES = np.array(SCALES, dtype=np.float64)
_FAR = 1e-6  # of a step: further off nothing is a whole number, however large
_LARGEST = 2.0**40  # scores beyond are not looked at
_SAMPLE = 50  # scores, at most, that may settle it for all
_FEW = 5  # in a sample: one of so many rules out most scales
_MORE = 1000  # scores, about, that are looked at where the sample did not see all
_TRIES = 6  # to find a step by few scores, and at last by all
_ROUNDED = 0.01  # of a declared step: what may be rounding of what was published
_NOISE = 2.0**-48  # of the largest score: sixteen times what rounding a number takes away


def lattice_scale(scores: Floats) -> int | None:
    """Find the smallest factor that makes all scores whole numbers, None if none does.

    Scores are on a lattice if they are no further from it than rounding in double precision takes
    them (-1.3000000000000003 is -1.3), or if they are its numbers in single precision. Any other
    score is what it says: 0.333333 is not a third.

    Examples
    --------
    >>> import numpy as np
    >>> lattice_scale(np.array([-1.0, -0.1])), lattice_scale(np.array([1 / 3, -2.0]))
    (10, 3)
    >>> lattice_scale(np.array([0.333333, 3.0])) is None
    True
    """
    known = scores[~np.isnan(scores)]
    return _scale_of(known, float(np.abs(known).max(initial=0.0)), SCALES) if known.size else None


def _scale_of(known: Floats, size: float, scales: Sequence[int]) -> int | None:
    """Find the first of some factors that makes whole numbers of scores up to a size."""
    if size > _LARGEST:
        return None
    for scale in scales:
        scaled = known * scale
        whole = np.rint(scaled)
        if np.abs(scaled - whole).max() <= min(scale * _NOISE * size, _FAR):
            return scale
        if (np.float32(whole / scale) == known).all():
            return scale
    return None


def as_lattice(scores: Floats) -> Floats | None:
    """Turn scores into whole numbers with the same ratios of differences, None if there are none.

    Fractions of :data:`SCALES` come first; then any step that all differences share (averages over
    seven raters, three decimals, standardised levels) is found by Euclid's algorithm. A few scores
    that are not on a lattice settle it for all.

    Examples
    --------
    >>> import numpy as np
    >>> as_lattice(np.array([0.5, 2.0])).tolist(), as_lattice(np.array([1 / 7, 3 / 7])).tolist()
    ([1.0, 4.0], [0.0, 1.0])
    """
    return as_lattices([scores])[0]


def as_lattices(matrices: Sequence[Floats]) -> list[Floats | None]:
    """Turn each of several matrices of scores into whole numbers, as :func:`as_lattice` does."""
    found: list[Floats | None] = [None] * len(matrices)
    ends = [_ends(scores) for scores in matrices]
    some = [place for place, (low, _) in enumerate(ends) if not math.isnan(low)]
    samples = np.empty((len(some), _SAMPLE))
    for own, place in zip(samples, some, strict=True):
        sample = matrices[place].ravel()[:: matrices[place].size // _SAMPLE + 1]
        own[: len(sample)] = np.where(np.isnan(sample), ends[place][0], sample)
        own[len(sample) :] = ends[place][0]
    samples.sort(axis=1)
    low, high = np.array([ends[place] for place in some]).reshape(-1, 2).T
    fits = _fits(samples, np.maximum(-low, high))
    steps = _shared_steps(samples, low, high)
    for own, step, place in zip(fits, steps.tolist(), some, strict=True):
        if own.any() or step > 0:
            scales = [scale for scale, fit in zip(SCALES, own, strict=True) if fit]
            found[place] = _whole(matrices[place], *ends[place], scales, step)
    return found


def _ends(scores: Floats) -> tuple[float, float]:
    """Lowest and highest score; NaN where there is none."""
    if not scores.size:
        return math.nan, math.nan
    low, high = float(scores.min()), float(scores.max())
    if math.isnan(low):
        low, high = (
            float(np.fmin.reduce(scores, axis=None)),
            float(np.fmax.reduce(scores, axis=None)),
        )
    return low, high


def _fits(scores: Floats, size: Floats) -> NDArray[np.bool_]:
    """Tell which scales make whole numbers of each row of scores up to a size: rows x scales."""
    if scores.shape[1] > _FEW**2:
        fit = _fits(scores[:, ::_FEW], size)
        some = np.flatnonzero(fit.any(axis=1))
        fit[some] &= _fits_all(scores[some], size[some])
        return fit
    return _fits_all(scores, size)


def _fits_all(scores: Floats, size: Floats) -> NDArray[np.bool_]:
    scaled = np.multiply.outer(_SCALES, scores)
    whole = np.rint(scaled)
    off = np.abs(scaled - whole).max(axis=-1, initial=0)
    fit = off <= np.minimum(np.multiply.outer(_SCALES * _NOISE, size), _FAR)
    fit |= ((whole / _SCALES[:, None, None]).astype(np.float32) == scores).all(axis=-1)
    return np.asarray((fit & (size <= _LARGEST)).T)


def _whole(
    scores: Floats, low: float, high: float, scales: Sequence[int], step: float
) -> Floats | None:
    """Turn scores into whole numbers by the scales or the step that a sample of them has."""
    size = max(-low, high)
    known = scores.ravel()
    known = known[~np.isnan(known)] if np.isnan(known.sum()) else known
    scale = _scale_of(known, size, scales)
    if scale is not None:
        return np.rint(scores * scale)
    whole = _in_steps(scores, low, high, step) if step > 0 else None
    some = known[:: len(known) // _MORE + 1]
    for attempt in range(_TRIES):  # the sample did not see all
        if whole is not None:
            break
        if attempt == _TRIES - 1:
            some = known
        step = float(_shared_steps(np.unique(some)[None], np.array([low]), np.array([high]))[0])
        if not step > 0:
            break
        whole = _in_steps(scores, low, high, step)
        if whole is None:  # look at those that are far from all steps, too
            off = np.abs(known - low - step * np.rint((known - low) / step))
            few = min(_SAMPLE, len(known))
            some = np.append(some, known[np.argpartition(off, -few)[-few:]])
    return whole


def _in_steps(scores: Floats, low: float, high: float, step: float) -> Floats | None:
    """Count steps from the lowest score; None if some score is between two steps."""
    step = (high - low) / round((high - low) / step)
    whole = np.rint((scores - low) / step)
    off = np.fmax.reduce(np.abs(scores - (low + whole * step)), axis=None)
    return whole if off <= _NOISE * max(-low, high) else None


def declared_lattice(scores: Floats, step: float) -> Floats:
    """Take scores as multiples of a step, whatever they were rounded to: 0.333333 as a third.

    Examples
    --------
    >>> import numpy as np
    >>> declared_lattice(np.array([0.333333, 2.0]), 1 / 3).tolist()
    [1.0, 6.0]
    """
    if not (step > 0 and math.isfinite(step)):
        raise UsageError(f"a step is a number above 0, got {step:g}")
    whole = np.rint(scores / step)
    off = float(np.fmax.reduce(np.abs(scores / step - whole), axis=None, initial=0.0))
    if off > _ROUNDED:
        raise UsageError(f"scores are no multiples of {step:g}: one is {off * step:g} off")
    return whole


def _shared_steps(scores: Floats, low: Floats, high: Floats) -> Floats:
    """Find the step that each row of scores in order shares; 0 where it is too fine, or nothing.

    That is Euclid's algorithm, on what stands side by side: small numbers, which have little noise.
    ``low`` and ``high`` are the ends of the range that the scores are from.
    """
    span = high - low
    noise = 1e-10 * span + 4e-16 * np.maximum(-low, high)
    rest = np.diff(scores, axis=1)
    step, rows = span.copy(), np.arange(len(scores))
    while rows.size:
        rest = np.where(rest > noise[rows, None], rest, np.inf)
        least = rest.min(axis=1, initial=np.inf)
        rough = least < np.inf  # there is a remainder
        step[rows[rough]] = least[rough]
        fine = step[rows] < 1e-5 * span[rows]
        step[rows[fine]] = 0.0
        rough &= ~fine
        rows, least = rows[rough], least[rough, None]
        rest = np.where(rest[rough] < np.inf, rest[rough], 0.0)
        rest = np.abs(rest - least * np.rint(rest / least))
    return step


def lattice_tails(
    gaps: Iterable[Floats],
    *,
    ties: bool = True,
    most: float | None = None,
    t: Floats | None = None,
) -> tuple[Floats, Floats, float] | None:
    r"""P(T > t) and P(T = t) for whole-number differences, by inverting their transform.

    T moves in steps of two, so with a period 2L it is a sum over frequencies
    :math:`u = \pi k / L` of :math:`\prod_s \cos(u x_s)` times a weight:
    :math:`\cos(u t)` for P(T = t), and for the sum of :math:`P(T = \tau)` over :math:`\tau` from 0
    to t (both ends by half) :math:`\sin(u t) \cot(u) / 2`. L covers Z standard deviations beyond
    t; Hoeffding bounds what lies beyond. Nearly all products vanish, so only those are taken that
    the commonest steps do not rule out. None if the lattice is so fine that it would not pay.

    ``gaps`` are rows of differences, as many at a time as suits; none of them is larger than
    ``most``, and ``t`` are their sums, if that is known. Without ``ties``, the first array is
    P(T > t) + P(T = t) / 2 and the second is 0.
    """
    values, counts, sums = _step_counts(gaps, most, t)
    divisor = int(np.gcd.reduce(values, initial=0)) or 1
    return _tails(values // divisor, counts, sums // divisor, ties=ties)


def _tails(
    values: Counts, counts: Floats, t: Counts, *, ties: bool
) -> tuple[Floats, Floats, float] | None:
    """Tails of rows that have each size so often, and sum up to t."""
    deviation = np.sqrt(counts @ values.astype(np.float64) ** 2)
    live = (np.abs(t) < Z * deviation) & (deviation > 0)
    mid = np.where(deviation > 0, np.where(t > 0, 0.0, 1.0), 0.5)
    at = (deviation == 0).astype(np.float64) if ties else np.zeros(len(t))
    if live.any():
        reach = np.minimum(counts @ values, Z * deviation)  # T can't be further out than that
        width = lattice_width(t[live], reach[live] / Z)
        if len(values) * (width // 2 + 1) > CELLS:
            return None
        some = counts if live.all() else counts[live]
        used = np.flatnonzero(some.any(axis=0))
        some = some if len(used) == len(values) else some[:, used]
        mid[live], at[live] = _inverted(some, values[used], t[live], width, ties=ties)
    # So few signs that their shares are known: whole numbers of them.
    few = counts.sum(axis=1) <= _COUNTED
    if few.any():
        signs = 2.0 ** counts.sum(axis=1)[few]
        mid[few] = np.rint(mid[few] * 2 * signs) / (2 * signs)
        at[few] = np.rint(at[few] * signs) / signs
    return mid - at / 2, at, TAIL + 1e-12


def lattice_width(t: Floats | Counts, deviation: Floats) -> int:
    """Give half the period that keeps Z deviations beyond t apart."""
    return int((np.abs(t) + Z * deviation).max()) // 2 + 2


def in_few_bytes(whole: Floats, most: float) -> Floats:
    """Give whole numbers, less the least, in two bytes each if their range fits: less to move."""
    fits = whole.size and most <= np.iinfo(np.int16).max
    return (whole - whole.min()).astype(np.int16) if fits else whole


def _step_counts(
    gaps: Iterable[Floats], most: float | None, sums: Floats | None
) -> tuple[Counts, Floats, Counts]:
    """Give all sizes of differences but 0, how often each row has each, and the sum of each row."""
    steps, tables, totals = [], [], []
    every = None if most is None or most >= _TABLE else np.arange(most + 1)
    for gap in gaps:
        size = np.abs(gap)
        top = float(size.max(initial=0)) if most is None else most
        rows = np.arange(len(gap))[:, None]
        if len(gap) * top < _TABLE:
            values = np.arange(top + 1) if every is None else every
            codes = np.add(size, rows * len(values), dtype=np.int64, casting="unsafe")
        else:
            values, inverse = np.unique(size, return_inverse=True)
            codes = inverse.reshape(gap.shape) + rows * len(values)
        counts = np.bincount(codes.ravel(), minlength=len(gap) * len(values))
        steps.append(values)
        tables.append(counts.reshape(len(gap), len(values)))
        totals.append(gap.sum(axis=-1) if sums is None else sums[:0])
    t = np.concatenate(totals or [np.zeros(0)]) if sums is None else sums
    if steps and all(values is every for values in steps):
        found, table = steps[0], np.concatenate(tables)
    else:
        found = np.unique(np.concatenate(steps or [np.zeros(0)]))
        table = np.zeros((sum(map(len, tables)), len(found)), dtype=np.int64)
        start = 0
        for values, counts in zip(steps, tables, strict=True):
            table[start : start + len(counts), np.searchsorted(found, values)] = counts
            start += len(counts)
    used = np.flatnonzero(table.any(axis=0) & (found > 0))
    return found[used].astype(np.int64), table[:, used].astype(np.float64), t.astype(np.int64)


def _inverted(
    counts: Floats, values: Counts, t: Counts, width: int, *, ties: bool
) -> tuple[Floats, Floats]:
    """Sum over the frequencies pi k / width up to a right angle; the others mirror them."""
    width |= 1  # odd: no frequency is its own mirror image
    angle = np.pi / width
    log = np.log(np.cos(np.arange(width // 2 + 1) * angle))
    log = np.concatenate([log, log[:0:-1]])
    small = counts.astype(np.float32)
    inner, points = t.astype(np.float64), np.ones(len(t))
    for k in _audible(counts, values, log):
        whole, rest = _divided(values[:, None] * k, width)
        size = counts @ log[rest]
        heard = np.flatnonzero(size.max(axis=0) > _SILENT)  # by all steps
        some, whole, rest = k[heard], whole[:, heard], rest[:, heard]
        size = np.exp(size[:, heard])
        whole += 2 * rest > width  # half turns, rounded
        whole &= 1
        odd = (small @ whole.astype(np.float32)).astype(np.int64) & 1
        size *= 1 - 2 * odd
        phase = angle * _divided(t[:, None] * some, 2 * width)[1]
        inner += 2 * (size * np.sin(phase)) @ (1 / np.tan(angle * some))
        if ties:
            points += 2 * (size * np.cos(phase)).sum(axis=-1)
    at = np.maximum(points / width, 0) if ties else np.zeros(len(t))
    return 0.5 - inner / (2 * width), at


def _divided(numbers: Counts, by: int) -> tuple[Counts, Counts]:
    """Divide, and give the rest, faster than NumPy's remainder. Overwrites the numbers."""
    whole = numbers // by
    numbers -= whole * by
    return whole, numbers


def _audible(counts: Floats, values: Counts, log: Floats) -> Iterator[Counts]:
    """Yield the frequencies at which some product may matter, some of them at a time."""
    width = len(log)
    least = counts.min(axis=0)
    common = np.argsort(-least, kind="stable")[:_COMMON]
    least, steps = least[common], values[common]
    if int(steps.max(initial=0)) * width < _SHORT:
        steps = steps.astype(np.int32)  # are divided in half of the time
    found = []
    for start in range(1, width // 2 + 1, _SMALL // _FIRST):
        k = np.arange(start, min(start + _SMALL // _FIRST, width // 2 + 1), dtype=steps.dtype)
        # A few steps rule out nearly all.
        k = k[least[:_FIRST] @ log[_divided(steps[:_FIRST, None] * k, width)[1]] > _SILENT]
        bound = least @ log[_divided(steps[:, None] * k, width)[1]]
        found.append(k[bound > _SILENT].astype(np.int64))
    heard = np.concatenate(found)
    step = max(1, _SMALL // max(counts.shape))
    for start in range(0, len(heard), step):
        yield heard[start : start + step]
