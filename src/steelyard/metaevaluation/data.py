"""The data of a meta-evaluation: metrics, systems and segments that count, and views of them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.options import check_names, check_text
from steelyard.core.text import listed, plural
from steelyard.core.warnings import TypedWarning, code_of
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.linting import uninformative
from steelyard.data.overview import score_facts, sounds_lower
from steelyard.data.selection import chosen_metrics, need_moments
from steelyard.data.units import SEGMENT, Units, units_of
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.results import MetaResult, Outliers, Without, quoted
from steelyard.stats.arrays import Counts, Floats, beyond_rounding, pairs_within, row_means
from steelyard.stats.curves import LEAST_SYSTEMS, AgreementCurve, SystemPairs, agreement_curve
from steelyard.stats.metametrics.base import (
    MetaMetric,
    Scores,
    Source,
    TieRules,
    View,
    judged_cells,
)
from steelyard.stats.paired.tests import permutation_test
from steelyard.stats.ranks import levelled, ranks, rounding, whole
from steelyard.stats.spread import robust_deviations

HINT = " (common=True compares all metrics on what all of them have)"
CUTOFF = 2.5  # robust deviations (1.483 MAD) beyond which a system is an outlier
_MOST_SYSTEMS = 60  # of a set whose agreement curve is measured in passing

Bools = NDArray[np.bool_]

_CLEARLY = 2.5  # standard errors of a correlation


@dataclass(frozen=True)
class Data:
    """What every meta-metric works on: oriented scores of the systems that count."""

    es: EvalSet
    human: Floats
    human_systems: Floats
    metrics: tuple[str, ...]

    def __post_init__(self) -> None:
        # Means that are equal on paper are ties: rounding never decides which system is ahead.
        means = levelled(self.human_systems, floor=rounding(self.human))
        object.__setattr__(self, "human_systems", means)

    @cached_property
    def scores(self) -> Scores:
        """All scores as arrays; system scores that are equal on paper are equal."""
        systems = np.full((len(self.metrics), len(self.human)), np.nan)
        sources, means = [], []
        for k, name in enumerate(self.metrics):
            table, sign = self.es.scores[name], self.sign(name)
            official, stats = table.system_scores, table.statistics
            if stats is not None:  # the corpus score of what people scored
                stats = stats.masked(judged_cells(self.human))
                systems[k] = levelled(sign * stats.corpus_scores())
            elif official is not None:
                systems[k] = levelled(sign * official)
            else:
                means.append(k)
            cells = table.oriented
            sources.append(Source(cells, official is not None, table.has_segments, stats, sign))
        scores = Scores(self.human, self.human_systems, systems, tuple(sources))
        for k in means:
            cells = scores.matrices[k]
            systems[k] = levelled(row_means(cells), floor=rounding(cells))
        return scores

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each metric in the arrays."""
        return {name: k for k, name in enumerate(self.metrics)}

    @cached_property
    def judged(self) -> Counts:
        """Positions of the segments that people scored."""
        return np.flatnonzero((~np.isnan(self.human)).any(axis=0))

    def segments(self, metric: str) -> Floats:
        """Return the scores of a metric on the cells that people scored."""
        return np.asarray(self.scores.cube[self.index[metric]])

    def systems(self, metric: str) -> Floats:
        """Return the system scores of a metric: official, else over what people scored."""
        return np.asarray(self.scores.systems[self.index[metric]])

    def sign(self, score: str) -> int:
        """Return 1 where higher is better, else -1."""
        return 1 if self.es.scores[score].higher_is_better else -1

    @cached_property
    def n_systems(self) -> list[int]:
        """How many systems people and each metric scored."""
        scored: list[int] = (~np.isnan(self.human_systems + self.scores.systems)).sum(1).tolist()
        return scored

    def n_segments(self, metric: str) -> int:
        """Count the segments with an output that people and a metric scored."""
        k = self.index[metric]
        if self.scores.complete[k]:
            return len(self.judged)
        return int((~np.isnan(self.scores.matrices[k])).any(axis=0).sum())

    def coverage(self, metric: str) -> str | None:
        """Say how much of what people judged a metric has, None if that is all."""
        k, parts = self.index[metric], []
        systems, cells = self.n_systems[k], self.scores.n_cells[k]
        if systems < len(self.human_systems):
            parts.append(f"{systems} of {len(self.human_systems)} systems")
        judged = int(self.scores.judged.sum())
        if cells < judged and self.es.scores[metric].has_segments:
            parts.append(f"{cells:,} of {judged:,} segment scores")
        return ", ".join(parts) or None

    def without(self, systems: Collection[str]) -> Data:
        """Return the data of the other systems."""
        kept = [i for i, name in enumerate(self.es.systems) if name not in systems]
        es = self.es.drop(systems=[name for name in self.es.systems if name in systems])
        return Data(es, self.human[kept], self.human_systems[kept], self.metrics)

    def units(self, unit: str) -> Units:
        """Return the units of the segments that people judged."""
        used = np.zeros(self.es.n_segments, dtype=bool)
        used[self.judged] = True
        return units_of(self.es.segments, unit, used)


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
        ties = TieRules(options.epsilon, options.threshold)
        view = View(data.scores, level, group_by, ties, options.method, blocks)
        return cls(data, meta, view)

    @property
    def label(self) -> str:
        """The meta-metric, and how it is grouped."""
        group = self.view.group_by
        return self.meta.name if group is None else f"{self.meta.name} grouped by {group}"

    def index(self, names: Sequence[str]) -> list[int]:
        """Return the positions of metrics in the arrays."""
        return [self.data.index[name] for name in names]

    def results(self) -> list[MetaResult]:
        """Return the values of all metrics, best first; a note says why there is none."""
        data, results = self.data, []
        values = self.meta.values(self.view)
        for k, (name, (value, epsilon, why)) in enumerate(zip(data.metrics, values, strict=True)):
            note = why
            if not np.isnan(value):
                note = "; ".join(filter(None, (data.coverage(name), why))) or None
            results.append(
                MetaResult(
                    metric=name,
                    by=self.meta.name,
                    level=self.view.level,
                    group_by=self.view.group_by,
                    value=value,
                    epsilon=epsilon,
                    note=note,
                    n_systems=data.n_systems[k],
                    n_segments=data.n_segments(name),
                    n_cells=data.scores.n_cells[k],
                )
            )
        order = np.nan_to_num(ranks([result.value for result in results]), nan=np.inf)
        pairs = sorted(zip(order, results, strict=True), key=lambda pair: (pair[0], pair[1].metric))
        return [result for _, result in pairs]

    def without(self, results: Sequence[MetaResult], systems: Collection[str]) -> list[MetaResult]:
        """Give results the value and rank that they have without some systems."""
        kept = [i for i, name in enumerate(self.data.es.systems) if name not in systems]
        part = self.view.of_systems(np.array(kept, dtype=np.int64))
        index = self.index([result.metric for result in results])
        every = self.meta.values(part)
        values = [every[k].value for k in index]
        n_systems = (~np.isnan(part.scores.human_systems + part.scores.systems)).sum(axis=1)
        rest = map(Without, values, whole(ranks(values)), n_systems[index].tolist())
        return [replace(r, without_outliers=w) for r, w in zip(results, rest, strict=True)]


