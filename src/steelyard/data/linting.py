"""A linter for evaluation data: all that would make a meta-evaluation lie."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.core.table import Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.overview import direction_warnings, overview
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.outlying import outlying

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or odd: how bad, which check found it, and what it is."""

    severity: Severity
    check: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {"severity": self.severity, "check": self.check, "message": self.message}


Found = Iterator[tuple[Severity, str]]


def _names(names: list[str], most: int = 4) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _lookalikes(es: EvalSet) -> Found:
    """Names that differ only by case, blanks or punctuation: one system under two names."""
    seen: dict[str, str] = {}
    for name in es.systems:
        if name != name.strip():
            yield "warning", f"system {name!r} begins or ends with a blank"
        bare = re.sub(r"[\W_]+", "", name).casefold()
        if bare and bare in seen:
            yield "warning", f"systems '{seen[bare]}' and '{name}' look like one under two names"
        seen.setdefault(bare, name)


def _coverage(es: EvalSet) -> Found:
    """Metrics that do not score what the humans scored."""
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
        there = ~np.isnan(table.values)
        scored: NDArray[np.bool_] = np.asarray(there.any(axis=1))
        wanted = judged if judged.any() else np.asarray(there.any(axis=0))[None, :]
        lost = [s for s, known in zip(es.systems, scored, strict=True) if not known]
        foreign = [s for s in lost if s not in table.uses and judged[es.systems.index(s)].any()]
        if foreign:
            yield "error", f"'{name}' does not score {_names(foreign)}, which humans judged"
        holes = int((wanted & ~there & scored[:, None]).sum())
        if holes:
            cells = " that humans judged" if judged.any() else ""
            lacks = f"{plural(holes, 'cell')}{cells} of the systems that it scores"
            yield "error", f"'{name}' lacks {lacks}"


def _degenerate(es: EvalSet) -> Found:
    """Scores that can't tell anything apart, and scores that are copies of each other."""
    values = (
        (name, table.values if table.has_segments else table.system_scores)
        for name, table in es.scores.items()
    )
    for name, constant, twin in uninformative((n, own) for n, own in values if own is not None):
        if constant is not None:
            yield "warning", f"'{name}' is constant ({constant:g})"
        if twin is not None:
            yield "warning", f"'{name}' and '{twin}' are identical"


def uninformative(
    scores: Iterable[tuple[str, Floats]],
) -> Iterator[tuple[str, float | None, str | None]]:
    """Give for each score with values the one value it has, and which one before it is the same.

    Examples
    --------
    >>> a, b = np.array([1.0, np.nan, 2.0]), np.array([3.0, 3.0])
    >>> list(uninformative([("a", a), ("b", b), ("c", a.copy())]))
    [('a', None, None), ('b', 3.0, None), ('c', None, 'a')]
    """
    seen: dict[tuple[float, int], list[tuple[str, Floats]]] = {}
    for name, values in scores:
        with np.errstate(over="ignore", invalid="ignore"):
            total, known = float(values.sum()), values
        if math.isnan(total):
            known = values[~np.isnan(values)]
            total = float(known.sum())
        if not known.size:
            continue
        constant = float(known.flat[0]) if known.min() == known.max() else None
        alike = seen.setdefault((total, known.size), [])  # the same numbers have the same sum
        twins = (twin for twin, own in alike if np.array_equal(own, values, equal_nan=True))
        yield name, constant, next(twins, None)
        alike.append((name, values))


def _twin_systems(es: EvalSet) -> Found:
    """Two systems with the same outputs, or the same scores in every metric."""
    seen: dict[Any, str] = {}
    for system in es.systems:
        texts = es.outputs.get(system)
        if texts is not None and texts in seen:
            yield "warning", f"systems '{seen[texts]}' and '{system}' have the same outputs"
        seen.setdefault(texts, system)
    rows: dict[bytes, str] = {}
    tables = [es.scores[name].values for name in es.metrics]
    for i, system in enumerate(es.systems):
        key = b"".join(table[i].tobytes() for table in tables if not np.isnan(table[i]).all())
        if key and key in rows:
            yield "warning", f"systems '{rows[key]}' and '{system}' have the same metric scores"
        rows.setdefault(key, system)


def _orientation(es: EvalSet) -> Found:
    """Metrics that go against the humans."""
    for human in es.human:
        view = overview(es, human)
        for facts in view.scores:
            if facts.looks_flipped and facts.table.kind == "metric":
                message = f"'{facts.name}' goes against '{human}' (r = {facts.correlation:.2f})"
                declared = "higher" if facts.table.higher_is_better else "lower"
                yield "warning", f"{message} although it is taken to be better when {declared}"
    for name, table in es.scores.items():
        for message in direction_warnings(name, table):
            yield "warning", message


