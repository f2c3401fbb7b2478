"""Who speaks in tables of verdicts, and where: people and judges, in columns or in rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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
_SWAPPED = frozenset(("21", "ba", "2", "swapped", "swap", "reversed", "reverse", "flipped"))
_USUAL = frozenset(("12", "ab", "1", "original", "straight", "normal", "plain"))
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


#: What ``columns={role: name}`` may name, and other words for it.
ROLES = Keys._fields
_ALSO = {"segment": "item", "epoch": "run", "doc": "unit", "prompt": "unit"}
Keyed = Sequence[tuple[RawTable, Keys]]


class Voice(NamedTuple):
    """The verdicts of one judge or person in a table: rows, and their cells.

    ``swapped`` is true for columns of verdicts with the right output shown first. ``repeated``
    columns say the same in several rows, of which one counts.
    """

    name: str
    is_judge: bool
    swapped: bool
    column: str
    rows: Sequence[int]
    cells: Sequence[Any]
    repeated: bool = False

    @property
    def mirrored(self) -> bool:
        """Whether words may refer to outputs as shown, the right one first."""
        return self.swapped and self.column not in GAMES


@dataclass(frozen=True, slots=True)
class Asked:
    """Columns, or names in a column of raters or judges; judges None: whatever holds verdicts.

    ``others`` are columns that are neither.
    """

    human: Collection[str]
    judges: Collection[str] | None
    others: Collection[str] = ()


def assigned_roles(columns: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return the column of each role that the user named."""
    names = {}
    for role, name in columns:
        meant = _ALSO.get(role, role)
        if meant not in ROLES:
            raise UsageError(f"columns: no role '{role}'; {hint(role, ROLES)}")
        names[meant] = name
    return names


def side_columns(names: Collection[str]) -> tuple[str | None, str | None]:
    """Return the columns of the two systems of a pair, None for one that is missing."""
    both = next((pair for pair in SIDES if set(pair) <= set(names)), None)
    if both is not None:
        return both
    return tuple(
        next((name for name in side if name in names), None) for side in (roles.LEFT, roles.RIGHT)
    )  # type: ignore[return-value]


def keys_of(
    table: RawTable, named: Collection[str], unit: str | None, assigned: Mapping[str, str]
) -> Keys:
    """Find the keys by the names of columns; ``named`` are people and judges.

    ``unit`` is the column that the user named as what rows share, ``assigned`` others by role.
    """
    fixed = {role: name for role, name in assigned.items() if name in table.columns}
    if unit is not None and unit in table.columns:
        fixed["unit"] = unit
    taken = {*named, *fixed.values()}
    free = [name for name in table.columns if name not in taken]

    def first(role: str, names: Sequence[str], but: str | None = None) -> str | None:
        if role in fixed:
            return fixed[role]
        return next((name for name in names if name in free and name != but), None)

    left, right = side_columns(free)
    left, right = fixed.get("left", left), fixed.get("right", right)
    if (left is None) != (right is None):
        raise UsageError(f"{table.place}: column '{left or right}' without its other side")
    item = first("item", ITEM)
    system = None
    if left is None:
        also = [name for name in roles.SYSTEM_ALSO if name != "name"]
        system = first("system", (*roles.SYSTEM, *also))
    return Keys(
        item=item,
        system=system,
        left=left,
        right=right,
        unit=first("unit", UNIT, item),
        run=first("run", RUN),
        rater=first("rater", roles.RATER),
        judge=first("judge", [name for name in JUDGE if _holds_names(table, name)]),
        task=first("task", roles.TASK),
    )


def _holds_names(table: RawTable, name: str) -> bool:
    """Tell names of judges from the verdicts of one that is called so: no gaps, no verdicts."""
    words = {label(cell) for cell in table.columns.get(name, ())}
    if None in words or "" in words or not words:
        return False
    return any(word and parse_number(word) is None and not says_verdict(word) for word in words)


