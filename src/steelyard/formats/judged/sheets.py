"""Ratings as people have them: forms, spreadsheets, MTurk, a column per system, ranks, words.

A table that names raters gets our names of columns, by the names that it has and by what stands in
them. What could be read in two ways is asked, with the option that settles it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.text import listed
from steelyard.formats import columns as roles
from steelyard.formats.cells import is_gap, numbers_of, skipping
from steelyard.formats.judged.builder import NOBODY
from steelyard.formats.judged.ratings import ITEMS, MOST_WORDS, refuse_repeats, scale_words
from steelyard.formats.rawtable import RawTable
from steelyard.formats.reshape import within_documents

#: Names of columns by the role that they have in a table that names raters.
_NAMES = {
    "rater": (*roles.RATER, "rater_id", "worker_id", "annotator_id", "participant",
              "participant_id", "evaluator", "evaluator_id", "assessor", "assessor_id",
              "respondent", "respondent_id", "annotator_name", "rater_name",
              "prolific_pid", "prolific_id", "email_address", "coder"),
    "system": (*roles.SYSTEM, *roles.SYSTEM_ALSO, "mt_system"),
    "segment": (*roles.SEGMENT, "sentence", "sentence_id", "sentence_number",
                "sent_id", "sent_no", "item_id", "example", "example_id"),
    "doc": (*roles.DOCUMENT, *roles.ALSO["doc"]),
    "domain": roles.DOMAIN,
    "type": roles.ITEM,
    "unit": (*roles.BATCH, "hit_id", "hitid", "batch", "batch_id"),
    "seconds": (*roles.SECONDS, "work_time_in_seconds"),
    "errors": (roles.ERRORS, "spans", "error_spans"),
    "category": (roles.CATEGORY,),
    "severity": (roles.SEVERITY,),
}  # fmt: skip
_SCORE = (*roles.RATING, "overall", "overall_score", "overall_quality", "slider")
_USERS = ("user", "user_id", "username", "user_name", "email", "login")  # who rate, if any do
#: Names that say what a column is behind a dot, too: ``item.system``.
_NESTED = {"rater": roles.RATER, "system": ("system", "model"), "segment": ("segment", "seg"),
           "doc": roles.DOCUMENT}  # fmt: skip
_LEVELS = frozenset(("minor", "major", "critical"))  # of errors
_PLACES = frozenset(("rank", "ranking", "place", "position"))  # of an output among others
#: Words of criteria, so that columns named by them are no systems.
_CRITERIA = frozenset(
    ("adequacy", "fluency", "accuracy", "quality", "coherence", "relevance", "naturalness",
     "grammar", "grammaticality", "readability", "style", "helpfulness", "harmlessness", "overall",
     "meaning", "terminology", "correctness", "consistency", "completeness", "usefulness",
     "informativeness", "faithfulness", "clarity", "understandability", "score", "rating",
     "confidence", "likelihood", "politeness", "formality")
)  # fmt: skip
_NO_SCORE = frozenset(
    ("time", "timestamp", "seconds", "duration", "date", "created", "submitted", "started", "start",
     "end", "year", "age", "progress", "reward", "line", "number", "no", "nr", "num", "count", "id",
     "index", "row",
     "order", "position", "trial", "page", "round", "session", "length", "words", "tokens",
     "characters", "difficulty", "seed")
)  # fmt: skip
_TEXTS = (*roles.SOURCE, *roles.REFERENCE, *roles.OUTPUT)
_BATTLES = {*roles.LEFT, *roles.RIGHT, roles.BETTER, roles.WORSE, *roles.OUTCOME, roles.PACKED}
_FROM = re.compile(r"(input|answer|data)\.", re.IGNORECASE)  # what MTurk puts before a name
#: Names of columns that hold the scores of one rater each.
_ONE_RATER = re.compile(
    r"(rater|annotator|worker|coder|evaluator|assessor|participant|respondent|expert|reviewer|r|a)"
    r"[\s_.#-]*([0-9]{1,3}|(?<=[\s_.#-])[a-z])",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s*[(\[].*[)\]]\s*\??$")  # "Adequacy (1-5)"
_RANK = re.compile(r"rank[\s_.:-]*(?:of[\s_]+)?\(?(.+?)\)?|(.+?)[\s_.:-]*\(?rank\)?", re.IGNORECASE)


def key_of(name: str) -> str:
    """Return a name as it is compared: words in small letters, without its range or origin.

    Examples
    --------
    >>> [key_of(name) for name in ("Annotator ID", "Input.system", "Adequacy (1-5)", "WorkerId")]
    ['annotator_id', 'system', 'adequacy', 'worker_id']
    """
    return "_".join(roles.words(_RANGE.sub("", _FROM.sub("", name))))


def rater_column(table: RawTable) -> str | None:
    """Return the column that names raters, None if there is none."""
    return _column(table, "rater")


def _column(table: RawTable, role: str, taken: Collection[str] = ()) -> str | None:
    """Return the column of a role: by the very name first, then as people spell it."""
    free = [name for name in table.columns if name not in taken]
    spelled = {key_of(name): name for name in reversed(free)}
    names = [name for name in _NAMES[role] if name in free]
    names += [spelled[key] for key in _NAMES[role] if key in spelled]
    ends = _NESTED.get(role, ())
    names += [n for n in free if "." in n and key_of(roles.last_part(n)) in ends]
    return next(iter(names), None)


def _says_score(name: str) -> bool:
    return key_of(name) in _SCORE or key_of(roles.last_part(name)) in _SCORE


def with_users(table: RawTable) -> RawTable:
    """Take users for raters in a table of ratings that names no rater, if they rate repeatedly."""
    user = next((name for name in table.columns if key_of(name) in _USERS), None)
    if user is None or rater_column(table) or len(set(table.labels(user))) == table.n_rows:
        return table
    return roles.called(table, user, "rater").noted(f"taken: '{user}' as the rater")


def rated(table: RawTable, named: Collection[str] = (), places: Sequence[str] = ()) -> RawTable:
    """Call columns by our names in a table that names raters; others stay as they are.

    ``named`` are scores that the user named, ``places`` are ranks.
    """
    marked = roles.ERRORS in table or {roles.CATEGORY, roles.SEVERITY} <= table.columns.keys()
    judged = marked or bool(places) or rater_column(table) is not None
    if not _BATTLES.isdisjoint(table.columns) or not judged:
        return table
    columns = _columns(table)
    candidates = _scores(table, columns.values())
    errors = "errors" in columns or {"category", "severity"} <= columns.keys()
    if "system" not in columns:
        ranks = dict(zip(places, places, strict=True)) or _ranks(table, columns.values())
        wide = [name for name in table.columns if name in named]
        wide = wide if len(wide) > 1 else [name for name in candidates if name not in named]
    else:
        place = None if errors else _place(table, columns, candidates, named, places)
        ranks, wide = {} if place is None else {"": place}, []
    if ranks:
        return _rankings(_called(table, columns), ranks)
    if "system" not in columns and "segment" in columns and len(wide) > 1 and not errors:
        return _stacked(table, columns, wide, sure=len(named) > 1)
    if "system" not in columns or "segment" not in columns:
        lacking = "segment" if "system" in columns else "system"
        if "rater" in columns and any(map(_says_score, candidates)):
            table.fail(
                f"no column names the {lacking} that raters judged, of "
                f'{listed(list(table.columns), 8)}: columns={{"{lacking}": "NAME"}} says which does'
            )
        return table
    score = _score(table, candidates, named, columns.values(), errors=errors)
    if score is not None:
        columns["score"] = score
    return _called(table, columns)


def _columns(table: RawTable) -> dict[str, str]:
    columns: dict[str, str] = {}
    for role in _NAMES:
        name = _column(table, role, columns.values())
        if name is not None:
            columns[role] = name
    for role in {"errors", "type"} & columns.keys():
        cells = table.columns[name := columns[role]]
        lists = all(isinstance(cell, list | None) for cell in cells) and not table.blank(name)
        types = all(str(cell).casefold() in ITEMS for cell in cells)
        if name != role and not (lists if role == "errors" else types):
            del columns[role]
    if "severity" not in columns and "category" in columns:
        columns.setdefault("domain", columns.pop("category"))
    system = columns.get("system", "")
    called_so = key_of(system) in roles.SYSTEM_ALSO and not roles.says_id(system)
    if called_so and numbers_of(table.columns[system]) is not None:
        others = {key_of(name) for name in _scores(table, columns.values())}
        if others and others.isdisjoint(_CRITERIA.union(_SCORE, _PLACES)):
            del columns["system"]  # a system called so, beside others
    segment = columns.get("segment") or _segment(table, columns)
    return columns if segment is None else columns | {"segment": segment}


def _segment(table: RawTable, columns: dict[str, str]) -> str | None:
    """Find the column that names items: an id that rows share, else the source text."""
    rest = [name for name in table.columns if name not in columns.values()]
    ids = [name for name in rest if roles.names_items(_FROM.sub("", name))
           and not _runs(table, name, alone="system" not in columns)]  # fmt: skip
    texts = [name for name in rest if key_of(name) in (*roles.SOURCE, *roles.ALSO["source"])
             and numbers_of(table.columns[name]) is None]  # fmt: skip
    if len(ids) > 1:
        _ask(table, "segment", ids)
    return next(iter([*ids, *texts]), None)


def _runs(table: RawTable, name: str, *, alone: bool) -> bool:
    """Tell whether an id is another on every row, and so numbers rows instead of items.

    Rows that hold all systems, ``alone``, may be of one rater and have other items.
    """
    others = {"assignment", "response", "submission", "hit", "unnamed"}
    assigned = not others.isdisjoint(roles.words(name))
    cells = list(map(str, table.columns[name]))
    return assigned or (not alone and len(cells) > 2 and len(set(cells)) == len(cells))


def _scores(table: RawTable, taken: Collection[str]) -> list[str]:
    """Return the columns that could be scores: numbers, and a name that says nothing else."""
    names = []
    for name in table.columns:
        if name in taken or name in table.metadata or roles.says_id(name):
            continue
        if roles.is_text(name) and name not in _TEXTS:  # which a system may be called
            continue
        if not _says_score(name) and not _NO_SCORE.isdisjoint(roles.words(name)):
            continue
        values = numbers_of(table.columns[name])
        if values is not None and not np.isnan(values).all():
            names.append(name)
    return names


def _score(
    table: RawTable, candidates: Sequence[str], named: Collection[str], taken: Collection[str], *,
    errors: bool,
) -> str | None:  # fmt: skip
    """Return the column of the score; ask where several could be it."""
    wanted = [name for name in table.columns if name in named]
    if len(wanted) == 1:
        return wanted[0]
    if any(name in table for name in (roles.ERROR_VALUE if errors else roles.RATING)):
        return None  # the reader finds it, or asks which of two
    called = [name for name in candidates if _says_score(name)]
    if len(called) == 1 or len(candidates) == 1:
        return (called if len(called) == 1 else candidates)[0]
    counts = [name for name in candidates if not _LEVELS.isdisjoint(roles.words(name))]
    if len(counts) > 1:
        table.fail(
            f"columns {listed([repr(n) for n in counts], 4)} read like counts of errors: expected "
            "a score of each output, or a row of each error with its category and severity"
        )
    if candidates:
        _ask(table, "score", candidates)
    if errors:
        return None
    worded = dict(_worded(table))
    levels = [n for n, words in worded.items() if not _LEVELS.isdisjoint(map(str.casefold, words))]
    kinds = [name for name in table.columns if scale_words(table.columns[name])
             and name not in (*taken, *levels)]  # fmt: skip
    if levels and kinds:
        raise UsageError(
            f"{table.place}: columns '{levels[0]}' and '{kinds[0]}' read like those of errors: "
            f'columns=[("severity", "{levels[0]}"), ("category", "{kinds[0]}")] takes them so'
        )
    if len(worded) > 1:
        _ask(table, "score", list(worded))
    return next(iter(worded), None)


def _place(
    table: RawTable, columns: Mapping[str, str], candidates: Sequence[str],
    named: Collection[str], places: Sequence[str],
) -> str | None:  # fmt: skip
    """Return the column of the ranks of systems, if no other one holds scores; ask if unclear."""
    usual = [n for n in table.columns if key_of(n) in _PLACES and n not in columns.values()]
    usual = [n for n in usual if numbers_of(table.columns[n]) is not None]
    if places or not usual or not set(table.columns).isdisjoint(named):
        return next(iter(places), None)
    others = [name for name in candidates if name not in usual]
    if any(map(_says_score, (*others, *dict(_worded(table))))):
        return None
    if others and usual[0] not in candidates:  # where it stood, beside what is a score
        return None
    judged = [table.columns[columns[r]] for r in ("rater", "doc", "segment") if r in columns]
    groups: dict[Hashable, list[float]] = {}
    for who, place in zip(zip(*judged, strict=True), table.numbers(usual[0]), strict=True):
        groups.setdefault(who, []).append(place)
    if not others and _are_places(list(groups.values())):
        return usual[0]
    raise UsageError(
        f"{table.place}: column '{usual[0]}' could hold ranks or scores: "
        f'columns={{"rank": "{usual[0]}"}} if 1 is the best, '
        f'columns={{"score": "{[*others, usual[0]][0]}"}} if more of that is better'
    )


def _are_places(groups: Sequence[Sequence[float]]) -> bool:
    """Tell whether each group holds places from 1 on: 1, 2, 2 and then 3 or 4."""
    for group in groups:
        ranked = sorted(x for x in group if not np.isnan(x))
        dense = {x: k for k, x in enumerate(dict.fromkeys(ranked), 1)}
        if any(x not in (dense[x], 1 + ranked.index(x)) for x in ranked):
            return False
    return any(x > 1 for group in groups for x in group)


def _worded(table: RawTable) -> Iterator[tuple[str, list[str]]]:
    """Yield columns that hold a few words again and again, as scales of words do."""
    names = {name for usual in _NAMES.values() for name in usual}
    for name, cells in table.columns.items():
        words = scale_words(cells)
        several = 2 <= len(words) <= min(MOST_WORDS, len(cells) // 2)
        if several and key_of(name) not in names and name not in table.metadata:
            yield name, sorted(words)


def _ask(table: RawTable, role: str, names: Sequence[str]) -> NoReturn:
    shown = " and ".join(f"'{name}'" for name in names[:6])
    way = f'columns={{"{role}": "{names[0]}"}}'
    raise UsageError(f"{table.place}: columns {shown} could each be the {role}: {way} picks one")


def _called(table: RawTable, columns: dict[str, str]) -> RawTable:
    guessed = []
    for role, name in columns.items():
        usual = roles.ASSIGNED.get(role, ()) if role != "score" else roles.RATING
        if name in (*usual, *roles.BATCH, *roles.SECONDS) or name == role:
            continue
        table = roles.called(table, name, role)
        if key_of(name) != role:
            guessed.append(f"'{name}' as the {role}")
    return table.noted(f"taken: {', '.join(guessed)}") if guessed else table


def _stacked(
    table: RawTable, columns: dict[str, str], names: Sequence[str], *, sure: bool
) -> RawTable:
    """Give every score of a column per system a row; ``sure`` columns are known to be of scores."""
    criteria = [name for name in names if not _CRITERIA.isdisjoint(roles.words(name))]
    if criteria and not sure:
        table.fail(
            f"no column names the system, and {listed([repr(n) for n in criteria], 6)} read like "
            f'criteria: add a column system or name it (columns={{"system": "NAME"}}); '
            f"if the other columns are systems, {skipping(criteria[0])} skips this one"
        )
    if not sure and _are_places(np.transpose([table.numbers(name) for name in names]).tolist()):
        pairs = [str([(role, name) for name in names]) for role in ("rank", "score")]
        ranks, scores = (f"columns={names}".replace("'", '"') for names in pairs)
        table.fail(
            f"every row of {listed([repr(n) for n in names], 6)} counts from 1, as ranks do: "
            f"{ranks} if 1 is the best, {scores} if more is better"
        )
    return _melted(table, columns, names, "system")


def _melted(table: RawTable, columns: dict[str, str], names: Sequence[str], role: str) -> RawTable:
    """Give every score a row, in which a column of the role holds the name of its column."""
    values = np.array([table.numbers(name) for name in names])
    rows = np.flatnonzero(~np.isnan(values.T.ravel()))  # row by row, as in the file
    kept, which = rows // len(names), rows % len(names)
    long = _called(table.without(names), columns).take(kept.tolist())
    added: dict[str, Any] = {
        role: [names[k] for k in which.tolist()],
        "score": values.T.ravel()[rows],
    }
    note = f"{role}s are the columns {listed([repr(n) for n in names], 8)}"
    return replace(long, columns={**long.columns, **added}).noted(note)


def by_rater(table: RawTable, raters: Sequence[str]) -> RawTable:
    """Give every score of a table with a column per rater a row."""
    return _melted(table, _columns(table.without(raters)), raters, "rater")


def rater_columns(table: RawTable) -> list[str]:
    """Return the columns of scores if each is named like a rater, beside system and segment."""
    columns = {} if rater_column(table) is not None else _columns(table)
    if not {"system", "segment"} <= columns.keys() or "errors" in columns:
        return []
    scores = _scores(table, columns.values())
    alike = len(scores) > 1 and all(_ONE_RATER.fullmatch(name.strip()) for name in scores)
    return scores if alike else []


def _ranks(table: RawTable, taken: Collection[str]) -> dict[str, str]:
    """Return the columns of ranks by the system that their names hold."""
    ranks: dict[str, str] = {}
    for name in _scores(table, taken):
        match = _RANK.fullmatch(name)
        system = "" if match is None else (match[1] or match[2]).strip(" _.:-")
        values = numbers_of(table.columns[name])
        assert values is not None
        whole = values[~np.isnan(values)]
        if system and (whole >= 1).all() and (whole == np.floor(whole)).all():
            ranks[system] = name
    return ranks if len(ranks) > 1 else {}


def _rankings(table: RawTable, ranks: Mapping[str, str]) -> RawTable:
    """Make rankings of columns of ranks by their system, or of one beside a column of systems."""
    segment = roles.segment_column(table)
    if segment is None:
        table.fail('no column names the item that was ranked: columns={"segment": "NAME"} says it')
    table = within_documents(table)
    refuse_repeats(table)
    rater = next((name for name in roles.RATER if name in table), None)
    judges = [NOBODY] * table.n_rows if rater is None else table.labels(rater)
    segments = table.labels(segment)
    rows = range(table.n_rows)
    keys: Sequence[Hashable] = rows if "" not in ranks else [*zip(judges, segments, strict=True)]
    ranked: dict[Hashable, list[tuple[str, float]]] = {}
    first: dict[Hashable, int] = {}
    for system, name in ranks.items():
        names = [system] * table.n_rows if system else table.labels("system")
        for row, rank in zip(rows, table.numbers(name).tolist(), strict=True):
            ranked.setdefault(keys[row], []).append((names[row], rank))
            first.setdefault(keys[row], row)
    columns: dict[str, Any] = {
        "segmentId": [segments[row] for row in first.values()],
        "judgeId": [judges[row] for row in first.values()],
    }
    for k in range(max(map(len, ranked.values()))):
        placed = [of[k] if k < len(of) else (None, np.nan) for of in ranked.values()]
        columns[f"system{k + 1}Id"] = [system for system, _ in placed]
        columns[f"system{k + 1}rank"] = np.array([rank for _, rank in placed])
    held = repr(ranks[""]) if "" in ranks else listed(list(ranks), 8)
    rankings = table.take(list(first.values()))
    return replace(rankings, columns=columns).noted(f"ranks of {held}, of which 1 is the best")


def ordered(table: RawTable, scale: Sequence[str]) -> RawTable:
    """Turn words with an order, from the worst to the best, into 1, 2, 3, ..."""
    number = {word.strip().casefold(): float(k) for k, word in enumerate(scale, 1)}
    made: dict[str, Any] = {}
    beyond: dict[str, list[str]] = {}
    for name, cells in table.columns.items():
        used = {word.strip().casefold() for word in scale_words(cells)} - {""}
        if used and used <= number.keys():
            texts = ("" if is_gap(cell) else cell.strip().casefold() for cell in cells)
            made[name] = np.array([number.get(text, np.nan) for text in texts])
        elif not used.isdisjoint(number):
            beyond[name] = sorted(used - number.keys())
    if not made and beyond:
        name, left = next(iter(beyond.items()))
        shown = listed([repr(word) for word in left], 6)
        table.fail(f"column '{name}' also holds {shown}: scale=WORST,...,BEST names all words")
    if not made:
        return table
    meaning = ", ".join(f"{word} is {k}" for k, word in enumerate(scale, 1))
    note = f"{meaning} in {listed([repr(name) for name in made], 4)}"
    return replace(table, columns={**table.columns, **made}).noted(note)
