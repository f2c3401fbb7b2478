"""Battle logs as count arrays: what statistics need of a log, however long it is.

Short logs are read whole (:mod:`steelyard.formats.judged.battlelogs`); long ones, all Parquet, and
folders of logs are counted out of core (:mod:`steelyard.formats.judged.biglogs`), on several
workers where there are some. All ways give the same arrays. A log with units (prompts, segments) is
counted per unit, too: in memory as far as it is short or has weights, else in parts on disk, in
bounded memory. ``docs/design/big-logs.md`` says why. Logs of other tools are short, and unfolded
in memory (:mod:`steelyard.formats.judged.foreignlogs`).
"""

from __future__ import annotations

import hashlib
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core import provenance
from steelyard.core.errors import InputError, UsageError
from steelyard.core.parallel import Workers
from steelyard.core.provenance import InputFile
from steelyard.data.judgements import BattleLog
from steelyard.formats import bigtables, files, tables
from steelyard.formats import columns as roles
from steelyard.formats.judged import battlelogs, biglogs
from steelyard.formats.judged.battlelogs import LogColumns
from steelyard.formats.judged.biglogs import DrawTask, GatherTask, RowTask, scanned
from steelyard.formats.judged.foreignlogs import read_foreign
from steelyard.formats.streams import kept, on_disk
from steelyard.stats.arrays import Floats
from steelyard.stats.resampling.keyed import KeyedUnits
from steelyard.stats.strength.wins import (
    Battles,
    PairWins,
    UnitCounts,
    WinCounts,
    battle_pairs,
    pair_tables,
)

_LONG = 8_000_000  # bytes of text from which a log is counted out of core, packed or not
_MANY = 50_000  # battles up to which units are held in memory, and drawn with replacement
_PART = 2_000_000  # battles of a part
_ROWS = 10_000_000  # rows of a task: 13 bytes of each are held
_TOGETHER = 1_000_000  # rows of files that are a task together
_FILE = 10_000  # rows that take as long as to open a file
_ROW = 20  # bytes of a battle in a text, about
_PACKED = 8  # times that gzip packs it
_APART = 32  # bits that codes of units are moved up by, to be keys
_HELD = 250_000_000  # bytes of resamples of all tasks together
_SUFFIXES = ("csv", "tsv", "jsonl", "ndjson", "parquet", "pq")


