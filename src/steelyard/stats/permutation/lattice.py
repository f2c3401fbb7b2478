"""Scores on a lattice: multiples of some step, whose permutation null is computed exactly."""

from __future__ import annotations

import math

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, distinct

#: Tails beyond this many standard deviations are dropped; Hoeffding bounds them by exp(-Z^2 / 2).
Z = 7.5
TAIL = 2 * math.exp(-Z * Z / 2)
#: Denominators of published averages.
SCALES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 40, 50, 60, 100)
LARGEST = 2.0**40  # beyond, every double is a whole number
_CELLS = 30_000_000  # distinct steps x frequencies up to which a lattice is transformed
_FEW, _FINE = 24, 4_000_000  # units up to which signs are enumerated sooner than such a lattice
_SAMPLE = 50  # scores that settle it for most matrices
_FINEST = 1e-5  # of the range of scores: finer steps are as good as continuous
_COUNTED = 30  # differences up to which a p-value is a whole number of 2^n sign vectors
_SILENT = -34.0  # logarithm of a product of cosines that adds nothing
_CACHED = 64_000  # numbers worked on together
_COMMON = (4, 16)  # steps that decide whether a frequency matters


def as_lattice(scores: Floats) -> Floats | None:
    """Turn scores into whole numbers with the same ratios of differences, None if there are none.

    Euclid's algorithm finds the step that all differences share: first on a sample, which rules out
    nearly all continuous scores, then on all. Scores may be off by what rounding to double
    precision takes away, or to single precision where all of them are single. Any other score
    counts as it stands: 0.333333 is not a third.
    """
    present = scores.ravel()
    present = present[~np.isnan(present)] if np.isnan(present.sum()) else present
    steps = None
    for most in (_SAMPLE, 20 * _SAMPLE, len(present)):
        steps = _steps(present[:: len(present) // (most + 1) + 1])
        if steps is None:
            return None
    assert steps is not None
    low, step, noise = steps
    off = np.abs(present - (low + np.rint((present - low) / step) * step)).max()
    return np.rint((scores - low) / step) if off <= noise else None


def _steps(scores: Floats) -> tuple[float, float, float] | None:
    """Return a score, the step that all others are from it, and what they may be off."""
    size = float(np.abs(scores).max(initial=0.0))
    if not scores.size:
        return None
    single = bool((scores.astype(np.float32) == scores).all())
    noise = size * (2.0**-23 if single else 2.0**-48)
    few = scores[:: len(scores) // _SAMPLE + 1]
    scales = np.array(SCALES)[:, None]  # the fractions that people use
    fits = np.abs(few - np.rint(few * scales) / scales).max(axis=1) <= noise
    fits &= size <= LARGEST
    for scale in scales[fits, 0].tolist():
        if np.abs(scores - np.rint(scores * scale) / scale).max() <= noise:
            return 0.0, 1 / scale, noise
    low, span = float(scores.min()), float(scores.max() - scores.min())
    step = _shared_step(distinct(scores), 64 * noise if single else 0.0)
    return (low, span / round(span / step), noise) if step else None


def _shared_step(ordered: Floats, least: float) -> float:
    """Return the step that all numbers in order share; 0 where it is too fine, or there is none."""
    rest = np.diff(ordered)
    span = float(rest.sum())
    noise = max(least, 1e-10 * span + 4e-16 * float(np.abs(ordered[[0, -1]]).max()))
    step = 0.0
    while rest.size:
        step = float(rest.min())
        if step < max(_FINEST * span, least):
            return 0.0
        rest = np.abs(rest - step * np.rint(rest / step))
        rest = rest[rest > noise]
    return step


def declared_lattice(scores: Floats, step: float) -> Floats:
    """Take scores as multiples of a step, whatever they were rounded to: 0.333333 as a third."""
    whole = np.rint(scores / step)
    off = float(np.fmax.reduce(np.abs(scores / step - whole), axis=None, initial=0.0))
    if off > 0.01:
        raise UsageError(f"scores are no multiples of {step:g}: one is {off * step:g} off")
    return whole


def lattice_tails(gap: Floats, *, ties: bool = True) -> tuple[Floats, Floats, float] | None:
    r"""Return P(T > t), P(T = t) and the error for rows of whole-number differences.

    T moves in steps of two, so with a period 2L it is a sum over frequencies
    :math:`u = \pi k / L` of :math:`\prod_s \cos(u x_s)` times a weight:
    :math:`\cos(u t)` for P(T = t), and for the sum of :math:`P(T = \tau)` over :math:`\tau` from 0
    to t (both ends by half) :math:`\sin(u t) \cot(u) / 2`. L covers Z standard deviations beyond t;
    Hoeffding bounds what lies beyond. None if the lattice is so fine that it would not pay.
    Without ``ties``, the first is the mid-p, and the second 0.
    """
    t = gap.sum(axis=1, dtype=np.float64).astype(np.int64)
    far = Z * np.sqrt(np.einsum("rs,rs->r", gap, gap, dtype=np.float64))
    far = np.where(np.abs(t) < far, np.abs(t) + far, 0)
    if far.any() and far.max() / 4 * len(distinct(np.abs(gap[far.argmax()]))) > _CELLS:
        return None
    if gap.shape[1] <= _FEW and far.max() / 4 * len(distinct(np.abs(gap[: 20 * _FEW]))) > _FINE:
        return None
    values, counts = _step_counts(np.abs(gap))
    divisor = int(np.gcd.reduce(values, initial=0)) or 1
    values, t = values // divisor, t // divisor
    deviation = np.sqrt(counts @ values.astype(np.float64) ** 2)
    live = np.flatnonzero((np.abs(t) < Z * deviation) & (deviation > 0))
    mid = np.where(deviation > 0, np.where(t > 0, 0.0, 1.0), 0.5)
    at = (deviation == 0).astype(np.float64)
    if live.size:
        reach = np.minimum(counts @ values, Z * deviation)[live]
        width = int((np.abs(t[live]) + reach).max()) // 2 + 2 | 1  # odd: no frequency is its mirror
        used = np.flatnonzero(counts[live].any(axis=0))
        if len(used) * (width // 2) > _CELLS:
            return None
        some = counts[np.ix_(live, used)]
        mid[live], at[live] = _inverted(some, values[used], t[live], width, ties=ties)
    active = counts.sum(axis=1)
    few = active <= _COUNTED  # so few signs that their shares are whole numbers of 2^-n
    signs = 2.0 ** active[few]
    mid[few] = np.rint(mid[few] * 2 * signs) / (2 * signs)
    at[few] = np.rint(at[few] * signs) / signs
    return (mid - at / 2 if ties else mid), (at if ties else 0 * at), TAIL + 1e-12


def _step_counts(size: Floats) -> tuple[Counts, Floats]:
    """Return all sizes of differences but 0, and how often each row has each: rows x sizes."""
    top = int(size.max(initial=0))
    if top < 20 * size.shape[1]:  # counted without sorting
        values, codes = np.arange(top + 1), size.astype(np.int64)
    else:
        values, codes = np.unique(size, return_inverse=True)
    codes = codes.reshape(size.shape) + np.arange(len(size))[:, None] * len(values)
    counts = np.bincount(codes.ravel(), minlength=codes.shape[0] * len(values))
    counts = counts.reshape(len(size), len(values))
    used = np.flatnonzero(counts.any(axis=0) & (values > 0))
    return values[used].astype(np.int64), counts[:, used].astype(np.float64)


def _inverted(
    counts: Floats, values: Counts, t: Counts, width: int, *, ties: bool
) -> tuple[Floats, Floats]:
    """Sum over the frequencies pi k / width up to a right angle; the others mirror them."""
    angle = np.pi / width
    log = np.log(np.cos(np.arange(width // 2 + 1) * angle))
    log = np.concatenate([log, log[:0:-1]])
    inner, points = t.astype(np.float64), np.ones(len(t))
    k = _audible(counts, values, log)
    step = max(1, _CACHED // max(counts.shape))
    for part in (k[start : start + step] for start in range(0, len(k), step)):
        whole, rest = _divided(values[:, None] * part, width)
        size = counts @ log[rest]
        heard = np.flatnonzero(size.max(axis=0) > _SILENT)
        loud, whole, rest = part[heard], whole[:, heard], rest[:, heard]
        half_turns = (whole + (2 * rest > width)) & 1
        odd = (counts @ half_turns).astype(np.int64) & 1
        product = np.exp(size[:, heard]) * (1 - 2 * odd)
        phase = angle * _divided(t[:, None] * loud, 2 * width)[1]
        inner += 2 * (product * np.sin(phase)) @ (1 / np.tan(angle * loud))
        if ties:
            points += 2 * (product * np.cos(phase)).sum(axis=1)
    return 0.5 - inner / (2 * width), np.maximum(points / width, 0)


def _audible(counts: Floats, values: Counts, log: Floats) -> Counts:
    """Return the frequencies at which some product may matter: a few steps rule out nearly all."""
    width = len(log)
    least = counts.min(axis=0)
    order = np.argsort(-least, kind="stable")
    k = np.arange(1, width // 2 + 1)
    for common in (order[:number] for number in _COMMON):
        kept = [
            part[least[common] @ log[_divided(values[common, None] * part, width)[1]] > _SILENT]
            for part in np.array_split(k, len(k) * len(common) // _CACHED + 1)
        ]
        k = np.concatenate(kept)
    return k


def _divided(numbers: Counts, by: int) -> tuple[Counts, Counts]:
    """Divide, and return the rest: several times faster than NumPy's remainder."""
    whole = numbers // by
    return whole, numbers - whole * by
