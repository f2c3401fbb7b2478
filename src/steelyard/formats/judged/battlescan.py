"""Battle logs by SQL: DuckDB reads them out of core, whatever they are, and counts.

Names become codes, outcomes numbers, and battles counts per pair. The battles of units (prompts,
segments) are written to disk in parts, each with all battles of its units, by the hash of their
names.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, OutOfMemoryError, SteelyardError, UsageError, hint
from steelyard.formats import bigtables, duck
from steelyard.formats.bigtables import Column, Scan
from steelyard.formats.duck import literal
from steelyard.formats.judged import battles, rankings
from steelyard.formats.judged.battles import Columns
from steelyard.formats.tables import NUMBER
from steelyard.stats.strength.battlelog import Battles

_IN_FILE, _IN_TIME = "file, row", "t NULLS LAST, file, row"
_JOINED = "log JOIN system a ON a.name = l JOIN system b ON b.name = r"
_ROWS = 2**40  # more than a file has
#: What str.strip() takes off: a name of these alone is none, in short logs and in long ones.
_BLANK = literal(f"[{''.join(c for c in map(chr, range(0x3001)) if c.isspace())}]*")


@dataclass(frozen=True, slots=True)
class LogColumns:
    """What the user said of the columns: their names, which rows to keep, what to skip."""

    left: str | None = None
    right: str | None = None
    outcome: str | None = None
    unit: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()

    @property
    def given(self) -> dict[str, str | None]:
        """The names of the columns of a battle, as ``battles.read`` wants them."""
        return {name: getattr(self, name) for name in ("left", "right", "outcome", "unit")}

    def is_text(self, name: str) -> bool:
        """Tell whether a column holds names, even where they look like numbers."""
        named = {*self.given.values(), *(column for column, _ in self.where)}
        return name in named or battles.is_text(name) or rankings.is_text(name)

    def wants(self, name: str) -> bool:
        """Tell whether a column is read at all."""
        known = (*battles.WEIGHT, *battles.TIME)
        return name in known or self.is_text(name) or rankings.is_rank(name)

    def found(self, scan: Scan) -> Columns:
        """Find the columns of a battle in a file; what selects rows is none of them."""
        used = [*self.ignore, *(column for column, _ in self.where)]
        return battles.columns(scan.header().without(used), **self.given)

    def check(self, names: Collection[str], path: Path) -> None:
        """Refuse a column that the file does not have."""
        for column in (*self.ignore, *(name for name, _ in self.where)):
            if column not in names:
                raise UsageError(f"{path}: no column '{column}'; {hint(column, names)}")
            if column in self.given.values():
                raise UsageError(f"{path}: column '{column}' selects rows or is ignored: it can't "
                                 "be part of a battle, too")  # fmt: skip

    def no_rows(self, path: Path) -> InputError:
        """Say that nothing is left of a log."""
        chosen = " and ".join(f"{name}={value}" for name, value in self.where)
        return InputError(f"no row has {chosen}" if chosen else "has no rows", path=path)


class RowTask(NamedTuple):
    """Rows of logs that are counted by themselves, and where the battles of units go.

    Attributes
    ----------
    paths, columns, rows
        Some files, what their columns are, and the first row and the one after the last of a single
        one (None: all).
    folder, parts
        Battles of units are written to this folder, in so many parts; None: not at all.
    more_than
        They are if there are more battles than this.
    threads
        Of DuckDB; None for as many as there are cores.
    """

    paths: tuple[Path, ...]
    columns: LogColumns
    rows: tuple[int, int] | None = None
    folder: Path | None = None
    parts: int = 1
    more_than: int = 0
    threads: int | None = None


def count_rows(task: RowTask) -> dict[str, Any]:
    """Count the battles in some rows; a bad one is named, and left to others to explain."""
    with scanned(task.paths, task.columns, task.rows, task.threads) as scan:
        if scan.rankings:
            return {"rankings": str(scan.rankings[0])}
        size, bad, whole, units = scan.check()
        if bad is not None:
            return {"bad": list(bad)}
        systems = scan.systems()
        found = {"size": size, "whole": whole, "units": scan.has_units, "systems": systems}
        if whole:
            found["counts"] = scan.counts()
        wanted = whole and all(scan.has_units) and size > task.more_than
        if task.folder is not None and wanted:
            cells = 3 * len(systems) ** 2 * units
            scan.split(task.folder, task.parts, alike=cells < size)
    return found


@contextmanager
def scanned(
    paths: Sequence[Path],
    columns: LogColumns,
    rows: tuple[int, int] | None = None,
    threads: int | None = None,
) -> Iterator[LogScan]:
    """Open logs for SQL, one after the other as one log, or some rows of a single one."""
    with bigtables.session(threads) as connection:
        log = LogScan(connection, columns)
        if len(paths) == 1:  # read where it is, however long
            with bigtables.opened(paths[0], columns.wants, connection) as scan:
                log.add(scan, "CREATE TEMP VIEW log AS", rows)
                yield log
            return
        for path in paths:
            with bigtables.opened(path, columns.wants, connection) as scan:
                log.add(scan, "INSERT INTO log" if log.names else "CREATE TEMP TABLE log AS")
        yield log


def explain(path: Path, columns: LogColumns, row: int) -> None:
    """Let the reader of short logs say what is wrong with a battle."""
    with (
        bigtables.session() as connection,
        bigtables.opened(path, columns.wants, connection) as scan,
    ):
        names = columns.found(scan)
        shown = [name for name in names if name is not None]
        if names.time is not None and not _is_plain(scan.columns[names.time]):
            shown.remove(names.time)
        table = scan.row(row, shown)
        sides = {"left": names.left, "right": names.right, "outcome": names.outcome}
        battles.read(table, unit=names.unit, **({} if names.outcome is None else sides))
        table.fail("not a battle", 0)


class LogScan:
    """The queries that turn logs into counts."""

    def __init__(self, connection: Any, columns: LogColumns) -> None:
        self.run, self.columns = connection.execute, columns
        self.names: list[Columns] = []
        self.rankings: list[Path] = []

    @property
    def has_units(self) -> list[bool]:
        """Whether each file names what its battles share."""
        return [own.unit is not None for own in self.names]

    def add(self, scan: Scan, into: str, rows: tuple[int, int] | None = None) -> None:
        """Name the columns of a battle: file, row, l and r (names), o (outcome), w, t and u."""
        self.columns.check(scan.names, scan.path)
        if self.columns.left is None and rankings.recognise(scan.header()):
            self.rankings.append(scan.path)
            return
        names = self.columns.found(scan)
        left, right = scan.columns[names.left], scan.columns[names.right]
        outcome, weight, time, unit = (
            None if name is None else scan.columns[name] for name in names[2:]
        )
        shown = [
            f"{len(self.names)} AS file",
            "file_row_number AS row",
            f"{left.text()} AS l",
            f"{right.text()} AS r",
            f"{'1.0::DOUBLE' if outcome is None else _outcome(outcome)} AS o",
            f"{'1.0::DOUBLE' if weight is None else weight.number()} AS w",
            f"{'NULL::DOUBLE' if time is None else time.number()} AS t",
            f"{literal('u') if unit is None else unit.text()} AS u",
            f"{'false' if time is None else _unreadable(time)} AS no_time",
        ]
        chosen = [
            f"{scan.columns[name].text()} = {literal(value)}" for name, value in self.columns.where
        ]
        if rows is not None:
            chosen.append(f"file_row_number BETWEEN {rows[0]} AND {rows[1] - 1}")
        where = f" WHERE {' AND '.join(chosen)}" if chosen else ""
        self.run(f"{into} SELECT {', '.join(shown)} FROM {scan.source}{where}")
        self.names.append(names)

    def check(self) -> tuple[int, tuple[int, int] | None, bool, int]:
        """Count battles, find the first bad one (file and row), tell whether all are whole.

        The last number is that of units, about.
        """
        blank = " OR ".join(
            f"coalesce(regexp_full_match({name}, {_BLANK}), true)" for name in "lru"
        )
        bad = (
            f"{blank} OR l = r OR o IS NULL OR no_time OR "
            "NOT coalesce(w >= 0 AND isfinite(w), false)"
        )
        size, place, whole, units = self.run(
            f"SELECT count(*), min(file * {_ROWS}::BIGINT + row) FILTER ({bad}), "
            "coalesce(bool_and(w = 1 AND o IN (0, 0.5, 1)), true), approx_count_distinct(u) "
            "FROM log"
        ).fetchone()
        return size, None if place is None else divmod(place, _ROWS), whole, units

    def systems(self) -> list[str]:
        """Give all systems a code, in the order of their names; give the names."""
        self._number("system", "SELECT l AS name FROM log UNION SELECT r FROM log")
        return [name for (name,) in self.run("SELECT name FROM system ORDER BY code").fetchall()]

    def units(self) -> int:
        """Give all units a code, in the order of their names; count them."""
        self._number("unit", "SELECT DISTINCT u AS name FROM log")
        return int(self.run("SELECT count(*) FROM unit").fetchone()[0])

    def _number(self, table: str, names: str) -> None:
        self.run(
            f"CREATE TEMP TABLE {table} AS SELECT name, CAST(row_number() OVER (ORDER BY name) - 1 "
            f"AS INTEGER) AS code FROM ({names})"
        )

    def counts(self) -> dict[str, NDArray[Any]]:
        """Count battles that are alike: codes of both (a and b), the outcome o, how many (w)."""
        found: dict[str, NDArray[Any]] = self.run(
            f"SELECT a.code AS a, b.code AS b, o, CAST(count(*) AS DOUBLE) AS w FROM {_JOINED} "
            "GROUP BY ALL ORDER BY ALL"
        ).fetchnumpy()
        return {name: np.asarray(values) for name, values in found.items()}

    def battles(
        self, n: int, *, by_unit: bool, in_time: bool = False
    ) -> tuple[Battles, NDArray[np.int32] | None]:
        """Fetch all battles, and the codes of their units."""
        weighted = any(own.weight is not None for own in self.names)
        more = [*(["v.code AS v"] if by_unit else []), *(["w"] if weighted else [])]
        found = self.run(
            f"SELECT {', '.join(['a.code AS a', 'b.code AS b', 'o', *more])} FROM {_JOINED}"
            + (" JOIN unit v ON v.name = u" if by_unit else "")
            + f" ORDER BY {_IN_TIME if in_time else _IN_FILE}"
        ).fetchnumpy()
        rows = Battles(found["a"], found["b"], found["o"], n, found.get("w"))
        return rows, found["v"] if by_unit else None

    def split(self, folder: Path, parts: int, *, alike: bool) -> None:
        """Write the battles of units: both codes, twice the outcome, and the key of the unit.

        Where many are ``alike``, those are written once, with their number (w). A scheduler may
        repeat a task whose worker died after it, while others read what it wrote: a folder that is
        there was renamed when it was whole, so it stays.
        """
        import duckdb

        aside = folder.with_name(f".{folder.name}.{uuid4().hex}")
        try:
            self.run(
                "COPY (SELECT a.code AS a, b.code AS b, CAST(2 * o AS UTINYINT) AS o, "
                f"md5_number_lower(u) AS h, CAST(h % {parts} AS INTEGER) AS part"
                f"{', CAST(count(*) AS DOUBLE) AS w' if alike else ''} FROM {_JOINED}"
                f"{' GROUP BY ALL' if alike else ''}) "
                f"TO {literal(str(aside))} (FORMAT parquet, PARTITION_BY (part))"
            )
            if not folder.is_dir():
                aside.rename(folder)
        except (duckdb.Error, OSError) as error:  # the log was read before: this is not its fault
            if isinstance(error, duckdb.OutOfMemoryException):
                raise OutOfMemoryError.at() from error
            raise SteelyardError(
                f"{folder.parent}: can't be written ({duck.said(error)})"
            ) from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)


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
