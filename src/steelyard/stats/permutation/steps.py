"""Whether differences come in steps, so that a product of their cosines may rise again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.lattice import SCALES

SCALE = np.array(SCALES, dtype=np.float64)
_HALF = 0.5  # of the two steps between sums: what differences may be off in all
_EIGHTH = 8  # one of so many rules out most
_ROUGHLY = 0.1  # of those
_OFF = 0.01  # of all differences: what they may be off a lattice by
_SLACK = np.float32(1e-12)  # of the largest size: less is nothing
_LARGE = 2.0**40  # differences from which on a lattice is not looked for
_SAMPLE = 24  # differences, at most, that are looked at to tell a lattice
_MORE = 256  # ... of systems that are often alike
_MANY = 64  # ... of which so many differ

Bools = NDArray[np.bool_]
Singles = NDArray[np.float32]


def sampled(values: Floats, most: int) -> Floats:
    """Give some columns, evenly spread, at most so many."""
    return values[..., :: values.shape[-1] // most + 1]


def nearly_whole(sample: Floats) -> Bools:
    """Tell which rows may be nearly whole multiples of a fraction, by a sample of each."""
    found = np.zeros(len(sample), dtype=np.bool_)
    off, size = _off(sample[:, ::_EIGHTH])
    rows = np.flatnonzero(((off < _HALF) & (off <= _ROUGHLY * size)).any(axis=0))
    rows = rows[np.abs(sample[rows]).max(axis=-1, initial=0.0) < _LARGE]  # beyond, all are whole
    found[rows] = off_little(*_off(sample[rows])).any(axis=0)
    return found


def _off(sample: Floats) -> tuple[Floats, Floats]:
    """Add up what multiples are off whole numbers, and multiples: scales x rows."""
    scaled = np.multiply.outer(SCALE, sample)
    return np.abs(scaled - np.rint(scaled)).sum(axis=-1), np.abs(scaled).sum(axis=-1)


def off_little(off: Floats, size: Floats) -> Bools:
    """Tell whether what differences are off is rounding: of small ones it would be all of them."""
    little: Bools = (off < _HALF) & (off <= _OFF * size)
    return little


def in_order(gap: Floats) -> Singles:
    """Sort sizes of differences, in single precision: in half of the time.

    No two sizes at random are as close as its numbers are.
    """
    sizes = np.abs(gap, dtype=np.float32, casting="same_kind")
    sizes.sort(axis=-1)
    return sizes


def repeats(sizes: Singles) -> tuple[Counts, Counts]:
    """Count in each row of sizes in order those that occurred before, and those that are not 0."""
    slack = _SLACK * sizes[:, -1:]
    active = sizes > slack
    again = (sizes[:, 1:] - sizes[:, :-1] <= slack) & active[:, 1:]
    return again.sum(axis=-1), active.sum(axis=-1)


def stepped(matrices: Sequence[Floats], i: Counts, j: Counts) -> Bools:
    """Tell which matrices of scores come in steps, by one difference per segment of some pair."""
    n, width = matrices[0].shape
    segments = np.arange(width)
    turn = segments % len(i)
    first, second = i[turn] * width + segments, j[turn] * width + segments
    flat = [x.reshape(n * width) for x in matrices]
    again, active = repeats(in_order(np.stack([x[first] - x[second] for x in flat])))
    whole = nearly_whole(np.stack([x[:: x.size // _SAMPLE + 1] for x in flat]))
    found: Bools = (2 * again > active) | whole
    return found


def scattered(matrices: Sequence[Floats], of: Counts, i: Counts, j: Counts) -> Bools:
    """Tell which differences are no lattice, nor nearly one, by a sample of each.

    They are those of systems i and j in the matrix that ``of`` says.
    """
    again, active = _looked_at(matrices, of, i, j, _SAMPLE)
    columns = sampled(matrices[0][:1], _SAMPLE).size
    found: Bools = (again == 0) & (2 * active > columns)
    alike = np.flatnonzero((again == 0) & ~found)
    if alike.size:  # on most segments: look at more of them
        again, active = _looked_at(matrices, of[alike], i[alike], j[alike], _MORE)
        found[alike] = (again == 0) & (active >= _MANY)
    return found


def _looked_at(
    matrices: Sequence[Floats], of: Counts, i: Counts, j: Counts, most: int
) -> tuple[Counts, Counts]:
    """Count repeated sizes in a sample of each of some differences, and those that are not 0."""
    sample = np.stack([sampled(x, most) for x in matrices])
    return repeats(in_order(sample[of, i] - sample[of, j]))
