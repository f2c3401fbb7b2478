"""What comet-score writes: scores with the texts as JSON, or the lines that it prints.

Systems are the files that were scored, named by their stems as files of texts are. Segments are
numbered from 0, as comet-score prints them. All models call their score COMET.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from steelyard.core.errors import shown_path
from steelyard.data.evalset import EvalSet
from steelyard.formats.format import ForeignFormat
from steelyard.formats.plaintext import stem
from steelyard.formats.recordfields import Record
from steelyard.formats.scoretables import LONG, SYSTEM_TABLE
from steelyard.formats.tables import RawTable, ScoreFacts
from steelyard.formats.view import FileView

SCORE = "COMET"
_LINE = re.compile(r"(.+)\tSegment ([0-9]+)\tscore: (\S+)")
_TOTAL = re.compile(r"([^\t]+)\tscore: (\S+)")
_NAMED = "COMET: systems are called as the files that were scored, segments are numbered from 0"
_FACTS = {SCORE: ScoreFacts(higher_is_better=True)}


def _names(given: Iterable[str]) -> dict[str, str]:
    """Name the files that were scored by their stems, or as they are if two have the same."""
    files = list(dict.fromkeys(given))
    stems = {name: stem(Path(name)).strip() or name for name in files}
    return stems if len(set(stems.values())) == len(files) else {name: name for name in files}


def _recognise(view: FileView) -> bool:
    if not re.match(r'\s*\{\s*"', view.head) or f'"{SCORE}"' not in view.head:
        return False
    document = view.document
    if not isinstance(document, dict) or not all(isinstance(v, list) for v in document.values()):
        return False
    return any(
        isinstance(v, dict) and {"mt", SCORE} <= v.keys() for own in document.values() for v in own
    )


def _unfold(view: FileView) -> RawTable:
    names = _names(view.document)
    rows: list[tuple[Any, ...]] = []
    errors = 0
    for file, items in view.document.items():
        for place, item in enumerate(items):
            where = f"{file}[{place}]."
            if not isinstance(item, dict):
                view.fail(f"'{where[:-1]}' is a {type(item).__name__}, expected an object")
            record = Record(view, None, item, where)
            found = item.get("errors")
            if found is not None:
                errors += len(record.list("errors"))
            texts = (record.text(key) for key in ("mt", "src", "ref"))
            rows.append((names[file], str(place), *texts, record.number(SCORE)))
    columns = ("system", "segment", "output", "source", "reference", SCORE)
    cells = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    if all(text is None for text in cells["reference"]):
        del cells["reference"]  # the model needs none
    notes = [_NAMED]
    if errors:
        notes.append(f"{shown_path(view.path)}: {errors} error spans are not read, only the scores")
    given = {"output": "mt", "source": "src", "reference": "ref"}
    return RawTable(view.path, cells, len(rows), lambda _row: 1, blank_is_missing=False,
                    given=given, facts=_FACTS, notes=tuple(notes))  # fmt: skip


def _printed(view: FileView) -> RawTable:
    """Read the lines of segments; others (means, what else a log holds) are left alone."""
    lines = [(n, m) for n, text in enumerate(view.lines, 1) if (m := _LINE.fullmatch(text))]
    names = _names(match[1] for _, match in lines)
    cells = {
        "system": [names[match[1]] for _, match in lines],
        "segment": [str(int(match[2])) for _, match in lines],
        SCORE: [match[3] for _, match in lines],
    }
    starts = [number for number, _ in lines]
    return RawTable(view.path, cells, len(lines), starts.__getitem__, facts=_FACTS, notes=(_NAMED,))


def _totals(view: FileView) -> RawTable:
    lines = [(n, m) for n, text in enumerate(view.lines, 1) if (m := _TOTAL.fullmatch(text))]
    names = _names(match[1] for _, match in lines)
    cells = {
        "system": [names[match[1]] for _, match in lines],
        SCORE: [match[2] for _, match in lines],
    }
    starts = [number for number, _ in lines]
    return RawTable(view.path, cells, len(lines), starts.__getitem__, facts=_FACTS)


FORMAT = ForeignFormat(
    name="COMET scores",
    gives=EvalSet,
    known_by="JSON of comet-score: {FILE: [{src, mt, COMET}]}",
    example='{"sysA.txt": [{"src": "Ja.", "mt": "Yes.", "ref": "Yes.", "COMET": 0.83}]}\n',
    example_name="comet.json",
    recognise=_recognise,
    files=("*.json",),
    unfold=_unfold,
    becomes=LONG,
)
OUTPUT = ForeignFormat(
    name="COMET output",
    gives=EvalSet,
    known_by="lines that comet-score prints: FILE, Segment I, score: X",
    example="sysA.txt\tSegment 0\tscore: 0.8301\n",
    example_name="comet.txt",
    recognise=lambda view: any(_LINE.fullmatch(line) for line in view.first_lines),
    unfold=_printed,
    becomes=LONG,
)
SYSTEMS = ForeignFormat(
    name="COMET system output",
    gives=EvalSet,
    known_by="lines that comet-score prints: FILE, score: X alone",
    example="sysA.txt\tscore: 0.8033\n",
    example_name="comet-systems.txt",
    recognise=lambda view: any(_TOTAL.fullmatch(line) for line in view.first_lines),
    unfold=_totals,
    becomes=SYSTEM_TABLE,
)
