"""One meta-metric on one set: values of all metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError, hint
from steelyard.data.evalset import EvalSet
from steelyard.metaevaluation.results import MetaResult
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.metametrics import base as metametrics
from steelyard.stats.metametrics.accuracy import soft_agreement
from steelyard.stats.metametrics.base import GroupValues, MetaMetric, Options
from steelyard.stats.metametrics.replicates import Statistic, statistic_of, system_replicates
from steelyard.stats.permutation.corpus import CorpusStatistics, corpus_pvalues, pseudo_values
from steelyard.stats.permutation.pvalues import pairwise_pvalues, stacked_pvalues
from steelyard.stats.ranks import ranks


@dataclass(frozen=True, slots=True)
class Data:
    """What every meta-metric works on: oriented scores of the systems that take part."""

    es: EvalSet
    human: Floats
    human_systems: Floats
    metrics: tuple[str, ...]

    def segments(self, metric: str) -> Floats:
        """Scores of a metric on the cells that people scored."""
        return np.where(np.isnan(self.human), np.nan, self.es.scores[metric].oriented)

    def statistics(self, metric: str) -> CorpusStatistics | None:
        """What a corpus score is made of, on the cells that people scored; None for others."""
        stats = self.es.scores[metric].statistics
        return None if stats is None else stats.masked(~np.isnan(self.human))

    def additive(self, metric: str) -> Floats:
        """Segment scores whose mean is the system score, also of a corpus metric (first order)."""
        stats = self.statistics(metric)
        return self.segments(metric) if stats is None else self.sign(metric) * pseudo_values(stats)

    def sign(self, metric: str) -> int:
        """1 where higher is better, else -1."""
        return 1 if self.es.scores[metric].higher_is_better else -1

    def systems(self, metric: str) -> Floats:
        """System scores of a metric: official, else over what people scored.

        Where the statistics of a corpus metric are known, its score is that of what people scored.
        """
        stats = self.statistics(metric)
        if stats is not None:
            return self.sign(metric) * stats.corpus_scores()
        official = self.es.scores[metric].system_scores
        if official is not None:
            return self.sign(metric) * official
        return row_means(self.segments(metric))

    def n_systems(self, metric: str) -> int:
        """How many systems have a score of people and of a metric."""
        return int((~np.isnan(self.human_systems + self.systems(metric))).sum())

    def n_cells(self, metric: str) -> int:
        """How many outputs have a segment score of people and of a metric."""
        return int((~np.isnan(self.segments(metric))).sum())

    def coverage(self, metric: str) -> str | None:
        """Say how much of what people judged a metric has, None if that is all."""
        systems, cells = self.n_systems(metric), self.n_cells(metric)
        parts = []
        if systems < len(self.human_systems):
            parts.append(f"{systems} of {len(self.human_systems)} systems")
        judged = int((~np.isnan(self.human)).sum())
        if cells < judged and self.es.scores[metric].has_segments:
            parts.append(f"{cells:,} of {judged:,} segment scores")
        return ", ".join(parts) or None


@dataclass(frozen=True, slots=True)
class Run:
    """One meta-metric on the data: values of all metrics, then tests of their differences."""

    data: Data
    meta: MetaMetric
    asked_level: str | None
    asked_group: str | None
    options: Options
    method: str
    blocks: Counts | None
    warnings: list[str]
    cache: dict[bytes, Floats] = field(default_factory=dict)
    found: dict[str, GroupValues] = field(default_factory=dict)
    tests: dict[str, Floats] = field(default_factory=dict)

    @property
    def level(self) -> str:
        """The level the meta-metric is taken at."""
        meta, asked = self.meta, self.asked_level
        if asked is not None and asked not in metametrics.LEVELS:
            raise UsageError(f"unknown level '{asked}'; {hint(asked, metametrics.LEVELS)}")
        on_systems = meta.systems is not None or meta.name == "spa"
        if asked == "seg" and meta.segments is None:
            raise UsageError(f"'{meta.name}' compares systems: it has no level seg")
        if asked == "sys" and not on_systems:
            raise UsageError(f"'{meta.name}' compares segments: it has no level sys")
        return asked or ("sys" if on_systems else "seg")

    @property
    def group_by(self) -> str | None:
        """The grouping of segments, None at level sys."""
        if self.level == "sys":
            return None
        group = self.asked_group or self.meta.group_by
        if group not in metametrics.GROUPS:
            raise UsageError(f"unknown grouping '{group}'; {hint(group, metametrics.GROUPS)}")
        return group

    def results(self) -> list[MetaResult]:
        """Values of all metrics, best first; metrics without the scores needed are noted."""
        found = []
        for name in self.data.metrics:
            value, epsilon, note = self._value(name)
            if not np.isnan(value):
                note = "; ".join(filter(None, (self.data.coverage(name), note))) or None
            result = MetaResult(
                name, self.meta.name, self.level, self.group_by, value, epsilon=epsilon, note=note,
                n_systems=self.data.n_systems(name), n_cells=self.data.n_cells(name),
            )  # fmt: skip
            found.append(result)
        places = np.nan_to_num(ranks([r.value for r in found]), nan=np.inf)
        order = sorted(range(len(found)), key=lambda i: (places[i], found[i].metric))
        return [found[i] for i in order]

    def _value(self, name: str) -> tuple[float, float | None, str | None]:
        if self.meta.name == "spa":
            return self._spa(name)
        if self.level == "sys":
            assert self.meta.systems is not None
            scores = self.data.systems(name)
            if np.isnan(scores).all():
                return float("nan"), None, "no scores"
            value = self.meta.systems(self.data.human_systems, scores, self.options)
            return value, None, _undefined(value, self.data.human_systems, scores)
        groups = self.groups(name)
        note = None
        lost = len(groups.values) - len(groups.defined)
        people = (~np.isnan(self.data.human)).any(axis=0) if self.group_by == "item" else None
        if people is not None:
            lost -= int((~people).sum())
        if lost > 0 and len(groups.values) > 1:
            note = f"undefined in {lost} of {len(groups.values)} groups"
        if not len(groups.defined):
            note = self._nothing(name)
        return groups.mean, groups.epsilon, note

    def _nothing(self, name: str) -> str:
        """Say why a statistic of segments is nowhere defined."""
        table = self.data.es.scores[name]
        if not table.has_segments:
            return "no scores" if table.system_scores is None else "no segment scores"
        known = ~np.isnan(self.data.segments(name))
        if not known.any():
            return "no segment scores where people gave some"
        if self.group_by == "item" and not (known.sum(axis=0) > 1).any():
            return "fewer than two systems"
        return "constant"

    def groups(self, name: str) -> GroupValues:
        """Values of a metric in each group, computed once: calibration is the costly part."""
        if name not in self.found:
            assert self.meta.segments is not None
            scores, group = self.data.segments(name), self.group_by or "none"
            self.found[name] = self.meta.segments(self.data.human, scores, group, self.options)
        return self.found[name]

    def group_stacks(self, names: list[str]) -> tuple[Floats, Floats]:
        """Values and weights of several metrics, each metrics x groups."""
        groups = [self.groups(name) for name in names]
        return np.stack([g.values for g in groups]), np.stack([g.weights for g in groups])

    def _metric_p(self, name: str) -> Floats:
        """p-values of a metric's segment scores; those of all metrics are computed at once."""
        if not self.tests:
            known = {name: self.data.segments(name) for name in self.data.metrics}
            known = {name: x for name, x in known.items() if not np.isnan(x).all()}
            results = stacked_pvalues([*known.values()], method=self.method, blocks=self.blocks)
            self.tests.update((name, found.p) for name, found in zip(known, results, strict=True))
            self._note_error("metrics", max((found.error for found in results), default=0.0))
        return self.tests[name]

    def human_p(self, known: NDArray[np.bool_]) -> Floats:
        """p-values of the human score on the cells that a metric has, computed once for each."""
        key = np.packbits(known).tobytes()
        if key not in self.cache:
            scores = np.where(known, self.data.human, np.nan)
            found = pairwise_pvalues(scores, method=self.method, blocks=self.blocks)
            self.cache[key] = found.p
            self._note_error("the human score", found.error)
        return self.cache[key]

    def _note_error(self, whose: str, error: float) -> None:
        """Say how good exact p-values are, where it is not to six digits."""
        start = f"{self.meta.name}: p-values of {whose} are good to "
        if (
            self.method != "exact"
            or error <= 1e-6
            or any(w.startswith(start) for w in self.warnings)
        ):
            return
        why = "scores are nearly on a lattice, or a few differences outweigh all others"
        self.warnings.append(f"{start}{error:.1g} ({why})")

    def _spa(self, name: str) -> tuple[float, None, str | None]:
        if np.isnan(self.data.human).all():
            raise UsageError("spa needs segment scores: the human score has system scores only")
        if np.isnan(self.data.segments(name)).all():
            return float("nan"), None, self._nothing(name)
        agreement = soft_agreement(*self.pair_pvalues(name))
        return agreement.value, None, None if agreement.n_pairs else "fewer than two systems"

    def pair_pvalues(self, name: str) -> tuple[Floats, Floats]:
        """p-values of all pairs of systems by the human score and by a metric, on what both have.

        ``p[i, j]`` is small where i beats j.
        """
        stats = self.data.statistics(name)
        if stats is not None and self.method in ("exact", "analytic"):
            own = corpus_pvalues(stats, blocks=self.blocks).p
            return self.human_p(stats.known), own
        return self.human_p(~np.isnan(self.data.segments(name))), self._metric_p(name)

    @property
    def by_mean(self) -> bool:
        """Whether the value is a mean over groups (the pairwise differences of pdp are pooled)."""
        return self.meta.name != "pdp"

    def of_segments(self, scores: Floats) -> float:
        """Evaluate the meta-metric on other scores, systems x segments."""
        assert self.meta.segments is not None
        group = self.group_by or "none"
        return self.meta.segments(self.data.human, scores, group, self.options).mean

    def known_statistic(self, metric: str | None = None) -> Statistic | None:
        """What is computed, at the epsilon of a metric; None for functions of one's own."""
        epsilon = None if metric is None or self.level == "sys" else self.groups(metric).epsilon
        return statistic_of(self.meta, self.options, epsilon)

    def on_systems(self, human: Floats, metric: Floats, systems: Floats | None = None) -> Floats:
        """Evaluate the meta-metric on each row of system scores; one human row serves them all.

        ``systems`` says how often each system counts, which functions of one's own can't know.
        """
        known = self.known_statistic()
        if known is not None:
            return system_replicates(known, human, metric, systems)
        assert self.meta.systems is not None
        assert systems is None
        rows = zip(*np.broadcast_arrays(human, metric), strict=True)
        return np.array([self.meta.systems(h, m, self.options) for h, m in rows])

    def statistic(self, means: Floats) -> Floats:
        """Evaluate the meta-metric on (..., systems) means."""
        flat = means.reshape(-1, means.shape[-1])
        return self.on_systems(self.data.human_systems[None, :], flat).reshape(means.shape[:-1])


def _undefined(value: float, human: Floats, metric: Floats) -> str | None:
    if not np.isnan(value):
        return None
    known = ~(np.isnan(human) | np.isnan(metric))
    if known.sum() < 2:
        return "fewer than two systems"
    return "constant" if np.ptp(metric[known]) == 0 else "the human score is constant"
