"""Correlations as meta-metrics: Pearson, Spearman, PDP, and Kendall's tau in all its variants.

A variant of Kendall's is a tie matrix, which says what pairs are worth; some are calibrated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.options import check_flag, check_number, check_text
from steelyard.stats import correlation
from steelyard.stats.arrays import Floats
from steelyard.stats.kendall.calibration import calibrate
from steelyard.stats.kendall.counting import (
    PairCounts,
    TieMatrix,
    count_columns,
    count_pairs,
    grouped,
)
from steelyard.stats.metametrics.base import GroupValues, MetaMetric, TieRules, View
from steelyard.stats.metametrics.swap_tests import (
    MetricComparison,
    Null,
    Swaps,
    compare_verdicts,
    null_pearson,
)
from steelyard.stats.metametrics.weighted import Weighted, WeightedPairs, WeightedPearson
from steelyard.stats.paired.corrections import williams
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues, sided


@dataclass(frozen=True)
class Correlation(MetaMetric):
    """A function of two matrices, a value per column; and what it is in resamples."""

    of: Callable[[Floats, Floats], Floats] = correlation.pearson
    resampled: Weighted = field(default_factory=WeightedPearson)

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column."""
        del ties
        return self.of(human, metric)

    def weighted(self, ties: TieRules, epsilon: float | None = None) -> Weighted:
        """What the registry says."""
        del ties, epsilon
        return self.resampled


def tau_b(human: Floats, metric: Floats) -> Floats:
    """Kendall's tau-b of each column."""
    return correlation.kendall_b(count_columns(human, metric))


def tau_c(human: Floats, metric: Floats) -> Floats:
    """Kendall's tau-c of each column."""
    known = ~(np.isnan(human) | np.isnan(metric))
    h, m = np.where(known, human, np.nan), np.where(known, metric, np.nan)
    levels = np.minimum(correlation.distinct(h), correlation.distinct(m))
    return correlation.kendall_c(count_columns(human, metric), known.sum(axis=0), levels)


@dataclass(frozen=True)
class Pdp(Correlation):
    """Pearson's r of all pairwise differences within groups, pooled over groups."""

    resampled: Weighted = field(default_factory=lambda: WeightedPearson(pooled=True))
    levels: ClassVar[tuple[str, ...]] = ("seg",)
    by_mean: ClassVar[bool] = False

    def groups(self, human: Floats, metric: Floats, group_by: str, ties: TieRules) -> GroupValues:
        """One value, of all groups."""
        del ties
        value = correlation.pdp(grouped(human, group_by), grouped(metric, group_by))
        return GroupValues(np.array([value]), np.ones(1))


@dataclass(frozen=True)
class Pearson(Correlation):
    """Pearson's r, with Williams' test of differences, and swaps of cells by six sums."""

    group_by: str = "none"

    def exact(
        self, view: View, chosen: Sequence[int], scheme: str, alternative: str
    ) -> MetricComparison | None:
        """Williams' test of correlations of systems, or of all cells, where it is asked for."""
        if scheme != "williams":
            return super().exact(view, chosen, scheme, alternative)
        if view.group_by not in (None, "none"):
            return None
        scores, on_systems = view.scores, view.level == "sys"
        human = scores.human_systems if on_systems else scores.human.ravel()
        of = scores.systems if on_systems else scores.cube
        columns = [of[k].ravel()[:, None] for k in chosen]
        values = np.array([float(correlation.pearson(human[:, None], x)[0]) for x in columns])
        p = np.full((len(values), len(values)), np.nan)
        for a, b in zip(*pair_index(len(values)), strict=True):
            shared = ~np.isnan(human[:, None] + columns[a] + columns[b])[:, 0]
            h, x, y = (v[shared] for v in (human[:, None], columns[a], columns[b]))
            r_x, r_y, mutual = (
                float(correlation.pearson(*pair)[0]) for pair in ((h, x), (h, y), (x, y))
            )
            n = int(shared.sum())
            p[a, b] = williams(r_x, r_y, mutual, n, alternative=alternative)
            p[b, a] = williams(r_y, r_x, mutual, n, alternative=alternative)
        return MetricComparison(values, p, "williams", 0)

    def recomputed(self, view: View, scheme: str) -> bool:
        """Only within segments: other groups are functions of sums."""
        return view.group_by == "item" and super().recomputed(view, scheme)

    def splits(self, group_by: str | None) -> bool:
        """Sums are taken pair of metrics by pair."""
        return group_by != "item"

    def null(self, view: View, chosen: Sequence[int], swaps: Swaps) -> Null:
        """Draw the differences of metrics whose scores are swapped."""
        if view.group_by not in ("none", "system"):
            return super().null(view, chosen, swaps)
        cube = view.scores.cube[list(chosen)]
        return null_pearson(view.scores.human, cube, view.group_by, swaps)


