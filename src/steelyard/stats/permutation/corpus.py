r"""Corpus scores: a score of a whole test set that is no mean of segment scores.

BLEU adds up n-gram counts over all segments and makes one score of the totals. Whatever works like
that is a :class:`CorpusStatistics`: K additive numbers per system and segment, and a function of
their sums. Resampling, swapping and selecting then act on sums, never on texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.owned import own_floats

_STEP = 1e-5  # of central differences, relative to the totals: errors of 1e-10 from either side

Mask = NDArray[np.bool_]
Combine = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class CorpusStatistics:
    """Additive statistics of every output, and the score that their sums make.

    Parameters
    ----------
    values
        Systems x segments x K; a missing output has NaN in all K places.
    combine
        Makes scores of sums, (..., K) to (...): pure, vectorised, smooth between counts, and NaN
        where a score is undefined. A frozen dataclass with ``__call__`` can be compared and
        pickled, which a lambda can't.
    higher_is_better
        Which systems a test calls better. Scores keep their sign.
    signature
        What exactly the numbers are, in a line.

    Examples
    --------
    A rate of errors: counts of errors and of words.

    >>> import numpy as np
    >>> counts = np.array([[[1, 10], [3, 10]], [[0, 5], [np.nan, np.nan]]])
    >>> rate = CorpusStatistics(counts, lambda sums: sums[..., 0] / sums[..., 1])
    >>> rate.corpus_scores().tolist()
    [0.2, 0.0]
    """

    values: Floats
    combine: Combine
    higher_is_better: bool = True
    signature: str = ""

    def __post_init__(self) -> None:
        if np.ndim(self.values) != 3 or not np.shape(self.values)[2]:
            got = np.shape(self.values)
            raise ShapeError(f"expected systems x segments x statistics, got shape {got}")
        values = own_floats(self.values, "statistics", 3, finite=False)
        absent = np.isnan(values)
        if (absent.any(axis=-1) != absent.all(axis=-1)).any() or np.isinf(values).any():
            raise ShapeError("statistics must be finite, or all NaN where an output is missing")
        object.__setattr__(self, "values", values)

    @property
    def known(self) -> Mask:
        """Where there is an output: systems x segments."""
        there: Mask = ~np.isnan(self.values[:, :, 0])
        return there

    def corpus_scores(self) -> Floats:
        """Score every system on the segments it has; NaN where it has none."""
        scores: Floats = bootstrap_scores(self, np.ones((1, self.values.shape[1])))[0]
        return scores

    def select(
        self,
        systems: Sequence[int] | Counts | None = None,
        segments: Sequence[int] | Counts | None = None,
    ) -> CorpusStatistics:
        """Keep these rows and columns, in this order; None keeps all."""
        values = self.values
        if systems is not None:
            values = values[np.asarray(systems, dtype=np.int64)]
        if segments is not None:
            values = values[:, np.asarray(segments, dtype=np.int64)]
        return replace(self, values=values)

    def masked(self, known: Mask) -> CorpusStatistics:
        """Keep only these cells (systems x segments, True to keep); the others become missing."""
        if known.shape != self.values.shape[:2]:
            raise ShapeError(f"a mask of shape {known.shape} for statistics {self.values.shape}")
        if known.all():
            return self
        return replace(self, values=np.where(known[:, :, None], self.values, np.nan))

    def identical(self, other: CorpusStatistics) -> bool:
        """Tell whether the other one holds the same numbers and combines them alike."""
        return (
            np.array_equal(self.values, other.values, equal_nan=True)
            and bool(self.combine == other.combine)
            and self.higher_is_better == other.higher_is_better
            and self.signature == other.signature
        )


def bootstrap_scores(stats: CorpusStatistics, counts: Floats) -> Floats:
    """Corpus scores of every resample: resamples x systems.

    ``counts`` say how often each segment occurs in each resample (see
    :func:`~steelyard.stats.resampling.bootstrap.segment_counts`). NaN where a system has none of
    them.

    Examples
    --------
    >>> import numpy as np
    >>> stats = CorpusStatistics([[[1, 2], [2, 2]]], lambda sums: sums[..., 0] / sums[..., 1])
    >>> bootstrap_scores(stats, np.array([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5], [0.75]]
    """
    n, s, k = stats.values.shape
    if counts.ndim != 2 or counts.shape[1] != s:
        raise ShapeError(f"counts of shape {counts.shape} for {s} segments")
    known = stats.known
    flat = np.where(known[:, :, None], stats.values, 0.0).transpose(1, 0, 2).reshape(s, n * k)
    sums = (counts @ flat).reshape(len(counts), n, k)
    some = counts @ known.T.astype(np.float64) > 0
    return np.where(some, stats.combine(sums), np.nan)


def gradient(combine: Combine, sums: Floats, steps: Floats) -> Floats:
    """Slopes of a score by central differences: (..., K) like ``sums``, and so are the ``steps``.

    Where a step is 0, so is the slope. Where the score has a kink within a step (BLEU's brevity
    penalty begins), the slopes of both sides are averaged.

    Examples
    --------
    >>> import numpy as np
    >>> sums = np.array([3.0, 4.0, 0.0])
    >>> gradient(lambda x: x[..., 0] / x[..., 1], sums, 1e-5 * sums).round(6).tolist()
    [0.25, -0.1875, 0.0]
    """
    result = np.zeros(sums.shape)
    for k in range(sums.shape[-1]):
        step = np.zeros(sums.shape)
        step[..., k] = steps[..., k]
        rise = combine(sums + step) - combine(sums - step)
        np.divide(rise, 2 * step[..., k], out=result[..., k], where=step[..., k] > 0)
    return result


def pseudo_values(stats: CorpusStatistics) -> Floats:
    r"""Segment scores that stand for the corpus score: systems x segments.

    The infinitesimal jackknife: :math:`f(\sum x) + S \, \nabla f(\sum x) (x_s - \bar x)` says how
    much the corpus score would move if a segment weighed a little more. Their mean is the corpus
    score; to first order, their mean over a resample is the corpus score of the resample. Use them
    where a method needs a number per segment, not where a score hangs on few counts (BLEU with a
    handful of matching 4-grams): there the first order is far off. A system whose score is
    undefined has NaN, as have missing outputs.

    Examples
    --------
    >>> stats = CorpusStatistics([[[1, 2], [2, 2]]], lambda sums: sums[..., 0] / sums[..., 1])
    >>> pseudo_values(stats).round(9).tolist()
    [[0.5, 1.0]]
    """
    known = stats.known
    x = np.where(known[:, :, None], stats.values, 0.0)
    sums, size = x.sum(axis=1), np.abs(x).sum(axis=1)
    n = known.sum(axis=1)[:, None]
    # A statistic that is 0 on every segment can't change: it gets no step, and no slope.
    slopes = gradient(stats.combine, sums, _STEP * size)
    centred = n[:, :, None] * x - sums[:, None, :]
    result = stats.combine(sums)[:, None] + np.einsum("nsk,nk->ns", centred, slopes)
    return np.where(known, result, np.nan)
