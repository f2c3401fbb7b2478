"""Battle logs as count arrays: what statistics need of a log.

Text is read whole (:mod:`steelyard.formats.judged.battles`). Of Parquet DuckDB reads the columns
that matter: battles that are alike are read once, as one table, and every row gets the code of its
battle and of its unit. Winners beside losers and logs with swapped orders are read whole, too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import InputFile
from steelyard.data.judgements import BattleLog, Codes, Floats, encode
from steelyard.formats import columns as roles
from steelyard.formats import duck, files, parquet, registry, tables
from steelyard.formats.cells import label
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

    Without units a weighted battle is one; ``units`` is None where ``pairs`` holds whole battles.
    """

    systems: tuple[str, ...]  # sorted; all arrays use their positions as codes
    n_battles: int
    n_units: int | None  # prompts or segments that battles share
    pairs: PairWins
    units: UnitCounts | None
    played: Battles | None = None  # in the order of time, or else of the file, where asked for
    unit: NDArray[np.int32] | None = None  # of ``played``
    form: str = "battle log"
    inputs: tuple[InputFile, ...] = ()  # of another tool
    notes: tuple[str, ...] = ()
    timed: bool = False  # whether the order of ``played`` is one of time


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
    if files.kind(on_disk(path)) in ("parquet", "pq"):
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


def _read_parquet(
    path: Path, columns: LogColumns, *, by_unit: bool, in_order: bool
) -> BattleLog | None:
    """Read battles that are alike once, as a table, and every row by the code of its battle.

    None for what is read whole: rankings, winners beside losers, swapped orders, times as text.
    """
    with (
        tempfile.TemporaryDirectory(prefix="steelyard-") as folder,
        duck.connect() as connection,
        parquet.opened(path, connection) as (_, source),
    ):
        connection.execute(f"SET memory_limit = {duck.literal(_MEMORY)}")
        connection.execute(f"SET temp_directory = {duck.literal(folder)}")
        described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        shown = [name for name, *_ in described]
        named = parquet.column_names(connection, source, shown, path)
        sql = dict(zip(named, map(quote, shown), strict=True))
        columns.check(named, path)
        header = RawTable(path, dict.fromkeys(named, ()), 0)
        if columns.are_rankings(header):
            return None
        names = columns.find(header)
        swapped = set(ORDER_COLUMNS) & set(named) - set(columns.ignore)
        if names.left == battles.WINNER or swapped:
            return None
        kinds = dict(zip(named, (kind for _, kind, *_ in described), strict=True))
        time = None if names.time is None else _seconds(sql[names.time], kinds[names.time])
        if names.time is not None and time is None:
            return None
        cells = [names.left, names.right, names.outcome, names.weight, *dict(columns.where)]
        alike = {name: f"b{k}" for k, name in enumerate(dict.fromkeys(filter(None, cells)))}
        selected = [f"{sql[name]} AS {key}" for name, key in alike.items()]
        selected += [] if names.unit is None else [f"{sql[names.unit]} AS u"]
        selected += [] if time is None else [f"{time} AS t"]
        connection.execute(f"CREATE TEMP TABLE log AS SELECT {', '.join(selected)} FROM {source}")
        return _of_codes(
            path, Path(folder), columns, names, alike, connection, by_unit=by_unit,
            in_order=in_order,
        )  # fmt: skip


def _seconds(column: str, kind: str) -> str | None:
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return f"CAST(epoch({column}) AS DOUBLE)"
    return f"CAST({column} AS DOUBLE)" if parquet.is_number(kind) else None


def _of_codes(
    path: Path, folder: Path, columns: LogColumns, names: BattleColumns, alike: Mapping[str, str],
    connection: Any, *, by_unit: bool, in_order: bool,
) -> BattleLog:  # fmt: skip
    kinds = _distinct(path, folder, columns, alike, connection)
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
    selected = ["codes_b0.code AS battle", *(["t"] if timed else [])]
    source = f"log JOIN codes_b0 ON {_same(alike)}"
    units = None
    if by_unit and names.unit is not None:
        units = _distinct(path, folder, columns, {names.unit: "u"}, connection)
        selected.append("codes_u.code AS unit")
        source += f" JOIN codes_u ON {_same({names.unit: 'u'})}"
    # Sums of whole numbers are the same in any order.
    order = " ORDER BY log.rowid" if in_order or not _is_whole(duels) else ""
    cells = connection.execute(f"SELECT {', '.join(selected)} FROM {source}{order}").fetchnumpy()
    position = np.full(kinds.n_rows, -1, dtype=np.int32)
    position[chosen] = np.arange(len(chosen))
    row = position[cells["battle"]]
    if len(chosen) < kinds.n_rows:
        cells = {name: values[row >= 0] for name, values in cells.items()}
        row = row[row >= 0]
    unit_names: tuple[str, ...] | None = None
    unit: Codes | None = None
    if units is not None:
        used, code = cells["unit"], np.zeros(units.n_rows, dtype=np.int32)
        rows = np.flatnonzero(np.bincount(used, minlength=units.n_rows)).tolist()
        unit_names, code[rows] = encode(units.take(rows).labels(str(names.unit)))
        unit = code[used]
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


def _same(columns: Mapping[str, str]) -> str:
    """Return SQL that joins the log with the codes of columns, also where they are empty."""
    table = f"codes_{next(iter(columns.values()))}"
    return " AND ".join(f"log.{key} IS NOT DISTINCT FROM {table}.{key}" for key in columns.values())


def _distinct(
    path: Path, folder: Path, columns: LogColumns, keys: Mapping[str, str], connection: Any
) -> RawTable:
    """Number the different rows of some columns as they come, and return them as a table."""
    selected = ", ".join(keys.values())
    table = f"codes_{next(iter(keys.values()))}"
    connection.execute(
        f"CREATE TEMP TABLE {table} AS SELECT {selected}, min(rowid) AS first, "
        "CAST(row_number() OVER (ORDER BY min(rowid)) - 1 AS INTEGER) AS code "
        f"FROM log GROUP BY {selected}"
    )
    part = folder / f"{table}.parquet"
    rows = f"SELECT {selected}, first FROM {table} ORDER BY code"
    connection.execute(f"COPY ({rows}) TO {duck.literal(str(part))} (FORMAT parquet)")
    name_of = {key: name for name, key in keys.items()}
    raw = tables.read(part, is_text=lambda n: n == "u" or columns.is_text(name_of.get(n, n)))
    lines = raw.columns["first"]
    cells = {name: raw.columns[key] for name, key in keys.items()}
    return RawTable(path, cells, raw.n_rows, lambda row: int(lines[row]) + 1)


def _joined(logs: Sequence[BattleLog]) -> BattleLog:
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
