"""What a meta-metric is: an object with a value, its resamples and its tests.

At level ``sys`` a meta-metric compares two vectors of system scores. At level ``seg`` it compares
systems x segments matrices within groups: ``none`` (all cells together), ``item`` (the systems on
each segment) or ``system`` (the segments of each system); the value is the mean over the groups in
which it is defined.

A subclass of :class:`MetaMetric` defines one method, :meth:`MetaMetric.columns`. That is enough for
values at both levels, for tests by swapping scores, and for intervals wherever whole groups are
drawn. Where units occur several times in a resample, :meth:`MetaMetric.weighted` says what that
means; whatever can be done faster, or exactly, is overridden.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import check_choice, check_number
from steelyard.stats.arrays import Counts, Floats, row_means, same_digits
from steelyard.stats.kendall.counting import GROUPS, grouped
from steelyard.stats.metametrics import swap_tests
from steelyard.stats.metametrics.swap_tests import MetricComparison, Null, Swaps
from steelyard.stats.metametrics.weighted import Weighted
from steelyard.stats.permutation.corpus import CorpusStatistics, bootstrap_scores, pseudo_values
from steelyard.stats.resampling import bootstrap

Bools = NDArray[np.bool_]
LEVELS = ("sys", "seg")


@dataclass(frozen=True, slots=True)
class TieRules:
    """What the definitions leave open."""

    epsilon: float | None = None  # None calibrates acc-eq and tau-eq
    threshold: float | None = None  # human differences below it are ties; None: the meta-metric's

    def __post_init__(self) -> None:
        check_number(0, optional=True, epsilon=self.epsilon, threshold=self.threshold)


@dataclass(frozen=True, slots=True)
class GroupValues:
    """One value per group (NaN where undefined) and its weight in the mean."""

    values: Floats
    weights: Floats
    epsilon: float | None = None

    @property
    def defined(self) -> Counts:
        """Positions of the groups that count."""
        return np.flatnonzero(~np.isnan(self.values) & (self.weights > 0))

    @property
    def mean(self) -> float:
        """Weighted mean over the groups that are defined, NaN if none is."""
        defined = self.defined
        if not len(defined):
            return float("nan")
        weights = self.weights[defined]
        return float((self.values[defined] * weights).sum() / weights.sum())


def judged_cells(human: Floats) -> Bools:
    """Mark the outputs with a human score; all, where only whole systems have one."""
    judged: Bools = ~np.isnan(human)
    return judged if judged.any() else np.ones_like(judged)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the system scores of a metric come from; higher is better throughout."""

    cells: Floats  # systems x segments, also those without a human score
    official: bool = False  # whether system scores were given, not made of the cells
    has_segments: bool = True
    statistics: CorpusStatistics | None = None  # of a corpus metric, on the judged cells
    sign: int = 1  # of the statistics' score

    def of_systems(self, rows: Counts) -> Source:
        """Return the source of some systems."""
        statistics = None if self.statistics is None else self.statistics.select(rows)
        return replace(self, cells=self.cells[rows], statistics=statistics)


