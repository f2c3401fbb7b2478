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
        if not text.strip():
            continue
        row = files.parse_json(text, path, line)
        found += _explained(row, path, line)
    return tuple(one for one in found if one.system in es.systems and one.segment in known)


def _explained(row: Any, path: Path, line: int) -> Iterable[Mistake]:
    """Give the mistakes of one line: itself, or those of its entities that were not found."""
    if not isinstance(row, Mapping) or "entities" not in row:
        return [_mistake(row, path, line)]
    entities = row["entities"]
    if not isinstance(entities, list) or not all(isinstance(one, Mapping) for one in entities):
        raise InputError("'entities' is not a list of objects", path=path, line=line)
    plain = []
    for one in entities:
        if one.get("kind") == "found":
            continue
        side = "output" if one.get("output") is not None else "source"
        span = one.get(side)
        if not isinstance(span, list) or len(span) != 3:
            raise InputError(f"'{side}' is not [start, end, text]", path=path, line=line)
        kind = " ".join(str(one[name]) for name in ("kind", "category") if one.get(name))
        where = {"start": span[0], "end": span[1], "text": span[2], "side": side}
        owner = {name: row[name] for name in ("system", "segment") if name in row}
        plain.append({**owner, "kind": kind, **where})
    return [_mistake(one, path, line) for one in plain]


def _mistake(row: Any, path: Path, line: int) -> Mistake:
    if not isinstance(row, Mapping):
        raise InputError("expected an object with system, segment and kind", path=path, line=line)
    for name in ("system", "segment", "kind"):
        if name not in row:
            raise InputError(f"the object has no '{name}'", path=path, line=line)
    start, end = row.get("start"), row.get("end")
    if (start is None) != (end is None):
        raise InputError("'start' and 'end' must both be there, or neither", path=path, line=line)
    if start is not None and not (type(start) is int and type(end) is int and 0 <= start <= end):
        raise InputError(
            f"start {start!r} and end {end!r}: expected whole numbers, 0 <= start <= end",
            path=path,
            line=line,
        )
    side = row.get("side", "output")
    if side not in SIDES:
        raise InputError(f"side {side!r}: expected output or source", path=path, line=line)
    text = row.get("text")
    return Mistake(
        str(row["system"]),
        str(row["segment"]),
        str(row["kind"]),
        start,
        end,
        None if text is None else str(text),
        side,
    )


def rated_mistakes(es: EvalSet) -> Iterable[Mistake]:
    """Give the errors that raters marked, where the set holds their judgements."""
    for ratings in es.ratings.values():
        if ratings.errors is None:
            continue
        for row, errors in enumerate(ratings.errors):
            for one in errors or ():
                yield Mistake(
                    ratings.systems[ratings.system[row]],
                    ratings.segments[ratings.segment[row]],
                    f"{one.severity} {one.category}",
                    one.start,
                    one.end,
                    None,
                    "source" if one.in_source else "output",
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
