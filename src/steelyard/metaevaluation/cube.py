"""The data of a meta-evaluation: who takes part, one cube of scores, and who lacks what."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.options import check_names, check_text
from steelyard.core.text import listed, plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.data.linting import uninformative
from steelyard.data.overview import direction_warnings, score_facts
from steelyard.data.selection import chosen_metrics, need_moments
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.results import MetaResult
from steelyard.metaevaluation.words import LISTED, quoted
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.metametrics.base import (
    MetaMetric,
    Scores,
    Source,
    TieRules,
    View,
    judged_cells,
)
from steelyard.stats.ranks import levelled, ranks, rounding

HINT = " (common=True weighs all metrics on what all of them have)"
_CELLS = 1 << 20  # scores that are looked at together

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Data:
    """What every meta-metric works on: oriented scores of the systems that take part."""

    es: EvalSet
    human: Floats
    human_systems: Floats
    metrics: tuple[str, ...]
    raters: Counts | None = None  # who gave each score, where raters are the unit
    crossed: bool = False  # whether segments, or what they are of, are a unit beside them

    def __post_init__(self) -> None:
        # Means that are equal on paper are ties: rounding never decides which system is ahead.
        means = levelled(self.human_systems, floor=rounding(self.human))
        object.__setattr__(self, "human_systems", means)

    @cached_property
    def scores(self) -> Scores:
        """All scores as arrays, made once; system scores that are equal on paper are equal."""
        systems = np.full((len(self.metrics), len(self.human)), np.nan)
        sources, means = [], []
        for k, name in enumerate(self.metrics):
            table, sign = self.es.scores[name], self.sign(name)
            cells, official, stats = table.oriented, table.system_scores, table.statistics
            if stats is not None:  # the score of what people scored
                stats = stats.masked(judged_cells(self.human))
                systems[k] = levelled(sign * stats.corpus_scores())
            elif official is not None:
                systems[k] = levelled(sign * official)
            else:
                means.append(k)
            sources.append(Source(cells, official is not None, table.has_segments, stats, sign))
        found = Scores(self.human, self.human_systems, systems, tuple(sources))
        for k in means:
            cells = found.matrices[k]
            systems[k] = levelled(row_means(cells), floor=rounding(cells))
        return found

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each metric in the cube."""
        return {name: k for k, name in enumerate(self.metrics)}

    @cached_property
    def known(self) -> Bools:
        """Tell which outputs people scored."""
        there: Bools = ~np.isnan(self.human)
        return there

    @cached_property
    def judged(self) -> Counts:
        """Places of the segments that people scored."""
        return np.flatnonzero(self.known.any(axis=0))

    def segments(self, metric: str) -> Floats:
        """Scores of a metric on the cells that people scored."""
        found: Floats = self.scores.cube[self.places[metric]]
        return found

    def systems(self, metric: str) -> Floats:
        """System scores of a metric: official, else over what people scored.

        Where the statistics of a corpus metric are known, its score is that of what people scored.
        """
        found: Floats = self.scores.systems[self.places[metric]]
        return found

    def sign(self, score: str) -> int:
        """1 where higher is better, else -1."""
        return 1 if self.es.scores[score].higher_is_better else -1

    def n_systems(self, metric: str) -> int:
        """How many systems have a score of people and of a metric."""
        return int(self._n_systems[self.places[metric]])

    @cached_property
    def _n_systems(self) -> Counts:
        known: Counts = (~np.isnan(self.human_systems + self.scores.systems)).sum(axis=1)
        return known

    def n_segments(self, metric: str) -> int:
        """How many segments have an output that people and a metric scored."""
        k = self.places[metric]
        if self.scores.complete[k]:
            return len(self.judged)
        return int((~np.isnan(self.scores.matrices[k])).any(axis=0).sum())

    def n_cells(self, metric: str) -> int:
        """How many outputs have a segment score of people and of a metric."""
        return self.scores.n_cells[self.places[metric]]

    def coverage(self, metric: str) -> str | None:
        """Say how much of what people judged a metric has, None if that is all."""
        systems, cells = self.n_systems(metric), self.n_cells(metric)
        parts = []
        if systems < len(self.human_systems):
            parts.append(f"{systems} of {len(self.human_systems)} systems")
        judged = int(self.scores.judged.sum())
        if cells < judged and self.es.scores[metric].has_segments:
            parts.append(f"{cells:,} of {judged:,} segment scores")
        return ", ".join(parts) or None