@dataclass(frozen=True)
class Scores:
    """Scores of people and metrics: higher is better, NaN where a score is missing."""

    human: Floats  # systems x segments
    human_systems: Floats
    systems: Floats  # metrics x systems: official, else means over judged cells
    sources: tuple[Source, ...]

    @cached_property
    def judged(self) -> Bools:
        """Mark the judged outputs (:func:`judged_cells`)."""
        return judged_cells(self.human)

    @cached_property
    def columns(self) -> Counts | slice:
        """Positions of the judged segments; all, where some systems lack a judged segment."""
        some: Bools = np.asarray(self.judged.any(axis=0))
        if some.all() or not (self.judged == some).all():
            return slice(None)
        return np.flatnonzero(some)

    @cached_property
    def matrices(self) -> list[Floats]:
        """Scores of each metric on the judged cells, systems x :attr:`columns`."""
        columns = self.columns
        if not isinstance(columns, slice):
            return [np.take(source.cells, columns, axis=1) for source in self.sources]
        if self.judged.all():
            return [source.cells for source in self.sources]
        return [np.where(self.judged, source.cells, np.nan) for source in self.sources]

    @cached_property
    def cube(self) -> Floats:
        """Metrics x systems x segments, NaN but on the judged cells."""
        if isinstance(self.columns, slice):
            alone = len(self.matrices) == 1  # it may be large: no copy
            return self.matrices[0][None] if alone else np.stack(self.matrices)
        cube = np.full((len(self.sources), *self.human.shape), np.nan)
        cube[:, :, self.columns] = self.matrices
        return cube

    @cached_property
    def n_cells(self) -> list[int]:
        """How many judged cells each metric has a score for."""
        return [int(np.count_nonzero(~np.isnan(cells))) for cells in self.matrices]

    @cached_property
    def complete(self) -> list[bool]:
        """Whether each metric has a score for every judged cell."""
        n_judged = int(np.count_nonzero(self.judged))
        return [n == n_judged for n in self.n_cells]

    @cached_property
    def additive(self) -> Floats:
        """Segment scores whose means are the system scores, to first order for corpus metrics."""
        if all(source.statistics is None for source in self.sources):
            return self.cube
        return np.stack([
            cells if source.statistics is None else source.sign * pseudo_values(source.statistics)
            for cells, source in zip(self.cube, self.sources, strict=True)
        ])  # fmt: skip

    def of_systems(self, rows: Counts) -> Scores:
        """Return the scores of some systems."""
        sources = tuple(source.of_systems(rows) for source in self.sources)
        return Scores(self.human[rows], self.human_systems[rows], self.systems[:, rows], sources)

    def averaged(self, k: int) -> Floats | None:
        """Segment scores whose means are the system scores, None if official scores are not.

        Official scores are often means over all segments, also those without a human score.
        """
        cells: Floats = self.cube[k]
        if not self.sources[k].official:
            return cells
        for scores in (cells, self.sources[k].cells):
            if same_digits(self.systems[k], row_means(scores)):
                return scores
        return None

    def rows(self, chosen: Sequence[int], segments: Floats | None) -> Iterator[Floats]:
        """Yield system scores of metrics in each resample, one row if segments stay as they are."""
        if segments is None:
            yield from (self.systems[k][None, :] for k in chosen)
            return
        averaged = [self.averaged(k) for k in chosen if self.sources[k].statistics is None]
        means = bootstrap.stacked_means([x for x in averaged if x is not None], segments)
        for k in chosen:
            source = self.sources[k]
            if source.statistics is None:
                yield next(means)
            else:
                yield source.sign * bootstrap_scores(source.statistics, segments)

    def fixed(self, k: int) -> str | None:
        """Say why system scores of a metric can't be computed from resampled segments."""
        if np.isnan(self.human).all():
            return 'the human score has system scores only (intervals="system")'
        if not same_digits(self.human_systems, row_means(self.human)):
            return 'the official human scores are not means of segments (intervals="system")'
        if not self.sources[k].has_segments:
            return 'there are system scores only (intervals="system")'
        if self.sources[k].statistics is None and self.averaged(k) is None:
            return 'official system scores are not means of segments (intervals="system")'
        return None


@dataclass(frozen=True, slots=True)
class Resamples:
    """How often each segment and each system occurs in each resample; None where each does once."""

    unit: str
    segments: Floats | None = None
    systems: Floats | None = None
    drawn: str = "segment"  # segments are drawn one by one, by document, or so many together
    n_units: int = 2  # judged units to draw from: of one alone, every resample is the same


@dataclass(frozen=True)
class View:
    """Scores as a meta-metric looks at them; what it computes is kept for tests and intervals."""

    scores: Scores
    level: str
    group_by: str | None
    ties: TieRules = TieRules()
    method: str = "exact"
    blocks: Counts | None = None
    kept: dict[Any, Any] = field(default_factory=dict)
    whole: tuple[View, Counts] | None = None  # the view of all systems, and which these are

    def of_systems(self, rows: Counts) -> View:
        """Look at some of the systems."""
        return replace(self, scores=self.scores.of_systems(rows), kept={}, whole=(self, rows))


