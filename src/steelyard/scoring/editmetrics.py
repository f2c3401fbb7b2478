"""EED and CharacTER as metrics of a set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from steelyard.core.provenance import installed_version
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.scoring import edit
from steelyard.scoring.metric import Scored, chosen_references, nearest, target_language
from steelyard.stats.arrays import Floats


def _scored(values: Floats, references: tuple[str, ...], settings: str) -> Scored:
    table = ScoreTable(values, higher_is_better=False, uses=references, direction_given=True)
    signature = f"nrefs:{len(references)}|{settings}|version:steelyard-{installed_version()}"
    return Scored(table, signature)


class Eed:
    """Extended edit distance, see :func:`steelyard.scoring.edit.eed`."""

    name = "eed"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Score every output; the nearest reference counts."""
        chosen = chosen_references(es, references)
        target = target_language(es.language_pair)
        values = nearest(es, chosen, partial(edit.eed, target=target))
        words = "nfkc" if target in edit.UNSPACED else "punctuation"
        return _scored(values, chosen, f"alpha:2.0|rho:0.3|del:0.2|ins:1.0|prep:{words}")


class Character:
    """CharacTER, see :func:`steelyard.scoring.edit.character`."""

    name = "character"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Score every output; the nearest reference counts."""
        chosen = chosen_references(es, references)
        return _scored(nearest(es, chosen, edit.character), chosen, "norm:output|match:equal")
