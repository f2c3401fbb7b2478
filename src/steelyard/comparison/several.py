"""Several scores at once: what each says of the systems, and whether they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import CompareOptions
from steelyard.comparison.results import Comparison
from steelyard.comparison.run import compare_by
from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.rng import Rng
from steelyard.core.table import Cell, Column, Table
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import kendall_b
from steelyard.stats.kendall.counting import count_pairs


@dataclass(frozen=True, slots=True)
class ManyScores:
    """Comparisons by several scores; ``agreement`` is Kendall's tau-b between their rankings."""

    by: str
    comparisons: Mapping[str, Comparison]
    agreement: Floats
    verdict: str
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        first = next(iter(self.comparisons.values()))
        return {
            "by": self.by,
            "systems": list(first.systems),
            "scores": {name: found.to_dict() for name, found in self.comparisons.items()},
            "agreement": {"scores": list(self.comparisons), "tau_b": self.agreement},
            "verdict": self.verdict,
            "warnings": list(self.warnings),
        }

    def table(self) -> Table:
        """Give a row per score: its best systems, and how its ranking agrees with the others."""
        rows: list[tuple[Cell, ...]] = []
        for i, (name, found) in enumerate(self.comparisons.items()):
            tiers = found.tiers.get(self.by)
            ranking = found.ranking(self.by)
            top = ranking[:1]
            if tiers is not None:
                place = dict(zip(found.systems, tiers.clusters, strict=True))
                top = [s for s in ranking if place[s] == 1]
            others = np.delete(self.agreement[i], i)
            mean = float(np.nanmean(others)) if (~np.isnan(others)).any() else None
            rows.append((name, ", ".join(_best(found, self.by)), ", ".join(top), mean))
        columns = (
            Column("score"),
            Column("best"),
            Column("first tier"),
            Column("agreement", "higher", digits=3),
        )
        notes = (f"{self._ranked_by()}; agreement: mean tau-b with the other scores", self.verdict)
        return Table("", columns, tuple(rows), notes)

    def _ranked_by(self) -> str:
        """Say what scores are ranked by, as the table of each does; that need not be the same."""
        scores: dict[str, list[str]] = {}
        for name, found in self.comparisons.items():
            scores.setdefault(found.shown(self.by), []).append(name)
        if len(scores) == 1:
            return f"ranked by {next(iter(scores))}"
        return "ranked by " + ", ".join(f"{by} ({', '.join(own)})" for by, own in scores.items())


@keywords(CompareOptions)
def compare_scores(
    es: Source, scores: Sequence[str], *, options: CompareOptions, rng: Rng = 0
) -> ManyScores:
    """Compare systems by several scores, and say where the scores disagree.

    Options are those of :func:`steelyard.compare`; one ranking counts, by default ``mean``.
    """
    es = as_evalset(es)
    bounds.names(scores=scores)
    if len(scores) < 2:
        raise UsageError("several scores are needed, got one")
    by = (options.by or ("mean",))[0]
    options = replace(options, by=(by,))
    found = {name: compare_by(es, name, options, rng) for name in scores}
    ranks = [
        dict(zip(own.systems, own.aggregations[by].ranks, strict=True)) for own in found.values()
    ]
    systems = sorted(set.intersection(*(set(own) for own in ranks)))
    columns = np.array([[-own[s] for s in systems] for own in ranks]).T.reshape(len(systems), -1)
    size = len(found)
    agreement = np.ones((size, size))
    for i in range(size):
        for j in range(i + 1, size):
            counts = count_pairs(columns[:, [i]], columns[:, [j]])
            agreement[i, j] = agreement[j, i] = kendall_b(counts)[0]
    warnings = [w for own in found.values() for w in own.warnings]
    return ManyScores(
        by=by,
        comparisons=found,
        agreement=agreement,
        verdict=_verdict(found, by),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _best(found: Comparison, by: str) -> list[str]:
    """Give all systems of the first rank, or whoever stands first where nobody has one."""
    ranks = dict(zip(found.systems, found.aggregations[by].ranks, strict=True))
    ranking = found.ranking(by)
    return [system for system in ranking if ranks[system] == 1] or ranking[:1]


def _verdict(found: Mapping[str, Comparison], by: str) -> str:
    """Say whether the scores name the same best system, and who contradicts whom for sure."""
    first = {name: _best(own, by) for name, own in found.items()}
    best: dict[str, list[str]] = {}
    for name, top in first.items():
        best.setdefault(", ".join(top), []).append(name)
    common = [s for s in next(iter(first.values())) if all(s in top for top in first.values())]
    if common:  # a tie for the first place is no disagreement
        text = f"All scores put {', '.join(common)} first."
    else:
        shown = "; ".join(f"{system} by {', '.join(names)}" for system, names in best.items())
        text = f"The scores do not agree on the best system: {shown}."
    against = _contradictions(found)
    if against:
        a, b, one, other = against[0]
        more = f" (and {len(against) - 1} more pairs)" if len(against) > 1 else ""
        text += f" By {one} {a} beats {b} significantly, by {other} {b} beats {a}{more}."
    elif not common:
        text += " No two of them contradict each other significantly on any pair."
    return text


def _contradictions(found: Mapping[str, Comparison]) -> list[tuple[str, str, str, str]]:
    """Pairs that two scores order differently, both significantly."""
    claims: dict[tuple[str, str], str] = {}
    result = []
    for name, own in found.items():
        test = next(iter(own.tests.values()), None)
        if test is None:
            continue
        ranked = next(iter(own.aggregations.values()))
        for i, a in enumerate(own.systems):
            for j, b in enumerate(own.systems):
                ahead = ranked.ranks[i] < ranked.ranks[j]
                if ahead and test.p_adjusted[i, j] < own.alpha:
                    if (b, a) in claims:
                        result.append((b, a, claims[b, a], name))
                    claims.setdefault((a, b), name)
    return result
