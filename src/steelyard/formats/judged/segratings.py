"""Rating files of mt-metrics-eval: ``SYSTEM``, the errors as JSON or ``None``, perhaps a rater.

The n-th line of a system is its n-th segment. Folders hold many such files
(:mod:`steelyard.formats.folders.mtme`); here one is read that stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.core.errors import InputError
from steelyard.data.judgements import Ratings
from steelyard.formats import files
from steelyard.formats.format import ForeignFormat
from steelyard.formats.judged import errorlists
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView

SUFFIX = ".seg.rating"
_LINE = re.compile(r'[^\t]+\t(None|\{"errors":.*\})(\t[^\t]*)?')
_NAMED = re.compile(r"([a-z]{2,3}(?:_\w+)?-[a-z]{2,3}(?:_\w+)?)\.(.+)")
#: Columns of an error list, by the key of a rating that they hold.
_COLUMNS = {"errors": "errors", "value": "value", "item": "type", "unit": "unit",
            "seconds": "seconds", "document": "doc", "domain": "domain"}  # fmt: skip


class RatingLine(NamedTuple):
    """One line: ``place`` counts the lines of its system from 0; None where nobody rated."""

    line: int
    system: str
    place: int
    value: Any
    rater: str | None


def rating_lines(rows: Sequence[str], path: Path) -> Iterator[RatingLine]:
    """Take the lines of a rating file apart."""
    seen: dict[str, int] = {}
    for line, row in enumerate(rows, 1):
        fields = row.split("\t")
        if len(fields) not in (2, 3):
            raise InputError("expected SYSTEM, JSON or None[, RATER]", path=path, line=line)
        place = seen[fields[0]] = seen.get(fields[0], -1) + 1
        value = None if fields[1] == "None" else files.parse_json(fields[1], path, line)
        # A name that would break the line stands in the object.
        told = value.get("rater") if isinstance(value, dict) else None
        rater = told if isinstance(told, str) else fields[2] if len(fields) == 3 else None
        if value is None and fields[1] != "None":
            raise InputError("expected an object with 'errors' or None", path=path, line=line)
        yield RatingLine(line, fields[0], place, value, rater)


def unfold(view: FileView) -> RawTable:
    """Give a row per rating; a file without raters has one, named like the file."""
    named = _NAMED.fullmatch(view.name.removesuffix(SUFFIX))
    lp, stem = named.groups() if named else (None, view.name.removesuffix(SUFFIX))
    rated = _rated(view)
    columns: dict[str, list[Any]] = {
        "system": [own.system for own in rated],
        "segment": [str(own.place) for own in rated],
        "rater": [own.rater or stem for own in rated],
    }
    if lp is not None:
        columns["lp"] = [lp] * len(rated)
    for key, column in _COLUMNS.items():
        if key == "errors" or any(key in own.value for own in rated):
            columns[column] = [own.value.get(key) for own in rated]
    unnamed = sum(not own.rater for own in rated)
    said = f"{unnamed:,} of {len(rated):,} ratings name no rater: these are by '{stem}'"
    return RawTable(
        view.path,
        columns,
        len(rated),
        lambda row: rated[row].line,
        blank_is_missing=False,
        notes=(view.note(said),) if unnamed else (),
    )


def _rated(view: FileView) -> list[RatingLine]:
    """Give the lines that hold a rating; every system must have as many lines."""
    found = list(rating_lines(view.lines, view.path))
    counts = {own.system: own.place + 1 for own in found}
    first = next(iter(counts), "")
    for system, count in counts.items():
        if count != counts[first]:
            view.fail(f"{count} lines of '{system}', expected {counts[first]} as of '{first}'")
    rated = [own for own in found if own.value is not None]
    if not rated:
        view.fail("holds no rating")
    for own in rated:
        if not isinstance(own.value, dict):
            view.fail("expected an object with 'errors' or None", own.line)
    return rated


def recognise(view: FileView) -> bool:
    """Tell by the name, or by the first line."""
    if view.name.endswith(SUFFIX):
        return True
    first = view.first_lines[:1]
    return bool(first) and _LINE.fullmatch(first[0]) is not None


FORMAT = ForeignFormat(
    name="mt-metrics-eval ratings",
    gives=Ratings,
    known_by='name ends in .seg.rating; lines of a system and {"errors": ...} or None',
    example='ONLINE-B\t{"errors": [{"start": 3, "end": 8, "category": "accuracy/mistranslation", '
    '"severity": "major"}]}\trater1\n',
    example_name="en-de.mqm.seg.rating",
    recognise=recognise,
    unfold=unfold,
    becomes=errorlists.FORMAT,
)
