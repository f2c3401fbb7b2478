r"""Whether differences between systems depend on the kind of a segment: its domain, its length.

Kinds may differ in how hard they are; that is no news about systems. What counts are differences
between systems, and whether they differ from kind to kind. Units (documents) are independent,
segments of one unit are not.

:func:`interaction_test` asks about all systems and all kinds at once. Scores less the mean of all
systems on a segment have, in each kind d, means :math:`m_{id}` with errors :math:`s_{id}` over
units. With weights :math:`w_{id} = 1 / s_{id}^2`, Welch's statistic

.. math:: T = \sum_i \sum_d w_{id} \Big(m_{id} - \frac{\sum_d w_{id} m_{id}}{\sum_d w_{id}}\Big)^2

is compared with its values under kinds that are dealt out anew over whole units. That is exact
where units are exchangeable between kinds; since means are measured by their own errors, it nearly
holds its level where kinds differ in spread, too.

:func:`contrast` gives a difference between two kinds with its error, for one question at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.rng import Rng, generator
from steelyard.stats.arrays import Counts, Floats, group_sums, ratio
from steelyard.stats.permutation.pvalues import block_sums
from steelyard.stats.resampling.unitfreedom import freedom_of_sizes

_FLOOR = 1e-3  # of the variance over all units: what a kind without spread is given
_HELD = 1 << 22  # units dealt out at a time
_SAME = 1 - 1e-12  # statistics that differ by less are the same one, summed in another order


class Interaction(NamedTuple):
    """Welch's statistic of all systems and kinds, its p-value, and how many units each kind has."""

    statistic: float
    p: float
    units: tuple[int, ...]


def interaction_test(
    scores: Floats, kinds: Counts, blocks: Counts | None, *, n_resamples: int = 999, rng: Rng = 0
) -> Interaction:
    """Test whether differences between systems are the same in all kinds of segments.

    Parameters
    ----------
    scores
        Systems x segments, without gaps.
    kinds
        A code per segment: its kind.
    blocks
        A code per segment: those with the same code are one unit, and of one kind. None: each
        segment is a unit.
    n_resamples
        How often kinds are dealt out anew.
    rng
        Seed.

    Returns
    -------
    Interaction
        p is NaN for fewer than two systems or two kinds, or a kind with fewer than two units, and 1
        where no difference varies.

    Examples
    --------
    >>> scores = np.array([[1.0, 1.1, 1.2, 0.0, 0.1, 0.2], [0.1, 0.0, 0.2, 1.1, 1.2, 1.0]])
    >>> interaction_test(scores, np.array([0, 0, 0, 1, 1, 1]), None).p
    0.103
    >>> interaction_test(scores, np.array([0, 1, 0, 1, 0, 1]), None).p
    1.0
    """
    bounds.whole(1, n_resamples=n_resamples)
    stream = generator(rng)
    if scores.ndim != 2 or kinds.shape != scores.shape[1:] or np.isnan(scores).any():
        raise UsageError("expected systems x segments without gaps, and a kind per segment")
    kind = np.unique(kinds, return_inverse=True)[1]
    unit = np.arange(len(kind)) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    own = np.full(int(unit.max(initial=-1)) + 1, -1)
    own[unit] = kind
    if (own[unit] != kind).any():
        raise UsageError("segments of one unit are of several kinds")
    counts = np.bincount(own, minlength=1) if len(own) else np.zeros(1, dtype=np.int64)
    units = tuple(int(n) for n in counts)
    if len(scores) < 2 or len(units) < 2 or min(units) < 2:
        return Interaction(float("nan"), float("nan"), units)
    parts = _Sums.of(scores, unit)
    found = float(parts.statistics(own[None], len(units))[0])
    if not found > 0:
        return Interaction(0.0, 1.0, units)
    beyond, step = 0, max(1, _HELD // len(own))
    for start in range(0, n_resamples, step):
        dealt = np.tile(own, (min(step, n_resamples - start), 1))
        drawn = parts.statistics(stream.permuted(dealt, axis=1), len(units))
        beyond += int((drawn >= found * _SAME).sum())
    return Interaction(found, (1 + beyond) / (1 + n_resamples), units)


class _Sums(NamedTuple):
    """What a mean and its error are made of, added up by unit: units x systems."""

    size: Floats
    total: Floats
    square: Floats
    cross: Floats
    least: Floats  # a variance for kinds that have none

    @classmethod
    def of(cls, scores: Floats, unit: Counts) -> _Sums:
        """Add up differences from the mean of all systems."""
        centred = scores - scores.mean(axis=0)
        centred = centred - centred.mean(axis=1, keepdims=True)
        size = group_sums(unit, None, int(unit.max()) + 1)[:, None]
        total = np.stack([group_sums(unit, row, len(size)) for row in centred], axis=1)
        scale = np.abs(scores).max(initial=0.0) * size
        total = np.where(np.abs(total) <= 1e-12 * scale, 0.0, total)  # rounding is no difference
        least = _FLOOR * (total * total).mean(axis=0)
        return cls(size, total, total * total, total * size, least)

    def statistics(self, kinds: Counts, n_kinds: int) -> Floats:
        """Give Welch's statistic for rows of kinds of units."""
        means, weights = [], []
        for kind in range(n_kinds):
            here = (kinds == kind).astype(np.float64)
            units = here.sum(axis=1, keepdims=True)
            size, sizes = here @ self.size, here @ (self.size * self.size)
            mean = (here @ self.total) / size
            left = here @ self.square - 2 * mean * (here @ self.cross) + mean * mean * sizes
            spread = np.maximum(left / (units - 1), self.least)
            means.append(mean)
            weights.append(ratio(size * size, units * spread))  # NaN: nothing varies
        m, w = np.stack(means), np.nan_to_num(np.stack(weights))
        middle = np.nan_to_num(ratio((w * m).sum(axis=0), w.sum(axis=0)))
        return np.asarray((w * (m - middle) ** 2).sum(axis=(0, 2)))


class Contrast(NamedTuple):
    """Differences of means between two kinds of segments, their errors and degrees of freedom."""

    difference: Floats
    error: Floats
    freedom: Floats


def contrast(rows: Floats, there: NDArray[np.bool_], here: NDArray[np.bool_],
             blocks: Counts) -> Contrast:  # fmt: skip
    """Give the mean of rows over some segments, less that over others, with its error over units.

    The error is that of :func:`steelyard.stats.paired.clustered.mean_error` for either mean; units
    that have segments of both kinds tie the two together. The degrees of freedom are the fewer.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 3.0, 5.0, 6.0, 7.0]])
    >>> late = np.arange(6) > 2
    >>> found = contrast(x, late, ~late, np.arange(6))
    >>> [round(float(one[0]), 6) for one in found]
    [4.0, 0.816497, 2.0]
    """
    parts, means, freedoms = [], [], []
    for own in (there, here):
        known = ~np.isnan(rows) & own
        n = known.sum(axis=1).astype(np.float64)
        mean = ratio(np.where(known, rows, 0.0).sum(axis=1), n)
        sizes = block_sums(known.astype(np.float64), blocks)
        share = ratio(sizes, n[:, None])
        sums = block_sums(np.where(known, rows - mean[:, None], 0.0), blocks)
        # A unit that is all there is of a kind leaves nothing to tell its error by.
        parts.append(ratio(sums, n[:, None]) * np.sqrt(ratio(1.0, 1 - share)))
        means.append(mean)
        freedoms.append(freedom_of_sizes(sizes))
    error = np.sqrt(((parts[0] - parts[1]) ** 2).sum(axis=1))
    return Contrast(means[0] - means[1], error, np.minimum(*freedoms))
