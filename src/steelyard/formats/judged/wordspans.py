"""Spans as words in cells: starts, ends and severities, as the tasks of WMT write them."""

from __future__ import annotations

import re
from typing import Any

from steelyard.formats.judged.offsets import MISSING
from steelyard.formats.view import FileView

NO_ERROR = "no-error"
_PLACE = re.compile(r"[0-9]{1,18}|-1|missing")
COLUMNS = ("start_indices", "end_indices", "error_types")


def errors(view: FileView, line: int, starts: str, ends: str, kinds: str) -> list[dict[str, Any]]:
    """Read the errors of one output; ends are not included, ``missing`` has no place.

    Examples
    --------
    >>> from pathlib import Path
    >>> errors(FileView(Path("x")), 1, "0 missing", "3 missing", "minor major")[1]
    {'start': None, 'end': None, 'category': None, 'severity': 'major'}
    >>> errors(FileView(Path("x")), 1, "-1", "-1", "no-error")
    []
    """
    columns = [cell.split() for cell in (starts, ends, kinds)]
    if len({len(cells) for cells in columns}) > 1:
        counts = ", ".join(f"{len(c)} {n}" for n, c in zip(COLUMNS, columns, strict=True))
        view.fail(f"{counts}: expected as many of each", line)
    found = []
    for start, end, kind in zip(*columns, strict=True):
        for word in (start, end):
            if not _PLACE.fullmatch(word):
                view.fail(
                    f"{word[:40]!r} is no place: expected a whole number or '{MISSING}'", line
                )
        if kind == NO_ERROR:
            continue
        placed = not {start, end} & {MISSING, "-1"}
        place = {"start": int(start), "end": int(end)} if placed else {"start": None, "end": None}
        found.append({**place, "category": None, "severity": kind})
    return found


def is_spans(starts: str, ends: str, kinds: str) -> bool:
    """Tell whether three cells are lists of places and of words, as many of each."""
    lists = [cell.split() for cell in (starts, ends, kinds)]
    placed = all(_PLACE.fullmatch(word) for word in (*lists[0], *lists[1]))
    return placed and bool(lists[0]) and len({len(words) for words in lists}) == 1
