"""Soft pairwise accuracy of metrics whose scores are swapped: all draws for all pairs of metrics.

How surely a metric orders two systems is a function of sums of powers of their differences. Swaps
make such sums linear in the signs (:mod:`~steelyard.stats.metametrics.swapping`), so they come from
matrix products, one column per metric and pair of systems. What is left is a p-value for each draw,
pair of metrics and pair of systems, by a fit: billions of them, and most of the time. They are
compiled where that pays (:mod:`~steelyard.stats.metametrics.spaloops`); NumPy gives the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.metametrics.spaloops import FITS, Loops, compiled_loops, leaves
from steelyard.stats.metametrics.swapping import Null, Signs, Swaps, standardise
from steelyard.stats.permutation.pvalues import block_sums, pair_index
from steelyard.stats.permutation.tails import Singles, expansion, quick_p

_SECONDS = 6e-9  # that NumPy takes for a p-value
# Products of small matrices are added up in an order that depends on their layout (OpenBLAS).
_SMALL = 2_000_000
_TOGETHER = 2048  # pairs of metrics whose products are held at a time
_HALF = np.float32(0.5)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Which systems are compared, and which metrics."""

    i: Counts
    j: Counts
    goal: Singles  # p-values of people
    a: Counts
    b: Counts

    def loops(self, n_draws: int) -> Loops | None:
        """Give compiled loops if they are worth it."""
        return compiled_loops(_SECONDS * 2 * len(self.goal) * len(self.a) * n_draws)


def null_spa(p_human: Floats, metrics: Floats, swaps: Swaps) -> Null:
    """Draw differences of soft pairwise accuracy between all pairs of metrics.

    Parameters
    ----------
    p_human
        p-values of the human score, systems x systems (see
        :mod:`steelyard.stats.permutation.pvalues`).
    metrics
        Metrics x systems x segments, higher is better; NaN cells take no part.
    swaps
        What is swapped together, and how often.

    p-values inside the draws are normal (for ``inputs`` with an Edgeworth term where there are
    fewer than 500 segments).
    Segments that any system or metric lacks take no part, except for ``inputs``, which drops them
    pair by pair.
    """
    if metrics.ndim != 3 or p_human.shape != (metrics.shape[1],) * 2:
        raise ShapeError(f"metrics {metrics.shape} do not fit p-values {p_human.shape}")
    scheme, blocks = swaps.scheme, swaps.blocks
    z = standardise(metrics).astype(np.float32)
    if scheme != "inputs":
        complete = ~np.isnan(z).any(axis=(0, 1))
        own = None if blocks is None else blocks[complete]
        z = np.ascontiguousarray(_block_sums(z[:, :, complete], own))
    i, j = pair_index(z.shape[1])
    known = ~np.isnan(p_human[i, j])
    i, j = i[known], j[known]
    goal = p_human[i, j].astype(np.float32)
    a, b = (np.array(side, dtype=np.int64) for side in zip(*swaps.pairs(len(z)), strict=True))
    pairs = _Pairs(i, j, goal, a, b)
    gaps = z[:, i] - z[:, j]
    absent = np.isnan(gaps)
    compared = ~absent.all(axis=-1)  # whether a metric has both systems of a pair
    gaps[absent] = 0
    if scheme == "inputs":
        gaps = _block_sums(gaps, blocks)
    s = gaps.shape[-1]
    powers = [gaps, gaps * gaps]
    if s < 500 and scheme == "inputs":
        powers.append(powers[1] * powers[1])
    sums = [power.sum(axis=-1) for power in powers]
    values = _values(sums, goal, compared)
    differences = np.empty((len(a), swaps.n), dtype=np.float32)
    done = 0
    batches = _batches(z, powers, sums, pairs, swaps)
    for batch in batches:
        differences[:, done : done + batch.shape[1]] = batch
        done += batch.shape[1]
    return Null(values, differences.T, scheme)


