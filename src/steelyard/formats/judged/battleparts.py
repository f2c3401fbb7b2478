"""Wins by unit for long logs: parts on disk, each with all battles of its units.

A unit (a prompt, a user) belongs to one part, by the hash of its name. What statistics need is a
sum over units, so parts add up: units that a system won, and resamples, in which every unit occurs
a Poisson-distributed number of times. A part is the task of one worker, which holds no other; how
many parts there are, and in which files the battles of a unit were, makes no difference.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import SteelyardError
from steelyard.core.parallel import Workers
from steelyard.core.resume import write_whole
from steelyard.formats import duck
from steelyard.stats.arrays import Floats
from steelyard.stats.resampling.keyed import KeyedUnits
from steelyard.stats.strength.battlelog import Battles
from steelyard.stats.strength.wins import PairWins, WinCounts, pair_tables

_ARRAYS = ("key", "start", "cell", "count")
_HELD = 250_000_000  # bytes of resamples of all tasks together


class GatherTask(NamedTuple):
    """One part: where its battles are, with the codes of the systems in each place."""

    part: int
    folder: Path
    sources: tuple[tuple[Path, NDArray[np.int32]], ...]
    pairs: NDArray[np.int64]
    n: int


class DrawTask(NamedTuple):
    """Resamples of some parts."""

    parts: tuple[int, ...]
    folder: Path
    n_pairs: int
    first: int
    size: int
    seed: int


class UnitParts:
    """Counts by unit in parts on disk.

    Parameters
    ----------
    stack, folder
        Where the parts are; the stack is closed when the object is gone.
    pairs
        Wins and ties of the whole log.
    parts
        What :func:`gather_part` gave for each.
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
                draw_parts, tasks, step=f"resamples-{seed}-{first}-{few}", about=self.about
            )
            won, lost, tied = sum(found).swapaxes(0, 1)
            yield pair_tables(pairs.i, pairs.j, pairs.n, won, lost, tied)


def gather_part(task: GatherTask) -> dict[str, Any]:
    """Count the battles of a part by unit, and write that down."""
    with duck.connect(threads=1) as connection:
        found = [
            _read(sorted((folder / f"part={task.part}").glob("*.parquet")), codes, connection)
            for folder, codes in task.sources
        ]
    left, right, outcome, key = (
        np.concatenate([own[name] for own in found]) for name in ("a", "b", "o", "h")
    )
    often = None
    if any("w" in own for own in found):
        often = np.concatenate([own.get("w", np.ones(len(own["h"]))) for own in found])
    battles = Battles(left, right, outcome, task.n, often)
    return keep_part(task.part, task.folder, battles, key, task.pairs)


def keep_part(
    part: int,
    folder: Path,
    battles: Battles,
    key: NDArray[np.uint64],
    pairs: NDArray[np.int64],
) -> dict[str, Any]:
    """Write a part: battles with the keys of their units, and the codes of all pairs that met.

    Weights of battles are whole numbers: how many there are of the kind.
    """
    units = KeyedUnits.of(battles, key, pairs)
    for name in _ARRAYS:
        save = partial(np.save, arr=getattr(units, name))
        write_whole(_path(folder, part, name), save)
    first, second = units.ahead()
    size = len(battles) if battles.weight is None else int(battles.weight.sum())
    return {"battles": size, "units": units.n_units, "first": first, "second": second}


def _read(
    files: Sequence[Path], codes: NDArray[np.int32], connection: Any
) -> dict[str, NDArray[Any]]:
    """Read battles of a part: codes of both, the outcome, the key of the unit; how many (w)."""
    if not files:
        none = np.empty(0, dtype=np.int32)
        return {"a": none, "b": none, "o": none.astype(float), "h": none.astype(np.uint64)}
    listed = ", ".join(duck.literal(duck.exactly(file)) for file in files)
    found: dict[str, NDArray[Any]] = connection.execute(
        f"SELECT * REPLACE (o / 2.0 AS o) FROM read_parquet([{listed}], hive_partitioning=false)"
    ).fetchnumpy()
    return found | {"a": codes[found["a"]], "b": codes[found["b"]]}


def _path(folder: Path, part: int, name: str) -> Path:
    return folder / f"part-{part}.{name}.npy"


def draw_parts(task: DrawTask) -> Floats:
    """Draw resamples of some parts: resamples x (won by the first, by the second, tied) x pairs."""
    total = np.zeros((task.size, 3, task.n_pairs))
    for part in task.parts:
        units = KeyedUnits(task.n_pairs, *_load(task.folder, part))
        total += units.resampled(task.first, task.size, task.seed)
    return total


def _load(folder: Path, part: int) -> list[NDArray[Any]]:
    try:
        return [
            np.load(_path(folder, part, name), mmap_mode="r", allow_pickle=False)
            for name in _ARRAYS
        ]
    except (OSError, ValueError) as error:
        raise gone(folder) from error


def gone(folder: Path) -> SteelyardError:
    """Say that a folder does not have what was written to it."""
    return SteelyardError(f"battles are gone from {folder}: start anew, with another --resume")
