"""Many tasks, one leaderboard: run a benchmark on the sets that are at hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.formats.folders import mtme
from steelyard.formats.load import load
from steelyard.metaevaluation.benchmark.averages import (
    column_ranks,
    pool_draws,
    sign_flips,
    split_weights,
    standings_of,
)
from steelyard.metaevaluation.benchmark.parts import (
    PartResult,
    PartTask,
    digest,
    joined,
    lean,
    split,
    weigh,
)
from steelyard.metaevaluation.benchmark.results import BenchmarkResult, Column, SetSummary
from steelyard.metaevaluation.benchmark.tasks import Benchmark, SetSpec, Task
from steelyard.metaevaluation.coverage import HINT
from steelyard.metaevaluation.data import Data, Run
from steelyard.metaevaluation.run import check_unit, prepare, unit_codes
from steelyard.metaevaluation.significance import Procedure
from steelyard.stats.permutation.pvalues import check_method

#: What a file may be called that holds the tables of a language pair: ``en-de.human.csv.gz``.
_PARTS = ("human", "human.seg", "metrics", "metrics.seg", "metrics.sys", "text")


def run_benchmark(  # noqa: PLR0913 - every option has a default
    benchmark: Benchmark,
    folder: str | Path | None = None,
    *,
    sets: dict[str, EvalSet] | None = None,
    human: str | None = None,
    metrics: Collection[str] | None = None,
    add: Sequence[tuple[str | None, str]] = (),
    significance: bool = False,
    procedure: Procedure | None = None,
    method: str = "exact",
    unit: str = "segment",
    common: bool = False,
    rng: Rng = 0,
    workers: Workers | None = None,
) -> BenchmarkResult:
    """Weigh metrics on every set of a benchmark that can be found, and average.

    Parameters
    ----------
    benchmark
        A preset (:func:`steelyard.metaevaluation.benchmark.tasks.preset`) or a file
        (:func:`steelyard.metaevaluation.benchmark.tasks.read`).
    folder
        Where the sets are: an mt-metrics-eval folder, the folder above it, or a folder of tables
        called ``LP.human.csv`` and the like. Sets with ``files`` do not need it.
    sets
        Sets that are loaded already, by name; the others are looked for.
    human, metrics
        Another gold score than the benchmark's; only these metrics.
    add
        Score files of one's own: (set or None for all, path). Their metrics are never left out.
    significance, procedure
        Test all pairs of metrics in each task and on the average, by the same swaps everywhere.
    method
        How p-values inside soft pairwise accuracy are found; ``mtme`` gives official numbers.
    unit
        What changes sign and is swapped together: ``segment``, as published, ``document``, or a
        number of consecutive segments.
    common
        Weigh all metrics of a set on what all of them have.
    rng
        Seed of the draws.
    workers
        What the parts run on; the result does not depend on it.
    """
    bounds.instance(Benchmark, "a Benchmark", benchmark=benchmark)
    bounds.instance((str, Path), "a path", optional=True, folder=folder)
    bounds.instance(Mapping, "sets by name", optional=True, sets=sets)
    bounds.text(optional=True, human=human)
    bounds.names(optional=True, metrics=metrics)
    bounds.items(tuple, add=add)
    bounds.flag(significance=significance)
    bounds.instance(Procedure, "a Procedure", optional=True, procedure=procedure)
    bounds.instance(Workers, "Workers", optional=True, workers=workers)
    bounds.flag(common=common)
    check_method(method)
    check_unit(method, unit)
    procedure = procedure or Procedure()
    asked = _Asked(human, metrics, procedure if significance else None, method, unit, common)
    runner = _Runner(benchmark, asked)
    stream = generator(rng)
    # One seed per set, whichever sets are there: every task of a set sees the same swaps.
    seeds = dict(
        zip((t.name for t in benchmark.sets), stream.spawn(len(benchmark.sets)), strict=True)
    )
    found: dict[str, EvalSet] = {}
    for test in benchmark.sets:
        es = (sets or {}).get(test.name) or _find(benchmark, test, folder, human, add, runner)
        if es is not None:
            found[test.name] = es
    if not found:
        where = f" in {folder}" if folder is not None else ""
        names = ", ".join(test.name for test in benchmark.sets)
        raise UsageError(f"none of the sets of '{benchmark.name}' is{where}: {names}")
    absent = tuple(test.name for test in benchmark.sets if test.name not in found)
    for test in benchmark.sets:
        if test.name in found:
            runner.plan(test, found[test.name], seeds[test.name])
    runner.run(workers or Workers())
    columns = runner.columns()
    standings, average_test = standings_of(columns, benchmark.order, runner.procedure)
    warnings = runner.warnings + sign_flips(columns)
    if absent:
        warnings.insert(0, f"partial: {plural(len(absent), 'set')} not found: {', '.join(absent)}")
    options: dict[str, Any] = {"benchmark": benchmark.name, "human": human or benchmark.human}
    options |= {"method": method}
    options |= {"unit": unit} if unit != "segment" else {}
    options |= {"common": True} if common else {}
    if significance:
        options |= {"scheme": procedure.scheme, "alternative": procedure.alternative}
        if procedure.correction != "none":
            options |= {"correction": procedure.correction}
    inputs = tuple(file for es in found.values() for file in es.inputs)
    return BenchmarkResult(
        benchmark.name,
        benchmark.title,
        benchmark.order,
        tuple(runner.summaries),
        absent,
        columns,
        standings,
        average_test,
        tuple(dict.fromkeys(warnings)),
        Provenance.of("meta", options, inputs, rng),
    )


def _find(
    benchmark: Benchmark,
    test: SetSpec,
    folder: str | Path | None,
    human: str | None,
    add: Sequence[tuple[str | None, str]],
    runner: _Runner,
) -> EvalSet | None:
    """Load a set with the user's own files, None if it is nowhere."""
    sources: list[Path] = []
    lp: str | None = None
    if test.files:
        sources = [benchmark.path.parent / name for name in test.files]
    elif folder is not None:
        root = Path(folder)
        for candidate in (root, root / benchmark.name.partition("-")[0]):
            if mtme.recognise(candidate) and test.name in mtme.language_pairs(candidate):
                sources, lp = [candidate], test.name
                break
        else:
            names = [f"{test.name}.{part}" for part in _PARTS]
            tables = sorted(root.glob(f"{test.name}.*")) if root.is_dir() else []
            sources = [p for p in tables if p.name.removesuffix(".gz").rpartition(".")[0] in names]
    if not sources:
        return None
    gold = human or test.human or benchmark.human
    own = [path for name, path in add if name in (None, test.name)]
    if not own:
        return load(*sources, human=gold, lp=lp)
    before = set(load(*sources, human=gold, lp=lp).scores)
    es = load(*sources, *own, human=gold, lp=lp or test.name)
    runner.own |= set(es.scores) - before
    return es


