"""MQM as Google publishes it: a row per marked error, of every year since 2020.

Tab-separated and never quoted. The span stands as ``<v>...</v>`` in the target, or in the source if
something was left out. Since 2023 raters are tested, too: a row with severity ``HOTW-test`` says
whether a planted error was found, which is no error of the system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.core.text import plural
from steelyard.formats.foreign import Log, Row, foreign
from steelyard.formats.judged import errors
from steelyard.formats.judged.builder import counted_within
from steelyard.formats.tables import check_header
from steelyard.formats.view import FileView

_NEEDED = ("system", "rater", "target", "category", "severity")
_SEGMENT = ("globalSegId", "seg_id", "docSegId")  # the first that is there
_TEST = "hotw-test"
_PASSED = {"found": 1.0, "missed": 0.0}
_NO_ERROR = "no-error"


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
    for line, cells in rows:
        for name in ("system", "rater", numbered):
            if not cells[name].strip():
                view.fail(f"column '{name}' is empty, expected a name", line)
    documents = {cells.get("doc", "") for _, cells in rows}
    pairs = {(cells[numbered], cells.get("doc", "")) for _, cells in rows}
    within = numbered == "docSegId" or (all(documents) and counted_within(pairs))
    ratings: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
    tests: list[tuple[int, dict[str, Any]]] = []
    for line, cells in rows:
        rating = _identity(cells, numbered, within=within)
        if cells["severity"].casefold() == _TEST:
            tests.append(
                (line, rating | {"type": "attention", "value": _passed(view, line, cells)})
            )
            continue
        key = (rating["system"], rating["segment"], rating["rater"])
        error = _error(cells)
        first = ratings.setdefault(key, (line, rating | {"errors": []}))
        first[1]["errors"] += [] if error is None else [error]
    if not ratings:
        view.fail("holds no rating")
    kind = {"type": "system"} if tests else {}
    for line, rating in ratings.values():
        yield Row(line, rating | kind, {}, {})
    for line, test in tests:
        yield Row(line, test, {}, {})
    if within or numbered != "seg_id":
        log.note(f"segments are named by {'doc:' if within else ''}{numbered}")
    if tests:
        passed = sum(test["value"] == 1 for _, test in tests)
        log.note(
            f"{plural(len(tests), 'attention test')} of raters (HOTW-test), {passed:,} found: "
            "no errors of systems, see the raters"
        )


def _identity(cells: Mapping[str, str], numbered: str, *, within: bool) -> dict[str, Any]:
    """Return whose judgement of what a row is."""
    segment, document = cells[numbered], cells.get("doc", "")
    return {
        "rater": cells["rater"],
        "system": cells["system"],
        "segment": f"{document}:{segment}" if within else segment,
        **({"doc": document} if "doc" in cells else {}),
    }


def _passed(view: FileView, line: int, cells: Mapping[str, str]) -> float:
    passed = _PASSED.get(cells["category"].casefold())
    if passed is None:
        view.fail(f"test of a rater '{cells['category']}', expected Found or Missed", line)
    return passed


def _error(cells: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the error of a row; None if it says that there is none."""
    category, severity = cells["category"].strip(), cells["severity"].strip()
    if _NO_ERROR in (severity.casefold(), category.casefold()) or not (category or severity):
        return None
    start, end = errors.marked_span(cells.get("target"))
    in_source = start is None
    if in_source:
        start, end = errors.marked_span(cells.get("source"))
    return {
        "start": start,
        "end": end,
        "category": category or None,
        "severity": severity or None,
        "is_source_error": in_source and start is not None,
    }
