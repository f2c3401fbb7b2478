"""Rows of several tables, brought together: who said what of which item, of which systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError
from steelyard.core.text import plural
from steelyard.data.verdicts import Bools
from steelyard.formats.rawtable import RawTable
from steelyard.formats.verdicts.columns import Keys

ORDER = "order"
_SWAPPED = frozenset(("21", "ba", "2", "swapped", "swap", "reversed", "reverse"))
_PLAIN = frozenset(("12", "ab", "1", "original", "straight", "normal", "plain"))
Side = tuple[str | None, str | None]
Key = tuple[str, str, str]  # an item, and the systems whose outputs are judged, in a fixed order
Indices = NDArray[np.int64]


class Voice(NamedTuple):
    """What one judge or person says in a table: rows, and the cell of each that is not empty.

    ``order`` is 1 for verdicts with the right output shown first, told of the same left and right.
    ``repeated`` columns say the same in several rows of a table that has a row for each of others,
    or for each run: what is said again then counts once.
    """

    name: str
    is_judge: bool
    order: int
    column: str
    rows: Sequence[int]
    cells: Sequence[Any]
    repeated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A table with its keys and voices."""

    table: RawTable
    keys: Keys
    voices: tuple[Voice, ...]

    @property
    def judged(self) -> bool:
        """Whether a judge speaks in it."""
        return any(voice.is_judge for voice in self.voices)

    @property
    def by_item(self) -> bool:
        """Whether its rows are told apart by items alone."""
        return self.keys.left is None and self.keys.system is None

    def items(self) -> list[str]:
        """Name the item of each row; rows of a table without items count for themselves."""
        keys = self.keys
        if keys.item is None:
            return [str(row + 1) for row in range(self.table.n_rows)]
        own = self.table.labels(keys.item)
        if keys.task is None:
            return own
        tasks = self.table.labels(keys.task)
        return [f"{task}/{item}" for task, item in zip(tasks, own, strict=True)]

    def sides(self) -> list[Side]:
        """Name the systems of each row: one of points, left and right of pairs."""
        keys = self.keys
        if keys.left is not None and keys.right is not None:
            left, right = self.table.labels(keys.left), self.table.labels(keys.right)
            return list(zip(left, right, strict=True))
        if keys.system is not None:
            return [(system, None) for system in self.table.labels(keys.system)]
        return [(None, None)] * self.table.n_rows

    def swapped(self) -> list[bool]:
        """Tell which rows say that the right output was shown first.

        A column ``order`` with words that are not known as such is none of ours.
        """
        if ORDER in self.table:
            words = [str(cell).strip().casefold() for cell in self.table.columns[ORDER]]
            if set(words) <= _SWAPPED | _PLAIN:
                return [word in _SWAPPED for word in words]
        return [False] * self.table.n_rows


class Place(NamedTuple):
    """Where a word stands."""

    sheet: int
    row: int


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """All that one judge or person says: cells, each with its row among all, and where it stands.

    ``flipped`` cells are of tables whose left is our right; ``order`` is 1 where the right output
    was shown first.
    """

    cells: list[Any]
    row: Indices
    order: Indices
    flipped: Bools
    sheet: Indices
    line: Indices
    repeated: Bools

    def place(self, word: int) -> Place:
        """Give where a word stands."""
        return Place(int(self.sheet[word]), int(self.line[word]))


