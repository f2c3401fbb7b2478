"""Files of the WMT25 evaluation task: a header, cells that are not quoted, one method or several.

Task 1 has a score of each output (``overall``), task 2 its errors, task 3 a corrected output. Only
the rows whose ``set_id`` is official count there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.formats.cells import parse_number
from steelyard.formats.format import ForeignFormat
from steelyard.formats.judged import errorlists, wordspans
from steelyard.formats.judged.gathering import HUMAN, torn
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.scoretables import LONG
from steelyard.formats.view import FileView

_SHARED = ("doc_id", "segment_id", "source_lang", "target_lang", "set_id", "system_id", "method")
_TEXTS = {"source": "source_segment", "reference": "reference_segment"}
_GIVEN = {"system": "system_id", "segment": "segment_id", "doc": "doc_id", "domain": "domain_name"}
_SCORE, _EDIT = "overall", "post_edit"
_SCORES, _EDITS = ("hypothesis_segment", _SCORE), ("hypothesis_segment", _EDIT)


@dataclass(frozen=True)
class _Row:
    line: int
    cells: dict[str, str]

    @property
    def lp(self) -> str:
        return f"{self.cells['source_lang']}-{self.cells['target_lang']}"

    @property
    def place(self) -> tuple[str, str]:
        """What segments are numbered in."""
        return self.lp, self.cells["set_id"]


class _Task:
    """The rows of a file, and the columns that all three tasks have."""

    def __init__(self, view: FileView, *names: str) -> None:
        self.view = view
        self.notes: list[str] = []
        self.rows = list(self._read(names))
        if not self.rows:
            view.fail("has a header but no rows")
        pairs: dict[tuple[str, str], list[tuple[str, str | None]]] = {}
        for row in self.rows:
            ids = (row.cells["segment_id"], row.cells["doc_id"])
            pairs.setdefault(row.place, []).append(ids)
        self.by_document = any(torn(own) for own in pairs.values())
        if self.by_document:
            self.note("documents number their segments anew: segments are DOCUMENT/ID")

    def note(self, said: str) -> None:
        self.notes.append(self.view.note(said))

    def _read(self, names: tuple[str, ...]) -> Iterator[_Row]:
        header = (self.view.lines or [""])[0].split("\t")
        for name in (*_SHARED, *names):
            if header.count(name) != 1:
                found = "no column" if name not in header else "more than one column"
                self.view.fail(f"{found} '{name}' in the header", 1)
        for line, cells in self.view.tsv(header):
            for name in _SHARED:
                if not cells[name].strip():
                    self.view.fail(f"column '{name}' is empty, expected a name", line)
            yield _Row(line, cells)

    def segment(self, row: _Row) -> str:
        cells = row.cells
        own = cells["segment_id"]
        return f"{cells['doc_id']}/{own}" if self.by_document else own

    def table(self, rows: list[_Row], more: dict[str, Any], **about: Any) -> RawTable:
        """Give the columns of some rows that say where each belongs, and more."""
        columns: dict[str, Any] = {
            "system": [row.cells["system_id"] for row in rows],
            "segment": [self.segment(row) for row in rows],
            "doc": [row.cells["doc_id"] for row in rows],
            "lp": [row.lp for row in rows],
            "set_id": [row.cells["set_id"] for row in rows],
        }
        return RawTable(
            self.view.path,
            columns | more,
            len(rows),
            lambda i: rows[i].line,
            given=_GIVEN,
            notes=tuple(self.notes),
            **about,
        )

    def described(self, rows: list[_Row]) -> dict[str, Any]:
        """Give domains, sources and references, where the file has any."""
        names = {"domain": "domain_name", **_TEXTS}
        return {
            role: [row.cells[name] or None for row in rows]
            for role, name in names.items()
            if name in rows[0].cells
        }


def unfold_scores(view: FileView) -> RawTable:
    """Give a row per output and a column for every method."""
    task = _Task(view, *_SCORES)
    first: dict[tuple[str, ...], _Row] = {}
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for row in task.rows:
        key = (*row.place, task.segment(row), row.cells["system_id"])
        first.setdefault(key, row)
        number = parse_number(row.cells[_SCORE])
        if number is None or np.isinf(number):
            message = f"column '{_SCORE}': '{row.cells[_SCORE][:40]}' is not a finite number"
            view.fail(message, row.line)
        own = found.setdefault(row.cells["method"], {})
        if key in own:
            view.fail(f"'{row.cells['method']}' scored this output on an earlier line", row.line)
        own[key] = number
    rows = list(first.values())
    scores = {
        name: np.array([own.get(key, np.nan) for key in first]) for name, own in found.items()
    }
    columns = {**task.described(rows), "output": [r.cells["hypothesis_segment"] for r in rows]}
    for name in scores.keys() & {*columns, "system", "segment", "doc", "lp", "set_id"}:
        view.fail(f"a method is called '{name}', which is a column's name")
    facts = {
        name: Stated("human" if name == HUMAN else "metric", higher_is_better=True)
        for name in scores
    }
    return task.table(rows, {**columns, **scores}, facts=facts)


def unfold_errors(view: FileView) -> RawTable:
    """Give a row per output and method, which is the rater."""
    task = _Task(view, *wordspans.COLUMNS)
    marked = [
        wordspans.errors(view, row.line, *(row.cells[name] for name in wordspans.COLUMNS))
        for row in task.rows
    ]
    raters = [row.cells["method"] for row in task.rows]
    return task.table(task.rows, {"rater": raters, "errors": marked})


def unfold_edits(view: FileView) -> RawTable:
    """Give a row per output and one per correction, as of a system SYSTEM+METHOD."""
    task = _Task(view, *_EDITS)
    task.note("corrected outputs are of systems SYSTEM+METHOD, beside the outputs as they were")
    first: dict[tuple[str, ...], _Row] = {}
    for row in task.rows:
        first.setdefault((*row.place, task.segment(row), row.cells["system_id"]), row)
    rows = [*first.values(), *task.rows]
    systems = [row.cells["system_id"] for row in first.values()]
    systems += [f"{row.cells['system_id']}+{row.cells['method']}" for row in task.rows]
    texts = [row.cells["hypothesis_segment"] for row in first.values()]
    texts += [row.cells[_EDIT] for row in task.rows]
    return task.table(rows, {**task.described(rows), "system": systems, "output": texts})


def _with(*names: str) -> Any:
    """Make a test of the header: the columns of all tasks, and these."""

    def recognise(view: FileView) -> bool:
        header = view.first_lines[0].split("\t") if view.first_lines else []
        return {*_SHARED, *names} <= set(header) and len(set(header)) == len(header)

    return recognise


_HEADER = (*_SHARED, "hypothesis_segment")
_EXAMPLE = ("doc1", "0", "en", "de", "official", "A", "metric", "Ein Satz.")


def _example(**more: str) -> str:
    """Give a header and a row."""
    rows = ((*_HEADER, *more), (*_EXAMPLE, *more.values()))
    return "".join("\t".join(row) + "\n" for row in rows)


_COUNTS = ("set_id", "official")
SCORES = ForeignFormat(
    name="WMT25 task 1",
    gives=EvalSet,
    known_by="TSV with set_id, system_id, method and overall",
    example=_example(**{_SCORE: "81.5"}),
    example_name="task1.tsv",
    recognise=_with(*_SCORES),
    unfold=unfold_scores,
    becomes=LONG,
    counts=_COUNTS,
)
ERRORS = ForeignFormat(
    name="WMT25 task 2",
    gives=Ratings,
    known_by="TSV with set_id, system_id, method, start_indices, end_indices and error_types",
    example=_example(**dict(zip(wordspans.COLUMNS, ("4", "8", "minor"), strict=True))),
    example_name="task2.tsv",
    recognise=_with(*wordspans.COLUMNS),
    unfold=unfold_errors,
    becomes=errorlists.FORMAT,
    counts=_COUNTS,
)
EDITS = ForeignFormat(
    name="WMT25 task 3",
    gives=EvalSet,
    known_by="TSV with set_id, system_id, method and post_edit",
    example=_example(**{_EDIT: "Ein Satz!"}),
    example_name="task3.tsv",
    recognise=_with(*_EDITS),
    unfold=unfold_edits,
    becomes=LONG,
    counts=_COUNTS,
)
