"""The result of a meta-evaluation: values, tests, the leaderboard, and its words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.core.decision import shown_p
from steelyard.core.display import (
    RankingRow,
    Record,
    Result,
    Statement,
    Summary,
    keys,
    named,
    one_line,
    ranked,
    ranking,
)
from steelyard.core.errors import UsageError, hint
from steelyard.core.lazy import lazy, lazy_field
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Frame, Table, interval_decimals
from steelyard.core.text import all_of, listed, plural
from steelyard.core.warnings import brief, code_of
from steelyard.data.evalset import EvalSet
from steelyard.data.units import SEGMENT, UnitEffect, many
from steelyard.stats.arrays import Floats
from steelyard.stats.curves import AgreementCurve
from steelyard.stats.judged.gap import Gap

_LETTERS = 6  # more letters than this per metric are for the JSON, not for a table
_WARNINGS = 3  # that a terminal shows
#: Kinds of warnings that the table shows, or that concern columns it does not show.
_DETAILS = frozenset(
    [
        "identical",
        "kept-outliers",
        "level-of-test",
        "no-interval",
        "no-value",
        "official-scores",
        "sentinel",
    ]
)


def quoted(names: Sequence[str]) -> str:
    """Name a few metrics, and count the others."""
    return listed([f"'{name}'" for name in names], 5, rest="other")


def resampled_units(intervals: str, unit: str = SEGMENT) -> str:
    """Name what is resampled: units, systems, or both."""
    names = {"system": "systems", "both": f"{many(unit)} and systems"}
    return names.get(intervals, many(unit))


def shown_ci(ci: tuple[float, float] | None, digits: int = 3) -> str:
    """Write an interval behind its value, if there is one."""
    if ci is None or np.isnan(ci).any():
        return ""
    return f", 95% CI {ci[0]:.{digits}f} to {ci[1]:.{digits}f}"


def lead(
    text: str, others: Sequence[str], p: float | None, close: Sequence[str]
) -> Iterator[Statement]:
    """Add to a sentence on the best metric whether the test finds its lead over the others.

    ``p`` is that of the lead over the second, None without a test, and ``close`` are the metrics
    that the test does not separate from the best.
    """
    if close:
        names = all_of(close) if len(close) <= 2 else f"{len(close)} other metrics"
        verb = "is" if len(close) == 1 else "are"
        yield "undecided", f"{text}, but {names} {verb} too close to call."
    elif p is not None:
        yield "settled", f"{text}, ahead of {others[0]} ({shown_p(p)})."
    else:
        yield "settled", f"{text}."
        if others:
            lost = f"Its lead over {others[0]} was not tested (significance=True)."
            yield "undecided", lost


def few_warnings(result: Any) -> Any:
    """Return a result with at most three warnings that change what somebody does."""
    main = [w for w in result.warnings if code_of(w).partition(":")[0] not in _DETAILS]
    shown = brief(main, "--details has all")
    if len(shown) > _WARNINGS:
        rest = f"{len(shown) - _WARNINGS + 1} more warnings: --details shows all"
        shown = [*shown[: _WARNINGS - 1], rest]
    fewer = copy(result)  # replace() would compute every lazy field
    object.__setattr__(fewer, "warnings", tuple(shown))
    return fewer


@dataclass(frozen=True, slots=True)
class Outliers(Record):
    """Systems that are far from all others by the human score, and what became of them.

    ``deviations`` are distances from the median in robust standard deviations, of the outliers,
    furthest first; ``undefined`` says why the rule has no answer.
    """

    json_keys = keys("systems deviations handling cutoff median scale undefined")
    human: str
    n_systems: int  # that were looked at
    cutoff: float
    handling: str
    median: float
    scale: float
    deviations: dict[str, float]
    undefined: str | None = None

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the outliers, furthest first."""
        return tuple(self.deviations)

    @property
    def label(self) -> str:
        """The outliers in words."""
        noun = "outlier" if len(self.systems) == 1 else "outliers"
        return f"{noun} {listed(self.systems, rest='other', last=' and ')}"


