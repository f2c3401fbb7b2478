"""Run a benchmark on the sets that are at hand: a column per task, averages, and their test."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.display import (
    RankingRow,
    Record,
    Result,
    Statement,
    Summary,
    keys,
    named,
    one_line,
    ranked,
    ranking,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import check_instance, check_text
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Table
from steelyard.core.table import Column as TableColumn
from steelyard.core.text import all_of, listed, plural
from steelyard.core.warnings import TypedWarning, reworded
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.data.selection import matching
from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs, SetSpec, Task
from steelyard.metaevaluation.data import HINT, Data, Run, find_outliers, prepare
from steelyard.metaevaluation.options import MetaOptions, MetricTest
from steelyard.metaevaluation.results import Significance, lead, quoted
from steelyard.metaevaluation.tests import (
    KEEPS,
    VALID,
    caveat,
    draw_null,
    significance_of,
    swappable,
)
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.metametrics.swap_tests import Null
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks, whole

_DRAWS = 1000
_COLUMNS = 12  # tasks that a table has room for


@dataclass(frozen=True, slots=True)
class SetSummary(Record):
    """A set of the benchmark: its name, gold score, systems, and segments that people scored."""

    json_keys = keys("name human n_systems n_segments systems")
    name: str
    human: str
    systems: tuple[str, ...]
    n_segments: int

    @property
    def n_systems(self) -> int:
        """How many systems count."""
        return len(self.systems)


@dataclass(frozen=True, slots=True)
class Column(Record):
    """One task: a meta-metric on one set (or pooled over all), with the values of all metrics."""

    json_keys = keys(
        "set=test with=by level group_by domain human_systems=humans weight values ranks"
    )
    test: str
    by: str
    level: str
    group_by: str | None
    domain: str | None
    humans: bool
    weight: float
    values: Mapping[str, float]
    lowest: float
    names: tuple[str, ...] = ()
    null: Null | None = field(default=None, repr=False)
    ranks: Mapping[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """A short name, for a table."""
        return f"{self.test} {self.short_label}"

    @property
    def short_label(self) -> str:
        """The same without the set."""
        grouped = f"/{self.group_by}" if self.group_by not in (None, "item") else ""
        parts = [self.domain, f"{self.by}{grouped}", self.level, "+human" if self.humans else None]
        return " ".join(part for part in parts if part)

    def scaled(self, metric: str) -> float:
        """Return a value between 0 and 1."""
        return (self.values.get(metric, math.nan) - self.lowest) / (1 - self.lowest)


@dataclass(frozen=True, slots=True)
class Standing(Record):
    """One metric on the leaderboard; ``rank`` is its cluster where the average was tested."""

    metric: str
    average: float
    average_rank: float
    rank: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class BenchmarkResult(Result):
    """A leaderboard over several sets, and what it rests on."""

    json_keys = keys(
        "benchmark title order partial sets absent ranking tasks=columns results=standings "
        "significance=tested provenance warnings"
    )
    benchmark: str
    title: str
    order: str
    sets: tuple[SetSummary, ...]
    absent: tuple[str, ...]
    columns: tuple[Column, ...]
    standings: tuple[Standing, ...]
    significance: Significance | None = None
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @property
    def partial(self) -> bool:
        """Whether sets of the protocol are missing."""
        return bool(self.absent)

    @property
    def tested(self) -> dict[str, Significance]:
        """The test of the average, if there is one."""
        return {} if self.significance is None else {"average": self.significance}

    @property
    def ranking(self) -> list[dict[str, Any]]:
        """The rank of each metric, in the order of the leaderboard."""
        by_rank = self.order == "rank"
        values = [one.average_rank if by_rank else one.average for one in self.standings]
        order = zip(self.standings, ranked(values, higher_is_better=not by_rank), strict=True)
        rows = (RankingRow(s.metric, rank, s.average, tier=s.rank) for s, rank in order)
        return ranking("metric", rows)

    def words(self) -> Summary:
        """Return which metric is first over all tasks, what is open, what the average rests on."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        defined = [s for s in self.standings if not math.isnan(s.average)]
        if not defined:
            yield "undecided", f"No metric has an average over the tasks of {self.benchmark}."
            return
        first, others = defined[0], defined[1:]
        value = f"average {first.average:.3f}"
        if len(self.standings) == 1:
            yield "settled", f"{first.metric} has an {value} over the tasks of {self.benchmark}."
        else:
            key = "average_rank" if self.order == "rank" else "average"
            metrics = [s.metric for s in others if getattr(s, key) == getattr(first, key)]
            n, best = plural(len(self.standings), "metric"), all_of([first.metric, *metrics])
            verb = "share first place" if metrics else "ranks first"
            text = f"{best} {verb} of {n} on {self.benchmark} ({value})"
            names = [s.metric for s in others if s.metric not in metrics]
            test = self.significance if first.rank is not None else None
            tested = test is not None and names and names[0] in test.metrics
            p = test.between(first.metric, names[0]) if test is not None and tested else None
            close = [s.metric for s in others if s.rank is not None and s.rank == first.rank]
            yield from lead(text, [] if metrics else names, p, close)
        tasks = plural(sum(column.weight > 0 for column in self.columns), "task")
        where = f"{tasks} on {all_of([s.name for s in self.sets])}, each scaled to 0..1"
        lost = f"; {all_of(self.absent)} not available" if self.absent else ""
        yield "sureness", f"The average is over {where}{lost}."

    def __repr__(self) -> str:
        sets = f"{len(self.sets)} of {plural(len(self.sets) + len(self.absent), 'set')}"
        order = named([standing.metric for standing in self.standings])
        return one_line(self, f"of {self.benchmark}, {sets}: {order}")

    def table(self, *, tasks: bool = True) -> Table:
        """Return the leaderboard, with a column per task where these are few."""
        tested = any(s.rank is not None for s in self.standings)
        shown = self.columns if tasks and len(self.columns) <= _COLUMNS else ()
        heads = [TableColumn("metric")]
        heads += [TableColumn("rank", importance=8)] if tested else []
        heads.append(TableColumn("average", "higher", digits=3, importance=9))
        heads.append(TableColumn("average rank", "lower", digits=2, importance=7))
        alone = len(self.sets) + len(self.absent) == 1
        labels = [column.short_label if alone else column.label for column in shown]
        heads += [TableColumn(label, "higher", digits=3) for label in labels]
        rows: list[tuple[Cell, ...]] = []
        for s in self.standings:
            rank = [s.rank] if tested else []
            values = [column.values.get(s.metric) for column in shown]
            rows.append((s.metric, *rank, s.average, s.average_rank, *values))
        sizes = "; ".join(
            f"{one.name} ({one.human}: {plural(len(one.systems), 'system')}, "
            f"{plural(one.n_segments, 'segment')})"
            for one in self.sets
        )
        note = f"{self.title}: {sizes}; ordered by average {self.order}."
        return Table("", tuple(heads), tuple(rows), (note,))