def _batches(
    z: Singles, powers: list[Singles], sums: list[Singles], pairs: _Pairs, swaps: Swaps
) -> Iterator[Singles]:
    """Yield differences in batches of draws: pairs of metrics x draws."""
    s = powers[0].shape[-1]
    loops = pairs.loops(swaps.n)
    for signs in swaps.signs(z.shape[1], s):
        if swaps.scheme == "inputs":
            assert signs.columns is not None
            yield _inputs(powers, sums, pairs, signs.columns, loops=loops)
        elif swaps.scheme == "systems":
            assert signs.rows is not None
            yield _systems(z, pairs, signs.rows)
        else:
            yield _cells(z, pairs, _cell_signs(signs, s, len(z)), loops=loops)


def _block_sums(values: Singles, blocks: Counts | None) -> Singles:
    """Add up within blocks, in double precision."""
    return (
        values
        if blocks is None
        else block_sums(values.astype(np.float64), blocks).astype(np.float32)
    )


def _values(sums: list[Singles], goal: Singles, compared: NDArray[np.bool_]) -> Floats:
    exact = [part.astype(np.float64) for part in sums]
    p, _ = expansion(*exact)
    lost = np.where(compared, np.abs(p - goal), 0.0).sum(axis=-1)
    return 1 - ratio(lost, compared.sum(axis=-1))


def _distance(t: Singles, variance: Singles, fourth: Singles | None, goal: Singles) -> Singles:
    """Give abs(p - goal), p from sums of powers; overwrites t and variance."""
    p = quick_p(t, variance, fourth)
    p -= goal
    np.abs(p, out=p)
    return p


# Swapped inputs


def _inputs(
    powers: list[Singles],
    sums: list[Singles],
    pairs: _Pairs,
    signs: Singles,
    *,
    loops: Loops | None,
) -> Singles:
    """Differences of soft pairwise accuracy after swapping inputs: pairs of metrics x draws."""
    swapped = np.empty((len(powers), len(signs), *sums[0].shape), dtype=np.float32)
    for power, to in zip(powers, swapped, strict=True):
        flat = power.reshape(-1, power.shape[-1])
        np.matmul(signs, flat.T, out=to.reshape(len(signs), -1))
    if loops is None:
        return _swapped_inputs(sums, swapped, pairs)
    found = np.empty((len(pairs.a), len(signs)), dtype=np.float32)
    order = np.array(leaves(len(pairs.goal)), dtype=np.int64)
    whole = np.ascontiguousarray(np.stack(sums))
    loops.inputs(whole, swapped, pairs.goal, pairs.a, pairs.b, order, *FITS, found)
    return found


def _swapped_inputs(sums: list[Singles], swapped: Singles, pairs: _Pairs) -> Singles:
    """Differences from sums of powers (metrics x pairs of systems), and with signs, per draw."""
    of_metrics = np.ascontiguousarray(swapped.transpose(0, 2, 1, 3))  # each in one piece
    rows = []
    for a, b in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
        plus, minus = [], []
        for whole, signed in zip(sums, of_metrics, strict=True):
            middle = _HALF * (whole[a] + whole[b])
            shift = signed[a] - signed[b]
            shift *= _HALF
            plus.append(middle + shift)
            minus.append(middle - shift)
        fourth = (plus[2], minus[2]) if len(plus) > 2 else (None, None)
        lost_a = _distance(plus[0], plus[1], fourth[0], pairs.goal).sum(axis=-1)
        lost_b = _distance(minus[0], minus[1], fourth[1], pairs.goal).sum(axis=-1)
        rows.append((lost_b - lost_a) / np.float32(len(pairs.goal)))
    return np.stack(rows)


# Swapped systems