def orders_of(names: Collection[str], *, pairs: bool) -> dict[str, tuple[str, str]]:
    """Find judges with a column for either order: name, usual and swapped column."""
    orders: dict[str, tuple[str, str]] = {}
    for usual, swapped in (*_ENDS_OF_PAIRS, *(_ORDER_ENDS if pairs else ())):
        for name in names:
            base = name.removesuffix(swapped)
            if base and base != name and base + usual in names:
                orders.setdefault(base, (base + usual, name))
    return orders


def order_flags(table: RawTable) -> tuple[str, list[bool]] | None:
    """Return the column that says which rows were shown with the right output first, and these.

    A column ``order`` or ``swapped`` with other words is none.
    """
    for name in ORDER_COLUMNS:
        if name in table:
            words = [str(cell).strip().casefold() for cell in table.columns[name]]
            words = [word.removesuffix(".0") for word in words]
            if name == ORDER and set(words) <= _SWAPPED | _USUAL:
                return name, [word in _SWAPPED for word in words]
            if name != ORDER and set(words) <= set(_TRUTHS):
                return name, [_TRUTHS[word] for word in words]
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
    return np.array(
        [flag and not as_shown[group] for flag, group in zip(flags[1], groups, strict=True)],
        dtype=bool,
    )


def cells_of(table: RawTable, name: str) -> list[Any]:
    """Return a column as a list."""
    cells = table.columns[name]
    return cells.tolist() if isinstance(cells, np.ndarray) else list(cells)


