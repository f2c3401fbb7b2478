"""Samples of lm-evaluation-harness: a file of JSON lines per task and model (``--log_samples``).

Every filter (a way to read the answer) has a row per document; here they are columns of one row.
A filter goes without saying where all files of a task have that one only.
The samples do not name the model: that stands in the results of the same folder and time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.data.evalset import EvalSet
from steelyard.formats import columns as roles
from steelyard.formats import repeats, scoretables
from steelyard.formats.cells import skipping
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs.logrows import Rows
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.record import Record, records
from steelyard.formats.view import FileView

_NAME = re.compile(
    r"samples_(?P<task>.+?)(_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[.\d]*))?\.jsonl"
)
_HASH = "doc_hash"
_ONLY = "none"  # the filter of tasks that have no other
_FILTER = "filter"  # of a file that has one only
#: Keys of a row that are no metrics, where a row does not name its metrics (before 0.4.5).
_OTHERS = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
     "doc_hash", "prompt_hash", "target_hash", "schema")
)  # fmt: skip


@dataclass
class _Document:
    """What one document of a task got, by metric and filter."""

    line: int
    output: str | None
    target: str | None
    hash: str | None
    values: dict[tuple[str, str], Any] = field(default_factory=dict)
    filters: set[str] = field(default_factory=set)


def unfold(view: FileView) -> RawTable:
    """Give a row per document, with a column per metric and filter."""
    found = _NAME.fullmatch(view.name)
    task = found["task"] if found else view.stem
    rows = Rows(view)
    time = found["time"] if found else None
    results = Record(view, None, view.beside(f"results_{time}.json") if time else {})
    system = results.words("model_name")
    if system is None:
        system = view.folder
        rows.note(f"system '{system}' is the name of the folder: no results beside it name a model")
    documents = _documents(view)
    filters = dict.fromkeys(name for own in documents.values() for name in sorted(own.filters))
    for item, own in documents.items():
        scores = {_score(m, f, len(filters)): value for (m, f), value in own.values.items()}
        reference = own.target if own.output is not None else None  # else it numbers a choice
        names = {"system": system, "segment": item, "task": task, _HASH: own.hash}
        names[_FILTER] = next(iter(filters)) if len(filters) == 1 else None
        rows.add(own.line, scores, output=own.output, reference=reference, **names)
    metrics = {metric for own in documents.values() for metric, _ in own.values}
    stated = _directions(results, task)
    facts = {
        _score(metric, name, len(filters)): Stated(higher_is_better=stated[metric])
        for metric in metrics & stated.keys()
        for name in filters
    }
    given = {"system": "model_name of the results", "segment": "doc_id", "task": "name of the file"}
    return rows.table(given, facts)


def _score(metric: str, name: str, n_filters: int) -> str:
    """Name a score as the results do, without the only filter of a file."""
    return metric if n_filters == 1 else f"{metric},{name}"


def _settle(table: RawTable) -> RawTable:
    """Name scores by their filters in tasks whose files do not all have the same."""
    if _FILTER not in table:
        return table
    tasks, filters = table.columns["task"], table.columns[_FILTER]
    table = table.without([_FILTER])
    by_task: dict[Any, dict[Any, None]] = {}
    for task, name in zip(tasks, filters, strict=True):
        by_task.setdefault(task, {})[name] = None
    mixed = {task for task, own in by_task.items() if len(own) > 1}
    if not mixed:
        return table
    texts = {name: own for name, own in table.columns.items() if _is_text(name)}
    scores: dict[str, list[Any]] = {}
    facts: dict[str, Stated] = {}
    for metric, cells in table.columns.items():
        for row, cell in enumerate(() if metric in texts else cells):
            if cell is None:
                continue
            apart = tasks[row] in mixed and filters[row] is not None
            score = f"{metric},{filters[row]}" if apart else metric
            scores.setdefault(score, [None] * table.n_rows)[row] = cell
            if metric in table.facts:
                facts[score] = table.facts[metric]
    notes = [
        f"files of task '{task}' have different filters: scores are called METRIC,FILTER"
        for task in sorted(mixed)
    ]
    columns = {**texts, **scores}
    return replace(table, columns=columns, facts=facts, notes=(*table.notes, *notes))


def _is_text(name: str) -> bool:
    return name in (_HASH, "file", "folder") or roles.is_text(name)


def _documents(view: FileView) -> dict[str, _Document]:
    documents: dict[str, _Document] = {}
    for record in records(view):
        item, name = record.name("doc_id"), record.name("filter", _ONLY)
        own = documents.get(item)
        if own is None:
            answer, target = _answer(record.get("resps")), record.text_if_any("target")
            own = documents[item] = _Document(record.line, answer, target, record.words(_HASH))
        if name in own.filters:
            record.fail(f"doc_id '{item}' with filter '{name}' stands on line {own.line} already")
        own.filters.add(name)
        own.values |= {(metric, name): record.get(metric) for metric in _metrics(record)}
    return documents


def _metrics(record: Record) -> list[str]:
    if "metrics" not in record.values:
        return [key for key in record.values if key not in _OTHERS]
    return record.texts("metrics")


def _answer(responses: object) -> str | None:
    """Give the answer of a model that wrote one; those that weigh choices have numbers."""
    while isinstance(responses, list) and responses:
        responses = responses[0]
        if isinstance(responses, list) and len(responses) == 2 and _is_likelihood(responses):
            return None
    return responses if isinstance(responses, str) else None


def _is_likelihood(pair: list[Any]) -> bool:
    return str(pair[1]) in ("True", "False")


def _directions(results: Record, task: str) -> dict[str, bool]:
    """Give which way is better by metric, as far as the results say."""
    own = results.if_object("higher_is_better").if_object(task).values
    return {metric: higher for metric, higher in own.items() if isinstance(higher, bool)}


def _matched(table: RawTable) -> RawTable:
    """Refuse documents that have one number and are not the same in all runs."""
    hashes = table.columns.get(_HASH, [None] * table.n_rows)
    tasks = table.columns.get("task", [None] * table.n_rows)
    first: dict[tuple[Any, Any], int] = {}
    for row, key in enumerate(zip(tasks, table.columns["segment"], strict=True)):
        earlier = row if hashes[row] is None else first.setdefault(key, row)
        if hashes[earlier] != hashes[row]:
            table.fail(
                f"doc_id '{key[1]}' is another document than {table.place_of(earlier)}: its "
                f"{_HASH} differs ({skipping(_HASH)} compares them all the same, "
                f'columns={{"segment": "{_HASH}"}} those that agree)',
                row,
            )
    return repeats.folded(table.without([_HASH]))


FORMAT = ForeignFormat(
    name="lm-evaluation-harness samples",
    gives=EvalSet,
    known_by="samples_TASK_TIME.jsonl: doc_id, resps and filtered_resps",
    example='{"doc_id": 0, "resps": [["six"]], "filtered_resps": ["six"], "filter": "none", '
    '"metrics": ["acc"], "acc": 1.0}\n',
    example_name="model-1/samples_task_2026-11-17T00-16-45.330923.jsonl",
    keys=("doc_id", "resps", "filtered_resps"),
    files=("samples_*.jsonl*",),
    unfold=unfold,
    settle=_settle,
    becomes=replace(scoretables.LONG, prepare=_matched),
)