def _references(es: EvalSet) -> Found:
    """Systems that are themselves what a metric compares with."""
    for system in es.systems:
        users = [name for name in es.metrics if system in es.scores[name].uses]
        if users:
            message = f"system '{system}' is the reference of {plural(len(users), 'metric')}"
            yield "note", f"{message} ({_names(users, 2)}): leave it out when judging them"


def _float_noise(es: EvalSet) -> Found:
    """Values that differ by rounding only: ties to a reader, no ties to a statistic."""
    for name, table in es.scores.items():
        levels = np.unique(table.values[~np.isnan(table.values)])
        gaps = np.diff(levels)
        close = (gaps > 0) & (gaps < 1e-12 * np.maximum(1.0, np.abs(levels[1:])))
        if close.any():
            i = int(np.flatnonzero(close)[0])
            pair = f"{float(levels[i])!r} and {float(levels[i + 1])!r}"
            yield "note", f"'{name}' holds {pair}: ties are compared exactly, so these are none"


def _official(es: EvalSet) -> Found:
    """Official system scores that order systems differently than the means of their segments."""
    for name, table in es.scores.items():
        if table.system_scores is None or not table.has_segments:
            continue
        means = row_means(table.values)
        known = ~(np.isnan(means) | np.isnan(table.system_scores))
        mine, theirs = np.argsort(means[known]), np.argsort(table.system_scores[known])
        if not np.array_equal(mine, theirs):
            yield "note", f"'{name}': official system scores order systems unlike segment means"


def _outputs(es: EvalSet) -> Found:
    """Outputs that are empty or missing."""
    for system, texts in es.outputs.items():
        empty = sum(text is not None and not text.strip() for text in texts)
        absent = sum(text is None for text in texts)
        if empty:
            yield "warning", f"system '{system}' has {plural(empty, 'empty output')}"
        if absent:
            yield "warning", f"system '{system}' has no output for {plural(absent, 'segment')}"


def _outliers(es: EvalSet) -> Found:
    """Systems that people find far better or worse than all others."""
    for human in es.human:
        table = es.scores[human]
        far = outlying(table.system_means())
        names = [s for s, out in zip(es.systems, far.flags, strict=True) if out]
        if names:
            verb = "is far from all other systems" if len(names) == 1 else "are far from all others"
            rule = f"more than {far.cutoff:g} robust deviations from the median"
            rests = "agreement over systems rests on that; meta shows it without"
            yield "warning", f"{_names(names)} {verb} by '{human}' ({rule}): {rests}"


def _size(es: EvalSet) -> Found:
    """Sets too small for what will be asked of them."""
    if es.n_systems < 2:
        yield "warning", f"{plural(es.n_systems, 'system')}: nothing to compare"
    elif es.n_systems < 5:
        yield "note", f"only {es.n_systems} systems: statements about systems will be weak"
    if not es.human:
        yield "note", "no human score is named (human=NAME): checks against it were skipped"


CHECKS: dict[str, Callable[[EvalSet], Found]] = {
    "size": _size,
    "names": _lookalikes,
    "coverage": _coverage,
    "degenerate": _degenerate,
    "twins": _twin_systems,
    "orientation": _orientation,
    "references": _references,
    "float-noise": _float_noise,
    "official": _official,
    "outliers": _outliers,
    "outputs": _outputs,
}


def check(es: EvalSet) -> list[Finding]:
    """Run every check; errors come first.

    Examples
    --------
    >>> import numpy as np
    >>> from steelyard.data.evalset import EvalSet, ScoreTable
    >>> from steelyard.data.segments import Segments
    >>> same = ScoreTable(np.ones((2, 3)))
    >>> found = check(EvalSet(("A", "a "), Segments(("1", "2", "3")), {"m": same}))
    >>> [(f.severity, f.check) for f in found][:2]
    [('warning', 'names'), ('warning', 'names')]
    """
    found = [
        Finding(severity, name, message)
        for name, run in CHECKS.items()
        for severity, message in run(es)
    ]
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def table(findings: list[Finding]) -> Table:
    """Give a row per finding."""
    rows = tuple((f.severity, f.check, f.message) for f in findings)
    return Table("", (Column("severity"), Column("check"), Column("finding")), rows)
