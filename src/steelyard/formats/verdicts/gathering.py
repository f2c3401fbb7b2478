"""Rows of several tables, brought together: who said what of which item, of which systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from steelyard.core.errors import InputError
from steelyard.core.words import plural
from steelyard.formats.rawtable import RawTable
from steelyard.formats.verdicts.columns import Keys

ORDER = "order"
_SWAPPED = frozenset(("21", "ba", "swapped", "swap", "reversed", "reverse"))
Side = tuple[str | None, str | None]


class Voice(NamedTuple):
    """What one judge or person says in a table: cells by row.

    ``order`` is 1 for verdicts with the right output shown first, told of the same left and right.
    """

    name: str
    is_judge: bool
    order: int
    column: str
    cells: Sequence[tuple[int, Any]]


class Key(NamedTuple):
    """What a row is about: an item, and the systems whose outputs are judged, in a fixed order."""

    item: str
    one: str
    other: str


def _key(item: str, side: Side) -> Key:
    one, other = sorted(name or "" for name in side)
    return Key(item, one, other)


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
        """Tell which rows say that the right output was shown first."""
        if ORDER not in self.table:
            return [False] * self.table.n_rows
        return [str(cell).strip().casefold() in _SWAPPED for cell in self.table.columns[ORDER]]


class Word(NamedTuple):
    """A cell, whether its left is our right, and where it stands."""

    cell: Any
    flipped: bool
    sheet: int
    row: int


class Gathered:
    """All rows of all tables, by key, with what every voice says of them.

    ``said[is_judge, name][row, order]`` lists words: several where somebody was asked again.
    """

    def __init__(self, sheets: Sequence[Sheet]) -> None:
        self.sheets = sheets
        self._shown: dict[Key, set[Side]] = {}
        sides: dict[Key, Side] = {}
        whole = [sheet for sheet in sheets if not sheet.by_item] or list(sheets)
        # Judges saw what stands left; people's tables may have it the other way round.
        for sheet in sorted(whole, key=lambda own: not own.judged):
            for item, side in zip(sheet.items(), sheet.sides(), strict=True):
                key = _key(item, side)
                sides.setdefault(key, side)
                if sheet.judged:
                    self._shown.setdefault(key, set()).add(side)
        for key, shown in self._shown.items():
            if len(shown) > 1:  # in both orders
                sides[key] = min(shown, key=str)
        self.keys = sorted(sides)
        self.sides = [sides[key] for key in self.keys]
        self._row = {key: row for row, key in enumerate(self.keys)}
        self._rows_of: dict[str, list[int]] = {}
        for key, row in self._row.items():
            self._rows_of.setdefault(key.item, []).append(row)
        self.place = [self._places(sheet) for sheet in sheets]
        self.said: dict[tuple[bool, str], dict[tuple[int, int], list[Word]]] = {}
        for number, sheet in enumerate(sheets):
            self._take(number, sheet)

    def __len__(self) -> int:
        return len(self.keys)

    def _places(self, sheet: Sheet) -> list[int]:
        """Find the row that each row of a table is about."""
        found = []
        for row, (item, side) in enumerate(zip(sheet.items(), sheet.sides(), strict=True)):
            place = self._row.get(_key(item, side))
            if place is None:
                own = self._rows_of.get(item, [])
                if len(own) != 1 or not sheet.by_item:
                    self._lost(sheet, row, item, len(own))
                place = own[0]
            found.append(place)
        return found

    def _lost(self, sheet: Sheet, row: int, item: str, n: int) -> None:
        if not n:
            said = f"item '{item}' is in no table that names systems"
        else:
            said = f"item '{item}' has {plural(n, 'row')} of several systems: which one is meant?"
        raise InputError(
            f"{said} (expected columns that name the item and the systems)",
            path=sheet.table.path,
            line=sheet.table.line(row),
        )

    def _take(self, number: int, sheet: Sheet) -> None:
        sides, swapped, places = sheet.sides(), sheet.swapped(), self.place[number]
        for voice in sheet.voices:
            said = self.said.setdefault((voice.is_judge, voice.name), {})
            for row, cell in voice.cells:
                place = places[row]
                own = self.sides[place]
                flipped = sides[row][1] is not None and sides[row] != own
                again = flipped and len(self._shown.get(self.keys[place], ())) > 1
                order = voice.order or int(voice.is_judge and (again or swapped[row]))
                said.setdefault((place, order), []).append(Word(cell, flipped, number, row))

    def where(self, word: Word) -> tuple[RawTable, int]:
        """Give the table and the row of a word, for messages."""
        return self.sheets[word.sheet].table, word.row

    def has_runs(self, word: Word) -> bool:
        """Tell whether the table of a word tells runs apart."""
        return self.sheets[word.sheet].keys.run is not None
