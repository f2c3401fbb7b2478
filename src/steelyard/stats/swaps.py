r"""Is one metric really better than another? Swap their scores at random and look again.

If two metrics were equally good, it would not matter which of them produced which score. Each
metric is standardised; then, many times over, scores are swapped between the two and the difference
of their meta-metric is taken again. The schemes differ in what is swapped together:

* ``inputs``: all systems' scores on a segment;
* ``cells``: each (system, segment) by itself;
* ``systems``: all segments of a system;
* ``rows+columns``: a cell is swapped if exactly one of its system and its segment is drawn.

A swap by signs K = +1 (keep) or -1 (swap) makes every sum over cells linear in K: with
:math:`U_m = \sum K f(x_m)` and :math:`F_m = \sum f(x_m)`, the two swapped metrics have the sums
:math:`(F_a + F_b)/2 \pm (U_a - U_b)/2`. U is needed once per metric, not once per pair of metrics,
so all draws for all pairs are a few matrix products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from steelyard.errors import ShapeError, UsageError, hint
from steelyard.stats.arrays import Floats, ratio
from steelyard.stats.expansions import Singles, expansion, quick_p
from steelyard.stats.permutation import pair_index, pairwise_pvalues, random_signs

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
        """Count the draws whose difference is at least the observed one."""
        _check_alternative(alternative)
        size, k = len(self.values), len(self.differences)
        a, b = pair_index(size)
        observed = self.values[a] - self.values[b]
        counts = np.zeros((size, size))
        if alternative == "two-sided":
            beyond = np.abs(self.differences) >= np.abs(observed) - _SLACK
            counts[a, b] = counts[b, a] = np.count_nonzero(beyond, axis=0)
        else:
            counts[a, b] = np.count_nonzero(self.differences >= observed - _SLACK, axis=0)
            counts[b, a] = np.count_nonzero(self.differences <= observed + _SLACK, axis=0)
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
) -> Null:
    """Draw differences of soft pairwise accuracy between all pairs of metrics.

    Parameters
    ----------
    p_human
        p-values of the human score, systems x systems (see :mod:`steelyard.stats.permutation`).
    metrics
        Metrics x systems x segments, higher is better; NaN cells take no part.
    scheme, n_resamples, rng
        See the module. p-values inside the draws are normal (for ``inputs`` with an Edgeworth term
        where there are fewer than 500 segments).
    part
        Only this block of the pairs, of so many: (0, 4) is the first of four.

    Segments that any system or metric lacks take no part, except for ``inputs``, which drops them
    pair by pair.
    """
    if metrics.ndim != 3 or p_human.shape != (metrics.shape[1],) * 2:
        raise ShapeError(f"metrics {metrics.shape} do not fit p-values {p_human.shape}")
    z = standardise(metrics).astype(np.float32)
    if scheme != "inputs":
        z = np.ascontiguousarray(z[:, :, ~np.isnan(z).any(axis=(0, 1))])
    n, s = z.shape[1:]
    i, j = pair_index(n)
    known = ~np.isnan(p_human[i, j])
    i, j = i[known], j[known]
    goal = p_human[i, j].astype(np.float32)
    gaps = np.nan_to_num(z[:, i] - z[:, j], nan=0.0)
    edge = s < 500 and scheme == "inputs"
    first = gaps.sum(axis=-1)
    powers = [gaps * gaps]
    if edge:
        powers.append(powers[0] * powers[0])
    sums = [first, *(power.sum(axis=-1) for power in powers)]
    values = _spa_values(sums, goal)
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
) -> Null:
    """Draw differences of a statistic of system means between all pairs of metrics.

    ``statistic`` takes (..., systems) means and gives (...) values; ``metrics`` are metrics x
    systems x segments, NaN where missing (a system's mean is over its known segments). ``part`` is
    as in :func:`null_spa`.
    """
    z = standardise(metrics)
    counts = np.maximum((~np.isnan(z)).sum(axis=-1), 1)
    z = np.nan_to_num(z, nan=0.0)
    n, s = z.shape[1:]
    sums = z.sum(axis=-1)
    values = statistic(sums / counts)
    batches = []
    for columns, rows, cells in draw(scheme, n, s, n_resamples, rng):
        if cells is not None:
            swapped = np.einsum("kis,mis->kmi", cells, z, optimize=True)
        elif columns is not None:
            swapped = (columns @ z.reshape(-1, s).T).reshape(len(columns), *sums.shape)
        else:
            assert rows is not None
            swapped = np.broadcast_to(sums, (len(rows), *sums.shape))
        if rows is not None:
            swapped = swapped * rows[:, None, :]
        half = np.ascontiguousarray(swapped.transpose(1, 0, 2)) / 2
        both = np.empty((2, *half.shape[1:]))  # what the draws make of the one and of the other
        null = []
        for a, b in zip(*pairs_in(len(z), part), strict=True):
            middle, shift = (sums[a] + sums[b]) / 2, half[a] - half[b]
            np.add(middle, shift, out=both[0])
            np.subtract(middle, shift, out=both[1])
            both /= counts[[a, b], None]
            one, other = statistic(both)
            null.append(one - other)
        batches.append(np.stack(null, axis=1))
    return Null(values, np.concatenate(batches), scheme)


def compare_items(
    values: Floats, weights: Floats, *, alternative: str = "greater"
) -> MetricComparison:
    """Compare metrics by a mean over segments, exactly: swapping inputs only flips differences.

    ``values`` and ``weights`` are metrics x segments. Swapping a segment between two metrics swaps
    their values there, so the null distribution of the difference of means is that of the paired
    permutation test, which needs no draws. Segments undefined for either metric take no part.
    """
    _check_alternative(alternative)
    share = np.where(np.isnan(values), np.nan, values * weights)
    total = np.nansum(np.where(np.isnan(values), np.nan, weights), axis=-1)
    means = ratio(np.nansum(share, axis=-1), total)
    p = one_or_two_sided(pairwise_pvalues(share, tail="ge").p, alternative)
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


def _column_sums(signs: Singles, values: Singles) -> Singles:
    """Sum values over segments with signs: (draws, metrics, pairs)."""
    flat = values.reshape(-1, values.shape[-1])
    result: Singles = (signs @ flat.T).reshape(len(signs), *values.shape[:-1])
    return result


def _spa_values(sums: list[Singles], goal: Singles) -> Floats:
    exact = [part.astype(np.float64) for part in sums]
    p, _ = expansion(*exact)
    result: Floats = 1 - np.abs(p - goal).mean(axis=-1)
    return result


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
