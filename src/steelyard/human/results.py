"""What raw judgements say: scores of systems, their ranks, verdicts, and the raters behind them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.decision import Decision, first_place, too_close
from steelyard.core.display import (
    PLAIN,
    RankingRow,
    Record,
    Result,
    Screen,
    Statement,
    Summary,
    named,
    one_line,
    ranking,
)
from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Column, Frame, Table, decimals, plain
from steelyard.core.text import all_of, plural
from steelyard.core.warnings import code_of
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog
from steelyard.data.units import UnitEffect
from steelyard.human.ranking import (
    UNKNOWN,
    Averages,
    Ordering,
    Remark,
    Rule,
    shown_range,
)
from steelyard.stats.arrays import Floats, ratio

MOST_ROWS = 20  # of raters and identical outputs that are printed
MOST_RULES = 5  # lines between clusters, which the ranks show anyway
#: Coefficients of agreement by what a reader calls them, in the order in which they are preferred.
COEFFICIENTS = {
    "alpha_interval": "Krippendorff's alpha (interval)",
    "ranking": "same order of two systems",
    "kappa": "kappa of orders of two systems",
    "repeats_alpha_interval": "alpha of a rater's own repeats",
    "repeats_ranking": "same order by the same rater",
    "repeats_kappa": "kappa of orders by the same rater",
}
_HEADLINES = ("alpha_interval", "kappa")
_TESTS = {
    "wilcoxon (greater)": "one-sided Wilcoxon test",
    "wilcoxon (two-sided)": "Wilcoxon test",
    "wilcoxon (two-sided) by domain, stouffer": "Wilcoxon tests by domain",
    "rank-sum (greater)": "one-sided rank-sum test",
    "bootstrap (greater), paired or not": "the organisers' bootstrap of segments",
    "bootstrap": "resampled rankings",
    "cluster-t": "cluster t-test of all outputs",
    "permutation or cluster-t": "permutation test, or cluster t-test where few segments are shared",
}


@dataclass(frozen=True, slots=True)
class SystemScore(Record):
    """One system: its score, the raw one, its rank, and the ranks it could hold.

    ``rank`` is the rank by score; ``rank_from`` and ``rank_to`` are those of its cluster, or of a
    preset the published range; ``range_from`` is 1 + the number of systems that beat it,
    ``range_to`` the number of systems minus those it beats.
    """

    system: str
    score: float
    raw: float
    rank: int | None
    rank_from: int | None = None
    rank_to: int | None = None
    range_from: int | None = None
    range_to: int | None = None
    wins: int | None = None
    n_segments: int = 0
    n_ratings: int = 0
    cluster: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class HumanScores(Result):
    """Scores of systems from raw judgements, best first, and what they rest on.

    ``averages`` are the scores of single outputs (None for ``rr``), and ``parts`` further tables by
    name: ``raters``, ``profile``, ``pairs``, ...
    ``rule`` made the clusters, and ``p[i][j]`` is the p-value that the i-th system beats the j-th.
    ``decisions`` are the verdicts on the first system against the second and all that are not
    separated from it after Holm's correction. ``unit`` is what was taken as independent, and
    ``errors`` are standard errors of means by it. ``battles`` are the outcomes behind ``rr`` and
    ``darr``, and ``counted`` says what ``n_ratings`` counts.
    """

    protocol: str
    systems: tuple[SystemScore, ...]
    score: str
    averages: Averages | None = None
    parts: Mapping[str, Table] = field(default_factory=dict)
    rule: Rule | None = None
    p: Floats | None = None
    decisions: tuple[Decision, ...] = ()
    agreement: Mapping[str, Any] = field(default_factory=dict)
    battles: BattleLog | None = None
    failed_raters: tuple[str, ...] = ()
    removed_raters: tuple[str, ...] = ()
    unit: UnitEffect | None = None
    errors: Floats | None = None
    language_pair: str | None = None
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    counted: str = "ratings"
    notes: tuple[str, ...] = ()

    @property
    def evalset(self) -> EvalSet | None:
        """The scores of single outputs as an :class:`EvalSet`, what ``--out`` writes."""
        if self.averages is None:
            return None
        inputs = () if self.provenance is None else self.provenance.inputs
        return self.averages.evalset(inputs, self.language_pair)

    def __repr__(self) -> str:
        order = named([system.system for system in self.systems])
        total = f"{sum(system.n_ratings for system in self.systems):,} {self.counted}"
        return one_line(self, f"by {self.protocol}: {total}; {self.score}: {order}")

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        rows = (RankingRow(s.system, s.rank, s.score, tier=s.cluster) for s in self.systems)
        result: dict[str, Any] = {
            "protocol": self.protocol,
            "score": self.score,
            "systems": [system.to_dict() for system in self.systems],
            "ranking": ranking("system", rows),
            "raters": [],
            "failed_raters": list(self.failed_raters),
            "removed_raters": list(self.removed_raters),
            "agreement": dict(self.agreement),
            "clusters": None,
            "decisions": [plain(asdict(decision)) for decision in self.decisions],
            "unit": None if self.unit is None else self.unit.to_dict(),
        }
        if self.rule is not None:
            names = [system.system for system in self.systems]
            p = None if "beats" in self._official else self.p
            result["clusters"] = {**self.rule.to_dict(), "systems": names, "p": p}
            result["ranks"] = self.rank_table().records()
        result |= {name: table.records() for name, table in self.parts.items()}
        result |= {**self.more, **origin(self.provenance), "warnings": list(self.warnings)}
        return result

    def main_warnings(self) -> tuple[str, ...]:
        """Return the warnings that call for action; the words name raters who fail the checks."""
        quiet = "quality-control"
        return tuple(w for w in self.warnings if not isinstance(w, Remark) and code_of(w) != quiet)

    def text(self, screen: Screen = PLAIN) -> str:
        """Return what the command prints: the answer in words, the ranking, main warnings."""
        return Result.text(replace(self, warnings=self.main_warnings()), screen)

    # Words.

    def words(self) -> Summary:
        """Say who is first, who is too close to call, and what that rests on."""
        return Summary.of([*self._first(), *self._sureness()])

    def _first(self) -> Iterator[Statement]:
        top = [system for system in self.systems if system.rank == 1]
        names, n = [system.system for system in top], len(self.systems)
        if not top:
            yield "undecided", f"No system has a score by {self.score}."
            return
        if len(top) > 1:
            yield "settled", first_place(names, n, self.score)
            yield "undecided", f"{all_of(names)} have the same score."
            return
        is_reference = re.match(r"ref", names[0], re.IGNORECASE) is not None
        who = f"The human reference {names[0]}" if is_reference else names[0]
        text = first_place([who], n, self.score)
        if n == 1:
            yield "undecided", text
        elif self.rule is None or top[0].cluster is None:
            yield "settled", text
            yield "undecided", f"No pair was tested: the lead of {names[0]} may be chance."
        else:
            test = _TESTS.get(self.rule.test, f"one-sided {self.rule.test} test")
            shared = f"{self._cluster()} ({test}, p < {self.rule.alpha:g})"
            yield "settled", f"{text.removesuffix('.')}; {shared}."
            yield from self._close()

    def _cluster(self) -> str:
        first, *systems = self.systems
        others = [system.system for system in systems if system.cluster == first.cluster]
        if not others:
            return "it is alone in the first cluster"
        if len(others) > 2:
            return f"{len(others) + 1} systems share the first cluster"
        return f"{all_of(others)} {'shares' if len(others) == 1 else 'share'} its cluster"

    def _close(self) -> Iterator[Statement]:
        pairs = self._official.get("pairs", {})
        if sentence := self.both_rankings():
            yield "undecided", sentence
            text = f"It separates {plural(pairs['official_only'], 'pair')} that ours does not: "
            text += f"{pairs['because_of_segments']:,} as it takes segments as independent, the "
            yield "undecided", f"{text}others as it keeps the better of two tests of 100 draws."
        if self.decisions:
            yield "undecided", self._verdict(self.decisions[0])
        elif self.p is not None and self.rule is not None:
            behind = zip(self.systems[1:], self.p[0, 1:], strict=True)
            close = [s.system for s, p in behind if s.rank is not None and not p < self.rule.alpha]
            if close:
                yield "undecided", too_close([self.systems[0].system, *close])

    def both_rankings(self) -> str | None:
        """Say how many pairs the organisers' rule and ours separate, where it draws lines."""
        pairs, lines = self._official.get("pairs", {}), self._official.get("lines")
        if not pairs or lines is None:
            return None
        left = sum(line["survives"] for line in lines)
        unit = "segment" if self.unit is None else self.unit.name
        text = f"The official rule separates {pairs['official']:,} of {pairs['n']:,} pairs"
        text += f", ours by {unit} {pairs['ours']:,}"
        verb = "survives" if left == 1 else "survive"
        return f"{text}; {left} of its {plural(len(lines), 'line')} {verb}."

    def _verdict(self, decision: Decision) -> str:
        """Return the verdict on a pair; one that the rule separates is not called too close."""
        names = [system.system for system in self.systems]
        assert self.p is not None
        assert self.rule is not None
        separated = self.p[0, names.index(decision.other)] < self.rule.alpha
        if decision.significant or not decision.enough_units or not separated:
            return decision.words()
        one_sided = "; the rule is one-sided" if decision.p >= self.rule.alpha else ""
        return f"{decision.lead()}{one_sided}."

    def _sureness(self) -> Iterator[Statement]:
        pairs, rates = self._official.get("pairs", {}), self._official.get("false_separations")
        if pairs.get("documents") is not None:
            changed = pairs["official_only"] + pairs["ours_only"]
            text = f"With {plural(pairs['documents'], 'document')} as units, {changed:,} of "
            text += f"{plural(pairs['n'], 'pair')} change their verdict"
            yield "sureness", f"{text}."
        if rates is not None:
            text = (
                f"Of two equal systems here, the official rule separates {rates['official']:.0%}, "
            )
            text += f"ours {rates['ours']:.0%}, where {rates['nominal']:.0%} is meant"
            yield "sureness", f"{text} ({rates['n']} simulations; study ranking-rule repeats them)."
        failed = self.removed_raters or self.failed_raters
        if failed:
            outcome = "excluded" if self.removed_raters else "counted"
            verb = "was" if len(failed) == 1 else "were"
            text = f"{plural(len(failed), 'rater')} failed the quality control and {verb} {outcome}"
            text += f" ({all_of(failed)})"
            if not self.removed_raters and "preset" not in self.more:
                text += "; quality_control=True excludes them"
            yield "sureness", f"{text}."
        between = [decision for decision in self.decisions[1:] if decision.significant_alone]
        if between:
            yield "sureness", self._verdict(between[0])
        rests = self.rests_on()
        if rests:
            yield "sureness", f"{rests}."
        if self.unit is not None and self.rule is not None:
            yield "sureness", self.unit.summary()

    @property
    def _official(self) -> Mapping[str, Any]:
        return self.more.get("preset") or {}

    def rests_on(self) -> str:
        """Say how much was judged, by how many raters, and how far they agree."""
        total = sum(system.n_ratings for system in self.systems)
        if self.counted in ("battles", "pairs"):  # each is of two systems
            total = total // 2 if self.battles is None else len(self.battles)
        if not total:
            return ""
        text = f"Rests on {plural(total, self.counted.removesuffix('s'))}"
        if self.unit is not None:
            text += f" in {self.unit.counted()}"
        raters = [row[0] for row in self.parts["raters"].rows] if "raters" in self.parts else []
        text += f" by {plural(len(raters), 'rater')}" if raters not in ([], [UNKNOWN]) else ""
        # How far they agree is by the score that systems are ordered by, if known.
        for entry in (self.agreement.get(self.score, {}), *self.agreement.values()):
            for name in _HEADLINES:
                if name in entry and not math.isnan(value := entry[name]["value"]):
                    label = COEFFICIENTS[name].partition(" (")[0]
                    return f"{text}; rater agreement: {label} {value:.2f}"
        return text

    # Tables.

    def rank_table(self) -> Table:
        """Return ranks as scores that metrics can be compared with; less is better.

        ``tied_rank`` is the mean rank of the system's cluster, so that the systems of a cluster
        tie; ``fuzzy_rank`` the mean rank of all systems that do not differ from it significantly,
        itself included.
        """
        if self.rule is None or self.p is None:
            raise UsageError("ranks with ties are those of clusters: there are none here")
        beats = self.p < self.rule.alpha
        apart = beats | beats.T
        np.fill_diagonal(apart, val=False)
        fuzzy = ratio((~apart) @ np.arange(1.0, len(apart) + 1), (~apart).sum(axis=1))
        clusters = np.array([system.cluster for system in self.systems])
        ranks = np.arange(1.0, len(clusters) + 1)
        tied = [float(ranks[clusters == cluster].mean()) for cluster in clusters]
        rows = tuple(
            (system.system, system.cluster, tied[i], float(fuzzy[i]), system.score)
            for i, system in enumerate(self.systems)
        )
        names = ("system", "cluster", "tied_rank", "fuzzy_rank", self.score)
        return Table("Ranks with ties", tuple(Column(name) for name in names), rows)

    def to_frame(self, backend: str | None = None) -> Frame:
        """Return a row per system as a pandas or polars frame."""
        names = tuple(SystemScore.__dataclass_fields__)
        rows = tuple(tuple(getattr(system, name) for name in names) for system in self.systems)
        return Table("", tuple(Column(name) for name in names), rows).to_frame(backend)

    def table(self) -> Table:
        """Return the ranking, a line between clusters."""
        systems = self.systems
        tested = any(s.range_from is not None for s in systems)
        error = np.zeros(0) if self.errors is None else self.errors
        error = error[np.isfinite(error) & (error > 0)]
        scores = [s.score for s in systems]
        digits = decimals(scores, float(np.median(error))) if error.size else 3
        cells: dict[Column, list[Any]] = {
            Column("rank"): [shown_range(s.rank_from or s.rank, s.rank_to or s.rank)
                             for s in systems],
            Column("system", importance=9): [s.system for s in systems],
            Column(self.score, "higher", digits=digits, importance=9): scores,
        }  # fmt: skip
        if any(s.raw != s.score for s in systems):
            cells[Column("raw", digits=2, importance=4)] = [s.raw for s in systems]
        if tested and "preset" in self.more:  # the rank is the range
            cells[Column("cluster", importance=8)] = [s.cluster for s in systems]
            if "beats" in self._official:
                ours = self.parts["variants"].to_columns()["default range"]
                cells[Column("ours", importance=8)] = [*ours]
        elif tested:
            ranges = [shown_range(s.range_from or s.rank, s.range_to or s.rank) for s in systems]
            cells[Column("range", importance=8)] = ranges
        cells[Column("segments")] = [s.n_segments for s in systems]
        cells[Column(self.counted)] = [s.n_ratings for s in systems]
        rests = self.rests_on()
        table = Table("", tuple(cells), tuple(zip(*cells.values(), strict=True)))
        if rests and f"{rests}." not in self.words().brief():
            table = replace(table, notes=(rests,))
        if not tested:
            return table
        clusters = [s.cluster for s in systems]
        rules = frozenset(i for i in range(1, len(systems)) if clusters[i] != clusters[i - 1])
        rules = rules if len(rules) <= MOST_RULES else frozenset()
        bold = frozenset((i, j) for i in range(len(systems)) if clusters[i] == 1 for j in (1, 2))
        return replace(table, rules=rules, bold=bold)

    def tables(self, every: str = "to_dict()") -> list[Table]:
        """Return the ranking, the verdicts, and what the protocol adds; ``every`` has all rows."""
        first = self.table()
        tables = [replace(first, notes=(*first.notes, *self.notes))]
        if self.decisions:
            tables.append(_decision_table(self.decisions))
        for name, table in self.parts.items():
            more = len(table.rows) - MOST_ROWS
            if name in ("raters", "identical") and more > 0:
                notes = (*table.notes, f"and {more:,} more: {every} has all")
                tables.append(replace(table, rows=table.rows[:MOST_ROWS], notes=notes))
            elif table.rows or name != "identical":
                tables.append(table)
        return tables

    def details(self, every: str = "to_dict()") -> list[Table | str]:
        """Return all tables, and how far raters agree."""
        lines = []
        for label, value in defined_coefficients(self.agreement):
            ends = value["ci"]
            span = "" if ends is None else f" [{ends[0]:.3f}, {ends[1]:.3f}]"
            units = plural(value["n_units"], "unit")
            lines.append(f"  {label} {value['value']:.3f}{span}, {units}")
        if not lines:
            return [*self.tables(every)]
        alpha = self.agreement.get(self.score, {}).get("alpha_interval", {}).get("value", math.nan)
        if 0 < alpha < 1:
            shown = [f"{k * alpha / (1 + (k - 1) * alpha):.2f} with {k}" for k in (2, 3, 5, 10)]
            text = f"  Reliability of an output's score: {alpha:.2f} with 1 rater, "
            lines.append(f"{text}{', '.join(shown)} (Spearman-Brown)")
        return [*self.tables(every), "\n".join(["Agreement of raters (95% intervals)", *lines])]

    def pieces(self) -> list[Table | str]:
        """Return the ranking, and what was asked for beside it."""
        return [self.table(), *([self.parts["pairs"]] if "identical" in self.parts else [])]


