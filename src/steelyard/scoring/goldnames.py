"""M-ETA: how often a translation has an accepted name of the entity that its segment is about.

Where people have written down what an entity may be called in the target language, nothing has to
be found or guessed: an output is right if any of the names stands in it, whatever their case
(Conia et al., EMNLP 2024; SemEval-2025 task 2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.provenance import installed_version
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.scoring.metric import Scored, output_rows


def has_any(output: str, names: str) -> bool:
    r"""Tell whether any of some names, one per line, stands in an output.

    Examples
    --------
    >>> has_any("Wer schrieb DER KLEINE PRINZ?", "Der kleine Prinz\nDer Prinz")
    True
    """
    text = output.casefold()
    return any(name.casefold() in text for name in names.split("\n"))


class GoldNames:
    """The share of outputs with an accepted name, in percent; those without names are excluded.

    An empty output has none; a missing one is not scored.
    """

    name = "m-eta"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:  # noqa: ARG002
        """Look for the names in every output."""
        accepted = es.segments.accepted
        if accepted is None or not any(accepted):
            raise UsageError(
                "m-eta needs accepted names of the entity of each segment: 'mentions' in a text "
                "file, a list per segment"
            )
        rows = [
            [
                np.nan if text is None or not names else 100.0 * has_any(text, names)
                for text, names in zip(texts, accepted, strict=True)
            ]
            for texts in output_rows(es)
        ]
        without = sum(not names for names in accepted)
        told = f"m-eta: {plural(without, 'segment')} without accepted names excluded"
        table = ScoreTable(np.array(rows, dtype=np.float64))
        signature = f"case:folded|match:substring|version:steelyard-{installed_version()}"
        return Scored(table, signature, warnings=(told,) if without else ())
