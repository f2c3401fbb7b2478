"""Scores that COMET, MetricX and sacreBLEU write as JSON.

Systems are named by the files that were scored, or by the file itself where nothing else does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.core.table import missing
from steelyard.core.text import listed, plural
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.foreign import BETTER_HIGH, BETTER_LOW, Log, Row, foreign
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.reshape import spread
from steelyard.formats.scoretables import LONG, SYSTEM_TABLE
from steelyard.formats.view import FileView, within

_MODEL = "model"


def _by_model(table: RawTable, score: str) -> RawTable:
    """Settle files whose models all call their score by the tool's name.

    They are one metric, unless files score the same outputs, or only some have references: then
    each file is a model, and names its score.
    """
    if table.path_of is None:
        return table
    paths = [str(table.path_of(row)) for row in range(table.n_rows)]
    keys = list(zip(table.columns["system"], table.columns["segment"], strict=True))
    if len(set(zip(keys, paths, strict=True))) < table.n_rows:
        table.fail("a system and segment stand in one file twice")
    names = files.by_stem(dict.fromkeys(paths))
    references = zip(paths, table.columns.get("reference", ()), strict=False)
    with_reference = {path for path, text in references if not missing(text)}
    if len(set(keys)) < table.n_rows:
        why = "files score the same outputs"
    elif 0 < len(with_reference) < len(names):
        why = "some files have references, others have none"
    else:
        return table.noted(f"{plural(len(names), 'file')} are taken for one metric, {score}")
    columns = {**table.columns, _MODEL: [names[path] for path in paths]}
    for name in filter(roles.is_text, table.columns):
        columns[name] = _shared_texts(table, name, keys)
    by_model = spread(replace(table, columns=columns), _MODEL, score)
    facts = {name: fact for name, fact in by_model.facts.items() if name != score}
    note = f"{why}, so each is a model: {score} is called {listed(list(names.values()), 6)}"
    return replace(by_model, facts=facts, notes=(*by_model.notes, note))


def _shared_texts(table: RawTable, name: str, keys: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return a column of texts that any file has; refuse files that say different things."""
    first: dict[tuple[Any, ...], int] = {}
    cells = table.columns[name]
    for row, (key, cell) in enumerate(zip(keys, cells, strict=True)):
        if not missing(cell) and cells[start := first.setdefault(key, row)] != cell:
            where = table.place_of(start)
            table.fail(f"'{name}' is {str(cell)[:40]!r}, but another {where}", row)
    return [cells[first[key]] if key in first else None for key in keys]


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
_METRICX_KEYS = ("hypothesis", "prediction", "source", "reference", "premise")


def _is_metricx(view: FileView) -> bool:
    """Tell a hypothesis and its prediction; in tables, or of a premise, it may be any model's."""
    has = {key for key in _METRICX_KEYS if f'"{key}"' in view.head}
    named = {"hypothesis", "prediction"} < has and "premise" not in has
    return named and not has.isdisjoint(view.record or ())


def _settle_metricx(table: RawTable) -> RawTable:
    """Name the scores, and note which way they go, since nothing in the file does."""
    table = _by_model(table, _METRICX)
    quoted = ", ".join(f'"{name}"' for name, fact in table.facts.items() if fact.kind == "metric")
    note = f"MetricX counts errors: lower is better (higher_is_better=[{quoted}] says otherwise)"
    return replace(table, notes=(*table.notes, note))


@foreign(
    "MetricX output",
    LONG,
    names={"output": "hypothesis", _METRICX: "prediction"},
    recognise=_is_metricx,
    files=("*.jsonl",),
    settle=_settle_metricx,
    known_by="JSON lines with hypothesis, prediction and source or reference",
    example='{"source": "Ja.", "hypothesis": "Yes.", "reference": "Yes.", "prediction": 1.742}\n',
    example_name="sysA.jsonl",
)
def metricx_output(log: Log) -> Iterator[Row]:
    """Yield a row per prediction; without ids, systems are files and segments are lines."""
    log.facts = {_METRICX: BETTER_LOW, "label": Stated("human", True)}
    records = list(log.records())
    given = set().union(*(record.values for record in records))
    keys = {}
    for role, instead in (("system", "a system is called as its file"),
                          ("segment", "segments are lines, from 1")):  # fmt: skip
        keys[role] = next((key for key in (f"{role}_id", role) if key in given), "")
        if keys[role]:
            log.names[role] = keys[role]
        else:
            log.notes.append(f"MetricX: without {role}_id, {instead}")
    used = {"hypothesis", "prediction", "label", *keys.values()}
    for record in records:
        score = record.number("prediction")
        if score is not None and not 0 <= score <= _MOST_ERRORS:
            record.fail(
                f"'prediction' is {score:g}, expected 0..{_MOST_ERRORS:g} as of MetricX "
                f'(format="{LONG.name}" reads a table of other scores)'
            )
        rest = [key for key in record.values if key not in used]
        yield log.row(
            record,
            {_METRICX: score} | ({"label": record.get("label")} if "label" in given else {}),
            {key: record.get(key) for key in rest if not roles.is_text(key)},
            system=record.name(keys["system"]) if keys["system"] else log.view.stem,
            segment=record.name(keys["segment"]) if keys["segment"] else str(record.line),
            output=record.text("hypothesis"),
            **{key: record.text(key) or None for key in rest if roles.is_text(key)},
        )


_SACREBLEU = re.compile(r"BLEU|chrF[0-9]*(\+\+)?|TER")
_BY_METRIC = replace(SYSTEM_TABLE, prepare=lambda table: spread(table, "metric", "score"))


def _is_sacrebleu(view: FileView) -> bool:
    """Tell the scores of one system, or a list with a system and its scores each."""
    record = view.record or {}
    if view.has("name", "score", "signature"):
        return _SACREBLEU.fullmatch(str(record["name"])) is not None
    values = [value for key, value in record.items() if _SACREBLEU.fullmatch(key)]
    return (
        "system" in record
        and bool(values)
        and len(values) == len(record) - 1
        and isinstance(view.document, files.JsonList)
        and all(isinstance(v, str) or (isinstance(v, dict) and "score" in v) for v in values)
    )


@foreign(
    "sacreBLEU scores",
    _BY_METRIC,
    empty="no scores, expected BLEU, chrF2 or TER of each system",
    recognise=_is_sacrebleu,
    files=("*.json",),
    known_by="JSON with name (BLEU, chrF2, TER), score, signature; or a list with system and these",
    example='[{"name": "BLEU", "score": 62.1, "signature": "nrefs:1|case:mixed|eff:no|tok:13a"}]\n',
    example_name="sysA.json",
)
def sacrebleu_scores(log: Log) -> Iterator[Row]:
    """Yield the scores of one system, called as its file, or of several; tests are not read."""
    for record in log.records():
        if "system" in record.values:
            system = files.stem(Path(record.name("system").removeprefix("Baseline: ")))
            metrics = [key for key in record.values if key != "system"]
        else:
            system, metrics = log.view.stem, [record.name("name")]
        for metric in metrics:
            if not _SACREBLEU.fullmatch(metric):
                record.fail(f"'{metric}' is no metric of sacreBLEU (BLEU, chrF2, TER)")
            is_object = isinstance(record.get(metric), dict)
            fields = record.object(metric) if is_object else record
            key = metric if metric in fields.values else "score"
            score = fields.number(key, words=not is_object and key == metric)
            log.facts[metric] = BETTER_LOW if metric == "TER" else BETTER_HIGH
            yield log.row(record, system=system, metric=metric, score=score)


FORMATS = (comet_scores, metricx_output, sacrebleu_scores)
