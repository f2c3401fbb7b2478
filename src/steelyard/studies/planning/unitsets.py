"""What a study of units rests on: scores or raw ratings, each with the unit that it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError, hint
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.independence import DOCUMENT, PROMPT, column_of
from steelyard.data.joining import join
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments
from steelyard.formats.judged import raterfile
from steelyard.formats.load import JudgementsError, Source, check_columns, load_with
from steelyard.formats.options import LoadOptions
from steelyard.formats.reading import Reading, read_all
from steelyard.formats.streams import kept
from steelyard.human.mqm import values_of
from steelyard.human.protocol import merged, together
from steelyard.human.segmentfacts import named_by_ratings
from steelyard.stats.arrays import Counts, Floats

RATINGS = "ratings"  # what judgements of a file are called
_ADD = (
    'a column "doc" says which segments belong together (columns={"doc": "prompt"} if it has '
    "another name, as for prompts); a second input with texts or scores may hold it"
)


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of systems x segments, and the document and domain of each segment."""

    values: Floats
    documents: Counts
    domains: Counts | None


@dataclass(frozen=True, slots=True)
class Rated:
    """Ratings, a row each: value, and codes of system, segment, document and rater."""

    value: Floats
    system: Counts
    segment: Counts
    document: Counts
    rater: Counts


@kept()
def read_units(
    sources: Sequence[Source], options: LoadOptions | None = None, *, unit: str = DOCUMENT
) -> EvalSet:
    """Load a set; raw ratings become the ratings of one, with what other inputs say of segments.

    A unit that is a column is read as the documents.
    """
    options, column = options or LoadOptions(), column_of(unit)
    if column is not None:
        options = replace(options, columns=(*options.columns, ("doc", column)))
    if not any(isinstance(source, Ratings) for source in sources):
        try:
            return load_with(sources, options)
        except JudgementsError:
            pass  # which is welcome here: only ratings know their raters
    given = [source for source in sources if isinstance(source, Ratings)]
    others = [source for source in sources if not isinstance(source, Ratings)]
    reading = Reading(
        options.where,
        tuple(options.ignore),
        options.lp,
        columns=options.columns,
        form=options.format,
    )
    found = read_all(others, reading)
    check_columns(found, reading)
    sets = [one.value for one in found if isinstance(one.value, EvalSet)]
    judged = [*given, *(one.value for one in found if not isinstance(one.value, EvalSet))]
    if not all(isinstance(one, Ratings) for one in judged):
        raise UsageError("rankings and battles: expected ratings of single outputs, or scores")
    ratings = together(judged)
    names = set(ratings.systems if options.systems is None else options.systems)
    for name in (*(options.systems or ()), *options.drop_systems):
        if name not in ratings.systems:
            raise UsageError(f"no system '{name}'; {hint(name, ratings.systems)}")
    ratings = ratings.select(systems=names - set(options.drop_systems))
    files = tuple(f for one in found for f in one.files or getattr(one.value, "inputs", ()))
    notes = tuple(note for one in found for note in one.notes)
    notes += tuple(note for es in sets for note in es.notes)
    if not sets:
        segments = Segments(ratings.segments, documents=_documents(ratings))
        return EvalSet(
            ratings.systems, segments, ratings={RATINGS: ratings}, inputs=files, notes=notes
        )
    es = join(sets)
    lost = set(ratings.segments) - set(es.segments.ids)
    if lost:
        raise UsageError(
            f"{plural(len(lost), 'segment')} of the ratings unknown to the other input, "
            f"first '{min(lost)}': expected the same names"
        )
    systems = tuple(sorted({*es.systems, *ratings.systems}))
    outline = EvalSet(systems, es.segments, ratings={RATINGS: ratings}, inputs=files, notes=notes)
    return outline if options.domain is None else outline.select(domain=options.domain)


def grouped(es: EvalSet, unit: str) -> EvalSet:
    """Give a set whose documents are what segments are said to share."""
    own = es.segments
    if unit in (DOCUMENT, "doc", own.document_column) or column_of(unit) is not None:
        return es  # a column was read as the documents, or is none of them: an error follows
    if unit != PROMPT:
        raise UsageError(f"unit '{unit}': expected document, prompt or a column of the input")
    if own.sources is None:
        raise UsageError('unit="prompt": the prompts of the segments are not known')
    return replace(es, segments=replace(own, documents=own.sources))


