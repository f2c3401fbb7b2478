"""Files and frames of verdicts become one :class:`~steelyard.data.verdicts.Verdicts`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.words import plural
from steelyard.data.judgements import Codes, Floats, encode
from steelyard.data.verdicts import MISSING, OF_PAIRS, Opinion, Verdicts
from steelyard.formats import files, frames, registry, tables
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable, stacked
from steelyard.formats.reading import Reading
from steelyard.formats.verdicts import around
from steelyard.formats.verdicts.columns import (
    ORDERS,
    Keys,
    chosen,
    holds_grades,
    holds_outcomes,
    keys_of,
    matching,
    says_no_verdict,
    sides,
    verdict_column,
)
from steelyard.formats.verdicts.gathering import ORDER, Gathered, Sheet, Voice, Word
from steelyard.formats.verdicts.wording import PairColumn, Scale, is_gap, pair_labels
from steelyard.formats.view import FileView

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
    found = [table for source in sources for table in _tables(source, how)]
    named = set(matching({*how.human, *(how.judges or ())}, [n for t in found for n in t.columns]))
    unit = None if how.unit in around.ROW else how.unit
    keyed = [(table, keys_of(table, named, unit)) for table in found]
    if unit is not None and not any(keys.unit == unit for _, keys in keyed):
        raise UsageError(f"unit: no column '{unit}'")
    names = {
        str(cell)
        for table, keys in keyed
        for column in (keys.rater, keys.judge)
        if column is not None
        for cell in table.columns[column]
    }
    columns = {name for table in found for name in table.columns}
    bases = {name[:-3] for name in columns if name.endswith(ORDERS)}
    how = replace(
        how,
        human=chosen(how.human, columns | names, "human"),
        judges=None
        if how.judges is None
        else chosen(how.judges, columns | names | bases, "judges"),
    )
    people = [_people(table, keys, how) for table, keys in keyed]
    if not any(people):
        raise UsageError(
            "human: which columns are labels of people? Name them (human=[...]), or give a table "
            "with a column 'rater'"
        )
    kind = _kind(keyed, people)
    judges = _judges(keyed, people, how, kind)
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


def _tables(source: Any, how: VerdictReading) -> list[RawTable]:
    reading = Reading(how.where, how.ignore, columns=how.columns)
    if not isinstance(source, (str, Path)):
        if not frames.recognise(source):
            raise UsageError(f"expected a file or a frame, got a {type(source).__name__}")
        return [reading.narrow(frames.read(source))]
    path = Path(source)
    if files.is_folder(path):
        own = registry.runs(path)
        if not own:
            raise InputError("no log of a tool that is known in this folder", path=path)
        return [_unfolded([form.unfold(view) for form, view in own
                           if isinstance(form, ForeignFormat)], reading)]  # fmt: skip
    view = FileView(path)
    form = registry.foreign(view)
    if isinstance(form, ForeignFormat):
        return [_unfolded([form.unfold(view)], reading)]
    return [reading.narrow(tables.read(path, is_text=lambda _: True))]


def _unfolded(parts: list[RawTable], reading: Reading) -> RawTable:
    return reading.narrow(stacked(parts))


def _people(table: RawTable, keys: Keys, how: VerdictReading) -> list[Voice]:
    """Give what people say in a table."""
    if keys.rater is not None:
        column = verdict_column(table, keys, how.human, "rater")[0]
        raters = {name for name in how.human if name not in table.columns}
        return _long(table, keys.rater, column, is_judge=False, only=raters or None)
    if keys.judge is not None:
        return []  # a table of judges: a column that people have elsewhere is theirs here
    return [
        Voice(name, False, 0, name, list(enumerate(_cells(table, name))))
        for name in matching(how.human, list(table.columns))
        if name not in keys.columns
    ]


def _long(
    table: RawTable, who: str, column: str, *, is_judge: bool, only: Collection[str] | None = None,
    but: Collection[str] = (), order: int = 0,
) -> list[Voice]:  # fmt: skip
    """Split a table with a row for each who said something."""
    cells = _cells(table, column)
    rows: dict[str, list[tuple[int, Any]]] = {}
    for row, name in enumerate(table.labels(who)):
        if (only is None or name in only) and name not in but:
            rows.setdefault(name, []).append((row, cells[row]))
    return [Voice(name, is_judge, order, column, own) for name, own in sorted(rows.items())]


def _cells(table: RawTable, name: str) -> list[Any]:
    cells = table.columns[name]
    return list(cells.tolist() if isinstance(cells, np.ndarray) else cells)


def _kind(
    keyed: Sequence[tuple[RawTable, Keys]], people: Sequence[Sequence[Voice]]
) -> Literal["points", "pairs"]:
    """Tell pairs from points: by their sides, by both orders, or by what people say."""
    for table, keys in keyed:
        both = any(n.endswith(ORDERS[0]) and n[:-3] + ORDERS[1] in table for n in table.columns)
        if keys.left is not None or both:
            return "pairs"
    words = [cell for own in people for voice in own for _, cell in voice.cells if not is_gap(cell)]
    sayings = {str(word).strip().casefold() for word in words}
    return "pairs" if sayings and sayings <= {"left", "right", "tie", "model_a", "model_b",
                                              "bothbad", "tie (bothbad)"} else "points"  # fmt: skip


def _judges(
    keyed: Sequence[tuple[RawTable, Keys]],
    people: Sequence[Sequence[Voice]],
    how: VerdictReading,
    kind: str,
) -> list[list[Voice]]:
    """Give what judges say in each table."""
    scale = Scale.of([[cell for _, cell in voice.cells] for own in people for voice in own], [])
    found = []
    for (table, keys), own in zip(keyed, people, strict=True):
        voices: list[Voice] = []
        if keys.judge is not None:
            columns = verdict_column(table, keys, how.human, "judge")
            for order, column in enumerate(columns[:2] if len(columns) == 2 else columns[:1]):
                only = _only(table, keys.judge, how.judges)
                voices += _long(table, keys.judge, column, is_judge=True, only=only, order=order)
        elif keys.rater is not None and how.human and not set(how.human) & set(table.columns):
            column = verdict_column(table, keys, (), "rater")[0]
            only = _only(table, keys.rater, how.judges)
            voices += _long(table, keys.rater, column, is_judge=True, only=only, but=how.human)
        elif keys.rater is None:
            voices += _wide(table, keys, own, how, kind, scale)
        found.append(voices)
    return found


def _only(table: RawTable, column: str, judges: Collection[str] | None) -> set[str] | None:
    return None if judges is None else set(matching(judges, sorted(set(table.labels(column)))))


def _wide(
    table: RawTable,
    keys: Keys,
    people: Sequence[Voice],
    how: VerdictReading,
    kind: str,
    scale: Scale,
) -> list[Voice]:
    """Give the columns of a table that are judges."""
    taken = {voice.name for voice in people} | keys.columns
    free = [name for name in table.columns if name not in taken]
    bases = {name[:-3]: name for name in free if name.endswith(ORDERS[0])
             and name[:-3] + ORDERS[1] in free}  # fmt: skip
    paired = {name for both in sides(free).values() for name in both} if kind == PAIRS else set()
    paired -= {base + order for base in bases for order in ORDERS}
    given = None if how.judges is None else set(matching(how.judges, [*free, *bases]))
    voices = []
    left, right = (
        _cells(table, name) if name is not None else [None] * table.n_rows
        for name in (keys.left, keys.right)
    )
    for name in free:
        base = name[:-3] if name.endswith(ORDERS) and name[:-3] in bases else name
        cells = _cells(table, name)
        if given is None:
            odd = says_no_verdict(base) or name in paired or name == how.probability
            named = how.covariates is not None and name in how.covariates
            fits = (
                holds_outcomes(cells, left, right) if kind == PAIRS else holds_grades(cells, scale)
            )
            if odd or named or not fits:
                continue
        elif base not in given and name not in given:
            continue
        order = 1 if base != name and name.endswith(ORDERS[1]) else 0
        voices.append(Voice(base, True, order, name, list(enumerate(cells))))
    return voices


def _made(gathered: Gathered, kind: Literal["points", "pairs"], how: VerdictReading) -> Verdicts:
    voices = sorted(gathered.said)
    notes: list[str] = []
    if kind == PAIRS:
        made = {who: _pair_opinion(gathered, who, notes) for who in voices}
    else:
        made, scale = _graded(gathered, notes)
    used = {column for sheet in gathered.sheets for column in sheet.keys.columns}
    used |= {voice.column for sheet in gathered.sheets for voice in sheet.voices} | {ORDER}
    own = around.units(gathered, how.unit)
    lefts = [side[0] for side in gathered.sides]
    rights = [side[1] for side in gathered.sides]
    named = all(name is not None for name in lefts)
    paired = kind == PAIRS and named and all(name is not None for name in rights)
    left = right = None
    systems: tuple[str, ...] = ()
    if named and (paired or kind == POINTS):
        systems, codes = encode([name or "" for name in (*lefts, *(rights if paired else ()))])
        left, right = codes[: len(lefts)], codes[len(lefts) :] if paired else None
    items, item = encode([key.item for key in gathered.keys])
    for sheet in gathered.sheets:
        notes += [note for note in sheet.table.notes if note not in notes]
    judges = tuple(made[who] for who in voices if who[0])
    for judge in judges:
        silent = int((~judge.said & ~judge.unparsed).sum())
        odd = int(judge.unparsed.sum())
        if odd:
            notes.append(f"{judge.name}: {plural(odd, 'verdict')} could not be understood")
        if silent:
            notes.append(f"{judge.name}: no verdict on {silent:,} of {len(gathered):,} rows")
    return Verdicts(
        kind=kind,
        items=items,
        item=item,
        judges=judges,
        raters=tuple(made[who] for who in voices if not who[0]),
        categories=OF_PAIRS if kind == PAIRS else scale.categories,
        ordered=kind == PAIRS or scale.ordered,
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


def _probability(gathered: Gathered, column: str | None) -> Floats | None:
    if column is None:
        return None
    for number, sheet in enumerate(gathered.sheets):
        if column in sheet.table:
            values = sheet.table.numbers(column, optional=False).tolist()
            cells = around.placed(gathered, number, values)
            return np.array([np.nan if cell is None else cell for cell in cells])
    raise UsageError(f"labels: no column '{column}' of probabilities")


def _once(gathered: Gathered, who: tuple[bool, str], words: Sequence[Word]) -> None:
    """Refuse that somebody says something twice, unless runs are told apart."""
    if len(words) > 1 and not (who[0] and all(gathered.has_runs(word) for word in words)):
        (table, first), (again, second) = (gathered.where(word) for word in words[:2])
        raise InputError(
            f"'{who[1]}' judges the same row that stands {table.place_of(first)} "
            f"(a column 'run' tells repeated runs of a judge; columns={{'task': COL}} tells items "
            "of several sets)",
            path=again.path,
            line=again.line(second),
        )


def _pair_opinion(gathered: Gathered, who: tuple[bool, str], notes: list[str]) -> Opinion:
    said = gathered.said[who]
    how = {sheet: PairColumn.of(word.cell for own in said.values() for word in own
                                if word.sheet == sheet)
           for sheet in {word.sheet for own in said.values() for word in own}}  # fmt: skip
    n = len(gathered)
    points: list[list[list[float]]] = [[[] for _ in range(n)] for _ in range(2)]
    unread = np.zeros((2, n), dtype=bool)
    for (row, order), words in said.items():
        own = [word for word in words if not is_gap(word.cell)]
        _once(gathered, who, own)
        for word in own:
            side = gathered.sides[row]
            side = (side[1], side[0]) if word.flipped else side
            found = how[word.sheet].points(word.cell, *side)
            if found is None:
                unread[order, row] = True
            else:
                points[order][row].append(1 - found if word.flipped else found)
    value, runs = _averaged(points[0])
    label = pair_labels(value, (unread[0] & np.isnan(value)).tolist())
    if runs is not None:
        notes.append(f"{who[1]}: several runs are averaged")
    other = None
    if any(points[1]) or unread[1].any():
        swapped, _ = _averaged(points[1])
        other = pair_labels(swapped, (unread[1] & np.isnan(swapped)).tolist())
    return Opinion(who[1], value, label, other, runs)


def _averaged(rows: Sequence[Sequence[float]]) -> tuple[Floats, Floats | None]:
    """Give the mean of each row, and all runs, runs x rows, where some row has several."""
    most = max((len(own) for own in rows), default=0)
    if most <= 1:
        return np.array([own[0] if own else np.nan for own in rows]), None
    runs = np.full((most, len(rows)), np.nan)
    for row, own in enumerate(rows):
        runs[: len(own), row] = sorted(own)
    n = (~np.isnan(runs)).sum(axis=0)
    mean = np.divide(np.nansum(runs, axis=0), n, out=np.full(len(rows), np.nan), where=n > 0)
    return mean, runs


def _graded(gathered: Gathered, notes: list[str]) -> tuple[dict[tuple[bool, str], Opinion], Scale]:
    cells: dict[tuple[bool, str], list[list[Any]]] = {}
    for who, said in gathered.said.items():
        own: list[list[Any]] = [[] for _ in range(len(gathered))]
        for (row, _), words in said.items():
            told = [word for word in words if not is_gap(word.cell)]
            _once(gathered, who, told)
            own[row] += [word.cell for word in told]
        cells[who] = own
    flat = {who: [cell for row in own for cell in row] for who, own in cells.items()}
    scale = Scale.of(
        [flat[who] for who in flat if not who[0]], [flat[who] for who in flat if who[0]]
    )
    made = {}
    for who, own in cells.items():
        most = max((len(row) for row in own), default=0)
        value, label = scale.read([row[0] if row else None for row in own])
        runs = None
        if most > 1:
            notes.append(f"{who[1]}: several runs are averaged")
            runs, value, label = _runs(own, most, scale)
        made[who] = Opinion(who[1], value, label, None, runs)
    return made, scale


def _runs(own: Sequence[Sequence[Any]], most: int, scale: Scale) -> tuple[Floats, Floats, Codes]:
    """Read every run: the mean of values, the most frequent label (of several the lowest)."""
    read = [scale.read([row[k] if k < len(row) else None for row in own]) for k in range(most)]
    values, labels = np.stack([one[0] for one in read]), np.stack([one[1] for one in read])
    n = (~np.isnan(values)).sum(axis=0)
    mean = np.divide(np.nansum(values, axis=0), n, out=np.full(len(own), np.nan), where=n > 0)
    label = np.full(len(own), MISSING, dtype=np.int32)
    for row in range(len(own)):
        known = labels[:, row][labels[:, row] >= 0]
        if len(known):
            label[row] = np.bincount(known).argmax()
        elif (labels[:, row] != MISSING).any():
            label[row] = labels[:, row].min()
    codes: Floats = np.where(labels >= 0, labels, np.nan)
    runs = np.sort(values if not np.isnan(values).all() else codes, axis=0)
    return runs, mean, label
