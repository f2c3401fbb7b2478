"""Files and frames of verdicts become one :class:`~steelyard.data.verdicts.Verdicts`.

Rows of all tables are joined by item and systems, whichever way round a pair stands; then the words
of every judge and annotator become points or grades.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import Codes, Floats, encode
from steelyard.data.verdicts import MISSING, OF_PAIRS, UNPARSED, Bools, Opinion, Verdicts
from steelyard.formats import arenas, files, frames, registry, tables
from steelyard.formats.arenas import OUTCOME
from steelyard.formats.cells import label, numbers_of
from steelyard.formats.rawtable import RawTable, stacked
from steelyard.formats.reading import Reading
from steelyard.formats.verdicts import judges as speakers
from steelyard.formats.verdicts.judges import PAIRS, Asked, Key, Keyed, Keys, Side, Voice, cells_of
from steelyard.formats.verdicts.words import (
    NAMES,
    SIDE_NOTE,
    TIE,
    OrderedPoints,
    Scale,
    WordColumn,
    agreed,
    is_gap,
    swap_question,
    unknown_words,
)
from steelyard.formats.view import FileView

FEWEST = 10  # units below which rows count as independent, unless a unit is named
UNCLEAR = 0.05  # share of a judge's verdicts from which an unknown word is asked about
LENGTH = "length"
_LENGTHS = frozenset(("chars", "characters", "words", "tokens", "length", "len", "chars_len"))
_MOST_SLICES = 50
_ROWS = ("row", "segment")
Who = tuple[bool, str]  # whether it is a judge, and its name
Indices = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class VerdictReading:
    """What the user said of tables of verdicts.

    ``human`` and ``judges`` are columns, or names in a column ``rater`` or ``judge``; judges None:
    whatever else holds verdicts. ``unit`` is ``auto``, ``item``, ``row`` or a column. ``words`` are
    those for left, right and tie, or ``names``; ``swapped`` says what words of a swapped order
    refer to, ``place`` or ``column``. ``strata`` is a column that is a slice whatever it holds.
    With ``asks`` false, open questions become notes.
    """

    human: Collection[str] = ()
    judges: Collection[str] | None = None
    unit: str = "auto"
    covariates: Collection[str] | None = None
    probability: str | None = None
    strata: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    swapped: str | None = None
    asks: bool = True


def read_verdicts(sources: Sequence[Any], how: VerdictReading) -> Verdicts:
    """Read verdicts of judges and labels of annotators.

    Parameters
    ----------
    sources
        Files or frames: points (``system``, ``item``) or pairs (``left``, ``right``), a column for
        each judge and rater, or a row for each with a column ``judge`` or ``rater``; labels may
        be in a table of their own, with the same items.
    how
        What the user said of them.

    Examples
    --------
    >>> import polars
    >>> frame = polars.DataFrame({"item": [1, 2, 3], "left": ["X", "Y", "X"],
    ...     "right": ["Y", "X", "Y"], "human": ["left", "tie", None], "gpt": ["A", "X", "?"]})
    >>> verdicts = read_verdicts([frame], VerdictReading(human=["human"]))
    >>> verdicts.kind, [judge.name for judge in verdicts.judges], verdicts.judges[0].value.tolist()
    ('pairs', ['gpt'], [1.0, 0.0, nan])
    """
    if not sources:
        raise UsageError("nothing to read: expected at least one input")
    if len(how.words) not in (0, 2, 3) and how.words != (NAMES,):
        raise UsageError(f'words: expected those for left, right and tie, or "{NAMES}"')
    assigned = speakers.assigned_roles(how.columns)
    inputs = _narrowed([table_of(source) for source in sources], how, assigned)
    columns = list(dict.fromkeys(name for table in inputs for name in table.columns))
    unit = None if how.unit in (*_ROWS, "item", "auto") else how.unit
    if unit is not None and unit not in columns:
        raise UsageError(f"unit: no column '{unit}'; {hint(unit, sorted(columns))}")
    named = set(speakers.matching({*how.human, *(how.judges or ())}, columns))
    keyed: Keyed = [(table, speakers.keys_of(table, named, unit, assigned)) for table in inputs]
    tasks = {label(cell) for table, keys in keyed if keys.task for cell in table.columns[keys.task]}
    if len(tasks) <= 1 and "task" not in assigned:  # items of a single task need no prefix
        keyed = [(table, keys._replace(task=None)) for table, keys in keyed]
    asked = _asked(how, keyed, columns)
    people = speakers.people(keyed, asked)
    if how.asks and not any(people):
        raise UsageError(
            "human: which columns are labels of people? Name them (human=COLUMNS), or give a table "
            "with a column 'rater'"
        )
    kind = speakers.kind_of(keyed, people)
    judges = speakers.judges(keyed, people, asked, kind)
    if how.asks and not any(judges):
        raise UsageError(
            "judges: no column holds verdicts beside those of people: "
            'judges=["COLUMN"] names one, words=["LEFT", "RIGHT", "TIE"] gives the words of pairs'
        )
    for table, keys in keyed:
        if keys.item is None and len(keyed) > 1:
            table.fail(
                "no column names the items (item, id, battle, ...), by which tables are joined"
            )
    voices = [(*persons, *others) for persons, others in zip(people, judges, strict=True)]
    sheets = [Sheet.of(table, keys, v) for (table, keys), v in zip(keyed, voices, strict=True)]
    return _verdicts(Gathered(sheets), kind, how)


def describe_verdicts(sources: Sequence[Any], how: VerdictReading) -> Verdicts | None:
    """Read files that look like verdicts, whoever the annotators are; None for anything else."""
    may_hold = False
    for view in (FileView(Path(source)) for source in sources):
        if files.is_folder(view.path):
            return None
        names: Collection[str] = view.names
        if view.kind in ("parquet", "pq"):
            names = _plain(view).columns
        elif registry.foreign(view) is not None or view.is_log:
            return None
        may_hold |= speakers.may_hold_verdicts(names)
    if not may_hold:
        return None
    inputs = _narrowed([table_of(source) for source in sources], how, {})
    if not any(speakers.holds_verdicts(table) for table in inputs):
        return None
    people = dict.fromkeys(name for table in inputs for name in speakers.likely_people(table))
    return read_verdicts(sources, replace(how, human=tuple(people), asks=False))


# -------------------------------------------------------------------------------- tables


def table_of(source: Any) -> RawTable:
    """Read a file, a folder of logs or a frame as one table of verdicts."""
    if not isinstance(source, (str, Path)):
        if not frames.recognise(source):
            raise UsageError(f"expected a file or a frame, got a {type(source).__name__}")
        return frames.read(source)
    view = FileView(Path(source))
    if files.is_folder(view.path):
        logs = registry.runs(view.path)
    elif (form := registry.foreign(view)) is not None:
        logs = [(form, view)]
    else:
        if view.is_log:
            registry.refuse_document(view)
        return _plain(view)
    parts = [form.unfold(log) for form, log in logs]
    whole = logs[0][0].settle(stacked(parts))
    if OUTCOME not in whole:
        return whole
    columns: dict[str, Any] = dict(whole.columns)
    if speakers.GAMES[0] in whole:  # flips say much, so the tool's own rule is not applied
        del columns[OUTCOME]
        prompt = columns.pop("unit")
        columns |= {} if prompt == columns["item"] else {"prompt": prompt}
        return replace(whole, columns=columns, notes=())
    points = [getattr(cell, "outcome", cell) for cell in columns[OUTCOME]]
    # Points as words, which nobody takes for another kind of number.
    columns[OUTCOME] = [arenas.WORDS.get(cell, cell) for cell in points]
    if "item" not in whole and "unit" in whole:
        columns["item"] = columns["unit"]
    return replace(whole, columns=columns)


def _narrowed(
    inputs: Sequence[RawTable], how: VerdictReading, assigned: Mapping[str, str]
) -> list[RawTable]:
    names = {name for table in inputs for name in table.columns}
    for column in (*how.ignore, *(column for column, _ in how.where), *assigned.values()):
        if column not in names:
            raise UsageError(f"no input has a column '{column}'; {hint(column, sorted(names))}")
    reading = Reading(how.where, how.ignore)
    return [reading.narrow(table) for table in inputs]


def _plain(view: FileView) -> RawTable:
    return tables.read(view.path, is_text=lambda _: True)


def _asked(how: VerdictReading, keyed: Keyed, columns: Collection[str]) -> Asked:
    names = set(columns)
    for table, keys in keyed:
        for column in filter(None, (keys.rater, keys.judge)):
            names |= {name for cell in set(cells_of(table, column)) if (name := label(cell))}
    human = speakers.chosen(how.human, names, "human")
    judges = None
    if how.judges is not None:
        orders = speakers.orders_of(columns, pairs=True)
        judges = speakers.chosen(how.judges, names | orders.keys(), "judges")
    both = sorted(set(human) & set(judges or ()))
    if both:
        raise UsageError(f"'{both[0]}' is named as a person and as a judge: which is it?")
    return Asked(human, judges, {*(how.covariates or ()), how.probability}, how.words)


# --------------------------------------------------------------------- rows of all tables


class Sheet(NamedTuple):
    """A table with its keys and voices, and the item and systems of each row."""

    table: RawTable
    keys: Keys
    voices: tuple[Voice, ...]
    items: list[str]
    sides: list[Side]  # left and right of pairs; the system and None of points

    @classmethod
    def of(cls, table: RawTable, keys: Keys, voices: tuple[Voice, ...]) -> Sheet:
        """Name items and systems; rows of a table without items are items."""
        items = [str(row + 1) for row in range(table.n_rows)]
        if keys.item is not None:
            items = table.labels(keys.item)
            if keys.task is not None:
                tasks = table.labels(keys.task)
                items = [f"{task}/{item}" for task, item in zip(tasks, items, strict=True)]
        sides: list[Side] = [(None, None)] * table.n_rows
        if keys.left is not None and keys.right is not None:
            sides = list(zip(table.labels(keys.left), table.labels(keys.right), strict=True))
        elif keys.system is not None:
            sides = [(system, None) for system in table.labels(keys.system)]
        return cls(table, keys, voices, items, sides)

    @property
    def judged(self) -> bool:
        """Whether a judge speaks in it."""
        return any(voice.is_judge for voice in self.voices)


class Statements(NamedTuple):
    """All cells of one judge or annotator, each with its row among all, and where it stands.

    ``flipped`` cells are of rows whose left is our right; ``order`` is 1 where the right output was
    shown first, ``mirrored`` where columns of systems do not show that.
    """

    cells: NDArray[np.object_]
    row: Indices
    order: Indices
    flipped: Bools
    mirrored: Bools
    sheet: Indices
    line: Indices
    repeated: Bools


class Gathered:
    """All rows of all tables, by key, with the statements of every voice.

    A voice may have several cells on a row: it was asked again. ``rows`` are, for each table, the
    rows that its rows are about; -1 where a label is of an item that no table with systems has.
    """

    def __init__(self, sheets: Sequence[Sheet]) -> None:
        self.sheets = sheets
        self.notes: list[str] = []
        keys_of = [speakers.keys_of_rows(sheet.items, sheet.sides) for sheet in sheets]
        side_of: dict[Key, Side] = {}
        both_orders: set[Key] = set()  # pairs that judges saw in both
        whole = [n for n, sheet in enumerate(sheets) if sheet.keys.names_systems]
        # Judges saw what stands left; annotators' tables may have it the other way round.
        for n in sorted(whole or range(len(sheets)), key=lambda n: not sheets[n].judged):
            for key, side in zip(keys_of[n], sheets[n].sides, strict=True):
                if side_of.setdefault(key, side) != side and sheets[n].judged:
                    both_orders.add(key)
        for key in both_orders:
            side_of[key] = min(side_of[key], side_of[key][::-1], key=str)
        self.keys = sorted(side_of)
        self.sides = [side_of[key] for key in self.keys]
        row_of = {key: row for row, key in enumerate(self.keys)}
        self.rows = [
            self._rows_of(sheet, keys, [row_of.get(key, -1) for key in keys])
            for sheet, keys in zip(sheets, keys_of, strict=True)
        ]
        self.turned = [
            np.array([side[1] is not None and row >= 0 and side != self.sides[row]
                      for side, row in zip(sheet.sides, rows.tolist(), strict=True)], dtype=bool)
            for sheet, rows in zip(sheets, self.rows, strict=True)
        ]  # fmt: skip
        columns = {name for sheet in sheets for name in sheet.table.columns}
        both_sides = speakers.sides(columns).values()
        self.other_side = {**dict(both_sides), **{right: left for left, right in both_sides}}
        self.statements = self._heard(
            np.array([key in both_orders for key in self.keys], dtype=bool)
        )

    def __len__(self) -> int:
        return len(self.keys)

    def _rows_of(self, sheet: Sheet, keys: Sequence[Key], rows: list[int]) -> Indices:
        """Find rows by item alone where systems are not named, if an item has but one row."""
        if -1 in rows:
            by_item: dict[str, list[int]] = {}
            for row, key in enumerate(self.keys):
                by_item.setdefault(key[0], []).append(row)
            for line in [line for line, row in enumerate(rows) if row == -1]:
                item = keys[line][0]
                of_item = by_item.get(item, [-1])
                if len(of_item) > 1:
                    sheet.table.fail(
                        f"item '{item}' has {plural(len(of_item), 'row')} of several systems: "
                        "which one is meant? (expected a column that names the system, or left "
                        "and right)",
                        line,
                    )
                rows[line] = of_item[0]
        n_lost = rows.count(-1)
        if n_lost and n_lost == len(rows):
            sheet.table.fail(
                f"item '{keys[0][0]}', as all others here, is in no table that names systems; an "
                f"item there is '{self.keys[0][0]}'",
                0,
            )
        if n_lost:
            lost = f"{plural(n_lost, 'row')} of items that no table with systems has"
            self.notes.append(f"{sheet.table.places}: {lost}: left out")
        return np.array(rows, dtype=np.int64)

    def _heard(self, both_orders: Bools) -> dict[Who, Statements]:
        parts: dict[Who, list[Statements]] = {}
        for number, sheet in enumerate(self.sheets):
            rows, turned = self.rows[number], self.turned[number]
            mirrored = speakers.mirrored_rows(sheet.table, sheet.items, sheet.sides)
            both = (rows >= 0) & both_orders[np.maximum(rows, 0)]
            swapped = mirrored | (both & turned)
            for voice in sheet.voices:
                line = np.array(voice.rows, dtype=np.int64)
                kept = rows[line] >= 0
                line, cells = line[kept], np.empty(len(kept), dtype=object)
                cells[:] = voice.cells
                # A table with a row for each order repeats the labels of annotators.
                repeated = voice.repeated | (not voice.is_judge and (both | mirrored.any())[line])
                statements = Statements(
                    cells=cells[kept],
                    row=rows[line],
                    order=((swapped[line] | voice.swapped) & voice.is_judge).astype(np.int64),
                    flipped=turned[line],
                    mirrored=(mirrored[line] ^ voice.mirrored) & voice.is_judge,
                    sheet=np.full(len(line), number),
                    line=line,
                    repeated=np.broadcast_to(repeated, len(line)),
                )
                parts.setdefault((voice.is_judge, voice.name), []).append(statements)
        return {
            who: Statements(*map(np.concatenate, zip(*several, strict=True)))
            for who, several in parts.items()
        }

    def distinct(self, who: Who, meaning: Sequence[Any]) -> Indices:
        """Return the cells that count, by row; the same again in a column that repeats does not.

        Other repeated verdicts are refused, unless runs of a judge are told apart.
        """
        statements = self.statements[who]
        key = statements.order * len(self) + statements.row
        order = np.argsort(key, kind="stable")
        kept = np.ones(len(key), dtype=bool)
        for index in (np.flatnonzero(np.diff(key[order]) == 0) + 1).tolist():
            first, again = int(order[index - 1]), int(order[index])
            old, new = (self.sheets[statements.sheet[cell]] for cell in (first, again))
            unread = meaning[first] != meaning[first]  # NaN: the cells must be the same
            alike = meaning[first] == meaning[again] or (
                unread and statements.cells[first] == statements.cells[again]
            )
            if statements.repeated[again] and alike:
                kept[again] = False
            elif not (who[0] and old.keys.run is not None and new.keys.run is not None):
                new.table.fail(
                    f"'{who[1]}' judges the same row that stands "
                    f"{old.table.place_of(int(statements.line[first]))} (a column 'run' tells "
                    "repeated runs of a judge, 'swapped' or 'order' both orders; "
                    'columns={"task": COL} tells items of several sets)',
                    int(statements.line[again]),
                )
        return order[kept[order]]

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column by row, from all tables that have it.

        Of columns that both sides of a pair have, the one of our side.
        """
        values: list[Any] = [None] * len(self)
        for sheet, rows, turned in zip(self.sheets, self.rows, self.turned, strict=True):
            is_item = name == sheet.keys.item and name != sheet.keys.unit
            if is_item or name not in sheet.table:
                continue
            cells = cells_of(sheet.table, name)
            other = self.other_side.get(name)
            if other is not None and other in sheet.table and turned.any():
                others = cells_of(sheet.table, other)
                cells = [others[k] if turned[k] else cell for k, cell in enumerate(cells)]
            for row, cell in zip(rows.tolist(), cells, strict=True):
                if row >= 0 and is_gap(values[row]):
                    values[row] = cell
        return values

    def numbers(self, name: str) -> Floats | None:
        """Return a column of numbers by row; None where it holds none."""
        values = numbers_of([None if is_gap(cell) else cell for cell in self.column(name)])
        return None if values is None or np.isnan(values).all() else values


