"""Logs too long to hold: what workers do with them, out of core, in three kinds of tasks.

:class:`RowTask` counts battles: DuckDB reads the rows whatever the file is, names become codes,
outcomes numbers, battles counts per pair; the battles of units (prompts, segments) are written to
disk in parts, each with all battles of its units, by the hash of their names, which is made once of
each name. :class:`GatherTask`
counts the battles of a part by unit, and :class:`DrawTask` draws resamples of parts. How rows and
units are split makes no difference to the numbers.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import OutOfMemoryError, SteelyardError
from steelyard.core.parallel import write_whole
from steelyard.formats import bigtables, duck
from steelyard.formats.bigtables import Column, Scan
from steelyard.formats.cells import sql_blank, sql_number
from steelyard.formats.duck import literal
from steelyard.formats.judged import battlelogs
from steelyard.formats.judged.battlelogs import BattleColumns, LogColumns
from steelyard.stats.arrays import Floats
from steelyard.stats.resampling.keyed import KeyedUnits, units_ahead
from steelyard.stats.strength.wins import MOST_WEIGHT, Battles

_IN_FILE, _IN_TIME = "file, row", "t NULLS LAST, file, row"
_JOINED = "log JOIN system a ON a.name = l JOIN system b ON b.name = r"
_ROWS = 2**40  # more than a file has
_BLOCK = 2**18  # battles counted at a time
_FIRST = 100_000  # battles that are looked at for how many units there are
_MOST_COUNTED = 2_000  # systems up to which all pairs are counted in a table
_WEIGHED = f"w BETWEEN 0 AND {MOST_WEIGHT!r}"
_WRONG = f"l = r OR o IS NULL OR no_time OR NOT coalesce({_WEIGHED}, false)"
_ARRAYS = ("key", "start", "cell", "count")  # of a part, a file each


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
    drawn, shared
        Whether units will be drawn, which takes keys that are the same ever; and whether other
        tasks have battles of the same units, which takes keys that are the same everywhere.
    threads
        Of DuckDB; None for as many as there are cores.
    """

    paths: tuple[Path, ...]
    columns: LogColumns
    rows: tuple[int, int] | None = None
    folder: Path | None = None
    parts: int = 1
    more_than: int = 0
    drawn: bool = True
    shared: bool = True
    threads: int | None = None


def count_rows(task: RowTask) -> dict[str, Any]:
    """Count the battles in some rows; a bad one is named, and left to others to explain."""
    with scanned(task.paths, task.columns, task.rows, task.threads) as scan:
        if scan.rankings:
            return {"rankings": str(scan.rankings[0])}
        size, bad, whole = scan.check()
        if bad is not None:
            return {"bad": list(bad)}
        systems = scan.systems()
        found = {"size": size, "whole": whole, "units": scan.has_units, "systems": systems}
        wanted = whole and all(scan.has_units) and size > task.more_than
        if task.folder is not None and wanted:
            kinds = 3 * len(systems) ** 2  # of battles: where there are more of a unit, some repeat
            if not (task.drawn or task.shared) and scan.has_units_beyond(size / kinds):
                alike = False
            else:
                alike = kinds * scan.keys(drawn=task.drawn, shared=task.shared) < size
            found["counts"] = scan.split(task.folder, task.parts, alike=alike)
        elif whole:
            found["counts"] = scan.counts()
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
        names = columns.find(scan.header())
        shown = [name for name in names if name is not None]
        if names.time is not None and not _is_plain(scan.columns[names.time]):
            shown.remove(names.time)
        table = scan.row(row, shown)
        left, right = (None, None) if names.outcome is None else names[:2]
        battlelogs.read(table, LogColumns(left, right, names.outcome, names.unit))
        table.fail("not a battle", 0)


