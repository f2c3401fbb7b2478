"""Who speaks in tables of verdicts, and where: people and judges, in columns or in rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.data.verdicts import Bools
from steelyard.formats import columns as roles
from steelyard.formats.cells import label, parse_number
from steelyard.formats.rawtable import RawTable
from steelyard.formats.verdicts.words import (
    Outcomes,
    Scale,
    filled,
    is_of_pairs,
    says_verdict,
)

ITEM = ("battle", "item", "segment", "seg", "seg_id", "segment_id", "sid", "line", "id", "item_id",
        "battle_id", "pair_id", "example_id", "sample_id", "example", "idx", "question_id",
        "prompt_id", "question", "prompt")  # fmt: skip
UNIT = ("prompt", "prompt_id", "question", "question_id", "doc", "document", "doc_id", "unit",
        "conversation_id")  # fmt: skip
JUDGE = ("judge", "judge_name", "judge_model")
RUN = (*roles.EPOCH, "run")
VERDICT = ("verdict", "label", "winner", "outcome", "preference", "score", "rating", "value",
           "judgement", "judgment", "grade", "raw")  # fmt: skip
#: Columns of the two systems of a pair.
SIDES = (*zip(roles.LEFT, roles.RIGHT, strict=True), ("model_1", "model_2"), ("model1", "model2"),
         ("system_a", "system_b"), ("system_1", "system_2"), ("system1", "system2"))  # fmt: skip
#: Ends of columns with the verdicts of one judge in the usual order and in the swapped one.
_ORDER_ENDS = (("_12", "_21"), ("_ab", "_ba"), ("_original", "_swapped"), ("", "_swapped"),
               ("", "_reversed"), ("", "_rev"), ("", "_flipped"))  # fmt: skip
#: Verdicts of logs that say of both orders who won, whichever side it was shown on.
GAMES = ("winner (order 12)", "winner (order 21)")
_ENDS_OF_PAIRS = (*_ORDER_ENDS[:2], (" (order 12)", " (order 21)"))  # only pairs have these
ORDER = "order"
_FLAGS = ("swapped", "is_swapped", "flipped", "reversed")
ORDER_COLUMNS = (ORDER, *_FLAGS)
_ORDER_WORDS = {
    **dict.fromkeys(("21", "ba", "2", "swapped", "swap", "reversed", "reverse", "flipped"), True),
    **dict.fromkeys(("12", "ab", "1", "original", "straight", "normal", "plain"), False),
}
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_OTHER_SIDES = (("_left", "_right"), ("_a", "_b"), ("_1", "_2"), ("1", "2"))
_NO_VERDICT = frozenset(
    ("chars", "characters", "words", "tokens", "length", "len", "latency", "cost", "seconds",
     "duration", "time", "timestamp", "tstamp", "weight", "year", "seed", "temperature",
     "probability", "confidence", "rationale", "explanation", "reason", "comment", "comments",
     "text", "output", "response", "answer", "source", "src", "reference", "ref", "hyp", "order",
     "language", "lang", "domain", "category", "topic", "app", "subset", "task", "date")
)  # fmt: skip
_PEOPLE = frozenset(
    ("human", "humans", "annotator", "rater", "expert", "experts", "gold", "people", "person",
     "worker", "crowd", "author", "reviewer")
)  # fmt: skip
_MODELS = frozenset(
    ("gpt", "claude", "gemini", "llama", "mistral", "mixtral", "qwen", "palm", "falcon", "deepseek",
     "judge", "llm", "model", "chatgpt")
)  # fmt: skip
PAIRS = "pairs"
_MOST_UNREAD = 0.5  # share of cells of a column of verdicts that may not be understood
Side = tuple[str | None, str | None]
Key = tuple[str, str, str]  # an item, and the systems that are judged, in a fixed order


class Keys(NamedTuple):
    """The columns that tell the rows of a table apart; None where it has no such column."""

    item: str | None
    system: str | None
    left: str | None
    right: str | None
    unit: str | None
    run: str | None
    rater: str | None
    judge: str | None
    task: str | None

    @property
    def names_systems(self) -> bool:
        """Whether rows are told apart by more than their items."""
        return self.left is not None or self.system is not None


_ALSO = {"segment": "item", "epoch": "run", "doc": "unit", "prompt": "unit"}  # words for roles
Keyed = Sequence[tuple[RawTable, Keys]]


class Voice(NamedTuple):
    """The verdicts of one judge or annotator in a table: rows, and their cells."""

    name: str
    is_judge: bool
    swapped: bool  # the right output was shown first
    column: str
    rows: Sequence[int]
    cells: Sequence[Any]
    repeated: bool = False  # several rows say the same, of which one counts

    @property
    def mirrored(self) -> bool:
        """Whether words may refer to outputs as shown, the right one first."""
        return self.swapped and self.column not in GAMES


class Asked(NamedTuple):
    """Columns, or names in a column of raters or judges; judges None: whatever holds verdicts.

    ``others`` are columns that are neither, ``words`` those for left, right and a tie.
    """

    human: Collection[str]
    judges: Collection[str] | None
    others: Collection[str | None] = ()
    words: Sequence[str] = ()


# --------------------------------------------------------------------------------------- columns


def assigned_roles(columns: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return the column of each role that the user named."""
    names = {_ALSO.get(role, role): (role, name) for role, name in columns}
    for meant, (role, _) in names.items():
        if meant not in Keys._fields:
            raise UsageError(f"columns: no role '{role}'; {hint(role, Keys._fields)}")
    return {meant: name for meant, (_, name) in names.items()}


