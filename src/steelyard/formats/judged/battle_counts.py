"""Battle logs as count arrays: what statistics need of a log.

Short text is read whole (:mod:`steelyard.formats.judged.battles`); long text, all Parquet and
folders of logs go through DuckDB, which turns names into codes. Either way battles become integer
arrays, and everything is counted in memory. Logs of other tools are unfolded in memory, as are
winners beside losers and logs that say which outputs were shown in the swapped order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import InputFile
from steelyard.data.judgements import BattleLog
from steelyard.formats import bigtables, files, registry, tables
from steelyard.formats import columns as roles
from steelyard.formats.bigtables import Column, Scan
from steelyard.formats.cells import NUMBER, sql_blank, sql_number
from steelyard.formats.duck import literal
from steelyard.formats.files import kept, on_disk
from steelyard.formats.format import Foreign, Format
from steelyard.formats.judged import battles
from steelyard.formats.judged.battles import BattleColumns, LogColumns
from steelyard.formats.load import check_columns
from steelyard.formats.rawtable import stacked
from steelyard.formats.reading import Read, Reading, read_all
from steelyard.formats.verdicts.judges import ORDER_COLUMNS
from steelyard.formats.verdicts.words import Outcomes, is_gap
from steelyard.formats.view import FileView
from steelyard.stats.strength.wins import MOST_WEIGHT, Battles, PairWins, UnitCounts, battle_pairs

_LONG = 8_000_000  # bytes of text from which DuckDB reads a log, packed or not
_MOST_WORDS = 1000  # different outcomes up to which a log is looked through; more are points
_OF_LOGS = (battles.FORMAT, battles.RANKINGS)
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
    foreign = _read_foreign(inputs, columns)
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
    whole, form, notes = _read_whole(paths, columns)
    counted = from_log(whole, by_unit=by_unit, in_order=in_order, form=form)
    return replace(counted, notes=notes)


def _is_long(path: Path) -> bool:
    file = on_disk(path)
    return file.is_file() and file.stat().st_size >= _LONG and not bigtables.is_list(path)


def _read_whole(
    paths: Sequence[Path], columns: LogColumns
) -> tuple[BattleLog, str, tuple[str, ...]]:
    """Read logs in memory; also returns what they are, and notes."""
    parts = []
    for path in paths:
        table = tables.read(path, is_text=columns.is_text)
        columns.check(table.columns, path)
        parts.append(columns.selected(table))
    table = stacked(parts)
    if not columns.are_rankings(table):
        table = battles.prepared(table, columns)
        return battles.read(table, columns), "battle log", table.notes
    if columns.unit not in (None, *roles.UNIT):
        raise UsageError(f"{paths[0]}: rankings share segments, not '{columns.unit}'")
    return battles.unfolded(battles.read_rankings(table)), "rankings", ()


def from_log(
    log: BattleLog,
    *,
    by_unit: bool = True,
    in_order: bool = False,
    form: str = "battle log",
) -> CountedLog:
    """Count the battles of a log that is in memory."""
    duels = Battles(log.left, log.right, log.outcome, len(log.systems), log.weight)
    unit = log.unit if by_unit else None
    n_units = None if unit is None or log.units is None else len(log.units)
    pairs, units = _counts(duels, unit)
    played = None
    if in_order:
        order = slice(None) if log.time is None else np.argsort(log.time, kind="stable")
        played, unit = duels.take(order), None if unit is None else unit[order]
    return CountedLog(
        log.systems,
        len(duels),
        n_units,
        pairs,
        units,
        played,
        unit if in_order else None,
        form,
        timed=log.time is not None,
    )


def _counts(duels: Battles, unit: NDArray[Any] | None) -> tuple[PairWins, UnitCounts | None]:
    if unit is None and _is_whole(duels):
        return battle_pairs(duels), None
    if unit is None:  # sums of parts of a win must not depend on the order of the file
        weight = np.ones(len(duels)) if duels.weight is None else duels.weight
        order = np.lexsort((weight, duels.outcome, duels.right, duels.left))
        duels = duels.take(order)
        unit = np.arange(len(duels), dtype=np.int32)
    units = UnitCounts.of(duels, unit)
    return units.pairs(), units


def _is_whole(duels: Battles) -> bool:
    """Tell whether every battle is a win, a loss or a tie and counts once."""
    doubled = 2 * duels.outcome
    once = duels.weight is None or bool((duels.weight == 1).all())
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
    """Count logs, one after the other as one log; None for those that are read in memory."""
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
            names = columns.find(scan.header())
            flags = set(ORDER_COLUMNS) & set(scan.names) - set(columns.ignore)
            if names.left == battles.WINNER or flags:
                return None
            logs.append(_checked(scan, columns, names, len(logs)))
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
    duels = Battles(rows["a"], rows["b"], outcome, n, rows.get("w"))
    pairs, units = _counts(duels, rows.get("v"))
    counted = CountedLog(systems, size, n_units, pairs, units)
    if not in_order:
        return counted
    timed = any(log.names.time is not None for log in logs)
    return replace(counted, played=duels, unit=rows.get("v"), timed=timed)


def _number(connection: Any, table: str, names: str) -> int:
    """Make a table of names and their codes; return how many there are."""
    connection.execute(
        f"CREATE TEMP TABLE {table} AS SELECT name, CAST(row_number() OVER (ORDER BY name) - 1 "
        f"AS INTEGER) AS code FROM ({names})"
    )
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _checked(scan: Scan, columns: LogColumns, names: BattleColumns, file: int) -> _LogTable:
    """Name the columns of a battle (l, r, o, w, t, u), and refuse the first row that is none."""
    outcomes, outcome = _outcome_sql(scan, columns, names)
    sql = _battles_sql(scan, columns, names, outcome, file)
    # Few names begin like a blank one, so few are looked at closely.
    blank = " OR ".join(
        f"(({name} IS NULL OR {name} < '!' OR {name} >= chr(127)) AND {sql_blank(name)})"
        for name in "lru"
    )
    size, wrong, whole = scan.connection.execute(
        f"SELECT count(*), coalesce(bool_or({_WRONG} OR {blank}), false), "
        f"coalesce(bool_and(w = 1 AND o IN (0, 0.5, 1)), true) FROM ({sql})"
    ).fetchone()
    if wrong:
        (row,) = scan.connection.execute(
            f"SELECT min(row) FROM ({sql}) WHERE {_WRONG} OR {blank}"
        ).fetchone()
        _explain(scan, names, outcomes, row)
    return _LogTable(sql, names, size, whole)


def _selected_sql(scan: Scan, columns: LogColumns) -> str:
    chosen = [f"{scan.columns[name].text()} = {literal(value)}" for name, value in columns.where]
    return f"FROM {scan.source}" + (f" WHERE {' AND '.join(chosen)}" if chosen else "")


def _battles_sql(
    scan: Scan, columns: LogColumns, names: BattleColumns, outcome: str, file: int
) -> str:
    left, right = scan.columns[names.left], scan.columns[names.right]
    weight, time, unit = (
        None if name is None else scan.columns[name]
        for name in (names.weight, names.time, names.unit)
    )
    shown = [
        f"{file} AS file",
        "file_row_number AS row",
        f"{left.text()} AS l",
        f"{right.text()} AS r",
        f"{outcome} AS o",
        f"{'1.0::DOUBLE' if weight is None else weight.number()} AS w",
        f"{'NULL::DOUBLE' if time is None else time.number()} AS t",
        f"{literal('u') if unit is None else unit.text()} AS u",
        f"{'false' if time is None else _unreadable_sql(time)} AS no_time",
    ]
    return f"SELECT {', '.join(shown)} {_selected_sql(scan, columns)}"


def _outcome_sql(
    scan: Scan, columns: LogColumns, names: BattleColumns
) -> tuple[Outcomes | None, str]:
    """Find how outcomes are read, and SQL of the points of the left side; NULL if it is none."""
    if names.outcome is None:
        return None, "1.0::DOUBLE"
    column = scan.columns[names.outcome]
    left, right = scan.columns[names.left].text(), scan.columns[names.right].text()
    text = column.number() if column.is_number else f"trim({column.text()})"
    rows = _selected_sql(scan, columns)
    cells = [
        cell
        for (cell,) in scan.connection.execute(
            f"SELECT DISTINCT {text} {rows} LIMIT {_MOST_WORDS + 1}"
        ).fetchall()
        if not is_gap(cell)
    ]
    outcomes = columns.outcomes(cells, names.outcome, str(scan.path))
    understood = [] if column.is_number else [c for c in cells if outcomes.point(c) is not None]
    if understood:
        words = ", ".join(map(literal, understood))
        pairs = f"SELECT DISTINCT {text} AS cell, {left} AS l, {right} AS r {rows}"
        (clashes,) = scan.connection.execute(
            f"SELECT count(*) FROM ({pairs}) WHERE l IN ({words}) OR r IN ({words})"
        ).fetchone()
        if clashes:
            evidence = scan.connection.execute(pairs).fetchall()
            outcomes = columns.with_names(outcomes, evidence, str(scan.path))
    number = column.number() if column.is_number else sql_number(text)
    points = f"CASE WHEN {number} BETWEEN 0 AND 1 THEN {number} END"
    meaning = {cell: outcomes.point(cell) for cell in cells if _is_word(cell, outcomes)}
    cases = " ".join(
        f"WHEN {cell!r}::DOUBLE THEN {point}" if column.is_number
        else f"WHEN {literal(cell)} THEN {point}"
        for cell, point in meaning.items() if point is not None
    )  # fmt: skip
    other = points if outcomes.digits in ("points", "any") else "NULL::DOUBLE"
    sql = f"CASE {text} {cases} ELSE {other} END" if cases else other
    if outcomes.names and not column.is_number and not any(map(outcomes.chosen, cells)):
        sql = f"CASE WHEN {text} = {left} THEN 1.0 WHEN {text} = {right} THEN 0.0 ELSE {sql} END"
    return outcomes, sql


def _is_word(cell: Any, outcomes: Outcomes) -> bool:
    """Tell whether an outcome is anything but points that SQL reads itself."""
    is_number = isinstance(cell, float) or NUMBER.fullmatch(str(cell)) is not None
    return not is_number or outcomes.digits not in ("points", "any") or bool(outcomes.words)


def _unreadable_sql(column: Column) -> str:
    """SQL that tells whether a cell holds something, but no number."""
    return f"{column.number()} IS NULL AND NOT ({column.missing()})"


def _explain(scan: Scan, names: BattleColumns, outcomes: Outcomes | None, row: int) -> None:
    """Let the reader of short logs say what is wrong with a battle."""
    shown = [name for name in names if name is not None]
    if names.time is not None and not _is_plain(scan.columns[names.time]):
        shown.remove(names.time)
    table = scan.row(row, shown)
    left, right = (None, None) if names.outcome is None else names[:2]
    battles.read(table, LogColumns(left, right, names.outcome, names.unit), outcomes)
    table.fail("not a battle", 0)


def _is_plain(column: Column) -> bool:
    """Tell whether a column holds text or numbers, which a small table can hold, too."""
    return column.is_number or column.kind in ("VARCHAR", "JSON")


# ---------------------------------------------------------------------- logs of other tools


def _read_foreign(paths: Sequence[Path], columns: LogColumns) -> Read | None:
    """Read logs of another tool; None for those of ours, or whose sides are named as if they were.

    The beginnings of files show what they are: logs of ours may be too long to be looked through.
    """
    form = None if columns.form is None else registry.named(columns.form)
    if form is not None and form not in _OF_LOGS and not _holds_battles(form):
        raise UsageError(f'format="{form.name}" is no log of battles')
    if form in _OF_LOGS or any((columns.left, columns.right, columns.outcome)):
        return None
    logs_of = [_foreign_logs(path, form) for path in paths]
    logs = [log for group in logs_of for log in group]
    if not logs:
        return None
    for path, its_logs in zip(paths, logs_of, strict=True):
        if not its_logs:
            _mixed(path, logs)
    unit = () if columns.unit is None else (("unit", columns.unit),)
    reading = Reading(columns.where, columns.ignore, columns=unit, form=columns.form)
    (read,) = read_all(logs, reading)
    check_columns([read], reading)
    return read


def _foreign_logs(path: Path, form: Format | None) -> list[Path]:
    """Return the logs of other tools that a path is, or that lie in it."""
    if not files.is_folder(path):
        return [path] if _holds_battles(form or registry.foreign(FileView(path))) else []
    logs = [view.path for _, view in registry.logs_in(path, form, BattleLog)]
    for other in sorted(path.iterdir()) if logs else ():
        if other in logs or not other.is_file():
            continue
        names = set(FileView(other).names)
        sides = all(names & set(role) for role in (roles.LEFT, roles.RIGHT, roles.OUTCOME))
        if sides or {roles.BETTER, roles.WORSE} <= names:
            _mixed(other, logs)
    return logs


def _holds_battles(form: Format | None) -> bool:
    return isinstance(form, Foreign) and issubclass(form.gives, BattleLog)


def _mixed(path: Path, logs: Sequence[Path]) -> NoReturn:
    message = f"a battle log among logs of another format, such as {logs[0].name}"
    raise InputError(f"{message}: expected one kind", path=path)
