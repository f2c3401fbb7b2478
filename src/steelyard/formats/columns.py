"""Which columns mean what in a table: by their names, their values, or the user's word.

Columns get roles (system, segment, document, task, rater, ...). What no role claims in a table of
scores is a score if it holds numbers, and describes the item or is left out if it holds texts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.table import unguarded
from steelyard.core.text import listed, plural
from steelyard.formats import cells
from steelyard.formats.cells import brief
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
TASK = ("task", "benchmark")  # its items are numbered apart from those of other tasks
EPOCH = ("epoch", "trial", "repetition", "run", "seed")  # which time an item was answered
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

#: Other names of systems, if the cells are words: a system of a wide table may be called so, too.
SYSTEM_ALSO = ("model", "model_name", "model_id", "system_name", "system_id", "sys", "name",
               "engine", "llm", "provider", "generator")  # fmt: skip
#: Names that systems have where no column has one of those.
_SYSTEM_ELSE = ("experiment", "experiment_name", "variant", "method", "approach", "checkpoint",
                "configuration", "config", "version", "condition", "run", "run_name", "run_id",
                "system_prompt", "prompt_version")  # fmt: skip
_RATER_ALSO = ("rater_id", "worker_id", "annotator_id", "participant", "participant_id", "coder",
               "evaluator", "evaluator_id", "assessor", "assessor_id", "respondent")  # fmt: skip
#: Names that say what a column is beside a system and a segment, if the cells are words.
ALSO = {
    "doc": ("doc_id", "document_id", "docid", "doc_name", "document_name"),
    "domain": ("category", "subset", "topic", "genre"),
    "source": ("source_text", "src_text", "source_segment", "prompt", "question", "query",
               "instruction", "input", "user_input", "inputs"),
    "reference": ("reference_text", "ref_text", "reference_segment", "gold", "expected",
                  "ground_truth", "target", "expected_output", "reference_outputs"),
    "output": ("hypothesis", "hypothesis_segment", "translation", "mt", "response", "answer",
               "completion", "output_text", "model_output", "generated", "candidate", "prediction",
               "outputs"),
    "epoch": ("attempt", "iteration", "run_id", "repeat", "rollout", "sample", "try"),
}  # fmt: skip
#: Words before a dot that say where a column comes from, and not what it is.
_SOURCES = ("input", "inputs", "output", "outputs", "data", "metadata", "meta", "reference_outputs")

#: Words in the names of columns that are seldom scores or systems, even if they hold numbers.
_SELDOM = frozenset(
    ("gold", "truth", "expected", "answer", "difficulty", "stdev", "stderr", "temperature",
     "timestamp", "year", "params", "weight", "fold", "age")
)  # fmt: skip
#: Last words of names of what describes an item beside the scores of systems.
_FACTS = frozenset(
    """
    length len chars words tokens count conf confidence diff difference delta difficulty latency
    cost price seconds duration runtime answer gold expected truth temperature timestamp year
    weight fold age level
    """.split()  # noqa: SIM905 - a list of words
)
#: Words of names that say what is measured, so that the column is no system.
_MEASURES = frozenset(
    """
    accuracy acc f1 em precision recall bleu chrf chrf2 chrf3 ter comet cometkiwi kiwi metricx
    bleurt bertscore rouge rouge1 rouge2 rougel meteor mqm da esa correct correctness incorrect
    faithfulness relevance relevancy groundedness helpfulness harmlessness coherence fluency
    adequacy consistency completeness conciseness toxicity naturalness grammar quality similarity
    perplexity latency seconds duration runtime elapsed cost price token tokens score scores
    rating passed pass success pass_rate match exact_match kendall pearson spearman error errors
    loss reward mrr ndcg wer cer kappa auc mse mae rmse count min max mean median std stddev
    variance sum total average avg
    """.split()  # noqa: SIM905 - a list of words
)
#: Names of columns of errors and counts, behind what they are of.
_SPREAD = re.compile(
    r"(.*?)[ _.(-]*(?<![a-z0-9])(std|stdev|stddev|std_?dev|std_?err|stderr|sem|se|var|variance|"
    r"ci|ci_?95|ci_?low|ci_?high|ci_?lower|ci_?upper|lower|upper|±|\+/-|count|n)\)?",
    re.IGNORECASE,
)
_IN_SUMMARY = re.compile(r"count|std|min|max|median|[0-9.]+%", re.IGNORECASE)
#: Names of columns that say which score a row holds.
_SCORE_NAMES = ("metric", "metric_name", "measure", "score_name", "score_type", "criterion",
                "dimension")  # fmt: skip
_SUMMARY = re.compile(
    r"((macro|micro|weighted|grand|overall|column)[ -]?)?(average|avg\.?|mean|total|overall|sum)"
    r"( score)?:?|std\.?|stdev|stddev|std\.?[ _-]?dev\.?|median|ø"
)
_SUMMARY_OF_ITEMS = ("all", "count", "max", "min")  # which systems may be called

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
    "rank": ("rank",),
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
    name for role in ("system", "segment", "doc", "domain", "task", "epoch", "source", "reference",
                      "output", "accepted", "lp") for name in ASSIGNED[role]
)  # fmt: skip
_OF_RATINGS = frozenset(
    (*RATER, *ITEM, *BATCH, INDEX, PACKED, PACKED_SEGMENTS, ERRORS, CATEGORY, SEVERITY, TARGET)
)
_OF_LOGS = frozenset((*LEFT, *RIGHT, *OUTCOME, *UNIT, BETTER, WORSE, *RANKED_SEGMENT, *JUDGE))
#: Columns of texts that are no texts if they hold numbers alone, in a table without systems.
_TEXTS = (*SOURCE, *REFERENCE, *OUTPUT, *DOMAIN, *ACCEPTED)

#: Columns that mean something in a table of ratings; others are not read.
RATING_COLUMNS = _OF_RATINGS | {*RATING, *ERROR_VALUE, *SECONDS, *START, *END}

#: Words of a name that say that a column numbers or names rows.
_ID = frozenset(("id", "ids", "idx", "index", "uid", "uuid", "guid", "qid", "docid", "rowid"))
_THING = frozenset(
    ("item", "example", "prompt", "question", "query", "segment", "seg", "sentence", "row", "line",
     "instance", "case", "testcase")
)  # fmt: skip
_GRADERS = frozenset(("judge", "grader", "scorer", "evaluator", "annotator", "rater", "metric"))
_NUMBER = frozenset(("no", "nr", "num", "number", "#"))
_OF_OTHERS = frozenset(
    ("model", "system", "sys", "rater", "annotator", "worker", "judge", "user", "session", "run",
     "batch", "hit", "dataset", "participant", "doc", "document")
)  # fmt: skip
_COUNTS_FROM = 5  # rows; fewer numbers than that can be 1, 2, 3 by chance
_FEWER = 3  # times as many items as systems tell which is which


# What names say.


def words(name: str) -> list[str]:
    """Split a name where a blank, a sign or a capital letter parts it, in small letters."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W_]+|#", parted.casefold())