@dataclass(frozen=True)
class Run:
    """One meta-metric on the data: values of all metrics, then tests of their differences."""

    data: Data
    meta: MetaMetric
    view: View

    @classmethod
    def of(
        cls, data: Data, meta: MetaMetric, options: MetaOptions, blocks: Counts | None = None
    ) -> Run:
        """Look at the data as the options say."""
        level = meta.level(options.level)
        group_by = meta.grouping(level, options.group_by)
        ties = TieRules(options.epsilon, options.threshold, options.pa_ties)
        people = (data.raters, data.crossed)
        view = View(data.scores, level, group_by, ties, options.method, blocks, *people)
        return cls(data, meta, view)

    @property
    def label(self) -> str:
        """The meta-metric, and how it is grouped."""
        group = self.view.group_by
        return self.meta.name if group is None else f"{self.meta.name} grouped by {group}"

    def places(self, names: Sequence[str]) -> list[int]:
        """Give the places of metrics in the cube."""
        return [self.data.places[name] for name in names]

    def results(self) -> list[MetaResult]:
        """Values of all metrics, best first; metrics without the scores needed are noted."""
        found = []
        for name, (value, epsilon, note) in zip(
            self.data.metrics, self.meta.values(self.view), strict=True
        ):
            told = note
            if not np.isnan(value):
                told = "; ".join(filter(None, (self.data.coverage(name), note))) or None
            found.append(
                MetaResult(
                    metric=name,
                    by=self.meta.name,
                    level=self.view.level,
                    group_by=self.view.group_by,
                    value=value,
                    epsilon=epsilon,
                    note=told,
                    n_systems=self.data.n_systems(name),
                    n_segments=self.data.n_segments(name),
                    n_cells=self.data.n_cells(name),
                )
            )
        if len(found) == 1:
            return found
        places = np.nan_to_num(ranks([r.value for r in found]), nan=np.inf)
        order = sorted(range(len(found)), key=lambda i: (places[i], found[i].metric))
        return [found[i] for i in order]


def the_human(es: EvalSet, human: str | None) -> str:
    """Give the human score: the one named, or the only one there is."""
    if human is None:
        if len(es.human) != 1:
            known = ", ".join(es.human) or "none"
            raise UsageError(f"name the human score (human=NAME); known as human: {known}")
        return es.human[0]
    check_text(human=human)
    es[human]  # an unknown name is an error that shows the known ones
    return human


def the_metrics(es: EvalSet, human: str, metrics: Collection[str] | None) -> tuple[str, ...]:
    """Give the metrics that are weighed: those named or matched, or all that are not human."""
    check_names(optional=True, metrics=metrics)
    if metrics is None:
        names = tuple(name for name in es.metrics if name != human)
    else:
        names = tuple(chosen_metrics(es, metrics, human=human))
    if not names:
        why = "every score is human"
        if metrics is not None:
            asked = f"names '{human}' alone, which is the human score" if metrics else "is empty"
            why = f"`metrics` {asked}"
        raise UsageError(f"no metric to weigh: {why}")
    need_moments(es, (human, *names))
    return names


def prepare(
    es: EvalSet,
    human: str,
    metrics: Collection[str] | None,
    *,
    keep_references: bool,
    common: bool = False,
) -> tuple[Data, list[str]]:
    """Choose metrics and systems, and note what was left out and why."""
    names = the_metrics(es, human, metrics)
    warnings = list(es.notes)
    gold = es[human]
    means = row_means(gold.values) if gold.has_segments else gold.system_means()
    empty = np.isnan(means).tolist()
    unscored = [s for s, lost in zip(es.systems, empty, strict=True) if lost]
    if unscored:
        text = f"{plural(len(unscored), 'system')} without a '{human}' score left out: "
        warnings.append(TypedWarning(text + ", ".join(unscored), names=unscored))
    used = {ref for name in names for ref in es.scores[name].uses}
    references = [s for s in es.systems if s in used and s not in unscored]
    if references and not keep_references:
        text = f"left out as the reference of a metric: {', '.join(references)}"
        warnings.append(TypedWarning(f"{text} (keep_references=True)", names=references))
        unscored += references
    kept = es.drop(systems=unscored) if unscored else es
    if not kept.n_systems:
        raise UsageError(f"no system has a '{human}' score")
    if common:
        kept, left_out = _common_part(kept, human, names)
        warnings += left_out
    gold = kept[human]
    if gold.system_scores is not None:
        means = gold.system_scores
    elif kept is not es or not gold.has_segments:
        means = row_means(gold.values)
    data = Data(kept, gold.oriented, means * (1 if gold.higher_is_better else -1), names)
    blank = kept.n_segments - len(data.judged) if gold.has_segments else 0
    if not gold.has_segments and any(kept[name].has_segments for name in names):
        whole = "those of metrics are of all their segments"
        warnings.append(f"'{human}' has scores of systems only: {whole}")
    if blank:
        text = f"{plural(blank, 'segment')} without a '{human}' score take no part"
        warnings.append(TypedWarning(text, "unscored-segments"))
    return data, [*warnings, *_lacking(data), *_look(data, human)]


