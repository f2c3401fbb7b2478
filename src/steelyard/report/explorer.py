"""The segments for the explorer: texts, scores and marked mistakes, packed into a small page."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, printable
from steelyard.core.options import check_instance
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats import files
from steelyard.formats.reading import read_any
from steelyard.human.run import ratings_of
from steelyard.stats.arrays import Floats

MISSING = 65535  # the code of a missing score
CELLS = 400_000  # scores that a page holds
TEXTS = 1_400_000  # characters of base64 that the texts of a page may take
SIDES = ("output", "source")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake of a system: characters ``start`` to ``end`` (exclusive) of a text.

    ``side`` says whose characters: of the ``output`` or, for what is missing there, of the
    ``source``. Without a span the mistake concerns the whole output. ``confidence`` says how sure
    it is, where that is known.
    """

    system: str
    segment: str
    kind: str
    start: int | None = None
    end: int | None = None
    text: str | None = None
    side: str = "output"
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Explorer:
    """Everything the explorer needs: facts as JSON, texts and scores packed."""

    facts: dict[str, Any]
    texts: str
    scores: str
    notes: tuple[str, ...] = ()


def explore(
    es: EvalSet,
    names: Sequence[str],
    *,
    pair: tuple[str, str] | None = None,
    mistakes: Iterable[Mistake] = (),
    cells: int = CELLS,
    most: int = TEXTS,
) -> Explorer:
    """Pack segments for the explorer, which shows ``pair`` first and marks ``mistakes``.

    ``names`` are scores in the order of their importance. The page holds at most ``cells`` scores
    (but all human ones) and ``most`` characters of packed texts; segments on which systems differ
    least are left out.
    """
    notes: list[str] = []
    known = [name for name in names if es[name].has_segments]
    room = max(1, cells // max(1, es.n_systems * es.n_segments))
    # Every human score is here, however many metrics have to give way.
    kept = [name for k, name in enumerate(known) if k < room or es[name].kind == "human"]
    if len(kept) < len(known):
        notes.append(
            f"{len(kept)} of {len(known)} scores are here, the human ones and the metrics that "
            "agree most with people; explored=... chooses others"
        )
    chosen = np.arange(es.n_segments)
    marks = list(mistakes)
    packing = packed(_json(_texts(es, chosen, marks)))
    while len(packing) > most and len(chosen) > 1:
        share = 0.95 * most / len(packing)
        chosen = _widest(es, kept, chosen, max(1, int(share * len(chosen))))
        packing = packed(_json(_texts(es, chosen, marks)))
    if len(chosen) < es.n_segments:
        notes.append(
            f"{plural(len(chosen), 'segment')} of {es.n_segments:,} are here, those on which "
            "the systems differ most"
        )
    coded = {name: quantised(es[name], chosen) for name in kept}
    shown: dict[str, Any] = {
        "systems": [*map(printable, es.systems)],
        "references": [*map(printable, es.references)],
        "scores": [{"name": printable(name), **fact} for name, (_, fact) in coded.items()],
        "segments": [printable(es.segments.ids[i]) for i in chosen],
        "domains": [*map(printable, es.domains)],
        "domain": _codes(es.segments.domains, es.domains, chosen),
        "pair": [es.systems.index(name) for name in pair or es.systems[:2]],
        "has": {
            "source": es.segments.sources is not None,
            "outputs": bool(es.outputs),
            "mistakes": bool(marks),
        },
    }
    scores = np.concatenate([np.zeros(0, dtype="<u2"), *(codes for codes, _ in coded.values())])
    # Low bytes and high bytes apart: the high ones repeat, and pack well.
    flat = scores.astype("<u2").view(np.uint8).reshape(-1, 2).T.tobytes()
    return Explorer(shown, packing, packed(flat), tuple(notes))


def packed(data: bytes) -> str:
    """Pack bytes as gzip in base64, which a browser unpacks itself; same bytes, same text."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


def _json(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")  # lone surrogates can't be shown anyway


def _texts(es: EvalSet, chosen: Any, mistakes: Sequence[Mistake]) -> list[Any]:
    """Per segment: [document, source, references, outputs, mistakes]; alike texts stand close."""
    place = {id_: k for k, id_ in enumerate(es.segments.ids)}
    system = {name: k for k, name in enumerate(es.systems)}
    marked: dict[int, list[Any]] = {}
    for mark in sorted(mistakes, key=lambda m: -1.0 if m.confidence is None else -m.confidence):
        where = [mark.start, mark.end, mark.text, int(mark.side == "source")]
        sure = "" if mark.confidence is None else f" ({mark.confidence:.0%} sure)"
        marks = marked.setdefault(place[mark.segment], [])
        marks.append([system[mark.system], f"{mark.kind}{sure}", *where])
    segments = es.segments
    return [
        [
            segments.documents[i] if segments.documents else None,
            segments.sources[i] if segments.sources else None,
            [texts[i] for texts in segments.references.values()],
            [es.outputs[name][i] if name in es.outputs else None for name in es.systems],
            marked.get(i, []),
        ]
        for i in map(int, chosen)
    ]


def _codes(
    labels: Sequence[str | None] | None, names: Sequence[str], chosen: Any
) -> list[int] | None:
    if labels is None or not names:
        return None
    place = {name: k for k, name in enumerate(names)}
    return [place.get(labels[i] or "", -1) for i in map(int, chosen)]


def _widest(es: EvalSet, names: Sequence[str], chosen: Any, n: int) -> Any:
    """Keep the segments on which systems differ most by the first score, in their order."""
    if not names:
        return chosen[:n]
    values = es[names[0]].values[:, chosen]
    some = ~np.isnan(values).all(axis=0)
    spread = np.full(len(chosen), -1.0)
    spread[some] = np.nanmax(values[:, some], axis=0) - np.nanmin(values[:, some], axis=0)
    return np.sort(chosen[np.argsort(-spread, kind="stable")[:n]])


def quantised(table: ScoreTable, chosen: Any) -> tuple[Any, dict[str, Any]]:
    """Write scores as whole numbers of 16 bits, 65535 where missing.

    A score is ``(low + code) / 10 ** digits``, with as many decimals as the scores have or as fit.

    Examples
    --------
    >>> codes, fact = quantised(ScoreTable(np.array([[-1.3, np.nan, -25.0]])), np.arange(3))
    >>> codes.tolist(), fact["low"], fact["digits"]
    ([237, 65535, 0], -250, 1)
    """
    values: Floats = table.values[:, chosen].ravel()
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    span = high - low
    digits = min(6, math.floor(math.log10((MISSING - 2) / span))) if span > 0 else 4
    # As many as make all numbers whole, but for the noise of floating point.
    scaled = ((d, known * 10.0**d) for d in range(digits))
    digits = next((d for d, x in scaled if (np.abs(x - np.rint(x)) < 1e-6).all()), digits)
    base = round(low * 10.0**digits)
    codes = np.full(values.shape, MISSING, dtype="<u2")
    codes[~np.isnan(values)] = np.rint(known * 10.0**digits).astype(np.int64) - base
    kind = {"human": table.kind == "human", "lower": not table.higher_is_better}
    return codes, {**kind, "low": base, "digits": digits}


def read_mistakes(path: Path, es: EvalSet) -> tuple[Mistake, ...]:
    """Read JSON lines ``{system, segment, kind, start, end, text, side}``, or explanations of KoBE.

    A line of an explanation holds ``system``, ``segment`` and ``entities``, a list of what happened
    to each: ``kind`` (``found``, ``missed`` and ``undecided`` are no mistakes), ``category``, and
    the spans ``source`` and ``output`` as [start, end, text] or null. Lines about systems or
    segments that the set does not have are passed over.
    """
    mistakes: list[Mistake] = []
    known = set(es.segments.ids)
    for line, text in enumerate(files.lines(files.read_text(path)), 1):
        if text.strip():
            row = files.parse_json(text, path, line)
            try:
                mistakes += [_mistake(entry) for entry in _explained(row)]
            except ValueError as error:
                raise InputError(str(error), path=path, line=line) from None
    return tuple(m for m in mistakes if m.system in es.systems and m.segment in known)


#: No mistakes: found; missed by the linker, since no system and no human translation has it; or
#: what can't be decided.
_FINE = ("found", "missed", "undecided")


def _explained(row: Any) -> Iterable[Any]:
    """Give the mistakes of one line: itself, or those of its entities that were not found."""
    if not isinstance(row, Mapping) or "entities" not in row:
        return [row]
    entities = row["entities"]
    if not isinstance(entities, list) or not all(
        isinstance(entity, Mapping) for entity in entities
    ):
        raise ValueError("'entities' is not a list of objects")
    owner = {name: row[name] for name in ("system", "segment") if name in row}
    return [{**owner, **_placed(e)} for e in entities if e.get("kind") not in _FINE]


def _placed(entity: Mapping[str, Any]) -> dict[str, Any]:
    side = "output" if entity.get("output") is not None else "source"
    span = entity.get(side)
    if not isinstance(span, list) or len(span) != 3:
        raise ValueError(f"'{side}' is not [start, end, text]")
    kind = " ".join(str(entity[name]) for name in ("kind", "category") if entity.get(name))
    place = {"start": span[0], "end": span[1], "text": span[2], "side": side}
    return {"kind": kind, **place, "confidence": entity.get("confidence")}


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
    sure = row.get("confidence")
    if sure is not None and not (type(sure) in (int, float) and 0 <= sure <= 1):
        raise ValueError(f"confidence {sure!r}: expected a number from 0 to 1")
    return Mistake(
        system=str(row["system"]),
        segment=str(row["segment"]),
        kind=str(row["kind"]),
        start=start,
        end=end,
        text=None if text is None else str(text),
        side=side or "output",
        confidence=sure,
    )


def rated_mistakes(es: EvalSet) -> Iterable[Mistake]:
    """Give the errors that raters marked, where the set holds their judgements.

    What several raters of an output marked alike is one error, which says how many they were.
    """
    for ratings in es.ratings.values():
        if ratings.errors is None:
            continue
        places = list(zip(ratings.system.tolist(), ratings.segment.tolist(), strict=True))
        rated = Counter(place for place, errors in zip(places, ratings.errors, strict=True)
                        if errors is not None)  # fmt: skip
        marked = Counter(
            (place, f"{e.severity} {e.category}", e.start, e.end, e.in_source)
            for place, errors in zip(places, ratings.errors, strict=True)
            for e in errors or ()
        )
        for (place, kind, start, end, in_source), count in marked.items():
            of = f" ({count} of {rated[place]} raters)" if rated[place] > 1 else ""
            yield Mistake(
                system=ratings.systems[place[0]],
                segment=ratings.segments[place[1]],
                kind=f"{kind}{of}",
                start=start,
                end=end,
                side="source" if in_source else "output",
            )


RatingsLike = str | Path | Ratings


def add_ratings(es: EvalSet, ratings: RatingsLike | Sequence[RatingsLike]) -> EvalSet:
    """Add raw judgements, files or Ratings, as far as they are of the set's systems and segments.

    A judgement that lists weighted errors and no value is worth minus the sum of their weights.
    """
    several = [ratings] if isinstance(ratings, (str, Path, Ratings)) else ratings
    for k, source in enumerate(several, 1):
        check_instance((str, Path, Ratings), "files of raw judgements, or Ratings", ratings=source)
        value: Any = source
        name = f"ratings {k}"
        if not isinstance(source, Ratings):
            path = Path(source)
            form, value, _ = read_any(path)
            name = path.name.split(".gz")[0]
            if isinstance(value, EvalSet) and value.ratings:
                es = replace(es, inputs=(*es.inputs, *value.inputs))
                value = ratings_of(value, None)
            if not isinstance(value, Ratings):
                raise InputError(f"holds no ratings ({form})", path=path)
        kept = value.select(systems=es.systems, segments=es.segments.ids)
        if kept.errors is not None and np.isnan(kept.value).all():
            kept = replace(kept, value=np.array([_cost(errors) for errors in kept.errors]))
        es = replace(es, ratings={**es.ratings, name: kept})
    return es


def _cost(errors: tuple[ErrorSpan, ...] | None) -> float:
    weights = [float("nan") if error.score is None else error.score for error in errors or ()]
    return float("nan") if errors is None else -float(sum(weights))
