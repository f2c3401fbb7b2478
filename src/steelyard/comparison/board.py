"""How firm a leaderboard is: who ties with the first, what few votes decide, what reruns change."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from steelyard.core.display import Record
from steelyard.core.errors import UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.formats.reshape import RunRows
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate, passes, rate_estimate
from steelyard.stats.strength.bradleyterry import Strengths
from steelyard.stats.strength.clustered_errors import fewest_battles, fewest_items
from steelyard.stats.strength.wins import WinCounts

if TYPE_CHECKING:
    from steelyard.comparison.results import Comparison

_MOST_FITTED = 150  # systems up to which every pair of neighbours by strength is looked at
_GAIN = 0.05  # share by which more runs must narrow an interval to be worth their cost


@dataclass(frozen=True, slots=True)
class Flip(Record):
    """A system and the next one: the fewest items or battles without which it has no lead."""

    rank: int
    system: str
    next: str
    fewest: int | None


@dataclass(frozen=True, slots=True)
class Board(Record):
    """How firm a ranking is; ``chance_first`` is over resampled items, tasks or battles."""

    by: str
    first: str
    tied_with_first: tuple[str, ...]
    chance_first: float | None
    of: str
    n: int
    flips: tuple[Flip, ...]

    def sentence(self, noun: str) -> str:
        """Return what decides the first place, and the rank that the fewest items decide."""
        parts = []
        if self.chance_first is not None:
            parts.append(f"{self.first} is first in {self.chance_first:.0%} of resamples")
        decided = [flip for flip in self.flips if flip.fewest]
        first = [flip for flip in decided if flip.rank == 1][:1]
        least = sorted(decided, key=lambda flip: (flip.fewest or 0, flip.rank))[:1]
        of = self.of if self.of == "battles" else f"{noun}s"
        flips = [
            f"{flip.fewest:,} of {self.n:,} {of} {'decides' if flip.fewest == 1 else 'decide'} "
            f"rank {flip.rank}"
            for flip in (first or least)
        ]
        flips += [f"{flip.fewest:,} rank {flip.rank}" for flip in least if first and least != first]
        return "; ".join([*parts, ", ".join(flips)]) if flips else "".join(parts)


def board_of(result: Comparison, counts: WinCounts | None, scores: Floats | None) -> Board | None:
    """Look at the first ranking: ``counts`` are battles, ``scores`` systems x items, if any."""
    by, ranked = result.first, result.aggregations[result.first]
    index = {system: i for i, system in enumerate(result.systems)}
    order = [s for s in result.ranking(by) if not np.isnan(ranked.ranks[index[s]])]
    if len(order) < 2:
        return None
    first, tiers = index[order[0]], result.tiers.get(by)
    tied: tuple[str, ...] = ()
    if tiers is not None:
        p = result.tests[tiers.test].p_adjusted[first]
        tied = tuple(s for s in order[1:] if not p[index[s]] < result.alpha)
    of, n = "items", 0
    fewest: Callable[[int, int], int | None] | None = None
    if scores is not None and by == "mean":
        n = int((~np.isnan(scores)).any(axis=0).sum())
        fewest = partial(_fewest_items, scores)
    elif counts is not None and by == "bt" and len(order) <= _MOST_FITTED:
        of, n = "battles", round(float(counts.wins.sum() + counts.ties.sum() / 2))
        fewest = partial(_fewest_battles, counts, ranked.strengths)
    flips = []
    for system, below in pairwise(order):
        i, j = index[system], index[below]
        decided = fewest(i, j) if fewest and ranked.ranks[i] < ranked.ranks[j] else None
        flips.append(Flip(int(ranked.ranks[i]), system, below, decided))
    chance = None if ranked.rank_shares is None else float(ranked.rank_shares[first, 0])
    return Board(by, order[0], tied, chance, of, n, tuple(flips))


def _fewest_items(scores: Floats, first: int, second: int) -> int | None:
    """Count items that both systems have; None where the first does not lead on these."""
    ahead = scores[first] - scores[second]
    ahead = ahead[~np.isnan(ahead)]
    return fewest_items(ahead) if ahead.sum() > 0 else None


def _fewest_battles(
    counts: WinCounts, fit: Strengths | None, first: int, second: int
) -> int | None:
    if fit is None or not {first, second} <= set(fit.main):
        return None
    main = list(fit.main)
    inside, theta = counts.within(main), fit.log_strength[main]
    return fewest_battles(inside, theta, main.index(first), main.index(second))


def tasks_as_items(es: EvalSet, fewest: int = 3) -> EvalSet | None:
    """Return a matrix of models x tasks with tasks as items; None with too few of either."""
    tables = {name: table for name, table in es.scores.items() if table.system_scores is not None}
    if es.n_systems < 2 or len(tables) < fewest:
        return None
    lower = [name for name, table in tables.items() if not table.higher_is_better]
    if lower:
        raise UsageError(f"tasks must all be better when higher, unlike {listed(lower)}")
    values = np.stack([t.system_scores for t in tables.values() if t.system_scores is not None], 1)
    note = (
        f"columns are tasks: systems are compared by their mean over {plural(len(tables), 'task')}"
    )
    scores = {"score" if len(tables) > 1 else min(tables): ScoreTable(values)}
    items, notes = Segments(tuple(tables)), (*es.notes, note)
    return replace(es, segments=items, scores=scores, ratings={}, notes=notes, neighbours={})


def run_noise(runs: Floats) -> tuple[float, float]:
    """Return the variance of an item's runs (items x runs, NaN missing), and of true item means."""
    n = (~np.isnan(runs)).sum(axis=1)
    freedom = int((n - 1).sum())
    if not freedom or len(runs) < 2:
        return math.nan, math.nan
    means = np.nanmean(runs, axis=1)
    within = float(np.nansum((runs - means[:, None]) ** 2)) / freedom
    return within, max(float(means.var(ddof=1)) - within * float((1 / n).mean()), 0.0)


