"""Battle logs as count arrays: what statistics need of a log, however long it is.

Short logs are read whole (:mod:`steelyard.formats.battles`); long ones, and all Parquet, are
counted by DuckDB out of core: names become codes, outcomes numbers, and battles counts per pair, in
SQL. Both ways give the same arrays. A log with units (prompts, segments) is counted per unit, too,
which takes about 8 bytes per battle; so does one with weights. The longest logs are counted per
unit in parts on disk (:mod:`steelyard.formats.battleparts`), in bounded memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import InputError, UsageError, hint
from steelyard.formats import battles, bigtables, files, rankings, tables
from steelyard.formats.battleparts import UnitParts
from steelyard.formats.bigtables import Column, Scan
from steelyard.formats.duck import literal
from steelyard.formats.tables import NUMBER
from steelyard.judgements import BattleLog
from steelyard.stats.battles import Battles, UnitCounts, battle_pairs
from steelyard.stats.wins import PairWins

_LONG = 8_000_000  # bytes of text from which a log is counted out of core, packed or not
_PARTED = 20_000_000  # battles from which units are counted in parts
_PART = 5_000_000  # battles of a part
_FEW = 2  # counting by unit in SQL pays if it leaves fewer than one row of so many


@dataclass(frozen=True, slots=True, eq=False)
class CountedLog:
    """A log as counts.

    Attributes
    ----------
    systems
        Names, sorted; all arrays use their places as codes.
    n_battles, n_units
        How many battles there are, and how many prompts or segments they share (None: not known).
    pairs
        Wins and ties of the pairs that met.
    units
        The same by unit; for logs without units but with weights, a battle is a unit. None for
        logs with neither: ``pairs`` holds whole battles then.
    played, unit
        The battles in the order of time, or else of the file, and their units; where asked for.
    form
        What the file was taken for.
    """

    systems: tuple[str, ...]
    n_battles: int
    n_units: int | None
    pairs: PairWins
    units: UnitCounts | UnitParts | None
    played: Battles | None = None
    unit: NDArray[np.int32] | None = None
    form: str = "battle log"


@dataclass(frozen=True, slots=True)
class LogColumns:
    """What the user said of the columns: their names, which rows to keep, what to skip."""

    left: str | None = None
    right: str | None = None
    outcome: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()

    @property
    def sides(self) -> dict[str, str | None]:
        """The names of the three columns that every log has."""
        return {"left": self.left, "right": self.right, "outcome": self.outcome}

    def is_text(self, name: str) -> bool:
        """Tell whether a column holds names, even where they look like numbers."""
        named = {*self.sides.values(), *(column for column, _ in self.where)}
        return name in named or battles.is_text(name) or rankings.is_text(name)

    def check(self, names: Collection[str], path: Path) -> None:
        """Refuse a column that the file does not have."""
        for column in (*self.ignore, *(name for name, _ in self.where)):
            if column not in names:
                raise UsageError(f"{path}: no column '{column}'; {hint(column, names)}")


def read_counts(
    path: Path | str,
    columns: LogColumns | None = None,
    *,
    by_unit: bool = True,
    in_order: bool = False,
) -> CountedLog:
    """Count the battles of a log or of rankings, in any kind of table.

    Parameters
    ----------
    path
        CSV, TSV, JSON lines (all of them also ``.gz``) or Parquet.
    columns
        How the columns are called, where not by the usual names.
    by_unit
        Count by unit, too, where the log has units.
    in_order
        Give the battles in their order, too.
    """
    path, columns = Path(path), columns or LogColumns()
    if files.is_folder(path):
        raise InputError("is a folder, expected a file", path=path)
    if bigtables.is_parquet(path) or (path.is_file() and path.stat().st_size >= _LONG):
        with bigtables.opened(path, lambda name: _wanted(name, columns)) as scan:
            header = scan.header()
            columns.check(header.columns, path)
            if not rankings.recognise(header) or columns.left is not None:
                return _Counter(scan, columns).counted(by_unit=by_unit, in_order=in_order)
    table = tables.read(path, is_text=columns.is_text)
    columns.check(table.columns, path)
    for column, value in columns.where:
        table = table.where(column, value)
    table = table.without(columns.ignore)
    if rankings.recognise(table) and columns.left is None:
        log, form = rankings.unfolded(rankings.read(table)), "rankings"
    else:
        log, form = battles.read(table, **columns.sides), "battle log"
    return from_log(log, by_unit=by_unit, in_order=in_order, form=form)


def _wanted(name: str, columns: LogColumns) -> bool:
    known = (*battles.WEIGHT, *battles.TIME)
    return name in known or columns.is_text(name) or rankings.is_rank(name)


def from_log(
    log: BattleLog, *, by_unit: bool = True, in_order: bool = False, form: str = "battle log"
) -> CountedLog:
    """Count the battles of a log that is in memory.

    Examples
    --------
    >>> left, right = np.array([0, 0], dtype=np.int32), np.array([1, 1], dtype=np.int32)
    >>> counted = from_log(BattleLog(("A", "B"), left, right, np.array([1.0, 0.5])))
    >>> counted.pairs.wins_i.tolist(), counted.pairs.ties.tolist()
    ([1.0], [1.0])
    """
    rows = Battles(log.left, log.right, log.outcome, len(log.systems), log.weight)
    unit = log.unit if by_unit else None
    n_units = None if unit is None or log.units is None else len(log.units)
    played = None
    order: NDArray[np.int64] | slice = slice(None)
    if in_order:
        if log.time is not None:
            order = np.argsort(log.time, kind="stable")  # what has no time comes last
        weight = None if log.weight is None else log.weight[order]
        played = Battles(log.left[order], log.right[order], log.outcome[order], rows.n, weight)
    pairs, units = _counts(rows, unit)
    in_play = None if unit is None or not in_order else unit[order]
    return CountedLog(log.systems, len(rows), n_units, pairs, units, played, in_play, form)


def _counts(rows: Battles, unit: NDArray[Any] | None) -> tuple[PairWins, UnitCounts | None]:
    if unit is None and _whole(rows):
        return battle_pairs(rows), None
    units = UnitCounts.of(rows, np.arange(len(rows), dtype=np.int32) if unit is None else unit)
    return units.pairs(), units


def _whole(rows: Battles) -> bool:
    """Tell whether every battle is a win, a loss or a tie and counts once."""
    doubled = 2 * rows.outcome
    same = rows.weight is None or bool((rows.weight == 1).all())
    return same and bool((doubled == np.rint(doubled)).all())


class _Counter:
    """The queries that turn a scanned log into counts."""

    def __init__(self, scan: Scan, columns: LogColumns) -> None:
        self.scan, self.where = scan, columns.where
        self.run = scan.connection.execute
        header = scan.header().without(columns.ignore)
        for column, _ in columns.where:
            header = header.without([column])
        self.names = battles.columns(header, **columns.sides)
        self._make_view()

    def _make_view(self) -> None:
        """Name the columns of a battle: row, l and r (names), o (outcome), w, t and u."""
        own = {
            key: None if name is None else self.scan.columns[name]
            for key, name in self.names._asdict().items()
        }
        left, right, outcome = own["left"], own["right"], own["outcome"]
        weight, time, unit = own["weight"], own["time"], own["unit"]
        assert left is not None
        assert right is not None
        shown = [
            "file_row_number AS row",
            f"{left.text()} AS l",
            f"{right.text()} AS r",
            f"{'1.0' if outcome is None else _outcome(outcome)} AS o",
            f"{'1.0' if weight is None else weight.number()} AS w",
            f"{'NULL' if time is None else time.number()} AS t",
            f"{literal('u') if unit is None else unit.text()} AS u",
            f"{'false' if time is None else _unreadable(time)} AS no_time",
        ]
        chosen = [
            f"{self.scan.columns[name].text()} = {literal(value)}" for name, value in self.where
        ]
        where = f" WHERE {' AND '.join(chosen)}" if chosen else ""
        self.run(
            f"CREATE TEMP VIEW log AS SELECT {', '.join(shown)} FROM {self.scan.source}{where}"
        )

    def _check(self) -> tuple[int, bool]:
        """Count the battles and tell whether all are whole; the first bad one is an error."""
        bad = (
            "coalesce(l, '') = '' OR coalesce(r, '') = '' OR l = r OR o IS NULL OR no_time OR "
            "coalesce(u, '') = '' OR NOT coalesce(w >= 0 AND isfinite(w), false)"
        )
        size, row, whole = self.run(
            f"SELECT count(*), min(row) FILTER ({bad}), "
            "coalesce(bool_and(w = 1 AND o IN (0, 0.5, 1)), true) FROM log"
        ).fetchone()
        if row is not None:
            self._explain(row)
        if not size:
            chosen = " and ".join(f"{name}={value}" for name, value in self.where)
            reason = f"no row has {chosen}" if chosen else "has no rows"
            raise InputError(reason, path=self.scan.path)
        return size, whole

    def _explain(self, row: int) -> None:
        """Let the reader of short logs say what is wrong with a battle."""
        names = [name for name in self.names if name is not None]
        if self.names.time is not None and not _is_plain(self.scan.columns[self.names.time]):
            names.remove(self.names.time)
        table = self.scan.row(row, names)
        sides = self.names._asdict()
        named = {} if self.names.outcome is None else sides
        battles.read(table, **{side: named.get(side) for side in ("left", "right", "outcome")})
        table.fail("not a battle", 0)

    def counted(self, *, by_unit: bool, in_order: bool) -> CountedLog:
        """Count everything."""
        size, whole = self._check()
        self.run(
            "CREATE TEMP TABLE system AS SELECT name, CAST(row_number() OVER (ORDER BY name) - 1 "
            "AS INTEGER) AS code FROM (SELECT l AS name FROM log UNION SELECT r FROM log)"
        )
        found = self.run("SELECT name FROM system ORDER BY code").fetchall()
        systems = tuple(name for (name,) in found)
        n_units = None
        known = by_unit and self.names.unit is not None
        parted = known and whole and size > _PARTED
        if known and (in_order or not parted):
            self.run(
                "CREATE TEMP TABLE unit AS SELECT name, CAST(row_number() OVER (ORDER BY name) - 1 "
                "AS INTEGER) AS code FROM (SELECT DISTINCT u AS name FROM log)"
            )
            n_units = int(self.run("SELECT count(*) FROM unit").fetchone()[0])
        n = len(systems)
        units: UnitCounts | UnitParts | None
        if parted:
            units = self._parts(n, -(-size // _PART))
            pairs = units.pairs()
        elif whole and n_units is None:
            pairs, units = battle_pairs(self._battles(n, None, grouped=True)[0]), None
        else:
            cells = 3 * n * (n - 1) // 2 * (n_units or size)
            grouped = whole and _FEW * cells < size
            # Sums of parts depend on their order, which must not depend on threads.
            order = None if whole else "row"
            rows, unit = self._battles(n, n_units, grouped=grouped, order=order)
            pairs, units = _counts(rows, unit)
        played, unit = None, None
        if in_order:
            played, unit = self._battles(n, n_units, order="t NULLS LAST, row")
        n_units = units.n_units if isinstance(units, UnitParts) else n_units
        return CountedLog(systems, size, n_units, pairs, units, played, unit)

    def _parts(self, n: int, of: int) -> UnitParts:
        """Write the battles to disk by the hash of their unit, then count part after part."""
        parts = UnitParts(n)
        with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
            self.run(
                "COPY (SELECT CAST(a.code AS INTEGER) AS a, CAST(b.code AS INTEGER) AS b, "
                "CAST(2 * o AS TINYINT) AS o, u, "
                f"CAST(md5_number_lower(u) % {of} AS INTEGER) AS part FROM log "
                "JOIN system a ON a.name = l JOIN system b ON b.name = r) "
                f"TO {literal(folder)} (FORMAT parquet, PARTITION_BY (part), OVERWRITE_OR_IGNORE)"
            )
            for k in range(of):
                if not list(Path(folder).glob(f"part={k}/*.parquet")):
                    continue
                source = literal(f"{folder}/part={k}/*.parquet")
                found = self.run(
                    f"SELECT a, b, o / 2.0 AS o, CAST(dense_rank() OVER (ORDER BY u) - 1 AS "
                    f"INTEGER) AS v FROM read_parquet({source}, hive_partitioning=false) "
                    "ORDER BY u, a, b, o"
                ).fetchnumpy()
                parts.add(Battles(found["a"], found["b"], found["o"], n), found["v"])
        return parts

    def _battles(
        self, n: int, n_units: int | None, *, grouped: bool = False, order: str | None = None
    ) -> tuple[Battles, NDArray[np.int32] | None]:
        """Fetch battles as codes; those that are alike once, with their number as the weight."""
        unit = n_units is not None
        weighted = self.names.weight is not None
        key = ["a.code AS a", "b.code AS b", "o", *(["v.code AS v"] if unit else [])]
        more = ["CAST(count(*) AS DOUBLE) AS w"] if grouped else ["w"] if weighted else []
        sql = (
            f"SELECT {', '.join([*key, *more])} FROM log "
            "JOIN system a ON a.name = l JOIN system b ON b.name = r"
            + (" JOIN unit v ON v.name = u" if unit else "")
            + (" GROUP BY ALL" if grouped else "")
            + (f" ORDER BY {order}" if order else "")
        )
        found = self.run(sql).fetchnumpy()
        rows = Battles(found["a"], found["b"], found["o"], n, found.get("w"))
        return rows, found["v"] if unit else None


def _is_plain(column: Column) -> bool:
    """Tell whether a column holds text or numbers, which a small table can hold, too."""
    return column.is_number or column.kind in ("VARCHAR", "JSON")


def _unreadable(column: Column) -> str:
    """SQL that tells whether a cell holds something, but no number."""
    return f"{column.number()} IS NULL AND NOT ({column.missing()})"


def _outcome(column: Column) -> str:
    """SQL of an outcome as a number in 0..1; NULL if it is none."""
    if column.is_number:
        value = column.number()
        return f"CASE WHEN {value} BETWEEN 0 AND 1 THEN {value} END"
    text = column.text()
    words = " ".join(f"WHEN {literal(word)} THEN {value}" for word, value in battles.WORDS.items())
    value = f"TRY_CAST({text} AS DOUBLE)"
    number = f"regexp_full_match({text}, {literal(NUMBER.pattern)}) AND {value} BETWEEN 0 AND 1"
    return f"CASE {text} {words} ELSE CASE WHEN {number} THEN {value} END END"
