"""What is in an EvalSet: the facts that ``steelyard data info`` shows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from steelyard.core.display import Result, Statement, Summary, one_line
from steelyard.core.errors import printable
from steelyard.core.provenance import Provenance, origin, taken_alike
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural, sentence
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import cell_pearson

_ALL = 1000  # names of files and columns that are shown
#: Words in the names of scores of which less is usually better.
_LESS_IS_BETTER = frozenset(
    ("latency", "delay", "duration", "time", "times", "seconds", "cost", "costs", "price", "loss",
     "losses", "error", "errors", "mistakes", "edits", "distance", "perplexity", "ppl", "nll",
     "ter", "hter", "wer", "cer", "mer", "eed", "mse", "rmse", "mae", "rank", "ranks", "toxicity",
     "hallucination", "hallucinations", "failures", "violations")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScoreFacts:
    """One score: its range, shares of missing cells and of ties, its correlation with the human."""

    name: str
    table: ScoreTable
    low: float
    high: float
    missing: float
    ties: float
    correlation: float
    n_cells: int

    def doubts(self, human: str | None) -> list[str]:
        """Say what speaks against the score's direction: the data, or its name."""
        expected = self.correlation if self.table.higher_is_better else -self.correlation
        if not expected * np.sqrt(self.n_cells) < -3:  # standard errors
            return direction_warnings(self.name, self.table)
        ask = "is it really better when lower?"
        if self.table.higher_is_better:
            ask = f'is lower better? (lower_is_better=["{self.name}"])'
        r = f"r = {self.correlation:.2f} over {self.n_cells:,} cells"
        return [TypedWarning(f"'{self.name}' goes against '{human}' ({r}): {ask}", "flipped")]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "name": self.name,
            "kind": self.table.kind,
            "uses": list(self.table.uses),
            "higher_is_better": self.table.higher_is_better,
            "min": self.low,
            "max": self.high,
            "missing": self.missing,
            "ties": self.ties,
            "correlation_with_human": self.correlation,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Overview(Result):
    """The facts about a set; ``human`` is the score that orientation is checked against."""

    es: EvalSet
    human: str | None
    scores: tuple[ScoreFacts, ...]

    def _doubts(self) -> list[str]:
        others = (facts for facts in self.scores if facts.name != self.human)
        return [text for facts in others for text in facts.doubts(self.human)]

    @property
    def warnings(self) -> list[str]:
        """What a reader should look at before believing anything."""
        return [*self.es.notes, *self._doubts()]

    @property
    def _domains(self) -> dict[str, int]:
        return dict(sorted(Counter(d for d in self.es.segments.domains or () if d).items()))

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        es = self.es
        return {
            "name": es.name,
            "lp": es.language_pair,
            "n_systems": es.n_systems,
            "systems": list(es.systems),
            "n_segments": es.n_segments,
            "n_documents": len(es.documents),
            "domains": self._domains,
            "references": list(es.references),
            "human": list(es.human),
            "metrics": list(es.metrics),
            "scores": [facts.to_dict() for facts in self.scores],
            "ratings": {
                name: {"n_ratings": len(r), "n_raters": len(r.raters)}
                for name, r in es.ratings.items()
            },
            **origin(Provenance.of("data info", {"human": self.human}, es.inputs)),
            "warnings": self.warnings,
        }

    def words(self) -> Summary:
        """Say what the set holds, what speaks against it, and what is missing."""
        es = self.es
        size = f"{plural(es.n_systems, 'system')}, {plural(es.n_segments, 'segment')}"
        kinds = f"{plural(len(es.human), 'human score')} and {plural(len(es.metrics), 'metric')}"
        title = " ".join(part for part in (es.name, es.language_pair) if part) or "The set"
        lines: list[Statement] = [("settled", f"{title} holds {size}, {kinds}.")]
        lines += [("undecided", sentence(text)) for text in self._doubts()]
        gaps = [(facts.missing, facts.name) for facts in self.scores if facts.missing > 0]
        if gaps:
            share, name = max(gaps)
            count = f"{plural(len(gaps), 'score')} {'lacks' if len(gaps) == 1 else 'lack'} cells"
            lines.append(("sureness", f"{count}, most of all {name} ({100 * share:.1f}%)."))
        return Summary.of(lines)

    def __repr__(self) -> str:
        return one_line(self, f"of {self.es!r}")

    def _details(self) -> str:
        """Name the files, systems, domains, references and ratings of the set."""
        es = self.es
        read = taken_alike([file.taken_for() for file in es.inputs], _ALL, _ALL)
        lines = [*(f"read: {line}" for line in read), f"systems: {', '.join(es.systems)}"]
        parts = [plural(len(es.documents), "document")] if es.documents else []
        parts += [f"outputs of {plural(len(es.outputs), 'system')}"] if es.outputs else []
        domains = ", ".join(f"{name} ({n})" for name, n in self._domains.items())
        parts += [f"domains {domains}"] if domains else []
        parts += [f"references {', '.join(es.references)}"] if es.references else []
        for name, r in es.ratings.items():
            parts.append(f"{plural(len(r), 'rating')} '{name}' by {plural(len(r.raters), 'rater')}")
        return "\n".join(printable(line) for line in (*lines, "; ".join(parts)) if line)

    def pieces(self) -> list[Table | str]:
        """Return what the set holds, and the table of scores."""
        return [self._details(), *([self.table()] if self.scores else [])]

    def table(self) -> Table:
        """Return a row per score, human scores first."""
        columns = [Column(name) for name in ("score", "kind", "sees", "better")]
        columns += [Column(name, mixed=True) for name in ("min", "max")]
        columns += [Column(name, digits=1) for name in ("missing %", "ties %")]
        columns += [Column(f"r with {self.human}", digits=3)] if self.human else []
        rows: list[tuple[Cell, ...]] = []
        for facts in sorted(self.scores, key=lambda facts: (facts.table.kind, facts.name)):
            sees = ".".join(facts.table.uses) or None
            better = "higher" if facts.table.higher_is_better else "lower"
            shares = 100 * facts.missing, 100 * facts.ties
            row = (facts.name, facts.table.kind, sees, better, facts.low, facts.high, *shares)
            rows.append((*row, facts.correlation) if self.human else row)
        notes = ("ties: pairs of systems with the same score on the same segment",)
        return Table("", tuple(columns), tuple(rows), notes if rows else ())


