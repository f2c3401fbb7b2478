"""Wins by unit for logs too long to hold them: parts on disk, each with all battles of its units.

A unit (a prompt, a user) belongs to one part, by the hash of its name. What statistics need is a
sum over units, so parts add up: wins and ties, units that a system won, and resamples, in which
every unit occurs a Poisson-distributed number of times. One part is in memory at a time.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats
from steelyard.stats.battles import Battles, UnitCounts
from steelyard.stats.wins import PairWins, WinCounts

_DRAWN = 20_000_000  # units drawn at a time
_ARRAYS = ("indptr", "indices", "data")


class UnitParts:
    """Counts by unit in parts on disk, which vanish with the object."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.n_units = 0
        self._folder = Path(tempfile.mkdtemp(prefix="steelyard-"))
        self._close = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._parts: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, battles: Battles, unit: NDArray[Any]) -> None:
        """Add the battles of units that no other part has; ``unit`` holds codes from 0."""
        counts = UnitCounts.of(battles, unit)
        for name in _ARRAYS:
            np.save(self._path(len(self._parts), name), getattr(counts.cells, name))
        self._parts.append((counts.n_units, counts.i, counts.j))
        self.n_units += counts.n_units

    def _path(self, part: int, name: str) -> Path:
        return self._folder / f"{part}.{name}.npy"

    def _part(self, part: int) -> UnitCounts:
        from scipy.sparse import csr_array

        n_units, i, j = self._parts[part]
        pointers, indices, data = (
            np.load(self._path(part, name), mmap_mode="r", allow_pickle=False) for name in _ARRAYS
        )
        cells = csr_array((data, indices, pointers), shape=(3 * len(i), n_units))
        return UnitCounts(self.n, n_units, i, j, cells)

    def _parts_in_turn(self) -> Iterator[UnitCounts]:
        return (self._part(k) for k in range(len(self._parts)))

    def _keys(self) -> NDArray[np.int64]:
        return np.unique(np.concatenate([i * self.n + j for _, i, j in self._parts]))

    def _sums(self, numbers: Callable[[UnitCounts], tuple[Floats, ...]]) -> list[Floats]:
        """Add up numbers per pair, for all pairs that met anywhere."""
        keys = self._keys()
        total: list[Floats] = []
        for part in self._parts_in_turn():
            place = np.searchsorted(keys, part.i * self.n + part.j)
            for k, own in enumerate(numbers(part)):
                if k == len(total):
                    total.append(np.zeros(len(keys)))
                total[k][place] += own
        return total

    def pairs(self) -> PairWins:
        """Count wins and ties of the pairs over all units."""
        keys = self._keys()

        def numbers(part: UnitCounts) -> tuple[Floats, ...]:
            own = part.pairs()
            return own.wins_i, own.wins_j, own.ties

        first, second, tied = self._sums(numbers)
        return PairWins(keys // self.n, keys % self.n, first, second, tied, self.n)

    def ahead(self) -> tuple[Floats, Floats]:
        """Count the units in which the first, and in which the second of each pair won more."""
        first, second = self._sums(UnitCounts.ahead)
        return first, second

    def tables(self, n_resamples: int, step: int, rng: np.random.Generator) -> Iterator[WinCounts]:
        """Draw resamples, so many tables at a time; parts have streams of their own."""
        streams = rng.spawn(len(self._parts))
        for start in range(0, n_resamples, step):
            size = min(step, n_resamples - start)
            wins, ties = np.zeros((2, size, self.n, self.n))
            for part, stream in zip(self._parts_in_turn(), streams, strict=True):
                few = max(1, _DRAWN // max(1, part.n_units))
                for first in range(0, size, few):
                    rows = slice(first, min(first + few, size))
                    drawn = stream.poisson(1.0, (rows.stop - first, part.n_units))
                    own = part.resampled(drawn)
                    wins[rows] += own.wins
                    ties[rows] += own.ties
            yield WinCounts(wins, ties)
