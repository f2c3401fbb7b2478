"""Kendall's variants as meta-metrics: a tie matrix says what pairs are worth; calibrated or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core import bounds
from steelyard.stats.arrays import Floats
from steelyard.stats.kendall.calibration import calibrate
from steelyard.stats.kendall.counting import PairCounts, count_columns, count_pairs, grouped
from steelyard.stats.kendall.matrices import TieMatrix
from steelyard.stats.kendall.weighted import TieWidths
from steelyard.stats.metametrics import swapping
from steelyard.stats.metametrics.base import GroupValues, MetaMetric, TieRules, View
from steelyard.stats.metametrics.copies import Copies, Pairs
from steelyard.stats.metametrics.swapping import MetricComparison
from steelyard.stats.permutation.pvalues import pair_index, pairwise_pvalues


@dataclass(frozen=True)
class Variant(MetaMetric):
    """Pairs are worth what a matrix says; people tie below a threshold."""

    matrix: TieMatrix = field(default_factory=TieMatrix)

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column."""
        return self.matrix.value(self._counts(human, metric, ties))

    def _counts(self, human: Floats, metric: Floats, ties: TieRules) -> PairCounts:
        return count_columns(human, metric, threshold=self.clear(ties))

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Counts of pairs."""
        del epsilon
        return Pairs(value=self.matrix.value, ties=TieWidths(threshold=self.clear(ties)))


@dataclass(frozen=True)
class PooledVariant(Variant):
    """Kendall-like: groups weigh by their number of pairs."""

    levels: ClassVar[tuple[str, ...]] = ("seg",)

    def groups(self, human: Floats, metric: Floats, group_by: str, ties: TieRules) -> GroupValues:
        """Values within groups, and the pairs that people order."""
        counts = self._counts(grouped(human, group_by), grouped(metric, group_by), ties)
        pairs = counts.concordant + counts.discordant + counts.metric_ties
        return GroupValues(self.matrix.value(counts), pairs.astype(np.float64))

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Counts of pairs, added up over groups."""
        del epsilon
        widths = TieWidths(threshold=self.clear(ties))
        return Pairs(pooled=True, value=self.matrix.value, ties=widths)


@dataclass(frozen=True)
class Calibrated(Variant):
    """The metric ties below an epsilon: the one given, else the best one."""

    levels: ClassVar[tuple[str, ...]] = ("seg",)

    def groups(self, human: Floats, metric: Floats, group_by: str, ties: TieRules) -> GroupValues:
        """Values within groups, at one epsilon."""
        h, m = grouped(human, group_by), grouped(metric, group_by)
        epsilon = ties.epsilon
        if epsilon is None:
            epsilon = calibrate(h, m, self.matrix).epsilon
            epsilon = 0.0 if np.isnan(epsilon) else epsilon
        values = self.matrix.value(count_columns(h, m, epsilon=epsilon))
        return GroupValues(values, np.ones(len(values)), epsilon)

    def copies(self, ties: TieRules, epsilon: float | None = None) -> Copies:
        """Counts of pairs at an epsilon that stays as it is."""
        del ties
        return Pairs(value=self.matrix.value, ties=TieWidths(epsilon=epsilon or 0.0))


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
            p = swapping.compare_verdicts(stack[:, used], alternative=alternative)
            return MetricComparison(values, p, "pairs", 0)
        share = np.where(used, stack * weights, np.nan).reshape(len(stack), -1)
        p = swapping.one_or_two_sided(pairwise_pvalues(share, tail="ge").p, alternative)
        return MetricComparison(values, p, "pairs", 0)


@dataclass(frozen=True)
class CalibratedAccuracy(Verdicts):
    """Pairwise accuracy with tie calibration (acc-eq)."""

    def chance(self, view: View) -> float | None:
        """Value of a metric without any information."""
        human = view.scores.human
        return chance_level(human) if view.group_by == "item" and len(human) > 1 else None


def _right(human: Floats, metric: Floats, epsilon: float) -> tuple[NDArray[np.bool_], Floats]:
    """Whether a metric is right about each pair of systems on each segment, and what that weighs.

    The weight is one over the pairs of the segment; NaN where a cell is missing.
    """
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

    Examples
    --------
    >>> half = from_matrix("half", TieMatrix(metric_tie=0.5))
    >>> human, metric = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> round(half.groups(human, metric, "item", TieRules()).mean, 3)
    0.833
    """
    bounds.text(name=name)
    bounds.flag(calibrated=calibrated)
    bounds.number(0, threshold=threshold)
    kind = Calibrated if calibrated else Variant
    return kind(name, lowest(matrix), threshold=threshold, matrix=matrix)


def lowest(matrix: TieMatrix) -> float:
    """Give the least that a pair can be worth."""
    worths = (matrix.same, matrix.opposite, matrix.metric_tie, matrix.human_tie, matrix.both_tie)
    return min((worth for worth in worths if worth is not None), default=0.0)


def chance_level(human: Floats) -> float:
    """Accuracy with calibrated ties that a metric without any information reaches.

    Such a metric can tie everything and be right wherever people tie, or tie nothing and be right
    half the time elsewhere; the better of the two, averaged over segments, is the floor.

    Examples
    --------
    >>> chance_level(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]))
    0.5
    """
    nothing = np.where(np.isnan(human), np.nan, 0.0)
    counts = count_pairs(human, nothing)
    with_pairs = counts.total > 0
    if not with_pairs.any():
        return float("nan")
    tied = counts.both_ties[with_pairs] / counts.total[with_pairs]
    return float(max(tied.mean(), ((1 - tied) / 2).mean()))
