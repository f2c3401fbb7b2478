"""What sacreBLEU writes: scores of systems as JSON, or a line for each score.

A file of one system does not name it: the file's stem does. TER counts edits, so less is better.
Tests and intervals of sacreBLEU's own are not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.data.evalset import EvalSet
from steelyard.formats import files
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.record import Record, records
from steelyard.formats.scoretables import LONG, SYSTEM_TABLE
from steelyard.formats.spreads import spread
from steelyard.formats.view import FileView

_METRIC = re.compile(r"BLEU|chrF[0-9]*(\+\+)?|TER")
_BASELINE = "Baseline: "
_NAMED = "sacreBLEU: a system that the file does not name is called as the file"
_LINE = re.compile(r" *(BLEU|chrF[0-9]*(?:\+\+)?|TER)\|(\S*) = (-?[0-9.]+)(?: .*)?")


def _facts(metric: str) -> Stated:
    return Stated(higher_is_better=metric != "TER")


def _rows(view: FileView, rows: list[tuple[Any, ...]], lines: list[int], *notes: str) -> RawTable:
    """Give (system, metric, score), and maybe a segment, as a table."""
    names = ("system", "metric", "score", "segment")
    cells = dict(zip(names, map(list, zip(*rows, strict=True)), strict=False))
    return RawTable(
        view.path,
        cells,
        len(rows),
        lines.__getitem__,
        blank_is_missing=False,
        facts={metric: _facts(metric) for metric in cells["metric"]},
        notes=notes,
    )


def _one_system(view: FileView) -> RawTable:
    rows, lines = [], []
    for record in records(view):
        metric = _metric(record, "name", record.name("name"))
        rows.append((view.stem, metric, record.number("score")))
        lines.append(record.line)
    return _rows(view, rows, lines, _NAMED)


def _is_one_system(view: FileView) -> bool:
    """Tell scores of sacreBLEU's metrics from any others that have a name and a signature."""
    name = (view.record or {}).get("name")
    return isinstance(name, str) and _METRIC.fullmatch(name) is not None


def _metric(record: Record, key: str, name: str) -> str:
    if not _METRIC.fullmatch(name):
        record.wrong(key, "a metric of sacreBLEU (BLEU, chrF2, TER)", name)
    return name


def _is_table(view: FileView) -> bool:
    record = view.record
    if record is None or "system" not in record or not isinstance(view.document, files.JsonList):
        return False
    scores = {key: value for key, value in record.items() if key != "system"}
    known = any(_METRIC.fullmatch(key) for key in scores)
    return known and all(
        isinstance(value, str) or (isinstance(value, dict) and "score" in value)
        for value in scores.values()
    )


def _systems(view: FileView) -> RawTable:
    rows, lines = [], []
    tested = False
    for record in records(view):
        system = files.stem(Path(record.name("system").removeprefix(_BASELINE)))
        for metric, value in record.values.items():
            if metric == "system":
                continue
            if not _METRIC.fullmatch(metric):
                record.fail(f"'{metric}' is no metric of sacreBLEU (BLEU, chrF2, TER)")
            if isinstance(value, dict):
                score, tested = record.object(metric).number("score"), True
            else:
                score = record.number(metric, words=True)
            rows.append((system, metric, score))
            lines.append(record.line)
    notes = ["sacreBLEU: p-values, means and intervals of its test are not read"] if tested else []
    if not rows:
        view.fail("no scores, expected BLEU, chrF2 or TER of each system")
    return _rows(view, rows, lines, *notes)


def _is_printed(view: FileView, *, segments: bool) -> bool:
    """Tell lines that sacreBLEU prints: of segments if a metric stands on several of them."""
    found = [_LINE.fullmatch(line) for line in view.first_lines]
    metrics = [match[1] for match in found if match]
    return bool(found) and found[0] is not None and segments == (len(set(metrics)) < len(found))


def _printed(*, segments: bool) -> Callable[[FileView], RawTable]:
    def unfold(view: FileView) -> RawTable:
        rows: list[tuple[Any, ...]] = []
        for number, text in enumerate(view.lines, 1):
            found = _LINE.fullmatch(text)
            if found is None:
                expected = "expected METRIC|SIGNATURE = SCORE as on the first line"
                view.fail(f"{text[:40]!r}: {expected}", number)
            score = Record(view, number, {"score": found[3]}).number("score", words=True)
            row = (view.stem, found[1], score)
            rows.append((*row, str(number)) if segments else row)
        lines = list(range(1, len(rows) + 1))
        counted = ["sacreBLEU: segments are lines, from 1"] if segments else []
        return _rows(view, rows, lines, _NAMED, *counted)

    return unfold


def _by_metric(table: RawTable) -> RawTable:
    return spread(table, "metric", "score")


_LONG = replace(LONG, prepare=_by_metric)
_SYSTEM_TABLE = replace(SYSTEM_TABLE, prepare=_by_metric)

FORMAT = ForeignFormat(
    name="sacreBLEU scores",
    gives=EvalSet,
    known_by="JSON of one system with name (BLEU, chrF2, TER), score, signature",
    example='[{"name": "BLEU", "score": 62.1, "signature": "nrefs:1|case:mixed|eff:no|tok:13a"}]\n',
    example_name="sysA.json",
    keys=("name", "score", "signature"),
    recognise=_is_one_system,
    files=("*.json",),
    unfold=_one_system,
    becomes=_SYSTEM_TABLE,
)
SYSTEMS = ForeignFormat(
    name="sacreBLEU systems",
    gives=EvalSet,
    known_by="JSON list with system, and BLEU, chrF2 or TER as text or with score and p_value",
    example='[{"system": "sysA.txt", "BLEU": "62.1", "chrF2": "77.6"}]\n',
    example_name="systems.json",
    recognise=_is_table,
    files=("*.json",),
    unfold=_systems,
    becomes=_SYSTEM_TABLE,
)
LINES = ForeignFormat(
    name="sacreBLEU sentence scores",
    gives=EvalSet,
    known_by="lines METRIC|SIGNATURE = SCORE, one per segment",
    example="chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 67.6\n"
    "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 81.2\n",
    example_name="sysA.txt",
    recognise=lambda view: _is_printed(view, segments=True),
    unfold=_printed(segments=True),
    becomes=_LONG,
)
LINE = ForeignFormat(
    name="sacreBLEU line",
    gives=EvalSet,
    known_by="lines METRIC|SIGNATURE = SCORE, one per metric",
    example="BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 62.1\n",
    example_name="sysA.txt",
    recognise=lambda view: _is_printed(view, segments=False),
    unfold=_printed(segments=False),
    becomes=_SYSTEM_TABLE,
)
