"""Logs of OpenAI evals (``oaieval --record_path``): a line that names the run, then events.

Events of an item stand anywhere, as threads wrote them. An item that was scored several times has
an epoch for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.formats import scoretables
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs.logrows import Rows
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.record import Record, records
from steelyard.formats.view import FileView

_EVENTS = ("sampling", "match", "metrics", "error", "raw_sample")
_INVALID = "__invalid__"  # the choice of a judge whose words could not be read


@dataclass
class _Item:
    """What the events say of one item."""

    line: int
    output: str | None = None
    reference: str | None = None
    scores: list[dict[str, Any]] = field(default_factory=list)  # by epoch

    def score(self, values: Mapping[str, Any]) -> None:
        """Put values into the first epoch that has none of them."""
        free = (own for own in self.scores if own.keys().isdisjoint(values))
        epoch = next(free, None)
        if epoch is None:
            epoch = {}
            self.scores.append(epoch)
        epoch.update(values)


def unfold(view: FileView) -> RawTable:
    """Give a row per item and epoch, with a column per score."""
    rows = Rows(view)
    items: dict[str, _Item] = {}
    spec = Record(view, None, {})
    ended, invalid = False, 0
    others: Counter[str] = Counter()
    for record in records(view):
        if "spec" in record.values:
            spec = record.object("spec")
        elif "final_report" in record.values:
            ended = True
        elif record.get("sample_id") is not None:
            item = items.setdefault(record.name("sample_id"), _Item(record.line))
            invalid += _event(item, record)
            kind = record.words("type") or "without type"
            others[kind] += kind not in _EVENTS
        else:
            others["without sample_id"] += 1
    systems = _models(spec.get("completion_fns"))
    system = systems[0] if systems else view.stem
    if not systems:
        rows.note(f"system '{system}' is the name of the file: 'spec.completion_fns' names none")
    task = spec.words("base_eval") or spec.words("eval_name") or "eval"
    for name, item in items.items():
        for epoch, scores in enumerate(item.scores or [{}], 1):
            rows.add(item.line, scores, system=system, segment=name, task=task, epoch=str(epoch),
                     output=item.output, reference=item.reference)  # fmt: skip
    rows.count(sum(not own.scores for own in items.values()), "items have no score")
    rows.count(invalid, f"choices of the judge are {_INVALID}: their scores are missing")
    _tell(rows, others, systems[1:], ended=ended)
    given = {"system": "spec.completion_fns[0]", "segment": "sample_id", "task": "spec.base_eval",
             "output": "data.sampled", "reference": "data.expected"}  # fmt: skip
    return rows.table(given, {"correct": Stated(higher_is_better=True)})


def _tell(rows: Rows, others: Counter[str], models: Sequence[str], *, ended: bool) -> None:
    """Say what else the log holds, and what it lacks."""
    passed = [f"{n:,} {kind}" for kind, n in sorted(others.items()) if n]
    if passed:
        rows.note(f"events that hold no scores: {listed(passed)}")
    if models:
        rows.note(f"models that helped or judged: {listed(models)}")
    if not ended:
        rows.note("has no final report: the run broke off")


def _models(found: object) -> list[str]:
    several = found if isinstance(found, list) else []
    return [one for one in several if isinstance(one, str) and one.strip()]


def _event(item: _Item, record: Record) -> bool:
    """Take what an event says of an item; tell whether a judge's choice could not be read."""
    data = record.inner("data")
    kind = record.get("type")
    if kind == "sampling" and item.output is None:
        sampled = data.get("sampled")
        first = sampled[0] if isinstance(sampled, list) and sampled else sampled
        item.output = first if isinstance(first, str) else None
    elif kind == "match":
        item.score({"correct": data.get("correct")})
        item.reference = data.words("expected")
    elif kind == "metrics":
        invalid = bool(data.get("choice") == _INVALID)
        values = {name: value for name, value in data.values.items() if name != "choice"}
        item.score(dict.fromkeys(values) if invalid else values)
        return invalid
    return False


FORMAT = ForeignFormat(
    name="OpenAI evals log",
    gives=EvalSet,
    known_by="JSON lines that begin with a spec that has completion_fns",
    example='{"spec": {"completion_fns": ["m"], "eval_name": "e.dev.v0", "base_eval": "e"}}\n'
    '{"sample_id": "e.dev.0", "type": "match", "data": {"correct": true}}\n',
    example_name="run_m_e.jsonl",
    keys=("spec",),
    recognise=lambda view: (
        isinstance((view.record or {})["spec"], dict)
        and "completion_fns" in (view.record or {})["spec"]
    ),
    files=("*.jsonl*",),
    unfold=unfold,
    becomes=scoretables.LONG,
)
