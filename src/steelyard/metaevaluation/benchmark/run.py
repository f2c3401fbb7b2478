"""Many tasks, one leaderboard: run a benchmark on the sets that are at hand.

A benchmark splits into parts: one meta-metric on one set, and blocks of pairs of metrics.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.errors import SteelyardError, UsageError
from steelyard.core.options import check_instance, check_text
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.text import plural
from steelyard.core.warnings import TypedWarning, reworded
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.data.selection import matching
from steelyard.metaevaluation.benchmark.parts import (
    PartTask,
    Weighed,
    columns_of,
    common_name,
    sign_flips,
    standings_of,
)
from steelyard.metaevaluation.benchmark.results import BenchmarkResult, SetSummary
from steelyard.metaevaluation.benchmark.tasks import Benchmark, Inputs, SetSpec, Task
from steelyard.metaevaluation.cube import Data, Run, prepare
from steelyard.metaevaluation.options import MetaOptions, Procedure
from steelyard.metaevaluation.outliers import find_outliers
from steelyard.metaevaluation.run import judged_units
from steelyard.metaevaluation.significance import (
    KEEPS,
    VALID,
    caveat,
    draw_null,
    swappable,
)
from steelyard.stats.metametrics.swap_tests import Null


def run_benchmark(
    benchmark: Benchmark,
    inputs: Inputs | None = None,
    options: MetaOptions | None = None,
    *,
    human: str | None = None,
    rng: Rng = 0,
    workers: Workers | None = None,
) -> BenchmarkResult:
    """Weigh metrics on every set of a benchmark that can be found, and average.

    Parameters
    ----------
    benchmark
        A preset (:func:`steelyard.metaevaluation.benchmark.tasks.preset`) or a file
        (:func:`steelyard.metaevaluation.benchmark.tasks.read`).
    inputs
        Where the sets are. Metrics of the user's own are never left out.
    options
        Which metrics, what is tested (all pairs of metrics in each task and on the average, by the
        same swaps everywhere), p-values (``mtme`` gives official numbers), the unit that changes
        sign and is swapped together, and whether only what all metrics of a set have is weighed.
        Levels, groupings and ties are those of the tasks.
    human
        Another gold score than the benchmark's.
    rng
        Seed of the draws.
    workers
        What the parts run on; the result does not depend on it.
    """
    inputs, options = inputs or Inputs(), options or MetaOptions()
    check_instance(Benchmark, "a Benchmark", benchmark=benchmark)
    check_instance(Inputs, "Inputs", inputs=inputs)
    check_instance(MetaOptions, "MetaOptions", options=options)
    check_text(optional=True, human=human)
    check_instance(Workers, "Workers", optional=True, workers=workers)
    options.check_unit()
    options = replace(options, epsilon=None, threshold=None, pa_ties="strict")
    # One seed per set, whichever sets are there: every task of a set sees the same swaps.
    seeds = generator(rng).spawn(len(benchmark.sets))
    names = [test.name for test in benchmark.sets]
    read = {test.name: inputs.find(benchmark, test, human) for test in benchmark.sets}
    found = {name: es for name, (es, _) in read.items() if es is not None}
    own = {metric for _, added in read.values() for metric in added}
    if not found:
        where = f" in {inputs.folder}" if inputs.folder is not None else ""
        raise UsageError(f"none of the sets of '{benchmark.name}' is{where}: {', '.join(names)}")
    planned: list[PartTask] = []
    summaries, warnings = [], []
    for test, seed in zip(benchmark.sets, seeds, strict=True):
        if test.name in found:
            gold = human or test.human or benchmark.human
            planner = _Planner(benchmark, test, found[test.name], gold, options)
            parts, summary, told = planner.plan(own, seed)
            planned += parts
            summaries.append(summary)
            warnings += told
    weighed, told = _weighed(benchmark, planned, workers or Workers())
    procedure = options if options.significance else None
    columns, lacking = columns_of(benchmark, weighed, procedure)
    warnings += [*told, *lacking]
    standings, average_test = standings_of(columns, benchmark.order, procedure)
    warnings += sign_flips(columns)
    absent = tuple(name for name in names if name not in found)
    if absent:
        warnings.insert(0, f"partial: {plural(len(absent), 'set')} not found: {', '.join(absent)}")
    return BenchmarkResult(
        benchmark=benchmark.name,
        title=benchmark.title,
        order=benchmark.order,
        sets=tuple(summaries),
        absent=absent,
        columns=columns,
        standings=standings,
        significance=average_test,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of(
            "meta",
            _shown(benchmark.name, human or benchmark.human, options),
            tuple(file for es in found.values() for file in es.inputs),
            rng,
            options,
        ),
    )


def _shown(name: str, human: str, options: MetaOptions) -> dict[str, Any]:
    """Give what tells two runs apart."""
    shown: dict[str, Any] = {"benchmark": name, "human": human, "method": options.method}
    if options.significance:
        shown |= {"scheme": options.scheme, "alternative": options.alternative}
    return shown


@dataclass(frozen=True, slots=True)
class _Planner:
    """What becomes of one set: the parts of all tasks on it."""

    benchmark: Benchmark
    test: SetSpec
    es: EvalSet
    gold: str
    options: MetaOptions

    def plan(
        self, own: Collection[str], seed: np.random.Generator
    ) -> tuple[list[PartTask], SetSummary, list[str]]:
        """List the parts; each draws the same numbers, from the start of the stream."""
        es, name = self.es, self.test.name
        if self.gold not in es.scores:
            known = ", ".join(es.human) or "none"
            raise UsageError(f"{name}: no human score '{self.gold}'; known as human: {known}")
        metrics, warnings = self._metrics(own)
        cases = dict.fromkeys(
            (domain, humans)
            for task in self.benchmark.tasks
            for domain in (None, *(es.domains if task.domains else ()))
            for humans in self._humans(task)
        )
        parts: list[PartTask] = []
        summary: SetSummary | None = None
        for domain, humans in cases:
            data, told = self._data(metrics, domain, humans=humans)
            summary = summary or SetSummary(name, self.gold, data.es.systems, len(data.judged))
            if domain is None:
                texts = (*told, *self._far(data))
                warnings += [reworded(text, lambda words: f"{name}: {words}") for text in texts]
            units = judged_units(data, self.options.unit).codes
            data = _lean(data)
            for number, task in enumerate(self.benchmark.tasks):
                if (domain and not task.domains) or humans not in self._humans(task):
                    continue
                asked = replace(self.options, level=task.level, group_by=task.group_by)
                parts.append(PartTask(task, number, name, domain, humans, data, asked, seed, units))
        assert summary is not None
        return parts, summary, warnings

    def _far(self, data: Data) -> list[str]:
        """Name outlying systems where systems are weighed: protocols keep them."""
        if all(task.meta.level(task.level) != "sys" for task in self.benchmark.tasks):
            return []
        far = find_outliers(self.gold, data.es.systems, data.human_systems,
                            cutoff=self.options.outlier_cutoff, handling="keep")  # fmt: skip
        text = f"{far.sentence()}; kept, as the protocol says"
        return [TypedWarning(text, "outliers")] if far.systems else []

    def _humans(self, task: Task) -> tuple[bool, ...]:
        es, test = self.es, self.test
        other = [name for name in es.references if name in es.systems and name != test.reference]
        if task.both_humans and other:
            return (False, True)
        return (test.human_systems and not task.both_humans,)

    def _metrics(self, own: Collection[str]) -> tuple[list[str], list[str]]:
        """Metrics that see the source and the standard reference only, and the user's own."""
        es, test, asked = self.es, self.test, self.options.metrics
        allowed = {"src", test.reference}
        names = [
            name
            for name in es.metrics
            if name != self.gold
            and (name in own or test.reference is None or set(es[name].uses) <= allowed)
        ]
        warnings = []
        left = len(es.metrics) - len(names) - (self.gold in es.metrics)
        if left:
            text = f"{plural(left, 'metric')} with another reference than {test.reference} left out"
            warnings.append(f"{test.name}: {text}")
        if asked is not None:
            both = {name: common_name(self.benchmark, test, name) for name in names}
            known = {*both, *both.values()}
            meant = {name for one in asked for name in matching(one, known)}
            names = [name for name in names if not meant.isdisjoint((name, both[name]))]
        if not names:
            raise UsageError(f"{test.name}: no metric to weigh")
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
    """Leave out what no meta-metric looks at, and lay arrays out as files hold them.

    The order of sums may depend on the layout; so all workers, also a single one, get the same.
    """
    es, laid = data.es, np.ascontiguousarray

    def lean(table: ScoreTable) -> ScoreTable:
        return replace(table, values=laid(table.values), domain_scores=None, document_scores=None)

    scores = {name: lean(es.scores[name]) for name in data.metrics}
    own = EvalSet(es.systems, Segments(es.segments.ids), scores)
    return Data(own, laid(data.human), laid(data.human_systems), data.metrics)


