"""Wins and ties by unit for very many units, which are known by a hash of their names.

Units are sorted by their key, and resampled by it
(:func:`keyed_counts`): whatever part of a log a unit is in, it
occurs equally often in a resample. So parts of a log, each with whole units, add up to the log. All
sums are of whole numbers, and exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats
from steelyard.stats.strength.wins import Battles, Codes, pair_codes

_UNITS = 2**15  # drawn at a time
_CELLS = 2**20  # and the cells they have, about
_RESAMPLES = 100  # of them at a time
_MOST_LISTED = 1_000  # systems up to which cells are looked up in a table
_MARKS = 24  # bits by which battles are looked for
_EXACT = 2**24  # single precision counts exactly up to here
# Of 2**16 numbers, those that stand for a count of at least 1, 2, ...: Poisson, with a mean of 1.
_AT_LEAST = (41427, 17317, 5263, 1244, 240, 39, 5, 1)
MOST_DRAWN = len(_AT_LEAST)
_STEP, _FIRST, _SECOND = (
    np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def keyed_counts(
    keys: NDArray[np.uint64], first: int, n_resamples: int, seed: int
) -> NDArray[np.uint8]:
    """Draw how often each unit occurs in each resample: units x resamples, Poisson with mean 1.

    A count depends on the key of its unit, the number of the resample and the seed, and on nothing
    else. So units can be drawn in any order and in many places, wherever they turn up, and add up
    to the same resamples. Numbers are those of SplitMix64, 16 bits for a count; a count of more
    than 8 (``MOST_DRAWN``) would be rarer than that and does not occur.

    Parameters
    ----------
    keys
        A number for each unit, evenly distributed over 64 bits: a hash of its name.
    first, n_resamples
        The resamples that are asked for.

    Examples
    --------
    >>> keys = np.array([17, 2**63 + 5], dtype=np.uint64)
    >>> keyed_counts(keys, 0, 6, seed=1).tolist()
    [[0, 3, 0, 3, 0, 2], [0, 0, 1, 1, 1, 1]]
    >>> keyed_counts(keys[1:], 3, 2, seed=1).tolist()
    [[1, 1]]
    """
    words = np.arange(first // 4, -(-(first + n_resamples) // 4), dtype=np.uint64)
    x = keys[:, None] + ((words + np.uint64(1)) * _STEP + np.uint64(seed))
    x ^= x >> np.uint64(30)
    x *= _FIRST
    x ^= x >> np.uint64(27)
    x *= _SECOND
    x ^= x >> np.uint64(31)
    drawn = x.astype("<u8", copy=False).view("<u2")[:, first % 4 :][:, :n_resamples]
    counts = np.zeros(drawn.shape, dtype=np.uint8)
    for limit in _AT_LEAST:
        counts += drawn < limit
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class KeyedUnits:
    """Wins and ties by unit.

    Attributes
    ----------
    n_pairs
        How many pairs there are; all parts of a log number them alike.
    key
        The key of each unit, in ascending order.
    start
        Where the cells of each unit start, and where those of the last one end.
    cell
        What a unit has: the number of a pair for wins of its first system, that and ``n_pairs`` for
        wins of the second, and twice ``n_pairs`` for ties.
    count
        How many it has of each.

    Examples
    --------
    >>> log = Battles(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 0.5, 1.0]), n=2)
    >>> units = KeyedUnits.of(log, np.array([7, 7, 2], dtype=np.uint64), np.array([1]))
    >>> units.key.tolist(), units.cell.tolist(), units.ahead()[0].tolist()
    ([2, 7], [1, 0, 2], [1.0])
    """

    n_pairs: int
    key: NDArray[np.uint64]
    start: Codes
    cell: Codes
    count: NDArray[np.floating[Any]]

    @classmethod
    def of(
        cls,
        battles: Battles,
        key: NDArray[np.uint64],
        pairs: NDArray[np.int64],
        units: NDArray[np.uint64] | None = None,
    ) -> KeyedUnits:
        """Count by unit.

        Parameters
        ----------
        battles
            Won, lost or tied. Weights are whole numbers: how many such battles there are.
        key
            That of the unit of each battle.
        pairs
            Codes of all pairs that met (:func:`steelyard.stats.strength.wins.pair_codes`),
            sorted.
        units
            The different keys, sorted, if they are known.
        """
        n_pairs = len(pairs)
        cell = _cells(battles, pairs)
        if battles.weight is None:
            found = _packed(cell, key, np.unique(key) if units is None else units, 3 * n_pairs)
            if found is not None:
                return cls(n_pairs, *found)
        order = np.argsort(key)
        key = key[order]
        first = np.flatnonzero(
            np.concatenate([np.ones(min(len(key), 1), bool), key[1:] != key[:-1]])
        )
        start = np.append(first, len(key))
        total = len(key) if battles.weight is None else battles.weight.sum()
        small: type[Any] = np.float32 if total < _EXACT else np.float64
        often = np.ones(len(key)) if battles.weight is None else battles.weight[order]
        cells = _columns(often.astype(small), cell[order], start, 3 * n_pairs)
        return cls(n_pairs, key[first], cells.indptr, cells.indices, cells.data)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(self.key)

    def ahead(self) -> tuple[Floats, Floats]:
        """Count the units in which the first, and in which the second of each pair won more."""
        n = self.n_pairs
        won = self.cell < 2 * n
        start = np.concatenate([[0], np.cumsum(won)])[self.start]
        second = self.cell[won] >= n
        sign = np.where(second, -1, 1).astype(self.count.dtype)
        lead = _columns(sign * self.count[won], self.cell[won] - second * n, start, n)
        up, down = (
            np.bincount(lead.indices[own], minlength=n) for own in (lead.data > 0, lead.data < 0)
        )
        return up.astype(np.float64), down.astype(np.float64)

    def resampled(self, first: int, n_resamples: int, seed: int) -> Floats:
        """Count in resamples: resamples x (won by the first, by the second, tied) x pairs."""
        from scipy.sparse import csc_array

        sums = np.zeros((3 * self.n_pairs, n_resamples))
        for at in range(0, n_resamples, _RESAMPLES):
            few = min(_RESAMPLES, n_resamples - at)
            for units in self._blocks():
                own = slice(self.start[units.start], self.start[units.stop])
                count = self.count[own]
                small = MOST_DRAWN * count.sum(dtype=np.float64) < _EXACT
                exact: type[Any] = np.float32 if small else np.float64
                start = self.start[units.start : units.stop + 1] - own.start
                shape = (len(sums), units.stop - units.start)
                cells = csc_array((count.astype(exact), self.cell[own], start), shape=shape)
                drawn = keyed_counts(self.key[units], first + at, few, seed)
                sums[:, at : at + few] += cells @ drawn.astype(exact)
        return np.ascontiguousarray(sums.T).reshape(n_resamples, 3, -1)

    def _blocks(self) -> Iterator[slice]:
        at = 0
        while at < self.n_units:
            full = int(np.searchsorted(self.start, self.start[at] + _CELLS, side="right")) - 1
            end = min(max(full, at + 1), at + _UNITS, self.n_units)
            yield slice(at, end)
            at = end


def units_ahead(
    battles: Battles, key: NDArray[np.uint64], pairs: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Give what :meth:`KeyedUnits.ahead` does, without sorting all battles by unit.

    A unit that has one battle of a pair is ahead for the winner. Which battles may share unit and
    pair with others is told by 32 bits of both: no other has those of most battles. The few that
    are left are counted by unit.

    Examples
    --------
    >>> log = Battles(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 1.0, 1.0]), n=2)
    >>> units_ahead(log, np.array([7, 7, 2], dtype=np.uint64), np.array([1]))
    (array([1.]), array([1.]))
    """
    n = len(pairs)
    if battles.weight is not None or not len(battles):
        return KeyedUnits.of(battles, key, pairs).ahead()
    cell = _cells(battles, pairs)
    mixed = (cell % np.int32(n)).astype(np.uint64)
    mixed *= _STEP
    mixed ^= key
    mixed *= _FIRST
    short = (mixed >> np.uint64(32)).astype(np.uint32)
    ordered = np.sort(short)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    marked = np.zeros(1 << _MARKS, dtype=bool)
    marked[again >> np.uint32(32 - _MARKS)] = True
    few = np.flatnonzero(marked[short >> np.uint32(32 - _MARKS)])
    if len(few) > len(battles) // 2:
        return KeyedUnits.of(battles, key, pairs).ahead()
    alone = np.bincount(cell, minlength=3 * n) - np.bincount(cell[few], minlength=3 * n)
    first, second = KeyedUnits.of(battles.take(few), key[few], pairs).ahead()
    return first + alone[:n], second + alone[n : 2 * n]


