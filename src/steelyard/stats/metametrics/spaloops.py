"""The innermost loops of swapping metrics under soft pairwise accuracy, to be compiled.

Each gives what :mod:`steelyard.stats.metametrics.swappedspa` does with NumPy, to the bit: the same
operations in single precision, in the same order. What makes them fast is that a number is used as
often as it is needed once it is at hand, where NumPy goes through memory for every operation; and
that draws lie side by side, so that many are worked on by one instruction.
"""
# What is compiled takes arrays and numbers alone, hence many of them, by position.
# ruff: noqa: PLR0913, PLR0917

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.compiled import inner, kernel, worth
from steelyard.stats.permutation.tails import EDGE_FIT, LIMIT, NORMAL_FIT

Array = Any  # of float32, or of whole numbers
WIDTH = 32  # draws that are worked on together
_LANES = 8  # running sums of NumPy's sum, and numbers up to which it has no others
_BLOCK = 128

# Fits are arguments of kernels: a number of another file, compiled in, would outlive its change.
FITS = (
    tuple(np.float32(c) for c in (LIMIT, *NORMAL_FIT[0], *NORMAL_FIT[1])),
    tuple(np.float32(c) for c in (*EDGE_FIT[0], *EDGE_FIT[1])),
)
_numpy = [0.0]  # seconds that NumPy has taken so far
_HALF, _TWO, _TINY = np.float32(0.5), np.float32(2), np.float32(1e-12)


def leaves(n: int, begin: int = 0) -> list[tuple[int, int, int]]:
    """Tell in which order NumPy adds up n numbers in a row.

    It splits them into halves, these again, and so on, down to blocks of 128 numbers at most. Gives
    begin and end of each block, and how many times two sums are added up after it.

    Examples
    --------
    >>> leaves(300)
    [(0, 72, 0), (72, 144, 1), (144, 216, 0), (216, 300, 2)]
    """
    if n <= _BLOCK:
        return [(begin, begin + n, 0)]
    half = n // 2
    half -= half % _LANES
    right = leaves(n - half, begin + half)
    right[-1] = (*right[-1][:2], right[-1][2] + 1)
    return leaves(half, begin) + right


@inner
def _ratio(t: Any, variance: Any, limit: Any) -> Any:
    z = np.true_divide(t, np.sqrt(variance))
    return min(max(z, -limit), limit)


@inner
def _normal(z: Any, fit: Any) -> Any:
    """Give the normal tail at z, less 1/2."""
    s = z * z
    above = ((((s * fit[6] + fit[5]) * s + fit[4]) * s + fit[3]) * s + fit[2]) * s + fit[1]
    below = (((s * fit[11] + fit[10]) * s + fit[9]) * s + fit[8]) * s + fit[7]
    return np.true_divide(above, below) * z


@inner
def _edge(z: Any, fit: Any) -> Any:
    """Give what the first Edgeworth term adds at z, for a fourth power of 1."""
    s = z * z
    above = (((((s * fit[6] + fit[5]) * s + fit[4]) * s + fit[3]) * s + fit[2]) * s + fit[1]) * s
    below = (
        ((((s * fit[13] + fit[12]) * s + fit[11]) * s + fit[10]) * s + fit[9]) * s + fit[8]
    ) * s
    return np.true_divide(above + fit[0], below + fit[7]) * z


@inner
def _distance(t: Any, variance: Any, goal: Any, normal: Any) -> Any:
    """Give abs(p - goal), p by the normal approximation."""
    z = _ratio(t, max(variance, _TINY), normal[0])
    return abs(_normal(z, normal) + _HALF - goal)


@inner
def _edge_distance(t: Any, variance: Any, fourth: Any, goal: Any, normal: Any, edge: Any) -> Any:
    """Give abs(p - goal), p with the first Edgeworth term."""
    v = max(variance, _TINY)
    z = _ratio(t, v, normal[0])
    p = _normal(z, normal) - np.true_divide(_edge(z, edge) * fourth, v * v) * _TWO
    return abs(p + _HALF - goal)


@inner
def _lay_out(swapped: Array, start: int, width: int, laid: Array) -> None:
    """Put some draws side by side: powers x metrics x pairs x draws."""
    n_powers, _, n_metrics, n = swapped.shape
    for power in range(n_powers):
        for m in range(n_metrics):
            for i in range(n):
                for w in range(width):
                    laid[power, m, i, w] = swapped[power, start + w, m, i]


@inner
def _add_lanes(lanes: Array, total: Array) -> None:
    for side in range(2):
        x = lanes[:, side]
        for w in range(WIDTH):
            left = (x[0, w] + x[1, w]) + (x[2, w] + x[3, w])
            right = (x[4, w] + x[5, w]) + (x[6, w] + x[7, w])
            total[side, w] = left + right


