"""Which columns of a table of verdicts mean what: keys, judges, people, what could sway them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.formats import columns as roles
from steelyard.formats.cells import label, parse_number
from steelyard.formats.rawtable import RawTable
from steelyard.formats.verdicts.sayings import PairColumn, Scale, says_verdict

ITEM = ("battle", "item", "segment", "seg", "seg_id", "segment_id", "sid", "line", "id", "item_id",
        "battle_id", "pair_id", "example_id", "sample_id", "example", "idx", "question_id",
        "prompt_id", "question", "prompt")  # fmt: skip
UNIT = ("prompt", "prompt_id", "question", "question_id", "doc", "document", "doc_id", "unit",
        "conversation_id")  # fmt: skip
JUDGE = ("judge", "judge_name", "judge_model")
RUN = (*roles.EPOCH, "run")
VERDICT = ("verdict", "label", "winner", "outcome", "preference", "score", "rating", "value",
           "judgement", "judgment", "grade", "raw")  # fmt: skip
ORDERS = ("_12", "_21")
_SIDES = (("_left", "_right"), ("_a", "_b"), ("_1", "_2"), ("1", "2"))
LENGTHS = frozenset(("chars", "characters", "words", "tokens", "length", "len", "chars_len"))
_NO_VERDICT = frozenset(
    ("chars", "characters", "words", "tokens", "length", "len", "latency", "cost", "seconds",
     "duration", "time", "timestamp", "tstamp", "weight", "year", "seed", "temperature",
     "probability", "confidence", "rationale", "explanation", "reason", "comment", "comments",
     "text", "output", "response", "answer", "source", "src", "reference", "ref", "hyp", "order",
     "language", "lang", "domain", "category", "topic", "app", "subset", "task", "date")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Keys:
    """What tells the rows of a table apart; None where it has no such column."""

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
    def columns(self) -> set[str]:
        """The columns that are used so."""
        found = (self.item, self.system, self.left, self.right, self.unit, self.run, self.rater,
                 self.judge, self.task)  # fmt: skip
        return {name for name in found if name is not None}


#: What ``columns={role: name}`` may name, and other words for it.
ROLES = ("item", "system", "left", "right", "unit", "run", "rater", "judge", "task")
_ALSO = {"segment": "item", "epoch": "run", "doc": "unit", "prompt": "unit"}


def roles_given(given: Collection[tuple[str, str]]) -> dict[str, str]:
    """Check which columns the user gave which roles."""
    found = {}
    for role, name in given:
        own = _ALSO.get(role, role)
        if own not in ROLES:
            raise UsageError(f"columns: no role '{role}'; {hint(role, ROLES)}")
        found[own] = name
    return found


def keys_of(
    table: RawTable, named: Collection[str], unit: str | None, given: Mapping[str, str]
) -> Keys:
    """Find the keys by the names that columns have; ``named`` are people and judges, none of them.

    ``unit`` is the column that the user named as what rows share, ``given`` others by their role.
    """
    own = {role: name for role, name in given.items() if name in table.columns}
    if unit is not None and unit in table.columns:
        own["unit"] = unit
    taken = {*named, *own.values()}
    free = [name for name in table.columns if name not in taken]

    def first(role: str, names: Sequence[str], but: str | None = None) -> str | None:
        if role in own:
            return own[role]
        return next((name for name in names if name in free and name != but), None)

    left, right = first("left", roles.LEFT), first("right", roles.RIGHT)
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
    """Tell names of judges from what one that is called so says: no gaps, and no verdicts alone."""
    words = {label(cell) for cell in table.columns.get(name, ())}
    known = {word for word in words if word}
    if None in words or "" in words or not known:
        return False
    return any(parse_number(word) is None and not says_verdict(word) for word in known)


def verdict_column(
    table: RawTable, keys: Keys, named: Collection[str], whose: str, but: Collection[str] = ()
) -> list[str]:
    """Find what a long table holds: one column of verdicts, or one for either order."""
    free = [name for name in table.columns if name not in keys.columns and name not in but]
    own = [name for name in free if name in named]
    if own:
        return own
    ordered = [n for n in free if n.endswith(ORDERS[0]) and n[:-3] + ORDERS[1] in free]
    if ordered:
        return [ordered[0], ordered[0][:-3] + ORDERS[1]]
    for name in VERDICT:
        if name in free:
            return [name]
    if len(free) == 1:
        return free
    raise UsageError(
        f"{table.place}: which column holds the verdicts of the {whose}s? Expected one called "
        f"{', '.join(VERDICT[:4])}, found {', '.join(free) or 'none'}"
    )


def sides(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Find columns that both sides of a pair have, by what they are called without the side.

    Examples
    --------
    >>> sides(["chars_left", "chars_right", "words1", "words2", "x_left"])
    {'chars': ('chars_left', 'chars_right'), 'words': ('words1', 'words2')}
    """
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        for one, other in _SIDES:
            base = name.removesuffix(one)
            if base and base != name and base + other in names:
                found.setdefault(base.rstrip("_"), (name, base + other))
    return found


def says_no_verdict(name: str) -> bool:
    """Tell from its name that a column is about something else: lengths, texts, times.

    Examples
    --------
    >>> [says_no_verdict(name) for name in ("chars", "latency_ms", "GPT-4", "rationale")]
    [True, True, False, True]
    """
    return not _NO_VERDICT.isdisjoint(roles.words(name)) or roles.says_id(name)


def holds_outcomes(
    cells: Sequence[Any], left: Sequence[str | None], right: Sequence[str | None]
) -> bool:
    """Tell whether a column says who won: half of what it says, or more, can be understood."""
    known = ~np.isnan(PairColumn.of(cells).points(cells, left, right))
    return len(cells) > 0 and 2 * int(known.sum()) >= len(cells)


def holds_grades(cells: Sequence[Any], scale: Scale) -> bool:
    """Tell whether a column holds what people said of outputs, or numbers."""
    value, label = scale.read(cells)
    known = (label >= 0) | ~np.isnan(value)
    return len(cells) > 0 and 2 * int(known.sum()) >= len(cells)


def chosen(patterns: Collection[str], known: Collection[str], what: str) -> tuple[str, ...]:
    """Give the names that are meant; one that nothing matches is an error."""
    found: dict[str, None] = {}
    for pattern in patterns:
        own = matching([pattern], known)
        if not own:
            raise UsageError(f"{what}: no column '{pattern}'; {hint(pattern, sorted(known))}")
        found |= dict.fromkeys(own)
    return tuple(found)


def matching(patterns: Collection[str], names: Collection[str]) -> list[str]:
    """Give the names that patterns (``gpt-*``) stand for, in the order of the names."""
    parts = [re.escape(p).replace(r"\*", ".*") for p in patterns]
    return [name for name in names if any(re.fullmatch(part, name, re.DOTALL) for part in parts)]
