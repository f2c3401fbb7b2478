"""What a comparison of systems found: rankings, tests, clusters, and where rankings disagree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.later import deferred
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Frame, Table, interval_decimals
from steelyard.core.words import plural
from steelyard.data.independence import SEGMENT, UnitEffect
from steelyard.stats.arrays import Floats
from steelyard.stats.ranks import whole

MOST_SHOWN = 300  # systems up to which every pair gets intervals and a place in a report
CORPUS, SENTENCES, PROPORTION = "corpus score", "sentence scores", "proportion"  # what is ranked by


@dataclass(frozen=True, slots=True)
class Ranked:
    """One ranking of the systems, in the order of :attr:`Comparison.systems`.

    Scores are in the numbers of the score itself; ``pairwise[i, j]`` of a mean or a median is that
    of i minus that of j. ``of`` says what is ranked by, where that is not the segment scores.
    ``pairwise_low`` and ``pairwise_high`` are the interval of ``pairwise``, ``gap_low`` and
    ``gap_high`` that of the difference of two scores: of means, strengths or ratings. Averages are
    numbers of the score's own scale; of strengths and ratings more is better. ``pairwise`` of these
    follows from one fit of all systems; ``alone[i, j]`` is the share of segments (or battles) that
    i wins against j, ties as half, each pair by itself. None for averages, of which ``pairwise``
    looks at the pair alone anyway.
    """

    scores: Floats
    ranks: Floats
    pairwise: Floats
    low: Floats | None = None
    high: Floats | None = None
    best_rank: Floats | None = None
    worst_rank: Floats | None = None
    gap_low: Floats | None = None
    gap_high: Floats | None = None
    spread: Floats | None = None
    rank_shares: Floats | None = None  # share of the resamples in which i takes place j + 1
    pairwise_low: Floats | None = None
    pairwise_high: Floats | None = None
    higher_is_better: bool = True
    of: str | None = None
    average: bool = False
    parameters: Mapping[str, float] | None = None  # of a rating
    notes: tuple[str, ...] = ()
    alone: Floats | None = None

    def turned(self) -> Ranked:
        """Give the same ranking in numbers of the other sign, of which less is better."""

        def minus(values: Floats | None) -> Floats | None:
            return None if values is None else 0.0 - values  # no -0.0

        return replace(
            self,
            scores=0.0 - self.scores,
            pairwise=0.0 - self.pairwise,
            low=minus(self.high),
            high=minus(self.low),
            gap_low=minus(self.gap_high),
            gap_high=minus(self.gap_low),
            pairwise_low=minus(self.pairwise_high),
            pairwise_high=minus(self.pairwise_low),
            higher_is_better=not self.higher_is_better,
        )

    def to_dict(self, systems: Sequence[str]) -> dict[str, Any]:
        """Give what ``--json`` prints."""

        def named(values: Floats | None) -> dict[str, Any] | None:
            return None if values is None else dict(zip(systems, map(_number, values), strict=True))

        def ranges(low: Floats | None, high: Floats | None) -> dict[str, Any] | None:
            if low is None or high is None:
                return None
            pairs = ([_number(a), _number(b)] for a, b in zip(low, high, strict=True))
            return dict(zip(systems, pairs, strict=True))

        def matrices(low: Floats | None, high: Floats | None) -> dict[str, Any] | None:
            return None if low is None else {"low": low, "high": high}

        return {
            "scores": named(self.scores),
            "ranks": dict(zip(systems, whole(self.ranks), strict=True)),
            "ci": ranges(self.low, self.high),
            "rank_ci": ranges(self.best_rank, self.worst_rank),
            "pairwise": self.pairwise if self.pairwise.size else None,
            "pairwise_alone": self.alone,
            "pairwise_ci": matrices(self.pairwise_low, self.pairwise_high),
            "gap_ci": matrices(self.gap_low, self.gap_high),
            "spread": named(self.spread),
            "higher_is_better": self.higher_is_better,
            "of": self.of,
            "parameters": None if self.parameters is None else dict(self.parameters),
        }


def with_pairs_alone(found: Mapping[str, Ranked], share: Floats | None) -> dict[str, Ranked]:
    """Give rankings with the share that each system wins of each other, where they are no averages.

    None where there are too many systems for matrices.
    """
    return {name: own if own.average else replace(own, alone=share) for name, own in found.items()}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True, slots=True)
class PairTest:
    """p-values of all pairs of systems, raw and corrected; ``of`` is what a corpus metric tests."""

    p: Floats
    p_adjusted: Floats
    alternative: str
    correction: str
    unit: str = SEGMENT  # what is independent
    of: str | None = None
    error: float = 0.0  # numerical, of the raw p-values
    reason: str = ""  # which question the test asks
    told: tuple[str, ...] = ()  # what pairs it leaves out

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        names = (one.name for one in fields(self) if one.name not in ("reason", "told"))
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Tiers:
    """Clusters of systems under one ranking, by the test that fits it, and what contradicts it."""

    test: str
    clusters: tuple[int | None, ...]
    letters: tuple[str | None, ...]
    warnings: tuple[str, ...] = ()

    def to_dict(self, systems: Sequence[str]) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "test": self.test,
            "clusters": dict(zip(systems, self.clusters, strict=True)),
            "letters": dict(zip(systems, self.letters, strict=True)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSystems(ABC):
    """What comparisons have in common, be they of scores or of battles: rankings, tests, tiers."""

    systems: tuple[str, ...]
    n_segments: int
    unit: UnitEffect
    aggregations: Mapping[str, Ranked]
    tests: Mapping[str, PairTest]
    tiers: Mapping[str, Tiers]
    effects: Mapping[str, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    alpha: float = 0.05

    @abstractmethod
    def size(self) -> str:
        """Say in words what was compared."""

    def shown(self, by: str) -> str:
        """Give the name of a ranking as tables and figures show it: ``corpus`` where it is that."""
        of = self.aggregations[by].of
        return {CORPUS: "corpus", PROPORTION: PROPORTION}.get(of or "", by)

    def ranking(self, by: str) -> list[str]:
        """Give the systems from best to worst; those without a rank come last, by name."""
        if by not in self.aggregations:
            raise UsageError(f"no ranking '{by}'; {hint(str(by), self.aggregations)}")
        ranks = self.aggregations[by].ranks
        keys = [(np.inf if np.isnan(r) else r, s) for r, s in zip(ranks, self.systems, strict=True)]
        return [self.systems[i] for i in sorted(range(len(keys)), key=keys.__getitem__)]

    def found_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints of what was found."""
        return {
            "aggregations": {k: v.to_dict(self.systems) for k, v in self.aggregations.items()},
            "tests": {name: test.to_dict() for name, test in self.tests.items()},
            "clusters": {name: tiers.to_dict(self.systems) for name, tiers in self.tiers.items()},
            "effects": dict(self.effects),
            "unit": self.unit.to_dict(),
        }

    def told_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints of what is said of a comparison, and how it came about."""
        return {
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def to_frame(self, backend: str | None = None) -> Frame:
        """Give a row per system as a pandas or polars frame."""
        return self.table().to_frame(backend)

    def table(self) -> Table:
        """Give the leaderboard: a row per system, ordered by the first ranking."""
        names = list(self.aggregations)
        first = names[0]
        columns = [Column("system")]
        for name in names:
            shown, many = self.shown(name), len(names) > 1
            key = f"{name} rank" if many else None
            columns.append(Column(f"{shown} rank" if many else "rank", key=key))
            columns += [Column("tier", key=f"{name} tier")] if name in self.tiers else []
            own = self.aggregations[name]
            digits = _digits(own)
            better: Literal["higher", "lower"] = "higher" if own.higher_is_better else "lower"
            columns.append(Column(shown, better, digits=digits, key=name))
            ends = ("low", "high") if own.low is not None else ()
            columns += [Column(end, digits=digits, key=f"{name} {end}") for end in ends]
        place = {system: i for i, system in enumerate(self.systems)}
        rows: list[tuple[Cell, ...]] = []
        bold: set[tuple[int, int]] = set()
        order = self.ranking(first)
        for k, system in enumerate(order):
            i = place[system]
            row: list[Cell] = [system]
            for name in names:
                own = self.aggregations[name]
                row.append(None if np.isnan(own.ranks[i]) else int(own.ranks[i]))
                if name in self.tiers:
                    row.append(self.tiers[name].clusters[i])
                    bold |= {(k, len(row))} if row[-1] == 1 else set()
                row.append(_number(own.scores[i]))
                if own.low is not None and own.high is not None:
                    row += [_number(own.low[i]), _number(own.high[i])]
            rows.append(tuple(row))
        rules: frozenset[int] = frozenset()
        if first in self.tiers:
            tier = [self.tiers[first].clusters[place[s]] for s in order]
            rules = frozenset(i for i in range(1, len(tier)) if tier[i] != tier[i - 1])
        notes = [self.size(), self.unit.sentence()]
        if self.tiers:
            used = ", ".join(f"{self.shown(by)} by {own.test}" for by, own in self.tiers.items())
            notes.append(f"tiers at {self.alpha:g}: {used}")
        notes += self.notes
        return Table("", tuple(columns), tuple(rows), tuple(notes), rules, frozenset(bold))

    def pair_tables(self) -> list[Table]:
        """Give matrices of row against column: of every ranking, of pairs alone, of every test.

        p-values are corrected ones.
        """
        order = self.ranking(next(iter(self.aggregations)))
        index = np.ix_(*[[self.systems.index(s) for s in order]] * 2)

        def matrix(name: str, values: Floats, note: str, digits: int | None = 3) -> Table:
            columns = (Column(name), *(Column(s, digits=digits) for s in order))
            shown = values[index].copy()
            np.fill_diagonal(shown, np.nan)
            rows = tuple((s, *map(_number, row)) for s, row in zip(order, shown, strict=True))
            return Table("", columns, rows, (note,))

        tables = []
        alone = None
        for name, own in self.aggregations.items():
            if not own.pairwise.size:
                continue
            what = "probability that the row beats the column, by one fit of all systems"
            if own.average:
                what = "difference, row minus column"
            alone = alone if own.alone is None else own.alone
            digits = _digits(own) if own.average else 3
            tables.append(matrix(self.shown(name), own.pairwise, f"{name}: {what}", digits))
        if alone is not None:
            what = "share of comparisons that the row wins, ties as half, each pair by itself"
            tables.append(matrix("alone", alone, f"alone: {what}"))
        for name, test in self.tests.items():
            note = f"p ({test.alternative}, {test.correction}); {test.reason}"
            tables.append(matrix(name, test.p_adjusted, note))
        return tables


@dataclass(frozen=True, kw_only=True)
class Comparison(RankedSystems):
    """Systems against systems on the same segments.

    Rankings are there; tests, tiers, effects, and what is said of them, are worked out when they
    are first looked at.

    Numbers are those of the score itself, also where less is better (``higher_is_better``); ranks
    count from the best. ``effects`` of who is better (``superiority``, ``cliffs_delta``) are that
    of the row, whatever the direction.
    """

    score: str
    higher_is_better: bool = True
    unit: UnitEffect = deferred()  # noqa: RUF009 - it makes a field
    tests: Mapping[str, PairTest] = deferred()
    tiers: Mapping[str, Tiers] = deferred()
    effects: Mapping[str, Floats] = deferred()
    diagnosis: Mapping[str, Any] = deferred()
    notes: tuple[str, ...] = deferred(())
    warnings: tuple[str, ...] = deferred(())
    provenance: Provenance | None = deferred(None)  # noqa: RUF009

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "score": self.score,
            "systems": list(self.systems),
            "n_segments": self.n_segments,
            "higher_is_better": self.higher_is_better,
            **self.found_dict(),
            "diagnosis": dict(self.diagnosis),
            **self.told_dict(),
        }

    def size(self) -> str:
        """Say in words what was compared."""
        size = f"{plural(len(self.systems), 'system')}, {plural(self.n_segments, 'segment')}"
        return f"score {self.score}: {size}"


def _digits(own: Ranked) -> int:
    """Digits that follow the standard error; without one, strengths need more than ratings."""
    if own.low is not None and own.high is not None:
        found = interval_decimals(own.scores, own.low, own.high)
        if found is not None:
            return found
    size = np.nanmax(np.abs(own.scores), initial=0.0)
    return 1 if size >= 1000 else 2 if size >= 10 else 3