class Gathered:
    """All rows of all tables, by key, with what every voice says of them.

    ``said[is_judge, name]`` may have several words on a row: where somebody was asked again.
    ``place`` are, for each table, the rows that its rows are about; -1 where a label is of an item
    that no table with systems has.
    """

    def __init__(self, sheets: Sequence[Sheet]) -> None:
        self.sheets = sheets
        self.notes: list[str] = []
        own_sides = [sheet.sides() for sheet in sheets]
        own_keys = [_keys(sheet.items(), own) for sheet, own in zip(sheets, own_sides, strict=True)]
        sides: dict[Key, Side] = {}
        shown: dict[Key, set[Side]] = {}  # by judges, where they saw a pair in both orders
        whole = [n for n, sheet in enumerate(sheets) if not sheet.by_item] or range(len(sheets))
        # Judges saw what stands left; people's tables may have it the other way round.
        for n in sorted(whole, key=lambda n: not sheets[n].judged):
            for key, side in zip(own_keys[n], own_sides[n], strict=True):
                if sides.setdefault(key, side) != side and sheets[n].judged:
                    shown.setdefault(key, {sides[key]}).add(side)
        for key, both in shown.items():
            sides[key] = min(both, key=str)
        self.keys = sorted(sides)
        self.sides = [sides[key] for key in self.keys]
        self._row = {key: row for row, key in enumerate(self.keys)}
        self._both_orders = {self._row[key] for key in shown}
        self.place = [self._places(n, own) for n, own in enumerate(own_keys)]
        self._turned = [self._flips(n, own) for n, own in enumerate(own_sides)]
        self.said = self._heard()

    def __len__(self) -> int:
        return len(self.keys)

    def turned(self, sheet: int) -> Bools:
        """Tell which rows of a table have our left on their right."""
        return self._turned[sheet]

    def _places(self, number: int, keys: Sequence[Key]) -> Indices:
        """Find the row that each row of a table is about."""
        found = [self._row.get(key, -1) for key in keys]
        if -1 in found:
            self._by_item(number, keys, found)
        return np.array(found, dtype=np.int64)

    def _by_item(self, number: int, keys: Sequence[Key], found: list[int]) -> None:
        """Find rows by their items alone, for labels that name no system."""
        sheet, rows_of = self.sheets[number], Counter(key[0] for key in self.keys)
        row_of = {key[0]: row for row, key in enumerate(self.keys)}
        for row, place in enumerate(found):
            item = keys[row][0]
            if place == -1 and rows_of[item] == 1:
                found[row] = row_of[item]
            elif place == -1 and rows_of[item] > 1:
                self._refuse(sheet, row, f"item '{item}' has {plural(rows_of[item], 'row')} of "
                             "several systems: which one is meant? (expected a column that names "
                             "the system, or left and right)")  # fmt: skip
        lost = found.count(-1)
        if lost == len(found):
            self._refuse(sheet, 0, f"item '{keys[0][0]}', as all others here, is in no table that "
                         f"names systems; an item there is '{self.keys[0][0]}'")  # fmt: skip
        if lost:
            rows = plural(lost, "row")
            self.notes.append(f"{sheet.table.places}: {rows} of items that no table with systems "
                              "has: left out")  # fmt: skip

    def _refuse(self, sheet: Sheet, row: int, said: str) -> None:
        sheet.table.fail(said, row)

    def _flips(self, number: int, sides: Sequence[Side]) -> Bools:
        own = [
            side[1] is not None and place >= 0 and side != self.sides[place]
            for side, place in zip(sides, self.place[number].tolist(), strict=True)
        ]
        return np.array(own, dtype=bool)

    def _heard(self) -> dict[tuple[bool, str], Said]:
        """Bring together what every voice says in all tables."""
        parts: dict[tuple[bool, str], list[Said]] = {}
        for number, sheet in enumerate(self.sheets):
            turned = self._turned[number]
            both = np.isin(self.place[number], list(self._both_orders))
            told = np.array(sheet.swapped(), dtype=bool)
            swapped = (both & turned) | told
            for voice in sheet.voices:
                line = np.array(voice.rows, dtype=np.int64)
                row = self.place[number][line]
                kept = row >= 0
                line, row = line[kept], row[kept]
                order = np.full(len(row), voice.order)
                if voice.is_judge and not voice.order:
                    order = swapped[line].astype(np.int64)
                cells = voice.cells
                if not kept.all():
                    cells = [cell for cell, keep in zip(cells, kept, strict=True) if keep]
                # A table that has a row for each order says what people said in both.
                repeated = voice.repeated or (not voice.is_judge and (both | told.any())[line])
                said = Said(
                    cells=list(cells), row=row, order=order, flipped=turned[line],
                    sheet=np.full(len(row), number), line=line,
                    repeated=np.broadcast_to(repeated, len(row)),
                )  # fmt: skip
                parts.setdefault((voice.is_judge, voice.name), []).append(said)
        return {who: _together(own) for who, own in parts.items()}

    def refuse_again(self, who: str, first: Place, second: Place) -> None:
        """Refuse that somebody says something twice, where nothing tells runs apart."""
        table, again = self.sheets[first.sheet].table, self.sheets[second.sheet].table
        raise InputError(
            f"'{who}' judges the same row that stands {table.place_of(first.row)} "
            f"(a column 'run' tells repeated runs of a judge; columns={{'task': COL}} tells items "
            "of several sets)",
            path=again.path,
            line=again.line(second.row),
        )


def _keys(items: Sequence[str], sides: Sequence[Side]) -> list[Key]:
    found = []
    for item, (left, right) in zip(items, sides, strict=True):
        one, other = left or "", right or ""
        found.append((item, one, other) if one <= other else (item, other, one))
    return found


def _together(parts: Sequence[Said]) -> Said:
    if len(parts) == 1:
        return parts[0]
    names = ("row", "order", "flipped", "sheet", "line", "repeated")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Said(cells=[cell for part in parts for cell in part.cells], **columns)
