"""Label Studio's JSON export: what was judged stands in the data of a task under any name.

Ratings, numbers and choices are scores, labels of spans are errors (with a choice as severity), and
pairwise answers are battles. Flat exports do not tell which answer is about which span.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from steelyard.core.text import plural
from steelyard.formats import columns as roles
from steelyard.formats.cells import GAPS, parse_number
from steelyard.formats.foreign import Log, Row, foreign
from steelyard.formats.format import ForeignFormat, TableFormat
from steelyard.formats.judged import battles, errors, ratings
from steelyard.formats.judged.builder import NOBODY
from steelyard.formats.view import FileView, Record, Start

_LABELS = ("labels", "hypertextlabels")
_NUMBERS = ("rating", "number")
_SEVERITIES = ("neutral", "minor", "major", "critical")
#: What a task may call things that mean something else among judgements.
_TAKEN = {*roles.RATER, *roles.RATING, *roles.ERROR_VALUE, *roles.SECONDS, *roles.START,
          *roles.END, *roles.ITEM, *roles.OUTCOME, *roles.WEIGHT, *roles.TIME, *roles.JUDGE,
          roles.ERRORS, roles.CATEGORY, roles.SEVERITY, roles.BETTER, roles.WORSE}  # fmt: skip


class _Answer(NamedTuple):
    """What somebody said with one control; answers with one ``id`` are of one span."""

    name: str
    id: object
    value: Record

    @property
    def labels(self) -> str:
        """The key of its labels, blank if it marks no span."""
        return next((key for key in _LABELS if key in self.value.values), "")

    @property
    def chosen(self) -> list[str]:
        """The words of a choice."""
        return self.value.texts("choices") if "choices" in self.value.values else []


@dataclass
class _Annotation:
    """What one person said of one task."""

    start: Start
    rater: str
    data: dict[str, Any]
    seconds: float | None
    scores: dict[str, float | str | None] = field(default_factory=dict)
    spans: list[dict[str, Any]] = field(default_factory=list)
    selected: str | None = None


def _annotations(log: Log) -> list[_Annotation]:
    """Read all annotations, and note what was left out."""
    log.view = log.view.known_as("Label Studio export")
    if not log.view.has("data", "annotations"):
        log.view.fail("is a flat export (JSON-MIN, CSV or TSV): export the project as JSON")
    counts: Counter[str] = Counter()
    annotations = []
    for task in log.records():
        data = task.object("data").values
        for made in task.objects("annotations"):
            if made.get("was_cancelled") is True:
                counts["annotation cancelled and left out"] += 1
                continue
            took = made.number("lead_time", words=True)
            annotation = _Annotation(made.start, _rater(made), data, took)
            _sort(annotation, list(_answers(made)), counts)
            annotations.append(annotation)
    for what, count in sorted(counts.items()):
        noun, _, rest = what.partition(" ")
        log.note(f"{plural(count, noun)} {rest}")
    return annotations


def _rater(made: Record) -> str:
    if not isinstance(made.get("completed_by"), dict):
        return made.optional_name("completed_by") or NOBODY
    person = made.object("completed_by")
    return person.optional_name("id") or person.optional_name("email") or NOBODY


def _answers(made: Record) -> Iterator[_Answer]:
    for result in made.objects("result"):
        if result.get("value") is not None:
            name = result.text("from_name") or result.text("type") or ""
            yield _Answer(name, result.get("id"), result.object("value"))


def _sort(annotation: _Annotation, answers: Sequence[_Answer], counts: Counter[str]) -> None:
    """Tell answers about a span from those about the whole."""
    spans: dict[object, list[_Answer]] = {}
    for number, answer in enumerate(answers):
        if answer.labels:
            spans.setdefault(number if answer.id is None else str(answer.id), []).append(answer)
    about: dict[str, list[_Answer]] = {}
    for answer in answers:
        if answer.labels:
            continue
        if str(answer.id) in spans:
            about.setdefault(str(answer.id), []).append(answer)
        else:
            _take(annotation, answer, counts)
    for key, marks in spans.items():
        annotation.spans.append(_span(annotation, marks, about.get(str(key), ()), counts))


def _take(annotation: _Annotation, answer: _Answer, counts: Counter[str]) -> None:
    """Take an answer to the whole: a number, left or right, or one word of a choice."""
    value, chosen = answer.value, answer.chosen
    numeric = next((key for key in _NUMBERS if key in value.values), None)
    pair = "selected" in value.values
    if not pair and numeric is None and len(chosen) != 1:
        counts[f"answer to '{answer.name}' not used"] += 1
    elif answer.name in annotation.scores or (pair and annotation.selected is not None):
        message = f"control '{answer.name}' has several answers in one annotation"
        value.fail(f"{message}, expected one, or labels of the spans they are of")
    elif pair:
        annotation.selected = value.choice("selected", ("left", "right"))
    elif numeric is not None:
        annotation.scores[answer.name] = value.number(numeric, words=True)
    else:
        number = None if chosen[0] in GAPS else parse_number(chosen[0])
        annotation.scores[answer.name] = chosen[0] if number is None else number


def _span(
    annotation: _Annotation,
    marks: Sequence[_Answer],
    about: Iterable[_Answer],
    counts: Counter[str],
) -> dict[str, Any]:
    """Return the error that a span is; without a known severity its first label is one."""
    value = marks[0].value
    labels = [word for mark in marks for word in mark.value.texts(mark.labels)]
    if not labels:
        value.wrong(marks[0].labels, "a list of texts, at least one")
    severities = [word for word in labels if word.casefold() in _SEVERITIES][:1]
    for answer in about:
        severities += [word for word in answer.chosen if word.casefold() in _SEVERITIES]
        if len({word.casefold() for word in severities}) > 1:
            answer.value.fail(f"a span is {' and '.join(severities)}, expected one severity")
    severity = severities[0] if severities else labels[0]
    kinds = [word for word in labels if word.casefold() != severity.casefold()]
    start, end = _ends(annotation, value, counts)
    return {"start": start, "end": end, "category": "/".join(kinds) or None, "severity": severity}


def _ends(annotation: _Annotation, value: Record, counts: Counter[str]) -> tuple[Any, Any]:
    """Return where a span is; its text tells whether a browser counted UTF-16 units."""
    ends = value.object("globalOffsets") if value.get("globalOffsets") is not None else value
    start, end = ends.get("start"), ends.get("end")
    if isinstance(start, str) and isinstance(end, str):
        counts["span without a place in the text"] += 1  # but in the page that showed it
        return None, None
    if (start, end) == (None, None):
        return None, None
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in (start, end)):
        ends.wrong("start", "whole numbers as start and end")
    text = value.text("text")
    shown = [cell for cell in annotation.data.values() if isinstance(cell, str)]
    if not text or any(cell[start:end] == text for cell in shown):
        return start, end
    for cell in shown:
        first, last = errors.in_characters(cell, start, end)
        if cell[first:last] == text:
            counts["span counted in UTF-16 units and corrected"] += 1
            return first, last
    counts["span not where the text is that it quotes"] += 1
    return start, end


def _row(annotation: _Annotation, controls: Iterable[str], **cells: Any) -> Row:
    """Make a row of cells, and of the data of a task as far as names are free."""
    taken = _TAKEN | {*controls, *cells}
    data = {n: c for n, c in annotation.data.items() if n not in taken and n.strip()}
    return Row(annotation.start, {**annotation.scores, **cells}, {}, data)


def _judgements(log: Log, *, marked: bool) -> Iterator[Row]:
    """Yield a row per annotation, with the answer of every control, and errors if ``marked``."""
    annotations = _annotations(log)
    controls = {name for annotation in annotations for name in annotation.scores}
    for made in annotations:
        spans = {"errors": made.spans} if marked else {}
        yield _row(made, controls, rater=made.rater, seconds=made.seconds, **spans)


def _pairs(log: Log) -> Iterator[Row]:
    """Yield a row per answer to which of two is better."""
    for made in _annotations(log):
        if made.selected is not None:
            yield _row(replace(made, scores={}), (), judge=made.rater, outcome=made.selected)


def _seen(view: FileView) -> bool:
    """Tell an export from other files: by keys of JSON, or by the columns that the tool adds."""
    keys = ("annotation_id", "annotator", "lead_time")
    return view.has("data", "annotations") or view.has(*keys) or set(view.names) >= set(keys)


def _format(
    what: str,
    becomes: TableFormat,
    read: Callable[[Log], Iterator[Row]],
    keys: Sequence[str],
    example: tuple[str, str],
    needed: Sequence[str],
) -> ForeignFormat:
    """Make the format of exports whose text has any of ``keys``, or of all others."""
    quoted = [f'"{key}"' for key in keys] or [""]
    made = foreign(
        f"Label Studio {what}",
        becomes,
        empty="holds no annotation of this kind",
        known_by=f"JSON with data and annotations; {' or '.join(keys) or 'rating'} in results",
        example=f'[{{"id": 1, "data": {{{example[0]}, "segment": 0}}, "annotations": '
        f'[{{"completed_by": 1, "result": [{{"from_name": "q", "value": {example[1]}}}]}}]}}]\n',
        example_name="project-1-at-2026-11-17-10-00.json",
        files=("project-*-at-*.json",),
        recognise=lambda view: _seen(view) and any(key in view.text for key in quoted),
    )(read)
    lacking = {
        role: f'no data of a task names the {role}: columns={{"{role}": "KEY"}} says which does'
        for role in needed
    }
    return replace(made, unfold=lambda view: replace(made.unfold(view), needed=lacking))


_ONE, _TWO = '"system": "A"', '"model_a": "A", "model_b": "B"'
_SPAN = '{"start": 0, "end": 3, "labels": ["Minor"]}'
FORMATS = (
    _format("pairs", battles.FORMAT, _pairs, ("selected",), (_TWO, '{"selected": "left"}'),
            ("left", "right")),
    _format("spans", errors.FORMAT, lambda log: _judgements(log, marked=True), _LABELS,
            (_ONE, _SPAN), ("system", "segment")),
    _format("ratings", ratings.FORMAT, lambda log: _judgements(log, marked=False), (),
            (_ONE, '{"rating": 4}'), ("system", "segment", "score")),
)  # fmt: skip
