"""Which columns mean what, in every kind of table: their names, and what is guessed of others.

A column of a table of scores that no name here claims is a score, or a system of a wide table.
Before that is believed, a column that reads like a number of the row is taken as the segment, with
a word about it, or refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.table import unguarded
from steelyard.core.words import plural
from steelyard.formats import cells
from steelyard.formats.tables import RawTable, one_of

#: Tables of scores and texts.
SYSTEM = ("system",)
SEGMENT = ("segment", "seg", "seg_id", "segment_id", "sid", "line", "item")
DOCUMENT = ("doc", "document")
DOMAIN = ("domain",)
SOURCE = ("source", "src")
REFERENCE = ("reference", "ref")
OUTPUT = ("output", "hyp")
LANGUAGES = ("lp", "langpair", "language_pair")
TASK = ("task",)  # its items are numbered apart from those of other tasks
EPOCH = ("epoch", "trial", "repetition")  # which time an item was answered: no item of its own
REFERENCE_PREFIX = "ref:"
OUTPUTS, REFERENCES = "out", "refs"  # objects of texts by name
#: Ratings and error lists.
RATER = ("rater", "worker", "annotator")
RATING = ("raw", "score", "value", "rating")
ERROR_VALUE = ("value", "score", "esa")  # beside a list of errors
ITEM = ("type", "item_type")
BATCH = ("hit", "unit")
SECONDS = ("seconds", "duration")
START, END = ("start_time", "start"), ("end_time", "end")
PACKED, PACKED_SEGMENTS, INDEX = "scores", "segments", "index"
ERRORS, CATEGORY, SEVERITY, TARGET = "errors", "category", "severity", "target"
#: Rankings and battle logs.
RANKED_SEGMENT = ("segmentId", "segment", "seg")
JUDGE = ("judgeId", "judge", "rater")
LEFT, RIGHT = ("left", "model_a"), ("right", "model_b")
OUTCOME = ("outcome", "winner")
BETTER, WORSE = "better", "worse"
WEIGHT, TIME = ("weight",), ("time", "tstamp")
UNIT = ("unit", "prompt", "segment", "seg", "question_id")
_PLACE = re.compile(r"system([1-9][0-9]*)Id")
_RANK = re.compile(r"system([1-9][0-9]*)rank")

#: Other names of the system, if the cells are words: a system of a wide table may be called so too.
SYSTEM_ALSO = ("model", "model_name", "model_id", "system_name", "system_id", "sys", "name")

#: What a table is recognised by: names of columns by their role.
_ROLES: dict[str, tuple[str, ...]] = {
    "system": SYSTEM,
    "segment": SEGMENT,
    "rater": RATER,
    "rating": RATING,
    "left": LEFT,
    "right": RIGHT,
    "outcome": OUTCOME,
    **{name: (name,) for name in (BETTER, WORSE, ERRORS, CATEGORY, SEVERITY, PACKED, INDEX)},
    **{name: (name,) for name in (PACKED_SEGMENTS, "sentence", "entities", "annotated_sentence")},
}

#: What ``columns={role: name}`` may name, with the names that a column of the role has else.
ASSIGNED: dict[str, tuple[str, ...]] = {
    "system": SYSTEM,
    "segment": SEGMENT,
    "doc": DOCUMENT,
    "domain": DOMAIN,
    "task": TASK,
    "epoch": EPOCH,
    "source": SOURCE,
    "reference": REFERENCE,
    "output": OUTPUT,
    "lp": LANGUAGES,
    "rater": RATER,
    "score": tuple(dict.fromkeys(("score", *RATING, *ERROR_VALUE))),
    "type": ITEM,
    "left": LEFT,
    "right": RIGHT,
    "outcome": OUTCOME,
    "unit": UNIT,
    "weight": WEIGHT,
    "time": TIME,
    **{name: (name,) for name in (ERRORS, CATEGORY, SEVERITY, TARGET, BETTER, WORSE)},
}

#: Columns that are names or texts even where they look like numbers, by the kind of table.
_OF_SCORES = frozenset(
    (*SYSTEM, *SEGMENT, *DOCUMENT, *DOMAIN, *SOURCE, *REFERENCE, *OUTPUT, *LANGUAGES, *TASK, *EPOCH)
)
_OF_RATINGS = frozenset(
    (*RATER, *ITEM, *BATCH, INDEX, PACKED, PACKED_SEGMENTS, ERRORS, CATEGORY, SEVERITY, TARGET)
)
_OF_LOGS = frozenset((*LEFT, *RIGHT, *OUTCOME, *UNIT, BETTER, WORSE, *RANKED_SEGMENT, *JUDGE))

#: Columns that mean something in a table of ratings; others are not read.
RATING_COLUMNS = _OF_RATINGS | {*RATING, *ERROR_VALUE, *SECONDS, *START, *END}

#: Words of a name that say that a column numbers or names rows.
_ID = frozenset(("id", "ids", "idx", "index", "uid", "uuid", "guid", "qid", "docid", "rowid"))
_THING = frozenset(
    ("item", "example", "prompt", "question", "query", "segment", "seg", "sentence", "row", "line",
     "instance")
)  # fmt: skip
_NUMBER = frozenset(("no", "nr", "num", "number", "#"))
_OF_OTHERS = frozenset(
    ("model", "system", "sys", "rater", "annotator", "worker", "judge", "user", "session", "run",
     "batch", "hit", "task", "dataset")
)  # fmt: skip
_COUNTS_FROM = 5  # rows; fewer numbers than that can be 1, 2, 3 by chance
_FAR = 100.0  # largest scores of two systems that are so many times apart are not of one kind


def present(table: RawTable) -> set[str]:
    """Give the roles that the columns of a table have, by their names.

    Beside them: ``.name`` for every column, ``places`` of rankings (two systems or more in a row),
    ``texts`` where outputs or references are objects, ``nested`` where the first row holds any
    object or list.
    """
    names = table.columns.keys()
    found = {role for role, known in _ROLES.items() if not names.isdisjoint(known)}
    found |= {f".{name}" for name in names}
    if len(places(names)) >= 2:
        found.add("places")
    objects = (table.columns.get(name, ()) for name in (OUTPUTS, REFERENCES))
    if any(isinstance(cell, dict) for column in objects for cell in column):
        found.add("texts")
    if any(isinstance(own[0], (dict, list)) for own in table.columns.values() if len(own)):
        found.add("nested")
    return found


def places(names: Iterable[str]) -> list[int]:
    """Give the numbers k of columns ``systemKId`` that have a ``systemKrank``, in order."""
    known = set(names)
    found = [int(match[1]) for name in known if (match := _PLACE.fullmatch(name))]
    return sorted(place for place in found if f"system{place}rank" in known)


def is_rank(name: str) -> bool:
    """Tell whether a column of rankings holds ranks."""
    return _RANK.fullmatch(name) is not None


def is_text(name: str) -> bool:
    """Tell whether a column of a table of scores holds names or texts."""
    return name in _OF_SCORES or name.startswith(REFERENCE_PREFIX)


def is_log_text(name: str) -> bool:
    """Tell whether a column of a battle log or of rankings holds names."""
    return name in _OF_LOGS or _PLACE.fullmatch(name) is not None


def stays_text(name: str) -> bool:
    """Tell whether the cells of a column of scores stay as they are, even where all are digits."""
    return is_text(name) or name in SYSTEM_ALSO or says_id(name)


def is_text_anywhere(name: str) -> bool:
    """Tell whether a column holds names or texts in any kind of table."""
    return stays_text(name) or name in _OF_RATINGS or is_log_text(name)


def words(name: str) -> list[str]:
    """Split a name where a blank, a sign or a capital letter parts it, in small letters."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W_]+|#", parted.casefold())