def side_columns(names: Collection[str]) -> tuple[str | None, str | None]:
    """Return the columns of the two systems of a pair, None for one that is missing."""
    for left, right in SIDES:
        if left in names and right in names:
            return left, right
    lefts, rights = ([n for n in side if n in names] for side in (roles.LEFT, roles.RIGHT))
    return next(iter(lefts), None), next(iter(rights), None)


def keys_of(
    table: RawTable, named: Collection[str], unit: str | None, assigned: Mapping[str, str]
) -> Keys:
    """Find the keys: those that the user ``assigned`` by role, else by usual names of columns.

    ``named`` are annotators and judges, ``unit`` is the column that is said to be what rows share.
    """
    fixed = {role: name for role, name in assigned.items() if name in table.columns}
    if unit is not None and unit in table.columns:
        fixed["unit"] = unit
    free = [name for name in table.columns if name not in named and name not in fixed.values()]

    def first(role: str, names: Sequence[str]) -> str | None:
        return fixed.get(role, next((name for name in names if name in free), None))

    left, right = side_columns(free)
    left, right = fixed.get("left", left), fixed.get("right", right)
    if (left is None) != (right is None):
        raise UsageError(f"{table.place}: column '{left or right}' without its other side")
    item = first("item", ITEM)
    systems = [name for name in (*roles.SYSTEM, *roles.SYSTEM_ALSO) if name != "name"]
    return Keys(
        item=item,
        system=first("system", systems) if left is None else None,
        left=left,
        right=right,
        unit=first("unit", [name for name in UNIT if name != item]),
        run=first("run", RUN),
        rater=first("rater", roles.RATER),
        judge=first("judge", [name for name in JUDGE if _holds_names(table, name)]),
        task=first("task", roles.TASK),
    )


def _holds_names(table: RawTable, name: str) -> bool:
    """Tell names of judges from the verdicts of one that is called so: no gaps, no verdicts."""
    words = {label(cell) for cell in table.columns.get(name, ())}
    if None in words or "" in words:
        return False
    return any(word and parse_number(word) is None and not says_verdict(word) for word in words)


def orders_of(names: Collection[str], *, pairs: bool) -> dict[str, tuple[str, str]]:
    """Find judges with a column for either order: name, usual and swapped column."""
    orders: dict[str, tuple[str, str]] = {}
    for first, second in (*_ENDS_OF_PAIRS, *(_ORDER_ENDS if pairs else ())):
        for name in names:
            base = name.removesuffix(second)
            if base not in ("", name) and base + first in names:
                orders.setdefault(base, (base + first, name))
    return orders


