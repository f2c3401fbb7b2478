"""Battle logs as count arrays: what statistics need of a log.

Text is read whole (:mod:`steelyard.formats.judged.battles`). Of Parquet DuckDB reads the columns
that matter: battles that are alike are read once, as one table, and every row gets the code of its
battle and of its unit. Winners beside losers and logs with swapped orders are read whole, too.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import lt
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import InputFile
from steelyard.data.judgements import BattleLog, Codes, Floats, encode
from steelyard.formats import columns as roles
from steelyard.formats import duck, files, parquet, registry, tables
from steelyard.formats.cells import label, sql_gap, sql_number
from steelyard.formats.duck import quote
from steelyard.formats.files import kept, on_disk
from steelyard.formats.format import Foreign, Format
from steelyard.formats.judged import battles
from steelyard.formats.judged.battles import BattleColumns, LogColumns
from steelyard.formats.load import check_columns
from steelyard.formats.rawtable import RawTable
from steelyard.formats.reading import Read, Reading, read_all
from steelyard.formats.verdicts.judges import ORDER_COLUMNS
from steelyard.formats.view import FileView
from steelyard.stats.strength.wins import Battles, PairWins, UnitCounts, battle_pairs

_MEMORY = "1GB"  # what DuckDB may hold before it goes to disk
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


def is_parquet(path: Path) -> bool:
    """Tell by its name whether a file is Parquet."""
    return files.kind(path) in ("parquet", "pq")


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
    parts = [_read_file(path, columns, by_unit=by_unit, in_order=in_order) for path in paths]
    logs, forms, notes = zip(*parts, strict=True)
    if len(paths) > 1:
        _check_alike(paths, logs, forms)
    if not any(map(len, logs)):
        raise columns.no_rows(paths[0].parent if len(paths) > 1 else paths[0])
    counted = from_log(_joined(logs), by_unit=by_unit, in_order=in_order, form=forms[0])
    return replace(counted, notes=tuple(dict.fromkeys(n for of_file in notes for n in of_file)))


def _read_file(
    path: Path, columns: LogColumns, *, by_unit: bool, in_order: bool
) -> tuple[BattleLog, str, tuple[str, ...]]:
    """Read a log; return also what it is, and notes."""
    if is_parquet(on_disk(path)):
        log = _read_parquet(path, columns, by_unit=by_unit, in_order=in_order)
        if log is not None:
            return log, "battle log", ()
    table = tables.read(path, is_text=columns.is_text)
    columns.check(table.columns, path)
    table = columns.selected(table)
    if not columns.are_rankings(table):
        table = battles.prepared(table, columns)
        return battles.read(table, columns), "battle log", table.notes
    if columns.unit not in (None, *roles.UNIT):
        raise UsageError(f"{path}: rankings share segments, not '{columns.unit}'")
    return battles.unfolded(battles.read_rankings(table)), "rankings", ()


def _check_alike(paths: Sequence[Path], logs: Sequence[BattleLog], forms: Sequence[str]) -> None:
    """Refuse files that can't be one log."""
    for path, form in zip(paths, forms, strict=True):
        if form == "rankings":
            raise InputError("rankings in a folder of logs of battles", path=path)
    having = {log.unit is not None: path for log, path in zip(logs, paths, strict=True)}
    if len(having) > 1:
        raise InputError(f"no column of units, but {having[True]} has one", path=having[False])


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


# Through DuckDB.


class _Column(NamedTuple):
    """A column as SQL of its text (never NULL) and its number, and how a text becomes a cell."""

    text: str
    number: str
    cell: Callable[[str], Any] = str
    unreadable: str = "false"  # SQL that tells whether a cell holds something, but no number


class _Rows(NamedTuple):
    """Rows of a file as SQL, and its columns."""

    source: str
    columns: Mapping[str, _Column]
    names: Sequence[str]


def _read_parquet(
    path: Path, columns: LogColumns, *, by_unit: bool, in_order: bool
) -> BattleLog | None:
    """Read a log; None for rankings, and for what is read whole."""
    import duckdb

    try:
        with _session() as connection, _opened(path, connection) as rows:
            return _read_rows(path, rows, columns, connection, by_unit=by_unit, in_order=in_order)
    except duckdb.Error as error:
        raise duck.failure(error, path, "table") from error


