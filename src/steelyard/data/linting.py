"""A linter for evaluation data: what would make a meta-evaluation lie."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from steelyard.core.display import Record
from steelyard.core.table import Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.overview import direction_warnings, score_facts
from steelyard.stats.arrays import Floats
from steelyard.stats.spread import robust_deviations

Severity = Literal["error", "warning"]
Messages = Iterator[tuple[Severity, str]]


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """One problem: how bad it is, which check reports it, and what it is."""

    severity: Severity
    check: str
    message: str


def _quoted(names: Iterable[str]) -> str:
    return listed([f"'{name}'" for name in names])


def _coverage(es: EvalSet) -> Messages:
    """Metrics that do not score what raters judged."""
    judged = np.zeros((es.n_systems, es.n_segments), dtype=bool)
    for name in es.human:
        judged |= ~np.isnan(es.scores[name].values)
    for name in es.metrics:
        table = es.scores[name]
        if not table.has_segments:
            if table.system_scores is None:
                yield "error", f"'{name}' has no score at all"
            continue
        present = ~np.isnan(table.values)
        scored = np.asarray(present.any(axis=1))
        ignored = np.flatnonzero(~scored & judged.any(axis=1))
        skipped = [es.systems[i] for i in ignored if es.systems[i] not in table.uses]
        if skipped:
            yield "error", f"'{name}' does not score {_quoted(skipped)}, which humans judged"
        expected = judged if judged.any() else present.any(axis=0, keepdims=True)
        holes = int((expected & ~present & scored[:, None]).sum())
        if holes:
            cells = f"{plural(holes, 'cell')}{' that humans judged' if judged.any() else ''}"
            yield "error", f"'{name}' lacks {cells} of the systems that it scores"


def _degenerate(es: EvalSet) -> Messages:
    """Scores that can't tell anything apart, and scores that are copies of each other."""
    scores = ((n, t.values if t.has_segments else t.system_scores) for n, t in es.scores.items())
    filled = ((name, values) for name, values in scores if values is not None)
    for name, constant, twin in uninformative(filled):
        if constant is not None:
            yield "warning", f"'{name}' is constant ({constant:g})"
        if twin is not None:
            yield "warning", f"'{name}' and '{twin}' are identical"


def uninformative(
    scores: Iterable[tuple[str, Floats]],
) -> Iterator[tuple[str, float | None, str | None]]:
    """Return for each score with values the only value it has, and an earlier identical score."""
    seen: dict[tuple[float, int], list[tuple[str, Floats]]] = {}
    for name, values in scores:
        present = values[~np.isnan(values)]
        if not present.size:
            continue
        constant = float(present[0]) if present.min() == present.max() else None
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(present.sum())  # identical scores have the same sum
        alike = seen.setdefault((total, present.size), [])
        twins = (other for other, x in alike if np.array_equal(x, values, equal_nan=True))
        yield name, constant, next(twins, None)
        alike.append((name, values))


def _twins(es: EvalSet) -> Messages:
    """One system under two names: alike but for case and signs, or with the same outputs."""
    seen: dict[Any, str] = {}
    for system in es.systems:
        bare = re.sub(r"[\W_]+", "", system).casefold()
        outputs = es.outputs.get(system)
        for key, what in ((bare, "almost the same name"), (outputs, "the same outputs")):
            if key and key in seen:
                yield "warning", f"systems '{seen[key]}' and '{system}' have {what}"
            seen.setdefault(key, system)


def _orientation(es: EvalSet) -> Messages:
    """Scores that go against the human ones, or whose name speaks against their direction."""
    for name, table in es.scores.items():
        doubts: list[str] = []
        for human in es.human if table.kind == "metric" else ():
            doubts += score_facts(name, table, es[human]).doubts(human)
        for message in dict.fromkeys(doubts or direction_warnings(name, table)):
            yield "warning", message


def _outliers(es: EvalSet) -> Messages:
    """Systems that raters find far better or worse than all others."""
    for human in es.human:
        outliers = robust_deviations(es.scores[human].system_means())
        names = [system for system, far in zip(es.systems, outliers.flags, strict=True) if far]
        if names:
            verb = "is far from all other systems" if len(names) == 1 else "are far from all others"
            rule = f"more than {outliers.cutoff:g} robust deviations from the median"
            rests = "agreement over systems rests on that; meta shows it without"
            yield "warning", f"{_quoted(names)} {verb} by '{human}' ({rule}): {rests}"


CHECKS: dict[str, Callable[[EvalSet], Messages]] = {
    "coverage": _coverage,
    "degenerate": _degenerate,
    "twins": _twins,
    "orientation": _orientation,
    "outliers": _outliers,
}


def check(es: EvalSet) -> list[Finding]:
    """Run every check; errors come first."""
    findings = [
        Finding(severity, name, message)
        for name, run in CHECKS.items()
        for severity, message in run(es)
    ]
    return sorted(findings, key=lambda finding: finding.severity)


def table(findings: list[Finding]) -> Table:
    """Return a row per finding."""
    rows = tuple((f.severity, f.check, f.message) for f in findings)
    return Table("", (Column("severity"), Column("check"), Column("finding")), rows)
