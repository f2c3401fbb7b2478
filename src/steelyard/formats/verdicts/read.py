"""Files and frames of verdicts become one :class:`~steelyard.data.verdicts.Verdicts`.

Tables are keyed by item and systems, whichever way round a pair stands; what every judge and person
says is brought to the same rows, and words become points or grades.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.text import plural
from steelyard.data.judgements import Codes, Floats, encode
from steelyard.data.verdicts import MISSING, OF_PAIRS, UNPARSED, Bools, Opinion, Verdicts
from steelyard.formats import arenas, files, frames, registry, tables
from steelyard.formats.arenas import JUDGE, OUTCOME, judge_of
from steelyard.formats.cells import label, numbers_of
from steelyard.formats.format import Foreign, ForeignFormat, ForeignTable
from steelyard.formats.rawtable import RawTable, from_rows, stacked
from steelyard.formats.reading import Reading
from steelyard.formats.verdicts import judges as speakers
from steelyard.formats.verdicts.judges import PAIRS, Asked, Key, Keyed, Keys, Side, Voice, cells_of
from steelyard.formats.verdicts.words import (
    ASK_DIGITS,
    NAMES,
    SIDE_NOTE,
    TIE,
    NameEvidence,
    Outcomes,
    Scale,
    is_gap,
    names_column,
    swap_question,
)
from steelyard.formats.view import FileView, Record, records

FEWEST = 10  # units below which rows are taken for independent, unless one is named
LENGTH = "length"
BY_SIDE, BY_COLUMN = "place", "column"  # what words of a swapped order refer to
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
    refer to, ``place`` or ``column``. With ``asks`` false, what is open becomes a note.
    """

    human: Collection[str] = ()
    judges: Collection[str] | None = None
    unit: str = "auto"
    covariates: Collection[str] | None = None
    probability: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    swapped: str | None = None
    asks: bool = True


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
    keyed = _without_single_task(keyed, assigned)
    asked = _asked(how, keyed, columns)
    people = speakers.people(keyed, asked)
    if how.asks and not any(people):
        raise UsageError(
            "human: which columns are labels of people? Name them (human=COLUMNS), or give a table "
            "with a column 'rater'"
        )
    kind = speakers.kind_of(keyed, people)
    judges = speakers.judges(keyed, people, asked, kind)
    sheets = [
        Sheet(table, keys, (*persons, *others))
        for (table, keys), persons, others in zip(keyed, people, judges, strict=True)
    ]
    if how.asks and not any(sheet.judged for sheet in sheets):
        raise UsageError("judges: no column holds verdicts beside those of people; name one")
    for sheet in sheets:
        if sheet.keys.item is None and len(sheets) > 1:
            raise InputError(
                "no column names the items (item, id, battle, ...), by which tables are joined",
                path=sheet.table.path,
            )
    return _verdicts(Gathered(sheets), kind, how)


def describe_verdicts(sources: Sequence[Any], how: VerdictReading) -> Verdicts | None:
    """Read files that look like verdicts, whoever the people are; None for anything else."""
    views = [FileView(Path(source)) for source in sources]
    for view in views:
        if files.is_folder(view.path) or registry.foreign(view) is not None or view.is_log:
            return None
    if not any(speakers.may_hold_verdicts(view.names) for view in views):
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
        runs = registry.runs(view.path)
        return _settled(runs[0][0], [_unfolded(form, run) for form, run in runs])
    form = registry.foreign(view)
    if form is not None:
        return _settled(form, [_unfolded(form, view)])
    if view.is_log:
        registry.refuse_document(view)
    return tables.read(view.path, is_text=lambda _: True)


def _narrowed(
    inputs: Sequence[RawTable], how: VerdictReading, assigned: Mapping[str, str]
) -> list[RawTable]:
    """Keep the rows and columns that are wanted; a column that the user named must be there."""
    names = {name for table in inputs for name in table.columns}
    for column in (*how.ignore, *(column for column, _ in how.where), *assigned.values()):
        if column not in names:
            raise UsageError(f"no input has a column '{column}'; {hint(column, sorted(names))}")
    reading = Reading(how.where, how.ignore)
    return [reading.narrow(table) for table in inputs]


