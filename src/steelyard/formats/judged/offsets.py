"""Where a span is: other tools include its end, count UTF-16 units, or say that it is missing."""

from __future__ import annotations

from itertools import accumulate

from steelyard.data.judgements import ErrorSpan
from steelyard.formats.record import Record

MISSING = "missing"  # in the place of both ends of an omission


def included(error: Record, text: str | None = None) -> ErrorSpan:
    """Read an error with ``start_i`` and ``end_i``, which is the last character of the span.

    With a ``text``, both count its UTF-16 units.
    """
    start, end = _place(error, "start_i"), _place(error, "end_i")
    if start is None or end is None:
        start = end = None
    elif text is not None:
        start, end = in_characters(text, start, end + 1)
    else:
        end += 1
    return ErrorSpan(
        category(error, "error_type" if "error_type" in error.values else "category"),
        error.text("severity") or "",
        start,
        end,
        error.number("score", words=True),
        error.get("is_source_error") is True,
    )


def _place(error: Record, key: str) -> int | None:
    value = error.get(key)
    if value is None or value == MISSING:
        return None
    # An empty span at the very beginning ends before it.
    least = -1 if key == "end_i" else 0
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        error.wrong(key, f"a whole number or '{MISSING}'")
    return value


def category(error: Record, key: str) -> str:
    """Give the kind of an error: a text, or parts of one from the general to the special."""
    value = error.get(key)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "/".join(value)
    if not isinstance(value, str | None):
        error.wrong(key, "text, a list of texts or null")
    return value or ""


def in_characters(text: str, *units: int) -> tuple[int, ...]:
    """Turn places that count UTF-16 units into places that count characters.

    Examples
    --------
    >>> in_characters("a😀b", 0, 1, 3, 4, 9)
    (0, 1, 2, 3, 8)
    """
    if all(character <= "\uffff" for character in text):
        return units
    ends = list(accumulate(2 if character > "\uffff" else 1 for character in text))
    place = {end: number for number, end in enumerate(ends, 1)} | {0: 0}
    # Half a character can't be marked: a place inside one is that of its beginning.
    return tuple(
        unit - ends[-1] + len(text) if unit > ends[-1] else place.get(unit, place.get(unit - 1, 0))
        for unit in units
    )


def to_included(error: ErrorSpan) -> dict[str, object]:
    """Give an error with the last character of its span, the inverse of :func:`included`."""
    placed = error.start is not None and error.end is not None
    value: dict[str, object] = {
        "start_i": error.start if placed else MISSING,
        "end_i": (error.end or 0) - 1 if placed else MISSING,
        "severity": error.severity or None,
        "error_type": error.category or None,
    }
    if error.score is not None:
        value["score"] = error.score
    if error.in_source:
        value["is_source_error"] = True
    return value
