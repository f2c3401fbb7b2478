"""WMT26: logs of pearmut, and the metrics task.

A log of pearmut has an entry per screen that a person submitted, with its texts.

``item`` and ``annotation`` are parallel lists, one element per segment; an annotation holds scores
and spans per system. A person may be reset, or submit a screen again: the last rating of a person,
item and system counts. In a dynamic campaign (WMT26), where a person meets an item again with other
systems, every rating counts. Ids of items may name domain, document and segment
(``news_###_doc1_###_0``). Spans include their end and count UTF-16 units; behind the output stand
the special tokens, which count one each: ``[missing]`` and ``[instructions fault]``.

The metrics task has a line per item, with its texts and what a metric says of each output:
``task1_pred`` has error spans of each system, ``task2_pred`` scores, ``task3_pred`` whether outputs
are free of errors. Ids name language pair, domain, document and segment; items of challenge sets
are not scored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.format import SetFormat
from steelyard.formats.judged import errors
from steelyard.formats.judged.builder import HUMAN, Builder, Rating, language_pair
from steelyard.formats.view import FileView, Record, records, within

_RESET = "__RESET__"
_NO_DATA = ("welcome_", "tutorial", "random_", "goodbye_")  # how the numbers of such screens begin
_NO_ITEM = re.compile("attention_check_|.*_#_tutorial_#_")  # ... and the ids of their items
_FAULT = "instructions fault"
_DOWNLOAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*\{')
_MARK, _SHORT_MARK = "_###_", "_#_"  # between the parts of an item's id


def _read(view: FileView, lp: str | None, where: tuple[tuple[str, str], ...]) -> EvalSet:
    reader = _Reader(Builder(view.known_as("pearmut log")))
    entries = _since_reset(_entries(reader.builder.view, dict(where).get("campaign")))
    named = any(_MARK in str(entry.get("item")) for entry in entries)
    for entry in entries:
        reader.entry(entry, named=named)
    return reader.evalset(lp)


def _entries(view: FileView, campaign: str | None) -> Iterator[Record]:
    download = _is_download(view)
    names = list(view.document) if download else [view.stem]
    if campaign is None and len(names) > 1:
        raise UsageError(
            f"{view.path}: holds {len(names)} campaigns ({listed(names, 8)}); choose one with "
            f'where={{"campaign": "{names[0]}"}}'
        )
    chosen = campaign or names[0]
    if chosen not in names:
        view.fail(f"no campaign '{chosen}'; found: {listed(names, 8)}")
    yield from within(view, chosen) if download else records(view)


def _since_reset(entries: Iterator[Record]) -> list[Record]:
    kept: list[tuple[str, Record]] = []
    for entry in entries:
        person = entry.name("user_id")
        if entry.get("annotation") == _RESET:
            kept = [pair for pair in kept if pair[0] != person]
        else:
            kept.append((person, entry))
    return [entry for _, entry in kept]


@dataclass
class _Reader:
    """A log that is being read.

    ``ratings`` are those of each person, segment and system, in order; ``shown`` the systems of
    each screen on which a person met a segment; ``documents`` those without a name, by their texts.
    """

    builder: Builder
    ratings: dict[tuple[str, str, str], list[Rating]] = field(default_factory=dict)
    shown: dict[tuple[str, str], set[frozenset[str]]] = field(default_factory=dict)
    documents: dict[tuple[str, ...], str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    n_screens: int = 0

    def evalset(self, lp: str | None) -> EvalSet:
        """Make the set; judgements without a score count where nobody gave any."""
        rows = [row for tries in self.ratings.values() for row in tries]
        if all(len(screens) == 1 for screens in self.shown.values()):  # a screen submitted again
            changed = "rating that the same person changed later left out"
            self.counts[changed] = len(rows) - len(self.ratings)
            rows = [tries[-1]._replace(unit=None) for tries in self.ratings.values()]
        if any(not np.isnan(row.value) for row in rows):
            n_ratings = len(rows)
            rows = [row for row in rows if row.errors or not np.isnan(row.value)]
            self.counts["output without a score or a span left out"] += n_ratings - len(rows)
        for row in rows:
            self.builder.rate(HUMAN, row)
        counted = [(what.partition(" "), count) for what, count in sorted((+self.counts).items())]
        notes = [f"{plural(count, noun)} {rest}" for (noun, _, rest), count in counted]
        if any(not np.isnan(row.seconds) for row in rows):
            notes.append("the time that a document took is shared equally by its ratings")
        return self.builder.evalset(lp, notes)

    def entry(self, entry: Record, *, named: bool) -> None:
        """Read what a person said on a screen; where items have names, one without is a check."""
        person, number = entry.name("user_id"), entry.name("item_i")
        if number.startswith(_NO_DATA):
            return
        items, judged = _parallel(entry)
        names = [item.optional_name("item_id") for item in items]
        first = (names[0] if names else None) or ("attention_check_" if named else "")
        if _NO_ITEM.match(first):
            return
        document, domain = self._document(number, names, items)
        self.n_screens += 1
        screen = str(self.n_screens)
        n_ratings = sum(len(answers) for answers in judged if isinstance(answers, dict))
        seconds = _seconds(entry) / max(n_ratings, 1)
        for k, (item, answers) in enumerate(zip(items, judged, strict=True)):
            segment = names[k] or f"{document}/{k}"
            systems = list(item.inner("tgt").names())
            if not isinstance(answers, dict):
                what = "without an answer" if answers is None else "with the answer of a form"
                self.counts[f"item {what} left out"] += 1
                for system in systems:  # an earlier answer is taken back
                    self.ratings.pop((person, segment, system), None)
                continue
            self._describe(segment, document, domain, item)
            self.shown.setdefault((person, segment), set()).add(frozenset(systems))
            inner = Record(entry.view, entry.start, answers, f"{entry.place}annotation[{k}].")
            for rating in self._ratings(person, segment, item, inner):
                tries = self.ratings.setdefault((person, segment, rating.system), [])
                tries.append(rating._replace(seconds=seconds, unit=screen))

    def _document(
        self, number: str, names: list[str | None], items: list[Record]
    ) -> tuple[str, str | None]:
        """Name a document and its domain: by what ids share, else by the number of the screen.

        The same number of two people may be two documents: the texts tell.
        """
        parts = {_parts(name)[:2] if name else (None, "") for name in names}
        domain, document = next(iter(parts), (None, ""))
        if len(parts) == 1 and document:
            return document, domain
        texts = tuple(n or i.text("src") or "" for n, i in zip(names, items, strict=True))
        if texts not in self.documents:
            name, copies = f"doc{number}", 1
            while name in self.documents.values():
                copies += 1
                name = f"doc{number}.{copies}"
            self.documents[texts] = name
        return self.documents[texts], None

    def _describe(self, segment: str, document: str, domain: str | None, item: Record) -> None:
        builder = self.builder
        first = builder.described.get(segment, {}).get("document", document)
        source = item.text("src")
        builder.describe(segment, item, document=first, domain=domain, source=source)
        builder.refer("ref", segment, item.text("ref"), item)
        texts = item.inner("tgt")
        for system in texts.names():
            builder.output(system, segment, texts.text(system), item)

    def _ratings(
        self, person: str, segment: str, item: Record, answers: Record
    ) -> Iterator[Rating]:
        about = self.builder.described[segment]
        texts = item.inner("tgt")
        for system in answers.names():
            answer = answers.inner(system)
            if answers.get(system) is None:
                self.counts["output without an answer left out"] += 1
                continue
            value = answer.number("score", words=True)
            if value is None:
                sliders = answer.inner("sliders")
                numbers = [sliders.number(name, words=True) for name in sliders.names()]
                filled = [number for number in numbers if number is not None]
                value = float(np.mean(filled)) if filled else np.nan
            text = texts.text(system) or ""
            spans = tuple(self._span(error, text) for error in answer.objects("error_spans"))
            marked = None if answer.get("error_spans") is None else spans
            document, domain = about["document"], about.get("domain")
            yield Rating(system, segment, person, value, marked, document=document, domain=domain)

    def _span(self, error: Record, text: str) -> ErrorSpan:
        """Read a span; what is marked behind the end of the output is a special token."""
        span = errors.included(error, text)
        if span.start is None or not text or span.start < len(text):
            return span
        fault = (error.number("start_i") or 0) > len(text.encode("utf-16-le")) // 2
        what = "a fault of instructions" if fault else "an omission"
        self.counts[f"span behind the end of the output taken as {what}"] += 1
        category = span.category or (_FAULT if fault else "")
        return ErrorSpan(category, span.severity, None, None, span.score)


def _parts(name: str) -> tuple[str | None, str, str]:
    """Split an item's id into domain, document and segment; blank where it does not name them."""
    if _MARK in name:
        domain, _, rest = name.partition(_MARK)
        document, mark, segment = rest.rpartition(_MARK)
        return (domain, document, segment) if mark else (None, domain, segment)
    document, _, segment = name.rpartition(_SHORT_MARK)
    return None, document, segment


