"""Results of promptfoo: JSON, JSON lines or CSV (``promptfoo eval -o``).

A system is a provider, or a provider with a prompt where there are several. A test is known by its
variables, description and assertions, in all files: ``--repeat`` writes it again under another
number, which is an epoch here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.core.table import dumps
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.formats import files, scoretables
from steelyard.formats.cells import brief
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs.logrows import Rows
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.record import Record, Start, records, within
from steelyard.formats.view import FileView

_OF_ROW = ("promptIdx", "testIdx", "testCase", "provider", "success", "score")
_EARLY = ('"evalId"', '"gradingResult"', '"provider"')  # one of them stands near the beginning
_PROVIDER_ERROR = 2  # of failureReason; 1 is an assertion that failed
_CSV_BLOCK = ["Status", "Score", "Named Scores"]
_UNASSERTED = "No assertions"
_TEST = "test"  # what a test is, until all files are together
_LONGEST = 40  # characters of a prompt that name a system


@dataclass(frozen=True)
class _Result:
    """What one provider answered to one test with one prompt."""

    start: Start
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
    rows = Rows(view)
    if _is_table(view):
        results = list(_of_csv(view))
        rows.note("promptfoo rounded the scores of this table to two digits; its JSON has them all")
    elif view.has(*_OF_ROW):
        results = [_result(record) for record in records(view)]
    else:
        results = [_result(record) for record in within(view, "results", "results")]
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
            one.start,
            {} if one.fate else one.scores,
            system=systems[one.column],
            segment=item,
            epoch=str(seen[one.column, item]),
            source=source,
            output=one.output,
            **{_TEST: test.test},
        )
    fates = Counter(one.fate for one in results)
    rows.count(fates["error"], "results are errors of the provider: their scores are missing")
    rows.count(fates["unasserted"], "results assert nothing: their scores are missing")
    judges = sorted({judge for one in results for judge in one.judges})
    if judges:
        rows.note(f"scores that a model gave: {listed(judges, 6)}")
    given = {"system": "provider", "segment": "place of the test", "epoch": "repeat",
             "source": "vars", "output": "response.output"}  # fmt: skip
    return rows.table(given, dict.fromkeys(("score", "success"), Stated(higher_is_better=True)))


def _settle(table: RawTable) -> RawTable:
    """Number the tests of several files together: each may hold other ones, in any order."""
    if table.path_of is None or _TEST not in table:
        return table.without([_TEST])
    numbers: dict[Any, str] = {}
    having: dict[Any, set[Path]] = {}
    for row, test in enumerate(table.columns[_TEST]):
        numbers.setdefault(test, str(len(numbers)))
        having.setdefault(test, set()).add(table.path_of(row))
    items = [numbers[test] for test in table.columns[_TEST]]
    n_files = len(set.union(*having.values()))
    lone = sum(len(own) < n_files for own in having.values())
    said = f"{lone:,} of {plural(len(numbers), 'test')} not in all files of promptfoo: one is known"
    notes = [f"{said} by its variables, description and assertions"] if lone else []
    return replace(
        table.without([_TEST]),
        columns={**table.without([_TEST]).columns, "segment": items},
        notes=(*table.notes, *notes),
    )


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


def _result(record: Record) -> _Result:
    named = record.if_object("provider")
    provider = record.words("provider") or named.words("label") or named.words("id")
    if provider is None:
        record.wrong("provider", "one with a label or an id")
    label = record.inner("prompt").words("label") or record.words("promptId") or ""
    case = record.inner("testCase")
    owner = case if isinstance(case.get("vars"), dict) else record
    variables = owner.inner("vars").values
    test = _written([variables, case.get("description"), case.get("assert")], record)
    column = record.get("promptIdx")
    return _Result(
        record.start,
        column if isinstance(column, int) else (provider, label),
        provider,
        label,
        record.whole("testIdx"),
        test,
        _source(variables, record),
        record.if_object("response").text_if_any("output"),
        _scores(record),
        _fate(record, case),
        _judges(case.get("assert")),
    )


def _written(value: Any, record: Record) -> str:
    try:
        return dumps(value, indent=None)
    except RecursionError:
        record.fail("the test is nested too deeply")


def _source(variables: Mapping[str, Any], record: Record) -> str | None:
    """Give what was asked: it must be the same in all runs that are compared."""
    if len(variables) == 1:
        (only,) = variables.values()
        if isinstance(only, str):
            return only or None
    return _written(dict(variables), record) if variables else None


def _scores(record: Record) -> dict[str, Any]:
    named = record.inner("namedScores").values
    found = {"score": record.get("score"), "success": record.get("success")}
    return found | {_named(name): value for name, value in named.items()}


def _named(name: str) -> str:
    """Keep a named score apart from those that every result has."""
    return f"{name} (named)" if name in ("score", "success") else name


def _fate(record: Record, case: Record) -> str:
    reason = record.get("failureReason")
    failed = record.get("error") and not record.get("gradingResult")
    if reason == _PROVIDER_ERROR or (reason is None and failed):
        return "error"
    parts = record.if_object("gradingResult").get("componentResults")
    return "" if parts or case.get("assert") else "unasserted"


def _judges(assertions: object) -> frozenset[str]:
    """Give the models that assertions ask, each with what it judges."""
    found = set()
    for one in assertions if isinstance(assertions, list) else []:
        judge = one.get("provider") if isinstance(one, dict) else None
        judge = judge.get("id") if isinstance(judge, dict) else judge
        if isinstance(judge, str) and judge.strip():
            metric = one.get("metric")
            named = isinstance(metric, str) and metric.strip()
            found.add(f"'{metric if named else one.get('type')}' by {judge}")
    return frozenset(found)


def _of_csv(view: FileView) -> Iterator[_Result]:
    """Read the table: variables of the test, then a block of columns for every system."""
    (_, header), *lines = view.csv()
    starts = [i for i in range(1, len(header)) if header[i + 1 : i + 4] == _CSV_BLOCK]
    starts = [0, *starts] if header[1:4] == _CSV_BLOCK else starts
    if not starts:
        view.fail("expected the columns Status, Score and Named Scores after that of a prompt", 1)
    ends = [*starts[1:], len(header)]
    for number, (line, cells) in enumerate(lines):
        if len(cells) != len(header):
            view.fail(f"{len(cells)} cells, expected {len(header)} as in the header", line)
        variables = dict(zip(header[: starts[0]], cells[: starts[0]], strict=True))
        description = variables.pop("Description", "")
        source = _source(variables, Record(view, line, {}))
        test = dumps([variables, description], indent=None)
        for start, end in zip(starts, ends, strict=True):
            found = re.fullmatch(r"\[(.*?)\] ?(.*)", header[start], re.DOTALL)
            provider, prompt = (found[1], found[2]) if found else (header[start], "")
            block = dict(zip(header[start + 1 : end], cells[start + 1 : end], strict=True))
            unasserted = block.get("Grader Reason") == _UNASSERTED
            fates = {"ERROR": "error", "PASS": "unasserted" if unasserted else "", "FAIL": ""}
            if block["Status"] not in fates:
                status = brief(block["Status"])
                view.fail(f"Status is {status}, expected PASS, FAIL or ERROR", line)
            scores = {"score": block["Score"] or None, "success": block["Status"] == "PASS"} | {
                _named(name.removeprefix("Metric: ")): value or None
                for name, value in block.items()
                if name.startswith("Metric: ")
            }
            yield _Result(line, start, provider.strip() or header[start], prompt, number, test,
                          source, cells[start] or None, scores,
                          fates[block["Status"]])  # fmt: skip


FORMAT = ForeignFormat(
    name="promptfoo results",
    gives=EvalSet,
    known_by="JSON with config and results.results; JSONL with promptIdx, testIdx, testCase; CSV",
    example='{"promptIdx": 0, "testIdx": 0, "provider": {"id": "p"}, "testCase": {"vars": '
    '{"q": "1+1?"}, "assert": [{"type": "equals", "value": "2"}]}, "success": true, "score": 1, '
    '"namedScores": {}, "failureReason": 0}\n',
    example_name="results.jsonl",
    recognise=recognise,
    files=("*.json", "*.jsonl", "*.csv"),
    unfold=unfold,
    settle=_settle,
    becomes=scoretables.LONG,
)
