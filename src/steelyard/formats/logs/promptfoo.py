"""Results of promptfoo: JSON, JSON lines or CSV (``promptfoo eval -o``).

A system is a provider, or a provider with a prompt where there are several. A test is known by its
variables, description and assertions: ``--repeat`` writes it again under another number, which is
an epoch here.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from steelyard.core.words import listed
from steelyard.data.evalset import EvalSet
from steelyard.formats import files, scoretables, tables
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs.jsonvalues import (
    Fail,
    a_list,
    an_object,
    brief,
    json_lines,
    lines_within,
    optional_object,
    text,
    words,
    written,
)
from steelyard.formats.logs.logrows import Rows
from steelyard.formats.tables import RawTable, ScoreFacts
from steelyard.formats.view import FileView

_OF_ROW = ("promptIdx", "testIdx", "testCase", "provider", "success", "score")
_EARLY = ('"evalId"', '"gradingResult"', '"provider"')  # one of them stands near the beginning
_PROVIDER_ERROR = 2  # of failureReason; 1 is an assertion that failed
_CSV_BLOCK = ["Status", "Score", "Named Scores"]
_UNASSERTED = "No assertions"
_LONGEST = 40  # characters of a prompt that name a system


@dataclass(frozen=True)
class _Result:
    """What one provider answered to one test with one prompt."""

    place: int
    column: object  # the pair of a provider and a prompt
    provider: str
    prompt: str
    number: int | None  # of the test, the same for all systems; old files have none
    test: str  # what the test is, the same for its repeats
    source: str | None
    output: str | None
    scores: Mapping[str, Any]
    fate: str = ""  # "error" or "unasserted" if nothing was measured
    judges: frozenset[str] = frozenset()


def recognise(view: FileView) -> bool:
    """Tell a document of results, a line of it, or its table."""
    if _is_table(view):
        return f",{','.join(_CSV_BLOCK)}," in view.head
    if not any(key in view.head for key in _EARLY):
        return False  # other logs are too large to be parsed for this
    if view.has(*_OF_ROW):
        return True
    results = (view.record or {}).get("results")
    return isinstance(results, dict) and view.has("config") and "results" in results


def _is_table(view: FileView) -> bool:
    return not files.is_json(view.head, view.kind)


def unfold(view: FileView) -> RawTable:
    """Give a row per system, test and repeat."""
    if _is_table(view):
        rows = Rows(view)
        results = list(_of_csv(view, rows))
        rows.note("promptfoo rounded the scores of this table to two digits; its JSON has them all")
    elif view.has(*_OF_ROW):
        rows = Rows(view)
        results = [_result(line, value, rows.failing(line)) for line, value in json_lines(view)]
    else:
        rows = Rows(view, lines_within(view, "results", "results"))
        document = an_object(view.document, "the log", view.fail)
        own = an_object(document.get("results"), "'results'", view.fail)
        found = a_list(own.get("results"), "'results.results'", view.fail)
        results = [
            _result(place, an_object(value, f"result {place + 1}", fail), fail)
            for place, value in enumerate(found)
            for fail in [rows.failing(place)]
        ]
    return _table(rows, results)


def _table(rows: Rows, results: list[_Result]) -> RawTable:
    results.sort(key=lambda one: one.number or 0)  # threads finish in any order
    systems = _systems(rows, results)
    numbered: dict[int, _Result] = {}
    items: dict[str, tuple[str, str | None]] = {}  # with what was asked
    seen: Counter[tuple[object, str]] = Counter()
    for one in results:
        test = one if one.number is None else numbered.setdefault(one.number, one)
        item, source = items.setdefault(test.test, (str(len(items)), test.source))
        seen[one.column, item] += 1
        rows.add(
            one.place,
            {} if one.fate else one.scores,
            system=systems[one.column],
            segment=item,
            epoch=str(seen[one.column, item]),
            source=source,
            output=one.output,
        )
    fates = Counter(one.fate for one in results)
    rows.count(fates["error"], "results are errors of the provider: their scores are missing")
    rows.count(fates["unasserted"], "results assert nothing: their scores are missing")
    judges = sorted({judge for one in results for judge in one.judges})
    if judges:
        rows.note(f"scores that a model gave: {listed(judges, 6)}")
    given = {"system": "provider", "segment": "place of the test", "epoch": "repeat",
             "source": "vars", "output": "response.output"}  # fmt: skip
    return rows.table(given, dict.fromkeys(("score", "success"), ScoreFacts(higher_is_better=True)))


def _systems(rows: Rows, results: Sequence[_Result]) -> dict[object, str]:
    """Name every pair of a provider and a prompt, so that no two have one name."""
    first = {one.column: one for one in reversed(results)}
    several = len({one.prompt for one in first.values()}) > 1
    names: dict[object, str] = {}
    for column, one in sorted(first.items(), key=lambda pair: str(pair[0])):
        name = f"{one.provider} [{_short(one.prompt)}]" if several else one.provider
        used = set(names.values())
        if name in used:
            name = next(n for k in range(2, len(first) + 2) if (n := f"{name} #{k}") not in used)
            rows.note(f"two columns of results have one name: the second is called '{name}'")
        names[column] = name
    if several:
        rows.note("systems are providers with a prompt, as PROVIDER [PROMPT]")
    return names


def _short(prompt: str) -> str:
    plain = " ".join(prompt.split())
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 3] + "..."


def _result(place: int, record: Mapping[str, Any], fail: Callable[[str], NoReturn]) -> _Result:
    provider = record.get("provider")
    if isinstance(provider, dict):
        provider = words(provider.get("label")) or provider.get("id")
    if words(provider) is None:
        fail(f"'provider' is {brief(record.get('provider'))}, expected one with a label or an id")
    prompt = optional_object(record.get("prompt"), "'prompt'", fail)
    label = words(prompt.get("label")) or words(record.get("promptId")) or ""
    case = optional_object(record.get("testCase"), "'testCase'", fail)
    own = case.get("vars") if isinstance(case.get("vars"), dict) else record.get("vars")
    variables = optional_object(own, "'vars'", fail)
    test = written([variables, case.get("description"), case.get("assert")], "'testCase'", fail)
    response = record.get("response")
    column = record.get("promptIdx")
    return _Result(
        place,
        column if isinstance(column, int) else (provider, label),
        str(provider),
        label,
        _index(record.get("testIdx"), fail),
        test,
        _source(variables, fail),
        text(response.get("output")) if isinstance(response, dict) else None,
        _scores(record, fail),
        _fate(record, case),
        _judges(case.get("assert")),
    )


def _index(value: object, fail: Fail) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        fail(f"'testIdx' is {brief(value)}, expected a whole number")
    return value if isinstance(value, int) else None


def _source(variables: Mapping[str, Any], fail: Fail) -> str | None:
    """Give what was asked: it must be the same in all runs that are compared."""
    if len(variables) == 1:
        (only,) = variables.values()
        if isinstance(only, str):
            return only or None
    return written(dict(variables), "'vars'", fail) if variables else None


def _scores(record: Mapping[str, Any], fail: Fail) -> dict[str, Any]:
    named = optional_object(record.get("namedScores"), "'namedScores'", fail)
    found = {"score": record.get("score"), "success": record.get("success")}
    return found | {_named(name): value for name, value in named.items()}


def _named(name: str) -> str:
    """Keep a named score apart from those that every result has."""
    return f"{name} (named)" if name in ("score", "success") else name


def _fate(record: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    grading = record.get("gradingResult")
    reason = record.get("failureReason")
    if reason == _PROVIDER_ERROR or (reason is None and record.get("error") and not grading):
        return "error"
    parts = grading.get("componentResults") if isinstance(grading, dict) else None
    return "" if parts or case.get("assert") else "unasserted"


def _judges(assertions: object) -> frozenset[str]:
    """Give the models that assertions ask, each with what it judges."""
    found = set()
    for one in assertions if isinstance(assertions, list) else []:
        judge = one.get("provider") if isinstance(one, dict) else None
        judge = judge.get("id") if isinstance(judge, dict) else judge
        if words(judge) is not None:
            found.add(f"'{words(one.get('metric')) or one.get('type')}' by {judge}")
    return frozenset(found)


def _of_csv(view: FileView, rows: Rows) -> Iterator[_Result]:
    """Read the table: variables of the test, then a block of columns for every system."""
    source = io.StringIO(view.text, newline="")
    try:
        records = list(tables.csv_records(source, ",", quoted=True))
    except tables.BrokenQuotesError as error:
        view.fail(error.args[0], error.args[1])
    header = records[0][1]
    starts = [i for i in range(1, len(header)) if header[i + 1 : i + 4] == _CSV_BLOCK]
    starts = [0, *starts] if header[1:4] == _CSV_BLOCK else starts
    if not starts:
        view.fail("expected the columns Status, Score and Named Scores after that of a prompt", 1)
    ends = [*starts[1:], len(header)]
    for number, (line, cells) in enumerate(records[1:]):
        if len(cells) != len(header):
            rows.fail(f"{len(cells)} cells, expected {len(header)} as in the header", line)
        variables = dict(zip(header[: starts[0]], cells[: starts[0]], strict=True))
        description = variables.pop("Description", "")
        fail = rows.failing(line)
        test = written([variables, description], "the test", fail)
        for start, end in zip(starts, ends, strict=True):
            found = re.fullmatch(r"\[(.*?)\] ?(.*)", header[start], re.DOTALL)
            provider, prompt = (found[1], found[2]) if found else (header[start], "")
            block = dict(zip(header[start + 1 : end], cells[start + 1 : end], strict=True))
            unasserted = block.get("Grader Reason") == _UNASSERTED
            fates = {"ERROR": "error", "PASS": "unasserted" if unasserted else "", "FAIL": ""}
            if block["Status"] not in fates:
                fail(f"Status is {brief(block['Status'])}, expected PASS, FAIL or ERROR")
            scores = {"score": block["Score"] or None, "success": block["Status"] == "PASS"} | {
                _named(name.removeprefix("Metric: ")): value or None
                for name, value in block.items()
                if name.startswith("Metric: ")
            }
            yield _Result(line, start, provider.strip() or header[start], prompt, number, test,
                          _source(variables, fail), cells[start] or None, scores,
                          fates[block["Status"]])  # fmt: skip


FORMAT = ForeignFormat(
    name="promptfoo results",
    gives=EvalSet,
    known_by="JSON with config and results.results; JSONL with promptIdx, testIdx, testCase; CSV",
    example='{"promptIdx": 0, "testIdx": 0, "provider": {"id": "p"}, "testCase": {"vars": {}}, '
    '"success": true, "score": 1, "namedScores": {}, "failureReason": 0}',
    recognise=recognise,
    files=("*.json", "*.jsonl", "*.csv"),
    unfold=unfold,
    becomes=scoretables.LONG,
)
