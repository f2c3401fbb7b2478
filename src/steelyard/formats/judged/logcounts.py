"""Battle logs as count arrays: what statistics need of a log.

Short text is read whole (:mod:`steelyard.formats.judged.battlelogs`); long text, all Parquet and
folders of logs go through DuckDB, which turns names into codes. Either way battles become integer
arrays, and everything is counted in memory. Logs of other tools are short, and unfolded in memory
(:mod:`steelyard.formats.judged.foreignlogs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import InputFile
from steelyard.data.judgements import BattleLog
from steelyard.formats import bigtables, files, roles, tables
from steelyard.formats.bigtables import Column, Scan
from steelyard.formats.cells import sql_blank, sql_number
from steelyard.formats.duck import literal
from steelyard.formats.judged import battlelogs
from steelyard.formats.judged.battlelogs import BattleColumns, LogColumns
from steelyard.formats.judged.foreignlogs import read_foreign
from steelyard.formats.streams import kept, on_disk
from steelyard.stats.strength.wins import MOST_WEIGHT, Battles, PairWins, UnitCounts, battle_pairs

_LONG = 8_000_000  # bytes of text from which DuckDB reads a log, packed or not
_SUFFIXES = ("csv", "tsv", "jsonl", "ndjson", "parquet", "pq")


@dataclass(frozen=True, slots=True, eq=False)
class CountedLog:
    """A log as counts.

    Attributes
    ----------
    systems
        Names, sorted; all arrays use their positions as codes.
    n_battles, n_units
        How many battles there are, and how many prompts or segments they share (None: unknown).
    pairs
        Wins and ties of the pairs that met.
    units
        The same by unit; for logs without units but with weights, a battle is a unit. None for
        logs with neither: ``pairs`` holds whole battles then.
    played, unit
        The battles in the order of time, or else of the file, where asked for; and their units.
    form
        What the file was taken for.
    inputs, notes
        The files of a log of another tool, and what was left out or assumed of it.
    timed
        Whether the order of ``played`` is one of time.
    """

    systems: tuple[str, ...]
    n_battles: int
    n_units: int | None
    pairs: PairWins
    units: UnitCounts | None
    played: Battles | None = None
    unit: NDArray[np.int32] | None = None
    form: str = "battle log"
    inputs: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()
    timed: bool = False


def log_files(path: Path) -> list[Path]:
    """Return the files of a log: itself, or the tables in a folder by their names.

    What else is in a folder is refused, but for notes (``.md``) and names with a dot or an
    underscore in front: to leave out a file silently is to leave out battles.
    """
    if not files.is_folder(path):
        if not on_disk(path).exists():
            raise InputError("no such file", path=path)
        return [path]
    logs = sorted(
        file
        for file in path.iterdir()
        if not (file.name.startswith((".", "_")) or files.suffix(file) == "md")
    )
    expected = f"expected files {', '.join(_SUFFIXES)}"
    if not logs:
        raise InputError(f"folder without a log: {expected}", path=path)
    stems: dict[str, Path] = {}
    for file in logs:
        if not file.is_file() or files.suffix(file) not in _SUFFIXES:
            what = "a folder" if file.is_dir() else "no log" if file.exists() else "a broken link"
            raise InputError(f"{what} in a folder of logs: {expected}", path=file)
        twin = stems.setdefault(file.name.lower().removesuffix(".gz").rpartition(".")[0], file)
        if twin is not file:
            raise InputError(f"the same log twice? {twin.name} is there, too", path=file)
    return logs


@kept()
def read_counts(
    log: Path | str | Sequence[Path | str],
    columns: LogColumns | None = None,
    *,
    by_unit: bool = True,
    in_order: bool = False,
) -> CountedLog:
    """Count the battles of a log or of rankings, in any kind of table.

    Parameters
    ----------
    log
        CSV, TSV, JSON lines (all of them also ``.gz``) or Parquet; or a folder of such logs; ``-``
        is standard input. Also a file of another tool that holds battles, or a folder of these; or
        several of them.
    columns
        How the columns are called, where not by the usual names.
    by_unit
        Count by unit, too, where the log has units.
    in_order
        Return the battles in their order, too.
    """
    inputs = [Path(path) for path in ([log] if isinstance(log, (str, Path)) else log)]
    columns = columns or LogColumns()
    foreign = read_foreign(inputs, columns)
    if foreign is not None:
        counted = from_log(foreign.value, by_unit=by_unit, in_order=in_order, form=foreign.form)
        return replace(counted, inputs=foreign.files, notes=foreign.notes)
    paths = [file for path in inputs for file in log_files(path)]
    if len(paths) > 1 or bigtables.is_parquet(paths[0]) or _is_long(paths[0]):
        copies = [on_disk(path) for path in paths]
        try:
            tabled = _read_tables(copies, columns, by_unit=by_unit, in_order=in_order)
        except InputError as error:
            if error.path != str(copies[0]) or copies[0] == inputs[0]:
                raise
            raise InputError(error.message, path=inputs[0], line=error.line) from None
        if tabled is not None:
            return tabled
    whole, form = _read_short(paths[0], columns)
    return from_log(whole, by_unit=by_unit, in_order=in_order, form=form)


def _is_long(path: Path) -> bool:
    file = on_disk(path)
    return file.is_file() and file.stat().st_size >= _LONG and not bigtables.is_list(path)


def _read_short(path: Path, columns: LogColumns) -> tuple[BattleLog, str]:
    table = tables.read(path, is_text=columns.is_text)
    columns.check(table.columns, path)
    table = columns.selected(table)
    if not columns.are_rankings(table):
        return battlelogs.read(table, columns), "battle log"
    if columns.unit not in (None, *roles.UNIT):
        raise UsageError(f"{path}: rankings share segments, not '{columns.unit}'")
    return battlelogs.unfolded(battlelogs.read_rankings(table)), "rankings"


def from_log(
    log: BattleLog,
    *,
    by_unit: bool = True,
    in_order: bool = False,
    form: str = "battle log",
) -> CountedLog:
    """Count the battles of a log that is in memory.

    Examples
    --------
    >>> left, right = np.array([0, 0], dtype=np.int32), np.array([1, 1], dtype=np.int32)
    >>> counted = from_log(BattleLog(("A", "B"), left, right, np.array([1.0, 0.5])))
    >>> counted.pairs.wins_i.tolist(), counted.pairs.ties.tolist()
    ([1.0], [1.0])
    """
    battles = Battles(log.left, log.right, log.outcome, len(log.systems), log.weight)
    unit = log.unit if by_unit else None
    n_units = None if unit is None or log.units is None else len(log.units)
    pairs, units = _counts(battles, unit)
    played = None
    if in_order:
        order = slice(None) if log.time is None else np.argsort(log.time, kind="stable")
        played, unit = battles.take(order), None if unit is None else unit[order]
    return CountedLog(
        log.systems,
        len(battles),
        n_units,
        pairs,
        units,
        played,
        unit if in_order else None,
        form,
        timed=log.time is not None,
    )


def _counts(battles: Battles, unit: NDArray[Any] | None) -> tuple[PairWins, UnitCounts | None]:
    if unit is None and _is_whole(battles):
        return battle_pairs(battles), None
    if unit is None:  # sums of parts of a win must not depend on the order of the file
        weight = np.ones(len(battles)) if battles.weight is None else battles.weight
        order = np.lexsort((weight, battles.outcome, battles.right, battles.left))
        battles = battles.take(order)
        unit = np.arange(len(battles), dtype=np.int32)
    units = UnitCounts.of(battles, unit)
    return units.pairs(), units


def _is_whole(battles: Battles) -> bool:
    """Tell whether every battle is a win, a loss or a tie and counts once."""
    doubled = 2 * battles.outcome
    once = battles.weight is None or bool((battles.weight == 1).all())
    return once and bool((doubled == np.rint(doubled)).all())


# ------------------------------------------------------------------------- through DuckDB


_JOINED = "log JOIN system a ON a.name = l JOIN system b ON b.name = r"
_WRONG = f"l = r OR o IS NULL OR no_time OR NOT coalesce(w BETWEEN 0 AND {MOST_WEIGHT!r}, false)"


class _LogTable(NamedTuple):
    """A log that is open for SQL: its rows, how many there are, whether all are whole battles."""

    sql: str
    names: BattleColumns
    size: int
    whole: bool


def _read_tables(
    paths: Sequence[Path], columns: LogColumns, *, by_unit: bool, in_order: bool
) -> CountedLog | None:
    """Count logs, one after the other as one log; None for rankings, which are no battles yet."""
    several = len(paths) > 1
    into = "CREATE TEMP TABLE log AS" if several else "CREATE TEMP VIEW log AS"
    logs: list[_LogTable] = []
    with bigtables.session() as connection, ExitStack() as stack:
        for path in paths:
            scan = stack.enter_context(bigtables.opened(path, columns.wants, connection))
            columns.check(scan.names, path)
            if columns.are_rankings(scan.header()):
                if not several:
                    return None
                raise InputError("rankings in a folder of logs of battles", path=path)
            logs.append(_checked(scan, columns, len(logs)))
            connection.execute(f"{into} {logs[-1].sql}")
            into = "INSERT INTO log"
            if several:
                stack.close()  # there may be more files than a process can hold open
        if not any(log.size for log in logs):
            raise columns.no_rows(paths[0].parent if several else paths[0])
        by_unit = by_unit and _have_units(paths, logs)
        return _counted(connection, logs, by_unit=by_unit, in_order=in_order)


def _have_units(paths: Sequence[Path], logs: Sequence[_LogTable]) -> bool:
    having = {log.names.unit is not None: path for path, log in zip(paths, logs, strict=True)}
    if len(having) > 1:
        raise InputError(f"no column of units, but {having[True]} has one", path=having[False])
    return True in having


def _counted(
    connection: Any, logs: Sequence[_LogTable], *, by_unit: bool, in_order: bool
) -> CountedLog:
    """Count the view ``log`` by codes of systems and units, both in the order of their names."""
    size, whole = sum(log.size for log in logs), all(log.whole for log in logs)
    n = _number(connection, "system", "SELECT l AS name FROM log UNION SELECT r FROM log")
    names = connection.execute("SELECT name FROM system ORDER BY code").fetchall()
    systems = tuple(name for (name,) in names)
    if whole and not (by_unit or in_order):
        alike = connection.execute(
            "SELECT a.code AS a, b.code AS b, o, CAST(count(*) AS DOUBLE) AS w "
            f"FROM {_JOINED} GROUP BY ALL"
        ).fetchnumpy()
        pairs = battle_pairs(Battles(alike["a"], alike["b"], alike["o"], n, alike["w"]))
        return CountedLog(systems, size, None, pairs, None)
    shown = ["a.code AS a", "b.code AS b", "(2 * o)::UTINYINT AS o" if whole else "o"]
    if not whole and any(log.names.weight is not None for log in logs):
        shown.append("w")
    source, n_units = _JOINED, None
    if by_unit:
        n_units = _number(connection, "unit", "SELECT DISTINCT u AS name FROM log")
        source += " JOIN unit v ON v.name = u"
        shown.append("v.code AS v")
    order = " ORDER BY t NULLS LAST, file, row" if in_order else " ORDER BY file, row"
    exact = whole and not in_order  # sums of whole numbers are the same in any order
    rows = connection.execute(
        f"SELECT {', '.join(shown)} FROM {source}{'' if exact else order}"
    ).fetchnumpy()
    outcome = rows["o"] / 2 if whole else rows["o"]
    battles = Battles(rows["a"], rows["b"], outcome, n, rows.get("w"))
    pairs, units = _counts(battles, rows.get("v"))
    counted = CountedLog(systems, size, n_units, pairs, units)
    if not in_order:
        return counted
    timed = any(log.names.time is not None for log in logs)
    return replace(counted, played=battles, unit=rows.get("v"), timed=timed)


def _number(connection: Any, table: str, names: str) -> int:
    """Make a table of names and their codes; return how many there are."""
    connection.execute(
        f"CREATE TEMP TABLE {table} AS SELECT name, CAST(row_number() OVER (ORDER BY name) - 1 "
        f"AS INTEGER) AS code FROM ({names})"
    )
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _checked(scan: Scan, columns: LogColumns, file: int) -> _LogTable:
    """Name the columns of a battle (l, r, o, w, t, u), and refuse the first row that is none."""
    names = columns.find(scan.header())
    sql = _battles_sql(scan, columns, names, file)
    size, wrong, whole = scan.connection.execute(
        f"SELECT count(*), coalesce(bool_or({_WRONG}), false), "
        f"coalesce(bool_and(w = 1 AND o IN (0, 0.5, 1)), true) FROM ({sql})"
    ).fetchone()
    if wrong or any(_has_blank(scan, sql, name) for name in "lru"):
        bad = " OR ".join([_WRONG, *(sql_blank(name) for name in "lru")])
        (row,) = scan.connection.execute(f"SELECT min(row) FROM ({sql}) WHERE {bad}").fetchone()
        _explain(scan, names, row)
    return _LogTable(sql, names, size, whole)


def _battles_sql(scan: Scan, columns: LogColumns, names: BattleColumns, file: int) -> str:
    left, right = scan.columns[names.left], scan.columns[names.right]
    outcome, weight, time, unit = (
        None if name is None else scan.columns[name] for name in names[2:]
    )
    shown = [
        f"{file} AS file",
        "file_row_number AS row",
        f"{left.text()} AS l",
        f"{right.text()} AS r",
        f"{'1.0::DOUBLE' if outcome is None else _outcome_sql(outcome)} AS o",
        f"{'1.0::DOUBLE' if weight is None else weight.number()} AS w",
        f"{'NULL::DOUBLE' if time is None else time.number()} AS t",
        f"{literal('u') if unit is None else unit.text()} AS u",
        f"{'false' if time is None else _unreadable_sql(time)} AS no_time",
    ]
    chosen = [f"{scan.columns[name].text()} = {literal(value)}" for name, value in columns.where]
    where = f" WHERE {' AND '.join(chosen)}" if chosen else ""
    return f"SELECT {', '.join(shown)} FROM {scan.source}{where}"


def _outcome_sql(column: Column) -> str:
    """SQL of an outcome as a number in 0..1; NULL if it is none."""
    value = column.number() if column.is_number else sql_number(column.text())
    share = f"CASE WHEN {value} BETWEEN 0 AND 1 THEN {value} END"
    if column.is_number:
        return share
    words = " ".join(
        f"WHEN {literal(word)} THEN {value}" for word, value in battlelogs.WORDS.items()
    )
    return f"CASE {column.text()} {words} ELSE {share} END"


def _unreadable_sql(column: Column) -> str:
    """SQL that tells whether a cell holds something, but no number."""
    return f"{column.number()} IS NULL AND NOT ({column.missing()})"


def _has_blank(scan: Scan, sql: str, name: str) -> bool:
    """Tell whether a column has a blank name: few begin like one, so few are looked at."""
    (blank,) = scan.connection.execute(
        f"SELECT coalesce(bool_or({sql_blank(name)}), false) FROM ({sql}) "
        f"WHERE {name} IS NULL OR {name} < '!' OR {name} >= chr(127)"
    ).fetchone()
    return bool(blank)


def _explain(scan: Scan, names: BattleColumns, row: int) -> None:
    """Let the reader of short logs say what is wrong with a battle."""
    shown = [name for name in names if name is not None]
    if names.time is not None and not _is_plain(scan.columns[names.time]):
        shown.remove(names.time)
    table = scan.row(row, shown)
    left, right = (None, None) if names.outcome is None else names[:2]
    battlelogs.read(table, LogColumns(left, right, names.outcome, names.unit))
    table.fail("not a battle", 0)


def _is_plain(column: Column) -> bool:
    """Tell whether a column holds text or numbers, which a small table can hold, too."""
    return column.is_number or column.kind in ("VARCHAR", "JSON")
