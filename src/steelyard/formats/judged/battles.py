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

from steelyard.core.errors import InputError, UsageError, hint
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
    WordColumn,
    agreed,
    names_column,
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
    def named(self) -> tuple[str | None, ...]:
        """The names that were given to the columns of a battle."""
        return (self.left, self.right, self.outcome, self.unit)

    def is_text(self, name: str) -> bool:
        """Tell whether a column holds names, even where they look like numbers."""
        selects = (column for column, _ in self.where)
        also = (LOSER, *_OUTCOMES_ALSO, *(side for pair in judges.SIDES for side in pair))
        return name in (*self.named, *selects, *also) or roles.is_log_text(name)

    def selected(self, table: RawTable) -> RawTable:
        """Keep the rows and columns that are left."""
        for column, value in self.where:
            if column in table:
                table = table.where(column, value)
        return table.without(self.ignore)

    def check(self, names: Collection[str], path: Path) -> None:
        """Refuse a column that the file does not have."""
        for column in (*self.ignore, *(name for name, _ in self.where)):
            if column not in names:
                raise UsageError(f"{path}: no column '{column}'; {hint(column, names)}")
            if column in self.named:
                raise UsageError(
                    f"{path}: column '{column}' selects rows or is ignored: it can't be part of a "
                    "battle, too"
                )

    def no_rows(self, path: Path) -> InputError:
        """Say that nothing is left of a log."""
        chosen = " and ".join(f"{name}={value}" for name, value in self.where)
        return InputError(f"no row has {chosen}" if chosen else "has no rows", path=path)

    def are_rankings(self, table: RawTable) -> bool:
        """Tell whether a table ranks two systems or more per row, and nobody named a side."""
        return self.left is None and len(roles.places(table.columns)) >= 2

    def find(self, table: RawTable) -> BattleColumns:
        """Find the columns of a battle by the names given, or by those that logs usually have."""
        used = [*self.ignore, *(column for column, _ in self.where)]
        table = table.without(used)
        if not (self.left or self.right or self.outcome):
            if BETTER in table and WORSE in table:
                return self._with_others(table, BETTER, WORSE, None)
            if WINNER in table and LOSER in table and None in judges.side_columns(table.columns):
                return self._with_others(table, WINNER, LOSER, None)
        one_of(table, roles.LEFT, "left column")
        one_of(table, roles.RIGHT, "right column")
        left, right = judges.side_columns(table.columns)
        outcome = self.outcome or one_of(table, roles.OUTCOME, "outcome column")
        if outcome is None:
            outcome = one_of(table, _OUTCOMES_ALSO, "outcome column")
        columns = [
            _present(table, name)
            for name in (self.left or left or "left", self.right or right or "right",
                         outcome or "outcome")
        ]  # fmt: skip
        return self._with_others(table, *columns)

    def described(
        self, names: Collection[str], path: Path
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the roles of a battle and the columns that have them, by the names in a log."""
        table = RawTable(path, dict.fromkeys(names, ()), 0)
        if not names or self.are_rankings(table):
            return ()
        columns = self.find(table)._asdict()
        return tuple((role, (name,)) for role, name in columns.items() if name is not None)

    def _with_others(
        self, table: RawTable, left: str, right: str, outcome: str | None
    ) -> BattleColumns:
        others = table.without([left, right, *([] if outcome is None else [outcome])])
        if self.unit is None or (self.unit in _PROMPTS and self.unit not in others):
            shared = one_of(others, roles.UNIT, "unit")  # whatever a log calls them
        else:
            shared = _present(others, self.unit)
        others = others.without([] if shared is None else [shared])
        weight = one_of(others, roles.WEIGHT, "weight")
        time = one_of(others, roles.TIME, "time")
        tie = _TIE if left == WINNER and _TIE in others else None
        return BattleColumns(left, right, outcome, weight, time, shared, tie)


def _present(table: RawTable, column: str) -> str:
    if column not in table:
        raise UsageError(f"{table.path}: no column '{column}'; {hint(column, table.columns)}")
    return column


def read(table: RawTable, columns: LogColumns | None = None) -> BattleLog:
    """Read a log; outcomes are words, systems or points of the left side in 0..1."""
    columns = columns or LogColumns()
    names = columns.find(table)
    lefts, rights = table.labels(names.left), table.labels(names.right)
    for row, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        if left == right:
            table.fail(f"'{left}' meets itself", row)
    systems, codes = encode([*lefts, *rights])
    units, unit = (None, None) if names.unit is None else encode(table.labels(names.unit))
    points = np.ones(table.n_rows)
    if names.tie is not None:
        points[_tied(table, names.tie)] = TIE
    if names.outcome is not None:
        points = _points(table, columns, names.outcome, (lefts, rights))
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


def _tied(table: RawTable, column: str) -> Bools:
    return np.array([str(cell).strip().casefold() in _TIED for cell in table.columns[column]])


def _points(
    table: RawTable, columns: LogColumns, column: str, sides: tuple[list[str], list[str]]
) -> Floats:
    def ask(question: str) -> NoReturn:
        raise UsageError(f"{table.place}: {question}")

    cells = _usable(judges.cells_of(table, column))
    distinct = set(cells) - {None}
    clear = distinct.isdisjoint(sides[0]) and distinct.isdisjoint(sides[1])
    if clear:
        nobody = [None] * len(distinct)
        words = WordColumn(column, list(distinct), nobody, nobody)
    else:
        words = WordColumn(column, cells, *sides)
    outcomes = agreed({column: words}, columns.words, ask)[column]
    # Numbers beyond 0 to 1 are refused where they stand.
    outcomes = outcomes if outcomes.digits else replace(outcomes, digits="points")
    points, by_name = outcomes.points(cells, *sides)
    for row in np.flatnonzero(np.isnan(points))[:1].tolist():
        table.fail(f"outcome {table.columns[column][row]!r}, expected {EXPECTED}", row)
    if columns.swapped == "column" or judges.order_flags(table) is None:
        return points
    mirrored = _mirrored(table, *sides)
    fixed = by_name.copy()
    if columns.swapped is None:
        fixed |= np.array([names_column(cell) for cell in cells], dtype=bool)
        _check_swapped(table, points, mirrored & ~by_name, fixed)
    return np.where(mirrored & ~fixed, 1 - points, points)


def _usable(cells: Sequence[Any]) -> list[Any]:
    """Return cells as outcomes, None where one can't be any."""
    plain = [None if isinstance(cell, (bool, list, dict)) else cell for cell in cells]
    words = {cell: cell.strip() if isinstance(cell, str) else cell for cell in set(plain)}
    return [words[cell] for cell in plain]


def _mirrored(table: RawTable, lefts: Sequence[str], rights: Sequence[str]) -> Bools:
    return judges.mirrored_rows(table, _items(table), list(zip(lefts, rights, strict=True)))


def _items(table: RawTable) -> list[str]:
    item = next((name for name in judges.ITEM if name in table), None)
    return [""] * table.n_rows if item is None else [str(label(c)) for c in table.columns[item]]


def _check_swapped(table: RawTable, points: Floats, mirrored: Bools, fixed: Bools) -> None:
    """Ask what words of a swapped order refer to, if the usual order contradicts the reading."""
    items = _items(table)
    usual = {items[row]: points[row] for row in np.flatnonzero(~mirrored).tolist()}
    counts = {(of_columns, same): 0 for of_columns in (False, True) for same in (False, True)}
    for row in np.flatnonzero(mirrored & (points != TIE)).tolist():
        other = usual.get(items[row], TIE)
        if other != TIE and items[row]:
            counts[bool(fixed[row]), bool((points[row] > TIE) == (other > TIE))] += 1
    for of_columns in (False, True):
        n_column, n_side = counts[of_columns, True], counts[of_columns, False]
        question = swap_question(n_column, n_side, of_columns=of_columns)
        if question is not None:
            raise UsageError(f"{table.place}: {question}")


def prepared(table: RawTable, columns: LogColumns | None = None) -> RawTable:
    """Leave out rows of winners and losers that name no two systems, and note what is assumed."""
    columns = columns or LogColumns()
    names, notes = columns.find(table), []
    if names.left == WINNER and names.right == LOSER and names.outcome is None:
        pairs = [tuple(map(label, row)) for row in zip(table.columns[WINNER],
                 table.columns[LOSER], strict=True)]  # fmt: skip
        rows = [n for n, (left, right) in enumerate(pairs) if left and right and left != right]
        if len(rows) < table.n_rows:
            lost = plural(table.n_rows - len(rows), "battle")
            notes.append(f"{table.places}: {lost} without two systems: left out")
            if not rows:
                table.fail("no battle is left of two systems")
            table = table.take(rows)
    elif judges.order_flags(table) and columns.swapped is None and names.outcome is not None:
        lefts, rights = table.labels(names.left), table.labels(names.right)
        notes += [SIDE_NOTE] if _mirrored(table, lefts, rights).any() else []
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
