"""Mistakes inside texts: spans of outputs that a tool or a rater marked, for the explorer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats import files
from steelyard.formats.load import read_any

SIDES = ("output", "source")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake of a system: characters ``start`` to ``end`` (exclusive) of a text.

    ``side`` says whose characters: of the ``output`` or, for what is missing there, of the
    ``source``. Without a span the mistake concerns the whole output.
    """

    system: str
    segment: str
    kind: str
    start: int | None = None
    end: int | None = None
    text: str | None = None
    side: str = "output"


def read_mistakes(path: Path, es: EvalSet) -> tuple[Mistake, ...]:
    """Read JSON lines ``{system, segment, kind, start, end, text, side}``, or explanations of KoBE.

    A line of an explanation holds ``system``, ``segment`` and ``entities``, a list of what happened
    to each: ``kind`` (``found`` is no mistake), ``category``, and the spans ``source`` and
    ``output`` as [start, end, text] or null. Lines about systems or segments that the set does not
    have are passed over.
    """
    found: list[Mistake] = []
    known = set(es.segments.ids)
    for line, text in enumerate(files.lines(files.read_text(path)), 1):
        if text.strip():
            row = files.parse_json(text, path, line)
            try:
                found += [_mistake(one) for one in _explained(row)]
            except ValueError as error:
                raise InputError(str(error), path=path, line=line) from None
    return tuple(one for one in found if one.system in es.systems and one.segment in known)


def _explained(row: Any) -> Iterable[Any]:
    """Give the mistakes of one line: itself, or those of its entities that were not found."""
    if not isinstance(row, Mapping) or "entities" not in row:
        return [row]
    entities = row["entities"]
    if not isinstance(entities, list) or not all(isinstance(one, Mapping) for one in entities):
        raise ValueError("'entities' is not a list of objects")
    owner = {name: row[name] for name in ("system", "segment") if name in row}
    return [{**owner, **_placed(one)} for one in entities if one.get("kind") != "found"]


def _placed(entity: Mapping[str, Any]) -> dict[str, Any]:
    side = "output" if entity.get("output") is not None else "source"
    span = entity.get(side)
    if not isinstance(span, list) or len(span) != 3:
        raise ValueError(f"'{side}' is not [start, end, text]")
    kind = " ".join(str(entity[name]) for name in ("kind", "category") if entity.get(name))
    return {"kind": kind, "start": span[0], "end": span[1], "text": span[2], "side": side}


def _mistake(row: Any) -> Mistake:
    if not isinstance(row, Mapping):
        raise ValueError("expected an object with system, segment and kind")  # noqa: TRY004
    for name in ("system", "segment", "kind"):
        if name not in row:
            raise ValueError(f"the object has no '{name}'")
    start, end, text, side = (row.get(name) for name in ("start", "end", "text", "side"))
    if (start is None) != (end is None):
        raise ValueError("'start' and 'end' must both be there, or neither")
    if start is not None and not (type(start) is int and type(end) is int and 0 <= start <= end):
        expected = "expected whole numbers, 0 <= start <= end"
        raise ValueError(f"start {start!r} and end {end!r}: {expected}")
    if "side" in row and side not in SIDES:
        raise ValueError(f"side {side!r}: expected output or source")
    return Mistake(
        system=str(row["system"]),
        segment=str(row["segment"]),
        kind=str(row["kind"]),
        start=start,
        end=end,
        text=None if text is None else str(text),
        side=side or "output",
    )


def rated_mistakes(es: EvalSet) -> Iterable[Mistake]:
    """Give the errors that raters marked, where the set holds their judgements."""
    for ratings in es.ratings.values():
        if ratings.errors is None:
            continue
        for row, errors in enumerate(ratings.errors):
            for one in errors or ():
                yield Mistake(
                    system=ratings.systems[ratings.system[row]],
                    segment=ratings.segments[ratings.segment[row]],
                    kind=f"{one.severity} {one.category}",
                    start=one.start,
                    end=one.end,
                    side="source" if one.in_source else "output",
                )


def with_ratings(es: EvalSet, path: Path) -> EvalSet:
    """Add the raw judgements of a file, as far as they concern the set's systems and segments.

    A judgement that lists weighted errors and no value is worth minus the sum of their weights.
    """
    form, value, _ = read_any(path)
    if not isinstance(value, Ratings):
        raise InputError(f"holds no ratings ({form})", path=path)
    kept = value.select(systems=es.systems, segments=es.segments.ids)
    if kept.errors is not None and np.isnan(kept.value).all():
        kept = replace(kept, value=np.array([_cost(errors) for errors in kept.errors]))
    return replace(es, ratings={**es.ratings, path.name.split(".gz")[0]: kept})


def _cost(errors: tuple[ErrorSpan, ...] | None) -> float:
    weights = [] if errors is None else [one.score for one in errors]
    if errors is None or None in weights:
        return float("nan")
    return -float(sum(weight or 0.0 for weight in weights))
