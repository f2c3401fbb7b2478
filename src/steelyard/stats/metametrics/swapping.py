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
so all draws for all pairs are a few matrix products. A mean over segments only changes signs when
inputs are swapped (:func:`null_items`); what is no function of sums is computed again in each draw
(:func:`null_recomputed`), which is slow but always possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from steelyard.core.options import check_choice
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.permutation.pvalues import (
    block_sums,
    pair_index,
    pairwise_pvalues,
    sided,
)
from steelyard.stats.permutation.signdraws import random_singles
from steelyard.stats.permutation.tails import Singles

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
        check_choice(ALTERNATIVES, alternative=alternative)
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


class Signs(NamedTuple):
    """Signs of a batch of draws: per segment, per system, per cell; None where there are none."""

    columns: Singles | None
    rows: Singles | None
    cells: Singles | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """What is swapped together and how often: ``n`` draws, in which all pairs see the same signs.

    ``blocks`` is a code per segment (see the module); ``part`` a block of the pairs of metrics, of
    so many: (0, 4) is the first of four.
    """

    scheme: str = "inputs"
    n: int = 1000
    rng: np.random.Generator
    part: Part | None = None
    blocks: Counts | None = None

    def signs(self, n_systems: int, n_segments: int) -> Iterator[Signs]:
        """Yield batches of signs."""
        scheme, rng = self.scheme, self.rng
        check_choice(SCHEMES, scheme=scheme)
        for start in range(0, self.n, _BATCH):
            k = min(_BATCH, self.n - start)
            columns = rows = cells = None
            if scheme in ("inputs", "rows+columns"):
                columns = random_singles(k, n_segments, rng)
            if scheme in ("systems", "rows+columns"):
                rows = random_singles(k, n_systems, rng)
            if scheme == "cells":
                signs = random_singles(k, n_systems * n_segments, rng)
                cells = signs.reshape(k, n_systems, n_segments)
            yield Signs(columns, rows, cells)

    def pairs(self, n: int) -> list[tuple[int, int]]:
        """Give the pairs a < b of n metrics, or those of the part.

        Examples
        --------
        >>> Swaps(rng=np.random.default_rng(0), part=(1, 2)).pairs(4)
        [(1, 2), (1, 3), (2, 3)]
        """
        a, b = pair_index(n)
        block, of = self.part or (0, 1)
        chosen = slice(len(a) * block // of, len(a) * (block + 1) // of)
        return list(zip(a[chosen].tolist(), b[chosen].tolist(), strict=True))


def standardise(metrics: Floats) -> Floats:
    """Give every metric mean 0 and deviation 1 over its known cells; constants become 0."""
    flat = metrics.reshape(len(metrics), -1)
    mean = np.nanmean(flat, axis=1, keepdims=True)
    spread = np.nanstd(flat, axis=1, keepdims=True)
    scaled: Floats = (flat - mean) / np.where(spread > 0, spread, 1)
    return scaled.reshape(metrics.shape)


def null_system_scores(
    statistic: Callable[[Floats], Floats], metrics: Floats, swaps: Swaps
) -> Null:
    """Draw differences of a statistic of system means between all pairs of metrics.

    ``statistic`` takes means, rows x systems, and gives a value for each row; ``metrics`` are
    metrics x systems x segments, NaN where missing. A system's mean is over its known segments, NaN
    if there is none; a swapped score that is missing is missing there, too.
    """
    z = standardise(metrics)
    known = ~np.isnan(z)
    terms = [block_sums(np.where(known, z, 0.0), swaps.blocks)]
    if (known != known[0]).any():  # otherwise swaps leave the number of segments as it is
        terms.append(block_sums(known.astype(np.float64), swaps.blocks))
    n, s = terms[0].shape[1:]
    counts = _sizes(known.sum(axis=-1))
    whole = [term.sum(axis=-1) for term in terms]
    values = statistic(whole[0] / counts)
    batches = []
    for signs in swaps.signs(n, s):
        halves = [_half_sums(term, signs) for term in terms]
        null = []
        for a, b in swaps.pairs(len(z)):
            both = _swapped_pair(whole[0], halves[0], a, b)
            if len(terms) == 1:
                both /= counts[[a, b], None]
            else:
                both /= _sizes(np.round(_swapped_pair(whole[1], halves[1], a, b)))
            one, other = statistic(both.reshape(-1, n)).reshape(2, -1)
            null.append(one - other)
        batches.append(np.stack(null, axis=1))
    return Null(values, np.concatenate(batches), swaps.scheme)


def _sizes(counts: NDArray[Any]) -> Floats:
    """Numbers of segments to divide by, NaN for none."""
    return np.where(counts > 0, counts, np.nan)


def _half_sums(term: Floats, signs: Signs) -> Floats:
    """Half of the sums over segments with signs: metrics x draws x systems."""
    columns, rows, cells = signs
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
    values: Floats, weights: Floats, *, alternative: str = "greater", blocks: Counts | None = None
) -> MetricComparison:
    """Compare metrics by a mean over segments, exactly: swapping inputs only flips differences.

    ``values`` and ``weights`` are metrics x segments. Swapping a segment between two metrics swaps
    their values there, so the null distribution of the difference of means is that of the paired
    permutation test, which needs no draws. Segments undefined for either metric take no part.
    """
    check_choice(ALTERNATIVES, alternative=alternative)
    share = np.where(np.isnan(values), np.nan, values * weights)
    total = np.nansum(np.where(np.isnan(values), np.nan, weights), axis=-1)
    means = ratio(np.nansum(share, axis=-1), total)
    p = sided(pairwise_pvalues(share, tail="ge", blocks=blocks).p, alternative)
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
    check_choice(ALTERNATIVES, alternative=alternative)
    flat = right.reshape(len(right), -1).astype(np.float32)
    both = (flat @ flat.T).astype(np.float64)
    own = np.diag(both)
    mine, theirs = own[:, None] - both, own[None, :] - both  # only the first, only the second
    # P(at least `mine` of mine + theirs fair coins show heads), as an incomplete beta function.
    p = np.where(mine > 0, betainc(np.maximum(mine, 1), theirs + 1, 0.5), 1.0)
    return sided(p, alternative)


