"""Who speaks in tables of verdicts, and where: people and judges, in columns or in rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.formats.rawtable import RawTable
from steelyard.formats.verdicts.columns import (
    ORDERS,
    Keys,
    holds_grades,
    holds_outcomes,
    matching,
    says_no_verdict,
    sides,
    verdict_column,
)
from steelyard.formats.verdicts.sayings import Scale, said_in
from steelyard.formats.verdicts.sheets import Voice

PAIRS = "pairs"
_OF_PAIRS = {"left", "right", "tie", "model_a", "model_b", "bothbad", "tie (bothbad)"}
Keyed = Sequence[tuple[RawTable, Keys]]


@dataclass(frozen=True, slots=True)
class Asked:
    """Columns, or names in a column of raters or judges; judges None: whatever holds verdicts.

    ``others`` are columns that are neither.
    """

    human: Collection[str]
    judges: Collection[str] | None
    others: Collection[str] = ()


def cells_of(table: RawTable, name: str) -> list[Any]:
    """Give a column as a list."""
    cells = table.columns[name]
    return cells.tolist() if isinstance(cells, np.ndarray) else list(cells)


def people(keyed: Keyed, asked: Asked) -> list[list[Voice]]:
    """Give what people say in each table."""
    return [_people(table, keys, asked, keyed) for table, keys in keyed]


def _people(table: RawTable, keys: Keys, asked: Asked, keyed: Keyed) -> list[Voice]:
    if keys.rater is not None:
        column = verdict_column(table, keys, asked.human, "rater")[0]
        raters = {name for name in asked.human if name not in table.columns}
        return _long(table, keys.rater, column, is_judge=False, only=raters or None)
    repeated = keys.judge is not None or keys.run is not None
    called = [] if keys.judge is None else _called(table, keys.judge, asked.human)
    if called and keys.judge is not None:  # people among those whom the table calls judges
        column = verdict_column(table, keys, asked.human, "judge")[0]
        return _long(table, keys.judge, column, is_judge=False, only=called)
    return [
        Voice(name, False, 0, name, *said_in(cells_of(table, name)), repeated=repeated)
        for name in _of_people(table, keys, asked, keyed)
    ]


def _called(table: RawTable, column: str, names: Collection[str]) -> list[str]:
    """Give who of a column is named, and is no column of the table."""
    known = set(table.labels(column))
    return [name for name in names if name in known and name not in table.columns]


def _of_people(table: RawTable, keys: Keys, asked: Asked, keyed: Keyed) -> list[str]:
    """Give the columns of a table that are people's.

    In a table of judges, a column that people have in a table of their own is the judges'.
    """
    found = [n for n in matching(asked.human, list(table.columns)) if n not in keys.columns]
    if keys.judge is None:
        return found
    elsewhere = {n for other, own in keyed if own.judge is None for n in other.columns}
    return [name for name in found if name not in elsewhere]


def _long(
    table: RawTable, who: str, column: str, *, is_judge: bool, only: Collection[str] | None = None,
    but: Collection[str] = (), order: int = 0,
) -> list[Voice]:  # fmt: skip
    """Split a table with a row for each who said something."""
    names = table.labels(who)
    rows: dict[str, tuple[list[int], list[Any]]] = {
        name: ([], []) for name in sorted(set(names)) if (only is None or name in only)
        and name not in but
    }  # fmt: skip
    for row, cell in zip(*said_in(cells_of(table, column)), strict=True):
        if names[row] in rows:
            own = rows[names[row]]
            own[0].append(row)
            own[1].append(cell)
    return [Voice(name, is_judge, order, column, *own) for name, own in rows.items()]


def kind_of(keyed: Keyed, voices: Sequence[Sequence[Voice]]) -> Literal["points", "pairs"]:
    """Tell pairs from points: by their sides, by both orders, or by what people say."""
    for table, keys in keyed:
        both = any(n.endswith(ORDERS[0]) and n[:-3] + ORDERS[1] in table for n in table.columns)
        if keys.left is not None or both:
            return "pairs"
    said = {str(cell).casefold() for own in voices for voice in own for cell in set(voice.cells)}
    return "pairs" if said and said <= _OF_PAIRS else "points"


def judges(
    keyed: Keyed, voices: Sequence[Sequence[Voice]], asked: Asked, kind: str
) -> list[list[Voice]]:
    """Give what judges say in each table, given what people say."""
    scale = Scale.of([voice.cells for own in voices for voice in own], [])
    found = []
    for (table, keys), own in zip(keyed, voices, strict=True):
        taken = {voice.column for voice in own}
        heard: list[Voice] = []
        if keys.judge is not None:
            people = _called(table, keys.judge, asked.human)
            columns = verdict_column(table, keys, asked.human, "judge", () if people else taken)
            only = _only(table, keys.judge, asked.judges)
            for order, column in enumerate(columns[:2]):
                heard += _long(
                    table, keys.judge, column, is_judge=True, only=only, but=people, order=order
                )
        elif keys.rater is not None and asked.human and not set(asked.human) & set(table.columns):
            column = verdict_column(table, keys, (), "rater")[0]
            only = _only(table, keys.rater, asked.judges)
            heard += _long(table, keys.rater, column, is_judge=True, only=only, but=asked.human)
        elif keys.rater is None or asked.judges is not None or len(keyed) == 1:
            heard += _wide(table, keys, taken, asked, kind, scale)
        found.append(heard)
    return found


def _only(table: RawTable, column: str, wanted: Collection[str] | None) -> set[str] | None:
    return None if wanted is None else set(matching(wanted, sorted(set(table.labels(column)))))


def _wide(
    table: RawTable, keys: Keys, people: Collection[str], asked: Asked, kind: str, scale: Scale
) -> list[Voice]:
    """Give the columns of a table that are judges; ``people`` are those of people."""
    free = [n for n in table.columns if n not in people and n not in keys.columns]
    bases = {name[:-3] for name in free if name.endswith(ORDERS[0])
             and name[:-3] + ORDERS[1] in free}  # fmt: skip
    paired = {name for both in sides(free).values() for name in both} if kind == PAIRS else set()
    paired -= {base + order for base in bases for order in ORDERS}
    given = None if asked.judges is None else set(matching(asked.judges, [*free, *bases]))
    left, right = (
        table.labels(name) if name is not None else [None] * table.n_rows
        for name in (keys.left, keys.right)
    )
    voices = []
    for name in free:
        base = name[:-3] if name.endswith(ORDERS) and name[:-3] in bases else name
        rows, cells = said_in(cells_of(table, name))
        if given is not None and base not in given and name not in given:
            continue
        if given is None:
            odd = says_no_verdict(base) or name in paired or name in asked.others
            if odd or not (
                holds_outcomes(cells, [left[row] for row in rows], [right[row] for row in rows])
                if kind == PAIRS
                else holds_grades(cells, scale)
            ):
                continue
        order = 1 if base != name and name.endswith(ORDERS[1]) else 0
        voices.append(Voice(base, True, order, name, rows, cells, repeated=keys.rater is not None))
    return voices


def check_people(voices: Sequence[Sequence[Voice]]) -> None:
    """Refuse tables in which no person says anything, as far as anybody told."""
    if not any(voices):
        raise UsageError(
            "human: which columns are labels of people? Name them (human=[...]), or give a table "
            "with a column 'rater'"
        )
