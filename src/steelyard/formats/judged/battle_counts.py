"""Battle logs as count arrays: what statistics need of a log.

Logs are read whole (:mod:`steelyard.formats.judged.battles`), but for plain battles in Parquet or
long CSV: DuckDB reads the columns that matter, battles that are alike are read once, and every row
gets the code of its battle and of its unit. Whatever is odd there is left to the other reader.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import InputFile
from steelyard.data.judgements import BattleLog, encode
from steelyard.formats import columns as roles
from steelyard.formats import duck, files, parquet, registry, tables
from steelyard.formats.cells import sql_gap, sql_number
from steelyard.formats.duck import quote
from steelyard.formats.files import kept, on_disk
from steelyard.formats.format import Foreign, Format
from steelyard.formats.judged import battles
from steelyard.formats.judged.battles import BattleColumns, LogColumns
from steelyard.formats.load import check_columns
from steelyard.formats.rawtable import RawTable, stacked
from steelyard.formats.reading import Read, Reading, read_all
from steelyard.formats.verdicts.judges import ORDER_COLUMNS
from steelyard.formats.view import FileView
from steelyard.stats.strength.wins import Battles, PairWins, UnitCounts, battle_pairs

_LONG = 8_000_000  # bytes of text from which DuckDB reads logs, packed or not
_HEAD = 1 << 20  # bytes that show names and separators
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
    if _is_long(paths):
        whole = _read_long(paths, columns, by_unit=by_unit, in_order=in_order)
        if whole is not None:
            return from_log(whole, by_unit=by_unit, in_order=in_order)
    whole, form, notes = _read_whole(paths, columns)
    counted = from_log(whole, by_unit=by_unit, in_order=in_order, form=form)
    return replace(counted, notes=notes)


def _read_whole(
    paths: Sequence[Path], columns: LogColumns
) -> tuple[BattleLog, str, tuple[str, ...]]:
    """Read logs in memory; return also what they are, and notes."""
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


# Through DuckDB.

#: By column the SQL of its text, never NULL, and of its number; None for what is neither.
_Cells = dict[str, tuple[str, str] | None]


def _is_long(paths: Sequence[Path]) -> bool:
    """Tell whether DuckDB reads logs: Parquet, or long text with a header."""
    disk = [on_disk(path) for path in paths]
    if any(files.suffix(path) not in ("csv", "tsv", "parquet", "pq") for path in paths):
        return False
    return any(map(is_parquet, disk)) or sum(path.stat().st_size for path in disk) >= _LONG


def _read_long(
    paths: Sequence[Path], columns: LogColumns, *, by_unit: bool, in_order: bool
) -> BattleLog | None:
    """Read battles that are alike once; None for logs that are read in memory.

    These say, too, on which line something is wrong.
    """
    import duckdb

    try:
        with _session() as connection:
            names = _tabulate(paths, columns, connection)
            if names is None:
                return None
            return _of_table(
                paths[0], names, columns, connection, by_unit=by_unit, in_order=in_order
            )
    except duckdb.OutOfMemoryException as error:
        raise duck.failure(error, paths[0], "table") from error
    except (duckdb.Error, InputError, tables.BrokenQuotesError):
        return None


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
def _opened(path: Path, connection: Any) -> Iterator[tuple[str, _Cells]]:
    """Open a file for SQL; one that is not laid out plainly has no columns here."""
    if is_parquet(on_disk(path)):
        with parquet.opened(path, connection) as (_, source):
            described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            names = parquet.column_names(connection, source, [n for n, *_ in described], path)
            pairs = zip(names, described, strict=True)
            yield source, {name: _typed(quote(shown), kind) for name, (shown, kind, *_) in pairs}
        return
    lines = files.head(path, _HEAD).rpartition(b"\n")[0]
    text, kind = files.decode_table(lines, path)[0], files.kind(path)
    delimiter = tables.delimiter_of(text, kind)
    if files.is_json(text, kind) or tables.is_padded(text, delimiter):
        yield "", {}
        return
    records = tables.csv_records(iter(text.splitlines(keepends=True)), delimiter, quoted=True)
    names = tables.check_header(path, next(records, (1, [""]))[1])
    with duck.plain_path(path) as literal_path:
        types = ["VARCHAR"] * len(names)
        source = duck.csv_source(literal_path, path, types, delimiter, quote='"')
        yield source, {name: _typed(f"c{k}", "VARCHAR") for k, name in enumerate(names)}


def _typed(sql: str, kind: str) -> tuple[str, str] | None:
    text = f"CAST({sql} AS VARCHAR)"
    if parquet.is_number(kind):
        number = f"CAST({sql} AS DOUBLE)"
    elif kind == "DATE" or kind.startswith("TIMESTAMP"):
        number = f"CAST(epoch({sql}) AS DOUBLE)"
    elif kind in ("VARCHAR", "UUID") or kind.startswith("ENUM"):
        number = sql_number(text)
    else:
        return None
    return f"coalesce({text}, '')", number


def _tabulate(paths: Sequence[Path], columns: LogColumns, connection: Any) -> BattleColumns | None:
    """Make the table ``log`` of the columns that matter, called by their roles.

    None for logs that are not plain battles, or whose files differ.
    """
    names: BattleColumns | None = None
    for path in paths:
        with _opened(path, connection) as (source, cells):
            if not cells:
                return None
            columns.check(cells, path)
            header = RawTable(path, dict.fromkeys(cells, ()), 0)
            flags = set(ORDER_COLUMNS) & set(cells) - set(columns.ignore)
            if columns.are_rankings(header) or flags:
                return None
            battle = columns.find(header)
            if battle.left == battles.WINNER or names not in (None, battle):
                return None
            sql = {name: both for name, both in cells.items() if both is not None}
            roles_of = {role: name for role, name in battle._asdict().items() if name is not None}
            if not sql.keys() >= {*roles_of.values(), *dict(columns.where)}:
                return None
            shown = [
                f"{sql[name][0]} AS {quote(role)}"
                for role, name in roles_of.items()
                if role != "time"
            ]
            if battle.time is not None:
                text, number = sql[battle.time]
                shown += [f"{number} AS t", f"t IS NULL AND NOT ({sql_gap(text)}) AS no_time"]
            chosen = [f"{sql[name][0]} = {duck.literal(value)}" for name, value in columns.where]
            verb = "CREATE TEMP TABLE log AS" if names is None else "INSERT INTO log"
            condition = " AND ".join(chosen) or "true"
            connection.execute(f"{verb} SELECT {', '.join(shown)} FROM {source} WHERE {condition}")
            names = battle
    return names


def _of_table(
    path: Path, names: BattleColumns, columns: LogColumns, connection: Any, *, by_unit: bool,
    in_order: bool,
) -> BattleLog | None:  # fmt: skip
    """Read the battles of the table ``log``."""
    unread = "no_time" if names.time else "false"
    [(n_rows, no_time)] = connection.execute(
        f"SELECT count(*), bool_or({unread}) FROM log"
    ).fetchall()
    if not n_rows or no_time:
        return None  # the other reader says which
    alike = {
        name: role
        for role in ("left", "right", "outcome", "weight")
        if (name := getattr(names, role)) is not None
    }
    kinds = _numbered(path, alike, "battle", "min(rowid)", connection)
    left, right = (None, None) if names.outcome is None else (names.left, names.right)
    plain = LogColumns(left, right, names.outcome, words=columns.words, swapped=columns.swapped)
    read = battles.read(kinds, plain)
    shown, source = ["battle.code AS battle"], f"log JOIN battle USING ({_keys(alike)})"
    timed = in_order and names.time is not None
    shown += ["t"] if timed else []
    unit_names, unit = None, None
    if by_unit and names.unit is not None:
        units = _numbered(path, {names.unit: "unit"}, "units", "unit", connection)
        unit_names, unit = encode(units.labels(names.unit))
        shown, source = [*shown, "units.code AS unit"], f"{source} JOIN units USING (unit)"
    # Sums of whole numbers are the same in any order.
    duels = Battles(read.left, read.right, read.outcome, len(read.systems), read.weight)
    order = " ORDER BY log.rowid" if in_order or not _is_whole(duels) else ""
    cells = connection.execute(f"SELECT {', '.join(shown)} FROM {source}{order}").fetchnumpy()
    row = cells["battle"]
    return BattleLog(
        read.systems,
        read.left[row],
        read.right[row],
        read.outcome[row],
        None if read.weight is None else read.weight[row],
        np.ma.filled(cells["t"], np.nan) if timed else None,
        unit_names,
        None if unit is None else unit[cells["unit"]],
    )


def _keys(columns: Mapping[str, str]) -> str:
    return ", ".join(map(quote, columns.values()))


def _numbered(
    path: Path, columns: Mapping[str, str], table: str, order: str, connection: Any
) -> RawTable:
    """Number the different rows of some columns in an order, and return them."""
    keys = _keys(columns)
    connection.execute(
        f"CREATE TEMP TABLE {table} AS SELECT {keys}, "
        f"CAST(row_number() OVER (ORDER BY {order}) - 1 AS INTEGER) AS code "
        f"FROM log GROUP BY {keys}"
    )
    texts = connection.execute(f"SELECT {keys} FROM {table} ORDER BY code").fetchnumpy()
    cells = {name: texts[role].tolist() for name, role in columns.items()}
    return RawTable(path, cells, len(next(iter(cells.values()))))


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
