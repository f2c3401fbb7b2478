r"""How far a product of cosines can rise again, where differences come in steps.

A series (:mod:`steelyard.stats.permutation.series`) takes the product over segments for dead from
some frequency on. It is, unless sizes of differences repeat so much that they line up once more.
:func:`risen` bounds what that may add to a p-value: small differences keep the product down, and
where they do not, some cosines of larger ones show that it stays there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.pairsums import Singles
from steelyard.stats.permutation.series import NODES, SURE, lowest, numbered

_CACHED = 50_000  # cosines at a time
# Sizes beyond a right angle, at most, that show how far the product of all cosines can rise again:
# more of them where few say too little.
_SIZES = (24, 200)
_BLOCKS = (18, 26, 38, 54, 76, 108, 152, 216, 300, 430, NODES)  # of nodes beyond the series
_ODD = [np.arange(2 * start + 1, 2 * stop, 2) for start, stop in pairwise(_BLOCKS)]
_LATE = np.array([2 * start >= NODES for start in _BLOCKS[:-1]])  # blocks of the second half
_ENOUGH = SURE / 5  # in all
_LITTLE = SURE / 500  # in a block
_FLOOR = np.float32(1e-3)  # of a cosine in single precision, whose angle is good to 1e-4


def risen(sizes: Singles, t: Floats) -> Floats:
    r"""Bound what the nodes that a series leaves out may add, for rows of sizes in order.

    No cosine exceeds :math:`\exp(-y^2/2)` up to a right angle; beyond it, it is 1 at most. Where
    that says too little, some cosines of different sizes are computed; then all of them, as often
    as they occur. That is added up over the nodes up to :data:`NODES`, block by block. What lies
    beyond is taken to be ten times what independent terms of the size of the second half would
    give.
    """
    squares = np.cumsum(sizes * sizes, axis=1, dtype=np.float64)
    half = lowest(np.sqrt(squares[:, -1]), t)
    # Larger sizes are beyond a right angle at the end of each block.
    turned = [np.pi / 2 / (own[-1] * half) for own in _ODD]
    below = _up_to(sizes, turned)
    small = np.where(below > 0, squares[np.arange(len(sizes)), below - 1], 0.0)
    power = -0.5 * half * half * small  # of the small sizes, blocks x rows
    sums, late = np.zeros((2, *power.shape))
    for block, odd in enumerate(_ODD):
        product = np.exp(np.multiply.outer(power[block], odd * odd))
        sums[block], late[block] = _added(product, odd)
    rows = np.flatnonzero(_in_all(sums, late) > _ENOUGH)
    for most in _SIZES if rows.size else ():
        values, times, counts = _distinct(sizes[rows])
        angles = (values * half[rows, None]).astype(np.float32)
        values_below = _up_to(values, [own[rows] for own in turned])
        for block, odd in enumerate(_ODD):
            some = np.flatnonzero(sums[block, rows] > _LITTLE)
            if not some.size:
                continue
            own = rows[some]
            product = np.exp(np.multiply.outer(power[block, own], odd * odd))
            chosen = _spread(values_below[block, some], counts[some], most)
            powers = times[some] if most == _SIZES[-1] else None
            product *= _bounded(angles[some], powers, chosen, odd.astype(np.float32))
            sums[block, own], late[block, own] = _added(product, odd)
        rows = rows[_in_all(sums[:, rows], late[:, rows]) > _ENOUGH]
        if not rows.size:
            break
    return _in_all(sums, late)


def _added(product: Floats, odd: Counts) -> tuple[Floats, Floats]:
    """Add up a block of nodes, by their weights; and their squares."""
    return product @ (1 / odd), np.einsum("rk,rk->r", product, product)


def _in_all(sums: Floats, late: Floats) -> Floats:
    """Add up blocks, and what lies beyond them."""
    size = np.sqrt(2 * late[_LATE].sum(axis=0) / NODES)
    found: Floats = 2 / np.pi * (sums.sum(axis=0) + 10 * size / math.sqrt(4 * NODES))
    return found


def _up_to(ordered: Floats | Singles, limits: Sequence[Floats]) -> Counts:
    """Count in each row of numbers in order those up to each of its limits: limits x rows."""
    every = np.stack(limits, axis=1)
    found = [
        np.searchsorted(own, up_to, "right") for own, up_to in zip(ordered, every, strict=True)
    ]
    return np.array(found, dtype=np.int64).reshape(every.shape).T


def _distinct(sizes: Singles) -> tuple[Floats, Singles, Counts]:
    """Give the different sizes of each row but 0 in order, how often each occurs, and their number.

    Rows that have fewer than others are filled up with sizes that never occur.
    """
    slack = np.float32(1e-12) * sizes[:, -1:]
    active = sizes > slack
    active[:, 1:] &= np.diff(sizes, axis=1) > slack
    counts = active.sum(axis=1)
    row, column = np.nonzero(active)
    shape = len(sizes), int(counts.max(initial=1))
    values, times = np.full(shape, np.inf), np.zeros(shape, dtype=np.float32)
    at = row, numbered(counts)
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
    """Product over chosen sizes of how large cosines of multiples of angles may be: rows x nodes.

    Each counts once, or as often as ``powers`` say.
    """
    rows = np.arange(len(angles))
    own = np.where(chosen < 0, np.float32(0), angles[rows, chosen])
    times = None if powers is None else np.where(chosen < 0, np.float32(0), powers[rows, chosen])
    found = np.empty((len(angles), len(odd)), dtype=np.float32)
    step = max(1, _CACHED // max(1, len(chosen) * len(odd)))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        cosine = np.multiply.outer(own[:, some], odd)  # sizes x rows x nodes
        np.cos(cosine, out=cosine)
        np.abs(cosine, out=cosine)
        np.maximum(cosine, _FLOOR, out=cosine)
        if times is None:
            np.multiply.reduce(cosine, axis=0, out=found[some])
        else:
            np.log(cosine, out=cosine)
            cosine *= times[:, some, None]
            found[some] = np.exp(cosine.sum(axis=0))
    return found
