"""Test runs of DeepEval (``DEEPEVAL_RESULTS_FOLDER``, or ``.deepeval/.latest_run_full.json``).

A run names no system, but its hyperparameters may. Some metrics are better when low (bias,
toxicity): which way is better shows where a score passed, or failed, on one side of its threshold,
as long as no case in any file says otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.formats import columns as roles
from steelyard.formats import scoretables
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs.logrows import Rows
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.record import Record, document, within
from steelyard.formats.view import FileView

_CASES = ("testCases", "conversationalTestCases")


_WAYS = "ways"  # by metric, whether a case shows that higher is better


class _Evidence:
    """What cases tell of metrics: which way is better, who judged, how often one failed."""

    def __init__(self) -> None:
        self.ways: dict[str, bool] = {}  # of the case that is looked at
        self.judges: dict[str, str] = {}
        self.errors = 0

    def take(self, name: str, metric: Record) -> Any:
        """Look at what a metric said of a case; give its score."""
        judge = metric.words("evaluationModel")
        if judge is not None:
            self.judges[name] = judge
        if metric.get("error") is not None:
            self.errors += 1
            return None
        score, threshold = metric.get("score"), _number(metric.get("threshold"))
        value, success = _number(score), metric.get("success")
        if value is None or threshold is None or not isinstance(success, bool):
            return score
        if value != threshold:
            self.ways[name] = (value > threshold) == success
        return score

    def remark(self, rows: Rows) -> None:
        """Note what the numbers do not show."""
        if self.errors:
            rows.note(f"{plural(self.errors, 'score')} missing, since the metric failed")
        if self.judges:
            shown = [f"'{name}' by {model}" for name, model in self.judges.items()]
            rows.note(f"scores that a model gave: {listed(shown, 6)}")


def _settle(table: RawTable) -> RawTable:
    """State the directions that all cases agree on, and say where they do not."""
    found: dict[str, set[bool]] = {}
    ways: Any = table.columns.get(_WAYS, ())
    for own in ways:
        for name, way in own.items():
            column = name if name in table and not roles.is_text(name) else f"{name} (score)"
            found.setdefault(column, set()).add(way)
    facts = {
        name: Stated(higher_is_better=True in own) for name, own in found.items() if len(own) == 1
    }
    notes = list(table.notes)
    lower = [f"'{name}'" for name, own in found.items() if own == {False}]
    if lower:
        notes.append(f"DeepEval: lower is better, as what passes shows: {listed(lower, 6)}")
    torn = [f"'{name}'" for name, own in found.items() if len(own) > 1]
    if torn:
        said = "cases contradict each other on which way is better, so none is stated"
        notes.append(f"DeepEval: {said}: {listed(torn, 6)}")
    return replace(table.without([_WAYS]), facts=facts, notes=tuple(notes))


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
    rows = Rows(view)
    evidence = _Evidence()
    system = _system(document(view), rows)
    seen: Counter[str] = Counter()
    asked: dict[str, str | None] = {}
    cases = (pair for key in _CASES for pair in enumerate(within(view, key)))
    for number, case in cases:
        item = case.name("name", f"test_case_{number}")
        seen[item] += 1
        source = case.text_if_any("input") or None
        if asked.setdefault(item, source) != source:  # else it is the same case once more
            case.fail(f"another case is named '{item}', with another input; expected a name each")
        scores: dict[str, Any] = {}
        evidence.ways = {}
        for metric in case.objects("metricsData"):
            name = metric.name("name")
            if name in scores:
                case.fail(f"case '{item}' has two metrics named '{name}'")
            scores[name] = evidence.take(name, metric)
        rows.add(
            case.start,
            scores,
            system=system,
            segment=item,
            epoch=str(seen[item]),
            source=source,
            output=case.text_if_any("actualOutput"),
            reference=case.text_if_any("expectedOutput") or None,
            **{_WAYS: evidence.ways},
        )
    evidence.remark(rows)
    given = {"system": "hyperparameters.model", "segment": "name", "source": "input",
             "output": "actualOutput", "reference": "expectedOutput"}  # fmt: skip
    return rows.table(given, {})


def _system(run: Record, rows: Rows) -> str:
    """Name what was tested, and say by what."""
    own, by = run.inner("hyperparameters").words("model"), ""
    if own is None:
        own, by = run.words("identifier"), "the identifier of the run"
    if own is None:
        own, by = run.view.folder, "the name of the folder"
    if by:
        rows.note(f"system '{own}' is {by}: 'hyperparameters.model' names none")
    return own


FORMAT = ForeignFormat(
    name="DeepEval test run",
    gives=EvalSet,
    known_by="JSON with testCases and metricsScores",
    example='{"testCases": [{"name": "item_0", "metricsData": [{"name": "Answer Relevancy", '
    '"score": 0.9, "threshold": 0.5, "success": true}]}], "metricsScores": []}\n',
    example_name="model-1/test_run.json",
    recognise=recognise,
    files=("*.json",),
    unfold=unfold,
    settle=_settle,
    becomes=scoretables.LONG,
)