def enough_runs(within: float, between: float) -> int | None:
    """Return the runs of an item after which more would narrow an interval by at most 5%."""
    if not between > 0:
        return None
    kept = (1 - _GAIN) ** 2
    return max(1, math.ceil(within / between * kept / (1 - kept) - 1e-9))


@dataclass(frozen=True, slots=True)
class SystemRuns(Record):
    """The runs of a system; ``pass_at`` and ``pass_all`` by k, empty unless scores are 0 or 1."""

    system: str
    n_items: int
    n_runs: tuple[int, int]  # of an item: the fewest and the most
    pass_at: dict[str, Estimate]
    pass_all: dict[str, Estimate]
    within: float
    between: float
    runs_enough: int | None
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeats(Record):
    """What repeated runs of items say of every system, by one score."""

    score: str
    k: tuple[int, ...]
    systems: tuple[SystemRuns, ...]

    def sentences(self) -> Iterator[str]:
        """Yield how many items flip, and how many runs are worth their cost."""
        most = max(self.systems, key=lambda row: (len(row.flips), row.system))
        if most.flips:
            flips = f"{len(most.flips):,} of {plural(most.n_items, 'item')} of {most.system}"
            yield f"{flips} change between runs: {listed(most.flips, 5)}."
        enough = [row.runs_enough for row in self.systems if row.runs_enough is not None]
        if enough:
            yield f"Enough runs of each item: {max(enough)}. More narrow intervals by at most 5%."

    def table(self) -> Table:
        """Return a row per system: runs, pass@k and pass^k with intervals, items that flip."""
        columns = [Column("system"), Column("items"), Column("runs")]
        for k in self.k:
            columns += [Column(f"pass@{k}", "higher", 3), Column(f"pass^{k}", "higher", 3)]
            columns += [Column(end, None, 3, key=f"pass^{k} {end}") for end in ("low", "high")]
        columns += [Column("changing items"), Column("enough runs")]
        rows: list[tuple[Cell, ...]] = []
        for row in self.systems:
            cells: list[Cell] = []
            for k in self.k:
                every = row.pass_all[str(k)]
                cells += [row.pass_at[str(k)].value, every.value, every.low, every.high]
            runs = " to ".join(map(str, dict.fromkeys(row.n_runs)))
            rows.append((row.system, row.n_items, runs, *cells, len(row.flips), row.runs_enough))
        return Table("Repeated runs", tuple(columns), tuple(rows))


def repeats_of(
    kept: Sequence[RunRows], systems: Collection[str], score: str, asked: Sequence[int] = ()
) -> Repeats | None:
    """Return what the runs of items say; None where no item has several."""
    runs: dict[str, dict[str, list[float]]] = {}
    for rows in kept:
        for (system, item), value in zip(rows.keys, rows.scores.get(score, ()), strict=False):
            if system in systems and not math.isnan(value):
                runs.setdefault(system, {}).setdefault(item, []).append(float(value))
    per_item = [values for items in runs.values() for values in items.values()]
    least, most = min(map(len, per_item), default=0), max(map(len, per_item), default=0)
    if most < 2:
        return None
    ks: tuple[int, ...] = ()
    if {value for values in per_item for value in values} <= {0.0, 1.0}:
        ks = tuple(sorted(set(asked or (1, least))))
        if ks[0] < 1 or ks[-1] > most:
            raise UsageError(f"pass@{ks[0] if ks[0] < 1 else ks[-1]}: items have up to {most} runs")
    elif asked:
        raise UsageError(f"pass@k needs scores that are 0 or 1, which '{score}' is not")
    return Repeats(score, ks, tuple(_system_runs(s, runs[s], ks) for s in sorted(runs)))


def _system_runs(system: str, items: dict[str, list[float]], ks: Sequence[int]) -> SystemRuns:
    n = np.array([len(values) for values in items.values()])
    runs = np.full((len(items), int(n.max())), np.nan)
    for row, values in zip(runs, items.values(), strict=True):
        row[: len(values)] = values
    correct = np.nansum(runs, axis=1)

    def rate(k: int, *, every: bool) -> Estimate:
        chances = passes(correct, n, k, every=every)
        return rate_estimate(chances[~np.isnan(chances)])

    within, between = run_noise(runs)
    flips = tuple(i for i, row in zip(items, runs, strict=True) if np.nanmin(row) < np.nanmax(row))
    pass_at, pass_all = ({str(k): rate(k, every=every) for k in ks} for every in (False, True))
    return SystemRuns(system, len(items), (int(n.min()), int(n.max())), pass_at, pass_all, within,
                      between, enough_runs(within, between), flips)  # fmt: skip
