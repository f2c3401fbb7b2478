"""The metrics task of WMT26: a line per item, with its texts and what a metric says of each output.

``task1_pred`` has error spans of each system, ``task2_pred`` scores, ``task3_pred`` whether outputs
are free of errors. Ids name language pair, domain, document and segment; items of challenge sets
are not scored.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.format import SetFormat
from steelyard.formats.judged.builder import Builder, Rating, language_pair
from steelyard.formats.view import FileView, Record, records

SPANS, SCORES, CLEAN = "task1", "task2", "task3"
_MARK, _CHALLENGE = "_###_", "challenge_###_"
_METRIC = "metric"


def _read(view: FileView, lp: str | None, _where: tuple[tuple[str, str], ...]) -> EvalSet:
    view = view.known_as("WMT26 metrics task")
    items = list(records(view))
    scored = [item for item in items if not item.name("item_id").startswith(_CHALLENGE)]
    pairs = dict.fromkeys(_parts(item)[0] for item in scored)
    pair = language_pair(view, lp, pairs) if pairs else None
    builder = Builder(view)
    for item in scored:
        if _parts(item)[0] == pair:
            _item(item, builder)
    lost = len(items) - len(scored)
    notes = [view.note(f"{lost} items of challenge sets are not scored")] if lost else []
    es = builder.evalset(pair or None, notes)
    scores = {name: replace(table, kind="metric") for name, table in es.scores.items()}
    return replace(es, scores=scores)


def _parts(item: Record) -> tuple[str, str | None, str, str]:
    """Return language pair, domain, document and segment; blank where the id does not name them."""
    parts = item.name("item_id").split(_MARK)
    if len(parts) < 6:  # as the id of a campaign: domain, document, segment
        return "", parts[0] if len(parts) > 2 else None, parts[-2 % len(parts)], _MARK.join(parts)
    return f"{parts[1]}-{parts[2]}", parts[3], parts[-2], _MARK.join(parts[3:])


def _item(item: Record, builder: Builder) -> None:
    _, domain, document, segment = _parts(item)
    builder.describe(segment, item, document=document, domain=domain, source=item.text("src"))
    reference = item.get("ref")
    text = item.inner("ref").text("text") if isinstance(reference, dict) else item.text("ref")
    builder.refer("ref", segment, text, item)
    outputs = item.inner("hyps")
    for system in outputs.names():
        builder.output(system, segment, outputs.text(system), item)
    marked = item.inner("task1_pred")
    for system in marked.names():
        if marked.get(system) is not None:
            spans = _spans(marked.object(system))
            builder.rate(SPANS, Rating(system, segment, _METRIC, np.nan, spans, document=document))
    for task, key in ((SCORES, "task2_pred"), (CLEAN, "task3_pred")):
        scores = item.inner(key)
        for system in scores.names():
            builder.outputs.setdefault(system, {})
            value = scores.get(system)
            number = float(value) if isinstance(value, bool) else scores.number(system)
            if number is not None:
                builder.scored.setdefault(task, {})[system, segment] = number


def _spans(answer: Record) -> tuple[ErrorSpan, ...]:
    """Read spans, whose end is excluded, and what has no place: omissions, ignored instructions."""
    spans = [
        ErrorSpan(
            error.text("category") or "",
            error.text("severity") or "",
            error.whole("start"),
            error.whole("end"),
        )
        for error in answer.objects("errors")
    ]
    omission = answer.text("omission")
    spans += [ErrorSpan("omission", omission)] if omission else []
    spans += [ErrorSpan("instruction fault", "major")] if answer.get("instruction_fault") else []
    return tuple(spans)


def _recognise(view: FileView) -> bool:
    keys = {"hyps", "task1_pred", "task2_pred", "task3_pred"}
    return view.record is not None and "item_id" in view.record and bool(keys & set(view.record))


FORMAT = SetFormat(
    name="WMT26 metrics task",
    gives=EvalSet,
    known_by="JSON lines with item_id and hyps, task1_pred, task2_pred or task3_pred",
    example='{"item_id": "official_###_eng_Latn_###_deu_Latn_###_news_###_d1_###_0", '
    '"src": "Yes.", "hyps": {"A": "Nein."}, "task1_pred": {"A": {"errors": [{"start": 0, '
    '"end": 4, "severity": "major"}], "omission": null}}, "task2_pred": {"A": 20}, '
    '"task3_pred": {"A": 0}}\n',
    example_name="submission.jsonl",
    rated=True,
    recognise=_recognise,
    read=_read,
)
