"""What a meta-evaluation found: values, tests, and the leaderboard made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.provenance import Provenance
from steelyard.core.table import Cell, Column, Frame, Table, interval_decimals
from steelyard.core.words import plural
from steelyard.stats.arrays import Floats

_LETTERS = 6  # more letters than this per metric are for the JSON, not for a table


#: What intervals resample, by the names of the option.
UNITS: Mapping[str, str] = {
    "segment": "segments",
    "document": "documents",
    "system": "systems",
    "both": "segments and systems",
}


def units(intervals: str, unit: str = "segment") -> str:
    """Name what is resampled: segments are drawn in units (segment, document, so many segments).

    Examples
    --------
    >>> units("segment"), units("segment", "document"), units("both", "5")
    ('segments', 'documents', 'blocks of 5 segments and systems')
    """
    if unit == "segment" or intervals not in ("segment", "both"):
        return UNITS[intervals]
    drawn = UNITS.get(unit) or f"blocks of {plural(int(unit), 'segment')}"
    return drawn if intervals == "segment" else f"{drawn} and systems"


@dataclass(frozen=True, slots=True)
class MetaResult:
    """One metric under one meta-metric; ``rank`` is its cluster where significance was tested."""

    metric: str
    by: str
    level: str
    group_by: str | None
    value: float
    rank: int | None = None
    epsilon: float | None = None
    note: str | None = None
    ci: tuple[float, float] | None = None
    rank_ci: tuple[int, int] | None = None  # places it takes in 95 % of the resamples
    letters: str | None = None
    n_systems: int | None = None  # that it rests on: scored by people and by the metric
    n_cells: int | None = None  # outputs (system, segment) that both scored

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "metric": self.metric,
            "with": self.by,
            "level": self.level,
            "group_by": self.group_by,
            "value": self.value,
            "ci": self.ci,
            "rank": self.rank,
            "rank_ci": self.rank_ci,
            "letters": self.letters,
            "epsilon": self.epsilon,
            "note": self.note,
            "n_systems": self.n_systems,
            "n_cells": self.n_cells,
        }


@dataclass(frozen=True, slots=True)
class Significance:
    """p-values of all pairs of metrics under one meta-metric; ``p[a][b]`` small: a beats b."""

    metrics: tuple[str, ...]
    p: Floats
    scheme: str
    n_resamples: int
    alternative: str
    p_adjusted: Floats | None = None
    correction: str = "none"
    note: str | None = None  # why p-values of the scheme are too small, where they are
    valid: Significance | None = None  # the same comparisons by a scheme that keeps its level

    @property
    def decisive(self) -> Floats:
        """The p-values that clusters are made by: corrected, if they are; 1 where there is none."""
        chosen = self.p if self.p_adjusted is None else self.p_adjusted
        return np.where(np.isnan(chosen), 1.0, chosen)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "metrics": list(self.metrics),
            "p": self.p,
            "scheme": self.scheme,
            "n_resamples": self.n_resamples,
            "alternative": self.alternative,
            "p_adjusted": self.p_adjusted,
            "correction": self.correction,
            "note": self.note,
            "valid": None if self.valid is None else self.valid.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class MetaEvaluation:
    """How metrics agree with a human score, and what the answer rests on."""

    human: str
    n_systems: int
    n_segments: int
    systems: tuple[str, ...]
    results: tuple[MetaResult, ...]
    significance: Mapping[str, Significance] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    chance: Mapping[str, float] = field(default_factory=dict)
    resampled: str = "segment"
    unit: str = "segment"
    n_units: int | None = None
    n_cells: int | None = None  # outputs (system, segment) that people scored

    @property
    def resampled_units(self) -> str:
        """What is resampled, in words."""
        return units(self.resampled or "segment", self.unit)

    @property
    def level(self) -> str:
        """``sys``, ``seg``, or ``both``."""
        levels = {result.level for result in self.results}
        return levels.pop() if len(levels) == 1 else "both"

    def values(self, by: str) -> dict[str, float]:
        """Give the value of each metric under one meta-metric."""
        known = dict.fromkeys(result.by for result in self.results)
        if by not in known:
            raise UsageError(f"no meta-metric '{by}' in this result; {hint(str(by), known)}")
        return {result.metric: result.value for result in self.results if result.by == by}

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "human": self.human,
            "level": self.level,
            "n_systems": self.n_systems,
            "n_segments": self.n_segments,
            "n_cells": self.n_cells,
            "systems": list(self.systems),
            "results": [result.to_dict() for result in self.results],
            "significance": {by: s.to_dict() for by, s in self.significance.items()},
            "chance": dict(self.chance),
            "provenance": None if self.provenance is None else self.provenance.to_dict(),
            "warnings": list(self.warnings),
        }

    def to_frame(self, backend: str | None = None) -> Frame:
        """Give a row per result as a pandas or polars frame."""
        columns = (
            Column(name) for name in ("metric", "with", "level", "group_by", "value", "rank",
                                      "epsilon", "note", "n_systems", "n_cells")
        )  # fmt: skip
        rows = tuple(
            (
                r.metric,
                r.by,
                r.level,
                r.group_by,
                r.value,
                r.rank,
                r.epsilon,
                r.note,
                r.n_systems,
                r.n_cells,
            )
            for r in self.results
        )
        return Table("", tuple(columns), rows).to_frame(backend)

    def table(self) -> Table:
        """Give the leaderboard: a row per metric, ordered by the first meta-metric."""
        names = list(dict.fromkeys(result.by for result in self.results))
        found = {(r.metric, r.by): r for r in self.results}
        first = [r.metric for r in self.results if r.by == names[0]]
        rest = [r.metric for r in self.results if r.metric not in first]
        ranked = any(r.rank is not None for r in self.results)
        interval = any(r.ci is not None for r in self.results if r.by == names[0])
        letters = {r.metric: r.letters for r in self.results if r.by == names[0]}
        lettered = 0 < max((len(own or "") for own in letters.values()), default=0) <= _LETTERS
        columns = [Column("metric")]
        sizes = {r.metric: (r.n_systems, r.n_cells) for r in self.results}
        differ = len(set(sizes.values())) > 1 or any(self._lacks(*own) for own in sizes.values())
        columns += [Column("systems"), Column("cells")] if differ else []
        for name in names:
            columns += [Column("rank", key=f"{name} rank")] if ranked else []
            columns += [Column("alike")] if lettered and name == names[0] else []
            digits = self._digits(name)
            columns.append(Column(name, "higher", digits=digits))
            if interval and name == names[0]:
                columns += [
                    Column(end, digits=digits, key=f"{name} {end}") for end in ("low", "high")
                ]
        rows: list[tuple[Cell, ...]] = []
        bold: set[tuple[int, int]] = set()
        for k, metric in enumerate(dict.fromkeys([*first, *rest])):
            row: list[Cell] = [metric]
            row += sizes[metric] if differ else ()
            for name in names:
                result = found.get((metric, name))
                row += [result.rank if result else None] if ranked else []
                row += [letters.get(metric)] if lettered and name == names[0] else []
                bold |= {(k, len(row))} if result and result.rank == 1 else set()
                row.append(result.value if result else None)
                if interval and name == names[0]:
                    row += (result.ci if result else None) or (None, None)
            rows.append(tuple(row))
        at = 3 if differ else 1  # of the first meta-metric's ranks
        rules = frozenset(
            i for i in range(1, len(rows)) if ranked and rows[i][at] != rows[i - 1][at]
        )
        size = f"{plural(self.n_systems, 'system')}, {plural(self.n_segments, 'segment')}"
        notes = [f"human score {self.human}: {size}"]
        if self.n_units is not None:
            what = (
                f"{self.unit} ({self.n_units:,})"
                if self.unit == "document"
                else (f"{plural(self.n_units, 'block')} of {plural(int(self.unit), 'segment')}")
            )
            notes.append(f"unit of values, intervals and tests: {what}")
        if differ:
            notes.append("systems, cells: what people and the metric both scored")
        if lettered:
            notes.append("alike: metrics that share a letter do not differ significantly")
        if interval:
            drawn = self.resampled_units
            notes.append(f"low, high: 95 % interval over resampled {drawn}, of sets of this size")
        notes += [f"{by}: chance level {level:.3f}" for by, level in self.chance.items()]
        return Table("", tuple(columns), tuple(rows), tuple(notes), rules, frozenset(bold))

    def _lacks(self, n_systems: int | None, n_cells: int | None) -> bool:
        """Tell whether a metric has less than people judged (none at all is no gap: no level)."""
        pairs = ((n_systems, self.n_systems), (n_cells, self.n_cells))
        return any(own and judged and own < judged for own, judged in pairs)

    def _digits(self, by: str) -> int:
        """Digits of a meta-metric: three, as is usual, or more where the intervals are narrow."""
        own = [r for r in self.results if r.by == by and r.ci is not None]
        low, high = ([r.ci[k] for r in own if r.ci is not None] for k in (0, 1))
        return max(3, interval_decimals([r.value for r in own], low, high) or 3)
