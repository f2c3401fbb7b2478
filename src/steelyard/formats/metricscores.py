"""Scores that COMET, MetricX and sacreBLEU write as JSON.

Systems are named by the files that were scored, or by the file itself where nothing else does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.table import missing
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.foreign import BETTER_HIGH, BETTER_LOW, Log, Row, foreign
from steelyard.formats.format import ForeignTable
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.reshape import spread
from steelyard.formats.scoretables import LONG, SYSTEM_TABLE
from steelyard.formats.view import FileView, Record, within

RowsByFile = dict[Path, int]


def _by_model(table: RawTable, score: str) -> RawTable:
    """Settle files whose models all call their score by the tool's name.

    They are one metric as long as nothing speaks against it. Where two files give one output
    different scores, or only some have references, they are of different models, and each file
    names its score.
    """
    if table.path_of is None or score not in table:
        return table
    paths = [table.path_of(row) for row in range(table.n_rows)]
    keys = zip(*(table.columns[n] for n in ("system", "segment") if n in table), strict=True)
    outputs: dict[Any, RowsByFile] = {}
    for row, (key, path) in enumerate(zip(keys, paths, strict=True)):
        if outputs.setdefault(key, {}).setdefault(path, row) != row:
            table.fail("the system and the segment stand above already", row)
    merged = _merged(table, outputs)
    several = list(dict.fromkeys(paths))
    scores = table.columns[score]
    n_differing = sum(
        len({str(scores[row]) for row in rows.values() if not missing(scores[row])}) > 1
        for rows in outputs.values()
    )
    texts = zip(table.columns.get("reference", ()), paths, strict=False)
    with_reference = {path for text, path in texts if not missing(text)}
    if n_differing:
        why = f"files give {plural(n_differing, 'output')} different scores"
    elif "reference" in table and with_reference != set(paths):
        why = "some files have references, others have none"
    else:
        columns = {**merged.columns, score: _first_values(table, score, outputs)}
        note = f"{plural(len(several), 'file')} are taken for one metric, {score}"
        return replace(merged, columns=columns, notes=(*table.notes, note))
    names = files.by_stem(map(str, several))
    by_model = {
        names[str(path)]: [
            scores[rows[path]] if path in rows else None for rows in outputs.values()
        ]
        for path in several
    }
    facts = {name: fact for name, fact in table.facts.items() if name != score}
    facts |= dict.fromkeys(by_model, table.facts[score]) if score in table.facts else {}
    note = f"{why}, so each is a model: {score} is called {listed(list(by_model), 6)}"
    columns = {**merged.without([score]).columns, **by_model}
    return replace(merged, columns=columns, facts=facts, notes=(*table.notes, note))


def _first_values(table: RawTable, column: str, outputs: dict[Any, RowsByFile]) -> list[Any]:
    """Return for each output the first value of a column that is not missing."""
    cells = table.columns[column]
    return [
        next((cells[row] for row in rows.values() if not missing(cells[row])), None)
        for rows in outputs.values()
    ]


def _merged(table: RawTable, outputs: dict[Any, RowsByFile]) -> RawTable:
    """Return a row for each output; refuse files that say different things of one."""
    first = [next(iter(rows.values())) for rows in outputs.values()]
    kept = table.take(first)
    columns = dict(kept.columns)
    for name in filter(roles.is_text, table.columns):
        cells = columns[name] = _first_values(table, name, outputs)
        for cell, rows, start in zip(cells, outputs.values(), first, strict=True):
            for row in rows.values():
                other = table.columns[name][row]
                if not missing(other) and other != cell:
                    where = table.place_of(start)
                    table.fail(f"'{name}' is {str(other)[:40]!r}, but another {where}", row)
    return replace(kept, columns=columns)


_COMET = "COMET"
_COMET_TEXTS = {"output": "mt", "source": "src", "reference": "ref"}


def _is_comet(view: FileView) -> bool:
    if f'"{_COMET}"' not in view.head:
        return False
    lists = view.document.values() if isinstance(view.document, dict) else ()
    return all(isinstance(entries, list) for entries in lists) and any(
        isinstance(entry, dict) and {"mt", _COMET} <= entry.keys()
        for entries in lists
        for entry in entries
    )


@foreign(
    "COMET scores",
    LONG,
    names=_COMET_TEXTS,
    recognise=_is_comet,
    files=("*.json",),
    settle=partial(_by_model, score=_COMET),
    known_by="JSON of comet-score: {FILE: [{src, mt, COMET}]}",
    example='{"sysA.txt": [{"src": "Ja.", "mt": "Yes.", "ref": "Yes.", "COMET": 0.83}]}\n',
    example_name="comet.json",
)
def comet_scores(log: Log) -> Iterator[Row]:
    """Yield a row per text that was scored; every model calls its score COMET."""
    naming = "systems are called as the files that were scored, segments are numbered from 0"
    log.notes.append(f"COMET: {naming}")
    log.facts[_COMET] = BETTER_HIGH
    n_errors = 0
    for file, system in files.by_stem(log.view.document).items():
        for number, record in enumerate(within(log.view, file)):
            n_errors += len(record.elements("errors"))
            texts = {role: record.text(key) for role, key in _COMET_TEXTS.items()}
            score = {_COMET: record.number(_COMET)}
            yield log.row(record, score, system=system, segment=str(number), **texts)
    if n_errors:
        log.note(f"{n_errors} error spans are not read, only the scores")


_METRICX, _MOST_ERRORS = "MetricX", 25.0
_METRICX_NAMES = {
    "system": "system_id",
    "segment": "segment_id",
    "output": "hypothesis",
    _METRICX: "prediction",
}


def _unfold_metricx(table: RawTable) -> RawTable:
    """Use our names of columns; without ids, systems are files and segments are lines.

    Many tools write a hypothesis and a prediction: numbers out of range are of another one.
    """
    names = {
        role: name if name in table else role if role in table else ""
        for role, name in _METRICX_NAMES.items()
    }
    columns: dict[str, Any] = {role: table.columns[name] for role, name in names.items() if name}
    values = table.numbers(names[_METRICX]) if names[_METRICX] else np.zeros(0)
    for row in np.flatnonzero((values < 0) | (values > _MOST_ERRORS))[:1]:
        table.fail(
            f"'{names[_METRICX]}' is {values[row]:g}, expected 0..{_MOST_ERRORS:g} as of MetricX "
            f'(format="{LONG.name}" reads a table of other scores)',
            int(row),
        )
    notes = list(table.notes)
    if not names["system"]:
        columns["system"] = [files.stem(table.path)] * table.n_rows
        notes.append("MetricX: without system_id, a system is called as its file")
    if not names["segment"]:
        columns["segment"] = [str(table.line(row)) for row in range(table.n_rows)]
        notes.append("MetricX: without segment_id, segments are lines, from 1")
    rest = [name for name in table.columns if name not in names.values()]
    used = [name for name in rest if name == "label" or roles.is_text(name)]
    columns |= {name: table.columns[name] for name in used}
    if not any(columns.get("reference", ())):
        columns.pop("reference", None)  # empty where the model uses none
    unused = [name for name in rest if name not in used]
    notes += [f"{table.place}: not read: {listed(unused, 5)}"] if unused else []
    facts = {_METRICX: BETTER_LOW, "label": Stated("human", True)}
    renamed = {role: name for role, name in names.items() if name not in ("", role)}
    return replace(table, columns=columns, given=renamed, facts=facts, notes=tuple(notes))


def _settle_metricx(table: RawTable) -> RawTable:
    """Name the scores, and note which way they go, since nothing in the file does."""
    table = _by_model(table, _METRICX)
    quoted = ", ".join(f'"{name}"' for name, fact in table.facts.items() if fact.kind == "metric")
    note = f"MetricX counts errors: lower is better (higher_is_better=[{quoted}] says otherwise)"
    return replace(table, notes=(*table.notes, note))


metricx_output = ForeignTable(
    name="MetricX output",
    gives=EvalSet,
    known_by="JSON lines with hypothesis, prediction and source or reference",
    example='{"source": "Ja.", "hypothesis": "Yes.", "reference": "Yes.", "prediction": 1.742}\n',
    example_name="sysA.jsonl",
    marks=(  # in other files it may be any metric's
        ".hypothesis .prediction .source -.premise -delimited",
        ".hypothesis .prediction .reference -.premise -delimited",
    ),
    files=("*.jsonl",),
    unfold=_unfold_metricx,
    settle=_settle_metricx,
    becomes=LONG,
)

_SACREBLEU = re.compile(r"BLEU|chrF[0-9]*(\+\+)?|TER")
_SACREBLEU_NAMES = "BLEU, chrF2, TER"
_BY_METRIC = replace(SYSTEM_TABLE, prepare=lambda table: spread(table, "metric", "score"))


def _metric_row(log: Log, record: Record, system: str, metric: str, score: float | None) -> Row:
    log.facts[metric] = BETTER_LOW if metric == "TER" else BETTER_HIGH
    return log.row(record, system=system, metric=metric, score=score)


@foreign(
    "sacreBLEU scores",
    _BY_METRIC,
    keys=("name", "score", "signature"),
    recognise=lambda view: bool(_SACREBLEU.fullmatch(str((view.record or {}).get("name")))),
    files=("*.json",),
    known_by="JSON of one system with name (BLEU, chrF2, TER), score, signature",
    example='[{"name": "BLEU", "score": 62.1, "signature": "nrefs:1|case:mixed|eff:no|tok:13a"}]\n',
    example_name="sysA.json",
)
def sacrebleu_scores(log: Log) -> Iterator[Row]:
    """Yield the scores of one system, which the file does not name."""
    log.notes.append("sacreBLEU: a system that the file does not name is called as the file")
    for record in log.records():
        metric = record.name("name")
        if not _SACREBLEU.fullmatch(metric):
            record.wrong("name", f"a metric of sacreBLEU ({_SACREBLEU_NAMES})", metric)
        yield _metric_row(log, record, log.view.stem, metric, record.number("score"))


def _is_list_of_systems(view: FileView) -> bool:
    record = view.record
    if record is None or "system" not in record or not isinstance(view.document, files.JsonList):
        return False
    scores = {key: value for key, value in record.items() if key != "system"}
    return any(_SACREBLEU.fullmatch(key) for key in scores) and all(
        isinstance(value, str) or (isinstance(value, dict) and "score" in value)
        for value in scores.values()
    )


@foreign(
    "sacreBLEU systems",
    _BY_METRIC,
    empty="no scores, expected BLEU, chrF2 or TER of each system",
    recognise=_is_list_of_systems,
    files=("*.json",),
    known_by="JSON list with system, and BLEU, chrF2 or TER as text or with score and p_value",
    example='[{"system": "sysA.txt", "BLEU": "62.1", "chrF2": "77.6"}]\n',
    example_name="systems.json",
)
def sacrebleu_systems(log: Log) -> Iterator[Row]:
    """Yield the scores of all systems, tested or not; the tests are not read."""
    is_tested = False
    for record in log.records():
        system = files.stem(Path(record.name("system").removeprefix("Baseline: ")))
        for metric in (key for key in record.values if key != "system"):
            if not _SACREBLEU.fullmatch(metric):
                record.fail(f"'{metric}' is no metric of sacreBLEU ({_SACREBLEU_NAMES})")
            if isinstance(record.get(metric), dict):
                is_tested, score = True, record.object(metric).number("score")
            else:
                score = record.number(metric, words=True)
            yield _metric_row(log, record, system, metric, score)
    if is_tested:
        log.notes.append("sacreBLEU: p-values, means and intervals of its test are not read")


FORMATS = (comet_scores, metricx_output, sacrebleu_scores, sacrebleu_systems)
