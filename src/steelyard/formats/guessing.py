"""What columns of a table of scores are that no name claims: guessed, said, doubted or refused.

Such a column is a score, or a system of a wide table. Before that is believed, a column that reads
like a number of the row is taken as the segment, with a word about it, or refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import unguarded
from steelyard.core.text import listed, plural
from steelyard.formats import cells, roles
from steelyard.formats.rawtable import RawTable
from steelyard.formats.roles import SEGMENT, SYSTEM, is_text, says_id

_COUNTS_FROM = 5  # rows; fewer numbers than that can be 1, 2, 3 by chance
_FAR = 100.0  # largest scores of two systems that are so many times apart are not of one kind


def plain_names(table: RawTable) -> tuple[RawTable, list[str]]:
    """Take guards against formulas off the names in a delimited table of scores, and say so."""
    if not table.blank_is_missing:
        return table, []
    columns: dict[str, Any] = {}
    found: dict[str, str] = {}
    for given, own in table.columns.items():
        name = unguarded(given)
        found |= {given: name} if name != given else {}
        if name in (*SYSTEM, *SEGMENT) and not isinstance(own, np.ndarray):
            odd = {cell for cell in set(own) if unguarded(cell) != cell}
            found |= {cell: unguarded(cell) for cell in sorted(odd)}
            columns[name] = [unguarded(cell) for cell in own] if odd else own
        else:
            columns[name] = own
    if not found or len(columns) < len(table.columns):
        return table, []
    names = f"{plural(len(found), 'name')}, such as '{next(iter(found.values()))}'"
    note = f"{table.place}: an apostrophe before {names}, is taken for a guard against formulas"
    return replace(table, columns=columns), [note]


@dataclass(frozen=True)
class Named:
    """What the user named: scores, and systems to keep (None: all). These are never doubted."""

    scores: frozenset[str] = frozenset()
    systems: frozenset[str] | None = None


def settled(table: RawTable, named: Named) -> tuple[RawTable, list[str]]:
    """Call the columns of a table of scores by our names, and say what was guessed."""
    notes: list[str] = []
    if SYSTEM[0] not in table:
        table, notes = _with_system(table)
    table, said = numbered(table, named.scores if SYSTEM[0] in table else named.systems)
    notes += said
    if SYSTEM[0] in table and any(name in table for name in SEGMENT):
        table, said = _with_texts(table, named.scores)
        notes += said
    return table, notes


def rated(table: RawTable) -> tuple[RawTable, list[str]]:
    """Call the system and the segment by our names in a table that names raters."""
    if not any(name in table for name in roles.RATER) or SYSTEM[0] in table:
        return table, []
    named, notes = _with_system(table)
    if SYSTEM[0] not in named:
        return table, []
    named, said = numbered(named)
    return named, notes + said


def _with_system(table: RawTable) -> tuple[RawTable, list[str]]:
    """Call the column that names the systems ``system``; two that differ are refused."""
    spelt = {name.casefold(): name for name in table.columns}
    known = (spelt[name] for name in (*SYSTEM, *roles.SYSTEM_ALSO) if name in spelt)
    found = [name for name in known if _is_words(table, name)]
    if not found:
        return table, []
    for other in found[1:]:
        one, two = (table.columns[name] for name in (found[0], other))
        if not len(set(one)) == len(set(two)) == len(set(zip(one, two, strict=True))):
            _either(table, (found[0], other), "system")
    table, notes = _renamed(table.without(found[1:]), found[0], SYSTEM[0])
    if found[1:]:
        notes.append(f"{table.place}: columns not used: {', '.join(found[1:])}")
    return table, notes


def _with_texts(table: RawTable, kept: Collection[str]) -> tuple[RawTable, list[str]]:
    """Call columns of documents and texts by our names, beside a system and a segment."""
    notes: list[str] = []
    for role, also in roles.ALSO.items():
        if any(name in table for name in roles.ASSIGNED[role]):
            continue
        found = next((n for n in also if n in table and n not in kept), None)
        if found is not None and (role == "doc" or not _is_numbers(table, found)):
            table, said = _renamed(table, found, role)
            notes += said
    return table, notes


def _either(table: RawTable, names: Sequence[str], role: str) -> NoReturn:
    """Refuse a table in which either of two columns could have a role, and say what decides."""
    ways = " or ".join(f'columns={{"{role}": "{name}"}}' for name in names)
    both = " and ".join(f"'{name}'" for name in names)
    raise UsageError(f"{table.place}: columns {both} could both be the {role}: {ways} decides")


def numbered(table: RawTable, kept: Collection[str] | None = None) -> tuple[RawTable, list[str]]:
    """Call the column that names the segments ``segment``, and say so if that was a guess."""
    if any(name in table for name in SEGMENT):
        return table, []
    segment = _segment(table, kept or ())
    if segment is None:
        return table, []
    running = [n for n in table.columns if n != segment and n not in (kept or ())
               and roles.names_items(n) and _numbers_rows(table, n)]  # fmt: skip
    if running and not _numbers_rows(table, segment):
        table, notes = _renamed(table.without(running), segment, SEGMENT[0])
        return table, [*notes, f"{table.place}: columns not used: {', '.join(running)}"]
    return _renamed(table, segment, SEGMENT[0])


def _is_words(table: RawTable, name: str) -> bool:
    column = table.columns[name]
    return not isinstance(column, np.ndarray) and not any(
        cells.parse_number(cell) is not None for cell in column[:100]
    )


def _is_numbers(table: RawTable, name: str) -> bool:
    return cells.numbers_of(table.columns[name]) is not None


def _segment(table: RawTable, kept: Collection[str]) -> str | None:
    """Find the column that names the segments by something like ``example_id``.

    One that is an id comes before one that is a text, and a document's only where it is alone. An
    id that is another on every row of several systems numbers rows: a text that they share is it.
    """
    found = [n for n in table.columns if roles.names_items(n) and n not in kept]
    texts = [n for n in found if n in roles.ALSO["source"] and _is_words(table, n)]
    ids = [name for name in found if name not in texts]
    shared = [name for name in (*ids, *texts) if not _numbers_rows(table, name)]
    if ids and shared and _numbers_rows(table, ids[0]):
        ids = shared[:1]
    found = ids or found or [n for n in roles.ALSO["doc"] if n in table and n not in kept]
    first = next(iter(table.columns))
    if len(found) > 1 and first not in found:
        _either(table, found[:2], "segment")
    return None if not found else first if first in found else found[0]


def _numbers_rows(table: RawTable, name: str) -> bool:
    """Tell whether a column is another on every row of several systems."""
    several = SYSTEM[0] in table and len(set(map(str, table.columns[SYSTEM[0]]))) > 1
    return several and len(set(map(str, table.columns[name]))) == table.n_rows


def _renamed(table: RawTable, name: str, role: str) -> tuple[RawTable, list[str]]:
    return roles.called(table, name, role), [
        f"{table.place}: column '{name}' is taken as the {role}"
    ]


def holds_scores(table: RawTable) -> bool:
    """Tell whether any column that no name claims has a number in it, or no such column is there.

    If none has, the table is no table of scores at all.
    """
    found = [table.columns[name] for name in _scores(table)]
    return not found or any(_has_number(column) for column in found)


def _has_number(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return True
    numbers = (cells.parse_number(cell) for cell in column)
    return any(n is not None for n in numbers) or cells.truths(column) is not None


def with_truths(table: RawTable) -> tuple[RawTable, list[str]]:
    """Count true as 1 and false as 0 in columns of scores that hold nothing else, and say so."""
    found = {name: cells.truths(table.columns[name]) for name in _scores(table)}
    known = {name: values for name, values in found.items() if values is not None}
    if not known:
        return table, []
    columns = listed([f"'{name}'" for name in known])
    note = f"{table.place}: true counts 1 and false 0 in {columns}"
    return replace(table, columns={**table.columns, **known}), [note]


def checked(table: RawTable, named: Named) -> tuple[RawTable, list[str]]:
    """Refuse columns that are no scores; give those that are left, and what seems odd of them."""
    table, said = with_truths(table)
    table, odd = _doubted(table, named)
    return table, said + odd


def _seldom(table: RawTable, named: Collection[str], what: str) -> list[str]:
    """Name columns that are taken for scores or systems although they are seldom so called."""
    return [
        f"{table.place}: column '{name}' is taken for a {what} ({cells.skipping(name)} skips it)"
        for name in _scores(table)
        if name not in named and not roles.SELDOM.isdisjoint(roles.words(name))
    ]


def _refuse_repeats(table: RawTable, kept: Collection[str]) -> None:
    """Refuse a task or an epoch in a table that has no items of several systems."""
    for name in (*roles.TASK, *roles.EPOCH):
        if name in table and name not in kept:
            table.fail(
                f"{table.named(name)} needs a system and an item beside it; "
                f'columns={{"segment": "{name}"}} takes it for the item, '
                f"{cells.skipping(name)} skips it"
            )


def _doubted(table: RawTable, named: Named) -> tuple[RawTable, list[str]]:
    long = SYSTEM[0] in table and any(name in table for name in SEGMENT)
    if not long:
        _refuse_repeats(table, named.scores if SYSTEM[0] in table else named.systems or ())
    if SYSTEM[0] in table:
        _refuse_running_ids(table)
        _refuse_ids(table, named.scores, 'kind={{"metric": ["{name}"]}} takes it for a score')
        return table, [
            f"{table.place}: column '{name}' counts the rows, and is taken for a score "
            f"({cells.skipping(name)} skips it)"
            for name in _scores(table)
            if name not in named.scores and _counts(table, name)
        ] + _seldom(table, named.scores, "score")
    _refuse_numbers_as_names(table)
    if named.systems is not None:
        others = [n for n in _scores(table) if says_id(n) and n not in named.systems]
        return table.without(others), []
    _refuse_ids(table, (), 'systems=["{name}", ...] takes it for a system')
    return table, _odd_systems(table) + _seldom(table, (), "system") + _summaries(table)


def _summaries(table: RawTable) -> list[str]:
    """Name rows of a wide table that read like a summary of the others."""
    column = next((name for name in SEGMENT if name in table), None)
    words = ("mean", "average", "avg", "total", "sum", "overall", "all")
    names = [] if column is None else [str(cell) for cell in table.columns[column]]
    return [
        f"{table.place}: row '{name}' reads like a summary, and is taken for a segment"
        for name in names
        if name.strip().casefold() in words
    ]


def _refuse_numbers_as_names(table: RawTable) -> None:
    """Refuse a wide table whose columns are all called by numbers: it has no header."""
    names = _scores(table)
    headless = table.blank_is_missing and names and len(names) == len(table.columns)
    if headless and _are_numbers(names):
        message = f"the first line holds numbers ({listed(names)}), expected names of columns"
        raise InputError(message, path=table.path, line=1)


def _refuse_running_ids(table: RawTable) -> None:
    """Refuse a segment that was guessed if no two systems share any: it numbers the rows."""
    name = table.given.get(SEGMENT[0])
    if name is not None and _numbers_rows(table, SEGMENT[0]):
        table.fail(
            f"column '{name}' is another on every row, so no two systems have a segment in "
            f"common; expected a column 'segment' ({cells.skipping(name)} skips this one)"
        )


def _scores(table: RawTable) -> list[str]:
    return [name for name in table.columns if not is_text(name)]


def _refuse_ids(table: RawTable, kept: Collection[str], otherwise: str) -> None:
    for name in _scores(table):
        if says_id(name) and name not in kept:
            segment = table.given.get(SEGMENT[0])
            beside = f"; '{segment}' is taken as the segment" if segment else ""
            item = "" if segment else f'columns={{"segment": "{name}"}} takes it for the item, '
            how = f"{item}{cells.skipping(name)} skips it, {otherwise.format(name=name)}"
            table.fail(f"column '{name}' reads like an id, not like scores{beside} ({how})")


def _odd_systems(table: RawTable) -> list[str]:
    """Doubt a wide table: a column that counts its rows, a single row, scores of several kinds."""
    names = _scores(table)
    has_segments = any(name in table for name in SEGMENT)
    if table.n_rows == 1 and not has_segments and names:
        table.fail(
            f"one row of cells under {', '.join(repr(n) for n in names[:3])}, which could be "
            "anything: expected a column 'segment' and one per system, or 'system' and one per "
            "score"
        )
    notes = []
    for name in names:
        if not _counts(table, name, least=_COUNTS_FROM if has_segments else 3):
            continue
        if not has_segments and table.n_rows >= _COUNTS_FROM:
            table.fail(
                f"column '{name}' counts the rows: call it segment if it does, or "
                f'{cells.skipping(name)}; systems=["{name}", ...] takes it for a system'
            )
        notes.append(f"{table.place}: column '{name}' counts the rows, and is taken for a system")
    return notes + _apart(table, names)


def _are_numbers(names: Sequence[str]) -> bool:
    """Tell whether names are scores, of a file without a header; 0, 1, 2, ... may be names."""
    if not names or any(cells.parse_number(name) is None for name in names):
        return False
    counted = [[str(i + first) for i in range(len(names))] for first in (0, 1)]
    return len(names) == 1 or list(names) not in counted


def _counts(table: RawTable, name: str, least: int = _COUNTS_FROM) -> bool:
    """Tell whether a column counts: whole numbers in a row, some of which may be missing.

    Many numbers from 0 or 1 on count in any order, few only from there and in order.
    """
    values = cells.numbers_of(table.columns[name])
    if values is None or (known := ~np.isnan(values)).sum() < least:
        return False
    start = values[known] - np.flatnonzero(known)  # where the first row would be
    if (start == start[0]).all() and start[0] == np.floor(start[0]):
        return table.n_rows >= _COUNTS_FROM or start[0] in (0, 1)
    ordered = np.sort(values)
    in_any_order = table.n_rows >= _COUNTS_FROM and ordered[0] in (0, 1)
    return in_any_order and bool((np.diff(ordered) == 1).all())


def _apart(table: RawTable, names: Sequence[str]) -> list[str]:
    """Say that columns are of different kinds: latency beside accuracy, say."""
    largest: dict[str, float] = {}
    for name in names:
        values = cells.numbers_of(table.columns[name])
        known = np.array([]) if values is None else np.abs(values[~np.isnan(values)])
        if known.size and known.max() > 0:
            largest[name] = float(known.max())
    if not largest:
        return []
    low, high = min(largest, key=largest.__getitem__), max(largest, key=largest.__getitem__)
    if largest[high] < _FAR * largest[low]:
        return []
    ranges = f"'{high}' goes up to {largest[high]:g} and '{low}' up to {largest[low]:g}"
    return [f"{table.place}: {ranges}: are all columns systems, and scores of one kind?"]