@dataclass(frozen=True)
class Variant(MetaMetric):
    """Pairs are worth what a matrix says; people tie below a threshold."""

    matrix: TieMatrix = field(default_factory=TieMatrix)
    pooled: ClassVar[bool] = False  # groups weigh by their number of pairs

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column."""
        return self.matrix.value(self._counts(human, metric, ties))

    def _counts(self, human: Floats, metric: Floats, ties: TieRules) -> PairCounts:
        return count_columns(human, metric, threshold=self.tie_width(ties))

    def weighted(self, ties: TieRules, epsilon: float | None = None) -> Weighted:
        """Counts of pairs."""
        del epsilon
        width = self.tie_width(ties)
        return WeightedPairs(self.pooled, self.matrix.value, threshold=width)


@dataclass(frozen=True)
class PooledVariant(Variant):
    """Kendall-like: the pairs of all groups together."""

    levels: ClassVar[tuple[str, ...]] = ("seg",)
    pooled: ClassVar[bool] = True

    def groups(self, human: Floats, metric: Floats, group_by: str, ties: TieRules) -> GroupValues:
        """Values within groups, and the pairs that people order."""
        counts = self._counts(grouped(human, group_by), grouped(metric, group_by), ties)
        pairs = counts.concordant + counts.discordant + counts.metric_ties
        return GroupValues(self.matrix.value(counts), pairs.astype(np.float64))


@dataclass(frozen=True)
class Calibrated(Variant):
    """The metric ties below an epsilon: the one given, else the best one."""

    levels: ClassVar[tuple[str, ...]] = ("seg",)

    def groups(self, human: Floats, metric: Floats, group_by: str, ties: TieRules) -> GroupValues:
        """Values within groups, at one epsilon."""
        h, m = grouped(human, group_by), grouped(metric, group_by)
        if ties.epsilon is None:
            best = calibrate(h, m, self.matrix, curve=False)
            epsilon = 0.0 if np.isnan(best.epsilon) else best.epsilon
            return GroupValues(best.groups, np.ones(len(best.groups)), epsilon)
        values = self.matrix.value(count_columns(h, m, epsilon=ties.epsilon))
        return GroupValues(values, np.ones(len(values)), ties.epsilon)

    def weighted(self, ties: TieRules, epsilon: float | None = None) -> Weighted:
        """Counts of pairs at an epsilon that stays as it is."""
        del ties
        return WeightedPairs(value=self.matrix.value, epsilon=epsilon or 0.0)


@dataclass(frozen=True)
class Verdicts(Calibrated):
    """A metric is right or wrong about each pair (acc-eq, tau-eq), and verdicts can be swapped."""

    def exact(
        self, view: View, chosen: Sequence[int], scheme: str, alternative: str
    ) -> MetricComparison | None:
        """Swap verdicts on single pairs of outputs, taken for independent (they are not)."""
        if scheme != "pairs":
            return super().exact(view, chosen, scheme, alternative)
        if view.group_by != "item":
            return None
        human, right, weights = view.scores.human, [], None
        for k in chosen:
            epsilon = self.grouped(view, k).epsilon
            verdict, pairs = _right(human, view.scores.cube[k], epsilon or 0.0)
            weights = pairs if weights is None else np.where(np.isnan(weights), np.nan, pairs)
            right.append(verdict)
        assert weights is not None
        stack = np.stack(right)
        values = np.array([self.grouped(view, k).mean for k in chosen])
        used = ~np.isnan(weights)
        if (weights[used] == weights[used][0]).all():
            p = compare_verdicts(stack[:, used], alternative=alternative)
            return MetricComparison(values, p, "pairs", 0)
        share = np.where(used, stack * weights, np.nan).reshape(len(stack), -1)
        p = sided(pairwise_pvalues(share, tail="ge").p, alternative)
        return MetricComparison(values, p, "pairs", 0)


@dataclass(frozen=True)
class CalibratedAccuracy(Verdicts):
    """Pairwise accuracy with tie calibration (acc-eq)."""

    def chance(self, view: View) -> float | None:
        """Value of a metric without any information."""
        human = view.scores.human
        return chance_level(human) if view.group_by == "item" and len(human) > 1 else None


def _right(human: Floats, metric: Floats, epsilon: float) -> tuple[NDArray[np.bool_], Floats]:
    """Whether a metric is right about each pair on each segment; one over the pairs of it."""
    i, j = pair_index(len(human))
    h, m = human[i] - human[j], metric[i] - metric[j]
    tied = np.abs(m) <= epsilon
    right = np.where(h == 0, tied, ~tied & ((h > 0) == (m > 0)))
    known = ~(np.isnan(h) | np.isnan(m))
    weights = np.where(known, 1.0 / np.maximum(known.sum(axis=0), 1), np.nan)
    return right & known, weights


def from_matrix(
    name: str, matrix: TieMatrix, *, calibrated: bool = False, threshold: float = 0.0
) -> MetaMetric:
    """Make a meta-metric of a tie matrix: pairs within items, averaged.

    ``calibrated`` finds the metric difference below which pairs tie, for which every kind of pair
    must be worth something; ``threshold`` is the human difference below which they do.
    """
    check_text(name=name)
    check_flag(calibrated=calibrated)
    check_number(0, threshold=threshold)
    kind = Calibrated if calibrated else Variant
    return kind(name, matrix.lowest, threshold=threshold, matrix=matrix)


def chance_level(human: Floats) -> float:
    """Accuracy with calibrated ties that a metric without any information reaches.

    Such a metric can tie everything and be right wherever people tie, or tie nothing and be right
    half the time elsewhere; the better of the two, averaged over segments, is the floor.
    """
    nothing = np.where(np.isnan(human), np.nan, 0.0)
    counts = count_pairs(human, nothing)
    with_pairs = counts.total > 0
    if not with_pairs.any():
        return float("nan")
    tied = counts.both_ties[with_pairs] / counts.total[with_pairs]
    return float(max(tied.mean(), ((1 - tied) / 2).mean()))
