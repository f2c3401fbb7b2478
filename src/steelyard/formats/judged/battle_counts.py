"""Battle logs as count arrays: what statistics need of a log.

Text is read whole (:mod:`steelyard.formats.judged.battles`). Of Parquet DuckDB reads the columns
that matter: battles that are alike are read once, as one table, and every row gets the code of its
battle and of its unit. Winners beside losers and logs with swapped orders are read whole, too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

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
from steelyard.formats.format import ForeignFormat, Format
from steelyard.formats.judged import battles
from steelyard.formats.judged.battles import LogColumns
from steelyard.formats.load import check_columns
from steelyard.formats.rawtable import RawTable
from steelyard.formats.reading import Read, Reading, read_all
from steelyard.formats.verdicts.judges import ORDER_COLUMNS
from steelyard.formats.view import FileView
from steelyard.stats.strength.wins import Battles, PairWins, UnitCounts, battle_pairs

_MEMORY = "1GB"  # what DuckDB may hold before it goes to disk
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
            raise InputError(f"no log in a folder of logs: {expected}", path=file)
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
    """Count the battles of logs or rankings: files or folders, tables or logs of other tools.

    Battles are also counted ``by_unit`` where the log has units, and returned ``in_order``.
    """
    inputs = [Path(path) for path in ([log] if isinstance(log, (str, Path)) else log)]
    columns = columns or LogColumns()
    foreign = _read_foreign(inputs, columns)
    if foreign is not None:
        counted = from_log(foreign.value, by_unit=by_unit, in_order=in_order, form=foreign.form)
        return replace(counted, inputs=foreign.files, notes=foreign.notes)
    paths = [file for path in inputs for file in log_files(path)]
    parts = [_read_file(path, columns, by_unit=by_unit) for path in paths]
    logs, forms, notes = zip(*parts, strict=True)
    if len(paths) > 1 and battles.RANKINGS.name in forms:
        ranked = paths[forms.index(battles.RANKINGS.name)]
        raise InputError("rankings in a folder of logs of battles", path=ranked)
    having = {part.unit is not None: path for part, path in zip(logs, paths, strict=True)}
    if len(having) > 1:
        raise InputError(f"no column of units, but {having[True]} has one", path=having[False])
    if not any(map(len, logs)):
        chosen = " and ".join(f"{name}={value}" for name, value in columns.where)
        message = f"no row has {chosen}" if chosen else "has no rows"
        raise InputError(message, path=paths[0].parent if len(paths) > 1 else paths[0])
    counted = from_log(_joined(logs), by_unit=by_unit, in_order=in_order, form=forms[0])
    return replace(counted, notes=tuple(dict.fromkeys(n for of_file in notes for n in of_file)))


def _read_file(
    path: Path, columns: LogColumns, *, by_unit: bool
) -> tuple[BattleLog, str, tuple[str, ...]]:
    """Read a log: its battles, the name of its format, and notes."""
    if files.kind(on_disk(path)) in ("parquet", "pq"):
        log = _read_parquet(path, columns, by_unit=by_unit)
        if log is not None:
            return log, battles.FORMAT.name, ()
    table = tables.read(path, is_text=columns.is_text)
    columns.check(table.columns, path)
    table = columns.selected(table)
    if not columns.are_rankings(table):
        table = battles.prepared(table, columns)
        return battles.read(table, columns), battles.FORMAT.name, table.notes
    if columns.unit not in (None, *roles.UNIT):
        raise UsageError(f"{path}: rankings share segments, not '{columns.unit}'")
    return battles.unfolded(battles.read_rankings(table)), battles.RANKINGS.name, ()


def _joined(logs: Sequence[BattleLog]) -> BattleLog:
    """Put logs of one kind under each other."""
    if len(logs) == 1:
        return logs[0]
    systems, code = encode([name for log in logs for name in log.systems])
    units, unit = encode([name for log in logs for name in log.units or ()])
    systems_of = np.split(code, np.cumsum([len(log.systems) for log in logs])[:-1])
    units_of = np.split(unit, np.cumsum([len(log.units or ()) for log in logs])[:-1])

    def codes(name: str, of_log: Sequence[Codes]) -> Codes:
        pairs = zip(logs, of_log, strict=True)
        return np.concatenate([its_codes[getattr(log, name)] for log, its_codes in pairs])

    def numbers(name: str, missing: float) -> Floats | None:
        parts = [getattr(log, name) for log in logs]
        filled = [np.full(len(log), missing) if part is None else part
                  for log, part in zip(logs, parts, strict=True)]  # fmt: skip
        return None if all(part is None for part in parts) else np.concatenate(filled)

    named = logs[0].unit is not None
    return BattleLog(
        systems,
        codes("left", systems_of),
        codes("right", systems_of),
        np.concatenate([log.outcome for log in logs]),
        numbers("weight", 1.0),
        numbers("time", np.nan),
        units if named else None,
        codes("unit", units_of) if named else None,
    )


def from_log(
    log: BattleLog,
    *,
    by_unit: bool = True,
    in_order: bool = False,
    form: str = battles.FORMAT.name,
) -> CountedLog:
    """Count the battles of a log that is in memory."""
    duels = Battles(log.left, log.right, log.outcome, len(log.systems), log.weight)
    unit = log.unit if by_unit else None
    n_units = None if unit is None or log.units is None else len(log.units)
    pairs, units = _counts(duels, unit)
    timed = log.time is not None
    counted = CountedLog(log.systems, len(duels), n_units, pairs, units, form=form, timed=timed)
    if not in_order:
        return counted
    order = slice(None) if log.time is None else np.argsort(log.time, kind="stable")
    return replace(counted, played=duels.take(order), unit=None if unit is None else unit[order])


def _counts(duels: Battles, unit: NDArray[Any] | None) -> tuple[PairWins, UnitCounts | None]:
    if unit is None:
        doubled = 2 * duels.outcome
        once = duels.weight is None or bool((duels.weight == 1).all())
        if once and bool((doubled == np.rint(doubled)).all()):  # wins, losses and ties
            return battle_pairs(duels), None
        # Sums of parts of a win must not depend on the order of the file.
        weight = np.ones(len(duels)) if duels.weight is None else duels.weight
        duels = duels.take(np.lexsort((weight, duels.outcome, duels.right, duels.left)))
        unit = np.arange(len(duels), dtype=np.int32)
    units = UnitCounts.of(duels, unit)
    return units.pairs(), units


# Through DuckDB.


def _read_parquet(path: Path, columns: LogColumns, *, by_unit: bool) -> BattleLog | None:
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
        header = parquet.column_names(connection, source, shown, path)
        columns.check(header, path)
        table = RawTable(path, dict.fromkeys(header, ()), 0)
        if columns.are_rankings(table):
            return None
        names = columns.find(table)
        if names.are_winners or set(ORDER_COLUMNS) & set(header) - set(columns.ignore):
            return None
        sql = dict(zip(header, map(quote, shown), strict=True))
        time = "NULL"
        if names.time is not None:
            kind = dict(zip(header, (kind for _, kind, *_ in described), strict=True))[names.time]
            if kind == "DATE" or kind.startswith("TIMESTAMP"):
                time = f"CAST(epoch({sql[names.time]}) AS DOUBLE)"
            elif parquet.is_number(kind):
                time = f"CAST({sql[names.time]} AS DOUBLE)"
            else:
                return None
        cells = (names.left, names.right, names.outcome, names.weight, *dict(columns.where))
        alike = {name: f"b{k}" for k, name in enumerate(dict.fromkeys(filter(None, cells)))}
        shared = {names.unit: "u"} if by_unit and names.unit is not None else {}
        selected = [f"{sql[name]} AS {key}" for name, key in (*alike.items(), *shared.items())]
        connection.execute(
            f"CREATE TEMP TABLE log AS SELECT {', '.join(selected)}, {time} AS t FROM {source}"
        )
        distinct = partial(_distinct, path, Path(folder), columns, connection)
        kinds, joins = distinct(alike)
        units, join_units = distinct(shared) if shared else (None, "")
        wanted = ["codes_b0.code AS battle", *(["codes_u.code AS unit"] if shared else []), "t"]
        rows = connection.execute(
            f"SELECT {', '.join(wanted)} FROM log {joins} {join_units} ORDER BY log.rowid"
        ).fetchnumpy()
    chosen = [
        row
        for row in range(kinds.n_rows)
        if all(label(kinds.columns[name][row]) == value for name, value in columns.where)
    ]
    left, right = (None, None) if names.outcome is None else (names.left, names.right)
    plain = LogColumns(left, right, names.outcome, words=columns.words, swapped=columns.swapped)
    read = battles.read(kinds.take(chosen).without(dict(columns.where)), plain)
    position = np.full(kinds.n_rows, -1, dtype=np.int32)
    position[chosen] = np.arange(len(chosen))
    row = position[rows["battle"]]
    kept = row >= 0 if len(chosen) < kinds.n_rows else slice(None)
    row = row[kept]
    unit_names: tuple[str, ...] | None = None
    unit: Codes | None = None
    if units is not None:
        used, code = rows["unit"][kept], np.zeros(units.n_rows, dtype=np.int32)
        units_left = np.flatnonzero(np.bincount(used, minlength=units.n_rows)).tolist()
        unit_names, code[units_left] = encode(units.take(units_left).labels(str(names.unit)))
        unit = code[used]
    return BattleLog(
        read.systems,
        read.left[row],
        read.right[row],
        read.outcome[row],
        None if read.weight is None else read.weight[row],
        None if names.time is None else np.ma.filled(rows["t"], np.nan)[kept],
        unit_names,
        unit,
    )


def _distinct(
    path: Path, folder: Path, columns: LogColumns, connection: Any, keys: Mapping[str, str]
) -> tuple[RawTable, str]:
    """Number the different rows of some columns as they come.

    Returns them as a table, and the SQL that joins the log with their numbers, ``code``.
    """
    selected, codes = ", ".join(keys.values()), f"codes_{next(iter(keys.values()))}"
    connection.execute(
        f"CREATE TEMP TABLE {codes} AS SELECT {selected}, min(rowid) AS first, "
        "CAST(row_number() OVER (ORDER BY min(rowid)) - 1 AS INTEGER) AS code "
        f"FROM log GROUP BY {selected}"
    )
    part = folder / f"{codes}.parquet"
    rows = f"SELECT {selected}, first FROM {codes} ORDER BY code"
    connection.execute(f"COPY ({rows}) TO {duck.literal(str(part))} (FORMAT parquet)")
    name_of = {key: name for name, key in keys.items()}
    raw = tables.read(part, is_text=lambda n: n == "u" or columns.is_text(name_of.get(n, n)))
    lines = raw.columns["first"]
    cells = {name: raw.columns[key] for name, key in keys.items()}
    # Empty cells are alike, too.
    same = " AND ".join(f"log.{key} IS NOT DISTINCT FROM {codes}.{key}" for key in keys.values())
    table = RawTable(path, cells, raw.n_rows, lambda row: int(lines[row]) + 1)
    return table, f"JOIN {codes} ON {same}"


# Logs of other tools.


def _read_foreign(paths: Sequence[Path], columns: LogColumns) -> Read | None:
    """Read logs of another tool; None for those of ours, or whose sides are named as if they were.

    The beginnings of files show what they are: logs of ours may be too long to be looked through.
    """
    form = None if columns.form is None else registry.named(columns.form)
    ours = form in (battles.FORMAT, battles.RANKINGS)
    if not (form is None or ours or _holds_battles(form)):
        raise UsageError(f'format="{form.name}" is no log of battles')
    if ours or any((columns.left, columns.right, columns.outcome)):
        return None
    logs: list[Path] = []
    others: list[Path] = []
    for path in paths:
        if files.is_folder(path):
            inside = [view.path for _, view in registry.logs_in(path, form, BattleLog)]
            logs += inside
            others += (
                filter(_looks_like_ours, set(path.iterdir()) - set(inside)) if inside else [path]
            )
        else:
            is_log = _holds_battles(form or registry.foreign(FileView(path)))
            (logs if is_log else others).append(path)
    if not logs:
        return None
    if others:
        message = f"a battle log among logs of another format, such as {logs[0].name}"
        raise InputError(f"{message}: expected one kind", path=min(others))
    unit = () if columns.unit is None else (("unit", columns.unit),)
    reading = Reading(columns.where, columns.ignore, columns=unit, form=columns.form)
    (read,) = read_all(logs, reading)
    check_columns([read], reading)
    return read


def _holds_battles(form: Format | None) -> bool:
    return isinstance(form, ForeignFormat) and issubclass(form.gives, BattleLog)


def _looks_like_ours(path: Path) -> bool:
    names = set(FileView(path).names) if path.is_file() else set()
    sides = all(names & set(role) for role in (roles.LEFT, roles.RIGHT, roles.OUTCOME))
    return sides or {roles.BETTER, roles.WORSE} <= names
