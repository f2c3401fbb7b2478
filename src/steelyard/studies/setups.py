"""Setups: one score of one test set, ranked in several ways, whole or on samples of its segments.

This is the unit of the paired-evaluation paper's section 5: how often two ways of ranking disagree
is a mean over setups, and over samples of segments within a setup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.aggregations import AGGREGATIONS
from steelyard.comparison.options import RankOptions
from steelyard.comparison.scores import Sample
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import order_disagreement, sets_differ, top_systems
from steelyard.stats.paired import pairedtests
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.bootstrap import bootstrap_means, bootstrap_medians
from steelyard.stats.strength.bradleyterry import bradley_terry_batch
from steelyard.stats.strength.wins import resampled_wins, segment_points

SAMPLED = ("mean", "median", "bt")  # rankings that samples of segments have, too
MEASURES = ("pairs", "best", "top")
TESTS: Mapping[str, Callable[[Floats], Floats]] = {
    "t": pairedtests.t_test,
    "mood": pairedtests.mood_test,
    "sign": pairedtests.sign_test,
    "wilcoxon": pairedtests.wilcoxon_test,
}
_CELLS = 4_000_000  # entries of win tables held at a time
Bools = NDArray[np.bool_]
Rankings = Mapping[str, Floats]  # rankings by name, each draws x systems, higher is better


@dataclass(frozen=True, slots=True)
class Setup:
    """One score of one set: systems x segments, higher is better, NaN where missing."""

    set: str
    score: str
    systems: tuple[str, ...]
    scores: Floats

    @property
    def n_segments(self) -> int:
        """How many segments have a score."""
        return int(self.scores.shape[1])


@dataclass(frozen=True, slots=True)
class Rules:
    """What the definitions leave open: options of the rankings, and who is at the top.

    ``top`` is the size of the top, ``top_sets`` says who belongs to it.
    """

    options: RankOptions = field(default_factory=RankOptions)
    top: int = 3
    top_sets: Callable[[Floats, int], Bools] = top_systems


def find_setups(
    sets: Mapping[str, EvalSet], scores: Sequence[str] | None = None
) -> tuple[list[Setup], list[str]]:
    """List the setups of some sets, and say what was left out and why.

    A setup has the systems with any score and the segments that any of them has. Without two
    systems there is nothing to rank.
    """
    found: list[Setup] = []
    notes: list[str] = []
    for name, es in sets.items():
        known = tuple(n for n, table in es.scores.items() if table.has_segments)
        chosen = known if scores is None else tuple(n for n in scores if n in es.scores)
        for score in chosen:
            if score not in known:
                notes.append(f"{name}: '{score}' has no segment scores")
                continue
            values = es[score].oriented
            some = ~np.isnan(values)
            rows = np.flatnonzero(some.any(axis=1))
            if len(rows) < 2:
                notes.append(f"{name}: '{score}' has fewer than two systems")
                continue
            kept = np.ascontiguousarray(values[rows][:, some.any(axis=0)])
            found.append(Setup(name, score, tuple(es.systems[i] for i in rows), kept))
    for score in scores or ():
        if not any(score in es.scores for es in sets.values()):
            next(iter(sets.values()))[score]  # an error that shows the known ones
    if not found:
        raise UsageError("no score of at least two systems on segments: nothing to rank")
    return found, notes


def rank_whole(
    setup: Setup, by: Sequence[str], options: RankOptions, rng: np.random.Generator
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Rank the systems of a setup in several ways (1 x systems each); and warnings."""
    rankings: dict[str, Floats] = {}
    warnings: list[str] = []
    for name, own in zip(by, rng.spawn(len(by)), strict=True):
        found = AGGREGATIONS[name].rank(Sample(setup.scores, setup.systems), options, own)
        rankings[name] = -found.ranks[None, :]
        warnings += found.warnings
    return rankings, tuple(warnings)


