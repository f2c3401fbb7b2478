"""Test runs of DeepEval (``DEEPEVAL_RESULTS_FOLDER``, or ``.deepeval/.latest_run_full.json``).

A run names no system, but its hyperparameters may. Some metrics are better when low (bias,
toxicity): which way is better shows where a score passed, or failed, on one side of its threshold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from steelyard.core.words import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.formats import scoretables
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs.jsonvalues import (
    a_list,
    a_name,
    an_object,
    folder_name,
    lines_within,
    optional_object,
    text,
    words,
)
from steelyard.formats.logs.logrows import Rows
from steelyard.formats.tables import RawTable, ScoreFacts
from steelyard.formats.view import FileView

_CASES = ("testCases", "conversationalTestCases")


class _Evidence:
    """What cases tell of metrics: which way is better, who judged, how often one failed."""

    def __init__(self) -> None:
        self.ways: dict[str, set[bool]] = {}
        self.judges: dict[str, str] = {}
        self.errors = 0

    def take(self, name: str, metric: Mapping[str, Any]) -> Any:
        """Look at what a metric said of a case; give its score."""
        judge = words(metric.get("evaluationModel"))
        if judge is not None:
            self.judges[name] = judge
        if metric.get("error") is not None:
            self.errors += 1
            return None
        score, threshold = metric.get("score"), _number(metric.get("threshold"))
        value, success = _number(score), metric.get("success")
        if value is not None and threshold is not None and value != threshold:
            self.ways.setdefault(name, set()).add((value > threshold) == (success is True))
        return score

    def remark(self, rows: Rows) -> None:
        """Note what the numbers do not show."""
        if self.errors:
            rows.note(f"{plural(self.errors, 'score')} missing, since the metric failed")
        if self.judges:
            shown = [f"'{name}' by {model}" for name, model in self.judges.items()]
            rows.note(f"scores that a model gave: {listed(shown, 6)}")
        lower = [f"'{name}'" for name, ways in self.ways.items() if ways == {False}]
        if lower:
            rows.note(f"lower is better, as what passes shows: {listed(lower, 6)}")

    def facts(self) -> dict[str, ScoreFacts]:
        """Give the directions that nothing speaks against."""
        proven = {name: ways for name, ways in self.ways.items() if len(ways) == 1}
        return {name: ScoreFacts(higher_is_better=True in ways) for name, ways in proven.items()}


def _number(value: object) -> float | None:
    """Give a value that can be compared, None for all others."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def recognise(view: FileView) -> bool:
    """Tell by the first key, before a large file of another tool is parsed, and then by others."""
    return '"testCases"' in view.head and view.has("testCases", "metricsScores")


def unfold(view: FileView) -> RawTable:
    """Give a row per case, with a column per metric."""
    document = an_object(view.document, "the log", view.fail)
    cases: list[tuple[str, int, Any]] = []  # with the list and the place in it
    for key in _CASES:
        own = document.get(key)
        found = a_list([] if own is None else own, f"'{key}'", view.fail)
        cases += [(key, place, case) for place, case in enumerate(found)]
    line_in = {key: lines_within(view, key) for key in _CASES}
    rows = Rows(view, lambda place: line_in[cases[place][0]](cases[place][1]))
    evidence = _Evidence()
    system = _system(view, document, rows)
    seen: Counter[str] = Counter()
    asked: dict[str, str | None] = {}
    for place, (_, number, value) in enumerate(cases):
        fail = rows.failing(place)
        case = an_object(value, f"case {number + 1}", fail)
        item = a_name(case.get("name", f"test_case_{number}"), f"'name' of case {number + 1}", fail)
        seen[item] += 1
        source = text(case.get("input")) or None
        if asked.setdefault(item, source) != source:  # else it is the same case once more
            fail(f"another case is named '{item}', with another input; expected a name each")
        scores: dict[str, Any] = {}
        metrics = case.get("metricsData")
        for one in a_list([] if metrics is None else metrics, f"'metricsData' of '{item}'", fail):
            metric = an_object(one, f"a metric of '{item}'", fail)
            name = a_name(metric.get("name"), f"'name' of a metric of '{item}'", fail)
            if name in scores:
                fail(f"case '{item}' has two metrics named '{name}'")
            scores[name] = evidence.take(name, metric)
        rows.add(
            place,
            scores,
            system=system,
            segment=item,
            epoch=str(seen[item]),
            source=source,
            output=text(case.get("actualOutput")),
            reference=text(case.get("expectedOutput")) or None,
        )
    evidence.remark(rows)
    given = {"system": "hyperparameters.model", "segment": "name", "source": "input",
             "output": "actualOutput", "reference": "expectedOutput"}  # fmt: skip
    return rows.table(given, evidence.facts())


def _system(view: FileView, document: Mapping[str, Any], rows: Rows) -> str:
    """Name what was tested, and say by what."""
    parameters = optional_object(document.get("hyperparameters"), "'hyperparameters'", view.fail)
    own, by = words(parameters.get("model")), ""
    if own is None:
        own, by = words(document.get("identifier")), "the identifier of the run"
    if own is None:
        own, by = folder_name(view), "the name of the folder"
    if by:
        rows.note(f"system '{own}' is {by}: 'hyperparameters.model' names none")
    return own


FORMAT = ForeignFormat(
    name="DeepEval test run",
    gives=EvalSet,
    known_by="JSON with testCases, metricsScores, testPassed and testFailed",
    example='{"testCases": [{"name": "item_0", "metricsData": [{"name": "Answer Relevancy", '
    '"score": 0.9, "threshold": 0.5, "success": true}]}], "metricsScores": []}',
    recognise=recognise,
    files=("*.json",),
    unfold=unfold,
    becomes=scoretables.LONG,
)