def _systems(z: Singles, pairs: _Pairs, rows: Singles) -> Singles:
    """Differences as :func:`_inputs` gives them, where whole systems are swapped.

    Each system of a pair has the scores of the one metric or of the other, so there are four
    p-values of the pair, and a draw only chooses among them.
    """
    i, j, goal = pairs.i, pairs.j, pairs.goal
    other = (rows < 0).astype(np.int64)  # draws x systems: whose scores the first metric has
    own, theirs = other[:, i], other[:, j]
    at = np.arange(len(i))

    def distances(one: Singles, other: Singles) -> Singles:
        gaps = one[i] - other[j]
        return _distance(gaps.sum(axis=-1), (gaps * gaps).sum(axis=-1), None, goal)

    alone = [distances(metric, metric) for metric in z]
    found = []
    for a, b in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
        mixed = [distances(z[a], z[b]), distances(z[b], z[a])]
        far = np.stack([alone[a], *mixed, alone[b]]).reshape(2, 2, -1)
        lost_a = far[own, theirs, at].sum(axis=-1)
        lost_b = far[1 - own, 1 - theirs, at].sum(axis=-1)
        found.append((lost_b - lost_a) / np.float32(len(goal)))
    return np.stack(found)


# Swapped cells


def _cell_signs(signs: Signs, n_segments: int, n_metrics: int) -> Singles:
    """Give the sign of every cell, (systems, segments, draws)."""
    columns, rows, cells = signs
    if cells is None:
        assert rows is not None
        ones = np.ones((len(rows), n_segments), dtype=np.float32)
        cells = rows[:, :, None] * (ones if columns is None else columns)[:, None, :]
    if cells[:, 0].size * n_metrics > _SMALL:
        return np.ascontiguousarray(cells.transpose(1, 2, 0))
    return np.ascontiguousarray(cells.transpose(1, 0, 2)).transpose(0, 2, 1)


def _product(rows: Singles, signs: Singles, out: Singles | None = None) -> Singles:
    """Multiply rows x segments with segments x draws, the latter being laid out either way."""
    if signs.flags.c_contiguous:
        return np.matmul(rows, signs, out=out)
    found = np.empty((len(rows), signs.shape[1]), dtype=np.float32) if out is None else out
    found[...] = (signs.T @ rows.T).T
    return found