def _unfolded(form: Foreign, view: FileView) -> RawTable:
    if form is arenas.fastchat_pairs:
        return _in_both_orders(view, _fastchat_row)
    if form is arenas.arena_hard_judgments:
        return _in_both_orders(view, _arena_hard_row)
    if isinstance(form, ForeignFormat):
        return form.unfold(view)
    assert isinstance(form, ForeignTable)
    return form.unfold(tables.read(view.path, is_text=lambda _: True))


def _settled(form: Foreign, parts: list[RawTable]) -> RawTable:
    """Put the logs of a tool under each other; outcomes of battles become words."""
    whole = form.settle(stacked(parts))
    if OUTCOME not in whole:
        return whole
    points = [getattr(cell, "outcome", cell) for cell in whole.columns[OUTCOME]]
    cells = [_word(cell) for cell in points]
    items = {} if "item" in whole or "unit" not in whole else {"item": whole.columns["unit"]}
    return replace(whole, columns={**items, **whole.columns, OUTCOME: cells})


def _word(points: Any) -> Any:
    """Write points as a word, which nobody takes for another kind of number."""
    return {1.0: "left", TIE: "tie", 0.0: "right"}.get(points, points)


def _in_both_orders(view: FileView, row_of: Any) -> RawTable:
    """Read a log of pairs in both orders: flips, which its battles hide, say much of a judge."""
    rows, lines = [], []
    for record in records(view):
        rows.append(row_of(record))
        lines.append(record.line)
    if not rows:
        view.fail("holds no battle")
    return from_rows(view.path, rows, lines.__getitem__)


def _fastchat_row(record: Record) -> dict[str, Any]:
    question, turn = record.name("question_id"), record.name("turn", 1)
    winners = {"model_1": "left", "model_2": "right", "tie": "tie", "error": "error"}
    games = [winners[record.choice(key, winners)] for key in ("g1_winner", "g2_winner")]
    return {
        "item": f"{question}/{turn}", "prompt": question, JUDGE: judge_of(record),
        "left": record.name("model_1"), "right": record.name("model_2"),
        **dict(zip(speakers.GAMES, games, strict=True)),
    }  # fmt: skip


def _arena_hard_row(record: Record) -> dict[str, Any]:
    """Take the model for the left one; the first game shows the baseline first."""
    is_named = record.get("baseline") is not None
    games = zip(record.elements("games"), arenas.games_of(record), strict=True)
    baseline_first, model_first = (
        _word(outcome[0]) if outcome is not None else None if game is None else "no verdict"
        for game, outcome in games
    )  # fmt: skip
    return {
        "item": record.name("uid" if "uid" in record.values else "question_id"),
        JUDGE: judge_of(record), "left": record.name("model"),
        "right": record.name("baseline") if is_named else arenas.BASELINE,
        "category": record.text("category"),
        **dict(zip(speakers.GAMES, (model_first, baseline_first), strict=True)),
    }  # fmt: skip


def _without_single_task(keyed: Keyed, assigned: Mapping[str, str]) -> Keyed:
    """Leave a column of tasks alone where all rows are of one, unless the user named it."""
    tasks = [table.columns[keys.task] for table, keys in keyed if keys.task is not None]
    if "task" in assigned or len({label(cell) for cells in tasks for cell in cells}) > 1:
        return keyed
    return [(table, keys._replace(task=None)) for table, keys in keyed]


def _asked(how: VerdictReading, keyed: Keyed, columns: Collection[str]) -> Asked:
    """Find the columns, and the names in columns of raters and judges, that are meant."""
    names = {
        name
        for table, keys in keyed
        for column in (keys.rater, keys.judge)
        if column is not None
        for cell in set(cells_of(table, column))
        if (name := label(cell)) is not None
    }
    orders = speakers.orders_of(columns, pairs=True)
    others = {*(how.covariates or ())} | ({how.probability} if how.probability else set())
    human = speakers.chosen(how.human, {*columns, *names}, "human")
    judges = None
    if how.judges is not None:
        judges = speakers.chosen(how.judges, {*columns, *names, *orders}, "judges")
    both = sorted(set(human) & set(judges or ()))
    if both:
        raise UsageError(f"'{both[0]}' is named as a person and as a judge: which is it?")
    return Asked(human, judges, others)


