"""Why rankings disagree: segments that sway the mean, kinds of segments, and their imbalance.

And what would change the order by Bradley-Terry: other treatments of ties, a system left out; and
who leads in which group of segments, such as domains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.comparison.options import TIES, RankOptions
from steelyard.comparison.rankings import FEW, Aggregate, Compared
from steelyard.comparison.results import LEVEL, MOST_SHOWN, Comparison, number
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
from steelyard.stats.strength.bradleyterry import Strengths, bradley_terry
from steelyard.stats.strength.wins import WinCounts

_NAMED = 5  # segments, or pairs, that are named at most
_GRID = 256
_ALIKE = ("half", "davidson")  # treatments of ties that may know a system by its points
_MOST = 60  # systems up to which every one is left out in turn
MOST_GROUPED = 30  # systems that are looked at, the best ones: every pair is tested in every group


def diagnose(es: EvalSet, data: Compared, ranks: Mapping[str, Aggregate]) -> dict[str, Any]:
    """Explain the pairs that rankings order differently.

    Gives ``disagreements`` (the pairs, with the segments that sway the mean, the modes of their
    differences and the domains that go the other way; none for more than 300 systems), ``best``
    (the winners by each ranking) and ``warnings``. Winners that tie are all best.
    """
    systems = data.systems
    names = [name for name in ("mean", "sentence-mean", "median", "bt") if name in ranks]
    best = {
        name: [s for s, rank in zip(systems, ranking.ranks, strict=True) if rank == 1]
        for name, ranking in ranks.items()
    }
    warnings = []
    tops = [set(top) for top in best.values() if top]
    if tops and not set.intersection(*tops):
        shown = "; ".join(f"{name}: {', '.join(top)}" for name, top in best.items() if top)
        warnings.append(f"rankings disagree on the best system ({shown})")
    explained = []
    if names and len(systems) <= MOST_SHOWN:
        ahead = np.stack([_ahead(ranks[name]) for name in names])
        apart = np.triu((ahead > 0).any(axis=0) & (ahead < 0).any(axis=0), 1)
        for i, j in np.argwhere(apart).tolist():
            signs = dict(zip(names, ahead[:, i, j].tolist(), strict=True))
            explained.append(_explain(es, data, (i, j), signs))
    return {"best": best, "disagreements": explained, "warnings": warnings}


def _ahead(ranking: Aggregate) -> Floats:
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
        "modes": modes(gap[~np.isnan(gap)]),
        "domains": _domains(es, data.sign * gap, two),
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


def modes(values: Floats) -> int:
    """Peaks of the smoothed density that a valley of at least a fifth of the lower one separates.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> modes(rng.normal(size=300)), modes(np.r_[rng.normal(-4, 1, 300), rng.normal(4, 1, 300)])
    (1, 2)
    """
    if len(values) < 10 or np.ptp(values) == 0:
        return 1
    quartiles = float(np.subtract(*np.percentile(values, [75, 25])))
    width = 0.9 * (min(values.std(), quartiles / 1.34) or values.std()) * len(values) ** -0.2
    grid = np.linspace(values.min() - 3 * width, values.max() + 3 * width, _GRID)
    edges = np.r_[grid - (grid[1] - grid[0]) / 2, grid[-1] + (grid[1] - grid[0]) / 2]
    counts = np.histogram(values, bins=edges)[0]
    density = np.exp(-0.5 * ((grid[:, None] - grid[None, :]) / width) ** 2) @ counts
    up = np.r_[True, density[1:] > density[:-1]]
    down = np.r_[density[1:] < density[:-1], True]
    peaks = np.flatnonzero(up & down & (density > 0.05 * density.max()))
    count, last = 1, next(iter(peaks), 0)  # a peak of two equal heights is none
    for peak in peaks[1:]:
        lower = min(density[last], density[peak])
        if density[last : peak + 1].min() < 0.8 * lower:
            count, last = count + 1, peak
        elif density[peak] > density[last]:
            last = peak
    return count


def _domains(es: EvalSet, gap: Floats, two: CorpusStatistics | None) -> dict[str, Any] | None:
    """Difference of the scores and share of segments in each domain, if there are several."""
    names = es.segments.domains
    if names is None or len(es.domains) < 2:
        return None
    labels = np.array([name or "" for name in names], dtype=object)
    present = ~np.isnan(gap)
    result = {}
    for domain in es.domains:
        here = present & (labels == domain)
        if not here.any():
            continue
        difference = float(gap[here].mean())
        if two is not None:
            scores = two.select(segments=np.flatnonzero(here)).corpus_scores()
            difference = float(scores[0] - scores[1])
        share = float(here.sum() / present.sum())
        result[domain] = {"difference": difference, "share": share}
    return result


def _fit(counts: WinCounts, options: RankOptions, ties: str | None = None) -> Strengths:
    ties = options.ties if ties is None else ties
    return bradley_terry(counts.wins, counts.ties, ties_as=ties, prior=options.prior)


def _order(fit: Strengths, systems: Sequence[str]) -> list[tuple[float, str]]:
    return sorted((float(r), s) for r, s in zip(fit.ranks, systems, strict=True) if not np.isnan(r))


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
    needs = f"tests without it would need {gain:.1f} times the segments"
    text = f"pairing: two systems correlate by {correlation:.2f} over segments; {needs}"
    return {"correlation": correlation, "unpaired_needs": gain}, [text]


def _by_points(counts: WinCounts, options: RankOptions) -> bool:
    """Tell whether two treatments of ties order systems by their points, hence alike.

    Where all pairs met equally often, wins and half of the ties are all that Davidson's likelihood
    knows of a system, as with ties as half a win; and who has more of them is stronger. There is a
    finite fit of both where every system has beaten every other.
    """
    off = ~np.eye(len(counts.wins), dtype=bool)
    met = counts.met[off]
    return not options.prior and bool((met == met[:1]).all() and (counts.wins[off] > 0).all())


def tie_note(
    counts: WinCounts,
    systems: Sequence[str],
    options: RankOptions,
    fit: Strengths | None = None,
) -> list[str]:
    """Say whether the order changes under other treatments of ties.

    ``fit`` is that of the options, where it was made before.
    """
    share = counts.ties.sum() / max(counts.met.sum(), 1)
    if not share:
        return ["bt: no ties"]
    order = _order(_fit(counts, options) if fit is None else fit, systems)
    moved = []
    alike = _ALIKE if options.ties in _ALIKE and _by_points(counts, options) else (options.ties,)
    for policy in TIES:
        if policy in (*alike, "second"):
            continue
        other = _order(_fit(counts, options, policy), systems)
        if [s for _, s in other] != [s for _, s in order]:
            rank_of = {s: r for r, s in order}
            names = [s for r, s in other if rank_of.get(s) != r]
            if not other:
                moved.append(f"{policy} leaves nothing to rank by")
            elif names:
                moved.append(f"{policy} moves {', '.join(names[:4])}")
            else:
                lost = rank_of.keys() - {s for _, s in other}
                moved.append(f"{policy} leaves {', '.join(sorted(lost)[:4])} without a rank")
    shown = f"bt: {100 * share:.1f} % ties, treated as {options.ties}"
    if not moved:
        return [f"{shown}; the order is the same under the other treatments"]
    return [f"{shown}; the order differs: {'; '.join(moved)}"]


def order_flips(
    counts: WinCounts,
    systems: Sequence[str],
    options: RankOptions,
    fit: Strengths | None = None,
) -> list[str]:
    """Warn where the joint ranking contradicts a pair alone, or leaving a system out flips one."""
    fit = _fit(counts, options) if fit is None else fit
    half = counts.wins + counts.ties / 2
    joint = np.sign(fit.ranks[None, :] - fit.ranks[:, None])
    alone = np.sign(half - half.T)
    against = np.triu((joint * alone < 0) | ((joint == 0) & (alone != 0)), 1)
    pairs = np.argwhere(against)
    warnings: list[str] = []
    for i, j in pairs[: FEW + 1]:
        first, second = (i, j) if alone[i, j] > 0 else (j, i)
        won = f"{systems[first]} beats {systems[second]} head to head"
        below = "below" if joint[i, j] else "with"
        warnings.append(TypedWarning(f"{won}, but ranks {below} it among all", "head-to-head"))
    warnings = first_few(warnings, len(pairs))
    if not 2 < len(systems) <= _MOST:
        return warnings
    flips: list[str] = []
    for out in range(len(systems)):
        rest = [i for i in range(len(systems)) if i != out]
        less = _fit(counts.within(rest), options)
        before = np.sign(fit.ranks[rest][None, :] - fit.ranks[rest][:, None])
        after = np.sign(less.ranks[None, :] - less.ranks[:, None])
        for a, b in np.argwhere(np.triu(before * after < 0, 1)):
            pair = f"{systems[rest[a]]} and {systems[rest[b]]}"
            text = f"bt: without {systems[out]}, {pair} change places"
            flips.append(TypedWarning(text, "bt-order"))
    return warnings + first_few(flips)


def first_few(warnings: list[str], total: int | None = None) -> list[str]:
    """Keep a list of like warnings short; there may be more of them than are listed.

    >>> first_few(list("abcde"), 7)
    ['a', 'b', 'c', 'd', 'e (and 2 more of this kind)']
    """
    total = len(warnings) if total is None else total
    if total <= FEW + 1:
        return warnings
    last = f"{warnings[FEW]} (and {total - FEW - 1} more of this kind)"
    return [*warnings[:FEW], TypedWarning(last, code_of(warnings[FEW]))]


# -- groups of segments


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
        return np.stack([ranked(column) for column in turned.T], axis=1)

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
        turns = []
        for i, j in zip(*pair_index(len(self.systems)), strict=True):
            here, there = np.flatnonzero(better[i, j]), np.flatnonzero(better[j, i])
            if len(here) and len(there):
                pair = self.systems[i], self.systems[j]
                turns.append(Turn(*pair, self.names[here[0]], self.names[there[0]]))
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
        columns = (
            Column("system"), Column(group), Column("segments"), Column("rank"),
            Column("mean", "higher" if self.higher_is_better else "lower", digits=digits),
            Column("low", digits=digits), Column("high", digits=digits),
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        all_ranks = self.ranks
        for g, name in enumerate(self.names):
            group_ranks = whole(all_ranks[:, g])
            order = sorted(
                range(len(group_ranks)),
                key=lambda i: (group_ranks[i] is None, group_ranks[i] or 0, i),
            )
            rows += [
                (self.systems[i], name, self.sizes[g], group_ranks[i],
                 *(number(x[i, g]) for x in (self.mean, self.low, self.high)))
                for i in order
            ]  # fmt: skip
        cuts = frozenset(range(len(self.systems), len(rows), len(self.systems)))
        note = f"low, high: 95 % interval of the mean (t, {self.unit}s as independent)"
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
