"""What raw judgements say: scores of systems, their places, and the raters behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.display import RankingRow, Record, Result, Summary, named, one_line, ranking
from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Frame, Table, decimals
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog, Ratings
from steelyard.data.units import UnitEffect
from steelyard.human import words
from steelyard.human.ordering import Averages, Ordering, Rule
from steelyard.human.outputpairs import brief_pairs
from steelyard.stats.arrays import Floats, ratio

SHOWN_RATERS = 10


@dataclass(frozen=True, slots=True)
class SystemScore(Record):
    """One system: its score, the raw one, its place, and the places it could hold.

    ``rank`` is the place by score, None without one; ``rank_from`` and ``rank_to`` are the first
    and the last place of its cluster, whose number is ``cluster``; ``range_from`` is 1 + the number
    of systems that beat it, ``range_to`` the number of systems minus those it beats. Of a preset,
    ``rank_from`` and ``rank_to`` are the range that its organisers publish, as ``range_from`` and
    ``range_to`` are.
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

    Parameters
    ----------
    protocol
        ``da mqm esa rr darr``.
    systems
        A row per system, best first.
    score
        The name of the score that systems are ordered by.
    averages
        The scores of single outputs; None where a protocol has none (``rr``).
    parts
        What else was found, as tables by name: ``raters``, ``profile``, ``changes``, ``pairs``, ...
    rule, p
        How clusters were made, and the p-values: ``p[i][j]`` that the i-th system beats the j-th.
    agreement
        How far raters agree.
    unit, errors
        What was taken as independent, with its design effect, and the standard error of each
        system's mean over segments by it (NaN for a system with fewer than two units); None where a
        protocol has no scores of single outputs.
    battles
        The pairwise outcomes behind the scores (``rr``, ``darr``).
    counted, notes
        What ``n_ratings`` counts, and what is said below the ranking.
    rated
        For each score of outputs the ratings that it is the mean of, where raters are known.
    """

    protocol: str
    systems: tuple[SystemScore, ...]
    score: str
    averages: Averages | None = None
    parts: Mapping[str, Table] = field(default_factory=dict)
    rule: Rule | None = None
    p: Floats | None = None
    agreement: Mapping[str, Any] = field(default_factory=dict)
    battles: BattleLog | None = None
    removed_raters: tuple[str, ...] = ()
    unit: UnitEffect | None = None
    errors: Floats | None = None
    language_pair: str | None = None
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    counted: str = "ratings"
    notes: tuple[str, ...] = ()
    rated: Mapping[str, Ratings] = field(default_factory=dict)

    @property
    def evalset(self) -> EvalSet | None:
        """The scores of single outputs as an :class:`EvalSet`, what ``--out`` writes."""
        if self.averages is None:
            return None
        inputs = () if self.provenance is None else self.provenance.inputs
        return self.averages.evalset(inputs, self.language_pair)

    @property
    def rated_set(self) -> EvalSet | None:
        """The same with the ratings that scores are means of, which meta can draw raters from."""
        es = self.evalset
        return None if es is None else replace(es, ratings=self.rated)

    def words(self) -> Summary:
        """Say who is first, what the clusters leave open, and how far raters agree."""
        return Summary.of(words.told(self))

    def __repr__(self) -> str:
        order = named([system.system for system in self.systems])
        total = f"{sum(system.n_ratings for system in self.systems):,} {self.counted}"
        return one_line(self, f"by {self.protocol}: {total}; {self.score}: {order}")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        result: dict[str, Any] = {
            "protocol": self.protocol,
            "score": self.score,
            "systems": [system.to_dict() for system in self.systems],
            "ranking": ranking(
                "system",
                (RankingRow(s.system, s.rank, s.score, tier=s.cluster) for s in self.systems),
            ),
            "raters": [],
            "removed_raters": list(self.removed_raters),
            "agreement": dict(self.agreement),
            "clusters": None,
            "unit": None if self.unit is None else self.unit.to_dict(),
        }
        if self.rule is not None:
            names = [system.system for system in self.systems]
            result["clusters"] = {**self.rule.to_dict(), "systems": names, "p": self.p}
            result["ranks"] = self.rank_table().records()
        result |= {name: table.records() for name, table in self.parts.items()}
        result |= self.more
        result |= origin(self.provenance)
        result["warnings"] = list(self.warnings)
        return result

    def threshold_curves(self) -> dict[str, list[tuple[float, float]]]:
        """Give (threshold, pairs kept) of every set, and of their mean, for a figure."""
        if "thresholds" not in self.parts:
            raise UsageError("no thresholds were asked for")
        columns = self.parts["thresholds"].to_columns()
        at = [float(x) for x in columns.pop("threshold") if isinstance(x, float)]
        columns.pop("share")
        return {
            name: [(x, float(y)) for x, y in zip(at, cells, strict=True) if y is not None]
            for name, cells in columns.items()
        }

    def rank_table(self) -> Table:
        """Give places as scores that metrics can be weighed against; less is better.

        ``tied_rank`` is the mean place of the system's cluster, so that the systems of a cluster
        tie; ``fuzzy_rank`` the mean place of all systems that do not differ from it significantly,
        itself included.
        """
        if self.rule is None or self.p is None:
            raise UsageError("ranks with ties are those of clusters: there are none here")
        beats = self.p < self.rule.alpha
        apart = beats | beats.T
        np.fill_diagonal(apart, val=False)
        fuzzy = ratio((~apart) @ np.arange(1.0, len(apart) + 1), (~apart).sum(axis=1))
        clusters = np.array([system.cluster for system in self.systems])
        place = np.arange(1.0, len(clusters) + 1)
        tied = [float(place[clusters == own].mean()) for own in clusters]
        rows = tuple(
            (system.system, system.cluster, tied[i], float(fuzzy[i]), system.score)
            for i, system in enumerate(self.systems)
        )
        names = ("system", "cluster", "tied_rank", "fuzzy_rank", self.score)
        return Table("Ranks with ties", tuple(Column(name) for name in names), rows)

    def to_frame(self, backend: str | None = None) -> Frame:
        """Give a row per system as a pandas or polars frame."""
        names = tuple(SystemScore.__dataclass_fields__)
        rows = tuple(tuple(getattr(system, name) for name in names) for system in self.systems)
        return Table("", tuple(Column(name) for name in names), rows).to_frame(backend)

    def table(self) -> Table:
        """Give the ranking, a line between clusters."""
        digits = self._digits()
        score = Column(self.score, "higher", digits=digits, importance=9)
        columns = [Column("rank"), Column("system", importance=9), score]
        raw = any(s.raw != s.score for s in self.systems)
        columns += [Column("raw", digits=2, importance=4)] if raw else []
        tested = any(s.range_from is not None for s in self.systems)
        official = "preset" in self.more  # the rank is the range
        columns += [Column("cluster" if official else "range", importance=8)] if tested else []
        columns += [Column("segments"), Column(self.counted)]
        rows: list[tuple[Cell, ...]] = []
        for s in self.systems:
            row: list[Cell] = [_places(s.rank_from or s.rank, s.rank_to or s.rank), s.system]
            row += [s.score, s.raw] if raw else [s.score]
            range_ = _places(s.range_from or s.rank, s.range_to or s.rank)
            row += [s.cluster if official else range_] if tested else []
            rows.append((*row, s.n_segments, s.n_ratings))
        starts = [s.cluster for s in self.systems]
        rules = frozenset(i for i in range(1, len(rows)) if starts[i] != starts[i - 1])
        if not tested:
            return Table("", tuple(columns), tuple(rows), self.notes)
        bold = frozenset((i, j) for i in range(len(rows)) if starts[i] == 1 for j in (1, 2))
        return Table("", tuple(columns), tuple(rows), self.notes, rules, bold)

    def _digits(self) -> int:
        """Digits of the score: they follow its standard error where that is known."""
        error = self.errors
        usual = np.zeros(0) if error is None else error[np.isfinite(error) & (error > 0)]
        if not usual.size:
            return 3
        return decimals([s.score for s in self.systems], float(np.median(usual)))

    def tables(self, every: str = "to_dict()") -> list[Table]:
        """Give the ranking, the raters to look at first, and what the protocol adds.

        ``every`` names what lists all raters, where these are too many.
        """
        brief = {"raters": _brief_raters, "identical": brief_pairs}
        return [
            self.table(),
            *(
                brief[name](table, every) if name in brief else table
                for name, table in self.parts.items()
                if table.rows or name != "identical"
            ),
        ]

    def pieces(self, every: str = "to_dict()") -> list[Table | str]:
        """Give the tables (``every`` as there), and how far raters agree."""
        parts: list[Table | str] = [*self.tables(every)]
        lines = _agreement_lines(self.agreement)
        if lines:
            parts.append("\n".join(["Agreement of raters (95 % intervals)", *lines]))
        return parts


def _places(first: int | None, last: int | None) -> str | None:
    return f"{first}-{last}" if first != last else None if first is None else str(first)


def place_systems(
    names: Sequence[str], columns: Mapping[str, Any], ordering: Ordering
) -> tuple[SystemScore, ...]:
    """Put names, numbers (columns by the fields of a row) and places together, best first."""
    none = (None, None)
    numbers = ordering.cluster_numbers()
    found = []
    for place, i in enumerate(ordering.order.tolist()):
        cluster = ordering.cluster[place] if ordering.cluster else none
        span = ordering.range[place] if ordering.range else none
        shown = span if ordering.rank_is_range else cluster
        found.append(
            SystemScore(
                system=names[i],
                rank=ordering.rank[place],
                rank_from=shown[0],
                rank_to=shown[1],
                range_from=span[0],
                range_to=span[1],
                cluster=numbers[place] if numbers else None,
                wins=ordering.wins[place] if ordering.wins else None,
                **{name: column[i].item() for name, column in columns.items()},
            )
        )
    return tuple(found)


def _brief_raters(table: Table, every: str) -> Table:
    """Show what fits a terminal: some columns, and the raters to look at first."""
    places = [j for j, column in enumerate(table.columns) if column.name in _SHOWN]
    rows = tuple(tuple(row[j] for j in places) for row in table.rows[:SHOWN_RATERS])
    left = len(table.rows) - len(rows)
    more = (f"and {left} more raters: {every} lists them all",) if left else ()
    columns = tuple(table.columns[j] for j in places)
    return Table(table.title, columns, rows, (*table.notes, *more))


_SHOWN = ("rater", "n_ratings", "n_rankings", "mean", "sd", "range_use", "n_shared", "bias", "r",
          "attention", "ties", "agree", "agree_self", "verdict", "reason")  # fmt: skip
COEFFICIENTS = {
    "alpha_interval": "Krippendorff's alpha (interval)",
    "alpha_ordinal": "Krippendorff's alpha (ordinal)",
    "alpha_nominal": "Krippendorff's alpha (nominal)",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa",
    "ranking": "same order of two systems",
    "kappa": "kappa of orders of two systems",
    "repeats_alpha_interval": "alpha of a rater's own repeats",
    "repeats_ranking": "same order by the same rater",
    "repeats_kappa": "kappa of orders by the same rater",
}


def _agreement_lines(found: Mapping[str, Any]) -> list[str]:
    """One line per coefficient that is defined."""
    lines = []
    for label, one in defined_coefficients(found):
        ends = one["ci"]
        span = "" if ends is None else f" [{ends[0]:.3f}, {ends[1]:.3f}]"
        lines.append(f"  {label} {one['value']:.3f}{span}, {plural(one['n_units'], 'unit')}")
    return lines


def defined_coefficients(
    found: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Go through the coefficients of agreement that have a value, each with what it is called."""
    for score, entry in found.items():
        for name, value in entry.items():
            if not isinstance(value, Mapping):
                continue
            one = value.get("share", value)
            if one["value"] == one["value"]:  # else NaN: nothing was judged twice
                yield f"{score}: {COEFFICIENTS.get(name, name)}", one
