"""MQM as Google publishes it: a row per marked error, of every year since 2020.

Tab-separated and never quoted. The span stands as ``<v>...</v>`` in the target, or in the source if
something was left out. Since 2023 raters are tested, too: a row with severity ``HOTW-test`` says
whether a planted error was found, which is no error of the system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.core.text import plural
from steelyard.data.judgements import Ratings
from steelyard.formats.format import ForeignFormat
from steelyard.formats.judged import errorlists
from steelyard.formats.rawtable import RawTable
from steelyard.formats.tables import check_header
from steelyard.formats.view import FileView

_NEEDED = ("system", "rater", "target", "category", "severity")
_SEGMENT = ("globalSegId", "seg_id", "docSegId")  # the first that is there
_TEST = "hotw-test"
_FOUND = {"found": 1.0, "missed": 0.0}
_NO_ERROR = "no-error"


def _header(view: FileView) -> list[str]:
    """Give the names of the columns; comments stand behind them, and in no other line."""
    names = (view.first_lines or [""])[0].split("\t")
    while names and names[-1].lstrip().startswith("#"):
        names.pop()
    return names


def recognise(view: FileView) -> bool:
    """Tell whether a file has the columns."""
    names = set(_header(view))
    return names.issuperset(_NEEDED) and not names.isdisjoint(_SEGMENT)


def unfold(view: FileView) -> RawTable:
    """Gather the errors of each rating, and make rows of the tests of raters."""
    names = check_header(view.path, _header(view))
    if not recognise(view):
        view.fail(f"expected tabs between columns {', '.join(_NEEDED)} and {_SEGMENT[0]}", 1)
    numbered = next(name for name in _SEGMENT if name in names)
    ratings: dict[tuple[str, ...], dict[str, Any]] = {}
    tests: list[dict[str, Any]] = []
    for line, row in view.tsv(names):
        own = _identity(view, line, row, numbered)
        if row["severity"].casefold() == _TEST:
            tests.append({**own, "type": "attention", "value": _passed(view, line, row)})
            continue
        key = (own["system"], own["segment"], own["rater"])
        blank = {**own, "type": "system", "value": None, "errors": []}
        error = _error(row)
        ratings.setdefault(key, blank)["errors"] += [] if error is None else [error]
    if not ratings:
        view.fail("holds no rating")
    rows = [*ratings.values(), *tests]
    columns = {key: [row.get(key) for row in rows] for key in rows[0]}
    lines: list[Any] = columns.pop("line")
    if not tests:
        del columns["type"], columns["value"]
    notes = tuple(_notes(view, numbered, tests))
    given = {"segment": numbered}
    return RawTable(view.path, columns, len(rows), lines.__getitem__, given=given, notes=notes)


def _identity(view: FileView, line: int, row: Mapping[str, str], numbered: str) -> dict[str, Any]:
    """Tell whose judgement of what a row is."""
    segment, document = row[numbered], row.get("doc", "")
    for name in ("system", "rater", numbered):
        if not row[name].strip():
            view.fail(f"column '{name}' is empty, expected a name", line)
    if numbered == _SEGMENT[-1]:
        segment = f"{document}:{segment}"
    own = {"rater": row["rater"], "system": row["system"], "segment": segment, "line": line}
    return own | ({"doc": document} if "doc" in row else {})


def _passed(view: FileView, line: int, row: Mapping[str, str]) -> float:
    found = _FOUND.get(row["category"].casefold())
    if found is None:
        view.fail(f"test of a rater '{row['category']}', expected Found or Missed", line)
    return found


def _error(row: Mapping[str, str]) -> dict[str, Any] | None:
    """Give the error of a row; None if it says that there is none."""
    category, severity = row["category"].strip(), row["severity"].strip()
    if _NO_ERROR in (severity.casefold(), category.casefold()) or not (category or severity):
        return None
    start, end = errorlists.marked_span(row.get("target"))
    in_source = start is None
    if in_source:
        start, end = errorlists.marked_span(row.get("source"))
    return {
        "start": start,
        "end": end,
        "category": category or None,
        "severity": severity or None,
        "is_source_error": in_source and start is not None,
    }


def _notes(view: FileView, numbered: str, tests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if numbered != "seg_id":
        named = numbered if numbered != _SEGMENT[-1] else f"doc:{numbered}"
        yield view.note(f"segments are named by {named}")
    if tests:
        passed = sum(test["value"] == 1 for test in tests)
        yield view.note(
            f"{plural(len(tests), 'attention test')} of raters (HOTW-test), {passed:,} found: "
            "no errors of systems, see the raters"
        )


FORMAT = ForeignFormat(
    name="Google MQM",
    gives=Ratings,
    known_by="tab-separated, columns system, rater, target, category, severity and globalSegId, "
    "seg_id or docSegId",
    example="system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\n"
    "A\tdoc1\t1\t1\trater1\tYes.\t<v>Nein</v>.\tAccuracy/Mistranslation\tMajor\n",
    example_name="mqm.tsv",
    recognise=recognise,
    files=("*.tsv", "*.tsv.gz"),
    unfold=unfold,
    becomes=errorlists.FORMAT,
)
