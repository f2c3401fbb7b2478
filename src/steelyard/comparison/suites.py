"""Suites (systems by task or slice, and the macro average), repeated runs, and firm leaderboards.

The macro average is the mean over tasks of their means: every task counts the same. Tasks are
fixed and independent, so that its variance is the sum of the tasks' variances over the square of
their number, with Satterthwaite's degrees of freedom; errors within a task are by unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from steelyard.comparison.rankings import proportion_interval
from steelyard.comparison.results import LEVEL, Comparison, by_name, decision_words, number
from steelyard.core.decision import Decision
from steelyard.core.display import Record, Statement
from steelyard.core.errors import UsageError, hint
from steelyard.core.table import Cell, Column, Table, interval_decimals
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.data.units import SEGMENT, UnitEffect, units_of
from steelyard.formats.reshape import RunRows
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.distributions import stdtr, stdtrit
from steelyard.stats.estimate import Estimate, passes, rate_estimate
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.corrections import adjust
from steelyard.stats.strength.bradleyterry import Strengths
from steelyard.stats.strength.clustered_errors import fewest_battles, fewest_items
from steelyard.stats.strength.wins import WinCounts

TASK = "task"
_MOST_FITTED = 150  # systems up to which every pair of neighbours by strength is looked at
_GAIN = 0.05  # share by which more runs must narrow an interval to be worth their cost
#: Formats of the logs of LLM evaluations, whose segments are called items.
_LLM_LOGS = ("lm-eval", "inspect", "promptfoo", "swe-bench")


def item_noun(es: EvalSet) -> str:
    """Return what the segments of a set are called: tasks of a leaderboard, items of LLM logs."""
    if es.inputs and all(file.format == "system table" for file in es.inputs):
        return TASK
    formats = " ".join(file.format.casefold() for file in es.inputs)
    llm = TASK in es.segments.metadata or any(name in formats for name in _LLM_LOGS)
    return "item" if llm else SEGMENT


@dataclass(frozen=True, slots=True)
class Part:
    """Systems on a task, a slice, or all of a set; ``lead`` is of the first over the second.

    Leads are positive in the better direction, NaN unless two systems are compared; ``error`` and
    ``freedom`` are those of the mean of differences by unit.
    """

    name: str
    n: int
    scores: Floats
    lead: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    p_adjusted: float = np.nan
    n_units: int = 0
    error: float = np.nan
    freedom: float = np.nan

    def difference(self, sign: float) -> float:
        """Return the first minus the second in the numbers of the score (-1: less is better)."""
        return sign * self.lead + 0.0

    def ends(self, sign: float) -> tuple[float, float]:
        """Return the interval of the difference."""
        low, high = sorted((sign * self.low + 0.0, sign * self.high + 0.0))
        return low, high

    def facts(self, systems: Sequence[str], sign: float) -> dict[str, Any]:
        """Return the scores, and of two systems the difference, as JSON has them."""
        return {
            "scores": by_name(systems, self.scores),
            "difference": number(self.difference(sign)),
            "ci": None if np.isnan(self.low) else list(self.ends(sign)),
            "p": number(self.p),
        }

    def decision(self, pair: Sequence[str], **more: Any) -> Decision:
        """Return the verdict on the two systems."""
        leader, other = pair
        value, low, high = self.lead, self.low, self.high
        if value < 0:
            leader, other, value, low, high = other, leader, -value, -high, -low
        return Decision(leader, other, value + 0.0, low + 0.0, high + 0.0, self.p, self.p_adjusted,
                        n_units=self.n_units, level=LEVEL, **more)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Suite:
    """Systems on the tasks, or slices, of a set, and the mean over these (``macro``)."""

    column: str
    systems: tuple[str, ...]
    parts: tuple[Part, ...]
    macro: Part
    higher_is_better: bool
    noun: str
    alpha: float
    of: str = ""  # the score in words

    @property
    def sign(self) -> float:
        """1 where higher is better, else -1."""
        return 1.0 if self.higher_is_better else -1.0

    def rows(self) -> list[dict[str, Any]]:
        """Return the parts as JSON has them."""
        key = TASK if self.column == TASK else "slice"
        return [
            {key: part.name, "n_segments": part.n, "p_adjusted": number(part.p_adjusted)}
            | part.facts(self.systems, self.sign)
            for part in self.ordered()
        ]

    def ordered(self) -> list[Part]:
        """Return the parts; of two systems, those where the leader is behind come first."""
        if len(self.systems) != 2:
            return list(self.parts)
        side = -1.0 if self.macro.lead < 0 else 1.0
        return sorted(self.parts, key=lambda part: (side * part.lead, part.name))

    def decision(self) -> Decision:
        """Return the decision on the two systems by the macro average."""
        test = "t-test of the macro average"
        return self.macro.decision(self.systems, test=test, unit=self.noun, alpha=self.alpha)

    def statements(self, pooled: Decision | None, unit: UnitEffect) -> Iterator[Statement]:
        """Yield the verdict by the macro average, what it is, and where pooling disagrees."""
        size = f"{plural(len(self.parts), 'task')} ({plural(self.macro.n, self.noun)})"
        what = f"macro average {self.of} over {size}"
        if len(self.systems) != 2:
            order = np.argsort(-self.sign * np.nan_to_num(self.macro.scores, nan=-np.inf))
            best = self.systems[int(order[0])]
            yield "settled", f"{best} ranks first of {len(self.systems)} systems by {what}."
        else:
            decision = self.decision()
            yield "settled" if decision.significant else "undecided", decision_words(decision)
            yield "sureness", f"The difference is that of the {what}."
            if pooled is not None and (text := self._pooled_sentence(pooled)):
                yield "sureness", text
        yield "sureness", unit.summary()

    def warnings(self) -> list[str]:
        """Warn where slices reverse the whole: significantly, or all of them."""
        if self.column == TASK or len(self.systems) != 2 or not self.macro.lead:
            return []
        behind = [part for part in self.parts if part.lead * self.macro.lead < 0]
        if len(behind) < len(self.parts):
            behind = [part for part in behind if part.p < self.alpha]
        if not behind:
            return []
        leader = self.systems[0 if self.macro.lead > 0 else 1]
        names = listed([part.name for part in behind], 3)
        return [f"{leader} leads on the whole, but is behind where {self.column} is {names}"]

    def _pooled_sentence(self, pooled: Decision) -> str:
        """Say where the mean over all items disagrees with the macro average."""
        macro, largest = self.decision(), max(self.parts, key=lambda part: part.n)
        share = f"{largest.name} has {largest.n / self.macro.n:.0%} of the {self.noun}s"
        if pooled.leader != macro.leader and pooled.difference and macro.difference:
            return f"Pooled over all {self.noun}s it is the reverse: {pooled.lead()}; {share}."
        if pooled.significant_alone != macro.significant_alone:
            verdict = "is" if pooled.significant_alone else "is not"
            return f"Pooled over all {self.noun}s the lead {verdict} significant; {share}."
        return ""

    def table(self) -> Table:
        """Return a row per task, and the macro average in the last one."""
        two, parts = len(self.systems) == 2, [*self.ordered(), self.macro]
        ends = ([value] for value in (self.macro.lead, self.macro.low, self.macro.high))
        digits = interval_decimals(*ends) if two else None
        columns = [Column(self.column), Column("n", importance=8)]
        columns += [Column(name, digits=digits, importance=8) for name in self.systems]
        rows: list[tuple[Cell, ...]] = [
            (part.name, part.n, *map(number, part.scores)) for part in parts
        ]
        if not two:
            return Table("", tuple(columns), tuple(rows), (), frozenset({len(self.parts)}))
        columns += [Column("difference", digits=digits, importance=9)]
        columns += [Column(end, digits=digits, importance=7) for end in ("low", "high")]
        columns += [Column("p", p_value=True, importance=8)]
        columns += [Column("p Holm", key="p_adjusted", p_value=True)]
        for k, part in enumerate(parts):
            adjusted = None if part is self.macro else number(part.p_adjusted)
            rows[k] += (part.difference(self.sign), *part.ends(self.sign), part.p, adjusted)
        notes = (f"difference: {' minus '.join(self.systems)}",)
        return Table("", tuple(columns), tuple(rows), notes, frozenset({len(self.parts)}))


def suite_of(
    es: EvalSet,
    score: str,
    systems: Sequence[str],
    column: str,
    *,
    unit: str,
    alpha: float = 0.05,
    of: str = "",
) -> Suite:
    """Compare systems on each task, or each value of a column, and by the mean over these."""
    known = {"document": es.segments.documents, "domain": es.segments.domains}
    columns = {name: x for name, x in {**known, **es.segments.metadata}.items() if x is not None}
    if column not in columns:
        raise UsageError(f"no column '{column}' to slice by; {hint(column, columns)}")
    table = es[score]
    rows = [es.systems.index(name) for name in systems]
    values = table.oriented[rows]
    used = np.asarray(~np.isnan(values).all(axis=0))
    units = units_of(es.segments, unit, used)
    codes = np.arange(es.n_segments) if units.codes is None else units.codes
    sign = 1.0 if table.higher_is_better else -1.0
    labels = np.array([label or "" for label in columns[column]], dtype=object)
    names = sorted(set(labels[used]) - {""})
    if not names:
        raise UsageError(f"no segment with a '{score}' score has a '{column}'")
    if len(names) > len(used) // 2 and column != TASK:
        raise UsageError(f"'{column}' has {len(names):,} values: too many to slice by")

    def part(name: str, inside: Counts, scored: Floats) -> Part:
        return _part(name, sign * row_means(scored), values[:, inside], codes[inside])

    parts = []
    for name in names:
        inside = np.flatnonzero(used & (labels == name))
        parts.append(part(name, inside, values[:, inside]))
    adjusted = adjust(np.array([part.p for part in parts]), "holm")
    parts = [replace(part, p_adjusted=float(p)) for part, p in zip(parts, adjusted, strict=True)]
    macro = _macro(parts) if column == TASK else part("all", np.flatnonzero(used), values)
    return Suite(
        column=column,
        systems=tuple(systems),
        parts=tuple(parts),
        macro=macro,
        higher_is_better=table.higher_is_better,
        noun=item_noun(es),
        alpha=alpha,
        of=of or score,
    )


def _part(name: str, scores: Floats, values: Floats, codes: Counts) -> Part:
    """Compare systems on the segments of one task; of two systems on those that both have."""
    if len(values) != 2:
        return Part(name, values.shape[1], scores)
    both = ~np.isnan(values).any(axis=0)
    if not both.any():
        return Part(name, 0, scores)
    values, codes = values[:, both], codes[both]
    p = float(paired.permutation_test(values, codes).p[0, 1])
    return part_of(name, scores, values[0] - values[1], codes, p)


def part_of(
    name: str,
    scores: Floats,
    gap: Floats,
    codes: Counts | None,
    p: float,
    *,
    lead: float | None = None,
    ends: tuple[float, float] | None = None,
    binary: bool = False,
) -> Part:
    """Compare two systems by their differences on segments, whose units are ``codes``.

    The interval inverts the permutation test where units are few; else it is that of t, or
    ``ends``. ``lead`` is what they lead by where that is not the mean, as of a corpus score.
    """
    mean, error, freedom, n_units = (float(x[0]) for x in paired.mean_error(gap[None], codes))
    value = mean if lead is None else lead
    p = float(paired.few_units_p(np.array(p), np.array(n_units), two_sided=True))
    if n_units < paired.FEW_UNITS or ends is None:
        invert = proportion_interval if binary else paired.flip_interval
        invert = invert if n_units < paired.FEW_UNITS else paired.t_interval
        low, high = (float(end[0]) + value - mean for end in invert(gap[None], codes))
        ends = (low, high)
    low, high = _agreeing(value, *ends, p)
    return Part(name, len(gap), scores, value, low, high, p, p, int(n_units), error, freedom)


def _agreeing(value: float, low: float, high: float, p: float) -> tuple[float, float]:
    """Return an interval that says what the test says."""
    ends = paired.agreeing(np.array(value), (np.array(low), np.array(high)), np.array(p))
    return float(ends[0]), float(ends[1])


def _macro(parts: Sequence[Part]) -> Part:
    """Average over the tasks that have scores; the variance is the sum of theirs."""
    whole = Part(
        "macro average", sum(part.n for part in parts),
        row_means(np.stack([part.scores for part in parts], axis=1)),
    )  # fmt: skip
    known = [part for part in parts if not np.isnan(part.lead)]
    if not known:
        return whole
    lead = float(np.mean([part.lead for part in known]))
    n_units = sum(part.n_units for part in known)
    variances = np.array([part.error**2 for part in known])
    if np.isnan(variances).any():  # a task of one unit says nothing of its spread
        return replace(whole, lead=lead, n_units=n_units)
    error = float(np.sqrt(variances.sum()) / len(known))
    weights = variances**2 / np.array([max(part.freedom, 1.0) for part in known])
    freedom = float(variances.sum() ** 2 / weights.sum()) if error else float(n_units - 1)
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(lead) / error)) if error else float(lead == 0)
    p = max(p, 2.0 ** (1 - n_units))  # which the signs of all units could reach
    low, high = _agreeing(lead, lead - half, lead + half, p)
    return replace(whole, lead=lead, low=low, high=high, p=p, p_adjusted=p, n_units=n_units,
                   error=error, freedom=freedom)  # fmt: skip


def by_part(suites: Mapping[str, Suite]) -> dict[str, Any]:
    """Return tasks, macro average and slices as JSON has them, where there are any."""
    tasks = suites.get(TASK)
    slices = {name: suite.rows() for name, suite in suites.items() if suite is not tasks}
    parts: dict[str, Any] = {"slices": slices} if slices else {}
    if tasks is not None:
        macro = tasks.macro.facts(tasks.systems, tasks.sign)
        parts |= {"tasks": tasks.rows(), "macro": macro}
    return parts


def suites_of(
    es: EvalSet, score: str, systems: Sequence[str], slices: Sequence[str], **settings: Any
) -> dict[str, Suite]:
    """Return the suite of tasks, where several have the score, and those of slices, by column."""
    here = np.asarray(~np.isnan(es[score].values).all(axis=0))
    tasks = zip(es.segments.metadata.get(TASK, ()), here, strict=False)
    several = len({task for task, used in tasks if used and task}) > 1
    columns = dict.fromkeys((*([TASK] if several else []), *slices))
    return {name: suite_of(es, score, systems, name, **settings) for name in columns}


# -- how firm a leaderboard is, and what repeated runs say


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
        decided = sorted((flip.fewest, flip.rank) for flip in self.flips if flip.fewest)
        first = [one for one in decided if one[1] == 1][:1]
        told = list(dict.fromkeys([*first, *decided[:1]]))
        if told:
            (fewest, rank), *more = told
            of = self.of if self.of == "battles" else f"{noun}s"
            verb = "decides" if fewest == 1 else "decide"
            flips = [f"{fewest:,} of {self.n:,} {of} {verb} rank {rank}"]
            parts.append(", ".join(flips + [f"{fewest:,} rank {rank}" for fewest, rank in more]))
        return "; ".join(parts)


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
    n_tasks = plural(len(tables), "task")
    note = f"columns are tasks: systems are compared by their mean over {n_tasks}"
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