def _parallel(entry: Record) -> tuple[list[Record], list[Any]]:
    """Return the items and what was said of each; older logs have one of both, not lists."""
    item, judged = entry.get("item"), entry.get("annotation")
    if isinstance(item, dict) and isinstance(judged, dict):
        return [entry.object("item")], [judged]
    items = list(entry.objects("item"))
    answers = entry.elements("annotation")
    if len(items) != len(answers):
        entry.wrong("annotation", f"a list of {len(items)}, as many as items")
    return items, answers


def _seconds(entry: Record) -> float:
    times = [action.number("time", words=True) for action in entry.objects("actions")]
    numbers = [time for time in times if time is not None]
    return max(numbers) - min(numbers) if numbers else float("nan")


def _is_download(view: FileView) -> bool:
    """Tell a download of all campaigns: an object of lists of entries."""
    if not _DOWNLOAD.match(view.head) or not isinstance(view.document, dict):
        return False
    lists = [entries for entries in view.document.values() if entries]
    return bool(lists) and all(
        isinstance(entries, list) and isinstance(entries[0], dict) and _is_entry(entries[0])
        for entries in lists
    )


def _is_entry(record: dict[str, Any]) -> bool:
    """Tell an entry: many a table has a user_id and an annotation, but in cells."""
    if not {"user_id", "annotation"} <= record.keys():
        return False
    judged = record["annotation"]
    return judged == _RESET or ("item_i" in record and isinstance(judged, (dict, list)))