# ------------------------------------------------------------------------------- opinions


def _of_pairs(gathered: Gathered, how: VerdictReading, notes: list[str]) -> dict[Who, Opinion]:
    """Read who won, in the words of everybody; annotators settle what judges leave open."""

    def ask(question: str) -> None:
        if how.asks:
            raise UsageError(question)
        notes.append(question)

    statements = gathered.statements
    names = {(v.is_judge, v.name): v.column for sheet in gathered.sheets for v in sheet.voices}
    columns = {}
    for who, heard in sorted(statements.items()):
        cells = zip(heard.row.tolist(), heard.flipped.tolist(), strict=True)
        sides = [gathered.sides[row][:: -1 if flip else 1] for row, flip in cells]
        lefts, rights = [side[0] for side in sides], [side[1] for side in sides]
        columns[who] = WordColumn(names[who], heard.cells.tolist(), lefts, rights)
    points: dict[Who, OrderedPoints] = {}
    for who, outcomes in agreed(columns, how.words, ask).items():
        read = OrderedPoints.of(outcomes, columns[who], statements[who].mirrored)
        ours = np.where(statements[who].flipped, 1 - read.values, read.values)
        points[who] = read._replace(values=ours)
        unknown = unknown_words(columns[who], read.values, UNCLEAR if who[0] else 0)
        if unknown is not None:
            ask(unknown)
    if how.swapped is None:
        question = swap_question(_beside_usual(gathered, points))
        if question is not None:
            ask(question)
        if any(read.by_side.any() for read in points.values()):
            notes.append(SIDE_NOTE)
    return {
        who: _of_pair(gathered, who, points[who].read(how.swapped), notes) for who in statements
    }


