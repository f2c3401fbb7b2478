r"""Is one metric really better than another? Swap their scores at random and look again.

If two metrics were equally good, it would not matter which of them produced which score. Each
metric is standardised; then, many times over, scores are swapped between the two and the difference
of their meta-metric is taken again. The schemes differ in what is swapped together:

* ``inputs``: all systems' scores on a segment;
* ``cells``: each (system, segment) by itself;
* ``systems``: all segments of a system;
* ``rows+columns``: a cell is swapped if exactly one of its system and its segment is drawn.

Where segments are not independent, ``blocks`` (a code per segment) takes their place: the segments
of a document are then swapped together, and change sign together inside soft pairwise accuracy.

A swap by signs K = +1 (keep) or -1 (swap) makes every sum over cells linear in K: with
:math:`U_m = \sum K f(x_m)` and :math:`F_m = \sum f(x_m)`, the two swapped metrics have the sums
:math:`(F_a + F_b)/2 \pm (U_a - U_b)/2`. U is needed once per metric, not once per pair of metrics,
so all draws for all pairs are a few matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from steelyard.core.errors import ShapeError, UsageError, hint
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.permutation.pvalues import (
    block_sums,
    pair_index,
    pairwise_pvalues,
    random_signs,
)
from steelyard.stats.permutation.tails import Singles, expansion, quick_p

SCHEMES = ("inputs", "cells", "systems", "rows+columns")
ALTERNATIVES = ("greater", "two-sided")
_SLACK = 1e-6  # float32 products differ in their last bits between BLAS libraries
Part = tuple[int, int]  # a block of the pairs of metrics, and how many blocks there are
_BATCH = 500  # draws at a time: what they need stays within some tens of megabytes


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """Values of metrics and p-values of their differences.

    ``p[a, b]``, one-sided, is the chance that a's lead over b (or more) comes about by swapping;
    the observed order counts as one of the draws. Exact comparisons have no draws.
    """

    values: Floats
    p: Floats
    scheme: str
    n_resamples: int


@dataclass(frozen=True, slots=True)
class Null:
    """Values of metrics, and the differences a - b of all pairs (a < b) in every draw of swaps.

    Draws of several statistics under the same signs may be added up: what comes out are the draws
    of their weighted sum.
    """

    values: Floats
    differences: NDArray[np.floating]  # draws x pairs of metrics
    scheme: str

    def compare(self, alternative: str = "greater") -> MetricComparison:
        """Count the draws whose difference is at least the observed one, or is undefined."""
        _check_alternative(alternative)
        size, k = len(self.values), len(self.differences)
        a, b = pair_index(size)
        observed = self.values[a] - self.values[b]
        counts = np.zeros((size, size))
        if alternative == "two-sided":
            beyond = ~(np.abs(self.differences) < np.abs(observed) - _SLACK)
            counts[a, b] = counts[b, a] = np.count_nonzero(beyond, axis=0)
        else:
            counts[a, b] = np.count_nonzero(~(self.differences < observed - _SLACK), axis=0)
            counts[b, a] = np.count_nonzero(~(self.differences > observed + _SLACK), axis=0)
        p = (counts + 1) / (k + 1)
        unknown = np.isnan(self.values)
        p[unknown] = p[:, unknown] = np.nan
        np.fill_diagonal(p, np.nan)
        return MetricComparison(self.values, p, self.scheme, k)


def pairs_in(n: int, part: Part | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the pairs a < b of n metrics, or one block of them.

    Examples
    --------
    >>> [(int(a), int(b)) for a, b in zip(*pairs_in(4, (1, 2)))]
    [(1, 2), (1, 3), (2, 3)]
    """
    a, b = pair_index(n)
    if part is None:
        return a, b
    block, of = part
    chosen = slice(len(a) * block // of, len(a) * (block + 1) // of)
    return a[chosen], b[chosen]


def standardise(metrics: Floats) -> Floats:
    """Give every metric mean 0 and deviation 1 over its known cells; constants become 0."""
    flat = metrics.reshape(len(metrics), -1)
    mean = np.nanmean(flat, axis=1, keepdims=True)
    spread = np.nanstd(flat, axis=1, keepdims=True)
    scaled: Floats = (flat - mean) / np.where(spread > 0, spread, 1)
    return scaled.reshape(metrics.shape)


def draw(
    scheme: str, n_systems: int, n_segments: int, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[Singles | None, Singles | None, Singles | None]]:
    """Yield batches of signs: per segment, per system, per cell; None where a scheme has none."""
    if scheme not in SCHEMES:
        raise UsageError(f"unknown scheme '{scheme}'; {hint(scheme, SCHEMES)}")
    for start in range(0, n_resamples, _BATCH):
        k = min(_BATCH, n_resamples - start)
        columns = rows = cells = None
        if scheme in ("inputs", "rows+columns"):
            columns = random_signs(k, n_segments, rng).astype(np.float32)
        if scheme in ("systems", "rows+columns"):
            rows = random_signs(k, n_systems, rng).astype(np.float32)
        if scheme == "cells":
            signs = random_signs(k, n_systems * n_segments, rng).astype(np.float32)
            cells = signs.reshape(k, n_systems, n_segments)
        yield columns, rows, cells


def null_spa(
    p_human: Floats,
    metrics: Floats,
    *,
    scheme: str = "inputs",
    n_resamples: int = 1000,
    rng: np.random.Generator,
    part: Part | None = None,
    blocks: Counts | None = None,
) -> Null:
    """Draw differences of soft pairwise accuracy between all pairs of metrics.

    Parameters
    ----------
    p_human
        p-values of the human score, systems x systems (see
        :mod:`steelyard.stats.permutation.pvalues`).
    metrics
        Metrics x systems x segments, higher is better; NaN cells take no part.
    scheme, n_resamples, rng
        See the module. p-values inside the draws are normal (for ``inputs`` with an Edgeworth term
        where there are fewer than 500 segments).
    part
        Only this block of the pairs, of so many: (0, 4) is the first of four.
    blocks
        A code per segment, see the module.

    Segments that any system or metric lacks take no part, except for ``inputs``, which drops them
    pair by pair.
    """
    if metrics.ndim != 3 or p_human.shape != (metrics.shape[1],) * 2:
        raise ShapeError(f"metrics {metrics.shape} do not fit p-values {p_human.shape}")
    z = standardise(metrics).astype(np.float32)
    if scheme != "inputs":
        complete = ~np.isnan(z).any(axis=(0, 1))
        own = None if blocks is None else blocks[complete]
        z = np.ascontiguousarray(_block_sums(z[:, :, complete], own))
    n = z.shape[1]
    i, j = pair_index(n)
    known = ~np.isnan(p_human[i, j])
    i, j = i[known], j[known]
    goal = p_human[i, j].astype(np.float32)
    gaps = z[:, i] - z[:, j]
    compared = (~np.isnan(gaps)).any(axis=-1)  # whether a metric has both systems of a pair
    gaps = np.nan_to_num(gaps, nan=0.0)
    if scheme == "inputs":
        gaps = _block_sums(gaps, blocks)
    s = gaps.shape[-1]
    edge = s < 500 and scheme == "inputs"
    first = gaps.sum(axis=-1)
    powers = [gaps * gaps]
    if edge:
        powers.append(powers[0] * powers[0])
    sums = [first, *(power.sum(axis=-1) for power in powers)]
    values = _spa_values(sums, goal, compared)
    batches = []
    for columns, rows, cells in draw(scheme, n, s, n_resamples, rng):
        if scheme == "inputs":
            assert columns is not None
            swapped = [_column_sums(columns, part) for part in (gaps, *powers)]
            batches.append(_swapped_inputs(sums, swapped, goal, part))
        else:
            signs = _cell_signs(columns, rows, cells, s)
            batches.append(_swapped_cells(z, (i, j), goal, signs, part))
    return Null(values, np.concatenate(batches), scheme)


def null_system_scores(
    statistic: Callable[[Floats], Floats],
    metrics: Floats,
    *,
    scheme: str = "inputs",
    n_resamples: int = 1000,
    rng: np.random.Generator,
    part: Part | None = None,
    blocks: Counts | None = None,
) -> Null:
    """Draw differences of a statistic of system means between all pairs of metrics.

    ``statistic`` takes (..., systems) means and gives (...) values; ``metrics`` are metrics x
    systems x segments, NaN where missing. A system's mean is over its known segments, NaN if there
    is none; a swapped score that is missing is missing there, too. ``part`` and ``blocks`` are as
    in :func:`null_spa`.
    """
    z = standardise(metrics)
    known = ~np.isnan(z)
    terms = [block_sums(np.where(known, z, 0.0), blocks)]
    if (known != known[0]).any():  # otherwise swaps leave the number of segments as it is
        terms.append(block_sums(known.astype(np.float64), blocks))
    n, s = terms[0].shape[1:]
    counts = _sizes(known.sum(axis=-1))
    whole = [term.sum(axis=-1) for term in terms]
    values = statistic(whole[0] / counts)
    batches = []
    for columns, rows, cells in draw(scheme, n, s, n_resamples, rng):
        halves = [_half_sums(term, columns, rows, cells) for term in terms]
        null = []
        for a, b in zip(*pairs_in(len(z), part), strict=True):
            both = _swapped_pair(whole[0], halves[0], a, b)
            if len(terms) == 1:
                both /= counts[[a, b], None]
            else:
                both /= _sizes(np.round(_swapped_pair(whole[1], halves[1], a, b)))
            one, other = statistic(both)
            null.append(one - other)
        batches.append(np.stack(null, axis=1))
    return Null(values, np.concatenate(batches), scheme)


def _sizes(counts: NDArray[Any]) -> Floats:
    """Numbers of segments to divide by, NaN for none."""
    return np.where(counts > 0, counts, np.nan)


def _half_sums(
    term: Floats, columns: Singles | None, rows: Singles | None, cells: Singles | None
) -> Floats:
    """Half of the sums over segments with signs: metrics x draws x systems."""
    n_segments = term.shape[-1]
    if cells is not None:
        sums = np.einsum("kis,mis->kmi", cells, term, optimize=True)
    elif columns is not None:
        flat = columns @ term.reshape(-1, n_segments).T
        sums = flat.reshape(len(columns), *term.shape[:-1])
    else:
        assert rows is not None
        sums = np.broadcast_to(term.sum(axis=-1), (len(rows), *term.shape[:-1]))
    if rows is not None:
        sums = sums * rows[:, None, :]
    result: Floats = np.ascontiguousarray(sums.transpose(1, 0, 2)) / 2
    return result


def _swapped_pair(whole: Floats, half: Floats, a: int, b: int) -> Floats:
    """What the draws make of the sums of the one and of the other: 2 x draws x systems."""
    middle, shift = (whole[a] + whole[b]) / 2, half[a] - half[b]
    both = np.empty((2, *shift.shape))
    np.add(middle, shift, out=both[0])
    np.subtract(middle, shift, out=both[1])
    return both


def compare_items(
    values: Floats,
    weights: Floats,
    *,
    alternative: str = "greater",
    blocks: Counts | None = None,
) -> MetricComparison:
    """Compare metrics by a mean over segments, exactly: swapping inputs only flips differences.

    ``values`` and ``weights`` are metrics x segments. Swapping a segment between two metrics swaps
    their values there, so the null distribution of the difference of means is that of the paired
    permutation test, which needs no draws. Segments undefined for either metric take no part.
    ``blocks`` are as in :func:`null_spa`.
    """
    _check_alternative(alternative)
    share = np.where(np.isnan(values), np.nan, values * weights)
    total = np.nansum(np.where(np.isnan(values), np.nan, weights), axis=-1)
    means = ratio(np.nansum(share, axis=-1), total)
    p = one_or_two_sided(pairwise_pvalues(share, tail="ge", blocks=blocks).p, alternative)
    return MetricComparison(means, p, "inputs (exact)", 0)


def compare_verdicts(right: NDArray[np.bool_], *, alternative: str = "greater") -> Floats:
    """Compare metrics by how many pairs they get right, exactly: p-values, metrics x metrics.

    ``right`` is metrics x pairs. Swapping the verdicts on a pair between two metrics changes
    something only where exactly one of them is right, so the null is a binomial distribution.

    Examples
    --------
    >>> import numpy as np
    >>> p = compare_verdicts(np.array([[True, True, True], [False, False, True]]))
    >>> float(p[0, 1]), float(p[1, 0])
    (0.25, 1.0)
    """
    _check_alternative(alternative)
    flat = right.reshape(len(right), -1).astype(np.float32)
    both = (flat @ flat.T).astype(np.float64)
    own = np.diag(both)
    mine, theirs = own[:, None] - both, own[None, :] - both  # only the first, only the second
    # P(at least `mine` of mine + theirs fair coins show heads), as an incomplete beta function.
    p = np.where(mine > 0, betainc(np.maximum(mine, 1), theirs + 1, 0.5), 1.0)
    return one_or_two_sided(p, alternative)


def one_or_two_sided(p: Floats, alternative: str) -> Floats:
    """Turn exact one-sided p-values into the alternative asked for; the diagonal means nothing."""
    if alternative == "two-sided":
        p = np.minimum(1, 2 * np.minimum(p, p.T))
    return np.where(np.eye(len(p), dtype=bool), np.nan, p)


def _check_alternative(alternative: str) -> None:
    if alternative not in ALTERNATIVES:
        raise UsageError(f"unknown alternative '{alternative}'; {hint(alternative, ALTERNATIVES)}")


def _block_sums(values: Singles, blocks: Counts | None) -> Singles:
    """Add up within blocks, in double precision."""
    return (
        values
        if blocks is None
        else block_sums(values.astype(np.float64), blocks).astype(np.float32)
    )


def _column_sums(signs: Singles, values: Singles) -> Singles:
    """Sum values over segments with signs: (draws, metrics, pairs)."""
    flat = values.reshape(-1, values.shape[-1])
    result: Singles = (signs @ flat.T).reshape(len(signs), *values.shape[:-1])
    return result


def _spa_values(sums: list[Singles], goal: Singles, compared: NDArray[np.bool_]) -> Floats:
    exact = [part.astype(np.float64) for part in sums]
    p, _ = expansion(*exact)
    lost = np.where(compared, np.abs(p - goal), 0.0).sum(axis=-1)
    return 1 - ratio(lost, compared.sum(axis=-1))


def _penalty(t: Singles, variance: Singles, fourth: Singles | None, goal: Singles) -> Singles:
    """Sum abs(p - goal) over the last axis, p from sums of powers; overwrites t and variance."""
    p = quick_p(t, variance, fourth)
    p -= goal
    np.abs(p, out=p)
    total: Singles = p.sum(axis=-1)
    return total


def _swapped_inputs(
    sums: list[Singles], swapped: list[Singles], goal: Singles, part: Part | None
) -> Singles:
    """Differences of soft pairwise accuracy after swapping: draws x pairs of metrics."""
    half = np.float32(0.5)
    columns = []
    for a, b in zip(*pairs_in(len(sums[0]), part), strict=True):
        plus, minus = [], []
        for whole, signed in zip(sums, swapped, strict=True):
            middle = half * (whole[a] + whole[b])
            shift = signed[:, a] - signed[:, b]
            shift *= half
            plus.append(middle + shift)
            minus.append(middle - shift)
        fourth = (plus[2], minus[2]) if len(plus) > 2 else (None, None)
        lost_a = _penalty(plus[0], plus[1], fourth[0], goal)
        lost_b = _penalty(minus[0], minus[1], fourth[1], goal)
        columns.append((lost_b - lost_a) / np.float32(len(goal)))
    return np.stack(columns, axis=1)


def _cell_signs(
    columns: Singles | None, rows: Singles | None, cells: Singles | None, n_segments: int
) -> Singles:
    """Give the sign of every cell, (systems, draws, segments)."""
    if cells is None:
        assert rows is not None
        ones = np.ones((len(rows), n_segments), dtype=np.float32)
        cells = rows[:, :, None] * (ones if columns is None else columns)[:, None, :]
    return np.ascontiguousarray(cells.transpose(1, 0, 2))


def _swapped_cells(
    z: Singles,
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    goal: Singles,
    signs: Singles,
    part: Part | None,
) -> Singles:
    """Differences as :func:`_swapped_inputs` gives them, for signs that differ between systems.

    For systems i, j and metrics a, b the squared differences after swapping are sums of products of
    two scores with K_i, K_j or K_i K_j. Only the products of different metrics, a_i b_j, need a
    matrix product with a column per pair of metrics; the others need one per metric.
    """
    a, b = pairs_in(len(z), part)
    own = np.stack([k @ x.T for k, x in zip(signs, z.transpose(1, 0, 2), strict=True)])
    squares = np.stack([k @ (x * x).T for k, x in zip(signs, z.transpose(1, 0, 2), strict=True)])
    lost = np.zeros((signs.shape[1], len(a)), dtype=np.float32)
    total = z.sum(axis=-1)
    half = np.float32(0.5)
    for q, (i, j) in enumerate(zip(*pairs, strict=True)):
        x, y = z[:, i], z[:, j]
        same = x * y
        cross, turned = x[a] * y[b], x[b] * y[a]
        both = signs[i] * signs[j]
        fixed = half * ((x * x + y * y - same).sum(axis=-1))
        together = both @ same.T
        sides = signs[i] + signs[j]
        single = squares[i] + squares[j] - sides @ same.T
        np.subtract(turned, cross, out=turned)
        apart = (signs[i] - signs[j]) @ turned.T
        cross *= 2
        cross += turned  # a_i b_j + b_i a_j
        crossed = both @ cross.T
        crossed -= cross.sum(axis=-1)
        variance = fixed[a] + fixed[b] + half * crossed
        variance -= half * (together[:, a] + together[:, b])
        shift = half * (single[:, a] - single[:, b] + apart)
        middle = half * ((total[:, i] - total[:, j])[a] + (total[:, i] - total[:, j])[b])
        move = own[i] - own[j]
        lead = half * (move[:, a] - move[:, b])
        here = goal[q : q + 1]
        lost += _distance(middle - lead, variance - shift, here)
        lost -= _distance(middle + lead, variance + shift, here)
    lost /= np.float32(len(goal))
    return lost


def _distance(t: Singles, variance: Singles, goal: Singles) -> Singles:
    """Give abs(p - goal) for each element, p by the normal approximation."""
    return _penalty(t[..., None], variance[..., None], None, goal)