def rank_samples(
    setup: Setup, by: Sequence[str], options: RankOptions, counts: Floats
) -> dict[str, Floats]:
    """Rank the systems on samples of the segments, draws x segments: draws x systems each."""
    result: dict[str, Floats] = {}
    for name in by:
        if name == "mean":
            result[name] = bootstrap_means(setup.scores, counts)
        elif name == "median":
            result[name] = bootstrap_medians(setup.scores, counts)
        elif name == "bt":
            result[name] = _bt_samples(setup, options, counts)
        else:
            raise UsageError(f"'{name}' is not ranked on samples; expected mean, median or bt")
    return result


def _bt_samples(setup: Setup, options: RankOptions, counts: Floats) -> Floats:
    """Order systems by Bradley-Terry; a fit is needed where pairs do not meet equally often."""
    if options.ties in ("half", "second") and not np.isnan(setup.scores).any():
        own = segment_points(setup.scores, ties_as=options.ties, tolerance=options.tolerance)
        return counts @ own.T
    n = len(setup.systems)
    step = max(1, _CELLS // (n * n))
    parts = []
    for start in range(0, len(counts), step):
        tables = resampled_wins(
            setup.scores, counts[start : start + step], tolerance=options.tolerance
        )
        fits = bradley_terry_batch(tables, ties_as=options.ties, prior=options.prior)
        parts.append(-fits.ranks)
    return np.concatenate(parts)


def draw_segments(n: int, size: int, draws: int, rng: np.random.Generator) -> Floats:
    """Draw samples of ``size`` of ``n`` segments without replacement: draws x segments, 0 or 1.

    Examples
    --------
    >>> draw_segments(5, 2, 3, np.random.default_rng(0)).sum(axis=1).tolist()
    [2.0, 2.0, 2.0]
    """
    chosen = np.argsort(rng.random((draws, n)), axis=1)[:, :size]
    counts = np.zeros((draws, n))
    np.put_along_axis(counts, chosen, 1.0, axis=1)
    return counts


def name_pairs(by: Sequence[str]) -> list[tuple[str, str]]:
    """List the pairs of rankings that are compared.

    Examples
    --------
    >>> name_pairs(["mean", "median", "bt"])
    [('mean', 'median'), ('mean', 'bt'), ('median', 'bt')]
    """
    return list(combinations(by, 2))


def measure(rankings: Rankings, rules: Rules) -> Floats:
    """Compare all pairs of rankings: draws x pairs of rankings x (pairs, best, top).

    * ``pairs``: share of the pairs of systems in different order
      (:func:`steelyard.stats.correlation.order_disagreement`);
    * ``best``, ``top``: 1 where the best system, or the set of the best three, differs.
    """
    best = {name: rules.top_sets(own, 1) for name, own in rankings.items()}
    top = {name: rules.top_sets(own, rules.top) for name, own in rankings.items()}
    columns = [
        np.stack(
            [
                order_disagreement(rankings[a], rankings[b]),
                sets_differ(best[a], best[b]),
                sets_differ(top[a], top[b]),
            ],
            axis=1,
        )
        for a, b in name_pairs(list(rankings))
    ]
    return np.stack(columns, axis=1)


def significant_pairs(scores: Floats, tests: Sequence[str], alpha: float) -> Bools:
    """Tell which pairs of systems each test finds different: tests x pairs.

    A test that is undefined for a pair finds nothing.
    """
    i, j = pair_index(len(scores))
    found = np.zeros((len(tests), len(i)), dtype=bool)
    for row, name in zip(found, tests, strict=True):
        p = TESTS[name](scores)[i, j]
        row[:] = np.where(np.isnan(p), 1.0, p) < alpha
    return found


def sampled(setup: Setup, size: int, rng: np.random.Generator) -> Setup:
    """Keep a random sample of the segments."""
    kept = np.sort(rng.choice(setup.n_segments, size, replace=False))
    return replace(setup, scores=setup.scores[:, kept])