def _beside_usual(
    gathered: Gathered, points: Mapping[Who, OrderedPoints]
) -> list[tuple[OrderedPoints, Floats]]:
    """Return points of everybody beside their own in the usual order, or else the annotators'."""
    people = [who for who in points if not who[0]]
    usual = np.full(len(gathered), np.nan)
    if people:
        rows = np.concatenate([gathered.statements[who].row for who in people])
        values = np.concatenate([points[who].values for who in people])
        usual = _averaged(rows, values, len(gathered))[0]
    readings = []
    for who, read in points.items():
        heard, own = gathered.statements[who], usual.copy()
        plain = ~heard.mirrored & ~np.isnan(read.values)
        own[heard.row[plain]] = read.values[plain]
        readings.append((read, own[heard.row]))
    return readings


def _of_pair(gathered: Gathered, who: Who, points: Floats, notes: list[str]) -> Opinion:
    """Return the opinion of one judge or annotator on pairs: the mean of both orders."""
    heard, n = gathered.statements[who], len(gathered)
    cells = gathered.distinct(who, points.tolist())
    usual, swapped = (cells[heard.order[cells] == order] for order in (0, 1))
    value, runs = _averaged(heard.row[usual], points[usual], n)
    if runs is not None:
        notes.append(f"{who[1]}: several runs are averaged")
    labels = _pair_labels(value, heard.row[usual], points[usual])
    if not len(swapped):
        return Opinion(who[1], value, labels, None, runs)
    other, _ = _averaged(heard.row[swapped], points[swapped], n)
    other_labels = _pair_labels(other, heard.row[swapped], points[swapped])
    mean = np.where(np.isnan(other), value, (value + other) / 2)
    mean = np.where(np.isnan(value), other, mean)
    return Opinion(who[1], mean, labels, other_labels, runs)