@cache
def key(name: str) -> str:
    """Give a name as we spell it: ``Sentence ID`` and ``Input.sentenceId`` are ``sentence_id``."""
    source, dot, rest = name.partition(".")
    plain = rest if dot and source.casefold() in _SOURCES else name
    return "_".join(words(plain)) or name


@cache
def says_id(name: str) -> bool:
    """Tell from its name that a column numbers or names rows, and holds no score."""
    parts = words(name) or [""]
    numbered = len(parts) == 2 and parts[1] in _NUMBER
    whole = (len(parts) == 1 and parts[0] in _THING) or parts == ["test", "case"]
    return parts[-1] in _ID or parts[0] in ("id", "unnamed") or numbered or whole


def last_part(name: str) -> str:
    """Give what a name says behind its last dot; all of it where that is of a judge or rater."""
    before, _, last = name.rpartition(".")
    return last if _GRADERS.isdisjoint(words(before)) else name


def names_items(name: str) -> bool:
    """Tell from its name that a column numbers or names items: no documents, systems or raters."""
    return says_id(name) and _OF_OTHERS.isdisjoint(words(name)) and key(name) not in ALSO["doc"]


def names_systems(name: str) -> bool:
    """Tell from its name that a column names systems."""
    return key(name) in (*SYSTEM, *SYSTEM_ALSO)


def has_role(name: str) -> bool:
    """Tell whether a name is that of a column of ours, or of one that numbers rows."""
    return key(name) in _OF_SCORES or names_systems(name) or says_id(name)


def _is_measure(name: str) -> bool:
    """Tell from its name that a column holds what was measured, and is no system."""
    parts = words(name)
    if re.search("^rank|(?<![a-z])rank$", name.casefold()):
        return True
    return bool(parts) and (
        not _MEASURES.isdisjoint((parts[0], parts[-1], "_".join(parts)))
        or (len(parts) > 1 and parts[0] in ("is", "human", "judge") and len(parts) < 4)
    )


def names_scores(table: RawTable, name: str) -> bool:
    """Tell whether a column says by words which score a row holds."""
    return key(name) in _SCORE_NAMES and _is_words(table, name)


def are_measures(names: Sequence[str]) -> bool:
    """Tell whether most names are of measures, and none is that of a column of ours."""
    measures = sum(_is_measure(name) for name in names)
    return 2 * measures >= len(names) > 0 and not any(has_role(name) for name in names)


def of_one_measure(names: Sequence[str]) -> list[str]:
    """Give the names that end like the first, as base_acc and tuned_acc, or the first two."""
    alike = [name for name in names if words(name)[-1:] == words(names[0])[-1:]]
    return alike if len(alike) > 1 else list(names[:2])


def is_text(name: str) -> bool:
    """Tell whether a column of a table of scores holds names or texts."""
    return name in _OF_SCORES or name.startswith(REFERENCE_PREFIX)


def is_log_text(name: str) -> bool:
    """Tell whether a column of a battle log or of rankings holds names."""
    return name in _OF_LOGS or _PLACE.fullmatch(name) is not None


def stays_text(name: str) -> bool:
    """Tell whether the cells of a column of scores stay as they are, even where all are digits."""
    return is_text(name) or key(name) in (*SYSTEM_ALSO, *SEGMENT) or says_id(name)


