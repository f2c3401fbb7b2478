"""What MetricX writes: its input with a prediction, which counts errors from 0 to 25.

Its own evaluation wants ``system_id``, ``segment_id`` and the human ``label``; other files have the
texts alone. Many tools write a hypothesis and a prediction: a premise, or numbers out of range, say
that they are of another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.format import ForeignTable
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.scoretables import LONG
from steelyard.formats.toolscores.bymodel import named_by_file

SCORE, LABEL = "MetricX", "label"
_MOST = 25.0
_CALLED = {
    "system": ("system_id",),
    "segment": ("segment_id",),
    "output": ("hypothesis",),
    SCORE: ("prediction",),
}


def _unfold(table: RawTable) -> RawTable:
    given = {
        role: next((name for name in (*names, role) if name in table), None)
        for role, names in _CALLED.items()
    }
    columns: dict[str, Any] = {
        role: table.columns[name] for role, name in given.items() if name is not None
    }
    _check(table, given[SCORE])
    notes = list(table.notes)
    if given["system"] is None:
        columns["system"] = [files.stem(table.path)] * table.n_rows
        notes.append("MetricX: without system_id, a system is called as its file")
    if given["segment"] is None:
        columns["segment"] = [str(table.line(row)) for row in range(table.n_rows)]
        notes.append("MetricX: without segment_id, segments are lines, from 1")
    used = {name for name in given.values() if name is not None}
    left = []
    for name, cells in table.columns.items():
        if name in used:
            continue
        if name == LABEL or roles.is_text(name):
            columns[name] = cells
        else:
            left.append(name)
    if not any(columns.get("reference", ())):
        columns.pop("reference", None)  # empty where the model uses none
    if left:
        notes.append(f"{table.place}: not read: {listed(left, 5)}")
    facts = {SCORE: Stated(higher_is_better=False), LABEL: Stated("human", True)}
    called = {role: name for role, name in given.items() if name not in (None, role)}
    return replace(table, columns=columns, given=called, facts=facts, notes=tuple(notes))


def _check(table: RawTable, column: str | None) -> None:
    """Refuse numbers that no MetricX gives, which clips its own."""
    if column is None:
        return
    values = table.numbers(column)
    for row in np.flatnonzero((values < 0) | (values > _MOST))[:1]:
        table.fail(
            f"'{column}' is {values[row]:g}, expected 0..{_MOST:g} as of MetricX "
            f'(format="{LONG.name}" reads a table of other scores)',
            int(row),
        )


def _settle(table: RawTable) -> RawTable:
    """Name the scores, and say which way they go, since nothing in the file does."""
    table = _by_file(table)
    scores = [name for name, fact in table.facts.items() if fact.kind == "metric"]
    quoted = ", ".join(f'"{name}"' for name in scores)
    note = f"MetricX counts errors: lower is better (higher_is_better=[{quoted}] says otherwise)"
    return replace(table, notes=(*table.notes, note))


_by_file = named_by_file(SCORE)
FORMAT = ForeignTable(
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
    unfold=_unfold,
    settle=_settle,
    becomes=LONG,
)
