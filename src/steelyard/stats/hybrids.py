"""Hybrid systems: outputs of real systems mixed segment by segment (Graham and Liu, 2016).

A hybrid takes each segment from one of a few real systems, drawn at random. Thousands of them can
be made of a dozen systems, but they are mixtures of the same dozen: what is independent are the
systems and the segments that they are made of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import ShapeError
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.permutation.corpus import CorpusStatistics, bootstrap_scores
from steelyard.stats.resampling.bootstrap import bootstrap_means

_CELLS = 4_000_000  # numbers that are worked on at a time


@dataclass(frozen=True, slots=True, eq=False)
class Hybrids:
    """Which system each hybrid takes each segment from, and which systems it is made of."""

    taken: Counts  # hybrids x segments
    members: Counts  # hybrids x parts

    def __len__(self) -> int:
        return len(self.taken)

    def scores(self, scores: Floats) -> Floats:
        """Segment scores of the hybrids, from those of systems x segments.

        Examples
        --------
        >>> mixed = Hybrids(np.array([[0, 1]]), np.array([[0, 1]]))
        >>> mixed.scores(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[1.0, 4.0]]
        """
        if scores.shape[1] != self.taken.shape[1]:
            raise ShapeError(f"scores {scores.shape} of hybrids of {self.taken.shape[1]} segments")
        found: Floats = scores[self.taken, np.arange(scores.shape[1])]
        return found

    def means(self, scores: Floats, segments: Floats | None = None) -> Floats:
        """Mean score of each hybrid; with counts of segments, in each resample of them."""
        mixed = self.scores(scores)
        return row_means(mixed)[None] if segments is None else bootstrap_means(mixed, segments)

    def corpus(self, stats: CorpusStatistics, segments: Floats | None = None) -> Floats:
        """Corpus score of each hybrid, from the sums over the segments that it is made of."""
        n, s, k = len(self), stats.values.shape[1], stats.values.shape[2]
        counts = np.ones((1, s)) if segments is None else segments
        step = max(1, _CELLS // (s * k))
        at = np.arange(s)
        parts = [
            bootstrap_scores(
                replace(stats, values=stats.values[self.taken[i : i + step], at]), counts
            )
            for i in range(0, n, step)
        ]
        return np.concatenate(parts, axis=1)

    def weights(self, systems: Floats) -> Floats:
        """How often each hybrid counts if its systems count so often: the product.

        Examples
        --------
        >>> mixed = Hybrids(np.zeros((2, 1), dtype=int), np.array([[0, 1], [1, 2]]))
        >>> mixed.weights(np.array([[2.0, 1.0, 0.0]])).tolist()
        [[2.0, 0.0]]
        """
        found: Floats = systems[:, self.members].prod(axis=2)
        return found


def draw_hybrids(
    n: int, n_systems: int, n_segments: int, parts: int, rng: np.random.Generator
) -> Hybrids:
    """Draw hybrids: some systems each, and one of them for every segment.

    Examples
    --------
    >>> mixed = draw_hybrids(3, 5, 4, 2, np.random.default_rng(0))
    >>> mixed.taken.shape, mixed.members.shape
    ((3, 4), (3, 2))
    """
    bounds.whole(1, n=n, n_segments=n_segments)
    bounds.whole(2, n_systems, parts=parts)
    members = np.argsort(rng.random((n, n_systems)), axis=1)[:, :parts]
    which = rng.integers(parts, size=(n, n_segments))
    return Hybrids(np.take_along_axis(members, which, axis=1), np.sort(members, axis=1))
