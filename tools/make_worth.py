"""Measure what differences of well-known metrics are worth, and write the table that ships.

    python tools/make_worth.py /path/to/toship21

The folder holds ``systems.csv.gz`` (campaign, system, human_mean, and system scores of metrics) and
``expected-pairs.csv.gz`` (a, b, wilcoxon_p), made of the judgements of Kocmi et al. (2021), To Ship
or Not to Ship (MicrosoftTranslator/ToShipOrNotToShip, CC BY-SA 4.0). Only derived figures are
written: about a dozen points per metric.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.formats.load import systems_by
from steelyard.metaevaluation.data import system_pairs
from steelyard.stats.curves import CURVES, AgreementCurve, agreement_curve
from steelyard.studies.worth import read_pair_pvalues, with_pvalues

TARGET = Path(__file__).parents[1] / "src" / "steelyard" / "comparison" / "worth.toml"
SKIPPED = ("campaign", "src", "tgt", "domain", "n_test", "n_human", "n_valid")
#: column: (name, names by which it is known, factor, of the corpus, highest score)
METRICS = {
    "SacreBLEU_bleu": ("BLEU", ["bleu"], 1, True, 100),
    "SacreBLEU_chrf": ("chrF", ["chrf", "chrf2"], 100, True, 100),
    "SacreBLEU_ter_neg": ("TER", ["ter"], 100, True, 1000),
    "ExtendedEditDist_neg": ("EED", ["eed"], 100, False, 100),
    "CharacTER_neg": ("CharacTER", ["character"], 100, False, 1000),
}
HEAD = """\
# What differences of metrics are worth to people: made by tools/make_worth.py, not by hand.
# Derived from the judgements of Kocmi et al. (2021), To Ship or Not to Ship
# (MicrosoftTranslator/ToShipOrNotToShip), CC BY-SA 4.0; this table is under the same licence.
"""
ORIGIN = "judged in 232 directions, 95% from or into English, by 2021 (Kocmi et al.)"


def main() -> None:
    """Measure and write."""
    folder = Path(sys.argv[1])
    file = folder / "systems.csv.gz"
    es = sy.load(file, human="human_mean", ignore=SKIPPED, higher_is_better=list(METRICS))
    groups = systems_by(file, column="campaign")
    pairs = system_pairs(es, "human_mean", list(METRICS), groups=groups)
    pairs = with_pvalues(pairs, es, read_pair_pvalues(folder / "expected-pairs.csv.gz"))
    lines = [HEAD, f'origin = "{ORIGIN}"']
    for column, (name, names, factor, corpus, most) in METRICS.items():
        pairs.metrics[column][:] *= factor
        found = agreement_curve(pairs, column, np.random.default_rng(0), draws=2000)
        lines += ["", "[[metric]]", f'metric = "{name}"', f"names = {names}".replace("'", '"')]
        lines += [f"corpus = {str(corpus).lower()}", f"most = {most}"]
        lines += _figures(found)
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _figures(found: AgreementCurve) -> list[str]:
    counts = [f"{key} = {getattr(found, key)}" for key in ("n_pairs", "n_systems", "n_sets")]
    arrays = {"x": found.x, **{key: getattr(found, key) for key in CURVES}}
    told = [f"{key} = [{', '.join(f'{v:.4g}' for v in own)}]" for key, own in arrays.items()]
    return [*counts, f"accuracy = {found.accuracy:.4f}", *told]


if __name__ == "__main__":
    main()