def _pair_labels(means: Floats, row: Indices, points: Floats) -> Codes:
    """Return labels of mean points: who got more than half; ``points`` are of single cells."""
    right, tie, left = (OF_PAIRS.index(name) for name in ("right", "tie", "left"))
    labels = np.where(means > TIE, left, np.where(means == TIE, tie, right))
    labels = np.where(np.isnan(means), MISSING, labels)
    unread = row[np.isnan(points)]
    labels[unread[np.isnan(means[unread])]] = UNPARSED
    return labels.astype(np.int32)


def _averaged(row: Indices, values: Floats, n: int) -> tuple[Floats, Floats | None]:
    """Return the mean of each row, and all runs (runs x rows) where some row has several.

    Runs are sorted by value, so that their order changes nothing.
    """
    finite = ~np.isnan(values)
    row, values = row[finite], values[finite]
    counts = np.bincount(row, minlength=n)
    most = int(counts.max(initial=0))
    mean = np.full(n, np.nan)
    if most <= 1:
        mean[row] = values
        return mean, None
    order = np.lexsort((values, row))
    row, values = row[order], values[order]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    runs = np.full((most, n), np.nan)
    runs[np.arange(len(row)) - starts[row], row] = values
    np.divide(np.nansum(runs, axis=0), counts, out=mean, where=counts > 0)
    return mean, runs


