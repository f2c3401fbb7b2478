"""Rows that hold one score each, by its name, become rows that hold all scores of an item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard.formats import columns as roles
from steelyard.formats.rawtable import RawTable, one_of


def spread(table: RawTable, name: str, value: str, *, repeated: bool = False) -> RawTable:
    """Give every name in one column a column of its own, for the scores in another.

    Other columns are taken from the first row of a system and segment. Where scores may be
    ``repeated``, the n-th of an item is that of epoch n; else a second one is an error.
    """
    if value not in table:
        table.fail(f"no column '{value}' is left")
    n = table.n_rows
    names = table.labels(name) if name in table else [value] * n
    for row, own in enumerate(names):
        if roles.is_text(own):
            table.fail(f"a score named '{own}' can't be told from the column of that name", row)
    segment = one_of(table, roles.SEGMENT, "segment")
    items = [""] * n if segment is None else table.labels(segment)
    systems = table.labels(roles.SYSTEM[0])
    scores = table.columns[value]
    first: dict[tuple[str, str, int], int] = {}
    seen: dict[tuple[str, str, str], list[int]] = {}
    cells: dict[str, dict[tuple[str, str, int], Any]] = {own: {} for own in names}
    for row, key in enumerate(zip(systems, items, names, strict=True)):
        earlier = seen.setdefault(key, [])
        if earlier and not repeated:
            of = f" and segment '{key[1]}'" if segment is not None else ""
            table.fail(f"{key[2]} of system '{key[0]}'{of} is given twice", row)
        earlier.append(row)
        place = (key[0], key[1], len(earlier))
        first.setdefault(place, row)
        cells[key[2]][place] = scores[row]
    rows = list(first.values())
    kept = table.take(rows).without([name, value])
    columns: dict[str, Any] = dict(kept.columns)
    if any(epoch > 1 for _, _, epoch in first):
        columns[roles.EPOCH[0]] = [epoch for _, _, epoch in first]
    columns |= {own: [given.get(place) for place in first] for own, given in cells.items()}
    facts = dict(table.facts)
    if value in facts:
        facts = dict.fromkeys(cells, facts[value]) | facts
    return replace(kept, columns=columns, facts=facts)
