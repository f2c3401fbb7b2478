"""Ratings as JSON objects: a value and a list of marked errors, as rating files hold them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from steelyard.core.errors import InputError
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats.tables import parse_number


class Rating(NamedTuple):
    """One row of :class:`Ratings`, with names instead of codes."""

    system: str
    segment: str
    rater: str
    value: float
    errors: tuple[ErrorSpan, ...] | None
    item: str = "system"
    unit: str | None = None
    seconds: float = float("nan")


def ratings(rows: Sequence[Rating]) -> Ratings:
    """Put rows together; columns that nobody filled stay None."""
    errors = tuple(row.errors for row in rows)
    items = tuple(row.item for row in rows)
    units = tuple(row.unit or "" for row in rows)
    seconds = np.array([row.seconds for row in rows], dtype=np.float64)
    return Ratings.from_labels(
        [row.system for row in rows],
        [row.segment for row in rows],
        [row.rater for row in rows],
        np.array([row.value for row in rows], dtype=np.float64),
        errors=None if all(e is None for e in errors) else errors,
        item=None if all(i == "system" for i in items) else items,
        unit=units if any(units) else None,
        seconds=None if np.isnan(seconds).all() else seconds,
    )


def parse(value: Any, system: str, segment: str, rater: str, path: Path, line: int) -> Rating:
    """Read the JSON object of one rating: ``errors``, ``value`` or both."""

    def fail(message: str) -> NoReturn:
        raise InputError(message, path=path, line=line)

    if not isinstance(value, dict) or not ({"errors", "value"} & value.keys()):
        fail("expected an object with 'errors'")
    listed = value.get("errors")
    if not (listed is None or isinstance(listed, list)):
        fail("'errors' should be a list")
    number = parse_number(value.get("value"))
    if number is None or np.isinf(number):
        fail(f"'value' should be a finite number, found {value.get('value')!r}")
    found = None if listed is None else tuple(parse_error(e, path, line) for e in listed)
    item, unit = value.get("item", "system"), value.get("unit")
    seconds = parse_number(value.get("seconds"))
    if seconds is None or np.isinf(seconds):
        fail(f"'seconds' should be a finite number, found {value.get('seconds')!r}")
    return Rating(system, segment, rater, number, found, str(item), unit and str(unit), seconds)


def parse_error(value: Any, path: Path, line: int) -> ErrorSpan:
    """Read the JSON object of one error."""

    def fail(key: str, expected: str) -> NoReturn:
        found = value.get(key) if isinstance(value, dict) else value
        raise InputError(f"error's '{key}': {found!r}, expected {expected}", path=path, line=line)

    if not isinstance(value, dict):
        fail("object", "an object")
    for key in ("category", "severity"):
        if not isinstance(value.get(key), str):
            fail(key, "text")
    for key in ("start", "end"):
        place = value.get(key)
        if place is not None and (isinstance(place, bool) or not isinstance(place, int)):
            fail(key, "a whole number")
    score = parse_number(value.get("score"))
    if score is None or np.isinf(score):
        fail("score", "a finite number")
    return ErrorSpan(
        value["category"],
        value["severity"],
        value.get("start"),
        value.get("end"),
        None if np.isnan(score) else score,
        bool(value.get("is_source_error", False)),
    )


def to_dict(ratings: Ratings, row: int) -> dict[str, Any]:
    """Give the JSON object of one row, the inverse of :func:`parse`."""
    value: dict[str, Any] = {}
    if ratings.errors is not None and ratings.errors[row] is not None:
        value["errors"] = [error.to_dict() for error in ratings.errors[row] or ()]
    if not np.isnan(ratings.value[row]) or not value:
        value["value"] = float(ratings.value[row])
    if ratings.item is not None and ratings.item[row] != "system":
        value["item"] = ratings.item[row]
    if ratings.unit is not None and ratings.unit[row]:
        value["unit"] = ratings.unit[row]
    if ratings.seconds is not None and not np.isnan(ratings.seconds[row]):
        value["seconds"] = float(ratings.seconds[row])
    return value