def is_text_anywhere(name: str) -> bool:
    """Tell whether a column holds names or texts in any kind of table."""
    rates = name in _OF_RATINGS or key(name) in (*RATER, *_RATER_ALSO)
    return stays_text(name) or rates or is_log_text(name)


def present(table: RawTable) -> set[str]:
    """Give the roles that the columns of a table have, by their names.

    Beside them: ``.name`` for every column, ``places`` of rankings (two systems or more in a row),
    ``texts`` where outputs or references are objects, ``nested`` where the first row holds any
    object or list, ``delimited`` in CSV and TSV.
    """
    roles = of_names(table.columns)
    if any(_is_object(table, name, dict) for name in (OUTPUTS, REFERENCES) if name in table):
        roles.add("texts")
    if any(isinstance(c[0], (dict, list)) for c in table.columns.values() if len(c)):
        roles.add("nested")
    return roles | {"delimited"} if table.blank_is_missing else roles


def of_names(names: Collection[str]) -> set[str]:
    """Give the roles that names say, and ``.name`` for each; ``places`` where they are of ranks."""
    usual_names = {**ASSIGNED, "rating": RATING}
    roles = {role for role, usual in usual_names.items() if not set(names).isdisjoint(usual)}
    roles |= {f".{name}" for name in names}
    return roles | {"places"} if len(places(names)) >= 2 else roles


def places(names: Iterable[str]) -> list[int]:
    """Give the numbers k of columns ``systemKId`` that have a ``systemKrank``, in order."""
    present_names = set(names)
    numbers = [int(match[1]) for name in present_names if (match := _PLACE.fullmatch(name))]
    return sorted(number for number in numbers if f"system{number}rank" in present_names)


def check_free(names: Iterable[str], what: str, *, ids: bool = False) -> None:
    """Refuse names of scores or systems (unless ``ids`` are fine) that a table reads otherwise."""
    for name in names:
        if is_text(name) or not name.strip() or (says_id(name) and not ids):
            raise UsageError(f"a {what} named '{name}' can't be told from the column of that name")


def uses(name: str, references: Sequence[str] = ()) -> tuple[str, ...]:
    """Tell from the end of a metric's name what it sees: source, all, or named references."""
    base, _, ending = name.rpartition("-")
    if not (base and ending):
        return ()
    if ending in ("src", "all"):
        return (ending,)
    names = ending.split(".")
    fits = all(n in references or re.fullmatch(r"ref[A-Z0-9a-z]?", n) for n in names)
    return tuple(names) if fits else ()


# What the user says, and what is shown of it.


@dataclass(frozen=True)
class Named:
    """What the user named: scores, and systems to keep (None: all). These are never doubted."""

    scores: frozenset[str] = frozenset()
    systems: frozenset[str] | None = None


def called(table: RawTable, name: str, role: str) -> RawTable:
    """Call a column by its role."""
    columns = {role if other == name else other: c for other, c in table.columns.items()}
    return replace(table, columns=columns, given={**table.given, role: name})


def _taken(table: RawTable, name: str, role: str) -> RawTable:
    """Call a column by its role, and say so unless only the spelling differs."""
    renamed = called(table, name, role)
    note = f"column '{name}' is taken as the {role}"
    return renamed if key(name) == role else renamed.noted(note)


def unused(table: RawTable, names: Collection[str]) -> RawTable:
    """Leave out columns, and say so."""
    rest = table.without(names)
    return rest.noted(f"columns not used: {', '.join(names)}") if names else rest


def assigned(table: RawTable, roles: Iterable[tuple[str, str]]) -> RawTable:
    """Call columns by the roles that the user gave them; others that could have the role go.

    A ``score`` keeps its name, unless raters gave it, and is the only one.
    """
    for role, name in roles:
        if role not in ASSIGNED:
            raise UsageError(f"columns: no role '{role}'; {hint(role, ASSIGNED)}")
        if name not in table:
            continue
        others = [n for n in ASSIGNED[role] if n in table and n != name]
        alone = role == "score" and not any(rater in table for rater in RATER)
        if role == "segment":
            others += [n for n in table.columns if names_items(n) and n not in (name, *others)]
        elif alone:
            others = [n for n in table.columns if n != name and not stays_text(n)]
        elif role in ("epoch", "system"):
            others = [n for n in others if n == role]
        table = called(unused(table, others), name, name if alone else role)
    return table


