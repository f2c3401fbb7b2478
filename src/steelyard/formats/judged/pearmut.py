"""Logs of pearmut: an entry per document that a person submitted, with its texts.

``item`` and ``annotation`` are parallel lists, one element per segment; an annotation holds scores
and spans per system. A person may submit a document again, meet it again with other systems, or be
reset: the last rating of a person, item and system counts. Spans include their end and count UTF-16
units, as browsers do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.format import SetFormat
from steelyard.formats.judged import offsets
from steelyard.formats.judged.errorlists import Rating
from steelyard.formats.judged.gathering import HUMAN, Gathering
from steelyard.formats.record import Record, records, within
from steelyard.formats.view import FileView

_RESET = "__RESET__"
_CHECK = "random_"
_NO_DATA = ("welcome_", _CHECK, "goodbye_")
_DOWNLOAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*\{')
_MARK = "_#_"


def read(view: FileView, lp: str | None, where: tuple[tuple[str, str], ...]) -> EvalSet:
    """Read what counts of a log: texts, ratings with their spans, and the mean of the scores."""
    view = view.known_as("pearmut log")
    reader = _Reader(view)
    for entry, earlier in _last(_entries(view, dict(where).get("campaign"))):
        reader.entry(entry, earlier)
    return reader.found.evalset(lp, reader.notes())


def _entries(view: FileView, campaign: str | None) -> Iterator[Record]:
    """Yield all entries: the lines of a log, or those of one campaign of a download."""
    if not _is_download(view):
        own = view.stem
        if campaign not in (None, own):
            view.fail(f"no campaign '{campaign}'; the log is of '{own}'")
        yield from records(view)
        return
    names = list(view.document)
    if campaign is None and len(names) > 1:
        raise UsageError(
            f"{view.path}: holds {len(names)} campaigns ({listed(names, 8)}); choose one with "
            f'where={{"campaign": "{names[0]}"}}'
        )
    chosen = campaign or names[0]
    if chosen not in names:
        view.fail(f"no campaign '{chosen}'; found: {listed(names, 8)}")
    yield from within(view, chosen)


Outputs = set[tuple[int, str]]  # of a document: the number of the segment, and the system


def _last(entries: Iterator[Record]) -> list[tuple[Record, Outputs]]:
    """Give the entries since a person's last reset, each with the outputs that a later one rates.

    Screens that hold no data count by their last entry alone.
    """
    kept: dict[str, dict[str, list[Record]]] = {}
    for entry in entries:
        person = entry.name("user_id")
        if entry.get("annotation") == _RESET:
            kept.pop(person, None)
            continue
        kept.setdefault(person, {}).setdefault(entry.name("item_i"), []).append(entry)
    chosen: list[tuple[Record, Outputs]] = []
    for documents in kept.values():
        for document, same in documents.items():
            if document.startswith(_NO_DATA):
                chosen.append((same[-1], set()))
                continue
            later: Outputs = set()
            for entry in reversed(same):
                shown = _shown(entry)
                chosen.append((entry, shown & later))
                later |= shown
    return chosen


def _shown(entry: Record) -> Outputs:
    """Give the outputs on a screen: those with an answer, else all that the item has."""
    items, judged = _parallel(entry)
    return {
        (k, system)
        for k, (item, own) in enumerate(zip(items, judged, strict=True))
        for system in (own if isinstance(own, dict) else item.inner("tgt").names() or [""])
    }


class _Reader:
    def __init__(self, view: FileView) -> None:
        self.found = Gathering(view)
        self.counts: Counter[str] = Counter()
        self.checks: dict[str, list[int]] = {}  # attention checks passed, and all, by rater
        self.documents: dict[tuple[str, ...], str] = {}
        self.unscored: list[Rating] = []

    def notes(self) -> list[str]:
        """Say what does not count; judgements without a score do where nobody gave any."""
        rated = self.found.rated.get(HUMAN, [])
        if all(np.isnan(row.value) for row in rated if row.item == "system"):
            for row in self.unscored:
                self.found.rate(HUMAN, row)
        elif self.unscored:
            self.counts["output without a score or a span left out"] = len(self.unscored)
        notes = []
        for what, count in sorted((+self.counts).items()):
            noun, _, rest = what.partition(" ")
            notes.append(f"{plural(count, noun)} {rest}")
        if self.checks:
            passed = [f"{who} {found} of {all_}" for who, (found, all_) in self.checks.items()]
            notes.append(f"attention checks passed: {listed(sorted(passed), 20)}")
        if any(not np.isnan(row.seconds) for row in rated):
            notes.append("the time that a document took is shared equally by its ratings")
        return [self.found.view.note(said) for said in notes]

    def entry(self, entry: Record, earlier: Outputs) -> None:
        """Read what a person said of a document, but for outputs that a later entry rates."""
        given = entry.optional_name("item_i") or ""
        if given.startswith(_CHECK):
            self._check(entry)
        if given.startswith(_NO_DATA):
            return
        items, judged = _parallel(entry)
        names = [item.optional_name("item_id") for item in items]
        document = self._document(given, names, items)
        rows: list[Rating] = []
        n_rows = 0
        for k, (item, own) in enumerate(zip(items, judged, strict=True)):
            segment = names[k] or f"{document}/{k}"
            if not isinstance(own, dict) and any(number == k for number, _ in earlier):
                continue
            if own is None:
                self.counts["item without an answer left out"] += 1
            elif not isinstance(own, dict):
                self.counts["item with the answer of a form left out"] += 1
            else:
                self._describe(segment, document, item)
                answers = Record(entry.view, entry.start, own, f"{entry.place}annotation[{k}].")
                n_rows += len(own)
                stale = {system for number, system in earlier if number == k}
                self.counts["rating of an output that the same person rated again left out"] += len(
                    stale
                )
                rows += self._ratings(entry, segment, item, answers, stale)
        took = _seconds(entry) / max(n_rows, 1)
        for row in rows:
            timed = row._replace(seconds=took)
            if np.isnan(row.value) and not row.errors:
                self.unscored.append(timed)
            else:
                self.found.rate(HUMAN, timed)

    def _document(self, given: str, names: list[str | None], items: list[Record]) -> str:
        """Name a document: by what its segments' ids share, else by the person's count.

        The same count of two people may be two documents: the texts tell.
        """
        key = tuple(n or i.text("src") or "" for n, i in zip(names, items, strict=True))
        if key not in self.documents:
            shared = {n.rpartition(_MARK)[0] for n in names if n is not None and _MARK in n}
            name = shared.pop() if len(shared) == 1 and None not in names else f"doc{given}"
            taken, number = set(self.documents.values()), 2
            own = name
            while own in taken:
                own, number = f"{name}.{number}", number + 1
            self.documents[key] = own
        return self.documents[key]

    def _describe(self, segment: str, document: str, item: Record) -> None:
        found = self.found
        known = found.described.get(segment, {}).get("document", document)
        found.describe(segment, item, document=known, source=item.text("src"))
        found.refer("ref", segment, item.text("ref"), item)
        texts = item.inner("tgt")
        for system in texts.names():
            found.output(system, segment, texts.text(system), item)

    def _ratings(
        self, entry: Record, segment: str, item: Record, answers: Record, stale: Collection[str]
    ) -> Iterator[Rating]:
        person = entry.name("user_id")
        document = self.found.described[segment]["document"]
        texts = item.inner("tgt")
        for system in answers.names():
            if system in stale:
                continue
            own = answers.inner(system)
            if answers.get(system) is None:
                self.counts["output without an answer left out"] += 1
                continue
            value = own.number("score", words=True)
            if value is None:
                value = _slid(own.inner("sliders"))
            text = texts.text(system) or ""
            spans = tuple(self._span(error, text) for error in own.objects("error_spans"))
            marked = None if own.get("error_spans") is None else spans
            yield Rating(system, segment, person, value, marked, document=document)

    def _span(self, error: Record, text: str) -> ErrorSpan:
        """Read a span; what is marked behind the end of the output is missing in it."""
        found = offsets.included(error, text)
        if found.start is not None and text and found.start >= len(text):
            self.counts["span behind the end of the output taken as an omission"] += 1
            return ErrorSpan(found.category, found.severity, None, None, found.score)
        return found

    def _check(self, entry: Record) -> None:
        """Count the attention checks that a rater passed; their items are no segments."""
        if entry.get("validations") is None:
            return
        passed = entry.list("validations")
        if not all(isinstance(one, bool | None) for one in passed):
            entry.wrong("validations", "a list of true, false or null")
        person = entry.name("user_id")
        found = self.checks.setdefault(person, [0, 0])
        found[0] += sum(one is True for one in passed)
        found[1] += sum(one is not None for one in passed)


def _parallel(entry: Record) -> tuple[list[Record], list[Any]]:
    """Give the items and what was said of each; older logs have one of both, not lists."""
    items, judged = entry.get("item"), entry.get("annotation")
    if isinstance(items, dict) and isinstance(judged, dict):
        return [entry.object("item")], [judged]
    found = list(entry.objects("item"))
    answers = entry.elements("annotation")
    if len(found) != len(answers):
        entry.wrong("annotation", f"a list of {len(found)}, as many as items")
    return found, answers


def _slid(sliders: Record) -> float:
    """Give the mean of sliders, where they are instead of a score."""
    values = [sliders.number(name, words=True) for name in sliders.names()]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _seconds(entry: Record) -> float:
    """Give the time from the first action to the last."""
    times = [action.number("time", words=True) for action in entry.objects("actions")]
    known = [time for time in times if time is not None]
    return max(known) - min(known) if known else float("nan")


def _is_download(view: FileView) -> bool:
    """Tell a download of all campaigns: an object of lists of entries."""
    if not _DOWNLOAD.match(view.head) or not isinstance(view.document, dict):
        return False
    lists = [own for own in view.document.values() if own]
    return bool(lists) and all(
        isinstance(own, list) and isinstance(own[0], dict) and _is_entry(own[0]) for own in lists
    )


def _is_entry(record: dict[str, Any]) -> bool:
    """Tell an entry: many a table has a user_id and an annotation, but in cells."""
    if not {"user_id", "annotation"} <= record.keys():
        return False
    judged = record["annotation"]
    return judged == _RESET or ("item_i" in record and isinstance(judged, (dict, list)))


def recognise(view: FileView) -> bool:
    """Tell a log, or a download, by the keys of its entries."""
    return (view.record is not None and _is_entry(view.record)) or _is_download(view)


FORMAT = SetFormat(
    name="pearmut",
    gives=EvalSet,
    known_by="JSON lines with user_id, item_i, item and annotation; or the dashboard's download",
    example='{"user_id": "u1", "item_i": 0, "item": [{"item_id": "d_#_0", "src": "Yes.", '
    '"tgt": {"A": "Ja."}}], "annotation": [{"A": {"score": 90, "error_spans": []}}]}\n',
    example_name="campaign.jsonl",
    rated=True,
    recognise=recognise,
    read=read,
    columns=frozenset(("campaign",)),
)