# One loop: a helper that takes arrays is called again and again, and costs as much as the work.
@kernel()
def swapped_inputs(
    sums: Array, swapped: Array, goal: Array, first: Array, second: Array, order: Array,
    normal: Any, edge: Any, found: Array,
) -> None:  # fmt: skip
    """Fill in differences of soft pairwise accuracy after swapping: pairs of metrics x draws.

    ``sums`` of powers are powers x metrics x pairs of systems, ``swapped`` those with signs, powers
    x draws x metrics x pairs; ``first`` and ``second`` the metrics of each pair, ``order`` the rows
    that :func:`leaves` gives.
    """
    n_powers, n_draws, n_metrics, n = swapped.shape
    laid = np.zeros((n_powers, n_metrics, n, WIDTH), dtype=np.float32)
    lanes = np.zeros((_LANES, 2, WIDTH), dtype=np.float32)
    stack = np.zeros((len(order) + 1, 2, WIDTH), dtype=np.float32)
    for start in range(0, n_draws, WIDTH):
        width = min(WIDTH, n_draws - start)
        _lay_out(swapped, start, width, laid)
        for c in range(len(first)):
            a, b, height = first[c], second[c], 0
            for leaf in range(len(order)):
                begin, end, merges = order[leaf, 0], order[leaf, 1], order[leaf, 2]
                whole = begin + (end - begin) // _LANES * _LANES
                total = stack[height]
                lanes[:] = 0
                for i in range(begin, end):
                    if i == whole:
                        _add_lanes(lanes, total)
                    to = lanes[(i - begin) % _LANES] if i < whole else total
                    t, t_a, t_b = sums[0, a, i] + sums[0, b, i], laid[0, a, i], laid[0, b, i]
                    v, v_a, v_b = sums[1, a, i] + sums[1, b, i], laid[1, a, i], laid[1, b, i]
                    t, v = _HALF * t, _HALF * v
                    if n_powers == 2:
                        for w in range(WIDTH):
                            x, y = (t_a[w] - t_b[w]) * _HALF, (v_a[w] - v_b[w]) * _HALF
                            to[0, w] += _distance(t + x, v + y, goal[i], normal)
                            to[1, w] += _distance(t - x, v - y, goal[i], normal)
                    else:
                        f, f_a, f_b = sums[2, a, i] + sums[2, b, i], laid[2, a, i], laid[2, b, i]
                        f = _HALF * f
                        for w in range(WIDTH):
                            x, y = (t_a[w] - t_b[w]) * _HALF, (v_a[w] - v_b[w]) * _HALF
                            u = (f_a[w] - f_b[w]) * _HALF
                            to[0, w] += _edge_distance(t + x, v + y, f + u, goal[i], normal, edge)
                            to[1, w] += _edge_distance(t - x, v - y, f - u, goal[i], normal, edge)
                if whole == end:
                    _add_lanes(lanes, total)
                for _ in range(merges):
                    stack[height - 1] += stack[height]
                    height -= 1
                height += 1
            for w in range(width):
                gap = stack[0, 1, w] - stack[0, 0, w]
                found[c, start + w] = np.true_divide(gap, np.float32(n))


@kernel()
def cross_products(
    x: Array, y: Array, first: Array, second: Array, cross: Array, turned: Array
) -> None:
    """Fill in ``b_i a_j`` plus and minus ``a_i b_j`` for pairs of metrics a, b: pairs x segments.

    ``x`` are the scores of system i, ``y`` those of system j, metrics x segments.
    """
    for c in range(len(first)):
        a, b = first[c], second[c]
        x_a, x_b, y_a, y_b = x[a], x[b], y[a], y[b]
        plus, minus = cross[c], turned[c]
        for s in range(x.shape[1]):
            one = x_a[s] * y_b[s]
            apart = x_b[s] * y_a[s] - one
            minus[s] = apart
            plus[s] = one * _TWO + apart


@kernel()
def sign_products(one: Array, other: Array, both: Array, sides: Array, apart: Array) -> None:
    """Fill in products, sums and differences of signs, each a single row."""
    for s in range(len(one)):
        both[s] = one[s] * other[s]
        sides[s] = one[s] + other[s]
        apart[s] = one[s] - other[s]


@kernel()
def swapped_cells(lead: Array, move: Array, fixed: Array, together: Array, single: Array,
                  crossed: Array, apart: Array, base: Array, first: Array, second: Array,
                  goal: Any, normal: Any, lost: Array) -> None:  # fmt: skip
    """Add what a pair of systems loses to two swapped metrics, to ``lost``: pairs x draws.

    ``swappedspa`` tells what goes in.
    """
    for c in range(len(first)):
        a, b = first[c], second[c]
        t, v, w = _HALF * (lead[a] + lead[b]), fixed[a] + fixed[b], base[c]
        move_a, move_b, alike_a, alike_b = move[a], move[b], together[a], together[b]
        single_a, single_b, own, gap, to = single[a], single[b], crossed[c], apart[c], lost[c]
        for d in range(lost.shape[1]):
            x = _HALF * (move_a[d] - move_b[d])
            y = _HALF * (single_a[d] - single_b[d] + gap[d])
            variance = v + _HALF * (own[d] - w) - _HALF * (alike_a[d] + alike_b[d])
            far = to[d] + _distance(t - x, variance - y, goal, normal)
            to[d] = far - _distance(t + x, variance + y, goal, normal)


class Loops(NamedTuple):
    """What the loops of this file were compiled to."""

    inputs: Callable[..., None]
    cells: Callable[..., None]
    cross: Callable[..., None]
    signs: Callable[..., None]


def compiled_loops(seconds: float) -> Loops | None:
    """Compile the loops, or load them, if that is worth it: ``seconds`` is what NumPy would take.

    It is as soon as NumPy has taken as long in this process, so that nobody waits for more than
    twice the best.
    """
    _numpy[0] += seconds
    if not worth(_numpy[0]):
        return None
    kernels = (swapped_inputs, swapped_cells, cross_products, sign_products)
    found = [own.fast() for own in kernels]
    return Loops(*(own for own in found if own is not None))