def _cells(battles: Battles, pairs: NDArray[np.int64]) -> NDArray[np.int32]:
    """Give the cell of each battle: by a table of all that can happen, as far as that is small."""
    n, n_pairs = battles.n, len(pairs)
    if n > _MOST_LISTED:
        cell = np.searchsorted(pairs, pair_codes(battles)).astype(np.int32)
        lost = (battles.outcome == 0) == (battles.left < battles.right)
        cell += np.where(battles.outcome == 0.5, 2 * n_pairs, lost * n_pairs).astype(np.int32)
        return cell
    place = np.arange(n_pairs, dtype=np.int32)
    i, j = np.divmod(pairs, n)
    listed = np.zeros((n, n, 3), dtype=np.int32)  # left, right, twice the outcome
    for side, (won, lost_by) in (((i, j), (0, 1)), ((j, i), (1, 0))):
        for outcome, kind in ((2, won), (0, lost_by), (1, 2)):
            listed[*side, outcome] = place + kind * n_pairs
    code = battles.left * np.int64(n)
    code += battles.right
    code *= 3
    code += (2 * battles.outcome).astype(np.int64)
    return listed.reshape(-1).take(code)


def _packed(
    cell: NDArray[np.int32], key: NDArray[np.uint64], units: NDArray[np.uint64], n_cells: int
) -> tuple[NDArray[np.uint64], Codes, Codes, NDArray[np.floating[Any]]] | None:
    """Sort single battles by unit and cell at once: keys, starts, cells, counts.

    A number holds the cell in its last bits, and above them what is left of the key. None if that
    is not enough to tell the units apart.
    """
    bits = np.uint64(max(n_cells - 1, 1).bit_length())
    heads = units >> bits
    if (heads[1:] == heads[:-1]).any():
        return None
    packed = key >> bits
    packed <<= bits
    packed |= cell.astype(np.uint64)
    packed.sort()
    new = np.ones(len(packed), dtype=bool)
    np.not_equal(packed[1:], packed[:-1], out=new[1:])
    first = np.flatnonzero(new)
    size = np.diff(first, append=len(packed))
    found = packed[first]
    head = found >> bits
    found -= head << bits
    begins = np.ones(len(head), dtype=bool)
    np.not_equal(head[1:], head[:-1], out=begins[1:])
    start = np.append(np.flatnonzero(begins), len(found)).astype(np.int32)
    small: type[Any] = np.float32 if len(key) < _EXACT else np.float64
    return units, start, found.astype(np.int32), size.astype(small)


def _columns(values: NDArray[np.floating[Any]], rows: Codes, start: Codes, n_rows: int) -> Any:
    """Make a sparse matrix with a column per unit, in which every cell stands once."""
    from scipy.sparse import csc_array

    cells = csc_array((values, rows, start), shape=(n_rows, len(start) - 1))
    cells.sum_duplicates()
    return cells