class LogScan:
    """The queries that turn logs into counts."""

    def __init__(self, connection: Any, columns: LogColumns) -> None:
        self.run, self.columns = connection.execute, columns
        self.names: list[BattleColumns] = []
        self.key = "hash(u)"
        self.listed = False  # whether there is a table of keys
        self.rankings: list[Path] = []

    @property
    def has_units(self) -> list[bool]:
        """Whether each file names what its battles share."""
        return [own.unit is not None for own in self.names]

    def add(self, scan: Scan, into: str, rows: tuple[int, int] | None = None) -> None:
        """Name the columns of a battle: file, row, l and r (names), o (outcome), w, t and u."""
        self.columns.check(scan.names, scan.path)
        if self.columns.are_rankings(scan.header()):
            self.rankings.append(scan.path)
            return
        names = self.columns.find(scan.header())
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

    def check(self) -> tuple[int, tuple[int, int] | None, bool]:
        """Count battles, find the first bad one (file and row), tell whether all are whole."""
        size, wrong, whole = self.run(
            f"SELECT count(*), coalesce(bool_or({_WRONG}), false), "
            "coalesce(bool_and(w = 1 AND o IN (0, 0.5, 1)), true) FROM log"
        ).fetchone()
        if not (wrong or any(self._has_blank(name) for name in "lru")):
            return size, None, whole
        bad = " OR ".join([_WRONG, *(sql_blank(name) for name in "lru")])
        [(place,)] = self.run(
            f"SELECT min(file * {_ROWS}::BIGINT + row) FROM log WHERE {bad}"
        ).fetchall()
        return size, divmod(place, _ROWS), whole

    def _has_blank(self, name: str) -> bool:
        """Tell whether a column has a blank name: few begin like one, so few are looked at."""
        [(found,)] = self.run(
            f"SELECT coalesce(bool_or({sql_blank(name)}), false) FROM log "
            f"WHERE {name} IS NULL OR {name} < '!' OR {name} >= chr(127)"
        ).fetchall()
        return bool(found)

    def systems(self) -> list[str]:
        """Give all systems a code, in the order of their names; give the names."""
        self._number("system", "SELECT l AS name FROM log UNION SELECT r FROM log")
        return [name for (name,) in self.run("SELECT name FROM system ORDER BY code").fetchall()]

    def units(self) -> int:
        """Give all units a code, in the order of their names; count them."""
        self._number("unit", "SELECT DISTINCT u AS name FROM log")
        return int(self.run("SELECT count(*) FROM unit").fetchone()[0])

    def has_units_beyond(self, least: float) -> bool:
        """Tell whether the first battles alone have so many units: few rows are read to see that.

        Where they do, keys need not be listed beforehand: battles have those that differ.
        """
        [(found,)] = self.run(
            f"SELECT count(DISTINCT u) FROM (SELECT u FROM log LIMIT {_FIRST})"
        ).fetchall()
        return bool(found >= least)

    def keys(self, *, drawn: bool, shared: bool) -> int:
        """Give all units 64 bits that stand for their names; count them.

        Keys that other tasks ``share``, or by which units are ``drawn``, are those of the MD5; else
        it is enough that they differ. Rows have the faster ones as far as they can.
        """
        if shared:
            self.key = "unit_key.key"
            made = "SELECT u AS name, md5_number_lower(u) AS key FROM (SELECT DISTINCT u FROM log)"
        else:
            ever = ", md5_number_lower(any_value(u)) AS ever" if drawn else ""
            made = f"SELECT hash(u) AS key{ever} FROM log GROUP BY hash(u)"
        self.run(f"CREATE TEMP TABLE unit_key AS {made}")
        self.listed = True
        return int(self.run("SELECT count(*) FROM unit_key").fetchone()[0])

    def _listed_keys(self) -> dict[str, NDArray[np.uint64]]:
        units = self.run("FROM unit_key").fetchnumpy()
        order = np.argsort(units["key"])
        return {name: units[own][order] for name, own in (("u", "key"), ("e", "ever"))
                if own in units}  # fmt: skip

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

    def split(self, folder: Path, parts: int, *, alike: bool) -> dict[str, NDArray[Any]]:
        """Write the battles of units: both codes, twice the outcome, and the key of the unit.

        Gives what :meth:`counts` does.

        Where many are ``alike``, those are written once, with their number (w); u are the keys of
        all units, and e those by which they are drawn, if these are others. A scheduler may repeat
        a task whose worker died after it, while others read what it wrote: a folder that is there
        was renamed when it was whole, so it stays.
        """
        import duckdb

        [(n,)] = self.run("SELECT count(*) FROM system").fetchall()
        small = "USMALLINT" if n <= 2**16 else "INTEGER"
        aside = folder.with_name(f".{folder.name}.{uuid4().hex}")
        source = _JOINED + ("" if self.key == "hash(u)" else " JOIN unit_key ON unit_key.name = u")
        try:
            found = self.run(
                f"SELECT a.code::{small} AS a, b.code::{small} AS b, (2 * o)::UTINYINT AS o, "
                f"{self.key} AS h"
                f"{', CAST(count(*) AS DOUBLE) AS w' if alike else ''} FROM {source}"
                f"{' GROUP BY ALL' if alike else ''}"
            ).fetchnumpy()
            keys = self._listed_keys() if self.listed else {"u": _distinct(found["h"])}
            aside.mkdir(parents=True)
            part, of_key = found["h"] % np.uint64(parts), keys["u"] % np.uint64(parts)
            for k in range(parts):
                own = slice(None) if parts == 1 else np.flatnonzero(part == k)
                for name, values in found.items():
                    np.save(_path(aside, k, name), values[own])
                for name, values in keys.items():
                    np.save(_path(aside, k, name), values[of_key == k])
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
        return self.counts() if n > _MOST_COUNTED else _counted(found, n)