@contextmanager
def _session() -> Iterator[Any]:
    """Open a database that holds so much in memory, and the rest in a temporary folder."""
    with (
        tempfile.TemporaryDirectory(prefix="steelyard-") as spilled,
        duck.connect() as connection,
    ):
        connection.execute(f"SET memory_limit = {duck.literal(_MEMORY)}")
        connection.execute(f"SET temp_directory = {duck.literal(spilled)}")
        try:
            yield connection
        except RuntimeError as error:  # which is what DuckDB makes of Ctrl-C at times
            if "interrupted" in str(error):
                raise KeyboardInterrupt from error
            raise


@contextmanager
def _opened(path: Path, connection: Any) -> Iterator[_Rows]:
    """Open a file for SQL."""
    with parquet.opened(path, connection) as (_, source):
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        names = parquet.column_names(connection, source, [n for n, *_ in described], path)
        pairs = zip(names, described, strict=True)
        typed = {name: _typed(quote(shown), kind) for name, (shown, kind, *_) in pairs}
        yield _Rows(source, typed, names)


def _typed(sql: str, kind: str) -> _Column:
    """Return a column of Parquet: of names, numbers, dates, or of what is none of them."""
    shown = f"coalesce(CAST({sql} AS VARCHAR), '')"
    if parquet.is_number(kind):
        return _Column(shown, f"CAST({sql} AS DOUBLE)", lambda text: text or None)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return _Column(shown, f"CAST(epoch({sql}) AS DOUBLE)")
    if kind == "VARCHAR" or kind.startswith("ENUM"):
        text = f"CAST({sql} AS VARCHAR)"
        number = sql_number(text)
        unreadable = f"{number} IS NULL AND {text} IS NOT NULL AND NOT ({sql_gap(text)})"
        return _Column(shown, number, unreadable=unreadable)
    if kind == "UUID":
        return _Column(shown, "NULL::DOUBLE", unreadable="true")
    truth = kind == "BOOLEAN"  # which is no name, as a list is none
    return _Column(
        shown, "NULL::DOUBLE", lambda text: json.loads(text or "null") if truth else [text], "true"
    )


def _read_rows(
    path: Path, rows: _Rows, columns: LogColumns, connection: Any, *, by_unit: bool, in_order: bool
) -> BattleLog | None:
    """Read battles that are alike once, then every row by the code of its battle and unit."""
    columns.check(rows.names, path)
    header = RawTable(path, dict.fromkeys(rows.names, ()), 0)
    if columns.are_rankings(header):
        return None
    names = columns.find(header)
    flags = set(ORDER_COLUMNS) & set(rows.names) - set(columns.ignore)
    if names.left == battles.WINNER or flags:
        return None
    alike = _alike(columns, names)
    _tabulate(rows, alike, names, connection)
    if names.time and connection.execute("SELECT bool_or(no_time) FROM log").fetchone()[0]:
        return None  # the reader of whole logs says which
    kinds = _numbered(path, rows, alike, "battle", "min(rowid)", connection)
    chosen = [
        row
        for row in range(kinds.n_rows)
        if all(label(kinds.columns[name][row]) == value for name, value in columns.where)
    ]
    left, right = (None, None) if names.outcome is None else (names.left, names.right)
    plain = LogColumns(left, right, names.outcome, words=columns.words, swapped=columns.swapped)
    read = battles.read(kinds.take(chosen).without([name for name, _ in columns.where]), plain)
    duels = Battles(read.left, read.right, read.outcome, len(read.systems), read.weight)
    timed = in_order and names.time is not None
    by_unit = by_unit and names.unit is not None
    shown = ["battle.code AS battle", *(["t"] if timed else [])]
    source = f"log JOIN battle USING ({', '.join(alike.values())})"
    if by_unit:
        units = _numbered(path, rows, {str(names.unit): "u"}, "unit", "u", connection)
        shown, source = [*shown, "unit.code AS unit"], f"{source} JOIN unit USING (u)"
    # Sums of whole numbers are the same in any order.
    order = " ORDER BY log.rowid" if in_order or not _is_whole(duels) else ""
    cells = connection.execute(f"SELECT {', '.join(shown)} FROM {source}{order}").fetchnumpy()
    position = np.full(kinds.n_rows, -1, dtype=np.int32)
    position[chosen] = np.arange(len(chosen))
    row = position[cells["battle"]]
    if columns.where:
        kept = row >= 0
        row, cells = row[kept], {name: values[kept] for name, values in cells.items()}
    unit_names, unit = _units(units, cells["unit"]) if by_unit else (None, None)
    return BattleLog(
        read.systems,
        read.left[row],
        read.right[row],
        read.outcome[row],
        None if read.weight is None else read.weight[row],
        np.ma.filled(cells["t"], np.nan) if timed else None,
        unit_names,
        unit,
    )


