"""Two systems by one score: the segments that both have, and what is worth a look among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.comparison.options import CardOptions
from steelyard.comparison.scores import check_segments, is_binary, the_score
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import check_pair
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.units import Units, units_of
from steelyard.stats.arrays import Counts, Floats, same_digits
from steelyard.stats.permutation.corpus import CorpusStatistics

_SHOWN = 5  # regressions that are listed


@dataclass(frozen=True, slots=True, eq=False)
class TwoSystems:
    """Two systems by one score, on the segments that both have (``known`` of all)."""

    score: str
    pair: tuple[str, str]
    rows: list[int]
    table: ScoreTable
    known: np.ndarray
    both: Floats  # more is better
    units: Units
    statistics: CorpusStatistics | None

    @property
    def blocks(self) -> Counts | None:
        """The codes of units, None where each is a single segment."""
        return self.units.codes

    @property
    def sign(self) -> float:
        """1 where higher is better, else -1."""
        return 1.0 if self.table.higher_is_better else -1.0

    @property
    def binary(self) -> bool:
        """Whether segments are right or wrong: every score is 0 or 1."""
        return self.statistics is None and is_binary(self.table.values)

    def own(self, first: float, second: float) -> tuple[float, float]:
        """Give values of both in the numbers of the score itself."""
        return float(self.sign * first + 0.0), float(self.sign * second + 0.0)


def two_systems(
    es: EvalSet, pair: tuple[str, str], score: str | None, options: CardOptions
) -> TwoSystems:
    """Take two systems of a set, on the segments that both have."""
    check_pair(pair=pair)
    for name in pair:
        if name not in es.systems:
            raise UsageError(f"no system '{name}'; {hint(name, es.systems)}")
    if pair[0] == pair[1]:
        raise UsageError(f"a pair needs two systems, got '{pair[0]}' twice")
    chosen = the_score(es, score)
    check_segments(es, chosen)
    table, rows = es[chosen], [es.systems.index(name) for name in pair]
    values = table.oriented[rows]
    stats = None if table.statistics is None else table.statistics.select(systems=rows)
    known = np.asarray((~np.isnan(values) if stats is None else stats.known).all(axis=0))
    if not known.any():
        raise UsageError(f"{pair[0]} and {pair[1]} share no segment with a '{chosen}' score")
    return TwoSystems(
        score=chosen,
        pair=pair,
        rows=rows,
        table=table,
        known=known,
        both=values[:, known],
        units=units_of(es.segments, options.unit, known).of(known),
        statistics=None if stats is None else stats.select(segments=np.flatnonzero(known)),
    )


@dataclass(frozen=True, slots=True)
class Regression:
    """A segment on which the better system is worse."""

    segment: str
    first: float
    second: float
    source: str | None = None
    outputs: tuple[str | None, str | None] = (None, None)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "segment": self.segment,
            "scores": [self.first, self.second],
            "source": self.source,
            "outputs": list(self.outputs),
        }


def regressions_of(es: EvalSet, two: TwoSystems, lead: float) -> tuple[Regression, ...]:
    """Segments on which the system that is ahead loses most."""
    loss = np.subtract(*two.both) if lead >= 0 else -np.subtract(*two.both)
    places, sources = np.flatnonzero(two.known), es.segments.sources
    found = []
    for k in np.argsort(loss, kind="stable")[:_SHOWN]:
        if not loss[k] < 0:
            break
        s = int(places[k])
        source = None if sources is None else sources[s]
        a, b = (es.outputs[name][s] if name in es.outputs else None for name in two.pair)
        found.append(Regression(es.segments.ids[s], *two.own(*two.both[:, k]), source, (a, b)))
    return tuple(found)


def unofficial(two: TwoSystems, means: Floats) -> list[str]:
    """Warn where the official scores of the two are something else than what is compared."""
    if two.table.system_scores is None or two.statistics is not None:
        return []
    official = two.table.system_scores[two.rows]
    if np.isnan(official).any() or same_digits(official, means):
        return []
    told = (
        f"means of segment scores are compared, which the official system scores of '{two.score}' "
        f"({official[0]:.4g}, {official[1]:.4g}) are not"
    )
    if np.subtract(*official) * np.subtract(*means) < 0:
        told += "; these order the two the other way"
    return [told]
