"""Who was better than whom: battle logs, a row per duel, and rankings, a row per judge.

A log has columns of two systems (``left`` and ``right``, ``model_a`` and ``model_b``) and an
outcome in the words of :mod:`steelyard.formats.verdicts.words`; or columns ``better`` and
``worse``, or ``winner`` and ``loser``. Rankings have ``systemKId`` and ``systemKrank``. Logs too
long for memory are counted by :mod:`steelyard.formats.judged.battle_counts`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import BattleLog, Floats, Rankings, encode
from steelyard.data.verdicts import Bools
from steelyard.formats import columns as roles
from steelyard.formats import tables
from steelyard.formats.cells import label
from steelyard.formats.columns import BETTER, WORSE
from steelyard.formats.format import TableFormat
from steelyard.formats.judged.builder import noting_unused
from steelyard.formats.rawtable import RawTable, one_of
from steelyard.formats.verdicts import judges
from steelyard.formats.verdicts.words import (
    EXPECTED,
    SIDE_NOTE,
    TIE,
    OrderedPoints,
    WordColumn,
    agreed,
    swap_question,
)
from steelyard.stats.strength.wins import MOST_WEIGHT

WINNER, LOSER = "winner", "loser"
_TIE = "tie"  # a column that says so, beside a winner and a loser
_TIED = frozenset(("true", "1", "1.0", "yes", "tie", "tied", "draw"))
_OUTCOMES_ALSO = ("verdict", "preference", "judgment", "judgement")
_PROMPTS = ("prompt", "segment")  # words for what battles share, beside names of columns


class BattleColumns(NamedTuple):
    """What the columns of a log are called; None for those it does not have.

    Without an outcome left always wins, but for rows with a ``tie``.
    """

    left: str
    right: str
    outcome: str | None
    weight: str | None
    time: str | None
    unit: str | None
    tie: str | None = None

    @property
    def are_winners(self) -> bool:
        """Whether rows name a winner and a loser, which some rows may lack."""
        return self.left == WINNER and self.outcome is None


@dataclass(frozen=True, slots=True)
class LogColumns:
    """What the user said of a log: names of columns, which rows to keep, how outcomes are read."""

    left: str | None = None
    right: str | None = None
    outcome: str | None = None
    unit: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()
    form: str | None = None  # the format, whatever the log looks like
    words: tuple[str, ...] = ()
    swapped: str | None = None

    @property
    def _named(self) -> tuple[str | None, ...]:
        return (self.left, self.right, self.outcome, self.unit)

    @property
    def _used(self) -> list[str]:
        return [*self.ignore, *dict(self.where)]

    def is_text(self, name: str) -> bool:
        """Tell whether a column holds names, even where they look like numbers."""
        also = (LOSER, *_OUTCOMES_ALSO, *(side for pair in judges.SIDES for side in pair))
        return name in (*self._named, *dict(self.where), *also) or roles.is_log_text(name)

    def selected(self, table: RawTable) -> RawTable:
        """Keep the rows and columns that are left."""
        for column, value in self.where:
            if column in table:
                table = table.where(column, value)
        return table.without(self.ignore)

    def check(self, names: Collection[str], path: Path) -> None:
        """Refuse a column that the file does not have."""
        for column in self._used:
            if column not in names:
                raise UsageError(f"{path}: no column '{column}'; {hint(column, names)}")
            if column in self._named:
                raise UsageError(
                    f"{path}: column '{column}' selects rows or is ignored: it can't be part of a "
                    "battle, too"
                )

    def are_rankings(self, table: RawTable) -> bool:
        """Tell whether a table ranks two systems or more per row, and nobody named a side."""
        return self.left is None and len(roles.places(table.columns)) >= 2

    def find(self, table: RawTable) -> BattleColumns:
        """Find the columns of a battle by the names given, or by those that logs usually have."""
        table = table.without(self._used)
        left, right, outcome = self._sides(table)
        others = table.without([name for name in (left, right, outcome) if name is not None])
        unit = self.unit
        if unit is None or (unit in _PROMPTS and unit not in others):
            unit = one_of(others, roles.UNIT, "unit")  # whatever a log calls them
        elif unit not in others:
            raise _no_column(others, unit)
        others = others.without([unit] if unit else [])
        weight = one_of(others, roles.WEIGHT, "weight")
        time = one_of(others, roles.TIME, "time")
        tie = _TIE if left == WINNER and _TIE in others else None
        return BattleColumns(left, right, outcome, weight, time, unit, tie)

    def _sides(self, table: RawTable) -> tuple[str, str, str | None]:
        """Return the columns of both systems and of the outcome."""
        usual = judges.side_columns(table.columns)
        if not (self.left or self.right or self.outcome):
            if BETTER in table and WORSE in table:
                return BETTER, WORSE, None
            if WINNER in table and LOSER in table and None in usual:
                return WINNER, LOSER, None
        one_of(table, roles.LEFT, "left column")
        one_of(table, roles.RIGHT, "right column")
        outcome = self.outcome or one_of(table, roles.OUTCOME, "outcome column")
        outcome = outcome or one_of(table, _OUTCOMES_ALSO, "outcome column")
        columns = (self.left or usual[0] or "left", self.right or usual[1] or "right",
                   outcome or "outcome")  # fmt: skip
        for column in columns:
            if column not in table:
                raise _no_column(table, column)
        return columns

    def described(
        self, names: Collection[str], path: Path
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the roles of a battle and the columns that have them, by the names in a log."""
        table = RawTable(path, dict.fromkeys(names, ()), 0)
        if not names or self.are_rankings(table):
            return ()
        columns = self.find(table)._asdict()
        return tuple((role, (name,)) for role, name in columns.items() if name is not None)