def _of_grades(gathered: Gathered, who: Who, scale: Scale, notes: list[str]) -> Opinion:
    """Return the opinion of one judge or annotator on single outputs."""
    heard, n = gathered.statements[who], len(gathered)
    values, labels = scale.read(heard.cells.tolist())
    worded = bool(np.isnan(values).all())  # labels that stand for no number
    cells = gathered.distinct(who, (labels if worded else values).tolist())
    row, values, labels = heard.row[cells], values[cells], labels[cells]
    value, runs = _averaged(row, values, n)
    if worded:
        _, runs = _averaged(row, np.where(labels >= 0, labels, np.nan), n)
    if runs is not None:
        notes.append(f"{who[1]}: several runs are averaged")
    # Of several labels the most frequent one, then the lowest.
    k = max(len(scale.categories), 1)
    modes = np.full(n, MISSING, dtype=np.int32)
    unread = labels < 0
    modes[row[unread]] = labels[unread]
    counts = np.bincount(row[~unread] * k + labels[~unread], minlength=n * k).reshape(n, k)
    labelled = counts.max(axis=1) > 0
    modes[labelled] = counts.argmax(axis=1)[labelled]
    return Opinion(who[1], value, modes, None, runs)


def _left_out(opinion: Opinion, *, is_judge: bool) -> list[str]:
    silent = int((~opinion.answered & ~opinion.unparsed).sum())
    other = () if opinion.other_order is None else opinion.other_order
    odd = int(opinion.unparsed.sum() + np.count_nonzero(np.asarray(other) == UNPARSED))
    rest = "" if is_judge else ": left out"
    notes = [f"{plural(odd, 'verdict')} could not be understood{rest}"] if odd else []
    notes += [f"no verdict on {silent:,} of {len(opinion):,} rows"] if silent and is_judge else []
    return [f"{opinion.name}: {note}" for note in notes]