@dataclass(frozen=True, slots=True)
class _Part:
    """One meta-metric on one set: the values of its metrics, and the draws of their differences."""

    task: Task
    number: int  # of the task
    test: str
    domain: str | None
    humans: bool
    run: Run
    n_pairs: int
    found: PartResult


def _pooled(parts: Sequence[tuple[_Part, str]]) -> float:
    """Value of a metric over the pairs of systems of all sets, of those that it has scored."""
    if len(parts) == 1:
        return parts[0][0].found.values[parts[0][1]]
    n = [part.run.data.n_systems(name) for part, name in parts]
    pairs = [size * (size - 1) // 2 for size in n]
    right = sum(k * part.found.values[name] for k, (part, name) in zip(pairs, parts, strict=True))
    return right / sum(pairs) if sum(pairs) else float("nan")


def _facts(procedure: Procedure) -> dict[str, Any]:
    return {name: value for name, value in asdict(procedure).items() if name != "tick"}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What holds for all sets."""

    human: str | None
    metrics: Collection[str] | None
    procedure: Procedure | None
    method: str
    unit: str
    common: bool


class _Runner:
    """What was found so far: parts of columns, summaries of sets, warnings."""

    def __init__(self, benchmark: Benchmark, asked: _Asked) -> None:
        self.benchmark, self.human, self.metrics = benchmark, asked.human, asked.metrics
        self.procedure, self.method = asked.procedure, asked.method
        self.unit, self.common_only = asked.unit, asked.common
        self.parts: list[_Part] = []
        self.planned: list[tuple[PartTask, int, str, str | None, bool]] = []
        self.summaries: list[SetSummary] = []
        self.warnings: list[str] = []
        self.own: set[str] = set()

    def plan(self, test: SetSpec, es: EvalSet, seed: np.random.Generator) -> None:
        """Note all tasks on one set; each draws the same numbers, from the start of the stream."""
        gold = self.human or test.human or self.benchmark.human
        if gold not in es.scores:
            known = ", ".join(es.human) or "none"
            raise UsageError(f"{test.name}: no human score '{gold}'; known as human: {known}")
        names = self._metrics(test, es, gold)
        cases = dict.fromkeys(
            (domain, humans)
            for task in self.benchmark.tasks
            for domain in (None, *(es.domains if task.domains else ()))
            for humans in self._humans(test, es, task)
        )
        for domain, humans in cases:
            data, warnings = self._data(test, es, gold, names, domain, humans=humans)
            if test.name not in {one.name for one in self.summaries}:
                n = int((~np.isnan(data.human)).any(axis=0).sum())
                self.summaries.append(SetSummary(test.name, gold, data.es.systems, n))
            if domain is None:
                self.warnings += [f"{test.name}: {text}" for text in warnings]
            units = unit_codes(data.es, self.unit)
            data = lean(data)
            for number, task in enumerate(self.benchmark.tasks):
                if (domain and not task.domains) or humans not in self._humans(test, es, task):
                    continue
                part = PartTask(task, data, self.method, self.procedure, seed, units)
                self.planned.append((part, number, test.name, domain, humans))

    def run(self, workers: Workers) -> None:
        """Do what was planned."""
        blocks = [split(part) for part, *_ in self.planned]
        tasks = [block for own in blocks for block in own]
        about: dict[str, Any] = {"benchmark": self.benchmark.name, "method": self.method}
        if workers.resume is not None:
            about |= {"procedure": self.procedure and _facts(self.procedure)}
            about |= {"data": digest(tasks)}
        results = iter(workers.run(weigh, tasks, step="meta", about=about))
        for (part, number, test, domain, humans), own in zip(self.planned, blocks, strict=True):
            found = joined([next(results) for _ in own])
            n = part.data.es.n_systems
            self.warnings += found.warnings
            made = _Part(
                part.task, number, test, domain, humans, part.run(), n * (n - 1) // 2, found
            )
            self.parts.append(made)

    @staticmethod
    def _humans(test: SetSpec, es: EvalSet, task: Task) -> tuple[bool, ...]:
        other = [name for name in es.references if name in es.systems and name != test.reference]
        if task.both_humans and other:
            return (False, True)
        return (test.human_systems and not task.both_humans,)

    def _metrics(self, test: SetSpec, es: EvalSet, gold: str) -> list[str]:
        """Metrics that see the source and the standard reference only, and the user's own."""
        allowed = {"src", test.reference}
        names = [
            name
            for name in es.metrics
            if name != gold
            and (name in self.own or test.reference is None or set(es[name].uses) <= allowed)
        ]
        left = len(es.metrics) - len(names) - (gold in es.metrics)
        if left:
            text = f"{plural(left, 'metric')} with another reference than {test.reference} left out"
            self.warnings.append(f"{test.name}: {text}")
        if self.metrics is not None:
            names = [
                name
                for name in names
                if name in self.metrics or self.common(test, name) in self.metrics
            ]
        if not names:
            raise UsageError(f"{test.name}: no metric to weigh")
        return names

    def _data(
        self,
        test: SetSpec,
        es: EvalSet,
        gold: str,
        names: Sequence[str],
        domain: str | None,
        *,
        humans: bool,
    ) -> tuple[Data, list[str]]:
        people = () if humans else set(es.references)
        out = {*test.outliers, *people, *([test.reference] if test.reference else [])}
        part = es.drop(systems=[s for s in es.systems if s in out])
        if domain is not None:
            part = part.select(domain=domain)
        return prepare(part, gold, names, keep_references=False, common=self.common_only)

    def common(self, test: SetSpec, metric: str) -> str:
        """Name of a metric that holds on every set, whatever the reference is called there."""
        references = {t.reference for t in self.benchmark.sets}
        if len(references) < 2 or test.reference is None:
            return metric
        stem = metric.removesuffix(f"-{test.reference}")
        return metric if stem == metric else f"{stem}-ref"

    def groups(self) -> dict[tuple[Any, ...], list[_Part]]:
        """Parts by column: one per task and set, one for a pooled task.

        Sets of a pooled task may differ in what is set for each of them, such as whether human
        translations count as systems; it is one task all the same. Where it is asked for both
        without and with them, a set that has none takes part in both as it is.
        """
        found: dict[tuple[Any, ...], list[_Part]] = {}
        for part in self.parts:
            task = part.task
            key = (
                "" if task.pooled else part.test,
                part.domain or "",
                part.run.level,
                part.humans and (task.both_humans or not task.pooled),
                part.run.group_by or "",
                part.run.meta.name,
                part.number,
            )
            found.setdefault(key, []).append(part)
        for key, parts in found.items():
            if parts[0].task.pooled and key[3]:
                have = {part.test for part in parts}
                without = found.get((*key[:3], False, *key[4:]), [])
                parts += [part for part in without if part.test not in have]
        return found

    def _lacking(self, parts: Sequence[_Part], names: Sequence[dict[str, str]]) -> list[str]:
        """Metrics without some system of a pooled task, whose draws have other shares; say so.

        Draws hold differences of two metrics, each set with its share of all pairs. A metric that
        lacks systems has other shares: its draws would not add up to those of the value shown.
        """
        found = {
            shown
            for part, own in zip(parts, names, strict=True)
            for shown, name in own.items()
            if part.run.data.n_systems(name) < part.run.data.es.n_systems
        }
        if found:
            what = ", ".join(f"'{name}'" for name in sorted(found))
            self.warnings.append(
                f"{parts[0].run.meta.name} over all sets: not tested for {what}, which lack systems"
                f"{HINT}"
            )
        return sorted(found)

    def columns(self) -> tuple[Column, ...]:
        """Put parts together: one column per task and set, one for a pooled task."""
        tests = {test.name: test for test in self.benchmark.sets}
        groups = self.groups()
        if self.benchmark.weights == "split":
            weights = split_weights(list(groups))
        else:  # as many parts as there are sets in a pooled task, one in others
            weights = [parts[0].task.weight * len(parts) for parts in groups.values()]
        if self.benchmark.weights == "domains":  # the whole is shown, the domains are averaged
            weights = [w if key[1] else 0.0 for key, w in zip(groups, weights, strict=True)]
        total = sum(weights)
        columns = []
        for (key, parts), weight in zip(groups.items(), weights, strict=True):
            share = np.array([part.n_pairs for part in parts], dtype=float)
            share = share / max(share.sum(), 1) if len(parts) > 1 else np.ones(1)
            own = [
                {self.common(tests[p.test], name): name for name in p.found.values} for p in parts
            ]
            shared = [name for name in own[0] if all(name in names for names in own)]
            pooled = {
                name: _pooled([(p, names[name]) for p, names in zip(parts, own, strict=True)])
                for name in shared
            }
            first = parts[0]
            lacking = self._lacking(parts, own) if len(parts) > 1 and self.procedure else ()
            names, null = pool_draws(
                [(tuple(self.common(tests[p.test], n) for n in p.found.names), p.found.null, w)
                 for p, w in zip(parts, share, strict=True)],
                lacking,
            )  # fmt: skip
            columns.append(
                Column(
                    key[0] or "all",
                    first.run.meta.name,
                    first.run.level,
                    first.run.group_by,
                    first.domain,
                    any(part.humans for part in parts),
                    weight / total,
                    pooled,
                    first.run.meta.lowest,
                    names,
                    null,
                    column_ranks(pooled, names, null, self.procedure),
                )
            )
        return tuple(columns)
