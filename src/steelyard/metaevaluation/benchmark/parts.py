"""What a benchmark splits into: one meta-metric on one set, and blocks of pairs of metrics.

A :class:`PartTask` holds all that its computation needs, so that any worker can do it, and no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.errors import SteelyardError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.metaevaluation.benchmark.tasks import Task
from steelyard.metaevaluation.data import Data, Run
from steelyard.metaevaluation.significance import Procedure, caveat, draw_null, n_blocks, swappable
from steelyard.stats.arrays import Counts
from steelyard.stats.metametrics.swaps import Null

_DRAWS = 1000


@dataclass(frozen=True, slots=True)
class PartTask:
    """One meta-metric on one set, or a block of it: ``block`` of ``n_blocks``."""

    task: Task
    data: Data
    method: str
    procedure: Procedure | None
    stream: np.random.Generator
    units: Counts | None = None  # of the segments, where these are not drawn one by one
    block: int = 0
    n_blocks: int = 1

    def run(self) -> Run:
        """Set the computation up."""
        meta, task = self.task.meta, self.task
        return Run(
            self.data, meta, task.level, task.group_by, meta.options, self.method, self.units, []
        )


@dataclass(frozen=True, slots=True)
class PartResult:
    """Values of the metrics, and the draws of the differences between those named."""

    values: dict[str, float]
    names: tuple[str, ...]
    null: Null | None
    warnings: tuple[str, ...]


def lean(data: Data) -> Data:
    """Leave out what no meta-metric looks at, and lay arrays out as files hold them.

    The order of sums may depend on the layout; so all workers, also a single one, get the same.
    """
    es = data.es
    scores = {name: _lean_table(es.scores[name]) for name in data.metrics}
    own = EvalSet(es.systems, Segments(es.segments.ids), scores)
    human = np.ascontiguousarray(data.human)
    return Data(own, human, np.ascontiguousarray(data.human_systems), data.metrics)


def _lean_table(table: ScoreTable) -> ScoreTable:
    return replace(
        table,
        values=np.ascontiguousarray(table.values),
        domain_scores=None,
        document_scores=None,
    )


def split(part: PartTask) -> list[PartTask]:
    """Split a part into blocks, the same whatever they run on."""
    if part.procedure is None:
        return [part]
    k = part.procedure.n_resamples or _DRAWS
    procedure = replace(part.procedure, n_resamples=k)
    of = n_blocks(part.run(), k)
    return [
        replace(part, procedure=procedure, stream=deepcopy(part.stream), block=b, n_blocks=of)
        for b in range(of)
    ]


def weigh(part: PartTask) -> dict[str, Any]:
    """Compute the values of all metrics, and the draws of a block of their differences."""
    run = part.run()
    found = run.results()
    values = {r.metric: r.value for r in found}
    names: list[str] = []
    null = None
    if part.procedure is not None:
        names = swappable(run, found)
        of = min(part.n_blocks, len(names) * (len(names) - 1) // 2)  # some may have no value
        if part.block < of:
            block = None if of == 1 else (part.block, of)
            stream = deepcopy(part.stream)
            null = draw_null(run, names, part.procedure, stream, slow=False, part=block)
        reason = caveat(run, part.procedure.scheme)
        if reason is not None and part.procedure.scheme != "inputs":
            run.warnings.append(f"{run.meta.name}: {reason} (--scheme inputs keeps its level)")
        if null is None:
            how = f"{run.meta.name} grouped by {run.group_by}"
            run.warnings.append(f"{how}: not tested, its draws would be computed anew one by one")
    return {
        "values": values,
        "names": names,
        "warnings": run.warnings,
        "null": None if null is None else [null.values, null.differences, null.scheme],
    }


def joined(blocks: Sequence[dict[str, Any]]) -> PartResult:
    """Put the blocks of one part together again."""
    first = blocks[0]
    null = None
    if first["null"] is not None:
        values, _, scheme = first["null"]
        if any(block["names"] != first["names"] for block in blocks):
            raise SteelyardError("workers disagree on which metrics have a value: other libraries?")
        drawn = [block["null"][1] for block in blocks if block["null"] is not None]
        null = Null(values, np.concatenate(drawn, axis=1), scheme)
    return PartResult(first["values"], tuple(first["names"]), null, tuple(first["warnings"]))


def digest(parts: Sequence[PartTask]) -> str:
    """Hash what the results depend on: scores, names, streams of random numbers."""
    total = hashlib.sha256()
    seen: dict[int, str] = {}
    for part in parts:
        key = id(part.data)
        if key not in seen:
            seen[key] = _data_digest(part.data)
        run = part.run()
        units = None if part.units is None else part.units.tolist()
        facts = (run.meta.name, run.level, run.group_by, part.method, part.block, part.n_blocks,
                 units)  # fmt: skip
        state = part.stream.bit_generator.state
        total.update(repr((seen[key], facts, state)).encode())
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