def _recognise(view: FileView) -> bool:
    return (view.record is not None and _is_entry(view.record)) or _is_download(view)


CAMPAIGN = SetFormat(
    name="pearmut",
    gives=EvalSet,
    known_by="JSON lines with user_id, item_i, item and annotation; or the dashboard's download",
    example='{"user_id": "u1", "item_i": 0, "item": [{"item_id": "d_#_0", "src": "Yes.", '
    '"tgt": {"A": "Ja."}}], "annotation": [{"A": {"score": 90, "error_spans": []}}]}\n',
    example_name="campaign.jsonl",
    rated=True,
    recognise=_recognise,
    read=_read,
    columns=frozenset(("campaign",)),
)


# The metrics task.

SPANS, SCORES, CLEAN = "task1", "task2", "task3"
_CHALLENGE = "challenge_###_"
_METRIC = "metric"


def _read_task(view: FileView, lp: str | None, _where: tuple[tuple[str, str], ...]) -> EvalSet:
    view = view.known_as("WMT26 metrics task")
    items = list(records(view))
    scored = [
        (_task_id(item), item) for item in items if not item.name("item_id").startswith(_CHALLENGE)
    ]
    pairs = dict.fromkeys(pair for (pair, *_), _ in scored)
    pair = language_pair(view, lp, pairs) if pairs else None
    builder = Builder(view)
    for (of_item, domain, document, segment), item in scored:
        if of_item == pair:
            source = item.text("src")
            builder.describe(segment, item, document=document, domain=domain, source=source)
            _add_item(builder, segment, document, item)
    lost = len(items) - len(scored)
    notes = [f"{lost} items of challenge sets are not scored"] if lost else []
    es = builder.evalset(pair or None, notes)
    scores = {name: replace(table, kind="metric") for name, table in es.scores.items()}
    return replace(es, scores=scores)


def _task_id(item: Record) -> tuple[str, str | None, str, str]:
    """Return language pair, domain, document and segment; blank where the id does not name them."""
    name = item.name("item_id")
    parts = name.split(_MARK)
    if len(parts) >= 6:
        return f"{parts[1]}-{parts[2]}", parts[3], parts[-2], _MARK.join(parts[3:])
    # As the id of a campaign: domain, document, segment.
    return "", parts[0] if len(parts) > 2 else None, parts[-2 % len(parts)], name


def _add_item(builder: Builder, segment: str, document: str, item: Record) -> None:
    reference = item.get("ref")
    text = item.inner("ref").text("text") if isinstance(reference, dict) else item.text("ref")
    builder.refer("ref", segment, text, item)
    outputs = item.inner("hyps")
    for system in outputs.names():
        builder.output(system, segment, outputs.text(system), item)
    marked = item.inner("task1_pred")
    for system in marked.names():
        if marked.get(system) is not None:
            spans = _predicted_spans(marked.object(system))
            builder.rate(SPANS, Rating(system, segment, _METRIC, np.nan, spans, document=document))
    for task, key in ((SCORES, "task2_pred"), (CLEAN, "task3_pred")):
        scores = item.inner(key)
        for system in scores.names():
            builder.outputs.setdefault(system, {})
            value = scores.get(system)
            number = float(value) if isinstance(value, bool) else scores.number(system)
            if number is not None:
                builder.scored.setdefault(task, {})[system, segment] = number


def _predicted_spans(answer: Record) -> tuple[ErrorSpan, ...]:
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


def _is_task(view: FileView) -> bool:
    keys = {"hyps", "task1_pred", "task2_pred", "task3_pred"}
    return view.record is not None and "item_id" in view.record and bool(keys & set(view.record))


METRICS_TASK = SetFormat(
    name="WMT26 metrics task",
    gives=EvalSet,
    known_by="JSON lines with item_id and hyps, task1_pred, task2_pred or task3_pred",
    example='{"item_id": "official_###_eng_Latn_###_deu_Latn_###_news_###_d1_###_0", '
    '"src": "Yes.", "hyps": {"A": "Nein."}, "task1_pred": {"A": {"errors": [{"start": 0, '
    '"end": 4, "severity": "major"}], "omission": null}}, "task2_pred": {"A": 20}, '
    '"task3_pred": {"A": 0}}\n',
    example_name="submission.jsonl",
    rated=True,
    recognise=_is_task,
    read=_read_task,
)


FORMATS = (CAMPAIGN, METRICS_TASK)
