"""What comet-score writes: scores with the texts as JSON, or the lines that it prints.

Systems are the files that were scored, named by their stems as files of texts are. Segments are
numbered from 0, as comet-score prints them. All models call their score COMET; files that score the
same outputs name it.
"""

from __future__ import annotations

import re
from typing import Any

from steelyard.data.evalset import EvalSet
from steelyard.formats import files
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable, Stated, from_rows
from steelyard.formats.record import Start, line_at, within
from steelyard.formats.scoretables import LONG, SYSTEM_TABLE
from steelyard.formats.toolscores.bymodel import named_by_file
from steelyard.formats.view import FileView

SCORE = "COMET"
_LINE = re.compile(r"(.+)\tSegment ([0-9]+)\tscore: (\S+)")
_TOTAL = re.compile(r"([^\t]+)\tscore: (\S+)")
_NAMED = "COMET: systems are called as the files that were scored, segments are numbered from 0"
_FACTS = {SCORE: Stated(higher_is_better=True)}


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
    names = files.by_stem(view.document)
    rows: list[dict[str, Any]] = []
    starts: list[Start] = []
    errors = 0
    given = {"output": "mt", "source": "src", "reference": "ref"}
    for file, system in names.items():
        for place, record in enumerate(within(view, file)):
            errors += len(record.elements("errors"))
            texts = {role: record.text(key) for role, key in given.items()}
            score = record.number(SCORE)
            rows.append({"system": system, "segment": str(place), **texts, SCORE: score})
            starts.append(record.start)
    notes = [_NAMED]
    if errors:
        notes.append(view.note(f"{errors} error spans are not read, only the scores"))
    table = from_rows(
        view.path,
        rows,
        lambda row: line_at(starts[row]) or 1,
        given=given,
        facts=_FACTS,
        notes=tuple(notes),
    )
    needed = any(text is not None for text in table.columns["reference"])
    return table if needed else table.without(["reference"])


def _printed(view: FileView, line: re.Pattern[str], *notes: str) -> RawTable:
    """Read the lines of one kind; others (means, what else a log holds) are left alone."""
    found = [(n, m) for n, text in enumerate(view.lines, 1) if (m := line.fullmatch(text))]
    names = files.by_stem(match[1] for _, match in found)
    cells = {"system": [names[match[1]] for _, match in found]}
    if line is _LINE:
        cells["segment"] = [str(int(match[2])) for _, match in found]
    cells[SCORE] = [match[line.groups] for _, match in found]
    starts = [number for number, _ in found]
    return RawTable(view.path, cells, len(found), starts.__getitem__, facts=_FACTS, notes=notes)


FORMAT = ForeignFormat(
    name="COMET scores",
    gives=EvalSet,
    known_by="JSON of comet-score: {FILE: [{src, mt, COMET}]}",
    example='{"sysA.txt": [{"src": "Ja.", "mt": "Yes.", "ref": "Yes.", "COMET": 0.83}]}\n',
    example_name="comet.json",
    recognise=_recognise,
    files=("*.json",),
    unfold=_unfold,
    settle=named_by_file(SCORE),
    becomes=LONG,
)
OUTPUT = ForeignFormat(
    name="COMET output",
    gives=EvalSet,
    known_by="lines that comet-score prints: FILE, Segment I, score: X",
    example="sysA.txt\tSegment 0\tscore: 0.8301\n",
    example_name="comet.txt",
    recognise=lambda view: any(_LINE.fullmatch(line) for line in view.first_lines),
    unfold=lambda view: _printed(view, _LINE, _NAMED),
    settle=named_by_file(SCORE),
    becomes=LONG,
)
SYSTEMS = ForeignFormat(
    name="COMET system output",
    gives=EvalSet,
    known_by="lines that comet-score prints: FILE, score: X alone",
    example="sysA.txt\tscore: 0.8033\n",
    example_name="comet-systems.txt",
    recognise=lambda view: any(_TOTAL.fullmatch(line) for line in view.first_lines),
    unfold=lambda view: _printed(view, _TOTAL),
    settle=named_by_file(SCORE),
    becomes=SYSTEM_TABLE,
)