def _documents(ratings: Ratings) -> tuple[str | None, ...] | None:
    """Give the document of each segment; ratings that disagree on it are refused."""
    if ratings.document is None:
        return None
    found, torn = named_by_ratings(ratings, "document")
    for segment, document in torn.items():
        name = ratings.segments[segment]
        raise UsageError(f"segment '{name}' is of documents '{found[segment]}', '{document}'")
    return tuple(found.get(code) for code in range(len(ratings.segments)))


def chosen(es: EvalSet, score: str | None) -> str:
    """Give the name of the ratings or the score; the only one, where none is named."""
    names = (*es.ratings, *(n for n, t in es.scores.items() if t.has_segments))
    if score is None:
        if len(set(names)) == 1:
            return names[0]
        raise UsageError(f"name a score (score=NAME); {hint('', names)}")
    if score not in names:
        es[score]  # an error that shows the known ones, unless only systems have it
        raise UsageError(f"'{score}' has no scores of segments")
    return score


def scored(es: EvalSet, score: str) -> Scored:
    """Give the scores, on the segments and systems that have any."""
    values = es[score].values
    some = ~np.isnan(values)
    columns = np.flatnonzero(some.any(axis=0))
    rows = np.flatnonzero(some.any(axis=1))
    _two_systems(len(rows), score)
    names = es.segments.documents
    held = None if names is None else [names[k] for k in columns]
    if held is None or None in held:
        lacking = "" if held is None else f" of {plural(held.count(None), 'segment')}"
        raise UsageError(f"the documents{lacking} are not known: {_ADD}")
    if len(set(held)) < 2:
        raise UsageError("one document: what documents share can't be told")
    domains = es.segments.domains
    own = None if domains is None else [domains[k] for k in columns]
    return Scored(
        np.ascontiguousarray(values[np.ix_(rows, columns)]),
        _codes(held),
        None if own is None or None in own else _codes(own),
    )


def _codes(names: Sequence[Any]) -> Counts:
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64)


def _two_systems(n: int, score: str) -> None:
    if n < 2:
        raise UsageError(f"'{score}' has {plural(n, 'system')}: expected two, which differ")


def rated(es: EvalSet, name: str, raters: Any = None) -> tuple[Rated, list[str]]:
    """Give the ratings of outputs (no control items) with a value, and notes."""
    ratings, notes = es.ratings[name], []
    if raters is not None:
        ratings, said = merged(ratings, raterfile.read(raters))
        notes.append(said)
    value, said_of_value = values_of(ratings)
    notes += said_of_value
    place = dict(zip(es.segments.ids, es.segments.documents or (), strict=False))
    documents = [place.get(segment) for segment in ratings.segments]
    rows: NDArray[np.bool_] = ratings.is_item("system", "repeat") & ~np.isnan(value)
    rows &= np.isin(ratings.segment, [k for k, s in enumerate(ratings.segments)
                                      if s in set(es.segments.ids)])  # fmt: skip
    used = set(ratings.segment[rows].tolist())
    lacking = sum(documents[k] is None for k in used)
    if lacking or not used:
        raise UsageError(f"the documents of {plural(lacking, 'segment')} are not known: {_ADD}")
    if len({documents[k] for k in used}) < 2:
        raise UsageError("one document: what documents share can't be told")
    codes = _codes([document or "" for document in documents])
    found = Rated(
        value[rows],
        ratings.system[rows].astype(np.int64),
        ratings.segment[rows].astype(np.int64),
        codes[ratings.segment[rows]],
        ratings.rater[rows].astype(np.int64),
    )
    _two_systems(len(np.unique(found.system)), name)
    return found, notes


def without(rated: Rated, keep: NDArray[np.bool_]) -> Rated:
    """Keep these rows."""
    return replace(
        rated, **{name: getattr(rated, name)[keep] for name in Rated.__dataclass_fields__}
    )
