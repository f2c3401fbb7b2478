"""Files and frames of verdicts become one :class:`~steelyard.data.verdicts.Verdicts`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.data.judgements import Codes, Floats, encode
from steelyard.data.verdicts import OF_PAIRS, Opinion, Verdicts
from steelyard.formats.cells import label
from steelyard.formats.verdicts import around, opinions, voices
from steelyard.formats.verdicts.columns import ORDERS, chosen, keys_of, matching, roles_given
from steelyard.formats.verdicts.inputs import tables_of
from steelyard.formats.verdicts.sheets import ORDER, Gathered, Sheet
from steelyard.formats.verdicts.voices import Asked, Keyed

POINTS, PAIRS = "points", "pairs"


@dataclass(frozen=True, kw_only=True)
class VerdictReading:
    """What the user said of tables of verdicts.

    ``human`` and ``judges`` are columns, or names in a column ``rater`` or ``judge``; judges None:
    whatever else holds verdicts. ``unit`` is ``auto``, ``item``, ``row`` or a column.
    """

    human: Collection[str] = ()
    judges: Collection[str] | None = None
    unit: str = "auto"
    covariates: Collection[str] | None = None
    probability: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()


def read_verdicts(sources: Sequence[Any], how: VerdictReading) -> Verdicts:
    """Read verdicts of judges and of people.

    Parameters
    ----------
    sources
        Files or frames: points (``system``, ``item``) or pairs (``left``, ``right``), a column for
        each judge and rater, or a row for each with a column ``judge`` or ``rater``; labels may
        stand in a table of their own, with the same items.
    how
        What is known of them.

    Examples
    --------
    >>> import polars
    >>> frame = polars.DataFrame({"item": [1, 2, 3], "left": ["A", "B", "A"],
    ...     "right": ["B", "A", "B"], "human": ["left", "tie", None], "gpt": ["left", "A", "?"]})
    >>> found = read_verdicts([frame], VerdictReading(human=["human"]))
    >>> found.kind, [own.name for own in found.judges], found.judges[0].value.tolist()
    ('pairs', ['gpt'], [1.0, 0.0, nan])
    """
    if not sources:
        raise UsageError("nothing to read: expected at least one input")
    given = roles_given(how.columns)
    tables = tables_of(sources, how.where, how.ignore, tuple(given.values()))
    columns = list(dict.fromkeys(name for table in tables for name in table.columns))
    unit = None if how.unit in around.ROW else how.unit
    if unit is not None and unit not in columns:
        raise UsageError(f"unit: no column '{unit}'; {hint(unit, sorted(columns))}")
    named = set(matching({*how.human, *(how.judges or ())}, columns))
    keyed = _with_tasks([(table, keys_of(table, named, unit, given)) for table in tables], given)
    asked = _asked(how, keyed, columns)
    people = voices.people(keyed, asked)
    voices.check_people(people)
    kind = voices.kind_of(keyed, people)
    judges = voices.judges(keyed, people, asked, kind)
    sheets = [
        Sheet(table, keys, (*own, *theirs))
        for (table, keys), own, theirs in zip(keyed, people, judges, strict=True)
    ]
    if not any(sheet.judged for sheet in sheets):
        raise UsageError("judges: no column holds verdicts beside those of people; name one")
    for sheet in sheets:
        if sheet.keys.item is None and len(sheets) > 1:
            raise InputError(
                "no column names the items (item, id, battle, ...), by which tables are joined",
                path=sheet.table.path,
            )
    return _made(Gathered(sheets), kind, how)


def _with_tasks(keyed: Keyed, given: Mapping[str, str]) -> Keyed:
    """Leave a column of tasks alone where all rows are of one, unless the user named it."""
    own = [table.columns[keys.task] for table, keys in keyed if keys.task is not None]
    if "task" in given or len({label(cell) for cells in own for cell in cells}) > 1:
        return keyed
    return [(table, replace(keys, task=None)) for table, keys in keyed]


def _asked(how: VerdictReading, keyed: Keyed, columns: Collection[str]) -> Asked:
    """Find the columns, and the names in columns of raters and judges, that are meant."""
    names = {
        name
        for table, keys in keyed
        for column in (keys.rater, keys.judge)
        if column is not None
        for cell in set(voices.cells_of(table, column))
        if (name := label(cell)) is not None
    }
    bases = {name[:-3] for name in columns if name.endswith(ORDERS)}
    known = {*columns, *names}
    others = {*(how.covariates or ())} | ({how.probability} if how.probability else set())
    human = chosen(how.human, known, "human")
    judges = None if how.judges is None else chosen(how.judges, known | bases, "judges")
    both = sorted(set(human) & set(judges or ()))
    if both:
        raise UsageError(f"'{both[0]}' is named as a person and as a judge: which is it?")
    return Asked(human, judges, others)


def _made(gathered: Gathered, kind: Literal["points", "pairs"], how: VerdictReading) -> Verdicts:
    notes: list[str] = []
    categories: tuple[str, ...] = OF_PAIRS
    ordered = True
    if kind == PAIRS:
        made = opinions.of_pairs(gathered, notes)
    else:
        made, scale = opinions.of_points(gathered, notes)
        categories, ordered = scale.categories, scale.ordered
    judges, raters = (
        tuple(made[who] for who in sorted(made) if who[0] == is_judge) for is_judge in (True, False)
    )
    if len(gathered.sheets) > 1:
        _check_joined(gathered, judges, raters)
    used = {column for sheet in gathered.sheets for column in sheet.keys.columns}
    used |= {voice.column for sheet in gathered.sheets for voice in sheet.voices} | {ORDER}
    own = around.units(gathered, how.unit)
    systems, left, right = _systems(gathered, kind)
    items, item = encode([key[0] for key in gathered.keys])
    tables = (note for sheet in gathered.sheets for note in sheet.table.notes)
    notes += dict.fromkeys((*gathered.notes, *tables))
    notes += opinions.told(judges, len(gathered), judges=True)
    notes += opinions.told(raters, len(gathered), judges=False)
    return Verdicts(
        kind=kind,
        items=items,
        item=item,
        judges=judges,
        raters=raters,
        categories=categories,
        ordered=ordered,
        systems=systems,
        left=left,
        right=right,
        units=own.names,
        unit=own.codes,
        unit_name=own.name,
        covariates=around.covariates(gathered, used, how.covariates, pairs=kind == PAIRS),
        slices=around.slices(gathered, used),
        probability=_probability(gathered, how.probability),
        notes=tuple(notes),
    )


def _systems(gathered: Gathered, kind: str) -> tuple[tuple[str, ...], Codes | None, Codes | None]:
    """Give the systems and whose outputs each row is about; none where some row does not say."""
    lefts = [side[0] for side in gathered.sides]
    rights = [side[1] for side in gathered.sides]
    paired = kind == PAIRS and None not in rights
    if None in lefts or not (paired or kind == POINTS):
        return (), None, None
    systems, codes = encode([name or "" for name in (*lefts, *(rights if paired else ()))])
    return systems, codes[: len(lefts)], codes[len(lefts) :] if paired else None


def _check_joined(gathered: Gathered, judges: Sequence[Opinion], raters: Sequence[Opinion]) -> None:
    """Refuse tables of which none is about what another one is about."""
    theirs, ours = (np.any([each.answered for each in group], axis=0) for group in (raters, judges))
    if (theirs & ours).any() or not theirs.any() or not ours.any():
        return
    own = [sheet for sheet in gathered.sheets if not sheet.judged] or [*gathered.sheets]
    one, other = (gathered.keys[int(np.flatnonzero(own)[0])] for own in (theirs, ours))
    raise InputError(
        f"no label is of a row that a judge judged: there is {_shown(one)} with labels, "
        f"{_shown(other)} with verdicts",
        path=own[0].table.path,
    )


def _shown(key: tuple[str, str, str]) -> str:
    systems = " and ".join(name for name in key[1:] if name)
    return f"item '{key[0]}'" + (f" of {systems}" if systems else "")


def _probability(gathered: Gathered, column: str | None) -> Floats | None:
    if column is None:
        return None
    for number, sheet in enumerate(gathered.sheets):
        if column in sheet.table:
            values = sheet.table.numbers(column, optional=False).tolist()
            cells = around.placed(gathered, number, values)
            return np.array([np.nan if cell is None else cell for cell in cells])
    raise UsageError(f"labels: no column '{column}' of probabilities")