def sides(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Find columns that both sides of a pair have, by their name without the side."""
    both: dict[str, tuple[str, str]] = {}
    for name in names:
        for left, right in _OTHER_SIDES:
            base = name.removesuffix(left)
            if base and base != name and base + right in names:
                both.setdefault(base.rstrip("_"), (name, base + right))
    return both


def says_no_verdict(name: str) -> bool:
    """Tell from its name that a column is about something else: lengths, texts, times."""
    return not _NO_VERDICT.isdisjoint(roles.words(name)) or roles.says_id(name) or name in _FLAGS


def holds_outcomes(
    cells: Sequence[Any], left: Sequence[str | None], right: Sequence[str | None]
) -> bool:
    """Tell whether at least half of the cells say who won."""
    points, _ = Outcomes.of(cells).points(cells, left, right)
    return len(cells) > 0 and 2 * int((~np.isnan(points)).sum()) >= len(cells)


def holds_grades(cells: Sequence[Any], scale: Scale) -> bool:
    """Tell whether at least half of the cells are what people say of outputs, or numbers."""
    value, code = scale.read(cells)
    understood = (code >= 0) | ~np.isnan(value)
    return len(cells) > 0 and 2 * int(understood.sum()) >= len(cells)


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


def _verdict_columns(
    table: RawTable, keys: Keys, named: Collection[str], whose: str, but: Collection[str] = ()
) -> list[str]:
    """Find what a long table holds: one column of verdicts, or one for either order."""
    free = [name for name in table.columns if name not in keys and name not in but]
    columns = [name for name in free if name in named]
    if columns:
        return columns[:1]
    orders = orders_of(free, pairs=keys.left is not None)
    if orders:
        return list(next(iter(orders.values())))
    for name in VERDICT:
        if name in free:
            return [name]
    if len(free) == 1:
        return free
    raise UsageError(
        f"{table.place}: which column holds the verdicts of the {whose}s? Expected one called "
        f"{', '.join(VERDICT[:4])}, found {', '.join(free) or 'none'}"
    )


def people(keyed: Keyed, asked: Asked) -> list[list[Voice]]:
    """Return what people say in each table."""
    return [_people(table, keys, asked, keyed) for table, keys in keyed]


def _people(table: RawTable, keys: Keys, asked: Asked, keyed: Keyed) -> list[Voice]:
    if keys.rater is not None:
        column = _verdict_columns(table, keys, asked.human, "rater")[0]
        raters = {name for name in asked.human if name not in table.columns}
        return _long(table, keys.rater, column, is_judge=False, only=raters or None)
    called = [] if keys.judge is None else _called(table, keys.judge, asked.human)
    if called and keys.judge is not None:  # people among those whom the table calls judges
        column = _verdict_columns(table, keys, asked.human, "judge")[0]
        return _long(table, keys.judge, column, is_judge=False, only=called)
    names = [n for n in matching(asked.human, list(table.columns)) if n not in keys]
    if keys.judge is not None:
        # In a table of judges, a column that people have in a table of their own is the judges'.
        elsewhere = {n for other, its in keyed if its.judge is None for n in other.columns}
        names = [name for name in names if name not in elsewhere]
    repeated = keys.judge is not None or keys.run is not None
    return [
        Voice(name, False, False, name, *filled(cells_of(table, name)), repeated=repeated)
        for name in names
    ]


def _called(table: RawTable, column: str, names: Collection[str]) -> list[str]:
    """Return who of a column is named, and is no column of the table."""
    speakers = set(table.labels(column))
    return [name for name in names if name in speakers and name not in table.columns]


def _long(
    table: RawTable, who: str, column: str, *, is_judge: bool, only: Collection[str] | None = None,
    but: Collection[str] = (), swapped: bool = False,
) -> list[Voice]:  # fmt: skip
    """Split a table with a row for each verdict by who gave it."""
    names = table.labels(who)
    rows: dict[str, tuple[list[int], list[Any]]] = {
        name: ([], []) for name in sorted(set(names)) if (only is None or name in only)
        and name not in but
    }  # fmt: skip
    for row, cell in zip(*filled(cells_of(table, column)), strict=True):
        if names[row] in rows:
            rows[names[row]][0].append(row)
            rows[names[row]][1].append(cell)
    return [Voice(name, is_judge, swapped, column, *heard) for name, heard in rows.items()]


def kind_of(keyed: Keyed, voices: Sequence[Sequence[Voice]]) -> Literal["points", "pairs"]:
    """Tell pairs from points: by their sides, by both orders, or by what people say."""
    for table, keys in keyed:
        if keys.left is not None or orders_of(table.columns, pairs=False):
            return "pairs"
    words = {str(cell) for group in voices for voice in group for cell in set(voice.cells)}
    return "pairs" if words and all(is_of_pairs(word) for word in words) else "points"


def judges(
    keyed: Keyed, voices: Sequence[Sequence[Voice]], asked: Asked, kind: str
) -> list[list[Voice]]:
    """Return what judges say in each table, beside what people say."""
    scale = Scale.of([voice.cells for group in voices for voice in group], [])
    heard = []
    for (table, keys), group in zip(keyed, voices, strict=True):
        taken = {voice.column for voice in group}
        in_rows = _judges_in_rows(table, keys, taken, asked)
        if in_rows is not None:
            heard.append(in_rows)
        elif keys.rater is None or asked.judges is not None or len(keyed) == 1:
            heard.append(_judges_in_columns(table, keys, taken, asked, kind, scale))
        else:
            heard.append([])
    return heard


def _judges_in_rows(
    table: RawTable, keys: Keys, taken: set[str], asked: Asked
) -> list[Voice] | None:
    """Return the judges of a table with a row for each verdict; None for other tables."""
    if keys.judge is not None:
        persons = _called(table, keys.judge, asked.human)
        columns = _verdict_columns(table, keys, asked.human, "judge", () if persons else taken)
        only = _only(table, keys.judge, asked.judges)
        return [
            voice
            for order, column in enumerate(columns)
            for voice in _long(
                table, keys.judge, column, is_judge=True, only=only, but=persons, swapped=order == 1
            )
        ]
    if keys.rater is not None and asked.human and not set(asked.human) & set(table.columns):
        column = _verdict_columns(table, keys, (), "rater")[0]
        only = _only(table, keys.rater, asked.judges)
        return _long(table, keys.rater, column, is_judge=True, only=only, but=asked.human)
    return None


def _only(table: RawTable, column: str, wanted: Collection[str] | None) -> set[str] | None:
    return None if wanted is None else set(matching(wanted, sorted(set(table.labels(column)))))


def _judges_in_columns(
    table: RawTable, keys: Keys, taken: Collection[str], asked: Asked, kind: str, scale: Scale
) -> list[Voice]:
    """Return the columns of a table that are judges; ``taken`` are those of people."""
    free = [name for name in table.columns if name not in taken and name not in keys]
    orders = orders_of(free, pairs=kind == PAIRS)
    of_people = {swapped for usual, swapped in orders_of(table.columns, pairs=True).values()
                 if usual in taken}  # fmt: skip
    base_of = {name: base for base, both in orders.items() for name in both}
    of_sides = {name for both in sides(free).values() for name in both} if kind == PAIRS else set()
    wanted = None if asked.judges is None else set(matching(asked.judges, [*free, *orders]))
    left, right = (
        table.labels(name) if name is not None else [None] * table.n_rows
        for name in (keys.left, keys.right)
    )
    voices = []
    for name in free:
        base = base_of.get(name, name)
        rows, cells = filled(cells_of(table, name))
        if wanted is None:
            skipped = says_no_verdict(base) or name in asked.others or name in of_people
            skipped |= name in of_sides and name not in base_of
            if skipped or not (
                holds_outcomes(cells, [left[row] for row in rows], [right[row] for row in rows])
                if kind == PAIRS
                else holds_grades(cells, scale)
            ):
                continue
        elif base not in wanted and name not in wanted:
            continue
        swapped = name in base_of and name == orders[base][1]
        voices.append(
            Voice(base, True, swapped, name, rows, cells, repeated=keys.rater is not None)
        )
    return voices


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
    left, right = side_columns(table.columns)
    if left is None or right is None or not may_hold_verdicts(table.columns):
        return may_hold_verdicts(table.columns)
    head = table.take(range(min(table.n_rows, 200)))
    return any(
        holds_outcomes(*_beside(head, name, left, right))
        for name in head.columns
        if name not in (left, right) and not says_no_verdict(name)
    )


def _beside(
    table: RawTable, name: str, left: str, right: str
) -> tuple[list[Any], list[str | None], list[str | None]]:
    rows, cells = filled(cells_of(table, name))
    lefts, rights = (cells_of(table, side) for side in (left, right))
    return cells, [label(lefts[row]) for row in rows], [label(rights[row]) for row in rows]


def likely_people(table: RawTable) -> list[str]:
    """Guess the columns, or the names in a column of raters, that are people.

    Columns called so; else those with gaps, if others have none.
    """
    left, right = side_columns(table.columns)
    who = next((name for name in (*roles.RATER, *JUDGE) if name in table), None)
    if who is not None and _holds_names(table, who):
        names = sorted({name for cell in cells_of(table, who) if (name := label(cell))})
        if who in roles.RATER:
            return [name for name in names if _MODELS.isdisjoint(_words_of(name))]
        return [name for name in names if not _PEOPLE.isdisjoint(_words_of(name))]
    if left is None or right is None:
        return []
    columns = [
        name
        for name in table.columns
        if name not in (left, right)
        and not says_no_verdict(name)
        and holds_outcomes(*_beside(table, name, left, right))
    ]
    persons = [name for name in columns if not _PEOPLE.isdisjoint(_words_of(name))]
    if persons:
        return persons
    sparse = [name for name in columns if len(filled(cells_of(table, name))[0]) < table.n_rows]
    return sparse if len(sparse) < len(columns) else []


def _words_of(name: str) -> list[str]:
    return [word.rstrip("0123456789") for word in roles.words(name)]
