"""Sentinels: scores that know nothing of quality, to catch what fools metrics and systems.

A metric that agrees with people no better than ``length`` does has learnt nothing else; a system
with a high ``copy`` returned its source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.provenance import installed_version
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Texts
from steelyard.scoring.formulas import Ratio
from steelyard.scoring.metric import Scored, chosen_references, output_rows
from steelyard.scoring.surface import corpus_statistics, sentence_scores
from steelyard.stats.permutation.corpus import CorpusStatistics


def _sources(es: EvalSet, name: str) -> Texts:
    if es.segments.sources is None:
        raise UsageError(f"{name}: the set has no sources")
    return es.segments.sources


def _scored(stats: CorpusStatistics, uses: tuple[str, ...]) -> Scored:
    table = ScoreTable(
        sentence_scores(stats),
        higher_is_better=stats.higher_is_better,
        uses=uses,
        system_scores=stats.corpus_scores(),
        statistics=stats,
        direction_given=True,
    )
    return Scored(table, stats.signature)


class Length:
    """Characters of the output per character of the reference (of several: their mean).

    Without references it is the source that counts. Of a system, all lengths are added up first.
    """

    name = "length"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Measure every output."""
        if es.references:
            uses = chosen_references(es, references)
            columns = [es.segments.references[name] for name in uses]
        else:
            uses = ("src",)
            columns = [_sources(es, self.name)]
        expected = []
        for texts in zip(*columns, strict=True):
            lengths = [len(text) for text in texts if text is not None]
            expected.append(sum(lengths) / len(lengths) if lengths else np.nan)
        found = [
            [np.nan if text is None else len(text) for text in texts] for texts in output_rows(es)
        ]
        values = np.stack(np.broadcast_arrays(np.array(found), np.array(expected)), axis=-1)
        values[np.isnan(values).any(axis=-1)] = np.nan
        signature = f"chars|to:{'.'.join(uses)}|version:steelyard-{installed_version()}"
        return _scored(CorpusStatistics(values, Ratio(), signature=signature), uses)


class Copy:
    """Likeness of the output to its source: chrF with the source for a reference.

    100 is a copy. Names, numbers and related languages make some likeness normal: compare systems.
    """

    name = "copy"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:  # noqa: ARG002
        """Measure every output."""
        sources = _sources(es, self.name)
        stats = corpus_statistics("chrf", output_rows(es), [sources])
        signature = f"chrf-of-source|{stats.signature}"
        lower = CorpusStatistics(
            stats.values, stats.combine, higher_is_better=False, signature=signature
        )
        return _scored(lower, ("src",))
