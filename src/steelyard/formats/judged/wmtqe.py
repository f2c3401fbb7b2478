"""Task 2 of WMT QE 2023, gold and predictions: language pair, who, segment, output, spans.

There is no header but for three lines of numbers before predictions, and cells are not quoted. The
one translation of each segment has no name there.
"""

from __future__ import annotations

import re

from steelyard.data.judgements import Ratings
from steelyard.formats.format import ForeignFormat
from steelyard.formats.judged import errorlists, wordspans
from steelyard.formats.rawtable import RawTable
from steelyard.formats.view import FileView

_WIDTH = 7
_COUNT = re.compile(r"\s*[0-9][0-9.,eE+]*\s*")  # parameters, bytes and models before predictions
_SYSTEM = "mt"


def _start(lines: list[str]) -> int:
    """Give the number of lines before the first that has spans."""
    head = 0
    while head < min(3, len(lines)) and _COUNT.fullmatch(lines[head]):
        head += 1
    return head


def recognise(view: FileView) -> bool:
    """Tell by the first line of spans."""
    lines = view.first_lines
    cells = lines[_start(lines)].split("\t") if len(lines) > _start(lines) else []
    return len(cells) == _WIDTH and wordspans.is_spans(*cells[4:])


def unfold(view: FileView) -> RawTable:
    """Give a row per segment; whoever marked it is the rater, ``gold`` for people."""
    rows, starts = [], []
    lines = view.lines
    head = _start(lines)
    for line, row in enumerate(lines[head:], head + 1):
        cells = row.split("\t")
        if len(cells) != _WIDTH:
            expected = "language pair, method, segment, output, starts, ends, types"
            view.fail(f"{len(cells)} cells, expected {_WIDTH}: {expected}", line)
        rows.append((*cells[:3], wordspans.errors(view, line, *cells[4:])))
        starts.append(line)
    if not rows:
        view.fail("has no rows")
    lp, method, segment, errors = zip(*rows, strict=True)
    return RawTable(
        view.path,
        {
            "lp": lp,
            "rater": method,
            "segment": segment,
            "system": [_SYSTEM] * len(rows),
            "errors": errors,
        },
        len(rows),
        starts.__getitem__,
        notes=(view.note(f"the system is not named, and is called '{_SYSTEM}'"),),
    )


FORMAT = ForeignFormat(
    name="WMT QE spans",
    gives=Ratings,
    known_by="seven columns without a header: language pair, gold or method, segment, output, "
    "starts, ends, types",
    example="en-de\tgold\t0\tEin Satz.\t0 4\t3 8\tminor major\n",
    example_name="task2.en-de.gold.tsv",
    recognise=recognise,
    unfold=unfold,
    becomes=errorlists.FORMAT,
)
