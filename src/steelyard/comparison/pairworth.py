"""What the difference on a card is worth to people: measured here, in a study, or elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.twosystems import TwoSystems
from steelyard.core.errors import UsageError, hint
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet
from steelyard.formats import files
from steelyard.formats.worthfiles import read_worths, reference_worth
from steelyard.metaevaluation.agreement_curve import curve_of_set
from steelyard.stats.curves import AgreementCurve


def worth_of_pair(
    es: EvalSet, two: TwoSystems, human: str | None, study: Any, rng: np.random.Generator
) -> AgreementCurve | None:
    """Give what differences of the card's score are worth, None where nothing is known.

    By a study that is named; else by the human score at hand, if people scored enough systems; else
    by the reference, for metrics of known name and scale.
    """
    if study is not None:
        return _of_study(study, two.score)
    gold = human or (es.human[0] if len(es.human) == 1 else None)
    if gold is not None and gold != two.score and es[two.score].kind != "human":
        found = curve_of_set(es, gold, two.score, rng)
        if found is not None:
            return found
    if es[two.score].kind == "human":
        return None
    return reference_worth(
        two.score, two.table.system_means()[two.rows], corpus=two.statistics is not None
    )


def difference_facts(curve: AgreementCurve, difference: float) -> dict[str, Any]:
    """Return what the JSON output says of a difference."""
    return {
        "metric": curve.metric,
        "difference": abs(difference),
        **curve.at(difference),
        "alpha": curve.alpha,
        "beyond": bool(abs(difference) > curve.x[-1]),
        "n_pairs": curve.n_pairs,
        "n_systems": curve.n_systems,
        "n_sets": curve.n_sets,
        "origin": curve.origin or None,
        "sentence": curve.sentence(difference),
    }


def study_file(path: str | Path) -> InputFile:
    """Note a study that was read, and its hash."""
    return InputFile(str(path), "study worth", files.sha256(Path(path)))


def _of_study(study: Any, score: str) -> AgreementCurve:
    if not isinstance(study, (str, Path)):
        raise UsageError(f"worth is a JSON file of study worth, got {study!r:.60}")
    known = read_worths(study)
    if score not in known:
        raise UsageError(f'worth="{study}" has no metric "{score}"; {hint(score, known)}')
    return known[score]