def says_id(name: str) -> bool:
    """Tell from its name that a column numbers or names rows, and holds no score.

    Examples
    --------
    >>> [says_id(name) for name in ("id", "questionId", "doc_id", "Unnamed: 0", "row no", "BLEU")]
    [True, True, True, True, True, False]
    """
    found = words(name)
    if not found:
        return False
    numbered = len(found) == 2 and found[0] in _THING and found[1] in _NUMBER
    whole = len(found) == 1 and found[0] in _THING
    return found[-1] in _ID or found[0] == "id" or numbered or whole or found[0] == "unnamed"


def check_free(names: Iterable[str], what: str, *, ids: bool = False) -> None:
    """Refuse names of scores or systems that a table would take for a column of its own.

    With ``ids`` some may read like ids, for formats that say which columns are scores.
    """
    for name in names:
        if is_text(name) or not name.strip() or (says_id(name) and not ids):
            raise UsageError(f"a {what} named '{name}' can't be told from the column of that name")


def uses(name: str, references: Sequence[str] = ()) -> tuple[str, ...]:
    """Tell from the end of a metric's name what it sees: source, all, or named references.

    Examples
    --------
    >>> uses("CometKiwi-src"), uses("BLEU-refA"), uses("BLEU-refA.refB"), uses("chrF")
    (('src',), ('refA',), ('refA', 'refB'), ())
    """
    base, dash, ending = name.rpartition("-")
    if not (base and dash and ending):
        return ()
    if ending in ("src", "all"):
        return (ending,)
    names = ending.split(".")
    known = all(n in references or re.fullmatch(r"ref[A-Z0-9a-z]?", n) for n in names)
    return tuple(names) if known else ()


def segment_column(table: RawTable) -> str | None:
    """Give the column that holds the segment ids, None if there is none."""
    return one_of(table, SEGMENT, "segment")


def language_pair(table: RawTable) -> tuple[str | None, RawTable]:
    """Take out the column that names the language pair; a file with several is an error."""
    column = one_of(table, LANGUAGES, "language pair")
    if column is None:
        return None, table
    pairs = sorted(set(table.labels(column)))
    if len(pairs) > 1:
        shown = ", ".join(pairs[:5]) + (", ..." if len(pairs) > 5 else "")
        raise InputError(
            f"column '{column}' mixes {len(pairs)} language pairs ({shown}); "
            f'choose one with where={{"{column}": "{pairs[0]}"}}',
            path=table.path,
        )
    return pairs[0], table.without([column])


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