def overview(es: EvalSet, human: str | None = None) -> Overview:
    """Collect the facts about a set; scores are compared with ``human`` or the only human score."""
    if human is None and len(es.human) == 1:
        human = es.human[0]
    gold = None if human is None else es[human]
    return Overview(es, human, tuple(score_facts(name, t, gold) for name, t in es.scores.items()))


def score_facts(name: str, table: ScoreTable, gold: ScoreTable | None) -> ScoreFacts:
    """Return the facts of one score, beside a human one if there is one."""
    shown = table.values
    if not table.has_segments and table.system_scores is not None:
        shown = table.system_scores[:, None]
    correlation, n = float("nan"), 0
    if gold is not None and gold is not table:
        if table.has_segments and gold.has_segments:
            correlation, n = cell_pearson(table.values, gold.oriented)
        else:
            means = gold.system_means() * (1 if gold.higher_is_better else -1)
            correlation, n = cell_pearson(table.system_means(), means)
    scored = shown[~np.isnan(shown)]
    low, high = (scored.min(), scored.max()) if scored.size else (np.nan, np.nan)
    missing = (shown.size - scored.size) / shown.size if shown.size else float("nan")
    ties = _tie_share(shown)
    return ScoreFacts(name, table, float(low), float(high), missing, ties, correlation, n)


def _tie_share(values: Floats) -> float:
    """Return the share of pairs of systems that have the same score on the same segment."""
    tied = pairs = 0
    for i in range(len(values) - 1):
        gap = values[i + 1 :] - values[i]
        tied += int(np.count_nonzero(gap == 0))
        pairs += int(np.count_nonzero(~np.isnan(gap)))
    return tied / pairs if pairs else float("nan")


@lru_cache(maxsize=1024)
def sounds_lower(name: str) -> bool:
    """Return whether a score's name has a word in it that stands for something unwanted."""
    if "metricx" in name.casefold():  # which counts errors, unless somebody has turned it round
        return True
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return not _LESS_IS_BETTER.isdisjoint(part.lower() for part in parts)


def direction_warnings(name: str, table: ScoreTable) -> list[str]:
    """Ask about a direction that nobody stated and that the name speaks against."""
    if table.direction_given or not table.higher_is_better or not sounds_lower(name):
        return []
    values = table.values[~np.isnan(table.values)]
    if values.size and (values <= 0).all() and (values < 0).any():
        return []  # what is never positive was turned round already
    asking = f'lower_is_better=["{name}"], or higher_is_better=["{name}"] to say that it is meant'
    text = f"'{name}' sounds as if lower were better; taken as higher is better: {asking}"
    return [TypedWarning(text, "direction")]
