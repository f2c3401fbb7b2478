"""Results of a comparison: rankings, tests, tiers, decisions on pairs, and their words.

A test that does not reject says that the data do not decide; no sentence here calls systems equal
because of it. Where nothing was tested, a system "ranks first", and no sentence calls it better.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from steelyard.core.decision import Decision, first_place, too_close
from steelyard.core.display import (
    RankingRow,
    Record,
    Result,
    Statement,
    Summary,
    keys,
    named,
    one_line,
    ranking,
)
from steelyard.core.errors import UsageError, hint
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Frame, Table, interval_decimals, plain
from steelyard.core.text import all_of, listed, sentence, stopped
from steelyard.data.evalset import EvalSet
from steelyard.data.units import SEGMENT, UnitEffect
from steelyard.stats.arrays import SAME, Floats
from steelyard.stats.paired.tests import agreeing
from steelyard.stats.ranks import whole
from steelyard.stats.strength.bradleyterry import Strengths

if TYPE_CHECKING:
    from steelyard.comparison.suites import Board, Repeats, Suite

LEVEL = 0.95  # of all intervals
MOST_SHOWN = 300  # systems up to which every pair gets intervals and a row in a report
ACCURACY = "accuracy"  # what a proportion is called in LLM evaluations
CORPUS, SENTENCES, PROPORTION = "corpus score", "sentence scores", "proportion"  # what is ranked by
RANKINGS = {
    "mean": "mean",
    "median": "median",
    "bt": "Bradley-Terry strength",
    "elo": "Elo rating",
    "trueskill": "TrueSkill",
    "autorank": "AutoRank",
}
TESTS = {
    "t": "paired t-test",
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap test",
    "mood": "Mood's median test",
    "median": "paired median test",
    "sign": "sign test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "mcnemar": "McNemar's exact test",
    "bt-gap": "test of Bradley-Terry strengths",
    "mean-gap": "test of shares won",
    "elo-gap": "test of Elo ratings",
    "trueskill-gap": "test of TrueSkill",
}
_REFERENCE = re.compile(r"(human[-_ ]?)?ref(erence)?[-_ ]?[a-z0-9]?", re.IGNORECASE)


def system_name(name: str, references: Sequence[str] = ()) -> str:
    """Return how sentences call a system: a human reference is called one.

    >>> system_name("refA"), system_name("Amber"), system_name("human", ["human"])
    ('the human reference refA', 'Amber', 'the human reference human')
    """
    is_reference = name in references or _REFERENCE.fullmatch(name)
    return f"the human reference {name}" if is_reference else name


def _opening(text: str) -> str:
    """Return a text as a sentence; the name of a system that it begins with stays as it is."""
    return sentence(text) if text.startswith("the human reference ") else stopped(text)


def decision_words(decision: Decision, references: Sequence[str] = ()) -> str:
    """Return the verdict on a pair, with human references called that."""
    leader, other = (system_name(name, references) for name in (decision.leader, decision.other))
    return _opening(replace(decision, leader=leader, other=other).words())


def spoken(unit: UnitEffect, noun: str) -> UnitEffect:
    """Return a unit with the name that segments have in sentences."""
    return replace(unit, name=noun) if unit.name == SEGMENT else unit


@dataclass(frozen=True, slots=True)
class Ranked:
    """One ranking of the systems, in the order of :attr:`Comparison.systems`.

    Scores are in the numbers of the score itself; ``pairwise[i, j]`` of a mean or a median is that
    of i minus that of j, else the chance that i beats j by one fit of all systems. Low and high
    ends of 95% intervals are those of scores, of ranks, of ``pairwise``, and of the gap between two
    scores. ``alone[i, j]`` is the share of segments (or battles) that i wins against j, ties as
    half, each pair by itself. ``of`` says what is ranked by, where that is not the segment scores.

    ``replicates`` are scores in resamples, until intervals are made of them; ``against`` gives row
    i of ``pairwise`` in each of them; ``close`` and ``floor`` say what a tie is
    (:mod:`steelyard.stats.ranks`).
    """

    scores: Floats
    ranks: Floats
    pairwise: Floats
    ci: Floats | None = None
    rank_ci: Floats | None = None
    gap_ci: Floats | None = None
    pairwise_ci: Floats | None = None
    rank_shares: Floats | None = None  # share of the resamples in which i has rank j + 1
    higher_is_better: bool = True
    of: str | None = None
    average: bool = False  # whether numbers are of the score's own scale
    in_order: bool = False  # whether it depends on the order of battles
    warnings: tuple[str, ...] = ()
    alone: Floats | None = None
    strengths: Strengths | None = None
    replicates: Floats | None = None
    against: Callable[[Floats, int], Floats] | None = None
    close: float = SAME
    floor: float = 0.0

    @property
    def low(self) -> Floats | None:
        """Low ends of the intervals of scores."""
        return None if self.ci is None else self.ci[0]

    @property
    def high(self) -> Floats | None:
        """High ends of the intervals of scores."""
        return None if self.ci is None else self.ci[1]

    def turned(self) -> Ranked:
        """Return the same ranking in numbers of the other sign, of which less is better."""
        numbers: dict[str, Any] = {"scores": 0.0 - self.scores, "pairwise": 0.0 - self.pairwise}
        for name in ("ci", "gap_ci", "pairwise_ci"):
            ends = getattr(self, name)
            numbers[name] = None if ends is None else 0.0 - ends[::-1]  # no -0.0
        return replace(self, higher_is_better=not self.higher_is_better, **numbers)

    def leads(self, *, of_pairs: bool = True) -> tuple[Floats, Floats, Floats]:
        """Return how far each row leads each column, in the better direction, and its interval.

        Averages are those of the segments that both have, unless ``of_pairs`` is False.
        """
        value, ends = self.scores[:, None] - self.scores[None, :], self.gap_ci
        if self.average and of_pairs and self.pairwise.size:
            value, ends = self.pairwise, self.pairwise_ci
        low, high = np.full((2, *value.shape), np.nan) if ends is None else ends
        return (value, low, high) if self.higher_is_better else (0.0 - value, 0.0 - high, 0.0 - low)

    @property
    def digits(self) -> int:
        """Decimals that follow the standard error; without one, strengths need more."""
        decimals = None if self.ci is None else interval_decimals(self.scores, *self.ci)
        if decimals is not None:
            return decimals
        size = np.nanmax(np.abs(self.scores), initial=0.0)
        return 1 if size >= 1000 else 2 if size >= 10 else 3

    def to_dict(self, systems: Sequence[str]) -> dict[str, Any]:
        """Return what ``--json`` prints."""

        def ends(of: Floats | None) -> dict[str, Any] | None:
            return None if of is None else by_name(systems, of.T)

        def matrices(of: Floats | None) -> dict[str, Any] | None:
            return None if of is None else {"low": of[0], "high": of[1]}

        return {
            "scores": by_name(systems, self.scores),
            "ranks": dict(zip(systems, whole(self.ranks), strict=True)),
            "ci": ends(self.ci),
            "rank_ci": ends(self.rank_ci),
            "pairwise": self.pairwise if self.pairwise.size else None,
            "pairwise_alone": self.alone,
            "pairwise_ci": matrices(self.pairwise_ci),
            "gap_ci": matrices(self.gap_ci),
            "higher_is_better": self.higher_is_better,
            "of": self.of,
        }


def by_name(systems: Sequence[str], values: Floats) -> dict[str, Any]:
    """Return numbers, or rows of them, by system; NaN is None."""
    return dict(zip(systems, plain(values), strict=True))


def number(value: float) -> float | None:
    """Return a number, None where it is undefined."""
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True, slots=True)
class PairTest(Record):
    """p-values of all pairs of systems, raw and corrected; ``of`` is what a corpus metric tests."""

    json_keys: ClassVar[Mapping[str, str]] = keys("p p_adjusted correction unit of error")

    p: Floats
    p_adjusted: Floats
    correction: str
    unit: str = SEGMENT  # what is independent
    of: str | None = None
    error: float = 0.0  # numerical, of the raw p-values
    warnings: tuple[str, ...] = ()  # which pairs it leaves out


@dataclass(frozen=True, slots=True)
class Tiers:
    """Clusters of systems under one ranking, by the test that fits it, and what contradicts it."""

    test: str
    clusters: tuple[int | None, ...]
    warnings: tuple[str, ...] = ()
    against: tuple[tuple[str, str], ...] = ()  # of each pair the test prefers the second

    def to_dict(self, systems: Sequence[str]) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {"test": self.test, "clusters": dict(zip(systems, self.clusters, strict=True))}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Result):
    """Systems against systems: rankings, tests, tiers; by a score, by several, or in battles.

    Numbers are those of the score itself, also where less is better (``higher_is_better``); ranks
    count from the best. ``facts`` is what JSON has of this kind of comparison alone. ``size`` says
    in words what was compared, ``over`` what rankings go by, after their names.
    """

    systems: tuple[str, ...]
    n_segments: int  # 0 where a log of battles names none
    unit: UnitEffect
    aggregations: Mapping[str, Ranked]
    tests: Mapping[str, PairTest]
    tiers: Mapping[str, Tiers]
    size: str
    over: str
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    alpha: float = 0.05
    board: Board | None = None  # how firm the first ranking is; None with fewer than two systems
    noun: str = SEGMENT  # what segments are called: items in LLM evaluations
    references: tuple[str, ...] = ()  # human references among the systems
    score: str = ""
    higher_is_better: bool = True
    uneven: bool = False  # whether systems lack different segments
    n_battles: int | None = None
    source: EvalSet | None = field(default=None, compare=False)  # what figures of segments show
    suites: Mapping[str, Suite] = field(default_factory=dict)  # by task, and by slices
    repeats: Repeats | None = None  # what repeated runs of items say

    @property
    def suite(self) -> Suite | None:
        """The systems by task, where the set has several; its macro average is the headline."""
        return self.suites.get("task")

    @property
    def first(self) -> str:
        """The first ranking, by which the answer goes."""
        return next(iter(self.aggregations))

    def measure(self, by: str) -> str:
        """Return in words what a ranking goes by: of what, over how much."""
        return f"{self.called(by)} {self.over}"

    @property
    def spoken_unit(self) -> UnitEffect:
        """The unit with the name that segments have in sentences."""
        return spoken(self.unit, self.noun)

    def called(self, by: str) -> str:
        """Name a ranking in a sentence: the mean of 0 and 1 is a proportion, of BLEU no mean."""
        if by == "mean" and self.n_battles is not None:
            return "share of battles won"
        of = self.aggregations[by].of
        of = ACCURACY if of == PROPORTION and self.noun != SEGMENT else of
        return of if of in (CORPUS, PROPORTION, ACCURACY) else RANKINGS.get(by, by)

    def shown(self, by: str) -> str:
        """Return the name of a ranking in tables and figures: ``corpus`` where it is that."""
        share = ACCURACY if self.noun != SEGMENT else PROPORTION
        return {CORPUS: "corpus", PROPORTION: share}.get(self.aggregations[by].of or "", by)

    def ranking(self, by: str) -> list[str]:
        """Return the systems from best to worst; those without a rank come last, by name."""
        if by not in self.aggregations:
            raise UsageError(f"no ranking '{by}'; {hint(str(by), self.aggregations)}")
        ranks = self.aggregations[by].ranks
        keys = [(np.inf if np.isnan(r) else r, s) for r, s in zip(ranks, self.systems, strict=True)]
        return [self.systems[i] for i in sorted(range(len(keys)), key=keys.__getitem__)]

    # -- pairs

    def decisions(self, by: str | None = None) -> list[Decision]:
        """Return the decisions on all pairs, in the order of a ranking: the first, unless named."""
        by = by or self.first
        return self._decided(by, combinations(self.ranking(by), 2))

    def decision(self, first: str, second: str, by: str | None = None) -> Decision:
        """Return the decision on two systems, by the first ranking unless another is named."""
        by = by or self.first
        self.ranking(by)  # an unknown name is an error
        for name in (first, second):
            if name not in self.systems:
                raise UsageError(f"no system '{name}'; {hint(name, self.systems)}")
        return self._decided(by, [(first, second)])[0]

    def _decided(self, by: str, pairs: Iterable[tuple[str, str]]) -> list[Decision]:
        value, low, high = self.aggregations[by].leads(of_pairs=self.n_battles is None)
        common: dict[str, Any] = {
            "unit": "run" if self.unit.name[0].isdecimal() else self.spoken_unit.name,
            "n_units": self.unit.n,
            "level": LEVEL,
            "alpha": self.alpha,
        }
        p = adjusted = np.full(value.shape, np.nan)
        if by in self.tiers:
            name = self.tiers[by].test
            test = self.tests[name]
            p, adjusted = test.p, test.p_adjusted
            low, high = agreeing(value, (low, high), p)
            common["test"] = TESTS.get(name, name)
            common["correction"] = "" if test.correction == "none" else test.correction.title()
            if test.correction != "none":
                common["n_pairs"] = int(np.triu(~np.isnan(p), 1).sum())
        index = {system: i for i, system in enumerate(self.systems)}
        made = []
        for pair in pairs:
            i, j = (index[name] for name in pair)
            if value[i, j] < 0:
                i, j = j, i
            numbers: Any = (float(x[i, j]) for x in (value + 0.0, low, high, p, adjusted))
            made.append(Decision(self.systems[i], self.systems[j], *numbers, **common))
        return made

    def lead(self) -> Decision | None:
        """Return the decision on the first two systems of the first ranking."""
        first = self.ranking(self.first)[:2]
        return self.decision(*first) if len(first) == 2 else None

    def pairs(self, by: str | None = None, backend: str | None = None) -> Frame:
        """Return a frame of all pairs: leader, other, difference, interval, p-values, test.

        Parameters
        ----------
        by
            The ranking; the first by default.
        backend
            ``pandas`` or ``polars``; by default the one that is installed.

        Returns
        -------
        DataFrame
            A row per pair, in the order of the ranking.

        Examples
        --------
        >>> import steelyard as sy
        >>> result = sy.compare(sy.demo_set(), "learned-refA", by="mean")
        >>> result.pairs("mean", "pandas")[["leader", "other"]].iloc[0].to_list()
        ['Dolomite', 'Kaolin']
        """
        return self.pair_table(by).to_frame(backend)

    # -- words

    def words(self) -> Summary:
        """Return who is best, what stays open, how sure that is; of a suite by tasks."""
        if self.suite is not None:
            return Summary.of(self.suite.statements(self.lead(), self.spoken_unit))
        return Summary.of(statements(self))

    def answer(self) -> tuple[str, ...]:
        """Return who leads, by how much, and who is too close to call: three sentences."""
        words, plain = self.words(), ""
        if self.unit.name == SEGMENT:  # which the size of the comparison says, too
            plain = self.spoken_unit.summary()
        sureness = [s for s in words.sureness if s != plain or self.unit.coarser is not None]
        return (*words.settled[:1], *words.undecided[:2], *sureness)[:3]

    def __repr__(self) -> str:
        return one_line(self, f"by {self.size}; {self.first}: {named(self.ranking(self.first))}")

    # -- JSON and tables

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints; matrices of pairs for up to 300 systems."""
        from steelyard.comparison.suites import by_part  # which imports this module

        rankings = {k: v.to_dict(self.systems) for k, v in self.aggregations.items()}
        tests = {name: test.to_dict() for name, test in self.tests.items()}
        if len(self.systems) > MOST_SHOWN:
            rankings = {name: ranked | {"pairwise": None} for name, ranked in rankings.items()}
        if len(self.systems) > MOST_SHOWN and self.n_battles is not None:
            tests = {name: test | {"p": None, "p_adjusted": None} for name, test in tests.items()}
        return {
            "systems": list(self.systems),
            "n_segments": self.n_segments,
            **self.facts,
            **by_part(self.suites),
            **({} if self.repeats is None else {"repeats": plain(self.repeats)}),
            "ranking": ranking("system", self._ranking_rows()),
            "aggregations": rankings,
            "tests": tests,
            "clusters": {name: tiers.to_dict(self.systems) for name, tiers in self.tiers.items()},
            "unit": self.unit.to_dict(),
            "board": plain(self.board),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def _ranking_rows(self) -> Iterator[RankingRow]:
        ranked, tiers = self.aggregations[self.first], self.tiers.get(self.first)
        nothing = [None] * len(self.systems)
        low, high = (nothing, nothing) if ranked.ci is None else ranked.ci
        clusters = nothing if tiers is None else tiers.clusters
        rows = zip(
            self.systems, whole(ranked.ranks), ranked.scores, low, high, clusters, strict=True
        )
        row_of = {row[0]: RankingRow(*row) for row in rows}
        return (row_of[system] for system in self.ranking(self.first))

    def table(self) -> Table:
        """Return the leaderboard with all columns: a row per system, by the first ranking."""
        board, scaled = self._board(brief=False), self.facts.get("scaled", {})  # of AutoRank
        columns = [Column(name, digits=2, key=f"scaled {name}", importance=2) for name in scaled]
        rows = ((*row, *(values[row[0]] for values in scaled.values())) for row in board.rows)
        return replace(board, columns=(*board.columns, *columns), rows=tuple(rows))

    def pieces(self) -> list[Table | str]:
        """Return what a terminal shows: the leaderboard, or the table by task or slice.

        Of further rankings, the leaderboard has the ranks alone.
        """
        tables: list[Table | str] = [suite.table() for suite in self.suites.values()]
        board = self.suite is None and (len(self.systems) != 2 or not tables)
        return [*([self._board(brief=True)] if board else []), *tables]

    def _board(self, *, brief: bool) -> Table:
        order = [self.systems.index(system) for system in self.ranking(self.first)]
        several = len(self.aggregations) > 1
        columns: list[Column] = [Column("system")]
        cells: list[Sequence[Cell]] = [self.systems]
        bold: set[tuple[int, int]] = set()
        for name, ranked in self.aggregations.items():
            shown = self.shown(name)
            # On a narrow screen the first ranking stays whole; of the others the scores do.
            importance = 9 if name == self.first else 5
            short = brief and name != self.first
            heading = f"{shown} rank" if several and (short or not brief) else "rank"
            columns.append(
                Column(heading, key=f"{name} rank" if several else None, importance=importance - 1)
            )
            cells.append(whole(ranked.ranks))
            if short:
                continue
            if name in self.tiers:
                tiers = self.tiers[name].clusters
                columns.append(Column("tier", key=f"{name} tier", importance=importance - 2))
                cells.append(tiers)
                bold |= {(k, len(columns)) for k, i in enumerate(order) if tiers[i] == 1}
            better: Literal["higher", "lower"] = "higher" if ranked.higher_is_better else "lower"
            columns.append(Column(shown, better, ranked.digits, key=name, importance=importance))
            cells.append([number(x) for x in ranked.scores])
            ends = () if ranked.ci is None else zip(("low", "high"), ranked.ci, strict=True)
            for end, values in ends:
                key, digits = f"{name} {end}", ranked.digits
                columns.append(Column(end, digits=digits, key=key, importance=importance - 3))
                cells.append([number(x) for x in values])
        rows = tuple(tuple(column[i] for column in cells) for i in order)
        board = self.board if len(self.systems) > 2 else None
        firm = () if board is None else tuple(filter(None, [board.sentence(self.noun)]))
        if brief:  # the column of tiers has the rules
            return Table("", tuple(columns), rows, firm, bold=frozenset(bold))
        rules: set[int] = set()
        if self.first in self.tiers:
            tier = [self.tiers[self.first].clusters[i] for i in order]
            rules = {i for i in range(1, len(tier)) if tier[i] != tier[i - 1]}
        notes = [self.size, self.spoken_unit.sentence()]
        if self.tiers:
            tests = (f"{self.shown(by)} by {by_test(t.test)}" for by, t in self.tiers.items())
            notes.append(f"tiers at {self.alpha:g}: {', '.join(tests)}")
        notes += [*self.notes, *firm]
        return Table("", tuple(columns), rows, tuple(notes), frozenset(rules), frozenset(bold))

    def pair_table(self, by: str | None = None) -> Table:
        """Return a row per pair of systems, in the order of a ranking: the first, unless named.

        ``chance`` is that of the leader by one fit of all systems; ``alone`` is the share that it
        wins of the comparisons of the two, ties as half.
        """
        by = by or self.first
        decisions, ranked = self.decisions(by), self.aggregations[by]
        table = decision_table(decisions)
        columns, rows = [*table.columns], [*table.rows]
        chance = None if ranked.average or not ranked.pairwise.size else ranked.pairwise
        for name, values in (("chance", chance), ("alone", ranked.alone)):
            if values is not None:
                place = {system: i for i, system in enumerate(self.systems)}
                columns.append(Column(name, digits=3))
                shares = (float(values[place[d.leader], place[d.other]]) for d in decisions)
                rows = [(*row, share) for row, share in zip(rows, shares, strict=True)]
        return Table(self.shown(by), tuple(columns), tuple(rows))


def decision_table(decisions: Iterable[Decision]) -> Table:
    """Return a row per decision: who leads whom by how much, and how sure that is."""
    columns = (
        Column("leader", importance=8), Column("other", importance=7),
        Column("difference", mixed=True, importance=9), Column("low", mixed=True),
        Column("high", mixed=True), Column("p", p_value=True, importance=6),
        Column("p_adjusted", p_value=True), Column("test", importance=2),
    )  # fmt: skip
    rows = (tuple(getattr(d, column.name) for column in columns) for d in decisions)
    return Table("", columns, tuple(rows))


# -- words


def statements(result: Comparison) -> Iterator[Statement]:
    """Return the sentences of a comparison."""
    by, n = result.first, len(result.systems)
    if n == 1:
        yield "undecided", first_place(result.systems, 1, "")
        return
    ranks = dict(zip(result.systems, result.aggregations[by].ranks, strict=True))
    top = [system for system in result.ranking(by) if ranks[system] == 1]
    if top:
        yield from _leader(result, by, top)
    else:
        lost = [system for system, rank in ranks.items() if np.isnan(rank)]
        why = f"the data do not rank {listed(lost, 8)} by {result.measure(by)}"
        yield "undecided", f"Which of {n} systems is best is not decided: {why}."
    if result.tests or result.aggregations[by].ci is not None:
        yield "sureness", result.spoken_unit.summary()


def _leader(result: Comparison, by: str, top: Sequence[str]) -> Iterator[Statement]:
    tiers, n = result.tiers.get(by), len(result.systems)
    names = {system: system_name(system, result.references) for system in result.systems}
    ranks_first = _opening(first_place([names[s] for s in top], n, result.measure(by)))
    better, how, where = list[str](), "ahead", ""
    if tiers is not None:
        better = [low for high, low in tiers.against if high == top[0]]
        how = f"better by {by_test(tiers.test)}" if better else how
    ranked, i = result.aggregations[by], result.systems.index(top[0])
    if result.uneven and ranked.average and ranked.pairwise.size:
        where = f" on the {result.noun}s that both have"
        behind = (ranked.ranks > ranked.ranks[i]) & (ranked.leads()[0][i] < 0)
        better += [s for s in result.ranking(by) if behind[result.systems.index(s)]]
    close = [names[s] for s in (result.board.tied_with_first if result.board else ())]
    decision = result.decision(top[0], result.ranking(by)[1], by)
    text = decision_words(decision, result.references)
    alone = len(top) == 1 and not better
    if alone and tiers is not None and not close and not tiers.warnings:
        others = _opening(f"{names[top[0]]} also beats every other system") if n > 2 else ""
        yield "settled", f"{text} {others}".strip()
        yield "sureness", f"Ranked by {result.measure(by)}."
        return
    yield "settled", ranks_first
    if len(top) > 1:
        return
    if better:
        ahead = [names[system] for system in dict.fromkeys(better)]
        verb = "is" if len(ahead) == 1 else "are"
        text = f"{all_of(ahead)} {verb} {how}{where}: ranking and test disagree"
        yield "undecided", _opening(text)
    elif tiers is None:
        yield "undecided", f"No pair was tested, so the lead of {names[top[0]]} may be chance."
    elif len(close) < 2 or not decision.enough_units:
        yield "undecided", text
    else:
        leader, other = names[decision.leader], names[decision.other]
        yield "undecided", _opening(replace(decision, leader=leader, other=other).lead())
        yield "undecided", _opening(too_close([names[top[0]], *close]))


def by_test(test: str) -> str:
    """Name a test after "by".

    >>> by_test("t"), by_test("mood")
    ('the paired t-test', "Mood's median test")
    """
    name = TESTS.get(test, f"{test} test")
    return name if name[0].isupper() else f"the {name}"


def called_rankings(result: Comparison) -> str:
    """List the rankings of a comparison."""
    return all_of([result.called(name) for name in result.aggregations])