def the_human(es: EvalSet, human: str | None) -> str:
    """Return the human score: the one named, or the only one there is."""
    if human is None:
        if len(es.human) != 1:
            scores = listed(es.human or tuple(es.scores), 20)
            raise UsageError(f"name the human score (human=NAME); the scores are: {scores}")
        return es.human[0]
    check_text(human=human)
    es[human]  # an unknown name is an error that shows the known ones
    return human


def the_metrics(es: EvalSet, human: str, metrics: Collection[str] | None) -> tuple[str, ...]:
    """Return the metrics: those named or matched, or all that are not human."""
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
        raise UsageError(f"no metric to evaluate: {why}")
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
    """Choose metrics and systems; return the data, and warnings of what was excluded and why."""
    names = the_metrics(es, human, metrics)
    gold = es[human]
    means = row_means(gold.values) if gold.has_segments else gold.system_means()
    unscored = [s for s, mean in zip(es.systems, means, strict=True) if np.isnan(mean)]
    used = {ref for name in names for ref in es.scores[name].uses}
    references = [s for s in es.systems if s in used and s not in unscored and not keep_references]
    kept = es.drop(systems=[*unscored, *references]) if unscored or references else es
    if not kept.n_systems:
        raise UsageError(f"no system has a '{human}' score")
    common_warnings: list[str] = []
    if common:
        kept, common_warnings = _common_part(kept, human, names)
    gold = kept[human]
    if gold.system_scores is not None:
        means = gold.system_scores
    elif kept is not es or not gold.has_segments:
        means = row_means(gold.values)
    data = Data(kept, gold.oriented, means * (1 if gold.higher_is_better else -1), names)
    # Which systems a file lacks is said of those that are excluded, and of metrics that lack some.
    warnings = [note for note in es.notes if code_of(note) != "missing-systems"]
    excluded = [f"{listed(unscored, rest='system')} (no {human})"] if unscored else []
    if references:
        excluded.append(f"{', '.join(references)} (reference: keep_references=True)")
    if excluded:
        warnings.append(TypedWarning(f"excluded {', '.join(excluded)}", "excluded"))
    if not gold.has_segments and any(kept[name].has_segments for name in names):
        warnings.append(f"'{human}' has no segment scores: metrics are averaged over all segments")
    return data, [*warnings, *common_warnings, *_lacking(data), *_suspicious(data, human)]