def null_items(values: Floats, weights: Floats, swaps: Swaps) -> Null:
    """Draw differences of weighted means over segments, swapping inputs.

    ``values`` and ``weights`` are metrics x segments, NaN where undefined. The exact p-values are
    those of :func:`compare_items`; draws can be averaged with other ones.
    """
    known = ~np.isnan(values)
    share = np.where(known, weights, 0.0)
    total = share.sum(axis=1, keepdims=True)
    part = np.where(known, values * share, 0.0) / np.where(total > 0, total, 1)
    means = np.where(total[:, 0] > 0, part.sum(axis=1), np.nan)
    part = block_sums(part, swaps.blocks)
    a, b = pair_index(len(values))
    batches = []
    for columns, _, _ in replace(swaps, scheme="inputs").signs(0, part.shape[1]):
        assert columns is not None
        swapped = columns @ part.T
        batches.append(swapped[:, a] - swapped[:, b])
    return Null(means, np.concatenate(batches), "inputs")


def null_ratios(top: Floats, bottom: Floats, swaps: Swaps) -> Null:
    """Draw differences of ratios of sums over segments, swapping inputs.

    ``top`` and ``bottom`` are metrics x segments: what the pairs of a segment are worth to a metric
    under a matrix of Kendall's family, and how many of them take part.

    Examples
    --------
    >>> top, pairs = np.array([[3.0, 3.0, 3.0], [-3.0, 1.0, -3.0]]), np.full((2, 3), 3.0)
    >>> null = null_ratios(top, pairs, Swaps(n=10, rng=np.random.default_rng(0)))
    >>> null.values.round(3).tolist(), null.differences.shape
    ([1.0, -0.556], (10, 1))
    """
    terms = [block_sums(term.astype(np.float64), swaps.blocks) for term in (top, bottom)]
    whole = [term.sum(axis=1) for term in terms]
    a, b = pair_index(len(top))
    batches = []
    for columns, _, _ in replace(swaps, scheme="inputs").signs(0, terms[0].shape[1]):
        assert columns is not None
        halves = [columns.astype(np.float64) @ term.T / 2 for term in terms]
        middle = [(own[a] + own[b]) / 2 for own in whole]
        shift = [half[:, a] - half[:, b] for half in halves]
        one, other = (
            ratio(middle[0] + sign * shift[0], np.round(middle[1] + sign * shift[1]))
            for sign in (1, -1)
        )
        batches.append(one - other)
    return Null(ratio(*whole), np.concatenate(batches), "inputs")


def null_recomputed(statistic: Callable[[Floats], float], metrics: Floats, swaps: Swaps) -> Null:
    """Draw differences of any statistic of a metric's scores, computing it anew in each draw.

    ``statistic`` takes systems x segments.
    """
    z = standardise(metrics)
    values = np.array([statistic(own) for own in z])
    pairs = swaps.pairs(len(z))
    null = np.empty((swaps.n, len(pairs)))
    _, n_systems, n_segments = z.shape
    blocks = np.arange(n_segments) if swaps.blocks is None else swaps.blocks
    codes = np.unique(blocks, return_inverse=True)[1]
    n_units = int(codes.max(initial=-1)) + 1
    done = 0
    for columns, rows, cells in swaps.signs(n_systems, n_units):
        for k in range(min(_BATCH, swaps.n - done)):
            keep = np.ones((n_systems, n_segments))
            keep = keep if columns is None else keep * columns[k][codes]
            keep = keep if rows is None else keep * rows[k][:, None]
            keep = keep if cells is None else keep * cells[k][:, codes]
            for q, (a, b) in enumerate(pairs):
                one = np.where(keep > 0, z[a], z[b])
                other = np.where(keep > 0, z[b], z[a])
                null[done + k, q] = statistic(one) - statistic(other)
        done += _BATCH
    return Null(values, null, swaps.scheme)