# --------------------------------------------------------------------- rows of all tables


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
        items = self.table.labels(keys.item)
        if keys.task is None:
            return items
        return [f"{task}/{item}" for task, item in zip(self.table.labels(keys.task), items,
                                                       strict=True)]  # fmt: skip

    def sides(self) -> list[Side]:
        """Name the systems of each row: one of points, left and right of pairs."""
        keys = self.keys
        if keys.left is not None and keys.right is not None:
            left, right = self.table.labels(keys.left), self.table.labels(keys.right)
            return list(zip(left, right, strict=True))
        if keys.system is not None:
            return [(system, None) for system in self.table.labels(keys.system)]
        return [(None, None)] * self.table.n_rows


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """All cells of one judge or person, each with its row among all, and where it stands.

    ``flipped`` cells are of rows whose left is our right; ``order`` is 1 where the right output was
    shown first, ``mirrored`` where columns of systems do not show that.
    """

    cells: list[Any]
    row: Indices
    order: Indices
    flipped: Bools
    mirrored: Bools
    sheet: Indices
    line: Indices
    repeated: Bools


class Gathered:
    """All rows of all tables, by key, with what every voice says of them.

    ``statements[is_judge, name]`` may have several cells on a row: where somebody was asked again.
    ``rows`` are, for each table, the rows that its rows are about; -1 where a label is of an item
    that no table with systems has.
    """

    def __init__(self, sheets: Sequence[Sheet]) -> None:
        self.sheets = sheets
        self.notes: list[str] = []
        sides_of = [sheet.sides() for sheet in sheets]
        keys_of = [
            speakers.keys_of_rows(sheet.items(), sides_of[n]) for n, sheet in enumerate(sheets)
        ]
        side_of: dict[Key, Side] = {}
        shown: dict[Key, set[Side]] = {}  # by judges, where they saw a pair in both orders
        whole = [n for n, sheet in enumerate(sheets) if not sheet.by_item] or range(len(sheets))
        # Judges saw what stands left; people's tables may have it the other way round.
        for n in sorted(whole, key=lambda n: not sheets[n].judged):
            for key, side in zip(keys_of[n], sides_of[n], strict=True):
                if side_of.setdefault(key, side) != side and sheets[n].judged:
                    shown.setdefault(key, {side_of[key]}).add(side)
        for key, both in shown.items():
            side_of[key] = min(both, key=str)
        self.keys = sorted(side_of)
        self.sides = [side_of[key] for key in self.keys]
        self._row = {key: row for row, key in enumerate(self.keys)}
        self._both_orders = np.array([key in shown for key in self.keys], dtype=bool)
        self.rows = [self._rows_of(n, keys) for n, keys in enumerate(keys_of)]
        self.turned = [self._turned(n, sides) for n, sides in enumerate(sides_of)]
        self.statements = self._heard()

    def __len__(self) -> int:
        return len(self.keys)

    def _rows_of(self, number: int, keys: Sequence[Key]) -> Indices:
        """Find the row that each row of a table is about."""
        rows = [self._row.get(key, -1) for key in keys]
        if -1 in rows:
            self._by_item(number, keys, rows)
        return np.array(rows, dtype=np.int64)

    def _by_item(self, number: int, keys: Sequence[Key], rows: list[int]) -> None:
        table, n_rows = self.sheets[number].table, Counter(key[0] for key in self.keys)
        row_of = {key[0]: row for row, key in enumerate(self.keys)}
        for line, row in enumerate(rows):
            item = keys[line][0]
            if row == -1 and n_rows[item] == 1:
                rows[line] = row_of[item]
            elif row == -1 and n_rows[item] > 1:
                table.fail(
                    f"item '{item}' has {plural(n_rows[item], 'row')} of several systems: which "
                    "one is meant? (expected a column that names the system, or left and right)",
                    line,
                )
        n_lost = rows.count(-1)
        if n_lost == len(rows):
            table.fail(
                f"item '{keys[0][0]}', as all others here, is in no table that names systems; an "
                f"item there is '{self.keys[0][0]}'",
                0,
            )
        if n_lost:
            rows_lost = plural(n_lost, "row")
            self.notes.append(
                f"{table.places}: {rows_lost} of items that no table with systems has: left out"
            )

    def _turned(self, number: int, sides: Sequence[Side]) -> Bools:
        """Tell which rows of a table have our left on their right."""
        turned = [
            side[1] is not None and row >= 0 and side != self.sides[row]
            for side, row in zip(sides, self.rows[number].tolist(), strict=True)
        ]
        return np.array(turned, dtype=bool)

    def _heard(self) -> dict[Who, Statements]:
        """Bring together what every voice says in all tables."""
        parts: dict[Who, list[Statements]] = {}
        for number, sheet in enumerate(self.sheets):
            rows, turned = self.rows[number], self.turned[number]
            mirrored = speakers.mirrored_rows(sheet.table, sheet.items(), sheet.sides())
            both = (rows >= 0) & self._both_orders[np.maximum(rows, 0)]
            swapped = mirrored | (both & turned)
            for voice in sheet.voices:
                line = np.array(voice.rows, dtype=np.int64)
                kept = rows[line] >= 0
                line = line[kept]
                is_swapped = (swapped[line] | voice.swapped) & voice.is_judge
                # A table that has a row for each order says what people said in both.
                repeated = voice.repeated or (not voice.is_judge and (both | mirrored.any())[line])
                statements = Statements(
                    cells=[cell for cell, keep in zip(voice.cells, kept, strict=True) if keep],
                    row=rows[line],
                    order=is_swapped.astype(np.int64),
                    flipped=turned[line],
                    mirrored=(mirrored[line] ^ voice.mirrored) & voice.is_judge,
                    sheet=np.full(len(line), number),
                    line=line,
                    repeated=np.broadcast_to(repeated, len(line)),
                )
                parts.setdefault((voice.is_judge, voice.name), []).append(statements)
        return {who: _joined(several) for who, several in parts.items()}

    def refuse_again(self, who: str, statements: Statements, first: int, again: int) -> None:
        """Refuse that somebody judges a row twice, where nothing tells runs apart."""
        table, other = (self.sheets[int(statements.sheet[index])].table for index in (first, again))
        raise InputError(
            f"'{who}' judges the same row that stands {table.place_of(int(statements.line[first]))}"
            " (a column 'run' tells repeated runs of a judge, 'swapped' or 'order' both orders; "
            'columns={"task": COL} tells items of several sets)',
            path=other.path,
            line=other.line(int(statements.line[again])),
        )

    def placed(self, number: int, cells: Sequence[Any]) -> list[Any]:
        """Bring the cells of a column into the rows that they are about."""
        values: list[Any] = [None] * len(self)
        for row, cell in zip(self.rows[number].tolist(), cells, strict=True):
            if row >= 0 and values[row] is None:
                values[row] = cell
        return values


