"""The frames of the paired-evaluation paper: scores of systems on instances, set by set.

A frame is a long table with a column that names the set, ``item``, ``system`` and a column per
metric. Two are at hand as tables (``tac``, ``dialogue``); the documentation shows how to make the
others of what the authors published. Nothing here reads pickles, which run code of whoever made
them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.formats.load import column_values, load
from steelyard.reproduction.search import Places
from steelyard.studies.disagreement import Setup

#: Folders that hold frames; the first has every digit.
FOLDERS = ("bt-eval-full", "bt-eval")
_SPLITS = ("year", "dataset", "lp")  # columns that may name the set
_PEOPLE = frozenset({"pyramid", "pyr_score", "responsiveness"})  # no metrics
_SETUPS = 296  # of the paper


@dataclass(frozen=True, slots=True)
class Frame:
    """A table of the paper: the rows of Table 3 that it fills, its task, and its setups."""

    name: str
    rows: tuple[str, ...]
    task: str
    setups: int

    @property
    def wanted(self) -> tuple[str, ...]:
        """What is looked for, without the ending."""
        return tuple(f"{folder}/{self.name}" for folder in FOLDERS)

    def row_of(self, value: str) -> str:
        """Name the set that a value of the column stands for.

        Examples
        --------
        >>> FRAMES[0].row_of("08"), FRAMES[1].row_of("pc"), FRAMES[3].row_of("lv-en")
        ('TAC08', 'PC', 'WMT17 lv-en')
        """
        if self.task == "MT":
            return f"{self.rows[0]} {value}"
        for row in self.rows:
            if len(self.rows) == 1 or value.lower().zfill(2).endswith(row[-2:].lower()):
                return row
        raise UsageError(f"'{value}' is none of the sets {', '.join(self.rows)}")


FRAMES = (
    Frame("tac", ("TAC08", "TAC09", "TAC11"), "summarisation", 39),
    Frame("dialogue", ("TC", "PC"), "dialogue", 26),
    Frame("cnndm", ("CNN/DM",), "summarisation", 13),
    Frame("wmt17", ("WMT17",), "MT", 55),
    Frame("wmt18", ("WMT18",), "MT", 65),
    Frame("wmt19", ("WMT19",), "MT", 91),
    Frame("mscoco", ("MSCOCO",), "captioning", 7),
)


@dataclass(frozen=True, slots=True)
class Frames:
    """What is there of the paper's frames.

    ``sets`` are the setups of every set, ``missing`` says of each row of Table 3 that is not there
    what was looked for, ``files`` are those that were read.
    """

    sets: dict[str, list[Setup]]
    missing: dict[str, str]
    files: list[Path]

    @property
    def setups(self) -> list[Setup]:
        """All setups."""
        return [setup for own in self.sets.values() for setup in own]

    @property
    def subset(self) -> str:
        """How many of the paper's setups are there, in words; empty if all of them are."""
        n = len(self.setups)
        return "" if n == _SETUPS else f"{n} of the paper's {_SETUPS} setups are at hand"

    def of(self, rows: Sequence[str]) -> list[Setup]:
        """Give the setups of some rows of Table 3; WMT17 has one set for each language pair."""
        names = [name for name in self.sets if name.partition(" ")[0] in rows]
        return [setup for name in names for setup in self.sets[name]]

    def absent(self, rows: Sequence[str]) -> str:
        """Say what was looked for of some rows; empty if all of them are there."""
        return "; ".join(dict.fromkeys(self.missing[row] for row in rows if row in self.missing))


def find_frames(places: Places) -> Frames:
    """Read every frame that is there."""
    found = Frames({}, {}, [])
    for frame in FRAMES:
        path = places.table(*frame.wanted)
        if path is None:
            told = places.without(*(f"{name}.csv.gz" for name in frame.wanted))
            found.missing.update(dict.fromkeys(frame.rows, told))
        else:
            found.files.append(path)
            found.sets.update(_read(path, frame))
    for row in (row for frame in FRAMES for row in frame.rows):
        if row not in found.missing and not found.of([row]):
            found.missing[row] = f"no set {row} in {', '.join(map(str, found.files))}"
    return found


def _read(path: Path, frame: Frame) -> dict[str, list[Setup]]:
    """Read the sets of a file, systems and instances in the authors' order."""
    column, values = _split(path)
    sets = {}
    for value in values:
        try:
            name = frame.row_of(value)
        except UsageError as error:
            raise InputError(f"column {column}: {error}", path=path) from None
        es = load(path, where={column: value})
        rows = sorted(range(es.n_systems), key=lambda i: _numbered(es.systems[i]))
        columns = sorted(range(es.n_segments), key=lambda s: _numbered(es.segments.ids[s]))
        systems = tuple(es.systems[i] for i in rows)
        sets[name] = [
            Setup(name, metric, systems, es[metric].values[np.ix_(rows, columns)])
            for metric in es.scores
            if metric not in _PEOPLE
        ]
        for setup in sets[name]:
            if np.isnan(setup.scores).any():
                lacks = "expected a score of every system on every item"
                raise InputError(f"{name} {setup.score}: {lacks}", path=path)
    return dict(sorted(sets.items(), key=lambda own: _order(own[0], frame)))


def _split(path: Path) -> tuple[str, list[str]]:
    for column in _SPLITS:
        try:
            return column, column_values(path, column=column)
        except UsageError:
            continue
    expected = f"expected a column that names the set: {', '.join(_SPLITS)}"
    raise InputError(f"{expected}; found none", path=path)


def _order(name: str, frame: Frame) -> tuple[int, str]:
    row, _, pair = name.partition(" ")
    return frame.rows.index(row), pair


def _numbered(name: str) -> tuple[str, int, str]:
    """Order M0, M1, ..., M10 by number."""
    found = re.fullmatch(r"([^0-9]*)([0-9]+)", name)
    return (found[1], int(found[2]), "") if found else (name, 0, name)