def _units(table: RawTable, code: Codes) -> tuple[tuple[str, ...], Codes]:
    """Return the units that rows have, by name, and their codes."""
    used = np.flatnonzero(np.bincount(code, minlength=table.n_rows))
    [column] = table.columns
    labels = (table if len(used) == table.n_rows else table.take(used.tolist())).labels(column)
    if all(map(lt, labels, labels[1:])):
        names, number = tuple(labels), np.arange(len(labels), dtype=np.int32)
    else:
        names, number = encode(labels)
    if len(used) == len(names) == table.n_rows and names == tuple(labels):
        return names, code
    position = np.zeros(table.n_rows, dtype=np.int32)
    position[used] = number
    return names, position[code]


def _alike(columns: LogColumns, names: BattleColumns) -> dict[str, str]:
    """Return the columns in which battles that are alike agree, and what SQL calls them."""
    shared = [names.left, names.right, names.outcome, names.weight, *dict(columns.where)]
    present = dict.fromkeys(name for name in shared if name is not None)
    return {name: f"b{k}" for k, name in enumerate(present)}


def _tabulate(rows: _Rows, alike: Mapping[str, str], names: BattleColumns, connection: Any) -> None:
    """Make the table ``log`` of what is read of a file."""
    shown = [f"{rows.columns[name].text} AS {key}" for name, key in alike.items()]
    if names.unit is not None:
        shown.append(f"{rows.columns[names.unit].text} AS u")
    if names.time is not None:
        time = rows.columns[names.time]
        shown += [f"{time.number} AS t", f"{time.unreadable} AS no_time"]
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE log AS SELECT {', '.join(shown)} FROM {rows.source}"
    )


def _numbered(
    path: Path, rows: _Rows, columns: Mapping[str, str], table: str, order: str, connection: Any
) -> RawTable:
    """Number the different rows of some columns in an order, and return them."""
    keys = ", ".join(columns.values())
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {keys}, min(rowid) AS first, "
        f"CAST(row_number() OVER (ORDER BY {order}) - 1 AS INTEGER) AS code "
        f"FROM log GROUP BY {keys}"
    )
    texts = connection.execute(f"SELECT {keys}, first FROM {table} ORDER BY code").fetchnumpy()
    first = texts["first"]
    cells = {n: list(map(rows.columns[n].cell, texts[key].tolist())) for n, key in columns.items()}
    return RawTable(path, cells, len(first), lambda row: int(first[row]) + 1)


def _joined(logs: Sequence[BattleLog]) -> BattleLog:
    """Put logs under each other."""
    if len(logs) == 1:
        return logs[0]
    systems, code = encode([name for log in logs for name in log.systems])
    units, unit = encode([name for log in logs for name in log.units or ()])
    of_log = np.split(code, np.cumsum([len(log.systems) for log in logs])[:-1])
    units_of_log = np.split(unit, np.cumsum([len(log.units or ()) for log in logs])[:-1])

    def numbers(name: str, missing: float) -> Floats | None:
        parts = [getattr(log, name) for log in logs]
        if all(part is None for part in parts):
            return None
        filled = (np.full(len(log), missing) if part is None else part
                  for log, part in zip(logs, parts, strict=True))  # fmt: skip
        return np.concatenate(list(filled))

    pairs = list(zip(logs, of_log, units_of_log, strict=True))
    named = logs[0].unit is not None
    return BattleLog(
        systems,
        np.concatenate([codes[log.left] for log, codes, _ in pairs]),
        np.concatenate([codes[log.right] for log, codes, _ in pairs]),
        np.concatenate([log.outcome for log in logs]),
        numbers("weight", 1.0),
        numbers("time", np.nan),
        units if named else None,
        np.concatenate([codes[log.unit] for log, _, codes in pairs]) if named else None,
    )


# Logs of other tools.


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