def _joined(parts: Sequence[Statements]) -> Statements:
    if len(parts) == 1:
        return parts[0]
    names = ("row", "order", "flipped", "mirrored", "sheet", "line", "repeated")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Statements(cells=[cell for part in parts for cell in part.cells], **columns)


# ------------------------------------------------------------------------------- opinions


class _Points(NamedTuple):
    """Points of our left side by cell, as columns have the sides.

    ``by_side`` are words of a swapped order for the output shown first or second, ``by_column``
    those that name a column (``model_a``); names of systems are neither.
    """

    values: Floats
    by_side: Bools
    by_column: Bools


class _Pairs:
    """What everybody says of pairs."""

    def __init__(self, gathered: Gathered, how: VerdictReading, notes: list[str]) -> None:
        self.gathered, self.how, self.notes = gathered, how, notes
        outcomes = self._outcomes()
        self.points = {who: self._points(who, column) for who, column in outcomes.items()}
        if how.swapped is None:
            self._check_swapped()

    def _ask(self, question: str) -> None:
        if self.how.asks:
            raise UsageError(question)
        self.notes.append(question)

    def _outcomes(self) -> dict[Who, Outcomes]:
        """Find how the words of everybody are meant: people first, who settle what is open."""
        statements, sheets = self.gathered.statements, self.gathered.sheets
        columns = {(v.is_judge, v.name): v.column for sheet in sheets for v in sheet.voices}
        words = () if self.how.words == (NAMES,) else self.how.words
        outcomes = {
            who: Outcomes.of(statements[who].cells, columns[who], words)
            for who in sorted(statements)
        }
        outcomes = {who: column.settled(outcomes.values()) for who, column in outcomes.items()}
        vague = [columns[who] for who, column in outcomes.items() if column.digits == "open"]
        if vague:
            self._ask(f"column '{vague[0]}' {ASK_DIGITS}")
        if self.how.words == (NAMES,):
            return outcomes
        evidence = {
            who: NameEvidence.of(column, zip(statements[who].cells, *self._sides(who), strict=True))
            for who, column in outcomes.items()
        }
        for who, column in outcomes.items():
            names = evidence[who]
            if names.is_open:  # what others write decides
                names = names.beside(evidence.values())
            if names.is_open:
                self._ask(f"{who[1]}: {names.question()}")
            outcomes[who] = replace(column, names=names.names)
        return outcomes

    def _sides(self, who: Who) -> tuple[list[str | None], list[str | None]]:
        """Name the left and right system of each cell, as its own row has them."""
        statements = self.gathered.statements[who]
        sides = [self.gathered.sides[row] for row in statements.row.tolist()]
        turned = statements.flipped.tolist()
        left = [side[flip] for side, flip in zip(sides, turned, strict=True)]
        right = [side[not flip] for side, flip in zip(sides, turned, strict=True)]
        return left, right

    def _points(self, who: Who, outcomes: Outcomes) -> _Points:
        statements = self.gathered.statements[who]
        points, by_name = outcomes.points(statements.cells, *self._sides(who))
        of_columns = {cell: names_column(cell) for cell in set(statements.cells)}
        by_column = np.array([of_columns[cell] for cell in statements.cells], dtype=bool)
        swapped = statements.mirrored & ~by_name
        values = np.where(statements.flipped, 1 - points, points)
        return _Points(values, swapped & ~by_column, swapped & by_column)

    def _check_swapped(self) -> None:
        """Ask what words of a swapped order refer to, if the data contradict the usual reading."""
        for of_columns in (False, True):
            counts = self._agreements(of_columns=of_columns)
            question = swap_question(*counts, of_columns=of_columns)
            if question is not None:
                self._ask(question)
        if any(points.by_side.any() for points in self.points.values()):
            self.notes.append(SIDE_NOTE)

    def _agreements(self, *, of_columns: bool) -> tuple[int, int]:
        """Count how often decided verdicts of the swapped order agree with the usual one.

        Both readings, by column and by the side shown; where there is no usual order, with people.
        """
        people = self._people()
        n_column = n_side = 0
        for who, points in self.points.items():
            statements = self.gathered.statements[who]
            usual = people.copy()
            plain = ~statements.mirrored & ~np.isnan(points.values)
            usual[statements.row[plain]] = points.values[plain]
            chosen = points.by_column if of_columns else points.by_side
            swapped, beside = points.values[chosen], usual[statements.row[chosen]]
            decided = (np.abs(swapped - TIE) > 0) & (np.abs(beside - TIE) > 0)
            same = (swapped > TIE) == (beside > TIE)
            n_column += int((decided & same).sum())
            n_side += int((decided & ~same).sum())
        return n_column, n_side

    def _people(self) -> Floats:
        """Average what people say of each row."""
        total, count = np.zeros(len(self.gathered)), np.zeros(len(self.gathered))
        for who, points in self.points.items():
            if not who[0]:
                finite = ~np.isnan(points.values)
                rows = self.gathered.statements[who].row[finite]
                np.add.at(total, rows, points.values[finite])
                np.add.at(count, rows, 1)
        means = np.full(len(total), np.nan)
        np.divide(total, count, out=means, where=count > 0)
        return means

    def opinion(self, who: Who) -> Opinion:
        """Return the opinion of a judge or person."""
        statements, n = self.gathered.statements[who], len(self.gathered)
        points, by_side, by_column = self.points[who]
        if self.how.swapped == BY_SIDE:
            by_side = by_side | by_column
        if self.how.swapped != BY_COLUMN:
            points = np.where(by_side, 1 - points, points)
        cells = _distinct(self.gathered, who, statements, points.tolist())
        in_order = [cells[statements.order[cells] == order] for order in (0, 1)]
        (value, runs), (other, _) = (
            _averaged(statements.row[index], points[index], n) for index in in_order
        )
        labels = [
            _pair_labels(mean, statements.row[index][np.isnan(points[index])])
            for mean, index in zip((value, other), in_order, strict=True)
        ]
        if runs is not None:
            self.notes.append(f"{who[1]}: several runs are averaged")
        if not len(in_order[1]):
            return Opinion(who[1], value, labels[0], None, runs)
        mean = np.where(np.isnan(other), value, (value + other) / 2)
        mean = np.where(np.isnan(value), other, mean)
        return Opinion(who[1], mean, labels[0], labels[1], runs)


