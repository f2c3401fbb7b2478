"""Joining EvalSets: systems and segments are matched by name, nothing is guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.text import plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.segments import COLUMNS, MAPPINGS, Index, Segments, Texts, positions
from steelyard.stats.arrays import sealed
from steelyard.stats.permutation.corpus import CorpusStatistics

PERCENT = "percent"  # the role of scores that a file has with a % behind each number


def in_one_unit(sets: Sequence[EvalSet]) -> Sequence[EvalSet]:
    """Refuse a score that one set has in per cent and another without."""
    for name in dict.fromkeys(name for es in sets for name in es.scores):
        holders = [es for es in sets if name in es.scores]
        percent = [es for es in holders if (PERCENT, name) in _units(es)]
        if percent and len(percent) < len(holders):
            other = next(_origin(es) for es in holders if es not in percent)
            where = f"in {_origin(percent[0])} and without in {other}"
            raise UsageError(f"'{name}' is written with % {where}: write both alike")
    return sets


def _units(es: EvalSet) -> list[tuple[str, str]]:
    return [(role, name) for file in es.inputs for role, names in file.columns for name in names]


def join(sets: Sequence[EvalSet]) -> EvalSet:
    """Join sets on (system, segment): every system and segment of any of them is in the result.

    A score or a text that two sets state differently is an error, as are sets that share no segment
    or neither a system nor a score, and sets that number the same segments from 0 and from 1. A
    system that is also a reference has the reference as its output.
    """
    joined = sets[0]
    in_one_unit(sets)
    if len(sets) > 1:
        notes = [note for es in sets for note in es.notes]
        if not _are_by_system(sets):
            _check_overlap([(es, es.systems) for es in sets], "system")
            notes += _only_in_some(sets)
        _check_overlap([(es, es.segments.ids) for es in sets], "segment")
        _check_numbering([es for es in sets if es.n_segments])
        ids = tuple(dict.fromkeys(i for es in sets for i in es.segments.ids))
        joined = EvalSet(
            tuple(sorted({name for es in sets for name in es.systems})),
            _join_segments(ids, sets),
            outputs=_join_texts([(es, es.outputs) for es in sets], ids, "output"),
            name=next((es.name for es in sets if es.name is not None), None),
            language_pair=_join_language_pairs(sets),
            inputs=tuple(dict.fromkeys(i for es in sets for i in es.inputs)),
            notes=tuple(dict.fromkeys(notes)),
        )
        scores = _join_scores(joined, sets)
        joined = replace(joined, scores=scores, ratings=_join_ratings(sets))
    references = joined.segments.references
    outputs_of = {name: texts for name, texts in references.items() if name in joined.systems}
    if outputs_of.keys() <= joined.outputs.keys():
        return joined
    return replace(joined, outputs={**outputs_of, **joined.outputs})


def _are_by_system(sets: Sequence[EvalSet]) -> bool:
    """Tell whether each set has the same scores of other systems, as results by model do."""
    names = [name for es in sets for name in es.systems]
    return len({frozenset(es.scores) for es in sets}) == 1 and len(set(names)) == len(names)


def _origin(es: EvalSet) -> str:
    return ", ".join(i.path for i in es.inputs) or es.name or "a frame"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3])
    return shown + (", ..." if len(names) > 3 else "")


def _check_overlap(sets: Sequence[tuple[EvalSet, Sequence[str]]], what: str) -> None:
    """Refuse a set that shares no name with any other: it would join nothing."""
    filled = [(es, names) for es, names in sets if names]
    counts = Counter(name for _, names in filled for name in names)
    for i, (es, names) in enumerate(filled):
        if len(filled) > 1 and not any(counts[name] > 1 for name in names):
            both = f"{_some(names)} against {_some(filled[1 if i == 0 else 0][1])}"
            raise InputError(f"{_origin(es)} shares no {what} with the other input: {both}")


def _check_numbering(sets: Sequence[EvalSet]) -> None:
    """Refuse segments that one input counts from 0 and another from 1: they would join shifted."""
    ids = [i for es in sets for i in es.segments.ids]
    if len(sets) < 2 or not all(i.isascii() and i.isdigit() and len(i) < 18 for i in ids):
        return
    numbers = [sorted(map(int, es.segments.ids)) for es in sets]
    ranges = [(numbered[0], numbered[-1]) for numbered in numbers]
    for i, (low, high) in enumerate(ranges):
        rest = ranges[:i] + ranges[i + 1 :]
        first, last = min(r[0] for r in rest), max(r[1] for r in rest)
        if {low, first} == {0, 1} and last - high == first - low:
            raise InputError(
                f"{_origin(sets[i])} numbers segments from {low} to {high}, the other input from "
                f"{first} to {last}; ids are labels and are never shifted: renumber one of them"
            )


def _join_language_pairs(sets: Sequence[EvalSet]) -> str | None:
    pairs = {es.language_pair: _origin(es) for es in sets if es.language_pair is not None}
    if len(pairs) > 1:
        raise InputError(", ".join(f"language pair '{pair}' in {pairs[pair]}" for pair in pairs))
    return next(iter(pairs), None)


def _only_in_some(sets: Sequence[EvalSet]) -> list[str]:
    """Note systems that only some of the sets have: each is a likely slip of naming."""
    with_systems = [es for es in sets if es.systems]
    everyone = {name for es in with_systems for name in es.systems}
    notes: list[str] = []
    for es in with_systems:
        missing = sorted(everyone - set(es.systems))
        text = f"{_origin(es)} does not have {plural(len(missing), 'system')}: {_some(missing)}"
        notes += [TypedWarning(text, "missing-systems")] if missing else []
    return notes


def _join_texts(
    parts: Sequence[tuple[EvalSet, Mapping[str, Texts]]], ids: Sequence[str], what: str
) -> dict[str, Texts]:
    """Merge texts by name; two different texts for one segment are an error."""
    merged: dict[str, list[str | None]] = {}
    for es, texts in parts:
        index = positions(es.segments.ids, ids).tolist()
        for name, column in texts.items():
            target = merged.setdefault(name, [None] * len(ids))
            for i, text in zip(index, column, strict=True):
                if text is None:
                    continue
                if target[i] not in (None, text):
                    raise InputError(
                        f"{what} '{name}': {_origin(es)} has another text for the same segment: "
                        f"{text[:40]!r} against {str(target[i])[:40]!r}"
                    )
                target[i] = text
    return {name: tuple(texts) for name, texts in merged.items()}


def _join_segments(ids: tuple[str, ...], sets: Sequence[EvalSet]) -> Segments:
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        parts = [(es, {name: getattr(es.segments, name)}) for es in sets]
        stated = [(es, texts) for es, texts in parts if texts[name] is not None]
        columns[name] = _join_texts(stated, ids, "segments").get(name)
    for name in MAPPINGS:
        mappings = [(es, getattr(es.segments, name)) for es in sets]
        columns[name] = _join_texts(mappings, ids, name.removesuffix("s"))
    names = {es.segments.document_column for es in sets if es.segments.documents is not None}
    return Segments(ids, **columns, document_column=names.pop() if len(names) == 1 else None)


def _join_scores(joined: EvalSet, sets: Sequence[EvalSet]) -> dict[str, ScoreTable]:
    merged = {}
    systems, ids = joined.systems, joined.segments.ids
    at = {id(es): (positions(es.systems, systems), positions(es.segments.ids, ids)) for es in sets}
    for name in dict.fromkeys(name for es in sets for name in es.scores):
        parts = [es for es in sets if name in es.scores]
        tables = [es.scores[name] for es in parts]
        values = np.full((joined.n_systems, joined.n_segments), np.nan)
        official: Floats | None = None
        for es, table in zip(parts, tables, strict=True):
            rows, columns = at[id(es)]
            _merge(values, np.ix_(rows, columns), table.values, name, es)
            if table.system_scores is not None:
                official = np.full(joined.n_systems, np.nan) if official is None else official
                _merge(official, (rows,), table.system_scores, name, es)
        merged[name] = ScoreTable(
            sealed(values),
            kind="human" if any(t.kind == "human" for t in tables) else "metric",
            higher_is_better=all(t.higher_is_better for t in tables),
            uses=next((t.uses for t in tables if t.uses), ()),
            system_scores=official,
            domain_scores=_spread(joined, parts, name, "domain_scores", "domains"),
            document_scores=_spread(joined, parts, name, "document_scores", "documents"),
            statistics=_statistics(joined, parts, name),
            direction_given=any(t.direction_given for t in tables),
        )
    return merged


def _merge(target: Floats, at: tuple[Index, ...], values: Floats, name: str, es: EvalSet) -> None:
    """Write values where there are any; a cell that two sets have must be the same."""
    before = target[at]
    clash = ~np.isnan(before) & ~np.isnan(values) & (before != values)
    if clash.any():
        cell = tuple(np.argwhere(clash)[0])
        raise InputError(
            f"score '{name}' stands in two inputs with different values: {_origin(es)} has "
            f"{float(values[cell])!r}, another one {float(before[cell])!r}, "
            f"for system '{es.systems[cell[0]]}'"
        )
    target[at] = np.where(np.isnan(values), before, values)


def _statistics(joined: EvalSet, parts: Sequence[EvalSet], name: str) -> CorpusStatistics | None:
    """Carry the statistics of a corpus score over, where one set alone has the score."""
    es = parts[0]
    stats = es.scores[name].statistics
    if len(parts) != 1 or stats is None:
        return None
    columns = positions(es.segments.ids, joined.segments.ids)
    values = np.full((joined.n_systems, joined.n_segments, stats.values.shape[2]), np.nan)
    values[np.ix_(positions(es.systems, joined.systems), columns)] = stats.values
    return replace(stats, values=values)


def _spread(
    joined: EvalSet, parts: Sequence[EvalSet], name: str, level: str, groups: str
) -> Floats | None:
    """Carry stored domain or document scores over, where one set alone has them."""
    stored = [es for es in parts if getattr(es.scores[name], level) is not None]
    if len(stored) != 1:
        return None
    (es,) = stored
    values = np.full((joined.n_systems, len(getattr(joined, groups))), np.nan)
    columns = positions(getattr(es, groups), getattr(joined, groups))
    values[np.ix_(positions(es.systems, joined.systems), columns)] = getattr(es.scores[name], level)
    return values


def _join_ratings(sets: Sequence[EvalSet]) -> dict[str, Ratings]:
    merged: dict[str, Ratings] = {}
    for es in sets:
        for name, ratings in es.ratings.items():
            if name in merged and not merged[name].identical(ratings):
                raise InputError(f"ratings '{name}' stand in two inputs and differ")
            merged[name] = ratings
    return merged