@dataclass(frozen=True, slots=True)
class Without(Record):
    """What a metric has without the outlying systems; the rank is by value, among all metrics."""

    value: float
    rank: int | None
    n_systems: int


@dataclass(frozen=True, slots=True)
class MetaResult(Record):
    """One metric under one meta-metric; ``rank`` is its cluster where significance was tested."""

    json_keys = keys(
        "metric with=by level group_by value ci rank rank_ci letters epsilon note "
        "n_systems n_segments n_cells without_outliers"
    )
    metric: str
    by: str
    level: str
    group_by: str | None
    value: float
    rank: int | None = None
    epsilon: float | None = None
    note: str | None = None
    ci: tuple[float, float] | None = None
    rank_ci: tuple[int, int] | None = None  # ranks it takes in 95% of the resamples
    letters: str | None = None
    n_systems: int | None = None  # scored by people and by the metric
    n_segments: int | None = None  # with a cell that both scored
    n_cells: int | None = None  # outputs (system, segment) that both scored
    without_outliers: Without | None = None  # at level sys, where there are some


@dataclass(frozen=True, slots=True)
class Significance(Record):
    """p-values of all pairs of metrics under one meta-metric; ``p[a][b]`` small: a beats b."""

    metrics: tuple[str, ...]
    p: Floats
    scheme: str
    n_resamples: int
    alternative: str
    p_adjusted: Floats | None = None
    correction: str = "none"
    note: str | None = None  # why p-values of the scheme are too small, where they are

    def between(self, first: str, other: str) -> float:
        """Return the decisive p-value that one metric beats another."""
        return float(self.decisive[self.metrics.index(first), self.metrics.index(other)])

    @property
    def decisive(self) -> Floats:
        """The p-values that clusters are made by: corrected, if they are; 1 where there is none."""
        chosen = self.p if self.p_adjusted is None else self.p_adjusted
        return np.where(np.isnan(chosen), 1.0, chosen)


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
    p_error: Mapping[str, float] = field(default_factory=dict)  # of p-values inside values
    resampled: str = "unit"
    unit: UnitEffect = field(default_factory=lambda: UnitEffect(SEGMENT, 0, 1.0))  # of people
    n_cells: int | None = None  # outputs (system, segment) that people scored
    outliers: Outliers | None = None  # by people's scores of systems
    source: EvalSet | None = field(default=None, compare=False)  # what figures of segments show
    #: What differences of the best metric are worth to people.
    worth: AgreementCurve | None = lazy_field(None)  # noqa: RUF009
    #: Smallest believable gaps of metrics; empty where systems are not compared.
    gaps: Mapping[str, Gap] = lazy_field(lazy(dict))

    @property
    def resampled_units(self) -> str:
        """What is resampled, in words."""
        return resampled_units(self.resampled, self.unit.name)

    @property
    def level(self) -> str:
        """``sys``, ``seg``, or ``both``."""
        levels = {result.level for result in self.results}
        return levels.pop() if len(levels) == 1 else "both"

    def values(self, by: str) -> dict[str, float]:
        """Return the value of each metric under one meta-metric."""
        names = dict.fromkeys(result.by for result in self.results)
        if by not in names:
            raise UsageError(f"no meta-metric '{by}' in this result; {hint(str(by), names)}")
        return {result.metric: result.value for result in self.results if result.by == by}

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "human": self.human,
            "level": self.level,
            "n_systems": self.n_systems,
            "n_segments": self.n_segments,
            "n_cells": self.n_cells,
            "systems": list(self.systems),
            "ranking": ranking("metric", self._ranking()),
            "results": [result.to_dict() | self._gap(result) for result in self.results],
            "significance": {by: test.to_dict() for by, test in self.significance.items()},
            "chance": dict(self.chance),
            "p_error": {by: error for by, error in self.p_error.items() if error > 1e-6},
            "unit": self.unit.to_dict(),
            "outliers": None if self.outliers is None else self.outliers.to_dict(),
            "worth": None if self.worth is None else self.worth.to_dict(),
            **origin(self.provenance),
            "warnings": list(self.warnings),
        }

    def _ranking(self) -> list[RankingRow]:
        first = [r for r in self.results if r.by == self.results[0].by] if self.results else []
        rows = [
            RankingRow(r.metric, rank, r.value, low, high, r.rank)
            for r, rank in zip(first, ranked([r.value for r in first]), strict=True)
            for low, high in [r.ci or (None, None)]
        ]
        return sorted(rows, key=lambda row: row.rank or len(rows) + 1)

    def _gap(self, result: MetaResult) -> dict[str, Any]:
        gap = self.gaps.get(result.metric) if result.level == "sys" else None
        if gap is None:
            return {"gap": None, "gap_details": None}
        return {"gap": gap.gap.value, "gap_details": gap.to_dict()}

    def __repr__(self) -> str:
        names = list(dict.fromkeys(result.metric for result in self.results))
        by = list(dict.fromkeys(result.by for result in self.results))
        size = f"{plural(self.n_systems, 'system')}, {plural(self.n_segments, 'segment')}"
        return one_line(self, f"of {named(names)} against {self.human} by {named(by)}: {size}")

    def digits(self) -> int:
        """Return the decimals of values: as many as intervals of the first meta-metric support."""
        rows = [r for r in self.results if r.by == self.results[0].by and r.ci is not None]
        low, high = ([r.ci[k] for r in rows if r.ci is not None] for k in (0, 1))
        return max(2, interval_decimals([r.value for r in rows], low, high) or 3)

    def to_frame(self, backend: str | None = None) -> Frame:
        """Return a row per result as a pandas or polars frame."""
        columns = ("metric", "with", "level", "group_by", "value", "rank", "epsilon", "note",
                   "n_systems", "n_cells")  # fmt: skip
        records = [result.to_dict() for result in self.results]
        rows = tuple(tuple(record[key] for key in columns) for record in records)
        return Table("", tuple(Column(key) for key in columns), rows).to_frame(backend)

    # Words.

    def words(self) -> Summary:
        """Return which metric agrees best with people, what stays open, how sure that is."""
        return Summary.of(self.statements())

    def answer(self) -> tuple[str, ...]:
        """Return at most three sentences: the best metric, what is open, and a caveat."""
        words = self.words()
        # The last sentence says what the answer rests on, as the table does.
        first = (*words.settled[:1], *words.undecided[:2])[:2]
        return (*first, *words.sureness[:-1][:1])

    def statements(self) -> Iterator[Statement]:
        """Yield the sentences of the result, each with its part of the summary."""
        ordered: dict[str, list[MetaResult]] = {result.by: [] for result in self.results}
        for result in sorted(self.results, key=lambda r: (-r.value, r.metric)):
            if not np.isnan(result.value):
                ordered[result.by].append(result)
        by, best = next(iter(ordered.items()), ("", []))
        if not best:
            what = f"{_label(by)} is undefined for every metric" if by else "There is no metric"
            yield "undecided", f"{what}."
            return
        yield from self._best(best)
        leaders: dict[str, list[str]] = {}
        for other, results in ordered.items():
            if results and results[0].metric != best[0].metric:
                leaders.setdefault(results[0].metric, []).append(_label(other))
        if leaders:
            parts = [f"by {all_of(names)}, {metric}" for metric, names in leaders.items()]
            yield "undecided", f"{'; '.join(parts)[:1].upper()}{'; '.join(parts)[1:]} agrees best."
        coarser = self.unit.coarser
        if self.significance and coarser is not None and coarser.low > 1:
            why = f"{self.human} has a {coarser.shown()} over {coarser.counted()}"
            yield "sureness", f'Tests by segment are too sure: {why} (unit="{coarser.name}").'
        yield from self._without_outliers(best)
        yield "sureness", f"This rests on {self._size(best[0])}."

    def _best(self, results: Sequence[MetaResult]) -> Iterator[Statement]:
        best, d = results[0], self.digits()
        value = f"{_label(best.by)} {best.value:.{d}f}{shown_ci(best.ci, d)}"
        if len(results) == 1:
            yield "settled", f"Agreement of {best.metric} with {self.human}: {value}."
            yield "undecided", "There is no other metric to compare it with."
            return
        tied = [r.metric for r in results if r.value == best.value]
        if len(tied) > 1:
            yield "settled", f"{all_of(tied)} agree best with {self.human} ({value})."
            return
        text = f"{best.metric} agrees best with {self.human} ({value})"
        if len({r.n_systems for r in results}) > 1:
            yield "undecided", f"{text}, but metrics cover different systems (common=True)."
            return
        names = [r.metric for r in results[1:]]
        test = self.significance.get(best.by) if best.rank is not None else None
        p = None if test is None else test.between(best.metric, names[0])
        yield from lead(text, names, p, [r.metric for r in results[1:] if r.rank == 1])

    def _without_outliers(self, results: Sequence[MetaResult]) -> Iterator[Statement]:
        far = self.outliers
        if far is None or not far.systems or far.handling == "keep":
            return
        if far.handling == "drop":
            yield "sureness", f"This is without the {far.label}."
            return
        rest = {r.metric: r.without_outliers.value for r in results if r.without_outliers}
        rest = {metric: value for metric, value in rest.items() if not np.isnan(value)}
        if not rest:
            return
        best, d = results[0], self.digits()
        first = max(rest, key=lambda metric: (rest[metric], metric == best.metric))
        value = f"{rest[best.metric]:.{d}f}" if best.metric in rest else "no value"
        text = f"{first} leads ({rest[first]:.{d}f} against {value})"
        if first == best.metric:
            text = f"{best.metric} still agrees best ({value})"
        yield "sureness", f"Without the {far.label}, {text}."

    def _size(self, result: MetaResult) -> str:
        systems = self.n_systems if result.n_systems is None else result.n_systems
        segments = self.n_segments if result.n_segments is None else result.n_segments
        of = f"{systems:,} of " if systems < self.n_systems else ""
        size = f"{of}{plural(self.n_systems, 'system')}"
        if result.level == "sys":
            size += f" ({plural(math.comb(systems, 2), 'pair')})"
        return f"{size} and {plural(segments, 'segment')}" if segments else size

    # Tables.

    def table(self, *, details: bool = False) -> Table:
        """Return the leaderboard: a row per metric, ordered by the first meta-metric.

        ``details`` adds sizes, ranks, values without outliers, and how large a difference counts.
        """
        columns, cells = zip(*self._columns(details=details), strict=True)
        at = {column.name: j for j, column in enumerate(columns) if column.better == "higher"}
        rows = {metric: i for i, metric in enumerate(cells[0])}
        bold = frozenset((rows[r.metric], at[r.by]) for r in self.results if r.rank == 1)
        notes = self._detail_notes() if details else [self._note()]
        return Table("", columns, tuple(zip(*cells, strict=True)), tuple(notes), bold=bold)

    def _columns(self, *, details: bool) -> Iterator[tuple[Column, list[Cell]]]:
        by_metric: dict[str, MetaResult] = {}
        for result in self.results:  # the first meta-metric is the order
            by_metric.setdefault(result.metric, result)
        rows = list(by_metric.values())
        yield Column("metric"), list(by_metric)
        if details or len({r.n_systems for r in rows}) > 1:
            yield Column("systems", importance=1), [r.n_systems for r in rows]
        if details:
            yield Column("cells", importance=1), [r.n_cells for r in rows]
        digits = self.digits()
        for by in dict.fromkeys(r.by for r in self.results):
            first = by == self.results[0].by
            scored = {r.metric: r for r in self.results if r.by == by}
            results = [scored.get(metric) for metric in by_metric]
            importance = 9 if first else 6  # on a narrow screen what explains a value goes first
            tested = any(r is not None and r.rank for r in results)
            if tested and (details or (first and not self._lettered)):
                rank = Column("rank", key=f"{by} rank", importance=importance - 1)
                yield rank, [r.rank if r else None for r in results]
            if first and self._lettered:
                yield Column("group", importance=7), [r.letters if r else None for r in results]
            value = Column(by, "higher", digits=digits, importance=importance)
            yield value, [r.value if r else None for r in results]
            rest = [r.without_outliers if r else None for r in results]
            if details and any(rest):
                without = Column("without", digits=digits, key=f"{by} without", importance=2)
                yield without, [other.value if other else None for other in rest]
            if first and any(r and r.ci for r in results):
                for k, end in enumerate(("low", "high")):
                    ends: list[Cell] = [r.ci[k] if r and r.ci else None for r in results]
                    yield Column(end, digits=digits, key=f"{by} {end}", importance=8), ends
        gaps = {m: g.gap.value for m, g in self.gaps.items() if g.gap.known} if details else {}
        if gaps:
            gap = Column("gap", "lower", mixed=True, importance=4)
            yield gap, [gaps.get(metric) for metric in by_metric]

    @property
    def _lettered(self) -> bool:
        """Whether the first meta-metric has groups with few enough letters to show."""
        first = [len(r.letters or "") for r in self.results if r.by == self.results[0].by]
        return 0 < max(first, default=0) <= _LETTERS

    def _note(self) -> str:
        every = self.n_segments if self.source is None else self.source.n_segments
        of = f"{self.n_segments:,} of " if 0 < self.n_segments < every else ""
        size = f"{plural(self.n_systems, 'system')} and {of}{plural(every, 'segment')}"
        note = f"Agreement with {self.human} on {size}"
        if any(result.ci for result in self.results):
            drawn = self.resampled_units
            note += "; low, high: 95% CI" + ("" if drawn == "segments" else f" over {drawn}")
        if self._lettered:
            note += "; metrics that share a letter do not differ significantly"
        return f"{note}."

    def _detail_notes(self) -> list[str]:
        notes = [self._note()]
        if self.outliers is not None and any(r.without_outliers for r in self.results):
            notes.append(f"without: value without the {self.outliers.label}")
        notes += self._unit_notes()
        if self.gaps:
            notes.append(_about_gaps(self.gaps))
        notes += [] if self.worth is None else [f"Differences: {self.worth.needed_sentence()}"]
        return notes + [f"{by}: chance level {level:.3f}" for by, level in self.chance.items()]

    def _unit_notes(self) -> list[str]:
        """Say what is independent, and what a coarser unit would give."""
        coarser = self.unit.coarser
        if self.unit.name != SEGMENT or coarser is None:
            return [] if self.unit.name == SEGMENT else [self.unit.sentence()]
        return [f"unit: segments; {self.human} has a {coarser.shown()} over {coarser.counted()}"]


def _label(by: str) -> str:
    return by.upper() if by in ("spa", "pa") else by


def _about_gaps(gaps: Mapping[str, Gap]) -> str:
    """Say what a gap is, and how it does where it can be checked."""
    defined = [gap for gap in gaps.values() if gap.gap.known]
    tried = [gap.left_out for gap in defined if not np.isnan(gap.left_out)]
    text = "gap: smallest difference in mean segment score that reliably matches the human order"
    if tried:
        text += f" ({100 * float(np.mean(tried)):.0f}% of larger gaps agree, leave-one-system-out)"
    inverted = len(gaps) - len(defined)
    more = f"; omitted for {plural(inverted, 'metric')} that may be inverted" if inverted else ""
    return text + more