def _no_column(table: RawTable, column: str) -> UsageError:
    return UsageError(f"{table.path}: no column '{column}'; {hint(column, table.columns)}")


def read(table: RawTable, columns: LogColumns | None = None) -> BattleLog:
    """Read a log; outcomes are words, systems or points of the left side in 0..1."""
    columns = columns or LogColumns()
    names = columns.find(table)
    sides = lefts, rights = table.labels(names.left), table.labels(names.right)
    for row, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        if left == right:
            table.fail(f"'{left}' meets itself", row)
    systems, codes = encode([*lefts, *rights])
    units, unit = (None, None) if names.unit is None else encode(table.labels(names.unit))
    if names.outcome is not None:
        points = _points(table, columns, names.outcome, sides)
    elif names.tie is not None:
        tied = [str(cell).strip().casefold() in _TIED for cell in table.columns[names.tie]]
        points = np.where(tied, TIE, 1.0)
    else:
        points = np.ones(table.n_rows)
    return BattleLog(
        systems,
        codes[: len(lefts)],
        codes[len(lefts) :],
        points,
        None if names.weight is None else _weights(table, names.weight),
        None if names.time is None else table.numbers(names.time),
        units,
        unit,
    )


def _points(
    table: RawTable, columns: LogColumns, column: str, sides: tuple[list[str], list[str]]
) -> Floats:
    def ask(question: str) -> NoReturn:
        raise UsageError(f"{table.place}: {question}")

    words = WordColumn(column, _usable(judges.cells_of(table, column)), *sides)
    outcomes = agreed({column: words}, columns.words, ask)[column]
    # Numbers beyond 0 to 1 are refused where they stand.
    outcomes = outcomes if outcomes.digits else replace(outcomes, digits="points")
    flagged = judges.order_flags(table) is not None
    mirrored = _mirrored(table, sides) if flagged else np.zeros(table.n_rows, dtype=bool)
    points = OrderedPoints.of(outcomes, words, mirrored)
    for row in np.flatnonzero(np.isnan(points.values))[:1].tolist():
        named = f'{EXPECTED} (words=["LEFT", "RIGHT", "TIE"] gives others)'
        table.fail(f"outcome {table.columns[column][row]!r}, expected {named}", row)
    if columns.swapped is None and flagged:
        question = swap_question([(points, _usual(table, sides, points))])
        if question is not None:
            ask(question)
    return points.read(columns.swapped)


def _usable(cells: Sequence[Any]) -> list[Any]:
    """Return cells as outcomes, None where one can't be any."""
    plain = [None if isinstance(cell, (bool, list, dict)) else cell for cell in cells]
    words = {cell: cell.strip() if isinstance(cell, str) else cell for cell in set(plain)}
    return [words[cell] for cell in plain]


def _mirrored(table: RawTable, sides: tuple[list[str], list[str]]) -> Bools:
    return judges.mirrored_rows(table, _items(table), list(zip(*sides, strict=True)))


def _items(table: RawTable) -> list[str]:
    item = next((name for name in judges.ITEM if name in table), None)
    return [""] * table.n_rows if item is None else [str(label(c)) for c in table.columns[item]]


def _usual(table: RawTable, sides: tuple[list[str], list[str]], points: OrderedPoints) -> Floats:
    """Return the points of each row's left side in the usual order of the same item and pair."""
    keys = list(zip(_items(table), *sides, strict=True))
    usual: dict[tuple[str, str, str], float] = {}
    for row in np.flatnonzero(~(points.by_side | points.by_column)).tolist():
        item, left, right = keys[row]
        if item:
            usual[item, left, right] = float(points.values[row])
            usual[item, right, left] = 1 - float(points.values[row])
    return np.array([usual.get(key, TIE) for key in keys])


def prepared(table: RawTable, columns: LogColumns | None = None) -> RawTable:
    """Leave out rows of winners and losers that name no two systems, and note what is assumed."""
    columns = columns or LogColumns()
    names, notes = columns.find(table), []
    if names.are_winners:
        pairs = zip(table.columns[WINNER], table.columns[LOSER], strict=True)
        rows = [row for row, (left, right) in enumerate(tuple(map(label, p)) for p in pairs)
                if left and right and left != right]  # fmt: skip
        if len(rows) < table.n_rows:
            lost = plural(table.n_rows - len(rows), "battle")
            notes.append(f"{table.places}: {lost} without two systems: left out")
            if not rows:
                table.fail("no battle is left of two systems")
            table = table.take(rows)
    elif judges.order_flags(table) and columns.swapped is None and names.outcome is not None:
        sides = table.labels(names.left), table.labels(names.right)
        notes += [SIDE_NOTE] if _mirrored(table, sides).any() else []
    orders = judges.orders_of(table.columns, pairs=True)
    if names.outcome is not None and names.outcome in orders:
        notes.append(f"{table.places}: the swapped order is not used: {orders[names.outcome][1]}")
    return replace(table, notes=(*table.notes, *notes))


