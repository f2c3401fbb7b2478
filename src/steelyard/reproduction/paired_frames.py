"""The frames of the paired-evaluation paper: scores of systems on instances, set by set.

A frame is a long table with a column that names the set, ``item``, ``system`` and a column per
metric. Two are at hand as tables (``tac``, ``dialogue``); the documentation shows how to make the
others of what the authors published. Nothing here reads pickles, which run code of whoever made
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.data.segments import natural_key
from steelyard.formats.load import column_values, load
from steelyard.reproduction.places import Places
from steelyard.studies.disagreement import Setup

#: Folders that hold frames; the first has every digit.
FOLDERS = ("bt-eval-full", "bt-eval")
_SET_COLUMNS = ("year", "dataset", "lp")
_HUMAN = frozenset({"pyramid", "pyr_score", "responsiveness"})  # no metrics
_N_SETUPS = 296  # of the paper


@dataclass(frozen=True, slots=True)
class Frame:
    """A table of the paper: the rows of Table 3 that it fills, and its task."""

    name: str
    rows: tuple[str, ...]
    task: str

    def row_of(self, value: str) -> str:
        """Name the set that a value of the column stands for: TAC08 for 08, WMT17 lv-en."""
        if self.task == "MT":
            return f"{self.rows[0]} {value}"
        for row in self.rows:
            if len(self.rows) == 1 or value.lower().zfill(2).endswith(row[-2:].lower()):
                return row
        raise UsageError(f"'{value}' is none of the sets {', '.join(self.rows)}")


FRAMES = (
    Frame("tac", ("TAC08", "TAC09", "TAC11"), "summarisation"),
    Frame("dialogue", ("TC", "PC"), "dialogue"),
    Frame("cnndm", ("CNN/DM",), "summarisation"),
    Frame("wmt17", ("WMT17",), "MT"),
    Frame("wmt18", ("WMT18",), "MT"),
    Frame("wmt19", ("WMT19",), "MT"),
    Frame("mscoco", ("MSCOCO",), "captioning"),
)
#: Rows of Table 3.
ROWS = tuple(row for frame in FRAMES for row in frame.rows)


@dataclass(frozen=True, slots=True)
class Frames:
    """What is there of the paper's frames."""

    sets: dict[str, list[Setup]]
    missing: dict[str, str]  # what was looked for, of each row of Table 3 that is not there
    files: list[Path]

    @property
    def setups(self) -> list[Setup]:
        """All setups."""
        return [setup for setups in self.sets.values() for setup in setups]

    @property
    def subset(self) -> str:
        """How many of the paper's setups are there, in words; empty if all of them are."""
        n = len(self.setups)
        return "" if n == _N_SETUPS else f"{n} of the paper's {_N_SETUPS} setups are at hand"

    def of(self, rows: Sequence[str]) -> list[Setup]:
        """Return the setups of some rows of Table 3; WMT17 has one set for each language pair."""
        return [setup for setup in self.setups if setup.set.partition(" ")[0] in rows]

    def absent(self, rows: Sequence[str] = ROWS) -> str:
        """Say what was looked for of some rows; empty if all of them are there."""
        return "; ".join(dict.fromkeys(self.missing[row] for row in rows if row in self.missing))


def find_frames(places: Places) -> Frames:
    """Read every frame that is there."""
    frames = Frames({}, {}, [])
    for frame in FRAMES:
        names = [f"{folder}/{frame.name}.csv.gz" for folder in FOLDERS]
        path = places.file(*names)
        if path is None:
            frames.missing.update(dict.fromkeys(frame.rows, places.without(*names)))
        else:
            frames.files.append(path)
            frames.sets.update(_read(path, frame))
    for row in ROWS:
        if row not in frames.missing and not frames.of([row]):
            frames.missing[row] = f"no set {row} in {', '.join(map(str, frames.files))}"
    return frames


def _read(path: Path, frame: Frame) -> dict[str, list[Setup]]:
    """Read the sets of a file, systems and instances in the authors' order: M2 before M10."""
    column, values = _sets_in(path)
    sets = {}
    for value in values:
        try:
            name = frame.row_of(value)
        except UsageError as error:
            raise InputError(f"column {column}: {error}", path=path) from None
        es = load(path, where={column: value})
        order = sorted(range(es.n_systems), key=lambda i: natural_key(es.systems[i]))
        systems = tuple(es.systems[i] for i in order)
        sets[name] = [
            Setup(name, metric, systems, es[metric].values[order])
            for metric in es.scores
            if metric not in _HUMAN
        ]
        for setup in sets[name]:
            if np.isnan(setup.scores).any():
                lacks = "expected a score of every system on every item"
                raise InputError(f"{name} {setup.score}: {lacks}", path=path)
    ordered = sorted(sets, key=lambda name: (frame.rows.index(name.split()[0]), name))
    return {name: sets[name] for name in ordered}


def _sets_in(path: Path) -> tuple[str, list[str]]:
    """Return the column that names sets, and its values."""
    for column in _SET_COLUMNS:
        try:
            return column, column_values(path, column=column)
        except UsageError:
            continue
    expected = f"expected a column that names the set: {', '.join(_SET_COLUMNS)}"
    raise InputError(f"{expected}; found none", path=path)
