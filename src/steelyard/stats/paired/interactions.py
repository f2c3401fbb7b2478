r"""Whether differences between systems depend on the kind of a segment: its domain, its length.

Kinds may differ in how hard they are; that is no news about systems. What counts is how a system
does against the others, and whether that differs from kind to kind. Units (documents) are
independent, segments of one unit are not.

:func:`contrast` gives the difference of two means, over segments of two kinds. With :math:`u_{gk}`
the sum over unit g of what is left of the mean of kind k, and :math:`p_{gk}` the unit's share of
the :math:`n_k` segments of that kind, its variance is estimated by

.. math:: \sum_g \Big(\frac{u_{g1}}{n_1 \sqrt{1 - p_{g1}}}
          - \frac{u_{g2}}{n_2 \sqrt{1 - p_{g2}}}\Big)^2,

which is Welch's where all units are single segments. Units with segments of both kinds tie the two
means together. The degrees of freedom are the fewer of both kinds, by the sizes of their units
(:func:`~steelyard.stats.resampling.unitfreedom.freedom_of_sizes`): that is careful, and it holds
where kinds differ in spread, in the number of units, and in the sizes of these, as domains do. (To
deal kinds out anew over units does not: with five units of one kind and sixty of the other, of four
times the spread, it called 18 % of sets of pure chance significant at 5 %.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.paired.clustered import t_tails
from steelyard.stats.paired.corrections import adjust
from steelyard.stats.permutation.pvalues import block_sums
from steelyard.stats.resampling.unitfreedom import freedom_of_sizes

Bools = NDArray[np.bool_]


class Contrast(NamedTuple):
    """Differences of means between two kinds of segments, their errors and degrees of freedom."""

    difference: Floats
    error: Floats
    freedom: Floats

    @property
    def p(self) -> Floats:
        """Two-sided p-values; NaN where either mean has no error."""
        upper, lower = t_tails(self.difference, self.error, self.freedom)
        both = np.minimum(1.0, 2 * np.minimum(upper, lower))
        return np.where(np.isnan(self.freedom), np.nan, both)


def contrast(rows: Floats, there: Bools, here: Bools, blocks: Counts) -> Contrast:
    """Give the mean of rows over some segments, less that over others, with its error over units.

    Parameters
    ----------
    rows
        Rows x segments, NaN where missing.
    there, here
        Which segments are of the one kind, and of the other.
    blocks
        A code per segment: those with the same code are one unit.

    Returns
    -------
    Contrast
        One number of each per row; NaN degrees of freedom where a kind has fewer than two units.

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


class Interactions(NamedTuple):
    """How much more a system leads (against the mean of all) in a kind than elsewhere.

    Both arrays are systems x kinds; p-values are two-sided and corrected by Holm over all of them.
    """

    gain: Floats
    p: Floats


def interactions(scores: Floats, kinds: Counts, blocks: Counts) -> Interactions:
    """Test for each system and kind whether the system does otherwise there than elsewhere.

    Parameters
    ----------
    scores
        Systems x segments, without gaps.
    kinds
        A code per segment, 0 and up: its kind.
    blocks
        A code per segment: those with the same code are one unit.

    Returns
    -------
    Interactions
        p is NaN where a kind, or all others, has fewer than two units. Of two kinds, the second
        tells what the first does, and counts as one test.

    Examples
    --------
    >>> scores = np.array([[1.0, 1.1, 1.2, 0.0, 0.1, 0.2], [0.1, 0.0, 0.2, 1.1, 1.2, 1.0]])
    >>> found = interactions(scores, np.array([0, 0, 0, 1, 1, 1]), np.arange(6))
    >>> found.gain.round(3).tolist(), found.p.round(3).tolist()
    ([[1.0, -1.0], [-1.0, 1.0]], [[0.007, 0.007], [0.007, 0.007]])
    """
    if scores.ndim != 2 or kinds.shape != scores.shape[1:] or np.isnan(scores).any():
        raise UsageError("expected systems x segments without gaps, and a kind per segment")
    centred = scores - scores.mean(axis=0)
    n = int(kinds.max(initial=-1)) + 1
    found = [contrast(centred, kinds == k, kinds != k, blocks) for k in range(n)]
    if not found:
        return Interactions(np.empty((len(scores), 0)), np.empty((len(scores), 0)))
    gain = np.stack([own.difference for own in found], axis=1)
    p = np.stack([own.p for own in found], axis=1)
    if n == 2:
        return Interactions(gain, np.repeat(adjust(p[:, :1], "holm"), 2, axis=1))
    return Interactions(gain, adjust(p, "holm"))