def _distinct(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Give different keys, sorted; numpy.unique takes twice as long for many."""
    keys = np.sort(keys)
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys[new]


def _counted(found: dict[str, NDArray[Any]], n: int) -> dict[str, NDArray[Any]]:
    """Count battles that are alike, as :meth:`LogScan.counts` does."""
    number = np.zeros(3 * n * n)
    for start in range(0, len(found["a"]), _BLOCK):
        own = {name: values[start : start + _BLOCK] for name, values in found.items()}
        code = own["a"] * np.int64(n)
        code += own["b"]
        code *= 3
        code += own["o"]
        number += np.bincount(code, own.get("w"), len(number))
    kinds = np.flatnonzero(number)
    pair, doubled = np.divmod(kinds, 3)
    left, right = np.divmod(pair, n)
    return {"a": left, "b": right, "o": doubled / 2, "w": number[kinds]}


def _is_plain(column: Column) -> bool:
    """Tell whether a column holds text or numbers, which a small table can hold, too."""
    return column.is_number or column.kind in ("VARCHAR", "JSON")


def _unreadable(column: Column) -> str:
    """SQL that tells whether a cell holds something, but no number."""
    return f"{column.number()} IS NULL AND NOT ({column.missing()})"


def _outcome(column: Column) -> str:
    """SQL of an outcome as a number in 0..1; NULL if it is none."""
    value = column.number() if column.is_number else sql_number(column.text())
    share = f"CASE WHEN {value} BETWEEN 0 AND 1 THEN {value} END"
    if column.is_number:
        return share
    words = " ".join(
        f"WHEN {literal(word)} THEN {value}" for word, value in battlelogs.WORDS.items()
    )
    return f"CASE {column.text()} {words} ELSE {share} END"


class GatherTask(NamedTuple):
    """One part: where its battles are, with the codes of the systems in each place.

    What is not ``drawn`` is counted, and not kept.
    """

    part: int
    folder: Path
    sources: tuple[tuple[Path, NDArray[np.int32]], ...]
    pairs: NDArray[np.int64]
    n: int
    drawn: bool = True


class DrawTask(NamedTuple):
    """Resamples of some parts."""

    parts: tuple[int, ...]
    folder: Path
    n_pairs: int
    first: int
    size: int
    seed: int


def gather_part(task: GatherTask) -> dict[str, Any]:
    """Count the battles of a part by unit, and write that down."""
    found = [_read_part(folder, task.part, codes) for folder, codes in task.sources]
    left, right, outcome, key, units = (
        np.concatenate([own[name] for own in found]) for name in ("a", "b", "o", "h", "u")
    )
    often = None
    if any("w" in own for own in found):
        often = np.concatenate([own.get("w", np.ones(len(own["h"]))) for own in found])
    battles = Battles(left, right, outcome / 2, task.n, often)
    units = units if len(found) == 1 else np.unique(units)
    if not task.drawn:
        return _told(battles, len(units), *units_ahead(battles, key, task.pairs))
    counted = KeyedUnits.of(battles, key, task.pairs, units)
    if "e" in found[0]:  # the only ones
        counted = replace(counted, key=found[0]["e"])
    return keep_part(task.part, task.folder, battles, counted)


def keep_part(
    part: int, folder: Path | None, battles: Battles, units: KeyedUnits
) -> dict[str, Any]:
    """Write a part, if there is a folder, and tell what is in it.

    Weights of battles are whole numbers: how many there are of the kind.
    """
    for name in _ARRAYS if folder is not None else ():
        assert folder is not None
        save = partial(np.save, arr=getattr(units, name))
        write_whole(_path(folder, part, name), save)
    return _told(battles, units.n_units, *units.ahead())


def _told(battles: Battles, n_units: int, first: Floats, second: Floats) -> dict[str, Any]:
    size = len(battles) if battles.weight is None else int(battles.weight.sum())
    return {"battles": size, "units": n_units, "first": first, "second": second}


def _read_part(folder: Path, part: int, codes: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """Read battles of a part: codes of both, twice the outcome, the key of the unit; how many."""
    try:
        found = {
            name: np.load(_path(folder, part, name), allow_pickle=False)
            for name in ("a", "b", "o", "h", "u", "w", "e")
            if name not in "we" or _path(folder, part, name).exists()
        }
    except (OSError, ValueError) as error:
        raise gone(folder.parent) from error
    return found | {"a": codes[found["a"]], "b": codes[found["b"]]}


def _path(folder: Path, part: int, name: str) -> Path:
    return folder / f"part-{part}.{name}.npy"


def draw_parts(task: DrawTask) -> Floats:
    """Draw resamples of some parts: resamples x (won by the first, by the second, tied) x pairs."""
    total = np.zeros((task.size, 3, task.n_pairs))
    for part in task.parts:
        units = KeyedUnits(task.n_pairs, *_load(task.folder, part))
        total += units.resampled(task.first, task.size, task.seed)
    return total


def _load(folder: Path, part: int) -> list[NDArray[Any]]:
    try:
        return [
            np.load(_path(folder, part, name), mmap_mode="r", allow_pickle=False)
            for name in _ARRAYS
        ]
    except (OSError, ValueError) as error:
        raise gone(folder) from error


def gone(folder: Path) -> SteelyardError:
    """Say that a folder does not have what was written to it."""
    return SteelyardError(f"battles are gone from {folder}: start anew, with another resume=...")
