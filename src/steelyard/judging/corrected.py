"""What people would say of systems, as few labels and many verdicts tell: the result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.comparison.results import Comparison, PairTest, Ranked
from steelyard.comparison.tests import Verdicts as Leads
from steelyard.comparison.tests import tiers_by
from steelyard.core.display import Result, Summary, one_line
from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Column, Table, interval_decimals
from steelyard.core.text import listed, plural
from steelyard.data.units import UnitEffect
from steelyard.judging.options import BT
from steelyard.stats.arrays import Floats
from steelyard.stats.distributions import expit
from steelyard.stats.estimate import Estimate
from steelyard.stats.prediction_powered.mean import Corrected, Together
from steelyard.stats.ranks import ranks, whole

TEST = "max-t"


@dataclass(frozen=True, slots=True)
class CorrectedSystem:
    """A system: what the judge alone, the labels alone, and both together say of it."""

    system: str
    found: Corrected

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        own = self.found.to_dict()
        human = own.pop("human")
        return {
            "system": self.system,
            "judge": own.pop("judge"),
            "human": human["value"],
            "human_ci": human["ci"],
            **own,
        }


@dataclass(frozen=True, slots=True)
class CorrectedPair:
    """Two systems: how far the first is ahead; ``how`` says what the difference was taken from."""

    one: str
    other: str
    found: Corrected
    how: str
    p: float = float("nan")
    p_adjusted: float = float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        own = self.found.to_dict()
        human = own.pop("human")
        return {
            "pair": [self.one, self.other],
            "judge": own.pop("judge"),
            "human": human["value"],
            "human_ci": human["ci"],
            **own,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "from": self.how,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """All systems and pairs, before they are tested; matrices are row minus column."""

    systems: tuple[CorrectedSystem, ...]
    pairs: tuple[CorrectedPair, ...]
    covariance: Floats
    differences: Floats
    errors: Floats
    freedom: Floats
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Correction(Result):
    """Systems by people, from few labels and the verdicts of a judge.

    Parameters
    ----------
    judge, labels, by
        Whose verdicts, how labels were chosen, and what systems are measured by.
    overall
        The mean of all rows; None where systems are ranked by strengths.
    parts
        Systems and pairs, with the covariance of their estimates.
    together
        Tests of all pairs at once, and places; None where there are none.
    asked
        The pair that was asked for; None: all of them.
    """

    judge: str
    labels: str
    by: str
    n_rows: int
    n_labelled: int
    n_judged: int
    unit: UnitEffect
    overall: Corrected | None
    parts: Parts
    together: Together | None
    asked: CorrectedPair | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    level: float = 0.95
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[CorrectedSystem, ...]:
        """The systems, in the order of their names."""
        return self.parts.systems

    @property
    def pairs(self) -> tuple[CorrectedPair, ...]:
        """All pairs of systems, or the one that was asked for."""
        return self.parts.pairs if self.asked is None else (self.asked,)

    @property
    def weight(self) -> float:
        """How much the judge is listened to: lambda, of all rows or the mean of systems."""
        if self.overall is not None:
            return self.overall.weight
        own = [one.found.weight for one in self.systems]
        return float(np.mean(own)) if own else float("nan")

    @property
    def weighs_alike(self) -> bool:
        """Whether labels alone, each counted once, say something of all rows."""
        return not self.labels.startswith("by")

    def __repr__(self) -> str:
        by = f"{self.n_labelled:,} labels and '{self.judge}'"
        systems = plural(len(self.systems), "system")
        return one_line(self, f"of {plural(self.n_rows, 'row')} by {by}; {systems}")

    def words(self) -> Summary:
        """Say who is ahead by people, who else could be, and what the judge adds."""
        from steelyard.judging.correctionwords import told

        return Summary.of(told(self))

    @property
    def comparison(self) -> Comparison:
        """The same as a comparison of systems: ranks, tiers, tests of all pairs."""
        if self.together is None or len(self.systems) < 2:
            raise UsageError("a comparison needs two or more systems with an error of their means")
        own = [one.found.estimate for one in self.systems]
        names = tuple(one.system for one in self.systems)
        values = np.array([one.value for one in own])
        differences, together = self.parts.differences, self.together
        places = ranks(values, close=1e-9)
        low, high = self._ends()
        bt = self.by == BT
        known = ~np.isnan(values)
        ranked = Ranked(
            scores=values,
            ranks=places,
            pairwise=np.asarray(expit(differences)) if bt else differences,
            low=np.array([one.low for one in own]),
            high=np.array([one.high for one in own]),
            best_rank=np.where(known, together.best, np.nan),
            worst_rank=np.where(known, together.worst, np.nan),
            gap_low=low,
            gap_high=high,
            pairwise_low=np.asarray(expit(low)) if bt else low,
            pairwise_high=np.asarray(expit(high)) if bt else high,
            rank_shares=together.shares,
            average=not bt,
        )
        test = PairTest(
            together.p, together.p_adjusted, "two-sided", "all pairs at once",
            reason="of what people would say, from labels and verdicts",
        )  # fmt: skip
        tiers = tiers_by(self.by, places, names, Leads(TEST, test, differences), 1 - self.level)
        return Comparison(
            systems=names,
            n_segments=self.n_rows,
            unit=self.unit,
            aggregations={self.by: ranked},
            tests={TEST: test},
            tiers={} if tiers is None else {self.by: tiers},
            effects={},
            diagnosis={},
            notes=self.notes,
            warnings=self.warnings,
            provenance=self.provenance,
            alpha=round(1 - self.level, 12),
            score=f"people, by {self.n_labelled:,} labels and {self.judge}",
        )

    def _ends(self) -> tuple[Floats, Floats]:
        """Give the intervals of all differences."""
        k = len(self.systems)
        place = {one.system: i for i, one in enumerate(self.systems)}
        low, high = np.full((k, k), np.nan), np.full((k, k), np.nan)
        for pair in self.parts.pairs:
            i, j = place[pair.one], place[pair.other]
            low[i, j], high[i, j] = pair.found.estimate.low, pair.found.estimate.high
            low[j, i], high[j, i] = -high[i, j], -low[i, j]
        return low, high

    def table(self) -> Table:
        """Give a row per system, the best first; or of all rows together where there is none."""
        own = self._ordered()
        tiers: Mapping[str, int | None] = {}
        places: Mapping[str, tuple[float, float]] = {}
        if self.together is not None and len(self.systems) > 1:
            found = self.comparison
            names = found.systems
            ranked = found.aggregations[self.by]
            assert ranked.best_rank is not None
            assert ranked.worst_rank is not None
            places = {
                name: (best, worst)
                for name, best, worst in zip(
                    names, ranked.best_rank, ranked.worst_rank, strict=True
                )
            }
            if self.by in found.tiers:
                tiers = dict(zip(names, found.tiers[self.by].clusters, strict=True))
        digits = self._digits()
        columns = (
            Column("system"),
            *((Column("tier", importance=8), Column("place from"), Column("to")) if places else ()),
            Column("corrected", "higher", digits, importance=9), Column("low", None, digits),
            Column("high", None, digits), Column("labels alone", None, digits),
            Column("judge alone", None, digits), Column("weight", None, 2), Column("labels"),
        )  # fmt: skip
        rows = []
        for name, one in own:
            best, worst = places.get(name, (math.nan, math.nan))
            place = (tiers.get(name), *whole(np.array([best, worst]))) if places else ()
            estimate = one.estimate
            rows.append((name, *place, estimate.value, estimate.low, estimate.high,
                         one.people.value, one.judge, one.weight, one.n_labelled))  # fmt: skip
        what = "log-strengths" if self.by == BT else "means"
        source = f"{self.n_labelled:,} labels ({self.labels}) and {self.n_judged:,} verdicts"
        notes = (f"{what} by people, from {source} of {self.judge}", *self.notes)
        if not self.weighs_alike:
            notes = (*notes, "labels alone are counted as they stand, whatever they were chosen by")
        return Table("", columns, tuple(rows), notes)

    def _digits(self) -> int | None:
        known = [one.estimate for _, one in self._ordered() if one.estimate.bounded]
        if not known:
            return 3
        ends = (np.array([getattr(one, end) for one in known]) for end in ("value", "low", "high"))
        return interval_decimals(*ends)

    def _ordered(self) -> list[tuple[str, Corrected]]:
        own = [(one.system, one.found) for one in self.systems]
        own.sort(
            key=lambda one: (math.isnan(one[1].estimate.value), -one[1].estimate.value, one[0])
        )
        return own if self.overall is None else [*own, ("all", self.overall)]

    def summary(self) -> str:
        """Say what the labels alone, the judge alone and both together say, and what is gained."""
        from steelyard.judging.correctionwords import said

        return said(self)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        comparison = None
        if self.together is not None and len(self.systems) > 1:
            comparison = self.comparison.rankings_dict()
        return {
            "summary": self.summary().splitlines(),
            "n_items": self.n_rows,
            "n_labelled": self.n_labelled,
            "labels": self.labels,
            "unit": {"name": self.unit.name, "n": self.unit.n},
            "corrected": {
                "judge": self.judge,
                "by": self.by,
                "lambda": self.weight,
                "overall": None if self.overall is None else self.overall.to_dict(),
                "systems": [one.to_dict() for one in self.systems],
                "pairs": [pair.to_dict() for pair in self.pairs],
            },
            "comparison": comparison,
            **self.more,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }


def worth_more(with_judge: Estimate, people: Estimate) -> float:
    """Give how many times as many labels would be as good as the judge; NaN where not known.

    Examples
    --------
    >>> worth_more(Estimate(0.5, se=0.05), Estimate(0.5, se=0.1))
    4.0
    """
    if not (with_judge.se > 0 and people.se > 0):
        return float("nan")
    return (people.se / with_judge.se) ** 2


def named(systems: list[str]) -> str:
    """List systems in words."""
    return listed(systems, 4, last=" and ")
