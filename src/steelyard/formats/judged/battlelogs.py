"""Who was better than whom: battle logs, a row per duel, and rankings, a row per judge.

A log has columns ``left``, ``right`` and ``outcome``, or ``better`` and ``worse``; rankings have
``systemKId`` and ``systemKrank``. Both are read whole here, and every ranking can be unfolded into
battles; logs too long for that are counted by :mod:`steelyard.formats.judged.logcounts`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.data.judgements import BattleLog, Floats, Rankings, encode
from steelyard.formats import columns as roles
from steelyard.formats import tables
from steelyard.formats.cells import parse_number
from steelyard.formats.columns import BETTER, WORSE
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import unusedcolumns
from steelyard.formats.rawtable import RawTable, one_of
from steelyard.stats.strength.wins import MOST_WEIGHT

WORDS = {
    **dict.fromkeys(("left", "model_a"), 1.0),
    **dict.fromkeys(("right", "model_b"), 0.0),
    **dict.fromkeys(("tie", "tie (bothbad)", "both_bad", "bothbad"), 0.5),
}


_PROMPTS = ("prompt", "segment")  # words for what battles share, beside names of columns


class BattleColumns(NamedTuple):
    """What the columns of a log are called; None for those it does not have.

    Without an outcome, left always wins.
    """

    left: str
    right: str
    outcome: str | None
    weight: str | None
    time: str | None
    unit: str | None


@dataclass(frozen=True, slots=True)
class LogColumns:
    """What the user said of the columns: their names, which rows to keep, what to skip."""

    left: str | None = None
    right: str | None = None
    outcome: str | None = None
    unit: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()
    form: str | None = None  # the format, whatever the log looks like

    @property
    def named(self) -> tuple[str | None, ...]:
        """The names that were given to the columns of a battle."""
        return (self.left, self.right, self.outcome, self.unit)

    def is_text(self, name: str) -> bool:
        """Tell whether a column holds names, even where they look like numbers."""
        selects = (column for column, _ in self.where)
        return name in self.named or name in selects or roles.is_log_text(name)

    def wants(self, name: str) -> bool:
        """Tell whether a column is read at all."""
        known = (*roles.WEIGHT, *roles.TIME)
        return name in known or self.is_text(name) or roles.is_rank(name)

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
        if BETTER in table and WORSE in table and not (self.left or self.right or self.outcome):
            return self._with_others(table, BETTER, WORSE, None)
        chosen = []
        for given, names, what in (
            (self.left, roles.LEFT, "left"),
            (self.right, roles.RIGHT, "right"),
            (self.outcome, roles.OUTCOME, "outcome"),
        ):
            chosen.append(_present(table, given or one_of(table, names, f"{what} column") or what))
        return self._with_others(table, *chosen)

    def described(
        self, names: Collection[str], path: Path
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Give the roles of a battle and the columns that have them, by the names in a log."""
        table = RawTable(path, dict.fromkeys(names, ()), 0)
        if not names or self.are_rankings(table):
            return ()
        found = self.find(table)._asdict()
        return tuple((role, (name,)) for role, name in found.items() if name is not None)

    def _with_others(
        self, table: RawTable, left: str, right: str, outcome: str | None
    ) -> BattleColumns:
        """Add the columns that a log may have."""
        others = table.without([left, right, *([] if outcome is None else [outcome])])
        if self.unit is None or (self.unit in _PROMPTS and self.unit not in others):
            shared = one_of(others, roles.UNIT, "unit")  # whatever a log calls them
        else:
            shared = _present(others, self.unit)
        others = others.without([] if shared is None else [shared])
        weight = one_of(others, roles.WEIGHT, "weight")
        time = one_of(others, roles.TIME, "time")
        return BattleColumns(left, right, outcome, weight, time, shared)


def _present(table: RawTable, column: str) -> str:
    if column not in table:
        raise UsageError(f"{table.path}: no column '{column}'; {hint(column, table.columns)}")
    return column


def read(table: RawTable, columns: LogColumns | None = None) -> BattleLog:
    """Read a log; an outcome is a word (``left``, ``right``, ``tie``) or left's score in 0..1."""
    chosen = (columns or LogColumns()).find(table)
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
    names = [table.texts(f"system{place}Id") for place in places]
    systems, _ = encode([name for column in names for name in column if name])
    code = {name: i for i, name in enumerate(systems)} | {None: -1, "": -1}
    system = np.array([[code[name] for name in column] for column in names], dtype=np.int32).T
    rank = np.array([table.numbers(f"system{place}rank") for place in places]).T
    rank = np.where((rank == -1) | (system == -1), np.nan, rank)
    for row, column in np.argwhere(~np.isnan(rank) & ((rank < 1) | (rank != np.floor(rank))))[:1]:
        message = f"rank {rank[row, column]:g} of system {places[column]}, expected 1, 2, ..."
        table.fail(message, int(row))
    return Rankings(systems, segments, raters, segment_codes, rater, system.copy(), rank.copy())


def unfolded(rankings: Rankings) -> BattleLog:
    """Let every two systems that a judge ranked meet: a five-way ranking is ten battles.

    What the battles share, and what a bootstrap draws, is the segment. A system that stands twice
    in a ranking does not meet itself.

    Examples
    --------
    >>> one = np.zeros(1, dtype=np.int32)
    >>> made = Rankings(("A", "B", "C"), ("1",), ("x",), one, one,
    ...                 np.array([[2, 0, 1]], dtype=np.int32), np.array([[1.0, 1.0, 3.0]]))
    >>> log = unfolded(made)
    >>> log.left.tolist(), log.right.tolist(), log.outcome.tolist()
    ([2, 2, 0], [0, 1, 1], [0.5, 1.0, 1.0])
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


def write_rankings(rankings: Rankings, path: Path) -> None:
    """Write the columns that :func:`read_rankings` reads."""
    columns: dict[str, object] = {
        "segmentId": [rankings.segments[code] for code in rankings.segment],
        "judgeId": [rankings.raters[code] for code in rankings.rater],
    }
    for k in range(rankings.system.shape[1]):
        codes = rankings.system[:, k]
        columns[f"system{k + 1}Id"] = [rankings.systems[c] if c >= 0 else None for c in codes]
        columns[f"system{k + 1}rank"] = [
            None if np.isnan(r) else int(r) for r in rankings.rank[:, k]
        ]
    tables.write(path, columns)


def _used_of_rankings(table: RawTable) -> list[str]:
    places = roles.places(table.columns)
    ranked = [f"system{place}{what}" for place in places for what in ("Id", "rank")]
    return [*ranked, *roles.RANKED_SEGMENT, *roles.JUDGE]


#: Notes what a log has beside its battles, such as judges, categories and language pairs.
told_of_battles = unusedcolumns.told(lambda table: LogColumns().find(table))
FORMAT = TableFormat(
    name="battle log",
    gives=BattleLog,
    known_by="left, right and outcome; or better and worse",
    example="left,right,outcome\nA,B,left\nB,A,tie\n",
    example_name="battles.csv",
    marks=("left right outcome", "better worse"),
    prepare=told_of_battles,
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
    prepare=unusedcolumns.told(_used_of_rankings),
    read=read_rankings,
    write=write_rankings,
    to="rankings",
    suits=lambda _value, _path: True,
)