def assigned(table: RawTable, given: Iterable[tuple[str, str]]) -> RawTable:
    """Call columns by the roles that the user gave them; others that could have the role go.

    A ``score`` keeps its name, unless raters gave it, and is the only one.
    """
    for role, name in given:
        if role not in ASSIGNED:
            raise UsageError(f"columns: no role '{role}'; {hint(role, ASSIGNED)}")
        if name not in table:
            continue
        others = [n for n in ASSIGNED[role] if n in table and n != name]
        new = role
        if role == "score" and not any(n in table for n in RATER):
            others, new = [n for n in table.columns if n != name and not stays_text(n)], name
        table = _called(table.without(others), name, new)
        if others:
            left = f"{table.place}: columns not used: {', '.join(others)}"
            table = replace(table, notes=(*table.notes, left))
    return table


def described(table: RawTable, *, judged: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Give the roles that columns have, and what the file calls these.

    What is left of a table of scores are scores, or systems if it is wide; ``judged`` tables have
    other columns, too.
    """
    found: dict[str, list[str]] = {}
    for role, names in ASSIGNED.items():
        if role != "score" or judged:
            found[role] = [table.given.get(n, n) for n in names if n in table]
    if not judged:
        rest = [table.given.get(n, n) for n in table.columns if not is_text(n)]
        found["score" if SYSTEM[0] in table else "system"] = rest
    return tuple((role, tuple(own)) for role, own in found.items() if own)


@dataclass(frozen=True)
class Named:
    """What the user named: scores, and systems to keep (None: all). These are never doubted."""

    scores: frozenset[str] = frozenset()
    systems: frozenset[str] | None = None


def settled(table: RawTable, named: Named) -> tuple[RawTable, list[str]]:
    """Call the columns of a table of scores by our names, and say what was guessed."""
    notes: list[str] = []
    if SYSTEM[0] not in table:
        spelt = {name.casefold(): name for name in table.columns}
        known = (spelt[name] for name in (*SYSTEM, *SYSTEM_ALSO) if name in spelt)
        found = [name for name in known if _is_words(table, name)]
        if found:
            table, notes = _renamed(table, found[0], SYSTEM[0])
    table, said = numbered(table, named.scores if SYSTEM[0] in table else named.systems)
    return table, notes + said


def numbered(table: RawTable, kept: Collection[str] | None = None) -> tuple[RawTable, list[str]]:
    """Call the column that names the segments ``segment``, and say so if that was a guess."""
    if any(name in table for name in SEGMENT):
        return table, []
    segment = _segment(table, kept or ())
    return (table, []) if segment is None else _renamed(table, segment, SEGMENT[0])


def _is_words(table: RawTable, name: str) -> bool:
    column = table.columns[name]
    return not isinstance(column, np.ndarray) and not any(
        cells.parse_number(cell) is not None for cell in column[:100]
    )


def _segment(table: RawTable, kept: Collection[str]) -> str | None:
    """Find the column that names the segments by something like ``example_id``."""
    found = [
        name
        for name in table.columns
        if says_id(name) and name not in kept and not _OF_OTHERS & set(words(name))
    ]
    first = next(iter(table.columns))
    if len(found) > 1 and first not in found:
        raise UsageError(
            f"{table.place}: columns {' and '.join(found)} could both be the segment; "
            "name the other one with ignore=..."
        )
    return None if not found else first if first in found else found[0]


def _renamed(table: RawTable, name: str, role: str) -> tuple[RawTable, list[str]]:
    return _called(table, name, role), [f"{table.place}: column '{name}' is taken as the {role}"]


def _called(table: RawTable, name: str, role: str) -> RawTable:
    """Call a column by its role."""
    columns = {role if key == name else key: own for key, own in table.columns.items()}
    return replace(table, columns=columns, given={**table.given, role: name})


def checked(table: RawTable, named: Named) -> tuple[RawTable, list[str]]:
    """Refuse columns that are no scores; give those that are left, and what seems odd of them."""
    if SYSTEM[0] in table:
        _refuse_running_ids(table)
        _refuse_ids(table, named.scores, 'kind={{"metric": ["{name}"]}} takes it for a score')
        return table, [
            f"{table.place}: column '{name}' counts the rows, and is taken for a score "
            f"({cells.skipping(name)} skips it)"
            for name in _scores(table)
            if name not in named.scores and _counts(table, name)
        ]
    if named.systems is not None:
        others = [n for n in _scores(table) if says_id(n) and n not in named.systems]
        return table.without(others), []
    _refuse_ids(table, (), 'systems=["{name}", ...] takes it for a system')
    return table, _odd_systems(table)


def _refuse_running_ids(table: RawTable) -> None:
    """Refuse a segment that was guessed if no two systems share any: it numbers the rows."""
    name = table.given.get(SEGMENT[0])
    if name is None:
        return
    n_systems, n_segments = (
        len(set(map(str, table.columns[role]))) for role in (SYSTEM[0], SEGMENT[0])
    )
    if n_systems > 1 and n_segments == table.n_rows:
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
            how = f"{cells.skipping(name)} skips it, {otherwise.format(name=name)}"
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