def _verdicts(
    gathered: Gathered, kind: Literal["points", "pairs"], how: VerdictReading
) -> Verdicts:
    notes: list[str] = []
    statements, sheets = gathered.statements, gathered.sheets
    categories: tuple[str, ...] = OF_PAIRS
    ordered, is_pairs = True, kind == PAIRS
    if is_pairs:
        opinions = _of_pairs(gathered, how, notes)
    else:
        groups = [[heard.cells.tolist() for who, heard in statements.items() if who[0] == is_judge]
                  for is_judge in (False, True)]  # fmt: skip
        scale = Scale.of(*groups) if groups[0] else Scale.of(groups[1], [])
        # Judges first: where rows are there twice, it is the judge that was asked again.
        speaking = sorted(statements, key=lambda who: (not who[0], who[1]))
        opinions = {who: _of_grades(gathered, who, scale, notes) for who in speaking}
        categories, ordered = scale.categories, scale.ordered
    judges, raters = (
        tuple(opinions[who] for who in sorted(opinions) if who[0] == is_judge)
        for is_judge in (True, False)
    )
    _check_joined(gathered, judges, raters)
    used: set[str | None] = {speakers.ORDER}
    for sheet in sheets:
        flags = speakers.order_flags(sheet.table) or (None,)
        used |= {*sheet.keys, *(voice.column for voice in sheet.voices), flags[0]}
    names = dict.fromkeys(name for sheet in sheets for name in sheet.table.columns)
    free = [name for name in names if name not in used]
    units, unit, unit_name = _units(gathered, how.unit)
    systems, left, right = _systems(gathered, is_pairs=is_pairs)
    items, item = encode([key[0] for key in gathered.keys])
    notes += dict.fromkeys((*gathered.notes, *(note for s in sheets for note in s.table.notes)))
    for opinion in (*judges, *raters):
        notes += _left_out(opinion, is_judge=opinion in judges)
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
        units=units,
        unit=unit,
        unit_name=unit_name,
        covariates=_covariates(gathered, free, how.covariates, is_pairs=is_pairs),
        slices=_slices(gathered, free, how.strata),
        probability=_probability(gathered, how.probability),
        notes=tuple(notes),
    )


