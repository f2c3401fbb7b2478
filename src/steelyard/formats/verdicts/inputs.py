"""Files, frames and logs of other tools as tables in which verdicts are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.errors import UsageError, hint
from steelyard.formats import arenas, files, frames, registry, tables
from steelyard.formats.arenas import JUDGE, OUTCOME, judge_of
from steelyard.formats.format import Foreign, ForeignFormat, ForeignTable
from steelyard.formats.rawtable import RawTable, from_rows, stacked
from steelyard.formats.reading import Reading
from steelyard.formats.record import Record, records
from steelyard.formats.verdicts.columns import ORDERS
from steelyard.formats.view import FileView

UNIT = "unit"
WINNERS = tuple(f"winner{order}" for order in ORDERS)
_OF_FASTCHAT = {"model_1": "left", "model_2": "right", "tie": "tie", "error": "error"}
_WORDS = {1.0: "left", 0.5: "tie", 0.0: "right"}  # which nobody takes for another style of numbers


def tables_of(
    sources: Sequence[Any],
    where: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    named: Sequence[str] = (),
) -> list[RawTable]:
    """Read the inputs, with the rows and columns that are wanted; one table for each.

    A column that is to select rows, to be skipped, or that is ``named`` otherwise, must be there.
    """
    found = [_table(source) for source in sources]
    known = {name for table in found for name in table.columns}
    for column in (*ignore, *(column for column, _ in where), *named):
        if column not in known:
            raise UsageError(f"no input has a column '{column}'; {hint(column, sorted(known))}")
    reading = Reading(where, ignore)
    return [reading.narrow(table) for table in found]


def _table(source: Any) -> RawTable:
    if not isinstance(source, (str, Path)):
        if not frames.recognise(source):
            raise UsageError(f"expected a file or a frame, got a {type(source).__name__}")
        return frames.read(source)
    view = FileView(Path(source))
    if files.is_folder(view.path):
        own = registry.runs(view.path)
        return _settled(own[0][0], [_unfolded(form, one) for form, one in own])
    form = registry.foreign(view)
    if form is not None:
        return _settled(form, [_unfolded(form, view)])
    if view.is_log:
        registry.refuse_document(view)
    return tables.read(view.path, is_text=lambda _: True)


def _unfolded(form: Foreign, view: FileView) -> RawTable:
    if form is arenas.fastchat_pairs:
        return _in_both_orders(view, _fastchat_row)
    if form is arenas.arena_hard_judgments:
        return _in_both_orders(view, _arena_hard_row)
    if isinstance(form, ForeignFormat):
        return form.unfold(view)
    assert isinstance(form, ForeignTable)
    return form.unfold(tables.read(view.path, is_text=lambda _: True))


def _settled(form: Foreign, parts: list[RawTable]) -> RawTable:
    """Put the logs of a tool under each other.

    Outcomes of battles become words; what battles share names them, beside the systems.
    """
    whole = form.settle(stacked(parts))
    if OUTCOME not in whole:
        return whole
    points = [getattr(cell, "outcome", cell) for cell in whole.columns[OUTCOME]]
    cells = [_word(own) for own in points]
    items = {} if "item" in whole or UNIT not in whole else {"item": whole.columns[UNIT]}
    return replace(whole, columns={**items, **whole.columns, OUTCOME: cells})


def _word(points: Any) -> Any:
    return _WORDS.get(points, points)


def _in_both_orders(view: FileView, row_of: Any) -> RawTable:
    """Give a log of pairs that were judged in both orders, a row for each pair.

    What the readers of battles make one outcome of stays apart here: flips say something of a
    judge.
    """
    rows, lines = [], []
    for record in records(view):
        rows.append(row_of(record))
        lines.append(record.line)
    if not rows:
        view.fail("holds no battle")
    return from_rows(view.path, rows, lines.__getitem__)


def _fastchat_row(record: Record) -> dict[str, Any]:
    question, turn = record.name("question_id"), record.name("turn", 1)
    games = [record.choice(key, _OF_FASTCHAT) for key in ("g1_winner", "g2_winner")]
    return {
        "item": f"{question}/{turn}", "prompt": question, JUDGE: judge_of(record),
        "left": record.name("model_1"), "right": record.name("model_2"),
        **{name: _OF_FASTCHAT[game] for name, game in zip(WINNERS, games, strict=True)},
    }  # fmt: skip


def _arena_hard_row(record: Record) -> dict[str, Any]:
    """Take the model for the left one; the first game shows the baseline first."""
    games = zip(record.elements("games"), arenas.games_of(record), strict=True)
    said = [
        _word(outcome[0]) if outcome is not None else None if game is None else "no verdict"
        for game, outcome in games
    ]
    named = record.get("baseline") is not None
    return {
        "item": record.name("uid" if "uid" in record.values else "question_id"),
        JUDGE: judge_of(record), "left": record.name("model"),
        "right": record.name("baseline") if named else arenas.BASELINE,
        "category": record.text("category"), WINNERS[0]: said[1], WINNERS[1]: said[0],
    }  # fmt: skip