def _suspicious(data: Data, human: str) -> list[str]:
    """Warn of metrics that are constant, identical or upside down, and of people who tie all."""
    warnings: list[str] = []
    scores = data.scores
    people = scores.human[:, scores.columns]
    centred = people - people.mean() if people.size else people
    spread = float(np.square(centred).sum())
    for name, constant, twin in uninformative(zip(data.metrics, scores.matrices, strict=True)):
        if constant is not None:
            text = f"'{name}' is constant: it can't separate systems"
            warnings.append(TypedWarning(text, "constant"))
        if twin is not None:
            warnings.append(TypedWarning(f"'{name}' and '{twin}' are identical", "identical"))
        k = data.index[name]
        # A metric that goes with people, on all that they judged, is not upside down. One whose
        # name says that lower is better must clearly do so.
        least = _CLEARLY if sounds_lower(name) else -_CLEARLY
        if not (scores.complete[k] and _goes_with(scores.matrices[k], centred, spread, least)):
            warnings += score_facts(name, data.es[name], data.es[human]).doubts(human)
    means = data.human_systems[~np.isnan(data.human_systems)]
    if len(means) > 1 and means.min() == means.max():
        warnings.append(f"'{human}' ties all systems: agreement with it says nothing about them")
    return warnings


def _goes_with(metric: Floats, people: Floats, spread: float, least: float) -> bool:
    shared = float(np.vdot(metric, people))
    if shared >= 0 > least:
        return people.size > 0
    size = float(np.square(metric - metric.mean()).sum())
    return shared * math.sqrt(people.size) > least * math.sqrt(size * spread)


def _has(es: EvalSet, metric: str, judged: Bools) -> tuple[Bools, Bools | None]:
    """Return the systems that a metric scored, and its judged cells (None without segments)."""
    table = es.scores[metric]
    cells = judged & ~np.isnan(table.values)
    systems: Bools = np.asarray(cells.any(axis=1))
    if table.system_scores is not None:
        systems = systems | ~np.isnan(table.system_scores)
    return systems, cells if table.has_segments else None


def _lacking(data: Data) -> list[str]:
    """Warn of metrics that lack systems or segments that people judged: they use what they have."""
    es, judged = data.es, data.scores.judged
    systems: dict[tuple[str, ...], list[str]] = {}
    cells: dict[bytes, tuple[Bools, list[str]]] = {}
    for name, complete in zip(data.metrics, data.scores.complete, strict=True):
        if complete:
            continue
        scored, present = _has(es, name, judged)
        if not scored.any():
            continue  # no value; its note says why
        lost = tuple(s for s, there in zip(es.systems, scored, strict=True) if not there)
        if lost:
            systems.setdefault(lost, []).append(name)
        gaps = np.zeros_like(judged) if present is None else judged & ~present & scored[:, None]
        if gaps.any():
            cells.setdefault(np.packbits(gaps).tobytes(), (gaps, []))[1].append(name)
    warnings: list[str] = []
    for lost, names in systems.items():
        lack = "lacks" if len(names) == 1 else "lack"
        shown = f"{len(lost)} of {es.n_systems} systems ({listed(lost, rest='other')})"
        warnings.append(TypedWarning(f"{quoted(names)} {lack} {shown}{HINT}", "lacking"))
    for gaps, names in cells.values():
        lack = "lacks" if len(names) == 1 else "lack"
        columns = gaps.any(axis=0)
        where = plural(int(columns.sum()), "segment")
        if (columns & (judged & ~gaps).any(axis=0)).any():
            where += ", not the same for all systems"
        share = f"{int(gaps.sum()):,} of {int(judged.sum()):,} scores ({where})"
        warnings.append(TypedWarning(f"{quoted(names)} {lack} {share}{HINT}", "lacking"))
    return warnings


