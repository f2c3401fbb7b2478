"""Battle logs: a row per duel: ``left``, ``right`` and ``outcome``, or ``better`` and ``worse``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.data.judgements import BattleLog, Floats, encode
from steelyard.formats import tables
from steelyard.formats.tables import RawTable, one_of, parse_number

LEFT = ("left", "model_a")
RIGHT = ("right", "model_b")
OUTCOME = ("outcome", "winner")
WEIGHT = ("weight",)
TIME = ("time", "tstamp")
UNIT = ("unit", "prompt", "segment", "seg", "question_id")
BETTER, WORSE = "better", "worse"
WORDS = {"left": 1.0, "model_a": 1.0, "right": 0.0, "model_b": 0.0, "tie": 0.5,
         "tie (bothbad)": 0.5, "both_bad": 0.5, "bothbad": 0.5}  # fmt: skip


class Columns(NamedTuple):
    """What the columns of a log are called; None for those it does not have.

    Without an outcome, left always wins.
    """

    left: str
    right: str
    outcome: str | None
    weight: str | None
    time: str | None
    unit: str | None


def is_text(name: str) -> bool:
    """Tell whether a column of a log holds names, even where they look like numbers."""
    return name in (*LEFT, *RIGHT, *OUTCOME, *UNIT, BETTER, WORSE)


def recognise(table: RawTable) -> bool:
    """Tell whether a table has a left and a right side and an outcome."""
    duels = all(any(name in table for name in names) for names in (LEFT, RIGHT, OUTCOME))
    return duels or (BETTER in table and WORSE in table)


def columns(
    table: RawTable,
    *,
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    unit: str | None = None,
) -> Columns:
    """Find the columns of a log by the names given, or by those that logs usually have."""
    if BETTER in table and WORSE in table and not (left or right or outcome):
        return _with_others(table, BETTER, WORSE, None, unit)
    chosen = []
    for given, names, what in (
        (left, LEFT, "left"),
        (right, RIGHT, "right"),
        (outcome, OUTCOME, "outcome"),
    ):
        chosen.append(_present(table, given or one_of(table, names, f"{what} column") or what))
    return _with_others(table, chosen[0], chosen[1], chosen[2], unit)


def _present(table: RawTable, column: str) -> str:
    if column not in table:
        raise UsageError(f"{table.path}: no column '{column}'; {hint(column, table.columns)}")
    return column


def _with_others(
    table: RawTable, left: str, right: str, outcome: str | None, unit: str | None
) -> Columns:
    """Add the columns that a log may have."""
    others = table.without([left, right, *([] if outcome is None else [outcome])])
    shared = one_of(others, UNIT, "unit") if unit is None else _present(others, unit)
    others = others.without([] if shared is None else [shared])
    weight, time = (one_of(others, own, what) for own, what in ((WEIGHT, "weight"), (TIME, "time")))
    return Columns(left, right, outcome, weight, time, shared)


def read(
    table: RawTable,
    *,
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    unit: str | None = None,
) -> BattleLog:
    """Read a log; an outcome is a word (``left``, ``right``, ``tie``) or left's score in 0..1."""
    chosen = columns(table, left=left, right=right, outcome=outcome, unit=unit)
    weight, time, unit = chosen.weight, chosen.time, chosen.unit
    lefts, rights = table.labels(chosen.left), table.labels(chosen.right)
    for row, (one, other) in enumerate(zip(lefts, rights, strict=True)):
        if one == other:
            table.fail(f"'{one}' meets itself", row)
    systems, codes = encode([*lefts, *rights])
    units, unit_codes = (None, None) if unit is None else encode(table.labels(unit))
    return BattleLog(
        systems,
        codes[: len(lefts)],
        codes[len(lefts) :],
        np.ones(table.n_rows) if chosen.outcome is None else _outcomes(table, chosen.outcome),
        None if weight is None else _weights(table, weight),
        None if time is None else table.numbers(time),
        units,
        unit_codes,
    )


def _outcomes(table: RawTable, column: str) -> Floats:
    cells = table.columns[column]
    values = np.empty(table.n_rows)
    known: dict[str, float] = dict(WORDS)
    for row, cell in enumerate(cells):
        number = known.get(cell) if isinstance(cell, str) else None
        if number is None:
            number = parse_number(cell)
            if number is None or not 0 <= number <= 1:
                words = ", ".join(WORDS)
                table.fail(f"outcome {cell!r}, expected {words} or a number in 0..1", row)
            if isinstance(cell, str):
                known[cell] = number
        values[row] = number
    return values


def _weights(table: RawTable, column: str) -> Floats:
    weights = table.numbers(column)
    for row in np.flatnonzero(~(weights >= 0))[:1]:
        table.fail(f"weight {weights[row]}, expected a number of at least 0", int(row))
    return weights


def write(log: BattleLog, path: Path) -> None:
    """Write the columns that :func:`read` reads; outcomes as words where they are one."""
    words = {1.0: "left", 0.0: "right", 0.5: "tie"}
    written: dict[str, object] = {
        "left": [log.systems[code] for code in log.left],
        "right": [log.systems[code] for code in log.right],
        "outcome": [words.get(x, repr(x)) for x in log.outcome.tolist()],
    }
    if log.weight is not None:
        written["weight"] = log.weight
    if log.time is not None:
        written["time"] = log.time
    if log.unit is not None and log.units is not None:
        written["unit"] = [log.units[code] for code in log.unit]
    tables.write(path, written)
