"""Systems on groups of segments, such as domains: who leads where, and who changes places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.comparison.ranked import number
from steelyard.comparison.results import Comparison
from steelyard.comparison.scores import LEVEL
from steelyard.core.errors import UsageError
from steelyard.core.table import Cell, Column, Table, interval_decimals
from steelyard.core.text import all_of, listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.units import SEGMENT, Units, units_of
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.distributions import stdtrit
from steelyard.stats.paired.corrections import adjust
from steelyard.stats.paired.tests import mean_error, t_test
from steelyard.stats.permutation.corpus import pseudo_values
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks, whole

MOST = 30  # systems that are looked at, the best ones: every pair is tested in every group


@dataclass(frozen=True, slots=True)
class Turn:
    """Two systems that change places: ``first`` is ahead in one group, ``second`` in another."""

    first: str
    second: str
    here: str
    there: str

    def sentence(self) -> str:
        """Say it in words."""
        return (
            f"{self.first} is significantly better than {self.second} in {self.here}, "
            f"and significantly worse in {self.there}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Means of systems in groups of segments: arrays are systems x groups, systems best first.

    Numbers are those of the score itself. ``p`` (groups x systems x systems) are two-sided and
    corrected by Holm over all pairs in all groups; ``units`` counts what is independent.
    """

    score: str
    systems: tuple[str, ...]
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    units: tuple[int, ...]
    unit: str
    mean: Floats
    low: Floats
    high: Floats
    p: Floats
    alpha: float = 0.05
    higher_is_better: bool = True
    n_systems: int = 0

    @property
    def ranks(self) -> Floats:
        """Places of systems in each group, from 1; NaN without a mean."""
        turned = self.mean if self.higher_is_better else -self.mean
        return np.stack([ranks(column) for column in turned.T], axis=1)

    def leaders(self) -> dict[str, tuple[str, ...]]:
        """Give who ranks first in each group."""
        return {
            name: tuple(s for s, r in zip(self.systems, column, strict=True) if r == 1)
            for name, column in zip(self.names, self.ranks.T, strict=True)
        }

    def turns(self) -> list[Turn]:
        """Give the pairs of systems of which each is significantly better in some group."""
        gap = self.mean[:, None, :] - self.mean[None, :, :]
        gap = gap if self.higher_is_better else -gap
        better = (np.moveaxis(self.p, 0, -1) < self.alpha) & (gap > 0)
        found = []
        for i, j in zip(*pair_index(len(self.systems)), strict=True):
            here, there = np.flatnonzero(better[i, j]), np.flatnonzero(better[j, i])
            if len(here) and len(there):
                pair = self.systems[i], self.systems[j]
                found.append(Turn(*pair, self.names[here[0]], self.names[there[0]]))
        return found

    def changes(self) -> int:
        """Count the pairs of systems that are not in the same order in all groups."""
        places = self.ranks
        signs = np.sign(places[:, None, :] - places[None, :, :])
        i, j = pair_index(len(self.systems))
        with np.errstate(invalid="ignore"):
            both = (signs[i, j] > 0).any(axis=1) & (signs[i, j] < 0).any(axis=1)
        return int(both.sum())

    def led(self, group: str) -> str:
        """Say in a sentence who leads where; ``group`` is what a group is called."""
        leaders = self.leaders()
        often = Counter(leaders.values())
        best, n = often.most_common(1)[0]
        if not best:
            return f"No system has a score in most {group}s."
        held = f"{all_of(best)} {'ranks' if len(best) == 1 else 'rank'} first in "
        if n == len(self.names):
            return f"{held}{'both' if n == 2 else f'all {n}'} {group}s."
        others = [f"in {name} {all_of(own) or 'nobody'}" for name, own in leaders.items()
                  if own != best]  # fmt: skip
        return f"{held}{n} of {plural(len(self.names), group)}; {listed(others, 6)}."

    def digits(self) -> int | None:
        """Decimals that all numbers are shown with."""
        return interval_decimals(self.mean.ravel(), self.low.ravel(), self.high.ravel())

    def table(self, group: str) -> Table:
        """Give a row per system and group; ``group`` is what a group is called."""
        digits = self.digits()
        columns = (
            Column("system"), Column(group), Column("segments"), Column("rank"),
            Column("mean", "higher" if self.higher_is_better else "lower", digits=digits),
            Column("low", digits=digits), Column("high", digits=digits),
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        places = self.ranks
        for g, name in enumerate(self.names):
            own = whole(places[:, g])
            order = sorted(range(len(own)), key=lambda i: (own[i] is None, own[i] or 0, i))
            rows += [
                (self.systems[i], name, self.sizes[g], own[i],
                 *(number(x[i, g]) for x in (self.mean, self.low, self.high)))
                for i in order
            ]  # fmt: skip
        cuts = frozenset(range(len(self.systems), len(rows), len(self.systems)))
        note = f"low, high: 95 % interval of the mean (t, {self.unit}s as independent)"
        return Table("", columns, tuple(rows), (note,), cuts)


def compare_groups(
    es: EvalSet, found: Comparison, groups: Mapping[str, Counts], most: int = MOST
) -> Groups:
    """Compare systems in each group of segments, by the mean of the score that was compared by.

    ``groups`` are places of segments. The best ``most`` systems are looked at. Means have
    t-intervals over the units of the comparison; a corpus score is that of the group's segments
    together.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set()
    >>> found = sy.compare(es, "learned-refA", n_bootstrap=10)
    >>> halves = {"early": np.arange(225), "late": np.arange(225, 450)}
    >>> compare_groups(es, found, halves).leaders()
    {'early': ('Dolomite',), 'late': ('Dolomite',)}
    """
    systems = tuple(found.ranking(next(iter(found.aggregations)))[:most])
    units = units_behind(es, found)
    alone = np.arange(es.n_segments)
    codes = alone if units.codes is None else units.codes
    table = es[found.score]
    rows = np.array([es.systems.index(name) for name in systems], dtype=np.int64)
    means, lows, highs, tests, counts, sizes = [], [], [], [], [], []
    for own in groups.values():
        if table.statistics is None:
            scores = table.values[rows][:, own]
        else:
            part = table.statistics.select(systems=rows, segments=own)
            scores = pseudo_values(part)
        mean, error, freedom, _ = mean_error(scores, codes[own])
        reach = error * stdtrit(freedom, (1 + LEVEL) / 2)
        means.append(mean)
        lows.append(mean - reach)
        highs.append(mean + reach)
        tests.append(t_test(scores, codes[own]).p)
        some = ~np.isnan(scores).all(axis=0)
        sizes.append(int(some.sum()))
        counts.append(len(np.unique(codes[own][some])))
    i, j = pair_index(len(systems))
    every = np.stack(tests)
    every[:, i, j] = every[:, j, i] = adjust(every[:, i, j], "holm")
    return Groups(
        score=found.score,
        systems=systems,
        names=tuple(groups),
        sizes=tuple(sizes),
        units=tuple(counts),
        unit=units.name,
        mean=np.stack(means, axis=1),
        low=np.stack(lows, axis=1),
        high=np.stack(highs, axis=1),
        p=every,
        alpha=found.alpha,
        higher_is_better=table.higher_is_better,
        n_systems=len(found.systems),
    )


def units_behind(es: EvalSet, found: Comparison) -> Units:
    """Give the units that a comparison took as independent; segments where they are not known."""
    used = np.asarray(~np.isnan(es[found.score].values).all(axis=0))
    asked = found.unit.name.removesuffix(" segments")
    try:
        return units_of(es.segments, asked, used)
    except UsageError:
        return Units(SEGMENT, int(used.sum()))