def _common_part(es: EvalSet, human: str, metrics: Sequence[str]) -> tuple[EvalSet, list[str]]:
    """Keep the systems that every metric scored, and the segments that none of them lacks.

    A segment is lacking where people judged a system and a metric did not score it. Metrics with
    system scores only decide on systems alone. Where segments go, official system scores go with
    them: they hold for all segments.
    """
    judged = judged_cells(es[human].values)
    kept = np.ones(es.n_systems, dtype=bool)
    for name in metrics:
        kept &= _has(es, name, judged)[0]
    warnings = []
    if not kept.any():
        raise UsageError(f"no system has scores of all metrics: {_counts(es, judged, metrics)}")
    if not kept.all():
        lost = [s for s, there in zip(es.systems, kept, strict=True) if not there]
        warnings.append(f"common: excluded {listed(lost, rest='other')}, which a metric lacks")
        es, judged = es.drop(systems=lost), judged[kept]
    complete = np.ones(es.n_segments, dtype=bool)
    for name in metrics:
        present = _has(es, name, judged)[1]
        if present is not None:
            complete &= ~(judged & ~present).any(axis=0)
    if complete.all():
        return es, warnings
    if not (complete & judged.any(axis=0)).any():
        raise UsageError(f"no segment has scores of all metrics: {_counts(es, judged, metrics)}")
    size = plural(es.n_segments, "segment")
    warnings.append(f"common: excluded {int((~complete).sum()):,} of {size}, which a metric lacks")
    official = [n for n in (human, *metrics) if es.scores[n].system_scores is not None]
    if official:
        what = "hold for all segments; means of the remaining ones replace them"
        warnings.append(f"common: official system scores of {quoted(official)} {what}")
    ids = [i for i, there in zip(es.segments.ids, complete, strict=True) if there]
    return es.select(segments=ids), warnings


def _counts(es: EvalSet, judged: Bools, metrics: Sequence[str]) -> str:
    present = {name: _has(es, name, judged)[1] for name in metrics}
    sizes = {name: 0 if cells is None else int(cells.sum()) for name, cells in present.items()}
    worst = sorted(metrics, key=lambda name: (sizes[name], name))[:5]
    return ", ".join(f"'{name}' has {sizes[name]:,} of {int(judged.sum()):,}" for name in worst)


def find_outliers(human: str, systems: Sequence[str], scores: Floats, handling: str) -> Outliers:
    """Find the systems whose human score is far from all others.

    Examples
    --------
    >>> scores = np.array([70.0, 72.0, 71.0, 69.0, 73.0, 20.0])
    >>> find_outliers("da", "ABCDEF", scores, handling="both").systems
    ('F',)
    """
    spread = robust_deviations(scores, CUTOFF)
    pairs = zip(systems, spread.deviations.tolist(), spread.flags, strict=True)
    far = sorted((-abs(deviation), name, deviation) for name, deviation, flag in pairs if flag)
    deviations = {name: deviation for _, name, deviation in far}
    return Outliers(human=human, n_systems=len(systems), cutoff=CUTOFF, handling=handling,
                    median=spread.median, scale=spread.scale, deviations=deviations,
                    undefined=spread.undefined)  # fmt: skip


# Sentinels: scores that know nothing of the quality of an output.

PREFIX = "sentinel-"
#: Names by which sentinels among the metrics of a set are known; what they use may follow.
_SENTINEL = re.compile(
    r"(sentinel|random)([-_. ].*)?|(length|copy)(-src|-ref[^-]*)?", re.IGNORECASE
)


def is_sentinel(name: str) -> bool:
    """Tell by its name whether a metric is a sentinel."""
    return _SENTINEL.fullmatch(name) is not None


