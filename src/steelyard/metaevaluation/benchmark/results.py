"""What a benchmark found: a column per task, a row per metric, averages and their test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.core.display import (
    RankingRow,
    Record,
    Result,
    Summary,
    keys,
    named,
    one_line,
    ranked,
    ranking,
)
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Table
from steelyard.core.table import Column as TableColumn
from steelyard.core.text import plural
from steelyard.metaevaluation.benchmark.words import told_of_benchmark
from steelyard.metaevaluation.results import Significance
from steelyard.stats.metametrics.swap_tests import Null


@dataclass(frozen=True, slots=True)
class SetSummary(Record):
    """A set that took part: its name, gold score, systems, and segments that people scored."""

    json_keys = keys("name human n_systems n_segments systems")
    name: str
    human: str
    systems: tuple[str, ...]
    n_segments: int

    @property
    def n_systems(self) -> int:
        """How many systems took part."""
        return len(self.systems)


@dataclass(frozen=True, slots=True)
class Column(Record):
    """One task: a meta-metric on one set (or pooled over all), with the values of all metrics."""

    json_keys = keys(
        "set=test with=by level group_by domain human_systems=humans weight values ranks"
    )
    test: str
    by: str
    level: str
    group_by: str | None
    domain: str | None
    humans: bool
    weight: float
    values: Mapping[str, float]
    lowest: float
    names: tuple[str, ...] = ()
    null: Null | None = field(default=None, repr=False)
    ranks: Mapping[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """A short name, for a table."""
        return f"{self.test} {self.short_label}"

    @property
    def short_label(self) -> str:
        """The same without the set."""
        grouped = f"/{self.group_by}" if self.group_by not in (None, "item") else ""
        parts = [self.domain, f"{self.by}{grouped}", self.level, "+human" if self.humans else None]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Standing(Record):
    """One metric on the leaderboard; ``rank`` is its cluster where the average was tested."""

    metric: str
    average: float
    average_rank: float
    rank: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class BenchmarkResult(Result):
    """A leaderboard over several sets, and what it rests on."""

    benchmark: str
    title: str
    order: str
    sets: tuple[SetSummary, ...]
    absent: tuple[str, ...]
    columns: tuple[Column, ...]
    standings: tuple[Standing, ...]
    significance: Significance | None = None
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @property
    def partial(self) -> bool:
        """Whether sets of the protocol are missing."""
        return bool(self.absent)

    def words(self) -> Summary:
        """Say which metric is first over all tasks, what stays open, what the average rests on."""
        return Summary.of(told_of_benchmark(self))

    def __repr__(self) -> str:
        sets = f"{len(self.sets)} of {plural(len(self.sets) + len(self.absent), 'set')}"
        order = named([standing.metric for standing in self.standings])
        return one_line(self, f"of {self.benchmark}, {sets}: {order}")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        tested = {} if self.significance is None else {"average": self.significance.to_dict()}
        return {
            "benchmark": self.benchmark,
            "title": self.title,
            "order": self.order,
            "partial": self.partial,
            "sets": [one.to_dict() for one in self.sets],
            "absent": list(self.absent),
            "ranking": ranking("metric", self._places()),
            "tasks": [column.to_dict() for column in self.columns],
            "results": [standing.to_dict() for standing in self.standings],
            "significance": tested,
            **origin(self.provenance),
            "warnings": list(self.warnings),
        }

    def _places(self) -> Iterator[RankingRow]:
        """Give which metric is where, in the order of the leaderboard."""
        by_rank = self.order == "rank"
        values = [one.average_rank if by_rank else one.average for one in self.standings]
        ranks = ranked(values, higher_is_better=not by_rank)
        for one, rank in zip(self.standings, ranks, strict=True):
            yield RankingRow(one.metric, rank, one.average, tier=one.rank)

    def table(self, most: int = 12) -> Table:
        """Give the leaderboard; tasks get columns of their own where there are not too many."""
        tested = any(s.rank is not None for s in self.standings)
        shown = self.columns if len(self.columns) <= most else ()
        heads = [TableColumn("metric")]
        heads += [TableColumn("rank", importance=8)] if tested else []
        heads.append(TableColumn("average", "higher", digits=3, importance=9))
        heads.append(TableColumn("average rank", "lower", digits=2, importance=7))
        alone = len(self.sets) + len(self.absent) == 1
        labels = [column.short_label if alone else column.label for column in shown]
        heads += [TableColumn(label, "higher", digits=3) for label in labels]
        rows: list[tuple[Cell, ...]] = []
        for s in self.standings:
            row: list[Cell] = [s.metric]
            row += [s.rank] if tested else []
            row += [s.average, s.average_rank]
            row += [column.values.get(s.metric) for column in shown]
            rows.append(tuple(row))
        rules = frozenset(i for i in range(1, len(rows)) if tested and rows[i][1] != rows[i - 1][1])
        sizes = "; ".join(
            f"{one.name} ({one.human}: {plural(len(one.systems), 'system')}, "
            f"{plural(one.n_segments, 'segment')})"
            for one in self.sets
        )
        notes = [f"{self.title}: {sizes}"]
        if self.absent:
            notes.append(f"partial average: without {', '.join(self.absent)}")
        tasks = plural(sum(column.weight > 0 for column in self.columns), "task")
        scaled = f"average over {tasks}, each scaled to 0..1"
        notes.append(f"{scaled}; ordered by average {self.order}")
        return Table("", tuple(heads), tuple(rows), tuple(notes), rules)
