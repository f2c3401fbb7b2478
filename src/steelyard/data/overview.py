"""What is in an EvalSet: the facts that ``steelyard data info`` shows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from steelyard.core.display import Result, Summary, Told, one_line
from steelyard.core.errors import printable
from steelyard.core.provenance import Provenance, taken_alike
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, plural, sentence
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.stats.arrays import missing_share, range_of, tie_share
from steelyard.stats.correlation import cell_pearson

_DOUBTS = 3  # doubtful directions that are told one by one
_ALL = 1000  # names of files and columns that are shown
#: Words in the names of scores of which less is usually better.
_LESS_IS_BETTER = frozenset(
    ("latency", "delay", "duration", "time", "times", "seconds", "cost", "costs", "price", "loss",
     "losses", "error", "errors", "mistakes", "edits", "distance", "perplexity", "ppl", "nll",
     "ter", "hter", "wer", "cer", "mer", "eed", "mse", "rmse", "mae")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScoreFacts:
    """One score: its range, what is missing, what ties, and how it goes with the human score."""

    name: str
    table: ScoreTable
    low: float
    high: float
    missing: float
    ties: float
    correlation: float
    n_cells: int

    @property
    def looks_flipped(self) -> bool:
        """Whether the score goes against the human one by more than three standard errors."""
        expected = self.correlation if self.table.higher_is_better else -self.correlation
        return bool(expected * np.sqrt(self.n_cells) < -3)

    def against(self, human: str | None) -> str:
        """Say that the score goes against a human one, and what to do about it."""
        ask = f'is lower better? (lower_is_better=["{self.name}"])'
        if not self.table.higher_is_better:
            ask = "is it really better when lower?"
        return (
            f"'{self.name}' goes against '{human}' (r = {self.correlation:.2f} over "
            f"{self.n_cells:,} cells): {ask}"
        )

    def doubts(self, human: str | None) -> list[str]:
        """What speaks against the direction that the score is taken in: the data, or its name."""
        if self.looks_flipped:
            return [self.against(human)]
        return direction_warnings(self.name, self.table)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "name": self.name,
            "kind": self.table.kind,
            "uses": list(self.table.uses),
            "higher_is_better": self.table.higher_is_better,
            "min": self.low,
            "max": self.high,
            "missing": self.missing,
            "ties": self.ties,
            "has_segment_scores": self.table.has_segments,
            "has_system_scores": self.table.system_scores is not None,
            "correlation_with_human": self.correlation,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Overview(Result):
    """The facts about a set; ``human`` is the score that orientation is checked against."""

    es: EvalSet
    human: str | None
    scores: tuple[ScoreFacts, ...]

    @property
    def warnings(self) -> list[str]:
        """What a reader should look at before believing anything."""
        others = (facts for facts in self.scores if facts.name != self.human)
        return [*self.es.notes, *(text for facts in others for text in facts.doubts(self.human))]

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        es = self.es
        return {
            "name": es.name,
            "lp": es.language_pair,
            "n_systems": es.n_systems,
            "systems": list(es.systems),
            "n_segments": es.n_segments,
            "n_documents": len(es.documents),
            "domains": dict(sorted(Counter(d for d in es.segments.domains or () if d).items())),
            "references": list(es.references),
            "n_outputs": len(es.outputs),
            "human": list(es.human),
            "metrics": list(es.metrics),
            "n_human": len(es.human),
            "n_metrics": len(es.metrics),
            "scores": [facts.to_dict() for facts in self.scores],
            "ratings": {
                name: {"n_ratings": len(r), "n_raters": len(r.raters), "raters": list(r.raters)}
                for name, r in es.ratings.items()
            },
            "inputs": [i.to_dict() for i in es.inputs],
            "read": [i.taken_for() for i in es.inputs],
            "provenance": Provenance.of("data info", {"human": self.human}, es.inputs).to_dict(),
            "warnings": self.warnings,
        }

    def words(self) -> Summary:
        """Say what the set holds, what speaks against it, and what is missing."""
        es = self.es
        size = f"{plural(es.n_systems, 'system')}, {plural(es.n_segments, 'segment')}"
        kinds = f"{plural(len(es.human), 'human score')} and {plural(len(es.metrics), 'metric')}"
        held = f"{' '.join(n for n in (es.name, es.language_pair) if n) or 'The set'} holds"
        told: list[Told] = [("settled", f"{held} {size}, {kinds}.")]
        doubts = [(f.name, d) for f in self.scores if f.name != self.human
                  for d in f.doubts(self.human)]  # fmt: skip
        told += [("undecided", sentence(text)) for _, text in doubts[:_DOUBTS]]
        if len(doubts) > _DOUBTS:
            names = all_of([name for name, _ in doubts[_DOUBTS:]])
            told.append(("undecided", f"The direction of {names} is in doubt, too."))
        gaps = [f for f in self.scores if f.missing > 0]
        if gaps:
            most = max(gaps, key=lambda f: (f.missing, f.name))
            share = f"most of all {most.name} ({100 * most.missing:.1f} % of its cells)"
            lack = "lacks" if len(gaps) == 1 else "lack"
            told.append(("sureness", f"{plural(len(gaps), 'score')} {lack} cells, {share}."))
        return Summary.of(told)

    def __repr__(self) -> str:
        return one_line(self, f"of {self.es!r}")

    def summary(self) -> str:
        """Say it in a few lines."""
        es = self.es
        named = [n for n in (es.name, es.language_pair) if n]
        size = f"{plural(es.n_systems, 'system')}, {plural(es.n_segments, 'segment')}"
        kinds = f"{plural(len(es.human), 'human score')}, {plural(len(es.metrics), 'metric')}"
        lines = [f"{' '.join(named) or 'set'}: {size}, {kinds}"]
        read = [file.taken_for() for file in es.inputs]
        lines += [f"read: {line}" for line in taken_alike(read, _ALL, _ALL)]
        lines.append(f"systems: {', '.join(es.systems)}")
        known = [plural(len(es.documents), "document")] if es.documents else []
        known += [f"outputs of {plural(len(es.outputs), 'system')}"] if es.outputs else []
        domains = self.to_dict()["domains"]
        if domains:
            known.append("domains " + ", ".join(f"{d} ({n})" for d, n in domains.items()))
        if es.references:
            known.append(f"references {', '.join(es.references)}")
        for name, ratings in es.ratings.items():
            raters = plural(len(ratings.raters), "rater")
            known.append(f"{plural(len(ratings), 'rating')} '{name}' by {raters}")
        return "\n".join(map(printable, [*lines, "; ".join(known)] if known else lines))

    def pieces(self) -> list[Table | str]:
        """Give what the set holds, and the table of scores."""
        facts = self.summary().split("\n")[1:]  # the words have said how much there is
        return ["\n".join(facts), *([self.table()] if self.scores else [])]

    def table(self) -> Table:
        """Give a row per score, human scores first."""
        columns: tuple[Column, ...] = (
            Column("score"),
            Column("kind"),
            Column("sees"),
            Column("better"),
            Column("min", mixed=True),
            Column("max", mixed=True),
            Column("missing %", digits=1),
            Column("ties %", digits=1),
            Column(f"r with {self.human}" if self.human else "r", digits=3),
        )
        ordered = sorted(self.scores, key=lambda f: (f.table.kind, f.name))
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                f.name,
                f.table.kind,
                ".".join(f.table.uses) or None,
                "higher" if f.table.higher_is_better else "lower",
                f.low,
                f.high,
                100 * f.missing,
                100 * f.ties,
                f.correlation,
            )
            for f in ordered
        )
        if self.human is None:
            columns, rows = columns[:-1], tuple(row[:-1] for row in rows)
        notes = ("ties: pairs of systems with the same score on the same segment",)
        return Table("", columns, rows, notes if rows else ())


def overview(es: EvalSet, human: str | None = None) -> Overview:
    """Collect the facts about a set; scores are compared with ``human`` or the only human score."""
    if human is None and len(es.human) == 1:
        human = es.human[0]
    gold = None if human is None else es[human]
    return Overview(es, human, tuple(score_facts(name, t, gold) for name, t in es.scores.items()))


def score_facts(name: str, table: ScoreTable, gold: ScoreTable | None) -> ScoreFacts:
    """Give the facts of one score, beside a human one if there is one."""
    by_segment = table.has_segments
    shown = table.values if by_segment or table.system_scores is None else table.system_scores
    correlation, n = float("nan"), 0
    if gold is not None and gold is not table:
        if by_segment and gold.has_segments:
            correlation, n = cell_pearson(table.values, gold.oriented)
        else:
            means = gold.system_means() * (1 if gold.higher_is_better else -1)
            correlation, n = cell_pearson(table.system_means(), means)
    low, high = range_of(shown)
    return ScoreFacts(
        name,
        table,
        low,
        high,
        missing_share(shown),
        tie_share(shown if shown.ndim == 2 else shown[:, None]),
        correlation,
        n,
    )


@lru_cache(maxsize=1024)
def sounds_lower(name: str) -> bool:
    """Tell whether a score's name has a word in it that stands for something unwanted.

    Examples
    --------
    >>> sounds_lower("latency_ms"), sounds_lower("wordErrorRate"), sounds_lower("TER-refA")
    (True, True, True)
    >>> sounds_lower("COMET"), sounds_lower("closeness")
    (False, False)
    """
    if "metricx" in name.casefold():  # which counts errors, unless somebody has turned it round
        return True
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return not _LESS_IS_BETTER.isdisjoint(part.lower() for part in parts)


def direction_warnings(name: str, table: ScoreTable) -> list[str]:
    """Ask about a direction that nobody gave and that the name speaks against."""
    asked = not (table.direction_given or not table.higher_is_better) and sounds_lower(name)
    if not asked:
        return []
    known = table.values[~np.isnan(table.values)]
    if known.size and (known <= 0).all() and (known < 0).any():
        return []  # what is never positive was turned round already
    asking = f'lower_is_better=["{name}"], or higher_is_better=["{name}"] to say that it is meant'
    return [f"'{name}' sounds as if lower were better; taken as higher is better: {asking}"]