def _systems(
    gathered: Gathered, *, is_pairs: bool
) -> tuple[tuple[str, ...], Codes | None, Codes | None]:
    """Return the systems and whose outputs each row is about; none where some row does not say."""
    lefts, rights = ([side[k] for side in gathered.sides] for k in (0, 1))
    if None in lefts or (is_pairs and None in rights):
        return (), None, None
    names = (*lefts, *rights) if is_pairs else lefts
    systems, codes = encode([name or "" for name in names])
    return systems, codes[: len(lefts)], codes[len(lefts) :] if is_pairs else None


def _check_joined(gathered: Gathered, judges: Sequence[Opinion], raters: Sequence[Opinion]) -> None:
    """Refuse tables of which none is about what another one is about."""
    labelled, judged = (
        np.any([np.zeros(len(gathered), dtype=bool), *(opinion.answered for opinion in group)], 0)
        for group in (raters, judges)
    )
    nobody = not labelled.any() or not judged.any()
    if len(gathered.sheets) == 1 or nobody or (labelled & judged).any():
        return
    label_key, verdict_key = (
        ", ".join(filter(None, gathered.keys[int(rows.argmax())])) for rows in (labelled, judged)
    )
    sheets = [sheet for sheet in gathered.sheets if not sheet.judged] or gathered.sheets
    sheets[0].table.fail(
        f"no label is of a row that a judge judged: labels are of ({label_key}) and others, "
        f"verdicts of ({verdict_key}) and others"
    )


# ------------------------------------------------- what rows share, and what could bias a judge


