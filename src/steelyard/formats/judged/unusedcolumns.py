"""Columns of judgements that nothing holds once they are read: who converts a file loses them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from steelyard.core.text import listed
from steelyard.formats import columns as roles
from steelyard.formats.rawtable import RawTable

_OF_RATINGS = {
    *roles.RATING_COLUMNS, *roles.SYSTEM, *roles.SEGMENT, *roles.DOCUMENT, *roles.DOMAIN
}  # fmt: skip


def told(used: Callable[[RawTable], Collection[str | None]]) -> Callable[[RawTable], RawTable]:
    """Give what notes the columns of a table that are not among those that are used."""

    def prepare(table: RawTable) -> RawTable:
        known = used(table)
        left = [_shown(name, table.given) for name in table.columns if name not in known]
        if not left:
            return table
        note = f"{table.places}: columns not used: {listed(left, 8)}"
        return replace(table, notes=(*table.notes, note))

    return prepare


def _shown(name: str, given: Mapping[str, str]) -> str:
    own = given.get(name, name)
    return name if own == name else f"{name} ({own})"


def of_ratings(_table: RawTable) -> Collection[str | None]:
    """Give the columns that ratings hold."""
    return _OF_RATINGS
