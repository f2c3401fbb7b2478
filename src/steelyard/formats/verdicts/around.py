"""What stands around verdicts: units that rows share, what could sway a judge, slices."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.data.judgements import Codes, Floats, encode
from steelyard.formats.cells import label, numbers_of
from steelyard.formats.rawtable import RawTable
from steelyard.formats.verdicts.columns import LENGTHS, sides
from steelyard.formats.verdicts.sayings import is_gap
from steelyard.formats.verdicts.sheets import Gathered

FEWEST = 10  # units below which rows are taken for independent, unless one is named
_MOST_SLICES = 50
LENGTH = "length"
ROW = ("row", "segment", "item", "auto")


class Units(NamedTuple):
    """Names of units, a code per row, and what a unit is; no codes where rows are independent."""

    names: tuple[str, ...]
    codes: Codes | None
    name: str


def units(gathered: Gathered, wanted: str) -> Units:
    """Find what rows share: a column that is named, prompts or documents, or items of several rows.

    ``wanted`` is ``auto``, ``item``, ``row`` or a column.
    """
    own: list[str | None] = [None] * len(gathered)
    name = "prompt"
    for number, sheet in enumerate(gathered.sheets):
        column = sheet.keys.unit
        if wanted in ("item", "row", "segment") or column is None:
            continue
        cells = sheet.table.texts(column)
        for row, place in enumerate(gathered.place[number].tolist()):
            if place >= 0 and own[place] is None:
                own[place] = cells[row]
        given = sheet.table.given.get(column, column)
        name = "document" if given.startswith("doc") else "prompt" if "prompt" in given else given
    if wanted in ("row", "segment"):
        return Units((), None, "row")
    known = [value for value in own if value is not None]
    chosen = wanted not in ("auto", "item")
    if chosen and len(known) < len(own):
        raise UsageError(f"unit: column '{wanted}' is empty, or missing, for some rows")
    if len(known) == len(own) and (chosen or FEWEST <= len(set(known)) < len(own)):
        names, codes = encode([value or "" for value in own])
        return Units(names, codes, name)
    items = [key[0] for key in gathered.keys]
    if len(set(items)) < len(items) and (wanted == "item" or len(set(items)) >= FEWEST):
        names, codes = encode(items)
        return Units(names, codes, "item")
    return Units((), None, "row")


def placed(gathered: Gathered, number: int, cells: Sequence[Any]) -> list[Any]:
    """Bring the cells of a column into the rows that they are about."""
    found: list[Any] = [None] * len(gathered)
    for place, cell in zip(gathered.place[number].tolist(), cells, strict=True):
        if place >= 0 and found[place] is None:
            found[place] = cell
    return found


def _column(table: RawTable, name: str) -> list[Any]:
    cells = table.columns[name]
    return list(cells.tolist() if isinstance(cells, np.ndarray) else cells)


def covariates(
    gathered: Gathered, used: Collection[str], wanted: Collection[str] | None, *, pairs: bool
) -> dict[str, Floats]:
    """Find numbers that could sway a judge: of pairs those that both sides have.

    Of lengths the difference of left and right is over their sum, so that it is between -1 and 1.
    ``wanted`` names columns, or what both sides call them; None: what looks like one.
    """
    found: dict[str, Floats] = {}
    for number, sheet in enumerate(gathered.sheets):
        free = [name for name in sheet.table.columns if name not in used]
        both = sides(free) if pairs else {}
        for base, (left, right) in both.items():
            one, other = (_numbers(gathered, number, name) for name in (left, right))
            if one is not None and other is not None and (wanted is None or base in wanted):
                found.setdefault(*_difference(gathered, number, base, one, other))
        of_sides = {name for own in both.values() for name in own}
        for name in _plain(free, of_sides, wanted, pairs=pairs):
            values = _numbers(gathered, number, name)
            if values is None and wanted is not None:
                raise UsageError(f"{sheet.table.place}: covariate '{name}' holds no numbers")
            if values is not None:
                found.setdefault(LENGTH if name in LENGTHS else name, values)
    known = {name for sheet in gathered.sheets for name in sheet.table.columns}
    for name in wanted or ():
        if name not in found and not (name in LENGTHS and LENGTH in found):
            raise UsageError(f"no covariate '{name}'; {hint(name, sorted(known))}")
    return found


def _plain(
    free: Collection[str], of_sides: Collection[str], wanted: Collection[str] | None, *, pairs: bool
) -> list[str]:
    """Give the columns that are covariates as they stand: those named, or lengths of points."""
    if wanted is not None:
        return [name for name in free if name in wanted and name not in of_sides]
    return [] if pairs else [name for name in free if name in LENGTHS]


def _numbers(gathered: Gathered, number: int, name: str) -> Floats | None:
    cells = placed(gathered, number, _column(gathered.sheets[number].table, name))
    found = numbers_of([None if is_gap(cell) else cell for cell in cells])
    return None if found is None or np.isnan(found).all() else found


def _difference(
    gathered: Gathered, number: int, base: str, left: Floats, right: Floats
) -> tuple[str, Floats]:
    turned = np.zeros(len(gathered), dtype=bool)
    first = {place: row for row, place in reversed([*enumerate(gathered.place[number].tolist())])}
    for place, row in first.items():  # that whose cells were taken
        if place >= 0:
            turned[place] = gathered.turned(number)[row]
    one, other = np.where(turned, right, left), np.where(turned, left, right)
    if base not in LENGTHS:
        return base, one - other
    total = one + other
    share = np.divide(one - other, total, out=np.zeros(len(total)), where=total > 0)
    return LENGTH, np.where(np.isnan(total), np.nan, share)


def slices(gathered: Gathered, used: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Find columns of few words, by which rows can be told apart."""
    found: dict[str, tuple[str, ...]] = {}
    for number, sheet in enumerate(gathered.sheets):
        for name in sheet.table.columns:
            if name in used or name in found:
                continue
            cells = placed(gathered, number, _column(sheet.table, name))
            words = [None if is_gap(cell) else label(cell) for cell in cells]
            values = {word for word in words if word is not None}
            few = 2 <= len(values) <= min(_MOST_SLICES, max(2, len(words) // 5))
            numeric = numbers_of([word or "" for word in words]) is not None
            if few and not numeric and all(word is not None for word in words):
                found[name] = tuple(word or "" for word in words)
    return found