def sides(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Find columns that both sides of a pair have, by their name without the side."""
    both: dict[str, tuple[str, str]] = {}
    for name in names:
        for left, right in _OTHER_SIDES:
            base = name.removesuffix(left)
            if base not in ("", name) and base + right in names:
                both.setdefault(base.rstrip("_"), (name, base + right))
    return both


def order_flags(table: RawTable) -> tuple[str, list[bool]] | None:
    """Return the column that says which rows were shown with the right output first, and these.

    A column ``order`` or ``swapped`` with other words is none.
    """
    for name in ORDER_COLUMNS:
        if name in table:
            words = [str(cell).strip().casefold() for cell in table.columns[name]]
            meaning = _ORDER_WORDS if name == ORDER else _TRUTHS
            flags = [meaning.get(word.removesuffix(".0")) for word in words]
            if None not in flags:
                return name, [bool(flag) for flag in flags]
    return None


def keys_of_rows(items: Sequence[str], sides: Sequence[Side]) -> list[Key]:
    """Name rows by their item and systems, whichever side these stand on."""
    keys = []
    for item, (left, right) in zip(items, sides, strict=True):
        first, second = (left or "", "") if right is None else sorted((left or "", right))
        keys.append((item, first, second))
    return keys


def mirrored_rows(table: RawTable, items: Sequence[str], sides: Sequence[Side]) -> Bools:
    """Tell which rows were shown the other way round than their columns have the systems.

    Rows with a flag (``swapped``) were, unless the columns of systems are swapped with it.
    """
    flags = order_flags(table)
    if flags is None:
        return np.zeros(table.n_rows, dtype=bool)
    keys = keys_of_rows(items, sides)
    orders: dict[Any, tuple[set[Side], set[Side]]] = {}
    for key, side, flag in zip(keys, sides, flags[1], strict=True):
        for group in (key, key[1:]):  # the pair alone, where an item has one order only
            orders.setdefault(group, (set(), set()))[flag].add(side)
    as_shown = {group: all(both) and both[0].isdisjoint(both[1]) for group, both in orders.items()}
    groups = [key if all(orders[key]) else key[1:] for key in keys]
    mirrored = [flag and not as_shown[group] for flag, group in zip(flags[1], groups, strict=True)]
    return np.array(mirrored, dtype=bool)


def cells_of(table: RawTable, name: str) -> list[Any]:
    """Return a column as a list."""
    cells = table.columns[name]
    return cells.tolist() if isinstance(cells, np.ndarray) else list(cells)


def says_no_verdict(name: str) -> bool:
    """Tell from its name that a column is about something else: lengths, texts, times."""
    return not _NO_VERDICT.isdisjoint(roles.words(name)) or roles.says_id(name) or name in _FLAGS


def _holds_outcomes(
    table: RawTable, name: str, left: str | None, right: str | None, words: Sequence[str] = ()
) -> bool:
    """Tell whether at least half of the cells say who won."""
    rows, cells = filled(cells_of(table, name))
    names = ([None] * table.n_rows if side is None else cells_of(table, side)
             for side in (left, right))  # fmt: skip
    points, _ = Outcomes.of(cells, words=words).points(
        cells, *([label(x[row]) for row in rows] for x in names)
    )
    return bool(cells) and float(np.isnan(points).mean()) <= _MOST_UNREAD


def _holds_grades(table: RawTable, name: str, scale: Scale) -> bool:
    _, cells = filled(cells_of(table, name))
    value, code = scale.read(cells)
    return bool(cells) and float((np.isnan(value) & (code < 0)).mean()) <= _MOST_UNREAD


def matching(patterns: Collection[str], names: Collection[str]) -> list[str]:
    """Return the names that patterns (``gpt-*``) stand for, in the order of the names."""
    parts = [re.escape(pattern).replace(r"\*", ".*") for pattern in patterns]
    return [name for name in names if any(re.fullmatch(part, name, re.DOTALL) for part in parts)]


def chosen(patterns: Collection[str], names: Collection[str], what: str) -> tuple[str, ...]:
    """Return the names that are meant; a pattern that nothing matches is an error."""
    meant: dict[str, None] = {}
    for pattern in patterns:
        matches = matching([pattern], names)
        if not matches:
            raise UsageError(f"{what}: no column '{pattern}'; {hint(pattern, sorted(names))}")
        meant |= dict.fromkeys(matches)
    return tuple(meant)


# ---------------------------------------------------------------------------------------- voices


def people(keyed: Keyed, asked: Asked) -> list[list[Voice]]:
    """Return what annotators say in each table."""
    # In a table of judges, a column that people have in a table of their own is the judges'.
    elsewhere = {name for table, keys in keyed if keys.judge is None for name in table.columns}
    return [_people(table, keys, asked, elsewhere) for table, keys in keyed]


def _people(table: RawTable, keys: Keys, asked: Asked, elsewhere: set[str]) -> list[Voice]:
    in_cells = [name for name in asked.human if name not in table.columns]
    if keys.rater is not None:
        columns = _verdict_columns(table, keys, asked.human, "rater")[:1]
        return _in_rows(table, keys.rater, columns, in_cells or None)
    persons = _persons_among_judges(table, keys, asked)
    if persons and keys.judge is not None:
        columns = _verdict_columns(table, keys, asked.human, "judge")[:1]
        return _in_rows(table, keys.judge, columns, persons)
    others = elsewhere if keys.judge is not None else set()
    repeated = keys.judge is not None or keys.run is not None
    return [
        Voice(name, False, False, name, *filled(cells_of(table, name)), repeated=repeated)
        for name in matching(asked.human, list(table.columns))
        if name not in keys and name not in others
    ]


def kind_of(keyed: Keyed, voices: Sequence[Sequence[Voice]]) -> Literal["points", "pairs"]:
    """Tell pairs from points: by their sides, by both orders, or by what annotators say."""
    for table, keys in keyed:
        if keys.left is not None or orders_of(table.columns, pairs=False):
            return "pairs"
    words = {str(cell) for group in voices for voice in group for cell in set(voice.cells)}
    return "pairs" if words and all(is_of_pairs(word) for word in words) else "points"


def judges(
    keyed: Keyed, voices: Sequence[Sequence[Voice]], asked: Asked, kind: str
) -> list[list[Voice]]:
    """Return what judges say in each table, beside what annotators say."""
    scale = Scale.of([voice.cells for group in voices for voice in group], [])
    said = []
    for (table, keys), group in zip(keyed, voices, strict=True):
        taken = {voice.column for voice in group}
        persons = _persons_among_judges(table, keys, asked)
        raters_are_judges = asked.human and not set(asked.human) & set(table.columns)
        if keys.judge is not None:
            columns = _verdict_columns(table, keys, asked.human, "judge", () if persons else taken)
            said.append(_in_rows(table, keys.judge, columns, asked.judges, persons, is_judge=True))
        elif keys.rater is not None and raters_are_judges:
            columns = _verdict_columns(table, keys, (), "rater")[:1]
            in_rows = _in_rows(table, keys.rater, columns, asked.judges, asked.human, is_judge=True)
            said.append(in_rows)
        elif keys.rater is None or asked.judges is not None or len(keyed) == 1:
            said.append(_in_columns(table, keys, taken, asked, kind, scale))
        else:
            said.append([])
    return said


def _persons_among_judges(table: RawTable, keys: Keys, asked: Asked) -> list[str]:
    names = set() if keys.judge is None else set(table.labels(keys.judge))
    return [name for name in asked.human if name in names and name not in table.columns]


def _verdict_columns(
    table: RawTable, keys: Keys, named: Collection[str], whose: str, but: Collection[str] = ()
) -> list[str]:
    """Find what a long table holds: one column of verdicts, or one for either order."""
    free = [name for name in table.columns if name not in keys and name not in but]
    orders = orders_of(free, pairs=keys.left is not None)
    columns = [name for name in free if name in named][:1]
    columns = columns or [name for both in orders.values() for name in both][:2]
    columns = columns or [name for name in VERDICT if name in free][:1]
    if columns or len(free) == 1:
        return columns or free
    raise UsageError(
        f"{table.place}: which column holds the verdicts of the {whose}s? Expected one called "
        f"{', '.join(VERDICT[:4])}, found {', '.join(free) or 'none'}"
    )


def _in_rows(
    table: RawTable, who: str, columns: Sequence[str], only: Collection[str] | None,
    but: Collection[str] = (), *, is_judge: bool = False,
) -> list[Voice]:  # fmt: skip
    """Return voices that a column names; of two columns of verdicts, the second is swapped."""
    names = table.labels(who)
    every = sorted(set(names))
    wanted = [n for n in (every if only is None else matching(only, every)) if n not in but]
    voices = []
    for order, column in enumerate(columns):
        rows: dict[str, tuple[list[int], list[Any]]] = {name: ([], []) for name in wanted}
        for row, cell in zip(*filled(cells_of(table, column)), strict=True):
            if names[row] in rows:
                rows[names[row]][0].append(row)
                rows[names[row]][1].append(cell)
        voices += [Voice(n, is_judge, order == 1, column, *stated) for n, stated in rows.items()]
    return voices


def _in_columns(
    table: RawTable, keys: Keys, taken: Collection[str], asked: Asked, kind: str, scale: Scale
) -> list[Voice]:
    """Return the columns of a table that are judges; ``taken`` are those of annotators."""
    free = [name for name in table.columns if name not in taken and name not in keys]
    orders = orders_of(free, pairs=kind == PAIRS)
    base_of = {name: base for base, both in orders.items() for name in both}
    of_people = {swapped for usual, swapped in orders_of(table.columns, pairs=True).values()
                 if usual in taken}  # fmt: skip
    of_sides = {name for both in sides(free).values() for name in both} if kind == PAIRS else set()
    others = {*asked.others, *of_people, *(of_sides - set(base_of))}
    wanted = None if asked.judges is None else set(matching(asked.judges, [*free, *orders]))

    def is_judge(name: str) -> bool:
        base = base_of.get(name, name)
        if wanted is not None:
            return base in wanted or name in wanted
        if name in others or says_no_verdict(base):
            return False
        if kind == PAIRS:
            return _holds_outcomes(table, name, keys.left, keys.right, asked.words)
        return _holds_grades(table, name, scale)

    swapped = {second for _, second in orders.values()}
    return [
        Voice(base_of.get(name, name), True, name in swapped, name,
              *filled(cells_of(table, name)), keys.rater is not None)
        for name in filter(is_judge, free)
    ]  # fmt: skip


# ---------------------------------------------------------------------------- a look at a table


def may_hold_verdicts(names: Collection[str]) -> bool:
    """Tell by names of columns whether a table may hold verdicts, and is no battle log.

    Pairs have columns of two systems; points have a row for each label of a rater or judge.
    """
    columns = set(names)
    if columns & {*roles.OUTCOME, roles.BETTER, roles.WORSE}:
        return False
    labelled = columns & {"label", "verdict", "grade"} and columns & {*roles.RATER, *JUDGE}
    return None not in side_columns(columns) or bool(labelled and columns & set(ITEM))


def holds_verdicts(table: RawTable) -> bool:
    """Tell whether a table holds verdicts, by its columns and its first rows."""
    if not may_hold_verdicts(table.columns):
        return False
    head = table.take(range(min(table.n_rows, 200)))
    return None in side_columns(table.columns) or bool(_outcome_columns(head))


def _outcome_columns(table: RawTable) -> list[str]:
    left, right = side_columns(table.columns)
    return [
        name for name in table.columns if name not in (left, right) and not says_no_verdict(name)
        and _holds_outcomes(table, name, left, right)
    ]  # fmt: skip


def likely_people(table: RawTable) -> list[str]:
    """Guess the columns, or the names in a column of raters, that are annotators.

    Columns called so; else those with gaps, if others have none.
    """
    who = next((name for name in (*roles.RATER, *JUDGE) if name in table), None)
    if who is not None and _holds_names(table, who):
        names = sorted({name for cell in cells_of(table, who) if (name := label(cell))})
        if who in roles.RATER:
            return [name for name in names if _MODELS.isdisjoint(_words_of(name))]
        return [name for name in names if not _PEOPLE.isdisjoint(_words_of(name))]
    if None in side_columns(table.columns):
        return []
    columns = _outcome_columns(table)
    persons = [name for name in columns if not _PEOPLE.isdisjoint(_words_of(name))]
    sparse = [name for name in columns if len(filled(cells_of(table, name))[0]) < table.n_rows]
    return persons or (sparse if len(sparse) < len(columns) else [])


def _words_of(name: str) -> list[str]:
    return [word.rstrip("0123456789") for word in roles.words(name)]
