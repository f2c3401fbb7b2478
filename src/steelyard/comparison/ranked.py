"""One ranking of systems, the test of their pairs, and the tiers that the two give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from steelyard.data.units import SEGMENT
from steelyard.stats.arrays import Floats
from steelyard.stats.ranks import whole

MOST_SHOWN = 300  # systems up to which every pair gets intervals and a place in a report
CORPUS, SENTENCES, PROPORTION = "corpus score", "sentence scores", "proportion"  # what is ranked by


@dataclass(frozen=True, slots=True)
class Ranked:
    """One ranking of the systems, in the order of :attr:`Comparison.systems`.

    Scores are in the numbers of the score itself; ``pairwise[i, j]`` of a mean or a median is that
    of i minus that of j. ``of`` says what is ranked by, where that is not the segment scores.
    ``pairwise_low`` and ``pairwise_high`` are the interval of ``pairwise``, ``gap_low`` and
    ``gap_high`` that of the difference of two scores: of means, strengths or ratings. Averages are
    numbers of the score's own scale; of strengths and ratings more is better. ``pairwise`` of these
    follows from one fit of all systems; ``alone[i, j]`` is the share of segments (or battles) that
    i wins against j, ties as half, each pair by itself. None for averages, of which ``pairwise``
    looks at the pair alone anyway.
    """

    scores: Floats
    ranks: Floats
    pairwise: Floats
    low: Floats | None = None
    high: Floats | None = None
    best_rank: Floats | None = None
    worst_rank: Floats | None = None
    gap_low: Floats | None = None
    gap_high: Floats | None = None
    spread: Floats | None = None
    rank_shares: Floats | None = None  # share of the resamples in which i takes place j + 1
    pairwise_low: Floats | None = None
    pairwise_high: Floats | None = None
    higher_is_better: bool = True
    of: str | None = None
    average: bool = False
    parameters: Mapping[str, float] | None = None  # of a rating
    notes: tuple[str, ...] = ()
    alone: Floats | None = None

    def turned(self) -> Ranked:
        """Give the same ranking in numbers of the other sign, of which less is better."""

        def minus(values: Floats | None) -> Floats | None:
            return None if values is None else 0.0 - values  # no -0.0

        return replace(
            self,
            scores=0.0 - self.scores,
            pairwise=0.0 - self.pairwise,
            low=minus(self.high),
            high=minus(self.low),
            gap_low=minus(self.gap_high),
            gap_high=minus(self.gap_low),
            pairwise_low=minus(self.pairwise_high),
            pairwise_high=minus(self.pairwise_low),
            higher_is_better=not self.higher_is_better,
        )

    def to_dict(self, systems: Sequence[str]) -> dict[str, Any]:
        """Give what ``--json`` prints."""

        def named(values: Floats | None) -> dict[str, Any] | None:
            return None if values is None else dict(zip(systems, map(number, values), strict=True))

        def ranges(low: Floats | None, high: Floats | None) -> dict[str, Any] | None:
            if low is None or high is None:
                return None
            pairs = ([number(a), number(b)] for a, b in zip(low, high, strict=True))
            return dict(zip(systems, pairs, strict=True))

        def matrices(low: Floats | None, high: Floats | None) -> dict[str, Any] | None:
            return None if low is None else {"low": low, "high": high}

        return {
            "scores": named(self.scores),
            "ranks": dict(zip(systems, whole(self.ranks), strict=True)),
            "ci": ranges(self.low, self.high),
            "rank_ci": ranges(self.best_rank, self.worst_rank),
            "pairwise": self.pairwise if self.pairwise.size else None,
            "pairwise_alone": self.alone,
            "pairwise_ci": matrices(self.pairwise_low, self.pairwise_high),
            "gap_ci": matrices(self.gap_low, self.gap_high),
            "spread": named(self.spread),
            "higher_is_better": self.higher_is_better,
            "of": self.of,
            "parameters": None if self.parameters is None else dict(self.parameters),
        }


def with_pairs_alone(found: Mapping[str, Ranked], share: Floats | None) -> dict[str, Ranked]:
    """Give rankings with the share that each system wins of each other, where they are no averages.

    None where there are too many systems for matrices.
    """
    return {name: own if own.average else replace(own, alone=share) for name, own in found.items()}


def number(value: float) -> float | None:
    """Give a number, None where it is undefined."""
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True, slots=True)
class PairTest:
    """p-values of all pairs of systems, raw and corrected; ``of`` is what a corpus metric tests."""

    p: Floats
    p_adjusted: Floats
    alternative: str
    correction: str
    unit: str = SEGMENT  # what is independent
    of: str | None = None
    error: float = 0.0  # numerical, of the raw p-values
    reason: str = ""  # which question the test asks
    told: tuple[str, ...] = ()  # what pairs it leaves out

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        names = (one.name for one in fields(self) if one.name not in ("reason", "told"))
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Tiers:
    """Clusters of systems under one ranking, by the test that fits it, and what contradicts it.

    ``against`` are pairs of systems, the first of which ranks above the second although the test
    says that the second is better.
    """

    test: str
    clusters: tuple[int | None, ...]
    letters: tuple[str | None, ...]
    warnings: tuple[str, ...] = ()
    against: tuple[tuple[str, str], ...] = ()

    def to_dict(self, systems: Sequence[str]) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "test": self.test,
            "clusters": dict(zip(systems, self.clusters, strict=True)),
            "letters": dict(zip(systems, self.letters, strict=True)),
        }
