"""MQM as Google publishes it: a row per marked error, of every year since 2020.

Tab-separated and never quoted. The span stands as ``<v>...</v>`` in the target, or in the source if
something was left out. Since 2023 raters are tested, too: a row with severity ``HOTW-test`` says
whether a planted error was found, which is no error of the system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.core.text import plural
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.foreign import Log, Row, foreign
from steelyard.formats.judged import errors
from steelyard.formats.judged.builder import counted_within
from steelyard.formats.tables import check_header
from steelyard.formats.view import FileView

_NEEDED = ("system", "rater", "target", "category", "severity")
_SEGMENT = ("globalSegId", "seg_id", "docSegId")  # the first that is there
_TEST = "hotw-test"
_PASSED = {"found": 1.0, "missed": 0.0}


def _header(view: FileView) -> list[str]:
    """Return the names of the columns; comments stand behind them, and in no other line."""
    names = (view.first_lines or [""])[0].split("\t")
    while names and names[-1].lstrip().startswith("#"):
        names.pop()
    return names


def _recognise(view: FileView) -> bool:
    names = set(_header(view))
    return names.issuperset(_NEEDED) and not names.isdisjoint(_SEGMENT)


@foreign(
    "Google MQM",
    errors.FORMAT,
    empty="holds no rating",
    known_by="tab-separated, columns system, rater, target, category, severity and globalSegId, "
    "seg_id or docSegId",
    example="system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\n"
    "A\tdoc1\t1\t1\trater1\tYes.\t<v>Nein</v>.\tAccuracy/Mistranslation\tMajor\n",
    example_name="mqm.tsv",
    looks=("text",),
    recognise=_recognise,
    files=("*.tsv", "*.tsv.gz"),
)
def google_mqm(log: Log) -> Iterator[Row]:
    """Yield a row per rating with all its errors, then one per test of a rater."""
    view = log.view
    names = check_header(view.path, _header(view))
    if not _recognise(view):
        view.fail(f"expected tabs between columns {', '.join(_NEEDED)} and {_SEGMENT[0]}", 1)
    numbered = log.names["segment"] = next(name for name in _SEGMENT if name in names)
    rows = list(view.tsv(names))
    pairs = {(cells[numbered], cells.get("doc", "")) for _, cells in rows}
    named = all(document for _, document in pairs)
    within = numbered == "docSegId" or (named and counted_within(pairs))
    ratings: dict[tuple[str, str, str], tuple[int, dict[str, Any]]] = {}
    tests: list[tuple[int, dict[str, Any]]] = []
    for line, cells in rows:
        system, segment, rater = who = (cells["system"], cells[numbered], cells["rater"])
        for column, name in zip(("system", numbered, "rater"), who, strict=True):
            if not name or name.isspace():
                view.fail(f"column '{column}' is empty, expected a name", line)
        document = cells.get("doc", "")
        segment = f"{document}:{segment}" if within else segment
        is_test = cells["severity"].casefold() == _TEST
        rating = None if is_test else ratings.get((system, segment, rater))
        if rating is None:
            identity: dict[str, Any] = {"rater": rater, "system": system, "segment": segment}
            identity |= {"doc": document} if "doc" in cells else {}
            rating = (line, identity)
        if is_test:
            tests.append(
                (line, rating[1] | {"type": "attention", "value": _passed(view, line, cells)})
            )
            continue
        ratings[system, segment, rater] = rating
        marked = rating[1].setdefault("errors", [])
        marked += _error(cells)
    kind = {"type": "system"} if tests else {}
    if not ratings:
        view.fail("holds no rating")
    for line, made in ratings.values():
        yield Row(line, made | kind, {}, {})
    for line, test in tests:
        yield Row(line, test, {}, {})
    if within or numbered != "seg_id":
        log.note(f"segments are named by {'doc:' if within else ''}{numbered}")
    if tests:
        passed = sum(test["value"] == 1 for _, test in tests)
        shown = f"{plural(len(tests), 'attention test')} of raters (HOTW-test), {passed:,} found"
        log.note(f"{shown}: no errors of systems, see the raters")


def _passed(view: FileView, line: int, cells: Mapping[str, str]) -> float:
    passed = _PASSED.get(cells["category"].casefold())
    if passed is None:
        view.fail(f"test of a rater '{cells['category']}', expected Found or Missed", line)
    return passed


def _error(cells: Mapping[str, str]) -> list[ErrorSpan]:
    category, severity = cells["category"].strip(), cells["severity"].strip()
    if not errors.is_error(category, severity):
        return []
    start, end = errors.marked_span(cells.get("target"))
    in_source = start is None
    if in_source:
        start, end = errors.marked_span(cells.get("source"))
    return [ErrorSpan(category, severity, start, end, in_source=in_source and start is not None)]
