"""Which columns mean what, in every kind of table, by their names or because the user said so.

What is guessed of other names stands in :mod:`steelyard.formats.guessing`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.formats.rawtable import RawTable, one_of

#: Tables of scores and texts.
SYSTEM = ("system",)
SEGMENT = ("segment", "seg", "seg_id", "segment_id", "sid", "line", "item")
DOCUMENT = ("doc", "document")
DOMAIN = ("domain",)
SOURCE = ("source", "src")
REFERENCE = ("reference", "ref")
OUTPUT = ("output", "hyp")
ACCEPTED = ("accepted_names",)  # of the entity that a segment is about, one per line
LANGUAGES = ("lp", "langpair", "language_pair")
TASK = ("task",)  # its items are numbered apart from those of other tasks
EPOCH = ("epoch", "trial", "repetition")  # which time an item was answered: no item of its own
REFERENCE_PREFIX = "ref:"
OUTPUTS, REFERENCES = "out", "refs"  # objects of texts by name
MENTIONS = "mentions"  # the accepted names as a list
_OBJECTS = {"output": (OUTPUTS,), "reference": (REFERENCES,), "accepted": (MENTIONS,)}
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

#: Other names of columns, if the cells are words: a system of a wide table may be called so, too.
SYSTEM_ALSO = ("model", "model_name", "model_id", "system_name", "system_id", "sys", "name",
               "engine", "llm", "provider", "generator")  # fmt: skip
#: Names that say what a column is beside a system and a segment, if the cells are words.
ALSO = {
    "doc": ("doc_id", "document_id", "docid", "doc_name"),
    "domain": ("category", "subset", "topic", "genre"),
    "source": ("source_text", "src_text", "source_segment", "prompt", "question", "query",
               "instruction", "input"),
    "reference": ("reference_text", "ref_text", "reference_segment", "gold", "expected"),
    "output": ("hypothesis", "hypothesis_segment", "translation", "mt", "response", "answer",
               "completion", "output_text", "model_output", "generated", "candidate"),
}  # fmt: skip

#: Words in the names of columns that are seldom scores or systems, even if they hold numbers.
SELDOM = frozenset(
    ("gold", "truth", "expected", "answer", "difficulty", "average", "avg", "mean", "median",
     "total", "sum", "std", "stdev", "stderr", "count", "seed", "temperature", "timestamp", "year",
     "params", "weight", "fold", "age")
)  # fmt: skip

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
    "accepted": ACCEPTED,
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
    (*SYSTEM, *SEGMENT, *DOCUMENT, *DOMAIN, *SOURCE, *REFERENCE, *OUTPUT, *ACCEPTED, *LANGUAGES,
     *TASK, *EPOCH)
)  # fmt: skip
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
     "batch", "hit", "dataset")
)  # fmt: skip


def present(table: RawTable) -> set[str]:
    """Give the roles that the columns of a table have, by their names.

    Beside them: ``.name`` for every column, ``places`` of rankings (two systems or more in a row),
    ``texts`` where outputs or references are objects, ``nested`` where the first row holds any
    object or list, ``delimited`` in CSV and TSV.
    """
    found = of_names(table.columns)
    objects = (table.columns.get(name, ()) for name in (OUTPUTS, REFERENCES))
    if any(isinstance(cell, dict) for column in objects for cell in column):
        found.add("texts")
    if any(isinstance(own[0], (dict, list)) for own in table.columns.values() if len(own)):
        found.add("nested")
    return found | {"delimited"} if table.blank_is_missing else found


def of_names(names: Collection[str]) -> set[str]:
    """Give the roles that names say, and ``.name`` for each; ``places`` where they are of ranks."""
    found = {role for role, known in _ROLES.items() if not set(names).isdisjoint(known)}
    found |= {f".{name}" for name in names}
    return found | {"places"} if len(places(names)) >= 2 else found


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


def of_others(name: str) -> bool:
    """Tell whether an id is that of a system, a rater or a run, and not of an item."""
    return not _OF_OTHERS.isdisjoint(words(name))


def names_items(name: str) -> bool:
    """Tell from its name that a column numbers or names items: no documents, systems or raters."""
    return says_id(name) and not of_others(name) and name not in ALSO["doc"]


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
        pairs = [pair[:40] for pair in pairs]  # which may be anything
        shown = ", ".join(pairs[:5]) + (", ..." if len(pairs) > 5 else "")
        raise InputError(
            f"column '{column}' mixes {len(pairs)} language pairs ({shown}); "
            f'choose one with where={{"{column}": "{pairs[0]}"}}',
            path=table.path,
        )
    return pairs[0], table.without([column])


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
        if role == "segment":
            others += [n for n in table.columns if names_items(n) and n not in (name, *others)]
        if role == "score" and not any(n in table for n in RATER):
            others, new = [n for n in table.columns if n != name and not stays_text(n)], name
        table = called(table.without(others), name, new)
        others = [n for n in others if n not in ASSIGNED["segment"] or role == "segment"]
        if others:
            left = f"{table.place}: columns not used: {', '.join(others)}"
            table = replace(table, notes=(*table.notes, left))
    return table


def described(table: RawTable, *, judged: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Give the roles that columns have, and what the file calls these.

    What is left of a table of scores are scores, or systems if it is wide; files of texts and
    ``judged`` tables have other columns, too.
    """
    found: dict[str, tuple[str, ...]] = {}
    rest = dict.fromkeys(table.columns)  # a column has one role
    for role, names in ASSIGNED.items():
        if judged or _OF_SCORES.issuperset(names):
            objects = [n for n in _OBJECTS.get(role, ()) if n in rest and _is_object(table, n)]
            own = [name for name in names if name in rest] + objects
            found[role] = tuple(table.given.get(name, name) for name in own)
            rest = dict.fromkeys(name for name in rest if name not in own)
    texts = any(_is_object(table, name) for name in (OUTPUTS, REFERENCES) if name in table)
    if not (judged or texts):
        named = [name for name in rest if not is_text(name) and name not in table.metadata]
        scores = tuple(table.given.get(name, name) for name in named)
        found["score" if SYSTEM[0] in table else "system"] = scores
    return tuple((role, own) for role, own in found.items() if own)


def _is_object(table: RawTable, name: str) -> bool:
    return any(isinstance(cell, (dict, list)) for cell in table.columns[name])


def called(table: RawTable, name: str, role: str) -> RawTable:
    """Call a column by its role."""
    columns = {role if key == name else key: own for key, own in table.columns.items()}
    return replace(table, columns=columns, given={**table.given, role: name})
