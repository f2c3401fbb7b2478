"""A linter for evaluation data: everything that would make a meta-evaluation lie."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from steelyard.core.table import Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.overview import direction_warnings, overview
from steelyard.stats.arrays import SAME, Floats, row_means
from steelyard.stats.spread import robust_deviations

Severity = Literal["error", "warning", "note"]
Messages = Iterator[tuple[Severity, str]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or odd: how bad, which check found it, and what it is."""

    severity: Severity
    check: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return asdict(self)


def _quoted(names: list[str], most: int = 4) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _size(es: EvalSet) -> Messages:
    """Sets too small for what will be asked of them."""
    if es.n_systems < 2:
        yield "warning", f"{plural(es.n_systems, 'system')}: nothing to compare"
    elif es.n_systems < 5:
        yield "note", f"only {es.n_systems} systems: statements about systems will be weak"
    if not es.human:
        yield "note", "no human score is named (human=NAME): checks against it were skipped"


def _names(es: EvalSet) -> Messages:
    """Names that differ only by case, blanks or punctuation: one system under two names."""
    seen: dict[str, str] = {}
    for name in es.systems:
        if name != name.strip():
            yield "warning", f"system {name!r} begins or ends with a blank"
        bare = re.sub(r"[\W_]+", "", name).casefold()
        if bare and bare in seen:
            yield "warning", f"systems '{seen[bare]}' and '{name}' look like one under two names"
        seen.setdefault(bare, name)


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
            elif es.n_segments:
                yield "note", f"'{name}' has system scores only"
            continue
        present = ~np.isnan(table.values)
        scored = np.asarray(present.any(axis=1))
        skipped = [
            system
            for i, system in enumerate(es.systems)
            if not scored[i] and judged[i].any() and system not in table.uses
        ]
        if skipped:
            yield "error", f"'{name}' does not score {_quoted(skipped)}, which humans judged"
        expected = judged if judged.any() else present.any(axis=0, keepdims=True)
        holes = int((expected & ~present & scored[:, None]).sum())
        if holes:
            cells = f"{plural(holes, 'cell')}{' that humans judged' if judged.any() else ''}"
            yield "error", f"'{name}' lacks {cells} of the systems that it scores"


def _degenerate(es: EvalSet) -> Messages:
    """Scores that cannot tell anything apart, and scores that are copies of each other."""
    values = {
        name: table.values if table.has_segments else table.system_scores
        for name, table in es.scores.items()
    }
    filled = ((name, scores) for name, scores in values.items() if scores is not None)
    for name, constant, twin in uninformative(filled):
        if constant is not None:
            yield "warning", f"'{name}' is constant ({constant:g})"
        if twin is not None:
            yield "warning", f"'{name}' and '{twin}' are identical"


def uninformative(
    scores: Iterable[tuple[str, Floats]],
) -> Iterator[tuple[str, float | None, str | None]]:
    """Return for each score with values the only value it has, and an earlier identical score.

    >>> a, b = np.array([1.0, np.nan, 2.0]), np.array([3.0, 3.0])
    >>> list(uninformative([("a", a), ("b", b), ("c", a.copy())]))
    [('a', None, None), ('b', 3.0, None), ('c', None, 'a')]
    """
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
    """Two systems with the same outputs, or the same scores in every metric."""
    tables = [es.scores[name].values for name in es.metrics]
    seen: dict[Any, str] = {}
    for i, system in enumerate(es.systems):
        scores = b"".join(table[i].tobytes() for table in tables if not np.isnan(table[i]).all())
        for key, what in ((es.outputs.get(system), "outputs"), (scores, "metric scores")):
            if key and key in seen:
                yield "warning", f"systems '{seen[key]}' and '{system}' have the same {what}"
            seen.setdefault(key, system)


def _orientation(es: EvalSet) -> Messages:
    """Metrics that go against the human scores."""
    for human in es.human:
        for facts in overview(es, human).scores:
            if facts.looks_flipped and facts.table.kind == "metric":
                message = f"'{facts.name}' goes against '{human}' (r = {facts.correlation:.2f})"
                declared = "higher" if facts.table.higher_is_better else "lower"
                yield "warning", f"{message} although it is taken to be better when {declared}"
    for name, table in es.scores.items():
        for message in direction_warnings(name, table):
            yield "warning", message


def _references(es: EvalSet) -> Messages:
    """Systems that a metric uses as its reference."""
    for system in es.systems:
        users = [name for name in es.metrics if system in es.scores[name].uses]
        if users:
            message = f"system '{system}' is the reference of {plural(len(users), 'metric')}"
            yield "note", f"{message} ({_quoted(users, 2)}): leave it out when judging them"


def _float_noise(es: EvalSet) -> Messages:
    """Values that differ by rounding only: ties to a reader, no ties to a statistic."""
    for name, table in es.scores.items():
        levels = np.unique(table.values[~np.isnan(table.values)])
        gaps = np.diff(levels)
        close = (gaps > 0) & (gaps < SAME * np.maximum(1.0, np.abs(levels[1:])))
        if close.any():
            i = int(np.argmax(close))
            pair = f"{float(levels[i])!r} and {float(levels[i + 1])!r}"
            yield "note", f"'{name}' holds {pair}: ties are compared exactly, so these are none"


def _official(es: EvalSet) -> Messages:
    """Official system scores that order systems differently than the means of their segments."""
    for name, table in es.scores.items():
        if table.system_scores is None or not table.has_segments:
            continue
        means = row_means(table.values)
        both = ~(np.isnan(means) | np.isnan(table.system_scores))
        if (np.argsort(means[both]) != np.argsort(table.system_scores[both])).any():
            yield "note", f"'{name}': official system scores order systems unlike segment means"


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


def _outputs(es: EvalSet) -> Messages:
    """Outputs that are empty or missing."""
    for system, texts in es.outputs.items():
        empty = sum(text is not None and not text.strip() for text in texts)
        missing = sum(text is None for text in texts)
        if empty:
            yield "warning", f"system '{system}' has {plural(empty, 'empty output')}"
        if missing:
            yield "warning", f"system '{system}' has no output for {plural(missing, 'segment')}"


_RUN = (_size, _names, _coverage, _degenerate, _twins, _orientation, _references, _float_noise,
        _official, _outliers, _outputs)  # fmt: skip
CHECKS: dict[str, Callable[[EvalSet], Messages]] = {
    run.__name__[1:].replace("_", "-"): run for run in _RUN
}


def check(es: EvalSet) -> list[Finding]:
    """Run every check; errors come first."""
    findings = [
        Finding(severity, name, message)
        for name, run in CHECKS.items()
        for severity, message in run(es)
    ]
    order = ("error", "warning", "note")
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def table(findings: list[Finding]) -> Table:
    """Return a row per finding."""
    rows = tuple((f.severity, f.check, f.message) for f in findings)
    return Table("", (Column("severity"), Column("check"), Column("finding")), rows)