def _pair_labels(points: Floats, unread: Indices) -> Codes:
    """Return labels of points: who got more than half; ``unread`` rows were not understood."""
    right, tie, left = (OF_PAIRS.index(name) for name in ("right", "tie", "left"))
    labels = np.where(points > TIE, left, np.where(points == TIE, tie, right))
    labels = np.where(np.isnan(points), MISSING, labels)
    open_rows = unread[np.isnan(points[unread])]
    labels[open_rows] = UNPARSED
    return labels.astype(np.int32)


def _distinct(
    gathered: Gathered, who: Who, statements: Statements, meaning: Sequence[Any]
) -> Indices:
    """Return the cells that count, by row: refuse repeated ones, unless runs are told apart.

    In a column that repeats what it says, the same again does not count.
    """
    key = statements.order * len(gathered) + statements.row
    order = np.argsort(key, kind="stable")
    kept = np.ones(len(key), dtype=bool)
    for index in (np.flatnonzero(np.diff(key[order]) == 0) + 1).tolist():
        first, again = int(order[index - 1]), int(order[index])
        sheets = {int(statements.sheet[first]), int(statements.sheet[again])}
        has_runs = all(gathered.sheets[sheet].keys.run is not None for sheet in sheets)
        alike = meaning[first] == meaning[again] or (
            meaning[first] != meaning[first] and statements.cells[first] == statements.cells[again]
        )  # NaN: not understood, twice the same
        if statements.repeated[again] and alike:
            kept[again] = False
        elif not (who[0] and has_runs):
            gathered.refuse_again(who[1], statements, first, again)
    return order[kept[order]]


