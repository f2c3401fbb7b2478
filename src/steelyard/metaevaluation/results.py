"""What a meta-evaluation found: values, tests, and the leaderboard made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from steelyard.core.display import Place, Result, Summary, named, one_line, ranked, ranking
from steelyard.core.errors import UsageError, hint
from steelyard.core.lazy import lazy, lazy_field
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Frame, Table, interval_decimals
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.units import RATER, SEGMENT, UnitEffect, many
from steelyard.metaevaluation import words
from steelyard.metaevaluation.options import POOLED
from steelyard.metaevaluation.outliers import Outliers, Without
from steelyard.stats.arrays import Floats
from steelyard.stats.curves import AgreementCurve
from steelyard.stats.judged.gap import Gap

_LETTERS = 6  # more letters than this per metric are for the JSON, not for a table


def units(intervals: str, unit: str = SEGMENT) -> str:
    """Name what is resampled: units, systems, or both.

    Examples
    --------
    >>> units("unit"), units("unit", "document"), units("both", "5 segments")
    ('segments', 'documents', 'runs of 5 segments and systems')
    """
    drawn = many(unit)
    named = {"system": "systems", "both": f"{drawn} and systems", RATER: "raters"}
    return named.get(intervals, drawn)


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
    n_segments: int | None = None  # with a cell that both scored
    n_cells: int | None = None  # outputs (system, segment) that both scored
    without_outliers: Without | None = None  # at level sys, where there are some

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        keys = ("metric", "with", "level", "group_by", "value", "ci", "rank", "rank_ci", "letters",
                "epsilon", "note", "n_systems", "n_segments", "n_cells")  # fmt: skip
        own = {key: getattr(self, "by" if key == "with" else key) for key in keys}
        rest = None if self.without_outliers is None else self.without_outliers.to_dict()
        return own | {"without_outliers": rest}


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
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        valid = None if self.valid is None else self.valid.to_dict()
        return own | {"metrics": list(self.metrics), "valid": valid}


@dataclass(frozen=True, repr=False)
class MetaEvaluation(Result):
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
    resampled: str = "unit"
    unit: UnitEffect = field(default_factory=lambda: UnitEffect(SEGMENT, 0, 1.0))  # of people
    by_coarser: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    n_cells: int | None = None  # outputs (system, segment) that people scored
    outliers: Outliers | None = None  # by people's scores of systems
    source: EvalSet | None = field(default=None, compare=False)  # what figures of segments show
    #: What differences of the best metric are worth to people.
    worth: AgreementCurve | None = lazy_field(None)  # noqa: RUF009
    #: Smallest believable gaps of metrics; empty where systems are not weighed.
    gaps: Mapping[str, Gap] = lazy_field(lazy(dict))

    @property
    def resampled_units(self) -> str:
        """What is resampled, in words."""
        return units(self.resampled, self.unit.name)

    def unit_notes(self) -> list[str]:
        """Say what is independent here, and what a coarser unit would give."""
        if self.unit.name.endswith(RATER):
            beside = self.unit.name.removesuffix(RATER).removesuffix("+") or SEGMENT
            by = f"unit: {self.unit.counted()}, taken as independent in the human p-values of soft"
            return [f"{by} accuracy; metrics have no raters, and vary by {beside}"]
        if self.unit.name != SEGMENT:
            drawn = ", intervals" if self.resampled in ("unit", "both") else ""
            return [f"{self.unit.sentence()} (of values{drawn} and tests)"]
        coarser = self.unit.coarser
        if coarser is None:
            return []
        alone = "segments are taken as independent"
        told = [f"{alone}; {self.human} has a {coarser.shown()} over {coarser.counted()}"]
        for by, values in self.by_coarser.items():
            here = self.values(by)
            moved = [m for m in values if not np.isnan(values[m] - here[m])]
            moved.sort(key=lambda m: (-abs(values[m] - here[m]), m))
            if moved:
                shown = ", ".join(f"{m} {values[m]:.3f} ({here[m]:.3f} here)" for m in moved[:3])
                what = "moves most for " if len(moved) > 3 else "is "
                told.append(f'unit="{coarser.name}": {by} {what}{shown}')
        return told

    @property
    def level(self) -> str:
        """``sys``, ``seg``, or ``both``."""
        levels = {result.level for result in self.results}
        return levels.pop() if len(levels) == 1 else "both"

    def values(self, by: str) -> dict[str, float]:
        """Give the value of each metric under one meta-metric."""
        names = dict.fromkeys(result.by for result in self.results)
        if by not in names:
            raise UsageError(f"no meta-metric '{by}' in this result; {hint(str(by), names)}")
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
            "ranking": ranking("metric", self._places()),
            "results": [self._told(result) for result in self.results],
            "significance": {by: s.to_dict() for by, s in self.significance.items()},
            "chance": dict(self.chance),
            "unit": self.unit.to_dict() | {"by_coarser": dict(self.by_coarser)},
            "outliers": None if self.outliers is None else self.outliers.to_dict(),
            "worth": None if self.worth is None else self.worth.to_dict(),
            **origin(self.provenance),
            "warnings": list(self.warnings),
        }

    def _places(self) -> list[Place]:
        """Give which metric is where by the first meta-metric, best first."""
        own = [r for r in self.results if r.by == self.results[0].by] if self.results else []
        ranks = ranked([result.value for result in own])
        found = [
            Place(result.metric, rank, result.value, low, high, result.rank)
            for result, rank in zip(own, ranks, strict=True)
            for low, high in [result.ci or (None, None)]
        ]
        return sorted(found, key=lambda one: one.rank or len(found) + 1)

    def _told(self, result: MetaResult) -> dict[str, Any]:
        """Give what ``--json`` prints of a result, with the gap of the metric at level sys."""
        gap = self.gaps.get(result.metric) if result.level == "sys" else None
        own: dict[str, Any] = {"gap": None, "gap_details": None}
        if gap is not None:
            own = {"gap": gap.gap.value, "gap_details": gap.to_dict()}
        return result.to_dict() | own

    def words(self) -> Summary:
        """Say which metric agrees most with people, what stays open, how sure that is."""
        return Summary.of(words.told(self))

    def __repr__(self) -> str:
        names = list(dict.fromkeys(result.metric for result in self.results))
        by = list(dict.fromkeys(result.by for result in self.results))
        size = f"{plural(self.n_systems, 'system')}, {plural(self.n_segments, 'segment')}"
        return one_line(self, f"of {named(names)} against {self.human} by {named(by)}: {size}")

    def digits(self) -> int:
        """Give the decimals that values are shown with, the same for all meta-metrics.

        Three, as is usual, or more where the intervals of every meta-metric are that narrow.
        """
        found = []
        for by in dict.fromkeys(result.by for result in self.results):
            own = [r for r in self.results if r.by == by and r.ci is not None]
            low, high = ([r.ci[k] for r in own if r.ci is not None] for k in (0, 1))
            found.append(interval_decimals([r.value for r in own], low, high) or 3)
        return max(3, min(found, default=3))

    def to_frame(self, backend: str | None = None) -> Frame:
        """Give a row per result as a pandas or polars frame."""
        keys = ("metric", "with", "level", "group_by", "value", "rank", "epsilon", "note",
                "n_systems", "n_cells")  # fmt: skip
        shown = [result.to_dict() for result in self.results]
        rows = tuple(tuple(own[key] for key in keys) for own in shown)
        return Table("", tuple(Column(key) for key in keys), rows).to_frame(backend)

    def table(self, *, details: bool = False) -> Table:
        """Give the leaderboard: a row per metric, ordered by the first meta-metric.

        ``details`` adds how large a difference counts: gaps of metrics, and what the best is worth.
        """
        board = _Board(self, details=details)
        rows = [board.row(metric) for metric in board.metrics]
        rules: frozenset[int] = frozenset()
        if board.ranked:
            at = 3 if board.differ else 1  # of the first meta-metric's ranks
            rules = frozenset(i for i in range(1, len(rows)) if rows[i][at] != rows[i - 1][at])
        places = board.places()
        bold = frozenset(
            (i, at)
            for i, metric in enumerate(board.metrics)
            for by, at in places.items()
            if (result := board.found.get((metric, by))) and result.rank == 1
        )
        return Table("", tuple(board.columns()), tuple(rows), tuple(board.notes()), rules, bold)


class _Board:
    """The leaderboard of a meta-evaluation, column by column.

    The first meta-metric has letters and an interval beside its value; sizes are shown where
    metrics rest on less than people judged.
    """

    def __init__(self, found: MetaEvaluation, *, details: bool) -> None:
        results = found.results
        self.whole, self.details = found, details
        self.digits = found.digits()
        self.names = list(dict.fromkeys(r.by for r in results))
        self.first = self.names[0]
        self.found = {(r.metric, r.by): r for r in results}
        own = [r for r in results if r.by == self.first]
        self.metrics = list(dict.fromkeys(r.metric for r in (*own, *results)))
        self.ranked = any(r.rank is not None for r in results)
        self.interval = any(r.ci is not None for r in own)
        self.lettered = 0 < max((len(r.letters or "") for r in own), default=0) <= _LETTERS
        self.sizes = {r.metric: (r.n_systems, r.n_cells) for r in results}
        self.swayed = {r.by for r in results if r.without_outliers is not None}
        every = set(self.sizes.values())
        self.differ = len(every) > 1 or any(self._lacks(*size) for size in every)
        gaps = found.gaps if details else {}
        self.gaps = {name: gap.gap.value for name, gap in gaps.items() if gap.gap.known}

    def _lacks(self, n_systems: int | None, n_cells: int | None) -> bool:
        """Tell whether a metric has less than people judged (none at all is no gap: no level)."""
        pairs = ((n_systems, self.whole.n_systems), (n_cells, self.whole.n_cells))
        return any(own and judged and own < judged for own, judged in pairs)

    def _of(self, by: str) -> list[Column]:
        """Columns of a meta-metric."""
        digits, first = self.digits, by == self.first
        value = 9 if first else 6  # on a narrow screen what is beside the values goes first
        columns = [Column("rank", key=f"{by} rank", importance=value - 1)] if self.ranked else []
        columns += [Column("alike", importance=4)] if self.lettered and first else []
        columns.append(Column(by, "higher", digits=digits, importance=value))
        if by in self.swayed:
            columns.append(Column("without", digits=digits, key=f"{by} without", importance=2))
        if self.interval and first:
            columns += [
                Column(end, digits=digits, key=f"{by} {end}", importance=3)
                for end in ("low", "high")
            ]
        return columns

    def columns(self) -> list[Column]:
        """All columns."""
        heads = [Column("metric")]
        heads += [Column(name, importance=1) for name in ("systems", "cells") if self.differ]
        tail = [Column("gap", "lower", mixed=True, importance=4)] if self.gaps else []
        return [*heads, *(column for by in self.names for column in self._of(by)), *tail]

    def places(self) -> dict[str, int]:
        """Give the column of the values of each meta-metric."""
        at, found = 3 if self.differ else 1, {}
        for by in self.names:
            found[by] = at + self.ranked + (self.lettered and by == self.first)
            at += len(self._of(by))
        return found

    def row(self, metric: str) -> tuple[Cell, ...]:
        """Cells of a metric."""
        cells: list[Cell] = [metric]
        cells += self.sizes[metric] if self.differ else ()
        for by in self.names:
            result = self.found.get((metric, by))
            cells += [result.rank if result else None] if self.ranked else []
            if self.lettered and by == self.first:
                cells.append(result.letters if result else None)
            cells.append(result.value if result else None)
            if by in self.swayed:
                rest = result.without_outliers if result else None
                cells.append(None if rest is None else rest.value)
            if self.interval and by == self.first:
                cells += (result.ci if result else None) or (None, None)
        cells += [self.gaps.get(metric)] if self.gaps else []
        return tuple(cells)

    def notes(self) -> list[str]:
        """What the columns mean."""
        whole = self.whole
        size = f"{plural(whole.n_systems, 'system')}, {plural(whole.n_segments, 'segment')}"
        notes = [f"human score {whole.human}: {size}"]
        notes += whole.unit_notes()
        if whole.level in POOLED:
            own = POOLED[whole.level]
            notes.append(
                f"level {whole.level}: means over the segments of a {own} that people scored"
            )
        if self.differ:
            notes.append("systems, cells: what people and the metric both scored")
        if self.swayed and whole.outliers is not None:
            names = listed(whole.outliers.systems)
            notes.append(f"without: value without the outlying systems ({names})")
        if self.lettered:
            notes.append("alike: metrics that share a letter do not differ significantly")
        if self.interval:
            drawn = whole.resampled_units
            told = f"low, high: 95% interval over resampled {drawn}"
            same = ", people's scores averaged anew, metrics and outputs as they are"
            size = ", of the expected value at this size"
            notes.append(told + (same if whole.resampled == RATER else size))
        if self.gaps:
            notes.append(_about_gaps(whole.gaps))
        worth = whole.worth if self.details else None
        notes += [] if worth is None else [f"a difference: {worth.needed_sentence()}"]
        return notes + [f"{by}: chance level {level:.3f}" for by, level in whole.chance.items()]


def _about_gaps(gaps: Mapping[str, Gap]) -> str:
    """Say what a gap is, and how it does where it can be checked."""
    known = [gap for gap in gaps.values() if gap.gap.known]
    tried = [gap for gap in known if not np.isnan(gap.left_out)]
    told = "gap: systems closer than this in mean segment score can't be ordered by the metric"
    if not tried:
        return told
    share = float(np.mean([gap.left_out for gap in tried]))
    none = len(gaps) - len(known)
    more = f"; none for {plural(none, 'metric')} that may go against people" if none else ""
    tested = f"beyond it {100 * share:.0f} % are in people's order, each system left out in turn"
    return f"{told} ({tested}){more}"
