"""Why rankings disagree on two systems, and who leads in which group of segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from steelyard.comparison.rankings import Compared
from steelyard.comparison.results import LEVEL, MOST_SHOWN, Comparison, Ranked, number
from steelyard.core.errors import UsageError
from steelyard.core.table import Cell, Column, Table, interval_decimals
from steelyard.core.text import all_of, listed, plural
from steelyard.core.warnings import TypedWarning, code_of
from steelyard.data.evalset import EvalSet
from steelyard.data.units import SEGMENT, Units, units_of
from steelyard.stats.arrays import Counts, Floats, median
from steelyard.stats.distributions import stdtrit
from steelyard.stats.paired.corrections import adjust
from steelyard.stats.paired.tests import mean_error, t_test
from steelyard.stats.permutation.corpus import CorpusStatistics, pseudo_values
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks as ranked
from steelyard.stats.ranks import whole
from steelyard.stats.spread import pairing_strength
from steelyard.stats.strength.wins import WinCounts

_NAMED = 5  # segments, or warnings of a kind, that are listed at most
MOST_GROUPED = 30  # systems that are looked at, the best ones: every pair is tested in every group


def disagreements(
    es: EvalSet, data: Compared, rankings: Mapping[str, Ranked]
) -> list[dict[str, Any]]:
    """Explain the pairs that averages and Bradley-Terry order differently; of 300 systems at most.

    Each has the segments that sway the mean.
    """
    names = [name for name in ("mean", "sentence-mean", "median", "bt") if name in rankings]
    if not names or len(data.systems) > MOST_SHOWN:
        return []
    ahead = np.stack([_ahead(rankings[name]) for name in names])
    apart = np.triu((ahead > 0).any(axis=0) & (ahead < 0).any(axis=0), 1)
    return [
        _explain(es, data, (i, j), dict(zip(names, ahead[:, i, j].tolist(), strict=True)))
        for i, j in np.argwhere(apart).tolist()
    ]


def _ahead(ranking: Ranked) -> Floats:
    """1 where the row ranks above the column, -1 below, 0 where neither (or unknown)."""
    return np.nan_to_num(np.sign(ranking.ranks[None, :] - ranking.ranks[:, None]))


def _explain(
    es: EvalSet, data: Compared, pair: tuple[int, int], signs: dict[str, int]
) -> dict[str, Any]:
    i, j = pair
    systems, gap = data.systems, data.scores[i] - data.scores[j]
    ahead = {
        name: systems[i] if sign > 0 else systems[j] if sign < 0 else None
        for name, sign in signs.items()
    }
    two = None if data.statistics is None else data.statistics.select(systems=pair)
    swaying = swaying_segments(gap) if two is None else swaying_corpus(two)
    return {
        "pair": [systems[i], systems[j]],
        "ahead": ahead,
        "wins": int((gap > 0).sum()),
        "losses": int((gap < 0).sum()),
        "ties": int((gap == 0).sum()),
        "swaying_segments": [es.segments.ids[k] for k in swaying[:_NAMED]],
        "n_swaying": len(swaying),
    }


def swaying_segments(gap: Floats) -> list[int]:
    """Fewest segments whose removal turns the sign of the mean difference, largest first.

    Examples
    --------
    >>> swaying_segments(np.array([-1.0, -1.0, 5.0, -1.0]))
    [2]
    """
    present = np.flatnonzero(~np.isnan(gap))
    total = float(gap[present].sum())
    if total == 0:
        return []
    side = np.sign(total)
    leading = present[np.sign(gap[present]) == side]
    order = leading[np.argsort(-np.abs(gap[leading]), kind="stable")]
    left = total - np.cumsum(gap[order])
    turned = np.flatnonzero(np.sign(left) != side)
    return [int(k) for k in order[: int(turned[0]) + 1]] if turned.size else []


def swaying_corpus(stats: CorpusStatistics) -> list[int]:
    """Few segments whose removal turns which of two systems has the higher corpus score.

    Segments are left out one after the other, those that add most to the lead first.
    """
    shared = np.flatnonzero(stats.known.all(axis=0))
    both = stats.select(segments=shared)
    side = np.sign(np.subtract(*both.corpus_scores()))
    if not side:
        return []
    pull = side * np.subtract(*pseudo_values(both))
    order = np.argsort(-pull, kind="stable")[: max(0, len(shared) - 1)]
    sums = both.values.sum(axis=1, keepdims=True) - np.cumsum(both.values[:, order], axis=1)
    left = both.combine(sums)
    turned = np.flatnonzero(np.sign(left[0] - left[1]) == -side)
    return [int(shared[k]) for k in order[: int(turned[0]) + 1]] if turned.size else []


def pairing_note(scores: Floats) -> tuple[dict[str, Any] | None, list[str]]:
    """Measure what it is worth that systems share segments, and say it.

    Medians over all pairs of systems; None for one system, for more than 300, and where scores do
    not vary.

    Examples
    --------
    >>> pairing_note(np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]]))[1]
    ['pairing: two systems correlate by 0.80 over segments; tests without it would need 5.0 times...
    """
    if not 1 < len(scores) <= MOST_SHOWN:
        return None, []
    correlation, gain = (median(values) for values in pairing_strength(scores))
    if not np.isfinite(correlation + gain):
        return None, []
    text = f"pairing does not help here (r = {correlation:.2f})"
    if gain > 1:
        needs = f"tests without it would need {gain:.1f} times the segments"
        text = f"pairing: two systems correlate by {correlation:.2f} over segments; {needs}"
    return {"correlation": correlation, "unpaired_needs": gain}, [text]


def tie_note(counts: WinCounts, ties: str) -> str:
    """Return the share of ties, and what Bradley-Terry does with them."""
    share = counts.ties.sum() / max(counts.met.sum(), 1)
    return f"bt: {100 * share:.1f}% ties, treated as {ties}" if share else "bt: no ties"


def head_to_head(counts: WinCounts, systems: Sequence[str], ranks: Floats) -> list[str]:
    """Warn where the joint ranking by Bradley-Terry contradicts a pair alone."""
    half = counts.wins + counts.ties / 2
    joint = np.sign(ranks[None, :] - ranks[:, None])
    alone = np.sign(half - half.T)
    against = np.triu((joint * alone < 0) | ((joint == 0) & (alone != 0)), 1)
    warnings = []
    for i, j in np.argwhere(against):
        first, second = (i, j) if alone[i, j] > 0 else (j, i)
        won = f"{systems[first]} beats {systems[second]} head to head"
        below = "below" if joint[i, j] else "with"
        warnings.append(TypedWarning(f"{won}, but ranks {below} it among all", "head-to-head"))
    return first_few(warnings)


def first_few(warnings: Sequence[str]) -> list[str]:
    """Keep a list of like warnings short.

    >>> first_few(list("abcdefg"))
    ['a', 'b', 'c', 'd', 'e (and 2 more of this kind)']
    """
    more = len(warnings) - _NAMED
    if more <= 0:
        return list(warnings)
    last = warnings[_NAMED - 1]
    text = f"{last} (and {more:,} more of this kind)"
    return [*warnings[: _NAMED - 1], TypedWarning(text, code_of(last))]


# -- groups of segments


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
        return np.stack([ranked(column) for column in turned.T], axis=1)

    def leaders(self) -> dict[str, tuple[str, ...]]:
        """Give who ranks first in each group."""
        return {
            name: tuple(s for s, r in zip(self.systems, column, strict=True) if r == 1)
            for name, column in zip(self.names, self.ranks.T, strict=True)
        }

    def turns(self) -> list[str]:
        """Say which pairs of systems are significantly better, each in some group."""
        gap = self.mean[:, None, :] - self.mean[None, :, :]
        gap = gap if self.higher_is_better else -gap
        better = (np.moveaxis(self.p, 0, -1) < self.alpha) & (gap > 0)
        turns = []
        for i, j in zip(*pair_index(len(self.systems)), strict=True):
            here, there = np.flatnonzero(better[i, j]), np.flatnonzero(better[j, i])
            if len(here) and len(there):
                turns.append(
                    f"{self.systems[i]} is significantly better than {self.systems[j]} in "
                    f"{self.names[here[0]]}, and significantly worse in {self.names[there[0]]}."
                )
        return turns

    def changes(self) -> int:
        """Count the pairs of systems that are not in the same order in all groups."""
        order = self.ranks
        signs = np.sign(order[:, None, :] - order[None, :, :])
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
        others = [f"in {name} {all_of(top) or 'nobody'}" for name, top in leaders.items()
                  if top != best]  # fmt: skip
        return f"{held}{n} of {plural(len(self.names), group)}; {listed(others, 6)}."

    def digits(self) -> int | None:
        """Decimals that all numbers are shown with."""
        return interval_decimals(self.mean.ravel(), self.low.ravel(), self.high.ravel())

    def table(self, group: str) -> Table:
        """Give a row per system and group; ``group`` is what a group is called."""
        digits = self.digits()
        better: Literal["higher", "lower"] = "higher" if self.higher_is_better else "lower"
        columns = (
            Column("system"), Column(group), Column("segments"), Column("rank"),
            Column("mean", better, digits=digits), Column("low", digits=digits),
            Column("high", digits=digits),
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for g, (name, ranks) in enumerate(zip(self.names, self.ranks.T, strict=True)):
            for i in np.argsort(ranks, kind="stable"):  # NaN last
                numbers = (number(x[i, g]) for x in (self.mean, self.low, self.high))
                rank = whole(ranks[i : i + 1])[0]
                rows.append((self.systems[i], name, self.sizes[g], rank, *numbers))
        cuts = frozenset(range(len(self.systems), len(rows), len(self.systems)))
        note = f"low, high: 95% interval of the mean (t, {self.unit}s as independent)"
        return Table("", columns, tuple(rows), (note,), cuts)


def compare_groups(
    es: EvalSet, comparison: Comparison, groups: Mapping[str, Counts], most: int = MOST_GROUPED
) -> Groups:
    """Compare systems in each group of segments, by the mean of the score that was compared by.

    ``groups`` are places of segments. The best ``most`` systems are looked at. Means have
    t-intervals over the units of the comparison; a corpus score is that of the group's segments
    together.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set()
    >>> comparison = sy.compare(es, "learned-refA", n_bootstrap=10)
    >>> halves = {"early": np.arange(225), "late": np.arange(225, 450)}
    >>> compare_groups(es, comparison, halves).leaders()
    {'early': ('Dolomite',), 'late': ('Dolomite',)}
    """
    systems = tuple(comparison.ranking(next(iter(comparison.aggregations)))[:most])
    units = units_behind(es, comparison)
    alone = np.arange(es.n_segments)
    codes = alone if units.codes is None else units.codes
    table = es[comparison.score]
    rows = np.array([es.systems.index(name) for name in systems], dtype=np.int64)
    means, lows, highs, tests, counts, sizes = [], [], [], [], [], []
    for segments in groups.values():
        if table.statistics is None:
            scores = table.values[rows][:, segments]
        else:
            part = table.statistics.select(systems=rows, segments=segments)
            scores = pseudo_values(part)
        mean, error, freedom, _ = mean_error(scores, codes[segments])
        reach = error * stdtrit(freedom, (1 + LEVEL) / 2)
        means.append(mean)
        lows.append(mean - reach)
        highs.append(mean + reach)
        tests.append(t_test(scores, codes[segments]).p)
        some = ~np.isnan(scores).all(axis=0)
        sizes.append(int(some.sum()))
        counts.append(len(np.unique(codes[segments][some])))
    i, j = pair_index(len(systems))
    every = np.stack(tests)
    every[:, i, j] = every[:, j, i] = adjust(every[:, i, j], "holm")
    return Groups(
        score=comparison.score,
        systems=systems,
        names=tuple(groups),
        sizes=tuple(sizes),
        units=tuple(counts),
        unit=units.name,
        mean=np.stack(means, axis=1),
        low=np.stack(lows, axis=1),
        high=np.stack(highs, axis=1),
        p=every,
        alpha=comparison.alpha,
        higher_is_better=table.higher_is_better,
        n_systems=len(comparison.systems),
    )


def units_behind(es: EvalSet, comparison: Comparison) -> Units:
    """Give the units that a comparison took as independent; segments where they are not known."""
    used = np.asarray(~np.isnan(es[comparison.score].values).all(axis=0))
    asked = comparison.unit.name.removesuffix(" segments")
    try:
        return units_of(es.segments, asked, used)
    except UsageError:
        return Units(SEGMENT, int(used.sum()))