class UnitParts:
    """Counts by unit in parts on disk.

    Parameters
    ----------
    stack, folder
        Where the parts are; the stack is closed when the object is gone.
    pairs
        Wins and ties of the whole log.
    parts
        What :func:`biglogs.gather_part` gave for each.
    workers, about
        What resamples are drawn on, and what they depend on.
    """

    def __init__(
        self,
        stack: ExitStack,
        folder: Path,
        pairs: PairWins,
        parts: Sequence[Mapping[str, Any]],
        workers: Workers,
        about: Mapping[str, Any],
    ) -> None:
        self.pairs, self.folder, self.workers, self.about = pairs, folder, workers, about
        self.parts = tuple(k for k, own in enumerate(parts) if own["units"])
        self.n_units = sum(own["units"] for own in parts)
        self._ahead = tuple(sum(own[side] for own in parts) for side in ("first", "second"))
        weakref.finalize(self, stack.close)

    def ahead(self) -> tuple[Floats, Floats]:
        """Count the units in which the first, and in which the second of each pair won more."""
        return self._ahead

    def tables(self, n_resamples: int, step: int, rng: np.random.Generator) -> Iterator[WinCounts]:
        """Draw resamples, so many tables at a time."""
        seed = int(rng.integers(2**64, dtype=np.uint64))
        pairs = self.pairs
        size = len(pairs.i)
        for first in range(0, n_resamples, step):
            few = min(step, n_resamples - first)
            groups = int(np.clip(_HELD // (24 * few * size), 1, len(self.parts)))
            tasks = [
                DrawTask(self.parts[k::groups], self.folder, size, first, few, seed)
                for k in range(groups)
            ]
            found = self.workers.run(
                biglogs.draw_parts, tasks, step=f"resamples-{seed}-{first}-{few}", about=self.about
            )
            won, lost, tied = sum(found).swapaxes(0, 1)
            yield pair_tables(pairs.i, pairs.j, pairs.n, won, lost, tied)


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
        The battles in the order of time, or else of the file, where asked for; and their units, if
        these are held in memory.
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
    units: UnitCounts | UnitParts | None
    played: Battles | None = None
    unit: NDArray[np.int32] | None = None
    form: str = "battle log"
    inputs: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()
    timed: bool = False


def log_files(path: Path) -> list[Path]:
    """Give the files of a log: itself, or the tables in a folder by their names.

    What else is in a folder is refused, but for notes (``.md``) and names with a dot or an
    underscore in front: to leave out a file silently is to leave out battles.
    """
    if not files.is_folder(path):
        if not on_disk(path).exists():
            raise InputError("no such file", path=path)
        return [path]
    found = sorted(
        each
        for each in path.iterdir()
        if not (each.name.startswith((".", "_")) or files.suffix(each) == "md")
    )
    expected = f"expected files {', '.join(_SUFFIXES)}"
    if not found:
        raise InputError(f"folder without a log: {expected}", path=path)
    stems: dict[str, Path] = {}
    for each in found:
        if not each.is_file() or files.suffix(each) not in _SUFFIXES:
            what = "a folder" if each.is_dir() else "no log" if each.exists() else "a broken link"
            raise InputError(f"{what} in a folder of logs: {expected}", path=each)
        twin = stems.setdefault(each.name.lower().removesuffix(".gz").rpartition(".")[0], each)
        if twin is not each:
            raise InputError(f"the same log twice? {twin.name} is there, too", path=each)
    return found


@kept()
def read_counts(
    log: Path | str | Sequence[Path | str],
    columns: LogColumns | None = None,
    *,
    by_unit: bool = True,
    in_order: bool = False,
    held: bool = False,
    drawn: bool = True,
    workers: Workers | None = None,
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
        Give the battles in their order, too.
    held
        Hold the units of battles in memory, however many there are.
    drawn
        Whether resamples of the units may be asked for; without them, many units are counted and
        forgotten.
    workers
        What long logs are counted on.
    """
    given = [Path(one) for one in ([log] if isinstance(log, (str, Path)) else log)]
    columns, workers = columns or LogColumns(), workers or Workers()
    how: dict[str, Any] = {
        "by_unit": by_unit, "in_order": in_order, "held": held, "drawn": drawn,
    }  # fmt: skip
    foreign = read_foreign(given, columns)
    if foreign is not None:
        own = from_log(foreign.value, **how, form=foreign.form)
        return replace(own, inputs=foreign.files, notes=foreign.notes)
    paths = [own for path in given for own in log_files(path)]
    asked = workers.cluster is not None or workers.resume is not None
    if asked or len(paths) > 1 or bigtables.is_parquet(paths[0]) or _is_long(paths[0]):
        seen = [on_disk(each) for each in paths]  # as other processes see them
        try:
            long = _LongLog(seen, columns, workers)
            counted = long.counted(**how)
        except InputError as error:
            if error.path != str(seen[0]) or seen[0] == given[0]:
                raise
            raise InputError(error.message, path=given[0], line=error.line) from None
        if counted is not None:
            return counted
    whole, form = _read(paths[0], columns)
    return from_log(whole, **how, form=form)


def _is_long(path: Path) -> bool:
    found = on_disk(path)
    return found.is_file() and found.stat().st_size >= _LONG and not bigtables.is_list(path)


def _read(path: Path, columns: LogColumns) -> tuple[BattleLog, str]:
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
    held: bool = False,
    drawn: bool = True,
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
    rows = Battles(log.left, log.right, log.outcome, len(log.systems), log.weight)
    unit = log.unit if by_unit else None
    n_units = None if unit is None or log.units is None else len(log.units)
    played = None
    order: NDArray[np.int64] | slice = slice(None)
    if in_order:
        if log.time is not None:
            order = np.argsort(log.time, kind="stable")  # what has no time comes last
        played = rows.take(order)
    units: UnitCounts | UnitParts | None
    many = len(rows) > _MANY and not held
    if unit is not None and log.units is not None and many and _whole(rows):
        pairs, units = _hashed(rows, log.units if drawn else None, unit)
        unit = None
    else:
        pairs, units = _counts(rows, unit)
    in_play = None if unit is None or not in_order else unit[order]
    found = CountedLog(log.systems, len(rows), n_units, pairs, units, played, in_play, form)
    return replace(found, timed=log.time is not None)


def _counts(rows: Battles, unit: NDArray[Any] | None) -> tuple[PairWins, UnitCounts | None]:
    if unit is None and _whole(rows):
        return battle_pairs(rows), None
    if unit is None:  # sums of parts of a win must not depend on the order of the file
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        rows = rows.take(np.lexsort((weight, rows.outcome, rows.right, rows.left)))
        unit = np.arange(len(rows), dtype=np.int32)
    units = UnitCounts.of(rows, unit)
    return units.pairs(), units


def _whole(rows: Battles) -> bool:
    """Tell whether every battle is a win, a loss or a tie and counts once."""
    doubled = 2 * rows.outcome
    same = rows.weight is None or bool((rows.weight == 1).all())
    return same and bool((doubled == np.rint(doubled)).all())


def _hashed(
    rows: Battles, names: Sequence[str] | None, unit: NDArray[np.int32]
) -> tuple[PairWins, UnitParts]:
    """Count by unit as in a long file: in a part, the only one; None for units never drawn."""
    rows = Battles(rows.left, rows.right, rows.outcome, rows.n)
    pairs = battle_pairs(rows)
    if names is None:
        keys = np.arange(int(unit.max(initial=-1)) + 1, dtype=np.uint64) << np.uint64(_APART)
    else:
        keys = np.array([unit_key(name) for name in names], dtype=np.uint64)
    units = KeyedUnits.of(rows, keys[unit], pairs.codes)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steelyard-")))
        part = biglogs.keep_part(0, None if names is None else folder, rows, units)
        return pairs, UnitParts(stack.pop_all(), folder, pairs, [part], Workers(), {})


def unit_key(name: str) -> int:
    """Give 64 bits that stand for the name of a unit, the same everywhere and ever.

    Examples
    --------
    >>> unit_key("prompt 1")
    7519847551312787572
    """
    digest = hashlib.md5(name.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little")


class _LongLog:
    """Logs counted out of core: rows by task, then units by part."""

    def __init__(self, paths: Sequence[Path], columns: LogColumns, workers: Workers) -> None:
        self.paths = [workers.visible(path) for path in paths]
        self.columns, self.workers = columns, workers
        self.about: dict[str, Any] = {}

    def counted(
        self, *, by_unit: bool, in_order: bool, held: bool, drawn: bool
    ) -> CountedLog | None:
        """Count everything; None for rankings, which are no battles yet."""
        if self.workers.resume is not None:
            named = self.columns
            self.about = {
                "inputs": [[path.name, provenance.sha256([path])] for path in self.paths],
                "columns": [*named.named, *named.where, *named.ignore],
                "by_unit": by_unit,
                "drawn": drawn,
            }
        with self._folder("rows") as folder:
            tasks = self._tasks(folder if by_unit else None, drawn=drawn)
            found = self.workers.run(biglogs.count_rows, tasks, step="battles", about=self.about)
            if len(self.paths) == 1 and "rankings" in found[0]:
                return None
            self._check(tasks, found)
            size = sum(own["size"] for own in found)
            whole = all(own["whole"] for own in found)
            known = by_unit and self._has_units(tasks, found)
            systems = sorted({name for own in found for name in own["systems"]})
            code = {name: k for k, name in enumerate(systems)}
            codes = [np.array([code[name] for name in own["systems"]], np.int32) for own in found]
            pairs = _merged(found, codes, len(systems)) if whole else None
            if known and pairs is not None and size > _MANY and not held:
                units = self._units(tasks, codes, pairs, drawn=drawn)
                played = self._played(len(systems)) if in_order else None
                return CountedLog(tuple(systems), size, units.n_units, pairs, units, played)
        return self._held(tuple(systems), size, pairs, by_unit=known, in_order=in_order)

    @contextmanager
    def _folder(self, name: str) -> Iterator[Path]:
        """Give a folder for files that tasks leave to later ones."""
        if self.workers.resume is None:
            with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
                yield Path(folder)
        else:
            kept = self.workers.resume.absolute() / name
            files.make_folder(kept)
            yield kept

    def _tasks(self, folder: Path | None, *, drawn: bool) -> list[RowTask]:
        """Take so many rows for a task, of one long Parquet file or of several short files."""
        chosen: list[tuple[list[Path], tuple[int, int] | None]] = []
        total, room = 0, 0
        with bigtables.session() as connection:
            for path in self.paths:
                known = bigtables.n_rows(path, connection)
                size = _guessed(path) if known is None else known
                total += size
                if known is not None and known > _ROWS:
                    ends = range(0, known, _ROWS)
                    chosen += [([path], (at, min(at + _ROWS, known))) for at in ends]
                    room = 0
                elif size < room:
                    chosen[-1][0].append(path)
                    room -= size + _FILE
                else:
                    chosen.append(([path], None))
                    room = _TOGETHER - size
        alone = len(chosen) == 1 or (
            self.workers.jobs in (1, None) and self.workers.cluster is None
        )
        fewest = _MANY if len(chosen) == 1 else 0
        parts = max(1, -(-total // _PART))
        # What tells units apart in one database need not do so in another.
        shared = len(chosen) > 1 or self.workers.resume is not None
        return [
            RowTask(tuple(paths), self.columns, rows, folder and folder / str(k), parts, fewest,
                    drawn, shared, None if alone else 1)
            for k, (paths, rows) in enumerate(chosen)
        ]  # fmt: skip

    def _check(self, tasks: Sequence[RowTask], found: Sequence[dict[str, Any]]) -> None:
        """Refuse what is no log of battles."""
        for task, own in zip(tasks, found, strict=True):
            if "rankings" in own:
                raise InputError("rankings in a folder of logs of battles", path=own["rankings"])
            if "bad" in own:
                file, row = own["bad"]
                biglogs.explain(task.paths[file], self.columns, row)
        if not any(own["size"] for own in found):
            whole = self.paths[0] if len(self.paths) == 1 else self.paths[0].parent
            raise self.columns.no_rows(whole)

    def _has_units(self, tasks: Sequence[RowTask], found: Sequence[dict[str, Any]]) -> bool:
        having: dict[bool, Path] = {}
        for task, own in zip(tasks, found, strict=True):
            having |= dict(zip(own["units"], task.paths, strict=True))
        if len(having) > 1:
            raise InputError(f"no column of units, but {having[True]} has one", path=having[False])
        return True in having

    def _units(
        self,
        tasks: Sequence[RowTask],
        codes: Sequence[NDArray[np.int32]],
        pairs: PairWins,
        *,
        drawn: bool,
    ) -> UnitParts:
        """Gather the battles of each unit from wherever they are."""
        sources = tuple(
            (task.folder, own)
            for task, own in zip(tasks, codes, strict=True)
            if task.folder is not None
        )
        with ExitStack() as stack:
            folder = stack.enter_context(self._folder("units"))
            met = pairs.codes
            parts = [
                GatherTask(k, folder, sources, met, pairs.n, drawn) for k in range(tasks[0].parts)
            ]
            found = self.workers.run(biglogs.gather_part, parts, step="units", about=self.about)
            if sum(own["battles"] for own in found) != pairs.met.sum():
                raise biglogs.gone(sources[0][0].parent)
            return UnitParts(stack.pop_all(), folder, pairs, found, self.workers, self.about)

    def _held(
        self,
        systems: tuple[str, ...],
        size: int,
        pairs: PairWins | None,
        *,
        by_unit: bool,
        in_order: bool,
    ) -> CountedLog:
        """Hold the battles in memory, as far as there is more to count than the pairs."""
        n = len(systems)
        units, n_units, played, unit = None, None, None, None
        timed = False
        if by_unit or in_order or pairs is None:
            with scanned(self.paths, self.columns) as scan:
                scan.systems()
                n_units = scan.units() if by_unit else None
                if by_unit or pairs is None:
                    pairs, units = _counts(*scan.battles(n, by_unit=by_unit))
                if in_order:
                    played, unit = scan.battles(n, by_unit=by_unit, in_time=True)
                    timed = any(own.time is not None for own in scan.names)
        assert pairs is not None
        found = CountedLog(systems, size, n_units, pairs, units, played, unit)
        return replace(found, timed=timed)

    def _played(self, n: int) -> Battles:
        with scanned(self.paths, self.columns) as scan:
            scan.systems()
            return scan.battles(n, by_unit=False, in_time=True)[0]


def _guessed(path: Path) -> int:
    """Guess the number of battles in a text."""
    size = path.stat().st_size // _ROW
    return size * _PACKED if files.is_packed(path) else size


def _merged(
    found: Sequence[dict[str, Any]], codes: Sequence[NDArray[np.int32]], n: int
) -> PairWins:
    """Add up the counts of tasks, whose systems have codes of their own."""
    counts = [own["counts"] for own in found]
    left, right = (
        np.concatenate([code[own[side]] for code, own in zip(codes, counts, strict=True)])
        for side in ("a", "b")
    )
    outcome, number = (np.concatenate([own[name] for own in counts]) for name in ("o", "w"))
    return battle_pairs(Battles(left, right, outcome, n, number))
