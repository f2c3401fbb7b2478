"""Annotations of AlpacaEval: a model's output against the baseline's, by a preference in 1..2.

1 prefers the baseline, 2 the model, what lies between is a weight of both: less one, it is the
model's outcome. Null is a verdict that could not be parsed, and 0 stands for a draw.
"""

from __future__ import annotations

from steelyard.data.judgements import BattleLog
from steelyard.formats.arenas.arenabattles import BATTLES, Battles, Verdict
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable
from steelyard.formats.record import records
from steelyard.formats.view import FileView


def _verdict(preference: float | None) -> Verdict:
    if preference is None:
        return Verdict(None, ("annotation", "without a preference"))
    if preference == 0:
        return Verdict(0.5, ("annotation", "with preference 0: a draw"))
    return Verdict(preference - 1)


def _unfold(view: FileView) -> RawTable:
    found = Battles(view)
    for record in records(view):
        preference = record.number("preference")
        if preference is not None and preference != 0 and not 1 <= preference <= 2:
            record.wrong("preference", "a number in 1..2, or 0 for a draw")
        found.add(
            record,
            _verdict(preference),
            left=record.name("generator_2"),
            right=record.name("generator_1"),
            unit=record.name("instruction"),
            judge=record.name("annotator", "unknown"),
            dataset=record.text("dataset"),
        )
    given = {"left": "generator_2", "right": "generator_1", "outcome": "preference",
             "unit": "instruction", "judge": "annotator"}  # fmt: skip
    return found.table(given)


FORMAT = ForeignFormat(
    name="AlpacaEval annotations",
    gives=BattleLog,
    known_by="annotations.json with instruction, generator_1, generator_2, preference",
    example='[{"instruction": "Say hello.", "generator_1": "B", "generator_2": "A", '
    '"preference": 2.0}]\n',
    example_name="results/A/annotations.json",
    keys=("instruction", "generator_1", "generator_2", "preference"),
    files=("annotations.json",),
    unfold=_unfold,
    becomes=BATTLES,
)
