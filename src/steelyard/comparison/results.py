"""What a comparison of systems found: rankings, tests, clusters, and where rankings disagree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from steelyard.comparison import words
from steelyard.comparison.ranked import CORPUS, PROPORTION, PairTest, Ranked, Tiers, number
from steelyard.core.display import RankingRow, Result, Summary, named, one_line, ranking
from steelyard.core.errors import UsageError, hint
from steelyard.core.lazy import lazy_field
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Table, interval_decimals
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.units import UnitEffect
from steelyard.stats.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RankedSystems(Result):
    """What comparisons have in common, be they of scores or of battles: rankings, tests, tiers."""

    #: What intervals of ranks are taken over, and what would settle more, in words.
    DRAWN: ClassVar[str] = "resampled test sets"
    MORE: ClassVar[str] = "a larger test set"

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

    @abstractmethod
    def measure(self, by: str) -> str:
        """Say in a sentence what a ranking goes by: of what, over how much."""

    def called(self, by: str) -> str:
        """Name a ranking in a sentence."""
        return words.named(self, by)

    def leaders(self) -> dict[str, tuple[str, ...]]:
        """Give the best systems by each ranking."""
        return {by: tuple(words.best_of(self, by)) for by in self.aggregations}

    def n_turned(self) -> int:
        """Count the pairs that rankings order differently, where that is known."""
        return 0

    def ahead_on_common(self, by: str, system: str) -> list[str]:  # noqa: ARG002
        """Give the systems that rank below one, but lead it on what both have."""
        return []

    def words(self) -> Summary:
        """Say who is best, what stays open, how sure that is."""
        return Summary.of(words.told(self))

    def __repr__(self) -> str:
        order = [f"; {by}: {named(self.ranking(by))}" for by in list(self.aggregations)[:1]]
        return one_line(self, f"by {self.size()}{''.join(order)}")

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
            "ranking": ranking("system", self._places()),
            "aggregations": {k: v.to_dict(self.systems) for k, v in self.aggregations.items()},
            "tests": {name: test.to_dict() for name, test in self.tests.items()},
            "clusters": {name: tiers.to_dict(self.systems) for name, tiers in self.tiers.items()},
            "effects": dict(self.effects),
            "unit": self.unit.to_dict(),
        }

    def _places(self) -> Iterator[RankingRow]:
        """Give who is where by the first ranking, best first."""
        for by, own in list(self.aggregations.items())[:1]:
            tiers = self.tiers.get(by)
            at = {system: i for i, system in enumerate(self.systems)}
            for system in self.ranking(by):
                i = at[system]
                yield RankingRow(
                    system,
                    None if np.isnan(own.ranks[i]) else int(own.ranks[i]),
                    float(own.scores[i]),
                    None if own.low is None else float(own.low[i]),
                    None if own.high is None else float(own.high[i]),
                    None if tiers is None else tiers.clusters[i],
                )

    def told_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints of what is said of a comparison, and how it came about."""
        return {
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def table(self) -> Table:
        """Give the leaderboard: a row per system, ordered by the first ranking."""
        names = list(self.aggregations)
        first = names[0]
        columns = [Column("system")]
        for name in names:
            shown, many = self.shown(name), len(names) > 1
            key = f"{name} rank" if many else None
            # On a narrow screen the first ranking stays whole; of the others the scores do.
            ordered, grouped, score = (8, 7, 9) if name == first else (4, 3, 5)
            columns.append(Column(f"{shown} rank" if many else "rank", key=key, importance=ordered))
            if name in self.tiers:
                columns.append(Column("tier", key=f"{name} tier", importance=grouped))
            own = self.aggregations[name]
            digits = _digits(own)
            better: Literal["higher", "lower"] = "higher" if own.higher_is_better else "lower"
            columns.append(Column(shown, better, digits=digits, key=name, importance=score))
            ends = ("low", "high") if own.low is not None else ()
            columns += [
                Column(end, digits=digits, key=f"{name} {end}", importance=score - 3)
                for end in ends
            ]
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
                row.append(number(own.scores[i]))
                if own.low is not None and own.high is not None:
                    row += [number(own.low[i]), number(own.high[i])]
            rows.append(tuple(row))
        rules: frozenset[int] = frozenset()
        if first in self.tiers:
            tier = [self.tiers[first].clusters[place[s]] for s in order]
            rules = frozenset(i for i in range(1, len(tier)) if tier[i] != tier[i - 1])
        notes = [self.size(), self.unit.sentence()]
        if self.tiers:
            used = ", ".join(
                f"{self.shown(by)} by {words.by_test(own.test)}" for by, own in self.tiers.items()
            )
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
            rows = tuple((s, *map(number, row)) for s, row in zip(order, shown, strict=True))
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


@dataclass(frozen=True, slots=True, eq=False)
class OverAll:
    """Means over all segments that each system has, where ranks go by those that all have."""

    n_segments: int
    means: Floats

    def note(self, systems: tuple[str, ...], n_common: int) -> str:
        """Say what systems are ranked on, and the means over everything."""
        means = ", ".join(f"{s} {m:.4g}" for s, m in zip(systems, self.means, strict=True))
        ranked_on = f"ranked on the {n_common:,} segments that all systems have"
        return f"{ranked_on}, of {self.n_segments:,}; means over all that each has: {means}"

    def to_dict(self, systems: tuple[str, ...]) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        means = dict(zip(systems, map(number, self.means), strict=True))
        return {"n_segments": self.n_segments, "means": means}


@dataclass(frozen=True, kw_only=True, repr=False)
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
    n_scored: tuple[int, ...] = ()  # segments that each system has; empty where nothing counts them
    over_all: OverAll | None = None  # set where ranks go by the segments that all systems have
    unit: UnitEffect = lazy_field()  # noqa: RUF009 - it makes a field
    tests: Mapping[str, PairTest] = lazy_field()
    tiers: Mapping[str, Tiers] = lazy_field()
    effects: Mapping[str, Floats] = lazy_field()
    diagnosis: Mapping[str, Any] = lazy_field()
    notes: tuple[str, ...] = lazy_field(())
    warnings: tuple[str, ...] = lazy_field(())
    provenance: Provenance | None = lazy_field(None)  # noqa: RUF009
    source: EvalSet | None = field(default=None, compare=False)  # what figures of segments show

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "score": self.score,
            "systems": list(self.systems),
            "n_segments": self.n_segments,
            "n_scored": dict(zip(self.systems, self.n_scored, strict=False)),
            "over_all": None if self.over_all is None else self.over_all.to_dict(self.systems),
            "higher_is_better": self.higher_is_better,
            **self.found_dict(),
            "diagnosis": dict(self.diagnosis),
            **self.told_dict(),
        }

    def leaders(self) -> dict[str, tuple[str, ...]]:
        """Give the best systems by each ranking."""
        return {name: tuple(own) for name, own in self.diagnosis.get("best", {}).items()}

    def n_turned(self) -> int:
        """Count the pairs that rankings order differently."""
        return len(self.diagnosis.get("disagreements", ()))

    def measure(self, by: str) -> str:
        """Say in a sentence what a ranking goes by."""
        size = plural(self.n_segments, "segment")
        if self.over_all is not None:
            size = f"the {size} that all systems have"
        elif self.uneven:
            size = f"the segments that each has ({self._each()})"
        return f"{words.named(self, by)} {self.score} over {size}"

    @property
    def uneven(self) -> bool:
        """Whether some systems have fewer segments than others, or others of as many."""
        return any(n < self.n_segments for n in self.n_scored)

    def ahead_on_common(self, by: str, system: str) -> list[str]:
        """Give the systems that rank below one, but have the better average where both have scores.

        None where every system has all segments, or no average is ranked by.
        """
        ranked, i = self.aggregations[by], self.systems.index(system)
        if not (self.uneven and ranked.average and ranked.pairwise.size):
            return []
        lead = ranked.pairwise[i] * (1 if ranked.higher_is_better else -1)
        ranks = dict(zip(self.systems, ranked.ranks, strict=True))
        ahead = {s for s, own in zip(self.systems, lead, strict=True) if own < 0}
        return [s for s in self.ranking(by) if s in ahead and ranks[s] > ranks[system]]

    def _each(self) -> str:
        least, most = min(self.n_scored), max(self.n_scored)
        return f"{least:,}" if least == most else f"{least:,} to {most:,}"

    def size(self) -> str:
        """Say in words what was compared."""
        size = f"{plural(len(self.systems), 'system')}, {plural(self.n_segments, 'segment')}"
        each = f" ({self._each()} of each system)" if self.uneven else ""
        return f"score {self.score}: {size}{each}"


def _digits(own: Ranked) -> int:
    """Digits that follow the standard error; without one, strengths need more than ratings."""
    if own.low is not None and own.high is not None:
        found = interval_decimals(own.scores, own.low, own.high)
        if found is not None:
            return found
    size = np.nanmax(np.abs(own.scores), initial=0.0)
    return 1 if size >= 1000 else 2 if size >= 10 else 3
