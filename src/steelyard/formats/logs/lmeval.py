"""Samples of lm-evaluation-harness: a file of JSON lines per task and model (``--log_samples``).

Every filter (a way to read the answer) has a row per document; here they are columns of one row.
The samples do not name the model: that stands in the results of the same folder and time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.data.evalset import EvalSet
from steelyard.formats import repeats, scoretables
from steelyard.formats.cells import skipping
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs.jsonvalues import (
    Fail,
    a_list,
    a_name,
    beside,
    folder_name,
    json_lines,
    text,
    words,
)
from steelyard.formats.logs.logrows import Rows
from steelyard.formats.tables import RawTable, ScoreFacts
from steelyard.formats.view import FileView

_NAME = re.compile(
    r"samples_(?P<task>.+?)(_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[.\d]*))?\.jsonl"
)
_HASH = "doc_hash"
_ONLY = "none"  # the filter of tasks that have no other
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
    task = found["task"] if found else view.name.rpartition(".")[0] or view.name
    rows = Rows(view)
    results = beside(view, f"results_{found['time']}.json") if found and found["time"] else None
    system = words((results or {}).get("model_name"))
    if system is None:
        system = folder_name(view)
        rows.note(f"system '{system}' is the name of the folder: no results beside it name a model")
    documents = _documents(view, rows)
    filters = dict.fromkeys(name for own in documents.values() for name in sorted(own.filters))
    for item, own in documents.items():
        scores = {_score(m, f, len(filters)): value for (m, f), value in own.values.items()}
        reference = own.target if own.output is not None else None  # else it numbers a choice
        names = {"system": system, "segment": item, "task": task, _HASH: own.hash}
        rows.add(own.line, scores, output=own.output, reference=reference, **names)
    metrics = {metric for own in documents.values() for metric, _ in own.values}
    stated = _directions(results, task)
    facts = {
        _score(metric, name, len(filters)): ScoreFacts(higher_is_better=stated[metric])
        for metric in metrics & stated.keys()
        for name in filters
    }
    given = {"system": "model_name of the results", "segment": "doc_id", "task": "name of the file"}
    return rows.table(given, facts)


def _score(metric: str, name: str, n_filters: int) -> str:
    """Name a score as the results do, without a filter that goes without saying."""
    return metric if name == _ONLY or n_filters == 1 else f"{metric},{name}"


def _documents(view: FileView, rows: Rows) -> dict[str, _Document]:
    documents: dict[str, _Document] = {}
    for line, record in json_lines(view):
        fail = rows.failing(line)
        item = a_name(record.get("doc_id"), "'doc_id'", fail)
        name = a_name(record.get("filter", _ONLY), "'filter'", fail)
        own = documents.get(item)
        if own is None:
            answer, target = _answer(record.get("resps")), text(record.get("target"))
            own = _Document(line, answer, target, words(record.get(_HASH)))
            documents[item] = own
        if name in own.filters:
            fail(f"doc_id '{item}' with filter '{name}' stands on line {own.line} already")
        own.filters.add(name)
        own.values |= {(metric, name): record.get(metric) for metric in _metrics(record, fail)}
    return documents


def _metrics(record: dict[str, Any], fail: Fail) -> list[str]:
    if "metrics" not in record:
        return [key for key in record if key not in _OTHERS]
    named = a_list(record["metrics"], "'metrics'", fail)
    return [a_name(metric, "a name in 'metrics'", fail) for metric in named]


def _answer(responses: object) -> str | None:
    """Give the answer of a model that wrote one; those that weigh choices have numbers."""
    while isinstance(responses, list) and responses:
        responses = responses[0]
        if isinstance(responses, list) and len(responses) == 2 and _is_likelihood(responses):
            return None
    return text(responses)


def _is_likelihood(pair: list[Any]) -> bool:
    return str(pair[1]) in ("True", "False")


def _directions(results: dict[str, Any] | None, task: str) -> dict[str, bool]:
    """Give which way is better by metric, as far as the results say."""
    stated = (results or {}).get("higher_is_better")
    own = stated.get(task) if isinstance(stated, dict) else None
    if not isinstance(own, dict):
        return {}
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
    becomes=replace(scoretables.LONG, prepare=_matched),
)