def _look(data: Data, human: str) -> list[str]:
    """Warn of metrics that are constant, identical, or upside down."""
    found: list[str] = []
    scores = data.scores
    people = _Centred.of(scores.human[:, scores.columns])
    for name, constant, twin in uninformative(zip(data.metrics, scores.matrices, strict=True)):
        if constant is not None:
            text = f"'{name}' is constant: it can't tell systems apart"
            found.append(TypedWarning(text, "constant"))
        if twin is not None:
            found.append(TypedWarning(f"'{name}' and '{twin}' are identical", "identical"))
        # What goes with people, on all that they judged, does not go against them.
        k = data.places[name]
        with_people = scores.complete[k] and people.go_with(scores.matrices[k])
        table = data.es[name]
        found += (
            direction_warnings(name, table)
            if with_people
            else score_facts(name, table, data.es[human]).doubts(human)
        )
    means = data.human_systems[~np.isnan(data.human_systems)]
    if len(means) > 1 and means.min() == means.max():
        found.append(f"'{human}' ties all systems: agreement with it says nothing of systems")
    return found


@dataclass(frozen=True, slots=True)
class _Centred:
    """People's scores of cells, looked at in parts: many of them are never copied."""

    scores: Floats
    middle: float
    few: Floats | None  # scores less their mean, where they are one part

    @classmethod
    def of(cls, scores: Floats) -> _Centred:
        middle = float(scores.mean()) if scores.size else 0.0
        return cls(scores, middle, scores - middle if scores.size <= _CELLS else None)

    def _parts(self) -> Iterator[tuple[slice, Floats]]:
        if self.few is not None:
            yield slice(None), self.few
            return
        rows = max(1, _CELLS // self.scores.shape[1])
        for start in range(0, len(self.scores), rows):
            own = slice(start, start + rows)
            yield own, self.scores[own] - self.middle

    def go_with(self, metric: Floats) -> bool:
        """Tell whether a metric surely does not go against people, from cells that both have.

        What this leaves open is looked at again, with care.
        """
        if not self.scores.size:
            return False
        shared = sum(float(np.vdot(metric[own], part)) for own, part in self._parts())
        if not shared < 0:
            return shared >= 0
        centre = metric.mean()
        size = sum(float(np.square(metric[own] - centre).sum()) for own, _ in self._parts())
        spread = sum(float(np.square(part).sum()) for _, part in self._parts())
        return shared * math.sqrt(self.scores.size) > -2.5 * math.sqrt(size * spread)


def _has(es: EvalSet, metric: str, judged: Bools) -> tuple[Bools, Bools | None]:
    """Systems that a metric scored, and the judged cells that it has (None without segments)."""
    table = es.scores[metric]
    cells = judged & ~np.isnan(table.values)
    systems: Bools = np.asarray(cells.any(axis=1))
    if table.system_scores is not None:
        systems = systems | ~np.isnan(table.system_scores)
    return systems, cells if table.has_segments else None


def _lacking(data: Data) -> list[str]:
    """Warn of metrics that lack systems, or scores of single segments, that people judged.

    What they have is weighed. Values then rest on other pairs of systems than those of other
    metrics, and means of systems on other segments than people's.
    """
    if all(data.scores.complete):
        return []
    es, judged = data.es, data.scores.judged
    systems: dict[tuple[str, ...], list[str]] = {}
    cells: dict[bytes, tuple[Bools, list[str]]] = {}
    for name, whole in zip(data.metrics, data.scores.complete, strict=True):
        if whole:
            continue
        scored, known = _has(es, name, judged)
        if not scored.any():
            continue  # no value; its note says why
        lost = tuple(s for s, there in zip(es.systems, scored, strict=True) if not there)
        if lost:
            systems.setdefault(lost, []).append(name)
        if known is None:
            continue
        gaps = judged & ~known & scored[:, None]
        if gaps.any():
            cells.setdefault(np.packbits(gaps).tobytes(), (gaps, []))[1].append(name)
    found = []
    for lost, names in systems.items():
        has = "has" if len(names) == 1 else "have"
        shown = listed(lost, LISTED, rest="other")
        found.append(
            f"{quoted(names)} {has} no score for {len(lost)} of {es.n_systems} systems "
            f"({shown}): weighed on the pairs of the others{HINT}"
        )
    for gaps, names in cells.values():
        found.append(_gap_warning(es, judged, gaps, names))
    return found


def _gap_warning(es: EvalSet, judged: Bools, gaps: Bools, names: list[str]) -> str:
    of = gaps.sum(axis=1)
    lack = "lacks" if len(names) == 1 else "lack"
    columns = gaps.any(axis=0)
    where = [plural(int(columns.sum()), "segment")]
    why = ""
    if (columns & (judged & ~gaps).any(axis=0)).any():  # not the same segments of all systems
        where = [f"{s}: {n:,}" for s, n in zip(es.systems, of.tolist(), strict=True) if n]
        why = ": means of systems are over different segments"
    shown = listed(where, LISTED, rest="other")
    return (
        f"{quoted(names)} {lack} {int(of.sum()):,} of {int(judged.sum()):,} scores that people "
        f"gave ({shown}){why}{HINT}"
    )


def _common_part(es: EvalSet, human: str, metrics: Sequence[str]) -> tuple[EvalSet, list[str]]:
    """Keep the systems that every metric scored, and the segments that none of them lacks.

    A segment is lacking where people judged a system and a metric did not score it. Metrics with
    system scores only have a say on systems alone. Where segments go, official system scores go
    with them: they hold for all segments.
    """
    judged = judged_cells(es[human].values)
    kept = np.ones(es.n_systems, dtype=bool)
    for name in metrics:
        kept &= _has(es, name, judged)[0]
    notes = []
    if not kept.any():
        raise UsageError(f"no system has scores of all metrics: {_counts(es, judged, metrics)}")
    if not kept.all():
        lost = [s for s, there in zip(es.systems, kept, strict=True) if not there]
        shown = listed(lost, LISTED, rest="other")
        notes.append(f"common: {plural(len(lost), 'system')} that a metric lacks left out: {shown}")
        es = es.drop(systems=lost)
        judged = judged[kept]
    whole = np.ones(es.n_segments, dtype=bool)
    for name in metrics:
        known = _has(es, name, judged)[1]
        if known is not None:
            whole &= ~(judged & ~known).any(axis=0)
    if whole.all():
        return es, notes
    if not (whole & judged.any(axis=0)).any():
        raise UsageError(f"no segment has scores of all metrics: {_counts(es, judged, metrics)}")
    size = plural(es.n_segments, "segment")
    notes.append(f"common: {int((~whole).sum()):,} of {size} that a metric lacks left out")
    official = [n for n in (human, *metrics) if es.scores[n].system_scores is not None]
    if official:
        what = "so means of those that are left take their place"
        notes.append(
            f"common: official system scores of {quoted(official)} are of all segments, {what}"
        )
    ids = [i for i, there in zip(es.segments.ids, whole, strict=True) if there]
    return es.select(segments=ids), notes


def _counts(es: EvalSet, judged: Bools, metrics: Sequence[str]) -> str:
    """Name the metrics that have least."""
    known = {name: _has(es, name, judged)[1] for name in metrics}
    sizes = {name: 0 if own is None else int(own.sum()) for name, own in known.items()}
    worst = sorted(metrics, key=lambda name: (sizes[name], name))[:LISTED]
    return ", ".join(f"'{name}' has {sizes[name]:,} of {int(judged.sum()):,}" for name in worst)