def _decision_table(decisions: Sequence[Decision]) -> Table:
    first = decisions[0]
    names = ("difference", "low", "high", "p", "p_adjusted")
    columns = (Column("leads"), *(Column(name, digits=4 if "p" in name else 3) for name in names))
    rows = tuple((d.other, *(getattr(d, name) for name in names)) for d in decisions)
    note = f"two-sided p-values by {first.unit}, alone and after Holm for {first.n_pairs:,} pairs"
    return Table(f"{first.leader} against the second and all not separated", columns, rows, (note,))


def place_systems(
    names: Sequence[str], columns: Mapping[str, Any], ordering: Ordering
) -> tuple[SystemScore, ...]:
    """Put names, numbers (columns by the fields of a row) and ranks together, best first."""
    none = (None, None)
    numbers = ordering.cluster_numbers()
    systems = []
    for k, i in enumerate(ordering.order.tolist()):
        cluster = ordering.cluster[k] if ordering.cluster else none
        span = ordering.range[k] if ordering.range else none
        shown = span if ordering.rank_is_range else cluster
        systems.append(
            SystemScore(
                system=names[i],
                rank=ordering.rank[k],
                rank_from=shown[0],
                rank_to=shown[1],
                range_from=span[0],
                range_to=span[1],
                cluster=numbers[k] if numbers else None,
                wins=ordering.wins[k] if ordering.wins else None,
                **{name: column[i].item() for name, column in columns.items()},
            )
        )
    return tuple(systems)


def defined_coefficients(
    agreement: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the coefficients of agreement that have a value, each with what it is called."""
    for score, entry in agreement.items():
        for name, value in entry.items():
            if isinstance(value, Mapping):
                coefficient = value.get("share", value)
                if not math.isnan(coefficient["value"]):  # NaN: nothing was judged twice
                    yield f"{score}: {COEFFICIENTS.get(name, name)}", coefficient