def run_benchmark(
    benchmark: Benchmark,
    inputs: Inputs | None = None,
    options: MetaOptions | None = None,
    *,
    human: str | None = None,
    rng: Rng = 0,
    workers: Workers | None = None,
) -> BenchmarkResult:
    """Evaluate metrics on every set of a benchmark that can be found, and average.

    Parameters
    ----------
    benchmark
        A preset (:func:`steelyard.metaevaluation.benchmark.tasks.preset`), or one of your own.
    inputs
        Where the sets are. Metrics of the user's own are never excluded.
    options
        Which metrics, what is tested (all pairs of metrics in each task and on the average, by the
        same swaps everywhere), p-values (``mtme`` gives official numbers), the unit that changes
        sign and is swapped together, and whether only what all metrics of a set have counts.
        Levels, groupings and ties are those of the tasks.
    human
        Another gold score than the benchmark's.
    rng
        Seed of the draws.
    workers
        What the parts run on; the result does not depend on it.

    Returns
    -------
    BenchmarkResult
        A column per task, a row per metric.

    See Also
    --------
    steelyard.meta_evaluate : One set.
    """
    inputs, options = inputs or Inputs(), options or MetaOptions()
    check_instance(Benchmark, "a Benchmark", benchmark=benchmark)
    check_instance(Inputs, "Inputs", inputs=inputs)
    check_instance(MetaOptions, "MetaOptions", options=options)
    check_text(optional=True, human=human)
    check_instance(Workers, "Workers", optional=True, workers=workers)
    options.check_unit()
    options = replace(options, epsilon=None, threshold=None)
    # One seed per set, whichever sets are there: every task of a set sees the same swaps.
    seeds = generator(rng).spawn(len(benchmark.sets))
    read = {test.name: inputs.find(benchmark, test, human) for test in benchmark.sets}
    available = {name: es for name, (es, _) in read.items() if es is not None}
    added = {metric for _, metrics in read.values() for metric in metrics}
    if not available:
        where = f" in {inputs.folder}" if inputs.folder is not None else ""
        raise UsageError(f"none of the sets of '{benchmark.name}' is{where}: {', '.join(read)}")
    parts: list[Part] = []
    summaries, warnings = [], []
    for test, seed in zip(benchmark.sets, seeds, strict=True):
        if test.name in available:
            gold = human or test.human or benchmark.human
            planner = _Planner(benchmark, test, available[test.name], gold, options)
            more_parts, summary, more = planner.plan(added, seed)
            parts += more_parts
            summaries.append(summary)
            warnings += more
    computed = (workers or Workers()).run(_weigh, parts)
    weighed = [Weighed(part, *each[:3]) for part, each in zip(parts, computed, strict=True)]
    warnings += [text for each in computed for text in each[3]]
    tests = options if options.significance else None
    columns, lacking = _columns(benchmark, weighed, tests)
    standings, average_test = _standings(columns, benchmark.order, tests)
    absent = tuple(name for name in read if name not in available)
    shown: dict[str, Any] = {"benchmark": benchmark.name, "human": human or benchmark.human}
    shown["method"] = options.method
    if options.significance:
        shown |= {"scheme": options.scheme, "alternative": options.alternative}
    files = tuple(file for es in available.values() for file in es.inputs)
    return BenchmarkResult(
        benchmark=benchmark.name,
        title=benchmark.title,
        order=benchmark.order,
        sets=tuple(summaries),
        absent=absent,
        columns=columns,
        standings=standings,
        significance=average_test,
        warnings=tuple(dict.fromkeys([*warnings, *lacking])),
        provenance=Provenance.of("meta", shown, files, rng, options),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """One meta-metric on one set, with all that a worker needs to compute it."""

    task: Task
    number: int  # of the task
    test: str
    domain: str | None
    humans: bool
    data: Data
    options: MetaOptions  # with the level and the grouping of the task
    stream: np.random.Generator
    units: Counts | None = None  # of the segments, where these are not drawn one by one

    @property
    def level(self) -> str:
        """The level that the meta-metric is taken at."""
        return self.task.meta.level(self.options.level)

    @property
    def group_by(self) -> str | None:
        """The grouping of segments, None at level sys."""
        return self.task.meta.grouping(self.level, self.options.group_by)


@dataclass(frozen=True, slots=True)
class Weighed:
    """A part with its values, and draws of the differences of the metrics that are ``names``."""

    part: Part
    values: Mapping[str, float]
    names: tuple[str, ...]
    null: Null | None


@dataclass(frozen=True, slots=True)
class _Planner:
    benchmark: Benchmark
    test: SetSpec
    es: EvalSet
    gold: str
    options: MetaOptions

    def plan(
        self, added: Collection[str], seed: np.random.Generator
    ) -> tuple[list[Part], SetSummary, list[str]]:
        """List the parts; each draws the same numbers, from the start of the stream."""
        es, name = self.es, self.test.name
        if self.gold not in es.scores:
            scores = ", ".join(es.human) or "none"
            raise UsageError(f"{name}: no human score '{self.gold}'; known as human: {scores}")
        metrics, warnings = self._metrics(added)
        cases = dict.fromkeys(
            (domain, humans)
            for task in self.benchmark.tasks
            for domain in (None, *(es.domains if task.domains else ()))
            for humans in self._humans(task)
        )
        parts: list[Part] = []
        summaries = []
        for domain, humans in cases:
            data, more = self._data(metrics, domain, humans=humans)
            summaries.append(SetSummary(name, self.gold, data.es.systems, len(data.judged)))
            if domain is None:
                texts = (*more, *self._outliers(data))
                warnings += [reworded(text, lambda words: f"{name}: {words}") for text in texts]
            units = data.units(self.options.unit).codes
            data = _lean(data)
            for number, task in enumerate(self.benchmark.tasks):
                if (domain and not task.domains) or humans not in self._humans(task):
                    continue
                asked = replace(self.options, level=task.level, group_by=task.group_by)
                parts.append(Part(task, number, name, domain, humans, data, asked, seed, units))
        return parts, summaries[0], warnings

    def _outliers(self, data: Data) -> list[str]:
        if all(task.meta.level(task.level) != "sys" for task in self.benchmark.tasks):
            return []
        outliers = find_outliers(self.gold, data.es.systems, data.human_systems, "keep")
        text = f"the protocol keeps the {outliers.label}"
        return [TypedWarning(text, "kept-outliers")] if outliers.systems else []

    def _humans(self, task: Task) -> tuple[bool, ...]:
        es, test = self.es, self.test
        other = [name for name in es.references if name in es.systems and name != test.reference]
        if task.both_humans and other:
            return (False, True)
        return (test.human_systems and not task.both_humans,)

    def _metrics(self, added: Collection[str]) -> tuple[list[str], list[str]]:
        """Return metrics that use the source and the standard reference only, and the user's."""
        es, test, asked = self.es, self.test, self.options.metrics
        allowed = {"src", test.reference}
        candidates = [name for name in es.metrics if name != self.gold]
        names = [
            name
            for name in candidates
            if name in added or test.reference is None or set(es[name].uses) <= allowed
        ]
        warnings: list[str] = []
        if len(names) < len(candidates):
            excluded = plural(len(candidates) - len(names), "metric")
            text = f"{test.name}: excluded {excluded} with another reference than {test.reference}"
            warnings.append(TypedWarning(text, "other-reference"))
        if asked is not None:
            both = {name: common_name(self.benchmark, test, name) for name in names}
            either = {*both, *both.values()}
            meant = {name for pattern in asked for name in matching(pattern, either)}
            names = [name for name in names if not meant.isdisjoint((name, both[name]))]
        if not names:
            raise UsageError(f"{test.name}: no metric to evaluate")
        return names, warnings

    def _data(
        self, metrics: Sequence[str], domain: str | None, *, humans: bool
    ) -> tuple[Data, list[str]]:
        es, test = self.es, self.test
        people = () if humans else set(es.references)
        out = {*test.outliers, *people, *([test.reference] if test.reference else [])}
        part = es.drop(systems=[s for s in es.systems if s in out])
        if domain is not None:
            part = part.select(domain=domain)
        common = self.options.common
        return prepare(part, self.gold, metrics, keep_references=False, common=common)


def _lean(data: Data) -> Data:
    """Keep only what meta-metrics look at, and lay arrays out as files hold them.

    The order of sums may depend on the layout; so all workers, also a single one, get the same.
    """
    es, laid = data.es, np.ascontiguousarray

    def lean(table: ScoreTable) -> ScoreTable:
        return replace(table, values=laid(table.values), domain_scores=None, document_scores=None)

    scores = {name: lean(es.scores[name]) for name in data.metrics}
    part = EvalSet(es.systems, Segments(es.segments.ids), scores)
    return Data(part, laid(data.human), laid(data.human_systems), data.metrics)


def _weigh(part: Part) -> tuple[dict[str, float], tuple[str, ...], Null | None, list[str]]:
    meta, options = part.task.meta, part.options
    run = Run.of(part.data, meta, options, part.units)
    results = run.results()
    names: list[str] = []
    null, warnings = None, []
    if options.significance:
        names = swappable(run, results)
        if len(names) > 1 and not meta.recomputed(run.view, options.scheme):
            test = replace(options, n_resamples=options.n_resamples or _DRAWS)
            null = draw_null(run, names, test, deepcopy(part.stream))
        reason = caveat(run, options.scheme)
        if reason is not None and options.scheme != VALID:
            warnings.append(f"{meta.name}: {reason} {KEEPS}")
        if null is None and len(names) > 1:
            warnings.append(f"{run.label}: not tested, its draws would take too long")
    return {r.metric: r.value for r in results}, tuple(names), null, warnings


def common_name(benchmark: Benchmark, test: SetSpec, metric: str) -> str:
    """Return the name of a metric on every set, whatever the reference is called there."""
    references = {t.reference for t in benchmark.sets}
    if len(references) < 2 or test.reference is None:
        return metric
    stem = metric.removesuffix(f"-{test.reference}")
    return metric if stem == metric else f"{stem}-ref"


def _columns(
    benchmark: Benchmark, weighed: Sequence[Weighed], tests: MetricTest | None
) -> tuple[tuple[Column, ...], list[str]]:
    """Combine parts: a column per task and set, one for a pooled task; and warnings.

    Sets of a pooled task may differ in what is set for each of them, such as whether human
    translations count as systems; it is one task all the same. Where it is asked for both
    without and with them, a set that has none counts in both as it is.
    """
    groups: dict[tuple[Any, ...], list[Weighed]] = {}
    for one in weighed:
        part, task = one.part, one.part.task
        humans = part.humans and (task.both_humans or not task.pooled)
        key = ("" if task.pooled else part.test, part.domain or "", part.level, humans,
               part.group_by or "", task.meta.name, part.number)  # fmt: skip
        groups.setdefault(key, []).append(one)
    for key, parts in groups.items():
        if parts[0].part.task.pooled and key[3]:
            tested = {one.part.test for one in parts}
            without = groups.get((*key[:3], False, *key[4:]), [])
            parts += [one for one in without if one.part.test not in tested]
    if benchmark.weights == "split":
        weights = split_weights(list(groups))
    else:  # as many parts as there are sets in a pooled task, one in others
        weights = [parts[0].part.task.weight * len(parts) for parts in groups.values()]
    if benchmark.weights == "domains":  # the whole is shown, the domains are averaged
        weights = [w if key[1] else 0.0 for key, w in zip(groups, weights, strict=True)]
    total = sum(weights)
    columns, warnings = [], []
    for parts, weight in zip(groups.values(), weights, strict=True):
        column, more = _column(benchmark, parts, weight / total, tests)
        columns.append(column)
        warnings += more
    return tuple(columns), warnings


def _column(
    benchmark: Benchmark, parts: Sequence[Weighed], weight: float, tests: MetricTest | None
) -> tuple[Column, list[str]]:
    sets = {test.name: test for test in benchmark.sets}
    shown = [{n: common_name(benchmark, sets[p.part.test], n) for n in p.values} for p in parts]
    originals = [{common: name for name, common in names.items()} for names in shown]
    first = parts[0].part
    share = np.array([math.comb(p.part.data.es.n_systems, 2) for p in parts], dtype=float)
    share = share / max(share.sum(), 1) if len(parts) > 1 else np.ones(1)
    shared = [name for name in originals[0] if all(name in names for names in originals)]
    values = {
        name: _pooled([(p, names[name]) for p, names in zip(parts, originals, strict=True)])
        for name in shared
    }
    # Draws of a pooled task weight each set by its share of all pairs. A metric that lacks systems
    # has other shares: its draws would not add up to those of the value shown.
    lacking = sorted({
        common
        for p, names in zip(parts, originals, strict=True)
        for common, name in names.items()
        if p.part.data.n_systems[p.part.data.index[name]] < p.part.data.es.n_systems
    } if len(parts) > 1 and tests is not None else ())  # fmt: skip
    draws = [
        (tuple(names[name] for name in p.names), p.null, w)
        for p, names, w in zip(parts, shown, share, strict=True)
    ]
    names, null = pool_draws(draws, lacking)
    column = Column(
        test="all" if first.task.pooled else first.test,
        by=first.task.meta.name,
        level=first.level,
        group_by=first.group_by,
        domain=first.domain,
        humans=any(p.part.humans for p in parts),
        weight=weight,
        values=values,
        lowest=first.task.meta.lowest,
        names=names,
        null=null,
        ranks=column_ranks(values, names, null, tests),
    )
    text = f"{column.by} over all sets: {quoted(lacking)} lack systems and were not tested{HINT}"
    return column, [TypedWarning(text, "not-tested")] if lacking else []


def _pooled(parts: Sequence[tuple[Weighed, str]]) -> float:
    if len(parts) == 1:
        part, name = parts[0]
        return part.values[name]
    pairs = [math.comb(w.part.data.n_systems[w.part.data.index[name]], 2) for w, name in parts]
    right = sum(k * part.values[name] for k, (part, name) in zip(pairs, parts, strict=True))
    return right / sum(pairs) if sum(pairs) else float("nan")


def split_weights(keys: list[tuple[Any, ...]]) -> list[float]:
    """Split a mass of 1 evenly over the first attribute of keys, then over the next, and so on.

    Examples
    --------
    >>> split_weights([("de", "sys"), ("de", "seg"), ("ru", "sys")])
    [0.25, 0.25, 0.5]
    """
    if not keys or not keys[0]:
        return [1 / len(keys)] * len(keys)
    first = [key[0] for key in keys]
    distinct = list(dict.fromkeys(first))
    weights = [0.0] * len(keys)
    for value in distinct:
        where = [i for i, other in enumerate(first) if other == value]
        for i, weight in zip(where, split_weights([keys[i][1:] for i in where]), strict=True):
            weights[i] = weight / len(distinct)
    return weights


def pool_draws(
    parts: Sequence[tuple[tuple[str, ...], Null | None, float]], leave_out: Collection[str] = ()
) -> tuple[tuple[str, ...], Null | None]:
    """Add up draws of several sets, for the metrics that all of them have."""
    nulls = [(names, null, weight) for names, null, weight in parts if null is not None]
    shared = set.intersection(*(set(names) for names, _, _ in parts)) - set(leave_out)
    if len(nulls) < len(parts) or len(shared) < 2:
        return (), None
    metrics = sorted(shared)
    values: Floats = np.zeros(len(metrics))
    draws: Floats | float = 0.0
    i, j = pair_index(len(metrics))
    for names, null, weight in nulls:
        index = np.array([names.index(name) for name in metrics])
        values = values + weight * null.values[index]
        column = np.zeros((len(names), len(names)), dtype=np.int64)  # of a pair in the draws
        a, b = pair_index(len(names))
        column[a, b] = column[b, a] = np.arange(len(a))
        first, second = index[i], index[j]
        pairs = null.differences.astype(np.float64)[:, column[first, second]]
        draws = draws + weight * (pairs * np.where(first < second, 1.0, -1.0))
    return tuple(metrics), Null(values, np.asarray(draws), nulls[-1][1].scheme)


def column_ranks(
    values: dict[str, float], names: tuple[str, ...], null: Null | None, tests: MetricTest | None
) -> dict[str, int]:
    """Rank metrics in a column: by clusters where they were tested, else by their values."""
    every = dict(zip(values, whole(ranks(list(values.values()))), strict=True))
    defined = {name: rank for name, rank in every.items() if rank is not None}
    if null is None or tests is None:
        return defined
    order = sorted(names, key=lambda n: (defined.get(n, np.inf), n))
    return _tested(order, names, null, tests)[1]


def _tested(
    order: Sequence[str], names: Sequence[str], null: Null, tests: MetricTest
) -> tuple[Significance, dict[str, int]]:
    """Test metrics, best first, by draws of those named; return their clusters, too."""
    index = [names.index(name) for name in order]
    every = null.compare(tests.alternative)
    chosen = replace(every, values=every.values[index], p=every.p[np.ix_(index, index)])
    significance = significance_of(order, chosen, tests)
    placed = clusters.greedy_clusters(significance.decisive, tests.alpha)
    return significance, dict(zip(order, placed.tolist(), strict=True))


def _standings(
    columns: Sequence[Column], order: str, tests: MetricTest | None
) -> tuple[tuple[Standing, ...], Significance | None]:
    weights = np.array([column.weight for column in columns])
    metrics = list(dict.fromkeys(name for column in columns for name in column.values))
    standings = []
    for name in metrics:
        scaled = np.array([column.scaled(name) for column in columns])
        missing = [c.label for c, value in zip(columns, scaled, strict=True) if np.isnan(value)]
        if missing:
            note = f"no value in {listed(missing, 3)}"
            standings.append(Standing(name, np.nan, np.nan, note=note))
            continue
        column_rank = np.array([float(c.ranks.get(name, np.nan)) for c in columns])
        standings.append(Standing(name, float(scaled @ weights), float(column_rank @ weights)))
    better = [-s.average_rank if order == "rank" else s.average for s in standings]
    better = [np.nan if np.isnan(s.average) else x for s, x in zip(standings, better, strict=True)]
    rank = dict(zip(metrics, np.nan_to_num(ranks(better), nan=np.inf).tolist(), strict=True))
    standings.sort(key=lambda s: (rank[s.metric], s.metric))
    if tests is None:
        return tuple(standings), None
    names, null = pool_draws([(c.names, c.null, c.weight / (1 - c.lowest)) for c in columns])
    if null is None:
        return tuple(standings), None
    kept = [s.metric for s in standings if s.metric in names and not np.isnan(s.average)]
    test, clustered = _tested(kept, names, null, tests)
    return tuple(replace(s, rank=clustered.get(s.metric)) for s in standings), test