def _weighed(
    benchmark: Benchmark, planned: Sequence[PartTask], workers: Workers
) -> tuple[list[Weighed], list[str]]:
    """Do what was planned."""
    blocks = [part.split() for part in planned]
    tasks = [block for own in blocks for block in own]
    options = planned[0].options
    about: dict[str, Any] = {"benchmark": benchmark.name, "method": options.method}
    if workers.resume is not None:
        facts = {name: getattr(options, name) for name in Procedure.declared()}
        about |= {"procedure": facts if options.significance else None, "data": _digest(tasks)}
    results = iter(workers.run(weigh, tasks, step="meta", about=about))
    weighed, warnings = [], []
    for part, own in zip(planned, blocks, strict=True):
        found = [next(results) for _ in own]
        warnings += found[0]["warnings"]
        names = tuple(found[0]["names"])
        weighed.append(Weighed(part, found[0]["values"], names, _joined(found)))
    return weighed, warnings


def weigh(part: PartTask) -> dict[str, Any]:
    """Compute the values of all metrics, and the draws of a block of their differences."""
    meta, options = part.task.meta, part.options
    run = Run.of(part.data, meta, options, part.units)
    found = run.results()
    names: list[str] = []
    null, told = None, []
    if options.significance:
        names = swappable(run, found)
        of = min(part.n_blocks, len(names) * (len(names) - 1) // 2)  # some may have no value
        if part.block < of and not meta.recomputed(run.view, options.scheme):
            block = None if of == 1 else (part.block, of)
            null = draw_null(run, names, options, deepcopy(part.stream), block)
        reason = caveat(run, options.scheme)
        if reason is not None and options.scheme != VALID:
            told.append(f"{meta.name}: {reason} {KEEPS}")
        if null is None:
            how = f"{meta.name} grouped by {part.group_by}"
            told.append(f"{how}: not tested, its draws would be computed anew one by one")
    return {
        "values": {r.metric: r.value for r in found},
        "names": names,
        "warnings": told,
        "null": None if null is None else [null.values, null.differences, null.scheme],
    }


def _joined(blocks: Sequence[dict[str, Any]]) -> Null | None:
    """Put the draws of the blocks of one part together again."""
    first = blocks[0]
    if first["null"] is None:
        return None
    values, _, scheme = first["null"]
    if any(block["names"] != first["names"] for block in blocks):
        raise SteelyardError("workers disagree on which metrics have a value: other libraries?")
    drawn = [block["null"][1] for block in blocks if block["null"] is not None]
    return Null(values, np.concatenate(drawn, axis=1), scheme)


def _digest(parts: Sequence[PartTask]) -> str:
    """Hash what the results depend on: scores, names, streams of random numbers."""
    total = hashlib.sha256()
    seen = {id(part.data): part.data for part in parts}
    known = {key: _data_digest(data) for key, data in seen.items()}
    for part in parts:
        units = None if part.units is None else part.units.tolist()
        facts = (part.task.meta.name, part.level, part.group_by, part.options.method, part.block,
                 part.n_blocks, units)  # fmt: skip
        state = part.stream.bit_generator.state
        total.update(repr((known[id(part.data)], facts, state)).encode())
    return total.hexdigest()


def _data_digest(data: Data) -> str:
    total = hashlib.sha256(repr((data.es.systems, data.es.segments.ids, data.metrics)).encode())
    arrays = [data.human, data.human_systems]
    for name in data.metrics:
        table = data.es.scores[name]
        total.update(repr((table.higher_is_better, table.uses)).encode())
        arrays += [table.values, *([] if table.system_scores is None else [table.system_scores])]
        if table.statistics is not None:
            arrays.append(table.statistics.values)
    for array in arrays:
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()
