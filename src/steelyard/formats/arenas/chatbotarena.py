"""Votes of Chatbot Arena: its published lists of battles, and the table of its Kaggle contest.

A plain table with ``model_a``, ``model_b`` and ``winner`` is a battle log like any other; these
files say more: whether the models were hidden, and (Kaggle) who won in three columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from steelyard.data.judgements import BattleLog
from steelyard.formats.arenas.arenabattles import VOTES, Battles, Verdict
from steelyard.formats.cells import parse_number
from steelyard.formats.format import ForeignFormat, ForeignTable
from steelyard.formats.judged import battlelogs
from steelyard.formats.rawtable import RawTable
from steelyard.formats.record import records
from steelyard.formats.view import FileView

_OPEN = ("battle", 'with names shown: the arena\'s ranking is of those where={"anony": "true"}')
_WON = ("winner_model_a", "winner_model_b", "winner_tie")


def _votes(view: FileView) -> RawTable:
    found = Battles(view)
    for record in records(view):
        hidden = record.flag("anony")
        row: dict[str, Any] = {
            "left": record.name("model_a"),
            "right": record.name("model_b"),
            "time": record.number("tstamp"),
            "anony": None if hidden is None else str(hidden).lower(),
        }
        if record.get("question_id") is not None:
            row["unit"] = record.name("question_id")
        row |= {key: record.get(key) for key in ("judge", "turn", "language")}
        outcome = battlelogs.WORDS[record.choice("winner", battlelogs.WORDS)]
        found.add(record, Verdict(outcome, _OPEN if hidden is False else None), **row)
    given = {"left": "model_a", "right": "model_b", "outcome": "winner", "time": "tstamp",
             "unit": "question_id"}  # fmt: skip
    return found.table(given)


def _kaggle(table: RawTable) -> RawTable:
    won = [table.columns[name] for name in _WON]
    outcome = [_outcome(table, row, cells) for row, cells in enumerate(zip(*won, strict=True))]
    columns: dict[str, Any] = {
        "left": table.columns["model_a"],
        "right": table.columns["model_b"],
        "outcome": outcome,
    }
    given = {"left": "model_a", "right": "model_b", "outcome": ", ".join(_WON)}
    unit = next((name for name in ("prompt", "id") if name in table), None)
    if unit is not None:
        columns["unit"], given["unit"] = table.columns[unit], unit
    return replace(table, columns=columns, given=given)


def _outcome(table: RawTable, row: int, cells: Sequence[Any]) -> float:
    """Give the outcome of a vote of which one column must be 1, and the others 0."""
    numbers = [parse_number(cell) for cell in cells]
    if sorted(n if n is not None else -1.0 for n in numbers) != [0.0, 0.0, 1.0]:
        found = ", ".join(
            f"{name} {str(cell)[:40]!r}" for name, cell in zip(_WON, cells, strict=True)
        )
        table.fail(f"{found}: expected one of them to be 1, and the others 0", row)
    return (1.0, 0.0, 0.5)[numbers.index(1.0)]


FORMAT = ForeignFormat(
    name="Chatbot Arena votes",
    gives=BattleLog,
    known_by="JSON with model_a, model_b, winner, anony",
    example='[{"model_a": "A", "model_b": "B", "winner": "model_a", "anony": true, '
    '"tstamp": 1700000000.5}]\n',
    example_name="clean_battle_20261117.json",
    keys=("model_a", "model_b", "winner", "anony"),
    files=("clean_battle*.json", "*.jsonl"),
    unfold=_votes,
    becomes=VOTES,
)
KAGGLE = ForeignTable(
    name="Chatbot Arena Kaggle votes",
    gives=BattleLog,
    known_by="columns model_a, model_b, winner_model_a, winner_model_b, winner_tie",
    example="id,model_a,model_b,prompt,winner_model_a,winner_model_b,winner_tie\n"
    "1,A,B,What is 1+1?,1,0,0\n",
    example_name="train.csv",
    marks=(".model_a .model_b .winner_model_a .winner_model_b .winner_tie",),
    unfold=_kaggle,
    becomes=battlelogs.FORMAT,
)
