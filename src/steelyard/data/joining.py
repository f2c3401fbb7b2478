"""Joining EvalSets: systems and segments are matched by name, nothing is guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet, Kind, ScoreTable, drafted, revised
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.segments import COLUMNS, Index, Segments, Texts, natural_key
from steelyard.data.trusted import made, sealed
from steelyard.stats.permutation.corpus import CorpusStatistics

_T = TypeVar("_T")


def join(sets: Sequence[EvalSet]) -> EvalSet:
    """Join sets on (system, segment): every system and segment of any of them is in the result.

    A score or a text that two sets state differently is an error, as are sets that share no system
    or no segment, and sets that number the same segments from 0 and from 1. A system that is also a
    reference has the reference as its output.
    """
    if len(sets) == 1:
        return _fill_references(sets[0])
    _check_overlap([(es, es.systems) for es in sets], "system")
    _check_overlap([(es, es.segments.ids) for es in sets], "segment")
    _check_numbering([es for es in sets if es.n_segments])
    languages = _agree([(es.language_pair, es) for es in sets], "language pair")
    systems = tuple(sorted({name for es in sets for name in es.systems}))
    ids = sorted({i for es in sets for i in es.segments.ids}, key=natural_key)
    place = {name: i for i, name in enumerate(systems)}
    where = {name: i for i, name in enumerate(ids)}
    spots = [(_places(es.systems, place), _places(es.segments.ids, where), es) for es in sets]
    joined = drafted(
        systems,
        _join_segments(ids, spots),
        outputs=_join_texts(
            [(columns, es.outputs, es) for _, columns, es in spots], len(ids), "output"
        ),
        name=next((es.name for es in sets if es.name is not None), None),
        language_pair=languages,
        inputs=tuple(dict.fromkeys(i for es in sets for i in es.inputs)),
        notes=tuple(dict.fromkeys([n for es in sets for n in es.notes] + _only_in_some(sets))),
    )
    scores = _join_scores(joined, spots)
    return _fill_references(revised(joined, scores=scores, ratings=_join_ratings(sets)))


def _places(names: Iterable[str], place: Mapping[str, int]) -> Index:
    return np.array([place[name] for name in names], dtype=np.int64)


def _origin(es: EvalSet) -> str:
    return ", ".join(i.path for i in es.inputs) or es.name or "a frame"


def _check_overlap(sets: Sequence[tuple[EvalSet, Sequence[str]]], what: str) -> None:
    """Refuse a set that shares no name with any other: it would join nothing, and say nothing."""
    named = [(es, names) for es, names in sets if names]
    counts = Counter(name for _, names in named for name in names)
    for i, (es, names) in enumerate(named):
        if len(named) > 1 and not any(counts[name] > 1 for name in names):
            others = next(own for j, (_, own) in enumerate(named) if j != i)
            raise InputError(
                f"{_origin(es)} shares no {what} with the other input: "
                f"{_some(names)} against {_some(others)}"
            )


def _check_numbering(sets: Sequence[EvalSet]) -> None:
    """Refuse segments that one input counts from 0 and another from 1: they would join shifted."""
    every = [i for es in sets for i in es.segments.ids]
    if len(sets) < 2 or not all(i.isascii() and i.isdigit() and len(i) < 18 for i in every):
        return
    ranges = [(min(ids), max(ids)) for es in sets if (ids := [int(i) for i in es.segments.ids])]
    for i, (low, high) in enumerate(ranges):
        rest = ranges[:i] + ranges[i + 1 :]
        first, last = min(r[0] for r in rest), max(r[1] for r in rest)
        if {low, first} == {0, 1} and last - high == first - low:
            raise InputError(
                f"{_origin(sets[i])} numbers segments from {low} to {high}, the other input from "
                f"{first} to {last}; ids are labels and are never shifted: renumber one of them"
            )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3])
    return shown + (", ..." if len(names) > 3 else "")


def _agree(stated: Sequence[tuple[_T | None, EvalSet]], what: str) -> _T | None:
    found = [(value, es) for value, es in stated if value is not None]
    for value, es in found[1:]:
        if value != found[0][0]:
            raise InputError(
                f"{what} '{value}' in {_origin(es)}, '{found[0][0]}' in {_origin(found[0][1])}"
            )
    return found[0][0] if found else None


def _only_in_some(sets: Sequence[EvalSet]) -> list[str]:
    """Note systems that only some of the sets know: each is a likely slip of naming."""
    with_systems = [es for es in sets if es.systems]
    everyone = {name for es in with_systems for name in es.systems}
    notes = []
    for es in with_systems:
        lost = sorted(everyone - set(es.systems))
        if lost:
            notes.append(
                f"{_origin(es)} does not have {plural(len(lost), 'system')}: {_some(lost)}"
            )
    return notes


Spots = list[tuple[Index, Index, EvalSet]]


def _join_texts(
    parts: Sequence[tuple[Index, Mapping[str, Texts], EvalSet]], n: int, what: str
) -> dict[str, Texts]:
    """Merge texts by name; two different texts for one segment are an error."""
    merged: dict[str, list[str | None]] = {}
    for columns, texts, es in parts:
        for name, column in texts.items():
            target = merged.setdefault(name, [None] * n)
            for spot, text in zip(columns.tolist(), column, strict=True):
                if text is None:
                    continue
                if target[spot] not in (None, text):
                    raise InputError(
                        f"{what} '{name}': {_origin(es)} has another text for the same segment: "
                        f"{text[:40]!r} against {str(target[spot])[:40]!r}"
                    )
                target[spot] = text
    return {name: tuple(texts) for name, texts in merged.items()}


def _join_segments(ids: list[str], spots: Spots) -> Segments:
    singles: dict[str, Any] = {}
    for attribute in COLUMNS:
        parts = [
            (columns, {attribute: texts}, es)
            for _, columns, es in spots
            if (texts := getattr(es.segments, attribute)) is not None
        ]
        singles[attribute] = _join_texts(parts, len(ids), "segments").get(attribute)
    references = _join_texts(
        [(columns, es.segments.references, es) for _, columns, es in spots], len(ids), "reference"
    )
    called = {es.segments.document_column for *_, es in spots if es.segments.documents is not None}
    column = next(iter(called)) if len(called) == 1 else None
    return Segments(tuple(ids), **singles, references=references, document_column=column)


def _join_scores(joined: EvalSet, spots: Spots) -> dict[str, ScoreTable]:
    n, s = joined.n_systems, joined.n_segments
    order = {name: i for i, name in enumerate(joined.segments.ids)}
    owners: dict[str, list[tuple[Index, EvalSet]]] = {}
    for rows, _, es in spots:
        for name in es.scores:
            owners.setdefault(name, []).append((rows, es))
    merged = {}
    for name, found in owners.items():
        tables = [es.scores[name] for _, es in found]
        values = np.full((n, s), np.nan)
        official: Floats | None = None
        for rows, es in found:
            table = es.scores[name]
            columns = _places(es.segments.ids, order)
            _merge(values, np.ix_(rows, columns), table.values, name, es)
            if table.system_scores is not None:
                official = np.full(n, np.nan) if official is None else official
                _merge(official, (rows,), table.system_scores, name, es)
        kinds: list[Kind] = [t.kind for t in tables]
        merged[name] = made(
            ScoreTable,
            values=sealed(values),
            kind="human" if "human" in kinds else "metric",
            higher_is_better=all(t.higher_is_better for t in tables),
            uses=next((t.uses for t in tables if t.uses), ()),
            system_scores=None if official is None else sealed(official),
            domain_scores=_only(joined, found, name, "domain_scores", "domains"),
            document_scores=_only(joined, found, name, "document_scores", "documents"),
            statistics=_statistics(joined, found, name),
            direction_given=any(t.direction_given for t in tables),
        )
    return merged


def _statistics(
    joined: EvalSet, found: list[tuple[Index, EvalSet]], name: str
) -> CorpusStatistics | None:
    """Carry the statistics of a corpus score over, where one set alone has the score."""
    stats = found[0][1].scores[name].statistics
    if len(found) != 1 or stats is None:
        return None
    rows, es = found[0]
    columns = _places(es.segments.ids, {i: k for k, i in enumerate(joined.segments.ids)})
    values = np.full((joined.n_systems, joined.n_segments, stats.values.shape[2]), np.nan)
    values[np.ix_(rows, columns)] = stats.values
    return replace(stats, values=values)


def _merge(target: Floats, at: tuple[Index, ...], values: Floats, name: str, es: EvalSet) -> None:
    """Write values where they are known; a cell that is known already must be the same."""
    before = target[at]
    clash = ~np.isnan(before) & ~np.isnan(values) & (before != values)
    if clash.any():
        spot = tuple(np.argwhere(clash)[0])
        raise InputError(
            f"score '{name}' stands in two inputs with different values: {_origin(es)} has "
            f"{float(values[spot])!r}, another one {float(before[spot])!r}, "
            f"for system '{es.systems[spot[0]]}'"
        )
    target[at] = np.where(np.isnan(values), before, values)


def _only(
    joined: EvalSet, found: list[tuple[Index, EvalSet]], name: str, level: str, groups: str
) -> Floats | None:
    """Carry stored domain or document scores over, from the one set that has them."""
    stored = [(r, es) for r, es in found if getattr(es.scores[name], level) is not None]
    names: tuple[str, ...] = getattr(joined, groups)
    if len(stored) != 1:
        return None
    rows, es = stored[0]
    values = np.full((joined.n_systems, len(names)), np.nan)
    columns = _places(getattr(es, groups), {group: i for i, group in enumerate(names)})
    values[np.ix_(rows, columns)] = getattr(es.scores[name], level)
    return sealed(values)


def _join_ratings(sets: Sequence[EvalSet]) -> dict[str, Ratings]:
    merged: dict[str, Ratings] = {}
    for es in sets:
        for name, ratings in es.ratings.items():
            if name in merged and not merged[name].identical(ratings):
                raise InputError(f"ratings '{name}' stand in two inputs and differ")
            merged[name] = ratings
    return merged


def _fill_references(es: EvalSet) -> EvalSet:
    """Give a system that is a reference translation its text."""
    texts = es.segments.references
    add = {name: texts[name] for name in texts if name in es.systems and name not in es.outputs}
    return revised(es, outputs={**es.outputs, **add}) if add else es