class Value(NamedTuple):
    """A value, the epsilon that it rests on, and a note on it."""

    value: float
    epsilon: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class MetaMetric:
    """How well a metric agrees with people. Subclasses say how in :meth:`columns`.

    Examples
    --------
    >>> class SameBest(MetaMetric):
    ...     def columns(self, human, metric, ties):
    ...         return (human.argmax(axis=0) == metric.argmax(axis=0)).astype(float)
    >>> human, metric = np.array([[0.0, 1], [1, 0], [2, 0]]), np.array([[0.0, 1], [3, 0], [1, 2]])
    >>> SameBest("same-best").groups(human, metric, "item", TieRules()).values.tolist()
    [0.0, 0.0]
    """

    name: str
    lowest: float = -1.0  # the range that averages over tasks are scaled from
    group_by: str = "item"  # the default grouping of segments
    threshold: float = 0.0  # the default threshold of the human score

    levels: ClassVar[tuple[str, ...]] = LEVELS  # that it has, the default first
    by_mean: ClassVar[bool] = True  # the value is a mean over groups
    on_cells: ClassVar[bool] = False  # it looks at segment scores at level sys, too
    pools: ClassVar[bool] = False  # values of several sets add up by their pairs of systems
    caveat: ClassVar[str | None] = None  # what to know about a test of it

    # The definition

    def columns(self, human: Floats, metric: Floats, ties: TieRules) -> Floats:
        """Value of each column of two items x groups matrices; NaN where it is undefined."""
        raise NotImplementedError

    def weighted(self, ties: TieRules, epsilon: float | None = None) -> Weighted | None:
        """What it is where units occur several times; None if that has no meaning."""
        del ties, epsilon
        return None

    def groups(self, human: Floats, metric: Floats, group_by: str, ties: TieRules) -> GroupValues:
        """Values within groups of systems x segments, and their weights."""
        values = self.columns(grouped(human, group_by), grouped(metric, group_by), ties)
        return GroupValues(values, np.ones(len(values)))

    def chance(self, view: View) -> float | None:
        """Value of a metric without any information, where there is a formula."""
        del view
        return None

    def tie_width(self, ties: TieRules) -> float:
        """Return the human difference below which it sees a tie."""
        return self.threshold if ties.threshold is None else ties.threshold

    # Levels and values

    def level(self, asked: str | None = None) -> str:
        """Return the level that is asked for, or the default."""
        check_choice(LEVELS, optional=True, level=asked)
        if asked is None or asked in self.levels:
            return asked or self.levels[0]
        what = "systems" if asked == "seg" else "segments"
        raise UsageError(f"'{self.name}' compares {what}: it has no level {asked}")

    def grouping(self, level: str, asked: str | None = None) -> str | None:
        """Return the grouping of segments, None at level sys."""
        if level == "sys":
            return None
        group = asked or self.group_by
        if group not in GROUPS:
            raise UsageError(f"unknown grouping '{group}'; {hint(group, GROUPS)}")
        return group

    def values(self, view: View) -> list[Value]:
        """Values of all metrics."""
        value = self._of_systems if view.level == "sys" else self._of_groups
        return [value(view, k) for k in range(len(view.scores.systems))]

    def _of_systems(self, view: View, k: int) -> Value:
        human, scores = view.scores.human_systems, view.scores.systems[k]
        if np.isnan(scores).all():
            return Value(float("nan"), note="no scores")
        value = float(self.columns(human[:, None], scores[:, None], view.ties)[0])
        if not np.isnan(value):
            return Value(value)
        known = ~(np.isnan(human) | np.isnan(scores))
        if known.sum() < 2:
            return Value(value, note="fewer than two systems")
        flat = np.ptp(scores[known]) == 0
        return Value(value, note="constant" if flat else "the human score is constant")

    def _of_groups(self, view: View, k: int) -> Value:
        groups = self.grouped(view, k)
        n, defined = len(groups.values), len(groups.defined)
        if not defined:
            return Value(float("nan"), groups.epsilon, self.why_undefined(view, k))
        lost = n - defined
        if lost and view.group_by == "item":  # nobody judged the others
            lost -= int(np.isnan(view.scores.human).all(axis=0).sum())
        note = f"undefined in {lost} of {n} groups" if lost > 0 and n > 1 else None
        return Value(groups.mean, groups.epsilon, note)

    def why_undefined(self, view: View, k: int) -> str:
        """Say why a statistic of segments is nowhere defined."""
        source = view.scores.sources[k]
        if not source.has_segments:
            return "no segment scores" if source.official else "no scores"
        known = ~np.isnan(view.scores.cube[k])
        if not known.any():
            return "no segment scores where people gave some"
        if view.group_by == "item" and not (known.sum(axis=0) > 1).any():
            return "fewer than two systems"
        return "constant"

    def p_error(self, view: View) -> float:
        """Bound of the numerical error of the p-values that values computed so far rest on."""
        return float(view.kept.get("p_error", 0.0))

    def grouped(self, view: View, k: int) -> GroupValues:
        """Values of a metric in each group, computed once: calibration is the costly part."""
        if k not in view.kept:
            human, metric = view.scores.human, view.scores.cube[k]
            view.kept[k] = self.groups(human, metric, view.group_by or "none", view.ties)
        values: GroupValues = view.kept[k]
        return values

    def stacks(self, view: View, chosen: Sequence[int]) -> tuple[Floats, Floats]:
        """Values and weights of several metrics, each metrics x groups."""
        groups = [self.grouped(view, k) for k in chosen]
        return np.stack([g.values for g in groups]), np.stack([g.weights for g in groups])

    def rows(
        self, human: Floats, ties: TieRules, metric: Floats, systems: Floats | None = None
    ) -> Floats:
        """Evaluate each row of system scores, each system as often as ``systems`` says."""
        weighted = self.weighted(ties)
        if weighted is not None:
            return weighted.rows(human, metric, systems)
        assert systems is None
        h, m = np.broadcast_arrays(human, metric)
        return self.columns(h.T, m.T, ties)

    # Resamples

    def obstacle(self, view: View, k: int, resamples: Resamples) -> str | None:
        """Say why a metric that has a value can't be resampled, None if it can."""
        if view.level == "sys":
            fixed = None if resamples.segments is None else view.scores.fixed(k)
            done = fixed is not None or resamples.systems is None
        else:
            fixed, done = None, self._whole_groups(view, resamples)
        if done:
            return fixed
        weighted = self._weighted(view, k)
        if weighted is None:
            return "a function of your own has no definition for copies of systems or of cells"
        if not weighted.has_cells and view.group_by in ("none", "system"):
            return 'pairs of cells are not resampled (group_by="item" has an interval)'
        return None

    def _weighted(self, view: View, k: int) -> Weighted | None:
        epsilon = None if view.level == "sys" else self.grouped(view, k).epsilon
        return self.weighted(view.ties, epsilon)

    def _whole_groups(self, view: View, resamples: Resamples) -> bool:
        """Whether groups are drawn as they are, so that each keeps its value."""
        if not self.by_mean:
            return False
        if view.group_by == "item":
            return resamples.systems is None
        return view.group_by == "system" and resamples.segments is None

    def replicates(self, view: View, chosen: Sequence[int], resamples: Resamples) -> Floats:
        """Values in each resample: resamples x metrics, each metric computed by itself."""
        scores, u, w = view.scores, resamples.segments, resamples.systems
        if view.level == "seg":
            return np.stack([self._of_cells(view, k, resamples) for k in chosen], axis=1)
        human = scores.human_systems[None, :]
        if u is not None:
            human = bootstrap.bootstrap_means(scores.human, u)
        columns = [self.rows(human, view.ties, metric, w) for metric in scores.rows(chosen, u)]
        return np.stack(columns, axis=1)

    def _of_cells(self, view: View, k: int, resamples: Resamples) -> Floats:
        u, w = resamples.segments, resamples.systems
        if self._whole_groups(view, resamples):
            counts = u if view.group_by == "item" else w
            assert counts is not None
            return bootstrap.bootstrap_groups(*self.stacks(view, [k]), counts)[:, 0]
        weighted = self._weighted(view, k)
        assert weighted is not None
        human, metric = view.scores.human, view.scores.cube[k]
        if view.group_by == "item":
            return weighted.items(human, metric, w, u)
        by_system = view.group_by == "system"
        return weighted.cells(human, metric, by_system=by_system, segments=u, systems=w)

    # Tests of differences between metrics

    def _by_items(self, view: View, scheme: str) -> bool:
        return view.group_by == "item" and self.by_mean and scheme == "inputs"

    def exact(
        self, view: View, chosen: Sequence[int], scheme: str, alternative: str
    ) -> MetricComparison | None:
        """Compare metrics without draws; None where draws are needed, or there is no such test."""
        if not self._by_items(view, scheme):
            return None
        stacks = self.stacks(view, chosen)
        return swap_tests.compare_items(*stacks, alternative=alternative, blocks=view.blocks)

    def recomputed(self, view: View, scheme: str) -> bool:
        """Whether each draw computes it anew, which takes long."""
        return view.level == "seg" and not self._by_items(view, scheme)

    def splits(self, group_by: str | None) -> bool:
        """Whether draws of a part of the pairs of metrics cost a part of the time."""
        return group_by is None

    def null(self, view: View, chosen: Sequence[int], swaps: Swaps) -> Null:
        """Draw the differences of metrics whose scores are swapped."""
        if view.level == "sys":
            value = partial(self.rows, view.scores.human_systems[None, :], view.ties)
            return swap_tests.null_system_scores(value, view.scores.additive[chosen], swaps)
        if self._by_items(view, swaps.scheme):
            return swap_tests.null_items(*self.stacks(view, chosen), swaps)
        human, group = view.scores.human, view.group_by or "none"

        def anew(scores: Floats) -> float:
            return self.groups(human, scores, group, view.ties).mean

        return swap_tests.null_recomputed(anew, view.scores.cube[chosen], swaps)