def _cells(z: Singles, pairs: _Pairs, signs: Singles, *, loops: Loops | None) -> Singles:
    """Differences as :func:`_inputs` gives them, for signs that differ between systems.

    For systems i, j and metrics a, b the squared differences after swapping are sums of products of
    two scores with K_i, K_j or K_i K_j. Only the products of different metrics, a_i b_j, need a
    matrix product with a row per pair of metrics; the others need one per metric.
    """
    of_systems = np.ascontiguousarray(z.transpose(1, 0, 2))
    own = np.stack([_product(x, k) for k, x in zip(signs, of_systems, strict=True)])
    squares = np.stack([_product(x * x, k) for k, x in zip(signs, of_systems, strict=True)])
    lost = np.zeros((len(pairs.a), signs.shape[2]), dtype=np.float32)
    total = z.sum(axis=-1)
    buffers = _Buffers.of(signs, min(len(lost), _TOGETHER))
    for q, (i, j) in enumerate(zip(pairs.i, pairs.j, strict=True)):
        x, y = of_systems[i], of_systems[j]
        buffers.multiply_signs(signs[i], signs[j], loops=loops)
        same = x * y
        alike = _Alike(
            lead=total[:, i] - total[:, j],
            move=own[i] - own[j],
            fixed=_HALF * ((x * x + y * y - same).sum(axis=-1)),
            together=_product(same, buffers.both),
            single=squares[i] + squares[j] - _product(same, buffers.sides),
        )
        for start in range(0, len(lost), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            a, b = pairs.a[some], pairs.b[some]
            mixed = buffers.mixed(x, y, a, b, loops=loops)
            if loops is not None:
                loops.cells(*alike.parts, *mixed, a, b, pairs.goal[q], FITS[0], lost[some])
            else:
                alike.add_lost(mixed, a, b, pairs.goal[q], lost[some])
    lost /= np.float32(len(pairs.goal))
    return lost


class _Mixed(NamedTuple):
    """What a pair of systems needs of products of different metrics: pairs of metrics x draws."""

    crossed: Singles  # a_i b_j + b_i a_j, with both signs
    apart: Singles  # b_i a_j - a_i b_j, with the difference of signs
    base: Singles  # a_i b_j + b_i a_j without signs: pairs of metrics


@dataclass(frozen=True, slots=True)
class _Buffers:
    """Arrays that are filled anew for each pair of systems."""

    both: Singles  # products, sums and differences of signs: segments x draws
    sides: Singles
    apart: Singles
    cross: Singles  # sums and differences of products: pairs of metrics x segments
    turned: Singles
    sums: Singles  # the same with signs: pairs of metrics x draws
    gaps: Singles

    @classmethod
    def of(cls, signs: Singles, n_pairs: int) -> _Buffers:
        """Make them large enough for so many pairs of metrics."""
        _, n_segments, n_draws = signs.shape
        shapes = [(n_pairs, width) for width in (n_segments, n_segments, n_draws, n_draws)]
        like = (np.empty_like(signs[0]) for _ in range(3))
        return cls(*like, *(np.empty(shape, dtype=np.float32) for shape in shapes))

    def multiply_signs(self, one: Singles, other: Singles, *, loops: Loops | None) -> None:
        """Combine the signs of two systems."""
        if loops is not None:
            flat = (x.ravel("K") for x in (one, other, self.both, self.sides, self.apart))
            loops.signs(*flat)
        else:
            np.multiply(one, other, out=self.both)
            np.add(one, other, out=self.sides)
            np.subtract(one, other, out=self.apart)

    def mixed(self, x: Singles, y: Singles, a: Counts, b: Counts, *, loops: Loops | None) -> _Mixed:
        """Multiply the scores of two systems, and add them up with signs."""
        cross, turned, sums, gaps = (
            x[: len(a)] for x in (self.cross, self.turned, self.sums, self.gaps)
        )
        if loops is not None:
            loops.cross(x, y, a, b, cross, turned)
        else:
            np.multiply(x[a], y[b], out=cross)
            np.multiply(x[b], y[a], out=turned)
            turned -= cross
            cross *= 2
            cross += turned
        _product(cross, self.both, out=sums)
        _product(turned, self.apart, out=gaps)
        return _Mixed(sums, gaps, cross.sum(axis=-1))


@dataclass(frozen=True, slots=True)
class _Alike:
    """What a pair of systems needs of each metric: metrics (x draws)."""

    lead: Singles  # difference of sums of scores
    move: Singles  # the same, with signs
    fixed: Singles  # half the squares of both systems, less their product
    together: Singles  # products of both systems with both signs
    single: Singles  # squares of each system with its sign, less products with either sign

    @property
    def parts(self) -> tuple[Singles, ...]:
        """All of them."""
        return self.lead, self.move, self.fixed, self.together, self.single

    def add_lost(
        self, mixed: _Mixed, a: Counts, b: Counts, goal: np.float32, lost: Singles
    ) -> None:
        """Add what the first metric loses more than the second: pairs of metrics x draws."""
        crossed, apart, base = mixed
        crossed -= base[:, None]
        variance = (self.fixed[a] + self.fixed[b])[:, None] + _HALF * crossed
        variance -= _HALF * (self.together[a] + self.together[b])
        shift = _HALF * (self.single[a] - self.single[b] + apart)
        middle = (_HALF * (self.lead[a] + self.lead[b]))[:, None]
        lead = _HALF * (self.move[a] - self.move[b])
        here = np.full(1, goal)
        lost += _distance(middle - lead, variance - shift, None, here)
        lost -= _distance(middle + lead, variance + shift, None, here)