def _weights(table: RawTable, column: str) -> Floats:
    weights = table.numbers(column)
    for row in np.flatnonzero(~((weights >= 0) & (weights <= MOST_WEIGHT)))[:1]:
        what = f"a number from 0 to {MOST_WEIGHT:g} in column '{column}'"
        table.fail(f"weight {weights[row]:g}, expected {what}", int(row))
    return weights


def write(log: BattleLog, path: Path) -> None:
    """Write the columns that :func:`read` reads; outcomes as words where they are one."""
    words = {1.0: "left", 0.0: "right", 0.5: "tie"}
    units = log.units or ()
    columns: dict[str, Any] = {
        "left": [log.systems[code] for code in log.left],
        "right": [log.systems[code] for code in log.right],
        "outcome": [words.get(x, repr(x)) for x in log.outcome.tolist()],
        "weight": log.weight,
        "time": log.time,
        "unit": None if log.unit is None else [units[code] for code in log.unit],
    }
    tables.write(path, {name: cells for name, cells in columns.items() if cells is not None})


def read_rankings(table: RawTable) -> Rankings:
    """Read all rankings; rank -1 or an empty cell means that a place was not ranked."""
    places = roles.places(table.columns)
    segment = one_of(table, roles.RANKED_SEGMENT, "segment")
    judge = one_of(table, roles.JUDGE, "judge")
    if segment is None:
        table.fail(f"no segment column (one of {', '.join(roles.RANKED_SEGMENT)})")
    segments, segment_codes = encode(table.labels(segment))
    unknown = ["unknown"] * table.n_rows
    raters, rater = encode(unknown if judge is None else table.labels(judge))
    names = [table.texts(f"system{rank_of}Id") for rank_of in places]
    systems, _ = encode([name for column in names for name in column if name])
    code = {name: i for i, name in enumerate(systems)} | {None: -1, "": -1}
    system = np.array([[code[name] for name in column] for column in names], dtype=np.int32).T
    rank = np.array([table.numbers(f"system{rank_of}rank") for rank_of in places]).T
    rank = np.where((rank == -1) | (system == -1), np.nan, rank)
    for row, column in np.argwhere(~np.isnan(rank) & ((rank < 1) | (rank != np.floor(rank))))[:1]:
        message = f"rank {rank[row, column]:g} of system {places[column]}, expected 1, 2, ..."
        table.fail(message, int(row))
    return Rankings(systems, segments, raters, segment_codes, rater, system.copy(), rank.copy())


def unfolded(rankings: Rankings) -> BattleLog:
    """Let every two systems that a judge ranked meet: a five-way ranking is ten battles.

    What the battles share, and what a bootstrap draws, is the segment. A system that stands twice
    in a ranking does not meet itself.
    """
    first, second = np.triu_indices(rankings.system.shape[1], 1)
    left, right = rankings.system[:, first].ravel(), rankings.system[:, second].ravel()
    ahead = (rankings.rank[:, second] - rankings.rank[:, first]).ravel()
    unit = np.repeat(rankings.segment, len(first))
    meet = ~np.isnan(ahead) & (left != right)
    outcome = (1 + np.sign(ahead[meet])) / 2
    return BattleLog(
        rankings.systems,
        left[meet],
        right[meet],
        outcome,
        units=rankings.segments,
        unit=unit[meet],
    )


def _used_of_rankings(table: RawTable) -> list[str]:
    places = roles.places(table.columns)
    ranked = [f"system{rank_of}{what}" for rank_of in places for what in ("Id", "rank")]
    return [*ranked, *roles.RANKED_SEGMENT, *roles.JUDGE]


def noted(table: RawTable) -> RawTable:
    """Note what a log has beside its battles, such as judges and categories."""
    table = prepared(table)
    return noting_unused(table, LogColumns().find(table))


FORMAT = TableFormat(
    name="battle log",
    gives=BattleLog,
    known_by="left, right and outcome; or better and worse; or winner and loser",
    example="left,right,outcome\nA,B,left\nB,A,tie\n",
    example_name="battles.csv",
    marks=("left right outcome", "better worse", ".winner .loser"),
    prepare=noted,
    read=read,
    write=write,
    to="battles",
    suits=lambda _value, _path: True,
)
RANKINGS = TableFormat(
    name="rankings",
    gives=Rankings,
    known_by="system1Id, system1rank, system2Id, system2rank, ...",
    example="segmentId,judgeId,system1Id,system1rank,system2Id,system2rank\n7,j1,A,1,B,2\n",
    example_name="rankings.csv",
    marks=("places",),
    prepare=lambda table: noting_unused(table, _used_of_rankings(table)),
    read=read_rankings,
)
