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
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import cell_pearson

_DOUBTS = 3  # doubtful directions that get a sentence each
_ALL = 1000  # names of files and columns that are shown
#: Words in the names of scores of which less is usually better.
_LESS_IS_BETTER = frozenset(
    ("latency", "delay", "duration", "time", "times", "seconds", "cost", "costs", "price", "loss",
     "losses", "error", "errors", "mistakes", "edits", "distance", "perplexity", "ppl", "nll",
     "ter", "hter", "wer", "cer", "mer", "eed", "mse", "rmse", "mae")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScoreFacts:
    """One score: its range, what is missing, what ties, and its correlation with the human score.

    ``missing`` is a share of cells, ``ties`` a share of pairs of systems with the same score on the
    same segment; NaN where there are none.
    """

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

    def doubts(self, human: str | None) -> list[str]:
        """Say what speaks against the score's direction: the data, or its name."""
        if not self.looks_flipped:
            return direction_warnings(self.name, self.table)
        ask = f'is lower better? (lower_is_better=["{self.name}"])'
        if not self.table.higher_is_better:
            ask = "is it really better when lower?"
        r = f"r = {self.correlation:.2f} over {self.n_cells:,} cells"
        return [f"'{self.name}' goes against '{human}' ({r}): {ask}"]

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

    def _doubts(self) -> list[tuple[str, str]]:
        others = (facts for facts in self.scores if facts.name != self.human)
        return [(facts.name, text) for facts in others for text in facts.doubts(self.human)]

    @property
    def warnings(self) -> list[str]:
        """What a reader should look at before believing anything."""
        return [*self.es.notes, *(text for _, text in self._doubts())]

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
        title = " ".join(part for part in (es.name, es.language_pair) if part) or "The set"
        lines: list[Told] = [("settled", f"{title} holds {size}, {kinds}.")]
        doubts = self._doubts()
        lines += [("undecided", sentence(text)) for _, text in doubts[:_DOUBTS]]
        if len(doubts) > _DOUBTS:
            names = all_of([name for name, _ in doubts[_DOUBTS:]])
            lines.append(("undecided", f"The direction of {names} is in doubt, too."))
        gaps = [facts for facts in self.scores if facts.missing > 0]
        if gaps:
            most = max(gaps, key=lambda facts: (facts.missing, facts.name))
            share = f"most of all {most.name} ({100 * most.missing:.1f} % of its cells)"
            lack = "lacks" if len(gaps) == 1 else "lack"
            lines.append(("sureness", f"{plural(len(gaps), 'score')} {lack} cells, {share}."))
        return Summary.of(lines)

    def __repr__(self) -> str:
        return one_line(self, f"of {self.es!r}")

    def _details(self) -> str:
        """Name the files, systems, domains, references and ratings of the set."""
        es = self.es
        read = taken_alike([file.taken_for() for file in es.inputs], _ALL, _ALL)
        lines = [*(f"read: {line}" for line in read), f"systems: {', '.join(es.systems)}"]
        domains = ", ".join(f"{name} ({n})" for name, n in self._domains.items())
        parts = [
            plural(len(es.documents), "document") if es.documents else "",
            f"outputs of {plural(len(es.outputs), 'system')}" if es.outputs else "",
            f"domains {domains}" if domains else "",
            f"references {', '.join(es.references)}" if es.references else "",
            *(
                f"{plural(len(r), 'rating')} '{name}' by {plural(len(r.raters), 'rater')}"
                for name, r in es.ratings.items()
            ),
        ]
        lines.append("; ".join(part for part in parts if part))
        return "\n".join(printable(line) for line in lines if line)

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
    by_segment = table.has_segments
    shown = table.values
    if not by_segment and table.system_scores is not None:
        shown = table.system_scores[:, None]
    correlation, n = float("nan"), 0
    if gold is not None and gold is not table:
        if by_segment and gold.has_segments:
            correlation, n = cell_pearson(table.values, gold.oriented)
        else:
            means = gold.system_means() * (1 if gold.higher_is_better else -1)
            correlation, n = cell_pearson(table.system_means(), means)
    missing = np.isnan(shown)
    scored = shown[~missing]
    low, high = (scored.min(), scored.max()) if scored.size else (np.nan, np.nan)
    share = float(missing.mean()) if shown.size else float("nan")
    ties = _tie_share(shown)
    return ScoreFacts(name, table, float(low), float(high), share, ties, correlation, n)


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
    """Return whether a score's name has a word in it that stands for something unwanted.

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
    """Ask about a direction that nobody stated and that the name speaks against."""
    if table.direction_given or not table.higher_is_better or not sounds_lower(name):
        return []
    values = table.values[~np.isnan(table.values)]
    if values.size and (values <= 0).all() and (values < 0).any():
        return []  # what is never positive was turned round already
    asking = f'lower_is_better=["{name}"], or higher_is_better=["{name}"] to say that it is meant'
    return [f"'{name}' sounds as if lower were better; taken as higher is better: {asking}"]
