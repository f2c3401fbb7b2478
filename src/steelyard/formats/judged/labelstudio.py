"""Exports of Label Studio: JSON with all annotations, JSON-MIN, CSV and TSV with a row for each.

What was judged (system, segment, document) stands in the data of a task under any name, so that
usual names are known and ``columns`` gives others. Ratings, numbers and choices that are numbers
are scores, labels of spans are errors, and pairwise answers are battles. A span's severity may be a
choice of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.text import listed, plural
from steelyard.data.judgements import BattleLog, Ratings
from steelyard.formats import files, guessing, roles, tables
from steelyard.formats.cells import GAPS, label, parse_number
from steelyard.formats.format import ForeignFormat
from steelyard.formats.judged import battles, directassessment, errorlists, offsets
from steelyard.formats.judged.gathering import NOBODY
from steelyard.formats.judged.labelregions import LABELS, Answer, Span, parted
from steelyard.formats.rawtable import RawTable
from steelyard.formats.record import Record, records
from steelyard.formats.view import FileView

_NUMBERS = ("rating", "number")
_SEVERITIES = ("neutral", "minor", "major", "critical")
#: Columns of JSON-MIN and CSV that are the tool's own.
_OWN = ("id", "annotation_id", "annotator", "lead_time", "created_at", "updated_at", "agreement")
#: What a task may call things that mean something else among judgements.
_TAKEN = {*roles.RATER, *roles.RATING, *roles.ERROR_VALUE, *roles.SECONDS, *roles.START,
          *roles.END, *roles.ITEM, *roles.OUTCOME, *roles.WEIGHT, *roles.TIME, roles.ERRORS,
          roles.CATEGORY, roles.SEVERITY, roles.BETTER, roles.WORSE}  # fmt: skip


@dataclass
class _Annotation:
    """What one person said of one task."""

    line: int
    rater: str
    data: dict[str, Any]
    seconds: float | None
    numbers: dict[str, float | None] = field(default_factory=dict)
    spans: list[dict[str, Any]] = field(default_factory=list)
    selected: str | None = None


class _Export:
    """The annotations of a file, and what was left out of it."""

    def __init__(self, view: FileView) -> None:
        self.view = view = view.known_as("Label Studio export")
        self.found: list[_Annotation] = []
        self.dropped: Counter[tuple[str, str]] = Counter()  # what, and what became of it
        self.unused: dict[str, set[str]] = {}  # names of controls that hold no scores, with answers
        whole = view.has("data", "annotations")
        for own in self._tasks() if whole else self._rows():
            self.found.append(own)
        if not self.found:
            view.fail("holds no annotation")

    def _tasks(self) -> Iterator[_Annotation]:
        for task in records(self.view):
            data = task.object("data")
            for made in task.objects("annotations"):
                if made.get("was_cancelled") is True:
                    self.dropped["cancelled annotation", "left out"] += 1
                    continue
                if made.get("ground_truth") is True:
                    self.dropped["annotation", "marked as ground truth and kept"] += 1
                if isinstance(made.get("completed_by"), dict):
                    person = made.object("completed_by")
                    rater = person.optional_name("id") or person.optional_name("email")
                else:
                    rater = made.optional_name("completed_by")
                took = made.number("lead_time", words=True)
                own = _Annotation(made.line, rater or NOBODY, data.values, took)
                self._take(own, [
                    Answer(result.text("from_name") or result.text("type") or "",
                            result.get("id"), result.object("value"))
                    for result in made.objects("result")
                    if result.get("value") is not None
                ])  # fmt: skip
                yield own

    def _rows(self) -> Iterator[_Annotation]:
        """Read a flat export: cells that are lists or objects are answers, others are data."""
        table = tables.read(self.view.path, is_text=lambda name: name != "lead_time")
        columns = {
            name: cells.tolist() if isinstance(cells, np.ndarray) else cells
            for name, cells in table.columns.items()
        }
        rows = []
        for row in range(table.n_rows):
            line = table.line(row)
            values = {name: self._unpacked(cells[row], line) for name, cells in columns.items()}
            rows.append(Record(self.view, line, values))
        answers = {n for row in rows for n, cell in row.values.items() if _is_answer(cell)}
        for made in rows:
            data = {n: c for n, c in made.values.items() if n not in _OWN and n not in answers}
            rater = made.optional_name("annotator") or NOBODY
            own = _Annotation(made.line, rater, data, made.number("lead_time", words=True))
            given = []
            for name in sorted(answers & made.values.keys()):
                cell = made.get(name)
                if isinstance(cell, list):
                    given += [Answer(name, None, value) for value in made.objects(name)]
                elif cell:  # one choice stands alone, several in an object
                    one = cell if isinstance(cell, dict) else {"choices": [cell]}
                    value = Record(self.view, made.line, one, f"{name}.")
                    given.append(Answer(name, None, value))
            self._take(own, given)
            yield own

    def _unpacked(self, cell: Any, line: int) -> Any:
        """Give a cell of a delimited file, parsed if it is JSON that lists answers."""
        if not isinstance(cell, str) or not cell.startswith(("[{", '{"choices"')):
            return cell
        return files.parse_json(cell, self.view.path, line)

    def _take(self, own: _Annotation, given: Sequence[Answer]) -> None:
        """Take the answers of an annotation: those of a span are no answers to the whole."""
        spans, whole = parted(given)
        found: dict[str, list[Answer]] = {}
        for one in whole:
            if self._answer(own, one):
                found.setdefault(one.name, []).append(one)
        for name, answers in found.items():
            if len(answers) > 1:
                said = f"control '{name}' has {len(answers)} answers in one annotation"
                answers[-1].value.fail(f"{said}, expected one, or labels of the spans they are of")
            if answers[0].place is not None:
                self.dropped["answer", "on a part of the text taken for the whole"] += 1
        own.spans += [self._span(own, span) for span in spans]

    def _answer(self, own: _Annotation, one: Answer) -> bool:
        """Take an answer to the whole; tell whether it is one that there can be one of only."""
        name, value = one.name, one.value
        numeric = next((key for key in _NUMBERS if key in value.values), None)
        if numeric is not None:
            own.numbers[name] = value.number(numeric, words=True)
            return True
        if "selected" in value.values:
            own.selected = value.choice("selected", ("left", "right"))
            return True
        chosen = one.chosen
        number = parse_number(chosen[0]) if len(chosen) == 1 and chosen[0] not in GAPS else None
        if number is not None:
            own.numbers[name] = number
            return True
        self.unused.setdefault(name, set()).update(chosen)
        return False

    def _severity(self, labels: Sequence[str], others: Sequence[Answer]) -> str | None:
        """Give the severity of a span, among its labels or as a choice; one has one only."""
        found = [one for one in labels if one.casefold() in _SEVERITIES][:1]
        for answer in others:
            said = [one for one in answer.chosen if one.casefold() in _SEVERITIES]
            if not said:
                self.dropped["answer", f"to '{answer.name}' of a span not used"] += 1
            found += said
            if len({one.casefold() for one in found}) > 1:
                answer.value.fail(f"a span is {' and '.join(found)}, expected one severity")
        return found[0] if found else None

    def _span(self, own: _Annotation, span: Span) -> dict[str, Any]:
        given, others = span
        value = given[0].value
        labels = [label for one in given for label in one.value.texts(str(one.labels))]
        if not labels:
            value.wrong(str(given[0].labels), "a list of texts, at least one")
        severity = self._severity(labels, others) or labels[0]
        kinds = [one for one in labels if one.casefold() != severity.casefold()]
        exact = value.get("globalOffsets") is not None
        place = value.object("globalOffsets") if exact else value
        start, end = place.get("start"), place.get("end")
        if isinstance(start, str) and isinstance(end, str):
            start = end = None  # paths in a page, which no text of the task answers to
            self.dropped["span", "without a place in the text"] += 1
        for bound in ("start", "end"):
            found = place.get(bound)
            if isinstance(found, bool) or not isinstance(found, int | str | None):
                place.wrong(bound, "a whole number")
        if (start is None) != (end is None) or isinstance(start, str) != isinstance(end, str):
            place.wrong("start", "a start and an end")
        if start is not None:
            start, end = self._checked(own, value.text("text"), start, end)
        kind = "/".join(kinds) or None
        return {"start": start, "end": end, "category": kind, "severity": severity}

    def _checked(self, own: _Annotation, text: str | None, start: int, end: int) -> tuple[int, int]:
        """Look for the marked text: a browser may have counted UTF-16 units."""
        shown = [cell for cell in own.data.values() if isinstance(cell, str)]
        if text is None or any(cell[start:end] == text for cell in shown):
            return start, end
        for cell in shown:
            first, last = offsets.in_characters(cell, start, end)
            if cell[first:last] == text:
                self.dropped["span", "counted in UTF-16 units and corrected"] += 1
                return first, last
        self.dropped["span", "not where the text is that it quotes"] += 1
        return start, end

    @property
    def notes(self) -> list[str]:
        """What was left out, once each."""
        notes = [
            f"{plural(count, noun)} {rest}" for (noun, rest), count in sorted(self.dropped.items())
        ]
        if self.unused:
            notes.append(f"not used, no scores: {listed(sorted(self.unused), 8)}")
        return [self.view.note(said) for said in notes]

    def table(self, columns: dict[str, list[Any]], needed: dict[str, str]) -> RawTable:
        """Give the columns beside what the tasks say, as far as names are free."""
        taken = _TAKEN | columns.keys()
        named = dict.fromkeys(name for own in self.found for name in own.data)
        given: dict[str, list[Any]] = {}
        left = []
        for name in named:
            cells = [own.data.get(name) for own in self.found]
            nested = [isinstance(cell, (dict, list, bool)) for cell in cells if cell is not None]
            if all(nested) or not name.strip():
                continue
            if name in taken or any(nested):
                left.append(name)
            elif any(label(cell) for cell in cells):
                given[name] = cells
        notes = self.notes
        if left:
            notes.append(self.view.note(f"data of tasks not used: {', '.join(left)}"))
        return RawTable(
            self.view.path,
            {**given, **columns},
            len(self.found),
            lambda row: self.found[row].line,
            blank_is_missing=False,
            notes=tuple(notes),
            needed=needed,
        )


def _is_answer(cell: object) -> bool:
    """Tell an answer from the data of a task, which may hold lists, too."""
    if isinstance(cell, dict):
        return "choices" in cell
    keys = (*_NUMBERS, *LABELS, "selected", "text", "choices")
    return isinstance(cell, list) and any(
        isinstance(one, dict) and any(key in one for key in keys) for one in cell
    )


def _named(table: RawTable) -> RawTable:
    """Find the system and the segment among the data; say what is lacking if nobody gives it."""
    keys = listed([name for name in table.columns if name not in _TAKEN], 8)
    notes = list(table.notes)
    if roles.SYSTEM[0] not in table:
        also = next((name for name in roles.SYSTEM_ALSO if name in table), None)
        if also is not None:
            table = roles.called(table, also, roles.SYSTEM[0])
            notes.append(f"{table.place}: '{also}' is taken as the system")
    said: list[str] = []
    if sum(roles.says_id(name) for name in table.columns) == 1:
        table, said = guessing.numbered(table)
    needed = {
        role: f'no data of a task names the {role} (found {keys}); columns={{"{role}": "KEY"}} '
        "says which does"
        for role in ("system", "segment")
    }
    return replace(table, notes=(*notes, *said), needed={**needed, **table.needed})


def _scores(export: _Export) -> tuple[dict[str, list[Any]], dict[str, str], dict[str, str]]:
    """Give the column of scores, or one for each control that has numbers; what it is called."""
    names = list(dict.fromkeys(name for own in export.found for name in own.numbers))
    cells = {name: [own.numbers.get(name) for own in export.found] for name in names}
    if len(names) == 1:
        return {"score": cells[names[0]]}, {"score": names[0]}, {}
    if names:
        choose = f'columns={{"score": "{names[0]}"}}'
        said = f"{' and '.join(names)} could each be the score: choose with {choose}"
        return cells, {}, {"score": said}
    words = {name: sorted(own) for name, own in export.unused.items() if own}
    shown = "; ".join(f"'{name}' holds {listed(own)}" for name, own in words.items())
    said = f"no control gives numbers{f' ({shown})' if shown else ''}: words are no scores; "
    said += 'export choices that are numbers, or name a column of numbers with columns={"score": '
    return {}, {}, {"score": said + '"NAME"}'}


def unfold_ratings(view: FileView) -> RawTable:
    """Give a row per annotation, with its score."""
    export = _Export(view)
    scores, given, needed = _scores(export)
    table = export.table({**_people(export.found), **scores}, needed)
    return _named(replace(table, given=given))


def unfold_errors(view: FileView) -> RawTable:
    """Give a row per annotation, with its errors and its score, if there is one."""
    export = _Export(view)
    scores, given, needed = _scores(export)
    marked = {"errors": [own.spans for own in export.found]}
    table = export.table({**_people(export.found), **marked, **scores}, needed if scores else {})
    return _named(replace(table, given=given))


def _people(found: Iterable[_Annotation]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"rater": [own.rater for own in found]}
    seconds = [own.seconds for own in found]
    return columns | ({} if all(took is None for took in seconds) else {"seconds": seconds})


def unfold_pairs(view: FileView) -> RawTable:
    """Give a row per answer to which of two is better."""
    export = _Export(view)
    answered = [own for own in export.found if own.selected is not None]
    if len(answered) < len(export.found):
        lost = len(export.found) - len(answered)
        export.dropped["annotation", "without a choice of left or right left out"] = lost
    for name in sorted({name for own in answered for name in own.numbers}):
        export.unused.setdefault(name, set())
    export.found = answered
    if not answered:
        view.fail("holds no choice of left or right")
    judged: dict[str, list[Any]] = {
        "judge": [own.rater for own in answered],
        "outcome": [o.selected for o in answered],
    }
    return export.table(judged, {
        side: f'no data of a task names the {side} system; columns={{"{side}": "KEY"}} says which'
        for side in ("left", "right")
    })  # fmt: skip


def _seen(view: FileView) -> bool:
    """Tell an export from other files: by keys of JSON, or by the tool's own columns."""
    if view.record is not None:
        return view.has("data", "annotations") or _is_flat(view)
    head = view.first_lines[0] if view.first_lines else ""
    names = {name.strip('"') for name in head.replace("\t", ",").split(",")}
    return names >= {"annotation_id", "annotator", "lead_time"}


