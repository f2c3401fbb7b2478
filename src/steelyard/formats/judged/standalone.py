"""Standalone ratings of mt-metrics-eval: a JSON object per rating, with the texts that were rated.

Ids of documents, segments, systems and raters, and the languages, may all be null.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.table import dumps
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.formats import files
from steelyard.formats.folders.mtme_writer import owner_of
from steelyard.formats.format import SetFormat
from steelyard.formats.judged import errorlists
from steelyard.formats.judged.gathering import HUMAN, NOBODY, Gathering, language_pair, torn
from steelyard.formats.record import Record, records
from steelyard.formats.view import FileView

_COUNTED = re.compile("0|[1-9][0-9]{0,8}")
COLUMNS = frozenset(("lp", "document_id", "system_id", "rater_id", "src_lang", "tgt_lang"))


def read(view: FileView, lp: str | None, where: tuple[tuple[str, str], ...]) -> EvalSet:
    """Read the ratings of one language pair, and the texts that come with them."""
    view = view.known_as("standalone ratings")
    wanted = [(column, value) for column, value in where if column in COLUMNS]
    rows = [record for record in records(view) if _fits(record, wanted)]
    if not rows:
        said = " and ".join(f"{column}={value}" for column, value in wanted)
        view.fail(f"no rating has {said}" if said else "holds no rating")
    lp, rows = _of_language_pair(view, lp, rows)
    notes = []
    segments = _segments(rows)
    if any(row.optional_name("segment_id") is None for row in rows):
        notes.append("segment_id is null: segments are numbered by their sources")
    elif segments != [row.optional_name("segment_id") for row in rows]:
        notes.append("documents number their segments anew: segments are DOCUMENT/ID")
    system = view.name.partition(".")[0] or "system"
    unnamed = sum(row.optional_name("system_id") is None for row in rows)
    if unnamed:
        of = plural(unnamed, "rating")
        notes.append(f"system_id is null in {of}: the system is '{system}'")
    found = Gathering(view)
    for row, segment in zip(rows, segments, strict=True):
        document, own = row.optional_name("document_id"), row.optional_name("system_id") or system
        found.describe(segment, row, document=document, source=row.text("source"))
        found.output(own, segment, row.text("hypothesis"), row)
        names = (own, segment, row.optional_name("rater_id") or NOBODY)
        value = {"errors": row.elements("errors"), "document": document}
        found.rate(HUMAN, errorlists.parse(value, names, view.path, row.line))
    return found.evalset(lp, [view.note(said) for said in notes])


def _fits(record: Record, wanted: list[tuple[str, str]]) -> bool:
    return all(
        (_languages(record) if column == "lp" else record.optional_name(column)) == value
        for column, value in wanted
    )


def _languages(record: Record) -> str | None:
    source, target = record.optional_name("src_lang"), record.optional_name("tgt_lang")
    return None if source is None or target is None else f"{source}-{target}"


def _of_language_pair(
    view: FileView, lp: str | None, rows: list[Record]
) -> tuple[str | None, list[Record]]:
    """Keep the ratings of a language pair; where the file names none, all are of the one given."""
    pairs = [_languages(row) for row in rows]
    known = {pair for pair in pairs if pair is not None}
    if not known:
        return lp, rows
    own = language_pair(view, lp, known)
    return own, [row for row, pair in zip(rows, pairs, strict=True) if lp is None or pair == own]


def _segments(rows: list[Record]) -> list[str]:
    """Name the segment of every rating: by its id, else by the place of its source in the file."""
    ids = [row.optional_name("segment_id") for row in rows]
    documents = [row.optional_name("document_id") for row in rows]
    if None in ids:
        keys = [(d, row.text("source")) for d, row in zip(documents, rows, strict=True)]
        place = {key: str(i) for i, key in enumerate(dict.fromkeys(keys))}
        return [place[key] for key in keys]
    named = [str(own) for own in ids]
    pairs = list(zip(named, documents, strict=True))
    return [f"{d}/{own}" if d else own for own, d in pairs] if torn(pairs) else named


def write(es: EvalSet, path: Path, *, human: str | None = None) -> None:
    """Write one kind of ratings: ``human``, and those whose names begin with it and a dot."""
    chosen = [
        own for name, own in es.ratings.items() if human is None or owner_of(name, [human]) == human
    ]
    if not es.ratings:
        raise UsageError(f"{path}: the set has no ratings to write")
    if human is None and len(chosen) > 1:
        names = listed(list(es.ratings), 8)
        raise UsageError(f"{path}: the set has several ratings ({names}): choose with human=NAME")
    if not chosen:
        raise UsageError(f"{path}: no ratings '{human}'; {hint(str(human), es.ratings)}")
    if not es.outputs:
        raise UsageError(f"{path}: the set has no texts, which standalone ratings hold")
    lines = [line for ratings in chosen for line in _lines(es, ratings)]
    files.write_text(path, "".join(f"{line}\n" for line in lines))


def _lines(es: EvalSet, ratings: Ratings) -> list[str]:
    seg = es.segments
    where = {name: i for i, name in enumerate(seg.ids)}
    unknown = (None,) * es.n_segments
    source, _, target = (es.language_pair or "").partition("-")
    lines = []
    for row in np.flatnonzero(ratings.is_item("system", "repeat")).tolist():
        marked = None if ratings.errors is None else ratings.errors[row]
        if marked is None:
            continue  # nobody was asked for errors
        system, rater = ratings.systems[ratings.system[row]], ratings.raters[ratings.rater[row]]
        name = ratings.segments[ratings.segment[row]]
        i = where[name]
        told = None if ratings.document is None else ratings.document[row] or None
        value: dict[str, Any] = {
            "source": (seg.sources or unknown)[i],
            "hypothesis": es.outputs.get(system, unknown)[i],
            "errors": [error.to_dict() for error in marked],
            "document_id": (seg.documents or unknown)[i] or told,
            "segment_id": int(name) if _COUNTED.fullmatch(name) else name,
            "system_id": system,
            "rater_id": None if rater == NOBODY else rater,
            "src_lang": source or None,
            "tgt_lang": target or None,
        }
        lines.append(dumps(value, indent=None))
    return lines


def _recognise(view: FileView) -> bool:
    """Tell ratings from tables that count errors, or have them beside a system."""
    return isinstance((view.record or {}).get("errors"), list) and not view.has("system")


FORMAT = SetFormat(
    name="mt-metrics-eval standalone ratings",
    gives=EvalSet,
    known_by="JSON lines with source, hypothesis and a list of errors",
    example='{"source": "Yes.", "hypothesis": "Ja.", "errors": [], "document_id": "doc1", '
    '"segment_id": 0, "system_id": "A", "rater_id": "rater1", "src_lang": "en", '
    '"tgt_lang": "de"}\n',
    example_name="ratings.jsonl",
    rated=True,
    keys=("source", "hypothesis", "errors"),
    recognise=_recognise,
    read=read,
    columns=COLUMNS,
    write=write,
    to="standalone",
    takes=("human",),
    drops=(
        "domains",
        "references",
        "scores",
        "values and times of ratings",
        "batches and controls of ratings",
    ),
)
