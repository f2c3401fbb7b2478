"""Automatic scores of WMT's general task: a file per system, a line per document.

Every metric has a list, one value per paragraph; paragraphs are named DOCUMENT_#_N, from 0. All
metrics are stored so that more is better.
"""

from __future__ import annotations

from typing import Any

from steelyard.data.evalset import EvalSet
from steelyard.formats import columns as roles
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable, Stated, from_rows
from steelyard.formats.record import Record, records
from steelyard.formats.scoretables import LONG
from steelyard.formats.view import FileView


def _unfold(view: FileView) -> RawTable:
    system = view.stem
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    for record in records(view):
        document = record.name("document_id")
        own = {"system": system, "lp": record.name("language_pair"), "doc": document}
        if record.get("domain") is not None:
            own["domain"] = record.name("domain")
        scores = _scores(record)
        for place in range(len(next(iter(scores.values()), ()))):
            row = {name: values[place] for name, values in scores.items()}
            rows.append({**own, "segment": f"{document}_#_{place}", **row})
            lines.append(record.line)
    if not rows:
        view.fail("no document has scores")
    metrics = {name for row in rows for name in row if not roles.is_text(name)}
    note = "a system is called as its file, segments are DOCUMENT_#_PARAGRAPH, from 0"
    return from_rows(
        view.path,
        rows,
        lines.__getitem__,
        given={"lp": "language_pair", "doc": "document_id"},
        facts={name: Stated(higher_is_better=True) for name in metrics},
        notes=(f"WMT automatic scores: {note}",),
    )


def _scores(record: Record) -> dict[str, list[float | None]]:
    """Give the values of each metric, which are as many."""
    found: dict[str, list[float | None]] = {}
    metrics = record.object("metric_scores")
    for name in metrics.values:
        if roles.is_text(name) or not name.strip():
            record.fail(f"'metric_scores' has '{name}', expected the name of a metric")
        values = found[name] = metrics.numbers(name)
        first = next(iter(found))
        if len(values) != len(found[first]):
            counts = f"{name} has {len(values)} values, {first} has {len(found[first])}"
            record.fail(f"'metric_scores': {counts}, expected as many")
    return found


FORMAT = ForeignFormat(
    name="WMT automatic scores",
    gives=EvalSet,
    known_by="JSON lines with language_pair, document_id, metric_scores; a file per system",
    example='{"language_pair": "en-is_IS", "document_id": "d1", "metric_scores": {"X": [0.67]}}\n',
    example_name="sysA.jsonl",
    keys=("language_pair", "document_id", "metric_scores"),
    files=("*.jsonl",),
    unfold=_unfold,
    becomes=LONG,
)