def _is_flat(view: FileView) -> bool:
    """Tell JSON-MIN from a table of annotations: it has times, or answers that are objects."""
    if not view.has("annotation_id", "annotator", "id"):
        return False
    timed = view.has("lead_time") or view.has("created_at")
    return timed or any(isinstance(cell, (dict, list)) for cell in (view.record or {}).values())


def _holds(view: FileView, key: str) -> bool:
    return f'"{key}"' in view.text or f'""{key}""' in view.text


def _pairs(view: FileView) -> bool:
    return _seen(view) and _holds(view, "selected")


def _errors(view: FileView) -> bool:
    return _seen(view) and (_holds(view, "labels") or _holds(view, "hypertextlabels"))


_KNOWN = "JSON with data and annotations, or JSON-MIN, CSV, TSV with annotation_id and annotator"
_FILES = ("project-*-at-*.json", "project-*-at-*.csv", "project-*-at-*.tsv")
_FILE = "project-1-at-2026-11-17-10-00.json"
_EXAMPLE = (
    '[{"id": 1, "data": {%s, "segment": 0}, "annotations": [{"completed_by": 1, '
    '"result": [{"from_name": "%s", "type": "%s", "value": %s}]}]}]\n'
)
_ONE, _TWO = '"system": "A"', '"model_a": "A", "model_b": "B"'
PAIRS = ForeignFormat(
    name="Label Studio pairs",
    gives=BattleLog,
    known_by=f"{_KNOWN}; answers are left or right",
    example=_EXAMPLE % (_TWO, "better", "pairwise", '{"selected": "left"}'),
    example_name=_FILE,
    recognise=_pairs,
    unfold=unfold_pairs,
    becomes=battles.FORMAT,
    files=_FILES,
)
ERRORS = ForeignFormat(
    name="Label Studio spans",
    gives=Ratings,
    known_by=f"{_KNOWN}; spans have labels",
    example=_EXAMPLE % (_ONE, "errors", "labels", '{"start": 0, "end": 3, "labels": ["Minor"]}'),
    example_name=_FILE,
    recognise=_errors,
    unfold=unfold_errors,
    becomes=errorlists.FORMAT,
    files=_FILES,
)
RATINGS = ForeignFormat(
    name="Label Studio ratings",
    gives=Ratings,
    known_by=f"{_KNOWN}; a rating, a number or a choice for each",
    example=_EXAMPLE % (_ONE, "quality", "rating", '{"rating": 4}'),
    example_name=_FILE,
    recognise=_seen,
    unfold=unfold_ratings,
    becomes=directassessment.FORMAT,
    files=_FILES,
)