def sentinel_tables(es: EvalSet, human: str, rng: np.random.Generator) -> dict[str, ScoreTable]:
    """Make the sentinels of a set; a metric that agrees with people no better has shown nothing.

    ``random`` is a number for each output, ``name`` one that depends on the system's name alone,
    ``segment`` the mean human score of a segment, ``length`` and ``brevity`` the characters of the
    output, ``source`` those of the source.
    """
    shape = es.n_systems, es.n_segments
    tables: dict[str, Floats] = {}
    numbers, salts = rng.spawn(2)
    tables["random"] = numbers.random(shape)
    salt = int(salts.integers(2**32))
    digests = [hashlib.sha256(f"{salt}:{name}".encode()).digest() for name in es.systems]
    hashes = np.array([[int.from_bytes(digest[:6], "big") / 2**48] for digest in digests])
    tables["name"] = np.broadcast_to(hashes, shape)
    tables["segment"] = np.broadcast_to(row_means(es[human].oriented.T), shape)
    if es.outputs:
        lengths = np.array(
            [_lengths(es.outputs.get(name, (None,) * es.n_segments)) for name in es.systems]
        )
        tables["length"], tables["brevity"] = lengths, -lengths
    if es.segments.sources is not None:
        tables["source"] = np.broadcast_to(-_lengths(es.segments.sources), shape)
    return {PREFIX + name: ScoreTable(np.array(values)) for name, values in tables.items()}


def _lengths(texts: Sequence[str | None]) -> Floats:
    return np.array([np.nan if text is None else float(len(text)) for text in texts])


# Pairs of systems: how often people agree with a difference of a metric.


def system_pairs(
    es: EvalSet,
    human: str,
    metrics: Sequence[str],
    *,
    groups: Mapping[str, str] | None = None,
    unit: str = SEGMENT,
) -> SystemPairs:
    """List the pairs of systems of a set, or of each group of its systems that was judged together.

    Systems are compared by their official scores, else by what was judged of them. Human p-values
    are two-sided permutation tests by ``unit``. A metric's reference has no difference by it.
    """
    gold = es[human]
    means = gold.system_means() * (1 if gold.higher_is_better else -1)
    group = ["" if groups is None else groups.get(name, "") for name in es.systems]
    code = np.unique(group, return_inverse=True)[1]
    first, second = pairs_within(code)
    scored = ~np.isnan(means[first] - means[second])
    first, second = first[scored], second[scored]
    sets = code[first]
    p = np.full(len(first), np.nan)
    if gold.has_segments:
        for k in np.unique(sets):
            p[sets == k] = _pvalues(es, human, first[sets == k], second[sets == k], unit)

    def differences(scores: Floats) -> Floats:
        a, b = scores[first], scores[second]
        return beyond_rounding(a - b, np.maximum(np.abs(a), np.abs(b)))

    by_metric = {name: differences(judged_scores(es, human, name)) for name in metrics}
    return SystemPairs(sets, first, second, differences(means), p, by_metric)


def _pvalues(es: EvalSet, human: str, first: Counts, second: Counts, unit: str) -> Floats:
    rows, index = np.unique(np.r_[first, second], return_inverse=True)
    values = es[human].oriented[rows]
    used = np.asarray((~np.isnan(values)).any(axis=0))
    units = units_of(es.segments, unit, used).take(used)
    p = permutation_test(values[:, used], units).p
    return np.asarray(p[index[: len(first)], index[len(first) :]])


def judged_scores(es: EvalSet, human: str, metric: str) -> Floats:
    """Return a metric's system scores: official, else of what was judged; higher is better."""
    table, judged = es[metric], ~np.isnan(es[human].values)
    if table.system_scores is not None or not es[human].has_segments:
        scores = table.system_means()
    elif table.statistics is not None:
        scores = table.statistics.masked(judged).corpus_scores()
    else:
        scores = row_means(np.where(judged, table.values, np.nan))
    scores = np.where([name in table.uses for name in es.systems], np.nan, scores)
    return scores * (1 if table.higher_is_better else -1)


def curve_of_set(
    es: EvalSet, human: str, metric: str, rng: np.random.Generator, *, unit: str = SEGMENT
) -> AgreementCurve | None:
    """Measure a curve on a set; None if it has too few systems, or so many that it is slow."""
    if not LEAST_SYSTEMS <= es.n_systems <= _MOST_SYSTEMS:
        return None
    pairs = system_pairs(es, human, [metric], unit=unit)
    return agreement_curve(pairs, metric, rng) if pairs.why_too_few(metric) is None else None
