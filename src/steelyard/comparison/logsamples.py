"""A log of battles as it is read, what is independent in it, and what is drawn for intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steelyard.comparison.options import BattleOptions
from steelyard.comparison.scores import LEVEL
from steelyard.core import provenance
from steelyard.core.errors import UsageError
from steelyard.core.options import check_instance
from steelyard.core.provenance import InputFile
from steelyard.core.text import plural
from steelyard.data.judgements import BattleLog, Rankings
from steelyard.data.units import AUTO, FEWEST, PROMPT, SEGMENT, UnitEffect, least_p, too_few
from steelyard.formats import bigtables, frames
from steelyard.formats import columns as roles
from steelyard.formats.judged import battles
from steelyard.formats.judged.battle_counts import CountedLog, from_log, log_files, read_counts
from steelyard.formats.judged.battles import LogColumns, unfolded
from steelyard.formats.reading import Reading, read_any
from steelyard.formats.streams import on_disk
from steelyard.formats.view import FileView
from steelyard.stats.arrays import Floats
from steelyard.stats.resampling.bootstrap import segment_counts
from steelyard.stats.resampling.cluster_df import expanded_level, shrinkage
from steelyard.stats.strength.bradleyterry import MOST_DENSE
from steelyard.stats.strength.clustered_errors import strength_effect
from steelyard.stats.strength.wins import WinCounts, resampled_battles

BATTLE = "battle"  # the unit where each is independent of all others
_CELLS = 8_000_000  # entries of resampled tables held at a time
_DRAWN = 20_000_000  # and of the units drawn for them


@dataclass(frozen=True, slots=True)
class LogSample:
    """A log, how often it shall be resampled for intervals (0: not at all), and in which units."""

    log: CountedLog
    asked: int = 0
    unit: str = BATTLE

    @property
    def n_units(self) -> int:
        """The number of units: prompts, or battles where each is one."""
        return self.log.n_battles if self.log.n_units is None else self.log.n_units

    @property
    def n_resamples(self) -> int:
        """How often it is: one unit has no spread."""
        return 0 if self.n_units == 1 else self.asked

    @property
    def level(self) -> float:
        """What to ask of an interval, so that it holds what it should: more with few units."""
        sizes = self._sizes()
        return LEVEL if sizes is None else expanded_level(LEVEL, sizes)

    def spread(self) -> tuple[float, float]:
        """Give degrees of freedom of a spread over resamples, and by how much it is too small."""
        sizes = self._sizes()
        if sizes is not None:
            return shrinkage(sizes)
        n = self.log.n_units
        return (np.inf if n is None else float(max(n - 1, 1))), 1.0

    def _sizes(self) -> Floats | None:
        """Count the battles of units; None where these are battles, or single ones."""
        log = self.log
        if log.units is None or log.n_units in (None, 1, log.n_battles):
            return None
        return log.units.sizes()

    @property
    def n(self) -> int:
        """The number of systems."""
        return len(self.log.systems)

    @property
    def dense(self) -> bool:
        """Whether there is room for tables of all pairs."""
        return self.n <= MOST_DENSE

    def tables(self, rng: np.random.Generator) -> Iterator[WinCounts]:
        """Draw resamples of the units, or else of the battles: wins and ties, some at a time."""
        units = self.log.units
        step = max(1, _CELLS // max(1, self.n * self.n))
        if units is not None:
            step = max(1, min(step, _DRAWN // max(1, units.n_units)))
        whole = None if units is not None else self.log.pairs.tables()
        for start in range(0, self.n_resamples, step):
            size = min(step, self.n_resamples - start)
            if units is not None:
                yield units.resampled(segment_counts(size, units.n_units, rng))
            elif whole is not None:
                yield resampled_battles(whole, size, rng)


Log = Path | str | Sequence[Path | str] | BattleLog  # or a frame, which has no common type


class ReadLog(NamedTuple):
    """A log as counts, how many prompts it names, and the files."""

    counted: CountedLog
    shared: int | None
    inputs: tuple[InputFile, ...]


def read_log(
    log: Log,
    options: BattleOptions,
    *,
    in_order: bool,
) -> ReadLog:
    """Count a log by the units that are asked for; see :func:`~.battle_counts.read_counts`."""
    columns = LogColumns(
        left=options.left,
        right=options.right,
        outcome=options.outcome,
        unit=None if options.unit in (AUTO, BATTLE) else options.unit,
        where=options.where,
        ignore=tuple(options.ignore),
        form=options.format,
        words=tuple(options.words),
        swapped=options.swapped,
    )
    log = _of_frame(log, options, columns)
    several = isinstance(log, (list, tuple))
    for one in log if isinstance(log, (list, tuple)) and log else [log]:
        kinds = (str, Path) if several else (str, Path, BattleLog)
        check_instance(
            kinds, "the path of a log, several of them, a frame, or a BattleLog", log=one
        )

    def count(*, by_unit: bool) -> CountedLog:
        if isinstance(log, BattleLog):
            return from_log(log, by_unit=by_unit, in_order=in_order)
        return read_counts(log, columns, by_unit=by_unit, in_order=in_order)

    counted = count(by_unit=options.unit != BATTLE)
    shared = counted.n_units
    if shared is not None and shared < FEWEST and options.unit == AUTO:
        counted = count(by_unit=False)
    inputs: tuple[InputFile, ...] = ()
    if not isinstance(log, BattleLog):
        given = [log] if isinstance(log, (str, Path)) else log
        inputs = counted.inputs or tuple(_input(Path(p), counted.form, columns) for p in given)
    if counted.n_units is None and options.unit not in (AUTO, BATTLE):
        raise UsageError(f'unit="{options.unit}": the log does not name any')
    return ReadLog(counted, shared, inputs)


def _of_frame(log: Any, options: BattleOptions, columns: LogColumns) -> Any:
    """Give the log that a frame holds; all else stays what it is."""
    if not frames.recognise(log):
        return log
    if columns.words or columns.swapped:
        table = columns.selected(frames.read(log))
        return battles.read(battles.prepared(table, columns), columns)
    own = ("left", "right", "outcome")
    named = tuple((role, column) for role in own if (column := getattr(options, role)))
    if options.unit not in (AUTO, BATTLE, PROMPT, SEGMENT):
        named += (("unit", options.unit),)
    reading = Reading(options.where, tuple(options.ignore), columns=named, form=options.format)
    form, found, _ = read_any(log, reading)
    if isinstance(found, Rankings):
        found = unfolded(found)
    if not isinstance(found, BattleLog):
        raise UsageError(f"log: the frame holds {form}, expected battles (left, right, outcome)")
    return found


def _input(log: Path, form: str, columns: LogColumns) -> InputFile:
    paths = log_files(log)
    root = None if paths == [log] else log
    digest = provenance.sha256([on_disk(own) for own in paths], root)
    text = not bigtables.is_parquet(paths[0])
    found = columns.described(FileView(paths[0]).names if text else (), log)
    return InputFile(str(log), form, digest, found)


def log_unit(log: CountedLog, asked: str, inputs: Sequence[InputFile]) -> UnitEffect:
    """Name what is independent in a log, and measure what it changes that battles share it."""
    if log.n_units is None:
        return UnitEffect(BATTLE, log.n_battles, 1.0)
    name = asked
    if asked in (AUTO, *roles.UNIT):
        called = {name for one in inputs for role, own in one.columns if role == "unit"
                  for name in own}  # fmt: skip
        of_segments = log.form == "rankings" or called & {"segment", "seg"}
        name = SEGMENT if of_segments else PROMPT
    if log.n_units == log.n_battles:
        return UnitEffect(name, log.n_units, 1.0)
    assert log.units is not None
    return replace(UnitEffect.of(name, log.n_units, strength_effect(log.units)), of_battles=True)


def unit_warnings(sample: LogSample, unit: UnitEffect, shared: int | None, asked: str) -> list[str]:
    """Say what may be wrong with the unit; ``shared`` are the prompts that the log names."""
    log = sample.log
    found = []
    narrow = "p-values and intervals are too small if"
    if log.n_units is None and shared is not None:
        found.append(
            f"battles are taken as independent, but share {plural(shared, 'prompt')}, fewer than "
            f'{FEWEST}: {narrow} those of a prompt are alike (unit="prompt")'
        )
    elif log.n_units is None:
        hint = "" if asked == BATTLE else " (name it in a column 'unit')"
        found.append(
            f"battles are taken as independent: {narrow} they share a prompt or a segment{hint}"
        )
    if sample.n_resamples and not sample.dense:
        found.append(f"no intervals for {sample.n:,} systems: there are too many pairs")
    if sample.asked and sample.n_units == 1:
        found.append(f"{unit.counted()}: there is nothing to resample, and no interval")
    elif sample.n_units < FEWEST:
        few = f"{too_few(unit.n, unit.name)} for anything but exact tests"
        few += ", and intervals are rough" if sample.n_resamples else ""
        found.append(few + least_p(unit.n))
    return found