def _units(gathered: Gathered, wanted: str) -> tuple[tuple[str, ...], Codes | None, str]:
    """Find what rows share: a column that is named, prompts or documents, or items.

    Returns names of units, a code per row (None where rows are independent), and what a unit is.
    """
    if wanted in _ROWS:
        return (), None, "row"
    named = wanted not in ("auto", "item")
    shared: list[Any] = [None] * len(gathered)
    unit_name = "prompt"
    for sheet in gathered.sheets if wanted != "item" else ():
        column = sheet.keys.unit
        if column is not None:
            sheet.table.texts(column)  # refuses what is no text, with its line
            cells = [label(cell) or None for cell in gathered.column(column)]
            shared = [new if old is None else old for old, new in zip(shared, cells, strict=True)]
            name = sheet.table.given.get(column, column)
            is_document = name.startswith("doc")
            unit_name = "document" if is_document else "prompt" if "prompt" in name else name
    if named and None in shared:
        raise UsageError(f"unit: column '{wanted}' is empty, or missing, for some rows")
    if None not in shared and (named or FEWEST <= len(set(shared)) < len(shared)):
        return *encode(shared), unit_name
    items = [key[0] for key in gathered.keys]
    if len(set(items)) < len(items) and (wanted == "item" or len(set(items)) >= FEWEST):
        return *encode(items), "item"
    return (), None, "row"


def _covariates(
    gathered: Gathered, free: Sequence[str], wanted: Collection[str] | None, *, is_pairs: bool
) -> dict[str, Floats]:
    """Find numbers that could bias a judge: of pairs, differences of columns that both sides have.

    ``wanted`` names columns, or what both sides call them; None: what looks like one.
    """
    covariates: dict[str, Floats] = {}
    both = speakers.sides(free) if is_pairs else {}
    for base, (left, right) in both.items():
        first, second = gathered.numbers(left), gathered.numbers(right)
        if first is not None and second is not None and (wanted is None or base in wanted):
            name, difference = base, first - second
            if base in _LENGTHS:  # over their sum, from -1 to 1
                name, total = LENGTH, first + second
                difference = np.divide(difference, total, out=total * 0, where=total > 0)
            covariates.setdefault(name, difference)
    of_sides = {name for columns in both.values() for name in columns}
    usual = () if is_pairs else _LENGTHS
    for name in free:
        if name in of_sides or name not in (usual if wanted is None else wanted):
            continue
        values = gathered.numbers(name)
        if values is None and wanted is not None:
            raise UsageError(f"covariate '{name}' holds no numbers")
        if values is not None:
            covariates.setdefault(LENGTH if name in _LENGTHS else name, values)
    for name in wanted or ():
        if name not in covariates and not (name in _LENGTHS and LENGTH in covariates):
            names = {name for sheet in gathered.sheets for name in sheet.table.columns}
            raise UsageError(f"no covariate '{name}'; {hint(name, sorted(names))}")
    return covariates


def _slices(
    gathered: Gathered, free: Sequence[str], strata: str | None
) -> Mapping[str, tuple[str, ...]]:
    """Find columns of few words, which split the rows; ``strata`` is one whatever it holds."""
    slices: dict[str, tuple[str, ...]] = {}
    for name in free:
        cells = gathered.column(name)
        if name == strata:
            slices[name] = tuple(label(cell) or "none" for cell in cells)
            continue
        words = [label(cell) for cell in cells if not is_gap(cell)]
        complete = len(words) == len(gathered) and None not in words
        few = 2 <= len(set(words)) <= min(_MOST_SLICES, max(2, len(words) // 5))
        if complete and few and numbers_of(words) is None:
            slices[name] = tuple(word or "" for word in words)
    return slices


def _probability(gathered: Gathered, column: str | None) -> Floats | None:
    if column is None:
        return None
    holding = [sheet.table for sheet in gathered.sheets if column in sheet.table]
    if not holding:
        raise UsageError(f"labels: no column '{column}' of probabilities")
    holding[0].numbers(column, optional=False)  # refuses words, with their line
    values = gathered.numbers(column)
    return np.full(len(gathered), np.nan) if values is None else values