def _averaged(row: Indices, values: Floats, n: int) -> tuple[Floats, Floats | None]:
    """Return the mean of each row, and all runs (runs x rows) where some row has several.

    Runs are sorted by what they say, so that their order changes nothing.
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


def _of_points(gathered: Gathered, who: Who, scale: Scale, notes: list[str]) -> Opinion:
    statements, n = gathered.statements[who], len(gathered)
    values, labels = scale.read(statements.cells)
    worded = bool(np.isnan(values).all())  # labels that stand for no number
    cells = _distinct(gathered, who, statements, (labels if worded else values).tolist())
    row, values, labels = statements.row[cells], values[cells], labels[cells]
    value, runs = _averaged(row, values, n)
    if worded:
        _, runs = _averaged(row, np.where(labels >= 0, labels, np.nan), n)
    if runs is not None:
        notes.append(f"{who[1]}: several runs are averaged")
    return Opinion(who[1], value, _most_frequent(row, labels, n, len(scale.categories)), None, runs)


def _most_frequent(row: Indices, labels: Codes, n: int, n_labels: int) -> Codes:
    """Return the label that each row has most often, of several the lowest."""
    k = max(n_labels, 1)
    modes = np.full(n, MISSING, dtype=np.int32)
    unknown = labels < 0
    modes[row[unknown]] = labels[unknown]
    counts = np.bincount(row[~unknown] * k + labels[~unknown], minlength=n * k).reshape(n, k)
    labelled = counts.max(axis=1) > 0
    modes[labelled] = counts.argmax(axis=1)[labelled]
    return modes


def _left_out(opinions: Sequence[Opinion], n: int, *, judges: bool) -> list[str]:
    """Say how much was not understood, and on how many rows there is no verdict."""
    notes = []
    for opinion in opinions:
        silent = int((~opinion.answered & ~opinion.unparsed).sum())
        odd = int(opinion.unparsed.sum())
        if opinion.other_order is not None:
            odd += int((opinion.other_order < MISSING).sum())
        if odd:
            rest = "" if judges else ": left out"
            notes.append(f"{opinion.name}: {plural(odd, 'verdict')} could not be understood{rest}")
        if silent and judges:
            notes.append(f"{opinion.name}: no verdict on {silent:,} of {n:,} rows")
    return notes


def _verdicts(
    gathered: Gathered, kind: Literal["points", "pairs"], how: VerdictReading
) -> Verdicts:
    notes: list[str] = []
    statements = gathered.statements
    categories: tuple[str, ...] = OF_PAIRS
    ordered = True
    if kind == PAIRS:
        pairs = _Pairs(gathered, how, notes)
        opinions = {who: pairs.opinion(who) for who in statements}
    else:
        columns = {who: heard.cells for who, heard in statements.items()}
        groups = [[cells for who, cells in columns.items() if who[0] == is_judge]
                  for is_judge in (False, True)]  # fmt: skip
        scale = Scale.of(*groups) if groups[0] else Scale.of(groups[1], [])
        # Judges first: where rows are there twice, it is the judge that was asked again.
        speaking = sorted(statements, key=lambda who: (not who[0], who[1]))
        opinions = {who: _of_points(gathered, who, scale, notes) for who in speaking}
        categories, ordered = scale.categories, scale.ordered
    judges, raters = (
        tuple(opinions[who] for who in sorted(opinions) if who[0] == is_judge)
        for is_judge in (True, False)
    )
    if len(gathered.sheets) > 1:
        _check_joined(gathered, judges, raters)
    used = {column for sheet in gathered.sheets for column in sheet.keys if column is not None}
    used |= {voice.column for sheet in gathered.sheets for voice in sheet.voices}
    used |= {speakers.ORDER} | {
        flags[0] for sheet in gathered.sheets if (flags := speakers.order_flags(sheet.table))
    }
    units, unit, unit_name = _units(gathered, how.unit)
    systems, left, right = _systems(gathered, kind)
    items, item = encode([key[0] for key in gathered.keys])
    of_tables = (note for sheet in gathered.sheets for note in sheet.table.notes)
    notes += dict.fromkeys((*gathered.notes, *of_tables))
    notes += _left_out(judges, len(gathered), judges=True)
    notes += _left_out(raters, len(gathered), judges=False)
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
        covariates=_covariates(gathered, used, how.covariates, pairs=kind == PAIRS),
        slices=_slices(gathered, used),
        probability=_probability(gathered, how.probability),
        notes=tuple(notes),
    )


def _systems(gathered: Gathered, kind: str) -> tuple[tuple[str, ...], Codes | None, Codes | None]:
    """Return the systems and whose outputs each row is about; none where some row does not say."""
    lefts = [side[0] for side in gathered.sides]
    rights = [side[1] for side in gathered.sides]
    paired = kind == PAIRS and None not in rights
    if None in lefts or (kind == PAIRS and not paired):
        return (), None, None
    systems, codes = encode([name or "" for name in (*lefts, *(rights if paired else ()))])
    return systems, codes[: len(lefts)], codes[len(lefts) :] if paired else None


def _check_joined(gathered: Gathered, judges: Sequence[Opinion], raters: Sequence[Opinion]) -> None:
    """Refuse tables of which none is about what another one is about."""
    labelled, judged = (
        np.any([np.zeros(len(gathered), dtype=bool), *(opinion.answered for opinion in group)], 0)
        for group in (raters, judges)
    )
    if (labelled & judged).any() or not labelled.any() or not judged.any():
        return
    sheets = [sheet for sheet in gathered.sheets if not sheet.judged] or [*gathered.sheets]
    shown = []
    for rows in (labelled, judged):
        item, *names = gathered.keys[int(np.flatnonzero(rows)[0])]
        systems = " and ".join(name for name in names if name)
        shown.append(f"item '{item}'" + (f" of {systems}" if systems else ""))
    raise InputError(
        f"no label is of a row that a judge judged: there is {shown[0]} with labels, "
        f"{shown[1]} with verdicts",
        path=sheets[0].table.path,
    )


# ------------------------------------------------- what rows share, and what could sway a judge


def _units(gathered: Gathered, wanted: str) -> tuple[tuple[str, ...], Codes | None, str]:
    """Find what rows share: a column that is named, prompts or documents, or items.

    Returns names of units, a code per row (None where rows are independent), and what a unit is.
    """
    if wanted in _ROWS:
        return (), None, "row"
    shared: list[Any] = [None] * len(gathered)
    unit_name = "prompt"
    for number, sheet in enumerate(gathered.sheets):
        column = sheet.keys.unit
        if wanted == "item" or column is None:
            continue
        cells = gathered.placed(number, sheet.table.texts(column))
        shared = [new if old is None else old for old, new in zip(shared, cells, strict=True)]
        name = sheet.table.given.get(column, column)
        unit_name = "document" if name.startswith("doc") else "prompt" if "prompt" in name else name
    chosen = wanted not in ("auto", "item")
    complete = None not in shared
    if chosen and not complete:
        raise UsageError(f"unit: column '{wanted}' is empty, or missing, for some rows")
    if complete and (chosen or FEWEST <= len(set(shared)) < len(shared)):
        return *encode(shared), unit_name
    items = [key[0] for key in gathered.keys]
    if len(set(items)) < len(items) and (wanted == "item" or len(set(items)) >= FEWEST):
        return *encode(items), "item"
    return (), None, "row"


def _covariates(
    gathered: Gathered, used: Collection[str], wanted: Collection[str] | None, *, pairs: bool
) -> dict[str, Floats]:
    """Find numbers that could sway a judge: of pairs, differences of what both sides have.

    ``wanted`` names columns, or what both sides call them; None: what looks like one.
    """
    covariates: dict[str, Floats] = {}
    for number, sheet in enumerate(gathered.sheets):
        free = [name for name in sheet.table.columns if name not in used]
        both = speakers.sides(free) if pairs else {}
        for base, (left, right) in both.items():
            first, second = (_numbers(gathered, number, name) for name in (left, right))
            if first is not None and second is not None and (wanted is None or base in wanted):
                name = LENGTH if base in _LENGTHS else base
                covariates.setdefault(name, _difference(gathered, number, name, first, second))
        of_sides = {name for names in both.values() for name in names}
        usual = () if pairs else _LENGTHS
        for name in free:
            if name in of_sides or name not in (usual if wanted is None else wanted):
                continue
            values = _numbers(gathered, number, name)
            if values is None and wanted is not None:
                raise UsageError(f"{sheet.table.place}: covariate '{name}' holds no numbers")
            if values is not None:
                covariates.setdefault(LENGTH if name in _LENGTHS else name, values)
    names = {name for sheet in gathered.sheets for name in sheet.table.columns}
    for name in wanted or ():
        if name not in covariates and not (name in _LENGTHS and LENGTH in covariates):
            raise UsageError(f"no covariate '{name}'; {hint(name, sorted(names))}")
    return covariates


def _numbers(gathered: Gathered, number: int, name: str) -> Floats | None:
    cells = gathered.placed(number, cells_of(gathered.sheets[number].table, name))
    values = numbers_of([None if is_gap(cell) else cell for cell in cells])
    return None if values is None or np.isnan(values).all() else values


def _difference(gathered: Gathered, number: int, name: str, left: Floats, right: Floats) -> Floats:
    """Subtract our right side from our left; lengths over their sum, from -1 to 1."""
    cells = gathered.placed(number, gathered.turned[number].tolist())
    turned = np.array([bool(cell) for cell in cells], dtype=bool)
    first, second = np.where(turned, right, left), np.where(turned, left, right)
    if name != LENGTH:
        return np.asarray(first - second)
    total = first + second
    share = np.divide(first - second, total, out=np.zeros(len(total)), where=total > 0)
    return np.where(np.isnan(total), np.nan, share)


def _slices(gathered: Gathered, used: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Find columns of few words, by which rows can be told apart."""
    slices: dict[str, tuple[str, ...]] = {}
    for number, sheet in enumerate(gathered.sheets):
        for name in sheet.table.columns:
            if name in used or name in slices:
                continue
            cells = gathered.placed(number, cells_of(sheet.table, name))
            words = [label(cell) for cell in cells if not is_gap(cell)]
            complete = len(words) == len(gathered) and None not in words
            few = 2 <= len(set(words)) <= min(_MOST_SLICES, max(2, len(words) // 5))
            if complete and few and numbers_of(words) is None:
                slices[name] = tuple(word or "" for word in words)
    return slices


def _probability(gathered: Gathered, column: str | None) -> Floats | None:
    if column is None:
        return None
    for number, sheet in enumerate(gathered.sheets):
        if column in sheet.table:
            values = sheet.table.numbers(column, optional=False).tolist()
            cells = gathered.placed(number, values)
            return np.array([np.nan if cell is None else cell for cell in cells])
    raise UsageError(f"labels: no column '{column}' of probabilities")