def described(table: RawTable, *, judged: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Give the roles that columns have, and what the file calls these.

    What is left of a table of scores are scores, or systems if it is wide; files of texts and
    ``judged`` tables have other columns, too.
    """

    def in_file(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(table.given.get(name, name) for name in names)

    roles: dict[str, tuple[str, ...]] = {}
    rest = list(table.columns)  # a column has one role
    for role, names in ASSIGNED.items():
        if judged or _OF_SCORES.issuperset(names):
            members = [n for n in names if n in rest and n not in table.metadata]
            members += [n for n in _OBJECTS.get(role, ()) if n in rest and _is_object(table, n)]
            roles[role] = in_file(members)
            rest = [name for name in rest if name not in members]
    if not judged and not any(_is_object(table, n) for n in (OUTPUTS, REFERENCES) if n in table):
        scores = [n for n in rest if not is_text(n) and n not in table.metadata]
        roles["score" if SYSTEM[0] in table else "system"] = in_file(scores)
        roles["metadata"] = tuple(name for name in rest if name in table.metadata)
    return tuple((role, names) for role, names in roles.items() if names)


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
        table.fail(
            f"column '{column}' mixes {len(pairs)} language pairs ({listed(pairs, 5)}); "
            f'choose one with where={{"{column}": "{pairs[0]}"}}'
        )
    return pairs[0], table.without([column])


# What values say.


def _labels(table: RawTable, name: str) -> list[Any]:
    """Give the cells of a column so that they can be compared, whatever they are."""
    return [c if isinstance(c, str) else cells.label(c) or repr(c) for c in table.cells(name)]


def _n_distinct(table: RawTable, *names: str) -> int:
    columns = [_labels(table, name) for name in names]
    return len(set(columns[0] if len(names) == 1 else zip(*columns, strict=True)))


def _is_object(table: RawTable, name: str, kinds: Any = (dict, list)) -> bool:
    column = table.columns[name]
    return not isinstance(column, np.ndarray) and any(isinstance(cell, kinds) for cell in column)


def _is_words(table: RawTable, name: str) -> bool:
    """Tell whether a column holds names: texts that are no numbers, and some."""
    column = table.columns[name]
    if isinstance(column, np.ndarray):
        return False
    filled = [c for c in column[:100] if not cells.is_missing(c)]
    return bool(filled) and all(
        cells.parse_number(c) is None and not isinstance(c, (bool, dict, list)) for c in filled
    )


def _is_numbers(table: RawTable, name: str) -> bool:
    values = cells.numbers_of(table.columns[name])
    return values is not None and not np.isnan(values).all()


def is_whole(table: RawTable, name: str) -> bool:
    """Tell whether a column holds whole numbers alone."""
    values = cells.numbers_of(table.columns[name])
    return values is not None and bool((values == np.floor(values)).all())


def values(table: RawTable, name: str) -> Any:
    """Give the numbers of a column of scores, be they words for right and wrong."""
    numbers = cells.numbers_of(table.columns[name])
    return cells.truths(table.columns[name]) if numbers is None else numbers


def _is_score(table: RawTable, name: str) -> bool:
    """Tell whether a column that no name claims holds scores."""
    if is_text(name) or says_id(name) or names_systems(name):
        return False
    numbers = values(table, name)
    return numbers is not None and not np.isnan(numbers).all()


def measured(table: RawTable) -> list[str]:
    """Give the columns of a table without systems that hold scores."""
    return [name for name in table.columns if _is_score(table, name)]


def nested_columns(table: RawTable, kinds: Any = (dict, list)) -> list[str]:
    """Give the columns that hold objects or lists."""
    return [name for name in table.columns if _is_object(table, name, kinds)]


def are_battles(table: RawTable) -> bool:
    """Tell whether two columns name the sides of battles."""
    sides = [next((n for n in names if n in table), None) for names in (LEFT, RIGHT)]
    return all(name is not None and _is_words(table, name) for name in sides)


def _determines(table: RawTable, name: str, other: str) -> bool:
    return _n_distinct(table, name) == _n_distinct(table, name, other)


def _numbers_rows(table: RawTable, name: str) -> bool:
    """Tell whether a column is another on every row of several systems."""
    if SYSTEM[0] not in table or _n_distinct(table, SYSTEM[0]) == 1:
        return False
    return _n_distinct(table, name) == table.n_rows


def _counts(table: RawTable, name: str, least: int = _COUNTS_FROM) -> bool:
    """Tell whether a column counts: whole numbers in a row, some of which may be missing.

    Many numbers from 0 or 1 on count in any order, few only from there and in order.
    """
    values = cells.numbers_of(table.columns[name])
    if values is None or np.isnan(values).all():
        return False
    filled = np.flatnonzero(~np.isnan(values))
    if len(filled) < least or not (values[filled[:100]] == np.floor(values[filled[:100]])).all():
        return False
    start = values[filled] - filled  # where the first row would be
    if (start == start[0]).all():
        return table.n_rows >= _COUNTS_FROM or start[0] in (0, 1)
    ordered = np.sort(values)
    many = table.n_rows >= _COUNTS_FROM and ordered[0] in (0, 1)
    return many and bool((np.diff(ordered) == 1).all())


def _either(table: RawTable, names: Sequence[str], role: str) -> NoReturn:
    """Refuse a table in which either of two columns could have a role, and say what decides."""
    ways = " or ".join(f'columns={{"{role}": "{name}"}}' for name in names)
    both = " and ".join(f"'{name}'" for name in names)
    raise UsageError(f"{table.place}: columns {both} could both be the {role}: {ways} decides")


# From names and values to roles.


def settled(table: RawTable, named: Named) -> RawTable:
    """Call the columns of a table of scores by their roles; what is left are scores or systems."""
    table = _with_system(_without_guards(table), named)
    long = SYSTEM[0] in table
    table = _with_whole_ids(numbered(table, named.scores if long else named.systems or ()))
    if long:
        for role in (*ALSO, "task"):
            table = _spelt(table, role, named.scores)
        table = _with_segment_by_values(table, named.scores)
    else:
        table = _with_numbers_as_systems(table, named.systems or ())
    return without_summaries(_without_spreads(table, named))


def _without_spreads(table: RawTable, named: Named) -> RawTable:
    """Leave out columns of errors and counts: by their name beside others, or of a summary."""
    kept = named.scores | (named.systems or frozenset())
    names = [name for name in measured(table) if name not in kept]
    stems = {"_".join(words(name)) for name in names}
    summary = {key(name) for name in names} >= {"mean", "std"}  # as pandas describes columns
    spreads = {name: match for name in names if (match := _SPREAD.fullmatch(name.strip()))}
    left = [
        n for n, match in spreads.items() if match[1] and not stems.isdisjoint(_stems(match[1]))
    ]
    # A system may be called n, and so may a score of segments.
    counts = bool(left) or (SYSTEM[0] in table and segment_column(table) is None)
    for name in names:
        bare = name in spreads and not spreads[name][1]
        counted = counts or words(name) not in (["n"], ["count"])
        if (bare and counted) or (summary and _IN_SUMMARY.fullmatch(name)):
            left.append(name)
    return unused(table, left) if len(left) < len(names) else table


def _stems(name: str) -> tuple[str, ...]:
    stem = "_".join(words(name))
    return stem, f"{stem}_mean", f"{stem}_avg", f"{stem}_score"


def _with_whole_ids(table: RawTable) -> RawTable:
    """Write ids like ``3.0``, as pandas does beside a gap, as the whole numbers that they are."""
    for name in (name for name in SEGMENT if name in table):
        ids = table.cells(name)
        texts = cells.distinct(ids) or set()
        if texts and all(isinstance(c, str) and re.fullmatch(r"-?[0-9]+\.0", c) for c in texts):
            columns = {**table.columns, name: [cell.removesuffix(".0") for cell in ids]}
            table = replace(table, columns=columns)
    return table


def _without_guards(table: RawTable) -> RawTable:
    """Take guards against formulas off the names in a delimited table of scores, and say so."""
    if not table.blank_is_missing:
        return table
    columns: dict[str, Any] = {}
    plain: list[str] = []  # names that had a guard
    for guarded, column in table.columns.items():
        name = unguarded(guarded)
        columns[name] = column
        plain += [name] if name != guarded else []
        if name in (*SYSTEM, *SEGMENT):
            texts = {c for c in cells.distinct(column) or () if isinstance(c, str) and c[:1] == "'"}
            odd = {text: bare for text in sorted(texts) if (bare := unguarded(text)) != text}
            plain += odd.values()
            columns[name] = [odd.get(c, c) for c in column] if odd else column
    if not plain or len(columns) < len(table.columns):
        return table
    names = f"{plural(len(plain), 'name')}, such as '{plain[0]}'"
    note = f"an apostrophe before {names}, is taken for a guard against formulas"
    return replace(table, columns=columns).noted(note)


def names_a_system(table: RawTable) -> bool:
    """Tell whether a column names systems."""
    return SYSTEM[0] in table or _system_by_name(table) is not None


def _with_system(table: RawTable, named: Named) -> RawTable:
    if SYSTEM[0] in table or (named.systems is not None and named.systems <= set(table.columns)):
        return table
    system = _system_by_name(table) or _system_by_numbers(table) or _system_by_values(table)
    if system is None:
        return table
    others = [n for n in table.columns if names_systems(n) and n != system]
    return _taken(unused(table, others), system, SYSTEM[0])


def _system_by_name(table: RawTable) -> str | None:
    """Find the column that is called like one of systems and holds names: of several the finest."""
    spelt: dict[str, str] = {}
    for name in table.columns:
        if _is_words(table, name):
            last = last_part(name)
            spelt.setdefault(last if last in ("system", "model") else key(name), name)
    columns = [spelt[n] for n in (*SYSTEM, *SYSTEM_ALSO) if n in spelt]
    if not columns:
        return next((spelt[n] for n in _SYSTEM_ELSE if n in spelt), None)
    for name in columns:
        if all(_determines(table, name, other) for other in columns):
            return name
    _either(table, columns[:2], "system")


def _system_by_numbers(table: RawTable) -> str | None:
    """Find systems that are called by numbers: models 7, 13 and 70."""
    strong = (*SYSTEM, "model", "model_name", "model_id", "system_name", "system_id", "llm")
    name = next((n for n in table.columns if key(n) in strong), None)
    if name is None or not _is_numbers(table, name) or not is_whole(table, name):
        return None
    items = [n for n in table.columns if names_items(n) or n in SEGMENT]
    outer = [n for n in table.columns if n in (*DOCUMENT, *TASK, *ALSO["doc"])]
    for ids in (*((item,) for item in items), *((o, item) for o in outer for item in items)):
        if _n_distinct(table, *ids) < table.n_rows == _n_distinct(table, name, *ids):
            return name
    if len(table.columns) - len(items) < 2:
        return None
    shown = listed(list(dict.fromkeys(_labels(table, name))), 3)
    raise UsageError(
        f"{table.place}: column '{name}' holds numbers ({shown}): "
        f'columns={{"system": "{name}"}} if they name systems, systems=["{name}", ...] if it is one'
    )


def _system_by_values(table: RawTable) -> str | None:
    """Find the column of a few names that is crossed with another one, a row for every pair."""
    scores = measured(table)
    if not scores or (len(scores) > 1 and not are_measures(scores)):
        return None
    describe = {
        *_OF_SCORES,
        *_SCORE_NAMES,
        *(n for names in ALSO.values() for n in names),
        "language",
        "split",
    }
    crossed: dict[str, int] = {}  # how many names a column has
    for name in table.columns:
        if name in scores or says_id(name) or is_text_anywhere(name) or key(name) in describe:
            continue
        several = _n_distinct(table, name) if _is_words(table, name) else 0
        if 2 <= several <= min(50, table.n_rows // 2) and any(
            several * _n_distinct(table, other) == table.n_rows == _n_distinct(table, name, other)
            for other in table.columns
            if other != name and other not in scores
        ):
            crossed[name] = several
    fewest = sorted(crossed, key=lambda name: crossed[name])[:2]
    if len(fewest) == 2 and _FEWER * crossed[fewest[0]] > crossed[fewest[1]]:
        _either(table, fewest, "system")
    return fewest[0] if fewest else None


def _spelt(table: RawTable, role: str, kept: Collection[str]) -> RawTable:
    """Call a column by our name that is spelt otherwise, if it holds what the role has."""
    names = (*ASSIGNED[role], *ALSO.get(role, ()))
    if any(name in table for name in ASSIGNED[role]):
        return table
    column = next((n for n in table.columns if key(n) in names and n not in kept), None)
    if column is None or _is_object(table, column):
        return table
    segment = segment_column(table)
    if key(column) in ALSO["epoch"] and (
        segment is None or _n_distinct(table, SYSTEM[0], segment) == table.n_rows
    ):
        return table
    if role in ("domain", "source", "reference", "output") and _is_numbers(table, column):
        return table
    ours = role in ("task", "epoch") and key(column) in ASSIGNED[role]
    return called(table, column, key(column) if ours else role)


def numbered(table: RawTable, kept: Collection[str] = ()) -> RawTable:
    """Call the column that names the segments ``segment``, and say so if that was a guess."""
    if any(name in table for name in SEGMENT):
        return table
    segment = _segment(table, kept)
    if segment is None:
        return table
    others = (n for n in table.columns if n != segment and n not in kept and names_items(n))
    if not _numbers_rows(table, segment):
        table = unused(table, [name for name in others if _numbers_rows(table, name)])
    return _taken(table, segment, SEGMENT[0])


def _segment(table: RawTable, kept: Collection[str]) -> str | None:
    """Find the column that names the segments by something like ``example_id``.

    An id comes before a text, and a document's only where it is alone. An id that differs on every
    row of several systems numbers rows: then a text that they share names the segments.
    """
    spelt = (n for n in table.columns if names_items(n) or key(n) in SEGMENT)
    names = [n for n in spelt if n not in kept and not _is_object(table, n)]
    names = [n for n in names if words(n)[0] != "unnamed"] or names  # which pandas wrote
    texts = [n for n in names if key(n) in ALSO["source"] and _is_words(table, n)]
    ids = [name for name in names if name not in texts]
    if ids and _numbers_rows(table, ids[0]):
        shared = [name for name in (*ids, *texts) if not _numbers_rows(table, name)]
        ids = shared[:1] or ids
    names = ids or names or [n for n in table.columns if key(n) in ALSO["doc"] and n not in kept]
    for name in names:  # two that name the same items are one
        if all(_determines(table, name, n) and _determines(table, n, name) for n in names):
            return name
    first = next(iter(table.columns), None)
    if names and first not in names:
        _either(table, names[:2], "segment")
    return first if names else None


def _with_segment_by_values(table: RawTable, kept: Collection[str]) -> RawTable:
    """Find the items of several systems by their values, where no name says which column it is."""
    if segment_column(table) is not None or _n_distinct(table, SYSTEM[0]) == table.n_rows:
        return table
    others = (*SYSTEM, *kept, *OUTPUT, *EPOCH, *DOCUMENT, *LANGUAGES)
    epochs = [name for name in EPOCH if name in table]
    scores = [name for name in table.columns if names_scores(table, name)]
    others += (*scores, "score", "value") if scores else ()
    for name in table.columns:
        if name in others or _is_object(table, name):
            continue
        if not (_is_words(table, name) or is_whole(table, name)):
            continue
        several = _n_distinct(table, SYSTEM[0], name) > _n_distinct(table, name) > 1
        if several and _n_distinct(table, SYSTEM[0], name, *epochs, *scores) == table.n_rows:
            return _taken(table, name, SEGMENT[0])
    return table


def _with_numbers_as_systems(table: RawTable, kept: Collection[str]) -> RawTable:
    """Take columns for systems that are called like texts and hold numbers; find the segment."""
    wide = measured(table)
    for name in [n for n in _TEXTS if n in table and wide and _is_numbers(table, n)]:
        spare = f"{name} (system)"
        table = called(table, name, spare) if spare not in table else table
        table = table.noted(f"column '{name}' holds numbers, and is taken for a system")
    if segment_column(table) is None:
        counted = [name for name in wide if name not in kept and _counts(table, name)]
        if len(counted) == 1 and len(wide) > 1 and table.n_rows >= _COUNTS_FROM:
            return _taken(table, counted[0], SEGMENT[0])
    return table


# Rows that are no items.


def without_summaries(table: RawTable) -> RawTable:
    """Leave out rows of averages and totals, and say so."""
    left: set[int] = set()
    for name in (*SYSTEM, *SEGMENT, *DOCUMENT, *TASK):
        column = table.columns.get(name, ())
        more = () if name in SYSTEM else _SUMMARY_OF_ITEMS
        summaries = {cell for cell in cells.distinct(column) or () if _is_summary(cell, more)}
        rows = {row for row, cell in enumerate(column) if cell in summaries} if summaries else set()
        others = [cell for cell in column if cell not in summaries] if rows else []
        numbered = name in SEGMENT and all(re.search("[0-9]", str(cell)) for cell in others)
        if others and (name in SYSTEM or numbered):
            left |= rows
        elif others:  # only behind all others
            last = max(set(range(table.n_rows)) - rows)
            left |= {row for row in rows if row > last}
    if not left:
        return table
    lines = listed([str(table.line(row)) for row in sorted(left)], 3)
    rest = table.take([row for row in range(table.n_rows) if row not in left])
    what = "a row" if len(left) == 1 else plural(len(left), "row")
    return rest.noted(f"{what} of averages or totals left out (line {lines})")


def _is_summary(cell: Any, more: Sequence[str]) -> bool:
    if not isinstance(cell, str) or cell[:1].isdigit():
        return False
    text = cell.strip().casefold()
    return text in more or _SUMMARY.fullmatch(text) is not None


def without_mean_row(table: RawTable, names: Sequence[str]) -> RawTable:
    """Leave out a last row that is the mean of all others in several columns, and say so."""
    n = table.n_rows - 1
    if n < _COUNTS_FROM or len(names) < 2:
        return table
    for name in names:
        values, column = table.numbers(name), table.columns[name]
        as_text = not isinstance(column, np.ndarray)
        digits = max(1, len(str(column[-1]).partition(".")[2]) if as_text else 2)
        mean = abs(values[:-1].mean() - values[-1]) <= 0.5000001 * 10.0**-digits
        if not mean or values[:-1].std() == 0:  # NaN is no mean
            return table
    line = table.line(n)
    return table.take(range(n)).noted(f"line {line} is the mean of all rows above, and left out")


# Scores and what else there is.


def classified(table: RawTable, named: Named) -> RawTable:
    """Tell scores from columns that describe items; refuse or name what is odd."""
    table = _with_truths(table)
    if SYSTEM[0] in table:
        rest = _with_metadata(table, named.scores)
        _refuse_running_ids(rest)
        if not score_names(rest) and not any(name in rest for name in OUTPUT):
            for name, column in table.columns.items():
                if not is_text(name) and not says_id(name) and not _is_empty(column):
                    table.scores(name)  # which says what it holds
        return rest
    kept = named.systems or named.scores
    table = _with_metadata(table, kept)
    _refuse_first_row(table)
    if named.systems is None:
        _refuse_unclear_rows(table)
    for name in [name for name in EPOCH if name in table and name not in kept]:
        if _n_distinct(table, name) > 1:
            table.fail(
                f"{table.named(name)} needs a system and an item beside it; "
                f'columns={{"segment": "{name}"}} takes it for the item, '
                f"{cells.skipping(name)} skips it"
            )
        table = table.without([name])
    return table if named.systems is not None else _doubted(table, kept)


def _with_metadata(table: RawTable, kept: Collection[str]) -> RawTable:
    """Mark the columns that describe items, and leave out those that say nothing."""
    of_systems = SYSTEM[0] in table and segment_column(table) is None
    metadata, unused = set(table.metadata), []
    for name, column in table.columns.items():
        if is_text(name):
            if of_systems and name not in (*SYSTEM, *LANGUAGES):
                unused.append(name)
        elif name in kept or name in metadata:
            continue
        elif _is_empty(column):
            unused.append(name)
        elif says_id(name) or not _is_mostly_numbers(column):
            (unused.append if _is_object(table, name) else metadata.add)(name)
    return replace(table.without(unused), metadata=frozenset(metadata))


def score_names(table: RawTable) -> list[str]:
    """Give the columns that are neither of a role nor describe items."""
    return [n for n in table.columns if not is_text(n) and n not in table.metadata]


def _is_empty(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return bool(np.isnan(column).all())
    return all(cells.is_missing(c) for c in column)


def _is_mostly_numbers(column: Any) -> bool:
    """Tell whether a column is one of numbers, if need be with a slip that is to be refused."""
    if isinstance(column, np.ndarray) or cells.fast_numbers(column) is not None:
        return True
    filled = [c for c in column if not cells.is_missing(c)]
    plain = map(cells.without_percent, filled)  # with % in some cells only, it is refused
    numbers = sum(type(cell) is int or cells.parse_number(cell) is not None for cell in plain)
    return 0 < numbers >= len(filled) - numbers


def _with_truths(table: RawTable) -> RawTable:
    """Count words for right as 1 and for wrong as 0 in columns that hold nothing else."""
    pairs = {name: cells.truth_words(table.columns[name]) for name in score_names(table)}
    counted = {name: pair for name, pair in pairs.items() if pair is not None}
    if not counted:
        return table
    shown = (
        f"{right} counts 1, {wrong} counts 0" for right, wrong in dict.fromkeys(counted.values())
    )
    note = f"{', '.join(shown)} in {listed([repr(name) for name in counted])}"
    numbers = {name: values(table, name) for name in counted}
    return replace(table, columns={**table.columns, **numbers}).noted(note)


def _refuse_first_row(table: RawTable) -> None:
    """Refuse a wide table without a header, whose first row was taken for names."""
    if not table.blank_is_missing:
        return
    names = score_names(table)
    numbers = [name for name in names if cells.parse_number(name) is not None]
    counted = [[str(k + first) for k in range(len(names))] for first in (0, 1)]
    whole = len(names) == len(table.columns) and len(numbers) == len(names) > 0
    if whole and (len(names) == 1 or names not in counted):
        message = f"the first line holds numbers ({listed(names)}), expected names of columns"
        raise InputError(message, path=table.path, line=1)
    same = numbers or [name for name in table.metadata if name in _labels(table, name)]
    if table.metadata and same:
        message = f"the first line reads like a row ({brief(min(same))}), expected names of columns"
        raise InputError(message, path=table.path, line=1)


def _refuse_unclear_rows(table: RawTable) -> None:
    """Refuse a table whose rows nothing names, beside columns of repeated names."""
    names = sorted(table.metadata)
    tell = any(_n_distinct(table, name) == table.n_rows for name in names)
    if not names or tell or segment_column(table) is not None:
        return
    shown = listed(list(dict.fromkeys(_labels(table, names[0]))), 2)
    table.fail(
        f"column '{names[0]}' holds names ({shown[:40]}), and none tells rows apart: "
        f'columns={{"system": "{names[0]}"}} if it names systems, '
        f"{cells.skipping(names[0])} if not"
    )


def _refuse_running_ids(table: RawTable) -> None:
    """Refuse a segment that was guessed if no two systems share any: it numbers the rows."""
    name = table.given.get(SEGMENT[0])
    within = any(n in table for n in (*DOCUMENT, *TASK))
    if name and not within and SEGMENT[0] in table and _numbers_rows(table, SEGMENT[0]):
        table.fail(
            f"every row has a different '{name}', so no two systems share a segment; expected a "
            f"column 'segment' ({cells.skipping(name)} skips this one)"
        )


def _with_facts(
    table: RawTable, names: Sequence[str], kept: Collection[str]
) -> tuple[RawTable, list[str]]:
    """Take columns for facts about items, beside systems, that are called so; and give the rest."""
    facts = [name for name in names if name not in kept and (words(name) or [""])[-1] in _FACTS]
    rest = [name for name in names if name not in facts]
    plain = [name for name in rest if not _is_measure(name)]
    if not facts or not plain:
        return table, list(names)
    if len(plain) == 1:
        table.fail(
            f"column '{facts[0]}' beside '{plain[0]}' may be a fact about items or a system: "
            f'{cells.skipping(facts[0])}, or systems=["{plain[0]}", "{facts[0]}"] decides'
        )
    notes = [
        f"column '{name}' describes items, and is no system "
        f'(systems=["{name}", ...] takes it for one)'
        for name in facts
    ]
    return replace(table, metadata=table.metadata | set(facts)).noted(*notes), rest


def _doubted(table: RawTable, kept: Collection[str]) -> RawTable:
    """Doubt a wide table: a single row, a column that counts its rows, scores of several kinds."""
    names, has_segments = score_names(table), segment_column(table) is not None
    if table.n_rows == 1 and not has_segments and names:
        table.fail(
            f"one row of cells under {', '.join(repr(n) for n in names[:3])}, which could be "
            "anything: expected a column 'segment' and one per system, or 'system' and one per "
            "score"
        )
    table, names = _with_facts(table, names, kept)
    odd = {
        name: "is taken for a system"
        for name in names
        if name not in kept and (_is_measure(name) or not _SELDOM.isdisjoint(words(name)))
    }
    for name in names:
        if _counts(table, name, least=_COUNTS_FROM if has_segments else 3):
            if not has_segments and table.n_rows >= _COUNTS_FROM:
                table.fail(
                    f"column '{name}' counts the rows: call it segment if it does, or "
                    f'{cells.skipping(name)}; systems=["{name}", ...] takes it for a system'
                )
            odd[name] = "counts the rows, and is taken for a system"
    notes = [f"column '{n}' {doubt} ({cells.skipping(n)} skips it)" for n, doubt in odd.items()]
    return table.noted(*notes)
