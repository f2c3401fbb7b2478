r"""Is one metric really better than another? Swap their scores at random and look again.

If two metrics were equally good, it would not matter which of them produced which score. Each
metric is standardised; then, many times over, scores are swapped between the two and the difference
of their meta-metric is taken again. The schemes differ in what is swapped together:

* ``inputs``: all systems' scores on a segment;
* ``cells``: each (system, segment) by itself;
* ``systems``: all segments of a system.

Where segments are not independent, ``blocks`` (a code per segment) takes their place: the segments
of a document are then swapped together, and change sign together inside soft pairwise accuracy.

A swap by signs K = +1 (keep) or -1 (swap) makes every sum over cells linear in K: with
:math:`U_m = \sum K f(x_m)` and :math:`F_m = \sum f(x_m)`, the two swapped metrics have the sums
:math:`(F_a + F_b)/2 \pm (U_a - U_b)/2`. U is needed once per metric, not once per pair of metrics,
so all draws for all pairs are a few matrix products: of scores for means of systems, of powers of
differences for soft pairwise accuracy. A mean over segments only changes signs when inputs are
swapped. What is no function of sums is computed again in each draw (:func:`null_recomputed`),
which is slow but always possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.options import check_choice
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.permutation.pvalues import block_sums, pair_index, pairwise_pvalues, sided
from steelyard.stats.permutation.tails import Singles, expansion, quick_p, random_signs

SCHEMES = ("inputs", "cells", "systems")
ALTERNATIVES = ("greater", "two-sided")
_SLACK = 1e-6  # float32 products differ in their last bits between BLAS libraries
_BATCH = 500  # draws at a time: what they need stays within some tens of megabytes
_FEW = 500  # segments below which p-values inside draws have an Edgeworth term
_HALF = np.float32(0.5)


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """Values of metrics, and p-values of their differences."""

    values: Floats
    p: Floats  # [a, b], one-sided: chance that swapping makes a lead over b by as much
    scheme: str
    n_resamples: int  # 0 if exact


@dataclass(frozen=True, slots=True)
class Null:
    """Values of metrics, and the differences a - b of all pairs (a < b) in every draw of swaps.

    Draws of several statistics under the same signs may be added up.
    """

    values: Floats
    differences: NDArray[np.floating]  # draws x pairs of metrics
    scheme: str

    def compare(self, alternative: str = "greater") -> MetricComparison:
        """Count the draws whose difference is at least the observed one, or is undefined."""
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
        undefined = np.isnan(self.values)
        p[undefined] = p[:, undefined] = np.nan
        np.fill_diagonal(p, np.nan)
        return MetricComparison(self.values, p, self.scheme, k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """What is swapped together, in ``n`` draws; all pairs of metrics see the same signs."""

    scheme: str = "inputs"
    n: int = 1000
    rng: np.random.Generator
    blocks: Counts | None = None

    def signs(self, n_systems: int, n_segments: int) -> Iterator[Singles]:
        """Yield batches of signs: systems (one where all have the same) x draws x segments."""
        scheme, rng = self.scheme, self.rng
        check_choice(SCHEMES, scheme=scheme)
        for start in range(0, self.n, _BATCH):
            k = min(_BATCH, self.n - start)
            if scheme == "inputs":
                yield random_signs(k, n_segments, rng, np.float32)[None]
            elif scheme == "systems":
                signs = random_signs(k, n_systems, rng, np.float32).T[:, :, None]
                yield np.repeat(signs, n_segments, axis=2)
            else:
                cells = random_signs(k, n_systems * n_segments, rng, np.float32)
                yield cells.reshape(k, n_systems, n_segments).transpose(1, 0, 2)

    def pairs(self, n: int) -> list[tuple[int, int]]:
        """Return the pairs a < b of n metrics."""
        return list(zip(*(index.tolist() for index in pair_index(n)), strict=True))


def standardise(metrics: Floats) -> Floats:
    """Shift and scale every metric to mean 0 and deviation 1 over its cells; constants become 0."""
    flat = metrics.reshape(len(metrics), -1)
    mean = np.nanmean(flat, axis=1, keepdims=True)
    spread = np.nanstd(flat, axis=1, keepdims=True)
    scaled: Floats = (flat - mean) / np.where(spread > 0, spread, 1)
    return scaled.reshape(metrics.shape)


# Functions of sums over segments


def null_of_sums(
    statistic: Callable[[list[Floats]], Floats], terms: list[Floats], swaps: Swaps
) -> Null:
    """Draw differences of a statistic of sums over segments between all pairs of metrics.

    ``terms`` are metrics x systems x segments; ``statistic`` makes a value of each row of sums.
    """
    whole = [term.sum(axis=-1) for term in terms]
    _, n_systems, n_segments = terms[0].shape
    batches = []
    for signs in swaps.signs(n_systems, n_segments):
        halves = [_half_sums(term, signs) for term in terms]
        null = []
        for a, b in swaps.pairs(len(terms[0])):
            both = []  # sums of the one metric in all draws, then those of the other
            for sums, half in zip(whole, halves, strict=True):
                middle, shift = (sums[a] + sums[b]) / 2, half[a] - half[b]
                both.append(np.concatenate([middle + shift, middle - shift]))
            first, second = statistic(both).reshape(2, -1)
            null.append(first - second)
        batches.append(np.stack(null, axis=1))
    return Null(statistic(whole), np.concatenate(batches), swaps.scheme)


def _half_sums(term: Floats, signs: Singles) -> Floats:
    """Half of the sums over segments with signs: metrics x draws x systems."""
    if len(signs) == 1:  # one product for all systems
        flat = term.reshape(-1, term.shape[-1]) @ signs[0].T
        sums = flat.reshape(*term.shape[:2], -1).transpose(0, 2, 1)
    else:
        sums = np.matmul(signs, term.transpose(1, 2, 0)).transpose(2, 1, 0)
    return np.ascontiguousarray(sums) / 2


def null_system_scores(
    statistic: Callable[[Floats], Floats], metrics: Floats, swaps: Swaps
) -> Null:
    """Draw differences of a statistic of system means (rows x systems) between pairs of metrics.

    A mean is over known segments; a swapped score that is missing is missing there, too.
    """
    z = standardise(metrics)
    known = ~np.isnan(z)
    terms = [block_sums(np.where(known, z, 0.0), swaps.blocks)]
    alike = bool((known == known[0]).all())  # swaps leave the number of segments as it is
    if not alike:
        terms.append(block_sums(known.astype(np.float64), swaps.blocks))
    n_segments = known[0].sum(axis=-1)

    def value(sums: list[Floats]) -> Floats:
        sizes: NDArray[Any] = n_segments if alike else np.round(sums[1])
        return statistic(sums[0] / np.where(sizes > 0, sizes, np.nan))

    return null_of_sums(value, terms, swaps)


def null_pearson(human: Floats, metrics: Floats, group_by: str, swaps: Swaps) -> Null:
    """Draw differences of Pearson's r of cells, over all of them or within each system.

    r is a function of six sums over cells that both scores have, each linear in the signs.
    """
    z = standardise(np.where(np.isnan(human), np.nan, metrics))
    known = ~np.isnan(z)
    h = np.where(np.isnan(human), 0.0, (human - np.nanmean(human)) / (np.nanstd(human) or 1.0))
    z = np.where(known, z, 0.0)
    terms = [known.astype(float), z, z * z, known * h, known * h * h, z * h]

    def value(sums: list[Floats]) -> Floats:
        if group_by == "none":
            sums = [x.sum(axis=-1, keepdims=True) for x in sums]
        n, m, mm, h, hh, mh = sums
        n = np.where(n > 0, n, np.nan)
        spread = (mm - m * m / n) * (hh - h * h / n)
        r = ratio(mh - m * h / n, np.sqrt(np.where(spread > 1e-18 * n * n, spread, np.nan)))
        return ratio(np.nan_to_num(r).sum(axis=-1), (~np.isnan(r)).sum(axis=-1))

    return null_of_sums(value, [block_sums(term, swaps.blocks) for term in terms], swaps)


def null_ratios(top: Floats, bottom: Floats, swaps: Swaps) -> Null:
    """Draw differences of ratios of sums over segments (metrics x segments), swapping inputs."""
    terms = [block_sums(term.astype(np.float64), swaps.blocks)[:, None] for term in (top, bottom)]

    def value(sums: list[Floats]) -> Floats:
        return ratio(sums[0], np.round(sums[1]))[:, 0]

    return null_of_sums(value, terms, replace(swaps, scheme="inputs"))


# Means over segments


def compare_items(
    values: Floats, weights: Floats, *, alternative: str = "greater", blocks: Counts | None = None
) -> MetricComparison:
    """Compare metrics by a mean over segments, exactly: swapping inputs only flips differences.

    ``values`` and ``weights`` are metrics x segments. The null of a difference of means is that of
    the paired permutation test. Segments undefined for either metric are excluded.
    """
    share = np.where(np.isnan(values), np.nan, values * weights)
    total = np.nansum(np.where(np.isnan(values), np.nan, weights), axis=-1)
    means = ratio(np.nansum(share, axis=-1), total)
    p = sided(pairwise_pvalues(share, tail="ge", blocks=blocks).p, alternative)
    return MetricComparison(means, p, "inputs (exact)", 0)


def compare_verdicts(right: NDArray[np.bool_], *, alternative: str = "greater") -> Floats:
    """Compare metrics by how many pairs they get right (metrics x pairs), exactly: p-values.

    Only pairs that exactly one of two metrics gets right matter, so the null is binomial.
    """
    from scipy.special import betainc

    flat = right.reshape(len(right), -1).astype(np.float32)
    both = (flat @ flat.T).astype(np.float64)
    n_right = np.diag(both)
    first, second = n_right[:, None] - both, n_right[None, :] - both  # that only one gets right
    # P(at least `first` of first + second fair coins show heads), as an incomplete beta function.
    p = np.where(first > 0, betainc(np.maximum(first, 1), second + 1, 0.5), 1.0)
    return sided(p, alternative)


def null_items(values: Floats, weights: Floats, swaps: Swaps) -> Null:
    """Draw differences of weighted means over segments (metrics x segments), swapping inputs.

    :func:`compare_items` has exact p-values; draws can be averaged with other ones.
    """
    known = ~np.isnan(values)
    share = np.where(known, weights, 0.0)
    total = share.sum(axis=1, keepdims=True)
    part = np.where(known, values * share, 0.0) / np.where(total > 0, total, 1)
    means = np.where(total[:, 0] > 0, part.sum(axis=1), np.nan)
    part = block_sums(part, swaps.blocks)
    a, b = pair_index(len(values))
    batches = []
    for signs in replace(swaps, scheme="inputs").signs(1, part.shape[1]):
        swapped = signs[0] @ part.T
        batches.append(swapped[:, a] - swapped[:, b])
    return Null(means, np.concatenate(batches), "inputs")


# Anything else


def null_recomputed(
    statistic: Callable[[Floats], float],
    metrics: Floats,
    swaps: Swaps,
    *,
    standardised: bool = True,
) -> Null:
    """Draw differences of any statistic of systems x segments, computed anew in each draw."""
    z = standardise(metrics) if standardised else metrics
    values = np.array([statistic(scores) for scores in z])
    pairs = swaps.pairs(len(z))
    _, n_systems, n_segments = z.shape
    blocks = np.arange(n_segments) if swaps.blocks is None else swaps.blocks
    codes = np.unique(blocks, return_inverse=True)[1]
    draws = []
    for batch in swaps.signs(n_systems, int(codes.max(initial=-1)) + 1):
        for signs in batch.transpose(1, 0, 2):
            keep = signs[:, codes] > 0
            differences = []
            for a, b in pairs:
                first, second = np.where(keep, z[a], z[b]), np.where(keep, z[b], z[a])
                differences.append(statistic(first) - statistic(second))
            draws.append(differences)
    return Null(values, np.array(draws).reshape(len(draws), len(pairs)), swaps.scheme)


# Soft pairwise accuracy


def null_spa(p_human: Floats, metrics: Floats, swaps: Swaps) -> Null:
    """Draw differences of soft pairwise accuracy between all pairs of metrics.

    ``p_human`` are p-values of the human score, systems x systems. p-values inside the draws are
    normal, with an Edgeworth term for inputs of fewer than 500 segments. Swapped inputs lack
    segments pair by pair; other schemes exclude those that any system or metric lacks.
    """
    if swaps.scheme != "inputs":
        return _null_spa_recomputed(p_human, metrics, swaps)
    z = standardise(metrics).astype(np.float32)
    i, j = pair_index(z.shape[1])
    known = ~np.isnan(p_human[i, j])
    i, j = i[known], j[known]
    goal = p_human[i, j].astype(np.float32)
    gaps = z[:, i] - z[:, j]
    absent = np.isnan(gaps)
    compared = ~absent.all(axis=-1)  # whether a metric has both systems of a pair
    gaps[absent] = 0
    if swaps.blocks is not None:
        gaps = block_sums(gaps.astype(np.float64), swaps.blocks).astype(np.float32)
    powers = [gaps, gaps * gaps]
    if gaps.shape[-1] < _FEW:
        powers.append(powers[1] * powers[1])
    sums = [power.sum(axis=-1) for power in powers]
    p, _ = expansion(*(part.astype(np.float64) for part in sums))
    lost = np.where(compared, np.abs(p - goal), 0.0).sum(axis=-1)
    values = 1 - ratio(lost, compared.sum(axis=-1))
    pairs = swaps.pairs(len(z))
    batches = [
        _spa_differences(powers, sums, goal, pairs, signs[0])
        for signs in swaps.signs(z.shape[1], gaps.shape[-1])
    ]
    return Null(values, np.concatenate(batches), "inputs")


def _spa_differences(
    powers: list[Singles],
    sums: list[Singles],
    goal: Singles,
    pairs: list[tuple[int, int]],
    signs: Singles,
) -> Singles:
    """Differences after swapping inputs: draws x pairs of metrics."""
    swapped = []  # metrics x draws x pairs of systems
    for power in powers:
        flat = signs @ power.reshape(-1, power.shape[-1]).T
        swapped.append(
            np.ascontiguousarray(flat.reshape(len(signs), *power.shape[:2]).transpose(1, 0, 2))
        )
    differences = np.empty((len(signs), len(pairs)), dtype=np.float32)
    for column, (a, b) in enumerate(pairs):
        plus, minus = [], []
        for whole, signed in zip(sums, swapped, strict=True):
            middle = _HALF * (whole[a] + whole[b])
            shift = signed[a] - signed[b]
            shift *= _HALF
            plus.append(middle + shift)
            minus.append(middle - shift)
        lost, lost_by_other = (np.abs(quick_p(*part) - goal).sum(axis=-1) for part in (plus, minus))
        differences[:, column] = (lost_by_other - lost) / len(goal)
    return differences


def _null_spa_recomputed(p_human: Floats, metrics: Floats, swaps: Swaps) -> Null:
    z = standardise(metrics)
    complete = ~np.isnan(z).any(axis=(0, 1))
    blocks = None if swaps.blocks is None else swaps.blocks[complete]
    z = block_sums(z[:, :, complete], blocks)
    i, j = pair_index(z.shape[1])
    known = ~np.isnan(p_human[i, j])
    i, j = i[known], j[known]
    goal = p_human[i, j]

    def accuracy(scores: Floats) -> float:
        total, products = scores.sum(axis=1), scores @ scores.T
        square = np.diag(products)
        p, _ = expansion(total[i] - total[j], square[i] + square[j] - 2 * products[i, j])
        return float(1 - np.abs(p - goal).mean()) if len(goal) and scores.size else float("nan")

    return null_recomputed(accuracy, z, replace(swaps, blocks=None), standardised=False)
